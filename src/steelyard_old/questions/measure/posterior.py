"""The posterior of a metric of counts, as an object that can be asked: cdf, ppf, pdf, mean, mode, interval."""

from __future__ import annotations

from functools import lru_cache
from types import NoneType

from steelyard_old.errors import UsageError
from steelyard_old.estimate.rows import class_of
from steelyard_old.estimate.table_rows import posterior_of
from steelyard_old.infer.posterior.beta import Posterior
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.measure import OPTIONS, settle
from steelyard_old.options.option import documented
from steelyard_old.results.measurement import Measurement
from steelyard_old.tally.counts import Counts


@documented(
    OPTIONS,
    "a Posterior",
    counts="Counts, or a Measurement that keeps its table.",
    metric="Metric whose posterior distribution to give. Default: accuracy.",
)
def posterior(
    counts: Counts | Measurement,
    metric: str = "accuracy",
    *,
    positive: object = None,
    prior: float = 0.5,
    absent: str | None = None,
    draws: int = 10_000,
    seed: int | None = 0,
) -> Posterior:
    """What we know of a metric after seeing the counts: exact where a closed form exists.

    >>> round(posterior(Counts.binary(tp=31, fp=5, fn=2), "f1").cdf(0.85), 6)
    0.17618
    """
    table = counts.table if isinstance(counts, Measurement) else counts
    if not isinstance(table, Counts):
        raise UsageError(
            f"A posterior needs Counts, or a measurement that keeps its table, not {type(counts).__name__}.",
            got=type(counts).__name__,
            need="Counts, or a measurement that keeps its table",
        )
    asked = parse(metric)
    if not asked.of_labels and not asked.scored:
        raise UsageError(
            f"There is no posterior of {metric}: it is not a metric of a table of counts.", need="a metric of a table of counts"
        )
    if asked.each_class:
        raise UsageError(
            f"{metric} is one number per class; a posterior needs a single class.",
            got="every class",
            need="one class",
            hint=f"{asked.row_name} with positive=",
        )
    usual = (
        type(draws) is type(seed) is int and type(prior) is float and type(positive) in (str, NoneType) and type(absent) in (str, NoneType)
    )
    settings = (_settled_once if usual else settle)(draws=draws, seed=seed, prior=prior, positive=positive, absent=absent)
    return posterior_of(asked, class_of(asked, table, settings), table, settings.prior, settings)


_settled_once = lru_cache(maxsize=64)(settle)  # a posterior takes less time than checking its options, which seldom change
