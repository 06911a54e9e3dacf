"""An ending in which the answer cannot be written is refused before the work, with what was there left as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answers import Command

RECORD = ("record", "b.jsonl", "--task", "new", "--model", "m")
WORDS = [("measure", "b.jsonl"), ("compare", "a.jsonl", "b.jsonl"), RECORD, ("check", "b.jsonl", "--task", "t", "--model", "m")]


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("name", ["x.pdf", "x.csv", "x.xml", "x.svg"])
def test_nothing_is_recorded(steelyard: Command, name: str) -> None:
    answer = steelyard(*RECORD, "-o", name)
    assert answer.code == 3
    assert f"{name!r} has an ending that asks for" in answer.err
    assert not Path("references/new.yaml").exists()
    assert not Path(name).exists()


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[0])
def test_a_picture_is_of_plans_alone(steelyard: Command, words: tuple[str, ...]) -> None:
    answer = steelyard(*words, "-o", "x.svg")
    assert answer.code == 3
    assert "asks for svg, in which this answer cannot be written" in answer.err


@pytest.mark.usefixtures("runs")
def test_no_model_is_asked(steelyard: Command) -> None:
    Path("endings_model.py").write_text("from pathlib import Path\ndef model(q):\n    Path('was_asked').touch()\n    return '1'\n")
    Path("data.jsonl").write_text("".join(json.dumps({"id": i, "q": str(i), "truth": "1"}) + "\n" for i in range(20)))
    Path("t.toml").write_text('[task]\nname = "t"\ndata = "data.jsonl"\nid = "id"\ninput = "{q}"\ntruth = "truth"\nscorer = "exact"\n')
    words = ("run", "t.toml", "--model", "python:endings_model:model", "--against", "none")
    assert steelyard(*words, "--answer", "x.pdf").code == 3
    assert not Path("was_asked").exists()
    assert steelyard(*words, "--answer", "x.md", "-o", "rows.jsonl").code == 0
    assert Path("was_asked").exists()


@pytest.mark.usefixtures("runs")
def test_no_part_of_a_split_is_written(steelyard: Command) -> None:
    assert steelyard("split", "b.jsonl", "--train", ".8", "--test", ".2", "--answer", "x.svg").code == 3
    assert not Path("train.jsonl").exists()


@pytest.mark.usefixtures("runs")
def test_one_format_for_several_files_is_refused_as_early(steelyard: Command) -> None:
    answer = steelyard(*RECORD, "-o", "x.json", "-o", "x.md", "--format", "json")
    assert answer.code == 3
    assert "does not go with 2 outputs" in answer.err
    assert not Path("references/new.yaml").exists()


@pytest.mark.parametrize(
    ("name", "advised"), [("x.json.gz", "x.txt"), ("x.md.zst", "x.txt"), ("llama-3.1.pdf", "llama-3.1.txt"), ("x.html.json.gz", "x.txt")]
)
def test_the_name_that_is_advised_has_one_ending(steelyard: Command, name: str, advised: str) -> None:
    answer = steelyard("measure", "--counts", "8/10", "-o", name)
    assert answer.code == 3
    assert f"write to {advised}, .json, .md or .html" in answer.err


@pytest.mark.usefixtures("runs")
def test_what_can_be_written_is_written(steelyard: Command) -> None:
    check = ("check", "b.jsonl", "--task", "t", "--model", "m", "--margin", ".5")
    assert steelyard(*check, "-o", "x.xml", "-o", "x.HTM", "-o", "plain").code in (0, 1, 2)
    assert all(Path(name).stat().st_size for name in ("x.xml", "x.HTM", "plain"))
    assert steelyard(*RECORD, "-o", "x.pdf", "--format", "json").code == 0
    assert json.loads(Path("x.pdf").read_text())
    record = ("--format", "every-eval-ever", *(word for each in ("organization=Lab", "model=m") for word in ("--about", each)))
    answer = steelyard("measure", "b.jsonl", *record, "-o", "record.xml")
    assert "NAME.json" in answer.err
