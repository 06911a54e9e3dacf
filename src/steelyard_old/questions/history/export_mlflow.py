"""Runs of the history logged to MLflow: values, intervals, verdicts and reports, each run once; what broke off goes on."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from steelyard_old.errors import SourceError, SteelyardError, UsageError
from steelyard_old.estimate.past_runs import opened
from steelyard_old.history.address import parse_address
from steelyard_old.history.store import History
from steelyard_old.integrations.mlflow_runs import Experiment, ExportedRun
from steelyard_old.locking import Lock
from steelyard_old.mlflow_store import PREFIX, Tracking, client_of, faults, from_environment, parse_tracking, quiet
from steelyard_old.options.history import EXPERIMENT, EXPORT, LIMIT
from steelyard_old.options.option import documented, unknown_word
from steelyard_old.questions.history.export import every_run
from steelyard_old.questions.history.history import VERDICTS
from steelyard_old.results import signature
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.history import PastRun, RunList
from steelyard_old.results.measurement import Measurement

FACTOR = {"percent": 100.0}  # of a mean of item scores, to be in the scale of the run
NEAR = 1e-9


@documented(
    (replace(EXPORT[0], required=True), *EXPORT[1:]),
    "a RunList of the runs that were exported: the newest 50 of them, and how many there are",
    to="mlflow:URI, a tracking server or a database; mlflow: alone takes MLFLOW_TRACKING_URI.",
    history="A URL such as sqlite:///runs.db, or what `open_history` gave. Default: what steelyard.toml says.",
)
def export_to_mlflow(
    to: str,
    history: str | History | None = None,
    *,
    experiment: str = EXPERIMENT.default,
    task: str | None = None,
    model: str | None = None,
    spec: Mapping[str, Any] | None = None,
    metric: str | None = None,
    verdict: str | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    config: str | os.PathLike[str] | None = None,
) -> RunList:
    """Log the runs of the history to an experiment of MLflow, oldest first: each once, however often it is asked for.

    A run has the metrics estimate, low, high, n and those of its verdict, tags that begin with `steelyard.`, and the artifacts
    report.html and result.json. It is marked as finished when all of that is there; asking again completes what broke off.
    """
    tracking = tracking_of(to)
    if not experiment.strip() or not experiment.isprintable():
        raise UsageError(
            f"The name of the experiment must be a name that can be printed, not {experiment!r}.",
            got=repr(experiment),
            need="a name that can be printed",
        )
    if verdict is not None and verdict not in VERDICTS:
        raise unknown_word("verdict", verdict, VERDICTS)
    asked = {"task": task, "model": model, "spec": spec, "metric": metric, "verdict": verdict, "since": since, "until": until}
    store = opened(history, config)
    try:
        chosen = list(every_run(store, **asked))[::-1]
        with quiet(), _alone(store):
            written, there, warnings = _logged(store, chosen, tracking, experiment)
    finally:
        if store is not history:
            store.close()
    newest = sorted(written, key=lambda run: (run.time, run.id), reverse=True)
    place = f"the experiment {experiment!r} of MLflow at {tracking.shown}"
    return RunList(
        place=place,
        runs=tuple(newest[: LIMIT.default]),
        total=len(newest),
        asked={"exported": len(newest), "already_there": there},
        conclusion=f"{len(newest):,} run{'s' if len(newest) != 1 else ''} exported to {place}, {there:,} already there.",
        warnings=tuple(dict.fromkeys(warnings)),
        signature=signature.write({"goal": "export", "n": len(newest)}),
    )


def tracking_of(to: str) -> Tracking:
    """Where to: what stands behind `mlflow:`, or MLflow's own variable if nothing does."""
    if not to.startswith(PREFIX):
        raise UsageError(
            "Runs can be exported to mlflow:URI only.", got="another address", need="mlflow:URI", hint="mlflow:http://127.0.0.1:5000"
        )
    return parse_tracking(to.removeprefix(PREFIX)) if to != PREFIX else from_environment()


def _alone(store: History) -> contextlib.AbstractContextManager[Any]:
    """One export of a SQLite history at a time: MLflow has no lock, and two would both find that a run is not there yet."""
    path = parse_address(store.shown).path if store.shown.startswith("sqlite:") else None
    if path is None or not os.access(path.absolute().parent, os.W_OK):
        return contextlib.nullcontext()
    return Lock(path.with_name(f"{path.name}.export"))


def _logged(store: History, chosen: list[PastRun], tracking: Tracking, name: str) -> tuple[list[PastRun], int, list[str]]:
    from steelyard_old.read.engines.memory import tell

    written: list[PastRun] = []
    warnings: list[str] = []
    with faults(tracking, f"Cannot open the experiment {name!r}"):
        experiment = Experiment(client_of(tracking), name)
        found = experiment.exported()
    left = [run for run in chosen if not (run.id in found and found[run.id].finished)]
    for place, run in enumerate(left):
        tell(f"exporting {len(left):,} runs", place / len(left))
        so_far = f"{len(written):,} of {len(left):,} runs were exported."
        try:
            with faults(tracking, f"Cannot log run {run.id[:8]}"):
                _write(experiment, store, run, found.get(run.id), warnings)
        except (KeyboardInterrupt, SystemExit) as stop:
            stop.add_note(f"{so_far} Run the same command again to continue.")
            raise
        except SteelyardError as fault:
            hint = f"{fault.hint}; " if fault.hint else ""
            sentences = f"{fault.sentence} {so_far}"
            raise SourceError(sentences, got=fault.got, need=fault.need, hint=f"{hint}run the same command again to continue") from None
        written.append(run)
    return written, len(chosen) - len(left), warnings


def _write(experiment: Experiment, store: History, listed: PastRun, half: ExportedRun | None, warnings: list[str]) -> None:
    run = store.run(listed.id)
    result = None
    try:
        from steelyard_old.results.catalogue import result_of

        result = result_of(run.result)
        files = {"report.html": _html(result), "result.json": json.dumps(run.result, indent=2)}
    except SteelyardError as fault:
        warnings.append(f"run {run.id[:8]} has no report: {fault}")
        files = {} if run.result is None else {"result.json": json.dumps(run.result, indent=2)}
    experiment.write(run, _ends(run, result, store), files, half)


def _html(result: Any) -> str:
    from steelyard_old.render.formats import FORMATS

    return FORMATS["html"].write(result)


def _ends(run: PastRun, result: Any, store: History) -> tuple[float, float, float] | None:
    """The interval of the estimate: as it was measured, else of the items that were kept, if their mean is the estimate."""
    measured = result.measurement if isinstance(result, Evaluation) else result
    row = next((row for row in measured.rows if row.name == run.metric), None) if isinstance(measured, Measurement) else None
    factor = 1.0
    if row is None and run.outcomes is not None and run.estimate is not None:
        row, factor = _of_items(store.items(run.id) or {}), FACTOR.get(run.scale, 1.0)
    if row is None or row.estimate is None or run.estimate is None:
        return None
    ends = row.interval
    if ends is None or ends.low is None or ends.high is None or abs(factor * row.estimate - run.estimate) > NEAR * max(1.0, factor):
        return None
    return factor * ends.low, factor * ends.high, ends.confidence_level


def _of_items(items: Mapping[str, float]) -> Any:
    from steelyard_old.questions.measure.measure import measure

    try:
        return measure({"id": list(items), "score": list(items.values())}).row
    except SteelyardError:
        return None  # too few to say anything
