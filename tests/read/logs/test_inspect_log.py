"""Inspect logs: the tool's own numbers, epochs, groups, scorers, runs that died, and archives that are not what they say.

The logs are of inspect-ai 0.3.285 (tests/fixtures/make/inspect_logs.py); own.json has what it computed itself.
"""

from __future__ import annotations

import json
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from steelyard.errors import AmbiguityError, DataError, SourceError, SteelyardError, UsageError
from steelyard.questions.measure.measure import measure
from steelyard.read.files.paths import zstd_stream
from steelyard.read.logs import inspect_files as inspect_zip
from steelyard.read.logs.inspect_files import Archive
from steelyard.read.logs.inspect_log import looks_like, read
from steelyard.read.logs.log import Choices, Log
from unpackers import UNPACKERS, only_unpacker

pytestmark = pytest.mark.usefixtures("shared_engine")
LOGS = Path(__file__).parent / "inspect"
OWN = json.loads((LOGS / "own.json").read_text())
T_39, T_7 = 2.0226909200367604, 2.3646242515927844  # R 4.3: qt(.975, 39), qt(.975, 7)


def log(name: str, **asked: str) -> Log:
    return read(str(LOGS / name), Choices(**asked))


def own(name: str, score: str, metric: str, **params: str) -> float:
    """The tool's own value."""
    (value,) = [r["value"] for r in OWN[name] if (r["name"], r["metric"], r["params"]) == (score, metric, params)]
    return value


def parts(name: str) -> dict[str, bytes]:
    archive = Archive(str(LOGS / name))
    return {each: archive.read(each) for each in archive.names}


