"""The scorers of JSON: is the answer valid JSON, and does it fit a schema, or is it the very value on record?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from steelyard_old.errors import UsageError, with_article
from steelyard_old.evaluate.asking.asks import Case, Scored
from steelyard_old.evaluate.scorers.base import Scoring, bad_truth, check_flags
from steelyard_old.evaluate.scorers.matching import compiled, is_in
from steelyard_old.evaluate.task.cases import canonical, check_keys, is_missing, plain
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

NOTES = ("title", "description", "default", "examples", "$schema", "$comment", "$id", "deprecated", "readOnly", "writeOnly")
FORMATS = ("date", "email", "ipv4", "ipv6", "uuid")  # those that every installation checks alike; email only looks for an @
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_TABLES = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_PARTS = (
    "items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_OTHER = ("minContains", "maxContains", "$anchor", "$dynamicAnchor")  # known, beside those that jsonschema has a check of its own for
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")  # these check the same value again
_REFERENCES = ("$ref", "$dynamicRef")


class Schema:
    """A checked schema: `allows(value)` says whether a value fits.

    >>> schema_of({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}).allows({"name": 1})
    False
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        from jsonschema import FormatChecker
        from jsonschema_specifications import REGISTRY  # the drafts themselves, as they come with the package: no URL is opened

        self._validator = _validator()(raw, format_checker=FormatChecker(FORMATS), registry=REGISTRY)

    def allows(self, value: Any) -> bool:
        return bool(self._validator.is_valid(value))


def schema_of(raw: Any) -> Schema:
    """A schema, checked: its keywords are known, their values usable, its references there."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except ValueError as fault:
            raise UsageError(
                f"The schema is not valid JSON ({fault}).", got=f"a text that is no JSON: {fault}", need="a table, or JSON"
            ) from fault
    if not isinstance(raw, Mapping):
        raise UsageError(
            f"The schema must be a table of keywords, not {with_article(type(raw).__name__)}.",
            got=with_article(type(raw).__name__),
            need="a table of keywords",
        )
    kind = _validator()
    from jsonschema.exceptions import SchemaError

    try:
        kind.check_schema(raw)
    except SchemaError as fault:
        place = ".".join(["schema", *map(str, fault.absolute_path)])
        need = "a value that JSON Schema 2020-12 allows there"
        raise UsageError(
            f"The schema is not valid under JSON Schema 2020-12: {fault.message[:120]} at {place}.",
            got=f"{fault.message[:120]} at {place}",
            need=need,
        ) from None
    known = (*kind.VALIDATORS, *_TABLES, *_PARTS, *_OTHER, *NOTES)
    parts, sound = list(_walk(raw, "schema", _resolver(raw))), set[int]()
    for place, part, resolver in parts:
        _check(part, place, known)
        _refuse_circles(part, resolver, (), sound)
    if {"patternProperties", "unevaluatedProperties"} <= {key for _, part, _ in parts for key in part}:
        got, need = "patternProperties and unevaluatedProperties", "one of them: patterns have a time limit, which the other cannot keep"
        raise UsageError(
            "The schema has patternProperties and unevaluatedProperties; use one of them: patterns have a "
            "time limit, which the other cannot keep.",
            got=got,
            need=need,
            hint="additionalProperties can be beside patterns",
        )
    return Schema(raw)


def _inside(key: str, rule: Any) -> list[tuple[str, Any]]:
    """The schemas inside a keyword, with their names there."""
    if key in _TABLES:
        return [(f".{name}", part) for name, part in rule.items()]
    if key in _LISTS:
        return [(f"[{number}]", part) for number, part in enumerate(rule)]
    return [("", rule)] if key in _PARTS else []


def _resolver(raw: Mapping[str, Any]) -> Any:
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012

    root = DRAFT202012.create_resource(raw)
    return REGISTRY.with_resource(root.id() or "", root).resolver(root.id() or "")


def _walk(schema: Any, place: str, resolver: Any) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Every schema inside a schema, where it is, and what finds its references."""
    if not isinstance(schema, Mapping):
        return
    resolver = _within(schema, resolver)
    yield place, schema, resolver
    for key, rule in schema.items():
        for name, part in _inside(key, rule):
            yield from _walk(part, f"{place}.{key}{name}", resolver)


def _within(schema: Mapping[str, Any], resolver: Any) -> Any:
    from referencing.jsonschema import DRAFT202012

    return resolver.in_subresource(DRAFT202012.create_resource(schema))


def _check(schema: Mapping[str, Any], place: str, known: tuple[str, ...]) -> None:
    check_keys(schema, known, f"{place} of the scorer json-schema")
    if (asked := schema.get("format", FORMATS[0])) not in FORMATS:
        got, need = f"format = {asked!r} at {place}", f"one of {', '.join(FORMATS)}"
        raise UsageError(f"The schema must have {need}, not {got}.", got=got, need=need, hint="a pattern can say more")
    for pattern in (*schema.get("patternProperties", ()), *([schema["pattern"]] if "pattern" in schema else [])):
        compiled(pattern)


def _refuse_circles(part: Any, resolver: Any, way: tuple[int, ...], sound: set[int]) -> None:
    """References must be there, and none may lead back to itself without going into the value: it would never end."""
    from referencing.exceptions import Unresolvable

    if not isinstance(part, Mapping) or id(part) in sound:
        return
    if id(part) in way:
        raise UsageError(
            "The schema has a reference that leads back to itself.", got="a reference that leads back to itself", need="references that end"
        )
    way = (*way, id(part))
    for key in part.keys() & set(_REFERENCES):
        try:
            found = resolver.lookup(part[key])
        except Unresolvable:
            need = "a reference to a part of the schema; nothing is fetched"
            raise UsageError(
                f"The schema refers to something that is not in it ({key} = {str(part[key])[:80]!r}), and nothing is fetched.",
                got=f"{key} = {str(part[key])[:80]!r}",
                need=need,
            ) from None
        _refuse_circles(found.contents, found.resolver, way, sound)
    for key in part.keys() & set(_IN_PLACE):
        for _, inner in _inside(key, part[key]):
            if isinstance(inner, Mapping):
                _refuse_circles(inner, _within(inner, resolver), way, sound)
    sound.add(id(part))


