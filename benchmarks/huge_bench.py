"""Files larger than memory should need: joined by id beside pandas and a bare join, and a hundred million rows counted.

`--quick` takes a tenth of the rows; then no goal is judged. The files go to a temporary folder that is removed: 1e8 rows need about
2 GB of disk, pandas about 10 GB of memory. Runs only when asked for by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.files_bench import CLASSES, SOURCES, group_by, verify, write
from benchmarks.goals import GOALS
from benchmarks.timing import (
    Child,
    Duel,
    Row,
    Unmeasured,
    Wrong,
    at_least,
    at_most,
    below,
    command,
    environment,
    megabytes,
    run,
    scratch,
    seconds,
    unjudged,
)

KEYS = tuple(goal.key for goal in GOALS if goal.part == "huge")


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    if find_spec("pandas") is None or find_spec("pyarrow") is None:
        yield Unmeasured(KEYS, "pandas and pyarrow are not both installed (extra `bench`)")
        return
    for each in (joined, huge, fifty):
        for row in each(quick=quick):
            yield unjudged(row) if quick else row
    if quick:
        yield Unmeasured(KEYS, "a tenth of the rows was measured: the whole takes too long for --quick")


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
    ("CSV", "csv", "shuffled", "huge.join-csv-cpu", "huge.join-csv-memory"),
    ("Parquet", "parquet", "shuffled", "huge.join-parquet-cpu", "huge.join-parquet-memory"),
    ("JSON Lines", "jsonl", "shuffled", "huge.join-jsonl-cpu", "huge.join-jsonl-memory"),
    ("Parquet, ids in the same order", "parquet", "same", "huge.join-order-cpu", "huge.join-order-memory"),
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
            yield at_least(less_cpu, f"{title}: CPU", Duel((ours.cpu,), (peer.cpu,)))
            yield _smaller(less_memory, f"{title}: peak resident memory", ours, peer)
            a.unlink(), b.unlink()


def _smaller(key: str, what: str, ours: Child, peer: Child) -> Row:
    times = peer.rss / ours.rss
    return Row(what=what, ours=megabytes(ours.rss), peer=megabytes(peer.rss), times=(times,), key=key, value=times)


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
        write(large, SOURCES["ints"], n)
        write(small, SOURCES["ints"], 1000)
        ours = [*command(), "measure", "--metric", "accuracy,macro_f1", "--format", "json"]
        start, empty = run([*ours, str(small)], env), run(group_by(small), env)
        found, bare = run([*ours, str(large)], env, one_core=False), run(group_by(large), env, one_core=False)
        verify(found, large)
        peer = run([sys.executable, "-c", counts, str(large)], env, one_core=False)
        title = f"{n:,} rows of Parquet, counted"
        yield at_least("huge.count-cpu", f"{title}, beside pandas: CPU", Duel((found.cpu,), (peer.cpu,)))
        yield _smaller("huge.count-memory", f"{title}, beside pandas: peak resident memory", found, peer)
        whole = Duel((found.cpu,), (bare.cpu - empty.cpu + start.cpu,))
        yield at_most("huge.count-group-by", f"{title}, beside GROUP BY + our start-up", whole)
        yield below("huge.count-resident", f"{title}: peak resident memory", found.rss, megabytes)
        large.unlink()
        a, b = _write_two(Path(folder), "parquet", "same", n, ids="i")
        pair = run([*command(), "compare", str(a), str(b), "--format", "json"], env, one_core=False)
        yield below("huge.order-resident", f"{n:,} rows twice, ids in the same order, compared: peak resident memory", pair.rss, megabytes)
        yield below(None, f"{n:,} rows twice, ids in the same order, compared: CPU", pair.cpu, seconds)


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
        yield below("huge.fifty-resident", f"{title}: peak resident memory", found.rss, megabytes, f"{found.wall:.0f} s on the clock")
        whole = Duel((found.cpu,), (bare.cpu,))
        yield at_most("huge.fifty-join", f"{title}, beside DuckDB's bare join", whole, f"start-up alone {start.cpu:.2f} s")
