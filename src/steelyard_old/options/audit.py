"""The options of `steelyard audit`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import ARGUMENT, INTERVALS, Option

OPTIONS = (
    Option(
        name="scores",
        takes="scores",
        required=True,
        python_alone=ARGUMENT,
        help="Scores as they were published, a list or by name: 87.4, '87.40' (a text keeps its last 0) or 0.874; or the path of a table.",
    ),
    Option(name="n", type=int, least=1, metavar="ITEMS", help="Number of items the scores were measured on."),
    Option(name="size", metavar="COLUMN", help="Column of the table with the number of items.  [default: found by its name, such as n]"),
    Option(
        name="scale",
        choices=("percent", "fraction"),
        help="Scale of the scores that have no % sign.  [default: percent if one of them is above 1]",
    ),
    *(option for option in INTERVALS if option.name == "confidence_level"),
)
