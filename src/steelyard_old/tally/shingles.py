"""Texts made comparable: normalised, then a set of shingles for each, runs of a few words as 64-bit hashes.

A chunk of texts is normalised, taken apart and hashed as one long text, so that no text needs a step of Python of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from steelyard_old.late_dataclass import dataclass

CHUNK = 1 << 13  # texts that are made comparable together
BETWEEN = "\x01"  # between two texts; no white space, so that it stays when words are taken apart
ENDS = " .,;:!?\"'`()[]{}<>\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u00bf\u00a1\u3001\u3002\u300c\u300d\u2026"
SPACES = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u1680\u2028\u2029"  # white space that NFKC leaves as it is
_LOCAL = 13  # bits for the number of a text in its chunk; the other 51 are of the hash
_IDEOGRAPHS = ((0x2E80, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))  # scripts without spaces between words: every sign is a word
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Shingled:
    """The texts of a part. equal: a number for each text, the same for equal ones, 0 for empty ones. sizes: how many shingles each has.

    shingles: those of the first text in order, then those of the second, ...; in pieces, each of whole texts.
    """

    equal: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    shingles: Sequence[Hashes]


def shingled(chunks: Iterable[Sequence[str]], words: int) -> Shingled:
    """The shingles of texts that come in chunks of at most CHUNK."""
    equal, sizes, shingles = [], [], []
    known = _WordNumbers()
    for texts in chunks:
        folded = fold(texts)
        equal.append(_equal(folded))
        size, hashes = _shingles(folded, len(texts), words, known)
        sizes.append(size)
        shingles.append(hashes)
    return Shingled(np.concatenate(equal), np.concatenate(sizes), shingles)


def fold(texts: Sequence[str]) -> str:
    """Texts without the differences of case, width and composition, in one text; any white space is one space."""
    text = BETWEEN.join(texts)
    if text.count(BETWEEN) >= len(texts):
        text = BETWEEN.join([each.replace(BETWEEN, " ") for each in texts])
    text = text.lower() if text.isascii() else unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    for sign in SPACES:
        if sign in text:
            text = text.replace(sign, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def word_shingles(text: str, words: int) -> frozenset[tuple[str, ...]]:
    """The shingles of one text as words, for a pair that is shown; a gap stands for what is before and after the text.

    >>> sorted(word_shingles("A b!", 2))
    [('', 'a'), ('a', 'b'), ('b', '')]
    """
    found = _spaced(fold([text])).split()
    padded = [""] * (words - 1) + found + [""] * (words - 1)
    return frozenset(tuple(padded[i : i + words]) for i in range(len(padded) - words + 1)) if found else frozenset()


def _equal(folded: str) -> npt.NDArray[np.int64]:
    """A number for each normalised text; that of an empty one is 0."""
    texts = [each.strip(ENDS) for each in folded.split(BETWEEN)]
    return np.fromiter(map(_number, texts), np.int64, len(texts))


def _number(text: str) -> int:
    """64 bits of BLAKE2. Python's own hash differs from process to process, and with it what is found where not all can be compared."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True) if text else 0


class _WordNumbers(dict[str, int]):
    """The number of each word, worked out when it is first met. Begins anew when it is full, so that memory has an end."""

    def __missing__(self, word: str) -> int:
        if len(self) >= 1 << 19:
            self.clear()
        found = self[word] = _number(word)
        return found


def _shingles(folded: str, many: int, words: int, known: _WordNumbers) -> tuple[npt.NDArray[np.int64], Hashes]:
    """How many shingles each text has, and these text by text, each once."""
    gap = f" {BETWEEN} " * max(1, words - 1)
    found = _spaced(folded).replace(BETWEEN, gap).split()
    marks = [BETWEEN] * max(1, words - 1)
    tokens = [*marks, *found, *marks]
    hashes = np.fromiter(map(known.__getitem__, tokens), np.int64, len(tokens)).view(np.uint64)
    is_mark = hashes == np.uint64(_number(BETWEEN) & (2**64 - 1))
    text = (np.cumsum(is_mark) - len(marks)) // len(marks)  # the number of the text that a word belongs to
    run = np.zeros(len(tokens) - words + 1, np.uint64)
    real = np.zeros(len(run), bool)
    owner = np.zeros(len(run), np.int64)
    for place in range(words):
        end = len(tokens) - words + 1 + place
        run = _mixed(run * np.uint64(0x9E3779B97F4A7C15) + hashes[place:end])
        here = ~is_mark[place:end]
        owner = np.where(here, text[place:end], owner)
        real |= here
    keys = (owner[real].astype(np.uint64) << np.uint64(64 - _LOCAL)) | (run[real] >> np.uint64(_LOCAL))
    keys.sort()
    if len(keys):
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    sizes = np.bincount((keys >> np.uint64(64 - _LOCAL)).astype(np.int64), minlength=many)
    return sizes, keys & np.uint64((1 << (64 - _LOCAL)) - 1)


def _mixed(values: Hashes) -> Hashes:
    """Bits spread over the whole number (the finalizer of a 64-bit mixer): equal stays equal, near goes far."""
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return (values ^ (values >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93) ^ (values >> np.uint64(32))


def _spaced(folded: str) -> str:
    """Whatever is no part of a word as a space; each ideograph a word of its own."""
    if folded.isascii():
        return folded.translate(_ascii())
    codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), np.uint32)
    kept = np.where(_in_words()[np.minimum(codes, len(_in_words()) - 1)], codes, np.uint32(32))
    ideographs = np.zeros(len(codes), bool)
    for lowest, highest in _IDEOGRAPHS:
        ideographs |= (codes >= lowest) & (codes <= highest)
    if ideographs.any():
        many = 1 + 2 * ideographs  # a space before it and one after it
        last = np.cumsum(many) - 1
        kept = np.repeat(kept, many)
        kept[last[ideographs]] = kept[last[ideographs] - 2] = 32
    return kept.astype(np.uint32).tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _ascii() -> dict[int, str]:
    return {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != BETWEEN}


@cache
def _in_words() -> npt.NDArray[np.bool_]:
    """Whether a sign belongs to a word, for every sign of Unicode: letters, digits, marks; and what separates texts."""
    found = np.array([unicodedata.category(chr(code))[0] in "LNM" for code in range(0x20000)] + [True])
    found[ord(BETWEEN)] = True
    return found
