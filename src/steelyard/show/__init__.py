"""How an answer looks: a layout beside its verb gives blocks, a writer writes them."""

from __future__ import annotations

import json
import sys
from typing import Any

from steelyard.show.blocks import Block, Head


def blocks(result: Any) -> list[Block]:
    """The page of a result, from the layout that stands beside its class."""
    return list(sys.modules[type(result).__module__].layout(result))


def first_line(result: Any) -> str:
    """The answer in one line."""
    head = next(b for b in blocks(result) if isinstance(b, Head))
    said = head.line or (f"{head.text}: {head.lead}" if head.lead else head.text)
    return f"{head.badge}  {said}" if head.badge else said


def write(result: Any, form: str, *, details: bool = False, wide: int = 100, colour: bool = False) -> str:
    """The answer as text, JSON, Markdown, a page, or the fragment that a notebook shows."""
    if form == "json":
        return json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if form == "text":
        from steelyard.show.text import text

        return text(blocks(result), details=details, wide=wide, colour=colour)
    if form == "markdown":
        from steelyard.show.markdown import markdown

        return markdown(blocks(result))
    from steelyard.show.page import fragment, page

    return fragment(blocks(result)) if form == "fragment" else page(first_line(result), blocks(result))
