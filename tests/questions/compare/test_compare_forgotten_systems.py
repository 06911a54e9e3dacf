"""A system that is None was forgotten by somebody: it is refused, not left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every

A, B = {"score": [1, 0] * 20}, {"score": [1, 1] * 20}


@pytest.mark.parametrize("systems", [(None,), (None, A), (A, None, B)])
def test_compare_refuses_none(systems: tuple[Any, ...]) -> None:
    with pytest.raises(sy.UsageError, match=r"System \d of \d is None"):
        sy.compare(*systems)


@pytest.mark.parametrize("systems", [(None,), (A, None), (A, None, B, A), (A, B, None)])
def test_rank_refuses_none(systems: tuple[Any, ...]) -> None:
    with pytest.raises(sy.UsageError, match=r"System \d of \d is None"):
        sy.rank(*systems)


def test_no_system_at_all() -> None:
    with pytest.raises(sy.UsageError, match="No systems"):
        sy.rank()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"names": "ab"}, "names must be a list"),
        ({"names": 5}, "names must be a list"),
        ({"names": [1, 2]}, "must be texts"),
        ({"labels": "a,b"}, r"labels must be a list, not 'a,b'. Hint: labels=\['a', 'b'\]"),
        ({"labels": 2}, "labels must be a list"),
        ({"metric": ["accuracy", "macro_f1"]}, "the name of one metric"),
    ],
)
def test_a_text_is_no_list_and_a_list_no_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(sy.UsageError, match=said):
        sy.compare(A, B, **options)


@every(
    ("given", "words"),
    [
        (["a.csv", "b.csv"], "Give the systems one by one: sy.{}('a.csv', 'b.csv')."),
        (("a.csv", Path("b.csv"), "c.csv", "d.csv"), "Give the systems one by one: sy.{}('a.csv', 'b.csv', 'c.csv', ...)."),
        (["a.csv"], "Give the systems one by one: sy.{}('a.csv', ...)."),
        ([[1, 0], [0, 1]], "Give the systems one by one: sy.{}(a, b"),
        ([1, 0, 1], "One array is one system; {} needs "),
        (["yes", "no", "yes"], "One array is one system; {} needs "),
        (np.array([1, 0, 1]), "One array is one system; {} needs "),
    ],
)
def test_systems_in_one_list_are_asked_for_one_by_one(given: Any, words: str) -> None:
    for verb in (sy.compare, sy.rank):
        with pytest.raises(sy.UsageError) as caught:
            verb(given)
        assert str(caught.value).startswith(words.format(verb.__name__))
