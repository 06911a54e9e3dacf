"""Shell completion by click's protocol, in process: what the script prints, and what a shell is told when it asks."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from steelyard.cli.completion import SHELLS, VARIABLE
from steelyard.cli.main import COMMANDS, main
from steelyard.estimate.difference_tests import TESTS
from steelyard.estimate.named_intervals import intervals, intervals_of_differences
from steelyard.metrics.catalogue import parse


@pytest.fixture
def completed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """The completions of the last word of a line: (type, value) each, as bash is told."""

    def ask(line: str) -> list[tuple[str, str]]:
        monkeypatch.setenv(VARIABLE, "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        with pytest.raises(SystemExit) as stop:
            main([])
        assert stop.value.code == 0
        out, err = capsys.readouterr()
        assert err == ""
        return [(kind, value) for kind, _, value in (row.partition(",") for row in out.splitlines() if row)]

    return ask


def values(found: list[tuple[str, str]]) -> list[str]:
    assert {kind for kind, _ in found} <= {"plain"}
    return [value for _, value in found]


def test_commands(completed) -> None:
    assert values(completed("steelyard ")) == list(COMMANDS)
    assert values(completed("steelyard me")) == ["measure"]
    assert {"detect", "estimate", "train"} <= set(values(completed("steelyard plan ")))
    assert "lint" in values(completed("steelyard references l"))


def test_options_and_choices(completed) -> None:
    assert {"--metric", "--missing", "--memory", "--model", "--master", "--model-column"} == set(values(completed("steelyard measure --m")))
    assert values(completed("steelyard measure --side ")) == ["two", "lower", "upper"]
    assert "html" in values(completed("steelyard check --format "))
    assert values(completed("steelyard completion ")) == list(SHELLS)


def test_every_metric_that_is_offered_can_be_asked_for(completed) -> None:
    offered = values(completed("steelyard measure --metric "))
    assert {"accuracy", "f1", "macro_f1", "each_recall", "mcc", "auc", "fbeta:2", "pass@5"} <= set(offered)
    assert len(set(offered)) == len(offered)
    for name in offered:
        assert parse(name).name == name
    assert values(completed("steelyard compare --metric weighted_f")) == ["weighted_f1", "weighted_fbeta:2"]


def test_names_joined_by_commas(completed) -> None:
    assert values(completed("steelyard measure --metric accuracy,mc")) == ["accuracy,mcc"]


def test_a_plan_offers_only_the_metrics_it_can_plan_for(completed) -> None:
    assert set(values(completed("steelyard plan estimate --metric "))) == {
        "accuracy",
        "error",
        "precision",
        "recall",
        "specificity",
        "f1",
    }


def test_intervals_and_tests(completed) -> None:
    assert values(completed("steelyard measure --interval ")) == list(intervals())
    assert set(values(completed("steelyard compare --interval "))) == {
        name for names in intervals_of_differences().values() for name in names
    }
    assert values(completed("steelyard compare --test ")) == list(TESTS)
    assert values(completed("steelyard compare --test mcnemar-")) == ["mcnemar-midp", "mcnemar-exact"]


@pytest.mark.parametrize(
    "line",
    [
        "steelyard measure pre",
        "steelyard compare old.csv ne",
        "steelyard record ru",
        "steelyard check ru",
        "steelyard run gsm",
        "steelyard learners a b --data tab",
        "steelyard plan train cur",
        "steelyard measure preds.csv -o out",
        "steelyard report res",
    ],
)
def test_files_are_left_to_the_shell(completed, line: str) -> None:
    assert completed(line) == [("file", line.rpartition(" ")[2])]


@pytest.mark.parametrize("line", ["steelyard measure --positive ", "steelyard check --task ", "steelyard run --base-url "])
def test_what_is_not_known_is_not_guessed(completed, line: str) -> None:
    assert completed(line) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["completion", shell])
    assert stop.value.code == 0
    script = capsys.readouterr().out
    assert f"{VARIABLE}={shell}_complete" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True, timeout=60)


def test_another_shell_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["completion", "csh"])
    assert stop.value.code == 3
    assert "bash" in capsys.readouterr().err
