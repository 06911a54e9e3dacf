"""The page of a measurement: its headline, then class by class and slice by slice, then who was taken for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.render import summary
from steelyard.render.digits import count_text, row_texts
from steelyard.render.estimates import RowBlock, axis_key
from steelyard.render.page import (
    DRAWN,
    HTML,
    MARKDOWN,
    NOWHERE,
    TEXT,
    WRITTEN,
    Beside,
    Estimates,
    Matrix,
    Page,
    PageBlock,
    PageTable,
    Picture,
    Section,
    Sentences,
    capped,
    filled,
)
from steelyard.render.pages.registry import Extra
from steelyard.render.pictures.forest import Bar, Forest
from steelyard.render.pictures.plane import curve_plane
from steelyard.render.terminal import EMPTY
from steelyard.results.measurement import Interval, Measurement, Row
from steelyard.results.plan import Curve
from steelyard.tally.counts import Counts

CLASSES = 24  # of a confusion table that people read; beyond, the pairs that are mixed up most
PAIRS = 40
Densities = Mapping[str, Curve]


def bar(name: str, row: Row) -> Bar:
    """A row as it is drawn: the end of a one-sided interval that only repeats the metric's range is left open."""
    estimate, ends = row_texts(row)
    low, high = ends_of(row.interval)
    return Bar(name=name, estimate=row.estimate, low=low, high=high, said=estimate if row.interval is None else f"{estimate}  {ends}")


def ends_of(interval: Interval | None) -> tuple[float | None, float | None]:
    """The ends that are bounds."""
    if interval is None:
        return None, None
    return interval.low if interval.side != "upper" else None, interval.high if interval.side != "lower" else None


def measurement_page(m: Measurement, extra: Extra) -> Page:
    """The measurement as a page: what was measured, the headline, class by class, slice by slice, how sure."""
    rows = summary.headline(m)
    found = summary.class_block(m)
    by = [*([found] if found else []), *summary.slice_blocks(m)]
    first = rows[0] if rows else m.rows[0] if m.rows else None
    lead = "" if first is None else f"{first.name} {' '.join(row_texts(first))}"
    if first is not None and first.interval is not None:
        lead += f", {summary.interval_word([first])}"
    facts = [summary.methods(summary.all_rows(m), _named), summary.design(m.rows), summary.lower_is_better(m.rows, _named)]
    footer: list[PageBlock] = [
        Sentences(said=list(filter(None, facts)), listed=False, seen=WRITTEN),
        Sentences(said=[standard_errors([(row.name, row) for row in m.rows])], detail=True, seen=(TEXT,)),
    ]
    return Page(
        word="measured",
        about=m.name or f"{count_text(m.n)} items",
        lead=lead,
        step=summary.measured(replace(m, name=None), _named),
        sections=filled(
            Section(title="", blocks=[Sentences(said=[summary.measured(m, _named)], listed=False, seen=WRITTEN)]),
            _headline(rows),
            _believed(extra.densities),
            *(_by(block) for block in by),
            confusion(m.table) if m.table is not None else None,
            Section(title="", blocks=footer),
        ),
        warnings=summary.all_warnings(m),
        hints=m.hints,
        methods=[("how", fact) for fact in facts if fact],
        signature=m.signature,
        led=NOWHERE,
    )


def measured_forest(m: Measurement) -> Forest | None:
    """Every estimate with its interval."""
    bars = [bar(row.name, row) for row in m.rows[:DRAWN]]
    return Forest(title=f"{m.name or 'Measurement'}: estimates with their intervals", bars=bars) if bars else None


def _named(text: str) -> str:
    """The empty name is a name too, and must not look like a hole."""
    return text or EMPTY


def standard_errors(named: Sequence[tuple[str, Row]]) -> str:
    """The standard error of every row that has one, in as many digits as it deserves."""
    known = [f"{_named(name)} {row.standard_error:.3g}" for name, row in named if row.standard_error is not None]
    if not known:
        return "standard error: none known"
    over = len(known) - summary.MOST
    left_out = f"; {count_text(over)} more, --format json has them all" if over > 0 else ""
    return f"standard error: {'; '.join(known[: summary.MOST])}{left_out}"


def _headline(rows: Sequence[Row]) -> Section | None:
    """Every metric on its own axis: a share and a number of errors have none in common."""
    if not rows:
        return None
    table = PageTable(
        caption="Metrics with their intervals",
        heads=["metric", "estimate", summary.interval_word(rows), "n"],
        rows=_lines(rows[:DRAWN]),
        numbers=(1, 3),
        folded="The numbers",
        seen=(HTML,),
    )
    shared = [row for row in rows[:DRAWN] if _within_unit(row)]
    others = [row for row in rows[:DRAWN] if not _within_unit(row)]
    groups = [*([shared] if shared else []), *([row] for row in others)]
    drawn: list[PageBlock] = [
        Picture(
            drawing=Forest(title="Metrics with their intervals" if len(some) > 1 else some[0].name, bars=[bar(r.name, r) for r in some]),
            table=table if i == len(groups) - 1 else None,
        )
        for i, some in enumerate(groups)
        if any(bar(r.name, r).numbers for r in some)
    ]
    by_axis: dict[str, list[Row]] = {}
    for row in rows:
        by_axis.setdefault(axis_key(row), []).append(row)
    signs = [RowBlock(head="metric", names=[r.name for r in some], rows=some, scale=some) for some in by_axis.values()]
    every = replace(table, rows=_lines(rows), ours=(1, 2, 3), noun="metrics", seen=(MARKDOWN,), folded="")
    return Section(title="How good", blocks=[Estimates(sections=signs), every, *(drawn or [table])])


