"""The JSON and Parquet behind the logs, and what every reader here owes: only errors that advise, whatever the file holds."""

from __future__ import annotations

import copy
import gzip
import importlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import DataError, SourceError, SteelyardError
from steelyard.read.logs.documents import digest, document, objects, occurrences, scalars
from steelyard.read.logs.log import Choices, Log
from steelyard.read.logs.parquet_rows import has_names, parquet_rows

pytestmark = pytest.mark.usefixtures("shared_engine")
LOGS = Path(__file__).parent
PARQUET = "lighteval/details/steel/model-a/2026-11-16T00-00-00.000000/details_sums_0_2026-11-16T00-00-00.000000.parquet"
# (reader, file, what to choose): one of each shape of file
CASES = [
    ("promptfoo", "promptfoo/one.json", {}),
    ("promptfoo", "promptfoo/lines.jsonl", {"score": "right"}),
    ("promptfoo", "promptfoo/full.json", {"model": "model-b", "prompt": "completion", "score": "sure"}),
    ("helm", "helm/a/per_instance_stats.json", {"score": "exact_match"}),
    ("helm", "helm/perturbed/per_instance_stats.json", {"score": "exact_match"}),
    ("openai_evals", "openai_evals/fuzzy.jsonl", {"score": "f1_score"}),
    ("openai_evals", "openai_evals/careful.jsonl", {}),
    ("every_eval_ever", "every_eval_ever/levels_samples.jsonl", {}),
    ("every_eval_ever", "every_eval_ever/levels.json", {}),
    ("every_eval_ever", "every_eval_ever/arith.json", {"score": "exact_match:strict-match"}),
    ("deepeval_run", "deepeval_run/two_metrics.json", {"score": "helpfulness"}),
    ("deepeval_run", "deepeval_run/conversation.json", {}),
    ("mlflow_table", "mlflow_table/eval_results_table.json", {"score": "exact"}),
    ("mlflow_table", "mlflow_table/genai.json", {"score": "close"}),
    ("mlflow_table", "mlflow_table/genai.jsonl", {"score": "close"}),
    ("mlflow_table", "mlflow_table/genai.parquet", {"score": "close"}),
    ("lighteval", PARQUET, {"score": "em"}),
]
READERS = sorted({case[0] for case in CASES})
HOSTILE: list[Any] = [None, True, 10**400, -(10**30), 1e308, "", "\x1b[2J\u202e", "\ud800", [], {}, [[[]]], {"a": {"b": [1]}}, "a" * 5000]


def reader(name: str) -> Any:
    return importlib.import_module(f"steelyard.read.logs.{name}")


def read(name: str, path: Path, choices: dict[str, str]) -> Log | None:
    """The log, checked for its shape, or None if the reader refused with advice. Anything else that is raised fails the test."""
    try:
        log: Log = reader(name).read(str(path), Choices(**choices))
    except SteelyardError:
        return None
    assert len({len(column) for column in log.columns.values()}) == 1
    assert {"id", "score"} <= set(log.columns)
    assert all(isinstance(item, str) for item in log.columns["id"])
    return log


@every(("name", "file", "choices"), CASES)
def test_each_reader_knows_its_own_files_and_no_others(name: str, file: str, choices: dict[str, str]) -> None:
    head = (LOGS / file).read_bytes()[: 1 << 16]
    assert [each for each in READERS if reader(each).looks_like(str(LOGS / file), head)] == [name]
    assert read(name, LOGS / file, choices) is not None


@pytest.mark.parametrize(
    "text",
    [
        "id,score\na,1\n", '{"id": "a", "score": 1}\n{"id": "b", "score": 0}\n', '[{"id": "a", "score": 1}]',
        '{"columns": ["id", "score"], "data": [[1, 2]]}',
        '{"id": [1, 2], "score": [0, 1]}', '[{"instance_id": 1, "score": 0}]', '{"results": {"version": 3}}', '{"spec": {"a": 1}}',
        '{"testCases": 3}', '{"schema_version": "1", "score": 2}', '{"trace_id": "a", "score": 1}', "[]", "{}", "", "PAR1",
    ],
)  # fmt: skip
def test_a_plain_table_is_no_log(tmp_path: Path, text: str) -> None:
    (tmp_path / "table").write_text(text)
    assert not [name for name in READERS if reader(name).looks_like(str(tmp_path / "table"), text.encode())]


@pytest.mark.parametrize(("name", "file", "choices"), CASES)
def test_a_file_cut_anywhere_is_refused_or_is_fewer_whole_lines(tmp_path: Path, name: str, file: str, choices: dict[str, str]) -> None:
    whole = (LOGS / file).read_bytes()
    cut = tmp_path / Path(file).name
    for place in [0, 1, 5, *(len(whole) * part // 12 for part in range(1, 12)), len(whole) - 2]:
        cut.write_bytes(whole[:place])
        found = read(name, cut, choices)
        assert found is None or file.endswith(".jsonl"), place
        if found is not None:
            assert whole[:place].endswith((b"\n", b"}"))


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, each in inside for path in _paths(each, (*at, key)))]


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.deepcopy(value)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return changed


