"""`sy.check_split` of a million rows: do train and test share items? `--quick` takes a tenth of them.

Ours reads two Parquet files, meets ids and texts, and finds every pair of similar texts. DuckDB's bare join finds equal texts alone; no
peer answers the whole question. What was planted must be found, and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.timing import Child, Duel, Row, Unmeasured, Wrong, at_most, below, environment, megabytes, run, scratch, seconds, unjudged

TEST = 10  # one row of so many is for testing
PLANTED = 500  # texts of test that are in train, too; and as many that are but for one word
VOCABULARY = 50_000


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    n = 100_000 if quick else 1_000_000
    rounds = 1 if quick else 2
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        for kind, make in (("long-tailed words", of_words), ("one template", of_template)):
            for row in checked(f"{n:,} rows, {kind}", make(Path(folder), n), env, rounds):
                yield unjudged(row) if quick or make is of_template else row  # the goals speak of texts as people write them
    if quick:
        yield Unmeasured(("split.time", "split.memory"), f"{n:,} rows were checked: a million take too long for --quick")


def checked(title: str, parts: tuple[Path, Path, dict[str, int]], env: dict[str, str], rounds: int) -> Iterator[Row]:
    train, test, expected = parts
    taken: dict[str, list[Child]] = {"ours": [], "join": []}
    for _ in range(rounds):
        taken["ours"].append(run(ours(train, test), env, one_core=False))
        taken["join"].append(run(join(train, test), env, one_core=False))
    found = json.loads(taken["ours"][0].out)
    if wrong := {name: found[name] for name, count in expected.items() if found[name] != count}:
        raise Wrong(f"{title}: {wrong} instead of {expected}")
    if int(taken["join"][0].out) != expected["texts"]:
        raise Wrong(f"{title}: the join found {taken['join'][0].out.strip()} equal texts")
    cpu = {name: tuple(child.cpu for child in children) for name, children in taken.items()}
    wall = median(child.wall for child in taken["ours"])
    note = f"user and system of all threads; {wall:.1f} s on the clock; {found['near']:,} similar texts found, {found['unsure']:,} unsure"
    yield below("split.time", f"{title}: CPU time", median(cpu["ours"]), seconds, note)
    yield below("split.memory", f"{title}: peak resident memory", max(child.rss for child in taken["ours"]), megabytes)
    join_note = "the peer finds equal texts alone"
    yield at_most(None, f"{title}: beside DuckDB's bare join of lower-case texts", Duel(cpu["ours"], cpu["join"]), join_note)


def ours(train: Path, test: Path) -> list[str]:
    text = (
        f"import json, steelyard as sy; found = sy.check_split({str(train)!r}, {str(test)!r}).overlaps[0]; "
        "print(json.dumps(found.to_dict()))"
    )
    return [sys.executable, "-c", text]


def join(train: Path, test: Path) -> list[str]:
    query = f"SELECT COUNT(*) FROM '{test}' AS b SEMI JOIN '{train}' AS a ON lower(a.text) = lower(b.text)"
    return [sys.executable, "-c", f"import duckdb; print(duckdb.connect().execute({query!r}).fetchone()[0])"]


# ---- data --------------------------------------------------------------------------------------------------------------


def of_words(folder: Path, n: int) -> tuple[Path, Path, dict[str, int]]:
    """Texts of 20 to 30 words, few of them common and most of them rare, as in questions; no two of these are similar by chance."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, VOCABULARY + 1)
    sizes = rng.integers(20, 31, n)
    drawn = rng.choice(VOCABULARY, int(sizes.sum()), p=share / share.sum())
    words = np.array([f"w{code:x}" for code in range(VOCABULARY)], dtype=object)[drawn]
    ends = np.cumsum(sizes)
    texts = [" ".join(words[end - size : end]) for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)]
    test, train = texts[: n // TEST], texts[n // TEST :]
    test[:PLANTED] = [text.upper() for text in train[:PLANTED]]
    test[PLANTED : 2 * PLANTED] = [one_word_changed(text) for text in train[PLANTED : 2 * PLANTED]]
    return *written(folder, train, test), {"ids": 0, "texts": PLANTED, "near": PLANTED, "unsure": 0}


def of_template(folder: Path, n: int) -> tuple[Path, Path, dict[str, int]]:
    """Texts that differ by two numbers, so that every one is similar to thousands: the most that there is to compare."""
    texts = [
        f"Tom has {i} apples, gives away a few of them to {i % 997} friends, and eats some of those that are left: how many has he now?"
        for i in range(n)
    ]
    order = np.random.default_rng(0).permutation(n)
    test, train = [texts[i] for i in order[: n // TEST]], [texts[i] for i in order[n // TEST :]]
    return *written(folder, train, test), {"ids": 0, "texts": 0, "near": len(test)}


def one_word_changed(text: str) -> str:
    return f"changed {text.partition(' ')[2]}"


def written(folder: Path, train: list[str], test: list[str]) -> tuple[Path, Path]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    places = folder / "train.parquet", folder / "test.parquet"
    begin = 0
    for place, texts in zip(places, (train, test), strict=True):
        pq.write_table(pa.table({"id": [f"item-{i}" for i in range(begin, begin + len(texts))], "text": texts}), place)
        begin += len(texts)
    return places
