"""One sample against scipy, statsmodels, scikit-learn and the numbers papers print. See frequentist.json."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import steelyard as sy
from by_name import item_rows
from cases import every
from oracles import coverage, pairs_matrix
from steelyard.infer.intervals.proportion import proportion_interval
from steelyard.infer.intervals.sums import standard_error
from steelyard.infer.normal import wald, z_value
from steelyard.metrics.sums import QUOTIENT
from steelyard.tally.sums import tally_groups

GOLDEN = json.loads((Path(__file__).parent / "frequentist.json").read_text(encoding="utf-8"))
ENTRIES = {entry["id"]: entry for entry in GOLDEN["entries"]}
Inputs = dict[str, Any]
ONE_SIGMA = math.erf(math.sqrt(0.5))  # the level whose z is exactly 1
STATSMODELS = {"normal": "wald", "agresti_coull": "agresti-coull", "wilson": "wilson", "beta": "clopper-pearson", "jeffreys": "jeffreys"}


def ends(measurement: sy.Measurement) -> list[float]:
    interval = measurement.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return [interval.low, interval.high]


def error(i: Inputs, **options: Any) -> sy.Measurement:
    """Mitchell's quantity: the share of wrong answers, by the textbook interval."""
    return sy.measure(sy.Counts.of(i["n"] - i["errors"], i["n"]), metric="error", interval="wald", **options)


def share(method: str) -> Callable[[Inputs], list[float]]:
    return lambda i: ends(sy.measure(sy.Counts.of(i["x"], i["n"]), interval=method, confidence_level=i.get("confidence", 0.95)))


def wald_without_width(i: Inputs) -> list[float]:
    """The formula gives +-0 at 0/n and n/n, as statsmodels does. It claims certainty after 7 of 7: we say so and answer with
    Wilson's end, or with Wald's own at one mistake if that is nearer.

    Both are checked: the bare formula here equals the golden value, the public answer has a width and a warning.
    """
    m = sy.measure(sy.Counts.of(i["x"], i["n"]), interval="wald")
    assert m.interval is not None
    instead, one = share("wilson")(i), list(wald(i["n"] - 1 if i["x"] else 1, i["n"]))
    assert ends(m) == ([max(instead[0], one[0]), 1.0] if i["x"] else [0.0, min(instead[1], one[1])])
    assert any("zero width" in sentence for sentence in m.warnings)
    return list(wald(i["x"], i["n"]))


def p_value(method: str) -> Callable[[Inputs], float]:
    """The p-value that the interval inverts: 1 - the level at which p0 is its lower end."""

    def find(i: Inputs) -> float:
        counts = sy.Counts.of(i["x"], i["n"])
        gap = lambda p: ends(sy.measure(counts, interval=method, confidence_level=1 - p))[0] - i["p0"]  # noqa: E731
        return float(optimize.brentq(gap, 1e-6, 0.5, xtol=1e-15, rtol=1e-14))

    return find


def score_test(i: Inputs) -> dict[str, float]:
    p = p_value("wilson")(i)
    return {"z": z_value(1 - p), "p": p}


def bound(method: str) -> Callable[[Inputs], list[float]]:
    sides = {"less": "upper", "greater": "lower"}
    return lambda i: ends(sy.measure(sy.Counts.of(i["x"], i["n"]), interval=method, side=sides[i["alternative"]]))


def wald_coverage(i: Inputs) -> float:
    return coverage(i["n"], i["p"], lambda x: proportion_interval(x, i["n"], "wald"))


def coverages(i: Inputs) -> dict[str, float]:
    return {
        theirs: coverage(i["n"], i["p"], lambda x, ours=ours: proportion_interval(x, i["n"], ours)) for theirs, ours in STATSMODELS.items()
    }


def estimates(i: Inputs, *names: str, **options: Any) -> list[float]:
    """Point values through the public door; the percentile bootstrap with few draws, since only estimates are asked."""
    return [value(sy.measure(sy.Counts.table(i["confusion"]), metric=name, draws=50, **options).estimate) for name in names]


def value(estimate: float | None) -> float:
    assert estimate is not None
    return estimate


def each_class(i: Inputs) -> dict[str, list[float]]:
    m = sy.measure(sy.Counts.table(i["confusion"]), metric=["each_precision", "each_recall", "each_f1"])
    out = {name: [value(m[f"{name}[{k}]"].estimate) for k in range(3)] for name in ("precision", "recall", "f1")}
    supports = [m[f"recall[{k}]"].support for k in range(3)]
    assert supports == [m[f"recall[{k}]"].n for k in range(3)]
    return {**out, "support": supports}  # type: ignore[dict-item]


