"""A published table of scores, in Markdown or CSV: which systems, which test sets, how many items. Scores stay texts, with their digits."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass

SIZES = ("n", "size", "items", "samples", "examples", "questions", "num_samples", "n_items", "test size")
LARGEST = 10_000_000  # bytes: a published table is read by people
EMPTY = ("", "-", "–", "—", "n/a", "na", "nan", "none")
_RULE = re.compile(r"^[|:\s-]+$")
_DRESS = re.compile(r"</?(?:b|strong|i|em|u|span)>|\*\*|__")
_PLAIN = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_SPREAD = rf"(?:±|\+-|\+/-|\\pm)\s*{_PLAIN}\s*(?P<behind>\\?%)?"
_FOOTNOTE = r"[†‡§¶*∗⋆★☆⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠ]|\^?\\(?:d?dagger|ast|star)|[\^_]\{[^{}]*\}|\^[\w*†‡§¶]{1,3}|<su[pb]>[^<]*</su[pb]>"
_BRACKETS = r"\([^()]*\)|\[[^\[\]]*\]"
_SCORE = re.compile(rf"^(?P<number>{_PLAIN})\s*(?P<percent>\\?%)?(?P<remarks>(?:\s*(?:{_FOOTNOTE}|{_BRACKETS}|{_SPREAD}))*)$")
_NEARLY = re.compile(r"^[+-]?\d{1,3}[.,]\d{1,2}\s*($|[^\w\s.-])")  # what would be a score, were it not for something behind it


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """One test set: its name, the number of its items, and each system's score as it was printed, without remarks."""

    name: str
    n: int
    scores: tuple[tuple[str, str], ...]


def score_text(cell: str) -> tuple[str, bool] | None:
    """A score with its digits and its percent sign, and whether a remark behind it was left out; None if it is no score.

    A remark is a footnote mark, a spread behind a plus or minus, or whatever stands in brackets.

    >>> score_text("87.40%"), score_text("42.4†"), score_text("44.9 (0.3)"), score_text("0.9 ± 0.1%"), score_text("87.4 or so")
    (('87.40%', False), ('42.4', True), ('44.9', True), ('0.9%', True), None)
    """
    found = _SCORE.match(cell.strip().strip("$").strip())
    if found is None:
        return None
    return found["number"] + ("%" if found["percent"] or found["behind"] else ""), bool(found["remarks"])


def read_published(path: str | Path, size: str | None = None) -> tuple[tuple[PublishedSet, ...], list[str]]:
    """The test sets of a table, and what was left out of it.

    Several columns of scores: each is a system, and each row a test set. One column of scores: each row is a system.
    """
    rows = _rows(Path(path))
    heads, body = rows[0], rows[1:]
    if not body:
        raise SourceError(f"{path} has a header but no rows to audit.", got="a table without rows", need="a header and at least one row")
    at = _size_column(heads, size, str(path))
    ragged = next((i for i, row in enumerate(body, 2) if len(row) != len(heads)), None)
    if ragged is not None:
        got = f"{len(body[ragged - 2])} cells in row {ragged}, {len(heads)} in the header"
        raise SourceError(f"{path} has {got}.", got=got, need="as many cells in every row")
    others = [i for i in range(len(heads)) if i != at]
    scored = [i for i in others if _of_scores([row[i] for row in body], heads[i], first=i == others[0], path=str(path))]
    if not scored:
        raise SourceError(
            f"{path} has no column of scores: numbers such as 87.4 or 0.874 in every row.",
            got="no column of scores",
            need="numbers such as 87.4 or 0.874 in every row",
        )
    names = [" ".join(row[i] for i in others if i not in scored).strip() or f"row {k}" for k, row in enumerate(body, 1)]
    _tell_apart(names, "rows", str(path))
    _tell_apart([heads[i] for i in scored], "columns", str(path))
    sizes = [_items(row[at], name, heads[at], str(path)) for row, name in zip(body, names, strict=True)]
    cells = [[score_text(row[i]) for i in scored] for row in body]
    said = _left_out([row[i] for row in body for i in scored])
    if len(scored) == 1:
        if len(set(sizes)) > 1:
            got = f"one column of scores, and {min(sizes)} to {max(sizes)} items"
            hint = "scores of different test sets cannot be compared with each other; write one table for each"
            raise SourceError(
                f"{path} has {got}: systems can be compared only on the same items.",
                got=got,
                need="systems that were scored on the same items",
                hint=hint,
            )
        given = tuple((name, read[0]) for name, (read,) in zip(names, cells, strict=True) if read)
        return (PublishedSet(name=heads[scored[0]], n=sizes[0], scores=given),), said
    return tuple(
        PublishedSet(name=name, n=n, scores=tuple((heads[i], read[0]) for i, read in zip(scored, row, strict=True) if read))
        for name, n, row in zip(names, sizes, cells, strict=True)
    ), said


