"""Claims about what is taught or done elsewhere and is not offered here, or not without a fall-back: how far it is off."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from math import comb

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.fallback import or_none
from steelyard_old.infer.intervals import table
from steelyard_old.infer.normal import z_value
from steelyard_old.infer.paired.mcnemar import mcnemar_midp, wald_paired
from steelyard_old.infer.planning.coverage import rejected_flips
from steelyard_old.infer.posterior.metrics import f1_posterior
from steelyard_old.metrics.catalogue import parse
from steelyard_old.proof.claims import ALPHA, LEVEL, Band, BandText, Claim, Point, Setting, counted, declared, words
from steelyard_old.proof.coverage import jaccard, paired
from steelyard_old.proof.errors.tests import SHARES, flips_region
from steelyard_old.proof.simulation import DRAWS
from steelyard_old.proof.trials import told
from steelyard_old.results.certificate import NOT_OFFERED

TESTS: dict[str, BandText] = {
    "randomization, ties lost": ("calls nearly every comparison of few items a difference", Band(fails=0.5)),
    "bootstrap, side of the winner": ("calls two equal systems different twice as often as it says", Band(fails=0.07, high=0.11)),
    "z of different items": ("hardly ever calls anything", Band(high=0.05, mean_high=0.03)),
}
OF_F1: dict[str, BandText] = {
    "wilson": ("covers 0.95 on average", Band(mean_low=0.94, mean_high=0.965)),
    "bca": (f"covers 0.37 on average with 20 items; {DRAWS} draws", Band(fails=0.2, mean_high=0.75)),
    "percentile": (f"covers 0.36 on average with 20 items; {DRAWS} draws", Band(fails=0.2, mean_high=0.75)),
    "delta": ("covers 0.36 on average with 20 items", Band(fails=0.2, mean_high=0.75)),
    "posterior, one pseudo-count a cell": ("covers 0.83 on average, nothing next to a perfect score", Band(fails=0.3, mean_high=0.95)),
}
OF_PAIRS: dict[str, BandText] = {
    "wald": ("covers 0.18 with ten items of which one in fifty changes: no width where nothing does", Band(fails=0.4)),
    "percentile": (f"covers 0.14 with ten items of which one in fifty changes; {DRAWS} draws", Band(fails=0.4)),
}
LOOKS: dict[str, BandText] = {
    "16 looks": ("alarms in a fifth of healthy runs", Band(low=0.19, fails=0.19, high=0.21)),
    "after every item": ("alarms in three of ten healthy runs", Band(low=0.29, fails=0.29, high=0.33)),
}
EASY = 0.8  # of the items on which two systems agree, the share that both get right


def claims() -> Iterator[Claim]:
    sizes: tuple[Setting, ...] = tuple({"n": n} for n in (20, 50, 100, 500, 1000))
    family = f"{NOT_OFFERED}tests of right or wrong on the same items"
    yield from declared("size", family, TESTS, "", called, quick=sizes[:2], full=sizes)
    healthy: tuple[Setting, ...] = tuple({"items": 4096, "discordance": 0.04, "runs": runs} for runs in (400, 4000))
    often = f"{NOT_OFFERED}an ordinary test, looked at again and again"
    yield from declared("size", often, LOOKS, "", looked_at, quick=healthy[:1], full=healthy[1:])
    few: tuple[Setting, ...] = ({"n": 20, "runs": 100},)
    full: tuple[Setting, ...] = tuple({"n": n, "runs": 1000} for n in (20, 100, 500, 4096))
    yield from declared("coverage", f"{NOT_OFFERED}F1 of one class without fall-backs", OF_F1, "", bare, quick=few, full=full)
    pairs = f"{NOT_OFFERED}a paired difference without fall-backs"
    yield from declared("coverage", pairs, OF_PAIRS, "", bare_pairs, quick=sizes[:1], full=({"n": 10}, *sizes[:2]))


# ---- tests -----------------------------------------------------------------------------------------------------------------------


def called(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """How often two equal systems are called different, at six shares of items on which they disagree."""
    n = int(setting["n"])
    for share in SHARES:
        where = f"{words(setting)} disagree={share:g}"
        if method == "z of different items":
            yield counted(where, *as_if_apart(n, share, rng))
        else:
            yield Point(where, rejected_flips(TIES[method](n), n, share / 2, share / 2))


def ties_lost(n: int) -> Callable[[int], npt.NDArray[np.bool_]]:
    """p counts the exchanges that differ by more than what was seen, not those that differ as much."""

    @cache
    def region(d: int) -> npt.NDArray[np.bool_]:
        far = np.abs(2 * np.arange(d + 1) - d)
        chance = np.array([comb(d, k) / 2**d for k in range(d + 1)])
        return np.array([chance[far > each].sum() <= ALPHA for each in far])

    return region


def side_of_the_winner(n: int) -> Callable[[int], npt.NDArray[np.bool_]]:
    """The one-sided p of whichever system came out ahead."""
    one_side = flips_region("bootstrap", "less", n)
    return lambda d: one_side(d) | one_side(d)[::-1]


TIES = {"randomization, ties lost": ties_lost, "bootstrap, side of the winner": side_of_the_winner}


def as_if_apart(n: int, share: float, rng: np.random.Generator, runs: int = 20_000) -> tuple[int, int]:
    """(how often, of how many): `two_proportion_z` of many tables at once, as if each system had answered items of its own."""
    agree = 1 - share
    both, _, gained, lost = rng.multinomial(n, [agree * EASY, agree * (1 - EASY), share / 2, share / 2], runs).T
    pooled = (2 * both + gained + lost) / (2 * n)
    error = np.sqrt(2 * pooled * (1 - pooled) / n)
    z = np.divide((gained - lost) / n, error, out=np.zeros(runs), where=error > 0)
    return int(np.sum(np.abs(z) > z_value(1 - ALPHA))), runs


def looked_at(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """McNemar's mid-p test of one side at each look, on items of which few change and as many for the better as for the worse."""
    items, runs, psi = int(setting["items"]), int(setting["runs"]), float(setting["discordance"])
    seen = np.arange(items) if method == "after every item" else items // 16 * np.arange(1, 17) - 1
    alarms = 0
    for _ in range(runs):
        u = rng.random(items)
        lost, gained = (u < psi / 2).cumsum()[seen], (u > 1 - psi / 2).cumsum()[seen]
        alarms += bool((lost >= first_call()[lost + gained]).any())
    yield counted(told(setting), alarms, runs)


