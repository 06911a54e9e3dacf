"""Prompts from rows: strict, and never evaluated."""

from __future__ import annotations

import datetime
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.evaluate.task.cases import check_columns, is_missing, template_of, value_text


@given(st.text(), st.text())
def test_values_are_put_in_as_they_are(question: str, answer: str) -> None:
    """Braces in a value are text: nothing is rendered twice."""
    assert template_of("<{q}|{a}|{q}>", "input").render({"q": question, "a": answer}) == f"<{question}|{answer}|{question}>"


@given(st.text(min_size=1).filter(str.strip))
def test_a_text_with_its_braces_doubled_is_itself(text: str) -> None:
    assert template_of(text.replace("{", "{{").replace("}", "}}"), "input").render({}) == text


@every(
    ("text", "want"), [("{{{a}}}", "{1}"), ("{{}}", "{}"), ("{a}{a}", "11"), ('{{"x": {a}}}', '{"x": 1}'), ("{a b}", "2"), ("{d.e}", "3")]
)
def test_braces(text: str, want: str) -> None:
    assert template_of(text, "input").render({"a": 1, "a b": 2, "d.e": 3}) == want


@every("text", ["{a!r}", "{a:>9}", "{a[0]}", "{ a }", "{}", "{ }", "{a", "a}", "{a}}", "{{a}", "", "  ", None, 3])
def test_what_is_no_template(text: object) -> None:
    with pytest.raises(UsageError, match="input"):
        template_of(text, "input")


def test_attributes_are_not_reached() -> None:
    class Secret:
        key = "hunter2"

    template = template_of("{a.key} {a.__class__}", "input")
    assert template.columns == ("a.key", "a.__class__")
    with pytest.raises(UsageError, match="a column is meant, not a way into one"):
        check_columns(["zz.key"], ["a"], "input")
    with pytest.raises(KeyError):
        template.render({"a": Secret()})
    with pytest.raises(DataError, match="a Secret"):
        template_of("{a}", "input").render({"a": Secret()})


def test_a_lone_brace_is_shown_where_it_is() -> None:
    with pytest.raises(UsageError, match=r"at character 11, in .*write it twice: \{\{"):
        template_of('Answer as {"name": ...', "input")


def test_the_nearest_column_is_named() -> None:
    with pytest.raises(UsageError, match=r"No column 'qestion' for input; the columns are 'id', 'question'\..*Did you mean 'question'"):
        check_columns(["qestion"], ["id", "question"], "input")


@every(
    ("value", "want"),
    [
        (3, "3"), (3.0, "3"), (-0.5, "-0.5"), (1e300, "1e+300"), (0.1, "0.1"), (True, "true"), (False, "false"), ("", ""),
        (np.float64(2.5), "2.5"), (np.int64(7), "7"), (np.bool_(True), "true"), (np.array([1, 2]), "[1, 2]"), (np.str_("x"), "x"),
        (Decimal("1.50"), "1.50"), (datetime.date(2024, 2, 1), "2024-02-01"), (datetime.datetime(2024, 2, 1, 3), "2024-02-01T03:00:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"), ({"a": [None, "é"]}, '{"a": [null, "é"]}'), ([Decimal("1.5")], '["1.5"]'),
    ],
)  # fmt: skip
def test_values_as_text(value: object, want: str) -> None:
    assert value_text(value, "x") == want


@every("value", [b"x", object(), float("inf"), float("nan"), None, [float("nan")], Decimal("NaN"), {"a": object()}])
def test_values_without_a_text(value: object) -> None:
    with pytest.raises(DataError, match="'x' cannot be written into a text"):
        value_text(value, "x")


def test_missing() -> None:
    import pandas as pd

    assert all(map(is_missing, (None, float("nan"), np.float64("nan"), pd.NA, pd.NaT)))
    assert not any(map(is_missing, ("", 0, False, [], "nan")))
