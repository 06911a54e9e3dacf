"""Keeping runs: an answer goes into the history with where it came from, and with its items where they can be had again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard_old.errors import UsageError, with_article
from steelyard_old.estimate.past.keeping import add_runs
from steelyard_old.estimate.past.kept_run import as_kept, own_facts
from steelyard_old.history.store import open_history
from steelyard_old.options.history import KEEP
from steelyard_old.options.option import documented
from steelyard_old.reference.changes import who
from steelyard_old.reference.config import Config
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.history import PastRun
from steelyard_old.results.measurement import Measurement
from steelyard_old.results.verdict import Recorded, Suite, Verdict


@documented(
    KEEP,
    "the runs that were added, and what there is to say as sentences",
    result="A Verdict, Suite, Recorded, Evaluation or Measurement.",
    history="sqlite:///runs.db or postgresql://host/db; 'none' keeps nothing. Default: what steelyard.toml says; nothing without one.",
    spec="Of a run without a verdict: the configuration that was measured. Default: none.",
)
def keep_run(
    result: Any,
    *,
    history: str | None = None,
    config: str | os.PathLike[str] | None = None,
    sources: Sequence[Any] = (),
    columns: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    protocol: Mapping[str, str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    parts: Sequence[Mapping[str, Any]] = (),
    keep_answers: bool = False,
) -> tuple[list[PastRun], list[str]]:
    """Add a result to the history, with where it came from: what `--history` of the commands does.

    The items of `sources` are kept as well, each with its score, where they can be read again and have ids: as they are, or as
    hashes where steelyard.toml or the reference says so. A suite is its verdicts. Answers are kept only if asked for, without the
    secrets that are known, and `history --drop-answers` removes them again.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     url = f"sqlite:///{there}/runs.db"
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there, history=url)
    ...     verdict = sy.check(rows, task="gsm8k", model="m", directory=there)
    ...     added, sentences = keep_run(verdict, history=url, sources=[rows], directory=there)
    >>> len(added), sentences
    (1, [])
    """
    if not isinstance(result, Verdict | Suite | Recorded | Evaluation | Measurement):
        raise UsageError(
            f"Only results can be kept, not {with_article(type(result).__name__)}.",
            got=with_article(type(result).__name__),
            need="a Verdict, Suite, Recorded, Evaluation or Measurement",
            hint="sy.keep_run(sy.check(run, task='t', model='m'))",
        )
    return add_runs(
        result,
        history=history,
        config=config,
        sources=list(sources),
        columns=columns,
        spec=spec,
        protocol=protocol,
        directory=directory,
        parts=parts,
        keep_answers=keep_answers,
    )


def keep_once(
    id_: str,
    result: Any,
    place: tuple[str, Path | None],
    config: Config,
    *,
    sources: Sequence[Any],
    columns: Mapping[str, Any],
    protocol: Mapping[str, str] | None,
    directory: str | os.PathLike[str] | None,
    commit: str | None,
    missing: str | None = None,
    range: Sequence[float] | None = None,  # noqa: A002  the contract's word
) -> str | None:
    """Add a result under an id of its own, unless it is there already: a test that is run again finds the same. What there is to say."""
    part = {"sources": sources, "columns": columns, "protocol": protocol, "missing": missing, "range": range}
    facts, why = own_facts(result, part, config, directory)
    with open_history(place[0], base=place[1]) as store:
        store.append_once(id_, as_kept(result, config, directory), by=who(), commit=commit, **facts)
    return why
