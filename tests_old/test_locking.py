"""One writer at a time, with real processes: nothing is lost, and nobody waits for the dead."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard_old import locking
from steelyard_old.atomic import write_atomic
from steelyard_old.errors import UsageError
from steelyard_old.locking import Lock, update_file

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

ADD_A_LINE = """
    import sys
    from pathlib import Path
    from steelyard_old.locking import update_file
    sys.stdin.readline()  # all start at once
    for i in range(int(sys.argv[3])):
        update_file(Path(sys.argv[1]), lambda old: (old or b"") + f"{sys.argv[2]} {i}\\n".encode())
"""


def start(code: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def all_at_once(writers: list[subprocess.Popen[str]]) -> None:
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        _, said = writer.communicate()
        assert writer.returncode == 0, said


def only(path: Path) -> None:
    assert {each.name for each in path.parent.iterdir()} <= {path.name}


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    all_at_once([start(ADD_A_LINE, path, k, 5) for k in range(5)])
    lines = path.read_text().split("\n")[:-1]
    assert sorted(lines) == sorted(f"{k} {i}" for k in range(5) for i in range(5))
    assert [line for line in lines if line.startswith("4 ")] == [f"4 {i}" for i in range(5)]
    only(path)


def test_threads_of_one_process_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "f"
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(5):
            with Lock(path):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.001)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    only(path)


@POSIX
def test_killed_between_write_and_rename(tmp_path: Path) -> None:
    """The lock and the temporary file stay behind; the old file is whole and the next writer proceeds at once."""
    path = tmp_path / "f"
    path.write_bytes(b"old\n")
    code = """
        import os, signal, sys
        from pathlib import Path
        from steelyard_old.locking import update_file
        os.replace = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
        update_file(Path(sys.argv[1]), lambda old: old + b"new\\n")
    """
    dead = start(code, path)
    dead.communicate()
    assert dead.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old\n"
    assert (tmp_path / "f.lock").exists()
    assert update_file(path, lambda old: (old or b"") + b"next\n", timeout=5) == b"old\nnext\n"
    assert path.read_bytes() == b"old\nnext\n"
    assert not (tmp_path / "f.lock").exists()


@POSIX
def test_writers_killed_at_any_moment_lose_nothing_that_was_done(tmp_path: Path) -> None:
    path = tmp_path / "f"
    code = """
        import sys
        from pathlib import Path
        from steelyard_old.locking import update_file
        for i in range(10_000):
            line = f"{sys.argv[2]} {i}\\n"
            update_file(Path(sys.argv[1]), lambda old: (old or b"") + line.encode())
            print(line, end="", flush=True)
    """
    writers = [start(code, path, k) for k in range(6)]
    done: set[str] = set()
    for k, writer in enumerate(writers):  # killed one after the other, each in the middle of something
        deadline = time.monotonic() + 20
        while (not path.exists() or f"{k} 1\n" not in path.read_text()) and time.monotonic() < deadline:
            time.sleep(0.002)
        writer.kill()
        done |= set(writer.communicate()[0].splitlines())
    update_file(path, lambda old: (old or b"") + b"last\n")
    lines = path.read_text().splitlines()
    assert len(set(lines)) == len(lines)
    assert done <= set(lines)
    assert len(done) >= 6
    assert len(lines) <= len(done) + 6 + 1  # a writer may die between the rename and saying so, once
    assert lines[-1] == "last"


def test_it_is_released_whatever_happens(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with pytest.raises(KeyboardInterrupt), Lock(path):
        raise KeyboardInterrupt
    with pytest.raises(ZeroDivisionError):
        update_file(path, lambda old: bytes(1 // 0))
    only(path)


def test_somebody_elses_lock_is_not_released(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with Lock(path):
        (tmp_path / "f.lock").unlink()
        other = Lock(path).__enter__()
    assert other.held()
    other.__exit__(None, None, None)
    only(path)


def _replaced_as_it_is_taken(monkeypatch: pytest.MonkeyPatch, then: Callable[[Path], None]) -> list[Path]:
    """The first lock that is taken loses its name in the moment it is taken, as when its holder ended just then; `then` happens next."""
    taken: list[Path] = []
    sign = Lock._sign

    def signed(self: Lock, handle: int) -> None:
        sign(self, handle)
        taken.append(self.path)
        if len(taken) == 1:
            self.path.rename(self.path.with_name("elsewhere"))
            then(self.path)

    monkeypatch.setattr(Lock, "_sign", signed)
    return taken


@POSIX
def test_a_lock_whose_file_went_in_the_moment_it_was_taken_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that hold two files of one name both think they are alone: whoever has waited looks again before it goes on."""
    path = tmp_path / "f"
    taken = _replaced_as_it_is_taken(monkeypatch, lambda _: None)
    with Lock(path) as lock:
        assert len(taken) == 2
        assert lock.held()
        with pytest.raises(locking.LockHeldError):
            Lock(path, timeout=0).__enter__()
    with Lock(path, timeout=0) as lock:  # and it is given back
        assert lock.held()


