"""The JSON of Google's model cards, schema 0.0.2: every number with its slice and its confidence interval, both as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard_old.errors import DataError
from steelyard_old.render.cards.about import CardDetails, Evaluated
from steelyard_old.render.pages import measurement
from steelyard_old.render.terminal import harmless
from steelyard_old.results.measurement import Measurement, Row

SCHEMA = "0.0.2"
Plain = dict[str, Any]


def google_card(about: CardDetails, before: Mapping[str, Any] | None = None) -> str:
    """The card as JSON: what `before` has, with our numbers in the place of those of the same type and slice."""
    card: Plain = dict(before or {})
    card.setdefault("schema_version", SCHEMA)
    details = _object(card, "model_details")
    details.setdefault("name", harmless(about.model))
    parameters, analysis = _object(card, "model_parameters"), _object(card, "quantitative_analysis")
    numbers = [number for each in about.evaluated for number in _numbers(each)]
    if not numbers:
        raise DataError("No metric has a value, so there is nothing for a model card.", got="no metric with a value", need="at least one")
    parameters["data"] = _merged(parameters, "data", [_data(each) for each in about.evaluated], ("name",))
    analysis["performance_metrics"] = _merged(analysis, "performance_metrics", numbers, ("type", "slice"))
    return json.dumps(card, allow_nan=False, ensure_ascii=False, indent=2) + "\n"


def _object(card: Plain, key: str) -> Plain:
    """The part of the card under a key, as a copy that may be added to."""
    found = card.get(key, {})
    if not isinstance(found, Mapping):
        raise DataError(
            f"{key} of the model card is not an object.", got=f"{key} that is no object", need="the schema of Google's model cards"
        )
    card[key] = dict(found)
    return card[key]  # type: ignore[no-any-return]


def _merged(part: Plain, key: str, ours: list[Plain], known_by: tuple[str, ...]) -> list[Any]:
    """The list under a key with our entries in it: each in the place of its predecessor, or at the end."""
    found = part.get(key, [])
    if not isinstance(found, list):
        raise DataError(f"{key} of the model card is not a list.", got=f"{key} that is no list", need="the schema of Google's model cards")
    waiting = {tuple(each.get(name) for name in known_by): each for each in ours}
    placed = [
        {**old, **waiting.pop(mark)}
        if isinstance(old, Mapping) and (mark := tuple(str(old.get(name)) for name in known_by)) in waiting
        else old
        for old in found
    ]
    return [*placed, *waiting.values()]


def _data(each: Evaluated) -> Plain:
    """What the schema has no field for: how many items, which level and method, and the signature."""
    m = each.measurement
    told = [f"{m.n:,} items", measurement.methods(measurement.all_rows(m), harmless), harmless(m.signature)]
    return {"name": harmless(each.data), "description": "; ".join(part for part in told if part)}


def _numbers(each: Evaluated) -> Iterator[Plain]:
    places: list[tuple[str, Measurement]] = [(each.data, each.measurement)]
    places += [(f"{each.data}, {part.by} = {part.value}", part.measurement) for part in each.measurement.slices]
    for place, m in places:
        yield from (_number(row, place) for row in m.rows if row.estimate is not None)


def _number(row: Row, place: str) -> Plain:
    found: Plain = {"type": harmless(row.name), "value": repr(row.estimate), "slice": harmless(place)}
    ends = {} if row.interval is None else {"lower_bound": row.interval.low, "upper_bound": row.interval.high}
    if known := {name: repr(end) for name, end in ends.items() if end is not None}:
        found["confidence_interval"] = known
    return found
