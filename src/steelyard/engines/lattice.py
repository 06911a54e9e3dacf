"""Tails of a sum of independent whole numbers, exact however small they are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import FloatArray, IntArray
from steelyard.engines.certainty import falling_root

WORK = 20_000_000  # values of characteristic functions computed at most: about a second
POINTS = 1 << 20  # of the transform
NEGLIGIBLE = 42.0  # e^-42 = 6e-19: what a tail may hide


class Kinds(NamedTuple):
    """Independent whole-number variables by kind: values and shares of shape (kinds, outcomes), and how many of each."""

    value: IntArray
    share: FloatArray
    many: IntArray


class Tails(NamedTuple):
    """What lies below, at and above an observed sum."""

    below: float
    at: float
    above: float


def lattice_tails(kinds: Kinds, observed: int) -> Tails | None:
    """P(Y < y), P(Y = y), P(Y > y) of a sum of independent whole numbers; None when it would cost too much.

    Formula: tilt every law by e^(t x) so that the mean of the sum is y, multiply the characteristic functions on as many points as the
    tilted sum needs (Chernoff's bound says how many), transform back, undo the tilt. So the smaller tail keeps its digits, which a
    plain transform does not give. Reference: Daniels1954 for the tilt.

    >>> coin = Kinds(np.array([[0, 1]]), np.array([[0.5, 0.5]]), np.array([10]))
    >>> [round(x * 1024, 9) for x in lattice_tails(coin, 8)]
    [968.0, 45.0, 11.0]
    """
    law = _Sum(kinds)
    if not law.bottom < observed < law.top:
        return law.at_an_end(observed)
    if observed < law.mean(0.0):
        turned = lattice_tails(Kinds(-kinds.value, kinds.share, kinds.many), -observed)
        return turned and Tails(turned.above, turned.at, turned.below)
    tilt = law.tilt_for(observed)
    down, up = law.reach(tilt, observed)
    points = max(8, 1 << (down + up).bit_length())
    if (spectrum := law.spectrum(tilt, observed, points)) is None:
        return None
    share = np.maximum(np.fft.irfft(np.conj(spectrum), points), 0.0)
    scale = math.exp(law.log_moment_around(tilt, observed))
    at = scale * float(share[0])
    above = scale * float(share[1 : up + 1] @ np.exp(-tilt * np.arange(1, up + 1)))
    return Tails(max(0.0, 1 - at - above), at, above)


class _Sum:
    """A sum of independent whole numbers, and the same sum with its laws tilted."""

    def __init__(self, kinds: Kinds) -> None:
        order = np.argsort(-kinds.many, kind="stable")
        self.value, self.share, self.many = kinds.value[order], kinds.share[order], kinds.many[order]
        inside = np.ma.masked_array(self.value, self.share <= 0)
        self.low, self.high = (np.asarray(x, np.int64) for x in (inside.min(1), inside.max(1)))
        self.bottom, self.top = int(self.low @ self.many), int(self.high @ self.many)

    def at_an_end(self, observed: int) -> Tails:
        """Outside or at an end of the range no transform is needed."""
        if not self.bottom <= observed <= self.top:
            return Tails(float(observed > self.top), 0.0, float(observed < self.bottom))
        ends = self.low if observed == self.bottom else self.high
        chance = np.where(self.value == ends[:, None], self.share, 0.0).sum(1)
        at = 1.0 if self.bottom == self.top else float(np.prod(chance**self.many))  # exact where it is a fraction like 1/20
        return Tails(0.0, at, 1 - at) if observed == self.bottom else Tails(1 - at, at, 0.0)

    def tilted(self, tilt: float) -> tuple[FloatArray, FloatArray, float]:
        """The tilted laws, their means, and log E e^(tilt Y)."""
        edge = np.where(tilt >= 0, self.high, self.low)
        weight = self.share * np.exp(tilt * np.where(self.share > 0, self.value - edge[:, None], 0))
        total = weight.sum(1)
        law = weight / total[:, None]
        return law, (law * self.value).sum(1), float(self.many @ (np.log(total) + tilt * edge))

    def mean(self, tilt: float) -> float:
        """The mean of the tilted sum."""
        return float(self.many @ self.tilted(tilt)[1])

    def log_moment_around(self, tilt: float, observed: int) -> float:
        """log E e^(tilt (Y - observed)) at the tilt that belongs to it, where the plain difference would cancel."""
        centre = self.tilted(tilt)[1]
        small = (self.share * np.expm1(tilt * np.where(self.share > 0, self.value - centre[:, None], 0.0))).sum(1)
        return float(self.many @ np.log1p(small)) + tilt * (float(self.many @ centre) - observed)

    def tilt_for(self, observed: int) -> float:
        """The tilt, not negative, that moves the mean to the observed value."""
        high = 1.0 / float((self.high - self.low).max())
        while self.mean(high) < observed:
            high *= 2
        return falling_root(lambda tilt: observed - self.mean(tilt), 0.0, high)

    def reach(self, tilt: float, observed: int) -> tuple[int, int]:
        """How far below and above the observed value the tilted sum goes, but for a probability of 6e-19. Reference: Chernoff1952."""
        law, centre, start = self.tilted(tilt)
        variance = float(self.many @ (law * (self.value - centre[:, None]) ** 2).sum(1))
        steps = 2.0 ** np.arange(-4, 12) / math.sqrt(max(variance, 1e-12))
        ends = []
        for sign, room in ((-1, observed - self.bottom), (1, self.top - observed)):
            bound = [(self.tilted(tilt + sign * h)[2] - start - sign * h * observed + NEGLIGIBLE) / h for h in steps.tolist()]
            ends.append(min(room, math.ceil(max(1.0, min(bound)))))
        return ends[0], ends[1]

    def spectrum(self, tilt: float, observed: int, points: int) -> npt.NDArray[np.complex128] | None:
        """The characteristic function of the tilted sum minus the observed value; where it has vanished, no kind is added."""
        needed = 1 + int(np.searchsorted(np.cumsum(self.many), 100))  # kinds come by falling number: most frequencies vanish early
        if points > POINTS or points // 2 * min(needed, len(self.many)) * self.value.shape[1] > WORK:
            return None
        law, centre, _ = self.tilted(tilt)
        alive = np.arange(points // 2 + 1)
        angle: FloatArray = alive * np.float64(2 * math.pi / points)
        power = -1j * angle * (observed - float(self.many @ centre))
        for value, share, many, middle in zip(self.value, law, self.many, centre, strict=True):
            power = power + int(many) * _log_characteristic(value - middle, share, angle)
            keep = power.real > -60
            alive, angle, power = alive[keep], angle[keep], power[keep]
        out = np.zeros(points // 2 + 1, complex)
        out[alive] = np.exp(power)
        return out


def _log_characteristic(value: FloatArray, share: FloatArray, angle: FloatArray) -> npt.NDArray[np.complex128]:
    """log E e^(i angle x), from E e^(i angle x) - 1: near 1 its logarithm is multiplied by millions."""
    real, imaginary = np.zeros_like(angle), np.zeros_like(angle)
    for x, q in zip(value.tolist(), share.tolist(), strict=True):
        half = np.sin(angle * (x / 2))
        real -= 2 * q * half * half
        imaginary += 2 * q * half * np.cos(angle * (x / 2))
    with np.errstate(divide="ignore"):
        size = np.log1p(np.maximum(2 * real + real * real + imaginary * imaginary, -1.0)) / 2
    return np.asarray(np.maximum(size, -1e4) + 1j * np.arctan2(imaginary, 1 + real))
