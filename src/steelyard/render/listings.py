"""References for people: their list, one in full, what is wrong with them, their history, what was changed; text and Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from steelyard.render import safe
from steelyard.render.layout import GAP, left, on_point, right, widest, wrap
from steelyard.render.listing_cells import (
    LIST_HEADS,
    LIST_NUMBERS,
    RULE_HEADS,
    STORY_HEADS,
    STORY_NUMBERS,
    Cells,
    about,
    by_task,
    changed_cells,
    figure,
    gate_facts,
    held_lines,
    list_cells,
    spark,
    story_cells,
    story_sum,
)
from steelyard.render.markdown import markdown_table
from steelyard.render.terminal import BOLD, DIM, Terminal, warning_lines
from steelyard.render.verdict import ALWAYS, CAP, DETAIL, LONG, ROW, VerdictPart, closing, fenced, fitted, joined, labelled, word
from steelyard.render.verdict_facts import spec_text
from steelyard.results.references import Finding, Lint, Listing, ProjectInit, ReferenceChange, ReferenceDetail, ReferenceHistory

COLORS = {"error": "1;31", "warning": "33", "note": DIM}
FEWEST = 12  # columns of a cell that is cut
FILES = 4  # in which there are more findings of a kind


# ---- text ------------------------------------------------------------------------------------------------------------


def grid(heads: Sequence[str], rows: Sequence[Cells], numbers: Sequence[int], look: Terminal) -> list[str]:
    """Rows in columns: numbers on their points, texts cut where the width is short, the longest first."""
    shown = [[look.name(cell) if cell else "" for cell in row] for row in rows]
    columns = [[head, *cells] for head, cells in zip(heads, zip(*shown, strict=True), strict=True)]
    for i in numbers:
        if not any("," in cell for cell in columns[i]):  # 4,096 has no point to stand on
            columns[i] = [columns[i][0], *on_point(columns[i][1:])]
    widths = [widest(column) for column in columns]
    cut = [i for i in range(len(columns)) if i not in numbers]
    while sum(widths) + len(GAP) * len(widths) > look.width:
        longest = max(cut, key=lambda i: widths[i])
        if widths[longest] <= FEWEST:
            break
        widths[longest] -= 1
    lines = []
    for row in zip(*columns, strict=True):
        placed = [
            right(cell, w) if i in numbers else left(look.cut(cell, w), w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((GAP + GAP.join(placed)).rstrip())
    return [look.paint(lines[0], DIM), *lines[1:]]


def _foot(warnings: Sequence[str], signature: str, look: Terminal) -> list[list[str]]:
    lines = [line for warning in warnings for line in warning_lines(warning, look)]
    return [lines, [look.paint(look.name(signature), DIM)] if signature else []]


def listing_text(r: Listing, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The references, a block for each task."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = []
    for task, rows in by_task(r).items():
        head = f"{look.paint(look.name(task), BOLD)}{GAP}{look.paint(look.name(rows[0]['file']), DIM)}"
        parts.append([head, *grid(LIST_HEADS, [list_cells(row) for row in rows], LIST_NUMBERS, look)])
    return joined([*parts, wrap(look.name(r.conclusion), width), *_foot(r.warnings, r.signature, look)])


def shown_text(r: ReferenceDetail, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """One reference: its entry, its rule, what it finds, and why it is this one."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = [wrap(look.name(r.conclusion), width, GAP)]
    if r.entry is not None:
        entry = [[key, figure(value) if not isinstance(value, Mapping) else spec_text(value)] for key, value in r.entry.items()]
        where = look.paint(look.name(f"{r.file}, line {r.line}"), DIM)
        parts.append([where, *grid(("key", "value"), entry, (), look)])
        parts.append(_rule(r, look))
        parts.append([line for label, said in gate_facts(r) for line in labelled(label, said, look)])
    if r.held is not None:
        parts.append([line for label, said in held_lines(r) for line in labelled(label, said, look)])
    return joined([*parts, *_foot(r.warnings, r.signature, look)])


