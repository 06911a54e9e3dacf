"""`--accuracy-history`: what a test has judged goes into the history at once, so that a session that is killed has lost nothing.

Each worker of pytest-xdist writes for itself. A run is known by the session, its test, its place among the checks of the test and what
it says: a test that is run again, or by every worker, and finds the same is kept once.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.estimate.past_runs import history_place
from steelyard_old.history.address import parse_address
from steelyard_old.history.store import open_history
from steelyard_old.options.option import RUN_KEYWORDS
from steelyard_old.questions.history.keep import keep_once
from steelyard_old.reference.changes import commit_of
from steelyard_old.reference.config import Config, find_config
from steelyard_old.results.verdict import Verdict


def place_of(option: str, config: str | os.PathLike[str] | None, here: Path) -> tuple[tuple[str, Path | None], Config]:
    """Where the history is, and the configuration of the test. A relative path of the option starts where pytest was started."""
    found = Config(path=None, directory=here / "references") if config is None else find_config(here, Path(config))
    if option:
        return (option, here), found
    place = history_place(None, found)
    if place is None:
        raise UsageError(
            "--accuracy-history has no URL, and the steelyard.toml of this test names no history.",
            got="no URL",
            need="the address of a history database",
            hint='--accuracy-history sqlite:///runs.db, or history = "sqlite:///runs.db" in steelyard.toml',
        )
    return place, found


def kept(session: Any, about: Sequence[Any], result: Any, sources: Sequence[Any], options: Mapping[str, Any]) -> dict[str, str]:
    """Keep a result of a session: its id and where it is, and what there is to say. A history that fails costs no verdict.

    about: what tells the result from others of the session, beside what it says itself.
    """
    here = Path(session.config.invocation_params.dir)
    place, config = place_of(session.config.option.accuracy_history, options["config"], here)
    facts = json.dumps([session.id, *about, result.to_dict()], default=str, sort_keys=True)
    id_ = hashlib.sha256(f"pytest\0{facts}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    shown = _shown(place, here)
    try:
        why = keep_once(
            id_,
            result,
            place,
            config,
            sources=sources,
            columns={name: options[name] for name in RUN_KEYWORDS if options.get(name) is not None},
            protocol=options.get("protocol"),
            directory=options["directory"],
            commit=_commit(here),
            missing=options.get("missing"),
            range=options.get("range"),
        )
    except SteelyardError as fault:
        return {"place": shown, "warning": f"the run was not stored in the history: {fault}"}
    except Exception as fault:  # whatever it is, it must not cost the verdict
        return {"place": shown, "warning": f"the run was not stored in the history: {type(fault).__name__}: {fault}"}
    return {"place": shown, "id": id_} | ({} if why is None else {"warning": why})


def earlier_z(session: Any, found: Sequence[tuple[Mapping[str, Any], Verdict]], alpha: float) -> tuple[list[float], str | None]:
    """The pooled z of earlier healthy sessions, as `check_suite` learns it from its history; and why it could not be read, if it could not.

    found: what was judged together, each with its finding. What a test has judged is in the history already, so the runs of this session
    are known there by their ids, and are no earlier ones. Tests that keep their runs in different histories have no earlier runs in common.
    """
    from steelyard_old.estimate.guard.whole_suite import recorded_z
    from steelyard_old.estimate.past.earlier_runs import judged_task, learned_z

    here = Path(session.config.invocation_params.dir)
    settled = [place_of(session.config.option.accuracy_history, one["config"], here) for one, _ in found]
    first = parse_address(*settled[0][0])
    if any(parse_address(*place) != first for place, _ in settled):
        return [], None
    own = {one["history"]["id"] for one, _ in found if "id" in (one.get("history") or {})}
    tasks, tonight = [], {}
    try:
        with open_history(settled[0][0][0], base=settled[0][0][1], create=False) as store:
            for (one, verdict), (_, config) in zip(found, settled, strict=True):
                run = store.run(one["history"]["id"]) if "id" in (one.get("history") or {}) else None
                if run is None or run.outcomes is None:
                    continue
                task = judged_task(verdict, protocol=run.protocol, config=config, directory=one["directory"])
                if task is not None:
                    tasks.append(task)
                    tonight[task.key] = run.outcomes
            recorded = recorded_z([verdict for _, verdict in found], [False] * len(found))
            return learned_z(store, tasks, recorded=recorded, alpha=alpha, tonight=tonight, without=own) if tasks else [], None
    except SteelyardError as fault:
        # a history that could not be made or written has been told of already
        return [], f"the earlier runs in the history could not be read: {fault}" if own else None


def _shown(place: tuple[str, Path | None], here: Path) -> str:
    """The address as the person who started pytest would write it, wherever the test stands now."""
    address = parse_address(*place)
    if address.path is None:
        return address.shown
    return f"sqlite:///{address.path.relative_to(here) if address.path.is_relative_to(here) else address.path}"


@functools.cache
def _commit(directory: Path) -> str | None:
    """The commit of the code that is tested; it is asked for once, for it does not change while tests run."""
    return commit_of(directory)
