"""Run labels permuted within items: all labelings one by one, McNemar at one run each, invariants."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import DataError
from steelyard.infer.paired import within_items as module
from steelyard.infer.paired.mcnemar import mcnemar_exact, mcnemar_midp
from steelyard.infer.paired.within_items import Kinds, lattice_tails, within_items, within_items_scores, within_spread

ALTERNATIVES = ("two-sided", "less", "greater")
OTHER = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
Runs = list[tuple[list[int], list[int]]]  # per item: outcomes of the baseline's runs, of the candidate's


def naive(runs: Runs, alternative: str, mid: bool) -> float:
    """Every way to say which runs of each item are the candidate's."""
    per_item = []
    for a, b in runs:
        pool = a + b
        ways = itertools.combinations(range(len(pool)), len(b))
        per_item.append([Fraction(sum(pool[i] for i in w), len(b)) - Fraction(sum(pool) - sum(pool[i] for i in w), len(a)) for w in ways])
    observed = sum(Fraction(sum(b), len(b)) - Fraction(sum(a), len(a)) for a, b in runs)
    sums = [sum(way) for way in itertools.product(*per_item)]
    at = Fraction(sum(s == observed for s in sums), len(sums)) * (Fraction(1, 2) if mid else 1)
    less, greater = (Fraction(sum(f), len(sums)) + at for f in ([s < observed for s in sums], [s > observed for s in sums]))
    two = Fraction(1) if observed == 0 else min(Fraction(1), 2 * min(less, greater))
    return float({"less": less, "greater": greater, "two-sided": two}[alternative])


def ask(runs: Runs, **options: object) -> module.WithinItems:
    columns = [(sum(a), len(a), sum(b), len(b)) for a, b in runs]
    return within_items(*map(list, zip(*columns, strict=True)), **options)  # type: ignore[arg-type]


outcome = st.integers(0, 1)
items = st.lists(st.tuples(st.lists(outcome, min_size=1, max_size=3), st.lists(outcome, min_size=1, max_size=2)), min_size=1, max_size=4)


@given(items, st.sampled_from(ALTERNATIVES), st.booleans())
def test_equals_all_labelings(runs: Runs, alternative: str, mid: bool) -> None:
    found = ask(runs, alternative=alternative, mid=mid)
    choice = any(0 < sum(a + b) < len(a + b) for a, b in runs)
    assert found.exact
    assert found.p_value == pytest.approx(naive(runs, alternative, mid) if choice else 1.0, abs=1e-12)


def test_one_run_each_is_mcnemar() -> None:
    for gained, lost in ((76, 58), (5, 0), (3, 3), (0, 40), (40_000, 39_500)):
        a = np.repeat([0, 1, 1, 0], [gained, lost, 30, 20])
        b = np.repeat([1, 0, 1, 0], [gained, lost, 30, 20])
        for alternative in ALTERNATIVES:
            found = within_items(a, np.ones_like(a), b, np.ones_like(b), alternative=alternative)
            assert found.p_value == pytest.approx(mcnemar_midp(gained, lost, alternative), rel=1e-9)
            found = within_items(a, np.ones_like(a), b, np.ones_like(b), alternative=alternative, mid=False)
            assert found.p_value == pytest.approx(mcnemar_exact(gained, lost, alternative), rel=1e-9)
        assert found.difference == pytest.approx((gained - lost) / len(a))


