"""What lets one Markdown file be a page of a code host and of the site: the contents, the links, the code blocks.

- The contents of the site are the lists of links in index.md, section by section; nobody keeps a second list.
- A link to a file that is no page (data, code, examples) leads there on a code host. On the site it is the words alone.
- A block that starts with `>>>` is a Python session; no other language is guessed.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

SECTION = re.compile(r"^## (.+)$", re.M)
PAGE = re.compile(r"^- \[[^\]]+\]\(([\w/-]+)\.md\)", re.M)


def contents(app: Sphinx, docname: str, source: list[str]) -> None:
    """Each list of pages in index.md is a part of the contents, under the heading above it."""
    if docname != "index":
        return
    _, *parts = SECTION.split(source[0])
    for caption, text in zip(parts[::2], parts[1::2], strict=True):
        pages = PAGE.findall(text)
        if pages:
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def only_pages(app: Sphinx, tree: nodes.document) -> None:
    """Folders, and pages outside of this one, are not on the site, so nothing leads there. What does not exist stays a fault."""
    here = (app.srcdir / app.env.docname).parent
    for link in list(tree.findall(addnodes.pending_xref)):
        there = here / str(link["reftarget"])
        outside = link.get("refdomain") == "doc" and not there.is_relative_to(app.srcdir) and there.with_suffix(".md").is_file()
        if link.get("reftype") == "myst" and (there.is_dir() or outside):
            link.replace_self(link.children)


def languages(app: Sphinx, tree: nodes.document) -> None:
    for block in tree.findall(nodes.literal_block):
        if block.get("language", "default") in ("default", "python"):
            session = block.astext().lstrip().startswith(">>>")
            block["language"] = "pycon" if session else "text" if block.get("language") != "python" else "python"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", contents)
    app.connect("doctree-read", only_pages)
    app.connect("doctree-read", languages)
    return {"parallel_read_safe": True, "version": "1"}
