"""What can be asked for by name: every interval and every test is one object here, with the laws and designs it serves."""

from __future__ import annotations

from typing import NamedTuple

from steelyard.base.problem import SteelyardError
from steelyard.base.words import did_you_mean

KINDS = ("items", "repeats", "groups", "weights")
EVERY = (*KINDS, "strata")


class Method(NamedTuple):
    """laws: of the numbers it serves. kinds: of units. ranged: it needs a known range."""

    name: str
    says: str
    laws: tuple[str, ...]
    kinds: tuple[str, ...] = KINDS
    ranged: bool = False


def _listed(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


SHARE, MEAN, WHOLE, AREA, CURVE, FLIPS = ("share",), ("mean",), ("whole",), ("area",), ("curve",), ("flips",)
LABELS, SMOOTH = ("labels",), ("labels", "smooth")  # functions of totals: of a table of labels, and of anything
UNWEIGHTED = ("items", "repeats", "groups")
EXACT = ("items",)  # where every item is one 0 or 1

ONE = _listed(
    Method("wilson", "score interval of a share", SHARE, EVERY),
    Method("wald", "normal approximation, for comparison with other programs", SHARE, EXACT),
    Method("agresti-coull", "Wald's with z squared items added", SHARE, EXACT),
    Method("jeffreys", "equal tails after Jeffreys' prior", SHARE, EXACT),
    Method("clopper-pearson", "exact, never covers too little", SHARE, EXACT),
    Method("mid-p", "exact, with half of the chance of the count itself", SHARE, EXACT),
    Method("bayes", "equal tails of the posterior", (*SHARE, *LABELS), EXACT),
    Method("hdi", "where the posterior is densest", (*SHARE, *LABELS), EXACT),
    Method("t", "Student's t", MEAN, EVERY),
    Method("bounded-mean", "t with one more item at the end of the range", MEAN, EVERY, ranged=True),
    Method("betting", "what bets have not ruled out, for any n", MEAN, EXACT, ranged=True),
    Method("delta", "first order, with t over units", (*SHARE, *SMOOTH, *CURVE), EVERY),
    Method("percentile", "percentiles of the bootstrap", (*SHARE, *MEAN, *SMOOTH, *WHOLE), UNWEIGHTED),
    Method("bca", "bootstrap, corrected for bias and acceleration", (*SHARE, *MEAN, *SMOOTH, *WHOLE), UNWEIGHTED),
    Method("studentized", "bootstrap of the distance over its error", (*MEAN, *SMOOTH), UNWEIGHTED),
    Method("delong", "DeLong's variance of an area", AREA, ("items", "groups")),
    Method("delong-wilson", "DeLong's, widened where misses are few", AREA, ("items", "groups")),
    Method("delta-wilson", "first order, widened where misses are few", CURVE, ("items", "groups")),
    Method("fisher-z", "Fisher's transformation of a correlation", WHOLE, EXACT),
)
TWO = _listed(
    Method("tango", "score interval of right or wrong", FLIPS),
    Method("newcombe", "hybrid of two Wilson intervals", FLIPS),
    Method("wald", "normal approximation", FLIPS),
    Method("bayes", "equal tails of the posterior", FLIPS),
    Method("t", "Student's t of differences", MEAN, EVERY),
    Method("bounded-t", "t with an item at either end of what a difference can be", MEAN, ranged=True),
    Method("one-more-case", "one more case at either end, exact for few cases", MEAN, ranged=True),
    Method("delta", "first order, with t over units", SMOOTH, EVERY),
    Method("percentile", "percentiles of the bootstrap", (*MEAN, *SMOOTH, *WHOLE)),
    Method("bca", "bootstrap, corrected for bias and acceleration", (*MEAN, *SMOOTH, *WHOLE)),
    Method("delong", "DeLong's", AREA),
    Method("delong-wilson", "DeLong's, widened where misses are few", AREA),
)
TESTS = _listed(
    Method("mcnemar-midp", "McNemar's, with half of the chance of the count itself", FLIPS),
    Method("mcnemar-exact", "McNemar's, exact", FLIPS),
    Method("mcnemar", "McNemar's, normal approximation", FLIPS),
    Method("bootstrap", "the paired bootstrap: twice the difference seen", (*FLIPS, *SMOOTH), UNWEIGHTED),
    Method("randomization", "systems exchanged unit by unit", (*FLIPS, *SMOOTH, *WHOLE), UNWEIGHTED),
    Method("sign-flip", "signs of differences exchanged", (*FLIPS, *MEAN), UNWEIGHTED),
    Method("wilcoxon", "ranks of differences exchanged", MEAN, UNWEIGHTED),
    Method("paired-t", "Student's t of differences", MEAN),
    Method("bounded-t", "t with an item at either end of what a difference can be", MEAN, ranged=True),
    Method("one-more-case", "one more case at either end, exact for few cases", MEAN, ranged=True),
    Method("within-item", "runs of each item exchanged: of these very items", MEAN),
    Method("delong", "DeLong's", AREA),
    Method("delong-wilson", "DeLong's, widened where misses are few", AREA),
)
APART = _listed(  # two systems on different items: intervals
    Method("newcombe", "hybrid of two Wilson intervals", SHARE, EXACT),
    Method("miettinen-nurminen", "score interval of two shares", SHARE, EXACT),
    Method("wald", "normal approximation", SHARE, EXACT),
    Method("bayes", "equal tails of the posterior", SHARE, EXACT),
    Method("t", "Welch's t", MEAN, EVERY),
    Method("bounded-welch", "Welch's t with an item at either end of the range", MEAN, EXACT, ranged=True),
    Method("delta", "first order, with t over units", (*SHARE, *SMOOTH), EVERY),
    Method("percentile", "percentiles of the bootstrap", WHOLE),
    Method("delong", "DeLong's", AREA),
    Method("delong-wilson", "DeLong's, widened where misses are few", AREA),
)
TESTS_APART = _listed(
    Method("z", "two shares that are one", SHARE, EXACT),
    Method("welch-t", "Welch's t", (*MEAN, *SMOOTH, *SHARE), EVERY),
    Method("bounded-welch", "Welch's t with an item at either end of the range", MEAN, EXACT, ranged=True),
    Method("percentile", "percentiles of the bootstrap", WHOLE),
    Method("delong", "DeLong's", AREA),
    Method("delong-wilson", "DeLong's, widened where misses are few", AREA),
)


def offered(catalogue: dict[str, Method], law: str, kind: str, ranged: bool = True) -> list[str]:
    """The names that serve a law under a design."""
    return [m.name for m in catalogue.values() if law in m.laws and kind in m.kinds and (ranged or not m.ranged)]


def check(catalogue: dict[str, Method], what: str, name: str, law: str, kind: str, of: str, ranged: bool = True) -> None:
    """Refuse a name that nobody knows, or that does not serve here."""
    if not name:
        return
    known = offered(catalogue, law, kind, ranged)
    if name not in known:
        there = "" if name in catalogue else f"; {name!r} is unknown"
        if name in catalogue and catalogue[name].ranged and not ranged:
            raise SteelyardError(f"The {what} {name} needs the range of the scores.", hint="declare it with range=(LOW, HIGH)")
        raise SteelyardError(f"The {what} of {of} can be {', '.join(known)}{there}.", hint=did_you_mean(name, known) if there else "")
