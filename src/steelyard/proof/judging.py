"""Judging: what was found against the band of its claim, with room for Monte Carlo error and no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

from steelyard.proof.claims import WITHIN, Band, Claim
from steelyard.render.digits import steady
from steelyard.results.certificate import UP_IS_BAD, Held, Tried

EXACT = 1e-9  # what rounding may add to a share that was enumerated


def held(claim: Claim, settings: Sequence[Tried]) -> Held:
    """The claim with what was found in all its settings, and the faults."""
    share, where, error = worst(claim.kind, settings)
    mean, mean_error = mean_share(settings)
    widths = [(t.width, t.points) for t in settings if t.width is not None]
    points = sum(t.points for t in settings)
    return Held(
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


def worst(kind: str, settings: Sequence[Tried]) -> tuple[float, str, float]:
    """(share, where, Monte Carlo error): the largest size, the least coverage, the least power."""
    found = [tried.worst(kind) for tried in settings]
    return max(found, key=lambda w: steady(w[0])) if kind in UP_IS_BAD else min(found, key=lambda w: steady(w[0]))


def mean_share(settings: Sequence[Tried]) -> tuple[float, float]:
    """(mean, its Monte Carlo error) over all points of all settings."""
    points = sum(t.points for t in settings)
    mean = math.fsum(t.mean * t.points for t in settings) / points
    return mean, math.sqrt(math.fsum((t.mean_error * t.points) ** 2 for t in settings)) / points


def faults(claim: Claim, settings: Sequence[Tried]) -> list[str]:
    """What the band does not allow, a sentence each: setting, found, band, by how much."""
    band = claim.band
    found = [f"{claim.name} at {tried.setting}: could not be computed: {tried.broken}" for tried in settings if tried.broken is not None]
    if found:
        return found
    for tried in settings:
        if band.low is not None and tried.least + room(tried.least_error) < band.low:
            found.append(_said(claim, tried.least_at, tried.least, tried.least_error, f"at least {band.low:g}", band.low))
        if band.high is not None and tried.most - room(tried.most_error) > band.high:
            found.append(_said(claim, tried.most_at, tried.most, tried.most_error, f"at most {band.high:g}", band.high))
    mean, error = mean_share(settings)
    if band.mean_low is not None and mean + room(error) < band.mean_low:
        at = min(settings, key=lambda t: steady(t.mean)).setting
        found.append(_said(claim, f"on average, least at {at}", mean, error, f"at least {band.mean_low:g}", band.mean_low))
    if band.mean_high is not None and mean - room(error) > band.mean_high:
        at = max(settings, key=lambda t: steady(t.mean)).setting
        found.append(_said(claim, f"on average, most at {at}", mean, error, f"at most {band.mean_high:g}", band.mean_high))
    if band.fails is not None:
        share, where, error = worst(claim.kind, settings)
        up = claim.kind in UP_IS_BAD
        if share + room(error) < band.fails if up else share - room(error) > band.fails:
            bound = f"a documented weakness of {'at least' if up else 'at most'} {band.fails:g}, which is gone"
            found.append(_said(claim, f"{where}, its worst", share, error, bound, band.fails))
    return found


def room(error: float) -> float:
    """How far a share may lie outside its band by chance, or by rounding where nothing was drawn."""
    return WITHIN * error + EXACT


def _said(claim: Claim, where: str, found: float, error: float, band: str, bound: float) -> str:
    chance = f" +- {error:.2g}" if error > 0 else ""
    far = abs(found - bound)
    by = f"off by {far:.3g}" + (f", {far / error:.1f} Monte Carlo errors" if error > 0 else "")
    return f"{claim.name} at {where}: found {found:.6g}{chance}, claimed {band} ({by})"