def _lines(rows: Sequence[Row]) -> list[list[str]]:
    return [[_named(row.name), *row_texts(row), count_text(row.n)] for row in rows]


def _within_unit(row: Row) -> bool:
    known = bar(row.name, row).numbers
    return bool(known) and all(-1 <= x <= 1 for x in known)


def _by(block: summary.RowGroup) -> Section:
    """A small picture per metric, and one table of all."""
    names = block.metrics
    pictures = [
        Picture(
            drawing=Forest(title=f"{metric} by {block.by}", bars=[bar(name, row) for name, row in block.of(metric)[:DRAWN]], axis=metric)
        )
        for metric in names
    ]
    shown = [[name for name, _ in block.of(metric)] for metric in names]
    cells = [
        [_named(entry.name), "" if entry.n is None else count_text(entry.n), *(_cell(entry.rows.get(metric)) for metric in names)]
        for entry in block.entries
    ]
    table = capped(f"By {block.by}", [block.by, block.count, *names], cells, numbers=(1,), folded="The numbers", seen=(HTML,))
    written = replace(table, folded="", ours=range(1, len(names) + 2), noun="rows", seen=(MARKDOWN,))
    hidden = block.hidden + max(0, max(map(len, shown), default=0) - DRAWN)
    if block.hidden or hidden:
        said = f"{count_text(DRAWN)} are drawn, {count_text(len(block.entries))} listed"
        said += f", {count_text(block.hidden)} more are in --format json." if block.hidden else "."
        table = replace(table, note=said)
    more = f"{count_text(block.hidden)} more; --format json has them all"
    return Section(
        title=f"By {block.by}",
        blocks=[
            Estimates(breakdown=block),
            written,
            *([Sentences(said=[more], listed=False, seen=(MARKDOWN,))] if block.hidden else []),
            Beside(pictures=[p for p in pictures if p.svg]),
            table,
        ],
    )


def _cell(row: Row | None) -> str:
    return "" if row is None else " ".join(row_texts(row)).removesuffix(" -")


def _believed(densities: Densities) -> Section | None:
    pictures = [Picture(drawing=curve_plane(curve, f"Posterior of {name}")) for name, curve in densities.items()]
    return Section(title="Posterior", blocks=[Beside(pictures=pictures)]) if pictures else None


# ---- who was taken for whom ------------------------------------------------------------------------------------------


def confusion(counts: Counts) -> Section | None:
    """The table of truths and predictions, or of the pairs mixed up most; nothing for bare right and wrong."""
    if counts.kind == "outcomes" or len(counts.labels) < 2:
        return None
    cells = {(t, p): n for t, p, n in counts.cells()}
    if len(counts.labels) > CLASSES:
        return _mixed_up(counts, cells)
    sums: dict[int, int] = {}
    for (t, _), n in cells.items():
        sums[t] = sums.get(t, 0) + n
    places = range(len(counts.labels))
    unknown = not counts.negatives_known
    rows = [
        (
            counts.labels[t],
            [
                ("?", 0, True)
                if unknown and t == p == 0
                else (count_text(cells.get((t, p), 0)), _heat(cells.get((t, p), 0), sums[t]), t == p)
                for p in places
            ],
        )
        for t in places
        if t in sums
    ]
    note = "Rows: truth; columns: prediction. Shaded by the share of the row; right answers are framed."
    return Section(
        title="Confusion",
        blocks=[
            Matrix(
                caption="Items by truth and prediction", labels=counts.labels, rows=rows, note=note + (" ?: not known." if unknown else "")
            )
        ],
    )


def _heat(n: int, of: int) -> int:
    return 0 if n == 0 else min(5, 1 + 5 * n // of)


def _mixed_up(counts: Counts, cells: Mapping[tuple[int, int], int]) -> Section | None:
    wrong = sorted(((n, t, p) for (t, p), n in cells.items() if t != p), key=lambda each: (-each[0], each[1], each[2]))
    if not wrong:
        return None
    table = PageTable(
        caption="Most confused pairs",
        heads=["truth", "prediction", "items"],
        rows=[[counts.labels[t], counts.labels[p], count_text(n)] for n, t, p in wrong[:PAIRS]],
        numbers=(2,),
        note=f"{count_text(len(counts.labels))} classes: {count_text(min(PAIRS, len(wrong)))} of {count_text(len(wrong))} pairs are shown.",
        seen=(HTML,),
    )
    return Section(title="Confusion", blocks=[table])
