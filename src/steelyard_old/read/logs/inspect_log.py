"""Inspect AI: `.eval` archives and `.json` logs, without inspect_ai; one scorer, epochs as repeats, errored samples kept as missing.

Samples that the header promises and the log does not have are rows without a score, so that `--missing` decides about them: those
that finish first are seldom a fair sample of all. Inspect's summaries cut texts at 1,000 characters and metadata come as columns
up to 200; the name of a group is shorter.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from steelyard_old.errors import DataError, SourceError
from steelyard_old.read.logs.documents import digest, malformed, scalars, side_by_side, text_or_none
from steelyard_old.read.logs.inspect_files import TOOL, header_and_samples, is_called, looks_like, made, one_log
from steelyard_old.read.logs.log import Choices, Log, pick
from steelyard_old.read.logs.own_number import OwnNumber, agree, number_or_none
from steelyard_old.redaction import shortened

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
    return shortened(text, _LONGEST, "…")


__all__ = ["looks_like", "made", "read"]

_LETTERS = {"C": 1, "I": 0, "P": 0.5, "N": 0}  # correct, incorrect, partial, no answer
_WORDS = {"yes": 1, "true": 1, "no": 0, "false": 0}
_MOST = 10_000_000  # samples times epochs; a header that promises more is not taken at its word
_LARGEST = 1 << 1000  # an integer beyond this is no float64
_REMOVED = "Key removed from summary (> 1k)"  # what Inspect writes in place of a large value


def read(path: str, choices: Choices) -> Log:
    """The samples of a run: one row per sample and epoch, with the value of the chosen scorer as score."""
    path, newest = one_log(path, choices)
    header, found = header_and_samples(path)
    spec = header["eval"]
    for what in ("filter", "prompt"):
        if getattr(choices, what) is not None:
            pick(what, getattr(choices, what), [], path)
    for what, asked in (("task", choices.task), ("model", choices.model)):
        name = text_or_none(spec.get(what))
        if asked is not None and not is_called(name, asked):
            pick(what, asked, [name] if name else [], path)
    rows, said = _latest(path, found)
    absent = _absent(path, rows, spec)
    if not rows and not absent:
        raise SourceError(
            f"The log {path!r} has no samples.", got="a log without samples", need="at least one", hint="did the run end early?"
        )
    scorer = pick("scorer", choices.scorer, _scorers(rows, spec), path)
    key, scores = _scores(path, rows, scorer, choices.score)
    said = [*newest, *told_run(header, len(rows), len(absent), _promised(spec)[2]), *said, *told_errors(rows, scores)]
    said += told_holes(rows, scores, [_score(row, scorer).get("reason") for row in rows], scorer)
    own = told_results(header, scorer, key, rows, scores)
    said += own.said
    table = [_row(row, score, scorer) for row, score in zip(rows, scores, strict=True)]
    return Log(
        tool=TOOL,
        columns=_columns(table + absent),
        texts=lambda: _texts(path, scorer),
        name=text_or_none(spec.get("model")),
        chosen={"scorer": scorer} | ({} if key is None else {"score": key}),
        checks=_checks(path, spec, scorer, key),
        warnings=tuple(said),
        metric=own.metric,
        not_a_mean=own.not_a_mean,
        unfinished=how_it_ended(header, rows, scores.count(None) + len(absent), len(rows) + len(absent)),
    )


# ---- the samples -------------------------------------------------------------------------------------------------------


def _latest(path: str, found: Iterable[Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The samples, each once per epoch. An attempt that errored gives way to a later one; anything else twice is an error."""
    kept: dict[tuple[str, int], dict[str, Any]] = {}
    repeated = 0
    for place, row in enumerate(found):
        if not isinstance(row, dict) or type(row.get("id")) not in (int, str) or type(row.get("epoch")) is not int:
            raise malformed(path, f"sample {place + 1} has no id or no epoch", "samples with an id and an epoch")
        key = (str(row["id"]), row["epoch"])
        if key in kept and not kept[key].get("error"):
            got = f"the sample {key[0]!r} twice in epoch {key[1]}"
            raise DataError(f"{path!r} has the sample {key[0]!r} twice in epoch {key[1]}.", got=got, need="each sample once per epoch")
        repeated += key in kept
        kept[key] = row
    return list(kept.values()), [f"{repeated} attempts that errored gave way to a later one"] if repeated else []


def _scorers(rows: Iterable[Mapping[str, Any]], spec: Mapping[str, Any]) -> list[str]:
    """Every scorer that scored a sample; if none did, those that were meant to."""
    found = dict.fromkeys(name for row in rows for name in mapping(row.get("scores")))
    meant = (text_or_none(each.get("name")) for each in objects_of(spec.get("scorers")))
    return list(found) or list(dict.fromkeys(name for name in meant if name))


def _score(row: Mapping[str, Any], scorer: str) -> Mapping[str, Any]:
    return mapping(mapping(row.get("scores")).get(scorer))


