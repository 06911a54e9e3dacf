"""The same laws and equations in fifty digits, by mpmath and other formulas than ours: what closed forms are compared with.

Nothing here shares a line with `infer/`: tails are continued fractions, quantiles are Newton's steps on them, score
intervals are roots of the textbook's equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

DIGITS = 50
STEPS = 4  # of Newton at most, from a start that is good to nine digits or more: each doubles them
HALF = 10.0 ** -(DIGITS // 2 + 1)  # a step this small, as a share of the root, has left less than the last digit to do

Number = Any  # an mpf: mpmath is optional, so its types are not known here


@cache
def mpmath() -> Any:
    """A context of fifty digits of our own: that of the user's other work keeps its precision."""
    mp = import_module("mpmath").MPContext()
    mp.dps = DIGITS
    return mp


def normal_tail(z: Number) -> Number:
    """P(Z <= z)."""
    mp = mpmath()
    return mp.erfc(-z / mp.sqrt(2)) / 2


def normal_quantile(p: Number, near: float) -> Number:
    """The z with P(Z <= z) = p, by Newton from `near`."""
    return newton(lambda z: normal_tail(z) - p, mpmath().npdf, near)


def beta_tail(a: Number, b: Number, x: Number, rest: Number | None = None) -> tuple[Number, Number]:
    """(P(X <= x), P(X > x)) for Beta(a, b): the smaller one by its continued fraction, so that no digit cancels."""
    mp = mpmath()
    a, b, x = mp.mpf(a), mp.mpf(b), mp.mpf(x)
    rest = 1 - x if rest is None else rest
    if x * (a + b + 2) > a + 1:
        high, low = beta_tail(b, a, rest, x)
        return low, high
    # Odd and even steps of the fraction, from its front: convergents above / below, scaled so that they do not grow.
    above, below, above_before, below_before = mp.mpf(1), mp.mpf(1), mp.mpf(1), mp.mpf(0)
    value, before, m = mp.mpf(1), mp.mpf(0), 0
    while abs(value - before) > abs(value) * mp.eps:
        before = value
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        for step in (odd, even):
            above, above_before = above + step * above_before, above
            below, below_before = below + step * below_before, below
        above, above_before, below_before, below = above / below, above_before / below, below_before / below, mp.mpf(1)
        value = above
    low = mp.exp(a * mp.log(x) + b * mp.log(rest) - _log_beta(a, b)) / (a * value)
    return low, 1 - low


def _log_beta(a: Number, b: Number) -> Number:
    mp = mpmath()
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def beta_density(a: Number, b: Number, x: Number) -> Number:
    mp = mpmath()
    a, b, x = mp.mpf(a), mp.mpf(b), mp.mpf(x)
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) - _log_beta(a, b))


def newton(value: Callable[[Number], Number], slope: Callable[[Number], Number], near: float) -> Number:
    """The root beside `near`, from a start that is already close."""
    mp = mpmath()
    x = mp.mpf(near)
    for _ in range(STEPS):
        step = value(x) / slope(x)
        x -= step
        if abs(step) <= HALF * abs(x):
            break
    return x


def beta_quantile(a: Number, b: Number, q: Number, near: float) -> Number:
    """The x with P(X <= x) = q; steps in log x, since x may be 1e-300."""
    mp = mpmath()
    x = mp.mpf(near)
    for _ in range(STEPS):
        low, high = beta_tail(a, b, x)
        gap = low - q if q < 0.5 else (1 - q) - high  # the tail that is small keeps its digits
        step = gap / (beta_density(a, b, x) * x)
        x *= mp.exp(-step)
        if abs(step) <= HALF:
            break
    return x


def mid_p_low(k: int, n: int, rest: Number, near: float) -> Number:
    """The p with P(X > k) + P(X = k)/2 = rest for X ~ Binomial(n, p)."""
    mp = mpmath()

    def value(p: Number) -> Number:
        at_least = beta_tail(k, n - k + 1, p)[0]
        more = beta_tail(k + 1, n - k, p)[0] if k < n else mp.mpf(0)
        return (at_least + more) / 2 - rest

    def slope(p: Number) -> Number:
        return (beta_density(k, n - k + 1, p) + (beta_density(k + 1, n - k, p) if k < n else 0)) / 2

    return newton(value, slope, near)


def student_quantile(p: Number, df: Number, near: float) -> Number:
    """The t with P(T <= t) = p, for p in the upper half: the tail is half of that of Beta(df/2, 1/2) at df/(df+t^2)."""
    mp = mpmath()
    df = mp.mpf(df)
    scale = mp.exp(mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2)) / mp.sqrt(df * mp.pi)

    def value(t: Number) -> Number:
        return (1 - p) - beta_tail(df / 2, mp.mpf(1) / 2, df / (df + t * t), t * t / (df + t * t))[0] / 2

    return newton(value, lambda t: scale * (1 + t * t / df) ** (-(df + 1) / 2), near)