def packed(path: Path, members: dict[str, Any]) -> str:
    """An archive of these members; what is not bytes is written as JSON."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data if isinstance(data, bytes) else json.dumps(data))
    return str(path)


def run_of(values: list[Any], **more: Any) -> dict[str, Any]:
    """A small finished run of one scorer, 'judge', with these values."""
    rows = [
        {"id": i, "epoch": 1, "target": "x", "metadata": {}, "scores": {"judge": {"value": v, "answer": "y"}}} for i, v in enumerate(values)
    ]
    spec = {"task": "t", "model": "m", "dataset": {"sample_ids": list(range(len(values)))}, "config": {"epochs": 1}}
    return {"header.json": {"version": 2, "status": "success", "eval": spec, **more}, "summaries.json": rows}


def head(path: str | Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(4096)


# ---- the tool's own numbers --------------------------------------------------------------------------------------------


def test_three_scorers_are_refused_and_listed() -> None:
    with pytest.raises(AmbiguityError, match=r"has 3 scorers: match, closeness, parts\. Hint: scorer='match'"):
        log("arith.eval")
    with pytest.raises(AmbiguityError, match=r"has 2 scores: right, length\. Hint: score='right'"):
        log("arith.eval", scorer="parts")
    with pytest.raises(UsageError, match=r"No scorer 'exact' in .*; it has match, closeness, parts\."):
        log("arith.eval", scorer="exact")
    with pytest.raises(UsageError, match=r"No score 'wrong' in .*; it has right, length\."):
        log("arith.eval", scorer="parts", score="wrong")


@every("name", ["arith", "arith_b"])
@every(
    ("asked", "score", "metric"),
    [
        ({"scorer": "match"}, "match", "accuracy"),
        ({"scorer": "closeness"}, "closeness", "mean"),
        ({"scorer": "parts", "score": "right"}, "right", "mean"),
        ({"scorer": "parts", "score": "length"}, "length", "mean"),
    ],
)
def test_the_estimate_is_inspects_own(name: str, asked: dict[str, str], score: str, metric: str) -> None:
    found = log(f"{name}.eval", **asked)
    assert found.warnings == ()  # so the check against the results in the header agreed as well
    assert len(found.columns["id"]) == 120
    assert sorted(set(found.columns["repeat"])) == [1, 2, 3]
    answer = sy.measure(dict(found.columns)).to_dict()
    assert answer["metrics"][0]["estimate"] == pytest.approx(own(name, score, metric), abs=1e-12)
    assert found.chosen == asked


def test_epochs_are_repeats_and_clusters_are_groups() -> None:
    """The half-width over Student's t is Inspect's stderr: over the means of samples, and over its clusters."""
    columns = dict(log("arith.eval", scorer="closeness").columns)
    for options, quantile, params in (({}, T_39, {}), ({"group": "metadata.passage"}, T_7, {"cluster": "passage"})):
        interval = sy.measure(columns, interval="t", **options).to_dict()["metrics"][0]["interval"]
        assert (interval["high"] - interval["low"]) / 2 / quantile == pytest.approx(own("arith", "closeness", "stderr", **params), rel=1e-9)


def test_errored_and_unscored_samples_are_counted() -> None:
    found = log("troubled.eval", scorer="graded")
    assert found.columns["score"].count(None) == 7
    assert found.warnings == (
        "3 of 40 samples errored: RuntimeError('the endpoint did not answer') (3)",
        "4 of 40 samples have no score from 'graded': grader_refusal (4)",
    )
    with pytest.raises(DataError, match="7 of 40 items have no score"):
        sy.measure(dict(found.columns))
    for score in ("graded", "verdict"):
        answer = sy.measure(dict(log("troubled.eval", scorer=score).columns), missing="drop").to_dict()
        assert answer["metrics"][0]["estimate"] == pytest.approx(own("troubled", score, "accuracy"), abs=1e-12)


def test_letters_and_words() -> None:
    found = log("troubled.eval", scorer="graded").columns
    by_id = {(i, e): s for i, e, s in zip(found["id"], found["repeat"], found["score"], strict=True)}
    assert [by_id[str(i), 1] for i in (8, 1, 2, 3, 9, 4)] == [1, 0, 0.5, 0, None, None]  # C, I, P, N, unscored, errored
    assert by_id["4", 2] == 1
    words = log("troubled.eval", scorer="verdict").columns
    assert set(words["score"]) == {0, 1, None}


def test_a_log_of_errors_alone() -> None:
    found = log("failed.eval")
    assert found.columns["score"].count(None) == 5
    assert found.warnings[0].startswith(
        "the run ended with the status 'error' (RuntimeError('the endpoint did not answer')): 2 of 6 samples"
    )


# ---- every way of packing gives the same --------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"scorer": "match"}, {"scorer": "parts", "score": "length"}])
def test_deflated_is_zstd(asked: dict[str, str]) -> None:
    methods = {info.compress_type for name in ("arith.eval", "deflated.eval") for info in zipfile.ZipFile(LOGS / name).infolist()}
    assert methods == {8, 93}
    assert log("deflated.eval", **asked) == log("arith.eval", **asked)


@pytest.mark.parametrize("scorer", ["graded", "verdict"])
def test_stored_and_json_are_zstd(scorer: str) -> None:
    """The .json log is of another run of the same task, with full samples, in the order of the epochs."""
    zstd, stored, plain = (log(name, scorer=scorer) for name in ("troubled.eval", "stored.eval", "troubled.json"))
    assert stored == zstd
    assert {info.compress_type for info in zipfile.ZipFile(LOGS / "stored.eval").infolist()} == {0}
    assert by_key(plain) == by_key(zstd)
    assert (plain.name, plain.chosen, plain.checks, plain.warnings) == (zstd.name, zstd.chosen, zstd.checks, zstd.warnings)


def by_key(found: Log) -> dict[tuple[str, int], dict[str, Any]]:
    rows = [dict(zip(found.columns, row, strict=True)) for row in zip(*found.columns.values(), strict=True)]
    return {(row["id"], row["repeat"]): row for row in rows}


def test_several_frames_in_one_member() -> None:
    archive = Archive(str(LOGS / "arith_b.eval"))
    raw = archive._packed(archive._members["summaries.json"])
    assert raw.count(b"\x28\xb5\x2f\xfd") > 1
    assert len(json.loads(archive.read("summaries.json"))) == 120


@pytest.mark.parametrize("package", [*UNPACKERS, "duckdb"])
def test_zstd_by_each_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed unpacks the same; DuckDB unpacks the text where nothing else can."""
    expected = {name: parts(name) for name in ("arith.eval", "arith_b.eval")}
    only_unpacker(package, monkeypatch)
    assert (zstd_stream(b"") is None) == (package == "duckdb")
    assert {name: parts(name) for name in expected} == expected


