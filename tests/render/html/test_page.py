"""The page: every kind of result, harmless whatever the names are, and true to the rules that browsers and readers rely on."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

import steelyard as sy
from cases import every
from render.html.page_samples import long_table, samples
from render.verdict_samples import HOSTILE, PAIRED
from steelyard.errors import UsageError
from steelyard.render.formats import result_json
from steelyard.render.html.page import FIGURE, POINT, aligned, fragment_html, report_html
from steelyard.render.page import CAP
from steelyard.results.catalogue import result_of

NAMES = sorted(samples())
VOID = {"meta", "br", "input", "line", "circle", "rect", "polyline", "polygon"}
ALLOWED = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "div",
        "main",
        "nav",
        "ol",
        "ul",
        "li",
        "a",
        "span",
        "article",
        "header",
        "section",
    ),
    *(
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "pre",
        "code",
        "br",
        "strong",
        "figure",
        "figcaption",
        "svg",
        "desc",
        "g",
        "line",
        "circle",
        "path",
    ),
    *(
        "rect",
        "polyline",
        "polygon",
        "text",
        "details",
        "summary",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "dl",
        "dt",
        "dd",
        "del",
        "ins",
    ),
    *("label", "input", "output", "footer", "script"),
}


class Tree(HTMLParser):
    """Tags in order, with their attributes; every tag closed where it must be."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@every("name", NAMES)
def test_every_kind_has_a_page(name: str) -> None:
    tree = Tree(report_html([samples()[name]]))
    tags = [tag for tag, _ in tree.found]
    assert set(tags) <= ALLOWED
    assert tags.count("main") == tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(tree.all("caption")) == len(tree.all("table"))
    assert all(cell.get("scope") in ("row", "col") for cell in tree.all("th"))
    ids = [attributes["id"] for _, attributes in tree.found if "id" in attributes]
    assert len(ids) == len(set(ids))


@every("name", NAMES)
def test_the_same_page_from_json(name: str) -> None:
    result = samples()[name]
    assert report_html([result_of(json.loads(result_json(result)))]) == report_html([result])


