"""What a plan answers with: how many items, why, what was assumed, and what happens if the assumption is off."""

from __future__ import annotations

from dataclasses import field

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import NOT_SET, OMIT_DEFAULT, Result, ResultPart, json_name
from steelyard_old.results.details import PlanDetails
from steelyard_old.results.learning_curve import CurveSize

EFFECT_NAMES = {"less": "drop", "greater": "rise", "two-sided": "difference"}  # by the alternative of a plan


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
    beside: tuple[tuple[float, float], ...] = field(default=(), metadata=OMIT_DEFAULT)
    beside_label: str = field(default="", metadata=OMIT_DEFAULT)
    goal: float | None = None
    mark: tuple[float, float] | None = None
    log_x: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignRow(ResultPart):
    """A design beside others: items to have, items on average if nothing changed and if it dropped, and what its calls cost."""

    BRIEF = True

    design: str
    n_items: int = json_name("items")
    if_nothing_changed: float | None = json_name("items if nothing changed", default=NOT_SET)
    if_it_dropped: float | None = json_name("items if it dropped", default=NOT_SET)
    at_most: int | None = json_name("at most", default=NOT_SET)
    calls: float | None = NOT_SET
    money: float | None = NOT_SET
    note: str | None = NOT_SET


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignCourse(ResultPart):
    """How runs of a design that stops early end, on a condition: calls on average and by which nine of ten have ended, shares of endings.

    information_bound: calls that no design could do with fewer of, None where it is not known.
    """

    design: str
    condition: str = json_name("if")
    calls: int
    nine_in_ten: int = json_name("9 of 10 by")
    alarm: float
    passed: float = json_name("pass")
    left_open: float = json_name("left open")
    information_bound: int | None = json_name("information bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeStep(ResultPart):
    """What another size would give, by the goal of the plan: theta and threshold, assurance and width, or the score of the model."""

    BRIEF = True

    n: int
    theta: float | None = NOT_SET
    threshold: float | None = NOT_SET
    widest: float | None = NOT_SET
    assurance: float | None = NOT_SET
    expected_width: float | None = json_name("expected width", default=NOT_SET)
    score: float | None = NOT_SET
    low: float | None = NOT_SET
    high: float | None = NOT_SET
    doubling_buys: float | None = NOT_SET


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRow(ResultPart):
    """A split into training and test items, of another total or by custom: the score, its bound, the width of its interval.

    worse_by: how much lower its bound is than that of the best split.
    """

    BRIEF = True

    total: int | None = NOT_SET
    split: str | None = NOT_SET
    train: int
    test: int
    score: float | None = NOT_SET
    lower_bound: float | None = NOT_SET
    upper_bound: float | None = NOT_SET
    width: float | None = NOT_SET
    worse_by: float | None = NOT_SET


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf(ResultPart):
    """What the plan would answer if something were otherwise: the number that was asked for, by its goal. None: there is no such number."""

    BRIEF = True

    condition: str = json_name("if")
    alpha: float | None = NOT_SET
    power: float | None = NOT_SET
    theta: float | None = NOT_SET
    n: int | None = NOT_SET
    labels: int | None = NOT_SET
    low: int | None = NOT_SET
    high: int | None = NOT_SET
    train: int | None = NOT_SET
    test: int | None = NOT_SET
    score: float | None = NOT_SET
    lower_bound: float | None = NOT_SET
    upper_bound: float | None = NOT_SET
    width: float | None = NOT_SET


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
