"""What is asked about slices, before anything is read: by which columns, and which of their values count."""

from __future__ import annotations

from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import slice_names
from steelyard_old.reference.entry import TaskDefaults
from steelyard_old.results.base import Warnings

OF_RUN = "{} of the run"  # what a run says of a slice that is on record: beside it, never instead of it


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceRequest:
    """Which columns are sliced by, and which of their values count; without names, all do."""

    by: tuple[str, ...]
    critical: tuple[str, ...] = ()
    asked: bool = True  # by the caller, not by the configuration alone


def slice_columns(by: Any, task: TaskDefaults) -> tuple[str, ...]:
    """The columns to slice by: as asked, else as the task says."""
    if by is None:
        return task.by
    names = slice_names(by)
    if not isinstance(names, tuple):
        raise UsageError("cannot use by=", got="arrays", need="names of columns of the run", hint='by="language"')
    return tuple(dict.fromkeys(names))


def settle_slices(by: Any, critical: Any, task: TaskDefaults) -> SliceRequest | None:
    """What is asked about slices; None where nothing is."""
    columns = slice_columns(by, task)
    if critical is None:
        named = task.critical_slices if by is None or columns == task.by else ()
    else:
        named = (critical,) if isinstance(critical, str) else tuple(critical)
    if not all(isinstance(name, str) for name in named):
        raise UsageError("cannot use critical_slices", got=repr(critical), need="the values that matter", hint='critical_slices=["de"]')
    if named and not columns:
        raise UsageError(
            "critical_slices= names values of a column; name the column with by=.",
            got="critical_slices without by",
            need="the column they are values of",
            hint='by="language"',
        )
    return SliceRequest(by=columns, critical=tuple(dict.fromkeys(named)), asked=by is not None) if columns else None


def refuse_slices(request: SliceRequest | None, warnings: Warnings, why: str, hint: str) -> None:
    """Slices where there are none to be had: refused if somebody asked for them, a warning if only the configuration did."""
    if request is None:
        return
    if request.asked:
        raise UsageError(f"by={request.by[0]!r} cannot be used: {why}.", got=why, need="the items of a run and of its reference", hint=hint)
    warnings.add(f"not judged by {' and '.join(request.by)}, as the configuration asks: {why}")
