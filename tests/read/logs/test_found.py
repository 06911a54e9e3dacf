"""Which tool wrote this: every log by its own reader and by no other, no table by any, and a table pays nothing for it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import duckdb
import pytest

from cases import every
from steelyard.errors import AmbiguityError, SteelyardError, UsageError
from steelyard.read.logs import found
from steelyard.read.logs.found import FORMATS, LogFormat, is_log, read_log
from steelyard.read.logs.log import PARAMETERS, Choices, Log
from steelyard.read.open_source import open_source

HERE = Path(__file__).parent
READERS = [form.module.rpartition(".")[2] for form in FORMATS]
FOLDERS = {name: HERE / {"inspect_log": "inspect"}.get(name, name) for name in READERS}
LOGS = [(name, path) for name, folder in FOLDERS.items() for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]


def claims(path: Path) -> list[str]:
    """All readers that take a file for their own."""
    head = found._some_bytes(str(path))
    return [name for name in READERS if import_module(f"steelyard.read.logs.{name}").looks_like(str(path), head)]


@every(("name", "path"), LOGS, ids=[f"{name}-{path.name}" for name, path in LOGS])
def test_no_log_is_claimed_by_the_reader_of_another_tool(name: str, path: Path) -> None:
    assert claims(path) in ([], [name])  # a file that only accompanies a log is nobody's


@pytest.mark.parametrize("name", READERS)
def test_what_a_reader_claims_is_found_without_asking_the_others(name: str) -> None:
    """The words that spare a reader its loading are in every file that it would claim."""
    own = [path for other, path in LOGS if other == name and claims(path) == [name]]
    if not own:
        pytest.skip(f"no fixtures of {name}")
    assert [path.name for path in own if not is_log(str(path))] == []


def test_lm_eval_has_every_file_claimed() -> None:
    files = [path for path in (HERE / "lm_eval").rglob("*") if path.is_file()]
    assert len(files) == 12
    assert {tuple(claims(path)) for path in files} == {("lm_eval",)}
    folders = [HERE / "lm_eval" / "api", HERE / "lm_eval" / "dummy", HERE / "lm_eval" / "api" / "model-a"]
    assert [claims(folder) for folder in folders] == [["lm_eval"]] * 3


TABLES = {
    "plain.jsonl": '{"id": 1, "score": 0}\n{"id": 2, "score": 1}\n',
    "with_doc_id.jsonl": '{"doc_id": 1, "doc": "text", "score": 0}\n{"doc_id": 2, "doc": "text", "score": 1}\n',
    "samples_mine_2026-01-01T00-00-00.jsonl": '{"doc_id": 1, "score": 0}\n{"doc_id": 2, "score": 1}\n',
    "results.json": '[{"id": 1, "score": 0, "results": 1, "eval": "x"}, {"id": 2, "score": 1, "results": 1, "eval": "y"}]',
    "of_columns.json": '{"id": [1, 2], "score": [0, 1], "columns": [1, 2], "data": [3, 4]}',
    "instances.json": '[{"id": "a", "score": 0, "instance_id": 5}, {"id": "b", "score": 1, "instance_id": 6}]',
    "versions.jsonl": '{"version": 1, "status": "ok", "id": 1, "score": 0}\n{"version": 1, "status": "ok", "id": 2, "score": 1}\n',
    "evals.jsonl": '{"spec": 1, "run_id": "r", "id": 1, "score": 0}\n{"spec": 1, "run_id": "r", "id": 2, "score": 1}\n',
    "schema.jsonl": '{"schema_version": "0.3", "evaluation_id": "e", "id": 1, "score": 0}\n',
    "cases.jsonl": '{"testCases": 1, "test_cases": 2, "id": 1, "score": 0}\n',
    "traces.jsonl": '{"trace_id": "t", "id": 1, "score": 0}\n',
    "table.csv": 'id,score,"doc"\n1,0,5\n2,1,6\n',
    "about.csv": '"doc_id","doc","filtered_resps"\n1,0,5\n2,1,6\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_no_log(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(TABLES[name], encoding="utf-8")
    assert not is_log(str(path))
    assert claims(path) == []
    assert open_source(path, columns={}).log is None


def test_parquet_with_words_of_a_log_is_no_log(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    duckdb.sql(f"COPY (SELECT 1 AS id, 0 AS score, 'x' AS trace_id, 'y' AS model_response) TO '{path}'")
    assert not is_log(path)
    assert open_source(path, columns={}).log is None


def test_a_directory_of_tables_is_no_log(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(f'{{"id": "{name}", "score": 1}}\n', encoding="utf-8")
    assert not is_log(str(tmp_path))
    assert open_source(tmp_path, columns={}).n == 2
    (tmp_path / "results_2026-01-01T00-00-00.json").write_text('{"results": {}, "versions": {}, "config_tasks": {}}', encoding="utf-8")
    assert not is_log(str(tmp_path))  # lighteval's results have the names of lm-eval's


def test_a_table_loads_no_reader(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,score\n1,0\n2,1\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(TABLES["plain.jsonl"], encoding="utf-8")
    duckdb.sql(f"COPY (SELECT range AS id, range % 2 AS score FROM range(10)) TO '{tmp_path / 'a.parquet'}'")
    code = (
        "import sys; from steelyard.read.open_source import open_source\n"
        f"for name in ('a.csv', 'a.jsonl', 'a.parquet'): open_source({str(tmp_path)!r} + '/' + name, columns={{}})\n"
        "print(sorted(m for m in sys.modules if m.startswith('steelyard.read.logs.')))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(HERE.parents[2] / "src")}
    )
    assert answer.stdout == "['steelyard.read.logs.found', 'steelyard.read.logs.log']\n"


def test_the_door_to_logs_loads_nothing_heavy() -> None:
    code = (
        "import sys, steelyard.read.logs.lm_eval, steelyard.read.logs.found\n"
        "print([m for m in ('numpy', 'duckdb', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(HERE.parents[2] / "src")}
    )
    assert answer.stdout == "[]\n"


class Reader:
    """A reader of nothing, for what the door adds."""

    @staticmethod
    def read(path: str, choices: Choices) -> Log:
        if choices.score == "bad":
            raise AmbiguityError(f"Cannot read {path!r}", got=path, need="something else", hint=f"not {path}")
        return Log(tool="a tool", columns={"id": ["a", "b"], "score": [1.0, 0.0], "meta.subject": ["x", "y"]}, chosen={"scorer": "match"})


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "_reader_of", lambda path: (LogFormat(tool="a tool", give="", module=""), Reader))


@pytest.mark.usefixtures("reader")
def test_choices_that_a_log_does_not_have_are_refused() -> None:
    assert read_log("x", Choices(scorer="match")) is not None
    for what in ("task", "filter", "prompt", "model"):
        with pytest.raises(UsageError, match=f"{PARAMETERS[what]}.*a tool.*scorer match"):
            read_log("x", Choices(**{what: "value"}))


@pytest.mark.usefixtures("reader")
def test_messages_show_what_the_user_wrote() -> None:
    with pytest.raises(SteelyardError) as refusal:
        read_log("/spool/123", Choices(score="bad"), shown="standard input")
    assert "/spool" not in str(refusal.value)
    assert str(refusal.value).count("standard input") == 3


@pytest.mark.usefixtures("reader")
def test_a_log_is_a_source(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("{}", encoding="utf-8")
    source = open_source(path, columns={"by": ("subject",)})
    assert (source.roles, source.by, source.name) == ({"id": "id", "score": "score"}, ("subject",), "run")
    assert source.log is not None
    assert source.log.chosen == {"scorer": "match"}
    assert open_source(path, columns={}).hints == ("column 'meta.subject' could be used with by= or group=",)
    assert open_source(path, columns={"group": "subject"}).roles["group"] == "meta.subject"
    with pytest.raises(
        UsageError, match=r"No column 'subjects' for group=; the columns are 'id', 'score', 'meta\.subject'\..*'meta.subject'"
    ):
        open_source(path, columns={"group": "subjects"})


def test_a_packed_table_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(TABLES["with_doc_id.jsonl"].encode()))
    source = open_source(path, columns={})
    assert (source.log, source.n) == (None, 2)


def test_a_choice_needs_a_name() -> None:
    samples = str(next((HERE / "lm_eval" / "api" / "model-a").glob("samples_*")))
    with pytest.raises(UsageError, match="filter= must be"):
        open_source(samples, columns={"filter": 3})
    with pytest.raises(UsageError, match="score= must be a name when the source is a log"):
        open_source(samples, columns={"filter": "strict-match", "score": [1, 0]})


@pytest.mark.parametrize("choice", ["task", "filter", "scorer", "prompt", "model_name"])
def test_choices_are_refused_for_tables_in_memory(choice: str) -> None:
    for data in ({"id": [1], "score": [1]}, [{"id": 1, "score": 1}]):
        with pytest.raises(UsageError, match="the log of an evaluation tool"):
            open_source(data, columns={choice: "x"})
    with pytest.raises(UsageError, match="the log of an evaluation tool"):
        open_source([1, 0], [1, 1], columns={choice: "x"})


def test_json_that_is_cut_off_says_whose_log_it_looks_like(tmp_path: Path) -> None:
    line = next((HERE / "lm_eval" / "api" / "model-a").glob("samples_*")).read_text(encoding="utf-8").splitlines()[0]
    path = tmp_path / "x.jsonl"
    path.write_text(line[:-30], encoding="utf-8")
    with pytest.raises(SteelyardError, match=r"lm-evaluation-harness.*cut off"):
        open_source(path, columns={})
    assert json.loads(line)["doc_id"] == 0
