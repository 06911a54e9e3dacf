"""Every goal of speed of the ladder: a call of ours, a peer, and how many times the peer's time ours may take.

CPU time of one thread; ours and the peer take turns, and the best turn of each counts. Every turn reads its columns anew: what an
`Items` has read is kept in it, so each call makes its own.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import steelyard_old as old
from steelyard.data.items import Items
from steelyard.engines.one import How, measure
from steelyard.engines.two import compare

K, DRAWS, SLACK = 10, 10_000, 1.1
WEIGHED = ("accuracy", "mean", "brier")
SIZES = (10_000, 100_000, 1_000_000)
ROUNDS, SECONDS = 7, 1.5  # turns of each side: until both have taken so long, at least two, at most so many
Columns = dict[str, Any]
Calls = tuple[Callable[[], Any], Callable[[], Any] | float]  # ours and the peer, or the seconds that ours may take

HEAD = f"| {'row':58} | {'ours ms':>9} | {'peer ms':>12} | {'ratio':>9} | {'goal':>9} | ok? |"
RULE = f"| {'-' * 58} | {'-' * 8}: | {'-' * 11}: | {'-' * 8}: | {'-' * 8}: | --- |"


@dataclass(frozen=True)
class Told:
    """What came of a row. peer: seconds; error: why there is nothing."""

    name: str
    goal: float
    ours: float = 0.0
    peer: float = 1.0
    error: str = ""

    @property
    def ok(self) -> bool:
        return not self.error and self.ours <= self.goal * self.peer

    @property
    def line(self) -> str:
        if self.error:
            return f"| {self.name:58} | {self.error} | | | {shown(self.goal):>9} | **no** |"
        word = "yes" if self.ok else "**no**"
        times = f"{1e3 * self.ours:9,.2f} | {1e3 * self.peer:12,.2f}"
        return f"| {self.name:58} | {times} | {shown(self.ours / self.peer):>9} | {shown(self.goal):>9} | {word} |"


def shown(ratio: float) -> str:
    return f"{ratio:,.2f}" if ratio >= 0.05 else f"1/{1 / ratio:,.0f}"


@dataclass(frozen=True)
class Row:
    """make: the two calls, whose data are made only when the row is asked for. scale: what the peer's time is multiplied by."""

    name: str
    make: Callable[[], Calls]
    goal: float = SLACK
    scale: float = 1.0

    def run(self) -> Told:
        try:
            ours, peer = self.make()
            if isinstance(peer, float):
                return Told(self.name, self.goal, min(cpu(ours) for _ in range(3)), peer)
            return Told(self.name, self.goal, *duel(ours, peer, self.scale))
        except Exception as fault:
            return Told(self.name, self.goal, error=f"{type(fault).__name__}: {str(fault)[:160]}")


@dataclass(frozen=True)
class Weight(Row):
    """The most megabytes that ours holds at once beyond what was there, beside the peer's number of them: printed as milliseconds are."""

    def run(self) -> Told:
        try:
            ours, peer = self.make()
            assert isinstance(peer, float)
            tracemalloc.start()
            ours()
            return Told(self.name, self.goal, tracemalloc.get_traced_memory()[1] / 1e9, peer / 1e9)
        except Exception as fault:
            return Told(self.name, self.goal, error=f"{type(fault).__name__}: {str(fault)[:160]}")
        finally:
            tracemalloc.stop()


def cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def duel(ours: Callable[[], Any], peer: Callable[[], Any], scale: float) -> tuple[float, float]:
    """The best turn of each; what takes less than 5 ms is called several times in a turn."""
    first = [cpu(ours), cpu(peer)]
    loops = [max(1, int(0.005 / max(once, 1e-5))) for once in first]
    best, spent = [np.inf, np.inf], 0.0
    for turn in range(ROUNDS * 3):
        for side, call in enumerate((ours, peer)):
            taken = cpu(lambda call=call, side=side: [call() for _ in range(loops[side])])
            best[side], spent = min(best[side], taken / loops[side]), spent + taken
        if turn and spent > SECONDS and (turn >= ROUNDS or spent > 4 * SECONDS):
            break
    return best[0], best[1] * scale


