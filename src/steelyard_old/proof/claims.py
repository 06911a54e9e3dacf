"""What a claim is: a method, what is said of it, the settings it is tried in, and the band it may not leave.

A claim is declared, never hidden in a test: its name, the sentence in the documentation, the grid of settings, and how one
setting is worked out. Working out gives points: a share (coverage of an interval, size or power of a test) with its Monte
Carlo error, which is 0 where outcomes can be enumerated. The random numbers of a setting follow from the seed, the family and
the setting alone: all methods of a family see the same data, and neither order nor interruption changes a number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LEVEL, ALPHA, POWER = 0.95, 0.05, 0.8  # of every interval, test and plan that a claim is about
NOMINAL = {"coverage": LEVEL, "size": ALPHA, "power": POWER}
KINDS = tuple(NOMINAL)
PAGE = "docs/methods.md"
TWO_PAGE = "docs/compare.md"

Setting = Mapping[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Point:
    """What one setting showed: where, the share found and the mean width of the interval, with Monte Carlo standard errors (0: exact).

    runs: of how many independent runs the share is a count; 0 where it is none (a sum of chances, a mean of shares), so that
    nothing but its error is known.
    """

    where: str
    found: float
    error: float = 0.0
    width: float | None = None
    width_error: float = 0.0
    runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Where the shares must lie. low, high: every point. mean_low, mean_high: their mean. fails: the worst point is at most
    this for coverage (at least this for size): a weakness that we document, so that it is known to be still there."""

    low: float | None = None
    high: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    fails: float | None = None


Work = Callable[[Setting, "np.random.Generator"], Iterable[Point]]
BandText = tuple[str, Band]  # what is said of a method, and the band that keeps it


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence about one method, and how to check it.

    family: what methods compete for ("a proportion"); within a family and a kind, the same setting gives points with the same
    `where`, so that the default can be compared with its alternatives. default: whether the code chooses the method by itself;
    asked of the code, never typed. documented: the page that says the sentence. module: the one that declares the claim, filled
    in by the catalogue; kept results rest on its code and on all that it imports.
    """

    family: str
    method: str
    kind: str
    nominal: float
    says: str
    documented: str
    band: Band
    quick: tuple[Setting, ...]
    full: tuple[Setting, ...]
    work: Work
    default: bool = False
    module: str = "steelyard_old.proof.claims"

    @property
    def name(self) -> str:
        return f"{self.family}: {self.kind} of {self.method}"

    def settings(self, grid: str) -> tuple[Setting, ...]:
        return self.quick if grid == "quick" else self.full


def declared(
    kind: str,
    family: str,
    said: Mapping[str, BandText],
    default: str,
    work: Callable[[str, Setting, np.random.Generator], Iterable[Point]],
    *,
    quick: tuple[Setting, ...],
    full: tuple[Setting, ...],
    page: str = PAGE,
    nominal: float | None = None,
) -> Iterator[Claim]:
    """A claim of one kind for each method of a family, which `work` takes by its name."""
    for method, (sentence, band) in said.items():
        yield Claim(
            family=family,
            method=method,
            kind=kind,
            nominal=NOMINAL[kind] if nominal is None else nominal,
            says=sentence,
            documented=page,
            band=band,
            quick=quick,
            full=full,
            work=partial(work, method),
            default=method == default,
        )


def words(setting: Setting) -> str:
    """A setting in words: `n=20 p=0.95`."""
    return " ".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in setting.items())


def generator(seed: int, name: str, setting: Setting) -> np.random.Generator:
    """The stream of random numbers of one setting of one family, whatever was worked out before it."""
    import numpy as np

    digest = hashlib.sha256(f"{seed}|{name}|{words(setting)}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def counted(where: str, hits: int, runs: int, width: float | None = None, width_error: float = 0.0) -> Point:
    """The share of independent runs that did what is asked about."""
    share = hits / runs
    return Point(where, share, share_error(share, runs), width, width_error, runs)


def share_error(share: float, runs: int) -> float:
    """Monte Carlo standard error of a share of independent runs; never 0, since a share of 0 or 1 is not certain either."""
    kept = (share * runs + 0.5) / (runs + 1)
    return float((kept * (1 - kept) / runs) ** 0.5)


def averaged(values: Sequence[float] | npt.NDArray[np.float64]) -> tuple[float, float]:
    """(mean, its Monte Carlo standard error)."""
    import numpy as np

    return float(np.mean(values)), float(np.std(values)) / len(values) ** 0.5
