"""JSON and JSON Lines, strictly: no duplicate keys, no NaN, no half line. Integers stay exact. Lines end at LF only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard.errors import SourceError
from steelyard.read.engines.memory import tell
from steelyard.read.files.json_lines import engine_table
from steelyard.read.files.opened import Opened
from steelyard.read.files.partitions import partition_keys
from steelyard.read.files.strict_json import bad_value, one_value, strict_decoder
from steelyard.read.files.utf8 import check_text
from steelyard.read.table import MemoryTable, SourceTable


def read_json(files: Sequence[Opened], wanted: Callable[[str], bool]) -> SourceTable:
    """The table of one or several files, with the keys of their partitions; only columns that could be asked for are kept."""
    for file in files:
        check_text(file.plain, file.shown)
    table: SourceTable | None = engine_table(files, wanted)
    return table if table is not None else _by_python(files, wanted)


def _by_python(files: Sequence[Opened], wanted: Callable[[str], bool]) -> MemoryTable:
    gathered = _Gathered(wanted)
    rows: list[int] = []
    for file in files:
        before = gathered.n
        if file.format == "jsonl" or not _document(file, gathered):
            _lines(file, gathered)
        rows.append(gathered.n - before)
        file.check_unchanged()
    if not gathered.n:
        raise SourceError(f"cannot measure {files[0].shown!r}", got="no items", need="at least one row")
    keys = partition_keys(files, [gathered.names] * len(files))
    return gathered.table({key: [part for file, n in zip(files, rows, strict=True) for part in [file.partition[key]] * n] for key in keys})


class _Gathered:
    """Columns under construction. Rows usually have the keys of the row before, so that is looked at first."""

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._names: dict[str, None] = {}
        self._columns: dict[str, list[Any]] = {}
        self._keys: list[str] = []
        self._picked: list[tuple[str, list[Any]]] = []
        self.n = 0

    def add(self, row: Mapping[str, Any]) -> None:
        keys = list(row)
        if keys != self._keys:
            self._names.update(dict.fromkeys(keys))
            self._keys = keys
            self._picked = [(key, self._columns.setdefault(key, [])) for key in keys if self._wanted(key)]
            for _, column in self._picked:
                column.extend([None] * (self.n - len(column)))
        for key, column in self._picked:
            column.append(row[key])
        self.n += 1

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def table(self, more: Mapping[str, list[Any]]) -> MemoryTable:
        """The table, with more columns after those that were gathered."""
        names = [*self._names, *more]
        for column in self._columns.values():
            column.extend([None] * (self.n - len(column)))
        columns = {**self._columns, **more}
        return MemoryTable(names, lambda place: columns[names[place]], self.n)


def _lines(file: Opened, gathered: _Gathered) -> None:
    decoder: Any = strict_decoder()
    size, place = os.path.getsize(file.plain), 0
    with open(file.plain, "rb") as stream:
        for number, raw in enumerate(stream, 1):  # a binary file ends lines at LF, never at U+2028
            place += len(raw)
            if not number % 65_536:
                tell(f"reading {file.shown!r}", place / size)
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            if not text.strip(" \t\r\n"):
                continue
            try:
                row = one_value(decoder, text)
            except (ValueError, RecursionError) as error:
                raise bad_value(file, f"line {number}", error, cut=not raw.endswith(b"\n")) from None
            if type(row) is not dict:
                got = f"a {_called(row)} in line {number}"
                raise SourceError(f"cannot read {file.shown!r} as JSON Lines", got=got, need="one object per line")
            gathered.add(row)


def _document(file: Opened, gathered: _Gathered) -> bool:
    """One JSON value: an array of objects, or an object of arrays. False if it is JSON Lines under another name."""
    with open(file.plain, encoding="utf-8-sig", newline="") as stream:
        text = stream.read()
    try:
        found = strict_decoder().decode(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return False
        raise bad_value(file, f"line {error.lineno}", error, cut=not text[error.pos :].strip()) from None
    except (ValueError, RecursionError) as error:
        raise bad_value(file, "the file", error, cut=False) from None
    rows = found
    if isinstance(found, dict):
        if "\n" not in text.strip() and not any(isinstance(value, list) for value in found.values()):
            rows = [found]  # a JSON Lines file of one line
        else:
            rows = _turned(file, found)
    if not isinstance(rows, list):
        raise SourceError(f"cannot read {file.shown!r}", got=f"a {_called(found)}", need="an array of objects")
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise SourceError(
                f"cannot read {file.shown!r}", got=f"a {_called(row)} as element {place + 1} of the array", need="an array of objects"
            )
        gathered.add(row)
    return True


def _turned(file: Opened, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows out of an object of arrays, which must be of one length."""
    lengths = {key: len(value) if isinstance(value, list) else -1 for key, value in columns.items()}
    if len(set(lengths.values())) != 1 or -1 in lengths.values():
        got = "an object with " + ", ".join(f"{key!r}: {'no array' if size < 0 else size}" for key, size in list(lengths.items())[:6])
        raise SourceError(f"cannot read {file.shown!r}", got=got, need="an array of objects, or an object of arrays of one length")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _called(value: object) -> str:
    return {dict: "object", list: "array", str: "text", bool: "truth value", type(None): "null"}.get(type(value), "number")
