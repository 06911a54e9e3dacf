"""Asking the models: many asks at once, answers in the order of the asks, nothing asked that the journal knows already.

The thread that iterates takes asks from their source, never more than a window ahead; worker threads, a few per model, ask,
let a judge have its say, and write the answer down before anybody sees it. All counting is done by the one that iterates.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import queue
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import field
from types import TracebackType
from typing import Any, Protocol

from steelyard_old.errors import DataError, UsageError, with_article
from steelyard_old.evaluate.asking.asks import Answer, Ask, Case, Model
from steelyard_old.evaluate.asking.deadline import leave_behind
from steelyard_old.evaluate.asking.journal import Journal
from steelyard_old.evaluate.asking.plain import plain_answer, words
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.run import MAX_ERROR_RATE

After = Callable[[Ask, Answer], Answer]
Batch = list[tuple[int, Ask]]  # asks, with their places in the order of all
Arrival = tuple[Batch, list[Answer | None], BaseException | None]  # no answer: it was not asked, or the fault is its own


class WorkerPool:
    """Where a model's asks wait, and the threads that take them from there. Threads are started as they are needed."""

    def __init__(self, model: Model, journal: Journal | None, after: After | None, most: int) -> None:
        self.model, self.journal, self.after = model, journal, after
        self.batch, self.most = max(1, model.batch), max(1, most)
        self.closed = threading.Event()
        self.waiting: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []

    def take(self, batch: Batch, arrivals: queue.SimpleQueue[Arrival]) -> None:
        self.waiting.put(batch)
        if len(self.threads) < self.most:
            # Daemons: who presses Ctrl-C twice does not want to wait for them.
            thread = threading.Thread(target=self._work, args=(arrivals,), name=f"asking {len(self.threads)}", daemon=True)
            self.threads.append(thread)
            thread.start()

    @property
    def busy(self) -> bool:
        """Whether somebody still works here."""
        return any(thread.is_alive() for thread in self.threads)

    def _work(self, arrivals: queue.SimpleQueue[Arrival]) -> None:
        while (batch := self.waiting.get()) is not None:
            answers: list[Answer | None] = [None] * len(batch)
            fault: BaseException | None = None
            if not self.closed.is_set():
                try:
                    fault = self._ask(batch, answers)
                except BaseException as raised:  # whatever it is, the one that waits must hear of it
                    fault = raised
            arrivals.put((batch, answers, fault))

    def _ask(self, batch: Batch, answers: list[Answer | None]) -> BaseException | None:
        """Fill in the answers. A fault with one of them does not lose the others."""
        asks = [ask for _, ask in batch]
        said = self.model.ask(asks)
        if not isinstance(said, list | tuple) or len(said) != len(asks):
            got = f"{len(said)} answers to {len(asks)} asks" if isinstance(said, list | tuple) else with_article(type(said).__name__)
            raise DataError(f"{self.model.name} must give one answer to each ask; it gave {got}.", got=got, need="one each")
        first: BaseException | None = None
        for place, (ask, answer) in enumerate(zip(asks, said, strict=True)):
            try:
                answer = plain_answer(answer)
                if self.after is not None and answer.error is None:
                    answer = plain_answer(self.after(ask, answer))
                answers[place] = answer if self.journal is None else self.journal.add(ask, self.model, answer)
            except BaseException as fault:
                first = first or fault
        return first

    def dismiss(self) -> None:
        """End after what is under way."""
        self.closed.set()
        for _ in self.threads:
            self.waiting.put(None)


class SharedThread:
    """The same for a model that can be asked any number of things from one thread (`all_at_once`), which starts with the first ask."""

    batch = 1

    def __init__(self, model: Model, journal: Journal | None, most: int) -> None:
        self.model, self.journal, self.most = model, journal, max(1, most)
        self.threads: list[threading.Thread] = []
        self._asked: Any = None

    def take(self, batch: Batch, arrivals: queue.SimpleQueue[Arrival]) -> None:
        if self._asked is None:
            self._asked = self.model.all_at_once(self.most, functools.partial(self._arrived, arrivals))  # type: ignore[attr-defined]
            self.threads.append(self._asked.thread)
        for each in batch:
            self._asked.take(each)

    @property
    def busy(self) -> bool:
        """Whether somebody still works here."""
        return any(thread.is_alive() for thread in self.threads)

    def dismiss(self) -> None:
        """End after what is under way."""
        if self._asked is not None:
            self._asked.dismiss()

    def _arrived(self, arrivals: queue.SimpleQueue[Arrival], over: Sequence[tuple[tuple[int, Ask], Answer | None, Any]]) -> None:
        """Write down what was answered, all of it in one write, and hand it on."""
        answered = [(ask, plain_answer(answer)) for (_, ask), answer, _ in over if answer is not None]
        fault: BaseException | None = next((fault for _, _, fault in over if fault is not None), None)
        kept: Iterator[Answer | None] = iter([answer for _, answer in answered])
        if self.journal is not None and answered:
            try:
                self.journal.add_all(self.model, answered)
            except BaseException as unwritten:
                kept, fault = itertools.repeat(None), fault or unwritten
        arrivals.put(([place for place, _, _ in over], [None if answer is None else next(kept) for _, answer, _ in over], fault))


