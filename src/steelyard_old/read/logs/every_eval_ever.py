"""Every Eval Ever 0.3: the instance file of an evaluation, one model, one evaluation, one result; an aggregate alone has no items.

The aggregate `X.json` and its items `X_samples.jsonl` belong together: given the first, the second is read; given the
second, the first tells whether lower is better and which score means unknown. `sample_hash` goes along as the hash of the
document, so that two runs pair the same samples.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.read.files.paths import open_file
from steelyard_old.read.logs.documents import document, malformed, objects, occurrences, scalars, side_by_side, text_or_none
from steelyard_old.read.logs.log import Choices, Log, pick
from steelyard_old.read.logs.own_number import OwnNumber, agree, mean_of, number_or_none, own_mean

TOOL = "Every Eval Ever"
_START = re.compile(rb'\s*\{\s*"')
_ALWAYS = (b'"schema_version"', b'"evaluation_id"')
_INSTANCE = (b'"sample_id"', b'"interaction_type"', b'"evaluation_name"')
_AGGREGATE = (b'"retrieved_timestamp"', b'"source_metadata"')
_SAMPLES = "_samples.jsonl"
_FIELDS = ("score", "is_correct")
_UNKNOWN = -1  # the score of the level "unknown", where a metric has one


def looks_like(path: str, head: bytes) -> bool:
    """Objects of the instance schema, or one of the aggregate schema."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    if not _START.match(head) or not all(key in head for key in _ALWAYS):
        return False
    first = head.partition(b"\n")[0]
    return all(key in first for key in _INSTANCE) or all(key in head for key in _AGGREGATE)


def read(path: str, choices: Choices) -> Log:
    """One row per sample and attempt of one model, one evaluation and one result."""
    path, rows, aggregate = _found(path)
    said = _changed(path, aggregate)
    model = pick("model", choices.model, list(dict.fromkeys(str(row["model_id"]) for row in rows)), path)
    rows = [row for row in rows if row["model_id"] == model]
    rows, task, result, field = _chosen(path, rows, choices)
    config = _config(aggregate, task, result)
    values = [_value(row, field, config) for row in rows]
    ids = [str(row["sample_id"]) for row in rows]
    made = [
        {"id": item, "score": value, **scalars("metadata", row.get("metadata"))} for item, value, row in zip(ids, values, rows, strict=True)
    ]
    columns = side_by_side(made)
    hashes = _hashes(path, rows)
    if hashes is not None:
        columns["doc_hash"] = hashes
    repeats = _repeats(ids, rows)
    if repeats is not None:
        columns["repeat"] = repeats
    lower = config.get("lower_is_better")
    own = _own(_entry(aggregate, task, result), columns, result or task) if field == "score" else OwnNumber()
    return Log(
        tool=TOOL,
        columns=columns,
        name=model,
        chosen={"model": model, "task": task, "score": f"{result} {field}".strip() if field != "score" else result or field},
        checks={"evaluation": task},
        warnings=(*said, *own.said, *_missing(rows, values)),
        not_a_mean=own.not_a_mean,
        higher_is_better=not lower if isinstance(lower, bool) and field == "score" else None,
    )


def made(path: str) -> str | None:
    """When the evaluation was made, as its aggregate says; else when it was put on record."""
    beside = path if _is_aggregate(path) else _beside(path, _SAMPLES, ".json")
    aggregate = document(beside) if beside is not None else None
    for key in ("evaluation_timestamp", "retrieved_timestamp"):
        told = aggregate.get(key) if isinstance(aggregate, dict) else None
        with contextlib.suppress(TypeError, ValueError, OverflowError, OSError):
            return datetime.datetime.fromtimestamp(float(told or ""), datetime.UTC).isoformat()
    return None


# ---- the two files ---------------------------------------------------------------------------------------------------


def _found(path: str) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """The instance file, its rows, and the aggregate beside it, if there is one."""
    if _is_aggregate(path):
        aggregate = document(path)
        beside = _beside(path, ".json", _SAMPLES)
        if beside is None:
            raise _no_items(path, aggregate)
        path = beside
    else:
        beside = _beside(path, _SAMPLES, ".json")
        aggregate = document(beside) if beside is not None else {}
    rows = [_checked(path, number, row) for number, row in objects(path)]
    if not rows:
        raise SourceError(f"No items in {path!r}.", got="no items", need="at least one row")
    aggregate = aggregate if isinstance(aggregate, dict) else {}
    details = aggregate.get("detailed_evaluation_results")
    declared = details.get("total_rows") if isinstance(details, dict) else None
    if isinstance(declared, int) and declared != len(rows):
        raise malformed(
            path,
            f"{len(rows)} rows, but its aggregate declares {declared}",
            f"the {declared} rows that its aggregate declares",
            "copy both files again",
        )
    _refuse_strangers(path, rows, aggregate)
    return path, rows, aggregate


