"""Who counts: what can be asked of --engine, --master and --remote, and what each refusal says. No cluster is needed here."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli.main import main
from steelyard.errors import SourceError, SteelyardError, UsageError
from steelyard.read.engines import spark as sessions
from steelyard.read.engines.spark import knock, secrets_in, shown_address, without_secrets

ADDRESSES = ("--master", "spark://127.0.0.1:1"), ("--remote", "sc://127.0.0.1:1;token=verysecret")


@pytest.fixture
def run(tmp_path: Path) -> str:
    path = tmp_path / "run.csv"
    path.write_text("id,truth,prediction\n1,a,a\n2,b,a\n3,a,a\n")
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line on standard error, with exit code 3 and nothing on standard output."""
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (3, "")
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    assert "verysecret" not in err
    return err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--engine", "spark"], "got neither --master nor --remote"),
        (["--engine", "spark", "--master", "spark://h:1", "--remote", "sc://h"], "got both --master and --remote"),
        (["--master", "spark://h:7077"], "--master is only used with --engine spark."),
        (["--remote", "sc://h"], "--remote is only used with --engine spark."),
        (["--engine", "duckdb", "--remote", "sc://h"], "--remote is only used with --engine spark."),
        (
            ["--engine", "spark", "--master", "spark://h:1", "--filter", "strict"],
            "--filter chooses inside the log of a tool, and --engine spark reads tables only.",
        ),
        (["--engine", "dask"], "--engine must be auto, duckdb or spark, not 'dask'"),
        (["--engine", "spark", "--master", ""], "--master must be"),
    ],
)
@pytest.mark.parametrize("command", ["measure", "compare"])
def test_what_cannot_be_asked(capsys: pytest.CaptureFixture[str], run: str, command: str, words: list[str], expected: str) -> None:
    assert expected in refused(capsys, command, *[run] * (2 if command == "compare" else 1), *words)


def test_bare_counts_have_no_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert "ounts have n" in refused(capsys, "measure", "--counts", "8/10", "--engine", "spark")
    assert "--engine" in refused(capsys, "compare", "--flips", "1,2,3,4", "--engine", "spark")


@pytest.mark.parametrize("source", ["-", "sqlite:///runs.db?table=t"])
def test_what_spark_cannot_read(capsys: pytest.CaptureFixture[str], source: str) -> None:
    assert "Spark needs a path" in refused(capsys, "measure", source, "--engine", "spark", "--master", "local")


def test_what_only_this_process_holds() -> None:
    for data in ([1, 0, 1], {"truth": ["a"], "prediction": ["a"]}):
        with pytest.raises(UsageError, match="in this process"):
            sy.measure(data, engine="spark", master="local")
    with pytest.raises(UsageError, match="engine must be auto, duckdb or spark, not 'polars'"):
        sy.measure([1, 0, 1], engine="polars")
    with pytest.raises(UsageError, match="remote must be a text, not 7"):
        sy.measure([1, 0, 1], remote=7)


def test_the_engines_that_need_no_address(run: str, tmp_path: Path) -> None:
    plain = sy.measure(run, metric="accuracy")
    for engine in ("auto", "duckdb", None):
        assert sy.measure(run, metric="accuracy", engine=engine).to_dict() == plain.to_dict()
    with pytest.raises(UsageError, match=r"engine='duckdb' does not apply to a table of another database"):
        sy.measure(f"sqlite:///{tmp_path}/runs.db?table=t", engine="duckdb")


@pytest.mark.parametrize(("option", "address"), ADDRESSES)
def test_nobody_there_is_told_at_once(run: str, option: str, address: str) -> None:
    """In a process of its own: one that has a Spark session already cannot reach for another."""
    pytest.importorskip("pyspark")
    if option == "--remote":
        pytest.importorskip("grpc_status")
    asked = [sys.executable, "-m", "steelyard", "measure", run, "--engine", "spark", option, address]
    told = subprocess.run(asked, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    error = told.stderr
    assert told.returncode == 3
    assert f"Cannot reach Spark at {address.partition(';')[0]}: Connection refused" in error


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield int(server.getsockname()[1])


def test_an_address_that_swallows_what_it_gets_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A firewall that drops packets: the wait is bounded by PATIENCE, whatever the system would allow."""
    monkeypatch.setattr(sessions, "PATIENCE", 0.2)
    waited: list[float] = []

    def never(address: tuple[str, int], timeout: float) -> socket.socket:
        waited.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", never)
    with pytest.raises(SourceError, match=r"Cannot reach Spark at spark://a:1,b:2: no answer"):
        knock("spark://a:1,b:2")
    assert waited == [0.2, 0.2]  # both masters were asked


def test_one_of_several_masters_is_enough(silent: int) -> None:
    knock(f"spark://127.0.0.1:1,127.0.0.1:{silent}")
    knock("local[2]")
    knock("yarn")


@pytest.mark.parametrize("address", ["spark://", "sc://;token=verysecret", "spark://:7077", "spark://h:70777", "sc://h:port", "spark:7077"])
def test_addresses_that_cannot_be(address: str) -> None:
    with pytest.raises(SteelyardError) as caught:
        knock(address)
    assert "Spark" in str(caught.value)
    assert "verysecret" not in str(caught.value)


def test_secrets_of_addresses() -> None:
    assert shown_address("sc://user:pw@host:443/;token=abc;user_id=me") == "sc://host:443/"
    assert secrets_in("sc://user:pw@host:443/;token=abc;user_id=me;x-api-key=k1") == ["user:pw", "pw", "abc", "k1"]
    assert without_secrets("s3a://key:secret@bucket/run/*.parquet") == "s3a://bucket/run/*.parquet"
    assert secrets_in("s3a://bucket/a@b.parquet") == []
    assert without_secrets("s3a://bucket/a@b.parquet") == "s3a://bucket/a@b.parquet"


def test_without_the_extra_the_hint_names_it(run: str) -> None:
    """In a process in which Spark cannot be imported."""
    script = "import sys; sys.modules['pyspark'] = None; from steelyard.cli.main import main; main(sys.argv[1:])"
    words = ["measure", run, "--engine", "spark", "--master", "spark://127.0.0.1:1"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert 'pip install "steelyard[spark]"' in done.stderr


def test_the_door_to_files_is_not_made_heavier() -> None:
    """A measurement of a file imports neither Spark nor what reaches it."""
    script = "import sys, steelyard; import steelyard.read.open_source; print([m for m in sys.modules if 'spark' in m or m == 'numpy'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
