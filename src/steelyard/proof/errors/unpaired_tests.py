"""Claims about tests on different items: right or wrong added up over every outcome, label metrics, scores and AUC by drawing data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.estimate import unpaired
from steelyard.estimate.pair_evidence import unpaired_evidence
from steelyard.infer.planning.coverage import rejected_pairs
from steelyard.items import Items, Labels
from steelyard.metrics.catalogue import parse
from steelyard.proof.claims import Band, Claim, Point, Said, Setting, declared, words
from steelyard.proof.errors.tests import PAGE, REACH, plainly
from steelyard.proof.errors.tests_labels import FINDS, labelled, ranked
from steelyard.proof.trials import Trial, alike, significant
from steelyard.tally.counts import Counts

FloatArray = npt.NDArray[np.float64]


def claims() -> Iterator[Claim]:
    yield from _proportions()
    for trial in (_auc_apart(), _means_apart(), _labels_apart()):
        yield from trial.claims()


# ---- right or wrong -----------------------------------------------------------------------------------------------------------


def _proportions() -> Iterator[Claim]:
    said: dict[str, Said] = {
        "size": ("false alarms of 6% or fewer", Band(high=0.06)),
        "power": ("finds 2.8 standard errors about four times in five", Band(low=0.62, mean_low=0.75)),
    }
    test, family = _unpaired_test(), "right or wrong on different items"
    quick = ({"baseline": 20, "candidate": 20}, {"baseline": 10, "candidate": 50})
    full = tuple({"baseline": m, "candidate": n} for m, n in ((10, 10), (20, 20), (30, 30), (50, 50), (10, 50), (20, 50), (50, 20)))
    for kind, of_test in said.items():
        yield from declared(kind, family, {test: of_test}, test, partial(proportions, kind), quick=quick, full=full, page=PAGE)


def _unpaired_test() -> str:
    return unpaired.compare_proportions((8, 10), (7, 10), parse("accuracy"), plainly()).test.name


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
        return significant(unpaired.compare_proportions((j, m), (k, n), accuracy, asked).test.p_value)

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
        return significant(unpaired_evidence(a, b, parse("auc"), plainly(name, positive="yes")).test.p_value)

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
        runs=(300, 2000),
    )


def _means_apart() -> Trial:
    """Scores of different items, with other deviations and other numbers on the two sides."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        m, n, drop = int(setting["baseline"]), int(setting["candidate"]), float(setting.get("drop", 0.0))
        a, b = (rng.normal(size=size) if setting["law"] == "normal" else rng.exponential(size=size) - 1 for size in (m, n))
        return a, 2 * b - drop * (1 / m + 4 / n) ** 0.5

    def calls(a: FloatArray, b: FloatArray) -> bool:
        sides = [(float(x.mean()), float(x.var(ddof=1)), len(x)) for x in (a, b)]
        return significant(unpaired.compare_means(sides[0], sides[1], parse("mean"), plainly()).test.p_value)

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


def _labels_apart() -> Trial:
    """Macro F1 of two tables from different items: the delta method's z."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, drop = int(setting["n"]), float(setting.get("drop", 0.0))
        return labelled(rng, n, 0.0).side("baseline"), labelled(rng, n, drop).side("candidate")

    def calls(a: Counts, b: Counts) -> bool:
        asked = plainly(draws=50, absent="zero")  # draws of the two systems' intervals, which nobody asks for here
        return significant(unpaired.compare_counts(a, b, parse("macro_f1"), None, asked).test.p_value)

    return Trial(
        family="macro F1 on different items",
        draw=draw,
        methods={"z": calls},
        said=alike(("z",), "size", "false alarms near 5%, somewhat above on few items", high=0.09) | alike(("z",), "power", FINDS, low=0.4),
        settings=({"n": 100}, {"n": 200, "drop": 0.1}),
        more=({"n": 50}, {"n": 200}, {"n": 500}, {"n": 500, "drop": 0.06}),
        default="z",
        page=PAGE,
        runs=(100, 2000),
    )
