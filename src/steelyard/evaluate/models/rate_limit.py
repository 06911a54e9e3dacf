"""How fast a server is asked: bounded concurrency that yields when it is refused, pauses it asks for, and waits before a retry.

Additive increase, multiplicative decrease, as congestion is avoided in networks: a refusal (429) halves how many requests may be
under way, a full window of successes allows one more. The refusals of one burst count once. A pause holds everybody.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from steelyard.errors import UsageError

LONGEST = 60.0  # seconds: no pause and no wait is longer, whatever a server says


class RunEnded(Exception):
    """The run ends: what waits for its turn or for a retry is not to be asked any more."""


def worth_a_retry(status: int) -> bool:
    """Whether the same request may succeed later: 408, 409, 425, 429 and what is the server's own fault.

    >>> [status for status in (400, 401, 404, 408, 409, 422, 425, 429, 500, 503) if worth_a_retry(status)]
    [408, 409, 425, 429, 500, 503]
    """
    return status in (408, 409, 425, 429) or status >= 500


def asked_to_wait(headers: Mapping[str, str], now: float | None = None, longest: float = LONGEST) -> float | None:
    """Seconds that `retry-after-ms` or `Retry-After` asks for, from 0 to longest; None if it asks for nothing we can read.

    A date is counted from the `Date` of the same answer, since the two clocks may differ; without one, from `now`.

    >>> asked_to_wait({"retry-after": "2"}), asked_to_wait({"retry-after-ms": "250"}), asked_to_wait({"retry-after": "soon"})
    (2.0, 0.25, None)
    >>> asked_to_wait({"retry-after": "Mon, 16 Nov 2026 04:30:07 GMT", "date": "Mon, 16 Nov 2026 04:30:00 GMT"})
    7.0
    """
    seconds = _number(headers.get("retry-after-ms"), 1e-3)
    if seconds is None:
        seconds = _number(headers.get("retry-after"), 1.0)
    if seconds is None:
        then = _date(headers.get("retry-after"))
        if then is None:
            return None
        here = _date(headers.get("date"))
        seconds = then - (here if here is not None else time.time() if now is None else now)
    return min(max(seconds, 0.0), longest)


def _number(text: str | None, unit: float) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number * unit if math.isfinite(number) else None


def _date(text: str | None) -> float | None:
    try:
        then = parsedate_to_datetime(text or "")
        return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):  # what the standard library raises on dates that are none
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often one ask is tried, and how long before it is tried again: full jitter below a bound that grows by a factor.

    The first wait is short, since most faults are over at once; together they outlast a limit per minute that comes unannounced.
    """

    attempts: int = 6
    timeouts: int = 3
    first: float = 0.25
    factor: float = 4.0
    longest: float = LONGEST

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.timeouts < 1:
            raise UsageError("cannot try so often", got=f"{self.attempts} attempts, {self.timeouts} timeouts", need="at least 1 of each")

    def bound(self, failed: int) -> float:
        """The longest wait after so many failures.

        >>> [RetryPolicy().bound(failed) for failed in (1, 2, 3, 4, 5, 5000)]
        [0.25, 1.0, 4.0, 16.0, 60.0, 60.0]
        """
        return min(self.first * self.factor ** min(failed - 1, 60), self.longest)

    def wait(self, failed: int, luck: float, asked: float | None = None) -> float:
        """Seconds to wait after so many failures: `luck` (0 to 1) of the bound, and no less than the server asked for."""
        return max(luck * self.bound(failed), asked or 0.0)


class RateLimiter:
    """Who may ask now. `enter` before a request, `leave` after it; then tell how it went: `went_well`, `refused`.

    `clock` and `sleep` are there for tests. `allowed` is how many requests may be under way, never above `limit`, never below 1.
    """

    def __init__(
        self,
        limit: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        luck: Callable[[], float] = random.random,
    ) -> None:
        if limit < 1:
            raise UsageError("cannot ask a model", got=f"concurrency {limit}", need="at least 1")
        self.limit = self.allowed = self.lowest = limit
        self.luck, self._clock = luck, clock
        self._free = threading.Condition()
        self._ended = threading.Event()
        self._sleep = sleep or self._ended.wait  # an event wakes up when the run ends, however long it was to sleep
        self._under_way = self._well = self._round = 0
        self._paused_until = -math.inf

    def enter(self) -> int:
        """Wait for a turn. What it returns is handed to `refused`, if it comes to that."""
        while True:
            with self._free:
                while self._under_way >= self.allowed and not self._ended.is_set():
                    self._free.wait()
                if self._ended.is_set():
                    raise RunEnded
                pause = self._paused_until - self._clock()
                if pause <= 0:
                    self._under_way += 1
                    return self._round
            self._sleep(pause)

    def leave(self) -> None:
        """A request is over."""
        with self._free:
            self._under_way -= 1
            self._free.notify()

    def went_well(self) -> None:
        """A whole window of these allows one more."""
        with self._free:
            self._well += 1
            if self._well >= self.allowed:
                self._well = 0
                self.allowed = min(self.allowed + 1, self.limit)
                self._free.notify()

    def refused(self, turn: int) -> None:
        """Half as many from now on; the other refusals of requests that were under way then are the same news."""
        with self._free:
            self._well = 0
            if turn == self._round:
                self._round += 1
                self.allowed = max(self.allowed // 2, 1)
                self.lowest = min(self.lowest, self.allowed)

    def pause(self, seconds: float) -> None:
        """Nobody begins before so many seconds are over."""
        with self._free:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def rest(self, seconds: float) -> None:
        """Wait before a retry, without holding a place. Stopped if the run ends meanwhile."""
        if seconds > 0 and not self._ended.is_set():
            self._sleep(seconds)
        if self._ended.is_set():
            raise RunEnded

    def stop(self) -> None:
        """Let nobody begin any more; those who wait are told at once."""
        self._ended.set()
        with self._free:
            self._free.notify_all()
