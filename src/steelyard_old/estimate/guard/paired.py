"""A guard against recorded outcomes: the same items, one by one, by the tests of `compare`."""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.changed_items import KEPT, changed_items, item_values
from steelyard_old.estimate.evidence import DECLARE, Evidence, too_few_groups
from steelyard_old.estimate.guard import relative
from steelyard_old.estimate.guard.number import warn_of_gain
from steelyard_old.estimate.guard.rule import GuardRule, at_reference, span_of
from steelyard_old.estimate.guard.verdict import Guarded, verdict_of
from steelyard_old.estimate.guard.whole_suite import pooled_facts
from steelyard_old.estimate.opening import SystemItems, paired
from steelyard_old.estimate.pair_evidence import pair_evidence
from steelyard_old.infer.intervals.clusters import FEWEST, LEAST
from steelyard_old.infer.normal import lower_tail, z_value
from steelyard_old.infer.paired.decision import (
    agreeing_bounds,
    agreeing_threshold,
    decide,
    most_losses,
    run_excess,
    satterthwaite,
    smallest_p,
    student_p,
    student_reach,
)
from steelyard_old.infer.paired.mcnemar import mcnemar_midp, tango_z
from steelyard_old.infer.paired.ratio import MeanRatio, RatioTest, ShareRatio, right_answers_needed
from steelyard_old.infer.planning import power
from steelyard_old.items import Items
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Metric
from steelyard_old.options.compare import CompareOptions, settle_comparison
from steelyard_old.options.measure import settle
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import ChangedItem, Difference, Test
from steelyard_old.results.details import VerdictDetails
from steelyard_old.results.verdict import WORSENING, Needed, Verdict, one_sided_bounds
from steelyard_old.tally.pairs import Pairs
from steelyard_old.tally.rounding import without_rounding
from steelyard_old.tally.sides import Sides

NONE_FAILS = "no score could be a regression"
ENOUGH_FAILURES = 100  # items that fail altogether in one run alone, from which their number is known well enough
RARE = 0.05  # a share of items that a ratio at or beyond total failure is no rare thing from


