"""Scorers of numbers: the last number of an answer (GSM8K style), equal to the truth or within a tolerance."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from steelyard_old.evaluate.asking.asks import Case, Scored
from steelyard_old.evaluate.scorers.base import Scoring, bad_truth, check_choice, check_flags, is_number, several, wrong
from steelyard_old.evaluate.task.cases import is_missing, plain, value_text
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

NUMBERS = 2  # version of how numbers are read: 1 took 1{,}200 for 200
LONGEST = 400  # characters of one number; a longer run of digits is none
_NUMBER = late_pattern(
    r"""(?P<sign> (?<![0-9A-Za-z)\]]) [-+] )?                     # 10-12 are two numbers, and neither is negative
    (?: [$€£¥] | (?<![A-Za-z_]) (?:USD|EUR|GBP|INR|Rs\.?) \s? | (?<![A-Za-z_0-9]) )   # the 2 of CO2 is part of a name
    (?P<digits> (?: [0-9]{1,3}(?:,[0-9]{3}){1,40}(?![0-9]) | [0-9]{1,2}(?:,[0-9]{2}){1,40},[0-9]{3}(?![0-9]) | [0-9]+ ) (?:\.[0-9]+)?
      | \.[0-9]+ )
    (?P<power> [eE][-+]?[0-9]{1,3}(?![0-9A-Za-z]) )?""",
    re.VERBOSE,
)
_BELOW = late_pattern(r"\s?/\s?([0-9]{1,300})(?![0-9/]|\.[0-9])")
# How LaTeX and typesetters part thousands: 1{,}200, 1\,200, 1,\!200, and thin spaces.
_THOUSANDS = late_pattern(r"(?<=[0-9])(?:\{,\}|\{\\,\}|,?\\[,;:! ]|[\u2009\u202f])(?=[0-9]{3}(?![0-9]))")
_PLAIN = str.maketrans({"−": "-", "⁄": "/", "，": ",", "＄": "$", **{chr(0xFF10 + d): str(d) for d in range(10)}})


def numbers_in(text: str, *, fractions: bool = True) -> list[Fraction]:
    """The numbers of a text, exactly. Commas, and what LaTeX writes for them, count between thousands only, a point before digits only.

    >>> numbers_in("From $1,234.50 to -7, or 3/4 of CO2: 12%.")
    [Fraction(2469, 2), Fraction(-7, 1), Fraction(3, 4), Fraction(12, 1)]
    """
    text = _THOUSANDS.sub(",", text.translate(_PLAIN))
    out, place = [], 0
    while found := _NUMBER.search(text, place):
        place = found.end()
        if len(found[0]) > LONGEST:
            continue
        number = Fraction(Decimal(found["digits"].replace(",", "") + (found["power"] or "")))
        below = _BELOW.match(text, place) if fractions and text[found.start() - 1 : found.start()] != "/" else None
        if below and int(below[1]):
            number, place = number / int(below[1]), below.end()
        out.append(-number if found["sign"] == "-" else number)
    return out


def number_text(number: Fraction) -> str:
    """One text for each number: equal numbers, however written, have equal texts.

    >>> number_text(Fraction("1200.50")), number_text(Fraction(1, 3))
    ('1200.5', '1/3')
    """
    places, below = 0, number.denominator
    while below % 2 == 0 or below % 5 == 0:
        below //= 10 if below % 10 == 0 else 2 if below % 2 == 0 else 5
        places += 1
    if below != 1:
        return f"{number.numerator}/{number.denominator}"
    scaled = abs(number) * 10**places
    digits = str(scaled.numerator).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".") if places else digits
    return f"-{text}" if number < 0 else text


def boxed(text: str) -> str | None:
    """What stands in the last \\boxed{...}, braces inside included; None without one.

    >>> boxed("so \\\\boxed{\\\\frac{1}{2}} it is")
    '\\\\frac{1}{2}'
    """
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, begin = 1, start + len("\\boxed{")
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin:place]
    return None


@dataclass(frozen=True, kw_only=True)
class FindsNumbers(Scoring):
    """The options of scorers that look for a number in an answer.

    A number behind the last marker (####) counts before one in the last \\boxed{}, and that before the last number of the
    answer (pick = "first": the first). Currency and percent signs are left out: 12% is 12. 3/4 is one number, unless
    fractions = false. Digits that follow a letter (CO2) are no number.
    """

    pick: str = "last"
    marker: str = "####"
    fractions: bool = True

    def __post_init__(self) -> None:
        check_choice(self, "pick", ("first", "last"))
        check_flags(self, "fractions")
        if not isinstance(self.marker, str) or not self.marker:
            raise wrong(self, "marker", "a text")

    @property
    def version(self) -> int:
        return NUMBERS

    def found(self, said: Any) -> Fraction | None:
        """The number of an answer; None if it has none where it should be."""
        said = plain(said)
        if isinstance(said, (bool, list, tuple, dict)) or (isinstance(said, float) and not is_number(said)):
            return None
        if isinstance(said, (int, float)):
            return _exactly(said)
        text = value_text(said, "the answer")
        if self.marker in text:
            behind = numbers_in(text.rpartition(self.marker)[2], fractions=self.fractions)
            return behind[0] if behind else None
        inside = boxed(text)
        numbers = numbers_in(text if inside is None else inside, fractions=self.fractions)
        if not numbers:
            return None
        return numbers[0] if self.pick == "first" else numbers[-1]

    def truths(self, case: Case) -> list[Fraction]:
        return [self._true(value, case) for value in several(case.truth) or [None]]

    def _true(self, value: Any, case: Case) -> Fraction:
        if is_number(value):
            return _exactly(value)
        text = None if is_missing(value) or isinstance(value, bool) else value_text(value, "truth")
        if text is not None:
            numbers = numbers_in(text.rpartition(self.marker)[2], fractions=self.fractions)
            if len(numbers) == 1 or (numbers and self.marker in text):
                return numbers[0]
        raise bad_truth(self, case, f"a number, a text with one number, or one behind {self.marker}")


def _exactly(value: float) -> Fraction:
    """The number as it is written, not as it is stored: 0.1 is one tenth."""
    return Fraction(value) if isinstance(value, int) else Fraction(Decimal(float.__repr__(value)))


def _stored(number: Fraction) -> float | str:
    """The number as float64, or as text where that ends."""
    try:
        return float(number)
    except OverflowError:
        return number_text(number)


@dataclass(frozen=True, kw_only=True)
class NumericScorer(FindsNumbers):
    """The last number of the answer equals the truth (or one of a list), exactly: 1,200.50 is 1200.5, and 0.33 is not 1/3.

    The truth is a number, a text with one number, or a worked solution with the number behind "####".
    Answer "6 boxes at $7 make $42." and truth "6 * 7 = 42 #### 42": right.
    """

    name: ClassVar[str] = "number"
    known_as: ClassVar[tuple[str, ...]] = ("exact_match",)

    @property
    def labels(self) -> bool:
        return True

    def truth(self, case: Case) -> Any:
        return None if is_missing(case.truth) else number_text(self.truths(case)[0])

    def compare(self, said: Any, case: Case) -> Scored:
        found, truths = self.found(said), self.truths(case)
        if found is None:
            return Scored(score=0.0, truth=number_text(truths[0]), extracted=False)
        right = found in truths
        return Scored(score=float(right), prediction=number_text(found), truth=number_text(found if right else truths[0]))


@dataclass(frozen=True, kw_only=True)
class Tolerance(FindsNumbers):
    """The last number of the answer is within a tolerance of the truth: |answer - truth| <= max(absolute, relative x |truth|).

    At least one of absolute and relative must be given. absolute = 0.01, answer "about 3.15", truth 3.1416: right.
    """

    name: ClassVar[str] = "tolerance"
    absolute: float | None = None
    relative: float | None = None

    def __post_init__(self) -> None:
        FindsNumbers.__post_init__(self)
        for name in ("absolute", "relative"):
            if (value := getattr(self, name)) is not None and not (is_number(value) and value >= 0):
                raise wrong(self, name, "a number of 0 or more")
        if self.absolute is None and self.relative is None:
            raise wrong(self, "absolute", "absolute or relative in the table [scorer]", hint="absolute = 0.01")

    def truth(self, case: Case) -> Any:
        return None if is_missing(case.truth) else _stored(self.truths(case)[0])

    def compare(self, said: Any, case: Case) -> Scored:
        found, truths = self.found(said), self.truths(case)
        if found is None:
            return Scored(score=0.0, truth=_stored(truths[0]), extracted=False)
        nearest = min(truths, key=lambda truth: abs(found - truth) - self._allowed(truth))
        right = abs(found - nearest) <= self._allowed(nearest)
        return Scored(score=float(right), prediction=_stored(found), truth=_stored(nearest))

    def _allowed(self, truth: Fraction) -> Fraction:
        return max(_exactly(self.absolute or 0), _exactly(self.relative or 0) * abs(truth))
