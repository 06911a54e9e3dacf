"""Do finished parts share items? Equal ids, equal texts, nearly equal texts, groups on both sides."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import documented, number, whole
from steelyard_old.options.split import CHECK_OPTIONS, COMMON_OPTIONS, THRESHOLD, WORDS
from steelyard_old.read.encode import NotANumber, number_of
from steelyard_old.read.engines.duckdb_table import EngineTable
from steelyard_old.read.files.paths import split_name
from steelyard_old.read.keys import inner_text
from steelyard_old.read.roles import column_of_role, find
from steelyard_old.read.rows import table_of
from steelyard_old.read.table import MemoryTable, SourceTable
from steelyard_old.redaction import shortened
from steelyard_old.results import signature
from steelyard_old.results.split import CheckedPart, PartOverlap, SharedPair, SplitCheck
from steelyard_old.tally.near import among, different, near_pairs
from steelyard_old.tally.shingles import CHUNK, Shingled, shingled, word_shingles
from steelyard_old.tally.spelling import differ_by, plain_spellings, visible

LISTED = 20  # pairs of each kind and two parts
SHOWN = 200  # characters of a text
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Hashed = npt.NDArray[np.int64]  # 0 where there is no value


@dataclass(frozen=True, slots=True)
class _Part:
    """A part as it is compared: hashes of its ids and groups, and its texts."""

    name: str
    table: SourceTable
    id: str | None
    group: str | None
    text: tuple[str, ...]
    ids: Hashed
    alike: Hashed  # of the ids without what the eye does not see
    groups: Hashed
    texts: Shingled


@documented(
    (*CHECK_OPTIONS, *COMMON_OPTIONS),
    "a SplitCheck",
    parts="Two parts or more, each a path, name=path, a frame, rows or columns.",
)
def check_split(
    *parts: Any,
    text: str | Sequence[str] | None = None,
    id: str | None = None,  # noqa: A002 - the name of the role
    group: str | None = None,
    threshold: float = THRESHOLD,
    words: int = WORDS,
) -> SplitCheck:
    """Do finished parts, such as train and test, share items?

    Any two parts are compared by their ids, by their texts (case, white space, Unicode forms and punctuation at the ends make no
    difference), by texts that are nearly equal, and by their groups. Nearly equal: the sets of shingles (runs of `words` words)
    of both have a Jaccard similarity of at least `threshold`.

    >>> import steelyard_old as sy
    >>> train = {"text": ["Who wrote Faust?", "What is the capital of France?"]}
    >>> found = sy.check_split(train, {"text": ["what is the capital  of france"]})
    >>> found.shared, found.overlaps[0].texts, found.pairs[0].first_text
    (True, 1, 'What is the capital of France?')
    """
    if len(parts) < 2:
        raise UsageError(
            f"Give the files of two parts or more, not of {len(parts)}.",
            got=f"{len(parts)} part",
            need="two parts or more",
            hint="train.csv test.csv",
        )
    level = number("threshold", threshold, above=0, hint="0.8 is usual")
    if level > 1:
        raise UsageError("cannot use threshold", got=f"{level:g}", need="a similarity of at most 1", hint="0.8 is usual")
    size = whole("words", words)
    if size > 20:
        raise UsageError("cannot use words", got=str(size), need="at most 20")
    read = _read(parts, (text,) if isinstance(text, str) else tuple(() if text is None else text), id, group, size)
    overlaps, pairs, look_alikes = [], [], []
    for first, second in combinations(read, 2):
        overlap, shown = _overlap(first, second, level, size)
        overlaps.append(overlap)
        pairs += shown
        look_alikes += _told_of_look_alikes(first, second)
    checked = tuple(
        CheckedPart(
            name=part.name,
            n=part.table.n,
            empty=int((part.texts.equal == 0).sum()),
            id=part.id,
            group=part.group,
            text=part.text,
        )
        for part in read
    )
    return SplitCheck(
        parts=checked,
        threshold=level,
        words=size,
        overlaps=tuple(overlaps),
        pairs=tuple(pairs),
        conclusion=_conclusion(overlaps, level),
        warnings=(*_warnings(checked, overlaps), *look_alikes),
        signature=signature.write(
            {
                "goal": "split-check",
                "systems": [part.name for part in read],
                "n": [part.table.n for part in read],
                "id": read[0].id,
                "column": read[0].group,
                "text": list(read[0].text),
                "words": size,
                "threshold": level,
            }
        ),
    )


# ---- reading ---------------------------------------------------------------------------------------------------------


def _read(parts: Sequence[Any], text: Sequence[str], id_: str | None, group: str | None, words: int) -> list[_Part]:
    names = _names(parts)
    tables = [table_of(_path(part))[0] for part in parts]
    ids = [column_of_role(table.names, "id", id_) for table in tables]
    groups = [column_of_role(table.names, "group", group) for table in tables]
    if None in groups:
        groups = [None] * len(tables)  # found by name in some parts only
    if text:
        columns = [tuple(find(table.names, each, "text=") for each in text) for table in tables]
    else:
        columns = _text_columns(tables, [{*filter(None, pair)} for pair in zip(ids, groups, strict=True)])
    return [_hashed(name, table, a, b, c, words) for name, table, a, b, c in zip(names, tables, ids, groups, columns, strict=True)]


def _path(part: Any) -> Any:
    return split_name(os.fsdecode(part))[1] if isinstance(part, str | os.PathLike) else part


def _names(parts: Sequence[Any]) -> list[str]:
    """name=path by its name, a path as it is, and anything else by a letter; two of one name get a number."""
    found: list[str] = []
    for place, part in enumerate(parts):
        named = split_name(os.fsdecode(part)) if isinstance(part, str | os.PathLike) else (LETTERS[place % 26], "")
        name = named[0] or os.path.basename(named[1]) or named[1]
        while name in found:
            name = f"{name} ({place + 1})"
        found.append(name)
    return found


def _text_columns(tables: Sequence[SourceTable], taken: Sequence[set[str]]) -> list[tuple[str, ...]]:
    """The columns that all parts have and that hold something else than numbers in any of them."""
    first = [name for name in tables[0].names if all(name in table.names for table in tables)]
    free = [name for name in first if not any(name in each for each in taken)]
    found = tuple(name for name in free if any(_has_words(table, name) for table in tables))
    if not found:
        raise UsageError(
            f"No column of text that all parts have; the columns are {', '.join(map(repr, tables[0].names[:8]))}.",
            got=f"columns {', '.join(map(repr, tables[0].names[:8]))}",
            need="a column of text that all parts have",
            hint="name it with text=",
        )
    return [found] * len(tables)


def _has_words(table: SourceTable, column: str) -> bool:
    if isinstance(table, EngineTable):
        kind, name = table.kind(column), table.identifier(column)
        if kind != "text":
            return False
        return bool(table.ask("1", f"WHERE {name} IS NOT NULL AND TRY_CAST({name} AS DOUBLE) IS NULL LIMIT 1"))
    assert isinstance(table, MemoryTable)
    return any(type(value) is str and not _is_number(value) for value in table.raw(column))


def _is_number(value: str) -> bool:
    try:
        return not math.isnan(number_of(value))
    except NotANumber:
        return False


def _hashed(name: str, table: SourceTable, id_: str | None, group: str | None, text: tuple[str, ...], words: int) -> _Part:
    """One pass over the rows."""
    ids: list[Hashed] = []
    alike: list[Hashed] = []
    groups: list[Hashed] = []

    def texts() -> Iterator[list[str]]:
        for few in _rows(table, [id_, group, *text]):
            ids.append(_hashes(few[0]))
            alike.append(_hashes(few[0] if id_ is None else _alike(few[0])))
            groups.append(_hashes(few[1]))
            yield _joined(few[2:])

    made = shingled(texts(), words)
    return _Part(name, table, id_, group, text, np.concatenate(ids), np.concatenate(alike), np.concatenate(groups), made)


def _joined(columns: Sequence[Sequence[str | None]]) -> list[str]:
    if len(columns) == 1:
        return [value or "" for value in columns[0]]
    return [" ".join(filter(None, row)) for row in zip(*columns, strict=True)]


def _rows(table: SourceTable, columns: Sequence[str | None]) -> Iterator[list[Sequence[str | None]]]:
    """The texts of some columns, a chunk of rows at a time, column by column; a column that is None is missing everywhere."""
    if isinstance(table, EngineTable):
        shown = ", ".join("NULL" if each is None else _shown(table, each) for each in columns)
        for rows in table.batches(shown, CHUNK):
            yield [_texts(values) for values in zip(*rows, strict=True)]
        return
    assert isinstance(table, MemoryTable)
    whole_columns = [[None] * table.n if each is None else table.raw(each) for each in columns]
    for begin in range(0, table.n, CHUNK):
        yield [_texts(values[begin : begin + CHUNK]) for values in whole_columns]


def _shown(table: EngineTable, column: str) -> str:
    if table.kind(column) == "other":
        return f"CAST({table.identifier(column)} AS VARCHAR)"
    return table.shown(column, table.identifier(column), number=False)


def _texts(values: Sequence[Any]) -> Sequence[str | None]:
    if {*map(type, values)} <= {str, type(None)}:
        return values
    return [value if type(value) is str else inner_text(value) for value in values]


def _alike(ids: Sequence[str | None]) -> Sequence[str | None]:
    found = plain_spellings([each or "" for each in ids])
    return [None if each is None else spelled for each, spelled in zip(ids, found, strict=True)]


def _hashes(values: Sequence[str | None]) -> Hashed:
    """Keyed hashes of texts by Python itself, 0 for a missing one."""
    found = np.fromiter(map(hash, values), np.int64, len(values))
    found[found == hash(None)] = 0
    return found


# ---- comparing -------------------------------------------------------------------------------------------------------


def _overlap(first: _Part, second: _Part, threshold: float, words: int) -> tuple[PartOverlap, list[SharedPair]]:
    ids = None if first.id is None or second.id is None else _both(first.ids, second.ids)
    groups = None if first.group is None or second.group is None else _both(first.groups, second.groups)
    equal = among(second.texts.equal, different(first.texts.equal)) & (second.texts.equal != 0)
    near = near_pairs(first.texts, second.texts, threshold)
    overlap = PartOverlap(
        first=first.name,
        second=second.name,
        ids=None if ids is None else len(ids),
        texts=int(equal.sum()),
        near=_rows_with(second, near.second),
        groups=None if groups is None else len(groups),
        unsure=_rows_with(second, near.unsure),
    )
    chosen = [
        *(("id", *_rows_of(value, first.ids, second.ids), None) for value in ([] if ids is None else ids[:LISTED])),
        *(("text", *_rows_of(v, first.texts.equal, second.texts.equal), 1.0) for v in _first_values(second.texts.equal[equal])),
        *(("near", x, y, s) for x, y, s in near.most_similar(LISTED)),
        *(("group", *_rows_of(value, first.groups, second.groups), None) for value in ([] if groups is None else groups[:LISTED])),
    ]
    return overlap, _shown_pairs(first, second, chosen, words)


def _rows_with(part: _Part, rows: Hashed) -> int:
    """How many rows have one of the texts of these."""
    return int(among(part.texts.equal, different(part.texts.equal[rows])).sum())


def _told_of_look_alikes(first: _Part, second: _Part) -> list[str]:
    """One sentence, where ids of two parts are not equal and look so. They stay different items, as everywhere."""
    other = different(first.alike[~among(first.ids, different(second.ids))])
    rows = np.flatnonzero((second.ids != 0) & ~among(second.ids, different(first.ids)) & among(second.alike, other))
    if not len(rows):
        return []
    many, row = len(different(second.ids[rows])), int(rows[0])
    match = np.flatnonzero((first.alike == second.alike[row]) & ~among(first.ids, different(second.ids)))[0]
    ours, theirs = _few(first, {int(match)})[int(match)][0] or "", _few(second, {row})[row][0] or ""
    by = differ_by([ours], [theirs]) or "by case, blanks or a decimal point: write them alike"
    differ = "id of {} differs from an id" if many == 1 else "ids of {} differ from ids"
    return [f"{many:,} {differ.format(second.name)} of {first.name} only {by} ({visible(ours)} and {visible(theirs)})"]


def _both(first: Hashed, second: Hashed) -> Hashed:
    """The values of both, those that come first in the second part first."""
    values, at = np.unique(second, return_index=True)
    there = among(values, different(first)) & (values != 0)
    found: Hashed = values[there][np.argsort(at[there])]
    return found


def _first_values(values: Hashed) -> Hashed:
    found, at = np.unique(values, return_index=True)
    first: Hashed = found[np.argsort(at)][:LISTED]
    return first


def _rows_of(value: Any, first: Hashed, second: Hashed) -> tuple[int, int]:
    return int(np.argmax(first == value)), int(np.argmax(second == value))


def _shown_pairs(first: _Part, second: _Part, chosen: Sequence[tuple[str, int, int, float | None]], words: int) -> list[SharedPair]:
    """Pairs with what their rows hold."""
    one, two = _few(first, {x for _, x, _, _ in chosen}), _few(second, {y for _, _, y, _ in chosen})
    found = []
    for kind, x, y, similarity in chosen:
        (a_id, a_group, a_text), (b_id, _, b_text) = one[x], two[y]
        if kind == "near":
            p, q = word_shingles(a_text, words), word_shingles(b_text, words)
            similarity = len(p & q) / len(p | q)  # by the words themselves, not by their hashes
        found.append(
            SharedPair(
                kind=kind,
                first=first.name,
                second=second.name,
                first_row=x + 1,
                second_row=y + 1,
                first_id=a_id,
                second_id=b_id,
                what=(a_id if kind == "id" else a_group if kind == "group" else "") or "",
                similarity=similarity,
                first_text=_short(a_text),
                second_text=_short(b_text),
            )
        )
    return found


def _few(part: _Part, rows: set[int]) -> dict[int, tuple[str | None, str | None, str]]:
    """Id, group and text of a few rows."""
    if not rows:
        return {}
    columns = [part.id, part.group, *part.text]
    table = part.table
    if isinstance(table, EngineTable):
        shown = ", ".join("NULL" if each is None else _shown(table, each) for each in columns)
        found = table.ask(shown, f"QUALIFY row_number() OVER () - 1 IN ({', '.join(map(str, sorted(rows)))})")
    else:
        assert isinstance(table, MemoryTable)
        picked = [[None] * len(rows) if each is None else table.at(each, sorted(rows)) for each in columns]
        found = list(zip(*picked, strict=True))
    texts = [[None if value is None else value if type(value) is str else inner_text(value) for value in row] for row in found]
    return {row: (values[0], values[1], _joined([[v] for v in values[2:]])[0]) for row, values in zip(sorted(rows), texts, strict=True)}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return shortened(line, SHOWN, "…")


# ---- what is said of it ----------------------------------------------------------------------------------------------


def _conclusion(overlaps: Sequence[PartOverlap], threshold: float) -> str:
    said = [sentence for each in overlaps if (sentence := _shares(each, threshold))]
    if said:
        return f"SHARED ITEMS: {'; '.join(said)}."
    left = [
        f"{each.unsure:,} text{'s' * (each.unsure != 1)} of {each.second} could not be compared with all texts of {each.first}"
        for each in overlaps
        if each.unsure
    ]
    if left:
        return f"INCONCLUSIVE: no shared items found, but {'; '.join(left)}."
    kinds = [
        *(["ids"] if all(each.ids is not None for each in overlaps) else []),
        *(["groups"] if all(each.groups is not None for each in overlaps) else []),
        "texts",
    ]
    equal = " or ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))
    return f"No shared items found: no equal {equal}, and no texts with a similarity of {threshold:g} or more."


def _shares(each: PartOverlap, threshold: float) -> str:
    found = [
        *([f"{each.ids:,} equal {'id' if each.ids == 1 else 'ids'}"] if each.ids else []),
        *([f"{each.texts:,} equal {'text' if each.texts == 1 else 'texts'}"] if each.texts else []),
        *([f"{each.near:,} similar {'text' if each.near == 1 else 'texts'} ({threshold:g} or more)"] if each.near else []),
        *([f"{each.groups:,} shared {'group' if each.groups == 1 else 'groups'}"] if each.groups else []),
    ]
    return f"{each.first} and {each.second} have {', '.join(found)}" if found else ""


def _warnings(parts: Sequence[CheckedPart], overlaps: Sequence[PartOverlap]) -> Iterator[str]:
    if without := [part.name for part in parts if part.id is None]:
        names = " and ".join(filter(None, (", ".join(without[:-1]), without[-1])))
        yield f"ids were not compared: {names} {'has' if len(without) == 1 else 'have'} no id column"
    for part in parts:
        if part.empty:
            yield f"{part.name}: {part.empty:,} of {part.n:,} rows have no text, which was not compared"
    for each in overlaps:
        if each.unsure:
            texts = "text" if each.unsure == 1 else "texts"
            yield (
                f"{each.unsure:,} {texts} of {each.second} {'has' if each.unsure == 1 else 'have'} so much in common with so many of "
                f"{each.first} that not all were compared; a similar one may have been missed. Longer shingles (words) or a higher "
                "threshold leave fewer to compare"
            )
