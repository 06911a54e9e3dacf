"""A table or query of a database as a source: postgresql://, sqlite:/// and duckdb:/// with ?table= or ?query=."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from steelyard_old.databases import server_settings
from steelyard_old.errors import UsageError
from steelyard_old.late_pattern import late_pattern
from steelyard_old.read.engines.connections import Connection, Duckdb, PostgresEngine, SqliteEngine
from steelyard_old.read.engines.tables import SqlTable
from steelyard_old.read.roles import assign
from steelyard_old.read.source import Source

_URL = late_pattern(r"(?:([^=/:?#]+)=)?((?:postgresql|postgres|sqlite|duckdb)://.*)\Z", re.DOTALL)
_TOKEN = late_pattern(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | \$(\w*)\$.*?\$\1\$ | --[^\n]* | /\*.*?\*/ | ; | \w+ | \s+ | .""", re.DOTALL | re.VERBOSE
)
_PART = late_pattern(r'"((?:[^"]|"")+)"|([^."]+)')
_HINT = "postgresql://user@host:5432/db?table=schema.t, sqlite:///file.db?table=t, duckdb:///file.db?query=SELECT ..."


def is_database(text: str) -> bool:
    """Whether a text names a table or query of a database, possibly as name=URL.

    >>> is_database("sqlite:///runs.db?table=t"), is_database("new=duckdb:///a.db?table=t"), is_database("a=b.csv")
    (True, True, False)
    """
    return _URL.match(text) is not None


def open_database(url: str, columns: Mapping[str, object]) -> Source:
    """The source behind a URL, or behind name=URL. Read only; the URL, which may hold a password, is never shown.

    A path after sqlite:/// or duckdb:/// is relative; one more slash makes it absolute. Everything but table= and query= is
    handed to PostgreSQL (sslmode, host for a socket ...). Quotes make a dot part of a name: ?table="my.table".
    """
    matched = _URL.match(url)
    if matched is None:
        raise UsageError("The address of a database must be a URL.", need="a URL", hint=_HINT)
    name, address = matched.groups()
    address, _, tail = address.partition("?")
    asked = options(tail)
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  a port that is no number is found out here
    except ValueError:
        raise UsageError("The address of the database is malformed.", got="a malformed URL", need="a URL", hint=_HINT) from None
    table, query = asked.pop("table", None), asked.pop("query", None)
    if bool(table) == bool(query):
        got = "both table= and query=" if table else "neither table= nor query="
        raise UsageError(
            f"The address of the {parts.scheme} database must name one of table= and query=, but has {'both' if table else 'neither'}.",
            got=got,
            need="one of them",
            hint=_HINT,
        )
    if table:
        shown, relation = f"the table {table!r}", None
    else:
        shown, relation = "the query", f"({single_select(str(query))}\n)"  # the line ends a comment at the end of the query
    what = f"{shown} of the {'postgresql' if parts.scheme == 'postgres' else parts.scheme} database"
    place = _connect(parts, asked, what)
    try:
        relation = relation or ".".join(place.dialect.quoted(part) for part in name_parts(str(table)))
        found = SqlTable(place, relation, place.names(relation), what=what)
        chosen = assign(found.names, columns)
    except BaseException:
        place.close()
        raise
    found.keep([*chosen.roles.values(), *chosen.by, *(chosen.ratio or ())])
    return Source(found, chosen, name=name or (name_parts(table)[-1] if table else None))


def options(tail: str) -> dict[str, str]:
    """What stands after the question mark. A query takes all the rest, so that it may hold & and +; %25 is a percent sign.

    >>> options("sslmode=require&query=SELECT a+b FROM t WHERE c = '&'")
    {'sslmode': 'require', 'query': "SELECT a+b FROM t WHERE c = '&'"}
    """
    found: dict[str, str] = {}
    while tail:
        key, _, rest = tail.partition("=")
        value, _, tail = (rest, "", "") if key == "query" else rest.partition("&")
        found[unquote(key)] = unquote(value)
    return found


def _connect(parts: SplitResult, asked: Mapping[str, str], what: str) -> Connection:
    path = unquote(parts.path)
    if parts.scheme in ("postgresql", "postgres"):
        return PostgresEngine({**server_settings(parts), **asked}, what)
    if parts.netloc or asked or path in ("", "/"):
        got = f"the option {min(asked)!r}" if asked else "no path after three slashes"
        raise UsageError(
            f"The address of {what} needs a path and table= or query=; it has {got}.",
            got=got,
            need="a path and table= or query=",
            hint=_HINT,
        )
    return (SqliteEngine if parts.scheme == "sqlite" else Duckdb)(path[1:], what)


def name_parts(table: str) -> list[str]:
    """The parts of schema.table, with quotes around a part that has a dot of its own.

    >>> name_parts("public.runs"), name_parts('main."a.b"'), name_parts("item results")
    (['public', 'runs'], ['main', 'a.b'], ['item results'])
    """
    parts, place = [], 0
    while True:
        found = _PART.match(table, place)
        if found is None:
            raise UsageError(
                f"The name of a table must be table, schema.table, or quoted parts, not {table!r}.",
                got=repr(table),
                need="table, schema.table, or quoted parts",
            )
        parts.append(found[1].replace('""', '"') if found[1] else found[2])
        place = found.end()
        if place == len(table):
            return parts
        if table[place] != ".":
            raise UsageError(
                f"The name of a table must be table, schema.table, or quoted parts, not {table!r}.",
                got=repr(table),
                need="table, schema.table, or quoted parts",
            )
        place += 1


def single_select(query: str) -> str:
    """The query, if it is one SELECT (or WITH ... SELECT). What writes is refused here, and again by the connection.

    >>> single_select("SELECT id, 'a;b' AS t FROM runs ; ")
    "SELECT id, 'a;b' AS t FROM runs"
    """
    tokens = [found[0] for found in _TOKEN.finditer(query)]
    while tokens and (tokens[-1].isspace() or tokens[-1] == ";"):
        tokens.pop()
    words = [token for token in tokens if not token.isspace() and not token.startswith(("--", "/*"))]
    if not words or words[0].upper() not in ("SELECT", "WITH") or ";" in words:
        got = "no query" if not words else "several statements" if ";" in words else f"a statement that starts with {words[0][:20]!r}"
        raise UsageError(
            f"The query must be a single SELECT (or WITH ... SELECT), not {got}.", got=got, need="a single SELECT (or WITH ... SELECT)"
        )
    return "".join(tokens)
