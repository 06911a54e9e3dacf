"""The order of asking: a random sample at every moment, the same one whatever the file looks like."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import DataError, UsageError
from steelyard.evaluate.asking.asks import Case
from steelyard.evaluate.task.cases import hash_order, subset

IDS = st.lists(st.text(min_size=1, max_size=6), unique=True, min_size=1, max_size=40)


def case(name: str, group: str | None = None, **row: object) -> Case:
    return Case(id=name, input=name, truth=None, row=row, group=group)


def names(cases: list[Case]) -> list[str]:
    return [each.id for each in cases]


def test_golden_order() -> None:
    """The order of these ids by `printf '7\\0%s' ID | sha256sum`, GNU coreutils 9.1."""
    digests = {"a": "04d865", "b": "f2208e", "c": "735f00"}
    assert [["a", "b", "c"][place] for place in hash_order(["a", "b", "c"], 7)] == sorted(digests, key=digests.__getitem__)


@given(IDS, st.integers(), st.randoms())
def test_file_order_changes_nothing(ids: list[str], seed: int, rng: random.Random) -> None:
    cases = [case(name) for name in ids]
    shuffled = rng.sample(cases, len(cases))
    assert names(subset(cases, None, seed)) == names(subset(shuffled, None, seed))


@given(IDS, st.integers(min_value=1, max_value=40), st.integers(min_value=1, max_value=40))
def test_nested_and_stable_under_growth(ids: list[str], first: int, n: int) -> None:
    cases = [case(name) for name in ids]
    assert subset(cases, n, 0)[: min(first, n)] == subset(cases, min(first, n), 0)
    fewer = cases[:first]
    kept = {each.id for each in fewer}
    assert [each for each in subset(cases, None, 0) if each.id in kept] == subset(fewer, None, 0), "what is added moves nothing else"


def test_every_item_is_first_equally_often() -> None:
    """Chi-square over 3,000 seeds and 10 items, 9 degrees of freedom: 27.9 is its 99.9% point."""
    ids = [str(i) for i in range(10)]
    first = Counter(hash_order(ids, seed)[0] for seed in range(3000))
    assert sum((first[place] - 300) ** 2 / 300 for place in range(10)) < 27.9


def test_half_character_in_an_id() -> None:
    assert hash_order(["\ud800", "a"], 0) in ([0, 1], [1, 0])


def test_strata_keep_their_shares_at_every_moment() -> None:
    cases = [case(str(i), subject="abc"[min(i % 10, 2)]) for i in range(200)]  # 20, 20, 160
    for seed in range(20):
        ordered = subset(cases, None, seed, strata="subject")
        assert sorted(names(ordered)) == sorted(names(cases))
        for n in range(1, 201):
            many = Counter(each.row["subject"] for each in ordered[:n])
            assert all(abs(many[s] - n * share) <= 2 for s, share in (("a", 0.1), ("b", 0.1), ("c", 0.8))), (seed, n, many)
        assert subset(cases, 50, seed, strata="subject") == ordered[:50]
        alone = [each for each in cases if each.row["subject"] == "a"]
        assert [each for each in ordered if each.row["subject"] == "a"] == subset(alone, None, seed), "hash order inside a stratum"


def test_a_rare_stratum_has_its_fair_chance() -> None:
    """One item of 40, the first 10 asked: in a quarter of 2,000 seeds, within 4 standard errors."""
    cases = [case(str(i), subject="rare" if i == 0 else "common") for i in range(40)]
    hits = sum("0" in names(subset(cases, 10, seed, strata="subject")) for seed in range(2000))
    assert abs(hits - 500) < 4 * (2000 * 0.25 * 0.75) ** 0.5


def test_whole_groups() -> None:
    cases = [case(str(i), group=f"g{i % 7}") for i in range(35)]
    found = subset(cases, 12, 3, whole_groups=True)
    groups = [each.group for each in found]
    assert len(found) == 15, "the third group of five reaches 12 and is asked in full"
    assert [groups[i : i + 5] for i in (0, 5, 10)] == [[groups[i]] * 5 for i in (0, 5, 10)]
    assert subset(cases, 6, 3, whole_groups=True) == found[:10]
    assert subset([each for each in cases if each.group in groups], 12, 3, whole_groups=True) == found, "fewer groups move none"


def test_what_cannot_be_ordered() -> None:
    with pytest.raises(UsageError, match="a whole number of at least 1, not 0"):
        subset([case("a")], 0, 0)
    with pytest.raises(UsageError, match=r"Give strata or whole groups, not both\."):
        subset([case("a")], 1, 0, strata="s", whole_groups=True)
    with pytest.raises(DataError, match=r"Item 'a' has no 's' to stratify by\."):
        subset([case("a")], 1, 0, strata="s")
    with pytest.raises(DataError, match=r"Item 'a' has no group\."):
        subset([case("a")], 1, 0, whole_groups=True)
