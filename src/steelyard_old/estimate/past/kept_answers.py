"""Answers of a run that the history keeps beside it: excerpts, without secrets, and no more than fits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import SteelyardError
from steelyard_old.estimate.past.kept_run import is_lasting, metric_name, sources_of, wants_hashes
from steelyard_old.history.store import History
from steelyard_old.redaction import redacted
from steelyard_old.reference.config import Config
from steelyard_old.results.base import Warnings

MOST_TEXT = 64_000_000  # characters of one run; excerpts of a hundred thousand answers are less


def texts_of(sources: Sequence[Any], columns: Mapping[str, Any], metric: str) -> tuple[dict[str, dict[str, str]], str | None]:
    """Excerpts of prompt, target and answer by item, of the first source that has an item; and why there are none, if so."""
    from steelyard_old.estimate.guard.source import read_run
    from steelyard_old.read.source import context_of

    out: dict[str, dict[str, str]] = {}
    for source in sources:
        run = read_run(source, columns, metric, Warnings())
        if run.source is not None and run.items.id is not None:
            out = {**context_of(run.source, set(run.items.id.names)), **out}
    if not any("answer" in texts for texts in out.values()):
        return {}, "no answers were kept: the run has no column of answers (answer, response, output or completion) beside its ids"
    length = sum(len(text) for texts in out.values() for text in texts.values())
    if length > MOST_TEXT:
        return {}, f"no answers were kept: {length:,} characters, and the history keeps at most {MOST_TEXT:,} of a run"
    return redacted(out), None


def keep_texts(
    store: History,
    id_: str,
    result: Any,
    part: Mapping[str, Any],
    *,
    config: Config,
    directory: str | os.PathLike[str] | None,
) -> list[str]:
    """The texts of a run that is in the history, kept beside it; what there is to say."""
    from steelyard_old.reference.outcomes import hash_id

    sources = [source for source in sources_of(result, part["sources"]) if is_lasting(source)]
    if not sources:
        return ["no answers were kept: the result has no rows that can be read again; write those of a run with output="]
    try:
        texts, why = texts_of(sources, part["columns"] or {}, metric_name(result))
        if why is None:
            hashed = wants_hashes(result, config, directory)
            store.keep_answers(id_, {hash_id(name): said for name, said in texts.items()} if hashed else texts)
    except SteelyardError as fault:
        return [f"no answers were kept: {fault}"]
    return [] if why is None else [why]
