"""sacrebleu: BLEU and TER of a corpus as functions of sums, its approximate randomization and its paired bootstrap. See sacrebleu.json."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

import steelyard as sy
from peers.make import recorded
from steelyard.infer.intervals.sums import resampled
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.infer.paired.sums import paired_swap
from steelyard.metrics.sums import QUOTIENT, SumStatistic
from steelyard.tally.sums import Sums

ENTRIES = recorded("sacrebleu")
FloatArray = npt.NDArray[np.float64]
DRAWS = 10_000


def bleu(s: FloatArray) -> FloatArray:
    """Length of the output, length of the reference, four counts of n-grams found, four of n-grams (Papineni et al. 2002)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.exp(np.log(s[..., 2:6] / s[..., 6:10]).mean(-1))
        return np.asarray(100 * np.minimum(1, np.exp(1 - s[..., 1] / s[..., 0])) * precisions)


STATISTICS = {
    "BLEU": SumStatistic(bleu, lambda s: np.zeros(10)),  # no interval here needs its gradient
    "TER": SumStatistic(lambda s: 100 * QUOTIENT.value(s), lambda s: 100 * QUOTIENT.gradient(s)),
}
ROWS = {
    "BLEU": [np.array(rows, float) for rows in ENTRIES["rows"]["input"]["BLEU"]],
    "TER": [np.array(rows, float)[:, ::-1] for rows in ENTRIES["rows"]["input"]["TER"]],  # edits, words -> below, above
}


def test_bleu_of_the_readme() -> None:
    """README: BLEU = 48.53 82.4/50.0/45.5/37.5 (BP = 0.943 ratio = 0.944 hyp_len = 17 ref_len = 18)."""
    totals = np.array(ENTRIES["readme_bleu"]["input"]["rows"], float).sum(0)
    found = [float(bleu(totals)), math.exp(1 - totals[1] / totals[0]), *(100 * totals[2:6] / totals[6:10])]
    assert found == pytest.approx(ENTRIES["readme_bleu"]["answer"], rel=1e-12)
    assert found == pytest.approx([48.53, 0.943, 82.4, 50.0, 45.5, 37.5], abs=0.06)


@pytest.mark.parametrize("metric", STATISTICS)
def test_scores(metric: str) -> None:
    ours = [float(STATISTICS[metric].value(rows.sum(0))) for rows in ROWS[metric]]
    for kind in ("ar_", "bs_"):
        assert ours == pytest.approx(ENTRIES[kind + metric]["answer"]["scores"], rel=1e-12)


def swaps(metric: str) -> tuple[float, float]:
    """The share of all 4,096 swaps that lie farther than what was observed, and of those that lie as far or farther."""
    a, b = ROWS[metric]
    value = STATISTICS[metric].value
    observed = abs(float(value(b.sum(0)) - value(a.sum(0))))
    swapped = np.array(list(product((0.0, 1.0), repeat=len(a))))
    here, there = swapped @ b + (1 - swapped) @ a, swapped @ a + (1 - swapped) @ b
    far = np.abs(value(here) - value(there))
    return float(np.mean(far > observed + 1e-9)), float(np.mean(far > observed - 1e-9))


@pytest.mark.parametrize("metric", STATISTICS)
def test_approximate_randomization(metric: str) -> None:
    """Ours counts swaps that lie as far as what was observed, sacrebleu only those that lie farther.

    What was observed is itself one of the swaps that H0 allows, so a p-value must count it and its ties: without them p is
    too small, by a little for BLEU (which hardly ties) and by much for metrics that take few values.
    """
    farther, as_far = swaps(metric)
    theirs = ENTRIES["ar_" + metric]["answer"]["p"]
    ours = paired_swap(*ROWS[metric], STATISTICS[metric])
    assert ours.exact
    assert ours.p_value == pytest.approx(as_far, abs=1e-12)
    assert abs(theirs - farther) < 4 * math.sqrt(farther / DRAWS) + 1 / DRAWS
    assert farther < as_far


