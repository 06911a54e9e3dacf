"""Tasks: read whole, checked whole, and cases that leave nothing to fail later."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import every
from steelyard.errors import AmbiguityError, DataError, SteelyardError, UsageError
from steelyard.evaluate.task.task import Task, task_of

WHERE = Path("tasks/t.toml")
BASE = {"name": "t", "data": "d.jsonl", "input": "Q: {question}\nA:", "truth": "answer", "scorer": "exact"}
ROWS = [{"id": i, "question": f"q{i}", "answer": f"a{i}", "kind": "xy"[i % 2]} for i in range(6)]


def task(scorer: dict[str, Any] | None = None, sampling: dict[str, Any] | None = None, **keys: Any) -> Task:
    table = {key: value for key, value in {**BASE, **keys}.items() if value is not None}
    return task_of({"task": table, "scorer": scorer or {}, "sampling": sampling or {}}, where=WHERE)


def test_the_task_of_the_contract() -> None:
    text = """
        [task]
        name = "gsm8k"
        data = "test.jsonl"
        id = "id"
        input = "Q: {question}\\nA:"
        truth = "answer"
        scorer = "number"
        metric = "accuracy"
        n = 500
        system = "Think."
        protocol.revision = "v1"
    """
    found = task_of(tomllib.loads(text), where=WHERE)
    assert (found.name, found.data, found.metric, found.n, found.seed, found.range) == (
        "gsm8k",
        "test.jsonl",
        "accuracy",
        500,
        0,
        (0.0, 1.0),
    )
    (case,) = found.cases([{"id": 7, "question": "6 x 7?", "answer": "#### 42"}])
    assert (case.id, case.truth, case.group) == ("7", "#### 42", None)
    assert case.messages == ({"role": "system", "content": "Think."}, {"role": "user", "content": "Q: 6 x 7?\nA:"})
    assert case.input == "Think.\n\nQ: 6 x 7?\nA:"
    assert found.protocol["revision"] == "v1"
    assert found.scoring.score("It is 42.", case).score == 1


@every(
    ("table", "words"),
    [
        ({"task": {**BASE, "inptu": "x"}}, "Did you mean 'input'"),
        ({"taks": BASE}, "Did you mean 'task'"),
        (BASE, r"write \[task\] above them"),
        ({"task": {**BASE, "scorer": "exacty"}}, "Did you mean 'exact'"),
        ({"task": BASE, "scorer": {"ignorecase": True}}, "Did you mean 'ignore_case'"),
        ({"task": BASE, "sampling": {"temprature": 0}}, "Did you mean 'temperature'"),
        ({"task": {**BASE, "n": 0}}, "a whole number of at least 1, not 0"),
        ({"task": {**BASE, "n": True}}, "at least 1, not True"),
        ({"task": {**BASE, "seed": 1.5}}, "seed of the task must be a whole number, not 1.5"),
        ({"task": {**BASE, "range": [1, 0]}}, "range"),
        ({"task": {**BASE, "metric": "acuracy"}}, "Did you mean accuracy"),
        ({"task": {**BASE, "name": "../x"}}, "name of the task"),
        ({"task": {**BASE, "name": ".x"}}, "name of the task"),
        ({"task": {**BASE, "name": "a/b"}}, "name of the task"),
        ({"task": {key: value for key, value in BASE.items() if key != "name"}}, "no name"),
        ({"task": {**BASE, "data": ""}}, "no data"),
        ({"task": {**BASE, "input": "{a.b!r}"}}, "input"),
        ({"task": {**BASE, "input": 3}}, "input"),
        ({"task": {**BASE, "truth": "{a"}}, "truth"),
        ({"task": {**BASE, "system": "{"}}, "system"),
        ({"task": {**BASE, "whole_groups": True}}, r"whole_groups needs a column of groups\."),
        ({"task": {**BASE, "whole_groups": True, "group": "g", "strata": "s"}}, r"Give strata or whole_groups, not both\."),
        ({"task": {**BASE, "protocol": {"prompt": "mine"}}}, "filled in by the task itself"),
        ({"task": {**BASE, "protocol": {"a": 1}}, "protocol": {"b": 2}}, r"\[protocol\] and \[task.protocol\]"),
        ({"task": BASE, "sampling": {"temperature": -1}}, "temperature of .* must be .*, not -1"),
        ({"task": BASE, "sampling": {"max_tokens": 0}}, "max_tokens of .* must be .*, not 0"),
        ({"task": BASE, "sampling": {"extra": {"model": "x"}}}, "the key 'model'"),
        ({"task": {**BASE, "shots": 5}}, "shots must be"),
        ({"task": {**BASE, "shots": {"data": "d.jsonl", "n": 5}}}, "its own example"),
        ({"task": {**BASE, "shots": {"data": "x.jsonl"}}}, "shots.n must be a whole number of at least 1, not 0"),
        ({"task": {**BASE, "shots": {"n": 2}}}, "no data"),
        ({"task": {**BASE, "input": ["a"], "shots": [{}]}}, r"shots needs an input that is a template of text\."),
        ({"task": {**BASE, "input": ["a"], "system": "x"}}, r"system needs an input that is a template of text\."),
        ({"task": {**BASE, "scorer": "token-f1", "metric": "accuracy"}}, "right or wrong"),
        ({"task": {**BASE, "scorer": "wer", "metric": "mean"}}, "word_errors"),
        ({"task": {**BASE, "metric": "ratio"}}, "one score per item"),
        ({"task": 3}, r"must be a table"),
    ],
)
def test_refused_before_anything_runs(table: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        task_of(table, where=WHERE)


def test_a_task_is_shown_in_one_line() -> None:
    table = {"name": "sums", "data": "sums.csv", "input": "{a} + {b} =", "truth": "sum", "scorer": "number", "n": 1319}
    assert repr(task_of({"task": table}, where=WHERE)) == "<Task: sums, sums.csv, 1,319 items, number, accuracy>"
    assert len(repr(task_of({"task": {**table, "name": "s" * 100, "data": [{"a": 1, "b": 2, "sum": 3}] * 50}}, where=WHERE))) <= 120


def test_metrics_and_ranges_that_go_without_saying() -> None:
    def told(scorer: str) -> tuple[str, Any]:
        found = task_of({"task": {**BASE, "scorer": scorer}}, where=WHERE)
        return found.metric, found.range

    assert told("exact") == ("accuracy", (0.0, 1.0))
    assert told("rouge-l") == ("mean", (0.0, 1.0))
    assert told("wer") == ("ratio", None)


# ---- rows ------------------------------------------------------------------------------------------------------------


@every(
    ("keys", "rows", "kind", "words"),
    [
        ({"input": "{qestion}"}, ROWS, UsageError, "Did you mean 'question'"),
        ({"truth": "anwser"}, ROWS, UsageError, "Did you mean 'answer'"),
        ({"group": "grp"}, ROWS, UsageError, "No column 'grp' for group; the columns are 'id', 'question', 'answer',"),
        ({"strata": "knd"}, ROWS, UsageError, "Did you mean 'kind'"),
        ({"id": "nr"}, ROWS, UsageError, "No column 'nr' for id; the columns are 'id', 'question', 'answer',"),
        ({"system": "{who}"}, ROWS, UsageError, "No column 'who' for system; the columns are 'id', 'question', 'answer',"),
        (
            {},
            [*ROWS, {"id": 9, "question": None, "answer": "a"}],
            DataError,
            r"1 of 7 rows have no 'question', the input, such as item '9'\.",
        ),
        (
            {},
            [*ROWS, {"id": 9, "answer": "a"}, {"id": 10, "answer": "a"}],
            DataError,
            r"2 of 8 rows have no 'question', the input, such as item '9'\.",
        ),
        (
            {},
            [*ROWS, {"id": 9, "question": "q", "answer": float("nan")}],
            DataError,
            r"1 of 7 rows have no 'answer', the truth, such as item '9'\.",
        ),
        ({}, [*ROWS, ROWS[0], ROWS[0]], DataError, r"Duplicate ids: 2 of 8 rows repeat an earlier 'id', such as '0'\."),
        ({}, [{**ROWS[0], "id": 1}, {**ROWS[0], "id": "1"}], DataError, "such as '1'"),
        ({}, [{**ROWS[0], "id": None}], DataError, r"1 of 1 rows have no 'id', such as row 1\."),
        ({}, [{"question": "q", "answer": "a"}], UsageError, 'id = "column"'),
        ({}, [{**ROWS[0], "Item": 1}], AmbiguityError, r"2 columns could be the id: 'id', 'Item'\."),
        ({"truth": None}, ROWS, UsageError, 'truth = "column"'),
        ({"truth": None}, [{**ROWS[0], "gold": 1, "label": 2}], AmbiguityError, r"2 columns could be the truth: 'gold', 'label'\."),
        ({}, [], DataError, "no rows"),
        ({"truth": "{answer}"}, [{**ROWS[0], "answer": " "}], DataError, "truth of item '0'"),
    ],
)
def test_rows_that_do_not_fit(keys: dict[str, Any], rows: list[Any], kind: type[SteelyardError], words: str) -> None:
    with pytest.raises(kind, match=words):
        task(**keys).cases(rows)


def test_ids_truths_and_groups_by_name() -> None:
    (case,) = task(truth=None, group="g").cases([{"Question_ID": 1.0, "question": "q", "Gold": 3, "g": 2}])
    assert (case.id, case.truth, case.group) == ("1", 3, "2")
    (case,) = task(truth="{a} and {b}").cases([{"id": 1, "question": "q", "a": "x", "b": 2}])
    assert case.truth == "x and 2"


def test_a_whole_row_does_not_give_its_truth_away() -> None:
    (case,) = task(input=None, truth=None).cases([{"id": 1, "label": "x", "size": 3}])
    assert (case.input, case.messages) == ({"size": 3}, None)
    no_truth = task_of({"task": {"name": "t", "data": "d", "scorer": "json-schema"}}, where=WHERE)
    assert no_truth.cases([{"id": 1, "label": "x", "s": 3}])[0].input == {"s": 3}


def test_features_in_natural_order() -> None:
    row = {"id": 1, "label": 3, "p_10": 10, "p_9": np.float32(9), "p_1": True, "q": 0.5}
    (case,) = task(input=["p_*", "q"], truth="label").cases([row])
    assert case.input == [1.0, 9.0, 10.0, 0.5]
    (case,) = task(input=["*"], truth="label").cases([row])
    assert len(case.input) == 4, "a pattern never takes id or truth"
    for bad in ("x", None, float("inf")):
        with pytest.raises(DataError, match="'q' of item '1'"):
            task(input=["q"], truth="label").cases([{**row, "q": bad}])
    with pytest.raises(UsageError, match=r"No column matches the feature 'z_\*'; the columns are 'id', 'label',"):
        task(input=["z_*"], truth="label").cases([row])
    with pytest.raises(UsageError, match=r"'label' is the id or the truth, so it cannot be a feature of input\."):
        task(input=["q", "label"], truth="label").cases([row])
    with pytest.raises(UsageError, match="No column 'r' for input; the columns are 'id', 'label', 'p_10', 'p_9',"):
        task(input=["r"], truth="label").cases([row])


# ---- examples --------------------------------------------------------------------------------------------------------


def test_shots_written_into_the_task() -> None:
    shots = [{"question": "1+1", "answer": 2}, {"question": "2+2", "answer": "4"}]
    case = task(shots=shots, system="S").cases(ROWS)[0]
    assert case.messages is not None
    assert [(m["role"], m["content"]) for m in case.messages] == [
        ("system", "S"), ("user", "Q: 1+1\nA:"), ("assistant", "2"), ("user", "Q: 2+2\nA:"), ("assistant", "4"), ("user", "Q: q0\nA:"),
    ]  # fmt: skip
    assert case.input == "S\n\nQ: 1+1\nA: 2\n\nQ: 2+2\nA: 4\n\nQ: q0\nA:"
    with pytest.raises(DataError, match=r"Example 1 has no 'question'\."):
        task(shots=[{"answer": 1}]).cases(ROWS)
    with pytest.raises(DataError, match=r"Example 1 has no 'answer'\."):
        task(shots=[{"question": "x"}]).cases(ROWS)


def test_shots_from_other_data_know_no_file_order() -> None:
    pool = [{"question": f"p{i}", "answer": i} for i in range(20)]
    found = task(shots={"data": "train.jsonl", "n": 3, "seed": 1})
    assert found.shots_data == "train.jsonl"
    one = found.cases(ROWS, shot_rows=pool)[0].input
    assert one == found.cases(ROWS, shot_rows=pool[::-1])[0].input
    assert one.count("Q: p") == 3
    assert one != task(shots={"data": "train.jsonl", "n": 3, "seed": 2}).cases(ROWS, shot_rows=pool)[0].input
    with pytest.raises(DataError, match=r"shots needs at least 3 examples; there are 2\."):
        found.cases(ROWS, shot_rows=pool[:2])


def test_an_item_is_never_its_own_example() -> None:
    with pytest.raises(DataError, match=r"Item '2' is also one of the examples"):
        task(shots=[{"question": " q2", "answer": "x"}]).cases(ROWS)


# ---- order and protocol ------------------------------------------------------------------------------------------------


def test_ordered() -> None:
    found = task(n=4, seed=3)
    cases = found.cases(ROWS)
    assert len(found.ordered(cases)) == 4
    assert task(n=2, seed=3).ordered(cases) == found.ordered(cases)[:2]
    halves = [case.row["kind"] for case in task(n=4, strata="kind").ordered(cases)]
    assert sorted(halves) == ["x", "x", "y", "y"]


def test_protocol_is_pinned() -> None:
    """A golden text, the prompt by sha256sum of its JSON: the same on every machine, whatever the order of tables."""
    found = task(
        sampling={"temperature": 0, "stop": ["\n"], "extra": {"guided": {"b": 1, "a": 2}}}, shots=[{"question": "q", "answer": "a"}]
    )
    assert json.dumps(found.protocol, indent=None) == json.dumps(
        {
            "metric": "accuracy",
            "prompt": "bbaa5bc2720847ab",
            "sampling.guided": '{"a":2,"b":1}',
            "sampling.stop": '["\\n"]',
            "sampling.temperature": "0",
            "scorer": "exact",
            "scorer.ignore_articles": "false",
            "scorer.ignore_case": "true",
            "scorer.ignore_punctuation": "false",
            "scorer.unicode": "true",
            "shots": "1",
        }
    )


def test_protocol_does_not_depend_on_order_or_hash_seed() -> None:
    code = (
        "from pathlib import Path; from steelyard.evaluate.task.task import task_of; import json;"
        "t={'name':'t','data':'d','input':'{a}','truth':'b','scorer':'exact','shots':[{'a':'1','b':'2'}]};"
        "print(json.dumps(task_of({'task':dict(reversed(t.items())),'sampling':{'top_p':1,'seed':2}},where=Path('x')).protocol))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    table = {"name": "t", "data": "d", "input": "{a}", "truth": "b", "scorer": "exact", "shots": [{"b": "2", "a": "1"}]}
    assert task_of({"task": table, "sampling": {"seed": 2, "top_p": 1}}, where=WHERE).protocol == json.loads(runs[0])


def test_dates_of_toml_can_stand_in_examples() -> None:
    """A date has no JSON of its own."""
    rows = tomllib.loads('shots = [{question = 2024-02-01, answer = "Thursday"}]')["shots"]
    assert "Q: 2024-02-01\nA: Thursday" in task(shots=rows).cases(ROWS)[0].input
    assert len(task(shots=rows).protocol["prompt"]) == 16


@pytest.mark.parametrize("keys", [{"input": "{question}"}, {"system": "x"}, {"shots": [{"question": "q", "answer": "a"}]}])
def test_another_prompt_is_another_protocol(keys: dict[str, Any]) -> None:
    assert task(**keys).protocol["prompt"] != task().protocol["prompt"]
    assert task(n=3, seed=9).protocol == task().protocol, "how many items are asked is not how they are asked"


# ---- classes -----------------------------------------------------------------------------------------------------------


class Sums:
    data = [{"id": i, "a": i, "b": 2 * i} for i in range(4)]  # noqa: RUF012
    input = "{a} + {b} ="
    metric = "accuracy"

    def score(self, answer: Any, row: Any) -> bool:
        return int(answer) == row["a"] + row["b"]


def test_a_class_is_a_task() -> None:
    for source in (Sums, Sums()):
        found = task_of(source, where=Path())
        assert (found.name, found.metric, found.scoring.right_or_wrong) == ("Sums", "accuracy", True)
        case = found.cases(found.data)[3]
        assert (case.input, found.scoring.score("9", case).score) == ("3 + 6 =", 1.0)


def test_classes_that_are_none() -> None:
    class Typo(Sums):
        metrics = "accuracy"

    class Both(Sums):
        scorer = "exact"

    class Wants(Sums):
        def __init__(self, path: str) -> None: ...

    class Rows(Sums):
        def data(self) -> Any:  # type: ignore[override]
            return [{"id": 1, "a": 1, "b": 2}]

    for kind, words in ((Typo, "Did you mean 'metric'"), (Both, "a method score"), (Wants, "needs no arguments")):
        with pytest.raises(UsageError, match=words):
            task_of(kind, where=Path())
    assert task_of(Rows, where=Path()).data == [{"id": 1, "a": 1, "b": 2}]
