"""How many items: the first n that meets a criterion, and the n from which every larger one does.

What is asked of counts is a saw-tooth in n: one more item can undo what the last one met, and bare bisection stops at
any tooth. So a plan has two answers, `n_first` and `n_stable`. Both are found by a bracket that is safe and a scan inside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Stretch = Callable[[int, int], FloatArray]  # (first, count) -> the values at n = first ... first + count - 1
PerCount = Callable[[IntArray], FloatArray]  # m -> g(m), between 0 and 1

CAP = 10_000_000  # beyond this many items a plan is not a plan
ROUNDING = 1e-12  # sums of thousands of weights: less than this below the target is the target
BLOCK = 256
FIRST_COUNTS = 512
LEVELS = math.log(1e-300), math.log(1 - 1e-9)  # of the alphas that are looked at
LOOK_AHEAD = 65_536  # so many counts without success: ask at the cap before going on


class SizeFound(NamedTuple):
    """The first n that meets the target, the n from which every larger one does, and the value there."""

    n_first: int
    n_stable: int
    achieved: float


def first_and_stable(values: Stretch, target: float, low: int, high: int) -> SizeFound:
    """Scan a bracket: upwards to the first n that meets the target, downwards to the last that does not.

    Assumes: no n below `low` meets the target, every n from `high` on does.

    >>> teeth = lambda first, count: np.array([n / 10 - 0.25 * (n % 5 == 0) for n in range(first, first + count)])
    >>> first_and_stable(teeth, 0.7, 1, 20)
    SizeFound(n_first=7, n_stable=7, achieved=0.7)
    >>> tuple(first_and_stable(teeth, 0.8, 1, 20))[:2]
    (8, 11)
    """
    seen: dict[int, npt.NDArray[np.bool_]] = {}

    def meets(block: int) -> npt.NDArray[np.bool_]:
        if block not in seen:
            first = low + block * BLOCK
            seen[block] = values(first, min(BLOCK, high - first)) >= target - ROUNDING
        return seen[block]

    blocks = range(-(-(high - low) // BLOCK))
    first = next((low + b * BLOCK + int(meets(b).argmax()) for b in blocks if meets(b).any()), high)
    stable = next((low + b * BLOCK + int(np.flatnonzero(~meets(b))[-1]) + 1 for b in reversed(blocks) if not meets(b).all()), low)
    return SizeFound(first, stable, float(values(stable, 1)[0]))


def counts_that_matter(n: int, share: float) -> tuple[int, int]:
    """The smallest and largest M ~ Binomial(n, share) worth a thought: less than 1e-17 lies beyond either, by Bernstein's inequality."""
    if share == 1:
        return n, n
    reach = 9 * math.sqrt(n * share * (1 - share)) + 30
    return max(0, math.floor(n * share - reach)), min(n, math.ceil(n * share + reach))


def binomial_weights(n: int, share: float) -> tuple[int, FloatArray]:
    """The probabilities of M ~ Binomial(n, share) over the counts that matter, and the first of these counts.

    By ratios of neighbours, summed as logarithms and scaled to 1: log-gamma at n = 10^7 would leave eight digits.

    >>> start, weights = binomial_weights(4, 0.5)
    >>> start, (16 * weights).round(12).tolist()
    (0, [1.0, 4.0, 6.0, 4.0, 1.0])
    """
    low, high = counts_that_matter(n, share)
    if low == high:
        return low, np.ones(1)
    m = np.arange(low, high, dtype=np.float64)
    steps = np.log((n - m) / (m + 1)) + (math.log(share) - math.log1p(-share))
    heights = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(heights - heights.max())
    return low, weights / weights.sum()


