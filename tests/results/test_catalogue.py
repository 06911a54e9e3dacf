"""What `to_dict` wrote comes back as the same result, and what it did not write is refused with its reason."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import steelyard as sy
from cases import every
from render.html.page_samples import samples
from steelyard.errors import DataError
from steelyard.render.formats import result_json
from steelyard.results.base import KINDS
from steelyard.results.catalogue import result_of

NAMES = sorted(samples())


@every("name", NAMES)
def test_round_trip_through_json(name: str) -> None:
    plain = json.loads(result_json(samples()[name]))
    again = result_of(plain)
    assert type(again) is type(samples()[name])
    assert json.loads(result_json(again)) == plain


def test_every_kind_is_tried() -> None:
    kinds = {samples()[name].to_dict()["kind"] for name in NAMES}
    assert kinds | {"run", "dry_run", "learning-curve"} == set(KINDS)  # those are tried with results of real questions


@every(
    ("plain", "said"),
    [
        ([1], "a JSON list"),
        (3, "a JSON value"),
        ({}, "an object without a kind"),
        ({"kind": "pizza", "schema": 1}, "kind 'pizza'"),
        ({"kind": ["verdict"], "schema": 1}, "kind"),
        ({"kind": "verdict", "schema": 2}, "newer steelyard"),
        ({"kind": "verdict", "schema": None}, "schema None"),
        ({"kind": "verdict", "schema": 1}, "no 'verdict'"),
        ({"kind": "verdict", "schema": 1, "verdict": "splendid"}, "'splendid'"),
        ({"kind": "measurement", "schema": 1, "metrics": 5}, "The measurement is not as steelyard wrote it"),
    ],
)
def test_refused_with_its_reason(plain: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        result_of(plain)


def test_a_run_keeps_its_answer() -> None:
    run = result_of(samples()["run"].to_dict())
    assert run.verdict.verdict == "regression"
    assert run.models[0].measurement.n == 60
    assert run.exit_code == 1


def test_the_class_of_all_results_reads_any_kind() -> None:
    for name in NAMES:
        plain = samples()[name].to_dict()
        assert sy.Result.from_dict(plain) == samples()[name]
        assert type(sy.Result.from_dict(plain)) is type(samples()[name])
    with pytest.raises(DataError, match="an object without a kind"):
        sy.Result.from_dict({})


@every(
    ("name", "key", "value", "said"),
    [
        ("comparison", "warnings", [1], "1 where a text belongs"),
        ("comparison", "signature", True, "True where a text belongs"),
        ("comparison", "n", [], "where a number belongs"),
        ("comparison", "n", "<script>", "'<script>' where a number belongs"),
        ("legacy", "alpha", {}, "where a number belongs"),
    ],
)
def test_a_value_of_another_kind_is_refused_before_anything_shows_it(name: str, key: str, value: Any, said: str) -> None:
    with pytest.raises(DataError, match=re.escape(said)):
        result_of({**samples()[name].to_dict(), key: value})
