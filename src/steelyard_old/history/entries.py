"""From an answer to its row in the history: a verdict, a record, a run, a measurement, each with what it knows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from steelyard_old.errors import DataError, UsageError, with_article
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.history import HeldAgainst
from steelyard_old.results.measurement import Measurement
from steelyard_old.results.verdict import Recorded, Verdict

COMMANDS = ("run", "check", "record", "measure")
_OF_VERDICT = ("p_value", "threshold", "theta", "margin", "alpha", "design", "metric", "scale", "higher_is_better", "n")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?|\d{4}-\d\d-\d\d")


TEXTS = ("prompt", "target", "baseline_answer", "candidate_answer")  # of a changed item: kept only if somebody asks for it


def without_texts(plain: Any) -> Any:
    """A result as JSON without what its changed items were asked and answered.

    >>> without_texts({"telling_items": [{"id": "q1", "prompt": "Who?", "change": "lost"}]})
    {'telling_items': [{'id': 'q1', 'change': 'lost'}]}
    """
    if isinstance(plain, dict):
        return {
            name: [{key: text for key, text in item.items() if key not in TEXTS} for item in value]
            if name == "telling_items" and isinstance(value, list)
            else without_texts(value)
            for name, value in plain.items()
        }
    return [without_texts(each) for each in plain] if isinstance(plain, list) else plain


def entry_of(result: Any, *, task: str | None = None, model: str | None = None, metric: str | None = None) -> dict[str, Any]:
    """The fields of a run that its answer knows. A measurement knows neither its task nor its model."""
    if isinstance(result, Verdict):
        found = _of_verdict(result)
    elif isinstance(result, Recorded):
        found = _of_recorded(result)
    elif isinstance(result, Evaluation):
        found = _of_evaluation(result, metric)
    elif isinstance(result, Measurement):
        found = {"command": "measure", **_of_measurement(result, metric)}
    else:
        raise UsageError(
            f"The history takes a verdict, a record, a run or a measurement, not {with_article(type(result).__name__)}.",
            got=with_article(type(result).__name__),
            need="a verdict, a record, a run or a measurement",
        )
    found |= {name: value for name, value in (("task", task), ("model", model)) if value is not None}
    lacking = [name for name in ("task", "model") if not found.get(name)]
    if lacking:
        raise UsageError(
            f"The result has no {' and no '.join(lacking)}, so it cannot be stored in the history.",
            got=f"a result without {' and '.join(lacking)}",
            need=f"{lacking[0]}=...",
            hint=f"{lacking[0]}=...",
        )
    return {**found, "signature": result.signature, "result": result.to_dict()}


def _of_verdict(v: Verdict) -> dict[str, Any]:
    return {
        "command": "check",
        "task": v.task,
        "model": v.model,
        "spec": dict(v.spec),
        "verdict": v.verdict,
        "estimate": v.candidate.estimate,
        "difference": v.difference.estimate,
        "lower": v.difference.lower,
        "upper": v.difference.upper,
        "tally": {
            **({} if v.flips is None else {"flips": dict(v.flips)}),
            **({"stopped": True} if v.details.stopping is not None else {}),  # by its answers: no fair sample of them
        }
        or None,
        "reference": HeldAgainst.of_reference(v.reference).to_dict() or None,
        **{name: getattr(v, name) for name in _OF_VERDICT},
    }


def _of_recorded(r: Recorded) -> dict[str, Any]:
    own = {"value": r.value, "n": r.n, "runs": r.runs, "sigma_run": r.sigma_run}
    return {
        "command": "record",
        "task": r.task,
        "model": r.model,
        "spec": dict(r.spec),
        "metric": r.metric,
        "scale": r.scale,
        "n": r.n,
        "estimate": r.value,
        "reference": {name: value for name, value in own.items() if value is not None},
    }


def _of_evaluation(e: Evaluation, metric: str | None) -> dict[str, Any]:
    """A run with a verdict is what the verdict says; without one it is its measurement. Of two models, the candidate."""
    last = e.models[-1]
    if e.verdict is not None:
        found = _of_verdict(e.verdict)
    elif last.measurement is not None:
        found = _of_measurement(last.measurement, metric)
    else:
        raise DataError(
            "The run has no measurement, so it cannot be stored in the history.",
            got="a run without a measurement",
            need="an answer to its items",
        )
    stopped = {"stopped": True} if e.stopping is not None and e.n < e.available else {}
    found["tally"] = {**(found.get("tally") or {}), **stopped} or None
    return {**found, "command": "run", "task": e.task, "model": last.name}


def _of_measurement(m: Measurement, metric: str | None) -> dict[str, Any]:
    row = m.row if metric is None else m[metric]
    if row.estimate is None:
        raise DataError(
            f"{row.name} could not be computed, so the run cannot be stored in the history.",
            got=f"{row.name} that could not be computed",
            need="a number",
        )
    ends = row.interval
    return {
        "metric": row.name,
        "scale": "fraction" if ends is not None and ends.low is not None and ends.high is not None and _within(row, ends) else "raw",
        "higher_is_better": row.higher_is_better,
        "n": row.n,
        "estimate": row.estimate,
        "tally": None if m.table is None else m.table.to_dict(),
    }


def _within(row: Any, ends: Any) -> bool:
    return bool(0 <= ends.low <= row.estimate <= ends.high <= 1)


def canonical(pairs: Mapping[str, Any] | None) -> str:
    """A spec or protocol as one text: keys in order, values as a command line gives them, nulls left out.

    >>> canonical({"tp": 2, "quant_algo": "FP8", "spec_dec_algo": None, "eager": True})
    '{"eager":"true","quant_algo":"FP8","tp":"2"}'
    """
    texts = {str(key): _word(value) for key, value in (pairs or {}).items() if value is not None}
    return json.dumps(texts, sort_keys=True, separators=(",", ":"))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def moments(many: int) -> list[str]:
    """A time for each run of a suite: one moment for all, a microsecond apart, so that they stand together and in their order."""
    now = datetime.now(UTC)
    return [utc(now + timedelta(microseconds=place)) for place in range(many)]


def utc(moment: datetime | str | None = None, *, what: str = "time") -> str:
    """A time as the history keeps it: UTC, to the microsecond, of one length, so that texts sort as times do.

    >>> utc("2026-11-16T05:00:00+01:00"), utc("2026-11-16")
    ('2026-11-16T04:00:00.000000Z', '2026-11-16T00:00:00.000000Z')
    """
    if moment is None:
        found = datetime.now(UTC)
    elif isinstance(moment, datetime):
        found = moment
    else:
        try:
            if not _TIME.fullmatch(moment.strip()):
                raise ValueError
            found = datetime.fromisoformat(moment.strip())
        except ValueError:
            raise UsageError(
                f"{what} must be a date or a time in ISO 8601, not {moment!r}.",
                got=repr(moment),
                need="a date or a time, ISO 8601",
                hint="2026-11-16, or 2026-11-16T04:30:00Z (UTC)",
            ) from None
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)
