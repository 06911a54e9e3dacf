"""Claims about the drift of a series of runs: how often a healthy series alarms, and how soon a fall is found."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.series.change_point import e_process_pooled
from steelyard_old.infer.series.drift import cusum, cusum_run_length, self_starting, share_run_length
from steelyard_old.proof.claims import ALPHA, Band, Claim, Setting
from steelyard_old.proof.trials import Trial
from steelyard_old.questions.history.drift import TAU, drift

FloatArray = npt.NDArray[np.float64]
PAGE = "docs/history.md"
NIGHTS = 100


def claims() -> Iterator[Claim]:
    yield from _chart().claims()
    for items, share in ((250, 0.85), (50, 0.95)):
        yield from _chart_of_shares(items, share).claims()
    yield from _evidence().claims()


def _draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
    """Runs of one level; with a drop the level falls by so many deviations after half of them."""
    values = rng.normal(size=NIGHTS)
    values[NIGHTS // 2 :] -= float(setting.get("drop", 0.0))
    return (values.tolist(),)


def _chart() -> Trial:
    """A chart has no level: it has a mean number of healthy runs between two alarms, which says how many alarm within so many."""
    chosen = inspect.signature(drift).parameters
    k, h = float(chosen["k"].default), float(chosen["h"].default)
    within = 1 - (1 - 1 / cusum_run_length(k, h)) ** (NIGHTS - 2)  # no score for the first two

    def calls(values: list[float]) -> bool:
        return max(cusum(self_starting(values), k)) >= h

    return Trial(
        family=f"a drift chart over {NIGHTS} runs",
        draw=_draw,
        methods={"self-starting cusum": calls},
        said={
            ("self-starting cusum", "size"): (
                "healthy series alarm as often as the mean number of runs between two alarms says",
                Band(low=within - 0.02, high=within + 0.005),
            ),
            ("self-starting cusum", "power"): ("finds a fall of a deviation within fifty runs", Band(low=0.9)),
        },
        settings=({"runs before": NIGHTS // 2}, {"runs before": NIGHTS // 2, "drop": 1.0}),
        default="self-starting cusum",
        page=PAGE,
        runs=(1000, 10_000),
        nominal=within,
    )


def _chart_of_shares(items: int, share: float) -> Trial:
    """Runs that are the share of right items: skewed, and the more so the fewer are wrong."""
    chosen = inspect.signature(drift).parameters
    k, h = float(chosen["k"].default), float(chosen["h"].default)
    within = 1 - (1 - 1 / share_run_length(k, h, items, share)) ** (NIGHTS - 2)

    def runs(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        return ((rng.binomial(items, share, NIGHTS) / items).tolist(),)

    def calls(values: list[float]) -> bool:
        return max(cusum(self_starting(values), k)) >= h

    said = "healthy series alarm as often as the printed number of runs between two alarms says"
    return Trial(
        family=f"a drift chart over {NIGHTS} runs of {items} items, {share:g} right",
        draw=runs,
        methods={"self-starting cusum": calls},
        said={("self-starting cusum", "size"): (said, Band(low=within - 0.035, high=within + 0.01))},
        settings=({"items": items, "share": share},),
        default="self-starting cusum",
        page=PAGE,
        runs=(1000, 10_000),
        nominal=within,
    )


def _evidence() -> Trial:
    def calls(values: list[float]) -> bool:
        return max(e_process_pooled(values, None, TAU)) >= 1 / ALPHA

    return Trial(
        family=f"evidence of drift, looked at after each of {NIGHTS} runs",
        draw=_draw,
        methods={"t-e-process": calls},
        said={
            ("t-e-process", "size"): ("holds alpha over all looks together", Band(high=0.05)),
            ("t-e-process", "power"): ("finds a fall of a deviation in most series", Band(low=0.7)),
        },
        settings=({"runs before": NIGHTS // 2}, {"runs before": NIGHTS // 2, "drop": 1.0}),
        default="t-e-process",
        page=PAGE,
        runs=(100, 1000),
    )
