"""What is said about references: their list, one of them in full, what is wrong with them, how they came about, what was changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard.late_dataclass import dataclass
from steelyard.results.base import Result, ResultPart, said_as

LEVELS = ("error", "warning", "note")
FEW = 3  # findings of one kind that are shown in full


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Listing(Result):
    """The references of a directory, or of one task: a row for each entry, with what a bare score would be held to."""

    KIND = "references"

    directory: str
    task: str | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReferenceDetail(Result):
    """One reference in full: the entry, the rule with where each number comes from, and what it can find.

    `entry` is None if nothing matches and an explanation was asked for. `held` has every entry of the model, held against
    the spec key by key; None if that was not asked for.
    """

    KIND = "reference"

    task: str
    model: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int | None = None
    entry: Mapping[str, Any] | None = None
    rule: tuple[Mapping[str, Any], ...] = ()
    gate: Mapping[str, Any] | None = None
    held: tuple[Mapping[str, Any], ...] | None = said_as("explain", default=None)
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(ResultPart):
    """One thing that is wrong or odd: how bad, its code, where, and a sentence. `line` is None where a whole file is meant."""

    level: str
    code: str
    file: str
    line: int | None = None
    model: str | None = None
    sentence: str
    spec: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lint(Result):
    """What is wrong with the references. Errors count; with `strict` warnings count too; notes never do.

    A text shows a few findings of each kind and counts the others, unless `every` is set; JSON always has all.
    """

    KIND = "lint"
    ALSO = ("counts",)

    directory: str
    task: str | None = None
    files: int = 0
    entries: int = 0
    strict: bool = False
    findings: tuple[Finding, ...] = ()
    every: bool = said_as(None, default=False)
    conclusion: str = ""

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

    @property
    def counts(self) -> dict[str, int]:
        """How many findings are of each level."""
        return {level: self.count(level) for level in LEVELS}

    def count(self, level: str) -> int:
        """How many findings are of a level."""
        return sum(finding.level == level for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReferenceHistory(Result):
    """How references came about. Each of `series` is one model under one spec: its changes, first to last, and their sum."""

    KIND = "reference_history"

    task: str
    model: str | None = None
    file: str = ""
    series: tuple[Mapping[str, Any], ...] = ()
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReferenceChange(Result):
    """What was done to references: removed, renamed, approved, imported. `rows` has one line for each entry or file.

    `config` is what an import said of its tasks in steelyard.toml: the file, the keys that were added, those that were kept.
    """

    KIND = "reference_change"

    action: str
    directory: str
    reason: str | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    config: Mapping[str, Any] | None = None
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProjectInit(Result):
    """What `init` wrote, what it found and left alone, and the commands that come next."""

    KIND = "init"

    written: tuple[str, ...]
    kept: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    conclusion: str = ""
