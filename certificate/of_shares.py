"""Claims about shares: k of n, right or wrong on the same items and on different ones, margins."""

from __future__ import annotations

from certificate import exact
from certificate.claim import Band, Claim, at, rows

N = at(n=(2, 5, 10, 20, 50, 100))
MORE = at(n=(3, 4, 7, 15, 30, 70, 200, 500, 1000))
ONE_SIDE = at(side=("lower", "upper"), n=(5, 20, 100))


def _near(value: float, half: float = 0.0006) -> Band:
    """A figure that is printed to three decimals."""
    return Band(low=value - half, high=value + half)


_BOTH = {"": (0.81, 0.949, 0.958), "agresti-coull": (0.81, 0.95, 0.97), "jeffreys": (0.86, 0.949, 0.96), "mid-p": (0.91, 0.95, 0.98)}
_TABLE = {  # McNemar and its rivals: false alarms of 20, 50, 100, 500 and 1,000 items
    ("mcnemar-midp", "two-sided"): (0.032, 0.046, 0.046, 0.049, 0.050),
    ("mcnemar-exact", "two-sided"): (0.013, 0.028, 0.031, 0.041, 0.044),
    ("mcnemar", "two-sided"): (0.048, 0.047, 0.052, 0.053, 0.052),
    ("bootstrap", "less"): (0.035, 0.039, 0.045, 0.046, 0.048),
}
_SIZES = (20, 50, 100, 500, 1000)
_RED = at(margin=(0.01, 0.02, 0.05, 0.1, 0.2), n=(5, 10, 20, 30, 50, 100))
_RED_MORE = at(margin=(0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3), n=(8, 15, 40, 70, 150, 200, 300, 500))
_TWO = rows("n1 n2", (10, 10), (20, 20), (10, 50), (50, 50))
_TWO_MORE = rows("n1 n2", (2, 5), (5, 20), (20, 50), (30, 30))


def _of(work: str, **fixed: object):  # type: ignore[no-untyped-def]
    return lambda **setting: getattr(exact, work)(**fixed, **setting)


