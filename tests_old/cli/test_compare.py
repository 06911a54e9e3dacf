"""The command `steelyard compare` as its users meet it: numbers, keys, files, exit codes, refusals."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from answers import Answer, Command, command
from steelyard_old.cli.main import main


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Command:
    return command(capsys, "compare")


def refused(answer: Answer, *parts: str) -> None:
    assert answer.code == 3, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    for part in parts:
        assert part in answer.err, answer.err


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    r = np.random.default_rng(0)
    truth = r.choice(list("ab"), 60)
    task = np.arange(60) % 10
    out = {}
    for name, share in (("a", 0.6), ("b", 0.8), ("c", 1.0)):
        out[name] = tmp_path / f"{name}.csv"
        said = np.where(r.random(60) < share, truth, "a")
        pd.DataFrame({"id": range(60), "truth": truth, "prediction": said, "task": task}).to_csv(out[name], index=False)
    out["long"] = tmp_path / "long.csv"
    pd.concat([pd.read_csv(out[name]).assign(who=name) for name in "ab"]).to_csv(out["long"], index=False)
    for name in ("p", "q"):
        out[name] = tmp_path / f"{name}.csv"
        pd.DataFrame({"id": range(60), "truth": [1] + [0] * 59, "probability": r.random(60)}).to_csv(out[name], index=False)
    return out


KEYS = {
    "kind", "schema", "design", "metric", "n", "baseline", "candidate", "difference", "test", "flips",
    "probability_candidate_better", "equivalence", "correlation", "mde", "unmatched", "warnings", "signature",
}  # fmt: skip


def test_the_numbers_of_the_issue(compare: Command) -> None:
    got = compare("--flips", "790,58,76,76", "--format", "json")
    assert got.code == 0
    assert got.json.keys() >= KEYS
    assert got.json["difference"]["estimate"] == pytest.approx(0.018)
    interval = got.json["difference"]["interval"]
    assert (interval["low"], interval["high"]) == pytest.approx((-0.004745, 0.041041), abs=5e-7)
    assert got.json["test"]["p_value"] == pytest.approx(0.121014, abs=5e-7)
    assert got.json["probability_candidate_better"] == pytest.approx(0.940186, abs=5e-7)
    exact = compare("--flips", "790,58,76,76", "--test", "mcnemar-exact", "--format", "json")
    assert exact.json["test"]["p_value"] == pytest.approx(0.141662, abs=5e-7)


def test_two_files_in_every_format(compare: Command, files: dict[str, Path]) -> None:
    got = compare(files["a"], files["b"], "--format", "json")
    assert (got.code, got.json["baseline"]["name"], got.json["candidate"]["name"]) == (0, "a", "b")
    text = compare(files["a"], files["b"]).out
    assert got.json["conclusion"][:40] in text.replace("\n", " ")
    assert got.json["signature"] in text
    assert got.json["signature"] in compare(files["a"], files["b"], "--format", "markdown").out


def test_two_copies(compare: Command, files: dict[str, Path]) -> None:
    for metric in ("accuracy", "macro_f1", "mcc"):
        got = compare(files["a"], files["a"], "--metric", metric, "--format", "json").json
        assert got["test"]["p_value"] == 1
        assert got["difference"]["interval"]["low"] < 0 < got["difference"]["interval"]["high"]
        assert any("identical" in sentence for sentence in got["warnings"])
        assert got["baseline"]["name"] != got["candidate"]["name"]


def test_missing_ids(compare: Command, files: dict[str, Path], tmp_path: Path) -> None:
    some = tmp_path / "some.csv"
    pd.read_csv(files["b"]).iloc[6:].to_csv(some, index=False)
    refused(compare(files["a"], some), "54 ids in both", "6 only in the baseline", "--unmatched drop")
    got = compare(files["a"], some, "--unmatched", "drop", "--format", "json").json
    assert got["unmatched"] == {"matched": 54, "baseline_only": 6, "candidate_only": 0}
    assert any("6 items" in sentence for sentence in got["warnings"])


def test_a_long_file_with_a_named_model_column(compare: Command, files: dict[str, Path]) -> None:
    got = compare(files["long"], "--model-column", "who", "--names", "a,b", "--format", "json")
    assert got.code == 0, got.err
    assert got.json["difference"] == compare(files["a"], files["b"], "--format", "json").json["difference"]


def test_refusals(compare: Command, files: dict[str, Path]) -> None:
    a, b = files["a"], files["b"]
    refused(compare(), "Nothing to compare: give two or more sources, or --flips, or --counts twice, or")
    refused(compare(a, "--flips", "1,2,3,4"), "sources and --flips")
    refused(compare("--flips", "1,2,3"), "4 whole numbers")
    refused(compare("--flips", "1,2,3,-4"), "4 whole numbers")
    refused(compare("--flips", "0,0,0,0"), "No items to compare.")
    refused(compare("--wins", "0,0,0"), "No judgements to compare: 0 wins, ties and losses.")
    refused(compare("--counts", "5/10"), "--counts must be given twice, for the baseline and the candidate; got 1.")
    refused(compare(a, b, "--test", "nope"), "mcnemar-midp")
    refused(compare(a, b, "--interval", "t"), "tango")
    refused(compare(a, b, "--cd-out", a.parent / "x.svg"), "critical-difference")
    assert compare(a, b, "--design", "nope").code == 3


@pytest.mark.parametrize(
    "words",
    [("a", "b", "--names", "x"), ("a", "b", "c", "--names", "x,y"), ("p", "q", "--metric", "auc", "--positive", "1")],
)
def test_a_question_that_cannot_be_answered_is_never_an_internal_error(
    compare: Command, files: dict[str, Path], words: tuple[str, ...]
) -> None:
    assert compare(*(files.get(word, word) for word in words)).code == 3


@pytest.mark.parametrize(
    "words",
    [
        ("--flips", "790,58,76,76", "--by", "task"),
        ("--flips", "790,58,76,76", "--flips-out", "OUT"),
        ("--counts", "5/10", "--counts", "6/10", "--labels", "a,b"),
        ("--wins", "40,12,28", "--metric", "macro_f1"),
        ("a", "b", "--design", "unpaired", "--flips-out", "OUT"),
        ("a", "b", "c", "--flips-out", "OUT"),
    ],
)
def test_an_option_is_used_or_refused_never_forgotten(
    compare: Command, files: dict[str, Path], tmp_path: Path, words: tuple[str, ...]
) -> None:
    target = tmp_path / "out.csv"
    got = compare(*(target if word == "OUT" else files.get(word, word) for word in words))
    assert got.code == 3 or target.exists()


def test_flips_out_is_harmless_in_a_spreadsheet(compare: Command, tmp_path: Path) -> None:
    ids = ["=cmd|' /C calc'!A0", "+1", "-2", "@x", "ok", "same"]
    one = pd.DataFrame({"id": ids, "truth": ["a"] * 6, "prediction": ["a", "a", "=b", "a", "a", "a"]})
    one.to_csv(tmp_path / "a.csv", index=False)
    one.assign(prediction=["=1+1", "b", "a", "b", "b", "a"]).to_csv(tmp_path / "b.csv", index=False)
    assert compare(tmp_path / "a.csv", tmp_path / "b.csv", "--flips-out", tmp_path / "f.csv").code == 0
    with (tmp_path / "f.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["id"].lstrip("'") for row in rows} == set(ids[:5])
    assert {row["id"].lstrip("'"): row["change"] for row in rows}["-2"] == "gained"
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@"]


def test_a_leaderboard_and_its_diagram(compare: Command, files: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "cd.svg"
    sources = [files[key] for key in "abc"]
    names = '<b>&amp;"evil",b,c]]>'
    got = compare(*sources, "--names", names, "--by", "task", "--cd-out", target, "--format", "json")
    assert got.code == 0, got.err
    assert got.json["kind"] == "leaderboard"
    assert {"metric", "correction", "rows", "pairs"} <= got.json.keys()
    root = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    texts = "".join(root.itertext())
    assert '<b>&amp;"evil"' in texts
    assert not [element for element in root.iter() if element.tag.endswith("}b")]


def test_counts_and_wins(compare: Command) -> None:
    got = compare("--counts", "56/70", "--counts", "48/80", "--format", "json").json
    assert (got["design"], got["n"]) == ("unpaired", 150)
    assert got["difference"]["estimate"] == pytest.approx(0.6 - 0.8)
    got = compare("--wins", "40,12,28", "--format", "json").json
    assert got["difference"]["estimate"] == pytest.approx(0.15)
    assert got["details"] == {"wins": 40, "ties": 12, "losses": 28, "prior_sd": pytest.approx(0.408, abs=1e-3)}


def test_the_commands_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert "compare" in out
    assert "learners" in out
