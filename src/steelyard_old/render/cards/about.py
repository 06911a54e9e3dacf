"""What a card tells: of which model, and what was measured on which data."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.pages import measurement
from steelyard_old.results.measurement import Measurement, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A measurement, and the name of the data it was made on."""

    data: str
    measurement: Measurement

    @property
    def scores(self) -> list[Row]:
        """The rows that speak of all items and have a value: what forms without a place for "undefined" can hold."""
        return [row for row in measurement.headline(self.measurement) if row.estimate is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDetails:
    """model: its name. task: as the Hub sorts tasks, such as text-classification. source: where the evaluation can be seen."""

    model: str
    evaluated: tuple[Evaluated, ...]
    task: str = "other"
    source: str | None = None

    @property
    def rows(self) -> Iterator[tuple[Evaluated, Row]]:
        """The headline of every measurement, undefined numbers included."""
        return ((each, row) for each in self.evaluated for row in measurement.headline(each.measurement))


def standard_error(row: Row) -> float | None:
    """The standard error where one is known, in six digits: no error is known better than that."""
    return None if row.standard_error is None else float(f"{row.standard_error:.6g}")
