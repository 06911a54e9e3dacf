"""What the system refuses while a source is found, opened and unpacked is an error with the path and the reason, and never a wait."""

from __future__ import annotations

import errno
import gzip
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.main import main
from steelyard.errors import SourceError
from steelyard.questions.guard.check import check
from steelyard.questions.measure.measure import measure

LOGS = Path(__file__).parent / "logs"
ROWS = "id,score\n" + "".join(f"{i},{i % 2}\n" for i in range(20_000))
DATE = "2026-11-16T02-44-55.760347"


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def table(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "a.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


@pytest.mark.parametrize("folder", ["", "lm_eval/api", "helm", "inspect", "lighteval"])
def test_a_link_to_itself_in_a_directory_does_not_disturb_what_is_beside_it(folder: str, tmp_path: Path) -> None:
    place = tmp_path / "runs"
    if folder:
        shutil.copytree(LOGS / folder, place)
    else:
        table(place)
    (place / "loop").symlink_to(place / "loop")
    (place / "other.csv").symlink_to(place / "other.csv")
    code = command("measure", str(place))
    assert code == (3 if folder else 0)  # several runs are refused; one table is measured


@pytest.mark.parametrize("name", ["loop.csv", "gone.csv"])
def test_a_link_that_leads_nowhere_is_an_error_that_names_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.symlink_to(path if name == "loop.csv" else tmp_path / "nothing")
    assert command("measure", str(path)) == 3
    assert name in capsys.readouterr().err


def test_a_name_that_is_too_long_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("measure", str(tmp_path / ("x" * 300))) == 3
    assert "File name too long" in capsys.readouterr().err
    (tmp_path / "t.yaml").write_text("m:\n  - accuracy: 0.5\n    num_samples: 20\n", encoding="utf-8")
    with pytest.raises(SourceError, match="File name too long"):
        check(str(tmp_path / ("x" * 300)), task="t", model="m", directory=tmp_path)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [a_pipe, a_socket])
@pytest.mark.parametrize(
    "name", ["b.csv", f"samples_t_{DATE}.jsonl", f"results_{DATE}.json", "b.eval", f"details_t_{DATE}.parquet", "per_instance_stats.json"]
)
def test_pipes_and_sockets_in_a_directory_are_passed_over_without_waiting(make: Any, name: str, tmp_path: Path) -> None:
    folder = table(tmp_path / "runs").parent
    make(folder / name)
    signal.alarm(30)  # to open a pipe is to wait for ever
    try:
        assert measure(str(folder)).n == 20_000
        with pytest.raises(SourceError, match=r"a named pipe|a socket"):
            measure(str(folder / name))
    finally:
        signal.alarm(0)


@pytest.mark.parametrize("call", ["listdir", "scandir", "stat"])
@pytest.mark.parametrize("number", [errno.EACCES, errno.ESTALE, errno.EIO])
def test_whatever_the_system_refuses_is_an_error_with_the_reason(
    call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = table(tmp_path / "runs").parent
    real = getattr(os, call)

    def refuse(path: Any = ".", *args: Any, **more: Any) -> Any:
        if str(path).startswith(str(folder)) and (call != "stat" or str(path).endswith(".csv")):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *args, **more)

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(SourceError) as told:
        measure(str(folder))
    assert os.strerror(number) in str(told.value) or "none of them CSV" in str(told.value)


def packed(path: Path) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(ROWS.encode()))
    else:
        path.write_bytes(pytest.importorskip("zstandard").compress(ROWS.encode()))
    return path


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst", "-"])
def test_no_room_to_unpack_is_an_error_that_says_where(name: str, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    source = packed(tmp_path / name) if name != "-" else table(tmp_path / "runs")
    told = subprocess.run(
        [sys.executable, "-m", "steelyard", "measure", "-" if name == "-" else str(source)],
        input=source.read_bytes(),
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary"), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        timeout=120,
        capture_output=True,
        check=False,
    )
    assert told.returncode == 3, told.stderr
    assert b"File too large" in told.stderr
    assert b"TMPDIR" in told.stderr
    assert not list((tmp_path / "temporary").iterdir())


def test_no_room_for_a_temporary_file_at_all_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **more: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(SourceError, match=r"No space left on device.*TMPDIR"):
        measure(str(packed(tmp_path / "a.csv.gz")))


def test_no_room_for_a_member_of_an_archive_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.read.logs import inspect_files as inspect_zip

    def full(*args: Any, **more: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(inspect_zip, "zstd_stream", lambda packed: None)
    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(SourceError, match=r"Cannot unpack 'header.json' of the Inspect log .*arith.eval.*No space left on device.*TMPDIR"):
        measure(str(LOGS / "inspect" / "arith.eval"))
