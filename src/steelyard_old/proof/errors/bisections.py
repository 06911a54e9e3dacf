"""Claims about the first bad commit: how often a commit that is named is the right one, and how often naming it takes few calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError
from steelyard_old.proof.claims import Band, BandText, Claim, Point, Setting, counted, declared
from steelyard_old.proof.trials import told
from steelyard_old.questions.bisect.search import CHANGED, WHOLE, Answers, SearchOptions, search

FloatArray = npt.NDArray[np.float64]
PAGE = "docs/bisect.md"
ITEMS, USUALLY_RIGHT = 500, 0.8
RIGHT = "the first bad commit, names that are right"
CHEAP = "the first bad commit, named with a tenth of the calls of git bisect"
SAID: dict[str, BandText] = {CHANGED: ("at least nineteen of twenty commits it names are the right ones", Band(low=0.95))}
FEW: dict[str, BandText] = {CHANGED: ("names a commit with a tenth of the calls of git bisect on all items", Band(low=0.9))}
SPREAD: dict[str, BandText] = {
    WHOLE: ("at least nineteen of twenty commits it names are the right ones, where the loss is spread", Band(low=0.95))
}
ONE: Setting = {"commits": 64, "drop": 0.05, "churn": 0.03}
WORLDS: tuple[Setting, ...] = tuple(
    {"commits": commits, "drop": drop, "churn": churn} for commits in (16, 64, 256) for drop in (0.02, 0.05, 0.1) for churn in (0.03, 0.1)
)
CHEAP_WORLDS = tuple(world for world in WORLDS if world["drop"] == 0.05 and world["commits"] != 16)
SPREAD_WORLDS: tuple[Setting, ...] = tuple({"commits": 16, "drop": 0.05, "churn": churn} for churn in (0.03, 0.1))


def claims() -> Iterator[Claim]:
    quick = ({**ONE, "runs": 50},)
    yield from declared("coverage", RIGHT, SAID, CHANGED, partial(shared, RIGHT), quick=quick, full=_of(WORLDS, 30), page=PAGE)
    yield from declared("power", CHEAP, FEW, CHANGED, partial(shared, CHEAP), quick=quick, full=_of(CHEAP_WORLDS, 30), page=PAGE)
    small = ({"commits": 8, "drop": 0.1, "churn": 0.03, "runs": 10},)
    yield from declared(
        "coverage", f"{RIGHT}, spread losses", SPREAD, "", partial(shared, RIGHT), quick=small, full=_of(SPREAD_WORLDS, 15), page=PAGE
    )


def _of(worlds: tuple[Setting, ...], runs: int) -> tuple[Setting, ...]:
    return tuple({**world, "runs": runs} for world in worlds)


def shared(family: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    """Searches as users have them. The share of names that are right (1 without a name), or of searches that named one cheaply."""
    commits, runs = int(setting["commits"]), int(setting["runs"])
    cheap = ITEMS * math.ceil(math.log2(commits)) / 10
    named = right = few = searched = 0
    for _ in range(runs):
        first_bad, chances = _world(rng, commits, float(setting["drop"]), float(setting["churn"]), spread=method == WHOLE)
        ids = [str(item) for item in range(ITEMS)]

        def ask(commit: int, asked: Sequence[str], chances: FloatArray = chances) -> dict[str, float]:
            return {id_: float(rng.random() < chances[commit, int(id_)]) for id_ in asked}

        answers = Answers([f"{commit:040x}" for commit in range(commits)])
        options = SearchOptions(whole_runs="always" if method == WHOLE else "never")
        try:
            found = search(ask(0, ids), ask(commits - 1, ids), answers, ask, options)
        except DataError:
            continue  # by chance the bad end was not worse: nobody would have searched
        searched += 1
        if found.named is not None:
            named += 1
            right += first_bad in found.named
            few += answers.calls <= cheap
    hits, of = (right, named) if family == RIGHT else (few, searched)
    yield counted(told(setting), hits, of) if of else counted(told(setting), runs, runs)


def _world(rng: np.random.Generator, commits: int, drop: float, churn: float, *, spread: bool) -> tuple[int, FloatArray]:
    """The first bad commit, and the chance of every item to be right at every commit. churn: share of items that two runs differ in."""
    leaves = (1 - math.sqrt(1 - 2 * churn)) / 2
    usual = rng.random(ITEMS) < USUALLY_RIGHT
    first_bad = int(rng.integers(1, commits))
    chances = np.tile(np.where(usual, 1 - leaves, leaves), (commits, 1))
    if spread:
        chances[first_bad:, usual] -= drop / USUALLY_RIGHT
    else:
        chances[first_bad:, rng.choice(np.flatnonzero(usual), int(drop * ITEMS), replace=False)] = leaves
    return first_bad, chances
