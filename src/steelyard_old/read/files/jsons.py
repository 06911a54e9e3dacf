"""JSON and JSON Lines, strictly: no duplicate keys, no NaN, no half line. Integers stay exact. Lines end at LF only."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError, with_article
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.engines.duckdb_table import HELD, Scan, connect, exact_path, literal, partition_columns, quoted, too_little
from steelyard_old.read.engines.memory import tell, watched
from steelyard_old.read.engines.unread import UnreadTable
from steelyard_old.read.files.formats import check_text, partition_keys
from steelyard_old.read.files.paths import Opened
from steelyard_old.read.table import MemoryTable, SourceTable


class _NotStrictJson(ValueError):
    """Something that JSON readers accept and we do not."""


def strict_decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=once_each, parse_constant=_no_constant, parse_float=_finite)


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _NotStrictJson(f"the key {next(key for key in keys if keys.count(key) > 1)!r} twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise _NotStrictJson(f"{text}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _NotStrictJson(f"the number {text}, which is beyond float64")
    return number


def bad_value(file: Opened, where: str, error: Exception, *, cut: bool) -> SourceError:
    what = f"Cannot read {file.shown!r} as JSON"
    if isinstance(error, RecursionError):
        return SourceError(
            f"{file.shown!r} is nested too deeply in {where}.", got=f"values nested too deeply in {where}", need="a few levels"
        )
    if isinstance(error, _NotStrictJson):
        hint = "write null for a missing number" if "not JSON" in str(error) else ""
        return SourceError(f"{what}: {error}, in {where}.", got=f"{error}, in {where}", need="each key once, and finite numbers", hint=hint)
    if not isinstance(error, json.JSONDecodeError):
        got = f"{error}, in {where}"[:200]
        return SourceError(f"{what}: {got}.", got=got, need="valid JSON")
    if cut:
        return SourceError(
            f"The last line of {file.shown!r} is cut off ({where}: {error.msg}).",
            got=f"{where}, the last, that is cut off ({error.msg})",
            need="a complete file",
            hint="did the run end early? Remove the last line",
        )
    got = f"{error.msg}, in {where}, column {error.colno}"
    return SourceError(f"{what}: {got}.", got=got, need="valid JSON")


def one_value(decoder: Any, text: str) -> Any:
    """decode() without its two searches for white space, which cost a third of the time; it speaks when something is wrong."""
    try:
        value, end = decoder.scan_once(text, 0)
    except StopIteration:
        return decoder.decode(text)
    return decoder.decode(text) if text[end:].strip(" \t\r\n") else value


# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours


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

    plain: nothing in it that DuckDB and a strict reader see differently. simple: no backslash and no control character either. alike: every
    line has the texts around its values that were looked for.
    """

    lines: int
    quotes: int
    simple: bool
    plain: bool
    alike: bool


def engine_table(files: Sequence[Opened], wanted: Callable[[str], bool]) -> UnreadTable | None:
    """The table of some files, or None if they are small or there is no proof. The files are known to be UTF-8 without NUL."""
    if any(file.format != "jsonl" for file in files) or sum(os.path.getsize(file.plain) for file in files) < SMALL:
        return None
    row = _first_row(files[0])
    if row is None or not 0 < len(row) <= _MOST_KEYS or len({key.lower() for key in row}) < len(row) or not all(row):
        return None
    around = _around(files[0], row)
    seen = [_look(file, around if all(type(value) is str for value in row.values()) else None) for file in files]
    if not all(each.plain for each in seen):
        return None
    import duckdb

    con = connect([os.path.abspath(file.plain) for file in files])
    try:
        kinds = _proven(con, files, seen, row, around, wanted)
    except duckdb.Error as error:
        con.close()
        if (fault := too_little(error, repr(files[0].shown))) is not None:
            raise fault from None
        return None
    if kinds is None:
        con.close()
        return None
    return _table(con, files, sum(each.lines for each in seen), list(row), kinds, lambda: _by_python(files, wanted))


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


def _look(file: Opened, around: Sequence[str] | None) -> Bytes:
    """One pass over the bytes, in chunks of whole lines. around: the texts around the values of each line, if all values are texts."""
    import numpy as np

    lines = quotes = place = 0
    plain, simple, ended = True, True, True
    fixed = [] if around is None else [each.encode() for each in around]
    size = os.path.getsize(file.plain)
    with open(file.plain, "rb") as stream:
        while plain and (chunk := stream.read(_CHUNK) + stream.readline()):
            plain = not (b"\\u0000" in chunk or (not place and chunk.startswith(b"\xef\xbb\xbf")))
            codes = np.frombuffer(chunk, np.uint8)  # counts of frequent bytes: many times faster than bytes.count
            ends = np.flatnonzero(codes == ord("\n"))
            lines += len(ends)
            quoted_at = np.flatnonzero(codes == ord('"'))
            quotes += len(quoted_at)
            simple = simple and b"\\" not in chunk and int(np.count_nonzero(codes < ord(" "))) == len(ends)
            ended = chunk.endswith(b"\n")
            if fixed and not (simple and _follow(chunk, ends if ended else np.append(ends, len(chunk)), quoted_at, fixed)):
                fixed = []
            place += len(chunk)
            tell(f"looking at {file.shown!r}", place / size)
    return Bytes(lines + (not ended), quotes, simple, plain, bool(fixed))


