"""Two systems and many systems against other programs and published tables. See compare.json."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from by_name import item_rows
from cases import every
from steelyard.infer import multiplicity as many
from steelyard.infer import unpaired
from steelyard.infer.intervals.sums import linearised, standard_error
from steelyard.infer.normal import STANDARD
from steelyard.infer.paired import mcnemar as flips
from steelyard.infer.paired.delong import delong_interval, delong_pair, delong_test
from steelyard.infer.paired.equivalence import equivalence
from steelyard.infer.posterior.difference import difference_posterior, rope, unpaired_difference
from steelyard.infer.posterior.metrics import BetaPosterior, f1_posterior, proportion_posterior
from steelyard.infer.resampling.bootstrap import Degenerate
from steelyard.metrics.sums import QUOTIENT
from steelyard.tally.sums import Sums, tally_groups

GOLDEN = json.loads((Path(__file__).parent / "compare.json").read_text(encoding="utf-8"))
ENTRIES = {entry["id"]: entry for entry in GOLDEN["entries"]}
Inputs = dict[str, Any]
Pair = tuple[float, float]
ONE_SIGMA = math.erf(math.sqrt(0.5))  # the level whose z is exactly 1
NOT_OFFERED = {"chi2_cc", "p_cc"}  # McNemar with a continuity correction: the exact test is what it approximates


# ---- different items ---------------------------------------------------------------------------------------------------


def two(method: Callable[..., Any]) -> Callable[[Inputs], Any]:
    """System 1 is the candidate."""
    return lambda i: method(i["x1"], i["n1"], i["x2"], i["n2"])


def unpooled(k1: int, n1: int, k2: int, n2: int) -> tuple[float, float, float]:
    """(difference, standard error, z) behind the Wald interval: at the level of one sigma, half its width is the error."""
    low, high = unpaired.wald_difference(k1, n1, k2, n2, ONE_SIGMA)
    return (low + high) / 2, (high - low) / 2, (low + high) / (high - low)


def mitchell(i: Inputs) -> dict[str, float]:
    d, se, z = unpooled(round(i["e1"] * i["n1"]), i["n1"], round(i["e2"] * i["n2"]), i["n2"])
    return {"d": d, "se": se, "z": z, "one_sided_conf": STANDARD.cdf(z)}


def unpooled_test(i: Inputs) -> dict[str, float]:
    z = unpooled(i["x1"], i["n1"], i["x2"], i["n2"])[2]
    return {"z": z, "p_two_sided": 2 * STANDARD.cdf(-abs(z))}


def beta(i: Inputs, which: str) -> BetaPosterior:
    return proportion_posterior(i[f"k{which}"], i[f"n{which}"], prior=(i["a0"], i["b0"]))


def welch(i: Inputs) -> dict[str, float]:
    a, b = np.array(i["a"]), np.array(i["b"])
    found = unpaired.welch_t(a.mean(), a.var(ddof=1), len(a), b.mean(), b.var(ddof=1), len(b))
    low, high = found.interval()
    assert low < a.mean() - b.mean() < high
    return {"t": found.statistic, "p": found.p_value("two-sided"), "df": found.df}


# ---- the same items ----------------------------------------------------------------------------------------------------


def four(i: Inputs) -> tuple[int, int, int, int]:
    """(both, gained, lost, neither): A, or the first system, is the candidate."""
    names = ("both_right", "only_A", "only_B", "both_wrong") if "only_A" in i else ("n11", "n10", "n01", "n00")
    return tuple(i[name] for name in names)


def of_flips(method: Callable[[int, int, int], Pair]) -> Callable[[Inputs], Pair]:
    def ends(i: Inputs) -> Pair:
        if "b" in i:
            return method(i["b"], i["c"], i["n"])
        both, gained, lost, neither = four(i)
        return method(gained, lost, both + gained + lost + neither)

    return ends


def mcnemar(i: Inputs) -> dict[str, float]:
    """All the variants. With gained = lost mid-p doubles to 1 on purpose, where Fagerland's convention gives 1 - P(X = gained)/2.

    Two identical systems (0 and 0) would get p = 1/2 by that convention.
    """
    z, p = flips.mcnemar(i["b"], i["c"])
    midp = flips.mcnemar_midp(i["b"], i["c"])
    if i["b"] == i["c"]:
        assert midp == pytest.approx(1, abs=1e-12)
        midp = 1 - math.comb(2 * i["b"], i["b"]) / 4 ** i["b"] / 2
    return {"exact": flips.mcnemar_exact(i["b"], i["c"]), "midp": midp, "chi2": z * z, "p": p}


def paired(i: Inputs) -> Any:
    """A is the candidate."""
    return difference_posterior(i["both"], i["b_only"], i["a_only"], i["neither"], prior=i["alpha"])


def better(i: Inputs) -> float:
    short = flips.probability_better(i["a_only"], i["b_only"], i["alpha"])
    assert paired(i).sf(0) == pytest.approx(short, abs=1e-14)
    assert paired(i).sf(1e-13) == pytest.approx(short, abs=1e-10)  # the mixture meets the closed form
    return short


def of_items(d: np.ndarray) -> Sums:
    return tally_groups(item_rows("mean", d), np.arange(len(d)), len(d))


def paired_t(i: Inputs) -> Pair:
    """t and its two-sided p from the one-sided test of "not above 0"."""
    d = np.array(i.get("diffs") or i["d"], float)
    one = equivalence(float(d.mean()), standard_error(of_items(d), QUOTIENT), (0, 1e9), len(d) - 1)
    return one.z_lower, flips.from_tails(1 - one.p_lower, one.p_lower, "two-sided")


def paired_t_interval(i: Inputs) -> Pair:
    return linearised(of_items(np.array(i["a"]) - np.array(i["b"])), QUOTIENT)


def tost(i: Inputs) -> dict[str, float]:
    d = np.array(i["a"]) - np.array(i["b"])
    one = equivalence(float(d.mean()), standard_error(of_items(d), QUOTIENT), (i["low"], i["upp"]), len(d) - 1)
    return {"p": one.p, "p_low": one.p_lower, "p_upp": one.p_upper}


def delong(i: Inputs) -> dict[str, Any]:
    pair = replace(delong_pair(i["b"], i["a"], np.array(i["y"]) == 1), df=None)  # theirs is by the normal law
    z, p = delong_test(pair)
    return {
        "auc": [pair.candidate, pair.baseline],
        "var": [pair.variance_candidate, pair.variance_baseline],
        "cov": pair.covariance,
        "z": z,
        "p": p,
    }


def delong_identical(i: Inputs) -> dict[str, float]:
    pair = delong_pair(i["b"], i["a"], np.array(i["y"]) == 1)
    with pytest.raises(Degenerate):
        delong_interval(pair)
    z, p = delong_test(pair)
    return {"z": z, "p": p}


# ---- many systems ------------------------------------------------------------------------------------------------------


def demsar_table() -> Any:
    return np.array(ENTRIES["demsar-avg-ranks"]["input"]["auc"])


def without_ties(scores: Any) -> tuple[float, float]:
    """Demsar's chi2 and F have no tie correction; ours has, so it is taken out again here (scipy's is checked in test_many)."""
    n, k = scores.shape
    ties = sum(int(c) ** 3 - int(c) for row in scores for c in np.unique(row, return_counts=True)[1])
    found = many.friedman(scores)
    assert isinstance(found["chi2"], float)
    chi2 = found["chi2"] * (1 - ties / (n * k * (k * k - 1)))
    return chi2, (n - 1) * chi2 / (n * (k - 1) - chi2)


def friedman(i: Inputs) -> dict[str, float]:
    from scipy.special import fdtrc

    n, k = i["N"], i["k"]
    assert [sum_ / n for sum_ in i["rank_sums"]] == pytest.approx(many.friedman(demsar_table())["mean_ranks"], abs=1e-12)
    chi2, f = without_ties(demsar_table())
    return {"chi2": chi2, "F": f, "pF": float(fdtrc(k - 1, (k - 1) * (n - 1), f))}


def nemenyi(i: Inputs) -> dict[str, float]:
    q = many.studentized_range_quantile(i["k"], 1 - i["alpha"]) / math.sqrt(2)
    return {"q": q, "CD": many.nemenyi_critical_difference(i["k"], i["N"], i["alpha"])}


def adjusted(method: str) -> Callable[[Inputs], list[float]]:
    return lambda i: many.adjust(i["p"], method)


# ---- every entry -------------------------------------------------------------------------------------------------------

QUESTIONS: dict[str, Callable[[Inputs], Any]] = {
    "zuri_compare": lambda i: unpaired_difference(f1_posterior(*i["cm2"], prior=i["lam"]), f1_posterior(*i["cm1"], prior=i["lam"])).sf(0),
    "indep_acc": lambda i: unpaired_difference(beta(i, "2"), beta(i, "1")).sf(i.get("margin", 0)),
    "paired_pAgtB": better,
    "paired_rope": lambda i: tuple(rope(paired(i), i["eps"])),
    "paired_diff_eti": lambda i: paired(i).interval(),
    "mitchell_diff": mitchell,
    "Newcombe hybrid score": two(unpaired.newcombe),
    "newcombe_hybrid_score": two(unpaired.newcombe),
    "Miettinen-Nurminen score": two(unpaired.miettinen_nurminen),
    "miettinen_nurminen": two(unpaired.miettinen_nurminen),
    "Agresti-Caffo": two(unpaired.agresti_caffo),
    "Wald difference": two(unpaired.wald_difference),
    "fagerland-perondi-wald": two(unpaired.wald_difference),
    "pooled two-proportion z test": two(unpaired.two_proportion_z),
    "unpooled two-proportion z": unpooled_test,
    "Welch t": welch,
    "Newcombe square-and-add": lambda i: flips.newcombe_paired(*four(i)),
    "newcombe_paired_m10": lambda i: flips.newcombe_paired(*four(i)),
    "fagerland-bentur-newcombe": lambda i: flips.newcombe_paired(*four(i)),
    "Tango": of_flips(flips.tango),
    "tango": of_flips(flips.tango),
    "tango98-ci90": lambda i: flips.tango(i["b"], i["c"], i["n"], i["conf"])[0],
    "tango98-z": lambda i: flips.tango_z(i["b"], i["c"], i["n"], i["delta0"]),
    "Wald paired": of_flips(flips.wald_paired),
    "fagerland-cavo-wald": of_flips(flips.wald_paired),
    "Bonett-Price": of_flips(flips.bonett_price),
    "McNemar": mcnemar,
    "mcnemar_asym": lambda i: mcnemar(i)["p"],
    "mcnemar_exact": lambda i: mcnemar(i)["exact"],
    "mcnemar_midp": lambda i: mcnemar(i)["midp"],
    "sleep_paired_ci": paired_t_interval,
    "darwin_paired_t": lambda i: dict(zip("tp", paired_t(i), strict=True)),
    "fisher-darwin-t": paired_t,
    "tost_paired": tost,
    "delong_10": delong,
    "delong_identical": delong_identical,
    "demsar_friedman": friedman,
    "demsar-avg-ranks": lambda i: many.friedman(np.array(i["auc"]))["mean_ranks"],
    "demsar-iman-davenport": lambda i: without_ties(demsar_table())[1],
    "demsar_nemenyi": nemenyi,
    "demsar-nemenyi-q": lambda i: many.studentized_range_quantile(i["k"], 1 - i["alpha"]) / math.sqrt(2),
    "demsar-nemenyi-cd": lambda i: nemenyi(i)["CD"],
    "multitest_bonferroni": adjusted("bonferroni"),
    "multitest_fdr_bh": adjusted("bh"),
    "bh1995-adj": adjusted("bh"),
}


def question(entry: dict[str, Any]) -> str:
    """The longest key that the id starts with; if there is none, the longest that the method starts with."""
    by_id = [key for key in QUESTIONS if entry["id"].startswith(key) and (len(key) > 6 or key == entry["id"])]
    return max(by_id or [key for key in QUESTIONS if entry["method"].startswith(key)], key=len)


def close(found: Any, wanted: Any, tol: float) -> None:
    if not isinstance(wanted, dict):
        assert found == pytest.approx(wanted, abs=tol, rel=0)
        return
    assert set(found) == set(wanted) - NOT_OFFERED
    for key in found:
        if wanted[key] is not None:
            assert found[key] == pytest.approx(wanted[key], abs=tol, rel=0), key


@every("name", ENTRIES)
def test_agrees(name: str) -> None:
    entry = ENTRIES[name]
    found = QUESTIONS[question(entry)](entry["input"])
    close(found, entry["output"], entry["tol"])
    if "published" in entry:
        close(found, entry["published"], entry["published_tol"])


def test_every_entry_has_a_check_and_every_check_an_entry() -> None:
    assert {question(entry) for entry in GOLDEN["entries"]} == set(QUESTIONS)
    assert len(ENTRIES) == len(GOLDEN["entries"]) == 103


def test_what_is_left_out_has_a_reason() -> None:
    assert not set(GOLDEN["left_out"]) & set(ENTRIES)
    assert len(GOLDEN["left_out"]) == 42
    assert all(len(reason) > 20 for reason in GOLDEN["left_out"].values())
