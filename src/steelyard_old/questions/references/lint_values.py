"""What can be wrong with one entry as it is written: its value, its gate, its provenance."""

from __future__ import annotations

import math
import re
from dataclasses import field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.guard.rule import GuardRule, is_better_higher
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import is_share, parse
from steelyard_old.questions.references.detectable import gate_of
from steelyard_old.reference.config import Policy
from steelyard_old.reference.entry import ENOUGH_RUNS, PLAIN_KEY, Entry
from steelyard_old.reference.lookup import ReferenceLocation
from steelyard_old.reference.strict_yaml import MappingNode, ScalarNode, SequenceNode
from steelyard_old.reference.suite_tasks import TRTLLM
from steelyard_old.reference.task_file import TaskFile
from steelyard_old.results.base import Warnings
from steelyard_old.results.references import Finding, ReferenceGate

PROVENANCE = ("recorded", "by", "commit", "reason")
# Shares of right answers, here and elsewhere: k of n.
COUNTED = ("acc_norm", "exact_match")  # shares of right items that other suites have names of their own for
# Words in a comment with which people promise to measure later.
_PROMISED = re.compile(
    r"\b(to-?do|fixme|xxx|tbd|placeholder|dummy|guess(ed)?|update (me|after|later|once)|not (yet )?measured)\b", re.IGNORECASE
)


@dataclass(slots=True)
class LintedFile:
    """A task file under the lamp, and what was found so far."""

    place: ReferenceLocation
    file: TaskFile
    policy: Policy
    today: date
    findings: list[Finding] = field(default_factory=list)

    def say(self, level: str, code: str, sentence: str, entry: Entry | None = None, *, file: str | None = None) -> None:
        at: dict[str, Any] = {} if entry is None else {"line": entry.line, "model": entry.model, "spec": dict(entry.spec)}
        self.findings.append(Finding(level=level, code=code, file=file or self.place.shown, sentence=sentence, **at))


def check_values(linted: LintedFile) -> None:
    """Everything that the text of a task file shows by itself."""
    written = raw_values(linted.file)
    ungated: dict[str, list[Entry]] = {}
    for entry, raw in zip(linted.file.entries, written, strict=True):
        rule, gate = gate_of(entry, linted.place.defaults, Warnings())
        if not _placeholder(linted, entry, raw):
            metric = _known(entry, linted)
            outside = _range(linted, entry, metric)
            if not outside:
                _counts(linted, entry, raw)
            if rule is None:
                if not _floor(linted, entry, metric):
                    linted.say("error", "rule", f"no threshold can be computed: {gate.note}", entry)
            elif not outside:
                _gate(linted, entry, rule, gate, metric)
            if rule is not None and gate.bare_score_threshold is None:
                ungated.setdefault(gate.note, []).append(entry)
        _runs(linted, entry)
        _age(linted, entry)
    _provenance(linted)
    for note, entries in ungated.items():
        linted.say("note", "no-threshold", f"{_some(entries)}: no threshold for a bare score: {note[:1].lower()}{note[1:].rstrip('.')}")
    _suite(linted)
    bare = [entry for entry in linted.file.entries if entry.scale is None and linted.place.defaults.scale is None]
    if bare:
        linted.say(
            "note", "scale", f'{_some(bare)}: the scale is not declared; scale = "percent" or "fraction" in [tasks.{linted.place.task}]'
        )


def _suite(linted: LintedFile) -> None:
    """TensorRT-LLM's files call every metric accuracy: without its table a perplexity that rises would be an improvement."""
    facts, own = TRTLLM.get(linted.place.task, {}), linted.place.defaults
    plain = any(entry.metric is None and entry.higher_is_better is None and entry.value_key == PLAIN_KEY for entry in linted.file.entries)
    if not facts or facts["metric"] == PLAIN_KEY or own.metric is not None or own.higher_is_better is not None or not plain:
        return
    word = "higher" if facts["higher_is_better"] else "lower"
    sentence = (
        f"in TensorRT-LLM this task is {facts['metric']}, {word} is better, alpha {facts['alpha']:g}; here it is taken for accuracy: "
        f"say so in [tasks.{linted.place.task}] (references import --dialect trtllm writes it)"
    )
    linted.say("warning", "suite", sentence)


def raw_values(file: TaskFile) -> list[str]:
    """The value of each entry as it is written: 40.40 says more than 40.4."""
    pairs = file.root.pairs if isinstance(file.root, MappingNode) else ()
    items = [item for _, listed in pairs if isinstance(listed, SequenceNode) for item in listed.items]
    out = []
    for entry, item in zip(file.entries, items, strict=True):
        node = item.get(entry.value_key) if isinstance(item, MappingNode) else None
        out.append(node.raw if isinstance(node, ScalarNode) else "")
    return out