def _rule(r: ReferenceDetail, look: Terminal) -> list[str]:
    cells = [[str(number["name"]), figure(number["value"]), str(number["source"])] for number in r.rule]
    return grid(RULE_HEADS, cells, (1,), look) if cells else []


def lint_text(r: Lint, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """A line for each finding, as compilers write them, so that editors jump to it; then how many more of each kind; the count last."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    shown, hidden = r.folded()
    lines = [line for finding in shown for line in _finding(finding, look)]
    more = [line for some in hidden for line in wrap(look.name(f"{some[0].level}: {_more(some)}"), width, GAP)]
    more += ["--all lists every finding."] if more else []
    return joined([lines, more, wrap(look.name(r.conclusion), width), *_foot(r.warnings, r.signature, look)])


def _finding(finding: Finding, look: Terminal) -> list[str]:
    place = look.name(finding.file) + (f":{finding.line}" if finding.line is not None else "")
    whose = f"{about(finding.model, finding.spec)}: " if finding.model is not None else ""
    first, *rest = wrap(f"{place}: {finding.level}: {look.name(f'{whose}{finding.sentence}')} ({finding.code})", look.width, GAP)
    return [first.replace(f": {finding.level}:", f": {look.paint(finding.level, COLORS[finding.level])}:", 1), *rest]


def _more(some: Sequence[Finding]) -> str:
    """How many findings of a kind are not shown, and where they are."""
    files = Counter(finding.file for finding in some)
    where = [f"{file} ({n:,})" for file, n in files.most_common(FILES)]
    rest = f" and {len(files) - FILES:,} more files" if len(files) > FILES else ""
    return f"{len(some):,} more like these ({some[0].code}), in {', '.join(where)}{rest}"


def story_text(r: ReferenceHistory, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The changes of each reference, first to last."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = []
    for series in r.series:
        head = look.paint(look.name(about(series["model"], series["spec"])), BOLD)
        drawn = "" if ascii_only else spark(series["values"])
        summed = GAP + look.name(story_sum(series)) + (f"{GAP}{drawn}" if drawn else "")
        rows = [story_cells(change) for change in series["changes"]]
        parts.append([head, *(grid(STORY_HEADS, rows, STORY_NUMBERS, look) if rows else []), summed])
    return joined([*parts, wrap(look.name(f"{r.conclusion} {r.file}"), width), *_foot(r.warnings, r.signature, look)])


def changed_text(r: ReferenceChange, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """What was done, where, and why."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    heads, rows = changed_cells(r)
    numbers = (2, 3, 4) if r.action == "import" else (2,)
    parts = [
        wrap(look.name(r.conclusion), width),
        grid(heads, rows, numbers, look) if rows else [],
        labelled("reason", r.reason, look) if r.reason else [],
    ]
    return joined([*parts, *_foot(r.warnings, r.signature, look)])


def started_text(r: ProjectInit, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """What was written, and what to do next."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = [
        wrap(look.name(r.conclusion), width),
        [*(f"written: {look.name(path)}" for path in r.written), *(f"left as it is: {look.name(path)}" for path in r.kept)],
        ["next:", *(GAP + look.name(command) for command in r.next)],
    ]
    return joined([*parts, *_foot(r.warnings, r.signature, look)])


# ---- Markdown --------------------------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Sequence[Cells], numbers: Sequence[int], noun: str) -> VerdictPart:
    """A table whose last rows may be left out of a page that grows too long."""
    rules = [(word(head), "---:" if i in numbers else "---") for i, head in enumerate(heads)]
    head, rule, *lines = markdown_table(rules, [[_cell(cell) for cell in row] for row in rows]).splitlines()
    return VerdictPart(head=f"{head}\n{rule}", rows=lines, worth=ROW, noun=noun)


def _cell(cell: str) -> str:
    """A cell of a table; a number needs no escape, and reads the same raw."""
    return cell if re.fullmatch(r"[-+\d.,e]*", cell) else word(cell)


def listing_markdown(r: Listing, *, cap: int = CAP) -> str:
    """A table for each task."""
    pieces = [VerdictPart(head=f"## References in {word(r.directory)}\n\n**{word(r.conclusion, LONG)}**")]
    for task, rows in by_task(r).items():
        pieces.append(VerdictPart(head=f"### {word(task)}"))
        pieces.append(_table(LIST_HEADS, [list_cells(row) for row in rows], LIST_NUMBERS, "references"))
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)


def shown_markdown(r: ReferenceDetail, *, cap: int = CAP) -> str:
    """One reference on a page."""
    pieces = [VerdictPart(head=f"## {word(r.task)}, {word(about(r.model, r.spec))}\n\n**{word(r.conclusion, LONG)}**")]
    if r.entry is not None:
        cells = [[key, spec_text(value) if isinstance(value, Mapping) else figure(value)] for key, value in r.entry.items()]
        pieces.append(_table(("key", "value"), cells, (), "keys"))
        pieces.append(_table(RULE_HEADS, [[n["name"], figure(n["value"]), n["source"]] for n in r.rule], (1,), "numbers"))
        pieces.append(VerdictPart(head=_bullets(gate_facts(r))))
    if r.held:
        pieces.append(VerdictPart(rows=_bullets(held_lines(r)).splitlines(), worth=DETAIL, noun="entries"))
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)


def _bullets(facts: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {word(label)}: {word(said, LONG)}" for label, said in facts)


def lint_markdown(r: Lint, *, cap: int = CAP) -> str:
    """The findings as a table, errors first: a page is read from the top."""
    heads = ("level", "where", "what", "code")
    order = list(COLORS)
    shown, hidden = r.folded()
    rows = [
        [each.level, f"{each.file}{f', line {each.line}' if each.line is not None else ''}", _about(each), each.code]
        for each in sorted(shown, key=lambda each: order.index(each.level))
    ]
    pieces = [VerdictPart(head=f"## Lint of {word(r.directory)}\n\n**{word(r.conclusion, LONG)}**")]
    pieces += [_table(heads, rows, (), "findings")] if rows else []
    pieces += [VerdictPart(head="\n".join(f"- {some[0].level}: {word(_more(some), LONG)}" for some in hidden))] if hidden else []
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)


def _about(finding: Finding) -> str:
    return f"{about(finding.model, finding.spec)}: {finding.sentence}" if finding.model is not None else finding.sentence


def story_markdown(r: ReferenceHistory, *, cap: int = CAP) -> str:
    """A table for each reference."""
    pieces = [VerdictPart(head=f"## History of {word(r.task)}\n\n**{word(r.conclusion, LONG)}**")]
    for series in r.series:
        pieces.append(VerdictPart(head=f"### {word(about(series['model'], series['spec']))}\n\n{word(story_sum(series))}", worth=ALWAYS))
        if series["changes"]:
            pieces.append(_table(STORY_HEADS, [story_cells(change) for change in series["changes"]], STORY_NUMBERS, "changes"))
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)


def changed_markdown(r: ReferenceChange, *, cap: int = CAP) -> str:
    """What was done, on a page."""
    heads, rows = changed_cells(r)
    pieces = [VerdictPart(head=f"## {word(r.action.capitalize())}\n\n**{word(r.conclusion, LONG)}**")]
    pieces += [_table(heads, rows, (), "rows")] if rows else []
    pieces += [VerdictPart(head=f"- reason: {word(r.reason, LONG)}")] if r.reason else []
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)


def started_markdown(r: ProjectInit, *, cap: int = CAP) -> str:
    """What was written, on a page."""
    files = [*(("written", path) for path in r.written), *(("left as it is", path) for path in r.kept)]
    pieces = [
        VerdictPart(head=f"**{word(r.conclusion, LONG)}**"),
        VerdictPart(head=_bullets(files)),
        VerdictPart(head=fenced([safe.terminal(c) for c in r.next])),
    ]
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)
