"""The options of `steelyard plan estimate`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import LOG_PARTS, Option

INTERVALS = ("bayes", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "mid-p", "wald")

OPTIONS = (
    Option(name="metric", metavar="NAME", default="accuracy", help="accuracy, error, precision, recall, specificity or f1."),
    Option(name="expected", type=float, metavar="P", help="The value that is expected.  [default for a width: the worst that can happen]"),
    Option(name="precision", type=float, metavar="P", help="The precision that is expected; with --recall for f1."),
    Option(name="recall", type=float, metavar="R", help="The recall that is expected; for precision it turns items into labels."),
    Option(name="specificity", type=float, metavar="S", help="The specificity that is expected."),
    Option(name="prevalence", type=float, metavar="SHARE", help="The share of positives: turns relevant items into labels."),
    Option(name="width", type=float, metavar="W", help="Goal: an interval at most this wide, from end to end."),
    Option(name="half_width", type=float, metavar="H", help="Goal: plus or minus this much; the same as --width 2H."),
    Option(name="threshold", type=float, metavar="T", help="Goal: to show that the metric is above T (an error: below T)."),
    Option(name="interval", choices=INTERVALS, default="bayes", help="Which interval will be reported."),
    Option(name="confidence_level", type=float, default=0.95, help="Of the interval, or of the claim above a threshold."),
    Option(name="assurance", type=float, default=0.8, help="How likely the goal should be reached."),
    Option(name="prior", type=float, default=0.5, help="Pseudo-counts of the credible interval: 0.5 Jeffreys, 1 uniform."),
    Option(name="pilot", kind="input", metavar="SOURCE", help="Labelled items there are: they give the expected value, and they count."),
    Option(name="design_prior", metavar="A,B", help="Instead of one expected value, a Beta(A, B) of values."),
    Option(name="have", metavar="K/N", help="Labels there are, K of N relevant items: how many more?"),
    Option(
        name="batch",
        type=int,
        metavar="N",
        help="Labels between two looks, when one stops as soon as the width is reached; the plan says what the interval "
        "then covers.  [default: 10]",
    ),
    Option(name="positive", metavar="LABEL", help="The class that f1, precision and recall are about, in the pilot."),
    Option(name="truth", metavar="COLUMN", help="Column of the pilot with the right answer."),
    Option(name="prediction", metavar="COLUMN", help="Column of the pilot with the model's answer."),
    Option(name="score", metavar="COLUMN", help="Column of the pilot with 0 and 1 for wrong and right."),
    Option(name="group", metavar="COLUMN", help="Column of the pilot with groups; 'none' ignores one found by name."),
    *LOG_PARTS,
)
