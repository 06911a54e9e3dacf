"""The defaults of the code against every alternative that we offer: where an alternative is better, a sentence says why it is not taken.

Compared at the same settings, beyond Monte Carlo error: the worst share, the mean shortfall below nominal and the mean width of
intervals; the worst excess over alpha and the mean power of tests. An advantage without a sentence is a fault; so is, on the
full grid, a sentence without an advantage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from steelyard_old.proof.judging import mean_share, worst
from steelyard_old.proof.reasons import ON_QUICK_ONLY, REASONS
from steelyard_old.results.certificate import CertifiedClaim, CertifiedPreference, CertifiedSetting

SHARE, NARROWER, POWER = 0.005, 0.02, 0.01  # what counts: of a share, of a width, of power
SURE = 3.0  # Monte Carlo errors of a difference; methods of a family see the same data, so it varies by less than this allows


def preferences(claims: Sequence[CertifiedClaim]) -> list[CertifiedPreference]:
    """Every alternative that beats a default of its family somewhere, with the reason, or None where nobody has given one."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for default, other in pairs(claims):
        said = advantages(default, other)
        if said:
            found.setdefault((default.family, default.method, other.method), []).extend(said)
    return [
        CertifiedPreference(family=f, default=d, alternative=a, advantages=tuple(said), reason=REASONS.get((f, a)))
        for (f, d, a), said in found.items()
    ]


def pairs(claims: Sequence[CertifiedClaim]) -> Iterator[tuple[CertifiedClaim, CertifiedClaim]]:
    """(default, alternative) of one family, kind and nominal; several defaults are each compared with the rest."""
    for default in (claim for claim in claims if claim.default):
        for other in claims:
            same = (other.family, other.kind, other.nominal) == (default.family, default.kind, default.nominal)
            if same and not other.default:
                yield default, other


def advantages(default: CertifiedClaim, other: CertifiedClaim) -> list[str]:
    """What the alternative does better at the settings that both were tried in."""
    by_setting = {tried.setting: tried for tried in other.settings}
    both = [(mine, by_setting[mine.setting]) for mine in default.settings if mine.setting in by_setting]
    if not both or default.faults or other.faults:  # a broken method is a fault already, and its numbers prove nothing
        return []
    return list(_BETTER[default.kind](default, [mine for mine, _ in both], [its for _, its in both]))


def _interval(default: CertifiedClaim, mine: Sequence[CertifiedSetting], its: Sequence[CertifiedSetting]) -> Iterator[str]:
    (ours, _, our_error), (theirs, _, their_error) = worst(default.kind, mine), worst(default.kind, its)
    if theirs - ours > SHARE + _chance(our_error, their_error):
        yield f"covers {theirs:.3f} at worst, not {ours:.3f}"
    our_off, their_off = _mean_off(mine), _mean_off(its)
    if our_off - their_off > SHARE + _chance(mean_share(mine)[1], mean_share(its)[1]):
        yield f"falls short by {their_off:.3f} on average, not {our_off:.3f}"
    our_width, our_error = _mean_width(mine)
    their_width, their_error = _mean_width(its)
    if our_width is None or their_width is None:
        return
    if our_width * (1 - NARROWER) - their_width > _chance(our_error, their_error):
        yield f"is {1 - their_width / our_width:.1%} narrower"


def _size(default: CertifiedClaim, mine: Sequence[CertifiedSetting], its: Sequence[CertifiedSetting]) -> Iterator[str]:
    ours, _, our_error = worst(default.kind, mine)
    theirs, _, their_error = worst(default.kind, its)
    excess, their_excess = max(0.0, ours - default.nominal), max(0.0, theirs - default.nominal)
    if excess - their_excess > SHARE + _chance(our_error, their_error):
        yield f"rejects {theirs:.3f} at most when nothing is there, not {ours:.3f}"


def _power(default: CertifiedClaim, mine: Sequence[CertifiedSetting], its: Sequence[CertifiedSetting]) -> Iterator[str]:
    (ours, our_error), (theirs, their_error) = mean_share(mine), mean_share(its)
    if theirs - ours > POWER + _chance(our_error, their_error):
        yield f"has power {theirs:.3f}, not {ours:.3f}"


_BETTER: dict[str, Callable[[CertifiedClaim, Sequence[CertifiedSetting], Sequence[CertifiedSetting]], Iterator[str]]] = {
    "coverage": _interval,
    "size": _size,
    "power": _power,
}


def _chance(one: float, other: float) -> float:
    return SURE * math.hypot(one, other)


def _mean_off(settings: Sequence[CertifiedSetting]) -> float:
    return math.fsum(t.off * t.points for t in settings) / sum(t.points for t in settings)


def _mean_width(settings: Sequence[CertifiedSetting]) -> tuple[float | None, float]:
    """(mean, its Monte Carlo error), each setting counted once; no mean where one has no width."""
    widths = [t.width for t in settings if t.width is not None]
    error = math.sqrt(math.fsum(t.width_error**2 for t in settings)) / len(settings)
    return (math.fsum(widths) / len(widths) if len(widths) == len(settings) else None), error


def preference_faults(found: Sequence[CertifiedPreference], *, complete: bool) -> list[str]:
    """Advantages without a sentence and, when everything was tried on the full grid, sentences without an advantage."""
    out = [
        f"{each.family}: {each.alternative} {' and '.join(each.advantages)}; no reason is given why {each.default} is the default"
        for each in found
        if each.reason is None
    ]
    if complete:
        used = {(each.family, each.alternative) for each in found} | ON_QUICK_ONLY
        out += [f"{family}: the reason against {method} is no longer needed" for family, method in REASONS if (family, method) not in used]
    return out
