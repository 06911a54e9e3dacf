"""How much the difference of two runs varies from item to item: given, or read off a pilot. It decides every plan to detect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.checks import exactly_one, number, probability, whole
from steelyard.errors import UsageError
from steelyard.infer.planning import power

SPREADS = ("sigma", "expected", "sd", "discordance", "churn", "pilot")
DESIGN_OPTIONS = ("within", "repeats", "design_effect", "icc", "group_size", "n_reference", "ratio")
HALF = 0.5
TINY, HUGE = 1e-100, 1e100  # beyond them squares are 0 or infinite
WHAT_IF = {"sigma": (0.8, 1.25), "sd": (0.8, 1.25), "discordance": (0.5, 2.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVariance:
    """One of: sigma (unpaired scores), sd (paired scores), discordance (paired right or wrong).

    `healthy` says that the discordance is that of two runs with nothing between them: a drop of theta adds theta to it.
    `upper` is the upper end of its interval, where a pilot gave it. `most` is the largest drop there can be. `expected`
    is the accuracy that a plan by accuracy starts from; `accuracy` is what a pilot showed.
    """

    kind: str
    value: float
    words: str
    most: float = math.inf
    healthy: bool = False
    upper: float | None = None
    within: tuple[float, float] = (0.0, 0.0)
    answers: tuple[int, int] = (1, 1)
    design_effect: float = 1.0
    ratio: float = 1.0
    n_reference: int | None = None
    expected: float | None = None
    accuracy: float | None = None
    percent: bool = False
    alternative: str = "less"
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The option that says the same: what the signature writes."""
        return "expected" if self.expected is not None else "churn" if self.healthy else self.kind

    def psi(self, theta: float) -> float:
        """The share of items on which the runs disagree under a drop of theta."""
        return self.value + theta if self.healthy else self.value

    def largest(self, goal: str) -> float:
        """The largest change there can be: the whole range, the accuracy that can be lost, the share of items that change."""
        if self.kind == "discordance" and goal == "detect":
            return 1 - self.value if self.healthy else self.value
        start = self.expected if self.expected is not None else self.accuracy
        if start is None:
            return self.most
        room = {"less": start, "greater": 1 - start, "two-sided": max(start, 1 - start)}[self.alternative]
        return room * (100 if self.percent else 1)

    def design(self, goal: str) -> power.PowerDesign:
        """The design of the normal formulas."""
        if self.expected is not None:
            after = self._after
            unit = 100.0 if self.percent else 1.0
            more: dict[str, Any] = {"ratio": self.ratio, "n_reference": self.n_reference, "design_effect": self.design_effect}
            return power.two_proportions(self.expected, after, unit=unit, **more)
        if self.kind == "sigma":
            return power.two_sample(self.value, ratio=self.ratio, n_reference=self.n_reference, design_effect=self.design_effect)
        if self.kind == "sd":
            return power.paired_scores(self.value, within=self.within, answers=self.answers, design_effect=self.design_effect)
        if goal == "rule-out":
            return power.rule_out_outcomes(self.value, design_effect=self.design_effect)
        return power.paired_outcomes(self.psi, design_effect=self.design_effect)

    def _after(self, theta: float) -> float:
        """The accuracy after the change; of two sides the one with the wider spread."""
        assert self.expected is not None
        down, up = self.expected - theta, self.expected + theta
        if self.alternative == "two-sided":
            return down if abs(down - HALF) <= abs(up - HALF) else up
        return up if self.alternative == "greater" else down

    def error(self, goal: str, n: float, theta: float) -> float:
        """The standard error that the threshold of a regression rests on: with nothing changed but the noise."""
        if goal == "rule-out" and self.kind == "discordance":
            return math.sqrt(self.value * self.design_effect / n)
        return self.design(goal).errors(n, theta)[0]

    @property
    def exact(self) -> bool:
        """Whether McNemar's exact power can settle the integer: right or wrong, independent items."""
        return self.kind == "discordance" and self.design_effect == 1.0

    def _at_accuracy(self, p: float, name: str, unit: int) -> ItemVariance:
        sigma = unit * math.sqrt(p * (1 - p))
        return replace(self, value=sigma, expected=p) if name == "expected" else replace(self, value=sigma, accuracy=p)

    def others(self) -> list[tuple[str, ItemVariance]]:
        """What the spread might be instead: a sentence, and the spread."""
        start = self.expected if self.expected is not None else self.accuracy
        if self.kind == "sigma" and start is not None:
            unit = 100 if self.percent else 1
            near = [p for p in (start - 0.1, start + 0.1, HALF) if 0 < p < 1 and abs(p - start) > 0.01]
            name = "expected" if self.expected is not None else "accuracy"
            return [(f"accuracy is {p:.3g}", self._at_accuracy(p, name, unit)) for p in sorted(set(near))]
        values = {self.value * by: f"{self.kind} is {self.value * by:.4g}" for by in WHAT_IF[self.kind]}
        if self.upper is not None:
            values[self.upper] = f"{self.kind} is {self.upper:.4g}, the upper end of the pilot's 95% interval"
        kept = {x: words for x, words in values.items() if x != self.value and (self.kind != "discordance" or 0 < x < 1)}
        return [(words, replace(self, value=x)) for x, words in kept.items()]


