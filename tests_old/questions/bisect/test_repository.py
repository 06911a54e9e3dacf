"""The repository of a search: which commits lie between two, what is refused, and that nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard_old as sy
from questions.bisect.repositories import COMMAND, ENVIRONMENT, Made, git, make
from steelyard_old.errors import UsageError
from steelyard_old.questions.bisect.repository import Checkout, Repository


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    for name in (
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ):
        monkeypatch.setenv(name, ENVIRONMENT[name])
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return make(tmp_path, commits=12, first_bad=7, flaky=0.0)


def test_the_line_follows_first_parents_through_merges(made: Made) -> None:
    folder = made.folder
    git(folder, "checkout", "--quiet", "-b", "side", made.commits[5])
    (folder / "side.txt").write_text("side")
    git(folder, "add", "side.txt")
    git(folder, "commit", "--quiet", "-m", "On a side branch")
    side = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "--quiet", "main")
    git(folder, "merge", "--quiet", "--no-ff", "-m", "Merge side", "side")
    merge = git(folder, "rev-parse", "HEAD")
    line = [each.id for each in Repository(folder).line(made.commits[0], merge)]
    assert line == [*made.commits, merge]
    with pytest.raises(UsageError, match="not in the first-parent history"):
        Repository(folder).line(side, merge)


def test_subjects_are_kept_whole_whatever_they_hold(tmp_path: Path) -> None:
    hostile = {1: "\x1b[31mred\x07 <script>alert(1)</script> | `x` %H %n\\0 ünïcode", 2: "-n --all", 3: " "}
    made = make(tmp_path, commits=5, first_bad=3, subjects=hostile)
    line = Repository(made.folder).line(made.commits[0], made.commits[-1])
    assert [each.id for each in line] == list(made.commits)
    assert line[1].subject == hostile[1]
    assert line[2].subject == hostile[2]


def test_what_is_no_range_is_refused(made: Made, tmp_path: Path) -> None:
    where, (first, *_, last) = Repository(made.folder), made.commits
    with pytest.raises(UsageError, match="swapped"):
        where.line(last, first)
    with pytest.raises(UsageError, match="same commit"):
        where.line(first, first)
    for wrong in ("nothing", "--all", "", "HEAD:model.txt", "HEAD^{tree}"):
        with pytest.raises(UsageError, match="No commit"):
            where.commit(wrong)
    git(made.folder, "checkout", "--quiet", "--orphan", "other")
    git(made.folder, "commit", "--quiet", "-m", "another root")
    with pytest.raises(UsageError, match="not an ancestor"):
        where.line(where.commit("other"), last)
    with pytest.raises(UsageError, match="not in the work tree"):
        Repository(tmp_path)


def test_a_shallow_clone_is_named_as_the_reason(made: Made, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "3", made.folder.as_uri(), "shallow")
    with pytest.raises(UsageError, match="git fetch --unshallow"):
        Repository(tmp_path / "shallow").commit(made.commits[0])


def test_changes_that_are_not_committed_are_refused_and_not_lost(made: Made) -> None:
    where = Repository(made.folder)
    (made.folder / "untracked.txt").write_text("mine")
    where.refuse_changes()
    (made.folder / "model.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"'model.txt' is changed but not committed"):
        sy.bisect(made.range, COMMAND, good_run=made.good_run, bad_run=made.bad_run, repository=made.folder)
    assert (made.folder / "model.txt").read_text() == "mine"
    assert not (made.folder / ".steelyard").exists()
    assert not made.calls()


def test_every_commit_starts_from_a_clean_checkout_and_nothing_is_left(made: Made, tmp_path: Path) -> None:
    (made.folder / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\necho hook >> ../hooked\n")
    (made.folder / ".git" / "hooks" / "post-checkout").chmod(0o755)
    with Checkout(Repository(made.folder)) as checkout:
        tree = checkout.at(made.commits[3])
        (tree / "built").mkdir()
        (tree / "built" / "x").write_text("x")
        (tree / "model.txt").write_text("changed")
        assert "version=9" in (checkout.at(made.commits[9]) / "model.txt").read_text()
        assert not (tree / "built").exists()
        folder = checkout.folder
    assert not folder.exists()
    assert git(made.folder, "worktree", "list").count("\n") == 0
    assert not list(tmp_path.rglob("hooked"))
    assert git(made.folder, "status", "--porcelain") == ""


def test_the_checkout_of_a_killed_search_is_removed_by_the_next_and_a_living_one_is_not(made: Made) -> None:
    killed = (
        "import os, sys; from steelyard_old.questions.bisect.repository import *\n"
        "checkout = Checkout(Repository(sys.argv[1])); checkout.__enter__()\n"
        "print(checkout.at(sys.argv[2]).parent, flush=True); os._exit(9)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", killed, str(made.folder), made.commits[2]], env=env, capture_output=True, text=True, check=False
    )
    left = Path(done.stdout.strip())
    assert left.is_dir()
    with Checkout(Repository(made.folder)) as living:
        tree = living.at(made.commits[1])
        assert not left.exists()
        with Checkout(Repository(made.folder)) as other:
            assert (other.at(made.commits[4]) / "model.txt").exists()
            assert (tree / "model.txt").exists()
    assert git(made.folder, "worktree", "list").count("\n") == 0
