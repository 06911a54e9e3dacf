"""Where references lie: the configuration, the directory, the task's file, and the entry that a model and its spec match."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard_old.did_you_mean import did_you_mean, meant, nearest_few
from steelyard_old.errors import AmbiguityError, DataError, SourceError, UsageError, with_article
from steelyard_old.late_dataclass import dataclass
from steelyard_old.reference.config import Config, find_config
from steelyard_old.reference.entry import SPEC_DEFAULTS, Entry, TaskDefaults
from steelyard_old.reference.names import check_spec, task_path
from steelyard_old.reference.strict_yaml import typed
from steelyard_old.reference.task_file import TaskFile, load_task_file

if TYPE_CHECKING:
    from steelyard_old.reference.outcomes import Outcomes


NEAREST = 3


class NoReferenceError(DataError):
    """There is no entry for this model and spec: the file was read, and could have one."""


@dataclass(frozen=True, slots=True)
class Match:
    """The entry that was found, why it is this one, and what is odd about it."""

    entry: Entry
    explanation: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Agreement:
    """One entry checked against a spec: the keys that agree, and those that differ as (asked, recorded)."""

    entry: Entry
    agree: tuple[str, ...]
    differ: Mapping[str, tuple[Any, Any]]

    @property
    def matches(self) -> bool:
        return not self.differ

    def __str__(self) -> str:
        parts = [f"{key} is {_shown(recorded)}, asked {_shown(asked)}" for key, (asked, recorded) in self.differ.items()]
        return f"line {self.entry.line}: {'; '.join(parts) or 'matches'}"


def find_entry(
    entries: Sequence[Entry], model: str, spec: Mapping[str, Any] | None = None, *, spec_keys: Iterable[str] = (), file: str = ""
) -> Match:
    """The one entry of a model under a spec.

    >>> rows = [Entry(model="m", value=74.2, line=2), Entry(model="m", value=72.9, spec={"quant_algo": "FP8"}, line=3)]
    >>> find_entry(rows, "m", {"quant_algo": "FP8"}).entry.value
    72.9
    >>> find_entry(rows, "m", {"quant_algo": "FP4"}, file="mmlu.yaml")
    Traceback (most recent call last):
    steelyard_old.reference.lookup.NoReferenceError: No reference for 'm' with quant_algo FP4 in 'mmlu.yaml'; \
