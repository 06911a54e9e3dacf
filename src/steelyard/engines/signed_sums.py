"""The tail of a sum of numbers with random signs, worked out instead of drawn: its transform is a product, and is inverted.

For S = sum of s_i a_i with fair signs s_i, E exp(z S) = product of cosh(z a_i), whatever the a_i. The tail is the integral of this
transform along a line, exp(-z x) / z beside it; the trapezoidal rule is exact there but for terms that Hoeffding's inequality bounds.
Where the transform does not die away, S has few values with gaps between them, and nothing is claimed.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import FloatArray

ComplexArray = npt.NDArray[np.complex128]

FAR = 9.0  # standard deviations, from where Hoeffding's bound is told instead: 5e-18
SMOOTH = 5e-4  # standard deviation of a normal number that is added to the sum, in standard deviations of the sum
TILT = 3.0  # the least real part of the line: a larger one needs fewer nodes and loses digits
CORE = 300.0  # standard deviations of the sum make a turn here: a transform that is still alive has gaps behind it
NEGLIGIBLE = 1e-16  # of the transform, where the core ends
REST = 1e-4  # of the tail: all that the nodes beyond the core could add
WORK = 30_000_000  # factors that are multiplied before drawing is thought to be faster
NEAR = 0.1  # up to here log cosh is its series
SERIES = (1 / 2, -1 / 12, 1 / 45, -17 / 2520, 31 / 14175, -691 / 935550)
SOME = (32, 128)  # numbers by which the rest is bounded, in single precision; more of them if few do not do
ROUNDED = np.float32(0.01)  # the error of the squared sine of an angle of some thousand turns there


def signed_sum_tail(size: npt.ArrayLike, counts: npt.ArrayLike, observed: float) -> float | None:
    """P(|S| >= observed) for S = the sum of `size`, each as often as `counts` says, with independent fair signs; None if it must be drawn.

    Formula: with the sizes over their root sum of squares, x = observed and K(z) = sum log cosh(z a_i) + (e z)^2 / 2,
    P(S >= x) = 1/pi times the integral over t > 0 of Re exp(K(z) - z x) / z, z = h + it, h = max(x, 3); step 2 pi / (34.5 / h + h / 2).
    The term in e is a normal number of e = 0.0005 standard deviations that is added to S: without it the integral would have no end.
    So the tail lies between those at x - 5 e and x + 5 e, to 3e-7. That is 0.0003 at p = 0.05 at worst, and below 1e-6 where S
    has no gaps of that size, which is what is looked at: the transform beyond its core may add at most 0.0001 of the tail.
    Beyond 9 standard deviations it is Hoeffding's bound, 2 exp(-x^2 / 2).
    Small a_i go by their power sums; with a sum of squares of 1 no more than 1 / r^2 of them are larger than r, so the cost hardly grows.
    Assumes: numbers above 0. Reference: Robinson1982 for the tilt; Davies1973 for the rule; Hoeffding1963 for its error.

    >>> round(signed_sum_tail(np.sqrt(np.arange(1, 401)), np.ones(400, int), 400.0), 6)
    0.157934
    """
    a, many = np.asarray(size, float), np.asarray(counts, float)
    a = a / a.max()
    spread = math.sqrt(float((many * a * a).sum()))
    a, x = a / spread, abs(observed) / (float(np.max(size)) * spread)
    if x > FAR:
        return 2 * math.exp(-x * x / 2)
    tilt = max(x, TILT)
    step = 2 * math.pi / (34.5 / tilt + tilt / 2)
    last = math.ceil(7.5 / (SMOOTH * step))
    base = float(_log_transform(a, many, np.array([tilt + 0j]))[0].real) + (SMOOTH * tilt) ** 2 / 2
    total, work, at, width = 0.0, 0, 0, 24
    while True:  # the core: until the transform has died away
        t = step * np.arange(at, at + width)
        z: ComplexArray = np.asarray(tilt + 1j * t, np.complex128)
        work += width * int(np.count_nonzero(a > NEAR / abs(z[-1])))
        if work > WORK or t[0] > CORE:
            return None
        values = np.exp(_log_transform(a, many, z) + (SMOOTH * z) ** 2 / 2 - base - 1j * t * x) / z
        if at == 0:
            values[0] /= 2
        total += float(values.real.sum())
        at, width = at + width, min(2 * width, 1024)
        if float(np.abs(values[-4:]).max()) < NEGLIGIBLE:
            break
    if all(_rest(a, many, tilt, step, at, last, some) > REST * total for some in SOME):
        return None
    return min(1.0, 2 * math.exp(base - tilt * x) * total * step / math.pi)


def _log_transform(a: FloatArray, many: FloatArray, z: ComplexArray) -> ComplexArray:
    """log of the product of cosh(z a)^many at each z; the imaginary part to a multiple of 2 pi."""
    large = a > NEAR / float(np.abs(z[-1]))
    squares = a[~large] ** 2
    powers = squares * many[~large]
    found = np.zeros(len(z), complex)
    factor = z * z
    for coefficient in SERIES:
        found += coefficient * float(powers.sum()) * factor
        powers *= squares
        factor = factor * z * z
    some, often = a[large], many[large]
    rows = max(1, 1_000_000 // len(z))
    for start in range(0, len(some), rows):
        part = np.outer(z, some[start : start + rows])
        found += (part + np.log1p(np.exp(-2 * part)) - math.log(2)) @ often[start : start + rows]
    return found


def _rest(a: FloatArray, many: FloatArray, tilt: float, step: float, first: int, last: int, most: int) -> float:
    """A bound of what the nodes from `first` to `last` add up to, over the transform at 0.

    |cosh(z a) / cosh(h a)|^2 = 1 - sin^2(t a) / cosh^2(h a). Where t a is below a quarter of a turn, sin(t a) >= 2 t a / pi, and the
    squares of such a add up; beyond, some of the factors are multiplied, as no factor is above 1.
    """
    exponent = np.frexp(a)[1]
    least = int(exponent.min())
    squares = np.cumsum(np.bincount(exponent - least, weights=many * a * a))  # of all a below 2^(least + i)
    bound, once = 0.0, bool((many == 1).all())
    while first <= last:
        end = min(2 * first, last + 1)
        t = step * first
        edge = math.floor(math.log2(math.pi / (4 * t)))  # for all nodes of this octave: a below 2^edge turn at most a quarter
        below = float(squares[min(edge - least, len(squares) - 1)]) if edge >= least else 0.0
        log = -2 / math.pi**2 * t * t * below / math.cosh(tilt * 2.0**edge) ** 2
        if log < -45:
            bound += math.exp(log) * math.log(end / first) / step
        else:
            beyond = np.flatnonzero(a >= 2.0**edge)
            some = beyond[:: max(1, len(beyond) // most)]
            damped = (np.cosh(np.minimum(tilt * a[some], 40.0)) ** -2).astype(np.float32)
            often, turns = many[some].astype(np.float32) / 2, a[some].astype(np.float32)
            for start in range(first, end, 1024):
                nodes = step * np.arange(start, min(start + 1024, end))
                few = math.ceil(len(some) * max(0.0, 1 - (SMOOTH * nodes[0]) ** 2 / (0.9 * len(some))))  # the normal does the rest
                sines = np.sin(np.outer(turns[:few], nodes.astype(np.float32)))
                sines *= sines
                sines -= ROUNDED
                np.maximum(sines, 0, out=sines)
                sines *= damped[:few, None]
                factors = np.subtract(1, sines, out=sines)
                product = np.sqrt(factors.prod(0)) if once else np.exp(often[:few] @ np.log(factors))
                bound += float((np.exp(log - (SMOOTH * nodes) ** 2 / 2) * product / np.hypot(nodes, tilt)).sum())
        first = end
    return bound
