"""`steelyard plan designs`: the same drop under several designs, side by side, with cost."""

from __future__ import annotations

from steelyard_old.cli.command import Given, verb_command
from steelyard_old.options.plan_designs import OPTIONS


@verb_command(OPTIONS)
def designs(given: Given) -> None:
    """How many items does each design need to detect the same drop?

    Compares: a reference on other items, with an assumed and with its actual standard deviation; a reference known exactly;
    the same items on both sides; the same items, stopping as soon as the question is decided; the same items with several
    answers each, or with a reference that covers a larger pool.

    \b
    Examples:
      steelyard plan designs --theta .02 --discordance .05
      steelyard plan designs --theta .02 --expected .8 --discordance .05 --price .002
      steelyard plan designs --theta .02 --discordance .05 --repeats 4 --available 3000
      steelyard plan designs --theta .01 --discordance .04 --available 1319 --format json
      steelyard plan designs --theta .02 --noise .15 --sigma .3
      steelyard plan designs --theta 2 --sigma 50
    """
    from steelyard_old.questions.plan.designs import plan_designs

    given.answer(plan_designs(**given.keywords()))
