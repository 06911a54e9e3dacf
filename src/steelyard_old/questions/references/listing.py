"""The references on record: all of them as a list, and one of them in full."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard_old.errors import DataError, SteelyardError
from steelyard_old.options.option import documented
from steelyard_old.options.references import LIST, SHOW
from steelyard_old.questions.references.detectable import gate_of, sources
from steelyard_old.reference.config import find_config
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import Agreement, NoReferenceError, ReferenceLocation, explain, load, locate, matched
from steelyard_old.reference.names import check_spec, check_task
from steelyard_old.reference.task_file import TaskFile
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.references import HeldEntry, ListedReference, Listing, ReferenceDetail

Where = str | os.PathLike[str] | None


# ---- list ------------------------------------------------------------------------------------------------------------


@documented(
    LIST,
    "a Listing",
)
def list_references(task: str | None = None, *, directory: Where = None, config: Where = None) -> Listing:
    """Every reference of a directory, or of one task, with the threshold that a bare score would meet.

    A file that cannot be read is told in a warning, unless it is the one that was asked for.

    >>> import tempfile
    >>> from steelyard_old.questions.record.record import record
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = record([{"id": i, "score": int(i > 9)} for i in range(100)], task="gsm8k", model="m", directory=there)
    ...     (found,) = list_references(directory=there).rows
    >>> found.model, found.value, found.has_items, found.design
    ('m', 0.9, True, 'paired')
    """
    where, names = tasks_there(directory, config)
    rows: list[ListedReference] = []
    warnings: list[str] = []
    if task is not None:
        rows = rows_of(locate(task, directory, config))
        names = []
    for name in names:
        try:
            rows += rows_of(locate(name, directory, config))
        except SteelyardError as fault:
            warnings.append(str(fault))
    return Listing(
        directory=shown_path(where),
        task=task,
        rows=tuple(rows),
        conclusion=_counted(rows, where),
        warnings=tuple(warnings),
        signature=signature.write({"goal": "references", "task": task}),
    )


def tasks_there(directory: Where = None, config: Where = None) -> tuple[Path, list[str]]:
    """The directory of references, and the tasks that have a file in it. What cannot be a task's name is not one."""
    where = Path(directory) if directory is not None else find_config(Path.cwd(), config).directory
    try:
        files = sorted(path.stem for path in where.iterdir() if path.suffix == ".yaml")
    except FileNotFoundError:
        files = []
    except OSError as fault:
        raise DataError(
            f"Cannot look into {str(where)!r}: {fault.strerror or fault}.",
            got=fault.strerror or str(fault),
            need="a directory of references",
        ) from fault
    return where, [name for name in files if is_task(name)]


def is_task(name: str) -> bool:
    """Can this be the name of a task?"""
    try:
        check_task(name)
    except SteelyardError:
        return False
    return True


def rows_of(place: ReferenceLocation) -> list[ListedReference]:
    """A row for each entry of a task."""
    return [_row(entry, place) for entry in load(place).entries]


def _row(entry: Entry, place: ReferenceLocation) -> ListedReference:
    rule, gate = gate_of(entry, place.defaults, Warnings())
    return ListedReference(
        task=place.task,
        model=entry.model,
        spec=dict(entry.spec),
        metric=entry.metric or place.defaults.metric or entry.value_key,
        scale=entry.scale or place.defaults.scale,
        value=entry.value,
        n=entry.num_samples if entry.num_samples is not None else None if rule is None else rule.num_samples,
        runs=entry.runs,
        has_items=entry.items is not None,
        design=gate.design,
        threshold=gate.threshold,
        bare_score_threshold=gate.bare_score_threshold,
        mde=gate.finds,
        recorded=entry.recorded,
        by=entry.by,
        approved=entry.approved,
        file=place.shown,
        line=entry.line,
    )


def _counted(rows: Sequence[ListedReference], where: Path) -> str:
    if not rows:
        return f"No references in {shown_path(where)}."
    tasks, models = {row.task for row in rows}, {row.model for row in rows}
    with_items = sum(row.has_items for row in rows)
    return (
        f"{len(rows):,} {plural('entry', len(rows))} of {len(models):,} {plural('model', len(models))} "
        f"on {len(tasks):,} {plural('task', len(tasks))}; {with_items:,} with item outcomes."
    )


