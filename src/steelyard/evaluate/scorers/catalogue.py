"""The scorers by name: what an answer is worth. Each has its options in the table [scorer] of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from steelyard.errors import UsageError
from steelyard.evaluate.scorers.base import Scoring, check_keys, made
from steelyard.evaluate.scorers.choice import Choice
from steelyard.evaluate.scorers.json_answers import JsonSchema
from steelyard.evaluate.scorers.judge import Judge
from steelyard.evaluate.scorers.numeric import NumericScorer, Tolerance
from steelyard.evaluate.scorers.text import Contains, Exact, Regex
from steelyard.evaluate.scorers.user_code import CodeScorer, function_named
from steelyard.evaluate.scorers.words import RougeL, TokenF1, WordErrorRate
from steelyard.metrics.catalogue import is_share
from steelyard.options import did_you_mean

SCORERS: dict[str, type[Scoring]] = {
    kind.name: kind
    for kind in (Exact, Choice, NumericScorer, Regex, Contains, Tolerance, JsonSchema, TokenF1, RougeL, WordErrorRate, Judge)
}


class HasScoring(Protocol):
    @property
    def scoring(self) -> Scoring: ...


def scorer_of(task: HasScoring) -> Scoring:
    """The scorer of a task, made and checked when the task was read."""
    return task.scoring


def scorer_named(
    name: object, options: Mapping[str, Any], *, where: Path, metric: str | None = None, code: Callable[..., Any] | None = None
) -> Scoring:
    """A scorer by its name and options; `code` is a function that takes its place.

    >>> scorer_named("tolerance", {"absolute": 0.5}, where=Path(".")).absolute
    0.5
    """
    if code is not None:
        if name is not None:
            raise UsageError("cannot choose the scorer", got=f"the scorer {name!r} and a method score", need="one of them")
        return _code(code, getattr(code, "__qualname__", type(code).__name__), options, metric)
    if not isinstance(name, str):
        got = "no scorer" if name is None else f"{name!r}"
        raise UsageError(
            "cannot score the answers", got=got, need=f"one of {', '.join(SCORERS)}, or pkg.mod:function", hint='scorer = "exact"'
        )
    if ":" in name:
        return _code(function_named(name, where), name, options, metric)
    if name not in SCORERS:
        hint = did_you_mean(name.lower().replace("_", "-"), SCORERS)
        raise UsageError(f"cannot find the scorer {name!r}", need=f"one of {', '.join(SCORERS)}, or pkg.mod:function", hint=hint)
    return made(SCORERS[name], _with_schema(options, where) if name == "json-schema" else options)


def _code(function: Callable[..., Any], called: str, options: Mapping[str, Any], metric: str | None) -> CodeScorer:
    check_keys(options, ("right_or_wrong",), f"the options of the scorer {called}")
    return CodeScorer(function=function, called=called, right=options.get("right_or_wrong", metric is not None and is_share(metric)))


def _with_schema(options: Mapping[str, Any], where: Path) -> Mapping[str, Any]:
    """The options with the text of a schema file in the place of its name."""
    name = options.get("schema")
    if not isinstance(name, str) or not name.endswith(".json"):
        return options
    path = (where if where.is_dir() else where.parent) / name
    try:
        return {**options, "schema": path.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"cannot read the schema {name!r}", got=str(fault), need="a JSON file beside the task") from fault
