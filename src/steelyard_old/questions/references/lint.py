"""What is wrong with the references on record: said with a level, a code, a file and a line, and refused if it is an error."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import SourceError, SteelyardError
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import find, usual
from steelyard_old.options.option import documented
from steelyard_old.options.references import LINT
from steelyard_old.questions.references.detectable import gate_of
from steelyard_old.questions.references.history import chronicles, edited, unfinished_note
from steelyard_old.questions.references.lint_values import LintedFile, check_values, half_digit, raw_values
from steelyard_old.questions.references.listing import Where, is_task, plural, shown_path, tasks_there
from steelyard_old.reference.changes import TORN, followed
from steelyard_old.reference.config import Config, find_config
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import duplicates, load, locate
from steelyard_old.reference.names import canonical_spec, history_path, intent_path, items_directory
from steelyard_old.reference.strict_yaml import MappingNode, Node, ScalarNode, SequenceNode
from steelyard_old.reference.writing import read_history
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.references import LEVELS, Finding, Lint, ReferenceSeries

SEVERAL = 3  # changes in one direction that are a habit; two are noted


def check_history(linted: LintedFile) -> None:
    """Ratchets, values changed by hand, and changes that a killed process left unfinished."""
    for sentence in unfinished_note(linted.place):
        linted.say("warning", "unfinished", sentence, file=shown_path(intent_path(linted.place.directory, linted.place.task)))
    try:
        path = history_path(linted.place.directory, linted.place.task)
        changes = followed(read_history(linted.place))
    except SteelyardError as fault:
        linted.say("error", "history", str(fault))
        return
    if any(change.action == TORN for change in changes):
        linted.say("warning", "history", "a line was cut short, by a crash or a full disk", file=shown_path(path))
    entries = {(entry.model, canonical_spec(entry.spec)): entry for entry in reversed(linted.file.entries)}
    for series in chronicles((change for change in changes if change.action != TORN), entries.values()):
        entry = entries.get((series.model, canonical_spec(series.spec)))
        if entry is not None:
            if edited(series):
                sentence = f"{series.on_file:g}, but the history ends with {series.last:g}: it was changed by hand, without a reason"
                linted.say("warning", "edited", sentence, entry)
            _ratchet(linted, entry, series)


def _ratchet(linted: LintedFile, entry: Entry, series: ReferenceSeries) -> None:
    """The last changes that went one way. Down, each small loss becomes the new normal; up, each lucky run does."""
    values = [*series.numbers]
    if series.on_file is not None and values and values[-1] != series.on_file:
        values.append(series.on_file)
    same = one_way(values)
    if same < 2:
        return
    first, last = values[-1 - same], values[-1]
    rule, gate = gate_of(entry, linted.place.defaults, Warnings())
    worse = (last < first) == (rule is None or rule.higher_is_better)
    total = last - first
    beyond = gate.finds is not None and abs(total) > gate.finds
    level = "warning" if same >= SEVERAL or beyond else "note"
    said = f"moved {'down' if last < first else 'up'} {same} times in a row, {first:g} to {last:g}, together {total:+.4g}"
    if beyond:
        said += f", more than the {gate.finds:.4g} that one check would find"
    linted.say(
        level,
        "ratchet",
        f"{said}: {'each loss was accepted as the new reference' if worse else 'each lucky run became the new reference'}",
        entry,
    )


def one_way(values: Sequence[float]) -> int:
    """How many of the last changes went the same way; changes to the same value do not count.

    >>> one_way([26.48, 26.0, 25.8]), one_way([80.0, 81.0, 80.5]), one_way([5.0])
    (2, 1, 0)
    """
    steps = [later - earlier for earlier, later in pairwise(values) if later != earlier]
    count = 0
    for step in reversed(steps):
        if (step > 0) != (steps[-1] > 0):
            break
        count += 1
    return count


def check_items(linted: LintedFile) -> None:
    """Every entry's outcomes against its entry, and the files that no entry needs."""
    for entry, raw in zip(linted.file.entries, raw_values(linted.file), strict=True):
        if entry.items is not None:
            _outcomes(linted, entry, raw)
        elif entry.items_hash is not None:
            linted.say("error", "items", "an items_hash, but no items: the next run cannot be paired", entry)
    _orphans(linted)


def _outcomes(linted: LintedFile, entry: Entry, raw: str) -> None:
    from steelyard_old.reference import outcomes  # NumPy: only where there are items

    try:
        kept = outcomes.load(linted.place.directory, linted.place.task, str(entry.items))
    except SteelyardError as fault:
        linted.say("error", "items", f"its item outcomes cannot be used: {fault}", entry)
        return
    if entry.num_samples is not None and entry.num_samples != kept.n:
        linted.say("error", "items", f"num_samples {entry.num_samples:,}, but outcomes of {kept.n:,} items", entry)
    if entry.items_hash is not None and entry.items_hash != kept.items_hash:
        linted.say("error", "items", "the items_hash does not match the items in its file: they are different items", entry)
    tries = (known := find(entry.metric or entry.value_key)) is not None and known.of_several_tries  # of one run: no runs of their own
    if entry.runs is not None and entry.runs != len(kept.runs) and not tries:
        linted.say("error", "items", f"runs {entry.runs}, but outcomes of {len(kept.runs)}", entry)
    _value(linted, entry, raw, kept)


