"""Entries of one file that get in each other's way: the same spec twice, here or for another suite, or but for its spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.questions.references.lint_values import LintedFile
from steelyard.reference.entry import Entry
from steelyard.reference.matching import duplicates
from steelyard.reference.names import canonical_spec

# Spec keys that TensorRT-LLM's own matching never looks at.
UNSEEN_THERE = ("mtp_enabled", "max_draft_len")


def check_twins(desk: LintedFile) -> None:
    """Duplicates, rows shadowed elsewhere, and names that differ in their case alone."""
    _twins(desk)
    _spelling(desk)


def _twins(desk: LintedFile) -> None:
    for first, *others in duplicates(desk.file.entries):
        for other in others:
            alike = (other.value, other.threshold) == (first.value, first.threshold)
            level, code = ("warning", "duplicate") if alike else ("error", "ambiguous")
            then = "says the same" if alike else f"says {_number(first)}, this one {_number(other)}: a check cannot choose"
            desk.say(level, code, f"shadowed: line {first.line} has the same spec and {then}", other)
    for first, other in _pairs(desk.file.entries, lambda entry: canonical_spec(_seen_there(entry.spec))):
        told = [key for key in UNSEEN_THERE if first.spec.get(key) != other.spec.get(key)]
        if told:
            blind = f"which does not look at {' and '.join(told)} and takes line {first.line}"
            desk.say("warning", "shadowed", f"shadowed in TensorRT-LLM, {blind}; here the two differ", other)


def _spelling(desk: LintedFile) -> None:
    """Texts that differ in their case alone: two references, and one of them is never met."""
    for first, other in _pairs(desk.file.entries, lambda entry: canonical_spec(entry.spec).casefold()):
        if canonical_spec(first.spec) != canonical_spec(other.spec):
            desk.say("warning", "spelling", f"the spec differs from that of line {first.line} in upper and lower case alone", other)
    names: dict[str, str] = {}
    for entry in desk.file.entries:
        known = names.setdefault(entry.model.casefold(), entry.model)
        if known != entry.model:
            desk.say("warning", "spelling", f"the model differs from {known!r} in upper and lower case alone", entry)
            names[entry.model.casefold()] = entry.model


def _pairs(entries: Iterable[Entry], key: Callable[[Entry], str]) -> list[tuple[Entry, Entry]]:
    """Every later entry of a model with the first that has the same key."""
    first: dict[tuple[str, str], Entry] = {}
    return [(there, entry) for entry in entries if (there := first.setdefault((entry.model, key(entry)), entry)) is not entry]


def _seen_there(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in UNSEEN_THERE}


def _number(entry: Entry) -> str:
    return f"threshold {entry.threshold:g}" if entry.value is None and entry.threshold is not None else f"{entry.value:g}"
