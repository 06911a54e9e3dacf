"""Claims about groups: shares, means, labels and ratios of one system and of two; silence where groups are worth too few."""

from __future__ import annotations

from functools import partial

from certificate import worlds as w
from certificate.asked import answers, calls, contradicts, dearer, holds, rises, warns, wider
from certificate.claim import Band, Claim, at, rows

RANGE = {"range": (0, 1)}
_FIGURES = {  # groups, likeness: groups ignored, sandwich with t
    (5, 0.3): (0.655, 0.897),
    (10, 0.3): (0.645, 0.891),
    (20, 0.1): (0.817, 0.934),
    (50, 0.3): (0.653, 0.936),
    (200, 0.6): (0.515, 0.936),
}
_UNEQUAL = ("25 by Zipf", "200 by Zipf", "largest 30%", "largest 40%", "4 of 60, 30 of 2")
_ONE = ("precision", "recall", "f1", "specificity", "fbeta:2")
_CLASS = tuple(
    s | {"unequal": unequal}
    for unequal in (False, True)
    for s in rows("groups within each", (6, 6, 0.1), (6, 3, 0.5), (10, 10, 0.3), (30, 30, 0.05), (30, 5, 0.5), (30, 15, 0.5))
)
_LOW = at(groups=(6, 10, 20, 50), low=(0.05, 0.3), sizes=("equal", "any"))
_CHANGED = rows(
    "metric groups positives change likeness sizes",
    *(
        (metric, groups, positives, change, 0.2, sizes)
        for metric in ("f1", "macro_f1", "mcc", "balanced_accuracy")
        for groups, positives, change, sizes in (
            (6, "1 to 3", "equal", "equal"),
            (7, "in three", "half of the hits lost", "equal"),
            (10, "in three", "few hits, more false positives", "equal"),
            (15, "1 to 3", "nearly all hits lost", "unequal"),
        )
    ),
)


def _changed(rng: w.Rng, side: str, **setting: object) -> bool | None:
    return holds(str(setting["metric"]), w.group_changes, side, absent="zero")(rng, **setting)


def _unlike(rng: w.Rng, **setting: object) -> tuple[object, ...]:
    """A drop of recall from .8 to .4 in 30 groups."""
    return w.group_changes(rng, "recall", 30, str(setting["positives"]), "half of the hits lost")


