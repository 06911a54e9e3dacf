"""A certificate for people: per family what was claimed and found, the defaults against their alternatives, the accuracy, the last line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from steelyard.render import safe
from steelyard.render.layout import GAP, left, right, widest, wrap
from steelyard.render.markdown import markdown_table
from steelyard.render.pictures.forest import Bar, Forest, GuideLine
from steelyard.render.terminal import BOLD, DIM, Terminal, warning_lines
from steelyard.results.certificate import UP_IS_BAD, Certificate, Held, Preferred, Tried
from steelyard.rounding import nearest

HEADS = ("method", "kind", "worst", "where", "mean", "band", "")
NUMBERS = (2, 4)
EXACT_HEADS = ("closed form", "worst error", "of its", "where", "limit", "")
EXACT_NUMBERS = (1, 4)
WORDS = (0, 3)  # columns of either table that hold words
BAR = 24  # columns of a drawn bar
SLUG = 48  # letters of a family in the name of a file
PAGE = 116  # columns of a page of Markdown
RED = "1;31"


def families(c: Certificate) -> dict[str, list[Held]]:
    """The claims by family, in their order."""
    found: dict[str, list[Held]] = {}
    for claim in c.claims:
        found.setdefault(claim.family, []).append(claim)
    return found


def claim_cells(claim: Held) -> list[str]:
    """One line of a family's table."""
    method = f"{claim.method} (default)" if claim.default else claim.method
    worst = share_text(claim.worst, claim.worst_error)
    return [method, claim.kind, worst, claim.worst_at, share_text(claim.mean, 0.0), band_text(claim), "ok" if claim.holds else "FAILS"]


def share_text(share: float, error: float) -> str:
    """Four digits, and the Monte Carlo error if there is one."""
    return f"{share:.4f}" + (f" +-{error:.4f}" if error > 0 else "")


def band_text(claim: Held) -> str:
    """Where the worst share must lie, then the mean: `>=0.83; mean 0.949-0.96`. A documented failure is the other end of the first."""
    b, up = claim.band, claim.kind in UP_IS_BAD
    first = _range(b.get("fails"), b.get("high")) if up else _range(b.get("low"), b.get("fails"))
    other = _range(b.get("low"), None) if up else _range(None, b.get("high"))
    mean = _range(b.get("mean_low"), b.get("mean_high"))
    return "; ".join([*([first] if first else []), *([f"all {other}"] if other else []), *([f"mean {mean}"] if mean else [])])


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low:g}-{high:g}"
    return f">={low:g}" if low is not None else f"<={high:g}" if high is not None else ""


def exact_cells(c: Certificate) -> list[list[str]]:
    return [
        [
            each.name.partition(": ")[2],
            f"{each.worst:.1e}",
            each.to,
            each.worst_at,
            f"{each.limit:.0e}",
            "ok" if each.holds else "FAILS",
        ]
        for each in c.accuracy
    ]


def sayings(claims: Sequence[Held]) -> list[str]:
    """What is said of each method of a family, those of which the same is said together."""
    several = len({claim.kind for claim in claims}) > 1
    by_sentence: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        by_sentence.setdefault((claim.kind if several else "", claim.says), []).append(claim.method)
    return [f"{', '.join(of)}{f', {kind}' if kind else ''}: {says}" for (kind, says), of in by_sentence.items()]


def preference_sentences(c: Certificate, family: str) -> list[str]:
    """Where alternatives beat the default of a family, those with the same reason in one sentence."""
    by_reason: dict[tuple[str, str | None], list[Preferred]] = {}
    for each in c.preferences:
        if each.family == family:
            by_reason.setdefault((each.default, each.reason), []).append(each)
    out = []
    for (default, reason), found in by_reason.items():
        better = "; ".join(f"{each.alternative} {', '.join(each.advantages)}" for each in found)
        out.append(
            f"{better}. " + (f"Not the default: {reason}." if reason is not None else f"NO REASON IS GIVEN why {default} is the default.")
        )
    return out


def opening(c: Certificate) -> str:
    """What was worked out."""
    asked = f", only {', '.join(c.only)}" if c.only else ""
    points = sum(claim.points for claim in c.claims)
    return f"{len(c.claims)} claims, {points:,} points; {c.grid} grid, seed {c.seed}{asked}"


