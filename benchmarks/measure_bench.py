"""Intervals and counting in memory, beside scikit-learn, SciPy, prob-conf-mat, and NumPy written by hand.

Every duel also checks the answers: estimates equal scikit-learn's to rounding, the ends of intervals equal the peer's within
Monte Carlo error. Ours is timed from the label arrays: reading them, counting, drawing, and the finished result.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

import steelyard as sy
from benchmarks.checks import near, same
from benchmarks.timing import Row, Unmeasured, Wrong, at_least, at_most, below, cpu, duel, megabytes, power, seconds
from steelyard.infer.intervals.table import table_bootstrap
from steelyard.infer.posterior.metrics import f1_posterior
from steelyard.items import Labels
from steelyard.metrics.catalogue import parse
from steelyard.read.open_source import open_source
from steelyard.tally.design import count_labels

DRAWS = 1000
LEVEL = 0.95
Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    yield from macro_f1(quick=quick)
    yield from memory()
    yield from bca(quick=quick)
    yield from counting(quick=quick)
    yield from accuracy(quick=quick)
    yield from f1_interval(quick=quick)


def labels(n: int, k: int, seed: int = 0, kind: Any = np.int64) -> tuple[Ints, Ints]:
    """Skewed classes (k^-1/2), four of five right, most errors on the three next classes."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, k + 1) ** -0.5
    truth = rng.choice(k, n, p=share / share.sum())
    near = rng.random(n) < 0.8
    other = np.where(near, (truth + 1 + rng.integers(0, 3, n)) % k, rng.integers(0, k, n))
    prediction = np.where(rng.random(n) < 0.8, truth, other)
    return truth.astype(kind), prediction.astype(kind)


# ---- macro-F1 by bootstrap -----------------------------------------------------------------------------------------


def ours(truth: Ints, prediction: Ints, interval: str = "percentile", draws: int = DRAWS) -> Any:
    return sy.measure(truth, prediction, metric="macro_f1", interval=interval, draws=draws).row


class Peer:
    """A loop over resampled items. Keeps what it drew, for the check, and takes another seed in every round."""

    def __init__(self, one: Callable[[Ints], float], n: int, draws: int) -> None:
        self.one, self.n, self.draws = one, n, draws
        self.rng = np.random.default_rng(1)
        self.drawn: list[float] = []

    def __call__(self) -> None:
        self.drawn += [self.one(self.rng.integers(0, self.n, self.n)) for _ in range(self.draws)]

    @property
    def scale(self) -> float:
        return DRAWS / self.draws

    @property
    def note(self) -> str:
        return "" if self.draws == DRAWS else f"the peer drew {self.draws} resamples a round, scaled linearly to {DRAWS:,}"


def macro_of_table(table: Ints) -> float:
    hit = table.diagonal()
    return float(np.mean(2 * hit / (table.sum(0) + table.sum(1))))


def by_hand(truth: Ints, prediction: Ints, k: int, draws: int) -> Peer:
    """What a careful person writes: one joint code per item, one gather and one bincount per resample."""
    code = truth * k + prediction
    return Peer(lambda rows: macro_of_table(np.bincount(code[rows], minlength=k * k).reshape(k, k)), len(truth), draws)


def by_sklearn(truth: Ints, prediction: Ints, k: int, draws: int) -> Peer:
    classes = np.arange(k)
    return Peer(lambda rows: float(f1_score(truth[rows], prediction[rows], labels=classes, average="macro")), len(truth), draws)


