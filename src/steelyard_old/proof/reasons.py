"""Why an alternative that is better somewhere is still not the default: a sentence for each, printed beside its numbers.

Each follows the words "Not the default:". A test keeps them to claims that exist; the full grid keeps them to those that are needed.
"""

from __future__ import annotations

TEXTBOOK = "next to 0 and 1 it covers nothing; offered by name because it is taught everywhere"
PROMISE = "below nominal in places, and a bound is a promise"
LESS = "narrower because it covers less than the default"
PRIOR = "it rests on a prior, which is the user's to choose"
WIDE = "wider by a fifth or more with few items"
NO_TEST = "Tango's interval and the test of a margin always agree; this one has no such test"
FEWER = "it finds less, and the default exceeds alpha only where most items disagree"
DRAWN = "it covers no more, and needs draws where the default is a formula"
MOST_SPREAD = "it assumes the largest spread that the mean allows: far wider where there are items enough for t"
ANY_N = "wider where items are many; it is there for whoever needs a guarantee at any n"
VARIES = "wider by half or more with few groups, and its width varies wildly there"
MANY_POSITIVES = "it covers far less with few positives; the rule is the same method where they are many"
ALARMS = "it alarms in a tenth of the cases or more where the positives of one system spread more than those of the other"
FEW_OFF = "narrower because it covers less where few items are off an end"

UNSEEN = "too sure where rare items differ by much more than those seen, or where the repeats are unequal; offered by name"

PROPORTION = "a proportion"
BOUNDS = ("a lower bound of a proportion", "an upper bound of a proportion")
TABLES = ("macro F1", "MCC", "Cohen's kappa", "balanced accuracy", "F2 of one class")
PAIRED, MANY = "a paired difference", "a paired difference of many items"
UNPAIRED, UNPAIRED_BOUND = "an unpaired difference", "a lower bound of an unpaired difference"
FLIPS, ONE_SIDE = "right or wrong on the same items", "right or wrong on the same items, one side"
SUITE = "a suite of guards, broken ones called"
ENDS = "each end of the interval after stopping early, right or wrong"

LOWER_OF_GROUPS = ("a lower bound of a proportion of groups", "a lower bound of a mean of groups")
FEW_INTERVALS = (
    "AUC with few positives",
    "a lower bound of AUC with few positives",
    "a paired difference of AUCs, few positives",
    "a lower bound of a paired difference of AUCs, few positives",
    "an unpaired difference of AUCs, few positives",
)
FEW_PRECISION = ("average precision with few positives", "a lower bound of average precision with few positives")
FEW_TESTS = ("AUC on the same items, few positives", "AUC on different items, few positives")
BOUNDED = (
    "a mean of weighted items",
    "pass@2",
    "Brier score",
    "a lower bound of a mean of bounded scores",
    "an upper bound of a mean of bounded scores",
)

BELIEFS = "answers with P(candidate better) or P(worse) of 0.9 or more, small differences"
WIDTHS = "a proportion, stopped at a width"
CLIFFS = "a mean of bounded scores, around 25 items"

