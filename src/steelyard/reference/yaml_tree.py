"""The tree of a YAML text: scalars, lists and mappings, each with its line and its place, and the comments between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_COMMENT = re.compile(r"(?:(?<=\s)|(?<=[\[\]{},:])|^)#[^\r\n]*", re.MULTILINE)

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """One value. `raw` is what a plain scalar says; `start` and `end` are its place in the text."""

    value: Value
    raw: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list; `flow` if it is in brackets. A block list ends where its last item ends."""

    items: tuple[Node, ...]
    flow: bool
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MappingNode:
    """Keys, all text and all different, with their values in the order of the file."""

    pairs: tuple[tuple[ScalarNode, Node], ...]
    flow: bool
    line: int
    start: int
    end: int

    def get(self, key: str) -> Node | None:
        """The value of a key, None if it is not there."""
        return next((value for name, value in self.pairs if name.value == key), None)


Node = ScalarNode | SequenceNode | MappingNode


def plain(node: Node) -> Any:
    """The values alone: dicts, lists and scalars."""
    if isinstance(node, MappingNode):
        return {key.value: plain(value) for key, value in node.pairs}
    return [plain(item) for item in node.items] if isinstance(node, SequenceNode) else node.value


def leaves(node: Node) -> Iterator[ScalarNode]:
    """Keys and values in the order of the text."""
    if isinstance(node, ScalarNode):
        yield node
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from leaves(item)
    else:
        for key, value in node.pairs:
            yield key
            yield from leaves(value)


def comments(text: str, node: Node, start: int = 0, end: int | None = None) -> list[str]:
    """The comments of a stretch of text, `#` included: they can only be between the scalars of its tree."""
    stop = len(text) if end is None else end
    found, here = [], start
    for leaf in leaves(node):
        if leaf.end > here and leaf.start < stop:
            found += _COMMENT.findall(text, here, max(here, leaf.start))
            here = leaf.end
    return found + _COMMENT.findall(text, here, stop)