# ---- columns, names and checks -------------------------------------------------------------------------------------------


def test_columns_and_checks() -> None:
    found = log("arith.eval", scorer="match")
    assert list(found.columns) == [
        "id",
        "repeat",
        "score",
        "sample.target",
        "sample.answer",
        "metadata.passage",
        "metadata.digits",
        "metadata.hard",
    ]
    assert found.columns["id"][:2] == ["1", "2"]
    assert (found.name, found.tool) == ("mockllm/model-a", "Inspect AI")
    other = log("arith_b.eval", scorer="match")
    assert other.name == "mockllm/model-b"
    assert other.checks == found.checks
    assert {name: found.checks[name] for name in ("task", "task_version", "dataset", "scorer")} == {
        "task": "arith",
        "task_version": "2",
        "dataset": "sums",
        "scorer": "match",
    }
    assert log("troubled.eval", scorer="graded").checks["sample_ids"] != found.checks["sample_ids"]
    assert log("arith.eval", scorer="parts", score="right").checks["scorer"] == "parts: right"


def test_target_and_answer_are_not_taken_for_labels() -> None:
    answer = sy.measure(dict(log("arith.eval", scorer="match").columns)).to_dict()
    assert [row["metric"] for row in answer["metrics"]] == ["accuracy"]


def test_one_epoch_has_no_repeat_column(tmp_path: Path) -> None:
    found = read(packed(tmp_path / "one.eval", run_of([1, 0.5, True])), Choices())
    assert found.columns == {"id": ["0", "1", "2"], "score": [1, 0.5, 1], "sample.target": ["x"] * 3, "sample.answer": ["y"] * 3}


def test_task_and_model_that_were_asked_for() -> None:
    assert log("arith.eval", scorer="match", task="arith", model="model-a").name == "mockllm/model-a"
    with pytest.raises(UsageError, match=r"No task 'gsm8k' in .*; it has arith\."):
        log("arith.eval", scorer="match", task="gsm8k")
    with pytest.raises(UsageError, match=r"No filter 'strict-match' in .*; it has no filter\."):
        log("arith.eval", scorer="match", filter="strict-match")
    with pytest.raises(UsageError, match=r"No score 'f1' in .*; it has match\."):
        log("arith.eval", scorer="match", score="f1")


# ---- values ----------------------------------------------------------------------------------------------------------------


def test_values_as_inspect_takes_them(tmp_path: Path) -> None:
    """inspect_ai 0.3.285, value_to_float()(v) for each: 1, 0, .5, 0, 1, 0, 1, 0, 1, 1, 2.5, -3; NaN and null are not scored."""
    values = ["C", "I", "P", "N", "Yes", "no", "TRUE", "false", True, 1, "2.5", -3, float("nan"), None]
    found = read(packed(tmp_path / "v.eval", run_of(values)), Choices())
    assert found.columns["score"] == [1, 0, 0.5, 0, 1, 0, 1, 0, 1, 1, 2.5, -3, None, None]
    assert found.warnings == ("2 of 14 samples have no score from 'judge'",)


@pytest.mark.parametrize("value", ["A", "", "1_000", "nan", "c", float("inf"), "1e999", pytest.param(10**400, id="huge")])
def test_a_value_without_a_meaning_is_refused(tmp_path: Path, value: Any) -> None:
    """Inspect takes such texts for 0, with a line in its own log."""
    with pytest.raises(DataError, match=r"must give a finite number.*in sample '1', epoch 1"):
        read(packed(tmp_path / "v.eval", run_of([1, value])), Choices())


def test_lists_and_keys_that_are_missing(tmp_path: Path) -> None:
    path = packed(tmp_path / "v.eval", run_of([[1, 0.25], [0, "P"], float("nan")]))
    assert read(path, Choices(score="1")).columns["score"] == [0.25, 0.5, None]
    path = packed(tmp_path / "d.eval", run_of([{"a": 1, "b": None}, {"a": 0}]))
    assert read(path, Choices(score="b")).columns["score"] == [None, None]
    with pytest.raises(DataError, match=r"The scorer 'judge' of .* gives several values for 1 samples and one value for 1\."):
        read(packed(tmp_path / "m.eval", run_of([{"a": 1}, 1])), Choices())