def binomial_stretches(n: IntArray, share: FloatArray) -> tuple[IntArray, FloatArray, IntArray]:
    """The counts that matter and their probabilities, `binomial_weights`, of several n one after the other; and where each begins.

    >>> counts, weights, starts = binomial_stretches(np.array([2, 1]), np.array([0.5, 1.0]))
    >>> counts.tolist(), weights.round(12).tolist(), starts.tolist()
    ([0, 1, 2, 1], [0.25, 0.5, 0.25, 1.0], [0, 3])
    """
    ends = [counts_that_matter(*each) for each in zip(n.tolist(), share.tolist(), strict=True)]
    lengths = np.array([high - low + 1 for low, high in ends])
    starts = np.cumsum(lengths) - lengths
    m = np.concatenate([np.arange(low, high + 1) for low, high in ends])
    odds = share / np.where(share < 1, 1 - share, 1.0)  # where all items are relevant there is one count, and no step from it
    heights = running_sums(np.zeros(n.size), np.log(np.maximum(np.repeat(n, lengths) - m, 1) / (m + 1) * np.repeat(odds, lengths)), starts)
    weights = np.exp(heights - np.repeat(np.maximum.reduceat(heights, starts), lengths))
    return m, weights / np.repeat(np.add.reduceat(weights, starts), lengths), starts


def running_sums(begin: FloatArray, steps: FloatArray, starts: IntArray) -> FloatArray:
    """Running sums, stretch by stretch: what it begins with, then the steps; the step at a place leads to the next one.

    One sum over all stretches and what it was at their beginnings: the last step of a stretch leads nowhere, but is a number.

    >>> running_sums(np.array([10.0, 0.0]), np.array([1.0, 2.0, 9.0, 5.0, 9.0]), np.array([0, 3])).tolist()
    [10.0, 11.0, 13.0, 0.0, 5.0]
    """
    out = np.zeros(steps.size)
    np.cumsum(steps[:-1], out=out[1:])
    return out + np.repeat(begin - out[starts], np.diff([*starts.tolist(), steps.size]))


