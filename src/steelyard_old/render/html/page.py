"""Pages to HTML: one file that needs nothing else, under a content security policy that allows its own style and its own search box.

Every word goes through `_safe_value` and is then escaped: what a browser would obey, and what only looks like something else (a
character that turns the direction of writing, an invisible one), stays visible as an escape.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import UsageError
from steelyard_old.render.page import (
    CAP,
    HTML,
    NOTHING,
    Cell,
    Fact,
    FactList,
    MarkedText,
    NestedPages,
    Page,
    PageExtras,
    PageTable,
    Section,
    page_of,
)
from steelyard_old.render.terminal import LONG, harmless, short
from steelyard_old.version import __version__

if TYPE_CHECKING:
    import jinja2

MARKS = {"pass": "✓", "regression": "✗", "inconclusive": "?", "plain": "•"}
_NUMBER = re.compile(r"[-+<>=\s]*\d")
FIGURE, POINT = "\u2007", "\u2008"  # spaces as wide as a digit and as a point
ORDER = ("regression", "inconclusive", "pass", "plain")


def report_html(results: Sequence[Any], *, title: str | None = None, extras: Sequence[PageExtras] | None = None) -> str:
    """One page of all results, in the order given; several begin with a list of them."""
    if not results:
        raise UsageError("No results to report.", got="no results", need="at least one")
    parts = [part_of(result, extra) for result, extra in zip(results, extras or [NOTHING] * len(results), strict=True)]
    searched = any(_searched(part) for part in parts)
    style, script = file_text("style.css") + file_text("page.css"), file_text("search.js") if searched else ""
    html = (
        environment()
        .get_template("page.html.j2")
        .render(
            title=title or _headline(parts),
            heading=title,
            parts=parts,
            style=_raw(style),
            script=_raw(script),
            policy=_policy(style, script),
            version=__version__,
        )
    )
    return html.rstrip() + "\n"


def part_of(result: Any, extra: PageExtras = NOTHING) -> Page:
    """The page of a result, as HTML shows it."""
    return html_page(page_of(result, extra))


def html_page(page: Page) -> Page:
    """The page as HTML shows it: with the pages it goes on from, and only the sections that have something for a browser."""
    page = _merged(page)
    sections = []
    for section in page.sections:
        shown = [block for block in section.blocks if HTML in block.seen]
        blocks = [replace(each, parts=list(map(html_page, each.parts))) if isinstance(each, NestedPages) else each for each in shown]
        sections += [Section(title=section.title, blocks=blocks)] if blocks else []
    return replace(page, sections=sections)


def _merged(page: Page) -> Page:
    """A run and the answer before it as one page: the answer's word and sentence, the sections and warnings of both."""
    if not page.before:
        return page
    first, *others = page.before
    lead = first.lead or page.lead
    return replace(
        first,
        about=page.about if first.tone == "plain" else first.about,
        lead=lead,
        sections=[*first.sections, *(section for other in others for section in other.sections), *page.sections],
        warnings=list(dict.fromkeys([*first.warnings, *page.warnings])),
        methods=[*first.methods, *([(page.word, page.lead)] if page.lead and page.lead != lead else []), *page.methods],
        signature=first.signature or page.signature,
    )


def fragment_html(result: Any) -> str:
    """The same without the page around it, for a notebook: its style reaches nothing else, and it has no script."""
    html = environment().get_template("fragment.html.j2").render(part=part_of(result), style=_raw(file_text("style.css")))
    return html.strip() + "\n"


def _headline(parts: Sequence[Page]) -> str:
    first = min(parts, key=lambda part: ORDER.index(part.tone) if part.tone in ORDER else len(ORDER))
    more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
    return f"{first.word.upper()}: {first.about}{more}"


def _searched(part: Page) -> bool:
    blocks = [block for section in part.sections for block in section.blocks]
    return any(
        (isinstance(block, PageTable) and block.search) or (isinstance(block, NestedPages) and any(map(_searched, block.parts)))
        for block in blocks
    )


def _policy(style: str, script: str) -> str:
    """Nothing is allowed but what is in the page itself, by its hash."""
    allowed = [f"style-src '{_hash(style)}'", *([f"script-src '{_hash(script)}'"] if script else [])]
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def file_text(name: str) -> str:
    return (files("steelyard_old.render.html") / "templates" / name).read_text(encoding="utf-8")


def _raw(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704  # our own file


def _safe_value(value: Any) -> Any:
    """A value on its way to the page: markup of ours as it is, everything else without what a browser would obey."""
    if hasattr(value, "__html__"):
        return value
    return short(harmless(short(str(value), LONG)), 2 * LONG)


@cache
def environment() -> jinja2.Environment:
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(file_text),
        autoescape=True,
        finalize=_safe_value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["svg"] = lambda picture: _raw(picture.svg)
    made.filters["columns"] = _columns
    made.filters["placed"] = _placed
    made.tests["marked"] = lambda cell: isinstance(cell, MarkedText)
    made.globals["marks"] = MARKS
    return made


def _columns(table: PageTable) -> list[list[Cell]]:
    """The rows of a table, its numbers on their decimal points."""
    columns: list[list[Cell]] = [list(column) for column in zip(*table.rows[:CAP], strict=True)]
    for i in table.numbers:
        if i < len(columns):
            columns[i] = list(aligned([str(cell) for cell in columns[i]]))
    return [list(row) for row in zip(*columns, strict=True)]


def _placed(facts: FactList) -> list[list[Fact]]:
    """The groups of facts, their numbers on their decimal points."""
    texts = iter(aligned([value for group in facts.groups for _, value, _ in group]))
    return [[(name.strip(), next(texts), meaning) for name, _, meaning in group] for group in facts.groups]


def aligned(cells: Sequence[str]) -> list[str]:
    """Numbers with the spaces after them that bring their decimal points below one another, when flush right.

    >>> [cell.replace(FIGURE, "_").replace(POINT, "~") for cell in aligned(["0.83", "1,319", "-", "0.9"])]
    ['0.83', '1,319~__', '-~__', '0.9_']
    """
    tails = [cell.partition(".")[2] if _NUMBER.match(cell) else "" for cell in cells]
    longest = max(map(len, tails), default=0)
    if not longest or any(not tail.replace("e-", "").isalnum() for tail in tails if tail):
        return list(cells)
    return [cell + (FIGURE * (longest - len(tail)) if tail else POINT + FIGURE * longest) for cell, tail in zip(cells, tails, strict=True)]
