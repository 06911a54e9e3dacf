"""Schemas by jsonschema, with patterns that end in time; what would not be checked is refused, and nothing is fetched."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from cases import every
from steelyard.errors import UsageError
from steelyard.evaluate.scorers import json_answers as schema
from steelyard.evaluate.scorers.json_answers import schema_of

pytest.importorskip("jsonschema")

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}, "required": ["v"]}
VALUES: list[Any] = [
    {}, {"a": 1}, {"a": 1.0}, {"a": -1}, {"a": 1.5}, {"a": True}, {"a": 1, "b": "x"}, {"b": "x"}, "a", "ab", "abcd", "ba", None, [], [1],
    [1, 1], [1, 1.0], [1, True], [1, 2, 3], ["x"], 1, 1.0, True, False, 0, 3, 4, 6, 12, 2.5, 0.5, [1, {"b": True}], [1, {"b": 1}],
    {"c": {"v": 1}}, {"c": {"v": 1, "next": {"v": "x"}}}, {"c": {"next": {}}}, {"c": {"v": 2, "next": {"v": 3}}}, {"a": None, "b": 2},
    {"a": 1, "b": "x", "c": "y"}, 10, 11, -0.0,
]  # fmt: skip
# jsonschema 4.26.0, Draft202012Validator(schema).is_valid(value) for each of VALUES
GOLDEN: list[tuple[dict[str, Any], str]] = [
    ({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 0}}, "additionalProperties": False},
     "011000000000000000000000000000000000000000"),
    ({"type": ["string", "null"], "minLength": 2, "maxLength": 3, "pattern": "^a"}, "000000000100100000000000000000000000000000"),
    ({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2, "uniqueItems": True},
     "000000000000001000000000000000000000000000"),
    ({"enum": [1, "a", None, [1, {"b": True}]]}, "000000001000100000001100000000010000000000"),
    ({"const": 1}, "000000000000000000001100000000000000000000"),
    ({"const": True}, "000000000000000000000010000000000000000000"),
    ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, "111111111111111111110011011110011111111110"),
    ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, "000000000000000000000000011000000000000100"),
    ({"allOf": [{"minimum": 1}, {"exclusiveMaximum": 5}]}, "111111111111111111111111011001011111111000"),
    ({"not": {"type": "string"}}, "111111110000111111111111111111111111111111"),
    ({"properties": {"c": {"$ref": "#/$defs/n"}}, "$defs": {"n": NODE}}, "111111111111111111111111111111111100110111"),
    ({"additionalProperties": {"type": "string"}, "properties": {"a": True}, "minProperties": 1, "maxProperties": 2},
     "011111111111111111111111111111111000000111"),
    ({"type": "integer", "exclusiveMinimum": 0, "maximum": 10}, "000000000000000000001100011100000000000100"),
    ({"items": False}, "111111111111110000001111111111100111111111"),
    ({"type": "boolean"}, "000000000000000000000011000000000000000000"),
]  # fmt: skip


@every(("schema", "want"), GOLDEN, ids=lambda x: str(x)[:40])
def test_golden(schema: dict[str, Any], want: str) -> None:
    checked = schema_of(schema)
    assert {str(value): str(int(checked.allows(value))) for value in VALUES} == dict(zip(map(str, VALUES), want, strict=True))


def test_multiples_as_they_are_written() -> None:
    """jsonschema divides floats and denies that 0.3 is a multiple of 0.1."""
    assert schema_of({"multipleOf": 0.1}).allows(0.3)
    assert not schema_of({"multipleOf": 0.1}).allows(0.35)


@every(
    "schema",
    [
        {"format": "date-time"}, {"typ": "string"}, {"contentEncoding": "base64"}, {"items": [{"type": "string"}]}, {"type": "text"},
        {"type": []}, {"minLength": -1}, {"minLength": 1.5}, {"pattern": "("}, {"$ref": "#/$defs/a"}, {"$ref": "http://x/y"},
        {"$ref": "other.json"}, {"$dynamicRef": "#a"},
        {"required": "a"}, {"anyOf": []}, {"multipleOf": 0}, {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, "no JSON", [], {"minimum": "1"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, {"uniqueItems": 1}, {"properties": []},
        {"definitions": {"a": {"typ": 1}}}, {"patternProperties": {"(": True}},
        {"patternProperties": {"a": True}, "allOf": [{"unevaluatedProperties": False}]}, {"dependentSchemas": {"a": {"$ref": "#"}}},
    ],
    ids=str,
)  # fmt: skip
def test_refused_at_load(schema: Any) -> None:
    with pytest.raises(UsageError):
        schema_of(schema)


def test_the_nearest_keyword_is_named() -> None:
    with pytest.raises(UsageError, match=r"schema.properties.a of the scorer json-schema.*Did you mean 'minLength'"):
        schema_of({"properties": {"a": {"minLenght": 1}}})


def test_notes_are_no_rules() -> None:
    assert schema_of({"title": "T", "description": "d", "$schema": "x", "default": 3}).allows("anything")
    assert schema_of('{"type": "string"}').allows("x")


MORE: list[tuple[dict[str, Any], Any, Any]] = [
    ({"format": "date"}, "2026-02-28", "2026-02-30"),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["a", 1], [1, "a"]),
    ({"contains": {"const": 1}, "minContains": 2}, [1, 1], [1, 2]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}, {"a": 1, "b": 1}, {"a": 1, "c": 1}),
    ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
    ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}),
    ({"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": False}, {"n1": 1}, {"x": 1}),
    ({"patternProperties": {"^n": {"type": "number"}}}, {"x": "x"}, {"n1": "x"}),
    ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
    ({"$id": "https://example.org/s", "$ref": "#/definitions/a", "definitions": {"a": {"type": "null"}}}, None, 1),
    ({"$id": "https://example.org/s", "items": {"$ref": "part"}, "$defs": {"p": {"$id": "part", "type": "null"}}}, [None], [1]),
    ({"$anchor": "n", "properties": {"next": {"$ref": "#n"}}, "required": ["v"]}, {"v": 1, "next": {"v": 1}}, {"v": 1, "next": {}}),
    ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"type": "object"}, {"type": 1}),
]


@every(("schema", "right", "wrong"), MORE, ids=lambda x: str(x)[:40])
def test_every_keyword_counts(schema: dict[str, Any], right: Any, wrong: Any) -> None:
    checked = schema_of(schema)
    assert (checked.allows(right), checked.allows(wrong)) == (True, False)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refused(*given: object, **options: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "create_connection", refused)
    for ref in ("https://example.org/s", "https://json-schema.org/draft/2020-12/nothing", "file:///etc/passwd"):
        with pytest.raises(UsageError, match="nothing is fetched"):
            schema_of({"$ref": ref})


def test_without_the_package_a_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    schema._validator.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(
        UsageError, match=r'Checking answers against a schema needs the package jsonschema\..*pip install "steelyard\[json-schema\]"'
    ):
        schema_of({"type": "string"})
