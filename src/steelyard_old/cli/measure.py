"""`steelyard measure`: how good is it, and how sure are we?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard_old.atomic import write_text
from steelyard_old.cli.command import INPUT, LOGS, RECORD_FORMAT, Given, fraction, pairs_given, reading_progress, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.measure import OPTIONS
from steelyard_old.outputs import refuse_overwriting


@verb_command(OPTIONS, beside=(RECORD_FORMAT,), catalogues=(LOGS,))
@click.argument("source", type=INPUT, required=False)
def measure(source: str | None, given: Given) -> None:
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
      steelyard measure --counts 178/200 --at-least .85
      steelyard measure asr.csv --ratio errors/words
      steelyard measure out/my-model --task gsm8k --filter strict-match
      steelyard measure --engine spark --master spark://host:7077 's3a://bucket/run/*.parquet'
      steelyard measure run.eval --format every-eval-ever -o run.json --about organization=Lab
    """
    data = _data(source, given)
    if given["format_"] == RECORD_FORMAT:
        _write_record(data, given)
        return
    if given["about"]:
        raise UsageError(
            f"--about is only used with --format {RECORD_FORMAT}, not with --format {given['format_'] or 'text'}.",
            got=f"--format {given['format_'] or 'text'}",
            need=f"--format {RECORD_FORMAT}",
        )
    from steelyard_old.questions.measure.measure import measure as ask

    with reading_progress(given["quiet"]):
        result = ask(data, **given.keywords())
    given.answer(result, **({"details": True} if given["details"] else {}))


def _write_record(data: Any, given: Given) -> None:
    """The aggregate and the items beside it as two files, or the aggregate alone on standard output."""
    import time

    from steelyard_old.questions.report.every_eval_ever import every_eval_ever
    from steelyard_old.read.engines.memory import working

    if len(given["output"]) > 1:
        raise UsageError(
            f"--format {RECORD_FORMAT} writes one file, got {len(given['output'])} outputs.",
            got=f"{len(given['output'])} outputs",
            need="one",
        )
    output: Path | None = given["output"][0] if given["output"] else None
    if output is not None and output.suffix != ".json":
        raise UsageError(
            f"Give a file NAME.json with -o, not {str(output)!r}: the record and its items are named after it.",
            need="-o NAME.json",
            hint="the items go to NAME_samples.jsonl",
        )
    if output is not None:
        refuse_overwriting({"-o": [output.with_name(f"{output.stem}_samples.jsonl")]}, [data])
    about = {"retrieved": str(int(time.time()))} | pairs_given(given["about"], "--about")
    asked = given.keywords()
    with working(memory=asked.pop("memory", None)):
        files = every_eval_ever(data, about=about, items=output is not None, **asked)
    if output is None:
        click.echo("".join(files.values()), nl=False)
        return
    places = [output, output.with_name(f"{output.stem}_samples.jsonl")][: len(files)]
    for place, text in reversed([*zip(places, files.values(), strict=True)]):  # a record never points at items that are not there
        write_text(place, text)
    if not given["quiet"]:
        click.echo(f"written to {' and '.join(map(str, places))}; in the datastore: {next(iter(files))}", err=True)


def _data(source: str | None, given: Given) -> Any:
    """The one source of data that was given."""
    cells = {name: given[name] for name in ("tp", "fp", "fn", "tn") if given[name] is not None}
    ways = (("SOURCE", source is not None), ("--counts", given["counts"] is not None), ("--tp/--fp/--fn", bool(cells)))
    named = [name for name, there in ways if there]
    if len(named) != 1:
        raise UsageError(
            "Nothing to measure: give SOURCE, --counts K/N, or --tp --fp --fn."
            if not named
            else f"Give one kind of data to measure, not {' and '.join(named)}.",
            got=" and ".join(named) if named else "no data",
            need="exactly one of SOURCE, --counts K/N, or --tp --fp --fn",
            hint="steelyard measure --help",
        )
    if source is not None:
        return source
    from steelyard_old.tally.counts import Counts

    if cells:
        missing = [f"--{name}" for name in ("tp", "fp", "fn") if name not in cells]
        if missing:
            raise UsageError(
                f"The table also needs {' and '.join(missing)}; got {' '.join(f'--{n} {v}' for n, v in cells.items())}.",
                got=" ".join(f"--{n} {v}" for n, v in cells.items()),
                need=f"{' and '.join(missing)} as well",
            )
        return Counts.binary(**cells)
    return Counts.of(*fraction(given["counts"]))
