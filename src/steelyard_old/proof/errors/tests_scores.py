"""Claims about tests of a number per item, in groups and with repeats: how often they tell equal systems apart, by drawing data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.paired_scores import compare_scores
from steelyard_old.items import Items, Labels
from steelyard_old.metrics.catalogue import parse
from steelyard_old.proof.claims import Band, BandText, Claim, Setting
from steelyard_old.proof.errors.tests import PAGE, plainly
from steelyard_old.proof.trials import Calls, Trial, alike, significant
from steelyard_old.results.base import Warnings
from steelyard_old.tally.pairs import Pairs

FloatArray = npt.NDArray[np.float64]


def claims() -> Iterator[Claim]:
    for trial in (_scores(), _many_scores(), _skewed(), _groups(), _repeats(), _unequal()):
        yield from trial.claims()


# ---- a number per item -------------------------------------------------------------------------------------------------------


def pairs_of(n: int, baseline: int = 1, candidate: int = 1, group: int = 0) -> Pairs:
    """Matched items as the comparison sees them: repeats of an item lie side by side, groups are runs of items."""
    sides = []
    for runs in (baseline, candidate):
        item = np.repeat(np.arange(n), runs)
        groups = Labels(item // group, tuple(map(str, range(-(-n // group))))) if group else None
        sides.append(Items(n=n * runs, group=groups))
    items = [np.repeat(np.arange(n), runs) for runs in (baseline, candidate)]
    return Pairs(baseline=sides[0], candidate=sides[1], baseline_item=items[0], candidate_item=items[1], items=n, names=())


def calls_of(names: tuple[str, ...], bounds: tuple[float, float] | None = None) -> dict[str, Calls]:
    """What a comparison of means says by each of its tests."""

    def calls(name: str, pairs: Pairs, a: FloatArray, b: FloatArray) -> bool:
        return significant(compare_scores((a, b), pairs, parse("mean"), plainly(name), Warnings(), bounds=bounds).test.p_value)

    return {name: partial(calls, name) for name in names}


def default_of_scores(pairs: Pairs, bounds: tuple[float, float] | None = None) -> str:
    """The test that a comparison of means takes by itself."""
    a, b = (np.linspace(0, 1, len(item)) for item in (pairs.baseline_item, pairs.candidate_item))
    return compare_scores((a, b[::-1].copy()), pairs, parse("mean"), plainly(), Warnings(), bounds=bounds).test.name


def _scores() -> Trial:
    """Differences with a symmetric law around the drop: as normal as can be, bounded, or mostly 0."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, drop = int(setting["n"]), float(setting.get("drop", 0.0))
        if setting["law"] == "steps":  # most answers get the same score
            d = rng.choice([-2.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0], n)
        else:
            d = rng.normal(size=n) if setting["law"] == "normal" else rng.uniform(-(3**0.5), 3**0.5, n)
        a = rng.normal(size=n)
        return pairs_of(n), a, a + d - drop / n**0.5

    names = ("sign-flip", "paired-t", "wilcoxon")
    default = default_of_scores(pairs_of(5))
    size = {"sign-flip": 0.05, "paired-t": 0.06, "wilcoxon": 0.05}
    laws = ("normal", "uniform", "steps")
    return Trial(
        family="scores on the same items",
        draw=draw,
        default=default,
        page=PAGE,
        methods=calls_of(names),
        said={(name, "size"): ("at most 5% where a difference could as well have the other sign", Band(high=size[name])) for name in names}
        | alike(("sign-flip", "paired-t"), "power", "finds 2.8 standard errors in two to four of five cases", low=0.6)
        | alike(("wilcoxon",), "power", "finds half as much or more: less on few items of which most are level", low=0.35),
        settings=({"n": 10, "law": "uniform"}, {"n": 20, "law": "normal", "drop": 2.8}),
        more=(
            {"n": 20, "law": "normal"},
            *({"n": n, "law": law, "drop": drop} for n in (10, 20, 40) for law in laws for drop in (0.0, 2.8)),
        ),
        runs=(200, 1000),
    )


def _many_scores() -> Trial:
    """So many different numbers that the flips of their signs are neither listed nor counted: worked out, or drawn."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, drop = int(setting["n"]), float(setting.get("drop", 0.0))
        d = rng.normal(size=n) if setting["law"] == "normal" else rng.standard_t(3, n) / 3**0.5  # standard deviation 1
        a = rng.normal(size=n)
        return pairs_of(n), a, a + d - drop / n**0.5

    names = ("sign-flip", "sign-flip-draws")
    return Trial(
        family="many scores on the same items",
        draw=draw,
        default=default_of_scores(pairs_of(5)),
        page=PAGE,
        methods=calls_of(names),
        said=alike(names, "size", "at most 5% where a difference could as well have the other sign", high=0.05)
        | alike(names, "power", "finds 2.8 standard errors in four of five cases", low=0.75),
        settings=({"n": 100, "law": "normal"}, {"n": 100, "law": "normal", "drop": 2.8}),
        more=tuple({"n": n, "law": law, "drop": drop} for n in (100, 400) for law in ("normal", "t3") for drop in (0.0, 2.8)),
        runs=(80, 1000),
    )


def _skewed() -> Trial:
    """Many small gains and a few big losses that cancel: the mean difference is 0, its law is not symmetric."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n = int(setting["n"])
        big = rng.random(n) < 0.05
        a = rng.normal(size=n)
        return pairs_of(n), a, a + np.where(big, -0.95, 0.05) * (1 + 0.1 * rng.normal(size=n))

    names = ("sign-flip", "paired-t", "wilcoxon")
    default = default_of_scores(pairs_of(5))
    said: dict[str, BandText] = {
        "sign-flip": ("with fewer than 100 items and skewed differences only approximate: it rejects too often", Band(fails=0.1, high=0.7)),
        "paired-t": ("with fewer than 100 items and skewed differences only approximate: it rejects too often", Band(fails=0.1, high=0.7)),
        "wilcoxon": ("rejects nearly always from 20 items on: it does not test the mean", Band(low=0.5, fails=0.88)),
    }
    return Trial(
        family="skewed differences of scores on the same items",
        draw=draw,
        default=default,
        page=PAGE,
        methods=calls_of(names),
        said={(name, "size"): said[name] for name in names},
        settings=({"n": 20},),
        more=tuple({"n": n} for n in (10, 50)),
        runs=(200, 1000),
    )