@every("name", NAMES)
def test_no_address_and_no_handler(name: str) -> None:
    tree = Tree(report_html([samples()[name], samples()["suite"]]))
    for tag, attributes in tree.found:
        assert not {"src", "style", "action", "srcset", "data", "xlink:href"} & set(attributes), (tag, attributes)
        assert not [key for key in attributes if key.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")


def policy(page: str) -> str:
    return next(a["content"] or "" for a in Tree(page).all("meta") if a.get("http-equiv") == "Content-Security-Policy")


def hashed(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_names_what_is_in_the_page() -> None:
    page = report_html([samples()["comparison"]])
    styles, scripts = (re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S) for tag in ("style", "script"))
    assert len(styles) == 1
    assert len(scripts) == 1
    rules = f"default-src 'none'; style-src '{hashed(styles[0])}'; script-src '{hashed(scripts[0])}'; base-uri 'none'; form-action 'none'"
    assert policy(page) == rules


def test_no_script_where_nothing_is_searched() -> None:
    page = report_html([samples()["plan"]])
    assert "<script" not in page
    assert "script-src" not in policy(page)


def test_pictures_are_told_to_screen_readers() -> None:
    page = report_html([samples()["stopped"]])
    tree = Tree(page)
    drawn = [a for a in tree.all("svg") if a.get("role") == "img"]
    assert len(drawn) == 2
    assert all(a["aria-label"] for a in drawn)
    assert page.count("<desc>") == 2
    assert "upper boundary (reached: regression): from 3 at 64 to 9 at 288" in page


# ---- names that want to be more than names ---------------------------------------------------------------------------

PLANTED = [
    *filter(None, HOSTILE),
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "x" * 5000,
    "\u202eevil\u2066",
    "{{ 7*7 }}",
    "</style><script>alert(1)</script>",
]


def hostile_results(word: str) -> list[Any]:
    table = long_table()
    clean = word.replace("\ud800", "")  # half a character is refused by the readers
    named = {**table, "truth": [clean if t == "cat" else t for t in table["truth"]], "area": [clean, "b"] * 30}
    other = {**named, "id": [f"{clean}{i}" for i in range(60)]}
    verdict = replace(
        PAIRED, task=word, model=word, spec={word: word}, conclusion=word, claim=word, signature=word, warnings=(word,), metric=word,
        changed_items=({"id": word, "change": "lost", "truth": word, "baseline": word, "candidate": word},),
    )  # fmt: skip
    return [
        sy.measure(named, metric=["accuracy", "each_recall"], by="area"),
        sy.compare(other, {**other, "prediction": ["dog"] * 60}, names=[word, f"{word}2"], by="area"),
        verdict,
        replace(samples()["suite"], name=word, verdicts=(verdict,), rows=(), conclusion=word),
        replace(samples()["plan"], conclusion=word, assumed=word, goal=word),
        replace(samples()["lint"], directory=word, findings=(replace(samples()["lint"].findings[0], file=word, sentence=word),)),
    ]


@every("word", PLANTED, ids=[ascii(word)[:30] for word in PLANTED])
def test_planted_words_stay_words(word: str) -> None:
    page = report_html(hostile_results(word), title=word)
    tree = Tree(page)
    assert {tag for tag, _ in tree.found} <= ALLOWED
    assert page.count("<script>") == 1
    assert page.count("<style>") == 1
    for tag, attributes in tree.found:
        assert not [key for key in attributes if key.startswith("on")], tag
        assert (attributes.get("href") or "#result-").startswith("#result-")
    for character in "\u202e\u2066\x00\x1b\x9b":
        assert character not in page
    page.encode()  # no lone surrogate is left
    assert len(page) < 1_500_000


@every("word", PLANTED, ids=[ascii(word)[:30] for word in PLANTED])
def test_planted_words_in_a_notebook(word: str) -> None:
    piece = fragment_html(hostile_results(word)[2])
    assert piece.count("<script") == 0
    assert {tag for tag, _ in Tree(piece).found} <= ALLOWED


def test_an_empty_name_is_no_hole() -> None:
    piece = report_html([sy.measure({"truth": ["", "b"] * 9, "prediction": ["", "b"] * 9}, metric=["accuracy", "each_recall"])])
    assert '<th scope="row">(empty)</th>' in piece


# ---- a notebook ------------------------------------------------------------------------------------------------------


@every("name", NAMES)
def test_a_piece_reaches_nothing_else(name: str) -> None:
    piece = samples()[name]._repr_html_()
    assert piece == fragment_html(samples()[name])
    assert "<script" not in piece
    style = re.sub(r"@media [^{]*\{(.*?)\n\}", r"\1", re.findall("<style>(.*?)</style>", piece, re.S)[0], flags=re.S)
    for rule in re.findall(r"(?:^|\})\s*([^{}@]+)\{", style):
        assert all(part.strip().startswith(".sy") for part in rule.split(",")), rule


# ---- size ------------------------------------------------------------------------------------------------------------


def test_many_classes_and_slices_are_capped() -> None:
    many = 1200
    table = {"truth": [f"c{i % 600}" for i in range(many)], "prediction": [f"c{i % 599}" for i in range(many)]}
    table["by"] = [str(i % 300) for i in range(many)]
    page = report_html([sy.measure(table, metric="each_recall"), sy.measure(table, metric="accuracy", by="by")])
    assert len(page) < 300_000
    assert "classes: 40 of" in page
    assert "40 are drawn, 100 listed, 500 more are in the JSON." in page
    assert "40 are drawn, 100 listed, 200 more are in the JSON." in page


def test_long_lists_are_capped_with_a_note() -> None:
    items = tuple({"id": f"i{i}", "change": "lost", "truth": "a", "baseline": "a", "candidate": "b"} for i in range(3 * CAP))
    page = report_html([replace(PAIRED, changed_items=items)])
    assert f"The first {CAP:,} of {3 * CAP:,} rows" in page
    assert page.count("<td><del>a</del></td><td><ins>b</ins></td>") == CAP
    assert len(page) < 5_000_000


# ---- what is said ----------------------------------------------------------------------------------------------------


def test_the_verdict_comes_first() -> None:
    words = " ".join(Tree(report_html([samples()["regression"]])).words)
    places = [
        words.index(part)
        for part in ("REGRESSION", "is 0.02199 below", "--update", "How bad", "Items that changed", "Methods and signature")
    ]
    assert places == sorted(places)


def test_several_results_begin_with_a_list() -> None:
    page = report_html([samples()["plan"], samples()["regression"]], title="Release 2")
    tree = Tree(page)
    assert [a["href"] for a in tree.all("a")] == ["#result-1", "#result-2"]
    assert {a.get("id") for a in tree.all("article")} == {"result-1", "result-2"}
    assert "<title>Release 2</title>" in page
    assert "<title>REGRESSION: gsm8k" in report_html([samples()["plan"], samples()["regression"]])


def test_a_title_heads_one_result_too() -> None:
    page = report_html([samples()["plan"]], title="Release 2")
    assert "<h1>Release 2</h1>" in page
    assert page.count("<h1") == 1


def test_nothing_is_no_report() -> None:
    with pytest.raises(UsageError, match=r"No results to report\."):
        report_html([])


def test_a_thing_that_is_no_result() -> None:
    with pytest.raises(UsageError, match=r"A page is one of .*, not int\."):
        report_html([3])


def test_numbers_stand_on_their_points() -> None:
    placed = aligned(["0.83", "1,319", "< 0.0001", "-"])
    assert {len(text.partition(".")[2]) if "." in text else len(text.partition(POINT)[2]) for text in placed} == {4}
    assert [text.rstrip(FIGURE + POINT) for text in placed] == ["0.83", "1,319", "< 0.0001", "-"]
    assert aligned(["12", "7"]) == ["12", "7"]
    assert aligned(["-0.02 [-0.03]", "1.0"]) == ["-0.02 [-0.03]", "1.0"]


def test_the_confusion_table_counts_every_item() -> None:
    m = samples()["measurement"]
    page = report_html([m])
    cells = re.findall(r'<td class="number heat\d(?: right)?">([\d,]+)</td>', page)
    assert sum(map(int, cells)) == m.n
    right = re.findall(r'<td class="number heat\d right">([\d,]+)</td>', page)
    assert sum(map(int, right)) == m.table.right
