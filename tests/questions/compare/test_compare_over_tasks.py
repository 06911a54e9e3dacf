"""Two systems over many tasks: the pooled sign-flip and Fisher's combination, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import steelyard as sy


def runs(sizes: tuple[int, ...] = (6, 5, 4)) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(3)
    task = np.repeat([f"t{i}" for i in range(len(sizes))], sizes)
    base = pd.DataFrame({"id": np.arange(len(task)), "task": task, "score": rng.integers(0, 2, len(task))})
    return base, base.assign(score=np.where(rng.random(len(task)) < 0.5, 1, base["score"]))


def test_pooled_sign_flip_weighs_every_task_the_same() -> None:
    a, b = runs()
    c = sy.compare(a, b, by="task")
    (found,) = c.details["over_tasks"]
    d = (b["score"] - a["score"]) / a.groupby("task")["id"].transform("size")
    assert found["pooled_sign_flip"]["mean_difference"] == pytest.approx(d.sum() / 3)
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(d))).reshape(len(d), -1)
    sums = signs.T @ d.to_numpy()
    upper = np.mean(sums >= d.sum() - 1e-12)
    assert found["pooled_sign_flip"]["exact"]
    assert found["pooled_sign_flip"]["p_value"] == pytest.approx(min(1, 2 * upper))


def test_fisher_combines_one_sided_p_values() -> None:
    a, b = runs()
    (found,) = sy.compare(a, b, by="task").details["over_tasks"]
    p = [
        sy.compare(a[a["task"] == t].drop(columns="task"), b[b["task"] == t].drop(columns="task"), alternative="greater").p_value
        for t in ("t0", "t1", "t2")
    ]
    assert found["fisher"]["p_value"] == pytest.approx(stats.combine_pvalues(p).pvalue)


def test_an_error_rate_turns_the_mean_round() -> None:
    a, b = runs()
    up = sy.compare(a, b, by="task").details["over_tasks"][0]["pooled_sign_flip"]
    down = sy.compare(a, b, by="task", metric="error").details["over_tasks"][0]["pooled_sign_flip"]
    assert down["mean_difference"] == pytest.approx(-up["mean_difference"])
    assert down["p_value"] == up["p_value"]


def test_the_sentences_are_printed() -> None:
    text = " ".join(str(sy.compare(*runs(), by="task")).split())
    assert "pooled sign-flip p = " in text
    assert "Fisher's combined test that the candidate is better, p = " in text


def test_one_task_is_not_many() -> None:
    a, b = runs((12,))
    assert "over_tasks" not in sy.compare(a, b, by="task").details
