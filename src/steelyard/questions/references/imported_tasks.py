"""What an import knows of its tasks, written into steelyard.toml; and what it could not know, said task by task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.estimate.guard.rule import ALPHA, LOWER_IS_BETTER
from steelyard.locking import update_file
from steelyard.metrics.catalogue import is_share, parse
from steelyard.questions.references.listing import Where, shown_path
from steelyard.reference.config import find_config
from steelyard.reference.config_text import WithTables, with_tables
from steelyard.reference.entry import PLAIN_KEY, Entry
from steelyard.reference.importing import Imported
from steelyard.reference.lookup import ReferenceLocation
from steelyard.reference.strict_yaml import decode
from steelyard.reference.suite_tasks import TRTLLM

SHOWN = 3
FILE, PROJECT = "steelyard.toml", "pyproject.toml"
WORDS = {"higher_is_better": "direction", "sigma": "sigma", "num_samples": "num_samples", "alpha": "alpha"}
TAKEN = {"direction": "higher is taken as better", "alpha": f"{ALPHA:g} is taken"}


@dataclass(slots=True)
class Learned:
    """What was written into the configuration, and what there is to say about it."""

    plain: dict[str, Any] | None = None
    sentences: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def learn_tasks(found: Imported, dialect: str, places: Mapping[str, ReferenceLocation], config: Where) -> Learned:
    """Write the tables of the known tasks. What the entries, the configuration and the suite leave open is a warning."""
    out = Learned()
    known = {task: TRTLLM[task] for task in found.tasks if dialect == "trtllm" and task in TRTLLM}
    if known:
        _write(known, config, out)
    for task, entries in found.tasks.items():
        if task not in known and (open_ := _open(entries, places[task], dialect)):
            said = [f"{word} ({TAKEN[word]})" if word in TAKEN else word for word in open_]
            out.warnings.append(f"{task}: the import does not know {', '.join(said)}; say so in [tasks.{task}] of {FILE}")
    return out


def _write(known: Mapping[str, Mapping[str, Any]], config: Where, out: Learned) -> None:
    path = find_config(Path.cwd(), config).path or Path.cwd() / FILE
    shown = shown_path(path)
    done: list[WithTables] = []

    def change(data: bytes | None) -> bytes:
        done[:] = [with_tables(decode(data or b"", shown), known, shown, project=path.name == PROJECT)]
        return done[0].text.encode()

    new = not os.path.lexists(path)
    update_file(path, change)
    (made,) = done
    find_config(path.parent, path)  # what was written is read as any other
    kept = [{"task": task, "key": key, "there": there, "import": ours} for task, key, there, ours in made.kept]
    out.plain = {"file": shown, "created": new, "added": made.added, "kept": kept}
    if made.added:
        names = list(made.added)
        more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
        out.sentences.append(f"Task settings added to {shown}{' (new)' if new else ''}: {', '.join(names[:SHOWN])}{more}.")
    for task in dict.fromkeys(each[0] for each in made.kept):
        said = ", ".join(f"{key} = {there!r}, not {ours!r}" for name, key, there, ours in made.kept if name == task)
        out.warnings.append(f"{shown} has a table [tasks.{task}] of its own, which counts: {said}")


def _open(entries: list[Entry], place: ReferenceLocation, dialect: str) -> list[str]:
    """What nobody says of a task that the suite's code would know: its entries, the configuration, the name of its metric."""
    out = []
    for name, word in WORDS.items():
        if getattr(place.defaults, name) is not None:
            continue
        if any(getattr(entry, name) is None and entry.threshold is None and not _follows(name, entry, place, dialect) for entry in entries):
            out.append(word)
    return out


def _follows(name: str, entry: Entry, place: ReferenceLocation, dialect: str) -> bool:
    """Whether the metric says it. TensorRT-LLM calls any metric accuracy, so its name says nothing there; alpha is the gate's."""
    metric = entry.metric or place.defaults.metric or (None if dialect == "trtllm" and entry.value_key == PLAIN_KEY else entry.value_key)
    if name == "alpha":
        return dialect == "vllm"  # a relative tolerance there, which is told
    if metric is None or name == "num_samples":
        return False
    if name == "sigma":
        return is_share(metric)
    try:
        parse(metric)
    except SteelyardError:
        return metric.lower() in LOWER_IS_BETTER
    return True
