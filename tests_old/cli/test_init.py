"""`steelyard init`: what it writes is read back, and what is there is never touched."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from steelyard_old.cli.main import main
from steelyard_old.errors import UsageError
from steelyard_old.questions.references.init import TEMPLATE
from steelyard_old.questions.references.init import init as start
from steelyard_old.reference import config as schema
from steelyard_old.reference.config import find_config


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["init", *words])
    return int(stop.value.code or 0), *capsys.readouterr()


def test_init_writes_a_configuration_that_counts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = asked(capsys)
    assert code == 0
    assert [line.strip() for line in out.splitlines() if line.startswith("  steelyard ")] == [
        "steelyard record RUN.jsonl --task TASK --model MODEL",
        "steelyard check NEW.jsonl --task TASK --model MODEL",
        "steelyard references lint",
    ]
    found = find_config(here)
    assert found.path == here / "steelyard.toml"
    assert found.directory == here / "references"
    assert (here / "references" / "README.md").is_file()
    assert "merge=union" in (here / "references" / ".gitattributes").read_text()


def test_then_the_next_commands_work(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(capsys)
    (here / "run.jsonl").write_text("".join(f'{{"id": {i}, "score": {int(i < 30)}}}\n' for i in range(40)))
    for words in (
        ["record", "run.jsonl", "--task", "t", "--model", "m", "--deterministic", "--reason", "first"],
        ["check", "run.jsonl", "--task", "t", "--model", "m"],
        ["references", "lint"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0, capsys.readouterr().err


def test_every_key_is_explained_and_right_when_uncommented(here: Path) -> None:
    """All the commented settings at once, and all the keys that a configuration can have."""
    text = re.sub(r"(?m)^# (?=\[|\w+ = )", "", TEMPLATE).format(directory='"references"')
    (here / "steelyard.toml").write_text(text)
    found = find_config(here)
    assert found.policy.max_theta == 3.0
    assert found.task("mmlu").chance == 25.0
    for keys in (schema._TOP, schema._POLICY, schema._TASK):
        for key in keys:
            assert re.search(rf"(?m)^# {key} = |^{key} = |\[{key}[\].]", TEMPLATE), key


def test_a_second_configuration_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "steelyard.toml").write_text("ids = 'kept'\n")
    code, out, err = asked(capsys)
    assert (code, out) == (3, "")
    assert "steelyard.toml" in err
    assert (here / "steelyard.toml").read_text() == "ids = 'kept'\n"
    assert not (here / "references").exists()


def test_a_pyproject_with_our_table_is_a_configuration(here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.steelyard]\nids = 'kept'\n")
    with pytest.raises(UsageError, match="pyproject"):
        start()
    assert [path.name for path in here.iterdir()] == ["pyproject.toml"]


def test_a_pyproject_without_it_is_not(here: Path) -> None:
    (here / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert "steelyard.toml" in start().written


def test_what_is_in_the_directory_stays(here: Path) -> None:
    (here / "references").mkdir()
    (here / "references" / "README.md").write_text("mine")
    (here / "references" / "t.yaml").write_text("m:\n  - accuracy: 1\n")
    started = start()
    assert (here / "references" / "README.md").read_text() == "mine"
    assert (here / "references" / "t.yaml").read_text() == "m:\n  - accuracy: 1\n"
    assert set(started.kept) == {"references", "references/README.md"}


def test_a_broken_link_in_place_of_the_configuration_is_left(here: Path) -> None:
    (here / "steelyard.toml").symlink_to(here / "nowhere.toml")
    with pytest.raises(UsageError, match=r"steelyard\.toml"):
        start()
    assert not (here / "nowhere.toml").exists()


@pytest.mark.parametrize("name", ["tests/references", 'with "quotes"', "mit Umlaut ü", "back\\slash", "emoji 🎈"])
def test_any_name_of_a_directory_is_read_back(here: Path, name: str) -> None:
    start(name)
    assert find_config(here).directory == here / name
    assert (here / name).is_dir()


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x1b[31m"])
def test_names_that_cannot_be_printed_are_refused(here: Path, name: str) -> None:
    with pytest.raises(UsageError, match="directory of references"):
        start(name)
    assert not list(here.iterdir())


def test_a_file_in_the_way_is_an_error_and_no_configuration(here: Path) -> None:
    (here / "references").write_text("a file")
    with pytest.raises(UsageError, match="Cannot write in"):
        start()
    assert not (here / "steelyard.toml").exists()


def test_a_configuration_above_is_told(here: Path) -> None:
    start()
    (here / "sub").mkdir()
    started = start(where=here / "sub")
    assert "no longer applies here" in started.warnings[0]
    assert find_config(here / "sub").path == here / "sub" / "steelyard.toml"


def test_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = asked(capsys, "--format", "json", "--directory", "refs")
    said = json.loads(out)
    assert (code, said["kind"], said["schema"]) == (0, "init", 1)
    assert said["written"] == ["refs/README.md", "refs/.gitattributes", "steelyard.toml"]
    assert (here / "refs").is_dir()
