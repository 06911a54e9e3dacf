"""The history itself: runs are added, listed by pages, and read again; nothing is ever changed or removed but kept answers, if asked."""

from __future__ import annotations

import hashlib
import json
import math
import os
import uuid
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any

from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.history.address import Address, parse_address
from steelyard_old.history.connections import HistoryDatabase, PostgresHistory, SqliteHistory
from steelyard_old.history.entries import COMMANDS, canonical, entry_of, utc, without_texts
from steelyard_old.history.schema import (
    ANSWERS,
    COLUMNS,
    LISTS,
    MAKE_ANSWERS,
    MAKE_VERSIONS,
    MAPPINGS,
    OUTCOMES,
    RUNS,
    VERSION,
    VERSIONS,
    steps_from,
)
from steelyard_old.options.history import LIMIT, OPEN
from steelyard_old.options.option import documented
from steelyard_old.redaction import redacted
from steelyard_old.results.base import plain
from steelyard_old.results.history import HeldAgainst, PastRun
from steelyard_old.version import __version__

BITS, DOUBLES = "bits", "doubles"
_LARGEST = 1 << 30  # bytes of ids or scores: what claims to unpack to more is no history of ours


class NoRunsError(SourceError):
    """A database that no run was ever put into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The ids and scores of a run, in the order of the ids. `digest` says both; two runs that share it had the same outcomes."""

    n: int
    items: str
    ids: bytes
    packing: str
    scores: bytes
    digest: str


