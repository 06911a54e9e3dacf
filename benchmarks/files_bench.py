"""Large files from the command line: counted beside DuckDB's bare GROUP BY, two joined by id beside pandas and a bare join.

`--quick` takes a tenth of the rows; then the goals against pandas, which are of ten million rows and more, are not judged.
The files go to a temporary folder that is removed; 1e8 rows need about 2 GB of disk.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from timing import Child, Duel, Row, Wrong, at_least, at_most, below, command, environment, megabytes, run, scratch, seconds

PART = "files"
CLASSES = 10
SOURCES = {
    "ints": "truth, prediction",
    "texts": "'class ' || truth AS truth, 'class ' || prediction AS prediction",
    "texts and an id": "'item-' || i AS id, 'class ' || truth AS truth, 'class ' || prediction AS prediction",
}


def rows(*, quick: bool) -> Iterator[Row]:
    yield from counted(quick=quick)
    yield from joined(quick=quick)
    yield from huge(quick=quick)
    yield from fifty(quick=quick)


# ---- two files joined by id, beside pandas ---------------------------------------------------------------------------

PANDAS = """
import sys
import pandas as pd
read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda path: pd.read_json(path, lines=True)}[sys.argv[1]]
a, b = read(sys.argv[2]), read(sys.argv[3])
met = a.merge(b, on="id", suffixes=("_a", "_b"), validate="one_to_one")
right = (met.truth_a == met.prediction_a), (met.truth_a == met.prediction_b)
met.groupby(["truth_a", "prediction_a", "prediction_b"]).size()
print(len(met), int((right[0] & ~right[1]).sum()), int((~right[0] & right[1]).sum()))
"""
CASES = (  # what, ending, second file, goals: times less CPU, times less memory
    ("CSV", "csv", "shuffled", 2, 3.5),
    ("Parquet", "parquet", "shuffled", 2, 3.5),
    ("JSON Lines", "jsonl", "shuffled", 7, 8),
    ("Parquet, ids in the same order", "parquet", "same", 14, 20),
)


def joined(*, quick: bool) -> Iterator[Row]:
    """One round each: pandas takes minutes and gigabytes. CPU on all cores, memory as the system counts it."""
    n = 1_000_000 if quick else 10_000_000
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        run([*command(), "--version"], env)
        for what, ending, second, less_cpu, less_memory in CASES:
            a, b = _write_two(Path(folder), ending, second, n)
            peer = run([sys.executable, "-c", PANDAS, ending, str(a), str(b)], env, one_core=False)
            ours = run([*command(), "compare", str(a), str(b), "--format", "json"], env, one_core=False)
            _verify_two(ours, peer, what)
            title = f"{n:,} rows twice, joined by id, {what}, beside pandas"
            yield at_least(PART, f"{title}: CPU", Duel((ours.cpu,), (peer.cpu,)), None if quick else less_cpu)
            yield _smaller(f"{title}: peak resident memory", ours, peer, None if quick else less_memory)
            a.unlink(), b.unlink()


def _smaller(what: str, ours: Child, peer: Child, goal: float | None) -> Row:
    times = peer.rss / ours.rss
    shown = megabytes(ours.rss), megabytes(peer.rss)
    told = "" if goal is None else f">= {goal:g}x"
    return Row(
        part=PART, what=what, ours=shown[0], peer=shown[1], times=(times,), goal=told, reached=None if goal is None else times >= goal
    )


def _write_two(folder: Path, ending: str, second: str, n: int, ids: str = "'item-' || i") -> tuple[Path, Path]:
    """Two runs of one test set; the second in another order, or in the same."""
    import duckdb

    places = folder / f"a.{ending}", folder / f"b.{ending}"
    line = """'{"id": "' || id || '", "truth": "' || truth || '", "prediction": "' || prediction || '"}'"""
    forms = {"csv": "FORMAT csv", "parquet": "FORMAT parquet", "jsonl": "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01'"}
    with duckdb.connect() as con:
        for place, salt, order in zip(places, (1, 2), ("", "ORDER BY hash(i, 9)" if second == "shuffled" else ""), strict=True):
            truth = f"(hash(i, 0) % {CLASSES})::INTEGER"
            wrong = f"(hash(i, 0) % {CLASSES} + 1 + hash(i, {salt}, 5) % 3) % {CLASSES}"
            answer = f"CASE WHEN hash(i, {salt}) % 100 < {78 + 2 * salt} THEN {truth} ELSE ({wrong})::INTEGER END"
            labels = f"'class ' || {truth} AS truth, 'class ' || {answer} AS prediction"
            picked = f"SELECT {ids} AS id, {labels}, i FROM range({n}) AS r(i) {order}"
            shown = line if ending == "jsonl" else "id, truth, prediction"
            con.execute(f"COPY (SELECT {shown} FROM ({picked})) TO '{place}' ({forms[ending]})")
    return places


def _verify_two(ours: Child, peer: Child, what: str) -> None:
    n, lost, gained = map(int, peer.out.split())
    answer = json.loads(ours.out)
    found = answer["n"], answer["flips"]["baseline_only"], answer["flips"]["candidate_only"]
    if found != (n, lost, gained):
        raise Wrong(f"{what}: n, lost, gained {found} instead of {(n, lost, gained)}")


# ---- more rows than memory -------------------------------------------------------------------------------------------


def huge(*, quick: bool) -> Iterator[Row]:
    """A hundred million rows: counted beside pandas and a bare GROUP BY, and compared row by row with ids in order."""
    n = 10_000_000 if quick else 100_000_000
    counts = "import sys, pandas as pd; d = pd.read_parquet(sys.argv[1]); print(d.groupby(['truth', 'prediction']).size().sum())"
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        large, small = Path(folder, "large.parquet"), Path(folder, "small.parquet")
        _write(large, SOURCES["ints"], n)
        _write(small, SOURCES["ints"], 1000)
        ours = [*command(), "measure", "--metric", "accuracy,macro_f1", "--format", "json"]
        start, empty = run([*ours, str(small)], env), run(_group_by(small), env)
        found, bare = run([*ours, str(large)], env, one_core=False), run(_group_by(large), env, one_core=False)
        _verify(found, large)
        peer = run([sys.executable, "-c", counts, str(large)], env, one_core=False)
        title = f"{n:,} rows of Parquet, counted"
        yield at_least(PART, f"{title}, beside pandas: CPU", Duel((found.cpu,), (peer.cpu,)), None if quick else 8)
        yield _smaller(f"{title}, beside pandas: peak resident memory", found, peer, None if quick else 40)
        whole = Duel((found.cpu,), (bare.cpu - empty.cpu + start.cpu,))
        yield at_most(PART, f"{title}, beside GROUP BY + our start-up", whole, 1.5)
        yield below(PART, f"{title}: peak resident memory", found.rss, 2e9, megabytes)
        large.unlink()
        a, b = _write_two(Path(folder), "parquet", "same", n, ids="i")
        pair = run([*command(), "compare", str(a), str(b), "--format", "json"], env, one_core=False)
        yield below(PART, f"{n:,} rows twice, ids in the same order, compared: peak resident memory", pair.rss, 2e9, megabytes)
        yield below(PART, f"{n:,} rows twice, ids in the same order, compared: CPU", pair.cpu, None, seconds)


BARE_JOIN = """
import sys
import duckdb
a, b, limit, spill = sys.argv[1:]
con = duckdb.connect()
con.execute(f"SET memory_limit = '{limit}'")
con.execute(f"SET temp_directory = '{spill}'")
join = f"SELECT a.truth, a.prediction, b.prediction, COUNT(*) FROM '{a}' a JOIN '{b}' b USING (id) GROUP BY ALL"
print(con.execute(join).fetchall())
"""


def fifty(*, quick: bool) -> Iterator[Row]:
    """Fifty million rows joined by id in a gigabyte, beside the bare join, which has the same."""
    n = 5_000_000 if quick else 50_000_000
    limit = "200MB" if quick else "1GB"
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        a, b = _write_two(Path(folder), "parquet", "shuffled", n)
        small = _write_two(Path(folder), "csv", "shuffled", 1000)
        start = run([*command(), "compare", *map(str, small), "--format", "json"], env)
        bare = run([sys.executable, "-c", BARE_JOIN, str(a), str(b), limit, f"{folder}/spill"], env, one_core=False)
        found = run([*command(), "compare", str(a), str(b), "--memory", limit, "--format", "json"], env, one_core=False)
        if json.loads(found.out)["n"] != n:
            raise Wrong(f"{json.loads(found.out)['n']} items of {n} met")
        title = f"{n:,} rows twice, joined by id, --memory {limit}"
        yield below(PART, f"{title}: peak resident memory", found.rss, 2e9, megabytes, f"{found.wall:.0f} s on the clock")
        yield at_most(
            PART, f"{title}, beside DuckDB's bare join", Duel((found.cpu,), (bare.cpu,)), 2.5, f"start-up alone {start.cpu:.2f} s"
        )


# ---- one file, beside a bare GROUP BY --------------------------------------------------------------------------------


def counted(*, quick: bool) -> Iterator[Row]:
    n = 1_000_000 if quick else 10_000_000
    rounds = 2 if quick else 5
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        for name, columns in SOURCES.items():
            large, small = Path(folder, "large.parquet"), Path(folder, "small.parquet")
            _write(large, columns, n)
            _write(small, columns, 1000)
            yield from _rows(f"{n:,} rows, {name}", large, small, env, rounds)


def _rows(title: str, large: Path, small: Path, env: dict[str, str], rounds: int) -> Iterator[Row]:
    ours = [*command(), "measure", "--metric", "accuracy,macro_f1", "--format", "json"]
    _verify(run([*ours, str(large)], env), large)
    taken: dict[str, list[Child]] = {"ours": [], "start": [], "group": [], "empty": []}
    for _ in range(rounds):
        taken["ours"].append(run([*ours, str(large)], env))
        taken["group"].append(run(_group_by(large), env))
        taken["start"].append(run([*ours, str(small)], env))
        taken["empty"].append(run(_group_by(small), env))
    cpu = {name: [child.cpu for child in children] for name, children in taken.items()}
    start, empty = min(cpu["start"]), min(cpu["empty"])
    whole = Duel(tuple(cpu["ours"]), tuple(group - empty + start for group in cpu["group"]))
    yield at_most(
        PART,
        f"{title}: beside GROUP BY + our start-up",
        whole,
        1.5,
        f"GROUP BY alone {median(cpu['group']) - empty:.2f} s, our start-up with intervals (same command, 1,000 rows) {start:.2f} s",
    )
    yield at_most(
        PART, f"{title}: beside a process that only imports DuckDB and groups", Duel(tuple(cpu["ours"]), tuple(cpu["group"])), None
    )
    free = run([*ours, str(large)], env, one_core=False)
    yield below(PART, f"{title}: peak resident memory", max(free.rss, *(child.rss for child in taken["ours"])), 1e9, megabytes)


def _group_by(path: Path) -> list[str]:
    text = f"import duckdb; print(duckdb.connect().execute(\"SELECT truth, prediction, COUNT(*) FROM '{path}' GROUP BY ALL\").fetchall())"
    return [sys.executable, "-c", text]


def _write(path: Path, columns: str, n: int) -> None:
    """Skewed classes, four of five predictions right, most errors on the next class."""
    import duckdb

    rows = f"""
        SELECT i, truth, (CASE WHEN u < 0.8 THEN truth WHEN u < 0.96 THEN (truth + 1) % {CLASSES} ELSE v END)::INTEGER AS prediction
        FROM (SELECT i, (pow(hash(i, 1) / 18446744073709551616.0, 2) * {CLASSES})::INTEGER % {CLASSES} AS truth,
                     hash(i, 2) / 18446744073709551616.0 AS u, hash(i, 3) % {CLASSES} AS v FROM range({n}) AS r(i))"""
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT {columns} FROM ({rows})) TO '{path}' (FORMAT parquet)")


def _verify(child: Child, path: Path) -> None:
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
