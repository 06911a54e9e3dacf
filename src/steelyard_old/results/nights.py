"""The nights of a suite, judged again: what each budget of false alarms would have given."""

from __future__ import annotations

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import Result, ResultPart

NOT_CLAIMED = 'A "changed" night says nothing about new items, and very slow losses are missed; use drift for those.'


def budget_text(false_alarms_per_year: float) -> str:
    """A budget in words.

    >>> budget_text(1.0), budget_text(0.1)
    ('1 false alarm a year', '0.1 false alarms a year')
    """
    return f"{false_alarms_per_year:g} false alarm{'' if false_alarms_per_year == 1 else 's'} a year"


def claim_of(false_alarms_per_year: float) -> str:
    """What a budget promises, and what that assumes."""
    return (
        f"on average at most about {budget_text(false_alarms_per_year)} over the whole suite, if nothing but chance differs between "
        "runs (same items, protocol, noise level) and runs are independent from night to night"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NightAlarm(ResultPart):
    """A night on which the evidence crossed the line.

    verdict: regression, or changed (worse on these very items; not shown for new ones). since, since_time: the first night of the
    change. named: tasks that are shown to be worse for new items. fell: "task: item" that fell most. confirmed: the later night on which
    what had only changed was shown to be worse for new items, if it was; verdict, named and fell are those of that night.
    """

    night: str
    time: str
    verdict: str
    evidence: float
    since: str | None = None
    since_time: str | None = None
    named: tuple[str, ...] = ()
    fell: tuple[str, ...] = ()
    confirmed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SinceNight(ResultPart):
    """The first night of a change, and its day if that is known."""

    night: str
    date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FallenItem(ResultPart):
    """One of the items that fell most, and its task."""

    task: str
    item: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NightPoint(ResultPart):
    """One night of a series as it was decided. evidence is None while a regression stands that nobody had acknowledged."""

    night: str
    time: str
    verdict: str
    evidence: float | None = None
    alarm: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NightAcknowledgement(ResultPart):
    """Somebody acknowledged a regression: accept (it is intended) or fixed (its cause is gone)."""

    time: str
    how: str
    by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOutcome(ResultPart):
    """What one budget gives on these nights.

    as_judged: each night by the budget it was judged with, as it was decided; else all nights by this one. line: the evidence from
    which a night alarms. red_nights: nights after a regression that nobody had acknowledged; they are not judged. evidence: of each
    night, None for those.
    """

    false_alarms_per_year: float
    line: float
    alarms: tuple[NightAlarm, ...]
    evidence: tuple[float | None, ...]
    as_judged: bool = False
    red_nights: int = 0

    @property
    def regressions(self) -> int:
        return sum(alarm.verdict == "regression" for alarm in self.alarms)

    @property
    def changes(self) -> int:
        return len(self.alarms) - self.regressions


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NightSimulation(Result):
    """The stored nights of a suite, replayed with one or more budgets. `times` and `nights` go with `evidence` of each budget.

    ordinary: the nights are ordinary runs of a suite, which no budget has judged; every regression is taken as accepted at once.
    """

    KIND = "nights"

    place: str
    series: str
    runs_per_year: float
    nights: tuple[str, ...]
    times: tuple[str, ...]
    earlier: int
    ordinary: bool = False
    budgets: tuple[BudgetOutcome, ...]
    acknowledgements: tuple[NightAcknowledgement, ...] = ()
    claim: str = ""
    conclusion: str = ""
