"""A log, read: columns with their roles, what was chosen, what is missing. And the rule for choices: one, or an error that lists them.

A reader of a tool's log is a function `read(path, choices) -> Log`. It names its columns as the roles are called (id, score,
truth, prediction, probability, group, repeat, model), keeps the tool's metadata as further columns for `--by` and
`--group`, and writes None where an item has no answer, so that `--missing` decides and nothing is dropped.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from steelyard_old.did_you_mean import nearest
from steelyard_old.errors import AmbiguityError, UsageError
from steelyard_old.late_dataclass import dataclass

# The parameter of each choice. A reference has a task and a model too, so those of a log have names that mean one thing everywhere.
PARAMETERS: Mapping[str, str] = {"task": "log_task", "model": "log_model"} | {
    name: name for name in ("filter", "scorer", "prompt", "score")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the user said about a log: which task, filter, scorer, prompt, model, and which metric (`score`). None: not said.

    latest: of several runs of one task and model, the newest.
    """

    task: str | None = None
    filter: str | None = None
    scorer: str | None = None
    prompt: str | None = None
    model: str | None = None
    score: str | None = None
    latest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """columns: equal lengths, None for missing. ratio: the two columns of a corpus metric. chosen: what was picked, for the answer.

    checks: facts that two logs must share to be comparable (task hash, dataset revision), with the words of the tool.
    metric, positive: the metric of ours that is the tool's number, where its columns do not tell by themselves, and the class
    it is about. not_a_mean: why no metric of ours is the tool's number (empty: one is); then a metric must be asked for.
    strata: the column that says which task of a group an item is of; alike: each task counts alike there, whatever its size.
    texts: reads the log once more, for what it was asked and answered: ids with prompt, target, answer (None: the columns have it).
    unfinished: how a run ended that did not finish and has items without an answer, with what went wrong where; else empty.
    """

    tool: str
    columns: Mapping[str, Sequence[Any]]
    name: str | None = None
    ratio: tuple[str, str] | None = None
    chosen: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    higher_is_better: bool | None = None
    metric: str | None = None
    positive: str | None = None
    not_a_mean: str = ""
    unfinished: str = ""
    strata: str | None = None
    alike: bool = False
    texts: Callable[[], Iterable[tuple[str, Mapping[str, Any]]]] | None = field(default=None, compare=False)


class SeveralError(AmbiguityError):
    """A log holds several of what is chosen by one option. choice: task, model, prompt, ...; found: the names of all."""

    def __init__(self, what: str, choice: str, found: Sequence[str], *, got: str = "", need: str = "one", hint: str = "") -> None:
        super().__init__(what, got=got, need=need, hint=hint)
        self.choice, self.found = choice, tuple(found)


def choice_of(what: str, name: str) -> str:
    """The parameter that makes a choice, as one would write it.

    >>> choice_of("model", "gpt 4 (new)")
    "log_model='gpt 4 (new)'"
    """
    return f"{PARAMETERS.get(what, what)}={name!r}"


def pick(what: str, asked: str | None, found: Sequence[str], shown: str, *, option: str | None = None) -> str:
    """The one that is there, or the one that was asked for; several, unasked, are an error that lists them.

    >>> pick("filter", None, ["strict-match"], "log.jsonl")
    'strict-match'
    """
    listed = ", ".join(found[:20]) + (f" and {len(found) - 20} more" if len(found) > 20 else "")
    parameter = option or PARAMETERS.get(what, what)
    if asked is not None:
        if asked in found:
            return asked
        hint = choice_of(parameter, nearest(asked, found, cutoff=0.5) or found[0]) if found else f"leave {parameter}= out"
        raise UsageError(
            f"No {what} {asked!r} in {shown!r}; it has {listed or f'no {what}'}.",
            got=listed or f"no {what}",
            need="one of these",
            hint=hint,
        )
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"{shown!r} has no {what}.", got="none", need="one")
    raise SeveralError(
        f"{shown!r} has {len(found)} {'entries' if what == 'entry' else what + 's'}: {listed}.",
        what,
        found,
        got=f"{len(found)}: {listed}",
        need="one of them",
        hint=choice_of(parameter, found[0]),
    )


def pick_latest(dated: Mapping[str, str], choices: Choices, shown: str, whose: str = "") -> tuple[str, list[str]]:
    """Of several runs (path -> the time that its log tells, or nothing), the one there is; or the newest, if asked for, and that is said.

    >>> pick_latest({"b.eval": "2026-11-02", "a.eval": "2026-11-03"}, Choices(latest=True), "logs", "gsm8k")
    ('a.eval', ['read the newest of 2 runs of gsm8k: 2026-11-03'])
    """
    if len(dated) == 1:
        return next(iter(dated)), []
    newest = max(dated, key=lambda each: (dated[each], each))
    several = f"run of {whose!r} in {shown!r}" if whose else f"log of {shown!r}"
    clear = all(dated.values()) and list(dated.values()).count(dated[newest]) == 1
    if choices.latest and clear:
        return newest, [f"read the newest of {len(dated)} runs{f' of {whose}' if whose else ''}: {dated[newest]}"]
    names = sorted(dated.values()) if clear else [os.path.basename(each) + (f" ({time})" if time else "") for each, time in dated.items()]
    listed = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    give = f"give its path: {shlex.quote(newest)}"
    raise AmbiguityError(
        f"Cannot tell which {several} is the newest: {listed}."
        if choices.latest
        else f"{shown!r} has {len(dated)} {f'runs of {whose!r}' if whose else 'logs'}: {listed}.",
        got=f"{len(dated)}: {listed}",
        need="one" if not choices.latest else "a time in each of them, and one that is the newest",
        hint=f"latest=True reads the newest, or {give}" if clear else give,
    )
