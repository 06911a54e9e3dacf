"""References of other suites put on record here: TensorRT-LLM's files, lm-eval configurations as vLLM keeps them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from steelyard_old.atomic import read_if_there
from steelyard_old.error_rates import ALPHA
from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.guard.rule import direction
from steelyard_old.late_dataclass import dataclass
from steelyard_old.locking import update_file
from steelyard_old.metrics.catalogue import is_share
from steelyard_old.options.option import documented, unknown_word
from steelyard_old.options.references import IMPORT
from steelyard_old.questions.references.changes import signature_of
from steelyard_old.questions.references.listing import Where, plural, shown_path
from steelyard_old.reference.changes import Change
from steelyard_old.reference.config import find_config
from steelyard_old.reference.config_text import WithTables, with_tables
from steelyard_old.reference.entry import PLAIN_KEY, Entry
from steelyard_old.reference.entry_schema import same
from steelyard_old.reference.importing import Imported, import_trtllm, import_vllm
from steelyard_old.reference.lookup import ReferenceLocation, duplicates, entry_there, locate
from steelyard_old.reference.strict_yaml import decode
from steelyard_old.reference.suite_tasks import TRTLLM
from steelyard_old.reference.task_file import TaskFile, with_entry
from steelyard_old.reference.writing import PlannedWrite, carry_out, parsed
from steelyard_old.results import signature
from steelyard_old.results.references import ImportedFile, ImportedSettings, KeptSetting, ReferenceChange

SHOWN = 3  # examples in one sentence
FILE, PROJECT = "steelyard.toml", "pyproject.toml"
WORDS = {"higher_is_better": "direction", "sigma": "sigma", "num_samples": "num_samples", "alpha": "alpha"}
TAKEN = {"direction": "higher is taken as better", "alpha": f"{ALPHA:g} is taken"}


@dataclass(slots=True)
class ImportedConfig:
    """What was written into the configuration, and what there is to say about it."""

    told: ImportedSettings | None = None
    sentences: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def learn_tasks(found: Imported, dialect: str, places: Mapping[str, ReferenceLocation], config: Where) -> ImportedConfig:
    """Write the tables of the known tasks. What the entries, the configuration and the suite leave open is a warning."""
    out = ImportedConfig()
    known = {task: TRTLLM[task] for task in found.tasks if dialect == "trtllm" and task in TRTLLM}
    if known:
        _write(known, config, out)
    for task, entries in found.tasks.items():
        if task not in known and (open_ := _open(entries, places[task], dialect)):
            said = [f"{word} ({TAKEN[word]})" if word in TAKEN else word for word in open_]
            out.warnings.append(f"{task}: the import does not know {', '.join(said)}; say so in [tasks.{task}] of {FILE}")
    return out


def _write(known: Mapping[str, Mapping[str, Any]], config: Where, out: ImportedConfig) -> None:
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
    kept = tuple(KeptSetting(task=task, key=key, there=there, ours=ours) for task, key, there, ours in made.kept)
    out.told = ImportedSettings(file=shown, created=new, added=made.added, kept=kept)
    if made.added:
        names = list(made.added)
        more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
        out.sentences.append(f"Task settings added to {shown}{' (new)' if new else ''}: {', '.join(names[:SHOWN])}{more}.")
    for task in dict.fromkeys(each[0] for each in made.kept):
        said = ", ".join(f"{key} = {there!r}, not {ours!r}" for name, key, there, ours in made.kept if name == task)
        out.warnings.append(f"{shown} already has a table [tasks.{task}], which takes precedence: {said}")


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
    return direction(metric) is not None


DIALECTS: dict[str, Callable[[str | os.PathLike[str]], Imported]] = {"trtllm": import_trtllm, "vllm": import_vllm}


@dataclass(slots=True)
class Merge:
    """What an import does to one task: the new text, and which entries are added, replaced, or there already."""

    text: str
    added: list[Entry]
    replaced: list[tuple[Entry, Entry]]
    alike: int = 0
    verbatim: bool = False


@documented(
    IMPORT,
    "a ReferenceChange",
)
def import_references(
    path: str | os.PathLike[str],
    *,
    dialect: str,
    update: bool = False,
    reason: str | None = None,
    directory: Where = None,
    config: Where = None,
) -> ReferenceChange:
    """Put the references of another suite on record.

    Every task is tried before any file is written, and each file is written whole or not at all. An entry that is there with
    other numbers is replaced only with update=True. A file that is a task file already is copied with its comments. What the
    other suite's code knows of its tasks (direction, sigma, alpha, number of items) goes into [tasks.NAME] of steelyard.toml,
    before the references: none of them is ever judged without it. Nothing that is said there already is changed.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import steelyard_old as sy
    >>> with tempfile.TemporaryDirectory() as there:
    ...     theirs, ours = Path(there) / "gsm8k.yaml", Path(there) / "references"
    ...     _ = theirs.write_text("llama: [{accuracy: 76.7, num_samples: 1319}]")
    ...     _ = sy.init(where=there)
    ...     config = Path(there) / "steelyard.toml"
    ...     done = import_references(theirs, dialect="trtllm", directory=ours, config=config)
    ...     (row,) = sy.list_references(directory=ours, config=config).rows
    >>> row.task, row.model, row.value
    ('gsm8k', 'llama', 76.7)
    """
    if dialect not in DIALECTS:
        raise unknown_word("dialect", dialect, tuple(DIALECTS))
    found = DIALECTS[dialect](path)
    why = (reason or "").strip() or f"imported from {os.path.basename(os.path.abspath(path))} ({dialect})"
    places = {task: locate(task, directory, config) for task in found.tasks}
    for place in places.values():  # a rehearsal: nothing is written if one of them cannot be
        _merged(parsed(read_if_there(place.path), place), place, found, update)
    warnings = list(found.warnings)
    learned = learn_tasks(found, dialect, places, config)
    warnings += learned.warnings
    rows = [_written(places[task], found, update, why, warnings) for task in found.tasks]
    return ReferenceChange(
        action="import",
        directory=shown_path(next(iter(places.values())).directory),
        rows=tuple(rows),
        reason=why,
        conclusion=" ".join([_counted(rows, dialect), *learned.sentences]),
        config=learned.told,
        warnings=tuple(warnings),
        signature=signature.write({"goal": "import", "task": sorted(found.tasks), "method": dialect}),
    )


def _merged(file: TaskFile, place: ReferenceLocation, found: Imported, update: bool) -> Merge:
    """The text of the task's file with the imported entries in it."""
    entries = found.tasks[place.task]
    text = found.verbatim.get(place.task)
    if text is not None and not file.entries and not file.text.strip():
        whole = parsed(text.encode(), place)  # read again, with the spec keys and the metric that are declared here
        return Merge(text, list(whole.entries), [], verbatim=True)
    out = Merge(file.text, [], [])
    in_the_way: list[tuple[Entry, Entry]] = []
    taken: list[Entry] = []
    for entry in entries:
        there = entry_there(place, file, entry.model, entry.spec)
        if there is not None and same(there, entry):
            out.alike += 1
            continue
        if there is not None and any(same(there, other) for other in taken):
            raise _twice(place, entry, there)
        if there is not None and not update:
            in_the_way.append((there, entry))
            continue
        new = entry if there is None else _over(there, entry)
        file = _parsed_again(with_entry(file, new, replace=there), place)
        taken.append(new)
        if there is None:
            out.added.append(new)
        else:
            out.replaced.append((there, new))
    if in_the_way:
        raise _refused(place, in_the_way)
    out.text = file.text
    return out


