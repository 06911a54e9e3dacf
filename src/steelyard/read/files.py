"""Files and frames as one relation of DuckDB, with everything said and nothing guessed: text columns stay the text that was written."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import itertools
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from steelyard.base.problem import SteelyardError
from steelyard.base.words import several

if TYPE_CHECKING:
    import duckdb

MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"PK\x03\x04": "archive", b"SQLite format 3": "sqlite"}
ENDINGS = {
    "csv": "csv",
    "tsv": "tsv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "json",
    "parquet": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
    "txt": "txt",
}
FILE = "_file_"  # the column with the file of each row


@lru_cache(maxsize=1)
def connection() -> duckdb.DuckDBPyConnection:
    """One private DuckDB for all that is local. It fetches no extension and looks at no variable of the caller."""
    import duckdb

    con = duckdb.connect()
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements", "enable_progress_bar"):
        con.execute(f"SET {setting} = false")
    con.execute("SET TimeZone = 'UTC'")
    return con


def literal(text: object) -> str:
    """A text in SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def resolve(text: str) -> list[str]:
    """The regular files behind a path, a directory or a pattern, sorted."""
    pattern = os.path.join(glob.escape(text), "**", "*.*") if os.path.isdir(text) else text
    found = (
        [text]
        if os.path.lexists(text) and pattern == text
        else sorted(p for p in glob.glob(pattern, recursive=True) if not os.path.isdir(p))
    )
    if not found:
        raise SteelyardError(f"No such file: {text!r}.", hint=_near(text))
    for path in found:
        try:
            regular = os.path.isfile(path)
        except OSError:
            regular = False
        if not regular:  # a loop of links, a pipe (opening it would wait for ever), a device
            raise SteelyardError(f"{path!r} is not a regular file that can be read.")
    return found


def _near(text: str) -> str:
    import difflib

    folder = os.path.dirname(text) or "."
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    near = difflib.get_close_matches(os.path.basename(text), names, 1)
    return f"did you mean {os.path.join(os.path.dirname(text), near[0])}?" if near else ""


def head_of(path: str) -> tuple[str, str, bytes]:
    """The format, the compression and the first bytes of a file."""
    with open(path, "rb") as stream:
        head = stream.read(65_536)
    packed = "gzip" if head[:2] == b"\x1f\x8b" else "zstd" if head[:4] == b"\x28\xb5\x2f\xfd" else "none"
    if packed == "gzip":
        with gzip.open(path) as unpacked:
            head = unpacked.read(65_536)
    if packed == "zstd":  # DuckDB unpacks it: one line of it is enough for a header
        said = "columns = {'l': 'VARCHAR'}, delim = '\x01', quote = '', header = false, compression = 'zstd', auto_detect = false"
        line = connection().execute(f"SELECT * FROM read_csv({literal(path)}, {said}) LIMIT 1").fetchone()
        head = line[0].encode() if line else b""
    if not head.strip():
        raise SteelyardError(f"{path!r} is empty.")
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), "")
    if kind in ("archive", "sqlite") or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise SteelyardError(f"{path!r} is an archive, a database, a spreadsheet, or not UTF-8.", hint="save it as CSV or Parquet in UTF-8")
    ending = os.path.basename(path).lower().removesuffix(".gz").removesuffix(".zst").rpartition(".")[2]
    if not kind and not ENDINGS.get(ending, "").startswith(("parquet", "arrow")):
        try:
            head.decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            if fault.start < len(head) - 4:
                raise SteelyardError(f"{path!r} is not UTF-8: byte {fault.start}.", hint="save it in UTF-8") from None
    return kind or ENDINGS.get(ending) or ("json" if head.lstrip()[:1] in (b"[", b"{") else "csv"), packed, head


def header_of(head: bytes, path: str, kind: str) -> tuple[list[str], str]:
    """Column names and the delimiter: a comma, unless the first line has none and has a tab, a semicolon or a bar."""
    line = head.decode("utf-8-sig", errors="ignore").partition("\n")[0]
    delimiter = "\t" if kind == "tsv" else next((each for each in ",\t;|" if each in line), ",")
    names = next(csv.reader(io.StringIO(line), delimiter=delimiter))
    if len(set(names)) < len(names) or not all(names):
        raise SteelyardError(f"The header of {path!r} must give each column a name of its own: {several(names, 12)}.")
    return names, delimiter


