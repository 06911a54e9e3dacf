"""Every command that changes references, killed at each of its file operations: all of before or all of after, with who and why.

What a kill leaves is what is on the disk before its operation, half of the bytes for a write: one run of the command shows it for all of
its operations, and a forked process that really dies at some of them leaves the same. What readers see then must be consistent and
they must not write; the next writing command finishes the change or undoes it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import steelyard_old as sy
from histories import changes_in
from steelyard_old import pytest_summary
from steelyard_old.errors import SteelyardError
from steelyard_old.questions.references.changes import approve_reference, remove_reference, rename_reference
from steelyard_old.questions.references.history import reference_history
from steelyard_old.questions.references.importing import import_references
from steelyard_old.questions.references.lint import lint_references
from steelyard_old.questions.references.listing import list_references
from steelyard_old.reference import changes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

WRITING = os.O_WRONLY | os.O_RDWR
OPERATIONS = ("open", "write", "fsync", "replace", "rename", "unlink", "remove", "mkdir", "rmdir", "link", "ftruncate", "truncate", "chmod")
WHY = "the reason of the change"
KILLED = 137
MOST = 400  # operations: far more than any of the commands has


# ---- a process that is killed ------------------------------------------------------------------------------------------------


class Watch:
    """Calls `before` ahead of every operation that changes files, with its number from 1 on; of a write, when half of it is done."""

    def __init__(self, before: Callable[[int], None]) -> None:
        self.before, self.count, self.looking = before, 0, False

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for name in OPERATIONS:
            if hasattr(os, name):
                patch.setattr(os, name, self.wrapped(name, getattr(os, name)))

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **options: Any) -> Any:
            if self.looking or (name == "open" and not (words[1] & WRITING)):
                return real(*words, **options)
            self.count += 1
            done = real(words[0], bytes(words[1])[: len(words[1]) // 2]) if name == "write" else 0
            self.looking = True
            self.before(self.count)
            self.looking = False
            return done + real(words[0], bytes(words[1])[done:]) if name == "write" else real(*words, **options)

        return call


def in_child(work: Callable[[], object], at: int) -> int:
    """The exit code of the work in a forked process that dies at its at-th operation; 0 if it has fewer, 3 for an error of ours."""

    def die(count: int) -> None:
        if count == at:
            os._exit(KILLED)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 70
    try:
        Watch(die).install(pytest.MonkeyPatch())
        work()
        code = 0
    except SteelyardError:
        code = 3
    finally:
        os._exit(code)


class Left:
    """What a kill at each operation of some work here leaves: copies of this directory, one for all kills that leave the same.

    A kill before an fsync leaves what a kill after it leaves.
    """

    def __init__(self, work: Callable[[], object], copies: Path) -> None:
        self.copies, self.folders = copies, dict[int, Path]()
        self._states: list[dict[str, bytes]] = []
        watch = Watch(self._look)
        with pytest.MonkeyPatch.context() as patch:
            watch.install(patch)
            work()
        self.operations = watch.count
        assert 10 < self.operations < MOST

    def _look(self, at: int) -> None:
        if (state := left_behind()) not in self._states:
            self._states.append(state)
            self.folders[at] = Path(shutil.copytree(".", self.copies / f"at{at}"))

    def first(self, wanted: Callable[[Path], bool]) -> Path:
        """The copy of the first kill that leaves something like this."""
        return next(folder for folder in self.folders.values() if wanted(folder))


# ---- the commands --------------------------------------------------------------------------------------------------------------


def run(right: int, prefix: str = "q") -> list[dict[str, Any]]:
    return [{"id": f"{prefix}{i}", "score": int(i < right)} for i in range(12)]


def prepare() -> None:
    """Two models on record, of different items, and another suite's file to import."""
    sy.record(run(9), task="t", model="m", reason="first")
    sy.record(run(8, "other"), task="t", model="kept", reason="first")
    Path("suite").mkdir()
    Path("suite/t.yaml").write_text("m:\n  - accuracy: 0.5\nimported:\n  - accuracy: 0.25\n", encoding="utf-8")
    Path("waiting.json").write_text(
        json.dumps({"source": run(6, "new"), "options": {"task": "t", "model": "m"}, "cwd": "."}), encoding="utf-8"
    )


def with_pytest() -> None:
    """What the end of a pytest session does with --accuracy-update."""
    found = {"test": "test_m", "waiting": "waiting.json", "directory": "references", "task": "t", "model": "m", "spec": {}}
    told = pytest_summary.SessionSummary([found])
    pytest_summary._put_on_record([found], set(), told, update=True, reason=WHY)
    assert not told.errors


COMMANDS: dict[str, Callable[[], object]] = {
    "record": lambda: sy.record(run(6, "new"), task="t", model="new", reason=WHY),
    "record a first time": lambda: sy.record(run(6, "new"), task="u", model="new", reason=WHY),
    "record --update": lambda: sy.record(run(6, "new"), task="t", model="m", update=True, reason=WHY),
    "record --update without items": lambda: sy.record(run(6), task="t", model="m", update=True, items=False, reason=WHY),
    "rename": lambda: rename_reference("t", "m", "renamed", reason=WHY),
    "remove": lambda: remove_reference("t", "m", reason=WHY),
    "approve": lambda: approve_reference("t", "m", reason=WHY),
    "import": lambda: import_references("suite/t.yaml", dialect="trtllm", update=True, reason=WHY),
    "pytest --accuracy-update": with_pytest,
}


