"""Trying to get a wrong verdict out of `check`: odd scales, directions, sizes, ids and suites. What must come out is worked out by hand."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.errors import SteelyardError
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.questions.suite.check_suite import check_suite

Rows = list[dict[str, Any]]
BASE = [1] * 150 + [0] * 50


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(scores: Any, **columns: Any) -> Rows:
    return [{"id": f"q{i}", "score": s, **{name: column[i] for name, column in columns.items()}} for i, s in enumerate(scores)]


def recorded(*runs: Rows, **options: Any) -> sy.Recorded:
    return sy.record(*runs, task="t", model="m", **{"deterministic": True, **options})


def checked(run: Rows | None = None, **options: Any) -> sy.Verdict:
    return sy.check(run, task="t", model="m", **options)


def lost(n: int, base: list[int] | None = None) -> list[int]:
    scores = list(BASE if base is None else base)
    scores[:n] = [0] * n
    return scores


# Few items, all right, all wrong


@pytest.mark.parametrize("right", range(6))
def test_every_run_of_up_to_five_items_agrees_with_the_coin(right: int) -> None:
    """Five items, `right` of them right on record; every possible run."""
    reference = [1] * right + [0] * (5 - right)
    recorded(rows(reference))
    for run in itertools.product((0, 1), repeat=5):
        worse = sum(a > b for a, b in zip(reference, run, strict=True))
        better = sum(a < b for a, b in zip(reference, run, strict=True))
        verdict = checked(rows(run))
        possible = mcnemar_midp(0, right, "less") <= 0.05
        red = mcnemar_midp(better, worse, "less") <= 0.05
        assert verdict.verdict == ("regression" if red else "pass" if possible else "inconclusive"), (reference, run)


@pytest.mark.parametrize("options", [{}, {"theta": 0.5}, {"theta": 0.9, "margin": 0.1}], ids=str)
def test_one_item_decides_nothing(options: dict[str, Any]) -> None:
    recorded(rows([1]))
    for score in (0, 1):
        assert checked(rows([score]), **options).verdict == "inconclusive"


def test_nothing_can_be_lost_of_a_reference_that_has_nothing_right() -> None:
    recorded(rows([0] * 50))
    for run in ([0] * 50, [1] * 50):
        assert checked(rows(run)).verdict == "inconclusive"
    with pytest.raises(SteelyardError):  # a number alone of 0 shows no spread
        checked(value=0.0)


# Scales


@pytest.mark.parametrize("metric", ["accuracy", "error"])
@pytest.mark.parametrize("n", [0, 3, 4, 12])
def test_percent_and_fraction_give_the_same_verdict(metric: str, n: int) -> None:
    found = []
    for scale, unit in (("fraction", 1), ("percent", 100)):
        recorded(rows(BASE), metric=metric, scale=scale, update=scale == "percent", reason="x")
        verdict = checked(rows(lost(n)), theta=0.1 * unit)
        numbers = (verdict.candidate["value"], verdict.threshold, *(verdict.difference[key] for key in ("estimate", "lower", "upper")))
        found.append((verdict.verdict, verdict.p_value, [None if x is None else x / unit for x in numbers]))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2])


def test_the_same_items_with_scores_of_a_hundred_are_refused_never_compared() -> None:
    for scale in ("fraction", "percent", "raw"):
        recorded(rows(BASE), scale=scale, update=True, reason="x")
        with pytest.raises(SteelyardError, match="scale"):
            checked(rows([100 * s for s in lost(40)]))


def test_percentages_item_by_item_are_not_compared_with_fractions() -> None:
    scores = [50, 40, 30, 60] * 10
    recorded(rows(scores), metric="mean", scale="percent")
    with pytest.raises(SteelyardError, match=r"A score of 60 does not fit a reference in scale percent\."):
        checked(rows([s / 100 for s in scores]))


@pytest.mark.parametrize("scale", ["percent", "raw"])
def test_scores_that_fell_to_zero_are_a_regression_and_no_other_scale(scale: str) -> None:
    """0 is 0 in every scale: a model that answers nothing is worse, not mistaken for one in fractions."""
    recorded(rows([50, 40, 30, 60] * 10), metric="mean", scale=scale)
    assert checked(rows([0] * 40)).verdict == "regression"


def test_ratings_that_fell_to_the_lowest_are_a_regression() -> None:
    recorded(rows([5, 4, 3, 5] * 10), metric="mean")
    verdict = checked(rows([1] * 40))
    assert (verdict.verdict, verdict.scale) == ("regression", "raw")


def test_an_undeclared_percentage_of_nothing_but_zeros_is_a_regression() -> None:
    Path("references").mkdir()
    Path("references/t.yaml").write_text("m:\n- accuracy: 66.2\n  num_samples: 40\n  sigma: 50\n", encoding="utf-8")
    assert checked(rows([0] * 40)).verdict == "regression"
    with pytest.raises(SteelyardError, match="scale"):
        checked(rows(lost(0)[:40]))


# Directions


@pytest.mark.parametrize(("name", "sign"), [("wer", -1), ("cer", -1), ("mean", 1), ("rouge1", 1)])
def test_up_is_good_or_bad_by_the_name_and_the_verdict_follows(name: str, sign: int) -> None:
    scores = np.array([3.0, 2.0, 1.0, 4.0] * 10)
    recorded(rows(scores), metric=name)
    assert checked(rows(scores - 0.5 * sign)).verdict == "regression"
    assert checked(rows(scores + 0.5 * sign)).verdict == "pass"


@pytest.mark.parametrize("sign", [1, -1])
def test_negative_scores_keep_their_direction(sign: int) -> None:
    scores = -np.array([3.0, 2.0, 1.0, 4.0] * 10)
    recorded(rows(scores), metric="mean", higher_is_better=sign > 0)
    assert checked(rows(scores - 0.5 * sign)).verdict == "regression"
    assert checked(rows(scores + 0.5 * sign)).verdict == "pass"
    value = float(scores.mean())
    assert checked(value=value - sign, sigma=1).verdict == "regression"
    assert checked(value=value + sign, sigma=1).verdict == "pass"


def test_errors_and_accuracy_of_one_run_have_one_verdict() -> None:
    for n in range(12):
        both = []
        for metric in ("accuracy", "error"):
            sy.record(rows(BASE), task=metric, model="m", metric=metric, deterministic=True, update=n > 0, reason="x")
            both.append(sy.check(rows(lost(n)), task=metric, model="m", theta=0.05))
        assert both[0].verdict == both[1].verdict
        assert both[0].p_value == both[1].p_value
        assert both[0].difference["lower"] == pytest.approx(both[1].difference["lower"])


# Names of metrics, ids, groups, missing answers


def test_an_alias_is_the_metric_on_record_and_another_metric_is_not() -> None:
    recorded(rows(BASE))
    assert checked(rows(BASE), metric="acc").verdict == "pass"
    with pytest.raises(SteelyardError, match="The reference has metric 'accuracy', so it cannot be checked with"):
        checked(rows(BASE), metric="mean")


@pytest.mark.parametrize("n", [0, 3, 4, 30])
def test_hashed_ids_change_nothing(n: int) -> None:
    verdicts = []
    for ids in ("kept", "hashed"):
        recorded(rows(BASE), ids=ids, update=ids == "hashed", reason="x")
        verdicts.append(checked(rows(lost(n))))
    assert verdicts[0].verdict == verdicts[1].verdict
    assert verdicts[0].threshold == verdicts[1].threshold
    assert {item["id"] for item in verdicts[1].changed_items} == {f"q{i}" for i in range(n)}


def test_items_that_are_left_out_never_make_a_pass_silently() -> None:
    recorded(rows(BASE))
    right_ones = rows(BASE)[:20]
    with pytest.raises(SteelyardError, match=r"only in the reference|unmatched='drop'"):
        checked(right_ones)
    verdict = checked(right_ones, unmatched="drop")
    assert any("left out" in said for said in verdict.warnings)
    gaps = [{**row, "score": None} if i < 30 else row for i, row in enumerate(rows(BASE))]
    with pytest.raises(SteelyardError, match=r"30 of 200 items have no score, the first in row 1\."):
        checked(gaps)
    assert checked(gaps, missing="wrong").verdict == "regression"


def test_one_item_given_twice_is_refused() -> None:
    recorded(rows(BASE))
    with pytest.raises(SteelyardError, match="duplicate"):
        checked(rows(BASE) + rows(BASE)[150:])


@pytest.mark.parametrize("bad", [math.inf, -math.inf])
def test_infinite_scores_are_refused(bad: float) -> None:
    recorded(rows([0.5, 0.25] * 20), metric="mean")
    with pytest.raises(SteelyardError, match="Infinite score in row 1:"):
        checked(rows([bad, 0.25] * 20))


def test_groups_of_either_side_are_used() -> None:
    """One group of eight lost as a whole is one loss, not eight."""
    group = [f"g{i // 8}" for i in range(40)]
    base, run = [1] * 20 + [0] * 20, [0] * 8 + [1] * 12 + [0] * 20
    for before, now in (({"group": group}, {}), ({}, {"group": group})):
        sy.record(rows(base, **before), task="t", model="m", deterministic=True, update=bool(now), reason="x")
        verdict = checked(rows(run, **now))
        assert verdict.design == "clustered"
        assert verdict.verdict != "regression"


# Suites


def written(name: str, scores: list[int]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows(scores)), encoding="utf-8")
    return name


def suite(*checks: str, head: str = "", today: datetime.date = datetime.date(2026, 11, 17)) -> sy.Suite:
    text = f"[suite]\n{head}\n" + "".join(f'[[checks]]\nmodel = "m"\n{check}\n' for check in checks)
    Path("s.toml").write_text(text, encoding="utf-8")
    return check_suite("s.toml", today=today)


@pytest.fixture
def four() -> None:
    written("base.jsonl", BASE)
    for n in (4, 5, 6, 12):
        written(f"lost{n}.jsonl", lost(n))
    for task in "abcd":
        sy.record("base.jsonl", task=task, model="m", deterministic=True)


@pytest.mark.usefixtures("four")
def test_a_check_listed_five_times_does_not_hide_what_it_finds() -> None:
    """p = 1/64 alone is a regression; five times p in the correction would not be one."""
    once = 'task = "a"\nresult = "lost5.jsonl"'
    assert suite(once).verdict == "regression"
    with pytest.raises(SteelyardError, match=r"In the suite 's\.toml', check 2 asks the same as check 1 \(a, m\)\."):
        suite(*[once] * 5)
    assert suite(once, 'task = "a"\nresult = "base.jsonl"').verdict == "regression"


@pytest.mark.usefixtures("four")
def test_holm_over_four_guards_by_hand() -> None:
    """Losses of 4, 5, 6 and 12 have p = 2^-5, 2^-6, 2^-7, 2^-13; Holm compares them with .05/1, /2, /3 and /4 from the largest."""
    holm = 'correction = "holm"'
    found = suite(*[f'task = "{task}"\nresult = "lost{n}.jsonl"' for task, n in zip("abcd", (4, 5, 6, 12), strict=True)], head=holm)
    assert [row["p_adjusted"] for row in found.rows] == pytest.approx([2**-5, 2 * 2**-6, 3 * 2**-7, 4 * 2**-13])
    assert [row["counts_as"] for row in found.rows] == ["regression"] * 4
    four_alike = suite(*[f'task = "{task}"\nresult = "lost4.jsonl"' for task in "abcd"], head=holm)
    assert four_alike.verdict == "pass"
    assert len([said for said in four_alike.warnings if "significant on its own" in said]) == 4
    with_theta = suite(*[f'task = "{task}"\nresult = "lost4.jsonl"\ntheta = 0.1' for task in "abcd"], head=holm)
    assert with_theta.verdict == "inconclusive"


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(("until", "verdict"), [("2026-11-17", "pass"), ("2026-11-16", "regression")])
def test_a_waiver_holds_until_its_day_and_stays_in_the_family(until: str, verdict: str) -> None:
    waived = f'task = "a"\nresult = "lost12.jsonl"\nwaiver = {{reason = "bug 1", until = {until}}}'
    found = suite(waived, 'task = "b"\nresult = "base.jsonl"', head='correction = "holm"')
    assert found.verdict == verdict
    assert found.rows[0]["p_adjusted"] == pytest.approx(2 * 2**-13)
    together = suite(waived, 'task = "b"\nresult = "base.jsonl"')  # b has no item that differs: it is no part of the family
    assert together.verdict == verdict
    assert together.rows[0]["p_adjusted"] == pytest.approx(2**-13)


@pytest.mark.usefixtures("four")
def test_a_guard_that_cannot_fail_keeps_a_suite_from_passing() -> None:
    Path("references/e.yaml").write_text("m:\n- accuracy: 5.0\n  num_samples: 20\n  scale: percent\n  sigma: 50\n", encoding="utf-8")
    assert suite('task = "a"\nresult = "base.jsonl"', 'task = "e"\nvalue = 5.0').verdict == "inconclusive"


def test_a_run_without_a_single_score_counts_as_wrong_in_silence(tmp_path: Path) -> None:
    """NumPy warns of a slice without numbers, and a warning is an error here."""
    where: dict[str, Any] = {"task": "t", "model": "m", "directory": tmp_path}
    sy.record([{"id": f"q{i}", "score": float(i % 3 > 0)} for i in range(30)], **where)
    found = sy.check([{"id": f"q{i}", "score": None} for i in range(30)], missing="wrong", **where)
    assert found.verdict == "regression"
