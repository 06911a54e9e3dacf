"""What passes between a task, a model and a scorer: a case, the asking of it, the answer, and its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from steelyard_old.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One item, ready to be asked: everything that could be wrong with its prompt has been found out.

    `input` is what the model is asked: a text, a list of features, or the row itself. `messages` are the same as a chat
    (system, examples, question) and None where the input is no text. `row` is the item as the data have it.
    """

    id: str
    input: Any
    truth: Any
    row: Mapping[str, Any]
    messages: tuple[Mapping[str, str], ...] | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One case, asked once: which repeat of it, with which seed, of which of the models (0, or 1 for the second)."""

    case: Case
    repeat: int = 1
    seed: int = 0
    model: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back. Without an error `said` is the answer: a text, a label, a number. With one it is None.

    `finish` is why the model stopped, in the words of OpenAI's API (stop, length, content_filter). `refusal` is what a
    model says instead of an answer, where its API tells refusals apart. `judgement` is what a judge said of the answer.
    """

    said: Any = None
    error: str | None = None
    finish: str | None = None
    refusal: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    attempts: int = 1
    served_by: str | None = None
    judgement: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)  # logprobs, fingerprint, token counts of the judge ...


class Model(Protocol):
    """Something that answers. `ask` is called from several threads at once, with at most `batch` asks.

    A failed ask is an Answer with an error, never an exception; an exception means that no ask can succeed (a wrong key, a
    program that is not there) and ends the run. `identity` is all that makes its answers another model's: kind, name,
    address without credentials, sampling. It is pinned by the journal and never contains a secret. A model may have `stop()`, which
    ends waiting: it is called when a run ends early.
    """

    name: str
    identity: Mapping[str, Any]
    concurrency: int  # how many threads may ask at once, if the user does not say
    batch: int

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer per ask, in their order."""

    def close(self) -> None:
        """Let go of connections and processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What an answer is worth. `extracted` False: no answer could be found in what was said, which is not the same as a wrong one.

    `prediction` and `truth` are the two as they were compared, after normalisation. `sums` are the two numbers, above and
    below the line, that the item adds to a ratio over all items (word errors and words).
    """

    score: float
    prediction: Any = None
    truth: Any = None
    extracted: bool = True
    sums: tuple[float, float] | None = None
