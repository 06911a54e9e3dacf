"""`steelyard split`: the command and Python give one answer; mistakes are exit code 3 and write nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import steelyard_old as sy
from answers import Command
from cases import every


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "data.csv"
    file.write_text("id,topic,q\n" + "".join(f"i{n},{'ab'[n % 2]},question number {n} of them\n" for n in range(40)))
    return file


@every(
    ("words", "options"),
    [
        (["--train", ".8", "--test", ".2"], {"train": 0.8, "test": 0.2}),
        (["--train", ".5", "--part", "a=.25", "--part", "b=.25"], {"train": 0.5, "parts": {"a": 0.25, "b": 0.25}}),
        (
            ["--train", ".8", "--test", ".2", "--stratify", "topic", "--seed", "7"],
            {"train": 0.8, "test": 0.2, "stratify": "topic", "seed": 7},
        ),
        (["--dev", ".5", "--test", ".5", "--group", "topic"], {"dev": 0.5, "test": 0.5, "group": "topic"}),
        (["--dev", ".5", "--test", ".5", "--id", "none"], {"dev": 0.5, "test": 0.5, "id": "none"}),
    ],
)
def test_the_command_and_python_are_equal(words: list[str], options: dict[str, object], data: Path, steelyard: Command) -> None:
    told = steelyard("split", "data.csv", *words, "--dry-run", "--format", "json")
    assert told.code == 0
    assert json.loads(told.out) == sy.split("data.csv", **options, dry_run=True).to_dict()  # type: ignore[arg-type]
    assert os.listdir() == ["data.csv"]


def test_parts_are_written_and_then_refused(data: Path, steelyard: Command) -> None:
    first = steelyard("split", "data.csv", "--train", ".8", "--test", ".2", "-o", "parts")
    assert first.code == 0
    assert sorted(os.listdir("parts")) == ["test.csv", "train.csv"]
    again = steelyard("split", "data.csv", "--train", ".8", "--test", ".2", "-o", "parts")
    assert again.code == 3
    assert "--update" in again.err
    assert steelyard("split", "data.csv", "--train", ".8", "--test", ".2", "-o", "parts", "--update").code == 0
    checked = steelyard("split", "--check", "parts/train.csv", "parts/test.csv", "--text", "q", "--threshold", "1", "--format", "json")
    assert checked.code == 0
    assert json.loads(checked.out) == sy.check_split("parts/train.csv", "parts/test.csv", text="q", threshold=1).to_dict()


def test_a_shared_item_is_exit_code_1_in_every_format(data: Path, tmp_path: Path, steelyard: Command) -> None:
    Path("other.csv").write_text("id,topic,q\nx,a,QUESTION number 3 of them!\n")
    places = [tmp_path / f"answer.{ending}" for ending in ("txt", "json", "md", "html")]
    told = steelyard(
        "split", "--check", "data.csv", "other.csv", "--text", "q", *(word for place in places for word in ("--answer", str(place)))
    )
    assert told.code == 1
    assert all("question" in place.read_text() for place in places)  # a long path leaves a terminal little room for texts
    assert steelyard("split", "--check", "data.csv", "other.csv", "--text", "q").out.startswith("SHARED ITEMS")


@every(
    "words",
    [
        ["split"],
        ["split", "data.csv"],
        ["split", "data.csv", "--train", ".8"],
        ["split", "data.csv", "--train", "80", "--test", "20"],
        ["split", "data.csv", "--part", "../x=.5", "--train", ".5"],
        ["split", "data.csv", "--part", "x=half", "--train", ".5"],
        ["split", "data.csv", "--part", "x", "--train", ".5"],
        ["split", "data.csv", "--part", "x=", "--train", ".5"],
        ["split", "data.csv", "--train", ".5", "--test", ".5", "-o", "answer.json"],
        ["split", "data.csv", "--train", ".5", "--test", ".5", "--answer", "train.csv"],
        ["split", "data.csv", "--train", ".5", "--part", "x=.5", "--answer", "x.csv", "-o", "."],
        ["split", "data.csv", "data.csv", "--train", ".5", "--test", ".5"],
        ["split", "data.csv", "--train", ".5", "--test", ".5", "--threshold", ".7"],
        ["split", "--check", "data.csv"],
        ["split", "--check", "data.csv", "data.csv", "--train", ".8"],
        ["split", "--check", "data.csv", "data.csv", "-o", "x"],
        ["split", "--check", "data.csv", "none.csv"],
        ["split", "--check", "data.csv", "data.csv", "--answer", "data.csv"],
        ["split", "data.csv", "--train", ".5", "--test", ".5", "--answer", "data.csv"],
        ["split", "data.csv", "--train", ".5", "--test", ".5", "--group", "topic", "--stratify", "topic"],
    ],
)
def test_mistakes_are_exit_code_3_and_write_nothing(words: list[str], data: Path, steelyard: Command) -> None:
    before = data.read_bytes()
    told = steelyard(*words)
    assert told.code == 3
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert os.listdir() == ["data.csv"]
    assert data.read_bytes() == before


def test_an_answer_may_be_called_as_a_part_where_it_is_not_written_over_it(data: Path, steelyard: Command) -> None:
    words = ["split", "data.csv", "--train", ".5", "--test", ".5"]
    assert steelyard(*words, "--dry-run", "--answer", "train.txt").code == 0
    assert steelyard(*words, "-o", "parts", "--answer", "train.json").code == 0
    assert sorted(os.listdir()) == ["data.csv", "parts", "train.json", "train.txt"]
    again = steelyard(*words, "-o", "parts", "--update", "--answer", "./parts/../parts/test.csv", "--format", "json")
    assert again.code == 3
    assert "a part and --answer would both write" in again.err


def test_a_part_without_a_share_is_answered_with_a_part_as_an_example(data: Path, steelyard: Command) -> None:
    told = steelyard("split", "data.csv", "--part", "calibration", "--train", "1")
    assert told.code == 3
    assert "--part calibration=.1" in told.err
    assert "quant_algo" not in told.err