def _value(linted: LintedFile, entry: Entry, raw: str, kept: Any) -> None:
    """The value against what its own items give: a value that was lifted or lowered by hand no longer fits."""
    metric = entry.metric or linted.place.defaults.metric or entry.value_key
    if entry.value is None or (known := find(metric)) is None or not known.scored or kept.runs[0].score is None:
        return
    unit = 100.0 if (entry.scale or linted.place.defaults.scale) == "percent" else 1.0
    pooled, by_run = _estimates(kept, known)
    slack = half_digit(raw, entry.value) + 1e-9 * max(unit, abs(entry.value))
    if math.isclose(entry.value, unit * pooled, abs_tol=slack):
        return
    best = [i for i, share in enumerate(by_run, 1) if len(by_run) > 1 and math.isclose(entry.value, unit * share, abs_tol=slack)]
    if best:
        which = "the highest" if max(by_run) in (by_run[i - 1] for i in best) else "the lowest" if best[0] == _lowest(by_run) else "one"
        what = f"{entry.value_key} {raw} is {which} of {len(by_run)} runs, not their mean {unit * pooled:.6g}"
        linted.say("warning", "one-of-runs", f"{what}: the reference depends on luck", entry)
    else:
        linted.say("error", "value", f"{entry.value_key} {raw}, but its items give {unit * pooled:.6g}: changed by hand", entry)


def _lowest(by_run: list[float]) -> int:
    return 1 + by_run.index(min(by_run))


def _estimates(kept: Any, metric: Metric) -> tuple[float, list[float]]:
    """The pooled value as `record` computes it, and that of each run."""
    from steelyard_old.estimate.rows import rows_of_sample
    from steelyard_old.options.measure import settle
    from steelyard_old.reference.outcomes import to_items
    from steelyard_old.tally.sample import Sample
    from steelyard_old.tally.sums import mean_of_known

    settings = settle()
    (row,) = rows_of_sample(usual({"score"}), Sample(to_items(kept), settings, Warnings(), counted=False), settings, Warnings())
    of = metric.of_right
    return of(float(row.estimate or 0.0)), [of(mean_of_known(run.score, kept.weight)) for run in kept.runs]


def _orphans(linted: LintedFile) -> None:
    from steelyard_old.reference.outcome_text import outcomes_header

    try:
        folder = items_directory(linted.place.directory, linted.place.task)
    except SteelyardError as fault:
        linted.say("error", "items", str(fault))
        return
    named = {Path(entry.items).name for entry in linted.file.entries if entry.items}
    used, readable = set(), True
    for path in sorted(folder.glob("*.outcomes")):
        if path.name not in named:
            linted.say("warning", "orphan", "item outcomes that no entry uses", file=shown_path(path))
        header: dict[str, Any] | None = None
        with contextlib.suppress(OSError, ValueError):
            header = outcomes_header(path.read_bytes())
        readable = readable and header is not None
        used.add(f"{str((header or {}).get('items', ''))[:12]}.items")
    for path in sorted(folder.glob("*.items")) if readable else ():
        if path.name not in used:
            linted.say("warning", "orphan", "items that no outcomes use", file=shown_path(path))


KINDS = {"bool": "true or false", "int": "a number", "float": "a number", "null": "nothing", "timestamp": "a date", "str": "a text"}
SHOWN = 5


def check_readers(linted: LintedFile) -> None:
    """Keys and values that PyYAML, and with it most programs, would read as another value than we do.

    Dates that version 0.1.0 wrote behind `recorded` are noted; all else is a warning, since a program would look for another
    model, or find none.
    """
    dates: list[tuple[ScalarNode, str]] = []
    others: list[tuple[ScalarNode, str]] = []
    for name, leaf in _leaves(linted.file.root):
        other = _other_kind(leaf, linted.file.text)
        if other is not None:
            (dates if name == "recorded" and other == "a date" else others).append((leaf, other))
    for level, found in (("note", dates), ("warning", others)):
        if found:
            shown = "; ".join(f"line {leaf.line}: {leaf.raw} is {kind}" for leaf, kind in found[:SHOWN])
            more = f"; and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
            texts = "1 text is" if len(found) == 1 else f"{len(found):,} texts are"
            linted.say(level, "yaml", f'{texts} something else for other YAML readers ({shown}{more}): write "{found[0][0].raw}" in quotes')


