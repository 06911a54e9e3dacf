"""The index of pandas: Series side by side are paired by its labels, and a frame without ids is known by them.

The default index (0, 1, 2, ...) only numbers rows, so two of them are paired by position, as arrays are. Any other unique index
names the items. Where only one of two has such an index, nobody can tell which is meant, and that is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.errors import DataError

ID = "(index)"
_SHOWN = 3


def index_of(given: Any) -> Any:
    """The index of a Series or frame of pandas, else None."""
    return given.index if type(given).__module__.partition(".")[0] == "pandas" and type(given).__name__ in ("Series", "DataFrame") else None


def names_items(index: Any) -> bool:
    """Whether the labels of an index name items: each once, none missing, and not merely the numbers of the rows."""
    return index is not None and not _numbers_rows(index) and bool(index.is_unique) and not _has_holes(index)


def _numbers_rows(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _has_holes(index: Any) -> bool:
    return bool(index.nlevels == 1 and index.hasnans)


def labels_of(index: Any) -> list[Any]:
    """The labels of an index as ids; of several levels, joined."""
    return [" / ".join(map(str, label)) for label in index] if index.nlevels > 1 else list(index)


def aligned(columns: Mapping[Any, Any]) -> tuple[dict[Any, Any], Any, list[str]]:
    """Columns in the order of the first that has an index, that index, and what was done.

    >>> import pandas as pd
    >>> a, b = pd.Series([1, 0], index=["x", "y"]), pd.Series([0, 1], index=["y", "x"])
    >>> found, _, said = aligned({"truth": a, "prediction": b})
    >>> list(found["prediction"]), said
    ([1, 0], ['prediction has the index labels of truth in another order: paired by label'])
    """
    indexed = {name: index for name, column in columns.items() if (index := index_of(column)) is not None}
    if not indexed:
        return dict(columns), None, []
    first, target = next(iter(indexed.items()))
    out, said = dict(columns), []
    for name, index in indexed.items():
        if index.equals(target):
            continue
        _refuse_other(first, target, name, index)
        out[name] = columns[name].iloc[index.get_indexer(target)]
        said.append(f"{name} has the index labels of {first} in another order: paired by label")
    return out, target, said


def _refuse_other(first: str, target: Any, name: str, index: Any) -> None:
    """Two indexes that are not equal pair items only if both name them, and name the same ones."""
    if _numbers_rows(target) and _numbers_rows(index):
        got = f"{len(target)} in {first}, {len(index)} in {name}"
        raise DataError("cannot put arrays of unequal length side by side", got=got, need="one value per item in each")
    by_position = "to pair by position, give both the same index: reset_index(drop=True), or .to_numpy()"
    for one, labels in ((first, target), (name, index)):
        if not _numbers_rows(labels) and not names_items(labels):
            got = f"index labels that differ, and {_repeated(labels)} in {one}"
            raise DataError(f"cannot pair {first} and {name}", got=got, need="each label once", hint=by_position)
    only = [labels.difference(other, sort=False) for labels, other in ((target, index), (index, target))]
    if len(only[0]) or len(only[1]):
        where = [
            f"{len(labels)} only in {one}, such as {', '.join(map(repr, labels[:_SHOWN].tolist()))}"
            for one, labels in zip((first, name), only, strict=True)
            if len(labels)
        ]
        got = f"{len(target) - len(only[0])} index labels in both, {' and '.join(where)}"
        raise DataError(f"cannot pair {first} and {name}", got=got, need="the same index labels in both", hint=by_position)
    numbered = first if _numbers_rows(target) else name if _numbers_rows(index) else None
    if numbered is not None:
        got = f"the same index labels in another order, where {numbered} has the default index, which may only number its rows"
        raise DataError(f"cannot pair {first} and {name}", got=got, need="one index for both", hint=by_position)


def _repeated(labels: Any) -> str:
    if _has_holes(labels):
        return "missing labels"
    twice = labels[labels.duplicated()]
    return f"{len(twice)} labels again, such as {twice[0]!r},"
