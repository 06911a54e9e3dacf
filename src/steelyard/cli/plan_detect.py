"""`steelyard plan detect`: how many items to notice a drop?"""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import INPUT, command
from steelyard.cli.options import PLAN_FORMATS, answer, common_with, given, log_parts, run_columns
from steelyard.options import LOG_CHOICES, RUN_COLUMNS


@command(short_help="how many items to notice a drop?")
@click.option("--theta", type=float, help="The drop that matters, in the unit of the scores.")
@click.option("--n", type=int, help="Items in the new run.")
@click.option("--alpha", type=float, help="False alarms: the share of healthy runs called worse.  [default: 0.05]")
@click.option("--beta", type=float, help="Misses: the share of real drops of theta that pass.  [default: 0.2]")
@click.option("--power", type=float, help="1 - beta, if you would rather say it so.")
@click.option("--sigma", type=float, help="Standard deviation of one item's score, two separate samples; 50 is the worst case in percent.")
@click.option("--expected", type=float, help="The accuracy instead of sigma: sigma is then sqrt(p (1 - p)).")
@click.option("--discordance", type=float, help="Same items, right or wrong: the share that differs when the drop is there.")
@click.option("--churn", type=float, help="Same items, right or wrong: the share that differs between two healthy runs.")
@click.option("--sd", type=float, help="Same items, scores: standard deviation of the per-item differences.")
@click.option("--pilot", multiple=True, type=INPUT, metavar="SOURCE", help="A run to estimate sigma from, or two runs on the same items.")
@click.option("--repeats", type=int, multiple=True, metavar="K", help="Answers to each item; twice for reference and new run.")
@click.option("--within", type=float, multiple=True, metavar="SD", help="Standard deviation of one answer within an item.")
@click.option("--design-effect", type=float, help="How many times more items the groups cost.")
@click.option("--icc", type=float, help="Correlation of items of a group, with --group-size, instead of --design-effect.")
@click.option("--group-size", type=float, help="Items in a group, on average.")
@click.option("--n-reference", type=int, help="Items of the reference, where their number is settled.")
@click.option("--ratio", type=float, help="Reference items for each new one.  [default: 1]")
@click.option("--available", type=int, help="Items there are at all: says whether theta is within their reach, and what else could.")
@click.option(
    "--goal",
    type=click.Choice(["detect", "rule-out"]),
    default="detect",
    show_default=True,
    help="Plan to find a drop, or to rule one out when nothing has changed.",
)
@click.option(
    "--alternative", type=click.Choice(["less", "greater", "two-sided"]), default="less", show_default=True, help="Side of the test."
)
@run_columns
@log_parts
@common_with(PLAN_FORMATS)
def detect(**options: Any) -> None:
    """How many items does it take to notice a drop of theta?

    Any one of n, theta, power and alpha is found from the others. Say once how much the scores vary: --sigma,
    --expected, --discordance, --sd, or --pilot.

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
