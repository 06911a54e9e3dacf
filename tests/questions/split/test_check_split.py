"""Checking a split: equal ids, texts and groups, and every pair of similar texts, found without comparing all with all."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from steelyard.errors import SteelyardError
from steelyard.tally import near
from steelyard.tally.shingles import ENDS, fold, shingled, word_shingles

WORDS = st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join), min_size=1, max_size=25)


def normalised(text: str) -> str:
    """One text as it is compared: NFKC, case folded, white space collapsed, without punctuation at its ends."""
    return fold([text]).strip(ENDS)


def similar(a: str, b: str, words: int) -> float:
    one, two = word_shingles(a, words), word_shingles(b, words)
    return len(one & two) / len(one | two) if one | two else 0.0


@given(TEXTS, TEXTS, st.sampled_from([1, 2, 3]), st.sampled_from([0.3, 0.5, 2 / 3, 0.8, 1.0]))
def test_every_text_that_is_similar_enough_to_one_is_found_with_the_most_similar_and_no_other(
    first: list[str], second: list[str], words: int, threshold: float
) -> None:
    second = [*second, *(text.replace("a", "b") for text in first[:5])]
    found = near.near_pairs(shingled([first[:7], first[7:]] if first[7:] else [first], words), shingled([second], words), threshold)
    got = {second[y]: s for y, s in zip(found.second, found.similarity, strict=True)}
    assert all(similar(first[x], second[y], words) == pytest.approx(got[second[y]]) for x, y in zip(found.first, found.second, strict=True))
    known = {normalised(text) for text in first}
    new = {text for text in second if text and normalised(text) not in known}
    best = {b: max(similar(a, b, words) for a in first) for b in new}
    want = {b: s for b, s in best.items() if s >= threshold - 1e-9}
    assert got.keys() == want.keys()
    assert got == pytest.approx(want)
    assert len(found.unsure) == 0


def test_all_near_duplicates_in_a_larger_set_are_found() -> None:
    """The recall of the candidates, measured on texts of a long-tailed vocabulary: each planted copy is found."""
    draw = random.Random(3)
    vocabulary = [f"w{int(draw.paretovariate(0.7)) % 5000}" for _ in range(20_000)]
    first = [" ".join(draw.choices(vocabulary, k=draw.randrange(10, 40))) for _ in range(2000)]
    second = [" ".join(draw.choices(vocabulary, k=20)) for _ in range(250)]
    for source in draw.sample(first, 150):
        words = source.split()
        words[draw.randrange(len(words))] = "changed"
        second.append(" ".join(words))
    found = sy.check_split({"t": first}, {"t": second}, threshold=0.7, words=2)
    shingles = [word_shingles(text, 2) for text in first]
    holders: dict[str, list[int]] = {}
    for place, held in enumerate(shingles):
        for each in held:
            holders.setdefault(each, []).append(place)
    want = 0
    for text in second:
        mine = word_shingles(text, 2)
        shared = Counter(place for each in mine for place in holders.get(each, ()))
        want += any(n >= 0.7 * (len(mine) + len(shingles[place]) - n) - 1e-9 for place, n in shared.items())
    assert found.overlaps[0].near == want > 75


@every(
    ("first", "second", "same"),
    [
        ("What is 2 + 2?", "what is  2 + 2", True),
        ("Ｆｕｌｌ width", "full WIDTH!", True),
        ("ﬁne", "fine", True),
        ("Cafe\u0301", "CAFÉ", True),
        ("STRASSE", "straße", True),
        ("a\u00a0b\tc\n", "a b c", True),
        ("“quoted”", "quoted", True),
        ("x = -1", "x = 1", False),
        ("-5", "5", False),
        ("2+2", "2-2", False),
        ("no", "on", False),
    ],
)
def test_equal_after_normalisation(first: str, second: str, same: bool) -> None:
    found = sy.check_split({"t": [first, "other words here"]}, {"t": ["and something else", second]}, text="t")
    assert found.overlaps[0].texts == int(same)
    assert (normalised(first) == normalised(second)) is same


def test_ids_and_groups_on_both_sides_are_named() -> None:
    train = {"id": [1, 2, 3], "doc": ["x", "y", None], "q": ["one thing", "another thing", "more"]}
    test = {"id": ["3", "4", "5"], "doc": ["z", "x", None], "q": ["quite new", "brand new words", "hm"]}
    found = sy.check_split(train, test, group="doc")
    (both,) = found.overlaps
    assert (both.ids, both.texts, both.near, both.groups) == (1, 0, 0, 1)
    assert [(pair.kind, pair.what, pair.first_row, pair.second_row) for pair in found.pairs] == [("id", "3", 3, 1), ("group", "x", 1, 2)]
    assert found.exit_code == 1


def test_three_parts_are_compared_two_by_two_and_nothing_shared_is_0() -> None:
    found = sy.check_split({"t": ["alpha beta"]}, {"t": ["gamma delta"]}, {"t": ["ALPHA beta."]})
    assert [(each.first, each.second, each.texts) for each in found.overlaps] == [("A", "B", 0), ("A", "C", 1), ("B", "C", 0)]
    none = sy.check_split({"t": ["alpha beta"]}, {"t": ["gamma delta"]})
    assert none.exit_code == 0
    assert not none.shared
    assert none.pairs == ()
    assert none.conclusion.startswith("No shared items")
    assert sy.SplitCheck.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_the_texts_are_the_columns_of_words_unless_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,label,q,only_here\n1,0,who is it,x\n2,1,,y\n")
    (tmp_path / "b.csv").write_text("id,label,q\n7,1,WHO is it?\n8,0,\n")
    found = sy.check_split(tmp_path / "a.csv", tmp_path / "b.csv")
    assert found.parts[0].text == ("q",)
    assert (found.overlaps[0].texts, found.parts[0].empty, found.parts[1].empty) == (1, 1, 1)
    named = sy.check_split(tmp_path / "a.csv", tmp_path / "b.csv", text=["q", "label"])
    assert named.overlaps[0].texts == 0
    assert named.parts[0].text == ("q", "label")


def test_every_format_is_checked_alike(tmp_path: Path) -> None:
    rows = [{"id": n, "t": f"Frage Nummer {n} über Käse"} for n in range(20)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    duckdb.execute(f"COPY (SELECT * FROM read_json('{tmp_path}/a.jsonl')) TO '{tmp_path}/a.parquet' (FORMAT parquet)")
    (tmp_path / "a.csv").write_text("id,t\n" + "".join(f"{row['id']},{row['t']}\n" for row in rows))
    for one in ("a.jsonl", "a.parquet", "a.csv"):
        for two in ("a.jsonl", "a.parquet", "a.csv"):
            both = sy.check_split(tmp_path / one, f"new={tmp_path / two}").overlaps[0]
            assert (both.ids, both.texts, both.near) == (20, 20, 0)


def test_ideographs_are_words_of_their_own() -> None:
    found = sy.check_split(
        {"t": ["日本で一番高い山は何という名前の山ですか"]}, {"t": ["日本で一番高い山は何という名前の川ですか"]}, threshold=0.7
    )
    assert found.overlaps[0].near == 1
    rare = [f"𠀀𠀁𠀂𠀃𠀄𠀅𠀆𠀇𠀈{last}𠀋𠀌" for last in "𠀉𠀊"]
    assert sy.check_split({"t": rare[:1]}, {"t": rare[1:]}, words=1).overlaps[0].near == 1


def test_lists_are_capped_and_counts_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"question number {n} of many" for n in range(100)]
    found = sy.check_split({"t": rows}, {"t": rows})
    assert found.overlaps[0].texts == 100
    assert len(found.pairs) == 20


def test_a_template_does_not_take_for_ever_and_says_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(begin: int) -> list[str]:
        return [
            f"tom has {n} apples and gives them to his friend who eats all of them before dinner time" for n in range(begin, begin + 400)
        ]

    everything = sy.check_split({"t": rows(0)}, {"t": rows(1000)}).overlaps[0]
    assert (everything.near, everything.unsure) == (400, 0)
    monkeypatch.setattr(near, "CANDIDATES", 2000)
    few = sy.check_split({"t": rows(0)}, {"t": rows(1000)})
    assert few.overlaps[0].near == 400  # each has a similar one among those that were looked at
    monkeypatch.setattr(near, "CANDIDATES", 0)
    numbers = range(20)
    first = [f"tom has {n} apples and ann has {m} pears to give to all of the friends" for n in numbers for m in numbers if (n + m) % 2]
    second = [
        f"tom has {n} apples and ann has {m} pears to give to all of the friends" for n in numbers for m in numbers if (n + m) % 2 == 0
    ]
    unsure = sy.check_split({"t": first}, {"t": second}, threshold=0.95)
    assert unsure.overlaps[0].near == 0
    assert unsure.overlaps[0].unsure > 0
    assert any("not all were compared" in said for said in unsure.warnings)


def test_what_is_found_does_not_depend_on_the_process() -> None:
    """Python hashes texts in another way in every process; where not all pairs can be compared, that would choose among them."""
    assert normalised("A b!") == "a b"
    found = shingled([["a b", "", "A  B."]], 2)
    assert found.equal.tolist() == [2952434739088078779, 0, 2952434739088078779]
    assert found.sizes.tolist() == [3, 0, 3]


@given(TEXTS, TEXTS, st.integers(0, 60))
def test_where_not_all_are_compared_a_similar_text_is_found_or_counted_as_unsure(first: list[str], second: list[str], most: int) -> None:
    second = [*second, *(text.replace("a", "b") for text in first[:5])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "CANDIDATES", most)
        found = near.near_pairs(shingled([first], 1), shingled([second], 1), 0.5)
    got = {(first[x], second[y]) for x, y in zip(found.first, found.second, strict=True)}
    known = {normalised(text) for text in first}
    want = {(a, b) for a in first if a for b in second if b and normalised(b) not in known and similar(a, b, 1) >= 0.5 - 1e-9}
    assert got <= want
    unsure = {second[row] for row in found.unsure}
    sure = {b for _, b in got} | unsure
    assert {b for _, b in want} <= sure
    assert not unsure & {b for _, b in got}
    if len(first) * len(second) <= most:
        assert {b for _, b in got} == {b for _, b in want}
        assert not unsure


LETTERS = [f"w{i}" for i in range(8)]


def of_few_words(n: int) -> list[str]:
    drawn = random.Random(0)
    return [" ".join(drawn.choices(LETTERS, k=drawn.randint(26, 30))) for _ in range(n)]


def one_word_changed(text: str) -> str:
    words = text.split()
    words[15] = "w0" if words[15] != "w0" else "w1"
    return " ".join(words)


def leaky(n: int) -> tuple[list[str], list[str]]:
    """Training texts that have every shingle in common, and 40 test texts that each are one of them but for one word."""
    first = of_few_words(n)
    chosen = [text for text in first if 26 <= len(word_shingles(text, 2)) <= 28][:40]
    second = [one_word_changed(text) for text in chosen]
    assert all(similar(a, b, 2) >= 0.8 for a, b in zip(chosen, second, strict=True))
    return first, second


def test_no_similar_pair_is_missed_while_all_pairs_are_fewer_than_may_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = leaky(9000)
    monkeypatch.setattr(near, "CANDIDATES", len(first) * len(second))
    found = sy.check_split({"text": first}, {"text": second}).overlaps[0]
    assert (found.near, found.unsure) == (40, 0)


def test_texts_that_were_not_all_compared_make_the_check_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing found is not a pass where some pairs were not looked at: the sentence, the colour and the exit code say so."""
    first, _ = leaky(2000)
    drawn = random.Random(1)
    unlike = [" ".join(drawn.choices(LETTERS, k=28)) for _ in range(15)]
    all_compared = sy.check_split({"text": first}, {"text": unlike})
    assert (all_compared.exit_code, all_compared.unsure) == (0, 0)
    assert all_compared.conclusion == "No shared items found: no equal texts, and no texts with a similarity of 0.8 or more."
    monkeypatch.setattr(near, "CANDIDATES", 20)
    found = sy.check_split({"text": first}, {"text": unlike})
    assert not found.shared
    assert found.exit_code == 2
    assert found.unsure == 15
    assert found.conclusion == "INCONCLUSIVE: no shared items found, but 15 texts of B could not be compared with all texts of A."
    twice = sy.check_split({"text": first}, {"text": [*unlike, unlike[0]]})
    assert twice.unsure == 16  # rows, as the other counts are
    shared = sy.check_split({"text": first}, {"text": [first[0], *unlike]})
    assert shared.exit_code == 1
    assert any("not all were compared" in said for said in shared.warnings)


