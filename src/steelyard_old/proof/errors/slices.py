"""Claims about a guard over slices: false alarms, and a loss in one slice that gains elsewhere hide, through the guard's own functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard_old.estimate.guard.slice_request import SliceRequest
from steelyard_old.estimate.guard.slices import with_slices
from steelyard_old.items import Items, Labels
from steelyard_old.proof.claims import Band, Claim, Setting
from steelyard_old.proof.errors.guards import ACCURACY, PAGE, judgement, run_of, verdict_on
from steelyard_old.proof.trials import Trial

CHANGING = 0.05  # of the items between healthy runs
BY = "part"
BESIDE, ALONE = "slices beside the whole", "the whole alone"
SHAPE: Setting = {"slices": 3, "n": 300}


def claims() -> Iterator[Claim]:
    yield from Trial(
        family="a guard over slices, right or wrong",
        draw=_drawn,
        methods={BESIDE: _beside, ALONE: _alone},
        said={
            (BESIDE, "size"): ("a healthy run is called worse, as a whole or in a slice, in at most 5% of cases", Band(high=0.05)),
            (ALONE, "size"): ("a healthy run is called worse in at most 5% of cases", Band(high=0.05)),
            (BESIDE, "power"): (
                "finds 8 points lost in one slice of three, 300 items each, though gains hide them: nine in ten",
                Band(low=0.85),
            ),
            (ALONE, "power"): ("does not see a loss that gains elsewhere hide", Band(high=0.1)),
        },
        settings=(SHAPE, {**SHAPE, "drop": 0.08}),
        more=({"slices": 6, "n": 150}, {"slices": 12, "n": 100}),
        runs=(200, 400),
        default=BESIDE,
        page=PAGE,
    ).claims()


def _drawn(rng: np.random.Generator, setting: Setting) -> tuple[Items, Items]:
    """A reference and a run. Where there is a drop, the first slice loses it and the others gain as much together."""
    k, n, drop = int(setting["slices"]), int(setting["n"]), float(setting.get("drop", 0.0))
    part = np.repeat(np.arange(k), n)
    shift = np.where(part == 0, -drop, drop / (k - 1))
    lost, gained = CHANGING / 2 + np.maximum(-shift, 0), CHANGING / 2 + np.maximum(shift, 0)
    chance = rng.random(k * n)
    fate = np.where(chance < lost, -1.0, np.where(chance < lost + gained, 1.0, 0.0))
    steady = (rng.random(k * n) < ACCURACY).astype(float)
    reference = np.where(fate < 0, 1.0, np.where(fate > 0, 0.0, steady))
    labels = Labels(part, tuple(f"s{i:02}" for i in range(k)))
    return run_of(reference), replace(run_of(reference + fate), slices={BY: labels})


def _beside(reference: Items, run: Items) -> bool:
    judged = judgement(reference, run)
    return with_slices(verdict_on(judged), judged, SliceRequest(by=(BY,))).verdict == "regression"


def _alone(reference: Items, run: Items) -> bool:
    return verdict_on(judgement(reference, run)).verdict == "regression"
