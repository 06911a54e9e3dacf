"""`steelyard measure`: how good is it, and how sure are we?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.atomic import write_text
from steelyard.cli.command import (
    INPUT,
    MEASURE_FORMATS,
    RECORD_FORMAT,
    answer,
    command,
    common_with,
    flags,
    fraction,
    memory_given,
    pairs_given,
    seed_of,
    source_given,
    split,
    told_while_reading,
)
from steelyard.declared.measure import OPTIONS
from steelyard.errors import UsageError
from steelyard.outputs import refuse_overwriting


@command(short_help="how good is it, and how sure are we?")
@click.argument("source", type=INPUT, required=False)
@flags(*OPTIONS)
@common_with(MEASURE_FORMATS)
def measure(source: str | None, **options: Any) -> None:
    """How good is a model, and how sure are we?

    SOURCE is a CSV, TSV, JSON Lines, JSON, Parquet or Arrow file (also .gz, .zst), a directory, a glob, or - for
    standard input, with one row per item. Columns are found by name (truth, prediction, score, ...) or given. Or it is a
    log: samples or output directory of lm-evaluation-harness, .eval of Inspect, results of promptfoo and others.

    \b
    Examples:
      steelyard measure preds.csv
      steelyard measure preds.csv --metric f1 --positive cat
      steelyard measure preds.parquet --by subject --format json
      steelyard measure --counts 38/40 --side lower
      steelyard measure --tp 31 --fp 5 --fn 2 --metric f1 --interval bayes
      steelyard measure asr.csv --ratio errors/words
      steelyard measure out/my-model --task gsm8k --filter strict-match
      steelyard measure --engine spark --master spark://host:7077 's3a://bucket/run/*.parquet'
      steelyard measure run.eval --format every-eval-ever -o run.json --about organization=Lab
    """
    data = _data(source, options)
    if options["format_"] == RECORD_FORMAT:
        _write_record(data, options)
        return
    if options["about"]:
        raise UsageError("cannot use --about", got=f"--format {options['format_'] or 'text'}", need=f"--format {RECORD_FORMAT}")
    from steelyard.questions.measure.measure import measure as ask

    with told_while_reading(options["quiet"]):
        result = ask(data, **_asked(options))
    shown: dict[str, Any] = {"details": True} if options["details"] else {}
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"], **shown)


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    """What `sy.measure` is given besides the data."""
    return dict(
        metric=split(options["metric"]) or None,
        positive=options["positive"],
        labels=split((options["labels"],)) if options["labels"] is not None else None,
        by=split(options["by"]) or None,
        interval=options["interval"],
        confidence_level=options["confidence_level"],
        side=options["side"],
        draws=options["draws"],
        seed=seed_of(options["seed"]),
        prior=options["prior"],
        range=options["range"] or None,
        absent=options["absent"],
        missing=options["missing"],
        **source_given(options),
        memory=memory_given(options),
    )


def _write_record(data: Any, options: dict[str, Any]) -> None:
    """The aggregate and the items beside it as two files, or the aggregate alone on standard output."""
    import time

    from steelyard.questions.report.every_eval_ever import every_eval_ever
    from steelyard.read.engines.memory import working

    if len(options["output"]) > 1:
        raise UsageError(f"cannot write several files as {RECORD_FORMAT}", got=f"{len(options['output'])} outputs", need="one")
    output: Path | None = options["output"][0] if options["output"] else None
    if output is not None and output.suffix != ".json":
        raise UsageError(
            "cannot name the files of the record", got=str(output), need="-o NAME.json", hint="the items go to NAME_samples.jsonl"
        )
    if output is not None:
        refuse_overwriting({"-o": [output.with_name(f"{output.stem}_samples.jsonl")]}, [data])
    about = {"retrieved": str(int(time.time()))} | pairs_given(options["about"], "--about")
    asked = _asked(options)
    with working(memory=asked.pop("memory")):
        files = every_eval_ever(data, about=about, items=output is not None, **asked)
    if output is None:
        click.echo("".join(files.values()), nl=False)
        return
    places = [output, output.with_name(f"{output.stem}_samples.jsonl")][: len(files)]
    for place, text in reversed([*zip(places, files.values(), strict=True)]):  # a record never points at items that are not there
        write_text(place, text)
    if not options["quiet"]:
        click.echo(f"written to {' and '.join(map(str, places))}; in the datastore: {next(iter(files))}", err=True)


def _data(source: str | None, options: dict[str, Any]) -> Any:
    """The one source of data that was given."""
    cells = {name: options[name] for name in ("tp", "fp", "fn", "tn") if options[name] is not None}
    given = [
        name
        for name, there in (("SOURCE", source is not None), ("--counts", options["counts"] is not None), ("--tp/--fp/--fn", bool(cells)))
        if there
    ]
    if len(given) != 1:
        raise UsageError(
            "cannot tell what to measure",
            got=" and ".join(given) if given else "no data",
            need="exactly one of SOURCE, --counts K/N, or --tp --fp --fn",
            hint="steelyard measure --help",
        )
    if source is not None:
        return source
    from steelyard.tally.counts import Counts

    if cells:
        missing = [f"--{name}" for name in ("tp", "fp", "fn") if name not in cells]
        if missing:
            raise UsageError(
                "cannot build the table", got=" ".join(f"--{n} {v}" for n, v in cells.items()), need=f"{' and '.join(missing)} as well"
            )
        return Counts.binary(**cells)
    return Counts.of(*fraction(options["counts"]))
