"""`steelyard bisect` on a real repository of 64 commits, with real git: what it names, what it costs, and what goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import steelyard_old as sy
from answers import Command
from cases import every, seldom
from questions.bisect.repositories import COMMAND, ENVIRONMENT, ITEMS, Made, git, make

pytestmark = pytest.mark.xdist_group("bisect")
ALONE = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("bisect"), unbuilt=(30, 32, 48))


@pytest.fixture
def made(repository: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A copy of the repository, and the work in it."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = tmp_path / "repository"
    shutil.copytree(repository.folder, folder)
    for run in (repository.good_run, repository.bad_run):
        shutil.copy(run, tmp_path)
    monkeypatch.chdir(folder)
    return Made(folder, repository.commits, repository.first_bad, tmp_path / "good.jsonl", tmp_path / "bad.jsonl")


def nothing_left(made: Made) -> None:
    assert git(made.folder, "worktree", "list").count("\n") == 0
    assert git(made.folder, "status", "--porcelain") == ""
    assert not [path for path in made.folder.parent.iterdir() if path.name.startswith("steelyard-bisect-")]


def test_the_planted_commit_is_named_with_a_tenth_of_the_calls(made: Made, steelyard: Command) -> None:
    """One answer in fifty of the command is wrong by chance, and three commits do not build."""
    told = steelyard("bisect", made.range, *made.runs, "--format", "json", "--", *COMMAND)
    assert told.code == 0, told.err
    assert told.json["named"] == [made.first_bad]
    assert told.json["probability"] >= 0.95
    assert told.json["calls"] == sum(n for _, n in made.calls()) <= ITEMS * 6 / 10
    assert told.json["whole_calls"] == ITEMS * 6
    assert told.json["telling"][0]["right_after"] == 0
    assert told.err == ""
    nothing_left(made)
    # What was answered is kept: the same question costs nothing, and other formats show it.
    before = made.calls()
    again = steelyard("bisect", made.range, *made.runs, "--format", "json", "--", *COMMAND)
    assert again.json["named"] == told.json["named"]
    assert (again.json["calls"], again.json["reused"]) == (0, told.json["calls"])
    for ending in ("txt", "md", "html"):
        assert steelyard("bisect", made.range, *made.runs, "-o", f"../found.{ending}", "--", *COMMAND).code == 0
        assert made.first_bad[:12] in (made.folder.parent / f"found.{ending}").read_text(encoding="utf-8")
    assert made.calls() == before
    found = sy.bisect(made.range, COMMAND, good_run=made.good_run, bad_run=made.bad_run)
    assert found.to_dict() == again.json
    (made.folder.parent / "found.json").write_text(json.dumps(again.json))
    assert steelyard("report", "../found.json", "-o", "../report.html").code == 0


def test_git_bisect_run_finds_it_step_by_step(made: Made) -> None:
    good, bad = made.commits[38], made.commits[45]  # three steps: each is a process
    git(made.folder, "bisect", "start", bad, good)
    step = [sys.executable, "-m", "steelyard_old", "bisect", "step", f"{good}..{bad}", *made.runs, "--", *COMMAND]
    done = subprocess.run(["git", "bisect", "run", *step], cwd=made.folder, env=ALONE, capture_output=True, text=True, check=False)
    assert f"{made.first_bad} is the first bad commit" in done.stdout, done.stdout + done.stderr
    ends = [n for commit, n in made.calls() if commit in (good, bad)]
    assert len(ends) == 2  # each end is asked once, for all steps
    git(made.folder, "bisect", "reset")
    nothing_left(made)


@every(
    ("commit", "code", "said"),
    [(20, 0, "good: "), (50, 1, "bad: "), (30, 125, "undecided: "), (0, 0, "is the good end"), (63, 1, "is the bad end")],
)
def test_the_codes_of_a_step(commit: int, code: int, said: str, made: Made, steelyard: Command) -> None:
    git(made.folder, "checkout", "--quiet", "--detach", made.commits[commit])
    told = steelyard("bisect", "step", made.range, *made.runs, "--", *COMMAND)
    assert told.code == code, told.err
    assert said in told.err
    assert "probability 1" not in told.err
    found = sy.bisect_step(made.range, COMMAND, good_run=made.good_run, bad_run=made.bad_run)
    assert told.err == f"{found.answer}: {found.conclusion}\n"
    assert found.commit == made.commits[commit]
    nothing_left(made)


def test_a_step_that_cannot_be_asked_never_has_a_code_that_git_takes_for_bad(made: Made, steelyard: Command) -> None:
    git(made.folder, "checkout", "--quiet", "--detach", made.commits[20])
    for words in (
        [],
        ["--no-such-option"],
        ["nonsense", "--", "true"],
        [made.range, "--", "true"],
        [made.range, "--good-run", "nothing.csv", "--bad-run", "nothing.csv", "--", "true"],
        [made.range, *made.runs, "--", "no-such-program"],
        [made.range, *made.runs, "--", "false"],
        [made.range, *made.runs, "--delta", "7", "--", *COMMAND],
        [made.range, *made.runs],
        [f"{made.commits[-1]}..{made.commits[0]}", *made.runs, "--", *COMMAND],
    ):
        told = steelyard("bisect", "step", *words)
        assert told.code == 129, words
        assert told.err.startswith("error: ")
    nothing_left(made)


def test_an_internal_error_of_a_step_and_closed_streams_are_no_verdict(
    made: Made, monkeypatch: pytest.MonkeyPatch, steelyard: Command
) -> None:
    def broken(*words: object, **more: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("steelyard_old.questions.bisect.first_bad_commit.bisect_step", broken)
    told = steelyard("bisect", "step", made.range, *made.runs, "--", *COMMAND)
    assert (told.code, "internal error" in told.err) == (129, True)
    git(made.folder, "checkout", "--quiet", "--detach", made.commits[20])
    words = [sys.executable, "-m", "steelyard_old", "bisect", "step", made.range, *made.runs, "--"]
    for command, code in ((COMMAND, 0), (("false",), 129)):
        shell = " ".join(["exec", *(f"'{word}'" for word in (*words, *command)), ">&-", "2>&-"])
        assert subprocess.run(["sh", "-c", shell], cwd=made.folder, env=ALONE, check=False).returncode == code


def script(made: Made, text: str) -> tuple[str, ...]:
    path = made.folder.parent / "command.py"
    path.write_text("import json, os, sys, time\nfrom pathlib import Path\nout = Path(os.environ['STEELYARD_OUT'])\n" + text)
    return (sys.executable, str(path))


ANSWER = "asked = json.load(open(os.environ['STEELYARD_ITEMS_JSON']))\n"


@every(
    ("text", "said"),
    [
        ("", "the command wrote no log to the folder STEELYARD_OUT"),
        ("sys.exit('no GPU')", "the command failed with exit code 1: no GPU"),
        ("print('x' * 5_000_000); print('last words'); sys.exit(3)", "exit code 3: last words"),
        ("sys.exit(130)", "ended the search with exit code 130"),
        ("os.kill(os.getpid(), 9)", "the command failed with signal SIGKILL"),
        ("time.sleep(60)", "took longer than 1 second"),
        ("(out / 'run.jsonl').write_text('no json')", "its log cannot be read"),
        ("(out / 'run.csv').write_text('score\\n1\\n')", "its log has no ids"),
        ("(out / 'run.csv').write_text('id,score\\nq1,1\\n')", "it answered 1 of the 21 items in STEELYARD_ITEMS"),
        ("(out / 'run.csv').write_text('id,score\\nother,1\\n')", "it answered 'other'"),
    ],
)
def test_a_command_that_cannot_be_used_at_an_end_is_an_error(text: str, said: str, made: Made, steelyard: Command) -> None:
    limit = "1" if "sleep" in text else "60"
    told = steelyard("bisect", made.range, *made.runs, "--timeout", limit, "--", *script(made, text))
    assert told.code == 3
    assert said in told.err, told.err
    assert told.out == ""
    nothing_left(made)


def test_a_log_at_a_fixed_place_below_the_checkout(made: Made, steelyard: Command) -> None:
    text = ANSWER + (
        "broken = 'broken=yes' in Path('model.txt').read_text()\n"
        "Path('logs').mkdir(exist_ok=True)\n"
        "rows = [{'id': i, 'score': int(int(i[1:]) % 5 != 0 and not (broken and int(i[1:]) % 20 == 1))} for i in asked]\n"
        "Path('logs', f'{time.time_ns()}.jsonl').write_text(''.join(json.dumps(row) + '\\n' for row in rows))\n"
    )
    told = steelyard("bisect", made.range, *made.runs, "--log", "logs/*.jsonl", "--format", "json", "--", *script(made, text))
    assert told.json["named"] == [made.first_bad]
    for wrong in ("../x.jsonl", "/tmp/x.jsonl", ""):
        assert "must be a path below the checkout" in steelyard("bisect", made.range, *made.runs, "--log", wrong, "--", "true").err


def test_a_command_that_answers_more_than_it_was_asked_is_told(made: Made, steelyard: Command) -> None:
    text = (
        "broken = 'broken=yes' in Path('model.txt').read_text()\n"
        f"rows = [(i, int(i % 5 != 0 and not (broken and i % 20 == 1))) for i in range({ITEMS})]\n"
        "(out / 'run.csv').write_text('id,score\\n' + ''.join(f'q{i},{s}\\n' for i, s in rows))\n"
    )
    told = steelyard("bisect", made.range, *made.runs, "--format", "json", "--", *script(made, text))
    assert told.json["named"] == [made.first_bad]
    assert "items that were not asked" in told.json["warnings"][0]
    assert told.json["calls"] % ITEMS == 0  # what was answered is counted, not what was asked


def test_ids_of_any_kind_reach_the_command_and_come_back(made: Made, steelyard: Command) -> None:
    names = ["a\nb", "ünï", "tab\tid", "q,1", '"x"', " lead", "<b>", "🙂", "-n", "a\r", *(f"z{i}" for i in range(10))]
    for run, score in ((made.good_run, 1), (made.bad_run, 0)):
        run.write_text("".join(json.dumps({"id": name, "score": score}) + "\n" for name in names))
    text = ANSWER + (
        "score = int('broken=no' in Path('model.txt').read_text())\n"
        "(out / 'run.jsonl').write_text(''.join(json.dumps({'id': i, 'score': score}) + '\\n' for i in asked))\n"
        "assert 'a\\nb' not in asked or 'ünï' not in asked or 'ünï' in Path(os.environ['STEELYARD_ITEMS']).read_text(encoding='utf-8')\n"
    )
    told = steelyard("bisect", made.range, *made.runs, "--format", "json", "--", *script(made, text))
    assert told.json["named"] == [made.first_bad], told.err
    assert {item["id"] for item in told.json["telling"]} == set(names)
    for ending in ("txt", "md", "html"):
        assert steelyard("bisect", made.range, *made.runs, "-o", f"../x.{ending}", "--", *script(made, text)).code == 0
    assert "<b>" not in (made.folder.parent / "x.html").read_text(encoding="utf-8").partition("Items that prove it")[2]


def test_ends_come_from_the_history_by_their_commit(made: Made, steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{made.folder.parent / 'runs.db'}"
    words = ("--task", "t", "--model", "m", "--directory", "../references", "--history", url)
    git(made.folder, "checkout", "--quiet", "--detach", made.commits[0])
    assert steelyard("record", made.good_run, *words).code == 0
    git(made.folder, "checkout", "--quiet", "--detach", made.commits[-1])
    refused = steelyard("bisect", made.range, "--history", url, "--", *COMMAND)
    assert refused.code == 3
    assert "no run of the bad commit" in refused.err
    assert steelyard("check", made.bad_run, *words).code == 1
    told = steelyard("bisect", made.range, "--history", url, "--format", "json", "--", *COMMAND)
    assert told.json["named"] == [made.first_bad], told.err
    other = ("--task", "other", *words[2:])
    for run, commit in ((made.good_run, 0), (made.bad_run, -1)):
        git(made.folder, "checkout", "--quiet", "--detach", made.commits[commit])
        assert steelyard("record", run, *other, "--update", "--reason", "again").code == 0
    assert "give --task and --model" in steelyard("bisect", made.range, "--history", url, "--", *COMMAND).err
    assert steelyard("bisect", made.range, "--history", url, "--task", "t", "--", *COMMAND).code == 0


@every(
    ("words", "said"),
    [
        ((), "Missing argument"),
        (("main", "--", "true"), "as GOOD..BAD"),
        (("a...b", "--", "true"), "as GOOD..BAD"),
        (("nothing..main", "--", "true"), "No commit 'nothing'"),
        (("main..main", "--", "true"), "same commit"),
        (("main..main~9", "--good-run", "../good.jsonl", "--bad-run", "../bad.jsonl", "--", "true"), "the ends are swapped"),
        (("main~9..main", "--good-run", "../good.jsonl", "--", "true"), "--good-run needs --bad-run beside it"),
        (("main~9..main", "--good-run", "../bad.jsonl", "--bad-run", "../good.jsonl", "--", "true"), "not worse than the good end"),
        (("main~9..main", "--good-run", "../good.jsonl", "--bad-run", "../bad.jsonl", "--task", "t", "--", "true"), "--task has no effect"),
        (("main~9..main", "--good-run", "../good.jsonl", "--bad-run", "../bad.jsonl"), "Missing argument '-- CMD...'"),
        (("main~9..main", "--", "true"), "No history configured"),
        (("main~9..main", "--good-run", "../good.jsonl", "--bad-run", "../bad.jsonl", "--delta", "1", "--", "true"), "--delta must be"),
    ],
)
def test_mistakes(words: tuple[str, ...], said: str, made: Made, steelyard: Command) -> None:
    told = steelyard("bisect", *words, "-o", "../out.json") if "--" not in words else steelyard("bisect", "-o", "../out.json", *words)
    assert told.code == 3, told.err
    assert said in told.err, told.err
    assert not (made.folder.parent / "out.json").exists()
    nothing_left(made)


def started(made: Made, *command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "steelyard_old", "bisect", made.range, *made.runs, "--format", "json", "--", *command]
    return subprocess.Popen(
        words, cwd=made.folder, env={**ALONE, "TMPDIR": str(made.folder.parent)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


SLOW = (
    "import subprocess\n"
    "wait = Path(os.environ['STEELYARD_REPOSITORY'], '..', 'wait')\n"
    "if wait.exists() and len(Path(os.environ['STEELYARD_REPOSITORY'], '..', 'calls.txt').read_text().splitlines()) >= 3:\n"
    "    wait.with_name('waiting').write_text(str(os.getpid())); time.sleep(600)\n"
    "sys.exit(subprocess.run([sys.executable, 'evaluate.py']).returncode)\n"
)


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), *seldom((signal.SIGINT, 130), (signal.SIGKILL, -9))])
def test_a_search_that_is_ended_leaves_its_answers_and_goes_on_from_there(number: int, code: int, made: Made) -> None:
    place = made.folder.parent
    (place / "wait").touch()
    (place / "calls.txt").touch()
    search = started(made, *script(made, SLOW))
    until((place / "waiting").exists)
    second = started(made, *script(made, SLOW))  # one at a time: the other says who is at it
    assert "is locked by process" in second.communicate(timeout=300)[1]
    assert second.returncode == 3
    search.send_signal(number)
    search.communicate(timeout=300)
    assert search.returncode == code
    child = int((place / "waiting").read_text() or 0)
    if number == signal.SIGKILL:
        os.kill(child, signal.SIGKILL)  # nobody can end it then but we
    else:
        nothing_left(made)
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    before = made.calls()
    assert len(before) == 3
    (place / "wait").unlink()
    again = started(made, *script(made, SLOW))
    out, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    answer = json.loads(out)
    assert answer["named"] == [made.first_bad]
    assert answer["reused"] == sum(n for _, n in before)
    nothing_left(made)
