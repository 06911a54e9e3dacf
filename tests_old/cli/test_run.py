"""`steelyard run` as a hostile and as a tired user meet it: bad tasks, bad places to write to, formats, keys, Ctrl-C, suites."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import steelyard_old as sy
from answers import Answer, Command
from cases import seldom
from evaluate.openai_server import Server

N = 120
TALK = """
import asyncio, os, re, time
ASKED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "asked.txt")

def numbers(question):
    return [int(word) for word in re.findall(r"\\d+", question)[-2:]]

def noted(question):
    with open(ASKED, "a") as file:
        file.write("x\\n")
    return numbers(question)

def right(question):
    return f"it is {sum(noted(question))}."

def tenth(question):
    a, b = noted(question)
    return "0.5" if a % 10 == 0 else str(a + b)

def wrong(question):
    noted(question)
    return "0.5"

def half(question):
    a, b = noted(question)
    return "0.5" if a % 2 == 0 else str(a + b)

async def later(question):
    await asyncio.sleep(0)
    return right(question)

def many(questions):
    return [right(question) for question in questions]
many.batched = True

def few(questions):
    return [right(questions[0])]
few.batched = True

def none(question): return None
def silent(question): return " \\n"
def nan(question): return float("nan")
def raw(question): return b"\\xff\\x00"
def thing(question): return object()
def bad(question): raise RuntimeError("no luck \\u2028 today")
def leaves(question): raise SystemExit(7)
def no_arguments(): return 1
def two(question, answer): return 1
def slow(question):
    time.sleep(0.02)
    return right(question)
def cut(question):
    return {"said": right(question), "finish": "length"}
NOT_A_FUNCTION = 3

class Sums:
    name = "sums"
    data = [{"id": f"q{i}", "a": i, "b": 2 * i + 1, "answer": 3 * i + 1} for i in range(120)]
    input = "{a} + {b} ="
    truth = "answer"
    scorer = "number"

class Needs:
    def __init__(self, x): pass

