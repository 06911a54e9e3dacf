"""What is told of a run: rows that measure can read, and counts of what is not an answer."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard_old as sy
from cases import every
from steelyard_old.errors import DataError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask, Case
from steelyard_old.evaluate.asking.summary import OUTCOMES, AnswerSummary, Price, jsonable, outcome_of, percentile, row_of
from steelyard_old.evaluate.task.task import Task, task_of


def task(scorer: str = "number") -> Task:
    return task_of({"task": {"name": "t", "data": "d", "input": "{q}", "truth": "a", "scorer": scorer}}, where=Path("t.toml"))


def told(
    answer: Answer, *, scorer: str = "number", truth: Any = "42", name: str = "1", group: str | None = None, repeat: int = 1
) -> dict[str, Any]:
    case = Case(id=name, input="q", truth=truth, row={}, group=group)
    scored = None if answer.error is not None else task(scorer).scoring.score(answer.said, case)
    return row_of(Ask(case=case, repeat=repeat), answer, scored, task(scorer))


def test_a_row() -> None:
    answer = Answer(said="It is 42.0.", finish="stop", tokens_in=3, tokens_out=5, seconds=0.25, attempts=2)
    row = told(answer, group="g")
    assert list(row.items()) == [
        ("id", "1"), ("repeat", 1), ("truth", "42"), ("prediction", "42"), ("score", 1.0), ("error", None), ("group", "g"),
        ("said", "It is 42.0."), ("finish", "stop"), ("outcome", "answered"), ("tokens_in", 3), ("tokens_out", 5), ("seconds", 0.25),
        ("attempts", 2),
    ]  # fmt: skip


def test_an_error_is_no_wrong_answer() -> None:
    row = told(Answer(error="timeout after 60 s", attempts=6))
    assert (row["truth"], row["prediction"], row["score"], row["error"], row["outcome"]) == (
        "42",
        None,
        None,
        "timeout after 60 s",
        "error",
    )
    with pytest.raises(UsageError, match="an error and a score"):
        row_of(Ask(case=Case(id="1", input="", truth="1", row={})), Answer(said="1"), None, task())


@every(
    ("answer", "want"),
    [
        (Answer(said="42"), "answered"), (Answer(said="41"), "answered"), (Answer(said="no idea"), "unextracted"),
        (Answer(said=" "), "empty"),
        (Answer(said=None), "empty"), (Answer(said="4", finish="length"), "truncated"), (Answer(said="", finish="length"), "truncated"),
        (Answer(said="", refusal="I cannot"), "refused"), (Answer(said="", finish="content_filter"), "refused"),
        (Answer(error="x"), "error"),
    ],
)  # fmt: skip
def test_outcomes(answer: Answer, want: str) -> None:
    assert told(answer)["outcome"] == want
    assert want in OUTCOMES
    assert outcome_of(Answer(said="x"), None) == "answered"


def test_word_errors_have_their_sums() -> None:
    row = told(Answer(said="the cat sat"), scorer="wer", truth="a cat sat down")
    assert (row["score"], row["word_errors"], row["words"]) == (0.5, 2.0, 4.0)
    assert told(Answer(error="x"), scorer="wer", truth="a")["words"] is None


def test_counts() -> None:
    answers = [
        Answer(said="42", tokens_in=10, tokens_out=100, seconds=1.0), Answer(said="none", tokens_in=10, tokens_out=100, seconds=2.0),
        Answer(said="", tokens_in=10, tokens_out=0, seconds=3.0),
        Answer(said="4", finish="length", tokens_in=10, tokens_out=200, seconds=4.0),
        Answer(error="HTTP 500", attempts=6), Answer(said="", refusal="no", tokens_in=10, tokens_out=1, seconds=5.0),
    ]  # fmt: skip
    rows = [told(answer, name=str(i)) for i, answer in enumerate(answers)]
    found = AnswerSummary.of(rows, Price.of({"input": 1, "output": 2}))
    assert (found.n, found.answered, found.unextracted, found.truncated, found.empty, found.refused, found.errors) == (6, 1, 1, 1, 1, 1, 1)
    assert (found.tokens_in, found.tokens_out, found.untold, found.attempts) == (50, 401, 0, 11)
    assert found.cost == pytest.approx((50 * 1 + 401 * 2) / 1e6)
    assert found.seconds == {"p50": 3.0, "p90": 5.0, "p99": 5.0}
    assert json.loads(json.dumps(found.to_dict()))["n"] == 6


def test_what_is_not_known_is_not_made_up() -> None:
    found = AnswerSummary.of(
        [told(Answer(said="42")), told(Answer(said="42", tokens_in=1, tokens_out=1), name="2")], Price(input=1, output=1)
    )
    assert (found.cost, found.untold, found.tokens_in, found.seconds) == (None, 1, 1, None)
    none = AnswerSummary.of([])
    assert (none.n, none.tokens_in, none.seconds) == (0, None, None)
    for table in ({"input": 1}, {"input": -1, "output": 1}, {"input": "a", "output": 1}, {"in": 1, "out": 1}):
        with pytest.raises(UsageError, match="price"):
            Price.of(table)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.sampled_from([50, 90, 99]))
def test_percentile_by_its_definition(values: list[float], share: int) -> None:
    found = percentile(sorted(values), share)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= share * len(values)
    assert sum(value < found for value in values) * 100 < share * len(values)
    assert percentile(sorted(values), 50) == statistics.median_low(values)


def test_anything_can_be_written() -> None:
    import numpy as np

    assert json.dumps(jsonable({1: np.array([1.5, np.nan]), "o": object})).startswith('{"1": [1.5, "nan"]')


SAID = ["42", "41", "43", "42", "none", ""]


def measured(rows: list[dict[str, Any]], tmp_path: Path, **options: Any) -> sy.Measurement:
    path = tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return sy.measure(path, **options)


@pytest.mark.parametrize("scorer", ["exact", "number", "token-f1", "contains", "rouge-l", "json-schema"])
def test_measure_reads_the_rows(scorer: str, tmp_path: Path) -> None:
    """The names of the rows are the roles that measure knows; scores and labels never disagree; answers without one are wrong."""
    rows = [told(Answer(said=said, seconds=1.0), scorer=scorer, name=str(i)) for i, said in enumerate(SAID)]
    metric = task(scorer).metric
    found = measured(rows, tmp_path, metric=metric)
    assert found[metric].estimate == pytest.approx(4 / 6 if scorer == "json-schema" else 2 / 6)
    assert not any("disagree" in warning for warning in found.warnings)


def test_measure_reads_word_errors_as_a_ratio(tmp_path: Path) -> None:
    rows = [
        told(Answer(said=said), scorer="wer", truth=truth, name=truth) for said, truth in (("the cat sat", "a cat sat down"), ("a", "a"))
    ]
    assert measured(rows, tmp_path, ratio="word_errors/words", metric="ratio")["ratio"].estimate == pytest.approx(2 / 5)


def test_measure_does_not_take_an_error_for_wrong(tmp_path: Path) -> None:
    rows = [told(Answer(said="42"), name="1"), told(Answer(said="41"), name="2"), told(Answer(error="HTTP 500"), name="3")]
    with pytest.raises(DataError, match="1 of 3 items"):
        measured(rows, tmp_path, metric="accuracy")
    assert measured(rows, tmp_path, metric="accuracy", missing="drop")["accuracy"].estimate == 0.5


def test_numbers_for_metrics_of_numbers(tmp_path: Path) -> None:
    table = {"name": "t", "data": "d", "input": ["x"], "truth": "y", "scorer": "tolerance", "metric": "mae"}
    regression = task_of({"task": table, "scorer": {"absolute": 0.1}}, where=Path("t.toml"))
    rows = []
    for i, (truth, said) in enumerate([(3.0, 3.5), (1.25, 1.0), (2.0, 2.0)]):
        case = Case(id=str(i), input=[1.0], truth=truth, row={})
        rows.append(row_of(Ask(case=case), Answer(said=said), regression.scoring.score(said, case), regression))
    assert measured(rows, tmp_path, metric="mae")["mae"].estimate == pytest.approx(0.25)
