"""Asking: the order of the asks, whatever order answers come in; bounded look-ahead; early ends, interrupts, faults, budgets, resuming."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.evaluate.asking.asking import AskingState, ask_all, interleaved, item_seed
from steelyard_old.evaluate.asking.asks import Answer, Ask, Case
from steelyard_old.evaluate.asking.journal import Journal

WAIT = 60.0  # seconds after which something that should have come never will


@pytest.fixture(autouse=True)
def no_test_hangs_for_ever() -> Iterator[None]:
    """A deadlock ends the test with an interrupt, not the session with silence."""
    watch = threading.Timer(1.5 * WAIT, os.kill, (os.getpid(), signal.SIGINT))
    watch.daemon = True
    watch.start()
    yield
    watch.cancel()


def case(id_: Any) -> Case:
    return Case(id=str(id_), input=f"q{id_}", truth=None, row={})


def asks(n: int) -> list[Ask]:
    return [Ask(case=case(i)) for i in range(n)]


class Scripted:
    """A model that does what a function says, and remembers what it was asked, and how many at once."""

    def __init__(
        self, says: Callable[[Ask], Any] = lambda ask: ask.case.id, *, name: str = "m", batch: int = 1, concurrency: int = 4
    ) -> None:
        self.says, self.name, self.batch, self.concurrency = says, name, batch, concurrency
        self.identity = {"kind": "scripted", "name": name}
        self.asked: list[str] = []
        self.batches: list[int] = []
        self.now = self.most = 0
        self.lock = threading.Lock()

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        with self.lock:
            self.asked += [ask.case.id for ask in asks]
            self.batches.append(len(asks))
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            said = [self.says(ask) for ask in asks]
        finally:
            with self.lock:
                self.now -= 1
        return [each if isinstance(each, Answer) else Answer(said=each) for each in said]

    def close(self) -> None: ...


def fails(ask: Ask) -> Answer:
    return Answer(error=f"HTTP 500: no luck with {ask.case.id}")


# ---- order -----------------------------------------------------------------------------------------------------------


@given(
    n=st.integers(0, 60),
    concurrency=st.integers(1, 8),
    batch=st.integers(1, 7),
    ahead=st.one_of(st.none(), st.integers(1, 30)),
    two=st.booleans(),
    data=st.data(),
)
def test_answers_come_in_the_order_of_the_asks(
    n: int, concurrency: int, batch: int, ahead: int | None, two: bool, data: st.DataObject
) -> None:
    """Every ask once, in order, at most `concurrency` calls at once, no batch beyond its size; threads take turns at random."""
    pause = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=9))

    def says(ask: Ask) -> str:
        for _ in range(pause[int(ask.case.id) % len(pause)]):
            time.sleep(0)  # let another thread go first
        return ask.case.id

    models = [Scripted(says, batch=1 if place else batch, name=str(place)) for place in range(1 + two)]
    given_ = [Ask(case=case(i), model=i % len(models)) for i in range(n)]
    with ask_all(given_, models, None, concurrency=concurrency, ahead=ahead) as answers:
        found = list(answers)
    assert [ask for ask, _ in found] == given_
    assert all(answer.said == ask.case.id for ask, answer in found)
    assert sorted(itertools.chain(*(model.asked for model in models)), key=int) == [str(i) for i in range(n)]
    assert all(model.most <= concurrency and max(model.batches, default=0) <= model.batch for model in models)
    assert (answers.asked.asked, answers.asked.done, answers.asked.in_flight, answers.asked.wasted) == (n, n, 0, 0)


def test_a_slow_first_answer_does_not_change_the_order() -> None:
    """The first waits until three others are there, which proves that they are asked at the same time."""
    others = threading.Semaphore(0)

    def says(ask: Ask) -> str:
        if ask.case.id == "0":
            assert all(others.acquire(timeout=WAIT) for _ in range(3))
        else:
            others.release()
        return ask.case.id

    with ask_all(asks(50), [Scripted(says)], None) as answers:
        assert [answer.said for _, answer in answers] == [str(i) for i in range(50)]


def test_batches_are_full() -> None:
    model = Scripted(batch=10, concurrency=1)
    with ask_all(asks(95), [model], None) as answers:
        assert len(list(answers)) == 95
    assert model.batches == [10] * 9 + [5]


def test_a_model_that_answers_too_little_cannot_be_used() -> None:
    model = Scripted(batch=4)
    model.ask = lambda asks: [Answer(said=1)]  # type: ignore[method-assign]
    with pytest.raises(DataError, match="1 answers to 4 asks"), ask_all(asks(8), [model], None) as answers:
        list(answers)


@pytest.mark.parametrize("batch", [1, 5])
def test_look_ahead_is_bounded(batch: int) -> None:
    """While answers are taken one by one, never more than the window has been taken from the source: a million asks fit."""
    taken = 0

    def source() -> Iterator[Ask]:
        nonlocal taken
        for ask in (Ask(case=case(i)) for i in range(1000)):
            taken += 1
            yield ask

    with ask_all(source(), [Scripted(concurrency=3, batch=batch)], None) as answers:
        for done, _ in enumerate(answers):
            assert taken - done <= 2 * 3 * batch
    assert taken == 1000


# ---- early ends ------------------------------------------------------------------------------------------------------


def test_an_early_end_begins_nothing_new_and_finishes_what_is_in_flight(tmp_path: Path) -> None:
    gate, begun = threading.Event(), threading.Semaphore(0)

    def says(ask: Ask) -> str:
        if int(ask.case.id) >= 5:
            begun.release()
            assert gate.wait(WAIT)
        return ask.case.id

    model = Scripted(says, concurrency=4)
    model.stop = gate.set  # type: ignore[attr-defined]  called once nothing new is begun
    with Journal.open(tmp_path / "j", {}) as journal:
        with ask_all(asks(1000), [model], journal) as answers:
            for _ in range(5):
                next(answers)
            assert all(begun.acquire(timeout=WAIT) for _ in range(4)), "four are in flight"
        assert answers.asked.in_flight == 0
        assert len(journal) == len(model.asked) <= 5 + 2 * 4
        assert answers.asked.wasted == len(model.asked) - 5
        assert len(model.asked) == 9, "what waited for a thread was not asked"
    assert list(answers) == []


def test_what_was_wasted_is_not_asked_again(tmp_path: Path) -> None:
    model = Scripted()
    with Journal.open(tmp_path / "j", {}) as journal, ask_all(asks(100), [model], journal) as answers:
        for _ in range(10):
            next(answers)
    first = list(model.asked)
    with Journal.open(tmp_path / "j", {}) as journal, ask_all(asks(100), [model], journal) as answers:
        assert [answer.said for _, answer in answers] == [str(i) for i in range(100)]
        assert (answers.asked.from_journal, answers.asked.asked) == (len(first), 100 - len(first))
    assert sorted(map(int, model.asked)) == list(range(100)), "each once over both runs"


def test_somebody_who_forgets_to_close_leaves_no_threads() -> None:
    before = set(threading.enumerate())
    answers = ask_all(asks(1000), [Scripted()], None)
    next(answers)
    ours = set(threading.enumerate()) - before
    assert ours
    del answers
    gc.collect()
    for thread in ours:
        thread.join(WAIT)
        assert not thread.is_alive()


def test_an_endpoint_that_waits_for_a_retry_is_told_to_stop() -> None:
    stopped = threading.Event()
    begun = threading.Event()

    def says(ask: Ask) -> Any:
        if ask.case.id == "0":
            return "0"
        begun.set()
        assert stopped.wait(WAIT)
        return Answer(error="stopped: no time for a retry")

    model = Scripted(says)
    model.stop = stopped.set  # type: ignore[attr-defined]
    with ask_all(asks(50), [model], None) as answers:
        next(answers)
        assert begun.wait(WAIT)
    assert answers.asked.failed == 0, "what was stopped says nothing about the model"


# ---- interrupts ------------------------------------------------------------------------------------------------------


class Watching:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def __call__(self, asked: AskingState) -> None: ...

    def ending(self, in_flight: int) -> None:
        self.told.append(in_flight)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_finishes_what_is_in_flight_and_comes_back(tmp_path: Path) -> None:
    interrupted, begun = threading.Event(), threading.Barrier(4)

    def says(ask: Ask) -> str:
        if int(ask.case.id) >= 3:
            if begun.wait(WAIT) == 0:
                os.kill(os.getpid(), signal.SIGINT)
            assert interrupted.wait(WAIT)
        return ask.case.id

    class Frees(Watching):
        def ending(self, in_flight: int) -> None:
            super().ending(in_flight)
            interrupted.set()

    watching, model = Frees(), Scripted(says, concurrency=4)
    with Journal.open(tmp_path / "j", {}) as journal:
        found = []
        with pytest.raises(KeyboardInterrupt), ask_all(asks(100), [model], journal, progress=watching) as answers:
            found.extend(answer.said for _, answer in answers)
        assert len(journal) == len(model.asked) == 7
        assert len(watching.told) == 1


def test_an_interrupt_in_the_hands_of_the_consumer_is_orderly_too(tmp_path: Path) -> None:
    """It comes while the one that iterates does something else; the `with` sees it."""
    model, watching = Scripted(concurrency=2), Watching()
    freed, begun = threading.Event(), threading.Event()

    def says(ask: Ask) -> str:
        if ask.case.id != "0":
            begun.set()
            assert freed.wait(WAIT)
        return ask.case.id

    model.says, model.stop = says, freed.set  # type: ignore[attr-defined]
    with Journal.open(tmp_path / "j", {}) as journal:
        with pytest.raises(KeyboardInterrupt), ask_all(asks(100), [model], journal, progress=watching) as answers:  # noqa: PT012
            next(answers)
            assert begun.wait(WAIT)
            raise KeyboardInterrupt
        assert len(journal) == len(model.asked) <= 3
    assert watching.told == [2] or watching.told == [1]


TWICE = """
    import os, signal, threading, time
    from steelyard_old.evaluate.asking.asking import ask_all
    from steelyard_old.evaluate.asking.asks import Answer, Ask, Case
    class Hangs:
        name, identity, batch, concurrency = "hangs", {}, 1, 2
        def ask(self, asks):
            threading.Event().wait()
        def close(self): ...
    class Watch:
        def __call__(self, asked): ...
        def ending(self, in_flight):
            print("waiting for", in_flight, flush=True)
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    asks = [Ask(case=Case(id=str(i), input=i, truth=None, row={})) for i in range(9)]
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with ask_all(asks, [Hangs()], None, progress=Watch()) as answers:
            list(answers)
    except KeyboardInterrupt:
        print("given up", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_second_interrupt_gives_up_at_once() -> None:
    """The model never answers, so that only giving up can end the program."""
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(TWICE)], capture_output=True, text=True, timeout=WAIT, check=True)
    assert found.stdout.splitlines() == ["waiting for 2", "given up"]


