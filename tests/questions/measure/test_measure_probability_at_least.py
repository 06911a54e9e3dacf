"""The sentence for people who decide: where the metric lies, and the chance that it is at least so much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from cases import every
from steelyard.render.formats import result_html, result_markdown

BINARY = sy.Counts.binary(tp=31, fp=5, fn=2, tn=62)
LABELS = sy.Counts.table([[30, 4, 1], [3, 20, 2], [0, 2, 18]], labels=["cat", "dog", "owl"])
SAID = "With 95% probability the accuracy lies between 0.841 and 0.928; the chance that it is at least 0.9 is 0.31."


def said(m: sy.Measurement) -> str:
    """What is printed, on one line."""
    return " ".join(str(m).split())


def test_the_chance_of_a_proportion_is_that_of_its_beta_law() -> None:
    row = sy.measure(sy.Counts.of(178, 200), at_least=0.9).row
    assert row.at_least == 0.9
    assert row.probability_at_least == pytest.approx(stats.beta.sf(0.9, 178.5, 22.5), abs=1e-12)
    assert row.interval is not None
    assert row.interval.method == "bayes"


METRICS = ("accuracy", "error", "f1", "fbeta:2", "jaccard", "precision", "recall", "specificity", "balanced_accuracy", "mcc", "kappa")


@every("counts, metric, more", [*((BINARY, name, {}) for name in METRICS), (LABELS, "macro_f1", {}), (LABELS, "f1", {"positive": "dog"})])
def test_every_metric_of_a_table_says_what_its_posterior_says(counts: sy.Counts, metric: str, more: dict[str, Any]) -> None:
    row = sy.measure(counts, metric=metric, at_least=0.8, **more).row
    assert row.probability_at_least == sy.posterior(counts, metric, **more).probability_above(0.8)


def test_the_sentence_is_in_text_markdown_and_html_and_survives_json() -> None:
    m = sy.measure(sy.Counts.of(178, 200), at_least=0.9)
    assert SAID in said(m)
    assert SAID in result_markdown(m)
    assert SAID in result_html(m)
    again = sy.Measurement.from_dict(m.to_dict())
    assert again == m
    assert SAID in said(again)


def test_without_a_number_in_mind_the_sentence_is_its_first_half_and_json_has_no_new_key() -> None:
    m = sy.measure(sy.Counts.of(178, 200), interval="hdi")
    assert "With 95% probability the accuracy lies between 0.844 and 0.930." in said(m)
    assert not {"at_least", "probability_at_least"} & {*m.to_dict()["metrics"][0]}
    assert "probability the" not in said(sy.measure(sy.Counts.of(178, 200)))


def test_a_bound_says_at_least_or_at_most() -> None:
    lower = said(sy.measure(sy.Counts.of(178, 200), interval="bayes", side="lower", confidence_level=0.9))
    assert "With 90% probability the accuracy is at least 0.8" in lower
    assert "the accuracy is at most 0.9" in said(sy.measure(sy.Counts.of(178, 200), interval="bayes", side="upper"))


def test_a_posterior_that_was_drawn_says_about() -> None:
    m = sy.measure(LABELS, metric="macro_f1", at_least=0.8)
    assert "the chance that it is at least 0.8 is about 0." in said(m)
    assert "is above 0.999." in said(sy.measure(LABELS, metric="macro_f1", at_least=0.1))  # never 1 by draws alone


def test_a_posterior_that_stands_in_for_another_method_is_not_spoken_of() -> None:
    m = sy.measure(sy.Counts.table([[30, 0], [0, 20]], labels=["a", "b"]), metric="mcc")
    assert m.row.details.instead_of == "bca"
    assert "probability the" not in said(m)


GROUPED = {"group": np.repeat(np.arange(10), 4)}


@every(
    "data, asked, words",
    [
        ([0.2, 0.4, 0.7, 0.1], {"at_least": 0.5}, "No chance that mean is at least 0.5"),
        (np.array([1, 0, 1, 1] * 10), {"at_least": 0.5, **GROUPED}, "No chance that accuracy is at least 0.5.*groups"),
        (BINARY, {"at_least": 0.5, "interval": "wilson"}, "needs the interval bayes or hdi, not 'wilson'"),
        (sy.Counts.of(9, 10), {"at_least": 90}, "at_least= must lie between 0 and 1 for accuracy, not at 90. Hint: write 0.9"),
        (sy.Counts.of(9, 10), {"at_least": -1}, "between 0 and 1 for accuracy, not at -1"),
        (BINARY, {"at_least": float("nan")}, "at_least must be a number, not nan"),
        (BINARY, {"at_least": "much"}, "at_least must be a number, not 'much'"),
        (BINARY, {"at_least": True}, "at_least must be a number, not True"),
    ],
)
def test_what_has_no_posterior_is_refused(data: Any, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(sy.UsageError, match=words):
        sy.measure(data, **asked)


def test_ranking_metrics_have_no_posterior() -> None:
    with pytest.raises(sy.UsageError, match=r"No chance that auc is at least 0\.9"):
        sy.measure([1, 0] * 10, probability=np.linspace(0, 1, 20), positive="1", metric="auc", at_least=0.9)


def test_classes_and_slices_have_their_chance_too(tmp_path: Path) -> None:
    lines = [f"{i},{'ab'[i % 2]},{'ab'[i % 2 if i % 7 else 0]},{'xy'[i % 3 > 0]}" for i in range(60)]
    (tmp_path / "p.csv").write_text("id,truth,prediction,where\n" + "\n".join(lines), encoding="utf-8")
    m = sy.measure(str(tmp_path / "p.csv"), metric="each_recall", by="where", at_least=0.7)
    assert all(row.probability_at_least is not None for row in m.rows)
    assert all(row.probability_at_least is not None for part in m.slices for row in part.measurement.rows)


def test_a_card_has_the_sentence(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    sy.model_card(path, {"d": sy.measure(sy.Counts.of(178, 200), at_least=0.9)}, model="lab/m")
    assert SAID in path.read_text(encoding="utf-8")
