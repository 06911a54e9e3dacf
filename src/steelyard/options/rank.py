"""The options of `steelyard rank`, declared once: those of `compare` that are about three systems or more."""

from __future__ import annotations

from steelyard.options.compare import RANKED

OPTIONS = RANKED
