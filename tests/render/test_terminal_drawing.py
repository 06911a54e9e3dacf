"""The drawing: on its axis, of its width, arrows where there is no end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.render.terminal import ASCII, Axis, axis_key, axis_of, draw
from steelyard.results.measurement import Interval, Row


def row(estimate: float | None, low: float | None, high: float | None, side: str = "two", metric: str = "accuracy") -> Row:
    interval = Interval(low=low, high=high, confidence_level=0.95, side=side, method="t")  # type: ignore[arg-type]
    return Row(metric=metric, estimate=estimate, n=10, interval=interval)


UNIT = Axis(0.0, 1.0, 1)


@every(
    ("of", "drawn"),
    [
        (row(0.5, 0.2, 0.9), "  |--o---| "),
        (row(0.5, 0.5, 0.5), "     o     "),
        (row(0.2, 0.2, 0.9), "  o------| "),
        (row(None, 0.2, 0.9), "  |------| "),
        (row(0.5, 0.2, 1.0, "lower"), "  |--o---->"),
        (row(1.0, 0.2, 1.0, "lower"), "  |------o>"),
        (row(0.5, None, 0.9, "upper"), "<----o---| "),
        (row(0.0, None, 0.9, "upper"), "<o-------| "),
        (Row(metric="accuracy", estimate=0.3, n=1, interval=None), "   o       "),
        (Row(metric="accuracy", estimate=None, n=1, interval=None), " " * 11),
    ],
)
def test_draw(of: Row, drawn: str) -> None:
    assert draw(of, UNIT, 11, ASCII) == drawn


def test_the_axis_ends_on_round_numbers_and_is_zoomed() -> None:
    axis = axis_of([row(0.853, 0.832, 0.871), row(0.81, 0.797, 0.84)])
    assert axis is not None
    assert axis.header(24) == "0.79                0.88"


def test_the_open_end_does_not_widen_the_axis() -> None:
    axis = axis_of([row(0.85, 0.80, 1.0, "lower")])
    assert axis is not None
    assert axis.high < 0.9


def test_a_single_point_has_room_around_it() -> None:
    axis = axis_of([row(1.0, 1.0, 1.0)])
    assert axis is not None
    assert axis.low < 1.0 == pytest.approx(axis.high)


def test_metrics_of_one_kind_share_an_axis() -> None:
    def key(metric: str, up: bool = True) -> str:
        return axis_key(Row(metric=metric, estimate=0.5, n=1, interval=None, higher_is_better=up))

    assert len({key(m) for m in ("accuracy", "macro_f1", "fbeta:2", "weighted_fbeta:0.5", "pass@5", "balanced_accuracy")}) == 1
    assert len({key("accuracy"), key("brier", False), key("mean"), key("log_loss", False)}) == 4


anything = st.none() | st.floats(allow_nan=False)


@given(anything, anything, anything, st.sampled_from(["two", "lower", "upper"]), st.integers(0, 30))
def test_any_row_draws_in_its_width(estimate: float | None, low: float | None, high: float | None, side: str, width: int) -> None:
    if low is not None and high is not None and low > high:
        low, high = high, low
    some = row(estimate, low, high, side)
    axis = axis_of([some])
    assert len(draw(some, axis, width)) == width
    assert axis is None or len(axis.header(width)) in (0, width)
