"""From the plain values of a JSON answer back to the result: what any command wrote can be looked at again, in another form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from steelyard.errors import DataError
from steelyard.results.certificate import Certificate, Held, Precise, Preferred, Tried
from steelyard.results.evaluation import Answered, Evaluation
from steelyard.results.history import Drift, PastRun, RunList
from steelyard.results.measurement import Comparison, Difference, Interval, Leaderboard, Measurement, System, Test
from steelyard.results.plan import Curve, Plan
from steelyard.results.references import Finding, Lint, Listing, ProjectInit, ReferenceChange, ReferenceDetail, ReferenceHistory
from steelyard.results.verdict import EXIT, Recorded, Suite, Verdict
from steelyard.tally.joint import JointCounts

SCHEMA = 1
Plain = Mapping[str, Any]
_RENAMED = {"telling": "telling_items", "held": "explain"}  # the names of fields that JSON knows by another


def result_of(plain: Any) -> Any:
    """The result that `to_dict` made plain. What is no result of ours, or of a newer schema, is refused with its reason."""
    if not isinstance(plain, Mapping):
        raise _refused(f"a JSON {'list' if isinstance(plain, list) else 'value'}")
    kind, schema = plain.get("kind"), plain.get("schema")
    if not isinstance(kind, str) or (kind not in KINDS and kind != "run"):
        raise _refused(f"kind {kind!r}" if kind is not None else "an object without a kind")
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        hint = "it was written by a newer steelyard: pip install --upgrade steelyard" if newer else ""
        raise DataError("cannot read the result", got=f"{kind} of schema {schema!r}", need=f"schema {SCHEMA}", hint=hint)
    try:
        return _evaluation(plain) if plain.get("run") is not None else KINDS[kind](plain)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:
        if isinstance(fault, DataError):
            raise
        said = f"no {fault}" if isinstance(fault, KeyError) else str(fault)
        raise DataError(f"cannot read the {kind}", got=said, need="the answer as steelyard wrote it, unchanged") from fault


def _refused(got: str) -> DataError:
    hint = "any command writes one with --format json -o result.json"
    return DataError("cannot find a result", got=got, need=f"an answer of steelyard: {', '.join(KINDS)}", hint=hint)


def _filled(cls: type, plain: Plain, **made: Any) -> Any:
    """The fields of a dataclass by their names; lists become tuples, as a frozen value has them."""
    found: dict[str, Any] = {}
    for each in fields(cls):
        name = _RENAMED.get(each.name, each.name)
        if each.name in made:
            found[each.name] = made[each.name]
        elif name in plain:
            value = plain[name]
            found[each.name] = tuple(value) if isinstance(value, list) else value
        elif each.default is MISSING and each.default_factory is MISSING:
            raise KeyError(name)
    return cls(**found)


def _interval(plain: Plain | None) -> Interval | None:
    return None if plain is None else Interval(**plain)


def _comparison(plain: Plain) -> Comparison:
    sides = {side: _filled(System, plain[side], interval=_interval(plain[side]["interval"])) for side in ("baseline", "candidate")}
    gap, table = plain["difference"], plain["table"]
    slices = tuple(
        {**part, "comparison": None if part["comparison"] is None else _comparison(part["comparison"])} for part in plain["slices"]
    )
    joint = JointCounts.from_dict(table) if isinstance(table, Mapping) and {"labels", "classes", "cells"} <= set(table) else None
    made: Comparison = _filled(
        Comparison,
        plain,
        **sides,
        difference=Difference(estimate=gap["estimate"], interval=_interval(gap["interval"]), standard_error=gap.get("standard_error")),
        test=_filled(Test, plain["test"]),
        table=joint,
        slices=slices,
    )
    return made


def _leaderboard(plain: Plain) -> Leaderboard:
    rows = tuple({**row, "interval": _interval(row["interval"])} for row in plain["rows"])
    board: Leaderboard = _filled(Leaderboard, plain, rows=rows, pairs=tuple(map(_comparison, plain["pairs"])))
    return board


def _curve(plain: Plain) -> Curve:
    points = tuple((x, y) for x, y in plain["points"])
    mark = None if plain["mark"] is None else tuple(plain["mark"])
    curve: Curve = _filled(Curve, plain, points=points, mark=mark)
    return curve


def _plan(plain: Plain) -> Plan:
    plan: Plan = _filled(Plan, plain, curve=None if plain["curve"] is None else _curve(plain["curve"]))
    return plan


def _verdict(plain: Plain) -> Verdict:
    if plain["verdict"] not in EXIT:
        raise ValueError(f"the verdict {plain['verdict']!r}")
    verdict: Verdict = _filled(Verdict, plain)
    return verdict


def _suite(plain: Plain) -> Suite:
    suite: Suite = _filled(Suite, plain, verdicts=tuple(map(_verdict, plain["verdicts"])))
    return suite


def _evaluation(plain: Plain) -> Evaluation:
    """A run's answer has the keys of its verdict, its comparison or its measurement, and what the run was beside them."""
    run = plain["run"]
    found = KINDS[plain["kind"]]({key: value for key, value in plain.items() if key != "run"}) if plain["kind"] != "run" else None
    models = tuple(
        _filled(Answered, model, measurement=None if model["measurement"] is None else Measurement.from_dict(model["measurement"]))
        for model in run["models"]
    )
    warnings = tuple(plain["warnings"])
    if isinstance(found, Measurement) and models[-1].measurement is not None:
        warnings = warnings[len(models[-1].measurement.warnings) :]
    made: Evaluation = _filled(
        Evaluation,
        run,
        models=models,
        verdict=found if isinstance(found, Verdict) else None,
        comparison=found if isinstance(found, Comparison) else None,
        warnings=() if isinstance(found, Verdict | Comparison) else warnings,  # theirs and the run's are told together
    )
    return made


def _lint(plain: Plain) -> Lint:
    lint: Lint = _filled(Lint, plain, findings=tuple(_filled(Finding, each) for each in plain["findings"]))
    return lint


def _history(plain: Plain) -> RunList:
    runs: RunList = _filled(RunList, plain, runs=tuple(_filled(PastRun, each) for each in plain["runs"]))
    return runs


def _certificate(plain: Plain) -> Certificate:
    claims = tuple(_filled(Held, each, settings=tuple(_filled(Tried, tried) for tried in each["settings"])) for each in plain["claims"])
    parts = {"preferences": Preferred, "accuracy": Precise}
    made: Certificate = _filled(
        Certificate, plain, claims=claims, **{name: tuple(_filled(cls, each) for each in plain[name]) for name, cls in parts.items()}
    )
    return made


def _simple(cls: type) -> Callable[[Plain], Any]:
    return lambda plain: _filled(cls, plain)


KINDS: dict[str, Callable[[Plain], Any]] = {
    "measurement": Measurement.from_dict,
    "comparison": _comparison,
    "leaderboard": _leaderboard,
    "plan": _plan,
    "verdict": _verdict,
    "suite": _suite,
    "recorded": _simple(Recorded),
    "references": _simple(Listing),
    "reference": _simple(ReferenceDetail),
    "lint": _lint,
    "reference_history": _simple(ReferenceHistory),
    "reference_change": _simple(ReferenceChange),
    "init": _simple(ProjectInit),
    "history": _history,
    "drift": _simple(Drift),
    "certificate": _certificate,
}
