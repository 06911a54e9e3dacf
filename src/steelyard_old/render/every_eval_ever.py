"""A measurement as Every Eval Ever 0.3 has it: the aggregate with its intervals, and the items, as the two files of that datastore."""

from __future__ import annotations

import hashlib
import json
import math
import re
import uuid
from collections.abc import Iterator
from typing import Any

from steelyard_old.errors import DataError, UsageError
from steelyard_old.items import Items, Labels
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.catalogue import find
from steelyard_old.options.option import unknown_word
from steelyard_old.render.digits import steady
from steelyard_old.results.measurement import Interval, Measurement, Row
from steelyard_old.results.signature import parse as parse_signature
from steelyard_old.version import __version__

SCHEMA = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
DEPLOYMENTS = ("self_deployed", "externally_managed", "unknown")
AVAILABILITIES = ("open_weights", "closed_weights", "unknown")
_REDRAWN = ("percentile", "bca", "studentized")
_UNSAFE = re.compile(r'[<>"\\|?*\x00-\x1f]|[. ]\Z')
_NO_ANSWER = "no answer"
_PARTS = ("task", "filter", "scorer", "prompt", "split")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDetails:
    """What the schema wants and a measurement does not know.

    model: as on Hugging Face, developer/name. evaluation: the name of the benchmark. organization: who provides the data,
    relationship: to the model. retrieved: when, in Unix time. collection: the directory of the datastore (default: the
    evaluation). dataset: its name (default: the evaluation). library: what ran the evaluation, and its version.
    """

    model: str
    evaluation: str
    organization: str
    retrieved: str
    relationship: str = "other"
    collection: str | None = None
    dataset: str | None = None
    deployment: str = "unknown"
    availability: str = "unknown"
    library: tuple[str, str] = ("steelyard", __version__)

    def __post_init__(self) -> None:
        for name, allowed in (("relationship", RELATIONSHIPS), ("deployment", DEPLOYMENTS), ("availability", AVAILABILITIES)):
            if getattr(self, name) not in allowed:
                raise unknown_word(name, getattr(self, name), tuple(allowed))
        if not re.fullmatch(r"\d+(\.\d+)?", self.retrieved):
            need = "seconds of Unix time, as text"
            raise UsageError(f"The time of retrieval must be {need}, not {self.retrieved!r}.", got=repr(self.retrieved), need=need)

    @property
    def evaluation_id(self) -> str:
        return f"{self.evaluation}/{self.model}/{self.retrieved}"

    @property
    def folder(self) -> str:
        """Where the datastore keeps it: data/collection/developer/model."""
        developer, _, name = self.model.partition("/")
        parts = ((self.collection or self.evaluation).replace("/", "_"), developer, name.replace("/", "_"))
        safe = [part.replace(":", "_") for part in parts]
        for part in safe:
            if not part or part in (".", "..", "data") or _UNSAFE.search(part):
                got = f"{part!r} out of evaluation {self.evaluation!r} and model {self.model!r}"
                raise UsageError(
                    f"The record needs plain names for its directory, and a model such as developer/name, not {got}.",
                    got=got,
                    need="plain names, and a model such as developer/name",
                )
        return "/".join(["data", *safe])


def every_eval_ever(measurement: Measurement, about: RecordDetails, items: Items | None = None) -> dict[str, str]:
    """Path in the datastore -> text: the aggregate, and with items the samples beside it.

    The name of both is a UUID of version 4 made from the content, so that the same record has the same name.
    """
    samples = None if items is None else "".join(_lines(measurement, about, items))
    record = _aggregate(measurement, about)
    seed = hashlib.sha256((json.dumps(record, sort_keys=True) + (samples or "")).encode()).digest()
    path = f"{about.folder}/{uuid.UUID(bytes=seed[:16], version=4)}"
    if samples is None:
        return {f"{path}.json": _text(record, indent=2)}
    record["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": f"{path}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(samples.encode()).hexdigest(),
        "total_rows": samples.count("\n"),
    }
    return {f"{path}.json": _text(record, indent=2), f"{path}_samples.jsonl": samples}


def _text(value: Any, *, indent: int | None = None) -> str:
    """JSON in ASCII: what a reader of lines takes for the end of one, and lone surrogates, are escaped."""
    return json.dumps(value, allow_nan=False, ensure_ascii=True, indent=indent) + "\n"


# ---- the aggregate ---------------------------------------------------------------------------------------------------


def _aggregate(measurement: Measurement, about: RecordDetails) -> dict[str, Any]:
    parts = [("", measurement), *((f"{each.by}={each.value}", each.measurement) for each in measurement.slices)]
    results, undefined = [], []
    for place, part in parts:
        for row in part.rows:
            if row.estimate is None:
                undefined.append(_result_id(row, place))
            else:
                results.append(_result(row, part, place, about))
    if not results:
        raise DataError("No metric has a value, so there is nothing to record.", got="no metric with a value", need="at least one")
    # The schema has no place for a score that is not defined; it is named, so that nobody takes it for forgotten.
    told = {"undefined": ", ".join(undefined)} if undefined else {}
    told |= {"warnings": "; ".join(measurement.warnings)} if measurement.warnings else {}
    source = {
        "source_type": "evaluation_run",
        "source_organization_name": about.organization,
        "evaluator_relationship": about.relationship,
    }
    return {
        "schema_version": SCHEMA,
        "evaluation_id": about.evaluation_id,
        "retrieved_timestamp": about.retrieved,
        "source_metadata": source | ({"additional_details": told} if told else {}),
        "eval_library": {"name": about.library[0], "version": about.library[1]},
        "model_info": {
            "name": about.model,
            "id": about.model,
            "developer": about.model.partition("/")[0],
            "additional_details": {"deployment_type": about.deployment, "model_availability": about.availability},
        },
        "evaluation_results": results,
    }