def score(answer, truth, row): return str(truth) in answer
def half_score(answer, row): return 0.5
def breaks(answer, row): return 1 / 0
"""
TASK = '[task]\nname = "sums"\ndata = "sums.jsonl"\ninput = "{a} + {b} ="\ntruth = "answer"\nscorer = "number"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with sums.toml, sums.jsonl and talk.py, whose functions note in asked.txt that they were asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("GITHUB_STEP_SUMMARY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    rows = [{"id": f"q{i}", "a": i, "b": 2 * i + 1, "answer": 3 * i + 1, "topic": f"t{i % 12}"} for i in range(N)]
    Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("sums.toml").write_text(TASK)
    Path("talk.py").write_text(TALK)
    yield tmp_path
    for name in ("talk", "broken_talk"):
        sys.modules.pop(name, None)


def asked() -> int:
    return Path("asked.txt").read_text().count("\n") if Path("asked.txt").exists() else 0


def rows(name: str) -> list[dict[str, Any]]:
    text = Path(name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line, parse_constant=lambda word: pytest.fail(word)) for line in text[:-1].split("\n")]


RIGHT, TENTH, WRONG, HALF = (
    ("--model", "python:talk:right"),
    ("--model", "python:talk:tenth"),
    ("--model", "python:talk:wrong"),
    ("--model", "python:talk:half"),
)


def refused(answer: Answer, *parts: str) -> None:
    """Exit 3, one line on standard error with what, got and need; nothing asked, nothing left behind."""
    assert answer.code == 3, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1, answer.err
    for part in parts:
        assert part in answer.err, answer.err
    assert asked() == 0
    left = [path.name for path in Path().iterdir() if path.name.endswith((".journal", ".run")) or path.name.startswith("out")]
    assert not left, left


@pytest.fixture(scope="module")
def recorded() -> dict[Path, bytes]:
    """What a recorded reference is, file by file, once the first test has asked for it."""
    return {}


@pytest.fixture
def on_record(steelyard: Command, recorded: dict[Path, bytes]) -> None:
    """`m` is on record with nine of ten right; asked.txt is empty again."""
    if not recorded:
        before = {*Path().rglob("*")}
        assert steelyard("run", "sums.toml", *TENTH, "-o", "ref.jsonl").code == 0
        assert steelyard("record", "ref.jsonl", "--task", "sums", "--model", "m", "--deterministic").code == 0
        for name in ("ref.jsonl", "ref.jsonl.run", "asked.txt"):
            Path(name).unlink()
        recorded |= {path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and path not in before}
    for path, content in recorded.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


# ---- bad tasks ---------------------------------------------------------------------------------------------------------

BAD_TASKS = {
    "no table": ('name = "sums"\n', "[task]"),
    "empty": ("", "task"),
    "unknown table": (TASK + "[samplign]\ntemperature = 0\n", "sampling"),
    "unknown key": (TASK + 'scorrer = "exact"\n', "scorer"),
    "no name": (TASK.replace('name = "sums"\n', ""), "name"),
    "name with a slash": (TASK.replace('"sums"', '"../sums"', 1), "name"),
    "name that is a device": (TASK.replace('name = "sums"', 'name = "con"'), "name"),
    "no data": (TASK.replace('data = "sums.jsonl"\n', ""), "data"),
    "no such data": (TASK.replace("sums.jsonl", "none.jsonl"), "none.jsonl"),
    "missing column": (TASK.replace("{a}", "{c}"), "'c'"),
    "missing truth column": (TASK.replace('"answer"', '"anwser"'), "answer"),
    "no truth": (TASK.replace('truth = "answer"\n', ""), "truth"),
    "open brace": (TASK.replace("{a} +", "{a +"), "input"),
    "format spec": (TASK.replace("{a}", "{a:>10}"), "input"),
    "attribute": (TASK.replace("{a}", "{a.__class__}"), "input"),
    "no scorer": (TASK.replace('scorer = "number"\n', ""), "scorer"),
    "unknown scorer": (TASK.replace('"number"', '"nubmer"'), "number"),
    "scorer option": (TASK + "[scorer]\npikc = 'first'\n", "pick"),
    "scorer option value": (TASK + "[scorer]\npick = 'middle'\n", "first"),
    "n too large": (TASK + "n = 121\n", "121"),
    "n zero": (TASK + "n = 0\n", "not 0"),
    "n text": (TASK + 'n = "10"\n', "not '10'"),
    "n true": (TASK + "n = true\n", "not True"),
    "seed text": (TASK + 'seed = "a"\n', "seed"),
    "whole groups alone": (TASK + "whole_groups = true\n", "group"),
    "no such group": (TASK + 'group = "subject"\n', "subject"),
    "no such strata": (TASK + 'strata = "subject"\n', "subject"),
    "range": (TASK + "range = [1, 0]\n", "range"),
    "range of nan": (TASK + "range = [0, nan]\n", "range"),
    "temperature": (TASK + "[sampling]\ntemperature = -1\n", "temperature"),
    "unknown sampling": (TASK + "[sampling]\ntemprature = 0\n", "temperature"),
    "seed of sampling": (TASK + "[sampling]\nseed = 1\n", "seed"),
    "stream": (TASK + "[sampling.extra]\nstream = true\n", "stream"),
    "unknown metric": (TASK + 'metric = "acuracy"\n', "accuracy"),
    "ratio of right or wrong": (TASK + 'metric = "ratio"\n', "ratio"),
    "not TOML": ("[task\n", "TOML"),
    "twice": (TASK + 'name = "sums"\n', "TOML"),
    "protocol poses": (TASK + '[protocol]\nscorer = "x"\n', "protocol"),
    "shots too many": (TASK + "shots = 500\n", "shots"),
}


@pytest.mark.parametrize("what", BAD_TASKS)
def test_a_bad_task_is_told_before_anything_is_asked(steelyard: Command, what: str) -> None:
    text, said = BAD_TASKS[what]
    Path("sums.toml").write_text(text)
    refused(steelyard("run", "sums.toml", *RIGHT, "-o", "out.jsonl"), said)


BAD_DATA = {
    "no rows": "",
    "an id twice": '{"id": "a", "a": 1, "b": 2, "answer": 3}\n' * 2,
    "no truth in a row": '{"id": "a", "a": 1, "b": 2, "answer": 3}\n{"id": "b", "a": 1, "b": 2, "answer": null}\n',
    "no number in a truth": '{"id": "a", "a": 1, "b": 2, "answer": "three"}\n',
    "two numbers in a truth": '{"id": "a", "a": 1, "b": 2, "answer": "3 or 4"}\n',
    "null in a column": '{"id": "a", "a": null, "b": 2, "answer": 3}\n',
    "a null id": '{"id": null, "a": 1, "b": 2, "answer": 3}\n',
    "half a line": '{"id": "a", "a": 1, "b": 2, "answer": 3}\n{"id": "b", "a"',
    "NaN": '{"id": "a", "a": NaN, "b": 2, "answer": 3}\n',
}


@pytest.mark.parametrize("what", BAD_DATA)
def test_bad_data_are_told_before_anything_is_asked(steelyard: Command, what: str) -> None:
    Path("sums.jsonl").write_text(BAD_DATA[what])
    refused(steelyard("run", "sums.toml", *RIGHT, "-o", "out.jsonl"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.toml", "nowhere.toml"),
        ("sums.jsonl", ".toml"),
        (".", "ending"),
        ("sums", "ending"),
        ("python:talk:Nothing", "Nothing"),
        ("python:nowhere:Task", "nowhere"),
        ("python:talk", "pkg.mod"),
        ("python:talk:Needs", "arguments"),
    ],
)
def test_a_task_that_is_none(steelyard: Command, name: str, said: str) -> None:
    refused(steelyard("run", name, *RIGHT, "-o", "out.jsonl"), said)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("right", "openai:"),
        ("openai:", "openai"),
        ("openai:m", "--base-url"),
        ("python:talk", "pkg.mod"),
        ("python:talk:rihgt", "rihgt"),
        ("python:nowhere:right", "nowhere"),
        ("python:talk:no_arguments", "input"),
        ("python:talk:two", "input"),
        ("python:talk:NOT_A_FUNCTION", "int"),
        ("command:", "command"),
        ("command:./no-such-program", "no-such-program"),
        ("file:none.jsonl", "none.jsonl"),
        ("preds.jsonl", "file:preds.jsonl"),
        ("torch:net", "torch"),
        ("", "openai:"),
    ],
)
def test_a_model_that_is_none(steelyard: Command, model: str, said: str) -> None:
    refused(steelyard("run", "sums.toml", "--model", model, "-o", "out.jsonl"), said)


def test_a_module_with_a_mistake_in_it(steelyard: Command) -> None:
    Path("broken_talk.py").write_text("def right(question:\n")
    refused(steelyard("run", "sums.toml", "--model", "python:broken_talk:right"), "broken_talk", "SyntaxError")


@pytest.mark.parametrize(
    "words",
    [
        ("--base-url", "localhost:80"),
        ("--base-url", "ftp://127.0.0.1/v1"),
        ("--base-url", "http://"),
        ("--base-url", "http://127.0.0.1:99999/v1"),
        ("--base-url", "http://127.0.0.1:80 80/v1"),
        pytest.param(("--base-url", "http://user:pw@127.0.0.1/v1"), marks=pytest.mark.long),  # which waits for an answer
        ("--base-url", "http://127.0.0.1:8/v1", "--timeout", "0"),
        ("--base-url", "http://127.0.0.1:8/v1", "--timeout", "nan"),
        ("--base-url", "http://127.0.0.1:8/v1", "--concurrency", "0"),
        ("--base-url", "http://127.0.0.1:8/v1", "--key-env", "NO_SUCH_KEY"),
        ("--base-url", "http://127.0.0.1:8/v1", "--api", "responses"),
    ],
)
def test_a_bad_address(steelyard: Command, words: tuple[str, ...]) -> None:
    answer = steelyard("run", "sums.toml", "--model", "openai:m", *words)
    refused(answer)
    assert "pw@" not in answer.err


def test_the_key_of_a_bad_header_is_not_shown(steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\nInjected: yes")
    answer = steelyard("run", "sums.toml", "--model", "openai:m", "--base-url", "http://127.0.0.1:8/v1", "--debug")
    assert answer.code == 3
    assert "sk-secret" not in answer.out + answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--until", "soon"), "decided"),
        (("--until", "decided"), "reference"),
        (("--until", "width=0"), "width"),
        (("--until", "width=nan"), "width"),
        (("--until", "width=inf"), "width"),
        (("--until", "n=0"), "n"),
        (("--until", "n=1e2"), "n=N"),
        (("--until", "n=121"), "121"),
        (("--until", "n=5", "--n", "5"), "Give --n or --until n=..., not both."),
        (("--n", "0"), "n"),
        (("--n", "121"), "120"),
        (("--repeats", "0"), "repeats"),
        (("--repeats", "-1"), "repeats"),
        (("--looks", "0"), "looks"),
        (("--every", "0"), "every"),
        (("--looks", "-5", "--until", "width=.1"), "looks"),
        (("--max-error-rate", "2"), "0 and 1"),
        (("--max-error-rate", "nan"), "0 and 1"),
        (("--concurrency", "0"), "concurrency"),
        (("--batch", "0"), "batch"),
        (("--timeout", "-1"), "timeout"),
        (("--price", "input=1"), "output"),
        (("--price", "input=x", "--price", "output=1"), "number"),
        (("--price", "input=nan", "--price", "output=1"), "price"),
        (("--price", "input=-1", "--price", "output=1"), "price"),
        (("--name", "a", "--name", "b"), "name"),
        (("--name", ""), "name"),
        (("--against", "nobody"), "nobody"),
        (("--stopping", "sprt"), "decided"),
        (("--stopping", "fast", "--until", "decided"), "lan-demets"),
        (("--discordance", ".1"), "sprt"),
        (("--spec", "quant_algo"), "KEY=VALUE"),
        (("--suite", "suite.toml"), "suite"),
        (("--format", "xml"), "format"),
        (("--model", "python:talk:wrong", "--model", "python:talk:half"), "Three models or more need --until decided"),
        (("--model", "python:talk:right"), "Two models have the name 'talk:right'."),
    ],
)
def test_options_that_make_no_sense(steelyard: Command, words: tuple[str, ...], said: str) -> None:
    refused(steelyard("run", "sums.toml", *RIGHT, "-o", "out.jsonl", *words), said)


def test_no_task_and_no_model(steelyard: Command) -> None:
    refused(steelyard("run"), "task", "model")
    refused(steelyard("run", "sums.toml"), "--model")
    refused(steelyard("run", *RIGHT), "task")


# ---- tasks as they are written -------------------------------------------------------------------------------------------


def accuracy_of(answer: Answer) -> float:
    assert answer.code == 0, answer.err
    found: float = answer.json["metrics"][0]["estimate"]
    return found


@pytest.mark.parametrize("text", [TASK.replace("\n", "\r\n"), "\ufeff" + TASK, "# a word\r\n\r\n" + TASK], ids=["CRLF", "BOM", "mixed"])
def test_line_ends_and_marks_of_windows(steelyard: Command, text: str) -> None:
    Path("sums.toml").write_bytes(text.encode())
    assert accuracy_of(steelyard("run", "sums.toml", *TENTH, "--format", "json")) == 0.9


YAML = 'task:\n  name: sums\n  data: sums.jsonl\n  input: "{a} + {b} ="\n  truth: answer\n  scorer: number\n'


@pytest.mark.parametrize(("name", "text"), [("t.yaml", YAML), ("t.yml", YAML.replace("\n", "\r\n")), ("t.YAML", "\ufeff" + YAML)])
def test_yaml_says_the_same(steelyard: Command, name: str, text: str) -> None:
    Path(name).write_bytes(text.encode())
    assert accuracy_of(steelyard("run", name, *TENTH, "--format", "json")) == 0.9
    assert steelyard("run", "sums.toml", *TENTH, "-o", "a.jsonl").code == 0
    assert steelyard("run", name, *TENTH, "-o", "b.jsonl").code == 0
    notes = [json.loads(Path(f"{out}.jsonl.run").read_text()) for out in "ab"]
    assert notes[0]["protocol"] == notes[1]["protocol"]


@pytest.mark.parametrize(
    "text", [YAML + "  name: again\n", YAML + "  n: !!python/object:os.system 3\n", "- 1\n", "task: 3\n", YAML + "  n: 010\n"]
)
def test_yaml_that_is_refused(steelyard: Command, text: str) -> None:
    Path("t.yaml").write_text(text)
    answer = steelyard("run", "t.yaml", *RIGHT, "-o", "out.jsonl")
    refused(answer)


def test_a_class_is_a_task(steelyard: Command) -> None:
    answer = steelyard("run", "python:talk:Sums", *TENTH, "-o", "o.jsonl", "--format", "json")
    assert accuracy_of(answer) == 0.9
    assert len(rows("o.jsonl")) == N


def test_data_lie_beside_the_task_wherever_one_stands(steelyard: Command, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.syspath_prepend(str(home))
    monkeypatch.chdir(elsewhere)
    assert accuracy_of(steelyard("run", "../sums.toml", *TENTH, "--format", "json")) == 0.9
    assert accuracy_of(steelyard("run", home / "sums.toml", *TENTH, "--format", "json")) == 0.9


def test_a_task_through_a_link_has_its_data_beside_the_file_or_the_link(steelyard: Command, home: Path) -> None:
    """Either reading is sane; an error that names the path is too. What may not be is a traceback."""
    (home / "links").mkdir()
    os.symlink(home / "sums.toml", home / "links" / "linked.toml")
    answer = steelyard("run", "links/linked.toml", *TENTH, "--format", "json")
    assert answer.code in (0, 3)
    if answer.code == 3:
        assert "sums.jsonl" in answer.err
    os.symlink(home / "sums.toml", home / "here.toml")
    assert accuracy_of(steelyard("run", "here.toml", *TENTH, "--format", "json")) == 0.9


# ---- scorers through a run -------------------------------------------------------------------------------------------------

SCORED = {
    "exact": ('scorer = "exact"', "python:talk:tenth", 0.9),
    "number": ('scorer = "number"', "python:talk:right", 1.0),
    "contains": ('scorer = "contains"', "python:talk:right", 1.0),
    "regex": ('scorer = "regex"\n[scorer]\npattern = "it is (\\\\d+)"', "python:talk:right", 1.0),
    "tolerance": ('scorer = "tolerance"\n[scorer]\nabsolute = 0.5', "python:talk:right", 1.0),
    "token-f1": ('scorer = "token-f1"', "python:talk:tenth", 0.9),
    "rouge-1": ('scorer = "rouge-1"', "python:talk:tenth", 0.9),
    "json-match": ('scorer = "json-match"', "python:talk:tenth", 0.9),
    "rouge-l": ('scorer = "rouge-l"', "python:talk:tenth", 0.9),
    "wer": ('scorer = "wer"', "python:talk:tenth", 0.1),
    "code": ('scorer = "talk:score"', "python:talk:right", 1.0),
    "code of scores": ('scorer = "talk:half_score"', "python:talk:right", 0.5),
}


@pytest.mark.parametrize("what", SCORED)
def test_every_scorer_through_run_measure_record_and_check(steelyard: Command, what: str) -> None:
    scorer, model, expected = SCORED[what]
    Path("sums.toml").write_text(TASK.replace('scorer = "number"', scorer))
    first = steelyard("run", "sums.toml", "--model", model, "-o", "o.jsonl", "--format", "json")
    assert accuracy_of(first) == pytest.approx(expected, abs=0.02 if what == "contains" else 1e-12)
    metric = first.json["metrics"][0]["metric"]
    if metric != "ratio":  # measure takes the two sums of a ratio in Python only
        measured = steelyard("measure", "o.jsonl", "--metric", metric, "--format", "json")
        assert accuracy_of(measured) == pytest.approx(first.json["metrics"][0]["estimate"])
    assert steelyard("record", "o.jsonl", "--task", "sums", "--model", "m", "--deterministic").code == 0
    again = steelyard("run", "sums.toml", "--model", model, "--against", "m", "-o", "p.jsonl", "--format", "json")
    assert again.code == 0, again.err
    assert again.json["verdict"] == "pass"
    checked = steelyard("check", "p.jsonl", "--task", "sums", "--model", "m", "--format", "json")
    assert checked.code == 0, checked.err
    assert checked.json["p_value"] == again.json["p_value"]


def test_a_scorer_that_breaks_is_told_and_keeps_the_answers(steelyard: Command) -> None:
    Path("sums.toml").write_text(TASK.replace('"number"', '"talk:breaks"'))
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl")
    assert answer.code == 3
    assert "ZeroDivisionError" in answer.err
    assert not Path("o.jsonl").exists()


def test_scores_between_are_refused_where_right_or_wrong_is_wanted(steelyard: Command) -> None:
    Path("sums.toml").write_text(TASK.replace('"number"', '"talk:half_score"') + 'metric = "accuracy"\n')
    answer = steelyard("run", "sums.toml", *RIGHT)
    assert answer.code == 3
    assert "0 or 1" in answer.err


LABELS = '[task]\nname = "labels"\ndata = "labels.jsonl"\ninput = "{text}"\ntruth = "kind"\nscorer = "exact"\n'


def label_data() -> None:
    kinds = ["cat", "dog", "eel"]
    told = [{"id": i, "text": f"{kinds[i % 3] if i % 7 else kinds[(i + 1) % 3]}", "kind": kinds[i % 3]} for i in range(N)]
    Path("labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
    Path("talk.py").write_text("def echo(text): return text\ndef cat(text): return 'cat'\n")


@pytest.mark.parametrize("metric", ["macro_f1", "error", *seldom("balanced_accuracy", "kappa", "weighted_f1")])
def test_metrics_of_labels_through_run_record_and_check(steelyard: Command, metric: str) -> None:
    label_data()
    Path("labels.toml").write_text(LABELS + f'metric = "{metric}"\n')
    first = steelyard("run", "labels.toml", "--model", "python:talk:echo", "-o", "o.jsonl", "--format", "json")
    assert first.code == 0, first.err
    assert first.json["metrics"][0]["metric"] in metric
    assert accuracy_of(first) == accuracy_of(steelyard("measure", "o.jsonl", "--metric", metric, "--format", "json"))
    assert steelyard("record", "o.jsonl", "--task", "labels", "--model", "m", "--deterministic", "--metric", metric).code == 0
    same = steelyard("run", "labels.toml", "--model", "python:talk:echo", "--against", "m", "--format", "json")
    assert (same.code, same.json["verdict"]) == (0, "pass"), same.err
    worse = steelyard("run", "labels.toml", "--model", "python:talk:cat", "--against", "m", "-o", "w.jsonl", "--format", "json")
    assert (worse.code, worse.json["verdict"]) == (1, "regression"), worse.err
    assert worse.json["metric"] == metric
    checked = steelyard("check", "w.jsonl", "--task", "labels", "--model", "m", "--format", "json")
    assert checked.code == 1
    assert checked.json["p_value"] == worse.json["p_value"]


@pytest.mark.parametrize("metric", ["macro_f1", "error", "kappa"])
def test_record_takes_the_metric_that_the_run_was_made_for(steelyard: Command, metric: str) -> None:
    """The notes beside the rows say it; accuracy instead would be a silent substitute that the next run then refuses."""
    label_data()
    Path("labels.toml").write_text(LABELS + f'metric = "{metric}"\n')
    assert steelyard("run", "labels.toml", "--model", "python:talk:echo", "-o", "o.jsonl").code == 0
    recorded = steelyard("record", "o.jsonl", "--task", "labels", "--model", "m", "--deterministic", "--format", "json")
    assert recorded.code == 0, recorded.err
    assert recorded.json["metric"] == metric


def test_errors_are_lower_is_better_when_decided_early(steelyard: Command) -> None:
    """error is 1 - accuracy: the model that is wrong more often is the worse one."""
    label_data()
    Path("labels.toml").write_text(LABELS + 'metric = "error"\n')
    assert steelyard("run", "labels.toml", "--model", "python:talk:echo", "-o", "o.jsonl").code == 0
    assert steelyard("record", "o.jsonl", "--task", "labels", "--model", "m", "--deterministic", "--metric", "error").code == 0
    decided = ("--against", "m", "--until", "decided", "--theta", ".2", "--every", "10", "--format", "json")
    same = steelyard("run", "labels.toml", "--model", "python:talk:echo", *decided)
    assert (same.code, same.json["verdict"]) == (0, "pass"), same.err
    assert same.json["candidate"]["value"] == same.json["reference"]["value"] < 0.5
    worse = steelyard("run", "labels.toml", "--model", "python:talk:cat", "-o", "w.jsonl", *decided)
    assert (worse.code, worse.json["verdict"]) == (1, "regression"), worse.json["conclusion"]
    assert worse.json["candidate"]["value"] > 0.5
    assert steelyard("check", "w.jsonl", "--task", "labels", "--model", "m").code == 1


def test_a_metric_of_the_whole_table_is_not_stopped_early(steelyard: Command) -> None:
    label_data()
    Path("labels.toml").write_text(LABELS + 'metric = "macro_f1"\n')
    assert steelyard("run", "labels.toml", "--model", "python:talk:echo", "-o", "o.jsonl").code == 0
    assert steelyard("record", "o.jsonl", "--task", "labels", "--model", "m", "--deterministic", "--metric", "macro_f1").code == 0
    echo = ("run", "labels.toml", "--model", "python:talk:echo")
    decided = steelyard(*echo, "--against", "m", "--until", "decided", "--theta", ".2")
    assert decided.code == 3
    assert "macro_f1" in decided.err
    # an interval of accuracy is none of macro_f1
    narrow = steelyard(*echo, "--against", "none", "--until", "width=.3", "--format", "json")
    assert narrow.code == 3, narrow.json["metrics"]


def test_the_width_of_an_error_is_that_of_the_error(steelyard: Command) -> None:
    label_data()
    Path("labels.toml").write_text(LABELS + 'metric = "error"\n')
    found = steelyard("run", "labels.toml", "--model", "python:talk:echo", "--until", "width=.3", "--format", "json")
    assert found.code == 0, found.err
    row = found.json["metrics"][0]
    assert row["interval"]["low"] <= row["estimate"] <= row["interval"]["high"], row


def test_f1_says_that_it_needs_a_positive_label_before_anything_is_asked(steelyard: Command) -> None:
    label_data()
    Path("talk.py").write_text(
        Path("talk.py").read_text().replace("return text", "import pathlib; pathlib.Path('asked.txt').write_text('x\\n'); return text")
    )
    Path("labels.toml").write_text(LABELS + 'metric = "f1"\n')
    answer = steelyard("run", "labels.toml", "--model", "python:talk:echo", "-o", "out.jsonl")
    if answer.code != 0:
        refused(answer, "positive")


@pytest.mark.parametrize("metric", ["mae", "rmse", "r2"])
def test_metrics_of_numbers(steelyard: Command, metric: str) -> None:
    Path("sums.toml").write_text(TASK.replace('"number"', '"tolerance"') + f'metric = "{metric}"\n[scorer]\nabsolute = 0.5\n')
    answer = steelyard("run", "sums.toml", *TENTH, "-o", "o.jsonl", "--format", "json")
    assert answer.code == 0, answer.err
    assert answer.json["metrics"][0]["metric"] == metric
    assert accuracy_of(steelyard("measure", "o.jsonl", "--metric", metric, "--format", "json")) == pytest.approx(accuracy_of(answer))
    assert steelyard("record", "o.jsonl", "--task", "sums", "--model", "m", "--deterministic", "--metric", metric).code == 0
    worse = steelyard("run", "sums.toml", *HALF, "--against", "m", "-o", "w.jsonl", "--format", "json")
    assert worse.code == 1, worse.err
    assert worse.json["verdict"] == "regression"
    assert steelyard("check", "w.jsonl", "--task", "sums", "--model", "m").code == 1


def test_mean_of_absolute_errors_when_an_answer_has_no_number(steelyard: Command) -> None:
    """No number is no error of a size: it must be told, never be a zero."""
    Path("talk.py").write_text("def mute(question): return 'I do not know' if question.startswith('3 ') else '7'\n")
    Path("sums.toml").write_text(TASK.replace('"number"', '"tolerance"') + 'metric = "mae"\n[scorer]\nabsolute = 0.5\n')
    answer = steelyard("run", "sums.toml", "--model", "python:talk:mute", "-o", "o.jsonl", "--format", "json")
    assert answer.code in (0, 3), answer.err
    if answer.code == 0:
        assert answer.json["metrics"][0]["n"] == N - 1
        assert any("1" in warning for warning in answer.json["warnings"])


def test_a_judge_is_a_server(steelyard: Command) -> None:
    def say(asked: Any) -> str:
        return "SCORE: correct" if "it is" in asked["messages"][-1]["content"] else "SCORE: incorrect"

    with Server(say=say) as server:
        told = {"model": "openai:judge", "base_url": server.url, "rubric": "Q {input}\nT {truth}\n{answer}"}
        judge = "\n[scorer]\nverdicts = {incorrect = 0, correct = 1}\n" + "".join(f"{key} = {json.dumps(told[key])}\n" for key in told)
        Path("sums.toml").write_text(TASK.replace('"number"', '"judge"') + judge)
        good = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl", "--format", "json")
        poor = steelyard("run", "sums.toml", *WRONG, "--format", "json")
        mute = steelyard("run", "sums.toml", "--model", "python:talk:silent", "--format", "json")
    assert accuracy_of(good) == 1.0
    assert accuracy_of(poor) == 0.0
    assert accuracy_of(mute) == 0.0
    assert mute.json["run"]["models"][0]["counts"]["empty"] == N
    assert all("judgement" in row for row in rows("o.jsonl"))


# ---- models --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["later", "many"])
def test_async_and_batched_functions(steelyard: Command, name: str) -> None:
    assert accuracy_of(steelyard("run", "sums.toml", "--model", f"python:talk:{name}", "--format", "json")) == 1.0
    assert asked() == N


def test_white_space_is_an_empty_answer(steelyard: Command) -> None:
    answer = steelyard("run", "sums.toml", "--model", "python:talk:silent", "-o", "o.jsonl", "--format", "json")
    assert accuracy_of(answer) == 0
    assert answer.json["run"]["models"][0]["counts"]["empty"] == N
    assert len(rows("o.jsonl")) == N


@pytest.mark.parametrize("name", ["raw", "thing", "bad", "leaves", "few", "none", "nan"])
def test_a_model_that_never_answers_ends_the_run_early(steelyard: Command, name: str) -> None:
    answer = steelyard("run", "sums.toml", "--model", f"python:talk:{name}", "-o", "o.jsonl")
    assert answer.code == 3, answer
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert not Path("o.jsonl").exists()
    assert asked() <= 64


def test_a_model_that_never_answers_with_every_error_allowed(steelyard: Command) -> None:
    words = ("run", "sums.toml", "--model", "python:talk:bad", "--max-error-rate", "1", "--format", "json")
    assert steelyard(*words).code == 3
    wrong = steelyard(*words, "--missing", "wrong")
    assert accuracy_of(wrong) == 0
    dropped = steelyard(*words, "--missing", "drop", "-o", "o.jsonl")
    assert dropped.code == 3, dropped
    assert "internal" not in dropped.err


@pytest.mark.usefixtures("on_record")
@pytest.mark.parametrize("missing", ["drop", "wrong", "error"])
def test_nothing_but_errors_is_no_decision(steelyard: Command, missing: str) -> None:
    words = ("run", "sums.toml", "--model", "python:talk:bad", "--max-error-rate", "1", "--format", "json", "--missing", missing)
    answer = steelyard(*words, "--against", "m", "--until", "decided", "--theta", ".1")
    assert answer.code == (1 if missing == "wrong" else 3), answer
    assert "internal" not in answer.err


def test_a_command_that_dies_is_told(steelyard: Command) -> None:
    answer = steelyard("run", "sums.toml", "--model", f"command:{sys.executable} -c 'import sys; sys.exit(5)'", "-o", "o.jsonl")
    assert answer.code == 3
    assert "5" in answer.err
    assert not Path("o.jsonl").exists()


def test_a_file_without_all_items_is_told(steelyard: Command) -> None:
    Path("preds.jsonl").write_text("".join(json.dumps({"id": f"q{i}", "prediction": 3 * i + 1}) + "\n" for i in range(N - 1)))
    answer = steelyard("run", "sums.toml", "--model", "file:preds.jsonl", "-o", "o.jsonl")
    assert answer.code == 3
    assert f"q{N - 1}" in answer.err
    assert not Path("o.jsonl").exists()


# ---- the output ------------------------------------------------------------------------------------------------------------


def test_rows_have_the_keys_of_the_contract_in_their_order(steelyard: Command) -> None:
    assert steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl").code == 0
    for row in rows("o.jsonl"):
        assert list(row)[:6] == ["id", "repeat", "truth", "prediction", "score", "error"]
        assert row["said"].startswith("it is")


@pytest.mark.parametrize(
    "scorer", ['scorer = "token-f1"', 'scorer = "contains"', 'scorer = "wer"', 'scorer = "tolerance"\n[scorer]\nabsolute = 1']
)
def test_rows_of_scorers_without_labels_are_read_by_every_question(steelyard: Command, scorer: str) -> None:
    Path("sums.toml").write_text(TASK.replace('scorer = "number"', scorer))
    for name in ("a", "b"):
        assert steelyard("run", "sums.toml", *(RIGHT if name == "a" else TENTH), "-o", f"{name}.jsonl").code == 0
    assert steelyard("measure", "a.jsonl").code == 0
    assert steelyard("compare", "a.jsonl", "b.jsonl").code == 0


HOSTILE_IDS = [
    "a\nb",
    "tab\there",
    "\u2028",
    "naïve",
    "日本",
    "a|b",
    "'; drop table",
    '"',
    "\\",
    " x ",
    "\x1b[31m",
    "=1+1",
    "%0A::error::",
    "😀",
]


def test_hostile_ids_and_answers_go_through_and_come_back(steelyard: Command) -> None:
    data = [{"id": name, "a": i, "b": 1, "answer": i + 1} for i, name in enumerate([*HOSTILE_IDS, *map(str, range(20))])]
    Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    Path("talk.py").write_text(
        "import re\ndef odd(q): return f'{q}\\x00\\u2028\\ud800\\n\\x1b[31m ' + 'x' * 10000 + ' ' + str(int(q.split()[0]) + 1)\n"
    )
    words = ("run", "sums.toml", "--model", "python:talk:odd", "--name", "m", "-o", "o.jsonl")
    for format_ in ("text", "markdown", "json"):
        answer = steelyard(*words, "--format", format_)
        assert answer.code == 0, answer.err
        assert "\x1b" not in answer.out + answer.err
    assert {row["id"] for row in rows("o.jsonl")} > set(HOSTILE_IDS)
    assert all(row["score"] == 1 for row in rows("o.jsonl"))
    assert steelyard("measure", "o.jsonl").code == 0
    assert steelyard("record", "o.jsonl", "--task", "sums", "--model", "m", "--deterministic").code == 0
    assert steelyard("check", "o.jsonl", "--task", "sums", "--model", "m").code == 0
    assert steelyard(*words).code == 0
    worse = steelyard("run", "sums.toml", "--model", "python:talk:odd", "--against", "m", "--repeats", "1", "--format", "github")
    assert worse.code == 0, worse.err


def test_half_a_surrogate_pair_in_an_id(steelyard: Command) -> None:
    Path("sums.jsonl").write_text('{"id": "\\ud800", "a": 1, "b": 2, "answer": 3}\n{"id": "b", "a": 1, "b": 2, "answer": 3}\n')
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl")
    assert answer.code in (0, 3), answer
    if answer.code == 0:
        assert steelyard("measure", "o.jsonl").code == 0


@pytest.mark.parametrize("where", ["missing/out.jsonl", "folder", "sums.toml/out.jsonl"])
def test_an_output_that_cannot_be_written_is_told_before_anything_is_asked(steelyard: Command, where: str) -> None:
    Path("folder").mkdir()
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", where)
    assert answer.code == 3, answer
    assert answer.err.startswith("error: ")
    assert asked() == 0
    assert not Path("missing").exists()
    assert not Path("folder.journal").exists()


@pytest.mark.parametrize("where", ["sums.jsonl", "./sums.jsonl", "sums.toml"])
def test_an_output_over_its_own_task_or_data_is_refused(steelyard: Command, where: str) -> None:
    before = Path(where).read_bytes()
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", where)
    assert Path(where).read_bytes() == before, "the data of the task were overwritten by the run"
    assert answer.code == 3


def test_an_output_over_the_file_of_predictions_is_refused(steelyard: Command) -> None:
    Path("preds.jsonl").write_text("".join(json.dumps({"id": f"q{i}", "prediction": 3 * i + 1}) + "\n" for i in range(N)))
    before = Path("preds.jsonl").read_bytes()
    answer = steelyard("run", "sums.toml", "--model", "file:preds.jsonl", "-o", "preds.jsonl")
    assert Path("preds.jsonl").read_bytes() == before
    assert answer.code == 3


def test_an_output_that_is_a_pipe_is_not_replaced_by_a_file(steelyard: Command) -> None:
    """As /dev/stdout would be, by whoever may write to /dev."""
    os.mkfifo("pipe")
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", "pipe")
    assert Path("pipe").is_fifo(), "the pipe was replaced by a regular file"
    assert answer.code == 3
    assert asked() == 0


def test_an_output_through_a_link_goes_where_the_link_points(steelyard: Command) -> None:
    Path("there").mkdir()
    os.symlink("there/real.jsonl", "o.jsonl")
    assert steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl").code == 0
    assert Path("o.jsonl").exists()
    assert len(rows("o.jsonl")) == N


def test_answer_and_output_in_one_file_are_refused(steelyard: Command) -> None:
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", "out.jsonl", "--answer", "out.jsonl", "--format", "json")
    if answer.code == 0:
        assert len(rows("out.jsonl")) == N, "the answer was written over the rows"
    else:
        refused(answer)


def test_an_answer_that_cannot_be_written_does_not_cost_the_rows(steelyard: Command) -> None:
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl", "--answer", "missing/a.json")
    assert answer.code == 3
    assert asked() == 0 or len(rows("o.jsonl")) == N


def test_the_old_output_stays_until_the_new_one_is_complete(steelyard: Command) -> None:
    assert steelyard("run", "sums.toml", *TENTH, "-o", "o.jsonl").code == 0
    before = Path("o.jsonl").read_bytes()
    assert steelyard("run", "sums.toml", "--model", "python:talk:bad", "-o", "o.jsonl").code == 3
    assert Path("o.jsonl").read_bytes() == before
    assert steelyard("measure", "o.jsonl").code == 0
    journal = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl")
    assert journal.code in (0, 3)
    if journal.code == 3:
        assert "journal" in journal.err
        assert "remove" in journal.err.lower() or "delete" in journal.err.lower()


def test_a_journal_of_another_task_is_refused_and_said_how_to_go_on(steelyard: Command) -> None:
    Path("other.toml").write_text(TASK.replace('name = "sums"', 'name = "other"'))
    assert steelyard("run", "sums.toml", "--model", "python:talk:bad", "-o", "o.jsonl").code == 3
    assert Path("o.jsonl.journal").exists()
    answer = steelyard("run", "other.toml", *RIGHT, "-o", "o.jsonl")
    assert answer.code == 3
    assert "o.jsonl.journal" in answer.err
    assert "task" in answer.err
    assert asked() == 0


def test_a_typing_mistake_does_not_bind_the_output_to_its_task(steelyard: Command) -> None:
    """A command that was refused has asked nothing; what it left behind must not refuse the next one."""
    Path("other.toml").write_text(TASK.replace('name = "sums"', 'name = "other"'))
    assert steelyard("run", "other.toml", *RIGHT, "-o", "o.jsonl", "--max-error-rate", "5").code == 3
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl")
    assert answer.code == 0, answer.err


@pytest.mark.usefixtures("on_record")
def test_an_endpoint_is_asked_little_more_than_what_decides(steelyard: Command) -> None:
    with Server(wrong=0.6, latency=0.005) as server:
        words = ("--model", "openai:x", "--base-url", server.url, "--concurrency", "4", "--against", "m")
        answer = steelyard("run", "sums.toml", *words, "--until", "decided", "--theta", ".2", "--every", "8", "--format", "json")
        seen = len(server.seen)
    assert answer.code == 1, answer.err
    counts = answer.json["run"]["models"][0]["counts"]
    assert seen == counts["n"] + counts["wasted"] < N
    assert counts["wasted"] <= 16


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "directory"])
def test_a_damaged_journal(steelyard: Command, damage: str) -> None:
    journal = Path("o.jsonl.journal")
    if damage == "directory":
        journal.mkdir()
    elif damage == "garbage":
        journal.write_bytes(b"\x00\xff" * 100 + b"\n" + b"{}\n")
    elif damage == "empty":
        journal.write_bytes(b"")
    else:
        assert steelyard("run", "sums.toml", "--model", "python:talk:bad", "-o", "o.jsonl").code == 3
        journal.write_bytes(journal.read_bytes()[:-7])
    before = journal.read_bytes() if journal.is_file() else b""
    answer = steelyard("run", "sums.toml", "--model", "python:talk:bad" if damage == "cut" else "python:talk:right", "-o", "o.jsonl")
    if damage == "empty":
        assert answer.code == 0, answer.err
        return
    assert answer.code == 3, answer
    assert "internal" not in answer.err
    if damage == "garbage":
        assert journal.read_bytes() == before
        assert asked() == 0


@pytest.mark.usefixtures("on_record")
@pytest.mark.parametrize("notes", ["gone", "garbage", "another", "list", "null stopping", "plan", "looked"])
def test_the_notes_of_a_run_that_stopped(steelyard: Command, notes: str) -> None:
    """Without its notes a part of the items is a part of the items; with damaged ones it is an error, never a verdict."""
    decided = ("--against", "m", "--until", "decided", "--theta", ".2", "--every", "10")
    assert steelyard("run", "sums.toml", *HALF, "-o", "o.jsonl", *decided).code == 1
    file = Path("o.jsonl.run")
    plain = json.loads(file.read_text())
    if notes == "gone":
        file.unlink()
    elif notes == "garbage":
        file.write_text("{")
    elif notes == "list":
        file.write_text("[1]")
    elif notes == "another":
        assert steelyard("run", "sums.toml", *WRONG, "-o", "p.jsonl", *decided).code == 1
        file.write_bytes(Path("p.jsonl.run").read_bytes())
    elif notes == "null stopping":
        file.write_text(json.dumps({**plain, "stopping": None}))
    elif notes == "plan":
        plain["stopping"]["plan"]["theta"] = "x"
        file.write_text(json.dumps(plain))
    else:
        plain["stopping"]["looked"] = "many"
        file.write_text(json.dumps(plain))
    answer = steelyard("check", "o.jsonl", "--task", "sums", "--model", "m")
    assert answer.code == 3, answer
    assert answer.err.startswith("error: ")


def test_a_run_that_stopped_is_no_reference(steelyard: Command) -> None:
    assert steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl", "--until", "width=.2").code == 0
    assert len(rows("o.jsonl")) < N
    answer = steelyard("record", "o.jsonl", "--task", "sums", "--model", "m")
    assert answer.code == 3
    assert "stopped early" in answer.err


# ---- formats ---------------------------------------------------------------------------------------------------------------

KEYS = (
    *("verdict", "task", "model", "spec", "metric", "higher_is_better", "scale", "design", "target", "n", "alpha", "beta", "sigma"),
    *(
        "margin",
        "theta",
        "mde",
        "reference",
        "candidate",
        "threshold",
        "difference",
        "test",
        "p_value",
        "flips",
        "needed",
        "tier",
        "waiver",
    ),
)


@pytest.mark.usefixtures("on_record")
@pytest.mark.parametrize(
    ("format_", "until"),
    [
        *((format_, ()) for format_ in ("text", "markdown", "junit")),
        *((format_, ("--until", "decided", "--theta", theta)) for format_, theta in (("json", ".2"), ("github", ".0001"))),
    ],
)
def test_formats_with_a_verdict(steelyard: Command, format_: str, until: tuple[str, ...]) -> None:
    code = 2 if ".0001" in until else 0
    answer = steelyard("run", "sums.toml", *TENTH, "--against", "m", "--format", format_, *until)
    assert answer.code == code, answer
    assert answer.out
    if format_ == "json":
        assert {"kind", "schema", "warnings", "signature", *KEYS} <= set(answer.json)
        assert answer.json["kind"] == "verdict"
    if format_ == "junit":
        assert ElementTree.fromstring(answer.out).tag in ("testsuites", "testsuite")
    worse = steelyard("run", "sums.toml", *WRONG, "--against", "m", "--format", format_, *until)
    assert worse.code == 1
    if format_ == "github":
        assert "::error" in worse.out
    lenient = steelyard("run", "sums.toml", *TENTH, "--against", "m", "--format", format_, *until, "--fail-on", "regression")
    assert lenient.code == 0


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
@pytest.mark.parametrize(
    "words", [RIGHT, (*RIGHT, *HALF), (*RIGHT, "--until", "width=.3"), (*RIGHT, *HALF, "--until", "decided", "--theta", ".2")]
)
def test_formats_without_a_reference(steelyard: Command, format_: str, words: tuple[str, ...]) -> None:
    answer = steelyard("run", "sums.toml", *words, "--format", format_)
    assert answer.code == (1 if "decided" in words else 0), answer.err
    assert answer.out
    if format_ == "json":
        assert {"kind", "schema", "warnings", "signature", "run"} <= set(answer.json)


@pytest.mark.parametrize("format_", ["junit", "github"])
def test_formats_of_verdicts_are_refused_before_anything_is_asked_where_there_is_none(steelyard: Command, format_: str) -> None:
    refused(steelyard("run", "sums.toml", *RIGHT, "--format", format_, "-o", "out.jsonl"), "reference")


@pytest.mark.usefixtures("on_record")
def test_the_answer_goes_to_a_file_and_quiet_is_quiet(steelyard: Command) -> None:
    answer = steelyard("run", "sums.toml", *TENTH, "--against", "m", "--format", "json", "--answer", "a.json", "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert json.loads(Path("a.json").read_text())["verdict"] == "pass"


# ---- help ------------------------------------------------------------------------------------------------------------------


def test_help_explains_every_option_and_the_exit_codes(steelyard: Command) -> None:
    from steelyard_old.cli.run import run

    answer = steelyard("run", "--help")
    assert answer.code == 0
    for parameter in run.params:
        if parameter.param_type_name == "option":
            assert getattr(parameter, "help", None), parameter.name
            assert parameter.opts[-1] in answer.out
    for words in ("0: pass, or measured only", "1: regression", "2: inconclusive", "3: error (bad input or missing reference)"):
        assert words in " ".join(answer.out.split())
    for option in ("--alpha", "--beta", "--margin", "--seed", "--looks", "--every", "--repeats", "--missing", "--n"):
        part = answer.out.split(f"  {option}")[1].split("\n  -")[0]
        assert "[default" in part, option


# ---- keys ------------------------------------------------------------------------------------------------------------------

KEY = "sk-hidden-0123456789"


@pytest.mark.parametrize("how", ["right", "wrong", *seldom("down"), "400"])
def test_the_key_is_nowhere(steelyard: Command, home: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    said = ""
    shares = {"400": 1.0} if how == "400" else {}
    with Server(key="sk-other" if how == "wrong" else KEY, shares=shares) as server:
        url = server.url if how != "down" else "http://127.0.0.1:9/v1"
        words = (
            "run",
            "sums.toml",
            "--n",
            "15",
            "--model",
            "openai:m",
            "--base-url",
            url,
            "--key-env",
            "MY_KEY",
            "-o",
            "o.jsonl",
            "--debug",
            "--timeout",
            "3",
        )
        answer = steelyard(*words, "--format", "json")
        said = answer.out + answer.err
    assert answer.code == (0 if how == "right" else 3), said
    assert KEY not in said
    for file in home.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


def test_a_server_that_echoes_the_key_does_not_get_it_written_down(steelyard: Command, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some gateways name the key in their refusal: 'Incorrect API key provided: sk-...'."""
    import http.server
    import threading

    class Echo(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"error": {"message": f"no such model for {self.headers['Authorization']}"}}).encode()
            self.send_response(400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        answer = steelyard("run", "sums.toml", "--n", "5", "--model", "openai:m", "--base-url", url, "-o", "o.jsonl", "--debug")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert answer.code == 3
    assert KEY not in answer.out + answer.err
    for file in home.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


# ---- what is said of failures and of time -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "said", "never"),
    [("wrong", "counted as wrong", "left out"), ("drop", "left out", "as wrong")],
)
def test_one_true_sentence_says_what_became_of_items_without_an_answer(steelyard: Command, missing: str, said: str, never: str) -> None:
    with Server(shares={"400": 0.2}) as server:
        words = ("run", "sums.toml", "--model", "openai:m", "--base-url", server.url, "--max-error-rate", "1")
        answer = steelyard(*words, "--missing", missing)
    assert answer.code == 0, answer
    told = " ".join(answer.out.split())  # however wide the terminal is
    assert said in told
    assert never not in told
    assert "never counted" not in told


