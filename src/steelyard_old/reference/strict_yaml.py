"""YAML read safely and strictly: a tree of frozen nodes that know their line and their place in the text.

PyYAML scans and parses; what a scalar means is decided here. Files as `record` writes them, keys and scalars line by line, are read without
it: it takes longer to load than they take to read. A plain scalar is null (empty, `~`, null), true or false, a
decimal number, or text: `no`, `on`, dates and `1:30` are text, because readers of YAML do not agree on them. What looks like
a number and is not a plain decimal (012, 0x1F, 1_000, +5, .inf) is an error, and so is everything that makes a file mean
more than it shows: anchors, tags, merge keys, duplicate keys, several documents, tabs, control characters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any, NoReturn

from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern
from steelyard_old.yaml_text import UNPRINTABLE

_COMMENT = late_pattern(r"(?:(?<=\s)|(?<=[\[\]{},:])|^)#[^\r\n]*", re.MULTILINE)

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


LIMIT = 50 * 1024 * 1024  # bytes; a file that people write is a thousand times smaller
DEPTH = 50
NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = late_pattern(r"-?(?:0|[1-9][0-9]*)\Z")
_DECIMAL = late_pattern(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_NUMERIC = late_pattern(
    r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\.(?:inf|Inf|INF|nan|NaN|NAN)"
    r"|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?)\Z"
)
# Not in the text as it stands: tabs, control characters, line breaks that editors do not show, halves of characters.
_UNWRITTEN = late_pattern("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def decode(data: bytes, shown: str) -> str:
    """UTF-8 as text, every character kept: a byte order mark at the start and both kinds of line ends stay what they are."""
    if len(data) > LIMIT:
        raise _too_large(shown, len(data))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "it looks like UTF-16; save it as UTF-8" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "save the file as UTF-8"
        raise SourceError(
            f"{shown!r} is not UTF-8 text: line {line} has the byte 0x{data[error.start]:02x}.",
            got=f"byte 0x{data[error.start]:02x} in line {line}",
            need="text in UTF-8",
            hint=hint,
        ) from None


def parse(text: str, shown: str) -> Node:
    """The tree of a text; an empty text, or one of comments alone, is a null at its end.

    >>> from steelyard_old.reference.strict_yaml import plain
    >>> tree = parse("m:\\n  - accuracy: 74.20\\n    dtype: no\\n", "mmlu.yaml")
    >>> plain(tree)
    {'m': [{'accuracy': 74.2, 'dtype': 'no'}]}
    >>> parse("a: 1\\nb: 012", "t.yaml")
    Traceback (most recent call last):
    steelyard_old.errors.SourceError: Cannot read 't.yaml', line 2: 012 is not a plain decimal number, \
