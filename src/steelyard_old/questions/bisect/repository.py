"""The repository of a search: its commits, and a checkout of our own in which the command is run.

The user's work tree is never touched. Our checkout is a temporary worktree of git, with a lock that goes with this process: what a
killed search left is removed by the next one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from steelyard_old.errors import SourceError, UsageError
from steelyard_old.locking import Lock, is_held
from steelyard_old.redaction import redact
from steelyard_old.reference.changes import ELSEWHERE

PREFIX = "steelyard-bisect-"
TREE, OWNER = "tree", "owner"
MOST_COMMITS = 100_000
CAREFUL = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "advice.detachedHead=false",
)  # nobody's hooks run for us


@dataclass(frozen=True, slots=True)
class GitCommit:
    id: str
    subject: str


def git_environment() -> dict[str, str]:
    """Ours, without what would make git look elsewhere: `git bisect run` and hooks set it."""
    return {key: value for key, value in os.environ.items() if key not in ELSEWHERE}


class Repository:
    """The repository that a directory lies in."""

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self._start = Path.cwd() if directory is None else Path(directory)
        if not self._start.is_dir():
            raise UsageError(f"No such directory: {str(self._start)!r}.", got="no such directory", need="a git repository")
        top = self._try("rev-parse", "--show-toplevel")
        if not top:
            raise UsageError(
                f"{str(self._start)!r} is not in the work tree of a git repository.", got="no work tree", need="a git repository"
            )
        self.top = Path(top)

    def run(self, *words: str, where: Path | None = None) -> str:
        """What git answers; its own words where it refuses."""
        done = self._done(words, where)
        if done.returncode:
            said = redact(done.stderr.decode("utf-8", "replace")).strip().splitlines() or [f"exit code {done.returncode}"]
            raise SourceError(f"git {words[0]} failed ({said[-1][:300]}).", got=said[-1][:300], need="a repository that git can read")
        return done.stdout.decode("utf-8", "replace")

    def _try(self, *words: str) -> str | None:
        done = self._done(words, None)
        return done.stdout.decode("utf-8", "surrogateescape").strip("\n") if done.returncode == 0 else None

    def _done(self, words: tuple[str, ...], where: Path | None) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(  # noqa: S603
                ["git", *CAREFUL, *words],  # noqa: S607
                cwd=where or self._start,
                env={**git_environment(), "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except OSError as fault:
            raise SourceError(
                f"Cannot run git: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="git on the PATH"
            ) from fault

    # ---- commits -----------------------------------------------------------------------------------------------------------

    def commit(self, revision: str) -> str:
        """The full id of the commit that a revision names."""
        found = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}") if revision else None
        if not found:
            hint = "the clone is shallow: git fetch --unshallow" if self._shallow() else "git log --oneline lists commits"
            raise UsageError(f"No commit {revision!r} in this repository.", got=repr(revision), need="a commit, branch or tag", hint=hint)
        return found.split()[-1]

    def _shallow(self) -> bool:
        return self._try("rev-parse", "--is-shallow-repository") == "true"

    def line(self, good: str, bad: str) -> list[GitCommit]:
        """The commits from good to bad, both included, along the first parents of bad."""
        if good == bad:
            raise UsageError("Both ends of the range are the same commit.", got=good[:12], need="two commits, the good one first")
        fields = self.run(
            "log", "--first-parent", "--reverse", "-z", f"--max-count={MOST_COMMITS + 1}", "--format=%H %P%n%s", bad, f"^{good}"
        )
        listed = [each.partition("\n") for each in fields.split("\0") if each]
        if not listed:
            swapped = "the ends are swapped" if self._is_ancestor(bad, good) else "git log --first-parent BAD lists what can be GOOD"
            raise UsageError(
                "The good commit is not an ancestor of the bad one.", got="no commit between them", need="GOOD..BAD", hint=swapped
            )
        if len(listed) > MOST_COMMITS:
            raise UsageError(f"More than {MOST_COMMITS:,} commits lie between the ends.", got="too many", need=f"at most {MOST_COMMITS:,}")
        parents = listed[0][0].split()[1:]
        if parents[:1] != [good]:
            shallow = not parents and self._shallow()
            hint = "the clone is shallow: git fetch --unshallow" if shallow else "take a good commit that git log --first-parent BAD lists"
            what = "an ancestor" if shallow or not self._is_ancestor(good, bad) else "in the first-parent history"
            raise UsageError(
                f"The good commit is not {what} of the bad one.", got=f"{good[:12]}..{bad[:12]}", need="one line of commits", hint=hint
            )
        return [GitCommit(good, self.subject(good)), *(GitCommit(head.split()[0], subject.strip("\n")) for head, _, subject in listed)]

    def subject(self, commit: str) -> str:
        return self.run("log", "-1", "--format=%s", commit).strip("\n")

    def many_between(self, good: str, bad: str) -> int:
        return int(self.run("rev-list", "--count", f"{good}..{bad}"))

    def _is_ancestor(self, one: str, other: str) -> bool:
        return self._done(("merge-base", "--is-ancestor", one, other), None).returncode == 0

    def refuse_changes(self) -> None:
        """Changes that are not committed would not be tested, without anybody noticing."""
        changed = self.run("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all", where=self.top)
        files = [each[3:] for each in changed.split("\0") if each]
        if files:
            many = f"{len(files)} files are" if len(files) > 1 else f"{files[0]!r} is"
            raise UsageError(
                f"{many} changed but not committed; commits are tested as they were committed.",
                got=f"changes that are not committed, such as {files[0]!r}",
                need="a clean work tree",
                hint="commit them or git stash; nothing was touched",
            )

    # ---- a checkout of our own -----------------------------------------------------------------------------------------------

    def remove_stale(self) -> None:
        """Remove the checkouts of searches that were killed."""
        for line in self.run("worktree", "list", "--porcelain").splitlines():
            tree = Path(line.removeprefix("worktree "))
            if (
                line.startswith("worktree ")
                and tree.name == TREE
                and tree.parent.name.startswith(PREFIX)
                and not is_held(tree.parent / OWNER)
            ):
                self._remove(tree)

    def _remove(self, tree: Path) -> None:
        self._done(("worktree", "remove", "--force", "--force", str(tree)), None)
        shutil.rmtree(tree.parent, ignore_errors=True)
        if not tree.exists():
            self._done(("worktree", "prune", "--expire", "now"), None)


class Checkout:
    """A temporary worktree, one for the whole search. Every commit starts from a clean checkout; its submodules are not filled."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._at: str | None = None

    def __enter__(self) -> Checkout:
        self._repository.remove_stale()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.tree = self.folder / TREE
        self._lock = Lock(self.folder / OWNER, timeout=1.0)
        try:
            self._lock.__enter__()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        if self._at is not None or self.tree.exists():
            self._repository._remove(self.tree)
        with contextlib.suppress(OSError):
            self._lock.__exit__(kind, fault, trace)
        shutil.rmtree(self.folder, ignore_errors=True)

    def at(self, commit: str) -> Path:
        """The checkout at this commit; nothing that was built at another one is left in it."""
        if self._at == commit:
            return self.tree
        if self._at is None:
            self._at = ""
            self._repository.run("worktree", "add", "--detach", "--force", str(self.tree), commit)
        else:
            self._at = ""
            self._repository.run("checkout", "--detach", "--force", "--quiet", commit, where=self.tree)
            self._repository.run("clean", "-ffdxq", where=self.tree)
        self._at = commit
        return self.tree
