"""A metric is asked what it is, never what it is called: the same object by another name gives the same answers, but for that name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import CATALOGUE, parse

N = 60


def run_of(metric: Metric, wrong: float) -> dict[str, list[Any]]:
    """A run with the columns that the metric reads; two of them have the same items."""
    items, luck = np.random.default_rng(3), np.random.default_rng(int(100 * wrong))
    ids = [f"i{i // 6 if metric.family == 'repeats' else i}" for i in range(N)]
    truth, off = items.integers(0, 2, N), luck.random(N) < wrong
    numbers, words = items.normal(10, 3, N), items.integers(5, 40, N)
    columns: dict[str, Any] = {
        "truth": numbers if metric.numeric else truth,
        "prediction": numbers + luck.normal(0, 1 + wrong, N) if metric.numeric else np.where(off, 1 - truth, truth),
        "probability": np.clip(np.where(truth == 1, 0.7, 0.3) + luck.normal(0, wrong, N), 0.01, 0.99),
        "score": np.where(off, 0.0, 1.0) if metric.family == "repeats" else np.where(off, luck.normal(1, 1, N), 2.5),
    }
    if metric.of_ratio:
        return {"id": ids, "nll": (words * luck.gamma(4, 0.5 + wrong, N)).tolist(), "words": words.tolist()}
    tries = {"repeat": [i % 6 for i in range(N)]} if metric.family == "repeats" else {}
    return {"id": ids, **tries, **{need: columns[need].tolist() for need in metric.needs if need != "id"}}


def rows_of(run: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(run, values, strict=True)) for values in zip(*run.values(), strict=True)]


def answers(name: str, directory: Path) -> list[str]:
    """What is measured, compared, ranked, recorded and guarded by a metric: JSON, the page, and what is refused."""
    metric = parse(name)
    runs = [run_of(metric, wrong) for wrong in (0.2, 0.35, 0.4)]
    ratio = {"ratio": ("nll", "words")} if metric.of_ratio else {}
    more = {"positive": "1", **ratio} if "truth" in metric.needs and not metric.numeric else ratio
    asked: dict[str, Any] = {"metric": name, "draws": 100, **more}
    there = {"task": "t", "model": "m", "directory": directory}
    said = []
    for ask in (
        lambda: sy.measure(runs[0], **asked),
        lambda: sy.measure({**runs[0], "group": [f"g{i // 6}" for i in range(N)]}, **asked),
        lambda: sy.compare(runs[0], runs[1], **asked),
        lambda: sy.compare(runs[0], runs[1], **asked, margin=0.1, range=(-3, 6)),
        lambda: sy.compare(runs[0], runs[1], **asked, design="unpaired"),
        lambda: sy.rank(*runs, **asked),
        lambda: sy.record(rows_of(runs[0]), metric=name, **there, **more),
        lambda: sy.check(rows_of(runs[1]), theta=0.1, draws=100, **there, **ratio),
        lambda: sy.check(rows_of(runs[1]), margin="2%", theta="10%", draws=100, **there, **ratio),
        lambda: sy.record(rows_of(runs[0]), metric=name, scale="percent", **{**there, "task": "percent"}, **more),
        lambda: sy.check(rows_of(runs[1]), theta=1, draws=100, **{**there, "task": "percent"}, **ratio),
    ):
        try:
            found: Any = ask()
            said.append(f"{json.dumps(found.to_dict(), default=str)}\n{found}")
        except sy.SteelyardError as refused:
            said.append(f"{type(refused).__name__}: {refused}")
    return said


@every("base", CATALOGUE)
def test_the_answers_are_the_same_but_for_the_name(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = CATALOGUE[base]
    other = base[0] + "z" * (len(base) - 1)  # as long, so that pages are laid out alike
    number = metric.shown.removeprefix(base)
    before = answers(metric.shown, tmp_path / "named" / base)
    assert before[0].startswith("{")
    with monkeypatch.context() as patch:
        patch.setitem(CATALOGUE, other, replace(metric, base=other, aliases=(), example=f"{other}{number}" if number else ""))
        after = answers(f"{other}{number}", tmp_path / "anew" / base)
    assert [timeless(said.replace(other, base).replace(str(tmp_path / "anew"), str(tmp_path / "named"))) for said in after] == [
        *map(timeless, before)
    ]


def timeless(said: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "then", said)
