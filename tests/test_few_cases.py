"""Few cases with several runs: golden numbers, the laws behind them by other roads, and one law that cannot contradict itself."""

from __future__ import annotations

import ast
import json
import math
import re
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.base.problem import SteelyardError
from steelyard.engines import lattice
from steelyard.engines.certainty import NoAnswer
from steelyard.engines.few_cases import buy_next, limit, one_more_case, these_cases, these_interval
from steelyard.engines.within_items import WithinItem, runs_of, within_item
from steelyard_old.infer.paired import within_items as old

ENTRIES = json.loads((Path(__file__).parent / "golden/trials.json").read_text(encoding="utf-8"))["entries"]
ELSEWHERE = ("fixed-", "plan-", "oc-", "interval-", "p-", "paths-", "unbiased-", "wald-", "rule-", "family-", "sequence-", "today-")
DIFFERENCES = st.integers(1, 4).flatmap(lambda r: st.lists(st.integers(-r, r).map(lambda k: k / r), min_size=1, max_size=9))


def columns(a: list[list[float]], b: list[list[float]]) -> tuple[list[Any], ...]:
    sides = [[(i, v) for i, row in enumerate(side) for v in row] for side in (a, b)]
    return tuple([x[k] for x in side] for side in sides for k in (0, 1))


def rows(right: list[int], runs: int) -> list[list[float]]:
    return [[1.0] * k + [0.0] * (runs - k) for k in right]


PAGE = (rows([0, 2, 0, 3, 1, 2, 0, 0], 3), rows([3, 3, 0, 3, 1, 3, 3, 2], 3))


def within(a: Any, b: Any) -> WithinItem:
    return within_item(runs_of(*columns(a, b)))


mid, scores = (partial(one_more_case, low=-1, high=1, whole=whole) for whole in (True, False))


def answer(name: str, call: str) -> Any:
    lists = [ast.literal_eval(x) for x in re.findall(r"\[\[.*?\]\]|\[.*?\]", call)]
    kind, *rest = name.split("-")
    if kind == "limit":
        return limit(int(rest[0]), 0.05)
    if kind == "within":
        return within(*(rows(x, int(rest[-1])) for x in lists)).p()
    if kind == "least":
        return within(*(rows([right] * int(rest[1]), int(rest[2])) for right in (0, int(rest[2])))).p()
    if kind == "these":
        return list(these_interval(runs_of(*columns(*lists)), 0, 1).ends())
    if name.endswith("components"):
        return [getattr(buy_next(runs_of(*columns(*(PAGE if rest else lists)))), part) for part in ("between", "noise")]
    d = [sum(b) / 3 - sum(a) / 3 for a, b in zip(*PAGE, strict=True)] if kind == "page" else [float(Fraction(x)) for x in lists[0]]
    found = these_cases(*columns(*PAGE), 0, 1) if "these" in name else (scores if kind == "race" else mid)(d)
    return list(found.ends()) if "interval" in name else found.p(0.0, "greater" if kind == "race" else "two-sided")


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e["id"].startswith(ELSEWHERE)], ids=lambda e: e["id"])
def test_golden(entry: dict[str, Any]) -> None:
    assert answer(entry["id"], entry["call"]) == pytest.approx(entry["expected"], rel=0, abs=entry["tolerance"])


def race(d: list[Fraction], extra: Fraction) -> Fraction:
    """P(sum W x <= 0), exact, as the study writes it."""
    a, b = [v for v in [*d, extra] if v > 0], [-v for v in [*d, extra] if v < 0]
    row = [Fraction(1)] * len(b) + [Fraction(not a)]
    for one in reversed(a):
        new = [Fraction(0)] * (len(b) + 1)
        for j in reversed(range(len(b))):
            new[j] = (b[j] * row[j] + one * new[j + 1]) / (one + b[j])
        row = new
    return row[0]


