"""One sample against SciPy, statsmodels, scikit-learn and what papers and R print: the files of tests/golden."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from steelyard.data.counts import Counts
from steelyard.data.design import Design
from steelyard.data.items import Items
from steelyard.engines import score
from steelyard.engines.one import Answer, How, measure
from steelyard.engines.sums import Statistic, add_up, spread
from steelyard.metrics.metric import quotient

Inputs = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden"
ENTRIES = {
    entry["id"]: {"input": entry.get("inputs"), "output": entry.get("expected"), **entry}
    for name in ("frequentist", "published")
    for entry in json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["entries"]
}
LEFT = ("wsr-betting",)  # bets without a horizon: ours are for a number of items that is known
ONE_SIGMA = math.erf(math.sqrt(0.5))  # the level whose z is exactly 1
Z = 1.959963984540054


def asked(metric: str, data: Any, **how: Any) -> Answer:
    (found,) = measure(metric, data, How(**how))
    return found


def table(cells: Any) -> Counts:
    return Counts.table({(str(i), str(j)): count for i, row in enumerate(cells) for j, count in enumerate(row)})


def share(method: str, side: str = "two") -> Callable[[Inputs], Any]:
    def ends(i: Inputs) -> Any:
        return asked("accuracy", Counts.of(i["x"], i["n"]), interval=method).interval(i.get("confidence", i.get("conf", 0.95)), side)

    return ends


def error(level: float, side: str = "two") -> Callable[[Inputs], Any]:
    """Mitchell's quantity: the share of wrong answers, by the textbook interval."""
    return lambda i: asked("error", Counts.of(i["n"] - i["errors"], i["n"]), interval="wald").interval(level, side)


def bare_wald(i: Inputs) -> Any:
    """The formula has no width at 0 and n and may leave 0 to 1; the public answer has, and does not."""
    low, high = share("wald")(i)
    assert 0 <= low < high <= 1
    return score.wald(i["x"], i["n"], 0.025)


def normal(i: Inputs) -> Any:
    return share("wald")(i) if 0 < i["x"] < i["n"] else bare_wald(i)


def p_of(method: str) -> Callable[[Inputs], float]:
    def p(i: Inputs) -> float:
        found = asked("accuracy", Counts.of(i["x"], i["n"]), interval=method).certainty
        assert found is not None
        return found.p(i["p0"])

    return p


def coverage(i: Inputs, name: str = "wald") -> float:
    inside = [x for x in range(i["n"] + 1) if (e := score.ONE_SHARE[name](x, i["n"], 0.025))[0] <= i["p"] <= e[1]]
    return float(stats.binom.pmf(inside, i["n"], i["p"]).sum())


THEIRS = {"normal": "wald", "agresti_coull": "agresti-coull", "wilson": "wilson", "beta": "clopper-pearson", "jeffreys": "jeffreys"}


def values(i: Inputs, *names: str, **how: Any) -> list[float]:
    return [found.estimate for name in names for found in measure(name, table(i["confusion"]), How(draws=50, **how))]  # type: ignore[misc]


def each_class(i: Inputs) -> dict[str, list[float]]:
    out = {name: values(i, f"each_{name}") for name in ("precision", "recall", "f1")}
    return {**out, "support": [found.n for found in measure("each_recall", table(i["confusion"]))]}


def f_of_averages(i: Inputs) -> float:
    """The other macro F1; ours is the mean of the classes' F1s."""
    p, r, f = values(i, "macro_precision", "macro_recall", "macro_f1")
    assert abs(f - 2 * p * r / (p + r)) > 1e-3
    return 2 * p * r / (p + r)


def absent(i: Inputs) -> Any:
    """0/0 is no zero: undefined, unless it is said what it is."""
    items = Items.of(truth=i["y_true"], prediction=i["y_pred"])
    plain, zero, skip = (asked("macro_f1", items, labels=i.get("labels"), absent=how, draws=50) for how in (None, "zero", "skip"))
    assert plain.estimate == (None if "labels" in i else zero.estimate)
    assert skip.estimate == pytest.approx(zero.estimate * (3 / 2 if "labels" in i else 1))  # type: ignore[operator]
    return zero.estimate


def by_delta(metric: str) -> Callable[[Inputs], dict[str, float]]:
    """Theirs is z with n; ours is t with n - 1."""

    def found(i: Inputs) -> dict[str, float]:
        answer, n = asked(metric, table(i["confusion"]), interval="delta"), int(np.sum(i["confusion"]))
        c = answer.certainty
        assert c is not None
        assert c.error is not None
        reach = float(stats.t.ppf(0.975, n - 1)) * c.error
        assert c.ends() == pytest.approx((c.estimate - reach, c.estimate + reach))
        se = c.error * math.sqrt((n - 1) / n)
        return {"point": c.estimate, "se": se, "lo": c.estimate - Z * se, "hi": c.estimate + Z * se}

    return found


def binary_f1(i: Inputs) -> dict[str, float]:
    """Ours is found for the Jaccard index, a share, and carried over."""
    c: Any = asked("f1", Counts.binary(tp=i["TP"], fp=i["FP"], fn=i["FN"], tn=i.get("TN")), interval="delta").certainty
    assert c.ends() == pytest.approx([2 * end / (1 + end) for end in c.inner.ends()])
    se = c.inner.error * 2 / (1 + c.inner.estimate) ** 2
    return {"f1": c.estimate, "se": se, "lo": c.estimate - Z * se, "hi": c.estimate + Z * se}


def of_order(metric: str) -> Callable[[Inputs], Any]:
    return lambda i: asked(metric, Items.of(truth=i["y"], probability=i["s"])).estimate