def test_an_errored_sample_that_was_scored_counts(tmp_path: Path) -> None:
    """With `score_on_error` Inspect's metrics have them too."""
    run = run_of([1, 0])
    run["summaries.json"][1]["error"] = "timed out"
    found = read(packed(tmp_path / "s.eval", run), Choices())
    assert found.columns["score"] == [1, 0]
    assert found.warnings == (
        "1 of 2 samples errored: timed out",
        "1 samples that errored have a score all the same; it counts, as in Inspect",
    )


def test_results_that_disagree_are_told(tmp_path: Path) -> None:
    """A scorer whose letters mean something else, or scores edited later."""

    def results(value: float, reducer: str | None) -> dict[str, Any]:
        metrics = {"accuracy2": {"name": "inspect_ai/accuracy", "value": value}}
        return {"results": {"scores": [{"scorer": "judge", "name": "judge", "reducer": reducer, "metrics": metrics}]}}

    for value, reducer, said in (
        (0.25, None, ("Inspect's own mean of 'judge' is 0.25, that of the samples in the log is 0.5",)),
        (0.5, "mean", ()),
        (1, "mean", ("Inspect's own mean of 'judge' is 1, that of the samples in the log is 0.5",)),
    ):
        assert read(packed(tmp_path / "r.eval", run_of(["C", "I"], **results(value, reducer))), Choices()).warnings == said


def of_metrics(reducer: str | None = None, **metrics: float) -> dict[str, Any]:
    named = {name: {"name": name, "value": value} for name, value in metrics.items()}
    return {"results": {"scores": [{"scorer": "judge", "name": "judge", "reducer": reducer, "metrics": named}]}}


