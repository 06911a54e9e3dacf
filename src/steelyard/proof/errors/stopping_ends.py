"""Claims about what holds after a run stopped early: each end of the interval, and intervals that hold at every item at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.infer.sequential.confidence_sequence import ConfidenceSequence
from steelyard.proof.claims import ALPHA, Band, Claim, Point, Said, Setting, averaged, counted, declared
from steelyard.proof.errors.stopping import THETA, default_rule, differences, followed, planned
from steelyard.proof.trials import told

SEQUENCES: dict[str, float | None] = {"betting sequence": None, "betting sequence for a width": 0.1}  # and the width they are tuned to


def claims() -> Iterator[Claim]:
    yield from _ends()
    yield from _sequences()


def _ends() -> Iterator[Claim]:
    said: dict[str, Said] = {
        "profile-mcnemar": ("each end misses the truth in 6% of the runs at most", Band(low=0.94)),
        "empirical-likelihood": ("each end misses the truth in 5% of the runs at most", Band(low=0.95)),
        "mcnemar": ("each end misses the truth in 6% of the runs at most", Band(low=0.94)),
        "lan-demets": ("each end misses the truth in 7% of the runs at most", Band(low=0.91)),
        "e-process": ("holds whenever one stops", Band(low=0.95)),
        "e-mcnemar": ("holds whenever one stops, but for Wilson's interval of the discordance", Band(low=0.94)),
        "sprt": ("each end misses the truth in 5.5% of the runs at most", Band(low=0.94)),
    }
    yield from declared(
        "coverage",
        "each end of the interval after stopping early, right or wrong",
        said,
        default_rule(True),
        ends_held,
        quick=({"items": 1500, "discordance": 0.1, "drop": THETA, "runs": 100},),
        full=tuple({"items": 1500, "discordance": psi, "drop": drop, "runs": 1000} for psi in (0.04, 0.1, 0.2) for drop in (0.0, THETA)),
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
        yield counted(f"{told(setting)} {end}", int(held.sum()), runs, *averaged(high - low))


def _sequences() -> Iterator[Claim]:
    yield from declared(
        "coverage",
        "the mean of bounded scores, at every item at once",
        {method: ("the interval holds at every item at once", Band(low=0.95)) for method in SEQUENCES},
        "betting sequence",
        sequence_held,
        quick=({"law": "right or wrong", "items": 100, "runs": 100},),
        full=tuple({"law": law, "items": 1000, "runs": 1000} for law in ("right or wrong", "skewed")),
    )


def sequence_held(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every interval lies inside the earlier ones: the truth was always in if it is in the last."""
    runs, n = int(setting["runs"]), int(setting["items"])
    held, widths = 0, []
    for _ in range(runs):
        scores = (rng.random(n) < 0.9).astype(float) if setting["law"] == "right or wrong" else rng.beta(0.9, 0.1, n)
        low, high = ConfidenceSequence((0.0, 1.0), ALPHA, width=SEQUENCES[method]).look(scores)
        held += low <= 0.9 <= high
        widths.append(high - low)
    yield counted(told(setting), held, runs, *averaged(widths))
