"""Model calls: what stopping early asks for, against the usual n = 3.09 / theta^2, by simulation; both errors kept in the same runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmarks.timing import Row, Unmeasured, Wrong, below, cpu, seconds

if TYPE_CHECKING:
    from steelyard.infer.sequential.stopping import StoppingRule

THETA, ACCURACY, BATCH = 0.02, 0.75, 32
WORDS = ("nothing changed", "dropped by theta")
SEED_N = 3.0913 / THETA**2
GOALS = {  # discordance: fewer if nothing changed, if it dropped
    0.02: ("stopping.calls-same-2", "stopping.calls-drop-2"),
    0.05: ("stopping.calls-same-5", "stopping.calls-drop-5"),
    0.1: ("stopping.calls-same-10", "stopping.calls-drop-10"),
    0.2: ("stopping.calls-same-20", "stopping.calls-drop-20"),
}
ANSWERS: dict[tuple[int, float], tuple[str | None, str | None]] = {  # answers on record, discordance: the same
    (4, 0.05): ("stopping.four-same-5", "stopping.four-drop-5"),
    (16, 0.05): ("stopping.sixteen-same-5", "stopping.sixteen-drop-5"),
    **{(answers, share): (None, None) for share in (0.1, 0.2) for answers in (4, 16)},
}
FloatArray = npt.NDArray[np.float64]


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    paths = 500 if quick else 1000
    for discordance, goals in GOALS.items():
        yield from exact(discordance, goals, paths)
    yield from several(1000 if quick else 4000)
    yield from suites(40 if quick else 1000)
    yield from beside_statgate(20 if quick else 60)
    yield from looks()


def exact(discordance: float, goals: tuple[str, str], paths: int) -> Iterator[Row]:
    """The profile-likelihood McNemar test, the default: discordance unknown to it, losses added to the churn, batches of 32."""
    from steelyard.infer.planning.mcnemar_power import mcnemar_items
    from steelyard.infer.sequential.sequential_cost import expected_items

    paired = mcnemar_items(discordance + THETA, THETA, 0.05, 0.2).n_stable
    for drop, key, words in zip((0.0, THETA), goals, WORDS, strict=True):
        found = expected_items(THETA, discordance, drop, paths=paths)
        if found.regression > 0.05 if drop == 0 else found.regression < 0.79 - 4 * found.regression_error:
            raise Wrong(f"stopping at discordance {discordance}: {found.regression:.4f} of the runs with drop {drop} alarm")
        times = SEED_N / found.items
        yield Row(
            key=key,
            value=times,
            what=f"theta 2 points, discordance {discordance:.0%}, {words}",
            ours=f"{found.items:,.0f} calls",
            peer=f"{SEED_N:,.0f} calls",
            times=(times,),
            note=f"alarms {found.regression:.3f}; pairing {SEED_N / paired:.1f}x, stopping a further {paired / found.items:.1f}x",
        )


# ---- several answers on record -----------------------------------------------------------------------------------------


def several(runs: int) -> Iterator[Row]:
    """Answers on record against one new one, in strata as `run` asks them: the empirical-likelihood rule, the drop anywhere."""
    from steelyard.infer.planning.run_designs import answers_on_record, strata_for
    from steelyard.infer.planning.stored_answers import beta_answers

    for (answers, discordance), keys in ANSWERS.items():
        items = beta_answers(ACCURACY, discordance, answers)
        found = answers_on_record(items, THETA, strata=strata_for(items, THETA), runs=runs)
        kept(f"{answers} answers at discordance {discordance}", found.alpha, [each.regression for each in found.dropped.values()], runs)
        places = ", ".join(f"{place} {each.items:,.0f} calls, power {each.regression:.3f}" for place, each in found.dropped.items())
        for ends, key, words, bound in zip((found.healthy, found.usual), keys, WORDS, found.bound or (), strict=True):
            times = SEED_N / ends.items
            yield Row(
                key=key,
                value=times,
                what=f"{answers} answers on record, discordance {discordance:.0%}, {words}",
                ours=f"{ends.items:,.0f} calls",
                peer=f"{SEED_N:,.0f} calls",
                times=(times,),
                note=f"alarms {found.alpha:.3f}, power {found.usual.regression:.3f}; nine of ten by {ends.items_90:,}; information bound "
                f"{bound:,.0f}" + (f"; the drop {places}" if ends is found.usual else ""),
            )


def kept(what: str, alarms: float, powers: list[float], runs: int) -> None:
    """Fewer calls mean nothing where an error rate is not kept."""
    if alarms > 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs) or min(powers) < 0.8 - 4 * math.sqrt(0.16 / runs):
        raise Wrong(f"stopping by {what}: {alarms:.4f} of healthy runs alarm, {min(powers):.4f} with the drop")


# ---- suites --------------------------------------------------------------------------------------------------------------


def suites(runs: int) -> Iterator[Row]:
    """Ten tasks, one alpha, stopped at the first regression: calls of all tasks together, healthy, one broken, all broken."""
    from steelyard.proof.errors.stopping_suites import night

    base = {"tasks": 10, "items": 4000, "theta": THETA, "discordance": 0.05}
    rng = np.random.Generator(np.random.PCG64(0))
    for key, words, broken, drop in (
        ("stopping.suite-same", "nothing changed", 0, 0),
        (None, "one dropped by theta", 1, 1),
        (None, "one dropped by three theta", 1, 3),
        ("stopping.suite-drop", "all dropped by theta", 10, 1),
    ):
        ends = [night(rng, {**base, "broken": broken, "drop": drop}) for _ in range(runs)]
        alarms, calls = sum(end == "regression" for end, _ in ends) / runs, np.array([n for _, n in ends])
        level, error = (0.05, math.sqrt(0.05 * 0.95 / runs)) if not broken else (0.8, math.sqrt(0.16 / runs))
        if alarms > level + 4 * error if not broken else alarms < level - 4 * error:
            raise Wrong(f"a suite of ten, {words}: {alarms:.3f} of the runs alarm")
        yield Row(
            key=key,
            value=float(calls.mean()),
            what=f"a suite of ten tasks, theta 2 points, discordance 5%, {words}",
            ours=f"{calls.mean():,.0f} calls",
            peer=f"{10 * SEED_N:,.0f} calls",
            times=(10 * SEED_N / float(calls.mean()),),
            note=f"alarms {alarms:.3f}; mean within {calls.std() / math.sqrt(runs):.2g}; nine of ten by {int(np.quantile(calls, 0.9)):,}",
        )


# ---- another rule, and what a look costs -------------------------------------------------------------------------------


def beside_statgate(runs: int) -> Iterator[Row | Unmeasured]:
    """statgate's mixture SPRT, its own class, half-way between no drop and theta, where it decides both; at most as many items as that."""
    if find_spec("statgate") is None:
        yield Unmeasured((), "statgate is not installed (extra `bench`)")
        return
    from statgate.core.sequential import MixtureSPRT

    from steelyard.infer.sequential.stopping import rule_for

    rng = np.random.Generator(np.random.PCG64(0))
    most = int(SEED_N)
    for drop, words in zip((0.0, THETA), WORDS, strict=True):
        ends: dict[str, list[tuple[int, str]]] = {"ours": [], "statgate": []}
        for _ in range(runs):
            u = rng.random(most)
            x = (u > 0.975).astype(float) - (u < 0.025 + drop)
            ours = rule_for(right_or_wrong=True, theta=THETA)
            peer, told, n = MixtureSPRT(theta0=-THETA / 2, alpha=0.05, min_samples=10), "open", 0
            while ours.decision == "continue":
                n = min(n + BATCH, most)
                ours.look(x[:n], last=n == most)
            ends["ours"].append((n, ours.decision))
            n = 0
            while told == "open" and n < most:
                decision = peer.update(x[n : n + BATCH])
                n = min(n + BATCH, most)
                told = {1: "pass", -1: "regression"}[decision.direction] if decision.decided else "open"
            ends["statgate"].append((n, told))
        means = {name: float(np.mean([n for n, _ in each])) for name, each in ends.items()}
        shares = {name: {way: sum(w == way for _, w in each) / runs for way in ("regression", "pass")} for name, each in ends.items()}
        if drop == 0 and shares["ours"]["regression"] > 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs):
            raise Wrong(f"stopping beside statgate: {shares['ours']['regression']:.3f} of healthy runs alarm")
        yield Row(
            what=f"beside statgate's mSPRT, one answer, discordance 5%, {words}",
            ours=f"{means['ours']:,.0f} calls",
            peer=f"{means['statgate']:,.0f} calls",
            times=(means["statgate"] / means["ours"],),
            note="; ".join(f"{name} alarms {each['regression']:.3f}, passes {each['pass']:.3f}" for name, each in shares.items())
            + f"; statgate at theta0 = -theta / 2, {BATCH} at a time, {most:,} items at most",
        )


