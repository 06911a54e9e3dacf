"""Claims about ranks: AUC with few positives and few misses, in every design."""

from __future__ import annotations

from functools import partial

from certificate import worlds as w
from certificate.asked import answers, calls, contradicts, holds, identical
from certificate.claim import Band, Claim, at, rows

_ONE = rows(
    "positives negatives auc spread levels",
    (5, 995, 0.95, 1.0, 0),
    (10, 190, 0.95, 2.0, 0),
    (5, 95, 0.85, 1.0, 0),
    (20, 80, 0.95, 1.0, 5),
    (5, 45, 0.7, 0.5, 0),
    (5, 45, 0.99, 1.0, 0),
    (45, 5, 0.85, 1.0, 0),
    (8, 8, 0.7, 2.0, 0),
    (40, 400, 0.99, 2.0, 0),
    (3, 97, 0.85, 1.0, 0),
    (2, 98, 0.7, 1.0, 0),
    (20, 80, 0.55, 1.0, 0),
)
_TWO = rows(
    "positives negatives auc then spread after",
    (10, 190, 0.99, 0.95, 2.0, 2.0),
    (5, 95, 0.95, 0.85, 1.0, 1.0),
    (10, 190, 0.97, 0.97, 1.0, 0.5),
    (5, 995, 0.9, 0.95, 1.0, 1.0),
    (5, 45, 0.7, 0.7, 1.0, 1.0),
    (30, 30, 0.85, 0.85, 1.0, 1.0),
    (3, 97, 0.95, 0.9, 2.0, 2.0),
)
_SAME = tuple(s for s in _TWO if s["auc"] == s["then"])
_GROUPS = rows(
    "sizes likeness positives auc",
    ("6 of 20", 0.3, 10, 0.95),
    ("30 of 10", 0.3, 8, 0.97),
    ("30 of 10", 0.3, 15, 0.97),
    ("25 by Zipf", 0.3, 20, 0.95),
    ("largest 30%", 0.6, 0, 0.84),
    ("25 by Zipf", 0.6, 0, 0.84),
    (20, 0.3, 0, 0.84),
)
_PAIRS = rows(
    "sizes likeness positives auc then",
    ("30 of 10", 0.3, 15, 0.97, 0.9),
    ("30 of 10", 0.3, 30, 0.95, 0.95),
    ("25 by Zipf", 0.3, 15, 0.97, 0.9),
    ("30 of 10", 0.3, 60, 0.8, 0.8),
)
_apart, _unpaired = partial(w.two_ranked, paired=False), {"design": "unpaired"}
_DROP = rows("positives negatives auc then", (10, 190, 0.9, 0.7))

AREAS: tuple[Claim, ...] = (
    Claim("AUC", "coverage", holds("auc", w.ranked), _ONE, Band(low=0.945, mean=(0.975, None)), (170, 4000)),
    Claim("a lower bound of AUC", "coverage", holds("auc", w.ranked, "lower"), _ONE, Band(low=0.935, mean=(0.97, None)), (170, 4000)),
    Claim(
        "AUC, delong with few positives",
        "coverage",
        holds("auc", w.ranked, interval="delong"),
        _ONE[:3] + at(positives=100, negatives=900, auc=0.99, spread=2.0),
        Band(low=0.73, high=0.9),
        (280, 4000),
    ),
    Claim(
        "average precision",
        "answers",
        answers("average_precision", w.ranked),
        at(positives=1, negatives=50, auc=0.9),
        Band(high=0),
        (20, 100),
    ),
    Claim("two AUCs on the same items", "coverage", holds("auc", w.two_ranked), _TWO, Band(low=0.935, mean=(0.965, None)), (170, 4000)),
    Claim(
        "two AUCs on the same items, delong",
        "coverage",
        holds("auc", w.two_ranked, interval="delong"),
        _TWO[:1],
        Band(low=0.66, high=0.75),
        (350, 4000),
    ),
    Claim("two AUCs on the same items", "size", calls("auc", w.two_ranked), _SAME, Band(high=0.05), (280, 4000)),
    Claim(
        "two AUCs on different items", "coverage", holds("auc", _apart, **_unpaired), _TWO, Band(low=0.94, mean=(0.97, None)), (170, 4000)
    ),
    Claim("two AUCs on different items", "size", calls("auc", _apart, **_unpaired), _SAME, Band(high=0.05), (280, 4000)),
    Claim(
        "a drop of AUC from .9 to .7, 10 positives",
        "power",
        calls("auc", w.two_ranked, alternative="less"),
        _DROP,
        Band(low=0.7),
        (280, 4000),
    ),
    Claim(
        "the same by delong",
        "power",
        calls("auc", w.two_ranked, alternative="less", test="delong", interval="delong"),
        _DROP,
        Band(low=0.84, high=0.84),
        (280, 4000),
    ),
    Claim("AUC of groups, few misses", "coverage", holds("auc", w.group_ranks), _GROUPS, Band(low=0.945), (170, 4000)),
    Claim("two AUCs of groups, few misses", "coverage", holds("auc", w.group_ranks), _PAIRS, Band(low=0.955), (140, 3000)),
    Claim(
        "two AUCs of groups, delong",
        "coverage",
        holds("auc", w.group_ranks, interval="delong"),
        _PAIRS[:1],
        Band(low=0.87, fails=0.92),
        (210, 3000),
    ),
    Claim("two AUCs: p and ends", "faults", contradicts("auc", w.two_ranked), _TWO, Band(high=0), (20, 200)),
    Claim("AUC: a run beside itself", "faults", identical("auc", w.two_ranked), _TWO[:6], Band(high=0), (10, 50)),
)
