"""The intervals by name: which there are of one system, of a pair on the same items and of two on different items, and of which kind."""

from __future__ import annotations

from steelyard.infer.intervals.proportion import METHODS

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
RESAMPLING = ("percentile", "bca", "studentized")
OF_NUMBERS = ("t", "bounded-mean", "wilson-mean", "betting", "studentized")  # they take right and wrong for the numbers 1 and 0
PAIRED_INTERVALS = (
    "tango",
    "newcombe",
    "bonett-price",
    "wald",
    "bayes",
    "bca",
    "percentile",
    "delta",
    "bounded-t",
    "within-item",
    "t",
    "delong-wilson",
    "delong",
)
UNPAIRED_INTERVALS = (
    "newcombe",
    "miettinen-nurminen",
    "agresti-caffo",
    "wald",
    "bayes",
    "delta",
    "bounded-welch",
    "t",
    "delong-wilson",
    "delong",
)


def intervals() -> tuple[str, ...]:
    """The names of all intervals of one system: those of a proportion, from their catalogue, and those of the other families."""
    return (*METHODS, *OTHER_INTERVALS)


def intervals_of_differences() -> dict[str, tuple[str, ...]]:
    """The names of the intervals of a difference, by design."""
    return {"Paired": PAIRED_INTERVALS, "unpaired": UNPAIRED_INTERVALS}
