"""Every number that a command takes, far outside what it can mean: an answer or an error with a hint, at once, never a crash."""

from __future__ import annotations

import contextlib
import io
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cases import every
from questions.bisect.repositories import git
from steelyard.cli import main as command
from steelyard.options.option import LIMITS, within

EXTREMES = ("0", "-1", "1e-300", "1e300", "nan", "inf", "999999999999", str(10**30))
SECONDS = 60  # of a hang, not of a slow machine
NUMBERS = (click.types.IntParamType, click.types.FloatParamType)


def _root() -> click.Group:
    return next(one for one in vars(command).values() if isinstance(one, click.Group))


def _numeric(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Option]]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from _numeric(found, (*path, name))
        yield from (
            ((*path, name), option) for option in found.params if isinstance(option, click.Option) and isinstance(option.type, NUMBERS)
        )


OPTIONS = [(path, option.opts[0], option.nargs) for path, option in _numeric(_root())]
# A question that uses the option: the option under test replaces its own value in it.
ASKED: dict[tuple[str, ...], list[str]] = {
    ("measure",): ["a.csv", "--metric", "macro_f1", "--interval", "bayes", "--draws", "1000"],
    ("compare",): ["a.csv", "b.csv", "--metric", "macro_f1", "--draws", "1000"],
    ("audit",): ["87.4", "86.1", "--n", "1319"],
    ("bisect",): ["good..main", "--good-run", "b.csv", "--bad-run", "a.csv", "sh", "run.sh"],
    ("bisect", "step"): ["good..main", "--good-run", "b.csv", "--bad-run", "a.csv", "sh", "run.sh"],
    ("rank",): ["a.csv", "b.csv", "a.csv", "--names", "x,y,z"],
    ("learners",): [*["sklearn.dummy:DummyClassifier"] * 2, "--data", "a.csv", "--target", "truth", "--features", "id"],
    ("plan", "detect"): ["--theta", ".02", "--expected", ".8", "--alpha", ".05", "--beta", ".2"],
    ("plan", "estimate"): ["--expected", ".8", "--width", ".1"],
    ("plan", "train"): ["curve.csv", "--target", ".85"],
    ("plan", "split"): ["curve.csv", "--total", "1000"],
    ("plan", "designs"): ["--theta", ".02", "--expected", ".8"],
    ("record",): ["a.csv", "--directory", "new", "--model", "m", "--task", "t", "--theta", ".05"],
    ("check",): ["b.csv", "--model", "m", "--task", "t"],
    ("references", "remove"): ["t", "m", "--reason", "old"],
    ("run",): ["task.toml", "--model", "file:b.csv", "--until", "decided", "--theta", ".05", "--against", "m"],
    ("history",): ["--history", "sqlite:///h.db", "--drift", "--task", "t", "--model", "m"],
    ("history", "simulate"): ["--history", "sqlite:///h.db", "--series", "main"],
    ("serve",): ["--history", "postgresql://nowhere.invalid/db"],
    ("split",): ["a.csv", "--train", ".8", "--test", ".2", "--dry-run"],
    ("comment",): ["result.json", "--dry-run", "--platform", "github", "--repository", "a/b", "--pull-request", "7"],
    ("certify",): ["--only", "nothing"],
}
INSTEAD = {
    ("plan", "detect", "--beta"): ["--power"],
    ("plan", "estimate", "--width"): ["--half-width", "--threshold"],
    ("plan", "estimate", "--expected"): ["--precision", "--recall", "--specificity"],
}
ALONE = {"--tp", "--fp", "--fn", "--tn"}


# Numbers that are allowed, and take the time that such a number of draws, fits or answers takes.
PATIENT = {
    *((path, "--draws", "10000000") for path in (("measure",), ("compare",), ("rank",), ("check",), ("history",), ("plan", "train"))),
    *((path, "--repeats", "100000") for path in (("learners",), ("run",), ("plan", "train"))),
    (("learners",), "--workers", "1024"),
    (("plan", "train"), "--workers", "1024"),
}