# ---- data -------------------------------------------------------------------------------------------------------------------------


@cache
def codes(n: int, k: int = K) -> tuple[Any, Any, Any]:
    """Truths of skewed classes and the answers of two systems, four of five right, that differ in every tenth item."""
    rng = np.random.default_rng(0)
    share = np.arange(1, k + 1) ** -0.5
    truth = rng.choice(k, n, p=share / share.sum())
    one = np.where(rng.random(n) < 0.8, truth, rng.integers(0, k, n))
    two = np.where(rng.random(n) < 0.1, rng.integers(0, k, n), one)
    kind = np.uint8 if k < 256 else np.int64
    return truth.astype(kind), one.astype(kind), two.astype(kind)


@cache
def columns(n: int, reads: str) -> tuple[Columns, Columns]:
    """What two systems bring to a metric that reads labels, scores, numbers, probabilities, or a ratio."""
    rng = np.random.default_rng(1)
    if reads == "labels":
        truth, one, two = codes(n)
        return {"truth": truth, "prediction": one}, {"truth": truth, "prediction": two}
    noise, more = rng.normal(0, 1, n), rng.normal(0, 0.3, n)
    if reads == "scores":
        return tuple({"score": 1 / (1 + np.exp(-x))} for x in (noise, noise + more))  # type: ignore[return-value]
    if reads == "numbers":
        truth = rng.normal(5, 2, n)
        return tuple({"truth": truth, "prediction": truth + x} for x in (noise, noise + more))  # type: ignore[return-value]
    if reads == "ratio":
        below = rng.integers(1, 30, n).astype(float)
        return tuple({"above": np.round(below * np.abs(x) / 4), "below": below} for x in (noise, noise + more))  # type: ignore[return-value]
    truth = (rng.random(n) < 0.4).astype(np.uint8)
    return tuple({"truth": truth, "probability": 1 / (1 + np.exp(-(2.0 * truth - 1 + x)))} for x in (noise, noise + more))  # type: ignore[return-value]