@dataclass(slots=True, kw_only=True)
class PairedJudgement:
    """A rule applied to the evidence of one comparison; what it works out is in the scale of the reference where it is not said otherwise.

    Several runs may share noise that does not average out over items: `shared` is the variance of it, and `df` are the degrees of
    freedom of the standard error that it widens (None where nothing does).
    """

    found: Evidence
    pairs: Pairs
    metric: Metric
    rule: GuardRule
    warnings: Warnings
    unit: float
    asked: CompareOptions  # how the comparison was made: slices are made alike
    deterministic: bool = False
    shared: float = field(default=0.0, init=False)
    df: float | None = field(default=None, init=False)
    ratio: RatioTest | None = field(default=None, init=False)  # of run and reference, where margin or theta is a share of the reference
    at_margin: Test | None = field(default=None, init=False)  # the test of the comparison at the margin, where there is one

    def __post_init__(self) -> None:
        if self.rule.relative:
            self.ratio = self._ratio()
        if self.rule.margin and self.rule.margin_relative is None and self.found.against is not None:
            self.at_margin = self.found.against(-self.rule.sign * self.rule.margin / self.unit)
        self._widen()

    @property
    def error(self) -> float | None:
        """The standard error in the metric's own unit, what whole runs share included."""
        own = self.found.error
        return math.sqrt(own**2 + self.shared) if self.shared and own is not None else own

    @property
    def noise(self) -> float | None:
        """The same of the items seen alone, without what the test counts in for those not seen."""
        own = self.found.error if self.found.noise is None else self.found.noise
        return math.sqrt((own or 0.0) ** 2 + self.shared) if self.shared else own

    @property
    def change(self) -> float:
        """The difference, turned so that up is good."""
        return self.rule.sign * (self.found.difference or 0.0) * self.unit + 0.0  # never -0.0

    # ---- the p-value ---------------------------------------------------------------------------------------------------

    def p_value(self) -> tuple[float, str]:
        """H0: d >= -margin, by the test of the comparison at that edge; where it has none, by Tango's score or t."""
        p, test = self._without_run_noise()
        if self.df is None or not self.error:
            return p, test
        return max(p, student_p(self._centre, self.error, self.df, self.rule.margin / self.unit)), test

    def _without_run_noise(self) -> tuple[float, str]:
        found, rule = self.found, self.rule
        if rule.margin_relative is not None and self.ratio is not None:
            return self.ratio.p_value(rule.edge(rule.margin_relative), rule.worse_ratio), self.ratio.name
        if rule.margin == 0:
            if found.test.p_value is None:
                raise DataError(
                    f"No p-value by {found.test.name}: the two runs do not differ on any item.",
                    got=f"no p-value by {found.test.name}",
                    need="items that differ somewhere",
                )
            return found.test.p_value, found.test.name
        if self._outcomes:
            lost, gained = self._lost_and_gained()
            return self._p_of_flips(lost, gained), "tango-score"
        if not self.metric.takes_margin:
            raise UsageError(
                f"A margin (here {rule.margin:g}) needs right or wrong, a mean of scores, or a ratio of sums, not {self.metric.name}.",
                got=f"margin {rule.margin:g}",
                need="right or wrong, a mean of scores, or a ratio of sums",
            )
        if found.judge is not None:
            return found.judge.p_value(-rule.sign * rule.margin / self.unit), found.judge.name
        if self.at_margin is not None and self.at_margin.p_value is not None:
            return self.at_margin.p_value, self.at_margin.name
        away = rule.sign * (found.difference or 0.0) + rule.margin / self.unit
        if not found.error:  # every item differs by the same: all signs of d + margin are one
            return (smallest_p(self._units, "sign-flip"), "sign-flip") if away < 0 else (1.0, "sign-flip")
        return student_p(away, found.error, self._units - 1 if found.df is None else found.df), "t"

    def _ratio(self) -> RatioTest:
        """The test of run / reference: of two shares, means, ratios of sums, or perplexities."""
        if self.rule.target == "runs":
            raise UsageError(
                "A share of the reference cannot be asked with target='runs', which is about these very items.",
                got="a share of the reference and target='runs'",
                need="target='items', or margin and theta in the scale of the scores",
            )
        if self._outcomes:
            return relative.share_ratio(*self._lost_and_gained(), self.found, self.metric, self.rule)
        return relative.ratio_of(self.found, self.metric, self.rule)

    @property
    def _centre(self) -> float:
        """Where the bounds lie around, in the metric's own unit, up is good."""
        return self.rule.sign * self.found.pull * (self.found.difference or 0.0)

    @property
    def _units(self) -> int:
        return self.found.details.units or self.found.n

    @property
    def _right_is_good(self) -> bool:
        """Right to wrong is worse, unless scores of 1 are what the user counts as bad."""
        return self.metric.scores_up(self.rule.higher_is_better)

    @property
    def _outcomes(self) -> bool:
        """Whether the metric is the share of items right or wrong, one answer each. A table metric has flips too, but is not about them."""
        return self.found.flips is not None and self.metric.scored

    @property
    def _right(self) -> int:
        """How many items the reference has right."""
        flips = self.found.flips or {}
        return flips["both"] + flips["baseline_only"]

    @property
    def _losable(self) -> int:
        """How many items can become worse."""
        return self._right if self._right_is_good else self.found.n - self._right

    def _p_of_flips(self, lost: int, gained: int) -> float:
        """p of so many items lost and gained: McNemar without a margin, Tango's score with one."""
        if self.rule.margin == 0:
            return mcnemar_midp(gained, lost, "less")
        if self.rule.margin_relative is not None:
            found = relative.share_ratio(lost, gained, self.found, self.metric, self.rule)
            return found.p_value(self.rule.edge(self.rule.margin_relative), self.rule.worse_ratio)
        return lower_tail(tango_z(gained, lost, self.found.n, -self.rule.margin / self.unit))

    def _lost_and_gained(self) -> tuple[int, int]:
        """Items that became worse and better."""
        flips = self.found.flips or {}
        lost, gained = flips["baseline_only"], flips["candidate_only"]
        return (lost, gained) if self._right_is_good else (gained, lost)

    # ---- noise that whole runs share -------------------------------------------------------------------------------------

    def _widen(self) -> None:
        """With several runs: what they share beyond the noise of their items does not average out over items."""
        if self.rule.target == "runs" or self.error is None or self.found.too_few:
            return
        parts = [runs_of(self.pairs.baseline, self.metric), runs_of(self.pairs.candidate, self.metric)]
        known = [part for part in parts if part is not None and len(part[0]) > 1]
        if not known:
            return
        means, within = max(known, key=lambda part: len(part[0]))
        excess = run_excess(means, within, self.found.details.n_effective or self.pairs.items)
        if excess == 0:
            return
        runs = [1 if part is None else len(part[0]) for part in parts]
        shared = excess * sum(1 / r for r in runs)
        own = self.pairs.items - 1 if self.found.df is None else self.found.df
        self.df = satterthwaite([(self.error**2, own), (shared, len(means) - 1)])
        self.shared = shared
        self.warnings.add(
            f"runs differ by more than the noise of their items (run-to-run standard deviation beyond it "
            f"{math.sqrt(excess) * self.unit:.3g}): counted in, t with {self.df:.1f} degrees of freedom"
        )

    # ---- bounds, detectable drop, threshold ------------------------------------------------------------------------------

    def bounds(self) -> tuple[float | None, float | None]:
        """One-sided bounds of level 1 - alpha: the ends of the two-sided interval of level 1 - 2 alpha, turned so that up is good."""
        if self.df is not None and self.error:
            low, high = self._reaches(student_reach(self.df, self.rule.alpha) * self.unit)
            end, centre, d = self._farthest, self._centre * self.unit, self.change
            return max(-end, min(centre - low, d)), min(end, max(centre + high, d))
        interval = self.found.interval
        if interval is None or interval.low is None or interval.high is None:
            return None, None
        low, high = sorted(self.rule.sign * end * self.unit for end in (interval.low, interval.high))
        return low, high

    def _reaches(self, times: float) -> tuple[float, float]:
        """So many standard errors down and up, up is good, each with what nobody has seen where few items differ."""
        rare, error = self.found.rare, self.error or 0.0
        ends = ("lower", "upper") if self.rule.sign > 0 else ("upper", "lower")
        low, high = (times * math.sqrt(error**2 + (0.0 if rare is None else rare.variance(end))) for end in ends)
        return low, high

    @property
    def _farthest(self) -> float:
        """How large a difference can be at all, in the scale of the reference."""
        low, high = self.metric.range_of_scores(self.rule.range) or (self.metric.low, self.metric.high)
        return math.inf if low is None or high is None else (high - low) * self.unit

    def mde(self) -> float | None:
        """margin + (z_alpha + z_beta) SE; for right or wrong never below the drop that n items find when nothing else changes."""
        if self.found.too_few:
            return None
        if self._outcomes:
            z = power.minimum_detectable(1.0, self.rule.alpha, self.rule.beta)
            return self.rule.margin + self.unit * max(z * (self.error or 0.0), z * z / self.found.n)
        if not self.error:
            return None
        found = power.minimum_detectable(self.error, self.rule.alpha, self.rule.beta, noise=self.noise)
        return self.rule.margin + found / self.found.pull * self.unit

    def threshold(self, p: float, upper: float | None, smallest: float) -> tuple[float | None, str]:
        """The last score that is no regression: this run's score is beyond it if and only if its p is at most alpha.

        Right or wrong: exactly, at the gains of this run. Elsewhere at the spread of this run, by the bound that is reported
        (`upper`, as it was before it had to agree with p). None where no score could be a regression. The note says under what
        it holds, or why there is none.
        """
        if smallest > self.rule.alpha or self.found.too_few:
            return None, NONE_FAILS
        return self._threshold_of_flips() if self._outcomes else self._threshold_of_spread(p, upper)

    def _threshold_of_flips(self) -> tuple[float | None, str]:
        found, rule = self.found, self.rule
        _, gained = self._lost_and_gained()
        most = most_losses(lambda lost: self._p_of_flips(lost, gained), self._losable, rule.alpha)
        if most is None:
            self.warnings.add(
                f"no score could be a regression: with {gained:,} items gained, the {self._losable:,} that could be lost are too few"
            )
            return None, NONE_FAILS
        note = f"given the {gained:,} item{'' if gained == 1 else 's'} gained in this run" if gained else ""
        there = self.metric.of_right(self._right, found.n)
        return float(there - rule.sign * (most - gained)) / found.n * self.unit, note

    def _threshold_of_spread(self, p: float, upper: float | None) -> tuple[float | None, str]:
        found, rule = self.found, self.rule
        assert found.baseline is not None
        assert found.candidate is not None
        if not self.error:
            self.warnings.add("no threshold: the items of this run do not vary, so none can be computed")
            return None, "not known: the differences show no spread"
        what = "the runs of an item" if rule.target == "runs" else "groups" if found.design == "clustered" else "items"
        note = f"if {what} vary as they do {'here' if rule.target == 'runs' else 'in this run'}"
        reach = -power.threshold_offset(self.error, rule.alpha) * self.unit if upper is None else upper - self._centre * self.unit
        reference = rule.sign * found.baseline * self.unit
        last = reference - (rule.margin + reach) / found.pull
        candidate = rule.sign * found.candidate * self.unit
        return rule.sign * agreeing_threshold(last, candidate, reference - rule.margin, worse=p <= rule.alpha), note

    # ---- what could be found, and what is needed ---------------------------------------------------------------------------

    def smallest(self, test: str) -> float:
        """The smallest p that any outcome of the run could have given: everything that can be lost is lost."""
        found = self.found
        if self._outcomes:
            return self._p_of_flips(self._losable, 0) if self.rule.margin else smallest_p(self._losable, "mcnemar-midp")
        if self.rule.margin_relative is not None and isinstance(self.ratio, MeanRatio):
            all_lost = relative.worst(self.ratio, found, self.rule)
            return all_lost.p_value(self.rule.edge(self.rule.margin_relative), self.rule.worse_ratio)
        reference = (found.baseline or 0.0) * self.unit
        room = span_of(self.rule, reference).room(reference, self.rule.sign)
        if room is not None and room <= self.rule.margin:  # nothing can fall below what is tolerated
            return 1.0
        if found.judge is not None:
            return found.judge.smallest(-self.rule.sign * self.rule.margin / self.unit)
        taken = self.at_margin if self.rule.margin else found.test
        drawn = taken is not None and taken.details.draws is not None and not taken.details.exact
        return max(smallest_p(self._units, "sign-flip"), 0.5 / (self.asked.own.draws + 1) if drawn else 0.0)  # ties count half

    def needed(self, smallest: float) -> Needed | None:
        """How many items would decide: rule theta out if nothing has changed."""
        found, rule = self.found, self.rule
        if found.too_few:
            return self._needed_groups()
        if smallest > rule.alpha:
            return self._needed_units(smallest)
        if rule.theta is None:
            return None
        if rule.target == "runs":
            return self._needed_runs(rule.theta / self.unit)
        if self._outcomes:
            psi = max(sum(self._lost_and_gained()) / found.n, 1 / found.n)
            design, assumed = power.rule_out_outcomes(psi), f"{psi:.3g} of the items differ between healthy runs"
        elif self.error or found.rare is not None:
            sd, reach = (self.noise or 0.0) * math.sqrt(found.n), found.test.details.range or 0.0
            if found.rare is not None:
                reach = found.rare.reach("lower" if rule.sign > 0 else "upper")
            if rule.theta_relative is not None and isinstance(self.ratio, MeanRatio):
                reach = self.ratio.largest  # the bound of a share counts two items at the ends in, whether the range is declared or not
            design, assumed = power.paired_scores(sd, reach=reach), "the differences vary as they do here"
        else:
            return None
        items = max(power.items(design, rule.theta / self.unit, rule.alpha, rule.beta), self._least_for_share())
        why = f"to rule out {rule.theta:g} with power {1 - rule.beta:g} if {assumed}"
        if items > found.n:
            return Needed(n_items=items, more=items - found.n, why=why)
        room = rule.theta / self.unit + rule.sign * (found.difference or 0.0)  # left between the run as it is and theta
        if room <= 1e-3 * rule.theta / self.unit:  # at theta itself or beyond it: no number of items would move it to a side
            return Needed(n_items=None, more=None, why=f"a healthy run needs {items:,}, but this run's drop is already theta or more")
        moved = max(found.n + 1, power.items(design, room, rule.alpha, rule.beta))
        return Needed(n_items=moved, more=moved - found.n, why=f"{why} and the difference stays the same")

    def _least_for_share(self) -> int:
        """Items without which a share of the reference is never shown, were there not a single change."""
        if self.rule.theta_relative is None or not isinstance(self.ratio, ShareRatio) or not self.rule.higher_is_better:
            return 0
        right = right_answers_needed(1 - self.rule.theta_relative, self.rule.alpha)
        return math.ceil(right * self.found.n / (self.ratio.both + self.ratio.lost))

    def _needed_runs(self, theta: float) -> Needed | None:
        """These very items are given: only more runs of them can rule theta out."""
        if not self.error:
            return None
        rule = self.rule
        reach = power.minimum_detectable(self.error, rule.alpha, rule.beta)
        room = theta + rule.sign * (self.found.difference or 0.0)  # left between the runs as they are and theta
        healthy = reach <= theta
        if healthy and room <= 0:
            return Needed(n_items=None, more=None, why="a healthy run needs no more runs than these; this one lies beyond theta itself")
        times = max(1.05, (reach / (room if healthy else theta)) ** 2)
        stays = " and the difference stays where it is" if healthy else ""
        why = f"with {times:.2g} times as many on record as well, to rule out {rule.theta:g} with power {1 - rule.beta:g}"
        repeats = math.ceil(times * (self.found.details.repeats_candidate or 1))
        return Needed(n_items=None, more=None, repeats=repeats, why=f"{why} if runs vary as they do here{stays}")

    def _needed_units(self, smallest: float) -> Needed:
        """Too few units for any outcome to be significant: so many groups, or right answers, are the least.

        With a margin, the z of a run that lost everything grows with the root of the items.
        """
        least = math.ceil(-math.log2(self.rule.alpha))
        why = "no outcome on so few items (or groups, or right answers) could give p <= alpha"
        if self.found.design == "clustered":
            return Needed(groups=least, more_groups=max(1, least - self._units), more=None, n_items=None, why=why)
        if self._outcomes and self.rule.margin == 0:
            items = math.ceil(self.found.n * least / self._losable) if self._losable else None
            return Needed(n_items=items, more=None if items is None else max(1, items - self.found.n), why=why)
        if self._outcomes:
            if smallest >= 0.5:  # all that can be lost lies within the margin, however many items there are
                return Needed(n_items=None, more=None, why=why)
            reached, wanted = (z_value(1 - p, "lower") for p in (smallest, self.rule.alpha))
            items = max(self.found.n + 1, math.ceil(self.found.n * (wanted / reached) ** 2))
            return Needed(n_items=items, more=items - self.found.n, why=why)
        items = max(least, self.found.n + 1)
        return Needed(n_items=items, more=items - self.found.n, why=why)

    def _needed_groups(self) -> Needed:
        """Groups that are too few, or worth too few, for any verdict."""
        why = f"at least {FEWEST} groups, worth {LEAST:g} of equal size, are needed to judge by their spread"
        least = max(FEWEST, self._units + 1)
        return Needed(groups=least, more_groups=least - self._units, more=None, n_items=None, why=why)

    def ratio_found(self, p: float) -> Difference | None:
        """run / reference with its two one-sided bounds, which say what p says; None where no share was asked for."""
        rule, ratio = self.rule, self.ratio
        if ratio is None:
            return None
        low, high = relative.ratio_bounds(ratio, rule)
        margin = rule.margin_relative if rule.margin_relative is not None else rule.margin / abs((self.found.baseline or 1.0) * self.unit)
        sign = int(rule.sign)
        worst, best = (None if end is None else sign * (end - 1) for end in (low, high)[::sign])  # up is good
        ends = [None if end is None else 1 + sign * end for end in agreeing_bounds(worst, best, p, rule.alpha, margin)[::sign]]
        return Difference(estimate=ratio.estimate, interval=one_sided_bounds(ends[0], ends[1], rule.alpha, ratio.name))

    def theta_and_bound(self, lower: float | None) -> tuple[float | None, float | None]:
        """Theta, and the bound that has to lie above its negative: a share of the reference both, where theta is one."""
        rule = self.rule
        if self.ratio is None or rule.theta_relative is None:
            return rule.theta, lower
        low, high = relative.ratio_bounds(self.ratio, rule)
        end = low if rule.sign > 0 else high
        # what whole runs share counts, too
        shared = math.inf if self.df is None or lower is None else lower / ((self.found.baseline or 1.0) * self.unit)
        return rule.theta_relative, None if end is None else min(rule.sign * (end - 1), shared)

    def pooled_facts(self) -> dict[str, Any]:
        """What a suite pools of this task; nothing where its p-value has to speak for it: groups, margins, weights, these very runs."""
        found, rule, metric = self.found, self.rule, self.metric
        one_number = metric.mean_of_items and self.pairs.baseline.weight is None and found.design != "clustered"
        if not one_number or rule.margin or rule.margin_relative or rule.target == "runs" or found.difference is None:
            return {}
        ends = metric.range_of_scores(rule.range) or metric.item_range
        return pooled_facts(self.pairs, metric, found.difference, rule.sign, None if ends is None else ends[1] - ends[0])

    def claim(self) -> str:
        if self.rule.target == "runs":
            return "new runs on these same items: run labels are permuted within items; this says nothing about new items"
        what = "groups" if self.found.design == "clustered" else "items"
        said = f"p and bounds are for new {what} of this kind"
        if self.pairs.plain and not self.deterministic:
            said += "; run-to-run variation is not estimated (one run per side)"
        return said


