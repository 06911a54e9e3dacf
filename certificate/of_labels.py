"""Claims about labels: F1 by other methods, tables of classes, two systems on the same items and on different ones."""

from __future__ import annotations

from functools import partial

from certificate.asked import calls, contradicts, cut, dearer, holds, holds_or_misses, identical
from certificate.claim import Band, Claim, at
from certificate.worlds import hits, of_table, two_labels, two_tables, weighed_labels

_F1 = {  # on average over twelve laws of precision, recall and prevalence, bare methods: 20, 100, 500, 4,096 items
    "wilson": (0.958, 0.948, 0.948, 0.952),
    "bca": (0.369, 0.633, 0.838, 0.935),
    "percentile": (0.363, 0.624, 0.829, 0.934),
    "delta": (0.360, 0.614, 0.816, 0.929),
}
_TEN, _THREE = {"labels": list("0123456789"), "absent": "zero"}, {"labels": list("012"), "absent": "zero"}
_ten, _three, _two = (partial(at, law=law) for law in ("ten classes", "three classes", "a rare class"))
PAIRED = ("macro_f1", "f1", "mcc")
_LAWS = {
    "macro_f1": at(law=("three classes", "one item in a hundred"), n=(20, 200)) + at(law="ten classes", n=100),
    "f1": at(law=("two classes", "a rare class"), n=(20, 50, 200)),
    "mcc": at(law=("three classes", "a rare class"), n=(20, 200)),
}
_EQUAL = {m: tuple({**s, "law": f"equal {s['law']}"} for s in laws) for m, laws in _LAWS.items()}
_TRADE, _TRADE_FEW = at(law="trade 0.2", n=(50, 200)), at(law=("trade 0.05", "trade 0.2"), n=20) + at(law="trade 0.05", n=50)
_HEAVY = at(law=("trade 0.2", "two classes"), n=(30, 100), weight=("1 to 5", "one heavy"))
_FALSE = tuple(s | {"law": s["law"] if "trade" in s["law"] else f"equal {s['law']}"} for s in _HEAVY)

