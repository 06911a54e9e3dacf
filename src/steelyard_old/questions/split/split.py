"""Which rows are for training, which for testing? Every row goes to one part, by a hash that other rows cannot change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import documented, seed_of
from steelyard_old.options.split import COMMON_OPTIONS, SPLIT_OPTIONS
from steelyard_old.questions.split.shares import checked_shares
from steelyard_old.questions.split.writing import left_over, places_of, write_parts
from steelyard_old.read.files.copying import COPIED
from steelyard_old.read.files.paths import Opened
from steelyard_old.read.keys import column_texts, content_uniforms, named_uniforms, uniform
from steelyard_old.read.roles import column_of_role, find
from steelyard_old.read.rows import table_of
from steelyard_old.read.table import SourceTable
from steelyard_old.results import signature
from steelyard_old.results.split import DataSplit, SplitPart, SplitStratum
from steelyard_old.tally.parts import Parts, by_number, by_time, times_of, within_strata

FAR = 0.05  # of a share from the one that was asked for
STRATA = 1000  # values of a stratified column; more of them are no strata


@dataclass(frozen=True, slots=True)
class Assigned:
    """What was decided: the part of each row, by which method, and what there is to say of it."""

    parts: Parts
    method: str
    id: str | None
    column: str | None
    warnings: tuple[str, ...]
    strata: tuple[SplitStratum, ...] = ()
    texts: Sequence[str] = ()  # of the column, for what is counted in each part


@documented(
    (*SPLIT_OPTIONS, *COMMON_OPTIONS),
    "a DataSplit; its `assigned` has the name of each row's part",
    data="A table in one file (CSV, TSV, JSON Lines, JSON, Parquet), '-' for standard input, or a frame, rows or columns in memory, "
    "of which nothing is written.",
)
def split(
    data: Any,
    *,
    train: float | None = None,
    dev: float | None = None,
    test: float | None = None,
    parts: Mapping[str, float] | None = None,
    id: str | None = None,  # noqa: A002 - the name of the role
    group: str | None = None,
    stratify: str | None = None,
    by_time: str | None = None,
    seed: int | None = 0,
    output: str | os.PathLike[str] | None = None,
    update: bool = False,
    dry_run: bool = False,
) -> DataSplit:
    """Split data into train, dev and test, so that an item never changes its part when data grow.

    The part of a row follows from the hash of the seed and its id, and from nothing else, so the shares are reached roughly.

    >>> import steelyard_old as sy
    >>> found = sy.split({"id": list(range(1000)), "text": ["..."] * 1000}, train=0.8, test=0.2)
    >>> [(part.name, part.n) for part in found.parts]
    [('train', 801), ('test', 199)]
    >>> found.assigned[:4].tolist()
    ['train', 'test', 'train', 'train']
    """
    given = {name: share for name, share in {"train": train, "dev": dev, "test": test}.items() if share is not None}
    if twice := [name for name in parts or {} if name in given]:
        raise UsageError(f"The part {twice[0]!r} has two shares.", got=f"{twice[0]!r} twice", need="each part once")
    shares = checked_shares({**given, **(parts or {})})
    _refuse_together({"group": group if group != "none" else None, "stratify": stratify, "by_time": by_time})
    known_seed = seed_of(seed)
    in_memory = not isinstance(data, str | os.PathLike)
    if in_memory and (output is not None or update):
        raise UsageError(
            "Data in memory cannot be written as parts: output= and update= need a file.",
            got="output= or update=",
            need="a file",
            hint="`assigned` has the parts",
        )
    table, said, files = table_of(data)
    file = None if in_memory else _one_file(files, str(data))
    places = None if file is None or dry_run else places_of(list(shares), file, output, update=update)
    made = _assign(table, list(shares.values()), id, group, stratify, by_time, known_seed)
    if file is not None and places is not None:
        write_parts(file, made.parts, places, update=update)
    found = tuple(
        SplitPart(name=name, share=float(share), file=None if places is None else str(places[number]), **_counted(made, number))
        for number, (name, share) in enumerate(shares.items())
    )
    assert sum(part.n for part in found) == table.n
    warnings = [*said, *made.warnings, *(f"{part.name} has no rows" for part in found if not part.n)]
    off = max(found, key=lambda part: abs(part.reached - part.share))
    if made.method != "time" and abs(off.reached - off.share) > FAR:
        few = "few large groups" if made.method == "groups" else "few rows"
        warnings.append(f"{off.name} has a share of {off.reached:.3g} instead of {off.share:.3g}, because there are {few}")
    if file is not None and places is not None and file.plain != file.shown and file.shown != "standard input":
        warnings.append(f"{os.path.basename(file.shown)} is packed; the parts are not")
    if file is not None and places is not None and update:
        warnings += [
            f"{old.name} was there before and is no part of this split; if it comes from an earlier one, it shares rows with these parts"
            for old in left_over(places, file)
        ]
    hashed = made.method != "time"
    return DataSplit(
        data="the rows in memory" if file is None else file.shown,
        n=table.n,
        method=made.method,
        id=made.id,
        column=made.column,
        seed=known_seed if hashed else None,
        parts=found,
        strata=made.strata,
        written=places is not None,
        conclusion=_conclusion(found, table.n, made),
        assigned=np.array(list(shares))[made.parts],
        warnings=tuple(warnings),
        signature=signature.write(
            {
                "goal": "split",
                "n": table.n,
                "method": made.method,
                "parts": [f"{name}={float(share):g}" for name, share in shares.items()],
                "id": made.id if hashed else None,
                "column": made.column,
                "seed": known_seed if hashed else None,
            }
        ),
    )


def _refuse_together(given: Mapping[str, str | None]) -> None:
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        said = " and ".join(f"{name}=" for name in names)
        raise UsageError(f"Give at most one of these: {said}.", got=f"{len(names)} of them", need="at most one")


def _one_file(files: Sequence[Opened], named: str) -> Opened:
    if len(files) != 1:
        hint = "split them one by one: an id has the same part in each of them"
        raise SourceError(
            f"Only one file can be split at a time: {named!r} names {len(files)} files.",
            got=f"{len(files)} files",
            need="one file",
            hint=hint,
        )
    if files[0].format not in COPIED:
        hint = "write the rows as Parquet"
        raise SourceError(
            f"Only CSV, TSV, JSON and Parquet files can be split: {named!r} is {files[0].format}.",
            got=f"a file in {files[0].format} format",
            need="CSV, TSV, JSON or Parquet",
            hint=hint,
        )
    return files[0]


# ---- who goes where --------------------------------------------------------------------------------------------------


def _assign(
    table: SourceTable, shares: list[Fraction], id_: str | None, group: str | None, stratify: str | None, time: str | None, seed: int
) -> Assigned:
    named, groups = column_of_role(table.names, "id", id_), column_of_role(table.names, "group", group)
    if group is None and groups is not None and (stratify is not None or time is not None):
        other = "stratify=" if stratify is not None else "by_time="
        got = f"{other} and a column {groups!r}, found by its name"
        raise UsageError(
            f"Groups cannot be kept together as well: there is {got}.",
            got=got,
            need="one of the two",
            hint="group='none' ignores the groups",
        )
    if time is not None:
        column = find(table.names, time, "by_time=")
        texts = _whole_column(table, column, "by_time")
        return Assigned(by_time(texts, shares, column), "time", None, column, (), texts=texts)
    if groups is not None:
        texts = _whole_column(table, groups, "group")
        return Assigned(by_number(named_uniforms(table, groups, seed), shares), "groups", None, groups, (), texts=texts)
    numbers, warnings = _uniforms_of_items(table, named, seed)
    if stratify is None:
        return Assigned(by_number(numbers, shares), "hash", named, None, tuple(warnings))
    column = find(table.names, stratify, "stratify=")
    texts = _whole_column(table, column, "stratify")
    values = sorted(set(texts))
    if len(values) > STRATA:
        got = f"{len(values):,} values in column {column!r}"
        raise DataError(
            f"Column {column!r} has {len(values):,} values, too many to stratify by (at most {STRATA:,}).",
            got=got,
            need=f"at most {STRATA:,}",
            hint="a column of labels, not of ids",
        )
    place = {value: number for number, value in enumerate(values)}
    strata = np.array([place[text] for text in texts])
    begin = np.array([uniform(f"stratum:{value}", seed) for value in values])
    parts = within_strata(numbers, strata, begin, shares)
    table_ = np.zeros((len(values), len(shares)), np.int64)
    np.add.at(table_, (strata, parts), 1)
    few = int(((table_ == 0).any(axis=1)).sum())
    warnings.append("stratified parts are not stable: an item may change its part when rows are added")
    if few:
        warnings.append(f"{few} of {len(values)} values of {column!r} have too few rows to be in every part")
    if parted := _parted(numbers, parts):
        warnings.append(f"{parted} items have rows with different values of {column!r}, and so in different parts")
    rows = tuple(SplitStratum(value=v, n=int(r.sum()), rows=tuple(map(int, r))) for v, r in zip(values, table_, strict=True))
    return Assigned(parts, "stratified", named, column, tuple(warnings), strata=rows)


def _uniforms_of_items(table: SourceTable, named: str | None, seed: int) -> tuple[Any, list[str]]:
    """A number for each row by its id, or by its content; and how many rows go together because these are equal."""
    if named is None:
        numbers = content_uniforms(table, seed)
        said = ["no id column: rows go by their content, so a row that is edited may change its part"]
    else:
        _refuse_missing(table, named, "id")
        numbers, said = named_uniforms(table, named, seed), []
    if again := len(numbers) - len(np.unique(numbers)):
        rows = f"{again:,} {'row repeats' if again == 1 else 'rows repeat'}"
        said.append(f"{rows} {'an earlier row' if named is None else 'the id of an earlier row'}; they go to the same part")
    return numbers, said


def _parted(numbers: Any, parts: Parts) -> int:
    """How many items have rows in several parts."""
    pairs = np.unique(np.stack([numbers, parts.astype(np.float64)]), axis=1)
    return int((np.unique(pairs[0], return_counts=True)[1] > 1).sum())


def _whole_column(table: SourceTable, column: str, role: str) -> list[str]:
    _refuse_missing(table, column, role)
    return [text or "" for text in column_texts(table, column)]


def _refuse_missing(table: SourceTable, column: str, role: str) -> None:
    count, row = table.missing(column)
    if count:
        got = f"{count} of {table.n} rows without one in column {column!r}, the first is row {row}"
        hint = "id='none' goes by the content of the rows" if role == "id" else ""
        raise DataError(
            f"Every row needs a value to split by: {count} of {table.n} rows have none in column {column!r} "
            f"({role}); the first is row {row}.",
            got=got,
            need="a value in every row",
            hint=hint,
        )


# ---- what is said of it ----------------------------------------------------------------------------------------------


def _counted(made: Assigned, number: int) -> dict[str, Any]:
    here = np.flatnonzero(made.parts == number)
    found: dict[str, Any] = {"n": len(here), "reached": len(here) / len(made.parts)}
    if made.method == "groups":
        found["groups"] = len({made.texts[row] for row in here.tolist()})
    if made.method == "time" and len(here):
        texts = np.array(made.texts, dtype=object)[here]
        found |= dict(zip(("first", "last"), _ends(texts), strict=True))
    return found


def _ends(texts: Any) -> tuple[str, str]:
    times = times_of(list(texts), "")
    return str(texts[int(np.argmin(times))]), str(texts[int(np.argmax(times))])


def _conclusion(parts: Sequence[SplitPart], n: int, made: Assigned) -> str:
    by = {
        "hash": "by the hash of their ids" if made.id is not None else "by the hash of their content",
        "groups": f"by the hash of their group ({made.column!r}), so that no group is split",
        "stratified": f"exactly within each value of {made.column!r}",
        "time": f"in the order of {made.column!r}; rows of the same time stay together",
    }[made.method]
    counts = ", ".join(f"{part.name} {part.n:,} ({part.reached:.1%})" for part in parts)
    return f"{n:,} {'row' if n == 1 else 'rows'} split {by}: {counts}."