def runs_of(items: Items, metric: Metric) -> tuple[list[float], float] | None:
    """The mean of each run and the variance of one item's answers over runs; None where there are no runs, or a run lacks half its items.

    A run that lacks some answers is compared with the means of the items it has: one answer missing moves its mean by next to nothing.
    """
    values: npt.NDArray[np.float64] | None = item_values(items, metric)
    if values is None or items.repeat is None or items.id is None:
        return None
    run, item = items.repeat.codes, np.unique(items.id.codes, return_inverse=True)[1]
    size, tries = np.bincount(run), np.bincount(item)
    size = size[size > 0]
    if len(size) < 2 or 2 * int(size.min()) < len(tries):
        return None
    weight = np.ones(len(values)) if items.weight is None else items.weight
    own = np.bincount(item, weights=values) / tries
    away = without_rounding(values - own[item], float(np.abs(values).max()), int(tries.max()))
    _, run = np.unique(run, return_inverse=True)
    means = float(own.mean()) + np.bincount(run, weights=weight * away) / np.bincount(run, weights=weight)
    within = float((away**2).sum() / max(1, len(values) - len(tries)))
    return [float(m) for m in means], within


WHOLE = 1e-9  # of a level 1 - 2 alpha that would be 0 at alpha = .5
RUN_AND_REFERENCE = Sides(baseline="reference", candidate="run", verb="checks", may_differ=False, identical="no item changed: zero flips")
TURNED = {"lost": "gained", "gained": "lost"}


