"""Waiting and yielding: what servers ask for, jitter, halving and growing. No test here waits for a clock on the wall."""

from __future__ import annotations

import math
import random
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.errors import UsageError
from steelyard.evaluate.models.endpoint import LONGEST, RateLimiter, RetryPolicy, RunEnded, asked_to_wait, worth_a_retry


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_only_these_are_retried() -> None:
    assert [status for status in range(100, 600) if worth_a_retry(status)] == [408, 409, 425, 429, *range(500, 600)]


# ---- Retry-After -----------------------------------------------------------------------------------------------------


@given(st.floats(0, 1e6))
def test_seconds_and_milliseconds_are_read_and_capped(seconds: float) -> None:
    assert asked_to_wait({"retry-after": repr(seconds)}) == min(seconds, LONGEST)
    assert asked_to_wait({"retry-after-ms": repr(seconds), "retry-after": "59"}) == pytest.approx(min(seconds / 1000, LONGEST))


@given(st.integers(-(10**6), 10**6), st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)))
def test_a_date_counts_from_the_servers_clock(seconds: int, now: datetime) -> None:
    here = now.replace(microsecond=0, tzinfo=UTC)
    until = format_datetime(here + timedelta(seconds=seconds), usegmt=True)
    want = float(min(max(seconds, 0), LONGEST))
    assert asked_to_wait({"retry-after": until, "date": format_datetime(here, usegmt=True)}, now=0.0) == want
    assert asked_to_wait({"retry-after": until}, now=here.timestamp()) == want


@given(st.text())
def test_whatever_a_server_writes_the_wait_is_bounded(text: str) -> None:
    for name in ("retry-after", "retry-after-ms", "date"):
        found = asked_to_wait({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT", name: text}, now=0.0)
        assert found is None or 0 <= found <= LONGEST


@every("text", ["", "soon", "nan", "inf", "-inf", "1e999", "Mon, 99 Foo 2026 00:00:00 GMT", "12:30", "--", "0x10"])
def test_what_cannot_be_read_is_no_wait_at_all(text: str) -> None:
    assert asked_to_wait({"retry-after": text}) is None
    assert asked_to_wait({}) is None


def test_a_wait_in_the_past_is_none() -> None:
    assert asked_to_wait({"retry-after": "-5"}) == 0.0
    assert asked_to_wait({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}) == 0.0


# ---- back-off --------------------------------------------------------------------------------------------------------


@given(st.integers(1, 10_000), st.floats(0, 1), st.none() | st.floats(0, LONGEST))
def test_jitter_is_full_and_bounded(failed: int, luck: float, asked: float | None) -> None:
    patience = RetryPolicy()
    bound = min(4.0 ** min(failed - 2, 100), 60.0)
    wait = patience.wait(failed, luck, asked)
    assert wait == max(luck * bound, asked or 0.0)
    assert 0 <= wait <= LONGEST


def test_jitter_is_spread_over_all_of_it() -> None:
    """A seeded thousand of waits after 3 failures: uniform on 0..4, so the mean is within 4 standard errors of 2."""
    rng = random.Random(7)
    waits = [RetryPolicy().wait(3, rng.random()) for _ in range(1000)]
    assert abs(sum(waits) / 1000 - 2.0) <= 4 * (4 / math.sqrt(12)) / math.sqrt(1000)
    assert min(waits) < 0.05
    assert max(waits) > 3.95


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"timeouts": 0}])
def test_patience_tries_at_least_once(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="attempts and timeouts must be at least 1"):
        RetryPolicy(**wrong)


# ---- concurrency -----------------------------------------------------------------------------------------------------


def test_a_refusal_halves_and_windows_of_successes_grow_by_one() -> None:
    pace = RateLimiter(16)
    pace.refused(pace.enter())
    assert pace.allowed == 8
    for _ in range(7):
        pace.went_well()
    assert pace.allowed == 8
    pace.went_well()
    assert pace.allowed == 9
    for _ in range(9 + 10):
        pace.went_well()
    assert pace.allowed == 11
    for _ in range(1000):
        pace.went_well()
    assert pace.allowed == 16, "never above the limit"
    assert pace.lowest == 8


def test_the_refusals_of_one_burst_count_once() -> None:
    pace = RateLimiter(16)
    burst = [pace.enter() for _ in range(16)]
    for turn in burst:
        pace.refused(turn)
        pace.leave()
    assert pace.allowed == 8
    for _ in range(20):
        pace.refused(pace.enter())
        pace.leave()
    assert pace.allowed == 1, "never below one"


@given(st.integers(1, 40), st.lists(st.booleans(), max_size=300))
def test_allowed_is_what_the_rule_says(limit: int, went: list[bool]) -> None:
    """Beside a second telling of the rule, asks one after another."""
    pace, allowed, streak = RateLimiter(limit), limit, 0
    for well in went:
        turn = pace.enter()
        pace.leave()
        if well:
            pace.went_well()
            streak += 1
            if streak == allowed:
                allowed, streak = min(allowed + 1, limit), 0
        else:
            pace.refused(turn)
            allowed, streak = max(allowed // 2, 1), 0
        assert pace.allowed == allowed


def test_never_more_under_way_than_allowed() -> None:
    """32 threads, a limit of 5 that is halved on the way: the number inside is counted by the threads themselves."""
    pace, inside, most, lock = RateLimiter(5), 0, [], threading.Lock()

    def work(number: int) -> None:
        nonlocal inside
        for step in range(20):
            turn = pace.enter()
            with lock:
                inside += 1
                most.append(inside)
            with lock:
                inside -= 1
            if (number, step) == (3, 5):
                pace.refused(turn)
            pace.leave()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 640
    assert max(most) <= 5
    assert pace.allowed == 2


def test_a_pause_holds_whoever_comes_and_the_longest_counts() -> None:
    clock = Clock()
    pace = RateLimiter(4, clock=clock, sleep=clock.sleep)
    pace.enter()
    assert clock.slept == []
    pace.pause(7.0)
    pace.pause(3.0)
    pace.enter()
    assert clock.slept == [7.0]
    pace.enter()
    assert clock.slept == [7.0], "the pause is over"


def test_rest_waits_without_a_place() -> None:
    clock = Clock()
    pace = RateLimiter(1, clock=clock, sleep=clock.sleep)
    pace.rest(0.0)
    pace.rest(2.5)
    assert clock.slept == [2.5]


def test_stop_wakes_everybody() -> None:
    pace, told = RateLimiter(1), []
    pace.enter()  # the only place is taken
    other = RateLimiter(4)
    other.pause(3600)

    def wait(call: object) -> None:
        try:
            call()  # type: ignore[operator]
        except RunEnded:
            told.append("stopped")

    waiting = [
        threading.Thread(target=wait, args=(call,)) for call in (pace.enter, lambda: pace.rest(3600), other.enter, lambda: other.rest(3600))
    ]
    for thread in waiting:
        thread.start()
    pace.stop()
    other.stop()
    for thread in waiting:
        thread.join(20)
    assert told == ["stopped"] * 4
    with pytest.raises(RunEnded):
        other.rest(0)


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="concurrency must be at least 1, not 0"):
        RateLimiter(0)