def macro_f1(*, quick: bool) -> Iterator[Row]:
    rounds = 2 if quick else 5
    plan = {  # (N, K): draws of sklearn, of NumPy by hand, goals
        (10_000, 10): (100, 1000, "measure.macro-sklearn-1e4", "measure.macro-numpy-1e4"),
        (100_000, 10): (40, 250, "measure.macro-sklearn-1e5", "measure.macro-numpy-1e5"),
        (1_000_000, 10): (6, 40, "measure.macro-sklearn-1e6", "measure.macro-numpy-1e6"),
        (1_000_000, 100): (5, 40, "measure.macro-k100-sklearn", "measure.macro-k100-numpy"),
    }
    taken: dict[str, dict[int, float]] = {"ours": {}, "sklearn": {}, "hand": {}}
    for (n, k), (of_sklearn, of_hand, goal, goal_hand) in plan.items():
        truth, prediction = labels(n, k)
        title = f"macro-F1, N={n:,}, K={k}"
        slow, hand = by_sklearn(truth, prediction, k, of_sklearn), by_hand(truth, prediction, k, of_hand)
        against_sklearn = duel(lambda t=truth, p=prediction: ours(t, p), slow, rounds, scale=slow.scale)
        against_hand = duel(lambda t=truth, p=prediction: ours(t, p), hand, rounds, scale=hand.scale)
        _verify_macro(truth, prediction, k, [*hand.drawn, *slow.drawn])
        yield at_least(goal, f"{title}: scikit-learn loop", against_sklearn, slow.note)
        yield at_least(goal_hand, f"{title}: NumPy by hand", against_hand, hand.note)
        if k == 10:
            for name, spent in (("ours", against_hand.ours), ("sklearn", against_sklearn.peer), ("hand", against_hand.peer)):
                taken[name][n] = median(spent)
    yield _growth(rounds)
    yield from _exponents(taken, quick=quick)


def _growth(rounds: int) -> Row:
    small, large = labels(100_000, 10), labels(1_000_000, 10)
    fight = duel(lambda: ours(*large), lambda: ours(*small), 2 * rounds, peer_repeats=5)
    return at_most("measure.macro-growth", "macro-F1, K=10: N=1,000,000 beside N=100,000, both ours", fight)


def _exponents(taken: dict[str, dict[int, float]], *, quick: bool) -> Iterator[Row]:
    """Slopes of log time over log N."""
    if not quick:
        large = labels(10_000_000, 10, kind=np.int32)
        taken["ours"][10_000_000] = cpu(lambda: ours(*large), 3)
    resampling: dict[int, float] = {}
    for n in taken["ours"]:
        truth, prediction = labels(n, 10, kind=np.int32)
        counts = sy.Counts.table(np.bincount(truth * 10 + prediction, minlength=100).reshape(10, 10).tolist())
        macro = parse("macro_f1").of_table()
        resampling[n] = cpu(lambda c=counts, s=macro: table_bootstrap(c, s, "percentile", draws=DRAWS), 5)
    for name, spent in (
        ("resampling alone, ours", resampling),
        ("whole call, ours", taken["ours"]),
        ("NumPy by hand", taken["hand"]),
        ("scikit-learn loop", taken["sklearn"]),
    ):
        slope = float(np.polyfit(np.log(list(spent)), np.log(list(spent.values())), 1)[0])
        shown = ", ".join(f"{n:.0e}: {seconds(t)}" for n, t in spent.items())
        key = "measure.exponent" if name.startswith("resampling") else None
        yield below(key, f"macro-F1, K=10, growth with N: {name}", slope, power, shown)


def _verify_macro(truth: Ints, prediction: Ints, k: int, drawn: list[float]) -> None:
    found = ours(truth, prediction)
    same("macro-F1", (found.estimate,), (f1_score(truth, prediction, labels=np.arange(k), average="macro"),))
    ends = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    near(
        f"macro-F1 interval, N={len(truth)}, K={k}",
        (found.interval.low, found.interval.high),
        ends,
        float(np.std(drawn)),
        len(drawn),
        DRAWS,
    )


def memory() -> Iterator[Row]:
    """Also for a table of thousands of cells with a few items each, where the rare cells are drawn item by item."""
    rng = np.random.default_rng(0)
    for title, (truth, prediction) in {
        "N=1,000,000, K=10": labels(1_000_000, 10),
        "N=1,000,000, K=100": labels(1_000_000, 100),
        "N=100,000, K=128, all cells alike": tuple(rng.integers(0, 128, (2, 100_000))),
    }.items():
        ours(truth, prediction)
        for interval in ("percentile", "bca"):
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            ours(truth, prediction, interval, draws=10_000)
            extra = tracemalloc.get_traced_memory()[1] - before
            tracemalloc.stop()
            yield below("measure.extra-memory", f"peak extra memory, {title}, B=10,000, {interval}", extra, megabytes)


