"""A measurement for others: the record of Every Eval Ever 0.3, the aggregate with its intervals and the items beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard_old.did_you_mean import unknown_key
from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.row import with_standard_errors
from steelyard_old.metrics.catalogue import is_share
from steelyard_old.options.measure import OPTIONS
from steelyard_old.options.option import documented, slice_names
from steelyard_old.options.report import RECORDS
from steelyard_old.questions.measure.measure import measure
from steelyard_old.render.every_eval_ever import RecordDetails
from steelyard_old.render.every_eval_ever import every_eval_ever as written
from steelyard_old.results.measurement import Measurement
from steelyard_old.tally.counts import Counts

if TYPE_CHECKING:
    from steelyard_old.items import Items
    from steelyard_old.read.source import Source

ASKED = ("metric", "positive", "labels", "interval", "confidence_level", "side", "draws", "seed", "prior", "range", "absent", "missing")
FIELDS = tuple(field.name for field in dataclasses.fields(RecordDetails))
REQUIRED = ("model", "evaluation", "organization", "retrieved")
WRITTEN = ("id", "truth", "prediction", "score", "group", "repeat")


@documented(
    (*OPTIONS, *RECORDS),
    "path in the datastore -> text, the aggregate first",
    data="As for `measure`.",
    prediction="The predictions beside an array of truths. Default: none, `data` has them.",
    asked="**asked: as for `measure`.",
)
def every_eval_ever(data: Any, prediction: Any = None, /, *, about: Mapping[str, str], items: bool = True, **asked: Any) -> dict[str, str]:
    """Measure, and write the answer as Every Eval Ever 0.3 has it: path in its datastore -> text, the aggregate first.

    about: what a measurement does not know. model (developer/name), evaluation, organization (who provides the data) and
    retrieved (Unix time) are needed, unless a log tells the first two; relationship, collection, dataset, deployment,
    availability and library ("NAME VERSION") may be given. items=False leaves out the items. The rest is as for `measure`.

    >>> about = {"model": "lab/small", "evaluation": "sums", "organization": "lab", "retrieved": "1700000000"}
    >>> aggregate, samples = every_eval_ever({"id": ["a", "b"], "score": [1, 0]}, about=about)
    >>> aggregate[:20], samples.removeprefix(aggregate[:-5])
    ('data/sums/lab/small/', '_samples.jsonl')
    """
    options = {name: asked.pop(name) for name in ASKED if name in asked}
    if isinstance(data, (Counts, Measurement)):
        found = data if isinstance(data, Measurement) and not options and not asked else measure(data, prediction, **options, **asked)
        return written(with_standard_errors(found), _about(about, None))
    from steelyard_old.estimate.opening import opened

    source = opened(data, prediction, slice_names(asked.pop("by", None)), asked.pop("ratio", None), asked)
    found = measure(source, **options)
    return written(found, _about(about, source), _items(source, found) if items else None)


def _about(given: Mapping[str, str], source: Source | None) -> RecordDetails:
    """What was said, and what the log says of itself."""
    strange = next((name for name in given if name not in FIELDS), None)
    if strange is not None:
        unknown, hint = unknown_key(strange, FIELDS, "about=")
        raise UsageError(unknown, got=repr(strange), need=f"one of {', '.join(FIELDS)}", hint=hint)
    told: dict[str, Any] = {**_told(source), **{name: str(value) for name, value in given.items()}}
    absent = [name for name in REQUIRED if not told.get(name)]
    if absent:
        example = {"model": "DEVELOPER/NAME", "retrieved": "1700000000"}
        hint = f"about={ {name: example.get(name, 'NAME') for name in absent}!s}"
        raise UsageError(
            f"A record for Every Eval Ever needs {' and '.join(absent)}.", got=f"no {' and no '.join(absent)}", need="them", hint=hint
        )
    library = told.pop("library", None)
    if library is None:
        return RecordDetails(**told)
    name, _, version = library.rpartition(" ")
    return RecordDetails(**told, library=(name or version, version if name else "unknown"))


def _told(source: Source | None) -> dict[str, str]:
    log = source.log if source is not None else None
    if source is None or log is None:
        return {}
    facts = {"model": source.name if source.name and "/" in source.name else None, "library": f"{log.tool} unknown"}
    facts["evaluation"] = log.chosen.get("task") or log.checks.get("task")
    return {name: value for name, value in facts.items() if value}


def _items(source: Source, found: Measurement) -> Items:
    """The items whose mean is the result. Labels decide where the result is an accuracy and the scores are not right or wrong."""
    import numpy as np

    if source.log is None and "id" not in source.roles:
        raise DataError(
            "A record of items for Every Eval Ever needs an id column.", got="items without ids", need="an id column", hint="id=COLUMN"
        )
    items = source.items(roles=[role for role in WRITTEN if role in source.roles])
    outcome = any(is_share(row.metric) for row in found.rows)
    if items.score is not None and items.truth is not None and outcome and not np.isin(items.score, (0.0, 1.0)).all():
        return dataclasses.replace(items, score=None)
    return items
