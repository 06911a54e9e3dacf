"""`steelyard learners`: learners by name, a table as data, exit codes, the answer alone on standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from steelyard_old.cli import main as program
from steelyard_old.cli.learners import learners, load_learner, read_table
from steelyard_old.errors import SteelyardError
from steelyard_old.options.learners import METHODS

MODELS = """
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

def make_a():
    return GaussianNB()

def make_b():
    return KNeighborsClassifier(3)

ready = GaussianNB(var_smoothing=0.1)
number = 3
ridge = Ridge()
flat = Ridge(alpha=1000)

def broken(needed):
    return None
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    label = np.where(x[:, 0] + rng.normal(size=120) > 0, "up", "down")
    rows = ["id,width,height,label,passage,price"]
    rows += [f"i{i},{a:.4f},{b:.4f},{t},p{i // 4},{a + 3 * b:.3f}" for i, ((a, b), t) in enumerate(zip(x, label, strict=True))]
    (tmp_path / "train.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "my_models_for_tests.py").write_text(MODELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_models_for_tests", raising=False)
    return tmp_path


A, B = "my_models_for_tests:make_a", "my_models_for_tests:make_b"
DATA = ["--data", "train.csv", "--target", "label", "--features", "width,height"]
QUICK = ["--folds", "3", "--repeats", "2"]


