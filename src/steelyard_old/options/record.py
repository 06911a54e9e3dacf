"""The options of `steelyard record`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.options.option import (
    CONFIG,
    DIRECTORY,
    HISTORY,
    KEEP_ANSWERS,
    LOG_PARTS,
    MISSING,
    MODEL_ON_RECORD,
    POSITIVE_OF_LABELS,
    RATIO,
    RUN_COLUMNS,
    SPEC,
    TASK_ON_RECORD,
    Option,
)

OPTIONS = (
    replace(TASK_ON_RECORD, required=True),
    replace(MODEL_ON_RECORD, required=True),
    SPEC,
    DIRECTORY,
    Option(name="update", switch=True, help="Replace an existing entry; the history keeps the old value."),
    Option(name="reason", metavar="TEXT", help="Why this value is right; stored in the entry and in the history."),
    Option(
        name="protocol", kind="pairs", metavar="KEY=VALUE", repeat=True, help="How the run was made: prompt, decoding, scorer. Repeatable."
    ),
    Option(
        name="metric", metavar="NAME", takes="metric", help="Metric to record.  [default: accuracy for right or wrong, mean for scores]"
    ),
    POSITIVE_OF_LABELS,
    Option(name="scale", choices=("percent", "fraction", "raw"), help="Scale of the value.  [default: fraction for scores in 0..1]"),
    Option(
        name="higher_is_better",
        flag="--higher-is-better/--lower-is-better",
        switch=True,
        help="Direction of the metric.  [default: the metric's]",
    ),
    Option(
        name="theta",
        unset="none is stored",
        kind="drop",
        metavar="DROP",
        help="Smallest drop that matters, to store with the reference; 1% is 1% of it.",
    ),
    Option(
        name="margin",
        unset="none is stored",
        kind="drop",
        metavar="DROP",
        help="Drop to tolerate, to store with the reference; 5% is 5% of it.",
    ),
    Option(name="alpha", unset="none is stored", type=float, help="False-alarm rate to store with the reference."),
    Option(name="beta", unset="none is stored", type=float, help="Miss rate to store with the reference."),
    Option(name="sigma", unset="none is stored", type=float, help="Standard deviation of one item's score, to store with the reference."),
    Option(name="deterministic", switch=True, help="The model gives the same answers every time, so one run is enough."),
    Option(name="ids", choices=("kept", "hashed"), help="Store ids as they are, or only their hashes.  [default: kept]"),
    Option(name="no_items", turns_off="items", switch=True, help="Store only the value; later checks are then unpaired and weaker."),
    Option(
        name="by",
        unset="no slices are stored",
        kind="list",
        takes="slices",
        metavar="COLUMN",
        repeat=True,
        help="Also store the value of this column for each item, so that check --by can judge each value separately.",
    ),
    Option(
        name="range",
        type=float,
        metavar="LO HI",
        pair=True,
        help="Smallest and largest possible score; an item that counts as wrong gets the worse of the two.",
    ),
    MISSING,
    CONFIG,
    HISTORY,
    KEEP_ANSWERS,
    *RUN_COLUMNS,
    RATIO,
    *LOG_PARTS,
)
