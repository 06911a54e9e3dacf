"""A suite file: its checks with their tiers and waivers, and what it says of all of them; every key is checked."""

from __future__ import annotations

import contextlib
import datetime
import glob
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard_old.did_you_mean import either, unknown_key
from steelyard_old.error_rates import ALPHA
from steelyard_old.errors import AmbiguityError, SourceError, SteelyardError, with_article
from steelyard_old.evaluate.task.presets import PRESET
from steelyard_old.history.nights import check_series
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import LOG_CHOICES, RUN_COLUMNS, checked, coin_flips, unknown_word
from steelyard_old.options.run import HOW, OF_MODELS
from steelyard_old.reference.config import TIERS

OF_SUITE = ("name", "alpha", "correction", "directory", "config", "tier", "budget")
OF_LOG = ("score", *(one.name for one in LOG_CHOICES))  # which part of a log is the result
OF_CHECK = (
    *("task", "model", "spec", "result", "value", "tier", "waiver", "metric", "positive", "scale", "alpha", "beta", "sigma", "theta"),
    *("margin", "recovery", "num_samples", "target", "range", "unmatched", "missing", "protocol", "columns", "ratio", "run"),
    *("by", "critical_slices", "again"),
    *OF_LOG,
)
# What a check that runs a model says about it, in its table `run`: `steelyard run --suite` evaluates it, `check --suite` cannot.
# a suite keeps no keys, and says how to treat what is missing for the check, not for the run
OF_RUN = (
    "task",
    "model",
    "data",
    "name",
    "output",
    "prices",
    *(name for name in (*HOW, *OF_MODELS) if name not in ("missing", "unmatched", "key", "seeds")),
)
COLUMNS_OF_A_RUN = (*(column.name for column in RUN_COLUMNS), "ratio")
POOLED = "pooled"  # all tasks together and each among all, by closed testing
CORRECTIONS = (POOLED, "holm", "bonferroni", "none")


OF_BUDGET = ("series", "false_alarms_per_year", "runs_per_year", "confirm")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteBudget:
    """What a suite file says about false alarms."""

    false_alarms_per_year: float = 1.0
    runs_per_year: float = 365.0
    confirm: bool = False
    series: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCheck:
    """One check of a suite, as the file says it."""

    options: Mapping[str, Any]
    tier: str
    waiver: Mapping[str, Any] | None
    run: Mapping[str, Any] | None = None
    again: str | None = None  # of a budget with confirm: the second run of the same night


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """A suite file as it was read: its checks, and what it says of all of them. where: directory and config of its references."""

    file: Path
    guards: Sequence[SuiteCheck]
    alpha: float
    correction: str
    name: str | None
    budget: SuiteBudget | None
    where: Mapping[str, Any]
    warnings: list[str]


@contextlib.contextmanager
def about_check(options: Mapping[str, Any]) -> Iterator[None]:
    """What one check of a suite is refused for says which check, and names keys of the check where it would name parameters."""
    try:
        yield
    except SteelyardError as fault:
        told = re.sub(r"\b([a-z_]+)='(\w+)'", r'\1 = "\2"', str(fault))
        fault.args = (told if repr(options["task"]) in told else f"Check of {options['task']!r}: {told}",)
        raise


def read_suite(
    path: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    results: bool = True,
) -> SuiteFile:
    """The suite file, checked. Paths in it are relative to it. results: the files that its checks are about are looked for."""
    file = Path(path)
    plain = _read(file)
    head = _checked("[suite]", plain.get("suite", {}), OF_SUITE, file)
    alpha = checked("alpha", head.get("alpha", ALPHA))
    correction = str(head.get("correction", POOLED))
    if correction not in CORRECTIONS:
        raise unknown_word("The correction of a suite", correction, tuple(CORRECTIONS), "correction")
    checks = plain.get("checks", [])
    if not isinstance(checks, list):
        raise SourceError(
            f"In the suite {file.name!r}, write the checks as [[checks]] tables; checks is {with_article(type(checks).__name__)}.",
            got=f"checks is {type(checks).__name__}",
            need="[[checks]] tables",
        )
    guards = [_guard(i, one, head, file, results=results) for i, one in enumerate(checks, 1)]
    if not guards:
        raise SourceError(f"The suite {file.name!r} has no [[checks]].", got="no [[checks]]", need="at least one")
    _refuse_twice(guards, file)
    return SuiteFile(
        file=file,
        guards=guards,
        alpha=alpha,
        correction=correction,
        name=None if head.get("name") is None else str(head["name"]),
        budget=read_budget(head.get("budget"), file),
        where={
            "directory": directory if directory is not None else _relative(head.get("directory"), file),
            "config": config if config is not None else _relative(head.get("config"), file),
        },
        warnings=coin_flips(alpha=alpha),
    )


