"""From what names a model to something that answers, and the judge that a scorer may need beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from steelyard.errors import UsageError
from steelyard.evaluate.asking.asks import Answer, Ask, Case, Model
from steelyard.evaluate.models.http_client import Timeouts
from steelyard.evaluate.models.opening import model_of
from steelyard.evaluate.scorers.base import nothing
from steelyard.evaluate.scorers.judge import Judge
from steelyard.options import nearest
from steelyard.questions.run.options import spread
from steelyard.questions.run.task import Prepared
from steelyard.read.rows import rows_of
from steelyard.redaction import remember

FILE = "file:"
KEY = "OPENAI_API_KEY"
OF_ENDPOINTS = ("base_url", "api", "key", "key_env", "seeds")  # the options that only a model behind an address has a use for


def for_each(models: Sequence[Any], asking: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The options of each model. One value serves every model; a list has one value per model, in their order.

    >>> for_each(["openai:m", "openai:m"], {"base_url": ["http://a/v1", "http://b/v1"], "timeout": 30})
    [{'base_url': 'http://a/v1', 'timeout': 30}, {'base_url': 'http://b/v1', 'timeout': 30}]
    """
    out: list[dict[str, Any]] = [{} for _ in models]
    for option, given in asking.items():
        for one, value in zip(out, spread(option, given, len(models)), strict=True):
            if value is not None:
                one[option] = value
        if option in OF_ENDPOINTS and isinstance(given, list | tuple) and len(given) > 1:
            other = [model for model, value in zip(models, given, strict=True) if value is not None and not _is_endpoint(model)]
            if other:
                raise UsageError(
                    f"cannot use {option} for each model",
                    got=f"one for {other[0] if isinstance(other[0], str) else type(other[0]).__name__!r}, which is no endpoint",
                    need="one value for all endpoints, or only endpoints",
                    hint=f"give {option} once",
                )
    return out


def _is_endpoint(model: Any) -> bool:
    return isinstance(model, str) and model.startswith("openai:")


@contextlib.contextmanager
def opened(
    given: Any,
    prepared: Prepared,
    *,
    concurrency: int | None = None,
    base_url: str | None = None,
    api: Literal["chat", "completions"] = "chat",
    key: str | None = None,
    key_env: str | None = None,
    timeout: float | None = None,
    **more: Any,
) -> Iterator[Model]:
    """The model, let go of at the end. The key of an endpoint is that of the environment, unless it is given."""
    key = key if key is not None else _key_in(key_env)
    remember(key)
    rows = rows_of(given.removeprefix(FILE))[0] if isinstance(given, str) and given.startswith(FILE) else None
    model = model_of(
        given,
        base_url=base_url,
        api=api,
        key=key,
        timeout=timeout,
        timeouts=None if timeout is None else Timeouts(total=timeout),
        **_sampled(prepared),
        rows=rows,
        concurrency=concurrency,
        **{name: value for name, value in more.items() if value is not None},
    )
    try:
        yield model
    finally:
        model.close()


def _key_in(name: str | None) -> str | None:
    """The key in an environment variable. A name that is none may be the key itself, so it is not shown."""
    if name is None:
        return os.environ.get(KEY)
    found = None if "=" in name or "\0" in name else os.environ.get(name)
    if found:
        return found
    remember(name)
    near = nearest(name, [each for each in os.environ if each != name], cutoff=0.8)
    raise UsageError(
        "cannot find the key",
        got="a key_env that names no environment variable, or an empty one",
        need="the name of the variable that holds the key, not the key itself",
        hint=f"did you mean {near}?" if near else f"export {KEY}=..., and key_env={KEY}",
    )


def _sampled(prepared: Prepared) -> dict[str, Any]:
    """What is sent along with every request; log-probabilities are asked for in a way of their own."""
    sampling = dict(prepared.task.sampling)
    wanted = sampling.pop("logprobs", None)
    alternatives = sampling.pop("top_logprobs", 0)
    return {"sampling": sampling} | ({} if not wanted else {"logprobs": alternatives})


def named(given: str | Sequence[str] | None, models: Sequence[Any], opened_models: Sequence[Model]) -> list[str]:
    """What the models are called in references: as the user says, else the text after the first colon."""
    wished = [] if given is None else [given] if isinstance(given, str) else list(given)
    if wished and len(wished) != len(models):
        raise UsageError("cannot name the models", got=f"{len(wished)} name(s) for {len(models)} model(s)", need="one name each")
    if any(not isinstance(each, str) or not each.strip() for each in wished):
        raise UsageError("cannot name the model", got="an empty name", need="a text", hint="name=NAME")
    names = wished or [model.name for model in opened_models]
    if len(set(names)) < len(names):
        raise UsageError("cannot tell the models apart", got=f"the name {names[0]!r} twice", need="a name each", hint="name=['A', 'B']")
    return names


def judging(prepared: Prepared, stack: contextlib.ExitStack, asking: Sequence[Mapping[str, Any]]) -> Callable[[Ask, Answer], Answer] | None:
    """What asks the judge about an answer, where the scorer is one. The judgement becomes a part of the answer."""
    judge = prepared.scorer
    if not isinstance(judge, Judge):
        return None
    own = _of_judge(judge, asking)
    model = stack.enter_context(opened(judge.model, replace_sampling(prepared, judge), **own))

    def after(ask: Ask, answer: Answer) -> Answer:
        if answer.error is not None or nothing(answer.said):  # an empty answer needs no judge
            return answer
        messages = judge.messages(ask.case, answer.said)
        question = Case(id=ask.case.id, input=messages[-1]["content"], truth=None, row={}, messages=messages)
        told = model.ask([Ask(case=question, repeat=ask.repeat, seed=ask.seed)])[0]
        if told.error is not None:
            return replace(answer, said=None, error=f"the judge failed: {told.error}")
        cost = {"judge_tokens_in": told.tokens_in, "judge_tokens_out": told.tokens_out}
        return replace(answer, judgement=str(told.said), more={**answer.more, **{name: n for name, n in cost.items() if n is not None}})

    return after


def _of_judge(judge: Judge, asking: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How the judge is reached: as the models are, where they agree; else as the model at the judge's own address, or by defaults.

    A key that was given for one server is never sent to another one.
    """
    url = judge.base_url
    if url is None:
        urls = list(dict.fromkeys(one.get("base_url") for one in asking))
        if len(urls) > 1 and _is_endpoint(judge.model):
            raise UsageError(
                "cannot tell where the judge is",
                got=f"{len(urls)} base URLs, one for each model",
                need="the address of the judge",
                hint='base_url = "http://127.0.0.1:8000/v1" in the table [scorer]',
            )
        url = urls[0]
    beside = [one for one in asking if one.get("base_url") == url]
    own = {option: value for option, value in asking[0].items() if all(one.get(option) == value for one in asking)}
    return {**own, **(beside[0] if beside else {}), "base_url": url}


def replace_sampling(prepared: Prepared, judge: Judge) -> Prepared:
    """The judge samples as its own options say, not as the model under test."""
    return replace(prepared, task=replace(prepared.task, sampling=dict(judge.sampling)))
