"""How exact the closed forms are: the worst error of each against fifty digits, on a declared grid, with a documented limit.

An error is relative to the value itself; that of an interval for a difference, which may lie anywhere around 0, to its width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product

from steelyard_old.infer import normal, unpaired
from steelyard_old.infer.intervals import proportion
from steelyard_old.infer.paired import mcnemar as flips
from steelyard_old.proof import many_digits as exact
from steelyard_old.proof.catalogue import picked
from steelyard_old.proof.many_digits import Number, mpmath
from steelyard_old.results.certificate import CertifiedPrecision

Case = tuple[str, float, Number, Number]  # where, ours, the exact value, what the error is relative to
LEFT_OUT = "the accuracy of closed forms was left out: mpmath is not installed; pip install mpmath adds it"

LEVELS = (0.8, 0.95, 0.999)
COUNTS = tuple((k, n) for n in (1, 2, 7, 20, 100, 1319, 10**6) for k in sorted({0, 1, n // 3, n // 2, n - 1, n}))
SMALLER = tuple((k, n) for k, n in COUNTS if n < 10**4)
FLIPS = ((0, 0, 10), (0, 1, 44), (1, 0, 1), (3, 7, 40), (12, 2, 50), (76, 58, 1000), (0, 9, 1319), (4000, 4100, 10**6))
TABLES = ((1, 2, 0, 3), (7, 34, 1, 34), (56, 70, 48, 80), (0, 20, 5, 25), (10, 10, 20, 20), (981, 1319, 1004, 1319), (5, 600, 0, 9000))
COINS = ((3, 4), (16, 6), (76, 58), (5, 190), (60, 160), (101, 100), (100, 900), (5000, 5200), (20, 480), (50000, 51000))
SHAPES = ((0.5, 0.5), (0.5, 60.5), (31.5, 8.0), (1.0, 1000.0), (0.5, 1e5), (985.5, 334.5), (2e4, 3e4))
TAILS = (1e-12, 1e-4, 0.025, 0.5, 0.975, 1 - 1e-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A closed form: its cases, and the largest error that we document."""

    name: str
    cases: Callable[[], Iterator[Case]]
    limit: float = 1e-12
    to: str = "value"


def accuracy(only: Sequence[str] = ()) -> list[CertifiedPrecision]:
    """The worst error of every form that is asked for."""
    return [worst_error(form) for form in FORMS if picked(form.name, only)]


def there() -> bool:
    """Whether the package that counts in fifty digits is installed."""
    return find_spec("mpmath") is not None


def worst_error(form: Form) -> CertifiedPrecision:
    """The largest error over the cases of a form; where the exact value is 0, ours must be too."""
    worst, where, count = 0.0, "", 0
    for at, ours, true, scale in form.cases():
        gap = abs(mpmath().mpf(ours) - true)
        error = float(gap / abs(scale)) if scale else float("inf" if gap else 0)
        count += 1
        if not where or error > worst:
            worst, where = error, at
    return CertifiedPrecision(name=form.name, worst=worst, worst_at=where, limit=form.limit, cases=count, to=form.to)


# ---- the normal law and Student's ------------------------------------------------------------------------------------


def _quantiles() -> Iterator[Case]:
    for p in (1e-300, 1e-100, 1e-20, 1e-6, 0.001, 0.025, 0.13, 0.2, 0.4, 0.6, 0.95, 0.975, 0.999, 1 - 1e-12):
        true = exact.normal_quantile(mpmath().mpf(p), normal.quantile(p))
        yield f"p={p:g}", normal.quantile(p), true, true


def _normal_tails() -> Iterator[Case]:
    for z in (-37.0, -20.0, -8.0, -3.0, -1.0, -0.1, 0.0, 0.5, 2.0, 6.0):
        true = exact.normal_tail(mpmath().mpf(z))
        yield f"z={z:g}", normal.lower_tail(z), true, true


def _students() -> Iterator[Case]:
    from steelyard_old.infer.intervals.sums import student

    for p, df in product((0.6, 0.8, 0.95, 0.975, 0.9995), (1, 2, 4.5, 9, 29, 99.7, 1318, 1e5)):
        ours = student(p, df)
        true = exact.student_quantile(mpmath().mpf(p), df, ours)
        yield f"p={p:g} df={df:g}", ours, true, true


def z_exact(level: float, side: str) -> Number:
    """The critical value of a confidence level, which is taken as the float that it is."""
    mp = mpmath()
    rest = 1 - mp.mpf(level)
    return -exact.normal_quantile(rest / 2 if side == "two" else rest, -normal.z_value(level, side))


def _criticals() -> Iterator[Case]:
    for level, side in product((0.5, 0.68, *LEVELS, 0.999999), normal.SIDES):
        true = z_exact(level, side)
        yield f"level={level:g} side={side}", normal.z_value(level, side), true, true


