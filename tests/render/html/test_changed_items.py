"""Changed items in the HTML report: after the numbers, folded after the first twenty."""

from __future__ import annotations

import steelyard as sy
from steelyard.render.html.page import fragment_html


def runs(wrong: int) -> list[list[dict[str, str]]]:
    truth = ["a", "b"] * 60
    said = [["a" if i < wrong else truth[i] for i in range(120)], truth]
    return [[{"id": str(i), "truth": t, "prediction": p} for i, (t, p) in enumerate(zip(truth, column, strict=True))] for column in said]


def test_items_come_after_the_numbers() -> None:
    page = fragment_html(sy.compare(*runs(20)))
    assert page.index("What it rests on") < page.index("Items that changed")
    assert "more items that changed" not in page


def test_items_after_the_first_twenty_are_folded() -> None:
    from steelyard.render.html.of_verdict import OPEN, item_tables

    rows = [["lost", str(i), "a", "b"] for i in range(75)]
    first, rest = item_tables(["", "item", "truth", "candidate"], rows, "note")
    assert [len(first.rows), len(rest.rows)] == [OPEN, 55]
    assert (first.folded, rest.folded) == ("", "55 more items that changed")
    assert first.rows[0][1] == "0"
    assert rest.rows[-1][1] == "74"
    assert len(item_tables(["", "item"], [["lost", "1"]] * 20)) == 1
