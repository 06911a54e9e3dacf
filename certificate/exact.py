"""Enumeration: coverage and size added up over every outcome, as (where, value)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import numpy as np
from scipy.special import gammaln, ndtr, xlogy

from certificate.worlds import JACCARD, Array, f1_law
from steelyard.data.counts import Counts
from steelyard.engines import score
from steelyard.engines.exchange import doubled_flips
from steelyard.engines.few_cases import one_more_case
from steelyard.engines.one import How, measure

Points = Iterator[tuple[str, float]]
DISAGREE, TILTS, EASY = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5), (-0.9, -0.5, 0.0, 0.5, 0.9), (0.5, 0.8, 0.98)
FEW, MOST = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3), (0.5, 0.75, 1.0)  # shares of items on which two systems disagree
SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)


def chances(counts: Array, law: Array) -> Array:
    """Of tables of counts (table x cell), of laws (law x cell): law x table."""
    ways = gammaln(counts.sum(1) + 1) - gammaln(counts + 1).sum(1)
    return np.asarray(np.exp(ways + sum(xlogy(counts[None, :, i], law[:, None, i]) for i in range(counts.shape[1]))))


@cache
def tables_of(n: int, cells: int) -> Array:
    """Every table of n items."""
    if cells == 1:
        return np.array([[n]])
    return np.concatenate([np.insert(tables_of(n - first, cells - 1), 0, first, 1) for first in range(n + 1)])


# ---- k of n ---------------------------------------------------------------------------------------------------------------------------


@cache
def ends_of_share(n: int, method: str, side: str) -> Array:
    """Both ends of every count; "bare wald" is what a textbook says."""
    if method == "bare wald":
        return np.array([score.wald(k, n, 0.025) for k in range(n + 1)])
    found = [measure("accuracy", Counts.of(k, n), How(interval=method))[0].interval(0.95, side) for k in range(n + 1)]
    return np.array(found)


def share(n: int, method: str = "", side: str = "two", p: float = 0.0) -> Points:
    """Coverage at a true share, or the worst and the mean of two thousand."""
    low, high = ends_of_share(n, method, side).T
    true = np.array([p]) if p else np.arange(1, 2000) / 2000
    k = np.arange(n + 1)
    covered = (chances(np.stack([k, n - k], 1), np.stack([true, 1 - true], 1)) * ((low <= true[:, None]) & (true[:, None] <= high))).sum(1)
    worst = int(covered.argmin())
    yield f"p={true[worst]:g}", covered[worst]


def mean_share(n: int, method: str = "") -> Points:
    """The mean over true shares."""
    low, high = ends_of_share(n, method, "two").T
    true, k = np.arange(1, 2000) / 2000, np.arange(n + 1)
    inside = (low <= true[:, None]) & (true[:, None] <= high)
    yield "", float((chances(np.stack([k, n - k], 1), np.stack([true, 1 - true], 1)) * inside).sum(1).mean())


def disorder(n: int, method: str = "") -> Points:
    """How often one more mistake raises a bound, or an interval has no width, at five levels and on three sides."""
    faults = 0
    for level, side in product((0.8, 0.9, 0.95, 0.99, 0.999), ("two", "lower", "upper")):
        found = [measure("accuracy", Counts.of(k, n), How(interval=method))[0].interval(level, side) for k in range(n + 1)]
        low, high = np.array(found).T
        faults += int((np.diff(low) < -1e-12).sum() + (np.diff(high) < -1e-12).sum() + (high <= low).sum())
    yield "", faults


def f1(n: int, method: str = "", side: str = "two") -> Points:
    """F1 of one class: every (TP, FP + FN, TN) at twelve laws, given that F1 has a value."""
    tables = tables_of(n, 3)
    tables = tables[tables[:, 0] + tables[:, 1] > 0]
    low, high = np.array([_of_f1(int(tp), int(w), int(tn), method, side) for tp, w, tn in tables]).T
    for law in JACCARD:
        hit, wrong = f1_law(*law)
        p = chances(tables, np.array([[hit, wrong, 1 - hit - wrong]]))[0]
        true = 2 * hit / (2 * hit + wrong)
        yield f"prevalence={law[0]:g} precision={law[1]:g} recall={law[2]:g}", float(p @ ((low <= true) & (true <= high)) / p.sum())


@cache
def _of_f1(tp: int, wrong: int, tn: int, method: str, side: str) -> tuple[float, float]:
    counts = Counts.binary(tp=tp, fp=wrong // 2, fn=wrong - wrong // 2, tn=tn)
    return measure("f1", counts, How(interval=method))[0].interval(0.95, side) or (np.nan, np.nan)


# ---- right or wrong on the same items -------------------------------------------------------------------------------------------------


@cache
def ends_of_flips(n: int, method: str, side: str) -> Array:
    """Of every table (both, gained, lost, neither)."""

    @cache
    def ends(both: int, gained: int, lost: int, neither: int) -> tuple[float, float]:
        return score.flips(both, gained, lost, neither, method, "mcnemar-midp" if method else "").ends(0.95, side)

    alone = method != "newcombe"  # only Newcombe's asks how many items both get right
    return np.array([ends(*((b + d, g, x, 0) if alone else (b, g, x, d))) for b, g, x, d in tables_of(n, 4).tolist()])


def flips(n: int, method: str = "", side: str = "two") -> Points:
    """Coverage at ninety laws of who is right."""
    low, high = ends_of_flips(n, method, side).T
    laws = [(q, tilt, easy) for q in DISAGREE for tilt in TILTS for easy in EASY]
    cells = np.array([((1 - q) * e, q * (1 + t) / 2, q * (1 - t) / 2, (1 - q) * (1 - e)) for q, t, e in laws])
    true = (cells[:, 1] - cells[:, 2])[:, None]
    for (q, t, e), each in zip(laws, (chances(tables_of(n, 4), cells) * ((low <= true) & (true <= high))).sum(1), strict=True):
        yield f"disagree={q:g} tilt={t:g} easy={e:g}", each


Calls = Callable[[int, int], bool]  # of gained and lost


def mcnemar(test: str, alternative: str, n: int, alpha: float) -> Calls:
    """Whether the test calls a difference."""

    def calls(gained: int, lost: int) -> bool:
        if test == "bootstrap":
            return doubled_flips(gained, lost, n).p(0, alternative) <= alpha
        if test == "":
            return score.flips(n - gained - lost, gained, lost, 0).p(0, alternative) <= alpha
        return score.McNemar(estimate=float(np.sign(gained - lost)), test=test, gained=gained, lost=lost).p(0, alternative) <= alpha

    return calls


def called(n: int, calls: Calls, laws: Array, both_sides: bool) -> Array:
    """The chance of a call, of laws (gained, lost). Every test calls more losses where it calls fewer."""
    total, first = np.zeros(len(laws)), 0
    for d in range(n + 1):
        while first <= d and not calls(d - first, first):
            first += 1
        lost = np.arange(first, d + 1)
        if len(lost):
            for each in (lost, d - lost) if both_sides else (lost,):
                total += chances(np.stack([d - each, each, np.full(len(each), n - d)], 1), laws).sum(1)
    return total


def size_of_flips(n: int, test: str = "mcnemar-midp", alternative: str = "two-sided", alpha: float = 0.05, disagree: str = "few") -> Points:
    """False alarms, where gains and losses are as likely."""
    shares = FEW if disagree == "few" else MOST
    laws = np.array([(q / 2, q / 2, 1 - q) for q in shares])
    both = alternative == "two-sided"
    for q, each in zip(shares, called(n, mcnemar(test, alternative, n, alpha), laws, both), strict=True):
        yield f"disagree={q:g}", each


def worst_flips(n: int, test: str = "mcnemar-midp", alternative: str = "two-sided") -> Points:
    """The worst over shares of disagreement, as the decision table has it."""
    yield max(size_of_flips(n, test, alternative), key=lambda found: found[1])


def power_of_flips(n: int, test: str = "", alternative: str = "two-sided") -> Points:
    """How often a drop of 2.8 standard errors is found."""
    laws = [(q, 2.8 * (q / n) ** 0.5) for q in FEW if 2.8 * (q / n) ** 0.5 <= 0.9 * q]
    cells = np.array([((q - drop) / 2, (q + drop) / 2, 1 - q) for q, drop in laws])
    for (q, drop), each in zip(laws, called(n, mcnemar(test, alternative, n, 0.05), cells, alternative == "two-sided"), strict=True):
        yield f"disagree={q:g} drop={drop:.3f}", each


def margin(n: int, margin: float, side: str, alpha: float = 0.05, plain: bool = False) -> Points:
    """Where the candidate is worse by the margin exactly: how often it is called worse than the margin (red), or not worse (pass).

    The size, below alpha .05 as a multiple of alpha.
    """
    way, total = 1 if side == "red" else -1, 0.0
    gained = np.append(np.linspace(0, (1 - margin) / 2, 61), [0.001, 0.002, 0.005])
    laws = np.stack([gained, gained + margin, 1 - margin - 2 * gained], 1)

    def p(g: int, lost: int) -> float:
        if plain:
            return float(ndtr(way * score.tango_z(g, lost, n, -margin)))
        return score.flips(n - g - lost, g, lost, 0).p(-margin, "less" if way > 0 else "greater")

    for g in range(n + 1):  # more losses are called where fewer are, and the other way round
        lost = np.arange(n - g + 1)[::way]
        lost = lost[bisect_left(lost, True, key=lambda x, g=g: p(g, int(x)) <= alpha) :]
        if len(lost):
            total = total + chances(np.stack([np.full(len(lost), g), lost, n - g - lost], 1), laws).sum(1)
    sizes = np.broadcast_to(total, len(laws))
    yield f"gained={gained[sizes.argmax()]:.3g}", float(sizes.max() / (alpha if alpha < 0.05 else 1))


# ---- different items ------------------------------------------------------------------------------------------------------------------


@cache
def of_two(n1: int, n2: int, method: str, side: str) -> Array:
    """Of every pair of counts: ends, the test's p, the joined p, and whether ends and p contradict each other."""
    out = []
    for k1, k2 in product(range(n1 + 1), range(n2 + 1)):
        found = score.two_shares(k1, n1, k2, n2, method)
        low, high = found.ends(0.95, side)
        test, p = found.of_test.p(), found.p()
        around = found.of_interval.ends(0.95, side)
        called = test <= 0.05
        cut = (
            max(around[0], 5e-324) if called and k1 * n2 > k2 * n1 else around[0],
            min(around[1], -5e-324) if called and k1 * n2 < k2 * n1 else around[1],
        )
        out.append((low, high, test <= 0.05, p <= 0.05, (p <= 0.05) != (not low <= 0 <= high), *cut, *around))
    return np.array(out, float)