# ---- a proportion ----------------------------------------------------------------------------------------------------


def _ends(at: str, ours: tuple[float, float], true: tuple[Number, Number], side: str, *, width: bool, bottom: int = 0) -> Iterator[Case]:
    """Both ends of an interval, or the one that a one-sided interval has; ends are cut at the range, as ours are."""
    mp = mpmath()
    low, high = max(mp.mpf(bottom), true[0]), min(mp.mpf(1), true[1])
    if side != "upper":
        yield f"{at} low", ours[0], low, high - low if width else low
    if side != "lower":
        yield f"{at} high", ours[1], high, high - low if width else high


def _binomial(
    ours: proportion.BinomialInterval, true: Callable[[int, int, float, str], tuple[Number, Number]], counts: Sequence[tuple[int, int]]
) -> Iterator[Case]:
    for (k, n), level, side in product(counts, LEVELS, normal.SIDES):
        yield from _ends(f"{k}/{n} level={level:g} side={side}", ours(k, n, level, side), true(k, n, level, side), side, width=False)


def _wilson(k: int, n: int, level: float, side: str) -> tuple[Number, Number]:
    low, high = exact.wilson(k, n, z_exact(level, side))
    return (mpmath().mpf(0) if k == 0 else low), (mpmath().mpf(1) if k == n else high)


def _around(centre: Number, variance: Number, z: Number) -> tuple[Number, Number]:
    reach = z * mpmath().sqrt(variance)
    return centre - reach, centre + reach


def _wald(k: int, n: int, level: float, side: str) -> tuple[Number, Number]:
    p = mpmath().mpf(k) / n
    return _around(p, p * (1 - p) / n, z_exact(level, side))


def _agresti_coull(k: int, n: int, level: float, side: str) -> tuple[Number, Number]:
    z = z_exact(level, side)
    p = (k + z * z / 2) / (n + z * z)
    return _around(p, p * (1 - p) / (n + z * z), z)


def _rest(level: float, side: str) -> Number:
    rest = 1 - mpmath().mpf(level)
    return rest / 2 if side == "two" else rest


def _clopper_pearson(k: int, n: int, level: float, side: str) -> tuple[Number, Number]:
    mp, rest, near = mpmath(), _rest(level, side), proportion.clopper_pearson(k, n, level, side)
    low = mp.mpf(0) if k == 0 or side == "upper" else exact.beta_quantile(k, n - k + 1, rest, near[0])
    return low, mp.mpf(1) if k == n or side == "lower" else exact.beta_quantile(k + 1, n - k, 1 - rest, near[1])


def _jeffreys(k: int, n: int, level: float, side: str) -> tuple[Number, Number]:
    mp, rest, near = mpmath(), _rest(level, side), proportion.jeffreys(k, n, level, side)
    half = mp.mpf(1) / 2
    low = mp.mpf(0) if side == "upper" else exact.beta_quantile(k + half, n - k + half, rest, near[0])
    return low, mp.mpf(1) if side == "lower" else exact.beta_quantile(k + half, n - k + half, 1 - rest, near[1])


def _mid_p(k: int, n: int, level: float, side: str) -> tuple[Number, Number]:
    mp, rest, near = mpmath(), _rest(level, side), proportion.mid_p(k, n, level, side)
    low = mp.mpf(0) if k == 0 or side == "upper" else exact.mid_p_low(k, n, rest, near[0])
    return low, mp.mpf(1) if k == n or side == "lower" else 1 - exact.mid_p_low(n - k, n, rest, 1 - near[1])


# ---- Beta and F1 -----------------------------------------------------------------------------------------------------


def _beta_quantiles() -> Iterator[Case]:
    from steelyard_old.infer.posterior.beta import beta_quantile

    for (a, b), q in product((*SHAPES, *((b, a) for a, b in SHAPES[1:5])), TAILS):
        ours = beta_quantile(a, b, q)
        if ours < 1:  # a quantile that rounds to 1 has no digits left to be wrong
            true = exact.beta_quantile(a, b, mpmath().mpf(q), ours)
            yield f"a={a:g} b={b:g} q={q:g}", ours, true, true


def _f1_tails() -> Iterator[Case]:
    from steelyard_old.infer.posterior.metrics import F1Posterior

    mp = mpmath()
    for (a, b), y in product(SHAPES, (0.001, 0.1, 0.5, 0.85, 0.99)):
        low, high = exact.beta_tail(a, b, mp.mpf(y) / (2 - mp.mpf(y)))
        law = F1Posterior(a, b)
        for name, ours, true in (("cdf", law.cdf(y), low), ("sf", law.sf(y), high)):
            if true > 1e-290:
                yield f"{name} a={a:g} b={b:g} y={y:g}", ours, true, true


