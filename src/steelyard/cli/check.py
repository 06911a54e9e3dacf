"""`steelyard check`: has it become worse than the reference?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from steelyard.cli.command import (
    CHECK_FORMATS,
    INPUT,
    answer,
    command,
    common_with,
    flags,
    pairs_given,
    refuse_given,
    run_source_given,
    seed_of,
)
from steelyard.cli.history import keep_in_history
from steelyard.declared.check import OPTIONS
from steelyard.errors import UsageError

NUMBERS = ("alpha", "beta", "sigma", "theta", "margin", "num_samples", "value")


@command(short_help="has it become worse than the reference?")
@click.argument("source", type=INPUT, required=False)
@flags(*OPTIONS)
@common_with(CHECK_FORMATS)
def check(source: str | None, **options: Any) -> None:
    """Has a run become worse than the reference on record?

    Exit code 0: pass, 1: regression, 2: inconclusive, 3: error (bad input or missing reference).

    \b
    Examples:
      steelyard check run.jsonl --task gsm8k --model llama-3.1-8b
      steelyard check run.jsonl --task gsm8k --model llama-3.1-8b --spec quant_algo=FP8 --theta .01
      steelyard check --task mmlu --model meta-llama/Llama-3.1-8B-Instruct --value 66.2
      steelyard check --suite suite.toml --format markdown
    """
    result = _suite(options) if options["suite"] is not None else _one(source, options)
    if options["format_"] == "github":
        step_summary(result)
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])
    keep_in_history(result, options, **_kept(source, options))
    code = result.exit_code
    raise click.exceptions.Exit(0 if code == 2 and options["fail_on"] == "regression" else code)


def _kept(source: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """What the history asks beside the verdict: where the items are, and how the run was made."""
    columns = run_source_given(options)
    return {"sources": [] if source is None else [source], "columns": columns, "protocol": pairs_given(options["protocol"], "--protocol")}


def _one(source: str | None, options: dict[str, Any]) -> Any:
    missing = [f"--{name}" for name in ("task", "model") if options[name] is None]
    if missing:
        raise UsageError("cannot check", got=f"no {' and no '.join(missing)}", need="a task and a model", hint="steelyard check --help")
    from steelyard.questions.guard.check import check as ask

    return ask(
        source,
        task=options["task"],
        model=options["model"],
        spec=pairs_given(options["spec"], "--spec"),
        directory=options["directory"],
        metric=options["metric"],
        positive=options["positive"],
        scale=options["scale"],
        target=options["target"],
        range=options["range"] or None,
        unmatched=options["unmatched"],
        missing=options["missing"],
        protocol=pairs_given(options["protocol"], "--protocol"),
        config=options["config"],
        draws=options["draws"],
        seed=seed_of(options["seed"]),
        **{name: options[name] for name in NUMBERS},
        **run_source_given(options),
    )


def _suite(options: dict[str, Any]) -> Any:
    refuse_given(
        ("suite", "directory", "config", "seed", "fail_on", "history", "output"),
        "cannot use a suite with options of one check",
        need="these settings in the suite file",
        hint="[[checks]] in the file",
    )
    from steelyard.questions.suite.check_suite import check_suite

    return check_suite(options["suite"], directory=options["directory"], config=options["config"], seed=seed_of(options["seed"]))


def step_summary(result: Any) -> None:
    """GitHub shows this file as the summary of the step; it is added to, never replaced."""
    where = os.environ.get("GITHUB_STEP_SUMMARY")
    if not where:
        return
    from steelyard.render.formats import FORMATS

    try:
        with Path(where).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(FORMATS["markdown"](result) + "\n")
    except OSError as fault:
        click.echo(f"warning: cannot add to the step summary: {fault.strerror or fault}", err=True)
