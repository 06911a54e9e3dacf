"""Deferred fields: computed when they are first read, and ordinary values from then on."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.estimate import paired_table
from steelyard.infer.resampling import bootstrap
from steelyard.results.base import Warnings, defer
from steelyard.results.comparison import Comparison, System

OPTIONS: dict[str, Any] = {"metric": "macro_f1", "draws": 200}


def three(seed: int = 1, n: int = 300, classes: int = 4) -> list[Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    return [truth, *(np.where(rng.random(n) < 0.8, truth, rng.integers(0, classes, n)) for _ in range(2))]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is drawn, as it is drawn: the own tables anew, and the joint posterior."""
    out: list[str] = []
    redrawn, posterior = bootstrap.Cells.redrawn, paired_table._posterior

    def own(self: Any, draws: int, rng: Any) -> Any:
        out.append("own")
        return redrawn(self, draws, rng)

    def believed(*given: Any) -> Any:
        out.append("posterior")
        return posterior(*given)

    monkeypatch.setattr(bootstrap.Cells, "redrawn", own)
    monkeypatch.setattr(paired_table, "_posterior", believed)
    return out


def test_the_test_and_its_difference_draw_nothing_else(drawn: list[str]) -> None:
    found = sy.compare(*three(), **OPTIONS)
    assert found.p_value is not None
    assert found.difference.interval is not None
    assert found.baseline.estimate is not None
    assert found.conclusion
    assert drawn == []


def test_what_is_read_is_drawn_once(drawn: list[str]) -> None:
    found = sy.compare(*three(), **OPTIONS)
    assert found.candidate.interval is found.candidate.interval is not None
    assert found.baseline.interval is not None
    assert found.warnings == found.warnings
    assert drawn == ["own", "own"]
    assert found.probability_candidate_better == found.probability_candidate_better
    assert drawn == ["own", "own", "posterior"]


def test_a_margin_and_the_chance_to_be_better_share_their_draws(drawn: list[str]) -> None:
    found = sy.compare(*three(), **OPTIONS, margin=0.05, interval="bayes")
    assert found.equivalence is not None
    assert found.probability_candidate_better is not None
    assert drawn == ["posterior"]


def test_where_a_class_is_missing_nothing_waits(drawn: list[str]) -> None:
    """A draw may then have no value, which is said at once and not when somebody looks."""
    truth, a, b = three()
    sy.compare(truth, np.where(a == 3, 0, a), b, **OPTIONS, absent="zero")
    assert drawn == ["own", "own", "posterior"]


def test_too_few_draws_are_refused_at_once() -> None:
    with pytest.raises(sy.UsageError, match="draws must be a whole number of at least"):
        sy.compare(*three(), metric="macro_f1", draws=10)


def test_a_scale_of_true_differences_needs_no_draws_of_a_posterior(drawn: list[str]) -> None:
    assert sy.compare(*three(), **OPTIONS, prior_scale=0.02).to_dict()["probability_candidate_better"] is not None
    assert drawn == ["own", "own"]


@pytest.mark.parametrize("read_before", [False, True])
def test_copies_json_and_equality_have_it_all(read_before: bool) -> None:
    found, whole = (sy.compare(*three(), **OPTIONS) for _ in range(2))
    written = json.dumps(whole.to_dict())
    if read_before:
        str(found)
    for again in (found, copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert again == whole
        assert again.baseline == whole.baseline
        assert json.dumps(again.to_dict()) == written
    assert Comparison.from_dict(json.loads(written)) == sy.compare(*three(), **OPTIONS)
    assert sy.compare(*three(), **OPTIONS).baseline["interval"] == whole.baseline.interval
    assert repr(sy.compare(*three(), **OPTIONS).baseline) == repr(whole.baseline)


def test_a_warning_of_draws_keeps_its_place_and_its_words() -> None:
    """Classes of few items are missing from some redrawn tables: which is only known when these are drawn."""
    truth = [0] * 40 + [1] * 40 + [2] * 3
    a = [0] * 35 + [1] * 45 + [2] * 3
    b = [0] * 38 + [1] * 42 + [2] * 3
    found = sy.compare(truth, a, b, metric="macro_precision", draws=400)
    told = [sentence for sentence in found.warnings if "was undefined in" in sentence]
    assert told
    assert found.warnings.index(told[0]) == 1, "after what reading the items said, before what is said of small classes"
    assert "fewer than 10 items" in found.warnings[-1]
    assert found.to_dict()["warnings"] == list(found.warnings)


def test_nothing_is_held_once_it_is_read() -> None:
    made: list[int] = []
    system = defer(System(name="a", estimate=0.5, interval=None), standard_error=lambda: made.append(1) or 0.25)  # type: ignore[func-returns-value]
    assert system.standard_error == system.standard_error == 0.25
    assert made == [1]
    assert object.__getattribute__(system, "_late") == {}


def test_a_field_that_does_not_exist_is_named_as_by_python() -> None:
    found = sy.compare(*three(), **OPTIONS)
    with pytest.raises(AttributeError, match="'Comparison' object has no attribute 'intervall'"):
        found.intervall  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="cannot assign"):
        found.probability_candidate_better = 1.0  # type: ignore[misc]


def test_an_error_of_a_deferred_field_comes_again() -> None:
    system = defer(System(name="a", estimate=0.5, interval=None), standard_error=lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            system.standard_error  # noqa: B018


def test_warnings_added_later_are_not_on_an_answer_that_is_written() -> None:
    warnings = Warnings()
    warnings.add("first")
    warnings.defer(lambda: ("second", "first"))
    snapshot = warnings.snapshot()
    warnings.add("third")
    assert tuple(snapshot) == ("first", "second")
    assert tuple(warnings) == ("first", "second", "third")
    assert not Warnings(dict.fromkeys(["a"])).waiting