@pytest.mark.parametrize(
    ("results", "said"),
    [
        (of_metrics(median=1.0, stderr=0.5), r"own number of 'judge' is median \(1\), and the mean of the samples is 0.5"),
        (of_metrics("mode", accuracy=0.25), r"reduced the epochs of 'judge' by mode \(0.25\)"),
    ],
)
def test_a_scorer_that_is_about_no_mean_is_refused_unless_a_metric_is_named(results: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = packed(tmp_path / "r.eval", run_of(["C", "I"], **results))
    with pytest.raises(DataError, match=said):
        measure(path)
    assert measure(path, metric="mean").row.estimate == 0.5


def test_a_metric_of_its_own_that_is_the_mean_is_one(tmp_path: Path) -> None:
    assert measure(packed(tmp_path / "r.eval", run_of(["C", "I"], **of_metrics(share=0.5)))).row.estimate == 0.5


def test_epochs_reduced_by_pass_at_k_are_measured_as_such(tmp_path: Path) -> None:
    run = run_of(["C", "I"], **of_metrics("pass_at_2", accuracy=0.5))
    run["summaries.json"] += [{**row, "epoch": 2} for row in run["summaries.json"]]
    found = measure(packed(tmp_path / "r.eval", run))
    assert (found.row.metric, found.row.estimate) == ("pass@2", 0.5)


# ---- runs that did not end ---------------------------------------------------------------------------------------------------


def test_a_run_that_died() -> None:
    """The process was ended in sample 9 of 12, two epochs: the journal has eight, the rest is missing, not gone."""
    assert "header.json" not in parts("died.eval")
    found = log("died.eval")
    assert found.warnings == ("the run has not ended, or it died: 8 of 24 samples are in the log, the other 16 are counted as missing",)
    assert len(found.columns["score"]) == 24
    assert found.columns["score"].count(None) == 16
    known = dict(zip(found.columns["id"], found.columns["metadata.passage"], strict=True))
    assert known["3"] == "p3"  # epoch 2 of a sample whose epoch 1 is there
    assert known["12"] is None
    with pytest.raises(DataError, match="16 of 24 items have no score"):
        sy.measure(dict(found.columns))
    assert sy.measure(dict(found.columns), missing="drop").to_dict()["n"] == 8


def test_summaries_lost_or_never_written(tmp_path: Path) -> None:
    whole = parts("troubled.eval")
    expected = log("troubled.eval", scorer="graded")
    journal = {name: data for name, data in whole.items() if name != "summaries.json"}
    assert read(packed(tmp_path / "j.eval", journal), Choices(scorer="graded")) == expected
    rows = json.loads(whole["summaries.json"])
    samples = {f"samples/{row['id']}_epoch_{row['epoch']}.json": row for row in rows}
    full = {"header.json": whole["header.json"], **samples}
    assert read(packed(tmp_path / "s.eval", full), Choices(scorer="graded")) == expected
    bare = read(packed(tmp_path / "b.eval", {"header.json": whole["header.json"]}), Choices(scorer="graded"))
    assert set(bare.columns["score"]) == {None}
    assert bare.warnings[0] == "0 of 40 samples are in the log, the other 40 are counted as missing"


def test_no_sample_at_all(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"The log .* has no samples\."):
        read(packed(tmp_path / "e.eval", run_of([])), Choices())


def test_ids_unknown_the_number_is_told(tmp_path: Path) -> None:
    run = run_of([1, 0])
    run["header.json"]["eval"]["dataset"] = {"samples": 5}
    said = "2 of 5 samples are in the log; it does not name the others, so they are not counted"
    assert read(packed(tmp_path / "n.eval", run), Choices()).warnings == (said,)
    run["header.json"]["eval"]["config"]["limit"] = 2  # `samples` is the number before the limit: inspect-ai 0.3.285
    assert read(packed(tmp_path / "n.eval", run), Choices()).warnings == ()


def test_the_same_sample_twice(tmp_path: Path) -> None:
    run = run_of([1, 0])
    rows = run["summaries.json"]
    with pytest.raises(DataError, match=r"the sample '1' twice in epoch 1"):
        read(packed(tmp_path / "t.eval", {**run, "summaries.json": [*rows, {**rows[1], "id": "1"}]}), Choices())
    first = {**rows[1], "error": "timed out", "scores": {}}
    found = read(packed(tmp_path / "t.eval", {**run, "summaries.json": [rows[0], first, rows[1]]}), Choices())
    assert found.columns["score"] == [1, 0]
    assert found.warnings == ("1 attempts that errored gave way to a later one",)


# ---- what it is not -------------------------------------------------------------------------------------------------------------


@every("name", ["arith.eval", "deflated.eval", "stored.eval", "died.eval", "failed.eval", "troubled.json"])
def test_looks_like_a_log(name: str) -> None:
    assert looks_like(str(LOGS / name), head(LOGS / name))


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 2, "results": []}',
        '[{"version": 2, "status": "success", "eval": {}}]',
        '{"eval": [1], "samples": [2], "version": [2], "status": [1]}',
        '{"version": 2, "status": "fine", "eval": {}}',
        "id,score\n1,1\n",
        "",
    ],
)
def test_does_not_look_like_a_log(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    assert not looks_like(str(path), head(path))


def test_another_zip(tmp_path: Path) -> None:
    path = packed(tmp_path / "book.xlsx", {"[Content_Types].xml": b"<Types/>", "xl/workbook.xml": b"<workbook/>"})
    assert not looks_like(path, head(path))
    with pytest.raises(SourceError, match=r"it has \[Content_Types\]\.xml, xl/workbook\.xml\)"):
        read(path, Choices())


def test_a_directory_of_logs(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "listing.json").write_text("{}")
    assert not looks_like(str(folder), b"")
    packed(folder / "a.eval", run_of([1, 0]))
    assert looks_like(str(folder), b"")
    assert read(str(folder), Choices()).columns["score"] == [1, 0]
    packed(folder / "b.eval", run_of([1, 1]))
    with pytest.raises(AmbiguityError, match=r"has 2 runs of 't': a\.eval, b\.eval\. Hint: give its path: .*b\.eval"):
        read(str(folder), Choices())


# ---- damage -----------------------------------------------------------------------------------------------------------------------


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "cut.eval"
    path.write_bytes((LOGS / "arith.eval").read_bytes()[:-100])
    assert looks_like(str(path), head(path))
    with pytest.raises(SourceError, match=r"The Inspect log .* is damaged or cut off \(File is not a zip file\)\."):
        read(str(path), Choices())
    text = (LOGS / "troubled.json").read_bytes()
    (tmp_path / "cut.json").write_bytes(text[: len(text) // 2])
    with pytest.raises(SourceError, match=r"the file is damaged"):
        read(str(tmp_path / "cut.json"), Choices())


@pytest.mark.parametrize("name", ["arith.eval", "deflated.eval", "stored.eval"])
def test_a_member_with_other_bytes(tmp_path: Path, name: str) -> None:
    """A byte turned inside the summaries: the checksum or the unpacker tells."""
    content = bytearray((LOGS / name).read_bytes())
    archive = Archive(str(LOGS / name))
    info = archive._members["summaries.json"]
    content[info.header_offset + 30 + len("summaries.json") + info.compress_size // 2] ^= 0x55
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"Cannot unpack 'summaries\.json' of the Inspect log .*(its checksum|the archive lists)"):
        read(str(path), Choices(scorer="match"))


def patched(tmp_path: Path, offset: int, form: str, *values: int) -> str:
    """deflated.eval with other facts about summaries.json in the directory (APPNOTE 4.3.12)."""
    content = bytearray((LOGS / "deflated.eval").read_bytes())
    at = content.index(b"summaries.json", content.index(b"PK\x01\x02")) - 46
    while bytes(content[at + 46 :][:15]) != b"summaries.jsonP" or content[at : at + 4] != b"PK\x01\x02":
        at = content.index(b"summaries.json", at + 47) - 46
    struct.pack_into(form, content, at + offset, *values)
    path = tmp_path / "patched.eval"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("offset", "form", "values", "said"),
    [
        (24, "<I", (0xFFFFFFF0,), r"would become 4,294,967,280, more than 2,147,483,648"),
        (24, "<I", (1 << 30,), r"would become 1,073,741,824, .*1000 times"),
        (24, "<I", (100,), r"it has 101 bytes, but the archive lists 100"),
        (20, "<I", (200,), r"it has .* bytes, but the archive lists"),
        (20, "<I", (1 << 24,), r"the member goes on after the end of the file"),
        (10, "<H", (12,), r"compression method 12 is not supported"),
        (8, "<H", (1,), r"it is encrypted"),
        (42, "<I", (3,), r"no member at byte 3"),
    ],
)
def test_a_directory_that_lies(tmp_path: Path, offset: int, form: str, values: tuple[int, ...], said: str) -> None:
    with pytest.raises(SourceError, match=rf"Cannot unpack 'summaries\.json' .*{said}"):
        read(patched(tmp_path, offset, form, *values), Choices(scorer="match"))


def test_a_bomb_that_declares_little(tmp_path: Path) -> None:
    """64 MB of blanks that call themselves 10 bytes: no more than 11 are unpacked."""
    import pyarrow as pa

    bomb = bytes(1 << 26)
    for unpack, data in ((inspect_zip._zstd, pa.compress(bomb, codec="zstd", asbytes=True)), (inspect_zip._deflated, deflate(bomb))):
        assert unpack(data, 10) == bytes(11)


def deflate(data: bytes) -> bytes:
    import zlib

    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"header.json": b"{"}, "header.json is damaged"),
        ({"header.json": b"[]"}, "'header.json' is not a JSON object"),
        ({"header.json": b"{}"}, "its header has no 'eval'"),
        ({"header.json": b'{"eval": {}, "eval": {}}'}, "the key 'eval' twice in one object"),
        ({"header.json": b'{"eval": {"x": "\xff"}}'}, "header.json is damaged"),
        ({"header.json": b'{"eval": ' + b"[" * 100_000}, "nested too deeply"),
        (
            {"header.json": {"eval": {"dataset": {"sample_ids": [1]}, "config": {"epochs": 10**15}}}, "summaries.json": b"[]"},
            "announces 1 samples in 1,000,000,000,000,000 epochs",
        ),
        ({"header.json": {"eval": {}}, "summaries.json": b"{}"}, "'summaries.json' is not a list"),
        ({"header.json": {"eval": {}}, "summaries.json": b"[1]"}, "sample 1 has no id or no epoch"),
        ({"header.json": {"eval": {}}, "summaries.json": b'[{"id": 1}]'}, "sample 1 has no id or no epoch"),
        ({"header.json": {"eval": {}}, "summaries.json": b'[{"id": 1, "epoch": 1}]'}, r"has no scorer\."),
    ],
)
def test_an_archive_of_nonsense(tmp_path: Path, members: dict[str, Any], said: str) -> None:
    with pytest.raises(SteelyardError, match=said):
        read(packed(tmp_path / "n.eval", members), Choices())


