"""Evidence of a change that adds up over nights: Shiryaev-Roberts detectors of four strengths, and charts that date the change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.suite.pooled import common_excess

FloatArray = npt.NDArray[np.float64]
STRENGTHS = np.array([0.5, 1.0, 2.0, 4.0])  # falls, in deviations of a night, that the four detectors are tuned to
HELD_BACK = 14  # newest nights that do not teach what noise is usual: a fall must not explain itself away
ALWAYS_TEACH = 5  # but the first nights of all always do
POOL_SHARE = 0.5  # of the evidence of a suite that is the pool's


def shortfall(z: float, earlier: Sequence[float] | FloatArray) -> tuple[float, float]:
    """(v, phi): tonight's z as a standard normal number, given how much earlier z have varied; worse is positive.

    Formula: nu = 5 + k, phi = max(1, (5 + sum min(z^2, 16)) / nu), v = -Phi^-1(T_nu(-z / sqrt(phi))).
    Reference: Student1908.

    >>> [round(x, 6) for x in shortfall(2.4, [0.3, -1.1, 0.8, 2.0])]
    [1.899713, 1.215556]
    """
    from scipy.special import ndtri, stdtr

    phi, df = common_excess(earlier)
    tail = max(float(stdtr(df, -abs(z) / math.sqrt(phi))), 1e-300)
    return math.copysign(-float(ndtri(tail)), z) + 0.0, phi


def teaching(z: Sequence[float]) -> Sequence[float]:
    """The earlier z that say how much is usual: without the last 14 nights, but never without the first five.

    >>> [len(teaching([0.0] * k)) for k in (3, 10, 19, 30)]
    [3, 5, 5, 16]
    """
    return z[: max(ALWAYS_TEACH, len(z) - HELD_BACK)]


def moved(evidence: FloatArray, v: float) -> FloatArray:
    """The four detectors after one more night: M <- (1 + M) exp(d v - d^2 / 2).

    If nothing changed, M grows by 1 a night on average, so it reaches c after c nights on average or later.
    Reference: ShinRamdasRinaldo2024.

    >>> [float(round(x, 4)) for x in moved(np.zeros(4), 1.0)]
    [1.455, 1.6487, 1.0, 0.0183]
    """
    return np.asarray((1 + evidence) * np.exp(STRENGTHS * v - STRENGTHS**2 / 2))


def charted(charts: FloatArray, v: float) -> FloatArray:
    """The four charts that date a change, after one more night: C <- max(0, C + d v - d^2 / 2), a chart for each strength.

    A chart is the log-likelihood ratio of a fall of that strength, begun on the night after the chart last stood at 0; so of all
    nights and strengths, the highest chart and its last 0 are the most likely. One chart, tuned to a fall of one deviation, would take
    healthy nights that happened to be a little low for part of a large fall. Reference: Page1954.

    >>> [float(x) for x in charted(np.array([0.1, 0.0, 0.0, 0.0]), 1.5)]
    [0.725, 1.0, 1.0, 0.0]
    """
    return np.maximum(0.0, charts + STRENGTHS * v - STRENGTHS**2 / 2)


def suite_evidence(pool: FloatArray, tasks: FloatArray) -> float:
    """Half the mean of the pool's four detectors, half the mean of all those of the tasks.

    A mean of detectors is a detector however the tasks depend on one another. Reference: ShinRamdasRinaldo2024.

    >>> suite_evidence(np.full(4, 8.0), np.array([[0.0] * 4, [4.0] * 4]))
    5.0
    """
    return POOL_SHARE * float(np.mean(pool)) + (1 - POOL_SHARE) * float(np.mean(tasks)) if np.size(tasks) else float(np.mean(pool))


def alarm_line(false_alarms: float, runs_per_year: float) -> float:
    """The evidence from which a night alarms: runs a year over the false alarms allowed in a year. Reference: ShinRamdasRinaldo2024.

    >>> alarm_line(1, 365), alarm_line(0.1, 365)
    (365.0, 3650.0)
    """
    if not (0 < false_alarms <= runs_per_year and math.isfinite(runs_per_year)):
        raise UsageError(
            f"A budget is more than 0 false alarms and at most one per run, not {false_alarms!r} in {runs_per_year!r} runs a year.",
            got=f"{false_alarms!r} false alarms in {runs_per_year!r} runs a year",
            need="more than 0 false alarms, and at most one per run",
        )
    return runs_per_year / false_alarms


# ---- the alternative: ask again the same night --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStage:
    """What a night shows before anything is asked again: which tasks to run again, and at which level they are judged."""

    level: float
    again: tuple[int, ...]
    pooled: bool

    @property
    def red(self) -> bool:
        return bool(self.again)


def confirm_level(false_alarms: float, runs_per_year: float) -> float:
    """The level of each of two independent stages that together alarm so often a year: sqrt(F / runs).

    >>> round(confirm_level(1, 365), 4)
    0.0523
    """
    return 1 / math.sqrt(alarm_line(false_alarms, runs_per_year))


def first_stage(task_p: Sequence[float], pooled: float | None, level: float) -> FirstStage:
    """Half the level for the pool, half by Bonferroni for the tasks. Again: the red tasks, or all if the pool is red.

    >>> first_stage([0.4, 0.001, 0.3], 0.2, 0.05).again, first_stage([0.4, 0.1, 0.3], 0.02, 0.05).again
    ((1,), (0, 1, 2))
    """
    pool_is_red = pooled is not None and pooled <= level / 2
    share = level / 2 / max(1, len(task_p))
    red = range(len(task_p)) if pool_is_red else [i for i, p in enumerate(task_p) if p <= share]
    return FirstStage(level=level, again=tuple(red), pooled=pool_is_red)


def second_stage(first: FirstStage, task_p: Sequence[float], pooled: float | None = None) -> bool:
    """Whether the fresh runs of the tasks asked again confirm it: Bonferroni over them; all of them again, the first test again.

    >>> second_stage(first_stage([0.4, 0.001], 0.2, 0.05), [0.03]), second_stage(first_stage([0.4, 0.001], 0.2, 0.05), [0.06])
    (True, False)
    """
    if len(task_p) != len(first.again):
        raise UsageError(
            f"A confirmation takes the p-values of the {len(first.again)} tasks asked again, not of {len(task_p)}.",
            got=f"p-values of {len(task_p)} tasks",
            need=f"those of the {len(first.again)} asked again",
        )
    if not first.red:
        return False
    if first.pooled:
        return first_stage(task_p, pooled, first.level).red
    return min(task_p) <= first.level / len(task_p)
