"""Claims about suites of guards: false alarms among many of them, and false ones among those called, for every correction."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from functools import partial
from math import erfc

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.guard.suite_file import SuiteCheck
from steelyard_old.infer.multiplicity import CORRECTIONS
from steelyard_old.infer.paired.decision import decide
from steelyard_old.options.compare import CompareOptions
from steelyard_old.options.measure import settle
from steelyard_old.proof.claims import ALPHA, Band, BandText, Claim, Point, Setting, averaged, counted, declared
from steelyard_old.proof.trials import told
from steelyard_old.questions.suite.check_suite import judged
from steelyard_old.results.comparison import Test
from steelyard_old.results.verdict import WORSE, Verdict

FloatArray = npt.NDArray[np.float64]
PAGE = "docs/guard.md"
TODAY = datetime.date(2026, 1, 1)
FAMILYWISE: dict[str, BandText] = {
    "holm": ("some healthy guard is called worse in at most 5% of suites", Band(high=0.05)),
    "bonferroni": ("some healthy guard is called worse in at most 5% of suites", Band(high=0.05)),
    "bh": (
        "bounds the share of false calls, not the chance of one: more than 5% of suites beside broken guards",
        Band(high=0.3, fails=0.055),
    ),
    "none": ("twenty guards at 5% alarm in two of three healthy nights", Band(fails=0.5)),
}
DISCOVERY: dict[str, BandText] = {
    "holm": ("at most 5% of the calls are false, on average", Band(high=0.05)),
    "bonferroni": ("at most 5% of the calls are false, on average", Band(high=0.05)),
    "bh": ("at most 5% of the calls are false, on average", Band(high=0.05)),
    "none": ("bounds neither", Band(fails=0.1)),
}
POWERS: dict[str, BandText] = {
    "holm": ("finds 3 standard errors in two of five guards or more", Band(low=0.4)),
    "bonferroni": ("finds 3 standard errors in two of five guards or more", Band(low=0.4)),
    "bh": ("finds 3 standard errors in nearly half of the guards or more", Band(low=0.45)),
    "none": ("finds 3 standard errors in four of five guards", Band(low=0.8)),
}


def claims() -> Iterator[Claim]:
    for family, kind, bands in (
        ("a suite of guards, any false call", "size", FAMILYWISE),
        ("a suite of guards, the share of false calls", "size", DISCOVERY),
        ("a suite of guards, broken ones called", "power", POWERS),
    ):
        quick = ({"guards": 20, "broken": 5, "shared": 0.0, "runs": 200},)
        full = tuple(
            {"guards": m, "broken": b, "shared": shared, "runs": 2000}
            for m in (5, 20, 50)
            for b in (0, m // 4)
            for shared in (0.0, 0.5)
            if b or kind == "size"
        )
        said = {correction: bands[correction] for correction in CORRECTIONS}
        default = CompareOptions(own=settle()).correction
        yield from declared(kind, family, said, default, partial(called, family), quick=quick, full=full, page=PAGE)


def called(family: str, correction: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Suites of guards that may share noise, some of them broken by 3 standard errors, judged by the suite itself."""
    m, broken, runs = (int(setting[key]) for key in ("guards", "broken", "runs"))
    shared = float(setting["shared"])
    shares = []
    for _ in range(runs):
        z = shared**0.5 * rng.normal() + (1 - shared) ** 0.5 * rng.normal(size=m) - 3.0 * (np.arange(m) < broken)
        red = _red(z, correction)
        false = red[broken:].sum()
        shares.append(
            {
                "a suite of guards, any false call": float(false > 0),
                "a suite of guards, the share of false calls": float(false / max(1, red.sum())),
                "a suite of guards, broken ones called": float(red[:broken].mean()) if broken else 0.0,
            }[family]
        )
    if "any" in family:
        yield counted(told(setting), int(sum(shares)), runs)
        return
    mean, spread = averaged(shares)  # of shares, not of calls: no count
    yield Point(told(setting), mean, max(spread, 0.5 / runs))


def _red(z: FloatArray, correction: str) -> npt.NDArray[np.bool_]:
    p_values = [erfc(-float(x) / 2**0.5) / 2 for x in z]
    guards = [SuiteCheck(options={}, tier="critical", waiver=None) for _ in p_values]
    verdicts = [
        Verdict(verdict=decide(p, ALPHA), task=f"t{i}", model="m", test=Test(name="z", alternative=WORSE, statistic=None, p_value=p))
        for i, p in enumerate(p_values)
    ]
    found = judged(guards, verdicts, ALPHA, correction, None, TODAY, [])
    return np.array([row.counts_as == "regression" for row in found.rows])
