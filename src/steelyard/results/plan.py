"""What a plan answers with: how many items, why, what was assumed, and what happens if the assumption is off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard.late_dataclass import dataclass
from steelyard.results.base import IF_ANY, Result, ResultPart
from steelyard.results.details import PlanDetails

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
    sensitivity: tuple[Mapping[str, Any], ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    curve: Curve | None = None
    details: PlanDetails = field(default_factory=PlanDetails)
