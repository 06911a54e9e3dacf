"""Ids and slices that look alike: equal but for case, blanks or Unicode form. They stay different; that they are is said and shown."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from steelyard_old.items import WholeNumbers
from steelyard_old.late_pattern import late_pattern

# Plain decimal notation only: Python's float() would also take "nan", "1_000" and " 7", which are texts to a reader.
_NUMBER = late_pattern(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def label_order(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels, each once, in the one order that the whole project uses.

    >>> label_order(["10", "9", "1"])
    ('1', '9', '10')
    >>> label_order(["b", "a", "10"])
    ('10', 'a', 'b')
    """
    distinct = set(labels)
    if all(_NUMBER.match(label) and math.isfinite(float(label)) for label in distinct):
        return tuple(sorted(distinct, key=lambda label: (float(label), label)))
    return tuple(sorted(distinct))


def same_number(labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Sets of labels that are one number written in several ways, such as 1 and 1.0.

    >>> same_number(["1", "1.0", "2", "a"])
    [('1', '1.0')]
    >>> same_number(["9007199254740992", "9007199254740993"])
    []
    """
    near: dict[float, set[str]] = {}
    for label in labels:
        if _NUMBER.match(label):
            near.setdefault(float(label), set()).add(label)
    alike = [group for group in near.values() if len(group) > 1]
    return [tuple(sorted(same)) for group in alike for same in _exactly(group) if len(same) > 1]


def _exactly(labels: Iterable[str]) -> Iterable[set[str]]:
    """Apart by their exact values: floats cannot tell whole numbers of 17 digits."""
    from decimal import Decimal, InvalidOperation

    spellings: dict[Decimal | str, set[str]] = {}
    for label in labels:
        try:
            spellings.setdefault(Decimal(label), set()).add(label)
        except InvalidOperation:  # an exponent that nothing can hold: a number of its own
            spellings.setdefault(label, set()).add(label)
    return spellings.values()


_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_BLANKS = " \t\r\x0b\x0c\x1c\x1d\x1e\x1f"
MOST = 1_000_000  # distinct ids to look at: beyond it, a look costs more than it tells

Spelling = tuple[str, Callable[[str], str]]
SPELLINGS: tuple[Spelling, ...] = (
    ("by spaces around them: trim them", str.strip),
    ("in how their accents are written (composed or not): bring both to Unicode NFC", lambda text: unicodedata.normalize("NFC", text)),
    ("by a decimal point, as in '1.0': write ids as whole numbers or as text", lambda text: text.removesuffix(".0")),
    ("by upper and lower case: write them alike", str.casefold),
    ("by case, blanks or Unicode form: write them alike", lambda text: plain_spelling(text)),
)


def plain_spelling(text: str) -> str:
    """An id without what the eye does not see, and in lower case.

    >>> plain_spelling("Caf\\u00e9 1\\u200b") == plain_spelling("cafe\\u0301\\u00a01")
    True
    """
    folded = unicodedata.normalize("NFKC", text).translate(_INVISIBLE).casefold()
    return unicodedata.normalize("NFC", "".join(folded.split()))


def plain_spellings(names: Sequence[str]) -> list[str]:
    """The plain spelling of each id, without a decimal point before a last 0; ids of ASCII without blanks all in one step.

    >>> plain_spellings(["Q1", "1.0"]), plain_spellings(["caf\u00e9 1", "1.0"])
    (['q1', '1'], ['caf\xe91', '1'])
    """
    joined = "\n".join(names)
    simple = joined.isascii() and joined.count("\n") < len(names) and not any(blank in joined for blank in _BLANKS)
    found = joined.lower().split("\n") if simple else list(map(plain_spelling, names))
    return [name.removesuffix(".0") for name in found] if ".0" in joined else found


def differ_by(ours: Iterable[str], theirs: Iterable[str]) -> str:
    """By what ids of two sides differ that look alike, and what to do about it; "" if none of them do."""
    ours, theirs = list(ours), list(theirs)
    return next((said for said, spell in SPELLINGS if {*map(spell, ours)} & {*map(spell, theirs)}), "")


def visible(text: str) -> str:
    """An id in quotes with every letter beyond ASCII as its code point, so that two that look alike do not.

    >>> print(visible("caf\\u00e9"), visible("cafe\\u0301"), visible("a\\u00a01"))
    'caf\\u00e9' 'cafe\\u0301' 'a\\u00a01'
    """
    escaped = "".join(each if each.isascii() and each.isprintable() else _code_point(each) for each in text)
    return f"'{escaped}'"


def _code_point(letter: str) -> str:
    number = ord(letter)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def look_alikes(names: Sequence[str]) -> tuple[int, tuple[str, str]] | None:
    """How many of these different ids look like another of them, and the first such pair; None if none does."""
    if len(names) > MOST:
        return None
    joined = "\n".join(names)
    if joined.isascii() and joined.count("\n") < len(names) and not any(blank in joined for blank in _BLANKS):
        folded = joined.lower()
        if folded == joined or len(set(folded.split("\n"))) == len(names):
            return None  # only case could make two of them alike, and it does not
    first: dict[str, str] = {}
    alike = [(first[key], name) for name in names if first.setdefault(key := plain_spelling(name), name) != name]
    return (len(alike), alike[0]) if alike else None


def look_alikes_between(ours: Iterable[str], theirs: Iterable[str]) -> tuple[int, tuple[str, str]] | None:
    """How many ids of one side look like one of the other, and the first such pair."""
    known: dict[str, str] = {}
    for name in ours:
        known.setdefault(plain_spelling(name), name)
    found = [(known[key], name) for name in theirs if (key := plain_spelling(name)) in known]
    return (len(found), found[0]) if found else None


def look_alike_warnings(names: Sequence[str]) -> list[str]:
    """One sentence, where some ids look alike."""
    found = None if isinstance(names, WholeNumbers) else look_alikes(names)  # different whole numbers never do
    if found is None:
        return []
    count, (one, other) = found
    many = "1 id differs" if count == 1 else f"{count} ids differ"
    pair = f"{visible(one)} and {visible(other)}"
    return [f"{many} from another only by case, blanks or Unicode form, such as {pair}: they count as different items"]


def slice_look_alike_warnings(column: str, values: Iterable[str]) -> list[str]:
    """A sentence where some values of a slice column look alike, and one where they are one number: each is a slice, and a small one.

    >>> slice_look_alike_warnings("level", ["1", "1.0", "2"])
    ["1 value of 'level' is the same number as another, such as '1' and '1.0': they are slices of their own"]
    """
    names = list(values)
    said = []
    if (found := look_alikes(names)) is not None:
        count, (one, other) = found
        many = f"1 value of {column!r} differs" if count == 1 else f"{count} values of {column!r} differ"
        said.append(f"{many} from another only by case, blanks or Unicode form, such as {visible(one)} and {visible(other)}")
    if numbers := same_number(names):
        count = sum(len(group) - 1 for group in numbers)
        many = f"1 value of {column!r} is" if count == 1 else f"{count} values of {column!r} are"
        said.append(f"{many} the same number as another, such as {visible(numbers[0][0])} and {visible(numbers[0][1])}")
    return [f"{each}: they are slices of their own" for each in said]
