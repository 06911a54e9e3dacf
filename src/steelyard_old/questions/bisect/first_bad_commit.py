"""Which commit made it worse? Items that changed are asked again at few commits, in a checkout of our own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard_old.errors import AmbiguityError, DataError, UsageError
from steelyard_old.estimate.guard.source import metric_of, read_run, scores_by_item
from steelyard_old.estimate.past_runs import opened
from steelyard_old.history.store import LARGEST_PAGE, History
from steelyard_old.infer.series.first_bad import as_at_good_end, credible_set, halvings
from steelyard_old.locking import Lock
from steelyard_old.metrics.catalogue import usual
from steelyard_old.options.bisection import DELTA, IN_PYTHON, STEP, STEP_IN_PYTHON, WHOLE_RUNS
from steelyard_old.options.option import RUN_KEYWORDS, check_choices, documented, number, refuse_unknown, whole
from steelyard_old.questions.bisect.asking import CommandAsker, KeptAnswers
from steelyard_old.questions.bisect.repository import Checkout, GitCommit, Repository
from steelyard_old.questions.bisect.search import (
    CHANGED,
    NOT_BACK,
    SPENT,
    Answers,
    SearchOptions,
    SearchOutcome,
    search,
)
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings
from steelyard_old.results.bisection import Bisect, BisectedCommit, BisectedItem, JudgedCommit
from steelyard_old.results.history import PastRun

_UNSAID = {each.parameter: each.default for each in STEP if each.name not in RUN_KEYWORDS}  # what is not said is as declared
Tell = Callable[[str], None]


@documented(IN_PYTHON, "a Bisect")
def bisect(
    commits: str,
    command: Sequence[str],
    *,
    delta: float = DELTA.default,
    good_run: Any = None,
    bad_run: Any = None,
    log: str | None = None,
    metric: str | None = None,
    higher_is_better: bool | None = None,
    batch: int = 16,
    rounds: int | None = None,
    whole_runs: str = "auto",
    max_calls: int | None = None,
    timeout: float | None = None,
    history: str | History | None = None,
    task: str | None = None,
    model: str | None = None,
    config: str | os.PathLike[str] | None = None,
    repository: str | os.PathLike[str] | None = None,
    tell: Tell | None = None,
    **columns: Any,
) -> Bisect:
    """Find the commit that made it worse, with a fraction of the calls of `git bisect` on all items.

    Only items that tell are asked: right in the stored run of GOOD, wrong in that of BAD. Both ends are asked again, since items that
    were chosen by an answer are not evidence; then the commit that splits what is believed best, until one is sure enough. The command
    gets the ids in the file STEELYARD_ITEMS and writes a log into the folder STEELYARD_OUT. Answers are kept below .steelyard/bisect.
    """
    said = _said(locals())
    where = Repository(repository)
    line = where.line(*_ends(where, commits))
    return _result(line, *_searched(where, [each.id for each in line], command, said, tell or _nothing))


@documented(STEP_IN_PYTHON, "a JudgedCommit")
def bisect_step(
    commits: str,
    command: Sequence[str],
    *,
    delta: float | None = None,
    good_run: Any = None,
    bad_run: Any = None,
    log: str | None = None,
    metric: str | None = None,
    higher_is_better: bool | None = None,
    batch: int = 16,
    rounds: int | None = None,
    whole_runs: str = "auto",
    max_calls: int | None = None,
    timeout: float | None = None,
    history: str | History | None = None,
    task: str | None = None,
    model: str | None = None,
    config: str | os.PathLike[str] | None = None,
    repository: str | os.PathLike[str] | None = None,
    **columns: Any,
) -> JudgedCommit:
    """Judge the commit that is checked out against both ends, for `git bisect run`, which chooses the commits.

    Both ends are asked once, and their answers are kept below .steelyard/bisect, as those of `bisect` are.
    """
    said = _said(locals())
    where = Repository(repository)
    good, bad = _ends(where, commits)
    here = where.commit("HEAD")
    if here in (good, bad):
        end = "good" if here == good else "bad"
        return JudgedCommit(commit=here, answer=end, conclusion=f"{here[:12]} is the {end} end")
    steps = halvings(max(2, where.many_between(good, bad)))
    said |= {"delta": DELTA.default / steps if delta is None else delta}
    found, _, _ = _searched(where, [good, here, bad], command, said, _nothing)
    if 1 in found.skipped:
        return JudgedCommit(commit=here, answer="undecided", conclusion=f"{here[:12]} cannot be judged: {found.skipped[1]}")
    if found.why == NOT_BACK:
        raise DataError("The loss did not come back at the ends, so no commit can be judged.", got="no loss", need="a loss that comes back")
    shown = f"{int(found.right[1])} of {int(found.asked[1])} right" if found.method == CHANGED else f"mean {found.right[1]:.4g}"
    sure = float(found.posterior.max())
    if found.named is None:
        open_ = f"{here[:12]} cannot be told from either end ({shown}, {_chance(sure)})"
        return JudgedCommit(commit=here, answer="undecided", conclusion=open_)
    answer = "bad" if found.named.start == 1 else "good"
    return JudgedCommit(commit=here, answer=answer, conclusion=f"{here[:12]} is {answer} ({shown}, {_chance(sure)})")


def _said(given: dict[str, Any]) -> dict[str, Any]:
    """What `bisect` and `bisect_step` were given of the options that both have, by their names."""
    return {**{name: given[name] for name in _UNSAID if name in given}, **given["columns"]}


def _chance(sure: float) -> str:
    """A posterior in words: it comes near 1, and is never 1.

    >>> _chance(0.98765432), _chance(0.99999999)
    ('probability 0.9877', 'probability above 0.9999')
    """
    return f"probability {sure:.4f}" if sure <= 0.9999 else "probability above 0.9999"


def _searched(
    where: Repository, commits: Sequence[str], command: Sequence[str], said: Mapping[str, Any], tell: Tell
) -> tuple[SearchOutcome, _PreparedSearch, SearchOptions]:
    """The search among these commits, for all that was said: the options of `bisect` by their names."""
    options = _checked(**{name: said[name] for name in ("delta", "batch", "rounds", "whole_runs", "max_calls")})
    with _prepared(where, commits, command, said) as ready:
        return search(ready.good, ready.bad, ready.answers, ready.ask, options, higher_is_better=ready.higher, tell=tell), ready, options


def _nothing(line: str) -> None:
    """Nobody listens."""


def _checked(*, delta: float, batch: int, rounds: int | None, whole_runs: str, max_calls: int | None) -> SearchOptions:
    check_choices([WHOLE_RUNS], whole_runs=whole_runs)
    return SearchOptions(
        delta=number("delta", delta, above=0, below=0.5, hint="0.05 is usual"),
        batch=whole("batch", batch),
        rounds=None if rounds is None else whole("rounds", rounds),
        whole_runs=whole_runs,
        max_calls=None if max_calls is None else whole("max_calls", max_calls),
    )


def _ends(where: Repository, commits: str) -> tuple[str, str]:
    good, dots, bad = commits.partition("..")
    if not dots or not good or not bad or bad.startswith("."):
        raise UsageError(
            f"Give the range of commits as GOOD..BAD, not {commits!r}.",
            got=repr(commits),
            need="GOOD..BAD",
            hint="v1.2..main, or 4f2a91c..HEAD",
        )
    return where.commit(good), where.commit(bad)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedSearch:
    """All that a search needs, open."""

    good: Mapping[str, float]
    bad: Mapping[str, float]
    higher: bool
    metric: str
    answers: Answers
    ask: CommandAsker


@contextmanager
def _prepared(where: Repository, commits: Sequence[str], command: Sequence[str], said: Mapping[str, Any]) -> Iterator[_PreparedSearch]:
    """Everything is checked before the first command is run; one search at a time uses the kept answers."""
    columns = {name: value for name, value in said.items() if name not in _UNSAID}
    refuse_unknown(columns, RUN_KEYWORDS, "bisect")
    log, timeout = said["log"], said["timeout"]
    if isinstance(command, str) or not command or not all(isinstance(word, str) and "\0" not in word for word in command) or not command[0]:
        raise UsageError(
            f"The command must be a program and its arguments, not {repr(command)[:200]}.",
            got=repr(command)[:200],
            need="a program and its arguments",
            hint="['./run', 'all']",
        )
    if log is not None and (not log.strip() or os.path.isabs(log) or ".." in Path(log).parts):
        raise UsageError("cannot use log", got=repr(log), need="a path below the checkout", hint="log='out/*.jsonl'")
    if timeout is not None:
        number("timeout", timeout, above=0)
    where.refuse_changes()
    good, bad, metric, higher = _stored(commits, said, columns)
    kept = KeptAnswers(where.top, command, {"log": log, "metric": metric, **columns})
    kept.prepare()
    with Lock(kept.path, timeout=1.0), Checkout(where) as checkout:
        kept.load()
        known = frozenset({*good, *bad})
        ask = CommandAsker(checkout, where, command, commits, log=log, columns=columns, metric=metric, known=known, timeout=timeout)
        yield _PreparedSearch(good=good, bad=bad, higher=higher, metric=metric, answers=Answers(commits, kept.answers, kept.save), ask=ask)


def _stored(
    commits: Sequence[str], said: Mapping[str, Any], columns: Mapping[str, Any]
) -> tuple[Mapping[str, float], Mapping[str, float], str, bool]:
    """The stored scores of both ends, the metric and whether more of it is better."""
    runs = said["good_run"], said["bad_run"]
    if (runs[0] is None) != (runs[1] is None):
        one, other = ("good_run", "bad_run") if runs[1] is None else ("bad_run", "good_run")
        raise UsageError(f"{one}= needs {other}= beside it.", got=f"{one}= alone", need="both, or the history")
    if runs[0] is not None:
        given = [name for name in ("history", "task", "model", "config") if said[name] is not None]
        if given:
            raise UsageError(
                f"{given[0]}= has no effect beside good_run= and bad_run=.", got=given[0], need="either of them", hint="leave it out"
            )
        metric = said["metric"] or usual({"score"}, right_or_wrong=True)[0].name
        found = [_of_file(run, columns, metric, name) for run, name in zip(runs, ("good_run", "bad_run"), strict=True)]
        own = metric_of(metric, read_run(runs[0], columns, metric, Warnings()).items).higher_is_better
        return found[0], found[1], metric, own if said["higher_is_better"] is None else said["higher_is_better"]
    store = opened(said["history"], said["config"])
    try:
        pasts = _past_runs(store, [commits[0], commits[-1]], said)
        items = [store.items(run.id) for run in pasts]
    finally:
        if store is not said["history"]:
            store.close()
    higher = pasts[1].higher_is_better if said["higher_is_better"] is None else said["higher_is_better"]
    return items[0] or {}, items[1] or {}, pasts[1].metric, higher


def _of_file(run: Any, columns: Mapping[str, Any], metric: str, name: str) -> dict[str, float]:
    found = scores_by_item([run], columns, metric)
    if found is None:
        raise DataError(
            f"{name}= has no ids, or no score for each item.", got="a run without items", need="an id and a score for each item"
        )
    return found


def _past_runs(store: History, commits: Sequence[str], said: Mapping[str, Any]) -> list[PastRun]:
    """The newest run of each end that was kept with its items, both of one task, model and metric."""
    by: list[dict[tuple[str, str, str], PastRun]] = [{} for _ in commits]
    dirty = [0 for _ in commits]
    after = None
    while True:
        page, after, _ = store.runs(task=said["task"], model=said["model"], metric=said["metric"], limit=LARGEST_PAGE, after=after)
        for run in page:
            short, _, mark = (run.commit or "").partition("-")
            for place, commit in enumerate(commits):
                if len(short) >= 7 and commit.startswith(short) and run.outcomes is not None:
                    dirty[place] += bool(mark)
                    if not mark:
                        by[place].setdefault((run.task, run.model, run.metric), run)
        if after is None:
            break
    for place, name in enumerate(("good", "bad")):
        if not by[place]:
            uncommitted = f" ({dirty[place]} with changes that were not committed)" if dirty[place] else ""
            raise DataError(
                f"The history has no run of the {name} commit {commits[place][:12]} with its items{uncommitted}.",
                got="no such run",
                need="a run of each end",
                hint="give good_run=FILE and bad_run=FILE",
            )
    both = sorted(by[0].keys() & by[1].keys())
    if len(both) != 1:
        shown = ", ".join("/".join(each) for each in both[:5])
        if both:
            raise AmbiguityError(
                f"The history has {len(both)} tasks, models and metrics for both ends: {shown}.",
                got=shown,
                need="one",
                hint="give task= and model=",
            )
        raise DataError(
            "The runs of the two ends share no task, model and metric.",
            got="different ones",
            need="the same",
            hint="give good_run=FILE and bad_run=FILE",
        )
    return [each[both[0]] for each in by]


# ---- the answer ------------------------------------------------------------------------------------------------------------


def _result(line: Sequence[GitCommit], found: SearchOutcome, ready: _PreparedSearch, options: SearchOptions) -> Bisect:
    p = found.posterior
    searched = found.came_back
    suspects = [place + 1 for place in credible_set(p, 1 - options.delta)] if searched else []
    named = list(found.named) if found.named is not None else []
    shown = sorted({0, len(line) - 1, *named, *suspects[:50], *found.skipped, *(int(i) for i in np.flatnonzero(found.asked))})
    whole_calls = len(found.items) * halvings(len(line))
    sure = float(p[[place - 1 for place in named]].sum()) if named else None
    warnings = list(found.warnings)
    if ready.ask.extra:
        warnings.append(
            f"the command answered {ready.ask.extra:,} items that were not asked; the ids to ask are in the file $STEELYARD_ITEMS"
        )
    return Bisect(
        good=line[0].id,
        bad=line[-1].id,
        n_commits=len(line) - 1,
        named=tuple(line[place].id for place in named),
        probability=sure,
        suspects=tuple(line[place].id for place in suspects),
        commits=tuple(_commit(line[place], place, found, searched=searched) for place in shown),
        method=found.method,
        why=found.why,
        n_items=len(found.items),
        n_changed=len(found.changed),
        changed_items=_changed_items(found, ready, named),
        noise=found.noise,
        delta=options.delta,
        calls=ready.answers.calls,
        reused=ready.answers.reused,
        whole_calls=whole_calls,
        conclusion=_conclusion(line, found, named, suspects, sure, ready.answers.calls, options),
        warnings=tuple(warnings),
        signature=signature.write(
            {"goal": "bisect", "metric": ready.metric, "n": len(found.items), "method": found.method.replace(" ", "-")}
        ),
    )


def _commit(commit: GitCommit, place: int, found: SearchOutcome, *, searched: bool) -> BisectedCommit:
    asked = int(found.asked[place])
    items = found.method == CHANGED
    return BisectedCommit(
        commit=commit.id,
        subject=commit.subject,
        place=place,
        probability=float(found.posterior[place - 1]) if place and searched else None,
        right=int(found.right[place]) if items and asked else None,
        asked=asked if items else 0,
        runs=0 if items else asked,
        mean=None if items or not asked else float(found.right[place]),
        skipped=found.skipped.get(place),
    )


def _changed_items(found: SearchOutcome, ready: _PreparedSearch, named: Sequence[int]) -> tuple[BisectedItem, ...]:
    """The items that prove it: those that parted most clearly before and after the named commit come first."""
    if not named:
        return ()
    rows = []
    for id_ in found.changed:
        good, bad = ready.good[id_], ready.bad[id_]
        counts = [0, 0, 0, 0]
        for place in range(len(found.asked)):
            scores = ready.answers.at(place).get(id_, ())
            side = 0 if place < named[0] else 2
            if place < named[0] or place >= named[-1]:
                counts[side] += as_at_good_end(scores, good, bad)
                counts[side + 1] += len(scores)
        rows.append(BisectedItem(id=id_, right_before=counts[0], asked_before=counts[1], right_after=counts[2], asked_after=counts[3]))

    def parted(row: BisectedItem) -> float:
        return row.right_before / max(1, row.asked_before) - row.right_after / max(1, row.asked_after)

    return tuple(sorted(rows, key=lambda row: (-parted(row), -row.asked_before - row.asked_after, row.id)))


def _conclusion(
    line: Sequence[GitCommit],
    found: SearchOutcome,
    named: Sequence[int],
    suspects: Sequence[int],
    sure: float | None,
    calls: int,
    options: SearchOptions,
) -> str:
    over = f"{calls:,} call{'s' if calls != 1 else ''}"
    if named and sure is not None:
        chance = _chance(sure)
        if len(named) == 1:
            return f"First bad commit: {line[named[0]].id[:12]} ({chance}), found with {over}."
        first, last = line[named[0]].id[:12], line[named[-1]].id[:12]
        return f"The first bad commit is one of {len(named)}, {first} to {last} ({chance}), found with {over}; only {last} can be judged."
    if found.why == NOT_BACK:
        return f"The loss did not come back when both ends were asked again, so no commit can be named ({over})."
    spent = f"max_calls={options.max_calls or 'the default'} was reached" if found.why == SPENT else "all that can be asked was asked"
    if not found.came_back:
        return f"Not found: {spent} before both ends were asked again ({over})."
    few = ", ".join(line[place].id[:12] for place in sorted(suspects)[:3])
    more = f" and {len(suspects) - 3:,} more" if len(suspects) > 3 else ""
    among = f"{1 - options.delta:.0%} probability the first bad commit is one of {len(suspects):,}: {few}{more}"
    return f"Not found: {spent}; with {among} ({over})."
