"""Metrics that are no plain mean, on record: tries, ratios, perplexity, weights; with margins, and against numbers worked out elsewhere."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.infer.paired.bounded_t import bounded_t
from steelyard.metrics.repeats import pass_at_k, pass_hat_k

Rows = list[dict[str, Any]]
WORDS = [12, 30, 7, 18, 25, 9]
TOKENS = [100, 250, 80, 160]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sums(above: Any, below: Any) -> Rows:
    return [{"id": f"q{i}", "above": a, "below": b} for i, (a, b) in enumerate(zip(above, below, strict=True))]


# ---- numbers of a separate program, in which every formula was written anew -------------------------------------------------


def test_the_chance_of_tries_by_two_binomials() -> None:
    """n tries, c right, k: C(c, k) / C(n, k) and 1 - C(n - c, k) / C(n, k), by another program's whole numbers."""
    for n, c, k, all_right, one_right in ((8, 6, 4, 3 / 14, 1.0), (4, 3, 2, 0.5, 1.0), (8, 8, 8, 1.0, 1.0)):
        assert pass_hat_k(np.array([c]), np.array([n]), k)[0] == pytest.approx(all_right, abs=1e-12)
        assert pass_at_k(np.array([c]), np.array([n]), k)[0] == pytest.approx(one_right, abs=1e-12)


def test_the_difference_of_two_word_error_rates() -> None:
    found = sy.compare(sums([1, 2, 0, 3, 2, 1], WORDS), sums([2, 3, 0, 3, 4, 1], WORDS), ratio="above/below")
    assert found.difference.estimate == pytest.approx(0.03960396039603961, abs=1e-9)
    assert found.difference.standard_error == pytest.approx(0.01550157737199654, abs=1e-9)
    interval = found.difference.interval
    assert interval is not None
    assert interval.high > 0.03960396039603961 + stats.t.ppf(0.975, 5) * 0.01550157737199654, "four changes of six tell little"


def test_the_log_of_a_ratio_of_perplexities() -> None:
    past, run = sums([205.0, 520.0, 170.0, 329.0], TOKENS), sums([210.0, 530.0, 171.0, 330.0], TOKENS)
    found = sy.compare(past, run, ratio="above/below")
    assert math.exp(found.difference.estimate or 0) == pytest.approx(1.0292326857461742, abs=1e-9)
    assert found.difference.standard_error == pytest.approx(0.010178197982517226, abs=1e-9)


def test_bounds_of_a_mean_difference_where_few_items_differ() -> None:
    """30 items of which 4 differ, one more at either end of the range: the one-sided bounds of level .95."""
    found = bounded_t([0] * 25 + [-1 / 3, -0.5, 0, 0.25, -1], 1.0).interval(0.9)
    assert found == pytest.approx((-0.147939725958893, 0.04898139262555965), abs=1e-9)


# ---- margins -----------------------------------------------------------------------------------------------------------------


def runs(seed: int, times: float, n: int = 60) -> Rows:
    rng = np.random.default_rng(seed)
    words = np.random.default_rng(0).integers(5, 40, n)
    return sums(rng.binomial(words, np.minimum(1, 0.08 * times)), words)


@every(("metric", "margin"), [("ratio", 0.02), ("perplexity", 0.02), ("wer", 0.02)])
def test_a_margin_is_held_against_the_linearised_difference_by_t(metric: str, margin: float) -> None:
    past, run = runs(1, 1.0), runs(2, 1.8)
    if metric != "perplexity":  # another number of words than on record, as of what was drafted and accepted
        run = [row | {"below": row["below"] + i % 3} for i, row in enumerate(run)]
    task = f"t{metric}"
    sy.record(past, task=task, model="m", metric=metric, ratio="above/below", deterministic=True)
    verdict = sy.check(run, task=task, model="m", margin=margin)
    (e0, w0), (e1, w1) = ((np.array([r["above"] for r in side]), np.array([r["below"] for r in side])) for side in (past, run))
    r0, r1 = e0.sum() / w0.sum(), e1.sum() / w1.sum()
    scale = (math.exp(r0), math.exp(r1)) if metric == "perplexity" else (1.0, 1.0)
    effect = scale[1] * (e1 - r1 * w1) / w1.mean() - scale[0] * (e0 - r0 * w0) / w0.mean()
    n = len(effect)
    error = math.sqrt((effect**2).sum() / (n * (n - 1)))
    difference = math.exp(r1) - math.exp(r0) if metric == "perplexity" else r1 - r0
    assert verdict.test == "t"
    assert verdict.p_value == pytest.approx(stats.t.sf((difference - margin) / error, n - 1), rel=1e-6)
    assert verdict.verdict == ("regression" if verdict.p_value <= 0.05 else "pass")
    assert sy.check(run, task=task, model="m", margin=1.0).p_value > 0.999
    assert sy.check(past, task=task, model="m", margin=margin).p_value == 1


