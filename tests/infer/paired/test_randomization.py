"""Approximate randomization: all swaps item by item, a plain loop over items, McNemar, invariants."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from by_name import statistic
from cases import every, seldom
from steelyard.errors import UsageError
from steelyard.infer.paired import randomization as module
from steelyard.infer.paired.mcnemar import mcnemar_exact
from steelyard.infer.paired.randomization import Swaps, randomize, symmetric_p
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.tally.joint import JointCounts, joint_table

ALTERNATIVES = ("two-sided", "less", "greater")
OTHER = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
STATISTICS = {
    "accuracy": statistic("accuracy"),
    "macro-f1": statistic("f1", average_of="macro", absent="zero"),
    "weighted-precision": statistic("precision", average_of="weighted", absent="zero"),
    "recall of 1": statistic("recall", label=1),
    "kappa": statistic("kappa"),
}
Items = list[tuple[int, int, int]]


def joint_of(items: Sequence[tuple[int, int, int]], classes: int = 3, labels: int | None = None) -> JointCounts:
    return joint_table(Counter(items), tuple(map(str, range(labels or classes))), classes=classes)


def value(name: str, pairs: Sequence[tuple[int, int]], classes: int) -> float:
    """A metric of items: by way of a table of its own, which tests/metrics compares with scikit-learn."""
    table = joint_of([(t, p, p) for t, p in pairs], classes, classes + 1)
    m = Swaps(table).observed("baseline")
    return float(STATISTICS[name].value(m))


def naive(name: str, items: Items, alternative: str, classes: int) -> float:
    """All 2^n swaps of whole items."""

    def difference(swaps: Sequence[int]) -> float:
        a = [(t, (x, y)[s]) for (t, x, y), s in zip(items, swaps, strict=True)]
        b = [(t, (y, x)[s]) for (t, x, y), s in zip(items, swaps, strict=True)]
        return value(name, b, classes) - value(name, a, classes)

    observed = difference([0] * len(items))
    sums = np.array([difference(s) for s in itertools.product((0, 1), repeat=len(items))])
    less, greater = float(np.mean(sums <= observed + 1e-9)), float(np.mean(sums >= observed - 1e-9))
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]


def random_items(n: int, classes: int, seed: int, gap: float = 0.0) -> tuple[npt.NDArray[np.int64], ...]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    sides = [np.where(rng.random(n) < p, truth, (truth + rng.integers(1, classes, n)) % classes) for p in (0.8, 0.8 + gap)]
    return truth, sides[0], np.where(rng.random(n) < 0.5, sides[0], sides[1])


def tally(truth: npt.NDArray[np.int64], a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], classes: int) -> JointCounts:
    code, count = np.unique((truth * classes + a) * classes + b, return_counts=True)
    cells = {(c // classes**2, c // classes % classes, c % classes): m for c, m in zip(code.tolist(), count.tolist(), strict=True)}
    return joint_table(cells, tuple(map(str, range(classes))))


# ---- oracles -------------------------------------------------------------------------------------------------------


item = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3))  # 3 is a label outside the declared set


@pytest.mark.parametrize("name", ["accuracy", "macro-f1", "weighted-precision"])
@settings(max_examples=6, deadline=None)
@given(items=st.lists(item, min_size=1, max_size=7), alternative=st.sampled_from(ALTERNATIVES))
def test_exact_equals_all_swaps(name: str, items: Items, alternative: str) -> None:
    found = randomize(joint_of(items, 3, 4), STATISTICS[name], alternative=alternative)
    assert found.exact
    assert found.p_value == pytest.approx(naive(name, items, alternative, 3), abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_accuracy_is_mcnemar(alternative: str) -> None:
    for gained, lost in ((76, 58), (5, 0), (0, 9), (3, 3), (700, 640)):
        joint = JointCounts.flips(both=10, baseline_only=lost, candidate_only=gained, neither=4)
        found = randomize(joint, STATISTICS["accuracy"], alternative=alternative)
        assert found.exact
        assert found.p_value == pytest.approx(mcnemar_exact(gained, lost, alternative), rel=1e-10)
        assert found.statistic == pytest.approx((gained - lost) / joint.n)


@pytest.mark.parametrize(("name", "classes"), [("macro-f1", 4), *seldom(("macro-f1", 2), ("kappa", 4), ("recall of 1", 4))])
def test_drawn_equals_a_loop_over_items(name: str, classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Swaps of items by coins, tables counted anew: two Monte Carlo answers within 4 standard errors."""
    monkeypatch.setattr(module, "COMBINATIONS", 0)
    truth, a, b = random_items(400, classes, seed=1, gap=0.06)
    found = randomize(tally(truth, a, b, classes), STATISTICS[name], draws=4000)
    rng = np.random.default_rng(9)
    observed = value(name, list(zip(truth, b, strict=True)), classes) - value(name, list(zip(truth, a, strict=True)), classes)
    sums = []
    for _ in range(600):
        swap = rng.random(len(truth)) < 0.5
        x, y = np.where(swap, b, a), np.where(swap, a, b)
        one = module.Swaps(tally(truth, x, y, classes))
        sums.append(float(STATISTICS[name].value(one.observed("candidate")) - STATISTICS[name].value(one.observed("baseline"))))
    share = float(np.mean(np.abs(sums) >= abs(observed) - 1e-12))
    assert not found.exact
    assert abs(found.p_value - share) < 4 * math.sqrt(share * (1 - share) * (1 / 600 + 1 / 4000)) + 1e-3
    assert found.statistic == pytest.approx(observed)