def design_columns(n: int, design: str) -> Columns:
    """What rows belong to: groups of a hundred, five answers to an item, a weight each."""
    rng = np.random.default_rng(2)
    if design == "groups":
        return {"group": rng.integers(0, n // 100, n)}
    if design == "repeats":
        return {"id": np.repeat(np.arange(n // 5), 5), "repeat": np.tile(np.arange(5), n // 5)}
    return {"weight": rng.random(n) + 0.2} if design == "weights" else {}


def of_items(data: Columns, design: str) -> Columns:
    """Repeats of an item have one truth."""
    if design != "repeats" or "truth" not in data:
        return data
    return {**data, "truth": np.repeat(data["truth"][::5], 5)}


# ---- the old house ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A metric, what it reads, and what is said beside."""

    name: str
    metric: str
    reads: str
    said: tuple[tuple[str, Any], ...] = ()

    @property
    def how(self) -> How:
        return How(**{key: value for key, value in self.said if key != "ratio"})


QUESTIONS = (
    Question("accuracy", "accuracy", "labels"),
    Question("macro_f1", "macro_f1", "labels"),
    Question("mcc", "mcc", "labels"),
    Question("f1 of a class", "f1", "labels", (("positive", "3"),)),
    Question("mean", "mean", "scores"),
    Question("mean, known range", "mean", "scores", (("range", (0.0, 1.0)),)),
    Question("ratio", "ratio", "ratio", (("ratio", "above/below"),)),
    Question("rmse", "rmse", "numbers"),
    Question("brier", "brier", "probabilities", (("positive", "1"),)),
    Question("auc", "auc", "probabilities", (("positive", "1"),)),
)


def measured(metric: str, data: Columns, how: How) -> Any:
    """Ours, with everything that is only worked out when asked for."""
    (found,) = measure(metric, Items.of(**data), how)
    return found.interval()


def compared(metric: str, one: Columns, two: Columns, how: How) -> Any:
    (found,) = compare(metric, Items.of(**one), Items.of(**two), how)
    return found.interval(), found.p_value


def calls(q: Question, n: int, verb: str, design: str) -> Calls:
    one, two = (of_items({**own, **design_columns(n, design)}, design) for own in columns(n, q.reads))
    said: Columns = dict(q.said)
    metric = f"{q.metric}:{said['ratio']}" if "ratio" in said else q.metric
    if design == "weights":
        said["weight"] = "weight"
    if verb == "measure":
        return partial(measured, metric, one, q.how), lambda: old.measure(one, metric=q.metric, **said)
    return partial(compared, metric, one, two, q.how), lambda: old.compare(one, two, metric=q.metric, **said)


def beside_old() -> Iterator[Row]:
    for n in SIZES:
        for q in QUESTIONS:
            for verb in ("measure", "compare"):
                yield Row(f"old: {verb} {q.name}, {n:,} items", partial(calls, q, n, verb, ""))
    for design in ("groups", "repeats", "weights"):
        for q in QUESTIONS:
            if design == "groups" or q.reads in ("labels", "scores") or (design == "weights" and q.metric != "auc"):
                # the old house compares nothing but means where items weigh
                for verb in ("measure", "compare") if design != "weights" or q.metric in WEIGHED else ("measure",):
                    yield Row(f"old: {verb} {q.name}, 100,000 items, {design}", partial(calls, q, 100_000, verb, design))


# ---- other peers --------------------------------------------------------------------------------------------------------------------


def sklearn_loop(n: int, draws: int) -> Calls:
    """A bootstrap of macro F1 as people write it, on a few draws."""
    from sklearn.metrics import f1_score

    truth, said, _ = codes(n)
    rng = np.random.default_rng(3)

    def peer() -> None:
        for _ in range(draws):
            rows_ = rng.integers(0, n, n)
            f1_score(truth[rows_], said[rows_], average="macro")

    return partial(measured, "macro_f1", {"truth": truth, "prediction": said}, How(interval="percentile", draws=DRAWS)), peer


def inner_loop(n: int) -> Calls:
    """The randomization test of macro F1, beside its coins and its tables alone: what moves, both systems' counts, both metrics."""
    truth, one, two = (x.astype(np.int64) for x in codes(n))
    differ = one != two
    t, low, high = truth[differ], np.minimum(one, two)[differ], np.maximum(one, two)[differ]
    cell, many = np.unique((t * K + low) * K + high, return_counts=True)
    t, low, high = cell // K**2, cell // K % K, cell % K
    gap, kinds = np.zeros((len(cell), 2 * K)), np.arange(len(cell))
    gap[kinds, low] += t == low
    gap[kinds, high] -= t == high
    gap[kinds, K + low] += 1
    gap[kinds, K + high] -= 1
    gap, place = np.unique(gap, axis=0, return_inverse=True)  # a truth that neither said moves nothing
    many = np.bincount(place.ravel(), many).astype(np.int64)
    seen = [np.concatenate([np.bincount(truth[truth == x], minlength=K), np.bincount(x, minlength=K)]) for x in (one, two)]
    middle, of_truth = (seen[0] + seen[1]) / 2.0, np.bincount(truth, minlength=K)
    words = -(-many // 64)  # of random bits; the last one of a kind is cut to what is left
    starts, cut = np.cumsum(words) - words, np.zeros(words.sum(), np.uint64)
    cut[starts + words - 1] = (64 * words - many).astype(np.uint64)

    def metric(s: Any) -> Any:
        return (2 * s[:, :K] / (of_truth + s[:, K:])).mean(1)

    def peer() -> int:
        rng, far = np.random.Generator(np.random.PCG64(0)), 0
        for _ in range(0, DRAWS, 1_000):
            bits = np.bitwise_count(rng.integers(0, 2**64, (len(cut), 1_000), dtype=np.uint64) >> cut[:, None])
            heads = bits[starts].astype(float)
            for more in range(1, words.max()):
                heads[words > more] += bits[starts[words > more] + more]
            moved = heads.T @ gap - many @ gap / 2
            far += int(np.count_nonzero(np.abs(metric(middle + moved) - metric(middle - moved)) >= 0.001))
        return far

    data = ({"truth": truth.astype(np.uint8), "prediction": x.astype(np.uint8)} for x in (one, two))
    return partial(compared, "macro_f1", *data, How(test="randomization")), peer


def two_passes() -> Calls:
    """Accuracy of two systems beside two counting passes over the joint code of two columns."""
    truth, one, two = codes(10_000_000)

    def peer() -> None:
        for said in (one, two):
            np.bincount(truth.astype(np.intp) * K + said, minlength=K * K)

    return partial(compared, "accuracy", {"truth": truth, "prediction": one}, {"truth": truth, "prediction": two}, How()), peer


def sorts(verb: str) -> Calls:
    one, two = columns(300_000, "scores")
    return (partial(measured, "mean", one, How()) if verb == "measure" else partial(compared, "mean", one, two, How())), partial(
        np.sort, one["score"]
    )


def many_labels(k: int, n: int, metric: str, verb: str, most: float) -> Calls:
    """All k labels, equally often; an answer that is wrong is one of the next three."""
    rng = np.random.default_rng(4)
    truth = rng.permutation(np.arange(n) % k)
    one, two = (np.where(rng.random(n) < right, truth, (truth + rng.integers(1, 4, n)) % k) for right in (0.8, 0.81))
    a, b = ({"truth": truth, "prediction": x} for x in (one, two))
    return (partial(measured, metric, a, How()) if verb == "measure" else partial(compared, metric, a, b, How())), most


def real_scores() -> Calls:
    one, two = columns(1_000_000, "scores")
    return partial(compared, "mean", one, two, How()), 0.5


def ranked(systems: int, kind: str, seconds: float) -> Calls:
    from steelyard.engines.many import rank

    rng = np.random.default_rng(5)
    hard, good = rng.normal(0, 1, 1_000), rng.normal(0.5, 0.3, systems)
    raw = good[:, None] - hard + rng.normal(0, 1, (systems, 1_000))
    scores = (raw > 0).astype(float) if kind == "right or wrong" else 1 / (1 + np.exp(-raw))
    metric, runs = ("accuracy" if kind == "right or wrong" else "mean"), [f"s{i:03d}" for i in range(systems)]

    def ours() -> Any:
        board = rank(metric, {name: Items.of(score=x) for name, x in zip(runs, scores, strict=True)})
        return board, [answer.interval() for answer in board.answers]

    return ours, seconds


def goals() -> Iterator[Row]:
    for n, draws, times in ((10_000, 50, 300), (100_000, 10, 2_000), (1_000_000, 3, 15_000)):
        yield Row(f"sklearn: macro_f1 interval, {n:,} items", partial(sklearn_loop, n, draws), 1 / times, DRAWS / draws)
    for n in SIZES[:2]:
        yield Row(f"inner loop: randomization of macro_f1, {n:,} items", partial(inner_loop, n), 1.3)
    yield Row("passes: compare accuracy, 10,000,000 items", two_passes, 1.0)
    for verb in ("measure", "compare"):
        yield Row(f"sorts: {verb} mean, 300,000 scores", partial(sorts, verb), 40.0)
    for metric in ("macro_f1", "mcc"):
        for verb in ("measure", "compare"):
            yield Row(f"labels: {verb} {metric}, 2,000 labels, s", partial(many_labels, 2_000, 2_000, metric, verb, 1.0), 1.0)
            yield Weight(f"labels: {verb} {metric}, 2,000 labels, MB", partial(many_labels, 2_000, 2_000, metric, verb, 300e6), 1.0)
            yield Row(f"labels: {verb} {metric}, 20,000 labels, any", partial(many_labels, 20_000, 20_000, metric, verb, 60.0), 1.0)
    yield Row("limit: compare mean, 1,000,000 scores", real_scores, 1.0)
    yield Row("rank: 200 x 1,000 right or wrong", partial(ranked, 200, "right or wrong", 1.5), 1.0)
    yield Row("rank: 50 x 1,000 real scores", partial(ranked, 50, "scores", 2.0), 1.0)


def rows() -> Iterator[Row]:
    yield from beside_old()
    yield from goals()
