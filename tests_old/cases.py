"""Many cheap cases in one test: a parameter costs pytest and its workers more than most cases cost to try."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

Test = Callable[..., None]
Ids = Iterable[Any] | Callable[[Any], Any] | None


def every(
    names: str | Sequence[str], cases: Iterable[Any], ids: Iterable[Any] | Callable[[Any], Any] | None = None
) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, as one test: the first case that fails is named in a note below its error.

    The cases share the fixtures of the test, so they are for tests that leave nothing behind that the next case would meet.
    """
    words = [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)
    given = list(cases)
    values = [_values(case, len(words)) for case in given]
    labels = [getattr(case, "id", None) if isinstance(case, ParameterSet) else None for case in given]
    if ids is not None and not callable(ids):
        labels = list(ids)
    assert len(labels) == len(values) > 0

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def all_cases(**fixtures: Any) -> None:
            for value, label in zip(values, labels, strict=True):
                try:
                    test(**fixtures, **dict(zip(words, value, strict=True)))
                except BaseException as fault:
                    fault.add_note(f"the case is {label if label is not None else dict(zip(words, value, strict=True))!r}"[:2000])
                    raise

        taken = inspect.signature(test)
        missing = set(words) - set(taken.parameters)
        assert not missing, f"{test.__name__} has no {missing}"
        left = [each for name, each in taken.parameters.items() if name not in words]
        all_cases.__signature__ = taken.replace(parameters=left)  # type: ignore[attr-defined]
        return all_cases

    return decorate


def seldom(*cases: Any, ids: Sequence[str] | None = None) -> list[ParameterSet]:
    """Variants for `pytest.mark.parametrize` whose siblings always run: these run with the long ones (`-m long`)."""
    names = ids or [None] * len(cases)
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long, id=name)
        for case, name in zip(cases, names, strict=True)
    ]


def _values(case: Any, n: int) -> Sequence[Any]:
    if isinstance(case, ParameterSet):
        assert not case.marks, "a case with a mark is a test of its own"
        return case.values
    return (case,) if n == 1 else tuple(case)
