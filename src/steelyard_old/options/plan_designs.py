"""The options of `steelyard plan designs`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.error_rates import ALPHA, BETA
from steelyard_old.options.option import FALSE_ALARM_RATE, MISS_RATE, Option

OPTIONS = (
    Option(name="theta", type=float, required=True, help="Drop to detect, as a fraction: .02 is two points."),
    Option(name="expected", type=float, help="Accuracy before the drop, for designs that compute sigma from it."),
    Option(name="sigma", type=float, help="Standard deviation of one item's score.  [default: 0.5, the worst case for right or wrong]"),
    Option(name="discordance", type=float, help="Share of items on which two healthy runs differ; needed for the paired designs."),
    Option(
        name="noise",
        type=float,
        metavar="SD",
        help="For scores: standard deviation of an item's difference between two healthy runs; like theta, as a fraction of the range of "
        "scores.",
    ),
    Option(name="repeats", type=int, metavar="K", help="Answers per item, in the reference and in the design with repeats."),
    Option(
        name="within",
        type=float,
        metavar="SD",
        help="Standard deviation between answers to the same item.  [default: all of --discordance counts as such noise]",
    ),
    Option(name="alpha", type=float, default=ALPHA, help=FALSE_ALARM_RATE),
    Option(name="beta", type=float, default=BETA, help=MISS_RATE),
    Option(name="price", type=float, help="Price of one model call, in any currency."),
    Option(name="batch", type=int, default=32, help="Items between two looks, for the design that stops early."),
    Option(name="available", type=int, help="Number of items that exist."),
)
