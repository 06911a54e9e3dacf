"""`steelyard plan estimate`: how many labels to know a metric well enough?"""

from __future__ import annotations

from typing import Any

from steelyard.cli.command import PLAN_FORMATS, answer, command, common_with, flags, fraction, given
from steelyard.declared.plan_estimate import OPTIONS
from steelyard.errors import UsageError
from steelyard.options import LOG_CHOICES

COLUMNS = ("positive", "truth", "prediction", "score", "group")


@command(short_help="how many labels does a precise enough estimate take?")
@flags(*OPTIONS)
@common_with(PLAN_FORMATS)
def estimate(**options: Any) -> None:
    """How many labels does it take to know a metric well enough?

    The goal is an interval width or a threshold to clear; n labels reach it with the probability given by --assurance.
    Counts are whole, so the exact probability goes up and down with n: the answer is the n from which every larger n is
    enough, too.

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
