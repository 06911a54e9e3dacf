"""Runs of the history in MLflow: each once and whole, on a real server and in a database of its own; what breaks off goes on."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from mlflow_server import client, mlflow_server, mlflow_url, silent  # noqa: F401 - fixtures
from steelyard.cli.main import main
from steelyard.errors import SourceError, UsageError
from steelyard.integrations.mlflow_runs import Experiment
from steelyard.mlflow_store import parse_tracking
from steelyard.questions.history.export_mlflow import _ends

URL = "sqlite:///runs.db"
RIGHT = {f"q{i}": float(i % 5 > 0) for i in range(200)}


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    return tmp_path


@pytest.fixture
def experiment() -> str:
    return f"nightly {secrets.token_hex(4)}"


@dataclass(frozen=True)
class Answer:
    """What the command printed, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str


def ask(*words: str) -> Answer:
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
        pytest.raises(SystemExit) as stop,
    ):
        main(["history", "export", "--history", URL, *words])
    return Answer(int(stop.value.code or 0), out.getvalue(), err.getvalue())


def fill(model: str = "router") -> list[sy.PastRun]:
    """A record, a worse check of it, and a bare measurement; oldest first."""
    rows = [{"id": id_, "score": score} for id_, score in RIGHT.items()]
    worse = [{**row, "score": 0.0} if place in range(1, 40) else row for place, row in enumerate(rows)]
    made = sy.record(rows, task="t", model=model, deterministic=True, spec={"quant_algo": "FP8"})
    verdict = sy.check(worse, task="t", model=model, spec={"quant_algo": "FP8"})
    with sy.open_history(URL) as history:
        return [
            history.append(made, items=RIGHT, time="2026-11-01T03:00:00Z"),
            history.append(verdict, items={row["id"]: row["score"] for row in worse}, time="2026-11-02", by="ada", commit="abc123"),
            history.append(sy.measure(sy.Counts.of(85, 100)), task="u", model=model, time="2026-11-03", protocol={"prompt": "v3"}),
        ]


def found_in(url: str, experiment: str) -> list[Any]:
    """The runs of an experiment, oldest first."""
    mlflow = client(url)
    with silent():
        made = mlflow.get_experiment_by_name(experiment)
        return [] if made is None else list(mlflow.search_runs([made.experiment_id], order_by=["attributes.start_time ASC"]))


def artifact(url: str, run: Any, name: str, folder: Path) -> str:
    with silent():
        return Path(client(url).download_artifacts(run.info.run_id, name, str(folder))).read_text(encoding="utf-8")


# ---- what is logged -----------------------------------------------------------------------------------------------------------


def test_values_intervals_verdicts_and_reports_are_there(mlflow_url: str, experiment: str, desk: Path) -> None:  # noqa: F811
    record, check, bare = fill()
    answer = ask("--to", f"mlflow:{mlflow_url}", "--experiment", experiment)
    assert answer.exit_code == 0, answer.stderr
    assert f"3 runs exported to the experiment '{experiment}' of MLflow at {mlflow_url}, 0 already there." in " ".join(
        answer.stdout.split()
    )
    runs = found_in(mlflow_url, experiment)
    assert [run.data.tags["steelyard.run_id"] for run in runs] == [record.id, check.id, bare.id]
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert [run.info.start_time for run in runs] == [1793502000000, 1793577600000, 1793664000000]
    first, second, third = runs
    tags = second.data.tags
    assert (tags["steelyard.verdict"], tags["steelyard.metric"], tags["steelyard.version"]) == ("regression", "accuracy", sy.__version__)
    assert (tags["mlflow.runName"], tags["mlflow.user"], tags["mlflow.source.git.commit"]) == ("t router", "ada", "abc123")
    assert second.data.params == {"task": "t", "model": "router", "metric": "accuracy", "spec": "quant_algo=FP8"}
    values = second.data.metrics
    assert (values["estimate"], values["n"], values["reference"]) == (check.estimate, 200, 0.8)
    assert (values["difference"], values["difference_low"], values["p_value"]) == (check.difference, check.lower, check.p_value)
    with sy.open_history(URL) as history:
        items = history.items(check.id) or {}
    interval = sy.measure({"id": list(items), "score": list(items.values())}).row.interval
    assert interval is not None
    assert (values["low"], values["high"]) == (interval.low, interval.high)
    assert tags["steelyard.confidence_level"] == "0.95"
    assert (first.data.metrics["estimate"], "steelyard.verdict" in first.data.tags, "p_value" in first.data.metrics) == (0.8, False, False)
    row = sy.measure(sy.Counts.of(85, 100)).row
    assert row.interval is not None
    assert [third.data.metrics[name] for name in ("estimate", "low", "high")] == [0.85, row.interval.low, row.interval.high]
    assert json.loads(third.data.tags["steelyard.protocol"]) == {"prompt": "v3"}
    page = artifact(mlflow_url, second, "report.html", desk)
    assert page.startswith("<!DOCTYPE html>")
    assert "Regression" in page or "REGRESSION" in page
    with sy.open_history(URL) as history:
        assert json.loads(artifact(mlflow_url, second, "result.json", desk)) == history.run(check.id).result


