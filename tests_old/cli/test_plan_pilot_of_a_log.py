"""A hint that names an option which the command does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from answers import Command

LOG = Path(__file__).parents[1] / "read/logs/lm_eval_groups/shapes_alike/first"


@pytest.mark.parametrize("words", [("detect", "--theta", ".1"), ("estimate", "--metric", "accuracy", "--width", ".2")], ids=lambda w: w[0])
def test_a_plan_has_the_option_that_its_hint_names(steelyard: Command, words: tuple[str, ...]) -> None:
    goal, *more = words
    done = steelyard("plan", goal, "--pilot", LOG, *more)
    assert done.code == 3
    if "--log-task" in done.err:
        again = steelyard("plan", goal, "--pilot", LOG, *more, "--log-task", "shapes_few")
        assert "No such option" not in again.err