def looks() -> Iterator[Row]:
    """One look, with all that is kept of it: right or wrong after 500 items, and weighted differences of 16 answers after 500."""
    from steelyard.infer.planning.run_designs import strata_for
    from steelyard.infer.planning.stored_answers import beta_answers
    from steelyard.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
    from steelyard.infer.sequential.profile_mcnemar import ProfileMcNemar

    items = beta_answers(ACCURACY, 0.05, 16)
    strata = strata_for(items, THETA)
    assert strata is not None
    values, shares = np.array(items.law(strata.k(items.wavering))).T
    rng = np.random.Generator(np.random.PCG64(0))
    weighted = rng.choice(values, p=shares / shares.sum(), size=1000)
    u = rng.random(1000)
    outcomes = (u > 0.97).astype(float) - (u < 0.03)
    rules: dict[str, tuple[Callable[[], StoppingRule], FloatArray]] = {
        "right or wrong": (lambda: ProfileMcNemar(theta=0.002), outcomes),
        "16 answers on record": (lambda: EmpiricalLikelihoodSprt(theta=0.002, score_range=(0.0, 1.0), ends=strata.ends), weighted),
    }
    sizes = range(BATCH, 1000, BATCH)
    for name, (make, x) in rules.items():
        taken = cpu(partial(looked, make, x, sizes), repeats=9) / len(sizes)
        if looked(make, x, sizes).decision != "continue":
            raise Wrong(f"a look: the run of {name} ended before {sizes[-1]} items")
        yield below("stopping.look", f"a look, mean of {len(sizes)} up to {sizes[-1]} items, {name}", taken, seconds)


def looked(make: Callable[[], StoppingRule], x: FloatArray, sizes: range) -> StoppingRule:
    rule = make()
    for n in sizes:
        rule.look(x[:n])
    return rule
