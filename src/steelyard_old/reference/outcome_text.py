"""The two files of item outcomes as text: items by key, and blocks of bits, numbers and codes whose lines differ one by one.

    steelyard-items 1 text 3              steelyard-outcomes 1
    q1 <tab> 6b86b273ff34fce1 <tab> -     {"columns": {"score": "bit"}, "items": ..., "n": 3, "runs": 1, "sha256": ...}
    q2 <tab> ...                          # run 1 score
                                          a0

Lists and bytes in, text out, and back. A line holds a fixed number of items, so one outcome that changes is one line
of a diff (and the checksum). Whatever is not exactly as it would have been written is damage.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import repeat
from operator import ge
from typing import TYPE_CHECKING, Any

from steelyard_old.items import Labels
from steelyard_old.late_dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from steelyard_old.reference.outcome_items import Outcomes

    Array = npt.NDArray[Any]
    Mask = npt.NDArray[np.bool_]

ITEMS, OUTCOMES = "steelyard-items 1", "steelyard-outcomes 1"
PER_LINE = {"bit": 256, "float": 8, "code": 64}
ABSENT = "-"
OF_RUNS = ("score", "probability", "above", "below", "prediction", "prediction_value")
OF_ITEMS = ("truth", "truth_value", "weight")
STRANGE = ('\n"', "\n-", "\n\n")  # how a field begins, at the start of its line, that is not its own text
CODED = ("truth", "prediction")


class Damaged(ValueError):
    """What is wrong with a text, for the message that names the file."""


def field_text(text: str | None) -> str:
    """A text as one field of a line: as it is where it can be seen as it is, else as JSON; `-` for None.

    >>> [field_text(t) for t in ("q 1", "a\\tb", "-", "", None)]
    ['q 1', '"a\\\\tb"', '"-"', '""', '-']
    """
    if text is None:
        return ABSENT
    if text and text != ABSENT and text[0] != '"' and text.isprintable():
        return text
    return json.dumps(text)


def field_of(written: str) -> str | None:
    """The text of a field."""
    if written == ABSENT:
        return None
    if not written:
        raise Damaged("a field with nothing in it")
    if not written.startswith('"'):
        return written
    try:
        text = json.loads(written)
    except ValueError:
        raise Damaged(f"a field that cannot be read, {written[:40]!r}") from None
    if not isinstance(text, str):
        raise Damaged(f"a field that is no text, {written[:40]!r}")
    return text


# ---- items ---------------------------------------------------------------------------------------------------------


def items_text(keys: Sequence[str], content: Sequence[str | None], group: Sequence[str | None], *, hashed: bool) -> bytes:
    """The file of items: one line per key."""
    lines = [f"{ITEMS} {'sha256' if hashed else 'text'} {len(keys)}"]
    lines += map("\t".join, zip(field_texts(keys), field_texts(content), field_texts(group), strict=True))
    return ("\n".join(lines) + "\n").encode()


def _strange(column: Sequence[str]) -> bool:
    """Whether a field of the column is empty or begins as only fields do that are not their own text."""
    lines = "\n".join(("", *column, ""))
    return any(start in lines for start in STRANGE)


def field_texts(column: Sequence[str | None]) -> Iterable[str]:
    """The fields of a column: its own texts, if one look tells that they can be seen as they are; otherwise each different one once."""
    texts = [text for text in column if text is not None]
    if len(texts) == len(column) and "".join(texts).isprintable() and not _strange(texts):
        return texts
    return map({text: field_text(text) for text in set(column)}.__getitem__, column)


def items_of(data: bytes) -> tuple[tuple[str, ...], Labels, Labels, bool, str]:
    """Keys, contents, groups, whether the keys are hashes, and the SHA-256 of the file."""
    head, *lines = lines_of(data)
    version, _, rest = head.rpartition(" ")
    version, _, kind = version.rpartition(" ")
    if version != ITEMS or kind not in ("text", "sha256"):
        raise Damaged(f"the first line {head[:60]!r}, which this version cannot read (it reads {ITEMS!r})")
    if rest != str(len(lines)):
        raise Damaged(f"{len(lines)} items where the first line says {rest[:20]}")
    if (counts := list(map(str.count, lines, repeat("\t")))) != [2] * len(lines):
        number = next(i for i, many in enumerate(counts) if many != 2)
        raise Damaged(f"{counts[number] + 1} fields instead of 3 in line {number + 2}")
    flat = "\t".join(lines).split("\t")  # one split for all: there may be a hundred thousand lines
    keys, content, group = (fields_of(flat[at::3]) for at in range(3))
    if None in keys or any(map(ge, keys, keys[1:])):
        raise Damaged("keys that are missing, repeated or out of order")
    return keys, _labels_of(content), _labels_of(group), kind == "sha256", hashlib.sha256(data).hexdigest()


def _labels_of(texts: Sequence[str | None]) -> Labels:
    """A column of texts, None for a missing one, as labels in the order of their first use."""
    import numpy as np

    names = tuple(name for name in dict.fromkeys(texts) if name is not None)
    code: dict[str | None, int] = {**dict(zip(names, range(len(names)), strict=True)), None: -1}
    return Labels(np.fromiter(map(code.__getitem__, texts), np.int64, len(texts)), names)


def fields_of(column: list[str]) -> tuple[Any, ...]:
    """The texts of a column of fields. Almost all are as they are, which one look at all of them tells; of others, each is read once."""
    if column[0] == column[-1] and column.count(column[0]) == len(column):
        return (field_of(column[0]),) * len(column)
    if not _strange(column):
        return tuple(column)
    strange = {written: field_of(written) for written in set(column) if not written or written[0] in '"-'}
    return tuple([strange.get(written, written) for written in column] if strange else column)


def lines_of(data: bytes) -> list[str]:
    """The lines, each with its end."""
    if b"\r" in data:
        raise Damaged("carriage returns: something changed the line ends ('*.items -text' and '*.outcomes -text' in .gitattributes)")
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise Damaged("bytes that are not UTF-8") from None
    if lines.pop():
        raise Damaged("a last line without its end: the file was cut short")
    if len(lines) < 2:
        raise Damaged("nothing after the first line")
    return lines


# ---- outcomes ------------------------------------------------------------------------------------------------------


def outcomes_text(header: dict[str, Any], blocks: Sequence[tuple[str, list[str]]]) -> bytes:
    """The file of outcomes: a first line, the header with a checksum over all the rest, the blocks under their headings."""
    payload = "".join(f"# {heading}\n" + "".join(f"{line}\n" for line in lines) for heading, lines in blocks)
    sealed = {**header, "sha256": _seal(header, payload)}
    return f"{OUTCOMES}\n{_json(sealed)}\n{payload}".encode()


def outcomes_header(data: bytes) -> dict[str, Any]:
    """The header alone, its checksum taken on trust: enough to see which file of items is meant."""
    first, _, rest = data.partition(b"\n")
    if first != OUTCOMES.encode():
        raise Damaged(f"the first line {first[:60]!r}, which this version cannot read (it reads {OUTCOMES!r})")
    try:
        header = json.loads(rest.partition(b"\n")[0])
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise Damaged("a second line that is no JSON")
    return header


def shape_of(data: bytes) -> OutcomeShape:
    """What the header of a file of outcomes says, its checksum taken on trust."""
    return OutcomeShape.of(outcomes_header(data))


def outcomes_of_text(data: bytes) -> tuple[OutcomeShape, Iterator[str]]:
    """What the header says, and the lines after it, the checksum verified."""
    if data.partition(b"\n")[0] != OUTCOMES.encode():
        outcomes_header(data)  # says which version it is, whatever follows
    lines = lines_of(data)
    header = outcomes_header(data)
    seal = header.pop("sha256", None)
    if seal != _seal(header, "".join(f"{line}\n" for line in lines[2:])):
        raise Damaged("a checksum that does not agree: the file was edited or cut short")
    return OutcomeShape.of(header), iter(lines[2:])


def _seal(header: dict[str, Any], payload: str) -> str:
    return hashlib.sha256(f"{_json(header)}\n{payload}".encode()).hexdigest()


def _json(header: dict[str, Any]) -> str:
    return json.dumps(header, sort_keys=True, separators=(",", ":"))


# ---- blocks --------------------------------------------------------------------------------------------------------


def bits_text(packed: bytes) -> list[str]:
    """Packed bits, the first item in the highest bit, as lines of hexadecimal."""
    size = PER_LINE["bit"] // 8
    return [packed[at : at + size].hex() for at in range(0, len(packed), size)]


def values_text(values: Sequence[str], kind: str) -> list[str]:
    """Values that are text already, as lines."""
    size = PER_LINE[kind]
    return [" ".join(values[at : at + size]) for at in range(0, len(values), size)]


def take_heading(lines: Iterator[str], heading: str) -> None:
    """The next line must be this heading."""
    found = next(lines, "nothing")
    if found != f"# {heading}":
        raise Damaged(f"{found[:40]!r} where the block {heading!r} should begin")


def take_bits(lines: Iterator[str], n: int) -> bytes:
    """The packed bits of n items."""
    text = "".join(_next(lines) for _ in range(-(-n // PER_LINE["bit"])))
    try:
        packed = bytes.fromhex(text)
    except ValueError:
        raise Damaged("bits that are not hexadecimal") from None
    if len(packed) != -(-n // 8) or (n % 8 and packed[-1] & (0xFF >> n % 8)):
        raise Damaged(f"bits of another number of items than {n}")
    return packed


def take_values(lines: Iterator[str], n: int, kind: str) -> list[str]:
    """The values of n items, as text."""
    values = " ".join(_next(lines) for _ in range(-(-n // PER_LINE[kind]))).split(" ")
    if len(values) != n:
        raise Damaged(f"{len(values)} values of {n} items")
    return values


def take_lines(lines: Iterator[str], many: int) -> list[str]:
    """So many lines as they are."""
    return [_next(lines) for _ in range(many)]


def _next(lines: Iterator[str]) -> str:
    line = next(lines, None)
    if line is None:
        raise Damaged("fewer lines than the header says")
    return line


# ---- header and columns ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeShape:
    """The header: what is in the file. `items` is the SHA-256 of the file of items, which is named by its beginning."""

    n: int
    runs: int
    items: str
    columns: dict[str, str]  # of a run: bit, float or code
    shared: dict[str, str]  # of an item
    labels: int
    partial: list[int]  # runs, from 1, that lack items
    slices: dict[str, int] = field(default_factory=dict)  # columns that tell slices apart, each with its number of names; absent: none

    @classmethod
    def of(cls, header: dict[str, Any]) -> OutcomeShape:
        try:
            shape = cls(**{key: value for key, value in header.items() if key != "sha256"})
            whole = all(type(value) is int and value >= least for value, least in ((shape.n, 1), (shape.runs, 1), (shape.labels, 0)))
            kinds = [*shape.columns.items(), *shape.shared.items()]
            known = set(shape.columns) <= set(OF_RUNS) and set(shape.shared) <= set(OF_ITEMS)
            fit = all(kind in (("code",) if name in CODED else ("bit", "float")) for name, kind in kinds)
            fit = fit and all(type(many) is int and 0 <= many <= shape.n for many in shape.slices.values())
            if whole and known and fit and shape.columns and len(shape.items) == 64 and int(shape.items, 16) >= 0:
                return shape
        except (TypeError, ValueError, AttributeError):
            pass
        raise Damaged("a header that this version cannot read")

    def blocks(self) -> Iterator[tuple[str, str, str, int]]:
        """Heading, column, kind and run (0: of the items) of each block, in the order of the file."""
        for name in sorted(self.shared):
            yield name, name, self.shared[name], 0
        for run in range(1, self.runs + 1):
            if run in self.partial:
                yield f"run {run} present", "present", "bit", run
            for name in sorted(self.columns):
                yield f"run {run} {name}", name, self.columns[name], run


def outcomes_bytes(outcomes: Outcomes, digest: str) -> bytes:
    """The file of outcomes. digest: the SHA-256 of the file of their items."""
    first = outcomes.runs[0]
    shape = OutcomeShape(
        n=outcomes.n,
        runs=len(outcomes.runs),
        items=digest,
        columns={name: _kind(name, outcomes.runs) for name in OF_RUNS if getattr(first, name) is not None},
        shared={name: _kind(name, (outcomes,)) for name in OF_ITEMS if getattr(outcomes, name) is not None},
        labels=len(outcomes.labels),
        partial=[number for number, run in enumerate(outcomes.runs, 1) if run.present is not None],
        slices={column: len(labels.names) for column, labels in sorted(outcomes.slices.items())},
    )
    blocks = [("labels", [field_text(name) for name in outcomes.labels])] if outcomes.labels else []
    for place, column in enumerate(shape.slices, 1):
        labels = outcomes.slices[column]
        blocks.append((f"slice {place} names", [field_text(name) for name in labels.names]))
        blocks.append((f"slice {place}", values_text([ABSENT if code < 0 else str(code) for code in labels.codes.tolist()], "code")))
    for heading, name, kind, number in shape.blocks():
        of = outcomes.runs[number - 1] if number else outcomes
        blocks.append((heading, _written(getattr(of, name), kind, getattr(of, "present", None))))
    header = {each: getattr(shape, each) for each in OutcomeShape.__slots__ if each != "slices" or shape.slices}
    return outcomes_text(header, blocks)


def _kind(name: str, holders: tuple[Any, ...]) -> str:
    """bit only if every number is exactly 0.0 or 1.0: -0.0 would come back as another number."""
    import numpy as np

    if name in CODED:
        return "code"
    for of in holders:
        column = getattr(of, name)
        answers = column if getattr(of, "present", None) is None else column[of.present]
        if not (((answers == 0) & ~np.signbit(answers)) | (answers == 1)).all():
            return "float"
    return "bit"


def _written(column: Array, kind: str, present: Mask | None) -> list[str]:
    import numpy as np

    if kind == "bit":
        return bits_text(np.packbits(column == 1).tobytes())  # where there is no answer, 0
    values = list(map(repr, column.tolist()))
    if present is not None:
        values = [value if there else ABSENT for value, there in zip(values, present.tolist(), strict=True)]
    return values_text(values, kind)


def taken(shape: OutcomeShape, lines: Iterator[str]) -> tuple[tuple[str, ...], dict[str, Any], list[dict[str, Any]]]:
    """The labels, the columns of the items, and those of each run."""
    labels: list[str] = []
    if shape.labels:
        take_heading(lines, "labels")
        labels = [text for line in take_lines(lines, shape.labels) if (text := field_of(line)) is not None]
        if len(set(labels)) < shape.labels:
            raise Damaged("labels that are missing or repeated")
    holders: list[dict[str, Any]] = [{} for _ in range(shape.runs + 1)]
    if shape.slices:
        holders[0]["slices"] = {
            column: _slice(lines, place, many, shape.n) for place, (column, many) in enumerate(sorted(shape.slices.items()), 1)
        }
    for heading, name, kind, number in shape.blocks():
        take_heading(lines, heading)
        if name == "present":
            holders[number][name] = _bits(lines, shape.n)
        else:
            holders[number][name] = _column(lines, shape, kind, holders[number].get("present"))
    if next(lines, None) is not None:
        raise Damaged("more lines than the header says")
    return tuple(labels), holders[0], holders[1:]


def _slice(lines: Iterator[str], place: int, many: int, n: int) -> Labels:
    """The slice of every item by one column, which has so many names."""
    import numpy as np

    take_heading(lines, f"slice {place} names")
    names = [text for line in take_lines(lines, many) if (text := field_of(line)) is not None]
    take_heading(lines, f"slice {place}")
    try:
        codes = np.array([-1 if value == ABSENT else int(value) for value in take_values(lines, n, "code")], np.int64)
    except (ValueError, OverflowError):
        raise Damaged("slices that are no codes") from None
    if len(set(names)) < many or ((codes < -1) | (codes >= many)).any():
        raise Damaged("slices whose names are missing or repeated")
    return Labels(codes, tuple(names))


def _bits(lines: Iterator[str], n: int) -> Mask:
    import numpy as np

    return np.unpackbits(np.frombuffer(take_bits(lines, n), np.uint8), count=n).astype(bool)


def _column(lines: Iterator[str], shape: OutcomeShape, kind: str, present: Mask | None) -> Array:
    """One block as an array, NaN or -1 where the run has no answer and nowhere else."""
    import numpy as np

    there = np.ones(shape.n, bool) if present is None else present
    if kind == "bit":
        return np.where(there, _bits(lines, shape.n).astype(np.float64), np.nan)
    hole, make = ("-1", int) if kind == "code" else ("nan", float)
    values = take_values(lines, shape.n, kind)
    try:
        column = np.array([make(hole if value == ABSENT else value) for value in values], np.int64 if make is int else np.float64)
    except (ValueError, OverflowError):
        raise Damaged("values that are not numbers") from None
    good = (column >= 0) & (column < shape.labels) if kind == "code" else np.isfinite(column)
    if (good != there).any():
        raise Damaged("codes without a label, or numbers that are missing or not finite")
    return column
