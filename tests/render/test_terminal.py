"""Columns by display width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.render.terminal import display_width, left, on_point, shorten, wrap


def test_decimal_points_stand_in_one_column() -> None:
    assert on_point(["0.853", "12.3", "undefined", "-1.25"]) == [" 0.853".rjust(9), "12.3  ".rjust(9), "undefined", "-1.25 ".rjust(9)]
    intervals = on_point(["[0.8, 0.9]", "[10.25, 11.00]", "-", "[-inf, 2.0]"], left)
    assert [text.rstrip() for text in intervals] == [" [0.8, 0.9]", "[10.25, 11.00]", "-", "[-inf, 2.0]"]


def test_wide_and_combining() -> None:
    assert display_width("猫e\u0301") == 3


def test_the_middle_goes() -> None:
    assert shorten("a very long label of a class", 11) == "a ver…class"
    assert shorten("猫猫猫猫猫", 6) == "猫…猫"
    assert shorten("short", 5) == "short"
    assert shorten("abcdefghij", 7, "...") == "ab...ij"


def test_wrap_breaks_no_word() -> None:
    assert wrap("see /a/very/long/path now", 10, "  ") == ["see", "  /a/very/long/path", "  now"]


@given(st.text(), st.integers(1, 20))
def test_shorten_keeps_within(text: str, width: int) -> None:
    assert display_width(shorten(text, width)) <= width


@given(st.lists(st.text("0123456789.-[inf, undefined]", max_size=12)))
def test_one_width(texts: list[str]) -> None:
    assert len({display_width(t) for t in on_point(texts)}) <= 1
