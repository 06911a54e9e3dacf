"""steelyard weighs models: how good, better or not, how much data, worse than before. `import steelyard as sy`.

Names load on first use, so that importing the package costs nothing. What has not moved in yet comes from the house of 0.1.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from steelyard.version import __version__

_HOME = {
    "SteelyardError": "base.problem",
    "Counts": "data.counts",
    "JointCounts": "data.counts",
    "Interval": "results",
    **dict.fromkeys(("measure", "posterior", "Measurement"), "verbs.measure"),
    **dict.fromkeys(("compare", "Comparison"), "verbs.compare"),
    **dict.fromkeys(("rank", "Leaderboard"), "verbs.rank"),
}

__all__ = [
    "Comparison",
    "Counts",
    "Interval",
    "JointCounts",
    "Leaderboard",
    "Measurement",
    "SteelyardError",
    "__version__",
    "compare",
    "measure",
    "posterior",
    "rank",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"steelyard.{_HOME[name]}"), name)
    if name.startswith("__"):
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    return getattr(import_module("steelyard_old"), name)
