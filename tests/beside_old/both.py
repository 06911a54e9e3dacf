"""Both houses asked the same: `same` says what the two answers are to one another."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

import steelyard_old as old
from steelyard.data.items import Items
from steelyard.engines.one import How, measure
from steelyard.engines.two import compare

EXACT = 1e-9
OF_CLASS = ("precision", "recall", "specificity", "npv", "f1", "fbeta:2", "jaccard")
DRAWN = ("randomization", "sign-flip")  # tests whose p is drawn where it cannot be counted
REDRAWN = ("bca", "percentile", "studentized")


class Case(NamedTuple):
    """A question: a metric, the columns of one run or of two, and what is said beside."""

    metric: str
    columns: dict[str, Any]
    other: dict[str, Any] | None = None
    design: str = ""
    said: dict[str, Any] = {}  # noqa: RUF012
    note: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, ("compare" if self.other else "measure", self.metric, self.design, self.note)))


class Told(NamedTuple):
    """What a house answers: numbers, and the methods they are from. error: why it does not."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    method: str = ""
    test: str = ""
    error: str = ""


def asked_new(case: Case, level: float = 0.95, side: str = "two") -> Told:
    said = dict(case.said)
    metric = case.metric
    how = How(range=said.get("range"), positive=said.get("positive"), interval=said.get("interval", ""), test=said.get("test", ""))
    if "ratio" in said:
        metric = f"{metric}:{said['ratio']}"
    one = Items.of(**case.columns)
    try:
        if case.other is None:
            (found, *_) = measure(metric, one, how)
            p = None
        else:
            (found, *_) = compare(metric, one, Items.of(**case.other), how, design="unpaired" if "unpaired" in case.design else "")
            p = None if found.certainty is None else found.certainty.p()
    except ValueError as error:
        return Told(error=str(error))
    if found.certainty is None:
        return Told(found.estimate, error=found.why)
    low, high = found.certainty.ends(level, side)
    return Told(found.estimate, low, high, p, found.certainty.named(side), found.certainty.test)


