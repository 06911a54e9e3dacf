"""`steelyard references`: what is on record, what is wrong with it, how it came about, and changes of it by hand."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import Group, answer, common, flags, pairs_given
from steelyard.declared.references import APPROVE, HISTORY, IMPORT, LINT, LIST, REMOVE, RENAME, SHOW


@click.group(cls=Group, short_help="list, show, lint, import, history, remove, rename, approve")
def references() -> None:
    """Show, check and change the recorded references.

    \b
    Examples:
      steelyard references list
      steelyard references show gsm8k llama-3.1-8b --spec quant_algo=FP8
      steelyard references lint --strict
      steelyard references history gsm8k llama-3.1-8b
      steelyard references import --dialect trtllm path/to/accuracy/references
    """


def _given(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """The options of the question, without those of the answer."""
    given = {name: options[name] for name in (*names, "directory", "config")}
    return {**given, "spec": pairs_given(options["spec"], "--spec")} if "spec" in options else given


def _answer(result: Any, options: dict[str, Any]) -> None:
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])


@references.command("list", short_help="list the references, with the bare-score threshold")
@click.argument("task", required=False)
@flags(*LIST)
@common
def list_(task: str | None, **options: Any) -> None:
    """List all references, or those of one task: value, items, runs, bare-score threshold, detectable drop, when and by whom
    it was recorded. The threshold of a run with items depends on which items change; its verdict reports it.

    \b
    Examples:
      steelyard references list
      steelyard references list gsm8k --format json
    """
    from steelyard.questions.references.listing import list_references

    _answer(list_references(task, **_given(options)), options)


@references.command(short_help="show one reference in full, and why it was chosen")
@click.argument("task")
@click.argument("model")
@flags(*SHOW)
@common
def show(task: str, model: str, **options: Any) -> None:
    """Show one reference: its entry, the rule and where each number comes from, the bare-score threshold and the drop it can
    detect.

    \b
    Examples:
      steelyard references show gsm8k llama-3.1-8b
      steelyard references show gsm8k llama-3.1-8b --spec quant_algo=FP8 --explain
    """
    from steelyard.questions.references.listing import show_reference

    _answer(show_reference(task, model, **_given(options, "explained")), options)


@references.command(short_help="find mistakes in the references")
@click.argument("task", required=False)
@flags(*LINT)
@common
def lint(task: str | None, **options: Any) -> None:
    """Find mistakes in the references: errors, warnings and notes, each with its file and line.

    Looks for entries that shadow one another, values that are not a multiple of 1/n, placeholders, thresholds at chance or
    out of range, detectable drops too large to be useful, missing provenance, references that only move one way, stale entries,
    item files that do not match, texts that other YAML readers would misread, changes that a killed command left unfinished.
    If there are many findings of one kind, the first are shown and the others counted; --all and --format json list them all.

    Exit code 0: no errors, 1: errors (with --strict also warnings), 3: error (bad input or missing reference).

    \b
    Examples:
      steelyard references lint
      steelyard references lint gsm8k --strict
    """
    from steelyard.questions.references.lint import lint_references

    result = lint_references(task, **_given(options, "strict", "every"))
    _answer(result, options)
    raise click.exceptions.Exit(result.exit_code)


@references.command("import", short_help="import the references of another suite")
@click.argument("path", type=click.Path())
@flags(*IMPORT)
@common
def import_(path: str, **options: Any) -> None:
    """Import the references of another suite: one file, or all YAML files of a directory.

    Each task file is written completely or not at all, and nothing is written if an entry conflicts with an existing one.
    What the suite's code defines for a task (metric, direction, alpha, sigma, number of items) is added to [tasks.NAME] in
    steelyard.toml; the file is created if needed, and existing keys are kept. Fields that cannot be imported, and what is
    unknown about a task, are listed.

    \b
    Examples:
      steelyard references import --dialect trtllm tests/integration/defs/accuracy/references
      steelyard references import --dialect vllm .buildkite/lm-eval-harness/configs --directory references
    """
    from steelyard.questions.references.importing import import_references

    _answer(import_references(path, **_given(options, "dialect", "update", "reason")), options)


@references.command(short_help="show who changed each reference, when and why")
@click.argument("task")
@click.argument("model", required=False)
@flags(*HISTORY)
@common
def history(task: str, model: str | None, **options: Any) -> None:
    """Show how each reference changed, oldest first: value, when, who and why.

    \b
    Examples:
      steelyard references history gsm8k
      steelyard references history gsm8k llama-3.1-8b --format json
    """
    from steelyard.questions.references.history import reference_history

    given = _given(options)
    _answer(reference_history(task, model, **{**given, "spec": given["spec"] or None}), options)


@references.command(short_help="remove a reference")
@click.argument("task")
@click.argument("model")
@flags(*REMOVE)
@common
def remove(task: str, model: str, **options: Any) -> None:
    """Remove a reference and its item outcomes. The history keeps the old value.

    \b
    Examples:
      steelyard references remove gsm8k old-model --reason "retired"
      steelyard references remove gpqa llama --spec quant_algo=FP8 --line 11 --reason "was there twice"
    """
    from steelyard.questions.references.changes import remove_reference

    _answer(remove_reference(task, model, **_given(options, "reason", "line")), options)


@references.command(short_help="rename a model")
@click.argument("task")
@click.argument("old")
@click.argument("new")
@flags(*RENAME)
@common
def rename(task: str, old: str, new: str, **options: Any) -> None:
    """Rename a model in a task's references. Its history moves with it.

    \b
    Examples:
      steelyard references rename gsm8k llama-8b meta-llama/Llama-3.1-8B-Instruct --reason "the name on the hub"
    """
    from steelyard.questions.references.changes import rename_reference

    _answer(rename_reference(task, old, new, **_given(options, "reason")), options)


@references.command(short_help="mark a reference as reviewed and approved")
@click.argument("task")
@click.argument("model")
@flags(*APPROVE)
@common
def approve(task: str, model: str, **options: Any) -> None:
    """Mark a reference as reviewed and approved, with the time and your name. A later update removes the mark.

    \b
    Examples:
      steelyard references approve gsm8k llama-3.1-8b --reason "five runs, checked by hand"
    """
    from steelyard.questions.references.changes import approve_reference

    _answer(approve_reference(task, model, **_given(options, "reason")), options)
