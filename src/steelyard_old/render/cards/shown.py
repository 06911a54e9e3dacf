"""Values of a card as YAML: without what is not known, and with texts as they can be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.render.terminal import harmless


def shown(value: Any) -> Any:
    """The same values, without None; what a terminal would obey is visible in a text.

    >>> shown({"name": "no", "date": None, "args": {"seed": 1}})
    {'name': 'no', 'args': {'seed': 1}}
    """
    if isinstance(value, Mapping):
        return {key: shown(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [shown(each) for each in value]
    return harmless(str(value))
