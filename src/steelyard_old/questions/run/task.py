"""From what names a task to its cases in the order in which they will be asked. Everything that can be wrong is found out here."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from steelyard_old.atomic import read_bytes
from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import DataError, SourceError, UsageError, with_article
from steelyard_old.evaluate.asking.asks import Answer, Ask, Case, Model
from steelyard_old.evaluate.models.http_client import Timeouts
from steelyard_old.evaluate.models.opening import load, model_of
from steelyard_old.evaluate.scorers.base import Scoring, nothing
from steelyard_old.evaluate.scorers.catalogue import scorer_of
from steelyard_old.evaluate.scorers.judge import Judge
from steelyard_old.evaluate.task.presets import PRESET, preset_text
from steelyard_old.evaluate.task.task import Task, task_of
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse
from steelyard_old.options.option import documented, whole
from steelyard_old.options.run import spread
from steelyard_old.read.benchmark_files import benchmark_rows
from steelyard_old.read.rows import rows_of
from steelyard_old.redaction import remember
from steelyard_old.reference import strict_yaml
from steelyard_old.reference.names import check_task

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
                    f"{option} has a value for each model, but "
                    f"{other[0] if isinstance(other[0], str) else type(other[0]).__name__!r} is not an endpoint.",
                    got=f"one for {other[0] if isinstance(other[0], str) else type(other[0]).__name__!r}, which is no endpoint",
                    need="one value for all endpoints, or only endpoints",
                    hint=f"give {option} once",
                )
    return out


def refuse_unheard(models: Sequence[Any], scorer: Scoring, asking: Mapping[str, Any]) -> None:
    """What is said of endpoints where nobody is one, neither a model nor the judge, would be passed over."""
    if any(map(_is_endpoint, models)) or (isinstance(scorer, Judge) and _is_endpoint(scorer.model)):
        return
    for option in OF_ENDPOINTS:
        if asking.get(option) is not None:
            raise UsageError(
                f"{option}= is about endpoints, and no model is one.",
                got=f"{option}= without a model openai:NAME",
                need="an endpoint",
                hint="leave it out, or name the model with openai:NAME",
            )


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
        of_input=prepared.scorer.of_input,
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
    others = [each for each in os.environ if each != name]
    raise UsageError(
        "key_env= names no environment variable, or an empty one.",
        got="a key_env that names no environment variable, or an empty one",
        need="the name of the variable that holds the key, not the key itself",
        hint=did_you_mean(name, others, cutoff=0.8, shown=str) or f"export {KEY}=..., and key_env={KEY}",
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
        raise UsageError(
            f"Got {len(wished)} {'name' if len(wished) == 1 else 'names'} for {len(models)} {'model' if len(models) == 1 else 'models'}.",
            got=f"{len(wished)} name(s) for {len(models)} model(s)",
            need="one name each",
        )
    if any(not isinstance(each, str) or not each.strip() for each in wished):
        raise UsageError("The name of the model is empty.", got="an empty name", need="a text", hint="name=NAME")
    names = wished or [model.name for model in opened_models]
    if len(set(names)) < len(names):
        twice = next(each for place, each in enumerate(names) if each in names[:place])
        got = f"the name {twice!r} twice"
        raise UsageError(f"Two models have the name {twice!r}.", got=got, need="a name each", hint="name=['A', 'B']")
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
                f"Which server is the judge's? There are {len(urls)} base URLs, one for each model.",
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


ENDINGS = (".toml", ".yaml", ".yml")
_written = json.JSONEncoder(sort_keys=True, default=str, ensure_ascii=False).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A task ready to be asked: cases in their order, a scorer that accepts all their truths."""

    task: Task
    cases: tuple[Case, ...]
    scorer: Scoring
    warnings: tuple[str, ...]

    quantity: Metric = field(init=False)  # the metric itself
    span: tuple[float, float] | None = field(init=False)  # the least and the greatest score, if they are known
    _digest: str | None = field(init=False, default=None, repr=False, compare=False)  # made when it is first asked for

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantity", parse(self.task.metric))
        object.__setattr__(self, "span", self.task.range or ((0.0, 1.0) if self.scorer.right_or_wrong else None))

    @property
    def source(self) -> Any:
        """Where the items come from."""
        return _beside(self.task, self.task.data)

    def worth(self, score: float) -> float:
        """What a score counts in the metric: an error counts what is wrong."""
        return float(self.quantity.of_right(score))

    @property
    def protocol(self) -> dict[str, str]:
        """What a reference pins: how it was asked and scored, and a hash of all that was asked."""
        return {**self.task.protocol, "items": self.digest()[:16]}

    @property
    def order(self) -> str:
        """How the cases were put into their order, so that a prefix can be told from a choice."""
        return "groups" if self.task.whole_groups else "strata" if self.task.strata is not None else "items"

    def digest(self) -> str:
        """Of all that is asked, whatever the order: another item, prompt or truth gives another one."""
        if self._digest is None:  # a run asks for it several times, and it reads every case
            object.__setattr__(self, "_digest", self._digested())
        assert self._digest is not None
        return self._digest

    def _digested(self) -> str:
        told = hashlib.sha256()
        for case in sorted(self.cases, key=lambda case: case.id):
            asked = case.input if case.messages is None else case.messages
            told.update(_written([case.id, asked, case.truth]).encode("utf-8", "surrogatepass"))
        return told.hexdigest()


