"""The options of `steelyard compare`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import COLUMNS, COMPARED_CHOICES, ENGINE, INTERVALS, MEMORY, PRIOR_SCALE, RATIO, Option

OPTIONS = (
    Option(name="flips", command=True, metavar="B,L,G,N", help="Bare counts: right with both, baseline only, candidate only, neither."),
    Option(
        name="counts",
        command=True,
        metavar="K/N",
        repeat=True,
        help="Bare counts of different items, twice: the baseline's, the candidate's.",
    ),
    Option(name="wins", command=True, metavar="W,T,L", help="Preferences: the candidate won, tied, lost."),
    Option(name="metric", metavar="NAME", help="What to compare.  [default: accuracy, or mean for scores, auc for probabilities]"),
    Option(name="positive", metavar="LABEL", help="The class that f1, precision, recall, auc are about."),
    Option(name="labels", metavar="A,B,C", help="The classes and their order; other predictions count as wrong."),
    Option(name="by", metavar="COLUMN", repeat=True, help="Also one comparison per value; for a leaderboard, ranks over its values."),
    Option(name="names", metavar="A,B", help="Names of the systems; with one long source, which models and in which order."),
    Option(name="design", choices=("paired", "unpaired"), help="paired by id, or different items.  [default: paired]"),
    Option(name="unmatched", choices=("error", "drop"), default="error", help="Ids in one run only."),
    *COLUMNS,
    RATIO,
    *INTERVALS,
    *COMPARED_CHOICES,
    *ENGINE,
    MEMORY,
    Option(
        name="interval",
        metavar="METHOD",
        help="tango, newcombe, bonett-price, wald, bayes, bca, percentile, delta, bounded-t, t, within-item, delong-wilson, "
        "delong; unpaired: newcombe, miettinen-nurminen, agresti-caffo, wald, bayes, delta, t, delong-wilson, delong.  "
        "[default: the best for the metric]",
    ),
    Option(
        name="test",
        metavar="METHOD",
        registry="steelyard.estimate.compare_options:TESTS",
        help="Test of the difference.  [default: the best for the metric]",
    ),
    Option(
        name="alternative",
        choices=("two-sided", "less", "greater"),
        default="two-sided",
        help="What would count as a difference: either way, or the candidate's number below or above the baseline's.",
    ),
    Option(name="margin", type=float, help="A difference that does not matter: tests equivalence and non-inferiority."),
    Option(name="correction", choices=("holm", "bh", "bonferroni", "none"), default="holm", help="For many pairs or slices."),
    PRIOR_SCALE,
    Option(name="flips_out", kind="output", help="Write all items that changed to a CSV file."),
    Option(name="cd_out", command=True, kind="output", help="Write the critical-difference diagram of a leaderboard over --by as SVG."),
    Option(name="details", command=True, switch=True, help="Also print standard errors."),
)
