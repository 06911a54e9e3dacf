"""Claims about stopping early at other levels of alpha and beta, and about margins: false alarms, and drops that pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from steelyard_old.infer.sequential.sequential_cost import expected_items
from steelyard_old.infer.sequential.stopping import rule_for
from steelyard_old.proof.claims import POWER, Band, Claim, Point, Setting, counted, declared, words
from steelyard_old.proof.errors.stopping import FloatArray, default_rule
from steelyard_old.proof.errors.stopping_tails import FALLS, HEALTHY
from steelyard_old.proof.errors.stopping_tails import differences as rare_differences
from steelyard_old.proof.trials import told

Drawn = Callable[[np.random.Generator, Setting], FloatArray]
LEVELS = ((0.01, 0.1), (0.1, 0.1), (0.2, 0.4))  # (alpha, beta): strict, both alike, loose
BATCHES = (1, 32)
THETAS, CHURNS = (0.05, 0.1), (0.02, 0.05, 0.2)
COURSES = {0.02: 800, 0.05: 400, 0.2: 100}  # by discordance: the more disagree, the less the courses differ
MARGINS = ((0.02, 0.07), (0.05, 0.1), (0.05, 0.2))  # (margin, theta)
LAWS = ("falls, noise", "falls and gains", "all alike, noise", "rare gains")


def claims() -> Iterator[Claim]:
    for alpha, beta in LEVELS:
        yield from _right_or_wrong(alpha, beta)
        yield from _scores(alpha, beta)
    yield from _margins()


# ---- right or wrong ------------------------------------------------------------------------------------------------------------


def _right_or_wrong(alpha: float, beta: float) -> Iterator[Claim]:
    every = [(theta, churn, batch) for theta in THETAS for churn in CHURNS for batch in BATCHES]
    for kind, sentence, band in (
        ("size", "at most alpha, exactly", Band(high=alpha)),
        ("power", "a drop of theta passes in beta of the runs at most", Band(low=1 - beta)),
    ):
        settings = [
            {"theta": theta, "discordance": churn, "drop": 0.0 if kind == "size" else theta, "batch": batch, "courses": COURSES[churn]}
            for theta, churn, batch in every
        ]
        yield from declared(
            kind,
            f"stopping early at alpha {alpha:g} and beta {beta:g}, right or wrong",
            {"profile-mcnemar": (sentence, band)},
            default_rule(True),
            partial(along_courses, alpha, beta),
            quick=({**settings[-6], "courses": 100},),
            full=tuple(settings),
            nominal=alpha if kind == "size" else 1 - beta,
        )


def along_courses(alpha: float, beta: float, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Courses of disagreements are drawn; the law of the losses along each is exact."""
    theta, churn, drop = (float(setting[name]) for name in ("theta", "discordance", "drop"))
    courses, batch, seed = int(setting["courses"]), int(setting["batch"]), int(rng.integers(2**32))
    found = expected_items(theta, churn, drop, alpha, beta, rule=method, batch=batch, paths=courses, seed=seed, every_look=True)
    where = words({key: value for key, value in setting.items() if key != "courses"})
    yield Point(where, found.regression, max(found.regression_error, 1e-6))


# ---- scores --------------------------------------------------------------------------------------------------------------------


def _scores(alpha: float, beta: float) -> Iterator[Claim]:
    items = 4000 if alpha < 0.05 else 2000
    for kind, laws, sentence, band in (
        ("size", HEALTHY, "a healthy run is called a regression in alpha of the runs at most", Band(high=alpha)),
        ("power", FALLS, "a drop of theta passes in beta of the runs at most", Band(low=1 - beta)),
    ):
        settings = [
            _setting(kind, 0.05, law=law, batch=batch, items=items, runs=runs) for law in laws for batch, runs in ((7, 500), (32, 1500))
        ]
        yield from declared(
            kind,
            f"stopping early at alpha {alpha:g} and beta {beta:g}, scores with rare falls or gains",
            {"empirical-likelihood": (sentence, band)},
            default_rule(False),
            partial(regressions, alpha, beta, rare_differences),
            quick=({**settings[1], "runs": 100},),
            full=tuple(settings),
            nominal=alpha if kind == "size" else 1 - beta,
        )


def _margins() -> Iterator[Claim]:
    """Not inferior by a margin: the truth lies at the margin (size), or at theta (power)."""
    for kind, sentence, band in (
        ("size", "a loss of exactly the margin is called a regression in alpha of the runs at most", Band(high=0.05)),
        ("power", "a loss of theta is found with the power that was asked for", Band(low=POWER)),
    ):
        base = [(law, margin, theta, 32) for law in LAWS for margin, theta in MARGINS] + [(law, *MARGINS[1], 1) for law in LAWS]
        settings = [
            _setting(kind, theta, law=law, margin=margin, batch=batch, items=3000, runs=200 if batch == 1 else 800)
            for law, margin, theta, batch in base
        ]
        yield from declared(
            kind,
            "stopping early, not inferior by a margin, scores",
            {"empirical-likelihood": (sentence, band)},
            default_rule(False),
            partial(regressions, 0.05, 0.2, differences_around),
            quick=({**settings[1], "runs": 150},),
            full=tuple(settings),
        )


def _setting(kind: str, theta: float, **rest: float | int | str) -> dict[str, float | int | str]:
    return {**rest, "theta": theta, **({"drop": theta} if kind == "power" else {})}


def differences_around(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """Differences of scores in 0..1, in [-1, 1], whose mean is the negative of the drop, or of the margin if there is none."""
    n, law, loss = int(setting["items"]), str(setting["law"]), float(setting.get("drop", setting["margin"]))
    u, noise = rng.random(n), rng.normal(0, 0.05, n)
    if law == "falls, noise":
        return np.where(u < loss, -1.0, noise)
    if law == "falls and gains":
        return np.where(u < loss + 0.02, -1.0, np.where(u < loss + 0.04, 1.0, 0.0))
    if law == "all alike, noise":
        return np.clip(2 * noise - loss, -1.0, 1.0)
    if law == "rare gains":  # one item in twenty gains nearly everything, all others lose
        return np.where(u < 0.05, 0.9, -(loss + 0.05 * 0.9) / 0.95)
    raise ValueError(law)


def regressions(alpha: float, beta: float, draw: Drawn, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of runs that end in a regression, looked at batch by batch."""
    runs, batch, calls = int(setting["runs"]), int(setting["batch"]), 0
    for _ in range(runs):
        values, n = draw(rng, setting), 0
        rule = rule_for(
            method,
            right_or_wrong=False,
            theta=float(setting["theta"]),
            margin=float(setting.get("margin", 0.0)),
            alpha=alpha,
            beta=beta,
            step=batch,
            score_range=(0.0, 1.0),
        )
        while rule.decision == "continue":
            n = min(n + batch, len(values))
            rule.look(values[:n], last=n == len(values))
        calls += rule.decision == "regression"
    yield counted(told(setting), calls, runs)
