"""A program that runs beside us: lines in, lines out, its standard error passed on and remembered, its end ours to bring about."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import IO

from steelyard.errors import SourceError, UsageError
from steelyard.redaction import redact

LONGEST = 64 * 2**20  # bytes of a line; no answer is that long
AHEAD = 1000  # lines that may wait to be read, before the program has to wait
REMEMBERED = 5  # last lines of standard error that a message may quote
GRACE = 5.0  # seconds between closing its input, asking it to end, and ending it


class Silent(Exception):
    """Nothing was written for too long."""


class Process:
    """A running program. Reading and writing never wait for one another: each pipe has a thread of its own.

    It leads a process group of its own, so that Ctrl-C reaches us alone and what is in flight can finish, and so that ending
    it ends whatever it has started, and nothing else.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        try:
            self._popen = subprocess.Popen(  # noqa: S603  the user's own program, without a shell
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name == "posix",
                env={**os.environ, "PYTHONUNBUFFERED": "1"},  # a print without flush would otherwise never arrive
            )
        except (OSError, ValueError) as fault:
            got = (fault.strerror if isinstance(fault, OSError) else None) or str(fault)
            raise UsageError(
                f"cannot run {argv[0]!r}",
                got=got,
                need="a program that can be executed",
                hint="a script needs a first line such as #!/bin/sh",
            ) from fault
        assert self._popen.stdin is not None and self._popen.stdout is not None and self._popen.stderr is not None  # noqa: PT018
        self._lines: queue.Queue[bytes | SourceError | None] = queue.Queue(AHEAD)
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._said: deque[str] = deque(maxlen=REMEMBERED)
        self._over = self._unheard = False
        work = ((self._feed, self._popen.stdin), (self._hear, self._popen.stdout), (self._overhear, self._popen.stderr))
        self._threads = [threading.Thread(target=each, args=(pipe,), name="command", daemon=True) for each, pipe in work]
        for thread in self._threads:
            thread.start()

    def write(self, data: bytes) -> None:
        """Hand lines to the program; it takes them when it likes."""
        self._to_write.put(data)

    def read(self, timeout: float) -> bytes | None:
        """The next line; None when the program has closed its output. `Silent` if nothing comes in time."""
        if self._over:
            return None
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise Silent from None
        if line is None:
            self._over = True
        if isinstance(line, SourceError):
            self.kill()
            raise line
        return line

    def ended(self) -> str:
        """How it ended, in words, after it closed its output. One that lives on is ended."""
        alone = self._exited(GRACE)
        self.kill()
        code = self._popen.returncode
        if not alone:
            return "its output closed"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"signal {signal.Signals(-code).name}"
        return f"exit code {code}"

    def last_words(self) -> list[str]:
        """The last lines of its standard error."""
        return list(self._said)

    def close(self) -> None:
        """Close its input, which asks it to end; ask it once more; end it."""
        self._to_write.put(None)
        self._throw_away()
        if not self._exited(GRACE):
            self._signal(signal.SIGTERM)
            self._exited(GRACE)
        self.kill()

    def kill(self) -> None:
        """End it now, and all that it has started."""
        self._signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        self._to_write.put(None)
        self._throw_away()
        self._popen.wait()
        for thread in self._threads:
            thread.join(GRACE)

    def _throw_away(self) -> None:
        """What it still writes is read and dropped, so that it is not kept from ending."""
        self._unheard = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._lines.get_nowait()

    def _exited(self, timeout: float) -> bool:
        """Whether it ends in time. It is looked at without being waited for: until then its number and its group's are its own."""
        deadline = time.monotonic() + timeout
        while not self._is_over():
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True

    def _is_over(self) -> bool:
        if self._popen.returncode is None and hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._popen.poll() is not None

    def _signal(self, number: int) -> None:
        if self._popen.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._popen.pid, number)
            else:
                self._popen.terminate()

    # ---- the three pipes, each in a thread ---------------------------------------------------------------------------

    def _feed(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):  # it has ended, or reads no more: the reader will tell
            while (data := self._to_write.get()) is not None:
                pipe.write(data)
                pipe.flush()
        with contextlib.suppress(OSError, ValueError):
            pipe.close()

    def _hear(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(LONGEST):
                if len(line) >= LONGEST and not line.endswith(b"\n"):
                    got = f"a line of more than {LONGEST >> 20} MB"
                    self._lines.put(SourceError("cannot use the output of the command", got=got, need="one JSON object a line"))
                    break
                if line.strip() and not self._unheard:
                    self._lines.put(line)
        if not self._unheard:
            self._lines.put(None)

    def _overhear(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(65536):
                text = redact(line.decode("utf-8", "replace"))  # it has our environment, and the keys in it
                if text.strip():
                    self._said.append(text.strip()[:300])
                with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream that is gone or was never there
                    sys.stderr.write(text)
