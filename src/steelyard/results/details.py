"""What else is known of a row, a test, a comparison or a verdict, by design and method. JSON has the keys that were found.

A field that is None was not found. Where None is itself an answer (a prior without a scale, an unknown correlation), what was not
found is UNSAID.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.results.base import UNSAID, ResultPart, said_as


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledTable(ResultPart):
    """The one 2x2 table that a micro average is worked out from: every class against the rest, added up."""

    tp: int
    fp: int
    fn: int
    tn: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDetails(ResultPart):
    """Of a row: how its items were sampled and what that does to its n, the prior of a posterior, the classes of a ranking."""

    BRIEF = True

    design: str | None = None
    answers: int | None = None
    n_items: int | None = said_as("items", default=None)
    groups: int | None = None
    groups_effective: float | None = None
    repeats: int | None = None
    fewest_repeats: int | None = None
    variance_within: float | None = None
    variance_between: float | None = None
    design_effect: float | None = None
    n_effective: float | None = None
    effective_n: float | None = None  # so an earlier version called it
    intraclass_correlation: float | None = UNSAID
    strata: int | None = None
    weights: str | None = None  # of strata: alike, or by their size
    positive: str | None = None
    positives: int | None = None
    negatives: int | None = None
    instead_of: str | None = None  # the method that was asked for, which has no interval here
    prior: Any = None
    prior_sensitivity: float | None = None
    monte_carlo_error: float | None = None
    pooled: PooledTable | None = None  # of a micro average


@dataclass(frozen=True, slots=True, kw_only=True)
class TestDetails(ResultPart):
    """Of a test: whether it is exact or drawn, its degrees of freedom, its share of resamples."""

    __test__ = False  # not a test of pytest's
    BRIEF = True

    exact: bool | None = None
    equals: str | None = None  # the test that it is the same as
    method: str | None = None
    draws: int | None = None
    df: Any = None
    range: float | None = None
    share: float | None = None
    k: int | None = None
    side: str | None = None
    splits: int | None = None
    approximate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDetails(ResultPart):
    """Of a comparison: its groups and repeats, what pairing gained, its prior, its splits, its counts of wins."""

    BRIEF = True

    label: str | None = None
    log: Mapping[str, Any] | None = None
    identical: bool | None = None
    not_judged: str | None = None  # why its p-value is not judged: groups that are worth too few
    instead_of: str | None = None
    pairing_gain: float | None = None
    n_baseline: int | None = None
    n_candidate: int | None = None
    groups: int | None = UNSAID
    units: int | None = None
    groups_effective: float | None = None
    repeats_baseline: int | None = None
    repeats_candidate: int | None = None
    variance_within_share: float | None = None
    strata: int | None = None
    weights: str | None = None
    over_tasks: tuple[Mapping[str, Any], ...] | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    design: str | None = None  # cross-validation
    method: str | None = None
    folds: int | None = None
    repeats: int | None = None
    test_size: float | None = UNSAID
    stratified: bool | None = None
    splits: tuple[Mapping[str, Any], ...] | None = None
    tables: Mapping[str, Any] | None = UNSAID
    failures: tuple[Mapping[str, Any], ...] | None = None
    prior_sd: float | None = UNSAID
    prior_scale: float | None = None
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictDetails(ComparisonDetails):
    """Of a verdict, besides what its comparison has: how it stopped, the rates of other answers, what its bounds rest on."""

    stopping: Mapping[str, Any] | None = None
    rates: tuple[Mapping[str, Any], ...] | None = None
    smallest_p: float | None = None
    standard_error: float | None = UNSAID
    degrees_of_freedom: float | None = None
    interval_method: str | None = None
    n_reference: int | None = UNSAID
    threshold_note: str | None = None
    paired_would_find: float | None = UNSAID
