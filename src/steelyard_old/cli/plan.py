"""`steelyard plan`: how much data do we need? Five questions, each in a file of its own, loaded when asked."""

from __future__ import annotations

import click

from steelyard_old.cli.command import LazyGroup

QUESTIONS = {
    "detect": "how many items does it take to detect a drop?",
    "estimate": "how many labels does a precise enough estimate take?",
    "train": "how many training items does it take to reach a target?",
    "split": "of N labels, how many to train on and how many to test on?",
    "designs": "compare several designs side by side, with cost",
}


@click.group(cls=LazyGroup, sentences=QUESTIONS, prefix="steelyard_old.cli.plan_", title="Questions")
def plan() -> None:
    """How much data do we need?

    \b
    Examples:
      steelyard plan detect --sigma 50 --theta 3
      steelyard plan detect --discordance .04 --theta .01
      steelyard plan estimate --metric accuracy --expected .95 --threshold .9
      steelyard plan estimate --metric f1 --precision .8 --recall .8 --threshold .75 --prevalence .2
      steelyard plan train curve.csv --target .9
      steelyard plan split curve.csv --total 5000
      steelyard plan designs --theta .02 --expected .8 --discordance .05 --price .002
    """
