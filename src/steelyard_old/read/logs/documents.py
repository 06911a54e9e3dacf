"""The JSON inside a log, as strict as JSON tables: one document or one object per line; a name for items that have none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.read.files.formats import check_text
from steelyard_old.read.files.jsons import bad_value, one_value, strict_decoder
from steelyard_old.read.files.paths import open_file

_DIGITS = 16  # 64 bits: among a million items, two of one name have odds of 1 to 37 million
_MOST_TEXT = 200  # a text beyond this is a prompt, not something to slice by


def document(path: str) -> Any:
    """The one JSON value of a file. Duplicate keys, NaN, numbers beyond float64 and half files are errors."""
    file = open_file(path)
    check_text(file.plain, file.shown)
    with open(file.plain, encoding="utf-8-sig", newline="") as stream:
        text = stream.read()
    try:
        found = strict_decoder().decode(text)
    except json.JSONDecodeError as error:
        raise bad_value(file, f"line {error.lineno}", error, cut=not text[error.pos :].strip()) from None
    except (ValueError, RecursionError) as error:
        raise bad_value(file, "the file", error, cut=False) from None
    file.check_unchanged()
    return found


def objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with the number of its line."""
    file = open_file(path)
    check_text(file.plain, file.shown)
    decoder = strict_decoder()
    with open(file.plain, "rb") as stream:
        for number, raw in enumerate(stream, 1):  # a binary file ends lines at LF, never at U+2028
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            if not text.strip(" \t\r\n"):
                continue
            try:
                found = one_value(decoder, text)
            except (ValueError, RecursionError) as error:
                raise bad_value(file, f"line {number}", error, cut=not raw.endswith(b"\n")) from None
            if not isinstance(found, dict):
                raise malformed(path, f"line {number} is not a JSON object", "one object per line")
            yield number, found
    file.check_unchanged()


def malformed(path: str, got: str, need: str, hint: str = "") -> SourceError:
    """A file that has the look of a tool's log, and then not its shape."""
    return SourceError(f"Cannot read the log {path!r}: {got}.", got=got, need=need, hint=hint)


def listed_in(path: str, whole: Any, key: str, tool: str) -> list[dict[str, Any]]:
    """The list of objects that a log has under a key, or an error that says what is there instead."""
    rows = whole.get(key) if isinstance(whole, dict) else whole if not key else None
    where = f"under {key!r}" if key else "in the file"
    if not isinstance(rows, list):
        raise malformed(path, f"no list {where}, which a log of {tool} has", f"a whole log of {tool}")
    wrong = next((place for place, row in enumerate(rows) if not isinstance(row, dict)), None)
    if wrong is not None:
        raise malformed(path, f"element {wrong + 1} {where} is not an object", f"a whole log of {tool}")
    if not rows:
        raise SourceError(f"No items in {path!r}.", got="no items", need="at least one row")
    return rows


def digest(path: str, value: Any) -> str:
    """A name for an item out of its content: equal content, equal name, on every machine.

    >>> digest("log.json", {"b": 1, "a": "x"}) == digest("log.json", {"a": "x", "b": 1})
    True
    """
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise malformed(path, "its values are nested too deeply", "a few levels") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_DIGITS]


def scalars(prefix: str, values: Any) -> dict[str, Any]:
    """The entries of an object that can be a column: short texts, numbers, true and false; each as `prefix.name`."""
    if not isinstance(values, Mapping):
        return {}
    return {f"{prefix}.{name}": value for name, value in values.items() if _is_scalar(value)}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= _MOST_TEXT)


def side_by_side(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Columns out of rows; what a row lacks is None."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def occurrences(ids: Sequence[Any]) -> list[int] | None:
    """The how-many-eth time each id comes, from 1; None if no id comes twice.

    >>> occurrences(["a", "b", "a"]), occurrences(["a", "b"])
    ([1, 1, 2], None)
    """
    seen: dict[Any, int] = {}
    places = []
    for each in ids:
        seen[each] = seen.get(each, 0) + 1
        places.append(seen[each])
    return places if max(seen.values(), default=0) > 1 else None


def text_or_none(value: Any) -> str | None:
    """A text that says something, else None."""
    return value if isinstance(value, str) and value.strip() else None
