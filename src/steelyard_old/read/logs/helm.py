"""HELM: `per_instance_stats.json` of a run, one metric of one split; trials are repeats, perturbed copies stay with their instance.

HELM writes one entry per instance, perturbation, trial and metric class, so an instance comes as often as it has metric
classes; entries of one key are put together here. The model and the scenario are in `run_spec.json` beside it. A suite is a
directory of runs, one per scenario with its settings (the task) and model: one of them is chosen, never several at once.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from steelyard_old.errors import AmbiguityError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.read.logs.documents import digest, document, listed_in, malformed, text_or_none
from steelyard_old.read.logs.log import Choices, Log, choice_of, pick
from steelyard_old.read.logs.own_number import own_mean

FILE, SPEC, STATS = "per_instance_stats.json", "run_spec.json", "stats.json"
_START = re.compile(rb'\s*\[\s*\{\s*"instance_id"\s*:')
_KEYS = (rb'"train_trial_index"\s*:\s*\d', rb'"stats"\s*:\s*\[')
_OF_MODEL = ("model=", "model_deployment=")  # settings in the name of a run that say who answers, not what is asked
_RUNS = 10_000  # directories to look into before saying that this is something else


def looks_like(path: str, head: bytes) -> bool:
    """A list of entries with instance, trial and stats; or the directory of a run that has that file; or one of such directories."""
    if os.path.isdir(path):
        return _is_run(path) or bool(_runs(path))
    return bool(_START.match(head.removeprefix(b"\xef\xbb\xbf"))) and all(re.search(key, head) for key in _KEYS)


def read(path: str, choices: Choices) -> Log:
    """The items of a run: one row per instance, perturbation and trial, with the mean of the chosen metric as score."""
    picked: dict[str, str] = {}
    if os.path.isdir(path) and not _is_run(path):
        path, picked = _one_run(path, choices)
    path = os.path.join(path, FILE) if os.path.isdir(path) else path
    items = _items(path)
    metric, split = _chosen(path, items, choices.score)
    kept = [item for item in items if split is None or not item.splits or split in item.splits]
    rows = [item.row(metric, split) for item in kept]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    warnings = []
    perturbed = sum(item.perturbation is not None for item in kept)
    if perturbed:
        warnings.append(
            f"{perturbed} of {len(kept)} rows are perturbed copies of an instance: each instance is a group; "
            "by='perturbation' shows them apart"
        )
    else:
        del columns["perturbation"], columns["group"]
    if len(set(columns["repeat"])) == 1:
        del columns["repeat"]
    if not any(columns["sub_split"]):
        del columns["sub_split"]
    missing = columns["score"].count(None)
    if missing:
        warnings.append(f"{missing} of {len(kept)} rows have no value of {metric!r}")
    own = own_mean("HELM", metric, _plain_scores(columns), _aggregate(path, metric, split))
    name, checks = _spec(path)
    chosen = {**picked, "score": metric} | ({"split": split} if split is not None else {})
    return Log(
        tool="HELM", columns=columns, name=name, chosen=chosen, checks=checks, warnings=(*warnings, *own.said), not_a_mean=own.not_a_mean
    )


def _plain_scores(columns: Mapping[str, Any]) -> list[Any]:
    """The scores of the instances as they are, without their perturbed copies, which HELM averages apart."""
    kinds = columns.get("perturbation") or ["none"] * len(columns["score"])
    return [score for score, kind in zip(columns["score"], kinds, strict=True) if kind == "none"]


def _aggregate(path: str, metric: str, split: str | None) -> Any:
    """HELM's own mean of a metric, from the statistics of the run beside its instances; trials count alike there."""
    beside = os.path.join(os.path.dirname(path), STATS)
    if not os.path.isfile(beside):
        return None
    stats = document(beside)
    for stat in stats if isinstance(stats, list) else []:
        name = stat.get("name") if isinstance(stat, Mapping) else None
        if isinstance(name, Mapping) and {key: value for key, value in name.items() if value is not None} == {"name": metric} | (
            {} if split is None else {"split": split}
        ):
            return stat.get("mean")
    return None


# ---- a suite of runs -------------------------------------------------------------------------------------------------


def _is_run(folder: str) -> bool:
    return all(os.path.isfile(os.path.join(folder, name)) for name in (FILE, SPEC))


def _runs(path: str) -> list[str]:
    """The directories of runs in a directory, sorted."""
    with os.scandir(path) as entries:
        folders = [entry.path for entry, _ in zip(entries, range(_RUNS), strict=False) if os.path.isdir(entry.path)]
    return sorted(folder for folder in folders if _is_run(folder))


def _one_run(path: str, choices: Choices) -> tuple[str, dict[str, str]]:
    """The run of the task and the model that are meant. Of several, unasked, the tasks are listed, then the models."""
    found = [(*_task_and_model(folder), folder) for folder in _runs(path)]
    if choices.model is not None:
        model = pick("model", choices.model, list(dict.fromkeys(model for _, model, _ in found)), path)
        found = [one for one in found if one[1] == model]
    task = pick("task", choices.task, list(dict.fromkeys(task for task, _, _ in found)), path)
    found = [one for one in found if one[0] == task]
    model = pick("model", choices.model, list(dict.fromkeys(model for _, model, _ in found)), path)
    folders = [folder for _, each, folder in found if each == model]
    if len(folders) > 1:
        raise AmbiguityError(
            f"{path!r} has {len(folders)} runs of {task!r} by {model}: {', '.join(os.path.basename(folder) for folder in folders[:20])}.",
            got=f"{len(folders)} of {model}: {', '.join(os.path.basename(folder) for folder in folders[:20])}",
            need="one",
            hint=f"give the directory: {shlex.quote(folders[0])}",
        )
    return folders[0], {"task": task, "model": model}