def _over(old: Entry, new: Entry) -> Entry:
    """The imported entry in the place of an old one: the value first on record stays known, so that drift can be seen."""
    return replace(new, first_value=old.first_value if old.first_value is not None else old.value)


def _parsed_again(text: str, place: ReferenceLocation) -> TaskFile:
    return parsed(text.encode(), place)


def _written(place: ReferenceLocation, found: Imported, update: bool, why: str, warnings: list[str]) -> ImportedFile:
    done: list[Merge] = []
    signed = signature_of(place)

    def plan(file: TaskFile) -> PlannedWrite:
        merge = _merged(file, place, found, update)
        done[:] = [merge]
        pairs: list[tuple[Entry | None, Entry]] = [*((None, entry) for entry in merge.added), *merge.replaced]
        # A line for each entry that is new or replaced: whoever changes a value by hand later can then be asked why.
        lines = [replace(_change(old, new, why), **signed) for old, new in pairs]
        gone = dict.fromkeys(old.items for old, new in merge.replaced if old.items is not None and old.items != new.items)
        return PlannedWrite(action="import", text=merge.text, lines=lines, gone=tuple(gone))

    told = carry_out(place, plan)
    (merge,) = done
    warnings += [*_oddities(place, merge, found), *told]
    return ImportedFile(
        task=place.task,
        file=place.shown,
        added=len(merge.added),
        replaced=len(merge.replaced),
        unchanged=merge.alike,
        verbatim=merge.verbatim,
    )


def _change(old: Entry | None, new: Entry, why: str) -> Change:
    return Change(
        action="import",
        model=new.model,
        spec=dict(new.spec),
        old=None if old is None else old.number,
        new=new.number,
        n=new.num_samples,
        runs=new.runs,
        reason=why,
    )


def _oddities(place: ReferenceLocation, merge: Merge, found: Imported) -> list[str]:
    if not merge.verbatim:
        lost = bool(merge.added or merge.replaced) and "#" in (found.verbatim.get(place.task) or "")
        return [f"{place.shown}: entries were merged into an existing file; comments were not imported"] if lost else []
    groups = duplicates(merge.added)
    lines = "; ".join(f"{group[0].model}, lines {', '.join(str(entry.line) for entry in group)}" for group in groups[:SHOWN])
    sentence = f"{place.shown}: some imported entries have the same spec ({lines}); run steelyard references lint for details"
    return [sentence] if groups else []


def _refused(place: ReferenceLocation, pairs: Sequence[tuple[Entry, Entry]]) -> UsageError:
    shown = "; ".join(f"{there.model} in line {there.line} has {there.number}, the import {entry.number}" for there, entry in pairs[:SHOWN])
    more = f"; and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    return UsageError(
        f"{len(pairs)} {plural('entry', len(pairs))} of {place.shown!r} would get other numbers: {shown}{more}.",
        got=f"{len(pairs)} {plural('entry', len(pairs))} on record already with other numbers: {shown}{more}",
        need="update=True to replace them",
        hint="nothing was written; update=True replaces them",
    )


def _twice(place: ReferenceLocation, entry: Entry, other: Entry) -> DataError:
    return DataError(
        f"Two different entries of {entry.model!r} with one spec would go into {place.shown!r}: {other.number} and {entry.number}.",
        got=f"two different entries of {entry.model!r} with one spec, {other.number} and {entry.number}",
        need="one of them",
        hint="import the files one by one, or give one a spec key of its own",
    )


def _counted(rows: Sequence[ImportedFile], dialect: str) -> str:
    added, replaced = sum(row.added for row in rows), sum(row.replaced for row in rows)
    alike = sum(row.unchanged for row in rows)
    return (
        f"{added:,} {plural('entry', added)} added, {replaced:,} replaced, {alike:,} already there, "
        f"in {len(rows):,} {plural('task', len(rows))} ({dialect})."
    )
