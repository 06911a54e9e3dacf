"""Source: a table whose columns have roles. It counts (tabulate) or hands out its rows (items), after checking its ids."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from steelyard_old.did_you_mean import listed
from steelyard_old.errors import AmbiguityError, DataError, SteelyardError, UsageError
from steelyard_old.items import Items, Labels
from steelyard_old.read.columns import as_column, merged
from steelyard_old.read.encode import Distinct, NotANumber, check_matching, check_spelling, not_a_number, number_of, occurring, text_of
from steelyard_old.read.engines.duckdb_table import EngineTable
from steelyard_old.read.engines.tables import SqlTable
from steelyard_old.read.engines.unread import UnreadTable
from steelyard_old.read.roles import MORE_ROLES, NUMBER_ROLES, Assignment, option
from steelyard_old.read.table import MemoryTable, SourceTable, distinct_of
from steelyard_old.tally.spelling import MOST, look_alike_warnings

if TYPE_CHECKING:
    from steelyard_old.read.logs.log import Log


MATCHED = ("truth", "prediction")
MANY = 20  # values that are no numbers: one of these names the row
HEAVIEST = 2.0**53  # beyond it floats are no counts
SMALLEST = 1e-75  # if no number of a column reaches this, their squares and fourth powers are lost
LARGEST = 1e75  # the fourth power of a number beyond this is no float64, and R^2 needs it; only the order of a probability may


class Source:
    """Finished results that can be counted or read as Items.

    roles: role -> column as read; by, ratio: slice columns and the two columns of a ratio metric; columns: all names; on_engine: the table
    of a database or of Spark, None for what is read here; in_memory: whether the rows are here already, so that nobody else counts them;
    hints: what else could be used; warnings: what was done about the data; name: of the run, if there is one; log: the log of
    an evaluation tool that it was made of, or None.
    """

    def __init__(
        self,
        table: SourceTable | UnreadTable,
        chosen: Assignment,
        *,
        name: str | None = None,
        warnings: Iterable[str] = (),
        shown: str | None = None,
        slices: Mapping[str, str] | None = None,
        held: Iterable[object] = (),
        log: Log | None = None,
        same: Iterable[str] = (),
    ) -> None:
        """shown: what to call every column (arrays have no names). slices: their names -> columns, if they differ.

        log: the log that the table was made of, with what was chosen in it. same: columns that two runs must agree on.
        """
        self._unread = table if isinstance(table, UnreadTable) else None
        if not isinstance(table, UnreadTable):
            self.table = table
        self.on_engine, self.in_memory, self.name = table if isinstance(table, SqlTable) else None, isinstance(table, MemoryTable), name
        self._place: dict[str, str] = chosen.roles
        self._slices: dict[str, str] = {name: name for name in chosen.by} if slices is None else dict(slices)
        self.roles: dict[str, str] = {role: shown or column for role, column in chosen.roles.items()}
        self.by, self.ratio = tuple(self._slices), chosen.ratio
        self.hints: tuple[str, ...] = chosen.hints
        self.warnings: tuple[str, ...] = (*warnings, *chosen.warnings)
        self.columns: tuple[str, ...] = table.names if shown is None else tuple(self.roles)
        self.log = log
        self._same = tuple(same)
        self.again: Callable[[Sequence[str]], SourceTable] | None = None  # reads the same files once more, with more columns
        self._held = tuple(held)  # unpacked copies of files live as long as the source
        self.ids_checked = False  # a join that found them present and unique says so
        self._whole: bool | None = None
        self._refuse_several_models()

    @cached_property
    def table(self) -> SourceTable:
        """Where the columns are. Large text files are read for it: what can be asked of the source itself may cost them less."""
        assert self._unread is not None
        return self._unread.settled()

    def read(self) -> Source:
        """The same source, of whose files it is known that they can be read."""
        _ = self.table
        return self

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.table.n

    def __repr__(self) -> str:
        return f"Source({self.name or 'unnamed'}: {self.n} rows, {', '.join(f'{role} = {name!r}' for role, name in self.roles.items())})"

    def place(self, role: str) -> str | None:
        """The column of a role, as its table calls it."""
        return self._place.get(role)

    # ---- counting --------------------------------------------------------------------------------------------------

    def tabulate(self, roles: Sequence[str], by: str | None = None) -> list[tuple[Any, ...]]:
        """Rows (value of `by` if given, value per role ..., count), sorted; labels as text, numbers as float, None if missing.

        For whoever looks at single cells: `merged_items` are the same ones as columns, of which there may be millions.
        """
        found = self.merged_items(roles, by)
        assert found.count is not None
        columns = [*found.slices.values(), *(getattr(found, role) for role in roles)]
        return list(zip(*map(_values, columns), found.count.tolist(), strict=True))

    def merged_items(self, roles: Sequence[str], by: str | None = None) -> Items:
        """Items of these columns alone, equal ones merged where they lie: the distinct rows, each with how many items have it.

        These are the cells that an engine counts, and they leave it as columns. Sorted from the first column on (`by`, if given),
        with what is missing first. With a weight role the count is the sum of the weights, which must be whole (see
        `weights_are_whole`).
        """
        picked = [(self._column_of(role), role in NUMBER_ROLES) for role in roles]
        titles = list(roles)
        if by is not None:
            picked.insert(0, (self._slice(by), False))
            titles.insert(0, f"slice {by!r}")
        weight = self._place.get("weight")
        once = self._counted_once([name for name, _ in picked]) if weight is None and self._unread is not None else None
        self.check_ids()
        if weight is not None and not self.weights_are_whole():
            raise DataError(
                f"The weights in column {weight!r} are not whole numbers.",
                got=f"column {weight!r}",
                need="whole numbers",
                hint="read the items instead",
            )
        *raw, number = self.table.group(picked, weight) if once is None else once
        columns, count = merged(self._canonical(raw, titles, picked), number)
        slices = {} if by is None else {by: columns.pop(0)}
        return Items(n=len(count), count=count, slices=slices, **dict(zip(roles, columns, strict=True)))

    def _counted_once(self, columns: Sequence[str]) -> list[list[Any]] | None:
        """The cells of text files that nobody has read yet, by the pass that also checks their ids; None if there is no such pass."""
        key = [] if self.ids_checked or "id" not in self._place else self._key()
        found = None if self._unread is None else self._unread.counted(columns, key)
        if found is None:
            return None
        self.ids_checked |= found.keys_differ
        return found.columns

    def weights_are_whole(self) -> bool:
        """Whether the weights are counts. Negative, missing and all-zero weights are errors, with the row."""
        if self._whole is None:
            import numpy as np

            weights = self._weights()
            self._whole = bool((weights == np.floor(weights)).all() and weights.sum() < 2**53)
        return self._whole

    def _canonical(self, raw: Sequence[Any], titles: Sequence[str], picked: Sequence[tuple[str, bool]]) -> list[Any]:
        """The columns of grouped rows as labels and numbers. Checked, as all rows would be."""
        columns: list[Any] = []
        spelled: dict[str, Distinct] = {}
        for values, title, (name, number) in zip(raw, titles, picked, strict=True):
            if number:
                columns.append(self._grouped_numbers(title, name, values))
                continue
            labels, spelled[title] = as_column(title, values).encode()
            check_spelling(title, spelled[title])
            columns.append(labels)
        check_matching({title: spelled[title] for title in MATCHED if title in spelled})
        return columns

    def _grouped_numbers(self, role: str, name: str, values: Any) -> Any:
        import numpy as np

        def refuse() -> None:
            self._number_map(role, name, values if isinstance(values, list) else values.tolist())  # knows the row in the source

        try:
            numbers = as_column(role, values).numbers() + 0.0  # -0.0 is 0.0
        except DataError:
            refuse()
            raise
        if role != "probability" and bool((np.abs(numbers) > LARGEST).any()):
            refuse()
        return numbers

    def canonical_maps(self, raw: Sequence[Any], titles: Sequence[str], picked: Sequence[tuple[str, bool]]) -> list[dict[Any, Any]]:
        """For each column of grouped rows, (type, value) -> its text or float; missing values have no entry. Labels checked."""
        spelled: dict[str, Distinct] = {}
        maps: list[dict[Any, Any]] = []
        for place, (title, (name, number)) in enumerate(zip(titles, picked, strict=True)):
            if number:
                maps.append(self._number_map(title, name, [row[place] for row in raw]))
                continue
            found = distinct_of([row[place] for row in raw])
            check_spelling(title, found)
            spelled[title] = found
            maps.append({(type(value), value): text for value, text in zip(found.values, found.names, strict=True)})
        check_matching({title: spelled[title] for title in MATCHED if title in spelled})
        return maps

    def _number_map(self, role: str, name: str, values: Sequence[Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        wrong: list[Any] = []  # groups have no order of their own, and the first row that is wrong is to be named
        for value in dict.fromkeys(values):
            try:
                number = number_of(value)
            except NotANumber:
                wrong.append(value)
                continue
            if abs(number) > LARGEST and role != "probability":
                raise _too_large(role, number, self.table.row_of(name, value))
            if not math.isnan(number):
                found[type(value), value] = number + 0.0
        if wrong:
            row, value = min(((self.table.row_of(name, value), value) for value in wrong[:MANY]), key=itemgetter(0))
            raise not_a_number(role, row, value)
        return found

    # ---- rows ------------------------------------------------------------------------------------------------------

    def items(self, *, numeric: bool = False, roles: Collection[str] | None = None) -> Items:
        """All rows, in the order of the source. numeric reads truth and prediction as numbers (regression).

        roles names the columns to read: what nobody asks for cannot be malformed or missing.
        """
        self.check_ids()
        place = {role: name for role, name in self._place.items() if roles is None or role in roles}
        labels: dict[str, Any] = {}
        spelled: dict[str, Distinct] = {}
        for role in ("id", "truth", "prediction", "group", "repeat"):
            if role in place and not (numeric and role in MATCHED):
                labels[role], spelled[role] = self._encoded(place[role], role)
        matched = {role: found for role, found in spelled.items() if role in MATCHED}
        if not all(isinstance(found.values, range) for found in matched.values()):
            matched = {role: occurring(labels[role], found) for role, found in matched.items()}
        check_matching(matched)
        values = {f"{role}_value": self._numbers(place[role], role) for role in MATCHED if numeric and role in place}
        values |= {role: self._numbers(place[role], role) for role in ("score", "probability") if role in place}
        values["more"] = {role: self._numbers(name, role) for role, name in place.items() if role in MORE_ROLES}
        if "weight" in place:
            values["weight"] = self._weights()
        ratio = None
        if self.ratio is not None:
            ratio = self._numbers(self.ratio[0], "ratio"), self._numbers(self.ratio[1], "ratio")
        picked = {**{name: name for name in self._same}, **self._slices}  # pairing refuses slices that differ between two runs
        slices = {name: self._encoded(column, f"slice {name!r}")[0] for name, column in picked.items()}
        stratum, alike = None, False
        if self.log is not None and self.log.strata is not None:
            stratum, alike = self._encoded(self.log.strata, "stratum")[0], self.log.alike
        return Items(n=self.table.n, **labels, **values, ratio=ratio, slices=slices, stratum=stratum, alike=alike)

    def _encoded(self, name: str, role: str) -> tuple[Labels, Distinct]:
        labels, found = self.table.encoded(name, role)
        check_spelling(role, found)
        return labels, found

    def _numbers(self, name: str, role: str) -> Any:
        import numpy as np

        numbers = self.table.numbers(name, role)
        if role == "probability" or not len(numbers):
            return numbers
        sizes = np.abs(numbers)
        largest = float(np.fmax.reduce(sizes))  # the missing ones are no size
        if largest > LARGEST:
            row = int(np.argmax(sizes > LARGEST))
            raise _too_large(role, float(numbers[row]), row + 1)
        if 0 < largest < SMALLEST:
            raise DataError(
                f"All numbers of {role} are too small to compute with (the largest is {largest!r}).",
                got=f"nothing above {largest!r}",
                need=f"one of {SMALLEST:g} or more, whose powers can be told from 0",
                hint="write them in another unit",
            )
        return numbers

    def _weights(self) -> Any:
        import numpy as np

        weights = self._numbers(self._column_of("weight"), "weight")
        bad = ~(weights >= 0)  # NaN is not >= 0 either
        if bad.any():
            row = int(np.argmax(bad))
            shown = "a missing weight" if math.isnan(weights[row]) else f"{float(weights[row])!r}"
            got = f"{shown} in row {row + 1}, {int(bad.sum())} such row(s)"
            raise DataError(
                f"Weights must be 0 or more: {shown} in row {row + 1}{f', and {int(bad.sum()) - 1} more' if bad.sum() > 1 else ''}.",
                got=got,
                need="weights of 0 or more in every row",
            )
        if not weights.any():
            raise DataError(
                f"All {len(weights)} weights are zero.", got=f"{len(weights)} weights, all zero", need="at least one weight above 0"
            )
        if weights.max() > HEAVIEST:
            row = int(np.argmax(weights))
            raise DataError(
                f"The weight in row {row + 1} is too large: {float(weights[row])!r}.",
                got=f"{float(weights[row])!r} in row {row + 1}",
                need="weights up to 2^53",
            )
        return weights

    # ---- checks ----------------------------------------------------------------------------------------------------

    def check_ids(self) -> None:
        """Ids present and unique (per repeat, if there are repeats). Runs once; tabulate and items call it."""
        if self.ids_checked or "id" not in self._place:
            return
        present = [role for role in ("id", "repeat") if role in self._place]
        for role in present:
            count, row = self.table.missing(self._place[role])
            if count:
                got = f"{count} of {self.n} rows without {role}, the first is row {row}"
                hint = f"choose another column with {option(role)}"
                raise DataError(
                    f"{count} of {self.n} rows have no {role}; the first is row {row}.", got=got, need=f"a {role} in every row", hint=hint
                )
        key = self._key()
        ids, rows, first = self.table.repeated(key)
        if ids:
            raise self._duplicates(ids, rows, first, paired=len(key) > 1, repeats="repeat" in present)
        self.ids_checked = True

    def told_of_ids(self) -> list[str]:
        """That some ids look alike, where DuckDB has counted the rows and nobody has read the ids.

        The pass that counts a text file sees whether there is anything to look at. Else it is one more pass over the ids, if they are
        not too many to be looked at.
        """
        column = self._place.get("id")
        unusual = None if self._unread is None or column is None else self._unread.unusual(column)
        if column is None or unusual == 0 or not isinstance(self.table, EngineTable) or self.n > MOST:
            return []
        return look_alike_warnings(list(dict.fromkeys(self.table.look_alikes(column, unusual=None if unusual is None else True))))

    def _key(self) -> list[str]:
        """The columns that tell the rows apart: the id, and the repeat if there are any."""
        key = [self._place[role] for role in ("id", "repeat") if role in self._place]
        return [*key, self._place["model"]] if self._sliced_by_model() else key  # a long source: every model answers every item once

    def _sliced_by_model(self) -> bool:
        return "model" in self._place and self._place["model"] in self._slices.values()

    def _duplicates(self, ids: int, rows: int, first: Sequence[tuple[Any, ...]], *, paired: bool, repeats: bool) -> DataError:
        shown = ", ".join("(" + ", ".join(repr(text_of(part)) for part in one) + ")" if paired else repr(text_of(one[0])) for one in first)
        kind = f"{'pair' if ids == 1 else 'pairs'} of id and repeat" if repeats else "id" if ids == 1 else "ids"
        hint = "each pair of id and repeat may occur once: drop the duplicates"
        if not repeats:
            hint = "name the column that tells repeats apart with repeat=, or drop the duplicates"
        return DataError(
            f"Duplicate ids: {ids} {kind} occur{'s' if ids == 1 else ''} in {rows} rows, such as {shown}.",
            got=f"{ids} {kind} in {rows} rows, such as {shown}",
            need="each once",
            hint=hint,
        )

    def _refuse_several_models(self) -> None:
        column = self._place.get("model")
        if column is None or self._sliced_by_model():
            return
        models = sorted({text_of(value) or "" for value in self.table.group([(column, False)])[0]})  # "" stands for missing
        if len(models) > 1:
            raise AmbiguityError(
                f"Column {column!r} has {len(models)} models, {listed(models)}, which cannot be measured as one.",
                got=f"{len(models)} models in column {column!r}: {listed(models)}",
                need="one model",
                hint="split the source by model; steelyard.measure also takes by='model'",
            )

    def _column_of(self, role: str) -> str:
        if role not in self._place:
            raise UsageError(
                f"No {role} column; the columns are {listed(self.columns)}.",
                got=f"columns {listed(self.columns)}",
                need=f"a {role} column",
                hint=f"name it with {option(role)}",
            )
        return self._place[role]

    def _slice(self, by: str) -> str:
        if by in self._slices:
            return self._slices[by]
        if by in self._place:
            return self._place[by]
        got = f"slices {listed(self.by)}" if self.by else "no slice columns"
        raise UsageError(
            f"{by!r} is not among the columns named when the source was opened: it has {got}.",
            got=got,
            need="a column named when the source was opened",
            hint=f"add by={by!r}",
        )


def _values(column: Any) -> list[Any]:
    """Labels as texts, numbers as they are, None for what is missing."""
    if isinstance(column, Labels):
        return [None if code < 0 else column.names[code] for code in column.codes.tolist()]
    return [None if number != number else number for number in column.tolist()]


def _too_large(role: str, number: float, row: int) -> DataError:
    return DataError(
        f"The {role} in row {row} is too large: {number!r} (at most {LARGEST:g}).",
        got=f"{number!r} in row {row}",
        need=f"numbers up to {LARGEST:g}, whose powers can be added",
    )


# ---- the texts of a few items, looked up after they were picked, so that nobody holds all prompts ---------------------------

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
    kept = isinstance(source.table, EngineTable) and source.table.kept.issuperset(names)
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
    return table.texts(key, names, ids, READ, MARK)
