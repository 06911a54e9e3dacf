"""Several arrays without names, given to `compare`: truth and two systems, systems' scores, or a question that cannot be told."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.read.frames import is_frame

FORM = "compare(a, b, truth=y_true) compares two systems, rank(a, b, c, truth=y_true) ranks three or more"


def with_truth(data: Sequence[Any], columns: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The systems, and the columns with the truth among them if three arrays of labels were given: truth, baseline, candidate.

    Numbers that are not all whole are scores, one array per system. Only 0 and 1 could be either, and more than three arrays
    of labels could begin with the truth or not: both are refused.
    """
    if any(column is None or _is_source(column) for column in data):
        return list(data), dict(columns)
    kinds = {_kind(np.asarray(column)) for column in data}
    if "scores" in kinds or "other" in kinds:
        return list(data), dict(columns)
    many = len(data)
    if many > 3 or kinds == {"zeros and ones"}:
        got = f"{many} arrays of labels" if many > 3 else "three arrays of 0 and 1, which may be labels or right and wrong"
        raise UsageError(
            "cannot tell truths from answers",
            got=got,
            need="the truth by name",
            hint=f"{FORM}; right or wrong of several systems: compare({{'score': a}}, {{'score': b}}, ...)",
        )
    lengths = [len(column) for column in data]
    if len(set(lengths)) > 1:
        got = f"{', '.join(map(str, lengths))} values"
        raise UsageError("cannot pair the arrays", got=got, need="three arrays of one length", hint=FORM)
    return list(data[1:]), {**columns, "truth": data[0]}


def _is_source(data: Any) -> bool:
    """Whether it is something with columns, or a path: not one bare array."""
    if isinstance(data, (str, bytes, os.PathLike, Mapping)) or is_frame(data) or not hasattr(data, "__len__"):
        return True
    if getattr(data, "ndim", 1) != 1:
        return True
    return isinstance(data, (list, tuple)) and any(isinstance(value, (Mapping, list, tuple)) for value in data)


def _kind(values: Any) -> str:
    """labels, zeros and ones, scores, or other."""
    if values.dtype.kind in "US":
        return "labels"
    if values.dtype.kind == "O":
        return "labels" if all(isinstance(value, (str, int, type(None))) for value in values.tolist()) else "other"
    if values.dtype.kind not in "biuf":
        return "other"
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if values.dtype.kind == "f" and not bool((known == np.floor(known)).all()):
        return "scores"
    return "zeros and ones" if bool(np.isin(known, (0, 1)).all()) else "labels"
