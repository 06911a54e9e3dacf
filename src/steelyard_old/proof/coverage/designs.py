"""Claims about measurements of items with weights, repeats or groups, and of losses: from the items to the row, as a user asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from steelyard_old.estimate.rows import rows_of_sample
from steelyard_old.items import Items, Labels
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.proof.claims import Band, BandText, Claim, Setting
from steelyard_old.proof.simulation import DRAWS, Quantity, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.sample import Sample

SLOW = {"percentile": 4, "bca": 4, "studentized": 8, "betting": 4}
WEIGHTS, SHARES, CHANCES = np.array([0.5, 1.0, 2.5]), np.array([0.5, 0.3, 0.2]), np.array([0.95, 0.85, 0.7])  # heavy items are hard
TRIES, K = 5, 2
LOSS = 2.0  # of a token, in nats
SPREAD = 0.6  # of the groups' distances between positives and negatives


def weighted(scored: Callable[[np.random.Generator, np.ndarray], np.ndarray], setting: Setting, rng: np.random.Generator) -> Items:
    """Items that stand for unequal numbers of others, and are harder the more they stand for."""
    kind = rng.choice(3, int(setting["n"]), p=SHARES)
    return Items(n=len(kind), score=scored(rng, CHANCES[kind]), weight=WEIGHTS[kind])


def right(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    return (rng.random(len(chance)) < chance).astype(float)


def points(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return rng.beta(4 * mean, 4 * (1 - mean))


def of_weights(setting: Setting) -> float:
    return float((SHARES * WEIGHTS) @ CHANCES / (SHARES @ WEIGHTS))


def asked_again(setting: Setting, rng: np.random.Generator) -> Items:
    """Five answers to each item, each item with a chance of its own: Beta(3, 1)."""
    n = int(setting["n"])
    item = np.repeat(np.arange(n), TRIES)
    score = right(rng, np.repeat(rng.beta(3, 1, n), TRIES))
    again = Labels(np.tile(np.arange(TRIES), n), tuple(map(str, range(TRIES))))
    return Items(n=len(item), id=Labels(item, tuple(map(str, range(n)))), score=score, repeat=again)


def probable(setting: Setting, rng: np.random.Generator) -> Items:
    """Probabilities between 0.02 and 0.98 that say what they mean."""
    p = rng.uniform(0.02, 0.98, int(setting["n"]))
    truth = (rng.random(len(p)) < p).astype(np.int64)
    return Items(n=len(p), truth=Labels(truth, ("no", "yes")), probability=p)


def entropy(setting: Setting) -> float:
    """The mean of -p log p - (1 - p) log(1 - p) over p from 0.02 to 0.98."""

    def part(p: float) -> float:  # the integral of -p log p from 0 to p
        return p * p * (1 - 2 * math.log(p)) / 4

    return 2 * (part(0.98) - part(0.02)) / 0.96


def squares(setting: Setting) -> float:
    """The mean of p (1 - p) over p from 0.02 to 0.98."""
    return 0.25 - 0.96**2 / 12


def tokens(setting: Setting, rng: np.random.Generator) -> Items:
    """Texts of unequal length, some harder than others: their losses and their tokens."""
    n = int(setting["n"])
    length = 20 + rng.geometric(0.02, n)
    loss = rng.gamma(length, LOSS, n) * rng.gamma(10, 0.1, n)
    return Items(n=n, ratio=(loss, length.astype(float)))


def grouped_scores(setting: Setting, rng: np.random.Generator) -> Items:
    """Groups of ten, each with its own distance between positives and negatives; the scores as probabilities."""
    groups = int(setting["groups"])
    group = np.repeat(np.arange(groups), 10)
    positive = rng.random(len(group)) < 0.4
    score = rng.normal(size=len(group)) + positive * rng.normal(1.2, SPREAD, groups)[group]
    labels = Labels(group, tuple(map(str, range(groups))))
    return Items(n=len(group), truth=Labels(positive.astype(np.int64), ("no", "yes")), probability=1 / (1 + np.exp(-score)), group=labels)


def grouped_area(setting: Setting) -> float:
    """P(a positive of any group scores higher than a negative of any): normal scores, the groups' distances normal too."""
    return 0.5 * (1 + math.erf(1.2 / math.sqrt(2 + SPREAD**2) / math.sqrt(2)))


