"""The fresh runs of one quantity, oldest first: what may stand in one series, and what is left out of it and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.errors import DataError
from steelyard.infer.series.drift import Start
from steelyard.results.history import PastRun

MOST_RUNS = 2_000  # the newest of a series: the evidence takes time that grows with their square


@dataclass(slots=True, kw_only=True)
class RunSeries:
    """Fresh runs of one quantity, oldest first, and the reference they began with. `values` are turned so that up is good."""

    runs: list[PastRun]
    values: list[float]
    sign: float
    first: Mapping[str, Any] | None
    start: Start
    checks: list[PastRun]
    warnings: list[str] = field(default_factory=list)


def series_of(found: Sequence[PastRun], task: str, model: str) -> RunSeries:
    """The series that some runs make: of one spec, metric, scale and protocol, complete, and none of them twice."""
    if not found:
        raise DataError(
            "cannot look for drift",
            got=f"no run of {model!r} on {task!r}",
            need="a series of runs",
            hint="steelyard history lists what there is",
        )
    _refuse_mixture(found)
    last = found[-1]
    warnings: list[str] = []
    same = [run for run in found if run.protocol == last.protocol]
    if len(same) < len(found):
        warnings.append(f"{runs_text(len(found) - len(same))} of another protocol than the newest run's left out")
    fair = [run for run in same if run.estimate is not None and not (run.tally or {}).get("stopped")]
    if len(fair) < len(same):
        warnings.append(f"{runs_text(len(same) - len(fair))} that stopped by the answers left out: what stops by luck is lucky")
    first = next((run.reference for run in same if run.reference and run.reference.get("value") is not None), None)
    fresh, again = _fresh(fair, first)
    if again:
        warnings.append(
            f"{runs_text(again)} with the very outcomes of the reference or of an earlier run left out: the same run again, "
            "or a deterministic model; evidence adds up over fresh runs only"
        )
    runs = [run for run in fresh if run.command != "record"]
    if len(runs) > MOST_RUNS:
        warnings.append(f"the newest {MOST_RUNS:,} of {len(runs):,} runs, held against the first reference")
        runs = runs[-MOST_RUNS:]
    sizes = [run.n for run in runs if run.n is not None]
    if sizes and max(sizes) > 1.5 * min(sizes):
        warnings.append(f"runs of {min(sizes):,} to {max(sizes):,} items are taken to be equally noisy, which they are not")
    sign = 1.0 if (runs or [last])[-1].higher_is_better else -1.0  # a record does not know
    checks = [run for run in same if run.verdict is not None]
    values = [sign * run.estimate for run in runs if run.estimate is not None]
    return RunSeries(runs=runs, values=values, sign=sign, first=first, start=_start(first, sign), checks=checks, warnings=warnings)


def _refuse_mixture(found: Sequence[PastRun]) -> None:
    """One series is one quantity of one spec."""
    for what, hint in (
        ("spec", "spec={'KEY': 'VALUE'} names one; the spec is matched whole"),
        ("metric", "metric=NAME"),
        ("scale", "since=DATE"),
    ):
        seen = list(dict.fromkeys(_word(getattr(run, what)) for run in found))
        if len(seen) > 1:
            raise DataError(f"cannot look for drift over several {what}s", got=", ".join(seen[:5]), need=f"runs of one {what}", hint=hint)


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={each}" for key, each in sorted(value.items())) or "none"
    return str(value)


def _fresh(runs: Sequence[PastRun], first: Mapping[str, Any] | None) -> tuple[list[PastRun], int]:
    """The runs whose outcomes nobody had before, and how many had."""
    seen: set[str] = set()
    fresh = []
    for run in runs:
        flips = (run.tally or {}).get("flips")
        unmoved = flips is not None and flips["baseline_only"] == flips["candidate_only"] == 0
        as_first = unmoved and _value(run.reference) == _value(first)
        if not as_first and (run.outcomes is None or run.outcomes not in seen):
            fresh.append(run)
        if run.outcomes is not None:
            seen.add(run.outcomes)
    return fresh, len(runs) - len(fresh)


def _value(reference: Mapping[str, Any] | None) -> Any:
    return None if reference is None else reference.get("value")


def _start(first: Mapping[str, Any] | None, sign: float) -> Start:
    if first is None:
        return Start()
    runs = int(first.get("runs") or 1)
    return Start(runs=runs, mean=sign * float(first["value"]), deviation=float(first.get("sigma_run") or 0.0) if runs > 1 else 0.0)


def runs_text(many: int) -> str:
    return f"{many:,} run{'s' if many != 1 else ''}"
