"""Exact power of a pass: how many items rule out a drop of theta by Tango's bound, when nothing has changed.

Of n items D disagree, half of them lost; the lower bound of the difference lies above -theta if few enough are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import STANDARD
from steelyard_old.infer.planning.mcnemar_power import at_least, check_theta, coin, neighbouring_tails
from steelyard_old.infer.planning.search import (
    BLOCK,
    CAP,
    LEVELS,
    ROUNDING,
    FloatArray,
    IntArray,
    SizeFound,
    alpha_bracket,
    binomial_stretches,
    binomial_weights,
    counts_that_matter,
    first_jump,
    rising_roots,
    rough_search,
    whole_between,
)

SMALLEST, LARGEST = 1e-12, 1.0 - 1e-9  # drops that are looked at


def rule_out_power(n: int, discordance: float, theta: float, alpha: float) -> float:
    """The probability that n items rule out a drop of theta when nothing changed.

    Formula: P(lower Tango bound of level 1 - alpha, one-sided, > -theta) with losses and gains equally likely; the bound
    lies above -theta iff Tango's z at -theta exceeds z_alpha. Exact: summed over D and the losses among them.
    Assumes: independent items, one answer each. Reference: Tango1998.

    >>> round(rule_out_power(1544, 0.1, 0.02, 0.05), 4)
    0.7955
    """
    _check_rule_out(discordance, theta)
    if n < 1:
        raise UsageError(f"The power needs at least one item, not n = {n!r}.", got=f"n = {n!r}", need="at least one item")
    return float(_rule_out_along(discordance, theta, -STANDARD.inv_cdf(alpha), n, 1)[0])


def rule_out_items(discordance: float, theta: float, alpha: float, beta: float, cap: int = CAP) -> SizeFound:
    """The first and the stable number of items that rule out a drop of theta with probability 1 - beta when nothing changed.

    The criterion depends on n as well as on D, so there is no envelope: `search.rough_search` looks at a stretch of at
    least 1/theta items, one full tooth, to either side of the crossing, and says what it assumes beyond. Reference: Tango1998.

    >>> tuple(rule_out_items(0.1, 0.02, 0.05, 0.2))[:2]
    (1565, 1565)
    """
    _check_rule_out(discordance, theta)
    z = -STANDARD.inv_cdf(alpha)
    reach = max(z - STANDARD.inv_cdf(beta), 1.0)
    guess = math.ceil(min(cap, reach * reach * discordance / theta**2))
    period = math.ceil(1 / theta)
    return rough_search(
        lambda first, count: _rule_out_along(discordance, theta, z, first, count), 1 - beta, guess=guess, period=period, cap=cap
    )


def rule_out_theta(n: int, discordance: float, alpha: float, beta: float) -> float:
    """The smallest drop that n items rule out with probability 1 - beta when nothing has changed: `rule_out_thetas` of one n.

    Undefined: not even a drop of the whole is ruled out (error). Reference: Tango1998; Nam1997.

    >>> round(rule_out_theta(2535, 0.04, 0.05, 0.2), 5)
    0.01
    """
    theta = float(rule_out_thetas([n], discordance, alpha, beta)[0])
    if math.isnan(theta):
        raise UsageError(
            f"{n:,} items cannot rule out any drop with power {1 - beta:.4g} at alpha {alpha:.4g}.",
            need=f"power {1 - beta:.4g} at alpha {alpha:.4g}",
            hint="take more items",
        )
    return theta


def rule_out_thetas(sizes: Sequence[int], discordance: float, alpha: float, beta: float) -> FloatArray:
    """The smallest drop that each number of items rules out with probability 1 - beta when nothing has changed; NaN where none is.

    The chance rises with theta in jumps: at some theta a count of disagreements passes with one loss more. Between two theta, one
    too small and one large enough, there are few of them: each is worked out, and the one that reaches 1 - beta is the answer.
    Reference: Tango1998; Nam1997.

    >>> rule_out_thetas([1, 2535], 0.9, 0.05, 0.2).round(5).tolist()
    [nan, 0.04679]
    """
    from scipy.special import ndtri

    check_theta(discordance, 0.0)
    z, target = -STANDARD.inv_cdf(alpha), 1 - beta - ROUNDING
    if not sizes:
        return np.empty(0)
    n = np.asarray(sizes, dtype=np.int64)
    d, weights, starts = binomial_stretches(n, np.full(n.size, discordance))
    owner = np.repeat(np.arange(n.size), np.diff([*starts.tolist(), d.size]))

    def chance(theta: FloatArray) -> tuple[IntArray, FloatArray]:
        losses = passing_losses(n[owner], d, theta[owner], z)
        return losses, np.add.reduceat(weights * (1 - neighbouring_tails(d, losses + 1, 0.5)[0]), starts)

    one, power_z = np.sqrt(discordance / n), STANDARD.inv_cdf(target)
    about = np.clip((z + power_z) * one, SMALLEST, 0.5)
    for _ in range(2):
        about = np.clip(about + (power_z - ndtri(np.clip(chance(about)[1], 1e-3, 1 - 1e-3))) * one, SMALLEST, 0.5)
    reach = 0.001 * about + 1 / n / (1 + np.sqrt(n * discordance * (1 - discordance)) / 4)  # the more counts, the smaller the jumps
    low, high = np.maximum(about - reach, SMALLEST), np.minimum(about + reach, LARGEST)
    while True:
        (least, missed), (most, met) = chance(low), chance(high)
        down, up = (missed >= target) & (low > SMALLEST), (met < target) & (high < LARGEST)
        if not (down | up).any():
            break
        width = 2 * (high - low)
        low, high = np.where(up, high, np.where(down, low - width, low)), np.where(down, low, np.where(up, high + width, high))
        low, high = np.clip(low, SMALLEST, LARGEST), np.clip(high, SMALLEST, LARGEST)
    cells, lost = whole_between(least, most)
    whose, among = owner[cells], d[cells]
    jumps = rising_roots(lambda theta: _tango_z(n[whose], among, lost, theta) - z, low[whose], high[whose], 1e-12)
    found = first_jump(whose, jumps, weights[cells] * coin(among, lost), missed, target, high)
    return np.where(met < target, np.nan, found)


def rule_out_alpha(n: int, discordance: float, theta: float, beta: float) -> float:
    """The smallest alpha at which n items rule out a drop of theta with probability 1 - beta: a jump, as in `rule_out_thetas`.

    Reference: Tango1998; Nam1997.

    >>> round(rule_out_alpha(2535, 0.04, 0.01, 0.2), 3)
    0.05
    """
    from scipy.special import ndtr

    target = 1 - beta - ROUNDING

    def power(alpha: float) -> float:
        return rule_out_power(n, discordance, theta, alpha)

    low, high = alpha_bracket(power, target, theta * math.sqrt(n / discordance) - STANDARD.inv_cdf(target), 1.0, 1)
    if high >= math.exp(LEVELS[1]) and power(high) < target:
        raise UsageError(
            f"{n:,} items cannot rule out {theta:g}, whatever the alpha.", need="more items, whatever the alpha", hint="take more items"
        )
    start, weights = binomial_weights(n, discordance)
    d = np.arange(start, start + weights.size)
    least, most = (passing_losses(n, d, theta, -STANDARD.inv_cdf(alpha)) for alpha in (low, high))
    cells, lost = whole_between(least, most)
    levels = ndtr(-_tango_z(n, d[cells], lost, theta)) * (1 + ROUNDING)
    gains = weights[cells] * coin(d[cells], lost)
    return float(first_jump(np.zeros_like(cells), levels, gains, np.array([power(low)]), target, np.array([high]))[0])


def passing_losses(n: int | IntArray, discordant: IntArray, theta: float | FloatArray, z: float) -> IntArray:
    """The largest number of losses among D disagreements with which Tango's z at -theta still exceeds z; -1 where none does.

    Reference: Tango1998, equation 2.

    >>> passing_losses(1544, np.array([100, 154]), 0.02, 1.6448536269514722).tolist()
    [57, 82]
    """
    d = np.asarray(discordant, dtype=np.int64)
    gap = z * np.sqrt(np.maximum(d, 1)) - n * theta
    for _ in range(3):  # gains minus losses at which z is met: a fixed point that contracts fast
        before, losses = gap, np.clip((d - gap) / 2, 0, d)
        gap = z * np.sqrt(_variance(n, d, losses, theta)) - n * theta
    start = (d - gap) / 2
    out: IntArray = np.clip(np.floor(start), -1, d).astype(np.int64)
    moving = np.flatnonzero(abs(start - np.rint(start)) < 1e-6 + 4 * abs(gap - before))  # the last step, and four more like it
    n, theta = n[moving] if isinstance(n, np.ndarray) else n, theta[moving] if isinstance(theta, np.ndarray) else theta
    out[moving] = _settle(n, d[moving], out[moving], theta, z)
    return out


def _settle(n: int | IntArray, d: IntArray, losses: IntArray, theta: float | FloatArray, z: float) -> IntArray:
    """Move each count of losses until it passes and the next does not."""
    while True:
        more = (losses < d) & (_tango_z(n, d, np.minimum(losses + 1, d), theta) > z)
        fewer = ~more & (losses >= 0) & (_tango_z(n, d, np.maximum(losses, 0), theta) <= z)
        if not (more.any() or fewer.any()):
            return losses
        losses = losses + more.astype(np.int64) - fewer


def _variance(n: int | IntArray, d: IntArray, losses: FloatArray | IntArray, theta: float | FloatArray) -> FloatArray:
    """Tango's variance of gains minus losses at a true difference of -theta, by his constrained share of losses."""
    b = -(d + (2 * n - d + 2 * losses) * theta)
    c = losses * (theta * (1 + theta))
    share = (np.sqrt(np.maximum(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    out: FloatArray = n * (2 * share - theta * (1 + theta))
    return out


def _tango_z(n: int | IntArray, d: IntArray, losses: IntArray, theta: float | FloatArray) -> FloatArray:
    """`flips.tango_z` at -theta for many counts; theta < 1 keeps the variance above 0."""
    out: FloatArray = (d - 2 * losses + n * theta) / np.sqrt(_variance(n, d, losses, theta))
    return out


def _rule_out_along(discordance: float, theta: float, z: float, first: int, count: int) -> FloatArray:
    """The power to rule out at n = first, first + 1, ..., in blocks that share their disagreements."""
    starts = range(first, first + count, BLOCK)
    return np.concatenate([_rule_out_block(discordance, theta, z, n, min(BLOCK, first + count - n)) for n in starts])


def _rule_out_block(discordance: float, theta: float, z: float, first: int, count: int) -> FloatArray:
    """Weights and passing losses are carried from n to n + 1: few of them change."""
    start, weights = binomial_weights(first, discordance)
    d = np.arange(start, counts_that_matter(first + count - 1, discordance)[1] + 1)
    weights = np.concatenate([weights, np.zeros(len(d) - len(weights))])
    losses = passing_losses(np.maximum(d, first), d, theta, z)  # more disagreements than items wait until there are items
    passing = 1 - neighbouring_tails(d, losses + 1, 0.5)[0]
    places, whens, chances = _changes(d, losses, theta, z, first, count)
    out = np.empty(count)
    done = 0
    for k in range(count):
        if k:
            weights[1:] = (1 - discordance) * weights[1:] + discordance * weights[:-1]
            weights[0] *= 1 - discordance
            until = done
            while until < len(whens) and whens[until] == first + k:
                until += 1
            passing[places[done:until]] = chances[done:until]
            done = until
        out[k] = weights @ passing
    return out


def _changes(d: IntArray, losses: IntArray, theta: float, z: float, first: int, count: int) -> tuple[IntArray, list[int], FloatArray]:
    """Which count of disagreements passes with one loss more, from which n on, and its chance to pass then; by n.

    With n the passing losses rise: those of the last n tell how many changes there are, and bisection from which n on each.
    """
    last = first + count - 1
    if last == first:
        return np.empty(0, dtype=np.int64), [], np.empty(0)
    places, lost = whole_between(losses, passing_losses(np.maximum(d, last), d, theta, z))
    among = d[places]
    low, high = np.full(places.size, first), np.full(places.size, last)
    while (high - low > 1).any():
        middle = (low + high) // 2
        passes = _tango_z(np.maximum(among, middle), among, lost, theta) > z
        low, high = np.where(passes, low, middle), np.where(passes, middle, high)
    order = np.lexsort((lost, high))
    return places[order], high[order].tolist(), (1 - at_least(among, lost + 1, 0.5))[order]


def _check_rule_out(discordance: float, theta: float) -> None:
    check_theta(discordance, 0.0)
    if not 0 < theta < 1:
        raise UsageError("cannot use theta", got=f"{theta!r}", need="a number strictly between 0 and 1")
