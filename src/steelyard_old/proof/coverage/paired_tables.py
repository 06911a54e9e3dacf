"""Claims about intervals of a difference of table metrics on the same items: macro F1 and F1, joint tables simulated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from steelyard_old.estimate.paired_table import table_interval
from steelyard_old.estimate.table_rows import table_row
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import TWO_PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.coverage.tables import LAWS
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, nothing_yet, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.counts import TableTally
from steelyard_old.tally.joint import JointCounts, joint_table

SAME = 0.7  # the share of items to which the candidate gives the baseline's answer
SLOW = {"bayes": 10}
SETTINGS: dict[str, tuple[Setting, ...]] = {
    "macro_f1": tuple({"table": law, "n": n} for law, n in (("three classes", 50), ("three classes", 200), ("ten classes", 500))),
    "f1": tuple({"table": law, "n": n} for law, n in (("a rare class", 200), ("two classes", 50), ("two classes", 500))),
}
FAMILIES = {"a paired difference of macro F1": "macro_f1", "a paired difference of F1": "f1"}
SAID: dict[str, dict[str, BandText]] = {
    "a paired difference of macro F1": {
        "bca": (f"covers 0.86 with 50 items, 0.92 with 200; {DRAWS} draws", Band(low=0.85, fails=0.89, mean_low=0.85)),
        "percentile": (f"covers 0.89 with 50 items, 0.93 with 200; {DRAWS} draws", Band(low=0.88, fails=0.92, mean_low=0.88)),
        "delta": ("covers 0.94 or more", Band(low=0.935, mean_low=0.935)),
        "bayes": ("covers 0.95 or more", Band(low=0.93, mean_low=0.94)),
    },
    "a paired difference of F1": {
        "bca": (f"covers 0.81 with few items of the class; {DRAWS} draws", Band(low=0.8, fails=0.86, mean_low=0.8)),
        "percentile": (f"covers 0.84 with few items of the class; {DRAWS} draws", Band(low=0.83, fails=0.91, mean_low=0.84)),
        "delta": ("covers 0.95 or more", Band(low=0.94, mean_low=0.945)),
        "bayes": ("covers 0.94 or more", Band(low=0.92, mean_low=0.93)),
    },
}


def claims() -> Iterator[Claim]:
    for family, name in FAMILIES.items():
        metric, laws = parse(name), SETTINGS[name]
        study = Study(family=family, draw=draw, truth=partial(truth, name), interval=partial(interval, metric), slow=SLOW)
        default = default_of(study, laws[1], SAID[family])
        yield from simulated(study, SAID[family], default, quick=at_most_of(laws[:1], 200), full=runs_of(laws, 2000), page=TWO_PAGE)


@cache
def law_of(name: str) -> tuple[tuple[int, int, int, float], ...]:
    """(truth, baseline, candidate, chance): the candidate repeats the baseline, or answers afresh, right a little more often."""
    cells = np.array(LAWS[name], float)
    cells /= cells.sum()
    k = len(cells)
    fresh = 0.95 * cells / cells.sum(axis=1, keepdims=True) + 0.05 * np.eye(k)
    joint = (1 - SAME) * cells[:, :, None] * fresh[:, None, :] + SAME * cells[:, :, None] * np.eye(k)[None]
    return tuple((t, a, b, float(joint[t, a, b])) for t in range(k) for a in range(k) for b in range(k) if joint[t, a, b] > 0)


def draw(setting: Setting, rng: np.random.Generator) -> JointCounts:
    law = law_of(str(setting["table"]))
    chance = np.array([cell[3] for cell in law])
    return joint_of(law, rng.multinomial(int(setting["n"]), chance / chance.sum()).tolist())


def joint_of(law: tuple[tuple[int, int, int, float], ...], counts: list[int]) -> JointCounts:
    classes = 1 + max(cell[0] for cell in law)
    cells = {(t, a, b): count for (t, a, b, _), count in zip(law, counts, strict=True)}
    return joint_table(cells, tuple(str(k) for k in range(classes)))


@cache
def _true(name: str, table: str) -> float:
    """The metric of each side of so many items that rounding does not matter."""
    law, metric = law_of(table), parse(name)
    joint = joint_of(law, [round(1e12 * cell[3]) for cell in law])
    sides = (TableTally(joint.side(side)) for side in ("baseline", "candidate"))
    first, second = (table_row(metric, label_of(metric), side, MeasureOptions(interval="delta"), Warnings()).estimate for side in sides)
    assert first is not None
    assert second is not None
    return second - first


def truth(name: str, setting: Setting) -> float:
    return _true(name, str(setting["table"]))


def label_of(metric: Metric) -> int | None:
    return 1 if metric.average is None else None


def interval(metric: Metric, method: str, joint: JointCounts, seed: int) -> Interval | None:
    asked = CompareOptions(own=MeasureOptions(draws=DRAWS, seed=seed, absent="zero"), interval=method or None)
    return table_interval(joint, metric.of_table(label_of(metric), asked.own.absent), metric, nothing_yet(joint.n), asked, Warnings())