def dismiss(pools: Sequence[WorkerPool | SharedThread]) -> None:
    for pool in pools:
        pool.dismiss()


def pool_of(model: Model, journal: Journal | None, after: After | None, most: int) -> WorkerPool | SharedThread:
    """Who asks this model: one thread where that is enough, otherwise one for each ask that is under way. A judge needs those."""
    if after is None and getattr(model, "one_thread", False):
        return SharedThread(model, journal, most)
    return WorkerPool(model, journal, after, most)


HOPELESS = 10  # so many errors of a model before its first answer end the run
# Seconds that an interrupted run waits for what is in flight: who sends SIGTERM has a clock of his own, and soon sends SIGKILL.
AFTER_CTRL_C, AFTER_SIGTERM = 10.0, 5.0
# A Ctrl-C that comes a moment before the wait begins does not end it (on Windows none does), so no wait is without end.
_PATIENCE = 0.5


@dataclass(slots=True, kw_only=True)
class AskingState:
    """What has been asked so far. `done` are the answers handed out, in order; `wasted` those that nobody wanted any more."""

    total: int | None = None
    done: int = 0
    asked: int = 0
    from_journal: int = 0
    in_flight: int = 0
    wasted: int = 0
    errors: Counter[str] = field(default_factory=Counter)  # by kind
    examples: dict[str, str] = field(default_factory=dict)  # kind to the first error of it, with the id of its item
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def failed(self) -> int:
        """How many asks ended in an error."""
        return self.errors.total()


class Watcher(Protocol):
    """Somebody who shows how it goes."""

    def __call__(self, asked: AskingState) -> None:
        """Answers have arrived."""

    def ending(self, in_flight: int) -> None:
        """The run was interrupted, and waits a few seconds for what is in flight."""


def interleaved(cases: Iterable[Case | None], repeats: int, models: Sequence[int], seed: int) -> Iterator[Ask | None]:
    """Every case asked `repeats` times of each model: case by case, and within a case in an order drawn by hash.

    So what changes with time (load, a server's update) meets all models alike. `models`: their places, read anew for every case. An
    ask's seed comes from the run's seed, the id and the repeat, and is the same for all models. None among the cases is passed on:
    nothing more for now.
    """
    if repeats < 1 or not models:
        raise UsageError(
            f"Asking takes at least one model and one repeat, not {len(models)} and {repeats}.",
            got=f"{repeats} repeats of {len(models)} models",
            need="at least one of each",
        )
    for case in cases:
        if case is None:
            yield None
            continue
        pairs = [(repeat, model) for repeat in range(1, repeats + 1) for model in models]
        pairs.sort(key=lambda pair: _hash(seed, "order", case.id, *pair))
        for repeat, model in pairs:
            yield Ask(case=case, repeat=repeat, seed=item_seed(seed, case.id, repeat), model=model)


def item_seed(seed: int, id_: str, repeat: int) -> int:
    """The seed of one item and repeat: 31 bits, which every server takes.

    >>> item_seed(0, "a", 1) == item_seed(0, "a", 1), item_seed(0, "a", 1) == item_seed(0, "a", 2)
    (True, False)
    """
    return int.from_bytes(_hash(seed, "seed", id_, repeat)[:4], "big") >> 1


def _hash(*parts: Any) -> bytes:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()


def ask_all(
    asks: Iterable[Ask | None],
    models: Sequence[Model],
    journal: Journal | None,
    *,
    concurrency: int | None = None,
    max_error_rate: float = MAX_ERROR_RATE.default,
    total: int | None = None,
    ahead: int | None = None,
    after: After | None = None,
    progress: Watcher | None = None,
) -> Asking:
    """Ask everything, and give (ask, answer) in the order of `asks`. Use it in a `with`, so that an early end is an orderly one.

    concurrency: threads per model (default: what the model says). ahead: how many asks may be begun before the first of them
    is handed out (default: twice what can be in flight); it bounds memory, and what an early end wastes. total: how many asks
    there are, for the error budget (default: the length of `asks`, if it has one). after: called with each answer that has
    no error, in the thread that asked, before it is written down: a judge. None among the asks holds the others back until
    the answers so far have been taken.

    Errors beyond `max_error_rate` of all asks, or ten errors of a model before its first answer, end the run with a
    DataError; an exception of a model ends it with that exception. Either way what is in flight is finished and written
    down, and nothing new is begun. After Ctrl-C or SIGTERM it is waited for a few seconds only: a model may never return.
    """
    if not 0 <= max_error_rate <= 1:
        raise UsageError("cannot use max_error_rate", got=f"{max_error_rate!r}", need="a number between 0 and 1", hint="write 0.05 for 5%")
    for what, given in (("concurrency", concurrency), ("ahead", ahead)):
        if given is not None and given < 1:
            raise UsageError(f"{what} must be at least 1, not {given}.", need="at least 1")
    if total is None and isinstance(asks, Sized):
        total = len(asks)
    return Asking(asks, models, journal, concurrency, max_error_rate, total, ahead, after, progress)


