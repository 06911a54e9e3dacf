"""The page of a certificate: per family what was claimed and found, the defaults against their alternatives, the accuracy."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from steelyard_old.render.digits import nearest
from steelyard_old.render.page import (
    DRAWN,
    HTML,
    LAST,
    MARKDOWN,
    TEXT,
    WRITTEN,
    Heading,
    Page,
    PageBlock,
    PageTable,
    Picture,
    Section,
    Sentences,
    capped,
    filled,
)
from steelyard_old.render.pictures.forest import Bar, Forest, GuideLine
from steelyard_old.render.terminal import RED, left, widest
from steelyard_old.results.certificate import UP_IS_BAD, Certificate, CertifiedClaim, CertifiedPreference, CertifiedSetting

HEADS = ("method", "kind", "worst", "where", "mean", "band", "")
NUMBERS = (2, 4)
EXACT_HEADS = ("closed form", "worst error", "of the", "where", "limit", "")
EXACT_NUMBERS = (1, 4)
OURS, EXACT_OURS = (1, 2, 4, 5, 6), (1, 2, 4, 5)  # columns of either table that hold no words of others
BAR = 24  # columns of a drawn bar
SLUG = 48  # letters of a family in the name of a file
COLUMNS = 116  # of a page of Markdown, which is kept and compared


def families(c: Certificate) -> dict[str, list[CertifiedClaim]]:
    """The claims by family, in their order."""
    found: dict[str, list[CertifiedClaim]] = {}
    for claim in c.claims:
        found.setdefault(claim.family, []).append(claim)
    return found


def claim_cells(claim: CertifiedClaim) -> list[str]:
    """One line of a family's table."""
    method = f"{claim.method} (default)" if claim.default else claim.method
    worst = share_text(claim.worst, claim.worst_error)
    return [method, claim.kind, worst, claim.worst_at, share_text(claim.mean, 0.0), band_text(claim), "ok" if claim.holds else "FAILS"]


def share_text(share: float, error: float) -> str:
    """Four digits, and the Monte Carlo error if there is one."""
    return f"{share:.4f}" + (f" +-{error:.4f}" if error > 0 else "")


def band_text(claim: CertifiedClaim) -> str:
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


def claim_sentences(claims: Sequence[CertifiedClaim]) -> list[str]:
    """What is said of each method of a family, those of which the same is said together."""
    several = len({claim.kind for claim in claims}) > 1
    by_sentence: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        by_sentence.setdefault((claim.kind if several else "", claim.says), []).append(claim.method)
    return [f"{', '.join(of)}{f', {kind}' if kind else ''}: {says}" for (kind, says), of in by_sentence.items()]


def preference_sentences(c: Certificate, family: str) -> list[str]:
    """Where alternatives beat the default of a family, those with the same reason in one sentence."""
    by_reason: dict[tuple[str, str | None], list[CertifiedPreference]] = {}
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
    """What was tried."""
    asked = f", only {', '.join(c.only)}" if c.only else ""
    points = sum(claim.points for claim in c.claims)
    return f"{len(c.claims)} claims, {points:,} points; {c.grid} grid, seed {c.seed}{asked}"


# ---- the page --------------------------------------------------------------------------------------------------------


def certificate_page(c: Certificate, _: object, files: Mapping[str, str] | None = None) -> Page:
    """Everything that was claimed and found; files: those of the figures, by family, for a page of Markdown."""
    made = ", ".join(f"{name} {version}" for name, version in c.versions.items())
    fails = [f"FAILS: {fault}" for fault in c.faults]
    top: list[PageBlock] = [
        Sentences(sentences=[opening(c)], hang="", seen=(TEXT,)),
        Sentences(sentences=[opening(c) + "."], listed=False, seen=(MARKDOWN,)),
    ]
    foot: list[PageBlock] = [
        *([Sentences(sentences=fails, hang=" " * 7, paint=RED, seen=(TEXT,))] if fails else []),
        *([Sentences(sentences=[f"Computed with {made}."], listed=False, seen=(MARKDOWN,))] if made else []),
    ]
    faults: list[PageBlock] = [Sentences(sentences=fails, columns=COLUMNS, seen=(MARKDOWN,)), Sentences(sentences=c.faults, seen=(HTML,))]
    return Page(
        word="certificate",
        about=opening(c),
        tone="regression" if c.faults else "pass",
        lead=c.conclusion,
        sections=filled(
            Section(title="", blocks=top),
            Section(title="What does not hold", blocks=faults if c.faults else []),
            *(_family(c, family, claims, (files or {}).get(family, "")) for family, claims in families(c).items()),
            _exact(c),
            Section(title="", blocks=foot),
        ),
        warnings=c.warnings,
        methods=list(c.versions.items()),
        signature=c.signature,
        title=f"The {c.grid} certificate",
        level=1,
        led=LAST,
        columns=COLUMNS,
    )


