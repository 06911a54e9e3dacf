"""What a run answers with: what was asked, what came back, what it is worth, and the verdict if there was something to judge it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import OMIT_DEFAULT, Result, ResultPart, ResultWithAnswer, answer_field
from steelyard_old.results.comparison import Comparison
from steelyard_old.results.measurement import Measurement
from steelyard_old.results.stopping import EarlyStopping, ReachedLimit, StoppedSuite, WidthStopping
from steelyard_old.results.verdict import EXIT, Suite, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(ResultPart):
    """What one model did: items that count, how many calls, what went wrong, what it took.

    `counts` has n, answered, errors, truncated, empty, refused, unextracted, attempts and retries (attempts after a failed
    one); `usage` tokens, seconds at the 50th, 90th and 99th percentile, and the cost by the user's prices. `measurement` is
    None where errors stand in its way. `asked_of` is what answered: its kind, and for an endpoint the model's name there and
    the base URL.
    """

    name: str
    output: str | None
    counts: Mapping[str, int]
    usage: Mapping[str, float | int | None] = field(default_factory=dict)
    asked_of: Mapping[str, Any] = field(default_factory=dict)  # by the kind of model: a name, a command, an address
    measurement: Measurement | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation(ResultWithAnswer):
    """A model evaluated now, or several of them side by side. The verdict decides the exit code, where there is one.

    Of several candidates against one baseline, `candidates` is the suite of their verdicts, and there is no other verdict.
    """

    KIND = "run"
    ALSO = ("n_saved",)

    task: str
    n: int
    available: int
    repeats: int
    missing: str = "error"  # what was done with items that had no answer in the end
    conclusion: str = ""
    models: tuple[Answered, ...]
    stopping: WidthStopping | StoppedSuite | EarlyStopping | None = None
    limit: ReachedLimit | None = field(default=None, metadata=OMIT_DEFAULT)  # of calls or cost, if one ended the run
    verdict: Verdict | None = answer_field(default=None)
    candidates: Suite | None = answer_field(default=None)
    comparison: Comparison | None = answer_field(default=None)

    @property
    def measurement(self) -> Measurement | None:
        """Of the model; of the candidate, where two were asked; None of several candidates, each of which has its own."""
        return self.models[-1].measurement if self.candidates is None else None

    @property
    def judged(self) -> Verdict | Suite | None:
        """The verdict: of the model, or of all candidates together."""
        return self.verdict if self.candidates is None else self.candidates

    @property
    def pairs(self) -> tuple[Evaluation, ...]:
        """The runs that this one is made of: each candidate with the baseline. One that judges no several candidates is itself."""
        if self.candidates is None:
            return (self,)
        return tuple(
            replace(
                self,
                models=(self.models[0], model),
                n=model.counts["n"] // self.repeats,
                verdict=verdict,
                candidates=None,
                stopping=verdict.details.stopping,
            )
            for model, verdict in zip(self.models[1:], self.candidates.verdicts, strict=True)
        )

    @property
    def passed(self) -> bool:
        """Whether there is nothing to object to: a pass, or no verdict and no limit that ended the run."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        if self.judged is not None:
            return self.judged.exit_code
        return 0 if self.limit is None else EXIT["inconclusive"]

    @property
    def n_saved(self) -> int:
        return self.available - self.n

    @property
    def _answer(self) -> Result | None:
        """The verdict; without one the comparison, without one the measurement."""
        return next((each for each in (self.judged, self.comparison, self.measurement) if each is not None), None)

    @classmethod
    def _from_earlier_version(cls, plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Version 0.1.0 did not say which warnings were the run's own: the answer has them all."""
        run, kind, warnings = plain["run"], plain["kind"], list(plain["warnings"])
        if "warnings" in run:
            return plain
        measured = run["models"][-1].get("measurement")
        if kind == Measurement.KIND and measured is not None:
            own = warnings[len(measured["warnings"]) :]
        else:
            own = warnings if kind == cls.KIND else []
        return {**plain, "run": {**run, "warnings": own}}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DryRun(Result):
    """What a run would do. No requests were sent and no files written.

    `calls` is how many questions there are at most; a run that stops early asks fewer. `tokens_in` is an estimate, four
    characters to a token; `tokens_out` the most that max_tokens allows, None without one. `models` has a table for each
    model: name, asked_of, calls, cost (None without a price; `cost_at_most` False where the length of answers is not
    limited, and only what is sent is counted). `expected`: of a run until decided, the design that is taken and what it
    probably takes, where nothing changed (`healthy`) and where theta was lost (`dropped`): calls on average, the calls by which
    nine runs of ten have ended, how often they end each way, and the cost; None where that cannot be foreseen, and `unforeseen` says
    why. Of several candidates, `dropped` is where one of them lost theta, and how that one ends.
    """

    KIND = "dry_run"

    task: str
    n: int
    repeats: int
    calls: int
    prompt: str
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None = None
    judge_calls: int = 0
    judged_by: str | None = None
    stops_early: bool = False
    expected: Mapping[str, Any] | None = None  # by the rule that would stop it
    unforeseen: str | None = field(default=None, metadata=OMIT_DEFAULT)
    models: tuple[Mapping[str, Any], ...]  # name, asked_of, calls, cost, cost_at_most

    @property
    def headline(self) -> str:
        return f"{self.task}: {self.calls:,} calls"

    @property
    def exit_code(self) -> int:
        return 0
