"""The options of `steelyard init`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import Option

OPTIONS = (Option(name="directory", metavar="NAME", default="references", help="Directory to create for the references."),)
