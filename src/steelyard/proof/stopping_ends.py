"""Claims about what holds after a run stopped early: each end of the interval, and intervals that hold at every item at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from steelyard.infer.confidence_sequence import ConfidenceSequence
from steelyard.infer.stopping import KINDS
from steelyard.proof.claims import Band, Claim, Point, Setting, share_error
from steelyard.proof.stopping import PAGE, THETA, default_rule, differences, followed, planned
from steelyard.proof.trials import ALPHA, Said, told


def claims() -> Iterator[Claim]:
    yield from _ends()
    yield from _sequences()


def _ends() -> Iterator[Claim]:
    said: dict[str, Said] = {
        "mcnemar": ("each end misses the truth in 3 to 5% of the runs", Band(low=0.94)),
        "lan-demets": ("each end misses the truth in 4 to 8% of the runs", Band(low=0.91)),
        "e-process": ("holds whenever one stops", Band(low=0.95)),
        "e-mcnemar": ("holds whenever one stops, but for Wilson's interval of the discordance", Band(low=0.94)),
        "sprt": ("each end misses the truth in 3 to 5% of the runs", Band(low=0.94)),
    }
    base: dict[str, Any] = {"items": 1500, "discordance": 0.1}
    for kind in KINDS:
        yield Claim(
            family="each end of the interval after stopping early, right or wrong",
            method=kind,
            kind="coverage",
            nominal=1 - ALPHA,
            says=said[kind][0],
            documented=PAGE,
            band=said[kind][1],
            quick=tuple({**base, "drop": drop, "runs": 150} for drop in (THETA,)),
            full=tuple({**base, "discordance": psi, "drop": drop, "runs": 1000} for psi in (0.04, 0.1, 0.2) for drop in (0.0, THETA)),
            work=partial(ends_held, kind),
            default=kind == default_rule(True),
        )


def ends_held(kind: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """How often the truth lies above the lower end, and below the upper one."""
    runs = int(setting["runs"])
    truth = -float(setting["drop"])
    found = []
    for _ in range(runs):
        stopped = followed(planned(kind, float(setting["discordance"])), differences(rng, setting)).estimate()
        found.append((-1.0 if stopped.low is None else stopped.low, 1.0 if stopped.high is None else stopped.high))
    low, high = np.array(found).T
    for end, held in (("lower", low <= truth), ("upper", truth <= high)):
        share = float(np.mean(held))
        yield Point(f"{told(setting)} {end}", share, share_error(share, runs), float(np.mean(high - low)))


def _sequences() -> Iterator[Claim]:
    for method, width in (("betting sequence", None), ("betting sequence for a width", 0.1)):
        yield Claim(
            family="the mean of bounded scores, at every item at once",
            method=method,
            kind="coverage",
            nominal=1 - ALPHA,
            says="the interval holds at every item at once",
            documented=PAGE,
            band=Band(low=0.95),
            quick=({"law": "right or wrong", "items": 200, "runs": 100},),
            full=tuple({"law": law, "items": 1000, "runs": 1000} for law in ("right or wrong", "skewed")),
            work=partial(sequence_held, width),
            default=width is None,
        )


def sequence_held(width: float | None, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every interval lies inside the earlier ones: the truth was always in if it is in the last."""
    runs, n = int(setting["runs"]), int(setting["items"])
    held, wide = 0, 0.0
    for _ in range(runs):
        scores = (rng.random(n) < 0.9).astype(float) if setting["law"] == "right or wrong" else rng.beta(0.9, 0.1, n)
        low, high = ConfidenceSequence((0.0, 1.0), ALPHA, width=width).look(scores)
        held, wide = held + (low <= 0.9 <= high), wide + high - low
    yield Point(told(setting), held / runs, share_error(held / runs, runs), wide / runs)
