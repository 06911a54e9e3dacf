"""Claims about groups of unequal size: intervals, differences, margins and guards, and nothing said where groups are worth too few."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.estimate.evidence import Evidence
from steelyard_old.estimate.paired_scores import compare_scores
from steelyard_old.estimate.ranking_rows import ranking_row
from steelyard_old.items import Items, Labels
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.compare import CompareOptions, settle_comparison
from steelyard_old.options.measure import MeasureOptions, settle
from steelyard_old.proof.claims import ALPHA, LEVEL, PAGE, TWO_PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.coverage import grouped
from steelyard_old.proof.coverage.tables import LAWS, truth
from steelyard_old.proof.errors.guards import PAGE as GUARD_PAGE
from steelyard_old.proof.errors.guards import verdict
from steelyard_old.proof.simulation import DRAWS, Study, at_most_of, default_of, runs_of, simulated
from steelyard_old.proof.trials import Trial, significant
from steelyard_old.results.base import Warnings
from steelyard_old.results.measurement import Interval
from steelyard_old.tally.pairs import Pairs
from steelyard_old.tally.sample import Sample

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def _zipf(groups: int, items: int) -> IntArray:
    share = 1 / np.arange(1, groups + 1)
    found: IntArray = np.maximum(1, np.round(share / share.sum() * items)).astype(np.int64)
    return found


def _largest(share: float) -> IntArray:
    """40 groups of 300 items, one of which has this share of them."""
    first = round(300 * share)
    return np.array([first] + [round((300 - first) / 39)] * 39)


SIZES: dict[str, IntArray] = {
    "20 of 5": np.full(20, 5),
    "30 of 10": np.full(30, 10),
    "25 by Zipf": _zipf(25, 300),
    "200 by Zipf": _zipf(200, 1000),
    "largest 20%": _largest(0.2),
    "largest 30%": _largest(0.3),
    "largest 40%": _largest(0.4),
    "4 of 60, 30 of 2": np.array([60] * 4 + [2] * 30),
    "1 of 200, 30 of 2": np.array([200] + [2] * 30),
}
GIANT = "1 of 200, 30 of 2"


def claims() -> Iterator[Claim]:
    for study, laws, said, page in (
        (_shares(), SHARES, OF_SHARES, PAGE),
        (_tables(), TABLES, OF_TABLES, PAGE),
        (_ranks(), RANKS, OF_RANKS, PAGE),
        (_differences(), DIFFERENCES, OF_DIFFERENCES, TWO_PAGE),
    ):
        default = default_of(study, laws[0], said)
        yield from simulated(study, said, default, quick=at_most_of(laws[:1], 200), full=runs_of(laws, 4000), page=page)
    for trial in (_margins(), _tests(), _guards(), _silence()):
        yield from trial.claims()


def _at(*laws: tuple[Any, ...], names: tuple[str, ...] = ("sizes", "likeness", "p")) -> tuple[Setting, ...]:
    return tuple(dict(zip(names, law, strict=True)) for law in laws)


# ---- a proportion ----------------------------------------------------------------------------------------------------------------

SHARES = _at(
    ("30 of 10", 0.3, 0.98),
    ("25 by Zipf", 0.6, 0.9),
    ("largest 30%", 0.3, 0.9),
    ("20 of 5", 0.6, 0.9),
    ("30 of 10", 0.6, 0.95),
    ("30 of 10", 0.1, 0.98),
    ("25 by Zipf", 0.3, 0.5),
    ("25 by Zipf", 0.1, 0.98),
    ("200 by Zipf", 0.6, 0.95),
    ("largest 20%", 0.3, 0.8),
    ("largest 30%", 0.6, 0.98),
    ("largest 40%", 0.6, 0.9),
    ("4 of 60, 30 of 2", 0.6, 0.8),
)
OF_SHARES: dict[str, BandText] = {
    "wilson": ("covers what it promises, whatever the sizes of the groups", Band(low=0.945, mean_low=0.95)),
    "delta": ("covers far less where most answers are right", Band(low=0.6, fails=0.9)),
}


def _shares() -> Study:
    return Study(family="a proportion of unequal groups", draw=shares, truth=lambda s: float(s["p"]), interval=grouped.of_shares, slow={})


def shares(setting: Setting, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """(right, items) of groups of these sizes, whose own shares follow a Beta law with this correlation of two of its items."""
    items, likeness, p = SIZES[str(setting["sizes"])], float(setting["likeness"]), float(setting["p"])
    own = rng.beta(p * (1 - likeness) / likeness, (1 - p) * (1 - likeness) / likeness, len(items))
    return rng.binomial(items, own).astype(float), items.astype(float)


# ---- macro F1, AUC ---------------------------------------------------------------------------------------------------------------

TABLES = tuple({"sizes": sizes, "table": "three classes"} for sizes in ("largest 30%", "25 by Zipf", "30 of 10", "largest 40%"))
OF_TABLES: dict[str, BandText] = {
    "delta": ("covers what it promises, more where a group is large", Band(low=0.925)),
    "percentile": ("covers less where a group holds a third of the items", Band(low=0.75, fails=0.92)),
}


def _tables() -> Study:
    return Study(
        family="macro F1 of unequal groups",
        draw=tables,
        truth=lambda s: truth("macro_f1", s),
        interval=grouped.of_tables,
        slow={"percentile": 4},
    )


def tables(setting: Setting, rng: np.random.Generator) -> IntArray:
    """truth x prediction of groups of these sizes; half of the items of a group repeat the cell of its first."""
    cells = np.array(LAWS[str(setting["table"])], float)
    items = SIZES[str(setting["sizes"])]
    unit = np.repeat(np.arange(len(items)), items)
    kind = rng.choice(cells.size, size=len(unit), p=(cells / cells.sum()).ravel())
    first = kind[np.cumsum(items) - items]
    kind = np.where(rng.random(len(unit)) < 0.5, first[unit], kind)
    found = np.bincount(unit * cells.size + kind, minlength=len(items) * cells.size)
    return found.reshape(len(items), *cells.shape).astype(np.int64)


RANKS = _at(
    ("largest 30%", 0.3),
    ("25 by Zipf", 0.3),
    ("30 of 10", 0.3),
    ("25 by Zipf", 0.6),
    ("largest 40%", 0.6),
    names=("sizes", "likeness"),
)
OF_RANKS: dict[str, BandText] = {"delong": ("covers what it promises, more where a group is large", Band(low=0.93, mean_low=0.945))}
AREA = 0.8413447460685429  # of two normal laws that lie sqrt(2) apart: P(Z < 1)


def _ranks() -> Study:
    return Study(family="AUC of unequal groups", draw=ranks, truth=lambda s: AREA, interval=of_ranks, slow={})


def ranks(setting: Setting, rng: np.random.Generator) -> tuple[Items, IntArray]:
    """Scores of positives and negatives (one in three positive), normal, with an effect of their group on all scores of one class."""
    items, likeness = SIZES[str(setting["sizes"])], float(setting["likeness"])
    unit = np.repeat(np.arange(len(items)), items)
    positive = rng.random(len(unit)) < 1 / 3
    shift = rng.normal(size=(len(items), 2)) * likeness**0.5
    score = 2**0.5 * positive + shift[unit, positive.astype(int)] + rng.normal(size=len(unit)) * (1 - likeness) ** 0.5
    names = tuple(map(str, range(len(items))))
    return Items(n=len(unit), truth=Labels(positive.astype(np.int64), ("0", "1")), probability=score, group=Labels(unit, names)), unit


def of_ranks(method: str, sample: tuple[Items, IntArray], seed: int) -> Interval | None:
    settings = MeasureOptions(interval=method or None, seed=seed)
    return ranking_row(parse("auc"), Sample(sample[0], settings, Warnings()), settings, Warnings()).interval


# ---- two systems on the same items -----------------------------------------------------------------------------------------------

LOST_GAINED = ("sizes", "together", "lost", "gained")
DIFFERENCES = _at(
    ("largest 30%", 0.3, 0.1, 0.1),
    ("25 by Zipf", 0.7, 0.3, 0.1),
    ("30 of 10", 0.3, 0.1, 0.1),
    ("25 by Zipf", 0.3, 0.1, 0.1),
    ("largest 20%", 0.7, 0.1, 0.1),
    ("largest 40%", 0.3, 0.1, 0.02),
    ("4 of 60, 30 of 2", 0.7, 0.3, 0.1),
    names=LOST_GAINED,
)
OF_DIFFERENCES: dict[str, BandText] = {
    "t": ("covers what it promises, more where a group is large", Band(low=0.93, mean_low=0.95)),
    "percentile": ("covers less where a group is large, far less where a few are", Band(low=0.5, fails=0.92)),
}


def _differences() -> Study:
    return Study(
        family="a paired difference of unequal groups",
        draw=lambda setting, rng: pair(rng, setting),
        truth=lambda s: float(s["gained"]) - float(s["lost"]),
        interval=lambda method, sample, seed: compared(*sample, interval=method or None).interval,
        slow={"percentile": 6},
    )


def pair(rng: np.random.Generator, setting: Setting) -> tuple[FloatArray, FloatArray, IntArray]:
    """Right or wrong of two systems, and the groups. An item changes with its group in `together` of cases, else by itself."""
    items = SIZES[str(setting["sizes"])]
    lost, gained = float(setting["lost"]), float(setting["gained"])
    unit = np.repeat(np.arange(len(items)), items)
    with_group = rng.random(len(unit)) < float(setting["together"])
    change = np.where(with_group, rng.random(len(items))[unit], rng.random(len(unit)))
    before = np.where(change < lost, 1.0, np.where(change > 1 - gained, 0.0, rng.random(len(unit)) < 0.8))
    after = np.where(change < lost, 0.0, np.where(change > 1 - gained, 1.0, before))
    return before, after, unit


def pairs_of(unit: IntArray) -> Pairs:
    """The items of the two systems, in the order they have."""
    group = Labels(unit, tuple(map(str, range(int(unit.max()) + 1))))
    side, item = Items(n=len(unit), group=group), np.arange(len(unit))
    return Pairs(baseline=side, candidate=side, baseline_item=item, candidate_item=item, items=len(unit), names=())


def asked_for(*, interval: str | None = None, test: str | None = None, margin: float | None = None) -> CompareOptions:
    own = settle(confidence_level=LEVEL, draws=DRAWS, seed=0)
    kept: dict[str, Any] = {"alternative": "two-sided", "design": None, "unmatched": "error", "correction": "holm"}
    return settle_comparison(own, interval=interval, test=test, margin=margin, **kept)


def compared(before: FloatArray, after: FloatArray, unit: IntArray, **asked: Any) -> Evidence:
    return compare_scores((before, after), pairs_of(unit), parse("accuracy"), asked_for(**asked), Warnings(), bounds=(0.0, 1.0))


def _margins() -> Trial:
    """A candidate that is worse by the margin exactly: how often it is shown not to be."""

    def shown(before: FloatArray, after: FloatArray, unit: IntArray) -> bool:
        found = compared(before, after, unit, margin=0.1).equivalence
        return found is not None and bool(found.p_lower <= ALPHA)

    where = [("largest 30%", 0.3), ("25 by Zipf", 0.3), (GIANT, 0.3), ("30 of 10", 0.3), ("largest 20%", 0.7), ("largest 40%", 0.3)]
    settings = _at(*((*each, 0.2, 0.1) for each in where), names=LOST_GAINED)
    said: dict[tuple[str, str], BandText] = {
        ("t", "size"): ("at most 5%; nothing is shown where groups are worth too few", Band(high=0.065))
    }
    return Trial(
        family="a margin by unequal groups",
        draw=pair,
        methods={"t": shown},
        said=said,
        settings=settings[:1],
        more=settings[1:],
        default="t",
        page=TWO_PAGE,
        runs=(200, 4000),
    )


def _tests() -> Trial:
    """Two systems of which neither is better: whole groups of any sizes."""

    def call(name: str, before: FloatArray, after: FloatArray, unit: IntArray) -> bool:
        return significant(compared(before, after, unit, test=name).test.p_value)

    names = ("sign-flip", "paired-t")
    settings = _at(
        ("largest 30%", 0.3, 0.1, 0.1),
        (GIANT, 0.3, 0.1, 0.1),
        ("25 by Zipf", 0.7, 0.1, 0.1),
        ("30 of 10", 0.3, 0.1, 0.1),
        ("4 of 60, 30 of 2", 0.7, 0.1, 0.1),
        names=LOST_GAINED,
    )
    said: dict[tuple[str, str], BandText] = {
        (name, "size"): ("at most 5% where a difference could as well have the other sign", Band(high=0.055)) for name in names
    }
    return Trial(
        family="right or wrong in unequal groups",
        draw=pair,
        methods={name: partial(call, name) for name in names},
        said=said,
        settings=settings[:1],
        more=settings[1:],
        default="sign-flip",
        page=TWO_PAGE,
        runs=(200, 4000),
    )


def _run(scores: FloatArray, unit: IntArray) -> Items:
    names = tuple(f"g{i}" for i in range(int(unit.max()) + 1))
    ids = Labels(np.arange(len(scores)), tuple(f"q{i}" for i in range(len(scores))))
    return Items(n=len(scores), id=ids, score=scores, group=Labels(unit, names))


def _guards() -> Trial:
    """A healthy run, without a margin; and one that is worse by the margin exactly."""

    def red(before: FloatArray, after: FloatArray, unit: IntArray, margin: float) -> bool:
        return verdict(_run(before, unit), _run(after, unit), "accuracy", draws=499, margin=margin) == "regression"

    def draw(rng: np.random.Generator, setting: Setting) -> tuple[Any, ...]:
        return (*pair(rng, setting), round(float(setting["lost"]) - float(setting["gained"]), 9))

    settings = _at(
        ("largest 30%", 0.3, 0.1, 0.1),
        ("25 by Zipf", 0.3, 0.2, 0.1),
        (GIANT, 0.3, 0.1, 0.1),
        ("25 by Zipf", 0.3, 0.1, 0.1),
        ("30 of 10", 0.3, 0.1, 0.1),
        ("largest 30%", 0.3, 0.2, 0.1),
        names=LOST_GAINED,
    )
    sentence = "a healthy run is called worse in at most 5% of cases, and so is one that lost the margin"
    said: dict[tuple[str, str], BandText] = {("guard by group", "size"): (sentence, Band(high=0.06))}
    return Trial(
        family="a guard by unequal groups",
        draw=draw,
        methods={"guard by group": red},
        said=said,
        settings=settings[:2],
        more=settings[2:],
        default="guard by group",
        page=GUARD_PAGE,
        runs=(200, 2000),
    )


def _silence() -> Trial:
    """Groups that are worth fewer than four: how often anything is claimed all the same."""

    def spoken(what: str, before: FloatArray, after: FloatArray, unit: IntArray) -> bool:
        if what == "accuracy":
            right = np.bincount(unit, weights=after).astype(float)
            return grouped.of_shares("", (right, np.bincount(unit).astype(float)), 0) is not None
        if what == "difference":
            return compared(before, after, unit).interval is not None
        return verdict(_run(before, unit), _run(after, unit), "accuracy", draws=199) != "inconclusive"

    names = ("accuracy", "difference", "guard")
    said: dict[tuple[str, str], BandText] = {
        (name, "size"): ("says nothing where groups are worth fewer than four", Band(high=0.0)) for name in names
    }
    return Trial(
        family="an answer from groups that are worth too few",
        draw=pair,
        methods={name: partial(spoken, name) for name in names},
        said=said,
        settings=_at((GIANT, 0.3, 0.2, 0.1), names=LOST_GAINED),
        default="none",
        page=PAGE,
        runs=(40, 100),
        nominal=0.0,
    )
