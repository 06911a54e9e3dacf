"""A task: what is asked, of which data, and how answers are scored. Read from a table or a class, and checked whole before anything runs.

[task]
name = "gsm8k"
data = "test.jsonl"
input = "Q: {question}\\nA:"
truth = "answer"
scorer = "number"

[sampling]
temperature = 0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from steelyard_old.did_you_mean import meant, nearest
from steelyard_old.errors import UsageError
from steelyard_old.evaluate.asking.asks import Case
from steelyard_old.evaluate.scorers.base import Scoring, is_number
from steelyard_old.evaluate.scorers.catalogue import scorer_named
from steelyard_old.evaluate.scorers.choice import Choice
from steelyard_old.evaluate.scorers.judge import Judge
from steelyard_old.evaluate.task.cases import (
    Prompting,
    Shots,
    Template,
    canonical,
    cases_of,
    check_keys,
    features_of,
    shots_of,
    subset,
    template_of,
)
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import parse, usual
from steelyard_old.options.option import checked_if_given
from steelyard_old.redaction import shortened

TOP = ("task", "scorer", "sampling", "protocol", "rule")
KEYS = (
    "name", "data", "id", "input", "truth", "scorer", "metric", "n", "seed", "system", "shots", "group", "strata", "whole_groups",
    "range", "protocol", "layout", "rule",
)  # fmt: skip
OF_A_CLASS = (*KEYS, "sampling", "scorer_options")
# What OpenAI-compatible servers take. Anything else goes into the table extra, and is sent as it is.
SAMPLING = (
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed", "logprobs", "top_logprobs", "frequency_penalty",
    "presence_penalty", "logit_bias", "reasoning_effort", "response_format", "top_k", "min_p", "repetition_penalty",
)  # fmt: skip
# How a run is judged, where neither the reference nor steelyard.toml says: the keys of a table [tasks.NAME].
RULE = ("metric", "scale", "higher_is_better", "alpha", "beta", "sigma", "num_samples", "theta", "margin")
RESERVED = ("model", "messages", "prompt", "input", "stream", "n", "api_key", "tools")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Task:
    """A task, checked. `data` is as it was written, relative to `where`, the file of the task (or a directory).

    `scoring` is the scorer, `sampling` what is sent along with every request; `range` the least and the greatest score.
    `layout` names the published form of the data, if they are no plain table; `rule` is how a run is judged by default.
    """

    name: str
    where: Path
    data: Any
    metric: str
    scoring: Scoring
    prompting: Prompting
    n: int | None = None
    seed: int = 0
    strata: str | None = None
    whole_groups: bool = False
    range: tuple[float, float] | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    own_protocol: Mapping[str, str] = field(default_factory=dict)
    layout: str | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        data = f"{len(self.data):,} rows" if isinstance(self.data, list | tuple) else str(self.data)
        about = [self.name, data, *([] if self.n is None else [f"{self.n:,} items"]), self.scoring.name, self.metric]
        return f"<Task: {shortened(', '.join(about), 110, '…')}>"

    @property
    def writes_labels(self) -> bool:
        """Whether truth and prediction are written as such: the scorer compares labels, or the metric is made of them."""
        if self.scoring.labels:
            return True
        metric = parse(self.metric)
        return "prediction" in metric.needs and not metric.right_or_wrong

    @property
    def group(self) -> str | None:
        """The column of groups."""
        return self.prompting.group

    @property
    def shots_data(self) -> Any:
        """Where the examples come from, if they are drawn from data of their own; relative to `where`."""
        return self.prompting.shots.data if self.prompting.shots else None

    def cases(self, rows: Sequence[Mapping[str, Any]], shot_rows: Sequence[Mapping[str, Any]] | None = None) -> list[Case]:
        """All rows as cases, in their order: prompts rendered, ids and truths checked. Nothing is left to fail later."""
        extra = {"strata": self.strata}
        if isinstance(self.scoring, Choice):
            extra["choices of the scorer"] = self.scoring.choices
        named: dict[str, tuple[str, ...]] = {key: (column,) for key, column in extra.items() if column is not None}
        if isinstance(self.scoring, Judge):
            named["rubric"] = self.scoring.columns
        found = cases_of(rows, self.prompting, shot_rows=shot_rows, needs_truth=self.scoring.needs_truth, named=named)
        for case in found:
            self.scoring.check(case)
        return found

    def ordered(self, cases: Sequence[Case]) -> list[Case]:
        """The cases to ask, in the order to ask them: hash order, the first n."""
        return subset(cases, self.n, self.seed, self.strata, self.whole_groups)

    @property
    def protocol(self) -> dict[str, str]:
        """What was asked and how it was scored, as texts: what a reference pins. A change of any is another measurement."""
        out = {"prompt": self.prompting.digest(), "metric": self.metric, "scorer": self.scoring.name}
        out |= {f"scorer.{key}": value for key, value in self.scoring.protocol.items()}
        out |= {f"sampling.{key}": canonical(value) for key, value in self.sampling.items()}
        if self.prompting.shots:
            out["shots"] = str(self.prompting.shots.n)
        return dict(sorted(out.items())) | dict(sorted(self.own_protocol.items()))


def task_of(table: Mapping[str, Any] | type | object, *, where: Path) -> Task:
    """A task from the content of its file, or from a class or an object with the same names as attributes.

    >>> task = task_of({"task": {"name": "sums", "data": "sums.csv", "input": "{a} + {b} =", "truth": "sum", "scorer": "number"}},
    ...     where=Path("sums.toml"))
    >>> [(case.id, case.input, case.truth) for case in task.cases([{"id": 1, "a": 2, "b": 3, "sum": 5}])]
    [('1', '2 + 3 =', 5)]
    """
    code: Callable[..., Any] | None = None
    if isinstance(table, Mapping):
        given, options, sampling = _of_table(table)
    else:
        given, options, sampling, code = _of_class(table)
    metric = _text(given, "metric")
    scoring = scorer_named(given.get("scorer"), options, where=where, metric=metric, code=code)
    return Task(
        name=_name(given.get("name")),
        where=where,
        data=_data(given.get("data")),
        metric=_metric(metric, scoring),
        scoring=scoring,
        prompting=_prompting(given),
        n=_whole(given, "n", least=1),
        seed=_whole(given, "seed") or 0,
        strata=_text(given, "strata"),
        whole_groups=_whole_groups(given),
        range=_range(given.get("range")) or scoring.span,
        sampling=_sampling(sampling),
        own_protocol=_protocol(given.get("protocol"), scoring),
        layout=_text(given, "layout"),
        rule=_rule(given.get("rule")),
    )


# ---- where it is written ---------------------------------------------------------------------------------------------


def _of_table(table: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any], Mapping[str, Any]]:
    if "task" not in table and set(table) & {"name", "data", "input"}:
        raise UsageError(
            "The keys of the task must be in a table [task].",
            got="its keys at the top",
            need="a table [task]",
            hint="write [task] above them",
        )
    check_keys(table, TOP, "the task file")
    given = dict(_table(table.get("task"), "task"))
    check_keys(given, KEYS, "the table [task]")
    both = (given.get("protocol"), table.get("protocol"))
    if None not in both:
        raise UsageError(
            "The protocol is there twice: [protocol] and [task.protocol].", got="[protocol] and [task.protocol]", need="one of them"
        )
    given["protocol"] = both[0] if both[1] is None else both[1]
    if table.get("rule") is not None:
        given["rule"] = table["rule"]
    return given, _table(table.get("scorer", {}), "scorer"), _table(table.get("sampling", {}), "sampling")


def _of_class(source: Any) -> tuple[dict[str, Any], Mapping[str, Any], Mapping[str, Any], Callable[..., Any] | None]:
    try:
        made = source() if isinstance(source, type) else source
    except Exception as fault:
        got = f"{type(fault).__name__} when {source.__name__}() was made: {fault}"
        raise UsageError(
            f"The task must be a class that needs no arguments, or an object of it ({got}).",
            got=got,
            need="a class that needs no arguments, or an object of it",
        ) from fault
    for name in dir(made):
        if name in OF_A_CLASS or name.startswith("_"):
            continue
        near = nearest(name, OF_A_CLASS, cutoff=0.8)
        if near and not callable(getattr(made, name)):
            raise UsageError(
                f"The task has an attribute {name!r}, which means nothing to a run.",
                got=f"the attribute {name!r}",
                need="names it knows",
                hint=meant([repr(near)]),
            )
    given = {key: getattr(made, key) for key in KEYS if getattr(made, key, None) is not None}
    given.setdefault("name", type(made).__name__)
    if callable(given.get("data")):  # rows that are made when they are needed
        given["data"] = given["data"]()
    code = getattr(made, "score", None)
    options, sampling = (_table(getattr(made, key, None) or {}, key) for key in ("scorer_options", "sampling"))
    return given, options, sampling, code if callable(code) else None


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"[{name}] must be a table, not {repr(value)[:100]}.", got=f"{name} = {value!r}"[:120], need=f"a table [{name}]")
    return value


# ---- one key at a time ---------------------------------------------------------------------------------------------------


def _name(value: Any) -> str:
    """A name that can be a file's on any system; references check it once more, by their own rules."""
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w.-]*", value) or ".." in value or value.endswith(".") or len(value) > 100:
        hint = 'name = "gsm8k"' if value is None else ""
        got = "no name" if value is None else repr(value)
        raise UsageError(
            f"The name of the task must be letters, digits, '.', '_' and '-', beginning with no dot; it is {got}.",
            got=got,
            need="letters, digits, '.', '_' and '-', beginning with no dot",
            hint=hint,
        )
    return value