def _leaves(node: Node, name: str = "") -> list[tuple[str, ScalarNode]]:
    """Keys and values, each with the key that it is or stands behind."""
    if isinstance(node, ScalarNode):
        return [(name, node)]
    if isinstance(node, SequenceNode):
        return [leaf for item in node.items for leaf in _leaves(item, name)]
    out = []
    for key, value in node.pairs if isinstance(node, MappingNode) else ():
        out += [(str(key.value), key), *_leaves(value, str(key.value))]
    return out


def _other_kind(leaf: ScalarNode, text: str) -> str | None:
    """What PyYAML takes a plain scalar for, if that is not what we do."""
    from yaml.nodes import ScalarNode as Scalar
    from yaml.resolver import Resolver

    if text[leaf.start : leaf.start + 1] in ('"', "'", "|", ">"):
        return None
    tag = str(Resolver().resolve(Scalar, leaf.raw, (True, False)))
    there = KINDS.get(tag.rpartition(":")[2], "something else")
    here = KINDS[{"NoneType": "null"}.get(type(leaf.value).__name__, type(leaf.value).__name__)]
    return there if there != here else None


# Spec keys that TensorRT-LLM's own matching never looks at.
UNSEEN_THERE = ("mtp_enabled", "max_draft_len")


def check_twins(linted: LintedFile) -> None:
    """Duplicates, rows shadowed elsewhere, and names that differ in their case alone."""
    _twins(linted)
    _spelling(linted)


def _twins(linted: LintedFile) -> None:
    for first, *others in duplicates(linted.file.entries):
        for other in others:
            alike = (other.value, other.threshold) == (first.value, first.threshold)
            level, code = ("warning", "duplicate") if alike else ("error", "ambiguous")
            then = "says the same" if alike else f"says {_number(first)}, this one {_number(other)}: a check cannot choose"
            linted.say(level, code, f"shadowed: line {first.line} has the same spec and {then}", other)
    for first, other in _pairs(linted.file.entries, lambda entry: canonical_spec(_seen_there(entry.spec))):
        told = [key for key in UNSEEN_THERE if first.spec.get(key) != other.spec.get(key)]
        if told:
            blind = f"which does not look at {' and '.join(told)} and takes line {first.line}"
            linted.say("warning", "shadowed", f"shadowed in TensorRT-LLM, {blind}; here the two differ", other)


def _spelling(linted: LintedFile) -> None:
    """Texts that differ in their case alone: two references, and one of them is never met."""
    for first, other in _pairs(linted.file.entries, lambda entry: canonical_spec(entry.spec).casefold()):
        if canonical_spec(first.spec) != canonical_spec(other.spec):
            linted.say("warning", "spelling", f"the spec differs from that of line {first.line} only in upper and lower case", other)
    names: dict[str, str] = {}
    for entry in linted.file.entries:
        known = names.setdefault(entry.model.casefold(), entry.model)
        if known != entry.model:
            linted.say("warning", "spelling", f"the model differs from {known!r} only in upper and lower case", entry)
            names[entry.model.casefold()] = entry.model


def _pairs(entries: Iterable[Entry], key: Callable[[Entry], str]) -> list[tuple[Entry, Entry]]:
    """Every later entry of a model with the first that has the same key."""
    first: dict[tuple[str, str], Entry] = {}
    return [(there, entry) for entry in entries if (there := first.setdefault((entry.model, key(entry)), entry)) is not entry]


def _seen_there(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in UNSEEN_THERE}


def _number(entry: Entry) -> str:
    return f"threshold {entry.threshold:g}" if entry.value is None and entry.threshold is not None else f"{entry.value:g}"


ENDINGS = (".items", ".history.jsonl", ".unfinished.json")


@documented(
    LINT,
    "a Lint",
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

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there)
    ...     found = lint_references(directory=there)
    >>> found.conclusion
    '1 entry in 1 file: 1 warning, 1 note.'
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
            f"No directory of references: {shown_path(where)!r}.",
            got=f"no directory {shown_path(where)!r}",
            need="a directory of references",
            hint="sy.init()",
        )
    day = datetime.now(UTC).date() if today is None else today.date() if isinstance(today, datetime) else today
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
    linted = LintedFile(place, file, found.policy, today)
    check_values(linted)
    check_twins(linted)
    check_items(linted)
    check_history(linted)
    check_readers(linted)
    return linted.findings, len(file.entries)


def _strangers(where: Path, names: list[str]) -> list[Finding]:
    """Files that look like references and are never read, and what belongs to a task that is gone."""
    out = []
    for path in sorted(where.iterdir()):
        shown = shown_path(path)
        ending = next((ending for ending in ENDINGS if path.name.endswith(ending)), None)
        if path.suffix == ".yml":
            out.append(Finding(level="warning", code="name", file=shown, sentence="references end in .yaml: this file is never read"))
        elif path.suffix == ".yaml" and not is_task(path.stem):
            out.append(Finding(level="warning", code="name", file=shown, sentence="this is not a valid task name: the file is never read"))
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
