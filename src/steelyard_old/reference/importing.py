"""References of other suites as entries: TensorRT-LLM's files, and the lm-eval configurations of vLLM.

Nothing gets lost silently: what has no place in an entry is told in a sentence.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import NoReturn

from steelyard_old.atomic import read_bytes
from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import is_share_right
from steelyard_old.reference.entry import PLAIN_KEY, Entry
from steelyard_old.reference.strict_yaml import LIMIT, MappingNode, Node, ScalarNode, SequenceNode, comments, decode, parse
from steelyard_old.reference.task_file import task_file_of

# Keys of an lm-eval configuration that say how it was measured.
_PROTOCOL = ("num_fewshot", "apply_chat_template", "fewshot_as_multiturn", "gen_kwargs", "system_instruction", "max_gen_toks")


@dataclass(frozen=True, slots=True)
class Imported:
    """Entries by task. `verbatim` has the text of every file that is a task file already: copying it keeps its comments."""

    tasks: dict[str, list[Entry]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    verbatim: dict[str, str] = field(default_factory=dict)


def import_trtllm(path: str | os.PathLike[str]) -> Imported:
    """The references of TensorRT-LLM: one file, or all YAML files of a directory; the task is the name of the file.

    Task files pass through. Acceptance lengths (`TEST: {ref_al, min_al}`) become entries with a threshold.
    """
    out = Imported()
    for file in _files(path):
        shown, data = os.fspath(file), read_bytes(file, most=LIMIT)
        text = decode(data, shown)
        root = parse(text, shown)
        _check_new(out, file)
        if _is_acceptance(root):
            out.tasks[file.stem] = _acceptance(root, shown)
            _tell_comments(out, shown, text, root)
        else:
            out.tasks[file.stem] = list(task_file_of(data, shown).entries)
            out.verbatim[file.stem] = text
    return out


def import_vllm(path: str | os.PathLike[str]) -> Imported:
    """lm-eval configurations as vLLM keeps them: one file, or all YAML files of a directory, each with one model.

    A metric such as `exact_match,strict-match` is a name and a filter. A model that has several metrics of one task gets an
    entry for each, told apart by `extra_acc_spec`.
    """
    out = Imported()
    for file in _files(path):
        shown = os.fspath(file)
        text = decode(read_bytes(file, most=LIMIT), shown)
        root = parse(text, shown)
        for task, entries in _Configuration(root, shown, out.warnings).tasks().items():
            out.tasks.setdefault(task, []).extend(entries)
        _tell_comments(out, shown, text, root)
    return out


def _files(path: str | os.PathLike[str]) -> list[Path]:
    where = Path(path)
    if not where.is_dir():
        return [where]
    found = sorted(file for file in where.iterdir() if file.suffix in (".yaml", ".yml") and file.is_file())
    if not found:
        raise SourceError(f"The directory {os.fspath(where)!r} has no YAML files.", got="a directory without YAML files", need="*.yaml")
    return found


def _check_new(out: Imported, file: Path) -> None:
    if file.stem in out.tasks:
        raise SourceError(
            f"{os.fspath(file)!r} is a second file for the task {file.stem!r}.",
            got=f"a second file for the task {file.stem!r}",
            need="one file for a task",
        )


def _tell_comments(out: Imported, shown: str, text: str, root: Node) -> None:
    if lost := len(comments(text, root)):
        out.warnings.append(f"{shown}: {lost} {'comment is' if lost == 1 else 'comments are'} not imported")


def _is_acceptance(root: Node) -> bool:
    return isinstance(root, MappingNode) and any(
        isinstance(value, MappingNode) and (value.get("ref_al") or value.get("min_al")) for _, value in root.pairs
    )


def _acceptance(root: Node, shown: str) -> list[Entry]:
    pairs = root.pairs if isinstance(root, MappingNode) else ()
    entries = []
    for key, value in pairs:
        if not isinstance(value, MappingNode):
            _refuse(shown, key.line, f"{key.value!r} must have the keys ref_al and min_al", "ref_al and min_al")
        for name, _ in value.pairs:
            if name.value not in ("ref_al", "min_al"):
                _refuse(shown, name.line, f"unknown key {name.value!r}; there are ref_al and min_al", "ref_al and min_al")
        reference, floor = _number(value.get("ref_al"), shown), _number(value.get("min_al"), shown)
        if reference is None and floor is None:
            _refuse(shown, key.line, f"{key.value!r} has neither ref_al nor min_al", "a number")
        entries.append(
            Entry(
                model=str(key.value),
                value=reference,
                value_key="acceptance_length",
                threshold=floor,
                scale="raw",
                higher_is_better=True,
                line=key.line,
            )
        )
    return entries


def _number(node: Node | None, shown: str) -> float | None:
    if node is None or (isinstance(node, ScalarNode) and node.value is None):
        return None
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        _refuse(shown, node.line, f"expected a number, not {'a list or a mapping' if value is None else repr(value)}", "a number")
    return float(value)


class _Configuration:
    """One lm-eval configuration: a model, its tasks, and how they were measured."""

    def __init__(self, root: Node, shown: str, warnings: list[str]) -> None:
        if not isinstance(root, MappingNode):
            _refuse(shown, root.line, "model_name and tasks are missing", "model_name and tasks")
        self.root, self.shown, self.warnings = root, shown, warnings
        self.model = self._text(root, "model_name")
        self.protocol, self.samples, self.tolerance = self._settings()

    def tasks(self) -> dict[str, list[Entry]]:
        out: dict[str, list[Entry]] = {}
        for task in self._list(self.root, "tasks"):
            name = self._text(task, "name")
            metrics = self._list(task, "metrics")
            protocol = {**self.protocol, **self._own(task, ("name", "metrics"))}
            out.setdefault(name, []).extend(self._entry(metric, protocol, several=len(metrics) > 1) for metric in metrics)
        return out

    def _entry(self, metric: MappingNode, protocol: Mapping[str, str], *, several: bool) -> Entry:
        whole = self._text(metric, "name")
        name, _, chosen = whole.partition(",")
        value = _number(metric.get("value"), self.shown)
        if value is None:
            _refuse(self.shown, metric.line, f"{whole!r} has no value", "a number")
        self._own(metric, ("name", "value"), kept=())
        counted = is_share_right(name)
        if not 0 <= value <= 1 and counted:
            _refuse(
                self.shown,
                metric.line,
                f"{whole!r} is {value:g}, but lm-eval writes a fraction between 0 and 1",
                "a fraction between 0 and 1, as lm-eval has them",
            )
        note = f"imported from {os.path.basename(self.shown)}"
        return Entry(
            model=self.model,
            value=value,
            value_key=PLAIN_KEY if counted else name,
            metric=None if counted else name,
            spec={"extra_acc_spec": whole} if several else {},
            num_samples=self.samples,
            scale="fraction" if counted else "raw",
            protocol={**protocol, "metric": name, **({"filter": chosen} if chosen else {})},
            reference_note=note + (f"; there the gate was rtol {self.tolerance:g}" if self.tolerance is not None else ""),
            line=metric.line,
        )

    def _settings(self) -> tuple[dict[str, str], int | None, float | None]:
        tolerance = _number(self.root.get("rtol"), self.shown)
        if tolerance is not None:
            self.warnings.append(f"{self.shown}: rtol {tolerance:g} is kept as a note; the check uses a statistical test instead")
        limit = _number(self.root.get("limit"), self.shown)
        samples = int(limit) if limit is not None and limit >= 1 and limit.is_integer() else None
        if limit is not None and samples is None:
            self.warnings.append(f"{self.shown}: limit {limit:g} is not a number of items; num_samples is left empty")
        return self._own(self.root, ("model_name", "tasks", "rtol", "limit")), samples, tolerance

    def _own(self, node: MappingNode, read: tuple[str, ...], kept: tuple[str, ...] = _PROTOCOL) -> dict[str, str]:
        """The keys that say how it was measured; a sentence for each that has no place in an entry."""
        out = {}
        for key, value in node.pairs:
            name = str(key.value)
            if name in kept and isinstance(value, ScalarNode) and value.value is not None:
                out[name] = value.value if isinstance(value.value, str) else value.raw  # numbers as they are written
            elif name not in read:
                self.warnings.append(f"{self.shown}, line {key.line}: {name} cannot be imported")
        return out

    def _text(self, node: MappingNode, name: str) -> str:
        found = node.get(name)
        if not isinstance(found, ScalarNode) or not isinstance(found.value, str) or not found.value.strip():
            _refuse(
                self.shown,
                found.line if found else node.line,
                f"{name} is missing or not a text",
                "a configuration of lm-eval with " + name,
            )
        return found.value

    def _list(self, node: MappingNode, name: str) -> list[MappingNode]:
        found = node.get(name)
        if not isinstance(found, SequenceNode) or not found.items:
            _refuse(self.shown, found.line if found else node.line, f"{name} is missing, empty or not a list", f"at least one of {name}")
        out = [item for item in found.items if isinstance(item, MappingNode)]
        if len(out) < len(found.items):
            _refuse(self.shown, found.line, f"{name} must each have keys and values", "keys with values")
        return out


def _refuse(shown: str, line: int, got: str, need: str) -> NoReturn:
    raise SourceError(f"Cannot import {shown!r}, line {line}: {got}.", got=got, need=need)
