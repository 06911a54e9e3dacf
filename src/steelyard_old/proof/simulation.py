"""Coverage by seeded simulation: every method of a family sees the same samples, each drawn from a stream of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from steelyard_old.estimate.evidence import Evidence
from steelyard_old.proof.claims import PAGE, Band, BandText, Claim, Point, Setting, averaged, counted, declared, generator, words
from steelyard_old.proof.counting import at_most, count_of, without_runs
from steelyard_old.results.comparison import Test
from steelyard_old.results.measurement import Interval

Draw = Callable[[Setting, np.random.Generator], Any]
Truth = Callable[[Setting], float]
WHOLE = {"delong": "delong-wilson", "delta": "delta-wilson"}  # rules that are called after their plain part where they come to it
DRAWS = 399  # of each bootstrap: ends at the 10th value from either side, at a twentieth of the cost of the default


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What methods compete for where outcomes cannot be enumerated.

    draw: a sample of a setting. truth: what the interval should contain. interval: of a sample by the name of a method, with a
    seed for its draws, through the code that answers the user, fall-backs included; None where that code gives no interval.
    slow: methods that see every so many-th sample only.
    """

    family: str
    draw: Draw
    truth: Truth
    interval: Callable[[str, Any, int], Interval | None]
    slow: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A metric by its name, a sample of a setting, its true value, the settings."""

    metric: str
    draw: Draw
    truth: Truth
    settings: tuple[Setting, ...]


def default_of(study: Study, setting: Setting, said: Mapping[str, BandText]) -> str:
    """The method that the code chooses by itself on a sample; something must be said of it."""
    probe = study.interval("", study.draw(setting, np.random.default_rng(0)), 0)
    assert probe is not None
    whole = WHOLE.get(probe.method, "")
    found = whole if whole in said else probe.method
    assert found in said, f"nothing is said of {found}, the default of {study.family}"
    return found


def simulated(
    study: Study, said: Mapping[str, BandText], default: str, *, quick: tuple[Setting, ...], full: tuple[Setting, ...], page: str = PAGE
) -> Iterator[Claim]:
    """A claim for each method of a study. Settings name the number of samples as `runs`."""
    bands = {method: band for method, (_, band) in said.items()}
    yield from declared("coverage", study.family, said, default, partial(_within, study, bands), quick=quick, full=full, page=page)


def _within(study: Study, bands: Mapping[str, Band], method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    return coverage(study, method, setting, rng, bands[method])


def coverage(study: Study, method: str, setting: Setting, rng: np.random.Generator, band: Band | None = None) -> Iterator[Point]:
    """The share of samples whose interval contains the truth, among those that have one. The width of a bound is its distance from it.

    Each sample has a stream of its own, so that a slow method that skips some sees the same ones as the others.
    """
    truth, every = study.truth(setting), study.slow.get(method, 1)
    law, covered = without_runs(setting), count_of(band or Band(), "coverage", setting, every)
    widths, root = [], int(rng.integers(2**62))
    for run in range(0, int(setting["runs"]), every):
        sample = study.draw(law, generator(root, f"sample {run}", law))
        found = study.interval(method, sample, run)
        if found is None:
            continue
        low = -math.inf if found.low is None or found.side == "upper" else found.low
        high = math.inf if found.high is None or found.side == "lower" else found.high
        covered.add(low <= truth <= high)
        widths.append(high - low if found.side == "two" else abs(truth - (low if found.side == "lower" else high)))
        if covered.enough:
            break
    yield counted(words(law), covered.hits, covered.runs, *averaged(widths))


def runs_of(settings: tuple[Setting, ...], runs: int) -> tuple[Setting, ...]:
    """The settings with this many samples each."""
    return tuple({**setting, "runs": runs} for setting in settings)


def at_most_of(settings: tuple[Setting, ...], runs: int) -> tuple[Setting, ...]:
    """The settings with this many samples each, or with as many as are enough."""
    return tuple(at_most(setting, runs) for setting in settings)


def nothing_yet(n: int, difference: float | None = None) -> Evidence:
    """A paired comparison before its interval and its test: what works either out alone writes its notes on it."""
    unknown = Test(name="none", alternative="two-sided", statistic=None, p_value=None)
    return Evidence(design="paired", n=n, baseline=None, candidate=None, difference=difference, interval=None, test=unknown)
