"""What a comparison found, before it is written down: the difference, its interval, its test, and what else is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from steelyard_old.error_rates import POWER
from steelyard_old.errors import UsageError
from steelyard_old.estimate.difference_tests import TESTS
from steelyard_old.estimate.named_intervals import INTERVALS, OF_A_PROPORTION
from steelyard_old.infer.planning.power import minimum_detectable
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Metric
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results import signature
from steelyard_old.results.base import Warnings, defer
from steelyard_old.results.comparison import BeliefInMargin, Comparison, Difference, System, Test, WithinMargin
from steelyard_old.results.details import ComparisonDetails
from steelyard_old.results.measurement import Interval

if TYPE_CHECKING:
    from steelyard_old.infer.paired.unseen import UnseenChanges

DECLARE = "declare the range of the scores with range=(LO, HI) to allow for such items"


def interval_of(
    asked: CompareOptions, low: float, high: float, method: str, bottom: float | None = -1.0, top: float | None = 1.0
) -> Interval:
    """An interval of a difference, inside its range, open on the side that was not asked for."""
    ends: list[float | None] = [low, high]
    if asked.side == "upper":
        ends[0] = bottom
    elif bottom is not None:
        ends[0] = max(bottom, low)
    if asked.side == "lower":
        ends[1] = top
    elif top is not None:
        ends[1] = min(top, high)
    return Interval(low=ends[0], high=ends[1], confidence_level=asked.level, side=asked.side, method=method)  # type: ignore[arg-type]


def detectable(
    asked: CompareOptions, error: float | None, noise: float | None = None, pull: float = 1.0, offset: float = 0.0
) -> float | None:
    """The true difference that this many items find with power .8 at this level: z_alpha x standard error + z_beta x noise."""
    if error is None or not error > 0:
        return None
    plain = minimum_detectable(error, 1 - asked.level, 1 - POWER, noise=noise, two_sided=asked.alternative == "two-sided")
    return (plain + offset) / pull


class DifferenceTest(Protocol):
    """A test on the side that was asked for that can test any difference, not only 0."""

    @property
    def name(self) -> str: ...

    def p_value(self, edge: float) -> float:
        """p of H0: the true difference is `edge`."""
        ...

    def smallest(self, edge: float) -> float:
        """The smallest p that any outcome on these items could have given."""
        ...

    def interval(self, level: float, side: str) -> tuple[float, float]:
        """The differences that the test does not rule out."""
        ...


class CarefulDifferenceTest(DifferenceTest, Protocol):
    """A test that counts in what nobody has seen, and what it says of that.

    falls: what could undo a pass. differs: what could undo a difference, None where a warning of it would say nothing new.
    """

    @property
    def falls(self) -> str: ...

    @property
    def differs(self) -> str | None: ...

    @property
    def remedy(self) -> str: ...


class OwnEstimate(NamedTuple):
    """What is known of one system alone."""

    interval: Interval | None
    error: float | None


OwnPair = tuple[OwnEstimate, OwnEstimate]


class ItemMeans(NamedTuple):
    """One number for each item of two runs, and which group it is in (itself, where there are none). ends: their range, if it is known."""

    baseline: Any
    candidate: Any
    unit: Any
    units: int
    ends: tuple[float, float] | None


class UnitSums(NamedTuple):
    """The sums of each unit in two runs; of groups also their sizes and the effects of single items, as in `compare_units`."""

    baseline: Any
    candidate: Any
    sizes: Any
    single: Any


@dataclass(slots=True, kw_only=True)
class Evidence:
    """The parts of a Comparison that the method families fill in.

    own and probability are numbers, or functions that find them out when the Comparison is read.
    The interval lies around pull x difference. judge: the test, where margins are its own matter too. against: the test of
    another difference than 0, where that is the same test. unseen: the test that would have been taken, had the range of the scores
    seen been declared.
    """

    design: str
    n: int
    baseline: float | None
    candidate: float | None
    difference: float | None
    interval: Interval | None
    test: Test
    own: OwnPair | Callable[[], OwnPair] | None = None  # baseline and candidate alone; None until somebody looked
    error: float | None = None  # what the interval and the smallest detectable difference rest on
    noise: float | None = None  # of the items seen, where `error` counts in what was not seen
    df: float | None = None  # of `error`, where it is not one less than there are units
    pull: float = 1.0
    offset: float = 0.0  # how far items that nobody has seen move the middle of the interval, where the sides have other numbers
    judge: DifferenceTest | None = None
    against: Callable[[float], Test] | None = None
    unseen: CarefulDifferenceTest | None = None
    too_few: bool = False  # groups to judge anything by
    standard_error: float | None = None  # what is reported, where it is another: s with n - 1 for right or wrong
    flips: Mapping[str, int] | None = None
    probability: float | Callable[[], float] | None = None
    prior_sd: float | None = None  # how large the differences are that the prior of the probability expects
    disagreed: tuple[int, int] | None = None  # right or wrong on the same items: how many raise the difference, how many lower it
    equivalence: WithinMargin | None = None
    correlation: float | None = None
    table: Any = None
    means: ItemMeans | None = None  # what a mean difference was computed from
    rare: UnseenChanges | None = None  # what the interval counts in for changes that nobody has seen, where few units differ
    sums: UnitSums | None = None  # what a difference of ratios of sums was computed from
    drawn: bool = False  # whether a number besides interval and test depends on the seed
    details: ComparisonDetails = field(default_factory=ComparisonDetails)

    def note(self, **facts: Any) -> None:
        """Add to what is known besides, by the names of `ComparisonDetails`."""
        self.details = replace(self.details, **facts)


def comparison_of(
    found: Evidence,
    *,
    metric: str,
    higher_is_better: bool,
    names: tuple[str, str],
    asked: CompareOptions,
    warnings: Warnings,
    systems: tuple[System, System] | None = None,
    **more: Any,
) -> Comparison:
    """The Comparison that the evidence supports, with its one sentence, by the corrected p-value if it is one of many.

    systems: what is known of each alone, where it was said before.
    """
    error = None if found.too_few else found.standard_error or (found.error if found.noise is None else found.noise) or None
    baseline, candidate = systems_of(found, names) if systems is None else systems
    _warn_of_unseen(found, asked, warnings)
    if found.too_few:
        found.note(not_judged=too_few_groups(found.details))
    corrected = found.details.p_adjusted
    late: dict[str, Callable[[], Any]] = {}
    if callable(found.probability):
        late["probability_candidate_better"] = found.probability
    if warnings.waiting:
        late["warnings"] = partial(tuple, warnings.snapshot())
    written = Comparison(
        design=found.design,
        metric=metric,
        n=found.n,
        higher_is_better=higher_is_better,
        baseline=baseline,
        candidate=candidate,
        difference=Difference(estimate=found.difference, interval=found.interval, standard_error=error),
        test=found.test,
        flips=found.flips,
        probability_candidate_better=None if callable(found.probability) else found.probability,
        equivalence=found.equivalence,
        correlation=found.correlation,
        mde=_detectable(found, asked),
        table=found.table,
        details=found.details,
        conclusion=conclude(found, metric, higher_is_better, names, asked)
        if corrected is None or found.too_few or found.difference is None
        else _conclude_corrected(found.difference, corrected, metric, higher_is_better, names, asked),
        warnings=() if warnings.waiting else tuple(warnings),
        **more,
    )
    return defer(written, **late) if late else written


def systems_of(found: Evidence, names: tuple[str, str]) -> tuple[System, System]:
    """Each of the two alone."""
    own, estimates = found.own or (OwnEstimate(None, None), OwnEstimate(None, None)), (found.baseline, found.candidate)
    if callable(own):
        baseline, candidate = (_defer(name, estimates[i], own, i) for i, name in enumerate(names))
    else:
        baseline, candidate = (
            System(name=name, estimate=estimate, interval=one.interval, standard_error=one.error)
            for name, estimate, one in zip(names, estimates, own, strict=True)
        )
    return baseline, candidate


def _defer(name: str, estimate: float | None, own: Callable[[], OwnPair], i: int) -> System:
    """A system whose own interval is found out when somebody reads it."""
    system = System(name=name, estimate=estimate, interval=None, standard_error=None)
    return defer(system, interval=lambda: own()[i].interval, standard_error=lambda: own()[i].error)


def _detectable(found: Evidence, asked: CompareOptions) -> float | None:
    """The smallest difference that could be found; None where nothing could, because there is no spread or there are too few groups."""
    return None if found.too_few else detectable(asked, found.error, found.noise, found.pull, found.offset)


def too_few_groups(details: ComparisonDetails) -> str:
    """Why p is not judged: the groups, and what they are worth.

    >>> too_few_groups(ComparisonDetails(groups=3, groups_effective=3.0))
    '3 groups are too few'
    >>> too_few_groups(ComparisonDetails(groups=31, groups_effective=1.68))
    '31 groups, worth 1.7 equal ones, are too few'
    """
    many, worth = details.groups or 0, details.groups_effective
    said = f"{many} groups" if many != 1 else "1 group"
    if worth is not None and worth <= 0.95 * many:
        said += f", worth {worth:.1f} equal ones,"
    return f"{said} {'are' if many != 1 else 'is'} too few"


def _warn_of_unseen(found: Evidence, asked: CompareOptions, warnings: Warnings) -> None:
    """Scores without a declared range: a difference that rare large ones could undo, none of which these items need show."""
    careful = doubtful(found, 1 - asked.level)
    if careful is not None and found.unseen is not None:
        rare, name = found.unseen.differs, found.test.name
        warnings.add(f"{name} may be overconfident: {rare}, the difference would not be significant (p = {careful:.2g}); {DECLARE}")


def doubtful(found: Evidence, alpha: float) -> float | None:
    """p of a significant difference with unseen items counted in, where it would then not be significant; None where there is no doubt."""
    p, unseen = found.test.p_value, found.unseen
    if unseen is None or unseen.differs is None or p is None or p > alpha:
        return None
    careful = unseen.p_value(0.0)
    return careful if careful > alpha else None


def conclude(found: Evidence, metric: str, higher_is_better: bool, names: tuple[str, str], asked: CompareOptions) -> str:
    """One plain sentence. It says what was shown and at which level, and never turns "not shown" into "no difference"."""
    baseline, candidate = names
    if found.details.label is not None:
        metric = f"{metric}[{found.details.label}]"
    p = found.test.p_value
    alpha = 1 - asked.level
    if found.difference is None or p is None:
        return f"The difference in {metric} cannot be judged from these items."
    if found.too_few:
        return f"No conclusion about {metric}: {too_few_groups(found.details)} ({_p(p)})."
    if found.equivalence is not None and found.equivalence.equivalent:
        tail = f"; the difference is within {found.equivalence.margin:g} either way ({_p(found.equivalence.p_value)})."
    elif found.equivalence is not None and found.equivalence.non_inferior:
        tail = f"; it is not worse by {found.equivalence.margin:g} or more ({_p(found.equivalence.p_lower)})."
    else:
        tail = "."
    if found.test.name in TESTS and TESTS[found.test.name].of_runs:
        metric = f"{metric} on these very items"
    if p <= alpha and found.difference != 0:
        better = (found.difference > 0) == higher_is_better
        return f"{candidate} is {'better' if better else 'worse'} than {baseline} in {metric} ({_p(p)}){tail}"
    if asked.alternative != "two-sided":
        way = "above" if asked.alternative == "greater" else "below"
        return f"It was not shown that {candidate} is {way} {baseline} in {metric} ({_p(p)}){tail}"
    mde = _detectable(found, asked)
    missed = f" A difference below about {mde:.2g} could have been missed." if mde is not None else ""
    same = (
        "The two systems give the same answers"
        if found.details.identical
        else f"{candidate} and {baseline} could not be told apart in {metric}"
    )
    return f"{same} ({_p(p)}){tail}{missed}"


def concluded_again(c: Comparison, p: float, asked: CompareOptions) -> Comparison:
    """The comparison as one of many: its sentence rests on the corrected p-value."""
    d = c.difference.estimate
    if d is None or c.details.not_judged:
        return c
    return replace(c, conclusion=_conclude_corrected(d, p, c.metric, c.higher_is_better, (c.baseline.name, c.candidate.name), asked))


def _conclude_corrected(d: float, p: float, metric: str, higher_is_better: bool, names: tuple[str, str], asked: CompareOptions) -> str:
    baseline, candidate = names
    if p <= 1 - asked.level and d != 0:
        return f"{candidate} is {'better' if (d > 0) == higher_is_better else 'worse'} than {baseline} in {metric} (corrected {_p(p)})."
    return f"{candidate} and {baseline} could not be told apart in {metric} (corrected {_p(p)})."


def _p(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"


def believe(found: Evidence, asked: CompareOptions, warnings: Warnings, *, higher_is_better: bool) -> None:
    """Writes the probabilities under the stated scale of true differences into the evidence; without one, what the prior expects."""
    scale = asked.own.prior_scale
    if scale is None:
        if found.probability is not None and (found.prior_sd is None or found.details.prior_sd != found.prior_sd):
            found.note(prior_sd=found.prior_sd)  # None: differences of any size
        return
    if found.interval is not None and INTERVALS.get(found.interval.method, OF_A_PROPORTION).believed:
        raise UsageError(
            "prior_scale= and the interval 'bayes' are two priors for one difference; use one of them.",
            got="two priors for one difference",
            need="one of them",
            hint="prior_scale= belongs to P(candidate better); the interval bayes to prior=",
        )
    above = _above(found, asked, scale, 0.0)
    found.probability = above if above is None or higher_is_better else 1 - above
    if above is None:
        warnings.add("no P(candidate better) with prior_scale=: the difference has no standard error here")
        return
    found.note(prior_scale=scale)
    found.drawn = False  # nothing of this needs draws
    if found.equivalence is not None and found.equivalence.rope is not None:
        margin = found.equivalence.margin
        better, worse = _above(found, asked, scale, margin) or 0.0, 1 - (_above(found, asked, scale, -margin) or 0.0)
        if not higher_is_better:
            better, worse = worse, better
        believed = BeliefInMargin(worse=worse, equivalent=max(0.0, 1 - better - worse), better=better)
        found.equivalence = replace(found.equivalence, rope=believed)


def _above(found: Evidence, asked: CompareOptions, scale: float, at: float) -> float | None:
    """P(candidate's number minus the baseline's > at)."""
    from steelyard_old.infer.posterior.prior_scale import estimate_above, flips_above

    if found.disagreed is not None:
        gained, lost = found.disagreed
        return flips_above(gained, lost, found.n, scale, at, prior=asked.own.prior)
    error = found.standard_error or found.error
    if found.difference is None or not error:
        return None
    units = found.details.units or found.n
    return estimate_above(found.difference, error, scale, at, df=max(1, units - 1))


def finish(
    found: Evidence,
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    names: tuple[str, str],
    signature: str | None = None,
    **more: Any,
) -> Comparison:
    """The comparison with its signature. signature: where it is known."""
    higher_is_better = metric.higher_is_better
    if asked.own.higher_is_better is not None and metric.better_high(asked.own.higher_is_better) != higher_is_better:
        higher_is_better = not higher_is_better
        _turn(found, asked)
    believe(found, asked, warnings, higher_is_better=higher_is_better)
    return comparison_of(
        found,
        metric=metric.name,
        higher_is_better=higher_is_better,
        names=names,
        asked=asked,
        warnings=warnings,
        signature=sign(found, metric, asked) if signature is None else signature,
        **more,
    )


def _turn(found: Evidence, asked: CompareOptions) -> None:
    """What speaks of better and worse, the other way round: the families of metrics took up for good, and lower scores are better."""
    if callable(found.probability):
        above = found.probability
        found.probability = lambda: 1 - above()
    elif found.probability is not None:
        found.probability = 1 - found.probability
    if found.equivalence is not None:
        e = found.equivalence
        rope = None if e.rope is None else replace(e.rope, worse=e.rope.better, better=e.rope.worse)
        found.equivalence = replace(e, p_lower=e.p_upper, p_upper=e.p_lower, non_inferior=e.p_upper <= 1 - asked.level, rope=rope)


def sign(found: Evidence, metric: Metric, asked: CompareOptions, **more: object) -> str:
    """What was used, in the fixed order; `more` is what a board of many systems adds."""
    method = None if found.interval is None else found.details.instead_of or found.interval.method
    of_test = None if found.test.details.exact else found.test.details.draws  # fewer than asked for, with very many labels
    own = asked.own
    how = None if method is None else INTERVALS.get(method, OF_A_PROPORTION)
    drawn = found.drawn or (how is not None and how.redraws)
    draws = own.draws if drawn else None if of_test is None else min(own.draws, of_test)
    return signature.write(
        {
            "metric": metric.name,
            "positive": own.positive,
            "labels": own.labels,
            "n": found.n,
            "design": found.design,
            "units": found.details.units,
            "n_effective": None if found.details.n_effective is None else f"{found.details.n_effective:.4g}",
            "interval": method,
            "test": found.test.name,
            "alternative": asked.alternative,
            "level": own.confidence_level,
            "side": None if own.side == "two" else own.side,
            "margin": asked.margin,
            "prior": own.prior if found.probability is not None or (how is not None and how.believed) else None,
            "prior_scale": own.prior_scale,
            "range": own.range,
            "draws": draws,
            "seed": None if draws is None else own.seed,
            "absent": own.absent,
            "missing": None if own.missing == "error" else own.missing,
            "unmatched": None if asked.unmatched == "error" else asked.unmatched,
            **more,
        }
    )