LABELS: tuple[Claim, ...] = (
    *(
        Claim(
            f"F1 of {n} items, {method}",
            "coverage",
            holds_or_misses("f1", hits, interval=method),
            at(n=n, law=tuple(range(12))),
            Band(mean=(value, value)),
            (100 if method in ("bca", "percentile") else 150, 2000),
        )
        for method, values in _F1.items()
        for n, value in list(zip((20, 100, 500, 4096), values, strict=True))[: 4 if method in ("wilson", "delta") else 2]
    ),
    # averages over classes: bca, and what is worse
    Claim("macro F1, bca", "coverage", holds("macro_f1", of_table("macro_f1"), **_THREE), _three(n=(50, 200)), Band(low=0.94), (210, 4000)),
    Claim(
        "macro F1 of ten classes, 50 items, bca",
        "coverage",
        holds("macro_f1", of_table("macro_f1"), **_TEN),
        _ten(n=50),
        Band(low=0.77, high=0.77),
        (210, 4000),
    ),
    Claim(
        "macro F1 of ten classes, 100 items, bca",
        "coverage",
        holds("macro_f1", of_table("macro_f1"), **_TEN),
        _ten(n=100),
        Band(low=0.93, high=0.93),
        (210, 4000),
    ),
    Claim(
        "macro F1 of ten classes, 500 items, bca",
        "coverage",
        holds("macro_f1", of_table("macro_f1"), **_TEN),
        _ten(n=500),
        Band(low=0.95, high=0.95),
        (120, 4000),
    ),
    *(
        Claim(
            f"macro F1 of ten classes, 50 items, {method}",
            "coverage",
            holds("macro_f1", of_table("macro_f1"), interval=method, **_TEN),
            _ten(n=50),
            Band(low=value, high=value),
            (210, 4000),
        )
        for method, value in (("delta", 0.70), ("percentile", 0.69))
    ),
    Claim(
        "macro F1, one item of a class in a hundred",
        "coverage",
        holds("macro_f1", of_table("macro_f1"), **_THREE),
        at(law="one item in a hundred", n=(50, 200)),
        Band(low=0.65, fails=0.77),
        (140, 2000),
    ),
    *(
        Claim(f"{m}, bca", "coverage", holds(m, of_table(m)), _three(n=(50, 200)) + _two(n=(100, 500)), Band(low=low), (170, 4000))
        for m, low in (("mcc", 0.925), ("kappa", 0.94), ("balanced_accuracy", 0.94))
    ),
    Claim(
        "balanced accuracy of ten classes, 50 items",
        "coverage",
        holds("balanced_accuracy", of_table("balanced_accuracy"), **_TEN),
        _ten(n=50),
        Band(low=0.755, fails=0.8),
        (210, 4000),
    ),
    Claim(
        "F2, bca",
        "coverage",
        holds("fbeta:2", of_table("fbeta:2")),
        at(law=("two classes", "a rare class"), n=(100, 500)),
        Band(low=0.935),
        (170, 4000),
    ),
    # two systems on the same items: t on n - 1 and what is unseen, joined with the randomization
    *(
        Claim(f"a difference of {m}", "coverage", holds(m, two_labels(m)), _LAWS[m] + _EQUAL[m][:2], Band(low=0.935), (70, 2000))
        for m in PAIRED
    ),
    *(
        Claim(
            f"a difference of {m} that trades precision for recall",
            "coverage",
            holds(m, two_labels(m)),
            _TRADE,
            Band(low=0.935),
            (210, 4000),
        )
        for m in PAIRED
    ),
    *(
        Claim(
            f"a difference of {m} that trades, few positives", "coverage", holds(m, two_labels(m)), _TRADE_FEW, Band(low=low), (210, 4000)
        )
        for m, low in (("macro_f1", 0.84), ("f1", 0.94), ("mcc", 0.86))
    ),
    *(Claim(f"a difference of {m}", "size", calls(m, two_labels(m)), _EQUAL[m], Band(high=0.05), (80, 2000)) for m in PAIRED),
    *(
        Claim(
            f"a difference of {m} that trades precision for recall",
            "size",
            calls(m, two_labels(m)),
            _TRADE + _TRADE_FEW,
            Band(high=0.06),
            (210, 4000),
        )
        for m in PAIRED
    ),
    *(
        Claim(
            f"a difference of {m}: power that joining costs",
            "price",
            dearer(m, two_labels(m)),
            _TRADE + at(law="two classes", n=50),
            Band(high=0.014),
            (210, 4000),
        )
        for m in PAIRED
    ),
    *(
        Claim(
            f"a difference of {m}: p and ends", "faults", contradicts(m, two_labels(m)), _TRADE_FEW + _LAWS[m][:3], Band(high=0), (20, 200)
        )
        for m in PAIRED
    ),
    Claim(
        "a difference of f1, ends stretched",
        "coverage",
        holds("f1", two_labels("f1")),
        at(law="trade 0.2", n=(20, 50)),
        Band(low=0.941),
        (420, 4000),
    ),
    Claim(
        "a difference of f1, if ends were cut",
        "coverage",
        cut("f1", two_labels("f1")),
        at(law="trade 0.2", n=(20, 50)),
        Band(fails=0.874),
        (420, 4000),
    ),
    *(
        Claim(
            f"{m}: a run beside itself",
            "faults",
            identical(m, two_labels(m)),
            at(law=("two classes", "three classes") if m != "f1" else "two classes", n=(5, 50)),
            Band(high=0),
            (20, 100),
        )
        for m in PAIRED
    ),
    # different items: Welch's t of two variances
    *(
        Claim(
            f"{m} on different items",
            "coverage",
            holds(m, two_tables(m), design="unpaired"),
            _three(n=(50, 200)) + _two(n=200),
            Band(low=0.94),
            (210, 4000),
        )
        for m in PAIRED[::2]
    ),
    *(
        Claim(
            f"{m} on different items",
            "size",
            calls(m, two_tables(m), design="unpaired"),
            _three(n=(50, 200)) + _two(n=200),
            Band(high=0.06),
            (210, 4000),
        )
        for m in PAIRED[::2]
    ),
    Claim(
        "macro F1 on different items, 20 items, two classes of a tenth",
        "size",
        calls("macro_f1", two_tables("macro_f1"), design="unpaired"),
        at(law="two rare classes", n=20),
        Band(high=0.26, fails=0.1),
        (500, 4000),
    ),
    Claim(
        "macro F1 on different items, 50 items, two classes of a tenth",
        "size",
        calls("macro_f1", two_tables("macro_f1"), design="unpaired"),
        at(law="two rare classes", n=50),
        Band(high=0.09, fails=0.05),
        (500, 4000),
    ),
    Claim(
        "macro F1 on different items, few against many",
        "coverage",
        holds("macro_f1", two_tables("macro_f1"), design="unpaired"),
        at(law=("two classes", "three classes"), n=20, n2=200),
        Band(low=0.9),
        (210, 4000),
    ),
    # weights: t on CR2, and p from it
    *(
        Claim(f"a difference of {m} of weighted items", "coverage", holds(m, weighed_labels(m)), _HEAVY, Band(low=0.935), (90, 3000))
        for m in PAIRED
    ),
    *(
        Claim(f"a difference of {m} of weighted items", "size", calls(m, weighed_labels(m)), _FALSE, Band(high=0.055), (90, 3000))
        for m in PAIRED
    ),
    Claim(
        "a difference of f1, weights with long tails",
        "size",
        calls("f1", weighed_labels("f1")),
        at(law="trade 0.2", n=(30, 100), weight="heavy"),
        Band(high=0.055),
        (1000, 6000),
    ),
    Claim(
        "a difference of weighted labels: p and ends",
        "faults",
        contradicts("macro_f1", weighed_labels("macro_f1")),
        _HEAVY[:4],
        Band(high=0),
        (30, 200),
    ),
)
