"""The options of `steelyard rank`, declared once: those of `compare` that are about three systems or more."""

from __future__ import annotations

from steelyard.options import compare

OF_TWO = ("flips", "counts", "wins", "design", "alternative", "flips_out")
OPTIONS = tuple(option for option in compare.OPTIONS if option.name not in OF_TWO)
