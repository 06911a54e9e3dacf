"""The page of a model card: our part between its two marks, and a first page for a model that has none."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.render.cards.about import CardDetails, Evaluated
from steelyard_old.render.digits import NONE, interval_word, row_texts
from steelyard_old.render.markdown import code_span, markdown, markdown_table
from steelyard_old.render.page import RowGroup
from steelyard_old.render.pages import measurement
from steelyard_old.render.terminal import wrap
from steelyard_old.results.measurement import Row

BEGIN, END = "<!-- steelyard:begin -->", "<!-- steelyard:end -->"
_NOTE = "<!-- `steelyard report --card` writes what stands between these two marks, and replaces it the next time. -->"
_UNDIVIDED = (
    "the items were not divided by group of people, source or difficulty,\n"
    "so whether the model does worse on some of them is not known. `steelyard measure --by COLUMN` measures it."
)
COLUMNS = 110
# The sections that only people can write: a heading for a new card, and what to write there.
ASKED = {
    "intended use": ("Intended use", "For whom and for what is this model made? For what must it not be used?"),
    "limits": ("Limits", "Where does it fail, and on what was it not tried? What follows from how its data was collected?"),
    "harms": (
        "Harms",
        "Whom can this model harm, and how: by its errors, by its training data, by what is built on it? What was done about it?",
    ),
}


def card_part(about: CardDetails, asked: Sequence[str] = (), unstated: Sequence[str] = ()) -> list[str]:
    """The lines of our part, marks included. unstated: the sections of `ASKED` that nobody has written yet. asked: those to ask for."""
    rows = [row for _, row in about.rows]
    parts = [
        "## Evaluation results",
        _table(about),
        "  \n".join(_facts(about, rows)),
        *_probabilities(about),
        "### Slices and groups measured",
        *_slices(about),
        "### What these numbers do not say",
        "\n".join(_limits(about, unstated)),
        "### How to repeat them",
        "\n".join(f"- {markdown(each.data)}: {code_span(each.measurement.signature)}" for each in about.evaluated),
        _asking(asked),
    ]
    return [*"\n\n".join([f"{BEGIN}\n{_NOTE}", *(part for part in parts if part)]).split("\n"), "", END]


def new_page(about: CardDetails) -> list[str]:
    """The lines below the front matter of a new card: the sections that people write, each with its question, and our part."""
    sections = [line for title, question in ASKED.values() for line in (f"## {title}", "", f"<!-- {question} -->", "")]
    return ["", f"# {markdown(about.model)}", "", *sections, *card_part(about)]


def _table(about: CardDetails) -> str:
    """One line per number; with the data in a column where there is more than one set."""
    rows = [row for _, row in about.rows]
    heads = [("data", "---"), ("metric", "---"), (f"score [{interval_word(rows)}]", "---"), ("n", "---:"), ("method", "---")]
    return markdown_table(heads, [(markdown(each.data), markdown(row.name), *_score(row)) for each, row in about.rows])


def _score(row: Row) -> tuple[str, str, str]:
    """Digits as the interval justifies them. No interval is said, not left blank."""
    estimate, interval = row_texts(row)
    shown = estimate if interval == NONE else f"{estimate} {interval}"
    return shown, f"{row.n:,}", NONE if row.interval is None else markdown(row.interval.method)


def _facts(about: CardDetails, rows: Sequence[Row]) -> list[str]:
    named = [f"{markdown(each.data)}: {told}" for each in about.evaluated if (told := measurement.design(each.measurement.rows))]
    return [fact for fact in (measurement.lower_is_better(rows, markdown), *named) if fact]


def _probabilities(about: CardDetails) -> list[str]:
    """What posteriors say, a paragraph per data set; its name before it where there are several."""
    several = len(about.evaluated) > 1
    said = [(each.data, measurement.probabilities(each.scores, markdown)) for each in about.evaluated]
    return [(f"{markdown(data)}: " if several else "") + "  \n".join(lines) for data, lines in said if lines]


def _slices(about: CardDetails) -> list[str]:
    """A table per class and slice column; for data without any, the sentence that says so."""
    out = []
    for each in about.evaluated:
        classes = measurement.class_block(each.measurement)
        found = [*([classes] if classes else []), *measurement.slice_blocks(each.measurement)]
        out += [_block(block, each) for block in found]
        if not each.measurement.slices:
            out.append(f"{markdown(each.data)}: {_UNDIVIDED}")
    return out


def _block(block: RowGroup, each: Evaluated) -> str:
    heads = [(markdown(block.by), "---"), (block.count, "---:"), *((markdown(metric), "---") for metric in block.metrics)]
    lines = [
        (markdown(entry.name), NONE if entry.n is None else f"{entry.n:,}", *(_cell(entry.rows.get(m)) for m in block.metrics))
        for entry in block.entries
    ]
    more = f"\n\n{block.hidden:,} more are in the result itself." if block.hidden else ""
    return f"{markdown(each.data)}, by {markdown(block.by)}:\n\n{markdown_table(heads, lines)}{more}"


def _cell(row: Row | None) -> str:
    return NONE if row is None else _score(row)[0]


def _limits(about: CardDetails, unstated: Sequence[str]) -> list[str]:
    """What every reader of the table should know, what nobody has said, then the warnings of the measurements."""
    told = [
        "An interval tells how far the score would move with other items of the same kind. It does not tell how the model does "
        "on other data, in another language or another year, nor whether the items resemble those it was trained on.",
        "Intervals that overlap do not mean that two models are alike: `steelyard compare` asks that on the same items.",
        *([f"Left empty by the authors of this card: {', '.join(unstated)}."] if unstated else []),
    ]
    named = [f"- {markdown(each.data)}: {markdown(w)}" for each in about.evaluated for w in measurement.all_warnings(each.measurement)]
    # Only our own words are wrapped: a word of somebody else's at the start of a line might mean something there.
    return [line for sentence in told for line in wrap(f"- {sentence}", COLUMNS, "  ")] + named


def _asking(missing: Sequence[str]) -> str:
    """A question that no reader of the page sees, but everybody who edits it does."""
    return "\n".join(f"<!-- Please write a section '{ASKED[name][0]}', outside of these marks: {ASKED[name][1]} -->" for name in missing)