def f_of_averages(i: Inputs) -> float:
    """The other macro-F1: ours is the mean of the classes' F1s (Opitz and Burst 2019: this one can rank classifiers the wrong way)."""
    precision, recall, macro = estimates(i, "macro_precision", "macro_recall", "macro_f1")
    harmonic = 2 * precision * recall / (precision + recall)
    assert abs(macro - harmonic) > 1e-3
    return harmonic


def absent_class(i: Inputs) -> float:
    """scikit-learn counts a declared class that never occurs as F1 = 0. 0/0 is no zero: undefined unless `absent` decides."""
    labels = i.get("labels")
    plain = sy.measure(i["y_true"], i["y_pred"], metric="macro_f1", labels=labels, draws=50)
    zero = sy.measure(i["y_true"], i["y_pred"], metric="macro_f1", labels=labels, absent="zero", draws=50)
    if labels is None:  # predicted once, never true: precision is 0/1, so F1 is a true 0
        assert plain.estimate == zero.estimate
    else:
        assert plain.estimate is None
        assert any("undefined" in sentence for sentence in plain.warnings)
        skip = sy.measure(i["y_true"], i["y_pred"], metric="macro_f1", labels=labels, absent="skip", draws=50)
        assert value(skip.estimate) == pytest.approx(value(zero.estimate) * 3 / 2, abs=1e-12)  # torchmetrics' habit
    return value(zero.estimate)


def of_order(metric: str) -> Callable[[Inputs], float]:
    return lambda i: value(sy.measure(i["y"], probability=i["s"], metric=metric, draws=50).estimate)


def by_delta(counts: sy.Counts, metric: str) -> dict[str, float]:
    m = sy.measure(counts, metric=metric, interval="delta")
    low, high = ends(m)
    return {"point": value(m.estimate), "se": (high - low) / 2 / stats.norm.ppf(0.975), "lo": low, "hi": high}


def binary_f1(i: Inputs) -> dict[str, float]:
    found = by_delta(sy.Counts.binary(tp=i["TP"], fp=i["FP"], fn=i["FN"], tn=i.get("TN")), "f1")
    return {"f1": found["point"], "se": found["se"], "lo": found["lo"], "hi": found["hi"]}


def _parts(score: Any, positive: Any) -> list[float]:
    """What positives and negatives each add to the variance, from all pairs."""
    psi = pairs_matrix(score, positive)
    return [float(psi.mean(axis).var(ddof=1)) / psi.shape[1 - axis] for axis in (1, 0)]


def delong(i: Inputs) -> dict[str, list[float]]:
    """AUC and the variance behind the logit interval: half its width on that scale is t se / (A (1 - A)), t of Satterthwaite's degrees."""
    area, variance = [], []
    for score in (i["a"], i["b"]):
        m = sy.measure(i["y"], probability=score, metric="auc", interval="delong")
        a, (low, high) = value(m.estimate), ends(m)
        logit = [math.log(x / (1 - x)) for x in (low, high)]
        area.append(a)
        parts = _parts(np.array(score), np.array(i["y"]) == 1)
        df = sum(parts) ** 2 / sum(v * v / (n - 1) for v, n in zip(parts, (np.sum(i["y"]), len(i["y"]) - np.sum(i["y"])), strict=True))
        variance.append(((logit[1] - logit[0]) / 2 / stats.t.ppf(0.975, df) * a * (1 - a)) ** 2)
    return {"auc": area, "var": variance}


def clustered(i: Inputs) -> float:
    """Ours is G/(G-1) (CR1 of a mean). Four groups are too few for an interval, so the public answer has none."""
    m = sy.measure(i["y"], group=i["cluster"], metric="accuracy")
    assert m.interval is None
    assert any("4 groups" in sentence for sentence in m.warnings)
    return standard_error(tally_groups(item_rows("mean", np.array(i["y"])), np.array(i["cluster"]), 4), QUOTIENT)


def exact_percentile(i: Inputs) -> list[float]:
    """Our percentiles come from draws and interpolate; the golden ones are atoms of the exact law, so both agree."""
    return ends(sy.measure(i["diffs"], metric="mean", interval="percentile"))


