"""What the history answers with: one past run, a page of them newest first, and how a series of them has drifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from steelyard.late_dataclass import dataclass
from steelyard.results.base import Result, ResultPart, said_as
from steelyard.results.nights import SinceNight


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun(ResultPart):
    """One run in the history. `difference`, `lower` and `upper` are of the verdict, where there was one; all in `scale`.

    `reference` is what it was held against: value, n, runs, sigma_run. `outcomes` is the digest of its items and their
    scores, None if they were not kept. `result` is the whole answer as it was printed for machines; a page leaves it out.
    """

    id: str
    time: str
    command: str
    task: str
    model: str
    spec: Mapping[str, str] = field(default_factory=dict)
    protocol: Mapping[str, str] = field(default_factory=dict)
    metric: str = "accuracy"
    scale: str = "fraction"
    higher_is_better: bool = True
    n: int | None = None
    estimate: float | None = None
    tally: Mapping[str, Any] | None = None
    verdict: str | None = None
    p_value: float | None = None
    difference: float | None = None
    lower: float | None = None
    upper: float | None = None
    threshold: float | None = None
    theta: float | None = None
    margin: float | None = None
    alpha: float | None = None
    design: str | None = None
    reference: Mapping[str, Any] | None = None
    by: str | None = None
    commit: str | None = None
    tool: str | None = None
    signature: str = ""
    outcomes: str | None = None
    result: Mapping[str, Any] | None = said_as(None, default=None)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunList(Result):
    """Runs of the history that were asked for, newest first. `next` is what `after` must be for the page that follows."""

    KIND = "history"

    place: str
    runs: tuple[PastRun, ...] = ()
    total: int = 0
    next: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    conclusion: str = ""

    def __iter__(self) -> Iterator[PastRun]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Drift(Result):
    """How the runs of one task, model, spec and metric have moved. What could not be told is None, and a warning says why.

    `runs` are oldest first, with the estimate, the score against all runs before, the CUSUM and both evidences. `drifting`
    is the answer of the two e-processes together at level alpha; the chart and the change point say when and how far.
    """

    KIND = "drift"

    task: str
    model: str
    metric: str
    scale: str
    higher_is_better: bool
    alpha: float
    drifting: bool | None
    spec: Mapping[str, str]
    runs: tuple[Mapping[str, Any], ...]
    reference: Mapping[str, Any] | None = None
    chart: Mapping[str, Any] | None = None
    evidence: Mapping[str, Any] | None = None
    change_point: Mapping[str, Any] | None = None
    deviation: Mapping[str, Any] | None = None
    alarms: Mapping[str, Any] | None = None
    flaky: Mapping[str, Any] | None = None
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Acknowledged(Result):
    """A regression of a series of nights that somebody has acknowledged: `how` is accept (it is intended) or fixed (its cause is gone).

    `since` is the night from which on it was worse, `nights` how many nights it stood, `named` the tasks that were named.
    """

    KIND = "acknowledged"

    place: str
    series: str
    how: str
    reason: str
    since: SinceNight
    nights: int
    named: tuple[str, ...] = ()
    by: str | None = None
    conclusion: str = ""