def test_exporting_twice_adds_nothing_and_filters_choose(mlflow_url: str, experiment: str) -> None:  # noqa: F811
    fill()
    to = ("--to", f"mlflow:{mlflow_url}", "--experiment", experiment)
    assert "1 run exported" in ask(*to, "--verdict", "regression").stdout
    assert "1 run exported" in ask(*to, "--task", "u").stdout
    again = json.loads(ask(*to, "--format", "json").stdout)
    assert (again["kind"], again["asked"]) == ("history", {"exported": 1, "already_there": 2})
    assert "0 runs exported" in ask(*to).stdout
    assert len(found_in(mlflow_url, experiment)) == 3


def test_a_run_that_was_deleted_in_mlflow_is_exported_again(mlflow_url: str, experiment: str) -> None:  # noqa: F811
    fill()
    to = f"mlflow:{mlflow_url}"
    sy.export_to_mlflow(to, URL, experiment=experiment)
    with silent():
        client(mlflow_url).delete_run(found_in(mlflow_url, experiment)[0].info.run_id)
    assert sy.export_to_mlflow(to, URL, experiment=experiment).asked == {"exported": 1, "already_there": 2}


def test_a_database_is_written_without_a_server(mlflow_server: dict[str, Any], experiment: str) -> None:  # noqa: F811
    fill()
    database = f"sqlite:///{mlflow_server['home']}/mlflow.db"
    answer = ask("--to", f"mlflow:{database}", "--experiment", experiment)
    assert answer.exit_code == 0, answer.stderr
    assert answer.stderr == "", "MLflow says nothing on its own"
    assert len(found_in(database, experiment)) == 3
    assert "0 runs exported" in ask("--to", f"mlflow:{database}", "--experiment", experiment).stdout


def test_a_history_that_cannot_be_written_is_exported_all_the_same(mlflow_url: str, experiment: str, desk: Path) -> None:  # noqa: F811
    fill()
    with sqlite3.connect(desk / "runs.db") as database:
        database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    (desk / "runs.db").chmod(0o444)
    assert sy.export_to_mlflow(f"mlflow:{mlflow_url}", f"{URL}?mode=ro", experiment=experiment).total == 3
    assert not list(desk.glob("*.lock"))


def test_the_address_may_come_from_mlflows_own_variable(mlflow_url: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    fill(model := f"m {secrets.token_hex(4)}")
    refused = ask("--to", "mlflow:")
    assert refused.exit_code == 3
    assert "MLFLOW_TRACKING_URI is not set" in refused.stderr
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_url)
    assert ask("--to", "mlflow:").exit_code == 0
    assert model in {run.data.params["model"] for run in found_in(mlflow_url, "steelyard")}, "the default experiment"


def test_hostile_and_endless_names_arrive_harmless(mlflow_url: str, experiment: str, desk: Path) -> None:  # noqa: F811
    name = "<script>alert(1)</script> ](x) \x1b[31m\u202e \" ' ; DROP TABLE runs -- " + "m" * 9000
    with sy.open_history(URL) as history:
        history.append(sy.measure(sy.Counts.of(85, 100)), task="../../etc/passwd", model=name, spec={"k" * 300: "v" * 9000})
    sy.export_to_mlflow(f"mlflow:{mlflow_url}", URL, experiment=experiment)
    (run,) = found_in(mlflow_url, experiment)
    assert run.data.params["task"] == "../../etc/passwd"
    assert len(run.data.params["model"]) <= 500
    assert run.data.params["model"].startswith("<script>alert(1)</script>")
    assert "\x1b" not in run.data.params["model"]
    assert "<script>alert" not in artifact(mlflow_url, run, "report.html", desk)


def test_the_interval_is_in_the_scale_of_the_run_and_only_there_where_it_is_known() -> None:
    rows = [{"id": id_, "score": score} for id_, score in RIGHT.items()]
    made = sy.record(rows, task="p", model="m", scale="percent", deterministic=True)
    row = sy.measure(rows).row
    assert row.interval is not None
    assert row.interval.low is not None
    assert row.interval.high is not None
    with sy.open_history(URL) as history:
        kept, without = history.append(made, items=RIGHT), history.append(made)
        other = history.append(made, items={**RIGHT, "q1": 0.0})
        assert _ends(kept, made, history) == pytest.approx((100 * row.interval.low, 100 * row.interval.high, 0.95))
        assert kept.estimate == 80
        assert _ends(without, made, history) is None
        assert _ends(other, made, history) is None, "items whose mean is not the estimate say nothing about it"


