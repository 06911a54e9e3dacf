"""Every posterior against numbers of another program: mpmath at 40 digits, or 4 million draws. See bayesian.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import every
from steelyard.infer.posterior.metrics import (
    BetaPosterior,
    Posterior,
    balanced_accuracy_posterior,
    f1_posterior,
    f_beta_posterior,
    proportion_posterior,
    table_posterior,
)
from steelyard.metrics.table import F1, RECALL, Margins, average, kappa, mcc
from steelyard.tally.counts import Counts

GOLDEN = json.loads((Path(__file__).parent / "bayesian.json").read_text(encoding="utf-8"))
ENTRIES = {entry["id"]: entry for entry in GOLDEN["entries"]}
# Group H is Monte Carlo on both sides: its own tolerance is for its 4 million draws (mc3_mcc uses nine tenths of it: its lower
# quantile is 0.41535, ours over 7 million lattice points 0.41505 +- 0.00005), so 3 of our stated errors are added.
DRAWS, OUR_ERROR = 420_000, 3 * 2e-4
Inputs = dict[str, Any]


def accuracy(i: Inputs) -> BetaPosterior:
    return proportion_posterior(i["k"], i["n"], prior=(i["a0"], i["b0"]))


def f1(i: Inputs) -> Posterior:
    return f1_posterior(i.get("tp", 0), i.get("fp", 0), i.get("fn", 0), prior=i["lam"])


def f_beta(i: Inputs) -> Posterior:
    return f_beta_posterior(i["tp"], i["fp"], i["fn"], beta=i["beta"], prior=i["lam"])


def binary_balanced(i: Inputs) -> Posterior:
    return balanced_accuracy_posterior([(i["tp"], i["tp"] + i["fn"]), (i["tn"], i["tn"] + i["fp"])], prior=i["alpha"])


def class_f1(i: Inputs, k: int) -> Posterior:
    """The marginal law of one class under a Dirichlet(alpha) on every cell: 2(K-1) cells fail, so the pair is for J."""
    table = np.array(i["cm"])
    hit, off = int(table[k, k]), 2 * (len(table) - 1)
    return f1_posterior(hit, int(table[:, k].sum()) - hit, int(table[k].sum()) - hit, prior=(i["alpha"], off * i["alpha"]))


def rows_balanced(i: Inputs) -> Posterior:
    rows = [(row[k], sum(row)) for k, row in enumerate(i["cm"])]
    return balanced_accuracy_posterior(rows, prior=(i["alpha"], (len(rows) - 1) * i["alpha"]))


def drawn(statistic: Callable[[Margins], Any], metric: str) -> Callable[[Inputs], list[float]]:
    """[mean, sd, and three quantiles] under the study's prior, which is one per cell and not our default."""

    def values(i: Inputs) -> list[float]:
        table = i.get("cm") or [[i["tn"], i["fp"]], [i["fn"], i["tp"]]]
        prior = np.full((len(table), len(table)), i["alpha"])
        posterior = table_posterior(Counts.table(table), statistic, metric=metric, prior=prior, draws=DRAWS)
        assert posterior.error < OUR_ERROR / 3
        return summary(posterior)

    return values


def summary(posterior: Posterior) -> list[float]:
    return [posterior.mean, posterior.sd, *(posterior.ppf(q) for q in (0.025, 0.5, 0.975))]


def level(i: Inputs) -> float:
    return float(i.get("level", 0.95))


QUESTIONS: dict[str, Callable[[Inputs], Any]] = {
    "acc_eti95": lambda i: accuracy(i).interval(level(i)),
    "acc_hdi95": lambda i: BetaPosterior(i["a"], i["b"]).interval(level(i), "hdi"),
    "acc_prob_gt": lambda i: accuracy(i).probability_above(i["t"]),
    "acc_mean_var": lambda i: (accuracy(i).mean, accuracy(i).sd ** 2),
    "zuri_precision": lambda i: proportion_posterior(i["tp"], i["tp"] + i["fp"], prior=i["lam"]).interval(),
    "zuri_recall": lambda i: proportion_posterior(i["tp"], i["tp"] + i["fn"], prior=i["lam"]).interval(),
    "f1_eti": lambda i: f1(i).interval(level(i)),
    "f1_median_mean_sd": lambda i: (f1(i).median, f1(i).mean, f1(i).sd),
    "f1_mode": lambda i: f1(i).mode,
    "f1_hdi95": lambda i: f1(i).interval(level(i), "hdi"),
    "f1_pdf": lambda i: f1(i).pdf(i["y"]),
    "f1_prior_mean": lambda i: f1(i).mean,
    "f1_prior_median": lambda i: f1(i).median,
    "fbeta_cdf": lambda i: f_beta(i).cdf(i["y"]),
    "fbeta_eti": lambda i: f_beta(i).interval(),
    "ba_mean_sd": lambda i: (binary_balanced(i).mean, binary_balanced(i).sd),
    "ba_cdf": lambda i: binary_balanced(i).cdf(i["y"]),
    "ba_eti": lambda i: binary_balanced(i).interval(),
    "mc_f1_class": lambda i: class_f1(i, i["cls"]).interval(),
    "mc_macro_f1_mean": lambda i: np.mean([class_f1(i, k).mean for k in range(3)]),
    "mc_ba_mean_sd": lambda i: (rows_balanced(i).mean, rows_balanced(i).sd),
    "mc3_ba": lambda i: summary(rows_balanced(i)),
    "mc3_macro_f1": drawn(lambda m: average(F1, "macro", m), "f1.macro"),
    "mc3_mcc": drawn(mcc, "mcc"),
    "mc3_kappa": drawn(kappa, "kappa"),
    "mc2_mcc": drawn(mcc, "mcc"),
}


def question(name: str) -> Callable[[Inputs], Any]:
    """The question of an entry: the longest one its id starts with."""
    return QUESTIONS[max((start for start in QUESTIONS if name.startswith(start)), key=len)]


@every("name", ENTRIES)
def test_agrees(name: str) -> None:
    entry = ENTRIES[name]
    ours = OUR_ERROR if question(name).__name__ == "values" else 0.0
    assert question(name)(entry["inputs"]) == pytest.approx(entry["value"], abs=entry["tol"] + ours, rel=0)


def test_every_question_is_asked() -> None:
    asked = {id(question(name)) for name in ENTRIES}
    assert asked == {id(ask) for ask in QUESTIONS.values()}


def test_the_two_ways_to_balanced_accuracy_agree() -> None:
    """Macro recall by draws of the table and by the convolution of Betas are the same model."""
    entry = ENTRIES["mc3_ba"]
    by_draws = drawn(lambda m: average(RECALL, "macro", m), "recall.macro")(entry["inputs"])
    assert by_draws == pytest.approx(QUESTIONS["mc3_ba"](entry["inputs"]), abs=OUR_ERROR, rel=0)
