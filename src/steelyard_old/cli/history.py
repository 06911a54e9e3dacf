"""`steelyard history`: the runs so far, what became of them, and whether they drift."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from click.core import ParameterSource

from steelyard_old.cli.command import CommandGroup, Given, in_flags, one_line, refuse_given, verb_command
from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.options.history import DOES, OPTIONS, USED
from steelyard_old.options.option import RUN_KEYWORDS, refuse_nowhere_to_keep

TABLES = (".csv", ".jsonl")


class HistoryGroup(CommandGroup):
    """`history`, with `history ack`, `history export`, `history import` and `history simulate` below it."""

    below = ("ack", "export", "import", "simulate")
    homes = MappingProxyType(
        {"ack": "history_nights", "export": "history_transfer", "import": "history_transfer", "simulate": "history_nights"}
    )


@verb_command(OPTIONS, kind=HistoryGroup, tables=TABLES)
def history(given: Given) -> None:
    """List past runs, newest first. With --drift, test whether a series of runs has slowly become worse.

    `check`, `record` and `run` store their runs in the database given by --history or steelyard.toml.

    \b
    Examples:
      steelyard history
      steelyard history --task gsm8k --verdict regression --since 2026-11-01
      steelyard history --task gsm8k --model llama-3.1-8b --drift
      steelyard history --compare 0f7d63ca 9b2c11d0
      steelyard history --export runs.csv
      steelyard history --drop-answers --until 2026-10-01
      steelyard history ack --fixed --reason "tokenizer rolled back"
      steelyard history import nightly.log junit.xml
      steelyard history export --to mlflow:http://127.0.0.1:5000
      steelyard history simulate --false-alarms 1 --false-alarms 4
    """
    if click.get_current_context().invoked_subcommand is not None:
        _refuse_before()
        return
    output: tuple[Path, ...] = given["output"]
    is_table = len(output) == 1 and output[0].suffix.lower() in TABLES and given["format_"] is None
    table = given["export"] or (output[0] if is_table else None)
    wanted = {"--drift": given["drift"], "--compare": given["compare"], "--export": table, "--drop-answers": given["drop_answers"]}
    modes = [name for name, on in wanted.items() if on]
    if len(modes) > 1:
        raise UsageError(f"Give only one of {' and '.join(modes)}.", got=" and ".join(modes), need="one of them")
    mode = modes[0] if modes else "the list of runs"
    used = USED[mode]
    refuse_given((*used, *DOES, "output"), mode)
    asked = given.keywords(*used)
    if given["drop_answers"]:
        from steelyard_old.questions.history.answers import drop_answers

        many = drop_answers(**asked)
        click.echo(f"Dropped the answers of {many:,} run{'' if many == 1 else 's'}.", err=True)
    elif table is not None:
        write_table(table, asked, given["quiet"])
    else:
        given.answer(_drift(asked) if given["drift"] else _compare(given["compare"], asked) if given["compare"] else _list(asked))


def _refuse_before() -> None:
    """An option before the name of a command below would be passed over."""
    context = click.get_current_context()
    given = [
        param.opts[-1] for param in context.command.params if context.get_parameter_source(param.name or "") == ParameterSource.COMMANDLINE
    ]
    if given:
        word = context.invoked_subcommand
        raise UsageError(
            f"{given[0]} stands before {word}, where it has no effect.", hint=f"put it behind: steelyard history {word} ... {given[0]}"
        )


def _list(asked: dict[str, Any]) -> Any:
    from steelyard_old.questions.history.history import list_runs

    return list_runs(**asked)


def _compare(runs: tuple[str, str], asked: dict[str, Any]) -> Any:
    from steelyard_old.questions.history.history import compare_runs

    return compare_runs(*runs, **asked)


def _drift(asked: dict[str, Any]) -> Any:
    lacking = [f"--{name}" for name in ("task", "model") if name not in asked]
    if lacking:
        raise UsageError(f"--drift needs {' and '.join(lacking)}.", got=f"no {' and no '.join(lacking)}", need="a task and a model")
    from steelyard_old.questions.history.drift import drift

    return drift(**asked)


def write_table(path: Path, asked: dict[str, Any], quiet: bool) -> None:
    """Write the runs that were asked for to a file, and say how many."""
    from steelyard_old.questions.history.export import export_runs

    many = export_runs(path, **asked)
    if not quiet:
        click.echo(f"{many:,} run{'s' if many != 1 else ''} written to {path}", err=True)


def about_run(given: Given) -> dict[str, Any]:
    """What the history asks of a run beside the answer: where its items are in the file, and how it was made."""
    return {"columns": given.keywords(*RUN_KEYWORDS), **given.keywords("protocol", "missing", "range")}


def keep_in_history(result: Any, given: Given, **facts: Any) -> None:
    """Keep an answer that was given already. A history that fails is a warning: the answer and its exit code stay what they are."""
    where = {name: facts.pop(name, given[name]) for name in ("config", "directory")}  # a suite file may name its own
    if given["history"] is None and not configured(where["config"]):
        return
    from steelyard_old.estimate.past.keeping import keep

    for warning in keep(result, history=given["history"], keep_answers=bool(given["keep_answers"]), **where, **facts):
        click.echo(f"warning: {one_line(in_flags(warning, given.context.command))}", err=True)


def refuse_unkept(given: Given) -> None:
    """Before the work: an address that is none, and answers to be kept without a history, named or configured."""
    if given["history"] is not None:
        from steelyard_old.estimate.past_runs import refuse_history

        refuse_history(given["history"])
    if given["keep_answers"] and not configured(given["config"]):
        refuse_nowhere_to_keep(given["history"])


def configured(config: Path | None) -> bool:
    """Whether a configuration names a history: most have none, and then nothing more is loaded."""
    from steelyard_old.reference.config import find_config

    try:
        return find_config(Path.cwd(), config).history is not None
    except SteelyardError:
        return False  # the command itself has said what is wrong with it
