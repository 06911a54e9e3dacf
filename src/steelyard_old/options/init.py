"""The options of `steelyard init`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import Option

OPTIONS = (
    Option(
        name="where",
        takes="path",
        required=True,
        python_alone="the command writes where it is",
        help="The directory of steelyard.toml.  [default: the current one]",
    ),
    Option(name="directory", metavar="NAME", takes="path", default="references", help="Directory to create for the references."),
    Option(
        name="preset",
        metavar="NAME",
        takes="text",
        registry="steelyard_old.evaluate.task.presets:preset_names",
        help="Write the task file of a ready-made task instead, for you to change.",
    ),
)
