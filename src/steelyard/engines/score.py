"""Shares of items: intervals of k of n under any design, right or wrong on the same items and on different ones.

`q` is the chance left out at each end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv, betaln, ndtr, ndtri, stdtrit

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.engines.certainty import Certainty, Ends, Joined, NoAnswer, falling_root, joined
from steelyard.engines.sums import Sums, in_strata, influence, over_groups, too_few, worth_of

COUNTED = 1_000  # disagreements up to which the coin is counted out in whole numbers
ONE_GROUP = 0.5  # how much of a group a design effect not yet seen weighs beside the groups that have mistakes


# ---- k of n -----------------------------------------------------------------------------------------------------------------------


def wilson(k: float, n: float, q: float, z: float | None = None) -> Ends:
    """The score interval: the shares of which the count is no surprise. Reference: Wilson1927.

    >>> [round(end, 4) for end in wilson(85, 100, 0.025)]
    [0.7672, 0.9069]
    """
    z = -float(ndtri(q)) if z is None else z
    reach, centre = z * math.sqrt(max(0.0, k * (n - k) / n) + z * z / 4), k + z * z / 2
    return 0.0 if k == 0 else (centre - reach) / (n + z * z), 1.0 if k == n else (centre + reach) / (n + z * z)


def wald(k: float, n: float, q: float) -> Ends:
    """Plus and minus z standard errors."""
    reach = -float(ndtri(q)) * math.sqrt(k / n * (1 - k / n) / n)
    return k / n - reach, k / n + reach


def agresti_coull(k: float, n: float, q: float) -> Ends:
    """Wald's interval with z^2 items more, half of them right. Reference: AgrestiCoull1998."""
    z = -float(ndtri(q))
    p = (k + z * z / 2) / (n + z * z)
    reach = z * math.sqrt(p * (1 - p) / (n + z * z))
    return p - reach, p + reach


def clopper_pearson(k: float, n: float, q: float) -> Ends:
    """Exact: it never covers less than it says. Reference: ClopperPearson1934."""
    return 0.0 if k <= 0 else beta_quantile(k, n - k + 1, q), 1.0 if k >= n else beta_quantile(k + 1, n - k, 1 - q)


def jeffreys(k: float, n: float, q: float) -> Ends:
    """Equal tails of the posterior of Jeffreys' prior. Reference: BrownCaiDasGupta2001."""
    return beta_quantile(k + 0.5, n - k + 0.5, q), beta_quantile(k + 0.5, n - k + 0.5, 1 - q)


def mid_p(k: float, n: float, q: float) -> Ends:
    """Clopper-Pearson, with half of the chance of the count itself. Reference: BerryArmitage1995."""

    def more(p: float, k: float) -> float:
        return (float(betainc(k, n - k + 1, p)) + (float(betainc(k + 1, n - k, p)) if k < n else 0.0)) / 2

    low = 0.0 if k <= 0 else falling_root(lambda p: q - more(p, k), 0.0, 1.0)
    high = 1.0 if k >= n else 1 - falling_root(lambda p: q - more(p, n - k), 0.0, 1.0)
    return low, high


def percentile(k: float, n: float, q: float) -> Ends:
    """What the bootstrap's percentiles are of a share: quantiles of a binomial."""

    def least(share: float) -> int:
        low, high = -1, int(n)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if betainc(int(n) - middle, middle + 1, 1 - k / n) >= share else (middle, high)
        return high

    return least(q) / n, least(1 - q) / n


def beta_quantile(a: float, b: float, q: float) -> float:
    """SciPy's inverse has had wrong regions, so every quantile is put back and, if it is off, bisected."""
    x = float(betaincinv(a, b, q))
    if abs(float(betainc(a, b, x)) - q) <= 1e-9 * min(1.0, 100 * q, 100 * (1 - q)):
        return x
    return falling_root(lambda x: q - float(betainc(a, b, x)), 0.0, 1.0)


ONE_SHARE: dict[str, Callable[[float, float, float], Ends]] = {
    "wilson": wilson,
    "wald": wald,
    "delta": wald,
    "agresti-coull": agresti_coull,
    "jeffreys": jeffreys,
    "clopper-pearson": clopper_pearson,
    "mid-p": mid_p,
    "percentile": percentile,
}
FLAT = ("wald", "delta", "percentile")  # without any width at 0 and at n


