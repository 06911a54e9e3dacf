"""Claims about items that differ, asked again and again on unequal terms, and about differences that are not symmetric."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.evidence import doubtful
from steelyard_old.estimate.paired_scores import compare_scores
from steelyard_old.metrics.catalogue import parse
from steelyard_old.proof.claims import ALPHA, Band, BandText, Claim, Point, Setting, declared
from steelyard_old.proof.counting import at_most, count_of, share_of
from steelyard_old.proof.errors.guards import PAGE as GUARD_PAGE
from steelyard_old.proof.errors.guards import judgement, run_of, verdict_on
from steelyard_old.proof.errors.tests import PAGE, plainly
from steelyard_old.proof.errors.tests_scores import calls_of, default_of_scores, pairs_of
from steelyard_old.proof.trials import Trial, significant, told
from steelyard_old.results.base import Warnings
from steelyard_old.results.verdict import Verdict
from steelyard_old.tally.pairs import Pairs

FloatArray = npt.NDArray[np.float64]
RIGHT = (0.0, 1.0)
NAMES = ("bounded-t", "sign-flip", "paired-t", "within-item")
RUNS: tuple[tuple[int, int], ...] = ((10, 8), (10, 1), (5, 1))
HELD = "at most 5%: items are the units, and the ends of the range are counted in"


def claims() -> Iterator[Claim]:
    for trial in (_opposed(), _near_the_end(), _skewed(), _unwarned(), _guard_opposed(), _guard_near_the_end()):
        yield from trial.claims()
    yield from _these_items()


# ---- two systems ---------------------------------------------------------------------------------------------------------------


def opposed(rng: np.random.Generator, setting: Setting) -> tuple[int, int, int, FloatArray, FloatArray]:
    """Half of the items become easier by .6 and half harder: over all items of the kind nothing changes."""
    n, first, second = (int(setting[key]) for key in ("n", "baseline", "candidate"))
    easy = rng.random(n) < 0.5
    a, b = ((rng.random((n, k)) < np.where(easy, p, 1 - p)[:, None]).astype(float) for k, p in ((first, 0.8), (second, 0.2)))
    return n, first, second, a, b


def near_the_end(rng: np.random.Generator, setting: Setting) -> tuple[int, int, int, FloatArray, FloatArray]:
    """One and the same model, nearly always right: a mean of ten runs and a single run have different laws."""
    n, first, second = (int(setting[key]) for key in ("n", "baseline", "candidate"))
    a, b = ((rng.random((n, k)) < float(setting["accuracy"])).astype(float) for k in (first, second))
    return n, first, second, a, b


def _paired(draw: Any, rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
    n, first, second, a, b = draw(rng, setting)
    return pairs_of(n, first, second), a.ravel(), b.ravel()


def _unequal(n: int, runs: tuple[int, int], **more: float) -> Setting:
    return {"n": n, "baseline": runs[0], "candidate": runs[1], **more}


def _opposed() -> Trial:
    said: dict[str, BandText] = {
        "bounded-t": (HELD, Band(high=0.05)),
        "sign-flip": ("about 5%", Band(high=0.06)),
        "paired-t": ("about 5%", Band(high=0.06)),
        "within-item": ("rejects up to 44%: it speaks of these very items, which did change", Band(fails=0.2)),
    }
    return Trial(
        family="items that change both ways, unequal repeats",
        draw=partial(_paired, opposed),
        default=default_of_scores(pairs_of(5, 3, 1), RIGHT),
        page=PAGE,
        methods=calls_of(NAMES, RIGHT),
        said={(name, "size"): said[name] for name in NAMES},
        settings=(_unequal(30, RUNS[0]),),
        more=tuple(_unequal(n, runs) for n in (30, 100) for runs in RUNS if (n, runs) != (30, RUNS[0])),
        runs=(200, 2000),
    )


def _near_the_end() -> Trial:
    said: dict[str, BandText] = {
        "bounded-t": (HELD, Band(high=0.055)),
        "sign-flip": ("rejects 20% with 30 items at an accuracy of 0.95, ten runs against one", Band(fails=0.12)),
        "paired-t": ("rejects 20% with 30 items at an accuracy of 0.95, ten runs against one", Band(fails=0.15)),
    }
    wide = [(30, 0.95), (100, 0.95), (300, 0.98), (1000, 0.99)]
    return Trial(
        family="nearly always right, unequal repeats",
        draw=partial(_paired, near_the_end),
        default=default_of_scores(pairs_of(5, 3, 1), RIGHT),
        page=PAGE,
        methods=calls_of(NAMES[:3], RIGHT),
        said={(name, "size"): said[name] for name in NAMES[:3]},
        settings=(_unequal(30, (10, 1), accuracy=0.95),),
        more=tuple(_unequal(n, runs, accuracy=p) for n, p in wide for runs in RUNS if (n, runs) != (30, (10, 1))),
        runs=(200, 2000),
    )


def _skewed() -> Trial:
    """Nine items in ten gain .1, one loses .9: the mean difference is 0."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n = int(setting["n"])
        a = rng.uniform(0.0, 0.9, n)
        lost = rng.random(n) < 0.1
        return pairs_of(n), np.where(lost, 0.9, a), np.where(lost, 0.0, a + 0.1)

    names = NAMES[:3]
    said: dict[str, BandText] = {
        "bounded-t": ("at most 5%, however few items there are", Band(high=0.055)),
        "sign-flip": ("rejects 34% with 10 items and 14% with 50: no difference shows what is rare", Band(fails=0.1)),
        "paired-t": ("rejects 34% with 10 items and 12% with 50: no difference shows what is rare", Band(fails=0.1)),
    }
    return Trial(
        family="skewed differences of scores with a declared range",
        draw=draw,
        default=default_of_scores(pairs_of(5), RIGHT),
        page=PAGE,
        methods=calls_of(names, RIGHT),
        said={(name, "size"): said[name] for name in names},
        settings=({"n": 10}, {"n": 50}),
        more=tuple({"n": n} for n in (20, 100, 200, 500)),
        runs=(240, 3000),
    )