def f1_moments(a: Number, b: Number) -> tuple[Number, Number]:
    """(mean, sd) of 2J/(1+J), J ~ Beta(a, b): Gauss's function at -1, in twice the digits since the moments nearly cancel."""
    mp = mpmath()
    with mp.workdps(2 * DIGITS):
        a, b = mp.mpf(a), mp.mpf(b)
        mean = 2 * a / (a + b) * mp.hyp2f1(1, a + 1, a + b + 1, -1)
        square = 4 * a * (a + 1) / ((a + b) * (a + b + 1)) * mp.hyp2f1(2, a + 2, a + b + 2, -1)
        return +mean, mp.sqrt(square - mean**2)


def wilson(k: int, n: int, z: Number) -> tuple[Number, Number]:
    """Both roots p of n (k/n - p)^2 = z^2 p (1 - p)."""
    mp = mpmath()
    p, m = mp.mpf(k) / n, mp.mpf(n)
    a, b, c = m + z * z, -(2 * m * p + z * z), m * p * p
    root = mp.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def tango(gained: int, lost: int, n: int, z: Number, near: float) -> Number:
    """The difference d at which Tango's score is z: a root of (gained - lost - n d) = z sqrt(n (2 q + d (1 - d)))."""
    mp = mpmath()

    def value(d: Number) -> Number:
        b = -gained - lost + (2 * n - gained + lost) * d
        c = -lost * d * (1 - d)
        q = (mp.sqrt(b * b - 8 * n * c) - b) / (4 * n)
        return gained - lost - n * d - z * mp.sqrt(n * (2 * q + d * (1 - d)))

    return _secant(value, near)


def miettinen_nurminen(k1: int, n1: int, k2: int, n2: int, z: Number, near: float) -> Number:
    """The difference d at which the score, with the constrained shares as a root of the likelihood's cubic, is z."""
    mp = mpmath()

    def value(d: Number) -> Number:
        total = n1 + n2
        cubic = [
            mp.mpf(total),
            (n1 + 2 * n2) * d - total - k1 - k2,
            (n2 * d - total - 2 * k2) * d + k1 + k2,
            k2 * d * (1 - d),
        ]
        p2 = _likeliest(cubic, d, k1, n1, k2, n2)
        p1 = p2 + d
        variance = (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * total / (total - 1)
        return mp.mpf(k1) / n1 - mp.mpf(k2) / n2 - d - z * mp.sqrt(mp.fabs(variance))

    return _secant(value, near)


def _likeliest(cubic: list[Number], d: Number, k1: int, n1: int, k2: int, n2: int) -> Number:
    """Of the roots for which both shares are shares, the one with the largest likelihood."""
    mp = mpmath()
    low, high = max(mp.mpf(0), -d), min(mp.mpf(1), 1 - d)
    starts = [start.real for start in np.roots([float(c) for c in cubic]) if abs(start.imag) < 1e-6]
    real = [_polished(cubic, start) for start in starts if float(low) - 1e-6 <= start <= float(high) + 1e-6]
    inside = [min(max(root, low), high) for root in real]

    def likelihood(p2: Number) -> Number:
        shares = ((k1, p2 + d), (n1 - k1, 1 - p2 - d), (k2, p2), (n2 - k2, 1 - p2))
        return sum(many * mp.log(p) if p > 0 else -mp.inf for many, p in shares if many)

    return max(inside, key=likelihood)


def _polished(cubic: list[Number], start: float) -> Number:
    """Newton's steps on a cubic from a root in floats; none where the slope vanishes."""
    mp = mpmath()
    a, b, c, e = cubic
    x = mp.mpf(start)
    for _ in range(2 * STEPS):
        slope = (3 * a * x + 2 * b) * x + c
        if not slope:
            break
        x -= (((a * x + b) * x + c) * x + e) / slope
    return x


def _secant(value: Callable[[Number], Number], near: float) -> Number:
    mp = mpmath()
    return mp.findroot(value, (mp.mpf(near), mp.mpf(near) + mp.mpf(1e-9)), solver="secant", tol=mp.mpf(10) ** -DIGITS)


def coin_tails(few: int, many: int) -> tuple[Number, Number]:
    """(P(X < few), P(X = few)) of few + many fair coins: the point in whole numbers, the tail term by term down from it."""
    mp = mpmath()
    total = few + many
    at = term = mp.mpf(math.comb(total, few)) / mp.mpf(2) ** total
    below = mp.mpf(0)
    for i in range(few, 0, -1):
        term *= mp.mpf(i) / (total - i + 1)
        below += term
        if term < below * mp.eps:
            break
    return below, at
