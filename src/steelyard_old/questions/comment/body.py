"""The text of the comment: the Markdown pages of the results under a hidden mark, within the limit of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from steelyard_old.errors import DataError, SteelyardError
from steelyard_old.integrations.github import LIMIT as GITHUB_LIMIT
from steelyard_old.integrations.gitlab import LIMIT as GITLAB_LIMIT
from steelyard_old.integrations.gitlab import without_quick_actions
from steelyard_old.redaction import redact
from steelyard_old.render.markdown import Piece, fitted, pieces, word
from steelyard_old.render.page import DETAIL, ROW, Page, page_of
from steelyard_old.render.terminal import LONG
from steelyard_old.results.reading import MISMATCHED

LIMITS = {"github": GITHUB_LIMIT, "gitlab": GITLAB_LIMIT}
SPARE = 500  # bytes for the mark, the commit and what is said of parts left out
SHORT_COMMIT = 10


def comment_body(results: Sequence[tuple[str, Any]], mark: str, *, platform: str | None, commit: str | None) -> str:
    """The body. results: with the names of their files; one page, or a list and a page for each. Bytes are counted, not characters:
    then it fits, however the service counts."""
    limit = LIMITS[platform or "github"]
    pages = [_page(name, result) for name, result in results]
    made = _fitted(pages, limit - SPARE)
    said = f"\n\n<sub>Commit {commit[:SHORT_COMMIT]}</sub>" if commit else ""
    body = redact(f"{mark}\n{made.rstrip()}{said}\n")
    return without_quick_actions(body) if platform == "gitlab" else body


def _page(name: str, result: Any) -> tuple[Page, list[Piece]]:
    """The page of a result and its pieces. What was read may hold anything where steelyard writes numbers and lists."""
    try:
        page = page_of(result)
        return page, pieces(page)
    except MISMATCHED as fault:
        if isinstance(fault, SteelyardError):
            raise
        got = f"{type(fault).__name__}: {str(fault)[:200]}"
        raise DataError(
            f"Cannot show {name}: it is not as steelyard wrote it ({got}).", got=got, need="the answer as steelyard wrote it, unchanged"
        ) from fault


def _fitted(pages: Sequence[tuple[Page, list[Piece]]], cap: int) -> str:
    if len(pages) == 1:
        made = fitted(pages[0][1], cap)
        if len(made.encode("utf-8")) <= cap:
            return made
    listed = Piece(rows=[_line(page) for page, _ in pages], worth=ROW, noun="results")
    if len(pages) == 1:
        return fitted([listed, Piece(head="The page of this result is too long for a comment.")], cap)
    return fitted([listed, *(_whole(page) for page, _ in pages)], cap)


def _line(page: Page) -> str:
    """A result in the list above the pages."""
    named = page.title or f"{page.word}: {page.about}"
    return f"- **{word(named)}**" + (f": {word(page.lead, LONG)}" if page.lead else "")


def _whole(page: Page) -> Piece:
    """A page that is kept or left out as a whole, one level below the list."""
    lower = replace(page, level=page.level + 1)
    text = "---\n\n" + "\n\n".join(said for piece in pieces(lower) if (said := piece.text(len(piece.rows))))
    return Piece(rows=[text], worth=DETAIL, noun="pages")
