"""The part of JSON Schema that answers are checked against; a keyword that is not checked is refused, never ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.errors import UsageError
from steelyard.evaluate.scorers.base import check_keys, is_number
from steelyard.evaluate.scorers.matching import compiled, is_in

NOTES = ("title", "description", "default", "examples", "$schema", "$comment", "$id", "deprecated", "readOnly", "writeOnly")
KINDS = ("null", "boolean", "object", "array", "number", "integer", "string")
_COUNTS = {
    "minLength": (str, 1),
    "maxLength": (str, -1),
    "minItems": (list, 1),
    "maxItems": (list, -1),
    "minProperties": (dict, 1),
    "maxProperties": (dict, -1),
}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_INSIDE = ("allOf", "anyOf", "oneOf")
CHECKED = (
    "type", "enum", "const", "required", "properties", "additionalProperties", "items", "pattern", "uniqueItems",
    "not", "$ref", *_COUNTS, *_BOUNDS, *_INSIDE,
)  # fmt: skip


def kind_of(value: Any) -> str:
    """The JSON type of a value; 1.0 is an integer too, and true is no number."""
    for kind, types in (("boolean", bool), ("number", (int, float)), ("string", str), ("array", list), ("object", dict)):
        if isinstance(value, types):
            return kind
    return "null"


def same(one: Any, other: Any) -> bool:
    """Equality of JSON: 1 is 1.0 and is not true."""
    kind = kind_of(one)
    if kind != kind_of(other):
        return False
    if kind == "array":
        return len(one) == len(other) and all(map(same, one, other))
    if kind == "object":
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


@dataclass(frozen=True, slots=True)
class Schema:
    """A checked schema: `allows(value)` says whether a value fits."""

    root: Mapping[str, Any] | bool
    definitions: Mapping[str, Any] = field(default_factory=dict)

    def allows(self, value: Any) -> bool:
        """Whether a value fits the schema.

        >>> schema_of({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}).allows({"name": 1})
        False
        """
        return self._fits(value, self.root)

    def _fits(self, value: Any, schema: Any) -> bool:
        if isinstance(schema, bool):
            return schema
        return all(self._one(key, rule, value, schema) for key, rule in schema.items() if key in CHECKED)

    def _one(self, key: str, rule: Any, value: Any, schema: Mapping[str, Any]) -> bool:
        if key in _COUNTS:
            kind, sign = _COUNTS[key]
            return not isinstance(value, kind) or sign * len(value) >= sign * rule
        if key in _BOUNDS:
            return kind_of(value) != "number" or _within(key, value, rule)
        if key in _INSIDE:
            fitting = sum(self._fits(value, part) for part in rule)
            return fitting == len(rule) if key == "allOf" else fitting == 1 if key == "oneOf" else fitting > 0
        if isinstance(value, dict) and key in ("required", "properties", "additionalProperties"):
            return self._object(key, rule, value, schema)
        if isinstance(value, list) and key in ("items", "uniqueItems"):
            return self._array(key, rule, value)
        if key == "type":
            kinds = [rule] if isinstance(rule, str) else rule
            whole = kind_of(value) == "number" and (isinstance(value, int) or value.is_integer())
            return kind_of(value) in kinds or ("integer" in kinds and whole)
        if key == "enum":
            return any(same(value, each) for each in rule)
        if key == "const":
            return same(value, rule)
        if key == "pattern":
            return not isinstance(value, str) or is_in(rule, value)
        if key == "not":
            return not self._fits(value, rule)
        if key == "$ref":
            return self._fits(value, self.root if rule == "#" else self.definitions[rule])
        return True

    def _object(self, key: str, rule: Any, value: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
        if key == "required":
            return all(name in value for name in rule)
        if key == "properties":
            return all(self._fits(value[name], part) for name, part in rule.items() if name in value)
        return all(self._fits(each, rule) for name, each in value.items() if name not in schema.get("properties", {}))

    def _array(self, key: str, rule: Any, value: Sequence[Any]) -> bool:
        if key == "items":
            return all(self._fits(each, rule) for each in value)
        return not rule or not any(same(one, other) for place, one in enumerate(value) for other in value[:place])


def _within(key: str, value: float, rule: float) -> bool:
    if key == "multipleOf":
        from fractions import Fraction

        return Fraction(str(value)) % Fraction(str(rule)) == 0  # as written: 0.3 is a multiple of 0.1
    return {
        "minimum": value >= rule,
        "maximum": value <= rule,
        "exclusiveMinimum": value > rule,
        "exclusiveMaximum": value < rule,
    }[key]


# ---- reading a schema --------------------------------------------------------------------------------------------------


def schema_of(raw: Any) -> Schema:
    """A schema, checked: its keywords are known, their values usable, its references there."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError as fault:
            raise UsageError("cannot read the schema", got=f"a text that is no JSON: {fault}", need="a table, or JSON") from fault
    if not isinstance(raw, Mapping):
        raise UsageError("cannot read the schema", got=f"a {type(raw).__name__}", need="a table of keywords")
    homes = {home: raw[home] for home in ("$defs", "definitions") if home in raw}
    definitions = {f"#/{home}/{name}": part for home, parts in homes.items() for name, part in _table(parts, home).items()}
    root = {key: rule for key, rule in raw.items() if key not in homes}
    for place, part in {"schema": root, **definitions}.items():
        _check(part, place, definitions)
    found = Schema(root, definitions)
    _refuse_circles(found)
    return found