def delong(i: Inputs) -> dict[str, list[float]]:
    found: list[Any] = [asked("auc", Items.of(truth=i["y"], probability=i[s]), interval="delong").certainty for s in "ab"]
    return {"auc": [c.estimate for c in found], "var": [c.error**2 for c in found]}


def clustered(i: Inputs) -> float:
    """Four groups have no interval; CR2 of groups of one size is G / (G - 1)."""
    found = asked("accuracy", Items.of(score=i["y"], group=i["cluster"]))
    assert found.certainty is None
    assert "4 groups" in found.why
    rows = np.stack([np.ones(12), i["y"]], 1)
    sums = add_up(rows, Design(group=np.array(i["cluster"])))
    return math.sqrt(spread(sums, Statistic(quotient, lambda t: np.array([-t[1] / t[0] ** 2, 1 / t[0]]))).variance)


def posterior_f1(i: Inputs) -> Any:
    return asked("f1", Counts.binary(tp=i["tp"], fp=i["fp"], fn=i["fn"]), interval="bayes", prior=i["lam"]).interval()


QUESTIONS: dict[str, Callable[[Inputs], Any]] = {
    "mitchell_12_40_wald95": error(0.95),
    "mitchell_12_40_68": error(ONE_SIGMA),
    "mitchell_12_40_onesided": lambda i: error(i["confidence"], "upper")(i)[1],
    "mitchell_sd_300_1000": lambda i: np.ptp(error(ONE_SIGMA)(i)) / 2,
    "mitchell_10_65_90": error(0.9),
    "wilson": share("wilson"),
    "clopper-pearson": share("clopper-pearson"),
    "clopper_pearson": share("clopper-pearson"),
    "mid-P exact": share("mid-p"),
    "mid-P exact (inversion)": share("mid-p"),
    "mid_p": share("mid-p"),
    "wald": bare_wald,
    "wald (unclipped)": bare_wald,
    "contingencytables-wald-250-533": share("wald"),
    "fll_13_16_exact_test": p_of("clopper-pearson"),  # two-sided by small p-values is the doubled tail at 1/2
    "fll_13_16_midp_test": p_of("mid-p"),
    "fll_13_16_score_test": lambda i: {"p": p_of("wilson")(i), "z": -float(ndtri(p_of("wilson")(i) / 2))},
    "normal": normal,
    "agresti_coull": share("agresti-coull"),
    "agresti_coull z^2 form": share("agresti-coull"),
    "agresti_coull add-2-successes-2-failures variant": lambda i: share("wald")({**i, "x": i["x"] + 2, "n": i["n"] + 4}),
    "beta": share("clopper-pearson"),
    "jeffreys": share("jeffreys"),
    "cp_0_n_closed_form": lambda i: share("clopper-pearson")({**i, "confidence": 1 - i["alpha"]})[1],
    "onesided_wilson_12_40_less": share("wilson", "upper"),
    "onesided_wilson_12_40_greater": share("wilson", "lower"),
    "onesided_exact_12_40_greater": share("", "lower"),
    "exact coverage of Wald 95%": coverage,
    "exact coverage of nominal-95% intervals": lambda i: {theirs: coverage(i, ours) for theirs, ours in THEIRS.items()},
    "metric_cm3_perclass": each_class,
    "metric_cm3_macro": lambda i: values(i, "macro_precision", "macro_recall", "macro_f1"),
    "metric_cm3_macroF1_alt": f_of_averages,
    "metric_cm3_other": lambda i: dict(
        zip(("acc", "bacc", "mcc", "kappa"), values(i, "accuracy", "balanced_accuracy", "mcc", "kappa"), strict=True)
    ),
    "metric_absent_class_sklearn": absent,
    "metric_absent_both_labels": absent,
    "metric_auc_ties": of_order("auc"),
    "metric_ap": of_order("average_precision"),
    "delta_macro_f1": by_delta("macro_f1"),
    "delta_macro_rec": by_delta("macro_recall"),
    "takahashi_macroF1_var": lambda i: by_delta("macro_f1")(i)["se"] ** 2,
    "delta_microF1": lambda i: asked("micro_f1", table(i["confusion"]), interval="delta").interval(),
    "delta_binaryF1": binary_f1,
    "binaryF1_closed_form": lambda i: binary_f1(i)["se"] ** 2,  # without the items that are neither, which F1 does not look at
    "delong_10": delong,
    "clustered_se": lambda i: clustered(i) * math.sqrt(3 / 4),  # Miller's formula has no small-sample factor
    "clustered_se_G": clustered,
    "clustered_se_sm": clustered,
    "paired_boot_percentile_exact": lambda i: asked("mean", Items.of(score=i["diffs"]), interval="percentile").interval(),
    "goutte-gaussier-closed-form": posterior_f1,
}


def question(name: str) -> str:
    return name if name in QUESTIONS else ENTRIES[name]["method"]


@pytest.mark.parametrize("name", [name for name in ENTRIES if not name.startswith(LEFT)])
def test_agrees(name: str) -> None:
    entry = ENTRIES[name]
    found = QUESTIONS[question(name)](entry["input"])
    for wanted, slack in ((entry["output"], entry["tol"]), (entry.get("published"), entry.get("published_tol"))):
        if isinstance(wanted, dict):
            assert set(found) == set(wanted)
            for key in wanted:
                if wanted[key] is not None:
                    assert found[key] == pytest.approx(wanted[key], abs=slack, rel=0), key
        elif wanted is not None:
            assert found == pytest.approx(wanted, abs=slack, rel=0)


def test_every_entry_is_asked_or_left() -> None:
    assert {question(name) for name in ENTRIES if not name.startswith(LEFT)} == set(QUESTIONS)
    assert len(ENTRIES) == 84 + 39
    assert [name for name in ENTRIES if name.startswith(LEFT)] == ["wsr-betting-0.5", "wsr-betting-0.9"]
