"""Pages as GitHub-flavoured Markdown, for a pull request, a step summary or a notebook, of no more bytes than GitHub takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.render import page as of
from steelyard_old.render.curve_text import curve_text
from steelyard_old.render.digits import EMPTY
from steelyard_old.render.page import ALWAYS, DETAIL, FLIPPED, MARKDOWN, NOWHERE, SAMPLES, WARNING, Page, PageTable
from steelyard_old.render.terminal import GAP, LONG, LONGEST, harmless, short, wrap
from steelyard_old.render.text import CURVE_ROWS, folded

CAP = 900_000  # bytes; GitHub refuses a step summary of more than 1,024 kB
_OURS = re.compile(r"~?[-+\d.,e]*")
_MARKDOWN = re.compile(r"[\\`*_\[\]|~$]|\A\s*[-+#]|:(?=\w+:)")
# Places where GitHub or GitLab makes a mention, a reference (#1 and GH-1 an issue, !1 a merge request, &1 an epic) or a link of plain text.
_LINKED = re.compile(r"@|#(?=\w)|\bGH(?=-\d)|(?:!|&amp;)(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
_FOREIGN = re.compile(r"[`*|!@#\\&]|\]\(|//|www\.", re.IGNORECASE)  # what no number of ours has
_STRONG = re.compile(r"\*\*[A-Z]+\*\*")  # a verdict in bold
_NUMBERED = re.compile(r"\A(\s*\d+)(?=[.)])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown(text: str) -> str:
    r"""The text as itself in Markdown, in a table cell, a list or a paragraph: no markup, HTML, link, mention or reference.

    A backslash does not stop GitHub from notifying `@all` or linking `#12`, since it looks at the rendered text; an
    empty comment inside does. Parentheses, dots and dashes stay readable: without brackets they mean nothing.

    >>> markdown("a|b <i>")
    'a\\|b &lt;i&gt;'
    """
    escaped = _MARKDOWN.sub(lambda found: found[0][:-1] + "\\" + found[0][-1], harmless(text))
    for character, entity in _HTML.items():
        escaped = escaped.replace(character, entity)
    return _LINKED.sub(r"\g<0><!-- -->", _NUMBERED.sub(r"\1\\", escaped)) or EMPTY


def code_span(text: str) -> str:
    """The text as code, fenced by more backticks than it has in a row."""
    shown = harmless(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a page: rows between a head and a foot. Those of the least worth are left out first, from the end."""

    head: str = ""
    rows: Sequence[str] = ()
    foot: str = ""
    worth: int = ALWAYS
    noun: str = ""

    def text(self, kept: int) -> str:
        return "\n".join(part for part in (self.head, *self.rows[:kept], self.foot) if part)


def page_markdown(page: Page, *, cap: int = CAP) -> str:
    """The page in at most `cap` bytes; what does not fit is counted in its last line."""
    return fitted(pieces(page), cap)


def pieces(page: Page) -> list[Piece]:
    """The page, and those it goes on from."""
    return [
        *(piece for each in page.before for piece in pieces(each)),
        *body(page),
        *closing([*page.warnings, *page.written_warnings], page.signature),
    ]


def body(page: Page) -> list[Piece]:
    """The page without its warnings: heading, sentence, picture, what to do, then its blocks."""
    lead = _broken(f"**{word(page.lead, LONG)}**", page.columns) if page.lead and page.led != NOWHERE else ""
    top = [f"{'#' * page.level} {word(page.title, LONG)}" if page.title else "", lead]
    if page.headed:
        command = [part for line in page.command for part in line]
        lines = [line.removeprefix(GAP) for line in folded([harmless(part) for part in command], 100)]
        top += [f"`{page.signs[0]}`  \n{page.signs[1]}" if page.signs[0] else "", word(page.step, LONG) if page.step else "", fenced(lines)]
    seen = [block for section in page.sections for block in section.blocks if MARKDOWN in block.seen]
    return [Piece(head=part) for part in top if part] + [piece for block in seen for piece in WRITERS[block.shape](block)]


def report(page: Page) -> list[Piece]:
    """A page inside another: one piece that is left out as a whole, after its flipped items."""
    made = body(page)
    flipped = [piece for piece in made if piece.worth == FLIPPED]
    text = "\n\n".join(text for piece in made if piece.worth != FLIPPED and (text := piece.text(len(piece.rows))))
    return [Piece(rows=[text], worth=DETAIL, noun="reports"), *flipped]


def closing(warnings: Sequence[str], signature: str) -> list[Piece]:
    """Warnings, then the signature."""
    lines = [f"- **warning:** {word(warning, LONG)}" for warning in warnings]
    return [
        Piece(rows=lines, worth=WARNING, noun="warnings"),
        Piece(head=code_span(short(signature, LONG)) if signature else ""),
    ]


def word(text: str, most: int = LONGEST) -> str:
    """A user's word on a page: harmless, and not without end."""
    return markdown(short(harmless(short(text, most)), most))