def pack(scores: Mapping[str, float]) -> Packed:
    """Ids with their scores, ready for the database.

    >>> packed = pack({"b": 1.0, "a": 0.0})
    >>> packed.packing, unpack(packed.n, packed.ids, packed.packing, packed.scores)
    ('bits', {'a': 0.0, 'b': 1.0})
    """
    if not scores:
        raise DataError("The run has no items to keep.", got="no items", need="at least one")
    named = {str(name): float(score) for name, score in scores.items()}
    if len(named) < len(scores):
        raise DataError("Two ids read the same as text.", got="two ids that read the same as text", need="an id for each item")
    names = sorted(named)
    values = [named[name] for name in names]
    if not all(map(math.isfinite, values)):
        raise DataError("A score is not a finite number.", got="a score that is no finite number", need="finite scores")
    listed = json.dumps(names, ensure_ascii=True, separators=(",", ":")).encode()
    if all(value in (0.0, 1.0) for value in values):
        packing, data = BITS, _bits(values)
    else:
        packing, data = DOUBLES, _doubles(values)
    items = hashlib.sha256(listed).hexdigest()
    digest = hashlib.sha256(f"{items} {packing} ".encode() + data).hexdigest()
    return Packed(n=len(names), items=items, ids=zlib.compress(listed, 6), packing=packing, scores=zlib.compress(data, 6), digest=digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRun:
    """A run that is ready to be added: as it will be read, as its row, and its items."""

    run: PastRun
    row: Sequence[Any]
    packed: Packed | None


def unpack(n: int, ids: bytes, packing: str, scores: bytes) -> dict[str, float]:
    """The scores by id, as they were packed. What does not fit together is refused."""
    names, values = unpack_rows([("", "", n, ids, packing, scores)])[""]
    return dict(zip(names, values, strict=True))


def unpack_rows(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[list[str], list[float]]]:
    """Ids and scores by the name of each row; rows of the same items share one list of ids. What does not fit together is refused.

    rows: name, digest of the ids, how many, ids, packing, scores, as the database has them.
    """
    lists: dict[str, list[str]] = {}
    out = {}
    for name, items, n, ids, packing, scores in rows:
        try:
            if items not in lists:
                lists[items] = json.loads(_expanded(ids))
            names, data = lists[items], _expanded(scores)
            values = _of_bits(data, int(n)) if packing == BITS else _of_doubles(data)
            if not isinstance(names, list) or not len(names) == len(values) == n:
                raise ValueError(f"{n} items, {len(names)} ids and {len(values)} scores")
        except (zlib.error, ValueError, TypeError) as fault:
            raise damaged(str(fault)) from None
        out[str(name)] = (names, values)
    return out


def unpack_list(data: bytes) -> list[Any]:
    """A list of texts, as it was packed."""
    try:
        return list(json.loads(_expanded(data)))
    except (zlib.error, ValueError, TypeError) as fault:
        raise damaged(str(fault)) from None


def damaged(why: str) -> SourceError:
    return SourceError(
        f"The items of the run are damaged ({why}).", got=f"damaged data ({why})", need="what was written", hint="restore a backup"
    )


def _expanded(data: bytes) -> bytes:
    one = zlib.decompressobj()
    text = one.decompress(bytes(data), _LARGEST)
    if not one.eof:
        raise ValueError("cut short, or far too long")
    return text


def _bits(values: list[float]) -> bytes:
    out = bytearray((len(values) + 7) // 8)
    for place, value in enumerate(values):
        out[place >> 3] |= int(value) << (place & 7)
    return bytes(out)


def _of_bits(data: bytes, n: int) -> list[float]:
    if len(data) != (n + 7) // 8:
        raise ValueError(f"{len(data)} bytes for {n} bits")
    return [float(data[place >> 3] >> (place & 7) & 1) for place in range(n)]


def _doubles(values: list[float]) -> bytes:
    data = array("d", values)
    if _BIG:
        data.byteswap()
    return data.tobytes()


def _of_doubles(data: bytes) -> list[float]:
    out = array("d")
    out.frombytes(data)
    if _BIG:
        out.byteswap()
    return list(out)


_BIG = array("H", [1]).tobytes() == b"\x00\x01"  # bytes are kept little end first, whoever wrote them


# ruff: noqa: S608 - SQL is built here from names of our own; values of users are parameters


LARGEST_PAGE = 10_000
ROWS_AT_ONCE = 2_000
NAMES_AT_ONCE = 400
LISTED = tuple(name for name in COLUMNS if name != "result")  # a page does not carry whole answers
SHORTEST = 4  # letters of an id that is cut


@documented(
    OPEN,
    "a History",
)
def open_history(url: str, *, base: str | os.PathLike[str] | None = None, create: bool = True) -> History:
    """The history at sqlite:///PATH or postgresql://..., made or brought up to date if need be.

    A relative path is relative to `base`. With create=False a file that is not there is an error, and tables are not made.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> with tempfile.TemporaryDirectory() as there, open_history(f"sqlite:///{there}/runs.db") as history:
    ...     found = sy.list_runs(history=history)
    >>> found.total
    0
    """
    return History(parse_address(url, base), create=create)


class History:
    """A database of runs. Use it as a context manager, or close it."""

    def __init__(self, address: Address, *, create: bool = True) -> None:
        self.shown = address.shown
        self._place: HistoryDatabase = SqliteHistory(address, create=create) if address.path is not None else PostgresHistory(address)
        try:
            self._prepare(writable=not self._place.read_only, create=create)
        except BaseException:
            self._place.close()
            raise

    def __repr__(self) -> str:
        """Its address alone: what is printed in a debugger asks no server."""
        return f"<History: {self.shown}>"

    def __enter__(self) -> History:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._place.close()

    # ---- the tables ----------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The version of the tables; 0 if there are none."""
        if not self._place.has_table(VERSIONS):
            return 0
        return int(self._place.run(f'SELECT COALESCE(MAX("version"), 0) FROM {VERSIONS}')[0][0])

    def _prepare(self, *, writable: bool, create: bool) -> None:
        found = self.version
        if found == 0 and not create:
            raise NoRunsError(
                f"The database {self.shown} has no runs of steelyard.",
                got="a database without runs of steelyard",
                need="a history",
                hint="use history= to store runs",
            )
        if found < VERSION and writable:
            with self._place.changing_tables():
                found = self.version  # another process may have been here
                self._refuse_later(found)
                self._place.run(MAKE_VERSIONS)
                for number, statements in steps_from(found, bytes_type=self._place.bytes_type):
                    for sql in statements:
                        self._place.run(sql)
                    self._place.run(f"INSERT INTO {VERSIONS} VALUES (?, ?)", [number, utc()])
                    found = number
                self._help()
        self._refuse_later(found)
        if found < VERSION:
            raise SourceError(
                f"The history {self.shown} has version {found}, which cannot be upgraded to {VERSION} in read-only mode.",
                got=f"version {found}, which cannot be upgraded in read-only mode",
                need=f"version {VERSION}",
                hint="open it once where it can be written to, without mode=ro",
            )

    def _refuse_later(self, found: int) -> None:
        if found > VERSION:
            raise SourceError(
                f"The history {self.shown} was written by a newer steelyard (version {found}, known up to {VERSION}).",
                got=f"version {found} of its tables",
                need=f"version {VERSION} or an earlier one",
                hint="upgrade steelyard",
            )

    # ---- adding --------------------------------------------------------------------------------------------------------

    def append(
        self,
        result: Any,
        *,
        items: Mapping[str, float] | None = None,
        command: str | None = None,
        task: str | None = None,
        model: str | None = None,
        metric: str | None = None,
        spec: Mapping[str, Any] | None = None,
        protocol: Mapping[str, Any] | None = None,
        time: datetime | str | None = None,
        by: str | None = None,
        commit: str | None = None,
        id_: str | None = None,
        texts: bool = False,
    ) -> PastRun:
        """Add a run: a `Verdict`, `Recorded`, `Evaluation` or `Measurement`, and its items as a mapping of ids to scores.

        The run and its items are there together or not at all. texts: also what its changed items were asked and answered. Returns the
        run as it was kept.
        """
        made = made_run(
            result,
            items=items,
            command=command,
            task=task,
            model=model,
            metric=metric,
            spec=spec,
            protocol=protocol,
            time=time,
            by=by,
            commit=commit,
            id_=id_,
            texts=texts,
        )
        with self._place.writing():
            self._insert(made)
        return made.run

    def _insert(self, made: MadeRun) -> None:
        """Within a transaction: the run and its items."""
        self._help()
        self._place.run(f"INSERT INTO {RUNS} ({_names(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})", made.row)
        if made.packed is not None:
            self._keep(made.run.id, made.packed)

    def append_once(self, id_: str, result: Any, *, time: datetime | str | None = None, **facts: Any) -> PastRun | None:
        """Add a run under an id of its own, 32 hexadecimal digits; None if it is there already, also if another writer was faster.

        facts: as for `append`.
        """
        if has_run(self, id_):
            return None
        try:
            return self.append(result, id_=id_, time=time, **facts)
        except SteelyardError:
            if has_run(self, id_):
                return None
            raise

    def _help(self) -> None:
        for sql in self._place.helped_by:
            self._place.run(sql)

    def _keep(self, run: str, packed: Packed) -> None:
        self._keep_list(packed.items, packed.n, packed.ids)
        self._place.run(
            f'INSERT INTO {OUTCOMES} ("run", "items", "packing", "scores") VALUES (?, ?, ?, ?)',
            [run, packed.items, packed.packing, packed.scores],
        )

    def _keep_list(self, digest: str, n: int, ids: bytes) -> None:
        self._place.run(f'INSERT INTO {LISTS} ("digest", "n", "ids") VALUES (?, ?, ?) ON CONFLICT ("digest") DO NOTHING', [digest, n, ids])

    # ---- reading -------------------------------------------------------------------------------------------------------

    def runs(
        self,
        *,
        task: str | None = None,
        model: str | None = None,
        spec: Mapping[str, Any] | None = None,
        metric: str | None = None,
        verdict: str | None = None,
        command: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = LIMIT.default,
        after: str | None = None,
    ) -> tuple[list[PastRun], str | None, int]:
        """A page of runs, newest first; what `after` must be for the next one (None at the end); how many there are in all.

        A spec is matched whole: {} finds the runs without one. `since` is the first moment that counts, `until` the first that
        does not. `after` is the id of the last run of the page before: runs that are added meanwhile move nothing.
        """
        if limit is None or not 1 <= limit <= LARGEST_PAGE:
            raise UsageError(f"limit must be 1 to {LARGEST_PAGE:,}, not {limit}.", got=f"a limit of {limit}", need=f"1 to {LARGEST_PAGE:,}")
        where = _conditions(task=task, model=model, spec=spec, metric=metric, verdict=verdict, command=command, since=since, until=until)
        with self._place.reading():
            total = int(self._place.run(f"SELECT COUNT(*) FROM {RUNS}{_where(where)}", [value for _, value in where])[0][0])
            values: list[Any] = [value for _, value in where]
            if after is not None:
                last = self._found(after)
                where.append(('("time", "id") < (?, ?)', None))
                values += [last.time, last.id]
            rows = self._place.run(page_query(where), [*values, limit + 1])
        found = [run_of(LISTED, row) for row in rows[:limit]]
        return found, found[-1].id if len(rows) > limit else None, total

    def run(self, id_: str) -> PastRun:
        """One run with its whole result, by its id or the beginning of it."""
        with self._place.reading():
            return self._found(id_, COLUMNS)

    def items(self, id_: str) -> dict[str, float] | None:
        """The scores of a run by item; None if they were not kept."""
        with self._place.reading():
            run = self._found(id_)
        if run.outcomes is None:
            return None
        names, values = items_of(self, [run.id])[run.id]
        return dict(zip(names, values, strict=True))

    # ---- answers, which may be dropped again ---------------------------------------------------------------------------

    def keep_answers(self, id_: str, answers: Mapping[str, Mapping[str, str]]) -> None:
        """Keep texts of a run's items: id -> prompt, target, answer. The table is made when the first run wants it."""
        data = zlib.compress(json.dumps(answers, separators=(",", ":")).encode(), 6)
        if not self._place.has_table(ANSWERS):
            with self._place.changing_tables():
                self._place.run(MAKE_ANSWERS.format(bytes=self._place.bytes_type))
        with self._place.writing():
            self._place.run(f'INSERT INTO {ANSWERS} ("run", "answers") VALUES (?, ?) ON CONFLICT ("run") DO NOTHING', [id_, data])

    def answers(self, id_: str) -> dict[str, dict[str, str]] | None:
        """The texts of a run by item; None if they were not kept, or dropped."""
        if not self._place.has_table(ANSWERS):
            return None
        with self._place.reading():
            rows = self._place.run(f'SELECT "answers" FROM {ANSWERS} WHERE "run" = ?', [id_])
        if not rows:
            return None
        try:
            found: Any = json.loads(_expanded(bytes(rows[0][0])))
        except (zlib.error, ValueError) as fault:
            raise SourceError(f"The answers of run {id_[:8]} are damaged ({fault}).", got="damaged data", need="what was written") from None
        return {str(name): dict(texts) for name, texts in found.items()}

    def drop_answers(self, ids: Sequence[str]) -> int:
        """Remove the texts of these runs for good; everything else of them stays. How many had any."""
        kept, had = self._place.has_table(ANSWERS), 0
        with self._place.writing():
            for id_ in ids:
                apart = kept and bool(self._place.run(f'SELECT 1 FROM {ANSWERS} WHERE "run" = ?', [id_]))
                if apart:
                    self._place.run(f'DELETE FROM {ANSWERS} WHERE "run" = ?', [id_])
                had += self._drop_texts(id_) or apart
        self._place.forget()
        return had

    def _drop_texts(self, id_: str) -> bool:
        """Take the texts out of a result that was stored with them; whether there were any."""
        rows = self._place.run(f'SELECT "result" FROM {RUNS} WHERE "id" = ?', [id_])
        result = json.loads(rows[0][0]) if rows and isinstance(rows[0][0], str) else None
        plain = without_texts(result)
        if plain == result:
            return False
        self._place.run(f'UPDATE {RUNS} SET "result" = ? WHERE "id" = ?', [_json(plain), id_])
        return True

    def _found(self, id_: str, names: Sequence[str] = LISTED) -> PastRun:
        asked = id_.strip().lower().replace("-", "")
        if len(asked) < SHORTEST or not all(char in "0123456789abcdef" for char in asked):
            raise UsageError(
                f"Name the run by its id or at least {SHORTEST} letters of its beginning, not by {id_!r}.",
                got=repr(id_),
                need=f"an id, or at least {SHORTEST} letters of its beginning",
            )
        rows = self._place.run(
            f'SELECT {_names(names)} FROM {RUNS} WHERE "id" >= ? AND "id" <= ? ORDER BY "id" LIMIT 2', [asked, asked + "g"]
        )
        rows = [row for row in rows if str(row[0]).startswith(asked)]
        if len(rows) != 1:
            got = "no run" if not rows else "several runs"
            raise DataError(
                f"{'Several runs have' if rows else 'No run has'} an id that begins with {id_!r}.",
                got=f"{got} whose id begins so",
                need="the id of one run",
                hint="sy.list_runs() lists the ids",
            )
        return run_of(names, rows[0])


def made_run(
    result: Any,
    *,
    items: Mapping[str, float] | None = None,
    command: str | None = None,
    task: str | None = None,
    model: str | None = None,
    metric: str | None = None,
    spec: Mapping[str, Any] | None = None,
    protocol: Mapping[str, Any] | None = None,
    time: datetime | str | None = None,
    by: str | None = None,
    commit: str | None = None,
    id_: str | None = None,
    texts: bool = False,
) -> MadeRun:
    """A run as `append` takes it, ready for the database; nothing is written yet."""
    if command is not None and command not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise UsageError(f"The history keeps runs of {known}, not of {command!r}.", got=f"the command {command!r}", need=f"one of {known}")
    packed = None if items is None else pack(items)
    said = entry_of(result, task=task, model=model, metric=metric)
    said["result"] = redacted(said["result"]) if texts else without_texts(said["result"])
    run = PastRun(
        **{
            **said,
            "id": id_ or uuid.uuid4().hex,
            "time": utc(time),
            "command": command or said["command"],
            "spec": json.loads(canonical(spec if spec is not None else said.get("spec"))),
            "protocol": json.loads(canonical(protocol)),
            "by": by,
            "commit": commit,
            "tool": f"steelyard {__version__}",
            "outcomes": None if packed is None else packed.digest,
        }
    )
    return MadeRun(run=run, row=_row(run), packed=packed)


def chunks(names: Sequence[str]) -> list[Sequence[str]]:
    """Names by the few hundred, as many as one query may ask for."""
    return [names[start : start + NAMES_AT_ONCE] for start in range(0, len(names), NAMES_AT_ONCE)]


def database_of(history: History) -> HistoryDatabase:
    """Where a history lies, for what is kept beside its runs. It is no method: who has a history can add to it, and no more."""
    return history._place


def insert_run(history: History, made: MadeRun) -> None:
    """Within a transaction: a run and its items."""
    history._insert(made)


def keep_list(history: History, digest: str, n: int, ids: bytes) -> None:
    """Within a transaction: a packed list, by its digest, once."""
    history._keep_list(digest, n, ids)


def has_run(history: History, id_: str) -> bool:
    """Whether there is a run of this whole id."""
    with history._place.reading():
        return bool(history._place.run(f'SELECT 1 FROM {RUNS} WHERE "id" = ?', [id_]))


def items_of(history: History, ids: Sequence[str]) -> dict[str, tuple[list[str], list[float]]]:
    """Ids and scores of runs whose items were kept, by the whole id of the run; runs of the same items share one list of ids."""
    found: dict[str, tuple[list[str], list[float]]] = {}
    kept = f'SELECT o."run", o."items", l."n", l."ids", o."packing", o."scores" FROM {OUTCOMES} o JOIN {LISTS} l ON l."digest" = o."items"'
    for some in chunks(ids):
        with history._place.reading():
            rows = history._place.run(f'{kept} WHERE o."run" IN ({", ".join("?" * len(some))})', some)
        found |= unpack_rows(rows)
    if lacking := [id_ for id_ in ids if id_ not in found]:
        raise SourceError(
            f"The items of run {lacking[0][:8]} are missing.", got="none", need="what was written", hint="the history is damaged"
        )
    return found


def every_row(history: History, **asked: Any) -> Iterator[Sequence[Any]]:
    """All runs that are asked for, as `History.runs` does, newest first: the values of the columns `LISTED`, as the database has them.

    Read by pages, like anything long, but not counted for each of them.
    """
    where = _conditions(**asked)
    values = [value for _, value in where]
    last: list[Any] = []
    while True:
        further = [('("time", "id") < (?, ?)', None)] if last else []
        rows = history._place.run(page_query([*where, *further]), [*values, *last, ROWS_AT_ONCE])
        yield from rows
        if len(rows) < ROWS_AT_ONCE:
            return
        last = [rows[-1][LISTED.index("time")], rows[-1][LISTED.index("id")]]


def _conditions(
    *,
    spec: Mapping[str, Any] | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    **equal: str | None,
) -> list[tuple[str, Any]]:
    """What the runs must be, each with its value."""
    wanted = {**equal, "spec": None if spec is None else canonical(spec)}
    where: list[tuple[str, Any]] = [(f'"{name}" = ?', value) for name, value in wanted.items() if value is not None]
    where += [] if since is None else [('"time" >= ?', utc(since, what="since="))]
    where += [] if until is None else [('"time" < ?', utc(until, what="until="))]
    return where


def page_query(where: Sequence[tuple[str, Any]], names: Sequence[str] = LISTED) -> str:
    """The query of one page, newest first."""
    return f'SELECT {_names(names)} FROM {RUNS}{_where(where)} ORDER BY "time" DESC, "id" DESC LIMIT ?'


def _where(where: Sequence[tuple[str, Any]]) -> str:
    return f" WHERE {' AND '.join(condition for condition, _ in where)}" if where else ""


def _names(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _row(run: PastRun) -> list[Any]:
    """A run as the values of its columns."""
    out: list[Any] = []
    for name in COLUMNS:
        value = getattr(run, name)
        if name in ("spec", "protocol"):
            value = canonical(value)
        elif name in MAPPINGS and value is not None:
            value = _json(value)
        elif name == "higher_is_better":
            value = int(value)
        elif isinstance(value, str) and ("\0" in value or (not value.isprintable() and _has_surrogates(value))):
            raise UsageError(
                f"The {name} has characters that no database holds.",
                got=f"a {name} with characters that no database holds",
                need="plain text",
            )
        out.append(value)
    return out


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _json(value: Any) -> str:
    try:
        return json.dumps(plain(value), allow_nan=False)
    except (TypeError, ValueError) as fault:
        raise UsageError(
            f"The history keeps texts and finite numbers only ({fault}).", got=str(fault), need="texts and finite numbers"
        ) from None


def run_of(names: Sequence[str], row: Sequence[Any]) -> PastRun:
    """A run, from the values of these columns."""
    found = dict(zip(names, row, strict=True))
    for name in MAPPINGS:
        if isinstance(found.get(name), str):
            found[name] = {} if found[name] == "{}" else json.loads(found[name])
    if found.get("reference") is not None:
        found["reference"] = HeldAgainst.from_dict(found["reference"])  # a later version may have put more there
    return PastRun(**{**found, "higher_is_better": bool(found.get("higher_is_better", True))})