def test_the_answer_of_a_check_does_not_depend_on_the_hash_seed_of_python(tmp_path: Path) -> None:
    """Where not all can be compared, what is looked at must not be chosen by a number of the process."""
    first, second = leaky(3000)
    (tmp_path / "parts.json").write_text(json.dumps([{"text": first}, {"text": second}]))
    code = """
import json, steelyard as sy
from steelyard.tally import near
near.CANDIDATES = 4000
found = sy.check_split(*json.load(open("parts.json")))
print(json.dumps([found.overlaps[0].near, [pair.second_row for pair in found.pairs]]))
"""
    answers = set()
    for seed in "012":
        given_ = {**os.environ, "PYTHONPATH": str(Path(sy.__file__).parents[1]), "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=given_, capture_output=True, text=True, check=True)
        answers.add(done.stdout)
    assert len(answers) == 1
    assert 0 < json.loads(answers.pop())[0] < 40  # some were left out


@every(
    ("train", "test", "says"),
    [
        ([1, 2, 3], [1.0, 2.0, 9.0], "2 ids of B differ from ids of A only by a decimal point, as in '1.0'"),
        (["q1", "q2"], ["Q1", "q2"], "1 id of B differs from an id of A only by upper and lower case"),
        (["q1", "q2"], ["q2", "q2 "], ""),
        (["q1", "q4"], ["q3", "q4 "], "1 id of B differs from an id of A only by spaces around them"),
        (["A.0"], ["a"], "only by case, blanks or a decimal point"),
        ([1, 2], [1, 2], ""),
        ([1, None], [2.0, None], ""),
    ],
)
def test_ids_that_look_alike_are_named(train: list[Any], test: list[Any], says: str) -> None:
    """pandas makes 1.0 of 1 as soon as one id of a column is missing."""
    texts = ["one fish", "two birds", "red house"]
    found = sy.check_split({"id": train, "text": texts[: len(train)]}, {"id": test, "text": ["more words", "here", "again"][: len(test)]})
    said = [each for each in found.warnings if "differ" in each]
    assert says in said[0] if says else not said


def test_parts_without_ids_are_named_together() -> None:
    found = sy.check_split({"text": ["a b"]}, {"text": ["c d"]})
    assert found.warnings == ("ids were not compared: A and B have no id column",)
    found = sy.check_split({"text": ["a b"]}, {"text": ["c d"], "id": [1]}, {"text": ["e f"], "id": [2]})
    assert found.warnings == ("ids were not compared: A has no id column",)


def test_hostile_texts_are_compared_as_texts() -> None:
    odd = [
        "\x01\x01 a",
        "\x1e\x1f b c",
        "<script>alert(1)</script>",
        "'; DROP TABLE items; --",
        "\x1b[31mred",
        "",
        "   ",
        "...",
        "\ud800 half",
    ]
    found = sy.check_split({"t": [*odd, "some words"]}, {"t": [*odd, "other things"]})
    assert found.overlaps[0].texts == 6
    assert found.parts[0].empty == 3
    assert "\x1b" not in str(found)


REFUSED: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (({"t": ["a"]},), {}, "two parts or more"),
    (({"t": ["a"]}, {"u": ["b"]}), {}, "No column of text"),
    (({"t": [1]}, {"t": [2]}), {}, "No column of text"),
    (({"t": ["a"]}, {"t": ["b"]}), {"text": "nope"}, "nope"),
    (({"t": ["a"]}, {"t": ["b"]}), {"threshold": 0}, "above 0"),
    (({"t": ["a"]}, {"t": ["b"]}), {"threshold": 80}, "at most 1"),
    (({"t": ["a"]}, {"t": ["b"]}), {"words": 0}, "at least 1"),
    (({"t": ["a"]}, {"t": ["b"]}), {"words": 99}, "at most 20"),
    (({"t": ["a"]}, {"t": []}), {}, "no items"),
    (({"t": ["a"]}, "missing.csv"), {}, "missing.csv"),
]


@every(("parts", "options", "says"), REFUSED)
def test_bad_input_is_refused(parts: tuple[Any, ...], options: dict[str, Any], says: str) -> None:
    with pytest.raises(SteelyardError, match=says):
        sy.check_split(*parts, **options)
