"""The options of `steelyard plan detect`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import LOG_PARTS, RUN_COLUMNS, Option

OPTIONS = (
    Option(name="theta", type=float, help="The drop that matters, in the unit of the scores."),
    Option(name="n", type=int, help="Items in the new run."),
    Option(name="alpha", type=float, help="False alarms: the share of healthy runs called worse.  [default: 0.05]"),
    Option(name="beta", type=float, help="Misses: the share of real drops of theta that pass.  [default: 0.2]"),
    Option(name="power", type=float, help="1 - beta, if you would rather say it so."),
    Option(name="sigma", type=float, help="Standard deviation of one item's score, two separate samples; 50 is the worst case in percent."),
    Option(name="expected", type=float, help="The accuracy instead of sigma: sigma is then sqrt(p (1 - p))."),
    Option(name="discordance", type=float, help="Same items, right or wrong: the share that differs when the drop is there."),
    Option(name="churn", type=float, help="Same items, right or wrong: the share that differs between two healthy runs."),
    Option(name="sd", type=float, help="Same items, scores: standard deviation of the per-item differences."),
    Option(name="pilot", kind="input", metavar="SOURCE", repeat=True, help="A run to estimate sigma from, or two runs on the same items."),
    Option(name="repeats", type=int, metavar="K", repeat=True, help="Answers to each item; twice for reference and new run."),
    Option(name="within", type=float, metavar="SD", repeat=True, help="Standard deviation of one answer within an item."),
    Option(name="design_effect", type=float, help="How many times more items the groups cost."),
    Option(name="icc", type=float, help="Correlation of items of a group, with --group-size, instead of --design-effect."),
    Option(name="group_size", type=float, help="Items in a group, on average."),
    Option(name="n_reference", type=int, help="Items of the reference, where their number is settled."),
    Option(name="ratio", type=float, help="Reference items for each new one.  [default: 1]"),
    Option(name="available", type=int, help="Items there are at all: says whether theta is within their reach, and what else could."),
    Option(
        name="goal",
        choices=("detect", "rule-out"),
        default="detect",
        help="Plan to find a drop, or to rule one out when nothing has changed.",
    ),
    Option(name="alternative", choices=("less", "greater", "two-sided"), default="less", help="Side of the test."),
    *RUN_COLUMNS,
    *LOG_PARTS,
)
