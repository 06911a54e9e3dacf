"""Runs of the history as runs of MLflow, each once: what is there already is found by a tag, what is half written is written again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.render.markdown import word
from steelyard_old.render.terminal import harmless, short
from steelyard_old.results.history import PastRun
from steelyard_old.version import __version__

RUN_ID = "steelyard.run_id"
_PAGE = 1_000
_LONGEST = 500  # letters of a parameter or a tag, below every store's limit
_FINISHED = "FINISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRun:
    """A run in MLflow that this experiment has already, whole or half written."""

    id: str
    finished: bool


class Experiment:
    """An experiment of MLflow, made if it is not there. Use it inside `mlflow_store.faults`."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        found = client.get_experiment_by_name(name)
        if found is not None and found.lifecycle_stage != "active":
            raise SourceError(
                f"The experiment {name!r} is deleted in MLflow.",
                got="a deleted experiment",
                need="an active one",
                hint=f"restore it (mlflow experiments restore -x {found.experiment_id}), or choose another: experiment=NAME",
            )
        self.id: str = found.experiment_id if found is not None else client.create_experiment(name)

    def exported(self) -> dict[str, ExportedRun]:
        """The runs of the history that are here, by their id in the history. One that is finished comes before one that is not."""
        found: dict[str, ExportedRun] = {}
        token = None
        while True:
            page = self._client.search_runs([self.id], f"tags.`{RUN_ID}` LIKE '%'", max_results=_PAGE, page_token=token)
            for run in page:
                id_ = str(run.data.tags.get(RUN_ID))
                one = ExportedRun(id=run.info.run_id, finished=run.info.status == _FINISHED)
                if id_ not in found or (one.finished and not found[id_].finished):
                    found[id_] = one
            token = page.token
            if not token:
                return found

    def write(self, run: PastRun, ends: tuple[float, float, float] | None, files: Mapping[str, str], half: ExportedRun | None) -> None:
        """Write a run: tags, values and files, and only then that it is finished. `half` is what an export that broke off has left.

        ends: the interval of the estimate, and its confidence level.
        """
        from mlflow.entities import Metric, Param, RunTag

        moment = round(datetime.fromisoformat(run.time).timestamp() * 1000)
        tags = _tags(run, ends)
        if half is None:
            id_ = self._client.create_run(self.id, start_time=moment, tags=tags).info.run_id
        else:
            id_ = half.id
        self._client.log_batch(
            id_,
            metrics=[Metric(name, value, moment, 0) for name, value in _values(run, ends).items()],
            params=[Param(name, value) for name, value in _parameters(run).items()],
            tags=[] if half is None else [RunTag(name, value) for name, value in tags.items()],
        )
        for name, text in files.items():
            self._client.log_text(id_, text, name)
        self._client.set_terminated(id_, _FINISHED, end_time=moment)


def _values(run: PastRun, ends: tuple[float, float, float] | None) -> dict[str, float]:
    """The numbers of a run, those that are known."""
    found = {
        "estimate": run.estimate,
        "low": None if ends is None else ends[0],
        "high": None if ends is None else ends[1],
        "n": run.n,
        "difference": run.difference,
        "difference_low": run.lower,
        "difference_high": run.upper,
        "p_value": run.p_value,
        "threshold": run.threshold,
        "reference": run.reference.value if run.reference is not None and run.verdict is not None else None,
    }
    return {name: float(value) for name, value in found.items() if value is not None and math.isfinite(value)}


def _parameters(run: PastRun) -> dict[str, str]:
    """What tells runs apart in MLflow's tables."""
    spec = ", ".join(f"{key}={value}" for key, value in sorted(run.spec.items()))
    found = {"task": run.task, "model": run.model, "metric": run.metric, "spec": spec}
    return {name: _text(value) for name, value in found.items() if value}


def _tags(run: PastRun, ends: tuple[float, float, float] | None) -> dict[str, str]:
    """What a run is, for searches; and what MLflow itself shows: name, user, commit and a note."""
    own = {
        "run_id": run.id,
        "version": __version__,
        "command": run.command,
        "verdict": run.verdict,
        "task": run.task,
        "model": run.model,
        "metric": run.metric,
        "scale": run.scale,
        "design": run.design,
        "alpha": None if run.alpha is None else f"{run.alpha:g}",
        "confidence_level": None if ends is None else f"{ends[2]:g}",
        "protocol": json.dumps(dict(run.protocol), sort_keys=True) if run.protocol else None,
        "written_by": run.tool,
        "signature": run.signature,
    }
    shown = {
        "mlflow.runName": f"{run.task} {run.model}",
        "mlflow.source.name": "steelyard",
        "mlflow.user": run.by,
        "mlflow.source.git.commit": run.commit,
        "mlflow.note.content": None if run.result is None else word(str(run.result.get("conclusion") or ""), _LONGEST),
    }
    tags = {**{f"steelyard_old.{name}": value for name, value in own.items()}, **shown}
    return {name: _text(value) for name, value in tags.items() if value}


def _text(value: str) -> str:
    return short(harmless(value), _LONGEST - 1)