class Slow(Exception):
    pass


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, a curve, a task, a reference, all of them small."""
    there = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.chdir(there)
        _make()
    return there


@pytest.fixture
def room(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _make() -> None:
    for name, wrong in (("a", 4), ("b", 6)):
        rows = [f"{i},{'xyz'[i % 3]},{'xyz'[(i + (i % wrong == 0)) % 3]}" for i in range(60)]
        Path(f"{name}.csv").write_text("id,truth,prediction\n" + "\n".join(rows) + "\n")
    points = [f"{n},{0.9 - 1 / n**0.5},{seed}\n" for n in (20, 40, 80, 160, 320, 640) for seed in (1, 2)]
    Path("curve.csv").write_text("size,score,seed\n" + "".join(points))
    Path("task.toml").write_text('[task]\nname = "t"\ndata = "a.csv"\ninput = "{id}"\ntruth = "truth"\nscorer = "exact"\n')
    _commit_three()
    assert _asked(["measure", "a.csv", "-o", "result.json"])[0] == 0
    assert _asked(["record", "a.csv", "--model", "m", "--task", "t", "--theta", ".05"])[0] == 0
    for _ in range(3):
        assert _asked(["check", "b.csv", "--model", "m", "--task", "t", "--history", "sqlite:///h.db"])[0] == 0
    check = '[[checks]]\ntask = "t"\nmodel = "m"\nresult = "b.csv"\n'
    Path("suite.toml").write_text('[suite]\nbudget = {series = "main"}\n' + check)
    assert _asked(["check", "--suite", "suite.toml", "--history", "sqlite:///h.db"])[0] == 0


def _commit_three() -> None:
    """Commits of a command that answers as b.csv, then as a.csv, which is worse; the one between the ends is checked out."""
    git(Path(), "init", "--quiet", "--initial-branch=main")
    Path("run.sh").write_text('cp "$STEELYARD_REPOSITORY/$(cat side).csv" "$STEELYARD_OUT/run.csv"\n')
    for number, side in enumerate("baa"):
        Path("side").write_text(side + "\n" * number)
        git(Path(), "add", "run.sh", "side")
        git(Path(), "commit", "--quiet", "-m", f"as {side}.csv")
        if not number:
            git(Path(), "tag", "good")
    git(Path(), "checkout", "--quiet", "--detach", "main~1")


def _asked(words: list[str]) -> tuple[int, float]:
    import time

    def stop(*_: Any) -> None:
        raise Slow(f"more than {SECONDS} s: {' '.join(words)}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    started = time.monotonic()
    try:
        with pytest.raises(SystemExit) as ended:
            command.main(words)
        return int(ended.value.code or 0), time.monotonic() - started
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _words(path: tuple[str, ...], flag: str, nargs: int, value: str) -> list[str]:
    words = [*path, *ASKED[path]]
    if flag in ALONE:
        words = ["measure", *(part for name in ("--tp", "--fp", "--fn") if name != flag for part in (name, "5"))]
    for replaced in [flag, *(other for (*where, other), flags in INSTEAD.items() if tuple(where) == path and flag in flags)]:
        if replaced in words:
            place = words.index(replaced)
            del words[place : place + 2]
    return [*words, *([flag, value] if nargs == 1 else [flag, *["0"] * (nargs - 1), value])]


@pytest.mark.parametrize("path", ASKED, ids=[" ".join(path) for path in ASKED])
def test_the_question_without_the_extreme_number_reaches_the_command(
    path: tuple[str, ...], room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise the test below would only see the error of a question that is wrong by itself."""
    if path in (("serve",), ("certify",)):
        return  # these would go on: their refusals are enough
    code, _ = _asked([*path, *ASKED[path]])
    assert code in (0, 1, 2), capsys.readouterr().err


@pytest.mark.parametrize(("path", "flag", "nargs"), OPTIONS, ids=[" ".join((*path, flag)) for path, flag, _ in OPTIONS])
def test_an_extreme_number_is_answered_or_refused_at_once(
    path: tuple[str, ...], flag: str, nargs: int, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = LIMITS.get(flag.removeprefix("--").replace("-", "_"))
    ends = () if limit is None else (f"{limit.low:g}", f"{limit.high:.12g}", f"{limit.high * 10:g}")
    turn = [name for _, name, _ in OPTIONS].index(flag)  # two of them for each: all meet one type of number and one table of limits
    for value in (*(EXTREMES[(turn + i) % len(EXTREMES)] for i in (0, 3)), *(end for end in ends if (path, flag, end) not in PATIENT)):
        code, seconds = _asked(_words(path, flag, nargs, value))
        said = capsys.readouterr()
        assert code in ((0, 1, 125, 129) if path == ("bisect", "step") else (0, 1, 2, 3)), (value, code, said.err[-600:])
        assert seconds < SECONDS
        assert "Traceback" not in said.err


@every("name", LIMITS)
def test_python_refuses_what_the_command_refuses(name: str) -> None:
    from steelyard.errors import UsageError

    limit = LIMITS[name]
    within(name, limit.low)
    within(name, limit.high)
    if limit.high > 1:
        with pytest.raises(UsageError, match="at most"):
            within(name, limit.high * 1.5 + 1)
    if limit.low < 1:
        with pytest.raises(UsageError, match="at least"):
            within(name, limit.low / 2)


def test_the_questions_of_python_look_at_the_same_ends() -> None:
    import steelyard as sy
    from steelyard.errors import UsageError

    counts = sy.Counts.of(8, 10)
    for question in (
        lambda: sy.measure(counts, draws=10**9),
        lambda: sy.measure(counts, prior=1e-20),
        lambda: sy.measure(counts, confidence_level=1 - 1e-12),
        lambda: sy.compare(counts, counts, margin=1e300),
        lambda: sy.plan_detect(theta=0.02, expected=0.8, alpha=1e-300),
    ):
        with pytest.raises(UsageError, match=r"at (most|least)"):
            question()
