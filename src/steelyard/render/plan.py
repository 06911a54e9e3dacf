"""A plan for people: the answer in a sentence, the numbers behind it, the curve, what if, and what was assumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.render import safe
from steelyard.render.curve_text import curve_text, figure
from steelyard.render.digits import NONE, count_text
from steelyard.render.layout import GAP, left, right, widest, wrap
from steelyard.render.markdown import markdown_table
from steelyard.render.terminal import BOLD, DIM, Terminal, warning_lines
from steelyard.results.plan import Plan
from steelyard.rounding import nearest, power_of_ten

ROWS, WIDEST_CURVE = 10, 96  # of the curve: higher and wider shows nothing more
NOTE = 24  # columns from which the words at the end of a row may go below it
LEAST_TEXT, MOST_WORD = 11, 16  # columns for words in a table, and for one word, before it is told row by row
DESIGN = "design"  # the one fact that is words, and so may need an escape
MONEY = {"money", "cost", "price", "costs"}
PRECISE = 7  # digits of theta and of the threshold, as other programs print them
MOST_DECIMALS, ONE_SCALE = 6, 1e5  # of a column of fractions; beyond this ratio its numbers share no number of decimals
Row = Mapping[str, Any]
Fact = tuple[str, str, str]


def plan_text(plan: Plan, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The plan as lines of at most `width` columns."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = [
        wrap(look.name(plan.conclusion), width) if plan.conclusion else [],
        _fact_lines(facts(plan), look),
        [] if plan.curve is None else curve_text(plan.curve, min(width, WIDEST_CURVE), ROWS, ascii_only),
        *([title, *table_lines(rows, look)] for title, rows in tables(plan)),
        wrap(f"assumed: {look.name(plan.assumed)}", width, " " * len("assumed: ")) if plan.assumed else [],
        [line for warning in plan.warnings for line in warning_lines(warning, look)],
        [look.paint(look.name(plan.signature), DIM)] if plan.signature else [],
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in lines) for lines in parts if lines)


def plan_markdown(plan: Plan) -> str:
    """GitHub-flavoured Markdown; the curve in plain characters, since a page's font need not have the others."""
    parts = [f"**{safe.markdown(plan.conclusion)}**" if plan.conclusion else ""]
    if found := facts(plan):
        lines = [[name, safe.markdown(value) if name == DESIGN else value, meaning] for name, value, meaning in found]
        parts.append(markdown_table([("", "---")] * 3, lines))
    if plan.curve is not None:
        parts.append(_fenced(curve_text(plan.curve, 80, ROWS, ascii_only=True)))
    parts += [f"**{title}**\n\n{_markdown_rows(rows)}" for title, rows in tables(plan)]
    parts.append(f"assumed: {safe.markdown(plan.assumed)}" if plan.assumed else "")
    parts.append("\n".join(f"- **warning:** {safe.markdown(warning)}" for warning in plan.warnings))
    parts.append(safe.code_span(plan.signature) if plan.signature else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _fenced(lines: Sequence[str]) -> str:
    """Lines as code, fenced by more backticks than any of them has."""
    longest = max((len(run) for line in lines for run in _runs_of_backticks(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence]) if lines else ""


def _runs_of_backticks(line: str) -> list[str]:
    return "".join(c if c == "`" else " " for c in line).split()


# ---- the numbers behind the answer -----------------------------------------------------------------------------------


def tables(plan: Plan) -> list[tuple[str, Sequence[Row]]]:
    """The tables that the plan has, each with its title."""
    around = "larger sizes" if plan.goal == "train" else "sizes around it"
    named = (("designs", plan.rows), (around, plan.steps), ("if the assumption is off", plan.sensitivity))
    return [(title, rows) for title, rows in named if rows]


def facts(plan: Plan) -> list[Fact]:
    """What is known: its name, its value, and what it means; the same in text and in Markdown."""
    out: list[Fact] = [(DESIGN, plan.design, "")] if plan.design else []
    out += [*_sizes(plan), *_drop(plan)]
    ruled = plan.goal == "rule-out"
    if plan.alpha is not None:
        out.append(("alpha", figure(plan.alpha), "chance of ruling theta out although it is real" if ruled else "chance of a false alarm"))
    if plan.power is not None:
        out.append(
            (
                "power",
                figure(plan.power),
                "chance of ruling theta out when nothing changed" if ruled else "chance of finding a drop of theta",
            )
        )
    elif plan.beta is not None:
        out.append(("beta", figure(plan.beta), "chance of not ruling theta out" if ruled else "chance of missing a drop of theta"))
    if plan.assurance is not None:
        out.append(("assurance", figure(plan.assurance), "chance that so many are enough"))
    if plan.expected_n is not None:
        early = "labels on average, when labelling stops as soon as it is enough"
        if plan.goal == "designs":
            early = "items on average, when stopping early and nothing changed"
        elif plan.details.get("stopped_coverage") is not None:
            early += f"; the interval then covers {plan.details['stopped_coverage']:.3f}"
        out.append(("expected", figure(plan.expected_n), early))
    return out


def _sizes(plan: Plan) -> list[Fact]:
    out: list[Fact] = []
    bought = plan.labels is not None and plan.labels != plan.n
    if plan.n is not None:
        named = "training items" if plan.goal == "train" else "items to label" if plan.labels == plan.n else "items"
        first = plan.n_first is not None and plan.n_stable == plan.n != plan.n_first
        told = f"enough, as is every larger number; {count_text(plan.n_first)} is the first" if first and plan.n_first is not None else ""
        out.append((named, count_text(plan.n), told))
    if plan.n_first is not None and plan.n_first != plan.n and plan.n_stable != plan.n:
        out.append(("first size", count_text(plan.n_first), "enough, but some larger number may not be"))
    if plan.n_stable is not None and plan.n_stable != plan.n:
        out.append(("stable size", count_text(plan.n_stable), "enough, as is every larger number"))
    if bought and plan.labels is not None:
        share = plan.details.get("relevant_share")
        among = f"of which about {count_text(nearest(share * plan.labels))} count" if isinstance(share, float) else ""
        out.append(("labels to buy", count_text(plan.labels), among))
    return out


def _drop(plan: Plan) -> list[Fact]:
    out: list[Fact] = []
    if plan.theta is not None:
        power = "" if plan.power is None else f" with power {figure(plan.power)}"
        told = f"smallest drop ruled out{power}" if plan.goal == "rule-out" else f"smallest drop found{power}"
        out.append(("theta", figure(plan.theta, PRECISE), "" if plan.goal == "designs" else told))
    if plan.threshold_offset is not None:
        sign = "-" if plan.threshold_offset < 0 else "+"
        out.append(("threshold", f"reference {sign} {figure(abs(plan.threshold_offset), PRECISE)}", "a score below it is a regression"))
    return out


def _fact_lines(found: Sequence[Fact], look: Terminal) -> list[str]:
    names = widest([name for name, _, _ in found])
    values = widest([value for _, value, meaning in found if meaning])
    before = names + values + 2 * len(GAP)
    lines = []
    for name, value, meaning in found:
        first, *rest = wrap(meaning, look.width - before)
        shown = look.paint(left(look.name(value), values), BOLD)
        lines.append(GAP.join([look.paint(left(name, names), DIM), shown, first]))
        lines += [" " * before + line for line in rest]
    return lines


# ---- tables of rows with the same keys -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanColumn:
    """A head and its cells, numbers on their decimal points."""

    head: str
    cells: list[str]
    numeric: bool

    @property
    def natural(self) -> int:
        return widest([self.head, *self.cells])

    @property
    def least(self) -> int:
        """Numbers are never cut and words of a head never broken; cells of words may wrap between words."""
        if self.numeric:
            return widest([*self.cells, *self.head.split(" ")])
        word = widest([word for cell in self.cells for word in cell.split(" ")])
        return max(min(widest(self.cells), LEAST_TEXT), min(word, MOST_WORD), widest(self.head.split(" ")))


def columns_of(rows: Sequence[Row], name: Callable[[str], str]) -> list[PlanColumn]:
    """The columns of a table; one that is empty in every row is left out."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    filled = [key for key in keys if any(row.get(key) is not None for row in rows)]
    return [_column(key, [row.get(key) for row in rows], name) for key in filled]


def _column(key: str, values: Sequence[Any], name: Callable[[str], str]) -> PlanColumn:
    known = [value for value in values if value is not None]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
    head = name(key.replace("_", " "))
    if not numeric:
        return PlanColumn(head=head, cells=[_words(value, name) for value in values], numeric=False)
    if MONEY & set(key.replace("_", " ").split()):
        texts = [NONE if value is None else f"{value:,.2f}" for value in values]
    else:
        decimals = _decimals([value for value in known if isinstance(value, float)])
        texts = [NONE if value is None else _number(value, decimals) for value in values]
    before = widest([text.partition(".")[0] for text in texts])
    placed = [right(whole, before) + point + rest for whole, point, rest in (text.partition(".") for text in texts)]
    width = widest(placed)
    return PlanColumn(head=head, cells=[left(text, width) for text in placed], numeric=True)


def _words(value: Any, name: Callable[[str], str]) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_words(part, name) for part in value)}]"
    return figure(value) if isinstance(value, int | float) else name(str(value)) if value != "" else ""


def _number(value: float, decimals: int | None) -> str:
    if isinstance(value, int):
        return count_text(value)
    return figure(value) if decimals is None else f"{value:,.{decimals}f}"


def _decimals(values: Sequence[float]) -> int | None:
    """So many that the smallest shows four digits, without zeros that end all of them; None where one number does not fit all."""
    sizes = [abs(value) for value in values if value]
    if not sizes or max(sizes) > ONE_SCALE * min(sizes):
        return None
    decimals = max(3 - power_of_ten(min(sizes)), 0)
    if decimals > MOST_DECIMALS:
        return None
    while decimals and all(f"{value:.{decimals}f}".endswith("0") for value in values):
        decimals -= 1
    return decimals


def table_lines(rows: Sequence[Row], look: Terminal) -> list[str]:
    """The table in the width: a long note goes below its row, heads wrap, then words; where even that does not fit, row by row."""
    columns = columns_of(rows, look.name)
    room = look.width - len(GAP) * len(columns)
    notes = [""] * len(rows)
    if len(columns) > 2 and not columns[-1].numeric and columns[-1].natural > NOTE and sum(c.natural for c in columns) > room:
        *columns, last = columns
        notes, room = last.cells, room + len(GAP)
    widths = _widths(columns, room)
    if widths is None:
        return _told_by_row(columns, notes, look)
    heads = [wrap(column.head, width) for column, width in zip(columns, widths, strict=True)]
    tall = max(map(len, heads))
    heads = [[*[""] * (tall - len(head)), *head] for head in heads]
    lines = [look.paint(line, DIM) for line in _side_by_side(heads, columns, widths)]
    for i, note in enumerate(notes):
        cells = [[c.cells[i]] if c.numeric else _wrapped(c.cells[i], width, look) for c, width in zip(columns, widths, strict=True)]
        lines += [*_side_by_side(cells, columns, widths), *_note(note, look)]
    return lines


def _note(text: str, look: Terminal) -> list[str]:
    """Words about a row, below it."""
    return [GAP * 3 + look.paint(line, DIM) for line in wrap(text, look.width - 3 * len(GAP))] if text not in ("", NONE) else []


def _wrapped(text: str, width: int, look: Terminal) -> list[str]:
    return [look.cut(line, width) for line in wrap(text, width, GAP)]


def _side_by_side(cells: Sequence[Sequence[str]], columns: Sequence[PlanColumn], widths: Sequence[int]) -> list[str]:
    """Cells of several lines each, in columns: numbers and their heads to the right, words to the left."""
    tall = max(map(len, cells))
    lines = []
    for i in range(tall):
        placed = [
            (right if column.numeric else left)(cell[i] if i < len(cell) else "", width)
            for cell, column, width in zip(cells, columns, widths, strict=True)
        ]
        lines.append((GAP + GAP.join(placed)).rstrip())
    return lines


def _widths(columns: Sequence[PlanColumn], room: int) -> list[int] | None:
    """A width for each column, None if they cannot fit. What is left after the least goes to words, then to heads."""
    widths = [column.least for column in columns]
    spare = room - sum(widths)
    if spare < 0:
        return None
    for numeric in (False, True):
        lacking = [i for i, column in enumerate(columns) if column.numeric is numeric]
        while spare and (short := [i for i in lacking if widths[i] < columns[i].natural]):
            widths[max(short, key=lambda i: columns[i].natural - widths[i])] += 1
            spare -= 1
    return widths


def _told_by_row(columns: Sequence[PlanColumn], notes: Sequence[str], look: Terminal) -> list[str]:
    """Each row as a small list: its name, then what it has."""
    lines = []
    heads = widest([column.head for column in columns[1:]])
    before = heads + 3 * len(GAP)
    for i, name in enumerate(columns[0].cells):
        lines += [GAP + line for line in wrap(name.strip(), look.width - len(GAP))]
        for column in columns[1:]:
            if (cell := column.cells[i].strip()) not in ("", NONE):
                first, *rest = wrap(cell, look.width - before)
                lines.append(f"{GAP * 2}{look.paint(left(column.head, heads), DIM)}{GAP}{first}")
                lines += [" " * before + line for line in rest]
        lines += _note(notes[i], look)
    return lines


def _markdown_rows(rows: Sequence[Row]) -> str:
    columns = columns_of(rows, safe.markdown)
    heads = [(column.head, "---:" if column.numeric else "---") for column in columns]
    return markdown_table(heads, [[column.cells[i].strip() for column in columns] for i in range(len(rows))])