def test_equals_cochran_mantel_haenszel_in_its_limit() -> None:
    """Many items: the normal approximation of the same conditional law (Mantel and Haenszel 1959) within its error."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 1, 20_000)
    a, b = rng.binomial(5, p), rng.binomial(1, np.clip(p - 0.005, 0, 1))
    s, n = a + b, 6
    z = (b.sum() - (s / n).sum()) / math.sqrt((s * (n - s) * 5 / (n * n * (n - 1))).sum())
    found = within_items(a, np.full(20_000, 5), b, np.ones(20_000, int), alternative="less")
    assert found.p_value == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), abs=2e-3)


def test_unequal_designs_and_the_drawn_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    runs_a, runs_b = rng.integers(1, 5, 150), rng.integers(1, 3, 150)
    p = rng.beta(1, 1, 150)
    a, b = rng.binomial(runs_a, p), rng.binomial(runs_b, np.clip(p + 0.06, 0, 1))
    exact = within_items(a, runs_a, b, runs_b, alternative="greater", mid=False)
    assert exact.exact
    monkeypatch.setattr(module, "lattice_tails", lambda *_: None)
    drawn = within_items(a, runs_a, b, runs_b, alternative="greater", draws=20_000)
    assert not drawn.exact
    assert abs(drawn.p_value - exact.p_value) < 4 * math.sqrt(exact.p_value * (1 - exact.p_value) / 20_000) + 1e-4


@given(items, st.sampled_from(ALTERNATIVES), st.randoms())
def test_swapping_the_systems_and_order(runs: Runs, alternative: str, random: object) -> None:
    found = ask(runs, alternative=alternative)
    swapped = ask([(b, a) for a, b in runs], alternative=OTHER[alternative])
    assert swapped.p_value == pytest.approx(found.p_value, abs=1e-12)
    assert swapped.difference == pytest.approx(-found.difference)
    shuffled = list(runs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ask(shuffled, alternative=alternative).p_value == pytest.approx(found.p_value, abs=1e-12)


def test_identical_systems() -> None:
    for runs_a, runs_b, share in ((3, 1, (0, 3)), (2, 2, (0, 1, 2)), (3, 6, (1, 2)), (1, 1, (0, 1))):
        a = np.resize(share, 101)
        found = within_items(a, np.full(101, runs_a), a * runs_b // runs_a, np.full(101, runs_b))
        assert found.p_value == 1.0, (runs_a, runs_b)
    score = np.repeat(np.arange(20.0), 3)
    assert within_items_scores(np.repeat(np.arange(20), 3), score, np.tile([0, 0, 1], 20), draws=99).p_value == 1.0


def test_an_item_without_both_is_refused() -> None:
    with pytest.raises(DataError, match="1 item"):
        within_items([1, 1], [1, 1], [0, 0], [1, 0])
    with pytest.raises(DataError, match=r"The counts do not fit: an item has more right answers than runs\."):
        within_items([2], [1], [0], [1])
    with pytest.raises(DataError, match="1 item"):
        within_items_scores([0, 0, 1], [1.0, 2.0, 3.0], [0, 1, 0])


# ---- scores ----------------------------------------------------------------------------------------------------------


def as_runs(runs: list[tuple[list[float], list[float]]]) -> tuple[list[int], list[float], list[int]]:
    rows = [(i, x, side) for i, pair in enumerate(runs) for side in (0, 1) for x in pair[side]]
    return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]


@pytest.mark.parametrize("listed", [True, False])
def test_scores_agree_with_all_labelings(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not listed:
        monkeypatch.setattr(module, "SUBSETS", 0)
    rng = np.random.default_rng(4)
    runs = [
        ([round(float(x), 1) for x in rng.random(a)], [round(float(x) + 0.15, 1) for x in rng.random(b)])
        for a, b in ((2, 1), (3, 1), (1, 1), (2, 2), (1, 2))
    ]
    scaled: Runs = [([round(10 * x) for x in a], [round(10 * x) for x in b]) for a, b in runs]
    for alternative in ("less", "greater"):
        exact = naive(scaled, alternative, mid=False)
        found = within_items_scores(*as_runs(runs), alternative=alternative, draws=20_000)
        assert abs(found.p_value - exact) < 4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert found.difference == pytest.approx(np.mean([np.mean(b) - np.mean(a) for a, b in runs]))


def test_scores_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    data = np.repeat(np.arange(50), 3), rng.random(150), np.tile([0, 0, 1], 50)
    for subsets in (module.SUBSETS, 0):
        monkeypatch.setattr(module, "SUBSETS", subsets)
        monkeypatch.setattr(module, "BLOCK", 1_000_000)
        found = within_items_scores(*data, draws=999)
        monkeypatch.setattr(module, "BLOCK", 700)
        assert within_items_scores(*data, draws=999) == found


def test_scores_of_zero_and_one_are_the_counts() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.binomial(3, 0.7, 60), rng.binomial(1, 0.55, 60)
    runs = [([1.0] * x + [0.0] * (3 - x), [float(y)]) for x, y in zip(a, b, strict=True)]
    exact = within_items(a, np.full(60, 3), b, np.ones(60, int), alternative="less", mid=False)
    drawn = within_items_scores(*as_runs(runs), alternative="less", draws=20_000)
    assert abs(drawn.p_value - exact.p_value) < 4 * math.sqrt(exact.p_value * (1 - exact.p_value) / 20_000) + 1e-4
    assert drawn.difference == pytest.approx(exact.difference)


# ---- the convolution -------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(1, 9), st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=4),
    st.floats(0, 1),
)
def test_tails_equal_plain_convolution(rows: list[tuple[int, int, int, int]], place: float) -> None:
    kinds = Kinds(
        np.array([[x, x + step] for x, step, *_ in rows]),
        np.array([[w / 6, 1 - w / 6] for *_, w, _ in rows]),
        np.array([m for *_, m in rows]),
    )
    law = {0: Fraction(1)}
    for x, step, w, many in rows:
        for _ in range(many):
            new: dict[int, Fraction] = {}
            for total, q in law.items():
                for add, share in ((x, Fraction(w, 6)), (x + step, 1 - Fraction(w, 6))):
                    new[total + add] = new.get(total + add, Fraction(0)) + q * share
            law = new
    at = round(min(law) - 1 + place * (max(law) - min(law) + 2))
    found = lattice_tails(kinds, at)
    assert found is not None
    exact = [float(sum(q for t, q in law.items() if f(t))) for f in (lambda t: t < at, lambda t: t == at, lambda t: t > at)]
    assert list(found) == pytest.approx(exact, rel=1e-9, abs=1e-14)


def test_too_much_work_is_said() -> None:
    many = Kinds(np.stack([np.zeros(4000, np.int64), np.arange(1, 4001) * 997], 1), np.full((4000, 2), 0.5), np.ones(4000, np.int64))
    assert lattice_tails(many, 4_000_000_000) is None


# The spread of the runs of these very items


def test_the_variance_at_an_edge_is_that_of_all_ways_to_deal_the_runs() -> None:
    """Every way to deal the runs of three items, once the edge is taken off the candidate's."""
    a, b = ([0.1, 0.7, 0.3], [0.9, 0.2], [0.5]), ([0.4], [0.6, 0.8], [0.1, 0.3])
    item = [i for side in (a, b) for i, runs in enumerate(side) for _ in runs]
    score = [x for side in (a, b) for runs in side for x in runs]
    mine = [0] * 6 + [1] * 5
    found = within_spread(item, score, mine)
    for edge in (0.0, -0.2, 0.4):
        ways = []
        for first, second in zip(a, b, strict=True):
            every = [*first, *(x - edge for x in second)]
            gaps = []
            for chosen in itertools.combinations(range(len(every)), len(second)):
                rest = [x for i, x in enumerate(every) if i not in chosen]
                gaps.append(np.mean([every[i] for i in chosen]) - np.mean(rest))
            ways.append(np.var(gaps))
        assert found.variance(edge) == pytest.approx(sum(ways) / 9, rel=1e-12)