class Asking(Iterator[tuple[Ask, Answer]]):
    """The answers as they come, in the order of the asks. `asked` tells how it went; `close` ends it early."""

    def __init__(
        self,
        asks: Iterable[Ask | None],
        models: Sequence[Model],
        journal: Journal | None,
        concurrency: int | None,
        max_error_rate: float,
        total: int | None,
        ahead: int | None,
        after: After | None,
        progress: Watcher | None,
    ) -> None:
        self.asked = AskingState(total=total)
        self._asks: Iterator[Ask | None] = iter(asks)
        self._journal, self._models = journal, list(models)
        self._max_error_rate, self._progress = max_error_rate, progress
        self._pools = [pool_of(model, journal, after, concurrency or model.concurrency) for model in self._models]
        self._arrivals: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        self._step = sum(pool.batch for pool in self._pools)
        self._window = ahead or 2 * sum(pool.batch * pool.most for pool in self._pools)
        self._ready: dict[int, tuple[Ask, Answer]] = {}
        self._taken = 0  # asks taken from their source; asked.done of them were handed out
        self._exhausted = self._ended = self._given_up = False
        self._fault: BaseException | None = None
        self._answered: Counter[int] = Counter()
        self._failed: Counter[int] = Counter()
        # Somebody who forgets to close must not leave threads behind that wait for ever.
        self._forgotten = weakref.finalize(self, dismiss, self._pools)

    def __iter__(self) -> Asking:
        return self

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self._wind_up(fault)

    def __next__(self) -> tuple[Ask, Answer]:
        if self._ended:
            raise StopIteration
        try:
            found = self._next()
        except BaseException as fault:
            self._wind_up(fault)  # a second Ctrl-C leaves from here, at once
            raise
        if found is None:
            self.close()
            raise StopIteration
        return found

    def close(self, within: float | None = None) -> None:
        """Begin nothing new, wait for what is in flight (it is written down), and let the threads go; not longer than `within` seconds."""
        self._begin_nothing_new()
        until = math.inf if within is None else time.monotonic() + within
        try:
            # The threads end after what they are at. Their number is no guide: an interrupt can lose an arrival on its way here.
            while self.asked.in_flight > 0 and not self._given_up and any(pool.busy for pool in self._pools):
                self._arrive_in_time()
                if time.monotonic() >= until:
                    self._give_up()
            self._settle()
            self.asked.in_flight = 0
        except BaseException:  # a second Ctrl-C: nobody shall wait again
            self._give_up()
            raise
        self.asked.wasted += len(self._ready)
        self._ready.clear()

    def _give_up(self) -> None:
        self._given_up = True
        for thread in [thread for pool in self._pools for thread in pool.threads if thread.is_alive()]:
            leave_behind(thread)

    def _wind_up(self, fault: BaseException | None) -> None:
        within = AFTER_CTRL_C if isinstance(fault, KeyboardInterrupt) else AFTER_SIGTERM if isinstance(fault, SystemExit) else None
        told = within is not None and not self._ended
        self._begin_nothing_new()
        if told and self._progress is not None and self.asked.in_flight > 0:
            self._progress.ending(min(self.asked.in_flight, sum(pool.most * pool.batch for pool in self._pools)))
        self.close(within)

    def _begin_nothing_new(self) -> None:
        if self._ended:
            return
        self._ended = True
        dismiss(self._pools)
        if self.asked.in_flight > 0:
            for model in self._models:
                getattr(model, "stop", _nothing)()  # an endpoint need not wait for a retry any more

    # ---- the thread that iterates ------------------------------------------------------------------------------------

    def _next(self) -> tuple[Ask, Answer] | None:
        self._take_in()
        while True:
            self._settle()
            if self._fault is not None:
                raise self._fault
            here = self._ready.pop(self.asked.done, None)
            if here is not None:
                self.asked.done += 1
                if self._progress is not None:
                    self._progress(self.asked)
                return here
            if not self.asked.in_flight:
                self._check_the_end()
                return None
            self._arrive_in_time()

    def _take_in(self) -> None:
        """Take asks from their source, as far as the window goes, in steps that fill the batches."""
        free = self._window - (self._taken - self.asked.done)
        if self._exhausted or (free < min(self._step, self._window) and (self.asked.in_flight or self._ready)):
            return
        waiting: list[Batch] = [[] for _ in self._pools]
        for _ in range(free):
            ask = next(self._asks, _NO_MORE)
            if isinstance(ask, _NothingLeft):
                self._exhausted = True
                break
            if ask is None:  # held back: whoever asked for these answers takes them first
                break
            known = self._journal.answer(ask, self._models[ask.model]) if self._journal is not None else None
            place, self._taken = self._taken, self._taken + 1
            if known is not None:
                self.asked.from_journal += 1
                self._ready[place] = ask, known
                continue
            waiting[ask.model].append((place, ask))
            if len(waiting[ask.model]) == self._pools[ask.model].batch:
                self._send(ask.model, waiting)
        for model, batch in enumerate(waiting):
            if batch:
                self._send(model, waiting)

    def _send(self, model: int, waiting: list[Batch]) -> None:
        batch, waiting[model] = waiting[model], []
        self._pools[model].take(batch, self._arrivals)
        self.asked.in_flight += len(batch)  # last: an interrupt in between must not make anybody wait for what was never sent

    def _settle(self) -> None:
        """Whatever has arrived meanwhile, without waiting."""
        try:
            while True:
                self._arrive(self._arrivals.get_nowait())
        except queue.Empty:
            return

    def _arrive_in_time(self) -> None:
        try:
            self._arrive(self._arrivals.get(timeout=_PATIENCE))
        except queue.Empty:
            return

    def _arrive(self, arrival: Arrival) -> None:
        batch, answers, fault = arrival
        self.asked.in_flight -= len(batch)
        for (place, ask), answer in zip(batch, answers, strict=True):
            if answer is not None:
                self._count(ask, answer)
                self._ready[place] = ask, answer
        if fault is not None and self._fault is None:
            self._fault = fault if isinstance(fault, Exception) else _as_error(fault)
        if self._fault is None and not self._ended:
            self._fault = self._over_budget()
        if self._progress is not None and not self._ended:
            self._progress(self.asked)

    def _count(self, ask: Ask, answer: Answer) -> None:
        self.asked.asked += 1
        self.asked.tokens_in += answer.tokens_in or 0
        self.asked.tokens_out += answer.tokens_out or 0
        if answer.error is None:
            self._answered[ask.model] += 1
        if answer.error is None or self._ended:  # what failed because it was stopped says nothing about the model
            return
        if self._journal is None or not self._journal.failed_before(ask, self._models[ask.model]):
            self._failed[ask.model] += 1
        kind = answer.error.partition(":")[0].strip()[:60] or "error"
        self.asked.errors[kind] += 1
        self.asked.examples.setdefault(kind, f"{answer.error} (item {ask.case.id!r})")

    # ---- the error budget --------------------------------------------------------------------------------------------

    def _over_budget(self) -> DataError | None:
        if self._max_error_rate >= 1:
            return None
        for model, failed in self._failed.items():
            if failed >= HOPELESS and not self._answered[model]:
                return self._too_many(f"{failed} errors and no answer from {self._models[model].name}")
        if self.asked.total is not None and self.asked.failed > self._max_error_rate * self.asked.total:
            return self._too_many(_errors_in(self.asked.failed, self.asked.total))
        return None

    def _check_the_end(self) -> None:
        if self._max_error_rate < 1 and self.asked.failed > self._max_error_rate * self._taken:
            raise self._too_many(_errors_in(self.asked.failed, self._taken))

    def _too_many(self, got: str) -> DataError:
        kinds = "; ".join(f"{count} x {kind}" for kind, count in self.asked.errors.most_common(5))
        example = self.asked.examples[self.asked.errors.most_common(1)[0][0]]
        kept = "; answers so far are kept in the journal, and the same command continues from there" if self._journal is not None else ""
        return DataError(
            f"Too many errors: {got} ({kinds}), such as {example}; at most {self._max_error_rate:.3g} of the requests may fail.",
            got=f"{got} ({kinds}), such as {example}",
            need=f"errors in at most {self._max_error_rate:.3g} of the asks",
            hint=f"fix the cause or raise max_error_rate={kept}",
        )


def _errors_in(failed: int, asked: int) -> str:
    """
    >>> _errors_in(1, 20)
    '1 error in 20 requests'
    """
    return f"{failed} error{'' if failed == 1 else 's'} in {asked} request{'' if asked == 1 else 's'}"


def _as_error(fault: BaseException) -> Exception:
    """A SystemExit of a user's function would end this program without a word."""
    return DataError(f"The model ended the run with {words(fault)}.", got=words(fault), need="a model that answers, or raises an Exception")


def _nothing() -> None:
    pass


class _NothingLeft:
    pass


_NO_MORE = _NothingLeft()
