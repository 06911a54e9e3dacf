"""`steelyard learners`: is one learning algorithm better? Fits both, over and over, on splits of one table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from steelyard_old.cli.command import INPUT, Given, split, verb_command
from steelyard_old.errors import AmbiguityError, DataError, UsageError
from steelyard_old.evaluate.models.opening import named_object
from steelyard_old.options.learners import OPTIONS


@verb_command(OPTIONS)
@click.argument("baseline", type=INPUT, metavar="BASELINE")
@click.argument("candidate", type=INPUT, metavar="CANDIDATE")
def learners(baseline: str, candidate: str, given: Given) -> None:
    """Is one learning algorithm better than another on this kind of data?

    BASELINE and CANDIDATE are pkg.mod:name, where name is an estimator (fit and predict), a class of estimators, or a
    function that makes one; modules in the current directory can be imported. The difference is candidate minus baseline.

    \b
    Examples:
      steelyard learners sklearn.naive_bayes:GaussianNB sklearn.svm:SVC --data iris.csv --target species
      steelyard learners models:make_old models:make_new --data train.parquet --target label --metric macro_f1 --workers 4
      steelyard learners models:ridge models:forest --data houses.csv --target price --metric mae --group street
    """
    from steelyard_old.metrics.catalogue import parse
    from steelyard_old.questions.learners.learners import compare_learners

    pair = (load_learner(baseline), load_learner(candidate))
    numeric = parse(given["metric"]).numeric
    x, y, groups, said = read_table(given["data"], given["target"], split(given["features"]), given["group"], numeric=numeric)
    if not given["quiet"]:
        for sentence in said:
            click.echo(sentence, err=True)
    names = (baseline, candidate) if baseline != candidate else (f"baseline {baseline}", f"candidate {candidate}")
    with progress_bar(given["quiet"]) as progress:
        result = compare_learners(*pair, x, y, groups=groups, names=names, progress=progress, **{"workers": 1, **given.keywords()})
    given.answer(result)


# ---- learners --------------------------------------------------------------------------------------------------------


def load_learner(text: str) -> Any:
    """The estimator that pkg.mod:name stands for: itself, or what calling it without arguments gives."""
    found, _ = named_object(text, "learner", "sklearn.naive_bayes:GaussianNB, or mymodels:make_a")
    if isinstance(found, type) or not hasattr(found, "fit"):
        found = _made(found, text)
    return found


def _made(maker: Any, text: str) -> Any:
    if not callable(maker):
        raise UsageError(f"cannot use {text!r}", got=type(maker).__name__, need="an estimator, or a callable that makes one")
    try:
        return maker()
    except Exception as fault:
        raise UsageError(
            f"{text!r} failed when it was called without arguments ({type(fault).__name__}: {fault}).",
            got=f"{type(fault).__name__}: {fault}",
            need="a callable that works without arguments",
        ) from fault


# ---- data ------------------------------------------------------------------------------------------------------------


def read_table(source: str, target: str, features: list[str], group: str | None, *, numeric: bool) -> tuple[Any, Any, Any, list[str]]:
    """(features, target, groups, what to say) of a table; every feature is a number, missing ones NaN."""
    import numpy as np

    from steelyard_old.read.files.paths import spool_stdin
    from steelyard_old.read.open_source import open_source
    from steelyard_old.read.roles import RECOGNISED, find

    spool = spool_stdin() if source == "-" else None
    where = source if spool is None else spool.path
    no_roles = dict.fromkeys(RECOGNISED, "none")  # here a column called score or model is a feature like any other
    names = open_source(where, columns=no_roles).columns
    goal = find(names, target, "--target")
    grouping = _group_column(names, group, features, goal)
    chosen, said = _feature_columns([find(names, name, "--features") for name in features], names, {goal, grouping})
    wanted = [name for name in (goal, grouping, *chosen) if name is not None]
    opened = open_source(where, columns={**no_roles, "by": tuple(wanted)})
    table = opened.table
    x = np.column_stack([table.numbers(name, f"feature {name!r}") for name in chosen])
    y = table.numbers(goal, "target") if numeric else _labels(table, goal)
    groups = None
    if grouping is not None:
        labels, _ = table.encoded(grouping, "group")
        groups = np.array([*labels.names, None], object)[labels.codes]
    return x, y, groups, [*said, *(sentence for sentence in opened.warnings if "ignored" not in sentence)]


def _group_column(names: tuple[str, ...], group: str | None, features: list[str], goal: str) -> str | None:
    from steelyard_old.read.roles import RECOGNISED, find

    if group is not None:
        return None if group == "none" and "none" not in names else find(names, group, "--group")
    found = [name for name in names if name.lower() in RECOGNISED["group"] and name != goal]
    if found and not features:
        raise AmbiguityError(
            f"Is {found[0]!r} a group or a feature? The name usually means groups of items.",
            got="a name that usually means groups of items",
            need="a choice",
            hint=f"--group {found[0]} keeps its items together, --group none makes it a feature",
        )
    return None


def _feature_columns(given: list[str], names: tuple[str, ...], taken: set[str | None]) -> tuple[list[str], list[str]]:
    """The given columns; else all that are not taken, without those that name the item."""
    from steelyard_old.did_you_mean import listed
    from steelyard_old.read.roles import RECOGNISED

    if clash := [name for name in given if name in taken]:
        raise UsageError(
            f"{clash[0]!r} is the target or the group, so it cannot be in --features.",
            got=f"{clash[0]!r} in --features",
            need="columns other than target and group",
        )
    ids = [name for name in names if name not in taken and name.lower() in RECOGNISED["id"]]
    chosen = list(dict.fromkeys(given)) or [name for name in names if name not in taken and name not in ids]
    if not chosen:
        raise DataError(
            f"No features to learn from; the columns are {listed(names)}.",
            got=f"columns {listed(names)}",
            need="at least one besides target, group and id",
        )
    left_out = f"not used as a feature because it looks like an item id: {listed(ids)} (use --features to choose the columns)"
    return chosen, [left_out] if ids and not given else []


def _labels(table: Any, name: str) -> Any:
    """The target as labels: whole numbers as such, everything else as text."""
    import numpy as np

    from steelyard_old.read.encode import check_spelling

    labels, found = table.encoded(name, "target")
    check_spelling("target", found)
    codes = labels.codes
    if (codes < 0).any():
        raise DataError(
            f"{int((codes < 0).sum())} rows have no {name!r}.",
            got=f"{int((codes < 0).sum())} row(s) without {name!r}",
            need="a target in every row",
        )
    used = [labels.names[code] for code in np.unique(codes)]
    if all(text.removeprefix("-").isdecimal() and str(int(text)) == text for text in used):
        return np.array([int(text) if text in used else 0 for text in labels.names])[codes]
    if all(_is_number(text) for text in used):
        return np.array([float(text) if text in used else 0.0 for text in labels.names])[codes]
    return np.array(labels.names)[codes]


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


# ---- while it runs -----------------------------------------------------------------------------------------------------


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bars: list[Any] = []

    def step(done: int, all_: int) -> None:
        if not bars:
            bars.append(click.progressbar(length=all_, label="splits", file=sys.stderr))
            bars[0].__enter__()
        bars[0].update(done - bars[0].pos)

    try:
        yield step
    finally:
        if bars:
            bars[0].__exit__(None, None, None)