def plural(word: str, n: int) -> str:
    """The word for so many of them."""
    if n == 1:
        return word
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def shown_path(path: Path) -> str:
    """A path as a person would write it: relative to where they stand, if it lies there. Links keep their names."""
    try:
        return str(Path(os.path.abspath(path)).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


# ---- show ------------------------------------------------------------------------------------------------------------


@documented(
    SHOW,
    "a ReferenceDetail",
)
def show_reference(
    task: str,
    model: str,
    spec: Mapping[str, Any] | None = None,
    *,
    explained: bool = False,
    directory: Where = None,
    config: Where = None,
) -> ReferenceDetail:
    """One reference: its entry, the rule with the source of each number, what a bare score is held to, the drop it would find.

    explained=True holds every entry of the model against the spec, key by key, and answers even where none matches.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there)
    ...     found = show_reference("gsm8k", "m", directory=there)
    >>> found.line, [number["value"] for number in found.rule if number["name"] == "alpha"]
    (2, [0.05])
    """
    place = locate(task, directory, config)
    file = load(place)
    facts = {"goal": "reference", "task": task, "model": model, "spec": signed_spec(spec)}
    held = tuple(map(_held, explain(file.entries, model, spec, spec_keys=place.spec_keys))) if explained else None
    try:
        match = matched(place, model, spec, file)
    except SteelyardError as fault:
        if not held:
            raise
        asked = dict(spec or {})
        return ReferenceDetail(
            task=task, model=model, spec=asked, file=place.shown, held=held, conclusion=str(fault), signature=signature.write(facts)
        )
    entry = match.entry
    warnings = Warnings()
    warnings.extend(match.warnings)
    rule, gate = gate_of(entry, place.defaults, warnings)
    return ReferenceDetail(
        task=task,
        model=model,
        spec=dict(entry.spec),
        file=place.shown,
        line=entry.line,
        entry=entry.to_plain(),
        rule=() if rule is None else sources(rule, entry, place.defaults),
        gate=gate,
        held=held,
        conclusion=f"{model} on {task}: {match.explanation}.",
        warnings=tuple(warnings),
        signature=signature.write({**facts, "metric": rule and rule.metric, "n": gate.n}),
    )


def _held(agreement: Agreement) -> HeldEntry:
    entry = agreement.entry
    differ = {key: {"asked": asked, "recorded": recorded} for key, (asked, recorded) in agreement.differ.items()}
    agree = tuple(agreement.agree)
    return HeldEntry(line=entry.line, spec=dict(entry.spec), value=entry.value, matches=agreement.matches, agree=agree, differ=differ)


def signed_spec(spec: Mapping[str, Any] | None) -> list[str] | None:
    """A spec as a signature has it."""
    return [f"{key}={value}" for key, value in sorted(check_spec(spec or {}).items())] or None


def found_or_listed(place: ReferenceLocation, file: TaskFile, model: str, spec: Mapping[str, Any] | None, line: int | None = None) -> Entry:
    """The entry to be changed. Nothing that matches: the nearest are named, and the list is offered, not a new record."""
    if line is not None:
        return _in_line(place, file, model, line)
    try:
        return matched(place, model, spec, file).entry
    except NoReferenceError as fault:
        mistyped = model not in file.models() and fault.hint.startswith("did you mean")
        hint = fault.hint if mistyped else f"sy.list_references({place.task!r})"
        raise NoReferenceError(fault.what, got=fault.got, need=fault.need, hint=hint) from fault


def _in_line(place: ReferenceLocation, file: TaskFile, model: str, line: int) -> Entry:
    entry = next((each for each in file.entries if each.line == line and each.model == model), None)
    if entry is None:
        lines = [str(each.line) for each in file.entries if each.model == model]
        began = f"its entries begin on lines {', '.join(lines[:20])}" if lines else "the model has no entries"
        raise NoReferenceError(
            f"No entry of {model!r} begins on line {line} of {place.shown!r} ({began}).",
            got=began,
            need="the line where an entry begins",
            hint=f"sy.list_references({place.task!r})",
        )
    return entry