KNOWN_RANGE = "scores of a known range on different items"
REASONS: dict[tuple[str, str], str] = {
    ("an unpaired difference of means of a known range", "t"): LESS,
    (KNOWN_RANGE, "welch-t"): "it finds as much where nothing is: equal systems are told apart in most runs with few items against many",
    (
        "macro F1 of rare classes on different items",
        "z without a warning",
    ): "the same test, counted only where no warning of small classes is given",
    **{
        (WIDTHS, method): "a plan is about the number of labels; who stops early may ask for it" for method in ("wilson", "clopper-pearson")
    },
    **{(CLIFFS, method): why for method, why in (("t", LESS), ("wilson-mean", MOST_SPREAD))},
    (BELIEFS, "the prior scale that fits"): "only the user knows how large true differences are, and states it as the prior scale",
    (PROPORTION, "agresti-coull"): "wider, and before it is cut it reaches beyond 0 and 1",
    (PROPORTION, "jeffreys"): "its plain ends exclude 0 when nothing is right, and 1 when all is",
    (PROPORTION, "clopper-pearson"): "an eighth wider with 20 items; it is the default of one-sided bounds",
    (PROPORTION, "mid-p"): "wider with few items, and no formula to check by hand",
    (PROPORTION, "bayes"): "the ends of jeffreys; for whoever wants the meaning of a posterior",
    (PROPORTION, "hdi"): "the shortest pays with coverage, which is below nominal on average",
    **{(PROPORTION, method): TEXTBOOK for method in ("wald", "percentile")},
    **{(bound, method): PROMISE for bound in BOUNDS for method in ("wilson", "agresti-coull", "jeffreys", "mid-p")},
    **{(bound, method): TEXTBOOK for bound in BOUNDS for method in ("wald", "percentile")},
    **{("F1 of one class", method): WIDE for method in ("clopper-pearson", "mid-p")},
    **{(bound, "wilson"): PROMISE for bound in ("a lower bound of F1", "an upper bound of F1")},
    **{("a lower bound of F1", method): PROMISE for method in ("mid-p", "agresti-coull", "jeffreys", "bca", "percentile", "delta")},
    **{(bound, "bayes"): PRIOR for bound in ("a lower bound of F1", "an upper bound of F1")},
    **{(table, "delta"): LESS for table in TABLES},
    **{(table, "percentile"): LESS for table in TABLES if table not in ("MCC", "Cohen's kappa")},
    **{(table, method): PRIOR for table in TABLES for method in ("bayes", "hdi")},
    **{("a mean of bounded scores", method): LESS for method in ("t", "percentile", "bca")},
    **{("a proportion of groups", method): LESS for method in ("delta", "percentile", "bca")},
    ("a proportion of unequal groups", "delta"): LESS,
    **{(family, "percentile"): LESS for family in ("macro F1 of unequal groups", "a paired difference of unequal groups")},
    **{(groups, method): DRAWN for groups in ("a mean of groups", "macro F1 of groups") for method in ("percentile", "bca")},
    ("a mean of bounded scores", "betting"): ANY_N,
    ("a mean of bounded scores", "studentized"): FEW_OFF,
    ("a proportion of groups", "studentized"): VARIES,
    ("a proportion of groups", "wilson, groups ignored"): "it treats the items of a group as independent; only the user can say so",
    ("a ratio of sums", "studentized"): "a quarter wider with 30 texts",
    **{("a ratio of sums in groups", method): LESS for method in ("percentile", "bca")},
    ("a ratio of sums in groups", "studentized"): "without an end to its width with ten groups that are much alike",
    ("a paired difference of skewed scores in groups", "percentile"): LESS,
    ("a paired difference of AUCs in groups, few positives", "delong"): LESS,
    **{(family, method): LESS for family in ("RMSE", "RMSE of heavy tails") for method in ("percentile", "bca", "delta")},
    **{(family, method): FEW_OFF for family in BOUNDED for method in ("t", "percentile", "bca")},
    **{(family, "studentized"): FEW_OFF for family in BOUNDED if family != "a mean of weighted items"},
    **{(family, "betting"): ANY_N for family in BOUNDED if family != "a mean of weighted items"},
    **{(family, "wilson-mean"): MOST_SPREAD for family in BOUNDED if not family.startswith("an upper")},
    **{("a proportion of items asked again", method): LESS for method in ("percentile", "bca")},
    **{("log loss", method): LESS for method in ("percentile", "bca")},
    **{("a lower bound of a proportion of groups", method): LESS for method in ("delta", "percentile", "bca")},
    **{(family, "percentile"): LESS for family in ("a proportion of weighted items", "a lower bound of a mean of groups")},
    ("a lower bound of macro F1", "delta"): LESS,
    ("a lower bound of AUC", "percentile"): LESS,
    **{(family, "studentized"): VARIES for family in ("a mean of groups", *LOWER_OF_GROUPS)},
    **{(family, "percentile"): LESS for family in ("average precision", "AUC")},
    **{(family, "delong"): LESS for family in ("AUC", "a lower bound of AUC", *FEW_INTERVALS)},
    **{(family, "bca"): LESS for family in ("AUC", "a lower bound of AUC", "average precision")},
    **{(family, "delta"): LESS for family in ("average precision", *FEW_PRECISION)},
    **{(family, "delong"): ALARMS for family in FEW_TESTS},
    **{(f"{how} difference of AUCs", "delong"): MANY_POSITIVES for how in ("a paired", "an unpaired")},
    **{("a paired difference of ratios", method): LESS for method in ("percentile", "bca")},
    ("equal repeats of the same items", "within-item"): "it speaks of these very items, not of new ones of their kind",
    **{("equal repeats of the same items", test): UNSEEN for test in ("sign-flip", "paired-t", "wilcoxon")},
    **{("unequal repeats of the same items", test): UNSEEN for test in ("sign-flip", "paired-t")},
    ("unequal repeats of the same items", "within-item"): "it speaks of these very items, not of new ones of their kind",
    ("stopping early, right or wrong", "sprt"): "it must know the discordance, and loses its power where that is wrong",
    (ENDS, "e-mcnemar"): "its rule stops later, with more items to rest on; the ends belong to the rule",
    (ENDS, "sprt"): "its rule must know the discordance; the ends belong to the rule",
    **{("calibration error", method): LESS for method in ("percentile", "bca")},
    **{(family, method): LESS for family in (PAIRED, MANY) for method in ("newcombe", "wald", "percentile", "bca", "delta")},
    **{(family, "bonett-price"): NO_TEST for family in (PAIRED, MANY)},
    **{(family, "bayes"): PRIOR for family in (PAIRED, MANY, UNPAIRED)},
    **{(f"{of}a paired difference of scores", method): UNSEEN for of in ("", "a lower bound of ") for method in ("t", "bca", "percentile")},
    **{(f, "miettinen-nurminen"): "found by iteration, where Newcombe's is a formula to check by hand" for f in (UNPAIRED, UNPAIRED_BOUND)},
    (UNPAIRED, "agresti-caffo"): "it lies around a difference shrunk towards 0, not around the one that was seen",
    (UNPAIRED, "wald"): LESS,
    **{(family, test): FEWER for family in (FLIPS, ONE_SIDE) for test in ("mcnemar-exact", "randomization", "sign-flip")},
    ("a guard on a bare number, other items", "declared sigma"): "far below alpha for good models, so it finds less",
    (SUITE, "bh"): "it bounds the share of false calls, not the chance of any: a gate should not stop a healthy night",
    (SUITE, "none"): "it alarms in most healthy nights of twenty guards",
    ("stopping early, right or wrong", "e-mcnemar"): "it never stops for a pass, and pays in items; the default stops for either answer",
    (ENDS, "lan-demets"): "asymptotic, where the default is exact",
    (ENDS, "mcnemar"): "its rule lets drops pass where one looks often; the ends belong to the rule",
    ("the lower end after stopping early, scores with rare falls", "lan-demets, no range"): LESS,
    ("the mean of bounded scores, at every item at once", "betting sequence for a width"): "tuned to one width, known beforehand",
}

# Needed on the quick grid only, where few settings and few runs show what more of them take back.
ON_QUICK_ONLY: frozenset[tuple[str, str]] = frozenset(
    {
        (PROPORTION, "agresti-coull"),
        ("macro F1", "percentile"),
        ("balanced accuracy", "percentile"),
        ("average precision", "percentile"),
        ("a mean of bounded scores", "studentized"),
        ("pass@2", "studentized"),
        (CLIFFS, "wilson-mean"),
        ("average precision", "delta"),
        ("a lower bound of a mean of bounded scores", "wilson-mean"),
        ("a lower bound of a mean of bounded scores", "studentized"),
        ("an upper bound of a mean of bounded scores", "studentized"),
        ("a proportion of groups", "studentized"),
        ("a lower bound of a proportion of groups", "studentized"),
    }
)
