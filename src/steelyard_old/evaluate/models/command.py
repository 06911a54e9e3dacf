"""A model that is a program: one JSON object a line on its standard input, one a line on its standard output.

It is started once and stays. It gets {"id": "7", "input": ..., "messages": [...], "repeat": 1, "seed": 123} (messages only where
the input is a text; the truth never) and answers {"id": "7", "prediction": ...}, or `said`, or {"id": "7", "error": "..."}, and
may add finish, tokens_in, tokens_out. With a batch size it gets that many lines before answers are waited for, and may answer
them in any order; `repeat` must come back where two repeats of an item are in one batch. It must flush after each line
(Python programs are made to).
Its standard error is passed on. At the end its input is closed; a program that does not end then is ended.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

from steelyard_old.errors import SourceError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask
from steelyard_old.evaluate.asking.plain import answer_of, first_line, logprobs_of, plain
from steelyard_old.redaction import redact, shortened

LONGEST = 64 * 2**20  # bytes of a line; no answer is that long
AHEAD = 1000  # lines that may wait to be read, before the program has to wait
REMEMBERED = 5  # last lines of standard error that a message may quote
GRACE = 5.0  # seconds between closing its input, asking it to end, and ending it


class SilentTooLong(Exception):
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
                f"Cannot run {argv[0]!r}: {got}.",
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
        """The next line; None when the program has closed its output. `SilentTooLong` if nothing comes in time."""
        if self._over:
            return None
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise SilentTooLong from None
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
                    self._lines.put(
                        SourceError(
                            f"The command printed {got}; it must print one JSON object a line.", got=got, need="one JSON object a line"
                        )
                    )
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


RESTARTS = 3
TIMEOUT = 600.0  # seconds without a line: loading a large model takes minutes


class CommandModel:
    """A `Model` (evaluate/asking/asks.py) that is a program. Asked by one thread at a time, whoever calls.

    A program that ends, or is silent for `timeout` seconds, costs the items in flight (they are errors) and is started again,
    at most three times in a run. What cannot be right at all (no JSON, an id that was not asked, an answer too many) ends the run.
    """

    concurrency = 1

    def __init__(
        self, text: str, *, name: str | None = None, batch: int | None = None, timeout: float | None = None, of_input: bool = False
    ) -> None:
        self._argv = _words(text)
        if batch is not None and batch < 1:
            raise UsageError(f"The batch of {text!r} must be at least 1, not {batch}.", got=f"a batch of {batch}", need="at least 1")
        if timeout is not None and not 0 < timeout < math.inf:
            raise UsageError(
                f"The timeout of {text!r} must be a number of seconds above 0, not {timeout}.",
                got=f"a timeout of {timeout}",
                need="seconds above 0",
            )
        self.name, self.batch, self.timeout = name or text, batch or 1, timeout or TIMEOUT
        self.identity: Mapping[str, Any] = {"kind": "command", "argv": list(self._argv)}
        self.of_input = of_input
        self._turn, self._stopped = threading.Lock(), threading.Event()
        self._process: Process | None = None
        self._starts = 0

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask, in their order."""
        with self._turn:
            if self._stopped.is_set():
                return [Answer(error="stopped: the run has ended") for _ in asks]
            process = self._running()
            start = time.perf_counter()
            waiting = {(ask.case.id, ask.repeat): place for place, ask in enumerate(asks)}
            answers: list[Answer | None] = [None] * len(asks)
            process.write(b"".join(_line(ask) for ask in asks))
            lost = "no answer"
            while waiting:
                try:
                    line = process.read(self.timeout)
                except SilentTooLong:
                    lost = self._gone(process, f"timeout: silent for {self.timeout:g} seconds", hung=True)
                    break
                if line is None:
                    lost = self._gone(process, f"crash: the program ended with {process.ended()}", hung=False)
                    break
                place, answer = self._matched(process, line, waiting)
                answers[place] = answer if answer.seconds is not None else replace(answer, seconds=time.perf_counter() - start)
            return [Answer(error=lost, seconds=time.perf_counter() - start) if each is None else each for each in answers]

    def stop(self) -> None:
        """Begin nothing more: asks that wait for their turn are answered with an error."""
        self._stopped.set()

    def close(self) -> None:
        """Close its input, give it a moment, and end it."""
        process, self._process = self._process, None
        if process is None:
            return
        if self._turn.locked():  # somebody still waits for an answer that nobody wants any more
            process.kill()
        else:
            process.close()

    # ---- the program -------------------------------------------------------------------------------------------------

    def _running(self) -> Process:
        if self._process is None:
            self._process = Process(self._argv)
            self._starts += 1
        return self._process

    def _gone(self, process: Process, what: str, *, hung: bool) -> str:
        """End what is left of a program that failed; the error of the items in flight. Too often is the end of the run."""
        self._process = None
        process.kill()
        said = process.last_words()
        if self._starts <= RESTARTS:
            return what + (f"; {first_line(said[-1])}" if said else "")
        last = f"; at last it said {' | '.join(said)!r}" if said else ""
        raise SourceError(
            f"The command {self.name!r} failed {self._starts} times: {what}{last}.",
            got=f"{what}, {self._starts} times{last}",
            need="a program that answers every line",
            hint="does it flush its output after each line (print(..., flush=True)), and answer before the input ends?"
            if hung
            else "run it by hand with one line of input",
        )

    def _matched(self, process: Process, line: bytes, waiting: dict[tuple[str, int], int]) -> tuple[int, Answer]:
        try:
            told = json.loads(line)
        except (RecursionError, ValueError) as fault:
            told = None
            if len(waiting) == 1 and not isinstance(fault, json.JSONDecodeError | UnicodeDecodeError):
                # JSON that we cannot hold (lists in lists without end, a number of thousands of digits): there is no doubt whose it is.
                return waiting.pop(next(iter(waiting))), Answer(error=f"unreadable answer: {_why(fault)}")
        if not isinstance(told, Mapping):
            raise self._wrong(process, f"the line {_shown(line)}", "one JSON object a line", "messages belong on standard error")
        if told.get("id") is None:
            raise self._wrong(process, f"an answer without id: {_shown(line)}", "the id of the input with its answer")
        id_, repeat = str(told["id"]), told.get("repeat")
        fitting = [key for key in waiting if key[0] == id_ and (repeat is None or str(key[1]) == str(repeat))]
        if not fitting:
            got = f"an answer to what was not asked, or is answered already: {_shown(line)}"
            raise self._wrong(process, got, "one answer per line of input")
        if len(fitting) > 1:
            raise self._wrong(process, f"an answer that may be to {len(fitting)} repeats: {_shown(line)}", "the repeat with the answer")
        rest = {key: value for key, value in told.items() if key not in ("id", "repeat")}
        return waiting.pop(fitting[0]), (logprobs_of if self.of_input else answer_of)(rest)

    def _wrong(self, process: Process, got: str, need: str, hint: str = "") -> SourceError:
        self._process = None
        process.kill()
        return SourceError(f"The command {self.name!r} gave {got}; it must give {need}.", got=got, need=need, hint=hint)


