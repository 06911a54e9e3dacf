"""What the history answers with: one past run, a page of them newest first, and how a series of them has drifted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import OMIT_DEFAULT, Result, ResultPart, json_name
from steelyard_old.results.nights import SinceNight
from steelyard_old.results.verdict import JudgedSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAgainst(ResultPart):
    """What a run was checked against: the value on record, how many items and runs it rests on, how much whole runs vary, and when."""

    BRIEF = True

    value: float | None = None
    n: int | None = None
    runs: int | None = None
    sigma_run: float | None = None
    recorded: str | None = None

    @classmethod
    def of_reference(cls, reference: JudgedSystem) -> HeldAgainst:
        """The reference of a verdict, as the history keeps it."""
        return cls(
            value=reference.estimate,
            n=reference.n,
            runs=reference.runs,
            sigma_run=reference.sigma_run,
            recorded=reference.recorded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun(ResultPart):
    """One run in the history. `difference`, `lower` and `upper` are of the verdict, where there was one; all in `scale`.

    `reference` is what it was checked against: value, n, runs, sigma_run. `outcomes` is the digest of its items and their
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
    tally: Mapping[str, Any] | None = None  # of labels, or of flips: what is counted depends on the question
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
    reference: HeldAgainst | None = None
    by: str | None = None
    commit: str | None = None
    tool: str | None = None
    signature: str = ""
    outcomes: str | None = None
    result: Mapping[str, Any] | None = json_name(None, default=None)  # of any kind, as JSON has it


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunList(Result):
    """Runs of the history that were asked for, newest first. `next` is what `after` must be for the page that follows."""

    KIND = "history"

    place: str
    runs: tuple[PastRun, ...] = ()
    total: int = 0
    next: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)  # the filters that were given, or what an import or export did
    conclusion: str = ""

    def __iter__(self) -> Iterator[PastRun]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace(ResultPart):
    """One run of a series: its id, its time, and its place, counted from 1."""

    run: str
    time: str
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRun(ResultPart):
    """A run of the series: its estimate, its score against all runs before, the CUSUM, and both evidences up to it."""

    id: str
    time: str
    command: str
    verdict: str | None
    n: int | None
    estimate: float | None
    score: float | None
    cusum: float
    first: float | None
    pooled: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftChart(ResultPart):
    """The CUSUM chart: its allowance k and limit h, where it stands, and its first alarm.

    average_run_length: healthy runs between two false alarms (None: practically never one), by the `law` of these runs, binomial or
    normal; average_run_length_after: runs until a fall of `after_a_fall_of` is found. All of it is in `unit`.
    """

    k: float
    h: float
    average_run_length: float | None
    average_run_length_after: float
    law: str | None = field(default=None, metadata=OMIT_DEFAULT)
    after_a_fall_of: float
    value: float
    alarm: RunPlace | None
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSoFar(ResultPart):
    """An e-process: its value now, its largest so far, and the run at which it reached the bar."""

    value: float
    largest: float
    crossed: RunPlace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftEvidence(ResultPart):
    """The e-processes against the first reference and against the runs before, and both together; `bar` is 1 / alpha.

    tau: the fall that they look for, in run-to-run deviations. first: None without a known reference.
    """

    tau: float
    bar: float
    first: EvidenceSoFar | None
    pooled: EvidenceSoFar
    both: EvidenceSoFar


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyChange(ResultPart):
    """The likeliest change of level, before the run that is named: the levels, the shift, the share of variance, and its p-value."""

    run: str
    time: str
    place: int
    before: float
    after: float
    shift: float
    share: float
    p_value: float
    method: str
    draws: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDeviation(ResultPart):
    """The run-to-run standard deviation with its interval, and that between neighbours, which a slow drift leaves alone."""

    estimate: float
    low: float | None
    high: float | None
    confidence_level: float
    degrees_of_freedom: int
    between_neighbours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmsSoFar(ResultPart):
    """What the checks of the series said, and how many regressions healthy runs would have brought (`expected`)."""

    checks: int
    regressions: int
    inconclusive: int
    expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyItem(ResultPart):
    """An item that had another outcome than its usual one: in how many runs (flips), with what share, and how often it switched.

    kind: "flaky", or "changed" if it switched once.
    """

    id: str
    kind: str
    runs: int
    flips: int
    share: float
    low: float | None
    high: float | None
    switches: int
    usual: float
    last: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyItems(ResultPart):
    """How many items of these runs are flaky or changed once, the mean share of unusual outcomes, and the worst of them."""

    runs: int
    n_items: int = json_name("items")
    flaky: int
    changed: int
    share: float | None
    confidence_level: float
    listed: tuple[FlakyItem, ...]


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
    runs: tuple[DriftRun, ...]
    reference: HeldAgainst | None = None
    chart: DriftChart | None = None
    evidence: DriftEvidence | None = None
    change_point: LikelyChange | None = None
    deviation: RunDeviation | None = None
    alarms: AlarmsSoFar | None = None
    flaky: FlakyItems | None = None
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
