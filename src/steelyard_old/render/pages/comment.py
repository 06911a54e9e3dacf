"""The page about the comment on a pull request: what was done; of a dry run also the comment itself."""

from __future__ import annotations

from steelyard_old.render.page import ALL, CodeLines, Page, Section
from steelyard_old.results.comment import PostedComment


def comment_page(r: PostedComment, _: object) -> Page:
    """What was done, in one sentence."""
    shown = [Section(title="The comment", blocks=[CodeLines(lines=r.body.splitlines(), seen=ALL)])] if r.dry_run else []
    about = f"pull request {r.pull_request}" if r.pull_request is not None else r.key
    return Page(word="comment", about=about, lead=r.conclusion, sections=shown, warnings=r.warnings, signature=r.signature)