def test_the_ends_are_where_the_difference_is_so_many_standard_errors_away() -> None:
    r = np.random.default_rng(1)
    item, mine = np.tile(np.arange(20), 6), np.repeat([0, 1], [80, 40])
    found = within_spread(item, r.random(120), mine)
    for end in found.interval(0.9):
        assert abs(found.difference - end) / found.variance(end) ** 0.5 == pytest.approx(1.6448536, rel=1e-6)
    low, high = found.interval(0.9)
    assert low < found.difference < high


def test_two_items_leave_no_bounds() -> None:
    assert within_spread([0, 1, 0, 1], [1.0, 0.0, 0.0, 1.0], [0, 0, 1, 1]).interval() == (-math.inf, math.inf)


def test_the_bounds_agree_with_the_permutation_they_belong_to() -> None:
    r = np.random.default_rng(8)
    parted = 0
    for _ in range(100):
        chance = r.beta(4, 2, 50)
        a, b = (r.random((50, 5)) < chance[:, None]), (r.random((50, 2)) < (chance - r.uniform(0, 0.2))[:, None])
        p = within_items(a.sum(1), [5] * 50, b.sum(1), [2] * 50, alternative="less").p_value
        item, mine = np.concatenate([np.repeat(np.arange(50), 5), np.repeat(np.arange(50), 2)]), np.repeat([0, 1], [250, 100])
        high = within_spread(item, np.concatenate([a.ravel(), b.ravel()]), mine).interval(0.9)[1]
        parted += (p <= 0.05) != (high < 0)
    assert parted <= 2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(("two-sided", "less", "greater")), st.booleans())
def test_drawn_labels_depend_neither_on_the_order_of_answers_nor_on_which_system_comes_first(
    seed: int, alternative: str, equal: bool
) -> None:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(12), 2 * rng.integers(2, 4, 12) if equal else rng.integers(2, 7, 12))
    place = np.arange(len(item)) - np.searchsorted(item, item)
    ours = place % 2 == 1 if equal else place == 0
    score = np.round(rng.normal(size=len(item)), 1) + rng.normal(size=12)[item]
    order = rng.permutation(len(item))
    mirrored = {"two-sided": "two-sided", "less": "greater", "greater": "less"}[alternative]
    plain = within_items_scores(item, score, ours, alternative=alternative, draws=199, seed=1)
    moved = within_items_scores(item[order], score[order], ours[order], alternative=alternative, draws=199, seed=1)
    turned = within_items_scores(item[order], score[order], ~ours[order], alternative=mirrored, draws=199, seed=1)
    assert moved.p_value == plain.p_value == turned.p_value
    assert math.isclose(moved.difference, plain.difference, abs_tol=1e-12)
    assert math.isclose(turned.difference, -plain.difference, abs_tol=1e-12)


def test_drawn_counts_do_not_depend_on_which_system_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORK", 0)
    a, b, runs_a, runs_b = [3, 2, 3, 0, 1, 5], [1, 0, 3, 0, 0, 2], [3, 3, 7, 3, 3, 11], [1, 2, 5, 3, 1, 13]
    one = within_items(a, runs_a, b, runs_b, draws=499)
    other = within_items(b, runs_b, a, runs_a, draws=499)
    assert (one.method, one.p_value, one.difference) == ("monte-carlo", other.p_value, -other.difference)
    less, greater = (
        within_items(*x, alternative=how, draws=499) for x, how in (((a, runs_a, b, runs_b), "less"), ((b, runs_b, a, runs_a), "greater"))
    )
    assert less.p_value == greater.p_value