# ---- BCa -----------------------------------------------------------------------------------------------------------


def bca(*, quick: bool) -> Iterator[Row]:
    from scipy.stats import bootstrap

    n, k = 10_000, 10
    truth, prediction = labels(n, k)
    code = truth * k + prediction

    def fast(drawn: Ints) -> float:
        return macro_of_table(np.bincount(drawn, minlength=k * k).reshape(k, k))

    found = ours(truth, prediction, "bca").interval
    for name, batch, key, rounds in (("its defaults", None, "measure.bca", 1 if quick else 3), ("batch=100", 100, None, 3 if quick else 5)):
        answers: list[Any] = []

        def peer(batch: int | None = batch, answers: list[Any] = answers) -> None:
            rng = np.random.default_rng(len(answers))
            answers.append(bootstrap((code,), fast, vectorized=False, method="BCa", n_resamples=DRAWS, batch=batch, rng=rng))

        fight = duel(lambda: ours(truth, prediction, "bca"), peer, rounds)
        for answer in answers:
            ends = answer.confidence_interval
            near("BCa", (found.low, found.high), (ends.low, ends.high), float(answer.standard_error), DRAWS, DRAWS)
        note = "" if batch else "its jackknife makes an N x N array (800 MB) unless batch= is given; the next row gives it"
        yield at_least(key, f"BCa of macro-F1, N=10,000, K=10: scipy.stats.bootstrap, fast statistic, {name}", fight, note)


# ---- counting ------------------------------------------------------------------------------------------------------


def counting(*, quick: bool) -> Iterator[Row]:
    n = 10_000_000  # also when quick: a million rows stay in the cache, and then summing them is another task
    rounds = 3 if quick else 5
    names = tuple(map(str, range(10)))
    for kind in (np.int8, np.int32, np.int64):
        truth, prediction = labels(n, 10, kind=kind)
        title = f"counting, N={n:,} {np.dtype(kind).name}"

        def summed(t: Ints = truth, p: Ints = prediction) -> None:
            t.sum(), p.sum()

        def kernel(t: Ints = truth, p: Ints = prediction) -> sy.Counts:
            return count_labels(Labels(t, names), Labels(p, names))

        def door(t: Ints = truth, p: Ints = prediction) -> sy.Counts:
            items = open_source(t, p, columns={}).items()
            return count_labels(items.truth, items.prediction)

        expected = confusion_matrix(truth, prediction)
        for found in (kernel(), door()):
            if not np.array_equal(dense(found), expected):
                raise Wrong(f"{title}: another table than scikit-learn's")
        key = "measure.counting-int64" if kind is np.int64 else "measure.counting-sums"
        yield at_most(key, f"{title}: codes to table, beside the two sums", duel(kernel, summed, rounds, repeats=3, peer_repeats=3))
        yield at_most(key, f"{title}: arrays to table, beside the two sums", duel(door, summed, rounds, repeats=3, peer_repeats=3))
        if kind is not np.int64:
            against = duel(door, lambda t=truth, p=prediction: confusion_matrix(t, p), 2 if quick else 3, repeats=3)
            yield at_least("measure.counting-sklearn", f"{title}: arrays to table, sklearn confusion_matrix", against)
    yield from _texts(rounds=1 if quick else 3)


def dense(counts: sy.Counts) -> Ints:
    out = np.zeros((counts.classes, counts.classes), np.int64)
    out[list(counts.truth), list(counts.prediction)] = counts.count
    return out


