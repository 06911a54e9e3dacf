"""Scorers that compare texts: exact match after normalisation, a text contained in the answer, a pattern that finds it."""

from __future__ import annotations

import re
import string
import unicodedata
from typing import Any, ClassVar

from steelyard_old.errors import UsageError
from steelyard_old.evaluate.asking.asks import Case, Scored
from steelyard_old.evaluate.scorers import matching
from steelyard_old.evaluate.scorers.base import Scoring, bad_truth, check_choice, check_flags, several, wrong
from steelyard_old.evaluate.scorers.numeric import NUMBERS, number_text, numbers_in
from steelyard_old.evaluate.task.cases import is_missing, value_text
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

LONGEST = matching.LONGEST
_ARTICLES = late_pattern(r"\b(a|an|the)\b")
FLAGS = {"ignorecase": re.IGNORECASE, "multiline": re.MULTILINE, "dotall": re.DOTALL, "ascii": re.ASCII}


def is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char)[0] == "P"


def normal_text(
    text: str, *, ignore_case: bool = True, ignore_punctuation: bool = False, ignore_articles: bool = False, unicode: bool = True
) -> str:
    """A text as it is compared: one form of Unicode (NFKC), no case, single spaces; on demand no punctuation, no articles.

    >>> normal_text("  The  Eiffel\\tTower. ", ignore_punctuation=True, ignore_articles=True)
    'eiffel tower'
    """
    unicode = unicode and not text.isascii()  # what is ASCII has one form, and keeps it when it is folded
    if unicode:
        text = unicodedata.normalize("NFKC", text)
    if ignore_case:
        text = text.casefold()
        text = unicodedata.normalize("NFKC", text) if unicode else text  # folding can take a text out of its form
    if ignore_punctuation:
        text = "".join(char for char in text if not is_punctuation(char))
    if ignore_articles:
        text = (re.compile(_ARTICLES.pattern, re.IGNORECASE) if not ignore_case else _ARTICLES).sub(" ", text)
    return " ".join(text.split())


@dataclass(frozen=True, kw_only=True)
class Normalised(Scoring):
    """The options of scorers that compare texts. Articles are the English ones: a, an, the."""

    ignore_case: bool = True
    ignore_punctuation: bool = False
    ignore_articles: bool = False
    unicode: bool = True

    def __post_init__(self) -> None:
        check_flags(self, "ignore_case", "ignore_punctuation", "ignore_articles", "unicode")

    @property
    def labels(self) -> bool:
        return self.needs_truth

    def normal(self, value: Any, name: str = "the answer") -> str:
        return normal_text(
            value_text(value, name),
            ignore_case=self.ignore_case,
            ignore_punctuation=self.ignore_punctuation,
            ignore_articles=self.ignore_articles,
            unicode=self.unicode,
        )

    def truths(self, case: Case) -> list[str]:
        found = [self.normal(value, "truth") for value in several(case.truth) if not is_missing(value)]
        if not found or "" in found:
            raise bad_truth(self, case, "a text that is not empty after normalisation, or a list of them")
        return found

    def truth(self, case: Case) -> Any:
        return None if is_missing(case.truth) else self.truths(case)[0]


@dataclass(frozen=True, kw_only=True)
class Exact(Normalised):
    """The answer is the truth, or one of a list of truths, after normalisation.

    By default case, the form of Unicode (NFKC) and runs of white space are ignored; punctuation and articles are not.
    Answer " PARIS" and truth "Paris": right. "Paris." is wrong, unless ignore_punctuation = true.
    """

    name: ClassVar[str] = "exact"
    known_as: ClassVar[tuple[str, ...]] = ("exact_match",)

    def compare(self, said: Any, case: Case) -> Scored:
        return among(self.normal(said), self.truths(case))


def among(prediction: str, truths: list[str]) -> Scored:
    """Right if the prediction is one of the truths, and then that one is the truth that was compared."""
    right = prediction in truths
    return Scored(score=float(right), prediction=prediction, truth=prediction if right else truths[0])