def _words(text: str) -> list[str]:
    try:
        argv = shlex.split(text)
    except ValueError as fault:
        raise UsageError(
            f"The command {text!r} cannot be split into words ({fault}).", got=str(fault), need="a command line with its quotes closed"
        ) from fault
    if not argv:
        raise UsageError("The command is empty.", got="an empty one", need="a program and its arguments", hint="command:./predict --fast")
    if shutil.which(argv[0]) is None:
        here = f"write ./{argv[0]} if it is in this directory; " if "/" not in argv[0] else ""
        raise UsageError(
            f"No program {argv[0]!r} that can be executed.",
            got=f"no program {argv[0]!r} that can be executed",
            need="a program on the PATH, or a path to one",
            hint=f"{here}chmod +x makes a file executable",
        )
    return argv


def _line(ask: Ask) -> bytes:
    case = ask.case
    told: dict[str, Any] = {"id": case.id, "input": _without_nan(plain(case.input, f"the input of {case.id!r}"))}
    if case.messages is not None:
        told["messages"] = plain(case.messages)
    return json.dumps({**told, "repeat": ask.repeat, "seed": ask.seed}, allow_nan=False).encode() + b"\n"


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: a number that is missing is null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return {key: _without_nan(each) for key, each in value.items()} if isinstance(value, dict) else value


def _why(fault: Exception) -> str:
    return "JSON that is nested too deep" if isinstance(fault, RecursionError) else first_line(str(fault))


def _shown(line: bytes) -> str:
    text = repr(line.decode("utf-8", "replace").strip())
    return shortened(text, 120)
