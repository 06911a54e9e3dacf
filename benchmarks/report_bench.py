"""An HTML report of a million items: the time of the command that makes it, and the size of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row, Unmeasured, Wrong, below, command, environment, megabytes, run, scratch, seconds, unjudged


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    n = 100_000 if quick else 1_000_000
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        places = [_write(Path(folder, name), n, salt) for name, salt in (("a.parquet", 1), ("b.parquet", 2))]
        page = Path(folder, "page.html")
        for what, argv in {"measured": ["measure", places[0]], "compared": ["compare", *places]}.items():
            child = run([*command(), *argv, "--format", "html", "-o", str(page)], env, one_core=False)
            if "<html" not in page.read_text(encoding="utf-8")[:1000]:
                raise Wrong("report: no page was written")
            title = f"report of {n:,} items, {what}, from Parquet to the page"
            for row in (
                below("report.time", f"{title}: time on the clock", child.wall, seconds, f"{child.cpu:.2f} s of CPU"),
                below("report.size", f"{title}: size of the page", page.stat().st_size, megabytes, f"{page.stat().st_size / 1e3:,.0f} kB"),
            ):
                yield unjudged(row) if quick else row
            page.unlink()
    if quick:
        yield Unmeasured(("report.time", "report.size"), f"{n:,} items were reported: a million take too long for --quick")


def _write(place: Path, n: int, salt: int) -> str:
    import duckdb

    answer = f"CASE WHEN hash(i, {salt}) % 100 < 80 THEN hash(i) % 10 ELSE hash(i, {salt}, 7) % 10 END"
    with duckdb.connect() as con:
        rows = (
            f"SELECT 'item-' || i AS id, 'class ' || (hash(i) % 10) AS truth, 'class ' || ({answer}) AS prediction FROM range({n}) AS r(i)"
        )
        con.execute(f"COPY ({rows}) TO '{place}' (FORMAT parquet)")
    return str(place)
