"""`steelyard run`: evaluate a model, and stop as soon as the question is decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from steelyard_old.cli.command import INPUT, SCORERS, SUITE_TIERS, Given, refuse_given, verb_command
from steelyard_old.cli.history import keep_in_history, refuse_unkept
from steelyard_old.errors import UsageError
from steelyard_old.options.run import OPTIONS, refuse_answers_without_rows

OF_DECIDED_SUITES = ("until", "stop", "max_calls", "max_cost")
OF_VERDICTS = ("junit", "github")  # formats that know a verdict, not the run around it


@verb_command(OPTIONS, answers="guards", output=False, catalogues=(SCORERS, SUITE_TIERS))
@click.argument("task", type=INPUT, required=False)
def run(task: str | None, given: Given) -> None:
    """Evaluate a model on a task, and stop as soon as the question is decided.

    Exit code 0: pass, or measured only, 1: regression, 2: inconclusive, 3: error (bad input or missing reference). With -o,
    an interrupted run can continue: run the same command again.

    \b
    Examples:
      steelyard run gsm8k.toml --model openai:llama --base-url http://127.0.0.1:8000/v1 -o out.jsonl
      steelyard run digits.toml --model python:models:predict --against digits --until decided --theta .02
      steelyard run digits.toml --model python:models:old --model python:models:new --until decided --theta .02
      steelyard run preset:gsm8k --data test.jsonl --model openai:llama --base-url http://127.0.0.1:8000/v1
      steelyard run preset:perplexity --data texts.txt --api completions --model openai:llama --base-url http://127.0.0.1:8000/v1
      steelyard run digits.toml --model python:m:old --model python:m:new --model python:m:small --until decided --theta .02
      steelyard run task.toml --model "command:./predict --fast" --until width=.02
      steelyard run gsm8k.toml --model openai:llama --base-url http://127.0.0.1:8000/v1 --price input=1,output=2 --dry-run
      steelyard run gsm8k.toml --model openai:llama --base-url http://127.0.0.1:8000/v1 -o out.jsonl --max-calls 500
      steelyard run --suite suite.toml --until decided --max-calls 5000
      steelyard run gsm8k.toml --until decided --theta .03 \\
        --model openai:m --name old --base-url http://a:8000/v1 \\
        --model openai:m --name new --base-url http://b:8000/v1
    """
    suite = given["suite"] is not None
    refuse_unkept(given)
    if given["keep_answers"] and not suite and not given["dry_run"]:
        refuse_answers_without_rows(given["output"])
    if not suite:
        from steelyard_old.cli.check import refuse_night

        refuse_night(given)
    result, facts = _suite(given) if suite else (_one(task, given), given.keywords("spec"))
    if given["dry_run"]:
        given.answer(result, output=given["answer_"])
        return
    judged = {} if suite else dict.fromkeys(OF_VERDICTS, result.judged)
    if given["format_"] == "github":
        from steelyard_old.cli.check import step_summary

        step_summary(judged.get("github", result))
    given.answer(result, output=given["answer_"], instead=judged)
    if facts is not None:  # a night is in the history already
        keep_in_history(result, given, **facts)
    given.leave(result)


def _one(task: str | None, given: Given) -> Any:
    lacking = [what for what, there in (("a task", task is not None), ("--model", bool(given["model"]))) if not there]
    if lacking:
        raise UsageError(
            f"run needs {' and '.join(lacking)}.",
            got=f"no {' and no '.join(lacking)}",
            need="a task and a model",
            hint="steelyard run --help",
        )
    from steelyard_old.evaluate.asking.summary import Progress
    from steelyard_old.outputs import refuse_overwriting
    from steelyard_old.questions.run import run as questions
    from steelyard_old.reference.run_notes import rows_paths

    if given["stop"] != "first":
        raise UsageError("--stop is for suites.", got="--stop without --suite", need="--suite FILE --until decided")
    endings = [place.suffix.lower() for place in given["answer_"]]
    if given["dry_run"] and (given["format_"] in ("html", *OF_VERDICTS) or {".html", ".htm", ".xml"} & set(endings)):
        raise UsageError("A dry run is shown as text, json or markdown.", need="text, json or markdown", hint="--format json")
    rows = rows_paths(given["output"], len(given["model"]))
    refuse_overwriting({"-o": [place for place in rows if place is not None], "--answer": given["answer_"]}, [])
    judged = given["format_"] in OF_VERDICTS or ".xml" in endings
    ask: Callable[..., Any] = questions.dry_run if given["dry_run"] else questions.run
    with Progress(quiet=given["quiet"]) as progress:
        try:
            return ask(task, *given["model"], progress=progress, verdict=judged, **given.keywords())
        except (KeyboardInterrupt, SystemExit):
            progress.close()
            if given["output"] is not None:
                click.echo(f"Answers so far are in {given['output']}.journal; the same command continues from there.", err=True)
            raise


def _suite(given: Given) -> tuple[Any, dict[str, Any] | None]:
    refuse_given(
        ("suite", "series", "night", "directory", "config", "fail_on", "answer_", "history", "keep_answers", *OF_DECIDED_SUITES),
        "a suite",
    )
    from steelyard_old.cli.check import of_night
    from steelyard_old.evaluate.asking.summary import Progress
    from steelyard_old.questions.run.run_suite import evaluating
    from steelyard_old.questions.suite.check_suite import suite_and_sources

    chosen = given.keywords("until", "max_calls", "max_cost") | ({"stop": given["stop"]} if given["stop"] != "first" else {})
    with Progress(quiet=given["quiet"]) as progress:
        if chosen:
            from steelyard_old.questions.run.decided_suite import as_one

            together = as_one(progress=progress, **{"until": None, **chosen})
            night = {name: given[name] for name in ("series", "night")}
            return suite_and_sources(given["suite"], together=together, **night, **given.keywords("directory", "config"))
        return suite_and_sources(given["suite"], **evaluating(progress), **of_night(given), **given.keywords())