# ---- what breaks off ----------------------------------------------------------------------------------------------------------


def test_what_broke_off_is_completed_and_says_how_far_it_came(
    mlflow_url: str,  # noqa: F811
    experiment: str,
) -> None:
    """The second run breaks after its values, before its report: it stays unfinished, and the next export finishes that very run."""
    fill()
    whole, calls = Experiment.write, []

    def breaks(self: Experiment, run: sy.PastRun, ends: Any, files: Any, half: Any) -> None:
        calls.append(run.id)
        if len(calls) == 2:
            whole(self, run, ends, {"report.html": 3}, half)  # type: ignore[dict-item]
        whole(self, run, ends, files, half)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Experiment, "write", breaks)
        answer = ask("--to", f"mlflow:{mlflow_url}", "--experiment", experiment)
    assert answer.exit_code == 3
    assert "1 of 3 runs were exported." in answer.stderr
    assert "run the same command again to continue" in answer.stderr
    assert [run.info.status for run in found_in(mlflow_url, experiment)] == ["FINISHED", "RUNNING"]
    assert sy.export_to_mlflow(f"mlflow:{mlflow_url}", URL, experiment=experiment).total == 2
    runs = found_in(mlflow_url, experiment)
    assert [run.info.status for run in runs] == ["FINISHED"] * 3
    with silent():
        assert len(client(mlflow_url).get_metric_history(runs[1].info.run_id, "estimate")) == 1
        assert [each.path for each in client(mlflow_url).list_artifacts(runs[1].info.run_id)] == ["report.html", "result.json"]


def test_an_interrupt_says_how_far_it_came(mlflow_url: str, experiment: str) -> None:  # noqa: F811
    fill()
    whole, calls = Experiment.write, []

    def stopped(self: Experiment, *words: Any) -> None:
        calls.append(words)
        if len(calls) == 3:
            raise KeyboardInterrupt
        whole(self, *words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Experiment, "write", stopped)
        answer = ask("--to", f"mlflow:{mlflow_url}", "--experiment", experiment)
    assert answer.exit_code == 130
    assert "2 of 3 runs were exported. Run the same command again to continue." in answer.stderr
    assert "1 run exported" in ask("--to", f"mlflow:{mlflow_url}", "--experiment", experiment).stdout


def test_two_exports_at_once_export_each_run_once(mlflow_url: str, experiment: str) -> None:  # noqa: F811
    """In two threads: the lock is one of open files, which knows no processes, and MLflow takes seconds to load in each."""
    fill()
    with silent():
        client(mlflow_url).create_experiment(experiment)  # who makes it is not the question here
    start = threading.Barrier(2)

    def export(_: int) -> int:
        start.wait()
        return sy.export_to_mlflow(f"mlflow:{mlflow_url}", URL, experiment=experiment).total

    with silent(), ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(export, range(2))) == [0, 3]
    assert len(found_in(mlflow_url, experiment)) == 3


def test_a_deleted_experiment_is_named(mlflow_url: str, experiment: str) -> None:  # noqa: F811
    fill()
    with silent():
        mlflow = client(mlflow_url)
        mlflow.delete_experiment(mlflow.create_experiment(experiment))
    with pytest.raises(
        SourceError, match=r"is deleted in MLflow. Hint: restore it \(mlflow experiments restore -x \d+\), or choose another"
    ):
        sy.export_to_mlflow(f"mlflow:{mlflow_url}", URL, experiment=experiment)


# ---- servers that do not help -------------------------------------------------------------------------------------------------


