"""The scorers by name: what is found in an answer, what is right, what is not extracted, and what is refused before any model is asked."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import DataError, UsageError
from steelyard.evaluate.asking.asks import Case, Scored
from steelyard.evaluate.scorers.base import Scoring
from steelyard.evaluate.scorers.catalogue import SCORERS, scorer_named
from steelyard.evaluate.scorers.choice import chosen
from steelyard.evaluate.scorers.numeric import boxed, number_text, numbers_in
from steelyard.evaluate.scorers.text import normal_text

HERE = Path(__file__).parents[1]
NEEDED: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"(\w+)"},
    "tolerance": {"absolute": 0.1},
    "judge": {"rubric": "{answer}", "model": "m"},
}


def scorer(name: str, **options: Any) -> Scoring:
    return scorer_named(name, options, where=HERE)


def case(truth: Any = None, **row: Any) -> Case:
    return Case(id="7", input="", truth=truth, row=row)


def scored(name: str, said: Any, truth: Any, **options: Any) -> Scored:
    return scorer(name, **options).score(said, case(truth))


# ---- all of them -----------------------------------------------------------------------------------------------------


@every("name", SCORERS)
def test_every_scorer_has_a_page_and_a_protocol_of_texts(name: str) -> None:
    made = scorer(name, **NEEDED.get(name, {}))
    assert made.__doc__
    assert len(made.__doc__) > 100
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in made.protocol.items())
    assert made.protocol == scorer(name, **NEEDED.get(name, {})).protocol


@every("name", SCORERS)
def test_unknown_options_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="'ignore_cas'"):
        scorer(name, **NEEDED.get(name, {}), ignore_cas=True)


@every("name", [name for name in SCORERS if name != "wer"])
@every("said", [None, "", " \n", float("nan"), float("inf")])
def test_nothing_said_is_not_extracted(name: str, said: Any) -> None:
    truth = {"choice": "A", "number": 1, "tolerance": 1, "json-match": "{}"}.get(name, "x")
    found = scorer(name, **NEEDED.get(name, {})).score(said, case(truth))
    assert (found.score, found.extracted, found.prediction) == (0.0, False, None)


@every("name", ["exact", "choice", "number", "regex", "contains", "tolerance", "token-f1", "rouge-1", "rouge-l", "json-match", "wer"])
def test_a_missing_truth_is_found_before_any_request(name: str) -> None:
    with pytest.raises(DataError, match=r"Item '7' has no truth to score against\."):
        scorer(name, **NEEDED.get(name, {})).check(case(None))


def test_names() -> None:
    with pytest.raises(UsageError, match="Did you mean 'token-f1'"):
        scorer("token_f1")
    with pytest.raises(UsageError, match="no scorer"):
        scorer_named(None, {}, where=HERE)
    with pytest.raises(UsageError, match=r"The scorer regex needs pattern = \.\.\. in the table \[scorer\]\."):
        scorer("regex")


# ---- texts -------------------------------------------------------------------------------------------------------------


@every(
    ("said", "truth", "options", "want"),
    [
        (" PARIS\n", "Paris", {}, 1), ("Paris.", "Paris", {}, 0), ("Paris.", "Paris", {"ignore_punctuation": True}, 1),
        ("the cat", "cat", {}, 0), ("The cat", "cat", {"ignore_articles": True}, 1), ("paris", "Paris", {"ignore_case": False}, 0),
        ("ｆｉｖｅ", "five", {}, 1), ("ｆｉｖｅ", "five", {"unicode": False}, 0), ("STRASSE", "straße", {}, 1), ("e\u0301", "é", {}, 1),
        ("a  b\tc", "a b c", {}, 1), (3, 3, {}, 1), (np.int64(3), "3", {}, 1), (3.0, 3, {}, 1), (True, "true", {}, 1),
        ("x", ["y", "X"], {}, 1),
        ("«Oui»", "oui", {"ignore_punctuation": True}, 1), ("The", "x", {"ignore_articles": True}, 0),
    ],
)  # fmt: skip
def test_exact(said: Any, truth: Any, options: dict[str, Any], want: int) -> None:
    found = scored("exact", said, truth, **options)
    assert (found.score, found.extracted) == (want, True)
    assert (found.prediction == found.truth) == bool(want), "labels and score agree"


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normal_text(text)
    assert normal_text(once) == once


def test_exact_wants_a_truth_with_something_in_it() -> None:
    for truth in ("", "...", ["a", "?!"], []):
        with pytest.raises(DataError, match="not empty after normalisation"):
            scorer("exact", ignore_punctuation=True).check(case(truth))
    with pytest.raises(UsageError, match="ignore_case of the scorer exact must be true or false"):
        scorer("exact", ignore_case="no")


@every(
    ("said", "truth", "options", "want"),
    [
        ("It is PARIS, I think", "Paris", {}, 1), ("London", "Paris", {}, 0), ("a party", "art", {}, 1),
        ("a party", "art", {"whole_words": True}, 0),
        ("b only", ["a", "b"], {}, 1), ("b only", ["ax", "b"], {"of": "all"}, 0), ("ax b", ["ax", "b"], {"of": "all"}, 1),
        ("yes or no", None, {"texts": ["yes", "no"], "of": "all"}, 1), ("(C++)", "c++", {"whole_words": True}, 1),
    ],
)  # fmt: skip
def test_contains(said: str, truth: Any, options: dict[str, Any], want: int) -> None:
    found = scored("contains", said, truth, **options)
    assert found.score == want
    assert (found.prediction == found.truth) == bool(want)


def test_contains_options() -> None:
    scorer("contains", texts=["a"]).check(case(None))
    for texts in ([], ["  "], "a", [1]):
        with pytest.raises(UsageError, match="texts"):
            scorer("contains", texts=texts)


def test_regex() -> None:
    said = "Answer: maybe. No: Answer: YES"
    assert scored("regex", said, "yes", pattern=r"Answer: (\w+)").score == 1
    assert scored("regex", said, "maybe", pattern=r"Answer: (\w+)", pick="first").score == 1
    assert scored("regex", said, "answer: yes", pattern=r"Answer: (\w+)", group=0).score == 1
    assert scored("regex", said, "yes", pattern=r"answer: (?P<it>\w+)", group="it", flags=["ignorecase"]).score == 1
    assert scored("regex", "x = 1,000", 1000.0, pattern=r"x = (.*)", against="number").score == 1
    assert not scored("regex", "no such thing", "yes", pattern=r"Answer: (\w+)").extracted
    assert not scored("regex", "x = many", 3, pattern=r"x = (.*)", against="number").extracted
    assert not scored("regex", "b", "a", pattern="(a)|b").extracted, "a group that took no part found nothing"
    assert [scored("regex", said, None, pattern=p, presence=True).score for p in ("YES", "PERHAPS")] == [1, 0]


@every(
    "options", [{"pattern": "("}, {"pattern": "a", "group": 1}, {"pattern": "(a)", "group": "x"}, {"pattern": "a", "flags": ["verbose"]},
                {"pattern": "a", "pick": "middle"}, {"pattern": 3}, {"pattern": "a", "against": "x"}]
)  # fmt: skip
def test_regex_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="regex"):
        scorer("regex", **options)


def test_regex_reads_a_million_characters() -> None:
    long = "first " + "x" * 1_000_100 + " last"
    assert scored("regex", long, "last", pattern="(first|last)").score == 1
    assert not scored("regex", "x" * 1_000_100 + " last", "last", pattern="(last)", pick="first").extracted


# ---- choices -----------------------------------------------------------------------------------------------------------


@every(
    ("text", "want"),
    [
        ("B", "B"), ("(B)", "B"), ("b", "B"), ("B.", "B"), ("**B**", "B"), (r"$\boxed{B}$", "B"), ("\n\nC\n", "C"), ("B) Paris", "B"),
        ("Answer: B", "B"), ("The answer is B", "B"), ("The correct answer is (B).", "B"), ("answer: **B) Paris**", "B"), ("A: yes", "A"),
        (r"the answer is \boxed{C}", "C"), ("The answer is A because of it", "A"), ("The answer to this question is C.", "C"),
        ("The answer is B. No wait, the answer is C", "C"), ("I'd go with D", "D"), ("B. Because (A) is wrong", "B"),
        ("Answer choices:\nA) x\nB) y\nAnswer: B", "B"), ("A dog chose B", "B"), ("I think it is C", "C"), ("It is not (A) but (B)", "B"),
        ("The answer is a dog", None), ("The answer is not A", None), ("The answer is B or C", None), ("A. Paris\nB. London", None),
        ("A or B", None), ("nothing", None), ("Answer: Apple", None), ("Not (A), not (B)", None), ("I am sure", None), ("E", None),
        ("(A) is tempting. Option B is right.", None), ("Both B and C", None),
    ],
)  # fmt: skip
def test_chosen(text: str, want: str | None) -> None:
    assert chosen(text, "ABCD") == want


THOUGHTS = "We check option (A) first, which fails. Option C is tempting.\n\n"


@every(
    ("last", "want"),
    [
        ("**Answer**: B", "B"), ("**Final Answer**: B", "B"), ("**Answer:** B", "B"), ("`Answer`: (B)", "B"), ("Answer：B", "B"),
        ("### Final Answer\n\n**B**", "B"), ("Answer - B", "B"), ("**Answer** – **B**.", "B"), ("Answer → B", "B"),
        (r"\boxed{B}", "B"), (r"$$\boxed{\text{B}}$$", "B"), (r"\[ \boxed{(B)} \]", "B"), (r"\boxed{B) Paris}", "B"),
        (r"Answer: \(\boxed{B}\)", "B"), (r"Answer: $\mathbf{B}$", "B"), (r"The answer is \(B\).", "B"),
        (r"\boxed{A}, no: \boxed{B}", "B"), (r"The answer is A. Wait: \boxed{B}", "B"), (r"\boxed{A} at first. **Answer**: B", "B"),
        (r"\boxed{A} or \boxed{B}", None), (r"The answer is \boxed{A} or \boxed{B}.", None), (r"\boxed{A, B}", None), (r"\boxed{12}", None),
        ("The best answer - A common mistake - needs care.", None), ("The answer - a dog", None), ("Answer-by-answer, no.", None),
    ],
)  # fmt: skip
def test_what_models_write_at_the_end_after_they_have_named_other_letters(last: str, want: str | None) -> None:
    assert chosen(THOUGHTS + last, "ABCD") == want


def test_the_first_of_several_announcements() -> None:
    assert chosen(r"So \boxed{B}. The answer is C.", "ABCD", "first") == "B"
    assert chosen("The answer is B. The answer is C.", "ABCD", "first") == "B"
    assert chosen("2", "1234") == "2"


@given(st.text(alphabet="ABCDab (.):*\n answeri", max_size=60))
def test_whatever_is_found_is_a_letter_of_the_text(text: str) -> None:
    found = chosen(text, "ABCD")
    assert found is None or (found in "ABCD" and found in text.upper())


def test_choice_truths() -> None:
    assert scored("choice", "(c)", "C").score == 1
    assert scored("choice", "(c)", 2, first=0).score == 1
    assert scored("choice", "(c)", "3", first=1).score == 1
    rows = scorer("choice", choices="options")
    three = case("Rome", options=["Paris", "Rome", "Oslo"])
    assert rows.score("B", three).score == 1
    assert rows.score("rome.", three).score == 1
    assert not rows.score("D", three).extracted, "there are three choices"
    for truth, options in ((2, {}), ("E", {}), (4, {"first": 0}), (0, {"first": 1})):
        with pytest.raises(DataError, match="one of the letters ABCD"):
            scorer("choice", **options).check(case(truth))
    for listed in (None, ["a"], "abc"):
        with pytest.raises(DataError, match="Item '7' needs a list"):
            rows.check(case("A", options=listed))
    for letters in ("A", "AA", "ab", "A1", ""):
        with pytest.raises(UsageError, match="letters"):
            scorer("choice", letters=letters)


# ---- numbers -----------------------------------------------------------------------------------------------------------


@every(
    ("text", "want"),
    [
        ("72", [72]), ("$1,234.50.", ["1234.5"]), ("-3", [-3]), ("−3", [-3]), ("-$5", [-5]), ("$-5", [-5]), ("12%", [12]),
        ("10-12", [10, 12]),
        ("3/4", ["3/4"]), ("3/4/2024", [3, 4, 2024]), ("1, 2, 3", [1, 2, 3]), ("1,00,000", [100000]), ("CO2", []), ("15km", [15]),
        (".5", ["0.5"]), ("1e3", [1000]), ("2.", [2]), ("USD500", [500]), ("Rs.500", [500]), ("５", [5]),
        ("5²", [5]), ("1,2345", [1, 2345]),
        ("9" * 500, []), ("1e999", [10**999]), ("1e9999", [1]), ("1/0", [1, 0]), ("x=-7", [-7]), ("", []), ("½", []), ("48/2=24", [24, 24]),
    ],
)  # fmt: skip
def test_numbers_in(text: str, want: list[Any]) -> None:
    assert numbers_in(text) == [Fraction(each) for each in want]


@every(
    ("said", "want"),
    [
        (r"So it costs \boxed{1{,}200}", "1200"), (r"So it costs \boxed{1\,200}", "1200"), (r"So it costs $1{,}200$.", "1200"),
        (r"$12{,}345{,}678.5$", "12345678.5"), (r"1,\!200", "1200"), (r"1\;200", "1200"), (r"1{\,}200", "1200"), ("1\u2009200", "1200"),
        (r"3{,}14", "14"), (r"7\, 200", "200"), (r"1\,2000", "2000"),
    ],
)  # fmt: skip
def test_thousands_as_latex_writes_them_are_one_number(said: str, want: str) -> None:
    assert scored("number", said, want).score == 1


def test_a_scorer_that_reads_answers_otherwise_than_it_did_says_so_in_its_protocol() -> None:
    told = {name: scorer(name, **NEEDED.get(name, {})).protocol.get("version") for name in SCORERS}
    assert {name for name, version in told.items() if version == "2"} == {"choice", "number", "tolerance"}
    assert set(told.values()) == {None, "2"}
    assert scorer("regex", pattern="x", against="number").protocol["version"] == "2"


@given(st.fractions(max_denominator=10**6))
def test_equal_numbers_have_equal_texts(number: Fraction) -> None:
    text = number_text(number)
    assert Fraction(text) == number
    assert text == number_text(Fraction(text))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9))
def test_a_number_is_found_however_it_is_written(number: Any) -> None:
    for written in (f"{number:f}", f"{number:,f}", f"The result is {number:f}.", f"= {number:,f} km"):
        assert numbers_in(written) == [Fraction(number)]


GSM8K = "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\nAltogether 48+24 = <<48+24=72>>72 clips.\n#### 72"  # its form, the first item


@every(
    ("said", "truth", "want"),
    [
        ("48 / 2 = 24, so 72.", GSM8K, 1), ("#### 72\nI used 5 steps", GSM8K, 1), (r"\boxed{72}, not 71", GSM8K, 1), ("71", GSM8K, 0),
        ("It costs $1,200.00", "1200", 1), ("0.33", "1/3", 0), ("1/3", "1/3", 1), (72, 72.0, 1), (np.float64(0.1), "0.1", 1),
        ("5", ["4", "5"], 1),
    ],
)  # fmt: skip
def test_number(said: Any, truth: Any, want: int) -> None:
    found = scored("number", said, truth)
    assert (found.score, found.extracted) == (want, True)
    assert (found.prediction == found.truth) == bool(want)


def test_number_not_extracted_and_bad_truths() -> None:
    for said in ("I do not know", "5 - 4 #### unknown", True, [1]):
        assert not scored("number", said, 1).extracted
    for truth in ("no number", "1 or 2", True, [], ["x"], ""):
        with pytest.raises(DataError, match=r"item '7'|cannot score"):
            scorer("number").check(case(truth))
    assert scored("number", "first 3 then 4", 3, pick="first").score == 1
    assert boxed(r"\boxed{unclosed") is None


@every(
    ("said", "options", "want"),
    [("3.15", {"absolute": 0.01}, 1), ("3.16", {"absolute": 0.01}, 0), ("3.2", {"relative": 0.05}, 1), (3.1416, {"absolute": 0}, 1),
     ("about 3.1516", {"absolute": 0.01}, 1), ("3.2", {"absolute": 0.001, "relative": 0.05}, 1)],
)  # fmt: skip
def test_tolerance(said: Any, options: dict[str, Any], want: int) -> None:
    assert scored("tolerance", said, 3.1416, **options).score == want


def test_numbers_beyond_float64() -> None:
    assert scored("tolerance", "1e999", 1, absolute=1).score == 0
    assert scored("tolerance", "1e999", "1e999", relative=0).score == 1
    assert scored("json-schema", "1" * 400, None, schema={"type": "integer"}).score == 1


def test_tolerance_at_its_edge_is_decimal() -> None:
    """0.3 - 0.2 is more than 0.1 in binary."""
    assert scored("tolerance", "0.3", 0.2, absolute=0.1).score == 1
    for options in ({}, {"absolute": -1}, {"relative": "x"}, {"absolute": float("nan")}):
        with pytest.raises(UsageError, match="tolerance"):
            scorer("tolerance", **options)


def test_long_answers_take_no_time_that_grows_with_their_square() -> None:
    """Each would take minutes, did a repetition in a pattern have no bound."""
    for text in ("answer" + " " * 100_000, "*" * 100_000, "\n" * 100_000, "(A) " * 25_000, "answer (" * 20_000):
        chosen(text, "ABCD")
    for text in ("12," * 30_000, "1,234" * 20_000, "9" * 200_000, "-" * 100_000, "1/" * 20_000):
        numbers_in(text)


# ---- JSON --------------------------------------------------------------------------------------------------------------


def test_json_schema(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["name"]}
    assert scored("json-schema", '{"name": "Ada"}', None, schema=schema).score == 1
    wrong = scored("json-schema", '{"nom": "Ada"}', None, schema=schema)
    assert (wrong.score, wrong.extracted) == (0, True)
    for text in ("{'name': 1}", "[1,]", "NaN", '{"a": 1, "a": 2}', "```json\n[]\n```", "[" * 100_000, "1" * 5000, "1e400"):
        assert not scored("json-schema", text, None).extracted, text[:20]
    for text in ("```json\n[1]\n```", "```\n[1]\n```", " [1] "):
        assert scored("json-schema", text, None, fences=True).score == 1
    assert scored("json-schema", {"name": 1}, None, schema=schema).score == 1, "an answer that is a table already"
    (tmp_path / "s.json").write_text('{"type": "string"}')
    made = scorer_named("json-schema", {"schema": "s.json"}, where=tmp_path / "task.toml")
    assert made.score("3", case()).score == 0
    assert made.protocol["schema"] == '{"type":"string"}'
    with pytest.raises(UsageError, match=r"Cannot read the schema 'none\.json'"):
        scorer_named("json-schema", {"schema": "none.json"}, where=tmp_path)


# ---- code of the user --------------------------------------------------------------------------------------------------


def by_row(answer: Any, row: Any) -> Any:
    return answer == row["want"]


def by_truth(answer: Any, truth: Any, row: Any) -> Any:
    return {"score": 0.5, "prediction": answer, "truth": truth}


def coded(function: Any, **options: Any) -> Scoring:
    return scorer_named(None, options, where=HERE, code=function)


def test_code() -> None:
    assert coded(by_row).score("x", case(want="x")).score == 1
    assert not coded(by_row).needs_truth
    found = coded(by_truth).score("x", case("t"))
    assert (found.score, found.prediction, found.truth) == (0.5, "x", "t")
    assert coded(by_truth).needs_truth
    assert coded(lambda answer, row: np.float64(0.25)).score("x", case()).score == 0.25
    assert coded(by_row).protocol["source"] != coded(by_truth).protocol["source"]


@every("worth", [None, "right", float("nan"), float("inf"), {}, {"score": 1, "why": "x"}, [1]])
def test_code_that_returns_no_score(worth: Any) -> None:
    with pytest.raises(DataError, match="score of item '7'"):
        coded(lambda answer, row: worth).score("x", case())


def test_code_that_fails_is_named() -> None:
    with pytest.raises(DataError, match=r"The scorer by_row failed on item '7' with KeyError: 'want'\."):
        coded(by_row).score("x", case())
    with pytest.raises(DataError, match="must be 0 or 1"):
        coded(by_truth, right_or_wrong=True).score("x", case("t"))
    for function in (lambda answer: 1, lambda a, b, c, d: 1, lambda: 1):
        with pytest.raises(UsageError, match="parameters"):
            coded(function)

    async def later(answer: Any, row: Any) -> Any: ...

    with pytest.raises(UsageError, match="async"):
        coded(later)


def test_code_by_its_name(tmp_path: Path) -> None:
    name = f"scoring_{random.Random(0).getrandbits(32)}"
    (tmp_path / f"{name}.py").write_text("def right(answer, row):\n    return answer == 'yes'\n\nnumber = 3\n")
    found = scorer_named(f"{name}:right", {}, where=tmp_path / "task.toml", metric="accuracy")
    assert found.right_or_wrong
    assert found.score("yes", case()).score == 1
    for bad, words in (
        (f"{name}:wrong", "AttributeError"),
        ("no_such_module_x:f", "ModuleNotFoundError"),
        (f"{name}:number", "must be a function"),
        (":", "pkg.mod"),
    ):
        with pytest.raises(UsageError, match=words):
            scorer_named(bad, {}, where=tmp_path)
