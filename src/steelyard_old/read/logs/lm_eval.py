"""lm-evaluation-harness (0.4.3 to 0.4.13): the samples of one task, through one filter, by one of its metrics.

A line is a document seen through a filter, so every document comes once per filter. Before 0.4.7 the filter is not written:
then the j-th line of a document is the j-th filter of the task. Documents are known by doc_id; `doc_hash` goes along, so that
two runs are only paired on the same documents. Lines of several processes come in any order, so order means nothing here.

What a metric is logged as decides what can be asked:

    a number                              score: its mean
    [gold, predicted] (f1, mcc)           truth and prediction, and the metric of the table that is the tool's own number
    [log-likelihood, words or bytes]      two sums: word_perplexity and byte_perplexity are exp of their ratio, bits_per_byte is it
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import DataError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.files.formats import check_text
from steelyard_old.read.files.jsons import once_each
from steelyard_old.read.files.paths import open_file
from steelyard_old.read.logs.lm_eval_files import TOOL, TaskGroup, damaged, filters_of, looks_like, made, of_task, samples_of
from steelyard_old.read.logs.log import Choices, Log, choice_of, pick
from steelyard_old.read.logs.own_number import OF_ITS_OWN, OwnNumber, agree, mean_of, number_or_none, own_mean, own_metric_of_labels
from steelyard_old.redaction import shortened

__all__ = ["looks_like", "made", "read"]

_FIXED = frozenset(
    ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash")
)
_PER = {"word_perplexity": "words", "byte_perplexity": "bytes", "bits_per_byte": "bytes"}
_EXP = ("perplexity", "word_perplexity", "byte_perplexity")  # what the tool prints is exp of the ratio
_ABSENT = ("N/A", "nan", "NaN", "")
_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_SCALAR = (str, int, float, bool)
_MOST = 10_000_000  # documents; results that promise more are not taken at their word
_LARGEST = 1e300  # a number beyond this is taken for infinite


@dataclass(frozen=True, slots=True)
class LoggedSample:
    """One line: a document through a filter. Prompts and raw responses are not kept."""

    line: int
    id: str
    filter: str | None
    doc: Mapping[str, Any]
    target: Any
    response: str | None
    hashes: tuple[str | None, str | None, str | None]
    metrics: Mapping[str, Any]


def read(path: str, choices: Choices) -> Log:
    """The samples of one task, one filter and one metric; several of a kind are an error that lists them."""
    source, results, newest = samples_of(path, choices)
    if isinstance(source, TaskGroup):
        return _read_group(source, results, choices, path, newest)
    task = source.task
    samples = _with_filters(_lines(source.path), filters_of(results, task), source.path)
    filters = list(dict.fromkeys(sample.filter or "" for sample in samples))
    chosen = pick("filter", choices.filter, filters, path)
    kept = [sample for sample in samples if sample.filter == chosen]
    _refuse_duplicates(kept, chosen, source.path)
    metric = pick("metric", choices.score, list(dict.fromkeys(name for one in kept for name in one.metrics)), path, option="score")
    columns, ratio = _measured(metric, kept, source.path)
    own = _own(metric, columns, ratio, results, task, chosen)
    warnings = [*newest, *own.said]
    columns = {"id": [sample.id for sample in kept], **columns, **_context(kept)}
    warnings += _edited(samples, of_task(results, "task_hashes", task), source.path)
    warnings += _fill(columns, kept, of_task(results, "n-samples", task), source.path)
    better = of_task(results, "higher_is_better", task)
    name = results.get("model_name") if results is not None else None
    return Log(
        tool=TOOL,
        columns=columns,
        name=name if isinstance(name, str) and name else None,
        ratio=ratio,
        chosen={"task": task, "filter": chosen, "score": metric} | ({} if choices.model is None else {"model": choices.model}),
        checks=_checks(samples, filters, of_task(results, "versions", task)),
        warnings=tuple(warnings),
        higher_is_better=better.get(metric) if isinstance(better, Mapping) else None,
        metric=own.metric,
        positive=own.positive,
        not_a_mean=own.not_a_mean,
    )


# ---- a group of tasks ------------------------------------------------------------------------------------------------


def _read_group(group: TaskGroup, results: Mapping[str, Any] | None, choices: Choices, path: str, newest: Sequence[str]) -> Log:
    """The samples of all tasks of a group through one filter and by one metric, each item under the name of its task."""
    read_ = {one.task: _with_filters(_lines(one.path), filters_of(results, one.task), one.path) for one in group.members}
    chosen = pick("filter", choices.filter, _shared([[one.filter or "" for one in samples] for samples in read_.values()]), path)
    kept = {task: [one for one in samples if one.filter == chosen] for task, samples in read_.items()}
    found = _shared([[name for one in samples for name in one.metrics] for samples in kept.values()])
    metric = pick("metric", choices.score, found, path, option="score")
    parts, warnings, why, hashes = [], list(newest), "", []
    for one in group.members:
        samples = kept[one.task]
        _refuse_duplicates(samples, chosen, one.path)
        columns, ratio = _measured(metric, samples, one.path)
        if "score" not in columns:
            raise DataError(
                f"{metric!r} of the group {group.task!r} is a mean of the tasks' own {metric}, not a mean over documents.",
                got=f"a mean of the tasks' own {metric}, which is no mean of items",
                need="a metric with a number per document",
                hint=choice_of("task", one.task),
            )
        own = _own(metric, columns, ratio, results, one.task, chosen)
        why = why or own.not_a_mean
        warnings += [f"{one.task}: {said}" for said in own.said]
        columns = {"id": [sample.id for sample in samples], **columns, **_context(samples)}
        warnings += _edited(read_[one.task], of_task(results, "task_hashes", one.task), one.path)
        warnings += _fill(columns, samples, of_task(results, "n-samples", one.task), one.path)
        hashes.append(_checks(read_[one.task], list(dict.fromkeys(s.filter or "" for s in read_[one.task])), None).get("task_hash", ""))
        parts.append((one.task, columns))
    alike, said, other = _weighing(group.task, metric, chosen, [columns["score"] for _, columns in parts], results)
    better = of_task(results, "higher_is_better", group.task)
    name = results.get("model_name") if results is not None else None
    return Log(
        tool=TOOL,
        columns=_stacked(parts),
        name=name if isinstance(name, str) and name else None,
        chosen={"task": group.task, "filter": chosen, "score": metric} | ({} if choices.model is None else {"model": choices.model}),
        checks={"task_hash": hashlib.sha256("".join(hashes).encode()).hexdigest()} if all(hashes) else {},
        warnings=(*warnings, *said),
        higher_is_better=better.get(metric) if isinstance(better, Mapping) else None,
        not_a_mean=why or other,
        strata="task",
        alike=alike,
    )


def _shared(lists: Sequence[Sequence[str]]) -> list[str]:
    """What all lists have, in the order of the first."""
    return [name for name in dict.fromkeys(lists[0]) if all(name in each for each in lists)]


def _stacked(parts: Sequence[tuple[str, Mapping[str, Sequence[Any]]]]) -> dict[str, list[Any]]:
    """The columns of all tasks one below the other; ids are unique by the name of their task, which is a column too."""
    names = dict.fromkeys(name for _, columns in parts for name in columns)
    out: dict[str, list[Any]] = {name: [] for name in (*names, "task")}
    for task, columns in parts:
        rows = len(columns["id"])
        for name in names:
            out[name] += [f"{task}/{each}" for each in columns["id"]] if name == "id" else list(columns.get(name, [None] * rows))
        out["task"] += [task] * rows
    if "doc_hash" in out and None in out["doc_hash"]:
        del out["doc_hash"]
    return out


def _weighing(
    group: str, metric: str, chosen: str, scores: Sequence[Sequence[Any]], results: Mapping[str, Any] | None
) -> tuple[bool, list[str], str]:
    """Whether the tasks of a group count alike or by their size, which the log tells only by its number; or why neither gives it."""
    averages = of_task(results, "results", group)
    told = number_or_none(averages.get(f"{metric},{chosen}")) if isinstance(averages, Mapping) else None
    by_size = mean_of(score for each in scores for score in each)
    alike = mean_of(mean_of(each) for each in scores)
    if told is None:
        return False, [f"the log has no {metric} of the group {group}: its tasks are weighted by their size"], ""
    if by_size is not None and agree(by_size, told):
        return False, [f"group {group}: {len(scores)} tasks, weighted by their size"], ""
    if alike is not None and agree(alike, told):
        return True, [f"group {group}: {len(scores)} tasks, each counts alike"], ""
    both = ", ".join(f"{value:.6g} {how}" for value, how in ((by_size, "by size"), (alike, "alike")) if value is not None)
    return False, [], f"{TOOL} gives {told:.6g} as {metric!r} of the group {group}, and its tasks give {both}"


# ---- lines -----------------------------------------------------------------------------------------------------------


def _lines(path: str) -> list[LoggedSample]:
    file = open_file(path)
    check_text(file.plain, file.shown)
    decoder = json.JSONDecoder(object_pairs_hook=once_each, parse_constant=_constant)
    found: list[LoggedSample] = []
    with open(file.plain, "rb") as stream:
        for number, raw in enumerate(stream, 1):  # a binary file ends lines at LF, never at U+2028
            if not raw.strip():
                continue
            try:
                row = decoder.decode(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                cut = not raw.endswith(b"\n")
                got = f"the last line ({number}) is cut off" if cut else f"line {number}: {error}"
                raise damaged(path, got, "whole lines of JSON", "did the run or the copy end early?" if cut else "") from None
            found.append(_sample(row, number, path))
    file.check_unchanged()
    if not found:
        raise damaged(path, "it is empty", "at least one document")
    return found


def _constant(text: str) -> float | None:
    """The tool writes NaN where a metric says nothing about a document: nothing is None."""
    return None if text == "NaN" else float(text)


def _sample(row: Any, line: int, path: str) -> LoggedSample:
    if not isinstance(row, dict) or type(row.get("doc_id")) not in (int, str):
        raise damaged(path, f"line {line} has no doc_id", "a doc_id in every line")
    names = row.get("metrics")
    if not isinstance(names, list):
        names = [name for name in row if name not in _FIXED]
    if not all(isinstance(name, str) for name in names):
        raise damaged(path, f"the metrics of line {line} are not a list of names", "a list of names")
    doc, answers, way = row.get("doc"), row.get("filtered_resps"), row.get("filter")
    hashes = [value if isinstance(value := row.get(key), str) else None for key in _HASHES]
    answer = answers[0] if isinstance(answers, list) and len(answers) == 1 else None
    return LoggedSample(
        line=line,
        id=str(row["doc_id"]),
        filter=None if way is None else str(way),
        doc=doc if isinstance(doc, dict) else {},
        target=row["target"] if isinstance(row.get("target"), _SCALAR) else None,
        response=answer if isinstance(answer, str) else None,
        hashes=(hashes[0], hashes[1], hashes[2]),
        metrics={name: row.get(name) for name in names},
    )


def _with_filters(samples: Sequence[LoggedSample], declared: Sequence[str], path: str) -> list[LoggedSample]:
    """Samples that all know their filter: written in the line, or the how-many-eth line of its document it is."""
    written = sum(sample.filter is not None for sample in samples)
    if written == len(samples):
        return list(samples)
    if written:
        raise damaged(path, f"{written} of {len(samples)} lines name a filter, the others do not", "a filter in every line or in none")
    seen: dict[str, int] = {}
    places = []
    for sample in samples:
        places.append(seen.get(sample.id, 0))
        seen[sample.id] = places[-1] + 1
    passes = max(places) + 1
    if declared and passes > len(declared):
        twice = next(sample for sample, place in zip(samples, places, strict=True) if place == len(declared))
        raise damaged(
            path,
            f"doc_id {twice.id} is there {seen[twice.id]} times, again in line {twice.line}, for {len(declared)} filters",
            f"each document once per filter ({', '.join(declared)})",
            "two runs appended to one file? keep one of them",
        )
    names = declared or (["none"] if passes == 1 else [f"pass {place + 1}" for place in range(passes)])
    return [
        LoggedSample(s.line, s.id, names[place], s.doc, s.target, s.response, s.hashes, s.metrics)
        for s, place in zip(samples, places, strict=True)
    ]


def _refuse_duplicates(samples: Sequence[LoggedSample], chosen: str, path: str) -> None:
    first: dict[str, LoggedSample] = {}
    again = [sample for sample in samples if first.setdefault(sample.id, sample) is not sample]
    if not again:
        return
    other = any(sample.hashes[0] != first[sample.id].hashes[0] for sample in again)
    raise damaged(
        path,
        f"{len(again)} documents are there twice with the filter {chosen!r}, such as doc_id {again[0].id} in lines "
        f"{first[again[0].id].line} and {again[0].line}",
        "each document once per filter",
        "their contents differ: the file mixes two tasks" if other else "two runs appended to one file? keep one of them",
    )


# ---- columns ---------------------------------------------------------------------------------------------------------


def _measured(metric: str, samples: Sequence[LoggedSample], path: str) -> tuple[dict[str, list[Any]], tuple[str, str] | None]:
    """The columns that a metric is logged as, and the ratio if it is one."""
    values = [None if (value := sample.metrics.get(metric)) in _ABSENT else value for sample in samples]
    present = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) for value in present):
        _refuse_infinite(metric, samples, [[value] for value in values], path)
        if metric == "perplexity":
            return _per(metric, values, [None if value is None else 1 for value in values], "documents")
        return {"score": [None if value is None else float(value) for value in values]}, None
    if all(isinstance(value, list) and len(value) == 2 for value in present):
        left, right = ([None if value is None else value[side] for value in values] for side in (0, 1))
        if metric in _PER and all(type(part) in (int, float) for value in present for part in value):
            _refuse_infinite(metric, samples, [value or () for value in values], path)
            return _per(metric, left, right, _PER[metric])
        if all(type(part) in (int, bool) or part is None for value in present for part in value):
            labels = ([None if part is None else int(part) for part in side] for side in (left, right))
            return dict(zip(("truth", "prediction"), labels, strict=True)), None
    numbers = sorted({name for sample in samples for name, value in sample.metrics.items() if isinstance(value, (int, float))})
    raise DataError(
        f"The metric {metric!r} of {path!r} must be a number, a pair of labels, or a log-likelihood with "
        f"its words or bytes; a document has {_shown(present)}.",
        got=f"{_shown(present)} for a document",
        need="a number, a pair of labels, or a log-likelihood with its words or bytes",
        hint=f"metrics with a number per document: {', '.join(numbers)}" if numbers else "",
    )


def _per(metric: str, loglik: Sequence[Any], size: Sequence[Any], below: str) -> tuple[dict[str, list[Any]], tuple[str, str]]:
    """Minus log-likelihood over words, bytes or documents: the ratio whose exp is the perplexity. In bits, it is bits_per_byte itself."""
    bits = metric == "bits_per_byte"
    above, unit = ("bits", math.log(2)) if bits else ("minus_loglik", 1.0)
    return {above: [None if value is None else -value / unit for value in loglik], below: list(size)}, (above, below)


def _refuse_infinite(metric: str, samples: Sequence[LoggedSample], values: Sequence[Sequence[Any]], path: str) -> None:
    """Numbers that are no float64, or so large that they cannot be added up."""
    wild = [s for s, parts in zip(samples, values, strict=True) if any(part is not None and abs(part) > _LARGEST for part in parts)]
    if wild:
        raise DataError(
            f"The metric {metric!r} of {path!r} has {len(wild)} infinite values, such as that of doc_id {wild[0].id}.",
            got=f"{len(wild)} infinite values, such as that of doc_id {wild[0].id}",
            need="finite numbers",
        )


def _shown(present: Sequence[Any]) -> str:
    text = repr(next((value for value in present if not isinstance(value, (int, float))), present[0]))
    return shortened(text, 60)


def _context(samples: Sequence[LoggedSample]) -> dict[str, list[Any]]:
    """What goes along: the hash of the document, target and answer, and the flat fields of the document as doc.NAME."""
    columns: dict[str, list[Any]] = {}
    if all(sample.hashes[0] is not None for sample in samples):
        columns["doc_hash"] = [sample.hashes[0] for sample in samples]
    columns["target"] = [sample.target for sample in samples]
    columns["response"] = [sample.response for sample in samples]
    fields = dict.fromkeys(name for sample in samples for name, value in sample.doc.items() if isinstance(value, _SCALAR))
    for name in fields:
        values = [sample.doc.get(name) for sample in samples]
        columns[f"doc.{name}"] = [value if isinstance(value, _SCALAR) else None for value in values]
    return columns


def _fill(columns: dict[str, list[Any]], samples: Sequence[LoggedSample], counted: Any, path: str) -> list[str]:
    """Documents that the run had and the file lacks become items without an answer, so that --missing decides about them."""
    effective = counted.get("effective") if isinstance(counted, Mapping) else None
    if type(effective) is not int or effective <= len(samples):
        return []
    if effective > _MOST:
        raise damaged(path, f"its results announce {_shown([effective])} documents, more than {_MOST:,}", f"at most {_MOST:,}")
    ids = {sample.id for sample in samples}
    absent = [each for place in range(effective) if (each := str(place)) not in ids]
    said = f"{effective - len(samples)} of the run's {effective} documents are not in {path!r}"
    if len(absent) != effective - len(samples):
        return [f"{said}, and their ids cannot be told: they are left out"]
    for name, column in columns.items():
        column.extend(absent if name == "id" else [None] * len(absent))
    return [f"{said}, such as doc_id {absent[0]}: they count as items without an answer"]


# ---- what the tool says itself -----------------------------------------------------------------------------------------


def _checks(samples: Sequence[LoggedSample], filters: Sequence[str], version: Any) -> dict[str, str]:
    """The tool's own hash of the task (documents, prompts, targets), in the order of one process however many there were."""
    place = {name: i for i, name in enumerate(filters)}
    ordered = sorted(samples, key=lambda s: (place[s.filter or ""], len(s.id), s.id))
    found = {} if (hashed := _task_hash(ordered)) is None else {"task_hash": hashed}
    return found if version is None else {**found, "task_version": str(version)}