@dataclass(frozen=True, kw_only=True)
class Share(Certainty):
    """k of n items, or of as many as units are worth; on one side the exact bound, unless a method was named."""

    k: float
    n: float
    low: float = 0.0
    high: float = 1.0
    default: bool = True

    def named(self, side: str = "two") -> str:
        return "clopper-pearson" if self.default and side != "two" else self.method

    def bounds(self, q: float, sided: int = 1) -> Ends:
        name = self.named("two" if sided == 2 else "lower")
        if name not in FLAT or self.k not in (0, self.n):
            return ONE_SHARE[name](self.k, self.n, q)
        # no width: Wilson's, but never beyond the method's own end at one mistake, so that one more mistake raises no bound
        low, high = wilson(self.k, self.n, q)
        beside = ONE_SHARE[name](self.n - 1 if self.k else 1, self.n, q) if self.n > 1 else (low, high)
        return (max(low, beside[0]), high) if self.k else (low, min(high, beside[1]))


def share(sums: Sums, method: str = "wilson", default: bool = True) -> Certainty:
    """The share that the totals are, of columns (trials, hits), under any design."""
    trials, hits = np.asarray(sums.rows).T
    n, k = (float(x) for x in sums.totals)
    if exact_counts(sums):
        error = math.sqrt(k / n * (1 - k / n) / n)
        return Share(estimate=k / n, method=method, k=k, n=n, default=default, error=error or None)
    return grouped_share(sums, trials, hits)


@dataclass(frozen=True, kw_only=True)
class GroupedShare(Certainty):
    """Wilson at the n that units are worth, with t for their number. fewer: what it would be with fewer mistakes, or with fewer right
    answers: no bound is beyond theirs, since one more mistake never raises one."""

    k: float
    n: float
    low: float = 0.0
    high: float = 1.0
    fewer: tuple[tuple[float, float, float], ...] = ()
    worse: tuple[tuple[float, float, float], ...] = ()

    def bounds(self, q: float, sided: int = 1) -> Ends:
        low, high = _with_t(self.k, self.n, self.df, q)
        lows = [_with_t(*each, q)[0] for each in self.fewer]
        highs = [_with_t(*each, q)[1] for each in self.worse]
        return min([low, *lows]), max([high, *highs])


def _with_t(k: float, n: float, df: float, q: float) -> Ends:
    return wilson(k, n, q, -float(stdtrit(df, q)))


def grouped_share(sums: Sums, trials: FloatArray, hits: FloatArray) -> Certainty:
    """Wilson at the n that the units are worth, with t for their number."""
    used = trials > 0
    count, trials, hits = sums.count[used], trials[used], hits[used]
    m, right = np.repeat(trials, count), np.repeat(hits, count)
    total, p = float(m.sum()), float(right.sum() / m.sum())
    if sums.kind == "groups" and (why := too_few(trials)):
        raise NoAnswer(f"{why} with an item that counts for it")
    if sums.stratum is not None:
        variance, df = in_strata(influence(sums, np.array([-p / total, 1 / total])), sums.count, sums.stratum)
        n = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else total
        return GroupedShare(estimate=p, method="wilson", k=p * n, n=n, df=1e9, error=math.sqrt(variance) or None)
    answers = worth_of(m) if sums.sizes is None or sums.kind == "weights" else sums.answers * total / sums.sizes.sum()
    answers = max(1.0, answers)
    k, n, df, error = _worth(m, right, answers)
    alone = sums.kind != "weights"
    fewer = tuple(_worth(m, x, answers)[:3] for x in _with_fewer(m, m - right)) if alone else ()
    worse = tuple((each[1] - each[0], *each[1:]) for each in (_worth(m, x, answers)[:3] for x in _with_fewer(m, right))) if alone else ()
    p = round(p) if p <= 1e-12 or p >= 1 - 1e-12 else p
    return GroupedShare(estimate=float(p), method="wilson", k=k, n=n, df=df, error=error, fewer=fewer, worse=worse)


def _worth(m: FloatArray, right: FloatArray, answers: float) -> tuple[float, float, float, float | None]:
    """The share's k and n at what the units are worth, its degrees of freedom, and its standard error.

    Near 0 and 1 a few mistakes show little of how alike the items of a unit are, so a unit without mistakes counts for a part.
    """
    g, total = len(m), float(m.sum())
    p = float(right.sum()) / total
    if p <= 1e-12 or p >= 1 - 1e-12:  # sums of fractional weights miss 0 and 1 by a last bit
        worth = min(float(g), answers)
        return round(p) * worth, worth, max(1, g - 1), None
    if g < 2:
        return p, 1.0, 1.0, None
    binomial = p * (1 - p) / answers
    variance, df = over_groups((right - p * m) / total, m, binomial, answers)
    seen = max(1.0, variance / binomial)
    telling = min(worth_of(right), worth_of(m - right)) - 1
    worth = answers / ((telling * seen + ONE_GROUP * max(seen, answers / g)) / (telling + ONE_GROUP))
    return p * worth, worth, df, math.sqrt(variance) or None


