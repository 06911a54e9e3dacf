"""Where lm-evaluation-harness puts things: samples of a task and a date, the results beside them, a directory per model.

OUTPUT/MODEL/results_DATE.json          averages, settings, hashes of one run (or NAME_DATE.json, with --output_path NAME.json)
OUTPUT/MODEL/samples_TASK_DATE.jsonl    one line per document and filter, with --log_samples
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.files.formats import check_text
from steelyard_old.read.files.paths import open_file
from steelyard_old.read.logs.log import Choices, pick, pick_latest

TOOL = "lm-evaluation-harness"
_DATE = r"(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)"
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_{_DATE}\.jsonl(?:\.gz|\.zst)?\Z")
_RESULTS = re.compile(rf".+_{_DATE}\.json\Z")
_SAMPLE_KEYS = (b'"doc_id"', b'"filtered_resps"', b'"doc"')
_RESULTS_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"results"\s*:\s*\{')
_RESULT_KEYS = (b'"configs"', b'"n-shot"')
_LINE = 1 << 24  # the first line of samples holds a prompt per choice, not a book
_MODELS = 1000  # directories to look into before saying that this is something else


@dataclass(frozen=True, slots=True)
class Samples:
    """One file of samples. task and date are empty if its name does not tell."""

    path: str
    task: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """The samples of every task of a group."""

    task: str
    members: Sequence[Samples]


def looks_like(path: str, head: bytes) -> bool:
    """Samples by the keys of their first line, results by name and keys, directories by the names in them."""
    if os.path.isdir(path):
        return _holds_run(path) or bool(_models(path))
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] != b"{":
        return False
    if b'"doc_id"' in text:
        with open(path, "rb") as stream:
            line = stream.readline(_LINE)
        return all(key in line for key in _SAMPLE_KEYS)
    return _RESULTS.match(os.path.basename(path)) is not None and _are_results(path)


def samples_of(path: str, choices: Choices) -> tuple[Samples | TaskGroup, dict[str, Any] | None, list[str]]:
    """The one file of samples that is meant, or those of a group; the results of the run, if there are any; what was picked unnamed."""
    folder, found = _offered(path, choices)
    if not found:
        raise SourceError(
            f"{path!r} has results of {TOOL} but no samples: averages without items.",
            got="results without samples: averages, no items",
            need="samples_TASK_DATE.jsonl",
            hint="run lm_eval with --log_samples",
        )
    tasks = sorted({one.task for one in found})
    groups = {} if choices.task in tasks or found == [Samples(path, tasks[0], found[0].date)] else _groups(folder, found)
    task = pick("task", choices.task, [*(name for name in groups if name not in tasks), *tasks], path)
    if task not in tasks:
        date, said = pick_latest({date: date for date in groups[task]}, choices, path, task)
        results = _results_of(folder, Samples("", date=date))
        _check_model(choices, results, folder, path)
        return TaskGroup(task, _members(task, groups[task][date], [one for one in found if one.date == date], path)), results, said
    dated = {one.path: one for one in found if one.task == task}
    chosen, said = pick_latest({each: one.date for each, one in dated.items()}, choices, path, task)
    results = _results_of(folder, dated[chosen])
    _check_model(choices, results, folder, path)
    return dated[chosen], results, said


def _groups(folder: str, found: Sequence[Samples]) -> dict[str, dict[str, list[str]]]:
    """Group -> date of a run -> the tasks in it, however deep, as the results of the run tell."""
    out: dict[str, dict[str, list[str]]] = {}
    for date in sorted({one.date for one in found if one.date}):
        results = _results_of(folder, Samples("", date=date))
        told = results.get("group_subtasks") if results is not None else None
        inside = (
            {name: [str(each) for each in below] for name, below in told.items() if isinstance(below, list)}
            if isinstance(told, dict)
            else {}
        )
        for name in inside:
            out.setdefault(name, {})[date] = _leaves(name, inside)
    return {name: dates for name, dates in out.items() if all(dates.values())}


def _leaves(name: str, inside: Mapping[str, Sequence[str]]) -> list[str]:
    """The tasks below a group, each once; a group inside itself ends."""
    seen, waiting, found = {name}, list(inside[name]), []
    while waiting:
        each = waiting.pop(0)
        if each in seen:
            continue
        seen.add(each)
        if each in inside:
            waiting = [*inside[each], *waiting]
        else:
            found.append(each)
    return found


def _members(group: str, tasks: Sequence[str], found: Sequence[Samples], path: str) -> list[Samples]:
    there = {one.task: one for one in found}
    absent = [task for task in tasks if task not in there]
    if absent:
        raise SourceError(
            f"The group {group!r} of {path!r} has no samples for {len(absent)} of its {len(tasks)} tasks, such as {absent[0]!r}.",
            got=f"no samples of {len(absent)} of its {len(tasks)} tasks, such as {absent[0]!r}",
            need="the samples of every task",
            hint="run lm_eval with --log_samples",
        )
    return [there[task] for task in tasks]


def _offered(path: str, choices: Choices) -> tuple[str, list[Samples]]:
    """The folder of the run, and the samples in it that the path allows."""
    if os.path.isdir(path):
        folder = path if _holds_run(path) else _one_model(path, choices)
        return folder, _samples_in(folder)
    folder, base = os.path.split(path)
    named = _SAMPLES.match(base)
    if named:
        return folder, [Samples(path, named["task"], named["date"])]
    results = _RESULTS.match(base)
    if results and base.endswith(".json"):
        return folder, [one for one in _samples_in(folder) if one.date == results["date"]]
    return folder, [Samples(path, re.split(r"\.(?=[A-Za-z])", base)[0])]


def _one_model(path: str, choices: Choices) -> str:
    return os.path.join(path, pick("model", choices.model, _models(path), path))


def _check_model(choices: Choices, results: Mapping[str, Any] | None, folder: str, path: str) -> None:
    """A model that was asked for is the one of the run: by its name, or by that of its directory."""
    if choices.model is None:
        return
    told = [results.get(key) for key in ("model_name", "model_name_sanitized")] if results is not None else []
    names = list(
        dict.fromkeys(name for name in (*told, os.path.basename(os.path.abspath(folder or "."))) if isinstance(name, str) and name)
    )
    pick("model", choices.model, names, path)


def _models(path: str) -> list[str]:
    """The directories that hold a run, in a directory that holds none itself."""
    with os.scandir(path) as entries:
        inside = (entry.path for entry in entries if os.path.isdir(entry.path))  # entry.is_dir() fails on a link to itself
        folders = [folder for folder, _ in zip(inside, range(_MODELS), strict=False)]
    return sorted(os.path.basename(folder) for folder in folders if _holds_run(folder))


def _holds_run(folder: str) -> bool:
    """Samples by their names; results also by their keys, since lighteval names its own alike."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    if any(_SAMPLES.match(name) and os.path.isfile(os.path.join(folder, name)) for name in names):
        return True
    return any(_RESULTS.match(name) and name.startswith("results_") and _are_results(os.path.join(folder, name)) for name in names)


