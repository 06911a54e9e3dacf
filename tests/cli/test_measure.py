"""The command `steelyard measure` as its users meet it: numbers, keys, files, exit codes, streams, help.

Everything that needs no process of its own calls `main` in this one; where the process is the point (pipes, signals,
`python -m`), a real one is started.
"""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from answers import Answer, Command
from cases import every
from steelyard.cli.main import main
from steelyard.version import __version__


def refused(answer: Answer, *parts: str) -> None:
    """Exit 3, nothing on standard output, one line on standard error that says all of the parts."""
    assert answer.code == 3, answer
    assert answer.out == ""
    assert answer.err.count("\n") == 1, answer.err
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err
    for part in parts:
        assert part in answer.err


PETS = "id,truth,prediction,subject\n" + "".join(
    f"{i},{t},{p},{s}\n"
    for i, (t, p, s) in enumerate(
        [("cat", "cat", "x")] * 14
        + [("cat", "dog", "x")] * 3
        + [("dog", "dog", "y")] * 12
        + [("dog", "cat", "y")] * 2
        + [("owl", "owl", "x")] * 11
        + [("owl", "cat", "y")] * 4
    )
)


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    path = tmp_path / "pets.csv"
    path.write_text(PETS, encoding="utf-8")
    return path


def process(*words: object, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "steelyard", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False, timeout=60, **more)


# ---- what the command prints, number by number -----------------------------------------------------------------------

SHOWN = [
    ("--counts 12/40", 0.3, (0.180748, 0.454300), "wilson"),
    ("--counts 12/40 --interval wald", 0.3, (0.157987, 0.442013), "wald"),
    ("--counts 38/40 --side lower", 0.95, (0.850848, 1.0), "clopper-pearson"),
    ("--tp 31 --fp 5 --fn 2 --metric f1", 0.898551, (0.799384, 0.951662), "wilson"),
    ("--tp 31 --fp 5 --fn 2 --metric f1 --interval bayes --prior .5", 0.898551, (0.795717, 0.950553), "bayes"),
    ("--tp 31 --fp 5 --fn 2 --metric f1 --interval bayes --prior 1", 0.898551, (0.783101, 0.942696), "bayes"),
]


@every(("words", "estimate", "ends", "method"), SHOWN, ids=[case[0] for case in SHOWN])
def test_the_numbers_of_the_issue(steelyard: Command, words: str, estimate: float, ends: tuple[float, float], method: str) -> None:
    answer = steelyard("measure", *words.split(), "--format", "json")
    assert answer.code == 0
    assert answer.err == ""
    assert answer.row["estimate"] == pytest.approx(estimate, abs=5e-7)
    assert answer.ends == pytest.approx(ends, abs=5e-7)
    assert answer.row["interval"]["method"] == method


# ---- the promised keys ----------------------------------------------------------------------------------------


def test_json_has_the_keys_of_the_contract(steelyard: Command, pets: Path) -> None:
    answer = steelyard("measure", pets, "--by", "subject", "--format", "json")
    found = answer.json
    assert {"kind", "schema", "n", "metrics", "table", "slices", "warnings", "signature"} <= set(found)
    assert (found["kind"], found["schema"], found["n"]) == ("measurement", 1, 46)
    for row in found["metrics"]:
        assert {"metric", "average", "label", "estimate", "n", "support", "interval"} <= set(row)
        assert set(row["interval"]) == {"low", "high", "confidence_level", "side", "method"}
        assert (row["interval"]["confidence_level"], row["interval"]["side"]) == (0.95, "two")
    assert [row["metric"] for row in found["metrics"]] == ["accuracy", "macro_f1"] + [
        name for name in ("precision", "recall", "f1") for _ in range(3)
    ]
    macro = found["metrics"][1]
    assert (macro["average"], macro["label"], macro["support"]) == ("macro", None, None)
    recall = next(row for row in found["metrics"] if (row["metric"], row["label"]) == ("recall", "owl"))
    assert (recall["average"], recall["n"], recall["support"]) == (None, 15, 15)
    precision = next(row for row in found["metrics"] if (row["metric"], row["label"]) == ("precision", "cat"))
    assert (precision["n"], precision["support"]) == (20, 17)
    assert [(part["by"], part["value"]) for part in found["slices"]] == [("subject", "x"), ("subject", "y")]
    for part in found["slices"]:
        assert part["measurement"]["kind"] == "measurement"
        assert part["measurement"]["schema"] == 1
    assert isinstance(found["warnings"], list)
    assert found["signature"].endswith(f"|steelyard:{__version__}")
    assert found["roles"] == {"id": "id", "truth": "truth", "prediction": "prediction"}


