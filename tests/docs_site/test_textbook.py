"""The site's own code: docstrings become pages, the contents come from index.md. The build itself is a step of .ci/run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from stand_ins import needs_sphinx

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def textbook() -> ModuleType:
    needs_sphinx()
    sys.path.insert(0, str(DOCS / "_extensions"))
    try:
        import textbook as module
    finally:
        sys.path.remove(str(DOCS / "_extensions"))
    return module


def test_parts_become_a_definition_list(textbook: ModuleType) -> None:
    lines = textbook.textbook(
        "What it is.\n\n    Formula: a*b_ + |c|, k `of` n.\n    Assumes: items. Undefined: n = 0. Reference: Wilson1927.\n"
        "\n    >>> 1\n    1\n"
    )
    text = "\n".join(lines)
    assert lines[0] == "What it is."
    assert [line for line in lines if line.isalpha()] == ["Formula", "Assumes", "Undefined", "Reference"]
    assert r"a\*b\_ + \|c\|, k ``of`` n." in text
    assert ":ref:`Wilson1927 <source-wilson1927>`" in text
    assert ">>> 1\n1\n" in text


def test_every_source_is_described(textbook: ModuleType) -> None:
    entries = textbook.bibliography()
    assert len(entries) == (DOCS.parent / "references.bib").read_text(encoding="utf-8").count("\n@")
    for key, entry in entries.items():
        told = textbook.described(entry)
        assert entry["year"] in told, key
        assert "{" not in told, key


def test_rooms_name_folders_that_exist_once(textbook: ModuleType) -> None:
    named = [name for names in textbook.ROOMS.values() for name in names.split()]
    assert len(named) == len(set(named))
    there = {path.name for path in (DOCS.parent / "src" / "steelyard" / "infer").iterdir() if path.is_dir()}
    assert not set(named) - there


def test_index_lists_every_page() -> None:
    """A page that index.md does not list is in no contents of the site."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("*.md"), *(DOCS / "reference").glob("*.md")]} - {"index.md"}
    assert sorted(page for page in pages if f"]({page})" not in index) == []
