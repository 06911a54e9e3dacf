"""YAML that Python's reader and ours take for the values that were written."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.reference.strict_yaml import parse, plain
from steelyard.render.cards import shown as cards
from steelyard.render.terminal import harmless
from steelyard.yaml_text import item_lines, scalar_text

texts = st.one_of(
    st.text(max_size=12), st.sampled_from(["no", "Yes", "~", "1:30", "0x1F", "1_000", "2026-01-31", "=", "<<", "- a", "a: b", "#"])
)
scalars = st.one_of(texts, st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
keys = st.sampled_from(["type", "name", "args", "value", "list"])
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.dictionaries(keys, inner, min_size=1, max_size=3),
        st.lists(st.dictionaries(keys, inner, min_size=1, max_size=3), min_size=1, max_size=3),
    ),
    max_leaves=12,
)


def shown(value: Any) -> Any:
    """The same values, with texts as a card has them: what a terminal would obey is visible."""
    if isinstance(value, dict):
        return {key: shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shown(each) for each in value]
    return harmless(value) if isinstance(value, str) else value


@given(st.dictionaries(keys, trees, min_size=1, max_size=3))
def test_it_comes_back(value: dict[str, Any]) -> None:
    text = "\n".join(item_lines(cards.shown(value)))
    assert repr(yaml.safe_load(text)) == repr([shown(value)])


@given(scalars)
def test_our_own_reader_agrees(value: Any) -> None:
    text = scalar_text(cards.shown(value))
    assert "\n" not in text
    assert repr(plain(parse(f"a: {text}", "x.yaml"))["a"]) == repr(shown(value))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_number_that_is_none(value: float) -> None:
    with pytest.raises(UsageError, match="finite"):
        scalar_text(cards.shown(value))