# ---- text ------------------------------------------------------------------------------------------------------------


def certificate_text(c: Certificate, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The certificate as lines; what every setting showed is in the JSON and in the CSV."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = [wrap(look.name(opening(c)), width)]
    for family, claims in families(c).items():
        parts.append([look.paint(look.name(f"{family}: {nominal_text(claims)}"), BOLD), *_claims(claims, look)])
        said = [line for each in preference_sentences(c, family) for line in wrap(f"- {each}", width - len(GAP), GAP)]
        parts.append([f"{GAP}{look.name(line)}" for line in said])
    if c.accuracy:
        head = look.paint("closed forms against 50 digits", BOLD)
        parts.append([head, *_grid(EXACT_HEADS, exact_cells(c), EXACT_NUMBERS, (3, 0), look)])
    parts.append([line for warning in c.warnings for line in warning_lines(warning, look)])
    parts.append([look.paint(line, RED) for fault in c.faults for line in wrap(f"FAILS: {look.name(fault)}", width, " " * 7)])
    parts.append([look.paint(c.signature, DIM)] if c.signature else [])
    parts.append(wrap(look.paint(look.name(c.conclusion), RED if c.faults else BOLD), width))
    return "\n\n".join("\n".join(line.rstrip() for line in lines) for lines in parts if lines)


def nominal_text(claims: Sequence[Held]) -> str:
    """What is claimed of a family: `coverage 0.95`; the default is marked."""
    kinds = " and ".join(dict.fromkeys(f"{claim.kind} {claim.nominal:g}" for claim in claims))
    return kinds + (" (* is the default)" if any(claim.default for claim in claims) else "")


def _claims(claims: Sequence[Held], look: Terminal) -> list[str]:
    """The table of a family; a column for the kind only where there are several."""
    rows = [[f"{claim.method}{'*' if claim.default else ''}", *claim_cells(claim)[1:]] for claim in claims]
    if len({claim.kind for claim in claims}) > 1:
        return _grid(HEADS, rows, NUMBERS, (5, 3), look)
    without = [[row[0], *row[2:]] for row in rows]
    return _grid([HEADS[0], *HEADS[2:]], without, [i - 1 for i in NUMBERS], (4, 2), look)


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int], cut: Sequence[int], look: Terminal) -> list[str]:
    """Rows in columns; where the width is short, the columns `cut` give way in their order: the JSON has them whole."""
    columns = [list(column) for column in zip(heads, *rows, strict=True)]
    widths = [widest(column) for column in columns]
    for i in cut:
        over = sum(widths) + len(GAP) * len(widths) - look.width
        widths[i] -= max(0, min(over, widths[i] - 10))
    out = []
    for row in zip(*columns, strict=True):
        cells = [right(x, w) if i in numbers else left(look.cut(x, w), w) for i, (x, w) in enumerate(zip(row, widths, strict=True))]
        out.append((GAP + GAP.join(cells)).rstrip())
    return [look.paint(out[0], DIM), *out[1:]]


# ---- Markdown, figures, CSV ------------------------------------------------------------------------------------------


