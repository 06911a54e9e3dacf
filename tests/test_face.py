"""The face: what a verb declares is what the command takes, the help says and the documentation shows; every answer fits a screen."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import steelyard as sy
from steelyard.command import MOVED, command_of, run
from steelyard.declared import declared, options, sections, sentences, verb_help
from steelyard.options import GROUPS, Rare, RareTwo
from steelyard.show import write

VERBS = {name: declared(getattr(sy, name)) for name in MOVED}


@pytest.mark.parametrize("name", VERBS)
def test_the_docstring_names_every_parameter(name: str) -> None:
    verb = VERBS[name]
    _, parts = sections(verb.function.__doc__ or "")
    said = sentences(parts["Args"])
    rare = RareTwo if name == "compare" else Rare
    assert set(said) - {"rare"} == {p.name for p in verb.parameters if p.common}
    assert (
        re.findall(r"\w+", said["rare"].partition(": described")[0])
        == list(rare.__annotations__)
        == [key for group in GROUPS if group.__annotations__.keys() <= rare.__annotations__.keys() for key in group.__annotations__]
    )


def test_a_parameter_of_several_verbs_is_one_parameter() -> None:
    seen: dict[str, Any] = {}
    for verb in VERBS.values():
        for p in verb.parameters:
            first = seen.setdefault(p.name, p)
            assert p.position or p[2:6] == first[2:6] or p.name == "score", p.name  # measure takes several


@pytest.mark.parametrize("name", VERBS)
def test_help_has_at_most_18_options_and_100_columns(name: str) -> None:
    short, whole = (verb_help(name, VERBS[name], everything) for everything in (False, True))
    assert len(re.findall(r"^  (?:-\w, )?--", short, re.MULTILINE)) <= 18
    assert len(VERBS[name].examples) >= 3
    assert all(len(line) <= 100 for line in (short + whole).splitlines())


@pytest.mark.parametrize(("name", "example"), [(name, example) for name, verb in VERBS.items() for example in verb.examples])
def test_every_example_is_understood(name: str, example: str) -> None:
    words = shlex.split(example)
    assert words[:2] == ["steelyard", name]
    command = command_of(name, VERBS[name])
    context = command.make_context(name, words[2:])
    assert {p.name for p in options(VERBS[name])} == set(context.params)


def many_classes() -> Any:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(1000), 20)
    guess = np.where(rng.random(len(truth)) < 0.9, truth, rng.integers(0, 1000, len(truth)))
    return [f"class {t}" for t in truth], [f"class {p}" for p in guess]


def systems(n: int, name: str) -> dict[str, list[float]]:
    rng = np.random.default_rng(0)
    return {f"{name}{i}": (rng.random(60) < 0.3 + 0.6 * i / n).astype(float).tolist() for i in range(n)}


def notes() -> sy.Measurement:
    m = sy.measure(sy.Counts.of(3, 9))
    return type(m)(**{**{f: getattr(m, f) for f in m.__slots__}, "warnings": tuple(f"warning {i} " + "word " * 30 for i in range(10))})


WIDE = "名前の長いモデル" * 25
ANSWERS: dict[str, Callable[[], Any]] = {
    "1,000 classes": lambda: sy.measure(*many_classes()),
    "60 systems": lambda: sy.rank(systems(60, "system ")),
    "long names": lambda: sy.rank(systems(4, "x" * 200)),
    "wide letters": lambda: sy.rank(systems(4, WIDE)),
    "right to left and emoji": lambda: sy.measure(["שלום", "🎉\u202eevil"] * 20, ["שלום", "שלום"] * 20),
    "ten warnings": notes,
    "changed items": lambda: sy.compare({"id": range(200), "score": [1, 0] * 100}, {"id": range(200), "score": [0, 1] * 100}),
    "runs": lambda: sy.compare(
        *({"id": [i // 3 for i in range(24)], "repeat": [0, 1, 2] * 8, "score": s} for s in ([1, 0, 0] * 8, [1, 1, 0] * 8))
    ),
    "counts": lambda: sy.measure(sy.Counts.binary(tp=31, fp=5, fn=2)),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_every_answer_fits_on_a_screen(what: str) -> None:
    from steelyard.show.text import width

    answer = ANSWERS[what]()
    lines = write(answer, "text").splitlines()
    assert len(lines) <= 24
    assert max(map(width, lines)) <= 100
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", "".join(lines))
    assert len(write(answer, "text", details=True)) >= len("\n".join(lines))
    assert "<script>alert" not in write(answer, "html")
    assert type(answer).from_dict(answer.to_dict()) == answer
    assert "NaN" not in write(answer, "json")


def test_labels_are_escaped_everywhere() -> None:
    evil = "<script>alert(1)</script>|`=cmd"
    m = sy.measure([evil, "b"] * 20, [evil, evil] * 20)
    assert "<script>alert" not in write(m, "html") + write(m, "fragment")
    assert "\\<script\\>" in write(m, "markdown")


def test_an_answer_is_one_line_in_a_list_and_a_page_in_a_notebook() -> None:
    m = sy.measure(sy.Counts.of(85, 100))
    assert repr(m) == "<Measurement: counts: accuracy 0.850 [0.767, 0.907] (100 items)>"
    assert str(m).splitlines()[0] == "100 items"
    assert "<table" in m._repr_html_()


def test_the_command_answers_writes_and_exits(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,truth,prediction\n" + "".join(f"{i},x,{'xy'[i % 2]}\n" for i in range(60)))
    Path("b.csv").write_text("id,truth,prediction\n" + "".join(f"{i},x,x\n" for i in range(60)))
    files = "-o page.html -o answer.json -o changed.csv -o changed.parquet"
    assert run(f"compare b.csv a.csv --fail-on worse {files}".split()) == 1
    assert capsys.readouterr().out.startswith("a is worse: accuracy -0.500")
    assert Path("page.html").read_text().startswith("<!doctype html>")
    assert '"kind": "comparison"' in Path("answer.json").read_text()
    changed = list(csv.DictReader(Path("changed.csv").read_text().splitlines()))
    assert len(changed) == 30
    typed = pq.read_table("changed.parquet").to_pylist()
    assert [{name: "" if value is None else str(value) for name, value in row.items()} for row in typed] == changed
    assert run(["compare", "a.csv", "a.csv", "-o", "none.parquet"]) == 0
    assert pq.read_table("none.parquet").num_rows == 0
    assert run(["compare", "a.csv", "b.csv"]) == 0
    Path("steelyard.toml").write_text("confidence_level = 0.9\n[measure]\nmetric = 'error'\n")
    assert run(["measure", "a.csv", "--format", "json"]) == 0
    assert '"confidence_level": 0.9' in (out := capsys.readouterr().out)
    assert '"metric": "error"' in out
