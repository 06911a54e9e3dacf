"""Claims about suites watched night after night: seasons with a false alarm, and how soon a fall is found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.infer.nights.answers import TaskRun
from steelyard_old.infer.nights.detector import moved, suite_evidence
from steelyard_old.infer.nights.watch import Night, NightlyWatch
from steelyard_old.infer.suite.pooled import flips_z
from steelyard_old.proof.claims import Band, Claim, Setting
from steelyard_old.proof.trials import Trial

FloatArray = npt.NDArray[np.float64]
PAGE = "docs/history.md"
BUDGET = 0.1  # false alarms in a season
SOON = 5  # nights within which a fall must be found


def claims() -> Iterator[Claim]:
    yield from _season().claims()


def _draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
    """Runs of several tasks, (run, task, item): the reference, then the nights; after `change` nights so many points are lost everywhere.

    rare: every item leaves its usual answer with a chance of .015 a night. hot: a tenth of the items is right by chance.
    common: as rare, and a whole run shares noise of one point.
    """
    tasks, n, nights = int(setting["tasks"]), int(setting["items"]), int(setting["nights"])
    reference = int(setting["reference"])
    usual = rng.random((tasks, n)) < 0.8
    runs = reference + nights
    if setting["world"] == "hot":
        chance = np.where(rng.random((tasks, n)) < 0.1, rng.uniform(0.2, 0.8, (tasks, n)), usual)
        answers = rng.random((runs, tasks, n)) < chance
    else:
        answers = np.where(rng.random((runs, tasks, n)) < 0.015, ~usual, usual)
    if setting["world"] == "common":
        shared = 0.01 * rng.normal(size=(runs, 1, 1))
        moved_by = rng.random((runs, tasks, n)) < np.abs(shared)
        answers = np.where(moved_by, shared > 0, answers)
    drop = float(setting.get("drop", 0.0)) / 100
    if drop:
        lost = rng.random((tasks, n)) < drop / 0.8
        answers[reference + int(setting["change"]) :, lost] = False
    return answers.astype(float), reference, int(setting.get("change", 0)), bool(drop)


def _season() -> Trial:
    return Trial(
        family="a season of nights with a budget of a tenth of a false alarm",
        draw=_draw,
        methods={"growing baseline": _watched, "fixed reference": _fixed},
        said={
            ("growing baseline", "size"): ("at most about a tenth of healthy seasons has a false alarm", Band(high=0.1)),
            ("fixed reference", "size"): (
                "adds up the luck of its reference: far more seasons alarm than the budget allows",
                Band(fails=0.2),
            ),
            ("growing baseline", "power"): (f"finds five points lost everywhere within {SOON} nights", Band(low=0.8)),
        },
        settings=(
            {"world": "rare", "tasks": 2, "items": 80, "nights": 50, "reference": 1},
            {"world": "rare", "tasks": 2, "items": 80, "nights": 20, "reference": 5, "change": 15, "drop": 5.0},
        ),
        more=(
            {"world": "hot", "tasks": 3, "items": 80, "nights": 60, "reference": 1},
            {"world": "rare", "tasks": 5, "items": 100, "nights": 120, "reference": 5},
            {"world": "common", "tasks": 3, "items": 80, "nights": 60, "reference": 5},
            {"world": "hot", "tasks": 3, "items": 80, "nights": 20, "reference": 5, "change": 15, "drop": 5.0},
        ),
        default="growing baseline",
        page=PAGE,
        runs=(20, 40),
        nominal=BUDGET,
    )


def _watched(answers: FloatArray, reference: int, change: int, dropped: bool) -> bool:
    """Whether a season alarms; of one with a change, whether it does within a few nights of it and not before."""
    ids = [str(i) for i in range(answers.shape[2])]
    nights = [
        Night(run=str(i), tasks={str(j): TaskRun(ids=ids, values=values) for j, values in enumerate(run)}) for i, run in enumerate(answers)
    ]
    watch = NightlyWatch(nights[:reference], false_alarms=BUDGET, runs_per_year=len(nights) - reference)
    for place, night in enumerate(nights[reference:]):
        if dropped and place >= change + SOON:
            return False
        if watch.judge(night).alarm:
            return not dropped or place >= change
    return False


def _fixed(answers: FloatArray, reference: int, change: int, dropped: bool) -> bool:
    """The same detectors, every night compared with the first run alone."""
    tasks = answers.shape[1]
    line = (len(answers) - reference) / BUDGET
    pool, own = np.zeros(4), np.zeros((tasks, 4))
    for run in answers[reference:]:
        z = [
            flips_z(int(((then == 1) & (now == 0)).sum()), int(((then == 0) & (now == 1)).sum()))
            for then, now in zip(answers[0], run, strict=True)
        ]
        pool = moved(pool, math.fsum(z) / math.sqrt(tasks))
        own = np.array([moved(state, one) for state, one in zip(own, z, strict=True)])
        if suite_evidence(pool, own) >= line:
            return True
    return False
