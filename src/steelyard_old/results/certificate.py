"""What `certify` answers with: every claim with what was found, the defaults against their alternatives, the accuracy of closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import Result, ResultPart

UP_IS_BAD = ("size",)  # the kinds whose worst is the largest share
NOT_OFFERED = "not offered: "  # how families begin whose methods are taught or done elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedSetting(ResultPart):
    """What one setting of a claim showed, its many points reduced to a few numbers.

    least and most are the ends of the shares found, with their places and Monte Carlo standard errors (0: exact). `off` is how
    far the shares lie on the bad side of nominal, on average: below it for coverage, above it for size. `runs` is the number of
    independent runs that each share is a count of; 0 where shares are sums of chances or means, or rest on different numbers of
    runs. A setting that could not be worked out says why in `broken`; its shares are then the worst there are.
    """

    setting: str
    points: int
    least: float
    least_at: str
    least_error: float
    most: float
    most_at: str
    most_error: float
    mean: float
    mean_error: float
    off: float
    width: float | None = None
    width_error: float = 0.0
    runs: int = 0
    broken: str | None = None
    seconds: float = 0.0

    def worst(self, kind: str) -> tuple[float, str, float]:
        """(share, where, Monte Carlo error): the largest for size, else the least."""
        if kind in UP_IS_BAD:
            return self.most, self.most_at, self.most_error
        return self.least, self.least_at, self.least_error


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedClaim(ResultPart):
    """One claim checked against its band. `faults` are sentences; none means that it holds."""

    ALSO = ("holds",)

    name: str
    family: str
    method: str
    kind: str
    nominal: float
    says: str
    documented: str
    default: bool
    band: Mapping[str, float]
    worst: float
    worst_at: str
    worst_error: float
    mean: float
    mean_error: float
    width: float | None
    points: int
    settings: tuple[CertifiedSetting, ...]
    faults: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.faults

    @property
    def seconds(self) -> float:
        return sum(tried.seconds for tried in self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedPreference(ResultPart):
    """An alternative that beats the default somewhere, and why it is still not the default; no reason is a fault."""

    family: str
    default: str
    alternative: str
    advantages: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedPrecision(ResultPart):
    """The worst error of a closed form against many digits: relative to `to` (the value itself, or the width of the interval)."""

    ALSO = ("holds",)

    name: str
    worst: float
    worst_at: str
    limit: float
    cases: int
    to: str = "value"

    @property
    def holds(self) -> bool:
        return self.worst <= self.limit


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Certificate(Result):
    """All claims of a grid. `coverage` and `size` are the worst found among methods that are claimed to be valid."""

    KIND = "certificate"
    ALSO = ("holds",)

    grid: str
    seed: int
    only: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    coverage: Mapping[str, Any] | None = None  # of the worst claim: claim, family, method, worst, at, error, claimed
    size: Mapping[str, Any] | None = None  # the same of a size
    claims: tuple[CertifiedClaim, ...]
    preferences: tuple[CertifiedPreference, ...] = ()
    accuracy: tuple[CertifiedPrecision, ...] = ()
    accuracy_left_out: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    conclusion: str = ""

    @property
    def holds(self) -> bool:
        return not self.faults

    @property
    def exit_code(self) -> int:
        """0 when everything claimed holds, else 1."""
        return int(bool(self.faults))

    @property
    def seconds(self) -> float:
        return sum(claim.seconds for claim in self.claims)
