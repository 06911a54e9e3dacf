"""One YAML scalar writer: what PyYAML reads is what was meant, keys and values, and our own reader agrees."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.errors import UsageError
from steelyard.reference.strict_yaml import NULLS, parse, plain
from steelyard.yaml_text import UNPRINTABLE, key_text, scalar_text

TRAPS = (
    "no", "No", "NO", "on", "off", "yes", "y", "N", "true", "False", "~", "null", "Null", "", " ", "a ", " a", "2026-01-31",
    "2026-1-1", "2026-01-31T10:00:00Z", "2001-12-14t21:59:43.10-05:00", "2026-01-31 10:00:00", "1e3", "1E3", "1.e+3", "0x1f",
    "0X1F", "012", "0o12", "0b101", "1_000", "1_000.5", "12:30:45", "190:20:30.15", "1:30", "=", "<<", ".inf", "-.INF", ".nan",
    "+5", "-5", "5.", ".5", "#", "a #b", "a: b", "a:", ":a", "- a", "-", "?", "? a", "'", '"', "''", "{", "}", "[a]", "a, b",
    "@a", "`a", "%a", "!a", "&a", "*a", "|", ">", "---", "...", "a\nb", "\ta", "a\tb", "a\r\nb", "\u2028", "\ufeff",
    "\U0001f600", "é", "e\u0301", "\xa0", "Llama-3.1-8B", "8B", "0", "-0", "1e", "0x", "9" * 500, "\\", "\\n", "a\\", "no\n",
    "日本", "１２",
)  # fmt: skip
numeric = st.from_regex(r"[-+]?[0-9_.:eExXoObBTtZz -]{1,12}", fullmatch=True)
texts = st.one_of(st.text(max_size=20), st.sampled_from(TRAPS), numeric, st.text(alphabet="yYnNoOeEsSfFtTrRuUaAlL~", max_size=5))


@given(texts, st.one_of(texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()))
@example("no", 1e-05)
@example("=", 1e16)
def test_any_key_and_value_is_read_as_it_was_meant(key: str, value: Any) -> None:
    said = [text for text in (key, value) if isinstance(text, str)]
    if any(UNPRINTABLE.search(text) for text in said):
        with pytest.raises(UsageError, match="control character"):
            f"{key_text(key)}{scalar_text(value)}"
        return
    line = f"{key_text(key)}: {scalar_text(value)}"
    assert "\n" not in line
    for found in (yaml.safe_load(line), yaml.safe_load(f"a:\n  - {line}\n")["a"][0], plain(parse(line, "t.yaml"))):
        assert list(found) == [key]
        assert type(found[key]) is type(value)
        assert found[key] == value


@pytest.mark.parametrize("text", [text for text in TRAPS if text and "\n" not in text][::4])
def test_a_recorded_model_has_its_name_for_every_reader(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(i), "score": i % 2} for i in range(6)]
    sy.record(rows, task="t", model=text, spec={"extra_acc_spec": text}, reason=(text.strip() and text) or "blank")
    found = yaml.safe_load(Path("references/t.yaml").read_text("utf-8"))
    assert list(found) == [text]
    (entry,) = found[text]
    assert entry.get("extra_acc_spec") == (None if text in NULLS else text)  # null and ~ say that there is none
    assert all(isinstance(entry[name], str) for name in ("recorded", "by", "tool", "reason", "items", "items_hash") if name in entry)
    assert sy.check(rows, task="t", model=text, spec={"extra_acc_spec": text}).reference["value"] == 0.5
    assert json.loads(Path("references/t.history.jsonl").read_text("utf-8"))["model"] == text
    assert os.listdir() == ["references"]
