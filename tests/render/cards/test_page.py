"""Our part of a card: every number with its interval, what was not measured said, and nothing of users that Markdown obeys."""

from __future__ import annotations

import random

import pytest

import steelyard as sy
from cases import every
from render.verdict_samples import HOSTILE, harmless_page
from steelyard.render.cards.about import CardDetails, Evaluated
from steelyard.render.cards.page import ASKED, BEGIN, END, card_part, new_page
from steelyard.results.measurement import Measurement


def about(*measurements: Measurement, data: str = "data", model: str = "m") -> CardDetails:
    return CardDetails(model=model, evaluated=tuple(Evaluated(data=f"{data}{i}", measurement=each) for i, each in enumerate(measurements)))


def labels(names: tuple[str, str] = ("cat", "dog"), column: str = "place") -> Measurement:
    draw = random.Random(3)
    truth = [draw.choice(names) for _ in range(50)]
    said = [each if draw.random() < 0.8 else draw.choice(names) for each in truth]
    return sy.measure({"truth": truth, "prediction": said, column: [draw.choice(names) for _ in truth]}, by=column)


def text(found: CardDetails) -> str:
    return "\n".join(card_part(found))


def test_a_line_for_every_number() -> None:
    page = text(about(labels(), sy.measure(sy.Counts.of(85, 100))))
    assert "| data | metric | score [95% interval] | n | method |" in page
    assert "| data1 | accuracy | 0.850 [0.767, 0.907] | 100 | wilson |" in page
    assert page.count("| data0 | ") == 2
    assert "data0, by class:" in page
    assert "data0, by place:" in page
    assert page.count("were not divided") == 1, "of the second, which has no slices"
    assert page.splitlines()[0] == BEGIN
    assert page.splitlines()[-1] == END


def test_levels_that_differ_are_not_called_one() -> None:
    page = text(about(sy.measure(sy.Counts.of(85, 100)), sy.measure(sy.Counts.of(85, 100), confidence_level=0.9)))
    assert "| score [interval] |" in page


def test_lower_is_better_and_groups_and_warnings_are_told() -> None:
    m = sy.measure({"id": range(40), "group": [i // 4 for i in range(40)], "score": [i % 3 == 0 for i in range(40)]}, metric=["error"])
    page = text(about(m))
    assert "lower is better: error" in page
    assert "design effect" in page
    for warning in m.warnings:
        assert warning.split("`")[0][:30] in page.replace("\\", "")


@pytest.mark.parametrize("missing", [[], ["harms"], list(ASKED)])
def test_what_is_missing_is_asked_in_a_comment(missing: list[str]) -> None:
    lines = card_part(about(labels()), missing)
    asked = [line for line in lines if line.startswith("<!-- Please write")]
    assert len(asked) == len(missing)
    assert all(line.endswith("-->") and line.count("-->") == 1 for line in asked)


@every("word", HOSTILE)
def test_hostile_words(word: str) -> None:
    whole = word.replace("\ud800", "") or "x"  # half a character is refused where data is read; a name may still have one
    m = labels((whole, "dog"), column=whole)
    for lines in (card_part(about(m, data=word, model=word)), new_page(about(m, data=word, model=word))):
        page = "\n".join(lines)
        assert [page.splitlines().count(mark) for mark in (BEGIN, END)] == [1, 1]
        ours = [line for line in page.splitlines() if line.startswith("<!-- ") and line.endswith(" -->")]
        harmless_page("\n".join(line for line in page.splitlines() if line not in ours))
