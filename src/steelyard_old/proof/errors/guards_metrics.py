"""Claims about guards of what is no plain mean: tries of a problem, ratios of sums, perplexity, items that weigh unequally."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.items import Items, Labels
from steelyard_old.proof.claims import Band, BandText, Claim, Setting
from steelyard_old.proof.errors.guards import PAGE, run_of, verdict
from steelyard_old.proof.trials import Draw, Trial

FloatArray = npt.NDArray[np.float64]
DRAWS = 999
HARDER = 0.15  # share of the problems that lose half their chance
WORSE = 0.02  # what a ratio rises by where it does
NAME = "paired guard"
HEALTHY: BandText = ("a healthy run is called worse in at most 5% of cases, but for the noise of few items", Band(high=0.065))
EDGE: BandText = ("a rise of exactly the margin is called worse in at most 5% of cases, but for few items", Band(high=0.07))
PASSES: BandText = ("a true loss of theta passes in at most 5% of cases, but for few items", Band(high=0.07))
TASKS: tuple[Setting, ...] = tuple({"tasks": tasks, "trials": trials} for tasks in (30, 100) for trials in (4, 8))
SIZES: tuple[Setting, ...] = tuple({"n": n} for n in (30, 100))


def claims() -> Iterator[Claim]:
    for trial in (*_tries(), *_ratios(), *_perplexities(), *_weighted(), *_margins(), *_few_changes()):
        yield from trial.claims()


def _trial(family: str, draw: Draw, metric: str, said: BandText, settings: tuple[Setting, ...], ends: str, **options: Any) -> Trial:
    """A guard by its own functions. ends: the verdict that is counted."""

    def calls(past: Items, new: Items) -> bool:
        return verdict(past, new, metric, DRAWS, **options) == ends

    return Trial(
        family=family,
        draw=draw,
        default=NAME,
        page=PAGE,
        methods={NAME: calls},
        said={(NAME, "size"): said},
        settings=settings[:1],
        more=settings[1:],
        runs=(200, 800),
    )


# ---- tries of a problem ----------------------------------------------------------------------------------------------------------


def problems(loss: bool, law: tuple[float, float], rng: np.random.Generator, setting: Setting) -> tuple[Items, Items]:
    """Problems whose chances follow a beta law; with a loss, some of them keep half of theirs."""
    tasks, trials = int(setting["tasks"]), int(setting["trials"])
    chance = rng.beta(*law, tasks)
    worse = np.where(rng.random(tasks) < HARDER, chance / 2, chance) if loss else chance
    past, new = ((rng.random((trials, tasks)) < p).astype(float) for p in (chance, worse))
    return run_of(past.ravel(), trials), run_of(new.ravel(), trials)


def _loss(passes: Callable[[FloatArray], FloatArray], law: tuple[float, float]) -> float:
    """What the loss takes from a metric, by what it is of a chance to be right: the mean over the beta law, by its quantiles."""
    from scipy.special import betaincinv

    chance = betaincinv(*law, (np.arange(4000) + 0.5) / 4000)
    return HARDER * float(np.mean(passes(chance) - passes(chance / 2)))


def _tries() -> Iterator[Trial]:
    of_chance: tuple[tuple[str, tuple[float, float], str, Callable[[FloatArray], FloatArray]], ...] = (
        ("pass^4", (2.0, 2.0), "pass^4", lambda p: p**4),
        ("pass@4", (8.0, 1.0), "pass@4 near 1", lambda p: 1 - (1 - p) ** 4),
    )
    for metric, law, name, passes in of_chance:
        yield _trial(f"a guard of {name}", partial(problems, False, law), metric, HEALTHY, TASKS, "regression")
        family = f"a guard of {name}, a true loss that passes"
        yield _trial(family, partial(problems, True, law), metric, PASSES, TASKS, "pass", theta=_loss(passes, law))


# ---- ratios of sums --------------------------------------------------------------------------------------------------------------


def sums_of(above: npt.ArrayLike, below: npt.ArrayLike) -> Items:
    """A run of items with two numbers each."""
    ratio = np.asarray(above, float), np.asarray(below, float)
    n = len(ratio[0])
    return Items(n=n, id=Labels(np.arange(n), tuple(f"q{i}" for i in range(n))), ratio=ratio)


def sentences(rise: float, rng: np.random.Generator, setting: Setting) -> tuple[Items, Items]:
    """Sentences of 5 to 39 words with error rates of their own, 8% on average; `rise` more of the words are wrong in the run."""
    n = int(setting["n"])
    words, rate = rng.integers(5, 40, n), rng.beta(1.6, 18.4, n)
    return sums_of(rng.binomial(words, rate), words), sums_of(rng.binomial(words, rate + rise * (1 - rate) / 0.92), words)


def _ratios() -> Iterator[Trial]:
    yield _trial("a guard of a word error rate", partial(sentences, 0.0), "ratio", HEALTHY, SIZES, "regression")
    family = "a guard of a word error rate, a rise of the margin"
    yield _trial(family, partial(sentences, WORSE), "ratio", EDGE, SIZES, "regression", margin=WORSE)


def documents(rise: float, rng: np.random.Generator, setting: Setting) -> tuple[Items, Items]:
    """Documents of 50 to 299 tokens with a loss per token of their own; the run's is higher by `rise` everywhere."""
    n = int(setting["n"])
    tokens, loss = rng.integers(50, 300, n), rng.normal(2.0, 0.3, n)
    noise = rng.normal(0.0, 0.5, (2, n)) * np.sqrt(tokens)
    return sums_of(tokens * loss + noise[0], tokens), sums_of(tokens * (loss + rise) + noise[1], tokens)