@given(st.lists(st.fractions(-1, 1, max_denominator=7), min_size=1, max_size=8), st.fractions("-9/10", "9/10", max_denominator=12))
def test_tails_are_those_of_the_race_in_fractions(d: list[Fraction], margin: Fraction) -> None:
    x, turned = [v - margin for v in d], [margin - v for v in d]
    greater, less = race(x, -1 - margin), race(turned, margin - 1)
    exact = scores([float(v) for v in d])
    assert exact.tails(float(margin)) == pytest.approx((less, greater), rel=1e-9, abs=1e-13)
    both = (less + race(turned, 1 + margin)) / 2, (greater + race(x, 1 - margin)) / 2
    assert exact.tails(float(margin), 2) == mid(exact.values).tails(float(margin)) == pytest.approx(both, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("d", [[0.4], [0.5, -0.3], [1.0, 0.2, -0.6], [2 / 3, 1 / 3, 0.0, -1.0]])
def test_the_law_is_that_of_flat_weights(d: list[float]) -> None:
    weights = np.random.default_rng(7).dirichlet(np.ones(len(d) + 1), 400_000)
    for margin in (-0.25, 0.0, 0.3):
        share = np.mean([weights @ np.array([*d, end]) <= margin for end in (-1, 1)])
        assert mid(d).tails(margin)[1] == pytest.approx(share, abs=0.003)


@given(DIFFERENCES, st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.999, 0.9375, 0.96875]), st.sampled_from([mid, scores]))
def test_p_and_ends_agree(d: list[float], level: float, made: Any) -> None:
    found = made(d)
    for side, alternative in (("two", "two-sided"), ("lower", "greater"), ("upper", "less")):
        low, high = found.ends(level, side)
        assert (not low <= 0 <= high) == (found.p(0.0, alternative) <= 1 - level)
        for end in {low, high} - {-1.0, 1.0}:
            outside, inside = (found.p(end + (x if end == low else -x), alternative) for x in (-1e-9, 1e-9))
            assert outside < 1 - level < inside + 1e-15


@given(DIFFERENCES, st.floats(-0.99, 0.99))
def test_mirrored_and_monotone(d: list[float], margin: float) -> None:
    found, turned = scores(d), scores(-np.array(d))
    for sided in (1, 2):
        assert turned.tails(-margin, sided) == found.tails(margin, sided)[::-1]
        steps = pairwise(found.tails(e, sided) for e in np.linspace(-1.1, 1.1, 45))
        assert all(a[0] >= b[0] - 1e-13 and a[1] <= b[1] + 1e-13 for a, b in steps)
    assert turned.ends() == tuple(-x for x in found.ends()[::-1])


@given(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=30))
def test_one_run_a_side_is_mcnemar(d: list[int]) -> None:
    n, k = sum(map(abs, d)), d.count(1)
    p = 2 * min(up := sum(math.comb(n, j) / (2 if j == k else 1) for j in range(k, n + 1)) / 2**n, 1 - up)
    assert mid(d).p() == pytest.approx(p, abs=1e-12)
    assert within([[v < 0] for v in d], [[v > 0] for v in d]).p() == pytest.approx(p, abs=1e-12)


def test_no_difference_and_other_ranges() -> None:
    same = mid([(1 / 3 + 1 / 3 + 1 / 3) - 1, 0.1 + 0.2 - 0.3, 0.0])
    assert same.p() == 1
    assert same.ends()[0] == -same.ends()[1] < 0
    wide, unit = one_more_case([2.0, 1.0, -0.5], -5, 5, whole=True), mid([0.4, 0.2, -0.1])
    assert wide.p(0.5) == pytest.approx(unit.p(0.1), abs=1e-12)
    assert wide.ends() == pytest.approx([5 * x for x in unit.ends()], abs=1e-10)
    with pytest.raises(NoAnswer):
        mid(np.zeros(2001))


RUNS = st.lists(st.tuples(*[st.lists(st.integers(0, 3), min_size=1, max_size=4)] * 2), min_size=1, max_size=6)


