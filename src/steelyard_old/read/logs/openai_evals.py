"""OpenAI evals: the events of a run as JSON Lines; matches are right or wrong, metrics are numbers, errors are counted.

The first line is the spec of the run. The final report may stand anywhere after it: events are written in batches, and the
last batch comes when the program ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.read.logs.documents import malformed, objects, text_or_none
from steelyard_old.read.logs.log import Choices, Log, pick
from steelyard_old.read.logs.own_number import own_mean

_START = re.compile(rb'\s*\{\s*"spec"\s*:\s*\{')
_MATCH = "match"


def looks_like(path: str, head: bytes) -> bool:
    """A first line that is the spec of a run, with its completion functions and the name of the eval."""
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    return bool(_START.match(first)) and b'"completion_fns"' in first and b'"eval_name"' in first


def read(path: str, choices: Choices) -> Log:
    """One row per sample, or per sample and event where a sample has several of the kind that was chosen."""
    run = _Run(path)
    for number, line in objects(path):
        run.add(number, line)
    score = pick("metric", choices.score, run.usable(), path, option="score")
    columns = run.columns(score)
    own = own_mean("OpenAI evals", score, columns["score"], run.report.get("accuracy" if score == _MATCH else score))
    return Log(
        tool="OpenAI evals",
        columns=columns,
        name=run.model,
        chosen={"score": score},
        checks=run.checks,
        warnings=(*run.warnings(score), *own.said),
        not_a_mean=own.not_a_mean,
    )


def made(path: str) -> str | None:
    """When the run was made, as its spec says."""
    first = next((line for _, line in objects(path)), {})
    spec = first.get("spec")
    return text_or_none(spec.get("created_at")) if isinstance(spec, dict) else None


@dataclass
class _Run:
    """What the lines said: samples in the order they came, each with its values by metric, and those that errored."""

    path: str
    spec: Mapping[str, Any] | None = None
    reported: bool = False
    report: Mapping[str, Any] = field(default_factory=dict)
    values: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, bool] = field(default_factory=dict)

    def add(self, number: int, line: Mapping[str, Any]) -> None:
        if "spec" in line:
            if self.spec is not None:
                raise malformed(self.path, f"a second spec in line {number}", "one run per file", "split the file at its specs")
            if not isinstance(line["spec"], dict):
                raise malformed(self.path, "its spec is not an object", "a log of OpenAI evals")
            self.spec = line["spec"]
        elif self.spec is None:
            raise malformed(self.path, "the first line has no spec", "a log of OpenAI evals")
        elif "final_report" in line:
            self.reported = True
            self.report = line["final_report"] if isinstance(line["final_report"], dict) else {}
        else:
            self.event(number, line)

    def event(self, number: int, line: Mapping[str, Any]) -> None:
        sample, kind, data = line.get("sample_id"), line.get("type"), line.get("data")
        if not isinstance(sample, str) or not isinstance(kind, str):
            raise malformed(self.path, f"the event in line {number} has no sample_id or no type", "events as OpenAI evals writes them")
        run = (self.spec or {}).get("run_id")
        if line.get("run_id") != run:
            got = f"line {number} is of run {line.get('run_id')!r}, the lines before it of run {run!r}"
            raise malformed(self.path, got, f"one run, {run!r}")
        found = self.values.setdefault(sample, {})
        data = data if isinstance(data, dict) else {}
        if kind == "error":
            self.errors.setdefault(sample, f"{data.get('type', 'error')}: {data.get('message', '')}"[:80])
        elif kind == _MATCH:
            self._note(found, _MATCH, data.get("correct"))
        elif kind == "metrics":
            for name, value in data.items():
                self._note(found, "metrics.match" if name == _MATCH else name, value)

    def _note(self, found: dict[str, list[Any]], name: str, value: Any) -> None:
        """A value of a metric; a metric with a text or a list anywhere is nothing to average."""
        is_number = isinstance(value, (bool, int, float))
        self.metrics[name] = self.metrics.get(name, True) and (is_number or value is None)
        found.setdefault(name, []).append(int(value) if isinstance(value, bool) else value)

    def usable(self) -> list[str]:
        found = [name for name, usable in self.metrics.items() if usable]
        if not self.values:
            raise SourceError(f"No events in {self.path!r}.", got="no events", need="at least one sample")
        if not found:
            without = f"; no numbers in {', '.join(self.metrics)}" if self.metrics else ""
            got = f"its {len(self.values)} samples have neither match events nor metrics events with numbers{without}"
            raise malformed(self.path, got, "match events, or metrics events with numbers")
        return found

    def columns(self, score: str) -> dict[str, list[Any]]:
        rows = [
            (sample, place, value) for sample, found in self.values.items() for place, value in enumerate(found.get(score) or [None], 1)
        ]
        columns: dict[str, list[Any]] = {"id": [row[0] for row in rows], "score": [row[2] for row in rows]}
        if any(row[1] > 1 for row in rows):
            columns["repeat"] = [row[1] for row in rows]
        return columns

    def warnings(self, score: str) -> list[str]:
        said = []
        missing = [sample for sample, found in self.values.items() if all(value is None for value in found.get(score, ()))]
        errored = [sample for sample in missing if sample in self.errors]
        if errored:
            said.append(f"{len(errored)} of {len(self.values)} samples errored, such as {errored[0]!r}: {self.errors[errored[0]]}")
        if len(missing) > len(errored):
            said.append(f"{len(missing) - len(errored)} of {len(self.values)} samples have no {score!r}")
        several = sum(len(found.get(score, ())) > 1 for found in self.values.values())
        if several:
            said.append(f"{several} of {len(self.values)} samples have several values of {score!r}: taken as repeats of the sample")
        if not self.reported:
            said.append("there is no final report: the run did not end, and samples may be absent")
        return said

    @property
    def model(self) -> str | None:
        given = (self.spec or {}).get("completion_fns")
        return ",".join(map(str, given)) if isinstance(given, list) and given else None

    @property
    def checks(self) -> dict[str, str]:
        name = text_or_none((self.spec or {}).get("eval_name"))
        return {} if name is None else {"eval": name}
