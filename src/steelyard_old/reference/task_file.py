"""The task file `references/TASK.yaml`: read into entries, and changed as text, so that comments and order survive.

A change touches the lines of one entry and no others. Its result is read again before it is handed out: what the new text
says must be what was meant, or there is an error and no text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from steelyard_old.atomic import read_bytes
from steelyard_old.errors import SourceError, SteelyardError, UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.entry_schema import check_spec_keys, entry_of, normal_spec, same
from steelyard_old.reference.entry_text import (
    Splice,
    appended,
    block_list,
    column,
    entry_lines,
    line_end,
    line_start,
    newline_of,
    removed,
    rewritten,
)
from steelyard_old.reference.strict_yaml import LIMIT, MappingNode, Node, ScalarNode, SequenceNode, comments, decode, parse
from steelyard_old.yaml_text import key_text


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task file as it was read: its text, its entries in order, and the SHA-256 of its bytes."""

    path: str
    text: str
    entries: tuple[Entry, ...]
    digest: str
    spec_keys: tuple[str, ...] = ()
    metric: str | None = None
    root: Node = field(default=ScalarNode(None, "", 1, 0, 0), repr=False, compare=False)

    def models(self) -> tuple[str, ...]:
        """The models that have entries, in the order of the file."""
        return tuple(dict.fromkeys(entry.model for entry in self.entries))


def load_task_file(path: str | os.PathLike[str], *, spec_keys: Iterable[str] = (), metric: str | None = None) -> TaskFile:
    """Read a task file. `metric` is the task's, if the configuration names one: the value may stand under its name."""
    return task_file_of(read_bytes(Path(path), most=LIMIT), os.fspath(path), spec_keys=spec_keys, metric=metric)


def task_file_of(data: bytes, path: str, *, spec_keys: Iterable[str] = (), metric: str | None = None) -> TaskFile:
    """A task file from its bytes; no bytes at all are a file without entries.

    >>> found = task_file_of(b"gpt2:\\n  - accuracy: 31.5\\n  - quant_algo: FP8\\n    accuracy: 30.9\\n", "mmlu.yaml")
    >>> [(entry.line, dict(entry.spec), entry.value) for entry in found.entries]
    [(2, {}, 31.5), (3, {'quant_algo': 'FP8'}, 30.9)]
    """
    return _read(data, path, tuple(spec_keys), metric)


@lru_cache(maxsize=16)
def _read(data: bytes, path: str, spec_keys: tuple[str, ...], metric: str | None) -> TaskFile:
    """The same bytes are read once: a suite asks one file hundreds of times. Nothing in a task file can be changed in place."""
    declared = check_spec_keys(spec_keys)
    text = decode(data, path)
    root = parse(text, path)
    entries = tuple(
        entry_of(item, str(key.value), path, spec_keys=declared, metric=metric)
        for key, listed in _models(root, path)
        for item in _items(key, listed, path)
    )
    return TaskFile(path, text, entries, hashlib.sha256(data).hexdigest(), declared, metric, root)


def with_entry(task_file: TaskFile, entry: Entry, *, replace: Entry | None = None) -> str:
    """The text with one more entry, or with `entry` in the place of `replace`, an entry of this file.

    >>> old = task_file_of(b"# kept\\ngpt2:\\n  - accuracy: 31.5 # too\\n", "mmlu.yaml")
    >>> print(with_entry(old, Entry(model="gpt2", value=32.25, num_samples=500), replace=old.entries[0]), end="")
    # kept
    gpt2:
      - accuracy: 32.25 # too
        num_samples: 500
    """
    new = _normal(entry)
    if replace is not None:
        return _with_replaced(task_file, new, replace)
    expected = list(task_file.entries)
    key, listed = next((pair for pair in _models(task_file.root, task_file.path) if pair[0].value == new.model), (None, None))
    after = [place for place, old in enumerate(expected) if old.model == new.model]
    expected.insert(after[-1] + 1 if after else _place_of(task_file, key), new)
    if key is None or listed is None:
        return _verified(task_file, _with_model(task_file, new), expected)
    _check_layout(task_file, key)
    if listed.flow:
        splice = block_list(task_file.text, key, listed, [old for old in expected if old.model == new.model])
    else:
        splice = appended(task_file.text, listed, new)
    return _verified(task_file, splice.applied(task_file.text), expected)