def test_retries_are_counted_and_latency_has_a_unit(steelyard: Command) -> None:
    with Server(first=["500", "500", "500"], latency=0.02) as server:
        words = ("run", "sums.toml", "--model", "openai:m", "--base-url", server.url, "--n", "20")
        answer = steelyard(*words)
        assert re.search(r"^Retries +3 +requests sent again", answer.out, re.MULTILINE), answer.out
        assert re.search(r"^Latency +median \d[\d.]* m?s, p90 \d[\d.]* m?s, p99 \d[\d.]* m?s$", answer.out, re.MULTILINE), answer.out
        counts = steelyard(*words, "--format", "json").json["run"]["models"][0]["counts"]
    assert counts["retries"] == 0
    assert counts["attempts"] == counts["n"] == 20


# ---- a dry run, and a run that is there already ----------------------------------------------------------------------------


def test_a_dry_run_shows_the_first_prompt_and_the_cost_and_asks_nothing(steelyard: Command, home: Path) -> None:
    Path("sums.toml").write_text(TASK + 'system = "Add."\n[sampling]\nmax_tokens = 10\n')
    before = sorted(path.name for path in home.iterdir())
    with Server() as server:
        words = ("run", "sums.toml", "--model", "openai:m", "--base-url", server.url, "--repeats", "2", "-o", "out.jsonl", "--dry-run")
        answer = steelyard(*words, "--price", "input=1,output=2")
        found = steelyard(*words, "--price", "input=1,output=2", "--format", "json").json
        assert not server.seen
    assert answer.code == 0, answer
    assert "DRY RUN  sums, m" in answer.out
    assert re.search(r"\[user\]\n +\d+ \+ \d+ =\n", answer.out), answer.out
    assert re.search(rf"^Calls +{2 * N}$", answer.out, re.MULTILINE), answer.out
    assert found["kind"] == "dry_run"
    assert found["calls"] == found["models"][0]["calls"] == 2 * N
    assert found["tokens_out"] == 2 * N * 10
    assert found["cost"] == pytest.approx((found["tokens_in"] + 2 * found["tokens_out"]) / 1e6)
    assert found["prompt"].startswith("[system]\nAdd.\n[user]\n")
    assert sorted(path.name for path in home.iterdir()) == before


