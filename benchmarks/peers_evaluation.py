"""Packages that evaluate models: evalstats, statgate, errorbars, MLstatkit."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from typing import Any

import numpy as np

import steelyard as sy
from benchmarks.checks import near, same, same_share
from benchmarks.peers_data import Case, Floats, ends, paired, two_outcomes, two_scores
from benchmarks.timing import Wrong


def evalstats() -> Iterator[Case]:
    import evalstats as es
    import pandas as pd

    n = 10_000
    a, b = two_outcomes(n)
    frame = pd.DataFrame({"model": ["a"] * n + ["b"] * n, "item": [*range(n)] * 2, "score": np.r_[a, b]})

    def theirs() -> dict[str, Any]:
        return es.compare(es.load_from(frame), factors="model").to_dict()

    def ours() -> Any:
        return paired(a, b, interval="bonett-price")

    told, mine = theirs(), ours()
    pair = told["pairwise"][0]
    if told["methods"]["pairwise_ci"]["code"] != "bonett_price":
        raise Wrong(f"evalstats chose {told['methods']['pairwise_ci']}, and ours is Bonett-Price")
    same("evalstats, interval", ends(mine), (-pair["ci_high"], -pair["ci_low"]))
    same("evalstats, mid-p", (mine.p_value,), (pair["p_value"],), 1e-9)
    yield f"two systems right or wrong, N={n:,}, Bonett-Price and McNemar mid-p: sy.compare beside compare", ours, theirs, {}
    right = a.astype(float)

    def own() -> Any:
        return sy.measure({"score": right}, metric="mean", range=(0, 1)).row.interval

    def single() -> Any:
        return es.mean_ci(right)

    same("evalstats, Wilson", (own().low, own().high), (single().ci_low, single().ci_high))
    yield f"one system right or wrong, N={n:,}, Wilson: sy.measure beside mean_ci", own, single, {}


def statgate() -> Iterator[Case]:
    from statgate.config import GateSettings
    from statgate.records import EvalRecord
    from statgate.verdict import evaluate_gate

    for n in (500, 5000):
        a, b = two_scores(n, 1.2 / math.sqrt(n))
        records = [[EvalRecord(case_id=str(i), score=float(x)) for i, x in enumerate(side)] for side in (a, b)]
        settings = GateSettings(metric="score", seed=1)

        def theirs(records: Any = records, settings: Any = settings) -> Any:
            return evaluate_gate(*records, settings)

        def ours(a: Floats = a, b: Floats = b) -> Any:
            return paired(a, b, interval="bca", test="sign-flip", draws=10_000)

        told, mine = theirs(), ours()
        error = float(np.std(b - a)) / math.sqrt(n)
        near("statgate, BCa", ends(mine), (told.interval.low, told.interval.high), error, 10_000, 10_000)
        same_share("statgate, sign flip", mine.p_value, told.p_value, 10_000, 10_000)
        yield f"scores of two systems, N={n:,}, BCa and sign flip, B=10,000: sy.compare beside evaluate_gate", ours, theirs, {}


def errorbars() -> Iterator[Case]:
    from errorbars.compare import mcnemar_exact, paired_compare
    from errorbars.stats import bootstrap_ci

    n = 10_000
    a, b = two_scores(n, 0.01)

    def ours() -> Any:
        return paired(a, b, test="paired-t")

    told = paired_compare(b, a)
    same("errorbars, t", (*ends(ours()), ours().p_value), (told.ci_low, told.ci_high, told.p_value), 1e-6)
    note = "theirs takes two arrays as they come; ours matches ids, checks, warns, adds what pairing bought and a signature"
    what = f"scores of two systems, N={n:,}, paired t: sy.compare beside paired_compare"
    yield what, ours, lambda: paired_compare(b, a), {"note": note}
    few = b[:1000]

    def own() -> Any:
        return sy.measure({"score": few}, metric="mean", interval="percentile", draws=10_000).row.interval

    drawn = bootstrap_ci(few)
    near("errorbars, bootstrap", (own().low, own().high), (drawn.ci_low, drawn.ci_high), drawn.se, 10_000, 10_000)
    yield "mean of 1,000 scores, percentile bootstrap, B=10,000: sy.measure beside bootstrap_ci", own, lambda: bootstrap_ci(few), {}
    right = two_outcomes(n)

    def exact() -> Any:
        return paired(*right, test="mcnemar-exact")

    same("errorbars, McNemar", (exact().p_value,), (mcnemar_exact(right[1], right[0]).p_value,), 1e-9)
    what = f"two systems right or wrong, N={n:,}, exact McNemar: sy.compare (with Tango and the rest) beside mcnemar_exact"
    yield what, exact, lambda: mcnemar_exact(right[1], right[0]), {}
    yield from errorbars_by_hand(right)


def errorbars_by_hand(right: tuple[Any, Any]) -> Iterator[Case]:
    """The same test by the functions that `sy.compare` is made of: like with like, so this row has no target."""
    from errorbars.compare import mcnemar_exact as theirs

    from steelyard.infer.paired.mcnemar import mcnemar_exact
    from steelyard.tally.pairs import joint_of_codes

    ones = np.ones(len(right[0]), np.int64)

    def ours() -> float:
        flips = joint_of_codes(ones, *right, 2, ("0", "1"), 2).outcomes()
        return mcnemar_exact(flips.candidate_only, flips.baseline_only)

    same("errorbars, McNemar by hand", (ours(),), (theirs(right[1], right[0]).p_value,), 1e-9)
    what = f"two systems right or wrong, N={len(ones):,}, exact McNemar: counting and infer.flips beside mcnemar_exact"
    yield what, ours, lambda: theirs(right[1], right[0]), {"loops": 10, "inner": True}


def mlstatkit() -> Iterator[Case]:
    from MLstatkit import Bootstrapping, Delong_test, Permutation_test

    n, draws = 10_000, 100
    rng = np.random.default_rng(7)
    truth = (rng.random(n) < 0.3).astype(int)
    a, b = (1 / (1 + np.exp(-(gap * truth + rng.normal(size=n)))) for gap in (1.0, 1.05))
    place = np.arange(n)

    def areas() -> Any:
        sides = ({"id": place, "truth": truth, "prob": prob} for prob in (a, b))
        return sy.compare(*sides, metric="roc_auc", positive=1)

    told = Delong_test(truth, a, b)
    found = areas()  # its p-value is read off Student's t, with the degrees of freedom of the variances; theirs off the normal law
    same("MLstatkit, DeLong", (abs(found.test.statistic), found.difference.estimate), (told[0], told[5] - told[4]), 1e-9)
    same("MLstatkit, p of DeLong", (found.p_value,), (told[1],), 1e-3)
    yield f"two AUCs, N={n:,}, DeLong: sy.compare beside Delong_test", areas, lambda: Delong_test(truth, a, b), {}
    said = [(prob >= 0.5).astype(int) for prob in (a, b)]

    def swapped() -> Any:
        sides = ({"id": place, "truth": truth, "prediction": labels} for labels in said)
        return sy.compare(*sides, metric="macro_f1", test="randomization", interval="percentile", draws=1000)

    def quiet(call: Callable[..., Any], *args: Any) -> Any:
        with redirect_stderr(io.StringIO()):  # its progress bar
            return call(*args, n_bootstraps=draws)

    told = quiet(Permutation_test, truth, a, b)
    same("MLstatkit, macro-F1", (swapped().difference.estimate,), (told[1] - told[0],), 1e-12)
    same_share("MLstatkit, permutation", swapped().p_value, told[2], draws, 1000)
    note = f"the peer drew {draws} times a round, scaled linearly to 1,000; ours adds the interval"
    what = f"macro-F1 of two systems, N={n:,}, randomization, B=1,000: sy.compare beside Permutation_test"
    yield what, swapped, lambda: quiet(Permutation_test, truth, a, b), {"scale": 1000 / draws, "note": note}

    def single() -> Any:
        return sy.measure(truth, said[0], metric="macro_f1", interval="percentile", draws=1000).row

    told, mine = quiet(Bootstrapping, truth, a), single()
    same("MLstatkit, macro-F1", (mine.estimate,), (told[0],), 1e-12)
    near("MLstatkit, bootstrap", (mine.interval.low, mine.interval.high), told[1:], (told[2] - told[1]) / 3.92, draws, 1000)
    note = f"the peer drew {draws} times a round, scaled linearly to 1,000"
    what = f"macro-F1, N={n:,}, percentile bootstrap, B=1,000: sy.measure beside Bootstrapping"
    yield what, single, lambda: quiet(Bootstrapping, truth, a), {"scale": 1000 / draws, "note": note}
