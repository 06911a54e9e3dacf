"""Front matter found as the Hub finds it, our part between its marks, and the sections that people have not written."""

from __future__ import annotations

import pytest

from cases import every
from steelyard.errors import SourceError
from steelyard.reference.card_page import front_of, newline_of, part_between, unwritten

BEGIN, END = "<!-- b -->", "<!-- e -->"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("---\na: 1\n---\n# T\n", "a: 1\n"),
        ("\ufeff---\r\na: 1\r\n---\r\n# T\r\n", "a: 1\r\n"),
        ("\n\n---\na: 1\n---", "a: 1\n"),
        ("---\n---\n", ""),
        ("---\na: |\n  --- \n  x\n---  \ntext\n---\n", "a: |\n  --- \n  x\n"),
    ],
)
def test_front(page: str, text: str) -> None:
    found = front_of(page, "README.md")
    assert found.there
    assert found.text == text == page[found.start : found.end]


@pytest.mark.parametrize("page", ["", "# T\n\n---\na: 1\n---\n", "--\n", "text --- \n", "----\na\n---\n"])
def test_no_front(page: str) -> None:
    found = front_of(page, "README.md")
    assert (found.there, found.text, found.start, found.end) == (False, "", 0, 0)


@pytest.mark.parametrize("page", ["---\na: 1\n", "--- \na: 1\n---\n", "---\n", "---\ra: 1\r---\r", "---\na: 1\n ---\n"])
def test_half_a_front_is_refused(page: str) -> None:
    with pytest.raises(SourceError, match="three dashes"):
        front_of(page, "README.md")


def test_the_same_front_as_the_hub() -> None:
    from huggingface_hub import repocard

    for page in ("---\na: 1\n---\n# T\n", "\n---\r\na: 1\r\n---\r\n", "# T\n---\na: 1\n---\n", "---\na: 1\n--- \nx", "---\na: 1\n---"):
        found, hub = front_of(page, "README.md"), repocard.REGEX_YAML_BLOCK.search(page)
        assert found.there == (hub is not None)
        assert hub is None or found.text.rstrip("\r\n") == hub[2]


@every(
    ("page", "after"),
    [
        ("", f"{BEGIN}\nx\n{END}\n"),
        ("# T", f"# T\n\n{BEGIN}\nx\n{END}\n"),
        ("# T\r\n", f"# T\r\n\r\n{BEGIN}\r\nx\r\n{END}\r\n"),
        (f"a\n{BEGIN}\nold\n{END}\nb", f"a\n{BEGIN}\nx\n{END}\nb"),
        (f"a\r\n{BEGIN}  \r\n{END}\t\r\nb", f"a\r\n{BEGIN}\r\nx\r\n{END}\t\r\nb"),
        (f"the marks are `{BEGIN}` and `{END}`\n", f"the marks are `{BEGIN}` and `{END}`\n\n{BEGIN}\nx\n{END}\n"),
    ],
)
def test_part(page: str, after: str) -> None:
    lines = [BEGIN, "x", END]
    once = part_between(page, BEGIN, END, lines, "README.md").applied(page)
    assert once == after
    assert part_between(once, BEGIN, END, lines, "README.md").applied(once) == once


def test_an_example_in_a_block_of_code_is_not_our_part() -> None:
    example = f"```\n{BEGIN}\nyours\n{END}\n```\n"
    with pytest.raises(SourceError, match="in a block of code"):
        part_between(example, BEGIN, END, ["x"], "README.md")
    page = f"{example}{BEGIN}\nold\n{END}\n~~~\n{END}\n~~~\n"
    after = part_between(page, BEGIN, END, [BEGIN, "new", END], "README.md").applied(page)
    assert after == page.replace("old", "new")


@pytest.mark.parametrize("page", ["a\n```\nx\n", "~~~~ py\nx\n~~~\n", "```\nx\n```python\n", "```\nx\n~~~\n"])
def test_nothing_is_added_behind_a_block_that_is_not_closed(page: str) -> None:
    with pytest.raises(SourceError, match="not closed"):
        part_between(page, BEGIN, END, ["x"], "README.md")


@pytest.mark.parametrize("page", ["```x```\n", "~~~\n```\n~~~~  \n", "    ```\n", "```\nx\n   ````\n"])
def test_a_block_that_is_closed_or_none(page: str) -> None:
    assert part_between(page, BEGIN, END, ["x"], "README.md").applied(page) == f"{page}\nx\n"


@pytest.mark.parametrize("page", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}", f"{BEGIN}\n{END}\n{END}"])
def test_marks_that_do_not_pair_are_refused(page: str) -> None:
    with pytest.raises(SourceError, match="nothing was written") as error:
        part_between(page, BEGIN, END, [], "README.md")
    assert "line 1" in str(error.value)


def test_newline() -> None:
    assert [newline_of(page) for page in ("", "a", "a\nb\r\n", "a\r\nb\n", "\n")] == ["\n", "\n", "\n", "\r\n", "\n"]


@every(
    ("body", "missing"),
    [
        ("", ["intended use", "limits", "harms"]),
        ("## Uses\nx\n## Bias, Risks, and Limitations\nIt is wrong at times.\n", []),
        ("## Uses\n[More Information Needed]\n### Direct Use\n\n<!-- for\nwhom -->\n## Limits\n- x\n", ["intended use", "harms"]),
        ("## Intended uses & limitations\n\n### For people\n\nx\n", ["harms"]),
        ("Harms\n=====\nmany\n\nLimits\n---\nsome\n\nIntended use\n---\n", ["intended use"]),
        ("```\n## Harms\nx\n```\n# Limits #\nx\n~~~\n# Intended use\n~~~\n", ["intended use", "harms"]),
        ("# Harmony\nx\n", ["intended use", "limits", "harms"]),
        ("# Ethical considerations\n## None\nNothing known.\n", ["intended use", "limits"]),
    ],
)
def test_unwritten(body: str, missing: list[str]) -> None:
    assert unwritten(body) == missing
    assert unwritten(body.replace("\n", "\r\n")) == missing
