"""Where references lie: the configuration, the directory, the task's file, and the entry that a model and its spec match."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import SourceError, UsageError
from steelyard.reference.config import Config, find_config
from steelyard.reference.entry import Entry, TaskDefaults
from steelyard.reference.matching import Match, NoReferenceError, find_entry
from steelyard.reference.names import task_path
from steelyard.reference.task_file import TaskFile, load_task_file

if TYPE_CHECKING:
    from steelyard.reference.outcomes import Outcomes

TRIES = 3  # looks at a reference that somebody is updating


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceLocation:
    """A task's references on disk. `path` need not exist yet."""

    config: Config
    directory: Path
    task: str
    path: Path
    defaults: TaskDefaults
    spec_keys: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The task's file as a person would write it: relative to where they stand, if it lies there. Links keep their names."""
        try:
            return str(Path(os.path.abspath(self.path)).relative_to(Path.cwd()))
        except ValueError:
            return str(self.path)


def locate(task: str, directory: str | os.PathLike[str] | None = None, config: str | os.PathLike[str] | None = None) -> ReferenceLocation:
    """Option, then steelyard.toml (nearest upward, paths relative to it) or [tool.steelyard], then `references`."""
    found = find_config(Path.cwd(), None if config is None else Path(config))
    where = Path(directory) if directory is not None else found.directory
    return ReferenceLocation(
        config=found,
        directory=where,
        task=task,
        path=task_path(where, task),
        defaults=found.task(task),
        spec_keys=found.spec_keys_of(task),
    )


def load(place: ReferenceLocation, model: str = "MODEL") -> TaskFile:
    """The task's file, or an error with the command that makes one."""
    if not os.path.lexists(place.path):
        raise SourceError(
            f"cannot find references for task {place.task!r}",
            got=f"no file {place.shown!r}",
            need="a recorded reference",
            hint=record_command(place.task, model),
        )
    return load_task_file(place.path, spec_keys=place.spec_keys, metric=place.defaults.metric)


def matched(place: ReferenceLocation, model: str, spec: Mapping[str, Any] | None, file: TaskFile | None = None) -> Match:
    """The one entry of a model and spec. Nothing that matches is an error that names the nearest."""
    entries = (file or load(place)).entries
    return find_entry(entries, model, spec or {}, spec_keys=place.spec_keys, file=place.shown)


def entry_there(place: ReferenceLocation, file: TaskFile, model: str, spec: Mapping[str, Any] | None) -> Entry | None:
    """The entry of exactly this model and spec, or None. A spec key that is not declared is an error all the same."""
    try:
        return matched(place, model, spec, file).entry
    except NoReferenceError:
        return None


def with_outcomes(place: ReferenceLocation, entry: Entry) -> tuple[Entry, Outcomes | None]:
    """The entry with its item outcomes (None if it has none), the two of one moment.

    An update puts the new entry in place and then clears the old outcomes away. Who read the old entry just before finds
    them gone, and looks at the entry again.
    """
    if entry.items is None:
        return entry, None
    from steelyard.reference import outcomes  # NumPy: only where there are outcomes

    for _ in range(TRIES):
        if entry.items is None:
            return entry, None
        try:
            return entry, outcomes.load(place.directory, place.task, entry.items)
        except SourceError:
            again = entry_there(place, load(place, entry.model), entry.model, entry.spec)
            if again is None or again.items == entry.items:
                raise
            entry = again
    raise SourceError(
        f"cannot read the reference of {entry.model!r}", got=f"another one at each of {TRIES} looks", need="a moment without updates"
    )


def make_directory(directory: Path) -> None:
    """The directory of the references, made if it is not there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as fault:  # ValueError: a NUL byte in the name
        got = getattr(fault, "strerror", None) or str(fault)
        raise UsageError(f"cannot make the directory {str(directory)!r}", got=got, need="a place that can be written to") from fault


def record_command(task: str, model: str, spec: Mapping[str, Any] | None = None) -> str:
    """The command that puts a run on record."""
    words = "".join(f" --spec {shlex.quote(f'{key}={value}')}" for key, value in (spec or {}).items())
    return f"steelyard record RUN --task {shlex.quote(task)} --model {shlex.quote(model)}{words}"
