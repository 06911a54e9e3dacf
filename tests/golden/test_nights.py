"""Suites and nights against numbers of a prototype that was written apart from this code. See nights.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from steelyard.infer.nights.bag import bag_of_outcomes, bag_score
from steelyard.infer.nights.detector import moved, shortfall, suite_evidence
from steelyard.infer.paired.mcnemar import mcnemar_midp
from steelyard.infer.suite.closed_testing import SuiteJudgement, TaskEvidence, judge_tasks
from steelyard.infer.suite.pooled import flips_z, scores_z

ENTRIES = {entry["id"]: entry for entry in json.loads((Path(__file__).parent / "nights.json").read_text(encoding="utf-8"))["entries"]}
Inputs = dict[str, Any]


def judged(i: Inputs) -> SuiteJudgement:
    return judge_tasks(
        [
            TaskEvidence(p_value=mcnemar_midp(gained, lost, "less"), z=flips_z(lost, gained), informative=lost + gained > 0)
            for lost, gained in i["flips"]
        ]
    )


def midp(i: Inputs) -> float:
    return mcnemar_midp(i["gained"], i["lost"], "less")


def detectors(v: list[float]) -> npt.NDArray[np.float64]:
    state = np.zeros(4)
    for one in v:
        state = moved(state, one)
    return state


ASKED: dict[str, Callable[[Inputs], Any]] = {
    **dict.fromkeys(("N01", "N02", "N05"), midp),
    **dict.fromkeys(("N07", "N08", "N09"), lambda i: flips_z(i["lost"], i["gained"])),
    **dict.fromkeys(("N10", "N14"), lambda i: judged(i).pooled_p),
    **dict.fromkeys(("N11", "N15"), lambda i: judged(i).p_value),
    **dict.fromkeys(("N12", "N16"), lambda i: list(judged(i).adjusted)),
    **dict.fromkeys(("N13", "N17"), lambda i: judged(i).at_least),
    "N03": lambda i: bag_of_outcomes([1, 0], 1, [1, 0]).p_value,  # no flips: the first night's mid-p; a guard's own p is then 1
    "N26": lambda i: scores_z(i["d"]),
    "N27": lambda i: list(bag_score(i["sums"], i["runs"], i["tonight"])),
    **dict.fromkeys(("N28", "N29"), lambda i: bag_of_outcomes(i["sums"], i["runs"], i["tonight"]).p_value),
    "N31": lambda i: bag_score(i["sums"], i["runs"], i["tonight"])[0],
    "N34": lambda i: list(shortfall(i["z"], i["earlier"])),
    "N36": lambda i: detectors(i["v"]).tolist(),
    "N38": lambda i: suite_evidence(detectors(i["pool_v"]), np.array([detectors(v) for v in i["task_v"]])),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_prototype_gives_the_same(name: str) -> None:
    entry = ENTRIES[name]
    assert ASKED[name](entry["inputs"]) == pytest.approx(entry["value"], rel=0, abs=entry["tolerance"])


def test_every_number_is_asked() -> None:
    assert set(ASKED) == set(ENTRIES)
