"""`steelyard plan train`: how many training items to reach a target? From the points of a learning curve, or measured now."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import INPUT, command
from steelyard.cli.options import PLAN_FORMATS, answer, common_with, seed_of, split
from steelyard.errors import UsageError

FITTING = ("truth", "features", "group", "metric", "positive", "sizes", "repeats", "test_size", "workers")
READING = ("size", "score", "seed_column", "n_test")


@command(short_help="how many training items to reach a target?")
@click.argument("curve", type=INPUT, required=False, metavar="[CURVE]")
@click.option("--target", type=float, required=True, help="The score to be reached, such as .9; between 0 and 1 unless lower is better.")
@click.option("--size", metavar="COLUMN", help="Column with the training size.  [default: size, n, train_size, n_train, training_size]")
@click.option("--score", metavar="COLUMN", help="Column with the score.  [default: score, accuracy, f1, value, test_score]")
@click.option(
    "--seed-column",
    metavar="COLUMN",
    help="Column that says which points are one curve; 'none': nothing does.  [default: seed, repeat, run, fold, trial]",
)
@click.option("--n-test", metavar="COLUMN", help="Column with the number of test items, or one number for all points; 'none' ignores it.")
@click.option("--lower-is-better", is_flag=True, help="The score is an error or a loss, 0 at best.")
@click.option("--learner", type=INPUT, metavar="PKG.MOD:NAME", help="Measure the curve of this learner first, on --data.")
@click.option("--data", type=INPUT, metavar="SOURCE", help="With --learner: table with one row per item, or - for standard input.")
@click.option("--truth", metavar="COLUMN", help="With --learner: column to be learned.")
@click.option("--features", multiple=True, metavar="COLUMN", help="With --learner: columns to learn from.  [default: all others]")
@click.option("--group", metavar="COLUMN", help="With --learner: items that belong together. 'none': no groups.")
@click.option(
    "--metric", metavar="NAME", help="With --learner: accuracy, macro_f1, auc ...; mae, rmse, r2 for numbers.  [default: accuracy]"
)
@click.option("--positive", metavar="LABEL", help="With --learner: the class that f1, precision, recall, auc are about.")
@click.option(
    "--sizes", multiple=True, metavar="N", help="With --learner: training sizes, repeated or joined by commas.  [default: 8 of them]"
)
@click.option("--repeats", type=int, help="With --learner: seeds, each with its own test rows.  [default: 5]")
@click.option("--test-size", type=float, help="With --learner: share to test on.  [default: 0.25]")
@click.option("--workers", type=int, help="With --learner: fits at a time (needs joblib); -1: one per core.  [default: 1]")
@click.option("--confidence-level", type=float, default=0.95, show_default=True, help="Of the interval, between 0 and 1.")
@click.option("--draws", type=int, default=2000, show_default=True, help="Redrawn curves behind the interval.")
@click.option("--seed", default="0", show_default=True, metavar="INT", help="Of everything random; 'none' draws one and prints it.")
@common_with(PLAN_FORMATS)
def train(curve: str | None, **options: Any) -> None:
    """How many training items reach the target?

    CURVE is a table of training sizes and scores, one row per fit: at least 5 sizes, best with 5 seeds or more. The curve
    error = a + b n^-c is fitted, and read off where it reaches the target, with an interval.

    \b
    Examples:
      steelyard plan train curve.csv --target .9
      steelyard plan train runs.jsonl --target .35 --score val_loss --lower-is-better
      steelyard plan train --learner sklearn.svm:SVC --data digits.csv --truth digit --target .98 --sizes 50,100,200,400,800
    """
    from steelyard.questions.plan.train import plan_train

    given = _curve_of(curve, options)
    result = plan_train(
        given,
        target=options["target"],
        higher_is_better=None if given is not curve else not options["lower_is_better"],
        confidence_level=options["confidence_level"],
        draws=options["draws"],
        seed=seed_of(options["seed"]),
        **{name: options[name] for name in READING},
    )
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])


def _curve_of(curve: str | None, options: dict[str, Any]) -> Any:
    """The source as it was named, or the curve of the learner; one of the two, with the options that belong to it."""
    if (curve is None) == (options["learner"] is None):
        raise UsageError(
            "cannot plan the training data",
            got="a curve and a learner" if curve is not None else "neither a curve nor a learner",
            need="one of them",
            hint="steelyard plan train curve.csv --target .9",
        )
    foreign = (*FITTING, "data") if curve is not None else (*READING, "lower_is_better")
    if stray := [name for name in foreign if options[name] not in (None, (), False)]:
        word, with_ = f"--{stray[0].replace('_', '-')}", "a curve" if curve is not None else "--learner"
        raise UsageError(f"cannot use {word} with {with_}", got=word, need="options that belong together", hint="leave it out")
    return curve if curve is not None else _measured(options)


def _measured(options: dict[str, Any]) -> Any:
    from steelyard.cli.learners import load_learner, progress_bar, read_table
    from steelyard.metrics.catalogue import parse
    from steelyard.questions.learners.learning_curve import learning_curve

    if missing := [f"--{name}" for name in ("data", "truth") if options[name] is None]:
        raise UsageError("cannot measure a learning curve", got=f"no {' and no '.join(missing)}", need="--learner, --data and --truth")
    learner = load_learner(options["learner"])
    chosen = {name: options[name] for name in ("metric", "positive", "repeats", "test_size", "workers") if options[name] is not None}
    numeric = parse(chosen.get("metric", "accuracy")).facts.numeric
    x, y, groups, said = read_table(options["data"], options["truth"], split(options["features"]), options["group"], numeric=numeric)
    with progress_bar(options["quiet"]) as progress:
        found = learning_curve(
            learner,
            x,
            y,
            groups=groups,
            sizes=_numbers(split(options["sizes"])),
            seed=seed_of(options["seed"]),
            progress=progress,
            **chosen,
        )
    if not options["quiet"]:
        for sentence in (*said, *found.warnings):
            click.echo(sentence, err=True)
    return found


def _numbers(texts: list[str]) -> list[int] | None:
    if odd := [text for text in texts if not text.isdecimal()]:
        raise UsageError("cannot use --sizes", got=repr(odd[0]), need="whole numbers, joined by commas")
    return [int(text) for text in texts] or None