def _task_hash(samples: Sequence[LoggedSample]) -> str | None:
    parts = [part for sample in samples for part in sample.hashes]
    if None in parts:
        return None
    return hashlib.sha256("".join(part or "" for part in parts).encode(errors="surrogatepass")).hexdigest()


def _edited(samples: Sequence[LoggedSample], hashed: Any, path: str) -> list[str]:
    if not isinstance(hashed, str) or _task_hash(samples) in (None, hashed):
        return []
    return [f"{path!r} is not as the run wrote it: its task hash is not the one in the results file"]


def _own(
    metric: str,
    columns: Mapping[str, Sequence[Any]],
    ratio: tuple[str, str] | None,
    results: Mapping[str, Any] | None,
    task: str,
    chosen: str,
) -> OwnNumber:
    averages = of_task(results, "results", task)
    theirs = averages.get(f"{metric},{chosen}") if isinstance(averages, Mapping) else None
    if "truth" in columns:
        return own_metric_of_labels(TOOL, metric, columns["truth"], columns["prediction"], theirs)
    if ratio is not None:
        name = "perplexity" if metric in _EXP else "ratio"
        return OwnNumber(metric=name, said=_other_quotient(metric, columns, ratio, theirs))
    return own_mean(TOOL, metric, columns["score"], theirs, _aggregation(results, task, metric))


def _aggregation(results: Mapping[str, Any] | None, task: str, metric: str) -> str | None:
    """How the task says that a metric is put together; None where it leaves that to the tool or to code of its own."""
    config = of_task(results, "configs", task)
    listed = config.get("metric_list") if isinstance(config, Mapping) else None
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, Mapping) and one.get("metric") == metric and isinstance(one.get("aggregation"), str):
            told = one["aggregation"].strip()
            return told if re.fullmatch(r"[\w.+]+", told) else OF_ITS_OWN
    return None


def _other_quotient(metric: str, columns: Mapping[str, Sequence[Any]], ratio: tuple[str, str], theirs: Any) -> list[str]:
    """Said where the items of a perplexity do not give the tool's number."""
    told = number_or_none(theirs)
    above, below = (math.fsum(value for value in columns[part] if value is not None) for part in ratio)
    if told is None or not below:
        return []
    ours = math.exp(min(above / below, 700.0)) if metric in _EXP else above / below
    if agree(ours, told):
        return []
    return [f"{TOOL} reports {told:.6g} as {metric!r}, but the items in its log give {ours:.6g}"]
