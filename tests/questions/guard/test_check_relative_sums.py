"""Guards that ask for a share of a ratio of sums or of a perplexity: Fieller's t by hand, t of logs by hand, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from cases import every
from steelyard.errors import DataError, UsageError

Rows = list[dict[str, Any]]
Command = Callable[..., Any]
WORDS = [12, 30, 7, 18, 25, 9]
BEFORE, AFTER = [1, 2, 0, 3, 2, 1], [2, 3, 0, 3, 4, 1]
TOKENS = [100, 250, 80, 160, 120, 90]
LOSS_BEFORE, LOSS_AFTER = [205.0, 520.0, 170.0, 329.0, 250.0, 180.0], [210.0, 530.0, 171.0, 330.0, 257.0, 186.0]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(above: Any, below: Any, group: Any = None) -> Rows:
    found = [{"id": f"u{i}", "above": float(a), "below": float(b)} for i, (a, b) in enumerate(zip(above, below, strict=True))]
    return found if group is None else [{**row, "doc": int(each)} for row, each in zip(found, group, strict=True)]


def judged(before: Rows, after: Rows, metric: str = "wer", **asked: Any) -> sy.Verdict:
    group = {"group": "doc"} if "doc" in before[0] else {}
    again = {"update": True, "reason": "again"} if Path("references/t.yaml").exists() else {}
    sy.record(before, task="t", model="m", metric=metric, ratio="above/below", deterministic=True, **group, **again)
    return sy.check(after, task="t", model="m", **group, **asked)


def by_hand(before: tuple[Any, Any], after: tuple[Any, Any], ratio: float) -> tuple[float, float, int]:
    """r1 - ratio r0, the standard error of what each item adds to it, and the degrees of freedom."""
    (x, d), (y, e) = ((np.asarray(a, float), np.asarray(b, float)) for a, b in (before, after))
    r0, r1, n = x.sum() / d.sum(), y.sum() / e.sum(), len(x)
    linear = (y - r1 * e) / e.mean() - ratio * (x - r0 * d) / d.mean()
    return r1 - ratio * r0, math.sqrt((linear**2).sum() / (n * (n - 1))), n - 1


def fieller(before: tuple[Any, Any], after: tuple[Any, Any]) -> tuple[float, float]:
    """The two ratios at which t is at its 95% quantile, by the quadratic equation."""
    (x, d), (y, e) = ((np.asarray(a, float), np.asarray(b, float)) for a, b in (before, after))
    r0, r1, n = x.sum() / d.sum(), y.sum() / e.sum(), len(x)
    u, v = (x - r0 * d) / d.mean(), (y - r1 * e) / e.mean()
    k = stats.t.ppf(0.95, n - 1) ** 2 / (n * (n - 1))
    a, b, c = r0 * r0 - k * (u @ u), r0 * r1 - k * (u @ v), r1 * r1 - k * (v @ v)
    root = math.sqrt(b * b - a * c)
    return (b - root) / a, (b + root) / a


def speech(seed: int, factor: float = 1.0, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    of_items, of_run = np.random.default_rng(0), np.random.default_rng(seed)
    words, hard = np.round(of_items.lognormal(2.5, 0.6, n)) + 1, of_items.beta(2, 8, n)
    said = np.maximum(1, words + of_run.integers(-2, 3, n))  # an acceptance rate has its own number below the line in every run
    return of_run.binomial(said.astype(int), np.minimum(1, hard * factor)), said


# ---- ratios of sums ----------------------------------------------------------------------------------------------------------


def test_the_difference_of_the_study_is_the_ratio_of_one() -> None:
    """At a ratio of 1 the t is that of the difference: standard error and degrees of freedom worked out by another program."""
    assert by_hand((BEFORE, WORDS), (AFTER, WORDS), 1.0) == pytest.approx((0.03960396039603961, 0.01550157737199654, 5), abs=1e-9)
    almost = judged(rows(BEFORE, WORDS), rows(AFTER, WORDS), margin="0.0000001%")
    assert almost.p_value is not None
    assert almost.p_value > stats.t.sf(0.03960396039603961 / 0.01550157737199654, 5), "four changes of six tell little"


@every("share", [0.01, 0.05, 0.3])
def test_a_loss_is_at_most_so_much_of_its_reference(share: float) -> None:
    before, after = speech(1), speech(2, 1.2)
    found = judged(rows(*before), rows(*after), margin=f"{100 * share:g}%")
    away, error, df = by_hand(before, after, 1 + share)
    assert (found.test, found.higher_is_better) == ("fieller", False)
    assert found.p_value == pytest.approx(stats.t.sf(away / error, df), rel=1e-9)
    assert found.ratio is not None
    assert (found.ratio.lower, found.ratio.upper) == pytest.approx(fieller(before, after), rel=1e-9)
    assert found.ratio.interval is not None
    assert found.ratio.interval.method == "fieller"
    assert found.verdict == ("regression" if fieller(before, after)[0] >= 1 + share else "pass")


@every("recovery", [0.8, 0.9, 0.97])
def test_an_acceptance_rate_is_at_least_so_much_of_its_reference(recovery: float) -> None:
    before, after = speech(1), speech(2, 0.95)
    found = judged(rows(*before), rows(*after), metric="acceptance_rate", recovery=recovery)
    away, error, df = by_hand(before, after, recovery)
    low, high = fieller(before, after)
    assert found.p_value == pytest.approx(stats.t.cdf(away / error, df), rel=1e-9)
    assert found.verdict == ("regression" if high <= recovery else "pass" if low > recovery else "inconclusive")
    assert found.theta == pytest.approx((1 - recovery) * before[0].sum() / before[1].sum())


def test_theta_alone_leaves_the_test_of_no_change() -> None:
    before, after = speech(1), speech(2)
    found = judged(rows(*before), rows(*after), theta="50%")
    assert (found.test, found.verdict) == ("randomization", "pass")
    assert sy.check(rows(*after), task="t", model="m", theta="1%").verdict == "inconclusive"


def test_exchanging_the_sides_turns_the_ratio_over() -> None:
    one, other = speech(1), speech(2, 1.2)
    there, back = (judged(rows(*a), rows(*b), margin="5%").ratio for a, b in ((one, other), (other, one)))
    assert there is not None
    assert back is not None
    assert (1 / there.upper, 1 / there.lower) == pytest.approx((back.lower, back.upper), rel=1e-9)  # type: ignore[operator]


def test_groups_of_one_size_are_t_over_the_sums_of_the_groups() -> None:
    before, after, group = speech(1), speech(2, 1.3), np.repeat(np.arange(20), 4)
    found = judged(rows(*before, group), rows(*after, group), margin="5%")
    summed = [tuple(np.bincount(group, weights=column) for column in side) for side in (before, after)]
    away, error, df = by_hand(summed[0], summed[1], 1.05)
    assert (found.design, df) == ("clustered", 19)
    assert found.p_value == pytest.approx(stats.t.sf(away / error, df), rel=1e-9)
    assert found.ratio is not None
    assert (found.ratio.lower, found.ratio.upper) == pytest.approx(fieller(summed[0], summed[1]), rel=1e-9)


def test_a_run_without_a_change_shows_what_a_new_item_could_change_and_no_more() -> None:
    before = speech(1, n=1000)
    found = judged(rows(*before), rows(*before), recovery=0.5)
    assert found.ratio is not None
    assert found.ratio.estimate == 1
    assert found.difference.lower is not None
    value = before[0].sum() / before[1].sum()
    own = ((before[0] - value * before[1]) / before[1].mean()).var() / 999
    t = stats.t.ppf(0.95, 999)
    unseen = (found.difference.lower / t) ** 2  # where nothing changed, all that the bound of the difference is made of
    ratio = found.ratio.upper
    assert ratio is not None
    assert (ratio - 1) * value == pytest.approx(t * np.sqrt((ratio - 1) ** 2 * own + ratio**2 * unseen))  # Fieller's bound of the same
    assert found.verdict == "pass"
    assert sy.check(rows(*before), task="t", model="m", recovery=0.99).verdict == "inconclusive"


def test_items_that_all_have_one_ratio_show_no_bound() -> None:
    found = judged(rows([2] * 12, [8] * 12), rows([3] * 12, [8] * 12), recovery=0.9)
    assert found.verdict == "regression"
    assert found.p_value == pytest.approx(2**-12)
    assert found.ratio is not None
    assert found.ratio.upper is None
    assert found.ratio.lower == pytest.approx(1.1)  # what the test of the signs shows, and no more
    assert judged(rows([2] * 12, [8] * 12), rows([2] * 12, [8] * 12), recovery=0.9).verdict == "inconclusive"


# ---- perplexity --------------------------------------------------------------------------------------------------------------


def test_perplexity_is_t_of_the_log_of_the_ratio() -> None:
    found = judged(rows(LOSS_BEFORE, TOKENS), rows(LOSS_AFTER, TOKENS), metric="perplexity", margin="1%")
    away, error, df = by_hand((LOSS_BEFORE, TOKENS), (LOSS_AFTER, TOKENS), 1.0)
    assert (found.test, found.higher_is_better) == ("log-ratio", False)
    assert found.p_value == pytest.approx(stats.t.sf((away - math.log(1.01)) / error, df), rel=1e-9)
    reach = stats.t.ppf(0.95, df) * error
    assert found.ratio is not None
    ends = found.ratio.estimate, found.ratio.lower, found.ratio.upper
    assert ends == pytest.approx([math.exp(away + x) for x in (0, -reach, reach)], rel=1e-9)
    assert found.ratio.interval is not None
    assert found.ratio.interval.method == "log-ratio"


def test_the_perplexities_of_the_study() -> None:
    """The ratio and the standard error of its log worked out by another program; four items are too few for a verdict."""
    found = judged(rows(LOSS_BEFORE[:4], TOKENS[:4]), rows(LOSS_AFTER[:4], TOKENS[:4]), metric="perplexity", margin="2%")
    log, reach = math.log(1.0292326857461742), stats.t.ppf(0.95, 3) * 0.010178197982517226
    assert found.ratio is not None
    ends = found.ratio.estimate, found.ratio.lower, found.ratio.upper
    assert ends == pytest.approx([math.exp(log + x) for x in (0, -reach, reach)], abs=1e-9)
    quotient = found.details["quotient"]
    assert ends == pytest.approx((quotient["estimate"], quotient["low"], quotient["high"]))
    assert found.verdict == "inconclusive"


def test_perplexity_in_groups_and_without_a_change() -> None:
    rng, group = np.random.default_rng(3), np.repeat(np.arange(10), 6)
    tokens = rng.integers(50, 200, 60)
    before = tokens * rng.normal(2, 0.2, 60)
    after = before + tokens * (0.1 + np.repeat(rng.normal(0, 0.05, 10), 6))
    apart, together, same = (
        judged(rows(before, tokens, by), rows(run, tokens, by), metric="perplexity", recovery=0.9).ratio
        for by, run in ((None, after), (group, after), (None, before))
    )
    assert apart is not None
    assert together is not None
    assert same is not None
    assert apart.estimate == pytest.approx(together.estimate)
    assert together.upper - together.lower > apart.upper - apart.lower  # type: ignore[operator]
    assert same.lower < 1 == same.estimate < same.upper  # type: ignore[operator]
    assert same.lower * same.upper == pytest.approx(1)  # type: ignore[operator]


# ---- what is refused, and what is said ---------------------------------------------------------------------------------------


def test_a_reference_of_0_or_not_clear_of_it_and_sums_below_0_are_refused() -> None:
    words = [10] * 20
    with pytest.raises((UsageError, DataError), match="reference above 0"):
        judged(rows([0] * 20, words), rows([1] * 20, words), margin="5%")
    one = [1] + [0] * 19
    for run in (one, [2, 1] * 10):
        with pytest.raises(DataError, match=r"0\.005 is not significantly different from 0"):
            judged(rows(one, words), rows(run, words), margin="5%")
    with pytest.raises(UsageError, match="means nothing for sums of -1"):
        judged(rows([3] * 19 + [-1], words), rows([3] * 20, words), margin="5%")
    labels = [{"id": i, "truth": i % 2, "prediction": (i // 3) % 2} for i in range(40)]
    sy.record(labels, task="f", model="m", metric="f1", positive=1, deterministic=True)
    with pytest.raises(UsageError, match="or a ratio of sums, not f1"):
        sy.check(labels, task="f", model="m", margin="5%")


def test_json_comes_back_and_the_command_says_the_same(home: Path, steelyard: Command) -> None:
    before, after = rows(*speech(1)), rows(*speech(2, 1.3))
    found = judged(before, after, recovery=0.95)
    assert sy.Verdict.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    (home / "run.json").write_text(json.dumps(after))
    ask = ("check", "run.json", "--task", "t", "--model", "m")
    told = steelyard(*ask, "--recovery", ".95", "--format", "json")
    assert (told.code, told.json["test"], told.json["ratio"]) == (1, "fieller", found.to_dict()["ratio"])
    shown = steelyard(*ask, "--margin", "5%")
    assert "Share of the reference" in shown.out
    assert "above 105% of it" in " ".join(shown.out.split())
    (home / "zero.json").write_text(json.dumps([{**row, "above": -1.0} for row in after]))
    assert steelyard("check", "zero.json", "--task", "t", "--model", "m", "--margin", "5%").code == 3


def test_the_page_of_a_perplexity_says_the_share_once(home: Path, steelyard: Command) -> None:
    judged(rows(LOSS_BEFORE, TOKENS), rows(LOSS_AFTER, TOKENS), metric="perplexity")
    (home / "run.json").write_text(json.dumps(rows(LOSS_AFTER, TOKENS)))
    plain, share = (steelyard("check", "run.json", "--task", "t", "--model", "m", *more).out for more in ((), ("--margin", "5%")))
    assert ("Run / reference" in plain, "Share of the reference" in plain) == (True, False)
    assert ("Run / reference" in share, "Share of the reference" in share) == (False, True)