def half_digit(raw: str, value: float) -> float:
    """Half of the last place that is written: what rounding can have moved the value by.

    >>> half_digit("48.03", 48.03), half_digit("65", 65.0)
    (0.005, 0.5)
    """
    for text in (raw, repr(value)):
        try:
            exponent = Decimal(text.replace("_", "")).as_tuple().exponent
        except InvalidOperation:
            continue
        if isinstance(exponent, int):
            return 0.5 * 10.0**exponent
    return 0.0


# ---- the value -------------------------------------------------------------------------------------------------------


def _placeholder(linted: LintedFile, entry: Entry, raw: str) -> bool:
    """Whether the value is none at all. A promise in a comment is told as well, but the value is judged all the same."""
    promise = _PROMISED.search(_comments(linted, entry))
    if promise:
        linted.say("warning", "placeholder", f"a comment says {promise[0]!r}: is {entry.value_key} {raw} measured?", entry)
    if entry.value != 0 or entry.threshold is not None:
        return False
    if _better_higher(linted, entry):
        linted.say("error", "placeholder", f"{entry.value_key} {raw or 0}: no run can score lower, so this guards nothing", entry)
    else:
        linted.say(
            "warning", "placeholder", f"{entry.value_key} {raw or 0}: was it measured, or just not filled in? No run can be better", entry
        )
    return True


def _comments(linted: LintedFile, entry: Entry) -> str:
    """The comments on the lines of an entry: those that follow it belong to it until the next entry or model begins."""
    lines = linted.file.text.splitlines()
    own = []
    for number in range(entry.line - 1, len(lines)):
        line = lines[number]
        if number >= entry.line and (re.match(r"\s*- ", line) or re.match(r"[^\s#]", line)):
            break
        own.append(line.partition("#")[2])
    return " ".join(own)


def _better_higher(linted: LintedFile, entry: Entry) -> bool:
    said = entry.higher_is_better if entry.higher_is_better is not None else linted.place.defaults.higher_is_better
    return is_better_higher(_metric(linted, entry)) if said is None else said


def _metric(linted: LintedFile, entry: Entry) -> str:
    return entry.metric or linted.place.defaults.metric or entry.value_key


def _known(entry: Entry, linted: LintedFile) -> Metric | None:
    """What the catalogue knows of the metric; None for a name of another suite."""
    try:
        return parse(_metric(linted, entry))
    except SteelyardError:
        return None


def _scale(linted: LintedFile, entry: Entry) -> str | None:
    return entry.scale or linted.place.defaults.scale


def _ends(linted: LintedFile, entry: Entry, metric: Metric | None) -> tuple[float, float]:
    """The range of the metric in the scale of the entry; an undeclared scale may be percent."""
    if metric is None or metric.high != 1.0 or metric.low is None or _scale(linted, entry) == "raw":
        return -math.inf, math.inf
    unit = 1.0 if _scale(linted, entry) == "fraction" else 100.0
    return metric.low * unit, metric.high * unit


def _range(linted: LintedFile, entry: Entry, metric: Metric | None) -> bool:
    low, high = _ends(linted, entry, metric)
    if entry.value is None or low <= entry.value <= high:
        return False
    scale = _scale(linted, entry) or "undeclared"
    linted.say("error", "range", f"{entry.value_key} {entry.value:g} lies outside {low:g} to {high:g} (scale {scale})", entry)
    return True


def _counted(metric: str) -> bool:
    return metric in COUNTED or is_share(metric)


def _counts(linted: LintedFile, entry: Entry, raw: str) -> None:
    """A share of n items is k/n. What no k gives was rounded, averaged or guessed."""
    n = entry.num_samples if entry.num_samples is not None else linted.place.defaults.num_samples
    if entry.value is None or n is None or entry.items is not None or not _counted(_metric(linted, entry)):
        return
    if linted.place.defaults.metric is None and not _counted(TRTLLM.get(linted.place.task, {}).get("metric", PLAIN_KEY)):
        return  # that suite calls ROUGE and perplexity accuracy, too
    answers = n * (entry.runs or 1)
    scale = _scale(linted, entry)
    units = {"percent": (100.0,), "fraction": (1.0,), "raw": ()}.get(scale or "", (100.0,) if entry.value > 1 else (1.0, 100.0))
    near = [nearest_counts(entry.value, unit, answers) for unit in units]
    half = half_digit(raw, entry.value)
    if not near or any(abs(share - entry.value) <= half + 1e-9 * unit for unit, pair in zip(units, near, strict=True) for _, share in pair):
        return
    (k, low), (more, high) = near[0]
    nearest = f"{k:,}/{answers:,} = {low:.6g} and {more:,}/{answers:,} = {high:.6g} are the nearest"
    what = f"{entry.value_key} {raw or entry.value}{'%' if units[0] == 100.0 else ''} is not a multiple of 1/{answers:,}: {nearest}"
    linted.say("warning", "not-k-of-n", f"{what}; it was rounded, averaged over runs or guessed, or n is wrong", entry)


