"""A claim: a number of a method at every setting of a grid, and the band in which the worst of them and their mean must lie."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

Setting = dict[str, Any]
LARGE_IS_WORSE = ("size", "width", "price", "faults", "answers")
ERRORS = 4.0  # standard errors around a documented value that a simulated one may lie off
SHARES = ("coverage", "size", "power", "answers")


class Band(NamedTuple):
    """low, high: of every setting. fails: a documented weakness, which the worst setting must show. mean: of all settings."""

    low: float | None = None
    high: float | None = None
    fails: float | None = None
    mean: tuple[float | None, float | None] = (None, None)

    def __str__(self) -> str:
        said = [f"{sign}{x:g}" for sign, x in ((">=", self.low), ("<=", self.high), ("worst beyond ", self.fails)) if x is not None]
        ends = [f"{sign}{x:g}" for sign, x in zip((">=", "<="), self.mean, strict=True) if x is not None]
        return " ".join(said + (["mean " + " ".join(ends)] if ends else []))


class Point(NamedTuple):
    """The number at a setting; of a drawn one, of how many samples and how far they spread."""

    where: str
    value: float
    runs: int = 0
    spread: float = 0.0

    def error(self, kind: str, bound: float) -> float:
        """Its standard error if the truth is the bound."""
        if not self.runs:
            return 0.0
        spread = math.sqrt(max(0.0, bound * (1 - bound))) if kind in SHARES else self.spread
        return spread / math.sqrt(self.runs)


class Claim(NamedTuple):
    """name; kind of number; work: of a setting, as points (by enumeration) or of one sample (drawn: None is no answer); grids; band.

    runs: samples of a setting, quick and in full; (0, 0) by enumeration. more: settings of the full grid beside those of the quick one.
    """

    name: str
    kind: str
    work: Callable[..., Any]
    grid: tuple[Setting, ...]
    band: Band
    runs: tuple[int, int] = (0, 0)
    more: tuple[Setting, ...] = ()


class Found(NamedTuple):
    """What came out: the worst setting, all of them, and what lies outside of the band."""

    claim: Claim
    worst: Point
    mean: float
    points: tuple[Point, ...]
    outside: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        c, known = self.claim, f", {self.worst.runs:,} samples" if self.worst.runs else ""
        more = [f"and {len(self.outside) - 4} more"] if len(self.outside) > 4 else []
        faults = "".join(f"\n       {fault}" for fault in (*self.outside[:4], *more))
        verdict, at = "FAILS" if self.outside else "holds", f"{self.worst.where}{known}"
        head = f"{verdict}  {c.name}: {c.kind} {self.worst.value:.4f} ({at})"
        return f"{head}, mean {self.mean:.4f}; band {c.band}; {self.seconds:.1f} s{faults}"


def at(**values: Any) -> tuple[Setting, ...]:
    """Every combination of values.

    >>> at(n=(5, 10), p=0.5)
    ({'n': 5, 'p': 0.5}, {'n': 10, 'p': 0.5})
    """
    lists = [value if isinstance(value, tuple) else (value,) for value in values.values()]
    return tuple(dict(zip(values, each, strict=True)) for each in product(*lists))


def rows(names: str, *laws: tuple[Any, ...]) -> tuple[Setting, ...]:
    """Settings written as a table."""
    return tuple(dict(zip(names.split(), law, strict=True)) for law in laws)


def words(setting: Setting) -> str:
    """A setting in words."""
    return " ".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in setting.items())


def stream(setting: Setting) -> np.random.Generator:
    """The same samples for every method."""
    return np.random.Generator(np.random.PCG64([20_261_119, zlib.crc32(words(setting).encode())]))


def points(claim: Claim, full: bool) -> Iterator[Point]:
    """The number at every setting."""
    for setting in (*claim.grid, *(claim.more if full else ())):
        if not claim.runs[0]:
            found: Iterable[tuple[str, float]] = claim.work(**setting)
            yield from (Point(f"{words(setting)} {where}".strip(), float(value)) for where, value in found)
            continue
        rng = stream(setting)
        seen = np.array([x for x in (claim.work(rng, **setting) for _ in range(claim.runs[full])) if x is not None], float)
        if len(seen) < min(20, claim.runs[full] / 2):  # where nothing is said nothing is claimed
            continue
        yield Point(words(setting), float(seen.mean()), len(seen), float(seen.std()))


def judge(claim: Claim, full: bool = False) -> Found:
    """Work a claim out, and compare."""
    start, every, band = time.process_time(), tuple(points(claim, full)), claim.band
    if not every:
        return Found(claim, Point("nowhere", math.nan), math.nan, (), ("no setting has an answer",), time.process_time() - start)
    worse = 1 if claim.kind in LARGE_IS_WORSE else -1
    worst = max(every, key=lambda p: worse * p.value)
    mean, outside = float(np.mean([p.value for p in every])), list[str]()

    def check(value: float, error: float, low: float | None, high: float | None, where: str) -> None:
        if (low is not None and value < low - ERRORS * error - 1e-9) or (high is not None and value > high + ERRORS * error + 1e-9):
            outside.append(f"{where}: {value:.4f}, documented {'>= ' if low is not None else '<= '}{low if low is not None else high:g}")

    for p in every:
        if band.low is not None:
            check(p.value, p.error(claim.kind, band.low), band.low, None, p.where)
        if band.high is not None:
            check(p.value, p.error(claim.kind, band.high), None, band.high, p.where)
    if band.fails is not None:
        low, high = (band.fails, None) if worse > 0 else (None, band.fails)
        check(worst.value, worst.error(claim.kind, band.fails), low, high, f"the worst, {worst.where}")
    for bound, ends in ((band.mean[0], (band.mean[0], None)), (band.mean[1], (None, band.mean[1]))):
        if bound is not None:
            error = math.sqrt(sum(p.error(claim.kind, bound) ** 2 for p in every)) / len(every)
            check(mean, error, *ends, "the mean")
    return Found(claim, worst, mean, every, tuple(outside), time.process_time() - start)
