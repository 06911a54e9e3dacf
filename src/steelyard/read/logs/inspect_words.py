"""What is said about an Inspect log: how the run ended, which samples errored or have no score, and whether Inspect's own mean agrees.

Also the two looks into its JSON that every reader of it needs: an object or nothing, a message out of a text or an object.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.read.logs.own_number import OwnNumber, agree, number_or_none

_SHOWN = 3  # different messages
_LONGEST = 80  # characters of one
_MEANS = ("accuracy", "mean")
# What Inspect says of how sure a mean is, and not how good the model is.
_SPREADS = ("stderr", "bootstrap_stderr", "std", "var", "ci", "ci_wilson", "lower", "upper")

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


def how_it_ended(header: Mapping[str, Any], rows: Rows, missing: int, total: int) -> str:
    """Status, exception and sample of a run that did not finish and lacks scores; empty for any other."""
    status = header.get("status", "started")
    if status == "success" or not missing:
        return ""
    fault = message(header.get("error"))
    errored = [row for row in rows if row.get("error")]
    at = next((row for row in errored if message(row["error"]) == fault), errored[0] if errored else None)
    said = f"status {status!r}"
    if fault or at is not None:
        said += f", {_short(fault or (message(at['error']) if at else None) or 'no message')}"
    if at is not None:
        said += f" in sample {str(at['id'])!r}, epoch {at['epoch']}"
    return f"{said}; {missing} of {total} samples without a score"


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


def told_results(header: Mapping[str, Any], scorer: str, key: str | None, rows: Rows, scores: Scores) -> OwnNumber:
    """Whether the mean of the scores is Inspect's own number; if not, how that can be had, or why it cannot.

    A scorer without a mean among its metrics is about something else. Epochs reduced by pass_at_k are our pass@k.
    """
    found = [
        score
        for score in objects_of(mapping(header.get("results")).get("scores"))
        if score.get("scorer") == scorer and score.get("name") == (scorer if key is None else key)
    ]
    plain = [score for score in found if score.get("reducer") in (None, "mean")]
    ours, called = _mean(rows, scores), key or scorer
    if not found or (plain and _named(plain[0], _MEANS)):
        theirs = _named(plain[0], _MEANS)[0][1] if plain else None
        if theirs is None or ours is None or agree(ours, theirs):
            return OwnNumber()
        return OwnNumber(said=[f"Inspect's own mean of {called!r} is {theirs:.6g}, that of the samples in the log is {ours:.6g}"])
    if plain:
        others = [one for one in _named(plain[0]) if one[0] not in _SPREADS]
        if not others or any(ours is not None and agree(ours, value) for _, value in others):
            return OwnNumber()
        name, value = next((one for one in others if one[0] == _headline(header, scorer, called)), others[0])
        mean = "" if ours is None else f", and the mean of the samples is {ours:.6g}"
        return OwnNumber(not_a_mean=f"Inspect's own number of {called!r} is {name} ({value:.6g}){mean}")
    reducer = str(found[0].get("reducer"))
    tries = re.fullmatch(r"pass_at_(\d+)", reducer)
    if tries is not None and len(found) == 1 and all(score in (None, 0, 1) for score in scores):
        return OwnNumber(metric=f"pass@{tries[1]}", said=[f"Inspect reduced the epochs by {reducer}: measured as pass@{tries[1]}"])
    means = [value for score in found for _, value in _named(score, _MEANS)]
    if ours is not None and any(agree(ours, value) for value in means):
        return OwnNumber()
    listed = ", ".join(str(score.get("reducer")) for score in found)
    shown = f" ({means[0]:.6g})" if means else ""
    return OwnNumber(
        not_a_mean=f"Inspect reduced the epochs of {called!r} by {listed}{shown}, and here every epoch counts as a repeat of its sample"
    )


def _headline(header: Mapping[str, Any], scorer: str, name: str) -> str | None:
    """The metric that the run's headline names, if it is of this score."""
    told = mapping(mapping(header.get("results")).get("headline"))
    return _last(told.get("metric")) if told.get("scorer") == scorer and told.get("score") == name else None


def _named(score: Mapping[str, Any], names: Sequence[str] | None = None) -> list[tuple[str, float]]:
    """Metrics and their values. Read by the name of a metric, never by its key, which gets a number when a name comes twice."""
    metrics = [mapping(each) for each in mapping(score.get("metrics")).values()]
    values = [(_last(each.get("name")), number_or_none(each.get("value"))) for each in metrics if not each.get("group")]
    return [(name, value) for name, value in values if value is not None and (names is None or name in names)]


def _last(name: Any) -> str:
    return str(name).split("/")[-1]


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
