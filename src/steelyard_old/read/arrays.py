"""Arrays side by side: y_true and y_pred, or one array whose part follows from what else was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.read.columns import as_column
from steelyard_old.read.roles import GIVEN_ONLY, RECOGNISED, Assignment, unknown_argument
from steelyard_old.read.source import Source
from steelyard_old.read.table import MemoryTable

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
        raise DataError(f"The arrays have different lengths: {got}.", got=got, need="one value per item in each")
    by_position = "to pair by position, give both the same index: reset_index(drop=True), or .to_numpy()"
    for one, labels in ((first, target), (name, index)):
        if not _numbers_rows(labels) and not names_items(labels):
            got = f"index labels that differ, and {_repeated(labels)} in {one}"
            raise DataError(
                f"Cannot pair {first} and {name} by index: the labels differ, and {one} has {_repeated(labels)}.",
                got=got,
                need="each label once",
                hint=by_position,
            )
    only = [labels.difference(other, sort=False) for labels, other in ((target, index), (index, target))]
    if len(only[0]) or len(only[1]):
        where = [
            f"{len(labels)} only in {one}, such as {', '.join(map(repr, labels[:_SHOWN].tolist()))}"
            for one, labels in zip((first, name), only, strict=True)
            if len(labels)
        ]
        got = f"{len(target) - len(only[0])} index labels in both, {' and '.join(where)}"
        raise DataError(
            f"The indexes of {first} and {name} differ: {got}.", got=got, need="the same index labels in both", hint=by_position
        )
    numbered = first if _numbers_rows(target) else name if _numbers_rows(index) else None
    if numbered is not None:
        got = f"the same index labels in another order, where {numbered} has the default index, which may only number its rows"
        raise DataError(
            f"Cannot pair {first} and {name}: the index labels are the same but in another order, and {numbered} has the default "
            "index, which may only number its rows.",
            got=got,
            need="one index for both",
            hint=by_position,
        )


def _repeated(labels: Any) -> str:
    if _has_holes(labels):
        return "missing labels"
    twice = labels[labels.duplicated()]
    return f"{len(twice)} repeated {'label' if len(twice) == 1 else 'labels'}, such as {twice[0]!r}"


ARRAY = "(array)"
_PARTNERS = ("prediction", "score", "probability")


def array_source(data: Any, second: Any, columns: Mapping[str, object]) -> Source:
    """A Source of arrays. The array itself is truth beside a prediction, score or probability, and a score alone."""
    asked: dict[str, Any] = {
        role: value for role, value in columns.items() if value is not None and not (isinstance(value, tuple) and not value)
    }
    if isinstance(asked.get("group"), str) and asked["group"] == "none":
        del asked["group"]  # nothing is detected among arrays, so nothing is ignored
    slices = _slices(asked.pop("by", {}))
    ratio = asked.pop("ratio", None)
    given = {**_main(data, second, asked), **asked}
    for role in given:
        if role not in (*RECOGNISED, *GIVEN_ONLY):
            raise unknown_argument(role, (*RECOGNISED, *GIVEN_ONLY, "by", "ratio"))
    sliced = {f"by {name}": value for name, value in slices.items()}
    beside, index, said = aligned({**given, **sliced})
    if names_items(index) and not {"id", "repeat", "model"} & set(given):
        given, beside = {"id": None, **given}, {"id": labels_of(index), **beside}
    store: dict[str, Any] = {role: as_column(role, beside[role]) for role in given}
    store |= {f"by {name}": as_column(f"slice {name!r}", beside[f"by {name}"]) for name in slices}
    pair = None
    if ratio is not None:
        if not isinstance(ratio, (tuple, list)) or len(ratio) != 2:
            raise UsageError("cannot use ratio=", got=type(ratio).__name__, need="two arrays")
        pair = ("ratio above", "ratio below")
        store |= {name: as_column("ratio", part) for name, part in zip(pair, ratio, strict=True)}
    return _source(store, list(given), tuple(slices), pair, said)


def _main(data: Any, second: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the two positional arrays."""
    if second is not None:
        clash = [role for role in ("truth", "prediction") if role in asked]
        if clash:
            raise UsageError(
                f"The {clash[0]} was given twice: as an array and as {clash[0]}=.", got=f"two arrays and {clash[0]}=", need="one of them"
            )
        return {"truth": data, "prediction": second}
    if any(role in asked for role in _PARTNERS):
        return {"truth": data} if "truth" not in asked else _twice("truth")
    column = as_column("score", data)
    if "truth" in asked:
        return {"prediction": data}
    if not column.is_numeric:
        example = next((str(value) for value in column.values if isinstance(value, str)), "")
        hint = "give two arrays, truth and prediction; a file name goes in as text, not in a list"
        raise DataError(
            f"Cannot measure labels without a truth: got {len(column)} texts such as {example!r} and no second array.",
            got=f"{len(column)} texts such as {example!r}",
            need="numbers, or a second array",
            hint=hint,
        )
    return {"score": data}


def _twice(role: str) -> dict[str, Any]:
    raise UsageError(f"The {role} was given twice: as an array and as {role}=.", got=f"an array and {role}=", need="one of them")


def _slices(given: Any) -> dict[str, Any]:
    """by= for arrays: {name: array}, or one array, called `by`."""
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    if isinstance(given, str) or (
        isinstance(given, (tuple, list)) and given and all(isinstance(part, str) for part in given) and len(given) == 1
    ):
        raise UsageError(
            "Arrays have no column names to slice by.", got=repr(given), need="by={name: array}", hint="give the values: by={name: array}"
        )
    return {"by": given}


def _source(store: dict[str, Any], roles: list[str], by: tuple[str, ...], ratio: tuple[str, str] | None, said: Sequence[str]) -> Source:
    first = next(iter(store))
    for name, column in store.items():
        if len(column) != len(store[first]):
            got = f"{len(store[first])} in {first}, {len(column)} in {name}"
            raise DataError(f"The arrays have different lengths: {got}.", got=got, need="one value per item in each")
    names = list(store)
    table = MemoryTable(names, lambda place: store[names[place]], len(store[first]))
    chosen = Assignment({role: role for role in roles}, tuple(f"by {name}" for name in by), ratio)
    return Source(table, chosen, shown=ARRAY, slices={name: f"by {name}" for name in by}, warnings=said)
