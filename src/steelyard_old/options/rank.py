"""The options of `steelyard rank`, declared once: those of `compare` that are about three systems or more."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.options.compare import RANKED

OPTIONS = tuple(
    replace(option, help="Also rank the systems over the values of this column.") if option.name == "by" else option for option in RANKED
)
