"""Scorers that compare words: token F1 (SQuAD style), ROUGE-1, ROUGE-L, and the word error rate."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from steelyard_old.evaluate.asking.asks import Case, Scored
from steelyard_old.evaluate.scorers.base import Scoring, bad_truth, check_choice, check_flags, nothing, several
from steelyard_old.evaluate.scorers.text import normal_text
from steelyard_old.evaluate.task.cases import is_missing, value_text
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

_WORD = late_pattern(r"[^\W_]+")
_ASCII_WORD = late_pattern(r"[a-z0-9]+")


def common_subsequence(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence, a row of its table at once as the bits of one whole number.

    Reference: Hyyro2004.

    >>> common_subsequence("police killed the gunman".split(), "the gunman police killed".split())
    2
    """
    where: dict[Hashable, int] = {}
    for place, word in enumerate(one):
        where[word] = where.get(word, 0) | 1 << place
    full = (1 << len(one)) - 1
    row = full  # a bit that is 0: here the subsequence grew by one
    for word in other:
        at = row & where.get(word, 0)
        row = (row + at | row - at) & full
    return len(one) - row.bit_count()


def edit_distance(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The least number of insertions, deletions and substitutions from one to the other, bits of whole numbers as rows.

    Reference: Levenshtein1966; Hyyro2003.

    >>> edit_distance("kitten", "sitting")
    3
    """
    if not one:
        return len(other)
    where: dict[Hashable, int] = {}
    for place, word in enumerate(one):
        where[word] = where.get(word, 0) | 1 << place
    full, last = (1 << len(one)) - 1, 1 << len(one) - 1
    up, down, distance = full, 0, len(one)  # vertical steps of the table: +1, -1
    for word in other:
        at = where.get(word, 0)
        same = ((at & up) + up ^ up) | at | down
        right, left = (down | ~(same | up)) & full, up & same  # horizontal steps: +1, -1
        distance += bool(right & last) - bool(left & last)
        right, left = (right << 1 | 1) & full, left << 1 & full
        crossed = at | down
        up, down = (left | ~(crossed | right)) & full, right & crossed
    return distance


def f_measure(hits: int, said: int, true: int) -> float:
    """The harmonic mean of hits/said and hits/true; 0 without a hit."""
    return 2 * hits / (said + true) if hits else 0.0


@dataclass(frozen=True, kw_only=True)
class OverlapOfWords(Scoring):
    """Scores from 0 to 1; of several truths in a list the one that scores best counts."""

    @property
    def right_or_wrong(self) -> bool:
        return False

    def words(self, text: str) -> list[str]:
        raise NotImplementedError

    def overlap(self, said: list[str], true: list[str]) -> float:
        raise NotImplementedError

    def truths(self, case: Case) -> list[str]:
        return [value_text(value, "truth") for value in several(case.truth) if not is_missing(value)]

    def truth(self, case: Case) -> Any:
        return None if is_missing(case.truth) else " ".join(self.words((self.truths(case) or [""])[0]))

    def compare(self, said: Any, case: Case) -> Scored:
        words = self.words(value_text(said, "the answer"))
        each = [(self.overlap(words, true), " ".join(true)) for true in map(self.words, self.truths(case))]
        score, truth = max(each, key=lambda pair: pair[0])
        return Scored(score=score, prediction=" ".join(words), truth=truth)


@dataclass(frozen=True, kw_only=True)
class TokenF1(OverlapOfWords):
    """F1 of the words of answer and truth, as SQuAD counts them: no case, no punctuation, no English articles, no order.

    A truth without words (no answer is right) scores 1 for an answer without words, else 0. Of a list of truths the best.
    Answer "the tower of Eiffel" and truth "Eiffel Tower": 4/5. Reference: Rajpurkar2016.
    """

    name: ClassVar[str] = "token-f1"

    def words(self, text: str) -> list[str]:
        return normal_text(text, ignore_punctuation=True, ignore_articles=True, unicode=False).split()

    def overlap(self, said: list[str], true: list[str]) -> float:
        if not said or not true:
            return float(said == true)
        return f_measure((Counter(said) & Counter(true)).total(), len(said), len(true))

    def check(self, case: Case) -> None:
        Scoring.check(self, case)
        if not self.truths(case):
            raise bad_truth(self, case, "a text or a list of texts", 'the empty text "" where no answer is the right one')

    def score(self, said: Any, case: Case, judgement: str | None = None) -> Scored:
        if (said is None or said == "") and any(not self.words(truth) for truth in self.truths(case)):
            return Scored(score=1.0, prediction="", truth="")
        return Scoring.score(self, said, case, judgement)


@dataclass(frozen=True, kw_only=True)
class Rouge1(OverlapOfWords):
    """ROUGE-1: F-measure of the words that answer and truth share, each as often as both have it, without case and order.

    Words are runs of a to z and 0 to 9, as the package rouge-score counts them by default; no stemming. Of a list of truths
    the best. Answer "police kill the gunman" and truth "police killed the gunman": 3/4. Reference: Lin2004.
    """

    name: ClassVar[str] = "rouge-1"
    known_as: ClassVar[tuple[str, ...]] = ("rouge1",)

    def words(self, text: str) -> list[str]:
        return _ASCII_WORD.findall(text.lower())

    def overlap(self, said: list[str], true: list[str]) -> float:
        return f_measure((Counter(said) & Counter(true)).total(), len(said), len(true))

    def check(self, case: Case) -> None:
        Scoring.check(self, case)
        if not self.truths(case) or not all(map(self.words, self.truths(case))):
            raise bad_truth(self, case, "a text with words of a to z or 0 to 9, or a list of them")


@dataclass(frozen=True, kw_only=True)
class RougeL(OverlapOfWords):
    """ROUGE-L: F-measure of the longest common subsequence of words, without case; words are runs of letters and digits.

    No stemming. Of a list of truths the best. Answer "the gunman police killed" and truth "police killed the gunman": 1/2.
    Reference: Lin2004.
    """

    name: ClassVar[str] = "rouge-l"
    known_as: ClassVar[tuple[str, ...]] = ("rougeL",)

    def words(self, text: str) -> list[str]:
        return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())

    def overlap(self, said: list[str], true: list[str]) -> float:
        return f_measure(common_subsequence(said, true), len(said), len(true))

    def check(self, case: Case) -> None:
        Scoring.check(self, case)
        if not self.truths(case) or not all(map(self.words, self.truths(case))):
            raise bad_truth(self, case, "a text with words, or a list of them")


@dataclass(frozen=True, kw_only=True)
class WordErrorRate(Scoring):
    """Word errors (substitutions, insertions, deletions) per word of the truth; over all items the ratio of the two sums.

    Words lie between white space and are compared as they are; ignore_case and ignore_punctuation are options, and
    unit = "characters" is the character error rate. An answer without words has all words deleted: rate 1. The rate can
    exceed 1. Answer "the cat sat" and truth "a cat sat down": 2 errors in 4 words. Reference: Levenshtein1966.
    """

    name: ClassVar[str] = "wer"
    sums: ClassVar[tuple[str, str] | None] = ("word_errors", "words")
    unit: str = "words"
    ignore_case: bool = False
    ignore_punctuation: bool = False

    @classmethod
    def names_elsewhere(cls, protocol: Mapping[str, str]) -> tuple[str, ...]:
        return ("cer",) if protocol.get("scorer.unit") == "characters" else ("wer",)

    def __post_init__(self) -> None:
        check_choice(self, "unit", ("words", "characters"))
        check_flags(self, "ignore_case", "ignore_punctuation")

    @property
    def right_or_wrong(self) -> bool:
        return False

    @property
    def span(self) -> tuple[float, float] | None:
        return None

    def units(self, value: Any) -> Sequence[str]:
        text = "" if nothing(value) else value_text(value, "a text")
        text = normal_text(text, ignore_case=self.ignore_case, ignore_punctuation=self.ignore_punctuation)
        return text.split() if self.unit == "words" else text

    def truth(self, case: Case) -> Any:
        return None if is_missing(case.truth) else self._shown(self.units(case.truth))

    def check(self, case: Case) -> None:
        Scoring.check(self, case)
        if isinstance(case.truth, (list, tuple)) or not self.units(case.truth):
            raise bad_truth(self, case, "one text with at least one word")

    def score(self, said: Any, case: Case, judgement: str | None = None) -> Scored:
        true, heard = self.units(case.truth), self.units(said)
        errors = edit_distance(true, heard)
        sums = (float(errors), float(len(true)))
        return Scored(score=errors / len(true), prediction=self._shown(heard), truth=self._shown(true), sums=sums)

    def _shown(self, units: Sequence[str]) -> str:
        return " ".join(units) if self.unit == "words" else "".join(units)
