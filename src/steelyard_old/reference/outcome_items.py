"""Item outcomes in memory: runs laid over one sorted list of items, and back to the rows that a reader gives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from operator import ge
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.items import Items, Labels, WholeNumbers
from steelyard_old.late_dataclass import dataclass
from steelyard_old.tally.design import take
from steelyard_old.tally.spelling import label_order
from steelyard_old.tally.whole_numbers import picked, places_of, text_order

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
ANSWERS = ("score", "probability", "ratio", "prediction")
ROLES = (*ANSWERS, "truth", "weight", "group", "id", "repeat")
PIECE = 1 << 14  # items that are hashed at a time, so that what is worked on stays in the cache


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedRun:
    """The answers of one run, in the order of the keys. Where `present` is False there is none: NaN, or the code -1."""

    score: FloatArray | None = None
    probability: FloatArray | None = None
    above: FloatArray | None = None
    below: FloatArray | None = None
    prediction: IntArray | None = None
    prediction_value: FloatArray | None = None
    present: Mask | None = None  # None: every item has an answer

    @property
    def ratio(self) -> tuple[FloatArray, FloatArray] | None:
        """The two sums of a ratio metric."""
        return None if self.above is None or self.below is None else (self.above, self.below)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Outcomes:
    """Items by sorted key, and what each run made of them. `labels` names the codes of truth and prediction."""

    keys: Sequence[str]
    contents: Labels
    groups: Labels
    runs: tuple[RecordedRun, ...]
    hashed: bool = False
    labels: tuple[str, ...] = ()
    truth: IntArray | None = None
    truth_value: FloatArray | None = None
    weight: FloatArray | None = None
    slices: Mapping[str, Labels] = field(default_factory=dict)  # the slice of every item, by the columns that were asked for

    @property
    def n(self) -> int:
        """How many items."""
        return len(self.keys)

    @property
    def content(self) -> tuple[str | None, ...]:
        """The hash of each item's content, None where there is nothing to hash."""
        return texts_of(self.contents)

    @property
    def group(self) -> tuple[str | None, ...]:
        """The group of each item, None where it has none."""
        return texts_of(self.groups)

    @property
    def items_hash(self) -> str:
        """One hash of all keys and contents: the same whether the keys are kept or hashed.

        That is the SHA-256 of lines "KEY CONTENT", sorted, KEY the hash of the id and CONTENT that of the content or "-".
        """
        keys = np.array(list(map(str.encode, self.keys))) if self.hashed else _key_hashes(self.keys)
        contents = np.array([*map(str.encode, self.contents.names), b"-"])
        order = np.argsort(keys, kind="stable")
        if (keys[order[1:]] == keys[order[:-1]]).any():  # two ids with one hash: their contents decide
            order = np.lexsort((contents[self.contents.codes], keys))
        letters, filled = _letters(contents), len({*map(len, contents.tolist())}) > 1  # zeros fill up what is shorter than others
        found = hashlib.sha256()
        for start in range(0, self.n, PIECE):
            rows = order[start : start + PIECE]
            ends = [np.full((len(rows), 1), ord(end), np.uint8) for end in " \n"]
            lines = np.hstack([_letters(keys[rows]), ends[0], letters[self.contents.codes[rows]], ends[1]])
            found.update((lines[lines != 0] if filled or self.hashed else lines).tobytes())
        return found.hexdigest()


def _key_hashes(keys: Sequence[str]) -> npt.NDArray[Any]:
    """`hash_id` of each key, as numbers whose order is that of the texts."""
    sha = hashlib.sha256
    out = np.empty((len(keys), 8), np.uint8)
    for start in range(0, len(keys), PIECE):
        piece = keys[start : start + PIECE]
        texts = [b"%d" % number for number in piece.numbers.tolist()] if isinstance(piece, WholeNumbers) else map(str.encode, piece)
        hashes = b"".join([sha(text).digest() for text in texts])
        out[start : start + PIECE] = np.frombuffer(hashes, np.uint8).reshape(-1, 32)[:, :8]
    return out.view(">u8").ravel()


