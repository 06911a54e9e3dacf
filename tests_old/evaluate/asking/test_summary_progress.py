"""The line of a run: what it says, how often, on which streams, and what it leaves behind."""

from __future__ import annotations

import io
import re

import pytest

from steelyard_old.evaluate.asking.asking import AskingState
from steelyard_old.evaluate.asking.summary import EVERY, Progress, harmless, line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_it_says() -> None:
    asked = AskingState(total=1000, asked=300, from_journal=200, done=490)
    asked.errors["HTTP 500"] += 2
    assert line(asked, 60.0) == "500/1000, 5.0/s, 2 errors, 1:40 left"
    assert line(AskingState(total=None, asked=5), 1.0, "m") == "m: 5, 5.0/s, 0 errors"
    assert line(AskingState(total=9), 0.0) == "0/9, 0 errors"
    assert "10:00:00 left" in line(AskingState(total=36_001, asked=1, tokens_in=2_500_000), 1.0)
    assert "2.5M tokens" in line(AskingState(total=36_001, asked=1, tokens_in=2_500_000), 1.0)


def test_it_never_shows_a_score() -> None:
    fields = set(AskingState.__dataclass_fields__)
    assert not fields & {"score", "scores", "right", "correct", "accuracy"}


def test_not_more_than_five_times_a_second() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress("m", stream=stream, clock=clock)
    for step in range(1001):
        clock.now = step / 100
        progress(AskingState(total=1000, asked=step))
    shown = stream.getvalue().count("\r")
    assert 0.8 * 10 / EVERY <= shown <= 10 / EVERY + 1


def test_cleared_at_the_end() -> None:
    stream = Terminal()
    with Progress(stream=stream) as progress:
        progress(AskingState(total=2, asked=1))
    assert stream.getvalue().endswith("\r\x1b[K")
    untouched = Terminal()
    Progress(stream=untouched).close()
    assert untouched.getvalue() == ""


@pytest.mark.parametrize(("stream", "quiet"), [(io.StringIO(), False), (Terminal(), True)])
def test_silent_where_nobody_looks(stream: io.StringIO, quiet: bool) -> None:
    with Progress("m", stream=stream, quiet=quiet) as progress:
        progress(AskingState(total=2, asked=1))
    assert stream.getvalue() == ""


def test_an_interrupt_is_told_on_any_stream_but_not_when_quiet() -> None:
    log, quiet = io.StringIO(), Terminal()
    Progress(stream=log).ending(7)
    Progress(stream=quiet, quiet=True).ending(7)
    assert log.getvalue() == "interrupted: waiting a few seconds for 7 in flight; Ctrl-C again gives them up\n"
    assert quiet.getvalue() == ""


def test_it_fits_the_terminal_and_names_are_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    Progress("\x1b[31mevil\nname\u202e" * 5, stream=stream)(AskingState(total=10, asked=1))
    (shown,) = re.findall(r"\r\x1b\[K(.*)", stream.getvalue())
    assert len(shown) <= 39
    assert "\x1b" not in shown
    assert harmless("a\x1b\r\u202eé") == "a\\x1b\\r\\u202eé"


def test_a_terminal_that_is_gone_does_not_end_the_run() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream=stream, clock=clock)
    stream.close()
    for step in range(3):
        clock.now = float(step)
        progress(AskingState(total=3, asked=step))
    progress.close()
