"""A board gives for every pair what a comparison of the two gives, however the pairs were matched, and matches each run once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.estimate import board as boards
from steelyard.estimate import opening
from steelyard.results.comparison import Comparison, Leaderboard
from steelyard.tally import pairs as matching

ITEMS = 150
Run = dict[str, Any]


def runs(kind: str, systems: int = 4, items: int = ITEMS) -> list[Run]:
    """Runs of the same items, each in an order of its own; the last two of them answer alike."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, items)
    out: list[Run] = []
    for system in range(systems - 1):
        right = rng.random(items) < 0.5 + 0.1 * system
        said = np.where(right, truth, (truth + rng.integers(1, 3, items)) % 3)
        order = rng.permutation(items)
        run: Run = {"id": [f"item {i}" for i in order], "task": [f"task {i % 4}" for i in order]}
        if kind in ("scores", "no ids"):
            run["score"] = right.astype(float)[order].tolist()
        elif kind == "means":
            run["score"] = np.round(right * 0.7 + 0.3 * rng.random(items), 2)[order].tolist()
        else:
            run |= {"truth": [f"L{t}" for t in truth[order]], "prediction": [f"L{p}" for p in said[order]]}
        if kind == "groups":
            run["group"] = [f"group {i % 30}" for i in order]
        out.append(run)
    out.append(out[-1])
    if kind == "no ids":
        return [{"score": run["score"]} for run in out]
    return out


def alone(pair: Comparison, given: Sequence[Run], names: list[str], asked: dict[str, Any]) -> Comparison:
    """The comparison of the two by itself, worded as one of many, without the list of items that a board does not have."""
    first, second = (given[names.index(side.name)] for side in (pair.baseline, pair.candidate))
    found = sy.compare(first, second, names=[pair.baseline.name, pair.candidate.name], **asked)
    details = replace(found.details, p_adjusted=pair.details.p_adjusted)
    return replace(found, changed_items=(), conclusion=pair.conclusion, details=details)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("scores", {}),
    ("scores", {"metric": "error", "margin": 0.1}),
    ("scores", {"metric": "mean"}),
    ("scores", {"interval": "newcombe", "test": "mcnemar-exact", "confidence_level": 0.9}),
    ("scores", {"interval": "tango", "side": "lower", "prior_scale": 0.1}),
    ("scores", {"interval": "wald", "test": "mcnemar"}),
    ("scores", {"interval": "bca", "draws": 200}),
    ("scores", {"range": (0, 2), "metric": "mean"}),
    ("no ids", {}),
    ("labels", {}),
    ("labels", {"metric": "error"}),
    ("labels", {"labels": ["L2", "L1", "L0", "L9"]}),
    ("labels", {"metric": "macro_f1", "draws": 200}),
    ("means", {"draws": 200}),
    ("groups", {"draws": 200}),
]


@pytest.mark.parametrize(("kind", "asked"), CASES, ids=[f"{kind}-{'-'.join(map(str, asked.values()))}" for kind, asked in CASES])
def test_every_pair_of_a_board_is_the_comparison_of_the_two_to_the_last_digit(kind: str, asked: dict[str, Any]) -> None:
    given = runs(kind)
    names = [f"system {i}" for i in range(len(given))]
    found = sy.rank(*given, names=names, **asked)
    assert len(found.pairs) == 6
    for pair in found.pairs:
        assert pair.to_dict() == alone(pair, given, names, asked).to_dict()


def one_by_one(monkeypatch: pytest.MonkeyPatch, *given: Run, **asked: Any) -> Leaderboard:
    """The board with every pair matched and compared by itself."""
    with monkeypatch.context() as patch:
        patch.setattr(boards, "aligned_runs", lambda *_: None)
        return sy.rank(*given, **asked)


@pytest.mark.parametrize(("kind", "asked"), [*CASES[::3], ("labels", {"by": "task"}), ("scores", {"by": "task"})])
def test_a_board_matched_at_once_is_the_board_matched_pair_by_pair(
    kind: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = runs(kind)
    assert sy.rank(*given, **asked).to_dict() == one_by_one(monkeypatch, *given, **asked).to_dict()


def missing_one(run: Run, column: str, place: int) -> Run:
    return {**run, column: [None if i == place else value for i, value in enumerate(run[column])]}


@pytest.mark.parametrize("missing", ["wrong", "drop"])
@pytest.mark.parametrize(("kind", "column"), [("scores", "score"), ("labels", "prediction")])
def test_missing_answers_are_settled_as_in_each_pair(kind: str, column: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = runs(kind, systems=4)
    given[1], given[2] = missing_one(given[1], column, 3), missing_one(given[2], column, 8)
    found = sy.rank(*given, missing=missing)
    assert any("(missing=" in sentence for sentence in found.warnings)
    assert found.to_dict() == one_by_one(monkeypatch, *given, missing=missing).to_dict()


def cut(run: Run, rows: int) -> Run:
    return {name: column[:rows] for name, column in run.items()}


def doubled(run: Run) -> Run:
    return {name: [*column, column[0]] for name, column in run.items()}


def other_truth(run: Run) -> Run:
    return {**run, "truth": ["L0" if truth == "L1" else truth for truth in run["truth"]]}


def other_task(run: Run) -> Run:
    return {**run, "task": [*run["task"][1:], run["task"][0]]}


@pytest.mark.parametrize(
    ("spoil", "asked"),
    [
        (lambda run: cut(run, 100), {}),
        (lambda run: cut(run, 100), {"unmatched": "drop"}),
        (doubled, {}),
        (other_truth, {}),
        (other_task, {"by": "task"}),
        (lambda run: missing_one(run, "prediction", 5), {}),
        (lambda run: missing_one(run, "truth", 5), {"missing": "wrong"}),
        (lambda run: {name: column for name, column in run.items() if name != "id"}, {}),
        (lambda run: {**run, "id": [text.upper() for text in run["id"]]}, {}),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
def test_runs_that_do_not_fit_together_are_answered_as_pair_by_pair(
    spoil: Any, asked: dict[str, Any], place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = runs("labels", systems=4)
    given[place] = spoil(given[place])

    def outcome(board: Any) -> Any:
        try:
            return board().to_dict()
        except sy.errors.SteelyardError as fault:
            return type(fault), str(fault)

    assert outcome(lambda: sy.rank(*given, **asked)) == outcome(lambda: one_by_one(monkeypatch, *given, **asked))


@pytest.mark.parametrize("kind", ["scores", "labels", "means", "groups"])
def test_each_run_is_put_in_order_once_however_many_pairs_there_are(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    real = matching.take

    def counted(items: Any, rows: Any) -> Any:
        taken.append(len(rows))
        return real(items, rows)

    def refused(*_: Any) -> Any:
        raise AssertionError("a pair was matched by itself")

    monkeypatch.setattr(matching, "take", counted)
    monkeypatch.setattr(opening, "match", refused)
    sy.rank(*runs(kind, systems=8), draws=100)
    assert taken == [ITEMS] * 8


def test_flips_of_all_pairs_are_those_of_each() -> None:
    from steelyard.estimate.board_flips import all_flips

    right = (np.random.default_rng(0).random((7, 90)) < 0.6).astype(float)
    found = all_flips(right)
    assert list(found) == list(itertools.combinations(range(7), 2))
    for (i, j), flips in found.items():
        a, b = right[i] > 0, right[j] > 0
        assert tuple(flips) == ((a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum())
