"""Ids that differ only by case, blanks or Unicode form: warned about inside one source, and shown so that one can see it between two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import DataError
from steelyard.questions.compare.compare import compare
from steelyard.questions.measure.measure import measure
from steelyard.questions.record.record import record
from steelyard.tally.spelling import look_alikes, same_number, visible

ALIKE = [
    ("A1", "a1", "'A1' and 'a1'"),
    ("a 1", "a1 ", "'a 1' and 'a1 '"),
    ("caf\u00e9", "cafe\u0301", r"'caf\\u00e9' and 'cafe\\u0301'"),
    ("a 1", "a\u00a01", r"'a 1' and 'a\\u00a01'"),
    ("a1", "a\u200b1", r"'a1' and 'a\\u200b1'"),
    ("\U0001d5d4", "A", r"'\\U0001d5d4' and 'A'"),
]


def rows(*ids: str) -> list[dict[str, Any]]:
    return [{"id": each, "score": i % 2} for i, each in enumerate((*ids, "x", "y", "z"))]


@pytest.mark.parametrize(("one", "other", "shown"), ALIKE)
def test_look_alikes_in_one_source_are_told_once_with_a_pair_that_shows_the_difference(
    one: str, other: str, shown: str, tmp_path: Path
) -> None:
    said = f"1 id differs from another only by case, blanks or Unicode form, such as {shown}: they count as different items"
    said = said.replace("\\\\", "\\")
    data = rows(one, other)
    assert measure(data).warnings.count(said) == 1
    assert compare(data, data).warnings.count(said) == 1
    assert record(data, task="t", model="m", directory=tmp_path).warnings.count(said) == 1


@every(("one", "other", "shown"), ALIKE)
def test_unmatched_look_alikes_are_shown_so_that_one_can_see_the_difference(one: str, other: str, shown: str) -> None:
    said = f"; 1 of them only differ by case, blanks or Unicode form, such as {shown}"
    with pytest.raises(DataError, match=f"3 ids in both.*{said}.*the ids differ only"):
        compare(rows(one), rows(other))
    found = compare(rows(one), rows(other), unmatched="drop")
    assert any(said.replace("\\\\", "\\") in each for each in found.warnings)
    with pytest.raises(DataError, match=f"no id in common.*{said}"):
        compare(rows(one)[:1], rows(other)[:1])


def test_a_pair_among_many_is_found_though_no_example_has_it() -> None:
    ours, theirs = [f"p{i}" for i in range(50)], [f"q{i}" for i in range(50)]
    with pytest.raises(DataError, match=r"1 of them only differ by case.*'ZZ' and 'zz'"):
        compare(rows(*ours, "ZZ"), rows(*theirs, "zz"))


@every("names", [["a1", "a2"], ["1", "10", "1.0"], ["caf\u00e9", "cafe"], ["A", "B"], ["a b", "a c"], []])
def test_different_ids_are_no_look_alikes(names: list[str]) -> None:
    assert look_alikes(names) is None


def test_many_ids_are_counted() -> None:
    assert look_alikes(["A", "a", "b", "B ", "c"]) == (2, ("A", "a"))
    assert visible("tab\there") == r"'tab\u0009here'"


def test_whole_numbers_of_many_digits_are_labels_of_their_own() -> None:
    long = ["9007199254740992", "9007199254740993", "123456789012345678901", "123456789012345678902"]
    assert same_number([*long, "9007199254740992.0", "1e400", "1e500"]) == [("9007199254740992", "9007199254740992.0")]
    assert sy.measure(long, long, metric="accuracy").row.n == 4


def sliced(column: str, *values: str, wrong: int = 3) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "score": float(i % wrong > 0), column: values[i % len(values)]} for i in range(60)]


@every(
    ("values", "said"),
    [
        (("\u00e9", "e\u0301"), "1 value of 'lang' differs from another only by case, blanks or Unicode form"),
        (("de", "DE", "fr"), "1 value of 'lang' differs from another only by case"),
        (("1", "1.0", "01", "2"), "2 values of 'lang' are the same number as another, such as '01' and '1'"),
        (("1", "10", "2"), None),
    ],
)
def test_slices_that_look_alike_are_told(
    values: tuple[str, ...], said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, other, third = (sliced("lang", *values, wrong=wrong) for wrong in (3, 4, 5))
    task = f"t{len(list(tmp_path.rglob('*.yaml')))}"
    record(one, task=task, model="m", by="lang")
    for found in (
        measure(one, by="lang"),
        compare(one, other, by="lang"),
        sy.rank(one, other, third, by="lang"),
        sy.check(other, task=task, model="m", by="lang"),
    ):
        told = [words for words in found.warnings if "slices of their own" in words]
        assert [words[: len(said or "")] for words in told] == ([] if said is None else [said])
