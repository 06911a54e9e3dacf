"""What an OpenAI-compatible server replied: the answer in it, or the words with which it refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard_old.evaluate.asking.asks import Answer
from steelyard_old.evaluate.asking.plain import logprobs_of, whole_characters


class Unreadable(Exception):
    """A reply with status 200 that holds no answer: not JSON, or without what every answer has. It may come right when asked again."""


class ErrorReply(Exception):
    """A reply with status 200 that is an error all the same, as relays write it."""

    def __init__(self, status: int | None, words: str, code: str) -> None:
        self.status, self.words, self.code = status, words, code
        super().__init__(words)


def answer_in(body: bytes, *, api: str, logprobs: bool, attempts: int = 1, seconds: float | None = None) -> Answer:
    """The first choice of a reply as an Answer.

    >>> answer_in(b'{"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]}', api="chat", logprobs=False).said
    '4'
    """
    reply = _parsed(body)
    if reply.get("error"):
        raise ErrorReply(_whole(_mapping(reply["error"]).get("code")), words_of(body), code_of(body))
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Unreadable("no choices")
    choice = choices[0]
    more: dict[str, Any] = {}
    said: str | None
    if api == "chat":
        said, refusal = _spoken(choice, more)
    else:
        said, refusal = _text(choice.get("text")), None
        if said is None:
            raise Unreadable("no text in the choice")
    usage = _mapping(reply.get("usage"))
    thought = _whole(_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    more |= {"reasoning_tokens": thought} if thought else {}
    more |= {"fingerprint": _text(reply["system_fingerprint"])} if isinstance(reply.get("system_fingerprint"), str) else {}
    if logprobs:
        more["logprobs"] = _logprobs(_mapping(choice.get("logprobs")))
    return Answer(
        said=said,
        finish=_text(choice.get("finish_reason")),
        refusal=refusal,
        tokens_in=_whole(usage.get("prompt_tokens")),
        tokens_out=_whole(usage.get("completion_tokens")),
        seconds=seconds,
        attempts=attempts,
        served_by=_text(reply.get("model")),
        more=more,
    )


def _parsed(body: bytes) -> dict[str, Any]:
    if not body.strip():
        raise Unreadable("an empty body")
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise Unreadable("a body that is not JSON") from fault
    if not isinstance(reply, dict):
        raise Unreadable("JSON that is no object")
    return reply


def _spoken(choice: Mapping[str, Any], more: dict[str, Any]) -> tuple[str, str | None]:
    """Content and refusal of a message. What a model thought before it spoke is measured, and not taken for the answer."""
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Unreadable("no message in the choice")
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    if thought:
        more["reasoning_characters"] = len(thought)
    content, refusal = message.get("content"), _text(message.get("refusal"))
    if isinstance(content, str):
        content = _text(content)
    elif isinstance(content, list):  # in parts, as some servers write it
        content = "".join(_text(_mapping(part).get("text")) or "" for part in content)
    # Null is how servers say that nothing was said: a refusal, a tool, or a limit reached while thinking. Silence is another matter.
    if content is None and ("content" in message or refusal or thought):
        content = ""
    if not isinstance(content, str):
        raise Unreadable("no content in the message")
    return content, refusal or None


def _logprobs(found: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """One entry per token: token, logprob, and `top` where others were asked for. Chat and completions write them differently."""
    if isinstance(content := found.get("content"), list):
        return [
            {"token": _text(each.get("token")), "logprob": _finite(each.get("logprob"))} | _top(each.get("top_logprobs"))
            for each in content
            if isinstance(each, dict)
        ]
    tokens, values = found.get("tokens"), found.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return None
    tops = found.get("top_logprobs")
    if not isinstance(tops, list) or len(tops) != len(tokens):
        tops = [None] * len(tokens)
    return [{"token": _text(token), "logprob": _finite(value)} | _top(top) for token, value, top in zip(tokens, values, tops, strict=True)]


def of_prompt(answer: Answer, *, generates: bool, repeats: str = "") -> Answer:
    """The answer of a server that repeated the prompt: the log-probabilities of its tokens, without those of the tokens that follow.

    How many are the prompt's is what the server counted. Where it counted none, all are, if nothing was to be generated.
    repeats: what the text of the answer must contain, which tells a server that knows no echo.

    >>> told = [{"logprob": None}, {"logprob": -1.5}, {"logprob": -2.0}]
    >>> of_prompt(Answer(said="a b c", tokens_in=2, tokens_out=1, more={"logprobs": told}), generates=True).said
    -1.5
    """
    told, ours = answer.more.get("logprobs"), answer.tokens_in
    if not isinstance(told, list) or not told:
        return Answer(error="the answer has no log-probabilities of the prompt", attempts=answer.attempts)
    if repeats not in str(answer.said):
        return Answer(error="the answer does not begin with the prompt (echo)", attempts=answer.attempts)
    if ours is None and generates:
        return Answer(error="the server does not count the tokens of the prompt (usage)", attempts=answer.attempts)
    ours = len(told) if ours is None else ours
    if not ours <= len(told) <= ours + (answer.tokens_out or 0):
        return Answer(error=f"log-probabilities of {len(told):,} tokens for a prompt of {ours:,}", attempts=answer.attempts)
    both = {"logprobs": [each["logprob"] for each in told[:ours]], "tokens": [each.get("token") for each in told[:ours]]}
    found = logprobs_of(both, seconds=answer.seconds)
    if found.error is not None:
        return replace(found, attempts=answer.attempts)
    more = {**answer.more, **found.more}
    return replace(answer, said=found.said, finish=None, refusal=None, more=more)


def _top(found: Any) -> dict[str, Any]:
    if isinstance(found, list):
        found = {each.get("token"): each.get("logprob") for each in found if isinstance(each, dict) and isinstance(each.get("token"), str)}
    if not isinstance(found, dict) or not found:
        return {}
    return {"top": {_text(token): _finite(value) for token, value in found.items()}}


# ---- refusals --------------------------------------------------------------------------------------------------------


def words_of(body: bytes) -> str:
    """What a server said about an error, on one line: its message where there is one, else the beginning of the body.

    >>> words_of(b'{"error": {"message": "Too many\\\\nrequests", "type": "requests"}}'), words_of(b"<html>Bad Gateway")
    ('Too many requests', '<html>Bad Gateway')
    """
    found = _error(body)
    for name in ("message", "detail", "error"):
        if found.get(name):
            told = found[name] if isinstance(found[name], str) else _written(found[name])
            break
    else:
        told = body[:4000].decode("utf-8", "replace")
    return " ".join("".join(each if each.isprintable() else " " for each in told).split())


def _written(value: Any) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return "an error too deep to show"


def code_of(body: bytes) -> str:
    """The code that a server gives an error, or its type: `insufficient_quota`, `model_not_found`; empty if it has none."""
    found = _error(body)
    return _text(found.get("code")) or _text(found.get("type")) or ""


def _error(body: bytes) -> Mapping[str, Any]:
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(reply, dict):
        return {}
    return reply["error"] if isinstance(reply.get("error"), dict) else reply


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return whole_characters(value) if isinstance(value, str) else None


def _finite(value: Any) -> float | None:
    """A number, or None for what our JSON cannot hold: log(0) is written as -Infinity by some servers."""
    try:
        return value if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:  # a whole number that no float can hold
        return None


def _whole(value: Any) -> int | None:
    """A count; one that no counter reaches is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
