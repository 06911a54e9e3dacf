"""The options of `steelyard plan estimate`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import LOG_PARTS, Option

INTERVALS = ("bayes", "wilson", "clopper-pearson", "jeffreys", "agresti-coull", "mid-p", "wald")

OPTIONS = (
    Option(
        name="metric",
        metavar="NAME",
        takes="metric",
        default="accuracy",
        help="Metric to estimate: accuracy, error, precision, recall, specificity or f1.",
    ),
    Option(
        name="expected",
        type=float,
        metavar="P",
        help="Expected value.  [default for a width: the worst case]",
        python="Expected value.  [default: for a width, the worst case]",
    ),
    Option(name="precision", type=float, metavar="P", help="Expected precision; f1 needs --recall too."),
    Option(name="recall", type=float, metavar="R", help="Expected recall; for precision, converts items into labels."),
    Option(name="specificity", type=float, metavar="S", help="Expected specificity."),
    Option(name="prevalence", type=float, metavar="SHARE", help="Share of positives; converts relevant items into labels."),
    Option(name="width", type=float, metavar="W", help="Goal: an interval at most this wide, from end to end."),
    Option(name="half_width", type=float, metavar="H", help="Goal: an interval of plus or minus this much; same as --width 2H."),
    Option(name="threshold", type=float, metavar="T", help="Goal: show that the metric is above T (an error: below T)."),
    Option(name="interval", noun="interval method", choices=INTERVALS, default="bayes", help="Interval that will be reported."),
    Option(
        name="confidence_level", type=float, default=0.95, help="Confidence level of the interval, or of the claim about the threshold."
    ),
    Option(name="assurance", type=float, default=0.8, help="Probability of reaching the goal."),
    Option(
        name="prior", type=float, default=0.5, help="Pseudo-counts of the prior of the credible interval: 0.5 is Jeffreys, 1 is uniform."
    ),
    Option(name="pilot", kind="input", metavar="SOURCE", help="Items labelled so far; they give the expected value and count towards n."),
    Option(
        name="design_prior", kind="numbers", metavar="A,B", help="Beta(A, B) distribution of the expected value, instead of one number."
    ),
    Option(name="have", kind="fraction", metavar="K/N", help="Labels so far, K right of N relevant items; asks how many more are needed."),
    Option(
        name="batch",
        type=int,
        metavar="N",
        help="Labels between two looks, if you stop as soon as the width is reached; the plan says what coverage the "
        "interval then has.  [default: 10]",
    ),
    Option(name="positive", metavar="LABEL", takes="anything", help="Positive class of f1, precision and recall in the pilot."),
    Option(name="truth", metavar="COLUMN", takes="column", help="Column of the pilot with the right answer."),
    Option(name="prediction", metavar="COLUMN", takes="column", help="Column of the pilot with the model's answer."),
    Option(name="score", metavar="COLUMN", takes="column", help="Column of the pilot with 0 for wrong and 1 for right."),
    Option(name="group", metavar="COLUMN", takes="column", help="Column of the pilot with groups; 'none' ignores one found by name."),
    *LOG_PARTS,
)
