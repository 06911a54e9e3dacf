"""Claims about P(candidate better): how often the favoured system is the better one, where true differences are small."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from steelyard_old.estimate.evidence import finish
from steelyard_old.estimate.paired_right_or_wrong import compare_flips
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import TWO_PAGE, Band, BandText, Claim, Point, Setting, counted, declared, words
from steelyard_old.results.base import Warnings
from steelyard_old.tally.joint import Flips

DEFAULT, FITTING = "the default prior", "the prior scale that fits"
DISCORDANCE = 0.1  # share of items that one system alone gets right
SMALL: tuple[Setting, ...] = tuple({"sd": sd, "n": n} for sd, n in ((0.005, 200), (0.01, 200), (0.01, 1000), (0.03, 200), (0.03, 1000)))
SURE: dict[float, dict[str, BandText]] = {
    0.9: {
        DEFAULT: ("right in 0.64 of answers where true differences have a standard deviation of half a point", Band(low=0.6, fails=0.8)),
        FITTING: ("right at least as often as it says", Band(low=0.9)),
    },
    0.6: {FITTING: ("right at least as often as it says", Band(low=0.6))},
}


def claims() -> Iterator[Claim]:
    """The truth of every comparison is drawn from a normal law around 0, and the prior knows its deviation or does not."""
    for sure, said in SURE.items():
        family = f"answers with P(candidate better) or P(worse) of {sure:g} or more, small differences"
        quick, full = ({"sure": sure, **SMALL[0], "runs": 1500},), tuple({"sure": sure, **law, "runs": 40_000} for law in SMALL)
        default = DEFAULT if DEFAULT in said else ""
        yield from declared("coverage", family, said, default, favoured, quick=quick, full=full, page=TWO_PAGE, nominal=sure)


def favoured(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of answers this sure in which the favoured system is the better one; 1 where no answer is so sure."""
    n, runs, sd = int(setting["n"]), int(setting["runs"]), float(setting["sd"])
    truth = np.clip(rng.normal(0, sd, runs), -DISCORDANCE, DISCORDANCE)
    shares = np.stack([(DISCORDANCE + truth) / 2, (DISCORDANCE - truth) / 2, np.full(runs, 1 - DISCORDANCE)], axis=1)
    gained, lost, _ = rng.multinomial(n, shares).T
    pairs, which = np.unique(np.stack([gained, lost]), axis=1, return_inverse=True)
    scale = sd if method == FITTING else None
    believed = np.array([_better(int(g), int(less), n, scale) for g, less in pairs.T])[which.ravel()]
    sure = float(setting["sure"])
    said = np.maximum(believed, 1 - believed) >= sure
    right = np.where(believed > 0.5, truth > 0, truth < 0)[said]
    hits, many = (int(right.sum()), len(right)) if len(right) else (runs, runs)
    yield counted(words({key: value for key, value in setting.items() if key != "runs"}), hits, many)


@cache
def _better(gained: int, lost: int, n: int, scale: float | None) -> float:
    asked = CompareOptions(own=MeasureOptions(prior_scale=scale))
    agreed = n - gained - lost
    found = compare_flips(Flips(agreed, lost, gained, 0), asked, Warnings())
    answer = finish(found, parse("accuracy"), asked, Warnings(), ("baseline", "candidate")).probability_candidate_better
    assert answer is not None
    return answer
