"""The options of `steelyard bisect`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import ARGUMENT, CONFIG, LOG_PARTS, RUN_COLUMNS, Option

DELTA = Option(name="delta", type=float, default=0.05, help="Largest chance that the named commit is the wrong one.")
BATCH = Option(name="batch", type=int, default=16, help="Items to ask at a commit before choosing the next one.")
WHOLE_RUNS = Option(
    name="whole_runs",
    choices=("auto", "never", "always"),
    default="auto",
    help="Search with whole runs, which costs far more calls; auto does so only if the loss does not show on the items that changed.",
)
_SEARCH = (
    Option(name="good_run", kind="input", metavar="FILE", help="Run of the good commit, with its items.  [default: from the history]"),
    Option(name="bad_run", kind="input", metavar="FILE", help="Run of the bad commit, with its items.  [default: from the history]"),
    Option(
        name="log",
        metavar="PATTERN",
        help="Log file that the command writes, relative to its checkout.  [default: what it writes to the folder $STEELYARD_OUT]",
    ),
    Option(
        name="metric",
        metavar="NAME",
        takes="metric",
        help="Metric of an item.  [default: the past runs' metric, else accuracy or the mean score]",
    ),
    Option(
        name="higher_is_better",
        flag="--higher-is-better/--lower-is-better",
        switch=True,
        help="Direction of the metric.  [default: the metric's or the past run's]",
    ),
    BATCH,
    Option(
        name="rounds",
        type=int,
        help="Times an item may be asked at one commit.  [default: 3, or 1 if both ends answer as in their stored runs]",
    ),
    WHOLE_RUNS,
    Option(
        name="max_calls",
        type=int,
        help="Stop before asking more items than this.  [default: what git bisect would ask on all items; no limit for whole runs]",
    ),
    Option(name="timeout", type=float, metavar="SECONDS", help="Skip a commit if the command takes longer than this.  [default: no limit]"),
    Option(
        name="history",
        kind="input",
        takes="history",
        metavar="URL",
        help="Database with the runs of both ends: sqlite:///runs.db or postgresql://host/db.  [default: from steelyard_old.toml]",
    ),
    Option(name="task", unset="the only one there is", metavar="NAME", help="Task of the past runs, if the history has several."),
    Option(name="model", unset="the only one there is", metavar="NAME", help="Model of the past runs, if the history has several."),
    CONFIG,
    Option(name="repository", kind="directory", help="A directory of the git repository.  [default: the current one]"),
    *RUN_COLUMNS,
    *LOG_PARTS,
)

OPTIONS = (
    DELTA,
    *_SEARCH,
)

STEP = (
    Option(
        name="delta",
        type=float,
        help="Largest chance of judging this commit wrongly.  [default: 0.05 / number of steps git bisect takes]",
    ),
    *_SEARCH,
)

_ARGUMENTS = (
    Option(name="commits", required=True, python_alone=ARGUMENT, help="GOOD..BAD, two commits, branches or tags."),
    Option(
        name="command",
        takes="list",
        required=True,
        python_alone=ARGUMENT,
        help="The command and its arguments, as a list: it is run in a checkout of a commit, without a shell.",
    ),
)

IN_PYTHON = (
    *_ARGUMENTS,
    *OPTIONS,
    Option(
        name="tell",
        unset="silence",
        takes="function",
        python_alone="the command prints it",
        help="Called with a line for every batch that was asked.",
    ),
)

STEP_IN_PYTHON = (*_ARGUMENTS, *STEP)
