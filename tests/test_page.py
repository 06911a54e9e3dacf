"""Pages in Chromium: nothing for axe to find, nothing to scroll sideways, nothing loaded, in light and dark, on a desk and a phone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.show import write

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 12, 300)
SAID, OTHER = (np.where(RNG.random(300) < share, TRUTH, RNG.integers(0, 12, 300)) for share in (0.9, 0.8))
IDS = np.arange(300)


def answers() -> dict[str, Any]:
    one, two = ({"id": IDS, "truth": TRUTH, "prediction": said} for said in (OTHER, SAID))
    return {
        "measurement": sy.measure(TRUTH, SAID),
        "comparison": sy.compare(one, two),
        "leaderboard": sy.rank({"a": one, "b" * 200: two, "<i>c": {**one, "prediction": TRUTH}}),
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if chromium is None:
        reason = "no Chromium on this machine: apt-get install chromium"
        if os.environ.get("STEELYARD_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        made = p.chromium.launch(executable_path=chromium)
        yield made
        made.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 375])
def test_pages(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name, answer in answers().items():
        path = tmp_path / f"{name}.html"
        path.write_text(write(answer, "html"), encoding="utf-8")
        page.goto(path.as_uri())
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    assert all(url.startswith("file:") for url in asked)
    page.close()
