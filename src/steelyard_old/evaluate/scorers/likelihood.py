"""The scorer of perplexity: how probable a model finds a text, from the log-probabilities of its tokens."""

from __future__ import annotations

import math
from typing import ClassVar

from steelyard_old.errors import DataError
from steelyard_old.evaluate.asking.asks import Answer, Case, Scored
from steelyard_old.evaluate.asking.plain import token_logprobs
from steelyard_old.evaluate.scorers.base import Scoring, check_choice
from steelyard_old.late_dataclass import dataclass


@dataclass(frozen=True, kw_only=True)
class LogLikelihood(Scoring):
    """Minus the log-likelihood of the input, per token; over all items perplexity, exp of the ratio of the two sums.

    Nothing is answered: the model says how probable it finds each token of the input, given those before it. A first token
    without a log-probability is not counted, nor are its bytes. unit = "bytes" divides by the UTF-8 bytes of the input instead,
    which compares models whose tokenizers differ. Log-probabilities -1, -2 and -3: 6 over 3 tokens, perplexity exp(2).
    Reference: Jelinek1977.
    """

    name: ClassVar[str] = "log-likelihood"
    sums: ClassVar[tuple[str, str] | None] = ("nll", "tokens")
    metric_of_sums: ClassVar[str] = "perplexity"
    of_input: ClassVar[bool] = True
    unit: str = "tokens"

    def __post_init__(self) -> None:
        check_choice(self, "unit", ("tokens", "bytes"))
        object.__setattr__(self, "sums", ("nll", self.unit))

    @property
    def right_or_wrong(self) -> bool:
        return False

    @property
    def needs_truth(self) -> bool:
        return False

    @property
    def span(self) -> tuple[float, float] | None:
        return None

    def check(self, case: Case) -> None:
        if not isinstance(case.input, str) or not case.input.strip():
            raise DataError(
                f"Item {case.id!r} has no text whose log-likelihood could be taken.",
                got=f"{case.input!r}"[:80],
                need="a text",
                hint='input = "{text}"',
            )

    def score_answer(self, answer: Answer, case: Case) -> Scored:
        try:
            found = token_logprobs(answer.more.get("logprobs"))
        except ValueError as fault:
            raise DataError(
                f"Item {case.id!r} needs the log-probability of every token ({fault}).",
                got=str(fault),
                need="the log-probability of every token",
            ) from None
        below = len(found) if self.unit == "tokens" else self._scored_bytes(answer, case)
        above = -math.fsum(found)
        return Scored(score=above / below, sums=(above, float(below)))

    def _scored_bytes(self, answer: Answer, case: Case) -> int:
        """The bytes of the tokens that have a log-probability: all of the input, but for a first token that has none."""
        every = _bytes(case.input)
        if "unscored" not in answer.more:
            return every
        first = answer.more["unscored"]
        if first is None:
            raise DataError(
                f"Item {case.id!r}: its first token has no log-probability, and its text is not known, so its bytes cannot be left out.",
                got="a first token without a log-probability and without a text",
                need="a log-probability for every token, or the texts of the tokens",
                hint='return {"logprobs": [None, -1.2], "tokens": ["The", " beam"]}, or begin every text with a token of its own',
            )
        scored = every - first_token_bytes(first, case.input)
        if scored <= 0:
            raise DataError(
                f"Item {case.id!r} is a single token without a log-probability.",
                got="no byte of the text with a log-probability",
                need="a text of at least two tokens",
            )
        return scored


def first_token_bytes(token: str, text: str) -> int:
    """How many UTF-8 bytes at the beginning of a text its first token stands for: none where it is a mark of the tokenizer's own.

    A token may begin with the blank that some tokenizers put before every text. One that ends inside a character is shown as
    its bytes, or as a replacement character, which stands for at least one.

    >>> [first_token_bytes(token, "Überall") for token in ("Über", "\u2581Über", "<s>", "bytes:\\\\xc3", "\ufffd")]
    [5, 5, 0, 1, 1]
    """
    for shown in (token, token.lstrip(" \u2581")):
        if shown and text.startswith(shown):
            return _bytes(shown)
    if token.startswith("bytes:"):
        return token.count("\\x")
    return token.count("\ufffd")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
