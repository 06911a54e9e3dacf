"""The variance of a plan to detect as the options give it: a standard deviation, a share of items that differ, or a pilot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.errors import UsageError, in_short
from steelyard_old.infer.planning import power
from steelyard_old.infer.planning.item_variance import share_deviation
from steelyard_old.options.option import MOST, exactly_one, number, probability, whole
from steelyard_old.questions.plan.variance import ItemVariance

SPREADS = ("sigma", "expected", "sd", "discordance", "churn", "pilot")


DESIGN_OPTIONS = ("within", "repeats", "design_effect", "icc", "group_size", "n_reference", "ratio")


TINY = 1e-100  # below it squares are 0


HUGE = 1e100  # above it they are infinite


def given_spread(options: Mapping[str, Any]) -> ItemVariance:
    """The spread as the options give it, a pilot included."""
    kinds = {name: options[name] for name in SPREADS}
    kind = exactly_one(
        kinds,
        "how much the scores vary",
        "sigma= for two separate samples (50 is the worst case in percent), discordance= for the same items right or wrong, pilot=",
    )
    more = {**_design_options(options, kind), "alternative": options["alternative"]}
    if kind == "pilot":
        from steelyard_old.questions.plan.pilot import pilot_spread

        return pilot_spread(
            options["pilot"], options["columns"], more, theta=options["theta"], goal=options["goal"], metric=options.get("metric")
        )
    if kind == "sigma":
        hint = "the standard deviation of one item's score; 0 would mean no noise at all"
        sigma = _spread_number("sigma", options["sigma"], hint)
        return ItemVariance(kind="sigma", value=sigma, words=f"two separate samples of scores with standard deviation {sigma:g}", **more)
    if kind == "expected":
        p = probability("the expected accuracy", options["expected"])
        words = f"two separate samples, right or wrong, accuracy {p:g} before the change"
        return ItemVariance(kind="sigma", value=share_deviation(p), words=words, most=1.0, expected=p, **more)
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
    return number(name, x, above=TINY, hint="with a standard deviation this small you need no plan: any drop is found at once")


def _design_options(options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Groups, answers per item, sizes of the reference: only where they mean something."""
    _refuse(options, kind, ("ratio", "n_reference"), ("sigma", "expected", "pilot"), "two separate samples (sigma= or expected=)")
    _refuse(options, kind, ("within", "repeats"), ("sd", "pilot"), "paired scores (sd=), where the noise of one answer is known apart")
    more: dict[str, Any] = {"design_effect": _design_effect(options)}
    if options["n_reference"] is not None:
        more["n_reference"] = whole("n_reference", options["n_reference"])
    if options["ratio"] is not None:
        if options["n_reference"] is not None:
            raise UsageError("Give ratio= or n_reference=, not both.", got="ratio and n_reference", need="one of them")
        more["ratio"] = number("ratio", options["ratio"], above=0, below=MOST)
    if options["repeats"] is not None:
        more["answers"] = tuple(whole("repeats", k) for k in _pair(options["repeats"], "repeats"))
    if options["within"] is not None:
        more["within"] = tuple(number("within", w, above=0, below=HUGE) for w in _pair(options["within"], "within"))
    elif options["repeats"] is not None and kind == "sd":
        raise UsageError(
            "repeats= needs within=, the standard deviation of one answer within an item.",
            got="repeats without within",
            need="the standard deviation of one answer within an item",
            hint="within=0.3; or pilot=FILE with a repeat column",
        )
    return more


def _refuse(options: Mapping[str, Any], kind: str, names: Sequence[str], kinds: Sequence[str], where: str) -> None:
    there = [name for name in names if options[name] is not None]
    if there and kind not in kinds:
        raise UsageError(f"{there[0]}= cannot be used with {kind}=; it belongs to {where}.", got=f"{there[0]} beside {kind}", need=where)


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) not in (1, 2):
            raise UsageError(f"cannot use {name}", got=in_short(value), need="one number, or one for each run")
        return value[0], value[-1]
    return value, value


def _design_effect(options: Mapping[str, Any]) -> float:
    icc, size, effect = options["icc"], options["group_size"], options["design_effect"]
    if effect is not None:
        if icc is not None or size is not None:
            raise UsageError(
                "Give the design effect, or icc and group_size, not both.",
                got="a design effect beside icc or group_size",
                need="one or the other",
            )
        return number("design_effect", effect, above=0, hint="1 for independent items; 1 + (m - 1) x icc for groups of m")
    if (icc is None) != (size is None):
        raise UsageError(
            f"{'icc=' if size is None else 'group_size='} alone is not enough for groups; give both icc= and group_size=.",
            got="icc" if size is None else "group_size",
            need="both icc and group_size",
        )
    if icc is None:
        return 1.0
    rho = number("icc", icc, least=0, below=1, hint="the correlation of two items of a group")
    return power.design_effect(rho, number("group_size", size, least=1))
