"""What is asked of a sample: does the interval hold the truth, is a difference called, is there an answer at all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard.data.counts import Counts, JointCounts
from steelyard.data.items import Items
from steelyard.engines.certainty import Certainty
from steelyard.engines.one import How, measure
from steelyard.engines.two import compare

DRAWS = 399
Sample = tuple[Any, ...]  # the data of one system or of two, and the truth
World = Callable[..., Sample]


def answer(metric: str, sample: Sample, design: str = "", **how: Any) -> Certainty | None:
    """How sure the ladder is of a sample's number, whatever the sample."""
    asked = How(**{"draws": DRAWS, **how})
    if len(sample) == 2 and not isinstance(sample[0], JointCounts):
        return measure(metric, sample[0], asked)[0].certainty
    one, two = (sample[0], None) if len(sample) == 2 else sample[:2]
    return compare(metric, one, two, asked, design=design)[0].certainty


def holds(metric: str, world: World, side: str = "two", level: float = 0.95, **how: Any) -> Callable[..., bool | None]:
    """Whether the interval holds the truth; None without an interval."""

    def trial(rng: Any, **setting: Any) -> bool | None:
        sample = world(rng, **setting)
        found = answer(metric, sample, **how)
        if found is None:
            return None
        low, high = found.ends(level, side)
        return bool(low <= sample[-1] <= high)

    return trial


def holds_or_misses(metric: str, world: World, **how: Any) -> Callable[..., bool]:
    """The same of bare methods: no interval is a miss, and so is what stands in for one without width at an end."""

    def trial(rng: Any, **setting: Any) -> bool:
        sample = world(rng, **setting)
        found = answer(metric, sample, **how)
        if found is None or (found.estimate in (0, 1) and how["interval"] != "wilson"):
            return False
        low, high = found.ends()
        return bool(low <= sample[-1] <= high)

    return trial


def calls(
    metric: str, world: World, margin: float = 0.0, alternative: str = "two-sided", alpha: float = 0.05, **how: Any
) -> Callable[..., bool]:
    """Whether p is at most alpha; without an answer nothing is called."""

    def trial(rng: Any, **setting: Any) -> bool:
        found = answer(metric, world(rng, **setting), **how)
        return found is not None and found.p(margin, alternative) <= alpha

    return trial


def answers(metric: str, world: World, **how: Any) -> Callable[..., bool]:
    """Whether there is an interval."""
    return lambda rng, **setting: answer(metric, world(rng, **setting), **how) is not None


def contradicts(metric: str, world: World, **how: Any) -> Callable[..., bool | None]:
    """Whether p and an end say different things of "no difference", on two sides or on one, or an interval has no width."""

    def trial(rng: Any, **setting: Any) -> bool | None:
        found = answer(metric, world(rng, **setting), **how)
        if found is None:
            return None
        wrong = False
        for level in (0.9, 0.95, 0.99):
            low, high = found.ends(level)
            wrong |= not low < high or (found.p() <= 1 - level + 1e-12) != (not low <= 0 <= high)
            for side, alternative, end in (("lower", "greater", 0), ("upper", "less", 1)):
                out = found.ends(level, side)[end]
                wrong |= (found.p(0, alternative) <= 1 - level + 1e-12) != (out > 0 if end == 0 else out < 0)
        return wrong

    return trial


def wider(metric: str, world: World, than: str, **how: Any) -> Callable[..., float | None]:
    """The width of the interval over that of another method."""

    def trial(rng: Any, **setting: Any) -> float | None:
        sample = world(rng, **setting)
        both = [answer(metric, sample, **how), answer(metric, sample, **{**how, "interval": than})]
        if both[0] is None or both[1] is None:
            return None
        (a, b), (c, d) = (found.ends() for found in both if found is not None)
        return (b - a) / (d - c) if d > c else None

    return trial


def dearer(metric: str, world: World, **how: Any) -> Callable[..., bool | None]:
    """Whether the test alone calls a difference that the joined p does not: the price in power."""

    def trial(rng: Any, **setting: Any) -> bool | None:
        found = answer(metric, world(rng, **setting), **how)
        test = getattr(found, "of_test", None)
        return None if found is None or test is None else test.p() <= 0.05 < found.p()

    return trial


def cut(metric: str, world: World, **how: Any) -> Callable[..., bool | None]:
    """Coverage where the end were cut at 0 instead whenever the test calls a difference that the interval does not exclude."""

    def trial(rng: Any, **setting: Any) -> bool | None:
        sample = world(rng, **setting)
        found = answer(metric, sample, **how)
        if found is None or not hasattr(found, "of_test"):
            return None
        low, high = found.of_interval.ends()
        if found.of_test.p() <= 0.05:
            low, high = (max(low, 0.0), high) if found.estimate > 0 else (low, min(high, 0.0))
            return bool(low <= sample[-1] <= high and sample[-1] != 0)
        return bool(low <= sample[-1] <= high)

    return trial


def identical(metric: str, world: World, **how: Any) -> Callable[..., bool | None]:
    """Whether a run beside itself has another p than 1, or an interval that is not symmetric or has no width."""

    def trial(rng: Any, **setting: Any) -> bool | None:
        one, *_ = world(rng, **setting)
        one = one.one if isinstance(one, JointCounts) else one.items if isinstance(one, Counts) else one
        sample = (JointCounts(one, one), 0.0) if "id" not in one else (one, one, 0.0)
        found = answer(metric, sample, **how)
        if found is None:
            return None
        low, high = found.ends()
        return bool(found.p() != 1 or abs(low + high) > 1e-9 or not low < high)

    return trial


def warns(metric: str, world: World, **how: Any) -> Callable[..., bool]:
    """Whether numpy warns on the way."""

    def trial(rng: Any, **setting: Any) -> bool:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = answer(metric, world(rng, **setting), **how)
            if found is not None:
                found.ends()
                found.p()
        return bool(seen)

    return trial


def rises(rng: Any, groups: int, each: int, wrong: int, unequal: bool = False) -> bool | None:
    """Whether one more mistake anywhere raises a bound of a share in groups, on two sides or on one."""
    size = rng.integers(1, 2 * each, groups) if unequal else np.full(groups, each)
    unit = np.repeat(np.arange(groups), size)
    where = rng.integers(0, groups) if rng.random() < 0.3 else None  # often all mistakes are in one group
    pool = np.flatnonzero(unit == where) if where is not None else np.arange(len(unit))
    score = np.ones(len(unit))
    score[rng.choice(pool, min(wrong, len(pool)), replace=False)] = 0.0
    if not score.any():
        return None
    more = score.copy()
    more[rng.choice(np.flatnonzero(score))] = 0.0  # one more, wherever it is
    both = [answer("accuracy", (Items.of(score=s, group=unit), 0.0)) for s in (score, more)]
    if both[0] is None or both[1] is None:
        return None
    (a, b), (c, d) = (found.ends() for found in both if found is not None)
    return bool(c > a + 1e-9 or d > b + 1e-9)
