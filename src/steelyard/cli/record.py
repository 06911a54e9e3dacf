"""`steelyard record`: put a run on record as the reference."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import INPUT, answer, command, common, flags, pairs_given, run_source_given
from steelyard.cli.history import keep_in_history
from steelyard.declared.record import OPTIONS


@command(short_help="store a run as the reference (or pool several runs)")
@click.argument("sources", type=INPUT, nargs=-1, required=True, metavar="SOURCE...")
@flags(*OPTIONS)
@common
def record(sources: tuple[str, ...], **options: Any) -> None:
    """Record one or several runs of a model as the reference for a task.

    Several sources are several runs: they are pooled, the best one is not picked. An existing reference is replaced only
    with --update.

    \b
    Examples:
      steelyard record run.jsonl --task gsm8k --model llama-3.1-8b
      steelyard record run1.jsonl run2.jsonl run3.jsonl run4.jsonl run5.jsonl --task gsm8k --model llama-3.1-8b
      steelyard record fp8.jsonl --task gsm8k --model llama-3.1-8b --spec quant_algo=FP8 --reason "first FP8 build"
      steelyard record run.jsonl --task gsm8k --model llama-3.1-8b --update --reason "new tokenizer"
    """
    from steelyard.questions.record.record import record as ask

    result = ask(
        *sources,
        spec=pairs_given(options["spec"], "--spec"),
        protocol=pairs_given(options["protocol"], "--protocol") or None,
        items=not options["no_items"],
        **{name: options[name] for name in ("task", "model", "directory", "update", "reason", "metric", "positive", "scale")},
        **{name: options[name] for name in ("theta", "margin", "alpha", "beta", "sigma", "deterministic", "ids", "missing", "config")},
        **run_source_given(options),
    )
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])
    kept = {"sources": sources, "columns": run_source_given(options)}
    keep_in_history(result, options, **kept, protocol=pairs_given(options["protocol"], "--protocol"))
