"""lighteval: the details of a task as Parquet, one metric; the document goes along as a hash, so that two runs pair the same ones.

OUTPUT/details/MODEL/DATE/details_TASK_DATE.parquet, where a model may have a slash of its own: a run, what lies above one, or
the output directory may be given; several models, dates or tasks in it are refused and listed.
Documents are numbered per split, so a task with several splits has a number twice; what was asked then joins the name.
Metrics that are no number per document (corpus metrics keep texts and lists there) cannot be measured item by item.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import UsageError
from steelyard_old.read.logs.documents import digest, document, malformed, scalars, side_by_side
from steelyard_old.read.logs.log import Choices, Log, pick, pick_latest
from steelyard_old.read.logs.own_number import own_mean
from steelyard_old.read.logs.parquet_rows import has_names, parquet_rows

_DETAILS = "details"
_DEPTH, _MOST = 4, 10_000  # below details: the parts of a model's name and the date; directories to look into
_COLUMNS = ("doc", "metric", "model_response")
_FIELDS = ("task_name", "gold_index", "query")
_DATE = re.compile(r"\d{4}-\d\d-\d\dT")
_FILE = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.parquet\Z")


def looks_like(path: str, head: bytes) -> bool:
    """Parquet with the three structs of lighteval, or a directory of such details, or one above it."""
    if os.path.isdir(path):
        return bool(_details(path) or _runs(path))
    return has_names(path, head, (*_COLUMNS, *_FIELDS))


def read(path: str, choices: Choices) -> Log:
    """One row per document with the score of one metric; of a directory, one task."""
    chosen: dict[str, str] = {}
    newest: list[str] = []
    if os.path.isdir(path):
        if not _details(path):
            path, chosen, newest = _one_run(path, choices)
        files = _details(path)
        task = pick("task", choices.task, list(files), path)
        path, chosen["task"] = files[task], task
    rows = parquet_rows(path, _COLUMNS)
    docs = [_struct(path, row, "doc", place) for place, row in enumerate(rows, 1)]
    tasks = list(dict.fromkeys(str(doc.get("task_name")) for doc in docs))
    if len(tasks) > 1 or (choices.task is not None and not chosen):
        chosen["task"] = pick("task", choices.task, tasks, path)
        kept = [place for place, doc in enumerate(docs) if str(doc.get("task_name")) == chosen["task"]]
        rows, docs, tasks = [rows[place] for place in kept], [docs[place] for place in kept], [chosen["task"]]
    metrics = [_struct(path, row, "metric", place) for place, row in enumerate(rows, 1)]
    score = _score(path, metrics, choices.score)
    values = [_number(each.get(score)) for each in metrics]
    made = [
        {"id": item, "score": value, "doc_hash": digest(path, _asked(doc)), **scalars("specific", doc.get("specific"))}
        for item, value, doc in zip(_ids(path, docs), values, docs, strict=True)
    ]
    missing = values.count(None)
    warnings = (f"{missing} of {len(values)} documents have no value of {score!r}",) if missing else ()
    chosen["score"] = score
    own = own_mean("lighteval", score, values, _aggregate(path, tasks[0], score))
    return Log(
        tool="lighteval",
        columns=side_by_side(made),
        name=_model(path),
        chosen=chosen,
        checks={"task": tasks[0]},
        warnings=(*newest, *warnings, *own.said),
        not_a_mean=own.not_a_mean,
    )


def _aggregate(path: str, task: str, score: str) -> Any:
    """lighteval's own number, from results/MODEL/results_DATE.json beside details/MODEL/DATE."""
    model, named = _model(path), _FILE.match(os.path.basename(path))
    if model is None or named is None:
        return None
    folder = os.path.dirname(os.path.abspath(path))
    root = folder[: folder.rindex(os.sep + _DETAILS + os.sep)]
    file = os.path.join(root, "results", *model.split("/"), f"results_{named['date']}.json")
    if not os.path.isfile(file):
        return None
    found = document(file)
    results = found.get("results") if isinstance(found, Mapping) else None
    of_task = (
        [each for name, each in results.items() if name == task or name.rpartition("|")[0] == task] if isinstance(results, dict) else []
    )
    return of_task[0].get(score) if len(of_task) == 1 and isinstance(of_task[0], Mapping) else None


