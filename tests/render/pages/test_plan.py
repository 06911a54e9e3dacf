"""Plans as text and Markdown: the answer first, every number whole, within the width, nothing that is not known."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from cases import every
from steelyard.render.formats import result_markdown, result_text
from steelyard.render.pages.plan import columns_of, facts
from steelyard.render.terminal import display_width
from steelyard.render.text import on_first_point
from steelyard.results.plan import Curve, Plan

HOSTILE = ["<img src=x onerror=x>", "\x1b[31mred", "a\u202egnp", "a|b|c", "`tick`", "```", "two\nlines", "世界史", "@all", "\ud800", "_x_"]
SIZES = tuple(100 * 10 ** (i / 20) for i in range(61))

# sigma 50, alpha .05, power .8: n, theta and threshold as a guard has them (published table: 2.747193, -1.817324).
DETECT = Plan(
    goal="detect",
    design="unpaired",
    n=4096,
    theta=2.7471928,
    threshold_offset=-1.8173238,
    alpha=0.05,
    beta=0.2,
    power=0.8,
    conclusion="4,096 items per run notice a drop of 2.747 with power 0.8, when a regression is called at alpha 0.05.",
    assumed="the standard deviation of a score is 50, the same before and after",
    steps=tuple(
        {"n": n, "theta": 2.486475 * math.sqrt(5000 / n), "threshold": -1.644854 * math.sqrt(5000 / n)} for n in (1024, 4096, 16384)
    ),
    sensitivity=(
        {"if": "sigma is 40", "theta": 2.197754, "n": 2622},
        {"if": "the items come in groups of five that share a passage, so that the design effect is 1.8", "theta": 3.68573, "n": None},
    ),
    curve=Curve(
        x_label="n",
        y_label="theta",
        x=SIZES,
        y=tuple(2.486475 * math.sqrt(5000 / n) for n in SIZES),
        goal=2.7471928,
        mark=(4096, 2.7471928),
    ),
    warnings=("a declared sigma of 50 is the worst case of a score in percent; small drops on the same items are missed",),
    signature="goal:detect|alpha:0.05|beta:0.2|sigma:50|n:4096|steelyard:0.1.0",
)
GRID = tuple(float(n) for n in range(40, 400, 6))
F1 = Plan(
    goal="threshold",
    n=277,
    n_first=251,
    n_stable=277,
    labels=1387,
    assurance=0.8,
    conclusion="Label 1,387 items: about 277 of them decide F1, and with assurance 0.8 they show it above 0.75.",
    assumed="precision 0.8, recall 0.8, 20% of the items are positive; prior 0.5",
    details={"relevant_share": 0.2},
    steps=({"n": 139, "assurance": 0.53119}, {"n": 277, "assurance": 0.80312}, {"n": 554, "assurance": 0.98114}),
    sensitivity=({"if": "f1 is 0.78", "n": 1801, "labels": 9007}, {"if": "prevalence is 0.1", "n": 277, "labels": 2775}),
    curve=Curve(x_label="n", y_label="assurance", x=GRID, y=tuple(1 / (1 + math.exp((190 - n) / 60)) for n in GRID), goal=0.8, log_x=False),
    signature="goal:threshold|metric:f1|precision:0.8|recall:0.8|prevalence:0.2|threshold:0.75|assurance:0.8|steelyard:0.1.0",
)
WIDTH = Plan(goal="width", n=161, n_first=161, n_stable=161, labels=161, assurance=0.8, expected_n=132.5, conclusion="Label 161 items.")
RULE_OUT = Plan(
    goal="rule-out", design="paired", n=2471, theta=0.01, alpha=0.05, power=0.8, conclusion="2,471 items rule out a drop of 0.01."
)
TRAIN = Plan(
    goal="train",
    n=5200,
    conclusion="About 5,200 training items reach accuracy 0.95 (95% interval 3,100 to more than 51,200).",
    steps=(
        {"n": 800, "score": 0.911, "low": 0.902, "high": 0.92, "doubling_buys": None},
        {"n": 1600, "score": 0.9267, "low": 0.91, "high": 0.94, "doubling_buys": 0.0157},
    ),
    sensitivity=({"if": "the target is 0.94", "n": 3390}, {"if": "the largest size is left out", "n": None}),
    curve=Curve(
        x_label="training size",
        y_label="accuracy",
        x=(25, 100, 400, 1600, 6400),
        y=(0.69, 0.82, 0.89, 0.926, 0.947),
        low=(0.66, 0.80, 0.87, 0.88, 0.85),
        high=(0.72, 0.84, 0.91, 0.96, 1.0),
        points=((25, 0.7), (100, 0.81)),
        goal=0.95,
        mark=(5200, 0.9445),
    ),
    warnings=("the answer lies 6.5 times beyond the largest size seen (800)", "the upper end of the interval is not known"),
)


def design(
    name: str, items: int, zero: float | None = None, drop: float | None = None, most: int | None = None, note: str = ""
) -> dict[str, Any]:
    calls = 2 * (zero or items)
    early = {"items if nothing changed": zero, "items if it dropped": drop, "at most": most}
    return {"design": name, "items": items, **early, "calls": calls, "money": calls * 0.002, "note": note}


DESIGNS = Plan(
    goal="designs",
    n=1080,
    theta=0.02,
    alpha=0.05,
    power=0.8,
    conclusion="Pairing asks 7.2 times fewer items than two test sets, stopping early a further 2.4 times fewer when nothing changed.",
    rows=(
        design("two separate test sets, worst-case sigma", 7729),
        design("two separate test sets", 4946, note="sigma from accuracy 0.8"),
        design("the same items twice (paired)", 1080, note="exact McNemar"),
        design("paired, stopping early", 1080, 442.4, 775.1, 1856, "20 looks"),
    ),
    sensitivity=({"if": "5% becomes 10%", "n": 1852},),
    assumed="two healthy runs differ on 5% of the items",
)
ALL = {"detect": DETECT, "f1": F1, "width": WIDTH, "rule-out": RULE_OUT, "train": TRAIN, "designs": DESIGNS}

GOLDEN = """\
Label 1,387 items: about 277 of them decide F1, and with assurance 0.8 they show
it above 0.75.

