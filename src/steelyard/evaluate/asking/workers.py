"""The threads that ask one model: batches in, answers written down and out, faults told."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from steelyard.errors import DataError
from steelyard.evaluate.asking.asks import Answer, Ask, Model
from steelyard.evaluate.asking.journal import Journal
from steelyard.evaluate.asking.plain import plain_answer

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
            got = f"{len(said)} answers to {len(asks)} asks" if isinstance(said, list | tuple) else f"a {type(said).__name__}"
            raise DataError(f"cannot use the answers of {self.model.name}", got=got, need="one each")
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


def dismiss(desks: Sequence[WorkerPool]) -> None:
    for desk in desks:
        desk.closed.set()
        for _ in desk.threads:
            desk.waiting.put(None)
