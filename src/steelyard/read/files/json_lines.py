"""Large JSON Lines through DuckDB, after a proof that Python's strict reader would find the same in every line.

DuckDB's parser differs from a strict one in a few ways, found by trying: it lets NaN, Infinity, 1e999 and a comma before a
closing bracket pass, looks for duplicates only among the keys that were asked for, and does not tell a null from an absent key.
A file is taken only if nothing of that can have happened, and every line has the keys of the first, in the same order, with
plain values, of one type in every column that could be asked for:

1. There is no byte order mark and no escaped NUL anywhere, and where values are no texts, no comma before a bracket (a look
   at the bytes).
2. Keys. If there is no backslash, the first line is a pattern (`{"id": "%", "n": %}`) that every line must be LIKE. Each match
   takes as many quotes as the pattern has; if the file has that many per line and no more, no value holds a quote, and so
   no line holds another key or another text. Otherwise each line is asked for its keys, which costs twice as much.
3. Values that are no texts are asked for their type, one by one.

What is not proven goes to the strict reader, which says what is wrong, or knows better.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours
from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.read.engines.duckdb_table import HELD, EngineTable, Scan, connect, exact_path, literal, partition_columns, quoted, too_little
from steelyard.read.engines.memory import tell, watched
from steelyard.read.files.opened import Opened
from steelyard.read.files.partitions import partition_keys
from steelyard.read.files.strict_json import strict_decoder

SMALL = 2 << 20  # bytes; below it the strict reader is done before DuckDB is loaded
_CHUNK = 256 << 10  # what the cache of a core holds
_LONGEST = 8 << 20  # bytes of a first line
_MOST_KEYS = 200
_DANGLING = re.compile(rb",[ \t\r\n]*[}\]]")
_INT, _FLOAT = r"-?(0|[1-9][0-9]{0,17})", r"-?[0-9]+(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
_TYPES = {"text": "VARCHAR", "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class Bytes:
    """What a look at the bytes of a file tells.

    plain: nothing in it that DuckDB and a strict reader see differently. simple: no backslash and no control character either.
    """

    lines: int
    quotes: int
    simple: bool
    plain: bool


def engine_table(files: Sequence[Opened], wanted: Callable[[str], bool]) -> EngineTable | None:
    """The table of some files, or None if they are small or there is no proof. The files are known to be UTF-8 without NUL."""
    if any(file.format != "jsonl" for file in files) or sum(os.path.getsize(file.plain) for file in files) < SMALL:
        return None
    row = _first_row(files[0])
    if row is None or not 0 < len(row) <= _MOST_KEYS or len({key.lower() for key in row}) < len(row) or not all(row):
        return None
    seen = [_look(file) for file in files]
    if not all(each.plain for each in seen):
        return None
    import duckdb

    con = connect([os.path.abspath(file.plain) for file in files])
    try:
        kinds = _proven(con, files, seen, row, wanted)
        table = None if kinds is None else _table(con, files, sum(each.lines for each in seen), list(row), kinds)
    except duckdb.Error as error:
        con.close()
        if (fault := too_little(error, repr(files[0].shown))) is not None:
            raise fault from None
        return None
    if table is None:
        con.close()
    return table


# ---- the proof -----------------------------------------------------------------------------------------------------


def _first_row(file: Opened) -> dict[str, Any] | None:
    """The first line, if it is an object of plain values; a fault in it is for the strict reader to tell."""
    with open(file.plain, "rb") as stream:
        line = stream.readline(_LONGEST)
    try:
        row = strict_decoder().decode(line.decode())
    except (ValueError, RecursionError):
        return None
    return row if type(row) is dict and not any(isinstance(value, (dict, list)) for value in row.values()) else None


def _look(file: Opened) -> Bytes:
    """One pass over the bytes, in chunks of whole lines."""
    import numpy as np

    lines = quotes = place = 0
    plain, simple, ended = True, True, True
    size = os.path.getsize(file.plain)
    with open(file.plain, "rb") as stream:
        while plain and (chunk := stream.read(_CHUNK) + stream.readline()):
            plain = not (b"\\u0000" in chunk or (not place and chunk.startswith(b"\xef\xbb\xbf")))
            codes = np.frombuffer(chunk, np.uint8)  # counts of frequent bytes: many times faster than bytes.count
            here = int(np.count_nonzero(codes == ord("\n")))
            lines += here
            quotes += int(np.count_nonzero(codes == ord('"')))
            simple = simple and b"\\" not in chunk and int(np.count_nonzero(codes < ord(" "))) == here
            ended = chunk.endswith(b"\n")
            place += len(chunk)
            tell(f"looking at {file.shown!r}", place / size)
    return Bytes(lines + (not ended), quotes, simple, plain)


def _dangles(file: Opened) -> bool:
    """Whether a comma stands before a closing bracket anywhere, be it in a text."""
    with open(file.plain, "rb") as stream:
        while chunk := stream.read(_CHUNK) + stream.readline():
            if _DANGLING.search(chunk):
                return True
    return False


def _proven(
    con: Any, files: Sequence[Opened], seen: Sequence[Bytes], row: dict[str, Any], wanted: Callable[[str], bool]
) -> dict[str, str] | None:
    """The kind of every column that could be asked for; None without proof."""
    lines = sum(each.lines for each in seen)
    objects = f"read_ndjson_objects({_listed(files)}, hive_partitioning = false, filename = false, compression = 'uncompressed')"

    def always(condition: str) -> bool:
        ask = f"SELECT COUNT(*), COUNT(*) FILTER (WHERE {condition}) FROM {objects}"
        found: tuple[int, int] = watched(con, f"reading {files[0].shown!r}", lambda: con.execute(ask).fetchall())[0]
        return found == (lines, lines)

    texts = {key for key, value in row.items() if type(value) is str}
    pattern = _pattern(files[0], row) if all(each.simple for each in seen) else None
    counted = sum(each.quotes for each in seen) == lines * 2 * (len(row) + len(texts))
    if not (pattern is not None and counted and always(f"json LIKE {literal(pattern)} ESCAPE '\\'")):
        texts = set()
        if not always(f"json_keys(json) = [{', '.join(map(literal, row))}]"):
            return None
    kinds = dict.fromkeys(texts, "text")
    if rest := [key for key in row if key not in texts]:
        if any(map(_dangles, files)):  # a pattern of texts alone leaves no room for it
            return None
        kinds |= _kinds(con, files, rest, wanted)
    return {key: kinds[key] for key in row if wanted(key)} if len(kinds) == len(row) else None


def _pattern(file: Opened, row: dict[str, Any]) -> str | None:
    """The first line with % for every value; None if its text is not what we would write, key by key."""
    with open(file.plain, "rb") as stream:
        line = stream.readline().decode().strip()
    parts: list[str] = []
    place = 0
    for key, value in row.items():
        shown = re.escape(json.dumps(key, ensure_ascii=False))
        text = re.escape(json.dumps(value, ensure_ascii=False)) if type(value) is str else r"[^\s,}\"]+"
        match = re.compile(rf"(\s*[{{,]\s*{shown}\s*:\s*)({text})").match(line, place)
        if match is None:
            return None
        parts += [_escaped(match[1]), '"%"' if type(value) is str else "%"]
        place = match.end()
    return "".join([*parts, _escaped(line[place:])]) if line[place:].strip() == "}" else None


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _kinds(con: Any, files: Sequence[Opened], keys: Sequence[str], wanted: Callable[[str], bool]) -> dict[str, str]:
    """The kind of each column by a look at each value; a column is left out if a value is not plain, or is wanted and mixed."""
    columns = {f"c{i}": key for i, key in enumerate(keys)}
    counts = []
    for name in columns:
        counts += [f"COUNT({name})", f"COUNT(*) FILTER (WHERE {name} LIKE '\"%')", f"COUNT(*) FILTER (WHERE {name} IN ('true', 'false'))"]
        counts += [f"COUNT(*) FILTER (WHERE regexp_full_match({name}, '{form}'))" for form in (_INT, _FLOAT)]
        finite = f"coalesce(isfinite(TRY_CAST({name} AS DOUBLE)), false)"
        counts += [f"COUNT(*) FILTER (WHERE regexp_full_match({name}, '{_FLOAT}') AND NOT {finite})"]
    picked = ", ".join(f"CAST({quoted(key)} AS VARCHAR) AS {name}" for name, key in columns.items())
    ask = f"SELECT {', '.join(counts)} FROM (SELECT {picked} FROM {_read(files, dict.fromkeys(keys, 'JSON'))})"
    told = watched(con, f"reading {files[0].shown!r}", lambda: con.execute(ask).fetchall())[0]
    kinds = {}
    for place, key in enumerate(keys):
        present, text, flag, whole, fraction, infinite = told[6 * place : 6 * place + 6]
        counted = {"text": text, "bool": flag, "int": whole, "float": fraction}
        if sum(counted.values()) != present or infinite:
            continue
        only = [kind for kind, count in counted.items() if count == present]
        if only or not wanted(key):
            kinds[key] = only[0] if only else "text"
    return kinds


# ---- the table -----------------------------------------------------------------------------------------------------


def _listed(files: Sequence[Opened]) -> str:
    return "[" + ", ".join(literal(exact_path(os.path.abspath(file.plain))) for file in files) + "]"


def _read(files: Sequence[Opened], types: dict[str, str]) -> str:
    """read_json with everything said, so that nothing is guessed."""
    columns = ", ".join(f"{quoted(key)}: '{kind}'" for key, kind in types.items())
    options = "format = 'newline_delimited', records = 'true', ignore_errors = false, compression = 'uncompressed'"
    return f"read_json({_listed(files)}, columns = {{{columns}}}, {options}, hive_partitioning = false, filename = false)"


def _table(con: Any, files: Sequence[Opened], lines: int, names: list[str], kinds: dict[str, str]) -> EngineTable:
    """The wanted columns with their types: a table of DuckDB if they are few, else read anew for every question."""
    keys = partition_keys(files, [names] * len(files))
    parts = partition_columns(files)
    picked = {**{key: quoted(key) for key in kinds}, **{key: f"CAST({parts[key]} AS VARCHAR)" for key in keys}}
    select = ", ".join(["true AS k", *(f"{value} AS k{i}" for i, value in enumerate(picked.values()))])
    types = {key: _TYPES[kind] for key, kind in kinds.items()} or {names[0]: "JSON"}
    rows = f"(SELECT {select} FROM {_read(files, types)})"
    relation = rows
    if sum(os.path.getsize(file.plain) for file in files) <= HELD:
        con.execute(f"CREATE TEMP TABLE items AS SELECT * FROM {rows}")
        relation = "items"

    def unchanged() -> None:
        for file in files:
            file.check_unchanged()

    unchanged()
    scan = Scan(tuple(os.path.abspath(file.plain) for file in files), rows, unchanged)
    identifiers = {name: f"k{i}" for i, name in enumerate(picked)}
    return EngineTable(
        con,
        relation,
        names=[*names, *keys],
        identifiers=identifiers,
        what=repr(files[0].shown),
        scan=scan,
        n=lines,
        unchanged=None if relation == "items" else unchanged,
    )
