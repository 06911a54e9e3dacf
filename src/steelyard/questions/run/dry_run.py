"""A dry run: what would be asked, how often, and about what it would cost. Nothing is asked and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard import signature
from steelyard.evaluate.asking.asks import Case, Model
from steelyard.evaluate.asking.summary import PER, jsonable
from steelyard.evaluate.scorers.judge import Judge
from steelyard.evaluate.task.template import value_text
from steelyard.questions.run.answer import asked_of
from steelyard.questions.run.options import RunOptions
from steelyard.questions.run.task import Prepared
from steelyard.results.evaluation import DryRun

CHARACTERS = 4  # to a token, in English; other languages and code have fewer
LIMITS = ("max_tokens", "max_completion_tokens")


def dry_run_of(prepared: Prepared, models: Sequence[Model], names: Sequence[str], wish: RunOptions, *, judged: str | None) -> DryRun:
    """What the run would do, from the prompts as they would be sent."""
    each = len(prepared.cases) * wish.repeats
    texts = all(case.messages is not None or isinstance(case.input, str) for case in prepared.cases)
    tokens_in = sum(-(-_characters(case) // CHARACTERS) for case in prepared.cases) * wish.repeats if texts else None
    limit = next((int(prepared.task.sampling[name]) for name in LIMITS if name in prepared.task.sampling), None)
    tokens_out = None if limit is None else limit * each
    told: list[dict[str, Any]] = []
    for model, name, price in zip(models, names, wish.price, strict=True):
        cost = None
        if price is not None and tokens_in is not None:
            cost = (tokens_in * price.input + (tokens_out or 0) * price.output) / PER
        told.append({"name": name, "asked_of": asked_of(model), "calls": each, "cost": cost, "cost_at_most": tokens_out is not None})
    costs = [one["cost"] for one in told]
    many = len(models)
    return DryRun(
        task=prepared.task.name,
        n=len(prepared.cases),
        repeats=wish.repeats,
        calls=each * many,
        prompt=_prompt(prepared.cases[0]),
        tokens_in=None if tokens_in is None else tokens_in * many,
        tokens_out=None if tokens_out is None else tokens_out * many,
        models=tuple(told),
        cost=sum(costs) if costs and None not in costs else None,
        judge_calls=each * many if isinstance(prepared.scorer, Judge) else 0,
        judged_by=judged if many == 1 else None,
        stops_early=wish.decided or wish.width is not None,
        warnings=tuple(dict.fromkeys([*prepared.warnings, *(said for model in models for said in getattr(model, "warnings", ()))])),
        signature=signature.write({"task": prepared.task.name, "model": list(names) if many > 1 else names[0], "n": len(prepared.cases)}),
    )


def _characters(case: Case) -> int:
    if case.messages is not None:
        return sum(len(message["content"]) for message in case.messages)
    return len(str(case.input))


def _prompt(case: Case) -> str:
    """What the first item asks: the messages of a chat with who says them, a text, or the features."""
    if case.messages is not None and len(case.messages) > 1:
        return "\n".join(f"[{message['role']}]\n{message['content']}" for message in case.messages)
    if case.messages is not None:
        return str(case.messages[0]["content"])
    return case.input if isinstance(case.input, str) else value_text(jsonable(case.input), "input")
