"""What is told of a run: one row per answer, and the counts of what went wrong, apart from wrong answers."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from steelyard_old.errors import UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask, Scored
from steelyard_old.evaluate.scorers.base import nothing
from steelyard_old.evaluate.task.cases import is_missing, plain
from steelyard_old.evaluate.task.task import Task
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.run import Price

if TYPE_CHECKING:
    from steelyard_old.evaluate.asking.asking import AskingState


EVERY = 0.2  # seconds between two looks at the line
NAMED = 5  # tasks that are named for one sentence
_CLEAR = "\r\x1b[K"


class Progress:
    """The line. Silent where nobody looks: a stream that is no terminal, or `quiet`. Cleared at the end.

    It is a `Watcher` of evaluate/asking/asking.py. Only a word about an interrupt is said on any stream, unless it is quiet.
    """

    def __init__(
        self, name: str = "", *, stream: TextIO | None = None, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._shows = not quiet and self._stream is not None and self._stream.isatty()
        self._name, self._clock = harmless(name), clock
        self._begun = clock()
        self._last: float | None = None
        self._dirty = False

    def __call__(self, asked: AskingState) -> None:
        """Show how far it is, not more than five times a second."""
        now = self._clock()
        if not self._shows or (self._last is not None and now - self._last < EVERY):
            return
        self._last = now
        width = shutil.get_terminal_size().columns - 1
        self._write(_CLEAR + line(asked, now - self._begun, self._name)[: max(width, 10)])
        self._dirty = True

    def beginning(self, known: Mapping[str, Sequence[str]]) -> None:
        """Say what is known before the first question: every sentence with the tasks that it is about."""
        if not self._quiet and self._stream is not None:
            for sentence, tasks in known.items():
                more = f" and {len(tasks) - NAMED:,} more" if len(tasks) > NAMED else ""
                self._write(f"before the first question of {', '.join(map(harmless, tasks[:NAMED]))}{more}: {sentence}\n")

    def ending(self, in_flight: int) -> None:
        """Say what the run is waiting for after an interrupt."""
        if not self._quiet and self._stream is not None:
            self.close()
            self._write(f"interrupted: waiting a few seconds for {in_flight} in flight; Ctrl-C again gives them up\n")

    def close(self) -> None:
        """Clear the line."""
        if self._dirty:
            self._write(_CLEAR)
            self._dirty = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # a terminal that is gone must not end the run
            self._shows = False


def line(asked: AskingState, seconds: float, name: str = "") -> str:
    """What the line says.

    >>> from steelyard_old.evaluate.asking.asking import AskingState
    >>> line(AskingState(total=600, asked=100, from_journal=20, tokens_in=9000, tokens_out=3210), 20.0, "gsm8k")
    'gsm8k: 120/600, 5.0/s, 0 errors, 1:36 left, 12.2k tokens'
    """
    there = asked.asked + asked.from_journal
    rate = asked.asked / seconds if seconds > 0 else 0.0
    parts = [f"{there}/{asked.total}" if asked.total is not None else f"{there}"]
    parts += [f"{rate:.1f}/s" if rate < 100 else f"{rate:.0f}/s"] if asked.asked else []
    parts.append("1 error" if asked.failed == 1 else f"{asked.failed} errors")
    if asked.total is not None and rate > 0:
        parts.append(f"{_clock(max(0, asked.total - there) / rate)} left")
    tokens = asked.tokens_in + asked.tokens_out
    parts += [f"{_short(tokens)} tokens"] if tokens else []
    return (f"{name}: " if name else "") + ", ".join(parts)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _short(count: int) -> str:
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}"
    return str(count)


def harmless(text: str) -> str:
    r"""A name without anything a terminal obeys.

    >>> print(harmless("red \x1b[31m"))
    red \x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


OUTCOMES = ("answered", "unextracted", "truncated", "empty", "refused", "error")
PER = 1_000_000  # tokens that a price is for


def outcome_of(answer: Answer, scored: Scored | None) -> str:
    """One word for what came back; of several that hold the first: error, refused, truncated, empty, unextracted, answered.

    >>> outcome_of(Answer(said="The answer is", finish="length"), Scored(score=0.0, extracted=False))
    'truncated'
    """
    if answer.error is not None:
        return "error"
    if answer.refusal or answer.finish == "content_filter":
        return "refused"
    if answer.finish == "length":
        return "truncated"
    if nothing(answer.said):
        return "empty"
    return "answered" if scored is None or scored.extracted else "unextracted"


