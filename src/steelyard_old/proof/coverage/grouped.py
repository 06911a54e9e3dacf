"""Claims about intervals of items that come in groups: proportions, means and macro F1 over groups of unequal size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.sums_rows import mean_row
from steelyard_old.estimate.table_rows import table_row
from steelyard_old.infer.intervals.proportion import proportion_interval
from steelyard_old.items import Labels
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.sums import MEAN
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import LEVEL, Band, BandText, Claim, Setting
from steelyard_old.proof.coverage.tables import LAWS, truth
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval, Side
from steelyard_old.tally.counts import Counts, TableTally
from steelyard_old.tally.design import Design, table_sums
from steelyard_old.tally.sums import Sums, tally_groups

FloatArray = npt.NDArray[np.float64]
IGNORED = "wilson, groups ignored"  # --group none, with a warning
UNITS = {"percentile": 4, "bca": 4, "studentized": 4}


def at(*laws: tuple[int, float, float]) -> tuple[Setting, ...]:
    return tuple({"groups": groups, "likeness": likeness, "p": p} for groups, likeness, p in laws)


SHARES = at(
    (20, 0.1, 0.9),
    (50, 0.3, 0.5),
    (10, 0.3, 0.9),
    (5, 0.3, 0.5),
    (5, 0.3, 0.9),
    (20, 0.1, 0.5),
    (50, 0.3, 0.9),
    (200, 0.6, 0.9),
    (10, 0.3, 0.5),
    (200, 0.6, 0.5),
)
NUMBERS: tuple[Setting, ...] = tuple(
    {"groups": groups, "likeness": r} for groups, r in ((20, 0.3), (50, 0.1), (5, 0.3), (10, 0.6), (200, 0.3))
)
TABLES: tuple[Setting, ...] = tuple({"groups": groups, "table": "three classes"} for groups in (20, 50, 10, 200))

OF_SHARES: dict[str, BandText] = {
    "wilson": ("covers 0.94 or more, 0.97 on average", Band(low=0.93, mean_low=0.955)),
    "delta": ("covers 0.835 with ten groups", Band(low=0.825, fails=0.92, mean_low=0.89)),
    "percentile": (f"covers 0.81 with ten groups; {DRAWS} draws", Band(low=0.8, fails=0.92, mean_low=0.88)),
    "bca": (f"covers 0.83 with five groups; {DRAWS} draws", Band(low=0.82, fails=0.92, mean_low=0.88)),
    "studentized": (f"covers 0.94 or more, half as wide again as Wilson with few groups; {DRAWS} draws", Band(low=0.935, mean_low=0.945)),
    IGNORED: ("covers 0.51 where items of a group are much alike, however many items there are", Band(low=0.5, fails=0.85)),
}
OF_NUMBERS: dict[str, BandText] = {
    "t": ("covers 0.94 with 50 groups, 0.87 with ten groups of skewed scores", Band(low=0.84, fails=0.93, mean_low=0.89)),
    "percentile": (f"covers 0.79 with five groups; {DRAWS} draws", Band(low=0.78, fails=0.93, mean_low=0.88)),
    "bca": (f"covers 0.8 with five groups; {DRAWS} draws", Band(low=0.78, fails=0.93, mean_low=0.88)),
    "studentized": (f"covers 0.94 or more, two thirds wider than t with few groups; {DRAWS} draws", Band(low=0.935, mean_low=0.945)),
}
OF_TABLES: dict[str, BandText] = {
    "delta": ("covers 0.95 with 50 groups, 0.9 with ten", Band(low=0.895, mean_low=0.92)),
    "percentile": (f"covers 0.925 with 50 groups, 0.855 with ten; {DRAWS} draws", Band(low=0.845, mean_low=0.9)),
    "bca": (f"covers 0.93 with 50 groups, 0.845 with ten; {DRAWS} draws", Band(low=0.83, mean_low=0.9)),
    "studentized": (f"covers 0.945 or more, 0.905 with ten groups; {DRAWS} draws", Band(low=0.89, mean_low=0.925)),
}


def claims() -> Iterator[Claim]:
    for study, laws, said in (
        (
            Study(family="a proportion of groups", draw=shares, truth=lambda s: float(s["p"]), interval=of_shares, slow=UNITS),
            SHARES,
            OF_SHARES,
        ),
        (Study(family="a mean of groups", draw=numbers, truth=lambda s: 0.8, interval=of_numbers, slow=UNITS), NUMBERS, OF_NUMBERS),
        (
            Study(
                family="macro F1 of groups",
                draw=tables,
                truth=lambda s: truth("macro_f1", s),
                interval=of_tables,
                slow={**UNITS, "studentized": 20},
            ),
            TABLES,
            OF_TABLES,
        ),
    ):
        yield from simulated(study, said, default_of(study, laws[0], said), quick=at_most_of(laws[:1], 300), full=runs_of(laws, 6000))


def shares(setting: Setting, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """(right, items) of groups of 2 to 18 items, whose own shares follow a Beta law with this correlation of two of its items."""
    groups, likeness, p = int(setting["groups"]), float(setting["likeness"]), float(setting["p"])
    items = rng.integers(2, 19, groups)
    own = rng.beta(p * (1 - likeness) / likeness, (1 - p) * (1 - likeness) / likeness, groups)
    return rng.binomial(items, own).astype(float), items.astype(float)


def of_shares(method: str, sample: tuple[FloatArray, FloatArray], seed: int, side: Side = "two") -> Interval | None:
    right, items = sample
    zero, n = np.zeros(len(items)), int(items.sum())
    if method == IGNORED:
        low, high = proportion_interval(int(right.sum()), n, "wilson", LEVEL, side)
        return Interval(low=low, high=high, confidence_level=LEVEL, side=side, method=method)
    rows = np.stack([right, zero, items, zero, right, items - right, items], axis=1)
    units = Sums(rows=rows, count=np.ones(len(rows), np.int64), answers=n, units="groups", sizes=items)
    tally = TableTally(Counts.of(int(right.sum()), n), units, "groups", n)
    return table_row(
        parse("accuracy"), None, tally, MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, side=side), Warnings()
    ).interval


def numbers(setting: Setting, rng: np.random.Generator) -> Sums:
    """Groups of 2 to 18 skewed scores in 0 to 1, mean 0.8, alike within groups."""
    groups, likeness = int(setting["groups"]), float(setting["likeness"])
    items = rng.integers(2, 19, groups)
    own = rng.beta(0.8 * (1 - likeness) / likeness, 0.2 * (1 - likeness) / likeness, groups)
    mean = np.clip(np.repeat(own, items), 1e-9, 1 - 1e-9)
    scores = rng.beta(4 * mean, 4 * (1 - mean))
    return tally_groups(MEAN.adds(scores), np.repeat(np.arange(groups), items), groups)


def of_numbers(method: str, sums: Sums, seed: int, side: str = "two") -> Interval | None:
    n = sums.answers
    settings = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, side=side)
    return mean_row(MEAN, sums, settings, Warnings(), kind="groups", n=n, bounds=(0.0, 1.0), details={}).interval


def tables(setting: Setting, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """truth x prediction of groups of 2 to 18 items; half of the items of a group repeat the cell of its first."""
    cells = np.array(LAWS[str(setting["table"])], float)
    groups, items = int(setting["groups"]), rng.integers(2, 19, int(setting["groups"]))
    kinds = rng.choice(cells.size, size=(groups, 18), p=(cells / cells.sum()).ravel())
    kinds = np.where(rng.random(kinds.shape) < 0.5, kinds[:, :1], kinds)
    found = np.zeros((groups, cells.size), np.int64)
    for place in range(18):
        here = place < items
        found[np.flatnonzero(here), kinds[here, place]] += 1
    return found.reshape(groups, *cells.shape)


def of_tables(method: str, cells: npt.NDArray[np.int64], seed: int) -> Interval | None:
    counts = Counts.table(cells.sum(axis=0).tolist())
    unit, truths, predictions = (np.repeat(place, cells.ravel()) for place in np.indices(cells.shape).reshape(3, -1))
    design = Design("groups", unit, len(cells), items=len(unit))
    units = table_sums(Labels(truths, counts.labels), Labels(predictions, counts.labels), design, counts)
    settings = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, absent="zero")
    return table_row(parse("macro_f1"), None, TableTally(counts, units, "groups", counts.n), settings, Warnings()).interval
