"""Claims about numbers of items: means, ratios, losses; two systems on the same items, with repeats, with weights, on different items."""

from __future__ import annotations

from functools import partial

from certificate import worlds as w
from certificate.asked import calls, contradicts, dearer, holds, identical
from certificate.claim import Band, Claim, at, rows

RANGE = {"range": (0, 1)}
_SPREAD = ("95% ones", "90% zeros", "Beta(2,6)", "Beta(9,1)", "Beta(.5,.1)", "uniform", "5% failures", "1% fail, else .95", "all ones")
_LAWS = ("normal", "mostly equal", "rare losses", "rare gains", "steps", "two ways")
_SKEWED = ("rare losses", "rare gains")
_wide, _heavy = w.tenfold(w.differences), ("1 to 5", "one heavy")
_CASES = rows(
    "law n runs other", *((law, n, a, b) for law in ("same", "two ways", "few fall far") for n, a, b in ((5, 3, 3), (8, 10, 1), (15, 2, 5)))
)
_UNPAIRED = rows(
    "law other n1 n2",
    ("5% fail, else .95", "5% fail, else .95", 10, 200),
    ("5% fail, else .95", "5% fail, else .95", 20, 500),
    ("1% fail, else .95", "Beta(9,1)", 20, 500),
    ("uniform", "uniform", 5, 500),
    ("Beta(9,1)", "Beta(9,1)", 5, 5),
    ("95% ones", "95% ones", 100, 100),
    ("Beta(2,6)", "Beta(8,2)", 20, 50),
)
_ALIKE = tuple(s for s in _UNPAIRED if s["law"] == s["other"])
_FALLS = rows("law n runs", *(("one falls", n, r) for n in (5, 8, 15) for r in (1, 2, 3)))
_FLAKES = rows("law n runs", *(("flakes", n, r) for n, r in ((8, 3), (8, 5), (15, 5), (20, 5), (50, 5), (200, 3))))
_unpaired = {"design": "unpaired", **RANGE}