def test_ter_through_the_front_door() -> None:
    """TER is a ratio of two sums: edits over words."""
    sides = [{"id": list(range(12)), "edits": rows[:, 1].tolist(), "words": rows[:, 0].tolist()} for rows in ROWS["TER"]]
    found = sy.compare(*sides, ratio="edits/words", test="randomization")
    assert isinstance(found, sy.Comparison)
    assert [100 * side.estimate for side in (found.baseline, found.candidate)] == pytest.approx(ENTRIES["ar_TER"]["answer"]["scores"])  # type: ignore[operator]
    assert found.p_value == pytest.approx(swaps("TER")[1], abs=1e-12)


def test_a_system_and_itself() -> None:
    """No swap of a system with itself lies farther than 0, so its p is 1/1001: proof that a system differs from itself. Ours is 1."""
    rows = ROWS["BLEU"][0]
    assert paired_swap(rows, rows, STATISTICS["BLEU"]).p_value == 1
    assert ENTRIES["ar_same"]["answer"] == ENTRIES["bs_same"]["answer"] == 1 / 1001


@pytest.mark.parametrize("metric", STATISTICS)
def test_interval_of_one_system(metric: str) -> None:
    """sacrebleu prints mean +- half the distance of the two percentiles; ours are the percentiles themselves.

    The same width within the error of two times 10,000 draws; but mean +- half is symmetric where the percentiles are not.
    """
    rows, answer = ROWS[metric][1], ENTRIES["bs_" + metric]["answer"]
    sums = Sums(rows=rows, count=np.ones(12, np.int64), answers=12)
    low, high, _ = resampled(sums, STATISTICS[metric], "percentile", 0.95, "two", draws=DRAWS, seed=0)
    assert (high - low) / 2 == pytest.approx(answer["ci"], rel=0.05)
    assert low < answer["mean"] < high
    assert abs((low + high) / 2 - answer["mean"]) > 0.01 * (high - low)


@pytest.mark.parametrize("metric", STATISTICS)
def test_paired_bootstrap(metric: str) -> None:
    """Its p is the share of |d*| - mean|d*| > |d|: the sizes are taken before they are centred.

    Far from 0 that is one tail of two, so p lies below the two-sided share of |d* - d| >= |d|, and below the exact
    randomization: .0009 for BLEU where .028 is right, .034 for TER where .089 is.
    """
    a, b = ROWS[metric]
    value = STATISTICS[metric].value
    drawn = np.random.default_rng(7).multinomial(12, [1 / 12] * 12, size=DRAWS).astype(float)
    d = value(drawn @ b) - value(drawn @ a)
    observed = float(value(b.sum(0)) - value(a.sum(0)))
    theirs = ENTRIES["bs_" + metric]["answer"]["p"]
    share = float(np.mean(np.abs(d) - np.abs(d).mean() > abs(observed)))
    assert abs(theirs - share) < 4 * math.sqrt(2 * max(share, 10 / DRAWS) / DRAWS)
    two_sided = float(np.mean(np.abs(d - observed) >= abs(observed)))
    assert theirs < two_sided
    assert theirs < paired_swap(a, b, STATISTICS[metric]).p_value


def test_the_paired_bootstrap_rejects_too_often() -> None:
    """Two equally good systems, 100 items, a fifth of them apart: at .05 its rule rejects more than 8 times in 100, mid-p about 5.

    Near 0 the sizes |d*| vary less than d* does, so that centring them leaves tails that are too short.
    """
    rng = np.random.default_rng(11)
    runs, draws, n = 1500, 300, 100
    wins, losses, _ = rng.multinomial(n, [0.1, 0.1, 0.8], size=runs).T
    redrawn = rng.multinomial(n, np.stack([wins, losses, n - wins - losses], 1)[:, None] / n, size=(runs, draws))
    sizes = np.abs(redrawn[..., 0] - redrawn[..., 1])
    centred = sizes - sizes.mean(1, keepdims=True)
    theirs = (np.sum(centred > np.abs(wins - losses)[:, None], axis=1) + 1) / (draws + 1)
    ours = np.array([mcnemar_midp(int(w), int(x)) for w, x in zip(wins, losses, strict=True)])
    assert np.mean(theirs <= 0.05) > 0.08
    assert np.mean(ours <= 0.05) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)
