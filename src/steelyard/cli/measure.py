"""`steelyard measure`: how good is it, and how sure are we?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import answer, common, split
from steelyard.errors import UsageError


@click.command(short_help="how good is it, and how sure are we?")
@click.argument("source", required=False)
@click.option("--counts", metavar="K/N", help="Bare counts instead of a source: 85/100 is 85 right of 100.")
@click.option("--tp", type=click.IntRange(min=0), help="True positives, with --fp and --fn, instead of a source.")
@click.option("--fp", type=click.IntRange(min=0), help="False positives.")
@click.option("--fn", type=click.IntRange(min=0), help="False negatives.")
@click.option("--tn", type=click.IntRange(min=0), help="True negatives, for metrics that need them.")
@click.option(
    "--metric",
    multiple=True,
    metavar="NAME",
    help="What to measure: accuracy, macro_f1, each_recall, fbeta:2, mcc, mean, auc, pass@5 ... Repeat or join by commas."
    "  [default: by what the source holds]",
)
@click.option("--positive", metavar="LABEL", help="The class that f1, precision, recall, auc are about.")
@click.option("--labels", metavar="A,B,C", help="The classes and their order; other predictions count as wrong.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Also one measurement per value of this column.")
@click.option("--id", "id_", metavar="COLUMN", help="Column that names the item.")
@click.option("--truth", metavar="COLUMN", help="Column with the right answer.")
@click.option("--prediction", metavar="COLUMN", help="Column with the model's answer.")
@click.option("--score", metavar="COLUMN", help="Column with a number per item; 0 and 1 are wrong and right.")
@click.option("--probability", metavar="COLUMN", help="Column with the probability of the positive class.")
@click.option("--group", metavar="COLUMN", help="Column of items that belong together; 'none' ignores a column found by name.")
@click.option("--repeat", metavar="COLUMN", help="Column that numbers the runs of the same item.")
@click.option("--weight", metavar="COLUMN", help="Column of weights; whole numbers are counts of equal items.")
@click.option("--model-column", metavar="COLUMN", help="Column that names the model.")
@click.option("--ratio", metavar="ABOVE/BELOW", help="Two columns of sums: the metric is sum(ABOVE)/sum(BELOW), as in errors/words.")
@click.option("--range", "range_", nargs=2, type=float, metavar="LO HI", help="The range of the scores.  [default: 0 1 if all lie in it]")
@click.option(
    "--interval",
    metavar="METHOD",
    help="wilson, clopper-pearson, jeffreys, mid-p, agresti-coull, wald, bayes, bca, percentile, delta, t, studentized, "
    "wilson-mean, betting, delong.  [default: the best for each metric]",
)
@click.option("--confidence-level", type=float, default=0.95, show_default=True, help="Of the interval, between 0 and 1.")
@click.option(
    "--side", type=click.Choice(["two", "lower", "upper"]), default="two", show_default=True, help="A two-sided interval, or one bound."
)
@click.option("--draws", type=int, default=10_000, show_default=True, help="Resamples of a bootstrap.")
@click.option("--seed", default="0", show_default=True, metavar="INT", help="Of everything random; 'none' draws one and prints it.")
@click.option("--prior", type=float, default=0.5, show_default=True, help="Pseudo-counts of a Bayesian interval: 0.5 Jeffreys, 1 uniform.")
@click.option(
    "--absent",
    type=click.Choice(["skip", "zero"]),
    help="A class without cases in a macro average: leave it out, or count it as 0.  [default: the average is null]",
)
@click.option(
    "--missing", type=click.Choice(["error", "wrong", "drop"]), default="error", show_default=True, help="Items without an answer."
)
@common
def measure(source: str | None, **options: Any) -> None:
    """How good is a model, and how sure are we?

    SOURCE is a CSV, TSV, JSON Lines, JSON, Parquet or Arrow file (also .gz, .zst), a directory, a glob, or - for
    standard input, with one row per item. Columns are found by name (truth, prediction, score, ...) or given.

    \b
    Examples:
      steelyard measure preds.csv
      steelyard measure preds.csv --metric f1 --positive cat
      steelyard measure preds.parquet --by subject --format json
      steelyard measure --counts 38/40 --side lower
      steelyard measure --tp 31 --fp 5 --fn 2 --metric f1 --interval bayes
      steelyard measure asr.csv --ratio errors/words
    """
    from steelyard.questions.measure import measure as ask

    wanted = split(options["metric"])
    result = ask(
        _data(source, options),
        metric=wanted or None,
        positive=options["positive"],
        labels=split((options["labels"],)) if options["labels"] is not None else None,
        by=split(options["by"]) or None,
        interval=options["interval"],
        confidence_level=options["confidence_level"],
        side=options["side"],
        draws=options["draws"],
        seed=_seed(options["seed"]),
        prior=options["prior"],
        range=options["range_"] or None,
        absent=options["absent"],
        missing=options["missing"],
        ratio=options["ratio"],
        **_columns(options),
    )
    output: Path | None = options["output"]
    answer(result, format_=options["format_"], output=output, no_color=options["no_color"], quiet=options["quiet"])


def _columns(options: dict[str, Any]) -> dict[str, str]:
    """Only the columns that were given, so that counts are not mistaken for counts with columns."""
    named = {
        "id": "id_",
        "model": "model_column",
        **{r: r for r in ("truth", "prediction", "score", "probability", "group", "repeat", "weight")},
    }
    return {role: options[key] for role, key in named.items() if options[key] is not None}


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
    return Counts.of(*_fraction(options["counts"]))


def _fraction(text: str) -> tuple[int, int]:
    k, slash, n = text.partition("/")
    if not slash or not k.strip().isdecimal() or not n.strip().isdecimal():
        raise UsageError("cannot read --counts", got=repr(text), need="K/N, two whole numbers", hint="85/100 is 85 right of 100")
    return int(k), int(n)


def _seed(text: str) -> int | None:
    if text.lower() == "none":
        return None
    if not text.isdecimal():
        raise UsageError("cannot use the seed", got=repr(text), need="a whole number of 0 or more, or none")
    return int(text)
