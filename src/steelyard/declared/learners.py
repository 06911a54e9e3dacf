"""The options of `steelyard learners`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import PRIOR_SCALE, Option

METHODS = ("corrected-repeated-kfold", "corrected-resampled", "5x2cv-t", "5x2cv-f", "kfold", "disjoint-sets")

OPTIONS = (
    Option(
        name="data",
        command=True,
        kind="input",
        metavar="SOURCE",
        required=True,
        help="Table with one row per item: CSV, JSON Lines, Parquet ... or - for standard input.",
    ),
    Option(name="target", command=True, metavar="COLUMN", required=True, help="Column to be learned."),
    Option(
        name="features",
        command=True,
        metavar="COLUMN",
        repeat=True,
        help="Columns to learn from; repeat or join by commas.  [default: all others]",
    ),
    Option(
        name="group",
        command=True,
        metavar="COLUMN",
        help="Column of items that belong together: never in training and test at once. 'none': no groups.",
    ),
    Option(
        name="metric",
        metavar="NAME",
        default="accuracy",
        help="accuracy, macro_f1, f1, mcc, kappa, auc, brier ...; for numbers mae, rmse, r2, spearman.",
    ),
    Option(name="positive", metavar="LABEL", help="The class that f1, precision, recall, auc are about."),
    Option(name="method", choices=METHODS, default=METHODS[0], help="How the items are split and tested."),
    Option(name="folds", type=int, help="Parts of a partition.  [default: 10]"),
    Option(name="repeats", type=int, help="Partitions, or random splits.  [default: 10; kfold 1; corrected-resampled 30]"),
    Option(name="test_size", type=float, help="Share to test on.  [default: corrected-resampled 0.1, disjoint-sets 0.5]"),
    Option(
        name="stratify",
        flag="--stratify/--no-stratify",
        switch=True,
        help="Keep the shares of the classes in every split.  [default: for labels]",
    ),
    Option(name="absent", choices=("skip", "zero"), help="A class without cases in a macro average.  [default: undefined]"),
    Option(
        name="alternative",
        choices=("two-sided", "less", "greater"),
        default="two-sided",
        help="Of the test: candidate minus baseline is not 0, below 0, above 0.",
    ),
    Option(name="confidence_level", type=float, default=0.95, help="Of the interval, between 0 and 1."),
    Option(name="side", choices=("two", "lower", "upper"), default="two", help="A two-sided interval, or one bound."),
    PRIOR_SCALE,
    Option(name="seed", metavar="INT", default="0", help="Of the splits; 'none' draws one and prints it."),
    Option(name="workers", type=int, default=1, help="Splits at a time (needs joblib); -1: one per core."),
)
