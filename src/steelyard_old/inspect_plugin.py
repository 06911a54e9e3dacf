"""Inside Inspect: metrics with our intervals for `@scorer(metrics=[...])`, and a hook that checks finished runs.

    from steelyard_old.inspect_plugin import accuracy, check_runs, grouped, mean    # or: from steelyard_old import inspect

    @scorer(metrics=[accuracy(), grouped(accuracy(), "subject")])
    def my_scorer(): ...

    check_runs(on_regression="fail")  # every run that ends from now on is checked against its reference

A metric answers with several numbers, which Inspect shows side by side: the value under its own name, then `_low` and `_high`,
the ends of the interval, and `_stderr`. The unit is the sample, never the epoch: where Inspect reduced the epochs there is one
score per sample, and where it did not (`Epochs(3, [])`) the epochs of a sample count as its repeats.

Nothing of Inspect is loaded before one of these functions is called.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from steelyard_old.did_you_mean import did_you_mean
from steelyard_old.errors import DataError, SteelyardError, UsageError
from steelyard_old.options.option import keywords_of, number, refuse_unknown

if TYPE_CHECKING:
    from steelyard_old.results.measurement import Row
    from steelyard_old.results.verdict import Verdict

ON_REGRESSION = ("warn", "fail")
CHECK_VARIABLE = "STEELYARD_INSPECT_CHECK"  # warn or fail: checks the runs of `inspect eval` without a line of Python
_NOT_CHECKED = 3
_WORST_LAST = (0, 2, _NOT_CHECKED, 1)  # exit codes of `check`: a regression is found out even where another log cannot be read
_ENDS = ("low", "high", "stderr")

_log = logging.getLogger(__name__)

ToFloat = Callable[[Any], float]


# ---- metrics -----------------------------------------------------------------------------------------------------------


def accuracy(*, confidence_level: float = 0.95, cluster: str | None = None, to_float: ToFloat | None = None) -> Any:
    """Accuracy with its interval: accuracy, accuracy_low, accuracy_high, accuracy_stderr.

    Right or wrong has Wilson's interval. Partial credit, or epochs reduced to a mean, makes it the mean of the samples' scores.

    cluster: a key of the sample metadata; samples that share its value are one group, as in `measure(group=)`.
    to_float: turns a score into a number. Default: Inspect's `value_to_float()`.
    """
    return _registered().accuracy(**_given(confidence_level, cluster, to_float))


def mean(*, confidence_level: float = 0.95, cluster: str | None = None, to_float: ToFloat | None = None) -> Any:
    """The mean of the scores with its interval: mean, mean_low, mean_high, mean_stderr. Parameters as for `accuracy`."""
    return _registered().mean(**_given(confidence_level, cluster, to_float))


def grouped(metric: Any, group_key: str, *, all_label: str | None = "all") -> Any:
    """A metric of ours once per value of a metadata key, and once for all samples: algebra, algebra_low, algebra_high, ...

    all_label: what to call the number of all samples. None leaves it out. A name that is taken already gets a longer one.
    """
    if not isinstance(group_key, str) or not group_key:
        raise UsageError(
            f"group_key must be the name of a metadata key, not {group_key!r}.", got=repr(group_key), need="the name of a metadata key"
        )
    return _registered().grouped(metric, group_key, **({} if all_label == "all" else {"all_label": all_label}))


def _given(confidence_level: float, cluster: str | None, to_float: ToFloat | None) -> dict[str, Any]:
    """What differs from the defaults: Inspect writes the parameters of a metric into the log."""
    level = number("confidence_level", confidence_level)
    if not 0 < level < 1:
        raise UsageError("cannot use confidence_level", got=repr(confidence_level), need="a number between 0 and 1", hint="write 0.95")
    given = {"confidence_level": level, "cluster": cluster, "to_float": to_float}
    return {name: value for name, value in given.items() if value != (0.95 if name == "confidence_level" else None)}


def with_interval(
    name: str, scores: Sequence[Any], *, confidence_level: float = 0.95, cluster: str | None = None, to_float: ToFloat
) -> dict[str, float]:
    """The metric of a list of Inspect's SampleScore: the value under its name, and what is known beside it.

    What cannot be known (an interval from one sample) is left out, and a warning in Inspect's log says why.
    """
    if not scores:
        return {name: math.nan}  # what Inspect itself shows for no scored samples
    from steelyard_old.questions.measure.measure import measure

    columns: dict[str, Any] = {}
    ids = [score.sample_id for score in scores]
    if None not in ids and len(set(map(str, ids))) < len(ids):
        columns |= {"id": list(map(str, ids)), "repeat": _occurrences(map(str, ids))}
    if cluster is not None:
        columns["group"] = [_fact(score, cluster, name) for score in scores]
    values = [to_float(score.score.value) for score in scores]
    found = measure(_array(values), metric="mean" if name == "mean" else None, confidence_level=confidence_level, **columns)
    for said in found.warnings:
        _log.warning("%s: %s", name, said)
    return _numbers(name, found.rows[0])


def _array(values: list[float]) -> Any:
    import numpy as np

    return np.asarray(values, dtype=float)


def _numbers(name: str, row: Row) -> dict[str, float]:
    low, high = (None, None) if row.interval is None else (row.interval.low, row.interval.high)
    found = {name: row.estimate} | {f"{name}_{end}": value for end, value in zip(_ENDS, (low, high, row.standard_error), strict=True)}
    return {key: value for key, value in found.items() if value is not None}


def _occurrences(ids: Iterable[str]) -> list[int]:
    """How often each id came before: Inspect does not pass the number of an epoch on to its metrics."""
    seen: dict[str, int] = {}
    found = []
    for each in ids:
        seen[each] = seen.get(each, 0) + 1
        found.append(seen[each])
    return found


def _fact(score: Any, key: str, name: str) -> str:
    """A value of the sample metadata as text; a sample without it is an error, as in Inspect."""
    value = (score.sample_metadata or {}).get(key)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise DataError(
            f"For {name} by {key!r}, every sample needs that metadata; sample {str(score.sample_id)[:80]!r} has none.",
            got=f"sample {str(score.sample_id)[:80]!r} without it",
            need="a value in the metadata of every sample",
        )
    return str(value)


def by_group(of: Callable[[Sequence[Any]], Any], scores: Sequence[Any], group_key: str, all_label: str | None) -> dict[str, float]:
    """A metric of ours per group of samples: the value under the name of the group, and its ends behind it.

    A group that is called as another number is (all, or x_low beside x) gets a longer name, and Inspect's log says so.
    """
    if not scores:
        return {} if all_label is None else {all_label: math.nan}
    groups: dict[str, list[Any]] = {}
    for score in scores:
        groups.setdefault(_fact(score, group_key, "grouped"), []).append(score)
    names = {*groups, *([] if all_label is None else [all_label])}
    ends = {f"{name}_{end}" for name in names for end in _ENDS}
    parts: list[tuple[list[str], Sequence[Any]]] = [
        ([label] * (label not in ends) + [f"{label} (group)"], members) for label, members in groups.items()
    ]
    if all_label is not None:
        parts.append(([all_label] * (all_label not in groups) + [f"{all_label} (all samples)"], scores))
    found: dict[str, float] = {}
    for called, members in parts:
        numbers = of(members)
        label = next(each for each in chain(called, _further(called[-1])) if not _renamed(numbers, each).keys() & found.keys())
        if label != called[0] or len(called) == 1:  # an error here would be the end of a finished evaluation
            _log.warning("grouped: two numbers would have one name, so those of one group are called %r", label)
        found |= _renamed(numbers, label)
    return found


def _further(name: str) -> Iterator[str]:
    """Names made of one, without end."""
    return (f"{name} {number}" for number in count(2))


def _renamed(numbers: Any, label: str) -> dict[str, float]:
    """accuracy, accuracy_low, ... -> label, label_low, ...; a bare number of another metric -> label."""
    if not isinstance(numbers, Mapping):
        return {label: float(numbers)}
    first = next(iter(numbers), "")
    return {label + key.removeprefix(first): value for key, value in numbers.items()}


# ---- the hook ----------------------------------------------------------------------------------------------------------


def check_runs(on_regression: str = "warn", **options: Any) -> RunChecks:
    """Hold every Inspect run that ends from now on against its reference, and print the verdict.

    Task and model are those of the log; the references are found as `steelyard check` finds them (steelyard.toml, or
    directory=). on_regression: "warn" only prints; "fail" also ends the process with the exit code of `check`: 1 for a
    regression, 2 for an inconclusive verdict, 3 where a log could not be checked. The evaluation, its log and what `eval()`
    returns are never touched. options: those of `check`, such as scorer=, theta= or directory=.

    Returns the checks; `.verdicts` fills as runs end.
    """
    _refuse_unknown_answer(on_regression)
    from steelyard_old.options.option import SOURCE_KEYWORDS
    from steelyard_old.questions.guard.check import check

    known = [name for name in (*keywords_of(check), *SOURCE_KEYWORDS) if name not in ("task", "model", "value")]
    refuse_unknown(options, known, "check_runs")
    made: RunChecks = _registered().hook(on_regression, options)
    return made


def _refuse_unknown_answer(on_regression: object) -> None:
    if not isinstance(on_regression, str) or on_regression not in ON_REGRESSION:
        raise UsageError(
            "cannot use on_regression",
            got=repr(on_regression),
            need=" or ".join(ON_REGRESSION),
            hint=did_you_mean(str(on_regression), ON_REGRESSION),
        )


class RunChecks:
    """The hook: what Inspect calls when a run has ended, and what came of it."""

    on_regression = "warn"
    options: Mapping[str, Any] = {}  # never changed: each registered class has its own

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.code = 0

    def enabled(self) -> bool:
        return True

    async def on_run_end(self, data: Any) -> None:
        """When the logs are written and the display is closed. A fault of ours is told and goes no further."""
        for log in data.logs:
            try:
                lines, code = self.judged(log)
            except SteelyardError as error:
                advice = str(error).replace("sy.record(run, ", f"sy.record({log.location!r}, ")
                lines, code = [f"not checked: {log.eval.task}, {log.eval.model}: {advice}"], _NOT_CHECKED
            except Exception as fault:
                lines, code = [f"not checked: {log.eval.task}: {type(fault).__name__}: {fault}"], _NOT_CHECKED
            self.code = max(self.code, code, key=_WORST_LAST.index)
            _print_lines(lines)
        if self.on_regression == "fail" and self.code:
            end_with(self)

    def judged(self, log: Any) -> tuple[list[str], int]:
        """What to print about a log, and the exit code of its verdict."""
        from steelyard_old.questions.guard.check import check
        from steelyard_old.render.pages.verdict import guard_name

        verdict = check(local_path(log.location), task=log.eval.task.rpartition("/")[2], model=log.eval.model, **self.options)
        self.verdicts.append(verdict)
        return [f"{verdict.verdict}: {guard_name(verdict)}: {verdict.conclusion}", *verdict.warnings], verdict.exit_code


def local_path(location: str) -> str:
    """Where a log lies on this machine: Inspect names it by a path or by a file: URL."""
    if "://" not in location:
        return location
    url = urlparse(location)
    if url.scheme != "file":
        raise UsageError(
            f"The log must be on this machine, not at {url.scheme}: to be checked.",
            got=f"{url.scheme}:",
            need="a local log",
            hint="download it, then sy.check(log)",
        )
    return unquote(url.path)


def _print_lines(lines: Iterable[str]) -> None:
    from steelyard_old.render.terminal import harmless

    for line in lines:
        sys.stderr.write(f"steelyard: {harmless(line)}\n")


_ended: list[RunChecks] = []


def end_with(checks: RunChecks) -> None:
    """Give the process the exit code of these checks when it ends: Inspect swallows what its hooks raise, and has its own code."""
    if not _ended:
        atexit.register(_leave)
    if checks not in _ended:
        _ended.append(checks)


def _leave() -> None:
    """The last thing that happens: an exit code cannot be changed in any other way once Python is about to end."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(max((checks.code for checks in _ended), key=_WORST_LAST.index))


