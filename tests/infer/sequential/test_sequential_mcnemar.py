"""The exact sequential McNemar test: fractions by hand, every sequence of signs, simulated runs, the prototype's table."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from cases import every
from coins import falls
from steelyard.errors import UsageError
from steelyard.infer.sequential.sequential_cost import expected_items as expected_of
from steelyard.infer.sequential.sequential_mcnemar import Look, SequentialMcNemar
from steelyard.infer.sequential.spending import spent

expected_items = partial(expected_of, rule="mcnemar")

# ---- the prototype -----------------------------------------------------------------------------------------------------

# research/performance.md, table 7.2 (losses added to the churn, batch 32, 10,000 runs each):
# theta, discordance, mean items without and with the drop, false alarms, power
TABLE = [
    (0.02, 0.02, 237, 466, 0.028, 0.796),
    (0.05, 0.02, 78, 145, 0.005, 0.810),
    (0.05, 0.20, 269, 438, 0.050, 0.813),
]
DEARER = [(0.01, 0.02, 739, 1345, 0.045, 0.812), (0.01, 0.05, 1687, 2651, 0.049, 0.820), (0.02, 0.05, 442, 775, 0.047, 0.809)]
RUNS = 10_000
SPREAD = 0.65  # standard deviation of the items of one run, relative to their mean: about what was simulated


@pytest.mark.parametrize(
    "row", [*TABLE, *(pytest.param(row, marks=pytest.mark.long) for row in DEARER)], ids=lambda row: f"theta {row[0]}, discordance {row[1]}"
)
def test_the_table_of_the_prototype(row: tuple[float, float, float, float, float, float]) -> None:
    theta, discordance, healthy_items, dropped_items, alarms, power = row
    healthy, dropped = (expected_items(theta, discordance, drop, paths=250) for drop in (0.0, theta))
    for found, items, share in ((healthy, healthy_items, alarms), (dropped, dropped_items, power)):
        assert abs(found.items - items) < 4 * math.hypot(found.items_error, SPREAD * items / math.sqrt(RUNS))
        error = math.hypot(found.regression_error, math.sqrt(share * (1 - share) / RUNS))
        assert abs(found.regression - share) < 4 * error + 0.0005  # printed to three digits
        assert found.exhausted == 0
        assert found.regression + found.passed == pytest.approx(1)


def test_other_drops_and_batches_of_the_prototype() -> None:
    # The same section, theta .02 at discordance .05: half, double and negative drops; and batches of 1, 128, 512.
    cases = [(0.01, 32, 718), (0.04, 32, 482), (-0.02, 32, 270), (0.0, 1, 420), (0.0, 128, 505), (0.0, 512, 739)]
    for drop, batch, items in cases:
        found = expected_items(0.02, 0.05, drop, batch=batch, paths=60 if drop != 0.01 else 120)
        assert abs(found.items - items) < 4 * math.hypot(found.items_error, SPREAD * items / math.sqrt(RUNS))
    halfway = expected_items(0.02, 0.05, 0.01, paths=120)
    assert abs(halfway.regression - 0.36) < 4 * math.hypot(halfway.regression_error, 0.005) + 0.005


# ---- an oracle: the bounds by hand, in fractions -----------------------------------------------------------------------


def bounds_by_hand(test: SequentialMcNemar, course: list[tuple[int, int]], last: bool) -> list[tuple[int, int, int, Fraction]]:
    """(n, upper, lower, alpha spent) of each look along (n, D), by adding one coin after the other to a table of fractions."""
    plan, law, k, used, tossed = test.boundaries, {0: Fraction(1)}, 0, Fraction(0), 0
    looks = []
    for place, (n, d) in enumerate(course):
        final = last and place == len(course) - 1
        time = n / ((d + 2) / (n + 20)) / test.information
        if time < 1 and not final and time < plan.times[k]:
            continue
        k = sum(t <= time for t in plan.times)
        for _ in range(d - tossed):
            law = {x: (law.get(x, Fraction(0)) + law.get(x - 1, Fraction(0))) / 2 for x in range(min(law), max(law) + 2)}
        tossed = d
        budget = spent("hsd:-1", test.alpha, 1.0 if final else time) - float(used)
        upper = next(x for x in range(min(law), d + 2) if sum(p for y, p in law.items() if y >= x) <= max(0, budget))
        used += sum(p for y, p in law.items() if y >= upper)
        futile = math.floor((d + plan.lower[k - 1] * math.sqrt(max(d, 1))) / 2) if k else -1
        lower = upper - 1 if time >= 1 else max(-1, min(futile, upper - 1))
        looks.append((n, upper, lower, used))
        law = {x: p for x, p in law.items() if x < upper and (x > lower or not test.binding)}
        if time >= 1 or not law:
            break
    return looks


def looks_of(test: SequentialMcNemar, course: list[tuple[int, int]], last: bool) -> list[Look]:
    """The bounds the test shows along a course, with losses that cross none of them: its own course, unobserved."""
    found = []
    for place, (n, d) in enumerate(course):
        look = test._course.look(n, d, last and place == len(course) - 1)
        if look is not None:
            found.append(look)
            if look.complete or not test._course.law.mass.size:
                break
    return found


@every("binding", [True, False])
@every("seed", range(12))
def test_bounds_are_those_of_a_table_of_fractions(seed: int, binding: bool) -> None:
    rng = np.random.default_rng(seed)
    theta, alpha, beta = rng.choice([0.03, 0.05, 0.1]), rng.choice([0.01, 0.05, 0.1]), rng.choice([0.05, 0.2])
    test = SequentialMcNemar(float(theta), float(alpha), float(beta), looks=int(rng.choice([3, 20])), binding=binding)
    steps = int(rng.integers(2, 14))
    course = list(
        zip(
            np.cumsum(rng.integers(20, 60, steps)).tolist(),
            np.cumsum(rng.binomial(20, rng.uniform(0.02, 0.4), steps)).tolist(),
            strict=True,
        )
    )
    last = bool(seed % 2)
    by_hand, found = bounds_by_hand(test, course, last), looks_of(test, course, last)
    shown = [(look.n, look.upper, look.lower, look.alpha_spent) for look in found]
    assert [row[:3] for row in shown] == [row[:3] for row in by_hand]
    assert [row[3] for row in shown] == pytest.approx([float(row[3]) for row in by_hand], abs=1e-14)
    assert all(row[3] <= alpha for row in shown)


@pytest.mark.parametrize(("binding", "last"), [(True, False), (True, True), (False, True)])
def test_every_sequence_of_signs(binding: bool, last: bool) -> None:
    """All 2^12 ways twelve coins can fall: the share that alarms is the alpha that was said to be spent."""
    course = [(40, 2), (80, 4), (120, 7), (160, 9), (200, 12)]
    ends: dict[str, int] = {}
    said = 0.0
    for losses, ways in falls([d for _, d in course]):
        test = SequentialMcNemar(0.07, 0.05, 0.2, binding=binding)
        decision = ""
        for place, ((n, d), lost) in enumerate(zip(course, losses, strict=True)):
            decision = test.look(n, lost, d - lost, last=last and place == len(course) - 1)
            if decision in ("regression", "exhausted") or (decision == "pass" and (binding or test.history[-1].complete)):
                break
        said = max(said, test.alpha_spent)
        ends[decision] = ends.get(decision, 0) + ways
    assert sum(ends.values()) == 2**12
    assert ends["regression"] / 2**12 == pytest.approx(said, abs=1e-15)
    assert 0 < said <= 0.05


# ---- runs, simulated ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drop", [0.0, 0.05])
def test_simulated_runs_end_as_foreseen(drop: float) -> None:
    theta, discordance, batch, runs = 0.05, 0.1, 32, 700
    rng = np.random.default_rng(3)
    items, ends = [], []
    shares = [discordance / 2 + drop, discordance / 2, 1 - discordance - drop]
    for _ in range(runs):
        test, n, lost, gained, decision = SequentialMcNemar(theta), 0, 0, 0, "continue"
        while decision == "continue":
            counts = rng.multinomial(batch, shares)
            n, lost, gained = n + batch, lost + int(counts[0]), gained + int(counts[1])
            decision = test.look(n, lost, gained)
        items.append(n)
        ends.append(decision)
    foreseen = expected_items(theta, discordance, drop, paths=300)
    share = ends.count("regression") / runs
    error = math.hypot(math.sqrt(foreseen.regression * (1 - foreseen.regression) / runs), foreseen.regression_error)
    assert abs(share - foreseen.regression) < 4 * error
    assert abs(np.mean(items) - foreseen.items) < 4 * math.hypot(float(np.std(items)) / math.sqrt(runs), foreseen.items_error)
    assert np.mean(np.array(items) > foreseen.at_most) < 0.004  # 0.001 was asked for


@every("discordance", [0.0, 0.01, 0.1, 0.5])
@every("binding", [True, False])
def test_alpha_holds_at_every_discordance(discordance: float, binding: bool) -> None:
    found = expected_items(0.05, discordance, 0.0, binding=binding, paths=100)
    assert found.regression <= 0.05
    assert found.regression + found.passed == pytest.approx(1)


def test_all_information_is_in_when_it_was_said_to_be() -> None:
    test = SequentialMcNemar(0.05)
    n = test.items_at_most(0.12, batch=1)
    disagreements = np.random.default_rng(0).binomial(n, 0.12, 200_000)
    short = np.mean(n * (n + 20) / (disagreements + 2) < test.information)
    assert short < 0.001 + 4 * math.sqrt(0.001 / 200_000)
    assert test.items_at_most(0.12, batch=32) == 32 * math.ceil(n / 32)


def test_more_to_find_more_to_ask() -> None:
    items = [expected_items(0.02, d, 0.0, paths=60).items for d in (0.02, 0.05, 0.1)]
    assert items == sorted(items)
    assert expected_items(0.01, 0.05, 0.0, paths=60).items > 3 * expected_items(0.02, 0.05, 0.0, paths=60).items
    powers = [expected_items(0.02, 0.05, drop, paths=60).regression for drop in (0.0, 0.01, 0.02)]
    assert powers == sorted(powers)
    free, obeyed = (expected_items(0.02, 0.05, 0.0, binding=binding, paths=100) for binding in (False, True))
    assert free.items > obeyed.items
    assert free.regression < obeyed.regression


def test_the_same_seed_gives_the_same_answer() -> None:
    first = expected_items(0.05, 0.1, 0.0, paths=50)
    expected_of.cache_clear()
    assert expected_items(0.05, 0.1, 0.0, paths=50) == first
    assert expected_items(0.05, 0.1, 0.0, paths=50, seed=1) != first


# ---- decisions ---------------------------------------------------------------------------------------------------------


def test_items_that_run_out_are_no_pass() -> None:
    test = SequentialMcNemar(0.02)
    assert test.look(100, 3, 2) == "continue"
    assert test.look(150, 4, 3, last=True) == "exhausted"
    assert test.decision == "exhausted"
    assert test.alpha_spent <= 0.05


def test_items_that_run_out_may_still_alarm_or_pass() -> None:
    alarmed, passed = SequentialMcNemar(0.02), SequentialMcNemar(0.02)
    assert alarmed.look(150, 9, 1, last=True) == "regression"
    assert passed.look(448, 5, 12, last=True) == "pass"


def test_exhausted_runs_are_counted_apart() -> None:
    found = expected_items(0.02, 0.05, 0.02, available=300, paths=100)
    assert found.exhausted > 0.5
    assert found.regression + found.passed + found.exhausted == pytest.approx(1)
    assert found.items <= found.at_most == 300


def test_complete_information_decides() -> None:
    assert SequentialMcNemar(0.2).look(2000, 50, 50) == "pass"
    assert SequentialMcNemar(0.2).look(2000, 120, 50) == "regression"


def test_nothing_disagrees() -> None:
    test = SequentialMcNemar(0.02)
    decisions = [test.look(n, 0, 0) for n in range(32, 160, 32) if test.decision == "continue"]
    assert decisions[-1] == "pass"
    assert len(decisions) > 2  # not at the first look, when two items would say as much


def test_a_pass_that_does_not_bind_may_be_overruled() -> None:
    free, bound = SequentialMcNemar(0.02, binding=False), SequentialMcNemar(0.02)
    assert free.look(448, 5, 14) == bound.look(448, 5, 14) == "pass"
    assert free.look(480, 6, 14) in ("pass", "continue")
    with pytest.raises(UsageError, match="ended with 'pass'"):
        bound.look(480, 6, 14)


def test_the_history_shows_each_look() -> None:
    test = SequentialMcNemar(0.02)
    for n, lost, gained in ((32, 1, 0), (64, 1, 1), (256, 5, 6), (448, 8, 13)):
        test.look(n, lost, gained)
    assert [look.n for look in test.history][-2:] == [256, 448]
    assert all(a.alpha_spent <= b.alpha_spent for a, b in itertools.pairwise(test.history))
    assert [look.decision for look in test.history][-1] == "pass"
    assert test.history[-1].lower >= 8


# ---- what cannot be asked ----------------------------------------------------------------------------------------------


@every(
    ("counts", "words"),
    [
        ((0, 0, 0), "lost \\+ gained at most n"),
        ((10, 6, 5), "lost \\+ gained at most n"),
        ((10, -1, 5), "whole numbers"),
        ((10.5, 1, 1), "whole numbers"),
        ((90, 3, 2), "running totals"),
        ((110, 2, 2), "running totals"),
        ((101, 5, 2), "running totals"),
    ],
)
def test_counts_that_cannot_be(counts: tuple[int, int, int], words: str) -> None:
    test = SequentialMcNemar(0.02)
    test.look(100, 3, 2)
    with pytest.raises(UsageError, match=words):
        test.look(*counts)


@every("theta", [0, 1, -0.1, 2, math.nan, True, "0.02"])
def test_theta_that_cannot_be(theta: object) -> None:
    with pytest.raises(UsageError, match="theta"):
        SequentialMcNemar(theta)  # type: ignore[arg-type]


@every(
    ("arguments", "words"),
    [
        ({"discordance": -0.1, "drop": 0.2}, "add up to at most 1"),
        ({"discordance": 0.9, "drop": 0.2}, "add up to at most 1"),
        ({"discordance": math.nan, "drop": 0.0}, "add up to at most 1"),
        ({"discordance": 0.1, "drop": 0.0, "batch": 0}, "whole numbers from 1"),
        ({"discordance": 0.1, "drop": 0.0, "available": 0}, "whole numbers from 1"),
        ({"discordance": 0.1, "drop": 0.0, "theta": 1e-5}, "a larger theta"),
    ],
)
def test_foresight_that_cannot_be(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        expected_items(**({"theta": 0.02} | arguments))  # type: ignore[arg-type]
