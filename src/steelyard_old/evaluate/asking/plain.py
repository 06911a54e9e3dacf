"""Values made plain: what JSON can hold, and an Answer from whatever a model returned.

An answer is a text, a label or a number. Nothing, NaN and things of other kinds are errors of that item: they must not pass
for a wrong answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from steelyard_old.errors import DataError, with_article
from steelyard_old.evaluate.asking.asks import Answer
from steelyard_old.redaction import redact, redacted, shortened

_FIELDS = frozenset(field.name for field in fields(Answer))
_FACTS = tuple(field.name for field in fields(Answer) if field.name not in ("said", "more", "error"))
_TEXTS = ("said", "error", "finish", "refusal", "served_by", "judgement")
_SAID = ("said", "text", "prediction")  # the names under which programs hand over an answer
_PLAIN = frozenset({str, int, float, bool, type(None)})
LONGEST = 200  # characters of a message that are kept
MANY = 2**53  # what a count stays below
LEAST = -1e12  # no log-probability is lower; sums of anything lower would not fit a float
ABOVE = 1e-4  # how far above 0 rounding takes the log-probability of a certain token
DEEPEST = 100  # lists inside lists; a list that contains itself has no end
LARGEST = 1023  # bits of a whole number: what a float can hold, and every reader of JSON


def plain(value: Any, what: str = "a value", *, coded: bool = False, depth: int = 0) -> Any:
    """The value in texts, numbers, lists and mappings alone. With `coded`, bytes too: as their hexadecimal digits.

    >>> plain({1: (True, 2.5)})
    {'1': [True, 2.5]}
    """
    if depth > DEEPEST:
        got = f"more than {DEEPEST} levels, or something that contains itself"
        raise DataError(f"Cannot write down {what}: it has {got}.", got=got, need="texts, numbers, lists, mappings")
    if isinstance(value, int) and int(value).bit_length() > LARGEST:
        got = f"a whole number of about {round(int(value).bit_length() * 0.30103):,} digits"
        raise DataError(f"Cannot write down {what}: {got} is more than a float can hold.", got=got, need="a number that a float can hold")
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each, what, coded=coded, depth=depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each, what, coded=coded, depth=depth + 1) for each in value]
    if callable(getattr(value, "tolist", None)):  # NumPy's scalars and arrays, and what behaves like them
        return plain(value.tolist(), what, coded=coded, depth=depth + 1)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, bytes | bytearray) and coded:
        return {"bytes": bytes(value).hex()}
    hint = "decode the bytes to a text" if isinstance(value, bytes | bytearray) else "return str(...), int(...) or float(...) of it"
    raise DataError(
        f"Cannot write down {what}: it is or holds {with_article(type(value).__name__)}, and only "
        "texts, numbers, lists and mappings can be kept.",
        got=with_article(type(value).__name__),
        need="texts, numbers, lists, mappings",
        hint=hint,
    )


def whole_characters(text: str) -> str:
    """A text that can be written to a file: half a surrogate pair, which JSON allows and UTF-8 does not, becomes a question mark.

    >>> whole_characters("cut: \\ud83d")
    'cut: ?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plain_answer(answer: Any) -> Answer:
    """The answer as it will be read back from a journal. One that cannot be written down is an error of its item."""
    if not isinstance(answer, Answer):
        return answer_of(answer)
    try:
        found = _checked({name: value for name in _FACTS if (value := getattr(answer, name)) is not None})
        found["said"] = plain(answer.said, "what the model said")
        if answer.error is not None:
            found["error"] = str(answer.error)
        if answer.more or type(answer.more) is not dict:
            found["more"] = plain(answer.more, "what came with an answer")
        changed = {name: value for name, value in found.items() if value is not getattr(answer, name)}
        return without_secrets(replace(answer, **changed) if changed else answer)
    except DataError as fault:
        return Answer(error=f"unusable answer: {fault.got}")
    except Exception as fault:  # objects of a model may fail in any way when they are looked at
        return Answer(error=f"unusable answer: {words(fault)}")


def without_secrets(answer: Answer) -> Answer:
    """The answer without keys that somebody repeated in it. Tokens that spell one together are not kept either."""
    more = redacted(answer.more) if answer.more else answer.more
    tokens = more.get("logprobs") if isinstance(more, Mapping) else None
    if isinstance(tokens, list):
        spelt = "".join(str(each.get("token")) for each in tokens if isinstance(each, Mapping))
        if redact(spelt) != spelt:
            more = {**more, "logprobs": None}
    texts = {name: value for name in _TEXTS if isinstance(value := getattr(answer, name), str)}
    changed: dict[str, Any] = {name: clean for name, value in texts.items() if (clean := redact(value)) != value}
    if more is not answer.more:
        changed["more"] = more
    return replace(answer, **changed) if changed else answer


def answer_of(returned: Any, *, seconds: float | None = None) -> Answer:
    """The answer in what a model returned: a text, a label, a number, or a mapping with `said` (or text, or prediction).

    A mapping may have the other fields of an Answer too (error, finish, tokens_in ...); keys that are not among them go to
    `more`. None, NaN, infinities, lists and other objects are answers with an error.

    >>> answer_of(3).said, answer_of({"text": "yes", "finish": "stop"}).finish, answer_of(float("nan")).error
    (3, 'stop', 'no answer: nan')
    """
    try:
        return _answer_of(returned, seconds)
    except Exception as fault:  # objects of a model may fail in any way when they are looked at
        return Answer(error=f"unusable answer: {words(fault)}", seconds=seconds)