@POSIX
def test_a_lock_that_another_took_in_that_moment_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    others: list[Lock] = []
    taken = _replaced_as_it_is_taken(monkeypatch, lambda _: others.append(Lock(path).__enter__()))
    with pytest.raises(locking.LockHeldError, match="locked by process"):
        Lock(path, timeout=0.05).__enter__()
    assert len(taken) == 2  # ours, and that of the other, which is still its own
    assert others[0].held()
    others[0].__exit__(None, None, None)
    with Lock(path, timeout=0) as lock:
        assert lock.held()


def test_a_writer_who_lost_the_lock_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def slow(old: bytes | None) -> bytes:
        (tmp_path / "f.lock").unlink()
        (tmp_path / "f.lock").write_bytes(b"another")
        return b"new"

    with pytest.raises(UsageError, match=r"Somebody else removed the lock .*\."):
        update_file(path, slow)
    assert path.read_bytes() == b"old"
    assert (tmp_path / "f.lock").exists()


def test_a_writer_without_the_lock_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    seen: list[bytes | None] = []

    def change(old: bytes | None) -> bytes:
        seen.append(old)
        if len(seen) == 1:
            write_atomic(path, b"by an editor ")
        return (old or b"") + b"by us"

    assert update_file(path, change) == b"by an editor by us"
    assert seen == [None, b"by an editor "]
    assert path.read_bytes() == b"by an editor by us"


def test_a_file_that_never_rests(tmp_path: Path) -> None:
    path = tmp_path / "f"
    times = [0]

    def change(old: bytes | None) -> bytes:
        times[0] += 1
        path.write_bytes(str(times[0]).encode())
        return b"ours"

    with pytest.raises(UsageError, match="changed 5 times"):
        update_file(path, change)
    assert path.read_bytes() == b"5"
    assert not (tmp_path / "f.lock").exists()


def test_nothing_new_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"same")
    os.utime(path, (1, 1))
    assert update_file(path, lambda old: b"same") == b"same"
    assert path.stat().st_mtime == 1


@POSIX
def test_links_to_one_file_share_its_lock(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    (tmp_path / "g").symlink_to("f")
    with Lock(tmp_path / "g"), pytest.raises(UsageError, match="is locked by process"), Lock(tmp_path / "f", timeout=0.01):
        pass
    update_file(tmp_path / "g", lambda old: b"2")
    assert (tmp_path / "g").is_symlink()
    assert (tmp_path / "f").read_bytes() == b"2"


def test_where_no_lock_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "nowhere" / "f", tmp_path / "file" / "f"):
        with pytest.raises(UsageError, match="Cannot lock"), Lock(path, timeout=0.01):
            pass


