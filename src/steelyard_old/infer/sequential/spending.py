"""Group-sequential designs: boundaries that spend alpha and beta over the looks, and what they cost.

A normal statistic is looked at several times. At look k its information is the share t_k of the planned maximum, and its
score S_k = Z_k sqrt(t_k) is a Brownian motion with drift: 0 if nothing changed, `drift` if the effect planned for is
there. Above the upper bound the effect is declared, below the lower one the search is given up (futility). Bounds are
given for Z_k. Everything follows from the density of S_k among the paths that have not stopped, carried from look to
look by Gauss-Legendre quadrature; a drift only multiplies that density by exp(drift s - drift^2 t / 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache

from steelyard_old.errors import UsageError
from steelyard_old.infer.normal import STANDARD
from steelyard_old.infer.posterior.beta import find_root
from steelyard_old.infer.sequential.brownian import Paths
from steelyard_old.late_dataclass import dataclass

SPENDINGS = "hsd:GAMMA, obrien-fleming, pocock, power:RHO"


def spent(spending: str, total: float, time: float) -> float:
    """How much of the error rate `total` a spending function has used up by information time 0..1.

    Formula: hsd:g is total (1 - e^(-g t)) / (1 - e^(-g)), and total t for g = 0; obrien-fleming is 2 (1 - Phi(z / sqrt t))
    with z the upper total/2 point; pocock is total log(1 + (e - 1) t); power:r is total t^r. Nothing at 0, all at 1.
    Reference: LanDeMets1983; HwangShihDeCani1990; KimDeMets1987 for powers.

    >>> round(spent("hsd:-1", 0.05, 0.5), 6), round(spent("obrien-fleming", 0.05, 0.5), 6)
    (0.018877, 0.005575)
    """
    name, parameter = _family(spending)
    if time <= 0:
        return 0.0
    if time >= 1:
        return total
    if name == "obrien-fleming":
        return math.erfc(-STANDARD.inv_cdf(total / 2) / math.sqrt(2 * time))  # 2 (1 - Phi) without a subtraction
    if name == "pocock":
        return total * math.log1p((math.e - 1) * time)
    if name == "power":
        return total * math.pow(time, parameter)
    return total * (time if parameter == 0 else math.expm1(-parameter * time) / math.expm1(-parameter))


@cache
def _family(spending: str) -> tuple[str, float]:
    name, colon, text = spending.partition(":")
    try:
        parameter = float(text) if colon else math.nan
    except ValueError:
        parameter = math.inf
    plain = name in ("obrien-fleming", "pocock") and not colon
    shaped = (name == "hsd" and abs(parameter) <= 40) or (name == "power" and 0 < parameter <= 40)
    if not (plain or shaped):
        raise UsageError(
            f"No spending function {spending!r}; use {SPENDINGS}.", got=repr(spending), need=f"one of {SPENDINGS}", hint="hsd:-1"
        )
    return name, parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundaries:
    """A design: at look k stop for the effect if Z >= upper[k], for futility if Z <= lower[k]; the last two are equal.

    `inflation` is the largest information relative to the fixed design, `drift` the mean of the last Z if the effect is
    there. No bound at a look: inf or -inf.
    """

    times: tuple[float, ...]
    upper: tuple[float, ...]
    lower: tuple[float, ...]
    inflation: float
    drift: float
    alpha: float
    beta: float
    binding: bool


@lru_cache(maxsize=64)
def design(
    looks: int,
    alpha: float = 0.05,
    beta: float = 0.2,
    alpha_spending: str = "hsd:-1",
    beta_spending: str = "hsd:0",
    binding: bool = True,
    times: tuple[float, ...] | None = None,
) -> Boundaries:
    """A one-sided group-sequential design whose looks spend alpha upwards and beta downwards.

    Formula: upper[k] spends alpha(t_k) - alpha(t_k-1) without the effect, lower[k] spends beta(t_k) - beta(t_k-1) with it,
    and the drift is the one at which both meet at the last look; inflation = (drift / (z_alpha + z_beta))^2. Binding: the
    upper bounds count on a stop for futility, and alpha holds only if it is obeyed. Not binding: they do not.
    `beta_spending` "none": no stop for futility. Assumes: independent normal increments; alpha + beta < 1.
    Reference: ArmitageMcPhersonRowe1969 for the recursion; LanDeMets1983; PampallonaTsiatis1994 for spending beta.

    >>> plan = design(20)
    >>> round(plan.inflation, 4), round(plan.lower[0], 3)
    (1.2744, -1.699)
    """
    when = _check_times(looks, times)
    if alpha + beta >= 1:
        raise UsageError(
            f"alpha {alpha:g} and beta {beta:g} must add up to less than 1.",
            got=f"alpha {alpha:g} and beta {beta:g}",
            need="a sum below 1",
            hint="a coin does as well",
        )
    up = tuple(spent(alpha_spending, alpha, t) for t in when)
    down = (0.0,) * (len(when) - 1) if beta_spending == "none" else tuple(spent(beta_spending, beta, t) for t in when[:-1])
    fixed = -STANDARD.inv_cdf(alpha) - STANDARD.inv_cdf(beta)
    free = None if binding else _bounds(when, up, (0.0,) * (len(when) - 1), fixed)[0]

    def excess(drift: float) -> float:
        return _bounds(when, up, down, drift, free)[2] - beta

    drift = fixed
    if len(when) > 1:
        high = 1.25 * fixed
        while excess(high) > 0:
            high *= 1.25
        drift = find_root(excess, fixed * (1 - 1e-9), high)
    upper, lower, _ = _bounds(when, up, down, drift, free)
    inflation = (drift / fixed) ** 2
    lower = (*lower, upper[-1])
    return Boundaries(
        times=when,
        upper=upper,
        lower=lower,
        inflation=inflation,
        drift=drift,
        alpha=alpha,
        beta=beta,
        binding=binding,
    )


def _bounds(
    times: tuple[float, ...], up: Sequence[float], down: Sequence[float], drift: float, fixed: tuple[float, ...] | None = None
) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Upper bounds, lower bounds before the last look, and the share of paths with this drift that miss the effect.

    `up` and `down` are spent cumulatively; `fixed` are upper bounds found before. Where a lower bound would pass an upper
    one there is nothing left to go on with, and the drift is larger than needed: the share missed is given as 0.
    """
    paths = Paths(times, drift)
    upper: list[float] = []
    lower: list[float] = []
    alarmed = missed = 0.0
    for k, t in enumerate(times):
        root = math.sqrt(t)
        if fixed is None:
            top = paths.upper(up[k] - alarmed)
            alarmed += paths.above(top, 0.0)
        else:
            top = fixed[k] * root
        upper.append(top / root)
        if k + 1 == len(times):
            break
        bottom = paths.lower(down[k] - missed, drift)
        missed += paths.below(bottom, drift)
        if bottom >= top:
            return tuple(upper), tuple(lower), 0.0
        lower.append(bottom / root)
        paths = paths.between(bottom, top)
    return tuple(upper), tuple(lower), missed + paths.below(top, drift)


def _check_times(looks: int, times: tuple[float, ...] | None) -> tuple[float, ...]:
    """Information times of the looks: given, or equally spaced."""
    if not isinstance(looks, int) or isinstance(looks, bool) or not 1 <= looks <= 200:
        raise UsageError("cannot use looks", got=repr(looks), need="a whole number from 1 to 200")
    if times is None:
        return tuple((k + 1) / looks for k in range(looks))
    rising = all(a < b for a, b in zip((0.0, *times), times, strict=False))
    if len(times) != looks or not rising or times[-1] != 1:
        raise UsageError(
            f"The times of the looks must be {looks} rising numbers above 0 that end in 1, not {times!r}.",
            got=repr(times),
            need=f"{looks} rising numbers above 0 that end in 1",
        )
    return tuple(float(t) for t in times)
