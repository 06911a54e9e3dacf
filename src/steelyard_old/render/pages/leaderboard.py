"""The page of a leaderboard: systems with their intervals and tiers, the pairs, and a drawing of the critical difference."""

from __future__ import annotations

from steelyard_old.render.digits import EMPTY, nearest, p_is, p_text, row_texts, standard_errors
from steelyard_old.render.page import (
    DRAWN,
    HTML,
    MARKDOWN,
    NOWHERE,
    TEXT,
    WRITTEN,
    Estimates,
    Page,
    PageBlock,
    PageTable,
    Picture,
    RowBlock,
    Section,
    Sentences,
    capped,
    filled,
)
from steelyard_old.render.pictures.forest import Bar, Forest, bar
from steelyard_old.results.comparison import Leaderboard, MeanRanks, Ranked
from steelyard_old.results.measurement import Row

TIERS = "systems in one tier are not significantly different from its best"
ROOM = 40  # columns of the ranks that are drawn in signs


def board_forest(board: Leaderboard) -> Forest:
    """Every system with its interval, its tier in front."""
    rows = [(f"{r.tier}. {r.name}", Row(metric=board.metric, estimate=r.estimate, n=board.n, interval=r.interval)) for r in board.rows]
    return Forest(title=f"{board.metric} of every system", bars=[bar(name, row) for name, row in rows[:DRAWN]], axis=board.metric)


def leaderboard_page(board: Leaderboard, _: object) -> Page:
    """The leaderboard as a page."""
    first = [r.name for r in board.rows if r.tier == board.rows[0].tier] if board.rows else []
    counted = f"{board.n:,} items"
    top: list[PageBlock] = [
        Sentences(sentences=[f"{counted}; {board.metric}; {TIERS}"], hang="", seen=(TEXT,)),
        Sentences(sentences=[f"{counted}; {board.metric}; correction: {board.correction}"], listed=False, seen=(MARKDOWN,)),
    ]
    return Page(
        word="leaderboard",
        about=f"{len(board.rows):,} systems, {board.metric}",
        lead=f"{', '.join(first[:5])}{' ...' if len(first) > 5 else ''}: first tier" if first else "",
        step=f"{counted}. {TIERS.capitalize()}.",
        sections=filled(
            Section(title="", blocks=top),
            _systems(board),
            _pairs(board),
            Section(title="", blocks=[Sentences(sentences=_omnibus(board), listed=False, seen=WRITTEN)] if board.omnibus else []),
            _ranks(board),
        ),
        warnings=board.warnings,
        methods=[("correction", board.correction), *(("omnibus", said) for said in _omnibus(board))],
        signature=board.signature,
        led=NOWHERE,
    )


def _systems(board: Leaderboard) -> Section:
    rows = [_row(board, r) for r in board.rows]
    names = [r.name for r in board.rows]
    cells = [[str(r.tier), r.name, *row_texts(row), f"{row.n:,}"] for r, row in zip(board.rows, rows, strict=True)]
    heads = ["tier", "system", "estimate", "interval", "n"]
    tiered = [f"{r.tier}. {r.name or EMPTY}" for r in board.rows]
    drawing = board_forest(board)
    return Section(
        title="Systems",
        blocks=[
            Estimates(sections=[RowBlock(head="tier. system", names=tiered, rows=rows, scale=rows)]),
            Sentences(sentences=[standard_errors(list(zip(names, rows, strict=True)))], detail=True, seen=(TEXT,)),
            PageTable(heads=heads[:-1], rows=[row[:-1] for row in cells], numbers=(0, 2), ours=(0, 2, 3), noun="systems", seen=(MARKDOWN,)),
            *([Picture(drawing=drawing)] if drawing.scale is not None else []),
            capped("Systems by tier", heads, cells, numbers=(0, 2, 4), seen=(HTML,)),
        ],
    )


def _row(board: Leaderboard, r: Ranked) -> Row:
    return Row(metric=board.metric, estimate=r.estimate, n=board.n, interval=r.interval, standard_error=r.standard_error)


