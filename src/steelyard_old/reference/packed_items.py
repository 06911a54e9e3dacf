"""Many items in little room: keys, contents and groups as columns of numbers, packed, so that a million items are a few megabytes.

    steelyard-items 2 text 1000000
    {"content": [3, 1], "group": [0, 0, 0], "keys": ["numbers", 1, 1]}
    # keys
    eJzswQEJAAAAwqD6p7bHByw...

A file of many items is named by its digest and never edited, so no diff of it is read; one of few items stays a list of lines
(`outcome_text`). Nothing is left out: every key, the hash of every content, every group. Keys that are whole numbers are the steps
from one to the next; contents and groups are the different ones and, for each item, which of them. Each block is compressed
(zlib) and one line of base64.

The digest is that of the numbers and texts before they are compressed: two versions of zlib may write other bytes, and it is
the same file of items all the same.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from operator import ge
from typing import TYPE_CHECKING, Any

from steelyard_old.items import DIGITS, Labels, WholeNumbers
from steelyard_old.reference.outcome_text import Damaged, field_texts, fields_of, lines_of, take_heading, take_lines

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from steelyard_old.reference.outcome_items import Outcomes

PACKED = b"steelyard-items 2 "  # how such a file begins
MANY = 10_000  # items from which a file is packed: up to here people read it
LONGEST = 256  # bytes of a key or of a group's name, on average: what is longer stays a list of lines
HASH = 8  # bytes of the hash of a content
WIDTHS = range(1, 9)  # bytes of a number
Block = tuple[str, bytes]


def worth_packing(outcomes: Outcomes) -> bool:
    """Whether the items are many, and such that packing leaves nothing out."""
    if outcomes.n < MANY or any(len(name) != 2 * HASH or name.strip("0123456789abcdef") for name in outcomes.contents.names):
        return False
    texts = [outcomes.groups.names] if isinstance(outcomes.keys, WholeNumbers) else [outcomes.keys, outcomes.groups.names]
    return all(sum(map(len, names)) <= LONGEST // 4 * outcomes.n for names in texts)  # a letter may be four bytes


def packed_items(outcomes: Outcomes) -> tuple[str, bytes]:
    """The SHA-256 of what is in the file of items, and the file, packed."""
    first, header, blocks = _parts(outcomes)
    packed = (f"# {heading}\n".encode() + base64.b64encode(zlib.compress(data, 6)) + b"\n" for heading, data in blocks)
    return _digest(first, header, blocks), b"".join([f"{first}\n{header}\n".encode(), *packed])


def _digest(first: str, header: str, blocks: Sequence[Block]) -> str:
    found = hashlib.sha256(f"{first}\n{header}\n".encode())
    for heading, data in blocks:
        found.update(f"# {heading} {len(data)}\n".encode())
        found.update(data)
    return found.hexdigest()


# ---- packing -------------------------------------------------------------------------------------------------------


def _parts(outcomes: Outcomes) -> tuple[str, str, list[Block]]:
    """The first line, the header and the blocks before they are compressed. They depend on the items alone."""
    blocks: list[Block] = []
    keys: list[Any] = ["text", 0]
    if isinstance(outcomes.keys, WholeNumbers):
        import numpy as np

        numbers = np.sort(outcomes.keys.numbers)
        steps, width = _planes(np.diff(numbers))
        keys = ["numbers", int(numbers[0]), width]
        blocks.append(("keys", steps))
    else:
        text = "\n".join(field_texts(outcomes.keys)).encode()
        keys = ["text", len(text)]
        blocks.append(("keys", text))
    content, group = (_in_order(column) for column in (outcomes.contents, outcomes.groups))
    header: dict[str, Any] = {"keys": keys, "content": [len(content.names), 0], "group": [len(group.names), 0, 0]}
    if content.names:
        codes, header["content"][1] = _planes(content.codes + 1)
        blocks += [("contents", bytes.fromhex("".join(content.names))), ("content of each item", codes)]
    if group.names:
        names = "\n".join(field_texts(group.names)).encode()
        codes, header["group"][1] = _planes(group.codes + 1)
        header["group"][2] = len(names)
        blocks += [("groups", names), ("group of each item", codes)]
    first = f"{PACKED.decode()}{'sha256' if outcomes.hashed else 'text'} {outcomes.n}"
    return first, json.dumps(header, sort_keys=True), blocks


def _in_order(labels: Labels) -> Labels:
    """The column with its names in the order of their first use, which the order of the keys decides, and no others."""
    import numpy as np

    codes = labels.codes
    used, first = np.unique(codes[codes >= 0], return_index=True)
    order = used[np.argsort(first)]
    place = np.full(len(labels.names) + 1, -1, np.int64)
    place[order] = np.arange(len(order))
    return Labels(place[codes], tuple(labels.names[i] for i in order.tolist()))


def _planes(numbers: npt.NDArray[Any]) -> tuple[bytes, int]:
    """Numbers of 0 or more as bytes, the lowest of all first, and how many bytes a number has: high ones are zeros, which pack well."""
    import numpy as np

    most = int(numbers.max()) if len(numbers) else 0
    width = next(each for each in WIDTHS if most < 1 << 8 * each)
    return np.ascontiguousarray(numbers.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T).tobytes(), width


# ---- unpacking -----------------------------------------------------------------------------------------------------


def unpacked(data: bytes, *, most: int) -> tuple[Sequence[str], Labels, Labels, bool, str]:
    """Keys, contents, groups, whether the keys are hashes, and the digest. most: the items there can be at most.

    How many bytes a block has is known before it is unpacked, and not one more is: a small file cannot ask for much memory.
    """
    first, header, *rest = lines_of(data)
    kind, many = first.removeprefix(PACKED.decode()).partition(" ")[::2]
    if kind not in ("text", "sha256") or not many.isdecimal() or not many.isascii() or len(many) > DIGITS:
        raise Damaged(f"the first line {first[:60]!r}, which this version cannot read (it reads {PACKED.decode().strip()!r})")
    n = int(many)
    if n > most:
        raise Damaged(f"{n} items, where at most {most} can have been recorded")
    of_keys, of_contents, of_groups = _header(header, n)
    blocks = _Blocks(iter(rest))
    keys = _keys(of_keys, blocks, n)
    contents = groups = _none(n)
    if of_contents[0]:
        hashes = blocks.take("contents", HASH * of_contents[0]).hex()
        names: tuple[str, ...] = tuple(hashes[at : at + 2 * HASH] for at in range(0, len(hashes), 2 * HASH))
        contents = _coded(names, blocks.take("content of each item", n * of_contents[1]), of_contents[1])
    if of_groups[0]:
        names = _texts(blocks.take("groups", of_groups[2]), of_groups[0])
        groups = _coded(names, blocks.take("group of each item", n * of_groups[1]), of_groups[1])
    if next(blocks.lines, None) is not None:
        raise Damaged("more lines than the header says")
    return keys, contents, groups, kind == "sha256", _digest(first, header, blocks.taken)


def _none(n: int) -> Labels:
    import numpy as np

    return Labels(np.full(n, -1, np.int64), ())


def _header(line: str, n: int) -> tuple[list[Any], list[int], list[int]]:
    """What the header says of keys, contents and groups, every number in its range."""
    try:
        header = json.loads(line)
        keys, content, group = (header.pop(name) for name in ("keys", "content", "group"))
        numbers, text = len(keys) == 3 and keys[0] == "numbers", len(keys) == 2 and keys[0] == "text"
        whole = all(type(number) is int for number in (*keys[1:], *content, *group)) and (len(content), len(group)) == (2, 3)
        if whole and (numbers or text) and n > 0 and not header:
            fit = -(10**DIGITS) < keys[1] < 10**DIGITS and keys[2] in WIDTHS if numbers else 0 < keys[1] <= LONGEST * n
            coded = all(0 <= many <= n and (width in WIDTHS if many else width == 0) for many, width in (content, group[:2]))
            if fit and coded and 0 <= group[2] <= LONGEST * n:
                return keys, content, group
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise Damaged("a header that this version cannot read")


class _Blocks:
    """The blocks of a file one after the other, kept for the digest."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        self.taken: list[Block] = []

    def take(self, heading: str, size: int) -> bytes:
        """The bytes of the next block, of which there must be so many."""
        take_heading(self.lines, heading)
        try:
            line = take_lines(self.lines, 1)[0]
            packed = base64.b64decode(line, validate=True)
            reader = zlib.decompressobj()
            data = reader.decompress(packed, size + 1)
        except (binascii.Error, zlib.error, ValueError):
            raise Damaged(f"a block {heading!r} that cannot be unpacked") from None
        if len(data) != size or not reader.eof or reader.unused_data or base64.b64encode(packed).decode() != line:
            raise Damaged(f"a block {heading!r} of another size than the header says")
        self.taken.append((heading, data))
        return data


