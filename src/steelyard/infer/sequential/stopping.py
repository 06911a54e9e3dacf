"""Rules that stop a run as soon as the question is decided: what they have in common, and which one is taken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy.typing as npt

from steelyard.errors import UsageError
from steelyard.infer.sequential.after_stopping import StoppedEstimate, difference_after
from steelyard.infer.sequential.e_mcnemar import EMcNemar
from steelyard.infer.sequential.e_process import EProcess
from steelyard.infer.sequential.el_sprt import EmpiricalLikelihoodSprt
from steelyard.infer.sequential.lan_demets import ENDS, LanDeMets
from steelyard.infer.sequential.profile_mcnemar import ProfileMcNemar
from steelyard.infer.sequential.sequential_mcnemar import SequentialMcNemar, counts_of
from steelyard.infer.sequential.sprt import Sprt

KINDS = ("profile-mcnemar", "empirical-likelihood", "mcnemar", "lan-demets", "e-process", "e-mcnemar", "sprt")
OF_COUNTS = ("profile-mcnemar", "mcnemar", "e-mcnemar", "sprt")  # right or wrong, one answer each, no margin, no groups
OF_LOOKS = ("mcnemar", "lan-demets")  # rules that plan a number of looks
OF_RANGE = ("empirical-likelihood", "e-process")  # rules that hold for scores in a range alone
LOOKS = 20
STEP = 32
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


class ExactMcNemar:
    """The exact group-sequential McNemar test as a stopping rule: the default of 0.1.0. Reference: McNemar1947; LanDeMets1983.

    >>> rule = ExactMcNemar(theta=0.2)
    >>> rule.look([0] * 40 + [1, -1, 1]), round(rule.estimate().estimate, 3), rule.looks[-1]["n"]
    ('pass', 0.021, 43)
    """

    name = "exact group-sequential McNemar"

    def __init__(self, *, theta: float, alpha: float = 0.05, beta: float = 0.2, looks: int = LOOKS, binding: bool = True) -> None:
        self.test = SequentialMcNemar(theta, alpha, beta, looks=looks, binding=binding)
        self.pass_level: float | None = 1 - beta
        self.decision, self.alpha_spent = "continue", 0.0
        self.looks: tuple[Mapping[str, Any], ...] = ()
        self._counts = (0, 0, 0)

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression, pass or exhausted, after all the differences so far. `last`: there are no more."""
        self._counts = counts_of(differences)
        self.decision = self.test.look(*self._counts, last=last)
        if len(self.test.history) > len(self.looks):
            look = self.test.history[-1]
            facts = {"n": look.n, "time": min(1.0, look.time), "disagreements": look.disagreements, "statistic": self._counts[1]}
            more = {"upper": look.upper, "lower": look.lower, "alpha_spent": look.alpha_spent, "decision": look.decision}
            self.looks, self.alpha_spent = (*self.looks, facts | more), look.alpha_spent
        return self.decision

    def estimate(self) -> StoppedEstimate:
        """The difference after the end: median-unbiased, by stage-wise ordering, exact given the disagreements."""
        if self.decision not in ENDS:
            raise UsageError("cannot estimate yet", got="a run that has not ended", need="a look with last=True, or a bound reached")
        # A pass that was overruled stopped nothing.
        course = [(look.disagreements, -1 if look.decision == "pass" else look.lower, look.upper) for look in self.test.history]
        return difference_after(self._counts[0], course, self._counts[1], self.test.alpha, binding=self.test.binding)

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        test = self.test
        numbers = {"theta": test.theta, "alpha": test.alpha, "beta": test.beta, "looks": len(test.boundaries.times)}
        return {"rule": "mcnemar"} | numbers | {"binding": test.binding}


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


