"""Claims about stopping by scores that rarely fail at all, or rarely gain: false alarms, misses, and the lower end afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from steelyard_old.infer.sequential.stopping import StoppingRule, rule_for
from steelyard_old.proof.claims import PAGE, Band, BandText, Claim, Point, Setting, averaged, counted, declared
from steelyard_old.proof.errors.stopping import FloatArray, default_rule
from steelyard_old.proof.trials import Trial, told

FAMILY, ENDS = "stopping early, scores with rare falls or gains", "the lower end after stopping early, scores with rare falls"
METHODS = {"empirical-likelihood": True, "lan-demets": True, "lan-demets, no range": False}  # and whether the range is declared
SIZES: dict[str, BandText] = {
    "empirical-likelihood": ("at most alpha wherever it was tried", Band(high=0.05)),
    "lan-demets": ("alarms falsely where rare gains make up for small losses", Band(fails=0.1)),
}
POWERS: dict[str, BandText] = {
    "empirical-likelihood": ("rare total failures pass in beta of the runs at most", Band(low=0.8)),
    "lan-demets, no range": ("rare total failures pass in more than beta of the runs", Band(fails=0.75)),
}
LOWER: dict[str, BandText] = {
    "empirical-likelihood": ("the lower end misses the truth in 5% of the runs at most", Band(low=0.95)),
    "lan-demets, no range": ("the lower end misses the truth far more often", Band(fails=0.88)),
}


def claims() -> Iterator[Claim]:
    yield from _decisions().claims()
    yield from declared(
        "coverage", ENDS, LOWER, default_rule(False), lower_held, quick=_settings(FALLS[:3], QUICK, 60), full=ends_settings()
    )


# ---- the laws ------------------------------------------------------------------------------------------------------------------


def differences(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """Differences of scores in 0..1, in [-1, 1], with mean 0 or -theta."""
    n, theta, law = int(setting["items"]), float(setting["theta"]), str(setting["law"])
    u, noise = rng.random(n), rng.normal(0, 0.05, n)
    if law == "falls, noise":  # a share theta falls from 1 to 0
        return np.where(u < theta, -1.0, noise)
    if law == "falls":
        return np.where(u < theta, -1.0, 0.0)
    if law == "falls by half":
        return np.where(u < 2 * theta, -0.5, 0.0)
    if law == "all by theta, noise":
        return np.clip(2 * noise - theta, -1.0, 1.0)
    if law == "rare gains":  # a share theta gains nearly everything, all others lose a little
        return np.where(u < theta, 1 - theta, -theta)
    if law == "gains as large as the range":
        return np.where(u < theta / (1 + theta), 1.0, -theta)
    if law == "falls and gains":
        return np.where(u < theta / 2, -1.0, np.where(u < theta, 1.0, 0.0))
    if law == "noise":
        return np.clip(2 * noise, -1.0, 1.0)
    raise ValueError(law)


FALLS = ("falls, noise", "falls", "falls by half", "all by theta, noise")
HEALTHY = ("rare gains", "gains as large as the range", "falls and gains", "noise")
QUICK, BATCHES = (32,), (1, 7, 32, 64)


def _settings(laws: tuple[str, ...], batches: tuple[int, ...], runs: int, theta: float = 0.05) -> tuple[Setting, ...]:
    drop = {"drop": theta} if laws[0] in FALLS else {}
    items = round(4000 * (0.02 / theta))
    base: dict[str, Any] = {"theta": theta, "items": items, **drop}
    made = ({"law": law, "batch": batch, **base} for law in laws for batch in batches)
    return tuple({**setting, "runs": runs} if runs else setting for setting in made)


def ends_settings() -> tuple[Setting, ...]:
    return _settings(FALLS, (1,), 250) + _settings(FALLS, (7, 32, 64), 800) + _settings(FALLS, (32,), 800, 0.02)


def _decisions() -> Trial:
    quick = _settings(FALLS[:2], QUICK, 0) + _settings(HEALTHY[:2], QUICK, 0)
    every = tuple(setting for laws in (FALLS, HEALTHY) for setting in (*_settings(laws, BATCHES, 0), *_settings(laws, (7, 32), 0, 0.02)))
    return Trial(
        family=FAMILY,
        draw=lambda rng, setting: (differences(rng, setting), float(setting["theta"]), int(setting["batch"])),
        methods={method: partial(calls, method) for method in METHODS},
        said={(method, "size"): said for method, said in SIZES.items()} | {(method, "power"): said for method, said in POWERS.items()},
        settings=quick,
        more=tuple(setting for setting in every if setting not in quick),
        default=default_rule(False),
        page=PAGE,
        runs=(200, 800),
    )


# ---- runs ----------------------------------------------------------------------------------------------------------------------


def followed(method: str, values: FloatArray, theta: float, batch: int) -> StoppingRule:
    """A rule looked at batch by batch until it decides or the items end."""
    kind = method.partition(",")[0]
    known = (0.0, 1.0) if METHODS[method] else None
    rule, n = rule_for(kind, right_or_wrong=False, theta=theta, step=batch, score_range=known), 0
    while rule.decision == "continue":
        n = min(n + batch, len(values))
        rule.look(values[:n], last=n == len(values))
    return rule


def calls(method: str, values: FloatArray, theta: float, batch: int) -> bool:
    return followed(method, values, theta, batch).decision == "regression"


def lower_held(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """How often the truth lies above the lower end."""
    runs, theta = int(setting["runs"]), float(setting["theta"])
    lows = []
    for _ in range(runs):
        low = followed(method, differences(rng, setting), theta, int(setting["batch"])).estimate().low
        lows.append(-1.0 if low is None else low)
    held = int(np.sum(np.array(lows) <= -theta))
    yield counted(told(setting), held, runs, *averaged(-np.array(lows)))