def whole_between(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """The whole numbers above each `low` up to its `high`, and the places of the pairs they belong to.

    >>> [each.tolist() for each in whole_between(np.array([3, 5, 7]), np.array([5, 5, 8]))]
    [[0, 0, 2], [4, 5, 8]]
    """
    many = np.maximum(high - low, 0)
    places = np.repeat(np.arange(many.size), many)
    return places, low[places] + 1 + np.arange(places.size) - (np.cumsum(many) - many)[places]


def first_jump(owner: IntArray, at: FloatArray, gain: FloatArray, base: FloatArray, target: float, otherwise: FloatArray) -> FloatArray:
    """Where chances that begin at `base` and rise in jumps reach the target: each jump says whose it is, where, and by how much.

    >>> places, gains = np.array([3.0, 7.0, 2.0]), np.array([0.3, 0.1, 0.2])
    >>> first_jump(np.array([0, 1, 0]), places, gains, np.full(2, 0.4), 0.8, np.full(2, 9.0))
    array([3., 9.])
    """
    order = np.lexsort((at, owner))
    owner, reached = owner[order], np.cumsum(gain[order])
    starts = np.searchsorted(owner, np.arange(base.size))
    met = np.flatnonzero(reached - np.append(0.0, reached)[starts][owner] + base[owner] >= target)
    out = otherwise.copy()
    out[owner[met][::-1]] = at[order][met][::-1]  # the first of each is written last
    return out


def rising_roots(f: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, relative: float) -> FloatArray:
    """`rising_root` of many f at once, each above 0 at its high. Reference: Dowell1971.

    >>> rising_roots(lambda x: x * x - np.array([2.0, 3.0]), np.zeros(2), np.full(2, 2.0), 1e-12).round(9).tolist()
    [1.414213562, 1.732050808]
    """
    at_low, at_high, stayed = f(low), f(high), np.zeros(low.size)
    for turn in range(1, 200):
        if not (high - low > relative * high).any():
            break
        least = relative * high / 2
        middle = high - at_high * (high - low) / np.maximum(at_high - at_low, 1e-300) if turn % 3 else (low + high) / 2
        middle = np.minimum(np.maximum(middle, low + least), np.maximum(high - least, low))
        here = f(middle)
        up = here > 0
        at_low, at_high = (
            np.where(up, np.where(stayed > 0, at_low / 2, at_low), here),
            np.where(up, here, np.where(stayed < 0, at_high / 2, at_high)),
        )
        low, high, stayed = np.where(up, low, middle), np.where(up, middle, high), np.where(up, 1, -1)
    return high


def rising_root(
    f: Callable[[float], float], low: float, high: float, *, at_low: float, relative: float, at_high: float | None = None
) -> float:
    """Where a smooth f rises through 0 between low, where it is `at_low` < 0, and high; high itself if f is below 0 there too.

    Formula: false position, an end that stays put counting half (Illinois), every third step a bisection. The answer is
    the upper end of a bracket narrower than `relative` of it, so f is not below 0 there. Reference: Dowell1971.

    >>> round(rising_root(lambda x: x * x - 2, 0.0, 2.0, at_low=-2.0, relative=1e-12), 10)
    1.4142135624
    """
    at_high = f(high) if at_high is None else at_high
    stayed = 0
    for turn in itertools.count(1):
        width = high - low
        if at_high < 0 or width <= relative * high:
            return high
        least = relative * high / 2  # never so near an end that the bracket does not close
        middle = low + width / 2 if turn % 3 == 0 else high - at_high * width / (at_high - at_low)
        middle = min(max(middle, low + least), high - least)
        if not low < middle < high:
            return high
        here = f(middle)
        if here >= 0:
            high, at_high = middle, here
            at_low, stayed = (at_low / 2 if stayed == 1 else at_low), 1
        else:
            low, at_low = middle, here
            at_high, stayed = (at_high / 2 if stayed == -1 else at_high), -1
    raise AssertionError  # the count has no end


def mixture_value(g: PerCount, n: int, share: float) -> float:
    """E[g(M)], M ~ Binomial(n, share): what a criterion on the relevant items is worth when n items are drawn.

    >>> round(mixture_value(lambda m: 1 - 0.5**m, 10, 0.3), 12) == round(1 - 0.85**10, 12)
    True
    """
    start, weights = binomial_weights(n, share)
    return float(weights @ g(np.arange(start, start + len(weights))))


def mixture_search(g: PerCount, share: float, target: float, *, cap: int = CAP) -> SizeFound:
    """The first and the stable n for E[g(M)] >= target, M ~ Binomial(n, share).

    Formula: the running maximum of g lies above it, the running minimum from the right below, and both rise; so do
    their expectations in n, because Binomials are stochastically ordered. Where each crosses the target gives a bracket outside
    which the answer is known; inside, E[g(M)] goes from n to n + 1 by g(m) <- (1 - share) g(m) + share g(m + 1).
    Assumes: g lies in [0, 1] and, beyond the counts looked at, does not fall below its minimum over their last third,
    which exceeds the target by a quarter of what is left to 1. Undefined: no n up to `cap` meets the target for good; an error.

    >>> tuple(mixture_search(lambda m: 1 - 0.5**m, 0.3, 0.8))[:2]
    (10, 10)
    """
    _check(share, target)
    values = _far_enough(g, share, target, cap)
    roof = np.maximum.accumulate(values)
    floor = np.minimum.accumulate(np.minimum(values, values[_last_third(values)].min())[::-1])[::-1]
    about = math.ceil(int((values >= target - ROUNDING).argmax()) / share)
    step = math.isqrt(about) // 4
    low = _crossing(lambda n: _expectation(roof, 1.0, n, share) - (target - ROUNDING), about, cap, step)
    high = _crossing(lambda n: _expectation(floor, float(floor[-1]), n, share) - target, low, cap, step)
    missing = counts_that_matter(high, share)[1] + BLOCK + 1 - len(values)
    if missing > 0:
        values = np.concatenate([values, g(np.arange(len(values), len(values) + missing))])
    if _expectation(values, 0.0, high, share) < target - ROUNDING:
        raise _out_of_reach(target, cap, _expectation(values, 0.0, high, share))
    return first_and_stable(lambda first, count: _along(values, share, first, count), target, low, high)


def rough_search(values: Stretch, target: float, *, guess: int, period: int, cap: int = CAP) -> SizeFound:
    """The first and the stable n of a criterion that rises but for small teeth, where no envelope is at hand.

    A crossing is found by false position, then a stretch around it is evaluated, at least `period` to either side, all smaller n while
    they are few. It is doubled until its outer halves clear the target by their deepest fall, the largest drop from a
    value to a later one. Assumes: further out no fall is deeper. Undefined: not met up to `cap`; an error.

    >>> teeth = lambda first, count: np.array([n / 100 - 0.02 * (n % 3 == 0) for n in range(first, first + count)])
    >>> tuple(rough_search(teeth, 0.62, guess=10, period=3))[:2]
    (62, 64)
    """

    def short(n: int) -> float:
        return float(values(n, 1)[0]) - target + ROUNDING

    crossing = _crossing(short, guess, cap, step=guess // 32, near=max(1, period // 16))  # the stretch around it is looked at anyway
    if crossing == cap and short(cap) < 0:
        raise _out_of_reach(target, cap, short(cap) + target)
    reach = max(period, crossing if crossing < 4 * BLOCK else 32)  # among small numbers teeth are deep: see them all
    while True:
        low, high = max(1, crossing - reach), min(cap, crossing + reach)
        seen = values(low, high - low + 1)
        outer = reach // 2
        above, below = seen[-outer:], seen[: max(crossing - outer - low, 0)]
        if (high == cap or above.min() >= target + _deepest_fall(above)) and (low == 1 or below.max() < target - _deepest_fall(below)):
            break
        reach *= 2
    if seen[-1] < target - ROUNDING:
        raise _out_of_reach(target, cap, float(seen[-1]))
    return first_and_stable(lambda first, count: seen[first - low : first - low + count], target, low, high)


def _check(share: float, target: float) -> None:
    if not 0 < share <= 1:
        raise UsageError(
            f"The share of relevant items must be above 0 and at most 1, not {share!r}.",
            got=f"a share of relevant items of {share!r}",
            need="above 0, at most 1",
        )
    if not 0 < target < 1:
        raise UsageError(
            f"target must lie strictly between 0 and 1, not at {target!r}.", got=f"a target of {target!r}", need="strictly between 0 and 1"
        )


def _out_of_reach(target: float, cap: int, reached: float) -> UsageError:
    return UsageError(
        f"{cap:,} items reach only {reached:.4g}, not {target:.4g}.",
        got=f"{reached:.4g} with {cap:,} items",
        need="a goal that so many items reach",
        hint="ask for a larger effect, a lower power or a higher alpha",
    )


def _deepest_fall(values: FloatArray) -> float:
    fall = float((np.maximum.accumulate(values) - values).max())
    return fall if fall > ROUNDING else 0.0


def _last_third(values: FloatArray) -> slice:
    return slice(2 * len(values) // 3, None)


def _far_enough(g: PerCount, share: float, target: float, cap: int) -> FloatArray:
    """g(0), g(1), ... until a whole third of them lies clearly above the target, or beyond what n = cap can show."""
    last = counts_that_matter(cap, share)[1]
    values = g(np.arange(min(FIRST_COUNTS, last + 1)))
    asked = False
    while len(values) <= last and values[_last_third(values)].min() < target + (1 - target) / 4:
        if len(values) > LOOK_AHEAD and not asked:  # a hopeless goal is refused before ten million counts are looked at
            asked, reached = True, mixture_value(g, cap, share)
            if reached < target - ROUNDING:
                raise _out_of_reach(target, cap, reached)
        more = np.arange(len(values), min(2 * len(values), last + 1))
        values = np.concatenate([values, g(more)])
    return values


def _expectation(values: FloatArray, beyond: float, n: int, share: float) -> float:
    """E of values[M], with `beyond` for the counts that the array does not reach."""
    start, weights = binomial_weights(n, share)
    known = values[start : start + len(weights)]
    return float(weights[: len(known)] @ known + beyond * weights[len(known) :].sum())


def _along(values: FloatArray, share: float, first: int, count: int) -> FloatArray:
    """E[values[M]] at n = first, first + 1, ...: one more item either is relevant or is not.

    Formula: of k more items J ~ Binomial(k, share) are relevant, so it is E[E[values[M + J]]]; k goes in rows and columns.
    """
    start, weights = binomial_weights(first, share)
    columns = [np.correlate(values[start : start + len(weights) + count - 1], weights, "valid")]
    width = math.isqrt(count - 1) + 1
    for _ in range(width - 1):
        columns.append((1 - share) * columns[-1] + share * np.append(columns[-1][1:], 0.0))
    jumps, chances, starts = binomial_stretches(np.arange(0, count, width), np.full(-(-count // width), share))
    return np.add.reduceat(np.stack(columns)[:, jumps] * chances, starts, axis=1).T.reshape(-1)[:count]


def _crossing(short: Callable[[int], float], guess: int, cap: int, step: int, near: int = 1) -> int:
    """The smallest n up to cap at which a rising criterion is no longer below 0, give or take `near` - 1; `cap` if there is none.

    Steps that double, outwards from the guess, then false position: few looks, because each costs a sum over all counts.
    """
    low = high = min(max(guess, 1), cap)
    at_low = at_high = short(low)
    step = max(step, 1)
    while at_high < 0 and high < cap:
        low, at_low, high, step = high, at_high, min(high + step, cap), 2 * step
        at_high = short(high)
    while at_low >= 0 and low > 1:
        low, high, at_high, step = max(low - step, 1), low, at_low, 2 * step
        at_low = short(low)
    if at_low >= 0 or at_high < 0:
        return low if at_low >= 0 else cap
    return round(rising_root(lambda n: short(round(n)), low, high, at_low=at_low, at_high=at_high, relative=0.9 * near / high))


def alpha_bracket(power: Callable[[float], float], target: float, z: float, slope: float, sides: int) -> tuple[float, float]:
    """Two alphas, 5% apart at most, between which the power reaches the target: not yet at the first, at the second.

    Begins where the normal formula puts it, `z` standard errors out, corrected by the power found there (`slope`: how far z moves
    for a unit of the power's own z), and steps outwards. The ends are 1e-300 and 1: the first if the power is enough even there,
    the second if it is enough nowhere else.

    >>> low, high = alpha_bracket(lambda alpha: alpha**0.1, 0.75, 1.6, 1.0, 1)
    >>> low < 0.75**10 <= high <= 1.06 * low
    True
    """
    from scipy.special import log_ndtr, ndtri

    def level(z: float) -> float:
        return min(max(float(log_ndtr(-z)) + math.log(sides), LEVELS[0]), LEVELS[1])

    def met(log_alpha: float) -> bool:
        return power(math.exp(log_alpha)) >= target

    z += slope * float(ndtri(min(max(power(math.exp(level(z))), 1e-9), 1 - 1e-9)) - ndtri(target))
    low = high = level(z)
    step = 0.02
    if met(low):
        while low > LEVELS[0] and (low == high or met(low)):
            low, high, step = max(low - step, LEVELS[0]), low, 2 * step
    else:
        while high < LEVELS[1] and (low == high or not met(high)):
            low, high, step = high, min(high + step, LEVELS[1]), 2 * step
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return math.exp(low), math.exp(high)