items          277    enough, as is every larger number; 251 is the first
labels to buy  1,387  of which about 277 count
assurance      0.8    chance that this many items are enough

sizes around it
    n  assurance
  139     0.5312
  277     0.8031
  554     0.9811

if the assumption is off
  if                     n  labels
  f1 is 0.78         1,801   9,007
  prevalence is 0.1    277   2,775

assumed: precision 0.8, recall 0.8, 20% of the items are positive; prior 0.5

goal:threshold|metric:f1|precision:0.8|recall:0.8|prevalence:0.2|threshold:0.75|assurance:0.8|steelyard:0.1.0"""

GOLDEN_DESIGNS = """\
designs
                             items
                                if    items
                           nothing    if it     at
  design            items  changed  dropped   most     calls  money  note
  two separate      7,729      -        -        -  15,458    30.92
    test sets,
    worst-case
    sigma
  two separate      4,946      -        -        -   9,892    19.78  sigma from
    test sets                                                          accuracy
                                                                       0.8
  the same items    1,080      -        -        -   2,160     4.32  exact
    twice (paired)                                                     McNemar
  paired, stopping  1,080    442.4    775.1  1,856     884.8   1.77  20 looks
    early"""


def test_golden() -> None:
    assert result_text(replace(F1, curve=None)) == GOLDEN


def test_golden_designs() -> None:
    assert GOLDEN_DESIGNS in result_text(DESIGNS)


def test_the_numbers_of_the_seed_are_shown_whole() -> None:
    text = result_text(DETECT)
    assert "theta      2.747193              smallest drop found with power 0.8" in text
    assert "threshold  reference - 1.817324  a score below it is a regression" in text
    assert "threshold  reference + 0.5" in result_text(replace(DETECT, threshold_offset=0.5))


@every("name", ALL)
@every("width", [60, 80, 120])
@every("plain", [False, True])
def test_it_fits(name: str, width: int, plain: bool) -> None:
    plan = replace(ALL[name], signature="")  # a signature is copied, so it is never wrapped
    text = result_text(plan, width=width, ascii_only=plain)
    assert max(map(display_width, text.split("\n"))) <= width
    assert "\n\n\n" not in text
    assert all(line == line.rstrip() for line in text.split("\n"))
    assert text.isascii() or not plain


@pytest.mark.parametrize("width", [44, 60, 80, 120])
def test_no_number_is_lost_in_a_table(width: int) -> None:
    """Side by side or row by row, every number of every design is there, in full."""
    text = result_text(DESIGNS, width=width)
    for wanted in ("7,729", "15,458", "30.92", "4,946", "19.78", "1,080", "442.4", "775.1", "1,856", "884.8", "1.77", "1,852"):
        assert re.search(rf"(?<![\d,.]){re.escape(wanted)}(?![\d,.])", text), wanted
    assert ("items if nothing changed  442.4" in text) == (width < 80)


LONG = "items in random order; means by simulation, within 3.3 and 2.5; calls if nothing changed; a pass rules theta out at level 0.8"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_long_note_goes_below_its_row(width: int) -> None:
    rows = (*DESIGNS.rows[:1], {**DESIGNS.rows[3], "note": LONG})
    lines = result_text(Plan(goal="designs", rows=rows), width=width).split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("      items in random"))
    assert " ".join(line.strip() for line in lines[at:]) == LONG
    assert any("1,856" in line for line in lines[:at])
    assert "note" not in "\n".join(lines[:at])
    assert max(map(len, lines)) <= width


def test_a_long_note_that_fits_stays_in_its_row() -> None:
    text = result_text(Plan(goal="designs", rows=({"design": "paired", "items": 10, "note": LONG},)), width=150)
    assert text.split("\n")[-1] == f"  paired     10  {LONG}"


def test_order() -> None:
    text = result_text(DETECT)
    marks = [
        "4,096 items per run",
        "design     unpaired",
        "\ntheta\n",
        "sizes around it",
        "if the assumption is off",
        "assumed:",
        "warning:",
    ]
    at = [text.index(mark) for mark in marks]
    assert at == sorted(at)
    assert text.endswith(DETECT.signature)


def test_only_what_is_known() -> None:
    empty = Plan(goal="train", conclusion="Not known.")
    assert result_text(empty) == "Not known."
    assert result_markdown(empty) == "**Not known.**\n"
    assert result_text(Plan(goal="detect")) == ""
    assert "None" not in "".join(result_text(plan) + result_markdown(plan) for plan in ALL.values())


def fact(plan: Plan) -> dict[str, tuple[str, str]]:
    return {name: (value, meaning) for name, value, meaning in facts(plan)}


def test_facts_of_each_goal() -> None:
    assert fact(WIDTH) == {
        "items to label": ("161", ""),
        "assurance": ("0.8", "chance that this many items are enough"),
        "expected": ("132.5", "labels on average, when labelling stops as soon as it is enough"),
    }
    early = "labels on average, when labelling stops as soon as it is enough (looking after every {})"
    for batch, words in ((10, "10 items"), (1, "item")):
        assert fact(replace(WIDTH, details=replace(WIDTH.details, batch=batch)))["expected"] == ("132.5", early.format(words))
    assert fact(TRAIN) == {"training items": ("5,200", "")}
    assert fact(RULE_OUT)["theta"] == ("0.01", "smallest drop ruled out with power 0.8")
    assert fact(RULE_OUT)["power"] == ("0.8", "chance of ruling theta out when nothing changed")
    assert fact(RULE_OUT)["alpha"] == ("0.05", "chance of ruling theta out although it is real")
    assert fact(DETECT)["alpha"] == ("0.05", "chance of a false alarm")
    assert "beta" not in fact(DETECT)
    assert fact(replace(DETECT, power=None))["beta"] == ("0.2", "chance of missing a drop of theta")
    rise = fact(replace(DETECT, details=replace(DETECT.details, alternative="greater")))
    assert rise["power"] == ("0.8", "chance of finding a rise of theta")
    assert rise["theta"][1] == "smallest rise found with power 0.8"
    assert rise["threshold"][1] == "a score above it is significant"
    difference = fact(replace(DETECT, details=replace(DETECT.details, alternative="two-sided")))
    assert difference["power"][1] == "chance of finding a difference of theta"
    assert fact(DESIGNS)["theta"] == ("0.02", "")
    assert fact(replace(DESIGNS, expected_n=444.5))["expected"] == ("444.5", "items on average, when stopping early and nothing changed")


def test_first_and_stable() -> None:
    assert fact(replace(WIDTH, n_first=150))["items to label"] == ("161", "enough, as is every larger number; 150 is the first")
    apart = fact(replace(WIDTH, n=100, labels=None, n_first=150))
    assert apart["first size"] == ("150", "enough, but some larger number may not be")
    assert apart["stable size"] == ("161", "enough, as is every larger number")
    assert fact(replace(F1, n=None, n_first=None, n_stable=None))["labels to buy"] == ("1,387", "of which about 277 count")


def cells(values: list[Any], key: str = "x") -> list[str]:
    return [cell.strip() for cell in columns_of([{key: value} for value in values])[0].cells]


@pytest.mark.parametrize(
    ("key", "values", "shown"),
    [
        ("n", [12, 1234567, None], ["12", "1,234,567", "-"]),
        ("theta", [3.0, 1.5, 0.75], ["3.00", "1.50", "0.75"]),
        ("assurance", [0.53119, 0.95], ["0.5312", "0.9500"]),
        ("money", [4, 1234.567, None], ["4.00", "1,234.57", "-"]),
        ("cost_per_run", [0.5], ["0.50"]),
        ("items", [1080, 442.44], ["1,080", "442.4"]),
        ("share", [2, 0.25], ["2", "0.25"]),
        ("p", [1.25e-9, 0.5], ["1.25e-9", "0.5"]),
        ("x", [0.0, 0.0], ["0", "0"]),
        ("ok", [True, False, None], ["yes", "no", "-"]),
        ("interval", [(0.9, 0.92), [1000, None]], ["[0.9, 0.92]", "[1,000, -]"]),
        ("note", ["a", "", None], ["a", "", "-"]),
    ],
)
def test_cells(key: str, values: list[Any], shown: list[str]) -> None:
    assert cells(values, key) == shown


def test_points_lie_below_one_another() -> None:
    (column,) = columns_of([{"items": value} for value in (7729, 442.44, None, 12.5)])
    assert on_first_point(column.cells) == ["7,729   ", "  442.44", "    -   ", "   12.50"]


def test_an_empty_column_is_left_out() -> None:
    text = result_text(Plan(goal="designs", rows=({"design": "paired", "items": 10, "money": None},)))
    assert text == "designs\n  design  items\n  paired     10"


def test_heads_have_no_underscores() -> None:
    assert "doubling buys" in result_text(TRAIN)


def test_colour_only_repeats() -> None:
    for plan in ALL.values():
        for width in (60, 100):
            painted = result_text(plan, width=width, color=True)
            assert "\x1b[" in painted
            assert [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", painted).split("\n")] == result_text(plan, width=width).split("\n")


def hostile(words: str) -> Plan:
    return replace(
        DETECT,
        design=words,
        conclusion=words,
        assumed=words,
        steps=({"split": words, "train": 3, "test": 3},),
        curve=Curve(x_label=words, y_label=words, x=(1, 10), y=(1, 2), mark=(10, 2)),
        warnings=(words,),
        signature=words,
    )


@every("words", HOSTILE)
@every("plain", [False, True])
def test_a_terminal_obeys_nothing(words: str, plain: bool) -> None:
    text = result_text(hostile(words), ascii_only=plain)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", text)
    assert text.isascii() or not plain


@every("words", HOSTILE)
def test_markdown_is_not_broken(words: str) -> None:
    text = result_markdown(hostile(words))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", text)
    assert ("\n````text\n" in text) == (words == "```"), "the label must not close the fence"
    fence = re.search(r"^(`{3,})text$(.*?)^\1$", text, re.MULTILINE | re.DOTALL)
    assert fence
    assert not re.search(rf"^ {{0,3}}{fence[1]}", fence[2], re.MULTILINE)
    outside = (text[: fence.start()] + text[fence.end() :]).rsplit("\n\n", 1)[0]
    assert "<img" not in outside
    rows = [line for line in outside.split("\n") if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4}, "tables of two and of three columns"


def test_markdown() -> None:
    text = result_markdown(F1)
    assert text.startswith(f"**{F1.conclusion}**\n\n|  |  |  |\n| --- | --- | --- |\n| items | 277 | enough")
    assert "| assurance | 0.8 | chance that this many items are enough |" in text
    assert "**sizes around it**\n\n| n | assurance |\n| ---: | ---: |\n| 139 | 0.5312 |" in text
    assert "| f1 is 0.78 | 1,801 | 9,007 |" in text
    assert "```text\nassurance\n" in text
    assert text.endswith(f"\n\nassumed: {F1.assumed}\n\n`{F1.signature}`\n")
    assert "- **warning:** the answer lies 6.5 times" in result_markdown(TRAIN)


def test_str_is_the_text() -> None:
    assert str(F1) == result_text(F1)
