"""A page is built once for each kind: a new section and a new format are one object, and are there for every kind at once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from cases import every
from render.html.page_samples import samples
from steelyard.render import page as registry
from steelyard.render.formats import FORMATS, OutputFormat
from steelyard.render.page import PAGES, Page, Section, Sentences, builder_of, page_of
from steelyard.results.base import KINDS

NAMES = sorted(samples())
WITHOUT = {"LearningCurve"}  # says its headline; its numbers are drawn by a plan


def written(result: Any) -> dict[str, str]:
    plain = {"width": 400}
    return {name: FORMATS[name].write(result, **plain if name == "text" else {}) for name in ("text", "markdown", "html")}


def test_every_kind_has_exactly_one_builder() -> None:
    assert {cls.__name__ for cls in KINDS.values()} - WITHOUT <= {*PAGES}
    assert all(callable(builder_of(kind)) for kind in PAGES)
    found = [PAGES[kind] for kind in PAGES]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_section_is_written_once_for_all_formats(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = samples()[name]
    kind = type(result).__name__
    built = builder_of(kind)

    def with_more(given: Any, extra: Any) -> Page:
        page = built(given, extra)
        return replace(
            page, sections=[*page.sections, Section(title="More", blocks=[Sentences(sentences=["A sentence of a new section."])])]
        )

    monkeypatch.setitem(registry.PAGES, kind, with_more)
    assert all("A sentence of a new section." in text for text in written(result).values())


@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_one_writer_of_pages(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "shout", OutputFormat(write=lambda result: page_of(result).word.upper()))
    said = FORMATS["shout"].write(samples()[name])
    assert said == said.upper() != ""


@every("name", ["regression", "inconclusive", "legacy", "floor", "recorded", "reference", "references", "drift"])
def test_what_is_said_has_the_same_numbers_everywhere(name: str) -> None:
    shown = {each: {*re.findall(r"\d+\.\d+", re.sub(r"[\u2007\u2008\\]", "", text))} for each, text in written(samples()[name]).items()}
    assert shown["text"] == shown["markdown"]
    assert shown["text"] <= shown["html"]
