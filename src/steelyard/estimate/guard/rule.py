"""The rule of a guard: every number with where it came from. Precedence: option, entry, task, default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.checks import error_rate, number, whole
from steelyard.errors import SourceError, SteelyardError, UsageError
from steelyard.estimate.guard.scale import refuse_impossible_rule
from steelyard.estimate.measure_options import settle
from steelyard.metrics.catalogue import parse
from steelyard.reference.entry import PLAIN_KEY, Entry, TaskDefaults
from steelyard.reference.lookup import ReferenceLocation

SCALES = ("percent", "fraction", "raw")
TARGETS = ("items", "runs")
ALPHA, BETA = 0.05, 0.2
# Names that evaluation suites use for losses; the catalogue knows its own.
LOWER_IS_BETTER = {"wer", "cer", "ter", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "loss", "edit_distance"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRule:
    """What decides. `said` holds a sentence for each choice that the user did not make in so many words."""

    metric: str
    higher_is_better: bool
    scale: str | None
    alpha: float
    beta: float
    sigma: float | None
    theta: float | None
    margin: float
    num_samples: int | None
    threshold: float | None
    target: str
    positive: object = None
    range: tuple[float, float] | None = None  # of the scores, where somebody declared it
    warnings: list[str] = field(default_factory=list)

    @property
    def sign(self) -> int:
        """+1 where up is good, -1 where down is."""
        return 1 if self.higher_is_better else -1


def settle_rule(options: Mapping[str, Any], entry: Entry, task: TaskDefaults) -> GuardRule:
    """The numbers of the rule, each from the first place that says it."""
    warnings: list[str] = []

    def first(name: str, default: Any = None) -> Any:
        for place in (options.get(name), getattr(entry, name, None), getattr(task, name, None)):
            if place is not None:
                return place
        return default

    _refuse_other("metric", _plain(options.get("metric")), _plain(entry.metric or entry.value_key))
    _refuse_other("scale", options.get("scale"), entry.scale or task.scale)
    _refuse_other("positive", options.get("positive"), getattr(entry, "positive", None))
    metric = entry.metric or (task.metric if entry.value_key == PLAIN_KEY else None) or entry.value_key
    margin = first("margin", 0.0)
    theta = first("theta")
    sigma, n = first("sigma"), first("num_samples")
    better = first("higher_is_better")
    rule = GuardRule(
        metric=metric,
        higher_is_better=is_better_higher(metric) if better is None else bool(better),
        scale=_one_of("scale", first("scale"), SCALES),
        alpha=error_rate("alpha", first("alpha", ALPHA), warnings),
        beta=error_rate("beta", first("beta", BETA), warnings),
        sigma=None if sigma is None else number("sigma", sigma, above=-1e-300, hint="a standard deviation of 0 or more"),
        theta=None if theta is None else number("theta", theta, above=0, hint="the drop that matters, as a positive number"),
        margin=number("margin", margin, above=-1e-300, hint="the drop you tolerate, 0 or more"),
        num_samples=None if n is None else whole("num_samples", n),
        threshold=entry.threshold,
        target=_one_of("target", options.get("target") or "items", TARGETS) or "items",
        positive=first("positive"),
        range=settle(range=options.get("range")).range,
        warnings=warnings,
    )
    if rule.theta is not None and rule.theta < rule.margin:
        raise UsageError(
            "cannot use theta", got=f"theta {rule.theta:g} below the margin {rule.margin:g}", need="a theta of at least the margin"
        )
    refuse_impossible_rule(rule, entry.value)
    return rule


def _plain(metric: Any) -> Any:
    """The name of a metric without its aliases: acc is accuracy."""
    try:
        return None if metric is None else parse(str(metric)).name
    except SteelyardError:
        return metric


def _refuse_other(name: str, asked: Any, recorded: Any) -> None:
    """What a reference pins cannot be asked otherwise: the numbers would not be of one kind."""
    if asked is not None and recorded is not None and str(asked) != str(recorded):
        raise UsageError(
            f"cannot check by another {name}",
            got=f"{name} {asked!r}, where the reference has {recorded!r}",
            need=f"the {name} on record",
            hint="record a reference of its own for it",
        )


def _one_of(name: str, value: Any, words: tuple[str, ...]) -> str | None:
    if value is not None and value not in words:
        raise UsageError(f"cannot use the {name} {value!r}", need=f"one of {', '.join(words)}")
    return None if value is None else str(value)


def is_better_higher(metric: str) -> bool:
    """Whether up is good: by the catalogue, else by the names of known losses."""
    if metric.lower() in LOWER_IS_BETTER:
        return False
    try:
        return parse(metric).higher_is_better
    except SteelyardError:
        return True


def check_protocol(entry: Entry, place: ReferenceLocation, protocol: Mapping[str, str] | None, rule: GuardRule) -> None:
    """What was recorded about the protocol must be what is said about this run."""
    recorded = dict(entry.protocol)
    given = {**{key: str(v) for key, v in place.defaults.protocol.items()}, **{key: str(v) for key, v in (protocol or {}).items()}}
    differ = {key: (recorded[key], given[key]) for key in recorded.keys() & given.keys() if recorded[key] != given[key]}
    extra = sorted(given.keys() - recorded.keys()) if recorded else []
    if differ or extra:
        parts = [f"{key} {was!r} on record, {now!r} now" for key, (was, now) in sorted(differ.items())]
        got = "; ".join([*parts, *(f"{key} not on record" for key in extra)])
        raise SourceError("cannot compare two protocols", got=got, need="the same protocol", hint="record a reference for this one")
    silent = sorted(recorded.keys() - given.keys())
    if silent:
        rule.warnings.append(f"the reference pins its protocol ({', '.join(silent)}); this run did not say its own (--protocol KEY=VALUE)")
