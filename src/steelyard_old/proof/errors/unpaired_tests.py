"""Claims about tests on different items: right or wrong added up over every outcome, label metrics, scores and AUC by drawing data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate import unpaired
from steelyard_old.estimate.pair_evidence import unpaired_evidence
from steelyard_old.infer.planning.coverage import rejected_pairs
from steelyard_old.items import Items, Labels
from steelyard_old.metrics.catalogue import parse
from steelyard_old.proof.claims import Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.coverage.unpaired import LAWS, SIZES
from steelyard_old.proof.errors.tests import PAGE, REACH, plainly
from steelyard_old.proof.errors.tests_labels import FINDS, labelled, ranked
from steelyard_old.proof.trials import Trial, alike, significant
from steelyard_old.results.base import Warnings
from steelyard_old.tally.counts import Counts

FloatArray = npt.NDArray[np.float64]


def claims() -> Iterator[Claim]:
    yield from _proportions()
    for trial in (_auc_apart(), _means_apart(), _range_apart(), _margin_apart(), _labels_apart(), _few_labels_apart()):
        yield from trial.claims()


# ---- right or wrong -----------------------------------------------------------------------------------------------------------


def _proportions() -> Iterator[Claim]:
    said: dict[str, BandText] = {
        "size": ("false alarms of 6% or fewer", Band(high=0.06)),
        "power": ("finds 2.8 standard errors about four times in five", Band(low=0.62, mean_low=0.75)),
    }
    test, family = _unpaired_test(), "right or wrong on different items"
    quick = ({"baseline": 20, "candidate": 20}, {"baseline": 10, "candidate": 50})
    full = tuple({"baseline": m, "candidate": n} for m, n in ((10, 10), (20, 20), (30, 30), (50, 50), (10, 50), (20, 50), (50, 20)))
    for kind, of_test in said.items():
        yield from declared(kind, family, {test: of_test}, test, partial(proportions, kind), quick=quick, full=full, page=PAGE)


def _unpaired_test() -> str:
    return unpaired.compare_proportions((8, 10), (7, 10), parse("accuracy"), plainly(), Warnings()).test.name


def proportions(kind: str, test: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    m, n = int(setting["baseline"]), int(setting["candidate"])
    rejected = _region(test, m, n)
    for share in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99) if kind == "size" else (0.5, 0.7, 0.8):
        drop = 0.0 if kind == "size" else REACH * (share * (1 - share) * (1 / m + 1 / n)) ** 0.5
        if share - drop > 0:
            found = rejected_pairs(rejected, share, share - drop)
            yield Point(f"{words(setting)} p={share:g}" + (f" drop={drop:.3f}" if drop else ""), found)


@cache
def _region(test: str, m: int, n: int) -> npt.NDArray[np.bool_]:
    asked, accuracy = plainly(test, interval="wald"), parse("accuracy")

    def rejects(j: int, k: int) -> bool:
        return significant(unpaired.compare_proportions((j, m), (k, n), accuracy, asked, Warnings()).test.p_value)

    return np.array([[rejects(j, k) for k in range(n + 1)] for j in range(m + 1)])


# ---- anything else ---------------------------------------------------------------------------------------------------------------


def _auc_apart() -> Trial:
    """Two AUCs from different items, by the comparison itself."""

    def side(score: FloatArray, positive: npt.NDArray[np.bool_]) -> Items:
        return Items(n=len(score), truth=Labels(positive.astype(np.int64), ("no", "yes")), probability=1 / (1 + np.exp(-score)))

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, drop = int(setting["n"]), float(setting.get("drop", 0.0))
        (a, _, positive), (_, b, _) = ranked(rng, n, 0.0), ranked(rng, n, drop)
        return side(a, positive), side(b, positive)

    def calls(name: str, a: Items, b: Items) -> bool:
        return significant(unpaired_evidence(a, b, parse("auc"), plainly(name, positive="yes"), Warnings()).test.p_value)

    names = ("delong-wilson", "delong")

    return Trial(
        family="AUC on different items",
        draw=draw,
        methods={name: partial(calls, name) for name in names},
        said=alike(names, "size", "false alarms of about 5% or fewer", high=0.06) | alike(names, "power", FINDS, low=0.4),
        settings=({"n": 50}, {"n": 200, "drop": 0.8}),
        more=({"n": 100}, {"n": 200}, {"n": 500, "drop": 0.5}),
        default="delong-wilson",
        page=PAGE,
        runs=(200, 2000),
    )


def _means_apart() -> Trial:
    """Scores of different items, with other deviations and other numbers on the two sides."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        m, n, drop = int(setting["baseline"]), int(setting["candidate"]), float(setting.get("drop", 0.0))
        a, b = (rng.normal(size=size) if setting["law"] == "normal" else rng.exponential(size=size) - 1 for size in (m, n))
        return a, 2 * b - drop * (1 / m + 4 / n) ** 0.5

    def calls(a: FloatArray, b: FloatArray) -> bool:
        return significant(unpaired.compare_means(a, b, parse("mean"), plainly(), Warnings()).test.p_value)

    equal, unequal = {"baseline": 20, "candidate": 20}, {"baseline": 50, "candidate": 20}
    return Trial(
        family="scores on different items",
        draw=draw,
        methods={"welch-t": calls},
        said=alike(("welch-t",), "size", "false alarms near 5%; somewhat above with skewed scores on few items", high=0.09)
        | alike(("welch-t",), "power", "finds 2.8 standard errors about four times in five", low=0.65),
        settings=(
            {**equal, "law": "normal"},
            {**equal, "law": "skewed"},
            {**unequal, "law": "skewed"},
            {**equal, "law": "normal", "drop": 2.8},
        ),
        more=tuple(
            {"baseline": n, "candidate": n, "law": law, "drop": drop}
            for n in (10, 100)
            for law in ("normal", "skewed")
            for drop in (0.0, 2.8)
        ),
        default="welch-t",
        page=PAGE,
        runs=(1000, 10_000),
    )