def test_a_margin_of_errors_in_the_same_words_is_held_against_by_changing_places() -> None:
    """Once the margin is taken off the run, either of an item's two counts could be either run's: signs of what is left, all listed."""
    past, run = runs(1, 1.0, 12), runs(2, 3.0, 12)
    sy.record(past, task="t", model="m", metric="wer", ratio="above/below", deterministic=True)
    found = sy.check(run, task="t", model="m", margin=0.1)
    left = np.array([b["above"] - a["above"] - 0.1 * a["below"] for a, b in zip(past, run, strict=True)])
    sums = np.array(list(product((-1, 1), repeat=12))) @ left
    assert found.test == "randomization"
    assert found.p_value == pytest.approx((sums >= left.sum() - 1e-9).mean(), abs=1e-12)


def test_a_margin_holds_over_groups_too() -> None:
    past, run = ([row | {"group": f"g{i % 12}"} for i, row in enumerate(rows)] for rows in (runs(1, 1.0), runs(2, 1.8)))
    sy.record(past, task="t", model="m", ratio="above/below", deterministic=True)
    none, some, wide = (sy.check(run, task="t", model="m", margin=margin) for margin in (0.0, 0.02, 0.5))
    assert none.design == some.design == "clustered"
    assert (some.test, wide.verdict) == ("randomization", "pass")
    assert none.p_value < some.p_value < wide.p_value


# ---- weights -----------------------------------------------------------------------------------------------------------------


def weighted(values: Any, weight: Any) -> Rows:
    return [{"id": f"q{i}", "score": float(v), "w": w} for i, (v, w) in enumerate(zip(values, weight, strict=True))]


def test_weights_are_recorded_with_the_items_and_need_not_be_said_again() -> None:
    rng = np.random.default_rng(5)
    weight = np.round(rng.gamma(2, 1, 80) + 0.1, 2)
    past, now = (rng.random(80) < 0.8), (rng.random(80) < 0.6)
    recorded = sy.record(weighted(past, weight), task="t", model="m", weight="w", deterministic=True)
    assert (recorded.value, recorded.n) == (pytest.approx(np.average(past, weights=weight)), 80)
    without = [{key: value for key, value in row.items() if key != "w"} for row in weighted(now, weight)]
    one, other = sy.check(weighted(now, weight), task="t", model="m", weight="w"), sy.check(without, task="t", model="m")
    compared = sy.compare(weighted(past, weight), weighted(now, weight), weight="w", alternative="less")
    assert one.p_value == other.p_value == compared.p_value
    assert one.test == "sign-flip"
    assert one.difference.estimate == pytest.approx(compared.difference.estimate)
    assert one.details["n_effective"] == pytest.approx(weight.sum() ** 2 / (weight @ weight))
    margin = sy.check(without, task="t", model="m", margin=0.05)
    assert margin.test == "bounded-t"
    assert one.p_value < margin.p_value


def test_whole_weights_on_record_are_weights_of_items_not_numbers_of_items() -> None:
    rows = weighted([1, 0, 1, 1] * 10, [1, 2, 3, 4] * 10)
    assert sy.record(rows, task="t", model="m", weight="w", deterministic=True).n == 40
    assert sy.check(rows, task="t", model="m").n == 40
    assert sy.record(rows, task="u", model="m", weight="w", items=False, deterministic=True).n == 40


def test_weights_that_changed_or_that_the_reference_lacks_are_refused() -> None:
    rows = weighted([1, 0, 1, 1] * 10, [1.5, 2, 3, 4] * 10)
    sy.record(rows, task="t", model="m", weight="w", deterministic=True)
    with pytest.raises(DataError, match=r"1 item has two weights, such as 'q0' \(1\.5 and 9\)"):
        sy.check([{**rows[0], "w": 9}, *rows[1:]], task="t", model="m", weight="w")
    sy.record(rows, task="u", model="m", deterministic=True)
    with pytest.raises(UsageError, match="The run has weights, but the reference was recorded without any"):
        sy.check(rows, task="u", model="m", weight="w")


