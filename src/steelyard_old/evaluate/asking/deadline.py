"""Calls that must return in time: made in threads that can be given up, since Python cannot end a thread from outside.

A process could be ended, but a model in Python is an object of this process (weights on a GPU, a closure, a client with open
connections) and cannot be handed to another. So a call that does not return in time is left to a daemon thread: its item is an
error, and the program does not wait for it, not even at its end. Code that holds the interpreter's lock without letting go (a
C extension that never returns) stops everything else in the process too; no thread can time it.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask, Model

STUCK = 8  # calls that have not returned, beyond those that may be under way: more of them would slow down everything else
_left: list[threading.Thread] = []


class TooSlow(Exception):
    """A call did not return in time. `thread` is the number of the thread that is still at it."""

    def __init__(self, seconds: float, thread: int | None = None) -> None:
        self.seconds, self.thread = seconds, thread
        super().__init__(f"nothing within {seconds:g} s")


def leave_behind(thread: threading.Thread) -> None:
    """Nobody waits for this thread any more."""
    _left.append(thread)


def left_behind() -> int:
    """How many threads that were given up are still at work: a program that ends must not wait for them."""
    _left[:] = [thread for thread in _left if thread.is_alive()]
    return len(_left)


LONGEST = 10_000_000  # a third of a year; clocks of the system end somewhere


def seconds_of(timeout: Any) -> float:
    """A timeout that makes sense."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST:
        raise UsageError("cannot use timeout", got=repr(timeout), need=f"seconds above 0, at most {LONGEST:,}")
    return float(timeout)


class Calls:
    """Makes calls in threads of its own, and gives up those that take longer than `seconds`. Safe from any thread."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds_of(seconds)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._given_up: list[_Worker] = []

    def make(self, call: Callable[[], Any]) -> Any:
        """What the call returns or raises; TooSlow if it does neither in time."""
        with self._lock:
            worker = self._idle.pop() if self._idle else _Worker()
        done = worker.take(call)
        if not done.over.wait(self.seconds):
            worker.leave()
            with self._lock:
                self._given_up.append(worker)
            leave_behind(worker.thread)
            raise TooSlow(self.seconds, worker.thread.ident)
        with self._lock:
            self._idle.append(worker)
        if done.fault is not None:
            raise done.fault
        return done.returned

    @property
    def stuck(self) -> int:
        """How many calls that were given up have still not returned."""
        with self._lock:
            self._given_up = [worker for worker in self._given_up if worker.thread.is_alive()]
            return len(self._given_up)

    def close(self) -> None:
        """Let the threads go that wait for a call."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.leave()


class _Done:
    """Where a call leaves what became of it."""

    __slots__ = ("fault", "over", "returned")

    def __init__(self) -> None:
        self.returned: Any = None
        self.fault: BaseException | None = None
        self.over = threading.Event()


class _Worker:
    """One thread that makes one call after the other."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], _Done] | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, name="call with a timeout", daemon=True)
        self.thread.start()

    def take(self, call: Callable[[], Any]) -> _Done:
        context, done = contextvars.copy_context(), _Done()
        self._waiting.put((lambda: context.run(call), done))
        return done

    def leave(self) -> None:
        """End after what it is at."""
        self._waiting.put(None)

    def _work(self) -> None:
        while (given := self._waiting.get()) is not None:
            call, done = given
            try:
                done.returned = call()
            except BaseException as fault:  # whatever it is, the one that waits must hear of it
                done.fault = fault
            done.over.set()
            del given, call, done  # what a call returned is not kept until the next one


class Timed:
    """A `Model` (evaluate/asking/asks.py) whose calls end in time, whatever the model does. One call is one answer, or one batch."""

    def __init__(self, model: Model, seconds: float) -> None:
        self.model, self.name, self.batch, self.concurrency = model, model.name, model.batch, model.concurrency
        self.identity: Mapping[str, Any] = model.identity
        self._calls = Calls(seconds)

    @property
    def warnings(self) -> Sequence[str]:
        return getattr(self.model, "warnings", ())

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask; an error for each of them, if the model does not return in time."""
        start = time.perf_counter()
        try:
            answers: list[Answer] = self._calls.make(lambda: self.model.ask(asks))
        except TooSlow as slow:
            give_up = getattr(self.model, "give_up", None)
            if give_up is not None:
                give_up(slow.thread)
            stuck = self._calls.stuck
            if stuck >= max(1, self.concurrency) + STUCK:
                raise SourceError(
                    f"{stuck} calls of the model {self.name!r} have not returned; each was given up after {slow.seconds:g} s.",
                    got=f"{stuck} calls that have not returned, each given up after {slow.seconds:g} s",
                    need="a model that returns",
                    hint="raise the timeout, or see where it hangs",
                ) from None
            many = f" (a batch of {len(asks)})" if len(asks) > 1 else ""
            error = f"timeout: no answer within {slow.seconds:g} s{many}"
            return [Answer(error=error, seconds=time.perf_counter() - start) for _ in asks]
        return answers

    def stop(self) -> None:
        """Begin nothing more, as the model understands it."""
        stop = getattr(self.model, "stop", None)
        if stop is not None:
            stop()

    def close(self) -> None:
        self._calls.close()
        self.model.close()
