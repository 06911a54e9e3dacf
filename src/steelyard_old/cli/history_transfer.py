"""`steelyard history import` and `history export`: scores of another suite put into the history, past runs handed to others."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard_old.cli.command import INPUT, Given, reading_progress, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.history import EXPORT, IMPORT


@verb_command(IMPORT, "import", short_help="add the scores in logs of an accuracy suite")
@click.argument("logs", nargs=-1, required=True, type=INPUT)
def import_(logs: tuple[str, ...], given: Given) -> None:
    """Add the scores in pytest logs and JUnit files of TensorRT-LLM's accuracy suite to the history.

    Each hypothesis-testing report is judged anew by its own numbers. Its model is the test that printed it; its task is the
    dataset that its evaluator named. Importing a file twice adds nothing. What could not be read is counted and shown.

    Exit code 0: some scores were found, 3: none, or error.

    \b
    Examples:
      steelyard history import nightly.log --history sqlite:///runs.db
      steelyard history import results/*.xml
      steelyard history import gsm8k.log --task gsm8k --model llama-3.1-8b
    """
    from steelyard_old.questions.history.importing import import_runs

    given.answer(import_runs(*logs, **given.keywords()))


@verb_command(EXPORT, "export", short_help="log past runs to MLflow, or write them to a file")
def export_(given: Given) -> None:
    """Log past runs to MLflow, each once: values, intervals, verdicts and the HTML report.

    Exporting again adds only what is new, and finishes an export that was interrupted. With --to FILE, write a .csv or .jsonl file instead.

    \b
    Examples:
      steelyard history export --to mlflow:http://127.0.0.1:5000
      steelyard history export --to mlflow:sqlite:///mlflow.db --experiment nightly --since 2026-11-01
      steelyard history export --to runs.csv --task gsm8k
    """
    to = given["to"]
    if to is None:
        raise UsageError("export needs --to.", got="no --to", need="mlflow:URI or a file", hint="--to mlflow:http://127.0.0.1:5000")
    asked = given.keywords()
    if to.startswith("mlflow:"):
        from steelyard_old.questions.history.export_mlflow import export_to_mlflow

        try:
            with reading_progress(given["quiet"]):
                result = export_to_mlflow(**asked)
        except (KeyboardInterrupt, SystemExit) as stop:
            for note in getattr(stop, "__notes__", ()):
                click.echo(note, err=True)
            raise
        given.answer(result)
        return
    if "experiment" in asked:
        raise UsageError("--experiment is only used with --to mlflow:URI.", got=f"--to {to}", need="mlflow:URI")
    from steelyard_old.cli.history import write_table

    write_table(Path(asked.pop("to")), asked, given["quiet"])
