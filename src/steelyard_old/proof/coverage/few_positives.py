"""Claims about AUC, average precision and two AUCs with few items of a class: intervals, bounds, tests; unequal spreads, ties."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.auc_evidence import auc_evidence
from steelyard_old.infer.paired.delong import AucPair, delong_pair, delong_unpaired
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import PAGE, TWO_PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.coverage import ranking
from steelyard_old.proof.simulation import Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.proof.trials import Trial, alike, significant
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval, Side
from steelyard_old.tally.scores import ScoreTable, tally_scores

FloatArray = npt.NDArray[np.float64]
RULE, PLAIN = "delong-wilson", "delong"
OTHERS: dict[str, float] = {"even": 1.0, "positives twice": 2.0, "negatives twice": 0.5}  # deviation of positives over that of negatives


def law(positives: int, negatives: int, area: float, spread: str = "even", levels: int = 0) -> Setting:
    """Scores of two normal laws with this AUC; rounded to so many levels, if any."""
    out: dict[str, float | int | str] = {"positives": positives, "negatives": negatives, "AUC": area, "spread": spread}
    return {**out, "levels": levels} if levels else out


LAWS: tuple[Setting, ...] = (
    law(5, 995, 0.95),
    law(10, 190, 0.95, "positives twice"),
    law(5, 95, 0.85),
    law(20, 80, 0.95, levels=5),
    law(5, 45, 0.7, "negatives twice"),
    law(10, 190, 0.95),
    law(5, 95, 0.85, "positives twice"),
    law(5, 995, 0.7, "positives twice"),
    law(20, 80, 0.95, "positives twice"),
    law(20, 80, 0.55),
    law(5, 45, 0.99),
    law(5, 95, 0.95, levels=5),
    law(45, 5, 0.85),
    law(8, 8, 0.7, "positives twice"),
    law(40, 400, 0.99, "positives twice"),
    law(100, 900, 0.99, "positives twice"),
    law(3, 97, 0.85),
    law(2, 98, 0.7),
)
ON_QUICK = 3

OF_AREA: dict[str, BandText] = {
    RULE: ("covers 0.95 or more, with two positives too", Band(low=0.945, mean_low=0.975)),
    PLAIN: ("covers 0.75 with few positives or an AUC near 1", Band(low=0.7, fails=0.88, mean_low=0.85)),
}
OF_LOWER: dict[str, BandText] = {
    RULE: ("covers 0.935 or more", Band(low=0.935, mean_low=0.97)),
    PLAIN: ("covers 0.72 with few positives or an AUC near 1", Band(low=0.67, fails=0.88, mean_low=0.8)),
}
OF_PRECISION: dict[str, BandText] = {
    "delta-wilson": ("covers 0.98 or more, with two positives too", Band(low=0.965, mean_low=0.975)),
    "delta": ("covers 0.91 where few items are ranked wrongly", Band(low=0.9, mean_low=0.94)),
}
OF_LOWER_PRECISION: dict[str, BandText] = {
    "delta-wilson": ("covers 0.96 or more", Band(low=0.94, mean_low=0.965)),
    "delta": ("covers 0.88 where few items are ranked wrongly", Band(low=0.84, mean_low=0.94)),
}


def claims() -> Iterator[Claim]:
    yield from _single()
    yield from _differences()
    yield from _trial("AUC on the same items, few positives", paired=True).claims()
    yield from _trial("AUC on different items, few positives", paired=False).claims()


# ---- one system ------------------------------------------------------------------------------------------------------------


def _single() -> Iterator[Claim]:
    two: Side = "two"
    lower: Side = "lower"
    for family, name, said, truth, side in (
        ("AUC with few positives", "auc", OF_AREA, area, two),
        ("a lower bound of AUC with few positives", "auc", OF_LOWER, area, lower),
        ("average precision with few positives", "average_precision", OF_PRECISION, precision, two),
        ("a lower bound of average precision with few positives", "average_precision", OF_LOWER_PRECISION, precision, lower),
    ):
        study = Study(family=family, draw=draw, truth=truth, interval=partial(ranking.interval, name, side=side), slow={})
        few = ON_QUICK if side == "two" else 1
        yield from simulated(
            study, said, default_of(study, LAWS[0], said), quick=at_most_of(LAWS[:few], 300), full=runs_of(LAWS, 4000), page=PAGE
        )


def draw(setting: Setting, rng: np.random.Generator) -> ScoreTable:
    score, positive = _scores(setting, rng, float(setting["AUC"]), OTHERS[str(setting["spread"])])
    return tally_scores(score, positive)


def _scores(setting: Setting, rng: np.random.Generator, of: float, spread: float) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    positive = np.repeat([True, False], [int(setting["positives"]), int(setting["negatives"])])
    shift = _shift(of, spread)
    score = rng.normal(np.where(positive, shift, 0.0), np.where(positive, spread, 1.0))
    return (np.searchsorted(_cuts(setting, shift), score).astype(float) if "levels" in setting else score), positive


def _shift(of: float, spread: float) -> float:
    from steelyard_old.infer.normal import STANDARD

    return STANDARD.inv_cdf(of) * math.hypot(spread, 1.0)


def _cuts(setting: Setting, shift: float) -> FloatArray:
    return np.linspace(-1.0, 1.0 + shift, int(setting["levels"]) - 1)


def _cells(setting: Setting) -> tuple[FloatArray, FloatArray]:
    """The share of the positives and of the negatives at each level; of a continuous score, at each of 40,000 small steps."""
    from scipy.special import ndtr, ndtri

    spread = OTHERS[str(setting["spread"])]
    shift = _shift(float(setting["AUC"]), spread)
    if "levels" in setting:
        cuts = _cuts(setting, shift)
    else:
        inner = np.arange(1, 20_000) / 20_000
        cuts = np.sort(np.concatenate([shift + spread * ndtri(inner), ndtri(inner)]))
    ends = [np.concatenate([[0.0], ndtr((cuts - centre) / deviation), [1.0]]) for centre, deviation in ((shift, spread), (0.0, 1.0))]
    return np.diff(ends[0]), np.diff(ends[1])


def area(setting: Setting) -> float:
    return _truths(tuple(setting.items()))[0]


def precision(setting: Setting) -> float:
    return _truths(tuple(setting.items()))[1]


@cache
def _truths(items: tuple[tuple[str, float | int | str], ...]) -> tuple[float, float]:
    """(AUC, average precision) of the law itself, positives as common as in the sample."""
    setting = dict(items)
    p, q = _cells(setting)
    share = float(setting["positives"]) / (float(setting["positives"]) + float(setting["negatives"]))
    hits, called = np.cumsum(p[::-1])[::-1], share * np.cumsum(p[::-1])[::-1] + (1 - share) * np.cumsum(q[::-1])[::-1]
    return float(p @ (np.cumsum(q) - q / 2)), float(np.sum(p * share * hits / called, where=p > 0))


# ---- two systems -------------------------------------------------------------------------------------------------------------

# the AUCs of the two, and the spread of the positives of each
PAIRS: tuple[Setting, ...] = tuple(
    {"positives": p, "negatives": n, "AUC": a, "then": b, "spread": s, "then spread": t}
    for p, n, a, b, s, t in (
        (10, 190, 0.99, 0.95, "positives twice", "positives twice"),
        (5, 95, 0.95, 0.85, "even", "even"),
        (10, 190, 0.97, 0.97, "even", "negatives twice"),
        (5, 995, 0.9, 0.95, "even", "even"),
        (20, 80, 0.9, 0.7, "even", "positives twice"),
        (5, 45, 0.7, 0.7, "even", "even"),
        (50, 450, 0.97, 0.97, "even", "positives twice"),
        (30, 30, 0.85, 0.85, "even", "even"),
        (3, 97, 0.95, 0.9, "positives twice", "positives twice"),
    )
)
OF_PAIRS: dict[str, dict[str, BandText]] = {
    "a paired difference of AUCs, few positives": {
        RULE: ("covers 0.965 or more", Band(low=0.935, mean_low=0.965)),
        PLAIN: ("covers 0.71 where a system with few positives is nearly perfect", Band(low=0.66, fails=0.8, mean_low=0.7)),
    },
    "a lower bound of a paired difference of AUCs, few positives": {
        RULE: ("covers 0.945 or more", Band(low=0.93, mean_low=0.96)),
        PLAIN: ("covers 0.68 where a system with few positives is nearly perfect", Band(low=0.6, fails=0.8, mean_low=0.6)),
    },
    "an unpaired difference of AUCs, few positives": {
        RULE: ("covers 0.96 or more", Band(low=0.94, mean_low=0.97)),
        PLAIN: ("covers 0.745 where a system with few positives is nearly perfect", Band(low=0.66, fails=0.85, mean_low=0.68)),
    },
}


def _differences() -> Iterator[Claim]:
    for family, said in OF_PAIRS.items():
        study = Study(
            family=family,
            draw=partial(pair_of, "unpaired" not in family),
            truth=lambda s: float(s["then"]) - float(s["AUC"]),
            interval=partial(of_pair, "lower" if "lower" in family else "two"),
            slow={},
        )
        few = 2 if "unpaired" not in family and "lower" not in family else 1
        yield from simulated(
            study, said, default_of(study, PAIRS[0], said), quick=at_most_of(PAIRS[:few], 300), full=runs_of(PAIRS, 4000), page=TWO_PAGE
        )


def pair_of(paired: bool, setting: Setting, rng: np.random.Generator) -> tuple[AucPair, int, int]:
    """Two systems that share half of the variance of their noise; the pair, its smallest class and its items."""
    positive = np.repeat([True, False], [int(setting["positives"]), int(setting["negatives"])])
    shared, scores = rng.normal(size=len(positive)), []
    for of, spread in ((setting["AUC"], setting["spread"]), (setting["then"], setting["then spread"])):
        wide = OTHERS[str(spread)]
        noise = math.sqrt(0.5) * ((shared if paired else rng.normal(size=len(positive))) + rng.normal(size=len(positive)))
        scores.append(np.where(positive, _shift(float(of), wide) + wide * noise, noise))
    fewer = min(int(setting["positives"]), int(setting["negatives"]))
    if paired:
        return delong_pair(scores[0], scores[1], positive), fewer, len(positive)
    return delong_unpaired(*(tally_scores(score, positive) for score in scores)), fewer, 2 * len(positive)


def of_pair(side: str, method: str, sample: tuple[AucPair, int, int], seed: int) -> Interval | None:
    asked = CompareOptions(own=MeasureOptions(side=side), interval=method or None, test=PLAIN)
    return auc_evidence(*sample, parse("auc"), asked, Warnings(), "paired").interval


def _trial(family: str, *, paired: bool) -> Trial:
    def drawn(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        full = {"then spread": setting["spread"], "then": float(setting["AUC"]) - float(setting.get("drop", 0.0)), **setting}
        return pair_of(paired, full, rng)

    def calls(name: str, pair: AucPair, fewer: int, n: int) -> bool:
        asked = CompareOptions(own=MeasureOptions(), interval=PLAIN, test=name, alternative="less")
        return significant(auc_evidence(pair, fewer, n, parse("auc"), asked, Warnings(), "paired").test.p_value)

    def at(p: int, n: int, of: float, spread: str = "even", then: str | None = None, **more: float) -> Setting:
        out: dict[str, float | int | str] = {"positives": p, "negatives": n, "AUC": of, "spread": spread, **more}
        return out if then is None else {**out, "then spread": then}

    said = alike((RULE,), "size", "false alarms of 5% or fewer", high=0.05)
    said |= alike((PLAIN,), "size", "false alarms of 10% or more where the positives of one system spread more", high=0.2, fails=0.07)
    said |= alike((RULE,), "power", "with five positives finds a drop of 0.2 in a part of the cases only", low=0.3 if paired else 0.12)
    said |= alike((PLAIN,), "power", "with five positives finds a drop of 0.2 in a part of the cases only", low=0.38 if paired else 0.28)
    return Trial(
        family=family,
        draw=drawn,
        methods={name: partial(calls, name) for name in (RULE, PLAIN)},
        said=said,
        settings=(at(10, 190, 0.97, "even", "negatives twice"), at(10, 190, 0.9, drop=0.2)),
        more=(
            at(5, 95, 0.9),
            at(5, 995, 0.9),
            at(5, 995, 0.97, "even", "negatives twice"),
            at(10, 190, 0.9, "even", "positives twice"),
            at(20, 80, 0.9),
            at(5, 45, 0.7),
            at(50, 450, 0.97, "even", "negatives twice"),
            at(5, 95, 0.9, drop=0.2),
            at(20, 80, 0.9, drop=0.2),
        ),
        default=RULE,
        page=TWO_PAGE,
        runs=(200, 3000),
    )
