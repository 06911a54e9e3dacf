"""Guards that ask for a share of the reference: the same numbers as the ratio by hand, in every scale and design, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

import steelyard as sy
from steelyard.errors import DataError, UsageError
from steelyard.infer.paired.ratio import ShareRatio
from steelyard.questions.suite.check_suite import check_suite

Rows = list[dict[str, Any]]
Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcomes(both: int, gained: int, lost: int, n: int) -> tuple[Rows, Rows]:
    """The items of a reference and of a run with so many right on both sides, or on one."""
    kinds = [(1, 1)] * both + [(0, 1)] * gained + [(1, 0)] * lost + [(0, 0)] * (n - both - gained - lost)
    return tuple([{"id": f"q{i}", "score": pair[side]} for i, pair in enumerate(kinds)] for side in (0, 1))  # type: ignore[return-value]


def guarded(table: tuple[int, int, int, int], record: dict[str, Any] | None = None, **asked: Any) -> sy.Verdict:
    before, after = outcomes(*table)
    sy.record(before, task="t", model="m", **(record or {}))
    return sy.check(after, task="t", model="m", **asked)


TABLES = [(860, 20, 35, 1000), (70, 5, 8, 100), (43, 0, 1, 44), (300, 10, 40, 400)]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("scale", ["fraction", "percent"])
def test_right_or_wrong_is_the_score_test_of_the_ratio(table: tuple[int, int, int, int], scale: str) -> None:
    both, gained, lost, n = table
    oracle = ShareRatio(both=both, gained=gained, lost=lost, n=n)
    low, high = oracle.interval(0.9)
    for share in (0.01, 0.05, 0.1):
        found = guarded(
            table,
            record={"scale": scale, "update": True, "reason": "again"} if Path("references").exists() else {"scale": scale},
            recovery=1 - share,
        )
        unit = 100 if scale == "percent" else 1
        assert found.test == "ratio-score"
        assert found.p_value == pytest.approx(oracle.p_value(1 - share, "less"))
        assert found.ratio is not None
        assert (found.ratio.estimate, found.ratio.lower, found.ratio.upper) == pytest.approx((oracle.estimate, low, high))
        assert found.margin == found.theta == pytest.approx(share * unit * (both + lost) / n)
        assert (found.margin_relative, found.theta_relative) == (pytest.approx(share), pytest.approx(share))
        wanted = "regression" if high <= 1 - share else "pass" if low > 1 - share else "inconclusive"
        assert found.verdict == wanted


def test_theta_alone_leaves_the_test_of_no_change_and_asks_the_ratio_for_a_pass() -> None:
    strict = guarded((860, 20, 25, 1000), theta="1%")
    assert strict.test == "mcnemar-midp"
    assert strict.verdict == "inconclusive"
    assert strict.needed is not None
    assert strict.needed["items"] > 1000
    assert sy.check(outcomes(860, 20, 25, 1000)[1], task="t", model="m", theta="5%").verdict == "pass"


@pytest.mark.parametrize("up", [True, False])
def test_the_bounds_of_the_ratio_say_what_p_says(up: bool) -> None:
    """Five scores in a hundred worse by a little: shown by their signs, which the wide bounds of the ratio must not deny."""
    scores = 0.3 + 0.4 * np.random.default_rng(2).random(100)
    now = scores + np.where(np.arange(100) < 5, -0.1 if up else 0.1, 0.0)
    before, after = ([{"id": i, "score": score} for i, score in enumerate(side.tolist())] for side in (scores, now))
    sy.record(before, task="t", model="m", higher_is_better=up)
    found = sy.check(after, task="t", model="m", theta="5%")
    assert found.verdict == "regression"
    assert found.ratio is not None
    assert found.ratio.upper == pytest.approx(1) if up else found.ratio.lower == pytest.approx(1)


def test_the_items_needed_for_a_share_count_the_two_at_the_ends_in() -> None:
    """A noise of .05 and theta of .01 x .5: without them 600 items are said to be enough, and half of healthy runs pass; with them .8."""
    rng = np.random.default_rng(1)
    scores = 0.3 + 0.4 * rng.random(100)
    before, after = ([{"id": i, "score": s} for i, s in enumerate(side.tolist())] for side in (scores, scores + rng.normal(0, 0.05, 100)))
    sy.record(before, task="t", model="m", metric="mean", scale="raw")
    found = sy.check(after, task="t", model="m", theta="1%")
    assert found.needed is not None
    sd = float(np.std([b["score"] - a["score"] for a, b in zip(before, after, strict=True)], ddof=1))
    plain = (1.645 + 0.8416) ** 2 * (sd / (0.01 * float(scores.mean()))) ** 2
    assert 1.2 * plain < found.needed["items"] < 3 * plain


def test_a_guard_that_no_run_could_fail_says_so_and_how_many_items_could() -> None:
    """Half of the items are right on record; a run that loses them all has z = sqrt(right answers times the share asked for)."""
    nothing = "no outcome on these items could have been a regression; even the worst run would not be shown to be below 5% of it."
    found = guarded((30, 0, 0, 60), recovery=0.05)
    assert (found.verdict, found.conclusion.split(": ", 1)[1]) == ("inconclusive", nothing)
    assert found.needed is not None
    assert found.needed["items"] == 109  # 54.1 right answers
    for n, verdict in ((108, "inconclusive"), (110, "regression")):
        again = {"update": True, "reason": "more items"}
        assert guarded((0, 0, n // 2, n), record=again, recovery=0.05).verdict == verdict
    never = guarded((30, 0, 0, 60), record={"update": True, "reason": "as before"}, margin=0.6, theta=0.7)
    assert (never.verdict, never.needed["items"]) == ("inconclusive", None)  # type: ignore[index]


def test_for_an_error_rate_the_share_is_of_the_wrong_answers() -> None:
    """40 wrong on record, 60 in the run: 150% of the reference, whatever the right answers are."""
    before, after = outcomes(930, 10, 30, 1000)
    sy.record(before, task="t", model="m", metric="error")
    found = sy.check(after, task="t", model="m", margin="10%")
    oracle = ShareRatio(both=30, gained=30, lost=10, n=1000)
    assert found.ratio is not None
    assert found.ratio.estimate == pytest.approx(60 / 40)
    assert found.p_value == pytest.approx(oracle.p_value(1.1, "greater"))
    assert found.verdict == "regression"
    assert "above 110% of it" in found.conclusion


def scores(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    x = r.beta(5, 2, n)
    return x, np.clip(0.96 * x + r.normal(0, 0.04, n), 0, 1)


def rows(values: np.ndarray, **more: Any) -> Rows:
    return [{"id": f"q{i}", "score": float(value)} | {key: column[i] for key, column in more.items()} for i, value in enumerate(values)]


def test_scores_are_fieller_s_t_with_an_item_at_either_end() -> None:
    x, y = scores()
    sy.record(rows(x), task="t", model="m")
    found = sy.check(rows(y), task="t", model="m", margin="5%")
    oracle = stats.ttest_1samp(np.concatenate([y - 0.95 * x, [1, -1]]), 0, alternative="less").pvalue
    assert found.test == "fieller"
    assert found.p_value == pytest.approx(oracle)


def test_scores_in_groups_are_wider_than_the_same_items_apart() -> None:
    x, y = scores()
    group = np.repeat(np.arange(20), 6)
    y = np.clip(y + np.repeat(np.random.default_rng(3).normal(0, 0.05, 20), 6), 0, 1)
    sy.record(rows(x, doc=group), task="apart", model="m")
    sy.record(rows(x, doc=group), task="together", model="m", group="doc")
    apart = sy.check(rows(y, doc=group), task="apart", model="m", margin="5%").ratio
    together = sy.check(rows(y, doc=group), task="together", model="m", margin="5%", group="doc").ratio
    assert apart is not None
    assert together is not None
    assert apart.estimate == pytest.approx(together.estimate)
    assert together.upper - together.lower > apart.upper - apart.lower  # type: ignore[operator]


@pytest.mark.parametrize("asked", [{"theta": "10%"}, {"margin": "1%", "theta": "10%"}, {"recovery": 0.9}])
def test_one_group_is_not_judged_alone_or_as_a_slice(asked: dict[str, Any]) -> None:
    """It shows no spread between groups, so that any share is possible."""
    x = np.random.default_rng(3).uniform(0.5, 1, 120)
    group = np.repeat(np.arange(12), 10)
    before, after = (rows(scores, doc=group, lang=np.where(group, "en", "de")) for scores in (x, x - 0.01))
    sy.record(before, task="t", model="m", group="doc")
    sliced = sy.check(after, task="t", model="m", group="doc", by="lang", **asked)
    alone, others = sliced.slices
    assert (alone.value, alone.note, others.note) == ("de", "1 group is too few", "")
    assert alone.ratio is not None
    assert others.ratio is not None
    assert others.ratio.lower is not None
    assert (alone.ratio.lower, alone.ratio.upper) == (0.0, None)
    assert others.ratio.lower > 0
    sy.record(before[:10], task="one", model="m", group="doc")
    whole = sy.check(after[:10], task="one", model="m", group="doc", **asked)
    assert whole.verdict == "inconclusive"
    assert "1 group is too few" in whole.conclusion


def test_several_runs_are_means_of_items() -> None:
    r = np.random.default_rng(5)
    chance = r.beta(6, 1, 150)
    runs = [(r.random(150) < chance).astype(float) for _ in range(4)]
    sy.record(*[rows(run) for run in runs[:3]], task="t", model="m")
    found = sy.check(rows(runs[3]), task="t", model="m", recovery=0.9)
    assert found.test == "fieller"
    assert found.ratio is not None
    assert found.ratio.estimate == pytest.approx(runs[3].mean() / np.mean(runs[:3]))


def test_a_bare_number_is_judged_by_two_samples() -> None:
    sy.record(outcomes(800, 0, 0, 1000)[0], task="t", model="m", items=False)
    found = sy.check(value=0.7, task="t", model="m", num_samples=1000, recovery=0.95, sigma=0.4)
    error = np.sqrt(0.4**2 / 1000 + 0.95**2 * 0.4**2 / 1000)
    assert found.p_value == pytest.approx(stats.norm.cdf((0.7 - 0.95 * 0.8) / error))
    assert found.verdict == "regression"
    assert sy.check(value=0.8, task="t", model="m", num_samples=1000, recovery=0.9, sigma=0.4).verdict == "pass"
    absolute = sy.check(value=0.7, task="t", model="m", num_samples=1000, sigma=0.4)  # the bounds of the difference are the same
    assert (found.difference.lower, found.difference.standard_error) == (absolute.difference.lower, absolute.difference.standard_error)


def test_the_entry_the_task_and_the_suite_may_say_it(home: Path) -> None:
    before, after = outcomes(860, 20, 35, 1000)
    sy.record(before, task="t", model="m", theta="3%", margin="1%")
    entry = yaml.safe_load(Path("references/t.yaml").read_text())["m"][0]
    assert (entry["theta"], entry["margin"]) == ("3%", "1%")
    assert sy.check(after, task="t", model="m").theta_relative == pytest.approx(0.03)
    sy.record(before, task="t", model="m", update=True, reason="again")
    assert yaml.safe_load(Path("references/t.yaml").read_text())["m"][0]["theta"] == "3%"  # what a person set is kept
    sy.record(before, task="u", model="m")
    (home / "steelyard.toml").write_text('[tasks.u]\ntheta = "4%"\n')
    assert sy.check(after, task="u", model="m").theta_relative == pytest.approx(0.04)
    (home / "run.json").write_text(json.dumps(after))
    (home / "suite.toml").write_text('[[checks]]\ntask = "u"\nmodel = "m"\nresult = "run.json"\nrecovery = 0.9\n')
    suite = check_suite("suite.toml")
    assert suite.verdicts[0].margin_relative == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"margin": "5%", "theta": 0.02}, "margin is a share of the reference"),
        ({"recovery": 0.9, "theta": "1%"}, "recovery= stands for"),
        ({"recovery": 1.0}, "below 1"),
        ({"theta": "0%"}, "a share above 0"),
        ({"margin": "100%"}, "below 100"),
        ({"margin": "five%"}, "margin"),
        ({"theta": "1%", "margin": "5%"}, "below the margin"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        guarded((860, 20, 35, 1000), **asked)


def test_what_has_no_ratio_is_refused() -> None:
    before, after = outcomes(0, 3, 0, 50)
    sy.record(before, task="zero", model="m")
    with pytest.raises((UsageError, DataError), match="reference above 0"):
        sy.check(after, task="zero", model="m", margin="5%")
    x, y = scores()
    sy.record(rows(x - 0.9), task="signed", model="m")
    with pytest.raises(UsageError, match="0"):
        sy.check(rows(y - 0.9), task="signed", model="m", margin="5%")
    sy.record(rows(1 + 4 * x), task="rated", model="m")
    with pytest.raises(UsageError, match="begin at 1"):
        sy.check(rows(1 + 4 * y), task="rated", model="m", margin="5%", range=(1, 5))


def test_json_comes_back_and_the_command_says_the_same(home: Path, steelyard: Command) -> None:
    found = guarded((860, 20, 35, 1000), recovery=0.95)
    assert sy.Verdict.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    (home / "run.json").write_text(json.dumps(outcomes(860, 20, 35, 1000)[1]))
    told = steelyard("check", "run.json", "--task", "t", "--model", "m", "--recovery", ".95", "--format", "json")
    assert told.code == 0
    assert json.loads(told.out)["ratio"]["estimate"] == pytest.approx(880 / 895)
    shown = steelyard("check", "run.json", "--task", "t", "--model", "m", "--margin", "5%")
    assert "Share of the reference" in shown.out
    wrong = steelyard("check", "run.json", "--task", "t", "--model", "m", "--margin", "x")
    assert wrong.code == 3


def test_a_run_exactly_at_theta_needs_no_endless_number_of_items() -> None:
    found = guarded((900, 0, 50, 1000), theta=0.05, margin=0.05)
    assert found.verdict == "inconclusive"
    assert found.needed is not None


@pytest.mark.parametrize("reference", [1.2, 80])
def test_a_plan_for_a_share_of_right_answers_refuses_more_than_all(reference: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        sy.plan_detect(theta="1%", reference=reference, churn=0.05)


def test_a_plan_for_a_share_is_the_plan_for_the_drop_that_it_is() -> None:
    relative = sy.plan_detect(theta="5%", reference=0.8, churn=0.05)
    assert relative.n == sy.plan_detect(theta=0.04, churn=0.05).n
    assert relative.details["theta_relative"] == pytest.approx(0.05)
    assert "5% of a reference of 0.8" in relative.conclusion
    with pytest.raises(UsageError, match="whose score is not known"):
        sy.plan_detect(theta="5%", churn=0.05)
    with pytest.raises(UsageError, match="share of it"):
        sy.plan_detect(theta=0.05, churn=0.05, reference=0.8)
