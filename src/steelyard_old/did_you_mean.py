"""What was probably meant by a word that nobody knows: typing mistakes first, then words that look alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

NEAR = 0.6  # how alike two words must be, of 1, for one to be taken for the other
FEW = 6  # words to choose from that are listed; of more, the one that was probably meant is named


def nearest(word: str, known: Iterable[str], cutoff: float = NEAR) -> str | None:
    """The known word that was probably meant.

    >>> nearest("tetha", ["alpha", "theta"])
    'theta'
    """
    import difflib

    asked, by_lower = word.lower(), {name.lower(): name for name in known}
    # Typing mistakes first: difflib sees no swapped letters, and takes tetha for beta. A letter too many is one of them, so that a page
    # given in the place of a name is not compared letter by letter.
    most = max(1, (len(asked) + 1) // 3)
    slips = [
        (many, sorted(asked) != sorted(name), -difflib.SequenceMatcher(None, asked, name).ratio(), name)
        for name in by_lower
        if abs(len(asked) - len(name)) <= most and (many := _slips(asked, name)) <= most
    ]
    if slips:
        return by_lower[min(slips)[-1]]
    found = nearest_few(word, by_lower.values(), most=1, cutoff=cutoff)
    return found[0] if found else None


def nearest_few(word: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.5) -> list[str]:
    """The known words that are most like this one, the nearest first."""
    import difflib

    by_lower = {name.lower(): name for name in known}
    return [by_lower[found] for found in difflib.get_close_matches(word.lower(), by_lower, n=most, cutoff=cutoff)]


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.5, shown: Callable[[str], str] = repr) -> str:
    """A hint with the known word that was probably meant; nothing if none is like it.

    shown: how it is written. Names that users gave are quoted; words of our own (parameters, metrics, commands) stand as they are typed.

    >>> did_you_mean("quant_alg", ["quant_algo", "dtype"]), did_you_mean("tetha", ["alpha", "theta"], shown=str)
    ("did you mean 'quant_algo'?", 'did you mean theta?')
    """
    near = nearest(word, known, cutoff)
    return meant([shown(near)]) if near else ""


def meant(words: Sequence[str]) -> str:
    """The hint itself; errors.py begins it with a capital.

    >>> meant(["'a'", "'b'"])
    "did you mean 'a' or 'b'?"
    """
    return f"did you mean {either(words)}?" if words else ""


def either(words: Sequence[str]) -> str:
    """Words to choose from, as one would say them.

    >>> either(["error", "wrong", "drop"])
    'error, wrong or drop'
    """
    return " or ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def listed(names: Sequence[object], most: int = 12) -> str:
    """Names by repr, not more than a line of them."""
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def refused_choice(name: str, word: str, words: Sequence[str], noun: str = "") -> tuple[str, str]:
    """What is said of a word that is none of those to choose from: the sentence and the hint. noun: what the words are names of.

    >>> refused_choice("unmatched", "x", ["error", "drop"])
    ("unmatched must be error or drop, not 'x'.", '')
    >>> refused_choice("interval", "wilsn", ["wilson", "wald", "bayes", "hdi", "delta", "bca", "t"], "interval method")
    ("No interval method 'wilsn'.", 'did you mean wilson?')
    """
    if len(words) <= FEW:
        return f"{name} must be {either(words)}, not {word!r}.", ""
    hint = did_you_mean(word, words, NEAR, str)
    what = f"No {noun or name} {word!r}"
    return (f"{what}.", hint) if hint else (f"{what}; use {either(words)}.", "")


def unknown_key(key: object, known: Iterable[str], where: str) -> tuple[str, str]:
    """What is said of a key that nobody knows: the sentence and the hint.

    >>> unknown_key("quant_alg", ["quant_algo", "dtype"], "the table [spec]")
    ("Unknown key 'quant_alg' in the table [spec].", "did you mean 'quant_algo'?")
    >>> unknown_key("colour", ["n", "seed"], "shots")
    ("Unknown key 'colour' in shots; the keys are n, seed.", '')
    """
    words = list(known)
    hint = did_you_mean(str(key), words)
    listed = "" if hint else f"; the keys are {', '.join(words)}" if words else ", which takes none"
    return f"Unknown key {key!r} in {where}{listed}.", hint


def _slips(one: str, other: str) -> int:
    """How many letters were left out, added, mistaken or swapped with their neighbour (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, there in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != there)))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == there:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]