def _follow(chunk: bytes, ends: Any, quoted_at: Any, fixed: Sequence[bytes]) -> bool:
    """Whether every line is `fixed` with a text between each two of them, where no text has a quote, a backslash or a control character.

    Then each line is an object of the keys of the first line with texts as values: nothing in it is left that could be no JSON. ends: the
    place of each line end; quoted_at: the place of each quote. A key and its value have four quotes, and lie alike in every line.
    """
    import numpy as np

    width = 4 * (len(fixed) - 1)
    if len(quoted_at) != len(ends) * width:
        return False
    at = quoted_at.reshape(len(ends), width)
    starts = np.concatenate([[0], ends[:-1] + 1])
    opening = [starts, *(at[:, place] for place in range(3, width, 4))]  # where each fixed text begins: at the line, or after a value
    closing = [*(at[:, place] for place in range(2, width, 4)), ends - 1]  # and its last byte
    whole = chunk + bytes(8)  # eight bytes at any place
    words = np.ndarray(shape=(len(chunk) + 1,), dtype=np.uint64, buffer=whole, strides=(1,))
    for text, first, last in zip(fixed, opening, closing, strict=True):
        if not (last - first == len(text) - 1).all():
            return False
        for place in range(0, len(text), 8):
            piece = text[place : place + 8]
            mask = np.frombuffer((b"\xff" * len(piece)).ljust(8, b"\0"), np.uint64)[0]
            if not ((words[first + place] & mask) == np.frombuffer(piece.ljust(8, b"\0"), np.uint64)[0]).all():
                return False
    return True


def _dangles(file: Opened) -> bool:
    """Whether a comma stands before a closing bracket anywhere, be it in a text."""
    with open(file.plain, "rb") as stream:
        while chunk := stream.read(_CHUNK) + stream.readline():
            if _DANGLING.search(chunk):
                return True
    return False


def _proven(
    con: Any,
    files: Sequence[Opened],
    seen: Sequence[Bytes],
    row: dict[str, Any],
    around: Sequence[str] | None,
    wanted: Callable[[str], bool],
) -> dict[str, str] | None:
    """The kind of every column that could be asked for; None without proof."""
    lines = sum(each.lines for each in seen)
    objects = f"read_ndjson_objects({_listed(files)}, hive_partitioning = false, filename = false, compression = 'uncompressed')"

    def always(condition: str) -> bool:
        ask = f"SELECT COUNT(*), COUNT(*) FILTER (WHERE {condition}) FROM {objects}"
        found: tuple[int, int] = watched(con, f"reading {files[0].shown!r}", lambda: con.execute(ask).fetchall())[0]
        return found == (lines, lines)

    texts = {key for key, value in row.items() if type(value) is str}
    if all(each.alike for each in seen):
        return {key: "text" for key in row if wanted(key)}
    pattern = "%".join(map(_escaped, around)) if around is not None and all(each.simple for each in seen) else None
    counted = sum(each.quotes for each in seen) == lines * 2 * (len(row) + len(texts))
    if len(texts) == len(row) or not (pattern is not None and counted and always(f"json LIKE {literal(pattern)} ESCAPE '\\'")):
        texts = set()
        if not always(f"json_keys(json) = [{', '.join(map(literal, row))}]"):
            return None
    kinds = dict.fromkeys(texts, "text")
    if rest := [key for key in row if key not in texts]:
        if any(map(_dangles, files)):  # a pattern of texts alone leaves no room for it
            return None
        kinds |= _kinds(con, files, rest, wanted)
    return {key: kinds[key] for key in row if wanted(key)} if len(kinds) == len(row) else None


