"""compare: is one better than the other?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, Unpack

import numpy as np

from steelyard.base.problem import SteelyardError
from steelyard.data.counts import JointCounts
from steelyard.data.items import Classes, classes_of
from steelyard.data.pairs import Pair, meet
from steelyard.declared import known
from steelyard.engines.certainty import Certainty
from steelyard.engines.few_cases import Components, limit
from steelyard.engines.margin import detectable, equivalent
from steelyard.engines.one import How
from steelyard.engines.one import measure as answers_of
from steelyard.engines.two import Difference as Found
from steelyard.engines.two import as_pair, compare_pair, item_numbers
from steelyard.engines.two import compare as differences_of
from steelyard.metrics.catalogue import find
from steelyard.metrics.metric import Metric
from steelyard.options import Column, Level, Metrics, Missing, Number, Range, RareTwo, Seed, Source
from steelyard.read.old import answered_there, read_by_old
from steelyard.read.open import Opened, counts_of, usual
from steelyard.results import Interval, Result, result
from steelyard.show.blocks import Block, Delta, Facts, Head, Notes, Table, span
from steelyard.show.digits import interval as between
from steelyard.show.digits import p_value as p_text
from steelyard.show.digits import places, signed
from steelyard.verbs.asking import check_level, choice, how_of, interval_of, names_of, opened, shown, signature
from steelyard.verbs.measure import refuse_bare_probabilities


@result
class System(Result):
    """One of the two, by itself."""

    name: str
    estimate: float | None
    interval: Interval | None = None


@result
class Difference(Result):
    """Candidate minus baseline."""

    estimate: float | None
    interval: Interval | None = None


@result
class Test(Result):
    """The test of no difference."""

    name: str
    alternative: str = "two-sided"
    statistic: float | None = None
    p_value: float | None = None


@result
class Claim(Result):
    """What is claimed of these cases, or of new cases like them."""

    estimate: float | None
    interval: Interval | None
    p_value: float | None
    test: str


@result
class Flips(Result):
    """How many items both got right, one of them alone, or neither."""

    both: int
    baseline_only: int
    candidate_only: int
    neither: int


@result
class ChangedItem(Result):
    """An item that one system got right, or scored otherwise."""

    id: str
    change: str
    truth: str | None = None
    baseline: str | None = None
    candidate: str | None = None
    baseline_score: float | None = None
    candidate_score: float | None = None


@result
class ComparedRow(Result):
    """One difference of several."""

    metric: str
    n: int
    baseline: System
    candidate: System
    difference: Difference
    test: Test
    label: str | None = None
    task: str | None = None
    score: str | None = None
    model: str | None = None
    by: str | None = None
    headline: bool = False
    p_adjusted: float | None = None


@result
class Comparison(Result):
    """Is the candidate better than the baseline, and how sure are we."""

    kind: ClassVar[str] = "comparison"
    design: str
    metric: str
    n: int
    higher_is_better: bool
    baseline: System
    candidate: System
    difference: Difference
    test: Test
    claims: dict[str, Claim] | None = None
    flips: Flips | None = None
    probability_candidate_better: float | None = None
    equivalence: dict[str, float] | None = None
    mde: float | None = None
    changed_items: tuple[ChangedItem, ...] = ()
    unmatched: dict[str, int] | None = None
    rows: tuple[ComparedRow, ...] = ()
    overall: Claim | None = None
    next_step: str = ""
    fail: bool = False
    seed: int | None = 0
    warnings: tuple[str, ...] = ()
    signature: str = ""

    @property
    def p_value(self) -> float | None:
        """That of the test."""
        return self.test.p_value

    @property
    def exit_code(self) -> int:
        """1 if it was asked to fail on this."""
        return int(self.fail)

    def table(self) -> list[dict[str, Any]]:
        """The changed items, plain, for CSV."""
        return [item.to_dict() for item in self.changed_items]


def compare(
    baseline: Source,
    candidate: Source = None,
    *,
    prediction: Column = None,
    metric: Metrics = None,
    positive: str | None = None,
    group: Column = None,
    score: Column = None,
    margin: Number = None,
    claim: Literal["new", "these"] | None = None,
    fail_on: Literal["never", "worse"] = "never",
    confidence_level: Level = 0.95,
    range: Range = None,
    missing: Missing = "error",
    seed: Seed = 0,
    **rare: Unpack[RareTwo],
) -> Comparison:
    """Is one better than the other?

    The same items in both are compared item by item, paired by id; different items as two samples (design=unpaired).

    Args:
        baseline: What the candidate is compared with, or counts of both such as 790,58,76,76 or 40-12-28 (wins, ties, losses).
        candidate: What may be better: file, directory, glob, name=path, counts; in Python also frames.
        prediction: Column with the model's answer; in Python also the answers.
        metric: What to compare, such as accuracy, macro_f1, fbeta:2, pass@5 or p95; the first decides.
        positive: Class that f1, precision, recall and auc are about.
        group: Column of items that belong together; `none` ignores it.
        score: Column with a number per item; `scores.Factuality` follows a path.
        margin: Difference that does not matter: is it ruled out?
        claim: With several runs of each item: about new items like these (the default), or these very items.
        fail_on: Exit with 1 if the candidate is worse (default never).
        confidence_level: Confidence level of the interval.
        range: Smallest and largest possible score, such as 0,5.
        missing: What to do with items without an answer or a score (default error).
        seed: Random seed; `none` picks one and prints it.
        rare: id, truth, probability, repeat, weight, model_column, labels, interval, side, prior, draws, absent,
            lower_is_better, test, alternative, design, unmatched: described in RareTwo.

    Examples:
        $ steelyard compare old.csv new.csv
        $ steelyard compare old.csv new.csv --metric macro_f1 --fail-on worse
        $ steelyard compare 790,58,76,76 --margin .03

        >>> import steelyard as sy
        >>> c = sy.compare(sy.JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76))
        >>> c.difference.interval, round(c.p_value, 3)
        ([-0.00474495, 0.0410411], 0.121)
    """
    if read_by_old(baseline) or read_by_old(candidate):
        asked_there = {"metric": metric, "positive": positive, "group": group, "range": range, "missing": missing, "score": score}
        more = {"prediction": prediction, "margin": margin, "confidence_level": confidence_level, "seed": seed, "claim": claim, **rare}
        return answered_there("compare", (baseline, candidate), {**asked_there, **more})  # type: ignore[no-any-return]
    known(RareTwo, rare, compare)
    said = {
        "positive": positive,
        "group": group,
        "range": range,
        "missing": choice(missing, ("error", "wrong", "drop"), "missing"),
        "seed": seed,
        "claim": claim,
        "score": score,
    }
    choice(fail_on, ("never", "worse"), "fail_on")
    check_level(confidence_level)
    if margin is not None and not 0 < margin < np.inf:
        raise SteelyardError(f"margin must be a number above 0, not {margin:g}.")
    how, alternative = how_of(said, rare), choice(rare.get("alternative") or "two-sided", ("two-sided", "less", "greater"), "alternative")
    sides, pair = both_sides(baseline, candidate, prediction, said, rare, metric)
    metrics = names_of(metric) or usual(sides[0])[:1]
    asked = [find(name, how.absent) for name in metrics]
    unpaired = rare.get("design") == "unpaired" or (pair is None and isinstance(baseline, str) and counts_of(baseline) is not None)
    notes = [note for side in sides for note in side.notes]
    if pair is None and not unpaired:
        runs = [side.items for side in sides]
        if any("tries" in one.reads for one in asked):
            from steelyard.engines.one import tried

            runs = [tried(items) for items in runs]
        pair = meet(runs[0], runs[1], rare.get("unmatched") or "error")
    found: list[Found] = []
    for one in asked:
        found += (
            compare_pair(one, pair, how)
            if pair is not None
            else differences_of(one, sides[0].items, sides[1].items, how, design="unpaired")
        )
    level, side = confidence_level, choice(rare.get("side") or "two", ("two", "lower", "upper"), "side")
    names = tuple((word if s.name in ("", "data") else s.name) for s, word in zip(sides, ("baseline", "candidate"), strict=True))
    if names[0] == names[1]:
        names = (f"{names[0]} (baseline)", f"{names[1]} (candidate)")
    lower = bool(rare.get("lower_is_better"))
    rows = [as_row(f, sides, how, level, side, alternative, (names[0], names[1]), i == 0) for i, f in enumerate(found)]
    head, first = rows[0], found[0]
    notes += [
        note
        for f in found
        for note in [*f.notes, *([f"{shown(f.metric.name)}: no interval: {f.why}"] if f.why else [])]
        if note not in notes
    ]
    up = first.metric.up and not (lower and first.metric.low is None)
    design = "unpaired" if pair is None else "clustered" if first.design == "groups" else "paired"
    classes = None
    if pair is not None and first.metric.needs_classes and "truth" in pair.one and "prediction" in pair.one:
        classes = classes_of([pair.one, pair.two], how.labels, how.positive)
    claims, advice = claims_of(first, level, pair)
    equivalence = None
    if margin is not None and first.certainty is not None:
        equivalence = {
            "margin": margin,
            "p_value": equivalent(first.certainty, margin),
            "p_worse": first.certainty.p(-margin if up else margin, "greater" if up else "less"),
        }
    worse = head.difference.interval is not None and sure(head.difference) and ((head.difference.estimate or 0) > 0) != up
    return Comparison(
        design=design,
        metric=first.metric.name,
        n=first.n,
        higher_is_better=up,
        baseline=head.baseline,
        candidate=head.candidate,
        difference=head.difference,
        test=head.test,
        claims=claims,
        flips=flips_of(first),
        probability_candidate_better=better(first, up),
        equivalence=equivalence,
        mde=None if first.certainty is None else detectable(first.certainty, 1 - level, 0.8),
        changed_items=changed(first.metric, pair, classes, up) if pair is not None and first.label is None else (),
        rows=tuple(rows) if len(rows) > 1 else (),
        next_step=advice,
        fail=fail_on == "worse" and worse,
        seed=how.seed,
        warnings=tuple(dict.fromkeys(notes)),
        signature=signature(
            metric=first.metric.name,
            n=first.n,
            design=design,
            interval=head.difference.interval and head.difference.interval.method,
            test=head.test.name,
            level=f"{level:g}",
            seed=how.seed,
        ),
    )


def both_sides(
    baseline: Any, candidate: Any, prediction: Any, said: dict[str, Any], rare: Any, metric: Any
) -> tuple[list[Opened], Pair | None]:
    """The two runs: two sources, counts of both, or one source with two models."""
    both = counts_of(baseline) if isinstance(baseline, str) else baseline
    if isinstance(both, JointCounts):
        if candidate is not None:
            raise SteelyardError("Counts of both systems need no second source.")
        return [Opened("baseline", both.one), Opened("candidate", both.two)], as_pair(both)
    if candidate is None:
        found = opened(baseline, prediction, said, rare, names_of(metric))
        column = found.columns.get("model", "")
        parts = found.parts(column) if column in found.by else []
        if len(parts) != 2:
            raise SteelyardError(
                f"A comparison needs two sources, or one with two models; there are {len(parts) or 'no'} models.",
                hint="rank takes three or more",
            )
        return [Opened(name, part.items, part.columns, negatives=part.negatives, notes=part.notes) for name, part in parts], None
    sides = [opened(source, prediction, said, rare, names_of(metric)) for source in (baseline, candidate)]
    for side in sides:
        refuse_bare_probabilities(side, names_of(metric))
    return sides, None


def sure(difference: Difference) -> bool:
    """Whether 0 lies outside."""
    i = difference.interval
    return i is not None and ((i.low is not None and i.low > 0) or (i.high is not None and i.high < 0))


def as_row(
    f: Found, sides: Sequence[Opened], how: How, level: float, side: str, alternative: str, names: tuple[str, str], headline: bool
) -> ComparedRow:
    """A difference as a row, with each system by itself."""
    systems = []
    for name, value, one in zip(names, (f.baseline, f.candidate), sides, strict=True):
        own = None
        try:
            plain = How(range=how.range, labels=how.labels, positive=f.label or how.positive, draws=how.draws, seed=how.seed)
            own = answers_of(f.metric, one.items, plain)[0]
        except SteelyardError:
            own = None
        systems.append(System(name=name, estimate=value, interval=None if own is None else interval_of(own, level)))
    c = f.certainty
    test = Test(name="" if c is None else c.test, alternative=alternative, p_value=None if c is None else c.p(0.0, alternative))
    difference = Difference(estimate=f.estimate, interval=interval_of(f, level, side))
    return ComparedRow(
        metric=f.metric.name,
        label=f.label,
        n=f.n,
        baseline=systems[0],
        candidate=systems[1],
        difference=difference,
        test=test,
        headline=headline,
    )


def flips_of(f: Found) -> Flips | None:
    """The four counts, where every item is right or wrong once."""
    return None if f.flips is None else Flips(**dict(zip(("both", "baseline_only", "candidate_only", "neither"), f.flips, strict=True)))


def better(f: Found, up: bool) -> float | None:
    """The posterior probability that the candidate is better, of right or wrong on the same items."""
    if f.flips is None:
        return None
    from scipy.special import betainc

    _, lost, gained, _ = f.flips
    chance = 0.5 if gained == lost else float(betainc(lost + 0.5, gained + 0.5, 0.5))
    return chance if up else 1 - chance


def claims_of(f: Found, level: float, pair: Pair | None) -> tuple[dict[str, Claim] | None, str]:
    """What is claimed of these cases and of new ones, where there are several runs; and what to buy next."""
    if f.these is None or f.certainty is None or pair is None:
        return None, ""

    def claim(c: Certainty) -> Claim:
        low, high = c.ends(level)
        return Claim(
            estimate=f.estimate, interval=Interval(low=low, high=high, confidence_level=level, method=c.method), p_value=c.p(), test=c.test
        )

    return {"these": claim(f.these), "new": claim(f.certainty)}, what_next(f.advice, pair, level)


def what_next(advice: Components | None, pair: Pair, level: float) -> str:
    """Cases or runs: what would bring the standard error down."""
    if advice is None or advice.error_new is None:
        return ""
    cases, runs = pair.items, max(1, round(pair.one.n / max(1, pair.items)))
    more_cases, more_runs = advice.errors(2 * cases, runs)[1], advice.errors(cases, 2 * runs)[1]
    if more_cases is None or more_runs is None:
        return ""
    least = limit(cases, 1 - level)
    shows = f"{cases} cases show a rise on new cases only if they rise by {least:.2f} or more on average. " if least > 0.1 else ""
    gains = f"from {advice.error_new:.2g} to {more_cases:.2g}, {2 * runs} runs to {more_runs:.2g}"
    return f"{shows}Next: {2 * cases} cases would bring the standard error {gains}."


def changed(metric: Metric, pair: Pair, classes: Classes | None, up: bool) -> tuple[ChangedItem, ...]:
    """Items whose number changed, the largest fall first."""
    if pair.count is not None:
        return ()
    numbers = item_numbers(metric, pair, classes)
    if numbers is None:
        return ()
    a, b = numbers
    gap = (b - a) * (1 if up else -1)
    order = np.argsort(gap, kind="stable")
    order = order[gap[order] != 0]
    first = [np.full(pair.items, -1) for _ in (0, 1)]
    for place, at in zip(pair.places, first, strict=True):
        at[place[::-1]] = np.arange(len(place))[::-1]
    texts = [{role: text_column(run, role) for role in ("truth", "prediction")} for run in (pair.one, pair.two)]
    out = []
    for i in order.tolist():
        rows = [int(at[i]) for at in first]
        out.append(
            ChangedItem(
                id=pair.ids[i] if pair.ids else f"row {i + 1}",
                change="lost" if gap[i] < 0 else "gained",
                truth=texts[0]["truth"](rows[0]),
                baseline=texts[0]["prediction"](rows[0]),
                candidate=texts[1]["prediction"](rows[1]),
                baseline_score=float(a[i]),
                candidate_score=float(b[i]),
            )
        )
    return tuple(out)


def text_column(run: Any, role: str) -> Any:
    """The text of a role in a row; None where there is none."""
    if role not in run:
        return lambda row: None
    labels = run.labels(role)
    return lambda row: labels.names[labels.codes[row]] if labels.codes[row] >= 0 else None


# ---- the page -----------------------------------------------------------------------------------------------------------------------


def headline(c: Comparison) -> Head:
    d = c.difference
    decimals = (places([d.interval]) if d.interval else None) or 3
    up = ((d.estimate or 0) > 0) == c.higher_is_better
    said = f"{c.candidate.name} is {'better' if up else 'worse'}" if sure(d) else "No difference shown"
    if d.estimate is None:
        return Head("No difference can be worked out", c.warnings[0] if c.warnings else "")
    p = f" ({p_text(c.p_value)})" if c.p_value is not None else ""
    ends = f" {between(d.interval, decimals)}" if d.interval else ""
    return Head(said, f"{shown(c.metric)} {signed(d.estimate, decimals)}{ends}{p}", "" if not sure(d) else "good" if up else "bad")


def changes(items: Sequence[ChangedItem], names: tuple[str, str]) -> Iterator[Block]:
    """Changed items: five in the short text, all of them on the page, each answer beside its "right?"."""
    count = {word: sum(item.change == word for item in items) for word in ("gained", "lost")}
    name = f"{len(items):,} {'item' if len(items) == 1 else 'items'} changed: {count['gained']:,} gained, {count['lost']:,} lost"
    answers = any(item.baseline is not None for item in items)
    binary = all(item.baseline_score in (0, 1) and item.candidate_score in (0, 1) for item in items)

    def short(item: ChangedItem) -> tuple[Any, ...]:
        if answers:
            return item.change, item.id, f"truth {item.truth}", f"was {item.baseline}", f"now {item.candidate}"
        return item.change, item.id, f"was {item.baseline_score:.4g}", f"now {item.candidate_score:.4g}"

    yield Table(
        ("", "item", "truth", "was", "now") if answers else ("", "item", "was", "now"), [short(item) for item in items[:5]], name, level=-1
    )
    if answers and binary:
        right = {"lost": ("right", "wrong"), "gained": ("wrong", "right")}
        rows = [(i.id, i.truth, i.baseline, right[i.change][0], i.candidate, right[i.change][1], i.change) for i in items]
        yield Table(("item", "truth", names[0], "right?", names[1], "right?", "change"), rows, name, level=1, short=0)
    else:
        scored = [(i.id, i.baseline_score, i.candidate_score, i.change) for i in items]
        yield Table(("item", names[0], names[1], "change"), scored, name, level=1, short=0)


def layout(c: Comparison) -> Iterator[Block]:
    yield headline(c)
    level = f"{c.difference.interval.confidence_level if c.difference.interval else 0.95:.0%} interval"
    what = f"{c.n:,} items" + {"paired": ", the same in both", "clustered": " in groups, the same in both"}.get(
        c.design, " in both together"
    )
    rows = [(s.name, s.estimate, s.interval, span(s.estimate, s.interval)) for s in (c.baseline, c.candidate)]
    yield Table(("", shown(c.metric), level, ""), rows, what)
    if c.claims:
        these, new = c.claims["these"], c.claims["new"]
        lines = [
            f"{words} {signed(one.estimate or 0)} {between(one.interval)} ({p_text(one.p_value or 0)})"
            for words, one in (("On these cases:        ", these), ("On new cases like them:", new))
            if one.p_value is not None
        ]
        yield Notes([*lines, *([c.next_step] if c.next_step else [])])
    if c.rows:
        more = [
            (
                f"{shown(r.metric)}{f' {r.label}' if r.label else ''}",
                Delta(r.difference.estimate or 0),
                r.difference.interval,
                span(r.difference.estimate, r.difference.interval),
            )
            for r in c.rows[1:]
        ]
        yield Table(("", "difference", level, ""), more, "also", short=5, more="--details", mark=(0.0, "no difference"))
    if c.equivalence:
        e = c.equivalence
        word = "ruled out" if e["p_value"] <= 0.05 else "not ruled out"
        yield Notes([f"A difference of {e['margin']:g} or more is {word} ({p_text(e['p_value'])})."])
    if c.changed_items:
        yield from changes(c.changed_items, (c.baseline.name, c.candidate.name))
    elif c.flips is not None and c.flips.baseline_only + c.flips.candidate_only == 0:
        yield Notes([f"The two agree on which of the {c.n:,} items are right."])
    if c.flips:
        f = c.flips
        yield Facts(
            [
                ("Right in both", f.both),
                ("Right only in the candidate", f.candidate_only),
                ("Right only in the baseline", f.baseline_only),
                ("Wrong in both", f.neither),
            ],
            "Agreement",
        )
    facts = [
        ("Design", c.design),
        ("Test", f"{c.test.name}, {c.test.alternative}" if c.test.name else None),
        ("Interval", c.difference.interval and c.difference.interval.method),
        ("Smallest difference found with 80% power", c.mde),
        ("Posterior probability that the candidate is better", c.probability_candidate_better),
        ("Seed", c.seed),
        ("Signature", c.signature),
    ]
    yield Facts(facts, "How this was computed")
    notes = [f"Note: {warning}" for warning in c.warnings[:4]] + (
        [f"...{len(c.warnings) - 4} more notes: --details"] if len(c.warnings) > 4 else []
    )
    yield Notes([*notes, ("All of them: -o changed.csv. " if len(c.changed_items) > 5 else "") + "How this was computed: --details"])
