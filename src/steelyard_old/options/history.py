"""The options of `steelyard history`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.error_rates import ALPHA
from steelyard_old.options.option import CONFIG, HISTORY_OPTIONS, UNMATCHED, Option

READ = Option(
    name="history",
    kind="input",
    takes="history",
    metavar="URL",
    help="Database to read: sqlite:///runs.db or postgresql://host/db.  [default: from steelyard_old.toml]",
)
SERIES = Option(name="series", unset="the only one there is", metavar="NAME", help="Series of nights, if the history has several.")
LIMIT = Option(name="limit", type=int, takes="whole number", default=50, help="Runs per page.")
EXPERIMENT = Option(name="experiment", metavar="NAME", default="steelyard", help="MLflow experiment; created if it does not exist.")

OPTIONS = (
    READ,
    Option(name="task", unset="all tasks", metavar="NAME", help="Only runs of this task."),
    Option(name="model", unset="all models", metavar="NAME", help="Only runs of this model."),
    Option(
        name="spec",
        unset="all",
        kind="pairs_or_none",
        metavar="KEY=VALUE",
        repeat=True,
        help="Only runs with exactly this spec; 'none': runs without one. Repeatable.",
    ),
    Option(name="metric", unset="all metrics", metavar="NAME", takes="metric", help="Only runs of this metric."),
    Option(name="verdict", unset="all", choices=("pass", "regression", "inconclusive"), help="Only runs with this verdict."),
    Option(
        name="since", unset="from the first run on", metavar="TIME", takes="time", help="Only runs at or after this date or time (UTC)."
    ),
    Option(name="until", unset="to the newest run", metavar="TIME", takes="time", help="Only runs before this date or time (UTC)."),
    LIMIT,
    Option(name="after", unset="with the newest run", metavar="ID", help="Start the page after the run with this id."),
    Option(name="export", elsewhere="export_runs.path", kind="output", help="Write all matching runs to a .csv or .jsonl file."),
    Option(
        name="compare",
        elsewhere="compare_runs",
        metavar="ID ID",
        pair=True,
        help="Compare two runs item by item; the first characters of an id are enough.",
    ),
    Option(
        name="drop_answers",
        elsewhere="drop_answers",
        switch=True,
        help="Remove the answers kept by --keep-answers of all matching runs, for good; everything else stays.",
    ),
    Option(name="drift", elsewhere="drift", switch=True, help="Test whether the runs of --task and --model have drifted."),
    Option(name="alpha", type=float, default=ALPHA, help="With --drift: false-alarm rate over all looks together."),
    Option(name="k", type=float, default=0.5, help="With --drift: slack of the CUSUM per run, in standard deviations."),
    Option(name="h", type=float, default=5.0, help="With --drift: alarm threshold of the CUSUM, in standard deviations."),
    Option(name="draws", type=int, default=9999, help="With --drift: permutations for the change-point test."),
    Option(name="seed", type=int, default=0, help="With --drift: random seed of the permutations."),
    CONFIG,
)

DOES = ("export", "compare", "drift", "drop_answers")  # what the command does instead of listing
_WHERE = ("history", "config")
_WHICH = (*_WHERE, "task", "model", "spec", "metric", "since", "until")
USED = {  # the options that each of them uses; any other would be passed over
    "the list of runs": (*_WHICH, "verdict", "limit", "after"),
    "--export": (*_WHICH, "verdict"),
    "--compare": _WHERE,
    "--drop-answers": _WHICH,
    "--drift": (*_WHICH, "alpha", "k", "h", "draws", "seed"),
}

IMPORT = (
    replace(READ, help="Database to add to: sqlite:///runs.db or postgresql://host/db.  [default: from steelyard_old.toml]"),
    Option(name="task", metavar="NAME", help="Task of all reports.  [default: the dataset named before each report]"),
    Option(name="model", metavar="NAME", help="Model of all reports.  [default: the test that printed the report]"),
    CONFIG,
)

EXPORT = (
    Option(name="to", metavar="ADDRESS", help="mlflow:URI of a tracking server or database, or a .csv or .jsonl file."),
    *(option for option in OPTIONS if option.name in USED["--export"]),
    EXPERIMENT,
)

FILE = (  # of runs that Python writes to a file
    Option(name="path", takes="path", required=True, python_alone="--export", help="A .csv or .jsonl file."),
    *(option for option in OPTIONS if option.name in USED["--export"]),
)

SIMULATE = (
    READ,
    SERIES,
    Option(
        name="suite",
        kind="file",
        help="Suite file whose stored runs to use as nights, to try a budget before it has one.  [default: nights of a series]",
    ),
    Option(name="task", metavar="NAME", help="Use the stored runs of this task as nights; with --suite, only this task of it."),
    Option(name="model", metavar="NAME", help="Use the stored runs of this model as nights; with --suite, only this model of it."),
    Option(
        name="false_alarms",
        type=float,
        metavar="RATE",
        repeat=True,
        help="False alarms per year to try. Repeatable.  [default: 0.1, 1, 4 and 12]",
    ),
    Option(name="runs_per_year", type=float, help="Nights per year.  [default: from the suite]"),
    Option(
        name="target",
        choices=("items", "runs"),
        help="Generalize to new items of this kind, or only to new runs on these same items.  [default: from the suite]",
    ),
    Option(name="nights", type=int, least=1, help="Count only the newest nights; earlier ones are their baseline.  [default: all]"),
    Option(
        name="directory",
        metavar="DIR",
        takes="path",
        help="With --suite, --task or --model: directory of the references.  [default: from steelyard_old.toml]",
    ),
    CONFIG,
)

ACK = (
    SERIES,
    Option(name="accept", switch=True, help="The change is intended: compare later nights with it."),
    Option(name="fixed", switch=True, help="The cause is fixed: compare later nights with those before the regression again."),
    Option(name="reason", metavar="TEXT", help="Why, in one sentence; stored in the history."),
    replace(READ, help="Database of the nights: sqlite:///runs.db or postgresql://host/db.  [default: from steelyard_old.toml]"),
    CONFIG,
)

# What only Python has as a function of its own.
OPEN = (
    Option(name="url", required=True, python_alone="the command opens it itself", help="sqlite:///runs.db, or postgresql://host/db."),
    Option(
        name="base",
        takes="path",
        python_alone="the command starts where it is",
        help="The directory that a relative path starts from.  [default: the current one]",
    ),
    Option(
        name="create",
        switch=True,
        default=True,
        python_alone="the command knows whether it writes",
        help="Make the database if it is not there.",
    ),
)
ITEMS = Option(
    name="items",
    switch=True,
    default=True,
    python_alone="the command always does",
    help="Look at the items of the runs as well, where they were kept.",
)
TWO_RUNS = (
    *(option for option in OPTIONS if option.name in USED["--compare"]),
    Option(name="baseline", required=True, python_alone="an id of --compare", help="The id of a run, or its beginning."),
    Option(name="candidate", required=True, python_alone="an id of --compare", help="The id of the other."),
    replace(UNMATCHED, python_alone="--compare drops none"),
)
KEEP = (
    *HISTORY_OPTIONS,
    *(option for option in OPTIONS if option.name in ("config", "spec")),
    Option(
        name="protocol",
        takes="mapping",
        python_alone="the run says it",
        help="How the result was made.  [default: what a run has noted itself]",
    ),
    Option(
        name="columns",
        takes="mapping",
        python_alone="the options of the run say it",
        help="How the sources are read, as in `check`: a mapping of roles to columns.  [default: found by their names]",
    ),
    Option(
        name="directory",
        takes="path",
        python_alone="the options of the run say it",
        help="Where the references are.  [default: what steelyard.toml says, else references]",
    ),
    *(
        Option(
            name=name,
            takes="list" if name == "sources" else "list of mappings",
            required=True,
            python_alone="the command knows what it has read",
            help=said,
        )
        for name, said in {
            "sources": "What the result was read from: files, or tables in memory.  [default: the rows a run has written; else none]",
            "parts": "Of a suite: for each verdict its own sources, columns, protocol, missing and range.  [default: no items]",
        }.items()
    ),
)