def _task_and_model(folder: str) -> tuple[str, str]:
    """The name of a run without its model, and the model."""
    spec = document(os.path.join(folder, SPEC))
    spec = spec if isinstance(spec, dict) else {}
    adapter = spec.get("adapter_spec")
    name = text_or_none(spec.get("name")) or os.path.basename(folder)
    model = text_or_none(adapter.get("model")) if isinstance(adapter, dict) else None
    scenario, _, settings = name.partition(":")
    kept = [setting for setting in settings.split(",") if setting and not setting.startswith(_OF_MODEL)]
    return f"{scenario}:{','.join(kept)}" if kept else scenario, model or "unknown"


# ---- the items of a run ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Item:
    """One instance, perturbation and trial, with its stats: (metric, split) -> (mean, sub-split)."""

    path: str
    instance: str
    perturbation: str | None
    trial: int
    stats: dict[tuple[str, str | None], tuple[Any, Any]] = field(default_factory=dict)

    @property
    def splits(self) -> set[str | None]:
        return {split for _, split in self.stats}

    def add(self, stat: Mapping[str, Any]) -> None:
        name = stat.get("name")
        if not isinstance(name, Mapping) or not isinstance(name.get("name"), str):
            raise malformed(self.path, f"a stat of instance {self.instance!r} has no name", "stats as HELM writes them")
        key = name["name"], text_or_none(name.get("split"))
        value = stat.get("mean"), text_or_none(name.get("sub_split"))  # no values at all: HELM leaves the mean out
        if self.stats.setdefault(key, value) != value:
            got = f"instance {self.instance!r} has two different values of {key[0]!r}"
            raise malformed(self.path, got, "one value per instance, perturbation and trial", "were two runs written into one file?")

    def row(self, metric: str, split: str | None) -> dict[str, Any]:
        score, sub_split = self.stats.get((metric, split), (None, None))
        name = self.instance if self.perturbation is None else f"{self.instance} {self.perturbation}"
        return {
            "id": name, "score": score, "repeat": self.trial, "group": self.instance,
            "perturbation": self.perturbation or "none", "sub_split": sub_split,
        }  # fmt: skip


def _items(path: str) -> list[_Item]:
    """The entries of the file put together by key, in the order of their first."""
    entries = listed_in(path, document(path), "", "HELM")
    names = _perturbations(path, entries)
    items: dict[tuple[Any, ...], _Item] = {}
    for place, entry in enumerate(entries, 1):
        instance, trial, stats = entry.get("instance_id"), entry.get("train_trial_index"), entry.get("stats")
        if not isinstance(instance, str) or type(trial) is not int or not isinstance(stats, list):
            raise malformed(path, f"entry {place} has no instance_id, train_trial_index or stats", "entries as HELM writes them")
        perturbation = names.get(_described(path, entry))
        item = items.setdefault((instance, perturbation, trial), _Item(path, instance, perturbation, trial))
        for stat in stats:
            item.add(stat if isinstance(stat, Mapping) else {})
    return list(items.values())


def _described(path: str, entry: Mapping[str, Any]) -> str | None:
    return None if entry.get("perturbation") is None else digest(path, entry["perturbation"])


def _perturbations(path: str, entries: list[dict[str, Any]]) -> dict[str | None, str]:
    """A word for each perturbation: its name, and where several differ only by their settings, a digest of these too."""
    names: dict[str | None, str] = {}
    for entry in entries:
        key = _described(path, entry)
        if key is not None and key not in names:
            given = entry["perturbation"]
            names[key] = str(given.get("name", "perturbed")) if isinstance(given, Mapping) else "perturbed"
    several = {name for name, count in Counter(names.values()).items() if count > 1}
    return {key: f"{name} {str(key)[:6]}" if name in several else name for key, name in names.items()}


def _chosen(path: str, items: list[_Item], asked: str | None) -> tuple[str, str | None]:
    """The metric and its split: `exact_match`, or `exact_match:test` where several splits have it."""
    splits: dict[str, dict[str | None, None]] = {}
    for metric, split in _pairs(items):
        splits.setdefault(metric, {})[split] = None
    spelled = {f"{metric}:{split}": (metric, split) for metric, found in splits.items() for split in found}
    if asked in spelled and asked not in splits:
        return spelled[asked]
    metric = pick("metric", asked, list(splits), path, option="score")
    found = list(splits[metric])
    if len(found) > 1:
        named = [f"{metric}:{split}" for split in found]
        got = f"{len(found)}: {', '.join(str(split) for split in found)}"
        raise AmbiguityError(
            f"{path!r} has {len(found)} splits: {', '.join(str(split) for split in found)}.",
            got=got,
            need="one",
            hint=choice_of("score", named[0]),
        )
    return metric, found[0]


def _pairs(items: list[_Item]) -> Iterator[tuple[str, str | None]]:
    for item in items:
        yield from item.stats


def _spec(path: str) -> tuple[str | None, dict[str, str]]:
    """The model, and what two runs must share: the scenario with its arguments."""
    beside = os.path.join(os.path.dirname(path), SPEC)
    if not os.path.isfile(beside):
        return None, {}
    spec = document(beside)
    if not isinstance(spec, dict):
        raise malformed(beside, "it is not a JSON object", "the run_spec.json of HELM")
    adapter, scenario = spec.get("adapter_spec"), spec.get("scenario_spec")
    model = text_or_none(adapter.get("model")) if isinstance(adapter, dict) else None
    if not isinstance(scenario, dict):
        return model, {}
    words = str(scenario.get("class_name", "")).rpartition(".")[2]
    args = scenario.get("args")
    return model, {"scenario": f"{words} {json.dumps(args, sort_keys=True)}" if args else words}