def _f1_quantiles() -> Iterator[Case]:
    from steelyard_old.infer.posterior.metrics import F1Posterior

    for (a, b), q in product(SHAPES, TAILS):
        ours = F1Posterior(a, b).ppf(q)
        jaccard = exact.beta_quantile(a, b, mpmath().mpf(q), ours / (2 - ours))
        true = 2 * jaccard / (1 + jaccard)
        yield f"a={a:g} b={b:g} q={q:g}", ours, true, true


def _f1_moments(which: int) -> Iterator[Case]:
    from steelyard_old.infer.posterior.metrics import F1Posterior

    for a, b in SHAPES:
        law, true = F1Posterior(a, b), exact.f1_moments(a, b)[which]
        yield f"a={a:g} b={b:g}", law.sd if which else law.mean, true, true


# ---- two systems -----------------------------------------------------------------------------------------------------


def _tango() -> Iterator[Case]:
    for (gained, lost, n), level in product(FLIPS, LEVELS):
        ours, z = flips.tango(gained, lost, n, level), z_exact(level, "two")
        if ours[0] > -1 and ours[1] < 1:
            true = exact.tango(gained, lost, n, z, ours[0]), exact.tango(gained, lost, n, -z, ours[1])
            yield from _ends(f"{gained}+{lost} of {n} level={level:g}", ours, true, "two", width=True, bottom=-1)