def judge_items(
    reference: SystemItems,
    candidate: SystemItems,
    metric: Metric,
    rule: GuardRule,
    warnings: Warnings,
    *,
    unit: float,
    unmatched: str,
    missing: str,
    draws: int,
    seed: int,
    deterministic: bool = False,
    per: str = "",
) -> PairedJudgement:
    """The rule applied to matched items. `unit` turns the metric's own number into the scale of the reference; per: what a ratio is per."""
    level = max(1 - 2 * rule.alpha, WHOLE)
    ends = metric.range_of_scores(rule.range)
    if rule.range is not None and ends is None:
        warnings.add(f"range was not used: {metric.name} is not a mean of scores")
    asked = settle_comparison(
        settle(
            confidence_level=level,
            draws=draws,
            seed=seed,
            missing=missing,
            positive=rule.positive,
            range=ends,
            higher_is_better=metric.scores_up(rule.higher_is_better),
        ),
        interval=None,
        test="within-item" if rule.target == "runs" else None,
        alternative="less" if rule.higher_is_better else "greater",
        margin=rule.margin / unit or None,
        design=None,
        unmatched=unmatched,
        correction="holm",
    )
    asked = replace(asked, about_runs=rule.target == "runs", sides=RUN_AND_REFERENCE, per=per)
    pairs, _ = paired(reference, candidate, asked, warnings)
    if rule.target == "runs" and pairs.plain:
        raise DataError(
            "target='runs' needs repeats, and both sides have one answer per item.",
            got="one answer per item on both sides",
            need="repeats: several recorded runs, or a repeat column",
            hint="record several runs, or give a repeat column; target='items' asks about new items of this kind",
        )
    # Without a margin of its own the comparison would warn about spreads that the guard judges itself.
    plain = replace(asked, margin=None) if not metric.right_or_wrong and rule.margin else asked
    found = pair_evidence(pairs, metric, plain, warnings)
    if rule.relative and found.baseline is not None:
        rule = at_reference(rule, found.baseline * unit)
    return PairedJudgement(
        found=found, pairs=pairs, metric=metric, rule=rule, warnings=warnings, unit=unit, asked=plain, deterministic=deterministic
    )


