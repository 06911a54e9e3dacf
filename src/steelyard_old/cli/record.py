"""`steelyard record`: put a run on record as the reference."""

from __future__ import annotations

import click

from steelyard_old.cli.command import INPUT, LOGS, Given, verb_command
from steelyard_old.cli.history import about_run, keep_in_history, refuse_unkept
from steelyard_old.options.record import OPTIONS


@verb_command(OPTIONS, catalogues=(LOGS,))
@click.argument("sources", type=INPUT, nargs=-1, required=True, metavar="SOURCE...")
def record(sources: tuple[str, ...], given: Given) -> None:
    """Record one or several runs of a model as the reference for a task.

    Several sources are several runs: they are pooled, the best one is not picked. An existing reference is replaced only
    with --update.

    \b
    Examples:
      steelyard record run.jsonl --task gsm8k --model llama-3.1-8b
      steelyard record run1.jsonl run2.jsonl run3.jsonl run4.jsonl run5.jsonl --task gsm8k --model llama-3.1-8b
      steelyard record run.jsonl --task gsm8k --model llama-3.1-8b --by language
      steelyard record fp8.jsonl --task gsm8k --model llama-3.1-8b --spec quant_algo=FP8 --reason "first FP8 build"
      steelyard record run.jsonl --task gsm8k --model llama-3.1-8b --update --reason "new tokenizer"
      steelyard record drafts.csv --task drafts --model llama-3.1-8b --metric acceptance_rate --ratio accepted/drafted
    """
    from steelyard_old.questions.record.record import record as ask

    refuse_unkept(given)
    result = ask(*sources, **given.keywords())
    given.answer(result)
    keep_in_history(result, given, sources=sources, **about_run(given))
