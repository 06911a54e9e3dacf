"""One line on a terminal while a run goes on: done, rate, errors, time left, tokens. Never a running score.

A score that is watched while it grows invites stopping at a good moment, and no interval of a fixed number of items survives that.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from steelyard.evaluate.asking.asking import AskingState

EVERY = 0.2  # seconds between two looks at the line
_CLEAR = "\r\x1b[K"


class Progress:
    """The line. Silent where nobody looks: a stream that is no terminal, or `quiet`. Cleared at the end.

    It is a `Watcher` of evaluate/asking/asking.py. Only a word about an interrupt is said on any stream, unless it is quiet.
    """

    def __init__(
        self, name: str = "", *, stream: TextIO | None = None, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._shows = not quiet and self._stream is not None and self._stream.isatty()
        self._name, self._clock = harmless(name), clock
        self._begun = clock()
        self._last: float | None = None
        self._dirty = False

    def __call__(self, asked: AskingState) -> None:
        """Show how far it is, not more than five times a second."""
        now = self._clock()
        if not self._shows or (self._last is not None and now - self._last < EVERY):
            return
        self._last = now
        width = shutil.get_terminal_size().columns - 1
        self._write(_CLEAR + line(asked, now - self._begun, self._name)[: max(width, 10)])
        self._dirty = True

    def ending(self, in_flight: int) -> None:
        """Say what the run is waiting for after an interrupt."""
        if not self._quiet and self._stream is not None:
            self.close()
            self._write(f"interrupted: waiting a few seconds for {in_flight} in flight; Ctrl-C again gives them up\n")

    def close(self) -> None:
        """Clear the line."""
        if self._dirty:
            self._write(_CLEAR)
            self._dirty = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # a terminal that is gone must not end the run
            self._shows = False


def line(asked: AskingState, seconds: float, name: str = "") -> str:
    """What the line says.

    >>> from steelyard.evaluate.asking.asking import AskingState
    >>> line(AskingState(total=600, asked=100, from_journal=20, tokens_in=9000, tokens_out=3210), 20.0, "gsm8k")
    'gsm8k: 120/600, 5.0/s, 0 errors, 1:36 left, 12.2k tokens'
    """
    there = asked.asked + asked.from_journal
    rate = asked.asked / seconds if seconds > 0 else 0.0
    parts = [f"{there}/{asked.total}" if asked.total is not None else f"{there}"]
    parts += [f"{rate:.1f}/s" if rate < 100 else f"{rate:.0f}/s"] if asked.asked else []
    parts.append("1 error" if asked.failed == 1 else f"{asked.failed} errors")
    if asked.total is not None and rate > 0:
        parts.append(f"{_clock(max(0, asked.total - there) / rate)} left")
    tokens = asked.tokens_in + asked.tokens_out
    parts += [f"{_short(tokens)} tokens"] if tokens else []
    return (f"{name}: " if name else "") + ", ".join(parts)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _short(count: int) -> str:
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}"
    return str(count)


def harmless(text: str) -> str:
    r"""A name without anything a terminal obeys.

    >>> print(harmless("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
