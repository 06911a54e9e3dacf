"""mlxtend: McNemar, Cochran's Q, permutations and the tests over splits of its user guide. See mlxtend.json."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import steelyard as sy
from cases import every
from peers.make import recorded
from steelyard.infer import multiplicity as many
from steelyard.infer import unpaired
from steelyard.infer.learning import crossval
from steelyard.infer.learning.crossval import SplitTest
from steelyard.infer.normal import STANDARD
from steelyard.infer.paired import mcnemar as flips
from steelyard.infer.paired.signflip import sign_flip

ENTRIES = recorded("mlxtend")
ONE_SIGMA = math.erf(math.sqrt(0.5))  # the level whose z is exactly 1
RIGHT = [[answer == "0" for answer in answers] for answers in ENTRIES["cochrans_q"]["input"]]
SPLITS: dict[str, Callable[[list[float]], SplitTest]] = {
    "5x2cv_t_": crossval.five_by_two_t,
    "5x2cv_f_": crossval.five_by_two_f,
    "kfold_": crossval.kfold_t,
    "resampled_": crossval.kfold_t,  # Student's t of the 30 differences, as it stands
}


def two_models(first: int, second: int) -> sy.JointCounts:
    pairs = Counter(zip(RIGHT[first], RIGHT[second], strict=True))
    cells = {"both": (True, True), "baseline_only": (True, False), "candidate_only": (False, True), "neither": (False, False)}
    return sy.JointCounts.flips(**{name: pairs[key] for name, key in cells.items()})


def compared(joint: sy.JointCounts, test: str) -> sy.Comparison:
    found = sy.compare(joint, test=test)
    assert isinstance(found, sy.Comparison)
    return found


@pytest.mark.parametrize("name", ["mcnemar_A", "mcnemar_B", "mcnemar_tests"])
def test_mcnemar(name: str) -> None:
    """Its default subtracts 1 before squaring (Edwards). That approximates the exact p, which we offer; mid-p lies below both."""
    (both, first), (second, neither) = ENTRIES[name]["input"]
    joint = sy.JointCounts.flips(both=both, baseline_only=first, candidate_only=second, neither=neither)
    theirs = ENTRIES[name]["answer"]
    z, p = flips.mcnemar(second, first)
    assert [z * z, p] == pytest.approx(theirs["plain"], rel=1e-9)
    assert compared(joint, "mcnemar").p_value == pytest.approx(theirs["plain"][1], rel=1e-9)
    exact = compared(joint, "mcnemar-exact").p_value
    assert exact == pytest.approx(theirs["exact"], rel=1e-9)
    assert exact is not None
    corrected = (abs(first - second) - 1) ** 2 / (first + second)
    assert [corrected, 2 * STANDARD.cdf(-math.sqrt(corrected))] == pytest.approx(theirs["corrected"], rel=1e-9)
    assert theirs["corrected"][1] == pytest.approx(exact, abs=0.004)
    midp = compared(joint, "mcnemar-midp").p_value
    assert midp is not None
    assert midp < min(exact, theirs["corrected"][1])


def test_mcnemar_where_nothing_disagrees() -> None:
    """0/0 is infinite there, and p = 0: two equal models, proven different. Nothing speaks against H0: p = 1."""
    assert ENTRIES["mcnemar_none"]["answer"] == ["inf", 0.0]
    joint = sy.JointCounts.flips(both=80, baseline_only=0, candidate_only=0, neither=20)
    assert {compared(joint, test).p_value for test in ("mcnemar", "mcnemar-exact", "mcnemar-midp")} == {1}


def test_mcnemar_where_as_many_were_gained_as_lost() -> None:
    """5 and 5: (|0| - 1)^2 / 10 = .1, p = .75, because the correction passes through 0. No difference at all is p = 1."""
    assert ENTRIES["mcnemar_even"]["answer"] == pytest.approx([0.1, 0.7518296340458492])
    joint = sy.JointCounts.flips(both=80, baseline_only=5, candidate_only=5, neither=10)
    assert {compared(joint, test).p_value for test in ("mcnemar", "mcnemar-exact", "mcnemar-midp")} == {1}


def test_cochrans_q() -> None:
    """The user guide prints Q = 7.529, p = .023, as Kuncheva (2004) does for these three classifiers."""
    patterns = Counter(tuple(map(int, item)) for item in zip(*RIGHT, strict=True))
    q, df, p = many.cochran_q(patterns)
    assert df == 2
    assert [q, p] == pytest.approx(ENTRIES["cochrans_q"]["answer"], rel=1e-9)
    assert (round(q, 3), round(p, 3)) == (7.529, 0.023)
    board = sy.rank(*[{"score": [int(right) for right in model]} for model in RIGHT])
    assert isinstance(board, sy.Leaderboard)
    told = board.to_dict()["omnibus"]
    assert [told["statistic"], told["p_value"]] == pytest.approx(ENTRIES["cochrans_q"]["answer"], rel=1e-9)


def test_ftest() -> None:
    """Not offered: an analysis of variance of zeros and ones, for which Cochran's Q is the test. It answers alike here.

    mlxtend takes (L - 1) N degrees of freedom below where Looney (1988) has (L - 1)(N - 1); with 100 items that is the fourth digit.
    """
    f, p = ENTRIES["ftest"]["answer"]
    assert [f, p] == pytest.approx([3.8729, 0.022376], abs=1e-4)
    assert p == pytest.approx(ENTRIES["cochrans_q"]["answer"][1], abs=1e-3)


def test_difference_of_proportions() -> None:
    """84 and 92 of 100. Its z is Wald's; its p is the lower tail, so that .04 becomes .96 when the models change places.

    Both models answered the same 100 items. Then only the 12 count on which they part, 10 to 2: two-sided p = .0225 by mid-p.
    """
    low, high = unpaired.wald_difference(84, 100, 92, 100, ONE_SIGMA)
    z = (low + high) / (high - low)
    assert [z, STANDARD.cdf(z)] == pytest.approx(ENTRIES["proportions"]["answer"], rel=1e-9)
    assert [-z, STANDARD.cdf(-z)] == pytest.approx(ENTRIES["swapped"]["answer"], rel=1e-9)
    found = compared(two_models(0, 1), "mcnemar-midp")
    assert found.p_value == pytest.approx(0.02246, abs=1e-4)
    assert found.p_value == compared(two_models(1, 0), "mcnemar-midp").p_value


def test_paired_permutation() -> None:
    a, b = ENTRIES["permutation"]["input"]
    assert ENTRIES["permutation"]["answer"] == 4 / 128
    assert sign_flip(np.array(b) - np.array(a)).p_value == pytest.approx(4 / 128, rel=1e-12)
    found = sy.compare(a, b, test="sign-flip")
    assert isinstance(found, sy.Comparison)
    assert found.p_value == pytest.approx(4 / 128, rel=1e-12)


@every("name", [name for name in ENTRIES if name.startswith(tuple(SPLITS))])
def test_splits(name: str) -> None:
    test = next(test for prefix, test in SPLITS.items() if name.startswith(prefix))
    found = test(ENTRIES[name]["input"])
    assert [found.statistic, found.p_value] == pytest.approx(ENTRIES[name]["answer"], rel=1e-7, abs=1e-12)


def test_splits_that_share_items() -> None:
    """30 random splits of iris share most of their items, so their differences are not independent.

    Its t forgets that: 3.62, p = .001 for a tree that is no worse than a logistic curve. Nadeau and Bengio (2003) add n2/n1
    to the 1/30 of the variance: t = .97, p = .34. In their simulations and ours only the corrected t keeps its level.
    """
    naive = ENTRIES["resampled_deep"]["answer"]
    assert naive == pytest.approx([3.6159, 0.00112], abs=1e-4)
    right = crossval.corrected_resampled_t(ENTRIES["resampled_deep"]["input"], n_test=45, n_train=105)
    assert right.statistic == pytest.approx(naive[0] * math.sqrt((1 / 30) / (1 / 30 + 45 / 105)), rel=1e-9)
    assert right.statistic == pytest.approx(0.9713, abs=1e-3)
    assert right.p_value == pytest.approx(0.339, abs=1e-3)
