"""What else is known of a row, a test, a comparison, a verdict or a plan, by design and method. JSON has the keys that were found.

A field that is None was not found. Where None is itself an answer (a prior without a scale, an unknown correlation), what was not
found is NOT_SET.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import NOT_SET, ResultPart, json_name
from steelyard_old.results.learning_curve import CurveGap
from steelyard_old.results.stopping import EarlyStopping


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
    n_items: int | None = json_name("items", default=None)
    groups: int | None = None
    groups_effective: float | None = None
    repeats: int | None = None
    fewest_repeats: int | None = None
    variance_within: float | None = None
    variance_between: float | None = None
    design_effect: float | None = None
    n_effective: float | None = None
    effective_n: float | None = None  # so an earlier version called it
    intraclass_correlation: float | None = NOT_SET
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
    groups: int | None = NOT_SET
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
    test_size: float | None = NOT_SET
    stratified: bool | None = None
    splits: tuple[Mapping[str, Any], ...] | None = None  # of each fit: repeat, fold, n_train, n_test, baseline, candidate
    tables: Mapping[str, Any] | None = NOT_SET  # by system, its tally
    failures: tuple[Mapping[str, Any], ...] | None = None  # splits that could not be fitted, as the learner said it
    prior_sd: float | None = NOT_SET
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

    stopping: EarlyStopping | None = None
    rates: tuple[AnswerRate, ...] | None = None
    smallest_p: float | None = None
    standard_error: float | None = NOT_SET
    degrees_of_freedom: float | None = None
    interval_method: str | None = None
    n_reference: int | None = NOT_SET
    threshold_note: str | None = None
    paired_would_find: float | None = NOT_SET
    items_on_record: bool | None = None  # outcomes that a bare value could not be paired with
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
class SizeInterval(ResultPart):
    """The interval of a number of items; None there is unbounded. The method is None where the points have no noise to judge by."""

    low: int | None
    high: int | None
    confidence_level: float
    method: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDetails(ResultPart):
    """Of a plan, by its goal. None is an answer here (no prior, a curve that does not get there), so what was not found is NOT_SET.

    Two keys have two meanings, by the goal: `test` is how many items to test on (split) or the name of a test (detect and rule-out), and
    `interval` is that of n (train) or the name of the method that is planned for (width and split).
    """

    BRIEF = True

    n_formula: int | None = NOT_SET  # detect and rule-out
    alternative: str | None = NOT_SET  # what is looked for, where it is not a drop: greater, a rise; two-sided, a difference
    theta_relative: float | None = NOT_SET
    reference: float | None = NOT_SET
    theta_formula: float | None = NOT_SET
    power_formula: float | None = NOT_SET
    total: int | None = NOT_SET  # split
    train: int | None = NOT_SET
    target: float | None = NOT_SET  # train
    test: int | str | None = NOT_SET  # split: how many items; detect: the name of a test
    sigma: float | None = NOT_SET
    sd: float | None = NOT_SET
    discordance: float | None = NOT_SET
    design_effect: float | None = NOT_SET
    expected: float | None = NOT_SET
    pilot_n: int | None = NOT_SET
    pilot_estimate: float | None = NOT_SET
    variance_within: float | None = NOT_SET
    variance_between: float | None = NOT_SET
    pilot_difference: float | None = NOT_SET
    pilot_flips: int | None = NOT_SET
    discordance_upper: float | None = NOT_SET
    scale: str | None = NOT_SET
    discordance_under_drop: float | None = NOT_SET
    n_reference: int | None = NOT_SET
    answers: Sequence[int] | None = NOT_SET
    calls: int | None = NOT_SET
    price: float | None = NOT_SET  # designs
    available: int | None = NOT_SET
    early_stopping: Mapping[str, Any] | None = NOT_SET  # as simulated: shares, and means of a healthy run and one that dropped
    theta_at_available: float | None = NOT_SET
    reachable: bool | None = NOT_SET
    reach: Sequence[str] | None = NOT_SET
    metric: str | None = NOT_SET  # width, threshold, train and split
    higher_is_better: bool | None = NOT_SET
    score: float | None = NOT_SET
    score_interval: ScoreEnds | None = NOT_SET
    lower: float | None = NOT_SET
    upper: float | None = NOT_SET
    width: float | None = NOT_SET
    interval: SizeInterval | str | None = NOT_SET  # train: of n; width: the name of a method
    confidence_level: float | None = NOT_SET
    prior: Sequence[float] | None = NOT_SET
    success_rate: float | None = NOT_SET
    relevant_share: float | None = NOT_SET
    have: Sequence[int] | None = NOT_SET
    expected_items: float | None = NOT_SET
    worst_outcome_n: int | None = NOT_SET
    plug_in_n: PlugInItems | None = NOT_SET
    average_length_n: int | None = NOT_SET
    batch: int | None = NOT_SET
    stopped_coverage: float | None = NOT_SET
    stopped_bias: float | None = NOT_SET
    expected_labels: float | None = NOT_SET
    achieved_assurance: float | None = NOT_SET
    nearly_as_good: NearlyAsGood | None = NOT_SET
    asymptote: CurveLimit | None = NOT_SET
    fit: Mapping[str, Any] | None = NOT_SET  # the numbers of the law that was fitted, by its letters
    reached: bool | None = NOT_SET
    out_of_reach: bool | None = NOT_SET
    seeds: int | None = NOT_SET
    sizes: Sequence[int] | None = NOT_SET
    largest: int | None = NOT_SET
    beyond: float | None = NOT_SET
    weights: str | None = NOT_SET
    seed: int | None = NOT_SET
    how: str | None = NOT_SET
    measured: str | None = NOT_SET  # the signature of the curve that it was read from
    without_largest: WithoutLargest | None = NOT_SET
    gap: CurveGap | None = NOT_SET