def _family(c: Certificate, family: str, claims: Sequence[CertifiedClaim], file: str) -> Section:
    cells = [claim_cells(claim) for claim in claims]
    heads = [*HEADS[:-1], "holds"]
    told, preferred = claim_sentences(claims), preference_sentences(c, family)
    guides = ", ".join(dict.fromkeys(claim.documented for claim in claims))
    return Section(
        title=family,
        blocks=[
            Heading(name=f"{family}: {nominal_text(claims)}", seen=(TEXT,)),
            Heading(name=family, level=2, seen=(MARKDOWN,)),
            _text_table(claims),
            PageTable(heads=heads, rows=cells, numbers=NUMBERS, ours=OURS, noun="claims", seen=(MARKDOWN,)),
            Sentences(sentences=[f"What the documentation claims ({guides}):"], listed=False, seen=(MARKDOWN,)),
            Sentences(sentences=told, columns=COLUMNS, seen=(MARKDOWN,)),
            Picture(signs=bars(claims), file=file, note=f"{kinds_text(claims)} of each method", seen=(MARKDOWN,)),
            Sentences(sentences=preferred, bulleted=True, columns=COLUMNS, seen=WRITTEN),
            Picture(drawing=forest(family, claims), table=capped(f"Claims about {family}", heads, cells, numbers=NUMBERS)),
            Sentences(sentences=[*told, *preferred], seen=(HTML,)),
        ],
    )


def _text_table(claims: Sequence[CertifiedClaim]) -> PageTable:
    """The table of a family; a column for the kind only where there are several."""
    rows = [[f"{claim.method}{'*' if claim.default else ''}", *claim_cells(claim)[1:]] for claim in claims]
    if len({claim.kind for claim in claims}) > 1:
        return PageTable(heads=HEADS, rows=rows, numbers=NUMBERS, columns="given", cut=(5, 3), tight=True, seen=(TEXT,))
    without = [[row[0], *row[2:]] for row in rows]
    numbers = [i - 1 for i in NUMBERS]
    return PageTable(heads=[HEADS[0], *HEADS[2:]], rows=without, numbers=numbers, columns="given", cut=(4, 2), tight=True, seen=(TEXT,))


def _exact(c: Certificate) -> Section | None:
    if not c.accuracy:
        return None
    title, heads, rows = "closed forms compared with 50 digits", [*EXACT_HEADS[:-1], "holds"], exact_cells(c)
    return Section(
        title=title.capitalize(),
        blocks=[
            Heading(name=title, level=2),
            PageTable(heads=EXACT_HEADS, rows=rows, numbers=EXACT_NUMBERS, columns="given", cut=(3, 0), tight=True, seen=(TEXT,)),
            PageTable(heads=heads, rows=rows, numbers=EXACT_NUMBERS, ours=EXACT_OURS, noun="forms", seen=(MARKDOWN,)),
            capped("Worst error of closed forms", heads, rows, numbers=EXACT_NUMBERS, seen=(HTML,)),
        ],
    )


def nominal_text(claims: Sequence[CertifiedClaim]) -> str:
    """What is claimed of a family: `coverage 0.95`; the default is marked."""
    kinds = " and ".join(dict.fromkeys(f"{claim.kind} {claim.nominal:g}" for claim in claims))
    return kinds + (" (* is the default)" if any(claim.default for claim in claims) else "")


# ---- figures, CSV ----------------------------------------------------------------------------------------------------


def ends(claim: CertifiedClaim) -> tuple[float, float]:
    """The least and the most share found in any setting."""
    return min(tried.least for tried in claim.settings), max(tried.most for tried in claim.settings)


def bars(claims: Sequence[CertifiedClaim]) -> list[str]:
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


def forest(family: str, claims: Sequence[CertifiedClaim]) -> Forest:
    """A family as a figure: a bar from the least share found to the most, its mean as a dot, nominal as a line."""
    kinds = dict.fromkeys(claim.kind for claim in claims)
    drawn = []
    for claim in claims:
        low, high = ends(claim)
        name = f"{claim.method}{' (default)' if claim.default else ''}" + (f", {claim.kind}" if len(kinds) > 1 else "")
        drawn.append(Bar(name=name, estimate=claim.mean, low=low, high=high, value_text=f"{claim.mean:.3f} [{low:.3f}, {high:.3f}]"))
    nominal = dict.fromkeys((claim.nominal, claim.kind) for claim in claims)
    rules = [GuideLine(at=at, name=f"nominal {kind} {at:g}", sort="reference") for at, kind in nominal]
    return Forest(title=f"{kinds_text(claims)}: {family}", bars=drawn, rules=rules, axis="from least to most; the dot is the mean")


def figures(c: Certificate) -> dict[str, str]:
    """The figure of each family, as SVG that stands alone."""
    return {family: forest(family, claims).svg(alone=True) for family, claims in families(c).items()}


def kinds_text(claims: Sequence[CertifiedClaim]) -> str:
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
    found = [name for name in CertifiedSetting.names() if name not in ("broken", "seconds")]
    writer.writerow([*about, *found, "holds"])
    for claim in c.claims:
        for tried in claim.settings:
            numbers = ["" if (value := getattr(tried, name)) is None else value for name in found]
            writer.writerow([*(getattr(claim, name) for name in about), *numbers, claim.holds])
    return out.getvalue()


def certificate_forest(c: Certificate) -> Forest | None:
    """The defaults of all families on one axis, each with the least and the most that was found."""
    drawn = [claim for claim in c.claims if claim.default and claim.kind == "coverage"] or list(c.claims)
    return forest("the defaults", drawn[:DRAWN]) if drawn else None
