"""Models that are Python: a function, an async function, an object with `generate`, a scikit-learn estimator.

A function gets the input of the case as its one positional argument, and by name whatever it declares of `row` (the item as the
data have it, its truth included), `messages`, `seed`, `repeat`. One with the attribute `batched = True`, or any with a
batch size, gets lists of them and returns a list of as many answers. Where the probability of the input is asked for (perplexity),
an answer is the list of the log-probabilities of its tokens. An exception in a call is the error of that item.

A PyTorch module goes through a function, which knows how to make a tensor of an input and a label of the outcome:

    @torch.inference_mode()
    def predict(inputs):
        return net(torch.tensor(inputs)).argmax(dim=1).tolist()
    predict.batched = True
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from steelyard_old.errors import DataError, UsageError, with_article
from steelyard_old.evaluate.asking.asks import Answer, Ask
from steelyard_old.evaluate.asking.deadline import leave_behind
from steelyard_old.evaluate.asking.plain import answer_of, logprobs_of, plain, words
from steelyard_old.evaluate.task.prompts import text_of

EXTRAS = ("row", "messages", "seed", "repeat")
BATCH = 32  # of a function that says `batched`
TABLE = 256  # rows of a table that an estimator predicts at once
LATER = 16  # async calls at once, if nobody says
REACTS = 2.0  # seconds in which an event loop must react


class CallableModel:
    """A `Model` (evaluate/asking/asks.py) that is a function: sync or async, one input or a list of them."""

    def __init__(
        self,
        call: Callable[..., Any],
        *,
        name: str,
        identity: Mapping[str, Any],
        batch: int | None = None,
        concurrency: int | None = None,
        keywords: Mapping[str, Any] | None = None,
        unwrap: bool = False,
        of_input: bool = False,
    ) -> None:
        if batch is not None and batch < 1:
            raise UsageError(f"The batch of {name} must be at least 1, not {batch}.", got=f"a batch of {batch}", need="at least 1")
        self.name, self.identity = name, identity
        self.batched = batch is not None or bool(getattr(call, "batched", False))
        self.batch = batch or (BATCH if self.batched else 1)
        later = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
        self.concurrency = concurrency or (LATER if later else 1)
        self._call, self._keywords, self._unwrap, self._of_input = call, dict(keywords or {}), unwrap, of_input
        self._extras = _extras(call, name, self._keywords)
        self._loop = _Loop()

    def give_up(self, thread: int | None) -> None:
        """The thread with this number will not be waited for: what it awaits is cancelled."""
        self._loop.give_up(thread)

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask, in their order."""
        if not self.batched:
            return [self._single(ask) for ask in asks]
        return self._several(asks)

    def close(self) -> None:
        """Let the event loop go, if there was one."""
        self._loop.close()

    def _single(self, ask: Ask) -> Answer:
        start = time.perf_counter()
        try:
            returned = self._returned(ask.case.input, {name: _extra(name, ask) for name in self._extras})
        except (Exception, SystemExit) as fault:  # a library that calls exit() must not end the run without a word
            return Answer(error=words(fault), seconds=time.perf_counter() - start)
        return self._bare(returned, time.perf_counter() - start)

    def _several(self, asks: Sequence[Ask]) -> list[Answer]:
        start = time.perf_counter()
        try:
            lists = {name: [_extra(name, ask) for ask in asks] for name in self._extras}
            returned = self._returned([ask.case.input for ask in asks], lists)
        except (Exception, SystemExit) as fault:
            if len(asks) > 1:  # one of them is to blame, and the others shall have their answers
                return [answer for ask in asks for answer in self._several([ask])]
            return [Answer(error=words(fault), seconds=time.perf_counter() - start)]
        seconds = (time.perf_counter() - start) / len(asks)
        return [self._bare(each, seconds) for each in listed(returned, len(asks), self.name)]

    def _returned(self, given: Any, extras: Mapping[str, Any]) -> Any:
        returned = self._call(given, **self._keywords, **extras)
        if inspect.isawaitable(returned):
            return self._loop.result(returned)
        if self._unwrap and callable(getattr(returned, "result", None)):  # the future that generate_async may give
            return returned.result()
        return returned

    def _bare(self, returned: Any, seconds: float) -> Answer:
        """The answer in what was returned, taken out of what an inference engine wraps it in."""
        if self._of_input:
            return logprobs_of(returned, seconds=seconds)
        if not self._unwrap:
            return answer_of(returned, seconds=seconds)
        if isinstance(returned, list) and len(returned) == 1:
            returned = returned[0]
        try:
            return answer_of(text_of(returned), seconds=seconds)
        except Exception as fault:  # an object that fails when it is looked at
            return Answer(error=f"unusable answer: {words(fault)}", seconds=seconds)


