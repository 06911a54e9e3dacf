"""`steelyard references`: what is on record, what is wrong with it, how it came about, and changes of it by hand."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import Group
from steelyard.cli.options import answer, common, flags, pairs_given
from steelyard.declared.references import APPROVE, HISTORY, IMPORT, LINT, LIST, REMOVE, RENAME, SHOW


@click.group(cls=Group, short_help="list|show|lint|import|history|remove|rename|approve")
def references() -> None:
    """The references on record: look at them, judge them, change them.

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


@references.command("list", short_help="every reference, with what a bare score is held to")
@click.argument("task", required=False)
@flags(*LIST)
@common
def list_(task: str | None, **options: Any) -> None:
    """Every reference on record, or those of one task: value, items, runs, bare-score threshold, the drop it
    would find, when, by whom. The threshold of a run with items depends on the items that change: its verdict says it.

    \b
    Examples:
      steelyard references list
      steelyard references list gsm8k --format json
    """
    from steelyard.questions.references.listing import list_references

    _answer(list_references(task, **_given(options)), options)


@references.command(short_help="one reference in full, and why it is this one")
@click.argument("task")
@click.argument("model")
@flags(*SHOW)
@common
def show(task: str, model: str, **options: Any) -> None:
    """One reference: its entry, the rule with where each number comes from, what a bare score is held to, the drop
    it would find.

    \b
    Examples:
      steelyard references show gsm8k llama-3.1-8b
      steelyard references show gsm8k llama-3.1-8b --spec quant_algo=FP8 --explain
    """
    from steelyard.questions.references.listing import show_reference

    _answer(show_reference(task, model, **_given(options, "explained")), options)


@references.command(short_help="what is wrong with them?")
@click.argument("task", required=False)
@flags(*LINT)
@common
def lint(task: str | None, **options: Any) -> None:
    """What is wrong with the references: errors, warnings and notes, each with its file and line.

    Rows that shadow one another, values that no k of n can give, placeholders, thresholds at chance or out of range,
    drops too large to be worth a check, missing provenance, ratchets, stale entries, item files that do not fit, texts that
    other YAML readers take for something else, changes that a killed command left unfinished. Of many findings of one kind
    the first are shown and the others counted; --all and --format json have every one.

    Exit code 0: no errors, 1: errors (with --strict: or warnings), 3: the question could not be asked.

    \b
    Examples:
      steelyard references lint
      steelyard references lint gsm8k --strict
    """
    from steelyard.questions.references.lint import lint_references

    result = lint_references(task, **_given(options, "strict", "every"))
    _answer(result, options)
    raise click.exceptions.Exit(result.exit_code)


@references.command("import", short_help="take over the references of another suite")
@click.argument("path", type=click.Path())
@flags(*IMPORT)
@common
def import_(path: str, **options: Any) -> None:
    """Put the references of another suite on record: one file, or all YAML files of a directory.

    Each task file is written whole or not at all, and none is if an entry is in the way. What the suite's code knows of a
    task (metric, direction, alpha, sigma, number of items) is added to [tasks.NAME] of steelyard.toml, which is made if there
    is none; keys that are there are kept. Fields that cannot be imported, and what is not known of a task, are listed.

    \b
    Examples:
      steelyard references import --dialect trtllm tests/integration/defs/accuracy/references
      steelyard references import --dialect vllm .buildkite/lm-eval-harness/configs --directory references
    """
    from steelyard.questions.references.importing import import_references

    _answer(import_references(path, **_given(options, "dialect", "update", "reason")), options)


@references.command(short_help="how did they come about?")
@click.argument("task")
@click.argument("model", required=False)
@flags(*HISTORY)
@common
def history(task: str, model: str | None, **options: Any) -> None:
    """The values over time, with who and why, first to last.

    \b
    Examples:
      steelyard references history gsm8k
      steelyard references history gsm8k llama-3.1-8b --format json
    """
    from steelyard.questions.references.history import reference_history

    given = _given(options)
    _answer(reference_history(task, model, **{**given, "spec": given["spec"] or None}), options)


@references.command(short_help="take one off the record")
@click.argument("task")
@click.argument("model")
@flags(*REMOVE)
@common
def remove(task: str, model: str, **options: Any) -> None:
    """Take a reference off the record, with its item outcomes. The history keeps what it was.

    \b
    Examples:
      steelyard references remove gsm8k old-model --reason "retired"
      steelyard references remove gpqa llama --spec quant_algo=FP8 --line 11 --reason "was there twice"
    """
    from steelyard.questions.references.changes import remove_reference

    _answer(remove_reference(task, model, **_given(options, "reason", "line")), options)


@references.command(short_help="give a model another name")
@click.argument("task")
@click.argument("old")
@click.argument("new")
@flags(*RENAME)
@common
def rename(task: str, old: str, new: str, **options: Any) -> None:
    """Give a model another name in a task's references. Its history follows.

    \b
    Examples:
      steelyard references rename gsm8k llama-8b meta-llama/Llama-3.1-8B-Instruct --reason "the name on the hub"
    """
    from steelyard.questions.references.changes import rename_reference

    _answer(rename_reference(task, old, new, **_given(options, "reason")), options)


@references.command(short_help="say that somebody stands for it")
@click.argument("task")
@click.argument("model")
@flags(*APPROVE)
@common
def approve(task: str, model: str, **options: Any) -> None:
    """Mark a reference as looked at and approved, with the time and your name. A later update takes the mark back.

    \b
    Examples:
      steelyard references approve gsm8k llama-3.1-8b --reason "five runs, checked by hand"
    """
    from steelyard.questions.references.changes import approve_reference

    _answer(approve_reference(task, model, **_given(options, "reason")), options)
