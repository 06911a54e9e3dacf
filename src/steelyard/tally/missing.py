"""What to do with items that have no answer: refuse them, count them as wrong, or leave them out. Never silently."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.items import Items, Labels
from steelyard.tally.counts import MISSING
from steelyard.tally.design import take

Mask = npt.NDArray[np.bool_]
OPTION = "say what to do with missing='wrong' (count them as wrong) or missing='drop' (leave them out)"


def settle_missing(
    items: Items, policy: str, *, worst_score: float | None = 0.0, needed: Collection[str] | None = None
) -> tuple[Items, list[str]]:
    """The items with nothing missing, and a sentence for each thing that was done.

    `wrong` turns a missing prediction into one that equals no label and a missing score into the worst score; a
    missing truth or probability cannot be answered for, so it is refused unless dropped. `needed` names the columns that
    matter: a hole in another one is no hole.
    """
    said: list[str] = []
    for name, gone in _missing(items).items():
        rows = int(gone.sum())
        if not rows or (needed is not None and name not in needed):
            continue
        many = rows if items.count is None else int(items.count[gone].sum())
        if policy == "error" or (policy == "wrong" and name not in ("prediction", "score")):
            hint = OPTION if policy == "error" else "only a missing prediction or score can count as wrong; use missing='drop'"
            first = "" if items.count is not None else f", the first in row {int(np.argmax(gone)) + 1}"
            raise DataError(
                f"cannot use the {name} column",
                got=f"{many} of {items.total} items without a {name}{first}",
                need=f"a {name} for every item",
                hint=hint,
            )
        if policy == "drop":
            said.append(f"{many} of {items.total} items without a {name} were left out (--missing drop)")
            items = take(items, ~gone)
            rest, more = settle_missing(items, policy, worst_score=worst_score, needed=needed)
            return rest, said + more
        said.append(f"{many} of {items.total} items without a {name} count as wrong (--missing wrong)")
        items = _as_wrong(items, name, gone, worst_score)
    if items.n == 0:
        raise DataError("cannot measure", got="no items left after leaving out the missing ones", need="at least one item")
    return items, said


def _missing(items: Items) -> dict[str, Mask]:
    """For each column that can have holes, which rows do. Labels known to be complete are not looked at: that is a pass over them."""
    found: dict[str, Mask] = {}
    for name in ("truth", "prediction", "group"):
        labels = getattr(items, name)
        if labels is not None and not labels.complete:
            found[name] = np.asarray(labels.codes < 0)
    for name in ("truth_value", "prediction_value", "score", "probability"):
        column = getattr(items, name)
        if column is not None:
            found[name.removesuffix("_value")] = np.isnan(column)
    if items.ratio is not None:
        found["ratio"] = np.isnan(items.ratio[0]) | np.isnan(items.ratio[1])
    return found


def _as_wrong(items: Items, name: str, gone: Mask, worst_score: float | None) -> Items:
    if name == "score" and items.score is not None:
        if worst_score is None:
            raise DataError(
                "cannot count a missing score as wrong",
                got="scores outside 0 and 1, of no declared range",
                need="the worst score",
                hint="declare it with range=(LO, HI), or use missing='drop'",
            )
        return replace(items, score=np.where(gone, worst_score, items.score))
    if items.prediction is None:
        raise DataError("cannot count a missing number as wrong", need="missing='drop'")
    names = (*items.prediction.names, MISSING)
    codes = np.where(gone, len(names) - 1, items.prediction.codes)
    return replace(items, prediction=Labels(codes, names))
