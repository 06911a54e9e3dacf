"""What a run answers with: what was asked, what came back, what it is worth, and the verdict if there was something to judge it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.results.display import Displayable
from steelyard.results.measurement import Comparison, Measurement
from steelyard.results.verdict import Verdict

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
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
    measurement: Measurement | None = None
    asked_of: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "output": self.output,
            "counts": dict(self.counts),
            "usage": dict(self.usage),
            "asked_of": dict(self.asked_of),
            "measurement": None if self.measurement is None else self.measurement.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Displayable):
    """A model evaluated now, or two of them side by side. The verdict decides the exit code, where there is one."""

    task: str
    n: int
    available: int
    repeats: int
    models: tuple[Answered, ...]
    stopping: Mapping[str, Any] | None = None
    verdict: Verdict | None = None
    comparison: Comparison | None = None
    conclusion: str = ""
    warnings: tuple[str, ...] = ()
    signature: str = ""
    missing: str = "error"  # what was done with items that had no answer in the end

    @property
    def measurement(self) -> Measurement | None:
        """Of the model; of the candidate, where two were asked."""
        return self.models[-1].measurement

    @property
    def passed(self) -> bool:
        """Whether there is nothing to object to: no verdict, or a pass."""
        return self.verdict is None or self.verdict.passed

    @property
    def exit_code(self) -> int:
        return 0 if self.verdict is None else self.verdict.exit_code

    @property
    def n_saved(self) -> int:
        return self.available - self.n

    def __str__(self) -> str:
        from steelyard.render.formats import result_text  # the listed exception: a result may ask render for its looks

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        """The answer's own keys (a verdict, a comparison or a measurement), and what the run was under `run`."""
        found = next((each for each in (self.verdict, self.comparison, self.measurement) if each is not None), None)
        plain: dict[str, Any] = {"kind": "run", "schema": SCHEMA, "warnings": [], "signature": self.signature}
        plain |= {} if found is None else found.to_dict()
        names = ("task", "n", "available", "n_saved", "repeats", "missing", "conclusion", "signature")
        run = {name: getattr(self, name) for name in names} | {"models": [model.to_dict() for model in self.models]}
        run["stopping"] = None if self.stopping is None else dict(self.stopping)
        return {**plain, "warnings": [*plain["warnings"], *self.warnings], "run": run}


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a run would do. Nothing was asked and nothing written.

    `calls` is how many questions there are at most; a run that stops early asks fewer. `tokens_in` is an estimate, four
    characters to a token; `tokens_out` the most that max_tokens allows, None without one. `models` has a table for each
    model: name, asked_of, calls, cost (None without a price; `cost_at_most` False where the length of answers is not
    limited, and only what is sent is counted).
    """

    task: str
    n: int
    repeats: int
    calls: int
    prompt: str
    tokens_in: int | None
    tokens_out: int | None
    models: tuple[Mapping[str, Any], ...]
    cost: float | None = None
    judge_calls: int = 0
    judged_by: str | None = None
    stops_early: bool = False
    warnings: tuple[str, ...] = ()
    signature: str = ""

    @property
    def exit_code(self) -> int:
        return 0

    def __str__(self) -> str:
        from steelyard.render.run import dry_run_text  # the listed exception: a result may ask render for its looks

        return dry_run_text(self)

    def to_dict(self) -> dict[str, Any]:
        names = ("task", "n", "repeats", "calls", "prompt", "tokens_in", "tokens_out", "cost", "judge_calls", "judged_by", "stops_early")
        told = {name: getattr(self, name) for name in names} | {"models": [dict(model) for model in self.models]}
        return {"kind": "dry_run", "schema": SCHEMA, "warnings": list(self.warnings), "signature": self.signature, **told}