def _perplexities() -> Iterator[Trial]:
    yield _trial("a guard of perplexity", partial(documents, 0.0), "perplexity", HEALTHY, SIZES, "regression")


# ---- items that weigh unequally --------------------------------------------------------------------------------------------------


def weighed(drop: float, rng: np.random.Generator, setting: Setting) -> tuple[Items, Items]:
    """Right or wrong, with weights that vary by their own size; the run has `drop` fewer right."""
    n = int(setting["n"])
    weight, chance = rng.lognormal(0.0, 1.0, n), rng.beta(4.0, 2.0, n)
    sides = ((rng.random(n) < p).astype(float) for p in (chance, chance * (1 - 1.5 * drop)))
    past, new = (Items(n=n, id=run_of(side).id, score=side, weight=weight) for side in sides)
    return past, new


def _weighted() -> Iterator[Trial]:
    yield _trial("a guard of weighted items", partial(weighed, 0.0), "accuracy", HEALTHY, SIZES, "regression")
    family = "a guard of weighted items, a true loss that passes"
    yield _trial(family, partial(weighed, 0.1), "accuracy", PASSES, SIZES, "pass", theta=0.1)


# ---- scores that have lost the margin exactly -----------------------------------------------------------------------------------

LOSS = 0.3  # on average, of scores that have no range and vary by about 1 among items
BEYOND: BandText = ("a loss of exactly the margin is called worse in at most 5% of cases, but for few items", Band(high=0.07))
GAINS: BandText = (
    "large gains that are rare are not known from a few items: a run that has them is called worse too often, with a warning",
    Band(high=0.6, fails=0.1),
)
LAWS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "even": lambda rng, n: rng.normal(-LOSS, 1.0, n),
    "one in ten falls": lambda rng, n: np.where(rng.random(n) < 0.1, -3.0, 0.0) + rng.normal(0.0, 0.1, n),
    "skewed falls": lambda rng, n: 1.0 - LOSS - rng.exponential(1.0, n),
    "one in ten gains": lambda rng, n: np.where(rng.random(n) < 0.1, 3.0, 0.0) - 2 * LOSS + rng.normal(0.0, 0.1, n),
}


def lost(rng: np.random.Generator, setting: Setting) -> tuple[Items, Items]:
    """Scores and what they have lost, by a law whose mean is the margin."""
    n = int(setting["n"])
    before = rng.normal(5.0, 1.0, n)
    return run_of(before), run_of(before + LAWS[str(setting["law"])](rng, n))


def _margins() -> Iterator[Trial]:
    where: tuple[Setting, ...] = tuple({"law": law, "n": n} for law in list(LAWS)[:3] for n in (30, 100))
    yield _trial("a guard of scores without a range, a loss of the margin", lost, "mean", BEYOND, where, "regression", margin=LOSS)
    rare: tuple[Setting, ...] = ({"law": "one in ten gains", "n": 20}, {"law": "one in ten gains", "n": 40})
    family = "a guard of scores without a range, a loss of the margin with rare gains"
    yield _trial(family, lost, "mean", GAINS, rare, "regression", margin=LOSS)


# ---- few items changed, and some of them altogether --------------------------------------------------------------------------------

FAILING = 5.0  # items that fail altogether, on average
FEW: BandText = ("a run that is theta worse because five items fail altogether passes in at most 5% of cases", Band(high=0.065))
FEW_SIZES: tuple[Setting, ...] = tuple({"n": n, "others": share} for n in (200, 30, 1000) for share in (0.0, 0.1))


def failing(kind: str, rng: np.random.Generator, setting: Setting) -> tuple[Items, Items]:
    """A run that is the same but for a share of `others`, which vary as usual, and about five items that fail altogether."""
    n = int(setting["n"])
    varies, fails = rng.random(n) < float(setting["others"]), rng.random(n) < FAILING / n
    if kind == "ratio":
        words, rate = rng.integers(5, 40, n), rng.beta(1.6, 18.4, n)
        before, again = rng.binomial(words, rate), rng.binomial(words, rate)
        return sums_of(before, words), sums_of(np.where(fails, words, np.where(varies, again, before)), words)
    if kind == "perplexity":
        tokens, loss = rng.integers(50, 300, n), rng.normal(2.0, 0.3, n)
        noise = rng.normal(0.0, 0.5, (2, n)) * np.sqrt(tokens)
        before, again = tokens * loss + noise
        return sums_of(before, tokens), sums_of(np.where(varies, again, before) + fails * tokens / 2, tokens)
    before, again = rng.normal(5.0, 1.0, n) + rng.normal(0.0, 0.3, (2, n))
    return run_of(before), run_of(np.where(varies, again, before) - 3.0 * fails)


def _few_changes() -> Iterator[Trial]:
    """At the edge: theta is what the items that fail take away in the long run."""
    edges: tuple[tuple[str, str, Callable[[int], Any]], ...] = (
        ("ratio", "a word error rate", lambda n: FAILING / n * 0.92),
        ("perplexity", "perplexity", lambda n: f"{100 * np.expm1(FAILING / n / 2):.12g}%"),
        ("mean", "scores without a range", lambda n: FAILING / n * 3.0),
    )
    for metric, named, theta in edges:

        def calls(past: Items, new: Items, metric: str = metric, theta: Callable[[int], Any] = theta) -> bool:
            return verdict(past, new, metric, DRAWS, theta=theta(past.n)) == "pass"

        yield Trial(
            family=f"a guard of {named}, few items changed",
            draw=partial(failing, metric),
            default=NAME,
            page=PAGE,
            methods={NAME: calls},
            said={(NAME, "size"): FEW},
            settings=FEW_SIZES[:1],
            more=FEW_SIZES[1:],
            runs=(200, 800),
        )
