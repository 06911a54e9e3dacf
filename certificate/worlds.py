"""How data are drawn. Each world gives the data of one system or of two, and the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from steelyard.data.counts import Counts, JointCounts
from steelyard.data.items import Items
from steelyard.engines.certainty import falling_root
from steelyard.engines.one import How, measure

Array = npt.NDArray[Any]
Rng = np.random.Generator

# ---- tables of labels ---------------------------------------------------------------------------------------------------------------


def skewed() -> list[list[int]]:
    """Ten classes, the commonest six times as common as the rarest, 80% right, errors spread by frequency."""
    share = np.geomspace(6, 1, 10)
    share /= share.sum()
    found: list[list[int]] = np.round(1e5 * (0.2 * np.outer(share, share) + np.diag(share * 0.8))).astype(int).tolist()
    return found


LAWS: dict[str, list[list[int]]] = {  # truth x prediction
    "three classes": [[27, 4, 2], [3, 25, 5], [2, 5, 27]],
    "a rare class": [[88, 2], [3, 7]],
    "two classes": [[45, 8], [7, 40]],
    "ten classes": skewed(),
    "two rare classes": [[76, 2, 2], [2, 7, 1], [2, 1, 7]],
    "one item in a hundred": [[900, 20, 4], [30, 30, 6], [2, 2, 6]],
}


def table(cells: Array) -> Items:
    """Counted cells, truth x prediction, as rows."""
    truth, said = np.nonzero(cells)
    return Items.of(truth=truth, prediction=said, count=cells[truth, said].astype(np.int64))


@cache
def value_of(metric: str, cells: tuple[tuple[float, ...], ...]) -> float:
    """The metric of a law."""
    whole = np.round(np.array(cells) / np.sum(cells) * 1e12).astype(np.int64)
    found = measure(metric, table(whole), How(interval="", positive="1" if len(cells) == 2 else None, absent="zero"))[0].estimate
    assert found is not None
    return found


def frozen(cells: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, np.asarray(cells, float).tolist()))


def of_table(metric: str) -> Callable[..., tuple[Any, ...]]:
    """Items of a law of truth and prediction."""

    def world(rng: Rng, law: str, n: int) -> tuple[Any, ...]:
        cells = np.array(LAWS[law], float)
        return table(rng.multinomial(n, (cells / cells.sum()).ravel()).reshape(cells.shape)), value_of(metric, frozen(cells))

    return world


def two_tables(metric: str) -> Callable[..., tuple[Any, ...]]:
    """Two systems of one law on different items."""
    one = of_table(metric)
    return lambda rng, law, n, n2=0: (one(rng, law, n)[0], one(rng, law, n2 or n)[0], 0.0)


JACCARD = tuple((p, a, b) for p in (0.5, 0.1, 0.02) for a, b in ((0.8, 0.8), (0.95, 0.95), (0.6, 0.9), (0.99, 0.99)))


def f1_law(prevalence: float, precision: float, recall: float) -> tuple[float, float]:
    """The chances of a hit, and of a miss or a false alarm."""
    return prevalence * recall, prevalence * (1 - recall) + prevalence * recall * (1 / precision - 1)


def hits(rng: Rng, n: int, law: int) -> tuple[Any, ...]:
    """One of twelve laws of a class, given that F1 has a value."""
    hit, wrong = f1_law(*JACCARD[law])
    while True:
        tp, off, tn = map(int, rng.multinomial(n, [hit, wrong, 1 - hit - wrong]))
        if tp + off:
            return Counts.binary(tp=tp, fp=off // 2, fn=off - off // 2, tn=tn), 2 * hit / (2 * hit + wrong)


# ---- two systems on the same labels --------------------------------------------------------------------------------------------------


@cache
def pair_law(metric: str, law: str) -> tuple[Array, Array]:
    """Chances of (truth, baseline, candidate): "trade": the candidate trades precision for recall and the metric is the same; "equal":
    both answer by the law, the same in 70%; else the candidate repeats the baseline in 70%, or answers afresh, right a little more often.
    """
    if law.startswith("trade"):
        share = float(law.split()[1])

        def chances(alarms: float) -> tuple[Array, Array]:
            truth = np.array([1 - share, share])
            a, b = np.array([[0.99, 0.01], [0.5, 0.5]]), np.array([[1 - alarms, alarms], [0.1, 0.9]])
            return truth[:, None, None] * a[:, :, None] * b[:, None, :], truth[:, None] * b

        base = value_of(metric, frozen(np.array([[0.99, 0.01], [0.5, 0.5]]) * np.array([[1 - share], [share]])))
        joint, _ = chances(falling_root(lambda x: value_of(metric, frozen(chances(x)[1])) - base, 0.01, 0.99, 1e-9))
        return _cells(joint)
    name, equal = law.removeprefix("equal "), law.startswith("equal ")
    cells = np.array(LAWS[name], float) / np.sum(LAWS[name])
    k, more = len(cells), 0.0 if equal else 0.05
    fresh = (1 - more) * cells / cells.sum(1, keepdims=True) + more * np.eye(k)
    return _cells(0.3 * cells[:, :, None] * fresh[:, None, :] + 0.7 * cells[:, :, None] * np.eye(k)[None])


def _cells(joint: Array) -> tuple[Array, Array]:
    return np.argwhere(joint > 0), joint[joint > 0] / joint.sum()


@cache
def gap(metric: str, law: str) -> float:
    places, chance = pair_law(metric, law)
    k, sides = int(places.max()) + 1, []
    for side in (1, 2):
        cells = np.zeros((k, k))
        np.add.at(cells, (places[:, 0], places[:, side]), chance)
        sides.append(value_of(metric, frozen(cells)))
    return sides[1] - sides[0]


def two_labels(metric: str) -> Callable[..., tuple[Any, ...]]:
    """Two systems on the same items."""

    def world(rng: Rng, law: str, n: int) -> tuple[Any, ...]:
        places, chance = pair_law(metric, law)
        count = rng.multinomial(n, chance)
        (truth, a, b), count = places[count > 0].T, count[count > 0]
        return JointCounts(Items.of(truth=truth, prediction=a, count=count), Items.of(truth=truth, prediction=b, count=count)), gap(
            metric, law
        )

    return world


def weighed_labels(metric: str) -> Callable[..., tuple[Any, ...]]:
    """The same, items of weights that say nothing of their answers; one item may weigh as much as a tenth of all."""

    def world(rng: Rng, law: str, n: int, weight: str) -> tuple[Any, ...]:
        places, chance = pair_law(metric, law)
        truth, a, b = places[rng.choice(len(places), n, p=chance)].T
        ids, heavy = np.arange(n), weights(rng, n, weight)
        sides = (Items.of(id=ids, truth=truth, prediction=said, weight=heavy) for said in (a, b))
        return (*sides, gap(metric, law))

    return world


# ---- numbers -------------------------------------------------------------------------------------------------------------------------


def mostly(share: float, value: float) -> Callable[[Rng, int], Array]:
    """This share of items at one value, the rest uniform."""
    return lambda rng, n: np.where(rng.random(n) < share, value, rng.random(n))


SCORES: dict[str, tuple[Callable[[Rng, int], Array], float]] = {
    "95% ones": (mostly(0.95, 1.0), 0.975),
    "99% ones": (mostly(0.99, 1.0), 0.995),
    "90% zeros": (mostly(0.9, 0.0), 0.05),
    "Beta(2,6)": (lambda rng, n: rng.beta(2, 6, n), 0.25),
    "Beta(8,2)": (lambda rng, n: rng.beta(8, 2, n), 0.8),
    "Beta(9,1)": (lambda rng, n: rng.beta(9, 1, n), 0.9),
    "Beta(.5,.1)": (lambda rng, n: rng.beta(0.5, 0.1, n), 0.5 / 0.6),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "5% failures": (lambda rng, n: np.where(rng.random(n) < 0.05, 0.0, rng.beta(90, 10, n)), 0.855),
    "10% failures": (lambda rng, n: np.where(rng.random(n) < 0.1, 0.0, rng.beta(90, 10, n)), 0.81),
    "5% fail, else .95": (lambda rng, n: np.where(rng.random(n) < 0.05, 0.0, 0.95), 0.9025),
    "1% fail, else .95": (lambda rng, n: np.where(rng.random(n) < 0.01, 0.0, 0.95), 0.9405),
    "all ones": (lambda rng, n: np.ones(n), 1.0),
}


def scores(rng: Rng, law: str, n: int) -> tuple[Any, ...]:
    """Bounded scores, many of them at an end."""
    draw, truth = SCORES[law]
    return Items.of(score=draw(rng, n)), truth


def two_samples(rng: Rng, law: str, other: str, n1: int, n2: int) -> tuple[Any, ...]:
    """Scores of two systems on different items."""
    (one, a), (two, b) = scores(rng, law, n1), scores(rng, other, n2)
    return one, two, b - a


def lengths(rng: Rng, n: int) -> tuple[Any, ...]:
    """Errors in texts of very unequal length: one in ten words, more unequal between texts than chance makes them."""
    length = 1 + rng.geometric(0.05, n)
    return Items.of(above=rng.binomial(length, rng.beta(1, 9, n)).astype(float), below=length.astype(float)), 0.1


def squares(rng: Rng, n: int, law: str = "normal") -> tuple[Any, ...]:
    """Errors of a prediction that explains half of the variance; RMSE 1, or the root of 3 with heavy tails. The truth is for RMSE."""
    error, said = (rng.normal(size=n) if law == "normal" else rng.standard_t(3, n)), rng.normal(size=n)
    return Items.of(truth=said + error, prediction=said), 1.0 if law == "normal" else 3**0.5


def explained(rng: Rng, n: int) -> tuple[Any, ...]:
    """The same; the truth is for R2."""
    return squares(rng, n)[0], 0.5


def probable(of: str) -> Callable[..., tuple[Any, ...]]:
    """Probabilities between 0.02 and 0.98 that say what they mean: log loss or Brier score."""
    part = [p * p * (1 - 2 * math.log(p)) / 4 for p in (0.02, 0.98)]
    truth = {"log_loss": 2 * (part[1] - part[0]) / 0.96, "brier": 0.25 - 0.96**2 / 12}[of]

    def world(rng: Rng, n: int) -> tuple[Any, ...]:
        p = rng.uniform(0.02, 0.98, n)
        return Items.of(truth=(rng.random(n) < p).astype(np.int64), probability=p), truth

    return world


def asked_again(rng: Rng, n: int, tries: int = 5, of: str = "accuracy", unequal: bool = False) -> tuple[Any, ...]:
    """Several answers to each item, each item with a chance of its own: Beta(3, 1)."""
    many = rng.choice([1, 2, 9], n) if unequal else np.full(n, tries)
    item = np.repeat(np.arange(n), many)
    right = (rng.random(len(item)) < np.repeat(rng.beta(3, 1, n), many)).astype(float)
    return Items.of(id=item, repeat=np.arange(len(item)), score=right), 0.75 if of == "accuracy" else 0.9


def differences(rng: Rng, law: str, n: int) -> tuple[Any, ...]:
    """Scores from 0 to 1 of two systems whose differences have mean 0."""
    d = {
        "normal": lambda: np.clip(rng.normal(0, 0.2, n), -1, 1),
        "mostly equal": lambda: np.where(rng.random(n) < 0.1, rng.uniform(-0.5, 0.5, n), 0.0),
        "rare losses": lambda: np.where(rng.random(n) < 0.05, -0.475, 0.025) + 0.01 * rng.normal(size=n),
        "rare gains": lambda: np.where(rng.random(n) < 0.02, 0.98, -0.02),
        "steps": lambda: rng.choice([-0.5, -0.25, 0, 0, 0, 0, 0.25, 0.5], n),
        "two ways": lambda: np.where(np.arange(n) % 2, -0.7, 0.7) * (rng.random(n) < 0.5),
        "nothing": lambda: np.zeros(n),
    }[law]()
    a = np.maximum(0, -d) + rng.random(n) * (1 - np.abs(d))
    ids = np.arange(n)
    return Items.of(id=ids, score=a), Items.of(id=ids, score=np.clip(a + d, 0, 1)), 0.0


def tenfold(world: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """The scores of a world times ten, so that nobody knows their range."""

    def wide(rng: Rng, **setting: Any) -> tuple[Any, ...]:
        one, two, truth = world(rng, **setting)
        return *(side.with_columns(score=10 * side.numbers("score")) for side in (one, two)), 10 * truth

    return wide


def weights(rng: Rng, n: int, law: str) -> Array:
    """Unequal weights: 1 to 5; many light ones and few heavy; or one that holds a fifth of all."""
    if law == "one heavy":
        return np.append(np.full(n - 1, 1.5), 0.375 * (n - 1))
    return {"even": np.full(n, 1.5), "1 to 5": rng.uniform(1, 5, n), "heavy": rng.choice([0.5, 1, 2.5, 20.5], n, p=[0.5, 0.3, 0.15, 0.05])}[
        law
    ]


def weighed(rng: Rng, law: str, n: int, weight: str) -> tuple[Any, ...]:
    """The same, items of weights that say nothing of their scores; "binary": right or wrong."""
    heavy = weights(rng, n, weight)
    if law == "binary":
        change, ids = rng.random(n), np.arange(n)
        a = np.where(change < 0.1, 1.0, np.where(change < 0.2, 0.0, rng.random(n) < 0.8))
        b = np.where(change < 0.1, 0.0, np.where(change < 0.2, 1.0, a))
        return Items.of(id=ids, score=a, weight=heavy), Items.of(id=ids, score=b, weight=heavy), 0.0
    one, two, truth = differences(rng, law, n)
    return one.with_columns(weight=heavy), two.with_columns(weight=heavy), truth


def weighed_one(rng: Rng, n: int, law: str) -> tuple[Any, ...]:
    """Items that stand for unequal numbers of others, and are harder the more they stand for."""
    kind = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    heavy, chance = np.array([0.5, 1.0, 2.5]), np.array([0.95, 0.85, 0.7])
    score = (rng.random(n) < chance[kind]).astype(float) if law == "right" else rng.beta(4 * chance[kind], 4 * (1 - chance[kind]))
    share = np.array([0.5, 0.3, 0.2])
    return Items.of(score=score, weight=heavy[kind]), float((share * heavy) @ chance / (share @ heavy))


def two_ratios(rng: Rng, n: int, each: int = 0, better: float = 0.2) -> tuple[Any, ...]:
    """Errors of two systems on texts of unequal length, hard for both; groups of `each` texts that are alike."""
    length = 1 + rng.geometric(0.05, n)
    hard = rng.beta(1, 9, n) if not each else np.repeat(rng.beta(1, 9, -(-n // each)), each)[:n]
    ids, more = np.arange(n), {"group": np.arange(n) // each} if each else {}
    sides = (
        Items.of(id=ids, above=rng.binomial(length, hard * f).astype(float), below=length.astype(float), **more) for f in (1, 1 - better)
    )
    return (*sides, -0.1 * better)


# ---- right or wrong with repeats: few cases --------------------------------------------------------------------------------------------


def runs_of_cases(rng: Rng, law: str, n: int, runs: int, other: int = 0) -> tuple[Any, ...]:
    """Cases with several runs of two systems; the truth of new cases is 0, that of these cases the mean of the changes."""
    base = np.full(n, 0.5)
    if law == "one falls":  # these cases: one falls from always to half
        p, q = np.ones(n), np.append(np.ones(n - 1), 0.5)
    elif law == "flakes":  # one case always fails; rare flakes of the candidate alone
        p, q = np.append(np.ones(n - 1), 0.0), np.append(np.full(n - 1, 0.98), 0.0)
    elif law == "all rise":
        p, q = np.full(n, 0.3), np.full(n, 0.6)
    elif law == "all right":
        p, q = np.ones(n), np.ones(n)
    elif law == "same":
        p = q = rng.beta(1.2, 1, n)
    elif law == "two ways":
        p, q = base - 0.4, base + 0.4
        p, q = np.where(rng.random(n) < 0.5, (p, q), (q, p))
    elif law == "few fall far":  # one in six falls by .9, the rest rise by .18
        fall = rng.random(n) < 1 / 6
        p, q = np.where(fall, 1.0, 0.8), np.where(fall, 0.1, 0.98)
    else:
        raise KeyError(law)
    sides = []
    for chance, many in ((p, runs), (q, other or runs)):
        item = np.repeat(np.arange(n), many)
        sides.append(Items.of(id=item, repeat=np.tile(np.arange(many), n), score=(rng.random(len(item)) < chance[item]).astype(float)))
    new = law in ("same", "two ways", "few fall far")
    return (*sides, 0.0 if new else float((q - p).mean()))


# ---- groups ---------------------------------------------------------------------------------------------------------------------------


def zipf(groups: int, items: int) -> Array:
    share = 1 / np.arange(1, groups + 1)
    return np.maximum(1, np.round(share / share.sum() * items)).astype(np.int64)


def largest(share: float) -> Array:
    return np.array([round(300 * share)] + [round((300 - round(300 * share)) / 39)] * 39)


SIZES: dict[str, Array] = {
    "6 of 20": np.full(6, 20),
    "20 of 5": np.full(20, 5),
    "30 of 10": np.full(30, 10),
    "25 by Zipf": zipf(25, 300),
    "200 by Zipf": zipf(200, 1000),
    "largest 20%": largest(0.2),
    "largest 30%": largest(0.3),
    "largest 40%": largest(0.4),
    "4 of 60, 30 of 2": np.array([60] * 4 + [2] * 30),
    "1 of 200, 30 of 2": np.array([200] + [2] * 30),
    "4 of 50": np.full(4, 50),
}


def sizes_of(rng: Rng, sizes: Any) -> Array:
    """Named sizes, or so many groups of 2 to 18 items."""
    return SIZES[sizes] if isinstance(sizes, str) else rng.integers(2, 19, sizes)


def alike(rng: Rng, share: float, likeness: float, groups: int) -> Array:
    """A share for each group, with this correlation of two of its items."""
    if likeness == 0 or share in (0, 1):
        return np.full(groups, share)
    many = (1 - likeness) / likeness
    return rng.beta(share * many, (1 - share) * many, groups)


def shares(rng: Rng, sizes: Any, likeness: float, p: float, grouped: bool = True) -> tuple[Any, ...]:
    """Right or wrong in groups."""
    items = sizes_of(rng, sizes)
    unit = np.repeat(np.arange(len(items)), items)
    score = (rng.random(len(unit)) < alike(rng, p, likeness, len(items))[unit]).astype(float)
    return Items.of(score=score, **({"group": unit} if grouped else {})), p


def group_scores(rng: Rng, sizes: Any, likeness: float) -> tuple[Any, ...]:
    """Skewed scores of mean 0.8, alike within groups."""
    items = sizes_of(rng, sizes)
    unit = np.repeat(np.arange(len(items)), items)
    mean = np.clip(alike(rng, 0.8, likeness, len(items))[unit], 1e-9, 1 - 1e-9)
    return Items.of(score=rng.beta(4 * mean, 4 * (1 - mean)), group=unit), 0.8


def low_groups(rng: Rng, groups: int, low: float, sizes: str = "any") -> tuple[Any, ...]:
    """A share of the groups fails; the others are nearly perfect. sizes: equal, any (2 to 18), or "large": tenfold where it fails."""
    fails = rng.random(groups) < low
    items = np.full(groups, 10) if sizes != "any" else rng.integers(2, 19, groups)
    items = np.where(fails, 10 * items, items) if sizes == "large" else items
    unit = np.repeat(np.arange(groups), items)
    score = np.where(fails[unit], rng.beta(2, 18, len(unit)), rng.beta(95, 5, len(unit)))
    heavy = low * (10 if sizes == "large" else 1)
    share = heavy / (heavy + 1 - low)
    return Items.of(score=score, group=unit), share * 0.1 + (1 - share) * 0.95


def group_labels(metric: str) -> Callable[..., tuple[Any, ...]]:
    """Three classes; half of the items of a group repeat the cell of its first."""

    def world(rng: Rng, sizes: Any, law: str = "three classes") -> tuple[Any, ...]:
        cells, items = np.array(LAWS[law], float), sizes_of(rng, sizes)
        unit = np.repeat(np.arange(len(items)), items)
        kind = rng.choice(cells.size, len(unit), p=(cells / cells.sum()).ravel())
        kind = np.where(rng.random(len(unit)) < 0.5, kind[np.cumsum(items) - items][unit], kind)
        truth, said = np.divmod(kind, len(cells))
        return Items.of(truth=truth, prediction=said, group=unit), value_of(metric, frozen(cells))

    return world


def one_class(metric: str, pair: bool = False) -> Callable[..., tuple[Any, ...]]:
    """One class in groups of 10 or of 2 to 18 items, positives in some of them: recall .8, false positives .1, both alike within groups.

    Of a pair, the candidate answers anew in three of ten items, by the same rates of the group.
    """

    def world(rng: Rng, groups: int, within: int, each: float, likeness: float = 0.3, unequal: bool = False) -> tuple[Any, ...]:
        items = rng.integers(2, 19, groups) if unequal else np.full(groups, 10)
        unit = np.repeat(np.arange(groups), items)
        positive = (unit < within) & (rng.random(len(unit)) < each)
        own = np.where(positive, alike(rng, 0.8, likeness, groups)[unit], alike(rng, 0.1, likeness, groups)[unit])
        said = rng.random(len(unit)) < own
        share = within / groups * each
        truth = value_of(metric, frozen(np.array([[0.9 * (1 - share), 0.1 * (1 - share)], [0.2 * share, 0.8 * share]])))
        facts = {"truth": positive.astype(np.int64), "group": unit}
        if not pair:
            return Items.of(prediction=said.astype(np.int64), **facts), truth
        again, ids = np.where(rng.random(len(unit)) < 0.3, rng.random(len(unit)) < own, said), np.arange(len(unit))
        return *(Items.of(id=ids, prediction=s.astype(np.int64), **facts) for s in (said, again)), 0.0

    return world


def group_ratios(rng: Rng, groups: int, likeness: float) -> tuple[Any, ...]:
    """Errors in texts of very unequal length, 2 to 18 texts in a group: one in ten words."""
    unit = np.repeat(np.arange(groups), rng.integers(2, 19, groups))
    length = 1 + rng.geometric(0.05, len(unit))
    wrong = rng.binomial(length, alike(rng, 0.1, likeness, groups)[unit])
    return Items.of(above=wrong.astype(float), below=length.astype(float), group=unit), 0.1


def group_flips(rng: Rng, sizes: Any, together: float, lost: float = 0.1, gained: float = 0.1) -> tuple[Any, ...]:
    """Right or wrong of two systems. An item changes with its group in `together` of cases, else by itself."""
    items = sizes_of(rng, sizes)
    unit = np.repeat(np.arange(len(items)), items)
    change = np.where(rng.random(len(unit)) < together, rng.random(len(items))[unit], rng.random(len(unit)))
    a = np.where(change < lost, 1.0, np.where(change > 1 - gained, 0.0, rng.random(len(unit)) < 0.8))
    b = np.where(change < lost, 0.0, np.where(change > 1 - gained, 1.0, a))
    ids = np.arange(len(unit))
    return Items.of(id=ids, score=a, group=unit), Items.of(id=ids, score=b, group=unit), gained - lost


def group_losses(rng: Rng, groups: int, items: int, together: float) -> tuple[Any, ...]:
    """95% of the items gain .05, 5% lose .95, with their group in `together` of cases."""
    unit, ids = np.repeat(np.arange(groups), items), np.arange(groups * items)
    rare = np.where(rng.random(len(unit)) < together, rng.random(groups)[unit], rng.random(len(unit))) < 0.05
    return Items.of(id=ids, score=np.where(rare, 0.95, 0.5), group=unit), Items.of(id=ids, score=np.where(rare, 0.0, 0.55), group=unit), 0.0


CHANGES = {  # recall and false positives of the baseline; shares of hits lost, misses found, false positives more and fewer
    "equal": (0.8, 0.1, 0.1, 0.4, 0.05, 0.45),
    "few hits, more false positives": (0.3, 0.05, 0.02, 0.1, 0.4, 0.0),
    "half of the hits lost": (0.8, 0.1, 0.5, 0.0, 0.02, 0.1),
    "nearly all hits lost": (0.95, 0.03, 0.9, 0.0, 0.02, 0.1),
    "false positives where few were": (0.95, 0.03, 0.02, 0.1, 0.4, 0.0),
}


def group_changes(
    rng: Rng, metric: str, groups: int, positives: str, change: str, likeness: float = 0.2, sizes: str = "equal"
) -> tuple[Any, ...]:
    """Two systems in few groups; positives: 1 to 3 in each group, 6 in each of three, 6 in one, or a third of the items."""
    items = np.full(groups, 20) if sizes == "equal" else np.resize([40, 30, 20, 15, 10, 5], groups)
    few = {"in one": 1, "in three": 3}.get(positives, 0)
    p = (
        np.where(np.arange(groups) < few, 6, 0)
        if few
        else rng.integers(1, 4, groups)
        if positives == "1 to 3"
        else rng.binomial(items, 1 / 3)
    )
    mean = float(6 * few or (2 * groups if positives == "1 to 3" else items.sum() / 3))
    recall, false, lost, found, more, fewer = CHANGES[change]
    unit = np.repeat(np.arange(groups), items)
    truth = np.arange(len(unit)) - (np.cumsum(items) - items)[unit] < p[unit]

    def some(share: float) -> Array:
        return rng.random(len(unit)) < alike(rng, share, likeness, groups)[unit]

    a = np.where(truth, some(recall), some(false))
    b = np.where(truth, np.where(a, ~some(lost), some(found)), np.where(a, ~some(fewer), some(more)))
    n, ids = items.sum() - mean, np.arange(len(unit))
    sides = [(recall, false), (recall * (1 - lost) + (1 - recall) * found, false * (1 - fewer) + (1 - false) * more)]
    values = [value_of(metric, ((n * (1 - f), n * f), (mean * (1 - r), mean * r))) for r, f in sides]
    facts = {"id": ids, "truth": truth.astype(np.int64), "group": unit}
    return *(Items.of(prediction=s.astype(np.int64), **facts) for s in (a, b)), values[1] - values[0]


# ---- ranks ----------------------------------------------------------------------------------------------------------------------------


def apart(area: float, spread: float = 1.0) -> float:
    """How far two normal laws lie apart that have this AUC."""
    return float(ndtri(area)) * math.hypot(spread, 1.0)


def ranked(rng: Rng, positives: int, negatives: int, auc: float, spread: float = 1.0, levels: int = 0) -> tuple[Any, ...]:
    """Scores of two normal laws, those of positives spread by `spread`; rounded to so many levels, if any."""
    truth, shift = np.repeat([1, 0], [positives, negatives]), apart(auc, spread)
    score = rng.normal(np.where(truth, shift, 0.0), np.where(truth, spread, 1.0))
    if not levels:
        return Items.of(truth=truth, probability=ndtr(score)), auc
    cuts = np.linspace(-1.0, 1.0 + shift, levels - 1)
    p, q = (np.diff(np.concatenate([[0.0], ndtr((cuts - m) / s), [1.0]])) for m, s in ((shift, spread), (0.0, 1.0)))
    return Items.of(truth=truth, probability=np.searchsorted(cuts, score) / levels), float(p @ (np.cumsum(q) - q / 2))


def two_ranked(
    rng: Rng, positives: int, negatives: int, auc: float, then: float, spread: float = 1.0, after: float = 1.0, paired: bool = True
) -> tuple[Any, ...]:
    """Two systems that share half of the variance of their noise."""
    n, ids, sides = positives + negatives, np.arange(positives + negatives), []
    truth, shared = np.repeat([1, 0], [positives, negatives]), rng.normal(size=n)
    for of, wide in ((auc, spread), (then, after)):
        noise = math.sqrt(0.5) * ((shared if paired else rng.normal(size=n)) + rng.normal(size=n))
        sides.append(Items.of(id=ids, truth=truth, probability=ndtr(np.where(truth, apart(of, wide) + wide * noise, noise))))
    return *sides, then - auc


def group_ranks(
    rng: Rng, sizes: Any, likeness: float, positives: int = 0, auc: float = 0.8413447460685429, then: float = 0.0
) -> tuple[Any, ...]:
    """Normal scores with an effect of their group on all scores of one class; so many positives, else a third; then: of a candidate."""
    items = sizes_of(rng, sizes)
    n, unit = int(items.sum()), np.repeat(np.arange(len(items)), items)
    truth = np.zeros(n, np.int64)
    truth[rng.choice(n, positives, replace=False) if positives else rng.random(n) < 1 / 3] = 1
    group, item, made = rng.normal(size=(len(items), 2)), rng.normal(size=n), []
    for area in (auc, then):
        shift = 0.7**0.5 * group + 0.3**0.5 * rng.normal(size=(len(items), 2))
        alone = 0.5**0.5 * (item + rng.normal(size=n))
        score = apart(area) * truth + likeness**0.5 * shift[unit, truth] + (1 - likeness) ** 0.5 * alone if area else np.zeros(n)
        made.append(Items.of(id=np.arange(n), truth=truth, probability=ndtr(score), group=unit))
    return (*made, then - auc) if then else (made[0], auc)