def _result_id(row: Row, place: str) -> str:
    return f"{row.name}@{place}" if place else row.name


def _result(row: Row, part: Measurement, place: str, about: RecordDetails) -> dict[str, Any]:
    return {
        "evaluation_result_id": _result_id(row, place),
        "evaluation_name": f"{about.evaluation}/{place}" if place else about.evaluation,
        "source_data": {"dataset_name": about.dataset or about.evaluation, "source_type": "other"},
        "metric_config": _metric(row),
        "score_details": {
            "score": row.estimate,
            "details": {"signature": part.signature} | _chosen(part) | _unbounded(row.interval),
            "uncertainty": _uncertainty(row, part.signature),
        },
    }


def _chosen(part: Measurement) -> dict[str, str]:
    """Which part of a log was measured: two filters of one run are two results."""
    return {what: str(part.roles[what]) for what in _PARTS if what in part.roles}


def _metric(row: Row) -> dict[str, Any]:
    metric = find(row.metric)
    given = {"average": row.average, "label": row.label}
    parameters = {name: value for name, value in given.items() if value is not None}
    config: dict[str, Any] = {
        "metric_id": row.metric,
        "metric_name": row.name,
        "metric_parameters": parameters,
        "lower_is_better": not row.higher_is_better,
    }
    if metric is not None:
        config["evaluation_description"] = metric.says
        if not metric.range_of_data:  # of scores, nobody declared it
            low, high = "-Infinity" if metric.low is None else metric.low, "Infinity" if metric.high is None else metric.high
            config |= {"score_type": "continuous", "min_score": low, "max_score": high}
    return config


def _uncertainty(row: Row, signature: str) -> dict[str, Any]:
    found: dict[str, Any] = {"num_samples": row.n}
    interval = row.interval
    if interval is not None and interval.low is not None and interval.high is not None:
        side = "" if interval.side == "two" else f", one-sided ({interval.side})"
        found["confidence_interval"] = {
            "lower": interval.low,
            "upper": interval.high,
            "confidence_level": interval.confidence_level,
            "method": interval.method + side,
        }
    draws = parse_signature(signature).get("draws") if signature else None
    if interval is not None and interval.method in _REDRAWN and draws:
        found["num_bootstrap_samples"] = int(draws[0])
    if row.standard_error is not None:
        found["standard_error"] = {"value": steady(row.standard_error), "method": "analytic"}
    return found


def _unbounded(interval: Interval | None) -> dict[str, str]:
    """An interval without one of its ends cannot stand where the schema has intervals, so its words do."""
    return {"interval": str(interval)} if interval is not None and (interval.low is None or interval.high is None) else {}


# ---- the items -------------------------------------------------------------------------------------------------------


def _lines(measurement: Measurement, about: RecordDetails, items: Items) -> Iterator[str]:
    """One line per item and repeat, each pointing to the one result that is the mean of these numbers."""
    result = _mean_of_items(measurement)
    if items.id is None or items.count is not None:
        got = "items without ids" if items.id is None else "rows that stand for several items"
        raise DataError(
            f"Every Eval Ever takes one row per item, with an id; there is {got}.", got=got, need="one row per item, with an id"
        )
    ids, truths, predictions = _names(items.id, items.n), _names(items.truth, items.n), _names(items.prediction, items.n)
    scores = None if items.score is None else items.score.tolist()
    columns = {"epoch": items.repeat, "group": items.group, **items.slices}
    told = {name: _names(labels, items.n) for name, labels in columns.items() if labels is not None}
    for place in range(items.n):
        truth, prediction = truths[place], predictions[place]
        score = scores[place] if scores is not None else _right(truth, prediction)
        missing = score is None or math.isnan(score)
        yield _text(
            {
                "schema_version": SCHEMA,
                "evaluation_id": about.evaluation_id,
                "model_id": about.model,
                "evaluation_name": about.evaluation,
                "evaluation_result_id": result,
                "sample_id": ids[place],
                "sample_hash": None,  # of the question, which is not known here
                "interaction_type": "single_turn",
                "input": {"raw": "", "reference": [] if truth is None else [truth]},
                "output": {"raw": [] if prediction is None else [prediction]},
                "messages": None,
                "answer_attribution": [],
                "evaluation": {"score": 0.0 if missing else score, "is_correct": not missing and score == 1},
                "error": _NO_ANSWER if missing else None,
                "metadata": {name: text for name, column in told.items() if (text := column[place]) is not None},
            }
        )


def _mean_of_items(measurement: Measurement) -> str:
    rows = [(metric, row) for row in measurement.rows if (metric := find(row.metric)) is not None and metric.averages_scores]
    found = next((row for _, row in sorted(rows, key=lambda each: not each[0].right_or_wrong)), None)
    if found is None or found.estimate is None:
        got = f"metrics {', '.join(row.name for row in measurement.rows)}"
        raise DataError(
            f"The items need accuracy or mean among the results; there is {got}.",
            got=got,
            need="accuracy or mean among them",
            hint="measure accuracy as well",
        )
    return found.name


def _names(labels: Labels | None, n: int) -> list[str | None]:
    if labels is None:
        return [None] * n
    return [None if code < 0 else labels.names[code] for code in labels.codes.tolist()]


def _right(truth: str | None, prediction: str | None) -> float | None:
    return None if truth is None or prediction is None else float(truth == prediction)
