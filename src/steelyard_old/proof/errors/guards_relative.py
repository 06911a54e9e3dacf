"""Claims about guards that ask for a share of the reference: how often they are wrong about a run that lies exactly at the edge."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.proof.claims import Claim, Setting
from steelyard_old.proof.errors.guards import PAGE, run_of, verdict
from steelyard_old.proof.trials import Trial, alike

FloatArray = npt.NDArray[np.float64]
RED, GREEN = "calls it a regression", "calls it a pass"
METHODS = (RED, GREEN)
EDGE = 0.95


def claims() -> Iterator[Claim]:
    for trial in (_outcomes(), _scores()):
        yield from trial.claims()


def _calls(metric: str) -> dict[str, Any]:
    """The two ways to be wrong about a run that is at the edge: both share one verdict, which is worked out once."""

    kept: dict[bytes, str] = {}

    def judged(a: FloatArray, b: FloatArray) -> str:
        data = sha256(a.tobytes() + b.tobytes()).digest()
        if data not in kept:
            kept[data] = verdict(run_of(a), run_of(b), metric, recovery=EDGE)
        return kept[data]

    return {RED: lambda a, b: judged(a, b) == "regression", GREEN: lambda a, b: judged(a, b) == "pass"}


def _outcomes() -> Trial:
    """Right or wrong: the run has exactly 95% of the right answers in the long run, and some items change either way."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n, p, gained = int(setting["n"]), float(setting["p"]), float(setting["churn"]) / 2
        lost = gained + (1 - EDGE) * p
        kind = rng.choice(4, n, p=(p - lost, lost, gained, 1 - p - gained))
        return (kind < 2).astype(float), ((kind == 0) | (kind == 2)).astype(float)

    return Trial(
        family="a guard on a share of the reference, right or wrong",
        draw=draw,
        methods=_calls("accuracy"),
        said=alike(METHODS, "size", "a run exactly at the edge is called so in about 5% of cases, with 50 items in up to 7%", high=0.075),
        settings=({"n": 200, "p": 0.8, "churn": 0.04},),
        more=tuple(
            {"n": n, "p": p, "churn": churn} for n in (50, 200, 1000) for p in (0.5, 0.8, 0.95) for churn in (0.02, 0.1) if p < 1 - churn
        ),
        default=RED,
        page=PAGE,
        runs=(200, 1000),
    )


def _scores() -> Trial:
    """Scores: a share of the items fails altogether, so many that the mean is 95% of the reference's in the long run."""

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        n = int(setting["n"])
        quality = rng.beta(4, 1.5, n)
        a, b = (np.clip(quality + rng.normal(0, 0.05, n), 0, 1) for _ in range(2))
        return a, np.where(rng.random(n) < 1 - EDGE, 0.0, b) if setting["fails"] == "altogether" else b * EDGE

    return Trial(
        family="a guard on a share of the reference, scores",
        draw=draw,
        methods=_calls("mean"),
        said=alike(METHODS, "size", "a run exactly at the edge is called so in about 5% of cases or fewer", high=0.075),
        settings=({"n": 200, "fails": "altogether"},),
        more=tuple({"n": n, "fails": fails} for n, fails in ((50, "altogether"), (50, "a little"), (200, "a little"), (1000, "a little"))),
        default=RED,
        page=PAGE,
        runs=(200, 1000),
    )
