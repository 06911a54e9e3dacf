"""How references came about: every change with who and why, models followed through their names, and the sum of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard_old.errors import SteelyardError
from steelyard_old.options.option import documented
from steelyard_old.options.references import HISTORY
from steelyard_old.questions.references.listing import Where, plural, shown_path, signed_spec
from steelyard_old.reference.changes import TORN, Change, followed
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import ReferenceLocation, load, locate, no_such_model
from steelyard_old.reference.names import canonical_spec, history_path
from steelyard_old.reference.writing import read_history, unfinished
from steelyard_old.results import signature
from steelyard_old.results.references import RecordedChange, ReferenceHistory, ReferenceSeries


@documented(
    HISTORY,
    "a ReferenceHistory",
)
def reference_history(
    task: str, model: str | None = None, spec: Mapping[str, Any] | None = None, *, directory: Where = None, config: Where = None
) -> ReferenceHistory:
    """How the references of a task (a model, a spec) came about: every change with who and why, first to last.

    >>> import tempfile
    >>> import steelyard_old as sy
    >>> rows = [{"id": i, "score": int(i > 9)} for i in range(100)]
    >>> with tempfile.TemporaryDirectory() as there:
    ...     done = sy.record(rows, task="gsm8k", model="m", directory=there)
    ...     found = reference_history("gsm8k", directory=there)
    >>> found.conclusion
    '1 change of 1 reference.'
    """
    place = locate(task, directory, config)
    path = history_path(place.directory, task)
    file = load(place) if place.path.exists() or not path.exists() else None
    entries = file.entries if file is not None else ()
    told = followed(read_history(place))
    warnings = [f"{shown_path(path)}: one line was cut short, so one change is unknown" for change in told if change.action == TORN]
    warnings += unfinished_note(place)
    wanted = None if spec is None else canonical_spec(spec)
    series = [
        each
        for each in chronicles([change for change in told if change.action != TORN], entries)
        if model in (None, each.model) and (wanted is None or canonical_spec(each.spec) == wanted)
    ]
    if model is not None and not series:
        known = sorted({change.model for change in told if change.model} | {entry.model for entry in entries})
        said = f"No history of {model!r}{' with this spec' if spec else ''} on {task!r}"
        raise no_such_model(said, model, known, hint=f"sy.reference_history({task!r})")
    warnings += [sentence for each in series if (sentence := edited(each))]
    changes = sum(len(each.changes) for each in series)
    return ReferenceHistory(
        task=task,
        model=model,
        file=shown_path(path),
        series=tuple(series),
        conclusion=f"{changes:,} {plural('change', changes)} of {len(series):,} {plural('reference', len(series))}.",
        warnings=tuple(warnings),
        signature=signature.write({"goal": "reference_history", "task": task, "model": model, "spec": signed_spec(spec)}),
    )


def unfinished_note(place: ReferenceLocation) -> list[str]:
    """A sentence if a killed process left a change behind."""
    try:
        intent = unfinished(place)
    except SteelyardError as fault:
        return [str(fault)]
    if intent is None:
        return []
    who = next((change.by for change in intent.changes() if change.by), None)
    by = f" by {who}" if who else ""
    return [
        f"a change ({intent.action}{by}) is unfinished because its process was killed; the next command that writes will finish or undo it"
    ]


def chronicles(changes: Iterable[Change], entries: Iterable[Entry]) -> list[ReferenceSeries]:
    """One series for each model and spec: its changes, the first and the last value, and the value that the file has now.

    A rename is of a whole model, so it is told in every series of that model.
    """
    found: dict[tuple[str, str], tuple[str, Mapping[str, Any], list[Change]]] = {}
    now = {(entry.model, canonical_spec(entry.spec)): entry for entry in entries}
    for change in changes:
        if change.model is None:
            continue
        if change.action == "rename":
            for (name, _), (_, _, own) in found.items():
                if name == change.model:
                    own.append(change)
            continue
        key = (change.model, canonical_spec(change.spec))
        found.setdefault(key, (change.model, dict(change.spec), []))[2].append(change)
    for key, entry in now.items():
        found.setdefault(key, (entry.model, dict(entry.spec), []))
    return [_series(*each, now.get(key)) for key, each in found.items()]


def _series(model: str, spec: Mapping[str, Any], changes: Sequence[Change], entry: Entry | None) -> ReferenceSeries:
    """The values that the changes put on record in turn, and their sum. A removal ends a life: counting starts anew."""
    values: list[float] = []
    for change in changes:
        old, new = change.old, change.new
        if change.action == "remove":
            values = []
        elif change.action in ("record", "update", "import", "recovered"):
            if not values and isinstance(old, int | float):
                values.append(float(old))
            if isinstance(new, int | float):
                values.append(float(new))
    current = None if entry is None else entry.value if entry.value is not None else entry.threshold
    return ReferenceSeries(
        model=model,
        spec=spec,
        changes=tuple(RecordedChange(**{name: getattr(change, name) for name in RecordedChange.names()}) for change in changes),
        numbers=tuple(values),
        first=values[0] if values else None,
        last=values[-1] if values else None,
        change=values[-1] - values[0] if values else None,
        on_file=current,
        line=None if entry is None else entry.line,
    )


def edited(series: ReferenceSeries) -> str:
    """A sentence if the file has another value than its history last put there; nothing if the two agree or one is silent."""
    last, current = series.last, series.on_file
    if last is None or current is None or last == current:
        return ""
    spec = ", ".join(f"{key}={value}" for key, value in series.spec.items())
    about = f"{series.model}{f' [{spec}]' if spec else ''}"
    return f"{about}: the file says {current:g}, the history ends with {last:g}: it was changed by hand, without a reason"
