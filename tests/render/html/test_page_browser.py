"""The page in a real browser: nothing said on the console, nothing asked of the network, nothing run that was planted, no barrier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from barriers import barriers
from cases import seldom
from render.html.page_samples import long_table, samples
from render.verdict_samples import PAIRED
from steelyard.questions.report.report import report
from window import Window

PLANTED = "<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
PAGES = ["regression", "stopped", "suite", "comparison", "measurement", "beliefs", "leaderboard", "plan", "run", "drift", "lint"]
pytestmark = pytest.mark.needs_system
Show = Callable[..., Window]


@pytest.fixture
def show(window: Any, tmp_path: Path) -> Iterator[Callable[..., Window]]:
    """A page as a file, in a window that may ask for nothing else."""
    shown: list[Window] = []

    def opened(text: str, **options: Any) -> Window:
        file = tmp_path / f"page{len(shown)}.html"
        file.write_text(text, encoding="utf-8")
        seen = Window(window(**options), lambda url: url.split("#")[0] == file.as_uri())
        shown.append(seen)
        seen.page.goto(file.as_uri())
        return seen

    yield opened
    for seen in shown:
        seen.close()


@pytest.mark.parametrize("scheme", ["light", *seldom("dark")])
def test_quiet_and_without_barriers(show: Show, scheme: str) -> None:
    seen = show(report(*samples().values()), color_scheme=scheme)
    seen.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    found = barriers(seen.page)
    assert not found, found
    assert seen.faults == []


@pytest.mark.parametrize("names", [PAGES, ["regression"], *seldom(*([name] for name in PAGES[1:]))], ids=lambda names: names[-1])
def test_fits_a_phone_and_a_sheet(show: Show, names: list[str]) -> None:
    seen = show(report(*(samples()[name] for name in names)), viewport={"width": 360, "height": 740})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 360
    sheet = seen.page.pdf(format="A4")
    assert sheet.startswith(b"%PDF")
    assert seen.faults == []


def planted() -> str:
    table = long_table()
    named = {**table, "truth": [PLANTED if t == "cat" else t for t in table["truth"]], "area": [PLANTED, "javascript:alert(1)"] * 30}
    verdict = replace(
        PAIRED, task=PLANTED, model=PLANTED, spec={PLANTED: PLANTED}, conclusion=PLANTED, warnings=(PLANTED,), signature=PLANTED
    )
    return report(sy.measure(named, metric=["accuracy", "each_recall"], by="area"), verdict, title=PLANTED)


def test_a_planted_label_does_nothing(show: Show) -> None:
    seen = show(planted())
    seen.page.wait_for_timeout(200)
    assert seen.page.title() == PLANTED  # as words
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("script").count() == 0
    assert seen.page.get_by_text("onerror=").count() > 5  # it is shown
    assert seen.faults == []


def test_the_policy_stops_what_slips_in(show: Show) -> None:
    """Were the escaping to fail, the browser would still refuse: markup put into the finished page neither runs nor loads."""
    page = report(samples()["regression"]).replace(
        "</main>", "<img src=https://x.test/y onerror=\"document.title='pwned'\"><script>document.title='pwned'</script></main>"
    )
    seen = show(page)
    seen.page.wait_for_timeout(200)
    title = seen.page.title()
    assert title.startswith("REGRESSION")
    assert not [fault for fault in seen.faults if fault.startswith(("request", "dialog"))]
    assert any("Content Security Policy" in fault for fault in seen.faults)


def test_search_narrows_the_items(show: Show) -> None:
    items = tuple({"id": f"item-{i:03d}", "change": "lost", "truth": "a", "baseline": "a", "candidate": "b"} for i in range(30))
    seen = show(report(replace(PAIRED, changed_items=items)))
    rows = seen.page.locator("table.searched tbody tr:visible")
    assert rows.count() == 20  # the others are folded
    seen.page.get_by_role("searchbox").fill("ITEM-02")
    assert rows.count() == 10
    assert seen.page.locator(".search output").inner_text() == "10 of 30"
    seen.page.get_by_role("searchbox").fill("")
    assert rows.count() == 30  # the search opened them
    assert seen.faults == []


def test_without_javascript_everything_is_there(show: Show) -> None:
    seen = show(report(samples()["suite"], samples()["comparison"]), java_script_enabled=False)
    assert seen.page.locator(".search").first.is_hidden()
    assert seen.page.locator("table.searched tbody tr").first.is_visible()
    seen.page.locator("details.inside summary").first.click()
    assert seen.page.locator("details.inside[open] .lead").first.is_visible()
    seen.page.get_by_role("link").nth(1).click()
    assert seen.page.url.endswith("#result-2")
    assert seen.faults == []


def test_a_piece_in_a_notebook_keeps_to_itself(show: Show) -> None:
    cell = samples()["comparison"]._repr_html_()
    theirs = "<p id=mine>text</p><table id=theirs><tr><td>1</td></tr></table>"
    text = f"<!DOCTYPE html><html lang=en><title>n</title><body>{theirs}{cell}</body></html>"
    look = "id => { const s = getComputedStyle(document.getElementById(id)); return [s.color, s.fontSize, s.margin, s.borderCollapse] }"
    looks = []
    for shown in (text, text.replace(cell, "")):
        seen = show(shown)
        looks.append([seen.page.evaluate(look, name) for name in ("mine", "theirs")])
        assert seen.faults == []
    assert looks[0] == looks[1]


def test_one_pale_word_among_many_is_a_barrier(show: Show) -> None:
    """Words that look like others are asked about once, and the one that nobody can read is still found."""
    words = "<p>as it should be</p>" * 40 + '<p style="color: #ccc">pale</p>' + "<p>as it should be</p>" * 40
    seen = show(f"<!DOCTYPE html><html lang=en><title>n</title><main><h1>h</h1>{words}</main></html>")
    found = barriers(seen.page)
    assert "color-contrast" in found
    assert ">pale<" in found
    assert "should be" not in found