def logprobs_of(returned: Any, *, seconds: float | None = None) -> Answer:
    """The answer of a model that says how probable its input is: a list with the log-probability of each token, or a mapping with it.

    The first may be None: nothing comes before it. What was said is their sum, the log-likelihood. A mapping may hold the texts
    of the tokens beside them (`tokens`); of these the first is kept as `unscored` where it has no log-probability.

    >>> logprobs_of([None, -1.5, -0.5]).said, logprobs_of({"logprobs": [-1], "tokens_in": 1}).tokens_in, logprobs_of("no").error
    (-2.0, 1, 'unusable answer: a str, not the log-probabilities of the tokens')
    >>> logprobs_of({"logprobs": [None, -1.5], "tokens": ["The", " beam"]}).more["unscored"]
    'The'
    """
    told = dict(returned) if isinstance(returned, Mapping) else {"logprobs": returned}
    given, texts = told.pop("logprobs", None), told.pop("tokens", None)
    if told.get("error") is not None:
        return answer_of(told, seconds=seconds)
    try:
        values = plain(given)
        found = token_logprobs(values)
    except (DataError, ValueError) as fault:
        return Answer(error=f"unusable answer: {fault.got if isinstance(fault, DataError) else fault}", seconds=seconds)
    except Exception as fault:  # objects of a model may fail in any way when they are looked at
        return Answer(error=f"unusable answer: {words(fault)}", seconds=seconds)
    rest = {key: value for key, value in told.items() if key not in _SAID}
    if len(found) < len(values):  # of the token that was left out, its text, if it is known
        first = texts[0] if isinstance(texts, list | tuple) and len(texts) == len(values) else None
        rest["unscored"] = first if isinstance(first, str) else None
    return answer_of({**rest, "said": math.fsum(found), "logprobs": found}, seconds=seconds)


def token_logprobs(values: Any) -> list[float]:
    """The log-probabilities of tokens, the first left out where it has none; a ValueError says what is wrong with them.

    >>> token_logprobs([None, -1.5, 0])
    [-1.5, 0.0]
    """
    if not isinstance(values, list):
        kind = "nothing" if values is None else with_article(type(values).__name__)
        raise ValueError(f"{kind}, not the log-probabilities of the tokens")
    found = values[1:] if values and values[0] is None else values
    if not found:
        raise ValueError("no token with a log-probability: a text needs at least two tokens")
    for place, value in enumerate(found, len(values) - len(found) + 1):
        if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST <= value < math.inf:
            raise ValueError(f"{str(value)[:40]!r} for token {place:,}, not a log-probability")
        if value > ABOVE:
            raise ValueError(f"a log-probability above 0, {value:g} for token {place:,}")
    return [min(float(value), 0.0) for value in found]


def _answer_of(returned: Any, seconds: float | None) -> Answer:
    if isinstance(returned, Answer):
        return returned if seconds is None or returned.seconds is not None else replace(returned, seconds=seconds)
    if isinstance(returned, Mapping):
        return _from_mapping(returned, seconds)
    try:
        said = plain(returned)
    except DataError as fault:
        return Answer(error=f"unusable answer: {fault.got}, not a text, a label or a number", seconds=seconds)
    if said is None or (isinstance(said, float) and not math.isfinite(said)):
        return Answer(error=f"no answer: {said}", seconds=seconds)
    if type(said) not in _PLAIN:
        return Answer(error=f"unusable answer: {with_article(type(returned).__name__)}, not a text, a label or a number", seconds=seconds)
    return Answer(said=said, seconds=seconds)


def _from_mapping(given: Mapping[Any, Any], seconds: float | None) -> Answer:
    names = [name for name in _SAID if given.get(name) is not None]
    if given.get("error") is not None:
        return Answer(error=first_line(str(given["error"])) or "error", seconds=seconds)
    if len(names) != 1:
        kind = "no answer" if not names else "unusable answer"
        shown = ", ".join(map(str, list(given)[:8])) or "nothing"
        return Answer(error=f"{kind}: a mapping with {shown}, where one of {', '.join(_SAID)} must be", seconds=seconds)
    core = answer_of(given[names[0]], seconds=seconds)
    if isinstance(given[names[0]], Mapping):
        return Answer(error="unusable answer: a mapping inside a mapping", seconds=seconds)
    known = {name: given[name] for name in _FIELDS & set(given) - {"said", "error", "more"} if given[name] is not None}
    rest = {str(key): each for key, each in given.items() if key not in _FIELDS and key not in _SAID}
    try:
        return replace(core, **{**_checked(known), "more": plain({**(given.get("more") or {}), **rest})})
    except (DataError, TypeError, ValueError) as fault:
        return Answer(error=f"unusable answer: {words(fault)}", seconds=seconds)


def _checked(known: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as what they are: counts whole, seconds a number, the rest text."""
    out: dict[str, Any] = {}
    for name, value in known.items():
        if name in ("tokens_in", "tokens_out", "attempts"):
            if isinstance(value, bool) or int(value) != value or not 0 <= value < MANY:
                raise ValueError(f"{name} = {str(value)[:40]!r}, not a count")
            out[name] = int(value)
        elif name == "seconds":
            out[name] = float(value)
            if not math.isfinite(out[name]):
                raise ValueError(f"{name} = {value!r}, not a time")
        else:
            out[name] = str(value)
    return out


def words(fault: BaseException) -> str:
    """An exception in one line: its type, and the first line of what it says. One that fails when it is asked says nothing."""
    try:
        said = str(fault)
    except Exception:
        said = ""
    return f"{type(fault).__name__}: {first_line(said)}".rstrip(": ")


def first_line(text: str) -> str:
    """The first line that says something, cut."""
    line = next((" ".join(each.split()) for each in text.splitlines() if each.strip()), "")
    return shortened(line, LONGEST)
