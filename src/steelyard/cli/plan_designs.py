"""`steelyard plan designs`: the same drop under several designs, side by side, with cost."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import command
from steelyard.cli.options import answer, common

NUMBERS = ("theta", "expected", "sigma", "discordance", "repeats", "within", "alpha", "beta", "price", "batch", "available", "pool")


@command(short_help="the same question under several designs, side by side, with cost")
@click.option("--theta", type=float, required=True, help="The drop that matters, as a share of the items: .02 is two points.")
@click.option("--expected", type=float, help="The accuracy before the drop, for designs that use its own spread.")
@click.option("--sigma", type=float, help="Standard deviation of one item's score.  [default: 0.5, the worst case for right or wrong]")
@click.option("--discordance", type=float, help="Share of items on which two healthy runs differ; without it nothing paired is known.")
@click.option("--repeats", type=int, metavar="K", help="Answers to each item, for the design with repeats (with --within).")
@click.option("--within", type=float, metavar="SD", help="Standard deviation of one answer within an item.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="False alarms: the share of healthy runs called worse.")
@click.option("--beta", type=float, default=0.2, show_default=True, help="Misses: the share of real drops of theta that pass.")
@click.option("--price", type=float, help="Of one call of the model, in any currency.")
@click.option("--batch", type=int, default=32, show_default=True, help="Items between two looks of the design that stops early.")
@click.option("--available", type=int, help="Items there are at all.")
@click.option("--pool", type=int, help="Items the reference covers, if many more than a run asks: adds regression on them.")
@common
def designs(**options: Any) -> None:
    """What does each design ask for, to notice the same drop?

    Side by side: a reference on other items, with an assumed and with its own spread; a reference known exactly; the
    same items on both sides; the same, stopped as soon as it is decided; the same, with several answers to each item, or with
    a reference that covers a larger pool.

    \b
    Examples:
      steelyard plan designs --theta .02 --discordance .05
      steelyard plan designs --theta .02 --expected .8 --discordance .05 --price .002
      steelyard plan designs --theta .02 --discordance .05 --repeats 4 --within .15
      steelyard plan designs --theta .02 --expected .75 --discordance .1 --pool 14000
      steelyard plan designs --theta .01 --discordance .04 --available 1319 --format json
      steelyard plan designs --theta 2 --sigma 50
    """
    from steelyard.questions.plan.designs import plan_designs

    result = plan_designs(**{name: options[name] for name in NUMBERS})
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])