# ---- faults and budgets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [SourceError("wrong key"), TypeError("a bug"), MemoryError()])
def test_an_exception_of_a_model_ends_the_run_with_itself(tmp_path: Path, fault: Exception) -> None:
    def says(ask: Ask) -> str:
        if ask.case.id == "20":
            raise fault
        return ask.case.id

    model = Scripted(says)
    with Journal.open(tmp_path / "j", {}) as journal:
        with pytest.raises(type(fault)) as raised, ask_all(asks(1000), [model], journal) as answers:
            list(answers)
        assert raised.value is fault
        assert len(journal) == len(model.asked) - 1 < 40, "all that were asked are written down, and the run has ended"


def test_an_exit_inside_a_model_is_an_error_of_ours() -> None:
    def says(ask: Ask) -> str:
        raise SystemExit(0)

    with (
        pytest.raises(DataError, match=r"The model ended the run with SystemExit: 0\."),
        ask_all(asks(5), [Scripted(says)], None) as answers,
    ):
        list(answers)


def test_a_fault_in_the_source_of_asks_is_raised() -> None:
    def source() -> Iterator[Ask]:
        yield from asks(3)
        raise DataError("A bad row.")

    with pytest.raises(DataError, match=r"^A bad row\.$"), ask_all(source(), [Scripted()], None) as answers:
        list(answers)


