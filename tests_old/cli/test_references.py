"""`steelyard references` as its users meet it: answers, keys, files, exit codes, help, and names that try to do harm."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from answers import Command

REAL = Path(__file__).parents[1] / "reference" / "trtllm"
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
SUBCOMMANDS = ("list", "show", "lint", "import", "history", "remove", "rename", "approve")
EVIL = "evil\u202e|<b>@all `x`"
WORSE = EVIL + "\x1b[31m"  # no name at all: the file cannot be read


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("mmlu", "gpqa_diamond"):
        (tmp_path / "references").mkdir(exist_ok=True)
        shutil.copy(REAL / f"{name}.yaml", tmp_path / "references")
    (tmp_path / "steelyard.toml").write_text('[tasks.mmlu]\nsigma = 50\nnum_samples = 4096\nscale = "percent"\n')
    return tmp_path


def test_help_has_examples(steelyard: Command) -> None:
    top = steelyard("references", "--help")
    assert top.code == 0
    for name in SUBCOMMANDS:
        assert f"  {name} " in top.out
        page = steelyard("references", name, "--help")
        assert page.code == 0
        assert f"steelyard references {name}" in page.out.split("Examples:")[1]
        assert "--directory" in page.out
        assert "--format" in page.out


@pytest.mark.usefixtures("here")
def test_list_in_three_formats(steelyard: Command) -> None:
    answer = steelyard("references", "list", "mmlu", "--format", "json").json
    assert (answer["kind"], answer["schema"], answer["warnings"]) == ("references", 1, [])
    row = next(row for row in answer["rows"] if row["model"] == LLAMA and row["spec"] == {})
    assert row["value"] == 68.17
    assert row["threshold"] == pytest.approx(66.352676, abs=1e-6)  # the original's table: 66.353
    text = steelyard("references", "list", "mmlu").out
    assert "66.3527" in text
    assert "158 entries" in text
    assert "| model |" in steelyard("references", "list", "--format", "markdown").out


@pytest.mark.usefixtures("here")
def test_show_and_explain(steelyard: Command) -> None:
    answer = steelyard(
        "references", "show", "mmlu", LLAMA, "--spec", "quant_algo=FP8", "--spec", "kv_cache_quant_algo=FP8", "--format", "json"
    )
    assert answer.json["kind"] == "reference"
    assert answer.json["entry"]["accuracy"] == 67.87
    assert answer.json["gate"]["threshold"] == pytest.approx(66.0527, abs=1e-4)  # the original's table
    text = steelyard("references", "show", "mmlu", LLAMA, "--explain").out
    assert "matches" in text
    assert "sigma" in text
    assert "task" in text
    missing = steelyard("references", "show", "mmlu", LLAMA, "--spec", "quant_algo=FP3")
    assert missing.code == 3
    assert "nearest" in missing.err
    assert steelyard("references", "show", "mmlu", LLAMA, "--spec", "quant_algo=FP3", "--explain").code == 0


@pytest.mark.usefixtures("here")
def test_lint_exits_1_on_errors_alone(steelyard: Command, here: Path) -> None:
    answer = steelyard("references", "lint", "gpqa_diamond")
    assert answer.code == 0
    assert "references/gpqa_diamond.yaml:11: warning:" in answer.out
    assert steelyard("references", "lint", "gpqa_diamond", "--strict").code == 1
    (here / "references" / "zero.yaml").write_text("m:\n  - accuracy: 0\n")
    found = steelyard("references", "lint", "--format", "json")
    assert found.code == 1
    assert found.json["counts"]["error"] == 1
    (zero,) = [finding for finding in found.json["findings"] if finding["level"] == "error"]
    assert (zero["code"], zero["file"], zero["line"]) == ("placeholder", "references/zero.yaml", 2)
    assert steelyard("references", "lint", "nope").code == 3


def test_import_then_history_then_remove(steelyard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = steelyard("references", "import", "--dialect", "trtllm", REAL / "longbench_v2.yaml", "--reason", "a start", "--format", "json")
    assert done.code == 0
    assert done.json["rows"][0]["added"] == 3
    story = steelyard("references", "history", "longbench_v2", LLAMA, "--format", "json").json
    assert story["kind"] == "reference_history"
    assert [change["reason"] for change in story["series"][0]["changes"]] == ["a start"]
    assert steelyard("references", "remove", "longbench_v2", LLAMA).code == 3  # no reason
    gone = steelyard("references", "remove", "longbench_v2", LLAMA, "--reason", "retired")
    assert gone.code == 0
    assert "removed" in gone.out
    again = steelyard("references", "remove", "longbench_v2", LLAMA, "--reason", "retired")
    assert again.code == 3
    assert "references list longbench_v2" in again.err
    assert "remove" in steelyard("references", "history", "longbench_v2", LLAMA).out


@pytest.mark.usefixtures("here")
def test_import_over_other_numbers_is_refused(steelyard: Command, here: Path) -> None:
    (here / "mmlu.yaml").write_text(f"{LLAMA}:\n  - accuracy: 1.5\n")
    before = (here / "references" / "mmlu.yaml").read_bytes()
    refused = steelyard("references", "import", "--dialect", "trtllm", here / "mmlu.yaml")
    assert refused.code == 3
    assert "--update" in refused.err
    assert (here / "references" / "mmlu.yaml").read_bytes() == before
    assert steelyard("references", "import", "--dialect", "trtllm", here / "mmlu.yaml", "--update").code == 0
    assert steelyard("references", "import", here / "mmlu.yaml").code == 3  # no dialect


@pytest.mark.usefixtures("here")
def test_rename_and_approve(steelyard: Command) -> None:
    assert steelyard("references", "rename", "mmlu", LLAMA, "llama", "--reason", "shorter").code == 0
    answer = steelyard("references", "approve", "mmlu", "llama", "--reason", "checked", "--format", "json")
    assert answer.json["rows"][0]["approved"]
    assert steelyard("references", "show", "mmlu", "llama", "--format", "json").json["entry"]["approved"]
    assert steelyard("references", "rename", "mmlu", LLAMA, "x", "--reason", "again").code == 3


@pytest.mark.parametrize("task", ["../mmlu", "/etc/passwd", "a/b", "..", ""])
@pytest.mark.parametrize("words", [("list",), ("show", "m"), ("lint",), ("history",), ("remove", "m", "--reason", "r")], ids=lambda w: w[0])
@pytest.mark.usefixtures("here")
def test_names_cannot_leave_the_directory(steelyard: Command, task: str, words: tuple[str, ...]) -> None:
    answer = steelyard("references", words[0], task, *words[1:])
    assert answer.code == 3
    assert "name of the task" in answer.err


@pytest.mark.usefixtures("here")
def test_a_link_out_of_the_directory_is_refused(steelyard: Command, here: Path) -> None:
    (here / "secret.yaml").write_text("m:\n  - accuracy: 50\n")
    (here / "references" / "link.yaml").symlink_to(here / "secret.yaml")
    assert steelyard("references", "list", "link").code == 3
    found = steelyard("references", "lint", "--format", "json")
    assert [finding["code"] for finding in found.json["findings"] if "link" in finding["file"]] == ["unreadable"]


@pytest.mark.parametrize("words", [("list",), ("lint",), ("show", "t", EVIL), ("history", "t"), ("approve", "t", EVIL, "--reason", EVIL)])
@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
@pytest.mark.parametrize("name", [EVIL, WORSE], ids=["evil", "worse"])
def test_nothing_of_a_user_is_obeyed(
    steelyard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], format_: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "references").mkdir()
    entry = f"  - accuracy: 0.5\n    by: {json.dumps(name)}\n    reason: {json.dumps(name)}\n    runs: 1\n"
    (tmp_path / "references" / "t.yaml").write_text(f"{json.dumps(name)}:\n{entry}")
    answer = steelyard("references", *(name if word == EVIL else word for word in words), "--format", format_)
    refused = {"list": 0, "lint": 1}.get(words[0], 3)  # the list goes on with a warning, lint has an error
    assert answer.code == (0 if name == EVIL else refused)
    assert "evil" in answer.out + answer.err or name == WORSE
    said = answer.out + answer.err
    assert not {"\x1b", "\u202e"} & set(said)
    if format_ == "markdown" and answer.code == 0:
        *page, signature = answer.out.rstrip().splitlines()
        assert signature[0] == signature[-1] == "`"  # code: shown as it is
        assert not [line for line in page if "<b>" in line or "@all" in line]


@pytest.mark.usefixtures("here")
def test_o_writes_the_answer_to_a_file(steelyard: Command, here: Path) -> None:
    answer = steelyard("references", "list", "-o", here / "list.md", "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert (here / "list.md").read_text().startswith("## References")


@pytest.mark.usefixtures("here")
def test_an_explicit_config_counts(steelyard: Command, here: Path) -> None:
    (here / "other.toml").write_text('directory = "elsewhere"\n')
    assert steelyard("references", "list", "--config", here / "other.toml", "--format", "json").json["rows"] == []
    assert steelyard("references", "list", "--config", here / "missing.toml").code == 3