def _with_fewer(m: FloatArray, mistakes: FloatArray) -> list[FloatArray]:
    """The right answers of each unit if there were fewer mistakes: one alone, then those of the units that have most of them."""
    there = np.flatnonzero(mistakes > 1e-12)
    if not len(there):
        return []
    order = there[np.argsort(-mistakes[there] / m[there], kind="stable")]
    out = []
    for unit in {int(order[0]), int(there[np.argmax(m[there])]), int(there[np.argmin(m[there])])}:
        one = m.astype(float)
        one[unit] -= min(1.0, mistakes[unit])
        out.append(one)
    for some in sorted({*range(1, min(len(order), 12)), *(2**i for i in range(4, 12) if 2**i < len(order))}):
        fewer = m.astype(float)
        fewer[order[:some]] -= mistakes[order[:some]]
        out.append(fewer)
    return out


# ---- right or wrong on the same items ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=100_000)
def coin(gained: int, lost: int) -> tuple[float, float, float]:
    """Of as many fair coins as items disagree: fewer heads than gained, as many, more."""
    total, few = gained + lost, min(gained, lost)
    if total <= COUNTED:  # whole numbers: a p-value that equals alpha equals it to the last bit
        term, below = 1, 0
        for i in range(few):
            below, term = below + term, term * (total - i) // (i + 1)
        ways = 2**total
        low, at, high = below / ways, term / ways, (ways - below - term) / ways
        return (low, at, high) if gained <= lost else (high, at, low)
    at = math.exp(-float(betaln(gained + 1, lost + 1)) - math.log(total + 1) - total * math.log(2))
    return float(betainc(lost + 1, gained, 0.5)) if gained else 0.0, at, float(betainc(gained + 1, lost, 0.5)) if lost else 0.0


def mcnemar_each(gained: IntArray, lost: IntArray) -> FloatArray:
    """The two-sided mid-p of many pairs at once."""
    few, total = np.minimum(gained, lost), gained + lost
    below = np.where(few > 0, betainc(total - few + 1, np.maximum(few, 1), 0.5), 0.0)
    at = np.exp(-betaln(few + 1.0, total - few + 1.0) - np.log(total + 1.0) - total * math.log(2))
    return np.where(gained == lost, 1.0, np.minimum(1.0, 2 * below + at))


@dataclass(frozen=True, kw_only=True)
class McNemar(Certainty):
    """Whether gains and losses are as likely: the mid-p version, the exact one, or the normal approximation."""

    gained: int
    lost: int

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if margin:
            raise NoAnswer("McNemar's test knows no margin")
        if self.gained == self.lost and self.test != "mcnemar-exact":
            return (0.5, 0.5) if self.gained else (1.0, 1.0)
        if self.test == "mcnemar":
            z = (self.gained - self.lost) / math.sqrt(self.gained + self.lost)
            return float(ndtr(z)), float(ndtr(-z))
        below, at, above = coin(self.gained, self.lost)
        at = at if self.test == "mcnemar-exact" else at / 2
        return below + at, above + at


def tango_z(gained: Any, lost: Any, n: int, d: Any, more: float = 0.0) -> Any:
    """Tango's score at a difference of d; `more` flips are added to what was gained. Reference: Tango1998."""
    b, c = -gained - lost + (2 * n - gained + lost) * d, -lost * d * (1 - d)
    variance = n * (2 * (np.sqrt(np.maximum(0.0, b * b - 8 * n * c)) - b) / (4 * n) + d * (1 - d))
    gap = gained - lost + more - n * d
    with np.errstate(all="ignore"):
        return np.where(variance > 0, gap / np.sqrt(variance), np.where(gap == 0, 0.0, np.copysign(np.inf, gap)))