def _pairs(board: Leaderboard) -> Section | None:
    if not board.pairs:
        return None
    rows = []
    for pair in board.pairs:
        gap = Row(metric="difference", estimate=pair.difference.estimate, n=pair.n, interval=pair.difference.interval)
        adjusted = p_text(pair.details.p_adjusted)
        rows.append([pair.baseline.name, pair.candidate.name, *row_texts(gap), p_text(pair.p_value), adjusted])
    heads = ["baseline", "candidate", "difference", "interval", "p", f"p ({board.correction})"]
    written = PageTable(heads=heads, rows=rows, label="all pairs", columns="left", ours=range(2, 6), narrow=20, noun="pairs", seen=WRITTEN)
    return Section(
        title="All pairs", blocks=[written, capped("All pairs, candidate minus baseline", heads, rows, numbers=(2, 4, 5), seen=(HTML,))]
    )


def _omnibus(board: Leaderboard) -> list[str]:
    found = board.omnibus
    if found is None:
        return []
    return [f"all systems equal? {found.name}: {found.statistic:.4g} on {found.df} degrees of freedom, {p_is(found.p_value)}"]


def _ranks(board: Leaderboard) -> Section | None:
    """Mean ranks over datasets with Nemenyi's critical difference drawn as a bar."""
    found = board.ranks
    if found is None:
        return None
    reach = found.critical_difference
    order = sorted(zip(found.mean_ranks, found.systems, strict=True))
    tests = f"Friedman {p_is(found.p_chi2)}, Iman-Davenport {p_is(found.p_f)}"
    head = f"mean ranks over {found.datasets} datasets"
    means = "two systems differ significantly only if the bar of one ends before the other's begins"
    foot = f"bars start at a system's rank and are one critical difference long: {means}"
    note = (
        f"Bars begin at a system's mean rank over {found.datasets:,} datasets and are one critical difference "
        f"({reach:.3g}, Nemenyi) long: {means}. {tests}."
    )
    drawing = rank_forest(found, DRAWN)
    return Section(
        title="Ranks",
        blocks=[
            Sentences(sentences=[f"{head}; {tests}; critical difference {reach:.3g} (Nemenyi)"], hang="", seen=(TEXT,)),
            PageTable(
                heads=["rank", "system", ""], rows=_signs(order, reach), columns="left", ours=(0, 2), narrow=24, tight=True, seen=(TEXT,)
            ),
            Sentences(sentences=[foot], hang="", tight=True, seen=(TEXT,)),
            Sentences(sentences=[f"{head.capitalize()}, critical difference {reach:.3g} (Nemenyi):"], listed=False, seen=(MARKDOWN,)),
            Sentences(sentences=[f"{rank:.2f} {name}" for rank, name in order], seen=(MARKDOWN,)),
            Picture(drawing=drawing, note=note),
        ],
    )


def rank_forest(found: MeanRanks, most: int | None = None) -> Forest:
    """A bar for each system, the best first: from its mean rank, one critical difference long."""
    order = sorted(zip(found.mean_ranks, found.systems, strict=True))[:most]
    bars = [
        Bar(name=name, estimate=rank, low=rank, high=rank + found.critical_difference, value_text=f"{rank:.2f}") for rank, name in order
    ]
    over = f"Mean ranks over {found.datasets:,} datasets, with the critical difference"
    return Forest(title=over if most is None else "Mean ranks with the critical difference", bars=bars, axis="mean rank, 1 is best")


def _signs(order: list[tuple[float, str]], reach: float) -> list[list[str]]:
    """A bar of signs for each system, from its rank, one critical difference long."""
    scale = ROOM / max(1, len(order) - 1)
    rows = []
    for rank, name in order:
        at = nearest((rank - 1) * scale)
        long = min(max(1, nearest(reach * scale)), ROOM + 1 - at)
        rows.append([f"{rank:.2f}", name, " " * at + "━" * long])
    return rows


def critical_difference_svg(board: Leaderboard) -> str:
    """The critical-difference diagram as a file of its own: the picture of the page, with every system. Empty without ranks."""
    return "" if board.ranks is None else rank_forest(board.ranks).svg(alone=True) + "\n"
