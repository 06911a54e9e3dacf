"""Repeats on both sides: items are the units of every statement about new items; runs only where runs are asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from cases import seldom
from steelyard.errors import UsageError

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def repeated(table: Any) -> Rows:
    """A row per item and repeat."""
    return [{"id": f"q{i:03d}", "repeat": k, "score": float(x)} for i, row in enumerate(table) for k, x in enumerate(row)]


def opposed(r: np.random.Generator, n: int, first: int, second: int) -> tuple[Rows, Rows]:
    """Half of the items become easier by .6, the others harder: on average over such items nothing changes."""
    easy = r.random(n) < 0.5
    a = r.random((n, first)) < np.where(easy, 0.8, 0.2)[:, None]
    b = r.random((n, second)) < np.where(easy, 0.2, 0.8)[:, None]
    return repeated(a), repeated(b)


def test_unequal_repeats_are_compared_item_by_item() -> None:
    a, b = opposed(np.random.default_rng(1), 30, 10, 8)
    c = sy.compare(a, b)
    means = [np.array([np.mean([x["score"] for x in side if x["id"] == f"q{i:03d}"]) for i in range(30)]) for side in (a, b)]
    longer = np.concatenate([means[1] - means[0], [-1, 1]])
    assert (c.test.name, c.difference.interval.method) == ("bounded-t", "bounded-t")  # type: ignore[union-attr]
    assert c.p_value == pytest.approx(stats.ttest_1samp(longer, 0).pvalue, rel=1e-9)
    assert c.difference.standard_error == pytest.approx(stats.sem(longer[:-2]), rel=1e-9)
    assert c.test.details == {"df": 31, "range": 1.0}


@pytest.mark.parametrize(("first", "second", "pairs", "most"), [(10, 8, 40, 7), (10, 1, 80, 9), *seldom((5, 1, 80, 9))])
def test_items_that_change_both_ways_are_no_difference_between_systems(first: int, second: int, pairs: int, most: int) -> None:
    """Dealt anew within items such runs are called different in 44%, 23% and 8% of cases."""
    r = np.random.default_rng(first * 10 + second)
    called = sum((sy.compare(*opposed(r, 30, first, second), interval="t").p_value or 0) <= 0.05 for _ in range(pairs))
    assert called <= most


def test_one_answer_of_300_does_not_change_the_method_or_the_answer() -> None:
    a, b = opposed(np.random.default_rng(4), 30, 10, 10)
    whole, without = sy.compare(a, b), sy.compare(a[1:], b)
    assert whole.test.name == without.test.name
    assert whole.p_value == pytest.approx(without.p_value or 0, rel=0.1)
    sy.record(a, task="t", model="m")
    verdicts = [sy.check(run, task="t", model="m") for run in (b, b[1:])]
    assert len({v.test and v.test.name for v in verdicts}) == 1
    assert verdicts[0].p_value == pytest.approx(verdicts[1].p_value or 0, rel=0.1)


def test_one_missing_answer_does_not_hide_that_runs_share_noise() -> None:
    r = np.random.default_rng(9)
    base = r.beta(8, 2, 200)
    runs = r.random((200, 6)) < np.clip(base[:, None] + r.normal(0, 0.1, 6), 0, 1)
    sy.record(repeated(runs[:, :5]), task="whole", model="m")
    sy.record(repeated(runs[:, :5])[1:], task="lacking", model="m")
    one, other = (sy.check(repeated(runs[:, 5:]), task=task, model="m") for task in ("whole", "lacking"))
    assert any("runs differ by more" in warning for warning in one.warnings)
    assert any("runs differ by more" in warning for warning in other.warnings)
    assert other.p_value == pytest.approx(one.p_value or 0, rel=0.05)


@pytest.mark.parametrize("margin", [0.0, 0.03])
@pytest.mark.parametrize("scores", [False, True])
def test_items_and_runs_have_numbers_of_their_own(margin: float, scores: bool) -> None:
    r = np.random.default_rng(5)
    chance = r.random(60)
    a, b = (np.clip(r.normal(chance[:, None], 0.2, (60, k)), 0, 1) if scores else r.random((60, k)) < chance[:, None] for k in (5, 3))
    sy.record(repeated(a), task="t", model="m")
    items, runs = (sy.check(repeated(b), task="t", model="m", target=target, margin=margin) for target in ("items", "runs"))
    assert items.p_value != runs.p_value
    assert items.test != "within-item" == runs.test
    assert items.difference["lower"] != runs.difference["lower"]
    assert items.threshold != runs.threshold
    assert "new items of this kind" in items.claim
    assert "these same items" in runs.claim


@pytest.mark.parametrize("target", ["items", "runs"])
@pytest.mark.parametrize(("drop", "margin"), [(0.0, 0.02), (0.02, 0.0), (0.05, 0.02), (0.1, 0.0), (0.3, 0.02)])
def test_p_bounds_and_threshold_never_contradict_one_another(target: str, drop: float, margin: float) -> None:
    r = np.random.default_rng(int(1000 * drop) + 7)
    chance = r.beta(6, 2, 80)
    sy.record(repeated(r.random((80, 5)) < chance[:, None]), task="t", model="m")
    for _ in range(4):
        v = sy.check(repeated(r.random((80, 1)) < (chance - drop)[:, None]), task="t", model="m", target=target, margin=margin)
        assert v.p_value is not None
        assert v.threshold is not None
        worse = v.p_value <= 0.05
        assert (v.verdict == "regression") == worse
        assert (v.difference["upper"] <= -margin + 1e-12) == worse
        assert (v.candidate["value"] < v.threshold) == worse


def test_the_threshold_is_the_score_at_which_the_verdict_turns() -> None:
    """Every item of the candidate's lowered until p meets alpha: there lies the threshold, at the spread of that run."""
    reference = np.tile([0.6, 0.8, 0.7, 0.9], 10)
    wobble = np.tile([0.05, -0.05, 0.1, -0.1, 0.0], 8)
    sy.record([{"id": f"q{i}", "score": float(x)} for i, x in enumerate(reference)], task="t", model="m", metric="mean")

    def verdict(drop: float) -> sy.Verdict:
        run = [{"id": f"q{i}", "score": float(x)} for i, x in enumerate(reference + wobble - drop)]
        return sy.check(run, task="t", model="m", range=(0, 2))

    low, high = 0.0, 0.5
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if verdict(middle).verdict == "regression" else (middle, high)
    at = verdict(low)
    assert at.test == "bounded-t"
    assert at.candidate["value"] == pytest.approx(at.threshold, abs=1e-6)