def test_errors_within_the_budget_are_answers() -> None:
    model = Scripted(lambda ask: fails(ask) if int(ask.case.id) % 20 == 7 else "yes")
    with ask_all(asks(100), [model], None, max_error_rate=0.05) as answers:
        found = list(answers)
    assert sum(answer.error is not None for _, answer in found) == 5
    assert answers.asked.errors == Counter({"HTTP 500": 5})


def test_more_errors_than_the_budget_end_the_run(tmp_path: Path) -> None:
    """With the sixth error of a hundred it is certain; a list knows its length, a generator is told it, or looked at in the end."""
    says = Scripted(lambda ask: fails(ask) if int(ask.case.id) % 10 == 7 else "yes", concurrency=1)
    words = r"6 errors in 100 requests \(6 x HTTP 500\), such as HTTP 500: no luck with 7 \(item '7'\).*at most 0.05.*max_error_rate"
    with Journal.open(tmp_path / "j", {}) as journal:
        with (
            pytest.raises(DataError, match=words + ".*kept in the journal"),
            ask_all(asks(100), [says], journal, max_error_rate=0.05) as answers,
        ):
            list(answers)
        assert len(says.asked) < 65
        assert len(journal) == len(says.asked) - sum(int(i) % 10 == 7 for i in says.asked)
    with pytest.raises(DataError, match=words), ask_all(iter(asks(100)), [says], None, max_error_rate=0.05, total=100) as answers:
        list(answers)
    with pytest.raises(DataError, match="10 errors in 100 requests"), ask_all(iter(asks(100)), [says], None) as answers:
        list(answers)


