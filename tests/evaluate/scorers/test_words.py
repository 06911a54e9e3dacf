"""Token F1, ROUGE-1, ROUGE-L and the word error rate: against the packages that people use, and against the textbook recursion."""

from __future__ import annotations

import re
import string
from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import DataError
from steelyard.evaluate.asking.asks import Case
from steelyard.evaluate.scorers.words import Rouge1, RougeL, TokenF1, WordErrorRate, common_subsequence, edit_distance

WORDS = st.lists(st.sampled_from("abc"), max_size=9)


def case(truth: object) -> Case:
    return Case(id="1", input="", truth=truth, row={})


def slow_lcs(one: list[str], other: list[str]) -> int:
    @cache
    def best(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        return 1 + best(i + 1, j + 1) if one[i] == other[j] else max(best(i + 1, j), best(i, j + 1))

    return best(0, 0)


def slow_edits(one: list[str], other: list[str]) -> int:
    @cache
    def best(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        return min(best(i + 1, j + 1) + (one[i] != other[j]), best(i + 1, j) + 1, best(i, j + 1) + 1)

    return best(0, 0)


@given(WORDS, WORDS)
def test_bits_agree_with_the_recursion(one: list[str], other: list[str]) -> None:
    assert common_subsequence(one, other) == slow_lcs(one, other)
    assert edit_distance(one, other) == slow_edits(one, other)


@given(st.lists(st.integers(0, 5), max_size=200), st.lists(st.integers(0, 5), max_size=200))
def test_laws(one: list[int], other: list[int]) -> None:
    common, edits = common_subsequence(one, other), edit_distance(one, other)
    assert common == common_subsequence(other, one) == common_subsequence(one[::-1], other[::-1])
    assert edits == edit_distance(other, one) == edit_distance(one[::-1], other[::-1])
    assert max(len(one), len(other)) - common <= edits <= len(one) + len(other) - 2 * common
    assert edit_distance(one, one) == 0
    assert common_subsequence(one, one) == len(one)


# rouge_score 0.1.2, RougeScorer(["rougeL"]).score(target, prediction)["rougeL"].fmeasure
ROUGE = [
    ("police killed the gunman", "police kill the gunman", 0.75),
    ("police killed the gunman", "the gunman police killed", 0.5),
    ("The quick brown fox jumps over the lazy dog.", "A quick dog jumps on the log, over the fox", 0.4210526316),
    ("Hello, world_wide web! 42", "hello world wide 42 web", 0.8),
    ("a b c", "d e", 0.0),
    ("It's 3.5 o'clock", "its 3 5 o clock", 0.7272727273),
    ("testing one two", "testing", 0.5),
    ("x y x y x y", "y x y x y x x", 0.7692307692),
]


@every(("truth", "said", "want"), ROUGE)
def test_rouge_l_golden(truth: str, said: str, want: float) -> None:
    assert RougeL().score(said, case(truth)).score == pytest.approx(want, abs=1e-9)


# rouge_score 0.1.2, RougeScorer(["rouge1"]).score(target, prediction)["rouge1"].fmeasure
ROUGE_1 = [
    ("police killed the gunman", "police kill the gunman", 0.75),
    ("police killed the gunman", "the gunman police killed", 1.0),
    ("The quick brown fox jumps over the lazy dog.", "A quick dog jumps on the log, over the fox", 0.7368421053),
    ("Hello, world_wide web! 42", "hello world wide 42 web", 1.0),
    ("a b c", "d e", 0.0),
    ("It's 3.5 o'clock", "its 3 5 o clock", 0.7272727273),
    ("testing one two", "testing", 0.5),
    ("x y x y x y", "y x y x y x x", 0.9230769231),
    ("Café São 12", "cafe são 12", 0.75),
    ("the the the cat", "the cat the dog the the", 0.8),
]


@every(("truth", "said", "want"), ROUGE_1)
def test_rouge_1_golden(truth: str, said: str, want: float) -> None:
    assert Rouge1().score(said, case(truth)).score == pytest.approx(want, abs=1e-9)


TEXTS = st.text("abAB 1.,'-é_\n", max_size=30)


@given(TEXTS, TEXTS)
def test_rouge_1_is_that_of_rouge_score(one: str, other: str) -> None:
    rouge = pytest.importorskip("rouge_score.rouge_scorer", reason="needs rouge_score: pip install rouge-score")
    want = rouge.RougeScorer(["rouge1"]).score(one, other)["rouge1"].fmeasure
    found = Rouge1()
    assert found.overlap(found.words(other), found.words(one)) == pytest.approx(want, abs=1e-12)


def test_rouge_1_of_several_and_of_none() -> None:
    found = Rouge1().score("a b", case(["x", "c b a", "b"]))
    assert (found.score, found.truth) == (pytest.approx(0.8), "c b a")
    with pytest.raises(DataError, match="a text with words of a to z"):
        Rouge1().check(case("παρίσι"))


def test_rouge_l_beyond_ascii_and_of_several() -> None:
    assert RougeL().score("ΠΑΡΊΣΙ είναι", case("παρίσι είναι")).score == 1.0, "rouge_score would see no words"
    found = RougeL().score("a b", case(["x", "a b c", "b"]))
    assert (found.score, found.truth) == (pytest.approx(0.8), "a b c")
    with pytest.raises(DataError, match="a text with words"):
        RougeL().check(case("..."))


# jiwer 4.0.0, process_words(reference, hypothesis): errors, words of the reference; cer
WER = [
    ("a cat sat down", "the cat sat", 2, 4, 0.5714285714),
    ("hello world", "hello duck world", 1, 2, 0.4545454545),
    ("the quick brown fox", "the quick brown fox", 0, 4, 0.0),
    ("one", "two three four", 3, 1, 4.0),
    ("to be or not to be", "be or to be not", 3, 6, 0.5555555556),
]


@pytest.mark.parametrize(("truth", "said", "errors", "words", "cer"), WER)
def test_wer_golden(truth: str, said: str, errors: int, words: int, cer: float) -> None:
    found = WordErrorRate().score(said, case(truth))
    assert found.sums == (errors, words)
    assert found.score == errors / words
    assert WordErrorRate(unit="characters").score(said, case(truth)).score == pytest.approx(cer, abs=1e-9)


def test_wer_over_a_corpus_is_a_ratio_of_sums() -> None:
    """jiwer 4.0.0: wer of all pairs, with ("I like  Python", "i like python .") as the sixth: 0.6."""
    sums = [WordErrorRate().score(said, case(truth)).sums for truth, said, *_ in [*WER, ("I like  Python", "i like python .")]]
    assert sum(each[0] for each in sums if each) / sum(each[1] for each in sums if each) == pytest.approx(0.6)


def test_wer_options_and_empty_answers() -> None:
    assert WordErrorRate(ignore_case=True, ignore_punctuation=True).score("hello, World.", case("Hello world")).score == 0
    for nothing in ("", None, "  "):
        found = WordErrorRate().score(nothing, case("a b"))
        assert (found.score, found.sums) == (1.0, (2.0, 2.0)), "silence is all words deleted, not a perfect score"
    for bad in ("", " ", ["a", "b"], None):
        with pytest.raises(DataError):
            WordErrorRate().check(case(bad))


def squad_f1(said: str, true: str) -> float:
    """SQuAD's evaluation, as its paper describes it, written down a second time."""

    def tokens(text: str) -> list[str]:
        text = "".join(char for char in text.lower() if char not in set(string.punctuation))
        return re.sub(r"\b(a|an|the)\b", " ", text).split()

    one, other = tokens(said), tokens(true)
    same = sum((Counter(one) & Counter(other)).values())
    if not one or not other:
        return float(one == other)
    if same == 0:
        return 0.0
    precision, recall = same / len(one), same / len(other)
    return 2 * precision * recall / (precision + recall)


TEXT = st.lists(st.sampled_from(["the", "a", "Paris", "paris.", "an", "x-ray", "$5", "tower", "--"]), min_size=1, max_size=8).map(" ".join)


@given(TEXT, TEXT)
def test_token_f1_is_squads(said: str, true: str) -> None:
    assert TokenF1().score(said, case(true)).score == pytest.approx(squad_f1(said, true))


def test_token_f1_by_hand() -> None:
    assert TokenF1().score("the tower of Eiffel", case("Eiffel Tower")).score == pytest.approx(0.8)
    assert TokenF1().score("x", case(["y", "x z"])).score == pytest.approx(2 / 3)
    assert TokenF1().score("", case("")).score == 1.0
    assert TokenF1().score("", case(["", "x"])).score == 1.0
    silent = TokenF1().score("", case("x"))
    assert (silent.score, silent.extracted) == (0.0, False)
    with pytest.raises(DataError, match="a text or a list of texts"):
        TokenF1().check(case([]))