def without_entry(task_file: TaskFile, entry: Entry) -> str:
    """The text without one of its entries; with its last entry a model goes, too."""
    place, key, listed, item = _found(task_file, entry)
    expected = [old for other, old in enumerate(task_file.entries) if other != place]
    _check_layout(task_file, key)
    rest = [old for old in expected if old.model == entry.model]
    text = task_file.text
    if not rest:
        parts = [Splice(line_start(text, key.start), line_end(text, listed.end, past=True), "")]
        if not listed.flow:  # comments between the name and the entry stay
            named = Splice(line_start(text, key.start), line_end(text, key.end, past=True), "")
            parts = [removed(text, listed, item), named]
        for part in parts:
            text = part.applied(text)
    else:
        text = (block_list(text, key, listed, rest) if listed.flow else removed(text, listed, item)).applied(text)
    return _verified(task_file, text, expected)


def renamed(task_file: TaskFile, old_model: str, new_model: str) -> str:
    """The text with another name for a model."""
    names = {str(key.value): key for key, _ in _models(task_file.root, task_file.path)}
    if old_model not in names:
        raise UsageError(
            f"No model {old_model!r} in {task_file.path!r}.",
            got=f"no such model in {task_file.path!r}",
            need=_listed(names),
            hint=_listed(names),
        )
    if new_model in names:
        raise UsageError(
            f"The name {new_model!r} is taken already, in line {names[new_model].line}.",
            got=f"the name {new_model!r}, which is in line {names[new_model].line} already",
            need="a name that is free",
        )
    key = names[old_model]
    text = Splice(key.start, key.end, key_text(new_model)).applied(task_file.text)
    return _verified(task_file, text, [replace(old, model=new_model) if old.model == old_model else old for old in task_file.entries])


def _models(root: Node, shown: str) -> list[tuple[ScalarNode, SequenceNode]]:
    if isinstance(root, ScalarNode) and root.value is None:
        return []
    if not isinstance(root, MappingNode):
        kind = "a list" if isinstance(root, SequenceNode) else "one value"
        raise SourceError(
            f"Cannot read {shown!r}, line {root.line}: a task file has model names, each with a list of entries, and this is {kind}.",
            got=kind,
            need="model names, each with a list of entries",
        )
    return [(key, _list_of(key, value, shown)) for key, value in root.pairs]


def _list_of(key: ScalarNode, value: Node, shown: str) -> SequenceNode:
    if isinstance(value, SequenceNode):
        return value
    where = f"Cannot read {shown!r}, line {key.line}"
    if isinstance(value, MappingNode) and value.get("min_al"):
        raise SourceError(
            f"{where}: {key.value!r} has ref_al and min_al, so this is a file of acceptance lengths of another suite.",
            got=f"{key.value!r} with ref_al and min_al, a file of acceptance lengths",
            need="a list of entries",
            hint=f"sy.import_references({shown!r}, dialect='trtllm')",
        )
    got = "keys" if isinstance(value, MappingNode) else "nothing" if value.value is None else repr(value.value)
    hint = "begin each entry with a dash: `- accuracy: 74.2`" if isinstance(value, MappingNode) else "for no entries write []"
    what = f"{where}: {key.value!r} needs a list of entries, but has {got}."
    raise SourceError(what, got=f"{got} under {key.value!r}", need="a list of entries", hint=hint)


def _items(key: ScalarNode, listed: SequenceNode, shown: str) -> list[MappingNode]:
    for item in listed.items:
        if not isinstance(item, MappingNode):
            kind = "a list" if isinstance(item, SequenceNode) else repr(item.value)
            what = f"Cannot read {shown!r}, line {item.line}, an entry of {key.value!r}: an entry has keys with values, and this is {kind}."
            raise SourceError(what, got=kind, need="keys with values", hint="write `- accuracy: 74.2`")
    return [item for item in listed.items if isinstance(item, MappingNode)]