def test_json_of_counts_has_the_same_keys(steelyard: Command) -> None:
    found = steelyard("measure", "--counts", "12/40", "--format", "json").json
    assert {"kind", "schema", "n", "metrics", "table", "slices", "warnings", "signature"} <= set(found)
    assert found["slices"] == []
    assert found["warnings"] == []


def test_json_can_be_measured_again_from_python(steelyard: Command, pets: Path) -> None:
    import steelyard as sy

    found = steelyard("measure", pets, "--format", "json").json
    assert sy.Measurement.from_dict(found).to_dict() == found


# ---- every option ----------------------------------------------------------------------------------------------------


def test_counts_default_to_accuracy(steelyard: Command) -> None:
    assert steelyard("measure", "--counts", "85/100", "--format", "json").row["metric"] == "accuracy"


def test_cells_default_to_precision_recall_f1(steelyard: Command) -> None:
    def names(*words: str) -> list[str]:
        return [row["metric"] for row in steelyard("measure", *words, "--format", "json").json["metrics"]]

    assert names("--tp", "31", "--fp", "5", "--fn", "2") == ["precision", "recall", "f1"]
    assert names("--tp", "31", "--fp", "5", "--fn", "2", "--tn", "9") == ["accuracy", "precision", "recall", "f1"]


@pytest.mark.parametrize("form", [("--metric", "accuracy,macro_f1"), ("--metric", "accuracy", "--metric", "macro_f1")])
def test_metrics_are_joined_by_commas_or_repeated(steelyard: Command, pets: Path, form: tuple[str, ...]) -> None:
    found = steelyard("measure", pets, *form, "--format", "json").json
    assert [row["metric"] for row in found["metrics"]] == ["accuracy", "macro_f1"]


def test_positive(steelyard: Command, pets: Path) -> None:
    row = steelyard("measure", pets, "--metric", "f1", "--positive", "cat", "--format", "json").row
    assert row["label"] == "cat"
    assert row["estimate"] == pytest.approx(28 / 37)


def test_labels_declare_set_and_order(steelyard: Command, pets: Path) -> None:
    found = steelyard("measure", pets, "--labels", "owl,dog,cat,emu", "--metric", "each_recall", "--format", "json").json
    assert [row["label"] for row in found["metrics"]] == ["owl", "dog", "cat", "emu"]
    assert found["metrics"][-1]["estimate"] is None
    assert "labels:owl,dog,cat,emu" in found["signature"]


def test_by_repeated_and_joined(steelyard: Command, pets: Path) -> None:
    one = steelyard("measure", pets, "--metric", "accuracy", "--by", "subject,truth", "--format", "json").json
    two = steelyard("measure", pets, "--metric", "accuracy", "--by", "subject", "--by", "truth", "--format", "json").json
    assert one == two
    assert [(s["by"], s["value"], s["measurement"]["n"]) for s in one["slices"]] == [
        ("subject", "x", 28), ("subject", "y", 18), ("truth", "cat", 17), ("truth", "dog", 14), ("truth", "owl", 15),
    ]  # fmt: skip


def test_by_finds_a_column_without_regard_to_case(steelyard: Command, pets: Path) -> None:
    """Columns are found by name, case-insensitive; `--truth TRUTH` works, so `--by SUBJECT` must."""
    right = steelyard("measure", pets, "--metric", "accuracy", "--by", "subject", "--format", "json")
    loose = steelyard("measure", pets, "--metric", "accuracy", "--by", "SUBJECT", "--format", "json")
    assert loose.code == 0, loose.err
    assert loose.json == right.json


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("column", ["model", "system"])
def test_by_model_as_the_message_about_several_models_advises(steelyard: Command, tmp_path: Path, column: str, ending: str) -> None:
    path = tmp_path / f"two.{ending}"
    if ending == "csv":
        path.write_text(f"{column},truth,prediction\n" + "a,1,1\nb,1,0\n" * 10)
    else:
        path.write_text(f'{{"{column}":"a","truth":1,"prediction":1}}\n{{"{column}":"b","truth":1,"prediction":0}}\n' * 10)
    refused(steelyard("measure", path), "which cannot be measured as one", "--by model")
    sliced = steelyard("measure", path, "--by", "model", "--metric", "accuracy", "--format", "json")
    assert sliced.code == 0, sliced.err
    assert [(s["value"], s["measurement"]["metrics"][0]["estimate"]) for s in sliced.json["slices"]] == [("a", 1.0), ("b", 0.0)]


