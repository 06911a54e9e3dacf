"""What a pytest session says of accuracy: its checks in the order of their tests, what they show together, and what was put on record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import OMIT_DEFAULT, Result, ResultPart, json_name
from steelyard_old.results.verdict import PooledSuite, Recorded, Verdict

OUTCOMES = ("pass", "regression", "inconclusive", "new", "update", "not verified", "not recorded", "error")
SHOWN_OUTCOMES = {"new": "recorded", "update": "replaced", "error": "not checked"}
ITSELF = "recorded in this session, and compared with itself"  # a warning of its verdict says it: nothing was there to compare it with


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCheck(ResultPart):
    """One check of a test. outcome: its verdict, or new and update (to be recorded), not recorded, not verified, error.

    message: why nothing was checked. history: where the run was kept (place, id), or a warning.
    """

    BRIEF = True
    ALWAYS = ("test", "outcome", "task", "model", "spec")

    test: str
    outcome: str
    message: str | None = None
    verdict: Verdict | None = None
    history: Mapping[str, str] | None = None
    task: str = ""
    model: str = ""
    spec: Mapping[str, str] = field(default_factory=dict)

    @property
    def compared(self) -> bool:
        """Whether the run was held against a reference that was there before."""
        return self.verdict is not None and ITSELF not in self.verdict.warnings


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckedSession(Result):
    """All accuracy checks of a pytest session. counts: how many ended how. unused: references that no check asked for."""

    KIND = "accuracy-session"

    signature: str = json_name(None, default="")
    counts: Mapping[str, int]
    checks: tuple[SessionCheck, ...]
    pooled: PooledSuite | None = field(default=None, metadata=OMIT_DEFAULT)
    recorded: tuple[Recorded, ...] = ()
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """How many checks ended how: 2 pass, 1 regression."""
        shown = SHOWN_OUTCOMES | ({"regression": "regressions"} if self.counts.get("regression", 0) > 1 else {})
        parts = ", ".join(f"{n} {shown.get(name, name)}" for name, n in self.counts.items() if n)
        return f"{len(self.checks)} check{'s' if len(self.checks) > 1 else ''}: {parts}"


def counted(outcomes: list[str]) -> dict[str, int]:
    """How many checks ended how, in the order of `OUTCOMES`."""
    return {name: n for name in OUTCOMES if (n := outcomes.count(name))}
