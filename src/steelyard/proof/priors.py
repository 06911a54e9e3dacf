"""Claims about posteriors: if the truth is drawn from the prior, their intervals cover at their level, exactly and for every n."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from steelyard.infer.coverage import averaged_coverage, binomial_pair_coverage, multinomial_coverage, tables_of
from steelyard.infer.posterior import f1_posterior, proportion_posterior
from steelyard.proof import paired, unpaired
from steelyard.proof.claims import LEVEL, PAGE, TWO_PAGE, Band, Claim, Point, Setting, words
from steelyard.questions.settings import Settings

EXACTLY = Band(low=LEVEL - 1e-9, high=LEVEL + 1e-9)
NEARLY = Band(low=LEVEL, high=LEVEL)  # truths drawn from the prior: within Monte Carlo error, which the judge allows for
PRIOR = Settings().prior  # the one that the commands use
TRUTHS = 1000

Work = Callable[[Setting, np.random.Generator], Iterator[Point]]


def claims() -> Iterator[Claim]:
    """Only posteriors are claimed to do this, so nothing here is a default that competes."""
    sizes: tuple[Setting, ...] = tuple({"n": n} for n in (1, 5, 20, 100, 1000))
    small: tuple[Setting, ...] = ({"n": 10}, {"n": 20})
    both: tuple[Setting, ...] = ({"n1": 10, "n2": 10}, {"n1": 20, "n2": 20})
    exact = "covers exactly as it says, averaged over the prior"
    nearly = "covers as it says, averaged over truths drawn from the prior"
    kinds = {"bayes": "equal-tailed", "hdi": "hdi"}
    for method, kind in kinds.items():
        yield _claim("a proportion drawn from its prior", method, exact, EXACTLY, sizes[:4], sizes, partial(of_share, kind))
        yield _claim("F1 drawn from its prior", method, exact, EXACTLY, sizes[:3], sizes[:4], partial(of_f1, kind))
    yield _claim("a paired difference drawn from its prior", "bayes", nearly, NEARLY, small[:1], small, of_flips, TWO_PAGE)
    yield _claim("an unpaired difference drawn from its prior", "bayes", nearly, NEARLY, both[:1], both, of_pair, TWO_PAGE)


def _claim(
    family: str, method: str, says: str, band: Band, quick: tuple[Setting, ...], full: tuple[Setting, ...], work: Work, page: str = PAGE
) -> Claim:
    return Claim(
        family=family,
        method=method,
        kind="coverage",
        nominal=LEVEL,
        says=says,
        documented=page,
        band=band,
        quick=quick,
        full=full,
        work=work,
    )


def of_share(kind: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    n = int(setting["n"])
    yield Point(words(setting), averaged_coverage(lambda k: proportion_posterior(k, n).interval(LEVEL, kind), n, (PRIOR, PRIOR)))


def of_f1(kind: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Given TP + FP + FN, the Jaccard index decides, and one prior mass on TP, two on the errors are its prior."""
    n = int(setting["n"])

    def jaccard(tp: int) -> tuple[float, float]:
        low, high = f1_posterior(tp, 0, n - tp).interval(LEVEL, kind)
        return low / (2 - low), high / (2 - high)

    yield Point(words(setting), averaged_coverage(jaccard, n, (PRIOR, 2 * PRIOR)))


def of_flips(setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Exact coverage at each of a thousand laws of who is right, drawn from the prior of the four cells."""
    tables = tables_of(int(setting["n"]), 4)
    low, high = np.array([paired.ends("bayes", "two", *map(int, row)) for row in tables]).T
    truths = rng.dirichlet([PRIOR] * 4, TRUTHS)
    covered, _ = multinomial_coverage(low, high, tables, truths, truths[:, 2] - truths[:, 3])
    yield Point(words(setting), float(covered.mean()), float(covered.std(ddof=1) / np.sqrt(TRUTHS)))


def of_pair(setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    n1, n2 = int(setting["n1"]), int(setting["n2"])
    found = np.array([[unpaired.ends("bayes", "two", k1, n1, k2, n2) for k2 in range(n2 + 1)] for k1 in range(n1 + 1)])
    truths = rng.beta(PRIOR, PRIOR, (TRUTHS, 2))
    covered, _ = binomial_pair_coverage(found[:, :, 0], found[:, :, 1], truths)
    yield Point(words(setting), float(covered.mean()), float(covered.std(ddof=1) / np.sqrt(TRUTHS)))
