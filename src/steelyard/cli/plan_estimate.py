"""`steelyard plan estimate`: how many labels to know a metric well enough?"""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import INPUT, command
from steelyard.cli.options import PLAN_FORMATS, answer, common_with, fraction, given, log_parts
from steelyard.errors import UsageError
from steelyard.options import LOG_CHOICES

INTERVALS = ("bayes", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "mid-p", "wald")
COLUMNS = ("positive", "truth", "prediction", "score", "group")


@command(short_help="how many labels to know a metric well enough?")
@click.option(
    "--metric", default="accuracy", show_default=True, metavar="NAME", help="accuracy, error, precision, recall, specificity or f1."
)
@click.option("--expected", type=float, metavar="P", help="The value that is expected.  [default for a width: the worst that can happen]")
@click.option("--precision", type=float, metavar="P", help="The precision that is expected; with --recall for f1.")
@click.option("--recall", type=float, metavar="R", help="The recall that is expected; for precision it turns items into labels.")
@click.option("--specificity", type=float, metavar="S", help="The specificity that is expected.")
@click.option("--prevalence", type=float, metavar="SHARE", help="The share of positives: turns relevant items into labels.")
@click.option("--width", type=float, metavar="W", help="Goal: an interval at most this wide, from end to end.")
@click.option("--half-width", type=float, metavar="H", help="Goal: plus or minus this much; the same as --width 2H.")
@click.option("--threshold", type=float, metavar="T", help="Goal: to show that the metric is above T (an error: below T).")
@click.option("--interval", type=click.Choice(INTERVALS), default="bayes", show_default=True, help="Which interval will be reported.")
@click.option("--confidence-level", type=float, default=0.95, show_default=True, help="Of the interval, or of the claim above a threshold.")
@click.option("--assurance", type=float, default=0.8, show_default=True, help="How likely the goal should be reached.")
@click.option(
    "--prior", type=float, default=0.5, show_default=True, help="Pseudo-counts of the credible interval: 0.5 Jeffreys, 1 uniform."
)
@click.option("--pilot", type=INPUT, metavar="SOURCE", help="Labelled items there are: they give the expected value, and they count.")
@click.option("--design-prior", metavar="A,B", help="Instead of one expected value, a Beta(A, B) of values.")
@click.option("--have", metavar="K/N", help="Labels there are, K of N relevant items: how many more?")
@click.option(
    "--batch",
    type=int,
    metavar="N",
    help="Labels between two looks, when one stops as soon as the width is reached; the plan says what the interval then covers."
    "  [default: 10]",
)
@click.option("--positive", metavar="LABEL", help="The class that f1, precision and recall are about, in the pilot.")
@click.option("--truth", metavar="COLUMN", help="Column of the pilot with the right answer.")
@click.option("--prediction", metavar="COLUMN", help="Column of the pilot with the model's answer.")
@click.option("--score", metavar="COLUMN", help="Column of the pilot with 0 and 1 for wrong and right.")
@click.option("--group", metavar="COLUMN", help="Column of the pilot with groups; 'none' ignores one found by name.")
@log_parts
@common_with(PLAN_FORMATS)
def estimate(**options: Any) -> None:
    """How many labels until a metric is known well enough?

    The goal is a width of the interval or a threshold to clear; the answer reaches it with the given assurance. Whole
    outcomes make that a saw-tooth: n is the number from which every larger one is enough.

    \b
    Examples:
      steelyard plan estimate --metric accuracy --expected .95 --threshold .9
      steelyard plan estimate --metric accuracy --expected .9 --width .1 --assurance .95
      steelyard plan estimate --metric f1 --precision .8 --recall .8 --threshold .75 --prevalence .2
      steelyard plan estimate --width .05
      steelyard plan estimate --have 45/50 --width .1
      steelyard plan estimate --metric recall --pilot preds.csv --positive cat --half-width .05
    """
    from steelyard.questions.plan.estimate import plan_estimate as ask

    numbers = ("expected", "precision", "recall", "specificity", "prevalence", "width", "half_width", "threshold")
    result = ask(
        metric=options["metric"],
        **{name: options[name] for name in numbers},
        interval=options["interval"],
        confidence_level=options["confidence_level"],
        assurance=options["assurance"],
        prior=options["prior"],
        pilot=options["pilot"],
        design_prior=_pair(options["design_prior"]),
        have=_have(options["have"]),
        batch=options["batch"],
        **{name: options[name] for name in COLUMNS if options[name] is not None},
        **given(options, LOG_CHOICES),
    )
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])


def _have(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        return fraction(text)
    except UsageError:
        raise UsageError("cannot read --have", got=repr(text), need="K/N, two whole numbers", hint="45/50 is 45 right of 50") from None


def _pair(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        a, b = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError("cannot read --design-prior", got=repr(text), need="A,B, two numbers", hint="45,5 is about 45 of 50") from None
    return a, b
