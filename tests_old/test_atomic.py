"""Files are whole: whatever goes wrong, the old file is there, and the message says so."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_old.atomic import read_bytes, read_if_there, write_atomic
from steelyard_old.errors import SourceError, UsageError

POSIX = pytest.mark.skipif(os.name == "nt", reason="permissions and signals of POSIX")


def run(code: str, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, words)], capture_output=True, text=True)


def only(path: Path) -> None:
    """Nothing is in the directory but the file."""
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@given(st.binary(max_size=2000), st.binary(max_size=2000))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, first: bytes, second: bytes) -> None:
    path = tmp_path_factory.mktemp("a") / "f"
    for data in (first, second):
        write_atomic(path, data)
        assert read_bytes(path) == data
    only(path)


def test_a_large_file(tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    write_atomic(tmp_path / "f", data)
    assert read_bytes(tmp_path / "f") == data


@POSIX
def test_permissions_are_kept_and_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "f"
    before = os.umask(0o027)
    try:
        write_atomic(path, b"1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        write_atomic(path, b"2")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o664)
        write_atomic(path, b"3")
        assert stat.S_IMODE(path.stat().st_mode) == 0o664
    finally:
        os.umask(before)


@POSIX
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"1")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"2"


@pytest.mark.parametrize("call", ["write", "fsync", "close", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failure_at_any_step_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    real = getattr(os, call)

    def fails(*given: object) -> None:
        if call == "close":
            real(*given)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(UsageError, match="the old file is as it was") as told:
        write_atomic(path, b"new")
    monkeypatch.undo()
    assert os.strerror(code) in str(told.value)
    assert ("room on the disk" in told.value.need) == (code != errno.EIO)
    assert path.read_bytes() == b"old"
    only(path)


def test_a_disk_that_takes_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    real, room = os.write, [5]

    def write(handle: int, data: memoryview) -> int:
        taken = real(handle, data[: room[0]])
        room[0] -= taken
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return taken

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(UsageError, match="No space left on device"):
        write_atomic(path, b"longer than five")
    room[0] = 100
    write_atomic(path, b"fits")
    monkeypatch.undo()
    assert path.read_bytes() == b"fits"
    only(path)


@POSIX
def test_a_limit_of_the_system_on_the_size(tmp_path: Path) -> None:
    """A real refusal by the kernel, not a pretended one."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    code = """
        import resource, signal, sys
        from pathlib import Path
        from steelyard_old.errors import UsageError
        from steelyard_old.atomic import write_atomic
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_atomic(Path(sys.argv[1]), b"x" * 100_000)
        except UsageError as told:
            print(told)
    """
    done = run(code, path)
    assert "the old file is as it was" in done.stdout, done.stderr
    assert path.read_bytes() == b"old"
    only(path)


@POSIX
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_the_rename(tmp_path: Path, when: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    code = """
        import os, signal, sys
        from pathlib import Path
        from steelyard_old.atomic import write_atomic
        real = os.replace
        def replace(*given):
            if sys.argv[2] == "after":
                real(*given)
            os.kill(os.getpid(), signal.SIGKILL)
        os.replace = replace
        write_atomic(Path(sys.argv[1]), b"new")
    """
    assert run(code, path, when).returncode == -signal.SIGKILL
    assert path.read_bytes() == (b"old" if when == "before" else b"new")
    left = [each for each in tmp_path.iterdir() if each != path]
    assert len(left) == (when == "before")
    write_atomic(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert all(each.exists() for each in left)  # perhaps somebody is still writing it
    for each in left:
        os.utime(each, (time.time() - 7200,) * 2)
    write_atomic(path, b"newest")
    only(path)


def test_the_sweep_takes_only_what_is_its_own(tmp_path: Path) -> None:
    others = [".f.0123456789abcdef.tmp.bak", ".g.0123456789abcdef.tmp", ".f.tmp", "f.tmp", ".f.0123.tmp"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (0, 0))
    write_atomic(tmp_path / "f", b"")
    assert {each.name for each in tmp_path.iterdir()} == {"f", *others}


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    only(path)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="Cannot write"):
        write_atomic(tmp_path / "file" / "f", b"")
    with pytest.raises(UsageError, match="nothing was written"):
        write_atomic(tmp_path / "nowhere" / "f", b"")
    with pytest.raises(UsageError, match="not a file"):
        write_atomic(tmp_path, b"")


@POSIX
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a file"):
        write_atomic(tmp_path / "pipe", b"")
    with pytest.raises(SourceError, match="not a file"):
        read_bytes(tmp_path / "pipe")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_protected_file_and_directory(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(UsageError, match="protected"):
        write_atomic(path, b"new")
    path.chmod(0o644)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(UsageError, match="the old file is as it was"):
            write_atomic(path, b"new")
    finally:
        tmp_path.chmod(0o755)
    assert path.read_bytes() == b"old"


def test_a_protected_file_as_seen_by_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *given: False)
    with pytest.raises(UsageError, match=r"is write-protected\."):
        write_atomic(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"old"


@POSIX
def test_a_directory_that_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(handle: int, code: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(os, "fsync", lambda handle: fsync(handle, errno.EINVAL))
    write_atomic(tmp_path / "f", b"1")  # a filesystem that has no such thing
    monkeypatch.setattr(os, "fsync", lambda handle: fsync(handle, errno.EIO))
    with pytest.raises(UsageError, match=r"What was written to .* may not last: Input/output error\."):
        write_atomic(tmp_path / "f", b"2")
    assert (tmp_path / "f").read_bytes() == b"2"


def test_everything_is_on_the_disk_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    for name in ("write", "fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real: (seen.append(name), real(*given))[1])
    write_atomic(tmp_path / "f", b"x")
    assert seen == ["write", "fsync", "replace"] + ["fsync"] * (os.name != "nt")


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "f"
    assert read_if_there(path) is None
    with pytest.raises(SourceError, match=r"No such file: .*\."):
        read_bytes(path)
    path.write_bytes(b"12345")
    assert read_bytes(path, most=5) == b"12345"
    with pytest.raises(SourceError, match=r"is larger than 4 bytes\."):
        read_bytes(path, most=4)
    with pytest.raises(SourceError, match="not a file"):
        read_bytes(tmp_path)
    with pytest.raises(SourceError, match="Cannot read"):
        read_bytes(path / "below a file")
