"""The options of `steelyard plan detect`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.error_rates import ALPHA, BETA, POWER
from steelyard_old.options.option import FALSE_ALARM_RATE, LOG_PARTS, MISS_RATE, RUN_COLUMNS, Option

OPTIONS = (
    Option(
        name="theta",
        kind="drop",
        metavar="DROP",
        help="Drop to detect, in the unit of the scores; 1% is 1% of --reference.",
    ),
    Option(name="reference", type=float, metavar="SCORE", help="Score of the reference, if theta is a share of it."),
    Option(name="n", type=int, help="Items in the new run."),
    Option(name="alpha", type=float, help=f"{FALSE_ALARM_RATE}  [default: {ALPHA:g}]"),
    Option(name="beta", type=float, help=f"{MISS_RATE}  [default: {BETA:g}]"),
    Option(name="power", type=float, help=f"Same as 1 - beta.  [default: {POWER:g}]"),
    Option(
        name="sigma", type=float, help="Two separate samples: standard deviation of one item's score; in percent, 50 is the worst case."
    ),
    Option(name="expected", type=float, help="Two separate samples: expected accuracy p, instead of sigma; sigma is then sqrt(p (1 - p))."),
    Option(name="discordance", type=float, help="Same items, right or wrong: share of items that differ when the drop is real."),
    Option(name="churn", type=float, help="Same items, right or wrong: share of items that differ between two healthy runs."),
    Option(name="sd", type=float, help="Same items, scores: standard deviation of the per-item differences."),
    Option(
        name="pilot",
        kind="input",
        metavar="SOURCE",
        repeat=True,
        help="A run to estimate sigma from; give it twice for two runs on the same items.",
    ),
    Option(
        name="metric",
        metavar="NAME",
        takes="metric",
        help="Metric of the pilot, such as pass^4 or perplexity.  [default: depends on its columns]",
    ),
    Option(
        name="sums", metavar="ABOVE/BELOW", takes="ratio", help="Columns of the pilot: plan for sum(ABOVE)/sum(BELOW), e.g. errors/words."
    ),
    Option(
        name="repeats", type=int, metavar="K", repeat=True, help="Answers per item; give it twice if the reference and the new run differ."
    ),
    Option(name="within", type=float, metavar="SD", repeat=True, help="Standard deviation between answers to the same item."),
    Option(name="design_effect", type=float, help="Design effect: how many times more items are needed because of groups."),
    Option(name="icc", type=float, help="Correlation of items within a group; with --group-size, instead of --design-effect."),
    Option(name="group_size", type=float, help="Average number of items per group."),
    Option(name="n_reference", type=int, help="Items in the reference, if that number is fixed."),
    Option(name="ratio", type=float, help="Reference items per new item.  [default: 1]"),
    Option(
        name="available",
        type=int,
        help="Number of items that exist; the plan says whether they are enough for theta, and what else would help.",
    ),
    Option(
        name="goal",
        choices=("detect", "rule-out"),
        default="detect",
        help="Plan to detect a drop, or to rule one out when nothing has changed.",
    ),
    Option(name="alternative", choices=("less", "greater", "two-sided"), default="less", help="Alternative hypothesis of the test."),
    *RUN_COLUMNS,
    *LOG_PARTS,
)
