"""The options of `steelyard measure`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import COLUMNS, ENGINE, INTERVALS, LOG_CHOICES, MEMORY, RATIO, Option

OPTIONS = (
    Option(name="counts", command=True, metavar="K/N", help="Counts instead of a source: 85/100 means 85 right out of 100."),
    Option(name="tp", command=True, type=int, least=0, help="True positives, with --fp and --fn, instead of a source."),
    Option(name="fp", command=True, type=int, least=0, help="False positives."),
    Option(name="fn", command=True, type=int, least=0, help="False negatives."),
    Option(name="tn", command=True, type=int, least=0, help="True negatives, for metrics that need them."),
    Option(
        name="metric",
        kind="list",
        metavar="NAME",
        repeat=True,
        help="What to measure: accuracy, macro_f1, each_recall, fbeta:2, mcc, mean, auc, pass@5 ... Repeat or join by "
        "commas.  [default: depends on the columns]",
    ),
    Option(name="positive", metavar="LABEL", help="Positive class of f1, precision, recall and auc."),
    Option(name="labels", kind="list", metavar="A,B,C", help="The classes, in order; any other prediction counts as wrong."),
    Option(name="by", kind="list", metavar="COLUMN", repeat=True, help="Also report each value of this column separately."),
    *COLUMNS,
    RATIO,
    *INTERVALS,
    *LOG_CHOICES,
    *ENGINE,
    MEMORY,
    Option(
        name="interval",
        metavar="METHOD",
        registry="steelyard.estimate.measure_options:intervals",
        help="Interval method.  [default: the best for each metric]",
    ),
    Option(
        name="at_least",
        type=float,
        metavar="VALUE",
        help="Also say how probable it is that the metric is at least VALUE; takes the interval bayes, or hdi if asked for.",
    ),
    Option(
        name="about",
        command=True,
        metavar="KEY=VALUE",
        repeat=True,
        help="For --format every-eval-ever: model=DEVELOPER/NAME, evaluation=NAME, organization=NAME, relationship, dataset ... Repeat.",
    ),
    Option(name="details", command=True, switch=True, help="Also print standard errors."),
)