QUESTIONS: dict[str, Callable[[Inputs], Any]] = {
    "mitchell_12_40_wald95": lambda i: ends(error(i)),
    "mitchell_12_40_68": lambda i: ends(error(i, confidence_level=ONE_SIGMA)),
    "mitchell_12_40_onesided": lambda i: ends(error(i, confidence_level=i["confidence"], side="upper"))[1],
    "mitchell_sd_300_1000": lambda i: np.ptp(ends(error(i, confidence_level=ONE_SIGMA))) / 2,
    "mitchell_10_65_90": lambda i: ends(error(i, confidence_level=i["confidence"])),
    "wilson": share("wilson"),
    "clopper-pearson": share("clopper-pearson"),
    "mid-P exact": share("mid-p"),
    "mid-P exact (inversion)": share("mid-p"),
    "wald (unclipped)": share("wald"),
    "newcombe98a_0_20_wald": wald_without_width,
    "fll_13_16_exact_test": p_value("clopper-pearson"),  # two-sided by small p-values = doubled tail at p0 = 1/2
    "fll_13_16_midp_test": p_value("mid-p"),
    "fll_13_16_score_test": score_test,
    "normal": share("wald"),
    "sm_normal_10_10": wald_without_width,
    "sm_normal_0_1000000": wald_without_width,
    "sm_normal_7_7": wald_without_width,
    "agresti_coull": share("agresti-coull"),
    "beta": share("clopper-pearson"),
    "jeffreys": share("jeffreys"),
    "cp_0_n_closed_form": lambda i: share("clopper-pearson")({**i, "confidence": 1 - i["alpha"]})[1],
    "one-sided 95% wilson": bound("wilson"),
    "one-sided 95% exact": bound("clopper-pearson"),
    "exact coverage of Wald 95%": wald_coverage,
    "exact coverage of nominal-95% intervals": coverages,
    "metric_cm3_perclass": each_class,
    "metric_cm3_macro": lambda i: estimates(i, "macro_precision", "macro_recall", "macro_f1"),
    "metric_cm3_macroF1_alt": f_of_averages,
    "metric_cm3_other": lambda i: dict(
        zip(("acc", "bacc", "mcc", "kappa"), estimates(i, "accuracy", "balanced_accuracy", "mcc", "kappa"), strict=True)
    ),
    "metric_absent_class_sklearn": absent_class,
    "metric_absent_both_labels": absent_class,
    "metric_auc_ties": of_order("auc"),
    "metric_ap": of_order("average_precision"),
    "delta_macro_f1": lambda i: by_delta(sy.Counts.table(i["confusion"]), "macro_f1"),
    "delta_macro_rec": lambda i: by_delta(sy.Counts.table(i["confusion"]), "macro_recall"),
    "takahashi_macroF1_var": lambda i: by_delta(sy.Counts.table(i["confusion"]), "macro_f1")["se"] ** 2,
    "delta_microF1": lambda i: ends(sy.measure(sy.Counts.table(i["confusion"]), metric="micro_f1", interval="delta")),
    "delta_binaryF1": binary_f1,
    "binaryF1_closed_form": lambda i: binary_f1(i)["se"] ** 2,  # the same number without TN: F1 does not look at it
    "delong_10": delong,
    "clustered_se": lambda i: clustered(i) * math.sqrt(3 / 4),  # Miller's formula has no small-sample factor
    "clustered_se_G": clustered,
    "clustered_se_sm": clustered,  # statsmodels' further factor (n-1)/(n-k) is 1 for a bare mean
    "paired_boot_percentile_exact": exact_percentile,
}


def question(entry: dict[str, Any]) -> Callable[[Inputs], Any]:
    """The check of an entry: by its id, else by its method."""
    return QUESTIONS[entry["id"] if entry["id"] in QUESTIONS else entry["method"]]


def close(found: Any, wanted: Any, tol: float) -> None:
    if isinstance(wanted, dict):
        assert set(found) == set(wanted)
        for key, one in wanted.items():
            if one is not None:
                assert found[key] == pytest.approx(one, abs=tol, rel=0), key
    else:
        assert found == pytest.approx(wanted, abs=tol, rel=0)


@every("name", ENTRIES)
def test_agrees(name: str) -> None:
    entry = ENTRIES[name]
    found = question(entry)(entry["input"])
    close(found, entry["output"], entry["tol"])
    if "published" in entry:
        close(found, entry["published"], entry["published_tol"])


def test_every_entry_has_a_check_and_every_check_an_entry() -> None:
    asked = {entry["id"] if entry["id"] in QUESTIONS else entry["method"] for entry in GOLDEN["entries"]}
    assert asked == set(QUESTIONS)
    assert len(ENTRIES) == len(GOLDEN["entries"]) == 84
