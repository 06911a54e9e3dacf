"""Worked examples of textbooks, as printed, through the front door.

Elsewhere: Mitchell's intervals and differences, Newcombe's and Fagerland's tables, Tango, Brown, Cai and DasGupta, Demsar,
Benjamini and Hochberg, Goutte and Gaussier (tests/golden); Nadeau and Bengio, Dietterich, Alpaydin (tests/infer/learning/test_crossval.py);
Cohen, Miller, the suite of TensorRT-LLM (tests/golden/plans_published.json); Kuncheva (test_mlxtend.py).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import steelyard as sy
from steelyard.infer.intervals.ranking import delong_error
from steelyard.infer.paired import mcnemar as flips
from steelyard.tally.scores import ScoreTable


def estimates(counts: sy.Counts, *metrics: str) -> list[float | None]:
    return [row.estimate for row in sy.measure(counts, metric=list(metrics)).rows]


def test_jurafsky_and_martin_three_classes() -> None:
    """Speech and Language Processing, figures 4.5 and 4.6: urgent, normal and spam; rows are what the system said.

    Precision .42, .52, .86; recall .50, .60, .80 (200/251 is .797); macro-averaged precision .60, micro-averaged .73.
    """
    said = [[8, 10, 1], [5, 60, 50], [3, 30, 200]]
    counts = sy.Counts.table(np.array(said).T.tolist(), labels=["urgent", "normal", "spam"])
    assert estimates(counts, "each_precision") == pytest.approx([8 / 19, 60 / 115, 200 / 233])
    assert estimates(counts, "each_recall") == pytest.approx([8 / 16, 60 / 100, 200 / 251])
    assert estimates(counts, "macro_precision", "micro_precision") == pytest.approx([0.60, 0.73], abs=5e-3)


def test_jurafsky_and_martin_pies() -> None:
    """Section 4.7: a million posts, 100 of them about pies, none found. Accuracy .9999, recall 0, and no precision: 0/0 is not 0."""
    counts = sy.Counts.binary(tp=0, fp=0, fn=100, tn=999_900)
    assert estimates(counts, "accuracy", "recall") == pytest.approx([0.9999, 0.0])
    found = sy.measure(counts, metric="precision")
    assert found.estimate is None
    assert found.warnings


def test_manning_raghavan_schuetze_judges() -> None:
    """Introduction to Information Retrieval, table 8.2: two judges agree on 370 of 400, kappa .776.

    The book pools the judges' margins, as Scott and Siegel do; Cohen's kappa, ours, does not. Where the margins are nearly
    equal (320 and 310 of 400) the two agree to three digits: .77591 and .77612.
    """
    counts = sy.Counts.table([[300, 20], [10, 70]], labels=["yes", "no"])
    (kappa,) = estimates(counts, "kappa")
    pooled = (630 / 800) ** 2 + (170 / 800) ** 2
    book = (0.925 - pooled) / (1 - pooled)
    assert (round(book, 3), round(kappa or 0, 3)) == (0.776, 0.776)
    assert kappa is not None
    assert [book, kappa] == pytest.approx([0.77591, 0.77612], abs=1e-5)


def test_altman_and_bland_liver_scans() -> None:
    """Diagnostic tests 1 and 2 (BMJ 1994): 231 of 258 abnormal livers found, 54 of 86 normal ones; sensitivity .90, specificity .63,
    positive predictive value .88, negative .67.
    """
    counts = sy.Counts.binary(tp=231, fn=27, fp=32, tn=54)
    assert estimates(counts, "recall", "specificity", "precision", "npv") == pytest.approx([0.90, 0.63, 0.88, 0.67], abs=5.1e-3)


def test_agresti_approval() -> None:
    """Categorical Data Analysis, section 11.1: 1,600 voters asked twice, 944 and 880 approve: 794 both, 150 and 86 once.

    The change is -.04 +- .02, its error .0095; z^2 = 17.36 without, 16.82 with a continuity correction (R's mcnemar.test).
    """
    joint = sy.JointCounts.flips(both=794, baseline_only=150, candidate_only=86, neither=570)
    found = sy.compare(joint, interval="wald", test="mcnemar")
    assert isinstance(found, sy.Comparison)
    assert found.difference.estimate == pytest.approx(-0.04)
    assert found.difference.interval is not None
    assert [found.difference.interval.low, found.difference.interval.high] == pytest.approx([-0.06, -0.02], abs=2e-3)
    z, _ = flips.mcnemar(86, 150)
    assert z * z == pytest.approx(17.36, abs=5e-3)
    low, high = flips.wald_paired(86, 150, 1600)
    assert (high - low) / 2 / 1.959963984540054 == pytest.approx(0.0095, abs=5e-5)


def test_hanley_and_mcneil_readings() -> None:
    """Radiology 143 (1982), tables I and II: 58 normal and 51 abnormal scans rated 1 to 5; area .893, error .032.

    Their Q1 and Q2 count a tie as if an order were hidden in it, a third of the time for three; DeLong's components, ours,
    count it half, as the area itself does: .0307. Without ties the two differ in terms of second order only.
    """
    normal, abnormal = np.array([33, 6, 6, 11, 2]), np.array([3, 2, 2, 11, 33])
    ratings = np.arange(1, 6) / 5
    rows = {
        "truth": [0] * 58 + [1] * 51,
        "probability": [*np.repeat(ratings, normal).tolist(), *np.repeat(ratings, abnormal).tolist()],
    }
    found = sy.measure(rows, metric="auc")
    assert found.estimate == pytest.approx(0.893, abs=5e-4)
    error = delong_error(ScoreTable(score=ratings, positives=abnormal, negatives=normal))
    above, below = abnormal[::-1].cumsum()[::-1] - abnormal, normal.cumsum() - normal
    a, m, n = float(normal @ (above + abnormal / 2)) / (51 * 58), 51, 58
    q1 = float(normal @ (above**2 + above * abnormal + abnormal**2 / 3)) / (n * m * m)
    q2 = float(abnormal @ (below**2 + below * normal + normal**2 / 3)) / (m * n * n)
    theirs = math.sqrt((a * (1 - a) + (m - 1) * (q1 - a * a) + (n - 1) * (q2 - a * a)) / (m * n))
    assert theirs == pytest.approx(0.032, abs=5e-5)
    assert error == pytest.approx(0.0307, abs=5e-5)


def test_efron_and_tibshirani_mouse() -> None:
    """An Introduction to the Bootstrap, table 2.1: survival of 7 treated and 9 control mice; difference 30.63 days, error 28.93.

    The book's error is that of two samples, sqrt(25.24^2 + 14.14^2), each with n - 1; Welch's t uses the same.
    """
    treated, control = [94, 197, 16, 38, 99, 141, 23], [52, 104, 146, 10, 51, 30, 40, 27, 46]
    found = sy.compare(control, treated, design="unpaired", test="welch-t", metric="mean")
    assert isinstance(found, sy.Comparison)
    assert found.difference.estimate == pytest.approx(30.63, abs=5e-3)
    assert found.test is not None
    assert found.test.statistic == pytest.approx(30.63 / 28.93, abs=2e-3)