@dataclass(frozen=True, kw_only=True)
class Tango(Certainty):
    """The score interval of right or wrong on the same items.

    Worse than a margin, or better than one, is the larger of the score's p with one flip of continuity and of a binomial bound: the
    plain score's size reaches .098 where few items flip. Not worse than a margin is the plain score.
    """

    gained: int
    lost: int
    n: int
    low: float = -1.0
    high: float = 1.0

    def bounds(self, q: float, sided: int = 1) -> Ends:
        z = -float(ndtri(q))
        low, high = (falling_root(partial(self._above, away)) for away in (z, -z))
        return low, high

    def _above(self, z: float, d: float) -> float:
        return float(tango_z(self.gained, self.lost, self.n, d)) - z

    def tails(self, margin: float, sided: int = 1) -> Ends:
        plain = float(tango_z(self.gained, self.lost, self.n, margin))
        less, greater = float(ndtr(plain)), float(ndtr(-plain))
        if margin:
            worse = 1 if margin < 0 else -1  # the direction in which the margin is exceeded
            away = worse * (self.lost - self.gained)
            careful = float(ndtr(worse * float(tango_z(self.gained, self.lost, self.n, margin, float(worse)))))
            at_least = float(betainc(away, self.n - away + 1, abs(margin))) if away > 0 else 1.0
            less, greater = (max(careful, at_least), greater) if worse > 0 else (less, max(careful, at_least))
        return less, greater


def tango_each(gained: IntArray, lost: IntArray, n: int, q: float) -> tuple[FloatArray, FloatArray]:
    """Tango's ends of many pairs at once."""
    z = -float(ndtri(q))
    up, down, away = np.tile(gained, 2).astype(float), np.tile(lost, 2).astype(float), np.repeat([z, -z], len(gained))
    low, high = np.full(len(up), -1.0), np.full(len(up), 1.0)
    for _ in range(56):
        middle = (low + high) / 2
        larger = tango_z(up, down, n, middle) > away
        low, high = np.where(larger, middle, low), np.where(larger, high, middle)
    half = len(gained)
    return high[:half], high[half:]


@dataclass(frozen=True, kw_only=True)
class PairedShares(Certainty):
    """Newcombe's hybrid of two Wilson intervals and the correlation of the systems (method 10), or Wald's. Reference: Newcombe1998."""

    both: int
    gained: int
    lost: int
    neither: int
    low: float = -1.0
    high: float = 1.0

    def bounds(self, q: float, sided: int = 1) -> Ends:
        n, one, two = self.both + self.gained + self.lost + self.neither, self.both + self.gained, self.both + self.lost
        d = (self.gained - self.lost) / n
        if self.method == "wald" and self.error:  # without any width, Newcombe's
            return d + float(ndtri(q)) * self.error, d - float(ndtri(q)) * self.error
        product, cross = one * (n - one) * two * (n - two), self.both * self.neither - self.gained * self.lost
        phi = 0.0 if product == 0 else (max(cross - n / 2, 0) if cross > 0 else cross) / math.sqrt(product)
        return hybrid(one / n, wilson(one, n, q), two / n, wilson(two, n, q), phi)


def hybrid(p1: float, first: Ends, p2: float, second: Ends, r: float = 0.0) -> Ends:
    """The ends of p1 - p2 from the ends of either and their correlation (MOVER)."""

    def join(x: float, y: float) -> float:
        return math.sqrt(max(0.0, x * x - 2 * r * x * y + y * y))

    return p1 - p2 - join(p1 - first[0], second[1] - p2), p1 - p2 + join(first[1] - p1, p2 - second[0])


def flips(both: int, gained: int, lost: int, neither: int, interval: str = "", test: str = "") -> Certainty:
    """Right or wrong on the same items: Tango's interval beside McNemar's mid-p, which rules; others by name as they are."""
    n, mcnemar = both + gained + lost + neither, test or "mcnemar-midp"
    d = (gained - lost) / n
    error = math.sqrt(max(0.0, (gained + lost) / n - d * d) / n) or None
    of_test = McNemar(estimate=d, test=mcnemar, gained=gained, lost=lost)
    if interval in ("", "tango"):
        ends: Certainty = Tango(estimate=d, method="tango", test="tango", gained=gained, lost=lost, n=n, error=error)
    else:
        four = {"both": both, "gained": gained, "lost": lost, "neither": neither}
        ends = PairedShares(estimate=d, method=interval, test=interval, error=error, **four)
    return joined(of_test, ends, rules=True) if not interval and not test else beside(of_test, ends)


