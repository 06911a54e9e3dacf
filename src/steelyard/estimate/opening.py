"""From what a user gave to a source: columns, two columns of a ratio, and labels that turn out to be numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.errors import DataError, UsageError
from steelyard.items import Items
from steelyard.read.open_source import open_source
from steelyard.read.source import Source


def opened(
    data: Any, prediction: Any, by: tuple[str, ...] | Mapping[str, Any], ratio: str | Sequence[str] | None, columns: Mapping[str, Any]
) -> Source:
    """The source of what `measure` was given."""
    given = {role: value for role, value in columns.items() if value is not None}
    if by:
        given["by"] = by
    if ratio is not None:
        given["ratio"] = ratio_columns(ratio)
    return open_source(data, prediction, columns=given)


def ratio_columns(ratio: str | Sequence[str]) -> tuple[str, str]:
    parts = tuple(ratio.split("/")) if isinstance(ratio, str) else tuple(ratio)
    if len(parts) != 2 or not all(parts):
        raise UsageError(
            "cannot read the ratio", got=repr(ratio), need="two column names, above and below the line", hint="ratio='errors/words'"
        )
    return parts[0].strip(), parts[1].strip()


def refuse_numeric_truth(items: Items) -> None:
    """Truths such as 3.7 are numbers to be predicted, not classes: say so instead of counting a class per value."""
    if items.truth is None or items.prediction is None or not any(map(_is_fraction, items.truth.names)):
        return  # most labels are texts or whole numbers: their names say so, without a look at the rows
    try:
        numbers = [float(items.truth.names[i]) for i in np.unique(items.truth.codes) if i >= 0]
    except ValueError:
        return
    fraction = next((x for x in numbers if not x.is_integer()), None)
    if fraction is not None:
        raise DataError(
            "cannot treat the truth as classes",
            got=f"{len(numbers)} distinct numbers, such as {fraction:g}",
            need="a named metric",
            hint="metric='mae', rmse, r2 or spearman for numbers; name a label metric if they are classes",
        )


def _is_fraction(name: str) -> bool:
    try:
        return not float(name).is_integer()
    except ValueError:
        return False
