"""The pages of a comparison and of a leaderboard: who is ahead, by how much, against what would matter, and on which items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.render.comparison import facts, metric_name, p_is, p_text, prior_words, rows_of
from steelyard.render.curve_text import figure
from steelyard.render.digits import count_text, row_texts
from steelyard.render.html.changes import item_rows
from steelyard.render.html.of_measurement import bar
from steelyard.render.html.of_verdict import Flips, flip_table, item_tables
from steelyard.render.html.pieces import DRAWN, Block, PageSection, PageTable, Part, Picture, Sentences, capped, joined
from steelyard.render.leaderboard import _omnibus
from steelyard.render.learners import _grid, _title
from steelyard.render.pictures.forest import Bar, Forest, GuideLine
from steelyard.render.pictures.plane import Line, curve_plane, plane_of
from steelyard.results.comparison import Comparison, Leaderboard
from steelyard.results.measurement import Row
from steelyard.results.plan import Curve

ZERO = GuideLine(at=0.0, name="no difference")


def comparison_part(c: Comparison, *, flips: Flips | None = None, density: Curve | None = None) -> Part:
    """The comparison as a part of a page."""
    lower = "" if c.higher_is_better else " (lower is better)"
    return Part(
        word="compared",
        about=f"{c.baseline.name} and {c.candidate.name}, {metric_name(c, str)}{lower}",
        lead=c.conclusion,
        step=f"{count_text(c.n)} items, {c.design}; the difference is candidate minus baseline.",
        sections=joined(
            _difference(c),
            _believed(c, density),
            _systems(c),
            _slices(c),
            _splits(c),
            PageSection(title="What it rests on", blocks=[Sentences(said=facts(c))]),
            _items(c, flips),
        ),
        warnings=c.warnings,
        methods=[("design", c.design), ("test", f"{c.test.name}, {c.test.alternative}")],
        signature=c.signature,
    )


def gap_forest(c: Comparison) -> Forest:
    """The difference with its interval, against no difference and the margin on either side."""
    _, gap = rows_of(c)
    rules = [ZERO]
    if c.equivalence is not None and c.equivalence.get("margin"):
        margin = c.equivalence["margin"]
        rules += [GuideLine(at=side * margin, name=f"margin {figure(side * margin)}", sort="margin") for side in (-1, 1)]
    good = "right" if c.higher_is_better else "left"
    return Forest(
        title=f"{c.candidate.name} minus {c.baseline.name}, {metric_name(c, str)}",
        bars=[bar("candidate - baseline", gap)],
        rules=rules,
        axis=f"candidate better to the {good}",
    )


def _difference(c: Comparison) -> PageSection | None:
    drawing = gap_forest(c)
    return PageSection(title="The difference", blocks=[Picture(drawing=drawing)]) if c.difference.estimate is not None else None


def _believed(c: Comparison, density: Curve | None) -> PageSection | None:
    blocks: list[Block] = []
    if density is not None:
        blocks.append(Picture(drawing=curve_plane(density, "What is believed about the difference")))
    if c.probability_candidate_better is not None:
        shares = [["candidate better", _chance(c.probability_candidate_better)]]
        rope = (c.equivalence or {}).get("rope")
        if rope:
            named = (("worse by more than the margin", "worse"), ("within the margin", "equivalent"), ("better by more", "better"))
            shares += [[name, _chance(rope[key])] for name, key in named]
        blocks.append(PageTable(caption=f"Probabilities{prior_words(c)}", heads=["that the", "probability"], rows=shares, numbers=(1,)))
    return PageSection(title="What is believed", blocks=blocks) if blocks else None


def _chance(p: float) -> str:
    """A probability that is believed is never certainty."""
    return "> 0.9999" if p >= 0.99995 else "< 0.0001" if p < 0.00005 else f"{p:.4f}"


def _systems(c: Comparison) -> PageSection:
    systems, gap = rows_of(c)
    names = (c.baseline.name, c.candidate.name)
    drawing = Forest(
        title="Both systems", bars=[bar(name, row) for name, row in zip(names, systems, strict=True)], axis=metric_name(c, str)
    )
    rows = [[name, *row_texts(row), count_text(row.n)] for name, row in zip((*names, "candidate - baseline"), (*systems, gap), strict=True)]
    table = PageTable(caption="Both systems and their difference", heads=["system", "estimate", "interval", "n"], rows=rows, numbers=(1, 3))
    return PageSection(title="Both systems", blocks=[*([Picture(drawing=drawing)] if drawing.scale is not None else []), table])


def _items(c: Comparison, flips: Flips | None) -> PageSection | None:
    blocks: list[Block] = [flip_table(c.flips, c.baseline.name, c.candidate.name)] if c.flips is not None else []
    heads, rows = item_rows(c.telling, ("baseline", "candidate"))
    note = ""
    if flips is not None:
        heads, rows, note = *item_rows(flips[0], ("baseline", "candidate")), flips[1]
    elif c.flips is not None and (all_of := c.flips["baseline_only"] + c.flips["candidate_only"]) > len(rows):
        note = f"The {count_text(len(rows))} most telling of {count_text(all_of)}; --flips-out FILE writes them all, and "
        note += "steelyard report RESULT --flips FILE shows them here."
    if rows:
        blocks += item_tables(heads, rows, note)
    return PageSection(title="Items that changed", blocks=blocks) if blocks else None


def _slices(c: Comparison) -> PageSection | None:
    """A forest of the differences, and the table with p-values corrected over the slices of a column."""
    if not c.slices:
        return None
    bars, rows = [], []
    for part in c.slices:
        name = f"{part['by']} = {part['value']}"
        inner: Comparison | None = part["comparison"]
        if inner is None:
            rows.append([name, "", "undefined", "-", "-", "-"])
            continue
        gap = Row(metric="difference", estimate=inner.difference.estimate, n=inner.n, interval=inner.difference.interval)
        bars.append(bar(name, gap))
        rows.append([name, count_text(inner.n), *row_texts(gap), p_text(inner.p_value), p_text(part["p_adjusted"])])
    table = capped(
        "Difference by slice",
        ["slice", "n", "difference", "interval", "p", "p corrected"],
        rows,
        numbers=(1, 2, 4, 5),
        folded="The numbers",
    )
    drawing = Forest(title="Difference by slice", bars=bars[:DRAWN], rules=[ZERO], axis="candidate minus baseline")
    note = f"The first {DRAWN} of {count_text(len(bars))} are drawn." if len(bars) > DRAWN else ""
    return PageSection(title="By slice", blocks=[Picture(drawing=drawing, table=table, note=note) if drawing.scale is not None else table])


def _splits(c: Comparison) -> PageSection | None:
    """Split by split, where learners were compared by cross-validation, and the pooled predictions."""
    blocks: list[Block] = []
    splits: Sequence[Mapping[str, Any]] = c.details.get("splits") or ()
    known = [(i, one) for i, one in enumerate(splits, 1) if one.get("baseline") is not None and one.get("candidate") is not None]
    if known:
        lines = [
            Line(name=c.candidate.name, places=[(i, one["candidate"]) for i, one in known], dots=True),
            Line(name=c.baseline.name, places=[(i, one["baseline"]) for i, one in known], sort="goal", dots=True),
        ]
        rows = [[str(i), f"{one['baseline']:.4f}", f"{one['candidate']:.4f}"] for i, one in known]
        table = capped("Scores split by split", ["split", c.baseline.name, c.candidate.name], rows, numbers=(0, 1, 2), folded="The numbers")
        blocks.append(Picture(drawing=plane_of("Scores split by split", "split", metric_name(c, str), lines), table=table))
    grid = _grid(c, str)
    if grid is not None:
        blocks.append(PageTable(caption=_title(c), heads=grid[0], rows=grid[1:], numbers=range(1, len(grid[0]))))
    return PageSection(title="Split by split", blocks=blocks) if blocks else None


# ---- many systems ----------------------------------------------------------------------------------------------------


def board_forest(board: Leaderboard) -> Forest:
    """Every system with its interval, its tier in front."""
    rows = [
        (f"{r['tier']}. {r['name']}", Row(metric=board.metric, estimate=r["estimate"], n=board.n, interval=r["interval"]))
        for r in board.rows
    ]
    return Forest(title=f"{board.metric} of every system", bars=[bar(name, row) for name, row in rows[:DRAWN]], axis=board.metric)


def leaderboard_part(board: Leaderboard) -> Part:
    """The leaderboard as a part of a page."""
    rows = []
    for r in board.rows:
        row = Row(metric=board.metric, estimate=r["estimate"], n=r.get("n", board.n), interval=r["interval"])
        rows.append([str(r["tier"]), r["name"], *row_texts(row), count_text(row.n)])
    pairs = []
    for pair in board.pairs:
        gap = Row(metric="difference", estimate=pair.difference.estimate, n=pair.n, interval=pair.difference.interval)
        adjusted = p_text(pair.details.get("p_adjusted"))
        pairs.append([pair.baseline.name, pair.candidate.name, *row_texts(gap), p_text(pair.p_value), adjusted])
    drawing = board_forest(board)
    table = capped("Systems by tier", ["tier", "system", "estimate", "interval", "n"], rows, numbers=(0, 2, 4))
    blocks: list[Block] = [Picture(drawing=drawing)] if drawing.scale is not None else []
    heads = ["baseline", "candidate", "difference", "interval", "p", f"p ({board.correction})"]
    first = [r["name"] for r in board.rows if r["tier"] == board.rows[0]["tier"]] if board.rows else []
    lead = f"{', '.join(first[:5])}{' ...' if len(first) > 5 else ''}: first tier" if first else ""
    return Part(
        word="leaderboard",
        about=f"{count_text(len(board.rows))} systems, {board.metric}",
        lead=lead,
        step=f"{count_text(board.n)} items. Systems of one tier could not be told apart from the tier's best.",
        sections=joined(
            PageSection(title="Systems", blocks=[*blocks, table]),
            PageSection(
                title="All pairs", blocks=[capped("All pairs, candidate minus baseline", heads, pairs, numbers=(2, 4, 5))] if pairs else []
            ),
            _ranks(board),
        ),
        warnings=board.warnings,
        methods=[("correction", board.correction), *(("omnibus", said) for said in _omnibus(board))],
        signature=board.signature,
    )


def _ranks(board: Leaderboard) -> PageSection | None:
    found = board.ranks
    if found is None:
        return None
    reach = found["critical_difference"]
    order = sorted(zip(found["mean_ranks"], found["names"], strict=True))
    bars = [Bar(name=name, estimate=rank, low=rank, high=rank + reach, said=f"{rank:.2f}") for rank, name in order[:DRAWN]]
    note = (
        f"Bars begin at a system's mean rank over {count_text(found['datasets'])} datasets and are one critical difference "
        f"({reach:.3g}, Nemenyi) long: a bar that reaches another's start cannot tell them apart. "
        f"Friedman {p_is(found['p_chi2'])}, Iman-Davenport {p_is(found['p_f'])}."
    )
    drawing = Forest(title="Mean ranks with the critical difference", bars=bars, axis="mean rank, 1 is best")
    return PageSection(title="Ranks", blocks=[Picture(drawing=drawing, note=note)])
