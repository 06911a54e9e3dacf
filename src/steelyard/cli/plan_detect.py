"""`steelyard plan detect`: how many items to notice a drop?"""

from __future__ import annotations

from typing import Any

from steelyard.cli.command import PLAN_FORMATS, answer, command, common_with, flags, given
from steelyard.declared.plan_detect import OPTIONS
from steelyard.options import LOG_CHOICES, RUN_COLUMNS


@command(short_help="how many items does it take to detect a drop?")
@flags(*OPTIONS)
@common_with(PLAN_FORMATS)
def detect(**options: Any) -> None:
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
      steelyard plan detect --sd .3333 --theta .03 --alternative two-sided
      steelyard plan detect --sigma 50 --theta 3 --available 1319 -o plan.svg
    """
    from steelyard.questions.plan.detect import plan_detect

    plain = (
        "theta",
        "n",
        "alpha",
        "beta",
        "power",
        "sigma",
        "expected",
        "discordance",
        "churn",
        "sd",
        "design_effect",
        "icc",
        "group_size",
    )
    numbers: dict[str, Any] = {name: options[name] for name in (*plain, "n_reference", "ratio", "available", "goal", "alternative")}
    numbers |= {name: list(options[name]) or None for name in ("repeats", "within", "pilot")}
    result = plan_detect(**numbers, **given(options, (*RUN_COLUMNS, *LOG_CHOICES)))
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])
