"""What a page is made of: a word, a sentence and what to do, and below them blocks. A result becomes a page once; formats write pages.

Nothing is escaped and nothing is laid out here: that is for the writers of text, Markdown and HTML. A block says in which of
them it is `seen`: a curve drawn in signs is for a terminal, a list that can be searched for a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.digits import steadied
from steelyard_old.results.base import Result
from steelyard_old.results.comparison import ChangedItem

if TYPE_CHECKING:
    from steelyard_old.render.pictures.forest import Forest
    from steelyard_old.render.pictures.plane import Plane
    from steelyard_old.results.measurement import Row
    from steelyard_old.results.plan import Curve


CAP = 2000  # rows of a table on a page: more are searched in a file, not read
DRAWN = 40  # rows of a forest
TEXT, MARKDOWN, HTML = "text", "markdown", "html"
ALL, WRITTEN = (TEXT, MARKDOWN, HTML), (TEXT, MARKDOWN)
FLIPPED, DETAIL, ROW, WARNING, ALWAYS = 0, 1, 2, 3, 9  # worth: what is left out first of a page that grows too long
SAMPLES = "#Samples"  # the one name of ours that looks like a reference of GitHub's
SHOWN_CHANGES = 10  # changed items that a page of text has room for
OWN = "on its own"  # the head of a guard's own verdict, where it counted as something else
FIRST, NOWHERE, LAST = "first", "nowhere", "last"
Fact = tuple[str, str, str]  # a name, a number and what it means
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedText:
    """A text in pieces, each with what it is beside another text: the same (""), only here and gone there (del), new here (ins)."""

    pieces: Sequence[tuple[str, str]]


Cell = str | MarkedText


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBlock:
    """What all blocks have: where they are seen, and what their rows are called where some must be left out.

    tight: in text, right below the block before it. detail: in text, only where details were asked for.
    """

    shape: ClassVar[str]
    seen: Sequence[str] = ALL
    tight: bool = False
    detail: bool = False
    noun: str = ""
    worth: int = ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable(PageBlock):
    """Rows under heads. `numbers` are the columns that stand on their decimal points; the first column names the row.

    ours: columns of numbers with brackets and signs that we wrote ourselves, which need no escape. label: the line above, in
    text. columns: how text lays them out. narrow: the widest a cell of words may be in text. cut: the columns
    that give way there, in their order. rest: the line below, in text. folded: the words to click on, if the
    table is behind them. more: it goes on where the table before it ends, and is searched by the same box.
    """

    shape: ClassVar[str] = "table"
    caption: str = ""
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: Sequence[int] = ()
    ours: Sequence[int] = ()
    note: str = ""
    search: bool = False
    folded: str = ""
    more: bool = False
    label: str = ""
    columns: str = "cut"
    narrow: int = 0
    cut: Sequence[int] = ()
    rest: str = ""
    worth: int = ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture(PageBlock):
    """A drawing, and the numbers behind it. curve: where text can draw it too.

    In Markdown it is a link to its file, or else its signs.
    """

    shape: ClassVar[str] = "picture"
    drawing: Forest | Plane | None = None
    table: PageTable | None = None
    note: str = ""
    curve: Curve | None = None
    signs: Sequence[str] = ()
    file: str = ""
    seen: Sequence[str] = (HTML,)

    @property
    def svg(self) -> str:
        return "" if self.drawing is None else self.drawing.svg()

    @property
    def shows_something(self) -> bool:
        """Whether there would be an SVG, which a page in text never draws."""
        return self.drawing is not None and self.drawing.known


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide(PageBlock):
    """Pictures side by side where the page is wide enough."""

    shape: ClassVar[str] = "beside"
    pictures: Sequence[Picture]
    seen: Sequence[str] = (HTML,)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLine:
    """A line of a block: its name as the user wrote it, how many items it has, and its rows by metric."""

    name: str
    n: int | None
    rows: dict[str, Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Entries of one sort: the classes, or the values of one slice column. `hidden` entries are left to the JSON."""

    by: str
    count: str
    entries: tuple[BlockLine, ...]
    hidden: int = 0

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for entry in self.entries for metric in entry.rows))

    @property
    def rows(self) -> list[Row]:
        return [row for entry in self.entries for row in entry.rows.values()]

    def of(self, metric: str) -> list[tuple[str, Row]]:
        """The named rows of one metric."""
        return [(entry.name, entry.rows[metric]) for entry in self.entries if metric in entry.rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBlock:
    """Rows under one head that share an axis; names as users wrote them."""

    head: str
    names: Sequence[str]
    rows: Sequence[Row]
    scale: Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates(PageBlock):
    """Estimates with their intervals, each drawn beside its numbers in signs: rows under heads, or one breakdown of them."""

    shape: ClassVar[str] = "estimates"
    sections: Sequence[RowBlock] = ()
    breakdown: RowGroup | None = None
    seen: Sequence[str] = (TEXT,)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactList(PageBlock):
    """Names, numbers and what they mean, in groups. plain: in text, as they are, not on their decimal points."""

    shape: ClassVar[str] = "facts"
    caption: str
    groups: Sequence[Sequence[Fact]]
    plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes(PageBlock):
    """Labels, each with a sentence. label: the line above them, in text and Markdown, where they are then a list of their own."""

    shape: ClassVar[str] = "notes"
    pairs: Sequence[Pair]
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences(PageBlock):
    """Sentences: a list, or (listed = False) lines.

    In text: hang is what the further lines of one begin with, bulleted makes a list there too, paint is the code of a colour.
    columns: where Markdown breaks its lines, on a page that is kept and compared.
    """

    shape: ClassVar[str] = "sentences"
    sentences: Sequence[str]
    listed: bool = True
    hang: str = "  "
    bulleted: bool = False
    paint: str = ""
    columns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings(PageBlock):
    """A place, a level, a sentence and a code each, as compilers write them, so that editors jump to it."""

    shape: ClassVar[str] = "findings"
    entries: Sequence[tuple[str, str, str, str]]
    seen: Sequence[str] = (TEXT,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading(PageBlock):
    """A name above blocks, words beside it, and a picture in signs; a page of HTML has the section's title instead.

    In Markdown a heading of its level, or (strong) only bold.
    """

    shape: ClassVar[str] = "heading"
    name: str
    beside: str = ""
    signs: str = ""
    strong: bool = False
    level: int = 3
    seen: Sequence[str] = WRITTEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs(PageBlock):
    """A small picture in signs; a terminal that shows no more than ASCII shows none."""

    shape: ClassVar[str] = "signs"
    signs: str
    seen: Sequence[str] = (TEXT,)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLines(PageBlock):
    """Lines as they are. quoted: a text that somebody wrote, and no command."""

    shape: ClassVar[str] = "code"
    lines: Sequence[str]
    label: str = ""
    quoted: bool = False
    seen: Sequence[str] = WRITTEN


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadSentence(PageBlock):
    """Where the page's sentence stands in text, if not at its top: below a list, it is what the eye meets. beside: words after it."""

    shape: ClassVar[str] = "lead"
    beside: str = ""
    seen: Sequence[str] = (TEXT,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix(PageBlock):
    """Truth in rows, prediction in columns; `heat` from 0 to 5 shades a cell by its share of the row."""

    shape: ClassVar[str] = "matrix"
    caption: str
    labels: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, int, bool]]]]
    note: str = ""
    seen: Sequence[str] = (HTML,)


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedPages(PageBlock):
    """Other pages: in HTML each folded behind its first line, in text in brief, in Markdown under a heading of their own."""

    shape: ClassVar[str] = "inside"
    parts: Sequence[Page]
    seen: Sequence[str] = (HTML,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under a title, which only HTML shows."""

    title: str
    blocks: Sequence[PageBlock]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCase:
    """A guard as programs read it: a test case of JUnit, an annotation of GitHub.

    word: what it counted as. outcome: failure, inconclusive, skipped or passed; message: why. remedy: what happened and what to do,
    in a report of tests; title and lines: the same in an annotation, with the items that were lost. facts: its numbers. clean: there
    is nothing to say beyond that it passed. page: its own page, made when somebody wants it.
    """

    group: str
    name: str
    word: str
    outcome: str
    message: str
    remedy: Sequence[str]
    title: str
    lines: Sequence[str]
    facts: Mapping[str, Any]
    clean: bool
    page: Callable[[], Page]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer: the word and what it is about, the sentence, what to do, and all that is behind it.

    `tone` is pass, regression, inconclusive or plain: it picks a mark and a colour, which only repeat the word.
    In text and Markdown: title is the heading of Markdown; a `headed` page begins with the word, the sentence and what to do, as in
    HTML; led says where the sentence stands; columns where Markdown breaks its lines; written_warnings are those of the pages
    inside, said once for all of them. signs: the answer as one line of signs, and what they mean. before: pages that this one
    goes on from. cases: the guards that it is about, for programs; suite: the name of the suite that holds them, None without one.
    """

    word: str
    about: str
    tone: str = "plain"
    lead: str = ""
    step: str = ""
    command: Sequence[Sequence[str]] = ()  # lines of words that stay together
    sections: Sequence[Section] = ()
    warnings: Sequence[str] = ()
    written_warnings: Sequence[str] = ()
    hints: Sequence[str] = ()
    methods: Sequence[Pair] = field(default=())
    signature: str = ""
    title: str = ""
    level: int = 2
    headed: bool = False
    led: str = FIRST
    columns: int = 0
    signs: Pair = ("", "")
    before: Sequence[Page] = ()
    cases: Sequence[PageCase] = ()
    suite: str | None = None


def capped(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]], *, folded: str = "", **more: object) -> PageTable:
    """A table of at most CAP rows on a page of HTML, with a note about the rest; long ones can be searched."""
    over = len(rows) - CAP
    note = f"The first {CAP:,} of {len(rows):,} rows; the JSON has them all." if over > 0 else ""
    search = len(rows) > 12 and not folded
    return PageTable(caption=caption, heads=heads, rows=rows, note=note, search=search, folded=folded, **more)  # type: ignore[arg-type]


