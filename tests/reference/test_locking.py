"""One writer at a time, with real processes: nothing is lost, and nobody waits for the dead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.reference import locking
from steelyard.reference.atomic import write_atomic
from steelyard.reference.locking import Lock, update_file

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

ADD_A_LINE = """
    import sys
    from pathlib import Path
    from steelyard.reference.locking import update_file
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


def gone_pid() -> int:
    """The pid of a process that has ended and was waited for."""
    process = start("pass")
    process.communicate()
    return process.pid


def lock_file(path: Path, **owner: object) -> Path:
    signed = {"host": "h", "place": locking._place(), "pid": os.getpid(), "started": None, "time": time.time(), "token": "x", **owner}
    lock = path.with_name(path.name + ".lock")
    lock.write_text(json.dumps(signed))
    if isinstance(signed["time"], float):
        os.utime(lock, (signed["time"],) * 2)
    return lock


def only(path: Path) -> None:
    assert {each.name for each in path.parent.iterdir()} <= {path.name}


def test_twenty_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    all_at_once([start(ADD_A_LINE, path, k, 3) for k in range(20)])
    lines = path.read_text().split("\n")[:-1]
    assert sorted(lines) == sorted(f"{k} {i}" for k in range(20) for i in range(3))
    assert [line for line in lines if line.startswith("7 ")] == ["7 0", "7 1", "7 2"]
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
        from steelyard.reference.locking import update_file
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
        from steelyard.reference.locking import update_file
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


@POSIX
def test_many_who_find_a_stale_lock_still_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "f"
    lock_file(path, pid=gone_pid(), started="never")
    all_at_once([start(ADD_A_LINE, path, k, 2) for k in range(8)])
    assert len(path.read_text().split("\n")) == 17
    only(path)


@POSIX
@pytest.mark.parametrize(
    "owner",
    [
        {"pid": gone_pid(), "started": "never"},
        {"place": "another machine", "time": time.time() - 700},
        {"pid": os.getpid(), "started": "1"},
    ],
    ids=["gone", "foreign and old", "pid given away"],
)
def test_a_stale_lock_is_broken(tmp_path: Path, owner: dict[str, object]) -> None:
    if owner.get("started") == "1" and not os.path.isdir("/proc/self"):
        pytest.skip("this system does not tell when a process started")
    path = tmp_path / "f"
    lock_file(path, **owner)
    with Lock(path, timeout=0.5) as lock:
        assert lock.held()
    only(path)


@pytest.mark.parametrize(
    "owner",
    [
        {},
        {"place": "another machine", "age": 300},
        {"place": "another machine", "pid": 2**22 + 1},
    ],
    ids=["alive", "foreign and young", "foreign pid"],
)
def test_a_lock_that_may_be_held_is_respected(tmp_path: Path, owner: dict[str, object]) -> None:
    path = tmp_path / "f"
    if "age" in owner:  # from now, not from when the tests were collected
        owner = {"place": owner["place"], "time": time.time() - 300}
    found = lock_file(path, host="builder", **owner)
    before = found.read_bytes()
    with (
        pytest.raises(UsageError, match=r"held by process \d+ on builder, since 20..-.* UTC, after 0.1 seconds of waiting"),
        Lock(path, timeout=0.1),
    ):
        pass
    assert found.read_bytes() == before
    with pytest.raises(UsageError, match="delete the lock file"):
        update_file(path, lambda old: b"x", timeout=0.01)
    assert not path.exists()


@POSIX
def test_a_zombie_is_dead(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("only where /proc tells")
    process = start("pass")
    assert process.stdout is not None
    process.stdout.read()  # it has ended, and nobody has waited for it
    deadline = time.monotonic() + 10
    while locking._started(process.pid)[0] and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        lock_file(tmp_path / "f", pid=process.pid)
        with Lock(tmp_path / "f", timeout=0.5):
            pass
    finally:
        process.communicate()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}'])
def test_a_lock_without_an_owner_is_given_ten_seconds(tmp_path: Path, content: bytes) -> None:
    path, found = tmp_path / "f", tmp_path / "f.lock"
    found.write_bytes(content)
    with pytest.raises(UsageError, match="somebody who did not sign it"), Lock(path, timeout=0.05):
        pass
    os.utime(found, (time.time() - 11,) * 2)
    with Lock(path, timeout=1):
        pass
    only(path)


