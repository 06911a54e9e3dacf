"""What is said about a plan for knowing a metric: the answer in one sentence, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.infer.planning.precision_goal import CREDIBLE, PrecisionGoal
from steelyard_old.questions.plan.expectations import Expectation

NO_MORE = "Already reached: 0 more."


def goal_words(rule: PrecisionGoal, known: Expectation, bound: float | None, *, named: bool) -> str:
    """What is wanted, as a clause: "the 95% interval of the accuracy is at most 0.1 wide"; `named`: the metric was just named."""
    sure = f"{100 * rule.level:g}%"
    it = "it" if named else f"the {known.metric.name}"
    if rule.width is not None:
        whose = f"its {sure} {_kind(rule)}" if named else f"the {sure} {_kind(rule)} of {it}"
        return f"{whose} is at most {rule.width:g} wide"
    side = "above" if known.metric.higher_is_better else "below"
    if rule.method == CREDIBLE:
        return f"the data put {it} {side} {bound:g} with {sure} probability"
    return f"the one-sided {sure} {rule.method} bound puts {it} {side} {bound:g}"


def conclude(rule: PrecisionGoal, known: Expectation, bound: float | None, n: int, labels: int | None, chance: float | None) -> str:
    """The answer in one sentence. `chance` is the assurance achieved, None where the goal is met whatever comes."""
    goal = goal_words(rule, known, bound, named=n > 0 and (chance is None or known.value is not None))
    if n == 0:
        k, there = known.have
        return f"{NO_MORE} With {k:,} of {there:,}{'' if known.relevant == 1.0 else f' {known.items}'}, {goal}."
    more = " more" if known.have[1] else ""
    if known.relevant == 1.0:
        start = f"Label {n:,}{more} items"
    elif labels is None:
        start = f"It takes {n:,}{more} {known.items}"
    else:
        start = f"Label {labels:,}{more} items, about {labels * (known.relevant or 0):,.0f} of them {_subset(known)}"
    if chance is None:
        sure = "" if known.relevant == 1.0 or labels is None else f" (once {n:,} of them are)"
        return f"{start}: whatever the {known.metric.name} turns out to be{sure}, {goal}."
    return f"{start}: {_if(known)}, the chance is {_percent(chance)} that {goal}."


def assume(rule: PrecisionGoal, known: Expectation) -> str:
    """What the answer rests on, in one sentence."""
    parts = ["independent items"]
    if known.value is not None:
        told = {name: known.told[name] for name in known.metric.made_of if known.by_parts}
        parts.append(
            " and ".join(f"{name} {value:g}" for name, value in told.items()) if told else f"{_a(known.metric.name)} of {known.value:g}"
        )
        if len(known.metric.made_of) > 1 and not told:
            parts[-1] += f" ({' and '.join(known.metric.made_of)} both so)"
    elif known.law is not None:
        parts.append(f"a success rate drawn from Beta({known.law[0]:g}, {known.law[1]:g})")
    elif known.have[1]:
        parts.append(f"a success rate as {known.have[0]:,} of {known.have[1]:,} suggest")
    if known.relevant is not None and known.relevant < 1:
        parts.append(f"{_percent(known.relevant)} of the labels fall on {known.items}")
    parts.append(f"prior Beta({rule.prior[0]:g}, {rule.prior[1]:g})" if rule.method == CREDIBLE else f"a {rule.method} interval")
    return f"{'; '.join(parts)}."


def no_labels(known: Expectation) -> str:
    """Why the number of labels is not known, and what to give."""
    needed = {"prevalence": "prevalence" not in known.told}
    needed["recall"] = known.of_predictions and "recall" not in known.rates
    needed["the expected value"] = known.of_predictions and known.value is None
    return (
        f"{known.metric.name} rests on {known.items} only, and how many labels hold that many depends on their share: "
        f"give {' and '.join(name for name, is_missing in needed.items() if is_missing)} to get the number of labels"
    )


def moved(known: Expectation) -> str:
    """The first cell of a row of the sensitivity table."""
    if known.by_parts:
        first, *others = known.metric.made_of
        return f"{first} is {known.told[first]:g}" + "".join(f" and {name} {known.told[name]:g}" for name in others)
    return f"{known.metric.name} is {known.value:g}"


def _if(known: Expectation) -> str:
    if known.value is not None:
        return f"if the {known.metric.name} is {known.value:.4g}"
    if known.have[1]:
        return f"after {known.have[0]:,} of {known.have[1]:,}"
    return f"over the design prior of the {known.metric.name}"


def _a(metric: str) -> str:
    return f"an {metric}" if metric[0] in "aef" else f"a {metric}"  # an f1


def _kind(rule: PrecisionGoal) -> str:
    return "credible interval" if rule.method == CREDIBLE else f"{rule.method} interval"


def _subset(known: Expectation) -> str:
    return "" if known.metric.relevant is None else known.metric.relevant[1]


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%" if share < 0.9995 else "above 99.9%"


def join(sentences: Sequence[str]) -> tuple[str, ...]:
    """Warnings without repetition, in order."""
    return tuple(dict.fromkeys(sentences))


def stopped_early(rule: PrecisionGoal, covered: float) -> str:
    """What stopping as soon as the interval is narrow enough does to it."""
    other = "" if rule.method in ("wilson", "clopper-pearson") else "; interval='wilson' loses less"
    return (
        f"stopping as soon as the {rule.method} interval is narrow enough, it covers {covered:.3f} instead of {rule.level:g}: the width "
        f"depends on the share{other}; `steelyard run --until width={rule.width:g}` keeps an interval that holds whenever it stops"
    )
