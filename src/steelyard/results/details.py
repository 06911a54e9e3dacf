"""What else is known of a row, a test, a comparison, a verdict or a plan, by design and method. JSON has the keys that were found.

A field that is None was not found. Where None is itself an answer (a prior without a scale, an unknown correlation), what was not
found is UNSAID.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.late_dataclass import dataclass
from steelyard.results.base import UNSAID, ResultPart, said_as
from steelyard.results.learning_curve import CurveGap


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
    prior: Any = None  # a name, a number, or one number for each class
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
    df: Any = None  # a number, or two
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
    log: Mapping[str, Any] | None = None  # what the log of another tool says of the run
    identical: bool | None = None
    not_judged: str | None = None  # why its p-value is not judged: groups that are worth too few
    instead_of: str | None = None
    pairing_gain: float | None = None
    n_baseline: int | None = None
    n_candidate: int | None = None
    groups: int | None = UNSAID
    units: int | None = None
    groups_effective: float | None = None
    quotient: Mapping[str, float | None] | None = None  # of perplexities: candidate / baseline, and the ends of its interval
    n_effective: float | None = None  # what items of unequal weight are worth, in items that weigh alike
    repeats_baseline: int | None = None
    repeats_candidate: int | None = None
    variance_within_share: float | None = None
    strata: int | None = None
    weights: str | None = None
    over_tasks: tuple[Mapping[str, Any], ...] | None = None  # by, tasks, alternative, and the tests that there are
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    design: str | None = None  # cross-validation
    method: str | None = None
    folds: int | None = None
    repeats: int | None = None
    test_size: float | None = UNSAID
    stratified: bool | None = None
    splits: tuple[Mapping[str, Any], ...] | None = None  # of each fit: repeat, fold, n_train, n_test, baseline, candidate
    tables: Mapping[str, Any] | None = UNSAID  # by system, its tally
    failures: tuple[Mapping[str, Any], ...] | None = None  # splits that could not be fitted, as the learner said it
    prior_sd: float | None = UNSAID
    prior_scale: float | None = None
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRate(ResultPart):
    """The rate of answers that are none (refused, empty, cut off), then and now; risen: significantly, among all rates."""

    rate: str
    reference: float
    candidate: float
    p_value: float
    risen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictDetails(ComparisonDetails):
    """Of a verdict, besides what its comparison has: how it stopped, the rates of other answers, what its bounds rest on."""

    stopping: Mapping[str, Any] | None = None  # by the rule: its looks and its plan, as the notes of a run have them
    rates: tuple[AnswerRate, ...] | None = None
    smallest_p: float | None = None
    standard_error: float | None = UNSAID
    degrees_of_freedom: float | None = None
    interval_method: str | None = None
    n_reference: int | None = UNSAID
    threshold_note: str | None = None
    paired_would_find: float | None = UNSAID
    z: float | None = None  # of the items' differences, worse is positive: what a suite pools
    reference_z: tuple[float, ...] | None = None  # of the second, third, ... recorded run against those before it


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveLimit(ResultPart):
    """The score that a learning curve heads for, with its interval."""

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreEnds(ResultPart):
    """The interval of a score that is foreseen."""

    low: float | None
    high: float | None
    confidence_level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutLargest(ResultPart):
    """What a curve without its largest size foretells of that size, and what was seen there."""

    predicted: float
    low: float | None
    high: float | None
    seen: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NearlyAsGood(ResultPart):
    """Numbers of test items that lose no more than `within` of the best bound."""

    within: float
    test_low: int
    test_high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlugInItems(ResultPart):
    """Items by the plug-in formula: where it crosses, the first whole number that does, and the one from which all do."""

    real: float
    first: int
    stable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDetails(ResultPart):
    """Of a plan, by its goal. None is an answer here (no prior, a curve that does not get there), so what was not found is UNSAID.

    `test` is the name of a test, or how many items to test on (split); `interval` the name of a method, or that of n (train).
    """

    BRIEF = True

    n_formula: int | None = UNSAID  # detect and rule-out
    alternative: str | None = UNSAID  # what is looked for, where it is not a drop: greater, a rise; two-sided, a difference
    theta_relative: float | None = UNSAID
    reference: float | None = UNSAID
    theta_formula: float | None = UNSAID
    power_formula: float | None = UNSAID
    total: int | None = UNSAID  # split
    train: int | None = UNSAID
    target: float | None = UNSAID  # train
    test: str | int | None = UNSAID
    sigma: float | None = UNSAID
    sd: float | None = UNSAID
    discordance: float | None = UNSAID
    design_effect: float | None = UNSAID
    expected: float | None = UNSAID
    pilot_n: int | None = UNSAID
    pilot_estimate: float | None = UNSAID
    variance_within: float | None = UNSAID
    variance_between: float | None = UNSAID
    pilot_difference: float | None = UNSAID
    pilot_flips: int | None = UNSAID
    discordance_upper: float | None = UNSAID
    scale: str | None = UNSAID
    discordance_under_drop: float | None = UNSAID
    n_reference: int | None = UNSAID
    answers: Sequence[int] | None = UNSAID
    calls: int | None = UNSAID
    price: float | None = UNSAID  # designs
    available: int | None = UNSAID
    early_stopping: Mapping[str, Any] | None = UNSAID  # as simulated: shares, and means of a healthy run and one that dropped
    theta_at_available: float | None = UNSAID
    reachable: bool | None = UNSAID
    reach: Sequence[str] | None = UNSAID
    metric: str | None = UNSAID  # width, threshold, train and split
    higher_is_better: bool | None = UNSAID
    score: float | None = UNSAID
    score_interval: ScoreEnds | None = UNSAID
    lower: float | None = UNSAID
    upper: float | None = UNSAID
    width: float | None = UNSAID
    interval: Any = UNSAID  # the name of a method, or the interval of n
    confidence_level: float | None = UNSAID
    prior: Sequence[float] | None = UNSAID
    success_rate: float | None = UNSAID
    relevant_share: float | None = UNSAID
    have: Sequence[int] | None = UNSAID
    expected_items: float | None = UNSAID
    worst_outcome_n: int | None = UNSAID
    plug_in_n: PlugInItems | None = UNSAID
    average_length_n: int | None = UNSAID
    batch: int | None = UNSAID
    stopped_coverage: float | None = UNSAID
    stopped_bias: float | None = UNSAID
    expected_labels: float | None = UNSAID
    achieved_assurance: float | None = UNSAID
    nearly_as_good: NearlyAsGood | None = UNSAID
    asymptote: CurveLimit | None = UNSAID
    fit: Mapping[str, Any] | None = UNSAID  # the numbers of the law that was fitted, by its letters
    reached: bool | None = UNSAID
    out_of_reach: bool | None = UNSAID
    seeds: int | None = UNSAID
    sizes: Sequence[int] | None = UNSAID
    largest: int | None = UNSAID
    beyond: float | None = UNSAID
    weights: str | None = UNSAID
    seed: int | None = UNSAID
    how: str | None = UNSAID
    measured: str | None = UNSAID  # the signature of the curve that it was read from
    without_largest: WithoutLargest | None = UNSAID
    gap: CurveGap | None = UNSAID
