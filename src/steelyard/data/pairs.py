"""Two runs side by side: their items meet by id, in the order of the ids, whatever the order of the files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import IntArray
from steelyard.base.problem import SteelyardError
from steelyard.base.words import many, several
from steelyard.data.design import Design, weights, without_gaps
from steelyard.data.items import Items
from steelyard.data.labels import Labels


@dataclass(frozen=True, eq=False)
class Pair:
    """Rows of two runs, each with the place of its item. design: of the items, which both runs share. notes: what was done."""

    one: Items
    two: Items
    places: tuple[IntArray, IntArray]
    items: int
    design: Design
    ids: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def plain(self) -> bool:
        """Whether each run has one answer for each item."""
        return self.one.n == self.items == self.two.n

    @property
    def count(self) -> IntArray | None:
        """How often each row occurs, of tables that were counted before."""
        return self.one.count


def meet(one: Items, two: Items, unmatched: str = "error") -> Pair:
    """The items of both runs. unmatched: error refuses items of one run alone, drop leaves them out.

    >>> a, b = (Items.of(id=ids, score=[1, 0]) for ids in (["x", "y"], ["y", "x"]))
    >>> meet(a, b).two.numbers("score").tolist()
    [0.0, 1.0]
    """
    if ("id" in one) != ("id" in two):
        raise SteelyardError("Only one of the runs has ids.", hint="name the id column with id=, or compare with design=unpaired")
    notes: list[str] = []
    if "id" not in one:
        if one.n != two.n:
            raise SteelyardError(
                f"Cannot pair {one.n:,} with {two.n:,} rows without ids.",
                hint="name the id column with id=, or compare with design=unpaired",
            )
        rows = np.arange(one.n)
        pair = Pair(one, two, (rows, rows), one.n, Design(), (), notes)
    else:
        pair = _by_id(one, two, unmatched, notes)
    refuse_other_truths(pair)
    return _counted(Pair(pair.one, pair.two, pair.places, pair.items, _agreed_design(pair), pair.ids, notes))


def _counted(pair: Pair) -> Pair:
    """Weights that are whole numbers say how often an item occurred, as they do for one run."""
    weight, design = pair.design.weight, pair.design
    if weight is None or design.group is not None or design.stratum is not None or not pair.plain:
        return pair
    if (np.floor(weight) != weight).any() or weight.sum() > 2**53:
        return pair
    kept = weight > 0
    runs = [replace(run.take(kept), count=weight[kept].astype(np.int64)) for run in (pair.one, pair.two)]
    rows = np.arange(int(kept.sum()))
    ids = tuple(name for name, keep in zip(pair.ids, kept, strict=True) if keep) if pair.ids else ()
    return Pair(runs[0], runs[1], (rows, rows), len(rows), Design(), ids, pair.notes)


def _by_id(one: Items, two: Items, unmatched: str, notes: list[str]) -> Pair:
    ids = [run.labels("id") for run in (one, two)]
    ours = ids[0].present()
    if ids[0].names == ids[1].names == ours == ids[1].present():  # as in most comparisons: nothing has to be looked up by its text
        return _aligned((one, two), (ids[0].codes, ids[1].codes), ours, notes)
    theirs = set(ids[1].present())
    common = ours if len(ours) == len(theirs) and theirs.issuperset(ours) else tuple(name for name in ours if name in theirs)
    if not common:
        raise SteelyardError(f"The runs have no id in common: {ours[0]!r} and {ids[1].present()[0]!r}.", hint="is it the right id column?")
    alone = (
        [[name for name in labels.present() if name not in set(common)] for labels in ids]
        if len(common) < max(len(ours), len(theirs))
        else [[], []]
    )
    if any(alone):
        said = " and ".join(
            f"{many(len(names), 'item')} only in the {which} ({several(names, 3)})"
            for which, names in zip(("baseline", "candidate"), alone, strict=True)
            if names
        )
        if unmatched != "drop":
            raise SteelyardError(f"The runs do not have the same items: {said}.", hint="unmatched=drop leaves them out")
        notes.append(f"{said} left out (unmatched=drop)")
    return _aligned((one, two), tuple(labels.among(common, -1) for labels in ids), common, notes)  # type: ignore[arg-type]


def _aligned(sides: tuple[Items, Items], codes: tuple[IntArray, IntArray], common: tuple[str, ...], notes: list[str]) -> Pair:
    runs, places = [], []
    for run, place in zip(sides, codes, strict=True):
        rows = np.arange(run.n) if place.dtype.kind == "u" else np.flatnonzero(place >= 0)
        steps = np.diff(place[rows].astype(np.int64))
        if not (steps >= 0).all():
            rows = rows[np.argsort(place[rows], kind="stable")]
            steps = np.diff(place[rows].astype(np.int64))
        runs.append(run if len(rows) == run.n and (rows[:-1] < rows[1:]).all() else run.take(rows))
        places.append(place[rows].astype(np.int64))
        if "repeat" not in run and (steps == 0).any():
            twice = common[int(places[-1][:-1][steps == 0][0])]
            raise SteelyardError(f"The id {twice!r} occurs more than once.", hint="name the column of repeats with repeat=")
    return Pair(runs[0], runs[1], (places[0], places[1]), len(common), Design(), common, notes)


def _agreed_design(pair: Pair) -> Design:
    group, stratum = (_agreed(role, pair) for role in ("group", "stratum"))
    weight = None
    for run, place in zip((pair.one, pair.two), pair.places, strict=True):
        own = weights(run)
        if own is None:
            continue
        of_items = np.full(pair.items, np.nan)
        of_items[place] = own
        if (np.abs(of_items[place] - own) > 1e-9 * own).any() or (weight is not None and (np.abs(weight - of_items) > 1e-9 * weight).any()):
            raise SteelyardError("Some items have two weights.", hint="an item weighs the same in both runs and in all its repeats")
        weight = of_items if weight is None else weight
    if weight is not None and np.isnan(weight).any():
        raise SteelyardError("Some items have no weight.")
    return Design(None, group, weight, stratum)


def _agreed(role: str, pair: Pair) -> IntArray | None:
    sides = [(run.labels(role), place) for run, place in zip((pair.one, pair.two), pair.places, strict=True) if role in run]
    if not sides:
        return None
    names = tuple(dict.fromkeys(name for labels, _ in sides for name in labels.names))
    codes = np.full(pair.items, -1, np.int64)
    for labels, place in sides:
        own = labels.among(names, -1)
        differ = (codes[place] >= 0) & (own >= 0) & (codes[place] != own)
        if differ.any():
            raise SteelyardError(
                f"The runs differ in the {role} of {many(int(differ.sum()), 'item')}, such as {_name(pair, place, differ)}."
            )
        codes[place] = np.where(own >= 0, own, codes[place])
    if (codes < 0).any():
        raise SteelyardError(f"{many(int((codes < 0).sum()), 'item')} without a {role}.", hint=f"{role}=none ignores the column")
    return without_gaps(codes)


def refuse_other_truths(pair: Pair) -> None:
    """An item has one right answer, in both runs and in all its repeats."""
    if "truth" not in pair.one or "truth" not in pair.two or pair.one.columns["truth"] is pair.two.columns["truth"]:
        return
    one, two = (run.columns["truth"] for run in (pair.one, pair.two))
    numbers = all(not isinstance(column, Labels) and np.asarray(column).dtype.kind == "f" for column in (one, two))
    if numbers:
        codes = [run.numbers("truth") for run in (pair.one, pair.two)]
    else:
        first_truth, other = (run.labels("truth") for run in (pair.one, pair.two))
        names = first_truth.names
        if pair.plain and names == other.names and np.array_equal(first_truth.codes, other.codes):
            return
        codes = [pair.one.labels("truth").among(names, -2).astype(float), pair.two.labels("truth").among(names, -3).astype(float)]
    first = np.full(pair.items, np.nan)
    for own, place in zip(codes, pair.places, strict=True):
        unknown = np.isnan(first[place])
        first[place[unknown]] = own[unknown]
        differ = (own != first[place]) & ~np.isnan(own)
        if differ.any():
            raise SteelyardError(
                f"The runs have other truths for {many(int(differ.sum()), 'item')}, such as {_name(pair, place, differ)}.",
                hint="are they runs of the same data?",
            )


def _name(pair: Pair, place: IntArray, where: npt.NDArray[np.bool_]) -> str:
    item = int(place[int(np.argmax(where))])
    return repr(pair.ids[item]) if pair.ids else f"row {item + 1}"