@pytest.fixture
def refusing() -> Iterator[str]:
    """A server that refuses everybody, and repeats what it was sent."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"error_code": "PERMISSION_DENIED", "message": f"not you: {dict(self.headers)}"}).encode()
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("credentials", ["", "ada:hunter2@"])
def test_a_server_that_refuses_is_named_and_no_secret_is_printed(refusing: str, credentials: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    fill()
    if not credentials:
        monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "tok-0123456789")
    answer = ask("--to", f"mlflow:http://{credentials}{refusing}", "--debug")
    assert answer.exit_code == 3
    said = answer.stdout + answer.stderr
    assert f"MLflow at http://{refusing} refused access" in said
    assert "MLFLOW_TRACKING_TOKEN" in said
    for secret in ("hunter2", "tok-0123456789", "YWRhOmh1bnRlcjI"):
        assert secret not in said


def test_a_server_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    fill()
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    answer = ask("--to", "mlflow:http://ada:hunter2@127.0.0.1:1")
    assert answer.exit_code == 3
    assert "No answer from MLflow at http://127.0.0.1:1." in answer.stderr
    assert "hunter2" not in answer.stdout + answer.stderr


def test_what_cannot_be_exported_is_refused_before_mlflow_is_asked() -> None:
    fill()
    cases = {
        ("--to", "mlflow:http://"): "http without a host",
        ("--to", "wandb:x"): "the ending must be .csv or .jsonl",
        (): "export needs --to",
        ("--to", "runs.csv", "--experiment", "x"): "--experiment is only used with --to mlflow:URI",
        ("--to", "mlflow:http://127.0.0.1:1", "--experiment", " "): "The name of the experiment",
        ("--to", "mlflow:http://127.0.0.1:1", "--since", "last week"): "--since must be a date or a time",
    }
    for words, said in cases.items():
        answer = ask(*words)
        assert answer.exit_code == 3, words
        assert said in answer.stderr, words
    with pytest.raises(UsageError, match="to mlflow:URI only"):
        sy.export_to_mlflow("http://127.0.0.1:5000", URL)
    with pytest.raises(SourceError, match="No history at"):
        sy.export_to_mlflow("mlflow:http://127.0.0.1:1", "sqlite:///none.db")


def test_without_the_extra_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fill()
    for name in [name for name in sys.modules if name.partition(".")[0] == "mlflow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    answer = ask("--to", "mlflow:http://127.0.0.1:1")
    assert answer.exit_code == 3
    assert "MLflow is not installed. Hint: pip install 'steelyard[mlflow]'" in answer.stderr


def test_a_file_is_written_as_by_export(desk: Path) -> None:
    fill()
    assert "3 runs written to runs.csv" in ask("--to", "runs.csv").stderr
    assert len((desk / "runs.csv").read_text().splitlines()) == 4


# ---- addresses and start-up ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("https://ada:s3cret@host/base?token=s3cret", "https://host/base"),
        ("http://s3cret@host:80", "http://host:80"),
        ("http://ada:s3cret@[::1]:5000", "http://[::1]:5000"),
        ("postgresql://ada:s3cret@db/mlflow", "postgresql://db/mlflow"),
        ("sqlite:///mlflow.db", "sqlite:///mlflow.db"),
        ("./mlruns", "./mlruns"),
        ("databricks", "databricks"),
    ],
)
def test_no_address_is_shown_with_its_secrets(uri: str, shown: str) -> None:
    found = parse_tracking(uri)
    assert found.shown == shown
    assert "s3cret" not in repr(found)


def test_other_commands_do_not_load_mlflow() -> None:
    code = "import sys; import steelyard.cli.main, steelyard.cli.history, steelyard.read.open_source; print('mlflow' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "steelyard", "history", "--help"], capture_output=True, text=True, check=True
    )
    assert "mlflow" not in run.stderr


def test_mlflow_is_left_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "7")
    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY")
    before = dict(os.environ)
    with silent():
        from mlflow.telemetry.utils import is_telemetry_disabled

        assert is_telemetry_disabled()
        assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
        assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "7", "what the user has set stays"
    assert dict(os.environ) == before


# ---- the guide ----------------------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[3]
THERE = "http://127.0.0.1:5000"  # in the guide


def test_the_guide_shows_what_is_printed(mlflow_url: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_url)
    shutil.copytree(ROOT / "docs" / "data" / "out", desk / "out")
    with silent():
        mlflow = client(mlflow_url)
        night = mlflow.create_run(mlflow.create_experiment(f"night {secrets.token_hex(4)}"), run_name="night").info.run_id
        table = {"columns": ["id", "score"], "data": [[f"q{i}", int(i % 10 > 0)] for i in range(200)]}
        mlflow.log_text(night, json.dumps(table), "table.json")
        for run in found_in(mlflow_url, "steelyard"):
            mlflow.delete_run(run.info.run_id)
    page = (ROOT / "docs" / "mlflow.md").read_text(encoding="utf-8")
    blocks = [block.removeprefix("text\n") for block in page.split("```")[1::2]]
    assert len(blocks) == 2
    for block in blocks:
        command, shown = block.split("\n", 1)
        words = shlex.split(command.replace(THERE, mlflow_url).replace("RUN_ID", night))[1:]
        screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(screen), pytest.raises(SystemExit) as stop:
            main(words)
        assert not stop.value.code
        screen.seek(0)
        assert " ".join(screen.read().replace(mlflow_url, THERE).split()) == " ".join(shown.split())