def read_budget(table: Any, file: Path) -> SuiteBudget | None:
    """The budget of a suite file, every key checked; None without one."""
    if table is None:
        return None
    what = f"budget of the suite {file.name!r}"
    if not isinstance(table, Mapping):
        raise SourceError(
            f"The {what} must be a table, not {table!r}.",
            got=f"budget = {table!r}",
            need="a table",
            hint="budget = {false_alarms_per_year = 1, runs_per_year = 365}",
        )
    for key in table:
        if key not in OF_BUDGET:
            unknown, hint = unknown_key(key, OF_BUDGET, f"the budget of the suite {file.name!r}")
            raise SourceError(unknown, got=f"{key!r} in budget", need=f"one of {', '.join(OF_BUDGET)}", hint=hint)
    numbers = {}
    for key in ("false_alarms_per_year", "runs_per_year"):
        value = table.get(key, getattr(SuiteBudget(), key))
        if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
            raise SourceError(
                f"{key} in the {what} must be a number above 0, not {value!r}.", got=f"{key} = {value!r}", need="a number above 0"
            )
        numbers[key] = float(value)
    if numbers["false_alarms_per_year"] > numbers["runs_per_year"]:
        got = f"{numbers['false_alarms_per_year']:g} false alarms in {numbers['runs_per_year']:g} runs a year"
        raise SourceError(f"The {what} allows {got}, more than one per run.", got=got, need="at most one false alarm per run")
    confirm = table.get("confirm", False)
    if not isinstance(confirm, bool):
        raise SourceError(
            f"confirm in the {what} must be true or false, not {confirm!r}.", got=f"confirm = {confirm!r}", need="true or false"
        )
    series = table.get("series")
    if series is not None:
        check_series(series)
    return SuiteBudget(**numbers, confirm=confirm, series=series)


def waived_now(guard: SuiteCheck, today: datetime.date | None = None) -> bool:
    """Whether a waiver of the check is in force."""
    day = today or datetime.datetime.now(datetime.UTC).date()
    return guard.waiver is not None and datetime.date.fromisoformat(guard.waiver["until"]) >= day


def _read(file: Path) -> dict[str, Any]:
    try:
        plain = tomllib.loads(file.read_bytes().decode("utf-8"))
    except FileNotFoundError as fault:
        raise SourceError(f"No suite file {str(file)!r}.", got="no such file", need="a TOML file") from fault
    except OSError as fault:
        raise SourceError(
            f"Cannot read the suite {str(file)!r}: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="a TOML file"
        ) from fault
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise SourceError(f"The suite {str(file)!r} is not valid TOML ({fault}).", got=str(fault), need="valid TOML") from fault
    return _checked("the file", plain, ("suite", "checks"), file)


def _checked(what: str, table: Any, known: Sequence[str], file: Path) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise SourceError(
            f"In the suite {file.name!r}, {what} must be a table, not {with_article(type(table).__name__)}.",
            got=f"{what} is {type(table).__name__}",
            need="a table",
        )
    for key in table:
        if key not in known:
            unknown, hint = unknown_key(key, known, repr(file.name) if what == "the file" else f"{what} of the suite {file.name!r}")
            raise SourceError(unknown, got=f"{key!r} in {what}", need=f"one of {', '.join(known)}", hint=hint)
    return dict(table)


def _guard(number: int, table: Any, head: Mapping[str, Any], file: Path, *, results: bool) -> SuiteCheck:
    what = f"check {number}"
    one = _checked(what, table, OF_CHECK, file)
    lacking = [name for name in ("task", "model") if not isinstance(one.get(name), str)]
    if lacking:
        raise SourceError(
            f"In the suite {file.name!r}, {what} has no {' and no '.join(lacking)}.",
            got=f"{what} without {' and '.join(lacking)}",
            need="both",
        )
    given = [name for name in ("result", "value", "run") if name in one]
    if len(given) != 1:
        there = " and ".join(given) if given else "none of them"
        raise SourceError(
            f"In the suite {file.name!r}, {what} needs one of result, value and run; it has {there}.",
            got=f"{what} with {there}",
            need="one of result, value and run",
        )
    tier = one.pop("tier", head.get("tier", "critical"))
    if not isinstance(tier, str) or tier not in TIERS:
        raise SourceError(
            f"In the suite {file.name!r}, the tier of {what} must be {either(tuple(TIERS))}, not {tier!r}.",
            got=f"tier {tier!r} in {what}",
            need=f"one of {', '.join(TIERS)}",
        )
    waiver = _waiver(one.pop("waiver", None), what, file)
    columns = _checked(f"columns of {what}", one.pop("columns", {}), COLUMNS_OF_A_RUN, file)
    for name in ("spec", "protocol"):
        if not isinstance(one.get(name, {}), dict):
            raise SourceError(
                f"In the suite {file.name!r}, {name} of {what} must be a table, not {one[name]!r}.",
                got=f"{name} = {one[name]!r} in {what}",
                need="a table",
            )
    part = {name: one.pop(name) for name in OF_LOG if name in one}
    if part and "result" not in one:
        got = f"{next(iter(part))} without a result in {what}"
        raise SourceError(
            f"In the suite {file.name!r}, {what} has {next(iter(part))} but no result to read it from.", got=got, need="a log to choose in"
        )
    if "score" in part and "score" in columns:
        raise SourceError(f"In the suite {file.name!r}, {what} has score twice.", got=f"score twice in {what}", need="it once")
    columns = {**columns, **part}
    if columns and "value" in one:
        raise SourceError(
            f"In the suite {file.name!r}, {what} has columns beside a value; they need a result to be read from.",
            got=f"columns beside a value in {what}",
            need="a result to read them from",
        )
    if "result" in one:
        pattern = str(one.pop("result"))
        one["source"] = _result(pattern, what, file) if results else pattern
    run, again = one.pop("run", None), one.pop("again", None)
    if again is not None and not isinstance(again, str):
        raise SourceError(
            f"In the suite {file.name!r}, again of {what} must be a path, not {again!r}.", got=f"again = {again!r} in {what}", need="a path"
        )
    return SuiteCheck(
        options={**one, **columns},
        tier=tier,
        waiver=waiver,
        run=None if run is None else _run(run, what, file),
        again=None if again is None else str(_relative(again, file)),
    )