def _letters(texts: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The letters of each text, one row each; numbers in hexadecimal."""
    data = texts.tobytes().hex().encode() if texts.dtype.kind == "u" else texts.tobytes()
    return np.frombuffer(data, np.uint8).reshape(len(texts), -1)


def texts_of(labels: Labels) -> tuple[str | None, ...]:
    """The text of each row, None where it is missing."""
    return tuple(np.array([*labels.names, None], object)[labels.codes].tolist())


def hash_id(name: str) -> str:
    """An id that does not show what it names: 16 hexadecimal digits of its SHA-256.

    >>> hash_id("q1")
    'c75de8c1b7c3ae52'
    """
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def hash_ids(items: Items) -> Items:
    """Items with ids and groups hashed, as they are on record when the user keeps no ids, so that the two can meet."""
    columns = {role: replace(found, names=tuple(map(hash_id, found.names))) for role in ("id", "group") if (found := getattr(items, role))}
    return replace(items, **columns)


# ---- from items ----------------------------------------------------------------------------------------------------


def outcomes_of(
    runs: Sequence[Items], *, roles: Collection[str], hashed: bool = False, content: Sequence[str] = (), by: Sequence[str] = ()
) -> Outcomes:
    """The outcomes of one or several runs of the same items; every repeat of a run counts as a run of its own.

    `roles` names the columns that the metric needs, each of which every run must have without holes. The content hash of an
    item is that of its truth, if there is one, and of the slice columns named by `content`. With `hashed`, ids and groups
    are kept as hashes. The slice of every item is kept as it is, by the columns in `by`.
    """
    _check_roles(runs, roles)
    return _laid_out(runs, roles, hashed, content, by)


def items_alone(items: Items) -> Outcomes:
    """Keys and contents of a run's items, whatever their answers are."""
    return _laid_out([items], (), hashed=False, content=())


def _laid_out(runs: Sequence[Items], roles: Collection[str], hashed: bool, content: Sequence[str], by: Sequence[str] = ()) -> Outcomes:
    """Runs over one sorted list of their items."""
    parts = [part for place, items in enumerate(runs, 1) for part in _parts(items, place)]
    _check_unicode(parts)
    if hashed:
        parts = [hash_ids(part) for part in parts]
    keys = _all_keys([_id(part) for part in parts])
    if hashed and len(keys) < len({_id(items).names[i] for items in runs for i in _used(_id(items)).tolist()}):
        raise DataError(
            "Two ids have the same hash.", got="two ids with one hash", need="a hash for each id", hint="keep the ids as they are"
        )
    places = [places_among(_id(part), keys) for part in parts]
    _check_once(places, keys)
    together = _Together(parts, places, keys)
    labels = _label_names(parts, roles)
    return Outcomes(
        keys=keys,
        contents=together.texts("content", [_content(part, content) for part in parts]),
        groups=together.texts("group", [part.group for part in parts]),
        hashed=hashed,
        labels=labels,
        truth=together.codes("truth", labels) if "truth" in roles else None,
        truth_value=together.numbers("truth_value") if "truth" in roles else None,
        weight=together.numbers("weight") if "weight" in roles else None,
        slices={column: _named(together.texts(f"slice {column!r}", [part.slices[column] for part in parts])) for column in by},
        runs=tuple(_run(part, place, len(keys), roles, labels) for part, place in zip(parts, places, strict=True)),
    )


def _check_roles(runs: Sequence[Items], roles: Collection[str]) -> None:
    if unknown := sorted(set(roles) - set(ROLES)):
        raise UsageError(
            f"The outcomes keep {', '.join(ROLES)}, not {unknown[0]!r}.", got=f"the role {unknown[0]!r}", need=f"some of {', '.join(ROLES)}"
        )
    if not set(roles) & set(ANSWERS):
        raise UsageError(
            f"The run has no column of answers ({', '.join(ANSWERS)}).", got="no column of answers", need=f"one of {', '.join(ANSWERS)}"
        )
    if not runs:
        raise DataError("No run to keep.", got="no run", need="at least one")
    for place, items in enumerate(runs, 1):
        if items.id is None:
            raise DataError(
                f"Run {place} has no ids.", got=f"no ids in run {place}", need="an id for every item", hint="name the column with id="
            )
        if items.n == 0:
            raise DataError(f"Run {place} has no items.", got=f"no items in run {place}", need="at least one")
        if items.count is not None:
            raise DataError(
                "Item outcomes need one row per item, and some rows stand for several items.",
                got="rows that stand for several items",
                need="one row per item",
            )
        for role in sorted(set(roles) & {*ANSWERS, "truth", "weight"}):
            if _form(items, role) == (False, False):
                raise DataError(
                    f"Run {place} has no {role} column, which every run needs.",
                    got=f"no {role} in run {place}",
                    need=f"a {role} column in every run",
                )
            if _form(items, role) != _form(runs[0], role):
                raise DataError(
                    f"The {role} is a label in one run and a number in another.",
                    got=f"the {role} as label in one run, as number in another",
                    need="one form",
                )


def _form(items: Items, role: str) -> tuple[bool, bool]:
    """Whether a role is there as it is, and as numbers of a regression."""
    return getattr(items, role) is not None, getattr(items, f"{role}_value", None) is not None


def _check_unicode(parts: Sequence[Items]) -> None:
    """Readers refuse half a character; items made by a program come here unread."""
    for part in parts:
        for role in ("id", "group", "truth", "prediction"):
            labels = getattr(part, role)
            if labels is None or isinstance(labels.names, WholeNumbers):
                continue
            try:
                "".join(labels.names).encode()
            except UnicodeEncodeError as fault:
                raise DataError(
                    f"The {role} is not valid Unicode (a lone surrogate).",
                    got="half a character (a lone surrogate)",
                    need="valid Unicode text",
                ) from fault


def _id(items: Items) -> Labels:
    assert items.id is not None
    return items.id


def _used(labels: Labels) -> IntArray:
    """The codes that occur, without that of a missing label."""
    codes = labels.codes
    return np.flatnonzero(np.bincount(codes[codes >= 0], minlength=1))


def _parts(items: Items, place: int) -> list[Items]:
    """One part for each repeat, in the order of the repeats' names."""
    for role in ("id", "repeat"):
        labels = getattr(items, role)
        if labels is not None and (labels.codes < 0).any():
            raise DataError(
                f"A row of run {place} has no {role}.", got=f"a row without {role} in run {place}", need=f"a {role} in every row"
            )
    if items.repeat is None:
        return [items]
    names = {items.repeat.names[i]: i for i in _used(items.repeat).tolist()}
    return [take(items, np.flatnonzero(items.repeat.codes == names[name])) for name in label_order(names)]


def _all_keys(columns: Sequence[Labels]) -> Sequence[str]:
    """The ids that occur in any of the columns, sorted as texts."""
    if all(isinstance(column.names, WholeNumbers) for column in columns):
        numbers = [column.names.numbers[_used(column)] for column in columns if isinstance(column.names, WholeNumbers)]
        every = numbers[0] if len(numbers) == 1 else np.unique(np.concatenate(numbers))
        return WholeNumbers(every[text_order(every)])
    names = [name for column in columns for name in picked(column.names, _used(column))]
    return tuple(sorted(dict.fromkeys(names)) if any(map(ge, names, names[1:])) else names)


def places_among(labels: Labels, keys: Sequence[str]) -> IntArray:
    """For each row, the place of its label among the keys; -1 where it is not there."""
    return np.append(places_of(labels.names, keys), -1)[labels.codes]  # -1 for missing is the last


def _check_once(places: Sequence[IntArray], keys: Sequence[str]) -> None:
    for number, place in enumerate(places, 1):
        often = np.bincount(place, minlength=len(keys))
        if (often > 1).any():
            example = keys[int(np.argmax(often > 1))]
            raise DataError(
                f"Duplicate ids: {int((often > 1).sum())} ids occur in several rows of run {number}, such as {example!r}.",
                got=f"{int((often > 1).sum())} ids in several rows of run {number}, such as {example!r}",
                need="each id once per run",
                hint="name the column that tells repeats apart with repeat=",
            )


class _Together:
    """What belongs to an item and not to a run: collected from all runs, which must agree."""

    def __init__(self, parts: Sequence[Items], places: Sequence[IntArray], keys: Sequence[str]) -> None:
        self.parts, self.places, self.keys = parts, places, keys

    def _agreed(self, what: str, values: Sequence[npt.NDArray[Any]], out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        known = np.zeros(len(self.keys), bool)
        for place, own in zip(self.places, values, strict=True):
            differ = known[place] & (out[place] != own)
            if differ.any():
                example = self.keys[int(place[int(np.argmax(differ))])]
                raise DataError(
                    f"{int(differ.sum())} items have another {what} in another run, such as {example!r}.",
                    got=f"{int(differ.sum())} items whose {what} differs between runs, such as {example!r}",
                    need="runs of the same items",
                    hint="the runs were made on different data; record them as separate references",
                )
            out[place], known[place] = own, True
        return out

    def texts(self, what: str, columns: Sequence[Labels | None]) -> Labels:
        names = tuple(dict.fromkeys(name for column in columns if column is not None for name in column.names))
        values = [
            np.full(part.n, -1) if each is None else places_among(each, names) for part, each in zip(self.parts, columns, strict=True)
        ]
        return Labels(self._agreed(what, values, np.full(len(self.keys), -1, np.int64)), names)

    def codes(self, what: str, labels: tuple[str, ...]) -> IntArray | None:
        columns = [getattr(part, what) for part in self.parts]
        if any(column is None for column in columns):
            return None
        code = {name: i for i, name in enumerate(labels)}
        values = [_coded(column, code, what) for column in columns]
        return np.asarray(self._agreed(what, values, np.full(len(self.keys), -1, np.int64)))

    def numbers(self, what: str) -> FloatArray | None:
        columns = [getattr(part, what) for part in self.parts]
        if any(column is None for column in columns):
            return None
        values = [_finite(column, what) for column in columns]
        return np.asarray(self._agreed(what.removesuffix("_value"), values, np.full(len(self.keys), np.nan)))


def _content(part: Items, columns: Sequence[str]) -> Labels | None:
    """The hash of what an item asks and expects, missing where there is nothing to hash. Each different content is hashed once."""
    if missing := [name for name in columns if name not in part.slices]:
        raise UsageError(f"No column {missing[0]!r} to hash in every run.", got=f"no column {missing[0]!r}", need="a column of every run")
    found = [_truth(part), *(part.slices[name] for name in columns)]
    if all(column is None for column in found):
        return None
    codes = np.zeros(part.n, np.int64)
    rows: list[tuple[str | None, ...]] = [()]
    for column in found:
        names = () if column is None else column.names
        own = np.full(part.n, -1) if column is None else column.codes
        together, codes = np.unique(codes * (len(names) + 1) + own + 1, return_inverse=True)
        rows = [(*rows[at // (len(names) + 1)], (None, *names)[at % (len(names) + 1)]) for at in together.tolist()]
    hashes = [None if set(row) == {None} else hash_id(json.dumps(row)) for row in rows]
    known = [each for each in hashes if each is not None]
    place = np.cumsum([each is not None for each in hashes]) - 1
    return Labels(np.where([each is None for each in hashes], -1, place)[codes], tuple(known))


def _truth(part: Items) -> Labels | None:
    """The truths as texts, numbers too."""
    if part.truth_value is None:
        return part.truth
    bits, codes = np.unique(np.ascontiguousarray(part.truth_value, np.float64).view(np.int64), return_inverse=True)  # -0.0 is not 0.0
    values = bits.view(np.float64)
    known = ~np.isnan(values)
    return Labels(np.where(known, np.cumsum(known) - 1, -1)[codes], tuple(map(repr, values[known].tolist())))


def changed_contents(items: Items, recorded: Outcomes) -> list[str]:
    """The keys of items whose truth or content is not what was recorded; where either is unknown, nothing is said."""
    now = _content(items, ())
    if now is None:
        return []
    place = places_among(_id(items), recorded.keys)
    known = dict(zip(now.names, range(len(now.names)), strict=True))
    codes = [*(known.get(each, -2) for each in recorded.contents.names), -1]
    was = np.array(codes, np.int64)[recorded.contents.codes][place]
    changed = place[(place >= 0) & (was != -1) & (now.codes >= 0) & (was != now.codes)]
    return [recorded.keys[i] for i in np.unique(changed).tolist()] if len(changed) else []


def _label_names(parts: Sequence[Items], roles: Collection[str]) -> tuple[str, ...]:
    """The truths in their order, then what only predictions say: a new wrong answer then renumbers no truth."""
    found: dict[str, set[str]] = {"truth": set(), "prediction": set()}
    for role, names in found.items():
        for part in parts:
            if role in roles and (labels := getattr(part, role)) is not None:
                names.update(labels.names[i] for i in _used(labels).tolist())
    return label_order(found["truth"]) + label_order(found["prediction"] - found["truth"])


def _coded(labels: Labels, code: dict[str, int], what: str) -> IntArray:
    if (labels.codes < 0).any():
        raise _hole(what, int((labels.codes < 0).sum()), len(labels))
    return np.array([code.get(name, -1) for name in labels.names], np.int64)[labels.codes]


def _finite(column: FloatArray, what: str) -> FloatArray:
    if not np.isfinite(column).all():
        raise _hole(what.removesuffix("_value"), int((~np.isfinite(column)).sum()), len(column))
    return np.asarray(column, np.float64)


def _hole(what: str, many: int, n: int) -> DataError:
    return DataError(
        f"{many} of {n} items have no {what}, or one that is not finite.",
        got=f"{many} of {n} items without one, or with one that is not finite",
        need="a finite number or a label for every item",
        hint="say what to do with missing='wrong' or missing='drop'",
    )


def _run(part: Items, place: IntArray, n: int, roles: Collection[str], labels: tuple[str, ...]) -> RecordedRun:
    columns: dict[str, Any] = {role: getattr(part, role) for role in ("score", "probability") if role in roles}
    if "prediction" in roles:
        columns["prediction_value"] = part.prediction_value
    if "ratio" in roles and part.ratio is not None:
        columns["above"], columns["below"] = part.ratio
    out: dict[str, Any] = {}
    for name, column in columns.items():
        if column is not None:
            out[name] = np.full(n, np.nan)
            out[name][place] = _finite(column, name)
    if "prediction" in roles and part.prediction is not None:
        out["prediction"] = np.full(n, -1, np.int64)
        out["prediction"][place] = _coded(part.prediction, {name: i for i, name in enumerate(labels)}, "prediction")
    present = np.zeros(n, bool)
    present[place] = True
    return RecordedRun(**out, present=None if present.all() else present)


# ---- to items ------------------------------------------------------------------------------------------------------


def to_items(outcomes: Outcomes) -> Items:
    """The rows as a reader would have given them: run after run, items by key; repeats are numbered from 1 if there are several."""
    rows = [np.arange(outcomes.n) if run.present is None else np.flatnonzero(run.present) for run in outcomes.runs]
    item = np.concatenate(rows)

    def per_run(name: str) -> Any:
        columns = [getattr(run, name) for run in outcomes.runs]
        return None if columns[0] is None else np.concatenate([column[at] for column, at in zip(columns, rows, strict=True)])

    above, prediction = per_run("above"), per_run("prediction")
    repeat = None
    if len(rows) > 1:
        names = tuple(str(i + 1) for i in range(len(rows)))
        repeat = Labels(np.repeat(np.arange(len(rows)), [len(at) for at in rows]), names, complete=True)
    return Items(
        n=len(item),
        id=Labels(item, outcomes.keys, complete=True),
        repeat=repeat,
        group=_group(outcomes.groups, item),
        truth=None if outcomes.truth is None else _own_names(outcomes.truth[item], outcomes.labels),
        prediction=None if prediction is None else _own_names(prediction, outcomes.labels),
        truth_value=None if outcomes.truth_value is None else outcomes.truth_value[item],
        prediction_value=per_run("prediction_value"),
        score=per_run("score"),
        probability=per_run("probability"),
        ratio=None if above is None else (above, per_run("below")),
        weight=None if outcomes.weight is None else outcomes.weight[item],
        slices={column: replace(labels, raw=labels.raw[item]) for column, labels in outcomes.slices.items()},
    )


def _group(groups: Labels, item: IntArray) -> Labels | None:
    named = _named(groups)
    return replace(named, raw=named.raw[item]) if named.names else None


def _named(labels: Labels) -> Labels:
    """A column with the names that it uses, in their order."""
    names = label_order(labels.names[i] for i in _used(labels).tolist())
    code = {name: i for i, name in enumerate(names)}
    return Labels(np.array([*(code.get(name, -1) for name in labels.names), -1], np.int64)[labels.codes], names)


def _own_names(codes: IntArray, labels: tuple[str, ...]) -> Labels:
    """A column that names only the labels it has."""
    used, own = np.unique(codes, return_inverse=True)
    return Labels(own.astype(np.int64), tuple(labels[i] for i in used), complete=True)
