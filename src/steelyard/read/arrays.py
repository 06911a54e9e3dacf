"""Arrays side by side: y_true and y_pred, or one array whose part follows from what else was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import DataError, UsageError
from steelyard.read.columns import as_column
from steelyard.read.indexes import aligned, labels_of, names_items
from steelyard.read.roles import GIVEN_ONLY, RECOGNISED, Assignment
from steelyard.read.source import Source
from steelyard.read.table import MemoryTable

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
            raise UsageError(f"cannot use the role {role!r}", need=f"one of {', '.join((*RECOGNISED, *GIVEN_ONLY, 'by', 'ratio'))}")
    sliced = {f"by {name}": value for name, value in slices.items()}
    beside, index, said = aligned({**given, **sliced})
    if names_items(index) and not {"id", "repeat", "model"} & set(given):
        given, beside = {"id": None, **given}, {"id": labels_of(index), **beside}
    store: dict[str, Any] = {role: as_column(role, beside[role]) for role in given}
    store |= {f"by {name}": as_column(f"slice {name!r}", beside[f"by {name}"]) for name in slices}
    pair = None
    if ratio is not None:
        if not isinstance(ratio, (tuple, list)) or len(ratio) != 2:
            raise UsageError("cannot use ratio", got=type(ratio).__name__, need="two arrays")
        pair = ("ratio above", "ratio below")
        store |= {name: as_column("ratio", part) for name, part in zip(pair, ratio, strict=True)}
    return _source(store, list(given), tuple(slices), pair, said)


def _main(data: Any, second: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the two positional arrays."""
    if second is not None:
        clash = [role for role in ("truth", "prediction") if role in asked]
        if clash:
            raise UsageError(f"cannot take the {clash[0]} twice", got=f"two arrays and {clash[0]}=", need="one of them")
        return {"truth": data, "prediction": second}
    if any(role in asked for role in _PARTNERS):
        return {"truth": data} if "truth" not in asked else _twice("truth")
    column = as_column("score", data)
    if "truth" in asked:
        return {"prediction": data}
    if not column.is_numeric:
        example = next((value for value in column.values if isinstance(value, str)), "")
        hint = "give two arrays, truth and prediction; a file name goes in as text, not in a list"
        raise DataError(
            "cannot measure labels alone", got=f"{len(column)} texts such as {example!r}", need="numbers, or a second array", hint=hint
        )
    return {"score": data}


def _twice(role: str) -> dict[str, Any]:
    raise UsageError(f"cannot take the {role} twice", got=f"an array and {role}=", need="one of them")


def _slices(given: Any) -> dict[str, Any]:
    """by= for arrays: {name: array}, or one array, called `by`."""
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    if isinstance(given, str) or (
        isinstance(given, (tuple, list)) and given and all(isinstance(part, str) for part in given) and len(given) == 1
    ):
        raise UsageError("cannot slice arrays by a column name", got=repr(given), need="by={name: array}")
    return {"by": given}


def _source(store: dict[str, Any], roles: list[str], by: tuple[str, ...], ratio: tuple[str, str] | None, said: Sequence[str]) -> Source:
    first = next(iter(store))
    for name, column in store.items():
        if len(column) != len(store[first]):
            got = f"{len(store[first])} in {first}, {len(column)} in {name}"
            raise DataError("cannot put arrays of unequal length side by side", got=got, need="one value per item in each")
    names = list(store)
    table = MemoryTable(names, lambda place: store[names[place]], len(store[first]))
    chosen = Assignment({role: role for role in roles}, tuple(f"by {name}" for name in by), ratio)
    return Source(table, chosen, shown=ARRAY, slices={name: f"by {name}" for name in by}, warnings=said)