def _of_law(rng: np.random.Generator, setting: Setting) -> tuple[FloatArray, FloatArray]:
    """Scores of one law on both sides; a drop takes so much off the candidate's, which stay within the range."""
    draw = LAWS[str(setting["law"])][0]
    a, b = draw(rng, int(setting["baseline"])), draw(rng, int(setting["candidate"]))
    return a, np.maximum(0.0, b - float(setting.get("drop", 0.0)))


def _range_apart() -> Trial:
    """Scores of a known range whose rare failures a few items need not show."""

    def calls(name: str, a: FloatArray, b: FloatArray) -> bool:
        if name == "welch-t" and not max(np.ptp(a), np.ptp(b)) > 0:
            return False
        return significant(unpaired.compare_means(a, b, parse("mean"), plainly(name), Warnings(), bounds=(0.0, 1.0)).test.p_value)

    said = {
        ("bounded-welch", "size"): ("false alarms of 6% or fewer, with any two numbers of items", Band(high=0.06)),
        ("welch-t", "size"): ("rejects in 0.79 of the runs of equal systems with 5 items against 500", Band(fails=0.4, high=0.8)),
        ("bounded-welch", "power"): ("the price: finds what welch-t finds in .9 of the runs in .1 to .9 of them", Band(low=0.08)),
        ("welch-t", "power"): ("finds it in .85 of the runs or more, and finds as much where nothing is", Band(low=0.8)),
    }
    sizes = tuple(
        {"baseline": m, "candidate": n, "law": law}
        for law in ("5% failures", "1% failures", "uniform", "Beta(9,1)")
        for m, n in (*SIZES, (200, 10))
        if (m, n, law) not in ((10, 200, "5% failures"), (20, 500, "5% failures"))
    )
    return Trial(
        family="scores of a known range on different items",
        draw=_of_law,
        methods={name: partial(calls, name) for name in ("bounded-welch", "welch-t")},
        said=said,
        settings=(
            {"baseline": 10, "candidate": 200, "law": "5% failures"},
            {"baseline": 20, "candidate": 500, "law": "5% failures"},
            {"baseline": 50, "candidate": 50, "law": "Beta(9,1)", "drop": 0.06},
        ),
        more=(
            *sizes,
            {"baseline": 20, "candidate": 20, "law": "Beta(9,1)", "drop": 0.1},
            {"baseline": 200, "candidate": 200, "law": "Beta(9,1)", "drop": 0.03},
            {"baseline": 50, "candidate": 50, "law": "uniform", "drop": 0.18},
        ),
        default="bounded-welch",
        page=PAGE,
        runs=(200, 1000),
    )


