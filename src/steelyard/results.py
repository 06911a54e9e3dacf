"""What every result is: a frozen dataclass that goes to JSON and back, and shows itself by the layout beside its verb."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from steelyard.base.problem import SteelyardError

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def result(cls: type[T]) -> type[T]:
    """A frozen dataclass with slots and keywords only, whose repr is one line."""
    return dataclass(frozen=True, slots=True, kw_only=True, repr=False)(cls)


class Result:
    """The base of all results: no fields of its own. kind: its name in JSON, of what is an answer by itself."""

    __slots__ = ()
    kind: ClassVar[str] = ""

    def __repr__(self) -> str:
        if self.kind:
            from steelyard.show import first_line

            return f"<{type(self).__name__}: {first_line(self)}>"
        said = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in said if value not in (None, '', ()))})"

    def __str__(self) -> str:
        from steelyard.show import write

        return write(self, "text").rstrip() if self.kind else repr(self)

    def _repr_html_(self) -> str:
        from steelyard.show import write

        return write(self, "fragment") if self.kind else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in JSON: what is no finite number is None."""
        head = {"kind": self.kind, "schema": 2} if self.kind else {}
        return head | {field.name: plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The result of plain data; keys that nobody knows are left out."""
        if cls.kind and (data.get("kind"), data.get("schema")) != (cls.kind, 2):
            raise SteelyardError(f"This is no {cls.kind} of schema 2, but {data.get('kind')!r} of schema {data.get('schema')!r}.")
        hints = get_type_hints(cls)
        return cls(**{f.name: read(hints[f.name], data[f.name]) for f in fields(cls) if f.name in data})  # type: ignore[arg-type]


@result
class Interval(Result):
    """The ends of an interval; None where there is none on that side."""

    low: float | None
    high: float | None
    confidence_level: float = 0.95
    side: str = "two"
    method: str = ""

    def __repr__(self) -> str:
        low, high = ("..." if end is None else f"{end:.6g}" for end in (self.low, self.high))
        return f"[{low}, {high}]"


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read(hint: Any, value: Any) -> Any:
    """A value of JSON as a hint wants it."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    if value is None or hint is Any:
        return value
    if is_dataclass(hint):
        return hint.from_dict(value)  # type: ignore[union-attr]
    if get_origin(hint) is tuple:
        return tuple(read(parts[0], each) for each in value)
    if get_origin(hint) is dict:
        return {k: read(parts[1], v) for k, v in value.items()}
    return read(parts[0], value) if len(parts) == 1 else value