# How whoever asked says a parameter: as Python does, unless a command has set this to say its flags.
PUT: ContextVar[Callable[[str], str]] = ContextVar("PUT", default=str)


def put(note: str) -> str:
    """A note of a page that names parameters (`after='64765239'`), in the words of whoever asked. The command puts warnings itself."""
    return PUT.get()(note)


def filled(*sections: Section | None) -> list[Section]:
    """The sections that have something to say."""
    return [section for section in sections if section is not None and section.blocks]


ListedItems = tuple[Sequence[ChangedItem], str]  # items that changed, and a note


@dataclass(frozen=True, slots=True, kw_only=True)
class PageExtras:
    """What a page may show beside the result: densities by the name of their row, and flipped items read from a file."""

    densities: Mapping[str, Curve]
    flips: ListedItems | None = None


NOTHING = PageExtras(densities={})
Builder = Callable[[Any, PageExtras], Page]
PAGES: dict[str, str | Builder] = {
    "Measurement": "measurement.measurement_page",
    "Comparison": "comparison.comparison_page",
    "Leaderboard": "leaderboard.leaderboard_page",
    "Audit": "audit.audit_page",
    "Bisect": "bisection.bisect_page",
    "DataSplit": "split.split_page",
    "SplitCheck": "split.split_check_page",
    "Plan": "plan.plan_page",
    "Verdict": "verdict.verdict_page",
    "Recorded": "verdict.recorded_page",
    "Acknowledged": "suite_nights.acknowledged_page",
    "Suite": "suite.suite_page",
    "Evaluation": "run.evaluation_page",
    "DryRun": "run.dry_run_page",
    "Listing": "references.listing_page",
    "ReferenceDetail": "references.detail_page",
    "Lint": "references.lint_page",
    "ReferenceHistory": "references.history_page",
    "ReferenceChange": "references.change_page",
    "ProjectInit": "references.init_page",
    "RunList": "history.run_list_page",
    "Drift": "history.drift_page",
    "NightSimulation": "nights.nights_page",
    "PostedComment": "comment.comment_page",
    "Certificate": "certificate.certificate_page",
    "CheckedSession": "session.session_page",
    "Installation": "doctor.doctor_page",
}


def page_of(result: Any, extra: PageExtras = NOTHING) -> Page:
    """The page that a result becomes; its numbers are steady (`digits.steadied`), so that every processor prints and draws the same."""
    name = type(result).__name__
    if name not in PAGES and not isinstance(result, Result):
        raise UsageError(f"A page is one of {', '.join(PAGES)}, not {name}.", got=name, need=f"one of {', '.join(PAGES)}")
    return builder_of(name)(steadied(result), steadied(extra))


def headline_page(result: Result, _: PageExtras) -> Page:
    """The page of a kind that has none of its own: what it says in a few words."""
    word = result.KIND.replace("_", " ")
    return Page(word=word, about=result.headline, lead=result.headline, warnings=result.warnings, signature=result.signature)


def builder_of(kind: str) -> Builder:
    """The function that makes the page of a kind."""
    found = PAGES.get(kind, headline_page)
    if callable(found):
        return found
    module, _, function = found.partition(".")
    builder: Builder = getattr(import_module(f"steelyard_old.render.pages.{module}"), function)
    return builder