def _newcombe_paired() -> Iterator[Case]:
    mp = mpmath()
    for (gained, lost, n), level in product(FLIPS, LEVELS):
        both, z = (n - gained - lost) * 2 // 3, z_exact(level, "two")
        neither = n - gained - lost - both
        k1, k2 = both + gained, both + lost
        (l1, u1), (l2, u2) = exact.wilson(k1, n, z), exact.wilson(k2, n, z)
        p1, p2 = mp.mpf(k1) / n, mp.mpf(k2) / n
        cross, margins = mp.mpf(both * neither - gained * lost), k1 * (n - k1) * k2 * (n - k2)
        phi = (max(cross - mp.mpf(n) / 2, 0) if cross > 0 else cross) / mp.sqrt(margins) if margins else mp.mpf(0)
        down = mp.sqrt(mp.fabs((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2))
        up = mp.sqrt(mp.fabs((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2))
        ours = flips.newcombe_paired(both, gained, lost, neither, level)
        yield from _ends(
            f"{both},{gained},{lost},{neither} level={level:g}", ours, (p1 - p2 - down, p1 - p2 + up), "two", width=True, bottom=-1
        )


def _bonett_price() -> Iterator[Case]:
    for (gained, lost, n), level in product(FLIPS, LEVELS):
        up, down = mpmath().mpf(gained + 1) / (n + 2), mpmath().mpf(lost + 1) / (n + 2)
        true = _around(up - down, (up + down - (up - down) ** 2) / (n + 2), z_exact(level, "two"))
        yield from _ends(
            f"{gained}+{lost} of {n} level={level:g}", flips.bonett_price(gained, lost, n, level), true, "two", width=True, bottom=-1
        )


def _newcombe() -> Iterator[Case]:
    mp = mpmath()
    for (k1, n1, k2, n2), level in product(TABLES, LEVELS):
        z = z_exact(level, "two")
        (l1, u1), (l2, u2), p1, p2 = exact.wilson(k1, n1, z), exact.wilson(k2, n2, z), mp.mpf(k1) / n1, mp.mpf(k2) / n2
        true = p1 - p2 - mp.hypot(p1 - l1, u2 - p2), p1 - p2 + mp.hypot(u1 - p1, p2 - l2)
        yield from _ends(
            f"{k1}/{n1} {k2}/{n2} level={level:g}", unpaired.newcombe(k1, n1, k2, n2, level), true, "two", width=True, bottom=-1
        )


def _miettinen_nurminen() -> Iterator[Case]:
    for (k1, n1, k2, n2), level in product(TABLES, LEVELS[1:]):
        ours, z = unpaired.miettinen_nurminen(k1, n1, k2, n2, level), z_exact(level, "two")
        if ours[0] > -1 and ours[1] < 1:
            true = tuple(exact.miettinen_nurminen(k1, n1, k2, n2, way * z, near) for way, near in zip((1, -1), ours, strict=True))
            yield from _ends(f"{k1}/{n1} {k2}/{n2} level={level:g}", ours, (true[0], true[1]), "two", width=True, bottom=-1)


def _agresti_caffo() -> Iterator[Case]:
    for (k1, n1, k2, n2), level in product(TABLES, LEVELS):
        p1, p2 = mpmath().mpf(k1 + 1) / (n1 + 2), mpmath().mpf(k2 + 1) / (n2 + 2)
        true = _around(p1 - p2, p1 * (1 - p1) / (n1 + 2) + p2 * (1 - p2) / (n2 + 2), z_exact(level, "two"))
        ours = unpaired.agresti_caffo(k1, n1, k2, n2, level)
        yield from _ends(f"{k1}/{n1} {k2}/{n2} level={level:g}", ours, true, "two", width=True, bottom=-1)


def _mcnemar(half: bool) -> Iterator[Case]:
    """Far into the tail: 20 against 480 disagreements has p near 1e-114."""
    test = flips.mcnemar_midp if half else flips.mcnemar_exact
    for (gained, lost), turned in product(COINS, (False, True)):
        g, m = (lost, gained) if turned else (gained, lost)
        below, at = exact.coin_tails(min(g, m), max(g, m))
        true = min(mpmath().mpf(1), 2 * (below + (at / 2 if half else at)))
        yield f"{g} against {m}", test(g, m), true, true


def _better() -> Iterator[Case]:
    for gained, lost in COINS[:-1]:
        true = exact.beta_tail(lost + 0.5, gained + 0.5, mpmath().mpf(1) / 2)[0]
        yield f"{gained} against {lost}", flips.probability_better(gained, lost), true, true


def _pooled_z() -> Iterator[Case]:
    mp = mpmath()
    for k1, n1, k2, n2 in TABLES:
        if 0 < k1 + k2 < n1 + n2:
            p = mp.mpf(k1 + k2) / (n1 + n2)
            z = (mp.mpf(k1) / n1 - mp.mpf(k2) / n2) / mp.sqrt(p * (1 - p) * (mp.mpf(1) / n1 + mp.mpf(1) / n2))
            true = 2 * exact.normal_tail(-abs(z))
            yield f"{k1}/{n1} {k2}/{n2}", unpaired.two_proportion_z(k1, n1, k2, n2)[1], true, true


def _hypergeometric() -> Iterator[Case]:
    mp = mpmath()
    for k1, n1, k2, n2 in (*TABLES, (4, 600, 0, 600), (30, 1000, 5, 1000)):
        total = k1 + k2
        ways = [mp.binomial(n1, k) * mp.binomial(n2, total - k) for k in range(min(n1, total) + 1)]
        true = (sum(ways[k1 + 1 :]) + ways[k1] / 2) / sum(ways)
        yield f"{k1}/{n1} {k2}/{n2}", unpaired.exact_midp(k1, n1, k2, n2), true, true


FORMS = (
    Form(name="accuracy: normal quantile", cases=_quantiles),
    Form(name="accuracy: normal tail", cases=_normal_tails),
    Form(name="accuracy: critical z", cases=_criticals),
    Form(name="accuracy: student quantile", cases=_students),
    Form(name="accuracy: wald", cases=lambda: _binomial(normal.wald, _wald, COUNTS)),
    Form(name="accuracy: wilson", cases=lambda: _binomial(normal.wilson, _wilson, COUNTS)),
    Form(name="accuracy: agresti-coull", cases=lambda: _binomial(proportion.agresti_coull, _agresti_coull, COUNTS)),
    Form(name="accuracy: clopper-pearson", cases=lambda: _binomial(proportion.clopper_pearson, _clopper_pearson, SMALLER)),
    Form(name="accuracy: jeffreys", cases=lambda: _binomial(proportion.jeffreys, _jeffreys, SMALLER)),
    Form(name="accuracy: mid-p", cases=lambda: _binomial(proportion.mid_p, _mid_p, SMALLER)),
    Form(name="accuracy: beta quantile", cases=_beta_quantiles),
    Form(name="accuracy: f1 posterior, tails", cases=_f1_tails),
    Form(name="accuracy: f1 posterior, quantile", cases=_f1_quantiles),
    Form(name="accuracy: f1 posterior, mean", cases=lambda: _f1_moments(0)),
    Form(name="accuracy: f1 posterior, sd", cases=lambda: _f1_moments(1)),
    Form(name="accuracy: tango", cases=_tango, to="width"),
    Form(name="accuracy: newcombe, same items", cases=_newcombe_paired, to="width"),
    Form(name="accuracy: bonett-price", cases=_bonett_price, to="width"),
    Form(name="accuracy: newcombe, different items", cases=_newcombe, to="width"),
    Form(name="accuracy: miettinen-nurminen", cases=_miettinen_nurminen, to="width"),
    Form(name="accuracy: agresti-caffo", cases=_agresti_caffo, to="width"),
    Form(name="accuracy: mcnemar-exact", limit=1e-9, cases=lambda: _mcnemar(False)),
    Form(name="accuracy: mcnemar-midp", limit=1e-9, cases=lambda: _mcnemar(True)),
    Form(name="accuracy: chance that the candidate is better", cases=_better),
    Form(name="accuracy: pooled z", cases=_pooled_z),
    Form(name="accuracy: exact-midp of two proportions", limit=1e-10, cases=_hypergeometric),
)