def _refuse_strangers(path: str, rows: Sequence[Mapping[str, Any]], aggregate: Mapping[str, Any]) -> None:
    """Items of a result that the aggregate does not have would otherwise be left out without a word."""
    results = aggregate.get("evaluation_results")
    known = [each.get("evaluation_result_id") for each in results if isinstance(each, dict)] if isinstance(results, list) else []
    if not known or not all(isinstance(name, str) for name in known):
        return  # the schema asks for no ids
    strange = [name for name in dict.fromkeys(map(_result, rows)) if name not in known]
    if strange:
        listed = ", ".join(sorted(map(str, known))[:8])
        got = f"items of the result {strange[0]!r}, which its aggregate does not have (it has {listed})"
        raise malformed(path, got, f"results of its aggregate: {listed}", "copy both files again")


def _changed(path: str, aggregate: Mapping[str, Any]) -> list[str]:
    """Said where the items are not those whose checksum the aggregate holds."""
    details = aggregate.get("detailed_evaluation_results")
    if not isinstance(details, dict) or details.get("hash_algorithm") != "sha256" or not isinstance(details.get("checksum"), str):
        return []
    file = open_file(path)  # held until it is read: an unpacked copy goes with it
    with open(file.plain, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    return [] if found == details["checksum"] else [f"{path!r} is not as it was written: its checksum is not the one in the aggregate"]


def _beside(path: str, ending: str, other: str) -> str | None:
    """The file of the other kind with the same name, packed or not."""
    plain = path.removesuffix(".gz").removesuffix(".zst")
    if not plain.endswith(ending):
        return None
    names = [plain.removesuffix(ending) + other + packed for packed in ("", ".gz", ".zst")]
    return next((name for name in names if os.path.isfile(name)), None)


def _is_aggregate(path: str) -> bool:
    if path.lower().endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")):
        return False
    try:
        found = document(path)
    except SourceError as error:
        if "Extra data" in str(error):
            return False  # JSON Lines under another name
        raise
    return isinstance(found, dict) and "sample_id" not in found


def _no_items(path: str, aggregate: Any) -> SourceError:
    results = aggregate.get("evaluation_results") if isinstance(aggregate, dict) else None
    held = []
    for each in results if isinstance(results, list) else []:
        details = each.get("score_details") if isinstance(each, dict) else None
        score = details.get("score") if isinstance(details, dict) else None
        held.append(f"{each.get('evaluation_result_id') or each.get('evaluation_name')} {score}" if isinstance(each, dict) else "?")
    listed = ", ".join(held[:8]) + (f" and {len(held) - 8} more" if len(held) > 8 else "")
    return SourceError(
        f"{path!r} is an aggregate of {TOOL} without its items ({len(held)} results: {listed}).",
        got=f"an aggregate of {TOOL} without its items, {len(held)} results: {listed}",
        need=f"the instance file {os.path.basename(path).partition('.')[0]}{_SAMPLES} beside it",
        hint=f"put the instance file {os.path.basename(path).partition('.')[0]}{_SAMPLES} beside it; a bare number can be checked "
        "with sy.check(value=...)",
    )


def _checked(path: str, number: int, row: dict[str, Any]) -> dict[str, Any]:
    given = row.get("evaluation")
    wrong = next((key for key in ("sample_id", "model_id", "evaluation_name") if not isinstance(row.get(key), str)), None)
    if wrong is not None or not isinstance(given, dict) or not any(key in given for key in _FIELDS):
        got = f"line {number} has no {wrong or 'evaluation.score'} (schema {row.get('schema_version')!r}; {TOOL} 0.3 is read)"
        raise malformed(path, got, f"the instance schema of {TOOL} 0.3")
    return row


# ---- choices ---------------------------------------------------------------------------------------------------------


def _chosen(path: str, rows: list[dict[str, Any]], choices: Choices) -> tuple[list[dict[str, Any]], str, str, str]:
    """The rows of one evaluation and one result, what these are called, and the field that is the score."""
    asked, field = choices.score, "score"
    results = dict.fromkeys(_result(row) for row in rows)
    if asked in _FIELDS and asked not in results:
        field, asked = asked, None
    if asked is not None:
        result = pick("result", asked, [name for name in results if name], path, option="score")
        rows = [row for row in rows if _result(row) == result]
    task = pick("task", choices.task, list(dict.fromkeys(str(row["evaluation_name"]) for row in rows)), path)
    rows = [row for row in rows if row["evaluation_name"] == task]
    results = dict.fromkeys(_result(row) for row in rows)
    named_first = sorted(results, key=lambda name: not name)  # a result without an id cannot be asked for
    result = pick("result", None, named_first, path, option="score") if len(results) > 1 else next(iter(results))
    return rows, task, result, field


def _result(row: Mapping[str, Any]) -> str:
    return text_or_none(row.get("evaluation_result_id")) or ""


def _entry(aggregate: Mapping[str, Any], task: str, result: str) -> Mapping[str, Any]:
    """The chosen result in the aggregate."""
    results = aggregate.get("evaluation_results")
    for each in results if isinstance(results, list) else []:
        if isinstance(each, dict) and each.get("evaluation_name") == task and each.get("evaluation_result_id") in (None, result):
            return each
    return {}


def _config(aggregate: Mapping[str, Any], task: str, result: str) -> Mapping[str, Any]:
    """The metric of the chosen result, as the aggregate describes it."""
    config = _entry(aggregate, task, result).get("metric_config")
    return config if isinstance(config, dict) else {}


def _own(entry: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], name: str) -> OwnNumber:
    """Whether the mean over the samples of the mean over their attempts is the score of the aggregate, in its unit."""
    details = entry.get("score_details")
    theirs = number_or_none(details.get("score")) if isinstance(details, dict) else None
    by_id: dict[str, list[Any]] = {}
    for item, score in zip(columns["id"], columns["score"], strict=True):
        by_id.setdefault(item, []).append(score)
    means = [mean_of(scores) for scores in by_id.values()]
    ours = mean_of(means)
    config = entry.get("metric_config")
    percent = isinstance(config, dict) and config.get("metric_unit") in ("percent", "percentage")
    if percent and theirs is not None and ours is not None and agree(100 * ours, theirs):
        return OwnNumber()
    return own_mean(TOOL, name, means, theirs)


