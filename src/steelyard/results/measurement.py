"""What a question answers with: frozen values, plain to read, that keep their tally so the next question needs no data.

`to_dict` and `from_dict` carry `kind` and `schema`; `str()` of a result is one true line per number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from steelyard.errors import UsageError
from steelyard.results.display import Displayable
from steelyard.tally.counts import Counts

SCHEMA = 1
Side = Literal["two", "lower", "upper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
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

    def to_dict(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "confidence_level": self.confidence_level, "side": self.side, "method": self.method}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One quantity of a measurement. estimate and interval are None where they cannot be known; a warning says why.

    `n` is the number of items the estimate rests on (its own denominator for precision and recall), `support` the
    number of items whose truth is the row's label. `standard_error` is that of the estimate, whatever the method of the
    interval: s / sqrt(n) for means and right or wrong (s with n - 1, as lm-eval and Inspect have it), the delta method for
    the rest, over whole groups where there are groups; None where the data show no spread. `details` holds what a design
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
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The metric, with its class in brackets where it has one: f1[cat]."""
        return self.metric if self.label is None else f"{self.metric}[{self.label}]"

    def __str__(self) -> str:
        shown = "undefined" if self.estimate is None else f"{self.estimate:.6g}"
        return f"{self.name} {shown}" + ("" if self.interval is None else f" {self.interval}")

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "average": self.average,
            "label": self.label,
            "estimate": self.estimate,
            "n": self.n,
            "support": self.support,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "standard_error": self.standard_error,
            "higher_is_better": self.higher_is_better,
            **({"details": dict(self.details)} if self.details else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The measurement of the items whose column `by` has this value."""

    by: str
    value: str
    measurement: Measurement

    def to_dict(self) -> dict[str, Any]:
        return {"by": self.by, "value": self.value, "measurement": self.measurement.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Displayable):
    """How good it is and how sure we are: one row per quantity.

    `roles` says which column of the source was read as what; `table` is the tally where the metrics rest on one.
    """

    n: int
    rows: tuple[Row, ...]
    table: Counts | None = None
    slices: tuple[Slice, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    warnings: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    signature: str = ""

    @property
    def row(self) -> Row:
        """The row, when there is exactly one."""
        if len(self.rows) != 1:
            raise UsageError(
                "cannot tell which number is meant",
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
            f"cannot pick the row {name!r}",
            got=", ".join(r.name for r in (found or self.rows)),
            need="the name of exactly one row",
        )

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception: a result may ask render for its looks

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "measurement",
            "schema": SCHEMA,
            "name": self.name,
            "n": self.n,
            "metrics": [r.to_dict() for r in self.rows],
            "table": None if self.table is None else self.table.to_dict(),
            "slices": [s.to_dict() for s in self.slices],
            "roles": dict(self.roles),
            "warnings": list(self.warnings),
            "hints": list(self.hints),
            "signature": self.signature,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Measurement:
        """The measurement that `to_dict` wrote."""
        if plain.get("kind") != "measurement" or plain.get("schema") != SCHEMA:
            raise UsageError(
                "cannot read the result",
                got=f"kind {plain.get('kind')!r}, schema {plain.get('schema')!r}",
                need=f"a measurement of schema {SCHEMA}",
            )
        rows = tuple(
            Row(**{**row, "interval": None if row["interval"] is None else Interval(**row["interval"])}) for row in plain["metrics"]
        )
        return cls(
            n=plain["n"],
            rows=rows,
            table=None if plain["table"] is None else Counts.from_dict(plain["table"]),
            slices=tuple(Slice(by=s["by"], value=s["value"], measurement=cls.from_dict(s["measurement"])) for s in plain["slices"]),
            roles=plain["roles"],
            name=plain.get("name"),
            warnings=tuple(plain["warnings"]),
            hints=tuple(plain.get("hints", ())),
            signature=plain["signature"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One side of a comparison: its name, its estimate, its own interval and standard error, as `measure` gives them."""

    name: str
    estimate: float | None
    interval: Interval | None
    standard_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        interval = None if self.interval is None else self.interval.to_dict()
        return {"name": self.name, "estimate": self.estimate, "interval": interval, "standard_error": self.standard_error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Candidate minus baseline, always."""

    estimate: float | None
    interval: Interval | None
    standard_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        interval = None if self.interval is None else self.interval.to_dict()
        return {"estimate": self.estimate, "interval": interval, "standard_error": self.standard_error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """A test of no difference. `details` holds what a test adds: its share, its degrees of freedom, how exact it is."""

    __test__ = False  # not a test of pytest's

    name: str
    alternative: str
    statistic: float | None
    p_value: float | None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        plain = {"name": self.name, "alternative": self.alternative, "statistic": self.statistic, "p_value": self.p_value}
        return plain | ({"details": dict(self.details)} if self.details else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Displayable):
    """Is the candidate better than the baseline? difference is candidate minus baseline, always."""

    design: str
    metric: str
    n: int
    baseline: System
    candidate: System
    difference: Difference
    test: Test
    higher_is_better: bool = True
    flips: Mapping[str, int] | None = None
    probability_candidate_better: float | None = None
    equivalence: Mapping[str, Any] | None = None
    correlation: float | None = None
    mde: float | None = None
    unmatched: Mapping[str, int] | None = None
    conclusion: str = ""
    telling: tuple[Mapping[str, Any], ...] = ()
    table: Any = None
    slices: tuple[Mapping[str, Any], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    signature: str = ""

    @property
    def p_value(self) -> float | None:
        return self.test.p_value

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "comparison",
            "schema": SCHEMA,
            "design": self.design,
            "metric": self.metric,
            "n": self.n,
            "higher_is_better": self.higher_is_better,
            "baseline": self.baseline.to_dict(),
            "candidate": self.candidate.to_dict(),
            "difference": self.difference.to_dict(),
            "test": self.test.to_dict(),
            "flips": None if self.flips is None else dict(self.flips),
            "probability_candidate_better": self.probability_candidate_better,
            "equivalence": None if self.equivalence is None else dict(self.equivalence),
            "correlation": self.correlation,
            "mde": self.mde,
            "unmatched": None if self.unmatched is None else dict(self.unmatched),
            "conclusion": self.conclusion,
            "telling_items": [dict(item) for item in self.telling],
            "table": None if self.table is None else self.table.to_dict(),
            "slices": [
                {**part, "comparison": None if part["comparison"] is None else part["comparison"].to_dict()} for part in self.slices
            ],
            "details": dict(self.details),
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard(Displayable):
    """Many systems: each with its interval, the pairs with corrected p-values, and tiers that cannot be told apart."""

    metric: str
    correction: str
    n: int
    rows: tuple[Mapping[str, Any], ...]
    pairs: tuple[Comparison, ...]
    omnibus: Mapping[str, Any] | None = None
    ranks: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        rows = [{**row, "interval": None if row["interval"] is None else row["interval"].to_dict()} for row in self.rows]
        return {
            "kind": "leaderboard",
            "schema": SCHEMA,
            "metric": self.metric,
            "correction": self.correction,
            "n": self.n,
            "rows": rows,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "omnibus": None if self.omnibus is None else dict(self.omnibus),
            "ranks": None if self.ranks is None else dict(self.ranks),
            "warnings": list(self.warnings),
            "signature": self.signature,
        }
