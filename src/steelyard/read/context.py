"""What was asked and answered in a few items: looked up in their source after they were picked, so that nobody holds all prompts."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.read.engines.duckdb_table import EngineTable
from steelyard.read.source import Source
from steelyard.read.table import MemoryTable, SourceTable

# Columns by name, the first that is there; in a log behind the prefix of its tool (doc.question).
NAMES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "input", "question", "query", "problem"),
    "target": ("target", "reference", "ideal"),
    "answer": ("answer", "response", "output", "completion"),
}
ROLES: Mapping[str, str] = {"target": "truth", "answer": "prediction"}  # a column with this role is it, whatever its name
START, END = 160, 160  # characters of an excerpt: the question often stands at the end, behind examples that all prompts share
READ = 500  # characters kept from either end of a target or an answer
MARK = " ... "


def context_of(source: Source, ids: Collection[str]) -> dict[str, dict[str, str]]:
    """Excerpts by id: of the prompt, the target and the answer, as far as the source has them. What cannot be read is left out."""
    if source.log is not None and source.log.texts is not None:
        return _of_log(source.log.texts, ids)
    key = source.place("id")
    columns = {what: column for what in NAMES if (column := _column(source, what)) is not None}
    if key is None or not columns or not ids:
        return {}
    try:
        rows = _rows(_readable(source, [key, *columns.values()]), key, list(columns.values()), ids)
    except SteelyardError:
        return {}  # a column that nobody asked for may hold anything
    out: dict[str, dict[str, str]] = {}
    for id_, values in rows:
        told = {what: excerpt(value, whole=what != "prompt") for what, value in zip(columns, values, strict=True)}
        out.setdefault(id_, {what: text for what, text in told.items() if text})
    return out


def _of_log(texts: Callable[[], Iterable[tuple[str, Mapping[str, Any]]]], ids: Collection[str]) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {}
    try:
        for id_, told in texts():
            if id_ in ids and id_ not in out:
                found = {what: excerpt(value, whole=what != "prompt") for what, value in told.items()}
                out[id_] = {what: text for what, text in found.items() if text}
    except (SteelyardError, OSError):
        return out  # the log is gone, or another one by now
    return out


def excerpt(value: Any, *, whole: bool = False) -> str:
    """A text on one line, its beginning and its end; whole: every line, no longer than a page bears.

    >>> len(excerpt("Add the numbers. " + "1 + 1 = 2 " * 100 + "What is 17 + 25?"))
    325
    """
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if whole:
        return text if len(text) <= 2 * READ else text[:READ] + MARK + text[-READ:]
    text = " ".join(text.split())
    return text if len(text) <= START + END + len(MARK) else f"{text[:START]}{MARK}{text[-END:]}"


def _column(source: Source, what: str) -> str | None:
    if what in ROLES and (column := source.place(ROLES[what])) is not None:
        return column
    taken = {source.place(role) for role in source.roles}
    known = {(name.rpartition(".")[2] if source.log is not None else name).lower(): name for name in reversed(source.table.names)}
    return next((known[name] for name in NAMES[what] if name in known and known[name] not in taken), None)


def _readable(source: Source, names: Sequence[str]) -> SourceTable:
    """The table, if it kept these columns; else it is read once more with them."""
    kept = isinstance(source.table, EngineTable) and all(map(source.table.keeps, names))
    return source.table if kept or source.again is None else source.again(names)


def _rows(table: SourceTable, key: str, names: Sequence[str], ids: Collection[str]) -> list[tuple[str, Sequence[Any]]]:
    if isinstance(table, MemoryTable):
        import numpy as np

        labels, _ = table.encoded(key, "id")
        wanted = [code for code, name in enumerate(labels.names) if name in ids]
        places = np.flatnonzero(np.isin(labels.codes, wanted)).tolist()
        values = zip(*(table.at(name, places) for name in names), strict=True)
        return [(labels.names[int(labels.codes[place])], told) for place, told in zip(places, values, strict=True)]
    if not isinstance(table, EngineTable) or table.kind(key) not in ("int", "text"):
        return []
    shown = f"CAST({table.identifier(key)} AS VARCHAR)"
    texts = [_cut(f"CAST({table.identifier(name)} AS VARCHAR)") for name in names]
    listed = ", ".join("'" + each.replace("'", "''") + "'" for each in ids)
    return [(row[0], row[1:]) for row in table.ask(", ".join([shown, *texts]), f"WHERE {shown} IN ({listed})")]


def _cut(text: str) -> str:
    return f"CASE WHEN length({text}) > {2 * READ} THEN left({text}, {READ}) || '{MARK}' || right({text}, {READ}) ELSE {text} END"
