"""Predictions from rows: found by id and repeat, missing ones errors, doubtful files refused."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.errors import AmbiguityError, DataError, UsageError
from steelyard.evaluate.asking.asks import Ask, Case
from steelyard.evaluate.models.predictions import Predictions


def ask(id_: Any, repeat: int = 1) -> Ask:
    return Ask(case=Case(id=str(id_), input="q", truth=None, row={}), repeat=repeat)


def rows(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"id": id_, "prediction": prediction} for id_, prediction in pairs]


def test_answers_by_id() -> None:
    model = Predictions(rows((1, "a"), ("2", 5), (3, None)), name="preds")
    one, two, three, four = model.ask([ask(1), ask(2), ask(3), ask(4)])
    assert (one.said, two.said) == ("a", 5)
    assert three.error == "no answer: None"
    assert four.error == "no prediction: no row with id '4'"


def test_repeats() -> None:
    model = Predictions([{"item": "x", "pred": f"{run}", "Run": run} for run in (1, 2)], name="p")
    assert [answer.said for answer in model.ask([ask("x", 2), ask("x", 1)])] == ["2", "1"]
    assert model.ask([ask("x", 3)])[0].error == "no prediction: no row with id 'x' and repeat 3"
    zero = Predictions([{"id": "x", "pred": f"{run}", "epoch": run} for run in (0, 1)], name="p")
    assert [answer.said for answer in zero.ask([ask("x", 1), ask("x", 2)])] == ["0", "1"], "counted from 0"
    single = Predictions(rows((1, "a")), name="p")
    assert single.ask([ask(1, 2)])[0].error.endswith("repeat 2"), "one answer is not two independent ones"  # type: ignore[union-attr]
    with pytest.raises(DataError, match=r"must be whole numbers.*, not .*Run = 'a'"):
        Predictions([{"id": 1, "pred": 1, "Run": "a"}], name="p")


def test_what_a_run_wrote_can_be_asked_again() -> None:
    """`said` before `prediction`: scorers extract for themselves. Errors stay errors."""
    written = [
        {"id": "1", "repeat": 1, "prediction": "4", "score": 1.0, "error": None, "said": "It is 4.", "finish": "stop", "tokens_out": 3},
        {"id": "2", "repeat": 1, "prediction": None, "score": None, "error": "HTTP 500: oops", "said": None},
    ]
    one, two = Predictions(written, name="p").ask([ask(1), ask(2)])
    assert (one.said, one.finish, one.tokens_out) == ("It is 4.", "stop", 3)
    assert two.error == "HTTP 500: oops"
    assert Predictions(written, name="p", prediction="prediction").ask([ask(1)])[0].said == "4"


def test_files_that_cannot_be_used() -> None:
    with pytest.raises(DataError, match=r"p has 2 rows too many, such as a second one for id '1'\..*`repeat`"):
        Predictions(rows((1, "a"), ("1", "b"), (1, "c")), name="p")
    with pytest.raises(DataError, match="no rows"):
        Predictions([], name="p")
    with pytest.raises(DataError, match=r"p has no column for the prediction \(said, prediction, pred, predicted,"):
        Predictions([{"id": 1, "x": 2}], name="p")
    with pytest.raises(DataError, match=r"p has no column for the id \(id, item, item_id, case_id, question_id,"):
        Predictions([{"prediction": 2}], name="p")
    with pytest.raises(DataError, match=r"A row of p has no id\."):
        Predictions(rows((None, "a")), name="p")
    with pytest.raises(AmbiguityError, match=r"Several columns of p could be the id: id, item_id\."):
        Predictions([{"id": 1, "item_id": 2, "pred": 1}], name="p")
    with pytest.raises(UsageError, match=r"No column 'nr' for the id of p; the columns are id, prediction\."):
        Predictions(rows((1, "a")), name="p", id="nr")
    assert Predictions([{"id": 1, "item_id": 2, "pred": 1}], name="p", id="item_id").ask([ask(2)])[0].said == 1


def test_another_content_is_another_model() -> None:
    one, same, other = (Predictions(rows((1, said)), name="p").identity for said in ("a", "a", "b"))
    assert one == same != other