def _runs(path: str) -> list[str]:
    """The directories of runs below the directory of details, or below a part of it, sorted."""
    inside = os.path.join(path, _DETAILS)
    below = inside if os.path.isdir(inside) else path if _DETAILS in os.path.abspath(path).split(os.sep) else None
    if below is None:
        return []
    depth = below.rstrip(os.sep).count(os.sep)
    found = []
    for place, (folder, folders, _) in enumerate(os.walk(below)):
        if place > _MOST:
            break
        if folder.count(os.sep) - depth >= _DEPTH:
            folders.clear()
        if _DATE.match(os.path.basename(folder)) and _details(folder):
            found.append(folder)
    return sorted(found)


def _one_run(path: str, choices: Choices) -> tuple[str, dict[str, str], list[str]]:
    """The run of the model that is meant; two dates of it are an error that lists them, unless the newest was asked for."""
    found = {folder: _model(os.path.join(folder, "details")) or "" for folder in _runs(path)}
    model = pick("model", choices.model, list(dict.fromkeys(found.values())), path)
    dated = {folder: os.path.basename(folder) for folder, each in found.items() if each == model}
    folder, said = pick_latest(dated, choices, path, model)
    return folder, {"model": model}, said


def _details(path: str) -> dict[str, str]:
    """Task -> file, in the directory of one run."""
    found = (
        (_FILE.match(os.path.basename(file)), file) for file in sorted(glob.glob(os.path.join(glob.escape(path), "details_*.parquet")))
    )
    return {name["task"]: file for name, file in found if name and os.path.isfile(file)}


def _struct(path: str, row: Mapping[str, Any], name: str, place: int) -> dict[str, Any]:
    found = row.get(name)
    if not isinstance(found, dict):
        raise malformed(path, f"row {place} has no {name!r}", "details as lighteval writes them")
    return found


def _score(path: str, metrics: Sequence[Mapping[str, Any]], asked: str | None) -> str:
    """The metric that was meant, among those that are one number per document."""
    names = dict.fromkeys(name for each in metrics for name in each)
    others = [name for name in names if any(not _is_number(each.get(name)) for each in metrics)]
    usable = [name for name in names if name not in others]
    if asked in others or not usable:
        got = f"{', '.join(map(repr, others)) or 'no metric'} without one number per document"
        raise UsageError(
            f"{path!r} cannot be measured item by item: {got}; {', '.join(usable) or 'no metric'} can.",
            got=got,
            need=f"one of {', '.join(usable) or 'none'}",
        )
    return pick("metric", asked, usable, path, option="score")


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _number(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return None  # a metric that could not be computed
    return int(value) if isinstance(value, bool) else value


def _asked(doc: Mapping[str, Any]) -> list[Any]:
    return [doc.get("query"), doc.get("choices"), doc.get("gold_index")]


def _ids(path: str, docs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The numbers of the documents, or their places if they have none; where a number comes twice, with what was asked."""
    given = [doc.get("id") for doc in docs]
    if any(item in (None, "") for item in given):
        given = [str(place) for place in range(len(docs))]
    names = [str(item) for item in given]
    if len(set(names)) == len(names):
        return names
    return [f"{name} {digest(path, _asked(doc))}" for name, doc in zip(names, docs, strict=True)]


def _model(path: str) -> str | None:
    """lighteval writes details/MODEL/DATE/details_TASK_DATE.parquet; the model's name may have a slash of its own."""
    *folders, _ = os.path.abspath(path).split(os.sep)
    if _DETAILS not in folders[:-2] or not _DATE.match(folders[-1]):
        return None
    start = len(folders) - 1 - folders[::-1].index(_DETAILS)
    return "/".join(folders[start + 1 : -1]) or None
