"""What a plan answers with: how many items, why, what was assumed, and what happens if the assumption is off."""

from __future__ import annotations

from dataclasses import field

from steelyard.late_dataclass import dataclass
from steelyard.results.base import IF_ANY, UNSAID, Result, ResultPart, said_as
from steelyard.results.details import PlanDetails
from steelyard.results.learning_curve import CurveSize

LOOKED_FOR = {"less": "drop", "greater": "rise", "two-sided": "difference"}  # by the alternative of a plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve(ResultPart):
    """A line to draw: y against x, a band around it, points that were seen, and the place that was asked for.

    `beside` is another line, named `beside_label`, through places. `log_x` spaces x by its logarithm. `goal` is the y that
    is wanted (a horizontal line), `mark` the (x, y) of the answer.
    """

    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    points: tuple[tuple[float, float], ...] = ()
    beside: tuple[tuple[float, float], ...] = field(default=(), metadata=IF_ANY)
    beside_label: str = field(default="", metadata=IF_ANY)
    goal: float | None = None
    mark: tuple[float, float] | None = None
    log_x: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignRow(ResultPart):
    """A design beside others: items to have, items on average if nothing changed and if it dropped, and what its calls cost."""

    BRIEF = True

    design: str
    n_items: int = said_as("items")
    if_nothing_changed: float | None = said_as("items if nothing changed", default=UNSAID)
    if_it_dropped: float | None = said_as("items if it dropped", default=UNSAID)
    at_most: int | None = said_as("at most", default=UNSAID)
    calls: float | None = UNSAID
    money: float | None = UNSAID
    note: str | None = UNSAID


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignCourse(ResultPart):
    """How runs of a design that stops early end, on a condition: calls on average and by which nine of ten have ended, shares of endings.

    information_bound: calls that no design could do with fewer of, None where it is not known.
    """

    design: str
    condition: str = said_as("if")
    calls: int
    nine_in_ten: int = said_as("9 of 10 by")
    alarm: float
    passed: float = said_as("pass")
    left_open: float = said_as("left open")
    information_bound: int | None = said_as("information bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeStep(ResultPart):
    """What another size would give, by the goal of the plan: theta and threshold, assurance and width, or the score of the model."""

    BRIEF = True

    n: int
    theta: float | None = UNSAID
    threshold: float | None = UNSAID
    widest: float | None = UNSAID
    assurance: float | None = UNSAID
    expected_width: float | None = said_as("expected width", default=UNSAID)
    score: float | None = UNSAID
    low: float | None = UNSAID
    high: float | None = UNSAID
    doubling_buys: float | None = UNSAID


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRow(ResultPart):
    """A split into training and test items, of another total or by custom: the score, its bound, the width of its interval.

    worse_by: how much lower its bound is than that of the best split.
    """

    BRIEF = True

    total: int | None = UNSAID
    split: str | None = UNSAID
    train: int
    test: int
    score: float | None = UNSAID
    lower_bound: float | None = UNSAID
    upper_bound: float | None = UNSAID
    width: float | None = UNSAID
    worse_by: float | None = UNSAID


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf(ResultPart):
    """What the plan would answer if something were otherwise: the number that was asked for, by its goal. None: there is no such number."""

    BRIEF = True

    condition: str = said_as("if")
    alpha: float | None = UNSAID
    power: float | None = UNSAID
    theta: float | None = UNSAID
    n: int | None = UNSAID
    labels: int | None = UNSAID
    low: int | None = UNSAID
    high: int | None = UNSAID
    train: int | None = UNSAID
    test: int | None = UNSAID
    score: float | None = UNSAID
    lower_bound: float | None = UNSAID
    upper_bound: float | None = UNSAID
    width: float | None = UNSAID


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Result):
    """How much data a question takes.

    `goal` is detect, rule-out, width, threshold, train, split or designs. `n` is the number to act on; where the criterion is a
    saw-tooth in n, `n_first` is the first that meets it and `n_stable` the one from which every larger one does (then n
    is n_stable). `labels` is how many items must be labelled to have n relevant ones. `conclusion` is the answer in one
    sentence, `assumed` what it rests on. `sensitivity` (what if the assumption is off), `steps` (other sizes beside the
    answer) and `rows` (designs side by side) are small tables: each row has the same keys, the first names the row.
    """

    KIND = "plan"

    goal: str
    design: str | None = None
    n: int | None = None
    n_first: int | None = None
    n_stable: int | None = None
    labels: int | None = None
    theta: float | None = None
    threshold_offset: float | None = None
    alpha: float | None = None
    beta: float | None = None
    power: float | None = None
    assurance: float | None = None
    expected_n: float | None = None
    conclusion: str = ""
    assumed: str = ""
    sensitivity: tuple[WhatIf, ...] = ()
    steps: tuple[SizeStep | DesignCourse | SplitRow, ...] = ()
    rows: tuple[DesignRow | SplitRow | CurveSize, ...] = ()
    curve: Curve | None = None
    details: PlanDetails = field(default_factory=PlanDetails)
