"""The number of a row: the same on every machine, in memory and in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steelyard as sy
from cases import every
from steelyard.read.encode import text_of

pytestmark = pytest.mark.usefixtures("shared_engine")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TOKYO = timezone(timedelta(hours=9))


OPTIONS: tuple[dict[str, str], ...] = ({"id": "none"}, {"id": "when"}, {"group": "when"})


def assigned_in_zone(zone: str, place: Path) -> list[list[str]]:
    """The parts of data.parquet by each of the options, split by another process in this time zone."""
    asked = f"[sy.split('data.parquet', train=.5, test=.5, dry_run=True, **options).assigned.tolist() for options in {OPTIONS}]"
    code = f"import json, steelyard as sy; print(json.dumps({asked}))"
    given = {**os.environ, "PYTHONPATH": str(Path(sy.__file__).parents[1]), "TZ": zone}
    done = subprocess.run([sys.executable, "-c", code], cwd=place, env=given, capture_output=True, text=True, check=True)
    found: list[list[str]] = json.loads(done.stdout)
    return found


def test_the_part_of_a_row_does_not_depend_on_the_time_zone_of_the_machine(tmp_path: Path) -> None:
    times = [BEGIN + timedelta(hours=7 * i) for i in range(200)]
    columns = {"when": pa.array(times, pa.timestamp("us", tz="UTC")), "text": [f"text {i}" for i in range(200)]}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    for options, *parts in zip(OPTIONS, assigned_in_zone("UTC", tmp_path), assigned_in_zone("America/New_York", tmp_path), strict=True):
        assert parts[0] == parts[1], options


VALUES: dict[str, list[Any]] = {
    "empty text": ["" if i % 2 else f"x{i}" for i in range(200)],
    "microseconds": [datetime(2026, 1, 1) + timedelta(microseconds=10 * i) for i in range(200)],
    "time zone": [BEGIN + timedelta(seconds=i) for i in range(200)],
    "another time zone": [(BEGIN + timedelta(seconds=i)).astimezone(TOKYO) for i in range(200)],
    "date": [date(2026, 1, 1) + timedelta(days=i) for i in range(200)],
    "time of day": [time(1, 2, i % 60, i * 1000) for i in range(200)],
    "decimal": [Decimal(i).scaleb(-8) for i in range(200)],
    "list of times": [[BEGIN + timedelta(seconds=i)] for i in range(200)],
    "object": [{"at": datetime(2026, 1, 1) + timedelta(microseconds=10 * i), "price": Decimal(i).scaleb(-2)} for i in range(200)],
}


@every("kind", list(VALUES))
def test_rows_without_ids_have_the_same_part_in_parquet_and_in_memory(kind: str, tmp_path: Path) -> None:
    columns = {"text": [f"text {i}" for i in range(200)], "more": VALUES[kind]}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    in_file = sy.split(str(tmp_path / "data.parquet"), train=0.5, test=0.5, id="none", dry_run=True).assigned
    in_memory = sy.split(columns, train=0.5, test=0.5, id="none").assigned
    assert in_file.tolist() == in_memory.tolist()


@every("kind", [kind for kind in VALUES if kind not in ("empty text", "list of times", "object")])
def test_an_id_that_is_no_text_has_the_same_part_in_parquet_and_in_memory(kind: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": VALUES[kind]}), tmp_path / "data.parquet")
    in_file = sy.split(str(tmp_path / "data.parquet"), train=0.5, test=0.5, dry_run=True).assigned
    assert in_file.tolist() == sy.split({"id": VALUES[kind]}, train=0.5, test=0.5).assigned.tolist()


@every(
    ("value", "text"),
    [
        (datetime(2026, 1, 1), "2026-01-01 00:00:00"),
        (datetime(2026, 1, 1, 10, 20, 30, 500), "2026-01-01 10:20:30.0005"),
        (datetime(2026, 1, 1, 9, tzinfo=TOKYO), "2026-01-01 00:00:00+00"),
        (datetime(2026, 1, 1, 9, 0, 0, 120_000, tzinfo=TOKYO), "2026-01-01 00:00:00.12+00"),
        (time(10, 0), "10:00:00"),
        (time(10, 0, tzinfo=TOKYO), "10:00:00+09"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("1.50"), "1.50"),
    ],
)
def test_times_and_decimals_have_one_text(value: Any, text: str) -> None:
    assert text_of(value) == text
