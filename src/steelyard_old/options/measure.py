"""The options of `steelyard measure`: declared for the command, Python and docstrings, and checked once, before anything is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from steelyard_old.errors import UsageError, in_short
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import (
    COLUMNS,
    CONFIDENCE_LEVEL,
    DETAILS,
    DRAWS,
    ENGINE,
    INTERVALS,
    LABELS,
    LOG_CHOICES,
    MEMORY,
    MISSING,
    OF_ONE,
    POSITIVE,
    PRIOR,
    RATIO,
    SEED,
    SIDE,
    Option,
    check_choices,
    checked,
    ends_of_range,
    is_whole,
    number,
    seed_of,
    within,
)

OPTIONS = (
    Option(name="counts", elsewhere="Counts.of", metavar="K/N", help="Counts instead of a source: 85/100 means 85 right out of 100."),
    Option(name="tp", elsewhere="Counts.binary", type=int, least=0, help="True positives, with --fp and --fn, instead of a source."),
    Option(name="fp", elsewhere="Counts.binary", type=int, least=0, help="False positives."),
    Option(name="fn", elsewhere="Counts.binary", type=int, least=0, help="False negatives."),
    Option(name="tn", elsewhere="Counts.binary", type=int, least=0, help="True negatives, for metrics that need them."),
    Option(
        name="metric",
        kind="list",
        takes="names",
        metavar="NAME",
        repeat=True,
        registry="steelyard_old.metrics.catalogue:names_by_data",
        help="What to measure, such as accuracy, macro_f1 (also micro_, weighted_) or each_recall (every class). Repeat or join by commas."
        "  [default: depends on the columns]",
    ),
    POSITIVE,
    LABELS,
    Option(
        name="by",
        unset="no slices",
        kind="list",
        takes="slices",
        metavar="COLUMN",
        repeat=True,
        help="Also report each value of this column separately.",
    ),
    *(
        replace(each, help=f"{each.help[:-1]}; whole numbers are counts of identical items.") if each.name == "weight" else each
        for each in COLUMNS
    ),
    RATIO,
    *INTERVALS,
    *LOG_CHOICES,
    *ENGINE,
    MEMORY,
    Option(
        name="interval",
        metavar="METHOD",
        noun="interval method",
        registry=OF_ONE,
        help="Interval method.  [default: the best for each metric]",
    ),
    Option(
        name="at_least",
        type=float,
        metavar="VALUE",
        help="Also report the probability that the metric is at least VALUE; the interval is then bayes, or hdi if you ask for it.",
    ),
    Option(
        name="about",
        elsewhere="every_eval_ever.about",
        metavar="KEY=VALUE",
        repeat=True,
        help="For --format every-eval-ever: model=DEVELOPER/NAME, evaluation=NAME, organization=NAME, relationship, dataset ... Repeat.",
    ),
    DETAILS,
)

BELIEVED = ("bayes", "hdi")  # ends of a posterior


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """What was asked for, with defaults filled in."""

    interval: str | None = None
    at_least: float | None = None
    confidence_level: float = CONFIDENCE_LEVEL.default
    side: str = SIDE.default
    draws: int = DRAWS.default
    seed: int = SEED.default
    prior: float = PRIOR.default
    prior_scale: float | None = None
    range: tuple[float, float] | None = None
    positive: str | None = None
    labels: tuple[str, ...] | None = None
    absent: str | None = None
    missing: str = MISSING.default
    higher_is_better: bool | None = None  # of the scores, as somebody or their log says; None: as the metric says

    def refuse_no_posterior(self, name: str, why: str) -> None:
        """Where there is no posterior, nothing can be said of the chance that was asked for."""
        if self.at_least is not None:
            raise UsageError(
                f"No chance that {name} is at least {self.at_least:g} can be computed: only accuracy and label "
                f"metrics of independent items have a posterior, and this is {why}.",
                got=why,
                need="right or wrong or labels, on items that are independent",
                hint="leave out at_least=, or name the metrics that have a posterior with metric=",
            )


def settle(
    *,
    interval: str | None = None,
    at_least: float | None = None,
    confidence_level: float = CONFIDENCE_LEVEL.default,
    side: str = SIDE.default,
    draws: int = DRAWS.default,
    seed: int | None = SEED.default,
    prior: float = PRIOR.default,
    prior_scale: float | None = None,
    range: Sequence[float] | None = None,  # noqa: A002  the word that users know
    positive: object = None,
    labels: Sequence[object] | None = None,
    absent: str | None = None,
    missing: str = MISSING.default,
    higher_is_better: bool | None = None,
) -> MeasureOptions:
    """The settings of a question, or an error that says which option cannot be what it is."""
    check_choices(OPTIONS, interval=interval, absent=absent, missing=missing, side=side)
    if isinstance(draws, bool) or not is_whole(draws) or draws.__index__() < 1:
        raise UsageError("cannot use draws", got=in_short(draws), need="a whole number of at least 1")
    if not (isinstance(prior, (int, float)) and 0 < prior < math.inf):
        raise UsageError(
            "cannot use prior",
            got=in_short(prior),
            need="a positive number",
            hint="0.5 is Jeffreys, 1 is uniform; 0 gives no proper posterior",
        )
    if at_least is not None:
        at_least, interval = number("at_least", at_least, hint="a value of the metric, such as 0.9"), interval or "bayes"
        if interval not in BELIEVED:
            raise UsageError(
                f"at_least= needs the interval bayes or hdi, not {interval!r}.",
                need="the interval bayes or hdi",
                hint="the chance that a metric is at least so much is read from its posterior; leave out interval=",
            )
    ends = ends_of_range(range)
    known_seed = seed_of(seed)
    confidence_level = checked("confidence_level", confidence_level)
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
        higher_is_better=higher_is_better,
    )


def refuse_item_options(**given: bool) -> None:
    """Options that speak of items mean nothing to bare counts: they are refused, not passed over."""
    for name, there in given.items():
        if there:
            raise UsageError(
                f"{name}= is about items, and bare counts have none.", got=f"{name} beside bare counts", need="the items it speaks of"
            )
