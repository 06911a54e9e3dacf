"""MLflow: evaluation tables, one metric; the artifact `eval_results_table.json`, or a saved `result_df` of `mlflow.genai.evaluate`.

The classic table has columns `NAME/score` or `NAME/v1/score`; the newer one `NAME/value` and `trace_id`, as JSON, JSON
Lines or Parquet. Expectations stand there as `NAME/value` too: only numbers, true/false and yes/no are taken for a metric.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import SourceError
from steelyard_old.read.files.paths import open_file
from steelyard_old.read.logs.documents import digest, document, listed_in, malformed, objects, occurrences, scalars, side_by_side
from steelyard_old.read.logs.log import Choices, Log, pick
from steelyard_old.read.logs.parquet_rows import has_names, parquet_rows

_CLASSIC = re.compile(rb'\s*\{\s*"columns"\s*:\s*\[([^\]]*)\]\s*,\s*"data"\s*:\s*\[')
_RECORD = re.compile(rb'\s*(\[\s*)?\{\s*"trace_id"\s*:\s*"')
_SLASH = r"\\?/"  # pandas escapes the slash
_SCORE = re.compile(rf'"[^"]+?({_SLASH}v\d+)?{_SLASH}score"'.encode())
_VALUE = re.compile(rf'"[^"]+?{_SLASH}value"\s*:'.encode())
_COLUMN = re.compile(r"(?P<name>.+?)(?P<version>/v\d+)?/(score|value)\Z")
_PROSE = re.compile(r".+/(justification|rationale|error_message)\Z")
_WORDS = {"yes": 1, "no": 0}
_IDS = ("id", "item_id", "case_id", "question_id", "example_id", "sample_id")
_INPUTS = ("inputs", "request", "input", "question", "prompt", "query")
_OUTPUTS = ("outputs", "response", "targets", "expectations", "trace_id", "state")


def looks_like(path: str, head: bytes) -> bool:
    """Columns and data with a column of scores; records that begin with a trace id and hold values; or Parquet of these names."""
    if head.startswith(b"PAR1"):
        return has_names(path, head, ("trace_id", "request", "state"), part=b"/value")
    head = head.removeprefix(b"\xef\xbb\xbf")
    classic = _CLASSIC.match(head)
    if classic is not None:
        return _SCORE.search(classic[1]) is not None
    return _RECORD.match(head) is not None and _VALUE.search(head) is not None


def read(path: str, choices: Choices) -> Log:
    """One row per row of the table with the score of one metric; the item is what was asked."""
    rows = _rows(path)
    metrics = _metrics(rows)
    if not metrics:
        listed = ", ".join(map(repr, list(dict.fromkeys(name for row in rows for name in row))[:12]))
        got = f"no column NAME/score or NAME/value has numbers, true/false or yes/no (columns: {listed})"
        raise malformed(path, got, "a column NAME/score or NAME/value of numbers, true/false or yes/no")
    asked = next((name for name, column in metrics.items() if choices.score in (column, column.rpartition("/")[0])), choices.score)
    score = pick("metric", asked, list(metrics), path, option="score")
    values = [_number(row.get(metrics[score])) for row in rows]
    ids = _ids(path, rows)
    made = [{"id": item, "score": value, **_others(row)} for item, value, row in zip(ids, values, rows, strict=True)]
    columns = side_by_side(made)
    repeats = occurrences(ids)
    if repeats is not None:
        columns["repeat"] = repeats
    missing = values.count(None)
    warnings = (f"{missing} of {len(rows)} rows have no value of {score!r}",) if missing else ()
    return Log(tool="MLflow", columns=columns, chosen={"score": score}, warnings=warnings)


def _rows(path: str) -> list[dict[str, Any]]:
    file = open_file(path)
    with open(file.plain, "rb") as stream:
        head = stream.read(1 << 16).removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"PAR1"):
        return parquet_rows(path)
    if head.lstrip().startswith(b"[") or _CLASSIC.match(head):
        whole = document(path)
        return _turned(path, whole) if isinstance(whole, dict) else listed_in(path, whole, "", "MLflow")
    rows = [row for _, row in objects(path)]
    if not rows:
        raise SourceError(f"No items in {path!r}.", got="no items", need="at least one row")
    return rows


def _turned(path: str, whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    names, data = whole.get("columns"), whole.get("data")
    if not isinstance(names, list) or not isinstance(data, list) or not all(isinstance(name, str) for name in names):
        raise malformed(path, "it has no columns and data", "a table as MLflow writes it")
    if len(set(names)) < len(names):
        raise malformed(path, "a column name is there more than once", "each name once")
    wrong = next((place for place, row in enumerate(data, 1) if not isinstance(row, list) or len(row) != len(names)), None)
    if wrong is not None:
        raise malformed(path, f"row {wrong} does not have {len(names)} cells, one for each column", "rows of one length")
    if not data:
        raise SourceError(f"No items in {path!r}.", got="no items", need="at least one row")
    return [dict(zip(names, row, strict=True)) for row in data]


# ---- which metric ----------------------------------------------------------------------------------------------------


def _metrics(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Metric -> column. The version stands in the name only where a metric has several."""
    columns = dict.fromkeys(name for row in rows for name in row if _COLUMN.match(name))
    usable = [name for name in columns if _is_metric([row.get(name) for row in rows])]
    parts = {name: _COLUMN.match(name) for name in usable}
    short = {name: found["name"] for name, found in parts.items() if found}
    return {short[name] if list(short.values()).count(short[name]) == 1 else name.rpartition("/")[0]: name for name in usable}


def _is_metric(values: Sequence[Any]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(value, (bool, int, float)) or value in ("yes", "no") for value in given)


def _number(value: Any) -> Any:
    if isinstance(value, str):
        return _WORDS[value]
    if isinstance(value, float) and value != value:
        return None  # Parquet keeps pandas' missing as NaN
    return int(value) if isinstance(value, bool) else value


# ---- which item ------------------------------------------------------------------------------------------------------


def _ids(path: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A column of ids, or a digest of the one column that says what was asked."""
    for name in _IDS:
        given = [row.get(name) for row in rows]
        if all(isinstance(value, (str, int)) and not isinstance(value, bool) for value in given):
            return [str(value) for value in given]
    found = [name for name in _INPUTS if any(name in row for row in rows)]
    if not found:
        names = list(dict.fromkeys(name for row in rows for name in row))
        raise malformed(
            path,
            f"no column tells the items apart (columns: {', '.join(map(repr, names[:12]))})",
            f"one that tells the items apart: {', '.join((*_IDS[:1], *_INPUTS))}",
            "add an id column to the data that is evaluated",
        )
    return [digest(path, _plain(row.get(found[0]))) for row in rows]


def _plain(value: Any) -> Any:
    """Inputs as their content: a JSON text is what it says, and a struct of Parquet does not have the fields that are null."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, dict):
        return {
            key: each if isinstance(each, (str, int, float, list, dict)) else str(each) for key, each in value.items() if each is not None
        }
    return value if isinstance(value, (str, int, float, list, type(None))) else str(value)


def _others(row: Mapping[str, Any]) -> dict[str, Any]:
    """Further columns for `--by` and `--group`."""
    kept = {
        name: value
        for name, value in row.items()
        if not _COLUMN.match(name) and not _PROSE.match(name) and name not in (*_INPUTS, *_OUTPUTS, *_IDS)
    }
    return scalars("row", kept)