def _data(value: Any) -> Any:
    if value is None or (isinstance(value, (str, Path)) and not str(value).strip()):
        raise UsageError("The task names no data.", got="no data", need="a source", hint='data = "test.jsonl"')
    return value


def _text(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise UsageError(f"{key} of the task must be a text, not {value!r}.", got=f"{key} = {value!r}", need="a text")
    return value


def _whole(given: Mapping[str, Any], key: str, least: int | None = None) -> int | None:
    value = given.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least)):
        need = "a whole number" + (f" of at least {least}" if least is not None else "")
        raise UsageError(f"{key} of the task must be {need}, not {value!r}.", got=f"{key} = {value!r}", need=need)
    return value


def _whole_groups(given: Mapping[str, Any]) -> bool:
    value = given.get("whole_groups", False)
    if not isinstance(value, bool):
        raise UsageError(f"whole_groups must be true or false, not {value!r}.", got=f"whole_groups = {value!r}", need="true or false")
    if value and given.get("group") is None:
        raise UsageError(
            "whole_groups needs a column of groups.",
            got="whole_groups without a group",
            need="a column of groups",
            hint='group = "passage"',
        )
    if value and given.get("strata") is not None:
        raise UsageError("Give strata or whole_groups, not both.", got="strata and whole_groups", need="one of them")
    return value