@cache
def first_call(most: int = 400) -> npt.NDArray[np.int64]:
    """For so many changes, the number of losses from which the test calls a regression."""
    return np.array([bisect_left(range(d + 1), True, key=lambda lost: mcnemar_midp(d - lost, lost, "less") <= ALPHA) for d in range(most)])


# ---- intervals -------------------------------------------------------------------------------------------------------------------


def bare(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Twelve laws of truth and prediction; a method that has no width where all redrawn tables agree misses there."""
    n, runs = int(setting["n"]), int(setting["runs"])
    for prevalence in jaccard.PREVALENCES:
        for precision, recall in jaccard.QUALITIES:
            hit, wrong = prevalence * recall, prevalence * (1 - recall) + prevalence * recall * (1 / precision - 1)
            truth = 2 * hit / (2 * hit + wrong)
            drawn = rng.multinomial(n, [hit, wrong, 1 - hit - wrong], runs)
            held = [low <= truth <= high for low, high in (bare_ends(method, *map(int, row)) for row in drawn if row[0] + row[1])]
            where = words({"n": n, "prevalence": prevalence, "precision": precision, "recall": recall})
            yield counted(where, sum(held), len(held))  # none that has a value: a fault, and no share


def bare_ends(method: str, tp: int, wrong: int, tn: int) -> tuple[float, float]:
    if method == "wilson":
        return jaccard.ends("wilson", "two", tp, wrong, tn)
    if method.startswith("posterior"):
        return f1_posterior(tp, wrong // 2, wrong - wrong // 2, prior=1.0).interval(LEVEL)
    counts = jaccard.table(tp, wrong, tn)
    statistic = parse("f1").of_table(1)
    value = 2 * tp / (2 * tp + wrong)
    if method == "delta":
        return or_none(lambda: table.delta(counts, statistic, LEVEL, "two")) or (value, value)
    found = or_none(lambda: table.table_bootstrap(counts, statistic, method, LEVEL, "two", draws=DRAWS, seed=0))
    return (value, value) if found is None else found[:2]


def bare_pairs(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The laws of the paired difference, and no interval but a point where no item changes."""
    return paired.covered(lambda *cells: bare_pair(method, *cells), setting)


def bare_pair(method: str, both: int, neither: int, gained: int, lost: int) -> tuple[float, float]:
    n = both + neither + gained + lost
    if gained + lost == 0:
        return 0.0, 0.0
    return wald_paired(gained, lost, n) if method == "wald" else paired.ends(method, "two", both, neither, gained, lost)
