"""Perplexity: exp of minus log likelihood per word. What lm-evaluation-harness prints, with an interval found on the log scale.

The tool's own numbers are compared in tests/read/logs/test_lm_eval.py; here the formula, its interval and its limits.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from steelyard.errors import DataError
from steelyard.metrics.sums import exponential

DOCUMENTS = st.lists(st.tuples(st.floats(0.01, 300).map(lambda x: round(x, 3)), st.integers(1, 60)), min_size=4, max_size=30)


def ask(loss: Any, words: Any, **options: Any) -> sy.Row:
    return sy.measure(
        {"loss": list(loss), "words": list(words)}, ratio="loss/words", metric=options.pop("metric", "perplexity"), **options
    ).row


@given(documents=DOCUMENTS)
def test_it_is_the_geometric_mean_of_one_over_the_chance_of_a_word(documents: list[tuple[float, int]]) -> None:
    """Word by word, with no sum of logarithms: each word of a document has the chance exp(-loss/words)."""
    words = [words for _, words in documents]
    product = 1.0
    for loss, length in documents:
        for _ in range(length):
            product *= math.exp(loss / length) ** (1 / sum(words))
    assert ask([loss for loss, _ in documents], words, draws=40).estimate == pytest.approx(product, rel=1e-9)


def test_the_numbers_of_another_program() -> None:
    """Printed by the functions of lm_eval/api/metrics.py of lm-eval 0.4.13: weighted_perplexity([(-35.2, 12), (-80.5, 31),
    (-11.1, 4)]), bits_per_byte of the same (a ratio, in bits), and perplexity([-1, -2, -4])."""
    assert ask([35.2, 80.5, 11.1], [12, 31, 4], draws=40).estimate == pytest.approx(14.848106377120356, rel=1e-12)
    bits = [x / math.log(2) for x in (35.2, 80.5, 11.1)]
    assert ask(bits, [12, 31, 4], metric="ratio", draws=40).estimate == pytest.approx(3.8922070464834166, rel=1e-12)
    assert ask([1, 2, 4], [1, 1, 1], draws=40).estimate == pytest.approx(10.312258501325767, rel=1e-12)


RNG = np.random.default_rng(3)
WORDS = RNG.integers(20, 200, 60)
LOSS = WORDS * RNG.normal(3.0, 0.4, 60)


@every("method", ["delta", "percentile", "bca", "studentized"])
@every("side", ["two", "lower", "upper"])
def test_its_interval_is_that_of_its_logarithm(method: str, side: str) -> None:
    here, there = (ask(LOSS, WORDS, metric=metric, interval=method, side=side, draws=500).interval for metric in ("perplexity", "ratio"))
    assert here is not None
    assert there is not None
    for end, inner in ((here.low, there.low), (here.high, there.high)):
        if inner is not None:
            assert end == pytest.approx(math.exp(inner), rel=1e-12)
    assert here.method == method
    assert (here.low, here.high) == pytest.approx((1.0, here.high) if side == "upper" else (here.low, here.high))


def test_the_delta_method_by_hand() -> None:
    """Linearised: residuals of the ratio over the mean number of words, s/sqrt(n), t with n - 1; then exp of the ends."""
    ratio = LOSS.sum() / WORDS.sum()
    error = np.std((LOSS - ratio * WORDS) / WORDS.mean(), ddof=1) / math.sqrt(60)
    reach = 2.000995378088267 * error  # scipy: stats.t.ppf(0.975, 59)
    interval = ask(LOSS, WORDS, interval="delta").interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((math.exp(ratio - reach), math.exp(ratio + reach)), rel=1e-9)


def test_order_units_and_copies_change_nothing() -> None:
    plain = ask(LOSS, WORDS, interval="delta")
    order = RNG.permutation(60)
    assert ask(LOSS[order], WORDS[order], interval="delta").estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert ask([*LOSS, *LOSS], [*WORDS, *WORDS], interval="delta").estimate == pytest.approx(plain.estimate, rel=1e-12)
    shifted = ask(LOSS + math.log(2) * WORDS, WORDS, interval="delta")  # every word half as likely: twice the perplexity
    assert shifted.estimate == pytest.approx(2 * (plain.estimate or 0), rel=1e-12)
    assert shifted.interval is not None
    assert plain.interval is not None
    assert (shifted.interval.low, shifted.interval.high) == pytest.approx((2 * plain.interval.low, 2 * plain.interval.high), rel=1e-9)


def test_differences_are_of_perplexities_not_of_logarithms() -> None:
    runs = [{"id": list(range(60)), "loss": list(LOSS * factor), "words": list(WORDS)} for factor in (1.0, 1.02)]
    found = sy.compare(*runs, ratio="loss/words", metric="perplexity", draws=500)
    own = [math.exp(LOSS.sum() * factor / WORDS.sum()) for factor in (1.0, 1.02)]
    assert found.difference.estimate == pytest.approx(own[1] - own[0], rel=1e-9)
    assert found.difference.interval is not None
    assert found.difference.interval.low > 0
    assert found.higher_is_better is False


def test_beyond_float64_it_is_undefined_and_said() -> None:
    found = sy.measure({"loss": [900.0, 800.0, 950.0], "words": [1, 1, 1]}, ratio="loss/words", metric="perplexity")
    assert found.row.estimate is None
    assert any("beyond float64" in said and "metric='ratio'" in said for said in found.warnings)
    found = sy.measure({"loss": [600.0, 720.0, 760.0], "words": [1, 1, 1]}, ratio="loss/words", metric="perplexity", interval="delta")
    assert found.row.estimate is not None
    assert found.row.interval is None
    assert any("upper end" in said for said in found.warnings)
    assert exponential(1e6) == math.inf


@every("metric", ["mean", "ratio", "rmse", "r2", "mae"])
@every("size", [1e76, 1e154, 1e200, 1e308, -1e308])
def test_numbers_whose_powers_cannot_be_added_are_refused_with_their_row(metric: str, size: float) -> None:
    data = {
        "mean": ({"score": [1.0, size, 2.0]}, {}), "ratio": ({"a": [1.0, size, 2.0], "b": [1, 1, 1]}, {"ratio": "a/b"}),
    }.get(metric, ({"truth": [1.0, size, 2.5], "prediction": [1.5, 2.0, 0.5]}, {}))  # fmt: skip
    with pytest.raises(DataError, match=r"in row 2 is too large: -?1e\+(76|154|200|308) \(at most 1e\+75\)"):
        sy.measure(data[0], metric=metric, **data[1])


@every("metric", ["mean", "ratio", "rmse", "r2", "mae"])
@every("method", [None, "percentile", "bca", "studentized"])
def test_numbers_just_below_are_computed(metric: str, method: str | None) -> None:
    """No overflow on the way: pytest turns a RuntimeWarning into an error."""
    size = 9e74
    values = [size, -size, size / 2, size / 3, -size / 5, size / 7]
    data = {"mean": ({"score": values}, {}), "ratio": ({"a": values, "b": [1, 2, 1, 1, 1, 2]}, {"ratio": "a/b"})}.get(
        metric, ({"truth": values, "prediction": [-size, 0.0, size / 2.5, size / 4, size / 5, size / 9]}, {})
    )
    row = sy.measure(data[0], metric=metric, interval=method, draws=200, **data[1]).row
    assert row.estimate is not None
    assert math.isfinite(row.estimate)
    assert row.interval is None or math.isfinite(row.interval.high or 0)


LIKELY = {"id": [f"q{i}" for i in range(30)], "ll": [-20.0 - i % 7 for i in range(30)], "tokens": [10 + i % 5 for i in range(30)]}


@pytest.mark.parametrize("verb", [sy.measure, lambda run, **how: sy.compare(run, run, **how), partial(sy.record, task="t", model="m")])
def test_log_likelihoods_instead_of_losses_are_refused(verb: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their perplexity would lie below 1, and a less likely run would be the better one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sy.DataError, match=r"perplexity of 0\.149.*but a perplexity is at least 1.*is its sign turned"):
        verb(LIKELY, metric="perplexity", ratio="ll/tokens")
    assert not any(tmp_path.iterdir())


def test_certainty_is_a_perplexity_of_one() -> None:
    sure = {**LIKELY, "loss": [0.0] * 30}
    assert sy.measure(sure, metric="perplexity", ratio="loss/tokens").row.estimate == 1.0