def _range(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(map(is_number, value)) or not value[0] < value[1]:
        raise UsageError(
            f"range must be the least and the greatest score, as in [0, 1], not {value!r}.",
            got=f"range = {value!r}",
            need="the least and the greatest score, as in [0, 1]",
        )
    return float(value[0]), float(value[1])


def _metric(given: str | None, scoring: Scoring) -> str:
    """The metric, if the scores can give it; without one that which the scorer is made for."""
    if given is None:
        return scoring.metric_of_sums if scoring.sums else usual({"score"}, right_or_wrong=scoring.right_or_wrong)[0].name
    metric = parse(given)
    if scoring.sums and not parse(scoring.metric_of_sums).gives(metric):
        need = f'"{scoring.metric_of_sums}", of the sum of {scoring.sums[0]} over the sum of {scoring.sums[1]}'
        raise UsageError(f"The scorer {scoring.name} gives the metric {need}, not {given!r}.", need=need)
    if metric.of_ratio and not scoring.sums:
        raise UsageError(
            f"The scorer {scoring.name} gives one score per item, which does not make the metric {given!r}.",
            got="one score per item",
            need="accuracy or mean",
            hint='metric = "accuracy" or "mean"',
        )
    if (metric.right_or_wrong or metric.of_several_tries) and not scoring.right_or_wrong:
        need = "a scorer that says right or wrong"
        raise UsageError(
            f"The metric {given!r} needs a scorer that says right or wrong; the scorer {scoring.name} gives scores between 0 and 1.",
            got="scores between 0 and 1",
            need=need,
            hint='metric = "mean"',
        )
    return metric.name


def _prompting(given: Mapping[str, Any]) -> Prompting:
    asked = given.get("input")
    features = features_of(asked) if isinstance(asked, (list, tuple)) else ()
    wanted = None if asked is None or features else template_of(asked, "input")
    truth = _text(given, "truth")
    shots: Shots | None = shots_of(given.get("shots"), given.get("data"))
    if shots is not None and wanted is None:
        raise UsageError(
            "shots needs an input that is a template of text.",
            got="an input that is no text",
            need='a template, as in input = "Q: {question}\\nA:"',
            hint='input = "Q: {question}\\nA:"',
        )
    if given.get("system") is not None and wanted is None:
        raise UsageError(
            "system needs an input that is a template of text.",
            got="an input that is no text",
            need='a template, as in input = "Q: {question}\\nA:"',
            hint='input = "Q: {question}\\nA:"',
        )
    system: Template | None = None if given.get("system") is None else template_of(given["system"], "system")
    return Prompting(
        id=_text(given, "id"),
        input=wanted,
        features=features,
        truth=template_of(truth, "truth") if truth is not None and "{" in truth else truth,
        system=system,
        shots=shots,
        group=_text(given, "group"),
    )


def _sampling(given: Mapping[str, Any]) -> dict[str, Any]:
    check_keys(given, (*SAMPLING, "extra"), "the table [sampling]")
    extra = _table(given.get("extra", {}), "sampling.extra")
    out = {key: value for key, value in given.items() if key != "extra"}
    if taken := [key for key in extra if key in RESERVED or key in out]:
        raise UsageError(
            f"[sampling.extra] has the key {taken[0]!r}, which the runner sets itself.",
            got=f"the key {taken[0]!r}",
            need="keys that the runner does not set itself",
        )
    bounds: dict[str, tuple[float, float]] = {
        "temperature": (0, 10),
        "top_p": (0, 1),
        "max_tokens": (1, 10**9),
        "max_completion_tokens": (1, 10**9),
    }
    for key, (low, high) in bounds.items():
        if key in out and not (is_number(out[key]) and low <= out[key] <= high and (high <= 10 or isinstance(out[key], int))):
            raise UsageError(
                f"{key} of [sampling] must be a number from {low:g} to {high:g}, not {out[key]!r}.",
                got=f"{key} = {out[key]!r}",
                need=f"a number from {low:g} to {high:g}",
            )
    return dict(sorted((out | dict(extra)).items()))


def _rule(given: Any) -> dict[str, Any]:
    """The settings of the guard; each is looked at even where nothing is on record to judge by."""
    table = _table(given or {}, "rule")
    check_keys(table, RULE, "the table [rule]")
    for key in ("alpha", "beta", "theta", "margin"):
        checked_if_given(key, table.get(key))
    for key, kind, need in (
        ("higher_is_better", bool, "true or false"),
        ("metric", str, "a text"),
        ("scale", str, "percent, fraction or raw"),
        ("num_samples", int, "a whole number of at least 1"),
    ):
        value = table.get(key)
        wrong = key == "scale" and value not in (None, "percent", "fraction", "raw")
        wrong = wrong or (
            key == "num_samples" and value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1)
        )
        if wrong or (value is not None and not isinstance(value, kind)):
            raise UsageError(f"{key} of [rule] must be {need}, not {value!r}.", got=f"{key} = {value!r}", need=need)
    if "sigma" in table and not (is_number(table["sigma"]) and table["sigma"] >= 0):
        raise UsageError(
            f"sigma of [rule] must be a number of 0 or more, not {table['sigma']!r}.",
            got=f"sigma = {table['sigma']!r}",
            need="a number of 0 or more",
        )
    return dict(table)


def _protocol(given: Any, scoring: Scoring) -> dict[str, str]:
    """The user's own fields. None of them may pose as one that is found out."""
    table = _table(given or {}, "protocol")
    for key, value in table.items():
        if not isinstance(value, (str, int, float, bool)):
            raise UsageError(
                f"{key} of the protocol must be a text or a number, not {value!r}.", got=f"{key} = {value!r}", need="a text or a number"
            )
        if key in ("prompt", "metric", "scorer", "shots") or str(key).startswith(("scorer.", "sampling.")):
            raise UsageError(
                f"The key {key!r} of the protocol is filled in by the task itself.",
                got=f"the key {key!r}, which is filled in by the task itself",
                need="another name",
                hint="use another name",
            )
    return {str(key): canonical(value) for key, value in table.items()}
