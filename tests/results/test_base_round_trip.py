"""Every kind of result goes to JSON and comes back equal: results of real small questions, those of `outside/asked.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from outside import asked
from steelyard.render.formats import FORMATS, result_json
from steelyard.results.base import CLASSES, KINDS, Plain, Result, ResultPart, json_name
from steelyard.results.catalogue import result_of

QUESTIONS = [
    name
    for name, each in asked.ASKED.items()
    if "json" in each.formats and each.program == "steelyard" and name not in ("card", "every_eval_ever")
]
LAST = ["warnings", "hints", "signature"]


@pytest.fixture(scope="session")
def results(answered: dict[str, asked.Answered]) -> dict[str, Result]:
    """The very objects that the command had, by the name of the question."""
    found = {name: answered[name].results for name in QUESTIONS}
    assert [name for name, each in found.items() if len(each) != 1] == []
    said = {"session": answered["session"].pages["json"], "doctor": answered["doctor"].said}  # of no command, and of no file
    read = {name: result_of(json.loads(text)) for name, text in said.items()}
    return {name: each for name, (each,) in found.items()} | {"measured_curve": _learning_curve()} | read


def _learning_curve() -> Result:
    """Of a learner that always says the class it saw most: the only kind that no command answers with."""

    class Most:
        def fit(self, X: Any, y: Any) -> Most:
            self.said = max(set(y), key=list(y).count)
            return self

        def predict(self, X: Any) -> list[Any]:
            return [self.said] * len(X)

    X, y = [[i] for i in range(60)], [i % 3 == 0 for i in range(60)]
    return sy.learning_curve(Most(), X, y, sizes=[5, 8, 12, 20, 30], repeats=2, workers=1)


@every("name", [*QUESTIONS, "measured_curve", "session", "doctor"])
def test_comes_back_equal(name: str, results: dict[str, Result]) -> None:
    found = results[name]
    said = json.loads(result_json(found))
    assert said == found.to_dict()
    again = type(found).from_dict(said)
    assert again == found
    assert again.to_dict() == said
    assert type(result_of(said)) is type(found)
    assert "\n" not in repr(found)
    assert len(repr(found)) < 160
    assert list(said)[:2] == ["kind", "schema"]
    if not isinstance(found, sy.Evaluation):
        last = [key for key in LAST if key in said]
        assert list(said)[len(said) - len(last) :] == last


def test_every_kind_was_tried(results: dict[str, Result]) -> None:
    assert {type(each).KIND for each in results.values()} == {*KINDS}


def test_every_class_of_a_field_is_one_of_ours(results: dict[str, Result]) -> None:
    """Nothing that is a dataclass is written by hand: the tables have forms of their own, everything else has the base."""

    def walk(value: Any) -> Iterator[type]:
        if is_dataclass(value) and not isinstance(value, type):
            yield type(value)
            for each in fields(value):
                yield from walk(getattr(value, each.name))
        elif isinstance(value, tuple | list):
            for each in value:
                yield from walk(each)

    met = {cls for each in results.values() for cls in walk(each)}
    assert {cls for cls in met if not issubclass(cls, Plain)} <= {sy.Counts, sy.JointCounts}


def test_the_shapes_of_a_comparison_are_those_of_a_verdict(results: dict[str, Any]) -> None:
    compared, judged = results["comparison_bits"], results["verdict_regression"]
    for name in ("baseline", "candidate"):
        assert isinstance(getattr(compared, name), sy.System)
    assert isinstance(judged.candidate, sy.System)
    assert isinstance(judged.reference, sy.System)
    assert all(isinstance(each.difference, sy.Difference) and isinstance(each.test, sy.Test) for each in (compared, judged))
    assert all(isinstance(each, sy.Slice) for kind in ("measurement", "comparison") for each in results[f"{kind}_labels"].slices)
    assert judged.difference.interval.confidence_level == pytest.approx(1 - 2 * judged.alpha)


@pytest.mark.parametrize(
    "read",
    [
        lambda v: (v.difference["estimate"], v.difference.estimate),
        lambda v: (v.difference["lower"], v.difference.interval.low),
        lambda v: (v.difference.get("upper"), v.difference.upper),
        lambda v: (v.candidate["value"], v.candidate.estimate),
        lambda v: ({**v.reference}["n"], v.reference.n),
        lambda v: ("commit" in v.reference, v.reference.commit is not None),
        lambda v: (v.test == "mcnemar-midp", v.test.name == "mcnemar-midp"),
        lambda v: (f"{v.test}", v.test.name),
        lambda v: (v.p_value, v.test.p_value),
        lambda v: (v.candidate == {"value": v.candidate.estimate, "n": v.n}, True),
        lambda v: (v.details["smallest_p"], v.details.smallest_p),
    ],
)
def test_what_was_a_mapping_is_still_read_as_one(read: Callable[[Any], tuple[Any, Any]], results: dict[str, Result]) -> None:
    by_key, by_name = read(results["verdict_regression"])
    assert by_key == by_name


def test_a_key_that_is_not_there_is_a_key_error(results: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        results["verdict_regression"].difference["middle"]


# ---- a new kind, in this file alone -------------------------------------------------------------------------------------


@pytest.fixture
def invented() -> Iterator[Result]:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Weight(ResultPart):
        BRIEF = True

        grams: float
        note: str | None = json_name("remark", default=None)

    @dataclass(frozen=True, slots=True, kw_only=True, repr=False)
    class Weighing(Result):
        KIND = "weighing"

        weights: tuple[Weight, ...] = ()
        heaviest: Weight | None = None
        conclusion: str = ""

    one, other = Weight(grams=1.5), Weight(grams=2.5, note="wet")
    yield Weighing(weights=(one, other), heaviest=other, conclusion="2.5 g is the heaviest.", warnings=("the scale is old",), signature="s")
    del KINDS["weighing"], CLASSES["Weighing"], CLASSES["Weight"]


def test_a_new_kind_needs_no_other_file(invented: Any) -> None:
    said = json.loads(FORMATS["json"].write(invented))
    assert said == {
        "kind": "weighing",
        "schema": 1,
        "weights": [{"grams": 1.5}, {"grams": 2.5, "remark": "wet"}],
        "heaviest": {"grams": 2.5, "remark": "wet"},
        "conclusion": "2.5 g is the heaviest.",
        "warnings": ["the scale is old"],
        "signature": "s",
    }
    assert result_of(said) == invented
    assert repr(invented) == "<Weighing: 2.5 g is the heaviest.>"
    for shown in (str(invented), invented._repr_html_()):
        assert "2.5 g is the heaviest." in shown
        assert "the scale is old" in shown


def test_samples_of_0_1_0_are_read() -> None:
    """Answers of 0.1.0: nothing of them is lost, but for what is said in more words now."""
    folder = Path(__file__).parents[1] / "samples" / "0.1.0"
    answers = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.json"))]
    ours = [said for said in answers if isinstance(said, dict) and said.get("kind") in KINDS]
    assert len(ours) > 20
    for said in ours:
        assert _lost(said, result_of(said).to_dict()) == []


def _lost(old: Any, new: Any, path: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        gone = [f"{path}.{key}" for key in old if key not in new and old[key] is not None]
        return gone + [each for key in old if key in new for each in _lost(old[key], new[key], f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [each for i, (a, b) in enumerate(zip(old, new, strict=True)) for each in _lost(a, b, f"{path}[{i}]")]
    return [] if old == new else [f"{path}: {old!r} is {new!r}"]


def test_a_part_is_shown_in_one_line() -> None:
    part = sy.JudgedSlice(by="topic", value="history", n=40, reference=0.9, candidate=0.8)
    assert repr(part).startswith("JudgedSlice(by='topic', value='history', n=40, reference=0.9, candidate=0.8")
    assert len(repr(part)) <= 120
    assert repr(sy.Waiver(reason="new tokenizer", until="2027-01-01")) == "Waiver(reason='new tokenizer', until='2027-01-01')"


def test_the_interval_of_a_plan_is_a_part_or_the_name_of_a_method() -> None:
    ends = {"low": 900, "high": None, "confidence_level": 0.95, "method": "delta"}
    for interval, kind in ((ends, sy.SizeInterval), ("wilson", str), (None, type(None))):
        for details in (sy.PlanDetails(interval=interval), sy.PlanDetails.from_dict({"interval": interval})):
            assert isinstance(details.interval, kind)
            assert details.to_dict() == {"interval": interval}
