"""The command of a search: run at a commit on some items, its log read, what it answered kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard_old.atomic import read_if_there, write_atomic
from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.estimate.guard.source import scores_by_item
from steelyard_old.questions.bisect.repository import Checkout, Repository, git_environment
from steelyard_old.questions.bisect.search import SkippedCommitError
from steelyard_old.redaction import redact

ITEMS, ITEMS_JSON, OUT, COMMIT, REPOSITORY = (
    "STEELYARD_ITEMS",
    "STEELYARD_ITEMS_JSON",
    "STEELYARD_OUT",
    "STEELYARD_COMMIT",
    "STEELYARD_REPOSITORY",
)
STORE = Path(".steelyard") / "bisect"
ABORTS = 128  # exit codes from here on end the search, as they end `git bisect run`
GRACE = 5.0  # seconds between asking a command to end and ending it
QUOTED = 4096  # bytes at the end of its output that a message may quote


class CommandAsker:
    """Asks items of the command at a commit. Both ends must answer; a commit between them that does not is skipped."""

    def __init__(
        self,
        checkout: Checkout,
        repository: Repository,
        command: Sequence[str],
        commits: Sequence[str],
        *,
        log: str | None,
        columns: Mapping[str, Any],
        metric: str,
        known: frozenset[str],
        timeout: float | None,
    ) -> None:
        self._checkout, self._repository, self._command, self._commits = checkout, repository, list(command), commits
        self._log, self._columns, self._metric, self._known, self._timeout = log, columns, metric, known, timeout
        self.extra = 0  # answers that nobody asked for

    def __call__(self, place: int, ids: Sequence[str]) -> dict[str, float]:
        commit = self._commits[place]
        try:
            return self._answered(commit, ids)
        except SkippedCommitError as why:
            if place not in (0, len(self._commits) - 1):
                raise
            end = "good" if place == 0 else "bad"
            raise DataError(
                f"The command cannot be used at the {end} end, {commit[:12]}: {why}.",
                got=str(why),
                need=f"a command that answers the items in {ITEMS} at both ends",
                hint="run it by hand in a checkout of that commit",
            ) from None

    def _answered(self, commit: str, ids: Sequence[str]) -> dict[str, float]:
        tree = self._checkout.at(commit)
        asked, out = self._checkout.folder / "asked", self._checkout.folder / "out"
        for folder in (asked, out):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        lines = [id_ for id_ in ids if "\n" not in id_ and "\r" not in id_]
        (asked / "items.txt").write_bytes("".join(f"{id_}\n" for id_ in lines).encode("utf-8", "surrogatepass"))
        (asked / "items.json").write_text(json.dumps(list(ids)), encoding="ascii")
        for old in self._logs(tree):
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        given = {ITEMS: asked / "items.txt", ITEMS_JSON: asked / "items.json", OUT: out, REPOSITORY: self._repository.top}
        self._run(tree, {**{name: str(path) for name, path in given.items()}, COMMIT: commit}, asked / "output")
        return self._read(tree, out, ids, len(ids) - len(lines))

    def _run(self, tree: Path, more: Mapping[str, str], output: Path) -> None:
        """Run the command in the checkout, its output in a file. It leads a group of its own, so that ending it ends what it started."""
        with output.open("wb") as said:
            try:
                process = subprocess.Popen(  # noqa: S603  the user's own command, without a shell
                    self._command,
                    cwd=tree,
                    env={**git_environment(), **more},
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=os.name == "posix",
                )
            except (OSError, ValueError) as fault:
                why = (fault.strerror if isinstance(fault, OSError) else None) or str(fault)
                raise SkippedCommitError(f"cannot run {self._command[0]!r} there ({why})") from fault
            try:
                process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                raise SkippedCommitError(f"the command took longer than {self._timeout:g} seconds") from None
            finally:
                _end(process)
        code = process.returncode
        if code == 0:
            return
        last = _last_line(output)
        words = (
            f"exit code {code}"
            if code > 0
            else f"signal {signal.Signals(-code).name}"
            if -code in set(signal.Signals)
            else f"signal {-code}"
        )
        if code >= ABORTS or code in (-signal.SIGINT, -signal.SIGTERM):
            raise SourceError(
                f"The command ended the search with {words}" + (f": {last}" if last else "") + ".",
                got=words,
                need="0, or an exit code below 128 at a commit that does not build",
                hint="answers so far are kept: the same command goes on from there",
            )
        raise SkippedCommitError(f"the command failed with {words}" + (f": {last}" if last else ""))

    def _logs(self, tree: Path) -> list[Path]:
        return [] if self._log is None else sorted(tree.glob(self._log))

    def _read(self, tree: Path, out: Path, ids: Sequence[str], unlisted: int) -> dict[str, float]:
        """The scores by item, from the log that the command wrote."""
        found = self._logs(tree) if self._log is not None else sorted(out.iterdir())
        where = f"{self._log!r} in the checkout" if self._log is not None else f"the folder {OUT}"
        if not found:
            raise SkippedCommitError(f"the command wrote no log to {where}")
        if self._log is not None and len(found) > 1:
            raise SkippedCommitError(f"the command wrote {len(found)} logs that match {self._log!r}")
        try:
            scores = scores_by_item([str(found[0] if len(found) == 1 else out)], self._columns, self._metric)
        except SteelyardError as fault:
            raise SkippedCommitError(f"its log cannot be read ({fault.sentence.rstrip('.')})") from fault
        if scores is None:
            raise SkippedCommitError("its log has no ids, or no score for each item")
        unknown = scores.keys() - self._known
        if unknown:
            raise SkippedCommitError(f"it answered {min(unknown)!r} and {len(unknown) - 1:,} other ids that the stored runs do not have")
        answered = len(scores.keys() & set(ids))
        if answered < len(ids):
            hint = f"; ids with line breaks are in {ITEMS_JSON} only" if unlisted else ""
            raise SkippedCommitError(f"it answered {answered:,} of the {len(ids):,} items in {ITEMS}{hint}")
        self.extra += len(scores) - answered
        return scores  # whatever else it answered was paid for, too


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that has not ended, and whatever it has started."""

    def send(number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, number)
            else:
                process.terminate()

    if process.poll() is None:
        send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    send(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    process.wait()


def _last_line(output: Path) -> str:
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - QUOTED))
        lines = [line.strip() for line in redact(file.read().decode("utf-8", "replace")).splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


class KeptAnswers:
    """Answers in a file below `.steelyard/bisect/`, one for each command and way to read its log: no item is asked twice for them."""

    def __init__(self, top: Path, command: Sequence[str], about: Mapping[str, Any]) -> None:
        key = json.dumps([list(command), {name: about[name] for name in sorted(about)}], default=str)
        self.path = top / STORE / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"
        self.answers: dict[str, dict[str, list[float]]] = {}

    def prepare(self) -> None:
        """The folder, which git passes over."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise UsageError(
                f"Cannot make the folder {str(self.path.parent)!r} for answers: {fault.strerror or fault}.",
                got=fault.strerror or str(fault),
                need="a folder for answers",
            ) from fault
        ignore = self.path.parent.parent / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, b"*\n")

    def load(self) -> None:
        """What earlier searches were answered. A damaged file is refused, never replaced."""
        data = read_if_there(self.path)
        if data is None:
            return
        try:
            found = json.loads(data)
            self.answers = {
                str(commit): {str(id_): [float(score) for score in scores] for id_, scores in items.items()}
                for commit, items in found["answers"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as fault:
            raise SourceError(
                f"{str(self.path)!r} does not hold the answers of an earlier search.",
                got=str(fault),
                need="the file as it was written",
                hint="remove it to ask again",
            ) from fault

    def save(self) -> None:
        write_atomic(self.path, json.dumps({"schema": 1, "answers": self.answers}).encode("ascii"))
