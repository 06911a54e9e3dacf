"""Claims about several answers on record: models that are no worse, settings that are possible, and pools followed item by item."""

from __future__ import annotations

import math

import numpy as np
import pytest

from steelyard.infer.planning.run_designs import answers_on_record, strata_for
from steelyard.infer.planning.stored_answers import beta_answers
from steelyard.proof.errors import stopping_answers
from steelyard.proof.errors.stopping_answers import ALIKE, CHANGED, GAINS, SAME, STRATA, ended, healthy, run_of_scores, run_over


@pytest.mark.parametrize("model", [SAME, CHANGED, GAINS])
@pytest.mark.parametrize("answers", [4, 16])
def test_models_that_are_no_worse(model: str, answers: int) -> None:
    items = beta_answers(0.75, 0.05, answers)
    after = healthy(items, model)
    assert after is not None
    assert after.accuracy == pytest.approx(items.accuracy)
    assert (after == items) == (model == SAME)


def test_every_setting_is_possible() -> None:
    claims = list(stopping_answers.claims())
    assert {claim.kind for claim in claims} == {"size", "power"}
    for claim in claims:
        for setting in (*claim.quick, *claim.full):
            if "pool" in setting:
                continue
            items = beta_answers(0.75, float(setting["discordance"]), int(setting["answers"]))
            after = (
                items.dropped(float(setting["theta"]), str(setting["drop"])) if "drop" in setting else healthy(items, str(setting["model"]))
            )
            assert after is not None, setting


@pytest.mark.parametrize("method", [STRATA, ALIKE])
def test_what_is_claimed_is_what_is_planned(method: str) -> None:
    setting = {"drop": "stable", "theta": 0.05, "discordance": 0.1, "batch": 32, "answers": 4, "runs": 300}
    items = beta_answers(0.75, 0.1, 4)
    strata = strata_for(items, 0.05) if method == STRATA else None
    assert ended(method, setting, 7) == answers_on_record(items, 0.05, strata=strata, runs=300, seed=7).dropped["stable"]


@pytest.mark.parametrize("place", [None, "stable"])
def test_pools_item_by_item_end_as_planned(place: str | None) -> None:
    setting = {"pool": 700, "answers": 4, "theta": 0.1, "discordance": 0.2, **({"drop": place} if place else {})}
    rng, runs = np.random.default_rng(3), 200
    share = sum(run_over(rng, setting) == "regression" for _ in range(runs)) / runs
    items = beta_answers(0.75, 0.2, 4)
    found = answers_on_record(items, 0.1, strata=strata_for(items, 0.1, pool=700), pool=700)
    planned = (found.dropped[place] if place else found.healthy).regression
    assert abs(share - planned) < 4 * math.sqrt(0.25 / runs)


def test_scores_in_strata_are_called_worse_where_they_are() -> None:
    setting = {"scores": "one of two scores", "wavering": 0.2, "answers": 4, "pool": 1000, "theta": 0.1}
    rng = np.random.default_rng(2)
    share = {
        name: sum(run_of_scores(rng, {**setting, **one}) == "regression" for _ in range(40)) / 40
        for name, one in (("same", {"model": SAME}), ("changed", {"model": "some lost, as many gained"}), ("lost", {"drop": "stable"}))
    }
    assert max(share["same"], share["changed"]) <= 0.2
    assert share["lost"] >= 0.6