def following(task: str) -> None:
    """The next command that writes: a reference of another model."""
    sy.record(run(7, "next"), task=task, model="next", reason="next")


# ---- what there is -------------------------------------------------------------------------------------------------------------


def snapshot() -> dict[str, bytes]:
    files = (path for path in sorted(Path("references").rglob("*")) if path.is_file() and ".lock" not in path.name)
    return {str(path): path.read_bytes() for path in files}


def left_behind() -> dict[str, bytes]:
    """Every file that is there, but for random names and the contents of locks."""
    files = [path for path in sorted(Path().rglob("*")) if path.is_file()]
    named = [(re.sub(r"[0-9a-f]{16}\.(tmp|stale)$", r"\1", str(path)), path) for path in files]
    return {name: b"signed"[: path.stat().st_size] if ".lock" in name else path.read_bytes() for name, path in named}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Time stands still, git is not asked and the disk is not waited for."""
    monkeypatch.setattr(changes, "time", SimpleNamespace(strftime=lambda *_: "2026-11-16T12:00:00Z", gmtime=lambda: None))
    monkeypatch.setattr(changes, "_git", lambda *_: None)
    monkeypatch.setattr(changes, "_login", lambda: "Tester")
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # a process that is killed loses nothing that it wrote; the call still counts
    base = tmp_path / "base"
    base.mkdir()
    monkeypatch.chdir(base)
    prepare()


def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    shutil.copytree(tmp_path / "base", tmp_path / name)
    monkeypatch.chdir(tmp_path / name)


def expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], task: str) -> tuple[Any, Any]:
    """The files before the work and after it, each with what the next command adds."""
    ends = []
    for name, step in (("undone", lambda: None), ("finished", work)):
        fresh(tmp_path, monkeypatch, name)
        step()
        following(task)
        ends.append(snapshot())
    return ends[0], ends[1]


def seen_by_readers(task: str) -> list[str]:
    """What readers say that contradicts itself, or any file that they write."""
    before = {str(path): path.read_bytes() for path in Path("references").rglob("*") if path.is_file()}
    list_references()
    wrong = []
    lint = lint_references()
    odd = [finding for finding in lint.findings if finding.code in ("edited", "items", "unreadable", "history", "value")]
    wrong += [f"lint: {finding.sentence}" for finding in odd]
    if Path(f"references/{task}.yaml").exists():
        story = reference_history(task)
        wrong += [f"history: {each}" for each in story.warnings if "changed by hand" in each or "cut short" in each]
        changed = b"renamed" in before[f"references/{task}.yaml"]
        if changed and WHY not in str(story.to_dict()):
            wrong.append("history: a new name without who and why")
    if {str(path): path.read_bytes() for path in Path("references").rglob("*") if path.is_file()} != before:
        wrong.append("a reader wrote")
    return wrong


# With the long ones: they write by the same steps as one of the others.
SELDOM = ("record", "record a first time", "record --update without items", "remove", "approve", "pytest --accuracy-update")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long) if name in SELDOM else name for name in COMMANDS])
def test_a_kill_at_any_operation_leaves_all_of_before_or_all_of_after(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, task = COMMANDS[name], "u" if name == "record a first time" else "t"
    undone, finished = expected(tmp_path, monkeypatch, work, task)
    assert undone != finished
    fresh(tmp_path, monkeypatch, "work")
    left = Left(work, tmp_path / "left")
    wrong, ends = [], set()
    for at, folder in left.folders.items():
        monkeypatch.chdir(folder)
        try:
            wrong += [f"operation {at}: {sentence}" for sentence in seen_by_readers(task)]
            following(task)
        except SteelyardError as fault:
            wrong.append(f"operation {at}: {fault}")
            continue
        found = snapshot()
        if found not in (undone, finished):
            files = sorted(file for file in {*found, *finished} if found.get(file) not in (undone.get(file), finished.get(file)))
            wrong.append(f"operation {at}: {files or 'half of before, half of after'}")
        ends.add(found == finished)
    assert not wrong, f"{len(wrong)} of {left.operations} operations:\n" + "\n".join(wrong)
    assert ends == {True, False}, "both ends are reached"


def test_a_process_that_is_killed_leaves_what_was_there_at_its_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that one run of a command shows what kills at all of its operations leave."""
    fresh(tmp_path, monkeypatch, "work")
    left = Left(COMMANDS["rename"], tmp_path / "left")
    for at, folder in list(left.folders.items())[1::4]:
        fresh(tmp_path, monkeypatch, f"killed{at}")
        assert in_child(COMMANDS["rename"], at) == KILLED
        state = left_behind()
        monkeypatch.chdir(folder)
        assert left_behind() == state, f"operation {at}"
    fresh(tmp_path, monkeypatch, "lived")
    assert in_child(COMMANDS["rename"], left.operations + 1) == 0


