"""What is said about an Inspect log: how the run ended, which samples errored or have no score, and whether Inspect's own mean agrees.

Also the two looks into its JSON that every reader of it needs: an object or nothing, a message out of a text or an object.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SHOWN = 3  # different messages
_LONGEST = 80  # characters of one
_MEANS = ("accuracy", "mean")
_ROUNDING = 1e-6

Rows = Sequence[Mapping[str, Any]]
Scores = Sequence[float | None]


def mapping(value: Any) -> dict[str, Any]:
    """The object that should be here, or an empty one."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, or none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def message(value: Any) -> str | None:
    """An error or a limit in words: a summary has a text, a full sample an object.

    >>> message({"message": "timed out", "traceback": "..."}), message({"type": "token"}), message(None)
    ('timed out', 'token', None)
    """
    found = mapping(value).get("message", mapping(value).get("type")) if isinstance(value, dict) else value
    return found if isinstance(found, str) and found.strip() else None


def told_run(header: Mapping[str, Any], there: int, absent: int, promised: int | None) -> list[str]:
    """How the run ended, if not well, and how many of its samples the log has."""
    said = []
    status = header.get("status", "started")
    fault = message(header.get("error"))
    ended = {"success": "", "started": "the run has not ended, or it died"}.get(status, f"the run ended with the status {status!r}")
    ended += f" ({_short(fault)})" if fault and ended else ""
    if absent:
        many = f"{there} of {there + absent} samples are in the log, the other {absent} are counted as missing"
        said.append(f"{ended}: {many}" if ended else many)
    elif promised is not None and there < promised:
        many = f"{there} of {promised} samples are in the log; it does not name the others, so they are not counted"
        said.append(f"{ended}: {many}" if ended else many)
    elif ended:
        said.append(f"{ended}, with all of its {there} samples" if promised is not None else ended)
    if header.get("invalidated"):
        said.append("samples of this log were marked as invalid in Inspect; they are counted here as their scores say")
    return said


def told_errors(rows: Rows, scores: Scores) -> list[str]:
    """Samples that errored: `error` tells, since `completed` is true for them too."""
    errored = [(row, score) for row, score in zip(rows, scores, strict=True) if row.get("error")]
    if not errored:
        return []
    said = [f"{len(errored)} of {len(rows)} samples errored: {_listed(message(row['error']) or 'no message' for row, _ in errored)}"]
    scored = sum(score is not None for _, score in errored)
    if scored:
        said.append(f"{scored} samples that errored have a score all the same; it counts, as in Inspect")
    return said


def told_holes(rows: Rows, scores: Scores, reasons: Iterable[Any], scorer: str) -> list[str]:
    """Samples that ran and have no score."""
    holes = [reason for row, score, reason in zip(rows, scores, reasons, strict=True) if score is None and not row.get("error")]
    if not holes:
        return []
    why = [reason for reason in holes if isinstance(reason, str) and reason]
    return [f"{len(holes)} of {len(rows)} samples have no score from {scorer!r}" + (f": {_listed(why)}" if why else "")]


def told_results(header: Mapping[str, Any], scorer: str, key: str | None, rows: Rows, scores: Scores) -> list[str]:
    """Whether Inspect's own mean is that of the scores; if not, letters of the scorer's own or later edits may be behind it."""
    found = [
        score
        for score in objects_of(mapping(header.get("results")).get("scores"))
        if score.get("scorer") == scorer and score.get("name") == (scorer if key is None else key)
    ]
    reducers = [score.get("reducer") for score in found]
    if found and not {None, "mean"} & set(reducers):
        listed = ", ".join(str(each) for each in reducers)
        return [f"Inspect reduced the epochs by {listed}; here every epoch counts, as a repeat of its sample"]
    theirs = next((value for score in found if score.get("reducer") in (None, "mean") for value in _means(score)), None)
    ours = _mean(rows, scores)
    if theirs is None or ours is None or abs(theirs - ours) <= _ROUNDING * max(1.0, abs(theirs)):
        return []
    return [f"Inspect's own mean of {key or scorer!r} is {theirs:.6g}, that of the samples in the log is {ours:.6g}"]


def _means(score: Mapping[str, Any]) -> list[float]:
    """Read by the name of a metric, never by its key, which gets a number when a name comes twice."""
    metrics = [mapping(each) for each in mapping(score.get("metrics")).values()]
    values = [each.get("value") for each in metrics if str(each.get("name")).split("/")[-1] in _MEANS and not each.get("group")]
    return [
        float(value) for value in values if (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < 2**53)
    ]


def _mean(rows: Rows, scores: Scores) -> float | None:
    """The mean over samples of the mean over their epochs."""
    by_id: dict[str, list[float]] = {}
    for row, score in zip(rows, scores, strict=True):
        if score is not None:
            by_id.setdefault(str(row["id"]), []).append(score)
    return math.fsum(math.fsum(each) / len(each) for each in by_id.values()) / len(by_id) if by_id else None


def _listed(texts: Iterable[str]) -> str:
    counted = Counter(_short(text) for text in texts)
    listed = ", ".join(f"{text} ({many})" if many > 1 else text for text, many in counted.most_common(_SHOWN))
    return listed + (f" and {len(counted) - _SHOWN} other messages" if len(counted) > _SHOWN else "")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