def reader_of(path: str) -> tuple[str, str]:
    """How DuckDB reads one file, with everything said."""
    kind, packed, head = head_of(path)
    more = f"compression = {literal(packed)}, filename = {literal(FILE)}"
    line = head.decode("utf-8-sig", errors="ignore").partition("\n")[0].strip()
    if kind == "txt" or (kind == "csv" and re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", line, re.IGNORECASE)):  # numbers, one a line
        return (
            "read_csv",
            f"columns = {{'score': 'VARCHAR'}}, delim = '\x01', quote = '', header = false, nullstr = '', auto_detect = false, {more}",
        )
    if kind in ("csv", "tsv"):
        names, delimiter = header_of(head, path, kind)
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
        said = f"columns = {{{columns}}}, delim = {literal(delimiter)}, quote = '\"', escape = '\"', header = true, nullstr = ''"
        return "read_csv", f"{said}, auto_detect = false, strict_mode = true, {more}"
    if kind in ("jsonl", "json"):
        shape = "newline_delimited" if kind == "jsonl" else "auto"
        return "read_json", f"format = '{shape}', sample_size = -1, maximum_depth = 1, {more.replace('none', 'uncompressed')}"
    if kind == "parquet":
        return "read_parquet", f"filename = {literal(FILE)}"
    return kind, ""


def read_files(paths: list[str], what: str) -> Any:
    """A relation with all rows of all files, united by name, and the file of each row."""
    import duckdb

    con = connection()
    try:
        if head_of(paths[0])[0] == "arrow":
            import pyarrow as pa
            from pyarrow import feather

            return read_frame(pa.concat_tables([feather.read_table(path) for path in paths], promote_options="default"))
        parts = []
        for (function, options), group in itertools.groupby(paths, reader_of):  # thousands of files in one list are no trouble
            exact = [re.sub(r"([*?\[])", r"[\1]", os.path.abspath(path)) for path in group]
            parts.append(f"SELECT * FROM {function}([{', '.join(map(literal, exact))}], {options})")
        return con.sql(" UNION ALL BY NAME ".join(parts))
    except duckdb.Error as error:
        raise SteelyardError(f"Cannot read {what!r}: {_first(error)}") from None


def _first(error: Exception) -> str:
    line = " ".join(str(error).split("\n\n")[0].split())
    return re.sub(r"^\w+ \w*[Ee]rror: ", "", line)[:200].rstrip(".") + "."


class _Stream:
    """Only the Arrow stream of a frame: DuckDB then needs no pyarrow for it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        return self._frame.__arrow_c_stream__(schema)


def read_frame(frame: Any) -> Any:
    """pandas, polars, pyarrow, anything with an Arrow stream: the rows stay where they are, DuckDB looks at them."""
    if hasattr(frame, "iloc"):  # pandas: a mixed column of objects would silently become text
        from pandas.api.types import infer_dtype

        for name in frame.columns:
            if frame[name].dtype == object and (kind := infer_dtype(frame[name], skipna=True)).startswith("mixed"):
                raise SteelyardError(f"The column {name!r} mixes types ({kind}).", hint="convert it to one type")
    elif not type(frame).__module__.startswith("duckdb"):
        frame = _Stream(frame)
    else:
        return frame
    name = f"frame_{id(frame):x}"
    connection().register(name, frame)
    return connection().table(name)


def fetched(relation: Any, names: list[str], what: str) -> dict[str, Any]:
    """Columns of a relation as NumPy has them; what is missing is masked."""
    import duckdb

    try:
        found: dict[str, Any] = relation.project(", ".join(map(quoted, names))).fetchnumpy()
        return found
    except duckdb.Error as error:
        raise SteelyardError(f"Cannot read {what!r}: {_first(error)}", hint="is each line complete, and the file UTF-8?") from None
