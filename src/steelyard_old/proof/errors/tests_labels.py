"""Claims about tests of label metrics, ratios and AUC on the same items: false alarms and power, by drawing data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.difference_tests import offered
from steelyard_old.estimate.fallback import or_none
from steelyard_old.infer.paired.auc_difference import difference_test
from steelyard_old.infer.paired.delong import delong_pair, delong_test
from steelyard_old.infer.paired.randomization import randomize
from steelyard_old.infer.paired.sums import paired_swap
from steelyard_old.infer.paired.table import paired_bootstrap_test
from steelyard_old.metrics.catalogue import parse
from steelyard_old.metrics.sums import QUOTIENT
from steelyard_old.proof.claims import Claim, Setting
from steelyard_old.proof.errors.tests import DRAWS, PAGE, plainly
from steelyard_old.proof.trials import Trial, alike, significant
from steelyard_old.tally.joint import JointCounts
from steelyard_old.tally.pairs import joint_of_codes

FloatArray = npt.NDArray[np.float64]
FINDS = "finds a drop that is found about half of the time or more"


def claims() -> Iterator[Claim]:
    for trial in (_labels(), _ratio(), _auc()):
        yield from trial.claims()


# ---- the same items ----------------------------------------------------------------------------------------------------------


def labelled(rng: np.random.Generator, n: int, drop: float) -> JointCounts:
    """Three classes, one of them rare, and two systems that often err on the same items; the candidate errs more by the drop."""
    truth = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    hard = rng.random(n)
    said = []
    for more in (0.0, drop):
        wrong = 0.7 * hard + 0.3 * rng.random(n) > 0.8 - more
        said.append(np.where(wrong, (truth + rng.integers(1, 3, n)) % 3, truth))
    return joint_of_codes(truth, said[0], said[1], 3, ("a", "b", "c"), 3)


def _labels() -> Trial:
    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        return (labelled(rng, int(setting["n"]), float(setting.get("drop", 0.0))),)

    asked = plainly()
    macro = parse("macro_f1").of_table(absent=asked.own.absent)

    def calls(name: str, joint: JointCounts) -> bool:
        if name == "bootstrap":
            p = or_none(lambda: paired_bootstrap_test(joint, macro, alternative="two-sided", draws=DRAWS).p_value)
        else:
            p = or_none(lambda: randomize(joint, macro, draws=DRAWS).p_value)
        return p is not None and significant(p)  # a class that neither truth nor prediction has: no value, and no call

    names = offered("table")
    return Trial(
        family="macro F1 on the same items",
        draw=draw,
        methods={name: partial(calls, name) for name in names},
        said=alike(names, "size", "false alarms of about 5% or fewer", high=0.06) | alike(names, "power", FINDS, low=0.4),
        settings=({"n": 50}, {"n": 50, "drop": 0.15}),
        more=({"n": 20}, {"n": 100}, {"n": 500}, {"n": 100, "drop": 0.08}, {"n": 500, "drop": 0.03}),
        default=asked.choose("test", None, names, "a label metric"),
        page=PAGE,
        runs=(200, 1000),
    )


def _ratio() -> Trial:
    """Errors over lengths, as in a word error rate, compared over items or over groups of five."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, group, drop = int(setting["n"]), int(setting["group"]), float(setting.get("drop", 0.0))
        length = rng.integers(3, 30, n)
        hard = np.repeat(rng.beta(1, 5, -(-n // group)), group)[:n]
        sides = [
            np.stack([length.astype(float), rng.binomial(length, np.minimum(1, hard * factor)).astype(float)], 1)
            for factor in (1.0, 1.0 + drop)
        ]
        return tuple(np.add.reduceat(side, np.arange(0, n, group)) for side in sides)

    def calls(a: FloatArray, b: FloatArray) -> bool:
        return significant(paired_swap(a, b, QUOTIENT, draws=DRAWS).p_value)

    return Trial(
        family="a ratio of sums on the same items",
        draw=draw,
        methods={"randomization": calls},
        said=alike(("randomization",), "size", "false alarms of about 5% or fewer, by item and by group", high=0.055)
        | alike(("randomization",), "power", FINDS, low=0.4),
        settings=({"n": 50, "group": 1}, {"n": 100, "group": 5}, {"n": 100, "group": 1, "drop": 0.2}),
        more=({"n": 20, "group": 1}, {"n": 50, "group": 5}, {"n": 200, "group": 5, "drop": 0.15}),
        default="randomization",
        page=PAGE,
        runs=(240, 2000),
    )


def ranked(rng: np.random.Generator, n: int, drop: float) -> tuple[Any, ...]:
    """A fifth positives; two scores that share much of their noise."""
    positive = np.arange(n) < n // 5
    shared = rng.normal(size=n)
    a, b = (separation * positive + 0.8 * shared + 0.6 * rng.normal(size=n) for separation in (1.5, 1.5 - drop))
    return a, b, positive


def _auc() -> Trial:
    def calls(name: str, a: FloatArray, b: FloatArray, positive: npt.NDArray[np.bool_]) -> bool:
        test = delong_test if name == "delong" else difference_test
        p = or_none(lambda: test(delong_pair(a, b, positive))[1])
        return p is not None and significant(p)

    names = ("delong-wilson", "delong")

    return Trial(
        family="AUC on the same items",
        draw=lambda rng, setting: ranked(rng, int(setting["n"]), float(setting.get("drop", 0.0))),
        methods={name: partial(calls, name) for name in names},
        said=alike(names, "size", "false alarms of about 5% or fewer", high=0.06) | alike(names, "power", FINDS, low=0.4),
        settings=({"n": 50}, {"n": 200, "drop": 0.5}),
        more=({"n": 200}, {"n": 25}, {"n": 100}, {"n": 500}, {"n": 500, "drop": 0.3}),
        default="delong-wilson",
        page=PAGE,
        runs=(300, 10_000),
    )