def certificate_markdown(c: Certificate, pictures: Mapping[str, str] | None = None) -> str:
    """A page: tables with their figures (file names by family; without files, bars of letters)."""
    title = f"# The {c.grid} certificate"
    parts = [title, "\n".join(wrap(f"**{safe.markdown(c.conclusion)}**", PAGE)), safe.markdown(opening(c)) + "."]
    parts.append(_list([f"FAILS: {fault}" for fault in c.faults]))
    for family, claims in families(c).items():
        heads = [(head or "holds", "---:" if i in NUMBERS else "---") for i, head in enumerate(HEADS)]
        parts += [f"## {safe.markdown(family)}", markdown_table(heads, [_escaped(claim_cells(each)) for each in claims])]
        guides = ", ".join(dict.fromkeys(claim.documented for claim in claims))
        parts += [f"What is said of them (guide: {guides}):", _list(sayings(claims)), _picture(family, claims, pictures)]
        parts.append(_list(preference_sentences(c, family)))
    if c.accuracy:
        heads = [(head or "holds", "---:" if i in EXACT_NUMBERS else "---") for i, head in enumerate(EXACT_HEADS)]
        parts += ["## closed forms against 50 digits", markdown_table(heads, [_escaped(row) for row in exact_cells(c)])]
    parts.append(_list([f"warning: {warning}" for warning in c.warnings]))
    made = ", ".join(f"{name} {version}" for name, version in c.versions.items())
    parts.append(safe.markdown(f"Worked out with {made}.") if made else "")
    parts.append(safe.code_span(c.signature) if c.signature else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(cells: Sequence[str]) -> list[str]:
    """Cells of a table: the words made harmless, the numbers as they are."""
    return [safe.markdown(cell) if i in WORDS else cell for i, cell in enumerate(cells)]


def _list(said: Sequence[str]) -> str:
    return "\n".join(line for each in said for line in wrap(f"- {safe.markdown(each)}", PAGE, GAP))


def _picture(family: str, claims: Sequence[Held], pictures: Mapping[str, str] | None) -> str:
    if pictures is not None and family in pictures:
        return f"![{kinds_text(claims)} of each method]({pictures[family]})"
    return "```\n" + "\n".join(bars(claims)) + "\n```"


def ends(claim: Held) -> tuple[float, float]:
    """The least and the most share found in any setting."""
    return min(tried.least for tried in claim.settings), max(tried.most for tried in claim.settings)


def bars(claims: Sequence[Held]) -> list[str]:
    """From the least share to the most, the mean marked o and nominal marked |, on an axis from 0 to 1."""
    named = [f"{claim.method}, {claim.kind}" for claim in claims]
    wide = widest(named)
    out = []
    for name, claim in zip(named, claims, strict=True):
        low, high = ends(claim)
        cells = ["-" if _column(low) <= i <= _column(high) else " " for i in range(BAR)]
        cells[_column(claim.nominal)] = "|"
        cells[_column(claim.mean)] = "o"
        out.append(f"{left(name, wide)}  0 [{''.join(cells)}] 1")
    return out


def _column(share: float) -> int:
    return min(max(nearest(share * (BAR - 1)), 0), BAR - 1)


def forest(family: str, claims: Sequence[Held]) -> Forest:
    """A family as a figure: a bar from the least share found to the most, its mean as a dot, nominal as a line."""
    kinds = dict.fromkeys(claim.kind for claim in claims)
    drawn = []
    for claim in claims:
        low, high = ends(claim)
        name = f"{claim.method}{' (default)' if claim.default else ''}" + (f", {claim.kind}" if len(kinds) > 1 else "")
        drawn.append(Bar(name=name, estimate=claim.mean, low=low, high=high, said=f"{claim.mean:.3f} [{low:.3f}, {high:.3f}]"))
    nominal = dict.fromkeys((claim.nominal, claim.kind) for claim in claims)
    rules = [GuideLine(at=at, name=f"nominal {kind} {at:g}", sort="reference") for at, kind in nominal]
    return Forest(title=f"{kinds_text(claims)}: {family}", bars=drawn, rules=rules, axis="from least to most; the dot is the mean")


def figures(c: Certificate) -> dict[str, str]:
    """The figure of each family, as SVG that stands alone."""
    return {family: forest(family, claims).svg(alone=True) for family, claims in families(c).items()}


def kinds_text(claims: Sequence[Held]) -> str:
    return " and ".join(dict.fromkeys(claim.kind for claim in claims)).capitalize()


def figure_names(c: Certificate, stem: str) -> dict[str, str]:
    """The file of each family's figure: the page's name, then the family in at most SLUG letters, told apart if need be."""
    names: dict[str, str] = {}
    for family in families(c):
        short = re.sub(r"[^a-z0-9]+", "-", family.lower()).strip("-")[:SLUG].strip("-")
        choices = (f"{stem}-{short}{'' if i == 1 else f'-{i}'}.svg" for i in range(1, len(c.claims) + 2))
        names[family] = next(name for name in choices if name not in names.values())
    return names


def certificate_csv(c: Certificate) -> str:
    """One line per setting of a claim."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    about = ("family", "method", "kind", "nominal", "default")
    found = [name for name in Tried.names() if name not in ("broken", "seconds")]
    writer.writerow([*about, *found, "holds"])
    for claim in c.claims:
        for tried in claim.settings:
            numbers = ["" if (value := getattr(tried, name)) is None else value for name in found]
            writer.writerow([*(getattr(claim, name) for name in about), *numbers, claim.holds])
    return out.getvalue()
