"""The page of a comparison: who is ahead, by how much, against what would matter, and on which items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.render.digits import EMPTY, NONE, figure, number_texts, p_is, p_text, row_texts, standard_errors
from steelyard_old.render.page import (
    DRAWN,
    HTML,
    MARKDOWN,
    SHOWN_CHANGES,
    TEXT,
    WRITTEN,
    Estimates,
    Heading,
    ListedItems,
    Page,
    PageBlock,
    PageExtras,
    PageTable,
    Picture,
    RowBlock,
    Section,
    Sentences,
    capped,
    filled,
)
from steelyard_old.render.pages.changed_items import CHANGED, CHANGED_FIRST, flip_table, item_tables
from steelyard_old.render.pictures.forest import Forest, GuideLine, bar
from steelyard_old.results.base import NOT_SET
from steelyard_old.results.comparison import Comparison
from steelyard_old.results.measurement import Row
from steelyard_old.results.plan import Curve

MINUS, GAP_NAME = "difference", "candidate - baseline"
ZERO = GuideLine(at=0.0, name="no difference")


def comparison_page(c: Comparison, extra: PageExtras) -> Page:
    """The comparison as a page."""
    lower = "" if c.higher_is_better else " (lower is better)"
    weighted = "" if c.details.n_effective is None else f", weighted (worth {c.details.n_effective:.3g} equal ones)"
    sized = f"{c.n:,} items{weighted}, {c.design}"
    systems, gap = rows_of(c)
    named = list(zip((c.baseline.name, c.candidate.name, MINUS), (*systems, gap), strict=True))
    difference, errors, said = _difference(c), standard_errors(named), facts(c)
    return Page(
        word="compared",
        about=f"{c.baseline.name} and {c.candidate.name}, {metric_name(c)}{lower}",
        lead=c.conclusion,
        step=f"{sized}; the difference is candidate minus baseline.",
        sections=filled(
            Section(title="", blocks=[Sentences(sentences=[f"{sized}; {metric_name(c)}{lower}"], listed=False, seen=WRITTEN)]),
            difference,
            _believed(c, extra.densities.get("difference")),
            _systems(c),
            Section(title="", blocks=[Sentences(sentences=said, seen=WRITTEN)]),
            Section(title="", blocks=[Sentences(sentences=[errors], detail=True, seen=(TEXT,)), *_pooled(c), *_changed(c)]),
            _slices(c),
            _splits(c),
            Section(title="Details", blocks=[Sentences(sentences=said, seen=(HTML,))]),
            _items(c, extra.flips),
        ),
        warnings=c.warnings,
        methods=[("design", c.design), ("test", f"{c.test.name}, {c.test.alternative}")],
        signature=c.signature,
    )


def gap_forest(c: Comparison) -> Forest:
    """The difference with its interval, against no difference and the margin on either side."""
    _, gap = rows_of(c)
    rules = [ZERO]
    if c.equivalence is not None and c.equivalence.margin:
        margin = c.equivalence.margin
        rules += [GuideLine(at=side * margin, name=f"margin {figure(side * margin)}", sort="margin") for side in (-1, 1)]
    good = "right" if c.higher_is_better else "left"
    return Forest(
        title=f"{c.candidate.name} minus {c.baseline.name}, {metric_name(c)}",
        bars=[bar("candidate - baseline", gap)],
        rules=rules,
        axis=f"candidate better to the {good}",
    )


def _difference(c: Comparison) -> Section | None:
    drawing = gap_forest(c)
    return Section(title="The difference", blocks=[Picture(drawing=drawing)]) if c.difference.estimate is not None else None


def _believed(c: Comparison, density: Curve | None) -> Section | None:
    blocks: list[PageBlock] = []
    if density is not None:
        from steelyard_old.render.pictures.plane import curve_plane

        blocks.append(Picture(drawing=curve_plane(density, "Posterior of the difference")))
    if c.probability_candidate_better is not None:
        shares = [["better", _chance(c.probability_candidate_better)]]
        if c.equivalence is not None and (rope := c.equivalence.rope) is not None:
            named = (
                ("worse by more than the margin", rope.worse),
                ("within the margin", rope.equivalent),
                ("better by more than the margin", rope.better),
            )
            shares += [[name, _chance(share)] for name, share in named]
        blocks.append(
            PageTable(
                caption=f"Posterior probability that the candidate is better{prior_words(c)}",
                heads=["the candidate is", "probability"],
                rows=shares,
                numbers=(1,),
                seen=(HTML,),
            )
        )
    return Section(title="Posterior", blocks=blocks) if blocks else None


def _chance(p: float) -> str:
    """A probability that is believed is never certainty."""
    return "> 0.9999" if p >= 0.99995 else "< 0.0001" if p < 0.00005 else f"{p:.4f}"


def _systems(c: Comparison) -> Section:
    systems, gap = rows_of(c)
    names = (c.baseline.name, c.candidate.name)
    drawing = Forest(title="Both systems", bars=[bar(name, row) for name, row in zip(names, systems, strict=True)], axis=metric_name(c))
    rows = [[name, *row_texts(row), f"{row.n:,}"] for name, row in zip((*names, GAP_NAME), (*systems, gap), strict=True)]
    heads = ["system", "estimate", "interval", "n"]
    table = PageTable(caption="Both systems and their difference", heads=heads, rows=rows, numbers=(1, 3), seen=(HTML,))
    written = PageTable(heads=heads[:-1], rows=[row[:-1] for row in rows], numbers=(1,), ours=(1, 2), noun="rows", seen=(MARKDOWN,))
    own = RowBlock(head="system", names=names, rows=systems, scale=systems)
    signs = Estimates(sections=[own, RowBlock(head=MINUS, names=[GAP_NAME], rows=[gap], scale=[gap])])
    drawn = [Picture(drawing=drawing)] if any(row.estimate is not None for row in systems) else []
    return Section(title="Both systems", blocks=[signs, written, *drawn, table])


def _changed(c: Comparison) -> list[PageBlock]:
    """The items that differ most as text and Markdown have them; without truths, text has no column for them."""
    items = c.changed_items[:SHOWN_CHANGES]
    if not items:
        return []
    truths = any(item.truth is not None for item in items)
    heads = ["item", *(["truth"] if truths else []), "baseline", "candidate"]
    rows = [[item.change, item.id, *([_cell(item.truth)] if truths else []), _cell(item.baseline), _cell(item.candidate)] for item in items]
    text = PageTable(heads=["", *heads], rows=rows, label=CHANGED_FIRST, columns="left", ours=(0,), narrow=24, seen=(TEXT,))
    return [text, PageTable(heads=["change", *heads], rows=rows, ours=(0,), noun="items", seen=(MARKDOWN,))]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _pooled(c: Comparison) -> list[PageBlock]:
    """The pooled tables side by side: truth in rows, prediction in columns, baseline / candidate in each cell."""
    grid = pooled_grid(c)
    if grid is None:
        return []
    title, numbers = pooled_title(c), range(1, len(grid[0]))
    return [
        Heading(name=title, strong=True, seen=(MARKDOWN,)),
        PageTable(heads=grid[0], rows=grid[1:], numbers=numbers, ours=numbers, label=title, columns="right", noun="classes", seen=WRITTEN),
    ]


def _items(c: Comparison, flips: ListedItems | None) -> Section | None:
    blocks: list[PageBlock] = [flip_table(c.flips, c.baseline.name, c.candidate.name)] if c.flips is not None else []
    told, note = (c.changed_items, "") if flips is None else flips
    if flips is None and c.flips is not None and (all_of := c.flips["baseline_only"] + c.flips["candidate_only"]) > len(told):
        note = f"The {len(told):,} largest of {all_of:,} changes. "
        note += "To list them all here, have compare write a flips file and give it to report."
    blocks += item_tables(told, ("baseline", "candidate"), note)
    return Section(title=CHANGED, blocks=blocks) if blocks else None


def _slices(c: Comparison) -> Section | None:
    """A forest of the differences, and the table with p-values corrected over the slices of a column."""
    if not c.slices:
        return None
    bars, rows = [], []
    for part in c.slices:
        name = f"{part.by} = {part.value}"
        inner = part.comparison
        if inner is None:
            rows.append([name, "", "undefined", NONE, NONE, NONE])
            continue
        gap = Row(metric=MINUS, estimate=inner.difference.estimate, n=inner.n, interval=inner.difference.interval)
        bars.append(bar(name, gap))
        rows.append([name, f"{inner.n:,}", *row_texts(gap), p_text(inner.p_value), p_text(part.p_adjusted)])
    heads = ["slice", "n", MINUS, "interval", "p", "p corrected"]
    table = capped("Difference by slice", heads, rows, numbers=(1, 2, 4, 5), folded="The numbers", seen=(HTML,))
    written = PageTable(heads=heads, rows=rows, columns="left", ours=range(1, 6), narrow=32, noun="slices", seen=WRITTEN)
    drawing = Forest(title="Difference by slice", bars=bars[:DRAWN], rules=[ZERO], axis="candidate minus baseline")
    note = f"The first {DRAWN} of {len(bars):,} are drawn." if len(bars) > DRAWN else ""
    drawn = Picture(drawing=drawing, table=table, note=note) if drawing.scale is not None else table
    return Section(title="By slice", blocks=[written, drawn])


def _splits(c: Comparison) -> Section | None:
    """Split by split, where learners were compared by cross-validation, and the pooled predictions."""
    blocks: list[PageBlock] = []
    splits: Sequence[Mapping[str, Any]] = c.details.splits or ()
    known = [(i, one) for i, one in enumerate(splits, 1) if one.get("baseline") is not None and one.get("candidate") is not None]
    if known:
        from steelyard_old.render.pictures.plane import Line, plane_of

        lines = [
            Line(name=c.candidate.name, places=[(i, one["candidate"]) for i, one in known], dots=True),
            Line(name=c.baseline.name, places=[(i, one["baseline"]) for i, one in known], sort="goal", dots=True),
        ]
        rows = [[str(i), f"{one['baseline']:.4f}", f"{one['candidate']:.4f}"] for i, one in known]
        table = capped("Scores split by split", ["split", c.baseline.name, c.candidate.name], rows, numbers=(0, 1, 2), folded="The numbers")
        blocks.append(Picture(drawing=plane_of("Scores split by split", "split", metric_name(c), lines), table=table))
    grid = pooled_grid(c)
    if grid is not None:
        blocks.append(PageTable(caption=pooled_title(c), heads=grid[0], rows=grid[1:], numbers=range(1, len(grid[0])), seen=(HTML,)))
    return Section(title="Split by split", blocks=blocks) if blocks else None


# ---- what it rests on -------------------------------------------------------------------------------------------------


def rows_of(c: Comparison) -> tuple[list[Row], Row]:
    """The two systems and their difference as rows."""
    own = [c.n if n is None else n for n in (c.details.n_baseline, c.details.n_candidate)]
    systems = [
        Row(metric=c.metric, estimate=s.estimate, n=n, interval=s.interval, standard_error=s.standard_error)
        for s, n in zip((c.baseline, c.candidate), own, strict=True)
    ]
    gap = c.difference
    return systems, Row(metric=MINUS, estimate=gap.estimate, n=c.n, interval=gap.interval, standard_error=gap.standard_error)


def metric_name(c: Comparison) -> str:
    """The metric, with its class in brackets where it has one."""
    return c.metric if c.details.label is None else f"{c.metric}[{c.details.label or EMPTY}]"


def prior_words(c: Comparison) -> str:
    """What P(candidate better) rests on."""
    if c.details.prior_scale is not None:
        return f" (prior scale: differences of SD {c.details.prior_scale:g})"
    size = c.details.prior_sd
    if size is NOT_SET:  # answers of 0.1.0 do not say
        return ""
    return f" (prior scale: differences of {'any size' if size is None else f'SD {size:.2g}'})"


def quotient_text(found: Mapping[str, float | None]) -> str:
    """A quotient with the ends of its interval, as far as there are any.

    >>> quotient_text({"estimate": 1.0549, "low": 1.0466, "high": 1.0634}), quotient_text({"estimate": 1.0, "low": None, "high": None})
    ('1.0549 [1.0466, 1.0634]', '1.0000')
    """
    value, low, high = (found.get(name) for name in ("estimate", "low", "high"))
    said = "-" if value is None else f"{value:.4f}"
    ends = ["" if end is None else f"{end:.4f}" for end in (low, high)]
    return said if not any(ends) else f"{said} [{ends[0]}, {ends[1]}]"


def facts(c: Comparison) -> list[str]:
    """What the comparison rests on, a sentence each, the same in text and in Markdown."""
    out = [test_sentence(c)]
    if c.details.log is not None:
        out.append("log: " + ", ".join(f"{what} {value}" for what, value in c.details.log.items()))
    if c.flips is not None:
        f = c.flips
        out.append(
            f"right only with the candidate: {f['candidate_only']:,}; only with the baseline: {f['baseline_only']:,}; "
            f"both: {f['both']:,}; neither: {f['neither']:,}"
        )
    if c.details.quotient is not None:
        out.append(f"candidate / baseline = {quotient_text(c.details.quotient)}")
    if c.details.wins is not None:
        out.append(f"wins: {c.details.wins:,}; ties: {c.details.ties:,}; losses: {c.details.losses:,}")
    if c.details.variance_within_share is not None:
        out.append(f"run-to-run noise within items is {c.details.variance_within_share:.0%} of the variance of the difference")
    if c.probability_candidate_better is not None:
        out.append(f"P(candidate better) = {c.probability_candidate_better:.3f}{prior_words(c)}")
    if c.equivalence is not None:
        e = c.equivalence
        word = "equivalent" if e.equivalent else "non-inferior" if e.non_inferior else "neither equivalence nor non-inferiority shown"
        out.append(f"margin {e.margin:g}: {word} (p for non-inferiority {p_text(e.p_lower)}, for equivalence {p_text(e.p_value)})")
        if (r := e.rope) is not None:
            out.append(
                f"P(worse by more than the margin) = {r.worse:.3f}, P(within it) = {r.equivalent:.3f}, "
                f"P(better by more than it) = {r.better:.3f}"
            )
    gain = c.details.pairing_gain
    together = [f"correlation {c.correlation:.2f}"] if c.correlation is not None else []
    if isinstance(gain, float):
        together.append(f"without pairing, this precision takes {gain:.1f} times the items")
    if together:
        out.append("; ".join(together))
    out += [sentence for found in c.details.over_tasks or () for sentence in _over_tasks(found)]
    out += split_facts(c)
    if c.mde is not None:
        out.append(f"smallest difference detectable with 80% power: {number_texts(c.mde, None, None, c.mde / 10)[0]}")
    return out


def _over_tasks(found: Mapping[str, Any]) -> list[str]:
    """What all values of a slice column say together."""
    where = f"over {found['tasks']} values of {found['by']}"
    out = []
    if "pooled_sign_flip" in found:
        pooled = found["pooled_sign_flip"]
        mean = number_texts(pooled["mean_difference"], None, None, 0.005)[0]
        out.append(f"{where}: mean difference {mean}, pooled sign-flip {p_is(pooled['p_value'])}")
    if "fisher" in found:
        out.append(f"{where}: Fisher's combined test that the candidate is better, {p_is(found['fisher']['p_value'])}")
    return out


def test_sentence(c: Comparison) -> str:
    """The test, its side and its p-value."""
    t = c.test
    exact = " (exact)" if t.details.exact else ""
    share = ""
    if t.details.share is not None:
        of = " of resamples" if t.details.draws is None else f" of {t.details.draws:,} resamples"
        share = f"; share{of} {t.details.share:.4g}, side: {t.details.side}"
    return f"test: {t.name}{exact}, {t.alternative}, {p_is(t.p_value)}{share}"


WIDEST = 12  # classes of a pooled table that people read; the JSON has every table


def is_cross_validation(c: Comparison) -> bool:
    """Whether the comparison is one of learners."""
    return c.details.design == "cross-validation"


def split_facts(c: Comparison) -> list[str]:
    """How the items were split, how the splits went, and the statistic behind the p-value."""
    if not is_cross_validation(c):
        return []
    splits = c.details.splits or ()
    ahead, behind, level, undefined = 0, 0, 0, 0
    for one in splits:
        if one["baseline"] is None or one["candidate"] is None:
            undefined += 1
        elif one["baseline"] == one["candidate"]:
            level += 1
        elif (one["candidate"] > one["baseline"]) == c.higher_is_better:
            ahead += 1
        else:
            behind += 1
    went = f"candidate better in {ahead} of {len(splits)} splits, worse in {behind}, equal in {level}"
    out = [_scheme(c, splits), went + (f", undefined in {undefined}" if undefined else "")]
    if c.test.statistic is not None:
        df = " and ".join(map(str, c.test.details.df or []))
        out.append(f"{'F' if c.test.name == '5x2cv-f' else 't'} = {c.test.statistic:.3f} with {df} degrees of freedom")
    return out


def _scheme(c: Comparison, splits: Sequence[Mapping[str, Any]]) -> str:
    folds, repeats, share = c.details.folds, c.details.repeats, c.details.test_size
    if share is None:
        what = f"{repeats} x {folds} folds"
    elif folds is None:
        what = f"{repeats} random splits"
    else:
        what = f"one fit, {folds} disjoint test sets"
    traits = [trait for trait, there in (("stratified", c.details.stratified), ("in whole groups", c.details.groups)) if there]
    sizes = [f"{_span([one[key] for one in splits])} to {verb} on" for key, verb in (("n_train", "train"), ("n_test", "test"))]
    return ", ".join([what, *traits]) + f": {' and '.join(sizes)}"


def _span(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def pooled_title(c: Comparison) -> str:
    """What the pooled tables are."""
    times = c.details.repeats if c.details.test_size is None else None
    each = f"; every item counts {times} times" if times is not None and times > 1 and not c.details.failures else ""
    return f"predictions pooled over the splits, baseline / candidate (rows: truth){each}"


def pooled_grid(c: Comparison) -> list[list[str]] | None:
    """Heads, then a row for each truth; None where there are no tables, or too many classes to read."""
    tables = c.details.tables if is_cross_validation(c) else None
    if not tables or not tables["baseline"] or not tables["candidate"]:
        return None
    counts: list[dict[tuple[str, str], int]] = []
    labels: list[str] = []
    truths: set[str] = set()
    for table in (tables["baseline"], tables["candidate"]):
        named = [(table["labels"][t], table["labels"][p], many) for t, p, many in table["cells"]]
        counts.append({(t, p): many for t, p, many in named})
        labels += [label for label in table["labels"] if label not in labels]
        truths |= {t for t, _, _ in named}
    if len(labels) > WIDEST:
        return None
    rows = [[t or EMPTY, *(f"{counts[0].get((t, p), 0):,} / {counts[1].get((t, p), 0):,}" for p in labels)] for t in labels if t in truths]
    return [["truth", *(label or EMPTY for label in labels)], *rows]
