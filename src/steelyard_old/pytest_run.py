"""`accuracy.run` in a test: evaluate a model now, then judge it by its reference, in one line of a test."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from steelyard_old.errors import SteelyardError
from steelyard_old.evaluate.models.opening import called, default_name
from steelyard_old.options.run import HOW, OF_MODELS
from steelyard_old.questions.record.record import existing_entry
from steelyard_old.questions.run.run import run
from steelyard_old.questions.run.task import read_task
from steelyard_old.results.evaluation import Evaluation

if TYPE_CHECKING:
    from steelyard_old.pytest_session import Accuracy, JudgedTest

OF_RUN = ("output", "prices", *HOW, *OF_MODELS)


def evaluated(
    guard: Accuracy, task: Any, model: Any, *, name: str | None, spec: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> tuple[Evaluation, JudgedTest]:
    """The run and what became of it. The reference is looked for before the model is asked anything.

    With --accuracy-update the run is complete, whatever `until` says, and becomes the reference at the end of the session.
    """
    marked = guard.marked()
    options = {**{key: value for key, value in marked.items() if key not in ("task", "model", "spec")}, **options}
    own = {key: value for key, value in options.items() if key in OF_RUN}
    rule = {key: value for key, value in options.items() if key not in OF_RUN}
    named = name or marked.get("model") or (default_name(model) if isinstance(model, str) else called(model))
    spec = spec if spec is not None else marked.get("spec")
    asked = {"task": read_task(task).name, "model": named, "spec": spec, **rule}
    place = guard.place(**asked)
    entry = existing_entry(place, named, spec)
    recording = guard.updates or (guard.updates_new and entry is None)
    where = guard.where(asked)
    if recording:
        output = Path(own.pop("output", None) or _spare(guard))
        complete = {key: value for key, value in own.items() if key not in ("until", "stopping", "discordance", "looks", "every")}
        found = _run(guard, asked, task, model, output=output, name=named, against="none", **complete)
        return found, guard.judge(os.fspath(output), **asked)
    if entry is None:
        _refused(guard, asked)
    found = _run(guard, asked, task, model, name=named, against=named, spec=spec, **where, **own, **rule)
    assert found.verdict is not None
    return found, guard.judged(found.verdict, own.get("output"), asked, run=found)


def _run(guard: Accuracy, asked: Mapping[str, Any], task: Any, model: Any, **options: Any) -> Evaluation:
    try:
        found: Evaluation = run(task, model, **options)
        return found
    except SteelyardError as error:  # in the report too, as any other check that could not be made
        names = {name: asked[name] for name in ("task", "model")}
        guard.tell({"outcome": "error", "message": str(error), "spec": dict(asked["spec"] or {}), **names})
        raise


def _refused(guard: Accuracy, asked: Mapping[str, Any]) -> NoReturn:
    guard.judge(None, **asked)  # raises, with the nearest entries and the command that records one
    raise AssertionError("a run without a reference was judged")


def _spare(guard: Accuracy) -> str:
    return os.path.join(tempfile.mkdtemp(dir=guard.session.stash_directory()), "run.jsonl")
