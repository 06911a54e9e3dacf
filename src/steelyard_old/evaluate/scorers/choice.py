"""The scorer of multiple choice: which letter does the answer choose?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, ClassVar

from steelyard_old.errors import DataError
from steelyard_old.evaluate.asking.asks import Case, Scored
from steelyard_old.evaluate.scorers.base import Scoring, bad_truth, check_choice, nothing, wrong
from steelyard_old.evaluate.scorers.text import normal_text
from steelyard_old.evaluate.task.cases import is_missing, plain, value_text
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

SHORT = 100  # characters around a letter that tell what it is
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Every repetition has a bound: an answer of a million blanks must not take an hour.
_LATEX = r"(?:\\(?:boxed|fbox|text(?:bf|it|rm|sf)?|math(?:bf|it|rm|sf)|bm)\s?\{){0,3}"
_MARK = r"(?:[\s\"'“”‘’*_`$({\[]|\\[(\[])"
_DRESS = rf"{_MARK}{{0,8}}{_LATEX}{_MARK}{{0,4}}"  # what may stand before a letter
# Behind "answer": bold that ends there, and a colon or its like. A dash counts only before a letter that ends the line.
_COLON = r"[\s*_`]{0,8}(?:[:=：→⇒]|[-–—](?=[^\w\n]{0,8}\w[^\w\n]{0,8}(?:\n|\Z)))?\s{0,5}"
_ANNOUNCED = (
    r"\b(?:answer|(?:correct|best|right)\s{1,3}(?:choice|option|one|letter))\b(?:\s{1,3}to\s{1,3}\w{1,9}\s{1,3}question)?"
    r"(?:\s{1,3}(?:is|would\sbe|should\sbe|must\sbe))?|\b(?:choose|pick|select|go\swith)\b"
)
_VERB = r"(?:is|was|are|seems|looks|would|could|can|cannot|isn't|has)\b"
_DENIED = late_pattern(r"\b(?:not|nor|never|neither|n't)\s{1,3}(?:option\s|choice\s)?[\s\"'*_(\[]{0,5}\Z", re.IGNORECASE)
_A_WORD = r"\s+(?!(?:or|and|is|was|as|because|since|but|would|seems|looks)\b)[a-z]"


@lru_cache(maxsize=64)
def _patterns(letters: str) -> dict[str, re.Pattern[str]]:
    one = f"[{re.escape(letters + letters.lower())}]"
    end = r"(?![\w'’-])"
    more = rf"(?P<more>[\s*)\]}}$\\.\"']{{0,8}}(?:,|/|\bor\b|\band\b)\s{{0,3}}(?:option\s)?{_DRESS}{one}{end})?"
    return {
        "alone": re.compile(rf"[^\w]*{_LATEX}({one})[^\w]*"),
        "said": re.compile(rf"(?:{_ANNOUNCED}){_COLON}(?:(?:option|choice|letter)\s)?{_DRESS}({one}){end}{more}", re.IGNORECASE),
        "boxed": re.compile(rf"\\(?:boxed|fbox)\s?\{{{_DRESS}({one}){end}(?=[\s\"'*_`$)\]]{{0,8}}[}}.):]){more}", re.IGNORECASE),
        "line": re.compile(rf"^[ \t>*_#-]{{0,12}}[(\[]?({one})\s?(?:[.):\]]|\*\*|$)(?!\s{{1,3}}{_VERB})", re.MULTILINE),
        "standing": re.compile(rf"(?<![\w'’-])(?:(?<=[(\[])({one})(?=[)\]])|([{re.escape(letters)}]){end})"),
    }


def chosen(text: str, letters: str, pick: str = "last") -> str | None:
    """The letter that a text chooses; None if it chooses none, or more than one.

    In this order: the text is nothing but a letter; it says "answer is B", "**Answer**: (B)", "I choose B" or has the letter
    in \\boxed{} (of several such places the last, or the first); a line begins with the letter, "B." or "B) Paris"; a letter
    stands in brackets or as a capital alone, but not behind "not", nor as an article. At the first of these that finds
    anything, two different letters are no choice.

    >>> [chosen(text, "ABCD") for text in ("(b)", "A is wrong, so the answer is C.", "B. Paris", "A or B")]
    ['B', 'C', 'B', None]
    """
    rules = _patterns(letters)
    if len(text) < SHORT and (alone := rules["alone"].fullmatch(text)):
        return alone[1].upper()
    said = [found for found in rules["said"].finditer(text) if not _is_word(found[1], text[found.end(1) : found.end(1) + SHORT], said=True)]
    if announced := _apart([*said, *rules["boxed"].finditer(text)]):
        found = announced[-1] if pick == "last" else announced[0]
        return None if found["more"] and found["more"].rstrip()[-1].upper() != found[1].upper() else found[1].upper()
    lines = {found[1].upper() for found in rules["line"].finditer(text)}
    standing = {
        letter.upper()
        for found in rules["standing"].finditer(text)
        if (letter := found[1] or found[2])
        and not _is_word(letter, text[found.end() : found.end() + SHORT], said=False)
        and not _DENIED.search(text[max(0, found.start() - SHORT) : found.start()])
    }
    letters_found = lines or standing
    return letters_found.pop() if len(letters_found) == 1 else None


def _apart(found: list[re.Match[str]]) -> list[re.Match[str]]:
    """The places in their order, without those that lie within another: "the answer is \\boxed{B}" is one."""
    out: list[re.Match[str]] = []
    for each in sorted(found, key=lambda each: each.start(1)):
        if not out or each.start(1) >= out[-1].end():
            out.append(each)
    return out


def _is_word(letter: str, after: str, *, said: bool) -> bool:
    """Whether a letter is the word a, or I. Behind "the answer is" a capital is a choice; elsewhere a word, if a small one follows."""
    if letter == "a":
        return re.match(r"\s+\w", after) is not None
    return letter in "AI" and not said and re.match(_A_WORD, after) is not None


@dataclass(frozen=True, kw_only=True)
class Choice(Scoring):
    """The letter that the answer chooses is the truth.

    letters = "ABCD" are the letters there are; choices = "column" names a column with the list of choices instead, and
    then there are as many letters as choices. The truth is a letter; or a number with first = 0 (or 1), the number of the
    first choice; or, with `choices`, the very text of one choice. How the letter is found: `chosen`; pick = "first" or
    "last" decides between several sentences that announce the answer. Answers that choose none or several are not
    extracted. Answer "It is not (A). The answer is (B)." and truth "B": right.
    """

    name: ClassVar[str] = "choice"
    known_as: ClassVar[tuple[str, ...]] = ("exact_match",)
    letters: str = "ABCD"
    choices: str | None = None
    first: int | None = None
    pick: str = "last"

    def __post_init__(self) -> None:
        check_choice(self, "pick", ("first", "last"))
        ok = isinstance(self.letters, str) and len(self.letters) >= 2 and len(set(self.letters)) == len(self.letters)
        if not ok or not (self.letters.isdigit() or (self.letters.isascii() and self.letters.isalpha() and self.letters.isupper())):
            raise wrong(self, "letters", "two or more capital letters or digits, each once, as in ABCD")
        if self.first is not None and self.first not in (0, 1):
            raise wrong(self, "first", "0 or 1: the number of the first choice")
        if self.choices is not None and not isinstance(self.choices, str):
            raise wrong(self, "choices", "the name of a column with lists")

    @property
    def labels(self) -> bool:
        return True

    @property
    def version(self) -> int:
        return 2  # 1 did not read \boxed{B}, **Answer**: B and Answer - B

    def letters_of(self, case: Case) -> str:
        if self.choices is None:
            return self.letters
        listed = plain(case.row.get(self.choices))
        if not isinstance(listed, (list, tuple)) or not 2 <= len(listed) <= len(ALPHABET):
            raise bad_choices(self, case, listed)
        alphabet = self.letters if len(self.letters) >= len(listed) else ALPHABET
        return alphabet[: len(listed)]

    def truth(self, case: Case) -> Any:
        if is_missing(case.truth):
            return None
        letters, value = self.letters_of(case), plain(case.truth)
        text = value_text(value, "truth").strip()
        if self.first is not None and re.fullmatch(r"[0-9]{1,2}", text):
            place = int(text) - self.first
            if 0 <= place < len(letters):
                return letters[place]
        elif (letter := text.strip("(). ").upper()) in tuple(letters):
            return letter
        elif self.choices is not None:
            same = [place for place, each in enumerate(case.row[self.choices]) if value_text(each, self.choices).strip() == text]
            if len(same) == 1:
                return letters[same[0]]
        hint = "first = 0 in [scorer], if the truth is the number of the choice, from 0" if text.isdigit() else ""
        raise bad_truth(self, case, f"one of the letters {letters}", hint)

    def compare(self, said: Any, case: Case) -> Scored:
        truth = self.truth(case)
        text = value_text(said, "the answer").strip()
        found = chosen(text, self.letters_of(case), self.pick) or self._by_its_text(text, case)
        if found is None:
            return Scored(score=0.0, truth=truth, extracted=False)
        return Scored(score=float(found == truth), prediction=found, truth=truth)

    def _by_its_text(self, text: str, case: Case) -> str | None:
        """An answer that is the text of one choice chooses it."""
        if self.choices is None or nothing(text):
            return None
        wanted = normal_text(text).rstrip(".")
        same = [p for p, each in enumerate(case.row[self.choices]) if normal_text(value_text(each, self.choices)).rstrip(".") == wanted]
        return self.letters_of(case)[same[0]] if len(same) == 1 else None


def bad_choices(scorer: Choice, case: Case, listed: object) -> DataError:
    return DataError(
        f"Item {case.id!r} needs a list of 2 to {len(ALPHABET)} choices in column {scorer.choices!r}, not {repr(listed)[:80]}.",
        got=f"{repr(listed)[:80]} in column {scorer.choices!r}",
        need=f"a list of 2 to {len(ALPHABET)} choices",
    )