class Estimator:
    """A `Model` that is a fitted estimator in scikit-learn's sense: `predict` of a table gives one label or number a row.

    Lists of features become a table of numbers; mappings are put in the order of `feature_names_in_`, where the estimator has
    it; texts stay a list of texts, as a pipeline that begins with a vectorizer wants them.
    """

    concurrency = 1  # estimators bring threads of their own

    def __init__(
        self, estimator: Any, *, name: str, identity: Mapping[str, Any], batch: int | None = None, concurrency: int | None = None
    ) -> None:
        if batch is not None and batch < 1:
            raise UsageError(f"The batch of {name} must be at least 1, not {batch}.", got=f"a batch of {batch}", need="at least 1")
        self.name, self.identity, self.batch = name, identity, batch or TABLE
        self.concurrency = concurrency or 1
        self._estimator = estimator

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask, in their order."""
        start = time.perf_counter()
        try:
            predicted = self._estimator.predict(self._table([ask.case.input for ask in asks]))
        except (Exception, SystemExit) as fault:
            if len(asks) > 1:
                return [answer for ask in asks for answer in self.ask([ask])]
            return [Answer(error=words(fault), seconds=time.perf_counter() - start)]
        seconds = (time.perf_counter() - start) / len(asks)
        if getattr(predicted, "ndim", 1) == 2 and predicted.shape[1] == 1:
            predicted = predicted[:, 0]
        return [answer_of(each, seconds=seconds) for each in listed(predicted, len(asks), self.name)]

    def close(self) -> None:
        """Nothing to let go of."""

    def _table(self, inputs: list[Any]) -> Any:
        if all(isinstance(each, str) for each in inputs):
            return inputs
        import numpy as np

        names = getattr(self._estimator, "feature_names_in_", None)
        rows = [_in_order(each, names) if isinstance(each, Mapping) else each for each in inputs]
        lengths = {len(row) if isinstance(row, list | tuple) or hasattr(row, "__len__") else -1 for row in rows}
        if len(lengths) != 1 or lengths == {-1}:
            raise ValueError("the inputs are not rows of one table: each must be a list with the same number of features")
        try:
            table = np.array(rows, dtype=float)
        except (TypeError, ValueError):
            table = np.array(rows, dtype=object)
        return _named(table, names) if names is not None and isinstance(inputs[0], Mapping) else table


def listed(returned: Any, n: int, name: str) -> list[Any]:
    """The answers to a batch: as many as there were inputs, or the model cannot be used at all."""
    try:
        returned = returned.tolist() if callable(getattr(returned, "tolist", None)) else returned
    except Exception as fault:
        raise DataError(
            f"The answers of {name} cannot be read: {words(fault)}.", got=words(fault), need="a list with one answer per input"
        ) from fault
    if isinstance(returned, list | tuple) and len(returned) == n:
        return list(returned)
    got = f"{len(returned)} answers" if isinstance(returned, list | tuple) else with_article(type(returned).__name__)
    raise DataError(
        f"{name} must return a list with one answer per input; it gave {got} to a batch of {n}.",
        got=f"{got} to a batch of {n}",
        need="a list with one answer per input",
    )


# ---- what a function wants -------------------------------------------------------------------------------------------


def _extra(name: str, ask: Ask) -> Any:
    if name in ("row", "messages"):
        return getattr(ask.case, name)
    return getattr(ask, name)


def _extras(call: Callable[..., Any], name: str, keywords: Mapping[str, Any]) -> tuple[str, ...]:
    """Which of EXTRAS the function declares. A function that cannot be called with one input is found out here."""
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):  # a builtin that does not tell
        return ()
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)]
    first = positional[0].name if positional else None
    able = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    declared = tuple(each.name for each in parameters if each.name in EXTRAS and each.name != first and each.kind in able)
    try:
        inspect.signature(call).bind(None, **dict.fromkeys((*declared, *keywords)))
    except TypeError as fault:
        told = f" and {', '.join(keywords)}" if keywords else ""
        raise UsageError(
            f"{name}{inspect.signature(call)} cannot be called with one input{told} ({fault}); it needs one "
            f"positional parameter, and those named {', '.join(EXTRAS)} are given where it declares them.",
            got=f"one input{told}: {fault}",
            need=f"one positional parameter; those named {', '.join(EXTRAS)} are given too, where declared",
        ) from None
    return declared


def _in_order(row: Mapping[str, Any], names: Any) -> list[Any]:
    if names is None:
        return [plain(each) for each in row.values()]
    lacking = [name for name in names if name not in row]
    if lacking:
        raise KeyError(f"no column {lacking[0]!r}, which the estimator was fitted with")
    return [plain(row[name]) for name in names]


def _named(table: Any, names: Any) -> Any:
    """The table with its column names, if pandas is there to hold them: estimators fitted with names want them back."""
    try:
        import pandas
    except ImportError:
        return table
    return pandas.DataFrame(table, columns=list(names))


# ---- async -----------------------------------------------------------------------------------------------------------


class _Loop:
    """One event loop in one thread, begun when the first awaitable comes. Threads that ask wait here for its result.

    A loop that does not react any more (a coroutine that never awaits) is left behind, and another takes its place.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._waiting: dict[int, concurrent.futures.Future[Any]] = {}  # by the number of the thread that waits

    def result(self, awaitable: Awaitable[Any]) -> Any:
        me = threading.get_ident()
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="async model", daemon=True)
                self._thread.start()
            future = self._waiting[me] = asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise RuntimeError("cancelled") from None
        finally:
            with self._lock:
                self._waiting.pop(me, None)

    def give_up(self, thread: int | None) -> None:
        with self._lock:
            future = self._waiting.get(thread or 0)
            loop, loop_thread = self._loop, self._thread
        if future is None or loop is None or loop_thread is None:
            return
        future.cancel()
        alive = threading.Event()
        loop.call_soon_threadsafe(alive.set)
        if alive.wait(REACTS):
            return
        with self._lock:
            if self._loop is loop:
                self._loop = self._thread = None
        leave_behind(loop_thread)

    def close(self) -> None:
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        with contextlib.suppress(TimeoutError, concurrent.futures.CancelledError):  # a coroutine may not let itself be cancelled
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(REACTS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(REACTS)
        if thread.is_alive():
            leave_behind(thread)
        else:
            loop.close()


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as fault:  # they would end the loop, and everybody would wait for ever
        raise RuntimeError(words(fault)) from fault


async def _cancel_all() -> None:
    """What is still running was given up; it must not be left behind half-way without a word to it."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
