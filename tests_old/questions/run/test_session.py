"""Looking after every item costs the same late in a run as early: nothing that earlier looks saw is built again."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard_old.estimate.guard.sequential import StoppingPlan
from steelyard_old.evaluate.asking.asks import Case
from steelyard_old.questions.run.session import ROOM, UntilDecided


def watch(n: int) -> UntilDecided:
    plan = StoppingPlan(
        kind="lan-demets", theta=0.001, alpha=0.05, beta=0.2, margin=0.0, looks=None, every=1, n_max=n, right_or_wrong=True, one_answer=True
    )
    return UntilDecided(plan.settled(), 1)


def test_a_look_after_every_item_does_not_build_the_series_again(monkeypatch: pytest.MonkeyPatch) -> None:
    n = ROOM + 200
    seen = watch(n)
    monkeypatch.setattr(UntilDecided, "series", lambda self, n: pytest.fail("all items were put together for one look"))
    for i in range(n - 1):
        seen.add(Case(id=str(i), input="", truth="", row={}), float(i % 2), float(i % 3 == 0))
        seen.enough(last=False)
    assert len(seen.looked) > 0


def test_what_was_seen_is_all_there_beyond_the_first_room() -> None:
    seen, n = watch(3 * ROOM), 2 * ROOM + 5
    values = np.random.default_rng(0).integers(0, 2, size=(n, 2)).astype(float)
    for i, (reference, candidate) in enumerate(values.tolist()):
        seen.add(Case(id=str(i), input="", truth="", row={}), reference, candidate)
    found = seen.series(n)
    assert np.array_equal(np.column_stack([found.reference, found.candidate]), values)
    assert found.ids == tuple(map(str, range(n)))
    assert len(seen.series(7).ids) == 7
