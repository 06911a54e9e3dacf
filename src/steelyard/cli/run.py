"""`steelyard run`: evaluate a model, and stop as soon as the question is decided."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import CHECK_FORMATS, INPUT, answer, command, common_with, flags, pairs_given, refuse_given
from steelyard.cli.history import keep_in_history
from steelyard.declared.run import OPTIONS
from steelyard.errors import UsageError

OF_VERDICTS = ("junit", "github")  # formats that know a verdict, not the run around it


@command(short_help="evaluate a model, and stop as soon as the question is decided")
@click.argument("task", type=INPUT, required=False)
@flags(*OPTIONS)
@common_with(CHECK_FORMATS, output=False)
def run(task: str | None, **options: Any) -> None:
    """Evaluate a model on a task, and stop as soon as the question is decided.

    Exit code 0: answered, or pass, 1: regression, 2: inconclusive, 3: error (bad input or missing reference). With -o,
    an interrupted run can continue: run the same command again.

    \b
    Examples:
      steelyard run gsm8k.toml --model openai:llama --base-url http://127.0.0.1:8000/v1 -o out.jsonl
      steelyard run digits.toml --model python:models:predict --against digits --until decided --theta .02
      steelyard run digits.toml --model python:models:old --model python:models:new --until decided --theta .02
      steelyard run task.toml --model "command:./predict --fast" --until width=.02
      steelyard run gsm8k.toml --model openai:llama --base-url http://127.0.0.1:8000/v1 --price input=1,output=2 --dry-run
      steelyard run gsm8k.toml --until decided --theta .03 \\
        --model openai:m --name old --base-url http://a:8000/v1 \\
        --model openai:m --name new --base-url http://b:8000/v1
    """
    result = _suite(options) if options["suite"] is not None else _one(task, options)
    if options["dry_run"]:
        answer(result, output=options["answer_"], **{name: options[name] for name in ("format_", "no_color", "quiet")})
        return
    code = result.exit_code
    judged = {} if options["suite"] is not None else dict.fromkeys(OF_VERDICTS, result.verdict)
    if options["format_"] == "github":
        from steelyard.cli.check import step_summary

        step_summary(judged.get("github", result))
    shown = {name: options[name] for name in ("format_", "no_color", "quiet")}
    answer(result, output=options["answer_"], instead=judged, **shown)
    keep_in_history(result, options, **({} if options["suite"] is not None else {"spec": pairs_given(options["spec"], "--spec")}))
    raise click.exceptions.Exit(0 if code == 2 and options["fail_on"] == "regression" else code)


def _one(task: str | None, options: dict[str, Any]) -> Any:
    lacking = [what for what, there in (("a task", task is not None), ("--model", bool(options["model"]))) if not there]
    if lacking:
        raise UsageError("cannot run", got=f"no {' and no '.join(lacking)}", need="a task and a model", hint="steelyard run --help")
    from steelyard.declared.run import HOW, OF_MODELS, RULE
    from steelyard.evaluate.asking.summary import Progress
    from steelyard.outputs import refuse_overwriting
    from steelyard.questions.run.run import run as ask
    from steelyard.reference.run_notes import rows_paths

    endings = [place.suffix.lower() for place in options["answer_"]]
    if options["dry_run"] and (options["format_"] in ("html", *OF_VERDICTS) or {".html", ".htm", ".xml"} & set(endings)):
        raise UsageError("cannot show a dry run in this format", need="text, json or markdown", hint="--format json")
    rows = rows_paths(options["output"], len(options["model"]))
    refuse_overwriting({"-o": [place for place in rows if place is not None], "--answer": options["answer_"]}, [])
    passed_on = ("against", "directory", "config", "prior_scale", *HOW, *RULE, *OF_MODELS)
    with Progress(quiet=options["quiet"]) as progress:
        try:
            return ask(
                task,
                *options["model"],
                output=options["output"],
                name=list(options["name"]) or None,
                spec=pairs_given(options["spec"], "--spec"),
                prices=_prices(options["prices"]),
                progress=progress,
                verdict=options["format_"] in OF_VERDICTS or ".xml" in endings,
                dry_run=options["dry_run"],
                **{name: _given(options[name]) for name in passed_on if options.get(name) not in (None, ())},
            )
        except (KeyboardInterrupt, SystemExit):
            progress.close()
            if options["output"] is not None:
                click.echo(f"what was answered is in {options['output']}.journal: the same command goes on from there", err=True)
            raise


def _given(value: Any) -> Any:
    """An option that may be given for each model comes as a tuple: one value serves all of them."""
    return value if not isinstance(value, tuple) else value[0] if len(value) == 1 else list(value)


def _prices(words: tuple[str, ...]) -> list[dict[str, float]] | None:
    """input=1,output=2 once or once per model; or input=1 and output=2 apart, for all models."""
    tables = [pairs_given(tuple(word.split(",")), "--price") for word in words]
    if tables and all(len(table) == 1 for table in tables):
        tables = [pairs_given(words, "--price")]
    return [{kind: _number(text) for kind, text in table.items()} for table in tables] or None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError("cannot read --price", got=repr(text), need="a number", hint="--price input=0.5,output=1.5") from None


def _suite(options: dict[str, Any]) -> Any:
    refuse_given(
        ("suite", "directory", "config", "fail_on", "answer_", "history"),
        "cannot use a suite with options of one run",
        need="these settings in the suite file",
    )
    from steelyard.evaluate.asking.summary import Progress
    from steelyard.questions.suite.run_suite import run_suite

    with Progress(quiet=options["quiet"]) as progress:
        return run_suite(options["suite"], directory=options["directory"], config=options["config"], progress=progress)
