"""Inspect AI: `.eval` archives and `.json` logs, without inspect_ai; one scorer, epochs as repeats, errored samples kept as missing.

Samples that the header promises and the log does not have are rows without a score, so that `--missing` decides about them: those
that finish first are seldom a fair sample of all. Inspect's summaries cut texts at 1,000 characters and metadata come as columns
up to 200; the name of a group is shorter.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from steelyard.errors import DataError, SourceError
from steelyard.read.logs.documents import digest, malformed, scalars, side_by_side, text_or_none
from steelyard.read.logs.inspect_files import TOOL, header_and_samples, is_called, looks_like, made, one_log
from steelyard.read.logs.inspect_words import how_it_ended, mapping, message, objects_of, told_errors, told_holes, told_results, told_run
from steelyard.read.logs.log import Choices, Log, pick

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
        raise SourceError(f"cannot measure {path!r}", got="a log without samples", need="at least one", hint="did the run end early?")
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
            raise malformed(path, f"something else as sample {place + 1}", "samples with an id and an epoch")
        key = (str(row["id"]), row["epoch"])
        if key in kept and not kept[key].get("error"):
            got = f"the sample {key[0]!r} twice in epoch {key[1]}"
            raise DataError(f"cannot tell the samples of {path!r} apart", got=got, need="each sample once per epoch")
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
        raise DataError(f"cannot use the scorer {scorer!r} of {path!r}", got=got, need="values of one shape")
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
            f"cannot use the scorer {scorer!r} of {path!r}",
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
        raise malformed(path, f"a header that promises {len(ids):,} samples in {epochs:,} epochs", f"at most {_MOST:,} in all")
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
