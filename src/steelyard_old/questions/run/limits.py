"""Limits of what a run may take, in calls and in money. A run that reaches one ends in order: its rows are kept, nothing is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.evaluate.asking.summary import PER
from steelyard_old.options.run import Price
from steelyard_old.results.stopping import ReachedLimit


@dataclass(slots=True, kw_only=True)
class Budget:
    """What a run, or all the runs of a suite together, may still take.

    Calls are counted as they are begun, whether they are asked now or were answered in an earlier half of the run: the same
    limit ends a resumed run at the same item. The cost is that of the answers in the order of the items. Answers that were
    under way when the cost limit was reached are in the journal, and on the bill.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    calls: int = 0
    cost: float = 0.0

    def begin(self, calls: int) -> bool:
        """Whether so many calls may be begun; they count from now on."""
        if self.max_calls is not None and self.calls + calls > self.max_calls:
            return False
        self.calls += calls
        return True

    def spend(self, rows: Sequence[Mapping[str, Any]], price: Price | None) -> None:
        """The cost of these answers. An answer whose tokens nobody counted has no cost that could be limited."""
        if self.max_cost is None:
            return
        assert price is not None  # refused without one
        for row in rows:
            if row["outcome"] == "error":
                continue
            if row["tokens_in"] is None or row["tokens_out"] is None:
                raise DataError(
                    f"The model does not report the tokens of its answers (item {row['id']!r}), so the cost cannot be limited.",
                    got=f"no token counts for item {row['id']!r}",
                    need="token counts with every answer",
                    hint="use max_calls= instead of max_cost=",
                )
            self.cost += (row["tokens_in"] * price.input + row["tokens_out"] * price.output) / PER

    @property
    def spent(self) -> bool:
        """Whether the money is gone."""
        return self.max_cost is not None and self.cost >= self.max_cost

    def reached(self, item: str | None) -> ReachedLimit:
        """The limit that ends the run after this item."""
        if self.spent:
            assert self.max_cost is not None
            said = _reached(f"cost limit of {self.max_cost:g}", item, f" ({self.cost:.4g} at the given prices)")
            return ReachedLimit(limit="cost", most=self.max_cost, used=self.cost, item=item, said=said)
        assert self.max_calls is not None
        said = _reached(f"limit of {self.max_calls:,} call{'' if self.max_calls == 1 else 's'}", item, "")
        return ReachedLimit(limit="calls", most=self.max_calls, used=self.calls, item=item, said=said)

    def refuse_less_than(self, calls: int) -> None:
        """A limit that does not allow a single item is a mistake, found before the first question."""
        if self.max_calls is not None and self.max_calls < calls:
            raise UsageError(
                f"max_calls={self.max_calls} does not allow a single item, which takes {calls} calls.",
                got=f"max_calls={self.max_calls}",
                need=f"at least {calls}: every model is asked every item as often as repeats says",
            )


def _reached(which: str, item: str | None, spent: str) -> str:
    return f"the {which} was reached before the first item" if item is None else f"the {which} was reached at item {item!r}{spent}"