@given(RUNS, st.sampled_from([1, 3]), st.booleans())
def test_within_item_is_that_of_the_old_house(cases: list[tuple[list[int], list[int]]], most: int, costly: bool) -> None:
    a, b = ([[min(v, most) / most for v in pair[k]] for pair in cases] for k in (0, 1))
    runs, counts = runs_of(*columns(a, b)), [[f(r) for r in x] for x in (a, b) for f in (sum, len)]
    drawn = {"draws": 400, "seed": 3}
    with pytest.MonkeyPatch.context() as patch:  # a lattice may be too fine
        for module in (old, lattice) if costly else ():
            patch.setattr(module, "WORK", 0)
        found = within_item(runs, **drawn)
        scored = len(np.unique(runs.score)) > 2
        assume(scored or most == 1)
        arguments, theirs = ((runs.case, runs.score, runs.ours), old.within_items_scores) if scored else (counts, old.within_items)
        for one_sided, p in (("less", found.less), ("greater", found.greater)):
            other = theirs(*arguments, alternative=one_sided, **drawn)
            assert (p, found.estimate) == pytest.approx((other.p_value, other.difference), abs=1e-12)
            assert found.exact == other.exact


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 400)), min_size=1, max_size=4), st.floats(0, 1))
def test_lattice_is_that_of_the_old_house(steps: list[tuple[int, int]], place: float) -> None:
    many = np.array([9, *(n for _, n in steps)])
    value = np.outer([1, *(w for w, _ in steps)], [0, 1, 2])
    share, observed = np.tile([0.5, 0.3, 0.2], (len(many), 1)), round(place * int(2 * many @ value[:, 1]))
    theirs = old.lattice_tails(old.Kinds(value, share, many), observed)
    assert lattice.lattice_tails(lattice.Kinds(value, share, many), observed) == pytest.approx(theirs, rel=1e-11, abs=1e-300)


@given(RUNS, st.sampled_from([0.8, 0.9, 0.95, 0.999]))
def test_these_cases_cannot_contradict_themselves(cases: list[tuple[list[int], list[int]]], level: float) -> None:
    a, b = ([[min(v, 1) for v in pair[k]] for pair in cases] for k in (0, 1))
    found, turned = these_cases(*columns(a, b), 0, 1), these_cases(*columns(b, a), 0, 1)
    low, high = found.ends(level)
    assert -1 <= low <= found.estimate <= high <= 1
    assert (not low <= 0 <= high) == (found.p() <= 1 - level)
    assert turned.ends(level) == (-high, -low)
    interval = these_interval(runs_of(*columns(a, b)), 0, 1)
    for margin in (x for x in interval.ends(level) if abs(x) < 1):
        assert interval.p(margin) == pytest.approx(1 - level, abs=1e-9)
        assert margin == 0 or found.p(margin) in (pytest.approx(interval.p(margin), abs=1e-12), found.p())


def test_within_item_knows_neither_margin_nor_missing_runs() -> None:
    a, b = [[0.125, 0.5, 0.25], [0.375, 0.75, 0.25]], [[0.5, 0.625, 1.0], [0.375, 1.0, 0.625]]
    assert within(*([[x + 1e6 for x in row] for row in side] for side in (a, b))).p() == within(a, b).p()
    with pytest.raises(NoAnswer):
        within([[0]], [[1]]).p(0.1)
    with pytest.raises(SteelyardError, match="No run of one"):
        runs_of([0, 1], [0, 1], [0], [1])


def test_what_to_buy_next() -> None:
    page = buy_next(runs_of(*columns(*PAGE)))
    seen = page.error_these, page.error_new, page.errors(15, 3)[1], page.errors(8, 5)[1]
    assert [round(x or 0, 2) for x in seen] == [0.09, 0.15, 0.11, 0.14]
    assert page.best_runs(10) is None  # too few cases
    many = buy_next(runs_of(*columns(PAGE[0] * 2, PAGE[1] * 2)))
    assert many.best_runs(10) == pytest.approx(math.sqrt(10 * (many.noise or 0) / (2 * (many.between or 1))))
    steady = buy_next(runs_of(*columns([[0.1] * 3, [0.7] * 3], [[0.3] * 3, [0.4] * 3])))
    assert (steady.noise, steady.error_these, steady.errors(9, 9)[0]) == (0.0, None, None)
    single = buy_next(runs_of([0, 1], [0, 1], [0, 1], [1, 1]))
    assert (single.noise, single.between, single.error_new) == (None, None, 0.5)
