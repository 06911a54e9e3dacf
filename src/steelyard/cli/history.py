"""`steelyard history`: the runs so far, what became of them, and whether they drift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.cli.command import answer, command, common, flags, pairs_given
from steelyard.declared.history import OPTIONS
from steelyard.errors import SteelyardError, UsageError

ASKED = ("task", "model", "metric", "since", "until")
TABLES = (".csv", ".jsonl")


@command(short_help="list past runs, compare them, test for drift")
@flags(*OPTIONS)
@common
def history(**options: Any) -> None:
    """List past runs, newest first. With --drift, test whether a series of runs has slowly become worse.

    `check`, `record` and `run` store their runs in the database given by --history or steelyard.toml.

    \b
    Examples:
      steelyard history
      steelyard history --task gsm8k --verdict regression --since 2026-11-01
      steelyard history --task gsm8k --model llama-3.1-8b --drift
      steelyard history --compare 0f7d63ca 9b2c11d0
      steelyard history --export runs.csv
    """
    output: tuple[Path, ...] = options["output"]
    is_table = len(output) == 1 and output[0].suffix.lower() in TABLES and options["format_"] is None
    table = options["export"] or (output[0] if is_table else None)
    modes = [name for name, on in (("--drift", options["drift"]), ("--compare", options["compare"]), ("--export", table)) if on]
    if len(modes) > 1:
        raise UsageError("cannot do two things at once", got=" and ".join(modes), need="one of them")
    if table is not None:
        _export(table, options)
        return
    result = _drift(options) if options["drift"] else _compare(options) if options["compare"] else _list(options)
    answer(result, format_=options["format_"], output=output, no_color=options["no_color"], quiet=options["quiet"])


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    spec = options["spec"]
    whole = {} if spec == ("none",) else pairs_given(spec, "--spec") if spec else None
    return {**{name: options[name] for name in ASKED}, "spec": whole}


def _list(options: dict[str, Any]) -> Any:
    from steelyard.questions.history.history import list_runs

    page = {} if options["limit"] is None else {"limit": options["limit"]}
    where = {"config": options["config"], "verdict": options["verdict"], "after": options["after"]}
    return list_runs(options["history"], **_asked(options), **where, **page)


def _compare(options: dict[str, Any]) -> Any:
    from steelyard.questions.history.history import compare_runs

    return compare_runs(*options["compare"], history=options["history"], config=options["config"])


def _drift(options: dict[str, Any]) -> Any:
    lacking = [f"--{name}" for name in ("task", "model") if options[name] is None]
    if lacking:
        raise UsageError("cannot look for drift", got=f"no {' and no '.join(lacking)}", need="a task and a model")
    from steelyard.questions.history.drift import drift

    numbers = {name: options[name] for name in ("alpha", "k", "h", "draws", "seed")}
    return drift(options["history"], **_asked(options), **numbers, config=options["config"])


def _export(path: Path, options: dict[str, Any]) -> None:
    from steelyard.questions.history.export import export_runs

    many = export_runs(path, options["history"], config=options["config"], verdict=options["verdict"], **_asked(options))
    if not options["quiet"]:
        click.echo(f"{many:,} run{'s' if many != 1 else ''} written to {path}", err=True)


def keep_in_history(result: Any, options: dict[str, Any], **facts: Any) -> None:
    """Keep an answer that was given already. A history that fails is a warning: the answer and its exit code stay what they are."""
    if options["history"] is None and not _configured(options):
        return
    try:
        from steelyard.questions.history.keep import keep

        _, warnings = keep(result, history=options["history"], config=options["config"], directory=options["directory"], **facts)
    except SteelyardError as fault:
        warnings = [f"the run was not stored in the history: {fault}"]
    except Exception as fault:  # whatever it is, it must not cost the verdict
        warnings = [f"the run was not stored in the history: {type(fault).__name__}: {fault}"]
    for warning in warnings:
        click.echo(f"warning: {_plain(warning)}", err=True)


def _plain(text: str) -> str:
    from steelyard.render.safe import terminal

    return terminal(" ".join(text.split()))


def _configured(options: dict[str, Any]) -> bool:
    """Whether a configuration names a history: most have none, and then nothing more is loaded."""
    from steelyard.reference.config import find_config

    try:
        return find_config(Path.cwd(), options["config"]).history is not None
    except SteelyardError:
        return False  # the command itself has said what is wrong with it
