"""baycomp: the correlated t of Corani and Benavoli is our corrected repeated k-fold t, read as a posterior. See baycomp.json."""

from __future__ import annotations

import pytest

from peers.make import recorded
from steelyard.infer.learning.crossval import corrected_repeated_kfold_t, differences

ENTRIES = recorded("baycomp")


@pytest.mark.parametrize("name", ["one_run", "two_runs", "ten_by_ten", "same"])
def test_probability_that_the_second_is_better(name: str) -> None:
    """The last is two equal learners: one half, by both."""
    given = ENTRIES[name]["input"]
    delta = differences(given["baseline"], given["candidate"])
    found = corrected_repeated_kfold_t(delta, folds=len(delta) // given["runs"])
    assert found.probability_above == pytest.approx(ENTRIES[name]["answer"][1], abs=1e-12)
    assert sum(ENTRIES[name]["answer"]) == pytest.approx(1)
