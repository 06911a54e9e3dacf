"""Claims about intervals of what is no mean: a ratio of sums, RMSE, R2, calibration error; simulated samples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.sums_rows import sums_ends
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.sums import SumsMetric
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import LEVEL, Band, BandText, Claim, Setting
from steelyard_old.proof.simulation import DRAWS, Quantity, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.sums import tally_items

Columns = tuple[npt.NDArray[np.float64], ...]
SLOW = {"percentile": 2, "bca": 2, "studentized": 2}


def words_of_texts(setting: Setting, rng: np.random.Generator) -> Columns:
    """Errors in texts of very unequal length: one in ten words, more unequal between texts than chance makes them."""
    n = int(setting["n"])
    length = 1 + rng.geometric(0.05, n)
    return rng.binomial(length, rng.beta(1, 9, n)).astype(float), length.astype(float)


def half_explained(setting: Setting, rng: np.random.Generator) -> Columns:
    """A prediction that explains half of the variance of the truth: R2 = 1/2, RMSE = 1."""
    explained, rest = rng.normal(size=(2, int(setting["n"])))
    return explained + rest, explained


def heavy(setting: Setting, rng: np.random.Generator) -> Columns:
    """Errors with Student's t law of three degrees of freedom: a few of them make up the sum of squares. RMSE = sqrt(3)."""
    errors = rng.standard_t(3, int(setting["n"]))
    return errors, np.zeros(len(errors))


def too_sure(setting: Setting, rng: np.random.Generator) -> Columns:
    """Probabilities in the middles of ten bins, nearer to the ends than the truth by a constant: the calibration error."""
    p = (np.floor(10 * rng.random(int(setting["n"]))) + 0.5) / 10
    off = float(setting["off"])
    return p, (rng.random(len(p)) < np.where(p > 0.5, p - off, p + off)).astype(float)


SIZES: tuple[Setting, ...] = tuple({"n": n} for n in (100, 30, 500))
CALIBRATED: tuple[Setting, ...] = tuple({"n": n, "off": off} for n, off in ((100, 0.1), (500, 0.1), (30, 0.1), (100, 0.03), (1000, 0.03)))
QUANTITIES = {
    "a ratio of sums": Quantity("ratio", words_of_texts, lambda s: 0.1, SIZES),
    "RMSE": Quantity("rmse", half_explained, lambda s: 1.0, tuple({"n": n} for n in (15, 100, 30, 500))),
    "RMSE of heavy tails": Quantity("rmse", heavy, lambda s: 3.0**0.5, tuple({"n": n} for n in (50, 15, 200))),
    "R2": Quantity("r2", half_explained, lambda s: 0.5, SIZES),
    "calibration error": Quantity("ece", too_sure, lambda s: float(s["off"]), CALIBRATED),
}
SAID: dict[str, dict[str, BandText]] = {
    "a ratio of sums": {
        "percentile": (f"covers 0.915 with 30 texts of unequal length; {DRAWS} draws", Band(low=0.905, mean_low=0.92)),
        "bca": (f"covers 0.91 with 30 texts of unequal length; {DRAWS} draws", Band(low=0.9, mean_low=0.915)),
        "studentized": (f"covers 0.945 or more, a quarter wider; {DRAWS} draws", Band(low=0.94, mean_low=0.945)),
        "delta": ("covers 0.91 with 30 texts of unequal length", Band(low=0.905, mean_low=0.92)),
    },
    "RMSE": {
        "percentile": (f"covers 0.85 with 15 items, 0.89 with 30; {DRAWS} draws", Band(low=0.83, mean_low=0.89)),
        "bca": (f"covers 0.865 with 15 items, 0.9 with 30; {DRAWS} draws", Band(low=0.85, fails=0.9, mean_low=0.895)),
        "studentized": (f"covers 0.925 or more, a seventh wider; {DRAWS} draws", Band(low=0.92, mean_low=0.93)),
        "delta": ("covers 0.89 with 15 items, 0.91 with 30", Band(low=0.88, mean_low=0.91)),
    },
    "RMSE of heavy tails": {
        "percentile": (f"covers 0.59 with 15 items; {DRAWS} draws", Band(fails=0.8, low=0.58)),
        "bca": (f"covers 0.67 with 15 items; {DRAWS} draws", Band(fails=0.82, low=0.62)),
        "studentized": (
            f"covers 0.81 to 0.83, and a warning says that few items make up the sum; {DRAWS} draws",
            Band(fails=0.9, low=0.77),
        ),
        "delta": ("covers 0.66 with 15 items", Band(fails=0.82, low=0.62)),
    },
    "R2": {
        "percentile": (f"covers 0.915 with 30 items; {DRAWS} draws", Band(low=0.905, mean_low=0.92)),
        "bca": (f"covers 0.92 or more; {DRAWS} draws", Band(low=0.91, mean_low=0.92)),
        "studentized": (f"covers 0.94 or more; {DRAWS} draws", Band(low=0.93, mean_low=0.935)),
        "delta": ("covers 0.935 or more", Band(low=0.93, mean_low=0.935)),
    },
    "calibration error": {  # the estimate itself is too high, by more than the interval is wide where items are few
        "percentile": (f"covers nothing where the error is small and items are few; {DRAWS} draws", Band(fails=0.5)),
        "bca": (f"covers nothing where the error is small and items are few; {DRAWS} draws", Band(fails=0.87, mean_low=0.5)),
        "studentized": (f"covers 0.82 or more; {DRAWS} draws", Band(low=0.81, mean_low=0.86)),
        "delta": ("covers 0.965 where items are many, 0.6 where the error is small and items are few", Band(low=0.585, mean_low=0.81)),
    },
}


def claims() -> Iterator[Claim]:
    for family, of in QUANTITIES.items():
        study = Study(family=family, draw=of.draw, truth=of.truth, interval=partial(interval, of.metric), slow=SLOW)
        default = default_of(study, of.settings[0], SAID[family])
        yield from simulated(study, SAID[family], default, quick=at_most_of(of.settings[:1], 300), full=runs_of(of.settings, 4000))


def interval(name: str, method: str, columns: Columns, seed: int) -> Interval | None:
    metric = parse(name)
    assert isinstance(metric, SumsMetric)
    settings, tally = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed), tally_items(metric.adds(*columns))
    ends = sums_ends(metric, tally, metric.statistic, settings, Warnings(), None, "items", {})
    return None if ends is None else Interval(low=ends[0], high=ends[1], confidence_level=LEVEL, side="two", method=ends[2])
