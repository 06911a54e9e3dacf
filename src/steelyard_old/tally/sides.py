"""How the two sides of a pairing are spoken of in warnings and errors."""

from __future__ import annotations

from steelyard_old.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """How the two sides of a pairing are spoken of. may_differ: they could also be compared as different items."""

    baseline: str = "baseline"
    candidate: str = "candidate"
    verb: str = "compares"
    may_differ: bool = True
    identical: str = "the two systems {}: identical answers, or one run compared with itself"

    def unless(self, first: str, otherwise: str) -> str:
        """A hint, with what else could be done where the items may differ."""
        return first + otherwise if self.may_differ else first


TWO_SYSTEMS = Sides()
