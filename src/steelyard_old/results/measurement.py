"""What `measure` answers with: one row per quantity, each with its interval, and the tally, so that the next question needs no data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import OMIT_DEFAULT, Result, ResultPart, json_name
from steelyard_old.results.details import RowDetails
from steelyard_old.tally.counts import Counts

Side = Literal["two", "lower", "upper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(ResultPart):
    """An interval for one quantity. A one-sided interval ends at the range of the quantity; None there is unbounded."""

    low: float | None
    high: float | None
    confidence_level: float
    side: Side
    method: str

    def __str__(self) -> str:
        low = "-inf" if self.low is None else f"{self.low:.6g}"
        high = "inf" if self.high is None else f"{self.high:.6g}"
        return f"[{low}, {high}] ({self.confidence_level:.6g} {self.side}, {self.method})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(ResultPart):
    """One quantity of a measurement. estimate and interval are None where they cannot be known; a warning says why.

    `n` is the number of items the estimate rests on (its own denominator for precision and recall), `support` the
    number of items whose truth is the row's label. `standard_error` is that of the estimate, whatever the method of the
    interval: s / sqrt(n) for means and right or wrong (s with n - 1, as lm-eval and Inspect have it), the delta method for
    the rest, over whole groups where there are groups; None where the data show no spread. `probability_at_least` is the
    posterior probability that the quantity is `at_least` or more, where that was asked. `details` holds what a design
    adds: design effect, effective n, groups, within-item variance, the posterior's other summaries.
    """

    metric: str
    average: str | None = None
    label: str | None = None
    estimate: float | None
    n: int
    support: int | None = None
    interval: Interval | None
    standard_error: float | None = None
    higher_is_better: bool = True
    at_least: float | None = field(default=None, metadata=OMIT_DEFAULT)
    probability_at_least: float | None = field(default=None, metadata=OMIT_DEFAULT)
    details: RowDetails = field(default_factory=RowDetails, metadata=OMIT_DEFAULT)

    @property
    def name(self) -> str:
        """The metric, with its class in brackets where it has one: f1[cat]."""
        return self.metric if self.label is None else f"{self.metric}[{self.label}]"

    def __str__(self) -> str:
        shown = "undefined" if self.estimate is None else f"{self.estimate:.6g}"
        return f"{self.name} {shown}" + ("" if self.interval is None else f" {self.interval}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(ResultPart):
    """The items whose column `by` has this value: what was measured on them alone."""

    by: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSlice(Slice):
    """The measurement of a slice."""

    measurement: Measurement


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Measurement(Result):
    """How good it is and how sure we are: one row per quantity.

    `roles` says which column of the source was read as what; `table` is the tally where the metrics rest on one.
    """

    KIND = "measurement"

    name: str | None = None
    n: int
    rows: tuple[Row, ...] = json_name("metrics")
    table: Counts | None = None
    slices: tuple[MeasuredSlice, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    hints: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        return f"{'; '.join(map(str, self.rows))} (n = {self.n:,})"

    @property
    def row(self) -> Row:
        """The row, when there is exactly one."""
        if len(self.rows) != 1:
            raise UsageError(
                f"Which number? There are {len(self.rows)} rows: {', '.join(r.name for r in self.rows)}.",
                got=f"{len(self.rows)} rows: {', '.join(r.name for r in self.rows)}",
                need="exactly one",
                hint=f"pick one by name, m[{self.rows[0].name!r}], or ask for one metric" if self.rows else "",
            )
        return self.rows[0]

    @property
    def estimate(self) -> float | None:
        return self.row.estimate

    @property
    def interval(self) -> Interval | None:
        return self.row.interval

    @property
    def standard_error(self) -> float | None:
        return self.row.standard_error

    def __getitem__(self, name: str) -> Row:
        """A row by name: m["accuracy"], m["f1[cat]"]; m["f1"] where only one class has it."""
        found = [r for r in self.rows if r.name == name] or [r for r in self.rows if r.metric == name]
        if len(found) == 1:
            return found[0]
        raise UsageError(
            f"No row {name!r}; the rows are {', '.join(r.name for r in self.rows)}."
            if not found
            else f"Several rows match {name!r}: {', '.join(r.name for r in found)}.",
            got=", ".join(r.name for r in (found or self.rows)),
            need="the name of exactly one row",
        )

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)
