"""A guard that stops: differences item by item in their random order, looked at by plan, and judged by the rule that planned it.

`run` looks while it asks; `check` looks again at what a run wrote down. Both come to the same words, because both come here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.infer.stopping import Rule as StoppingRule
from steelyard.infer.stopping import choice, rule_for
from steelyard.items import Items, Labels
from steelyard.metrics.catalogue import Metric
from steelyard.questions.guard_number import Found
from steelyard.questions.guard_rule import Rule
from steelyard.questions.telling import KEPT, item_values

FloatArray = npt.NDArray[np.float64]
ENDS = {"regression": "regression", "pass": "pass", "exhausted": "inconclusive", "continue": "inconclusive"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is fixed before the first look, in the metric's own unit. A journal and a run's notes keep it; it never changes midway.

    `every`: a look is due after so many further items (whole groups). `n_max`: the items there are; `groups` and
    `largest_group`: in how many groups they lie, None without groups. `discordance` is the SPRT's guess.
    """

    kind: str | None
    theta: float
    alpha: float
    beta: float
    margin: float
    looks: int
    every: int
    n_max: int
    right_or_wrong: bool
    one_answer: bool
    groups: int | None = None
    largest_group: int | None = None
    discordance: float | None = None
    score_range: tuple[float, float] | None = None
    binding: bool = True

    def rule(self) -> StoppingRule:
        """A fresh rule of this plan, that has looked at nothing yet."""
        return rule_for(
            self.kind,
            right_or_wrong=self.right_or_wrong,
            one_answer=self.one_answer,
            margin=self.margin,
            grouped=self.groups is not None,
            theta=self.theta,
            alpha=self.alpha,
            beta=self.beta,
            looks=self.looks,
            n_max=self.n_max if self.groups is None else self.groups,
            binding=self.binding,
            score_range=self.score_range,
            discordance=self.discordance,
            largest_group=self.largest_group,
        )

    @property
    def why(self) -> str:
        """Why this rule was taken, where none was named."""
        if self.kind is not None:
            return ""
        grouped = self.groups is not None
        return choice(
            right_or_wrong=self.right_or_wrong,
            one_answer=self.one_answer,
            margin=self.margin,
            grouped=grouped,
            theta=self.theta,
            n_max=self.n_max,
        )[1]

    def to_dict(self) -> dict[str, Any]:
        out = {name: getattr(self, name) for name in self.__slots__}
        return {**out, "score_range": None if self.score_range is None else list(self.score_range)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Plan:
        try:
            ends = plain.get("score_range")
            for name in ("theta", "alpha", "beta", "margin", "looks", "every", "n_max"):
                if isinstance(plain[name], bool) or not isinstance(plain[name], int | float):
                    raise TypeError(f"{name} is {plain[name]!r}")
            return cls(**{**plain, "score_range": None if ends is None else (float(ends[0]), float(ends[1]))})
        except (TypeError, ValueError, IndexError, KeyError, AttributeError) as fault:
            raise DataError(
                "cannot read the plan of a run that stopped early", got=str(fault), need="the notes as they were written"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """The items of a run in the order in which they were asked, beside their outcomes on record: means over repeats."""

    ids: tuple[str, ...]
    reference: FloatArray
    candidate: FloatArray
    group: tuple[str | None, ...]

    @property
    def differences(self) -> FloatArray:
        return self.candidate - self.reference

    def units(self, sign: int, *, grouped: bool) -> FloatArray:
        """What a rule looks at: one difference per item, or for each whole group the sum of them and how many they are."""
        turned: FloatArray = sign * self.differences
        if not grouped:
            return turned
        _, first, member = np.unique(np.array([g or "" for g in self.group]), return_index=True, return_inverse=True)
        order = np.argsort(first)
        return np.column_stack([np.bincount(member, weights=turned)[order], np.bincount(member)[order]])

    def first(self, n: int) -> Series:
        """The first n items."""
        return Series(ids=self.ids[:n], reference=self.reference[:n], candidate=self.candidate[:n], group=self.group[:n])


def series_of(reference: Items, run: Items, metric: Metric) -> Series:
    """The matched items in the order of the run."""
    past, now = means_of(reference, metric), means_of(run, metric)
    lost = [key for key in now if key not in past]
    if lost:
        raise DataError(
            "cannot compare with the reference",
            got=f"{len(lost)} item(s) that are not on record, such as {lost[0]!r}",
            need="items of the reference",
        )
    ids = tuple(now)
    groups = _groups(reference)
    return Series(
        ids=ids,
        reference=np.array([past[key] for key in ids]),
        candidate=np.array([now[key] for key in ids]),
        group=tuple(groups.get(key) for key in ids),
    )


def means_of(items: Items, metric: Metric) -> dict[str, float]:
    """The mean outcome of each item, in order of first appearance."""
    values = item_values(items, metric)
    if values is None or items.id is None:
        raise DataError(
            f"cannot judge {metric.name} item by item",
            got="no single outcome per item" if values is None else "no ids",
            need="right or wrong, or a score, and an id",
            hint="a metric of the whole table is judged when the run is complete: leave out --until decided",
        )
    codes = items.id.codes
    names, first, member = np.unique(codes, return_index=True, return_inverse=True)
    means = np.bincount(member, weights=values) / np.bincount(member)
    means = 1 - means if metric.base == "error" else means  # outcomes are right or wrong; the metric counts what is wrong
    order = np.argsort(first)
    return {items.id.names[names[i]]: float(means[i]) for i in order}


def _groups(items: Items) -> dict[str, str | None]:
    if items.group is None or items.id is None:
        return {}
    return dict(zip(_texts(items.id), _texts(items.group), strict=True))


def _texts(labels: Labels) -> list[str]:
    return [labels.names[code] for code in labels.codes.tolist()]


def replay(series: Series, plan: Plan, looked: Sequence[int], sign: int, *, last: bool) -> StoppingRule:
    """The rule after looking again at the same numbers of items."""
    rule = plan.rule()
    ends = [n for n in looked if n <= len(series.ids)]
    for place, n in enumerate(ends):
        part = series.first(n).units(sign, grouped=plan.groups is not None)
        if rule.look(part, last=last and place == len(ends) - 1) != "continue":
            break
    return rule


def found_of(rule: StoppingRule, series: Series, plan: Plan, guard: Rule, unit: float) -> Found:
    """What a rule that has ended says, in the words and the scale of a guard."""
    n = len(series.ids)
    stopped = rule.estimate()
    guard.warnings.extend(stopped.warnings)
    verdict = ENDS[rule.decision]
    # Stopped has the difference turned so that up is good, in the metric's own unit.
    scaled = [None if x is None else x * unit + 0.0 for x in (stopped.estimate, stopped.low, stopped.high)]
    turned = guard.sign * series.differences
    facts = {
        "design": rule.name,
        "decision": rule.decision,
        "looks": [dict(look) for look in rule.looks],
        "looks_made": len(rule.looks),
        "alpha_spent": rule.alpha_spent,
        "level_of_pass": rule.pass_level,
        "n_used": n,
        "n_available": plan.n_max,
        "n_saved": plan.n_max - n,
        "observed": float(turned.mean()) * unit,
        "estimate": scaled[0],
        "low": scaled[1],
        "high": scaled[2],
        "method": stopped.method,
        "plan": plan.to_dict(),
    }
    if plan.why:
        facts["why"] = plan.why
    return Found(
        verdict=verdict,
        design="paired" if plan.groups is None else "clustered",
        test=rule.name,
        p_value=stopped.p_value,
        n=n,
        value=float(series.candidate.mean()) * unit,
        reference=float(series.reference.mean()) * unit,
        difference=scaled[0],
        lower=scaled[1],
        upper=scaled[2],
        sigma=float(turned.std(ddof=1)) * unit if n > 1 and turned.any() else None,
        mde=plan.theta * unit,
        threshold=None,
        flips=_flips(series) if plan.right_or_wrong and plan.one_answer else None,
        needed={"items": None, "more": None, "why": f"all {n:,} items were used before a boundary was reached"}
        if verdict == "inconclusive"
        else None,
        telling=_telling(series, guard),
        claim=_claim(rule, plan),
        details={"stopping": facts},
    )


def _flips(series: Series) -> dict[str, int]:
    was, now = series.reference > 0.5, series.candidate > 0.5
    parts = {"both": was & now, "baseline_only": was & ~now, "candidate_only": ~was & now, "neither": ~was & ~now}
    return {name: int(part.sum()) for name, part in parts.items()}


def _telling(series: Series, guard: Rule) -> tuple[dict[str, Any], ...]:
    turned = guard.sign * series.differences
    order = np.argsort(-np.abs(turned), kind="stable")[:KEPT]
    return tuple(
        {
            "id": series.ids[i],
            "change": "lost" if turned[i] < 0 else "gained",
            "truth": None,
            "baseline": float(series.reference[i]),
            "candidate": float(series.candidate[i]),
        }
        for i in order
        if turned[i] != 0
    )


def _claim(rule: StoppingRule, plan: Plan) -> str:
    what = "items" if plan.groups is None else "groups"
    return f"estimate, bounds and p are adjusted for stopping ({rule.name}); they are for new {what} of this kind, asked in random order"


def conclude_stopped(found: Found, rule: Rule) -> str:
    """One sentence: where it stopped, what that decides, and at which level."""
    facts = found.details["stopping"]
    used, there = facts["n_used"], facts["n_available"]
    where = f"after {used:,} of {there:,} items" if used < there else f"after all {there:,} items"
    size = "" if found.difference is None else f"; the difference is estimated at {found.difference:+.4g}"
    ends = (found.lower, found.upper)
    between = "" if None in ends else f" ({100 * (1 - 2 * rule.alpha):g}% interval {ends[0]:+.4g} to {ends[1]:+.4g}, adjusted for stopping)"
    if found.verdict == "regression":
        small = rule.theta is not None and found.difference is not None and found.difference > -rule.theta
        return f"worse, decided {where}{size}{between}" + (f"; real, but smaller than theta {rule.theta:g}." if small else ".")
    if found.verdict == "pass":
        return f"a drop of {rule.theta:g} is ruled out at level {facts['level_of_pass']:g}, decided {where}{size}{between}."
    return f"not decided {where}: no boundary was reached{size}{between}."