def _keys(about: list[Any], blocks: _Blocks, n: int) -> Sequence[str]:
    """The keys, sorted as texts."""
    if about[0] == "text":
        keys = _texts(blocks.take("keys", about[1]), n)
        if any(map(ge, keys, keys[1:])):
            raise Damaged("keys that are repeated or out of order")
        return keys
    import numpy as np

    from steelyard_old.tally.whole_numbers import text_order

    _, start, width = about
    steps = _numbers(blocks.take("keys", (n - 1) * width), width)
    if (steps < 1).any() or start + float(steps.sum(dtype=np.float64)) > 1.01 * 10**DIGITS:
        raise Damaged("keys that are repeated or too large")
    numbers = start + np.concatenate([np.zeros(1, np.int64), np.cumsum(steps.astype(np.int64))])
    if int(numbers[-1]) >= 10**DIGITS:
        raise Damaged("keys that are repeated or too large")
    return WholeNumbers(numbers[text_order(numbers)])


def _texts(data: bytes, n: int) -> tuple[str, ...]:
    """So many different texts, one a line."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise Damaged("bytes that are not UTF-8") from None
    texts = fields_of(lines)
    if len(texts) != n or None in texts:
        raise Damaged(f"{len(texts)} texts, or one that is missing, where there should be {n}")
    return texts


def _coded(names: tuple[str, ...], data: bytes, width: int) -> Labels:
    """A column of names, which are all different, all used and in the order of their first use."""
    import numpy as np

    codes = _numbers(data, width).astype(np.int64) - 1
    used, first = np.unique(codes[codes >= 0], return_index=True)
    if len(set(names)) < len(names) or used.tolist() != list(range(len(names))) or (np.diff(first) < 0).any() or int(codes.min()) < -1:
        raise Damaged("contents or groups that are repeated, or that no item has")
    return Labels(codes, names)


def _numbers(data: bytes, width: int) -> npt.NDArray[np.uint64]:
    import numpy as np

    planes = np.frombuffer(data, np.uint8).reshape(width, -1)
    out = np.zeros((planes.shape[1], 8), np.uint8)
    out[:, :width] = planes.T
    return out.view("<u8").ravel().astype(np.uint64, copy=False)
