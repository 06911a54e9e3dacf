"""Worked examples of the literature and of R, as printed. See published.json."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from oracles import coverage
from steelyard.infer.intervals.mean import log_capital, predictable_bets
from steelyard.infer.intervals.proportion import proportion_interval
from steelyard.infer.normal import wald

GOLDEN = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
ENTRIES = {entry["id"]: entry for entry in GOLDEN["entries"]}
Inputs = dict[str, Any]


def ends(measurement: sy.Measurement) -> list[float]:
    interval = measurement.interval
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    return [interval.low, interval.high]


def share(method: str) -> Callable[[Inputs], list[float]]:
    return lambda i: ends(sy.measure(sy.Counts.of(i["x"], i["n"]), interval=method, confidence_level=i["conf"]))


def wald_without_width(i: Inputs) -> list[float]:
    """Newcombe's example of what is wrong with Wald: [0, 0] after 0 of 20. The formula says so, the public answer has a width."""
    m = sy.measure(sy.Counts.of(i["x"], i["n"]), interval="wald")
    assert ends(m) == [0.0, wald(1, i["n"])[1]]  # its own end at one mistake, because Wilson's lies beyond that
    assert any("zero width" in sentence for sentence in m.warnings)
    return list(wald(i["x"], i["n"]))


def wald_below_zero(i: Inputs) -> list[float]:
    """The paper prints "< 0" (-0.0319 unclipped). No share is negative: ours ends at 0, the upper end is the same."""
    low, high = share("wald")(i)
    assert low == 0
    p = i["x"] / i["n"]
    return [2 * p - high, high]


def plus_four(i: Inputs) -> list[float]:
    """The classroom variant adds 2 and 2 whatever the level; ours adds z^2/2, as Agresti and Coull's interval and statsmodels do."""
    assert share("agresti-coull")(i) != pytest.approx(
        ENTRIES[f"contingencytables-agresti_coull_plus4-{i['x']}-{i['n']}"]["expected"], abs=1e-8
    )
    return ends(sy.measure(sy.Counts.of(i["x"] + 2, i["n"] + 4), interval="wald", confidence_level=i["conf"]))


def wald_coverage(i: Inputs) -> float:
    return coverage(i["n"], i["p"], lambda x: proportion_interval(x, i["n"], "wald"))


def f1_posterior(i: Inputs) -> list[float]:
    return ends(sy.measure(sy.Counts.binary(tp=i["tp"], fp=i["fp"], fn=i["fn"]), metric="f1", interval="bayes", prior=i["lam"]))


def hedged_capital(i: Inputs) -> list[float]:
    """max(theta K+, (1-theta) K-) after 10 and 30 items, with bets that may be looked at any time (no horizon).

    The larger share, as confseq's betting_mart has it and as our interval inverts it; their sum is valid too and a little larger.
    """
    x = np.array([1.0, 0, 1, 1, 0, 1, 1, 1, 0, 1] * 3)
    assert i["x"] == "[1,0,1,1,0,1,1,1,0,1]*3"
    bets = predictable_bets(x, i["alpha"], horizon=None)
    out = []
    for t in (10, 30):
        up, down = log_capital(x[:t], bets[:t], i["m"], truncation=i["c"])
        out.append(max(i["theta"] * math.exp(up), (1 - i["theta"]) * math.exp(down)))
    return out


QUESTIONS: dict[str, Callable[[Inputs], Any]] = {
    "wald": share("wald"),
    "newcombe98a-wald-0-20": wald_without_width,
    "newcombe98a-wald-1-29": wald_below_zero,
    "wilson": share("wilson"),
    "clopper_pearson": share("clopper-pearson"),
    "mid_p": share("mid-p"),
    "agresti_coull add-2-successes-2-failures variant": plus_four,
    "agresti_coull z^2 form": share("agresti-coull"),
    "exact coverage of Wald 95%": wald_coverage,
    "goutte-gaussier-closed-form": f1_posterior,
    "hedged capital K_t(m) at t=10,30": hedged_capital,
}


@every("name", ENTRIES)
def test_agrees(name: str) -> None:
    entry = ENTRIES[name]
    found = QUESTIONS[name if name in QUESTIONS else entry["method"]](entry["inputs"])
    assert found == pytest.approx(entry["expected"], abs=entry["tol"], rel=0)


def test_every_entry_has_a_check_and_every_check_an_entry() -> None:
    asked = {entry["id"] if entry["id"] in QUESTIONS else entry["method"] for entry in GOLDEN["entries"]}
    assert asked == set(QUESTIONS)
    assert len(ENTRIES) == len(GOLDEN["entries"]) == 39
