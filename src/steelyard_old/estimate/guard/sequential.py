"""A guard that stops: differences item by item in their random order, looked at by plan, and judged by the rule that planned it.

`run` looks while it asks; `check` looks again at what a run wrote down. Both come to the same words, because both come here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.changed_items import KEPT, item_values
from steelyard_old.estimate.guard.rule import GuardRule
from steelyard_old.estimate.guard.verdict import Guarded, verdict_of
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate
from steelyard_old.infer.sequential.exact_mcnemar import LOOKS
from steelyard_old.infer.sequential.stopping import RULES, StoppingRule, choice, earlier_choice, rule_for
from steelyard_old.infer.sequential.wavering import WaveringStrata
from steelyard_old.items import Items, Labels
from steelyard_old.late_dataclass import dataclass
from steelyard_old.metrics.base import Metric
from steelyard_old.results.base import NOT_SET, Warnings
from steelyard_old.results.comparison import ChangedItem
from steelyard_old.results.details import VerdictDetails
from steelyard_old.results.stopping import EarlyStopping, ReachedLimit, ScoreOutside
from steelyard_old.results.verdict import Needed, Verdict, one_sided_bounds

FloatArray = npt.NDArray[np.float64]
OUTSIDE = "outside"  # a score beyond the range that the rule rests on: it can decide nothing any more
ENDED = "ended"  # from outside, before the rule had decided: by a limit of calls or cost
ENDS = {"regression": "regression", "pass": "pass", "exhausted": "inconclusive", OUTSIDE: "inconclusive", ENDED: "inconclusive"}
NEAR = 1e-9  # of the range: what rounding may carry a score beyond it


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingPlan:
    """What is fixed before the first look, in the metric's own unit. A journal and a run's notes keep it; it never changes midway.

    `kind`: the rule that was named, None for the default. `stopping`: the rule that was taken; None in plans of 0.1.0, whose
    default was another. `every`: a look is due after so many further items (whole groups). `looks`: how many are planned, None
    with a rule that plans none. `n_max`: the items there are; `groups` and `largest_group`: in how many groups they lie, None
    without groups. `binding`: a pass ends the run, which nothing in `run` and `check` can overrule. `discordance` is the SPRT's
    guess. `score_range` and `range_from`: the range of scores, and whether the task, the scorer or the record says so.
    `answers`: the fewest on record to an item; `record`: the digest of that record. `strata`: wavering items are asked more
    often, until they run out after `limit` items; None where all are asked alike.
    """

    kind: str | None
    theta: float
    alpha: float
    beta: float
    margin: float
    looks: int | None
    every: int
    n_max: int
    right_or_wrong: bool
    one_answer: bool
    groups: int | None = None
    largest_group: int | None = None
    discordance: float | None = None
    score_range: tuple[float, float] | None = None
    binding: bool = True
    stopping: str | None = None
    range_from: str | None = None
    answers: int = 1
    record: str | None = None
    strata: WaveringStrata | None = None
    limit: int | None = None

    def rule(self) -> StoppingRule:
        """A fresh rule of this plan, that has looked at nothing yet."""
        return rule_for(
            self.taken,
            right_or_wrong=self.right_or_wrong,
            one_answer=self.one_answer,
            margin=self.margin,
            grouped=self.groups is not None,
            theta=self.theta,
            alpha=self.alpha,
            beta=self.beta,
            # Plans of 0.1.0 have a number of looks whatever their rule.
            looks=self.looks if self.stopping is not None or RULES[self.taken].plans_looks else None,
            step=self.every,
            n_max=self.n_max if self.groups is None else self.groups,
            binding=self.binding,
            score_range=self.score_range,
            discordance=self.discordance,
            largest_group=self.largest_group,
            ends=None if self.strata is None else self.strata.ends,
        )

    @property
    def order(self) -> str:
        """How the items were put into their order: by their hash, or by that over the factor of their stratum."""
        return "hash" if self.strata is None else "hash/k"

    @property
    def taken(self) -> str:
        """The rule: that of the plan, else the one named, else the default of 0.1.0, which wrote none down."""
        return self.stopping or self.kind or earlier_choice(**self._asked)

    @property
    def why(self) -> str:
        """Why this rule was taken, where none was named."""
        if self.kind is not None:
            return ""
        found, why = choice(**self._asked, theta=self.theta, n_max=self.n_max, score_range=self.score_range)
        return why if found == self.taken else f"the run was planned by {self.taken!r}, the default of 0.1.0"

    @property
    def _asked(self) -> dict[str, Any]:
        return {
            "right_or_wrong": self.right_or_wrong,
            "one_answer": self.one_answer,
            "margin": self.margin,
            "grouped": self.groups is not None,
        }

    def settled(self) -> StoppingPlan:
        """The plan with the rule that is taken, and the looks of a rule that plans them."""
        taken = self.kind or choice(**self._asked, theta=self.theta, n_max=self.n_max, score_range=self.score_range)[0]
        looks = LOOKS if self.looks is None and RULES[taken].plans_looks else self.looks
        return replace(self, stopping=taken, looks=looks)

    def as_earlier(self) -> StoppingPlan:
        """The plan as 0.1.0 would have made it."""
        known = None if self.range_from == "record" else self.score_range
        looks = LOOKS if self.looks is None else self.looks
        right_or_wrong = self.right_or_wrong and self.answers == 1  # means of several answers are neither
        return replace(
            self,
            stopping=None,
            range_from=None,
            score_range=known,
            looks=looks,
            right_or_wrong=right_or_wrong,
            answers=1,
            record=None,
            strata=None,
            limit=None,
        )

    def to_dict(self) -> dict[str, Any]:
        out = {name: getattr(self, name) for name in self.__slots__}
        if self.stopping is None:
            out = {name: value for name, value in out.items() if name not in SINCE_0_1_0}
        else:
            out |= {"strata": _plain_strata(self.strata), "order": self.order}
        return {**out, "score_range": None if self.score_range is None else list(self.score_range)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> StoppingPlan:
        try:
            ends = plain.get("score_range")
            counted = ("looks",) if plain["looks"] is not None or plain.get("stopping") is None else ()
            for name in ("theta", "alpha", "beta", "margin", "every", "n_max", *counted):
                if isinstance(plain[name], bool) or not isinstance(plain[name], int | float):
                    raise TypeError(f"{name} is {plain[name]!r}")
            known = {name: value for name, value in plain.items() if name != "order"}
            known |= {"score_range": None if ends is None else (float(ends[0]), float(ends[1])), "strata": _strata_in(plain.get("strata"))}
            made = cls(**known)
            if made.order != plain.get("order", made.order):
                raise ValueError(f"order is {plain['order']!r}")
            return made
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, UsageError) as fault:
            raise DataError(
                f"The notes of the run that stopped early are damaged ({fault}).", got=str(fault), need="the notes as they were written"
            ) from None


SINCE_0_1_0 = ("stopping", "range_from", "answers", "record", "strata", "limit")


def _plain_strata(strata: WaveringStrata | None) -> dict[str, Any] | None:
    """Strata as notes keep them: what they are made from, and what follows from it."""
    if strata is None:
        return None
    k = dict(zip(strata.sizes, strata.factors, strict=True))
    return {"answers": strata.answers, **strata.sizes, "factor": strata.factor, "k": k, "mean": strata.mean}


def _strata_in(plain: Mapping[str, Any] | None) -> WaveringStrata | None:
    if plain is None:
        return None
    made = WaveringStrata(**{name: plain[name] for name in ("answers", "stable", "wavering", "factor")})
    if _plain_strata(made) != dict(plain):
        raise ValueError("the strata have other factors than their sizes give")
    return made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedSeries:
    """The items of a run in the order in which they were asked, beside their outcomes on record: means over repeats.

    `k`: how often an item is asked, relative to the mean of its pool; None where all are asked alike.
    """

    ids: tuple[str, ...]
    reference: FloatArray
    candidate: FloatArray
    group: tuple[str | None, ...]
    k: FloatArray | None = None

    @property
    def differences(self) -> FloatArray:
        return self.candidate - self.reference

    @property
    def weighed(self) -> FloatArray:
        """The differences, each over k of its item, so that their mean is that of the pool."""
        return self.differences if self.k is None else self.differences / self.k

    def mean(self, values: FloatArray) -> float:
        """The mean of values of the items over the pool they were drawn from."""
        return float(values.mean()) if self.k is None else float(np.average(values, weights=1 / self.k))

    def units(self, sign: int, *, grouped: bool) -> FloatArray:
        """What a rule looks at: one difference per item, or for each whole group the sum of them and how many they are."""
        turned: FloatArray = sign * self.weighed
        if not grouped:
            return turned
        _, first, member = np.unique(np.array([g or "" for g in self.group]), return_index=True, return_inverse=True)
        order = np.argsort(first)
        return np.column_stack([np.bincount(member, weights=turned)[order], np.bincount(member)[order]])

    def first(self, n: int) -> PairedSeries:
        """The first n items."""
        return PairedSeries(
            ids=self.ids[:n],
            reference=self.reference[:n],
            candidate=self.candidate[:n],
            group=self.group[:n],
            k=None if self.k is None else self.k[:n],
        )


def series_of(reference: Items, run: Items, metric: Metric, strata: WaveringStrata | None = None) -> PairedSeries:
    """The matched items in the order of the run, with k of their strata."""
    past, now = means_of(reference, metric), means_of(run, metric)
    lost = [key for key in now if key not in past]
    if lost:
        raise DataError(
            f"{len(lost)} {'item is' if len(lost) == 1 else 'items are'} not in the reference, such as {lost[0]!r}.",
            got=f"{len(lost)} item(s) that are not on record, such as {lost[0]!r}",
            need="items of the reference",
        )
    ids = tuple(now)
    groups = _groups(reference)
    varies = {} if strata is None else stored_answers(reference, metric).variance
    return PairedSeries(
        ids=ids,
        reference=np.array([past[key] for key in ids]),
        candidate=np.array([now[key] for key in ids]),
        group=tuple(groups.get(key) for key in ids),
        k=None if strata is None else strata.k([varies[key] > 0 for key in ids]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersOnRecord:
    """What a record knows of single answers: how many there are to each item, and how much one of them varies (0: all alike)."""

    many: Mapping[str, int]
    variance: Mapping[str, float]

    @property
    def fewest(self) -> int:
        return min(self.many.values())


def stored_answers(items: Items, metric: Metric) -> AnswersOnRecord:
    """The answers on record to each item, and their unbiased variance; 0 where there is one."""
    values = item_values(items, metric)
    assert values is not None  # the metric is judged item by item
    assert items.id is not None
    codes, first, member = np.unique(items.id.codes, return_index=True, return_inverse=True)
    away = values - values[first][member]  # from the first answer: exactly 0 where all are alike
    many = np.bincount(member)
    total = np.bincount(member, weights=away)
    squares = np.bincount(member, weights=away * away) - total * total / many
    variance = np.maximum(squares, 0.0) / np.maximum(many - 1, 1)
    names = [items.id.names[code] for code in codes.tolist()]
    return AnswersOnRecord(
        many=dict(zip(names, many.tolist(), strict=True)), variance=dict(zip(names, np.asarray(variance, float).tolist(), strict=True))
    )


def answers_apart(items: Items, metric: Metric) -> dict[str, FloatArray]:
    """How far a new answer of the same model may lie from the mean of those on record, by item: each stored answer from the others.

    Formula: (answer - mean of the other R - 1) sqrt(R^2 - 1) / R, which has the variance of a new answer minus the mean of R.
    Reference: Miller2024.
    """
    values = item_values(items, metric)
    assert values is not None  # the metric is judged item by item
    assert items.id is not None
    codes, member = np.unique(items.id.codes, return_inverse=True)
    many = np.bincount(member)[member]
    total = np.bincount(member, weights=values)[member]
    apart = (values - (total - values) / np.maximum(many - 1, 1)) * np.sqrt(many**2 - 1.0) / many
    order = np.argsort(member, kind="stable")
    parts = np.split(apart[order], np.cumsum(np.bincount(member))[:-1])
    return {items.id.names[code]: part for code, part in zip(codes.tolist(), parts, strict=True)}


def means_of(items: Items, metric: Metric) -> dict[str, float]:
    """The mean outcome of each item, in order of first appearance."""
    values = item_values(items, metric)
    if values is None or items.id is None:
        raise DataError(
            f"{metric.name} cannot be judged item by item: "
            f"{'it has more than one outcome per item' if values is None else 'the items have no ids'}.",
            got="no single outcome per item" if values is None else "no ids",
            need="right or wrong, or a score, and an id",
            hint="a metric of the whole table is judged when the run is complete: leave out until='decided'",
        )
    if items.weight is not None:
        raise DataError(
            "Items with weights cannot be judged one by one: their order would decide how much of the weight has been seen.",
            got="weights",
            need="items that count alike",
            hint="items with weights are judged when the run is complete: leave out until='decided'",
        )
    codes = items.id.codes
    names, first, member = np.unique(codes, return_index=True, return_inverse=True)
    means = np.bincount(member, weights=values) / np.bincount(member)
    means = metric.of_right(means)  # outcomes are right or wrong; the metric counts what is wrong
    order = np.argsort(first)
    return {items.id.names[names[i]]: float(means[i]) for i in order}


def _groups(items: Items) -> dict[str, str | None]:
    if items.group is None or items.id is None:
        return {}
    return dict(zip(_texts(items.id), _texts(items.group), strict=True))


def _texts(labels: Labels) -> list[str]:
    return [labels.names[code] for code in labels.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Outside:
    """The first score beyond the range that the rule rests on."""

    item: str
    score: float
    score_range: tuple[float, float]
    range_from: str | None

    @property
    def words(self) -> str:
        """What to say of it."""
        low, high = self.score_range
        told = {"record": ", the lowest and the highest on record", "task": ", as the task says", "scorer": ", as the scorer says"}
        return f"item {self.item!r} scored {self.score:g}, outside {low:g} to {high:g}{told.get(self.range_from or '', '')}"


def outside_of(series: PairedSeries, plan: StoppingPlan) -> Outside | None:
    """The first score of a run, or of its reference, beyond the range; None where there is none, or where the rule needs no range."""
    if plan.score_range is None or not RULES[plan.taken].of_range:
        return None
    low, high = plan.score_range
    near = NEAR * (high - low)
    scores = np.column_stack([series.candidate, series.reference])
    beyond = (scores < low - near) | (scores > high + near)
    if not beyond.any():
        return None
    place = int(np.flatnonzero(beyond.any(axis=1))[0])
    return Outside(series.ids[place], float(scores[place][beyond[place]][0]), plan.score_range, plan.range_from)


def replay(series: PairedSeries, plan: StoppingPlan, looked: Sequence[int], sign: int, *, last: bool) -> StoppingRule:
    """The rule after looking again at the same numbers of items; a score beyond the range ends it before the look it falls into."""
    rule = plan.rule()
    ends = [n for n in looked if n <= len(series.ids)]
    for place, n in enumerate(ends):
        part = series.first(n)
        if outside_of(part, plan) is not None:
            break
        if rule.look(part.units(sign, grouped=plan.groups is not None), last=last and place == len(ends) - 1) != "continue":
            break
    return rule


def refuse_other_looks(rule: StoppingRule, noted: Mapping[str, Any]) -> None:
    """What a run noted of its rule and its looks must come out again: other counts or decisions are another run. 0.1.0 noted none."""
    planned, looks = noted.get("rule"), noted.get("looks")
    if planned is not None and planned != json.loads(json.dumps(rule.plan())):
        raise DataError(
            f"The run stopped early by another version of its rule ({_first_difference(planned, rule.plan())}), so it cannot be checked.",
            got=f"a run by another version of its rule ({_first_difference(planned, rule.plan())})",
            need="the rule it was run by",
            hint="its own verdict was printed by the run; run again",
        )
    if looks is None:
        return
    found = [noted_look(look) for look in rule.looks]
    if len(looks) != len(found):
        raise _other_looks(f"{len(found)} looks, where the run noted {len(looks)}")
    for now, then in zip(found, looks, strict=True):
        for name, value in then.items():
            if not _alike(now.get(name), value):
                raise _other_looks(f"at {then.get('n')} items {name} {now.get(name)}, where the run noted {value}")


LOOK = ("n", "disagreements", "statistic", "lower", "upper", "decision")


def noted_look(look: Mapping[str, Any]) -> dict[str, Any]:
    """What notes keep of a look."""
    return {name: look[name] for name in LOOK if name in look}


def _alike(now: Any, then: Any) -> bool:
    if isinstance(now, float) and isinstance(then, int | float) and not isinstance(then, bool):
        return abs(now - then) <= NEAR * max(1.0, abs(now))
    return bool(now == then)


def _first_difference(then: Any, now: Mapping[str, Any]) -> str:
    old = then if isinstance(then, Mapping) else {}
    name = next((key for key in {**now, **old} if old.get(key) != now.get(key)), "rule")
    return f"{name} {old.get(name)!r}, here {now.get(name)!r}"


def _other_looks(got: str) -> DataError:
    return DataError(
        f"The looks of the run that stopped early cannot be repeated: {got}.",
        got=got,
        need="the looks that the run made",
        hint="the notes, the rows or the reference were changed since; the run itself printed its verdict",
    )


def guard_series(
    rule: StoppingRule,
    series: PairedSeries,
    plan: StoppingPlan,
    guarded: Guarded,
    guard: GuardRule,
    unit: float,
    warnings: Warnings,
    *,
    ended: ReachedLimit | None = None,
) -> Verdict:
    """What a rule that has ended says, as a verdict of a guard and in its scale. `ended`: what ended the run before the rule could."""
    n = len(series.ids)
    turned = guard.sign * series.weighed
    beyond = outside_of(series, plan)
    if beyond is None and ended is None:
        stopped, decision = rule.estimate(), rule.decision
    else:
        decision = ENDED if beyond is None else OUTSIDE
        level = 1 - 2 * plan.alpha
        mean = float(turned.mean())
        stopped = StoppedEstimate(estimate=mean, low=None, high=None, confidence_level=level, p_value=1.0, method="mean of the items asked")
        if beyond is not None:
            warnings.add(f"{beyond.words}: nothing can be decided by this rule, and the run ended")
    warnings.extend(stopped.warnings)
    verdict = ENDS[decision]
    # Stopped has the difference turned so that up is good, in the metric's own unit.
    scaled = [None if x is None else x * unit + 0.0 for x in (stopped.estimate, stopped.low, stopped.high)]
    apart = series.candidate * (1 - series.reference) + (1 - series.candidate) * series.reference
    return verdict_of(
        guarded,
        guard,
        verdict=verdict,
        design="paired" if plan.groups is None else "clustered",
        test=rule.name,
        p_value=stopped.p_value if decision == rule.decision else None,
        n=n,
        value=series.mean(series.candidate) * unit,
        reference=series.mean(series.reference) * unit,
        difference=scaled[0],
        sigma=float(turned.std(ddof=1)) * unit if n > 1 and turned.any() else None,
        mde=plan.theta * unit,
        flips=flips_of(series) if plan.right_or_wrong and plan.one_answer else None,
        needed=Needed(n_items=None, more=None, why=_undecided(n, beyond, ended, plan)) if verdict == "inconclusive" else None,
        changed_items=_changed_items(series, guard),
        claim=_claim(rule, plan),
        interval=one_sided_bounds(scaled[1], scaled[2], guard.alpha, rule.name),
        details=VerdictDetails(
            stopping=EarlyStopping(
                design=rule.name,
                decision=decision,
                rule=rule.plan(),
                looks=rule.looks,
                looks_made=len(rule.looks),
                alpha_spent=rule.alpha_spent,
                level_of_pass=rule.pass_level,
                n_used=n,
                n_available=plan.n_max,
                n_saved=plan.n_max - n,
                observed=float(turned.mean()) * unit,
                estimate=scaled[0],
                low=scaled[1],
                high=scaled[2],
                method=stopped.method,
                plan=plan.to_dict(),
                # with one answer on record, drawn at random
                disagreement=series.mean(apart) if plan.right_or_wrong else NOT_SET,
                why=plan.why,
                outside=None
                if beyond is None
                else ScoreOutside(item=beyond.item, score=beyond.score, range=beyond.score_range, said=beyond.words),
                ended=ended if beyond is None else None,
            )
        ),
    )


def _undecided(n: int, beyond: Outside | None, ended: ReachedLimit | None, plan: StoppingPlan) -> str:
    if beyond is None and ended is not None:
        return ended.said
    if beyond is None and plan.strata is not None and n < plan.n_max:
        return f"all {plan.strata.wavering:,} unstable items were asked before a boundary was reached, and the others alone cannot decide"
    if beyond is None:
        return f"all {n:,} items were used before a boundary was reached"
    return f"{beyond.words}; declare the range that scores can have (range = [LOW, HIGH] in the task) and run again"


def flips_of(series: PairedSeries) -> dict[str, int]:
    """How many items were right before and now, only before, only now, and never."""
    was, now = series.reference > 0.5, series.candidate > 0.5
    parts = {"both": was & now, "baseline_only": was & ~now, "candidate_only": ~was & now, "neither": ~was & ~now}
    return {name: int(part.sum()) for name, part in parts.items()}


def _changed_items(series: PairedSeries, guard: GuardRule) -> tuple[ChangedItem, ...]:
    turned = guard.sign * series.differences
    order = np.argsort(-np.abs(turned), kind="stable")[:KEPT]
    return tuple(
        ChangedItem(
            id=series.ids[i],
            change="lost" if turned[i] < 0 else "gained",
            baseline=float(series.reference[i]),
            candidate=float(series.candidate[i]),
        )
        for i in order
        if turned[i] != 0
    )


def _claim(rule: StoppingRule, plan: StoppingPlan) -> str:
    what = "items" if plan.groups is None else "groups"
    shared = (
        "" if plan.record is None else "; alpha holds on average over references; one lucky reference biases every run checked against it"
    )
    held = f"they are for new {what} of this kind, asked in random order{shared}"
    return f"estimate, bounds and p are adjusted for stopping ({rule.name}); {held}"
