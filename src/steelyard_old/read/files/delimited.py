"""CSV and TSV. DuckDB reads what is plainly regular; everything else goes through Python's strict reader.

DuckDB, strict mode and all, lets rows pass that are not right: `4,5,6,` under three columns, and ` "x"` without its
space; it refuses mixed line ends; and (2.0.0) it returns no row at all of a CRLF file when `new_line` is said, so that
is the one option left unsaid. So the shape is counted first (records, and delimiters outside quotes), a file goes to
DuckDB only if it adds up, and the rows must add up afterwards.
"""

# ruff: noqa: S608 - SQL is built here from quoted identifiers and literals of ours; values of users are parameters
from __future__ import annotations

import csv
import itertools
import os
from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.engines.duckdb_table import HELD, Scan, connect, exact_path, literal, partition_columns
from steelyard_old.read.engines.unread import UnreadTable
from steelyard_old.read.files.formats import check_text, partition_keys
from steelyard_old.read.files.paths import Opened
from steelyard_old.read.table import MemoryTable, SourceTable

MAX_FIELD = 64 << 20  # characters in one field
_CHUNK = 256 << 10  # what the cache of a core holds
SMALL = 128 << 10  # bytes of all files that are read here, before DuckDB would have been loaded
WIDE = 10_000  # columns: the time that DuckDB takes to begin grows with their square
_DELIMITERS = (",", "\t", ";", "|")


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file looks like from outside: its header, and whether the counts agree with it."""

    file: Opened
    header: list[str]
    delimiter: str
    records: int
    regular: bool
    mixed: bool


def read_delimited(files: Sequence[Opened], wanted: Callable[[str], bool]) -> tuple[SourceTable | UnreadTable, list[str]]:
    """The table of one or several files, united by column name, and warnings."""
    shapes = [shape_of(file) for file in files]
    warnings = [f"{shape.file.shown!r} mixes line ends (CRLF, LF or CR); read as they are" for shape in shapes if shape.mixed]
    keys = partition_keys(files, [shape.header for shape in shapes]) if any(file.partition for file in files) else []
    names = list(dict.fromkeys(name for shape in shapes for name in shape.header))
    held = Counter(name for shape in shapes for name in set(shape.header))
    absent = {name: len(shapes) - held[name] for name in names}
    warnings += [f"column {name!r} is absent from {count} of {len(shapes)} files" for name, count in absent.items() if count]
    kept = [name for name in (*names, *keys) if wanted(name)]
    names += keys
    size = sum(os.path.getsize(shape.file.plain) for shape in shapes)
    if size > SMALL and len(names) <= WIDE and all(shape.regular for shape in shapes) and any(shape.records for shape in shapes):
        return _by_engine(shapes, names, kept), warnings
    return _by_python(shapes, names, kept), warnings


# ---- the shape -----------------------------------------------------------------------------------------------------


def shape_of(file: Opened) -> Shape:
    """The shape of a file, by one pass over its bytes."""
    check_text(file.plain, file.shown)
    header, delimiter = _header(file)
    found = _OutsideQuotes(delimiter.encode()).over(file.plain)
    lines = found.newlines if found.newlines else found.returns
    records = lines + (0 if found.ended else 1)
    mixed = bool(found.newlines) and found.returns not in (0, found.newlines)
    regular = not (found.odd or mixed or not found.newlines) and found.delimiters == (len(header) - 1) * records
    return Shape(file, header, delimiter, records - 1, regular, mixed)


def _header(file: Opened) -> tuple[list[str], str]:
    """The names in the first line. A comma unless the header has none and has a tab, a semicolon or a bar."""
    with open(file.plain, encoding="utf-8-sig", newline="") as stream:
        line = stream.readline(1 << 20)
    delimiter = "\t"
    if file.format != "tsv":
        delimiter = next((each for each in _DELIMITERS if each in line), ",")
    header, _ = next(_rows(file, delimiter), ([], 0))
    if not any(header):
        raise SourceError(f"The first line of {file.shown!r} has no column names.", got="no names in the first line", need="a header")
    twice = next((name for name, many in Counter(header).items() if name and many > 1), None)
    if twice is not None:
        raise SourceError(
            f"{file.shown!r} has the column {twice!r} {header.count(twice)} times.",
            got=f"the column name {twice!r} {header.count(twice)} times",
            need="each name once",
        )
    return header, delimiter


class _OutsideQuotes:
    """Counts of what matters outside quotes, over chunks. A doubled quote inside quotes leaves and enters: no harm."""

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter
        self.newlines = self.returns = self.delimiters = 0
        self.odd = self.ended = False
        self._inside = False
        self._tail = b""
        self._before = b""

    def over(self, path: str) -> _OutsideQuotes:
        with open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                self._add(chunk)
        return self

    def _add(self, chunk: bytes) -> None:
        import numpy as np

        outside = chunk
        if self._inside or b'"' in chunk:
            parts = chunk.split(b'"')
            outside = (b'"' if self._inside else b"") + b'"'.join(parts[self._inside :: 2])
            self._inside ^= not len(parts) % 2
            seam = self._before[-2:] + chunk
            # A space beside a quote is text to some readers and nothing to others.
            self.odd |= self._delimiter + b' "' in seam or b'" ' + self._delimiter in seam
        codes = np.frombuffer(outside, np.uint8)  # bytes.count is several times slower where a byte is frequent
        ends = codes == ord("\n")
        returns = outside.count(b"\r") if b"\r" in outside else 0
        self.newlines += int(np.count_nonzero(ends))
        self.returns += returns
        self.delimiters += int(np.count_nonzero(codes == self._delimiter[0]))
        self.odd |= not self._before and outside[:1] in (b"\n", b"\r")  # a blank line at the very start
        # A blank line anywhere; two bytes are looked for in an array, since a search for them stops at every line end.
        seam = self._tail + outside[:2]
        self.odd |= b"\n\n" in seam or b"\n\r\n" in seam or bool((ends[1:] & ends[:-1]).any()) or (bool(returns) and b"\n\r\n" in outside)
        self._tail, self._before = (self._tail + outside[-2:])[-2:], chunk[-2:]
        self.ended = chunk.endswith((b"\n", b"\r"))


# ---- the two readers -----------------------------------------------------------------------------------------------


def _by_engine(shapes: Sequence[Shape], names: Sequence[str], kept: Sequence[str]) -> UnreadTable:
    """The kept columns as text, by DuckDB, as soon as someone asks; by the strict reader if DuckDB then objects."""

    def unchanged() -> None:
        for shape in shapes:
            shape.file.check_unchanged()

    paths = tuple(os.path.abspath(shape.file.plain) for shape in shapes)
    return UnreadTable(
        connect(paths),
        Scan(paths, f"({_selects(shapes, kept)})", unchanged),
        names=names,
        kept=kept,
        texts=kept,
        what=repr(shapes[0].file.shown),
        records=sum(shape.records for shape in shapes),
        held=sum(map(os.path.getsize, paths)) <= HELD,
        proven=False,
        otherwise=lambda: _by_python(shapes, names, kept),
    )


def _selects(shapes: Sequence[Shape], kept: Sequence[str]) -> str:
    """One SELECT for every run of files that look alike: thousands of them in one list are no trouble, in a UNION they are."""
    alike = itertools.groupby(shapes, key=lambda shape: (shape.header, shape.delimiter))
    return " UNION ALL ".join(_select(list(group), kept) for _, group in alike)


def _select(shapes: Sequence[Shape], kept: Sequence[str]) -> str:
    """Every option but new_line (see above) is said, so that nothing is sniffed. An empty field is NULL, quoted or not."""
    first = shapes[0]
    columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(first.header)))
    place = {name: f"c{i}" for i, name in enumerate(first.header)}
    if first.file.partition:
        place |= partition_columns([shape.file for shape in shapes])
    picked = ", ".join(["true AS k", *(f"CAST({place.get(name, 'NULL')} AS VARCHAR) AS k{i}" for i, name in enumerate(kept))])
    paths = ", ".join(literal(exact_path(os.path.abspath(shape.file.plain))) for shape in shapes)
    options = "auto_detect = false, header = true, quote = '\"', escape = '\"', nullstr = '', strict_mode = true, null_padding = false"
    extra = "ignore_errors = false, hive_partitioning = false, filename = false, compression = 'none'"
    return f"SELECT {picked} FROM read_csv([{paths}], columns = {{{columns}}}, delim = {literal(first.delimiter)}, {options}, {extra})"


def _by_python(shapes: Sequence[Shape], names: Sequence[str], kept: Sequence[str]) -> MemoryTable:
    columns: dict[str, list[Any]] = {name: [] for name in kept}
    n = 0
    for shape in shapes:
        here = [name for name in kept if name in shape.header]
        rows = _records(shape, [shape.header.index(name) for name in here])
        for name, values in zip(here, zip(*rows, strict=True) if rows else (), strict=False):
            columns[name] += [value or None for value in values]
        n += len(rows)
        for key, part in shape.file.partition.items():
            if key in columns:
                columns[key] += [part] * len(rows)
        for name in kept:
            columns[name] += [None] * (n - len(columns[name]))
        shape.file.check_unchanged()
    if not n:
        raise SourceError(f"{shapes[0].file.shown!r} has a header but no rows.", got="a header and no items", need="at least one row")
    return MemoryTable(names, lambda place: columns[names[place]], n)


def _records(shape: Shape, places: Sequence[int]) -> list[tuple[str, ...]]:
    """The fields at some places of every record after the header; a record of another width is an error."""
    width = len(shape.header)
    pick = itemgetter(*places) if len(places) > 1 else (lambda row: tuple(row[place] for place in places))
    found: list[tuple[str, ...]] = []
    rows = _rows(shape.file, shape.delimiter)
    next(rows)
    for row, line in rows:
        if len(row) != width:
            got = f"{len(row)} fields in line {line}"
            raise SourceError(
                f"Line {line} of {shape.file.shown!r} has {len(row)} {'field' if len(row) == 1 else 'fields'}; the header has {width}.",
                got=got,
                need=f"{width}, as in the header",
                hint="quote fields that hold the delimiter",
            )
        found.append(pick(row))
    return found


def _rows(file: Opened, delimiter: str) -> Any:
    """(fields, line) of each record, strictly. Blank lines are no records, except where a record is one field."""
    limit = csv.field_size_limit(MAX_FIELD)
    try:
        with open(file.plain, encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            width, line = 0, 1
            try:
                for row in reader:
                    if row or width == 1:
                        width = width or len(row)
                        yield row or [""], line
                    line = reader.line_num + 1
            except csv.Error as error:
                hint = "close the quote, or double a quote inside quotes"
                raise SourceError(
                    f"{file.shown!r} is not regular CSV: {error} in the record of line {line}.",
                    got=f"{error} in the record of line {line}",
                    need="regular CSV",
                    hint=hint,
                ) from None
    finally:
        csv.field_size_limit(limit)
