"""Logs of lm-evaluation-harness, written by version 0.4.13 itself (tests/fixtures/make/lm_eval_logs.py).

Expected numbers are the tool's own, from the results file beside the samples. The forms of older versions are made from these
files by what their sources say (wheels 0.4.3, 0.4.5, 0.4.7 read): before 0.4.7 lines lack `filter` and `metrics`.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answers
from cases import every
from steelyard.errors import AmbiguityError, DataError, SourceError, SteelyardError, UsageError
from steelyard.questions.compare.compare import compare
from steelyard.questions.guard.check import check
from steelyard.questions.measure.measure import measure
from steelyard.questions.record.record import record
from steelyard.read.logs.lm_eval import read
from steelyard.read.logs.log import Choices
from steelyard.read.open_source import open_source

HERE = Path(__file__).parent / "lm_eval"
A, B = HERE / "api" / "model-a", HERE / "api" / "model-b"
FIRST, SECOND = HERE / "dummy" / "first", HERE / "dummy" / "second"
SAMPLES = next(A.glob("samples_*.jsonl"))
STRICT = Choices(filter="strict-match")
MEANS = [
    (A, "arith_gen", "strict-match", "exact_match"),
    (A, "arith_gen", "flexible-extract", "exact_match"),
    (B, "arith_gen", "strict-match", "exact_match"),
    (B, "arith_gen", "flexible-extract", "exact_match"),
    (FIRST, "colour_mc", "none", "acc"),
    (FIRST, "colour_mc", "none", "acc_norm"),
    (SECOND, "colour_mc", "none", "acc"),
    (SECOND, "pairs_f1", "none", "acc"),
]


def results(folder: Path) -> dict[str, Any]:
    return json.loads(next(folder.glob("results_*.json")).read_text(encoding="utf-8"))


def theirs(folder: Path, task: str, metric: str, way: str = "none") -> float:
    return float(results(folder)["results"][task][f"{metric},{way}"])


def rows(path: Path = SAMPLES) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def copy(folder: Path, to: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda row: row) -> Path:
    """A directory as the tool left it, with every line of its samples changed."""
    shutil.copytree(folder, to)
    for path in to.glob("samples_*.jsonl"):
        write(path, [new for row in rows(path) if (new := change(row)) is not None])
    return to


def old(row: dict[str, Any]) -> dict[str, Any]:
    """A line as 0.4.3 and 0.4.5 write it."""
    return {key: value for key, value in row.items() if key not in ("filter", "metrics")}


# ---- the tool's own numbers ------------------------------------------------------------------------------------------


@every(("folder", "task", "way", "metric"), MEANS)
def test_means_are_those_of_the_tool(folder: Path, task: str, way: str, metric: str) -> None:
    log = read(str(folder), Choices(task=task, filter=way, score=metric))
    assert math.fsum(log.columns["score"]) / len(log.columns["score"]) == pytest.approx(theirs(folder, task, metric, way), abs=1e-12)
    assert log.chosen == {"task": task, "filter": way, "score": metric}
    assert (log.warnings, log.higher_is_better, log.ratio) == ((), True, None)


@pytest.mark.parametrize("folder", [FIRST, SECOND])
@pytest.mark.parametrize(("logged", "metric"), [("f1", "f1"), ("mcc", "mcc")])
def test_pairs_of_labels_are_a_table(folder: Path, logged: str, metric: str) -> None:
    found = measure(str(folder), task="pairs_f1", score=logged, metric=metric, positive="1" if metric == "f1" else None)
    assert found.rows[0].estimate == pytest.approx(theirs(folder, "pairs_f1", logged), abs=1e-12)


@every("folder", [FIRST, SECOND])
@every("metric", ["word_perplexity", "byte_perplexity", "bits_per_byte"])
def test_perplexities_are_the_tools_own_number(folder: Path, metric: str) -> None:
    found = measure(str(folder), task="notes_ppl", score=metric).rows[0]
    assert found.metric == ("ratio" if metric == "bits_per_byte" else "perplexity")
    assert found.estimate == pytest.approx(theirs(folder, "notes_ppl", metric), rel=1e-12)
    assert found.interval is not None
    assert found.interval.low < found.estimate < found.interval.high
    assert found.higher_is_better is False
    assert read(str(folder), Choices(task="notes_ppl", score=metric)).higher_is_better is False


def test_the_difference_is_that_of_the_two_means() -> None:
    found = compare(str(A), str(B), filter="strict-match")
    expected = theirs(B, "arith_gen", "exact_match", "strict-match") - theirs(A, "arith_gen", "exact_match", "strict-match")
    assert found.difference.estimate == pytest.approx(expected, abs=1e-12)
    assert (found.baseline.name, found.candidate.name) == ("model-a", "model-b")
    assert (found.design, found.n) == ("paired", 40)


def test_perplexities_can_be_compared_and_so_can_their_logarithms() -> None:
    own = [theirs(folder, "notes_ppl", "word_perplexity") for folder in (FIRST, SECOND)]
    found = compare(str(FIRST), str(SECOND), task="notes_ppl", score="word_perplexity")
    assert (found.metric, found.higher_is_better) == ("perplexity", False)
    assert found.difference.estimate == pytest.approx(own[1] - own[0], rel=1e-9)
    found = compare(str(FIRST), str(SECOND), task="notes_ppl", score="word_perplexity", metric="ratio")
    assert found.difference.estimate == pytest.approx(math.log(own[1]) - math.log(own[0]), rel=1e-9)


def test_the_task_hash_is_the_tools() -> None:
    log = read(str(A), STRICT)
    assert log.checks == {"task_hash": results(A)["task_hashes"]["arith_gen"], "task_version": "2.0"}
    assert log.checks == read(str(B), STRICT).checks


# ---- choices: refused and listed ---------------------------------------------------------------------------------------


@every(
    ("path", "choices", "said"),
    [
        (A, Choices(), ["filter", "strict-match, flexible-extract", "filter='strict-match'"]),
        (SAMPLES, Choices(), ["filter", "strict-match, flexible-extract"]),
        (FIRST, Choices(), ["task", "colour_mc, notes_ppl, pairs_f1", "log_task='colour_mc'"]),
        (FIRST, Choices(task="colour_mc"), ["metric", "acc, acc_norm", "score='acc'"]),
        (FIRST, Choices(task="pairs_f1"), ["metric", "acc, f1, mcc"]),
        (HERE / "api", STRICT, ["2 models: model-a, model-b", "log_model='model-a'"]),
    ],
)
def test_several_are_refused_and_listed(path: Path, choices: Choices, said: list[str]) -> None:
    with pytest.raises(AmbiguityError) as refusal:
        read(str(path), choices)
    assert all(words in str(refusal.value) for words in said), str(refusal.value)


@pytest.mark.parametrize(
    ("path", "choices", "said"),
    [
        (A, Choices(filter="strict"), "strict-match, flexible-extract"),
        (A, Choices(task="gsm8k", filter="strict-match"), "arith_gen"),
        (A, Choices(filter="strict-match", score="acc"), "exact_match"),
        (HERE / "api", Choices(filter="strict-match", model="model-c"), "model-a, model-b"),
    ],
)
def test_a_choice_that_is_not_there_lists_what_is(path: Path, choices: Choices, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(str(path), choices)


def test_an_option_that_chooses_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"scorer=.*lm-evaluation-harness"):
        measure(str(A), filter="strict-match", scorer="match")


def test_a_filter_called_none_can_be_chosen(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a", lambda row: {**row, "filter": row["filter"].replace("flexible-extract", "none")})
    with pytest.raises(AmbiguityError, match="strict-match, none"):
        measure(str(folder))
    found = measure(str(folder), filter="none")
    assert found.rows[0].estimate == pytest.approx(theirs(A, "arith_gen", "exact_match", "flexible-extract"))


def test_a_model_can_be_named_inside_an_output_directory() -> None:
    assert measure(str(HERE / "api"), filter="strict-match", model_name="model-b").name == "model-b"


def test_two_runs_in_one_directory_are_listed_by_date(tmp_path: Path) -> None:
    both = copy(A, tmp_path / "both")
    for path in B.iterdir():
        shutil.copy(path, both)
    with pytest.raises(
        AmbiguityError,
        match=r"has 2 runs of 'arith_gen': 2026-11-16T02-44-51\.947315, 2026-11-16T02-44-52\.639153\..*latest=True reads the newest",
    ) as refusal:
        read(str(both), STRICT)
    dates = [path.name.rpartition("_")[2].removesuffix(".jsonl") for path in both.glob("samples_*")]
    assert all(date in str(refusal.value) for date in dates)
    one = next(both.glob(f"samples_*{SAMPLES.name.rpartition('_')[2]}"))
    assert read(str(one), STRICT).name == "model-a"  # the results of the same date, not the other ones
    assert read(str(next(both.glob(f"results_{SAMPLES.name.rpartition('_')[2][:-6]}.json"))), STRICT).name == "model-a"


def test_tasks_of_several_dates_do_not_disturb_one_another(tmp_path: Path) -> None:
    both = copy(A, tmp_path / "both")
    for path in FIRST.iterdir():
        shutil.copy(path, both)
    assert read(str(both), Choices(task="arith_gen", filter="strict-match")).name == "model-a"
    assert read(str(both), Choices(task="colour_mc", score="acc")).name == "first"


def test_several_files_are_not_one_run() -> None:
    with pytest.raises(
        AmbiguityError,
        match=r"has 3 logs: samples_colour_mc_2026-11-16T02-44-55\.760347\.jsonl \(2026-11-16T02-44-55\.760347\),.*give its path: "
        r".*samples_",
    ):
        measure(str(FIRST / "samples_*.jsonl"))


# ---- the command -------------------------------------------------------------------------------------------------------


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    answer = answers.command(capsys)(*words)
    return answer.code, answer.out, answer.err


def test_compare_is_refused_and_listed_then_answered(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = command(capsys, "compare", A, B)
    assert (code, out) == (3, "")
    assert "strict-match, flexible-extract" in err
    assert "--filter strict-match" in err
    for way in ("strict-match", "flexible-extract"):
        code, out, err = command(capsys, "compare", A, B, "--filter", way, "--format", "json")
        expected = theirs(B, "arith_gen", "exact_match", way) - theirs(A, "arith_gen", "exact_match", way)
        assert (code, json.loads(out)["difference"]["estimate"]) == (0, pytest.approx(expected, abs=1e-12))


def test_measure_takes_task_filter_and_score(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "measure", FIRST, "--task", "colour_mc", "--filter", "none", "--score", "acc", "--format", "json")
    assert (code, json.loads(out)["metrics"][0]["estimate"]) == (0, pytest.approx(theirs(FIRST, "colour_mc", "acc")))
    code, out, _ = command(capsys, "measure", HERE / "api", "--model", "model-a", "--filter", "strict-match", "--by", "topic")
    assert code == 0
    assert "addition" in out


@pytest.mark.parametrize("words", [["--filter", "x"], ["--task", "x"], ["--scorer", "x"], ["--prompt", "x"], ["--model", "x"]])
def test_these_options_are_refused_where_there_is_no_log(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "a.csv"
    table.write_text("id,score\n1,0\n2,1\n", encoding="utf-8")
    code, out, err = command(capsys, "measure", table, *words)
    assert (code, out) == (3, "")
    flag = {"--task": "--log-task", "--model": "--log-model"}.get(words[0], words[0])
    assert f"{flag} chooses inside the log of an evaluation tool" in err
    code, out, err = command(capsys, "compare", "--counts", "1/2", "--counts", "2/2", *words)
    assert (code, out) == (3, "")
    assert flag in err


def test_standard_input_is_a_log_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (SAMPLES.read_bytes(), gzip.compress(SAMPLES.read_bytes())):
        monkeypatch.setattr("sys.stdin", _Piped(data))
        code, out, err = command(capsys, "measure", "-", "--filter", "strict-match", "--format", "json")
        assert (code, json.loads(out)["metrics"][0]["estimate"]) == (
            0,
            pytest.approx(theirs(A, "arith_gen", "exact_match", "strict-match")),
        )
    monkeypatch.setattr("sys.stdin", _Piped(SAMPLES.read_bytes()))
    code, out, err = command(capsys, "measure", "-")
    assert code == 3
    assert "'standard input'" in err
    assert "steelyard-" not in err  # the name of our temporary file says nothing to anybody


class _Piped:
    def __init__(self, data: bytes) -> None:
        import io

        self.buffer = io.BytesIO(data)

    def isatty(self) -> bool:
        return False


# ---- what is in the columns ----------------------------------------------------------------------------------------------


def test_fields_of_the_document_can_be_asked_for() -> None:
    log = read(str(A), STRICT)
    docs = {str(row["doc_id"]): row["doc"] for row in rows()}
    for name in ("question", "answer", "topic", "page"):
        assert log.columns[f"doc.{name}"] == [docs[each][name] for each in log.columns["id"]]
    by_name, by_path = (measure(str(A), filter="strict-match", by=by, group=g) for by, g in (("topic", "page"), ("doc.topic", "doc.page")))
    assert [s.measurement.rows for s in by_name.slices] == [s.measurement.rows for s in by_path.slices]
    assert {s.value for s in by_name.slices} == {"addition", "subtraction"}
    assert "units:10" in by_name.signature
    both = compare(str(A), str(B), filter="strict-match", by="topic")
    assert [part["value"] for part in both.slices] == ["addition", "subtraction"]


def test_nothing_of_the_document_has_a_role_unasked(tmp_path: Path) -> None:
    """A document with fields called passage, label or repeat makes no groups and no truths."""
    words = {"passage": "p", "label": 1, "repeat": 2, "id": "x", "score": 5, "model": "m"}
    folder = copy(A, tmp_path / "a", lambda row: {**row, "doc": {**row["doc"], **words}})
    source = open_source(str(folder), columns={"filter": "strict-match"})
    assert source.roles == {"id": "id", "score": "score"}


def test_labels_can_be_named(tmp_path: Path) -> None:
    found = measure(str(A), filter="flexible-extract", truth="target", prediction="response", metric="accuracy")
    assert found.rows[0].estimate == pytest.approx(theirs(A, "arith_gen", "exact_match", "flexible-extract"))
    assert not [said for said in found.warnings if "disagree" in said]


def test_the_name_comes_from_the_results_and_can_be_given(tmp_path: Path) -> None:
    assert open_source(str(A), columns={"filter": "strict-match"}).name == "model-a"
    assert open_source(f"mine={A}", columns={"filter": "strict-match"}).name == "mine"
    alone = shutil.copy(SAMPLES, tmp_path / SAMPLES.name)
    assert open_source(alone, columns={"filter": "strict-match"}).name == SAMPLES.name.removesuffix(".jsonl")


# ---- order, packing, versions: the same answer ---------------------------------------------------------------------------


def test_the_order_of_lines_means_nothing(tmp_path: Path) -> None:
    """Lines of several processes come rank by rank; the task hash is then another in the results, but not here."""
    shuffled = rows()
    random.Random(0).shuffle(shuffled)
    path = write(tmp_path / "samples_arith_gen_2026-01-01T00-00-00.jsonl", shuffled)
    one, other = read(str(A), STRICT), read(str(path), STRICT)
    assert dict(zip(one.columns["id"], one.columns["score"], strict=True)) == dict(
        zip(other.columns["id"], other.columns["score"], strict=True)
    )
    assert one.checks["task_hash"] == other.checks["task_hash"]


@pytest.mark.parametrize("way", ["strict-match", "flexible-extract"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_lines_without_filters_are_told_apart_by_their_place(way: str, ranks: int, tmp_path: Path) -> None:
    """As before 0.4.7: each process writes its documents once per filter, one process after the other."""
    folder = copy(A, tmp_path / "a")
    path = next(folder.glob("samples_*"))
    lines = rows(path)
    write(path, [old(row) for rank in range(ranks) for row in lines if row["doc_id"] % ranks == rank])
    found, expected = read(str(folder), Choices(filter=way)), read(str(A), Choices(filter=way))
    assert dict(zip(found.columns["id"], found.columns["score"], strict=True)) == dict(
        zip(expected.columns["id"], expected.columns["score"], strict=True)
    )
    assert found.chosen == expected.chosen


def test_without_filters_and_without_results_the_passes_are_listed(tmp_path: Path) -> None:
    path = write(tmp_path / "samples_arith_gen_2026-01-01T00-00-00.jsonl", [old(row) for row in rows()])
    with pytest.raises(AmbiguityError, match="pass 1, pass 2"):
        read(str(path), Choices())
    assert read(str(path), Choices(filter="pass 2")).columns["score"] == read(str(A), Choices(filter="flexible-extract")).columns["score"]


def test_one_filter_without_its_key_is_none(tmp_path: Path) -> None:
    folder = copy(FIRST, tmp_path / "first", old)
    found = read(str(folder), Choices(task="pairs_f1", score="f1"))
    assert found.chosen["filter"] == "none"
    assert found.columns["truth"] == read(str(FIRST), Choices(task="pairs_f1", score="f1")).columns["truth"]


def test_packed_samples_keep_their_name_and_their_results(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a")
    path = next(folder.glob("samples_*"))
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    for source in (packed, folder):
        found = measure(str(source), filter="strict-match")
        assert (found.name, found.rows[0].estimate) == ("model-a", pytest.approx(theirs(A, "arith_gen", "exact_match", "strict-match")))


def test_a_json_output_path(tmp_path: Path) -> None:
    """--output_path out/run.json: out/run_DATE.json, and the samples beside it."""
    folder = copy(A, tmp_path / "out")
    path = next(folder.glob("results_*"))
    path.rename(path.with_name(path.name.replace("results_", "run_")))
    assert read(str(folder), STRICT).name == "model-a"


# ---- missing, and the wrong documents --------------------------------------------------------------------------------------


@pytest.mark.parametrize("hole", ["N/A", None, math.nan])
def test_a_metric_that_says_nothing_is_missing(hole: Any, tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a", lambda row: {**row, "exact_match": hole} if row["doc_id"] in (3, 5) else row)
    with pytest.raises(DataError, match="2 of 40 items have no score"):
        measure(str(folder), filter="strict-match")
    kept = measure(str(folder), filter="strict-match", missing="drop")
    wrong = measure(str(folder), filter="strict-match", missing="wrong")
    right = [row["exact_match"] for row in rows() if row["filter"] == "strict-match" and row["doc_id"] not in (3, 5)]
    assert (kept.n, kept.rows[0].estimate) == (38, pytest.approx(sum(right) / 38))
    assert wrong.rows[0].estimate == pytest.approx(sum(right) / 40)
    assert any("2 of 40" in said for said in kept.warnings)


def test_a_metric_that_some_lines_lack_is_missing_there(tmp_path: Path) -> None:
    def without(row: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if key != "exact_match"} | {"metrics": []} if row["doc_id"] == 7 else row

    folder = copy(A, tmp_path / "a", without)
    assert read(str(folder), STRICT).columns["score"].count(None) == 1


def test_documents_that_the_file_lacks_are_missing_items(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a", lambda row: None if row["doc_id"] in (3, 39) else row)
    with pytest.raises(DataError, match="2 of 40 items have no score"):
        measure(str(folder), filter="strict-match")
    found = measure(str(folder), filter="strict-match", missing="drop")
    assert found.n == 38
    assert any("2 of the run's 40 documents" in said and "doc_id 3" in said for said in found.warnings)
    assert any("not as the run wrote it" in said for said in found.warnings)


def test_documents_chosen_by_hand_whose_ids_cannot_be_told_are_counted(tmp_path: Path) -> None:
    """--samples keeps the true places, so that the missing ones are anybody's guess."""
    folder = copy(A, tmp_path / "a", lambda row: None if row["doc_id"] == 3 else {**row, "doc_id": row["doc_id"] + 100})
    found = measure(str(folder), filter="strict-match")
    assert found.n == 39
    assert any("1 of the run's 40 documents" in said and "cannot be told" in said for said in found.warnings)


