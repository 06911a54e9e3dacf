"""Faults from outside while a reference is written or read: full disks, kills, links, damage, many writers at once.

After each of them the reference is the old one or the new one, whole, with its history; and what is said is one line.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import steelyard_old as sy
from cases import seldom
from histories import changes_in
from steelyard_old.errors import SteelyardError
from steelyard_old.reference import changes, outcomes

Rows = list[dict[str, Any]]
REFERENCES = Path("references")
OLD, NEW = [1] * 30 + [0] * 10, [1] * 20 + [0] * 20


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(scores: list[int], prefix: str = "q") -> Rows:
    return [{"id": f"{prefix}{i}", "score": s} for i, s in enumerate(scores)]


def recorded() -> dict[str, bytes]:
    sy.record(rows(OLD), task="t", model="m", reason="first")
    return snapshot()


@functools.cache
def on_record() -> dict[str, bytes]:
    """The files of a first record, which is made once."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return recorded()


def first() -> dict[str, bytes]:
    """The first record is there."""
    for name, data in on_record().items():
        (REFERENCES / name).parent.mkdir(parents=True, exist_ok=True)
        (REFERENCES / name).write_bytes(data)
    return on_record()


def update(**options: Any) -> sy.Recorded:
    return sy.record(rows(NEW), task="t", model="m", update=True, reason="second", **options)


def snapshot() -> dict[str, bytes]:
    return {str(path.relative_to(REFERENCES)): path.read_bytes() for path in sorted(REFERENCES.rglob("*")) if path.is_file()}


def value() -> float:
    found: float = yaml.safe_load((REFERENCES / "t.yaml").read_text("utf-8"))["m"][0]["accuracy"]
    return found


def whole(before: dict[str, bytes] | None = None, *, history: bool = True) -> str:
    """Whether the old or the new reference is on record, all of it: entry, outcomes and history."""
    is_new = value() == 0.5
    run = rows(NEW if is_new else OLD)
    verdict = sy.check(run, task="t", model="m")
    assert verdict.verdict == "pass"
    assert verdict.flips is not None
    assert verdict.flips["baseline_only"] == verdict.flips["candidate_only"] == 0
    said = [change.new for change in changes_in(REFERENCES / "t.history.jsonl") if change.action in ("record", "update")]
    assert not history or said == ([0.75, 0.5] if is_new else [0.75]), "the history does not say what the entry says"
    if before is not None and not is_new:
        assert snapshot()["t.yaml"] == before["t.yaml"]
    return "new" if is_new else "old"


