"""From what names a task to its cases in the order in which they will be asked. Everything that can be wrong is found out here."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.atomic import read_bytes
from steelyard.checks import whole
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.evaluate.asking.asks import Case
from steelyard.evaluate.models.opening import load
from steelyard.evaluate.scorers.base import Scoring
from steelyard.evaluate.scorers.catalogue import scorer_of
from steelyard.evaluate.task.task import Task, task_of
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import parse
from steelyard.read.rows import rows_of
from steelyard.reference import strict_yaml, yaml_tree
from steelyard.reference.names import check_task

ENDINGS = (".toml", ".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A task ready to be asked: cases in their order, a scorer that accepts all their truths."""

    task: Task
    cases: tuple[Case, ...]
    scorer: Scoring
    warnings: tuple[str, ...]

    @property
    def metric(self) -> str:
        return self.task.metric

    @property
    def quantity(self) -> Metric:
        """The metric itself."""
        return parse(self.task.metric)

    @property
    def span(self) -> tuple[float, float] | None:
        """The least and the greatest score, if they are known."""
        return self.task.range or ((0.0, 1.0) if self.scorer.right_or_wrong else None)

    @property
    def source(self) -> Any:
        """Where the items come from."""
        return _beside(self.task, self.task.data)

    def worth(self, score: float) -> float:
        """What a score counts in the metric: an error counts what is wrong."""
        return float(self.quantity.of_right(score))

    @property
    def seed(self) -> int:
        return self.task.seed

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
        told = hashlib.sha256()
        for case in sorted(self.cases, key=lambda case: case.id):
            asked = case.input if case.messages is None else case.messages
            told.update(
                json.dumps([case.id, asked, case.truth], sort_keys=True, default=str, ensure_ascii=False).encode("utf-8", "surrogatepass")
            )
        return told.hexdigest()


def prepare(given: Any, *, n: int | None = None, seed: int | None = None) -> Prepared:
    """The task with its cases; n and seed take the place of its own."""
    task = read_task(given)
    check_task(task.name)
    if "seed" in task.sampling:
        raise UsageError(
            "cannot use one seed for all requests",
            got="seed in [sampling]",
            need="a seed for every item and repeat, which comes from the task's own",
            hint="seed = 0 in [task]",
        )
    metric = parse(task.metric)
    lacking = [need for need in metric.needs if need not in ("truth", "prediction", "score")]
    if lacking and task.scoring.sums is None:
        raise UsageError(
            f"cannot run for the metric {task.metric}",
            got="answers that are scored one by one",
            need="accuracy, error, mean, or a metric of labels",
            hint="run, and measure the rows",
        )
    if metric.of_class and metric.average is None:
        raise UsageError(
            f"cannot tell which class {task.metric} is about",
            got="a task, which has no positive class",
            need="an average",
            hint=f'metric = "macro_{task.metric}"; or run, and measure the rows, naming the positive class',
        )
    rows, warnings = rows_of(_beside(task, task.data))
    shots, more = (None, []) if task.shots_data is None else rows_of(_beside(task, task.shots_data))
    task = replace(task, n=task.n if n is None else whole("n", n), seed=task.seed if seed is None else seed)
    cases = task.cases(rows, shots)
    if metric.numeric:
        _refuse_words(task, cases)
    if task.n is not None and task.n > len(cases):
        raise UsageError(
            "cannot take the subset",
            got=f"n {task.n:,} of {len(cases):,} items",
            need="at most as many as there are",
            hint="leave n out for all",
        )
    return Prepared(task=task, cases=tuple(task.ordered(cases)), scorer=scorer_of(task), warnings=(*warnings, *more))


def _refuse_words(task: Task, cases: Sequence[Case]) -> None:
    """A metric of numbers needs truths that are numbers: found out before anything is asked."""
    for case in cases:
        truth = task.scoring.truth(case)
        try:
            float(truth)
        except (TypeError, ValueError):
            raise DataError(
                f"cannot run for the metric {task.metric}", got=f"the truth {truth!r} of item {case.id!r}", need="a number for every item"
            ) from None


def _beside(task: Task, data: Any) -> Any:
    """A relative path is relative to the task's file."""
    if not isinstance(data, str | os.PathLike) or os.fspath(data) == "-" or "://" in os.fspath(data):
        return data
    home = task.where if task.where.is_dir() else task.where.parent
    return os.path.join(home, os.fspath(data))


def read_task(given: Any) -> Task:
    """A task. given: a TOML or YAML file, python:pkg.mod:Class, a class, an object, or a mapping."""
    if isinstance(given, Task):
        return given
    if isinstance(given, str) and given.startswith("python:"):
        return task_of(load(given.removeprefix("python:"))[0], where=Path.cwd())
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        return task_of(_table(path), where=path.absolute())
    return task_of(given, where=Path.cwd())


def _table(path: Path) -> Mapping[str, Any]:
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"cannot read the task {str(path)!r}",
            got=f"the ending {path.suffix!r}" if path.suffix else "no ending",
            need=f"a file {', '.join(ENDINGS)}",
            hint="python:pkg.mod:Class names a task in Python",
        )
    text = strict_yaml.decode(read_bytes(path), str(path))
    if path.suffix.lower() != ".toml":
        found = yaml_tree.plain(strict_yaml.parse(text, str(path)))
    else:
        try:
            found = tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as fault:
            raise SourceError(f"cannot read the task {str(path)!r}", got=str(fault), need="valid TOML") from None
    if not isinstance(found, dict):
        raise SourceError(f"cannot read the task {str(path)!r}", got=f"a {type(found).__name__}", need="a table [task]")
    return found
