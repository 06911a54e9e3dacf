"""Rules that stop a run as soon as the question is decided: what they have in common, and which one is taken. Loads no NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import unknown_word

if TYPE_CHECKING:
    import numpy.typing as npt

    from steelyard_old.infer.sequential.after_stopping import StoppedEstimate

STEP = 32
LEAST_GROUPS, LEAST_ITEMS = 10, 20  # fewer are soon asked, and the normal law is no guide there
SMALL_POOL, SMALL_THETA = 2000, 0.02  # below so many items x (this / theta)^2 a run often ends before it is decided


class StoppingRule(Protocol):
    """A stopping rule. It is given all differences so far, in the order of evaluation: candidate minus reference, up is good.

    Of groups it is given one row (sum of differences, items) for each whole group. `looks` tell n, statistic, bounds, alpha
    spent and decision of each look. `pass_level` is the level at which a pass rules theta out, None where there is no pass.
    """

    name: str
    decision: str
    alpha_spent: float
    pass_level: float | None

    @property
    def looks(self) -> tuple[Mapping[str, Any], ...]: ...

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """continue, regression, pass or exhausted. `last`: there are no more items."""

    def estimate(self) -> StoppedEstimate:
        """After the end: estimate, interval and p-value that know of the looks."""

    def plan(self) -> dict[str, Any]:
        """Everything that must not change in the middle of a run, as plain values."""


def choice(
    *,
    right_or_wrong: bool,
    one_answer: bool,
    margin: float,
    grouped: bool,
    theta: float | None,
    n_max: int | None,
    score_range: tuple[float, float] | None = None,
) -> tuple[str, str]:
    """The rule that is taken if none is named, and the sentence why. Reference: McNemar1947; Owen1988; LanDeMets1983.

    >>> choice(right_or_wrong=True, one_answer=True, margin=0.0, grouped=False, theta=0.02, n_max=500)[0]
    'profile-mcnemar'
    >>> choice(right_or_wrong=False, one_answer=True, margin=0.0, grouped=False, theta=0.02, n_max=500, score_range=(0, 1))
    ('empirical-likelihood', 'scores are not right or wrong, so the exact test on disagreements does not apply; their range is known')
    """
    obstacles = _obstacles(right_or_wrong=right_or_wrong, one_answer=one_answer, margin=margin, grouped=grouped)
    if not obstacles and theta is not None:
        return "profile-mcnemar", "right or wrong, one answer each, no margin, no groups: the exact test on disagreements applies"
    if theta is None and n_max is None:
        return "e-process", "without theta and without a number of items no looks can be planned"
    if theta is None:
        why = "without theta no drop is to be ruled out: looks are planned by the number of items, and there is no early pass"
        return "lan-demets", why
    why = f"{obstacles[0]}, so the exact test on disagreements does not apply"
    if grouped:
        return "lan-demets", why
    if right_or_wrong or score_range is not None:
        return "empirical-likelihood", f"{why}; their range is known"
    return "lan-demets", f"{why}; without a range of scores no rule can rule out rare total failures"


def earlier_choice(*, right_or_wrong: bool, one_answer: bool, margin: float, grouped: bool) -> str:
    """The rule that 0.1.0 took where none was named and theta was given: its runs are replayed by it. Reference: McNemar1947."""
    return "lan-demets" if _obstacles(right_or_wrong=right_or_wrong, one_answer=one_answer, margin=margin, grouped=grouped) else "mcnemar"


def small_pool(theta: float, width: float = 1.0, margin: float = 0.0) -> int:
    """The items below which a run often ends before theta is told from the margin. `width`: of the range of scores. Reference: Wald1947.

    >>> small_pool(0.02), small_pool(0.05), small_pool(0.03, margin=0.02)
    (2000, 320, 8000)
    """
    return round(SMALL_POOL * (SMALL_THETA * width / (theta - margin)) ** 2)


def rule_for(
    kind: str | None = None,
    *,
    right_or_wrong: bool,
    one_answer: bool = True,
    margin: float = 0.0,
    grouped: bool = False,
    theta: float | None = None,
    alpha: float = 0.05,
    beta: float = 0.2,
    looks: int | None = None,
    step: int = STEP,
    n_max: int | None = None,
    binding: bool = True,
    score_range: tuple[float, float] | None = None,
    spending: str | None = None,
    discordance: float | None = None,
    largest_group: int | None = None,
    variance: float | None = None,
    allowance: float = 1.0,
    ends: tuple[float, float] | None = None,
) -> StoppingRule:
    """The stopping rule of a name, or the default for this question (see `choice`); what does not fit is refused by name.

    n_max counts units: groups if grouped. step: items between two looks, which profile-mcnemar and empirical-likelihood must
    know; looks: how many mcnemar and lan-demets plan, the others plan none. score_range is needed by empirical-likelihood and
    the e-process; right or wrong is 0 to 1. discordance is the SPRT's, largest_group (items) the e-process's where there are
    groups; spending, variance and allowance are those of Lan-DeMets; ends are those of differences that were weighted by strata
    (`WaveringStrata`), in widths of the range, for empirical-likelihood.
    Reference: McNemar1947; Owen1988; LanDeMets1983; WaudbySmithRamdas2024; Wald1947.

    >>> rule_for(right_or_wrong=True, theta=0.02, n_max=1000).name
    'profile-likelihood McNemar'
    """
    asked: dict[str, Any] = {"right_or_wrong": right_or_wrong, "one_answer": one_answer, "margin": margin, "grouped": grouped}
    named = kind or choice(**asked, theta=theta, n_max=n_max, score_range=score_range)[0]
    if named not in RULES:
        raise unknown_word("stopping", named, tuple(RULES), "stopping rule")
    rule = RULES[named]
    if looks is not None and not rule.plans_looks:
        raise UsageError(
            f"{named!r} looks after every batch of items, so it cannot plan {looks} looks.",
            got=f"{looks} looks, where the rule looks after every batch of items",
            need=f"a rule that plans them: {' or '.join(name for name, each in RULES.items() if each.plans_looks)}",
            hint="leave out looks= (every= says how many items lie between two looks), or use "
            f"{' or '.join(name for name, each in RULES.items() if each.plans_looks)}",
        )
    if rule.of_counts and (obstacles := _obstacles(**asked)):
        raise UsageError(
            f"Cannot stop by {named!r}: {'; '.join(obstacles)}.",
            got="; ".join(obstacles),
            need="right or wrong, one answer each, no margin, no groups",
            hint="lan-demets" if grouped else "empirical-likelihood, or lan-demets where the range of scores is not known",
        )
    if theta is None and rule.needs_theta:
        raise UsageError(
            f"Cannot stop by {named!r} without theta, the drop that matters.",
            got="no theta",
            need="theta, the drop that matters",
            hint="lan-demets or e-mcnemar do without",
        )
    return rule.make(
        RuleQuestion(
            theta=theta,
            margin=margin,
            alpha=alpha,
            beta=beta,
            looks=looks,
            step=step,
            n_max=n_max,
            binding=binding,
            grouped=grouped,
            score_range=(0.0, 1.0) if right_or_wrong and score_range is None else score_range,
            spending=spending,
            discordance=discordance,
            largest_group=largest_group,
            variance=variance,
            allowance=allowance,
            ends=ends or (-1.0, 1.0),
        )
    )


def _known(kind: str, bounds: tuple[float, float] | None) -> tuple[float, float]:
    if bounds is None:
        raise UsageError(
            f"Cannot stop by {kind!r}: the range of the scores is not known.",
            got="scores without a range",
            need="the lowest and the highest score there can be",
            hint="range = [0, 1] in the task",
        )
    return bounds


def _obstacles(*, right_or_wrong: bool, one_answer: bool, margin: float, grouped: bool) -> list[str]:
    """What keeps the exact test on disagreements from applying."""
    found = [] if right_or_wrong else ["scores are not right or wrong"]
    if not one_answer:
        found.append("items have several answers")
    if margin:
        found.append(f"a margin of {margin:g} is not a fair coin")
    if grouped:
        found.append("items come in groups")
    return found


# ---- the rules, each an object -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleQuestion:
    """What a rule is made from. n_max counts units: groups if grouped."""

    theta: float | None
    margin: float
    alpha: float
    beta: float
    looks: int | None
    step: int
    n_max: int | None
    binding: bool
    grouped: bool
    score_range: tuple[float, float] | None
    spending: str | None
    discordance: float | None
    largest_group: int | None
    variance: float | None
    allowance: float
    ends: tuple[float, float]

    @property
    def drop(self) -> float:
        """theta, which was asked for by name where a rule needs it."""
        assert self.theta is not None
        return self.theta


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleKind:
    """A stopping rule that can be asked for by its name.

    of_counts: for right or wrong, one answer each, no margin, no groups. plans_looks: a number of looks is planned. of_range:
    it holds for scores in a known range alone. needs_theta: without a drop that matters there is nothing to rule out.
    wants_many: in a small pool it often ends before it has decided. wants_range: without a range of scores it may pass rare total
    failures. weighs: items may be asked more often than others and weighted back. foreseen: how many calls it takes can be foreseen.
    """

    says: str
    make: Callable[[RuleQuestion], StoppingRule]
    of_counts: bool = False
    plans_looks: bool = False
    of_range: bool = False
    needs_theta: bool = False
    wants_many: bool = False
    wants_range: bool = False
    weighs: bool = False
    foreseen: bool = False


def _profile_mcnemar(q: RuleQuestion) -> StoppingRule:
    from steelyard_old.infer.sequential.profile_mcnemar import ProfileMcNemar

    return ProfileMcNemar(theta=q.drop, alpha=q.alpha, beta=q.beta, step=q.step, binding=q.binding)


def _empirical_likelihood(q: RuleQuestion) -> StoppingRule:
    from steelyard_old.infer.sequential.el_sprt import EmpiricalLikelihoodSprt

    if q.grouped:
        raise UsageError(
            "Cannot stop by 'empirical-likelihood': the items are in groups, not independent.",
            got="items in groups",
            need="independent items",
            hint="lan-demets",
        )
    return EmpiricalLikelihoodSprt(
        theta=q.drop,
        margin=q.margin,
        alpha=q.alpha,
        beta=q.beta,
        step=q.step,
        binding=q.binding,
        score_range=_known("empirical-likelihood", q.score_range),
        ends=q.ends,
    )


def _mcnemar(q: RuleQuestion) -> StoppingRule:
    from steelyard_old.infer.sequential.exact_mcnemar import LOOKS, ExactMcNemar

    return ExactMcNemar(theta=q.drop, alpha=q.alpha, beta=q.beta, looks=q.looks or LOOKS, binding=q.binding)


def _sprt(q: RuleQuestion) -> StoppingRule:
    from steelyard_old.infer.sequential.sprt import Sprt

    if q.discordance is None:
        raise UsageError(
            "Cannot stop by 'sprt' without discordance, the share of items on which two healthy runs differ.",
            got="no discordance",
            need="the share of items on which two healthy runs differ",
            hint="mcnemar needs none",
        )
    return Sprt(theta=q.drop, discordance=q.discordance, alpha=q.alpha, beta=q.beta)


def _e_process(q: RuleQuestion) -> StoppingRule:
    from steelyard_old.infer.sequential.e_process import EProcess

    ends = _known("e-process", q.score_range)
    if q.grouped and q.largest_group is None:
        raise UsageError(
            "Cannot stop by 'e-process' with groups unless the size of the largest is known beforehand.",
            got="groups",
            need="the items of the largest group, known beforehand",
        )
    largest = q.largest_group if q.grouped else None
    return EProcess(score_range=ends, largest_group=largest, theta=q.theta, margin=q.margin, alpha=q.alpha, beta=q.beta)


def _e_mcnemar(q: RuleQuestion) -> StoppingRule:
    from steelyard_old.infer.sequential.e_mcnemar import EMcNemar

    return EMcNemar(q.alpha)


def _lan_demets(q: RuleQuestion) -> StoppingRule:
    from steelyard_old.infer.sequential.exact_mcnemar import LOOKS
    from steelyard_old.infer.sequential.lan_demets import LanDeMets

    few, what = (LEAST_GROUPS, "groups") if q.grouped else (LEAST_ITEMS, "items")
    if q.n_max is not None and q.n_max < few:
        raise UsageError(
            f"Cannot stop by 'lan-demets': {q.n_max} {what} are too few, at least {few} are needed.",
            got=f"{q.n_max} {what}",
            need=f"at least {few}",
            hint="ask all of them, and check",
        )
    return LanDeMets(
        theta=q.theta,
        margin=q.margin,
        alpha=q.alpha,
        beta=q.beta,
        n_max=q.n_max,
        looks=q.looks or LOOKS,
        spending=q.spending or "obrien-fleming",
        binding=q.binding,
        score_range=q.score_range,
        grouped=q.grouped,
        variance=q.variance,
        allowance=q.allowance,
    )


RULES: dict[str, RuleKind] = {
    "profile-mcnemar": RuleKind(
        says="right or wrong: exact alpha, a profile likelihood for the pass, looked at as often as you like",
        make=_profile_mcnemar,
        of_counts=True,
        needs_theta=True,
        wants_many=True,
        foreseen=True,
    ),
    "empirical-likelihood": RuleKind(
        says="scores in a known range, several answers to an item, margins",
        make=_empirical_likelihood,
        of_range=True,
        needs_theta=True,
        wants_many=True,
        weighs=True,
        foreseen=True,
    ),
    "mcnemar": RuleKind(
        says="right or wrong: the exact group-sequential test with planned looks",
        make=_mcnemar,
        of_counts=True,
        plans_looks=True,
        needs_theta=True,
    ),
    "lan-demets": RuleKind(
        says="scores without a range, or items in groups: planned looks, alpha spent by information",
        make=_lan_demets,
        plans_looks=True,
        wants_range=True,
    ),
    "e-process": RuleKind(
        says="scores in a known range without theta: evidence that may be looked at any time", make=_e_process, of_range=True
    ),
    "e-mcnemar": RuleKind(says="right or wrong without theta: evidence that may be looked at any time", make=_e_mcnemar, of_counts=True),
    "sprt": RuleKind(
        says="right or wrong, where the share of items that differ is known beforehand", make=_sprt, of_counts=True, needs_theta=True
    ),
}
