"""Claims about posteriors: if the truth is drawn from the prior, their intervals cover at their level, exactly and for every n."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard_old.infer.planning.coverage import averaged_coverage, binomial_pair_coverage, multinomial_coverage, tables_of
from steelyard_old.infer.posterior.metrics import f1_posterior, proportion_posterior
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import LEVEL, TWO_PAGE, Band, Claim, Point, Setting, declared, words
from steelyard_old.proof.coverage import paired, unpaired

EXACTLY = Band(low=LEVEL - 1e-9, high=LEVEL + 1e-9)
NEARLY = Band(low=LEVEL, high=LEVEL)  # truths drawn from the prior: within Monte Carlo error, which the judge allows for
PRIOR = MeasureOptions().prior  # the one that the commands use
TRUTHS = 1000
KINDS = {"bayes": "equal-tailed", "hdi": "hdi"}


def claims() -> Iterator[Claim]:
    """Only posteriors are claimed to do this, so nothing here is a default that competes."""
    sizes: tuple[Setting, ...] = tuple({"n": n} for n in (1, 5, 20, 100, 1000))
    small: tuple[Setting, ...] = ({"n": 10}, {"n": 20})
    both: tuple[Setting, ...] = ({"n1": 10, "n2": 10}, {"n1": 20, "n2": 20})
    exact = "covers exactly as it says, averaged over the prior"
    nearly = "covers as it says, averaged over truths drawn from the prior"
    of_one = dict.fromkeys(KINDS, (exact, EXACTLY))
    of_two = {"bayes": (nearly, NEARLY)}
    yield from declared("coverage", "a proportion drawn from its prior", of_one, "", of_share, quick=sizes[:4], full=sizes)
    yield from declared("coverage", "F1 drawn from its prior", of_one, "", of_f1, quick=sizes[:3], full=sizes[:4])
    for family, work, laws in (
        ("a paired difference drawn from its prior", of_flips, small),
        ("an unpaired difference drawn from its prior", of_pair, both),
    ):
        yield from declared("coverage", family, of_two, "", work, quick=laws[:1], full=laws, page=TWO_PAGE)


def of_share(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    n = int(setting["n"])
    yield Point(words(setting), averaged_coverage(lambda k: proportion_posterior(k, n).interval(LEVEL, KINDS[method]), n, (PRIOR, PRIOR)))


def of_f1(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Given TP + FP + FN, the Jaccard index decides, and one prior mass on TP, two on the errors are its prior."""
    n = int(setting["n"])

    def jaccard(tp: int) -> tuple[float, float]:
        low, high = f1_posterior(tp, 0, n - tp).interval(LEVEL, KINDS[method])
        return low / (2 - low), high / (2 - high)

    yield Point(words(setting), averaged_coverage(jaccard, n, (PRIOR, 2 * PRIOR)))


def of_flips(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Exact coverage at each of a thousand laws of who is right, drawn from the prior of the four cells."""
    tables = tables_of(int(setting["n"]), 4)
    low, high = np.array([paired.ends("bayes", "two", *map(int, row)) for row in tables]).T
    truths = rng.dirichlet([PRIOR] * 4, TRUTHS)
    covered, _ = multinomial_coverage(low, high, tables, truths, truths[:, 2] - truths[:, 3])
    yield Point(words(setting), float(covered.mean()), float(covered.std(ddof=1) / np.sqrt(TRUTHS)))


def of_pair(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    n1, n2 = int(setting["n1"]), int(setting["n2"])
    found = np.array([[unpaired.ends("bayes", "two", k1, n1, k2, n2) for k2 in range(n2 + 1)] for k1 in range(n1 + 1)])
    truths = rng.beta(PRIOR, PRIOR, (TRUTHS, 2))
    covered, _ = binomial_pair_coverage(found[:, :, 0], found[:, :, 1], truths)
    yield Point(words(setting), float(covered.mean()), float(covered.std(ddof=1) / np.sqrt(TRUTHS)))