def _texts(rounds: int) -> Iterator[Row]:
    truth, prediction = labels(1_000_000, 10)
    names = np.array([f"class {i}" for i in range(10)])
    for kind, t, p in (
        ("objects", names.astype(object)[truth], names.astype(object)[prediction]),
        ("<U7", names[truth], names[prediction]),
    ):

        def door(t: Any = t, p: Any = p) -> sy.Counts:
            items = open_source(t, p, columns={}).items()
            return count_labels(items.truth, items.prediction)

        if not np.array_equal(dense(door()), confusion_matrix(t, p)):
            raise Wrong("texts: another table than scikit-learn's")
        fight = duel(door, lambda t=t, p=p: confusion_matrix(t, p), rounds, repeats=3)
        yield at_least(None, f"counting, N=1,000,000 texts ({kind}): sklearn confusion_matrix", fight)


# ---- accuracy ------------------------------------------------------------------------------------------------------


def accuracy(*, quick: bool) -> Iterator[Row]:
    from scipy.stats import bootstrap

    truth, prediction = labels(10_000, 10)
    right = (truth == prediction).astype(float)
    answers: list[Any] = []

    def peer() -> None:
        answers.append(bootstrap((right,), np.mean, method="percentile", n_resamples=DRAWS, rng=np.random.default_rng(len(answers))))

    for interval, how in (("wilson", "Wilson"), ("percentile", "ideal bootstrap, B = infinity")):

        def call(interval: str = interval) -> Any:
            return sy.measure(truth, prediction, metric="accuracy", interval=interval).row

        fight = duel(call, peer, 3 if quick else 7, loops=20)
        found = call()
        same("accuracy", (found.estimate,), (accuracy_score(truth, prediction),))
        for answer in answers:
            ends = answer.confidence_interval
            # Wilson's ends are not the bootstrap's, but at this N they differ by far less than its Monte Carlo error
            near(how, (found.interval.low, found.interval.high), (ends.low, ends.high), float(answer.standard_error), DRAWS, math.inf)
        note = "the peer's default is 9,999 resamples; 1,000 were timed" if interval == "wilson" else ""
        yield at_least("measure.accuracy-scipy", f"accuracy, N=10,000, {how}: scipy.stats.bootstrap(mean), B=1,000", fight, note)


# ---- the posterior of F1 -------------------------------------------------------------------------------------------


def f1_interval(*, quick: bool) -> Iterator[Row | Unmeasured]:
    if find_spec("prob_conf_mat") is None:
        yield Unmeasured(("measure.posterior-time", "measure.posterior-peer"), "prob-conf-mat is not installed (extra `bench`)")
        return
    from prob_conf_mat import Study

    tp, fp, fn, tn = 31, 5, 2, 62
    counts = sy.Counts.binary(tp=tp, fp=fp, fn=fn, tn=tn)
    drawn: list[Floats] = []

    def peer() -> None:
        study = Study(seed=len(drawn), num_samples=10_000, ci_probability=LEVEL)
        # 1 per class beside 1/2 per cell is the Dirichlet(1/2) on the four cells that ours has
        study.add_experiment("model/test", confusion_matrix=[[tn, fp], [fn, tp]], prevalence_prior=1.0, confusion_prior=0.5)
        study.add_metric("f1")
        values = study.get_metric_samples("f1", experiment_name="model/test", sampling_method="posterior").values
        np.quantile(values[:, 1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        drawn.append(values[:, 1])

    def public() -> tuple[float, float]:
        return sy.posterior(counts, "f1").interval()

    def inner() -> tuple[float, float]:
        return f1_posterior(tp, fp, fn).interval()

    if len({public() for _ in range(100)} | {inner() for _ in range(100)}) != 1:
        raise Wrong("the F1 interval is not the same every time")
    rounds = 3 if quick else 7
    for name, call in (("sy.posterior(counts, 'f1').interval()", public), ("f1_posterior(31, 5, 2).interval()", inner)):
        fight = duel(call, peer, rounds, loops=500)
        note = "bit-equal in 100 calls each; the peer samples 10,000 values, its default"
        yield below("measure.posterior-time", f"{name}", median(fight.ours), seconds, note)
        yield at_least("measure.posterior-peer", f"{name}: prob-conf-mat", fight)
    pool = np.concatenate(drawn)
    ends = np.quantile(pool, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    near("F1 posterior", public(), ends, 1.5 * float(pool.std()), len(pool), math.inf)  # a skew law: its far tail is thinner