and YAML readers disagree about it. Hint: write 12, or '012' if it is text
    """
    if len(text) > LIMIT:
        raise _too_large(shown, len(text))
    _check_characters(text, shown)
    return _by_lines(text) or _Builder(text, shown).tree()


# ---- files of nothing but keys, lists and scalars, a line each -----------------------------------------------------------

# A plain scalar that no reader of YAML could take for anything else, wherever it stands. A colon or a blank needs a word behind it.
_WORDS = r"(?:[A-Za-z0-9_/]|\.(?=[0-9])|-(?=[0-9.]))(?:[A-Za-z0-9_/.+()=;,@%~-]|:(?=[A-Za-z0-9_/])| (?=[A-Za-z0-9_/(]))*"
_LINE = late_pattern(
    r"(?P<indent> *+)(?P<dash>- )?(?:(?P<key>[A-Za-z_][A-Za-z0-9_./-]{0,200}):(?= |\Z) *+)?"  # blanks are given back to nobody
    rf"(?:(?P<plain>{_WORDS})|(?P<quoted>'[ -&(-~]*'|\"[ !#-\[\]-~]*\"))?(?:(?<= )#.*| ++#.*| *+)\Z"
)
_NOTHING = late_pattern(r" *+(?:#.*)?\Z")


@dataclass(slots=True)
class _Block:
    """A mapping or a list that may go on in the next line; keys and values of a mapping in turn."""

    column: int
    is_mapping: bool
    line: int
    start: int
    children: list[Any] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def node(self) -> Node:
        end = self.children[-1].end
        if not self.is_mapping:
            return SequenceNode(tuple(self.children), False, self.line, self.start, end)
        return MappingNode(tuple(zip(self.children[::2], self.children[1::2], strict=True)), False, self.line, self.start, end)


def _by_lines(text: str) -> Node | None:
    """The tree of a file of keys, lists and scalars, a line each; None for any other and for whatever is wrong.

    The same tree as the parser's, to the last place: `tests/reference/test_strict_yaml_by_lines.py` holds one against the other.
    """
    if "\r" in text:
        return None
    blocks: list[_Block] = []  # those that are open, the outermost first
    number = start = 0
    for row in text.split("\n"):
        number, begin, start = number + 1, start, start + len(row) + 1
        if _NOTHING.match(row):
            continue
        found = _LINE.match(row)
        if found is None or not _taken(found, blocks, number, begin):
            return None
    if not blocks or _waits(blocks[-1]):
        return None
    while len(blocks) > 1:
        done = blocks.pop().node()
        blocks[-1].children.append(done)
    return blocks[0].node()


def _taken(found: re.Match[str], blocks: list[_Block], line: int, begin: int) -> bool:
    """Put the line where its column says; False where that says nothing, or the line is not as plain as it seems."""
    column, dash, key = found.end("indent"), found["dash"] is not None, found["key"]
    if not blocks or _waits(blocks[-1]):
        if blocks and not (column > blocks[-1].column or (dash and column == blocks[-1].column)):
            return False  # a key without a value
        blocks.append(_Block(column, not dash, line, begin + column))
    else:
        while blocks[-1].column > column or (blocks[-1].column == column and dash < (not blocks[-1].is_mapping)):
            if len(blocks) == 1:
                return False
            done = blocks.pop().node()
            blocks[-1].children.append(done)
        if blocks[-1].column != column or blocks[-1].is_mapping == dash:
            return False
    if dash and key is not None:
        blocks.append(_Block(column + 2, True, line, begin + column + 2))
    if len(blocks) > DEPTH:
        return False
    if key is None:
        return dash and _put(found, blocks[-1], line, begin)
    if key in blocks[-1].seen or not isinstance(_said(key), str):
        return False
    blocks[-1].seen.add(key)
    blocks[-1].children.append(ScalarNode(key, key, line, begin + found.start("key"), begin + found.end("key")))
    return (found["plain"] is None and found["quoted"] is None) or _put(found, blocks[-1], line, begin)


def _waits(block: _Block) -> bool:
    """Whether a key has no value yet."""
    return block.is_mapping and len(block.children) % 2 == 1


def _put(found: re.Match[str], block: _Block, line: int, begin: int) -> bool:
    """The scalar of a line as the next child."""
    quoted, plain_text = found["quoted"], found["plain"]
    if quoted is not None:
        text: str = quoted[1:-1]
        block.children.append(ScalarNode(text, text, line, begin + found.start("quoted"), begin + found.end("quoted")))
        return True
    if plain_text is None:
        return False
    try:
        value = typed(plain_text)
    except ValueError:
        return False
    block.children.append(ScalarNode(value, plain_text, line, begin + found.start("plain"), begin + found.end("plain")))
    return True


def _said(key: str) -> Value:
    try:
        return typed(key)
    except ValueError:
        return None


def typed(text: str) -> Value:
    """What a plain scalar means; ValueError, with the reason and the cure, for a number in a dress.

    >>> [typed(text) for text in ("no", "~", "True", "12", "1e-3", ".5", "1:30", "2026-01-31")]
    ['no', None, True, 12, 0.001, 0.5, '1:30', '2026-01-31']
    """
    if text in NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _WHOLE.match(text) and len(text) < 400:
        return int(text)
    if _DECIMAL.match(text):
        if math.isfinite(number := float(text)):
            return number
        raise ValueError("is too large for a float", f"write a smaller number, or {_quoted(text)} if it is text")
    if _NUMERIC.match(text):
        why = "is not a plain decimal number, and YAML readers disagree about it"
        raise ValueError(why, f"write {_decimal(text)}{_quoted(text)} if it is text")
    return text


def _quoted(text: str) -> str:
    return f"'{text[:40]}{'...' if len(text) > 40 else ''}'"


def _decimal(text: str) -> str:
    """The same number as we write it, if it can only be one."""
    bare = re.sub(r"^0+(?=[0-9])", "", text.lstrip("+-").replace("_", ""))
    if len(text) > 40 or not _DECIMAL.match(bare):
        return "a decimal number, or "
    return f"{'-' if text.startswith('-') else ''}{bare}, or "


def _too_large(shown: str, size: int) -> SourceError:
    most = f"at most {LIMIT // 2**20} MB"
    return SourceError(f"Cannot read {shown!r}: it has {size:,} bytes, and a YAML file may have {most}.", got=f"{size} bytes", need=most)


def _refused(shown: str, line: int, said: str, got: str, need: str, hint: str) -> SourceError:
    """said: what is wrong, as the end of a sentence."""
    return SourceError(f"Cannot read {shown!r}, line {line}: {said}.", got=got, need=need, hint=hint)


def _check_characters(text: str, shown: str) -> None:
    for found in _UNWRITTEN.finditer(text):
        at, char = found.start(), found[0]
        if (char == "\ufeff" and at == 0) or (char == "\r" and text[at + 1 : at + 2] == "\n"):
            continue
        line = text.count("\n", 0, at) + 1
        name, hint = f"the invisible character U+{ord(char):04X}", "remove it"
        if char == "\t":
            name, hint = "a tab", 'indent with spaces; inside "double quotes" write \\t'
        elif char == "\r":
            name, hint = "a carriage return without a line feed", "end lines with LF or CRLF"
        raise _refused(shown, line, f"it has {name}", name, "visible characters and spaces", hint)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    event: Any
    line: int
    is_mapping: bool
    children: list[Node] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)


class _Builder:
    """Events to a tree, with a stack of our own: no depth of brackets can exhaust Python's."""

    def __init__(self, text: str, shown: str) -> None:
        self.text, self.shown = text, shown
        self.stack: list[_Open] = []
        self.root: Node | None = None

    def tree(self) -> Node:
        import yaml

        loader = yaml.SafeLoader(self.text)  # the pure one: its marks count characters, and it is the same everywhere
        try:
            while loader.check_event():
                self._take(loader.get_event())
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = ", ".join(part for part in (error.context, error.problem) if part)
            self._malformed(mark.line + 1 if mark else loader.line + 1, problem)
        except (yaml.YAMLError, ValueError, OverflowError) as error:  # an escape or a directive that is no character, no number
            if isinstance(error, SourceError):
                raise
            self._malformed(loader.line + 1, str(error).splitlines()[0] if str(error) else type(error).__name__)
        finally:
            loader.dispose()
        end = len(self.text)
        return self.root or ScalarNode(None, "", self.text.count("\n") + 1, end, end)

    def _take(self, event: Any) -> None:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if kind == "DocumentStartEvent":
            self._start(event, line)
        elif kind == "DocumentEndEvent" and event.explicit:
            said = "the end of a document ('...') is not allowed"
            self._refuse(line, said, "the end of a document, '...'", "one document without an end mark", "remove the line")
        elif kind == "AliasEvent" or getattr(event, "anchor", None):
            said = f"anchors and aliases ({event.anchor!r}) are not allowed"
            self._refuse(line, said, f"an anchor or alias, {event.anchor!r}", "the value itself", "write out the value")
        elif getattr(event, "tag", None):
            self._refuse(line, f"tags ({event.tag!r}) are not allowed", f"a tag, {event.tag!r}", "a plain value", "remove the tag")
        elif kind == "ScalarEvent":
            self._close(self._scalar(event, line))
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self.stack) == DEPTH:
                self._refuse(line, f"it is nested more than {DEPTH} levels deep", f"more than {DEPTH} levels", "a flatter file")
            self.stack.append(_Open(event, line, kind == "MappingStartEvent"))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._close(self._collection(self.stack.pop(), event))

    def _start(self, event: Any, line: int) -> None:
        if self.root is not None:
            hint = "remove the line '---' and what follows, or make two files"
            self._refuse(line, "a second document begins here", "a second document", "one document in a file", hint)
        if event.version or event.tags:
            self._refuse(line, "directives are not allowed", "a directive", "plain YAML", "remove the line that begins with %")

    def _scalar(self, event: Any, line: int) -> ScalarNode:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):  # PyYAML counts what follows a block scalar, up to the next token, to it
            end = start + len(self.text[start:end].rstrip())
        bad = UNPRINTABLE.search(event.value)
        if bad:
            name = f"U+{ord(bad[0]):04X}"
            said = f"the escape for {name} is not allowed"
            self._refuse(line, said, f"the character {name} by an escape", "text without control characters", "leave it out")
        if event.style:
            return ScalarNode(event.value, event.value, line, start, end)
        if event.value == "<<" and self._expects_key():
            self._refuse(line, "merge keys (<<) are not allowed", "a merge key, <<", "the keys themselves", "write out the keys")
        try:
            return ScalarNode(typed(event.value), event.value, line, start, end)
        except ValueError as error:
            reason, hint = error.args
            return self._refuse(line, f"{event.value[:40]} {reason}", event.value[:40], "a plain decimal number", hint)

    def _expects_key(self) -> bool:
        return bool(self.stack) and self.stack[-1].is_mapping and len(self.stack[-1].children) % 2 == 0

    def _close(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        if self._expects_key():
            self._check_key(node, self.stack[-1])
        self.stack[-1].children.append(node)

    def _check_key(self, node: Node, mapping: _Open) -> None:
        if not isinstance(node, ScalarNode):
            self._refuse(node.line, "a list or mapping cannot be a key", "a list or mapping as a key", "text")
        if not isinstance(node.value, str):
            said = f"the key {node.raw} is not text" if node.raw else "a key is empty"
            self._refuse(node.line, said, f"{node.raw or 'nothing'} as a key", "text", f"write '{node.raw}'" if node.raw else "")
        if node.value in mapping.seen:
            first = mapping.seen[node.value]
            self._refuse(node.line, f"the key {node.value!r} is already in line {first}", f"the key {node.value!r} again", "each key once")
        mapping.seen[node.value] = node.line

    def _collection(self, opened: _Open, event: Any) -> Node:
        flow, start = bool(opened.event.flow_style), opened.event.start_mark.index
        children = opened.children
        end = event.end_mark.index if flow or not children else children[-1].end
        if not opened.is_mapping:
            return SequenceNode(tuple(children), flow, opened.line, start, end)
        keys = [key for key in children[::2] if isinstance(key, ScalarNode)]
        return MappingNode(tuple(zip(keys, children[1::2], strict=True)), flow, opened.line, start, end)

    def _malformed(self, line: int, problem: str) -> NoReturn:
        self._refuse(line, "it is not well-formed YAML" + (f" ({problem})" if problem else ""), problem or "no YAML", "well-formed YAML")

    def _refuse(self, line: int, said: str, got: str, need: str, hint: str = "") -> NoReturn:
        raise _refused(self.shown, line, said, got, need, hint)
