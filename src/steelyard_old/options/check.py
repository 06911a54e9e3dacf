"""The options of `steelyard check`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.error_rates import BETA
from steelyard_old.options.option import (
    ARGUMENT,
    CONFIG,
    DIRECTORY,
    DRAWS,
    FALSE_ALARMS,
    HISTORY,
    HISTORY_OPTIONS,
    KEEP_ANSWERS,
    LOG_PARTS,
    MISSING,
    MODEL_ON_RECORD,
    NIGHT,
    POSITIVE_OF_LABELS,
    RATIO,
    RUN_COLUMNS,
    SEED,
    SPEC,
    TASK_ON_RECORD,
    UNMATCHED,
    Option,
)

OPTIONS = (
    TASK_ON_RECORD,
    MODEL_ON_RECORD,
    SPEC,
    DIRECTORY,
    Option(name="value", type=float, help="A single score instead of a run."),
    Option(
        name="suite",
        elsewhere="check_suite.path",
        kind="file",
        help="TOML file of several checks; gives one verdict, corrected for their number.",
    ),
    *NIGHT,
    Option(name="metric", metavar="NAME", takes="metric", help="Metric to compare.  [default: the reference's]"),
    POSITIVE_OF_LABELS,
    Option(name="scale", unset="the reference's", choices=("percent", "fraction", "raw"), help="Scale of value, theta, margin and sigma."),
    Option(
        name="higher_is_better",
        flag="--higher-is-better/--lower-is-better",
        switch=True,
        help="Direction of the metric.  [default: the reference's or the metric's]",
    ),
    FALSE_ALARMS,
    Option(
        name="beta",
        type=float,
        help=f"Miss rate (type II) assumed for the minimum detectable effect.  [default: the reference's, or {BETA:g}]",
    ),
    Option(name="sigma", type=float, help="Standard deviation of one item's score, if the reference is a single number."),
    Option(
        name="theta",
        unset="the reference's, or none",
        kind="drop",
        metavar="DROP",
        help="Smallest drop that matters; a pass has to rule it out. 1% is 1% of the reference.",
    ),
    Option(
        name="margin", kind="drop", metavar="DROP", help="Drop to tolerate; 5% is 5% of the reference.  [default: the reference's, or 0]"
    ),
    Option(
        name="recovery",
        type=float,
        metavar="SHARE",
        help="Share of the reference that the run has to reach, e.g. .99. Pass: shown to reach it. Regression: shown not to.",
    ),
    Option(name="num_samples", type=int, help="Number of items behind --value."),
    Option(
        name="target",
        choices=("items", "runs"),
        default="items",
        help="Generalize to new items of this kind, or only to new runs on these same items (needs repeats).",
    ),
    Option(
        name="range",
        type=float,
        metavar="LO HI",
        pair=True,
        help="Smallest and largest possible score of an item; the test then allows for rare large changes.",
    ),
    replace(UNMATCHED, help="What to do with items that only one side has."),
    MISSING,
    Option(
        name="by",
        unset="no slices",
        kind="list",
        takes="slices",
        metavar="COLUMN",
        repeat=True,
        help="Also judge each value of this column. A loss in any one value is a regression, even if the total is unchanged.",
    ),
    Option(
        name="critical_slices",
        kind="list",
        metavar="VALUE",
        repeat=True,
        help="Values of --by that are judged; the others are only shown. With --theta, a pass rules out that drop in each of them too.",
    ),
    Option(
        name="protocol",
        kind="pairs",
        metavar="KEY=VALUE",
        repeat=True,
        help="How the run was made; has to match the reference. Repeatable.",
    ),
    Option(
        name="fail_on",
        terminal="exit code",
        choices=("inconclusive", "regression"),
        default="inconclusive",
        help="With 'regression', an inconclusive check exits 0.",
    ),
    Option(
        name="otherwise",
        takes="mapping",
        python_alone="the notes of a run say it",
        help="Settings that count where neither the reference nor steelyard.toml says, such as alpha.  [default: those of the run's task]",
    ),
    replace(DRAWS, help="Number of resamples, if the test needs them."),
    replace(SEED, help="Random seed.", python=""),
    CONFIG,
    HISTORY,
    KEEP_ANSWERS,
    *RUN_COLUMNS,
    RATIO,
    *LOG_PARTS,
)

# In Python, where a suite is another function.
IN_PYTHON = (*(replace(option, required=option.required or option.name in ("task", "model")) for option in OPTIONS),)
# Of a suite, in Python.
SUITE = (
    Option(name="path", takes="path", required=True, python_alone=ARGUMENT, help="The suite file, TOML."),
    *(option for option in OPTIONS if option.name in ("directory", "config", "seed")),
    *HISTORY_OPTIONS,
    *(replace(option, elsewhere="") for option in NIGHT),
    Option(
        name="today", takes="date", python_alone="for reports of another day", help="The day by which entries are stale.  [default: today]"
    ),
    *(
        Option(name=name, takes="function", python_alone="a door gives its own", help=said)
        for name, said in {
            "evaluate": "Makes the verdict of a check that runs a model.  [default: such a check is refused]",
            "beforehand": "Sees every guard before the first is asked.  [default: nobody does]",
            "together": "Makes the verdict of all checks at once, from the file as it was read.  [default: each is judged by itself]",
        }.items()
    ),
)