MEANS: tuple[Claim, ...] = (
    # one system
    Claim(
        "a mean of known range",
        "coverage",
        holds("mean", w.scores, **RANGE),
        at(law=_SPREAD, n=(5, 20, 100)),
        Band(low=0.948),
        (210, 4000),
        at(law=_SPREAD, n=(50, 500)),
    ),
    Claim(
        "a lower bound of such a mean",
        "coverage",
        holds("mean", w.scores, "lower", **RANGE),
        at(law=_SPREAD, n=(5, 20, 100)),
        Band(low=0.939),
        (210, 4000),
        at(law=_SPREAD, n=(50, 500)),
    ),
    Claim(
        "a lower bound where 10% of 100 items fail",
        "coverage",
        holds("mean", w.scores, "lower", **RANGE),
        at(law="10% failures", n=100),
        Band(low=0.939),
        (2000, 20000),
    ),
    Claim(
        "an upper bound of such a mean",
        "coverage",
        holds("mean", w.scores, "upper", **RANGE),
        at(law=_SPREAD, n=(5, 20, 100)),
        Band(low=0.939),
        (140, 4000),
    ),
    Claim(
        "a mean of 40 items of which 5% fail, t",
        "coverage",
        holds("mean", w.scores, interval="t", **RANGE),
        at(law="5% failures", n=40),
        Band(low=0.87, high=0.87),
        (1000, 10000),
    ),
    Claim(
        "a mean, betting",
        "coverage",
        holds("mean", w.scores, interval="betting", **RANGE),
        at(law=("95% ones", "uniform", "5% failures"), n=(5, 50)),
        Band(low=0.95),
        (60, 1000),
    ),
    Claim("a ratio of sums, percentile", "coverage", holds("ratio", w.lengths), at(n=(30, 100, 500)), Band(low=0.905), (210, 4000)),
    Claim("RMSE, studentized", "coverage", holds("rmse", w.squares, draws=999), at(n=(15, 30, 100)), Band(low=0.92), (100, 3000)),
    Claim(
        "RMSE of heavy tails, studentized",
        "coverage",
        holds("rmse", lambda rng, n: w.squares(rng, n, "t3"), draws=999),
        at(n=(15, 50)),
        Band(low=0.77, fails=0.9),
        (100, 3000),
    ),
    Claim("R2, bca", "coverage", holds("r2", w.explained), at(n=(100, 500)), Band(low=0.92), (210, 4000)),
    Claim("log loss, t", "coverage", holds("log_loss", w.probable("log_loss")), at(n=(20, 50, 200)), Band(low=0.915), (350, 4000)),
    Claim("Brier score, bounded-mean", "coverage", holds("brier", w.probable("brier")), at(n=(20, 50, 200)), Band(low=0.94), (350, 4000)),
    Claim(
        "items asked again",
        "coverage",
        holds("accuracy", w.asked_again),
        at(n=(20, 50, 200), unequal=(False, True)),
        Band(low=0.94),
        (280, 4000),
    ),
    Claim("pass@2", "coverage", holds("pass@2", partial(w.asked_again, of="pass")), at(n=(20, 50, 200)), Band(low=0.94), (210, 4000)),
    Claim(
        "a proportion of weighted items",
        "coverage",
        holds("accuracy", w.weighed_one),
        at(n=(20, 50, 200), law="right"),
        Band(low=0.94),
        (420, 4000),
    ),
    Claim(
        "a mean of weighted items",
        "coverage",
        holds("mean", w.weighed_one, **RANGE),
        at(n=(20, 50, 200), law="points"),
        Band(low=0.945),
        (420, 4000),
    ),
    # the same items, scores of known range: one more case up to 200 items, bounded-t beyond
    Claim(
        "a difference of scores of known range",
        "coverage",
        holds("mean", w.differences, **RANGE),
        at(law=_LAWS, n=(3, 20)) + at(law=_LAWS, n=300),
        Band(low=0.945),
        (60, 3000),
        at(law=_LAWS, n=(8, 100)),
    ),
    Claim(
        "a lower bound of it", "coverage", holds("mean", w.differences, "lower", **RANGE), at(law=_LAWS, n=20), Band(low=0.945), (60, 2000)
    ),
    Claim(
        "a difference of scores of known range",
        "size",
        calls("mean", w.differences, **RANGE),
        at(law=_LAWS, n=(5, 20, 50, 200)),
        Band(high=0.05),
        (100, 2000),
    ),
    *(
        Claim(
            f"scores of known range, {way}",
            "size",
            calls("mean", w.differences, alternative=way, **RANGE),
            at(law=_SKEWED, n=(8, 20, 100)),
            Band(high=0.05),
            (100, 3000),
        )
        for way in ("less", "greater")
    ),
    Claim(
        "scores of known range: p and ends",
        "faults",
        contradicts("mean", w.differences, **RANGE),
        at(law=(*_LAWS, "nothing"), n=(3, 15)) + at(law=_LAWS, n=300),
        Band(high=0),
        (6, 60),
    ),
    Claim(
        "rare large losses in 20 items, t by name",
        "coverage",
        holds("mean", w.differences, interval="t", **RANGE),
        at(law="rare losses", n=20),
        Band(low=0.63, high=0.65),
        (1000, 10000),
    ),
    # no known range: t and what is unseen, beside sign flips
    Claim(
        "a difference of scores",
        "coverage",
        holds("mean", _wide),
        at(law=("normal", "mostly equal", "steps", "two ways"), n=(5, 20, 200)),
        Band(low=0.93),
        (60, 2000),
    ),
    Claim(
        "a difference of scores",
        "size",
        calls("mean", _wide),
        at(law=("normal", "mostly equal", "steps"), n=(5, 20, 200)),
        Band(high=0.05),
        (60, 2000),
    ),
    Claim(
        "a difference of scores: power that joining costs",
        "price",
        dearer("mean", _wide),
        at(law=("normal", "steps"), n=(10, 50)),
        Band(high=0.014),
        (100, 3000),
    ),
    Claim("a difference of scores: p and ends", "faults", contradicts("mean", _wide), at(law=_LAWS, n=(5, 20)), Band(high=0), (12, 200)),
    Claim(
        "skewed differences of 20 to 50 items, sign-flip by name",
        "size",
        calls("mean", w.tenfold(w.differences), test="sign-flip"),
        at(law="rare losses", n=(20, 50)),
        Band(fails=0.1),
        (60, 2000),
    ),
    Claim(
        "scores: a run beside itself",
        "faults",
        identical("mean", w.differences, **RANGE),
        at(law=("normal", "rare losses"), n=(1, 5, 300)),
        Band(high=0),
        (10, 50),
    ),
    # repeats
    Claim("new cases, several runs", "coverage", holds("accuracy", w.runs_of_cases), _CASES, Band(low=0.947), (60, 2000)),
    Claim("new cases, several runs", "size", calls("accuracy", w.runs_of_cases), _CASES, Band(high=0.0715), (80, 3000)),
    *(
        Claim(
            f"new cases, several runs, {way}",
            "size",
            calls("accuracy", w.runs_of_cases, alternative=way),
            _CASES,
            Band(high=0.077),
            (80, 3000),
        )
        for way in ("less", "greater")
    ),
    Claim("new cases: p and ends", "faults", contradicts("accuracy", w.runs_of_cases), _CASES[::2], Band(high=0), (6, 60)),
    Claim("these cases, one falls", "coverage", holds("accuracy", w.runs_of_cases, claim="these"), _FALLS, Band(low=0.91), (80, 2000)),
    Claim(
        "these cases, flakes of one side",
        "coverage",
        holds("accuracy", w.runs_of_cases, claim="these"),
        _FLAKES,
        Band(low=0.955),
        (80, 1000),
    ),
    Claim(
        "these cases, nearly all change",
        "coverage",
        holds("accuracy", w.runs_of_cases, claim="these"),
        rows("law n runs other", ("all rise", 5, 3, 3), ("all rise", 15, 5, 5), ("all rise", 15, 10, 2)),
        Band(low=0.91),
        (100, 2000),
    ),
    Claim(
        "these cases",
        "size",
        calls("accuracy", lambda rng, **s: w.runs_of_cases(rng, "same", **s), claim="these"),
        rows("n runs other", (3, 2, 2), (8, 5, 1), (20, 5, 5)),
        Band(high=0.052),
        (140, 3000),
    ),
    Claim(
        "these cases: p and ends",
        "faults",
        contradicts("accuracy", w.runs_of_cases, claim="these"),
        rows("law n runs", ("all right", 8, 3), ("one falls", 5, 1), ("all rise", 8, 3)),
        Band(high=0),
        (10, 100),
    ),
    # weights: t, or bounded-t, on CR2 and p from it
    Claim(
        "weighted scores of known range",
        "coverage",
        holds("mean", w.weighed, **RANGE),
        at(law=_LAWS[:4], n=(10, 100), weight=_heavy),
        Band(low=0.945),
        (80, 2000),
    ),
    Claim(
        "weighted scores of known range",
        "size",
        calls("mean", w.weighed, **RANGE),
        at(law=_LAWS[:4], n=(10, 100), weight=_heavy),
        Band(high=0.05),
        (80, 2000),
    ),
    Claim(
        "weighted right or wrong",
        "coverage",
        holds("accuracy", w.weighed),
        at(law="binary", n=(10, 30, 100), weight=_heavy),
        Band(low=0.945),
        (140, 3000),
    ),
    Claim(
        "weighted right or wrong",
        "size",
        calls("accuracy", w.weighed),
        at(law="binary", n=(10, 30, 100), weight=_heavy),
        Band(high=0.05),
        (140, 3000),
    ),
    Claim(
        "weighted scores, no range",
        "coverage",
        holds("mean", w.tenfold(w.weighed)),
        at(law=("normal", "two ways"), n=(10, 100), weight=_heavy),
        Band(low=0.935),
        (140, 3000),
    ),
    Claim(
        "weighted scores, no range",
        "size",
        calls("mean", w.tenfold(w.weighed)),
        at(law=("normal", "two ways"), n=(10, 100), weight=_heavy),
        Band(high=0.055),
        (140, 3000),
    ),
    Claim(
        "weighted scores, no range, weights with long tails",
        "coverage",
        holds("mean", w.tenfold(w.weighed)),
        at(law="normal", n=(30, 100), weight="heavy"),
        Band(low=0.935),
        (1000, 8000),
    ),
    Claim(
        "weighted scores, no range, weights with long tails",
        "size",
        calls("mean", w.tenfold(w.weighed)),
        at(law="normal", n=(30, 100), weight="heavy"),
        Band(high=0.055),
        (1000, 8000),
    ),
    Claim(
        "weighted scores: p and ends",
        "faults",
        contradicts("mean", w.weighed, **RANGE),
        at(law=(*_LAWS, "binary"), n=(10, 60), weight=_heavy),
        Band(high=0),
        (10, 100),
    ),
    # ratios
    Claim("a difference of ratios", "coverage", holds("ratio", w.two_ratios), at(n=(30, 100)), Band(low=0.935), (100, 2000)),
    Claim(
        "a difference of ratios",
        "size",
        calls("ratio", partial(w.two_ratios, better=0.0)),
        rows("n each", (20, 0), (50, 0), (50, 5), (100, 5)),
        Band(high=0.055),
        (60, 2000),
    ),
    # different items
    Claim(
        "two means of known range",
        "coverage",
        holds("mean", w.two_samples, **_unpaired),
        _UNPAIRED,
        Band(low=0.94, mean=(0.965, None)),
        (280, 4000),
    ),
    Claim("two means of known range", "size", calls("mean", w.two_samples, **_unpaired), _ALIKE, Band(high=0.05), (280, 4000)),
    Claim("rare failures, bounded-welch", "size", calls("mean", w.two_samples, **_unpaired), _UNPAIRED[:2], Band(high=0.01), (420, 4000)),
    Claim(
        "rare failures, 10 against 200, welch-t",
        "size",
        calls("mean", w.two_samples, interval="t", **_unpaired),
        _UNPAIRED[:1],
        Band(low=0.6, high=0.6),
        (1000, 10000),
    ),
    Claim(
        "rare failures, 20 against 500, welch-t",
        "size",
        calls("mean", w.two_samples, interval="t", **_unpaired),
        _UNPAIRED[1:2],
        Band(low=0.36, high=0.36),
        (1000, 10000),
    ),
)