def small_pool(theta: float, width: float = 1.0) -> int:
    """The items below which a run often ends before theta is found or ruled out. `width`: of the range of scores. Reference: Wald1947.

    >>> small_pool(0.02), small_pool(0.05)
    (2000, 320)
    """
    return math.ceil(SMALL_POOL * (SMALL_THETA * width / theta) ** 2)


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
) -> StoppingRule:
    """The stopping rule of a name, or the default for this question (see `choice`); what does not fit is refused by name.

    n_max counts units: groups if grouped. step: items between two looks, which profile-mcnemar and empirical-likelihood must
    know; looks: how many mcnemar and lan-demets plan, the others plan none. score_range is needed by empirical-likelihood and
    the e-process; right or wrong is 0 to 1. discordance is the SPRT's, largest_group (items) the e-process's where there are
    groups; spending, variance and allowance are those of Lan-DeMets.
    Reference: McNemar1947; Owen1988; LanDeMets1983; WaudbySmithRamdas2024; Wald1947.

    >>> rule_for(right_or_wrong=True, theta=0.02, n_max=1000).name
    'profile-likelihood McNemar'
    """
    asked: dict[str, Any] = {"right_or_wrong": right_or_wrong, "one_answer": one_answer, "margin": margin, "grouped": grouped}
    named = kind or choice(**asked, theta=theta, n_max=n_max, score_range=score_range)[0]
    if named not in KINDS:
        raise UsageError("cannot stop early", got=f"the rule {named!r}", need=f"one of {', '.join(KINDS)}")
    if looks is not None and named not in OF_LOOKS:
        raise UsageError(
            f"cannot plan looks with {named!r}",
            got=f"{looks} looks, where the rule looks after every batch of items",
            need=f"a rule that plans them: {' or '.join(OF_LOOKS)}",
            hint="leave out --looks; --every says how many items lie between two looks",
        )
    if named in OF_COUNTS:
        obstacles = _obstacles(**asked)
        if obstacles:
            raise UsageError(
                f"cannot stop by {named!r}",
                got="; ".join(obstacles),
                need="right or wrong, one answer each, no margin, no groups",
                hint="lan-demets" if grouped else "empirical-likelihood, or lan-demets where the range of scores is not known",
            )
    if theta is None and named in ("profile-mcnemar", "empirical-likelihood", "mcnemar", "sprt"):
        raise UsageError(
            f"cannot stop by {named!r}", got="no theta", need="theta, the drop that matters", hint="lan-demets or e-mcnemar do without"
        )
    bounds = (0.0, 1.0) if right_or_wrong and score_range is None else score_range
    if named == "profile-mcnemar":
        assert theta is not None
        return ProfileMcNemar(theta=theta, alpha=alpha, beta=beta, step=step, binding=binding)
    if named == "empirical-likelihood":
        assert theta is not None
        if grouped:
            raise UsageError("cannot stop by 'empirical-likelihood'", got="items in groups", need="independent items", hint="lan-demets")
        return EmpiricalLikelihoodSprt(
            theta=theta, margin=margin, alpha=alpha, beta=beta, step=step, binding=binding, score_range=_known(named, bounds)
        )
    if named == "mcnemar":
        assert theta is not None
        return ExactMcNemar(theta=theta, alpha=alpha, beta=beta, looks=looks or LOOKS, binding=binding)
    if named == "e-mcnemar":
        return EMcNemar(alpha)
    if named == "sprt":
        assert theta is not None
        if discordance is None:
            raise UsageError(
                "cannot stop by 'sprt'",
                got="no discordance",
                need="the share of items on which two healthy runs differ",
                hint="mcnemar needs none",
            )
        return Sprt(theta=theta, discordance=discordance, alpha=alpha, beta=beta)
    if named == "e-process":
        return _e_process(bounds, grouped, largest_group, theta=theta, margin=margin, alpha=alpha, beta=beta)
    few = LEAST_GROUPS if grouped else LEAST_ITEMS
    if n_max is not None and n_max < few:
        what = "groups" if grouped else "items"
        raise UsageError("cannot stop by 'lan-demets'", got=f"{n_max} {what}", need=f"at least {few}", hint="ask all of them, and check")
    return LanDeMets(
        theta=theta,
        margin=margin,
        alpha=alpha,
        beta=beta,
        n_max=n_max,
        looks=looks or LOOKS,
        spending=spending or "obrien-fleming",
        binding=binding,
        score_range=bounds,
        grouped=grouped,
        variance=variance,
        allowance=allowance,
    )


LEAST_GROUPS, LEAST_ITEMS = 10, 20  # fewer are soon asked, and the normal law is no guide there


def _known(kind: str, bounds: tuple[float, float] | None) -> tuple[float, float]:
    if bounds is None:
        raise UsageError(
            f"cannot stop by {kind!r}",
            got="scores without a range",
            need="the lowest and the highest score there can be",
            hint="range = [0, 1] in the task",
        )
    return bounds


def _e_process(bounds: tuple[float, float] | None, grouped: bool, largest: int | None, **numbers: Any) -> EProcess:
    bounds = _known("e-process", bounds)
    if grouped and largest is None:
        raise UsageError("cannot stop by 'e-process'", got="groups", need="the items of the largest group, known beforehand")
    return EProcess(score_range=bounds, largest_group=largest if grouped else None, **numbers)


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