# ---- what Inspect knows of it --------------------------------------------------------------------------------------------


@cache
def _registered() -> SimpleNamespace:
    """The metrics under names that Inspect finds again when a log is scored anew: steelyard/accuracy and so on."""
    try:
        from inspect_ai.hooks import Hooks, hooks
        from inspect_ai.scorer import metric, value_to_float
    except ModuleNotFoundError as fault:
        if (fault.name or "").partition(".")[0] != "inspect_ai":
            raise
        raise UsageError("Inspect is not installed.", need="inspect-ai", hint="pip install 'steelyard[inspect]'") from None

    def plain(name: str) -> Any:
        def factory(*, confidence_level: float = 0.95, cluster: str | None = None, to_float: ToFloat | None = None) -> Any:
            convert = to_float or value_to_float()

            def compute(scores: list[Any]) -> Any:
                return with_interval(name, scores, confidence_level=confidence_level, cluster=cluster, to_float=convert)

            return compute

        return metric(name)(factory)

    def per_group(of: Any, group_key: str, *, all_label: str | None = "all") -> Any:
        def compute(scores: list[Any]) -> Any:
            return by_group(of, scores, group_key, all_label)

        return compute

    def hook(on_regression: str, options: Mapping[str, Any]) -> RunChecks:
        made: list[RunChecks] = []

        def remember(self: RunChecks) -> None:
            RunChecks.__init__(self)
            made.append(self)

        body = {"__module__": __name__, "__init__": remember, "on_regression": on_regression, "options": dict(options)}
        hooks(name="accuracy checks", description="checks every finished run against its reference")(
            type("RunChecks", (RunChecks, Hooks), body)
        )
        return made[0]

    return SimpleNamespace(accuracy=plain("accuracy"), mean=plain("mean"), grouped=metric("grouped")(per_group), hook=hook)


def register() -> None:
    """Make the metrics known to Inspect, and the hook if the environment asks for it."""
    _registered()
    if on_regression := os.environ.get(CHECK_VARIABLE):
        check_runs(on_regression)