@dataclass(frozen=True, kw_only=True)
class Contains(Normalised):
    """The answer contains the truth. Of a list of truths any, or with of = "all" all.

    texts = [...] takes the place of the truth, the same for every item. whole_words = true does not find "art" in
    "party". Answer "It is Paris, I think" and truth "paris": right.
    """

    name: ClassVar[str] = "contains"
    of: str = "any"
    whole_words: bool = False
    texts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        Normalised.__post_init__(self)
        check_flags(self, "whole_words")
        check_choice(self, "of", ("any", "all"))
        if self.texts is not None:
            if not isinstance(self.texts, (list, tuple)) or not self.texts or not all(isinstance(t, str) for t in self.texts):
                raise wrong(self, "texts", "a list of texts")
            object.__setattr__(self, "texts", tuple(self.texts))
            if not all(self.normal(text) for text in self.texts):
                raise wrong(self, "texts", "texts that are not empty after normalisation")

    @property
    def needs_truth(self) -> bool:
        return self.texts is None

    def truths(self, case: Case) -> list[str]:
        return [self.normal(text) for text in self.texts] if self.texts is not None else Normalised.truths(self, case)

    def truth(self, case: Case) -> Any:
        return None if self.needs_truth and is_missing(case.truth) else self._shown(self.truths(case))

    def compare(self, said: Any, case: Case) -> Scored:
        answer, truths = self.normal(said), self.truths(case)
        found = [text for text in truths if self._inside(text, answer)]
        right = len(found) == len(truths) if self.of == "all" else bool(found)
        # What was found is the prediction: the whole answer would look like a wrong label beside the truth.
        shown = self._shown(found if right and self.of == "any" else truths)
        return Scored(score=float(right), prediction=shown if right else answer, truth=shown)

    def _inside(self, text: str, answer: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer) is not None if self.whole_words else text in answer

    def _shown(self, texts: list[str]) -> str:
        return texts[0] if self.of == "any" else " + ".join(texts)


@dataclass(frozen=True, kw_only=True)
class Regex(Normalised):
    """What a pattern finds in the answer is the truth, after the normalisation of `exact`.

    group is the number or name of the part that counts (default: the first group, or the whole match if there is none);
    pick = "first" takes the first of several matches, the default is the last; flags are of ignorecase, multiline, dotall,
    ascii. against = "number" compares numbers, so that 1,000 is 1000.0. presence = true asks only whether there is a match,
    and needs no truth. Answers are searched over at most a million characters, from the end where the last match is
    wanted, and for at most ten seconds, or the timeout of the run: a pattern that takes longer is an error of that item.
    Pattern "Answer: (\\w+)", answer "Answer: maybe. Answer: yes", truth "yes": right.
    """

    name: ClassVar[str] = "regex"
    known_as: ClassVar[tuple[str, ...]] = ("exact_match",)
    pattern: str
    group: int | str | None = None
    pick: str = "last"
    flags: tuple[str, ...] = ()
    against: str = "text"
    presence: bool = False

    def __post_init__(self) -> None:
        Normalised.__post_init__(self)
        check_flags(self, "presence")
        check_choice(self, "pick", ("first", "last"))
        check_choice(self, "against", ("text", "number"))
        flags = (self.flags,) if isinstance(self.flags, str) else self.flags
        if not isinstance(flags, (list, tuple)) or not all(flag in FLAGS for flag in flags):
            raise wrong(self, "flags", f"a list of {', '.join(FLAGS)}")
        object.__setattr__(self, "flags", tuple(flags))
        groups = self.compiled.groups
        if self.group is None:
            object.__setattr__(self, "group", min(1, groups))
        elif isinstance(self.group, bool) or self.group not in [*range(groups + 1), *self.compiled.groupindex]:
            raise wrong(self, "group", f"a group of the pattern, which has {groups}")

    @property
    def compiled(self) -> re.Pattern[str]:
        try:
            return matching.compiled(self.pattern, sum(FLAGS[flag] for flag in self.flags))  # compiled once: re keeps it
        except UsageError as fault:
            raise UsageError(
                f"pattern of the scorer regex must be a regular expression, not {fault.got}.",
                got=f"pattern = {fault.got}",
                need="a regular expression",
            ) from None

    @property
    def needs_truth(self) -> bool:
        return not self.presence

    @property
    def version(self) -> int:
        return NUMBERS if self.against == "number" else 1

    def truths(self, case: Case) -> list[str]:
        if self.against == "text":
            return Normalised.truths(self, case)
        found = [numbers_in(value_text(value, "truth")) for value in several(case.truth) if not is_missing(value)]
        if not found or any(len(numbers) != 1 for numbers in found):
            raise bad_truth(self, case, "one number, or a list of numbers")
        return [number_text(numbers[0]) for numbers in found]

    def truth(self, case: Case) -> Any:
        return None if self.presence else super().truth(case)

    def compare(self, said: Any, case: Case) -> Scored:
        text = value_text(said, "the answer")
        text = text[:LONGEST] if self.pick == "first" else text[-LONGEST:]
        flags = sum(FLAGS[flag] for flag in self.flags)
        found = matching.group_of(self.pattern, text, flags=flags, group=self.group or 0, pick=self.pick)
        if self.presence:
            return Scored(score=float(found is not None), prediction=found)
        if found is None:
            return Scored(score=0.0, truth=self.truth(case), extracted=False)
        if self.against == "text":
            return among(self.normal(found), self.truths(case))
        numbers = numbers_in(found)
        if len(numbers) != 1:
            return Scored(score=0.0, truth=self.truth(case), extracted=False)
        return among(number_text(numbers[0]), self.truths(case))
