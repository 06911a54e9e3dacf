"""Claims about what holds after a run stopped early: each end of the interval, and intervals that hold at every item at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from steelyard_old.infer.sequential.after_stopping import StoppedEstimate
from steelyard_old.infer.sequential.confidence_sequence import ConfidenceSequence
from steelyard_old.proof.claims import ALPHA, Band, BandText, Claim, Point, Setting, averaged, counted, declared
from steelyard_old.proof.counting import at_most, count_of
from steelyard_old.proof.errors.stopping import THETA, default_rule, differences, followed, planned
from steelyard_old.proof.trials import told

SEQUENCES: dict[str, float | None] = {"betting sequence": None, "betting sequence for a width": 0.1}  # and the width they are tuned to


def claims() -> Iterator[Claim]:
    yield from _ends()
    yield from _sequences()


def _ends() -> Iterator[Claim]:
    said: dict[str, BandText] = {
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
        partial(ends_held, said),
        quick=(at_most({"items": 1500, "discordance": 0.1, "drop": THETA}, 150),),
        full=tuple({"items": 1500, "discordance": psi, "drop": drop, "runs": 1000} for psi in (0.04, 0.1, 0.2) for drop in (0.0, THETA)),
    )


def ends_held(said: Mapping[str, BandText], kind: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """How often the truth lies above the lower end, and below the upper one."""
    stopped = (
        followed(planned(kind, float(setting["discordance"])), differences(rng, setting)).estimate() for _ in range(int(setting["runs"]))
    )
    return both_ends(stopped, said[kind][1], setting)


def both_ends(stopped: Iterable[StoppedEstimate], band: Band, setting: Setting) -> Iterator[Point]:
    """Estimates after stopping, until there are enough for either end; an end that is not there is that of the range."""
    truth, widths = -float(setting["drop"]), []
    ends = [count_of(band, "coverage", setting) for _ in range(2)]
    for found in stopped:
        low, high = -1.0 if found.low is None else found.low, 1.0 if found.high is None else found.high
        widths.append(high - low)
        for count, held in zip(ends, (low <= truth, truth <= high), strict=True):
            count.add(held)
        if all(count.enough for count in ends):
            break
    for end, count in zip(("lower", "upper"), ends, strict=True):
        yield counted(f"{told(setting)} {end}", count.hits, count.runs, *averaged(widths))


ALWAYS: BandText = ("the interval holds at every item at once", Band(low=0.95))


def _sequences() -> Iterator[Claim]:
    yield from declared(
        "coverage",
        "the mean of bounded scores, at every item at once",
        dict.fromkeys(SEQUENCES, ALWAYS),
        "betting sequence",
        sequence_held,
        quick=(at_most({"law": "right or wrong", "items": 100}, 200),),
        full=tuple({"law": law, "items": 1000, "runs": 1000} for law in ("right or wrong", "skewed")),
    )


def sequence_held(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Every interval lies inside the earlier ones: the truth was always in if it is in the last."""
    n, held, widths = int(setting["items"]), count_of(ALWAYS[1], "coverage", setting), []
    for _ in range(held.of):
        scores = (rng.random(n) < 0.9).astype(float) if setting["law"] == "right or wrong" else rng.beta(0.9, 0.1, n)
        low, high = ConfidenceSequence((0.0, 1.0), ALPHA, width=SEQUENCES[method]).look(scores)
        held.add(low <= 0.9 <= high)
        widths.append(high - low)
        if held.enough:
            break
    yield counted(told(setting), held.hits, held.runs, *averaged(widths))
