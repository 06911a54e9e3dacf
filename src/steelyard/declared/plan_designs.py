"""The options of `steelyard plan designs`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import Option

OPTIONS = (
    Option(name="theta", type=float, required=True, help="The drop that matters, as a share of the items: .02 is two points."),
    Option(name="expected", type=float, help="The accuracy before the drop, for designs that use its own spread."),
    Option(name="sigma", type=float, help="Standard deviation of one item's score.  [default: 0.5, the worst case for right or wrong]"),
    Option(name="discordance", type=float, help="Share of items on which two healthy runs differ; without it nothing paired is known."),
    Option(name="repeats", type=int, metavar="K", help="Answers to each item, for the design with repeats (with --within)."),
    Option(name="within", type=float, metavar="SD", help="Standard deviation of one answer within an item."),
    Option(name="alpha", type=float, default=0.05, help="False alarms: the share of healthy runs called worse."),
    Option(name="beta", type=float, default=0.2, help="Misses: the share of real drops of theta that pass."),
    Option(name="price", type=float, help="Of one call of the model, in any currency."),
    Option(name="batch", type=int, default=32, help="Items between two looks of the design that stops early."),
    Option(name="available", type=int, help="Items there are at all."),
    Option(name="pool", type=int, help="Items the reference covers, if many more than a run asks: adds regression on them."),
)