def _normal(entry: Entry) -> Entry:
    return replace(entry, spec=normal_spec(entry.spec))


def _listed(names: Iterable[str]) -> str:
    shown = [repr(name) for name in names]
    return f"one of {', '.join(shown[:8])}{', ...' if len(shown) > 8 else ''}" if shown else "a file with models"


def _found(task_file: TaskFile, entry: Entry) -> tuple[int, ScalarNode, SequenceNode, MappingNode]:
    """The place of an entry among the entries, and its nodes."""
    places = [
        (key, listed, item) for key, listed in _models(task_file.root, task_file.path) for item in _items(key, listed, task_file.path)
    ]
    for place, (old, nodes) in enumerate(zip(task_file.entries, places, strict=True)):
        if old is entry or (old.line == entry.line and same(old, entry)):
            return place, *nodes
    raise UsageError(
        f"No such entry of {entry.model!r} in line {entry.line} of {task_file.path!r}.",
        got=f"none like it in line {entry.line}",
        need="an entry of this file",
    )


def _place_of(task_file: TaskFile, key: ScalarNode | None) -> int:
    """Where a model without entries has its place among the entries: before those of the models below it."""
    if key is None:
        return len(task_file.entries)
    return sum(1 for entry in task_file.entries if entry.line <= key.line)


def _with_replaced(task_file: TaskFile, new: Entry, old: Entry) -> str:
    if new.model != old.model:
        raise UsageError(
            f"An entry of {old.model!r} cannot be replaced by one of {new.model!r}.",
            got=f"another model, {new.model!r}",
            need=f"an entry of {old.model!r}",
        )
    place, key, listed, item = _found(task_file, old)
    expected = list(task_file.entries)
    expected[place] = new
    _check_layout(task_file, key)
    if listed.flow:
        splice = block_list(task_file.text, key, listed, [entry for entry in expected if entry.model == new.model])
    else:
        splice = rewritten(task_file.text, listed, item, task_file.entries[place], new)
    return _verified(task_file, splice.applied(task_file.text), expected)


def _with_model(task_file: TaskFile, new: Entry) -> str:
    """A new model at the end; `{}` and `null`, which say that there is none, go."""
    text, root, line = task_file.text, task_file.root, newline_of(task_file.text)
    indent = ""
    if isinstance(root, MappingNode) and root.pairs:
        _check_layout(task_file, root.pairs[0][0])
        indent = " " * column(text, root.pairs[0][0].start)
    elif root.end > root.start:
        kept = comments(text, root, root.start, root.end)
        text = Splice(root.start, root.end, "".join(f"{line}{comment}" for comment in kept)).applied(text)
    if text and not text.endswith("\n"):
        text += line
    lines = [f"{indent}{key_text(new.model)}:", *(f"{indent}  {each}" for each in entry_lines(new))]
    return text + "".join(each + line for each in lines)


def _check_layout(task_file: TaskFile, key: ScalarNode) -> None:
    """A name alone at the start of its line: what people write. Everything else is left to them."""
    if task_file.text[line_start(task_file.text, key.start) : key.start].strip(" \ufeff"):
        raise SourceError(
            f"{task_file.path!r}, line {key.line}, cannot be changed: {key.value!r} must stand at the start of a line of its own.",
            got=f"{key.value!r} inside braces or behind other text",
            need="every model at the start of a line of its own",
            hint="write `model:` and below it `  - accuracy: ...`",
        )


def _verified(task_file: TaskFile, text: str, expected: Sequence[Entry]) -> str:
    """The text, if it says what was meant."""
    try:
        found = task_file_of(text.encode("utf-8"), task_file.path, spec_keys=task_file.spec_keys, metric=task_file.metric)
    except SteelyardError as error:
        _unwritten(task_file, f"it could not be read again: {str(error).rstrip('.')}")
    if len(found.entries) != len(expected) or not all(map(same, found.entries, expected)):
        _unwritten(task_file, "the file would say something else than was meant")
    return text


def _unwritten(task_file: TaskFile, why: str) -> NoReturn:
    raise UsageError(
        f"Cannot write this change to {task_file.path!r}: {why}.", got=why, need="a file that says what was meant, and nothing else new"
    )
