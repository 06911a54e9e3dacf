"""What is wrong with the references on record: said with a level, a code, a file and a line, and refused if it is an error."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

from steelyard import signature
from steelyard.declared.references import LINT
from steelyard.errors import SourceError, SteelyardError
from steelyard.options import did_you_mean, documented
from steelyard.questions.references.lint_history import check_history
from steelyard.questions.references.lint_items import check_items
from steelyard.questions.references.lint_readers import check_readers
from steelyard.questions.references.lint_twins import check_twins
from steelyard.questions.references.lint_values import LintedFile, check_values
from steelyard.questions.references.listing import Where, is_task, plural, shown_path, tasks_there
from steelyard.reference.config import Config, find_config
from steelyard.reference.lookup import load, locate
from steelyard.results.references import LEVELS, Finding, Lint

ENDINGS = (".items", ".history.jsonl", ".unfinished.json")


@documented(
    LINT,
    "a Lint",
    task="Only this task. Default: all.",
    today="The date by which entries are stale. Default: today.",
)
def lint_references(
    task: str | None = None,
    *,
    strict: bool = False,
    every: bool = False,
    directory: Where = None,
    config: Where = None,
    today: date | None = None,
) -> Lint:
    """Everything that can be seen to be wrong with the references of a directory, or of one task, without running a model.

    Errors count, with strict=True warnings too. every=True prints all findings of a kind, not only the first. `today` is the
    date by which entries are stale.
    """
    found = find_config(Path.cwd(), config)
    where, names = tasks_there(directory, config)
    if task is not None:
        place = locate(task, directory, config)
        if not place.path.exists():
            load(place)  # says what is missing, and how to make it
        names = [task]
    elif not where.is_dir():
        raise SourceError(
            "cannot lint the references", got=f"no directory {shown_path(where)!r}", need="a directory of references", hint="steelyard init"
        )
    day = today or datetime.now(UTC).date()
    findings: list[Finding] = []
    entries = 0
    for name in names:
        some, n = _task(name, directory, config, found, day)
        findings += some
        entries += n
    if task is None:
        findings += _strangers(where, names) + _unknown_tasks(found, names)
    findings.sort(key=lambda each: (each.file, each.line or 0, LEVELS.index(each.level)))
    lint = Lint(
        directory=shown_path(where), task=task, files=len(names), entries=entries, findings=tuple(findings), strict=strict, every=every
    )
    return Lint(
        **{name: getattr(lint, name) for name in ("directory", "task", "files", "entries", "findings", "strict", "every")},
        conclusion=_counted(lint),
        signature=signature.write({"goal": "lint", "task": task}),
    )


def _task(name: str, directory: Where, config: Where, found: Config, today: date) -> tuple[list[Finding], int]:
    """The findings of one task. A file that cannot be read is one, so that the others are looked at all the same."""
    try:
        place = locate(name, directory, config)
        file = load(place)
    except SteelyardError as fault:
        at = re.search(r"\bline (\d+)", fault.what)
        shown = shown_path(tasks_there(directory, config)[0] / f"{name}.yaml")
        return [Finding(level="error", code="unreadable", file=shown, line=int(at[1]) if at else None, sentence=str(fault))], 0
    desk = LintedFile(place, file, found.policy, today)
    check_values(desk)
    check_twins(desk)
    check_items(desk)
    check_history(desk)
    check_readers(desk)
    return desk.findings, len(file.entries)


def _strangers(where: Path, names: list[str]) -> list[Finding]:
    """Files that look like references and are never read, and what belongs to a task that is gone."""
    out = []
    for path in sorted(where.iterdir()):
        shown = shown_path(path)
        ending = next((ending for ending in ENDINGS if path.name.endswith(ending)), None)
        if path.suffix == ".yml":
            out.append(Finding(level="warning", code="name", file=shown, sentence="references end in .yaml: this file is never read"))
        elif path.suffix == ".yaml" and not is_task(path.stem):
            out.append(Finding(level="warning", code="name", file=shown, sentence="no task can have this name: this file is never read"))
        elif ending == ".unfinished.json" and path.name.removesuffix(ending) not in names:
            sentence = "a first record was killed before it was made: the next record of this task removes what it left"
            out.append(Finding(level="warning", code="unfinished", file=shown, sentence=sentence))
        elif ending and path.name.removesuffix(ending) not in names:
            level = "warning" if ending == ".items" else "note"
            sentence = f"it belongs to the task {path.name.removesuffix(ending)!r}, which has no file"
            out.append(Finding(level=level, code="orphan", file=shown, sentence=sentence))
    return out


def _unknown_tasks(found: Config, names: list[str]) -> list[Finding]:
    if found.path is None:
        return []
    out = []
    for name in found.tasks:
        if name not in names:
            near = did_you_mean(name, names)
            sentence = f"[tasks.{name}] has no references{f'; {near}' if near else ''}"
            out.append(Finding(level="warning", code="unknown-task", file=shown_path(found.path), sentence=sentence))
    return out


def _counted(lint: Lint) -> str:
    looked = f"{lint.entries:,} {plural('entry', lint.entries)} in {lint.files:,} {plural('file', lint.files)}"
    told = [f"{n:,} {plural(level, n)}" for level in LEVELS if (n := lint.count(level))]
    return f"{looked}: {', '.join(told) if told else 'nothing found'}."
