"""`steelyard run`: evaluate a model now, and stop as soon as the question is decided."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import INPUT, OUTPUT, command, refuse_given
from steelyard.cli.history import history_option, keep_in_history
from steelyard.cli.options import CHECK_FORMATS, answer, common_with, pairs_given, prior_scale
from steelyard.errors import UsageError

OF_VERDICTS = ("junit", "github")  # formats that know a verdict, not the run around it


@command(short_help="evaluate a model now, and stop as soon as the question is decided")
@click.argument("task", type=INPUT, required=False)
@click.option(
    "--model",
    multiple=True,
    type=INPUT,
    metavar="MODEL",
    help="openai:NAME, python:pkg.mod:function, command:PROGRAM or file:PREDICTIONS. Twice: the first is the baseline.",
)
@click.option(
    "--base-url",
    multiple=True,
    metavar="URL",
    help="Address of an endpoint with OpenAI's API, e.g. http://127.0.0.1:8000/v1; once for all models, or once per model, in order.",
)
@click.option(
    "--api",
    multiple=True,
    type=click.Choice(["chat", "completions"]),
    help="Which of its two calls to use; once, or once per model.  [default: chat]",
)
@click.option(
    "--key-env",
    multiple=True,
    metavar="NAME",
    help="Name of the environment variable that holds the key; once, or once per model.  [default: OPENAI_API_KEY]",
)
@click.option("--name", multiple=True, metavar="NAME", help="The model's name in references.  [default: the text after the first colon]")
@click.option("--against", metavar="NAME", help="The reference to judge by; none: measure only.  [default: its own name, if on record]")
@click.option("--spec", multiple=True, metavar="KEY=VALUE", help="What justifies another accuracy, such as quant_algo=FP8. Repeatable.")
@click.option("--directory", type=click.Path(file_okay=False), help="Where the references are.  [default: references]")
@click.option("--until", metavar="WHEN", help="decided, width=X or n=N.  [default: all items]")
@click.option("--theta", type=float, help="The drop that matters: --until decided must find it or rule it out.")
@click.option("--margin", type=float, help="The drop that is tolerated.  [default: 0]")
@click.option("--alpha", type=float, help="False alarms: the share of healthy runs called worse.  [default: 0.05]")
@click.option("--beta", type=float, help="Misses of a drop of theta; a pass rules it out at level 1 - beta.  [default: 0.2]")
@click.option("--scale", type=click.Choice(["percent", "fraction", "raw"]), help="Of theta and margin.")
@click.option(
    "--stopping",
    type=click.Choice(["profile-mcnemar", "empirical-likelihood", "mcnemar", "lan-demets", "e-process", "e-mcnemar", "sprt"]),
    help="Rule of --until decided.  [default: profile-mcnemar for right or wrong, empirical-likelihood for scores, lan-demets for groups]",
)
@click.option("--discordance", type=float, help="For --stopping sprt: the share of items on which two healthy runs differ.")
@click.option("--looks", type=int, help="Looks that mcnemar and lan-demets plan; the other rules have none.  [default: 20]")
@click.option("--every", type=int, default=32, show_default=True, help="Items between two looks.")
@click.option("--n", type=int, help="How many items: a subset in hash order.  [default: what the task says, else all]")
@click.option("--seed", type=int, help="Random seed of the order of the items.  [default: the task's, else 0]")
@click.option("--repeats", type=int, default=1, show_default=True, help="How many times each item is asked.")
@click.option("--concurrency", type=int, help="Maximum concurrent requests.  [default: what suits the model]")
@click.option("--batch", multiple=True, type=int, help="Items per call of a Python function or command; once, or once per model.")
@click.option(
    "--timeout",
    multiple=True,
    type=float,
    help="Total seconds allowed per answer (per attempt of an endpoint, per batch of a function); once, or once per model.",
)
@click.option("--max-error-rate", type=float, default=0.02, show_default=True, help="Share of items that may fail before the run ends.")
@click.option(
    "--missing",
    type=click.Choice(["error", "wrong", "drop"]),
    default="error",
    show_default=True,
    help="What to do with items that still fail after retries.",
)
@click.option(
    "--unmatched",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Items that are not on record, or only there.",
)
@prior_scale
@click.option(
    "--price",
    multiple=True,
    metavar="input=X,output=Y",
    help="Price of a million tokens, to add up the cost; once, or once per model.",
)
@click.option("--dry-run", is_flag=True, help="Show the first prompt, the number of calls, tokens and cost; ask nothing, write nothing.")
@click.option("--suite", type=click.Path(dir_okay=False), help="A suite file: run and check all of it, one verdict.")
@click.option("-o", "--output", type=OUTPUT, help="Where the rows go, one JSON object a line.")
@click.option(
    "--answer",
    "answer_",
    type=OUTPUT,
    multiple=True,
    help="Write the answer to a file instead of standard output; several times for several formats, each by its ending.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["inconclusive", "regression"]),
    default="inconclusive",
    show_default=True,
    help="regression: an inconclusive verdict exits 0.",
)
@click.option("--config", type=click.Path(dir_okay=False), help="A steelyard.toml.  [default: the nearest upward]")
@history_option
@common_with(CHECK_FORMATS, output=False)
def run(task: str | None, **options: Any) -> None:
    """Evaluate a model on a task now, and stop as soon as the question is decided.

    Exit code 0: answered, or pass, 1: regression, 2: inconclusive, 3: the question could not be asked. With -o a run that was
    broken off goes on where it was: run the same command again.

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
    from steelyard.evaluate.asking.progress import Progress
    from steelyard.outputs import refuse_overwriting
    from steelyard.questions.run.options import HOW, OF_MODELS, RULE
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
                prices=_prices(options["price"]),
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
        need="the suite file to say it",
    )
    from steelyard.evaluate.asking.progress import Progress
    from steelyard.questions.suite.run_suite import run_suite

    with Progress(quiet=options["quiet"]) as progress:
        return run_suite(options["suite"], directory=options["directory"], config=options["config"], progress=progress)
