"""Claims about differences of label metrics in few groups: bounds that hold where few items carry the metric, or none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.grouped_rows import enough_units
from steelyard_old.estimate.paired_units import units_interval, units_tally
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.sums import SumStatistic, of_margins
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.proof.trials import Trial
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
METRICS = {"F1": ("f1", 1), "macro F1": ("macro_f1", None), "balanced accuracy": ("balanced_accuracy", None), "mcc": ("mcc", None)}
UNEQUAL = (40, 30, 20, 15, 10, 5)  # items of a group, again and again; 20 in each of equal ones

# recall and false positives of the baseline; then the shares of hits lost, misses found, false positives more and fewer
CHANGES: dict[str, tuple[float, ...]] = {
    "equal": (0.8, 0.1, 0.1, 0.4, 0.05, 0.45),
    "few hits, more false positives": (0.3, 0.05, 0.02, 0.1, 0.4, 0.0),
    "more false positives": (0.8, 0.1, 0.02, 0.1, 0.4, 0.0),
    "half of the hits lost": (0.8, 0.1, 0.5, 0.0, 0.02, 0.1),
    "nearly all hits lost": (0.95, 0.03, 0.9, 0.0, 0.02, 0.1),
    "false positives where few were": (0.95, 0.03, 0.02, 0.1, 0.4, 0.0),
}
NAMES = ("metric", "groups", "sizes", "positives", "candidate", "likeness")
WORLDS = (
    ("macro F1", 6, "equal", "in one group", "few hits, more false positives", 0.0),
    ("macro F1", 6, "equal", "1 to 3 each", "equal", 0.2),
    ("macro F1", 7, "unequal", "in one group", "few hits, more false positives", 0.2),
    ("macro F1", 6, "equal", "in three groups", "half of the hits lost", 0.2),
    ("macro F1", 7, "equal", "1 to 3 each", "nearly all hits lost", 0.2),
    ("macro F1", 7, "equal", "a third", "more false positives", 0.2),
    ("macro F1", 10, "equal", "in three groups", "equal", 0.2),
    ("F1", 6, "equal", "1 to 3 each", "half of the hits lost", 0.2),
    ("F1", 7, "unequal", "in one group", "few hits, more false positives", 0.0),
    ("F1", 8, "equal", "1 to 3 each", "equal", 0.0),
    ("F1", 10, "unequal", "in three groups", "nearly all hits lost", 0.2),
    ("balanced accuracy", 6, "equal", "1 each", "nearly all hits lost", 0.0),
    ("balanced accuracy", 7, "equal", "in three groups", "equal", 0.2),
    ("balanced accuracy", 15, "unequal", "1 to 3 each", "half of the hits lost", 0.2),
    ("mcc", 6, "equal", "1 to 3 each", "equal", 0.2),
    ("mcc", 7, "unequal", "a third", "half of the hits lost", 0.2),
    ("mcc", 10, "equal", "1 to 3 each", "more false positives", 0.2),
    ("F1", 10, "unequal", "1 each", "false positives where few were", 0.2),
    ("macro F1", 10, "equal", "a third", "more false positives", 0.2),
)
SETTINGS: tuple[Setting, ...] = tuple(dict(zip(NAMES, world, strict=True)) for world in WORLDS)
SILENT: tuple[Setting, ...] = tuple(
    dict(zip(NAMES, world, strict=True))
    for world in (
        ("balanced accuracy", 7, "equal", "in one group", "equal", 0.2),
        ("balanced accuracy", 10, "unequal", "in one group", "half of the hits lost", 0.2),
    )
)
SAID: dict[str, dict[str, BandText]] = {
    "lower": {"delta": ("covers 0.94 or more where it is given", Band(low=0.93, mean_low=0.97))},
    "upper": {
        "delta": (
            "covers 0.84 where false positives come that were hardly there, group by group, 0.95 or more elsewhere",
            Band(low=0.81, fails=0.9, mean_low=0.96),
        )
    },
}


def claims() -> Iterator[Claim]:
    for side, said in SAID.items():
        study = Study(
            family=f"{'a lower' if side == 'lower' else 'an upper'} bound of a difference of label metrics in few groups",
            draw=draw,
            truth=truth,
            interval=partial(interval, side),
            slow={},
        )
        default = default_of(study, SETTINGS[1], said)
        # the upper bounds of the quick grid have the weak setting among them, and others enough for the mean of all
        quick = at_most_of(SETTINGS[:1] if side == "lower" else SETTINGS[-9:], 200)
        yield from simulated(study, said, default, quick=quick, full=runs_of(SETTINGS, 1000), page=PAGE)
    yield from _answers().claims()


def draw(setting: Setting, rng: np.random.Generator) -> tuple[Setting, FloatArray]:
    """How many items of each group have each truth and the answers of both systems, in the order of `CELLS`.

    Rates of a group follow Beta laws with this correlation of two of its items.
    """
    items = _items(setting)
    positive = _positives(setting, items, rng)
    recall, false, lost, found, more, fewer = CHANGES[str(setting["candidate"])]

    def some(of: IntArray, share: float) -> IntArray:
        return rng.binomial(of, _alike(rng, share, float(setting["likeness"]), len(items)))

    negative = items - positive
    hits, alarms = some(positive, recall), some(negative, false)
    a, b = some(hits, lost), some(positive - hits, found)
    c, d = some(negative - alarms, more), some(alarms, fewer)
    cells = [negative - alarms - c, c, d, alarms - d, positive - hits - b, b, a, hits - a]
    return setting, np.stack(cells, axis=1).astype(float)


def truth(setting: Setting) -> float:
    """The difference in the long run, of these positives."""
    items = _items(setting)
    p = float(
        {"1 to 3 each": 2.0 * len(items), "a third": items.sum() / 3}.get(str(setting["positives"]), _positives(setting, items).sum())
    )
    n = items.sum() - p
    recall, false, lost, found, more, fewer = CHANGES[str(setting["candidate"])]
    negatives = [(1 - false) * (1 - more), (1 - false) * more, false * fewer, false * (1 - fewer)]
    positives = [(1 - recall) * (1 - found), (1 - recall) * found, recall * lost, recall * (1 - lost)]
    cells = np.array([*(n * x for x in negatives), *(p * x for x in positives)])
    _, statistic = of(str(setting["metric"]))
    return float(statistic.value(cells @ MARGINS[1]) - statistic.value(cells @ MARGINS[0]))


def _items(setting: Setting) -> IntArray:
    groups = int(setting["groups"])
    return np.full(groups, 20) if setting["sizes"] == "equal" else np.resize(np.array(UNEQUAL), groups)


def _positives(setting: Setting, items: IntArray, rng: np.random.Generator | None = None) -> IntArray:
    """Positives of each group; six in each group that has them, where few have."""
    where, groups = str(setting["positives"]), len(items)
    few = {"in one group": 1, "in three groups": 3}
    if where in few:
        return np.where(np.arange(groups) < few[where], 6, 0)
    if rng is None or where == "1 each":
        return np.ones(groups, np.int64)
    return rng.integers(1, 4, groups) if where == "1 to 3 each" else rng.binomial(items, 1 / 3)


def _alike(rng: np.random.Generator, share: float, likeness: float, groups: int) -> FloatArray:
    if likeness == 0 or share in (0, 1):
        return np.full(groups, share)
    many = (1 - likeness) / likeness
    return rng.beta(share * many, (1 - share) * many, groups)


def _margins(truth: int, prediction: int) -> FloatArray:
    row = np.zeros(7)
    row[truth] += truth == prediction
    row[[2 + truth, 4 + prediction, 6]] += 1
    return row


CELLS = tuple((t, a, b) for t in (0, 1) for a in (0, 1) for b in (0, 1))  # truth, answer of the baseline, answer of the candidate
MARGINS = np.array([_margins(t, a) for t, a, _ in CELLS]), np.array([_margins(t, b) for t, _, b in CELLS])


@cache
def of(name: str) -> tuple[Metric, SumStatistic]:
    metric, label = METRICS[name]
    return parse(metric), of_margins(parse(metric).of_table(label, "zero"), 2)


def interval(side: str, method: str, sample: tuple[Setting, FloatArray], seed: int) -> Interval | None:
    """What a comparison gives where there are groups enough to give something."""
    setting, cells = sample
    metric, statistic = of(str(setting["metric"]))
    both = np.concatenate(MARGINS, axis=1)

    def single(gradient: FloatArray) -> FloatArray:
        return np.asarray((np.sqrt(cells) * (both @ gradient)).ravel())

    asked = CompareOptions(own=MeasureOptions(draws=DRAWS, seed=seed, side=side, absent="zero"), interval=method or None)
    items, before, after = cells.sum(1), cells @ MARGINS[0], cells @ MARGINS[1]
    tally, difference = units_tally(before, after, statistic, items, single)
    if not enough_units("groups", tally, Warnings(), {}, difference, metric.name):
        return None
    return units_interval(before, after, statistic, metric, asked, Warnings(), items, single)


def _answers() -> Trial:
    """All positives in one of seven groups: how often an interval is given all the same, of a mean over classes."""
    sentence = "says nothing where one class of a mean over classes lies in one group"
    return Trial(
        family="an answer from balanced accuracy in few groups, positives in one",
        draw=lambda rng, setting: (draw(setting, rng),),
        methods={"difference": lambda sample: interval("two", "", sample, 0) is not None},
        said={("difference", "size"): (sentence, Band(high=0.0))},
        settings=SILENT,
        default="none",
        page=PAGE,
        runs=(40, 200),
        nominal=0.0,
    )
