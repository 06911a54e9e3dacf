"""Claims about several candidates against one baseline: runs by hand, what a shared baseline does, and one cheap setting."""

from __future__ import annotations

import numpy as np

from steelyard.proof.errors import stopping_candidates
from steelyard.proof.errors.stopping_candidates import run_of

SMALL = {"candidates": 5, "items": 1000, "theta": 0.1, "discordance": 0.1}


def test_where_nothing_ever_differs_all_pass_after_the_same_items() -> None:
    ends, asked = run_of(np.random.default_rng(0), {**SMALL, "discordance": 0.0, "broken": 0})
    assert ends == ["pass"] * 5
    assert len(set(asked)) == 1


def test_a_lost_theta_is_found_in_the_first_and_the_others_share_the_luck_of_the_baseline() -> None:
    rng = np.random.default_rng(1)
    found = [run_of(rng, {**SMALL, "broken": 1}) for _ in range(60)]
    assert sum(ends[0] == "regression" for ends, _ in found) >= 36
    assert sum("regression" in ends[1:] for ends, _ in found) <= 10
    assert np.mean([asked[0] for _, asked in found]) > np.mean([asked[1:] for _, asked in found])
    second, third = np.array([asked[1:3] for _, asked in found], float).T
    assert np.corrcoef(second, third)[0, 1] > 0.2


def test_one_setting_is_quick_and_the_baseline_is_shared_by_five_and_ten() -> None:
    claims = list(stopping_candidates.claims())
    assert [claim.kind for claim in claims] == ["size", "power"]
    assert [len(claim.quick) for claim in claims] == [1, 1]
    assert {setting["candidates"] for claim in claims for setting in claim.full} == {5, 10}