def prepare(given: Any, *, data: Any = None, n: int | None = None, seed: int | None = None) -> Prepared:
    """The task with its cases; data, n and seed take the place of its own."""
    task = read_task(given, data)
    check_task(task.name)
    if "seed" in task.sampling:
        raise UsageError(
            "[sampling] must not have a seed: every item and repeat gets one of its own, derived from the seed of the task.",
            got="seed in [sampling]",
            need="a seed for every item and repeat, which comes from the task's own",
            hint="seed = 0 in [task]",
        )
    metric = parse(task.metric)
    lacking = [need for need in metric.needs if need not in ("truth", "prediction", "score")]
    if lacking and task.scoring.sums is None:
        raise UsageError(
            f"A run cannot compute {task.metric}: its answers are scored one by one.",
            got="answers that are scored one by one",
            need="accuracy, error, mean, or a metric of labels",
            hint="use accuracy, error, mean or a metric of labels; or run, and measure the rows",
        )
    if metric.of_class and metric.average is None:
        raise UsageError(
            f"A task has no positive class, so it cannot say which class {task.metric} is about.",
            got="a task, which has no positive class",
            need="an average",
            hint=f'metric = "{metric.macro_name}"; or run, and measure the rows, naming the positive class',
        )
    rows, warnings = _rows(task)
    shots, more = (None, []) if task.shots_data is None else rows_of(_beside(task, task.shots_data))
    task = replace(task, n=task.n if n is None else whole("n", n), seed=task.seed if seed is None else seed)
    cases = task.cases(rows, shots)
    if metric.numeric:
        _refuse_words(task, cases)
    if task.n is not None and task.n > len(cases):
        raise UsageError(
            f"n={task.n:,} is more than the {len(cases):,} items there are.",
            got=f"n {task.n:,} of {len(cases):,} items",
            need="at most as many as there are",
            hint=f"n={len(cases)} asks all of them" if n is None else "leave n out for all",
        )
    return Prepared(task=task, cases=tuple(task.ordered(cases)), scorer=scorer_of(task), warnings=(*warnings, *more))