def test_a_share_of_the_reference_is_refused_for_weights() -> None:
    rows = weighted([1, 0, 1, 1] * 10, [1.5, 2, 3, 4] * 10)
    sy.record(rows, task="t", model="m", weight="w", deterministic=True)
    with pytest.raises(UsageError, match="A share of the reference cannot be asked of items with weights"):
        sy.check(rows, task="t", model="m", margin="5%")


def test_several_runs_with_weights_share_their_noise() -> None:
    rng = np.random.default_rng(1)
    weight = np.round(rng.gamma(2, 1, 50) + 0.1, 2)
    many = [weighted(np.clip(rng.normal(0.6 + shift, 0.1, 50), 0, 1), weight) for shift in (0, 0.1, -0.1)]
    sy.record(*many, task="t", model="m", weight="w")
    verdict = sy.check(many[0], task="t", model="m")
    assert any("runs differ by more than the noise of their items" in said for said in verdict.warnings)


# ---- tries -------------------------------------------------------------------------------------------------------------------


def tries(n: int, seed: int, tasks: int = 30) -> Rows:
    rng = np.random.default_rng(seed)
    return [{"id": f"t{i}", "repeat": k, "score": int(rng.random() < 0.6)} for i in range(tasks) for k in range(n)]


def test_the_number_of_tries_may_differ_between_run_and_reference_but_not_fall_below_k() -> None:
    sy.record(tries(4, 0), task="t", model="m", metric="pass^3")
    assert not [found for found in sy.lint_references().to_dict()["findings"] if found["level"] == "error"]
    verdict = sy.check(tries(8, 1), task="t", model="m")
    assert (verdict.n, verdict.design) == (30, "paired")
    with pytest.raises(DataError, match=r"pass\^3 needs 3 tries of every problem; 30 of 30 problems have fewer"):
        sy.check(tries(2, 1), task="t", model="m")
    with pytest.raises(DataError, match=r"pass\^5 needs 5 tries of every problem"):
        sy.record(tries(4, 0), task="u", model="m", metric="pass^5")


# ---- perplexity --------------------------------------------------------------------------------------------------------------


def test_two_tokenizers_are_refused_per_token_and_compared_per_byte() -> None:
    past = [{"id": f"d{i}", "nll": 200.0 + i, "tokens": 100 + i, "bytes": 400 + i} for i in range(20)]
    run = [{"id": f"d{i}", "nll": 205.0 + 2 * i, "tokens": 110 + i, "bytes": 398 + i} for i in range(20)]
    said = r"The runs differ in tokens on 20 of 20 items, such as 'd0' \(100 and 110\): perplexity per token does not compare"
    with pytest.raises(DataError, match=said):
        sy.compare(past, run, metric="perplexity", ratio="nll/tokens")
    sy.record(past, task="t", model="m", metric="perplexity", ratio="nll/tokens", deterministic=True)
    with pytest.raises(DataError, match=said):
        sy.check(run, task="t", model="m")
    sy.record(past, task="b", model="m", metric="perplexity", ratio="nll/bytes", deterministic=True)
    assert sy.check(run, task="b", model="m").verdict == "regression"
    assert sy.compare(past, run, metric="ratio", ratio="nll/tokens").difference.estimate != 0  # whoever asks for the ratio has it


def test_a_difference_of_perplexity_is_also_a_quotient_with_bounds() -> None:
    past, run = sums([205.0, 520.0, 170.0, 329.0], TOKENS), sums([210.0, 530.0, 171.0, 330.0], TOKENS)
    found = sy.compare(past, run, metric="perplexity", ratio="above/below").details["quotient"]
    reach = stats.t.ppf(0.975, 3) * 0.010178197982517226
    log = math.log(1.0292326857461742)
    assert [found[name] for name in ("estimate", "low", "high")] == pytest.approx([math.exp(log + x) for x in (0, -reach, reach)], abs=1e-9)
    assert "candidate / baseline = 1.0292 [" in str(sy.compare(past, run, metric="perplexity", ratio="above/below"))
    same = sy.compare(past, past, metric="perplexity", ratio="above/below").details["quotient"]
    assert same["estimate"] == 1.0
    loss, tokens = np.array([205.0, 520.0, 170.0, 329.0]), np.array(TOKENS)
    unlike = float(np.ptp((loss - loss.sum() / tokens.sum() * tokens) / tokens.mean()))  # what documents differ by among themselves
    reach = stats.t.ppf(0.975, 3) * math.sqrt(2 * 5 / 3 * unlike**2 / (4 * 3))
    assert (math.log(same["low"]), math.log(same["high"])) == pytest.approx((-reach, reach), rel=1e-12)