def test_a_dry_run_in_python_of_two_models_and_of_features() -> None:
    found = sy.dry_run("sums.toml", str.upper, str.lower, name=["a", "b"], until="decided", theta=0.1)
    assert (found.calls, found.n, found.stops_early, found.cost) == (2 * N, N, True, None)
    assert "at most: the run stops when it is decided" in str(found)
    rows = [{"id": i, "x": i, "y": 2.5, "truth": 1} for i in range(3)]
    table = {"task": {"name": "t", "data": rows, "input": ["x", "y"], "scorer": "exact"}}
    features = sy.dry_run(table, lambda row: 1, name="m")
    assert features.tokens_in is None
    assert re.fullmatch(r"\[\d(.0)?, 2.5\]", features.prompt)
    assert "| Calls | 3 |" in markdown(features)


def markdown(found: Any) -> str:
    from steelyard_old.render.formats import result_markdown

    return result_markdown(found)


def test_a_dry_run_finds_what_is_wrong_before_the_first_call(steelyard: Command) -> None:
    refused(
        steelyard("run", "sums.toml", "--model", "openai:m", "--dry-run"),
        "The model 'm' needs the base URL of an OpenAI-compatible server.",
    )
    refused(steelyard("run", "sums.toml", *RIGHT, "--until", "decided", "--dry-run"), "sums")
    refused(steelyard("run", "sums.toml", *RIGHT, "--dry-run", "--format", "junit"), "text, json or markdown")


