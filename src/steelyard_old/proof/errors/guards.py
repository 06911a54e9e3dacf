"""Claims about the guard: how often it calls a healthy run a regression, and a drop by its name, through its own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.guard.number import CandidateScore, guard_number
from steelyard_old.estimate.guard.paired import PairedJudgement, guard_items, judge_items
from steelyard_old.estimate.guard.rule import GuardRule, settle_rule
from steelyard_old.estimate.guard.verdict import Guarded
from steelyard_old.estimate.opening import SystemItems
from steelyard_old.infer.planning.coverage import rejected_flips, rejected_pairs
from steelyard_old.items import Items, Labels
from steelyard_old.metrics.catalogue import parse
from steelyard_old.proof.claims import Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.reference.entry import Entry, TaskDefaults
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Verdict

FloatArray = npt.NDArray[np.float64]
PAGE = "docs/guard.md"
ACCURACY = 0.8


def claims() -> Iterator[Claim]:
    yield from _outcomes()
    yield from _numbers()


def rule_of(entry: Entry, **options: Any) -> GuardRule:
    return settle_rule(options, entry, TaskDefaults(), Warnings())


# ---- recorded outcomes: right or wrong -------------------------------------------------------------------------------------------


def run_of(scores: FloatArray, repeats: int = 1) -> Items:
    """The answers of a run, or of several one after the other, on items that have the same ids in every run."""
    n = len(scores) // repeats
    again = Labels(np.repeat(np.arange(repeats), n), tuple(map(str, range(repeats)))) if repeats > 1 else None
    return Items(n=n * repeats, id=Labels(np.tile(np.arange(n), repeats), tuple(f"q{i}" for i in range(n))), score=scores, repeat=again)


def judgement(reference: Items, run: Items, metric: str = "accuracy", draws: int = 10_000, **options: Any) -> PairedJudgement:
    rule = rule_of(Entry(model="m", value=None, metric=metric), **options)
    sides = SystemItems("reference", reference), SystemItems("run", run)
    return judge_items(*sides, parse(metric), rule, Warnings(), unit=1.0, unmatched="error", missing="error", draws=draws, seed=0)


def verdict_on(judged: PairedJudgement) -> Verdict:
    return guard_items(judged, Guarded(entry=Entry(model="m", value=None)))


def verdict(reference: Items, run: Items, metric: str, draws: int = 10_000, **options: Any) -> str:
    return verdict_on(judgement(reference, run, metric, draws, **options)).verdict


def _outcomes() -> Iterator[Claim]:
    """The guard as it is with outcomes on record, and the same runs judged by their bare scores with a sigma of 50."""
    sizes: dict[str, BandText] = {
        "paired guard": ("a healthy run is called worse in at most 5% of cases", Band(high=0.05)),
        "bare number": ("next to no false alarms on the same items, and no power either", Band(high=0.02)),
    }
    powers: dict[str, BandText] = {
        "paired guard": ("finds a drop of 2.8 standard errors four times in five, with 30 items twice in three", Band(low=0.64)),
        "bare number": ("misses most of the drops that pairing finds", Band(mean_high=0.4)),
    }
    family, full = "a guard on the same items, right or wrong", tuple({"n": n} for n in (30, 100, 300, 1000))
    for kind, said in (("size", sizes), ("power", powers)):
        yield from declared(kind, family, said, "paired guard", partial(outcomes, kind), quick=({"n": 100},), full=full, page=PAGE)


def outcomes(kind: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every number of losses and gains, judged by the guard. A drop comes on top of what changes between healthy runs."""
    n = int(setting["n"])
    region = _red(method, n)
    for share in (0.02, 0.05, 0.1):
        drop = 0.0 if kind == "size" else 2.8 * ((share + 2.8 * (share / n) ** 0.5) / n) ** 0.5
        found = rejected_flips(region, n, share / 2 + drop, share / 2)
        yield Point(f"{words(setting)} changing={share:g}" + (f" drop={drop:.3f}" if drop else ""), found)


@cache
def _red(method: str, n: int) -> Callable[[int], npt.NDArray[np.bool_]]:
    right = round(ACCURACY * n)
    reference = np.repeat([1.0, 0.0], [right, n - right])
    kept = run_of(reference)

    def red(lost: int, gained: int) -> bool:
        if lost > right or gained > n - right:  # cannot come about with so many right on record; the chance of it is nothing
            return lost > right
        if method == "bare number":
            return _worse(100 * right / n, 100 * (right - lost + gained) / n, n, 50.0)
        run = reference.copy()
        run[:lost], run[right : right + gained] = 0.0, 1.0
        return verdict(kept, run_of(run), "accuracy") == "regression"

    @cache
    def region(d: int) -> npt.NDArray[np.bool_]:
        return np.array([red(lost, d - lost) for lost in range(d + 1)])

    return region


# ---- a bare number ---------------------------------------------------------------------------------------------------------------


def _numbers() -> Iterator[Claim]:
    """Two separate samples, k of n each: sigma declared at its worst case, 50, or pooled from the two scores."""
    sizes: dict[str, BandText] = {
        "declared sigma": ("never far above 5%, and far below it for good models: sigma of 50 is the worst case", Band(high=0.065)),
        "pooled sigma": ("near 5%", Band(high=0.065)),
    }
    powers: dict[str, BandText] = {
        "declared sigma": ("finds 2.5 standard errors about four times in five near 50% only", Band(low=0.35, mean_high=0.7)),
        "pooled sigma": ("finds 2.5 standard errors about four times in five", Band(low=0.62, mean_low=0.72)),
    }
    family, full = "a guard on a bare number, other items", tuple({"n": n} for n in (50, 100, 200))
    for kind, said in (("size", sizes), ("power", powers)):
        yield from declared(kind, family, said, "pooled sigma", partial(numbers, kind), quick=full[:1], full=full, page=PAGE)


def numbers(kind: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    n = int(setting["n"])
    rejected = below(n, 50.0 if method == "declared sigma" else None)
    for share in (0.5, 0.8, 0.9, 0.95) if kind == "size" else (0.5, 0.8, 0.9):
        drop = 0.0 if kind == "size" else 2.4865 * (2 * share * (1 - share) / n) ** 0.5
        found = rejected_pairs(rejected, share, share - drop)
        yield Point(f"{words(setting)} p={share:g}" + (f" drop={drop:.3f}" if drop else ""), found)


@cache
def below(n: int, sigma: float | None) -> npt.NDArray[np.bool_]:
    return np.array([[_worse(100 * k / n, 100 * new / n, n, sigma) for new in range(n + 1)] for k in range(n + 1)])


def _worse(reference: float, value: float, n: int, sigma: float | None) -> bool:
    """Whether a guard on the bare number calls it a regression."""
    if sigma is None and reference == value and value in (0.0, 100.0):  # no spread to judge by: the guard asks for a sigma
        return False
    entry = Entry(model="m", value=reference, num_samples=n, sigma=sigma, scale="percent", metric="accuracy")
    new = CandidateScore(value=value, n=n, right_or_wrong=True)
    return guard_number(new, Guarded(entry=entry), rule_of(entry), Warnings()).verdict == "regression"
