"""The scorer json-match: the same JSON value, however it is written."""

from __future__ import annotations

from typing import Any

import pytest

from cases import every
from steelyard.errors import DataError
from steelyard.evaluate.asking.asks import Case
from steelyard.evaluate.scorers.json_answers import JsonMatch


def case(truth: object) -> Case:
    return Case(id="7", input="", truth=truth, row={})


SCORED: list[tuple[Any, str, float, bool]] = [
    ('{"a": 1, "b": 2}', '{"b": 2,\n "a": 1.0}', 1.0, True),
    ('{"a": 1}', '{"a": true}', 0.0, True),
    ('{"a": [1, 2]}', '{"a": [2, 1]}', 0.0, True),
    ({"a": "é"}, '{"a": "\\u00e9"}', 1.0, True),
    ('{"a": 1}', '{"a": 1} and more', 0.0, False),
    ('{"a": 1}', '{"a": 1, "a": 1}', 0.0, False),
    ('{"a": 1}', '{"a": NaN}', 0.0, False),
    ("0", "-0.0", 1.0, True),
    ("[]", "[" * 100_000, 0.0, False),
]


@every(("truth", "said", "score", "extracted"), SCORED)
def test_the_value_counts_and_not_how_it_is_written(truth: Any, said: str, score: float, extracted: bool) -> None:
    found = JsonMatch().score(said, case(truth))
    assert (found.score, found.extracted) == (score, extracted)
    assert (found.prediction == found.truth) == (score == 1.0), "labels are the same text exactly where the answer is right"


def test_a_fence_is_allowed_only_where_it_is_asked_for() -> None:
    said = '```json\n{"a": 1}\n```'
    assert JsonMatch(fences=True).score(said, case('{"a": 1}')).score == 1.0
    assert not JsonMatch().score(said, case('{"a": 1}')).extracted


def test_a_truth_that_is_no_json_is_found_beforehand() -> None:
    with pytest.raises(DataError, match="item '7' must be JSON"):
        JsonMatch().check(case("{a: 1}"))
