"""`steelyard check`: has it become worse than the reference?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from steelyard_old.cli.command import INPUT, LOGS, SUITE_TIERS, Given, refuse_given, verb_command
from steelyard_old.cli.history import about_run, configured, keep_in_history, refuse_unkept
from steelyard_old.errors import UsageError
from steelyard_old.options.check import OPTIONS


@verb_command(OPTIONS, answers="guards", catalogues=(LOGS, SUITE_TIERS))
@click.argument("source", type=INPUT, required=False)
def check(source: str | None, given: Given) -> None:
    """Has a run become worse than the reference on record?

    Exit code 0: pass, 1: regression, 2: inconclusive, 3: error (bad input or missing reference).

    \b
    Examples:
      steelyard check run.jsonl --task gsm8k --model llama-3.1-8b
      steelyard check run.jsonl --task gsm8k --model llama-3.1-8b --spec quant_algo=FP8 --theta .01
      steelyard check --task mmlu --model meta-llama/Llama-3.1-8B-Instruct --value 66.2
      steelyard check run.jsonl --task gsm8k --model llama-3.1-8b --by language --critical-slices de,fr
      steelyard check drafts.csv --task drafts --model llama-3.1-8b --ratio accepted/drafted
      steelyard check --suite suite.toml --format markdown
    """
    refuse_unkept(given)
    facts: dict[str, Any] | None
    if given["suite"] is not None:
        result, facts = _suite(given)
    else:
        refuse_night(given)
        result, facts = _one(source, given), {"sources": [] if source is None else [source], **about_run(given)}
    if result.verdict == "regression":
        result = with_stored_answers(result, given)
    if given["format_"] == "github":
        step_summary(result)
    given.answer(result)
    if facts is not None:  # a night is in the history already
        keep_in_history(result, given, **facts)
    given.leave(result)


def _one(source: str | None, given: Given) -> Any:
    missing = [f"--{name}" for name in ("task", "model") if given[name] is None]
    if missing:
        raise UsageError(
            f"check needs {' and '.join(missing)}.",
            got=f"no {' and no '.join(missing)}",
            need="a task and a model",
            hint="steelyard check --help",
        )
    from steelyard_old.questions.guard.check import check as ask

    return ask(source, **given.keywords())


def with_stored_answers(result: Any, given: Given) -> Any:
    """The verdict, or those of a suite, with what the reference answered, where a history has kept that."""
    if given["history"] is None and not configured(given["config"]):
        return result
    from steelyard_old.questions.history.answers import with_reference_answers

    return with_reference_answers(result, history=given["history"], config=given["config"])


def _suite(given: Given) -> tuple[Any, dict[str, Any] | None]:
    refuse_given(
        ("suite", "series", "night", "directory", "config", "seed", "fail_on", "history", "keep_answers", "output"),
        "a suite",
        hint="[[checks]] in the file",
    )
    from steelyard_old.questions.suite.check_suite import suite_and_sources

    return suite_and_sources(given["suite"], **of_night(given), **given.keywords())


def of_night(given: Given) -> dict[str, Any]:
    """What a suite with a budget has to know: a night is stored before it is told."""
    return {"history": given["history"], "series": given["series"], "night": given["night"], "keep_answers": bool(given["keep_answers"])}


def refuse_night(given: Given) -> None:
    """A night is one of a suite."""
    if named := [f"--{name}" for name in ("series", "night") if given[name] is not None]:
        raise UsageError(f"{named[0]} is about a suite.", got=f"{named[0]} without --suite", need="--suite", hint="leave it out")


def step_summary(result: Any) -> None:
    """GitHub shows this file as the summary of the step; it is added to, never replaced."""
    where = os.environ.get("GITHUB_STEP_SUMMARY")
    if not where:
        return
    from steelyard_old.render.formats import FORMATS

    try:
        with Path(where).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(FORMATS["markdown"].write(result) + "\n")
    except OSError as fault:
        click.echo(f"warning: cannot add to the step summary: {fault.strerror or fault}", err=True)