@pytest.mark.parametrize("what", ["another task", "another prompt"])
def test_a_finished_run_of_another_task_or_prompt_is_not_written_over(steelyard: Command, what: str) -> None:
    assert steelyard("run", "sums.toml", *RIGHT, "-o", "out.jsonl").code == 0
    before = {path.name: path.read_bytes() for path in Path().glob("out*")}
    many = asked()
    text = TASK.replace('"sums"', '"other"') if what == "another task" else TASK.replace("{a} + {b} =", "What is {a} + {b} =")
    Path("other.toml").write_text(text)
    answer = steelyard("run", "other.toml", *RIGHT, "-o", "out.jsonl")
    assert answer.code == 3, answer
    assert "a finished run of" in answer.err
    assert "write to another file, or remove 'out.jsonl' and 'out.jsonl.run'" in answer.err
    assert {path.name: path.read_bytes() for path in Path().glob("out*")} == before
    assert asked() == many
    for path in Path().glob("out*"):
        path.unlink()
    assert steelyard("run", "other.toml", *RIGHT, "-o", "out.jsonl").code == 0


def test_the_same_task_and_prompt_run_again_take_the_place_of_the_old_run(steelyard: Command) -> None:
    assert steelyard("run", "sums.toml", *RIGHT, "-o", "out.jsonl").code == 0
    old = Path("out.jsonl").read_bytes()
    assert steelyard("run", "sums.toml", *HALF, "-o", "out.jsonl").code == 0
    assert Path("out.jsonl").read_bytes() != old
    Path("data.jsonl").write_text("{}\n")  # no run: as any other output
    assert steelyard("run", "sums.toml", *RIGHT, "-o", "data.jsonl").code == 0


