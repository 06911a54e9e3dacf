"""What is said about references: their list, one of them in full, what is wrong with them, how they came about, what was changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import NOT_SET, OMIT_DEFAULT, Result, ResultPart, json_name

LEVELS = ("error", "warning", "note")
FEW = 3  # findings of one kind that are shown in full


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedReference(ResultPart):
    """One entry of a list: what is on record, and what a check of it would be held to and find.

    threshold: what a run would be held to, None where items are paired and it depends on them. bare_score_threshold: what a bare score
    would be held to; version 0.1.0 had only the other. mde: the drop that the strongest check would find. has_items: whether outcomes
    are on record.
    """

    task: str
    model: str
    spec: Mapping[str, Any] = field(default_factory=dict)  # the keys are the user's
    metric: str | None = None
    scale: str | None = None
    value: float | None = None
    n: int | None = None
    runs: int | None = None
    has_items: bool = json_name("items", default=False)
    design: str | None = None
    threshold: float | None = None
    bare_score_threshold: float | None = field(default=NOT_SET, metadata=OMIT_DEFAULT)
    mde: float | None = None
    recorded: str | None = None
    by: str | None = None
    approved: str | None = None
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNumber(ResultPart):
    """One number of the rule that a run is judged by, and where it comes from: entry, task, metric, default, or not given."""

    name: str
    value: str | float | bool | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceGate(ResultPart):
    """What a check against a reference does: its design, what it holds a run to, what it finds. `note` says what cannot be known before,
    where a number is None.

    `bare_score_threshold` and `mde` are those of a bare score, in the scale of the value. paired_mde: what a run with items finds, if one
    item in twenty changes between healthy runs.
    """

    design: str
    threshold: float | None = None
    bare_score_threshold: float | None = field(default=NOT_SET, metadata=OMIT_DEFAULT)
    mde: float | None = None
    paired_mde: float | None = None
    sigma: float | None = None
    n: int | None = None
    note: str = ""

    @property
    def finds(self) -> float | None:
        """The drop that the strongest check against this reference would find."""
        return self.paired_mde if self.design == "paired" and self.paired_mde is not None else self.mde


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEntry(ResultPart):
    """An entry checked against a spec: whether it matches, the keys that agree, and those that differ (asked, recorded)."""

    line: int | None
    spec: Mapping[str, Any] = field(default_factory=dict)  # the keys are the user's
    value: float | None
    matches: bool = False
    agree: tuple[str, ...] = ()
    differ: Mapping[str, Any] = field(default_factory=dict)  # by the user's keys


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Listing(Result):
    """The references of a directory, or of one task: a row for each entry, with what a bare score would be held to."""

    KIND = "references"

    directory: str
    task: str | None = None
    rows: tuple[ListedReference, ...] = ()
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReferenceDetail(Result):
    """One reference in full: the entry, the rule with where each number comes from, and what it can find.

    `entry` is None if nothing matches and an explanation was asked for. `held` has every entry of the model, checked against
    the spec key by key; None if that was not asked for.
    """

    KIND = "reference"

    task: str
    model: str
    spec: Mapping[str, Any] = field(default_factory=dict)  # the keys are the user's
    file: str = ""
    line: int | None = None
    entry: Mapping[str, Any] | None = None  # as the file has it, which may have keys of other tools
    rule: tuple[RuleNumber, ...] = ()
    gate: ReferenceGate | None = None
    held: tuple[HeldEntry, ...] | None = json_name("explain", default=None)
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
    spec: Mapping[str, Any] = field(default_factory=dict)  # the keys are the user's


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
    every: bool = json_name(None, default=False)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange(ResultPart):
    """One change of a reference: when, what was done, the number (or name) before and after, by whom and why, and by which tool."""

    BRIEF = True

    time: str
    action: str
    old: str | float | None = None
    new: str | float | None = None
    n: int | None = None
    runs: int | None = None
    by: str | None = None
    reason: str | None = None
    commit: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSeries(ResultPart):
    """The changes of one model under one spec, first to last, and the numbers that they put on record in turn (since it was last removed).

    first, last, and their difference `change`: of those numbers. on_file, line: what the file has now.
    """

    model: str
    spec: Mapping[str, Any]  # the keys are the user's
    changes: tuple[RecordedChange, ...] = ()
    numbers: tuple[float, ...] = json_name("values", default=())
    first: float | None = None
    last: float | None = None
    change: float | None = None
    on_file: float | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedReference(ResultPart):
    """An entry that was removed, renamed (from old_model) or approved. items_file: of its outcomes; items_removed: whether that is gone."""

    BRIEF = True
    ALWAYS = ("task", "model", "spec", "value", "file", "line")

    task: str
    model: str
    spec: Mapping[str, Any] = field(default_factory=dict)  # the keys are the user's
    value: float | None = None
    file: str = ""
    line: int | None = None
    items_file: str | None = json_name("items", default=NOT_SET)
    items_removed: bool | None = NOT_SET
    old_model: str | None = NOT_SET
    approved: str | None = NOT_SET
    approved_before: str | None = NOT_SET


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile(ResultPart):
    """A file of a task that was written by an import: entries added, replaced and already there; verbatim: its text was copied as it is."""

    task: str
    file: str
    added: int
    replaced: int
    unchanged: int
    verbatim: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSetting(ResultPart):
    """A key of a task that steelyard.toml has already: what stands there, and what the import would have said."""

    task: str
    key: str
    there: str | float | bool | None
    ours: str | float | bool | None = json_name("import")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSettings(ResultPart):
    """What an import said of its tasks in steelyard.toml: the file, whether it is new, the keys added for each task, and what was kept."""

    file: str
    created: bool
    added: Mapping[str, Any]  # by task, the names of the keys
    kept: tuple[KeptSetting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReferenceHistory(Result):
    """How references came about. Each of `series` is one model under one spec: its changes, first to last, and their sum."""

    KIND = "reference_history"

    task: str
    model: str | None = None
    file: str = ""
    series: tuple[ReferenceSeries, ...] = ()
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
    rows: tuple[ChangedReference | ImportedFile, ...] = ()
    config: ImportedSettings | None = None
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProjectInit(Result):
    """What `init` wrote, what it found and left alone, and the commands that come next."""

    KIND = "init"

    written: tuple[str, ...]
    kept: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    conclusion: str = ""
