"""The scorer of JSON: is the answer valid JSON, and does it fit a schema?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from steelyard.evaluate.asking.asks import Case, Scored
from steelyard.evaluate.scorers.base import Scoring, canonical, check_flags
from steelyard.evaluate.scorers.schema import Schema, schema_of
from steelyard.evaluate.task.template import plain

_FENCE = re.compile(r"\A```[A-Za-z]{0,10}\r?\n(.*)```\Z", re.DOTALL)


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
