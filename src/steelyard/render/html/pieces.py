"""What a page is made of, before it is HTML: parts with a word, a sentence and what to do, and below them tables, pictures, notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from steelyard.render.digits import count_text
from steelyard.render.pictures.forest import Forest
from steelyard.render.pictures.plane import Plane

if TYPE_CHECKING:
    from steelyard.render.verdict_facts import Fact

CAP = 2000  # rows of a table on a page: more are searched in a file, not read
DRAWN = 40  # rows of a forest
_NUMBER = re.compile(r"[-+<>=\s]*\d")
FIGURE, POINT = "\u2007", "\u2008"  # spaces as wide as a digit and as a point


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A text in pieces, each with what it is beside another text: the same (""), only here and gone there (del), new here (ins)."""

    pieces: Sequence[tuple[str, str]]


Cell = str | Marked


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """Rows under heads. `numbers` are the columns that stand on their decimal points; the first column names the row."""

    shape: ClassVar[str] = "table"
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: Sequence[int] = ()
    note: str = ""
    search: bool = False
    folded: str = ""  # the words to click on, if the table is behind them
    more: bool = False  # it goes on where the table before it ends, and is searched by the same box


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawing, and the numbers behind it."""

    shape: ClassVar[str] = "picture"
    drawing: Forest | Plane
    table: PageTable | None = None
    note: str = ""

    @property
    def svg(self) -> str:
        return self.drawing.svg()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Pictures side by side where the page is wide enough."""

    shape: ClassVar[str] = "beside"
    pictures: Sequence[Picture]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactList:
    """Names, numbers and what they mean, in groups."""

    shape: ClassVar[str] = "facts"
    caption: str
    groups: Sequence[Sequence[Fact]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteList:
    """Labels, each with a sentence."""

    shape: ClassVar[str] = "notes"
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """Sentences as a list, or as one paragraph if there is but one."""

    shape: ClassVar[str] = "sentences"
    said: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Truth in rows, prediction in columns; `heat` from 0 to 5 shades a cell by its share of the row."""

    shape: ClassVar[str] = "matrix"
    caption: str
    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, int, bool]]]]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """Other parts, each folded behind its first line."""

    shape: ClassVar[str] = "inside"
    parts: Sequence[Part]


Block = PageTable | Picture | Beside | FactList | NoteList | Sentences | Matrix | Inside


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """Blocks under a heading."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One answer: the word and what it is about, the sentence, what to do, and all that is behind it.

    `tone` is pass, regression, inconclusive or plain: it picks a mark and a colour, which only repeat the word.
    """

    word: str
    about: str
    tone: str = "plain"
    lead: str = ""
    step: str = ""
    command: Sequence[Sequence[str]] = ()  # lines of words that stay together
    sections: Sequence[PageSection] = ()
    warnings: Sequence[str] = ()
    hints: Sequence[str] = ()
    methods: Sequence[tuple[str, str]] = field(default=())
    signature: str = ""


def capped(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], *, numbers: Sequence[int] = (), folded: str = ""
) -> PageTable:
    """A table of at most CAP rows, with a note about the rest; long ones can be searched."""
    over = len(rows) - CAP
    note = f"The first {count_text(CAP)} of {count_text(len(rows))} rows; --format json has them all." if over > 0 else ""
    search = len(rows) > 12 and not folded
    return PageTable(caption=caption, heads=heads, rows=rows[:CAP], numbers=numbers, note=note, search=search, folded=folded)


def aligned(cells: Sequence[str]) -> list[str]:
    """Numbers with the spaces after them that bring their decimal points below one another, when flush right.

    >>> [cell.replace(FIGURE, "_").replace(POINT, "~") for cell in aligned(["0.83", "1,319", "-", "0.9"])]
    ['0.83', '1,319~__', '-~__', '0.9_']
    """
    tails = [cell.partition(".")[2] if _NUMBER.match(cell) else "" for cell in cells]
    longest = max(map(len, tails), default=0)
    if not longest or any(not tail.replace("e-", "").isalnum() for tail in tails if tail):
        return list(cells)
    return [cell + (FIGURE * (longest - len(tail)) if tail else POINT + FIGURE * longest) for cell, tail in zip(cells, tails, strict=True)]


def joined(*sections: PageSection | None) -> list[PageSection]:
    """The sections that have something to say."""
    return [section for section in sections if section is not None and section.blocks]
