"""A comparison and a leaderboard for people: complete, harmless, never more certain than the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import steelyard as sy
from steelyard.render.digits import p_text
from steelyard.render.formats import result_markdown, result_text
from steelyard.render.pages.leaderboard import critical_difference_svg


def frames(many: int = 2) -> list[pd.DataFrame]:
    r = np.random.default_rng(2)
    truth = r.choice(list("ab"), 80)
    base = {"id": range(80), "truth": truth, "k": np.arange(80) % 4}
    return [pd.DataFrame({**base, "prediction": np.where(r.random(80) < 0.6 + 0.1 * i, truth, "a")}) for i in range(many)]


def test_the_sentence_comes_first_and_never_says_no_difference() -> None:
    for c in (sy.compare(*frames()), sy.compare(frames()[0], frames()[0]), sy.compare(*frames(), margin=0.3)):
        text = " ".join(result_text(c).split())
        assert text.startswith(c.conclusion)
        assert "no difference" not in text.lower()
        assert "are equal" not in text.lower()


@pytest.mark.parametrize(("p", "text"), [(None, "undefined"), (1.0, "1"), (1e-9, "1.0e-09"), (0.0312, "0.0312")])
def test_p_values(p: float | None, text: str) -> None:
    assert p_text(p) == text


def test_a_p_value_just_below_1_is_not_printed_as_1() -> None:
    assert float(p_text(0.99996)) != 1


def test_names_and_ids_are_harmless() -> None:
    evil = ["\x1b[31mred", "a|b `x` <i>"]
    a, b = (frame.assign(id=[f"\x1b[2J{i}|<b>" for i in frame.id]) for frame in frames())
    c = sy.compare(a, b, names=evil)
    assert "\x1b" not in result_text(c)
    text = result_markdown(c)
    assert "\x1b" not in text
    assert "<i>" not in text
    assert "<b>" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} <= {4, 6}


def test_slices_are_in_every_format() -> None:
    c = sy.compare(*frames(), by="k")
    assert "k = 3" in result_text(c)
    assert "p corrected" in result_text(c)
    assert "k = 3" in result_markdown(c)


def test_markdown_says_that_lower_is_better() -> None:
    c = sy.compare(*frames(), metric="error")
    assert "lower is better" in result_text(c)
    assert "lower is better" in result_markdown(c)


def board(**options: Any) -> Any:
    return sy.rank(*frames(3), **options)


def test_a_leaderboard_in_every_format() -> None:
    b = board(by="k")
    for text in (result_text(b), result_markdown(b)):
        for row in b.rows:
            assert row["name"] in text
        assert "holm" in text
        assert "Cochran" in text
        assert "Friedman" in text
        assert b.signature in text


def test_the_diagram_escapes_names_and_is_empty_without_ranks() -> None:
    assert critical_difference_svg(board()) == ""
    svg = critical_difference_svg(board(by="k", names=["<script>", "&", '"']))
    assert "<script>" not in svg
    assert "&lt;script&gt;" in svg


def test_ascii_only() -> None:
    assert result_text(board(by="k"), ascii_only=True).isascii()
    assert result_text(sy.compare(*frames()), ascii_only=True).isascii()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit(width: int) -> None:
    c = sy.compare(*frames(), by="k", names=["a" * 70, "b" * 70])
    lines = [line for line in result_text(c, width=width).splitlines() if not line.startswith("metric:")]
    assert max(map(len, lines)) <= max(width, 100)
