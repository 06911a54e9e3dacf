"""`steelyard plan detect`: how many items to notice a drop?"""

from __future__ import annotations

from steelyard_old.cli.command import Given, verb_command
from steelyard_old.options.plan_detect import OPTIONS


@verb_command(OPTIONS, answers="plans")
def detect(given: Given) -> None:
    """How many items does it take to detect a drop of theta?

    Leave out one of n, theta, power and alpha, and it is computed from the others. Say how much the scores vary with
    one of --sigma, --expected, --discordance, --churn, --sd or --pilot.

    \b
    Examples:
      steelyard plan detect --sigma 50 --theta 3
      steelyard plan detect --n 4096 --sigma 50
      steelyard plan detect --n 1000 --sigma 50 --theta 3
      steelyard plan detect --discordance .04 --theta .01
      steelyard plan detect --pilot pilot.jsonl --theta 3
      steelyard plan detect --pilot old.jsonl --pilot new.jsonl --theta .01
      steelyard plan detect --pilot tries.csv --metric pass^4 --theta .05
      steelyard plan detect --pilot speech.csv --pilot speech_new.csv --sums errors/words --theta .01 --alternative greater
      steelyard plan detect --sd .3333 --theta .03 --alternative two-sided
      steelyard plan detect --sigma 50 --theta 3 --available 1319 -o plan.svg
    """
    from steelyard_old.questions.plan.detect import plan_detect

    given.answer(plan_detect(**given.keywords()))
