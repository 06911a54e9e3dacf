"""What can be wrong with the item outcomes beside a task's references: missing, damaged, of other items, of nobody."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import find, parse
from steelyard.questions.references.lint_values import LintedFile, half_digit, raw_values
from steelyard.questions.references.listing import shown_path
from steelyard.reference.entry import Entry
from steelyard.reference.names import items_directory


def check_items(desk: LintedFile) -> None:
    """Every entry's outcomes against its entry, and the files that no entry needs."""
    for entry, raw in zip(desk.file.entries, raw_values(desk.file), strict=True):
        if entry.items is not None:
            _outcomes(desk, entry, raw)
        elif entry.items_hash is not None:
            desk.say("error", "items", "an items_hash, but no items: the next run cannot be paired", entry)
    _orphans(desk)


def _outcomes(desk: LintedFile, entry: Entry, raw: str) -> None:
    from steelyard.reference import outcomes  # NumPy: only where there are items

    try:
        kept = outcomes.load(desk.place.directory, desk.place.task, str(entry.items))
    except SteelyardError as fault:
        desk.say("error", "items", f"its item outcomes cannot be used: {fault}", entry)
        return
    if entry.num_samples is not None and entry.num_samples != kept.n:
        desk.say("error", "items", f"num_samples {entry.num_samples:,}, but outcomes of {kept.n:,} items", entry)
    if entry.items_hash is not None and entry.items_hash != kept.items_hash:
        desk.say("error", "items", "the items_hash is not that of the items in its file: they are other items", entry)
    if entry.runs is not None and entry.runs != len(kept.runs):
        desk.say("error", "items", f"runs {entry.runs}, but outcomes of {len(kept.runs)}", entry)
    _value(desk, entry, raw, kept)


def _value(desk: LintedFile, entry: Entry, raw: str, kept: Any) -> None:
    """The value against what its own items give: a value that was lifted or lowered by hand no longer fits."""
    metric = entry.metric or desk.place.defaults.metric or entry.value_key
    if entry.value is None or (known := find(metric)) is None or not known.scored or kept.runs[0].score is None:
        return
    unit = 100.0 if (entry.scale or desk.place.defaults.scale) == "percent" else 1.0
    pooled, by_run = _estimates(kept, known)
    slack = half_digit(raw, entry.value) + 1e-9 * max(unit, abs(entry.value))
    if math.isclose(entry.value, unit * pooled, abs_tol=slack):
        return
    best = [i for i, share in enumerate(by_run, 1) if len(by_run) > 1 and math.isclose(entry.value, unit * share, abs_tol=slack)]
    if best:
        which = "the highest" if max(by_run) in (by_run[i - 1] for i in best) else "the lowest" if best[0] == _lowest(by_run) else "one"
        what = f"{entry.value_key} {raw} is {which} of {len(by_run)} runs, not their mean {unit * pooled:.6g}"
        desk.say("warning", "one-of-runs", f"{what}: the reference is luck", entry)
    else:
        desk.say("error", "value", f"{entry.value_key} {raw}, but its items give {unit * pooled:.6g}: changed by hand", entry)


def _lowest(by_run: list[float]) -> int:
    return 1 + by_run.index(min(by_run))


def _estimates(kept: Any, metric: Metric) -> tuple[float, list[float]]:
    """The pooled value as `record` computes it, and that of each run."""
    import numpy as np

    from steelyard.estimate.measure_options import settle
    from steelyard.estimate.rows import rows_of_sample
    from steelyard.estimate.sample import Sample
    from steelyard.reference.outcomes import to_items

    settings = settle()
    (row,) = rows_of_sample([parse("mean")], Sample(to_items(kept), settings), settings)
    of = metric.of_right
    return of(float(row.estimate or 0.0)), [of(float(np.nanmean(run.score))) for run in kept.runs]


def _orphans(desk: LintedFile) -> None:
    from steelyard.reference.outcome_text import outcomes_header

    try:
        folder = items_directory(desk.place.directory, desk.place.task)
    except SteelyardError as fault:
        desk.say("error", "items", str(fault))
        return
    named = {Path(entry.items).name for entry in desk.file.entries if entry.items}
    used, readable = set(), True
    for path in sorted(folder.glob("*.outcomes")):
        if path.name not in named:
            desk.say("warning", "orphan", "item outcomes that no entry refers to", file=shown_path(path))
        header: dict[str, Any] | None = None
        with contextlib.suppress(OSError, ValueError):
            header = outcomes_header(path.read_bytes())
        readable = readable and header is not None
        used.add(f"{str((header or {}).get('items', ''))[:12]}.items")
    for path in sorted(folder.glob("*.items")) if readable else ():
        if path.name not in used:
            desk.say("warning", "orphan", "items that no outcomes refer to", file=shown_path(path))
