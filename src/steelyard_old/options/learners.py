"""The options of `steelyard learners`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.options.option import ABSENT, CONFIDENCE_LEVEL, POSITIVE, PRIOR_SCALE, SEED, SIDE, Option

METHODS = ("corrected-repeated-kfold", "corrected-resampled", "5x2cv-t", "5x2cv-f", "kfold", "disjoint-sets")

OPTIONS = (
    Option(
        name="data",
        elsewhere="compare_learners.X",
        kind="input",
        metavar="SOURCE",
        required=True,
        help="Table with one row per item: CSV, JSON Lines, Parquet ... or - for standard input.",
    ),
    Option(name="target", elsewhere="compare_learners.y", metavar="COLUMN", required=True, help="Column to predict."),
    Option(
        name="features",
        elsewhere="compare_learners.X",
        metavar="COLUMN",
        repeat=True,
        help="Columns to learn from; repeat or join by commas.  [default: all others]",
    ),
    Option(
        name="group",
        elsewhere="compare_learners.groups",
        metavar="COLUMN",
        help="Column that groups items that belong together; a group is never split between training and test. 'none': no groups.",
    ),
    Option(
        name="metric",
        metavar="NAME",
        takes="metric",
        default="accuracy",
        help="Metric to compare by: accuracy, macro_f1, mcc, auc, brier ...; for numeric targets mae, rmse, r2, spearman.",
    ),
    POSITIVE,
    Option(name="method", choices=METHODS, default=METHODS[0], help="How to split the items and test the difference."),
    Option(name="folds", type=int, help="Number of folds.  [default: 10]"),
    Option(
        name="repeats",
        type=int,
        help="How many times to repeat the folds, or number of random splits.  [default: 10; kfold 1; corrected-resampled 30]",
    ),
    Option(name="test_size", type=float, help="Share of items to test on.  [default: corrected-resampled 0.1, disjoint-sets 0.5]"),
    Option(
        name="stratify",
        flag="--stratify/--no-stratify",
        switch=True,
        takes="auto",
        help="Keep the class proportions in every split.  [default: yes for labels]",
    ),
    ABSENT,
    Option(
        name="alternative",
        choices=("two-sided", "less", "greater"),
        default="two-sided",
        help="Alternative hypothesis: candidate minus baseline is not 0, below 0 or above 0.",
    ),
    CONFIDENCE_LEVEL,
    SIDE,
    PRIOR_SCALE,
    replace(
        SEED,
        help="Random seed of the splits; 'none' picks one and prints it.",
        python="Random seed of the splits; None picks one and says which.",
    ),
    Option(name="workers", type=int, help="Splits to fit in parallel (needs joblib); -1: one per core.  [default: 1]"),
    Option(
        name="groups",
        takes="anything",
        python_alone="the command has --group, a column",
        help="Groups of items that belong together, one value per item; a group is never split between training and test.",
    ),
    Option(
        name="names",
        takes="list",
        python_alone="the command says where they are",
        help="Names of the two learners.  [default: baseline and candidate]",
    ),
    Option(
        name="progress",
        unset="silence",
        takes="function",
        python_alone="the command prints it",
        help="Called with the number of splits done and in total.",
    ),
)

_OF_CURVE = {
    "repeats": (5, "Number of seeds, each with its own test rows."),
    "test_size": (0.25, "Share of items that each seed holds out to test on."),
}
CURVE = (  # of a learning curve, which the command draws for `plan train`
    *(
        option if option.name not in _OF_CURVE else replace(option, default=_OF_CURVE[option.name][0], help=_OF_CURVE[option.name][1])
        for option in OPTIONS
    ),
    Option(
        name="sizes",
        takes="list",
        python_alone="`plan train` has it",
        help="Training sizes.  [default: 8, from a thirty-second of the training rows to all of them]",
    ),
    Option(
        name="train_scores",
        switch=True,
        default=True,
        python_alone="`plan train` always does",
        help="Also score the rows that were trained on, for the gap between both.",
    ),
)