SHARES: tuple[Claim, ...] = (
    # k of n
    *(
        Claim(f"k of n, {m or 'the default'}", "coverage", _of("share", method=m), N, Band(low=low), more=MORE)
        for m, (low, _, _) in _BOTH.items()
    ),
    *(
        Claim(f"k of n, {m or 'the default'}, on average", "coverage", _of("mean_share", method=m), N, Band(mean=(a, b)))
        for m, (_, a, b) in _BOTH.items()
    ),
    Claim("k of 20, wilson at an unlucky share", "coverage", exact.share, at(n=20), _near(0.843)),
    Claim("k of 100, wilson on average", "coverage", exact.mean_share, at(n=100), _near(0.951)),
    Claim("k of 100, wald on average", "coverage", _of("mean_share", method="bare wald"), at(n=100), _near(0.923)),
    *(
        Claim(f"k of {n}, wald at {p}", "coverage", _of("share", method="bare wald"), at(n=n, p=p), _near(value))
        for n, p, value in ((10, 0.9, 0.65), (50, 0.99, 0.395), (100, 0.9, 0.932), (1000, 0.999, 0.632))
    ),
    Claim("k of n, clopper-pearson", "coverage", _of("share", method="clopper-pearson"), N, Band(low=0.95), more=MORE),
    Claim("a bound of k of n", "coverage", exact.share, ONE_SIDE, Band(low=0.95), more=at(side=("lower", "upper"), n=(2, 10, 50, 500))),
    Claim("a bound of k of 100, wilson", "coverage", _of("share", method="wilson"), at(n=100, side="upper"), _near(0.82, 0.005)),
    Claim("a bound of k of 100, jeffreys", "coverage", _of("share", method="jeffreys"), at(n=100, side="upper"), _near(0.85, 0.005)),
    Claim(
        "k of n: bounds that one more mistake raises, intervals without width",
        "faults",
        exact.disorder,
        at(n=(1, 5, 20), method=("", "wilson", "wald", "agresti-coull", "jeffreys", "clopper-pearson", "mid-p", "percentile", "delta")),
        Band(high=0),
        more=at(n=(2, 3, 50, 100), method=("", "wald", "percentile", "mid-p")),
    ),
    # F1 of one class, through Jaccard
    Claim("F1, the default", "coverage", exact.f1, at(n=20), Band(low=0.9, mean=(0.95, 0.96)), more=at(n=(10, 30, 40))),
    Claim("F1 of five items, the default", "coverage", exact.f1, at(n=5), Band(low=0.9)),
    Claim(
        "a bound of F1",
        "coverage",
        exact.f1,
        at(n=(5, 20), side=("lower", "upper")),
        Band(low=0.95),
        more=at(n=40, side=("lower", "upper")),
    ),
    # right or wrong on the same items
    Claim("flips, tango", "coverage", exact.flips, at(n=(3, 10, 20)), Band(low=0.93, mean=(0.965, None)), more=at(n=(30, 50))),
    Claim(
        "a bound of flips, tango",
        "coverage",
        _of("flips", side="lower"),
        at(n=(3, 10, 20)),
        Band(low=0.915, mean=(0.96, None)),
        more=at(n=(30, 50)),
    ),
    Claim(
        "flips, newcombe", "coverage", _of("flips", method="newcombe"), at(n=(10, 20)), Band(low=0.91, mean=(0.97, None)), more=at(n=(30,))
    ),
    Claim("flips, wald, Newcombe where it has no width", "coverage", _of("flips", method="wald"), at(n=(10, 20)), Band(fails=0.9)),
    *(
        Claim(f"flips of {n}: {test}, {way}", "size", _of("worst_flips", test=test, alternative=way), at(n=n), _near(value))
        for (test, way), values in _TABLE.items()
        for n, value in list(zip(_SIZES, values, strict=True))[: 3 if test == "bootstrap" else 5]
    ),
    Claim(
        "flips where half disagree, the default",
        "size",
        _of("size_of_flips", test="", disagree="most"),
        at(n=(2, 5, 8, 10, 16, 20, 50)),
        Band(high=0.077),
    ),
    Claim(
        "flips where half disagree, the default, one side",
        "size",
        _of("size_of_flips", test="", disagree="most", alternative="less"),
        at(n=(2, 5, 8, 10, 12, 16, 20, 50)),
        Band(high=0.077),
    ),
    Claim("flips, a drop of 2.8 standard errors", "power", exact.power_of_flips, at(n=(50, 100)), Band(low=0.8), more=at(n=(200, 500))),
    Claim(
        "flips, the same on one side",
        "power",
        _of("power_of_flips", alternative="less"),
        at(n=(50, 100)),
        Band(low=0.87),
        more=at(n=(200, 500)),
    ),
    # margins
    Claim("worse than a margin, alpha .05", "size", _of("margin", side="red"), _RED, Band(high=0.047), more=_RED_MORE),
    Claim(
        "worse than a margin, alpha .01 (times alpha)", "size", _of("margin", side="red", alpha=0.01), _RED, Band(high=1.05), more=_RED_MORE
    ),
    Claim(
        "worse than a margin, alpha .001 (times alpha)",
        "size",
        _of("margin", side="red", alpha=0.001),
        _RED,
        Band(high=1.12),
        more=_RED_MORE,
    ),
    Claim(
        "worse than a margin, plain tango",
        "size",
        _of("margin", side="red", plain=True),
        _RED,
        Band(high=0.098, fails=0.08),
        more=_RED_MORE,
    ),
    Claim(
        "not worse than a margin, 30 items or more",
        "size",
        _of("margin", side="pass"),
        tuple(s for s in _RED if s["n"] >= 30),
        Band(high=0.0714),
        more=tuple(s for s in _RED_MORE if s["n"] >= 30),
    ),
    Claim(
        "not worse than a margin, 20 items",
        "size",
        _of("margin", side="pass"),
        at(n=20, margin=(0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)),
        Band(high=0.0785),
    ),
    Claim(
        "not worse than a margin, fewer items",
        "size",
        _of("margin", side="pass"),
        at(n=(5, 8, 10, 15), margin=(0.05, 0.1, 0.15, 0.3)),
        Band(high=0.11),
    ),
    # shares of different items: Newcombe beside z
    Claim("two shares, newcombe beside z", "coverage", exact.two_shares, _TWO, Band(low=0.88, mean=(0.955, 0.965)), more=_TWO_MORE),
    Claim("two shares that differ by .4 at most", "coverage", _of("two_shares", far=False), _TWO, Band(low=0.93), more=_TWO_MORE),
    Claim(
        "two shares, miettinen-nurminen",
        "coverage",
        _of("two_shares", method="miettinen-nurminen"),
        _TWO,
        Band(low=0.92, mean=(0.95, 0.97)),
        more=_TWO_MORE,
    ),
    Claim("two shares, wald", "coverage", _of("two_shares", method="wald"), _TWO, Band(fails=0.74)),
    Claim("two shares: coverage that stretching costs", "price", _of("two_shares", of="lost"), _TWO, Band(high=0.0), more=_TWO_MORE),
    Claim(
        "two shares: coverage if ends were cut", "coverage", _of("two_shares", of="cut", far=False), _TWO, Band(fails=0.93), more=_TWO_MORE
    ),
    Claim("two shares: power that joining costs", "price", _of("two_shares", of="price"), _TWO, Band(high=0.25), more=_TWO_MORE),
    Claim(
        "two shares: power that joining costs, on average",
        "price",
        _of("two_shares", of="price"),
        _TWO,
        Band(mean=(None, 0.014)),
        more=_TWO_MORE,
    ),
    Claim("two shares, joined p", "size", _of("two_shares", of="size"), _TWO, Band(high=0.06), more=_TWO_MORE),
    Claim(
        "two shares: p and ends that contradict each other", "faults", _of("two_shares", of="faults"), _TWO, Band(high=0), more=_TWO_MORE
    ),
    # one more case: laws {x, -y, 0} of case differences, by enumeration
    Claim(
        "one more case, two-sided",
        "size",
        _of("one_more", whole=True, alternative="two-sided"),
        at(n=(3, 5, 8, 10, 15)),
        Band(high=0.0715),
        more=at(n=(12, 20)),
    ),
    Claim(
        "one more case, two-sided, any n",
        "size",
        _of("one_more", whole=True, alternative="two-sided"),
        at(n=16),
        Band(high=0.077),
        more=at(n=(6, 7, 9, 11)),
    ),
    Claim(
        "one more case, one run right or wrong, one side",
        "size",
        _of("one_more", whole=True, alternative="less", ones=True),
        at(n=(5, 8, 12, 16)),
        Band(high=0.077),
        more=at(n=(6, 10, 20, 30)),
    ),
    Claim(
        "one more case, scores, one side",
        "size",
        _of("one_more", whole=False, alternative="less"),
        at(n=(3, 5, 8, 10, 15)),
        Band(high=0.05),
        more=at(n=(4, 12, 16, 20)),
    ),
)