def test_within_item_by_name_says_what_it_speaks_of() -> None:
    a, b = opposed(np.random.default_rng(6), 30, 5, 3)
    c = sy.compare(a, b, test="within-item")
    assert c.difference.interval is not None
    assert (c.test.name, c.difference.interval.method) == ("within-item", "within-item")
    assert any("about these items, not about new ones" in warning for warning in c.warnings)
    assert "on these very items" in c.conclusion
    assert not any("these very items" in warning for warning in sy.compare(a, b).warnings)


def test_the_range_must_be_known_for_the_ends_of_the_range() -> None:
    a, b = ([{"id": i, "score": x / 7} for i, x in enumerate(side)] for side in ([1, 2, 3, 4, 5, 6], [2, 2, 4, 4, 6, 6]))
    with pytest.raises(UsageError, match="bounded-t"):
        sy.compare(a, b, test="bounded-t")
    assert sy.compare(a, b, range=(0, 1)).test.name == "bounded-t"
    assert sy.compare(a, b, range=(0, 1), test="sign-flip").difference.interval.method == "t"  # type: ignore[union-attr]
    assert sy.compare(a, b).test.name == "sign-flip"


# Skewed differences


def gains(n: int) -> tuple[Rows, Rows]:
    """A small gain on every item. One item in twenty that falls by nearly all there is would undo it; with few items none need show."""
    first = np.linspace(0.05, 0.9, n)
    second = first + 0.05 + 0.01 * np.where(np.arange(n) % 2, 1, -1)
    return tuple([{"id": i, "score": float(x)} for i, x in enumerate(side)] for side in (first, second))  # type: ignore[return-value]


def test_small_gains_of_few_items_are_no_claim_where_the_range_is_known() -> None:
    a, b = gains(20)
    assert (sy.compare(a, b).p_value or 1) < 0.001
    assert (sy.compare(a, b, range=(0, 1)).p_value or 0) > 0.05