def _around(file: Opened, row: dict[str, Any]) -> list[str] | None:
    """What stands around the values of the first line, quotes of texts with it; None if its text is not what we would write, key by key."""
    with open(file.plain, "rb") as stream:
        line = stream.readline().decode().strip()
    parts = [""]
    place = 0
    for key, value in row.items():
        shown = re.escape(json.dumps(key, ensure_ascii=False))
        text = re.escape(json.dumps(value, ensure_ascii=False)) if type(value) is str else r"[^\s,}\"]+"
        match = re.compile(rf"(\s*[{{,]\s*{shown}\s*:\s*)({text})").match(line, place)
        if match is None:
            return None
        quote = '"' if type(value) is str else ""
        parts[-1] += match[1] + quote
        parts.append(quote)
        place = match.end()
    return [*parts[:-1], parts[-1] + line[place:]] if line[place:].strip() == "}" else None


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


def _table(
    con: Any, files: Sequence[Opened], lines: int, names: list[str], kinds: dict[str, str], otherwise: Callable[[], SourceTable]
) -> UnreadTable:
    """The wanted columns with their types, as soon as someone asks."""
    keys = partition_keys(files, [names] * len(files))
    parts = partition_columns(files)
    picked = {**{key: quoted(key) for key in kinds}, **{key: f"CAST({parts[key]} AS VARCHAR)" for key in keys}}
    select = ", ".join(["true AS k", *(f"{value} AS k{i}" for i, value in enumerate(picked.values()))])
    types = {key: _TYPES[kind] for key, kind in kinds.items()} or {names[0]: "JSON"}

    def unchanged() -> None:
        for file in files:
            file.check_unchanged()

    paths = tuple(os.path.abspath(file.plain) for file in files)
    return UnreadTable(
        con,
        Scan(paths, f"(SELECT {select} FROM {_read(files, types)})", unchanged),
        names=[*names, *keys],
        kept=list(picked),
        texts=[*(key for key, kind in kinds.items() if kind == "text"), *keys],
        what=repr(files[0].shown),
        records=lines,
        held=sum(map(os.path.getsize, paths)) <= HELD,
        proven=True,
        otherwise=otherwise,
    )


def read_json(files: Sequence[Opened], wanted: Callable[[str], bool]) -> SourceTable | UnreadTable:
    """The table of one or several files, with the keys of their partitions; only columns that could be asked for are kept."""
    for file in files:
        check_text(file.plain, file.shown)
    table = engine_table(files, wanted)
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
        raise SourceError(f"No items in {files[0].shown!r}.", got="no items", need="at least one row")
    keys = partition_keys(files, [gathered.names] * len(files)) if any(file.partition for file in files) else []
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
                got = f"{with_article(_called(row))} in line {number}"
                raise SourceError(f"JSON Lines have one object per line: {file.shown!r} has {got}.", got=got, need="one object per line")
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
        raise SourceError(
            f"{file.shown!r} must hold an array of objects, not {with_article(_called(found))}.",
            got=with_article(_called(found)),
            need="an array of objects",
        )
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise SourceError(
                f"{file.shown!r} must hold an array of objects; element {place + 1} of the array is {with_article(_called(row))}.",
                got=f"{with_article(_called(row))} as element {place + 1} of the array",
                need="an array of objects",
            )
        gathered.add(row)
    return True


def _turned(file: Opened, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows out of an object of arrays, which must be of one length; or of column names beside the rows, as MLflow logs a table."""
    if set(columns) == {"columns", "data"} and _is_split(**columns):
        return _split(file, **columns)
    lengths = {key: len(value) if isinstance(value, list) else -1 for key, value in columns.items()}
    if len(set(lengths.values())) != 1 or -1 in lengths.values():
        got = "an object with " + ", ".join(f"{key!r}: {'no array' if size < 0 else size}" for key, size in list(lengths.items())[:6])
        raise SourceError(
            f"{file.shown!r} must hold an array of objects, or an object of arrays of one length, not {got}.",
            got=got,
            need="an array of objects, or an object of arrays of one length",
        )
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_split(columns: Any, data: Any) -> bool:
    return isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data)


def _split(file: Opened, columns: list[Any], data: list[Any]) -> list[dict[str, Any]]:
    """Rows out of names and values apart, as pandas writes with orient="split"."""
    texts = all(isinstance(name, str) for name in columns)
    if not texts or len(set(columns)) < len(columns):
        got = "a column whose name is not a text" if not texts else "a column name more than once"
        raise SourceError(f"{file.shown!r} has {got}.", got=got, need="each column with a name of its own")
    wrong = next((place for place, row in enumerate(data, 1) if len(row) != len(columns)), None)
    if wrong is not None:
        got = f"{len(data[wrong - 1])} values in row {wrong}"
        raise SourceError(f"{file.shown!r} has {got}, but {len(columns)} columns.", got=got, need=f"{len(columns)}, as many as columns")
    return [dict(zip(columns, row, strict=True)) for row in data]


def _called(value: object) -> str:
    return {dict: "object", list: "array", str: "text", bool: "truth value", type(None): "null"}.get(type(value), "number")