def _rows(task: Task) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of the data: a table as it is, or a benchmark in the files in which it is published."""
    data = _beside(task, task.data)
    if task.layout is None:
        return rows_of(data)
    asked = [template.columns for template in (task.prompting.input, task.prompting.system) if template is not None]
    if isinstance(data, str) and Path(data).is_relative_to(Path.cwd()):
        data = os.path.relpath(data)  # as a person would write it, since messages name it
    return benchmark_rows(data, task.layout, {column for columns in asked for column in columns})


def _refuse_words(task: Task, cases: Sequence[Case]) -> None:
    """A metric of numbers needs truths that are numbers: found out before anything is asked."""
    for case in cases:
        truth = task.scoring.truth(case)
        try:
            float(truth)
        except (TypeError, ValueError):
            raise DataError(
                f"{task.metric} needs a number as the truth of every item; item {case.id!r} has {truth!r}.",
                got=f"the truth {truth!r} of item {case.id!r}",
                need="a number for every item",
            ) from None


def _beside(task: Task, data: Any) -> Any:
    """A relative path is relative to the task's file."""
    if not isinstance(data, str | os.PathLike) or os.fspath(data) == "-" or "://" in os.fspath(data):
        return data
    home = task.where if task.where.is_dir() else task.where.parent
    return os.path.join(home, os.fspath(data))


@documented(
    (),
    "a Task, which `run` takes",
    given="A TOML or YAML file, preset:NAME, python:pkg.mod:Class, a class, a mapping, or a Task.",
    data="Data instead of the task's own, as in `measure`; a preset needs them. Default: what the task says.",
)
def read_task(given: Any, data: Any = None) -> Task:
    """The task of a file, a preset, a class or a mapping, every key of it checked.

    >>> task = read_task({"task": {"name": "capitals", "data": "test.jsonl", "input": "{question}", "scorer": "exact"}})
    >>> task.name, task.metric
    ('capitals', 'accuracy')
    """
    if isinstance(given, Task):
        return given if data is None else replace(given, data=_here(data))
    where, table = Path.cwd(), given
    if isinstance(given, str) and given.startswith("python:"):
        table = load(given.removeprefix("python:"))[0]
    elif isinstance(given, str) and given.startswith(PRESET):
        table = tomllib.loads(preset_text(given.removeprefix(PRESET)))
        if data is None:
            raise UsageError(f"{given} needs its data: data=PATH.", got="no data", need="the files as they are published")
    elif isinstance(given, str | os.PathLike):
        where, table = Path(given).absolute(), _table(Path(given))
    if data is not None and isinstance(table, Mapping) and isinstance(table.get("task"), Mapping):
        table = {**table, "task": {**table["task"], "data": _here(data)}}
    elif data is not None:
        return replace(task_of(table, where=where), data=_here(data))
    return task_of(table, where=where)


def _here(data: Any) -> Any:
    """Data that were given beside the task: a relative path is relative to where one stands, not to the task's file."""
    if not isinstance(data, str | os.PathLike) or os.fspath(data) == "-" or "://" in os.fspath(data):
        return data
    if not os.fspath(data).strip():
        raise UsageError("The data of the task must be a path, not an empty text.", got="an empty name of the data", need="a path")
    return os.path.abspath(os.fspath(data))


def _table(path: Path) -> Mapping[str, Any]:
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"A task file ends in {', '.join(ENDINGS)}: {str(path)!r} has {f'the ending {path.suffix!r}' if path.suffix else 'no ending'}.",
            got=f"the ending {path.suffix!r}" if path.suffix else "no ending",
            need=f"a file {', '.join(ENDINGS)}",
            hint="python:pkg.mod:Class names a task in Python",
        )
    text = strict_yaml.decode(read_bytes(path), str(path))
    if path.suffix.lower() != ".toml":
        found = strict_yaml.plain(strict_yaml.parse(text, str(path)))
    else:
        try:
            found = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as fault:
            raise SourceError(f"The task {str(path)!r} is not valid TOML ({fault}).", got=str(fault), need="valid TOML") from None
    if not isinstance(found, dict):
        raise SourceError(
            f"[task] in {str(path)!r} must be a table, not {with_article(type(found).__name__)}.",
            got=with_article(type(found).__name__),
            need="a table [task]",
        )
    return found