@POSIX
def test_a_breaker_that_was_killed_is_in_nobodys_way(tmp_path: Path) -> None:
    path, turn = tmp_path / "f", tmp_path / "f.lock.break"
    lock_file(path, pid=gone_pid())
    turn.write_bytes(b"")
    with pytest.raises(UsageError), Lock(path, timeout=0.05):
        pass  # somebody is just breaking it
    os.utime(turn, (time.time() - 11,) * 2)
    with Lock(path, timeout=1):
        pass
    only(path)


def test_a_lock_renamed_by_mistake_is_put_back(tmp_path: Path) -> None:
    """What was found stale is gone by now, and a new owner is there: the new one must survive."""
    path = tmp_path / "f"
    with Lock(path) as lock:
        assert not locking._rename_away(lock.path, b"what was seen before")
        assert lock.held()
    # The same, when the new owner came between the second look and the rename.
    with Lock(path) as lock:
        real, looks = locking._content, [b"stale"]
        locking._content = lambda at: looks.pop() if looks else real(at)  # type: ignore[assignment]
        try:
            assert not locking._rename_away(lock.path, b"stale")
        finally:
            locking._content = real
        assert lock.held()
    only(path)


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


def test_a_writer_who_lost_the_lock_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def slow(old: bytes | None) -> bytes:
        lock_file(path, token="another")
        return b"new"

    with pytest.raises(UsageError, match="somebody else who broke it"):
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
    with Lock(tmp_path / "g"), pytest.raises(UsageError, match="held by"), Lock(tmp_path / "f", timeout=0.01):
        pass
    update_file(tmp_path / "g", lambda old: b"2")
    assert (tmp_path / "g").is_symlink()
    assert (tmp_path / "f").read_bytes() == b"2"


def test_where_no_lock_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "nowhere" / "f", tmp_path / "file" / "f"):
        with pytest.raises(UsageError, match="cannot lock"), Lock(path, timeout=0.01):
            pass


def test_a_full_disk_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UsageError, match="No space left"), Lock(tmp_path / "f"):
        pass
    only(tmp_path / "f")


@POSIX
def test_a_forked_child_does_not_release_the_lock(tmp_path: Path) -> None:
    code = """
        import os, sys
        from pathlib import Path
        from steelyard.reference.locking import Lock
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
    "texts for numbers": b'{"host": 1, "place": 2, "pid": "3", "started": 4, "time": "5", "token": 6}',
    "a path for a pid": b'{"host": "h", "place": "HERE", "pid": "../..", "started": null, "time": 1, "token": "x"}',
    "deep": b"[" * 100_000,
    "a huge pid": b'{"host": "h", "place": "HERE", "pid": 1%s, "started": null, "time": 1, "token": "x"}' % (b"0" * 300),
    "no pid": b'{"host": "h", "place": "HERE", "pid": -1, "started": null, "time": 1, "token": "x"}',
    "no time": b'{"host": "h", "place": "elsewhere", "pid": 1, "started": null, "time": NaN, "token": "x"}',
    "an endless time": b'{"host": "h", "place": "elsewhere", "pid": 1, "started": null, "time": Infinity, "token": "x"}',
    "a late time": b'{"host": "h", "place": "elsewhere", "pid": 1, "started": null, "time": 1e300, "token": "x"}',
    "no text": b"\xff\xfe\x00",
    "large": b"x" * 10_000_000,
}


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE)
def test_any_content_of_a_lock_file_is_waited_for_refused_and_given_up_in_the_end(tmp_path: Path, content: bytes) -> None:
    path, found = tmp_path / "f", tmp_path / "f.lock"
    found.write_bytes(content.replace(b"HERE", json.dumps(locking._place())[1:-1].encode()))
    with pytest.raises(UsageError, match=r"cannot lock .* a lock held by somebody who did not sign it"), Lock(path, timeout=0.05):
        pass
    assert locking.is_held(path)
    os.utime(found, (time.time() - 11,) * 2)
    assert not locking.is_held(path)
    with Lock(path, timeout=2):
        pass
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


def test_a_lock_is_given_back_when_no_file_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = Lock(tmp_path / "f")
    with lock, monkeypatch.context() as patch:
        patch.setattr(locking, "_content", lambda path: None)
        assert lock.held()
        lock.__exit__(None, None, None)
        assert not lock.path.exists()