# ---- the library -------------------------------------------------------------------------------------------------------


@cache
def _validator() -> Any:
    """jsonschema's validator of 2020-12, with patterns that end in time, and multiples as they are written."""
    try:
        import jsonschema
    except ImportError:
        raise UsageError(
            "Checking answers against a schema needs the package jsonschema.",
            got="no package jsonschema",
            need="it",
            hint='pip install "steelyard[json-schema]", or leave schema out: then any JSON is right',
        ) from None

    def fault(said: str) -> Iterator[Any]:
        yield jsonschema.ValidationError(said)

    def pattern(validator: Any, rule: str, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, str) and not is_in(rule, value):
            yield from fault("pattern")

    def pattern_properties(validator: Any, rule: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            for each, part in rule.items():
                for name in value:
                    if is_in(each, name):
                        yield from validator.descend(value[name], part)

    def additional_properties(validator: Any, rule: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        if isinstance(value, dict):
            for name in value.keys() - schema.get("properties", {}).keys():
                if not any(is_in(each, name) for each in schema.get("patternProperties", ())):
                    yield from validator.descend(value[name], rule)

    def multiple_of(validator: Any, rule: float, value: Any, schema: Any) -> Iterator[Any]:
        if validator.is_type(value, "number"):
            from fractions import Fraction

            if Fraction(str(value)) % Fraction(str(rule)):  # as written: 0.3 is a multiple of 0.1
                yield from fault("multipleOf")

    own = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "multipleOf": multiple_of,
    }
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, own)


_FENCE = late_pattern(r"\A```[A-Za-z]{0,10}\r?\n(.*)```\Z", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class JsonSchema(Scoring):
    """The answer is valid JSON, and fits `schema`, if there is one. It needs no truth.

    An answer that is no JSON (nor a repeated key, NaN or Infinity) is not extracted; one that does not fit is wrong.
    fences = true allows a code fence ```json around it. The schema is a table, JSON text, or in a task file the name of a
    .json file beside it; it is JSON Schema 2020-12, needs the package jsonschema, and its patterns are Python's.
    schema = {type = "object", required = ["name"]}, answer '{"name": "Ada"}': right.
    """

    name: ClassVar[str] = "json-schema"
    schema: Any = None
    fences: bool = False

    def __post_init__(self) -> None:
        check_flags(self, "fences")
        object.__setattr__(self, "checked", None if self.schema is None else schema_of(self.schema))
        if isinstance(self.schema, str):  # the same schema has the same protocol, however it is laid out
            object.__setattr__(self, "schema", canonical(json.loads(self.schema)))

    @property
    def needs_truth(self) -> bool:
        return False

    def truth(self, case: Case) -> Any:
        return None

    def compare(self, said: Any, case: Case) -> Scored:
        try:
            value = parsed(said, fences=self.fences) if isinstance(said, str) else plain(said)
            shown = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
            checked: Schema | None = getattr(self, "checked", None)
            fits = checked is None or checked.allows(value)
        except (ValueError, TypeError, RecursionError):  # too deep is no answer either
            return Scored(score=0.0, extracted=False)
        return Scored(score=float(fits), prediction=shown)


@dataclass(frozen=True, kw_only=True)
class JsonMatch(Scoring):
    """The answer is JSON, and the same value as the truth: whatever the order of keys and the white space; 1 is 1.0, and not true.

    An answer that is no JSON (nor a repeated key, NaN or Infinity) is not extracted. fences = true allows a code fence
    ```json around it. Answer '{"b": 2, "a": 1}' and truth '{"a": 1, "b": 2}': right.
    """

    name: ClassVar[str] = "json-match"
    fences: bool = False

    def __post_init__(self) -> None:
        check_flags(self, "fences")

    @property
    def labels(self) -> bool:
        return True

    def truth(self, case: Case) -> Any:
        value = plain(case.truth)
        try:
            return None if is_missing(value) else _one_text(parsed(value) if isinstance(value, str) else value)
        except (ValueError, TypeError, RecursionError):
            raise bad_truth(self, case, "JSON") from None

    def compare(self, said: Any, case: Case) -> Scored:
        truth = self.truth(case)
        try:
            found = _one_text(parsed(said, fences=self.fences) if isinstance(said, str) else plain(said))
        except (ValueError, TypeError, RecursionError):
            return Scored(score=0.0, truth=truth, extracted=False)
        return Scored(score=float(found == truth), prediction=found, truth=truth)


def _one_text(value: Any) -> str:
    """One text for each JSON value: keys in order, 1.0 as 1."""
    return json.dumps(_whole(value), ensure_ascii=False, sort_keys=True, allow_nan=False)


def _whole(value: Any) -> Any:
    """A value whose whole floats are whole numbers: JSON has one kind of number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list) else value


def parsed(text: str, *, fences: bool = False) -> Any:
    """A text as JSON, strictly; a ValueError if it is none.

    >>> parsed("```json\\n[1]\\n```", fences=True)
    [1]
    """
    if fences and (inside := _FENCE.match(text.strip())):
        text = inside[1]
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_each_once)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found
