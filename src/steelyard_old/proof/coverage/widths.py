"""Claims about stopping as soon as an interval of a proportion is narrow enough: what it covers then, summed over all outcomes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard_old.proof.claims import Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.questions.plan.estimate import plan_estimate

FAMILY = "a proportion, stopped at a width"
FULL: tuple[Setting, ...] = tuple(
    {"p": p, "width": width, "batch": batch} for p, width in ((0.95, 0.06), (0.9, 0.1), (0.8, 0.1), (0.5, 0.1)) for batch in (10, 1, 50)
)
SAID: dict[str, BandText] = {
    "bayes": (
        "covers 0.89 where the share is 0.95, the width 0.06 and batches are of 50, 0.905 with batches of 10",
        Band(low=0.88, fails=0.92, mean_low=0.93),
    ),
    "wilson": ("covers 0.945 or more", Band(low=0.94, mean_low=0.945)),
    "clopper-pearson": ("covers 0.95 or more", Band(low=0.945, mean_low=0.955)),
}


def claims() -> Iterator[Claim]:
    yield from declared("coverage", FAMILY, SAID, "bayes", stopped, quick=FULL[:2], full=FULL, page="docs/plan.md")


def stopped(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """What the plan itself says of its interval, which a test checks against simulated labelling."""
    found = plan_estimate(
        metric="accuracy", expected=float(setting["p"]), width=float(setting["width"]), batch=int(setting["batch"]), interval=method
    )
    yield Point(words(setting), found.details.stopped_coverage or 0.0)