def _groups() -> Trial:
    """Items in groups that share their luck; the means are compared over the groups."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        groups, each, drop = int(setting["groups"]), 5, float(setting.get("drop", 0.0))
        n = groups * each
        common = np.repeat(rng.normal(size=groups), each)
        a, d = rng.normal(size=n), common * 0.7071 + rng.normal(size=n) * 0.7071
        return pairs_of(n, group=each), a, a + d - drop * (0.6 / groups) ** 0.5

    names = ("sign-flip", "paired-t", "wilcoxon")
    default = default_of_scores(pairs_of(20, group=4))
    return Trial(
        family="scores in groups on the same items",
        draw=draw,
        default=default,
        page=PAGE,
        methods=calls_of(names),
        said={(name, "size"): ("at most 5% from 10 groups on", Band(high=0.06)) for name in names}
        | {(name, "power"): ("finds 2.8 standard errors about four times in five", Band(low=0.6)) for name in names},
        settings=({"groups": 10}, {"groups": 20, "drop": 2.8}),
        more=tuple({"groups": groups, "drop": drop} for groups in (20, 40) for drop in (0.0, 2.8)),
        runs=(200, 1000),
    )


# ---- several answers to an item ------------------------------------------------------------------------------------------------


def _answers(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
    """Right or wrong, each item with a chance of its own: the same for both, but for a drop."""
    n, first, second = (int(setting[key]) for key in ("n", "baseline", "candidate"))
    chance = rng.beta(2, 1, n)
    drop = float(setting.get("drop", 0.0)) * (chance * (1 - chance)).mean() ** 0.5 * ((1 / first + 1 / second) / n) ** 0.5
    sides = [
        (rng.random((n, k)) < np.maximum(0, chance - less)[:, None]).astype(float).ravel() for k, less in ((first, 0.0), (second, drop))
    ]
    return pairs_of(n, first, second), *sides


def _repeats() -> Trial:
    names = ("bounded-t", "sign-flip", "paired-t", "wilcoxon", "within-item")
    default = default_of_scores(pairs_of(5, 2, 2), (0.0, 1.0))
    base: dict[str, Any] = {"n": 20, "baseline": 3, "candidate": 3}
    return Trial(
        family="equal repeats of the same items",
        draw=_answers,
        default=default,
        page=PAGE,
        methods=calls_of(names, (0.0, 1.0)),
        said={(name, "size"): ("at most 5%, or about that", Band(high=0.055)) for name in names}
        | {
            (name, "power"): ("finds 2.8 standard errors of the runs in three to four of five cases", Band(low=0.52))
            for name in names
            if name != "bounded-t"
        }
        | {("bounded-t", "power"): ("finds 2.8 standard errors of the runs in two to three of five cases: the price", Band(low=0.35))},
        settings=(base, {**base, "drop": 2.8}),
        more=tuple({**base, "n": n, "drop": drop} for n in (40, 80) for drop in (0.0, 2.8)),
        runs=(240, 1000),
    )


def _unequal() -> Trial:
    names = ("bounded-t", "within-item", "paired-t", "sign-flip")
    default = default_of_scores(pairs_of(5, 3, 1), (0.0, 1.0))
    base: dict[str, Any] = {"n": 20, "baseline": 4, "candidate": 1}
    return Trial(
        family="unequal repeats of the same items",
        draw=_answers,
        default=default,
        page=PAGE,
        methods=calls_of(names, (0.0, 1.0)),
        said={
            (name, "size"): ("at most 5%, or about that", Band(high=0.055 if name in ("bounded-t", "within-item") else 0.07))
            for name in names
        }
        | {
            (name, "power"): ("finds 2.8 standard errors of the runs in three to four of five cases", Band(low=0.52))
            for name in names
            if name != "bounded-t"
        }
        | {("bounded-t", "power"): ("finds 2.8 standard errors of the runs in two to three of five cases: the price", Band(low=0.35))},
        settings=(base, {**base, "drop": 2.8}),
        more=tuple({**base, "n": n, "drop": drop} for n in (40, 80) for drop in (0.0, 2.8)),
        runs=(200, 1000),
    )
