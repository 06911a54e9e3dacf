"""Claims about stopping after batches of any size: false alarms and misses of right or wrong, after every item as after every 64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard_old.infer.sequential.after_stopping import StoppedEstimate
from steelyard_old.infer.sequential.sequential_cost import expected_items
from steelyard_old.infer.sequential.stopping import rule_for
from steelyard_old.proof.claims import Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.counting import at_most
from steelyard_old.proof.errors.stopping import default_rule, differences
from steelyard_old.proof.errors.stopping_ends import both_ends

FAMILY = "stopping early, looked at after every so many items"
SIZES: dict[str, BandText] = {
    "profile-mcnemar": ("at most alpha, exactly, after batches of any size", Band(high=0.05)),
    "mcnemar": ("at most alpha, exactly, after batches of any size", Band(high=0.05)),
}
POWERS: dict[str, BandText] = {
    "profile-mcnemar": ("a drop of theta passes in beta of the runs at most, after batches of any size", Band(low=0.8)),
    "mcnemar": ("a drop of theta passes in more than beta of the runs where it is looked at after every item", Band(fails=0.75)),
}
ENDS: BandText = ("each end misses the truth in 6% of the runs at most, after batches of any size", Band(low=0.94))
THETAS, CHURNS, BATCHES = (0.02, 0.05, 0.1), (0.02, 0.05, 0.1, 0.2), (1, 7, 32, 64)
COURSES = {0.02: 1200, 0.05: 600, 0.1: 300, 0.2: 150}  # by discordance: the more disagree, the less the courses differ
LARGE = 0.2  # a drop that few items show
QUICK = ((0.1, 0.02, 1), (0.1, 0.1, 7), (0.1, 0.05, 32), (0.1, 0.2, 64))


def claims() -> Iterator[Claim]:
    for kind, said in (("size", SIZES), ("power", POWERS)):
        every = [(theta, churn, batch) for theta in THETAS for churn in CHURNS for batch in BATCHES]
        yield from declared(
            kind,
            FAMILY,
            said,
            default_rule(True),
            along_courses,
            quick=tuple(_setting(kind, *one, 150) for one in QUICK),
            full=tuple(_setting(kind, *one, COURSES[one[1]]) for one in every),
        )
        yield from declared(
            kind,
            "stopping early, a drop of 20 points, looked at after every so many items",
            {"profile-mcnemar": said["profile-mcnemar"]},
            default_rule(True),
            along_courses,
            quick=(_setting(kind, LARGE, 0.1, 7, 150),),
            full=tuple(_setting(kind, LARGE, churn, batch, COURSES[churn]) for churn in CHURNS for batch in BATCHES),
        )
    base = {"theta": 0.1, "items": 1500}
    yield from declared(
        "coverage",
        "each end of the interval after stopping early, looked at after every so many items",
        {"profile-mcnemar": ENDS},
        default_rule(True),
        ends_held,
        quick=(at_most({**base, "discordance": 0.1, "drop": 0.1, "batch": 1}, 100),),
        full=tuple(
            {**base, "discordance": churn, "drop": drop, "batch": batch, "runs": 600}
            for churn in (0.02, 0.1)
            for drop in (0.0, 0.1)
            for batch in (1, 7, 64)
        ),
    )


def _setting(kind: str, theta: float, churn: float, batch: int, courses: int) -> Setting:
    return {"theta": theta, "discordance": churn, "drop": 0.0 if kind == "size" else theta, "batch": batch, "courses": courses}


def along_courses(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Courses of disagreements are drawn; the law of the losses along each is exact."""
    theta, churn, drop = (float(setting[name]) for name in ("theta", "discordance", "drop"))
    seed = int(rng.integers(2**32))
    courses, batch = int(setting["courses"]), int(setting["batch"])
    found = expected_items(theta, churn, drop, rule=method, batch=batch, paths=courses, seed=seed, every_look=True)
    where = words({key: value for key, value in setting.items() if key != "courses"})
    yield Point(where, found.regression, max(found.regression_error, 1e-6))


def ends_held(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """How often the truth lies above the lower end, and below the upper one."""
    return both_ends((_stopped(method, setting, rng) for _ in range(int(setting["runs"]))), ENDS[1], setting)


def _stopped(method: str, setting: Setting, rng: np.random.Generator) -> StoppedEstimate:
    batch, values, n = int(setting["batch"]), differences(rng, setting), 0
    rule = rule_for(method, right_or_wrong=True, theta=float(setting["theta"]), step=batch)
    while rule.decision == "continue":
        n = min(n + batch, len(values))
        rule.look(values[:n], last=n == len(values))
    return rule.estimate()