def _left_out(cells: Sequence[str]) -> list[str]:
    """How many cells of scores are empty, and how many have remarks."""
    empty = sum(_is_empty(cell) for cell in cells)
    remarked = [cell for cell in cells if (read := score_text(cell)) and read[1]]
    said = [f"{empty} empty {'cell was' if empty == 1 else 'cells were'} left out"] * (empty > 0)
    if remarked:
        of = "1 score" if len(remarked) == 1 else f"{len(remarked)} scores"
        said.append(f"what stands behind {of} was left out, as in {remarked[0]!r}")
    return said


def _of_scores(cells: Sequence[str], head: str, *, first: bool, path: str) -> bool:
    """Whether a column has scores. One that has scores and other things is refused, since a system would be lost without a word.

    The first column may have names of which some are numbers.
    """
    filled = [(k, cell) for k, cell in enumerate(cells, 2) if not _is_empty(cell)]
    other = [(k, cell) for k, cell in filled if score_text(cell) is None]
    if not other:
        return True
    if first and 2 * len(other) > len(filled):
        return False
    nearly = [] if first else [(k, cell) for k, cell in other if _NEARLY.match(cell)]
    if len(other) == len(filled) and not nearly:
        return False
    row, cell = (nearly or other)[0]
    raise SourceError(
        f"{path} has {cell!r} in row {row} of the column {head!r}; a column holds scores such as 87.4 in every cell or in none.",
        got=f"{cell!r} in row {row} of the column {head!r}",
        need="scores such as 87.4 in every cell of it, or in none",
        hint="write the score alone, such as 87.4, or leave the column out",
    )


def _tell_apart(names: Sequence[str], what: str, path: str) -> None:
    twice = [name for name, many in Counter(names).items() if many > 1]
    if twice:
        got = f"several {what} named {twice[0]!r}"
        raise SourceError(
            f"{path} has {got}; each needs a name of its own.",
            got=got,
            need=f"{what} with names of their own",
            hint="MMLU (5-shot), MMLU (0-shot)",
        )


def _is_empty(cell: str) -> bool:
    return cell.lower() in EMPTY


def _rows(path: Path) -> list[list[str]]:
    """The cells, without bold and other dress."""
    try:
        if path.stat().st_size > LARGEST:
            raise SourceError(
                f"{path} is larger than 10 MB, too large for a published table.", got="more than 10 MB", need="a published table"
            )
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        said = getattr(fault, "strerror", None) or "a file that is not UTF-8"
        raise SourceError(f"Cannot read {path}: {said}.", got=str(said), need="a table in Markdown or CSV") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    piped = [line for line in lines if line.count("|") >= 2]
    if piped:
        found = [re.split(r"(?<!\\)\|", line.strip("|")) for line in piped if not _RULE.match(line)]
    else:
        tabs = bool(lines) and "\t" in lines[0]
        found = [row for row in csv.reader(lines, delimiter="\t" if tabs else ",") if row]
    if not found:
        raise SourceError(f"{path} has no table in Markdown or CSV.", got="no table", need="a table in Markdown or CSV")
    return [[_clean(cell) for cell in row] for row in found]


def _clean(cell: str) -> str:
    return _DRESS.sub("", cell.strip().replace("\\|", "|")).strip("*`_ \t")


def _size_column(heads: Sequence[str], size: str | None, path: str) -> int:
    if size is not None:
        if size not in heads:
            hint = did_you_mean(size, heads) or f"columns: {', '.join(heads)}"
            raise SourceError(
                f"{path} has no column {size!r} with the number of items.",
                got=f"no column {size!r}",
                need="the column with the number of items",
                hint=hint,
            )
        return list(heads).index(size)
    found = [i for i, head in enumerate(heads) if head.lower() in SIZES]
    if len(found) != 1:
        got = "no column of sizes" if not found else f"several: {', '.join(heads[i] for i in found)}"
        hint = f"name it with size=; columns: {', '.join(heads)}"
        raise SourceError(
            f"{path} needs one column with the number of items, such as n; there is {got}.",
            got=got,
            need="one column with the number of items, such as n",
            hint=hint,
        )
    return found[0]


def _items(cell: str, name: str, head: str, path: str) -> int:
    digits = cell.replace(",", "").replace("_", "").replace(" ", "")
    if not digits.isascii() or not digits.isdigit() or int(digits) < 1:
        raise SourceError(
            f"{path} has {cell!r} in the column {head!r} for {name!r}, which is no number of items.",
            got=f"{cell!r} in the column {head!r} for {name!r}",
            need="a number of items",
        )
    return int(digits)