@dataclass(frozen=True, kw_only=True)
class Named(Joined):
    """A test and an interval that were asked for by name: each as it is."""

    def tails(self, margin: float, sided: int = 1) -> Ends:
        try:
            return self.of_test.tails(margin, sided)
        except NoAnswer:
            return self.of_interval.tails(margin, sided)

    def bounds(self, q: float, sided: int = 1) -> Ends:
        return self.of_interval.bounds(q, sided)


def beside(of_test: Certainty, of_interval: Certainty) -> Named:
    """Both as they are, in one object."""
    i = of_interval
    facts = {"estimate": i.estimate, "method": i.method, "low": i.low, "high": i.high, "error": i.error, "df": i.df}
    return Named(**facts, test=of_test.test, of_test=of_test, of_interval=of_interval)  # type: ignore[arg-type]


# ---- right or wrong on different items --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TwoShares(Certainty):
    """k1 of n1 minus k2 of n2, of different items: Newcombe's hybrid, Miettinen and Nurminen's score, or Wald's."""

    k1: float
    n1: float
    k2: float
    n2: float
    low: float = -1.0
    high: float = 1.0

    def bounds(self, q: float, sided: int = 1) -> Ends:
        p1, p2, z = self.k1 / self.n1, self.k2 / self.n2, -float(ndtri(q))
        if self.method == "wald" and self.error:
            return p1 - p2 - z * self.error, p1 - p2 + z * self.error
        if self.method != "miettinen-nurminen":
            return hybrid(p1, wilson(self.k1, self.n1, q), p2, wilson(self.k2, self.n2, q))
        return falling_root(lambda d: self.score(d) - z), falling_root(lambda d: self.score(d) + z)

    def score(self, d: float) -> float:
        """Miettinen and Nurminen's, with the shares that are likeliest at that difference. Reference: MiettinenNurminen1985."""
        n1, n2, total = self.n1, self.n2, self.n1 + self.n2
        p1, p2, theta = self.k1 / n1, self.k2 / n2, n2 / n1
        a, b = 1 + theta, -(1 + theta + p1 + theta * p2 + d * (theta + 2))
        c, e = d * d + d * (2 * p1 + theta + 1) + p1 + theta * p2, -p1 * d * (1 + d)
        v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + e / (2 * a)
        u = math.copysign(math.sqrt(max(0.0, (b / (3 * a)) ** 2 - c / (3 * a))), v)
        w = (math.pi + math.acos(max(-1.0, min(1.0, v / u**3)))) / 3 if u else math.pi / 3
        first = min(max(min(1.0, max(0.0, 2 * u * math.cos(w) - b / (3 * a))), d), 1 + d)
        second = first - d
        variance = (first * (1 - first) / n1 + second * (1 - second) / n2) * total / (total - 1)
        gap = p1 - p2 - d
        if variance <= 1e-300:
            return math.copysign(math.inf, gap) if abs(gap) > 1e-15 else 0.0
        return gap / math.sqrt(variance)


@dataclass(frozen=True, kw_only=True)
class PooledZ(Certainty):
    """The z test of two shares that are one."""

    z: float

    def tails(self, margin: float, sided: int = 1) -> Ends:
        if margin:
            raise NoAnswer("the pooled z test knows no margin")
        return float(ndtr(self.z)), float(ndtr(-self.z))


def two_shares(k1: float, n1: float, k2: float, n2: float, interval: str = "", test: str = "") -> Certainty:
    """The difference of two shares of different items: Newcombe's interval beside the z test, the larger p."""
    p1, p2, p = k1 / n1, k2 / n2, (k1 + k2) / (n1 + n2)
    error = math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) or None
    z = 0.0 if p in (0.0, 1.0) else (p1 - p2) / math.sqrt(p * (1 - p) * (1 / n1 + 1 / n2))
    name = interval or "newcombe"
    ends = TwoShares(estimate=p1 - p2, method=name, test=name, error=error, k1=k1, n1=n1, k2=k2, n2=n2)
    of_test = PooledZ(estimate=p1 - p2, test="z", z=z)
    return beside(of_test, ends) if interval or test else joined(of_test, ends)


def zero_or_one(x: FloatArray) -> bool:
    """Whether there is nothing but 0 and 1; a look at the first numbers is nearly always enough."""
    return bool(((x[:100] == 0) | (x[:100] == 1)).all() and ((x == 0) | (x == 1)).all())


def exact_counts(sums: Sums) -> bool:
    """Whether every unit is one 0 or 1 of 0 or 1."""
    return sums.kind == "items" and sums.stratum is None and zero_or_one(np.asarray(sums.rows))