def _margin_apart() -> Trial:
    """A candidate that is worse by the margin: how often it is called not worse by it."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        a, b = _of_law(rng, setting)
        return a, b - 0.1

    def calls(a: FloatArray, b: FloatArray) -> bool:
        found = unpaired.compare_means(a, b, parse("mean"), replace(plainly(), margin=0.1), Warnings(), bounds=(-0.1, 1.0)).equivalence
        return found is not None and significant(found.p_lower)

    return Trial(
        family="not worse by a margin, scores of a known range on different items",
        draw=draw,
        methods={"bounded-welch": calls},
        said=alike(("bounded-welch",), "size", "false claims of 6% or fewer", high=0.06),
        settings=({"baseline": 200, "candidate": 10, "law": "5% failures"}, {"baseline": 50, "candidate": 50, "law": "5% failures"}),
        more=tuple(
            {"baseline": m, "candidate": n, "law": law}
            for law in ("5% failures", "1% failures", "uniform", "Beta(9,1)")
            for m, n in (*SIZES, (200, 10), (500, 20))
            if (m, n, law) not in ((200, 10, "5% failures"), (50, 50, "5% failures"))
        ),
        default="bounded-welch",
        page=PAGE,
        runs=(200, 1000),
    )


def _labels_apart() -> Trial:
    """Macro F1 of two tables from different items: the delta method's z."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, drop = int(setting["n"]), float(setting.get("drop", 0.0))
        return labelled(rng, n, 0.0).side("baseline"), labelled(rng, n, drop).side("candidate")

    def calls(a: Counts, b: Counts) -> bool:
        asked = plainly(draws=50, absent="zero")  # draws of the two systems' intervals, which nobody asks for here
        return significant(unpaired.compare_counts(a, b, parse("macro_f1"), None, asked, Warnings()).test.p_value)

    return Trial(
        family="macro F1 on different items",
        draw=draw,
        methods={"z": calls},
        said=alike(("z",), "size", "false alarms near 5%, somewhat above on few items", high=0.09) | alike(("z",), "power", FINDS, low=0.4),
        settings=({"n": 100}, {"n": 200, "drop": 0.1}),
        more=({"n": 50}, {"n": 200}, {"n": 500}, {"n": 500, "drop": 0.06}),
        default="z",
        page=PAGE,
        runs=(200, 2000),
    )


def _few_labels_apart() -> Trial:
    """The same with 20 items, a fifth of them in the two rare classes: too few, which the comparison says."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, shares = int(setting["n"]), np.array([0.8, 0.1, 0.1])
        sides = []
        for _ in range(2):
            truth = rng.choice(3, n, p=shares)
            guess = np.where(rng.random(n) < 0.8, truth, rng.choice(3, n))
            table = np.zeros((3, 3), np.int64)
            np.add.at(table, (truth, guess), 1)
            sides.append(Counts.table(table.tolist(), labels=("a", "b", "c")))
        return tuple(sides)

    def calls(kind: str, a: Counts, b: Counts) -> bool:
        warnings = Warnings()
        found = significant(unpaired.compare_counts(a, b, parse("macro_f1"), None, plainly(draws=50, absent="zero"), warnings).test.p_value)
        return found and (kind == "z" or not any("fewer than" in sentence for sentence in warnings))

    return Trial(
        family="macro F1 of rare classes on different items",
        draw=draw,
        methods={"z": partial(calls, "z"), "z without a warning": partial(calls, "no warning")},
        said={
            ("z", "size"): ("with 20 items rejects in a quarter of the runs of equal systems, with 50 in .09", Band(fails=0.15, high=0.32)),
            ("z without a warning", "size"): ("hardly ever without the warning of small classes", Band(high=0.06)),
        },
        settings=({"n": 20},),
        more=({"n": 50}, {"n": 100}),
        default="z",
        page=PAGE,
        runs=(100, 500),
    )
