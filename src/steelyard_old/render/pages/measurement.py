"""The page of a measurement: its headline, then class by class and slice by slice, then who was taken for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from steelyard_old.render.digits import (
    EMPTY,
    LISTED,
    chance_text,
    half_width,
    interval_word,
    kind_word,
    number_texts,
    percent,
    row_texts,
    shown_numbers,
    standard_errors,
)
from steelyard_old.render.page import (
    DRAWN,
    HTML,
    MARKDOWN,
    NOWHERE,
    TEXT,
    WRITTEN,
    BlockLine,
    Estimates,
    Matrix,
    Page,
    PageBlock,
    PageExtras,
    PageTable,
    Picture,
    RowBlock,
    RowGroup,
    Section,
    Sentences,
    SideBySide,
    capped,
    filled,
)
from steelyard_old.render.pictures.forest import Forest, bar
from steelyard_old.render.terminal import axis_key
from steelyard_old.results.measurement import Interval, Measurement, Row
from steelyard_old.results.plan import Curve
from steelyard_old.tally.counts import Counts


def measurement_page(m: Measurement, extra: PageExtras) -> Page:
    """The measurement as a page: what was measured, the headline, class by class, slice by slice, how sure."""
    rows = headline(m)
    found = class_block(m)
    by = [*([found] if found else []), *slice_blocks(m)]
    first = rows[0] if rows else m.rows[0] if m.rows else None
    lead = "" if first is None else f"{first.name} {' '.join(row_texts(first))}"
    if first is not None and first.interval is not None:
        lead += f", {interval_word([first])}"
    errors, warnings = standard_errors([(row.name, row) for row in m.rows]), all_warnings(m)
    facts = [methods(all_rows(m), _named), design(m.rows), lower_is_better(m.rows, _named)]
    footer: list[PageBlock] = [
        Sentences(sentences=list(filter(None, facts)), listed=False, seen=WRITTEN),
        Sentences(sentences=[errors], detail=True, seen=(TEXT,)),
    ]
    return Page(
        word="measured",
        about=m.name or f"{m.n:,} items",
        lead=lead,
        step=measured(replace(m, name=None), _named),
        sections=filled(
            Section(title="", blocks=[Sentences(sentences=[measured(m, _named)], listed=False, seen=WRITTEN)]),
            _headline(rows),
            Section(title="", blocks=[Sentences(sentences=said, listed=False, hang="")]) if (said := probabilities(rows, _named)) else None,
            _believed(extra.densities),
            *(_by(block) for block in by),
            _pooled(m.rows),
            confusion(m.table) if m.table is not None else None,
            Section(title="", blocks=footer),
        ),
        warnings=warnings,
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


def _headline(rows: Sequence[Row]) -> Section | None:
    """Every metric on its own axis: a share and a number of errors have none in common."""
    if not rows:
        return None
    table = PageTable(
        caption="Metrics with their intervals",
        heads=["metric", "estimate", interval_word(rows), "n"],
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
        if any(map(shown_numbers, some))
    ]
    by_axis: dict[str, list[Row]] = {}
    for row in rows:
        by_axis.setdefault(axis_key(row), []).append(row)
    signs = [RowBlock(head="metric", names=[r.name for r in some], rows=some, scale=some) for some in by_axis.values()]
    every = replace(table, rows=_lines(rows), ours=(1, 2, 3), noun="metrics", seen=(MARKDOWN,), folded="")
    return Section(title="How good", blocks=[Estimates(sections=signs), every, *(drawn or [table])])


def _lines(rows: Sequence[Row]) -> list[list[str]]:
    return [[_named(row.name), *row_texts(row), f"{row.n:,}"] for row in rows]


def _within_unit(row: Row) -> bool:
    known = shown_numbers(row)
    return bool(known) and all(-1 <= x <= 1 for x in known)


def _by(block: RowGroup) -> Section:
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
        [_named(entry.name), "" if entry.n is None else f"{entry.n:,}", *(_cell(entry.rows.get(metric)) for metric in names)]
        for entry in block.entries
    ]
    table = capped(f"By {block.by}", [block.by, block.count, *names], cells, numbers=(1,), folded="The numbers", seen=(HTML,))
    written = replace(table, folded="", ours=range(1, len(names) + 2), noun="rows", seen=(MARKDOWN,))
    hidden = block.hidden + max(0, max(map(len, shown), default=0) - DRAWN)
    if block.hidden or hidden:
        said = f"{DRAWN:,} are drawn, {len(block.entries):,} listed"
        said += f", {block.hidden:,} more are in the JSON." if block.hidden else "."
        table = replace(table, note=said)
    more = f"{block.hidden:,} more; the JSON has them all"
    return Section(
        title=f"By {block.by}",
        blocks=[
            Estimates(breakdown=block),
            written,
            *([Sentences(sentences=[more], listed=False, seen=(MARKDOWN,))] if block.hidden else []),
            SideBySide(pictures=[p for p in pictures if p.shows_something]),
            table,
        ],
    )


def _cell(row: Row | None) -> str:
    return "" if row is None else " ".join(row_texts(row)).removesuffix(" -")


def _believed(densities: Densities) -> Section | None:
    if not densities:
        return None
    from steelyard_old.render.pictures.plane import curve_plane

    pictures = [Picture(drawing=curve_plane(curve, f"Posterior of {name}")) for name, curve in densities.items()]
    return Section(title="Posterior", blocks=[SideBySide(pictures=pictures)])


def _pooled(rows: Sequence[Row]) -> Section | None:
    """The 2x2 table behind the micro averages: one for all of them."""
    found = next((row.details.pooled for row in rows if row.details.pooled is not None), None)
    if found is None:
        return None
    cells = [["truth yes", f"{found.tp:,}", f"{found.fn:,}"], ["truth no", f"{found.fp:,}", "?" if found.tn is None else f"{found.tn:,}"]]
    heads, said = ["", "predicted yes", "predicted no"], "Micro averages: every class against the rest, added up"
    written = PageTable(heads=heads, rows=cells, numbers=(1, 2), ours=(1, 2), label=said.lower(), seen=WRITTEN)
    above = Sentences(sentences=[f"{said}:"], listed=False, seen=(MARKDOWN,))
    return Section(
        title="Pooled table", blocks=[above, written, PageTable(caption=said, heads=heads, rows=cells, numbers=(1, 2), seen=(HTML,))]
    )


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
                ("?", 0, True) if unknown and t == p == 0 else (f"{cells.get((t, p), 0):,}", _heat(cells.get((t, p), 0), sums[t]), t == p)
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
        rows=[[counts.labels[t], counts.labels[p], f"{n:,}"] for n, t, p in wrong[:PAIRS]],
        numbers=(2,),
        note=f"{len(counts.labels):,} classes: {min(PAIRS, len(wrong)):,} of {len(wrong):,} pairs are shown.",
        seen=(HTML,),
    )
    return Section(title="Confusion", blocks=[table])


# ---- what is said around the tables, also on cards: each takes `name`, which makes a user's word harmless for its place -----


def headline(m: Measurement) -> list[Row]:
    """The rows of the whole, and those of a metric that was asked for one class alone."""
    split = _split(m.rows)
    return [row for row in m.rows if row.label is None or row.metric not in split]


def _split(rows: Sequence[Row]) -> set[str]:
    """Metrics that have rows for several classes."""
    labels: dict[str, set[str]] = {}
    for row in rows:
        if row.label is not None:
            labels.setdefault(row.metric, set()).add(row.label)
    return {metric for metric, found in labels.items() if len(found) > 1}


def class_block(m: Measurement) -> RowGroup | None:
    """The rows per class, as entries in the order in which the classes come."""
    split = _split(m.rows)
    found: dict[str, list[Row]] = {}
    for row in m.rows:
        if row.label is not None and row.metric in split:
            found.setdefault(row.label, []).append(row)
    entries = [
        BlockLine(name=label, n=next((r.support for r in rows if r.support is not None), None), rows={r.metric: r for r in rows})
        for label, rows in found.items()
    ]
    return _block("class", "support", entries) if entries else None


def slice_blocks(m: Measurement) -> list[RowGroup]:
    """One block per slice column, with the headline of each slice."""
    found: dict[str, list[BlockLine]] = {}
    for part in m.slices:
        rows = {row.name: row for row in headline(part.measurement)}
        found.setdefault(part.by, []).append(BlockLine(name=part.value, n=part.measurement.n, rows=rows))
    return [_block(by, "n", entries) for by, entries in found.items()]


def _block(by: str, count: str, entries: Sequence[BlockLine]) -> RowGroup:
    return RowGroup(by=by, count=count, entries=tuple(entries[:LISTED]), hidden=max(0, len(entries) - LISTED))


Name = Callable[[str], str]


def measured(m: Measurement, name: Name) -> str:
    """How many items, in how many groups, and which column was read as what."""
    what = f"{name(m.name)}: " if m.name else ""
    what += f"{m.n:,} item{'' if m.n == 1 else 's'}"
    groups = next((row.details.groups for row in m.rows if row.details.groups is not None), None)
    repeats = next((row.details.repeats for row in m.rows if row.details.repeats is not None), None)
    if groups is not None:
        what += f" in {groups:,} groups"
    if repeats is not None and repeats > 1:
        what += f", {repeats:,} repeats"
    roles = ", ".join(role if column == role else f"{role} = {name(column)}" for role, column in m.roles.items() if column != "(array)")
    return f"{what}; columns: {roles}" if roles else what


def design(rows: Sequence[Row]) -> str:
    """How much the groups or repeats cost, for the first row that knows."""
    for row in rows:
        known = row.details
        if known.design_effect is not None:
            worth = known.effective_n if known.n_effective is None else known.n_effective
            alike = ""
            if worth is not None and known.answers is not None:
                alike = f": {known.answers:,} answers are worth {worth:,.0f} independent ones"
            return f"design effect of {row.metric} {known.design_effect:.2f}{alike}"
    return ""


def methods(rows: Sequence[Row], name: Name) -> str:
    """Level and method, once: for all rows, or each with the metrics it served."""
    shared = interval_word(rows)
    served: dict[str, list[Row]] = {}
    for row in rows:
        if row.interval is not None:
            served.setdefault(_how(row.interval, shared, name), []).append(row)
    if len(served) <= 1:
        return "".join(f"{shared}: {how}" for how in served)
    return f"{shared}: " + "; ".join(f"{how} for {', '.join(_metric_names(some, rows, name))}" for how, some in served.items())


def _how(interval: Interval, shared: str, name: Name) -> str:
    own = kind_word(interval.confidence_level, interval.side)
    return name(interval.method) if own == shared else f"{own} by {name(interval.method)}"


def _metric_names(some: Sequence[Row], rows: Sequence[Row], name: Name) -> list[str]:
    """The metrics of these rows; a row by its full name where its metric was served in several ways."""
    mine = {id(row) for row in some}
    torn = {row.metric for row in rows if row.interval is not None and id(row) not in mine}
    return list(dict.fromkeys(name(row.name if row.metric in torn else row.metric) for row in some))


def all_rows(m: Measurement) -> list[Row]:
    """The rows of the whole and of its slices."""
    return [*m.rows, *(row for part in m.slices for row in part.measurement.rows)]


def probabilities(rows: Sequence[Row], name: Name) -> list[str]:
    """What a posterior says, in a sentence for people who decide; nothing of ends that a posterior stands in for."""
    said = [_probability(row, row.interval, name) for row in rows if row.interval is not None and _is_posterior(row)]
    more = len(said) - SENTENCES
    return said[:SENTENCES] + ([f"{more:,} more rows read in the same way."] if more > 0 else [])


def _is_posterior(row: Row) -> bool:
    return row.interval is not None and row.interval.method in ("bayes", "hdi") and row.details.instead_of is None


def _probability(row: Row, interval: Interval, name: Name) -> str:
    _, low, high = number_texts(row.estimate, interval.low, interval.high, half_width(row.estimate, interval))
    lies = {"two": f"lies between {low} and {high}", "lower": f"is at least {low}", "upper": f"is at most {high}"}[interval.side]
    said = f"With {percent(interval.confidence_level)} probability the {name(row.name)} {lies}"
    if row.probability_at_least is None or row.at_least is None:
        return f"{said}."
    chance = chance_text(row.probability_at_least, drawn=row.details.monte_carlo_error is not None)
    return f"{said}; the chance that it is at least {row.at_least:.6g} is {chance}."


def lower_is_better(rows: Sequence[Row], name: Name) -> str:
    """Which numbers are good when small: nobody should have to remember it."""
    small = dict.fromkeys(row.metric for row in rows if not row.higher_is_better)
    return f"lower is better: {', '.join(map(name, small))}" if small else ""


def all_warnings(m: Measurement) -> list[str]:
    """The warnings, and those that only a slice has, with its name."""
    found = list(dict.fromkeys(m.warnings))
    for part in m.slices:
        found += [f"{part.by} = {part.value}: {w}" for w in dict.fromkeys(part.measurement.warnings) if w not in m.warnings]
    return found


CLASSES = 24  # of a confusion table that people read; beyond, the pairs that are mixed up most
PAIRS = 40
SENTENCES = 10  # about posteriors: the table above them has the rest
Densities = Mapping[str, Curve]