GROUPS: tuple[Claim, ...] = (
    # shares
    *(
        Claim(
            f"a share in {g} groups, likeness {r}, {what}",
            "coverage",
            work,
            at(sizes=g, likeness=r, p=(0.5, 0.9)),
            Band(mean=(value, value)),
            (280, 4000),
        )
        for (g, r), values in _FIGURES.items()
        for what, value, work in zip(
            ("groups ignored", "delta"),
            values,
            (holds("accuracy", partial(w.shares, grouped=False)), holds("accuracy", w.shares, interval="delta")),
            strict=True,
        )
    ),
    Claim(
        "a share in groups",
        "coverage",
        holds("accuracy", w.shares),
        at(sizes=(5, 10, 20, 50, 200), likeness=(0.1, 0.6), p=(0.5, 0.9)),
        Band(low=0.94),
        (140, 4000),
    ),
    Claim(
        "a share in unequal groups",
        "coverage",
        holds("accuracy", w.shares),
        at(sizes=_UNEQUAL, likeness=(0.1, 0.6), p=(0.5, 0.98)),
        Band(low=0.945),
        (140, 4000),
    ),
    Claim(
        "a lower bound of a share in groups",
        "coverage",
        holds("accuracy", w.shares, "lower"),
        at(sizes=(5, 10, 20, "25 by Zipf"), likeness=0.6, p=(0.5, 0.98)),
        Band(low=0.93, mean=(0.955, None)),
        (140, 4000),
    ),
    Claim(
        "a share in groups: bounds that one more mistake raises",
        "faults",
        rises,
        at(groups=(6, 20), each=(5, 20), wrong=(0, 1, 2, 6), unequal=(False, True)),
        Band(high=0),
        (20, 200),
    ),
    Claim(
        "an answer from groups worth too few",
        "answers",
        answers("accuracy", w.shares),
        at(sizes=("1 of 200, 30 of 2", "4 of 50"), likeness=0.3, p=0.8),
        Band(high=0),
        (40, 200),
    ),
    Claim(
        "a difference from groups worth too few",
        "answers",
        answers("accuracy", w.group_flips),
        at(sizes=("1 of 200, 30 of 2", "4 of 50"), together=0.3),
        Band(high=0),
        (40, 200),
    ),
    # means: bounded-mean at min(worth, df + 1)
    Claim(
        "a mean of groups, some low",
        "coverage",
        holds("mean", w.low_groups, **RANGE),
        _LOW,
        Band(low=0.946),
        (210, 4000),
        at(groups=100, low=(0.01, 0.1), sizes=("equal", "any")),
    ),
    Claim(
        "a mean of groups, few low, t",
        "coverage",
        holds("mean", w.low_groups, interval="t", **RANGE),
        at(groups=(10, 20, 50), low=(0.0135, 0.05), sizes=("equal", "any")),
        Band(low=0.12, high=0.95, fails=0.2),
        (210, 4000),
    ),
    Claim(
        "a mean of groups, few large ones low",
        "coverage",
        holds("mean", w.low_groups, **RANGE),
        rows("groups low sizes", (20, 0.05, "large"), (50, 0.02, "large"), (100, 0.01, "large")),
        Band(fails=0.64),
        (210, 4000),
    ),
    Claim(
        "a mean of groups",
        "coverage",
        holds("mean", w.group_scores, **RANGE),
        at(sizes=(5, 10, 20, "25 by Zipf", "largest 40%", "4 of 60, 30 of 2"), likeness=(0.1, 0.6)),
        Band(low=0.946),
        (140, 4000),
    ),
    Claim(
        "a mean of 20 groups, width over t",
        "width",
        wider("mean", w.group_scores, "t", **RANGE),
        at(sizes=20, likeness=(0.05, 0.1, 0.3)),
        Band(low=1.4, high=3.3),
        (140, 2000),
    ),
    Claim(
        "a mean of 100 groups, width over t",
        "width",
        wider("mean", w.group_scores, "t", **RANGE),
        at(sizes=100, likeness=(0.05, 0.1, 0.3)),
        Band(low=1.1, high=1.9),
        (100, 1000),
    ),
    # labels
    Claim(
        "macro F1 of groups",
        "coverage",
        holds("macro_f1", w.group_labels("macro_f1")),
        at(sizes=(20, 50, "largest 30%", "25 by Zipf")),
        Band(low=0.925),
        (140, 3000),
    ),
    *(
        Claim(
            f"{m} in groups, positives in some",
            "coverage",
            holds(m, w.one_class(m)),
            _CLASS,
            Band(low=0.95 if m != "fbeta:2" else 0.94),
            (140, 4000),
        )
        for m in _ONE
    ),
    *(
        Claim(
            f"a difference of {m} in groups, positives in some",
            "coverage",
            holds(m, w.one_class(m, True)),
            _CLASS,
            Band(low=0.945),
            (60, 1500),
        )
        for m in _ONE
    ),
    *(
        Claim(
            f"a difference of {m} in groups, positives in some", "size", calls(m, w.one_class(m, True)), _CLASS, Band(high=0.05), (60, 1500)
        )
        for m in _ONE
    ),
    Claim(
        "an answer from positives in one group or in three",
        "answers",
        answers("recall", w.one_class("recall")),
        at(groups=30, within=(1, 3), each=0.5),
        Band(high=0),
        (40, 200),
    ),
    Claim(
        "a drop of recall from .8 to .4 in 30 groups",
        "power",
        calls("recall", _unlike),
        at(positives=("1 to 3", "a third")),
        Band(low=0.8),
        (80, 1000),
    ),
    Claim(
        "one class in groups: numpy keeps quiet",
        "faults",
        warns("precision", w.one_class("precision")),
        _CLASS[-6:],
        Band(high=0),
        (40, 200),
    ),
    Claim(
        "a lower bound of a difference of labels in few groups",
        "coverage",
        partial(_changed, side="lower"),
        _CHANGED,
        Band(low=0.94),
        (50, 1500),
    ),
    Claim(
        "an upper bound of a difference of labels in few groups",
        "coverage",
        partial(_changed, side="upper"),
        _CHANGED,
        Band(low=0.95),
        (60, 1500),
    ),
    Claim(
        "the same where false positives come that were hardly there",
        "coverage",
        partial(_changed, side="upper"),
        rows(
            "metric groups positives change likeness sizes",
            ("f1", 10, "1 to 3", "false positives where few were", 0.2, "unequal"),
            ("macro_f1", 10, "1 to 3", "false positives where few were", 0.2, "unequal"),
        ),
        Band(low=0.81),
        (210, 3000),
    ),
    # ratios
    Claim(
        "a ratio in groups",
        "coverage",
        holds("ratio", w.group_ratios),
        rows("groups likeness", (20, 0.1), (10, 0.3), (50, 0.3)),
        Band(low=0.85, mean=(0.9, None)),
        (350, 4000),
    ),
    Claim(
        "a ratio in six groups", "coverage", holds("ratio", w.group_ratios), at(groups=6, likeness=(0.1, 0.3)), Band(low=0.8), (350, 4000)
    ),
    Claim(
        "a difference of ratios in groups",
        "coverage",
        holds("ratio", w.two_ratios),
        at(n=(30, 50, 150), each=5),
        Band(low=0.935),
        (100, 2000),
    ),
    # two systems
    Claim(
        "a difference in unequal groups",
        "coverage",
        holds("accuracy", w.group_flips),
        at(sizes=(*_UNEQUAL, "30 of 10"), together=(0.3, 0.7)),
        Band(low=0.93, mean=(0.95, None)),
        (80, 3000),
    ),
    Claim(
        "a difference in unequal groups",
        "size",
        calls("accuracy", w.group_flips),
        at(sizes=(*_UNEQUAL, "30 of 10", "6 of 20"), together=(0.3, 0.7)),
        Band(high=0.055),
        (80, 3000),
    ),
    Claim(
        "a difference in groups: power that joining costs",
        "price",
        dearer("accuracy", w.group_flips),
        at(sizes=("30 of 10", "25 by Zipf"), together=0.3, lost=(0.1, 0.2)),
        Band(high=0.25),
        (140, 3000),
    ),
    Claim(
        "a difference in groups: p and ends",
        "faults",
        contradicts("accuracy", w.group_flips),
        at(sizes=("30 of 10", "largest 30%", "6 of 20"), together=0.3),
        Band(high=0),
        (20, 200),
    ),
    Claim(
        "skewed differences in groups, t",
        "coverage",
        holds("mean", w.group_losses, **RANGE),
        rows("groups items together", (20, 20, 0.3), (10, 5, 0.0), (10, 20, 0.3), (50, 10, 0.3)),
        Band(low=0.85, fails=0.9),
        (210, 3000),
    ),
)
