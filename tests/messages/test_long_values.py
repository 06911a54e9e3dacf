"""A message repeats what was given in quotes: not longer than anybody reads, and on one line."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from cases import every
from steelyard import did_you_mean
from steelyard.errors import LONGEST, LONGEST_PATH, SteelyardError, UsageError, in_short
from steelyard.evaluate.asking.plain import words
from steelyard.redaction import remember

ROWS = [{"id": f"q{i}", "score": float(i % 3 > 0)} for i in range(30)]
LONG = 100_000 * "x"


@every("door", ["scale", "metric", "column"])
def test_a_long_value_is_cut(door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if not Path("references").exists():
        sy.record(ROWS, task="t", model="m")
    asked = {
        "scale": lambda: sy.check(ROWS, task="t", model="m", scale=LONG),
        "metric": lambda: sy.measure(ROWS, metric=LONG),
        "column": lambda: sy.measure(ROWS, id=LONG),
    }
    with pytest.raises(UsageError) as fault:
        asked[door]()
    assert f"'{(LONGEST - 3) * 'x'}...'" in str(fault.value)
    assert (LONGEST - 2) * "x" not in str(fault.value)


def test_a_page_in_the_place_of_a_name_is_not_compared_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    letter_by_letter = did_you_mean._slips
    monkeypatch.setattr(did_you_mean, "_slips", lambda one, other: (compared.append(other), letter_by_letter(one, other))[1])
    assert did_you_mean.nearest(LONG, ["accuracy", "f1"]) is did_you_mean.nearest("", ["accuracy", "f1"]) is None
    assert compared == []
    assert did_you_mean.nearest("acuracy", ["accuracy", "f1"]) == "accuracy"
    assert compared == ["accuracy"]


def test_a_line_break_in_a_name_breaks_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sy.record(ROWS, task="t", model="m")
    with pytest.raises(SteelyardError) as fault:
        sy.check(ROWS, task="t", model="a\nb")
    assert "\n" not in str(fault.value)
    assert str(fault.value).count(r"'a\nb'") == 2


def test_a_path_and_a_command_stay_whole() -> None:
    path = "/".join(["folder"] * 30) + "/run.csv"
    assert LONGEST < len(path) < LONGEST_PATH
    assert path in str(UsageError(f"Cannot open '{path}'."))
    model = 90 * "m"
    assert f"--model '{model} 2'" in str(UsageError("No reference.", hint=f"steelyard record RUN --model '{model} 2'"))


@every(
    "sentence",
    [
        f"The run's answers {100 * 'and '}are the model's.",
        f"The models' answers {100 * 'and '}are 'good'.",
        f"'It's {100 * 'x'} that'",
    ],
)
def test_an_apostrophe_is_no_quote(sentence: str) -> None:
    assert str(UsageError(sentence, got="")).startswith(sentence.rstrip("'"))


@every("length", [60, 164, 500])
def test_a_key_is_taken_out_before_a_message_is_cut(length: int) -> None:
    """Half a key is not found any more: OpenAI's project keys have 164 letters."""
    key = f"sk-proj-{length * 'aB3x'}"[:length]
    remember(key)
    for shown in (
        str(UsageError(f"Cannot import 'leaky': incorrect API key: '{key}'.", got=repr(key), hint=f"'{key}'")),
        in_short(key),
        words(RuntimeError(f"401: incorrect API key {key}")),
    ):
        assert key[:20] not in shown
        assert "***" in shown
