"""`steelyard record`: put a run on record as the reference."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import INPUT, command
from steelyard.cli.history import history_option, keep_in_history
from steelyard.cli.options import answer, common, judged_columns, log_parts, pairs_given, run_source_given


@command(short_help="put a run on record as the reference (several sources: several runs)")
@click.argument("sources", type=INPUT, nargs=-1, required=True, metavar="SOURCE...")
@click.option("--task", required=True, metavar="NAME", help="The task: references go to DIRECTORY/NAME.yaml.")
@click.option("--model", required=True, metavar="NAME", help="The model's name there.")
@click.option("--spec", multiple=True, metavar="KEY=VALUE", help="What justifies another accuracy, such as quant_algo=FP8. Repeatable.")
@click.option("--directory", type=click.Path(file_okay=False), help="Where the references are.  [default: references]")
@click.option("--update", is_flag=True, help="Replace an entry that is there; the history keeps a line.")
@click.option("--reason", metavar="TEXT", help="Why this value is right; kept with the entry and in the history.")
@click.option("--protocol", multiple=True, metavar="KEY=VALUE", help="How the run was made: prompt, decoding, scorer. Repeatable.")
@click.option("--metric", metavar="NAME", help="What is recorded.  [default: accuracy for right or wrong, mean for scores]")
@click.option("--positive", metavar="LABEL", help="The class that f1, precision, recall are about.")
@click.option("--scale", type=click.Choice(["percent", "fraction", "raw"]), help="Of the value.  [default: fraction for scores in 0..1]")
@click.option("--theta", type=float, help="The drop that matters, written into the entry.")
@click.option("--margin", type=float, help="The drop that is tolerated, written into the entry.")
@click.option("--alpha", type=float, help="False alarms, written into the entry.")
@click.option("--beta", type=float, help="Misses, written into the entry.")
@click.option("--sigma", type=float, help="Standard deviation of one item's score, written into the entry.")
@click.option("--deterministic", is_flag=True, help="The model answers the same every time: one run is enough.")
@click.option("--ids", type=click.Choice(["kept", "hashed"]), help="Store ids as they are, or only their hashes.  [default: kept]")
@click.option("--no-items", is_flag=True, help="Store the value alone: the next check is then the weaker, unpaired one.")
@click.option(
    "--missing", type=click.Choice(["error", "wrong", "drop"]), default="error", show_default=True, help="Items without an answer."
)
@click.option("--config", type=click.Path(dir_okay=False), help="A steelyard.toml.  [default: the nearest upward]")
@history_option
@judged_columns
@log_parts
@common
def record(sources: tuple[str, ...], **options: Any) -> None:
    """Put one or several runs of a model on record as the reference of a task.

    Several sources are several runs: they are pooled, never the best of them. What is there already is replaced only
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
