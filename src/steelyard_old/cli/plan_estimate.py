"""`steelyard plan estimate`: how many labels to know a metric well enough?"""

from __future__ import annotations

from steelyard_old.cli.command import Given, verb_command
from steelyard_old.options.plan_estimate import OPTIONS


@verb_command(OPTIONS, answers="plans")
def estimate(given: Given) -> None:
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
    from steelyard_old.questions.plan.estimate import plan_estimate

    given.answer(plan_estimate(**given.keywords()))
