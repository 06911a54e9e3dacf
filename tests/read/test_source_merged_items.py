"""Equal items merged where they lie: the same cells as a count of the rows, and as columns, whatever they are many of."""

from __future__ import annotations

import csv
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steelyard as sy
from cases import every
from steelyard.items import Items, Labels
from steelyard.read import source as source_module
from steelyard.read.columns import merged
from steelyard.read.files import delimited
from steelyard.read.open_source import open_source
from steelyard.read.source import Source

COLUMNS = ("lang", "truth", "prediction", "score", "probability")
ROLES = ["prediction", "probability", "score", "truth"]


def rows(n: int, seed: int = 0) -> list[tuple[Any, ...]]:
    drawn = random.Random(seed)
    labels = ["b", "a", "É", "Z z", None]
    return [
        (
            drawn.choice(["en", "de", None]),
            drawn.choice(labels),
            drawn.choice(labels),
            drawn.choice([1.0, 0.5, 0.0, None]),
            drawn.randrange(4) / 4,
        )
        for _ in range(n)
    ]


def written(folder: Path, kind: str, columns: dict[str, list[Any]]) -> Path:
    path = folder / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        write.writerow(columns)
        write.writerows(["" if value is None else value for value in row] for row in zip(*columns.values(), strict=True))
    return path


@every("kind", ["csv", "parquet"])
def test_the_cells_are_a_count_of_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    items = rows(400)
    path = written(tmp_path, kind, dict(zip(COLUMNS, map(list, zip(*items, strict=True)), strict=True)))
    cells = open_source(path, columns={"by": ("lang",)}).tabulate(ROLES, "lang")
    counted = Counter((lang, prediction, probability, score, truth) for lang, truth, prediction, score, probability in items)
    assert {cell[:-1]: cell[-1] for cell in cells} == counted
    assert [cell[:-1] for cell in cells] == sorted(counted, key=lambda cell: [(value is not None, value or 0) for value in cell])


def test_spellings_of_one_number_are_one_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    path = written(tmp_path, "csv", {"score": ["1", "1.0", "true", "0", "-0.0", "1e0", None, "NaN"]})
    assert open_source(path, columns={}).tabulate(["score"]) == [(None, 2), (0.0, 2), (1.0, 4)]


def test_equal_names_of_different_codes_are_merged() -> None:
    """As a date and its text have: two values of an engine, and one label."""
    (truth,), count = merged([Labels(np.array([2, 0, -1, 1]), ("x", "a", "x"))], [5, 1, 7, 2])
    assert ([None if code < 0 else truth.names[code] for code in truth.codes], count.tolist()) == ([None, "a", "x"], [7, 2, 6])
    assert not truth.complete


def test_an_item_of_weight_0_is_left_out_wherever_it_is_counted(tmp_path: Path) -> None:
    """Its score says nothing of the range of the others, and its label is no class."""
    columns = {"score": [0.5, 1.0, 0.0, 75.0] * 5, "lang": ["a", "b", "a", "c"] * 5, "w": [1, 2, 1, 0] * 5}
    path = written(tmp_path, "parquet", columns)
    asked: dict[str, Any] = {"score": "score", "weight": "w", "by": "lang"}
    in_file, in_memory = (sy.measure(data, **asked) for data in (path, pa.table(columns).to_pandas()))
    assert in_file.rows == in_memory.rows
    assert [part.value for part in in_file.slices] == [part.value for part in in_memory.slices] == ["a", "b"]


# ---- the road of a measurement -------------------------------------------------------------------------------------------

ASKED: dict[str, dict[str, Any]] = {
    "scores": {"score": "score"},
    "slices": {"score": "score", "by": "lang"},
    "probabilities": {"truth": "truth", "probability": "score", "metric": ["auc", "brier", "log_loss"]},
}


def many(different: int) -> dict[str, list[Any]]:
    """Two items of every score, which are of different slices and truths."""
    scores = [0.1 + 0.8 * (i // 2) / different for i in range(2 * different)]
    return {"lang": ["en", "de"] * different, "truth": ["1", "0"] * different, "score": scores}


@every("kind", ["csv", "parquet"])
@every("name", list(ASKED))
def test_cells_become_items_once_and_nobody_reads_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    """What an engine counted is never told cell by cell, and never read or counted again as rows."""
    made: list[int] = []

    def items(**columns: Any) -> Items:
        made.append(columns["n"])
        return Items(**columns)

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(delimited, "SMALL", 0)
    path = written(tmp_path, kind, many(300))
    monkeypatch.setattr(source_module, "Items", items)
    monkeypatch.setattr(Source, "items", refused)
    monkeypatch.setattr(Source, "tabulate", refused)
    found = sy.measure(path, **ASKED[name])
    assert found.n == 600
    assert made == [300 if name == "scores" else 600]  # a row for every cell


@every("kind", ["csv", "parquet"])
@every("name", list(ASKED))
def test_the_work_in_python_does_not_grow_with_the_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)

    def calls(different: int) -> int:
        path = written(tmp_path, kind, many(different))
        number = 0

        def count(_: Any, event: str, __: Any) -> None:
            nonlocal number
            number += event == "call"

        sys.setprofile(count)
        try:
            sy.measure(path, **ASKED[name])
        finally:
            sys.setprofile(None)
        return number

    calls(300)  # loads what is loaded once
    assert calls(6_000) < calls(600) + 1_000