def _unwarned() -> Trial:
    """The same without a declared range: no test can hold then, so a warning must go with what is not to be believed."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n = int(setting["n"])
        lost = rng.random(n) < 0.1
        a = np.full(n, 0.9) if setting["scores"] == "alike" else np.where(lost, 0.9, rng.uniform(0.0, 0.9, n))
        return pairs_of(n), a, np.where(lost, 0.0, a + 0.1)

    def calls(name: str, pairs: Pairs, a: FloatArray, b: FloatArray) -> bool:
        found = compare_scores((a, b), pairs, parse("mean"), plainly(name), Warnings(), bounds=None)
        return significant(found.test.p_value) and doubtful(found, ALPHA) is None

    names = ("sign-flip", "paired-t")
    every = tuple({"scores": scores, "n": n} for scores in ("alike", "spread") for n in (10, 20, 50, 100, 200))
    return Trial(
        family="skewed differences of scores without a range, false claims that carry no warning",
        draw=draw,
        default=default_of_scores(pairs_of(5)),
        page=PAGE,
        methods={name: partial(calls, name) for name in names},
        said={(name, "size"): ("at most 5%: beyond that, each claims too much and says so", Band(high=0.05)) for name in names},
        settings=every[1:3],
        more=(every[0], *every[3:]),
        runs=(200, 2000),
    )


# ---- a guard -------------------------------------------------------------------------------------------------------------------


def judged(past: FloatArray, new: FloatArray, **options: Any) -> Verdict:
    """The verdict on recorded runs and new ones, each of shape (items, runs)."""
    reference, run = (run_of(runs.T.ravel(), runs.shape[1]) for runs in (past, new))
    return verdict_on(judgement(reference, run, draws=999, **options))


def _guarded(draw: Any, rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
    return tuple(draw(rng, setting)[3:])


def _guard(family: str, draw: Any, settings: tuple[Setting, ...], more: tuple[Setting, ...]) -> Trial:
    def calls(target: str, past: FloatArray, new: FloatArray) -> bool:
        return judged(past, new, target=target).verdict == "regression"

    held = ("a healthy run is called worse in at most 5% of cases", Band(high=0.055))
    return Trial(
        family=family,
        draw=partial(_guarded, draw),
        default="paired guard",
        page=GUARD_PAGE,
        methods={"paired guard": partial(calls, "items")},
        said={("paired guard", "size"): held},
        settings=settings,
        more=more,
        runs=(200, 1500),
    )


def _guard_opposed() -> Trial:
    first, *rest = (_unequal(30, runs) for runs in ((10, 1), (5, 1), (10, 8)))
    return _guard("a guard on items that change both ways, unequal repeats", opposed, (first,), tuple(rest))


def _guard_near_the_end() -> Trial:
    first, *rest = (_unequal(n, runs, accuracy=p) for n, p in ((30, 0.95), (100, 0.98), (300, 0.99)) for runs in ((10, 1), (5, 1)))
    return _guard("a guard on a model that is nearly always right, unequal repeats", near_the_end, (first,), tuple(rest))


# ---- these very items ----------------------------------------------------------------------------------------------------------


def _these_items() -> Iterator[Claim]:
    """--target runs: the items are the same in every repetition, only the runs are drawn anew."""
    settings = tuple(_unequal(n, runs) for n, runs in ((50, (5, 2)), (50, (5, 5)), (100, (5, 1))))
    said: dict[str, BandText] = {
        "size": ("at most 5% while the behaviour on these very items is the same", Band(high=0.055)),
        "coverage": ("the two bounds of 95% hold the drop of 0.1 on these very items in 87% of cases or more", Band(low=0.87)),
    }
    for kind, what in said.items():
        yield from declared(
            kind,
            "a guard on these very items",
            {"within-item": what},
            "within-item",
            partial(these_items, kind, what[1]),
            quick=(at_most(settings[0], 150),),
            full=tuple({**setting, "runs": 1500} for setting in settings),
            page=GUARD_PAGE,
            nominal=0.9 if kind == "coverage" else None,
        )


def these_items(kind: str, band: Band, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    n, first, second = (int(setting[key]) for key in ("n", "baseline", "candidate"))
    before = rng.beta(6, 2, n)[:, None]
    after = np.maximum(0.0, before - (0.1 if kind == "coverage" else 0.0))
    change = float((after - before).mean())

    def hit() -> bool:
        found = judged(*((rng.random((n, k)) < p).astype(float) for k, p in ((first, before), (second, after))), target="runs")
        assert found.p_value is not None
        low, high = found.difference.lower, found.difference.upper
        held = low is not None and high is not None and low <= change <= high
        return held if kind == "coverage" else found.p_value <= ALPHA

    yield share_of(told(setting), count_of(band, kind, setting), (hit() for _ in range(int(setting["runs"]))))