# ---- values ----------------------------------------------------------------------------------------------------------


def _value(row: Mapping[str, Any], field: str, config: Mapping[str, Any]) -> Any:
    """The score; none where an error is noted or the level is unknown, for the schema has a number there in any case."""
    value = row["evaluation"].get(field)
    if row.get("error") is not None or (config.get("has_unknown_level") is True and field == "score" and value == _UNKNOWN):
        return None
    return int(value) if isinstance(value, bool) else value


def _hashes(path: str, rows: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """The hashes, if every row has one. One id with two hashes is two samples under one name."""
    found: dict[str, Any] = {}
    for row in rows:
        given = row.get("sample_hash")
        if given is not None and found.setdefault(row["sample_id"], given) != given:
            raise malformed(path, f"the sample {row['sample_id']!r} has two hashes", "one content per sample_id", "rename one of them")
    hashes = [row.get("sample_hash") for row in rows]
    return [str(each) for each in hashes] if all(hashes) else None


def _repeats(ids: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    """Attempts at one sample: by the epoch that Inspect leaves in the metadata, else in the order of the file."""
    places = occurrences(ids)
    if places is None:
        return None
    epochs = [row["metadata"].get("epoch") if isinstance(row.get("metadata"), dict) else None for row in rows]
    named = all(isinstance(epoch, str) for epoch in epochs) and len(set(zip(ids, epochs, strict=True))) == len(ids)
    return epochs if named else places


def _missing(rows: Sequence[Mapping[str, Any]], values: Sequence[Any]) -> list[str]:
    errored = [row for row in rows if row.get("error") is not None]
    said = [f"{len(errored)} of {len(rows)} samples errored, such as: {str(errored[0]['error'])[:80]}"] if errored else []
    unknown = values.count(None) - len(errored)
    return [*said, f"{unknown} of {len(rows)} samples have no score"] if unknown > 0 else said