def two_shares(n1: int, n2: int, method: str = "", side: str = "two", of: str = "coverage", far: bool = True) -> Points:
    """Coverage, or the price of joining: calls of the test alone less those of both; or coverage of cut ends; at 49 pairs of shares."""
    found = of_two(n1, n2, method, side)
    k1, k2 = (each.ravel() for each in np.meshgrid(np.arange(n1 + 1), np.arange(n2 + 1), indexing="ij"))
    for p1, p2 in product(SHARES, SHARES):
        if not far and abs(p1 - p2) > 0.4:
            continue
        chance = _binomial(n1, p1)[k1] * _binomial(n2, p2)[k2]
        low, high = found[:, {"coverage": (0, 1), "cut": (5, 6), "lost": (7, 8)}.get(of, (0, 1))].T
        inside = (low <= p1 - p2) & (p1 - p2 <= high)
        value = {"price": found[:, 2] - found[:, 3], "size": found[:, 3], "faults": found[:, 4]}.get(of, inside)
        if of == "lost":  # coverage that joining costs
            value = inside.astype(float) - ((found[:, 0] <= p1 - p2) & (p1 - p2 <= found[:, 1]))
        if of != "size" or p1 == p2:
            yield f"p1={p1:g} p2={p2:g}", float(value.sum() if of == "faults" else chance @ value)


