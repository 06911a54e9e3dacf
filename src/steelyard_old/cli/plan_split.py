"""`steelyard plan split`: of so many labelled items, how many to train on and how many to test on?"""

from __future__ import annotations

import click

from steelyard_old.cli.command import INPUT, Given, verb_command
from steelyard_old.options.plan_split import OPTIONS


@verb_command(OPTIONS, answers="plans")
@click.argument("curve", type=INPUT, metavar="CURVE")
def split(curve: str, given: Given) -> None:
    """Of N labelled items, how many to train on and how many to test on?

    CURVE is a table of training sizes and scores, one row per fit, as for plan train. More training items make a better
    model, more test items a shorter interval. We report the split whose lower bound is expected to be highest.

    \b
    Examples:
      steelyard plan split curve.csv --total 5000
      steelyard plan split curve.csv --total 5000 --width .02
      steelyard plan split curve.csv --total 2000 --within .005 -o split.svg
    """
    from steelyard_old.questions.plan.split import plan_split

    given.answer(plan_split(curve, **given.keywords()))
