"""A system that is None was forgotten by somebody: it is refused, not left out."""

from __future__ import annotations

from typing import Any

import pytest

import steelyard as sy

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
        ({"names": [1, 2]}, "expected texts"),
        ({"labels": "a,b"}, r"labels must be a list, not 'a,b'. Hint: labels=\['a', 'b'\]"),
        ({"labels": 2}, "labels must be a list"),
        ({"metric": ["accuracy", "macro_f1"]}, "the name of one metric"),
    ],
)
def test_a_text_is_no_list_and_a_list_no_name(options: dict[str, Any], said: str) -> None:
    with pytest.raises(sy.UsageError, match=said):
        sy.compare(A, B, **options)
