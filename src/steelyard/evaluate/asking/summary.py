"""What is told of a run: one row per answer, and the counts of what went wrong, apart from wrong answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.errors import UsageError
from steelyard.evaluate.asking.asks import Answer, Ask, Scored
from steelyard.evaluate.scorers.base import is_number, nothing
from steelyard.evaluate.task.task import Task
from steelyard.evaluate.task.template import is_missing, plain

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
        raise UsageError("cannot tell of an answer", got=f"an error and a score for item {ask.case.id!r}", need="one of them")
    truth = jsonable(task.scoring.truth(ask.case) if scored is None or scored.truth is None else scored.truth)
    prediction = None if scored is None else jsonable(scored.prediction)
    if scored is not None and not scored.extracted and task.scoring.labels:
        prediction = ""  # a label that is none: null would be an answer that is still to come
    row: dict[str, Any] = {"id": ask.case.id, "repeat": ask.repeat}
    if task.writes_labels:
        row |= {"truth": truth, "prediction": prediction}
    row |= {"score": None if scored is None else scored.score, "error": answer.error}
    if task.scoring.sums is not None:
        for place, name in enumerate(task.scoring.sums):
            row[name] = None if scored is None or scored.sums is None else scored.sums[place]
    if ask.case.group is not None:
        row["group"] = ask.case.group
    if not task.writes_labels:
        row |= {"wanted": truth, "found": prediction}
    row |= {"said": jsonable(answer.said), "finish": answer.finish, "outcome": outcome_of(answer, scored)}
    if answer.judgement is not None:
        row["judgement"] = answer.judgement
    if answer.more.get("logprobs") is not None:
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
class Price:
    """What tokens cost, per million, in whatever money."""

    input: float
    output: float

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Price:
        """A price from a table {input = 0.15, output = 0.6}."""
        if set(table) != {"input", "output"} or not all(is_number(each) and each >= 0 for each in table.values()):
            need = "input and output, numbers of 0 or more, per million tokens"
            raise UsageError("cannot use the price", got=repr(dict(table))[:120], need=need, hint="{input = 0.15, output = 0.6}")
        return cls(input=float(table["input"]), output=float(table["output"]))


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

    @property
    def rates(self) -> dict[str, float]:
        """Each outcome's share of all rows: quantities of their own, to be guarded as the score is."""
        counts = {name: self.errors if name == "error" else getattr(self, name) for name in OUTCOMES}
        return {name: count / self.n for name, count in counts.items()} if self.n else {}

    def warnings(self, scorer: str = "") -> tuple[str, ...]:
        """A sentence for everything that is not an answer."""
        judged = "no verdict could be read from the judge" if scorer == "judge" else "no answer could be found in what was said"
        said = {
            "errors": f"could not be asked: {self.example_of_error}",
            "truncated": "were cut off at the limit of tokens (max_tokens)",
            "empty": "had an empty answer",
            "refused": "were refused",
            "unextracted": judged,
        }
        out = []
        for name, words in said.items():
            if count := getattr(self, name):
                scored = (
                    "they are missing, not wrong"
                    if name == "errors"
                    else "scored as they stand"
                    if name == "truncated"
                    else "scored as wrong"
                )
                middle = f"of {self.n}: {words}" if name in ("unextracted", "errors") else f"of {self.n} {words}"
                out.append(f"{count} {middle}; {scored}")
        return tuple(out)

    def to_dict(self) -> dict[str, Any]:
        return {name: dict(v) if isinstance(v := getattr(self, name), Mapping) else v for name in self.__slots__}


def percentile(ordered: Sequence[float], share: int) -> float:
    """The least value that `share` percent of all values do not exceed (nearest rank).

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([1.0, 2.0, 3.0, 4.0], 99)
    (2.0, 4.0)
    """
    return ordered[max(0, -(-share * len(ordered) // 100) - 1)]