def given_spread(options: Mapping[str, Any]) -> ItemVariance:
    """The spread as the options give it, a pilot included."""
    kinds = {name: options[name] for name in SPREADS}
    kind = exactly_one(
        kinds,
        "how much the scores vary",
        "--sigma for two separate samples (50 is the worst case in percent), --discordance for the same items right or wrong, --pilot",
    )
    more = {**_design_options(options, kind), "alternative": options["alternative"]}
    if kind == "pilot":
        from steelyard.questions.plan.pilot import pilot_spread

        return pilot_spread(options["pilot"], options["columns"], more, theta=options["theta"], goal=options["goal"])
    if kind == "sigma":
        hint = "the standard deviation of one item's score; 0 would mean no noise at all"
        sigma = _spread_number("sigma", options["sigma"], hint)
        return ItemVariance(kind="sigma", value=sigma, words=f"two separate samples of scores with standard deviation {sigma:g}", **more)
    if kind == "expected":
        p = probability("the expected accuracy", options["expected"])
        words = f"two separate samples, right or wrong, accuracy {p:g} before the change"
        return ItemVariance(kind="sigma", value=math.sqrt(p * (1 - p)), words=words, most=1.0, expected=p, **more)
    if kind == "sd":
        sd = _spread_number("sd", options["sd"], "the standard deviation of the per-item differences")
        return ItemVariance(kind="sd", value=sd, words=f"the same items, per-item differences with standard deviation {sd:.4g}", **more)
    if kind == "churn":
        churn = number("churn", options["churn"], least=0, below=1)
        words = (
            f"the same items, right or wrong; {churn:.4g} of them differ between two healthy runs, and a drop of theta adds theta to that"
        )
        return ItemVariance(kind="discordance", value=churn, words=words, most=1.0, healthy=True, **more)
    psi = probability("discordance", options["discordance"])
    words = f"the same items, right or wrong, {psi:.4g} of them different in the two runs when the drop is there"
    return ItemVariance(kind="discordance", value=psi, words=words, most=1.0, **more)


def _spread_number(name: str, value: Any, hint: str) -> float:
    """A standard deviation whose square is a number too."""
    x = number(name, value, above=0, below=HUGE, hint=hint)
    return number(name, x, above=TINY, hint="so small a spread needs no plan: any drop is found at once")


def _design_options(options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Groups, answers per item, sizes of the reference: only where they mean something."""
    _refuse(options, kind, ("ratio", "n_reference"), ("sigma", "expected", "pilot"), "two separate samples (--sigma or --expected)")
    _refuse(options, kind, ("within", "repeats"), ("sd", "pilot"), "paired scores (--sd), where the noise of one answer is known apart")
    more: dict[str, Any] = {"design_effect": _design_effect(options)}
    if options["n_reference"] is not None:
        more["n_reference"] = whole("n_reference", options["n_reference"])
    if options["ratio"] is not None:
        if options["n_reference"] is not None:
            raise UsageError("cannot use the ratio", got="ratio and n_reference", need="one of them")
        more["ratio"] = number("ratio", options["ratio"], above=0)
    if options["repeats"] is not None:
        more["answers"] = tuple(whole("repeats", k) for k in _pair(options["repeats"], "repeats"))
    if options["within"] is not None:
        more["within"] = tuple(number("within", w, above=0, below=HUGE) for w in _pair(options["within"], "within"))
    elif options["repeats"] is not None and kind == "sd":
        raise UsageError(
            "cannot tell what the repeats save",
            got="repeats without within",
            need="the standard deviation of one answer within an item",
            hint="--within 0.3; or --pilot FILE with a repeat column",
        )
    return more


def _refuse(options: Mapping[str, Any], kind: str, names: Sequence[str], kinds: Sequence[str], where: str) -> None:
    there = [name for name in names if options[name] is not None]
    if there and kind not in kinds:
        raise UsageError(f"cannot use {there[0]}", got=f"{there[0]} beside {kind}", need=where)


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) not in (1, 2):
            raise UsageError(f"cannot use {name}", got=repr(value), need="one number, or one for each run")
        return value[0], value[-1]
    return value, value


def _design_effect(options: Mapping[str, Any]) -> float:
    icc, size, effect = options["icc"], options["group_size"], options["design_effect"]
    if effect is not None:
        if icc is not None or size is not None:
            raise UsageError("cannot use the design effect", got="a design effect beside icc or group_size", need="one or the other")
        return number("the design effect", effect, above=0, hint="1 for independent items; 1 + (m - 1) x icc for groups of m")
    if (icc is None) != (size is None):
        raise UsageError("cannot plan for groups", got="icc" if size is None else "group_size", need="both icc and group_size")
    if icc is None:
        return 1.0
    rho = number("icc", icc, least=0, below=1, hint="the correlation of two items of a group")
    return power.design_effect(rho, number("group_size", size, least=1))