def test_a_model_that_never_answers_is_given_up_after_ten() -> None:
    good, bad = Scripted(name="good"), Scripted(fails, name="bad", concurrency=1)
    given_ = [Ask(case=case(i), model=i % 2) for i in range(10_000)]
    with pytest.raises(DataError, match="10 errors and no answer from bad"), ask_all(given_, [good, bad], None) as answers:
        list(answers)
    assert len(bad.asked) < 16
    with ask_all(asks(50), [Scripted(fails)], None, max_error_rate=1.0) as answers:
        assert len(list(answers)) == 50, "who allows everything gets everything"


def test_what_failed_is_asked_again_and_may_fail_again(tmp_path: Path) -> None:
    """Twelve items that always fail, within the budget, must not stop a run that is continued: it was they that were left."""
    bad = {str(i) for i in range(12)}
    model = Scripted(lambda ask: fails(ask) if ask.case.id in bad else "yes")
    order = [Ask(case=case(i)) for i in range(20, 520)] + asks(12)
    for _ in range(2):
        with Journal.open(tmp_path / "j", {}) as journal, ask_all(order, [model], journal, max_error_rate=0.05) as answers:
            assert sum(answer.error is not None for _, answer in answers) == 12
    assert Counter(model.asked).most_common(13)[-1][1] == 1
    assert all(model.asked.count(each) == 2 for each in bad)


def test_options_that_cannot_be() -> None:
    for wrong in ({"max_error_rate": 5}, {"concurrency": 0}, {"ahead": 0}):
        with pytest.raises(UsageError):
            ask_all(asks(1), [Scripted()], None, **wrong)  # type: ignore[arg-type]