def _check(schema: Any, place: str, definitions: Mapping[str, Any]) -> None:
    if isinstance(schema, bool) and place != "schema":
        return
    check_keys(_table(schema, place), (*CHECKED, *NOTES), f"{place} of the scorer json-schema")
    for key, rule in schema.items():
        if key in CHECKED and not _usable(key, rule, definitions):
            raise UsageError(
                "cannot read the schema", got=f"{key} = {str(rule)[:80]!r} at {place}", need="a value that JSON Schema allows there"
            )
        for name, part in _parts(key, rule):
            _check(part, f"{place}.{key}{name}", definitions)


def _parts(key: str, rule: Any) -> list[tuple[str, Any]]:
    """The schemas inside a keyword."""
    if key == "properties":
        return [(f".{name}", part) for name, part in rule.items()]
    if key in _INSIDE:
        return [(f"[{place}]", part) for place, part in enumerate(rule)]
    return [("", rule)] if key in ("items", "additionalProperties", "not") else []


def _usable(key: str, rule: Any, definitions: Mapping[str, Any]) -> bool:
    if key == "type":
        kinds = rule if isinstance(rule, list) else [rule]
        return bool(kinds) and all(kind in KINDS for kind in kinds)
    if key in _COUNTS:
        return is_number(rule) and rule >= 0 and float(rule).is_integer()
    if key in _BOUNDS:
        return is_number(rule) and (key != "multipleOf" or rule > 0)
    if key in ("enum", *_INSIDE):
        return isinstance(rule, list) and bool(rule)
    if key == "required":
        return isinstance(rule, list) and all(isinstance(name, str) for name in rule)
    if key == "pattern":
        try:
            return compiled(rule) is not None
        except UsageError:
            return False
    if key == "$ref":
        return rule == "#" or rule in definitions
    return isinstance(rule, {"properties": Mapping, "uniqueItems": bool}.get(key, object))


def _table(schema: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(schema, Mapping):
        raise UsageError("cannot read the schema", got=f"a {type(schema).__name__} at {place}", need="a table of keywords")
    return schema


def _refuse_circles(schema: Schema) -> None:
    """A reference that leads back to itself without going into the value would never end."""

    def walk(part: Any, seen: tuple[str, ...]) -> None:
        if not isinstance(part, Mapping):
            return
        ref = part.get("$ref")
        if ref in seen:
            raise UsageError("cannot read the schema", got=f"{ref!r}, which leads back to itself", need="references that end")
        if ref is not None:
            walk(schema.root if ref == "#" else schema.definitions[ref], (*seen, ref))
        for inner in [each for key in _INSIDE for each in part.get(key, ())] + [part.get("not")]:
            walk(inner, seen)

    for start, part in {"#": schema.root, **schema.definitions}.items():
        walk(part, (start,))
