"""Judging: what was found against the band of its claim, with room for chance and no more.

A share that is a count of independent runs is judged by the binomial law at the bound (`counting`). Where all settings of a claim
are counts of equally many runs, these together must lie within the bounds of each of them too: where no share may be above a bound,
neither may their sum, which is known better than any of them.

A share that is no count, a mean of shares or of chances along drawn courses, has its standard error and WITHIN of them as room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from steelyard_old.proof.claims import Band, Claim, share_error
from steelyard_old.proof.counting import CHANCE, tail
from steelyard_old.render.digits import steady
from steelyard_old.results.certificate import UP_IS_BAD, CertifiedClaim, CertifiedSetting

WITHIN = 4.0  # standard errors where nothing is counted: the normal law is only near
EXACT = 1e-9  # what rounding may add to a share that was enumerated


@dataclass(frozen=True, slots=True)
class KnownShare:
    """A share and how well it is known: as a count of `runs`, or by its Monte Carlo error where `runs` is 0."""

    share: float
    error: float
    runs: int

    def above(self, bound: float) -> bool:
        """Whether the share lies further above the bound than chance explains."""
        if self.runs:
            return self.share > bound and (bound <= 0 or self.tail(bound) < CHANCE)
        return self.share - WITHIN * self.error - EXACT > bound

    def below(self, bound: float) -> bool:
        if self.runs:
            return self.share < bound and (bound >= 1 or self.tail(bound) < CHANCE)
        return self.share + WITHIN * self.error + EXACT < bound

    def tail(self, bound: float) -> float:
        """The chance of a count as far on this side of the bound, or further, if the truth is the bound."""
        return tail(round(self.share * self.runs), self.runs, bound, above=self.share > bound)


def held(claim: Claim, settings: Sequence[CertifiedSetting]) -> CertifiedClaim:
    """The claim with what was found in all its settings, and the faults."""
    share, where, error = worst(claim.kind, settings)
    mean, mean_error = mean_share(settings)
    widths = [(t.width, t.points) for t in settings if t.width is not None]
    points = sum(t.points for t in settings)
    return CertifiedClaim(
        name=claim.name,
        family=claim.family,
        method=claim.method,
        kind=claim.kind,
        nominal=claim.nominal,
        says=claim.says,
        documented=claim.documented,
        default=claim.default,
        band={f.name: value for f in fields(Band) if (value := getattr(claim.band, f.name)) is not None},
        worst=share,
        worst_at=where,
        worst_error=error,
        mean=mean,
        mean_error=mean_error,
        width=math.fsum(w * m for w, m in widths) / points if len(widths) == len(settings) else None,
        points=points,
        settings=tuple(settings),
        faults=tuple(faults(claim, settings)),
    )


def worst(kind: str, settings: Sequence[CertifiedSetting]) -> tuple[float, str, float]:
    """(share, where, Monte Carlo error): the largest size, the least coverage, the least power."""
    return _worst(kind, settings).worst(kind)


def _worst(kind: str, settings: Sequence[CertifiedSetting]) -> CertifiedSetting:
    """The setting in which that was found."""
    if kind in UP_IS_BAD:
        return max(settings, key=lambda t: steady(t.most))
    return min(settings, key=lambda t: steady(t.least))


def mean_share(settings: Sequence[CertifiedSetting]) -> tuple[float, float]:
    """(mean, its Monte Carlo error) over all points of all settings."""
    points = sum(t.points for t in settings)
    mean = math.fsum(t.mean * t.points for t in settings) / points
    return mean, math.sqrt(math.fsum((t.mean_error * t.points) ** 2 for t in settings)) / points


def together(settings: Sequence[CertifiedSetting]) -> KnownShare:
    """The mean over all points: a count of all runs where each setting is one of equally many, else known by its error.

    Counts of different chances vary less together than a binomial of their mean, so that its tail is no smaller than theirs
    (Hoeffding 1956). Several points of a setting share their runs and are no count. Settings that were left after different
    numbers of runs are none either: how many there are depends on what they showed.
    """
    if len({t.runs for t in settings}) == 1 and all(t.runs and t.points == 1 for t in settings):
        runs = sum(t.runs for t in settings)
        share = sum(round(t.mean * t.runs) for t in settings) / runs
        return KnownShare(share, share_error(share, runs), runs)
    return KnownShare(*mean_share(settings), 0)


def faults(claim: Claim, settings: Sequence[CertifiedSetting]) -> list[str]:
    """What the band does not allow, a sentence each: setting, found, band, by how much."""
    band = claim.band
    found = [f"{claim.name} at {tried.setting}: could not be computed: {tried.broken}" for tried in settings if tried.broken is not None]
    if found:
        return found
    for tried in settings:
        found += _outside(claim, tried.least_at, KnownShare(tried.least, tried.least_error, tried.runs), low=band.low)
        found += _outside(claim, tried.most_at, KnownShare(tried.most, tried.most_error, tried.runs), high=band.high)
    mean = together(settings)
    if mean.runs and len(settings) > 1:
        found += _outside(claim, "all settings together", mean, low=band.low, high=band.high)
    least, most = (pick(settings, key=lambda t: steady(t.mean)).setting for pick in (min, max))
    found += _outside(claim, f"on average, least at {least}", mean, low=band.mean_low)
    found += _outside(claim, f"on average, most at {most}", mean, high=band.mean_high)
    if band.fails is not None:
        tried = _worst(claim.kind, settings)
        share, where, error = tried.worst(claim.kind)
        weak, up = KnownShare(share, error, tried.runs), claim.kind in UP_IS_BAD
        if weak.below(band.fails) if up else weak.above(band.fails):
            bound = f"a documented weakness of {'at least' if up else 'at most'} {band.fails:g}, which is gone"
            found.append(_said(claim, f"{where}, its worst", weak, bound, band.fails))
    return found


def _outside(claim: Claim, where: str, found: KnownShare, low: float | None = None, high: float | None = None) -> list[str]:
    said = []
    if low is not None and found.below(low):
        said.append(_said(claim, where, found, f"at least {low:g}", low))
    if high is not None and found.above(high):
        said.append(_said(claim, where, found, f"at most {high:g}", high))
    return said


def _said(claim: Claim, where: str, found: KnownShare, band: str, bound: float) -> str:
    chance = f" +- {found.error:.2g}" if found.error > 0 else ""
    far = abs(found.share - bound)
    by = f"off by {far:.3g}"
    if found.runs:
        more = "or more" if found.share > bound else "or fewer"
        hits = round(found.share * found.runs)
        by += f"; were it {bound:g}, {hits} of {found.runs} runs {more} would have a chance of {found.tail(bound):.1g}"
    elif found.error > 0:
        by += f", {far / found.error:.1f} Monte Carlo errors"
    return f"{claim.name} at {where}: found {found.share:.6g}{chance}, claimed {band} ({by})"