ODD = (
    "nr,richtig,gesagt,punkte,chance,passage_no,lauf,gewicht,modell\n"
    + "".join(f"{i},{i % 2},{int(i % 5 > 1)},{int(i % 5 > 1 == i % 2)},{(i * 7 % 11) / 11},{i // 4},0,{1 + i % 2},m\n" for i in range(80))
)  # fmt: skip


def test_columns_by_option(steelyard: Command, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(ODD)
    words = ["--id", "nr", "--truth", "richtig", "--prediction", "gesagt", "--model-column", "modell", "--format", "json"]
    plain = steelyard("measure", path, *words, "--metric", "accuracy")
    assert plain.code == 0, plain.err
    assert plain.json["n"] == 80
    grouped = steelyard("measure", path, *words, "--metric", "accuracy", "--group", "passage_no")
    assert grouped.row["details"]["groups"] == 20
    repeated = steelyard("measure", path, *words, "--metric", "accuracy", "--repeat", "lauf")
    assert repeated.row["estimate"] == plain.row["estimate"]
    weighted = steelyard("measure", path, *words, "--metric", "accuracy", "--weight", "gewicht")
    assert weighted.json["n"] == 120
    scored = steelyard("measure", path, "--id", "nr", "--score", "punkte", "--format", "json")
    assert (scored.row["metric"], scored.json["roles"]["score"]) == ("accuracy", "punkte")
    likely = steelyard("measure", path, "--id", "nr", "--truth", "richtig", "--probability", "chance", "--format", "json")
    assert [row["metric"] for row in likely.json["metrics"]] == ["auc", "brier"]


def test_ratio(steelyard: Command, tmp_path: Path) -> None:
    path = tmp_path / "asr.csv"
    path.write_text("errors,words\n" + "1,10\n3,12\n0,7\n" * 12)
    answer = steelyard("measure", path, "--ratio", "errors/words", "--format", "json")
    assert answer.row["metric"] == "ratio"
    assert answer.row["estimate"] == pytest.approx(4 / 29)
    refused(steelyard("measure", path, "--ratio", "errors"), "--ratio errors/words")


def test_range_draws_seed_level_side(steelyard: Command, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("score\n" + "".join(f"{1 + i % 5}\n" for i in range(60)))
    row = steelyard("measure", path, "--range", 1, 5, "--interval", "betting", "--confidence-level", ".9", "--format", "json").row
    assert (row["interval"]["method"], row["interval"]["confidence_level"]) == ("betting", 0.9)
    drawn = steelyard("measure", path, "--interval", "percentile", "--draws", 500, "--seed", 7, "--side", "upper", "--format", "json")
    assert "draws:500|seed:7" in drawn.json["signature"]
    assert "|side:upper|" in drawn.json["signature"]
    assert drawn.row["interval"]["side"] == "upper"
    assert drawn.row["interval"]["low"] is None  # nothing is known of the range
    again = steelyard("measure", path, "--interval", "percentile", "--draws", 500, "--seed", 7, "--side", "upper", "--format", "json")
    assert again.out == drawn.out
    other = steelyard("measure", path, "--interval", "percentile", "--draws", 500, "--seed", 8, "--side", "upper", "--format", "json")
    assert other.ends != drawn.ends


@pytest.mark.parametrize("word", ["none", "None", "NONE"])
def test_seed_none_draws_one_and_prints_it(steelyard: Command, word: str) -> None:
    words = ["--tp", "31", "--fp", "5", "--fn", "2", "--metric", "fbeta:2", "--format", "json"]
    drawn = steelyard("measure", *words, "--seed", word)
    seed = next(part for part in drawn.json["signature"].split("|") if part.startswith("seed:")).removeprefix("seed:")
    assert steelyard("measure", *words, "--seed", seed).out == drawn.out


def test_absent_and_missing(steelyard: Command, tmp_path: Path) -> None:
    path = tmp_path / "holes.csv"
    path.write_text("truth,prediction\n" + "a,a\nb,a\nb,b\n" * 5 + "a,\n")
    refused(steelyard("measure", path), "1 of 16 items have no prediction, the first in row 16.", "--missing wrong", "--missing drop")
    wrong = steelyard("measure", path, "--missing", "wrong", "--metric", "accuracy", "--format", "json")
    assert (wrong.row["estimate"], wrong.row["n"]) == (10 / 16, 16)
    assert any("count as wrong" in sentence for sentence in wrong.json["warnings"])
    dropped = steelyard("measure", path, "--missing", "drop", "--metric", "accuracy", "--format", "json")
    assert (dropped.row["estimate"], dropped.row["n"]) == (10 / 15, 15)
    assert "|missing:drop|" in dropped.json["signature"]
    words = ["measure", path, "--missing", "drop", "--labels", "a,b,c", "--metric", "macro_f1", "--format", "json"]
    both = (2 * 5 / 15 + 2 * 5 / 15) / 2
    assert steelyard(*words).row["estimate"] is None
    assert steelyard(*words, "--absent", "skip").row["estimate"] == pytest.approx(both)
    assert steelyard(*words, "--absent", "zero").row["estimate"] == pytest.approx(both * 2 / 3)


def test_group_none_is_said(steelyard: Command, tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("truth,prediction,group\n" + "".join(f"1,{i % 3 > 0:d},{i // 5}\n" for i in range(50)))
    ignored = steelyard("measure", path, "--group", "none", "--metric", "accuracy", "--format", "json")
    assert any("groups ignored" in sentence for sentence in ignored.json["warnings"])
    assert "design:items" in ignored.json["signature"]
    assert "design:groups|units:10" in steelyard("measure", path, "--metric", "accuracy", "--format", "json").json["signature"]


# ---- formats and files -----------------------------------------------------------------------------------------------


def test_text_ends_with_the_signature(steelyard: Command, pets: Path) -> None:
    answer = steelyard("measure", pets)
    assert answer.out.rstrip("\n").splitlines()[-1].startswith("metric:accuracy,macro_f1,")
    assert "46 items" in answer.out
    assert answer.err == ""


def test_markdown(steelyard: Command, pets: Path) -> None:
    answer = steelyard("measure", pets, "--by", "subject", "--format", "markdown")
    lines = answer.out.splitlines()
    assert "| metric | estimate | 95% interval | n |" in lines
    assert any(line.startswith("| accuracy | 0.80 |") for line in lines), answer.out
    assert any(line.startswith("| subject |") for line in lines)
    assert lines[-1].startswith("`metric:")


@pytest.mark.parametrize(("ending", "start"), [("json", "{"), ("md", "46 items"), ("txt", "46 items"), ("JSON", "{")])
def test_the_ending_of_the_file_chooses_the_format(steelyard: Command, pets: Path, tmp_path: Path, ending: str, start: str) -> None:
    target = tmp_path / f"out.{ending}"
    answer = steelyard("measure", pets, "-o", target)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == f"written to {target}\n"
    assert start in target.read_text().splitlines()[0]
    assert ("| metric |" in target.read_text()) == (ending == "md")


def test_format_wins_over_the_ending(steelyard: Command, pets: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    steelyard("measure", pets, "-o", target, "--format", "json")
    assert json.loads(target.read_text())["kind"] == "measurement"


def test_quiet_says_nothing_but_errors(steelyard: Command, pets: Path, tmp_path: Path) -> None:
    assert steelyard("measure", pets, "-o", tmp_path / "x.json", "--quiet").err == ""
    refused(steelyard("measure", tmp_path / "none.csv", "--quiet"), "none.csv")


def test_a_file_is_the_same_as_standard_output(steelyard: Command, pets: Path, tmp_path: Path) -> None:
    steelyard("measure", pets, "-o", tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text() == steelyard("measure", pets, "--format", "json").out


def test_an_error_leaves_an_existing_file_as_it_was(steelyard: Command, tmp_path: Path) -> None:
    target = tmp_path / "keep.json"
    target.write_text("precious")
    refused(steelyard("measure", tmp_path / "none.csv", "-o", target))
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["keep.json"]


def test_a_failed_write_leaves_an_existing_file_and_no_other(steelyard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "keep.json"
    target.write_text("precious")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    refused(steelyard("measure", "--counts", "1/2", "-o", target), "No space left on device")
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["keep.json"]


def test_a_file_is_replaced_whole_and_keeps_ordinary_permissions(steelyard: Command, tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    target.write_text("old" * 10_000)
    steelyard("measure", "--counts", "1/2", "-o", target)
    assert json.loads(target.read_text())["n"] == 2
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("folder", ["/proc", "/nonexistent/folder"])
def test_a_directory_that_cannot_be_written_is_a_mistake(steelyard: Command, folder: str) -> None:
    refused(steelyard("measure", "--counts", "1/2", "-o", f"{folder}/x.json"), "Cannot write", "directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_is_a_mistake(steelyard: Command, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    refused(steelyard("measure", "--counts", "1/2", "-o", folder / "x.json"), "Cannot write", "ermission")


def test_a_directory_as_target_is_a_mistake(steelyard: Command, tmp_path: Path) -> None:
    refused(steelyard("measure", "--counts", "1/2", "-o", tmp_path))


def test_what_is_not_a_regular_file_is_not_replaced_by_one(steelyard: Command, tmp_path: Path) -> None:
    """`-o /dev/null` as root must not turn the device into a file for everybody. A pipe stands for it here."""
    target = tmp_path / "pipe"
    os.mkfifo(target)
    reader = os.open(target, os.O_RDONLY | os.O_NONBLOCK)  # so that a write into it would not wait
    try:
        steelyard("measure", "--counts", "1/2", "-o", target)
        assert stat.S_ISFIFO(target.stat().st_mode)
    finally:
        os.close(reader)


def test_standard_input(steelyard: Command, pets: Path) -> None:
    piped = steelyard("measure", "-", "--format", "json", stdin=pets.read_bytes()).json
    file = steelyard("measure", pets, "--format", "json").json
    for key in ("n", "metrics", "table", "slices", "roles", "warnings", "signature"):
        assert piped[key] == file[key]


# ---- mistakes: exit 3, one line ----------------------------------------------------------------------------------------

MISTAKES: list[tuple[str, list[str]]] = [
    ("measure", ["Nothing to measure: give SOURCE, --counts K/N, or --tp --fp --fn."]),
    ("measure --counts 1/2 --tp 1 --fp 1 --fn 1", ["--counts and --tp/--fp/--fn"]),
    ("measure pets.csv --counts 1/2", ["SOURCE and --counts"]),
    ("measure --nope", ["--nope", "steelyard measure --help"]),
    ("measure --counts 1/2 --intervall wilson", ["No such option --intervall. Did you mean --interval?"]),
    ("measure --counts 1/2 --interval tango", ["tango is an interval for differences; use it with compare."]),
    ("measure --counts 1/2 --interval mcnemar", ["mcnemar is a test of a difference; compare takes it as its test."]),
    ("compare --flips 1,2,3,4 --interval wilson", ["wilson is an interval for one system; use it with measure."]),
    ("compare --flips 1,2,3,4 --test tango", ["tango is an interval for differences; compare takes it as its interval."]),
    ("measure --counts 1/2 --side both", ["--side must be two, lower or upper, not 'both'."]),
    ("measure --counts 1/2 --format yaml", ["--format must be text, json, markdown, ", "not 'yaml'."]),
    ("measure --counts 1/2 --absent no", ["--absent must be skip or zero"]),
    ("measure --counts 1/2 --missing no", ["--missing must be error, wrong or drop"]),
    ("measure --counts", ["--counts"]),
    ("measure --counts 1/2 --draws many", ["--draws", "many"]),
    ("measure --counts 1/2 --draws 0", ["draws", "at least 1"]),
    ("measure --counts 1/2 --seed x", ["seed", "'x'"]),
    ("measure --counts 1/2 --seed -1", ["seed", "'-1'"]),
    ("measure --counts 1/2 --prior 0", ["prior", "0.5 is Jeffreys"]),
    ("measure --counts 1/2 --prior x", ["--prior", "x"]),
    ("measure --counts 1/2 --range 1", ["--range", "2"]),
    ("measure --counts 1/2 --range 1 0", ["range", "the lower first"]),
    ("measure --counts 1/2 --interval wilsn", ["No interval method 'wilsn'. Did you mean wilson?"]),
    ("measure --counts 1/2 --interval bca --draws 10", ["at least 39"]),
    ("measure --counts 1/2 --metric acuracy", ["Did you mean accuracy?"]),
    ("measure --counts 1/2 --metric f1", ["k of n", "truths and predictions"]),
    ("measure --counts 1/2 --metric fbeta", ["fbeta:2"]),
    ("measure --counts 1/2 --metric fbeta:-1", ["a positive number"]),
    ("measure --counts 1/2 --metric pass@0", ["k of 1 or more"]),
    ("measure --counts 1/2 --by x", ["Counts have no columns to read."]),
    ("measure --counts 1/2 --ratio a/b", ["Counts have no columns to read."]),
    ("measure --counts 1/2 --truth a", ["Counts have no columns to read."]),
    ("measure --counts 1-2", ["K/N"]),
    ("measure --counts 0.5/2", ["K/N"]),
    ("measure --counts 1/2/3", ["K/N"]),
    ("measure --counts -1/2", ["K/N"]),
    ("measure --counts 3/2", ["Cannot have 3 right of 2.", "2/3"]),
    ("measure --counts 0/0", ["No items to measure."]),
    ("measure --tp 0 --fp 0 --fn 0", ["No items to measure."]),
    ("measure --tp 1", ["--fp and --fn"]),
    ("measure --tn 1", ["--tp"]),
    ("measure --tp -1 --fp 1 --fn 1", ["--tp", "-1"]),
    ("measure --tp 1.5 --fp 1 --fn 1", ["--tp", "1.5"]),
    ("measure --tp 1 --fp 1 --fn 1 --metric accuracy", ["true negatives", "--tn"]),
    ("measure --tp 1 --fp 1 --fn 1 --metric mcc", ["true negatives", "--tn"]),
    ("measure --tp 1 --fp 1 --fn 1 --metric macro_f1", ["true negatives", "--tn"]),
    ("measure pets.csv --metric f1", ["Which class is f1 about? The labels are 'cat', 'dog', 'owl'.", "--positive", "macro_f1", "each_f1"]),
    ("measure pets.csv --metric f1 --positive bat", ["'bat'", "'cat', 'dog', 'owl'"]),
    ("measure pets.csv --labels cat,dog", ["'owl'", "--labels"]),
    ("measure pets.csv --labels cat,cat,dog,owl", ["The declared labels repeat one: 'cat', 'cat', 'dog', 'owl'."]),
    ("measure pets.csv --truth trth", ["Did you mean 'truth'?"]),
    ("measure pets.csv --by nothing", ["--by", "'nothing'"]),
    ("measure pets.csv --metric mean", ["score"]),
    ("measure pets.csv --metric auc", ["probability", "--probability"]),
    ("measure pets.csv --metric pass@2", ["score"]),
    ("measure pets.csv --metric ratio", ["--ratio ABOVE/BELOW"]),
    ("measure pets.csv --metric accuracy,mae", ["Metrics of numbers and of labels cannot be measured together: accuracy, mae."]),
    ("measure pets.csv --metric mae", ["'cat'", "number"]),
    ("measure pets.csv --metric macro_accuracy", ["write accuracy"]),
    ("measure pets.csv --weight subject", ["weight", "'x'"]),
    ("measure pets.csv --truth truth --prediction truth", ["The column 'truth' is both truth and prediction."]),
    ("measure pet.csv", ["Did you mean", "pets.csv"]),
    ("measure nowhere/pets.csv", ["no directory 'nowhere'"]),
    ("measure https://example.org/pets.csv", ["download it first"]),
    ("measure pets.csv other.csv", ["other.csv"]),
    ("measure empty", ["No results in the directory 'empty': 0 files, none of them CSV, JSON, Parquet"]),
    ("measure *.parquet", ["No file matches '*.parquet'."]),
    ("mesure", ["mesure", "Did you mean measure?"]),
    ("--nope", ["--nope"]),
    ("demo extra", ["extra"]),
    ("doctor --nope", ["--nope"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "parts"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_a_mistake_is_three_and_one_line(
    steelyard: Command, pets: Path, monkeypatch: pytest.MonkeyPatch, words: str, parts: list[str]
) -> None:
    monkeypatch.chdir(pets.parent)
    (pets.parent / "empty").mkdir()
    refused(steelyard(*words.split()), *parts)


@pytest.mark.parametrize("words", ["", "--help", "-h"])
def test_without_a_question_the_help_is_shown_as_it_is_written(steelyard: Command, words: str) -> None:
    """A newcomer types `steelyard`: the page must come in its lines, not as one line that begins with `error: Usage`."""
    answer = steelyard(*words.split())
    shown = answer.out + answer.err
    assert "error" not in shown.splitlines()[0]
    assert "Commands:" in [line.strip() for line in shown.splitlines()]
    assert answer.code == (0 if words else 3)


@pytest.mark.parametrize("words", ["measure gone.csv", "measure --nope", "measure --counts 3/2"])
def test_debug_shows_the_traceback_and_keeps_the_exit_code(words: str) -> None:
    """Exit code 1 is a regression: a mistake stays 3, whatever else is shown."""
    answer = process(*words.split(), "--debug")
    assert "Traceback (most recent call last)" in answer.stderr
    assert answer.stdout == ""
    assert answer.returncode == 3


def test_an_internal_error_is_seventy_and_one_line(steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a wheel\ncame off")

    monkeypatch.setattr("steelyard.questions.measure.measure.measure_counts", broken)
    answer = steelyard("measure", "--counts", "1/2")
    assert (answer.code, answer.out) == (70, "")
    assert answer.err.startswith("internal error: RuntimeError: a wheel came off. Hint: this is a bug in steelyard")
    assert answer.err.count("\n") == 1


def test_an_internal_error_is_seventy_with_debug_too() -> None:
    code = (
        "import steelyard.questions.measure.measure as m, steelyard.cli.main as c\n"
        "def broken(*a, **k): raise RuntimeError('off')\n"
        "m.measure_counts = broken\n"
        "c.main(['measure', '--counts', '1/2', '--debug'])\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Traceback (most recent call last)" in answer.stderr
    assert answer.returncode == 70


def test_an_interrupt_is_130(steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("steelyard.questions.measure.measure.measure_counts", stopped)
    answer = steelyard("measure", "--counts", "1/2")
    assert (answer.code, answer.out) == (130, "")
    assert answer.err.strip() == "interrupted"


def test_control_c_while_waiting_for_standard_input() -> None:
    # start_new_session and an explicit handler, as in a shell: a background job of CI may have the signal ignored
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from steelyard.cli.main import main; main(['measure', '-'])"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    finally:
        child.kill()
    assert child.returncode == 130, err
    assert out == ""
    assert err.strip() == "interrupted"


# ---- the streams -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_reader_who_left_is_no_verdict(form: str) -> None:
    """A quiet exit. Not 1, which would be a regression."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        child = subprocess.run(
            [sys.executable, "-m", "steelyard", "measure", "--counts", "1/2", "--format", form],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert child.stderr == ""
    assert child.returncode == 0


def test_head_that_reads_nothing() -> None:
    command = f"{sys.executable} -m steelyard measure --counts 1/2 | head -0"
    answer = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert answer.stderr == ""


def test_a_closed_standard_output_is_no_bug_of_ours() -> None:
    answer = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m steelyard measure --counts 1/2 >&-"], capture_output=True, text=True, check=False
    )
    assert "internal error" not in answer.stderr
    assert answer.returncode in (0, 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_bug_of_ours() -> None:
    """The error surfaces late; it is the user's to mend, so 3, in one line that does not blame steelyard."""
    answer = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m steelyard measure --counts 1/2 > /dev/full"], capture_output=True, text=True, check=False
    )
    assert "No space left" in answer.stderr
    assert "internal error" not in answer.stderr
    assert answer.returncode == 3


def test_python_m_is_the_same_command(steelyard: Command) -> None:
    answer = process("measure", "--counts", "12/40", "--format", "json")
    assert answer.returncode == 0
    assert answer.stdout == steelyard("measure", "--counts", "12/40", "--format", "json").out
    assert answer.stderr == ""


def test_the_installed_command_is_the_same(steelyard: Command) -> None:
    script = Path(sys.executable).with_name("steelyard")
    if not script.exists():
        pytest.skip("not installed as a command")
    answer = subprocess.run([script, "measure", "--counts", "12/40"], capture_output=True, text=True, check=False)
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert "0.30" in answer.stdout


def test_warnings_belong_to_the_answer_and_not_to_standard_error(steelyard: Command) -> None:
    answer = steelyard("measure", "--counts", "39/40", "--interval", "wald")
    assert "warning: accuracy: Wald was asked for" in answer.out
    assert answer.err == ""


def _on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return screen


def test_colour_on_a_terminal_only_and_never_with_no_color(monkeypatch: pytest.MonkeyPatch, steelyard: Command) -> None:
    assert "\x1b" not in steelyard("measure", "--counts", "12/40").out
    screen = _on_a_terminal(monkeypatch)
    for words, env, coloured in (([], None, True), (["--no-color"], None, False), ([], "1", False), ([], "", False)):
        screen.seek(0)
        screen.truncate()
        if env is None:
            monkeypatch.delenv("NO_COLOR", raising=False)
        else:
            monkeypatch.setenv("NO_COLOR", env)
        with pytest.raises(SystemExit):
            main(["measure", "--counts", "12/40", *words])
        if env == "":  # no-color.org: only a value that is not empty counts; either is accepted here
            continue
        assert ("\x1b[" in screen.getvalue()) == coloured


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_poor_terminal_is_no_reason_to_fail(tmp_path: Path, form: str) -> None:
    path = tmp_path / "u.csv"
    path.write_text("truth,prediction\n" + "ü,ü\nö,ü\n名,名\n" * 4, encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "steelyard", "measure", str(path), "--format", form],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"},
    )
    assert answer.returncode == 0, answer.stderr
    assert b"accuracy" in answer.stdout


def test_a_path_with_control_characters_stays_on_one_line(steelyard: Command, tmp_path: Path) -> None:
    answer = steelyard("measure", tmp_path / "a\nb\x1b[31m.csv")
    refused(answer)
    assert "\x1b" not in answer.err


# ---- help, version, demo ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["", "measure", "demo", "doctor"])
def test_help_has_an_example(steelyard: Command, command: str) -> None:
    answer = steelyard(*command.split(), "--help")
    assert answer.code == 0
    assert answer.err == ""
    assert "Example" in answer.out
    assert f"steelyard {command}".strip() in answer.out


def test_help_of_measure_explains_every_option_and_names_the_defaults(steelyard: Command) -> None:
    from steelyard.cli.measure import measure

    text = steelyard("measure", "--help").out
    flat = " ".join(text.split()).replace("- ", "-")  # a name may be broken at its hyphen
    for parameter in measure.params:
        if parameter.name == "source":
            continue
        assert any(option in text for option in parameter.opts)
        assert getattr(parameter, "help", "")
    for default in ("0.95", "two", "10000", "0.5", "error", "text", "depends on the columns", "the best for each metric"):
        assert f"[default: {default}" in flat, default
    assert "[default: 0]" in flat  # the seed
    for method in ("wilson", "clopper-pearson", "jeffreys", "mid-p", "agresti-coull", "wald", "bayes", "bca", "percentile", "delta"):
        assert method in flat
    for method in ("t", "bounded-mean", "studentized", "wilson-mean", "betting", "delong", "fisher-z"):
        assert f" {method}," in flat or f" {method}." in flat, method


def test_help_loads_no_numpy() -> None:
    for words in (
        ["--help"],
        ["measure", "--help"],
        ["measure", "--counts", "12/40"],
        ["measure", "--counts", "12/40", "--interval", "wald"],
    ):
        code = f"import sys, steelyard.cli.main as m\ntry: m.main({words!r})\nexcept SystemExit: print('numpy' in sys.modules)"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert out.endswith("False\n"), words


def test_version(steelyard: Command) -> None:
    assert steelyard("--version").out == f"steelyard {__version__}\n"


def test_demo_runs_offline_leaves_nothing_and_tells_what_to_try_next(tmp_path: Path) -> None:
    guard, work, temporary = tmp_path / "guard", tmp_path / "work", tmp_path / "temporary"
    for folder in (guard, work, temporary):
        folder.mkdir()
    (guard / "sitecustomize.py").write_text(
        "import socket\ndef no(*a, **k): raise OSError('the network is off')\nsocket.socket.connect = socket.getaddrinfo = no\n"
    )
    paths = os.pathsep.join(filter(None, [str(guard), os.environ.get("PYTHONPATH", "")]))
    answer = process("demo", env={"PYTHONPATH": paths, "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}, cwd=work)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert "Try next" in answer.stdout
    assert answer.stdout.rstrip().splitlines()[-1].strip() == "steelyard measure --help"
    assert "[0.18, 0.45]" in answer.stdout
    assert "$ steelyard measure --tp 31 --fp 5 --fn 2" in answer.stdout
    assert list(work.iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_demo_shows_commands_that_work_as_printed_for_counts(steelyard: Command) -> None:
    from steelyard.cli.demo import STEPS

    for _, words in STEPS:
        if not any(word.endswith(".csv") for word in words):
            assert steelyard(*words).code == 0


def test_an_ending_that_asks_for_no_format_is_refused(steelyard: Command, tmp_path: Path) -> None:
    there = tmp_path / "x.xyz"
    answer = steelyard("measure", "--counts", "8/10", "-o", str(there))
    assert answer.code == 3
    assert "x.xyz' has an ending that asks for no format" in answer.err
    assert not there.exists()
    assert steelyard("measure", "--counts", "8/10", "-o", str(there), "--format", "json").code == 0


def test_a_metric_named_twice_is_measured_once(steelyard: Command) -> None:
    once = steelyard("measure", "--counts", "8/10", "--metric", "accuracy")
    assert steelyard("measure", "--counts", "8/10", "--metric", "accuracy", "--metric", "accuracy").out == once.out
