"""`steelyard plan train`: how many training items to reach a target? From the points of a learning curve, or measured now."""

from __future__ import annotations

from typing import Any

import click

from steelyard_old.cli.command import INPUT, Given, split, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.plan_train import OPTIONS

FITTING = ("truth", "features", "group", "metric", "positive", "sizes", "repeats", "test_size", "workers")
READING = ("size", "score", "train_score", "seed_column", "n_test")


@verb_command(OPTIONS, answers="plans")
@click.argument("curve", type=INPUT, required=False, metavar="[CURVE]")
def train(curve: str | None, given: Given) -> None:
    """How many training items does it take to reach the target?

    CURVE is a table of training sizes and scores, one row per fit: at least 5 sizes, ideally with 5 or more seeds each. We
    fit error = a + b n^-c and report where the curve reaches the target, with an interval.

    \b
    Examples:
      steelyard plan train curve.csv --target .9
      steelyard plan train runs.jsonl --target .35 --score val_loss --lower-is-better
      steelyard plan train --learner sklearn.svm:SVC --data digits.csv --truth digit --target .98 --sizes 50,100,200,400,800
    """
    from steelyard_old.questions.plan.train import plan_train

    given.answer(plan_train(_curve_of(curve, given), **given.keywords()))


def _curve_of(curve: str | None, given: Given) -> Any:
    """The source as it was named, or the curve of the learner; one of the two, with the options that belong to it."""
    if (curve is None) == (given["learner"] is None):
        raise UsageError(
            "Give a curve or a learner, not both." if curve is not None else "Give a curve or a learner.",
            got="a curve and a learner" if curve is not None else "neither a curve nor a learner",
            need="one of them",
            hint="steelyard plan train curve.csv --target .9",
        )
    foreign = (*FITTING, "data") if curve is not None else (*READING, "lower_is_better")
    if stray := [name for name in foreign if given[name] not in (None, (), False)]:
        word, with_ = f"--{stray[0].replace('_', '-')}", "a curve" if curve is not None else "--learner"
        raise UsageError(f"{word} cannot be used with {with_}.", got=word, need="options that belong together", hint="leave it out")
    return curve if curve is not None else _measured(given)


def _measured(given: Given) -> Any:
    from steelyard_old.cli.learners import load_learner, progress_bar, read_table
    from steelyard_old.metrics.catalogue import parse
    from steelyard_old.questions.learners.learning_curve import learning_curve

    if missing := [f"--{name}" for name in ("data", "truth") if given[name] is None]:
        raise UsageError(
            f"Measuring a learning curve also needs {' and '.join(missing)}.",
            got=f"no {' and no '.join(missing)}",
            need="--learner, --data and --truth",
        )
    learner = load_learner(given["learner"])
    chosen = {name: given[name] for name in ("metric", "positive", "repeats", "test_size", "workers") if given[name] is not None}
    numeric = "metric" in chosen and parse(chosen["metric"]).numeric  # the default is one of labels
    x, y, groups, said = read_table(given["data"], given["truth"], split(given["features"]), given["group"], numeric=numeric)
    with progress_bar(given["quiet"]) as progress:
        found = learning_curve(
            learner,
            x,
            y,
            groups=groups,
            sizes=_numbers(split(given["sizes"])),
            **given.keywords("seed"),
            progress=progress,
            **chosen,
        )
    if not given["quiet"]:
        for sentence in (*said, *found.warnings):
            click.echo(sentence, err=True)
    return found


def _numbers(texts: list[str]) -> list[int] | None:
    if odd := [text for text in texts if not text.isdecimal()]:
        raise UsageError(
            f"--sizes must be whole numbers, joined by commas, not {odd[0]!r}.", got=repr(odd[0]), need="whole numbers, joined by commas"
        )
    return [int(text) for text in texts] or None