def test_random_damage_is_an_error_or_changes_nothing(tmp_path: Path) -> None:
    """400 archives with bytes turned or cut: our own errors, or the same scores; never a traceback, never other numbers."""
    draw = random.Random(0)
    whole = {name: (LOGS / name).read_bytes() for name in ("troubled.eval", "stored.eval")}
    expected = {name: log(name, scorer="graded").columns["score"] for name in whole}
    path = tmp_path / "damaged.eval"
    told = 0
    for _ in range(400):
        name = draw.choice(list(whole))
        content = bytearray(whole[name])
        for _ in range(draw.randint(1, 4)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        path.write_bytes(content if draw.random() < 0.8 else content[: draw.randrange(len(content))])
        try:
            assert read(str(path), Choices(scorer="graded")).columns["score"] == expected[name]
        except SteelyardError:
            told += 1
    assert told > 100


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["value", "judge", "name", "a"]), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["id", "epoch", "scores", "metadata", "target", "error", "limit"])
SPEC = st.sampled_from(["task", "task_version", "model", "dataset", "config", "scorers"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=st.dictionaries(SPEC, JSON), row=st.dictionaries(FIELDS, JSON), results=JSON, ids=JSON, epochs=JSON)
def test_any_json_is_read_or_refused(tmp_path: Path, spec: Any, row: Any, results: Any, ids: Any, epochs: Any) -> None:
    run = run_of([1, 0], results={"scores": [{"scorer": "judge", "name": "judge", "metrics": {"m": results}}, results]}, error=results)
    run["header.json"]["eval"] |= {"dataset": {"sample_ids": ids}, "config": {"epochs": epochs}} | spec
    run["summaries.json"][1] |= row
    try:
        found = read(packed(tmp_path / "any.eval", run), Choices())
    except SteelyardError:
        return
    lengths = {len(column) for column in found.columns.values()}
    assert len(lengths) == 1
    assert lengths.pop() >= 2
    assert all(score is None or abs(score) < float("inf") for score in found.columns["score"])


# ---- through the door --------------------------------------------------------------------------------------------------------------


def test_measure_a_log() -> None:
    path = LOGS / "arith.eval"
    with pytest.raises(AmbiguityError, match=r"has 3 scorers: match, closeness, parts\. Hint: scorer='match'"):
        sy.measure(path)
    answer = sy.measure(path, scorer="match").to_dict()
    assert answer["n"] == 40
    assert answer["metrics"][0]["estimate"] == pytest.approx(own("arith", "match", "accuracy"), abs=1e-12)
    assert "design:repeats" in answer["signature"]
    grouped = sy.measure(path, scorer="parts", score="right", group="metadata.passage").to_dict()
    assert grouped["metrics"][0]["estimate"] == pytest.approx(own("arith", "right", "mean"), abs=1e-12)
    assert "units:8" in grouped["signature"]


def test_measure_by_metadata() -> None:
    slices = sy.measure(LOGS / "arith.eval", scorer="closeness", by="metadata.hard").to_dict()["slices"]
    assert len(slices) == 2
    assert slices[0]["measurement"]["n"] + slices[1]["measurement"]["n"] == 40


def test_compare_two_logs() -> None:
    answer = sy.compare(LOGS / "arith.eval", LOGS / "arith_b.eval", scorer="match", group="metadata.passage").to_dict()
    assert answer["difference"]["estimate"] == pytest.approx(
        own("arith_b", "match", "accuracy") - own("arith", "match", "accuracy"), abs=1e-12
    )
    assert (answer["baseline"]["name"], answer["candidate"]["name"]) == ("mockllm/model-a", "mockllm/model-b")


def test_what_the_log_lacks_is_in_the_answer() -> None:
    answer = sy.measure(LOGS / "died.eval", missing="drop").to_dict()
    assert answer["n"] == 8
    assert any("8 of 24 samples are in the log" in said for said in answer["warnings"])