def test_a_finished_run_of_two_models_is_not_written_over_either(steelyard: Command) -> None:
    assert steelyard("run", "sums.toml", *RIGHT, *HALF, "-o", "out.jsonl").code == 0
    Path("other.toml").write_text(TASK.replace('"sums"', '"other"'))
    answer = steelyard("run", "other.toml", *RIGHT, *HALF, "-o", "out.jsonl")
    assert answer.code == 3
    assert "out.baseline.jsonl" in answer.err


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------------


def test_ctrl_c_is_130_says_what_to_do_and_the_same_command_goes_on(home: Path) -> None:
    words = [sys.executable, "-m", "steelyard_old", "run", "sums.toml", "--model", "python:talk:slow", "-o", "o.jsonl"]
    first = subprocess.Popen(words, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while asked() < 20 and first.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    first.send_signal(signal.SIGINT)
    try:
        out, err = first.communicate(timeout=60)
    finally:
        first.kill()  # one that does not end must not be left behind
    assert first.returncode == 130, (out, err)
    assert "Traceback" not in err
    assert "same command" in err
    assert out == ""
    assert not (home / "o.jsonl").exists()
    before = asked()
    again = subprocess.run(words, cwd=home, capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0, again.stderr
    assert asked() == N
    assert before < N
    assert not (home / "o.jsonl.journal").exists()
    assert len(rows("o.jsonl")) == N


def test_the_same_output_twice_at_once(home: Path, steelyard: Command) -> None:
    words = [sys.executable, "-m", "steelyard_old", "run", "sums.toml", "--model", "python:talk:slow", "-o", "o.jsonl"]
    first = subprocess.Popen(words, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while asked() < 5 and first.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        second = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl")
    finally:
        first.communicate(timeout=60)
    assert second.code == 3, second
    assert "o.jsonl" in second.err
    assert first.returncode == 0
    assert len(rows("o.jsonl")) == N


# ---- suites ----------------------------------------------------------------------------------------------------------------

SUITE = """
[suite]
name = "nightly"

[[checks]]
task = "sums"
model = "m"
theta = 0.2
run = {task = "sums.toml", model = "python:talk:%s"%s}
"""


@pytest.mark.usefixtures("on_record")
@pytest.mark.parametrize(("model", "code"), [("tenth", 0), ("half", 1)])
@pytest.mark.parametrize("more", ["", ', until = "decided"', ', output = "o.jsonl"'])
def test_a_suite_that_runs(steelyard: Command, model: str, code: int, more: str) -> None:
    Path("suite.toml").write_text(SUITE % (model, more))
    for format_ in ("text", "json", "markdown", "junit", "github") if "until" in more else ("json",):
        answer = steelyard("run", "--suite", "suite.toml", "--format", format_)
        assert answer.code == code, answer.err
        assert answer.out
    if "output" in more:
        assert len(rows("o.jsonl")) == N
    checked = steelyard("check", "--suite", "suite.toml")
    assert checked.code == 3
    assert "steelyard run --suite" in checked.err


@pytest.mark.usefixtures("on_record")
def test_a_suite_that_runs_keeps_its_items_where_it_wrote_them(steelyard: Command) -> None:
    both = (SUITE + SUITE.partition("\n\n")[2]) % ("tenth", ', output = "o.jsonl"', "half", "")
    Path("suite.toml").write_text(both)
    answer = steelyard("run", "--suite", "suite.toml", "--history", "sqlite:///runs.db")
    assert answer.code == 1, answer.err
    lost, kept = sy.list_runs("sqlite:///runs.db")
    assert (lost.outcomes, kept.verdict, lost.verdict) == (None, "pass", "regression")
    with sy.open_history("sqlite:///runs.db") as history:
        items = history.items(kept.id)
    assert items == {row["id"]: float(row["score"]) for row in rows("o.jsonl")}


@pytest.mark.usefixtures("on_record")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('model = "m"', 'model = "nobody"', "nobody"),
        ('task = "sums"\n', 'task = "other"\n', "other"),
        ('model = "python:talk:tenth"', 'modle = "python:talk:tenth"', "model"),
        ("run = {task", 'result = "x.jsonl"\nrun = {task', "result"),
        ("run = {task", "value = 3\nrun = {task", "value"),
        ("run = {task", "columns = {id = 'x'}\nrun = {task", "id"),
        ('task = "sums.toml"', 'task = "none.toml"', "none.toml"),
        ("run = {task = ", "run = 3 # ", "run"),
        ("run = {task", "sigma = 3\nrun = {task", "sigma"),
    ],
)
def test_a_suite_that_cannot_be_run_asks_nothing(steelyard: Command, old: str, new: str, said: str) -> None:
    text = SUITE % ("tenth", "")
    assert old in text
    Path("suite.toml").write_text(text.replace(old, new))
    refused(steelyard("run", "--suite", "suite.toml"), said)


@pytest.mark.usefixtures("on_record")
def test_a_missing_reference_in_the_second_check_is_told_before_the_first_is_run(steelyard: Command) -> None:
    Path("suite.toml").write_text(
        SUITE % ("tenth", "") + '[[checks]]\ntask = "sums"\nmodel = "nobody"\nrun = {task = "sums.toml", model = "python:talk:half"}\n'
    )
    refused(steelyard("run", "--suite", "suite.toml"), "nobody")


@pytest.mark.usefixtures("on_record")
def test_options_of_one_run_beside_a_suite_are_refused_not_ignored(steelyard: Command) -> None:
    Path("suite.toml").write_text(SUITE % ("tenth", ""))
    for words in (("--theta", ".5"), ("-o", "out.jsonl"), ("--every", "5"), ("--n", "5"), ("--missing", "drop")):
        refused(steelyard("run", "--suite", "suite.toml", *words), words[0])


@pytest.mark.usefixtures("on_record")
def test_paths_of_a_suite_are_beside_it(steelyard: Command, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("suite.toml").write_text((SUITE % ("tenth", ', output = "o.jsonl"')).replace("[suite]", '[suite]\ndirectory = "references"'))
    (home / "elsewhere").mkdir()
    monkeypatch.syspath_prepend(str(home))
    monkeypatch.chdir(home / "elsewhere")
    answer = steelyard("run", "--suite", "../suite.toml")
    assert answer.code == 0, answer.err
    assert (home / "o.jsonl").exists()


def test_progress_says_no_score(steelyard: Command) -> None:
    """No running score unless it is anytime-valid."""
    answer = steelyard("run", "sums.toml", *RIGHT, "-o", "o.jsonl")
    assert answer.code == 0
    assert not re.search(r"accuracy|score", answer.err)


@pytest.mark.long
def test_sigterm_leaves_in_order_and_the_same_command_goes_on(home: Path) -> None:
    words = [sys.executable, "-m", "steelyard_old", "run", "sums.toml", "--model", "python:talk:slow", "-o", "o.jsonl"]
    first = subprocess.Popen(words, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while asked() < 20 and first.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        first.send_signal(signal.SIGTERM)
        out, err = first.communicate(timeout=60)
    finally:
        first.kill()
    assert first.returncode == 143, (out, err)
    assert "Traceback" not in err
    again = subprocess.run(words, cwd=home, capture_output=True, text=True, timeout=60, check=False)
    assert again.returncode == 0, again.stderr
    assert asked() == N
