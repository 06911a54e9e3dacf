"""The posteriors against mpmath at 40 digits (or 4 million draws), against the old house, and against what must hold of any law."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard_old.infer.posterior.difference as old_difference
import steelyard_old.infer.posterior.metrics as old
from steelyard.base.problem import SteelyardError
from steelyard.engines.certainty import NoAnswer
from steelyard.engines.posterior import Beta, Posterior, difference, difference_of_flips, f_beta, jaccard, mean_of_shares, proportion
from steelyard.engines.posterior_table import Drawn, drawn, drawn_difference
from steelyard_old.tally.joint import joint_table

ENTRIES = {e["id"]: e for e in json.loads((Path(__file__).parent / "golden" / "bayesian.json").read_text(encoding="utf-8"))["entries"]}
DRAWS = 1_000_000
Inputs = dict[str, Any]


def accuracy(i: Inputs) -> Beta:
    return proportion(i["k"], i["n"], (i["a0"], i["b0"]))


def f(i: Inputs) -> Posterior:
    return f_beta(i.get("tp", 0), i.get("fp", 0), i.get("fn", 0), i.get("beta", 1.0), i["lam"])


def binary(i: Inputs) -> Posterior:
    return mean_of_shares([(i["tp"], i["tp"] + i["fn"]), (i["tn"], i["tn"] + i["fp"])], i["alpha"])


def rows(i: Inputs) -> Posterior:
    return mean_of_shares([(row[k], sum(row)) for k, row in enumerate(i["cm"])], (i["alpha"], (len(i["cm"]) - 1) * i["alpha"]))


def class_f1(i: Inputs, k: int) -> Posterior:
    """Of one class under a Dirichlet(alpha) on every cell: 2(K-1) cells fail."""
    table = np.array(i["cm"])
    hit, off = int(table[k, k]), 2 * (len(table) - 1)
    return f_beta(hit, int(table[:, k].sum()) - hit, int(table[k].sum()) - hit, prior=(i["alpha"], off * i["alpha"]))


def macro_f1(m: Any) -> Any:
    hit, truth, prediction, _ = parts(m)
    return (2 * hit / (truth + prediction)).mean(-1)


def mcc(m: Any) -> Any:
    hit, truth, prediction, n = parts(m)
    chance = (truth * prediction).sum(1)
    return (n * hit.sum(1) - chance) / np.sqrt((n * n - (truth**2).sum(1)) * (n * n - (prediction**2).sum(1)))


def kappa(m: Any) -> Any:
    hit, truth, prediction, n = parts(m)
    chance = (truth * prediction).sum(1)
    return (n * hit.sum(1) - chance) / (n * n - chance)


def share(m: Any) -> Any:
    return parts(m)[0].sum(1) / m[:, -1]


def parts(m: Any) -> tuple[Any, ...]:
    return m if isinstance(m, tuple) else (*np.split(m[:, :-1], 3, axis=1), m[:, -1])  # the old house has them by name


def summary(posterior: Posterior) -> list[float]:
    return [posterior.mean, posterior.sd, *(posterior.ppf(q) for q in (0.025, 0.5, 0.975))]


def of_table(i: Inputs, value: Callable[[Any], Any]) -> Drawn:
    table = np.array(i.get("cm") or [[i["tn"], i["fp"]], [i["fn"], i["tp"]]])
    truth, prediction = np.indices(table.shape).reshape(2, -1)
    k, prior = len(table), (i["alpha"], (len(table) - 1) * i["alpha"])
    return drawn(truth, prediction, table.ravel(), k, value, prior=prior, draws=DRAWS, low=-1.0)


QUESTIONS: dict[str, Callable[[Inputs], Any]] = {
    "acc_eti95": lambda i: accuracy(i).interval(i["level"]),
    "acc_hdi95": lambda i: Beta(i["a"], i["b"]).interval(i["level"], "hdi"),
    "acc_prob_gt": lambda i: accuracy(i).probability_above(i["t"]),
    "acc_mean_var": lambda i: (accuracy(i).mean, accuracy(i).sd ** 2),
    "zuri_precision": lambda i: proportion(i["tp"], i["tp"] + i["fp"], i["lam"]).interval(),
    "zuri_recall": lambda i: proportion(i["tp"], i["tp"] + i["fn"], i["lam"]).interval(),
    "f1_eti": lambda i: f(i).interval(),
    "f1_median_mean_sd": lambda i: (f(i).median, f(i).mean, f(i).sd),
    "f1_mode": lambda i: f(i).mode,
    "f1_hdi95": lambda i: f(i).interval(i["level"], "hdi"),
    "f1_pdf": lambda i: f(i).pdf(i["y"]),
    "f1_prior_mean": lambda i: f(i).mean,
    "f1_prior_median": lambda i: f(i).median,
    "fbeta_cdf": lambda i: f(i).cdf(i["y"]),
    "fbeta_eti": lambda i: f(i).interval(),
    "ba_mean_sd": lambda i: (binary(i).mean, binary(i).sd),
    "ba_cdf": lambda i: binary(i).cdf(i["y"]),
    "ba_eti": lambda i: binary(i).interval(),
    "mc_f1_class": lambda i: class_f1(i, i["cls"]).interval(),
    "mc_macro_f1_mean": lambda i: np.mean([class_f1(i, k).mean for k in range(3)]),
    "mc_ba_mean_sd": lambda i: (rows(i).mean, rows(i).sd),
    "mc3_ba": lambda i: summary(rows(i)),
    "mc3_macro_f1": lambda i: of_table(i, macro_f1),
    "mc3_kappa": lambda i: of_table(i, kappa),
    "mc3_mcc": lambda i: of_table(i, mcc),
    "mc2_mcc": lambda i: of_table(i, mcc),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_golden(name: str) -> None:
    entry = ENTRIES[name]
    answer = QUESTIONS[max((start for start in QUESTIONS if name.startswith(start)), key=len)](entry["inputs"])
    values, ours = (summary(answer), 3 * answer.error) if isinstance(answer, Drawn) else (answer, 0.0)  # both sides are draws
    assert ours < 1e-3
    assert values == pytest.approx(entry["value"], abs=entry["tol"] + ours, rel=0)


counts = st.integers(0, 3000) | st.integers(0, 6)
priors = st.sampled_from([0.5, 1.0, 2.0, 30.0])  # below, the old sums lost 1e-9 and the old integrals up to 2e-4 of a pole
cases = st.fixed_dictionaries({"c": st.tuples(counts, counts, counts, counts), "prior": priors, "beta": st.sampled_from([0.5, 2.0, 7.0])})
PAIRS: dict[str, Callable[[tuple[int, ...], float, float], tuple[Posterior, Any]]] = {
    "jaccard": lambda c, p, _: (jaccard(*c[:3], prior=p), old.jaccard_posterior(*c[:3], prior=p)),
    "f1": lambda c, p, _: (f_beta(*c[:3], prior=p), old.f1_posterior(*c[:3], prior=p)),
    "f_beta": lambda c, p, b: (f_beta(*c[:3], beta=b, prior=p), old.f_beta_posterior(*c[:3], beta=b, prior=p)),
    "two": lambda c, p, _: (mean_of_shares(pair(c), p), old.balanced_accuracy_posterior(pair(c), prior=p)),
    "many": lambda c, p, _: (mean_of_shares([*pair(c), (3, 5)], p), old.balanced_accuracy_posterior([*pair(c), (3, 5)], prior=p)),
    "flips": lambda c, p, _: (difference_of_flips(*c, prior=p), old_difference.difference_posterior(*c, prior=p)),
    "apart": lambda c, p, _: minus(PAIRS["jaccard"](c[:3], p, 1), PAIRS["jaccard"](c[1:], p, 1)),
    "f1_apart": lambda c, p, _: minus(PAIRS["f1"](c[:3], p, 1), PAIRS["f1"](c[1:], p, 1)),
}


def minus(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Posterior, Any]:
    return difference(a[0], b[0]), old_difference.unpaired_difference(a[1], b[1])


def pair(c: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(c[0], c[0] + c[1]), (c[2], c[2] + c[3])]


@pytest.mark.parametrize("kind", PAIRS)
@given(case=cases)
def test_the_old_house(kind: str, case: dict[str, Any]) -> None:
    new, was = PAIRS[kind](case["c"], case["prior"], case["beta"])
    assert (new.mean, new.sd, *new.interval()) == pytest.approx((was.mean, was.sd, *was.interval()), abs=1e-9, rel=0)
    x = np.array(was.ppf(np.array([0.001, 0.3, 0.6, 0.99])))  # not the median: without data there is a pole
    assert new.ppf(new.cdf(x)) == pytest.approx(x, abs=1e-9, rel=0)
    assert np.array([new.cdf(x), new.sf(x)]) == pytest.approx(np.array([was.cdf(x), was.sf(x)]), abs=1e-9, rel=0)
    assert new.pdf(x) == pytest.approx(was.pdf(x), rel=1e-8)
    assert new.error == pytest.approx(was.error, abs=1e-9)


def test_a_small_prior_loses_nothing() -> None:
    for post in (difference(proportion(4, 8, 0.1), proportion(0, 27, 0.1)), mean_of_shares([(0, 0), (0, 27)], 0.1)):
        x = post.ppf(np.array([0.001, 0.3, 0.99]))
        assert post.cdf(x) + post.sf(x) == pytest.approx(np.ones(3), abs=1e-11)
    assert math.isnan(f_beta(0, 0, 0, prior=0.1).mode)  # a pole at each end
    assert (difference_of_flips(4, 0, 0, 2).sf(0), difference(proportion(3, 4), proportion(3, 4)).cdf(0)) == (0.5, 0.5)


@pytest.mark.parametrize("law", [f_beta(31, 5, 2, 2), mean_of_shares([(31, 33), (62, 67)]), difference_of_flips(8, 3, 5, 1)])
def test_any_law(law: Posterior) -> None:
    low, high = law.interval(0.9, "hdi")
    assert law.cdf(high) - law.cdf(low) == pytest.approx(0.9)
    assert law.pdf(low) == pytest.approx(law.pdf(high))
    assert law.pdf(law.mode) >= max(law.pdf(law.mode - 1e-5), law.pdf(law.mode + 1e-5))
    assert law.interval(0.9, "lower") + law.interval(0.9, "upper") == pytest.approx((law.ppf(0.1), law.top, law.bottom, law.ppf(0.9)))
    assert (law.ppf(0.0), law.ppf(1.0), law.pdf(2.0), law.error) == (law.bottom, law.top, 0, 0)


JOINT = np.array([[0, 0, 0, 40], [0, 0, 1, 6], [0, 1, 0, 2], [0, 1, 1, 5], [1, 1, 1, 60], [1, 0, 1, 9], [1, 1, 0, 4], [1, 0, 0, 7]]).T


def test_drawn_difference_agrees_with_flips() -> None:
    """Of two classes the accuracies have the law of the flips; and of three, with strays, they are those that the old house drew."""
    exact, post = difference_of_flips(100, 10, 11, 12), drawn_difference(*JOINT, 2, share, draws=200_000)
    assert [post.mean, post.sd, *post.interval()] == pytest.approx([exact.mean, exact.sd, *exact.interval()], abs=6e-4)
    back = drawn_difference(*JOINT[[0, 2, 1, 3]], 2, share, draws=200_000)
    assert back.interval() == pytest.approx([-x for x in post.interval()[::-1]], abs=1e-15)
    same = drawn_difference(*JOINT[[0, 1, 1, 3]], 2, macro_f1)
    assert (same.mean, same.probability_above(0.0)) == (pytest.approx(0), 0.5)
    joint = {(int(t), 2 * int(a) + 1, int(b)): int(n) for t, a, b, n in JOINT.T}
    was = old_difference.joint_table_posterior(joint_table(joint, ("a", "b", "c")), macro_f1, metric="f1", draws=200_000)
    new = drawn_difference(*np.array(list(joint)).T, list(joint.values()), 3, macro_f1, draws=200_000)
    assert summary(new) == pytest.approx(summary(was), abs=2e-3)


ONE = np.array([0, 1])
LARGE, EMPTY = (drawn, (ONE, ONE, ONE, 150, share)), (drawn, (ONE, ONE, ONE, 2, lambda m: m[:, 0] * np.nan))
WRONG = [(proportion, (3, 2)), (proportion, (1, 2, 0)), (jaccard, (1, 2, -3)), (f_beta, (1, 2, 3, 0)), (mean_of_shares, ([],))]
ASKED = [(jaccard(1, 2, 3).interval, (95,)), (jaccard(1, 2, 3).ppf, (1.1,)), (difference, (f_beta(1, 2, 3), jaccard(1, 2, 3)))]


@pytest.mark.parametrize(("call", "args"), [LARGE, EMPTY, *WRONG, *ASKED, (proportion(1, 2).interval, (0.95, "best"))])
def test_wrong_input(call: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with pytest.raises(NoAnswer if call is drawn else SteelyardError):
        call(*args)