@POSIX
def test_a_forked_child_does_not_release_the_lock(tmp_path: Path) -> None:
    code = """
        import os, sys
        from pathlib import Path
        from steelyard_old.locking import Lock
        with Lock(Path(sys.argv[1])) as lock:
            child = os.fork()
            if child == 0:
                lock.__exit__(None, None, None)
                os._exit(0)
            os.waitpid(child, 0)
            print(lock.held())
    """
    assert start(code, tmp_path / "f").communicate()[0] == "True\n"


STRANGE = {
    "empty": b"",
    "cut short": b"{",
    "of 0.1.0": b'{"host": "h", "place": "h", "pid": 1, "started": null, "time": 1.5, "token": "x"}',
    "texts for numbers": b'{"pid": "p", "host": 1, "time": "5"}',
    "deep": b"[" * 100_000,
    "an endless time": b'{"pid": 1, "host": "h", "time": Infinity}',
    "no text": b"\xff\xfe\x00",
    "large": b"x" * 10_000_000,
}


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE)
def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path, content: bytes) -> None:
    path, found = tmp_path / "f", tmp_path / "f.lock"
    found.write_bytes(content)
    assert not locking.is_held(path)
    assert found.read_bytes() == content
    with Lock(path, timeout=0):
        assert locking.is_held(path)
        with pytest.raises(UsageError, match=rf"is locked by process {os.getpid()} on .*, since 20..-.* UTC .waited 0.05 seconds"):
            Lock(path, timeout=0.05).__enter__()
        found.write_bytes(content)
        with pytest.raises(UsageError, match=r"is locked by (a process that did not sign it|process 1 on h)"):
            Lock(path, timeout=0).__enter__()
    only(path)


@POSIX
@pytest.mark.parametrize("kind", ["fifo", "directory", "link to nothing", "link in a circle", "link to a file"])
def test_something_that_is_no_lock_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    """A pipe would be waited for, a link to nothing would be taken for a lock that has just been given back, for ever."""
    path, found = tmp_path / "f", tmp_path / "f.lock"
    (tmp_path / "other").write_bytes(b"other")
    {
        "fifo": lambda: os.mkfifo(found),
        "directory": found.mkdir,
        "link to nothing": lambda: found.symlink_to("nothing"),
        "link in a circle": lambda: found.symlink_to(found),
        "link to a file": lambda: found.symlink_to("other"),
    }[kind]()
    started = time.monotonic()
    with pytest.raises(UsageError, match=r"not a lock file.*look at it, then remove it"), Lock(path, timeout=20):
        pass
    assert time.monotonic() - started < 5
    assert not locking.is_held(path)
    assert (tmp_path / "other").read_bytes() == b"other"


@POSIX
def test_a_filesystem_without_locks_is_refused_and_no_weaker_lock_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    for number in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):

        def none(*given: object, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", none)
        with pytest.raises(UsageError, match=rf"Cannot lock .*{os.strerror(number)}.*filesystem with locks"), Lock(tmp_path / "f"):
            pass
        assert not locking.is_held(tmp_path / "f")


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(UsageError, match=r"Cannot lock .*Permission denied"), Lock(tmp_path / "f", timeout=20):
            pass
        assert not locking.is_held(tmp_path / "f")
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UsageError, match="No space left"), Lock(tmp_path / "f"):
        pass
    only(tmp_path / "f")


@POSIX
def test_a_forked_child_that_outlives_its_parent_does_not_keep_the_lock(tmp_path: Path) -> None:
    code = """
        import os, sys, time
        from pathlib import Path
        from steelyard_old.locking import Lock
        with Lock(Path(sys.argv[1])) as lock:
            if os.fork() == 0:
                sys.stdin.readline()
                os._exit(0)
            print("held", flush=True)
            sys.stdin.readline()
    """
    process = start(code, tmp_path / "f")
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    assert locking.is_held(tmp_path / "f")
    process.kill()  # the child still waits for a line
    process.wait()
    with Lock(tmp_path / "f", timeout=5):
        pass
    process.communicate("\n")
    only(tmp_path / "f")
