"""Changed items in the HTML report: after the numbers, folded after the first twenty."""

from __future__ import annotations

from dataclasses import replace

import steelyard as sy
from cases import every
from render.verdict_samples import PAIRED
from steelyard.render.html.page import fragment_html
from steelyard.render.pages.changed_items import AROUND, COMPARED, marked


def runs(wrong: int) -> list[list[dict[str, str]]]:
    truth = ["a", "b"] * 60
    said = [["a" if i < wrong else truth[i] for i in range(120)], truth]
    return [[{"id": str(i), "truth": t, "prediction": p} for i, (t, p) in enumerate(zip(truth, column, strict=True))] for column in said]


def test_items_come_after_the_numbers() -> None:
    page = fragment_html(sy.compare(*runs(20)))
    assert page.index("Details") < page.index("Items that changed")
    assert "more items that changed" not in page


def test_items_after_the_first_twenty_are_folded() -> None:
    from steelyard.render.pages.changed_items import OPEN, item_tables

    items = [sy.ChangedItem(change="lost", id=str(i), truth="a", candidate="b") for i in range(75)]
    first, rest = item_tables(items, ("baseline", "candidate"), "note")
    assert [len(first.rows), len(rest.rows)] == [OPEN, 55]
    assert (first.folded, rest.folded) == ("", "55 more items that changed")
    assert (first.search, rest.search, rest.more) == (True, False, True)  # one box searches both
    assert first.rows[0][1] == "0"
    assert rest.rows[-1][1] == "74"
    assert len(item_tables(items[:20], ("baseline", "candidate"))) == 1


ANSWERS = {"id": "q1", "change": "lost", "truth": "42"}


def shown(baseline: object, candidate: object, **more: object) -> str:
    item = {**ANSWERS, "baseline": baseline, "candidate": candidate, **more}
    return fragment_html(replace(PAIRED, changed_items=(item,)))


def test_words_that_differ_are_marked() -> None:
    page = shown("The answer is 42, I think.", "The answer is 24, I think.")
    assert "The answer is<del> 42,</del> I think." in page
    assert "The answer is<ins> 24,</ins> I think." in page
    assert "<td>42</td>" in page  # the truth


def test_the_prompt_of_an_item_is_shown() -> None:
    page = shown("42", "24", prompt="What is 6 times 7?")
    assert '<th scope="col">prompt</th>' in page
    assert "<td>What is 6 times 7?</td>" in page
    assert '<th scope="col">prompt</th>' not in shown("42", "24")


def test_scores_and_missing_answers_are_not_marked() -> None:
    for page in (shown(1.0, 0.0), shown(None, "24"), shown("", "24"), shown("24", "24")):
        assert "<del>" not in page
        assert "<ins>" not in page


HOSTILE = [
    "<script>alert(1)</script>",
    "a & b &lt; c",
    "\"onload='x'",
    "</td></table><del>",
    "\u202eevil\u202c",
    "\x1b[31mred\x00",
    "\u05e9\u05dc\u05d5\u05dd",
    "{{ 7 * 7 }}",
]


@every("text", HOSTILE)
def test_hostile_texts_stay_words(text: str) -> None:
    page = shown(f"same {text} end", f"same {text[::-1]} end", prompt=text, truth=text, id=text)
    assert "<script" not in page
    assert "{{ 7" in page or "49" not in page.split("Items that changed")[-1]
    for obeyed in ("\u202e", "\u202c", "\x1b", "\x00"):
        assert obeyed not in page
    assert page.count("<del>") == page.count("</del>")
    assert page.count("<ins>") == page.count("</ins>") > 0
    assert page.count("<table") == page.count("</table>")
    assert page.count("<td") == page.count("</td>")


def test_pieces_give_both_texts_back() -> None:
    texts = [("a b c", "a x c"), ("one", "two"), (" a\n b ", "a\tb"), ("x", "x y"), ("\n", "a"), ("a b", "b a")]
    for old, new in texts:
        left, right = marked(old, new)
        assert ("".join(text for _, text in left.pieces), "".join(text for _, text in right.pieces)) == (old, new)


def test_long_answers_are_cut_around_their_difference() -> None:
    same = " ".join(f"w{i}" for i in range(100_000))
    left, right = marked(f"{same} yes {same}", f"{same} no {same}")
    assert [kind for kind, _ in left.pieces] == ["", "del", ""]
    assert ("del", " yes") in left.pieces
    assert ("ins", " no") in right.pieces
    assert sum(len(text.split()) for _, text in left.pieces) == 2 * AROUND + 3
    left, _ = marked(same, " ".join(f"v{i}" for i in range(100_000)))
    assert sum(len(text.split()) for _, text in left.pieces) <= COMPARED + 1
    left, _ = marked("x" * 1_000_000, "y" * 1_000_000)
    assert len(shown("x" * 1_000_000, "y" * 1_000_000)) < 100_000
