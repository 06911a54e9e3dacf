"""Claims about several candidates against one baseline that is asked once: any healthy one that alarms, and a drop in one of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard_old.infer.sequential.candidates import candidate_alpha, simulated_candidates
from steelyard_old.proof.claims import ALPHA, Band, Claim, Point, Setting, counted, declared
from steelyard_old.proof.trials import told

FAMILY = "several candidates against one baseline, stopping early"
METHOD = "each at its share of alpha"


def claims() -> Iterator[Claim]:
    base: Setting = {"candidates": 5, "items": 6000, "theta": 0.02, "discordance": 0.05}
    small: Setting = {"candidates": 5, "items": 1000, "theta": 0.1, "discordance": 0.1}
    others = ({**base, "candidates": 10}, {**base, "discordance": 0.1, "theta": 0.05, "items": 2000})
    for kind, said, broken in (
        ("size", ("any of the candidates is called worse in alpha at most, though all share one baseline", Band(high=ALPHA)), 0),
        ("power", ("a candidate that lost theta is found with the power it is planned for", Band(low=0.78)), 1),
    ):
        yield from declared(
            kind,
            FAMILY,
            {METHOD: said},
            METHOD,
            alarms,
            quick=({**small, "broken": broken, "runs": 100},),
            full=tuple({**one, "broken": broken, "runs": 1000} for one in (base, *others)),
        )


def alarms(method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """The share of runs in which a candidate is called worse: any of them where all are healthy, the first where it lost theta."""
    del method
    runs, broken = int(setting["runs"]), bool(setting["broken"])
    ends = [run_of(rng, setting)[0] for _ in range(runs)]
    yield counted(told(setting), sum(each[0] == "regression" if broken else "regression" in each for each in ends), runs)


def run_of(rng: np.random.Generator, setting: Setting) -> tuple[list[str], list[int]]:
    """One run: how every candidate ends, and how many items it was asked."""
    many = int(setting["candidates"])
    return simulated_candidates(
        rng,
        candidates=many,
        items=int(setting["items"]),
        theta=float(setting["theta"]),
        discordance=float(setting["discordance"]),
        alpha=candidate_alpha(ALPHA, many),
        broken=bool(setting["broken"]),
    )
