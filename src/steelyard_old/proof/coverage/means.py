"""Claims about intervals of means of bounded scores, many of them at an end of their range: simulated samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.sums_rows import mean_row
from steelyard_old.metrics.sums import MEAN
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import Band, BandText, Claim, Setting
from steelyard_old.proof.coverage import sums
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.sums import tally_items

FloatArray = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], FloatArray]


def mostly(share: float, value: float) -> Draw:
    """This share of items at one end of the range, the rest uniform."""
    return lambda rng, n: np.where(rng.random(n) < share, value, rng.random(n))


LAWS: dict[str, tuple[Draw, float]] = {
    "95% ones": (mostly(0.95, 1.0), 0.975),
    "99% ones": (mostly(0.99, 1.0), 0.995),
    "90% zeros": (mostly(0.9, 0.0), 0.05),
    "Beta(2,6)": (lambda rng, n: rng.beta(2, 6, n), 0.25),
    "Beta(8,2)": (lambda rng, n: rng.beta(8, 2, n), 0.8),
    "Beta(.5,.1)": (lambda rng, n: rng.beta(0.5, 0.1, n), 0.5 / 0.6),
}
QUICK: tuple[Setting, ...] = (
    {"scores": "95% ones", "n": 20},
    {"scores": "90% zeros", "n": 50},
)
FULL: tuple[Setting, ...] = tuple({"scores": law, "n": n} for law in LAWS for n in (20, 50, 100, 500))

SAID: dict[str, BandText] = {
    "bounded-mean": ("covers 0.95 or more", Band(low=0.945, mean_low=0.97)),
    "t": ("covers 0.875 where few items are off one end, though Wilson answers where none is", Band(low=0.87, fails=0.9, mean_low=0.9)),
    "wilson-mean": ("covers 0.945 or more", Band(low=0.945, mean_low=0.97)),
    "betting": ("never covers less than it says", Band(low=0.95)),
    "percentile": (f"covers 0.87 where few items are off one end; {DRAWS} draws", Band(low=0.87, fails=0.92, mean_low=0.9)),
    "bca": (f"covers 0.905 where few items are off one end; {DRAWS} draws", Band(low=0.895, fails=0.94, mean_low=0.91)),
    "studentized": (f"covers 0.94 or more; {DRAWS} draws", Band(low=0.93, mean_low=0.955)),
}
SLOW = {"betting": 4, "percentile": 4, "bca": 4, "studentized": 4}


def claims() -> Iterator[Claim]:
    study = Study(family="a mean of bounded scores", draw=draw, truth=lambda s: LAWS[str(s["scores"])][1], interval=of_mean, slow=SLOW)
    yield from simulated(study, SAID, default_of(study, QUICK[0], SAID), quick=at_most_of(QUICK, 400), full=runs_of(FULL, 8000))
    yield from sums.claims()


def draw(setting: Setting, rng: np.random.Generator) -> FloatArray:
    return LAWS[str(setting["scores"])][0](rng, int(setting["n"]))


def of_mean(method: str, scores: FloatArray, seed: int, side: str = "two") -> Interval | None:
    settings = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, side=side)
    tally = tally_items(MEAN.adds(scores))
    return mean_row(MEAN, tally, settings, Warnings(), kind="items", n=len(scores), bounds=(0.0, 1.0), details={}).interval
