"""The doors to a model: `openai:NAME`, `python:pkg.mod:attr`, `command:./predict --flag`, `file:preds.jsonl`, or a Python object."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from steelyard_old.did_you_mean import NEAR, did_you_mean, either
from steelyard_old.errors import UsageError, with_article

if TYPE_CHECKING:
    from steelyard_old.evaluate.asking.asks import Model
    from steelyard_old.evaluate.models.http_client import Timeouts

DOORS = {
    "openai": "openai:NAME with a base URL",
    "python": "python:pkg.mod:function",
    "command": "command:./predict --flag",
    "file": "file:predictions.jsonl",
}


def model_of(
    given: Any,
    *,
    name: str | None = None,
    base_url: str | None = None,
    api: Literal["chat", "completions"] = "chat",
    key: str | None = None,
    sampling: Mapping[str, Any] | None = None,
    logprobs: int | None = None,
    seeds: bool = True,
    timeouts: Timeouts | None = None,
    timeout: float | None = None,
    rows: Iterable[Mapping[str, Any]] | None = None,
    batch: int | None = None,
    concurrency: int | None = None,
    of_input: bool = False,
) -> Model:
    """The model that a text or an object stands for. Nothing is asked yet, and no program is started.

    base_url, api, key, logprobs, seeds, timeouts are an endpoint's; timeout is that of everything else (seconds of silence of
    a command, of a call of a function or object); rows a file's, read by the caller; sampling goes to endpoints and to
    `generate`; batch to functions, estimators and commands. of_input: asked for the log-probabilities of the input. An
    object that is a Model already (ask, identity, batch) is taken as it is.
    """
    if not isinstance(given, str):
        return _in_time(
            _from_object(given, name, {"kind": "python", "name": called(given)}, sampling, batch, concurrency, of_input), timeout
        )
    door, colon, rest = given.partition(":")
    if not colon or door not in DOORS or not rest.strip():
        doors = tuple(DOORS.values())
        raise UsageError(
            f"No model {given!r}; write {either(doors)}.",
            got=repr(given),
            need=f"one of: {', '.join(doors)}",
            hint=_near(given, door, colon),
        )
    name = name or default_name(given)
    if door == "openai":
        return _endpoint(
            rest,
            base_url,
            concurrency,
            key=key,
            api=api,
            sampling=sampling,
            logprobs=logprobs,
            seeds=seeds,
            timeouts=timeouts,
            of_input=of_input,
        )
    if door == "command":
        from steelyard_old.evaluate.models.command import CommandModel

        return CommandModel(rest, name=name, batch=batch, timeout=timeout, of_input=of_input)
    if door == "file":
        from steelyard_old.evaluate.models.predictions import Predictions

        if of_input:
            raise UsageError(
                f"{given!r} has answers, and no log-probabilities of what was asked.",
                got="predictions",
                need="a model that gives the log-probabilities of its input",
                hint="measure a table with the two sums of each item: sy.measure(file, metric='perplexity', ratio='NLL/TOKENS')",
            )
        if rows is None:
            raise UsageError(
                f"The model {given!r} needs the rows of the file, read by the caller.",
                got="no rows",
                need="the rows of the file, read by the caller",
            )
        return Predictions(rows, name=name)
    found, source = load(rest)
    told = {"kind": "python", "name": rest, "source": source}
    return _in_time(_from_object(found, name, told, sampling, batch, concurrency, of_input), timeout)


def _in_time(model: Model, timeout: float | None) -> Model:
    if timeout is None:
        return model
    from steelyard_old.evaluate.asking.deadline import Timed

    return Timed(model, timeout)


def default_name(text: str) -> str:
    """The name a model has in references, if nobody says another: the text after the first colon.

    >>> default_name("python:pkg.mod:predict")
    'pkg.mod:predict'
    """
    return text.partition(":")[2]


def load(text: str) -> tuple[Any, str | None]:
    """The object that pkg.mod:name stands for, and a hash of the file it comes from."""
    found, module = named_object(text, "model", "python:mymodule:predict")
    return found, _fingerprint(getattr(module, "__file__", None))


def named_object(text: str, what: str, example: str) -> tuple[Any, ModuleType]:
    """The object that `pkg.mod:name` stands for, and its module, which may lie in the current directory. what: a model, a learner."""
    name, colon, path = text.partition(":")
    if not (name and colon and path):
        raise UsageError(f"Name the {what} as pkg.mod:name, not {text!r}.", need="pkg.mod:name", hint=example)
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)  # as python -m does; workers inherit it
    try:
        module = import_module(name)
    except (Exception, SystemExit) as fault:  # a user's module may fail in any way
        got = f"{type(fault).__name__}: {fault}"
        hint = f"run it where {name.partition('.')[0]} can be imported" if isinstance(fault, ModuleNotFoundError) else "fix the module"
        raise UsageError(f"Cannot import {name!r} ({got}).", got=got, need="a module", hint=hint) from fault
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            public = [each for each in dir(found) if not each.startswith("_")]
            known = f"it has {', '.join(public[:12])}" if public else "it has no public names"
            hint = did_you_mean(part, public, NEAR, str)
            raise UsageError(f"Module {name!r} has no {path!r}; {known}.", got=known, need="a name that it has", hint=hint)
        found = getattr(found, part)
    return found, module


def _fingerprint(path: str | None) -> str | None:
    """Of the module's text: answers of a function that was changed meanwhile must not be mixed with the old one's."""
    try:
        return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError:
        return None


# ---- objects ---------------------------------------------------------------------------------------------------------


def _from_object(
    given: Any,
    name: str | None,
    identity: Mapping[str, Any],
    sampling: Mapping[str, Any] | None,
    batch: int | None,
    concurrency: int | None,
    of_input: bool,
) -> Model:
    from steelyard_old.evaluate.models.callables import CallableModel, Estimator

    if isinstance(given, type):
        given = _made(given, name)
    if all(hasattr(given, each) for each in ("ask", "identity", "batch", "concurrency", "close")):
        model: Model = given
        return model
    name = name or called(given)
    if any(each.__module__.partition(".")[0] == "torch" and each.__name__ == "Module" for each in type(given).__mro__):
        raise UsageError(
            f"{name} is a PyTorch module; a model must be a function that takes inputs and returns labels.",
            got="a PyTorch module",
            need="a function around it, which makes a tensor of the inputs and labels of the outcome",
            hint="def predict(inputs): return net(torch.tensor(inputs)).argmax(1).tolist(), with predict.batched = True",
        )
    for method in ("generate", "generate_async"):
        call = getattr(given, method, None)
        if callable(call):
            told = {**identity, "sampling": dict(sampling or {})}
            asked: dict[str, Any] = {"batch": batch, "concurrency": concurrency, "of_input": of_input}
            return CallableModel(call, name=name, identity=told, keywords=sampling, unwrap=True, **asked)
    if callable(getattr(given, "predict", None)) and not callable(given):
        if of_input:
            raise UsageError(
                f"{name} predicts, and gives no log-probabilities of its input.",
                got="an object with predict",
                need="a function that returns the log-probability of each token of a text",
            )
        settings = {"settings": repr(given)[:2000]} if hasattr(given, "get_params") else {}
        return Estimator(given, name=name, identity={**identity, **settings}, batch=batch, concurrency=concurrency)
    if callable(given):
        return CallableModel(given, name=name, identity=identity, batch=batch, concurrency=concurrency, of_input=of_input)
    raise UsageError(
        f"{name} cannot be asked: it is {with_article(type(given).__name__)}, not a function, an object "
        "with generate(prompt), or an estimator with predict(table).",
        got=with_article(type(given).__name__),
        need="a function, an object with generate(prompt), or an estimator with predict(table)",
        hint=f"as a text: {', '.join(DOORS.values())}",
    )


def _made(maker: type, name: str | None) -> Any:
    try:
        return maker()
    except Exception as fault:
        raise UsageError(
            f"{name or maker.__name__} failed when it was called without arguments ({type(fault).__name__}: {fault}).",
            got=f"{type(fault).__name__}: {fault}",
            need="a class that works without arguments",
        ) from fault


def called(given: Any) -> str:
    """What an object is called: a function by its module and name, anything else by its type."""
    own = getattr(given, "__qualname__", None)
    module = getattr(given, "__module__", None)
    return f"{module}:{own}" if isinstance(own, str) and isinstance(module, str) else type(given).__name__


def _endpoint(model: str, base_url: str | None, concurrency: int | None, **options: Any) -> Model:
    from steelyard_old.evaluate.models.endpoint import Endpoint

    if base_url is None:
        raise UsageError(
            f"The model {model!r} needs the base URL of an OpenAI-compatible server.",
            got="no address",
            need="the base URL of an OpenAI-compatible server",
            hint="base_url='http://127.0.0.1:8000/v1', or https://api.openai.com/v1",
        )
    given = {"concurrency": concurrency, **options}
    found: Any = Endpoint(model, base_url, **{option: value for option, value in given.items() if value is not None})
    endpoint: Model = found
    return endpoint


def _near(given: str, door: str, colon: str) -> str:
    if colon and door in DOORS:
        return f"something must follow {door}:"
    if Path(given).suffix in (".jsonl", ".csv", ".json", ".parquet"):
        return f"file:{given}"
    if given.count(":") == 1 and all(part.isidentifier() for part in given.replace(":", ".").split(".")):
        return f"python:{given}"
    return f"openai:{given}" if not colon else ""
