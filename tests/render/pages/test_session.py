"""The page of a pytest session: what was compared with itself has no reference, and what went wrong is said in every format."""

from __future__ import annotations

from dataclasses import replace

from render.html.page_samples import samples
from steelyard.render.formats import FORMATS
from steelyard.results.session import CheckedSession


def session() -> CheckedSession:
    found = samples()["session"]
    assert isinstance(found, CheckedSession)
    return found


def test_a_row_for_each_check() -> None:
    head, *rows = str(session()).splitlines()[:5]
    start = head.index("verdict")
    assert [row[start:] for row in rows] == ["pass", "REGRESSION", "recorded", "NOT CHECKED"]
    assert [one.compared for one in session().checks] == [True, True, False, False]
    assert rows[2].split()[3] == "-", "what was recorded now had no reference"


def test_what_went_wrong_is_said_in_every_format() -> None:
    for name in ("text", "markdown", "html"):
        page = FORMATS[name].write(session())
        assert "noise is not known" in page, name
        assert "was not recorded" in page, name


def test_only_what_is_no_pass_has_its_own_page() -> None:
    page = FORMATS["markdown"].write(session())
    assert page.count("### REGRESSION") == 1
    green = replace(session(), checks=session().checks[:1], counts={"pass": 1})
    assert "###" not in FORMATS["markdown"].write(green)
    assert repr(green) == "<CheckedSession: 1 check: 1 pass>"
