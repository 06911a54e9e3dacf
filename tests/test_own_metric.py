"""A metric is two functions: what each item adds, and what the totals mean. One of our own works everywhere, and no other file knows it."""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from steelyard.base.problem import SteelyardError
from steelyard.data.items import Items
from steelyard.engines.one import How, measure
from steelyard.engines.two import compare
from steelyard.metrics.labels import margins
from steelyard.metrics.metric import Metric, pair, quotient

Columns = dict[str, Any]


def geometric(s: Any) -> Any:
    """The geometric mean of the recalls of the classes."""
    k = (s.shape[-1] - 1) // 3
    with np.errstate(all="ignore"):
        return np.prod(s[..., :k] / s[..., k : 2 * k], axis=-1) ** (1 / k)


OWN = {
    "geometric": Metric(name="geometric", adds=margins, value=geometric, margins=True),
    "squares": Metric(name="squares", reads=("score",), adds=lambda v: pair(1.0, v.score**2), law="mean", high=None),
    "per_word": Metric(name="per_word", reads=("errors", "words"), adds=lambda v: pair(v.words, v.errors), value=quotient, high=None),
}


def by_hand(name: str, a: Columns) -> float:
    w = a.get("weight", np.ones(len(a["id"]))) / np.array([np.sum(a["id"] == i) for i in a["id"]])
    if name == "geometric":
        hit, t = a["prediction"] == a["truth"], a["truth"]
        return math.prod(float(w[hit & (t == c)].sum() / w[t == c].sum()) for c in "abc") ** (1 / 3)
    return float(w @ a["score"] ** 2 / w.sum()) if name == "squares" else float(w @ a["errors"] / (w @ a["words"]))


def world(design: str, seed: int, n: int = 60) -> Columns:
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(n), 3 if "repeats" in design else 1)
    t = np.array(list("abc"))[item % 3]
    more = {"group": item // 4} if "groups" in design else {"weight": 1.5 + np.sin(item)} if design == "weights" else {}
    right, words = rng.random(len(item)) < 0.7, 5.0 + item % 7
    return {
        "id": item,
        **({"repeat": np.arange(len(item))} if "repeats" in design else {}),
        **more,
        "truth": t,
        "prediction": np.where(right, t, np.array(list("abc"))[rng.integers(0, 3, len(item))]),
        "score": rng.normal(0, 1, len(item)),
        "words": words,
        "errors": np.floor(words * rng.random(len(item))),
    }


@pytest.mark.parametrize("design", ["items", "repeats", "groups", "groups of repeats", "weights"])
@pytest.mark.parametrize("name", OWN)
def test_own_metric(name: str, design: str) -> None:
    metric, (a, b) = OWN[name], (world(design, seed) for seed in (1, 2))
    wanted = [by_hand(name, side) for side in (a, b)]
    (found,) = measure(metric, Items.of(**a))
    assert found.estimate == pytest.approx(wanted[0])
    low, high = found.interval() or (0, 0)
    assert low < wanted[0] < high
    gap = wanted[1] - wanted[0]
    for how in ("", "unpaired"):
        (pair_,) = compare(metric, Items.of(**a), Items.of(**b), design=how)
        assert [pair_.baseline, pair_.candidate, pair_.estimate] == pytest.approx([*wanted, gap])
        c = pair_.certainty
        assert c is not None
        assert c.ends()[0] < gap < c.ends()[1]
        assert (c.ends()[0] > 0 or c.ends()[1] < 0) == (c.p() <= 0.05)
        away = [c.ends(1 - c.p() + e) for e in (-1e-6, 1e-6)] if c.p() > 1e-5 and c.p() < 0.9 else []
        assert all((low > 0 or high < 0) == outside for (low, high), outside in zip(away, (True, False), strict=False))


def rms(truth: Any, prediction: Any) -> float:
    return float(np.sqrt(np.mean((np.asarray(truth, float) - np.asarray(prediction, float)) ** 2)))


def half(truth: Any, prediction: Any) -> float:
    return float(np.mean(np.asarray(truth) == np.asarray(prediction))) / 2


@pytest.mark.parametrize("how", ["a function", "a name"])
def test_function(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """f(truth, prediction), or where to find it; the same number as the metric of that definition, and nearly its interval."""
    module = types.ModuleType("own_metrics")
    module.RMS, module.METRIC = rms, OWN["squares"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_metrics", module)
    rng = np.random.default_rng(3)
    truth = rng.normal(0, 1, 50)
    a, b = (Items.of(id=np.arange(50), truth=truth, prediction=truth + rng.normal(0, s, 50)) for s in (1.0, 1.3))
    metric: str | Callable[..., float] = rms if how == "a function" else "own_metrics:RMS"
    (found,), (theirs,) = measure(metric, a), measure("rmse", a, How(interval="percentile"))
    assert found.metric.name == ("rms" if callable(metric) else metric)
    assert found.estimate == pytest.approx(theirs.estimate)
    assert found.interval() == pytest.approx(theirs.interval(), abs=0.03)
    assert measure("own_metrics:METRIC", Items.of(score=truth))[0].estimate == pytest.approx(np.mean(truth**2))
    (pair_,), (beside,) = compare(metric, a, b), compare("rmse", a, b, How(interval="percentile"))
    assert pair_.estimate == pytest.approx(beside.estimate)
    assert pair_.interval() == pytest.approx(beside.interval(), abs=0.05)
    assert pair_.p_value == pytest.approx(beside.p_value, abs=0.03)


def test_function_of_labels() -> None:
    rng = np.random.default_rng(4)
    truth = np.array(["x", "y"] * 40)
    a, b = (Items.of(truth=truth, prediction=np.where(rng.random(80) < s, truth, "z")) for s in (0.6, 0.9))
    (found,) = compare(half, a, b, How(draws=500))
    (whole,) = compare("accuracy", a, b)
    assert found.estimate == pytest.approx(whole.estimate / 2)  # type: ignore[operator]
    assert found.p_value is not None
    assert found.p_value < 0.01


@pytest.mark.parametrize(
    ("metric", "said"),
    [("own_metrics_not_there:X", "Cannot load"), (lambda t, p: "much", "must return one number"), ("acuracy", "accuracy")],
)
def test_refused(metric: Any, said: str) -> None:
    with pytest.raises(SteelyardError, match=said):
        measure(metric, Items.of(truth=[1.0, 2.0], prediction=[1.0, 3.0]))