def test_an_imported_reference_is_never_there_without_what_its_suite_knows_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A perplexity without its direction would be judged the wrong way round."""
    source = Path(__file__).parent / "trtllm" / "SlimPajama-6B.yaml"
    ends = set()
    for at, folder in Left(lambda: import_references(source, dialect="trtllm", reason=WHY), tmp_path / "left").folders.items():
        monkeypatch.chdir(folder)
        there, known = (Path(name).exists() for name in ("references/SlimPajama-6B.yaml", "steelyard.toml"))
        assert known or not there, f"operation {at}"
        import_references(source, dialect="trtllm", reason=WHY)
        assert "higher_is_better = false" in Path("steelyard.toml").read_text(encoding="utf-8")
        assert len(changes_in(Path("references/SlimPajama-6B.history.jsonl"))) == 1
        ends.add((there, known))
    assert ends == {(False, False), (False, True), (True, True)}


def test_the_command_that_finishes_a_change_may_be_killed_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every operation of the next command, after a kill that left an update without its line of history."""
    work, second = COMMANDS["record --update"], COMMANDS["approve"]
    ends = []
    for name, steps in (("one", [work]), ("both", [work, second])):
        fresh(tmp_path, monkeypatch, name)
        for step in steps:
            step()
        following("t")
        ends.append(snapshot())
    fresh(tmp_path, monkeypatch, "work")
    before = Path("references/t.history.jsonl").read_bytes()

    def is_half_done(folder: Path) -> bool:
        """Whether there are the new file and the old history."""
        new = WHY in Path(folder, "references/t.yaml").read_text(encoding="utf-8")
        return new and Path(folder, "references/t.history.jsonl").read_bytes() == before

    monkeypatch.chdir(Left(work, tmp_path / "left").first(is_half_done))
    left = Left(second, tmp_path / "second")
    assert left.operations > 20
    for at, folder in left.folders.items():
        monkeypatch.chdir(folder)
        following("t")
        assert snapshot() in ends, f"operation {at}"


def test_lint_and_history_name_what_is_unfinished_and_the_next_writer_says_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Left(COMMANDS["rename"], tmp_path / "left")
    monkeypatch.chdir(left.first(lambda folder: "renamed" in Path(folder, "references/t.yaml").read_text(encoding="utf-8")))
    (found,) = [finding for finding in lint_references().findings if finding.code == "unfinished"]
    assert found.level == "warning"
    assert found.file == "references/t.unfinished.json"
    assert "rename by Tester" in found.sentence
    story = reference_history("t")
    assert any("unfinished" in warning for warning in story.warnings)
    said = sy.record(run(7, "next"), task="t", model="next", reason="next").warnings
    assert any("finished, with its line of history" in warning for warning in said)
    assert not [finding for finding in lint_references().findings if finding.code == "unfinished"]


def test_a_file_edited_by_hand_since_a_kill_is_not_guessed_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = Left(COMMANDS["approve"], tmp_path / "left")
    monkeypatch.chdir(left.first(lambda folder: Path(folder, "references/t.unfinished.json").exists()))
    note = Path("references/t.unfinished.json").read_bytes()
    file = Path("references/t.yaml")
    file.write_text("# by hand\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    before = snapshot()
    with pytest.raises(SteelyardError, match=r"'references/t\.yaml' was edited since an unfinished approve"):
        following("t")
    assert snapshot() == before
    assert WHY.encode() in note


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"[" * 100_000, b'{"schema": 1}', b'{"schema": 1, "task": [], "lines": 3}', b"\xff\xfe", b"1e999"],
)
def test_any_content_in_the_place_of_the_note_is_a_clear_error(content: bytes) -> None:
    Path("references/t.unfinished.json").write_bytes(content)
    with pytest.raises(SteelyardError, match=r"t\.unfinished\.json.*delete it"):
        following("t")
    (found,) = [finding for finding in lint_references().findings if finding.code == "unfinished"]
    assert "t.unfinished.json" in found.sentence
    assert reference_history("t").warnings
    assert Path("references/t.unfinished.json").read_bytes() == content


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_something_that_is_no_file_in_the_place_of_the_note_is_a_clear_error(kind: str) -> None:
    path = Path("references/t.unfinished.json")
    os.mkfifo(path) if kind == "fifo" else path.mkdir()
    lint_references()
    with pytest.raises(SteelyardError, match=r"t\.unfinished\.json"):
        following("t")


def test_a_first_record_that_was_killed_is_named_although_its_task_has_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = Left(COMMANDS["record a first time"], tmp_path / "left")
    monkeypatch.chdir(left.first(lambda folder: Path(folder, "references/u.unfinished.json").exists()))
    (found,) = [finding for finding in lint_references().findings if finding.code == "unfinished"]
    assert found.file == "references/u.unfinished.json"
    following("u")
    assert not Path("references/u.unfinished.json").exists()
