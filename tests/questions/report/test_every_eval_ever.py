"""Records for Every Eval Ever, by the command and in Python: what is written is read again, and nothing is made up.

The texts themselves are checked in tests/render/test_every_eval_ever.py against files that the tool's own validator accepted.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.cli.main import main
from steelyard.errors import DataError, UsageError

LOGS = Path(__file__).parents[2] / "read" / "logs"
ABOUT = {"model": "lab/small", "evaluation": "sums", "organization": "lab", "retrieved": "1700000000"}
GIVEN = [word for key, value in ABOUT.items() for word in ("--about", f"{key}={value}")]
CASES: dict[str, tuple[str, list[str]]] = {
    "lm-eval": ("lm_eval/api/model-a", ["--filter", "strict-match"]),
    "inspect": ("inspect/arith.eval", ["--scorer", "match"]),
    "promptfoo": ("promptfoo/one.json", []),
    "helm": ("helm/a", ["--score", "exact_match"]),
    "itself": ("every_eval_ever/levels.json", ["--missing", "drop"]),
}


def run(*words: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([*map(str, words)])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.mark.parametrize("case", CASES)
def test_what_is_written_is_read_again(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, words = CASES[case]
    out = tmp_path / "run.json"
    code, printed, told = run("measure", LOGS / log, *words, "--format", "every-eval-ever", "-o", out, *GIVEN, capsys=capsys)
    assert (code, printed) == (0, ""), told
    assert str(out) in told
    assert "data/sums/lab/small/" in told
    options: dict[str, Any] = {word.removeprefix("--"): value for word, value in zip(words[::2], words[1::2], strict=True)}
    before = sy.measure(str(LOGS / log), **options)
    for path in (out, tmp_path / "run_samples.jsonl"):
        again = sy.measure(str(path), missing=options.get("missing", "error"))
        assert again.n == before.n
        assert again.row.estimate == pytest.approx(before.row.estimate, rel=1e-12)
        assert again.row.interval is not None
        assert before.row.interval is not None
        assert (again.row.interval.low, again.row.interval.high) == pytest.approx((before.row.interval.low, before.row.interval.high))
    record = json.loads(out.read_text())
    assert record["schema_version"] == "0.3.0"
    details = record["evaluation_results"][0]["score_details"]["details"]
    assert details.get("filter") == options.get("filter")
    assert details.get("scorer") == options.get("scorer")
    assert record["detailed_evaluation_results"]["file_path"].startswith("data/sums/lab/small/")  # the schema wants it so


def test_two_records_pair_as_the_logs_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("model-a", "model-b"):
        words = ("--filter", "strict-match", "--format", "every-eval-ever", "-o", tmp_path / f"{name}.json")
        assert run("measure", LOGS / "lm_eval/api" / name, *words, *GIVEN, "--quiet", capsys=capsys) == (0, "", "")
    again = sy.compare(str(tmp_path / "model-a.json"), str(tmp_path / "model-b.json"))
    before = sy.compare(str(LOGS / "lm_eval/api/model-a"), str(LOGS / "lm_eval/api/model-b"), filter="strict-match")
    assert again.difference.to_dict() == before.difference.to_dict()
    assert again.p_value == before.p_value


def test_standard_output_has_the_aggregate_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("measure", "--counts", "8/10", "--format", "every-eval-ever", *GIVEN, capsys=capsys)
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert "detailed_evaluation_results" not in record
    (result,) = record["evaluation_results"]
    assert result["score_details"]["score"] == 0.8
    assert result["score_details"]["uncertainty"]["confidence_interval"]["method"] == "wilson"


def test_the_time_is_now_unless_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    without = GIVEN[:-2]
    _, out, _ = run("measure", "--counts", "8/10", "--format", "every-eval-ever", *without, capsys=capsys)
    assert int(json.loads(out)["retrieved_timestamp"]) > 1_790_000_000


def test_a_log_tells_its_task_its_model_and_its_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--scorer", "match", "--format", "every-eval-ever", "-o", tmp_path / "i.json", "--about", "organization=lab")
    assert run("measure", LOGS / "inspect/arith.eval", *words, capsys=capsys)[0] == 0
    record = json.loads((tmp_path / "i.json").read_text())
    log = sy.measure(str(LOGS / "inspect/arith.eval"), scorer="match")
    assert record["model_info"]["id"] == log.name == "mockllm/model-a"
    assert record["eval_library"] == {"name": "Inspect AI", "version": "unknown"}
    assert record["evaluation_results"][0]["evaluation_name"] == "arith"


@every(
    ("words", "said"),
    [
        ([], "needs model and evaluation and organization. Hint: --about model=DEVELOPER/NAME"),
        ([*GIVEN, "--about", "modell=x/y"], "Unknown key 'modell' in --about. Did you mean 'model'"),
        ([*GIVEN, "--about", "relationship=friend"], "relationship must be first_party"),
        ([*GIVEN[2:], "--about", "model=flat"], "a model such as developer/name"),
        ([*GIVEN, "--about", "x"], "--about must be KEY=VALUE, not 'x'"),
        ([*GIVEN, "-o", "out.md"], "Give a file NAME.json with -o, not 'out.md'"),
    ],
)
def test_what_is_not_said_is_not_made_up(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("measure", "--counts", "8/10", "--format", "every-eval-ever", *words, capsys=capsys)
    assert (code, out) == (3, "")
    assert err.startswith("error: ")
    assert re.search(said, err), err


def test_about_is_for_this_format(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("measure", "--counts", "8/10", *GIVEN, capsys=capsys)
    assert (code, err) == (3, "error: --about is only used with --format every-eval-ever, not with --format text.\n")


def test_items_that_cannot_be_written_leave_the_files_as_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("truth,prediction\na,a\nb,a\n")
    (tmp_path / "out.json").write_text("before")
    words = ("--format", "every-eval-ever", "-o", tmp_path / "out.json", *GIVEN)
    code, _, err = run("measure", tmp_path / "a.csv", *words, capsys=capsys)
    assert code == 3
    assert "A record of items for Every Eval Ever needs an id column." in err
    assert (tmp_path / "out.json").read_text() == "before"
    assert not (tmp_path / "out_samples.jsonl").exists()


def test_labels_decide_where_scores_are_not_right_or_wrong() -> None:
    data = {"id": list("abcd"), "truth": list("xyxy"), "prediction": list("xxxy"), "score": [0.9, 0.2, 0.8, 0.7]}
    files = sy.every_eval_ever(data, about=ABOUT, metric="accuracy")
    lines = [json.loads(line) for line in files[next(path for path in files if path.endswith(".jsonl"))].splitlines()]
    assert [line["evaluation"]["score"] for line in lines] == [1.0, 0.0, 1.0, 1.0]
    files = sy.every_eval_ever(data, about=ABOUT, metric="mean")
    lines = [json.loads(line) for line in files[next(path for path in files if path.endswith(".jsonl"))].splitlines()]
    assert [line["evaluation"]["score"] for line in lines] == data["score"]


def test_in_python_a_measurement_or_counts_have_no_items() -> None:
    found = sy.measure(sy.Counts.of(8, 10))
    assert list(sy.every_eval_ever(found, about=ABOUT)) == list(sy.every_eval_ever(sy.Counts.of(8, 10), about=ABOUT))
    assert len(sy.every_eval_ever(found, about=ABOUT)) == 1
    assert len(sy.every_eval_ever({"id": [1, 2], "score": [0, 1]}, about=ABOUT, items=False)) == 1
    with pytest.raises(UsageError, match=r"A record for Every Eval Ever needs retrieved\."):
        sy.every_eval_ever(found, about={key: value for key, value in ABOUT.items() if key != "retrieved"})
    with pytest.raises(DataError, match="accuracy or mean"):
        sy.every_eval_ever({"id": [1, 2], "a": [1, 2], "b": [2, 2]}, about=ABOUT, ratio="a/b")