def fenced(lines: Sequence[str], kind: str = "sh") -> str:
    """Lines as code, fenced by more backticks than any of them has in a row."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{kind}", *lines, fence]) if lines else ""


def markdown_table(heads: Sequence[tuple[str, str]], lines: Sequence[Sequence[str]]) -> str:
    rows = [[head for head, _ in heads], [rule for _, rule in heads], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def fitted(pieces: Sequence[Piece], cap: int) -> str:
    """The pieces as one page within `cap` bytes: the least important rows go first, and the last line says how many."""
    kept = [len(piece.rows) for piece in pieces]
    over = sum(_size(piece.text(n)) + 2 for piece, n in zip(pieces, kept, strict=True)) + LONGEST - cap
    for i in sorted(range(len(pieces)), key=lambda i: (pieces[i].worth, -i)):
        while over > 0 and kept[i] and pieces[i].worth < ALWAYS:
            kept[i] -= 1
            over -= _size(pieces[i].rows[kept[i]]) + 1
            over -= 0 if kept[i] else _size(pieces[i].head + pieces[i].foot) + 2
    lost: dict[str, int] = {}
    for piece, n in zip(pieces, kept, strict=True):
        if n < len(piece.rows):
            lost[piece.noun] = lost.get(piece.noun, 0) + len(piece.rows) - n
    texts = [piece.text(n) for piece, n in zip(pieces, kept, strict=True) if n or not piece.rows]
    if lost:
        left_out = ", ".join(f"{n:,} {noun}" for noun, n in lost.items())
        texts.append(f"Left out to keep the page under {cap // 1000:,} kB: {left_out}. `--format json` has them all.")
    return "\n\n".join(text for text in texts if text) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _table(block: PageTable) -> list[Piece]:
    """A table whose last rows may be left out of a page that grows too long."""
    if not block.rows:
        return []
    rules = [(_cell(head), "---:" if i in block.numbers else "---") for i, head in enumerate(block.heads)]
    lines = [[_number(str(cell)) if i in block.ours else _cell(str(cell)) for i, cell in enumerate(row)] for row in block.rows]
    head, rule, *rows = markdown_table(rules, lines).splitlines()
    top, foot = f"{head}\n{rule}", ""
    if block.folded:
        top = f"<details><summary>{word(block.folded)}: {len(rows)}</summary>\n\n{top}"
        foot = "\n</details>"
    return [Piece(head=top, rows=rows, foot=foot, worth=block.worth, noun=block.noun)]


def _cell(cell: str) -> str:
    """A cell of a table; a number needs no escape, and reads the same raw."""
    return cell if _OURS.fullmatch(cell) else word(cell)


def _number(cell: str) -> str:
    """What we wrote of numbers. Their brackets need no escape: `[0.8, 0.9]` is no link without a target, and reads the same raw.

    A result that was read from a file may have words there instead, and those do.
    """
    if not _STRONG.fullmatch(cell) and (not cell.isprintable() or _FOREIGN.search(cell)):
        return word(cell)
    return cell.replace("<", "&lt;").replace(">", "&gt;")


def _facts(block: of.FactList) -> list[Piece]:
    rows = [
        [name if name == SAMPLES else word(name.strip()), _cell(value), word(meaning) if meaning else ""]
        for group in block.groups
        for name, value, meaning in group
    ]
    rules = [("", "---"), ("", "---" if block.plain else "---:"), ("", "---")]
    return [Piece(head=markdown_table(rules, rows))] if rows else []


def _sentences(block: of.Sentences) -> list[Piece]:
    if not block.listed:
        return [Piece(head="  \n".join(word(sentence, LONG) for sentence in block.sentences))]
    rows = [_broken(f"- {word(sentence, LONG)}", block.columns, GAP) for sentence in block.sentences]
    return [Piece(rows=rows, worth=block.worth, noun=block.noun)]


def _broken(line: str, columns: int, hang: str = "") -> str:
    """A line in lines of so many columns, if it is to be broken."""
    return "\n".join(wrap(line, columns, hang)) if columns else line


def _notes(block: of.Notes) -> list[Piece]:
    rows = [f"- {word(label)}: {word(said, LONG)}" for label, said in block.pairs]
    return [Piece(head=f"**{word(block.label)}**\n" if block.label else "", rows=rows, worth=block.worth, noun=block.noun)]


def _heading(block: of.Heading) -> list[Piece]:
    return [Piece(head=f"**{word(block.name)}**" if block.strong else f"{'#' * block.level} {word(block.name)}")]


def _code(block: of.CodeLines) -> list[Piece]:
    if block.quoted:
        return [Piece(head=f"The {block.label}:\n\n" + "\n".join(f"> {word(line, LONG)}" for line in block.lines))]
    return [Piece(head=fenced([harmless(line) for line in block.lines]))]


def _picture(block: of.Picture) -> list[Piece]:
    """In plain characters, since a page's font need not have the others."""
    if block.file:
        return [Piece(head=f"![{word(block.note)}]({block.file})")]
    drawn = block.signs if block.curve is None else curve_text(block.curve, 80, CURVE_ROWS, ascii_only=True)
    return [Piece(head=fenced(drawn, "" if block.curve is None else "text"))]


def _inside(block: of.NestedPages) -> list[Piece]:
    return [piece for page in block.parts for piece in report(replace(page, level=3))]


WRITERS: dict[str, Callable[[Any], list[Piece]]] = {
    "table": _table,
    "facts": _facts,
    "sentences": _sentences,
    "notes": _notes,
    "heading": _heading,
    "code": _code,
    "picture": _picture,
    "inside": _inside,
}
