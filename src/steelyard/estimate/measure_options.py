"""The options of a question, checked once, before anything is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from steelyard.errors import UsageError
from steelyard.infer.intervals.proportion import METHODS
from steelyard.infer.normal import tail
from steelyard.late_dataclass import dataclass
from steelyard.options import checked, number, seed_of, within

OTHER_INTERVALS = (
    "bayes",
    "hdi",
    "delta",
    "bca",
    "studentized",
    "t",
    "bounded-mean",
    "wilson-mean",
    "betting",
    "delong-wilson",
    "delong",
    "delta-wilson",
    "fisher-z",
)
BELIEVED = ("bayes", "hdi")  # ends of a posterior
RESAMPLING = ("percentile", "bca", "studentized")
FAR = 1e75  # between the ends of a range: the powers of what is farther apart, or nearer than its inverse, are no float64
OF_NUMBERS = ("t", "bounded-mean", "wilson-mean", "betting", "studentized")  # they take right and wrong for the numbers 1 and 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """What was asked for, with defaults filled in."""

    interval: str | None = None
    at_least: float | None = None
    confidence_level: float = 0.95
    side: str = "two"
    draws: int = 10_000
    seed: int = 0
    prior: float = 0.5
    prior_scale: float | None = None
    range: tuple[float, float] | None = None
    positive: str | None = None
    labels: tuple[str, ...] | None = None
    absent: str | None = None
    missing: str = "error"
    # Whether scores that are all 0 or 1 mean right and wrong: not in another declared range, where 0 and 1 are scores as others.
    right_or_wrong: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "right_or_wrong", self.range in (None, (0.0, 1.0)))

    def refuse_no_posterior(self, name: str, why: str) -> None:
        """Where there is no posterior, nothing can be said of the chance that was asked for."""
        if self.at_least is not None:
            raise UsageError(
                f"cannot give the chance that {name} is at least {self.at_least:g}",
                got=why,
                need="right or wrong or labels, on items that are independent",
                hint="leave out at_least=, or name the metrics that have a posterior with metric=",
            )


def settle(
    *,
    interval: str | None = None,
    at_least: float | None = None,
    confidence_level: float = 0.95,
    side: str = "two",
    draws: int = 10_000,
    seed: int | None = 0,
    prior: float = 0.5,
    prior_scale: float | None = None,
    range: Sequence[float] | None = None,  # noqa: A002  the contract's word
    positive: object = None,
    labels: Sequence[object] | None = None,
    absent: str | None = None,
    missing: str = "error",
) -> MeasureOptions:
    """The settings of a question, or an error that says which option cannot be what it is."""
    one_of("interval", interval, intervals())
    one_of("absent", absent, ("skip", "zero"))
    one_of("missing", missing, ("error", "wrong", "drop"), optional=False)
    if isinstance(draws, bool) or not hasattr(draws, "__index__") or draws.__index__() < 1:
        raise UsageError("cannot use the number of draws", got=repr(draws), need="a whole number of at least 1")
    if not (isinstance(prior, (int, float)) and 0 < prior < math.inf):
        raise UsageError(
            "cannot use the prior",
            got=repr(prior),
            need="a positive number",
            hint="0.5 is Jeffreys, 1 is uniform; 0 gives no proper posterior",
        )
    if at_least is not None:
        at_least, interval = number("at_least", at_least, hint="a value of the metric, such as 0.9"), interval or "bayes"
        if interval not in BELIEVED:
            raise UsageError(
                f"cannot use at_least= with the interval {interval!r}",
                need="the interval bayes or hdi",
                hint="the chance that a metric is at least so much is read from its posterior; leave out interval=",
            )
    ends = _range(range)
    known_seed = seed_of(seed)
    confidence_level = checked("confidence_level", confidence_level)
    tail(confidence_level, side)
    within("draws", draws.__index__())
    within("prior", prior)
    return MeasureOptions(
        interval=interval,
        at_least=at_least,
        confidence_level=confidence_level,
        side=side,
        draws=draws.__index__(),
        seed=known_seed,
        prior=float(prior),
        prior_scale=None if prior_scale is None else checked("prior_scale", prior_scale),
        range=ends,
        positive=None if positive is None else str(positive),
        labels=None if labels is None else tuple(str(label) for label in labels),
        absent=absent,
        missing=missing,
    )


def intervals() -> tuple[str, ...]:
    """The names of all intervals of one system: those of a proportion, from their catalogue, and those of the other families."""
    return (*METHODS, *OTHER_INTERVALS)


def one_of(name: str, value: Any, words: Sequence[str], optional: bool = True) -> None:
    """A word from a list, or an error that shows the list."""
    if value in words or (optional and value is None):
        return
    raise UsageError(f"cannot use the {name} {value!r}", need=f"one of {', '.join(words)}")


def _range(ends: Sequence[float] | None) -> tuple[float, float] | None:
    if ends is None:
        return None
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError("cannot use the range", got=repr(ends), need="two finite numbers, the lower first", hint="range=(0, 1)")
    if not 1 / FAR <= high - low <= FAR:
        raise UsageError("cannot use the range", got=repr(ends), need=f"ends between {1 / FAR:g} and {FAR:g} apart", hint="range=(0, 1)")
    return low, high


def slice_names(by: Any) -> tuple[str, ...] | Mapping[str, Any]:
    """The columns to slice by: names, or for arrays a mapping of names to arrays."""
    if by is None or isinstance(by, str):
        return () if by is None else (by,)
    if isinstance(by, Mapping) or (isinstance(by, (list, tuple)) and all(isinstance(name, str) for name in by)):
        return by if isinstance(by, Mapping) else tuple(by)
    raise UsageError("cannot use by=", got=type(by).__name__, need="column names, or by={name: array} for arrays")


def refuse_item_options(**given: bool) -> None:
    """Options that speak of items mean nothing to bare counts: they are refused, not passed over."""
    for name, there in given.items():
        if there:
            raise UsageError(
                f"{name}= is about items, and bare counts have none.", got=f"{name} beside bare counts", need="the items it speaks of"
            )