def test_other_documents_under_the_same_ids_are_not_paired(tmp_path: Path) -> None:
    other = copy(B, tmp_path / "b", lambda row: {**row, "doc_hash": "0" * 64} if row["doc_id"] == 4 else row)
    with pytest.raises(DataError, match=r"different documents.*'4'"):
        compare(str(A), str(other), filter="strict-match")
    assert compare(str(A), str(other), filter="strict-match", design="unpaired").n == 80


def test_another_average_is_told(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a")
    path = next(folder.glob("results_*"))
    told = results(folder)
    told["results"]["arith_gen"]["exact_match,strict-match"] = 0.5
    path.write_text(json.dumps(told), encoding="utf-8")
    assert any("0.575" in said and "0.5" in said and "not those that it averaged" in said for said in read(str(folder), STRICT).warnings)


def test_results_with_numbers_beyond_all_measure_are_told_or_refused(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a")
    path = next(folder.glob("results_*"))
    told = results(folder)
    told["results"]["arith_gen"]["exact_match,strict-match"] = 10**400
    path.write_text(json.dumps(told), encoding="utf-8")
    assert any("number of 'exact_match' is inf" in said for said in read(str(folder), STRICT).warnings)
    told["n-samples"]["arith_gen"]["effective"] = 10**18
    path.write_text(json.dumps(told), encoding="utf-8")
    with pytest.raises(SourceError, match=r"its results announce 1000000000000000000 documents, more than 10,000,000"):
        read(str(folder), STRICT)


def test_perplexity_of_single_numbers_is_exp_of_the_mean(tmp_path: Path) -> None:
    """The metric called perplexity (lambada) is logged as one log-likelihood; exp(-mean) in lm_eval/api/metrics.py."""
    folder = copy(A, tmp_path / "a", lambda row: {**row, "metrics": ["perplexity"], "perplexity": -1.0 - row["doc_id"] / 40})
    log = read(str(folder), STRICT)
    assert log.columns["minus_loglik"] == [1.0 + int(each) / 40 for each in log.columns["id"]]
    assert measure(str(folder), filter="strict-match").rows[0].estimate == pytest.approx(math.exp(1 + 39 / 80), rel=1e-12)


# ---- damage ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[:-40], "the last line .80. is cut off"),
        (lambda text: text.replace('"doc_id": 7,', '"doc_id": ,', 1), "line 8"),
        (lambda text: text.replace('"doc_id": 7,', "", 1), "line 8 has no doc_id"),
        (lambda text: text + text, "40 documents are there twice with the filter 'strict-match'.*two runs appended"),
        (lambda text: text + text.splitlines()[0].replace('"doc_hash": "', '"doc_hash": "f') + "\n", "mixes two tasks"),
        (lambda text: text.replace(', "filter": "strict-match"', "", 1), "79 of 80 lines name a filter"),
        (lambda text: text + "[]\n", "line 81 has no doc_id"),
        (lambda text: text.replace('"exact_match": 1.0}', '"exact_match": 1.0, "exact_match": 0.0}', 1), "'exact_match' twice"),
    ],
)
def test_damage_is_told_with_the_tool_and_the_line(damage: Callable[[str], str], said: str, tmp_path: Path) -> None:
    path = tmp_path / SAMPLES.name
    path.write_text(damage(SAMPLES.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(SourceError, match=said) as refusal:
        measure(str(path), filter="strict-match")
    assert "lm-evaluation-harness" in str(refusal.value)


def test_old_lines_appended_twice_are_more_passes_than_filters(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a", old)
    path = next(folder.glob("samples_*"))
    path.write_text(path.read_text(encoding="utf-8") * 2, encoding="utf-8")
    with pytest.raises(
        SourceError,
        match=r"as a log .*: doc_id 0 is there 4 times, .*for 2 filters",
    ):
        read(str(folder), STRICT)


def test_an_empty_file_and_results_alone(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a")
    path = next(folder.glob("samples_*"))
    path.write_text("", encoding="utf-8")
    with pytest.raises(SourceError, match="empty"):
        measure(str(folder), filter="strict-match")
    path.unlink()
    for source in (folder, next(folder.glob("results_*"))):
        with pytest.raises(
            SourceError, match=r"has results of lm-evaluation-harness but no samples: averages without items\..*--log_samples"
        ):
            measure(str(source))


def test_results_that_are_cut_off_are_not_passed_over(tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a")
    path = next(folder.glob("results_*"))
    path.write_text(path.read_text(encoding="utf-8")[:500], encoding="utf-8")
    with pytest.raises(SourceError, match=r"results_.*lm-evaluation-harness"):
        measure(str(folder), filter="strict-match")


SHAPES = "must be a number, a pair of labels, or a log-likelihood with its words or bytes; a document has "


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((value, f"{SHAPES}{value!r}") for value in (["the reference", "the answer"], {"a": 1}, "high", [1, [0.5, 0.5]], [1, 2, 3])),
        (math.inf, "has 40 infinite values, such as that of doc_id 0."),
    ],
)
def test_a_metric_of_another_shape_is_refused(value: Any, said: str, tmp_path: Path) -> None:
    folder = copy(A, tmp_path / "a", lambda row: {**row, "metrics": ["exact_match", "bleu"], "bleu": value})
    with pytest.raises(DataError, match=f"he metric 'bleu' of .*{re.escape(said)}"):
        read(str(folder), Choices(filter="strict-match", score="bleu"))


def test_random_damage_is_an_error_or_a_whole_answer(tmp_path: Path) -> None:
    """No traceback and no partial answer: what is read has every document of the file, or is refused."""
    whole = SAMPLES.read_bytes()
    draw = random.Random(7)
    answered = refused = 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(data))
            if draw.random() < 0.5:
                data[place] = draw.randrange(256)
            else:
                del data[place : place + draw.randint(1, 400)]
        path = tmp_path / SAMPLES.name
        path.write_bytes(bytes(data))
        try:
            log = read(str(path), STRICT)
        except SteelyardError:
            refused += 1
        else:
            answered += 1
            lines = [json.loads(line) for line in bytes(data).splitlines()]
            assert len(log.columns["id"]) == sum(line["filter"] == "strict-match" for line in lines)
    assert answered > 10
    assert refused > 10


# ---- the headline is the log's own metric, or a refusal ------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_the_logs_own_metric_is_measured_compared_recorded_and_checked(metric: str, tmp_path: Path) -> None:
    own = [theirs(folder, "pairs_f1", metric) for folder in (FIRST, SECOND)]
    choice = {"log_task": "pairs_f1", "score": metric}
    found = measure(str(FIRST), **choice)
    assert (found.row.metric, found.row.estimate) == (metric, pytest.approx(own[0], abs=1e-12))
    difference = compare(str(FIRST), str(SECOND), **choice)
    assert difference.metric == metric
    assert difference.difference.estimate == pytest.approx(own[1] - own[0], abs=1e-12)
    about = {"task": "t", "model": "m", "directory": tmp_path}
    kept = record(str(FIRST), **about, **choice)
    assert (kept.metric, kept.value) == (metric, pytest.approx(own[0], abs=1e-12))
    verdict = check(str(SECOND), **about, **choice)
    assert (verdict.metric, verdict.candidate["value"]) == (metric, pytest.approx(own[1], abs=1e-12))


def test_a_log_is_not_judged_by_a_reference_of_another_metric(tmp_path: Path) -> None:
    about = {"task": "t", "model": "m", "directory": tmp_path, "log_task": "pairs_f1"}
    record(str(FIRST), **about, score="acc")
    with pytest.raises(DataError, match=r"own number is mcc, but the reference is of accuracy.*metric='accuracy'"):
        check(str(FIRST), **about, score="mcc")
    assert check(str(FIRST), **about, score="mcc", metric="accuracy").candidate["value"] == theirs(FIRST, "pairs_f1", "acc")
    with pytest.raises(DataError, match="own number is mcc"):
        record(str(FIRST), **about, score="mcc", update=True)


def told_by(folder: Path, task: str, metric: str, value: float, aggregation: str | None = None) -> None:
    """The results of a run with another number of a metric, and another way to it."""
    path = next(folder.glob("results_*"))
    told = json.loads(path.read_text(encoding="utf-8"))
    told["results"][task][f"{metric},none"] = value
    for one in told["configs"][task]["metric_list"]:
        if one["metric"] == metric:
            one.pop("aggregation", None)
            one |= {} if aggregation is None else {"aggregation": aggregation}
    path.write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.parametrize(
    ("aggregation", "value", "said"),
    [
        ("median", 0.0, "by median"),
        ("median", 0.3, "by median"),  # equal to the mean here, and another quantity all the same
        ("def worst(items):\n    return min(items)\n", 0.0, "a function of the task's own"),
        (None, 0.0, "the mean of the items is 0.3"),
    ],
)
def test_what_is_no_mean_of_items_is_refused_unless_a_metric_is_named(
    aggregation: str | None, value: float, said: str, tmp_path: Path
) -> None:
    folder = copy(FIRST, tmp_path / "a")
    told_by(folder, "colour_mc", "acc", value, aggregation)
    choice: dict[str, Any] = {"log_task": "colour_mc", "score": "acc"}
    about: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path / "references"}
    for ask in (lambda: measure(str(folder), **choice), lambda: compare(str(folder), str(folder), **choice),
                lambda: record(str(folder), **about, **choice)):  # fmt: skip
        with pytest.raises(DataError, match=f"{said}.*metric='mean'"):
            ask()
    assert measure(str(folder), **choice, metric="mean").row.estimate == pytest.approx(0.3)
    record(str(folder), **about, **choice, metric="mean")
    assert check(str(folder), **about, **choice).verdict == "pass"


def test_a_function_of_the_tasks_own_that_takes_the_mean_is_a_mean(tmp_path: Path) -> None:
    folder = copy(FIRST, tmp_path / "a")
    told_by(folder, "colour_mc", "acc", 0.3, "def own(items):\n    return sum(items) / len(items)\n")
    assert measure(str(folder), log_task="colour_mc", score="acc").row.estimate == pytest.approx(0.3)


def three_classes(row: dict[str, Any]) -> dict[str, Any]:
    return row if "f1" not in row else {**row, "f1": [row["f1"][0] + (row["doc_id"] % 5 == 0), row["f1"][1] + (row["doc_id"] % 7 == 0)]}


def test_an_f1_of_several_classes_is_the_average_that_gives_the_tools_number(tmp_path: Path) -> None:
    folder = copy(FIRST, tmp_path / "a", three_classes)
    choice = {"log_task": "pairs_f1", "score": "f1"}
    with pytest.raises(DataError, match="the macro_f1 of its labels is"):
        measure(str(folder), **choice)
    for name in ("macro_f1", "weighted_f1"):
        value = measure(str(folder), **choice, metric=name).row.estimate
        told_by(folder, "pairs_f1", "f1", value)
        found = measure(str(folder), **choice)
        assert (found.row.metric, found.row.estimate) == (name, pytest.approx(value))
    alone = next(folder.glob("samples_pairs_f1*")).rename(tmp_path / "alone.jsonl")
    with pytest.raises(DataError, match="which f1 of several classes"):
        measure(str(alone), score="f1")


def test_labels_of_a_metric_that_nobody_knows_need_a_name(tmp_path: Path) -> None:
    folder = copy(FIRST, tmp_path / "a", lambda row: {**row, "metrics": [*row["metrics"], "odd"], "odd": row["f1"]} if "f1" in row else row)
    with pytest.raises(DataError, match=r"does not say how .* puts the labels of 'odd' together"):
        measure(str(folder), log_task="pairs_f1", score="odd")
    assert measure(str(folder), log_task="pairs_f1", score="odd", metric="accuracy").row.estimate == theirs(FIRST, "pairs_f1", "acc")


def test_an_edited_perplexity_is_told(tmp_path: Path) -> None:
    folder = copy(FIRST, tmp_path / "a")
    told_by(folder, "notes_ppl", "word_perplexity", 7.0)
    assert any("reports 7 as" in said for said in measure(str(folder), log_task="notes_ppl", score="word_perplexity").warnings)
