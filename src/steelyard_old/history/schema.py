"""The tables of the history, and the steps that bring an older one up to date.

Version 1 had no protocol and no digest of the outcomes. Steps are only ever added; a database of a later version is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

RUNS, LISTS, OUTCOMES, VERSIONS = "steelyard_runs", "steelyard_item_lists", "steelyard_outcomes", "steelyard_versions"
NIGHTS, NIGHT_VALUES, WATCHES = "steelyard_nights", "steelyard_night_values", "steelyard_watches"

# The order of the columns is that of a row as it is written and read.
COLUMNS = (
    *("id", "time", "command", "task", "model", "spec", "protocol", "metric", "scale", "higher_is_better", "n", "estimate", "tally"),
    *("verdict", "p_value", "difference", "lower", "upper", "threshold", "theta", "margin", "alpha", "design", "reference"),
    *("by", "commit", "tool", "signature", "outcomes", "result"),
)
MAPPINGS = ("spec", "protocol", "tally", "reference", "result")  # kept as JSON

# SQLite and PostgreSQL understand all of it but the name of a column of bytes.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        f"""CREATE TABLE {RUNS} (
            "id" TEXT NOT NULL PRIMARY KEY,
            "time" TEXT NOT NULL,
            "command" TEXT NOT NULL,
            "task" TEXT NOT NULL,
            "model" TEXT NOT NULL,
            "spec" TEXT NOT NULL,
            "metric" TEXT NOT NULL,
            "scale" TEXT NOT NULL,
            "higher_is_better" INTEGER NOT NULL,
            "n" BIGINT,
            "estimate" DOUBLE PRECISION,
            "tally" TEXT,
            "verdict" TEXT,
            "p_value" DOUBLE PRECISION,
            "difference" DOUBLE PRECISION,
            "lower" DOUBLE PRECISION,
            "upper" DOUBLE PRECISION,
            "threshold" DOUBLE PRECISION,
            "theta" DOUBLE PRECISION,
            "margin" DOUBLE PRECISION,
            "alpha" DOUBLE PRECISION,
            "design" TEXT,
            "reference" TEXT,
            "by" TEXT,
            "commit" TEXT,
            "tool" TEXT,
            "signature" TEXT NOT NULL,
            "result" TEXT
        )""",
        f"""CREATE TABLE {LISTS} ("digest" TEXT NOT NULL PRIMARY KEY, "n" BIGINT NOT NULL, "ids" {{bytes}} NOT NULL)""",
        f"""CREATE TABLE {OUTCOMES} (
            "run" TEXT NOT NULL PRIMARY KEY REFERENCES {RUNS} ("id"),
            "items" TEXT NOT NULL REFERENCES {LISTS} ("digest"),
            "packing" TEXT NOT NULL,
            "scores" {{bytes}} NOT NULL
        )""",
        f"""CREATE INDEX {RUNS}_by_time ON {RUNS} ("time", "id")""",
        f"""CREATE INDEX {RUNS}_by_task ON {RUNS} ("task", "model", "time", "id")""",
    ),
    (
        f"""ALTER TABLE {RUNS} ADD COLUMN "protocol" TEXT NOT NULL DEFAULT '{{{{}}}}'""",
        f"""ALTER TABLE {RUNS} ADD COLUMN "outcomes" TEXT""",
        f"""CREATE INDEX {RUNS}_by_verdict ON {RUNS} ("verdict", "time", "id")""",
        f"""CREATE INDEX {RUNS}_by_model ON {RUNS} ("model", "time", "id")""",
    ),
)
VERSION = len(STEPS)
# Not a version: whoever does not know of it keeps it all the same, since the database does. SQLite reads the overview from it alone, where
# the runs themselves, with their whole answers, are a hundred times as long. PostgreSQL keeps long texts apart, and needs none.
SERIES_INDEX = (
    f"CREATE INDEX IF NOT EXISTS {RUNS}_by_series ON {RUNS} "
    '("task", "model", "metric", "spec", "time", "id", "verdict", "estimate", "threshold", "command")'
)
# Not a version of the tables: only who asked for answers has the table.
ANSWERS = "steelyard_answers"
MAKE_ANSWERS = (
    f'CREATE TABLE IF NOT EXISTS {ANSWERS} ("run" TEXT NOT NULL PRIMARY KEY REFERENCES {RUNS} ("id"), "answers" {{bytes}} NOT NULL)'
)
# Not a version either: only a history that has nights of a suite has them, so that reading an older one changes nothing. The values that
# were judged, each once; what happened in a series, in its order; and the state after it, which is a cache.
MAKE_NIGHTS = (
    f"""CREATE TABLE IF NOT EXISTS {NIGHT_VALUES} (
        "digest" TEXT NOT NULL PRIMARY KEY,
        "items" TEXT NOT NULL REFERENCES {LISTS} ("digest"),
        "packing" TEXT NOT NULL,
        "scores" {{bytes}} NOT NULL
    )""",
    f"""CREATE TABLE IF NOT EXISTS {NIGHTS} (
        "id" TEXT NOT NULL PRIMARY KEY,
        "series" TEXT NOT NULL,
        "place" BIGINT NOT NULL,
        "kind" TEXT NOT NULL,
        "night" TEXT,
        "time" TEXT NOT NULL,
        "by" TEXT,
        "commit" TEXT,
        "facts" TEXT NOT NULL,
        "decision" TEXT,
        UNIQUE ("series", "place"),
        UNIQUE ("series", "night")
    )""",
    f"""CREATE TABLE IF NOT EXISTS {WATCHES} ("series" TEXT NOT NULL PRIMARY KEY, "place" BIGINT NOT NULL, "state" {{bytes}} NOT NULL)""",
)
MAKE_VERSIONS = f'CREATE TABLE IF NOT EXISTS {VERSIONS} ("version" INTEGER NOT NULL PRIMARY KEY, "applied" TEXT NOT NULL)'


def steps_from(version: int, *, bytes_type: str) -> Sequence[tuple[int, tuple[str, ...]]]:
    """The statements that are still to be run, version by version.

    >>> [number for number, _ in steps_from(1, bytes_type="BLOB")]
    [2]
    """
    return [(number, tuple(sql.format(bytes=bytes_type) for sql in STEPS[number - 1])) for number in range(version + 1, VERSION + 1)]