def guard_items(judged: PairedJudgement, guarded: Guarded) -> Verdict:
    """The verdict on matched items."""
    found, rule, unit = judged.found, judged.rule, judged.unit
    if found.difference is None or found.baseline is None or found.candidate is None:
        raise DataError(
            f"{judged.metric.name} is undefined in one of the runs.", got=f"an undefined {judged.metric.name}", need="a value in both runs"
        )
    pooled = judged.pooled_facts()
    p, test = judged.p_value()
    error = None if found.too_few else judged.noise
    below, above = judged.bounds()
    lower, upper = agreeing_bounds(below, above, p, rule.alpha, rule.margin)
    theta, beyond = judged.theta_and_bound(lower)
    ratio = judged.ratio_found(p)
    smallest = min(p, judged.smallest(test))
    verdict = decide(p, rule.alpha, theta=theta, lower=beyond, attainable=smallest, enough=not found.too_few)
    if smallest > rule.alpha:
        judged.warnings.add(f"no outcome on {found.n:,} items could give p <= {rule.alpha:g} (the smallest is {smallest:.3g})")
    warn_of_gain(lower, judged.warnings)
    _warn_of_unseen(judged, verdict)
    _warn_of_failures(judged, verdict)
    threshold, note = judged.threshold(p, above, smallest)
    method = None if found.interval is None else found.interval.method
    return verdict_of(
        guarded,
        rule,
        verdict=verdict,
        design=found.design,
        test=test,
        p_value=p,
        n=found.n,
        value=found.candidate * unit,
        reference=found.baseline * unit,
        difference=judged.change,
        ratio=ratio,
        sigma=None if not error else error * math.sqrt(found.n) * unit,
        mde=judged.mde(),
        threshold=threshold,
        flips=found.flips,
        needed=judged.needed(smallest) if verdict == "inconclusive" else None,
        claim=judged.claim(),
        changed_items=_changed_items(judged),
        interval=one_sided_bounds(lower, upper, rule.alpha, method or test),
        details=VerdictDetails.of(
            {
                **found.details,
                "not_judged": too_few_groups(found.details) if found.too_few else None,
                "smallest_p": smallest,
                "standard_error": None if not error else error * unit,
                "interval_method": method,
                "threshold_note": note or None,
                **pooled,
            }
        ),
    )


