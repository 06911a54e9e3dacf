"""Claims about suites that stop early: a night asked as the rule says, by hand, and what a broken task makes of it."""

from __future__ import annotations

import numpy as np

from steelyard.proof.errors import stopping_suites
from steelyard.proof.errors.stopping_suites import night

SMALL = {"tasks": 10, "items": 1000, "theta": 0.1, "discordance": 0.05}


def test_a_night_in_which_nothing_ever_differs_passes_after_the_same_looks_in_every_task() -> None:
    decision, calls = night(np.random.default_rng(0), {**SMALL, "discordance": 0.0, "broken": 0, "drop": 0})
    assert decision == "pass"
    assert calls % (10 * 32) == 0
    assert calls <= 10 * 64


def test_broken_tasks_are_found_the_sooner_the_more_they_are() -> None:
    rng = np.random.default_rng(1)
    ends = {
        (broken, drop): [night(rng, {**SMALL, "broken": broken, "drop": drop}) for _ in range(30)]
        for broken, drop in ((0, 0), (1, 1), (1, 3), (10, 1))
    }
    found = {key: sum(decision == "regression" for decision, _ in nights) / 30 for key, nights in ends.items()}
    calls = {key: sum(n for _, n in nights) / 30 for key, nights in ends.items()}
    assert found[0, 0] <= 0.2
    assert found[1, 1] >= 0.5
    assert min(found[1, 3], found[10, 1]) >= 0.9
    assert calls[10, 1] < calls[1, 1]
    assert calls[1, 3] < calls[1, 1]


def test_claims_are_of_both_errors_and_cheap_on_the_quick_grid() -> None:
    claims = list(stopping_suites.claims())
    assert [claim.kind for claim in claims] == ["size", "power"]
    assert all(claim.default and sum(int(setting["runs"]) for setting in claim.quick) <= 40 for claim in claims)
    assert {setting["tasks"] for claim in claims for setting in claim.full} == {10}