the model has 2 entries, the nearest are \
line 2: quant_algo is null, asked FP4 | line 3: quant_algo is FP8, asked FP4. \
Hint: record one: sy.record(run, task='mmlu', model='m', spec={'quant_algo': 'FP4'})
    """
    asked = _checked(spec or {}, spec_keys)
    if not any(entry.model == model for entry in entries):
        raise _no_model(entries, model, asked, file)
    held = explain(entries, model, asked, spec_keys=spec_keys)
    found = [each.entry for each in held if each.matches]
    if not found:
        raise _no_match(held, model, asked, file)
    if any(_judged(entry) != _judged(found[0]) for entry in found[1:]):
        lines = ", ".join(f"line {entry.line} ({_value(entry)})" for entry in found)
        raise AmbiguityError(
            f"{model!r}{_with(asked)} has {len(found)} entries with the same spec{_inside(file)}: {lines}.",
            got=f"{len(found)} entries with the same spec, {lines}",
            need="one of them",
            hint="remove the others, or give them a spec key that tells them apart",
        )
    others = len(held) - len(found)
    explanation = f"line {found[0].line}{_inside(file)}{_with(found[0].spec) or ' with the default spec'}"
    if others:
        explanation += f"; {others} other {'entry of the model differs' if others == 1 else 'entries of the model differ'}"
    return Match(found[0], explanation, _twins(found, file))


def explain(
    entries: Iterable[Entry], model: str, spec: Mapping[str, Any] | None = None, *, spec_keys: Iterable[str] = ()
) -> tuple[Agreement, ...]:
    """Every entry of a model checked against a spec, in the order of the file."""
    asked = _checked(spec or {}, spec_keys)
    return tuple(_held(entry, asked, spec_keys) for entry in entries if entry.model == model)


def duplicates(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], ...]:
    """Entries of one model that no spec can tell apart, in groups of two or more: the first hides the others."""
    by_model: dict[str, list[list[Entry]]] = {}
    for entry in entries:
        groups = by_model.setdefault(entry.model, [])
        twins = next((group for group in groups if not _held(group[0], entry.spec, ()).differ), None)
        if twins is None:
            groups.append([entry])
        else:
            twins.append(entry)
    return tuple(tuple(group) for groups in by_model.values() for group in groups if len(group) > 1)


def same_value(one: object, other: object) -> bool:
    """Are two values of a spec key equal? Two texts letter by letter; a text and a number as the text would be read in a file.

    >>> same_value(4, "4"), same_value("True", True), same_value(1.1, "1.10"), same_value("1.1", "1.10"), same_value("FP8", "fp8")
    (True, True, True, False, False)
    """
    if isinstance(one, str) and isinstance(other, str):
        return str(one) == str(other)  # an enumeration of texts is its text
    if isinstance(one, str) or isinstance(other, str):
        text, value = (str(one), other) if isinstance(one, str) else (str(other), one)
        try:
            one, other = typed(text), value
        except ValueError:
            return False
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _checked(spec: Mapping[str, Any], spec_keys: Iterable[str]) -> dict[str, Any]:
    """A spec whose keys are all known and whose values are single."""
    known = (*SPEC_DEFAULTS, *spec_keys)
    said = dict(check_spec(spec))
    for key, value in said.items():
        if key not in known:
            near = did_you_mean(str(key), known, shown=str)
            raise UsageError(
                f"Unknown spec key {key!r}; known are {', '.join(known)}.",
                got="a key that is not declared",
                need=f"one of {', '.join(known)}",
                hint=f"{f'{near} Else declare' if near else 'declare'} your own as spec_keys in steelyard.toml",
            )
        if value is not None and not isinstance(value, str | int | float):
            raise UsageError(
                f"The spec {key} must be a text, a number, true or false, not {with_article(type(value).__name__)}.",
                got=with_article(type(value).__name__),
                need="a text, a number, true or false",
            )
    return said


def _held(entry: Entry, asked: Mapping[str, Any], spec_keys: Iterable[str]) -> Agreement:
    agree, differ = [], {}
    for key in dict.fromkeys((*SPEC_DEFAULTS, *spec_keys, *entry.spec, *asked)):
        one, other = _or_default(key, asked.get(key)), _or_default(key, entry.spec.get(key))
        if same_value(one, other):
            agree.append(key)
        else:
            differ[key] = (one, other)
    return Agreement(entry, tuple(agree), differ)


def _or_default(key: str, value: Any) -> Any:
    return SPEC_DEFAULTS.get(key) if value is None else value


def _judged(entry: Entry) -> tuple[Any, ...]:
    """Everything a verdict depends on: two entries that differ in it are two references."""
    return (
        entry.value,
        entry.value_key,
        dict(entry.protocol),
        entry.items_hash,
        *(getattr(entry, name) for name in Entry.declared_keys("setting")),
    )


def _twins(found: Sequence[Entry], file: str) -> tuple[str, ...]:
    if len(found) == 1:
        return ()
    lines = ", ".join(str(entry.line) for entry in found)
    return (f"{found[0].model!r} has the same entry {len(found)} times{_inside(file)}, in lines {lines}; the first is used",)


def _no_model(entries: Sequence[Entry], model: str, asked: Mapping[str, Any], file: str) -> NoReferenceError:
    models = list(dict.fromkeys(entry.model for entry in entries))
    return no_such_model(f"No reference for {model!r}{_inside(file)}", model, models, hint=_how_to_record(model, asked, file))


def no_such_model(said: str, model: str, models: Sequence[str], *, hint: str) -> NoReferenceError:
    """Nothing is recorded of a model. said: of what, as the sentence begins. hint: what to do if its name was not mistyped."""
    near = nearest_few(model, models, most=NEAREST)
    recorded = f"{len(models)} {'model' if len(models) == 1 else 'models'} recorded" if models else "no models recorded"
    need = f"a recorded model{nearest_models(model, models)}"
    mistyped = "" if model in models else meant([repr(each) for each in near])
    return NoReferenceError(f"{said} ({recorded}).", got=recorded, need=need, hint=mistyped or hint)


def nearest_models(model: str, models: Sequence[str]) -> str:
    """The models most like this one, as a part of a sentence; nothing if none is."""
    near = nearest_few(model, models, most=NEAREST)
    return f"; the nearest are {', '.join(map(repr, near))}" if near else ""


def _no_match(held: Sequence[Agreement], model: str, asked: Mapping[str, Any], file: str) -> NoReferenceError:
    nearest = sorted(held, key=lambda each: len(each.differ))[:NEAREST]
    entries, lines = f"{len(held)} {'entry' if len(held) == 1 else 'entries'}", " | ".join(map(str, nearest))
    return NoReferenceError(
        f"No reference for {model!r}{_with(asked) or ' with the default spec'}{_inside(file)}; "
        f"the model has {entries}, the nearest are {lines}.",
        got=f"{entries}, none with this spec",
        need=f"an entry with the same spec; the nearest are {lines}",
        hint=_how_to_record(model, asked, file),
    )


def _how_to_record(model: str, asked: Mapping[str, Any], file: str) -> str:
    task = os.path.splitext(os.path.basename(file))[0] or "TASK"
    spec = {key: value for key, value in asked.items() if value is not None and not same_value(value, SPEC_DEFAULTS.get(key))}
    return f"record one: {record_call(task, model, spec)}"


def _inside(file: str) -> str:
    return f" in {file!r}" if file else ""


def _with(spec: Mapping[str, Any]) -> str:
    named = [f"{key} {_shown(value)}" for key, value in spec.items() if value is not None]
    return f" with {', '.join(named)}" if named else ""


def _value(entry: Entry) -> str:
    return f"threshold {entry.threshold}" if entry.value is None else f"{entry.value_key} {entry.value}"


def _shown(value: object) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


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


def locate(
    task: str,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    *,
    otherwise: Mapping[str, Any] | None = None,
) -> ReferenceLocation:
    """Option, then steelyard.toml (nearest upward, paths relative to it) or [tool.steelyard], then `references`.

    otherwise: settings of the task that count where the configuration does not say them.
    """
    found = find_config(Path.cwd(), None if config is None else Path(config))
    where = Path(directory) if directory is not None else found.directory
    return ReferenceLocation(
        config=found,
        directory=where,
        task=task,
        defaults=_filled(found.task(task), otherwise) if otherwise else found.task(task),
        spec_keys=found.spec_keys_of(task),
        path=task_path(where, task),
    )


def _filled(defaults: TaskDefaults, otherwise: Mapping[str, Any]) -> TaskDefaults:
    return replace(defaults, **{name: value for name, value in otherwise.items() if getattr(defaults, name, value) is None})


def load(place: ReferenceLocation, model: str = "MODEL") -> TaskFile:
    """The task's file, or an error with the call that makes one."""
    if not os.path.lexists(place.path):
        raise SourceError(
            f"No references for task {place.task!r}: there is no file {place.shown!r}.",
            got=f"no file {place.shown!r}",
            hint=record_call(place.task, model),
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
    from steelyard_old.reference import outcomes  # NumPy: only where there are outcomes

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
        f"The reference of {entry.model!r} changed at each of {TRIES} tries to read it.",
        got=f"another one at each of {TRIES} looks",
        need="a moment without updates",
        hint="try again when nothing updates it",
    )


def make_directory(directory: Path) -> None:
    """The directory of the references, made if it is not there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as fault:  # ValueError: a NUL byte in the name
        got = getattr(fault, "strerror", None) or str(fault)
        raise UsageError(f"Cannot make the directory {str(directory)!r}: {got}.", got=got, need="a place that can be written to") from fault


def record_call(task: str, model: str, spec: Mapping[str, Any] | None = None) -> str:
    """The call that puts a run on record."""
    words = f", spec={dict(spec)!r}" if spec else ""
    return f"sy.record(run, task={task!r}, model={model!r}{words})"
