"""Pages as lines for a terminal: columns that fit its width, numbers on their points, colour that only repeats the words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.render import page as of
from steelyard_old.render.digits import NONE
from steelyard_old.render.page import FIRST, LAST, OWN, TEXT, Page, PageTable
from steelyard_old.render.terminal import (
    BOLD,
    DIM,
    GAP,
    GUARDS,
    RED,
    VERDICTS,
    YELLOW,
    Terminal,
    display_width,
    estimate_lines,
    left,
    on_point,
    right,
    widest,
    wrap,
)

LEVELS = {"error": RED, "warning": YELLOW, "note": DIM}
BESIDE = 26  # columns that a meaning needs to stand beside its number
FEWEST = 12  # columns of a cell that is cut
CURVE_ROWS, WIDEST_CURVE = 10, 96  # of a curve: higher and wider shows nothing more
Lines = list[str]


def page_text(page: Page, *, width: int = 80, color: bool = False, ascii_only: bool = False, details: bool = False) -> str:
    """The page in lines of at most `width` columns where words allow; whatever is cut is whole in the JSON."""
    terminal = Terminal(width=width, color=color, ascii_only=ascii_only)
    return joined(_parts(page, terminal, details))


def _parts(page: Page, terminal: Terminal, details: bool) -> list[Lines]:
    body: list[Lines] = []
    blocks = [block for block in _seen(page) if details or not block.detail]
    for block in blocks:
        parts = _sentence(page, terminal, block.beside) if isinstance(block, of.LeadSentence) else WRITERS[block.shape](block, terminal)
        if block.tight and body and parts:
            body[-1] = [*body[-1], *parts.pop(0)]
        body += parts
    below = page.led != FIRST or any(isinstance(block, of.LeadSentence) for block in blocks)
    return [
        *(part for each in page.before for part in _parts(each, terminal, details)),
        *(opening(page, terminal, below) if page.headed else [] if below else _sentence(page, terminal)),
        *body,
        [line for warning in (*page.warnings, *page.written_warnings) for line in _warning(warning, terminal)],
        [line for hint in page.hints for line in labelled("hint", hint, terminal)],
        [terminal.paint(terminal.name(page.signature), DIM)] if page.signature else [],
        *(
            [[terminal.paint(line, RED if page.tone == "regression" else BOLD) for line in _sentence(page, terminal)[0]]]
            if page.led == LAST
            else []
        ),
    ]


def _seen(page: Page) -> list[of.PageBlock]:
    """The blocks that text shows, in their order."""
    return [block for section in page.sections for block in section.blocks if TEXT in block.seen]


def _sentence(page: Page, terminal: Terminal, beside: str = "") -> list[Lines]:
    return [wrap(terminal.name(f"{page.lead} {beside}".rstrip()), terminal.width)] if page.lead else []


def opening(page: Page, terminal: Terminal, below: bool = False) -> list[Lines]:
    """What a tired person reads: what happened, how bad it is, what to do next."""
    step = wrap(terminal.name(page.step), terminal.width) if page.step else []
    commands = [line for command in page.command for line in folded([terminal.name(part) for part in command], terminal.width)]
    return [headline(page.word, page.about, terminal), *([] if below else _sentence(page, terminal)), [*step, *commands]]


def headline(word: str, about: str, terminal: Terminal) -> Lines:
    """The word in capitals, and on what. Colour only repeats the word."""
    shown = word.upper()
    first, *rest = wrap(f"{shown}{GAP}{terminal.name(about)}", terminal.width, GAP * 2)
    return [terminal.paint(shown, VERDICTS.get(word, BOLD)) + first.removeprefix(shown), *rest]


def folded(parts: Sequence[str], width: int) -> Lines:
    """A command in lines that a shell reads as one; no part is broken."""
    lines: Lines = []
    for part in parts:
        longer = f"{lines[-1]} {part}" if lines else GAP + part
        if lines and display_width(longer) > width - 2:
            lines[-1] += " \\"
            lines.append(GAP * 2 + part)
        else:
            lines[-1:] = [longer]
    return lines


def labelled(label: str, value: str, terminal: Terminal) -> Lines:
    """A label, and its sentence hanging beside it."""
    return wrap(f"{terminal.name(label)}: {terminal.name(value)}", terminal.width, " " * (display_width(label) + 2))


def _warning(text: str, terminal: Terminal) -> Lines:
    first, *rest = wrap(f"warning: {terminal.name(text)}", terminal.width, " " * display_width("warning: "))
    return [terminal.paint("warning:", YELLOW) + first.removeprefix("warning:"), *rest]


def joined(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(defused(line.rstrip()) for line in lines) for lines in parts if lines)


def defused(line: str) -> str:
    r"""A line that GitHub's runner does not obey: it reads commands at the start of any line of a log, and `##[` anywhere.

    >>> print(defused("  ::error::x"), defused("a::b"), defused("##[add-mask]x"))
      \::error::x a::b #\#[add-mask]x
    """
    bare = line.lstrip()
    line = line.replace("##[", "#\\#[")
    return line[: len(line) - len(line.lstrip())] + "\\" + line.lstrip() if bare.startswith("::") else line


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _table(block: PageTable, terminal: Terminal) -> list[Lines]:
    if not block.rows:
        return []
    lines = COLUMNS[block.columns](block, terminal)
    label = wrap(terminal.name(block.label), terminal.width) if block.label and lines else []
    return [[*label, *lines, *([terminal.paint(GAP + terminal.name(block.rest), DIM)] if block.rest else [])]]


def cut_columns(block: PageTable, terminal: Terminal) -> Lines:
    """Numbers on their points, words cut where the width is short, the longest first."""
    shown = [[terminal.name(str(cell)) if cell else "" for cell in row] for row in block.rows]
    columns = [[head, *cells] for head, cells in zip(block.heads, zip(*shown, strict=True), strict=True)]
    for i in block.numbers:
        if not any("," in cell for cell in columns[i]):  # 4,096 has no point to stand on
            columns[i] = [columns[i][0], *on_point(columns[i][1:])]
    widths = [widest(column) for column in columns]
    cut = [i for i in range(len(columns)) if i not in block.numbers]
    while cut and sum(widths) + len(GAP) * len(widths) > terminal.width:
        longest = max(cut, key=lambda i: widths[i])
        if widths[longest] <= FEWEST:
            break
        widths[longest] -= 1
    lines = _placed(zip(*columns, strict=True), widths, block.numbers, terminal)
    return [terminal.paint(lines[0], DIM), *lines[1:]]


def _placed(
    rows: Iterable[Sequence[str]], widths: Sequence[int], numbers: Collection[int], terminal: Terminal, *, margin: str = GAP
) -> Lines:
    """Rows in columns of these widths: numbers to the right, words to the left and cut where they are longer."""
    lines = []
    for row in rows:
        cells = [right(x, w) if i in numbers else left(terminal.cut(x, w), w) for i, (x, w) in enumerate(zip(row, widths, strict=True))]
        lines.append((margin + GAP.join(cells)).rstrip())
    return lines


def dated_columns(block: PageTable, terminal: Terminal) -> Lines:
    """The first two columns, a time and an id or a number, are never cut."""
    first = [[left(str(row[0]), 16), left(str(row[1]), 8)] for row in (block.heads, *block.rows)]
    narrow = Terminal(width=max(terminal.width - 28, 20), color=terminal.color, ascii_only=terminal.ascii_only)
    rest = PageTable(heads=block.heads[2:], rows=[row[2:] for row in block.rows], numbers=[i - 2 for i in block.numbers])
    return [GAP + GAP.join(cells) + line for cells, line in zip(first, cut_columns(rest, narrow), strict=True)]


def given_columns(block: PageTable, terminal: Terminal, *, margin: str = GAP) -> Lines:
    """Where the width is short, the columns to `cut` give way in their order."""
    columns = [[terminal.name(str(cell)) if cell else "" for cell in column] for column in zip(block.heads, *block.rows, strict=True)]
    widths = [widest(column) for column in columns]
    for i in block.cut:
        over = sum(widths) + len(GAP) * len(widths) - terminal.width
        widths[i] -= max(0, min(over, widths[i] - 10))
    lines = _placed(zip(*columns, strict=True), widths, block.numbers, terminal, margin=margin)
    return [terminal.paint(lines[0], DIM), *lines[1:]]


def left_columns(block: PageTable, terminal: Terminal) -> Lines:
    """Everything to the left, words cut to `narrow`."""
    drawn = str.maketrans({"━": "="}) if terminal.ascii_only else {}
    lines = [list(block.heads)]
    for row in block.rows:
        cells = [str(cell) for cell in row]
        lines.append(
            [
                cell.translate(drawn) if i in block.ours or not cell else terminal.cut(terminal.name(cell), block.narrow or terminal.width)
                for i, cell in enumerate(cells)
            ]
        )
    return _placed(lines, [widest(column) for column in zip(*lines, strict=True)], (), terminal)


def right_columns(block: PageTable, terminal: Terminal) -> Lines:
    """All but the first to the right; nothing where that does not fit the width."""
    grid = [[terminal.name(str(cell)) for cell in row] for row in (block.heads, *block.rows)]
    widths = [widest(column) for column in zip(*grid, strict=True)]
    lines = _placed(grid, widths, range(1, len(widths)), terminal)
    return [] if widest(lines) > terminal.width else lines


def _facts(block: of.FactList, terminal: Terminal) -> list[Lines]:
    return [_plain_facts(block.groups[0], terminal)] if block.plain else fact_lines(block.groups, terminal)


def fact_lines(groups: Sequence[Sequence[of.Fact]], terminal: Terminal) -> list[Lines]:
    """Names, then numbers on their decimal points, then meanings: beside them, or below where the width is short."""
    every = [fact for group in groups for fact in group]
    heads = [value.partition(".")[0] for _, value, _ in every]
    before = widest(heads)
    placed = [right(head, before) + value[len(head) :] for head, (_, value, _) in zip(heads, every, strict=True)]
    names, values = widest([terminal.name(name) for name, _, _ in every]), widest(placed)
    start = names + values + 2 * len(GAP)
    beside = terminal.width - start >= BESIDE
    out, texts = [], iter(placed)
    for group in groups:
        lines: Lines = []
        for name, _, meaning in group:
            value = next(texts)
            line = left(terminal.name(name), names) + GAP + terminal.paint(value, BOLD) + " " * (values - display_width(value))
            sentences = wrap(terminal.name(meaning), terminal.width - (start if beside else 2 * len(GAP))) if meaning else []
            lines.append(GAP.join([line, sentences.pop(0)]) if beside and sentences else line)
            lines += [" " * start + more if beside else terminal.paint(GAP * 2 + more, DIM) for more in sentences]
        out.append(lines)
    return out


def _plain_facts(found: Sequence[of.Fact], terminal: Terminal) -> Lines:
    names = widest([name for name, _, _ in found])
    values = widest([value for _, value, meaning in found if meaning])
    before = names + values + 2 * len(GAP)
    lines = []
    for name, value, meaning in found:
        first, *rest = wrap(meaning, terminal.width - before)
        shown = terminal.paint(left(terminal.name(value), values), BOLD)
        lines.append(GAP.join([terminal.paint(left(name, names), DIM), shown, first]))
        lines += [" " * before + line for line in rest]
    return lines


def _sentences(block: of.Sentences, terminal: Terminal) -> list[Lines]:
    before = GAP if block.bulleted else ""
    sentences = [f"- {each}" if block.bulleted else each for each in block.sentences]
    lines = [before + line for each in sentences for line in wrap(terminal.name(each), terminal.width - len(before), block.hang)]
    return [[terminal.paint(line, block.paint) if block.paint else line for line in lines]]


def _entries(block: of.Notes, terminal: Terminal) -> list[Lines]:
    if block.label:
        listed = [wrap(terminal.name(f"{label}: {value}"), terminal.width - len(GAP), GAP) for label, value in block.pairs]
        return [[block.label[:1].lower() + block.label[1:], *(GAP + line for lines in listed for line in lines)]]
    return [[line for label, value in block.pairs for line in labelled(label, value, terminal)]]


def _findings(block: of.Findings, terminal: Terminal) -> list[Lines]:
    lines = []
    for place, level, sentence, code in block.entries:
        first, *rest = wrap(f"{terminal.name(place)}: {level}: {terminal.name(sentence)} ({code})", terminal.width, GAP)
        lines += [first.replace(f": {level}:", f": {terminal.paint(level, LEVELS[level])}:", 1), *rest]
    return [lines]


def _heading(block: of.Heading, terminal: Terminal) -> list[Lines]:
    """The name and what is beside it; words without a name belong to what is above or below them."""
    signs = f"{GAP}{block.signs}" if block.signs and not terminal.ascii_only else ""
    if not block.name:
        return [[terminal.paint(terminal.name(block.beside), DIM)]] if not block.tight else [[GAP + terminal.name(block.beside) + signs]]
    beside = f"{GAP}{terminal.paint(terminal.name(block.beside), DIM)}" if block.beside else ""
    return [[terminal.paint(terminal.name(block.name), BOLD) + beside]]


def _signs(block: of.Signs, terminal: Terminal) -> list[Lines]:
    return [] if terminal.ascii_only or not block.signs else [[GAP + block.signs[-terminal.width + 4 :]]]


def _code(block: of.CodeLines, terminal: Terminal) -> list[Lines]:
    return [[*([block.label] if block.label else []), *(GAP + terminal.name(line) if line else "" for line in block.lines)]]


def _picture(block: of.Picture, terminal: Terminal) -> list[Lines]:
    if block.curve is None:
        return []
    from steelyard_old.render.curve_text import curve_text

    return [curve_text(block.curve, min(terminal.width, WIDEST_CURVE), CURVE_ROWS, terminal.ascii_only)]


def _inside(block: of.NestedPages, terminal: Terminal) -> list[Lines]:
    """Each in brief: its opening as one paragraph, and the blocks that are left to it."""
    out: list[Lines] = []
    for page in block.parts:
        notes = [line for label, value in page.methods for line in labelled(label, value, terminal)]
        out.append([*(line for part in opening(page, terminal) for line in part), *notes])
        out += [part for each in _seen(page) for part in WRITERS[each.shape](each, terminal)]
    return out


# ---- tables that need more thought: words that wrap, and guards with their names above their numbers ---------------------


NOTE = 24  # columns from which the words at the end of a row may go below it
LEAST_TEXT, MOST_WORD = 11, 16  # columns for words in a table, and for one word, before it is told row by row


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
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


def _columns(table: PageTable, terminal: Terminal) -> list[TextColumn]:
    out = []
    for i, head in enumerate(table.heads):
        cells = [terminal.name(str(row[i])) if row[i] else "" for row in table.rows]
        numeric = i in table.numbers
        out.append(TextColumn(head=terminal.name(head), cells=on_first_point(cells) if numeric else cells, numeric=numeric))
    return out


def on_first_point(texts: Sequence[str]) -> list[str]:
    """Numbers in one column with their first decimal points below one another, all of one width."""
    heads = [text.partition(".")[0] for text in texts]
    before = widest(heads)
    placed = [right(head, before) + text[len(head) :] for head, text in zip(heads, texts, strict=True)]
    width = widest(placed)
    return [left(text, width) for text in placed]


# ---- words that wrap -------------------------------------------------------------------------------------------------


def wrapped_lines(table: PageTable, terminal: Terminal) -> list[str]:
    """The table in the width: a long note goes below its row, heads wrap, then words; where even that does not fit, row by row."""
    columns = _columns(table, terminal)
    room = terminal.width - len(GAP) * len(columns)
    notes = [""] * len(table.rows)
    if len(columns) > 2 and not columns[-1].numeric and columns[-1].natural > NOTE and sum(c.natural for c in columns) > room:
        *columns, last = columns
        notes, room = last.cells, room + len(GAP)
    widths = _widths(columns, room)
    if widths is None:
        return _rows_as_lists(columns, notes, terminal)
    heads = [wrap(column.head, width) for column, width in zip(columns, widths, strict=True)]
    tall = max(map(len, heads))
    heads = [[*[""] * (tall - len(head)), *head] for head in heads]
    lines = [terminal.paint(line, DIM) for line in _side_by_side(heads, columns, widths)]
    for i, note in enumerate(notes):
        cells = [[c.cells[i]] if c.numeric else _wrapped(c.cells[i], width, terminal) for c, width in zip(columns, widths, strict=True)]
        lines += [*_side_by_side(cells, columns, widths), *_note(note, terminal)]
    return lines


def _note(text: str, terminal: Terminal) -> list[str]:
    """Words about a row, below it."""
    return [GAP * 3 + terminal.paint(line, DIM) for line in wrap(text, terminal.width - 3 * len(GAP))] if text not in ("", NONE) else []


def _wrapped(text: str, width: int, terminal: Terminal) -> list[str]:
    return [terminal.cut(line, width) for line in wrap(text, width, GAP)]


def _side_by_side(cells: Sequence[Sequence[str]], columns: Sequence[TextColumn], widths: Sequence[int]) -> list[str]:
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


def _widths(columns: Sequence[TextColumn], room: int) -> list[int] | None:
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


def _rows_as_lists(columns: Sequence[TextColumn], notes: Sequence[str], terminal: Terminal) -> list[str]:
    """Each row as a small list: its name, then what it has."""
    lines = []
    heads = widest([column.head for column in columns[1:]])
    before = heads + 3 * len(GAP)
    for i, name in enumerate(columns[0].cells):
        lines += [GAP + line for line in wrap(name.strip(), terminal.width - len(GAP))]
        for column in columns[1:]:
            if (cell := column.cells[i].strip()) not in ("", NONE):
                first, *rest = wrap(cell, terminal.width - before)
                lines.append(f"{GAP * 2}{terminal.paint(left(column.head, heads), DIM)}{GAP}{first}")
                lines += [" " * before + line for line in rest]
        lines += _note(notes[i], terminal)
    return lines


# ---- guards ----------------------------------------------------------------------------------------------------------


def guard_lines(table: PageTable, terminal: Terminal) -> list[str]:
    """A line per row if its names fit whole beside its numbers, else its names above its numbers. The first column is the verdict."""
    columns = _columns(table, terminal)
    words, labels = [columns[0].head, *columns[0].cells], [column for column in columns[1:] if not column.numeric]
    figures = [[column.head, *column.cells] for column in columns if column.numeric]
    numbers = _rows([[right(cell, widest(column)) for cell in column] for column in figures])
    start = widest(words) + len(GAP)
    names = _rows([[left(cell, column.natural) for cell in (column.head, *column.cells)] for column in labels])
    if start + widest(names) + len(GAP) + widest(numbers) <= terminal.width:
        rest = [[GAP.join(pair)] for pair in zip(names, numbers, strict=True)]
    else:
        told = [", ".join(column.head for column in labels if column.head != OWN), *(_row_label(labels, i) for i in range(len(table.rows)))]
        rest = [
            [*wrap(name, terminal.width - start), *_beneath(line, figures, i, terminal.width - start)]
            for i, (name, line) in enumerate(zip(told, numbers, strict=True))
        ]
    lines = []
    for i, (word, (first, *more)) in enumerate(zip(words, rest, strict=True)):
        code = GUARDS.get(word.lower(), BOLD) if i else DIM
        lines.append(terminal.paint(word, code) + " " * (start - len(word)) + (first if i else terminal.paint(first, DIM)))
        lines += [" " * start + (line if i else terminal.paint(line, DIM)) for line in more]
    return [line.rstrip() for line in lines]


def _row_label(labels: Sequence[TextColumn], i: int) -> str:
    parts = [f"{column.cells[i]} {OWN}" if column.head == OWN else column.cells[i] for column in labels if column.cells[i]]
    return ", ".join(parts)


def _rows(columns: Sequence[Sequence[str]]) -> list[str]:
    return [GAP.join(cells) for cells in zip(*columns, strict=True)]


def _beneath(line: str, columns: Sequence[Sequence[str]], i: int, width: int) -> list[str]:
    """The numbers of a guard in their columns; where these do not fit, each with its name, and then without heads above."""
    if widest([line]) <= width:
        return [line]
    return wrap("; ".join(f"{column[0]} {column[i].strip()}" for column in columns), width) if i else []


COLUMNS: dict[str, Callable[[Any, Terminal], Lines]] = {
    "cut": cut_columns,
    "dated": dated_columns,
    "given": given_columns,
    "flush": partial(given_columns, margin=""),
    "left": left_columns,
    "right": right_columns,
    "wrapped": wrapped_lines,
    "guards": guard_lines,
}
WRITERS: dict[str, Callable[[Any, Terminal], list[Lines]]] = {
    "table": _table,
    "facts": _facts,
    "sentences": _sentences,
    "notes": _entries,
    "findings": _findings,
    "heading": _heading,
    "signs": _signs,
    "code": _code,
    "picture": _picture,
    "estimates": estimate_lines,
    "inside": _inside,
}
