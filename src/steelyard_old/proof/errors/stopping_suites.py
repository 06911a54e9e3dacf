"""Claims about suites that stop as soon as they are decided: healthy ones that alarm, a drop in one task, and a drop in all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard_old.infer.sequential.stopping import rule_for
from steelyard_old.infer.sequential.suite_stopping import SuiteStopping, SuiteTask, task_alpha
from steelyard_old.proof.claims import ALPHA, Band, Claim, Point, Setting, counted, declared
from steelyard_old.proof.trials import told

FAMILY = "a suite of ten tasks that stops early"
METHOD = "suspicious first, half pooled"
BATCH = 32


def claims() -> Iterator[Claim]:
    base: Setting = {"tasks": 10, "items": 4000, "theta": 0.02, "discordance": 0.05}
    small: Setting = {"tasks": 10, "items": 1000, "theta": 0.1, "discordance": 0.05}
    drops = ({"broken": 1, "drop": 1}, {"broken": 1, "drop": 3}, {"broken": 10, "drop": 1})  # tasks that dropped, by so many theta
    other = {**base, "discordance": 0.1, "theta": 0.05}
    for kind, said, quick, full in (
        (
            "size",
            ("a healthy suite alarms in alpha of the nights at most", Band(high=ALPHA)),
            [{**small, "broken": 0, "drop": 0}],
            [{**one, "broken": 0, "drop": 0} for one in (base, other)],
        ),
        (
            "power",
            (
                "a drop of theta in one task of ten is found with the power it is planned for, one in all of them nearly always",
                Band(low=0.78),
            ),
            [{**small, **drops[0]}],
            [{**one, **drop} for one in (base, other) for drop in drops],
        ),
    ):
        yield from declared(
            kind,
            FAMILY,
            {METHOD: said},
            METHOD,
            alarms,
            quick=tuple({**one, "runs": 40} for one in quick),
            full=tuple({**one, "runs": 300} for one in full),
        )


def alarms(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of suites that end in a regression."""
    del method
    runs = int(setting["runs"])
    yield counted(told(setting), sum(night(rng, setting)[0] == "regression" for _ in range(runs)), runs)


def night(rng: np.random.Generator, setting: Setting) -> tuple[str, int]:
    """One suite, asked as its rule says: how it ends, and how many calls that took."""
    tasks, items, theta = int(setting["tasks"]), int(setting["items"]), float(setting["theta"])
    half, broken = float(setting["discordance"]) / 2, int(setting["broken"])
    u = rng.random((tasks, items))
    drop = theta * float(setting["drop"]) * (np.arange(tasks) < broken)
    x = (u > 1 - half).astype(float) - (u < half + drop[:, None])
    level = task_alpha(ALPHA, tasks)
    suite = SuiteStopping([SuiteTask(rule=rule_for(right_or_wrong=True, theta=theta, alpha=level), theta=theta) for _ in range(tasks)])
    asked = np.zeros(tasks, int)
    while (place := suite.next) is not None:
        asked[place] = min(asked[place] + BATCH, items)
        suite.look(place, x[place, : asked[place]], last=asked[place] == items)
    return suite.decision, int(asked.sum())