def _refuse_twice(guards: Sequence[SuiteCheck], file: Path) -> None:
    """The same run checked against the same reference twice would count twice in the correction, and hide what one of them finds."""
    seen: dict[str, int] = {}
    for number, guard in enumerate(guards, 1):
        about = {name: guard.options.get(name) for name in ("task", "model", "spec", "source", "value")}
        first = seen.setdefault(repr((about, guard.run)), number)
        if first != number:
            raise SourceError(
                f"In the suite {file.name!r}, check {number} asks the same as check {first} ({about['task']}, {about['model']}).",
                got=f"check {number} asks what check {first} asks ({about['task']}, {about['model']})",
                need="each check once: the correction counts them",
                hint="leave one out: the correction counts them",
            )


def _run(table: Any, what: str, file: Path) -> dict[str, Any]:
    """What to evaluate: a task file beside the suite file, and a model."""
    run = _checked(f"run of {what}", table, OF_RUN, file)
    lacking = [name for name in ("task", "model") if not isinstance(run.get(name), str)]
    if lacking:
        raise SourceError(
            f"In the suite {file.name!r}, the run of {what} has no {' and no '.join(lacking)}.",
            got=f"the run of {what} without {' and '.join(lacking)}",
            need="both",
        )
    beside: dict[str, Any] = {}
    for name in ("task", "data", "output"):
        if not isinstance(run.get(name, ""), str):
            raise SourceError(
                f"In the suite {file.name!r}, {name} in the run of {what} must be a path, not {run[name]!r}.",
                got=f"{name} = {run[name]!r} in the run of {what}",
                need="a path",
            )
        if name in run and not run[name].startswith(("python:", PRESET)) and "://" not in run[name]:
            beside[name] = str(_relative(run[name], file))
    return {**run, **beside}


def _waiver(table: Any, what: str, file: Path) -> dict[str, Any] | None:
    """A waiver has a reason and a day on which it ends; without either it would be a way to forget."""
    if table is None:
        return None
    one = _checked(f"waiver of {what}", table, ("reason", "until"), file)
    until, reason = one.get("until"), one.get("reason")
    if isinstance(until, str):
        try:
            until = datetime.date.fromisoformat(until)
        except ValueError:
            until = None
    if isinstance(until, datetime.datetime):
        until = until.date()
    if not isinstance(until, datetime.date) or not isinstance(reason, str) or not reason.strip():
        raise SourceError(
            f"The waiver of {what} in {file.name!r} needs a reason and a date; it has reason {reason!r}, until {one.get('until')!r}.",
            got=f"reason {reason!r}, until {one.get('until')!r}",
            need="a reason and a date",
            hint='waiver = {reason = "bug 123", until = 2026-12-31}',
        )
    return {"reason": reason, "until": until.isoformat()}


def _result(pattern: str, what: str, file: Path) -> str:
    """The one file that a pattern names, relative to the suite file."""
    full = pattern if os.path.isabs(pattern) else os.path.join(glob.escape(str(file.parent)), pattern)
    if not glob.has_magic(pattern):
        return pattern if os.path.isabs(pattern) else str(file.parent / pattern)
    found = sorted(glob.glob(full, recursive=True))
    if len(found) == 1:
        return found[0]
    if not found:
        raise SourceError(
            f"No file matches {pattern!r}, the result of {what} in {file.name!r}.", got=f"no file for {pattern!r}", need="exactly one"
        )
    shown = ", ".join(os.path.relpath(name, file.parent) for name in found[:5])
    raise AmbiguityError(
        f"{len(found)} files match the result of {what} in {file.name!r}: {shown}.", got=f"{len(found)} files: {shown}", need="exactly one"
    )


def _relative(path: Any, file: Path) -> Path | None:
    return None if path is None else file.parent / str(path)
