"""A stable number for each row, by the name of its item or by its content: the same row has the same number in any file, for ever.

It is the beginning of SHA-256 of `SEED:TEXT`, so that any other program can work it out. What a row is called never depends on
the rows around it, on the format, or on who reads it: DuckDB and Python give the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.read.encode import text_of
from steelyard_old.read.engines.duckdb_table import EngineTable, literal
from steelyard_old.read.table import MemoryTable, SourceTable

DIGITS = 13  # hexadecimal digits of the hash: 52 bits, which a float holds exactly
IN_ENGINE = ("text", "int", "bool")  # kinds whose text is the same in DuckDB and in Python
NAME, VALUE = "\x1f", "\x1e"  # after the name of a column, after its value


def named_uniforms(table: SourceTable, column: str, seed: int) -> npt.NDArray[np.float64]:
    """A number from 0 to below 1 for each row, by its text in one column, in which nothing may be missing."""
    if isinstance(table, EngineTable) and table.kind(column) in IN_ENGINE:
        return _hashed(table, f"{literal(f'{seed}:')} || {_text(table, column)}")
    return _uniforms([f"{seed}:{text}" for text in column_texts(table, column)])


def content_uniforms(table: SourceTable, seed: int) -> npt.NDArray[np.float64]:
    """The same by all that a row has: its columns in the order of their names, those that are missing left out."""
    names = sorted(table.names)
    if isinstance(table, EngineTable) and all(table.kind(name) in IN_ENGINE for name in names):
        pieces = [f"coalesce({literal(name + NAME)} || {_text(table, name)} || {literal(VALUE)}, '')" for name in names]
        return _hashed(table, " || ".join([literal(f"{seed}:"), *pieces]))
    columns = [["" if piece is None else f"{name}{NAME}{piece}{VALUE}" for piece in _plain_texts(table, name)] for name in names]
    return _uniforms([f"{seed}:{''.join(row)}" for row in zip(*columns, strict=True)])


def uniform(text: str, seed: int) -> float:
    """The number of one text.

    >>> uniform("item-7", 0)
    0.2172415622446311
    """
    return float(_uniforms([f"{seed}:{text}"])[0])


def column_texts(table: SourceTable, column: str) -> list[str | None]:
    """The canonical text of a column in each row, None where it is missing."""
    return [None if value is None else text_of(value) for value in _values(table, column)]


def _values(table: SourceTable, column: str) -> Sequence[Any]:
    if isinstance(table, EngineTable):
        shown = table.shown(column, table.identifier(column), number=False)
        return [row[0] for row in table.ask(shown)]
    assert isinstance(table, MemoryTable)
    return table.raw(column)


def _plain_texts(table: SourceTable, column: str) -> list[str | None]:
    """The text of whatever a column holds, lists and objects included."""
    if isinstance(table, EngineTable):
        other = table.kind(column) == "other"
        values: Sequence[Any] = [row[0] for row in table.ask(table.nested(column))] if other else _values(table, column)
    else:
        values = _values(table, column)
    return [None if value is None else value if type(value) is str else _plain_text(value) for value in values]


def _plain_text(value: Any) -> str | None:
    try:
        return text_of(value)
    except TypeError:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=inner_text)


def inner_text(value: Any) -> str | None:
    """The text of any value, such as one inside a list or an object that JSON does not know."""
    try:
        return text_of(value)
    except TypeError:
        return str(value)


def _text(table: EngineTable, column: str) -> str:
    name = table.identifier(column)
    return f"CASE {name} WHEN true THEN 'True' WHEN false THEN 'False' END" if table.kind(column) == "bool" else f"CAST({name} AS VARCHAR)"


def _hashed(table: EngineTable, text: str) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.uint64] = np.asarray(table.array(f"CAST('0x' || left(sha256({text}), {DIGITS}) AS UBIGINT)"), dtype=np.uint64)
    return found / float(16**DIGITS)


def _uniforms(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    hashes = (int(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS], 16) for text in texts)
    return np.fromiter(hashes, np.uint64, len(texts)) / float(16**DIGITS)
