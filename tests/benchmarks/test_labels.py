"""The part `labels`: its data, its growth, and its checks of the answers."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # `benchmarks` is a package of the repository, not of the installation

from benchmarks.timing import Duel, Row, Wrong, power  # noqa: E402

from benchmarks import labels_bench as part  # noqa: E402

sys.path.remove(str(ROOT))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small work and one round."""
    monkeypatch.setattr(part, "SLOW", 0.0)
    monkeypatch.setattr(part, "CHECKED", 50)


def test_every_label_occurs_and_occupied_cells_follow_the_labels() -> None:
    for n, k in ((400, 10), (400, 400)):
        truth, a, b = part.data(n, k)
        assert len(np.unique(truth)) == k
        assert len(np.unique(truth * k + a)) <= min(n, 4 * k)
        assert 0.6 < np.mean(a == b) < 1.0


def test_growth_is_the_steepest_step_so_that_a_constant_part_cannot_hide_it() -> None:
    taken = part.Taken()
    for size, spent in ((10, 1.0), (100, 1.0), (1000, 100.0), (10_000, 1.0)):
        fight = Duel((spent,), (spent,))
        list(taken.kept(size, iter([("call", Row(what="", ours=""), fight)])))
    ours, peer = taken.growth("labels.rows", "growth", power)
    assert ours.value == pytest.approx(2.0)
    assert (ours.key, ours.reached, peer.key) == ("labels.rows", False, None)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("n", "k"), [(2000, 10), (200, 200)])
def test_right_answers_are_timed(n: int, k: int) -> None:
    made = list(part.asked("few", part.data(n, k)))
    assert [name for name, _, _ in made] == ["sy.measure", "sy.compare", "sy.compare, macro_f1"]
    assert all(len(fight.ours) == len(fight.peer) == 1 for _, _, fight in made)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("question", [part.measured, part.compared, part.compared_macro])
def test_a_wrong_answer_is_not_timed(question: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers about other items: the labels of the first system moved by one."""
    real, (truth, a, b) = part.sy, part.data(300, 3)
    moved = np.roll(a, 1)
    other = SimpleNamespace(measure=lambda t, p: real.measure(t, moved), compare=lambda t, p, q, **how: real.compare(t, moved, q, **how))
    monkeypatch.setattr(part, "sy", other)
    with pytest.raises(Wrong, match="the peer"):
        question("few", (truth, a, b))


def test_a_precision_that_only_one_side_has_is_wrong() -> None:
    found = {f"{name}[7]": SimpleNamespace(estimate=value) for name, value in (("precision", None), ("recall", 0.0), ("f1", 0.0))}
    report = {"7": {"precision": float("nan"), "recall": 0.0, "f1-score": 0.0}}
    part.same_report("few", found, report)
    report["7"]["precision"] = 0.0
    with pytest.raises(Wrong, match="precision of 7"):
        part.same_report("few", found, report)
