"""`record` and `check` of a million items beside `compare` of the same two files, the size of the reference, and a suite of item checks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import (
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
    seconds,
    unjudged,
)

IDS = {"numbers as ids": "i", "texts as ids": "'item-' || lpad(CAST(i AS VARCHAR), 8, '0')"}
OF_A_TASK = 500  # items
JUDGED = ("guard.record", "guard.check", "guard.size", "guard.suite-time", "guard.suite-values-time", "guard.suite-growth")


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    n, tasks = (100_000, (5, 20)) if quick else (1_000_000, (50, 500))
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        found = [row for ids in IDS for row in beside(ids, Path(folder, ids.partition(" ")[0]), n, env, rounds=1 if quick else 3)]
        for row in (*found, *suites(Path(folder, "suite"), tasks, env)):
            yield unjudged(row) if quick else row
    if quick:
        yield Unmeasured(JUDGED, f"{n:,} items and {tasks[-1]} tasks: a million and 500 take too long for --quick")


def beside(ids: str, home: Path, n: int, env: dict[str, str], rounds: int) -> Iterator[Row]:
    """One run on record and another held against it, each beside `compare` of the two."""
    home.mkdir()
    places = [_write(home / name, IDS[ids], n, salt) for name, salt in (("a.parquet", 0), ("b.parquet", 9))]
    about = ["--task", "t", "--model", "m", "--format", "json"]
    taken: dict[str, list[float]] = {"compare": [], "record": [], "check": []}
    for turn in range(rounds + 1):  # the first compiles what is imported, and is not counted
        where = [*about, "--directory", str(home / f"references{turn}")]
        told = {
            verb: run([*command(), verb, *argv], env)
            for verb, argv in (
                ("compare", [*places, "--format", "json"]),
                ("record", [places[0], *where]),
                ("check", [places[1], *where, "--fail-on", "regression"]),
            )
        }
        compared, checked = json.loads(told["compare"].out), json.loads(told["check"].out)
        if checked["n"] != n or checked["flips"] != compared["flips"]:
            raise Wrong(f"check: {checked['n']} items with {checked['flips']}, compare has {compared['flips']}")
        for verb, child in told.items() if turn else ():
            taken[verb].append(child.cpu)
    peer = tuple(taken["compare"])
    yield at_most("guard.record", f"record of {n:,} items, {ids}: beside compare of the two files", Duel(tuple(taken["record"]), peer))
    yield at_most("guard.check", f"check of {n:,} items, {ids}: beside compare of the two files", Duel(tuple(taken["check"]), peer))
    size = sum(path.stat().st_size for path in (home / "references0").rglob("*") if path.is_file())
    yield below("guard.size", f"reference of {n:,} items, {ids}: size on disk", size, megabytes, f"{size / 1e3:,.0f} kB")


def suites(home: Path, tasks: tuple[int, int], env: dict[str, str]) -> Iterator[Row]:
    """Suites of item checks, one file and one reference for each task; and suites of bare numbers."""
    for kind, make, key in (
        (f"checks of {OF_A_TASK} items each", _suite, "guard.suite-time"),
        ("checks of bare numbers", _suite_of_values, "guard.suite-values-time"),
    ):
        taken = {}
        for many in tasks:
            place = make(home / make.__name__ / str(many), many)
            child = run([*command(), "check", "--suite", place, "--format", "json", "--fail-on", "regression"], env)
            if len(json.loads(child.out)["verdicts"]) != many:
                raise Wrong(f"suite: {many} tasks, but other verdicts")
            taken[many] = child.cpu
        few, many = tasks
        title = f"suite of {many} {kind}"
        yield below(key, f"{title}: CPU time", taken[many], seconds)
        growth = math.log(taken[many] / taken[few]) / math.log(many / few)
        yield below("guard.suite-growth", f"{title}: growth from {few} checks", growth, power)


def _suite_of_values(home: Path, many: int) -> str:
    """A reference file of its own for each task, as users have them."""
    (home / "references").mkdir(parents=True)
    lines = ['[suite]\ndirectory = "references"\n']
    for task in range(many):
        (home / "references" / f"t{task}.yaml").write_text("m:\n  - accuracy: 80\n    num_samples: 1000\n    sigma: 50\n", encoding="utf-8")
        lines.append(f'[[checks]]\ntask = "t{task}"\nmodel = "m"\nvalue = 80.{task % 9}\n')
    (home / "suite.toml").write_text("\n".join(lines), encoding="utf-8")
    return str(home / "suite.toml")


def _suite(home: Path, many: int) -> str:
    import steelyard as sy

    (home / "runs").mkdir(parents=True)
    lines = ['[suite]\ndirectory = "references"\n']
    for task in range(many):
        answers = [[(i * salt + task) % 10 < 8 for i in range(OF_A_TASK)] for salt in (7, 3)]
        sy.record(
            {"id": [f"q{i}" for i in range(OF_A_TASK)], "score": [int(each) for each in answers[0]]},
            task=f"t{task}",
            model="m",
            directory=home / "references",
        )
        text = "".join(f"q{i},{int(each)}\n" for i, each in enumerate(answers[1]))
        (home / "runs" / f"{task}.csv").write_text(f"id,score\n{text}", encoding="utf-8")
        lines.append(f'[[checks]]\ntask = "t{task}"\nmodel = "m"\nresult = "runs/{task}.csv"\n')
    (home / "suite.toml").write_text("\n".join(lines), encoding="utf-8")
    return str(home / "suite.toml")


def _write(place: Path, ids: str, n: int, salt: int) -> str:
    """Salt makes other answers, and a few more of them right, so that the second run passes."""
    import duckdb

    with duckdb.connect() as con:
        rows = f"SELECT {ids} AS id, CAST(hash(i, {salt}) % 1000 < {800 + salt} AS INTEGER) AS score FROM range(1, {n} + 1) AS r(i)"
        con.execute(f"COPY ({rows}) TO '{place}' (FORMAT parquet)")
    return str(place)
