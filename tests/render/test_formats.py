"""JSON: everything, in order, valid whatever the labels are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.render.formats import _indented, result_json, result_svg
from steelyard.results.measurement import Interval, MeasuredSlice, Measurement, Row
from steelyard.tally.counts import Counts


def measurement(label: str = "cat", estimate: float | None = 0.85) -> Measurement:
    interval = Interval(low=0.78, high=None, confidence_level=0.95, side="lower", method="wilson")
    rows = (Row(metric="f1", label=label, estimate=estimate, n=100, support=3, interval=interval, details={"groups": 3}),)
    part = MeasuredSlice(by="by", value=label, measurement=Measurement(n=1, rows=(Row(metric="f1", estimate=None, n=1, interval=None),)))
    return Measurement(
        n=100, rows=rows, table=Counts.of(85, 100), slices=(part,), roles={"truth": label}, warnings=(label,), signature="metric:f1"
    )


def test_round_trip() -> None:
    m = measurement()
    assert Measurement.from_dict(json.loads(result_json(m))) == m


def test_keys_keep_their_order_and_warnings_are_there() -> None:
    plain: dict[str, Any] = json.loads(result_json(measurement()))
    assert list(plain) == ["kind", "schema", "name", "n", "metrics", "table", "slices", "roles", "warnings", "hints", "signature"]
    assert plain["warnings"] == ["cat"]


def test_text_stays_readable_and_ends_in_a_newline() -> None:
    shown = result_json(measurement("猫"))
    assert "猫" in shown
    assert shown.endswith("}\n")


def test_nan_is_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        result_json(measurement(estimate=float("nan")))


@given(st.text(alphabet=st.characters()) | st.sampled_from(["\ud800", "a\u202eb", "\x1b[2J\x9b", "\u2028"]))
def test_any_label_survives(label: str) -> None:
    shown = result_json(measurement(label))
    shown.encode()
    assert not any(c in shown for c in "\x1b\x9b\u202e\u2028")
    assert json.loads(shown)["metrics"][0]["label"] == label


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS | st.just(np.float64(0.1)),
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner) | st.dictionaries(st.integers() | st.none(), inner)
    ),
    max_leaves=30,
)


@given(VALUES)
def test_it_is_the_text_of_the_library(value: Any) -> None:
    assert _indented(value, "\n") == json.dumps(value, allow_nan=False, ensure_ascii=False, indent=2)


def test_a_picture_is_of_a_plan() -> None:
    with pytest.raises(UsageError, match=r"^A picture can be written of a Plan, not of a Measurement\."):
        result_svg(measurement())