def failing(monkeypatch: pytest.MonkeyPatch, name: str, at: int, fault: OSError) -> list[int]:
    """Let the at-th call (from 0) of os.NAME fail, once. The list counts the calls."""
    real: Callable[..., Any] = getattr(os, name)
    calls = [0]

    def sometimes(*words: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == at + 1:
            raise fault
        return real(*words, **options)

    monkeypatch.setattr(os, name, sometimes)
    return calls


# One system call fails


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("replace", errno.ENOSPC),
        ("fsync", errno.EIO),
        ("write", errno.ENOSPC),
        ("open", errno.EACCES),
        ("open", errno.EMFILE),
        ("mkdir", errno.EROFS),
    ],
)
def test_any_failing_call_leaves_the_old_reference_or_the_new_one(
    name: str, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every call of an update fails in turn. An error means the old state, a success the new; nothing between."""
    at, wrong = 0, []
    while at < 40:
        where = tmp_path / f"{name}{at}"
        where.mkdir()
        monkeypatch.chdir(where)
        before = first()
        with monkeypatch.context() as patch:
            calls = failing(patch, name, at, OSError(code, os.strerror(code)))
            try:
                update()
                said = "new"
            except SteelyardError:
                said = "old"
            except OSError as raw:
                said = "old"
                wrong.append(f"call {at}: a bare {type(raw).__name__}")
        try:
            late = name == "fsync" or code == errno.EMFILE  # a directory that cannot be synced is told after the fact
            if whole(before) != said and not late:
                wrong.append(f"call {at}: the {whole()} reference is there, and the command said {said}")
        except (AssertionError, SteelyardError) as fault:
            wrong.append(f"call {at}: {str(fault).splitlines()[0]}")
        if calls[0] <= at:
            break
        at += 1
    assert not wrong, "; ".join(wrong)


@pytest.mark.parametrize("name", ["replace", "write"])
def test_a_failed_update_leaves_no_litter(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Outcomes that no entry refers to, temporary files, locks: after an error all files are as they were."""
    wrong = []
    for at in range(20):
        where = tmp_path / str(at)
        where.mkdir()
        monkeypatch.chdir(where)
        before = first()
        with monkeypatch.context() as patch:
            failing(patch, name, at, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            try:
                update()
                break
            except SteelyardError:
                pass
        litter = sorted(snapshot().keys() ^ before.keys())
        if litter:
            wrong.append(f"call {at}: {litter}")
    assert not wrong, "; ".join(wrong)


@pytest.mark.parametrize("name", ["replace", "write", "fsync"])
def test_a_failed_first_record_leaves_nothing(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = []
    for at in range(20):
        where = tmp_path / str(at)
        where.mkdir()
        monkeypatch.chdir(where)
        with monkeypatch.context() as patch:
            failing(patch, name, at, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            try:
                recorded()
                break
            except SteelyardError:
                pass
        if litter := sorted(snapshot()):
            wrong.append(f"call {at}: {litter}")
    assert at > 2
    assert not wrong, "; ".join(wrong)


def test_an_entry_that_cannot_be_put_back_is_told_and_its_line_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full from the line of history on: the old entry finds no room either."""
    first()
    full: list[int] = []
    real_append, real_write = changes._append, os.write

    def append(*words: Any, **options: Any) -> None:
        full.append(1)
        real_append(*words, **options)

    def write(handle: int, data: Any) -> int:
        if full and not bytes(data).startswith(b'{"host"'):  # the lock still fits
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(changes, "_append", append)
        patch.setattr(os, "write", write)
        with pytest.raises(
            SteelyardError, match="says what is unfinished; the next command that writes finishes it, with its line of history"
        ):
            update()
    assert whole(history=False) == "new"
    third = sy.record(rows(OLD), task="t", model="m", update=True, reason="third")
    assert any("finished, with its line of history" in warning for warning in third.warnings)
    assert [(change.action, change.new, change.reason) for change in changes_in(REFERENCES / "t.history.jsonl")] == [
        ("record", 0.75, "first"),
        ("update", 0.5, "second"),
        ("update", 0.75, "third"),
    ]


def test_a_history_that_cannot_be_written_stops_the_update() -> None:
    """A change without its line of history would be a change that nobody made."""
    first()
    (REFERENCES / "t.history.jsonl").unlink()
    (REFERENCES / "t.history.jsonl").mkdir()
    with pytest.raises(SteelyardError):
        update()
    assert value() == 0.75


def test_a_directory_that_cannot_be_made_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "mkdir", 0, PermissionError(errno.EACCES, "Permission denied"))
    with pytest.raises(SteelyardError, match="references"):
        sy.record(rows(OLD), task="t", model="m")


def test_a_file_where_the_directory_should_be() -> None:
    REFERENCES.write_text("", encoding="utf-8")
    with pytest.raises(SteelyardError, match="references"):
        sy.record(rows(OLD), task="t", model="m")
    assert REFERENCES.read_text(encoding="utf-8") == ""


def test_a_directory_where_the_task_file_should_be() -> None:
    (REFERENCES / "t.yaml").mkdir(parents=True)
    with pytest.raises(SteelyardError, match=r"t\.yaml"):
        sy.record(rows(OLD), task="t", model="m")
    with pytest.raises(SteelyardError, match=r"t\.yaml"):
        sy.check(rows(OLD), task="t", model="m")


# Links and names that lead out


@pytest.mark.parametrize("name", ["t.yaml", "t.items", "t.history.jsonl"])
def test_links_out_of_the_directory_are_refused_and_nothing_is_written_there(name: str, home: Path) -> None:
    first()
    outside = home / "outside"
    outside.mkdir()
    target = outside / name
    (REFERENCES / name).rename(target)
    (REFERENCES / name).symlink_to(target)
    there = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    with pytest.raises(SteelyardError, match=r"is a link out of the directory .*, to .*\."):
        update()
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == there


def test_a_refused_history_link_leaves_the_entry_as_it_was(home: Path) -> None:
    first()
    (home / "elsewhere").write_text("", encoding="utf-8")
    (REFERENCES / "t.history.jsonl").unlink()
    (REFERENCES / "t.history.jsonl").symlink_to(home / "elsewhere")
    with pytest.raises(SteelyardError):
        update()
    assert value() == 0.75


def test_the_directory_itself_may_be_a_link(home: Path) -> None:
    (home / "real").mkdir()
    REFERENCES.symlink_to(home / "real")
    recorded()
    assert whole() == "old"
    assert REFERENCES.is_symlink()


@pytest.mark.parametrize(
    "name",
    [
        "../secret.outcomes",
        "/etc/passwd",
        "t.items/../../secret.outcomes",
        "other.items/x.outcomes",
        "t.items/x",
        "t.items/a\\b.outcomes",
        "",
    ],
)
def test_an_entry_cannot_point_out_of_its_items(name: str) -> None:
    first()
    file = REFERENCES / "t.yaml"
    entry = yaml.safe_load(file.read_text("utf-8"))["m"][0]
    file.write_text(file.read_text("utf-8").replace(entry["items"], json.dumps(name)), encoding="utf-8")
    with pytest.raises(SteelyardError):
        sy.check(rows(OLD), task="t", model="m")
    with contextlib.suppress(SteelyardError):
        update()  # the old name must not be followed either, when old outcomes are cleared away
    assert Path("/etc/passwd").exists()


def test_clearing_away_old_outcomes_deletes_nothing_but_them() -> None:
    """An entry that names a file of another task, or its own task file, as its items."""
    first()
    sy.record(rows(OLD), task="other", model="m")
    victim = next((REFERENCES / "other.items").glob("*.outcomes"))
    file = REFERENCES / "t.yaml"
    entry = yaml.safe_load(file.read_text("utf-8"))["m"][0]
    for name in (f"other.items/{victim.name}", "t.history.jsonl", "other.yaml"):
        text = file.read_text("utf-8")
        entry = yaml.safe_load(text)["m"][0]
        file.write_text(text.replace(entry["items"], name), encoding="utf-8")
        with contextlib.suppress(SteelyardError):
            update()
        assert victim.exists(), name
        assert (REFERENCES / "t.history.jsonl").exists(), name
        assert (REFERENCES / "other.yaml").exists(), name


def test_an_entry_copied_by_hand_keeps_the_outcomes_it_shares() -> None:
    """A person copies an entry to another spec, items and all; an update of one must not take them from the other."""
    first()
    file = REFERENCES / "t.yaml"
    lines = file.read_text("utf-8").splitlines(keepends=True)
    copy = ["  - quant_algo: FP8\n", lines[1].replace("  - ", "    "), *lines[2:]]
    file.write_text("".join([*lines, *copy]), encoding="utf-8")
    fp8 = {"quant_algo": "FP8"}
    assert sy.check(rows(OLD), task="t", model="m", spec=fp8).verdict == "pass"
    update()
    assert sy.check(rows(OLD), task="t", model="m", spec=fp8).verdict == "pass"


# Damage


@pytest.mark.parametrize(
    "text", ["m: [", "m:\n  - accuracy: 0.5\nm:\n  - accuracy: 0.6\n", "\t", "m: 3", "- a", "m:\n  - accuracy: yes\n", "\x00"]
)
def test_a_damaged_task_file_is_never_overwritten(text: str) -> None:
    first()
    (REFERENCES / "t.yaml").write_text(text, encoding="utf-8")
    for ask in (update, lambda: sy.check(rows(OLD), task="t", model="m"), lambda: sy.record(rows(OLD), task="t", model="new")):
        with pytest.raises(SteelyardError) as told:
            ask()
        assert "\n" not in str(told.value).strip() or "line" in str(told.value)
        assert (REFERENCES / "t.yaml").read_text("utf-8") == text


def damaged(path: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    data = path.read_bytes()
    yield "missing", path.unlink
    yield "empty", lambda: path.write_bytes(b"")
    yield "cut", lambda: path.write_bytes(data[: len(data) // 2])
    yield "longer", lambda: path.write_bytes(data + b"x\n")
    for at in range(0, len(data), max(1, len(data) // 25)):
        yield f"byte {at}", lambda at=at: path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


@pytest.mark.parametrize("ending", ["outcomes", "items"])
def test_damaged_outcomes_are_never_judged_by(ending: str) -> None:
    """Any byte changed: an error that names the file, never a verdict."""
    first()
    (path,) = (REFERENCES / "t.items").glob(f"*.{ending}")
    data = path.read_bytes()
    for what, damage in damaged(path):
        damage()
        with pytest.raises(SteelyardError, match=f"{ending}|items") as told:
            sy.check(rows(OLD), task="t", model="m")
        assert "Hint" in str(told.value), what
        path.write_bytes(data)
    assert whole() == "old"


@pytest.mark.parametrize("ending", ["outcomes", "items"])
def test_damaged_outcomes_can_be_recorded_again_as_the_hint_says(ending: str) -> None:
    first()
    for path in (REFERENCES / "t.items").glob(f"*.{ending}"):
        path.write_bytes(b"garbage")
    update()
    assert whole() == "new"


def test_damage_of_another_model_does_not_fail_an_update_that_was_made() -> None:
    first()
    sy.record(rows([1, 0] * 20), task="t", model="other")
    damaged_file = next(path for path in (REFERENCES / "t.items").glob("other*.outcomes"))
    damaged_file.write_bytes(b"garbage")
    update()
    assert value() == 0.5


def test_a_torn_history_is_mended_and_kept() -> None:
    first()
    with (REFERENCES / "t.history.jsonl").open("ab") as file:
        file.write(b'{"action": "upd')
    update()
    found = changes_in(REFERENCES / "t.history.jsonl")
    assert [change.action for change in found] == ["record", "torn", "update"]


# Processes that are killed


def in_child(work: Callable[[], object]) -> int:
    """Run in a forked process; returns its wait status. 3: a SteelyardError, 70: anything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # nothing here holds a thread's lock
        pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    code = 70
    try:
        work()
        code = 0
    except SteelyardError:
        code = 3
    finally:
        os._exit(code)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
@pytest.mark.parametrize(  # before every operation of any kind: test_task_file_crash_points.py
    ("name", "after"),
    [("replace", False), ("replace", True), *seldom(*((n, a) for n in ("fsync", "open", "unlink") for a in (False, True)))],
)
def test_kill_9_at_any_call_leaves_the_old_reference_or_the_new_one(
    name: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder is killed before (or after) its k-th call, for every k. The next one can work at once."""
    wrong, at, status = [], 0, -1
    while status != 0 and at < 30:
        where = tmp_path / f"{name}{after}{at}"
        where.mkdir()
        monkeypatch.chdir(where)
        before = first()
        real = getattr(os, name)
        calls = [0]

        def killed(*words: Any, real: Any = real, calls: list[int] = calls, at: int = at, **options: Any) -> Any:
            calls[0] += 1
            last = calls[0] == at + 1
            if last and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            out = real(*words, **options)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)
            return out

        def work(killed: Any = killed) -> None:
            setattr(os, name, killed)
            update()

        status = in_child(work)
        assert status in (0, signal.SIGKILL)
        try:
            whole(before, history=False)  # the line of history may be missing: see below
            update()
            sy.check(rows(NEW), task="t", model="m")
        except (AssertionError, SteelyardError) as fault:
            wrong.append(f"call {at}: {str(fault).splitlines()[0]}")
        at += 1
    assert status == 0
    assert at > 1
    assert not wrong, "; ".join(wrong)


@needs_fork
def test_the_next_record_mends_a_history_that_a_kill_left_behind() -> None:
    """Killed after the entry was renamed into place and before its line was added: nothing is lost, so the line comes later."""
    first()
    real = os.replace

    def killed(source: Any, target: Any) -> None:
        real(source, target)
        if str(target).endswith("t.yaml"):
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        os.replace = killed  # type: ignore[assignment]
        update()

    assert in_child(work) == signal.SIGKILL
    assert value() == 0.5
    sy.record(rows(OLD), task="t", model="m", update=True, reason="third")
    found = [change for change in changes_in(REFERENCES / "t.history.jsonl") if change.action != "torn"]
    assert [change.new for change in found] == [0.75, 0.5, 0.75]


# Many writers at once


def at_once(*works: Callable[[], object]) -> list[int]:
    """All of them in processes of their own; exit codes."""
    pids = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for work in works:
            pid = os.fork()
            if not pid:
                code = 70
                try:
                    work()
                    code = 0
                except SteelyardError:
                    code = 3
                finally:
                    os._exit(code)
            pids.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


@needs_fork
def test_many_recorders_of_different_models_lose_nothing() -> None:
    def work(i: int) -> Callable[[], object]:
        return lambda: sy.record(rows([1] * i + [0] * (40 - i)), task="t", model=f"m{i}")

    assert at_once(*map(work, range(12))) == [0] * 12
    assert set(yaml.safe_load((REFERENCES / "t.yaml").read_text("utf-8"))) == {f"m{i}" for i in range(12)}
    assert len(changes_in(REFERENCES / "t.history.jsonl")) == 12
    for i in range(4, 12):
        assert sy.check(rows([1] * i + [0] * (40 - i)), task="t", model=f"m{i}").verdict == "pass"
    assert not list(REFERENCES.rglob("*.lock"))
    assert not list(REFERENCES.rglob("*.tmp"))


@needs_fork
def test_of_many_recorders_of_one_model_exactly_one_wins() -> None:
    def work(i: int) -> Callable[[], object]:
        return lambda: sy.record(rows([1] * (10 + i) + [0] * (30 - i)), task="t", model="m")

    codes = at_once(*map(work, range(12)))
    assert sorted(codes) == [0] + [3] * 11
    (winner,) = (i for i, code in enumerate(codes) if code == 0)
    assert value() == (10 + winner) / 40
    assert sy.check(rows([1] * (10 + winner) + [0] * (30 - winner)), task="t", model="m").verdict == "pass"
    assert len(changes_in(REFERENCES / "t.history.jsonl")) == 1
    assert len(list((REFERENCES / "t.items").glob("*.outcomes"))) == 1  # the losers leave none


@needs_fork
def test_updates_of_different_models_on_different_items_lose_nothing() -> None:
    """Each update clears away what only its old outcomes referred to, while others write items of their own."""
    models = range(8)
    for i in models:
        sy.record(rows(OLD, f"old{i}-"), task="t", model=f"m{i}")

    def work(i: int) -> Callable[[], object]:
        return lambda: sy.record(rows(NEW, f"new{i}-"), task="t", model=f"m{i}", update=True, reason="new items")

    codes = at_once(*map(work, models))
    assert codes == [0] * 8
    for i in models:
        assert sy.check(rows(NEW, f"new{i}-"), task="t", model=f"m{i}").verdict == "pass"


def test_a_reader_during_an_update_gets_the_old_answer_or_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry is read, then somebody updates it, then its outcomes are read."""
    first()
    real: Any = outcomes.load
    done: list[int] = []

    def between(*words: Any) -> Any:
        if not done:
            done.append(1)
            update()
        return real(*words)

    monkeypatch.setattr(outcomes, "load", between)
    verdict = sy.check(rows(OLD), task="t", model="m")
    assert verdict.flips is not None
    assert verdict.flips["baseline_only"] in (0, 10)
