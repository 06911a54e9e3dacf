"""steelyard weighs models: how good, better or not, how much data, worse than before. `import steelyard as sy`.

The public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.version import __version__

if TYPE_CHECKING:
    from steelyard.errors import AmbiguityError, DataError, SourceError, SteelyardError, UsageError
    from steelyard.questions.compare import compare
    from steelyard.questions.learners import compare_learners
    from steelyard.questions.measure import measure
    from steelyard.questions.posteriors import posterior
    from steelyard.results import Comparison, Interval, Leaderboard, Measurement, Row
    from steelyard.tally.counts import Counts
    from steelyard.tally.joint import JointCounts

_HOME = {
    "compare": "questions.compare",
    "compare_learners": "questions.learners",
    "measure": "questions.measure",
    "posterior": "questions.posteriors",
    "Comparison": "results",
    "Counts": "tally.counts",
    "JointCounts": "tally.joint",
    "Leaderboard": "results",
    "Interval": "results",
    "Measurement": "results",
    "Row": "results",
    "SteelyardError": "errors",
    "UsageError": "errors",
    "SourceError": "errors",
    "DataError": "errors",
    "AmbiguityError": "errors",
}

__all__ = [
    "AmbiguityError",
    "Comparison",
    "Counts",
    "DataError",
    "Interval",
    "JointCounts",
    "Leaderboard",
    "Measurement",
    "Row",
    "SourceError",
    "SteelyardError",
    "UsageError",
    "__version__",
    "compare",
    "compare_learners",
    "measure",
    "posterior",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"steelyard.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
