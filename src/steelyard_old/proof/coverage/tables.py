"""Claims about intervals of metrics of a whole table: macro F1, MCC, kappa, balanced accuracy, F2; simulated tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from steelyard_old.estimate.table_rows import posterior_of, table_row
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import LEVEL, Band, BandText, Claim, Setting
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.counts import Counts, TableTally

SLOW = {"bayes": 5, "hdi": 10}


def skewed() -> list[list[int]]:
    """Ten classes, the commonest six times as common as the rarest, 80% right, errors spread by frequency; of 100,000 items."""
    share = np.geomspace(6, 1, 10)
    share /= share.sum()
    found: list[list[int]] = np.round(1e5 * (0.2 * np.outer(share, share) + np.diag(share * 0.8))).astype(int).tolist()
    return found


LAWS: dict[str, list[list[int]]] = {  # truth x prediction, in whole numbers, so that a true value is that of a table
    "three classes": [[27, 4, 2], [3, 25, 5], [2, 5, 27]],
    "a rare class": [[88, 2], [3, 7]],
    "two classes": [[45, 8], [7, 40]],
    "ten classes": skewed(),
}
WHOLE: tuple[Setting, ...] = tuple(
    {"table": law, "n": n}
    for law, n in (
        ("three classes", 200),
        ("a rare class", 100),
        ("three classes", 50),
        ("a rare class", 500),
        ("ten classes", 50),
        ("ten classes", 500),
        ("ten classes", 100),
    )
)
OF_ONE: tuple[Setting, ...] = tuple(
    {"table": law, "n": n} for law, n in (("two classes", 50), ("a rare class", 100), ("two classes", 200), ("a rare class", 500))
)
FAMILIES = {
    "macro F1": "macro_f1",
    "MCC": "mcc",
    "Cohen's kappa": "kappa",
    "balanced accuracy": "balanced_accuracy",
    "F2 of one class": "fbeta:2",
}
FEW = "with ten classes and 50 items"
SAID: dict[str, dict[str, BandText]] = {
    "macro F1": {
        "bca": (f"covers 0.95, but 0.77 {FEW}; {DRAWS} draws", Band(low=0.76, mean_low=0.91)),
        "percentile": (f"covers 0.935 or more, but 0.69 {FEW}; {DRAWS} draws", Band(low=0.67, mean_low=0.88)),
        "delta": (f"covers 0.9 or more, 0.7 {FEW}", Band(low=0.69, mean_low=0.89)),
        "bayes": (f"covers 0.89 or more, but 0.59 {FEW}", Band(low=0.55, mean_low=0.84)),
        "hdi": (f"covers 0.89 or more, but 0.59 {FEW}", Band(low=0.55, mean_low=0.84)),
    },
    "MCC": {
        "bca": (f"covers 0.945 on average, 0.93 at worst; {DRAWS} draws", Band(low=0.925, mean_low=0.94)),
        "percentile": (f"covers 0.935 on average, 0.92 at worst; {DRAWS} draws", Band(low=0.91, mean_low=0.92)),
        "delta": ("covers 0.93 on average, 0.89 with ten items of a rare class", Band(low=0.88, fails=0.9, mean_low=0.91)),
        "bayes": (f"covers 0.93 on average, 0.85 {FEW}", Band(low=0.84, mean_low=0.92)),
        "hdi": (f"covers 0.93 on average, 0.89 {FEW}", Band(low=0.86, mean_low=0.92)),
    },
    "Cohen's kappa": {
        "bca": (f"covers 0.95 on average, 0.94 at worst; {DRAWS} draws", Band(low=0.94, mean_low=0.945)),
        "percentile": (f"covers 0.945 on average, 0.93 at worst; {DRAWS} draws", Band(low=0.93, mean_low=0.94)),
        "delta": ("covers 0.94 on average, 0.9 with ten items of a rare class", Band(low=0.9, fails=0.93, mean_low=0.935)),
        "bayes": (f"covers 0.925 on average, 0.86 {FEW}", Band(low=0.84, mean_low=0.915)),
        "hdi": (f"covers 0.92 on average, 0.86 {FEW}", Band(low=0.84, mean_low=0.91)),
    },
    "balanced accuracy": {
        "bca": (f"covers 0.94 or more, but 0.77 {FEW}; {DRAWS} draws", Band(low=0.755, mean_low=0.9)),
        "percentile": (f"covers 0.92 or more, but 0.73 {FEW}; {DRAWS} draws", Band(low=0.715, mean_low=0.88)),
        "delta": (f"covers 0.895 or more, but 0.66 {FEW}", Band(low=0.645, mean_low=0.86)),
        "bayes": (f"covers 0.93 or more, but 0.72 {FEW}", Band(low=0.7, mean_low=0.88)),
        "hdi": (f"covers 0.905 or more, but 0.71 {FEW}", Band(low=0.68, mean_low=0.87)),
    },
    "F2 of one class": {
        "bca": (f"covers 0.95 on average, 0.935 at worst; {DRAWS} draws", Band(low=0.935, mean_low=0.945)),
        "percentile": (f"covers 0.93 on average, 0.92 at worst; {DRAWS} draws", Band(low=0.91, mean_low=0.925)),
        "delta": ("covers 0.915 on average, 0.88 with ten items of a rare class", Band(low=0.87, fails=0.91, mean_low=0.905)),
        "bayes": ("covers 0.94 on average, 0.93 at worst", Band(low=0.915, mean_low=0.93)),
        "hdi": ("covers 0.94 on average, 0.92 at worst", Band(low=0.9, mean_low=0.92)),
    },
}


def claims() -> Iterator[Claim]:
    for family, name in FAMILIES.items():
        metric, laws = parse(name), OF_ONE if name == "fbeta:2" else WHOLE
        study = Study(family=family, draw=draw, truth=partial(truth, name), interval=partial(interval, metric), slow=SLOW)
        default = default_of(study, laws[0], SAID[family])
        slow = metric.law(None) is not None  # of rare classes the shortest interval of its posterior is slow
        telling = 0 if slow else 1  # rare classes
        quick = at_most_of(laws[telling : telling + 1], 240)
        yield from simulated(study, SAID[family], default, quick=quick, full=runs_of(laws, 1500))


def draw(setting: Setting, rng: np.random.Generator) -> Counts:
    cells = np.array(LAWS[str(setting["table"])], float)
    drawn = rng.multinomial(int(setting["n"]), (cells / cells.sum()).ravel()).reshape(cells.shape)
    return Counts.table([[int(count) for count in line] for line in drawn])


@cache
def _true(name: str, law: str) -> float:
    metric = parse(name)
    label = 1 if metric.of_class and metric.average is None else None
    found = table_row(metric, label, TableTally(Counts.table(LAWS[law])), MeasureOptions(interval="delta"), Warnings()).estimate
    assert found is not None
    return found


def truth(name: str, setting: Setting) -> float:
    return _true(name, str(setting["table"]))


def row(metric: Metric, counts: Counts, settings: MeasureOptions) -> Interval | None:
    label = 1 if metric.of_class and metric.average is None else None
    return table_row(metric, label, TableTally(counts, items=counts.n), settings, Warnings()).interval


def interval(metric: Metric, method: str, counts: Counts, seed: int, side: str = "two") -> Interval | None:
    """As the user gets it. Posteriors are asked directly: the answer would work out a second prior beside them."""
    settings = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, side=side, absent="zero")
    if method not in ("bayes", "hdi"):
        return row(metric, counts, settings)
    label = 1 if metric.of_class and metric.average is None else None
    low, high = posterior_of(metric, label, counts, settings.prior, settings).interval(LEVEL, "hdi" if method == "hdi" else "equal-tailed")
    return Interval(low=low, high=high, confidence_level=LEVEL, side="two", method=method)
