"""A published table of scores, in Markdown or CSV: which systems, which test sets, how many items. Scores stay texts, with their digits."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import SourceError
from steelyard.options import did_you_mean

SIZES = ("n", "size", "items", "samples", "examples", "questions", "num_samples", "n_items", "test size")
LARGEST = 10_000_000  # bytes: a published table is read by people
_RULE = re.compile(r"^[|:\s-]+$")
_NUMBER = re.compile(r"^[+-]?(\d+(\.\d*)?|\.\d+)%?$")
_SPREAD = re.compile(r"\s*(±|\+-|\+/-|\\pm).*$")
EMPTY = ("", "-", "–", "—", "n/a", "na", "nan", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """One test set: its name, the number of its items, and each system's score as it was printed."""

    name: str
    n: int
    scores: tuple[tuple[str, str], ...]


def read_published(path: str | Path, size: str | None = None) -> tuple[tuple[PublishedSet, ...], int]:
    """The test sets of a table, and how many of its cells are empty.

    Several columns of scores: each is a system, and each row a test set. One column of scores: each row is a system.
    """
    rows = _rows(Path(path))
    heads, body = rows[0], rows[1:]
    if not body:
        raise SourceError(f"cannot audit {path}", got="a table without rows", need="a header and at least one row")
    at = _size_column(heads, size, str(path))
    ragged = next((i for i, row in enumerate(body, 2) if len(row) != len(heads)), None)
    if ragged is not None:
        got = f"{len(body[ragged - 2])} cells in row {ragged}, {len(heads)} in the header"
        raise SourceError(f"cannot audit {path}", got=got, need="as many cells in every row")
    scored = [i for i in range(len(heads)) if i != at and all(_is_score(row[i]) for row in body)]
    named = [i for i in range(len(heads)) if i != at and i not in scored]
    if not scored:
        raise SourceError(f"cannot audit {path}", got="no column of scores", need="numbers such as 87.4 or 0.874 in every row")
    names = [" ".join(row[i] for i in named).strip() or f"row {k}" for k, row in enumerate(body, 1)]
    sizes = [_items(row[at], name, heads[at], str(path)) for row, name in zip(body, names, strict=True)]
    empty = sum(row[i].lower() in EMPTY for row in body for i in scored)
    if len(scored) == 1:
        if len(set(sizes)) > 1:
            got = f"one column of scores, and {min(sizes)} to {max(sizes)} items"
            hint = "scores of different test sets cannot be held against each other; write one table for each"
            raise SourceError(f"cannot audit {path}", got=got, need="systems that were scored on the same items", hint=hint)
        given = tuple((name, row[scored[0]]) for name, row in zip(names, body, strict=True) if row[scored[0]].lower() not in EMPTY)
        return (PublishedSet(name=heads[scored[0]], n=sizes[0], scores=given),), empty
    return tuple(
        PublishedSet(name=name, n=n, scores=tuple((heads[i], row[i]) for i in scored if row[i].lower() not in EMPTY))
        for name, n, row in zip(names, sizes, body, strict=True)
    ), empty


def _rows(path: Path) -> list[list[str]]:
    """The cells, without marks of Markdown and without what follows a plus or minus."""
    try:
        if path.stat().st_size > LARGEST:
            raise SourceError(f"cannot audit {path}", got="more than 10 MB", need="a published table")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        said = getattr(fault, "strerror", None) or "a file that is not UTF-8"
        raise SourceError(f"cannot read {path}", got=str(said), need="a table in Markdown or CSV") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    piped = [line for line in lines if line.count("|") >= 2]
    if piped:
        found = [re.split(r"(?<!\\)\|", line.strip("|")) for line in piped if not _RULE.match(line)]
    else:
        tabs = bool(lines) and "\t" in lines[0]
        found = [row for row in csv.reader(lines, delimiter="\t" if tabs else ",") if row]
    if not found:
        raise SourceError(f"cannot audit {path}", got="no table", need="a table in Markdown or CSV")
    return [[_clean(cell) for cell in row] for row in found]


def _clean(cell: str) -> str:
    plain = cell.strip().replace("\\|", "|").replace("**", "").replace("__", "").strip("*`_ \t")
    return _SPREAD.sub("", plain)


def _size_column(heads: Sequence[str], size: str | None, path: str) -> int:
    if size is not None:
        if size not in heads:
            hint = did_you_mean(size, heads) or f"columns: {', '.join(heads)}"
            raise SourceError(f"cannot audit {path}", got=f"no column {size!r}", need="the column with the number of items", hint=hint)
        return list(heads).index(size)
    found = [i for i, head in enumerate(heads) if head.lower() in SIZES]
    if len(found) != 1:
        got = "no column of sizes" if not found else f"several: {', '.join(heads[i] for i in found)}"
        hint = f"name it with size=; columns: {', '.join(heads)}"
        raise SourceError(f"cannot audit {path}", got=got, need="one column with the number of items, such as n", hint=hint)
    return found[0]


def _items(cell: str, name: str, head: str, path: str) -> int:
    digits = cell.replace(",", "").replace("_", "").replace(" ", "")
    if not digits.isascii() or not digits.isdigit() or int(digits) < 1:
        raise SourceError(f"cannot audit {path}", got=f"{cell!r} in the column {head!r} for {name!r}", need="a number of items")
    return int(digits)


def _is_score(cell: str) -> bool:
    return bool(_NUMBER.match(cell)) or cell.lower() in EMPTY
