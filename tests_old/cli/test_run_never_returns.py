"""Models, judges, scorers and patterns that never return: the timeout holds for each kind, and SIGTERM and Ctrl-C end within seconds."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from evaluate.openai_server import Server
from steelyard_old.cli import main
from steelyard_old.evaluate.asking import asking
from steelyard_old.evaluate.scorers import matching

N = 20
TASK = '[task]\nname = "sums"\ndata = "sums.jsonl"\ninput = "{a} + {b} ="\ntruth = "answer"\nscorer = "number"\n'
TALK = """
import asyncio, re, time
from concurrent.futures import ThreadPoolExecutor

def right(question):
    return str(sum(map(int, re.findall(r"\\d+", question))))

def hangs():
    open("hangs", "w").close()

def never(question, wait):
    return right(question) if question != "7 + 15 =" else (hangs(), wait())[1]

def spin():
    while True:
        pass

def hold():  # as long, and other tests have the processor
    while True:
        time.sleep(0.01)

def asleep(question):
    return never(question, lambda: time.sleep(3600))

def busy(question):
    return never(question, spin)

def many(questions):
    return [asleep(question) for question in questions]
many.batched = True

async def later(question):
    if question == "7 + 15 =":
        await asyncio.sleep(3600)
    return right(question)

async def stubborn(question):
    while question == "7 + 15 =":
        hangs()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
    return right(question)

async def blocks(question):
    return never(question, hold)

def pooled(question):
    return never(question, lambda: ThreadPoolExecutor(1).submit(time.sleep, 3600).result())

class Generates:
    def generate(self, prompt):
        return asleep(prompt)

class Estimates:
    def predict(self, table):
        return [asleep(each) for each in table]

def score_busy(answer, row):
    return 1 if row["a"] != 7 else spin()

def score_asleep(answer, row):
    return 1 if row["a"] != 7 else time.sleep(3600)

def judge(question):
    return "SCORE: 1" if "=====answer" not in question or "\\n22\\n" not in question else time.sleep(3600)

def letters(question):
    return "a" * 40 + "!" if question == "7 + 15 =" else "a"
"""
COMMAND = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if asked["input"] == "7 + 15 =":
        open("hangs", "w").close()
        time.sleep(3600)
    print(json.dumps({"id": asked["id"], "prediction": eval(asked["input"].rstrip("="))}), flush=True)
"""
KINDS = ["asleep", "blocks"]
SELDOM = ["many", "stubborn", "busy", "later", "pooled", "Generates", "Estimates"]  # with the long ones: they go the same ways


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [{"id": f"q{i}", "a": i, "b": 2 * i + 1, "answer": 3 * i + 1} for i in range(N)]
    Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("sums.toml").write_text(TASK)
    Path("talk.py").write_text(TALK)
    Path("predict.py").write_text(COMMAND)
    return tmp_path


# The command with a tenth of its patience: seconds that answers on their way have after a signal, programs to end, loops to react.
HURRIED = """
from steelyard_old.cli.main import main
from steelyard_old.evaluate.asking import asking
from steelyard_old.evaluate.models import callables, command
for room, name in ((asking, "AFTER_CTRL_C"), (asking, "AFTER_SIGTERM"), (command, "GRACE"), (callables, "REACTS")):
    setattr(room, name, getattr(room, name) / 10)
main()
"""


def started(*words: str, task: str = "sums.toml", hurried: bool = False) -> subprocess.Popen[str]:
    line = [sys.executable, *(("-c", HURRIED) if hurried else ("-m", "steelyard_old")), "run", task, *words, "-o", "out.jsonl"]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str], within: float) -> tuple[int, str]:
    try:
        _, err = process.communicate(timeout=within)
    finally:
        process.kill()  # one that does not end must not be left behind
        process.communicate()
    return process.returncode, err


def the_one_that_hangs(words: tuple[str, ...], task: str = "sums.toml") -> dict[str, Any]:
    """The row of the item that hangs, after a run that went on to its end: all others are answered."""
    more = ("--timeout", "1", "--missing", "drop", "--max-error-rate", "1", "--format", "json")
    code, err = ended(started(*words, *more, task=task), 40)
    assert code == 0, err
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert len(rows) == N
    failed = [row for row in rows if row["error"] is not None]
    assert "q7" in [row["id"] for row in failed]
    for row in failed:
        assert row["error"].startswith("timeout: "), row
    if "--batch" in words:  # a batch is one call
        assert len(failed) == 4
    elif not words[1].endswith("blocks"):  # a coroutine that never awaits holds up those beside it
        assert len(failed) == 1
    return next(row for row in rows if row["id"] == "q7")


@pytest.mark.parametrize("kind", [*KINDS, *(pytest.param(kind, marks=pytest.mark.long) for kind in SELDOM)])
def test_the_timeout_holds_for_every_kind_of_python_model(kind: str) -> None:
    batch = ("--batch", "4") if kind in ("many", "Estimates") else ()
    row = the_one_that_hangs(("--model", f"python:talk:{kind}", *batch))
    assert row["score"] is None


def test_the_timeout_holds_for_a_command() -> None:
    the_one_that_hangs(("--model", f"command:{sys.executable} predict.py"))