def _are_results(path: str) -> bool:
    """Whether a file begins as results do and has keys that no other tool's results have."""
    if not os.path.isfile(path):  # to open a pipe would be to wait for ever
        return False
    try:
        with open(path, "rb") as stream:
            whole = stream.read()
    except OSError:
        return False
    return _RESULTS_START.match(whole) is not None and all(key in whole for key in _RESULT_KEYS)


def _samples_in(folder: str) -> list[Samples]:
    found = [(name, _SAMPLES.match(name)) for name in sorted(os.listdir(folder or "."))]
    samples = [Samples(os.path.join(folder, name), named["task"], named["date"]) for name, named in found if named]
    return [one for one in samples if os.path.isfile(one.path)]


def _results_of(folder: str, samples: Samples) -> dict[str, Any] | None:
    """The results with the date of the samples. Without a date, nothing beside a file is known to belong to it."""
    beside = [
        os.path.join(folder, name)
        for name in sorted(os.listdir(folder or "."))
        if (dated := _RESULTS.match(name)) and dated["date"] == samples.date
    ]
    return _results(beside[0]) if len(beside) == 1 else None


def _results(path: str) -> dict[str, Any]:
    file = open_file(path)
    check_text(file.plain, file.shown)
    with open(file.plain, encoding="utf-8-sig") as stream:
        text = stream.read()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error), "the whole file that the run wrote") from None
    file.check_unchanged()
    if not isinstance(found, dict) or not isinstance(found.get("results"), dict):
        raise damaged(path, "it has no results", "the whole file that the run wrote")
    return found


def made(path: str) -> str | None:
    """When the run was made, by the name of its file."""
    named = _SAMPLES.match(os.path.basename(path)) or _RESULTS.match(os.path.basename(path))
    return named["date"] if named else None


def damaged(path: str, got: str, need: str, hint: str = "") -> SourceError:
    """A file that looks like the tool's, and is not whole."""
    return SourceError(f"Cannot read {path!r} as a log of {TOOL}: {got}.", got=got, need=need, hint=hint)


def of_task(results: Mapping[str, Any] | None, key: str, task: str) -> Any:
    """What a results file says about a task under a key, or None."""
    found = results.get(key) if results is not None else None
    return found.get(task) if isinstance(found, Mapping) else None


def filters_of(results: Mapping[str, Any] | None, task: str) -> Sequence[str]:
    """The filters of a task in the order in which they were applied; none known without results."""
    config = of_task(results, "configs", task)
    if not isinstance(config, Mapping):
        return ()
    listed = config.get("filter_list")
    if not isinstance(listed, list):
        return ("none",)
    return [str(one.get("name", "none")) for one in listed if isinstance(one, Mapping)]
