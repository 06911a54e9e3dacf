"""`steelyard references`: what is on record, what is wrong with it, how it came about, and changes of it by hand."""

from __future__ import annotations

import click

from steelyard_old.cli.command import REFERENCE_KEYS, Given, Group, verb_command
from steelyard_old.options.references import APPROVE, HISTORY, IMPORT, LINT, LIST, REMOVE, RENAME, SHOW


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


@verb_command(LIST, "list", short_help="list the references, with the bare-score threshold", group=references)
@click.argument("task", required=False)
def list_(task: str | None, given: Given) -> None:
    """List all references, or those of one task: value, items, runs, bare-score threshold, detectable drop, when and by whom
    it was recorded. The threshold of a run with items depends on which items change; its verdict reports it.

    \b
    Examples:
      steelyard references list
      steelyard references list gsm8k --format json
    """
    from steelyard_old.questions.references.listing import list_references

    given.answer(list_references(task, **given.keywords()))


@verb_command(SHOW, short_help="show one reference in full, and why it was chosen", group=references)
@click.argument("task")
@click.argument("model")
def show(task: str, model: str, given: Given) -> None:
    """Show one reference: its entry, the rule and where each number comes from, the bare-score threshold and the drop it can
    detect.

    \b
    Examples:
      steelyard references show gsm8k llama-3.1-8b
      steelyard references show gsm8k llama-3.1-8b --spec quant_algo=FP8 --explain
    """
    from steelyard_old.questions.references.listing import show_reference

    given.answer(show_reference(task, model, **given.keywords()))


@verb_command(LINT, short_help="find mistakes in the references", group=references, catalogues=(REFERENCE_KEYS,))
@click.argument("task", required=False)
def lint(task: str | None, given: Given) -> None:
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
    from steelyard_old.questions.references.lint import lint_references

    result = lint_references(task, **given.keywords())
    given.answer(result)
    given.leave(result)


@verb_command(IMPORT, "import", short_help="import the references of another suite", group=references)
@click.argument("path", type=click.Path())
def import_(path: str, given: Given) -> None:
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
    from steelyard_old.questions.references.importing import import_references

    given.answer(import_references(path, **given.keywords()))


@verb_command(HISTORY, short_help="show who changed each reference, when and why", group=references)
@click.argument("task")
@click.argument("model", required=False)
def history(task: str, model: str | None, given: Given) -> None:
    """Show how each reference changed, oldest first: value, when, who and why.

    \b
    Examples:
      steelyard references history gsm8k
      steelyard references history gsm8k llama-3.1-8b --format json
    """
    from steelyard_old.questions.references.history import reference_history

    given.answer(reference_history(task, model, **given.keywords()))


@verb_command(REMOVE, short_help="remove a reference", group=references)
@click.argument("task")
@click.argument("model")
def remove(task: str, model: str, given: Given) -> None:
    """Remove a reference and its item outcomes. The history keeps the old value.

    \b
    Examples:
      steelyard references remove gsm8k old-model --reason "retired"
      steelyard references remove gpqa llama --spec quant_algo=FP8 --line 11 --reason "was there twice"
    """
    from steelyard_old.questions.references.changes import remove_reference

    given.answer(remove_reference(task, model, **given.keywords()))


@verb_command(RENAME, short_help="rename a model", group=references)
@click.argument("task")
@click.argument("old")
@click.argument("new")
def rename(task: str, old: str, new: str, given: Given) -> None:
    """Rename a model in a task's references. Its history moves with it.

    \b
    Examples:
      steelyard references rename gsm8k llama-8b meta-llama/Llama-3.1-8B-Instruct --reason "the name on the hub"
    """
    from steelyard_old.questions.references.changes import rename_reference

    given.answer(rename_reference(task, old, new, **given.keywords()))


@verb_command(APPROVE, short_help="mark a reference as reviewed and approved", group=references)
@click.argument("task")
@click.argument("model")
def approve(task: str, model: str, given: Given) -> None:
    """Mark a reference as reviewed and approved, with the time and your name. A later update removes the mark.

    \b
    Examples:
      steelyard references approve gsm8k llama-3.1-8b --reason "five runs, checked by hand"
    """
    from steelyard_old.questions.references.changes import approve_reference

    given.answer(approve_reference(task, model, **given.keywords()))