@cache
def _binomial(n: int, p: float) -> Array:
    k = np.arange(n + 1)
    return chances(np.stack([k, n - k], 1), np.array([[p, 1 - p]]))[0]


# ---- one more case --------------------------------------------------------------------------------------------------------------------

SIZES = (1.0, 0.9, 2 / 3, 0.5, 1 / 3, 0.2, 0.1)


@cache
def _cases(n: int, x: float, y: float, whole: bool, alternative: str) -> tuple[Array, Array]:
    counts = tables_of(n, 3)
    values = [np.repeat([x, -y, 0.0], row) for row in counts]
    return counts, np.array([one_more_case(v, -1, 1, whole=whole).p(0, alternative) for v in values])


def one_more(n: int, whole: bool, alternative: str, ones: bool = False) -> Points:
    """The worst size over laws {x, -y, 0} of the differences of n cases whose mean is 0."""
    worst = ("", 0.0)
    for x, y in product(SIZES[: 1 if ones else None], repeat=2):
        counts, p = _cases(n, x, y, whole, alternative)
        hit = counts[p <= 0.05]
        changed = np.append(np.linspace(0.02, 1, 50), 0.999)
        laws = np.stack([changed * y / (x + y), changed * x / (x + y), 1 - changed], 1)
        sizes = chances(hit, laws).sum(1) if len(hit) else np.zeros(len(laws))
        if sizes.max() > worst[1]:
            worst = (f"x={x:.2g} y={y:.2g} changed={changed[sizes.argmax()]:.2g}", float(sizes.max()))
    yield worst
