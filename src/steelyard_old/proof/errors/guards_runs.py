"""Claims about guards on scores, on several recorded runs that may share noise, and on rates of answers that are none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.guard.number import CandidateScore, guard_number
from steelyard_old.estimate.guard.verdict import Guarded
from steelyard_old.infer.planning.coverage import rejected_pairs
from steelyard_old.infer.unpaired import exact_midp
from steelyard_old.proof.claims import ALPHA, Band, Claim, Point, Setting, declared, words
from steelyard_old.proof.errors.guards import PAGE, rule_of, run_of, verdict
from steelyard_old.proof.errors.tests import REACH
from steelyard_old.proof.trials import Trial, alike
from steelyard_old.reference.entry import Entry
from steelyard_old.results.base import Warnings

FloatArray = npt.NDArray[np.float64]


def claims() -> Iterator[Claim]:
    for trial in (_scores(), _runs_on_record(), _several_runs()):
        yield from trial.claims()
    yield from _rates()


def _scores() -> Trial:
    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, drop = int(setting["n"]), float(setting.get("drop", 0.0))
        quality = rng.beta(4, 1.5, n)
        a, b = (np.clip(quality + rng.normal(0, 0.1, n), 0, 1) for _ in range(2))
        return a, b - drop * 0.13 / n**0.5

    return Trial(
        family="a guard on recorded scores",
        draw=draw,
        methods={"paired guard": lambda a, b: verdict(run_of(a), run_of(b), "mean") == "regression"},
        said=alike(("paired guard",), "size", "a healthy run is called worse in at most 5% of cases", high=0.05)
        | alike(("paired guard",), "power", "finds 2.5 standard errors about four times in five", low=0.7),
        settings=({"n": 50}, {"n": 50, "drop": 2.5}),
        more=({"n": 20}, {"n": 200}, {"n": 200, "drop": 2.5}),
        default="paired guard",
        page=PAGE,
        runs=(200, 2000),
    )


def _runs_on_record() -> Trial:
    """A number alone on the same items, r runs on record: t knows how little is known of the noise; z would not."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        return rng.normal(70, 1, int(setting["runs on record"])), rng.normal(70 - float(setting.get("drop", 0.0)), 1)

    def calls(past: FloatArray, new: float) -> bool:
        runs, spread = len(past), float(past.std(ddof=1))
        entry = Entry(model="m", value=float(past.mean()), num_samples=1000, runs=runs, sigma_run=spread, scale="percent")
        candidate = CandidateScore(value=float(new), n=1000, same_items=True)
        return guard_number(candidate, Guarded(entry=entry), rule_of(entry), Warnings()).verdict == "regression"

    return Trial(
        family="a guard on a bare number, the same items in several runs",
        draw=draw,
        methods={"t over the runs": calls},
        said=alike(("t over the runs",), "size", "5% whatever the number of runs on record", low=0.05, high=0.05)
        | alike(("t over the runs",), "power", "two runs on record find little, five find what there is", low=0.2),
        settings=tuple({"runs on record": r, "drop": drop} for r in (2, 5) for drop in (0.0, 3.0)),
        more=tuple({"runs on record": r, "drop": drop} for r in (3, 10) for drop in (0.0, 3.0)),
        default="t over the runs",
        page=PAGE,
        runs=(2000, 20_000),
    )


def _several_runs() -> Trial:
    """Five runs on record with their items, one new run; runs may share noise that does not average out over items."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, shift = int(setting["n"]), float(setting["shared"])
        base = rng.beta(6, 2, n)
        moved = np.clip(base + rng.normal(0, shift, (6, 1)), 0, 1)
        answers = (rng.random((6, n)) < moved).astype(float)
        return answers[:5].ravel(), answers[5]

    def calls(past: FloatArray, new: FloatArray) -> bool:
        return verdict(run_of(past, 5), run_of(new), "accuracy") == "regression"

    return Trial(
        family="a guard on several recorded runs",
        draw=draw,
        methods={"paired guard": calls},
        said=alike(("paired guard",), "size", "about 5%, whether or not runs share noise", high=0.065),
        settings=({"n": 100, "shared": 0.0}, {"n": 100, "shared": 0.06}),
        more=({"n": 250, "shared": 0.0}, {"n": 250, "shared": 0.06}),
        default="paired guard",
        page=PAGE,
        runs=(200, 1000),
    )


# ---- rates of answers that are none ------------------------------------------------------------------------------------------------


def _rates() -> Iterator[Claim]:
    said = {
        "size": ("a rate that has not risen is called risen in about 5% of cases or fewer", Band(high=0.055)),
        "power": ("finds a rise of 2.8 standard errors in three of five cases or more", Band(low=0.62)),
    }
    full = tuple({"n": n} for n in (50, 100, 200))
    for kind, of_midp in said.items():
        yield from declared(
            kind,
            "a guard on rates of answers that are none",
            {"exact mid-p": of_midp},
            "exact mid-p",
            partial(rates, kind),
            quick=full[:1],
            full=full,
            page="docs/run.md",
        )


def rates(kind: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    n = int(setting["n"])
    rejected = np.array([[exact_midp(new, n, old, n) <= ALPHA for old in range(n + 1)] for new in range(n + 1)])
    for share in (0.005, 0.01, 0.02, 0.05, 0.1, 0.3) if kind == "size" else (0.05, 0.1, 0.3):
        rise = 0.0 if kind == "size" else REACH * (2 * share * (1 - share) / n) ** 0.5
        found = rejected_pairs(rejected, share + rise, share)
        yield Point(f"{words(setting)} rate={share:g}" + (f" rise={rise:.3f}" if rise else ""), found)
