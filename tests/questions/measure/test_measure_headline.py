"""What is measured when no metric is named: label metrics of labels that are classes, accuracy where they are answers in free text."""

from __future__ import annotations

import pytest

import steelyard as sy
from steelyard.estimate.rows import mostly_singletons

TEXTS = [f"answer {i}" for i in range(40)]


def names(m: sy.Measurement) -> list[str]:
    return [row.name for row in m.rows]


def test_a_score_of_zero_and_one_beside_labels_is_the_headline() -> None:
    found = sy.measure({"truth": ["a", "b", "a", "b"], "prediction": ["a.", "b", "A", "a"], "score": [1, 1, 1, 0]})
    assert names(found) == ["accuracy"]
    assert found.estimate == 0.75
    assert len([hint for hint in found.hints if "share of items with score 1" in hint]) == 1


def test_answers_in_free_text_are_no_classes() -> None:
    said = [text if i % 4 else "no idea" for i, text in enumerate(TEXTS)]
    found = sy.measure(TEXTS, said)
    assert names(found) == ["accuracy"]
    assert found.estimate == 0.75
    assert len(found.hints) == 1
    assert found.hints[0].startswith("41 of 41 labels are the truth of at most one item, so they are not read as classes")


def test_the_mean_score_is_the_headline_of_free_text_with_graded_scores() -> None:
    found = sy.measure({"truth": TEXTS, "prediction": [f"{text}!" for text in TEXTS], "score": [0.5] * 20 + [1.0] * 20})
    assert names(found) == ["mean"]
    assert found.estimate == 0.75


def test_a_graded_score_beside_classes_leaves_the_label_metrics() -> None:
    """A confidence is a score, too."""
    found = sy.measure({"truth": ["a", "b"] * 20, "prediction": ["a"] * 40, "score": [0.9, 0.6] * 20})
    assert "macro_f1" in names(found)


@pytest.mark.parametrize("wish", [{"metric": "macro_f1"}, {"labels": TEXTS}])
def test_label_metrics_of_free_text_are_there_when_they_are_asked_for(wish: dict[str, object]) -> None:
    assert "macro_f1" in names(sy.measure(TEXTS, TEXTS, **wish))


def test_a_table_of_free_text_says_the_same() -> None:
    found = sy.measure(sy.Counts.table({(text, text): 1 for text in TEXTS}))
    assert names(found) == ["accuracy"]
    assert "not read as classes" in found.hints[0]


def test_few_items_and_common_labels_are_classes() -> None:
    assert "macro_f1" in names(sy.measure(TEXTS[:5], TEXTS[:5]))
    assert "macro_f1" in names(sy.measure(TEXTS * 2, TEXTS * 2))


def test_over_half_of_twenty_labels_or_more() -> None:
    assert mostly_singletons([1] * 11 + [2] * 9)
    assert not mostly_singletons([1] * 10 + [2] * 10)
    assert not mostly_singletons([1] * 19)
