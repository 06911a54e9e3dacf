"""Parameters that several verbs share: their types, and the groups of rarer ones, each said once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypedDict


class Show(NamedTuple):
    """How the command shows and checks a value: its placeholder, and the open ends between which a number lies."""

    metavar: str
    above: float | None = None
    below: float | None = None


Source = Annotated[Any, Show("SOURCE")]
Column = Annotated[Any, Show("COLUMN")]
Names = Annotated[str | Sequence[str] | None, Show("NAME")]
Metrics = Annotated[Any, Show("NAME"), Sequence]
Level = Annotated[float, Show("LEVEL", 0, 1)]
Number = Annotated[float | None, Show("X")]
Size = Annotated[int | None, Show("N", 0)]
Seed = Annotated[int | None, Show("N|none")]
Range = Annotated[Any, Show("LOW,HIGH")]
Missing = Literal["error", "wrong", "drop"]


class Columns(TypedDict, total=False):
    """Columns

    Args:
        id: Column that names the item.
        truth: Column with the right answer.
        probability: Column with the probability of the positive class.
        repeat: Column that numbers the runs of the same item.
        weight: Column of item weights; in Python also numbers.
        model_column: Column that names the model, if one file holds several.
        labels: The classes, joined by commas; predictions outside of them count as wrong.
    """

    id: Column
    truth: Column
    probability: Column
    repeat: Column
    weight: Column
    model_column: Column
    labels: Names


class Statistics(TypedDict, total=False):
    """Statistics

    Args:
        interval: Method of the interval, such as wilson, bca or bayes.
        side: One bound instead of an interval: lower or upper (default two).
        prior: Prior of the posterior, for interval bayes and hdi (default 0.5).
        draws: Random draws of a resampling method (default 10000).
        absent: What a class without cases does in an average: skip it, or count it as zero.
        lower_is_better: Lower scores are better.
    """

    interval: str
    side: Literal["two", "lower", "upper"]
    prior: float
    draws: Size
    absent: Literal["skip", "zero"]
    lower_is_better: bool


class Two(TypedDict, total=False):
    """Two systems

    Args:
        test: Name of the test, such as mcnemar-exact, sign-flip or paired-t.
        alternative: What the test is against: two-sided, less or greater (default two-sided).
        design: unpaired compares different items.
        unmatched: What to do with items that only one side has: error or drop (default error).
    """

    test: str
    alternative: Literal["two-sided", "less", "greater"]
    design: Literal["paired", "unpaired"]
    unmatched: Literal["error", "drop"]


class Rare(Columns, Statistics, total=False):
    """What a question about one source takes besides."""


class RareTwo(Columns, Statistics, Two, total=False):
    """What a question about two sources takes besides."""


GROUPS = (Columns, Statistics, Two)  # each a heading of --help-all
