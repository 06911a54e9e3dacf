"""A log, read: columns with their roles, what was chosen, what is missing. And the rule for choices: one, or an error that lists them.

A reader of a tool's log is a function `read(path, choices) -> Log`. It names its columns as the roles are called (id, score,
truth, prediction, probability, group, repeat, model), keeps the tool's metadata as further columns for `--by` and
`--group`, and writes None where an item has no answer, so that `--missing` decides and nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.errors import AmbiguityError, UsageError

OPTIONS = ("task", "filter", "scorer", "prompt", "model", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the user said about a log: which task, filter, scorer, prompt, model, and which metric (`score`). None: not said."""

    task: str | None = None
    filter: str | None = None
    scorer: str | None = None
    prompt: str | None = None
    model: str | None = None
    score: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """columns: equal lengths, None for missing. ratio: the two columns of a corpus metric. chosen: what was picked, for the answer.

    checks: facts that two logs must share to be comparable (task hash, dataset revision), with the words of the tool.
    metric: the metric of ours that is the tool's number, where its columns do not tell by themselves.
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


def pick(what: str, asked: str | None, found: Sequence[str], shown: str, *, option: str | None = None) -> str:
    """The one that is there, or the one that was asked for; several, unasked, are an error that lists them.

    >>> pick("filter", None, ["strict-match"], "log.jsonl")
    'strict-match'
    """
    listed = ", ".join(found[:20]) + (f" and {len(found) - 20} more" if len(found) > 20 else "")
    flag = option or f"--{what}"
    if asked is not None:
        if asked in found:
            return asked
        raise UsageError(
            f"cannot find the {what} {asked!r} in {shown!r}", got=listed or f"no {what}", need="one of these", hint=f"{flag} NAME"
        )
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"cannot find a {what} in {shown!r}", got="none", need="one")
    raise AmbiguityError(
        f"cannot tell which {what} of {shown!r} is meant", got=f"{len(found)}: {listed}", need="one", hint=f"{flag} {found[0]}"
    )