SIZES: tuple[Setting, ...] = tuple({"n": n} for n in (50, 200, 20, 1000))
QUANTITIES = {
    "a proportion of weighted items": Quantity("accuracy", partial(weighted, right), of_weights, SIZES),
    "a mean of weighted items": Quantity("mean", partial(weighted, points), of_weights, SIZES),
    "a proportion of items asked again": Quantity("accuracy", asked_again, lambda s: 0.75, SIZES),
    "pass@2": Quantity(f"pass@{K}", asked_again, lambda s: 1 - 1 * 2 / (4 * 5), SIZES),  # 1 - E(1 - p)^2 of Beta(3, 1)
    "log loss": Quantity("log_loss", probable, entropy, SIZES),
    "Brier score": Quantity("brier", probable, squares, SIZES),
    "perplexity": Quantity("perplexity", tokens, lambda s: math.exp(LOSS), SIZES),
    "AUC of groups": Quantity("auc", grouped_scores, grouped_area, tuple({"groups": g} for g in (20, 50, 10, 200))),
}
SAID: dict[str, dict[str, BandText]] = {
    "a proportion of weighted items": {
        "wilson": ("covers 0.945 or more", Band(low=0.94, mean_low=0.945)),
        "delta": ("covers 0.865 with 20 items", Band(low=0.855, fails=0.95, mean_low=0.9)),
        "percentile": (f"covers 0.89 with 20 items; {DRAWS} draws", Band(low=0.88, mean_low=0.91)),
        "bca": (f"covers 0.935 or more; {DRAWS} draws", Band(low=0.925, mean_low=0.93)),
        "studentized": (f"covers 0.96 or more, far wider with few items; {DRAWS} draws", Band(low=0.94, mean_low=0.96)),
    },
    "a mean of weighted items": {
        "bounded-mean": ("covers 0.95 or more", Band(low=0.945, mean_low=0.96)),
        "t": ("covers 0.88 with 20 items", Band(low=0.86, fails=0.95, mean_low=0.91)),
        "wilson-mean": ("never covers less than it says here, at the number of items that the weights are worth", Band(low=0.95)),
        "percentile": (f"covers 0.84 with 20 items; {DRAWS} draws", Band(low=0.83, fails=0.95, mean_low=0.9)),
        "bca": (f"covers 0.87 with 20 items; {DRAWS} draws", Band(low=0.86, fails=0.95, mean_low=0.91)),
        "studentized": (f"covers 0.94 or more; {DRAWS} draws", Band(low=0.94, mean_low=0.945)),
    },
    "a proportion of items asked again": {
        "wilson": ("covers 0.945 or more", Band(low=0.945, mean_low=0.945)),
        "delta": ("covers 0.94 or more", Band(low=0.935, mean_low=0.94)),
        "percentile": (f"covers 0.93 or more; {DRAWS} draws", Band(low=0.925, mean_low=0.93)),
        "bca": (f"covers 0.93 or more; {DRAWS} draws", Band(low=0.925, mean_low=0.93)),
        "studentized": (f"covers 0.93 or more; {DRAWS} draws", Band(low=0.925, mean_low=0.94)),
    },
    "pass@2": {
        "bounded-mean": ("covers 0.95 or more", Band(low=0.94, mean_low=0.96)),
        "t": ("covers 0.875 with 20 items", Band(low=0.865, mean_low=0.91)),
        "wilson-mean": ("never covers less than it says", Band(low=0.95)),
        "betting": ("never covers less than it says", Band(low=0.95)),
        "percentile": (f"covers 0.885 with 20 items; {DRAWS} draws", Band(low=0.87, mean_low=0.91)),
        "bca": (f"covers 0.9 with 20 items; {DRAWS} draws", Band(low=0.89, mean_low=0.92)),
        "studentized": (f"covers 0.95 or more; {DRAWS} draws", Band(low=0.94, mean_low=0.945)),
    },
    "log loss": {
        "t": ("covers 0.92 or more", Band(low=0.915, mean_low=0.925)),
        "percentile": (f"covers 0.9 or more; {DRAWS} draws", Band(low=0.89, mean_low=0.91)),
        "bca": (f"covers 0.91 or more; {DRAWS} draws", Band(low=0.9, mean_low=0.915)),
        "studentized": (f"covers 0.93 or more; {DRAWS} draws", Band(low=0.92, mean_low=0.935)),
    },
    "Brier score": {
        "bounded-mean": ("covers 0.945 or more", Band(low=0.94, mean_low=0.96)),
        "t": ("covers 0.92 or more", Band(low=0.91, mean_low=0.93)),
        "wilson-mean": ("never covers less than it says", Band(low=0.95)),
        "betting": ("never covers less than it says", Band(low=0.95)),
        "percentile": (f"covers 0.9 or more; {DRAWS} draws", Band(low=0.89, mean_low=0.92)),
        "bca": (f"covers 0.91 or more; {DRAWS} draws", Band(low=0.9, mean_low=0.925)),
        "studentized": (f"covers 0.955 or more; {DRAWS} draws", Band(low=0.935, mean_low=0.945)),
    },
    "perplexity": {
        "percentile": (f"covers 0.89 with 20 texts; {DRAWS} draws", Band(low=0.875, mean_low=0.905)),
        "bca": (f"covers 0.87 with 20 texts; {DRAWS} draws", Band(low=0.86, mean_low=0.89)),
        "studentized": (f"covers 0.92 or more; {DRAWS} draws", Band(low=0.91, mean_low=0.92)),
        "delta": ("covers 0.925 with 20 texts", Band(low=0.915, mean_low=0.93)),
    },
    "AUC of groups": {"delong": ("covers 0.945 or more", Band(low=0.94, mean_low=0.945))},
}


def claims() -> Iterator[Claim]:
    for family, of in QUANTITIES.items():
        study = Study(family=family, draw=of.draw, truth=of.truth, interval=partial(interval, of.metric), slow=SLOW)
        default = default_of(study, of.settings[0], SAID[family])
        yield from simulated(study, SAID[family], default, quick=at_most_of(of.settings[:1], 240), full=runs_of(of.settings, 4000))


def interval(metric: str, method: str, items: Items, seed: int) -> Interval | None:
    settings = MeasureOptions(interval=method or None, draws=DRAWS, seed=seed, positive="yes")
    return rows_of_sample([parse(metric)], Sample(items, settings, Warnings()), settings, Warnings())[0].interval
