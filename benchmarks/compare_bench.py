"""Two systems on the same items: tests and intervals beside scikit-learn, SciPy and NumPy by hand, and two files beside DuckDB's join.

Ours is `sy.compare`, as a user calls it for what the peer gives: it pairs, checks, and gives the difference with its interval and its
test. Each system's own interval and the chance to be better of a metric of a table are drawn when they are read; the rows that say
"every number read" read them, as printing does. Rows that say "inside" time the functions of `sy.compare` that do what the peer does
and no more. Every duel also checks the answer: p-values and ends of intervals within Monte Carlo error of
the peer's, joint tables equal cell by cell.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import f1_score

import steelyard as sy
from benchmarks.checks import near, same, same_share
from benchmarks.measure_bench import labels, macro_of_table
from benchmarks.timing import (
    Child,
    Duel,
    Row,
    Unmeasured,
    Wrong,
    at_least,
    at_most,
    below,
    command,
    cpu,
    duel,
    environment,
    megabytes,
    power,
    power_of_systems,
    run,
    scratch,
    seconds,
    unjudged,
)
from steelyard.infer.paired.randomization import randomize
from steelyard.infer.paired.sums import paired_resampled
from steelyard.infer.paired.table import paired_bootstrap_test
from steelyard.metrics.catalogue import parse
from steelyard.metrics.sums import QUOTIENT
from steelyard.tally.joint import JointCounts
from steelyard.tally.pairs import joint_of_codes
from steelyard.tally.sums import sum_units

DRAWS, K = 1000, 10
NAMES = tuple(map(str, range(K)))
MACRO = parse("macro_f1").of_table()
Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
Three = tuple[Ints, Ints, Ints]


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    yield from macro_f1(quick=quick)
    yield from accuracy(quick=quick)
    yield from signs(quick=quick)
    yield from groups(quick=quick)
    yield from boards(quick=quick)
    yield from counting(quick=quick)
    yield from files(quick=quick)


def two(n: int, kind: Any = np.int64) -> Three:
    """Two systems that share three quarters of their answers; both err as in `labels`: four of five on the next three classes."""
    truth, a = labels(n, K, kind=kind)
    rng = np.random.default_rng(1)
    other = np.where(rng.random(n) < 0.8, (truth + 1 + rng.integers(0, 3, n)) % K, rng.integers(0, K, n))
    own = np.where(rng.random(n) < 0.81, truth, other)
    return truth, a, np.where(rng.random(n) < 0.75, a, own).astype(kind)


def count(truth: Ints, a: Ints, b: Ints) -> JointCounts:
    return joint_of_codes(truth, a, b, K, NAMES, K)


# ---- macro-F1 ------------------------------------------------------------------------------------------------------


class Peer:
    """A loop over items that keeps its differences; scaled linearly to DRAWS where it would take minutes."""

    def __init__(self, one: Callable[[np.random.Generator], float], draws: int) -> None:
        self.one, self.draws, self.rng = one, draws, np.random.default_rng(2)
        self.drawn: list[float] = []

    def __call__(self) -> None:
        self.drawn += [self.one(self.rng) for _ in range(self.draws)]

    @property
    def scale(self) -> float:
        return DRAWS / self.draws

    @property
    def note(self) -> str:
        return "" if self.draws == DRAWS else f"the peer drew {self.draws} times a round, scaled linearly to {DRAWS:,}"


def by_sklearn(truth: Ints, prediction: Ints) -> float:
    return float(f1_score(truth, prediction, labels=np.arange(K), average="macro"))


def by_hand(truth: Ints, prediction: Ints) -> float:
    return macro_of_table(np.bincount(truth * K + prediction, minlength=K * K).reshape(K, K))


def swapped(data: Three, f1: Callable[[Ints, Ints], float]) -> Callable[[np.random.Generator], float]:
    truth, a, b = data

    def one(rng: np.random.Generator) -> float:
        swap = rng.random(len(truth)) < 0.5
        return f1(truth, np.where(swap, a, b)) - f1(truth, np.where(swap, b, a))

    return one


def resampled(data: Three, f1: Callable[[Ints, Ints], float]) -> Callable[[np.random.Generator], float]:
    truth, a, b = data

    def one(rng: np.random.Generator) -> float:
        rows = rng.integers(0, len(truth), len(truth))
        return f1(truth[rows], b[rows]) - f1(truth[rows], a[rows])

    return one


def macro_f1(*, quick: bool) -> Iterator[Row]:
    rounds = 2 if quick else 5
    plan = {  # N: draws of sklearn, of NumPy by hand; goals of the randomization against both, of the bootstrap against sklearn
        10_000: (30, 300, "compare.swap-sklearn-1e4", "compare.swap-numpy-1e4", "compare.redraw-sklearn-1e4"),
        100_000: (12, 60, "compare.swap-sklearn-1e5", "compare.swap-numpy-1e5", "compare.redraw-sklearn-1e5"),
        1_000_000: (3, 12, "compare.swap-sklearn-1e6", "compare.swap-numpy-1e6", "compare.redraw-sklearn-1e6"),
    }
    for n, (of_sklearn, of_hand, goal, goal_hand, goal_boot) in plan.items():
        data = two(n)
        delta = by_hand(data[0], data[2]) - by_hand(data[0], data[1])
        title = f"macro-F1 of two systems, N={n:,}, K={K}, B=1,000"

        def exchange(data: Three = data) -> Any:
            return sy.compare(*data, metric="macro_f1", test="randomization", draws=DRAWS).test

        def redraw(data: Three = data) -> Any:
            return sy.compare(*data, metric="macro_f1", test="bootstrap", draws=DRAWS).test

        def exchange_whole(data: Three = data) -> Any:
            return sy.compare(*data, metric="macro_f1", test="randomization", draws=DRAWS).to_dict()

        def exchange_inside(data: Three = data) -> Any:
            return randomize(count(*data), MACRO, draws=DRAWS)

        def redraw_inside(data: Three = data) -> Any:
            return paired_bootstrap_test(count(*data), MACRO, alternative="two-sided", draws=DRAWS)

        if not abs(exchange().statistic - (by_sklearn(data[0], data[2]) - by_sklearn(data[0], data[1]))) < 1e-12:
            raise Wrong(f"{title}: another difference than scikit-learn's")
        for ours, inside, how in (
            (exchange, exchange_inside, "approximate randomization"),
            (redraw, redraw_inside, "paired bootstrap"),
        ):
            if ours().p_value != inside().p_value:
                raise Wrong(f"{title}: {how} has another p than the functions inside")
            fight = duel(ours, inside, rounds, repeats=3, peer_repeats=3)
            yield at_most("compare.call-core" if n == 10_000 else None, f"{title}, {how}: the functions inside", fight)
        fight = duel(exchange_whole, exchange_inside, rounds)
        yield at_most(None, f"{title}, every number read: the functions inside", fight)
        for ours, how, draw, far, goals in (
            (exchange, "approximate randomization", swapped, lambda d, delta=delta: np.abs(d) >= abs(delta), (goal, goal_hand)),
            (redraw, "paired bootstrap", resampled, lambda d, delta=delta: np.abs(d - delta) >= abs(delta), (goal_boot, None)),
        ):
            for name, f1, draws, aim in (
                ("scikit-learn loop", by_sklearn, of_sklearn, goals[0]),
                ("NumPy by hand", by_hand, of_hand, goals[1]),
            ):
                peer = Peer(draw(data, f1), draws)
                fight = duel(ours, peer, rounds, scale=peer.scale)
                same_share(f"{title}: {how}", ours().p_value, float(np.mean(far(np.array(peer.drawn)))), len(peer.drawn), DRAWS)
                yield at_least(aim, f"{title}, {how}: {name}", fight, peer.note)


# ---- right or wrong, scores, groups --------------------------------------------------------------------------------


def accuracy(*, quick: bool) -> Iterator[Row]:
    from scipy.stats import permutation_test

    truth, a, b = two(10_000)
    right = [(side == truth).astype(float) for side in (a, b)]
    answers: list[float] = []

    def ours() -> float:
        return sy.compare(truth, a, b, test="mcnemar-exact").p_value

    def peer() -> None:
        rng = np.random.default_rng(len(answers))
        found = permutation_test(
            (right[1], right[0]),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=9999,
            batch=500,
            rng=rng,
        )
        answers.append(float(found.pvalue))

    fight = duel(ours, peer, 1 if quick else 3, loops=20)
    for p in answers:
        same_share("accuracy", ours(), p, 9999, math.inf)
    note = "exact p of McNemar beside the peer's default 9,999 permutations, in batches of 500 (unbatched it needs 1.6 GB)"
    yield at_least("compare.exact-scipy", "accuracy of two systems, N=10,000, exact test: scipy.stats.permutation_test", fight, note)


def signs(*, quick: bool) -> Iterator[Row]:
    for n, draws in ((10_000, 1000), (100_000, 200)):
        rng = np.random.default_rng(3)
        gap = rng.normal(0.3 / math.sqrt(n), 1.0, n)

        def one(rng: np.random.Generator, gap: Floats = gap) -> float:
            return float(np.mean(gap * rng.choice([-1.0, 1.0], len(gap))))

        nothing = {"score": np.zeros(n)}

        def ours(gap: Floats = gap, nothing: dict[str, Any] = nothing) -> Any:
            return sy.compare(nothing, {"score": gap}, metric="mean", test="sign-flip")

        peer = Peer(one, draws)
        fight = duel(ours, peer, 2 if quick else 5, scale=peer.scale)
        same_share("sign flip", ours().p_value, float(np.mean(np.abs(peer.drawn) >= abs(gap.mean()))), len(peer.drawn), math.inf)
        yield at_least("compare.sign-flip", f"sign flip of real scores, N={n:,}, beside B=1,000 draws: naive NumPy", fight, peer.note)
    from scipy.stats import norm

    times: dict[int, float] = {}
    for n in (100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000):
        rng = np.random.default_rng(3)
        a = rng.normal(size=n)
        b = a + rng.normal(2 / math.sqrt(n), 1.0, n)

        def whole(a: Floats = a, b: Floats = b) -> Any:
            return sy.compare({"score": a}, {"score": b}, metric="mean", test="sign-flip")

        z = float((b - a).sum() / math.sqrt(float(((b - a) ** 2).sum())))
        if not abs(whole().p_value - 2 * norm.sf(abs(z))) < 1e-4:
            raise Wrong(f"sign flip of {n:,} scores: far from the normal law")
        times[n] = min(duel(whole, lambda: None, 2 if quick else 5, repeats=1 if n > 1_000_000 else 5).ours)
    yield below("compare.sign-flip-time", "sign flip of real scores, N=1,000,000: CPU time of the call", times[1_000_000], seconds)
    growth = math.log10(times[max(times)] / times[100_000]) / math.log10(max(times) / 100_000)
    shown = ", ".join(f"{n:.0e}: {seconds(t)}" for n, t in times.items())
    yield below("compare.sign-flip-growth", f"the same: growth from N=100,000 to {max(times):,}", growth, power, shown)


def groups(*, quick: bool) -> Iterator[Row]:
    """The peer draws groups and puts their items one after the other."""
    for n, units, draws, goal in ((1_000_000, 1000, 10, "compare.groups"), (100_000, 5000, 50, None)):
        rng = np.random.default_rng(4)
        unit = np.arange(n) // (n // units)
        base = rng.normal(size=units)[unit]
        a, b = (base + rng.normal(shift, 1.0, n) for shift in (0.0, 0.02))
        items = np.split(np.arange(n), units)

        def ours(unit: Ints = unit, a: Floats = a, b: Floats = b) -> tuple[float, float]:
            sides = [{"score": side, "group": unit} for side in (a, b)]
            found = sy.compare(*sides, metric="mean", interval="percentile", draws=DRAWS).difference.interval
            assert found is not None
            return found.low, found.high

        def inside(unit: Ints = unit, a: Floats = a, b: Floats = b, units: int = units) -> tuple[float, float, int]:
            sides = [sum_units(np.stack([np.ones(len(side)), side], axis=1), unit, units) for side in (a, b)]
            return paired_resampled(sides[0], sides[1], QUOTIENT, "percentile", draws=DRAWS)

        def one(rng: np.random.Generator, items: list[Ints] = items, a: Floats = a, b: Floats = b) -> float:
            rows = np.concatenate([items[g] for g in rng.integers(0, len(items), len(items))])
            return float(b[rows].mean() - a[rows].mean())

        peer = Peer(one, draws)
        fight = duel(ours, peer, 2 if quick else 5, scale=peer.scale)
        drawn = np.array(peer.drawn)
        for found in (ours(), inside()[:2]):
            near("group bootstrap", found, np.quantile(drawn, [0.025, 0.975]), float(drawn.std()), len(drawn), DRAWS)
        title = f"group bootstrap, {units:,} groups of {n // units:,}, B=1,000"
        yield at_least(goal, f"{title}: concatenating items", fight, peer.note)
        yield at_most(None, f"{title}: the functions inside", duel(ours, inside, 2 if quick else 5))


def boards(*, quick: bool) -> Iterator[Row | Unmeasured]:
    """All pairs of many systems. The peer has right and wrong as arrays already, and gives p of each pair and nothing else."""
    from statsmodels.stats.contingency_tables import mcnemar

    rng, n, ids = np.random.default_rng(5), 1_000, [f"item {i}" for i in range(1_000)]
    sizes = (25, 50) if quick else (50, 100, 200)
    right = [rng.random(n) < 0.5 + 0.3 * system / sizes[-1] for system in range(sizes[-1])]
    runs = [{"id": ids, "score": one.astype(int)} for one in right]
    fifty = list(itertools.combinations(right[:50], 2))

    def ours() -> Any:
        return sy.rank(*runs[:50], test="mcnemar-exact")

    def peer() -> list[float]:
        return [mcnemar([[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]], exact=True).pvalue for a, b in fifty]

    same("a board of 50 systems, p of every pair", [pair.p_value for pair in ours().pairs], peer(), 1e-9)
    fight = duel(ours, peer, 2 if quick else 5, repeats=1)
    note = "ours also reads, matches and corrects, and gives intervals, tiers and a sentence for every pair"
    yield at_least("compare.board-statsmodels", "a board of 50 systems, right or wrong on 1,000 items: statsmodels' mcnemar", fight, note)
    spent = {size: min(cpu(lambda size=size: sy.rank(*runs[:size])) for _ in range(2 if quick else 3)) for size in sizes}
    steps = np.diff(np.log(list(spent.values()))) / np.diff(np.log(list(spent)))
    shown = ", ".join(f"{size}: {seconds(t)}" for size, t in spent.items())
    time = below("compare.board-time", f"a board of {sizes[-1]} systems, 1,000 items: CPU time", spent[sizes[-1]], seconds)
    growth = below(
        "compare.board-growth", "the same: growth with the systems, the steepest step", float(steps.max()), power_of_systems, shown
    )
    yield from map(unjudged, (time, growth)) if quick else (time, growth)
    if quick:
        yield Unmeasured(("compare.board-time", "compare.board-growth"), "--quick stops at 50 systems")


def counting(*, quick: bool) -> Iterator[Row]:
    for kind, n in ((np.int8, 10_000_000), (np.int64, 10_000_000), (np.int64, 1_000_000)):
        truth, a, b = two(n, kind)

        def ours(truth: Ints = truth, a: Ints = a, b: Ints = b) -> Any:
            return sy.compare(truth, a, b)

        def bare(truth: Ints = truth, a: Ints = a, b: Ints = b) -> Any:
            return np.bincount((truth.astype(np.int64, copy=False) * K + a) * K + b, minlength=K**3)

        if not abs(ours().difference.estimate - (np.mean(b == truth) - np.mean(a == truth))) < 1e-12:
            raise Wrong("accuracy of two systems: another difference than NumPy's")
        fight = duel(ours, bare, 3 if quick else 5, repeats=3, peer_repeats=3)
        title = f"accuracy of two systems, N={n:,} {np.dtype(kind).name} codes: one counting pass (bincount of a joint code)"
        yield at_most("compare.codes", title, fight)
    n = 1_000_000
    codes = two(n)
    texts = [np.array([f"label{i}" for i in range(K)])[side] for side in codes]
    if sy.compare(*texts).flips != sy.compare(*codes).flips:
        raise Wrong("accuracy of two systems: texts have other flips than the numbers they name")
    fight = duel(
        lambda: sy.compare(*texts), lambda: np.bincount((codes[0] * K + codes[1]) * K + codes[2], minlength=K**3), 3 if quick else 5
    )
    yield at_most("compare.texts", f"accuracy of two systems, N={n:,} texts: one counting pass over whole numbers", fight)
    lists = [side.tolist() for side in texts]
    fight = duel(lambda: sy.compare(*lists), lambda: np.bincount((codes[0] * K + codes[1]) * K + codes[2], minlength=K**3), 2, repeats=2)
    yield at_most(None, f"accuracy of two systems, N={n:,} texts in lists: one counting pass over whole numbers", fight)


# ---- files ---------------------------------------------------------------------------------------------------------

BARE = """
import json, sys, duckdb
a, b = sys.argv[1:]
sql = f"SELECT a.truth, a.prediction, b.prediction, COUNT(*) FROM '{a}' a JOIN '{b}' b USING (id) GROUP BY ALL"
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
print(json.dumps(con.execute(sql).fetchall()))
"""


def files(*, quick: bool) -> Iterator[Row | Unmeasured]:
    """Ours is the command `compare`; whole processes, less what they take on 1,000 rows."""
    n, rounds = (1_000_000 if quick else 10_000_000), 2 if quick else 5
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        path = {name: Path(folder, f"{name}.parquet") for name in ("a", "same", "shuffled", "few_a", "few_same")}
        write(path, n)
        ours, bare = (*command(), "compare", "--format", "json"), (sys.executable, "-c", BARE)
        few = str(path["few_a"]), str(path["few_same"])
        empty = {argv: min(run([*argv, *few], env).cpu for _ in range(3)) for argv in (ours, bare)}
        for order, goal in (("shuffled", "compare.join-shuffled"), ("same", "compare.join-same")):
            both = [str(path["a"]), str(path[order])]
            taken: dict[tuple[str, ...], list[Child]] = {ours: [], bare: []}
            for _ in range(rounds):
                for argv, children in taken.items():
                    children.append(run([*argv, *both], env))
            verify(taken[ours][0], taken[bare][0], n)
            cpu = {argv: tuple(child.cpu - empty[argv] for child in children) for argv, children in taken.items()}
            title = f"two Parquet files of {n:,} rows, text ids, {order} order"
            note = "ids checked to be present, unique and matched, truths compared; the peer's hash join checks nothing"
            beside = at_most(goal, f"{title}: beside DuckDB's bare join and GROUP BY", Duel(cpu[ours], cpu[bare]), note)
            free = run([*ours, *both], env, one_core=False)
            memory = below("compare.join-memory", f"{title}: peak resident memory", max(free.rss, *(c.rss for c in taken[ours])), megabytes)
            for row in (beside, memory):
                yield unjudged(row) if quick else row
    if quick:
        yield Unmeasured(
            ("compare.join-shuffled", "compare.join-same", "compare.join-memory"),
            f"{n:,} rows were joined: ten million take too long for --quick",
        )


def write(path: dict[str, Path], n: int) -> None:
    """Texts; skewed classes, about four of five right."""
    import duckdb

    for name, size in (("a", n), ("same", n), ("shuffled", n), ("few_a", 1000), ("few_same", 1000)):
        salt, step = (2, 1) if name.endswith("a") else (4, 2)
        answer = f"CASE WHEN u < 0.8 THEN t WHEN u < 0.96 THEN (t + {step}) % {K} ELSE v END"
        rows = f"""SELECT i, t, ({answer})::INTEGER AS p FROM (
            SELECT i, (pow(hash(i, 1) / 18446744073709551616.0, 2) * {K})::INTEGER % {K} AS t,
                   hash(i, {salt}) / 18446744073709551616.0 AS u, hash(i, 3) % {K} AS v FROM range({size}) AS r(i))"""
        order = "ORDER BY hash(i, 77)" if name == "shuffled" else ""
        with duckdb.connect() as con:
            columns = "'item-' || i AS id, 'class ' || t AS truth, 'class ' || p AS prediction"
            con.execute(f"COPY (SELECT {columns} FROM ({rows}) {order}) TO '{path[name]}' (FORMAT parquet)")


def verify(ours: Child, bare: Child, n: int) -> None:
    answer, cells = json.loads(ours.out), json.loads(bare.out)
    flips = {"baseline_only": 0, "candidate_only": 0}
    for truth, a, b, many in cells:
        flips["baseline_only"] += many * (a == truth != b)
        flips["candidate_only"] += many * (b == truth != a)
    if answer["n"] != n or any(answer["flips"][side] != many for side, many in flips.items()):
        raise Wrong(f"two files: {answer['n']} items with {answer['flips']}, DuckDB's join has {flips}")
