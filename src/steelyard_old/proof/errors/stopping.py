"""Claims about rules that stop a run early: false alarms and power under their own looks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.sequential.sequential_cost import expected_items
from steelyard_old.infer.sequential.stopping import StoppingRule, choice, rule_for
from steelyard_old.proof.claims import PAGE, Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.trials import Trial, alike

FloatArray = npt.NDArray[np.float64]
THETA, BATCH = 0.05, 32
OUTCOMES = "stopping early, right or wrong"
SIZES: dict[str, BandText] = {
    "profile-mcnemar": ("at most alpha, exactly, for every discordance and every batch", Band(high=0.05)),
    "empirical-likelihood": ("at most alpha wherever it was tried", Band(high=0.05)),
    "mcnemar": ("at most alpha, exactly", Band(high=0.05)),
    "lan-demets": ("asymptotic: about 0.05, 0.056 at most", Band(high=0.055)),
    "e-process": ("at most alpha at any moment", Band(high=0.05)),
    "e-mcnemar": ("at most alpha at any moment", Band(high=0.05)),
    "sprt": ("about alpha", Band(high=0.05)),
}
POWERS: dict[str, BandText] = {
    "profile-mcnemar": ("finds a drop of theta with the power it is planned for", Band(low=0.79)),
    "empirical-likelihood": ("finds a drop of theta with the power it is planned for", Band(low=0.79)),
    "mcnemar": ("finds a drop of theta with the power it is planned for", Band(low=0.79)),
    "lan-demets": ("finds a drop of theta with the power it is planned for", Band(low=0.78)),
    "e-process": ("finds a drop of theta if there are items enough", Band(low=0.75)),
    "e-mcnemar": ("finds a drop of theta if there are items enough; it asks them all if there is none", Band(low=0.85)),
    "sprt": ("finds a drop of theta with the power it is planned for, if the discordance is right", Band(low=0.8)),
}


def claims() -> Iterator[Claim]:
    yield from _exact()
    for trial in (_outcomes(), _sprt_misled(), _scores()):
        yield from trial.claims()


# ---- the exact test ------------------------------------------------------------------------------------------------------------


def _exact() -> Iterator[Claim]:
    """The law of the losses along each drawn course of disagreements is exact; the courses alone are drawn."""
    for kind, said in (("size", SIZES), ("power", POWERS)):
        drop = 0.0 if kind == "size" else 0.02
        yield from declared(
            kind,
            "the exact sequential McNemar test, theta of 2 points",
            {method: said[method] for method in ("profile-mcnemar", "mcnemar")},
            default_rule(True),
            along_courses,
            quick=tuple({"discordance": psi, "drop": drop, "courses": 40} for psi in (0.02, 0.05)),
            full=tuple({"discordance": psi, "drop": drop, "courses": 1000} for psi in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)),
        )


def along_courses(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    psi, drop, courses = float(setting["discordance"]), float(setting["drop"]), int(setting["courses"])
    found = expected_items(0.02, psi, drop, rule=method, batch=BATCH, paths=courses)
    where = words({"discordance": psi, "drop": drop})
    # Courses of one chance each agree in a share that lies next to alpha: half a course is the least that is not known.
    yield Point(where, found.regression, max(found.regression_error, 1e-6))


# ---- rules run one by one ------------------------------------------------------------------------------------------------------


def differences(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """-1 where an item is lost, 1 where it is gained; a drop adds losses to what changes anyway."""
    u, psi = rng.random(int(setting["items"])), float(setting["discordance"])
    return (u > 1 - psi / 2).astype(float) - (u < psi / 2 + float(setting.get("drop", 0.0)))


def followed(rule: StoppingRule, values: FloatArray) -> StoppingRule:
    """The rule, looked at batch by batch until it decides or the items end."""
    n = 0
    while rule.decision == "continue":
        n = min(n + BATCH, len(values))
        rule.look(values[:n], last=n == len(values))
    return rule


def planned(kind: str, discordance: float | None = None) -> StoppingRule:
    return rule_for(kind, right_or_wrong=True, theta=THETA, discordance=discordance if kind == "sprt" else None)


def default_rule(right_or_wrong: bool) -> str:
    plain: dict[str, Any] = {"one_answer": True, "margin": 0.0, "grouped": False, "n_max": None}
    return choice(right_or_wrong=right_or_wrong, theta=THETA, score_range=(0.0, 1.0), **plain)[0]


def _outcomes() -> Trial:
    def calls(kind: str, values: FloatArray, discordance: float) -> bool:
        return followed(planned(kind, discordance), values).decision == "regression"

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        return differences(rng, setting), float(setting["discordance"])

    base: dict[str, Any] = {"items": 1500, "discordance": 0.1}
    return Trial(
        family=OUTCOMES,
        draw=draw,
        methods={kind: partial(calls, kind) for kind in SIZES},
        said={(kind, "size"): said for kind, said in SIZES.items()} | {(kind, "power"): said for kind, said in POWERS.items()},
        settings=(base, {**base, "drop": THETA}),
        more=tuple({**base, "discordance": psi, "drop": drop} for psi in (0.04, 0.2) for drop in (0.0, THETA)),
        default=default_rule(True),
        page=PAGE,
        runs=(200, 3000),
    )


def _sprt_misled() -> Trial:
    def calls(values: FloatArray, assumed: float) -> bool:
        return followed(planned("sprt", assumed), values).decision == "regression"

    return Trial(
        family="stopping early by a discordance assumed at half its value",
        draw=lambda rng, setting: (differences(rng, setting), float(setting["discordance"]) / 2),
        methods={"sprt": calls},
        said=alike(("sprt",), "power", "finds 55 to 60% of the drops instead of 80%", low=0.5, high=0.68),
        settings=({"items": 1500, "discordance": 0.1, "drop": THETA},),
        default="",
        page=PAGE,
        runs=(200, 3000),
    )


def _scores() -> Trial:
    """Scores between 0 and 1; a drop is a share of the answers that is scored 0."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, drop = int(setting["items"]), float(setting.get("drop", 0.0))
        quality = rng.beta(4, 1.5, n)
        one, two = (np.clip(quality + rng.normal(0, 0.15, n), 0, 1) for _ in range(2))
        return (np.where(rng.random(n) < drop / 0.73, 0.0, two) - one,)

    def calls(kind: str, values: FloatArray) -> bool:
        rule = rule_for(kind, right_or_wrong=False, theta=THETA, score_range=(0.0, 1.0))
        return followed(rule, values).decision == "regression"

    kinds = ("empirical-likelihood", "lan-demets", "e-process")
    return Trial(
        family="stopping early, scores",
        draw=draw,
        methods={kind: partial(calls, kind) for kind in kinds},
        said={(kind, "size"): SIZES[kind] for kind in kinds} | {(kind, "power"): POWERS[kind] for kind in kinds},
        settings=({"items": 1500}, {"items": 1500, "drop": THETA}),
        default=default_rule(False),
        page=PAGE,
        runs=(200, 3000),
    )
