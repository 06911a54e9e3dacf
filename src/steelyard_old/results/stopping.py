"""How a run that could stop early ended: by its rule, at a width, or with other tasks of a suite. JSON has the keys that were found.

Two things stay as each rule writes them: its settings, and the numbers of a look. Every look has `n` (the items so far) and `decision`;
most have the statistic and its boundaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import NOT_SET, OMIT_DEFAULT, ResultPart, json_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOutside(ResultPart):
    """The first score beyond the range that the rule rests on, and the sentence that says so."""

    item: str
    score: float
    range: tuple[float, ...]
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedLimit(ResultPart):
    """The limit that ended a run: of `calls`, of `cost`, or the end of its `suite`; the last item it asked, and a sentence."""

    limit: str
    most: float
    used: float
    item: str | None
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyStopping(ResultPart):
    """How a run ended by its rule: what was decided, after how many looks and items, and the estimate adjusted for stopping.

    `alpha_spent` of the false-alarm rate; `level_of_pass`: the confidence of a pass. `observed` is the plain mean difference.
    `disagreement`: the share of items whose answer differs from the one on record. `why`: why this rule was taken, where none was named.
    """

    BRIEF = True

    design: str = ""
    decision: str = ""
    looks: tuple[Mapping[str, Any], ...] = NOT_SET  # n, decision, and what else the rule computed
    looks_made: int = NOT_SET
    alpha_spent: float = NOT_SET
    level_of_pass: float | None = NOT_SET
    n_used: int = NOT_SET
    n_available: int = NOT_SET
    n_saved: int = NOT_SET
    observed: float | None = NOT_SET
    estimate: float | None = NOT_SET
    low: float | None = NOT_SET
    high: float | None = NOT_SET
    method: str = ""
    plan: Mapping[str, Any] = NOT_SET  # what was fixed before the first look, as the notes of the run have it
    rule: Mapping[str, Any] = NOT_SET  # the settings of the rule, by their names
    disagreement: float | None = NOT_SET
    why: str = ""
    outside: ScoreOutside | None = None
    ended: ReachedLimit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthStopping(ResultPart):
    """How a run ended whose interval was to become narrow enough: the width that was asked for, and the interval at the end."""

    design: str
    width: float
    low: float
    high: float
    looks_made: int
    decision: str
    n_used: int
    n_saved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedTask(ResultPart):
    """A task of a suite (or a candidate) that was looked at on the way: the log likelihood ratio so far, and what a pass needs."""

    task: str
    n: int
    available: int
    alpha: float
    log_likelihood_ratio: float | None = json_name("lambda")
    needed: float | None
    decision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledRatio(ResultPart):
    """The log likelihood ratio of all tasks together; one of `needed` or less shows that some task dropped."""

    log_likelihood_ratio: float = json_name("lambda")
    needed: float
    worse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteLook(ResultPart):
    """A look at a task of a suite (by its place): its log likelihood ratio after n items, and that of all tasks where it was found."""

    task: int
    n: int
    log_likelihood_ratio: float | None = json_name("lambda")
    decision: str
    pooled: float | None
    pooled_needed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedSuite(ResultPart):
    """How a suite ended that was run until it was decided, or several candidates against one baseline: the calls, and each task."""

    rule: Mapping[str, Any]  # its settings, by their names
    decision: str
    named: tuple[str, ...]
    pooled: PooledRatio | None
    calls: int
    calls_available: int
    calls_saved: int
    calls_baseline: int = field(default=NOT_SET, metadata=OMIT_DEFAULT)
    limit: ReachedLimit | None
    tasks: tuple[StoppedTask, ...]
    looks: tuple[SuiteLook, ...] = field(default=(), metadata=OMIT_DEFAULT)

    @property
    def baseline(self) -> str | None:
        """The baseline of several candidates that were judged together."""
        found: str | None = self.rule.get("baseline")
        return found
