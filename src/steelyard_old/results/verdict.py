"""What a guard answers with: a verdict on one task, on a suite of them, and what was put on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard_old.error_rates import ALPHA, BETA
from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import NOT_SET, OMIT_DEFAULT, Result, ResultPart, json_keys, json_name, one_of
from steelyard_old.results.comparison import ChangedItem, Difference, System, Test
from steelyard_old.results.details import VerdictDetails
from steelyard_old.results.measurement import Interval, Slice
from steelyard_old.results.nights import FallenItem, NightPoint, SinceNight
from steelyard_old.results.stopping import StoppedSuite

EXIT = {"pass": 0, "regression": 1, "inconclusive": 2}
WORSENING = {True: "drop", False: "rise"}  # what a change for the worse is called, by whether higher is better
WORSE = "less"  # what the test of a guard asks: the difference is turned so that up is good
TEST_OF_A_GUARD = {"name": "", "alternative": WORSE, "statistic": None, "p_value": None}  # what JSON does not say of it


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSystem(System):
    """The run or the reference of a verdict: its score in the verdict's scale, and where the reference comes from."""

    BRIEF = True
    ALWAYS = ("estimate", "n")

    name: str = ""
    estimate: float | None = json_name("value", default=None)
    interval: Interval | None = None
    n: int | None = None
    line: int | None = None
    recorded: str | None = None
    runs: int | None = None
    sigma_run: float | None = None
    by: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSlice(Slice):
    """The items of a verdict whose column `by` has this value: their scores, their difference, and whether they are worse.

    The bounds of `difference` and `p_value` are each by itself; `p_adjusted` is the slice's among all slices and the whole, None where
    it was not tested (`note` says why). `mde` is the smallest drop that this slice could be found worse by. `ratio`: run / reference with
    its bounds, where margin or theta is a share of the reference.
    """

    n: int
    reference: float | None = None
    candidate: float | None = None
    difference: Difference = field(default_factory=Difference)
    flips: Mapping[str, int] | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    mde: float | None = None
    critical: bool = False
    worse: bool = False
    note: str = ""
    ratio: Difference | None = field(default=None, metadata=OMIT_DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFamily(ResultPart):
    """How slices were judged beside the whole: which columns, how many were tested (`tested`) and shown, and the shares of alpha.

    `share` of alpha is for the whole, the rest for the tested slices. `p_overall` is the adjusted p-value of the whole, `p_value`
    the smallest adjusted one of all: that of "nothing is worse anywhere". `losses_needed` are the fewest items that a slice has to lose.
    """

    by: tuple[str, ...]
    tested: int
    shown: int
    share: float
    losses_needed: int
    p_overall: float
    p_value: float
    critical_slices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed(ResultPart):
    """What would decide an inconclusive verdict, and why. None where it is not known, or where no number would do.

    n_items: in all, `more` of them beyond those of this run. items_each: in the run and in the reference. repeats: of each item. groups, of
    which more_groups beyond those of this run: where items come in groups, and these are too few.
    """

    BRIEF = True
    ALWAYS = ("n_items",)
    _ORDERS = (("items", "items_each", "why"), ("groups", "more_groups", "more", "items", "why"))

    groups: int | None = None
    more_groups: int | None = None
    n_items: int | None = json_name("items", default=None)
    more: int | None = NOT_SET
    repeats: int | None = None
    why: str | None = None
    items_each: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver(ResultPart):
    """Why a check of a suite does not count for now, and until which day; in_force: whether that day is still to come."""

    BRIEF = True
    ALWAYS = ("reason", "until")

    reason: str | None = None
    until: str | None = None
    by: str | None = None
    in_force: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdict(Result):
    """Has it become worse than the reference? `difference` is candidate minus reference, turned so that up is good.

    All of value, difference, margin, theta, mde, sigma and threshold are in `scale`. `difference.lower` and
    `difference.upper` are one-sided bounds of level 1 - alpha each, the ends of an interval of level 1 - 2 alpha; the
    p-value decides, and they never contradict it. margin_relative, theta_relative: the two as shares of the reference, where they
    were asked for so; `ratio` is then candidate / reference with its bounds, which decide instead of those of the difference.
    """

    KIND = "verdict"

    verdict: str = one_of(EXIT)
    task: str
    model: str
    metric: str = "accuracy"
    higher_is_better: bool = True
    scale: str = "fraction"
    design: str = "unpaired"
    target: str = "items"
    n: int | None = None
    alpha: float = ALPHA
    beta: float = BETA
    sigma: float | None = None
    margin: float = 0.0
    theta: float | None = None
    margin_relative: float | None = field(default=None, metadata=OMIT_DEFAULT)
    theta_relative: float | None = field(default=None, metadata=OMIT_DEFAULT)
    mde: float | None = None
    threshold: float | None = None
    test: Test | None = json_keys({"test": "name", "p_value": "p_value"}, TEST_OF_A_GUARD, default=None)
    tier: str | None = None
    conclusion: str = ""
    claim: str = ""
    spec: Mapping[str, Any] = field(default_factory=dict)  # the keys are the user's
    reference: JudgedSystem = field(default_factory=JudgedSystem)
    candidate: JudgedSystem = field(default_factory=JudgedSystem)
    difference: Difference = field(default_factory=Difference)
    ratio: Difference | None = field(default=None, metadata=OMIT_DEFAULT)
    flips: Mapping[str, int] | None = None
    needed: Needed | None = None
    waiver: Waiver | None = None
    changed_items: tuple[ChangedItem, ...] = json_name("telling_items", default=())
    slicing: SliceFamily | None = field(default=None, metadata=OMIT_DEFAULT)
    slices: tuple[JudgedSlice, ...] = field(default=(), metadata=OMIT_DEFAULT)
    details: VerdictDetails = field(default_factory=VerdictDetails)

    @property
    def p_value(self) -> float | None:
        """Of the test of all items."""
        return None if self.test is None else self.test.p_value

    @property
    def p_decisive(self) -> float | None:
        """The p-value that the verdict rests on, and that a suite takes: with slices, the smallest adjusted one of them and the whole."""
        return self.p_value if self.slicing is None else self.slicing.p_value

    @property
    def telling(self) -> tuple[ChangedItem, ...]:
        """Deprecated: so version 0.1.0 called `changed_items`."""
        return self.changed_items

    @classmethod
    def _from_earlier_version(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Version 0.1.0 had the bounds of the difference without their interval."""
        gap, details = plain.get("difference") or {}, plain.get("details") or {}
        if "interval" in gap:
            return plain
        method = details.get("interval_method") or plain.get("test") or ""
        bounds = one_sided_bounds(gap.get("lower"), gap.get("upper"), plain.get("alpha", ALPHA), method)
        return {**plain, "difference": {**gap, "interval": bounds}}

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledSuite(ResultPart):
    """What the guards of a suite show together. `share` of alpha is for the pooled test over `m` tasks, the rest for the tasks alone.

    `verdict` is pass, regression, or unconfirmed: only the pooled test rejects, and noise that a whole run shares (`phi`) could explain
    that. phi is known if it rests on earlier runs, each checked against those before it: `phi_recorded` on record from the second on, and
    `phi_history` healthy ones in the history. `p_value` is that of the suite, of the tasks that are not waived; `p_pooled` and `at_least`
    count all `m`, `waived` ones included. `named` are the tasks that are worse, and at least `at_least` are, if tasks vary
    independently. `mean_change` weighs every task by its precision; up is good.
    """

    verdict: str
    p_value: float
    p_pooled: float | None = None
    z: float | None = None
    m: int
    waived: int = 0
    share: float
    phi: float
    phi_known: bool
    phi_recorded: int = 0
    phi_history: int = 0
    at_least: int
    named: tuple[str, ...] = ()
    suspicious: str | None = None
    mean_change: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteNightAcknowledged(ResultPart):
    """What somebody has said of a regression: how ("accepted" or "fixed"), who, on which day, and why."""

    how: str
    by: str | None
    date: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteNights(ResultPart):
    """A suite as one night of a series with a budget of false alarms.

    `verdict` is pass, regression, changed (worse on these very items, not shown for new ones) or unconfirmed (some tasks have to be run
    `again`). A night alarms when `evidence` reaches `line`; a regression stays until somebody acknowledges it: `unacknowledged` is one of
    an earlier night. `since` is the night, and the day, of the first run that is worse; `fell` are the items that fell most. `nights` have
    been judged in the series, and `baseline` runs are what tonight was compared with. `retry`: this night was judged before, and its
    answers were not counted again. `correlation` is that of consecutive nights, None for fewer than twenty; `alike`: it is more than chance
    would bring, and the budget may not hold. `second`: tasks whose second run decided the night. `acknowledged`: what somebody has said of
    this regression since (how, by, date, reason).
    `course` has the newest nights up to this one, as they were decided.
    """

    series: str
    night: str
    verdict: str
    false_alarms_per_year: float
    runs_per_year: float
    evidence: float
    line: float
    alarm: bool = False
    unacknowledged: bool = False
    since: SinceNight | None = None
    named: tuple[str, ...] = ()
    fell: tuple[FallenItem, ...] = json_name("items", default=())
    counted: tuple[str, ...] = ()
    pool_z: float | None = None
    task_z: Mapping[str, float] = field(default_factory=dict)
    nights: int = 0
    baseline: int = 0
    correlation: float | None = None
    alike: bool = False
    retry: bool = False
    confirm: bool = False
    again: tuple[str, ...] = ()
    second: tuple[str, ...] = field(default=(), metadata=OMIT_DEFAULT)
    acknowledged: SuiteNightAcknowledged | None = field(default=None, metadata=OMIT_DEFAULT)
    target: str = "items"
    claim: str = ""
    course: tuple[NightPoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRow(ResultPart):
    """The place of a verdict in its suite: its p-value by itself and adjusted for the family, and what it counts as there.

    counts_as: its verdict, or unconfirmed (worse by itself, not after correction), changed, advisory, waived. confirmed: worse after
    correction as well.
    """

    task: str | None = None
    model: str | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)  # the keys are the user's
    tier: str | None = None
    verdict: str = ""
    p_value: float | None = None
    p_adjusted: float | None = None
    confirmed: bool = False
    counts_as: str | None = None
    waiver: Waiver | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Suite(Result):
    """Many guards at once. `rows` say for each verdict its place in the family: adjusted p, tier, waiver, what counts."""

    KIND = "suite"

    name: str | None = None
    verdict: str
    correction: str
    alpha: float
    conclusion: str = ""
    rows: tuple[SuiteRow, ...] = ()
    pooled: PooledSuite | None = field(default=None, metadata=OMIT_DEFAULT)
    nights: SuiteNights | None = field(default=None, metadata=OMIT_DEFAULT)
    stopping: StoppedSuite | None = field(default=None, metadata=OMIT_DEFAULT)  # of a suite that was run until it was decided
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recorded(Result):
    """A reference that was put on record, or replaced (`before` is then its old value)."""

    KIND = "recorded"

    task: str
    model: str
    metric: str
    scale: str
    value: float
    n: int
    runs: int
    sigma_run: float | None = None
    before: float | None = None
    file: str = ""
    items: str | None = None
    reason: str | None = None
    conclusion: str = ""
    spec: Mapping[str, Any]  # the keys are the user's


def one_sided_bounds(lower: float | None, upper: float | None, alpha: float, method: str) -> Interval | None:
    """Two bounds of level 1 - alpha, one on each side, as the interval between them; None where neither is known."""
    if lower is None and upper is None:
        return None
    return Interval(low=lower, high=upper, confidence_level=1 - 2 * alpha, side="two", method=method)
