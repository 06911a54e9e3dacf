"""The history of references: every change stays, a torn line included; who and where, without addresses."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories import changes_in
from steelyard.errors import SourceError, UsageError
from steelyard.reference import changes
from steelyard.reference.changes import ACTIONS, Change, append_changes, check_appendable, commit_of, now, who
from steelyard.version import __version__

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
CHANGES = st.builds(
    Change,
    action=st.sampled_from(ACTIONS),
    model=TEXT | st.none(),
    spec=st.dictionaries(TEXT, TEXT | st.integers() | st.booleans(), max_size=2),
    old=NUMBER | TEXT | st.none(),
    new=NUMBER | TEXT | st.none(),
    n=st.none() | st.integers(1, 10**9),
    runs=st.none() | st.integers(1, 10),
    reason=TEXT | st.none(),
    by=TEXT | st.none(),
    commit=TEXT | st.none(),
)


def append_change(path: Path, change: Change) -> tuple[str, ...]:
    return append_changes(path, [change])


@given(st.lists(CHANGES, max_size=4))
def test_what_was_appended_is_read(tmp_path_factory: pytest.TempPathFactory, some: list[Change]) -> None:
    path = tmp_path_factory.mktemp("references") / "t.history.jsonl"
    for number, change in enumerate(some, 1):
        assert append_change(path, change) == ()
        assert path.read_bytes().count(b"\n") == number
    assert changes_in(path) == tuple(some)


def test_a_line_as_people_see_it(tmp_path: Path) -> None:
    path = tmp_path / "t.history.jsonl"
    append_change(
        path,
        Change(
            action="update",
            model="m",
            spec={"quant_algo": "FP8"},
            old=0.5,
            new=0.625,
            n=8,
            reason="new prompt: été",
            time="2026-01-02T03:04:05Z",
            by="Ada",
        ),
    )
    expected = '{"action": "update", "model": "m", "spec": {"quant_algo": "FP8"}, "old": 0.5, "new": 0.625, "n": 8, '
    expected += '"reason": "new prompt: été", "time": "2026-01-02T03:04:05Z", "by": "Ada", "tool": "' + __version__ + '"}\n'
    assert path.read_text(encoding="utf-8") == expected
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


WHOLE = Change(action="record", model="m", new=0.5, reason="first", time="2026-01-01T00:00:00Z")


@pytest.mark.parametrize("size", [1, 10, 40, len(WHOLE.line()) - 2])
def test_a_torn_line_is_reported_kept_and_mended(tmp_path: Path, size: int) -> None:
    path = tmp_path / "h"
    append_change(path, WHOLE)
    torn = WHOLE.line()[:size]
    path.write_bytes(path.read_bytes() + torn)
    assert [(change.action, change.reason) for change in changes_in(path)[1:]] == [("torn", torn.decode())]
    (said,) = append_change(path, WHOLE)
    assert "cut short" in said
    assert [change.action for change in changes_in(path)] == ["record", "torn", "record"]
    assert changes_in(path)[1].reason == torn.decode()
    assert append_change(path, WHOLE) == ()
    assert len(changes_in(path)) == 4


def test_torn_inside_a_character(tmp_path: Path) -> None:
    path = tmp_path / "h"
    path.write_bytes('{"reason": "é'.encode()[:-1])
    assert len(append_change(path, WHOLE)) == 1
    assert changes_in(path)[0].reason == '{"reason": "\\xc3'


def test_a_last_line_without_its_end_is_a_line(tmp_path: Path) -> None:
    """As an editor leaves it."""
    path = tmp_path / "h"
    path.write_bytes(WHOLE.line().rstrip())
    assert len(changes_in(path)) == 1
    assert append_change(path, WHOLE) == ()
    assert changes_in(path) == (WHOLE, WHOLE)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        (b"nonsense", "Line 2 of .*'nonsense'"),
        (b"[]", "Line 2"),
        (b'{"action": "record"}', "Line 2"),
        (b'{"action": 1, "time": "x"}', "Line 2"),
        (b'{"action": "record", "time": "x", "spec": 3}', "Line 2"),
        (b"\xff", "Line 2"),
        (b"<<<<<<< HEAD", "merge conflict.*merge=union"),
        (b"[" * 100_000, "Line 2"),
    ],
)
def test_a_damaged_line_is_told_with_its_number(tmp_path: Path, line: bytes, match: str) -> None:
    path = tmp_path / "h"
    path.write_bytes(WHOLE.line() + line + b"\n" + WHOLE.line())
    with pytest.raises(SourceError, match=match):
        changes_in(path)


def test_what_a_later_version_adds_survives(tmp_path: Path) -> None:
    path = tmp_path / "h"
    later = {**json.loads(WHOLE.line()), "mood": "good"}
    path.write_text(json.dumps(later) + "\n")
    assert changes_in(path) == (WHOLE,)
    append_change(path, WHOLE)
    assert '"mood": "good"' in path.read_text()


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_leaves_the_history_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = tmp_path / "h"
    append_change(path, WHOLE)
    before = path.read_bytes()
    real = os.write

    def full(handle: int, data: bytes = b"") -> int:
        if call == "write" and os.fstat(handle).st_size == 0:
            return real(handle, data)  # the lock
        if call == "write" and len(data) > 20:
            return real(handle, data[:20])  # some of it fits
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(UsageError, match="this change is not in it"):
        append_change(path, WHOLE)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["h"]


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h"
    for change in (
        Change(action="torn"),
        Change(action="delete"),
        Change(action="record", new=float("nan")),
        Change(action="record", reason="\ud800"),
        Change(action="record", spec={"x": {1}}),
    ):
        with pytest.raises(UsageError, match=r"A change of a reference is|texts and finite numbers only"):
            append_change(path, change)
    assert not path.exists()
    with pytest.raises(UsageError, match="Cannot lock"):
        append_change(tmp_path / "nowhere" / "h", WHOLE)


def test_several_lines_are_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h"
    append_change(path, WHOLE)
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(handle), real(handle))[1])
    assert append_changes(path, [Change(action="import", model=f"m{i}") for i in range(50)]) == ()
    assert len(synced) == 1
    assert [change.model for change in changes_in(path)][1:] == [f"m{i}" for i in range(50)]
    before = path.read_bytes()
    assert append_changes(path, []) == ()
    with pytest.raises(UsageError, match="A change of a reference is"):
        append_changes(path, [WHOLE, Change(action="delete")])
    assert path.read_bytes() == before


def test_a_first_line_that_may_not_last_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(UsageError, match=r"What was written to .* may not last: Input/output error\."):
        append_change(tmp_path / "h", WHOLE)
    assert not (tmp_path / "h").exists()


def test_whether_a_line_could_be_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h"
    check_appendable(path)
    assert not path.exists()  # a look makes nothing
    append_change(path, WHOLE)
    before = path.read_bytes()
    check_appendable(path)
    assert path.read_bytes() == before
    with pytest.raises(SourceError, match="not a file"):
        check_appendable(tmp_path)

    def refused(*given: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(UsageError, match="nothing was changed"):
        check_appendable(path)


def test_many_processes_append(tmp_path: Path) -> None:
    path = tmp_path / "h"
    code = """
        import sys
        from pathlib import Path
        from steelyard.reference.changes import Change, append_changes
        for i in range(6):
            append_changes(Path(sys.argv[1]), [Change(action="record", model=sys.argv[2], n=i + 1)])
    """
    writers = [subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(path), str(k)]) for k in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    found = [(change.model, change.n) for change in changes_in(path)]
    assert sorted(found) == [(str(k), i) for k in range(4) for i in range(1, 7)]  # type: ignore[type-var]


def test_the_time_is_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "gmtime", lambda: time.struct_time((2026, 1, 2, 3, 4, 5, 0, 0, 0)))
    assert now() == "2026-01-02T03:04:05Z"
    assert Change(action="record").time == "2026-01-02T03:04:05Z"


# ---- who and where -------------------------------------------------------------------------------------------------

GIT = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    home = tmp_path / "repository"
    home.mkdir()
    git(home, "init", "-q")
    git(home, "config", "user.name", "Ada Lovelace")
    git(home, "config", "user.email", "ada@example.org")
    (home / "code.py").write_text("1")
    (home / "references").mkdir()
    (home / "references" / "t.yaml").write_text("1")
    monkeypatch.chdir(home)
    return home


def git(home: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=home, check=True, capture_output=True, text=True).stdout.strip()


@GIT
def test_the_commit(repository: Path) -> None:
    assert commit_of(repository) is None  # none yet
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    head = git(repository, "rev-parse", "HEAD")[:12]
    assert commit_of(repository) == commit_of(repository / "references") == head
    (repository / "new.py").write_text("not known to git")
    assert commit_of(repository) == head
    (repository / "references" / "t.yaml").write_text("2")
    assert commit_of(repository) == commit_of(repository / "references") == f"{head}-dirty"
    assert commit_of(repository, except_for=repository / "references") == head
    assert commit_of(repository / "references", except_for=Path("references")) == head
    (repository / "code.py").write_text("2")
    assert commit_of(repository / "references", except_for=repository / "references") == f"{head}-dirty"


@GIT
def test_a_hook_of_another_repository_does_not_mislead(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    head = git(repository, "rev-parse", "HEAD")[:12]
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert commit_of(repository) == head


def test_without_git_or_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of(tmp_path) is None
    assert commit_of(tmp_path / "nowhere") is None
    monkeypatch.setenv("PATH", "")
    assert commit_of(tmp_path) is None
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    assert who() == "ada"


@GIT
def test_git_that_would_not_say_whether_it_is_clean(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    real = subprocess.run

    def slow(words: list[str], **given: object) -> object:
        if "status" in words:
            raise subprocess.TimeoutExpired(words, 1)
        return real(words, **given)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", slow)
    found = commit_of(repository)
    assert found is not None
    assert re.fullmatch(r"[0-9a-f]{12}-unchecked", found)


@GIT
def test_who(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "login")
    assert who() == "Ada Lovelace"
    for name, shown in {
        "Ada <ada@example.org>": "Ada",
        "ada@example.org": "login",
        "Ada\x1b[31m ada@example.org": "Ada[31m",
        "  ": "login",
        "x" * 200: "x" * 80,
    }.items():
        git(repository, "config", "user.name", name)
        assert who() == shown


def test_nobody_knows_who(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid 12345")

    monkeypatch.setattr(changes, "_git", lambda *given: None)
    monkeypatch.setattr("getpass.getuser", unknown)
    assert who() == "unknown"
