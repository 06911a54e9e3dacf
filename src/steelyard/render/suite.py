"""A suite of guards for people: one line per guard, the worst first, then the sentence, the waivers and what is behind each red one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.render import verdict as one
from steelyard.render.digits import NONE, count_text, percent
from steelyard.render.layout import GAP, left, right, widest, wrap
from steelyard.render.markdown import markdown_table
from steelyard.render.terminal import BOLD, DIM, Terminal, warning_lines
from steelyard.render.verdict_facts import IDLE, flips_text, p_beside, score_text, spec_text, waiver_text, who
from steelyard.results.verdict import Suite, Verdict

ORDER = ("regression", "inconclusive", "unconfirmed", "waived", "advisory", "pass")  # the worst first
COLORS = {**one.COLORS, "unconfirmed": "33", "waived": "33", "advisory": "33"}
FIGURES = ("n", "reference", "run", "difference", "p", "adjusted p")
OWN = "by itself"  # the guard's own verdict, where it counted as something else
UNCONFIRMED = "red alone, not after the correction"
NAMED = 5  # guards that are named for one warning


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLine:
    """A verdict and its place in the suite."""

    verdict: Verdict
    row: Mapping[str, Any]

    @property
    def counts_as(self) -> str:
        return str(self.row.get("counts_as") or self.verdict.verdict)

    @property
    def tier(self) -> str:
        return str(self.row.get("tier") or self.verdict.tier or "")

    @property
    def waiver(self) -> Mapping[str, Any] | None:
        found = self.row.get("waiver") or self.verdict.waiver
        return found if isinstance(found, Mapping) else None if found is None else {"reason": str(found)}

    @property
    def clean(self) -> bool:
        """Nothing to say beyond its line."""
        return self.verdict.verdict == "pass" and self.counts_as in ("pass", "advisory")

    @property
    def word(self) -> str:
        """What it counted as; what turns a suite is in capitals."""
        return self.counts_as.upper() if self.counts_as in ("regression", "inconclusive") else self.counts_as


def guards(s: Suite) -> list[GuardLine]:
    """Every verdict with its row, the worst first, else in the order of the suite file."""
    rows = list(s.rows)
    found = [GuardLine(verdict=v, row=_row(v, i, rows)) for i, v in enumerate(s.verdicts)]
    return sorted(found, key=lambda g: ORDER.index(g.counts_as) if g.counts_as in ORDER else 0)


def _row(v: Verdict, i: int, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """By place, if the names agree; else by name, if that is clear."""
    if i < len(rows) and _names_agree(v, rows[i]):
        return rows[i]
    fits = [row for row in rows if _names_agree(v, row)]
    return fits[0] if len(fits) == 1 else {}


def _names_agree(v: Verdict, row: Mapping[str, Any]) -> bool:
    return bool(row.get("task", v.task) == v.task and row.get("model", v.model) == v.model)


def tally(found: Sequence[GuardLine]) -> str:
    """How many counted as what: 24 guards: 1 regression, 23 pass."""
    counts = {word: sum(g.counts_as == word for g in found) for word in dict.fromkeys([*ORDER, *(g.counts_as for g in found)])}
    listed = ", ".join(f"{count_text(n)} {word}" for word, n in counts.items() if n)
    return f"{count_text(len(found))} guard{'' if len(found) == 1 else 's'}" + (f": {listed}" if listed else "")


def figures(g: GuardLine, alpha: float) -> list[str]:
    """n, reference, run, the difference with its lower bound, p, adjusted p."""
    v, shown = g.verdict, score_text(g.verdict)
    lower = v.difference.get("lower")
    gap = shown(v.difference.get("estimate")) + ("" if lower is None else f" [{shown(lower)}]")
    scores = [shown(v.reference.get("value", v.threshold)), shown(v.candidate.get("value"))]
    return [NONE if v.n is None else count_text(v.n), *scores, gap, p_beside(v.p_value, v.alpha), p_beside(g.row.get("p_adjusted"), alpha)]


def legend(s: Suite) -> str:
    """What the columns mean."""
    return f"difference: up is good, [one-sided {percent(1 - s.alpha)} lower bound]; p adjusted by {s.correction} over the suite"


def grouped_warnings(found: Sequence[GuardLine]) -> list[str]:
    """The warnings of all guards, each once, with the guards that have it."""
    by: dict[str, dict[str, None]] = {}
    for g in found:
        for warning in g.verdict.warnings:
            by.setdefault(warning, {})[who(g.verdict)] = None
    out = []
    for warning, guarded in by.items():
        names = list(guarded)
        more = f" and {count_text(len(names) - NAMED)} more" if len(names) > NAMED else ""
        out.append(f"{'; '.join(names[:NAMED])}{more}: {warning}")
    return out


def waived(found: Sequence[GuardLine]) -> list[tuple[GuardLine, str]]:
    """Each waiver with its words, and whether it did anything."""
    out = []
    for g in found:
        if g.waiver is not None:
            said = waiver_text(g.waiver)
            if g.counts_as != "waived" and not said.endswith(IDLE):
                said += " (not needed: it passed)" if g.verdict.verdict == "pass" else IDLE
            out.append((g, said))
    return out


# ---- text ------------------------------------------------------------------------------------------------------------


def suite_text(s: Suite, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The suite as lines of at most `width` columns where words allow."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    found = guards(s)
    parts = [
        one.headline(s.verdict, f"suite{f' {s.name}' if s.name else ''}, {tally(found)}", look),
        [*guard_lines(found, s.alpha, look), *(look.paint(line, DIM) for line in wrap(look.name(legend(s)), width, GAP))] if found else [],
        wrap(look.name(s.conclusion), width) if s.conclusion else [],
        _list("unconfirmed", [(g, UNCONFIRMED) for g in found if g.counts_as == "unconfirmed"], look),
        _list("waivers", waived(found), look),
        *(lines for g in found if not g.clean for lines in _behind(g, look)),
        [line for warning in (*s.warnings, *grouped_warnings(found)) for line in warning_lines(warning, look)],
        [look.paint(look.name(s.signature), DIM)] if s.signature else [],
    ]
    return one.joined(parts)


def guard_lines(found: Sequence[GuardLine], alpha: float, look: Terminal) -> list[str]:
    """A line per guard if its names fit whole beside its numbers, else its names above its numbers."""
    columns = [
        [head, *_on_point(column)] for head, column in zip(FIGURES, zip(*(figures(g, alpha) for g in found), strict=True), strict=True)
    ]
    numbers = _rows([[right(cell, widest(column)) for cell in column] for column in columns])
    words = ["verdict", *(look.name(g.word) for g in found)]
    start = widest(words) + len(GAP)
    labels = [[head, *(look.name(cell) if cell else "" for cell in cells)] for head, cells in _names(found)]
    names = _rows([[left(cell, widest(column)) for cell in column] for column in labels])
    if start + widest(names) + len(GAP) + widest(numbers) <= look.width:
        rest = [[GAP.join(pair)] for pair in zip(names, numbers, strict=True)]
    else:
        told = [", ".join(head for head, *_ in labels if head != OWN), *(look.name(_told(g)) for g in found)]
        rest = [
            [*wrap(name, look.width - start), *_beneath(line, columns, i, look.width - start)]
            for i, (name, line) in enumerate(zip(told, numbers, strict=True))
        ]
    lines = []
    for i, (word, (first, *more)) in enumerate(zip(words, rest, strict=True)):
        code = COLORS.get(found[i - 1].counts_as, BOLD) if i else DIM
        lines.append(look.paint(word, code) + " " * (start - len(word)) + (first if i else look.paint(first, DIM)))
        lines += [" " * start + (line if i else look.paint(line, DIM)) for line in more]
    return [line.rstrip() for line in lines]


def _told(g: GuardLine) -> str:
    parts = [g.verdict.task, g.verdict.model, spec_text(g.verdict.spec), g.tier]
    return ", ".join(filter(None, parts)) + one.by_itself(g.verdict, g.counts_as)


def _rows(columns: Sequence[Sequence[str]]) -> list[str]:
    return [GAP.join(cells) for cells in zip(*columns, strict=True)]


def _beneath(line: str, columns: Sequence[Sequence[str]], i: int, width: int) -> list[str]:
    """The numbers of a guard in their columns; where these do not fit, each with its name, and then without heads above."""
    if widest([line]) <= width:
        return [line]
    return wrap("; ".join(f"{column[0]} {column[i].strip()}" for column in columns), width) if i else []


def _names(found: Sequence[GuardLine]) -> list[tuple[str, list[str]]]:
    """The columns of words; one that nobody has is left out."""
    own = [g.verdict for g in found]
    named = [
        ("task", [v.task for v in own]),
        ("model", [v.model for v in own]),
        ("spec", [spec_text(v.spec) for v in own]),
        ("tier", [g.tier for g in found]),
        (OWN, ["" if g.verdict.verdict == g.counts_as else g.verdict.verdict for g in found]),
    ]
    return [(head, cells) for head, cells in named if head in ("task", "model") or any(cells)]


def _on_point(texts: Sequence[str]) -> list[str]:
    """Numbers in one column with their first decimal points below one another, all of one width."""
    heads = [text.partition(".")[0] for text in texts]
    before = widest(heads)
    placed = [right(head, before) + text[len(head) :] for head, text in zip(heads, texts, strict=True)]
    width = widest(placed)
    return [left(text, width) for text in placed]


def _list(title: str, entries: Sequence[tuple[GuardLine, str]], look: Terminal) -> list[str]:
    if not entries:
        return []
    lines = [f"{title}: {count_text(len(entries))}"]
    for g, said in entries:
        lines += [GAP + line for line in wrap(look.name(f"{who(g.verdict)}: {said}"), look.width - len(GAP), GAP)]
    return lines


def _behind(g: GuardLine, look: Terminal) -> list[list[str]]:
    """What is behind a guard that did not simply pass; its numbers are in its line."""
    flips = [] if g.verdict.flips is None else one.labelled("flips", flips_text(g.verdict.flips), look)
    head, said, step = one.opening(g.verdict, look, g.counts_as)
    return [[*head, *said, *step, *flips], one.telling_lines(g.verdict, look)]


# ---- Markdown --------------------------------------------------------------------------------------------------------


def suite_markdown(s: Suite, *, cap: int = one.CAP) -> str:
    """A page of at most `cap` bytes: flipped items go first, then reports, then the rows that pass."""
    found = guards(s)
    name = f" {one.word(s.name)}" if s.name else ""
    pieces = [
        one.VerdictPart(head=f"## {s.verdict.upper()}: suite{name}, {tally(found)}"),
        one.VerdictPart(head=f"**{one.word(s.conclusion, one.LONG)}**" if s.conclusion else ""),
        *_table(found, s),
        _bullets("Unconfirmed", [(g, UNCONFIRMED) for g in found if g.counts_as == "unconfirmed"]),
        _bullets("Waivers", waived(found)),
        *(piece for g in found if not g.clean for piece in one.verdict_pieces(g.verdict, "###", g.counts_as)),
        *one.closing([*s.warnings, *grouped_warnings(found)], s.signature),
    ]
    return one.fitted(pieces, cap)


def _table(found: Sequence[GuardLine], s: Suite) -> list[one.VerdictPart]:
    if not found:
        return []
    named = _names(found)
    heads = [("verdict", "---"), *((head, "---") for head, _ in named), *((head, "---:") for head in FIGURES)]
    lines = []
    for i, g in enumerate(found):
        counted = f"**{g.word}**" if g.word.isupper() else one.word(g.word)
        words = [one.word(cells[i]) if cells[i] else "" for _, cells in named]
        lines.append([counted, *words, *(cell.replace(">", "&gt;") for cell in figures(g, s.alpha))])
    head, rule, *rows = markdown_table(heads, lines).splitlines()
    return [one.VerdictPart(head=f"{head}\n{rule}", rows=rows, worth=one.ROW, noun="guards"), one.VerdictPart(head=one.word(legend(s)))]


def _bullets(title: str, entries: Sequence[tuple[GuardLine, str]]) -> one.VerdictPart:
    lines = [f"- {one.word(who(g.verdict))}: {one.word(said, one.LONG)}" for g, said in entries]
    return one.VerdictPart(
        head=f"**{title}: {count_text(len(entries))}**\n" if entries else "", rows=lines, worth=one.WARNING, noun=title.lower()
    )
