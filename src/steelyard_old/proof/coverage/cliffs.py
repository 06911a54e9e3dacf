"""Claims about means of bounded scores around 25 items: rare scores at an end of the range, and ordinary ones beside them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from steelyard_old.proof.claims import Band, BandText, Claim, Setting
from steelyard_old.proof.coverage.means import Draw, mostly, of_mean
from steelyard_old.proof.simulation import Study, at_most_of, default_of, runs_of, simulated

FloatArray = npt.NDArray[np.float64]


def failing(share: float, value: float, noise: float = 0.0) -> tuple[Draw, float]:
    """Scores around one value, evenly within the noise, and this share of zeros."""

    def draw(rng: np.random.Generator, n: int) -> FloatArray:
        scores = value + noise * (2 * rng.random(n) - 1)
        return np.where(rng.random(n) < share, 0.0, scores)

    return draw, (1 - share) * value


def beta(a: float, b: float) -> tuple[Draw, float]:
    return lambda rng, n: rng.beta(a, b, n), a / (a + b)


LAWS: dict[str, tuple[Draw, float]] = {
    "98% at 0.95, 2% zeros": failing(0.02, 0.95),
    "around 0.9, 5% zeros": failing(0.05, 0.9, 0.05),
    "90% at 0.5, 10% zeros": failing(0.1, 0.5),
    "95% ones": (mostly(0.95, 1.0), 0.975),
    "Beta(20,1)": beta(20, 1),
    "Beta(1,30)": beta(1, 30),
    "Beta(12,15)": beta(12, 15),
}
SIZES = (10, 24, 25, 40, 60, 100, 200, 400)
FULL: tuple[Setting, ...] = tuple({"scores": law, "n": n} for law in LAWS for n in SIZES)
QUICK: tuple[Setting, ...] = tuple({"scores": law, "n": n} for law, n in (("98% at 0.95, 2% zeros", 25), ("around 0.9, 5% zeros", 10)))
FAMILY = "a mean of bounded scores, around 25 items"
SAID: dict[str, dict[str, BandText]] = {
    "two": {
        "bounded-mean": ("covers 0.95 or more", Band(low=0.94, mean_low=0.97)),
        "t": ("covers 0.4 with 10 items of which one in twenty is a failure, though Wilson answers where none differs", Band(fails=0.5)),
        "wilson-mean": ("covers 0.965 or more, up to ten times as wide", Band(low=0.95)),
    },
    "lower": {"bounded-mean": ("covers 0.935 or more", Band(low=0.925, mean_low=0.97))},
    "upper": {"bounded-mean": ("never covers less than it says here", Band(low=0.95))},
}
BOUND = {"two": "", "lower": ", the lower bound", "upper": ", the upper bound"}


def claims() -> Iterator[Claim]:
    for side, said in SAID.items():
        interval = partial(of_mean, side=side)
        study = Study(family=FAMILY + BOUND[side], draw=draw, truth=lambda s: LAWS[str(s["scores"])][1], interval=interval, slow={})
        yield from simulated(study, said, default_of(study, QUICK[0], said), quick=at_most_of(QUICK, 400), full=runs_of(FULL, 2000))


def draw(setting: Setting, rng: np.random.Generator) -> FloatArray:
    return LAWS[str(setting["scores"])][0](rng, int(setting["n"]))
