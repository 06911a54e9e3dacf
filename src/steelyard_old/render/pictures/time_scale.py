"""An axis of time: round hours, days, weeks or firsts of a month as ticks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from steelyard_old.render.curve_text import Scale

EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC).timestamp(), datetime(9999, 12, 31, tzinfo=UTC).timestamp()
MOST_TICKS = 5.5  # along the time
HOURS, MONTHS = (1, 3, 6, 12, 24, 48, 168, 336), (1, 2, 3, 6, 12, 24, 60, 120, 600)


def seconds(time: str) -> float:
    """A time of the history as a number."""
    return datetime.fromisoformat(time).timestamp()


def time_scale(times: Sequence[float]) -> Scale:
    """From the first moment to the last, with a little room on both sides."""
    low, high = min(times), max(times)
    if low == high:
        low, high = low - 43_200, high + 43_200
    room = (high - low) * 0.03
    low, high = max(low - room, EARLIEST), min(high + room, LATEST)
    ticks = _moments(low, high)
    said = "%m-%d %H:%M" if high - low < 3 * 86_400 else "%Y-%m-%d"
    return Scale(low, high, ticks, tuple(datetime.fromtimestamp(each, UTC).strftime(said) for each in ticks))


def _moments(low: float, high: float) -> tuple[float, ...]:
    """Some round moments between two: whole hours, days, weeks, or firsts of a month."""
    first = datetime.fromtimestamp(low, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    hours = next((each for each in HOURS if (high - low) / (3600 * each) <= MOST_TICKS), None)
    if hours is not None:
        many = int((high - low) / (3600 * hours)) + 26
        found = [first.timestamp() + 3600 * hours * i for i in range(many)]
    else:
        months = next((each for each in MONTHS if (high - low) / (30.4 * 86_400 * each) <= MOST_TICKS), MONTHS[-1])
        begin = first.year * 12 + (first.month - 1) // months * months
        ends = range(begin, begin + int((high - low) / (28 * 86_400)) + 2 * months, months)
        found = [datetime(each // 12, each % 12 + 1, 1, tzinfo=UTC).timestamp() for each in ends if each < 9999 * 12]
    return tuple(each for each in found if low <= each <= high)


def moment_text(time: float) -> str:
    """A moment as its day.

    >>> moment_text(1_794_873_600.0)
    '2026-11-17'
    """
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")
