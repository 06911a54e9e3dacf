"""The options of `steelyard plan train`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import CONFIDENCE_LEVEL, SEED, Option

OPTIONS = (
    Option(name="target", type=float, required=True, help="Score to reach, e.g. .9; between 0 and 1 unless lower is better."),
    Option(name="size", metavar="COLUMN", help="Column with the training size.  [default: size, n, train_size, n_train, training_size]"),
    Option(name="score", metavar="COLUMN", help="Column with the score.  [default: score, value, test_score, or the name of a metric]"),
    Option(
        name="train_score",
        metavar="COLUMN",
        help="Column with the score on the training items; 'none' ignores it.  [default: train_score, or train_accuracy beside accuracy]",
    ),
    Option(
        name="seed_column",
        metavar="COLUMN",
        help="Column that tells which points belong to one curve; 'none': no such column.  [default: seed, repeat, run, fold, trial]",
    ),
    Option(
        name="n_test",
        metavar="COLUMN",
        takes="column or number",
        help="Column with the number of test items, or one number for all points; 'none' ignores it."
        "  [default: n_test or test_size, if there is such a column]",
    ),
    Option(
        name="lower_is_better",
        unset="as a LearningCurve says, else True",
        turns_off="higher_is_better",
        switch=True,
        help="The score is an error or a loss; the best is 0.",
    ),
    Option(
        name="learner",
        elsewhere="learning_curve.estimator",
        kind="input",
        metavar="PKG.MOD:NAME",
        help="Learner whose curve to measure first, on --data.",
    ),
    Option(
        name="data",
        elsewhere="learning_curve.X",
        kind="input",
        metavar="SOURCE",
        help="With --learner: table with one row per item, or - for standard input.",
    ),
    Option(name="truth", elsewhere="learning_curve.y", metavar="COLUMN", help="With --learner: column to predict."),
    Option(
        name="features",
        elsewhere="learning_curve.X",
        metavar="COLUMN",
        repeat=True,
        help="With --learner: columns to learn from.  [default: all others]",
    ),
    Option(
        name="group",
        elsewhere="learning_curve.groups",
        metavar="COLUMN",
        help="With --learner: column that groups items that belong together. 'none': no groups.",
    ),
    Option(
        name="metric",
        elsewhere="learning_curve.metric",
        metavar="NAME",
        help="With --learner: accuracy, macro_f1, auc ...; for numeric targets mae, rmse, r2.  [default: accuracy]",
    ),
    Option(
        name="positive",
        elsewhere="learning_curve.positive",
        metavar="LABEL",
        help="With --learner: positive class of f1, precision, recall and auc.",
    ),
    Option(
        name="sizes",
        elsewhere="learning_curve.sizes",
        metavar="N",
        repeat=True,
        help="With --learner: training sizes, repeated or joined by commas.  [default: 8 of them]",
    ),
    Option(
        name="repeats",
        elsewhere="learning_curve.repeats",
        type=int,
        help="With --learner: number of seeds, each with its own test rows.  [default: 5]",
    ),
    Option(
        name="test_size",
        elsewhere="learning_curve.test_size",
        type=float,
        help="With --learner: share of items to test on.  [default: 0.25]",
    ),
    Option(
        name="workers",
        elsewhere="learning_curve.workers",
        type=int,
        help="With --learner: fits to run in parallel (needs joblib); -1: one per core.  [default: 1]",
    ),
    CONFIDENCE_LEVEL,
    Option(name="draws", type=int, default=2000, help="Number of resampled curves for the interval."),
    SEED,
)
