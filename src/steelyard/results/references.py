"""What is said about references: their list, one of them in full, what is wrong with them, how they came about, what was changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.results.display import Displayable

SCHEMA = 1
LEVELS = ("error", "warning", "note")
FEW = 3  # findings of one kind that are shown in full


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Displayable):
    """The references of a directory, or of one task: a row for each entry, with what a bare score would be held to."""

    directory: str
    task: str | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception: a result may ask render for its looks

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "references",
            "schema": SCHEMA,
            "directory": self.directory,
            "task": self.task,
            "rows": [dict(row) for row in self.rows],
            "conclusion": self.conclusion,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceDetail(Displayable):
    """One reference in full: the entry, the rule with where each number comes from, and what it can find.

    `entry` is None if nothing matches and an explanation was asked for. `held` has every entry of the model, held against
    the spec key by key; None if that was not asked for.
    """

    task: str
    model: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int | None = None
    entry: Mapping[str, Any] | None = None
    rule: tuple[Mapping[str, Any], ...] = ()
    gate: Mapping[str, Any] | None = None
    held: tuple[Mapping[str, Any], ...] | None = None
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "reference",
            "schema": SCHEMA,
            "task": self.task,
            "model": self.model,
            "spec": dict(self.spec),
            "file": self.file,
            "line": self.line,
            "entry": None if self.entry is None else dict(self.entry),
            "rule": [dict(number) for number in self.rule],
            "gate": None if self.gate is None else dict(self.gate),
            "explain": None if self.held is None else [dict(each) for each in self.held],
            "conclusion": self.conclusion,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong or odd: how bad, its code, where, and a sentence. `line` is None where a whole file is meant."""

    level: str
    code: str
    file: str
    sentence: str
    line: int | None = None
    model: str | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        names = ("level", "code", "file", "line", "model", "sentence")
        return {**{name: getattr(self, name) for name in names}, "spec": dict(self.spec)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint(Displayable):
    """What is wrong with the references. Errors count; with `strict` warnings count too; notes never do.

    A text shows a few findings of each kind and counts the others, unless `every` is set; JSON always has all.
    """

    directory: str
    task: str | None = None
    files: int = 0
    entries: int = 0
    findings: tuple[Finding, ...] = ()
    strict: bool = False
    every: bool = False
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def folded(self) -> tuple[list[Finding], list[list[Finding]]]:
        """The findings to be shown, in order; and for each kind with many, those that are only counted. Errors are all shown."""
        kinds: dict[tuple[str, str], list[Finding]] = {}
        for finding in self.findings:
            kinds.setdefault((finding.level, finding.code), []).append(finding)
        if self.every:
            return list(self.findings), []
        hidden = [some[FEW:] for (level, _), some in kinds.items() if level != LEVELS[0] and len(some) > FEW + 1]
        gone = {id(finding) for some in hidden for finding in some}
        return [finding for finding in self.findings if id(finding) not in gone], hidden

    @property
    def exit_code(self) -> int:
        """1 if a finding counts, else 0."""
        counted = LEVELS[:2] if self.strict else LEVELS[:1]
        return int(any(finding.level in counted for finding in self.findings))

    def count(self, level: str) -> int:
        """How many findings are of a level."""
        return sum(finding.level == level for finding in self.findings)

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "lint",
            "schema": SCHEMA,
            "directory": self.directory,
            "task": self.task,
            "files": self.files,
            "entries": self.entries,
            "strict": self.strict,
            "counts": {level: self.count(level) for level in LEVELS},
            "findings": [finding.to_dict() for finding in self.findings],
            "conclusion": self.conclusion,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceHistory(Displayable):
    """How references came about. Each of `series` is one model under one spec: its changes, first to last, and their sum."""

    task: str
    model: str | None = None
    file: str = ""
    series: tuple[Mapping[str, Any], ...] = ()
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "reference_history",
            "schema": SCHEMA,
            "task": self.task,
            "model": self.model,
            "file": self.file,
            "series": [{**each, "changes": [dict(change) for change in each["changes"]]} for each in self.series],
            "conclusion": self.conclusion,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceChange(Displayable):
    """What was done to references: removed, renamed, approved, imported. `rows` has one line for each entry or file.

    `config` is what an import said of its tasks in steelyard.toml: the file, the keys that were added, those that were kept.
    """

    action: str
    directory: str
    rows: tuple[Mapping[str, Any], ...] = ()
    reason: str | None = None
    config: Mapping[str, Any] | None = None
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "reference_change",
            "schema": SCHEMA,
            "action": self.action,
            "directory": self.directory,
            "reason": self.reason,
            "rows": [dict(row) for row in self.rows],
            "config": None if self.config is None else dict(self.config),
            "conclusion": self.conclusion,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectInit(Displayable):
    """What `init` wrote, what it found and left alone, and the commands that come next."""

    written: tuple[str, ...]
    kept: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "init",
            "schema": SCHEMA,
            "written": list(self.written),
            "kept": list(self.kept),
            "next": list(self.next),
            "conclusion": self.conclusion,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }
