"""The scorers by name: what an answer is worth. Each has its options in the table [scorer] of a task."""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import DataError, SteelyardError, UsageError, with_article
from steelyard_old.evaluate.asking.asks import Case, Scored
from steelyard_old.evaluate.asking.plain import plain as written
from steelyard_old.evaluate.asking.plain import words
from steelyard_old.evaluate.scorers.base import Scoring, check_flags, is_number, made
from steelyard_old.evaluate.scorers.choice import Choice
from steelyard_old.evaluate.scorers.json_answers import JsonMatch, JsonSchema
from steelyard_old.evaluate.scorers.judge import Judge
from steelyard_old.evaluate.scorers.likelihood import LogLikelihood
from steelyard_old.evaluate.scorers.numeric import NumericScorer, Tolerance
from steelyard_old.evaluate.scorers.text import Contains, Exact, Regex
from steelyard_old.evaluate.scorers.words import Rouge1, RougeL, TokenF1, WordErrorRate
from steelyard_old.evaluate.task.cases import check_keys, plain
from steelyard_old.late_dataclass import dataclass

NEED = "True or False, a number, or a table with score (and prediction, truth, extracted)"


@dataclass(frozen=True, kw_only=True)
class CodeScorer(Scoring):
    """A function of (answer, row) or (answer, truth, row) that says what an answer is worth.

    It returns True or False, a finite number, or a table {score, prediction, truth, extracted}. right_or_wrong = true (the
    default if the metric is accuracy) refuses scores other than 0 and 1. Empty answers come to it too. The hash of its
    source is in the protocol: another scorer is another measurement. def score(answer, row): return row["name"] in answer
    """

    name: ClassVar[str] = "code"
    right: bool = False
    function: Callable[..., Any] = field(repr=False)
    called: str

    def __post_init__(self) -> None:
        check_flags(self, "right")
        object.__setattr__(self, "takes", _parameters(self.function, self.called))

    @property
    def right_or_wrong(self) -> bool:
        return self.right

    @property
    def needs_truth(self) -> bool:
        return getattr(self, "takes", 2) == 3

    @property
    def span(self) -> tuple[float, float] | None:
        return (0.0, 1.0) if self.right else None

    @property
    def protocol(self) -> Mapping[str, str]:
        import hashlib

        try:
            source = hashlib.sha256(inspect.getsource(self.function).encode()).hexdigest()[:16]
        except (OSError, TypeError):  # typed at a prompt, or built in: its name is all there is to pin
            source = "unknown"
        return {"code": self.called, "source": source}

    def score(self, said: Any, case: Case, judgement: str | None = None) -> Scored:
        given = (said, case.truth, case.row) if self.needs_truth else (said, case.row)
        try:
            worth = self.function(*given)
        except Exception as fault:
            raise DataError(
                f"The scorer {self.called} failed on item {case.id!r} with {words(fault)}.",
                got=f"{words(fault)}, in {self.called}",
                need="a score for every answer",
            ) from fault
        try:
            return self._scored(plain(worth), case)
        except SteelyardError:
            raise
        except Exception as fault:  # an object that fails when it is looked at
            got = f"{words(fault)}, in what {self.called} returned"
            raise DataError(f"The score of item {case.id!r} must be {NEED}; there was {got}.", got=got, need=NEED) from fault

    def _scored(self, worth: Any, case: Case) -> Scored:
        table = worth if isinstance(worth, Mapping) else {"score": worth}
        score = plain(table.get("score"))
        if set(table) - {"score", "prediction", "truth", "extracted"} or not (isinstance(score, bool) or is_number(score)):
            raise DataError(
                f"The score of item {case.id!r} must be {NEED}; {self.called} gave {repr(worth)[:120]}.",
                got=f"{repr(worth)[:120]} from {self.called}",
                need=NEED,
            )
        score = float(score)
        if self.right and score not in (0.0, 1.0):
            hint = 'metric = "mean" is for scores between'
            raise DataError(
                f"The score of item {case.id!r} must be 0 or 1; {self.called} gave {score:g}.",
                got=f"{score:g} from {self.called}",
                need="0 or 1",
                hint=hint,
            )
        truth = written(table.get("truth", self.truth(case)), "a truth")
        prediction = written(table.get("prediction"), "a prediction")
        return Scored(score=score, prediction=prediction, truth=truth, extracted=bool(table.get("extracted", True)))


def _parameters(function: Callable[..., Any], called: str) -> int:
    need = f"{called}(answer, row) or {called}(answer, truth, row)"
    if inspect.iscoroutinefunction(function):
        raise UsageError(
            f"The scorer {called} is an async function; it must be a plain one, {need}.",
            got=f"an async function, {called}",
            need=f"a plain one, {need}",
        )
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as fault:
        raise UsageError(
            f"The parameters of the scorer {called} cannot be known.", got=f"{called}, whose parameters cannot be known", need=need
        ) from fault
    places = [each for each in taken if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    more = math.inf if any(each.kind is each.VAR_POSITIONAL for each in taken) else len(places)
    least = sum(each.default is each.empty for each in places)
    for many in (3, 2):
        if least <= many <= more and (many == 2 or least == 3 or len(places) == 3):
            return many
    raise UsageError(
        f"The scorer {called} must be called as {need}; it has {len(places)} parameters.",
        got=f"{called} with {len(places)} parameters",
        need=need,
    )


def function_named(text: str, where: Path) -> Callable[..., Any]:
    """The function `pkg.mod:function`, found as Python finds it, or from the task's directory or the current one."""
    module, _, name = text.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise UsageError(f"Name the scorer as pkg.mod:function, not {text!r}.", got=repr(text), need="pkg.mod:function")
    home = where if where.is_dir() else where.parent
    # For good, since the function may import its neighbours later; behind everything else, so that nothing is shadowed.
    sys.path += [place for place in (str(Path.cwd()), str(home.absolute())) if place not in sys.path]
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as fault:
        got = f"{type(fault).__name__}: {fault}"
        raise UsageError(
            f"Cannot load the scorer {text!r} ({got}).", got=got, need="a module that can be imported, with that function"
        ) from fault
    if not callable(found):
        raise UsageError(
            f"The scorer {text!r} must be a function, not {with_article(type(found).__name__)}.",
            got=with_article(type(found).__name__),
            need="a function",
        )
    return found  # type: ignore[no-any-return]


SCORERS: dict[str, type[Scoring]] = {
    kind.name: kind
    for kind in (
        Exact,
        Choice,
        NumericScorer,
        Regex,
        Contains,
        Tolerance,
        JsonSchema,
        JsonMatch,
        TokenF1,
        Rouge1,
        RougeL,
        WordErrorRate,
        LogLikelihood,
        Judge,
    )
}


def refuse_other_score(protocol: Mapping[str, str], metric: str) -> None:
    """A score of one scorer is not judged by a number that another one made, such as ROUGE-1 by ROUGE-L.

    Of a metric of our own, and of a scorer that is code, nobody knows which scores were averaged.

    >>> refuse_other_score({"scorer": "rouge-1"}, "rouge1")
    """
    from steelyard_old.metrics.catalogue import find

    scorer = protocol.get("scorer")
    if find(metric) is not None or scorer not in SCORERS or metric in SCORERS[scorer].names_elsewhere(protocol):
        return
    makes = next((name for name, kind in SCORERS.items() if metric in kind.names_elsewhere({})), None)
    if makes == scorer:  # made with other options
        options = [f"{key.removeprefix('scorer.')} = {value}" for key, value in protocol.items() if key.startswith("scorer.")]
        scorer += f" ({', '.join(options)})"
    raise UsageError(
        f"The run was scored by {scorer}, but the reference is of {metric!r}: they do not compare.",
        got=f"the scorer {scorer}, where the reference has {metric!r}",
        need="a reference of the same scorer",
        hint=(f'scorer = "{makes}" in the task gives what is on record; or ' if makes else "")
        + "record this run as a reference under a task name of its own",
    )


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
            raise UsageError(
                f"The task has both the scorer {name!r} and a method score.",
                got=f"the scorer {name!r} and a method score",
                need="one of them",
                hint="leave one of them out",
            )
        return _code(code, getattr(code, "__qualname__", type(code).__name__), options, metric)
    if not isinstance(name, str):
        got = "no scorer" if name is None else f"{name!r} as its scorer"
        raise UsageError(
            f"The task has {got}; use {', '.join(SCORERS)} or pkg.mod:function.",
            got=got,
            need=f"one of {', '.join(SCORERS)}, or pkg.mod:function",
            hint='scorer = "exact"',
        )
    if ":" in name:
        return _code(function_named(name, where), name, options, metric)
    if name not in SCORERS:
        hint = did_you_mean(name.lower().replace("_", "-"), SCORERS)
        there = "" if hint else f" There are {', '.join(SCORERS)}, and pkg.mod:function."
        raise UsageError(f"No scorer {name!r}.{there}", got=repr(name), need=f"one of {', '.join(SCORERS)}, or pkg.mod:function", hint=hint)
    return made(SCORERS[name], _with_schema(options, where) if name == "json-schema" else options)


def _code(function: Callable[..., Any], called: str, options: Mapping[str, Any], metric: str | None) -> CodeScorer:
    from steelyard_old.metrics.catalogue import is_share

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
        raise UsageError(
            f"Cannot read the schema {name!r} beside the task ({fault}).", got=str(fault), need="a JSON file beside the task"
        ) from fault
