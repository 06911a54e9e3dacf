"""The options of `steelyard compare`: those of a measurement, and which test, which side, which margin. Declared and checked once."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.measure import MeasureOptions
from steelyard_old.options.option import (
    ALTERNATIVE,
    COLUMNS,
    COMPARED_CHOICES,
    DETAILS,
    ENGINE,
    INTERVALS,
    LABELS,
    LIMITS,
    MEMORY,
    OF_DIFFERENCES,
    POSITIVE,
    PRIOR_SCALE,
    RATIO,
    TESTS,
    UNMATCHED,
    Option,
    check_choices,
    checked_if_given,
    not_offered,
)
from steelyard_old.tally.sides import TWO_SYSTEMS, Sides

CD_OUT = Option(
    name="cd_out", unset="not written", kind="output", help="Write the critical-difference diagram of a leaderboard over --by as SVG."
)
CORRECTION = Option(
    name="correction",
    choices=("holm", "bh", "bonferroni", "none"),
    default="holm",
    help="Correction of p-values for several pairs or slices.",
)
OPTIONS = (
    Option(
        name="flips",
        elsewhere="JointCounts.flips",
        metavar="B,L,G,N",
        help="Counts instead of sources: items that both got right, only the baseline, only the candidate, neither.",
    ),
    Option(
        name="counts",
        elsewhere="Counts.of",
        metavar="K/N",
        repeat=True,
        help="Counts on different items instead of sources; give it twice: baseline, then candidate.",
    ),
    Option(
        name="wins",
        elsewhere="compare_preferences.wins",
        metavar="W,T,L",
        help="Preference counts: how often the candidate won, tied, lost.",
    ),
    Option(
        name="metric",
        metavar="NAME",
        takes="metric",
        help="What to compare; `steelyard measure --help` lists the metrics."
        "  [default: accuracy, or mean for scores, auc for probabilities]",
        python="What to compare, a metric of `measure`.  [default: accuracy, or mean for scores, auc for probabilities]",
    ),
    POSITIVE,
    LABELS,
    Option(
        name="by",
        unset="no slices",
        kind="list",
        takes="slices",
        metavar="COLUMN",
        repeat=True,
        help="Also compare each value of this column separately; with three or more systems, rank them over its values.",
    ),
    Option(
        name="names",
        unset="as the sources are called",
        kind="list",
        takes="names of systems",
        metavar="A,B",
        help="Names of the systems; with one long source, the models to compare, in order.",
    ),
    Option(
        name="design",
        choices=("paired", "unpaired"),
        help="paired: same items, matched by id; unpaired: different items.  [default: paired]",
    ),
    UNMATCHED,
    *COLUMNS,
    RATIO,
    *INTERVALS,
    *COMPARED_CHOICES,
    *ENGINE,
    MEMORY,
    Option(
        name="interval",
        metavar="METHOD",
        noun="interval method",
        registry=OF_DIFFERENCES,
        help="Interval method.  [default: the best for the metric]",
    ),
    Option(
        name="test",
        metavar="METHOD",
        registry=TESTS,
        help="Test of the difference.  [default: the best for the metric]",
    ),
    ALTERNATIVE,
    Option(name="margin", type=float, help="Largest difference that does not matter; adds tests of equivalence and non-inferiority."),
    CORRECTION,
    PRIOR_SCALE,
    Option(name="flips_out", unset="not written", kind="output", help="Write all items that changed to a CSV file."),
    replace(CD_OUT, elsewhere="rank.cd_out"),
    DETAILS,
)

OF_TWO = ("flips", "counts", "wins", "design", "alternative", "flips_out")
RANKED = tuple(CD_OUT if option.name == "cd_out" else option for option in OPTIONS if option.name not in OF_TWO)  # three or more

# What may be said of bare counts, which have no items: any other option about items is a mistake, not something to pass over.
BARE = (
    *("flips", "counts", "wins", "names", "interval", "test", "alternative", "margin", "confidence_level", "side", "draws", "seed"),
    *("prior", "prior_scale", "output", "details"),
)
OF_TABLES = ("metric", "positive", "design")  # of --flips and --counts, not of --wins


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What was asked of a comparison. `own` holds what each system's own interval needs."""

    own: MeasureOptions
    interval: str | None = None
    test: str | None = None
    alternative: str = ALTERNATIVE.default
    margin: float | None = None
    design: str | None = None
    unmatched: str = UNMATCHED.default
    correction: str = CORRECTION.default
    about_runs: bool = False  # whether the question is about the runs of these very items
    sides: Sides = TWO_SYSTEMS  # how the two are spoken of
    per: str = ""  # of a ratio: the column below the line

    @property
    def level(self) -> float:
        return self.own.confidence_level

    @property
    def side(self) -> str:
        return self.own.side

    def choose(self, kind: str, asked: str | None, offered: tuple[str, ...], subject: str) -> str:
        """The method by name, or the first offered; another is an error that lists what there is."""
        if asked is None:
            return offered[0]
        if asked not in offered:
            raise not_offered(kind, asked, subject, offered)
        return asked


def settle_comparison(
    own: MeasureOptions,
    *,
    interval: str | None,
    test: str | None,
    alternative: str,
    margin: float | None,
    design: str | None,
    unmatched: str,
    correction: str,
) -> CompareOptions:
    """The options of a comparison, or an error that says which cannot be what it is."""
    check_choices(OPTIONS, interval=interval, test=test, design=design, unmatched=unmatched, correction=correction, alternative=alternative)
    margin = checked_if_given("margin", margin)
    if margin == 0:
        raise UsageError("cannot use margin", got="0", need="a number above 0", hint=LIMITS["margin"].hint)
    return CompareOptions(
        own=own,
        interval=interval,
        test=test,
        alternative=alternative,
        margin=margin,
        design=design,
        unmatched=unmatched,
        correction=correction,
    )