def test_a_journal_that_cannot_be_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal.open(tmp_path / "j", {}) as journal:
        add, full = journal.add, SourceError("Cannot write the journal", got="No space left on device")

        def fill(ask: Ask, model: Any, answer: Answer) -> Answer:
            if int(ask.case.id) >= 30:
                raise full
            return add(ask, model, answer)

        monkeypatch.setattr(journal, "add", fill)
        with pytest.raises(SourceError, match="No space left"), ask_all(asks(1000), [Scripted()], journal) as answers:
            list(answers)
        assert len(journal) == 30
        assert answers.asked.done <= 30, "nobody saw an answer that is not written down"


# ---- judges ----------------------------------------------------------------------------------------------------------


def test_a_judge_has_its_say_before_the_answer_is_written_down(tmp_path: Path) -> None:
    judged: list[str] = []

    def judge(ask: Ask, answer: Answer) -> Answer:
        assert threading.current_thread() is not threading.main_thread()
        judged.append(ask.case.id)
        return replace(answer, judgement=f"judged {answer.said}")

    model = Scripted(lambda ask: fails(ask) if ask.case.id == "3" else ask.case.id)
    for _ in range(2):
        with Journal.open(tmp_path / "j", {}) as journal, ask_all(asks(50), [model], journal, after=judge) as answers:
            found = {ask.case.id: answer for ask, answer in answers}
        assert found["7"].judgement == "judged 7"
        assert found["3"].judgement is None
    assert sorted(judged, key=int) == [str(i) for i in range(50) if i != 3], "each once, errors never"


def test_a_fault_of_the_judge_does_not_lose_the_others_of_a_batch(tmp_path: Path) -> None:
    def judge(ask: Ask, answer: Answer) -> Answer:
        if ask.case.id == "1":
            raise SourceError("the judge has no key")
        return answer

    with Journal.open(tmp_path / "j", {}) as journal:
        model = Scripted(batch=5, concurrency=1)
        with pytest.raises(SourceError, match="no key"), ask_all(asks(5), [model], journal, after=judge) as answers:
            list(answers)
        assert len(journal) == 4


# ---- the order of two models -----------------------------------------------------------------------------------------


def test_interleaved_asks_every_pair_once_case_by_case() -> None:
    cases = [case(i) for i in range(40)]
    found = [ask for ask in interleaved(cases, 3, (0, 1), 5) if ask is not None]
    assert [ask.case.id for ask in found] == [str(i) for i in range(40) for _ in range(6)]
    pairs = [[(ask.repeat, ask.model) for ask in found[6 * i : 6 * i + 6]] for i in range(40)]
    assert all(sorted(each) == [(r, m) for r in (1, 2, 3) for m in (0, 1)] for each in pairs)
    assert len(set(map(tuple, pairs))) > 30, "in an order of its own for each case"
    assert all(ask.seed == item_seed(5, ask.case.id, ask.repeat) for ask in found), "the same for both models"
    assert found == list(interleaved(cases, 3, (0, 1), 5))
    assert list(interleaved(cases, 3, (1,), 5)) == [ask for ask in found if ask.model == 1], (
        "without one of the models the others keep their order and seeds"
    )
    for repeats, models in ((0, (0,)), (1, ())):
        with pytest.raises(UsageError, match="at least one model and one repeat"):
            list(interleaved([case(1)], repeats, models, 0))


def test_neither_model_goes_first_more_often() -> None:
    """The share of cases that begin with model 0, within 4 standard errors of a half."""
    n = 4000
    asks = interleaved([case(i) for i in range(n)], 1, (0, 1), 0)
    first = sum(ask is not None and ask.model == 0 for ask in itertools.islice(asks, 0, None, 2))
    assert abs(first - n / 2) <= 4 * (n / 4) ** 0.5


def test_seeds_are_31_bits_and_differ() -> None:
    seeds = [item_seed(seed, str(i), repeat) for seed in (0, 1) for i in range(500) for repeat in (1, 2)]
    assert len(set(seeds)) == 2000
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert abs(sum(seed >= 2**30 for seed in seeds) - 1000) <= 4 * 500**0.5
    assert item_seed(0, "1", 12) != item_seed(0, "11", 2)