def test_drawn_equals_exact_for_f1() -> None:
    truth, a, b = random_items(500, 2, seed=3, gap=0.03)
    joint = tally(truth, a, b, 2)
    f1 = statistic("f1", label=1)
    exact = randomize(joint, f1)
    assert exact.exact
    assert exact.statistic == pytest.approx(f1_score(truth, b) - f1_score(truth, a))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COMBINATIONS", 0)
        drawn = randomize(joint, f1, draws=20_000)
    assert abs(drawn.p_value - exact.p_value) < 4 * math.sqrt(exact.p_value * (1 - exact.p_value) / 20_000)


def test_long_kinds_are_binomial() -> None:
    """Kinds of one word, of many words and of Generator.binomial have mean m/2 and variance m/4."""
    many = np.array([1, 2, 63, 64, 65, 128, 700, 768, 769, 100_000])
    source = np.random.PCG64(0)
    heads = module._fair_coins(many, 20_000, np.random.Generator(source), np.random.Generator(source.jumped()))
    assert np.all(heads >= 0)
    assert np.all(heads.max(1) <= many)
    assert np.abs((heads.mean(1) - many / 2) / np.sqrt(many / 4 / 20_000)).max() < 4
    assert np.abs(heads.var(1) / (many / 4) - 1).max() < 4 * math.sqrt(2 / 20_000) * 1.2


@every("m", [1, 2, 3, 10, 63, 1000])
def test_fair_binomial(m: int) -> None:
    exact = [math.comb(m, k) / 2**m for k in range(m + 1)]
    assert module._fair_binomial(m) == pytest.approx(exact, rel=1e-12)


def test_ones_without_numpy_two(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.random.default_rng(0).integers(0, 2**64, size=(5, 7), dtype=np.uint64)
    expected = module._ones(words)
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert np.array_equal(module._ones(words), expected)


# ---- invariants ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("enumerated", [True, False])
@pytest.mark.parametrize("name", STATISTICS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 1000))
def test_swapping_the_systems(name: str, enumerated: bool, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not enumerated:
            patch.setattr(module, "COMBINATIONS", 0)
        joint = tally(*random_items(40, 3, seed), 3)
        p = {}
        for alternative in ALTERNATIVES:
            found = randomize(joint, STATISTICS[name], alternative=alternative, draws=199)
            swapped = randomize(joint.swapped(), STATISTICS[name], alternative=OTHER[alternative], draws=199)
            assert swapped.p_value == pytest.approx(found.p_value, abs=1e-12)
            assert swapped.statistic == pytest.approx(-found.statistic, abs=1e-12)
            assert 0 < found.p_value <= 1
            p[alternative] = found.p_value
        assert p["two-sided"] == pytest.approx(min(1.0, 2 * min(p["less"], p["greater"])), abs=1e-12)


@pytest.mark.parametrize("name", STATISTICS)
def test_identical_systems(name: str) -> None:
    truth, a, _ = random_items(100, 3, 0)
    for alternative in ALTERNATIVES:
        found = randomize(tally(truth, a, a, 3), STATISTICS[name], alternative=alternative)
        assert (found.p_value, found.statistic, found.exact) == (1.0, 0.0, True)


def test_equally_good_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    joint = JointCounts.flips(both=10, baseline_only=300, candidate_only=300, neither=4)
    assert randomize(joint, STATISTICS["accuracy"]).p_value == 1.0
    monkeypatch.setattr(module, "COMBINATIONS", 0)
    assert randomize(joint, STATISTICS["accuracy"]).p_value == 1.0


def test_same_seed_same_answer_whatever_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    joint = tally(*random_items(30_000, 12, 0, 0.01), 12)
    f1 = STATISTICS["macro-f1"]
    found = randomize(joint, f1, draws=2500)
    assert randomize(joint, f1, draws=2500) == found
    assert randomize(joint, f1, draws=2500, seed=1) != found
    for block in (30_000, 100_000, 10_000_000):
        monkeypatch.setattr(module, "BLOCK", block)
        assert randomize(joint, f1, draws=2500) == found
    assert not found.exact
    assert found.p_value == (found.count + 1) / (found.draws + 1)


def test_memory_stays_below_64_mb() -> None:
    joint = tally(*random_items(100_000, 120, 0), 120)
    tracemalloc.start()
    randomize(joint, STATISTICS["macro-f1"], draws=1500)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64e6


def test_undefined_swaps_count_against_us() -> None:
    """Kappa and MCC have no value when both systems say one class only; such a swap is never evidence."""
    joint = joint_of([(0, 0, 0), (0, 0, 0), (1, 1, 0), (1, 0, 1)], 2)
    found = randomize(joint, statistic("mcc"))
    assert found.undefined == 2
    assert found.p_value == 1.0
    with pytest.raises(Degenerate, match="undefined"):
        randomize(joint_of([(0, 0, 1), (0, 0, 0), (1, 0, 1)], 2), statistic("mcc"))


def test_tails_of_a_symmetric_law() -> None:
    law = np.array([-2, -1, -1, 0, 0, 1, 1, 2])
    for observed in (-2, -1, 0, 1, 2):
        far, beyond = float(np.mean(abs(law) >= abs(observed))), float(np.mean(abs(law) > abs(observed)))
        assert symmetric_p(far, beyond, int(np.sign(observed)), "greater") == np.mean(law >= observed)
        assert symmetric_p(far, beyond, int(np.sign(observed)), "less") == np.mean(law <= observed)


def test_unknown_words() -> None:
    joint = JointCounts.flips(both=1, baseline_only=1, candidate_only=1, neither=1)
    with pytest.raises(UsageError, match="alternative"):
        randomize(joint, STATISTICS["accuracy"], alternative="better")
    with pytest.raises(UsageError, match="draws"):
        randomize(joint, STATISTICS["accuracy"], draws=0)