@pytest.mark.parametrize(("name", "file", "choices"), [case for case in CASES if not case[1].endswith("parquet")])
def test_hostile_values_anywhere_give_advice_or_a_whole_log(tmp_path: Path, name: str, file: str, choices: dict[str, str]) -> None:
    text, random_ = (LOGS / file).read_text(), random.Random(file)
    lines = file.endswith(".jsonl")
    whole = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    paths = [path for path in _paths(whole) if not lines or len(path) > 1]
    near_the_top = [path for path in paths if len(path) <= 4]
    for _ in range(60):
        changed = _replaced(whole, random_.choice(random_.choice([paths, near_the_top])), random_.choice(HOSTILE))
        target = tmp_path / Path(file).name
        target.write_text("".join(json.dumps(row) + "\n" for row in changed) if lines else json.dumps(changed))
        read(name, target, choices)
        reader(name).looks_like(str(target), target.read_bytes()[: 1 << 16])


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: f"{value!r:.12}")
def test_a_hostile_score_is_measured_or_refused(tmp_path: Path, value: Any) -> None:
    whole = json.loads((LOGS / "promptfoo/one.json").read_text())
    whole["results"]["results"][3]["score"] = value
    (tmp_path / "one.json").write_text(json.dumps(whole))
    fits = value is None or value is True or value == "" or value == -(10**30)
    if fits:
        assert sy.measure(str(tmp_path / "one.json"), score="score", missing="drop").n == (10 if value is None or value == "" else 11)
    else:
        with pytest.raises(DataError, match="row 4"):
            sy.measure(str(tmp_path / "one.json"), score="score", missing="drop")


@pytest.mark.parametrize(("name", "file", "choices"), [case for case in CASES if not case[1].endswith("parquet")])
def test_duplicate_keys_and_nan_are_refused_as_in_tables(tmp_path: Path, name: str, file: str, choices: dict[str, str]) -> None:
    text = (LOGS / file).read_text()
    target = tmp_path / Path(file).name
    for bad in (text.replace('": ', '": 1, "twice": 2, "twice": ', 1), text.replace('": ', '": NaN, "more": ', 1)):
        bad = bad if bad != text else text.replace('":', '": NaN, "more": ', 1)
        target.write_text(bad)
        with pytest.raises(SourceError, match=r"twice|NaN"):
            reader(name).read(str(target), Choices(**choices))


@pytest.mark.parametrize(("name", "file", "choices"), CASES)
def test_packed_files_are_unpacked(tmp_path: Path, name: str, file: str, choices: dict[str, str]) -> None:
    for beside in (LOGS / file).parent.glob("*.*"):
        (tmp_path / (beside.name + ".gz")).write_bytes(gzip.compress(beside.read_bytes()))
    packed = reader(name).read(str(tmp_path / (Path(file).name + ".gz")), Choices(**choices))
    plain = reader(name).read(str(LOGS / file), Choices(**choices))
    assert packed.columns == plain.columns


def test_a_document_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(SourceError, match="nested too deeply"):
        document(str(tmp_path / "deep.json"))


def test_lines_end_at_lf_only_and_carry_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": "x\u2028y"}\n\n{"a": 2}\n', encoding="utf-8")
    assert list(objects(str(tmp_path / "a.jsonl"))) == [(1, {"a": "x\u2028y"}), (3, {"a": 2})]
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n[1]\n')
    with pytest.raises(SourceError, match="line 2"):
        list(objects(str(tmp_path / "b.jsonl")))


def test_a_digest_depends_on_content_and_not_on_order() -> None:
    assert digest("x", {"a": 1, "b": [True, None]}) == digest("x", {"b": [True, None], "a": 1})
    different = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": 1.5}, {"a": None}, {}, [], "", "a", "\ud800", ["a"], [["a"]]]
    assert len({digest("x", value) for value in different}) == len(different)


def test_columns_are_made_of_scalars_only() -> None:
    assert scalars("vars", {"a": 1, "b": "x", "c": [1], "d": None, "e": True, "f": "y" * 201}) == {
        "vars.a": 1,
        "vars.b": "x",
        "vars.e": True,
    }
    assert scalars("vars", [1]) == {}
    assert scalars("vars", None) == {}


def test_occurrences_count_from_one() -> None:
    assert occurrences("abcab") == [1, 1, 1, 2, 2]
    assert occurrences([]) is None
    assert occurrences("abc") is None


def test_names_in_a_footer_are_whole_names(tmp_path: Path) -> None:
    head = (LOGS / PARQUET).read_bytes()[:64]
    assert has_names(str(LOGS / PARQUET), head, ("doc", "task_name"))
    assert not has_names(str(LOGS / PARQUET), head, ("doc", "task_nam"))
    assert not has_names(str(LOGS / PARQUET), b"{", ("doc",))
    (tmp_path / "short.parquet").write_bytes(b"PAR1")
    assert not has_names(str(tmp_path / "short.parquet"), b"PAR1", ("doc",))


def test_parquet_rows_are_dictionaries_and_a_missing_column_is_told() -> None:
    rows = parquet_rows(str(LOGS / PARQUET), ("doc", "metric"))
    assert len(rows) == 16
    assert set(rows[0]) == {"doc", "metric"}
    assert rows[0]["doc"]["task_name"] == "sums|0"
    with pytest.raises(SourceError, match="nowhere"):
        parquet_rows(str(LOGS / PARQUET), ("nowhere",))