def row_of(ask: Ask, answer: Answer, scored: Scored | None, task: Task) -> dict[str, Any]:
    """The row of an answer, as it is written. An error has no score and no prediction: it is no wrong answer.

    Where truth and prediction are no labels (a summary and its model, a number within a tolerance, JSON) they are called
    wanted and found, so that nobody takes them for labels that disagree with the score.
    """
    if (scored is None) != (answer.error is not None):
        raise UsageError(
            f"Item {ask.case.id!r} has both an error and a score.", got=f"an error and a score for item {ask.case.id!r}", need="one of them"
        )
    truth = jsonable(task.scoring.truth(ask.case) if scored is None or scored.truth is None else scored.truth)
    prediction = None if scored is None else jsonable(scored.prediction)
    if scored is not None and not scored.extracted and task.scoring.labels:
        prediction = ""  # a label that is none: null would be an answer that is still to come
    row: dict[str, Any] = {"id": ask.case.id, "repeat": ask.repeat}
    writes_labels = task.writes_labels
    if writes_labels:
        row |= {"truth": truth, "prediction": prediction}
    row |= {"score": None if scored is None else scored.score, "error": answer.error}
    if task.scoring.sums is not None:
        for place, name in enumerate(task.scoring.sums):
            row[name] = None if scored is None or scored.sums is None else scored.sums[place]
    if ask.case.group is not None:
        row["group"] = ask.case.group
    if not writes_labels:
        row |= {"wanted": truth, "found": prediction}
    row |= {"said": jsonable(answer.said), "finish": answer.finish, "outcome": outcome_of(answer, scored)}
    if answer.judgement is not None:
        row["judgement"] = answer.judgement
    if answer.more.get("logprobs") is not None and not task.scoring.of_input:  # of every token of the text: its sums are enough
        row["logprobs"] = jsonable(answer.more["logprobs"])
    row |= {"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out}
    row |= {"seconds": None if answer.seconds is None else round(answer.seconds, 6), "attempts": answer.attempts}
    return row


def jsonable(value: Any) -> Any:
    """A value that JSON can hold: what it cannot, as text.

    >>> jsonable([1, float("nan"), {"a": (2,)}])
    [1, 'nan', {'a': [2]}]
    """
    value = plain(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(each) for each in value]
    return str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSummary:
    """The counts of a run. Rows whose tokens or times are not known are left out of those sums, and counted in `untold`."""

    n: int
    answered: int
    unextracted: int
    truncated: int
    empty: int
    refused: int
    errors: int
    attempts: int
    retries: int  # attempts after a failed one
    tokens_in: int | None
    tokens_out: int | None
    untold: int
    seconds: Mapping[str, float] | None  # p50, p90, p99
    cost: float | None
    example_of_error: str | None

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], price: Price | None = None) -> AnswerSummary:
        """The counts of all rows; the cost, if there is a price and the tokens of every answer are known."""
        rows = list(rows)
        many = Counter(row["outcome"] for row in rows)
        answered = [row for row in rows if row["outcome"] != "error"]
        known = [row for row in answered if row["tokens_in"] is not None and row["tokens_out"] is not None]
        tokens = (sum(row["tokens_in"] for row in known), sum(row["tokens_out"] for row in known)) if known else (None, None)
        cost = None
        if price is not None and tokens[0] is not None and tokens[1] is not None and len(known) == len(answered):
            cost = (tokens[0] * price.input + tokens[1] * price.output) / PER
        times = sorted(row["seconds"] for row in answered if row["seconds"] is not None)
        return cls(
            n=len(rows),
            **{name: many[name] for name in OUTCOMES if name != "error"},
            errors=many["error"],
            attempts=sum(row["attempts"] for row in rows),
            retries=sum(max(0, row["attempts"] - 1) for row in rows),
            tokens_in=tokens[0],
            tokens_out=tokens[1],
            untold=len(answered) - len(known),
            seconds={f"p{share}": percentile(times, share) for share in (50, 90, 99)} if times else None,
            cost=cost,
            example_of_error=next((row["error"] for row in rows if not is_missing(row["error"])), None),
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: dict(v) if isinstance(v := getattr(self, name), Mapping) else v for name in self.__slots__}


def percentile(ordered: Sequence[float], share: int) -> float:
    """The least value that `share` percent of all values do not exceed (nearest rank).

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([1.0, 2.0, 3.0, 4.0], 99)
    (2.0, 4.0)
    """
    return ordered[max(0, -(-share * len(ordered) // 100) - 1)]
