"""Ids that are whole numbers go their own way, through a packed file too: every answer is that of the same ids as texts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.errors import SteelyardError
from steelyard.items import WholeNumbers
from steelyard.read import columns
from steelyard.reference import packed_items

N = 60


def table(**changed: Any) -> dict[str, Any]:
    """A run of right or wrong, whose ids are so far apart that they are not kept as labels of a range."""
    rng = np.random.default_rng(changed.pop("seed", 0))
    n = changed.pop("n", N)
    base: dict[str, Any] = {"id": np.arange(n) ** 2 * 10_000 - 70_000, "score": (rng.random(n) < 0.7).astype(float)}
    return {**base, **changed}


def shuffled(run: dict[str, Any], seed: int = 5) -> dict[str, Any]:
    order = np.random.default_rng(seed).permutation(len(run["id"]))
    return {name: np.asarray(column)[order] for name, column in run.items()}


def repeated(run: dict[str, Any], times: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(9)
    out = {name: np.tile(np.asarray(column), times) for name, column in run.items()}
    n = len(run["id"])
    return {**out, "repeat": np.repeat(np.arange(times), n), "score": (rng.random(times * n) < 0.6).astype(float)}


def cut(run: dict[str, Any], rows: slice) -> dict[str, Any]:
    return {name: np.asarray(column)[rows] for name, column in run.items()}


TRUTH = np.array(["ä", "b", "日本"])[np.arange(N) % 3]
LABELS: dict[str, Any] = {"truth": TRUTH, "prediction": np.where(np.arange(N) % 4 == 0, "b", TRUTH)}
OTHER_LABELS: dict[str, Any] = {"truth": TRUTH, "prediction": np.where(np.arange(N) % 5 == 0, "ä", TRUTH)}
NUMBERS: dict[str, Any] = {"truth": np.where(np.arange(N) % 7 == 0, -0.0, np.arange(N) / 4), "prediction": np.arange(N) / 4 + 0.1}
SCORES = np.random.default_rng(3).normal(size=(2, N))
SCORES[0, 0] = -0.0
GROUPS = np.array([f"g{i // 3}" for i in range(N)])
MIXED = ["x" if i == 0 else i * 100_000 for i in range(N)]
FLOATS = np.arange(N) * 100_000.5
HOLES = [None if i == 4 else "b" for i in range(N)]
CASES: dict[str, tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]] = {
    "right or wrong": ([table()], table(seed=1), {}),
    "in another order": ([shuffled(table())], shuffled(table(seed=1), 7), {}),
    "labels": ([{"id": table()["id"], **LABELS}], shuffled({"id": table()["id"], **OTHER_LABELS}), {}),
    "another truth": ([{"id": table()["id"], **LABELS}], {"id": table()["id"], **LABELS, "truth": np.roll(TRUTH, 1)}, {}),
    "macro F1": ([{"id": table()["id"], **LABELS}], {"id": table()["id"], **OTHER_LABELS}, {"metric": "macro_f1"}),
    "regression with -0.0": ([{"id": table()["id"], **NUMBERS}], {"id": table()["id"], **NUMBERS}, {"metric": "mae"}),
    "another number": (
        [{"id": table()["id"], **NUMBERS}],
        {"id": table()["id"], **NUMBERS, "truth": np.abs(NUMBERS["truth"])},
        {"metric": "mae"},
    ),
    "scores": ([table(score=SCORES[0])], shuffled(table(score=SCORES[1])), {}),
    "groups": ([table(group=GROUPS)], shuffled(table(seed=1, group=GROUPS)), {}),
    "groups that differ": ([table(group=GROUPS)], table(seed=1, group=np.roll(GROUPS, 1)), {}),
    "several runs": ([table(), shuffled(table(seed=2)), cut(table(seed=3), slice(0, 50))], table(seed=1), {}),
    "repeats": ([repeated(table())], shuffled(repeated(table(seed=1), 2)), {}),
    "items that are missing": ([table()], cut(table(seed=1), slice(5, 40)), {}),
    "items that are missing, dropped": ([table()], cut(table(seed=1), slice(5, 40)), {"unmatched": "drop"}),
    "items that are new, dropped": ([cut(table(), slice(5, 40))], table(seed=1), {"unmatched": "drop"}),
    "no id in common": ([table()], table(id=table()["id"] + 1), {}),
    "an id twice": ([table()], table(id=np.where(np.arange(N) == 1, -70_000, table()["id"])), {}),
    "an id twice on record": ([table(id=np.where(np.arange(N) == 1, -70_000, table()["id"]))], table(), {}),
    "ids as texts in the run": ([table()], table(id=[str(each) for each in table()["id"].tolist()], seed=1), {}),
    "ids as texts on record": ([table(id=[str(each) for each in table()["id"].tolist()])], table(seed=1), {}),
    "mixed ids": ([table(id=MIXED)], table(id=MIXED, seed=1), {}),
    "ids of floats": ([table(id=FLOATS)], table(id=FLOATS, seed=1), {}),
    "ids with nineteen digits": ([table(id=table()["id"] + 2**62)], table(id=table()["id"] + 2**62, seed=1), {}),
    "ids of unsigned bytes": ([table(id=np.arange(N, dtype=np.uint64) + 2**63)], table(id=np.arange(N, dtype=np.uint64) + 2**63), {}),
    "truths that are missing": ([table(truth=HOLES, prediction=["b"] * N)], table(truth=["b"] * N, prediction=["b"] * N), {}),
    "scores that are missing": ([table(score=np.where(np.arange(N) == 3, np.nan, 1.0))], table(), {"missing": "wrong"}),
    "scores that are missing in the run": ([table()], table(score=np.where(np.arange(N) == 3, np.nan, 1.0)), {"missing": "drop"}),
    "hashed": ([table(truth=TRUTH, prediction=TRUTH)], shuffled(table(seed=1, truth=TRUTH, prediction=TRUTH)), {"ids": "hashed"}),
    "one item": ([cut(table(), slice(0, 1))], cut(table(), slice(0, 1)), {}),
}
OF_RECORD = ("metric", "ids", "missing")
OF_CHECK = ("metric", "unmatched", "missing")


def answers(home: Path, runs: list[dict[str, Any]], run: dict[str, Any], options: dict[str, Any]) -> list[Any]:
    """What record and check say, or the error that they end with, and the hash of the items on record."""
    found: list[Any] = []
    asked = {key: value for key, value in options.items() if key in OF_RECORD}
    given = {key: value for key, value in options.items() if key in OF_CHECK}
    for ask in (
        lambda: sy.record(*runs, task="t", model="m", directory=home, **asked),
        lambda: sy.check(run, task="t", model="m", directory=home, **given),
        lambda: sy.check(runs[0], task="t", model="m", directory=home, **given),
    ):
        try:
            told = json.dumps(ask().to_dict(), sort_keys=True)
        except SteelyardError as error:
            told = f"{type(error).__name__}: {error}"
        told = re.sub(r"t\.items/[^\"]*\.outcomes", "OUTCOMES", told)  # named by the digest of its items' file
        found.append(re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z?", "TIME", told).replace(str(home), "HOME"))
    entry = home / "t.yaml"
    found.append([line for line in entry.read_text("utf-8").splitlines() if "items_hash" in line] if entry.exists() else None)
    return found


@every("name", CASES)
def test_every_answer_is_that_of_texts(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    told = []
    ways = [(True, 1), (False, 10**9)]
    if name in ("labels", "several runs"):
        ways += [(True, 10**9), (False, 1)]
    for whole, least in ways:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(packed_items, "MANY", least)
            patched.setattr(columns, "_DENSE", 0)
            if not whole:
                patched.setattr(WholeNumbers, "of", classmethod(lambda cls, numbers: None))
            told.append(answers(tmp_path_factory.mktemp("references"), *CASES[name]))
    assert all(each == told[0] for each in told[1:])


def test_a_changed_item_of_many_is_named(tmp_path: Path) -> None:
    n = packed_items.MANY + 5
    ids, truth = np.arange(n) + 100_000, np.arange(n) % 5
    run = {"id": ids, "truth": truth, "prediction": truth}
    sy.record(run, task="t", model="m", directory=tmp_path)
    (items,) = (tmp_path / "t.items").glob("*.items")
    assert items.read_bytes().startswith(b"steelyard-items 2 text")
    assert sy.check(run, task="t", model="m", directory=tmp_path).passed
    other = np.where(ids == 100_123, 4 - truth, truth)
    with pytest.raises(SteelyardError, match=r"^1 item has another truth or content than was recorded, such as '100123'\."):
        sy.check({**run, "truth": other}, task="t", model="m", directory=tmp_path)