def test_the_timeout_holds_for_an_endpoint() -> None:
    with Server(script={"7 + 15 =": ["hang"] * 9}) as server:
        the_one_that_hangs(("--model", "openai:m", "--base-url", server.url))


def test_the_timeout_holds_for_a_judge_in_python() -> None:
    Path("judged.toml").write_text(TASK.replace('"number"', '"judge"') + '[scorer]\nrubric = "{answer}"\nmodel = "python:talk:judge"\n')
    more = ("--timeout", "1", "--missing", "drop", "--max-error-rate", "1")
    code, err = ended(started("--model", "python:talk:right", *more, task="judged.toml"), 40)
    assert code == 0, err
    for line in Path("out.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert (row["error"] is not None) == (row["id"] == "q7"), row


@pytest.mark.parametrize("name", ["score_busy", pytest.param("score_asleep", marks=pytest.mark.long)])
def test_the_timeout_holds_for_a_scorer_that_is_code(name: str) -> None:
    Path("coded.toml").write_text(TASK.replace('"number"', f'"talk:{name}"'))
    row = the_one_that_hangs(("--model", "python:talk:right"), task="coded.toml")
    assert row["said"] == "22", "what the model said is kept"


PATTERNS = {
    "regex": TASK.replace('"number"', '"regex"') + '[scorer]\npattern = "^(a+)+$"\npresence = true\n',
    "json-schema": TASK.replace('"number"', '"json-schema"') + '[scorer]\nschema = {type = "string", pattern = "^(a+)+$"}\n',
    "judge": TASK.replace('"number"', '"judge"')
    + '[scorer]\nrubric = "{answer}"\nmodel = "python:talk:echo"\npattern = "^(a+)+$"\nscale = [0, 1]\n',
}


@pytest.mark.parametrize("scorer", ["regex", *(pytest.param(each, marks=pytest.mark.long) for each in ("json-schema", "judge"))])
def test_the_timeout_holds_for_a_pattern_that_takes_exponential_time(scorer: str) -> None:
    Path("task.toml").write_text(PATTERNS[scorer])
    quoted = "import json, talk\ndef letters(q): return json.dumps(talk.letters(q))\n"
    Path("quoted.py").write_text(quoted)
    echo = '\ndef echo(text):\n    return "a" * 40 + "!" if "\\n22\\n" in text else "1"\n'
    Path("talk.py").write_text(TALK + echo)
    model = {"json-schema": "quoted:letters", "regex": "talk:letters", "judge": "talk:right"}[scorer]
    row = the_one_that_hangs(("--model", f"python:{model}"), task="task.toml")
    assert "no score within 1 s" in row["error"]


def test_a_pattern_has_a_limit_even_if_nobody_gives_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert matching.SECONDS == 10
    monkeypatch.setattr(matching, "SECONDS", 0.5)
    rows = [{"id": 1, "question": "q"}]
    table = {"name": "t", "data": rows, "input": "{question}", "scorer": "regex"}
    with pytest.raises(sy.DataError, match=r"1 of 1 items have no score \(1 x timeout: no score within 0.5 s\).*change the pattern"):
        sy.run({"task": table, "scorer": {"pattern": "^(a+)+$", "presence": True}}, lambda text: "a" * 40 + "!", name="m")
    assert matching.group_of("(b)", "abc", group=1) == "b", "the next one has a process of its own"


def test_calls_that_pile_up_end_the_run() -> None:
    Path("talk.py").write_text(TALK + "\ndef hung(question):\n    time.sleep(3600)\n")
    more = ("--timeout", "0.1", "--max-error-rate", "1", "--missing", "drop")
    code, err = ended(started("--model", "python:talk:hung", *more), 40)
    assert code == 3
    assert "9 calls of the model 'talk:hung' have not returned; each was given up after 0.1" in err


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("blocks", signal.SIGTERM),
        *(
            pytest.param(kind, signal.SIGTERM, marks=pytest.mark.long)
            for kind in ("asleep", "busy", "stubborn", "Estimates", "command", "pooled")
        ),
        ("command", signal.SIGINT),
        pytest.param("pooled", signal.SIGINT, marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_a_run_whose_model_never_returns(kind: str, number: signal.Signals) -> None:
    model = f"command:{sys.executable} predict.py" if kind == "command" else f"python:talk:{kind}"
    process = started("--model", model, hurried=True)
    journal = Path("out.jsonl.journal")
    alone = kind in ("blocks", "Estimates")  # no item is answered beside the one that hangs
    end = time.monotonic() + 30
    while time.monotonic() < end and (not Path("hangs").exists() or journal.read_bytes().count(b"\n") < (2 if alone else 3)):
        time.sleep(0.05)
    start = time.monotonic()
    process.send_signal(number)
    code, err = ended(process, 25)
    took = time.monotonic() - start
    assert code == 128 + number, err
    assert took < 15, took
    assert max(asking.AFTER_CTRL_C, asking.AFTER_SIGTERM, main.LAST) <= 10, "and with all its patience it is seconds, too"
    assert "Traceback" not in err
    assert "the same command continues" in err
    assert journal.exists()
    assert alone or journal.read_bytes().count(b'"key"')
    if kind == "command":
        Path("predict.py").write_text(COMMAND.replace("7 + 15", "never"))
        code, err = ended(started("--model", model), 30)
        assert code == 0, err