def nearest_counts(value: float, unit: float, n: int) -> tuple[tuple[int, float], tuple[int, float]]:
    """The two counts on either side of a value, each with the share of n that it is.

    >>> nearest_counts(60.0, 100.0, 4)
    ((2, 50.0), (3, 75.0))
    """
    k = min(max(math.floor(value / unit * n), 0), n - 1)
    return (k, k / n * unit), (k + 1, (k + 1) / n * unit)


# ---- the gate --------------------------------------------------------------------------------------------------------


def _gate(linted: LintedFile, entry: Entry, rule: GuardRule, gate: ReferenceGate, metric: Metric | None) -> None:
    if rule.alpha >= 0.5:
        linted.say("warning", "alpha", f"alpha {rule.alpha:g}: half of all healthy runs are called worse", entry)
    if rule.sigma == 0 and gate.design != "paired":
        linted.say("warning", "sigma", "sigma 0: the threshold is the reference itself, and any drop is a regression", entry)
    _against_chance(linted, entry, rule, gate)
    _threshold_range(linted, entry, metric, gate.threshold)
    most = linted.policy.max_theta
    for name, drop in (("theta", rule.theta), ("the minimum detectable effect", gate.finds)):
        if most is not None and drop is not None and drop > most:
            sentence = f"{name} {drop:.4g} is above the policy's max_theta {most:g}: more items, or a paired reference"
            linted.say("error", "theta", sentence, entry)
            break


def _floor(linted: LintedFile, entry: Entry, metric: Metric | None) -> bool:
    """Whether it is the explicit threshold that no rule can be made of."""
    return entry.threshold is not None and _threshold_range(linted, entry, metric, entry.threshold)


def _threshold_range(linted: LintedFile, entry: Entry, metric: Metric | None, threshold: float | None) -> bool:
    """Whether a threshold lies outside the range of its scores, which is told."""
    low, high = _ends(linted, entry, metric)
    if threshold is None or low <= threshold <= high:
        return False
    unfailing = threshold < low if _better_higher(linted, entry) else threshold > high
    what = "nothing can fail it" if unfailing else "nothing can pass it"
    linted.say("error", "threshold-range", f"the threshold {threshold:.6g} lies outside {low:g} to {high:g}: {what}", entry)
    return True


def _against_chance(linted: LintedFile, entry: Entry, rule: GuardRule, gate: ReferenceGate) -> None:
    """A gate at chance lets a model through that guesses."""
    chance = linted.place.defaults.chance
    bar = entry.value if gate.design == "paired" else gate.threshold
    if chance is None or bar is None or rule.sign * (bar - chance) > 0:
        return
    what = "reference" if gate.design == "paired" else "threshold"
    side = "at or below" if rule.higher_is_better else "at or above"
    linted.say("error", "chance", f"the {what} {bar:.6g} is {side} chance ({chance:g}): a model that guesses passes", entry)


# ---- where it comes from ---------------------------------------------------------------------------------------------


def _runs(linted: LintedFile, entry: Entry) -> None:
    if entry.runs is None or entry.deterministic:
        return
    if entry.runs < ENOUGH_RUNS:
        runs = f"{entry.runs} {'run' if entry.runs == 1 else 'runs'} on record"
        linted.say(
            "warning", "few-runs", f"{runs} and not marked as deterministic: a single lucky run makes every later run look worse", entry
        )


def _age(linted: LintedFile, entry: Entry) -> None:
    if entry.recorded is None:
        return
    try:
        when = datetime.fromisoformat(entry.recorded).date()
    except ValueError:
        linted.say("warning", "recorded", f"recorded {entry.recorded!r} is not a date", entry)
        return
    days = (linted.today - when).days
    if linted.policy.stale_days is not None and days > linted.policy.stale_days:
        linted.say("warning", "stale", f"recorded {days:,} days ago; the policy's stale_days is {linted.policy.stale_days:,}", entry)
    elif days < -1:  # a day of grace: the date of another time zone
        linted.say("warning", "recorded", f"recorded on {when}, which is in the future", entry)


def _provenance(linted: LintedFile) -> None:
    """Who, when, on which commit and why: refused where the policy asks for it, else counted once for the file."""
    bare = [(entry, missing) for entry in linted.file.entries if (missing := [name for name in PROVENANCE if getattr(entry, name) is None])]
    if linted.policy.require_provenance:
        for entry, missing in bare:
            linted.say("error", "provenance", f"{', '.join(missing)} missing, which the policy requires", entry)
    elif bare:
        names = [name for name in PROVENANCE if any(name in missing for _, missing in bare)]
        linted.say("note", "provenance", f"{_some([entry for entry, _ in bare])}: {', '.join(names)} missing")


def _some(entries: list[Entry]) -> str:
    """How many, and in which lines."""
    lines = ", ".join(str(entry.line) for entry in entries[:5])
    where = f"line {lines}" if len(entries) == 1 else f"lines {lines}{', ...' if len(entries) > 5 else ''}"
    return f"{len(entries):,} {'entry' if len(entries) == 1 else 'entries'} ({where})"