def asked_old(case: Case, level: float = 0.95, side: str = "two", seed: int = 0) -> Told:
    said = {key: value for key, value in case.said.items() if key != "range"}
    if "range" in case.said:
        said["range"] = case.said["range"]
    if "weight" in case.columns:
        said["weight"] = "weight"
    said |= {"confidence_level": level, "side": side, "seed": seed}
    columns = {role: list(values) for role, values in case.columns.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case.other is None:
                row = old.measure(columns, metric=case.metric, **said).rows[0]
                i, estimate, p, test = row.interval, row.estimate, None, ""
            else:
                other = {role: list(values) for role, values in case.other.items()}
                more = {"design": "unpaired"} if "unpaired" in case.design else {}
                c = old.compare(columns, other, metric=case.metric, **said, **more)
                i, estimate, p, test = c.difference.interval, c.difference.estimate, c.p_value, c.test.name if c.test else ""
    except ValueError as error:
        return Told(error=str(error))
    if i is None:
        return Told(estimate, p=p, error="no interval")
    return Told(estimate, i.low, i.high, p, i.method, test)


def near(x: float | None, y: float | None, slack: float) -> bool:
    if x is None or y is None:
        return x is y
    return x == y if math.isinf(x) or math.isinf(y) else abs(x - y) <= slack


def same(case: Case) -> tuple[str, Told, Told]:
    """exact, the same law (within five deviations of seven seeds), or how the answers differ."""
    ours, theirs = asked_new(case), asked_old(case)
    if ours.error or theirs.error:
        return ("none" if bool(ours.error) == bool(theirs.error) else "error"), ours, theirs
    pt = theirs.p or 0.0
    slack = (EXACT, EXACT, EXACT, EXACT + 2e-7 * pt)
    if all(near(x, y, s) for x, y, s in zip(ours[:4], theirs[:4], slack, strict=True)):
        return ("exact" if ours.method == theirs.method else "renamed"), ours, theirs
    if ours.method == theirs.method and (theirs.method in REDRAWN or theirs.test in DRAWN):
        seeds = [theirs] + [asked_old(case, seed=seed) for seed in range(1, 7)]
        numbers = np.array([[math.nan if x is None or math.isinf(x) else x for x in told[:4]] for told in seeds])
        middle, deviation = numbers.mean(0), numbers.std(0, ddof=1)
        floor = 1.1e-4 if theirs.test in DRAWN else 0.0  # of the p of 10,000 draws
        wide = [
            5 * s + EXACT + (floor + 5 * math.sqrt(pt * (1 - pt) / 10_000) if k == 3 and theirs.test in DRAWN else 0.0)
            for k, s in enumerate(deviation)
        ]
        if all(math.isnan(m) or near(x, m, w) for x, m, w in zip(ours[:4], middle, wide, strict=True)):
            return "same law", ours, theirs
    return "differs", ours, theirs


def explained(case: Case, ours: Told, theirs: Told) -> str:
    """Why an answer differs on purpose; empty where nobody decided it. Each line is one of the changelog."""
    labels, paired = case.metric not in ("mean", "ratio", "perplexity"), case.other is not None and "unpaired" not in case.design
    if ours.error or theirs.error:
        if len(next(iter(case.columns.values()))) == 1 or "fewer than two" in ours.error:
            return "one item says nothing of a spread"
        if case.metric in OF_CLASS and case.design == "groups":
            return "a quotient in groups is worth what its denominators are"
        if theirs.error == "no interval" and ours.low == -1.0 and ours.high == 1.0:
            return "nothing is ruled out"
        if case.metric in ("ratio", "perplexity") and "groups" in ours.error:
            return "a quotient in groups is worth what its denominators are"
        if case.metric.startswith("micro_") and not ours.error:
            return "micro averages are the accuracy, compared too"
        if case.other is not None and "weights" in case.design and "Weights are for means" in theirs.error:
            return "weights serve every metric of totals"
        if ours.error == "the units do not vary":
            return "where nothing varies there is no answer"
        if case.metric == "average_precision" and "groups" in case.design:
            return "average precision has an interval in groups"
        return ""
    assert ours.estimate is not None
    assert theirs.estimate is not None
    if not near(ours.estimate, theirs.estimate, EXACT):
        return ""
    close = near(ours.low, theirs.low, EXACT) and near(ours.high, theirs.high, EXACT)
    assert ours.low is not None
    assert ours.high is not None
    assert theirs.low is not None
    assert theirs.high is not None
    stretched = {0.0} & {ours.low, ours.high} and ours.low <= theirs.low + EXACT and ours.high >= theirs.high - EXACT
    wider = ours.low <= theirs.low + EXACT and ours.high >= theirs.high - EXACT
    if case.other is None:
        if case.design == "groups" and case.metric in ("mean", "brier") and ours.method == "bounded-mean":
            return "means of a known range in groups are bounded"
        if ours.method == theirs.method == "bayes" and abs(ours.low - theirs.low) + abs(ours.high - theirs.high) < 0.1 * (
            theirs.high - theirs.low
        ):
            return "drawn posteriors have other draws"
        if ours.method == theirs.method == "wilson" and wider and case.design in ("groups", "repeats"):
            return "grouped shares: a bound is never higher with more mistakes"
        if case.design == "weights" and (
            wider or abs(ours.low - theirs.low) + abs(ours.high - theirs.high) < 0.2 * (theirs.high - theirs.low)
        ):
            return "weights: degrees of freedom from their squares"
        if case.metric in OF_CLASS and case.design in ("groups", "repeats", "weights"):
            return "one class in groups: weighed by what it is divided by"
        return ""
    if theirs.method == "wilson-mean":
        return "one item says nothing of a spread"
    if case.metric.startswith("pass") and ours.test == "mcnemar-midp":
        return "right or wrong is a fact of the rows"
    if case.design == "groups" and case.metric in (*OF_CLASS, "ratio", "perplexity"):
        return "a quotient in groups is weighed by its denominators"
    if theirs.method == "bayes":
        return "where nothing differs: t with what is unseen"
    if case.metric.startswith("micro_"):
        return "micro averages are the accuracy, compared too"
    if "weights" in case.design and (wider or abs(ours.low - theirs.low) + abs(ours.high - theirs.high) < 0.2 * (theirs.high - theirs.low)):
        return "weights: t on CR2, and p from it"
    if ours.method == "one-more-case" and theirs.method in ("bounded-t", "delta"):
        return "few cases: one more case"
    if paired and labels and ours.method == theirs.method == "delta" and case.design == "items" and wider:
        return "label metrics: t, n - 1 and what is unseen"
    if "unpaired" in case.design and ours.method == theirs.method == "delta" and (wider or ours.low == -1.0 or ours.high == 1.0):
        return "different items: t and n - 1"
    below = near(ours.low, theirs.low, EXACT) or max(ours.low, theirs.low) <= 0
    beyond = below and (near(ours.high, theirs.high, EXACT) or min(ours.high, theirs.high) >= 0)
    if ours.method == theirs.method == "delta" and paired and beyond:  # an end that excludes 0 counts nothing unseen in
        return "what is unseen is as far as either system reaches"
    if (close or stretched) and ours.p is not None and theirs.p is not None and ours.p >= theirs.p - 0.05 * theirs.p - EXACT:
        return "p is the larger one of the test's and the interval's"
    return ""