def test_without_a_range_a_claim_that_rare_losses_could_undo_is_marked() -> None:
    a, b = gains(20)
    assert any("sign-flip may be overconfident" in warning and "range=" in warning for warning in sy.compare(a, b).warnings)
    many = gains(400)
    assert not any("overconfident" in warning for warning in sy.compare(*many).warnings)
    assert not any("overconfident" in warning for warning in sy.compare(a, b, range=(0, 1)).warnings)


def test_a_guard_without_a_range_marks_what_rare_changes_could_undo() -> None:
    a, b = gains(20)
    sy.record(a, task="t", model="m", metric="mean")
    passed = sy.check(b, task="t", model="m", theta=0.02)
    assert passed.verdict == "pass"
    assert any("the pass may be overconfident" in warning and "range=" in warning for warning in passed.warnings)
    held = sy.check(b, task="t", model="m", theta=0.02, range=(0, 1))
    assert held.verdict == "inconclusive"
    assert held.test == "bounded-t"
    sy.record(b, task="back", model="m", metric="mean")
    worse = sy.check(a, task="back", model="m")
    assert worse.verdict == "regression"
    assert any("the test may be overconfident" in warning for warning in worse.warnings)
    assert sy.check(a, task="back", model="m", range=(0, 1)).verdict == "pass"


def test_a_range_that_scores_leave_or_that_means_nothing_is_told() -> None:
    a, b = gains(20)
    sy.record(a, task="t", model="m", metric="mean")
    with pytest.raises(sy.SteelyardError, match="range"):
        sy.check(b, task="t", model="m", range=(0, 0.5))
    with pytest.raises(UsageError, match="bare value"):
        sy.check(task="t", model="m", value=0.4, range=(0, 1))
    right = [{"id": i, "score": i % 2} for i in range(20)]
    sy.record(right, task="u", model="m")
    assert any("range was not used" in warning for warning in sy.check(right, task="u", model="m", range=(0, 1)).warnings)


def test_a_plan_from_pilot_runs_takes_the_spread_of_the_items_themselves() -> None:
    r = np.random.default_rng(2)
    a, b = (repeated(r.random((40, 4)) < 0.7) for _ in range(2))
    means = [np.array([row["score"] for row in side]).reshape(40, 4).mean(1) for side in (a, b)]
    planned = sy.plan_detect(pilot=[a, b], theta=0.05)
    assert f"{np.std(means[1] - means[0], ddof=1):.3g}" in str(planned.to_dict())


def test_what_is_said_of_runs_is_about_runs() -> None:
    """These very items are given: neither the threshold nor what is still needed speaks of other items."""
    r = np.random.default_rng(14)
    chance = r.beta(6, 2, 40)
    sy.record(repeated(r.random((40, 5)) < chance[:, None]), task="t", model="m")
    run = repeated(r.random((40, 1)) < (chance - 0.02)[:, None])
    v = sy.check(run, task="t", model="m", target="runs", theta=0.05)
    assert v.verdict == "inconclusive"
    assert v.needed is not None
    assert v.needed["items"] is None
    assert v.needed["repeats"] > 1
    assert "if runs vary as they do here" in v.needed["why"]
    assert v.details["threshold_note"] == "if the runs of an item vary as they do here"
    assert f"Needed: {v.needed['repeats']} repeats of each item" in " ".join(str(v).split())


def test_the_range_of_a_task_goes_with_its_run() -> None:
    """`run` writes the range of the task's scores beside the rows, and a check of the rows takes it from there."""
    from steelyard.reference.run_notes import RunNotes, write_run

    a, b = gains(20)
    sy.record(a, task="t", model="m", metric="mean")
    told = {
        "task": "t",
        "model": "m",
        "metric": "mean",
        "protocol": {},
        "seed": 0,
        "order": "random",
        "n": 20,
        "available": 20,
        "repeats": 1,
    }
    write_run(Path("plain.jsonl"), b, RunNotes(**told))
    write_run(Path("ranged.jsonl"), b, RunNotes(**told, range=[0, 1]))
    assert sy.check("plain.jsonl", task="t", model="m").test == "sign-flip"
    assert sy.check("ranged.jsonl", task="t", model="m").test == "bounded-t"
    assert sy.check("plain.jsonl", task="t", model="m", range=(0, 1)).p_value == sy.check("ranged.jsonl", task="t", model="m").p_value
    write_run(Path("odd.jsonl"), b, RunNotes(**told, range=[0, "1"]))
    with pytest.raises(sy.SteelyardError, match="range"):
        sy.check("odd.jsonl", task="t", model="m")
