"""What `compare` answers with: two systems, their difference, its test; and many systems on a board, with tiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import groupby

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import OMIT_DEFAULT, Result, ResultPart, json_name
from steelyard_old.results.details import ComparisonDetails, TestDetails
from steelyard_old.results.measurement import Interval, Slice
from steelyard_old.tally.joint import JointCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class System(ResultPart):
    """One side of a comparison: its name, its estimate, its own interval and standard error, as `measure` gives them."""

    name: str
    estimate: float | None
    interval: Interval | None
    standard_error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(ResultPart):
    """Candidate minus baseline, always. `lower` and `upper` are the ends of its interval."""

    ALSO = ("lower", "upper")

    estimate: float | None = None
    interval: Interval | None = None
    standard_error: float | None = None

    @property
    def lower(self) -> float | None:
        return None if self.interval is None else self.interval.low

    @property
    def upper(self) -> float | None:
        return None if self.interval is None else self.interval.high


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedItem(ResultPart):
    """An item that one of two systems has right and the other wrong, or whose score changed. change: "lost" or "gained".

    baseline, candidate: what they answered, or their scores. truth: the label; None where items are told by their scores. Texts of the
    source are there where it has them: prompt, target (the right answer), what was answered, excerpt (the beginning of a prompt, for an
    item whose id is a hash). slice: the slices that a verdict has the item in.
    """

    BRIEF = True
    ALWAYS = ("id", "change", "truth", "baseline", "candidate")

    id: str
    change: str
    truth: str | None = None
    baseline: str | float | None = None
    candidate: str | float | None = None
    slice: str | None = None
    prompt: str | None = None
    target: str | None = None
    baseline_answer: str | None = None
    candidate_answer: str | None = None
    excerpt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Test(ResultPart):
    """A test of no difference. `details` holds what a test adds: its share, its degrees of freedom, how exact it is."""

    __test__ = False  # not a test of pytest's

    name: str
    alternative: str
    statistic: float | None
    p_value: float | None
    details: TestDetails = field(default_factory=TestDetails, metadata=OMIT_DEFAULT)

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        """Also equal to its name: so the test of a verdict could be asked for in 0.1.0."""
        return self.name == other if isinstance(other, str) else ResultPart.__eq__(self, other)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefInMargin(ResultPart):
    """Posterior probabilities that the candidate is worse by more than the margin, within it (equivalent), better by more."""

    worse: float
    equivalent: float
    better: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinMargin(ResultPart):
    """Whether the difference is too small to matter. p_lower: of "worse by the margin", p_upper: of "better by it", p_value: the larger.

    non_inferior: not worse by the margin. equivalent: neither worse nor better by it. rope: what is believed of it, if anything is.
    """

    margin: float
    p_lower: float
    p_upper: float
    p_value: float
    non_inferior: bool
    equivalent: bool
    rope: BeliefInMargin | None = field(default=None, metadata=OMIT_DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class OmnibusTest(ResultPart):
    """One test of all systems at once: are they equal? df: its degrees of freedom."""

    name: str
    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedTasks(ResultPart):
    """One system against the first over all datasets: Fisher's combination of the one-sided p-values, and the p-value of "better"."""

    fisher: float
    p_better: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRanks(ResultPart):
    """Systems ranked on each of several datasets: Friedman's chi2, Iman and Davenport's f, and the mean ranks, in the order of `systems`.

    Two systems differ if their ranks are critical_difference apart (Nemenyi). combined_over_tasks: each system but the first against it.
    """

    chi2: float
    p_chi2: float
    f: float | None
    p_f: float
    mean_ranks: tuple[float, ...]
    datasets: int
    systems: tuple[str, ...] = json_name("names")
    critical_difference: float
    combined_over_tasks: tuple[CombinedTasks, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSlice(Slice):
    """The comparison of a slice, None where it could not be made; its p-value corrected over the slices of a column."""

    comparison: Comparison | None
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Result):
    """Is the candidate better than the baseline? difference is candidate minus baseline, always."""

    KIND = "comparison"

    design: str
    metric: str
    n: int
    higher_is_better: bool = True
    baseline: System
    candidate: System
    difference: Difference
    test: Test
    flips: Mapping[str, int] | None = None
    probability_candidate_better: float | None = None
    equivalence: WithinMargin | None = None
    correlation: float | None = None
    mde: float | None = None
    unmatched: Mapping[str, int] | None = None
    conclusion: str = ""
    changed_items: tuple[ChangedItem, ...] = json_name("telling_items", default=())
    table: JointCounts | None = None
    slices: tuple[ComparedSlice, ...] = ()
    details: ComparisonDetails = field(default_factory=ComparisonDetails)

    @property
    def p_value(self) -> float | None:
        return self.test.p_value

    @property
    def telling(self) -> tuple[ChangedItem, ...]:
        """Deprecated: so version 0.1.0 called `changed_items`."""
        return self.changed_items


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked(System):
    """A system on a board. Systems of one tier cannot be told apart."""

    tier: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Leaderboard(Result):
    """Many systems: each with its interval, the pairs with corrected p-values, and tiers that cannot be told apart."""

    KIND = "leaderboard"

    metric: str
    correction: str
    n: int
    rows: tuple[Ranked, ...]
    pairs: tuple[Comparison, ...]
    omnibus: OmnibusTest | None = None
    ranks: MeanRanks | None = None

    @property
    def headline(self) -> str:
        tiers = [f"{', '.join(row.name for row in rows)} (tier {tier})" for tier, rows in groupby(self.rows, key=lambda row: row.tier)]
        return f"{self.metric}: {' > '.join(tiers)}"