def _scores(path: str, rows: Sequence[Mapping[str, Any]], scorer: str, asked: str | None) -> tuple[str | None, list[float | None]]:
    """The chosen key of a scorer that gives several values (None if it gives one), and a number or None per sample."""
    values = [_score(row, scorer).get("value") for row in rows]
    known = [value for value in values if not _unscored(value)]
    many = [value for value in known if isinstance(value, (dict, list))]
    if not many:
        key = None
        if asked not in (None, "score", "value"):
            pick("score", asked, [scorer], path)
    elif len(many) < len(known):
        got = f"{len(many)} samples with several values and {len(known) - len(many)} with one"
        raise DataError(
            f"The scorer {scorer!r} of {path!r} gives several values for {len(many)} samples and one value for {len(known) - len(many)}.",
            got=got,
            need="values of one shape",
        )
    else:
        key = pick("score", asked, list(dict.fromkeys(name for value in many for name in _parts(value))), path)
        values = [None if _unscored(value) else _parts(value).get(key) for value in values]
    return key, [_number(path, row, scorer, value) for row, value in zip(rows, values, strict=True)]


def _unscored(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _parts(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {str(place): each for place, each in enumerate(value)}


def _number(path: str, row: Mapping[str, Any], scorer: str, value: Any) -> float | None:
    """A value as Inspect's own metrics take it, but for a text without a meaning, which they take for 0."""
    if _unscored(value):
        return None
    found: float | None = None
    if isinstance(value, (bool, int, float)):
        found = value if isinstance(value, float) else int(value) if abs(value) < _LARGEST else None
    elif isinstance(value, str):
        found = _LETTERS.get(value, _WORDS.get(value.lower()))
        if found is None and re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value):
            found = float(value)
    if found is None or not math.isfinite(found):
        raise DataError(
            f"The scorer {scorer!r} of {path!r} must give a finite number, true or false, yes or no, or one "
            f"of C, I, P, N; the value in sample {str(row['id'])[:80]!r}, epoch {row['epoch']}, is "
            f"{repr(value)[:80]}.",
            got=f"the value {repr(value)[:80]} in sample {str(row['id'])[:80]!r}, epoch {row['epoch']}",
            need="a finite number, true or false, yes or no, or one of C, I, P, N",
            hint="choose another scorer with scorer=, or write the scores as a CSV file",
        )
    return found


def _row(row: Mapping[str, Any], score: float | None, scorer: str) -> dict[str, Any]:
    """target and answer get names that are not taken for truth and prediction: the score decides what is right."""
    target = row.get("target")
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else json.dumps(target)
    told = {
        "sample.target": text_or_none(target),
        "sample.answer": text_or_none(_score(row, scorer).get("answer")),
        "sample.limit": message(row.get("limit")),
    }
    return {"id": str(row["id"]), "repeat": row["epoch"], "score": score} | told | _facts(row)


def _texts(path: str, scorer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What each sample was asked, what was right, and what was answered."""
    for row in header_and_samples(path)[1]:
        told = _row(row, None, scorer)
        yield told["id"], {"prompt": row.get("input"), "target": told["sample.target"], "answer": told["sample.answer"]}


def _facts(row: Mapping[str, Any]) -> dict[str, Any]:
    found = scalars("metadata", row.get("metadata"))
    return {name: value for name, value in found.items() if not _unscored(value) and value != _REMOVED}


def _absent(path: str, rows: Sequence[Mapping[str, Any]], spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows without a score for samples that should be there; what is known of them from another epoch comes along."""
    ids, epochs, _ = _promised(spec)
    if len(ids) * epochs > _MOST:
        raise malformed(
            path, f"its header announces {len(ids):,} samples in {epochs:,} epochs, more than {_MOST:,} in all", f"at most {_MOST:,} in all"
        )
    there = {(str(row["id"]), row["epoch"]) for row in rows}
    known = {str(row["id"]): _facts(row) for row in rows}
    wanted = ((each, epoch) for epoch in range(1, epochs + 1) for each in ids)
    return [{"id": each, "repeat": epoch, "score": None} | known.get(each, {}) for each, epoch in wanted if (each, epoch) not in there]


def _promised(spec: Mapping[str, Any]) -> tuple[list[str], int, int | None]:
    """The ids that the run set out with, its epochs, and the number of samples, as far as the header tells."""
    dataset, config = mapping(spec.get("dataset")), mapping(spec.get("config"))
    listed = dataset.get("sample_ids")
    ids = list(dict.fromkeys(str(each) for each in listed)) if isinstance(listed, list) else []
    epochs = config.get("epochs")
    epochs = epochs if type(epochs) is int and epochs > 0 else 1
    whole = config.get("limit") is None and config.get("sample_id") is None  # `samples` counts the data before they were cut
    count = len(ids) or (dataset.get("samples") if whole else None)
    return ids, epochs, count * epochs if type(count) is int else None


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    columns = side_by_side(rows)
    if set(columns["repeat"]) == {1}:
        del columns["repeat"]
    return {name: column for name, column in columns.items() if name == "score" or any(value is not None for value in column)}


def _checks(path: str, spec: Mapping[str, Any], scorer: str, key: str | None) -> dict[str, str]:
    """What two runs must share, as far as the header tells: not the model, which is what differs."""
    dataset = mapping(spec.get("dataset"))
    ids = _promised(spec)[0]
    facts = {
        "task": spec.get("task"),
        "task_version": spec.get("task_version"),
        "dataset": dataset.get("name"),
        "sample_ids": digest(path, sorted(ids)) if ids else None,
        "scorer": scorer if key is None else f"{scorer}: {key}",
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}