def ask(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(learners, list(arguments), catch_exceptions=False, **more)


def answered(*arguments: str) -> dict[str, Any]:
    result = ask(*arguments, "--format", "json")
    assert result.exit_code == 0
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_two_makers(here: Path) -> None:
    c = answered(A, B, *DATA, *QUICK)
    assert (c["kind"], c["n"], c["metric"]) == ("comparison", 120, "accuracy")
    assert (c["baseline"]["name"], c["candidate"]["name"]) == (A, B)
    assert c["details"]["folds"] == 3
    assert c["test"]["name"] == "corrected-repeated-kfold"
    assert c["details"]["tables"]["baseline"]["labels"] == ["down", "up"]


def test_a_class_and_an_instance(here: Path) -> None:
    c = answered("sklearn.naive_bayes:GaussianNB", "my_models_for_tests:ready", *DATA, *QUICK, "--metric", "auc", "--positive", "up")
    assert c["metric"] == "auc"
    assert "positive:up" in c["signature"]


def test_the_same_twice(here: Path) -> None:
    c = answered(A, A, *DATA, *QUICK)
    assert (c["test"]["p_value"], c["baseline"]["name"]) == (1.0, f"baseline {A}")


def test_numbers_and_groups(here: Path) -> None:
    pair = ("my_models_for_tests:ridge", "my_models_for_tests:flat")
    c = answered(
        *pair,
        "--data",
        "train.csv",
        "--target",
        "price",
        "--features",
        "width",
        "--features",
        "height",
        "--metric",
        "mae",
        *QUICK,
        "--group",
        "passage",
    )
    assert c["details"]["groups"] == 30
    assert c["difference"]["estimate"] > 0


def test_other_methods_and_options(here: Path) -> None:
    c = answered(
        A,
        B,
        *DATA,
        "--method",
        "corrected-resampled",
        "--repeats",
        "5",
        "--test-size",
        "0.3",
        "--seed",
        "7",
        "--side",
        "lower",
        "--no-stratify",
    )
    assert c["details"]["test_size"] == 0.3
    assert c["difference"]["interval"]["side"] == "lower"
    assert c["difference"]["interval"]["high"] == 1.0
    assert not c["details"]["stratified"]
    assert "seed:7" in c["signature"]


def test_ids_are_no_features(here: Path) -> None:
    table = (here / "train.csv").read_text(encoding="utf-8").replace("passage", "block")
    (here / "train.csv").write_text(table.replace(",p", ","), encoding="utf-8")
    result = ask(A, B, "--data", "train.csv", "--target", "label", *QUICK, "--format", "json")
    assert "not used as a feature because it looks like an item id: 'id'" in result.stderr
    assert json.loads(result.stdout)["n"] == 120
    assert (
        "not used as a feature" not in ask(A, B, "--data", "train.csv", "--target", "label", *QUICK, "--format", "json", "--quiet").stderr
    )


def test_integer_labels_stay_integers(here: Path) -> None:
    (here / "train.csv").write_text("a,y\n" + "\n".join(f"{i},{i % 2}" for i in range(20)) + "\n", encoding="utf-8")
    x, y, groups, said = read_table("train.csv", "y", [], None, numeric=False)
    assert x.shape == (20, 1)
    assert y.dtype.kind == "i"
    assert (groups, said) == (None, [])


def test_standard_input(here: Path) -> None:
    result = ask(
        A,
        B,
        "--data",
        "-",
        "--target",
        "label",
        "--features",
        "width,height",
        *QUICK,
        "--format",
        "json",
        input=(here / "train.csv").read_text(),
    )
    assert json.loads(result.stdout)["n"] == 120


def test_into_a_file(here: Path) -> None:
    result = ask(A, B, *DATA, *QUICK, "-o", "out.json")
    assert result.stdout == ""
    assert "written to out.json" in result.stderr
    assert json.loads((here / "out.json").read_text(encoding="utf-8"))["kind"] == "comparison"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense", B, *DATA], "as pkg.mod:name"),
        (["no_such_module_here:x", B, *DATA], "Cannot import 'no_such_module_here'"),
        (
            ["my_models_for_tests:make_c", B, *DATA],
            "Module 'my_models_for_tests' has no 'make_c'; it has GaussianNB,",
        ),
        (["my_models_for_tests:number", B, *DATA], "int (expected an estimator, or a callable that makes one)"),
        (["my_models_for_tests:broken", B, *DATA], "called without arguments"),
        ([A, B, "--data", "train.csv", "--target", "labell", *QUICK], "Did you mean 'label'"),
        ([A, B, "--data", "none.csv", "--target", "label"], "none.csv"),
        ([A, B, "--data", "train.csv", "--target", "label"], "--group passage keeps its items together"),
        ([A, B, "--data", "train.csv", "--target", "label", "--group", "none"], "The feature 'passage' in row"),
        (
            [A, B, "--data", "train.csv", "--target", "label", "--features", "width,label"],
            "'label' is the target or the group, so it cannot be in --features.",
        ),
        ([A, B, *DATA, "--method", "5x2cv-t", "--folds", "3"], "5x2cv-t takes --folds 2, so folds cannot be 3"),
        ([A, B, *DATA, "--metric", "f1"], "Which class is f1 about? The labels are 'down', 'up'."),
        ([A, B, *DATA, "--seed", "x"], "seed must be"),
        ([A, "my_models_for_tests:ridge", *DATA, *QUICK], "Too few splits worked: 0, at least 2 are needed; 6 failure(s), the first of"),
        ([A, B, "--target", "label"], "--data"),
        ([A, B, *DATA, "--method", "magic"], "magic"),
    ],
)
def test_mistakes_exit_with_3(
    here: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(program.COMMANDS, "learners", "is one learning algorithm better?")
    with pytest.raises(SystemExit) as stop:
        program.main(["learners", *arguments])
    said = capsys.readouterr()
    assert stop.value.code == 3
    assert words in said.err
    assert said.out == ""


def test_a_module_that_fails_to_import(here: Path) -> None:
    (here / "half_written.py").write_text("1/0", encoding="utf-8")
    with pytest.raises(SteelyardError, match="ZeroDivisionError"):
        load_learner("half_written:x")


def test_help_shows_every_option() -> None:
    shown = ask("--help").stdout
    for option in learners.params:
        for name in option.opts:
            if name.startswith("--"):
                assert name in shown
    assert "Examples:" in shown


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_for_people(here: Path, format_: str) -> None:
    result = ask(A, B, *DATA, *QUICK, "--format", format_)
    assert result.exit_code == 0
    assert "approximate" in result.stdout
    assert "corrected-repeated-kfold" in result.stdout


def test_the_command_offers_every_method() -> None:
    from steelyard_old.questions.learners.design import METHODS as KNOWN

    assert tuple(KNOWN) == METHODS  # written twice, because help must load no NumPy
