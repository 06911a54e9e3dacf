"""`steelyard history export`: past runs logged to MLflow, or written to a file."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.command import Given, told_while_reading, verb_command
from steelyard.declared.history import EXPORT
from steelyard.errors import UsageError


@verb_command(EXPORT, "export", short_help="log past runs to MLflow, or write them to a file")
def export_(given: Given) -> None:
    """Log past runs to MLflow, each once: values, intervals, verdicts and the HTML report.

    Exporting again adds only what is new, and completes what broke off. With --to FILE, write a .csv or .jsonl file instead.

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
        from steelyard.questions.history.export_mlflow import export_to_mlflow

        try:
            with told_while_reading(given["quiet"]):
                result = export_to_mlflow(**asked)
        except (KeyboardInterrupt, SystemExit) as stop:
            for note in getattr(stop, "__notes__", ()):
                click.echo(note, err=True)
            raise
        given.answer(result)
        return
    if "experiment" in asked:
        raise UsageError("--experiment is only used with --to mlflow:URI.", got=f"--to {to}", need="mlflow:URI")
    from steelyard.cli.history import write_table

    write_table(Path(asked.pop("to")), asked, given["quiet"])
