"""A hint is followed as it is printed, in the command that printed it, until there is an answer: no circle, no option that is not there."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.main import main
from steelyard.questions.compare.compare import compare
from steelyard.questions.record.record import record
from steelyard.questions.suite.check_suite import check_suite

pytestmark = pytest.mark.usefixtures("shared_engine")
HERE = Path(__file__).parent
STEPS = 8
# A log, and what somebody who uses it would have said anyway: hints are about choices, not about what is missing.
LOGS: list[tuple[str, tuple[str, ...]]] = [
    ("lm_eval/api", ()),
    ("lm_eval/dummy", ()),
    ("lm_eval/dummy/first", ()),
    ("inspect", ("--missing", "drop")),
    ("inspect/arith.eval", ()),
    ("inspect/troubled.eval", ("--missing", "drop")),
    ("promptfoo/full.json", ("--missing", "drop")),
    ("promptfoo/two.json", ("--missing", "drop")),
    ("helm", ("--missing", "drop")),
    ("helm/a", ()),
    ("lighteval", ()),
    ("every_eval_ever/arith.json", ()),
    ("deepeval_run/two_metrics.json", ("--missing", "drop")),
    ("mlflow_table/genai.json", ("--missing", "drop")),
    ("openai_evals/fuzzy.jsonl", ("--missing", "drop")),
]


def options_of(hint: str) -> list[str]:
    """The options that a hint begins with, as a shell takes them apart."""
    lexed = shlex.shlex(hint, posix=True, punctuation_chars=";")
    lexed.whitespace_split, lexed.commenters = True, ""
    words, found = list(lexed), []
    while words and words[0].startswith("--"):
        flag = words.pop(0)
        found += [flag] if flag == "--latest" else [flag, words.pop(0)]
    return found


def followed(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The command with the options of all hints."""
    for _ in range(STEPS):
        with pytest.raises(SystemExit) as stop:
            main(words)
        told = capsys.readouterr().err
        if stop.value.code in (0, None):
            return words
        hint = told.partition("Hint: ")[2]
        assert stop.value.code == 3, told
        if hint.startswith("give its path: "):
            words = [words[0], *shlex.split(hint.removeprefix("give its path: ")), *words[2:]]
            continue
        more = options_of(hint)
        assert more, f"a hint without an option: {told}"
        assert not any(words[i : i + 2] == more[:2] for i in range(len(words))), f"a circle: {told}"
        words = words + more
    raise AssertionError(f"no answer after {STEPS} hints: {words}")


@pytest.mark.parametrize(("log", "more"), LOGS)
def test_hints_lead_to_a_measurement_a_reference_and_a_verdict(
    log: str, more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    followed(["measure", str(HERE / log), *more], capsys)
    about = ["--task", "t", "--model", "m", "--directory", str(tmp_path)]
    words = followed(["record", str(HERE / log), *about, *more], capsys)
    checked = followed(["check", str(HERE / log), *about, *more], capsys)
    assert words[2:] == checked[2:]


@pytest.mark.parametrize(
    ("log", "more"), [("lm_eval/api", ()), ("promptfoo/full.json", ("--missing", "drop")), ("lighteval", ()), ("lm_eval/dummy", ())]
)
def test_hints_lead_to_a_comparison_of_two_systems_of_one_log(log: str, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    words = followed(["compare", str(HERE / log), *more], capsys)
    assert words.count("--log-model") == 2


def renamed(value: Any, change: Callable[[str], str]) -> Any:
    """Every provider and every label of a promptfoo file under another name."""
    if isinstance(value, dict):
        return {key: change(each) if key == "label" and isinstance(each, str) else renamed(each, change) for key, each in value.items()}
    return [renamed(each, change) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "change",
    [
        lambda name: f'{name} (it\'s "new"; $HOME & co)',
        lambda name: f"{name} {'of a very long prompt ' * 9}",  # shown cut
        lambda name: "the same for all" if name in ("question", "completion") else name,  # told apart by the id
    ],
)
def test_hints_are_quoted_for_the_shell(change: Callable[[str], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.loads((HERE / "promptfoo" / "full.json").read_text(encoding="utf-8"))
    path = tmp_path / "its a log.json"
    path.write_text(json.dumps(renamed(whole, change)), encoding="utf-8")
    followed(["measure", str(path), "--missing", "drop"], capsys)
    followed(["compare", str(path), "--missing", "drop"], capsys)


def test_a_path_in_a_hint_is_quoted_for_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "it's a place"
    folder.mkdir()
    for name in ("a", "b"):
        shutil.copy(HERE / "inspect" / "arith.eval", folder / f"{name}.eval")
    with pytest.raises(SystemExit):
        main(["measure", str(folder)])
    hint = capsys.readouterr().err.partition("give its path: ")[2]
    assert shlex.split(hint.strip()) == [str(folder / "b.eval")]


# ---- choices in Python, suites and pytest --------------------------------------------------------------------------------


def test_two_prompts_and_two_models_of_one_file_are_two_systems() -> None:
    path = str(HERE / "promptfoo" / "full.json")
    found = compare(path, prompt=["question", "completion"], log_model="model-a", score="right", missing="drop")
    assert (found.baseline.name, found.candidate.name) == ("question", "completion")
    assert (found.baseline.estimate, found.candidate.estimate) == (pytest.approx(11 / 15), 1)
    assert not any("differ in prompt" in said for said in found.warnings)
    found = compare(path, log_model=["model-b", "model-a"], prompt="question", score="right", missing="drop")
    assert (found.baseline.name, found.candidate.name) == ("model-b", "model-a")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (
            {"log_model": ["model-a", "model-b"], "prompt": ["question", "completion"]},
            r"Only one choice may have several values, but got 2 of prompt= and 2 of log_model=\.",
        ),
        ({"log_model": ["model-a", "model-a"], "prompt": "question"}, r"The same name twice in log_model=: 'model-a', 'model-a'\."),
        ({"log_model": ["model-a"], "prompt": "question"}, "two names or more"),
        ({"log_model": ["model-a", "model-c"], "prompt": "question"}, r"No model 'model-c' in .*; it has model-a, model-b\."),
    ],
)
def test_systems_that_cannot_be_told_apart_are_refused(choice: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        compare(str(HERE / "promptfoo" / "full.json"), **choice, score="right", missing="drop")


def test_a_suite_chooses_inside_a_log(tmp_path: Path) -> None:
    log = HERE / "lm_eval" / "dummy"
    record(str(log), task="t", model="m", directory=tmp_path, log_model="first", log_task="pairs_f1", score="mcc")
    suite = tmp_path / "suite.toml"
    choice = 'log_model = "first"\nlog_task = "pairs_f1"\nscore = "mcc"\nfilter = "none"\n'
    suite.write_text(f'[[checks]]\ntask = "t"\nmodel = "m"\nresult = "{log}"\n{choice}', encoding="utf-8")
    verdict = check_suite(suite, directory=tmp_path).verdicts[0]
    assert (verdict.verdict, verdict.metric) == ("pass", "mcc")
    suite.write_text(f'[[checks]]\ntask = "t"\nmodel = "m"\nvalue = 0.5\n{choice}', encoding="utf-8")
    with pytest.raises(ValueError, match="check 1 has score but no result"):
        check_suite(suite, directory=tmp_path)
