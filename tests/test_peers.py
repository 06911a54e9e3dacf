"""Numbers that other programs gave (tests/peers) and give now (SciPy, statsmodels, scikit-learn), and that textbooks print."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.metrics as sk
from scipy import stats
from scipy.optimize import minimize_scalar
from statsmodels.stats import contingency_tables, inter_rater, proportion
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.nonparametric import rank_compare_2indep

from steelyard.data.counts import Counts, JointCounts
from steelyard.data.items import Items
from steelyard.engines import many
from steelyard.engines.certainty import Certainty
from steelyard.engines.one import Answer, How, measure
from steelyard.engines.two import Difference, compare
from steelyard.metrics.metric import Metric

PEERS = {
    peer: json.loads((Path(__file__).parent / "peers" / f"{peer}.json").read_text(encoding="utf-8"))["entries"]
    for peer in ("MLstatkit", "confidenceinterval", "errorbars", "evalstats", "mlxtend", "sacrebleu", "statgate")
}
Z = 1.959963984540054
DARWIN = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]  # heights of crossed less self-fertilised corn


def one(metric: Any, data: Items | Counts, **how: Any) -> Answer:
    (found,) = measure(metric, data, How(**how))
    return found


def two(metric: Any, a: Any, b: Any = None, design: str = "", **how: Any) -> Difference:
    (found,) = compare(metric, a, b, How(**how), design=design)
    return found


def sure(found: Answer) -> Certainty:
    assert found.certainty is not None, found.why
    return found.certainty


def flips(both: int, gained: int, lost: int, neither: int, **how: Any) -> Difference:
    return two("accuracy", JointCounts.flips(both=both, baseline_only=lost, candidate_only=gained, neither=neither), **how)


def against_zero(d: Any, **how: Any) -> Certainty:
    return sure(two("mean", Items.of(score=np.zeros(len(d))), Items.of(score=np.asarray(d, float)), **how))


def table(cells: Any, names: str = "0123456789") -> Counts:
    return Counts.table({(names[i], names[j]): int(c) for i, row in enumerate(cells) for j, c in enumerate(row)})


# ---- scikit-learn: the value of every metric ------------------------------------------------------------------------------------------


def labelled(classes: int, n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    t = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    return t, np.where(rng.random(n) < 0.7, t, rng.integers(0, classes, n)), rng.random(n) + 0.2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 12, 300])
def test_labels(classes: int, weighted: bool) -> None:
    t, p, w = labelled(classes, max(100, 4 * classes))
    items, w = Items.of(truth=t, prediction=p, weight=w if weighted else None), w if weighted else None
    theirs = {"accuracy": sk.accuracy_score, "balanced_accuracy": sk.balanced_accuracy_score, "mcc": sk.matthews_corrcoef}
    for name, function in {**theirs, "kappa": sk.cohen_kappa_score}.items():
        assert one(name, items, interval="delta").estimate == pytest.approx(function(t, p, sample_weight=w), rel=1e-12), name
    ratios: dict[str, Any] = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score, "jaccard": sk.jaccard_score}
    ratios["fbeta:2"] = lambda *a, **k: sk.fbeta_score(*a, beta=2, **k)
    for (name, function), average in product(ratios.items(), ("macro", "micro", "weighted", "each", "")):
        wanted = function(t, p, average={"each": None}.get(average, average or None), zero_division=0, sample_weight=w)
        if average == "each" and classes < 300:
            found = measure(f"each_{name}", items, How(interval="" if name == "fbeta:2" else "delta", draws=50))
            assert [each.estimate for each in found] == pytest.approx(wanted.tolist(), rel=1e-12), name
            assert [each.label for each in found] == [str(c) for c in range(classes)]
        elif not average:
            assert one(name, items, positive="1", draws=50).estimate == pytest.approx(wanted[1], rel=1e-12), name
        elif average != "each":
            found_ = one(f"{average}_{name}", items, absent="zero", interval="delta").estimate
            assert found_ == pytest.approx(wanted, rel=1e-12), (average, name)


def test_predictions_that_are_no_class() -> None:
    """Answers outside of the labels miss a truth and are no prediction. Reported: micro_jaccard counts them twice (.8 for .889)."""
    t = np.array(list("aabbccaabbcc" * 3))
    p = np.where(np.arange(36) < 4, "z", t)
    for average, (name, function) in product(("macro", "micro", "weighted"), {"precision": sk.precision_score, "f1": sk.f1_score}.items()):
        wanted = function(t, p, labels=list("abc"), average=average)
        assert one(f"{average}_{name}", Items.of(truth=t, prediction=p), labels="abc").estimate == pytest.approx(wanted, rel=1e-12)


def test_too_many_classes() -> None:
    t = np.arange(5001)
    items = Items.of(truth=np.append(t, t), prediction=np.append(t, t[::-1]))
    assert one("macro_f1", items).estimate is None
    assert "too many" in one("macro_f1", items).why
    assert one("accuracy", items).estimate == pytest.approx(5002 / 10002)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_and_probabilities(seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    y = rng.random(90) < 0.3
    p = np.clip(0.3 + 0.3 * y + rng.normal(0, 0.2, 90), 0.01, 0.99).round(1 if ties else 9)
    p = np.clip(p, 0.05, 0.95)
    for name, function in {
        "auc": sk.roc_auc_score,
        "average_precision": sk.average_precision_score,
        "brier": sk.brier_score_loss,
        "log_loss": sk.log_loss,
    }.items():
        assert one(name, Items.of(truth=y.astype(int), probability=p)).estimate == pytest.approx(function(y, p), rel=1e-12), name
    t, x, w = rng.normal(3, 1, 90), rng.normal(3, 1, 90).round(0 if ties else 9), rng.random(90)
    for name, function in {"mae": sk.mean_absolute_error, "rmse": sk.root_mean_squared_error, "r2": sk.r2_score}.items():
        assert one(name, Items.of(truth=t, prediction=x), draws=50).estimate == pytest.approx(function(t, x), rel=1e-12)
        weighted = one(name, Items.of(truth=t, prediction=x, weight=w)).estimate
        assert weighted == pytest.approx(function(t, x, sample_weight=w), rel=1e-12), name
    assert one("spearman", Items.of(truth=t, prediction=x)).estimate == pytest.approx(stats.spearmanr(t, x).statistic, rel=1e-12)
    for name, q in (("median", 50), ("p95", 95), ("p99.9", 99.9)):
        assert one(name, Items.of(score=x), draws=50).estimate == pytest.approx(np.percentile(x, q), rel=1e-12)


# ---- one share, two shares --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PEERS["evalstats"] if name.startswith("share_")])
def test_one_share(name: str) -> None:
    entry = PEERS["evalstats"][name]
    for method, wanted in entry["answer"].items():
        assert one("accuracy", Counts.of(*entry["input"]), interval=method).interval() == pytest.approx(wanted, abs=1e-11)
    assert one("accuracy", Counts.of(*entry["input"])).interval() == pytest.approx(PEERS["statgate"][name]["answer"], abs=1e-12)


@pytest.mark.parametrize(("k", "n", "level"), [(0, 9, 0.9), (3, 29, 0.95), (13, 16, 0.99), (85, 100, 0.8), (999, 1000, 0.999)])
def test_statsmodels_of_one_share(k: int, n: int, level: float) -> None:
    theirs = {"wilson": "wilson", "agresti-coull": "agresti_coull", "jeffreys": "jeffreys", "clopper-pearson": "beta", "wald": "normal"}
    for ours, name in theirs.items():
        if (k, ours) != (0, "wald"):
            wanted = proportion.proportion_confint(k, n, 1 - level, method=name)
            assert one("accuracy", Counts.of(k, n), interval=ours).interval(level) == pytest.approx(wanted, abs=1e-10), ours
    for side, alternative in (("lower", "greater"), ("upper", "less")):
        wanted = stats.binomtest(k, n, alternative=alternative).proportion_ci(level, method="exact")
        assert one("accuracy", Counts.of(k, n)).interval(level, side) == pytest.approx([wanted.low, wanted.high], abs=1e-10)


@pytest.mark.parametrize("name", [name for name in PEERS["evalstats"] if name.startswith("flips_")])
def test_paired_shares(name: str) -> None:
    """Its Tango solves a quartic, ours brackets the score. Without the continuity correction that it adds by default."""
    entry = PEERS["evalstats"][name]
    for method in ("tango", "newcombe"):
        assert flips(*entry["input"], interval=method).interval() == pytest.approx(entry["answer"][method], abs=1e-11)
    assert flips(*entry["input"], test="mcnemar-midp").p_value == pytest.approx(entry["answer"]["mid_p"], rel=1e-12)
    assert flips(*entry["input"]).p_value == pytest.approx(entry["answer"]["mid_p"], rel=1e-12)


@pytest.mark.parametrize("name", ["mcnemar_A", "mcnemar_B", "mcnemar_tests"])
def test_mcnemar(name: str) -> None:
    (both, first), (second, neither) = PEERS["mlxtend"][name]["input"]
    theirs = PEERS["mlxtend"][name]["answer"]
    for test, wanted, exact in (("mcnemar", theirs["plain"][1], False), ("mcnemar-exact", theirs["exact"], True)):
        found = flips(both, second, first, neither, test=test).p_value
        assert found == pytest.approx(wanted, rel=1e-9)
        found_ = contingency_tables.mcnemar([[both, first], [second, neither]], exact=exact, correction=False).pvalue
        assert found == pytest.approx(found_, rel=1e-9)
    assert flips(both, second, first, neither, test="mcnemar-exact").p_value == pytest.approx(
        stats.binomtest(first, first + second).pvalue, rel=1e-12
    )


@pytest.mark.parametrize("even", [0, 5])
def test_nothing_gained_nothing_lost(even: int) -> None:
    """mlxtend's p is 0 where nothing disagrees, and .75 for 5 gained and 5 lost; MLstatkit's of a system and itself is 0. Ours is 1."""
    assert PEERS["mlxtend"]["mcnemar_none"]["answer"][1] == PEERS["MLstatkit"]["delong_same"]["answer"]["p"] == 0
    for test in ("", "mcnemar", "mcnemar-exact", "mcnemar-midp", "randomization", "sign-flip", "bootstrap", "one-more-case", "bounded-t"):
        assert flips(80, even, even, 10, test=test).p_value == 1, test


PAIRS = [(56, 70, 48, 80), (9, 10, 3, 10), (7, 34, 1, 34), (5, 83, 12, 99)]


@pytest.mark.parametrize("pair", PAIRS)
def test_different_items(pair: tuple[int, int, int, int]) -> None:
    x1, n1, x2, n2 = pair
    for ours, theirs in (("wald", "wald"), ("newcombe", "newcomb")):
        found = two("accuracy", Counts.of(x2, n2), Counts.of(x1, n1), interval=ours)
        assert found.interval() == pytest.approx(proportion.confint_proportions_2indep(*pair, method=theirs, compare="diff"), abs=1e-12)
    z = two("accuracy", Counts.of(x2, n2), Counts.of(x1, n1), test="z")
    assert z.p_value == pytest.approx(proportion.proportions_ztest([x1, x2], [n1, n2])[1], rel=1e-12)
    low, high = two("accuracy", Counts.of(x2, n2), Counts.of(x1, n1), interval="miettinen-nurminen").interval() or (0, 0)
    assert [score(*pair, low), score(*pair, high)] == pytest.approx([Z, -Z], abs=1e-5)
    if pair == PAIRS[0]:  # R's PropCIs
        assert [low, high] == pytest.approx([0.0528, 0.3382], abs=6e-5)


def score(x1: int, n1: int, x2: int, n2: int, d: float) -> float:
    """Miettinen and Nurminen's statistic, its shares found by a search, with no closed form."""

    def minus_log(p2: float) -> float:
        return -sum(k * math.log(p) for k, p in ((x1, p2 + d), (n1 - x1, 1 - p2 - d), (x2, p2), (n2 - x2, 1 - p2)) if k)

    bounds = (max(0.0, -d) + 1e-12, min(1.0, 1 - d) - 1e-12)
    p2 = float(minimize_scalar(minus_log, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x)
    variance = ((p2 + d) * (1 - p2 - d) / n1 + p2 * (1 - p2) / n2) * (n1 + n2) / (n1 + n2 - 1)
    return (x1 / n1 - x2 / n2 - d) / math.sqrt(variance)


# ---- differences of scores --------------------------------------------------------------------------------------------------------------


def test_darwin() -> None:
    """Fisher's 1726 of 32,768 signs; Wilcoxon's and Student's p of SciPy's documentation; statgate draws 100,000."""
    assert against_zero(DARWIN, test="sign-flip").p() == 1726 / 32768
    wanted = stats.permutation_test(
        (DARWIN, np.zeros(15)), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert against_zero(DARWIN, test="sign-flip").p() == pytest.approx(wanted.pvalue, rel=1e-12)
    assert abs(PEERS["statgate"]["sign_flip"]["answer"] - 1726 / 32768) < 4 * math.sqrt(0.0527 * 0.9473 / 100_000)
    a, b = (Items.of(score=side) for side in PEERS["mlxtend"]["permutation"]["input"])
    assert two("mean", a, b, test="sign-flip").p_value == PEERS["mlxtend"]["permutation"]["answer"] == 4 / 128
    for alternative in ("two-sided", "greater", "less"):
        found = against_zero(DARWIN, test="wilcoxon").p(0, alternative)
        assert found == pytest.approx(stats.wilcoxon(DARWIN, alternative=alternative).pvalue, rel=1e-12)
        t = against_zero(DARWIN, test="paired-t")
        assert t.p(0, alternative) == pytest.approx(stats.ttest_1samp(DARWIN, 0, alternative=alternative).pvalue, rel=1e-9)
        assert t.p(5, alternative) == pytest.approx(stats.ttest_1samp(DARWIN, 5, alternative=alternative).pvalue, rel=1e-9)
    low, high = stats.ttest_1samp(DARWIN, 0).confidence_interval(0.9)
    assert against_zero(DARWIN, interval="t").ends(0.9) == pytest.approx([low, high])


def test_bca() -> None:
    """The same law, drawn: SciPy's and statgate's ends within the error of two quantiles of sums of fifteen whole numbers."""
    wanted = stats.bootstrap((DARWIN,), np.mean, method="BCa", n_resamples=50_000, rng=np.random.default_rng(3), batch=5000)
    found = against_zero(DARWIN, interval="bca", draws=50_000).ends()
    assert found == pytest.approx([wanted.confidence_interval.low, wanted.confidence_interval.high], abs=0.6)
    assert found == pytest.approx(PEERS["statgate"]["bca"]["answer"], abs=0.6)
    x = np.exp(np.random.default_rng(5).normal(0, 1, 60))
    wanted = stats.bootstrap((x,), lambda v, axis: np.sqrt((v**2).mean(axis)), n_resamples=50_000, rng=np.random.default_rng(4), batch=5000)
    found = one("rmse", Items.of(truth=x, prediction=0 * x), interval="bca", draws=50_000).interval()  # type: ignore[assignment]
    assert found == pytest.approx([wanted.confidence_interval.low, wanted.confidence_interval.high], rel=0.02)


def test_nothing_differs() -> None:
    """statgate's interval is [0, 0] after 20 items. Ours has p = 1, and a width or a reason."""
    assert PEERS["statgate"]["bca_same"]["answer"] == [0, 0]
    found = sure(two("mean", Items.of(score=[0.5] * 20), Items.of(score=[0.5] * 20)))
    assert found.p() == 1
    assert found.ends()[0] < 0 < found.ends()[1]


@pytest.mark.parametrize("name", ["compare_copa", "compare_walkthrough"])
def test_student_of_right_or_wrong(name: str) -> None:
    theirs, (both, first, second, neither) = PEERS["errorbars"][name]["answer"], PEERS["errorbars"][name]["input"]
    found = flips(both, first, second, neither, interval="t", test="paired-t")
    c = sure(found)
    assert [c.estimate, c.error, *c.ends()] == pytest.approx([theirs[key] for key in ("mean_diff", "se_paired", "ci_low", "ci_high")])
    assert c.p() == pytest.approx(theirs["p_value"])
    assert flips(both, first, second, neither, test="mcnemar-exact").p_value == pytest.approx(theirs["mcnemar"]["p_value"], rel=1e-12)
    low, high = flips(both, first, second, neither).interval() or (0, 0)  # ours is drawn to 0, and shorter
    assert high - low < theirs["ci_high"] - theirs["ci_low"]


def test_clusters() -> None:
    """Theirs has the factor G / (G - 1); groups of 2 to 7 items need more."""
    given = PEERS["errorbars"]["clustered"]["input"]
    c = sure(one("mean", Items.of(score=given["scores"], group=given["groups"]), interval="t"))
    theirs = PEERS["errorbars"]["clustered"]["answer"]
    assert theirs < (c.error or 0) < 1.03 * theirs
    assert 8 < c.df < 11


def test_welch() -> None:
    """Efron and Tibshirani's mice, table 2.1: 30.63 days, error 28.93."""
    control, treated = [52.0, 104, 146, 10, 51, 30, 40, 27, 46], [94.0, 197, 16, 38, 99, 141, 23]
    c = sure(two("mean", Items.of(score=control), Items.of(score=treated), "unpaired"))
    wanted = stats.ttest_ind(treated, control, equal_var=False)
    assert [c.estimate, c.error] == pytest.approx([30.63, 28.93], abs=1e-2)
    assert [c.p(), c.df, *c.ends()] == pytest.approx([wanted.pvalue, wanted.df, *wanted.confidence_interval()])


# ---- sums and curves ------------------------------------------------------------------------------------------------------------------


def bleu(s: Any) -> Any:
    """Lengths of output and reference, four counts of n-grams found, four of n-grams (Papineni et al. 2002)."""
    with np.errstate(all="ignore"):
        return (
            100
            * np.where(s[..., 1].real > s[..., 0].real, np.exp(1 - s[..., 1] / s[..., 0]), 1)
            * np.exp(np.log(s[..., 2:6] / s[..., 6:10]).mean(-1))
        )


COLUMNS = tuple("abcdefghij")
SUMS = {
    "BLEU": Metric(name="bleu", reads=COLUMNS, adds=lambda v: np.stack([v.columns[c] for c in COLUMNS], 1), value=bleu, high=100.0),
    "TER": Metric(
        name="ter", reads=("a", "b"), adds=lambda v: np.stack([v.b, v.a], 1), value=lambda s: 100 * s[..., 1] / s[..., 0], high=None
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_sacrebleu(name: str) -> None:
    """Scores; the share of swaps (it counts those alone that lie farther, ours those as far too); the bootstrap's width."""
    entries = PEERS["sacrebleu"]
    a, b = (np.array(rows, float) for rows in entries["rows"]["input"][name])
    sides = [Items.of(**dict(zip(COLUMNS, side.T, strict=False))) for side in (a, b)]
    value = SUMS[name].value if name == "BLEU" else lambda s: 100 * s[..., 0] / s[..., 1]
    found = two(SUMS[name], *sides, test="randomization")
    assert [found.baseline, found.candidate] == pytest.approx(entries[f"ar_{name}"]["answer"]["scores"], rel=1e-12)
    swapped = np.array(list(product((0.0, 1.0), repeat=12)))
    far = np.abs(value(swapped @ b + (1 - swapped) @ a) - value(swapped @ a + (1 - swapped) @ b))
    assert found.p_value == pytest.approx(np.mean(far > far[0] - 1e-9), rel=1e-12)
    theirs, farther = entries[f"ar_{name}"]["answer"]["p"], float(np.mean(far > far[0] + 1e-9))
    assert abs(theirs - farther) < 4 * math.sqrt(farther / 10_000) + 1e-4
    assert two(SUMS[name], sides[0], sides[0]).p_value == 1  # sacrebleu's is 1/1001
    low, high = one(SUMS[name], sides[1], interval="percentile").interval() or (0, 0)
    assert (high - low) / 2 == pytest.approx(entries[f"bs_{name}"]["answer"]["ci"], rel=0.06)


@pytest.mark.parametrize("name", ["delong_readme", "delong_ties"])
def test_delong(name: str) -> None:
    """Areas, variances and z; ours takes t, and for few misses the ends of either area."""
    truth, *scores = PEERS["MLstatkit"][name]["input"]
    theirs = PEERS["MLstatkit"][name]["answer"]
    a, b = (Items.of(truth=truth, probability=s) for s in scores)
    found: Any = two("auc", a, b)
    assert [found.baseline, found.candidate] == pytest.approx(theirs["auc"])
    assert found.estimate / math.sqrt(found.certainty.variance) == pytest.approx(theirs["z"], rel=1e-9)
    for area, value, ends in zip((found.certainty.one, found.certainty.two), theirs["auc"], theirs["ci"], strict=True):
        reach = Z * math.sqrt(area.variance)
        assert [max(0.0, value - reach), min(1.0, value + reach)] == pytest.approx(ends, abs=1e-9)
        assert area.ends()[0] < value <= area.ends()[1] <= 1


def test_area_of_statsmodels() -> None:
    """Brunner and Munzel's variance of P(X > Y) is DeLong's; its interval passes 1 here. SciPy's U is the area."""
    x, y = [0.1, 0.4, 0.35, 0.8, 0.3, 0.3], [0.2, 0.1, 0.4, 0.3, 0.05]
    theirs = rank_compare_2indep(np.array(x), np.array(y), use_t=False)
    c = sure(one("auc", Items.of(truth=[1] * 6 + [0] * 5, probability=[*x, *y]), interval="delong"))
    assert [c.estimate, (c.error or 0) ** 2] == pytest.approx([theirs.prob1, theirs.var / theirs.nobs])
    assert c.estimate == pytest.approx(stats.mannwhitneyu(x, y).statistic / 30)
    assert theirs.conf_int()[1] > 1 > c.ends()[1]


def test_kappa() -> None:
    """Agresti's two pathologists: .493, error .057; the delta method is Fleiss' formula but for n - 1."""
    cells = [[22, 2, 2, 0], [5, 7, 14, 0], [0, 2, 36, 0], [0, 1, 17, 10]]
    theirs, c = inter_rater.cohens_kappa(np.array(cells)), sure(one("kappa", table(cells), interval="delta"))
    assert [c.estimate, (c.error or 0) * math.sqrt(117 / 118)] == pytest.approx([theirs.kappa, theirs.std_kappa])


SHARES = {"accuracy_score": "accuracy", "ppv_score": "precision", "npv_score": "npv", "tpr_score": "recall", "tnr_score": "specificity"}


@pytest.mark.parametrize("name", SHARES)
def test_confidenceinterval(name: str) -> None:
    """Wilson, to the digits that its 1e-7 in denominators leaves."""
    found = one(SHARES[name], Counts.binary(tp=50, fn=10, fp=11, tn=79))
    assert [found.estimate, found.interval()] == [pytest.approx(x, abs=1e-7) for x in PEERS["confidenceinterval"][name]["answer"]]


def test_macro_f1_of_confidenceinterval() -> None:
    """Samples of the table judge: its error is half as large again."""
    cells = np.array([[50, 5, 5], [8, 30, 2], [3, 7, 40]])
    drawn = np.random.default_rng(0).multinomial(150, cells.ravel() / 150, size=20_000).reshape(-1, 3, 3)
    true = float((2 * np.einsum("...ii->...i", drawn) / (drawn.sum(-1) + drawn.sum(-2))).mean(1).std())
    value, (low, high) = PEERS["confidenceinterval"]["macro_f1_score"]["answer"]
    c = sure(one("macro_f1", table(cells), interval="delta"))
    assert [c.estimate, c.error, (high - low) / 2 / Z] == pytest.approx([value, true, 1.6 * true], rel=0.03)


# ---- many systems -----------------------------------------------------------------------------------------------------------------------


def test_cochran() -> None:
    """Kuncheva's three classifiers: Q = 7.529, p = .023."""
    right = np.array([[float(answer == "0") for answer in answers] for answers in PEERS["mlxtend"]["cochrans_q"]["input"]])
    q, df, p = many.cochran_q(right)
    assert [q, p] == pytest.approx(PEERS["mlxtend"]["cochrans_q"]["answer"])
    assert (round(q, 3), df, round(p, 3)) == (7.529, 2, 0.023)


@pytest.mark.parametrize("correction", ["holm", "bh", "bonferroni"])
def test_corrections(correction: str) -> None:
    p = np.random.default_rng(1).random(40) ** 3
    p[3:6] = p[7]  # ties
    theirs = multipletests(p, method={"bh": "fdr_bh"}.get(correction, correction))[1]
    assert many.adjust(p, correction) == pytest.approx(theirs, rel=1e-12)


def test_ranks() -> None:
    scores = np.random.default_rng(2).integers(0, 5, (12, 4)).astype(float)
    found, theirs = many.friedman(scores), stats.friedmanchisquare(*scores.T)
    assert [found.chi2, found.p_chi2] == pytest.approx([theirs.statistic, theirs.pvalue])
    for k, n in ((4, 12), (10, 30)):
        wanted = stats.studentized_range.ppf(0.95, k, 1e6) * math.sqrt(k * (k + 1) / 12 / n)
        assert many.nemenyi(k, n) == pytest.approx(wanted, rel=1e-5)


# ---- textbooks --------------------------------------------------------------------------------------------------------------------------

PIES = Counts.binary(tp=0, fp=0, fn=100, tn=999_900)
LIVERS = Counts.binary(tp=231, fn=27, fp=32, tn=54)
SPAM = table(np.array([[8, 10, 1], [5, 60, 50], [3, 30, 200]]).T)


@pytest.mark.parametrize(
    ("counts", "metric", "printed", "digits"),
    [
        (SPAM, "macro_precision", 0.60, 2),  # Jurafsky and Martin, figures 4.5 and 4.6
        (SPAM, "micro_precision", 0.73, 2),
        (PIES, "precision", None, 2),  # section 4.7: 0/0 is no 0
        (LIVERS, "recall", 0.90, 2),  # Altman and Bland, diagnostic tests 1 and 2
        (LIVERS, "specificity", 0.63, 2),
        (LIVERS, "precision", 0.88, 2),
        (LIVERS, "npv", 0.67, 2),
        (table([[300, 20], [10, 70]]), "kappa", 0.776, 3),  # Manning, Raghavan and Schuetze, table 8.2
    ],
)
def test_textbooks(counts: Counts, metric: str, printed: float | None, digits: int) -> None:
    found = one(metric, counts).estimate
    assert found is None if printed is None else found == pytest.approx(printed, abs=0.51 * 10.0**-digits)


def test_hanley_and_mcneil_readings() -> None:
    """58 normal and 51 abnormal scans rated 1 to 5: .893; a tie counts half, so the error is .0307 and not their .032."""
    ratings = np.concatenate([np.repeat(np.arange(1.0, 6), often) for often in ([33, 6, 6, 11, 2], [3, 2, 2, 11, 33])])
    c = sure(one("auc", Items.of(truth=[0] * 58 + [1] * 51, probability=ratings)))
    assert [c.estimate, c.error] == pytest.approx([0.893, 0.0307], abs=5e-4)
