"""Patterns of a task, matched in time: in a process of their own, which is ended if one of them takes too long.

Python's `re` can take exponential time (`(a+)+$` on thirty letters), holds the interpreter's lock meanwhile, and cannot be told to
stop: no thread can time it. The process is started with the first pattern and serves all others; a match costs a fraction of a millisecond.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import inspect
import json
import os
import queue
import re
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import UsageError
from steelyard_old.evaluate.asking.deadline import TooSlow
from steelyard_old.evaluate.scorers import match_worker

if TYPE_CHECKING:
    import subprocess

SECONDS = 10.0  # for one answer, if nobody says: no pattern that is any good needs as long
GRACE = 1.0  # seconds that the process has to end itself
LONGEST = 1_000_000  # characters of an answer that a pattern is let loose on
_limit: contextvars.ContextVar[float] = contextvars.ContextVar("seconds for a pattern", default=SECONDS)


@contextlib.contextmanager
def in_time(seconds: float | None) -> Iterator[None]:
    """Within this, a pattern may take so many seconds on one answer (never more than SECONDS)."""
    token = _limit.set(min(SECONDS, seconds or SECONDS))
    try:
        yield
    finally:
        _limit.reset(token)


def compiled(pattern: Any, flags: int = 0) -> re.Pattern[str]:
    """The pattern, checked; a UsageError says what is wrong with it."""
    try:
        return re.compile(pattern, flags)
    except (re.error, TypeError, ValueError, RecursionError, OverflowError) as fault:
        got = f"{str(pattern)[:120]!r}: {fault}"
        raise UsageError(
            f"The pattern is not a regular expression of Python: {got}.", got=got, need="a regular expression of Python"
        ) from None


def group_of(pattern: str, text: str, *, flags: int = 0, group: int | str = 0, pick: str = "last") -> str | None:
    """The group of the first or last match that has it (`final`: of the last match, whether it has it or not); None without one.

    >>> group_of("Answer: (.)", "Answer: A. Answer: B", group=1)
    'B'
    """
    return _found(pattern, flags, text, group, pick)[1]


def is_in(pattern: str, text: str) -> bool:
    """Whether the pattern is found in a text.

    >>> is_in("^[0-9]+$", "42")
    True
    """
    return _found(pattern, 0, text, 0, "first")[0]


def _found(pattern: str, flags: int, text: str, group: int | str, pick: str) -> tuple[bool, str | None]:
    asked: dict[str, Any] = {"pattern": pattern, "flags": int(flags), "text": text, "group": group, "pick": pick}
    if not sys.executable:  # Python inside another program: there is nothing to start
        return match_worker.picked(**asked)
    return _matcher().ask(asked, _limit.get())


class _Matcher:
    """The process. One match at a time; after one that took too long the next begins with a new process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def ask(self, asked: dict[str, Any], seconds: float) -> tuple[bool, str | None]:
        line = json.dumps({**asked, "seconds": seconds}).encode() + b"\n"
        with self._turn:
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._process is not None
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
                reply = self._replies.get(timeout=seconds + GRACE)
            except (OSError, queue.Empty):
                reply = b""
            except BaseException:  # Ctrl-C: the reply that is under way would be taken for that of the next match
                self.end()
                raise
            if not reply:
                self.end()
                raise TooSlow(seconds)
        found, value = json.loads(reply)
        return found, value

    def _start(self) -> None:
        import subprocess

        source = inspect.getsource(match_worker)
        self._process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-I", "-S", "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._replies = queue.SimpleQueue()
        threading.Thread(target=_hear, args=(self._process, self._replies), name="matching", daemon=True).start()

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError, ValueError, AttributeError):
                    pipe.close()  # type: ignore[union-attr]


def _hear(process: subprocess.Popen[bytes], replies: queue.SimpleQueue[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        assert process.stdout is not None
        while line := process.stdout.readline():
            replies.put(line)
    replies.put(b"")


_one: _Matcher | None = None
_making = threading.Lock()


def _matcher() -> _Matcher:
    """The one of this process: one that was forked has pipes that are its parent's."""
    global _one
    with _making:
        if _one is None or _one.pid != os.getpid():
            _one = _Matcher()
            atexit.register(_one.end)
        return _one
