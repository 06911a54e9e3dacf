"""Entries as lines of a task file, and the cut that replaces, adds or removes one of them in its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.strict_yaml import MappingNode, Node, ScalarNode, SequenceNode, comments
from steelyard_old.yaml_text import mapping_lines, pair_lines, scalar_text


@dataclass(frozen=True, slots=True)
class Splice:
    """One cut: the text from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: str

    def applied(self, whole: str) -> str:
        return whole[: self.start] + self.text + whole[self.end :]


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, place: int) -> int:
    """Where the line of a place begins; a byte order mark is no part of the first one."""
    start = text.rfind("\n", 0, place) + 1
    return 1 if start == 0 and text.startswith("\ufeff") else start


def line_end(text: str, place: int, *, past: bool = False) -> int:
    """Where the line of a place ends: before its line end, or past it."""
    found = text.find("\n", place)
    if found < 0:
        return len(text)
    if past:
        return found + 1
    return found - 1 if found > place and text[found - 1] == "\r" else found


def column(text: str, place: int) -> int:
    return place - line_start(text, place)


def entry_lines(entry: Entry) -> list[str]:
    """An entry of a list, in lines that still want the indentation of the list.

    >>> entry_lines(Entry(model="m", value=74.2, spec={"quant_algo": "FP8"}, protocol={"shots": "5"}))
    ['- quant_algo: FP8', '  accuracy: 74.2', '  protocol:', '    shots: "5"']
    """
    lines = mapping_lines(entry.to_plain()) or ["{}"]
    return [("  " if place else "- ") + line for place, line in enumerate(lines)]


def block_list(text: str, key: ScalarNode, listed: SequenceNode, entries: Sequence[Entry]) -> Splice:
    """A list in brackets as a list of lines; its comments come first."""
    line, indent = newline_of(text), " " * (column(text, key.start) + 2)
    lines = [*comments(text, listed, listed.start, listed.end), *(each for entry in entries for each in entry_lines(entry))]
    start = len(text[: listed.start].rstrip(" "))
    return Splice(start, listed.end, "".join(f"{line}{indent}{each}" for each in lines))


def appended(text: str, listed: SequenceNode, entry: Entry) -> Splice:
    """One more entry, after the last one and what stands behind it on its line."""
    line, indent, place = newline_of(text), " " * column(text, listed.start), line_end(text, listed.end, past=True)
    new = "".join(f"{indent}{each}{line}" for each in entry_lines(entry))
    return Splice(place, place, new if text[:place].endswith("\n") else line + new)


def removed(text: str, listed: SequenceNode, item: MappingNode) -> Splice:
    """An entry with all its lines; what stands between it and its neighbours stays."""
    return Splice(_dash_line(text, listed, item), line_end(text, item.end, past=True), "")


def rewritten(text: str, listed: SequenceNode, item: MappingNode, old: Entry, new: Entry) -> Splice:
    """An entry with new values: only the lines of keys that change are touched."""
    line, start, end = newline_of(text), _dash_line(text, listed, item), line_end(text, item.end)
    if item.flow:
        inside = " " * column(text, item.start)
        above = "".join(f"{' ' * column(text, listed.start)}{each}{line}" for each in comments(text, item, item.start, item.end))
        lines = f"{line}{inside}".join(mapping_lines(new.to_plain()))
        return Splice(start, end, above + text[start : item.start] + lines + text[item.end : end])
    return Splice(start, end, _Rewriting(text, item, text[start : item.start], old.to_plain(), new.to_plain()).text())


def _dash_line(text: str, listed: SequenceNode, item: MappingNode) -> int:
    """The line of an entry's dash: its own, or above it if the dash stands alone. Between them are comments and blank lines."""
    start = line_start(text, item.start)
    while start > listed.start and not text[start:].lstrip(" ").startswith("-"):
        start = line_start(text, start - 1)
    return start


class _Rewriting:
    """The keys of an entry one after another: kept as they are, with a new value, or left out; new ones come last."""

    def __init__(self, text: str, item: MappingNode, head: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        self.whole, self.item, self.head, self.old, self.new = text, item, head, old, new
        self.line = newline_of(text)
        self.indent = " " * column(text, item.start)

    def text(self) -> str:
        above: list[str] = []  # comments of the file that wait for the next key
        out: list[str] = []
        here = self.item.start
        for key, value in self.item.pairs:
            above += self.whole[here : key.start].split("\n")[1:-1]
            here = line_end(self.whole, value.end)
            lines = self._segment(key, value)
            if lines:
                out += [*above, *lines] if out else self._first(above, lines)
                above = []
        added = [line for name, value in self.new.items() if not self.item.get(name) for line in pair_lines(name, value)]
        lines = [self.indent + line for line in added]
        return self.line.join(each.rstrip("\r") for each in ([*out, *above, *lines] if out else self._first(above, lines)))

    def _first(self, above: list[str], lines: list[str]) -> list[str]:
        """The first key stands behind the dash; comments that stood before it, behind a key that went, come before the dash."""
        return [*above, self.head + lines[0].lstrip(" "), *lines[1:]]

    def _segment(self, key: ScalarNode, value: Node) -> list[str]:
        """The lines of a key, to the end of its last one; none if it goes."""
        name = str(key.value)
        stretch = self.whole[key.start : line_end(self.whole, value.end)]
        if name not in self.new:  # a default that the file spells out stays
            return [] if name in self.old else (self.indent + stretch).split("\n")
        new = self.new[name]
        if name in self.old and self.old[name] == new and type(self.old[name]) is type(new):
            return (self.indent + stretch).split("\n")
        rest = self.whole[value.end : line_end(self.whole, value.end)]
        if isinstance(value, ScalarNode) and not isinstance(new, dict):
            gap = self.whole[key.start : value.start]
            return (self.indent + gap + ("" if gap.endswith(" ") else " ") + scalar_text(new) + rest).split("\n")
        inner = [f"  {comment}" for comment in comments(self.whole, value, value.start, value.end)]
        lines = pair_lines(name, new)
        return [self.indent + each for each in (lines[0] + (rest if len(lines) == 1 else ""), *inner, *lines[1:])]
