"""Group-sequential designs: rpact, gsDesign and the prototype agree, so do multivariate normal integrals and simulated paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from cases import every
from steelyard.errors import UsageError
from steelyard.infer.sequential.brownian import Paths
from steelyard.infer.sequential.spending import Boundaries, design, spent


class Crossing(NamedTuple):
    """At each look the probability to stop there for the effect and for futility, and the mean information time of the stop."""

    up: list[float]
    down: list[float]
    expected_time: float


def crossing(times: Sequence[float], upper: Sequence[float], lower: Sequence[float], drift: float) -> Crossing:
    """How a design with given bounds behaves under any drift: 0 is no effect, half its drift half the effect."""
    paths = Paths(tuple(times), drift)
    up, down = [], []
    for k, t in enumerate(times):
        top, bottom = upper[k] * math.sqrt(t), lower[k] * math.sqrt(t)
        up.append(paths.above(top, drift))
        down.append(paths.below(bottom, drift))
        if k + 1 < len(times):
            paths = paths.between(bottom, top)
    stopped = [a + b for a, b in zip(up, down, strict=True)]
    rest = 1 - sum(stopped)  # they reach the last look and end there
    return Crossing(up, down, sum(t * p for t, p in zip(times, stopped, strict=True)) + rest * times[-1])


def expected(plan: Boundaries) -> tuple[float, float]:
    """The expected information relative to the fixed design, without and with the effect."""
    none, effect = (plan.inflation * crossing(plan.times, plan.upper, plan.lower, drift).expected_time for drift in (0.0, plan.drift))
    return none, effect


# ---- other programs ----------------------------------------------------------------------------------------------------

# R rpact 3.x, getDesignGroupSequential, one-sided.
RPACT_UPPER = [
    ("obrien-fleming", 0.025, (0.5, 1.0), (2.96258804, 1.96859565)),
    ("obrien-fleming", 0.025, (1 / 3, 2 / 3, 1.0), (3.71030287, 2.51142748, 1.99304748)),
    ("obrien-fleming", 0.025, (0.2, 0.4, 0.6, 0.8, 1.0), (4.87688495, 3.35701192, 2.68028007, 2.28981677, 2.03103206)),
    ("obrien-fleming", 0.05, (0.25, 0.6, 1.0), (3.74955184, 2.27793536, 1.67957374)),
    ("pocock", 0.025, (0.5, 1.0), (2.15699922, 2.20097698)),
    ("pocock", 0.025, (0.2, 0.4, 0.6, 0.8, 1.0), (2.43797669, 2.42681386, 2.41019414, 2.39664929, 2.3859997)),
    ("power:2", 0.025, (0.25, 0.5, 0.75, 1.0), (2.95516685, 2.55935016, 2.30085532, 2.09196686)),
]


@every(("spending", "alpha", "times", "expected"), RPACT_UPPER)
def test_upper_bounds_of_rpact(spending: str, alpha: float, times: tuple[float, ...], expected: tuple[float, ...]) -> None:
    plan = design(len(times), alpha, 0.2, spending, "none", True, times)
    assert plan.upper == pytest.approx(expected, abs=2e-7)


def test_rpact_spends_beta_by_hwang_shih_decani() -> None:
    # rpact, test-f_design_group_sequential.R, x2 and y2: asHSD -1, bsHSD -2, futility not binding.
    plan = design(3, 0.07, 0.14, "hsd:-1", "hsd:-2", False, (0.2, 0.4, 1.0))
    assert plan.upper == pytest.approx((2.364813, 2.1928805, 1.5660474), abs=1e-6)
    assert plan.lower == pytest.approx((-1.1063623, -0.35992439, 1.5660474), abs=1e-6)
    assert plan.inflation == pytest.approx(1.0869177, abs=1e-6)
    assert plan.drift**2 == pytest.approx(7.1015942, abs=1e-6)
    assert expected(plan) == pytest.approx((0.79471657, 0.82636428), abs=1e-7)
    halfway = crossing(plan.times, plan.upper, plan.lower, plan.drift / 2)
    assert plan.inflation * halfway.expected_time == pytest.approx(0.916142, abs=1e-6)
    behaves = crossing(plan.times, plan.upper, plan.lower, plan.drift)
    assert behaves.up == pytest.approx((0.12038953, 0.20856311, 0.53104735), abs=1e-7)
    assert behaves.down[:2] == pytest.approx((0.010777094, 0.016077535), abs=1e-7)


def test_rpact_spends_beta_by_kim_demets() -> None:
    # The same file, x3 and y3: asKD 2.2, bsKD 3.2, futility not binding.
    plan = design(3, 0.03, 0.34, "power:2.2", "power:3.2", False, (0.3, 0.7, 1.0))
    assert plan.upper == pytest.approx((2.8594012, 2.2435708, 1.9735737), abs=1e-6)
    assert plan.lower[:2] == pytest.approx((-1.1558435, 0.72836893), abs=1e-6)
    assert plan.inflation == pytest.approx(1.0555891, abs=1e-6)
    assert expected(plan) == pytest.approx((0.75480974, 0.86740735), abs=1e-7)


def test_the_default_of_gsdesign() -> None:
    # gsDesign(), printed in keaven.github.io/gsd-tech-manual/default.html: HSD -4 and -2, futility not binding.
    plan = design(3, 0.025, 0.1, "hsd:-4", "hsd:-2", False)
    assert plan.upper == pytest.approx((3.01, 2.55, 2.00), abs=0.005)
    assert plan.lower == pytest.approx((-0.24, 0.94, 2.00), abs=0.005)
    assert plan.inflation == pytest.approx(1.070, abs=5e-4)
    assert expected(plan) == pytest.approx((0.6249, 0.7913), abs=5e-5)
    healthy, real = (crossing(plan.times, plan.upper, plan.lower, drift) for drift in (0, plan.drift))
    assert healthy.up == pytest.approx((0.0013, 0.0049, 0.0171), abs=5e-5)
    assert healthy.down == pytest.approx((0.4057, 0.4290, 0.1420), abs=5e-5)
    assert real.up == pytest.approx((0.1412, 0.4403, 0.3185), abs=5e-5)
    assert real.down == pytest.approx((0.0148, 0.0289, 0.0563), abs=5e-5)


def test_the_prototype() -> None:
    # research/performance.md, 7.3 and 7.1: the recommended design and its cost.
    plan = design(20, 0.05, 0.2)
    printed = [-1.699, -1.332, -1.033, -0.778, -0.552, -0.349, -0.162, 0.012, 0.175, 0.330]
    printed += [0.477, 0.617, 0.753, 0.884, 1.012, 1.139, 1.265, 1.396, 1.541, 1.743]
    assert plan.lower == pytest.approx(printed, abs=0.0006)
    assert plan.inflation == pytest.approx(1.2744, abs=5e-5)
    assert expected(plan) == pytest.approx((0.506, 0.677), abs=5e-4)
    assert design(20, 0.05, 0.2, binding=False).inflation == pytest.approx(1.3943, abs=5e-5)
    five = design(5, 0.05, 0.2, "obrien-fleming", "obrien-fleming")
    assert expected(five) == pytest.approx((0.61, 0.78), abs=5e-3)


# ---- an oracle: integrals of the multivariate normal law ---------------------------------------------------------------


@every("seed", range(4))
def test_crossing_is_a_multivariate_normal_integral(seed: int) -> None:
    rng = np.random.default_rng(seed)
    looks = int(rng.integers(2, 5))
    times = np.append(np.sort(rng.uniform(0.1, 0.95, looks - 1)), 1.0)
    upper = rng.uniform(1.0, 2.5, looks)
    lower = rng.uniform(-2.0, 0.8, looks)
    drift = float(rng.uniform(-1, 4))
    found = crossing(times.tolist(), upper.tolist(), lower.tolist(), drift)
    mean = drift * np.sqrt(times)
    covariance = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    for k in range(looks):
        law = partial(stats.multivariate_normal.cdf, mean=mean[: k + 1], cov=covariance[: k + 1, : k + 1], abseps=1e-7, releps=1e-7)
        stays, above = np.append(lower[:k], upper[k]), np.append(upper[:k], np.inf)
        under, below = np.append(lower[:k], -np.inf), np.append(upper[:k], lower[k])
        assert found.up[k] == pytest.approx(law(above, lower_limit=stays), abs=2e-5)
        assert found.down[k] == pytest.approx(law(below, lower_limit=under), abs=2e-5)


# ---- what must hold for every design -----------------------------------------------------------------------------------

DESIGNS = [
    (2, 0.05, 0.2, "hsd:-1", "hsd:0", True, None),
    (20, 0.05, 0.2, "hsd:-1", "hsd:0", True, None),
    (20, 0.05, 0.2, "hsd:-1", "hsd:0", False, None),
    (5, 0.025, 0.1, "obrien-fleming", "obrien-fleming", True, None),
    (10, 0.01, 0.05, "pocock", "pocock", True, None),
    (4, 0.2, 0.4, "power:3", "power:1", False, (0.1, 0.15, 0.9, 1.0)),
    (20, 0.001, 0.001, "obrien-fleming", "hsd:-8", True, None),
    (6, 0.05, 0.2, "hsd:4", "none", True, None),
    (60, 0.05, 0.2, "hsd:-1", "hsd:0", True, None),
]


@every("arguments", DESIGNS, ids=str)
def test_a_design_spends_what_it_may(arguments: tuple[int, float, float, str, str, bool, tuple[float, ...] | None]) -> None:
    plan = design(*arguments)
    _, alpha, beta, alpha_spending, beta_spending, binding, _ = arguments
    heeded = plan.lower if binding else (*(-math.inf for _ in plan.lower[:-1]), plan.lower[-1])
    healthy = crossing(plan.times, plan.upper, heeded, 0.0)
    assert np.cumsum(healthy.up) == pytest.approx([spent(alpha_spending, alpha, t) for t in plan.times], rel=1e-8, abs=1e-11)
    real = crossing(plan.times, plan.upper, plan.lower, plan.drift)
    assert sum(real.up) == pytest.approx(1 - beta, abs=1e-9)
    assert sum(real.up) + sum(real.down) == pytest.approx(1, abs=1e-9)
    if beta_spending != "none":
        assert np.cumsum(real.down) == pytest.approx([spent(beta_spending, beta, t) for t in plan.times], rel=1e-8, abs=1e-9)
    assert plan.lower[-1] == plan.upper[-1]
    assert all(low < high for low, high in zip(plan.lower[:-1], plan.upper[:-1], strict=True))
    assert plan.inflation > 1  # no test of the same level and power does with less than the fixed one's maximum


def test_equal_errors_mirror_the_bounds() -> None:
    plan = design(7, 0.05, 0.05, "hsd:-2", "hsd:-2")
    mirrored = [plan.drift * math.sqrt(t) - u for t, u in zip(plan.times, plan.upper, strict=True)]
    assert plan.lower == pytest.approx(mirrored, abs=1e-9)
    assert expected(plan)[0] == pytest.approx(expected(plan)[1], abs=1e-9)


def test_one_look_is_the_fixed_design() -> None:
    plan = design(1, 0.05, 0.2)
    assert plan.upper == pytest.approx([1.6448536269514722])
    assert (plan.inflation, *expected(plan)) == pytest.approx((1, 1, 1))


def test_futility_that_may_be_ignored_costs_more() -> None:
    obeyed, free = (design(10, 0.05, 0.2, "hsd:-1", "hsd:0", binding) for binding in (True, False))
    assert free.inflation > obeyed.inflation
    assert all(a >= b for a, b in zip(free.upper, obeyed.upper, strict=True))
    ignored = crossing(obeyed.times, obeyed.upper, (*(-math.inf for _ in obeyed.lower[:-1]), obeyed.lower[-1]), 0.0)
    assert sum(ignored.up) > 0.052  # binding bounds that are not obeyed alarm too often


@every("spending", ["hsd:-1", "hsd:0", "hsd:3", "obrien-fleming", "pocock", "power:2"])
def test_spending_rises_from_nothing_to_all(spending: str) -> None:
    values = [spent(spending, 0.05, t) for t in np.linspace(0, 1, 41)]
    assert values[0] == 0
    assert values[-1] == 0.05
    assert all(a < b for a, b in pairwise(values[1:]))


def test_a_look_with_nothing_to_spend_has_no_bound() -> None:
    plan = design(3, 0.05, 0.2, "obrien-fleming", "hsd:0", True, (0.001, 0.5, 1.0))
    assert plan.upper[0] == math.inf
    assert all(math.isfinite(z) for z in plan.upper[1:] + plan.lower)


# ---- simulated paths ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [design(20), design(5, 0.05, 0.2, "obrien-fleming", "obrien-fleming")], ids=["20 looks", "5 looks"])
def test_simulated_paths(plan: Boundaries) -> None:
    paths, rng = 40_000, np.random.default_rng(7)
    times = np.array(plan.times)
    noise = np.cumsum(rng.standard_normal((paths, len(times))) * np.sqrt(np.diff(times, prepend=0)), axis=1)
    for drift, alarms, mean in zip((0.0, plan.drift), (plan.alpha, 1 - plan.beta), expected(plan), strict=True):
        z = noise / np.sqrt(times) + drift * np.sqrt(times)
        up, down = z >= np.array(plan.upper), z <= np.array(plan.lower)
        first = (up | down).argmax(axis=1)
        share = up[np.arange(paths), first].mean()
        assert abs(share - alarms) < 4 * math.sqrt(alarms * (1 - alarms) / paths)
        information = plan.inflation * times[first]
        assert abs(information.mean() - mean) < 4 * information.std() / math.sqrt(paths)


# ---- what cannot be asked ----------------------------------------------------------------------------------------------


@every(
    ("arguments", "words"),
    [
        ({"looks": 0}, "looks must be a whole number"),
        ({"looks": 2.5}, "looks must be a whole number"),
        ({"looks": 5, "alpha": 0.6, "beta": 0.4}, r"alpha 0\.6 and beta 0\.4 must add up to less than 1\."),
        ({"looks": 5, "alpha_spending": "hsd"}, "spending function"),
        ({"looks": 5, "beta_spending": "power:0"}, "spending function"),
        ({"looks": 5, "alpha_spending": "pocock:2"}, "spending function"),
        ({"looks": 2, "times": (0.5, 0.9)}, "end in 1"),
        ({"looks": 3, "times": (0.5, 0.4, 1.0)}, "rising"),
        ({"looks": 3, "times": (0.5, 1.0)}, "3 rising"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        design(**arguments)  # type: ignore[arg-type]
