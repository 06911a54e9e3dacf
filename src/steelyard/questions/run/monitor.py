"""Looking while a run goes on: after every few items, in the order in which they were drawn, and never at a score in between."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from steelyard.estimate.guard.sequential import Outside, PairedSeries, StoppingPlan, outside_of
from steelyard.evaluate.asking.asks import Case
from steelyard.infer.sequential.confidence_sequence import ConfidenceSequence

ROOM = 1024  # items that there is room for at first
LEVEL = 0.95  # of intervals that hold whenever one stops


class Watch(Protocol):
    """Sees every item in its order and says when it is enough."""

    looked: list[int]

    @property
    def unlooked(self) -> int:
        """Items that came after the last look."""

    def add(self, case: Case, reference: float | None, candidate: float) -> None:
        """One more item."""

    def enough(self, *, last: bool) -> bool:
        """Whether the question is decided. Looks only when a look is due; `last`: there are no more items."""


class UntilDecided:
    """Stops when a rule has decided. With groups it looks between whole ones only."""

    def __init__(self, plan: StoppingPlan, sign: int) -> None:
        self.plan, self.rule, self.looked, self._sign = plan, plan.rule(), [], sign
        self._ids: list[str] = []
        self._values = np.empty((ROOM, 2))  # (reference, candidate), with room for more: a look must not copy what earlier ones saw
        self._groups: list[str | None] = []
        self._whole = 0  # items of groups that are complete
        self.outside: Outside | None = None

    looked: list[int]

    def add(self, case: Case, reference: float | None, candidate: float) -> None:
        assert reference is not None  # a run without one is never watched for a decision
        if not self._groups or case.group is None or case.group != self._groups[-1]:
            self._whole = len(self._ids)
        if len(self._ids) == len(self._values):
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self._values[len(self._ids)] = reference, candidate
        self._ids.append(case.id)
        self._groups.append(case.group)
        if case.group is None:
            self._whole = len(self._ids)
        if self.outside is None:
            newest = PairedSeries(ids=(case.id,), reference=np.array([reference]), candidate=np.array([candidate]), group=(case.group,))
            self.outside = outside_of(newest, self.plan)

    def enough(self, *, last: bool) -> bool:
        if self.outside is not None:  # at once: the rule can decide nothing any more, and the item must be among the rows
            self.looked.append(len(self._ids))
            return True
        n = len(self._ids) if last else self._whole
        seen = self.looked[-1] if self.looked else 0
        if n == seen or (n - seen < self.plan.every and not last):
            return False
        self.looked.append(n)
        grouped = self.plan.groups is not None
        units = self.series(n).units(self._sign, grouped=True) if grouped else self._sign * (self._values[:n, 1] - self._values[:n, 0])
        return self.rule.look(units, last=last) != "continue"

    @property
    def unlooked(self) -> int:
        return len(self._ids) - (self.looked[-1] if self.looked else 0)

    def series(self, n: int) -> PairedSeries:
        """The first n items."""
        values = self._values[:n].copy()
        return PairedSeries(ids=tuple(self._ids[:n]), reference=values[:, 0], candidate=values[:, 1], group=tuple(self._groups[:n]))


class UntilNarrow:
    """Stops when the interval of a mean is narrow enough, whenever that is: a confidence sequence holds at every look at once."""

    def __init__(self, width: float, every: int, ends: tuple[float, float], alpha: float) -> None:
        self.width, self.every, self.looked = width, every, []
        self.sequence = ConfidenceSequence(ends, alpha, width=width)  # bets that aim at it get there in a fraction of the items
        self.interval: tuple[float, float] = ends
        self._scores = array("d")  # numbers side by side: a look copies them at once

    looked: list[int]

    def add(self, case: Case, reference: float | None, candidate: float) -> None:
        self._scores.append(candidate)

    def enough(self, *, last: bool) -> bool:
        n, seen = len(self._scores), self.looked[-1] if self.looked else 0
        if n == seen or (n - seen < self.every and not last):
            return False
        self.looked.append(n)
        self.interval = self.sequence.look(np.array(self._scores))
        return self.interval[1] - self.interval[0] <= self.width

    @property
    def unlooked(self) -> int:
        return len(self._scores) - (self.looked[-1] if self.looked else 0)

    def facts(self) -> Mapping[str, Any]:
        """What to say of it."""
        low, high = self.interval
        return {"design": "betting confidence sequence", "width": self.width, "low": low, "high": high, "looks_made": len(self.looked)}