def _warn_of_unseen(judged: PairedJudgement, verdict: str) -> None:
    """Scores without a declared range: a verdict that would be another if rare large changes were counted in."""
    rule, unseen = judged.rule, judged.found.unseen
    if unseen is None:
        return
    if verdict == "regression" and unseen.differs and (p := unseen.p_value(-rule.sign * rule.margin / judged.unit)) > rule.alpha:
        judged.warnings.add(f"the test may be overconfident: {unseen.differs}, this would be no regression (p = {p:.2g}); {DECLARE}")
    if verdict == "pass" and rule.theta is not None:
        ends = unseen.interval(max(1 - 2 * rule.alpha, WHOLE), "two")
        lowest = min(rule.sign * end * judged.unit for end in ends)
        if lowest <= -rule.theta:
            judged.warnings.add(
                f"the pass may be overconfident: {unseen.falls}, the lower bound would be {lowest:.3g} "
                f"and a {WORSENING[rule.higher_is_better]} of {rule.theta:g} would not be ruled out; {unseen.remedy}"
            )


def _warn_of_failures(judged: PairedJudgement, verdict: str) -> None:
    """A pass of a ratio of sums that a few total failures bear on, where so many items differ that no unseen ones are counted in.

    Of runs at the edge, where about 1 in 100 utterances fails altogether and all others vary, more pass than the 5% that should. With
    a hundred such items or more the error is below 6%.
    """
    sums, rule, metric = judged.found.sums, judged.rule, judged.metric
    if verdict != "pass" or rule.theta is None or sums is None or sums.sizes is not None or not metric.of_ratio:
        return
    if judged.found.rare is not None and judged.found.rare.reach("lower" if rule.sign > 0 else "upper"):
        return
    then, now = (_failed_altogether(side, rule.higher_is_better) for side in (sums.baseline, sums.candidate))
    few = int((then != now).sum())
    if 0 < few < ENOUGH_FAILURES and then.mean() < RARE:
        judged.warnings.add(
            f"the pass may be overconfident: {few:,} of {len(now):,} items fail{'s' if few == 1 else ''} altogether in one of the two runs "
            "only; if such failures are more common than in this run, the pass may be wrong; use more items"
        )


def _failed_altogether(sums: Any, higher_is_better: bool) -> Any:
    """Items with nothing right: no less wrong than there is to get right, or nothing of what is wanted."""
    below, above = sums[:, 0], sums[:, 1]
    return (below > 0) & ((above <= 0) if higher_is_better else (above >= below))


def _changed_items(judged: PairedJudgement) -> tuple[ChangedItem, ...]:
    """The items that changed most; lost and gained as this rule sees them, which may count a score of 1 as bad."""
    items = changed_items(judged.pairs, judged.metric, KEPT)
    if judged.rule.higher_is_better == judged.metric.higher_is_better:
        return tuple(items)
    return tuple(replace(item, change=TURNED[item.change]) for item in items)
