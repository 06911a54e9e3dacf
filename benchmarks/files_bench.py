"""One large file, counted from the command line beside DuckDB's bare GROUP BY. `--quick` takes a tenth of the rows."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.goals import GOALS
from benchmarks.timing import (
    Child,
    Duel,
    Row,
    Unmeasured,
    Wrong,
    at_most,
    below,
    command,
    environment,
    megabytes,
    power,
    run,
    scratch,
    unjudged,
)

CLASSES = 10
KEYS = tuple(goal.key for goal in GOALS if goal.part == "files")
NUMBERED = "lpad(CAST(i AS VARCHAR), 9, '0') AS id"
LABELLED = "'class ' || truth AS truth, 'class ' || prediction AS prediction"
SOURCES = {
    "ints": "truth, prediction",
    "texts": "'class ' || truth AS truth, 'class ' || prediction AS prediction",
    "texts and an id": "'item-' || i AS id, 'class ' || truth AS truth, 'class ' || prediction AS prediction",
}


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    n = 1_000_000 if quick else 10_000_000
    rounds = 2 if quick else 5
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        for name, columns in SOURCES.items():
            large, small = Path(folder, "large.parquet"), Path(folder, "small.parquet")
            write(large, columns, n)
            write(small, columns, 1000)
            for row in beside(f"{n:,} rows, {name}", large, small, env, rounds):
                yield unjudged(row) if quick else row
        for row in with_ids(Path(folder), env, n, rounds):
            yield unjudged(row) if quick else row
    if quick:
        yield Unmeasured(KEYS, f"{n:,} rows were counted: ten million take too long for --quick")


def with_ids(folder: Path, env: dict[str, str], n: int, rounds: int) -> Iterator[Row]:
    """Ids that must be proven unique, beside a process that imports DuckDB, groups, and does not look at them."""
    ours = [*command(), "measure", "--metric", "accuracy,macro_f1", "--format", "json"]
    taken: dict[tuple[str, int], float] = {}
    for what, ending, size, order, key in (
        ("Parquet, ids that grow", "parquet", n, "", "files.growing"),
        ("Parquet, ids in any order", "parquet", n // 10, "ORDER BY hash(i, 7)", None),
        ("Parquet, ids in any order", "parquet", n, "ORDER BY hash(i, 7)", "files.shuffled"),
        ("CSV with ids", "csv", n, "", "files.csv"),
        ("JSON Lines with ids", "jsonl", n // 10, "", "files.jsonl"),
    ):
        large = folder / f"ids.{ending}"
        write(large, f"{NUMBERED}, {LABELLED}", size, order)
        verify(run([*ours, str(large)], env), large)
        pairs = [(run([*ours, str(large)], env).cpu, run(group_by(large), env).cpu) for _ in range(rounds)]
        fight = Duel(tuple(o for o, _ in pairs), tuple(p for _, p in pairs))
        taken[what, size] = min(fight.ours)
        yield at_most(key, f"{size:,} rows, {what}: beside a process that only imports DuckDB and groups", fight)
        large.unlink()
    few, many = (taken["Parquet, ids in any order", size] for size in (n // 10, n))
    title = f"Parquet, ids in any order: growth from {n // 10:,} to {n:,} rows, start-up included"
    yield below("files.ids-growth", title, math.log10(many / few), power)


def beside(title: str, large: Path, small: Path, env: dict[str, str], rounds: int) -> Iterator[Row]:
    ours = [*command(), "measure", "--metric", "accuracy,macro_f1", "--format", "json"]
    verify(run([*ours, str(large)], env), large)
    taken: dict[str, list[Child]] = {"ours": [], "start": [], "group": [], "empty": []}
    for _ in range(rounds):
        taken["ours"].append(run([*ours, str(large)], env))
        taken["group"].append(run(group_by(large), env))
        taken["start"].append(run([*ours, str(small)], env))
        taken["empty"].append(run(group_by(small), env))
    cpu = {name: [child.cpu for child in children] for name, children in taken.items()}
    start, empty = min(cpu["start"]), min(cpu["empty"])
    whole = Duel(tuple(cpu["ours"]), tuple(group - empty + start for group in cpu["group"]))
    note = f"GROUP BY alone {median(cpu['group']) - empty:.2f} s, our start-up with intervals (same command, 1,000 rows) {start:.2f} s"
    yield at_most("files.group-by", f"{title}: beside GROUP BY + our start-up", whole, note)
    bare = Duel(tuple(cpu["ours"]), tuple(cpu["group"]))
    yield at_most(None, f"{title}: beside a process that only imports DuckDB and groups", bare)
    free = run([*ours, str(large)], env, one_core=False)
    yield below("files.memory", f"{title}: peak resident memory", max(free.rss, *(child.rss for child in taken["ours"])), megabytes)


def group_by(path: Path) -> list[str]:
    text = f"import duckdb; print(duckdb.connect().execute(\"SELECT truth, prediction, COUNT(*) FROM '{path}' GROUP BY ALL\").fetchall())"
    return [sys.executable, "-c", text]


def write(path: Path, columns: str, n: int, order: str = "") -> None:
    """Skewed classes, four of five predictions right, most errors on the next class."""
    import duckdb

    rows = f"""
        SELECT i, truth, (CASE WHEN u < 0.8 THEN truth WHEN u < 0.96 THEN (truth + 1) % {CLASSES} ELSE v END)::INTEGER AS prediction
        FROM (SELECT i, (pow(hash(i, 1) / 18446744073709551616.0, 2) * {CLASSES})::INTEGER % {CLASSES} AS truth,
                     hash(i, 2) / 18446744073709551616.0 AS u, hash(i, 3) % {CLASSES} AS v FROM range({n}) AS r(i))"""
    with duckdb.connect() as con:
        form = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json"}[path.suffix]
        con.execute(f"COPY (SELECT {columns} FROM ({rows}) {order}) TO '{path}' (FORMAT {form})")


def verify(child: Child, path: Path) -> None:
    """Accuracy and macro-F1 of the command equal those of plain SQL."""
    import duckdb

    with duckdb.connect() as con:
        cells = con.execute(f"SELECT truth, prediction, COUNT(*) FROM '{path}' GROUP BY ALL").fetchall()
    n = sum(c for *_, c in cells)
    f1 = []
    for k in {t for t, _, _ in cells}:
        both = sum(c for t, p, c in cells if t == p == k)
        either = sum(c * ((t == k) + (p == k)) for t, p, c in cells)  # 2 TP + FN + FP
        f1.append(2 * both / either)
    expected = {"accuracy": sum(c for t, p, c in cells if t == p) / n, "macro_f1": sum(f1) / len(f1)}
    answer = json.loads(child.out)
    for row in answer["metrics"]:
        name = row["metric"]
        low, high = row["interval"]["low"], row["interval"]["high"]
        if abs(row["estimate"] - expected[name]) > 1e-12 or not low < row["estimate"] < high:
            raise Wrong(f"{name} of {path.name}: {row['estimate']!r} in [{low}, {high}] instead of {expected[name]!r}")
