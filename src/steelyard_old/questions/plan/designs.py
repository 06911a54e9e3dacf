"""The same drop under several designs: how many items each asks for, how many calls, at what price."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard_old.error_rates import ALPHA, BETA
from steelyard_old.errors import UsageError
from steelyard_old.infer.planning import power as normal
from steelyard_old.infer.planning.item_variance import (
    between_deviation,
    differing_answers,
    most_differing,
    most_within,
    normal_spread,
    pooled_deviation,
    variance_of,
    variances_of_a_drop,
)
from steelyard_old.late_dataclass import dataclass
from steelyard_old.options.option import checked, coin_flips, documented, number, probability, whole
from steelyard_old.options.plan_designs import OPTIONS
from steelyard_old.results import signature
from steelyard_old.results.details import PlanDetails
from steelyard_old.results.plan import DesignCourse, DesignRow, Plan, WhatIf

if TYPE_CHECKING:
    from steelyard_old.infer.planning.run_designs import RunDesign
    from steelyard_old.infer.planning.stored_answers import StoredAnswers
    from steelyard_old.infer.sequential.sequential_cost import OperatingCharacteristics

WORST_SIGMA = 0.5  # of right or wrong: half of the items right
ABOUT = 1.05  # a ratio below this is told as "about as many"
LARGE_BATCH = 0.1  # of the items of the paired design: beyond it stopping early saves less
WORTH_SAYING = 0.005  # the share of runs that end undecided for want of items
EARLY = "paired, stopped early"
SHORT_OF_POWER = 0.03  # what the simulated power may lack before it is said
USUAL_ACCURACY = 0.75  # where none was given; items of mean runs hardly depend on it
SAME, DROPPED = "nothing changed", "drop"
QUANTILES = 200  # of the normal law that stands for noise of scores
SHARE_DIGITS = 3  # of simulated shares


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignQuestion:
    """The numbers of the question, checked. `sigma` is None where it was not given."""

    theta: float
    alpha: float
    beta: float
    sigma: float | None
    expected: float | None
    discordance: float | None
    noise: float | None
    repeats: int | None
    within: float | None
    price: float | None
    batch: int
    available: int | None

    def items(self, design: normal.PowerDesign) -> int:
        return normal.items(design, self.theta, self.alpha, self.beta)


@documented(
    OPTIONS,
    "a Plan",
)
def plan_designs(
    *,
    theta: float,
    expected: float | None = None,
    sigma: float | None = None,
    discordance: float | None = None,
    noise: float | None = None,
    repeats: int | None = None,
    within: float | None = None,
    alpha: float = ALPHA,
    beta: float = BETA,
    price: float | None = None,
    batch: int = 32,
    available: int | None = None,
) -> Plan:
    """How many items a drop of theta asks for: unpaired, reference known, paired, stopped early, with repeats; side by side.

    theta is a share of the items (.02 is two points). sigma: the standard deviation of one item's score (.5 for right or
    wrong, the worst case; with a sigma above 1 theta is in its unit, and only the unpaired designs are known).
    expected: the accuracy. discordance: the share of items on which two healthy runs differ; the drop adds theta to it.
    noise: for scores instead, the standard deviation of an item's difference between two healthy runs, as a fraction of the range
    of scores (theta, sigma and expected, the mean score, as well).
    repeats and within: answers to each item, and the standard deviation of one answer within an item (without it all of the
    discordance is such noise). price: of one call; the reference is on record, so only the calls of the new run count. batch:
    items between two looks. available: the items there are. Every design that stops early is tried with the rule that `run`
    stops by: `steps` say how many calls it takes, how often it alarms, passes or ends undecided, and the information bound.

    >>> plan = plan_designs(theta=0.02, discordance=0.05)
    >>> plan.n, [row["items"] for row in plan.rows[:3]]
    (1073, [7729, 3865, 1073])
    """
    asked = _settle(
        DesignQuestion(
            theta=checked("theta", theta),
            alpha=checked("alpha", alpha),
            beta=checked("beta", beta),
            sigma=None if sigma is None else number("sigma", sigma, above=0, hint="0.5 is the worst case for right or wrong"),
            expected=None if expected is None else probability("the expected accuracy", expected),
            discordance=None if discordance is None else _share(discordance),
            noise=None if noise is None else number("noise", noise, above=0, below=1, hint="as a fraction of the range of scores"),
            repeats=None if repeats is None else whole("repeats", repeats, 2),
            within=None
            if within is None
            else number("within", within, above=0, hint="the standard deviation of one answer within an item"),
            price=None if price is None else number("price", price, above=0, hint="of one call; leave it out if calls are free"),
            batch=whole("batch", batch),
            available=None if available is None else whole("available", available),
        )
    )
    warnings = coin_flips(alpha=asked.alpha, beta=asked.beta)
    rows = _unpaired_rows(asked)
    if asked.noise is not None:
        return _of_scores(asked, rows, warnings)
    if asked.discordance is None:
        warnings.append("the paired designs need discordance=, the share of items on which two healthy runs differ")
        return _plan(asked, rows, None, [], warnings)
    answers = None if asked.repeats is None else _items(asked)  # before the exact search: what cannot be is refused at once
    paired = _paired_items(asked.discordance, asked.theta, asked)
    stopping = [_one_answer(asked), *_several_answers(asked, answers, warnings)]
    rows += _paired_rows(asked, paired, stopping)
    _warn(asked, rows, paired, stopping[0], warnings)
    return _plan(asked, rows, paired, stopping, warnings)


def _of_scores(asked: DesignQuestion, rows: list[DesignRow], warnings: list[str]) -> Plan:
    """Scores instead of right or wrong: the same items on both sides, all of them or stopped early."""
    assert asked.noise is not None
    from steelyard_old.infer.planning.run_designs import scores_on_record

    mean = USUAL_ACCURACY if asked.expected is None else asked.expected
    rates = (asked.theta, asked.alpha, asked.beta)
    early = scores_on_record(normal_spread(asked.noise, QUANTILES), (0.0, 1.0), mean, *rates, step=asked.batch, pool=asked.available)
    n = _scores_items(asked, asked.noise, asked.theta)
    rows.append(_row(asked, "paired", n, f"reference score of each item on record; noise {asked.noise:g} between two healthy runs"))
    rows.append(_early_row(asked, EARLY, early, ["items in random order", "scores in a known range, by empirical likelihood"]))
    _warn(asked, rows, (n, n), early, warnings)
    return _plan(asked, rows, (n, n), [early], warnings)


def _scores_items(asked: DesignQuestion, noise: float, theta: float) -> int:
    """Of a fixed design: the test that `check` makes of scores in a known range."""
    return normal.items(normal.paired_scores(noise, reach=1.0), theta, asked.alpha, asked.beta)


# ---- what can be asked -------------------------------------------------------------------------------------------------


def _share(discordance: Any) -> float:
    """0 is allowed: two runs of a deterministic model do not differ."""
    return 0.0 if discordance == 0 and not isinstance(discordance, bool) else probability("discordance", discordance)


def _settle(asked: DesignQuestion) -> DesignQuestion:
    """Refuse numbers that do not go together; each message says what to write."""
    theta, sigma, p, psi = asked.theta, asked.sigma, asked.expected, asked.discordance
    beside = [name for name in ("discordance", "repeats", "within") if getattr(asked, name) is not None]
    if asked.noise is not None and beside:
        raise UsageError(
            f"noise= is for scores, and {beside[0]}= is for right or wrong.",
            got=f"noise and {' and '.join(beside)}",
            need="one of them",
            hint="noise of scores is the standard deviation of an item's difference between two healthy runs",
        )
    shares = [name for name in ("expected", "discordance", "noise", "within") if getattr(asked, name) is not None]
    if sigma is not None and sigma > 1 and shares:
        raise UsageError(
            f"sigma {sigma:g} is not in the unit of {' and '.join(shares)}, which {'is a share' if len(shares) == 1 else 'are shares'}.",
            got=f"sigma {sigma:g} beside {' and '.join(shares)}, which are shares",
            need="one unit for all of them",
            hint=f"write sigma {sigma / 100:g} and theta {theta / 100:g}"
            if sigma <= 100 and theta >= 0.1
            else f"write sigma {sigma / 100:g}",
        )
    if theta >= 1 and (sigma is None or sigma <= 1):
        raise UsageError(
            "cannot use theta",
            got=f"{theta:g}",
            need="a fraction below 1",
            hint=f"write {theta / 100:g} for {theta:g} points" if theta < 100 else "0.02 is a drop of two points",
        )
    if p is not None and theta >= p:
        raise UsageError(f"theta={theta:g} must be smaller than the expected accuracy ({p:g}).")
    if psi is not None and psi + theta > 1:
        raise UsageError(f"discordance={psi:g} and theta={theta:g} must not add up to more than 1.")
    if p is not None and psi is not None and psi / 2 > min(1 - p, p - theta):
        most = 2 * min(1 - p, p - theta)
        raise UsageError(
            f"A discordance of {psi:g} is impossible at an accuracy of {p:g} and a drop of {theta:g}: at most {most:.4g} of the "
            "items can change.",
            got=f"{psi:g} at an accuracy of {p:g} and a drop of {theta:g}",
            need=f"at most {most:.4g}: half of it are wrong items that become right, half are right items that become wrong, "
            "and the drop comes on top",
        )
    return _settle_repeats(asked)


def _settle_repeats(asked: DesignQuestion) -> DesignQuestion:
    given = {"repeats": asked.repeats, "discordance": asked.discordance}
    if asked.repeats is None and asked.within is None:
        return asked
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise UsageError(
            f"To compute what repeats save, {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.",
            got=" and ".join(name for name in ("repeats", "within", "discordance") if getattr(asked, name) is not None),
            need=f"{' and '.join(missing)} as well",
            hint="repeats 4, within 0.15 (the standard deviation between answers to one item), discordance 0.05",
        )
    assert asked.discordance is not None
    if asked.within is None:
        return replace(asked, within=most_within(asked.discordance))
    if differing_answers(asked.within) > asked.discordance:
        raise UsageError(
            f"within {asked.within:g} is too large when two healthy runs differ on {asked.discordance:g} of the items; it can be at most "
            f"{most_within(asked.discordance):.4g}.",
            got=f"within {asked.within:g} while two healthy runs differ on {asked.discordance:g} of the items",
            need=f"at most {most_within(asked.discordance):.4g}: two answers to an item differ with probability 2 within^2 on average",
            hint="two answers to an item differ with probability 2 within^2 on average",
        )
    return asked


# ---- the designs -------------------------------------------------------------------------------------------------------


def _unpaired_rows(asked: DesignQuestion) -> list[DesignRow]:
    """Other items for the reference: a number with an assumed sigma, with the accuracy's own, and known exactly."""
    sigma, p, theta = WORST_SIGMA if asked.sigma is None else asked.sigma, asked.expected, asked.theta
    told = f"sigma {sigma:g}" + ("" if asked.sigma is not None else ", the worst case")
    rows = [_row(asked, "unpaired", asked.items(normal.two_sample(sigma)), f"reference on as many other items; {told}")]
    before = after = variance_of(sigma)
    if p is not None and asked.noise is None:
        before, after = variances_of_a_drop(p, theta)
        own = normal.two_sample(pooled_deviation(before, after))
        told = f"sigma from an accuracy of {p:g}"
        rows.append(_row(asked, "unpaired, sigma known", asked.items(own), f"reference on as many other items; {told}"))
    known = normal.PowerDesign("unpaired", lambda _: before, lambda _: after)
    rows.append(_row(asked, "reference known exactly", asked.items(known), f"reference on a pool far larger than the run; {told}"))
    return rows


def _paired_rows(asked: DesignQuestion, paired: tuple[int, int], stopping: list[RunDesign]) -> list[DesignRow]:
    """The same items on both sides: all of them, with several answers to each, and every design that stops early."""
    rows = [_row(asked, "paired", paired[1], f"reference outcome of each item on record; {asked.discordance:g} of the items differ anyway")]
    rows.append(_early_row(asked, EARLY, stopping[0], ["items in random order"]))
    if asked.repeats is not None and asked.within is not None:
        k = asked.repeats
        assert asked.discordance is not None
        between = between_deviation(asked.discordance, asked.theta, asked.within)
        design = normal.paired_scores(between, within=(asked.within, asked.within), answers=(k, k))
        told = f"{k} answers to each item, the reference's as well; standard deviation {asked.within:g} within an item"
        rows.append(_row(asked, f"paired, {k} answers each", asked.items(design), told, answers=k))
    for each in stopping[1:]:
        facts = [f"one new answer against the mean of {asked.repeats} on record"]
        if each.strata:
            facts.append(f"items answered both ways are asked {each.strata.factor:g} times as often, and weigh less")
        apart = "" if each.strata is None else ", in strata"
        rows.append(_early_row(asked, f"{asked.repeats} answers on record{apart}, stopped early", each, facts))
    return rows


def _early_row(asked: DesignQuestion, name: str, design: RunDesign, facts: list[str]) -> DesignRow:
    """A design that stops early: calls are those of a healthy run, on average."""
    healthy, dropped = design.healthy, design.usual
    facts = [
        *facts,
        f"means by simulation, within {healthy.items_error:.2g} and {dropped.items_error:.2g}",
        f"calls if nothing changed; a pass rules theta out at level {1 - asked.beta:g}",
    ]
    if _undecided(design):
        facts.append(f"left open in {healthy.exhausted:.1%} of healthy runs and {dropped.exhausted:.1%} with the drop: too few items")
    calls = math.ceil(healthy.items)
    row = _row(asked, name, max(dropped.at_most, healthy.at_most), "; ".join(facts))
    return replace(row, if_nothing_changed=calls, if_it_dropped=math.ceil(dropped.items), calls=calls, money=_money(asked, calls))


def _undecided(design: RunDesign) -> bool:
    return max(design.healthy.exhausted, design.usual.exhausted) >= WORTH_SAYING


def _row(asked: DesignQuestion, design: str, items: int, note: str, answers: int = 1) -> DesignRow:
    short = f"; more than the {asked.available:,} items there are" if asked.available is not None and items > asked.available else ""
    return DesignRow(
        design=design,
        n_items=items,
        if_nothing_changed=items,
        if_it_dropped=items,
        at_most=items,
        calls=items * answers,
        money=_money(asked, items * answers),
        note=note + short,
    )


def _money(asked: DesignQuestion, calls: int) -> float | None:
    return None if asked.price is None else calls * asked.price


def _paired_items(discordance: float, theta: float, asked: DesignQuestion) -> tuple[int, int]:
    """The first and the stable n of McNemar's exact power; by the formula where the search would cost more than it moves."""
    from steelyard_old.infer.planning.mcnemar_power import mcnemar_items
    from steelyard_old.questions.plan.exact import EXACT_UP_TO

    rough = normal.items(normal.paired_outcomes(lambda _: discordance + theta), theta, asked.alpha, asked.beta)
    if rough > EXACT_UP_TO:
        return rough, rough
    found = mcnemar_items(discordance + theta, theta, asked.alpha, asked.beta)
    return found.n_first, found.n_stable


def _one_answer(asked: DesignQuestion) -> RunDesign:
    from steelyard_old.infer.planning.run_designs import one_answer

    assert asked.discordance is not None
    return one_answer(asked.theta, asked.discordance, asked.alpha, asked.beta, step=asked.batch, pool=asked.available)


def _several_answers(asked: DesignQuestion, items: StoredAnswers | None, warnings: list[str]) -> list[RunDesign]:
    """The designs with several answers on record: all items alike, and wavering ones more often where `run` would."""
    if items is None:
        return []
    from steelyard_old.infer.planning.run_designs import answers_on_record, strata_for

    rates = (asked.theta, asked.alpha, asked.beta)
    strata = strata_for(items, *rates, pool=asked.available)
    if strata is None and asked.available is not None and strata_for(items, *rates) is not None:
        warnings.append(f"{asked.available:,} items are too few to ask unstable items more often: a run asks all items equally often")
    kinds = [None] if strata is None else [None, strata]
    return [answers_on_record(items, *rates, strata=each, step=asked.batch, pool=asked.available) for each in kinds]


def _items(asked: DesignQuestion) -> StoredAnswers:
    """Items of a Beta law, two answers to which differ by the noise within items; the rest of the discordance changed for good."""
    from steelyard_old.infer.planning.stored_answers import beta_answers

    assert asked.repeats is not None
    assert asked.within is not None
    assert asked.discordance is not None
    noise = differing_answers(asked.within)
    accuracy = asked.expected or (USUAL_ACCURACY if noise < 0.95 * most_differing(USUAL_ACCURACY) else 0.5)
    items = beta_answers(accuracy, noise, asked.repeats)
    after = items.changed(max(0.0, asked.discordance - noise) / 2)
    if after is None or after.dropped(asked.theta) is None:
        raise UsageError(
            f"At an accuracy of {accuracy:g} so many items cannot have changed.",
            got=f"discordance {asked.discordance:g}, within {asked.within:g} and theta {asked.theta:g} at an accuracy of {accuracy:g}",
            need="fewer items that change",
        )
    return after


# ---- the answer --------------------------------------------------------------------------------------------------------


def _plan(
    asked: DesignQuestion, rows: list[DesignRow], paired: tuple[int, int] | None, stopping: list[RunDesign], warnings: list[str]
) -> Plan:
    details: dict[str, Any] = {"price": asked.price, "available": asked.available}
    if stopping:
        healthy, dropped = stopping[0].healthy, stopping[0].usual
        details["early_stopping"] = {
            "alpha": healthy.regression,
            "power": dropped.regression,
            "power_error": dropped.regression_error,
            "expected_n": [healthy.items, dropped.items],
            "expected_n_error": [healthy.items_error, dropped.items_error],
            "undecided": [healthy.exhausted, dropped.exhausted],
            "paths": [healthy.paths, dropped.paths],
        }
    n = rows[0].n_items if paired is None else paired[1]
    scores = asked.noise is not None
    return Plan(
        goal="designs",
        design="unpaired" if paired is None else "paired",
        n=n,
        n_first=None if paired is None or scores else paired[0],
        n_stable=None if paired is None or scores else paired[1],
        theta=asked.theta,
        alpha=asked.alpha,
        beta=asked.beta,
        power=1 - asked.beta,
        expected_n=stopping[0].healthy.items if stopping else None,
        conclusion=_conclusion(asked, rows, paired, stopping[0] if stopping else None),
        assumed=_assumed(asked),
        sensitivity=_sensitivity(asked),
        rows=tuple(rows),
        steps=tuple(row for design in stopping for row in _steps(design)),
        details=PlanDetails.of(details),
        warnings=tuple(warnings),
        signature=_sign(asked),
    )


def _steps(design: RunDesign) -> list[DesignCourse]:
    """How a design that stops early ends, if nothing changed and wherever theta is lost, with the information bound beside it."""
    bounds = (None, None) if design.bound is None else design.bound
    ended: list[tuple[str, OperatingCharacteristics, float | None]] = [(SAME, design.healthy, bounds[0])]
    ended += [(DROPPED if len(design.dropped) == 1 else f"{DROPPED}, {place}", each, bounds[1]) for place, each in design.dropped.items()]
    return [
        DesignCourse(
            design=design.design,
            condition=words,
            calls=math.ceil(each.items),
            nine_in_ten=each.items_90,
            alarm=round(each.regression, SHARE_DIGITS),
            passed=round(each.passed, SHARE_DIGITS),
            left_open=round(each.exhausted, SHARE_DIGITS),
            information_bound=None if bound is None else math.ceil(bound),
        )
        for words, each, bound in ended
    ]


def _conclusion(asked: DesignQuestion, rows: list[DesignRow], paired: tuple[int, int] | None, stopping: RunDesign | None) -> str:
    seed = rows[0].n_items
    if paired is None or stopping is None:
        known = rows[-1].n_items
        return f"A drop of {asked.theta:g} asks for {seed:,} items, or {known:,} if the reference is known exactly{_cost(asked, rows[:1])}."
    n, healthy, dropped = paired[1], math.ceil(stopping.healthy.items), math.ceil(stopping.usual.items)
    head = f"Pairing asks {_fewer(seed, n)} than a reference on other items ({n:,} instead of {seed:,})"
    bought = _cost(asked, [row for row in rows if row.design in ("unpaired", "paired", EARLY)])
    if _undecided(stopping):  # fewer items for want of items are no saving
        shares = f"{stopping.healthy.exhausted:.0%} of healthy runs and {stopping.usual.exhausted:.0%} of those with the drop"
        return f"{head}; with the {asked.available:,} items there are, stopping early ends undecided in {shares}{bought}."
    further = "a further " if n >= ABOUT * healthy else ""
    early = f"stopping early {further}{_fewer(n, healthy)} when nothing changed ({healthy:,} on average)"
    return f"{head}, {early}, {_fewer(n, dropped)} when the drop is real ({dropped:,}){bought}."


def _fewer(before: int, after: int) -> str:
    """How many times fewer, or more, in words.

    >>> _fewer(7729, 1073), _fewer(100, 250), _fewer(100, 98)
    ('7.2 times fewer items', '2.5 times more items', 'about as many items')
    """
    ratio = max(before, after) / min(before, after)
    return "about as many items" if ratio < ABOUT else f"{ratio:.1f} times {'fewer' if before > after else 'more'} items"


def _cost(asked: DesignQuestion, rows: list[DesignRow]) -> str:
    if asked.price is None:
        return ""
    named = ", ".join(f"{row.money:,.2f} {row.design}" for row in rows)
    return f"; at {asked.price:g} a call a check costs {named}"


def _assumed(asked: DesignQuestion) -> str:
    parts = [f"one-sided, alpha {asked.alpha:g}, beta {asked.beta:g}", "independent items"]
    if asked.discordance is not None:
        psi = asked.discordance
        parts.append(f"two healthy runs differ on {psi:g} of the items, runs with the drop on {psi + asked.theta:g}")
    if asked.noise is not None:
        parts.append(f"the difference of an item between two healthy runs has a standard deviation of {asked.noise:g} of the range")
        parts.append("a drop is a share of answers that score lowest, or a little less in all of them")
    if asked.discordance is not None or asked.noise is not None:
        parts.append(f"stopped early after whole batches of {asked.batch}, in 999 of 1,000 runs by the number given")
        if asked.noise is None:
            parts.append("the information bound is the fewest calls on average that any rule with these errors could do with")
        parts.append("runs are left open where the items run out")
    return "; ".join([*parts, "the reference is on record, only calls of the new run are counted"]) + "."


def _sensitivity(asked: DesignQuestion) -> tuple[WhatIf, ...]:
    """The recommended design, if the discordance is half or double and if the drop is half."""
    theta, psi = asked.theta, asked.discordance
    if asked.noise is not None:
        tried = [(f"noise is {x:.4g}", x, theta) for x in (asked.noise / 2, 2 * asked.noise)]
        tried.append((f"theta is {theta / 2:.4g}", asked.noise, theta / 2))
        return tuple(WhatIf(condition=words, n=_scores_items(asked, sd, drop)) for words, sd, drop in tried)
    if psi is None:
        smaller, larger = _unpaired_rows(_at(asked, theta / 2))[0].n_items, _unpaired_rows(_at(asked, 2 * theta))[0].n_items
        return (WhatIf(condition=f"theta is {theta / 2:.4g}", n=smaller), WhatIf(condition=f"theta is {2 * theta:.4g}", n=larger))
    others = [(f"discordance is {x:.4g}", x, theta) for x in ([psi / 2, 2 * psi] if psi else [0.01]) if x + theta <= 1]
    rows = []
    for words, share, drop in (*others, (f"theta is {theta / 2:.4g}", psi, theta / 2)):
        try:
            rows.append(WhatIf(condition=words, n=_paired_items(share, drop, asked)[1]))
        except UsageError:  # beyond any number of items that could be asked for
            rows.append(WhatIf(condition=words, n=None))
    return tuple(rows)


def _at(asked: DesignQuestion, theta: float) -> DesignQuestion:
    return replace(asked, theta=theta, expected=None)


def _warn(asked: DesignQuestion, rows: list[DesignRow], paired: tuple[int, int], stopping: RunDesign, warnings: list[str]) -> None:
    """What a statistician would add before anybody orders items."""
    n = paired[1]
    known = next(row for row in rows if row.design == "reference known exactly")
    if known.n_items < n:
        warnings.append(
            "pairing does not help here: the runs differ on too many items "
            f"({n:,} items needed, {known.n_items:,} with a reference known exactly)"
        )
    if asked.available is not None and n > asked.available:
        instead = ""
        if asked.discordance is not None:
            share = asked.discordance + asked.theta
            instead = f"; `plan detect --n {asked.available} --discordance {share:g}` says which drop they find"
        warnings.append(f"there are {asked.available:,} items and pairing asks for {n:,}: a run of all of them may end undecided{instead}")
    elif asked.batch > LARGE_BATCH * n:
        warnings.append(f"batches of {asked.batch} are large for {n:,} items: up to {max(1, int(LARGE_BATCH * n))} would stop sooner")
    lacking = 1 - asked.beta - stopping.usual.regression
    if lacking > SHORT_OF_POWER + 3 * stopping.usual.regression_error and stopping.usual.exhausted < SHORT_OF_POWER:
        warnings.append(
            f"stopped early, a real drop is found in {stopping.usual.regression:.0%} of the runs instead of {1 - asked.beta:.0%}: "
            "so few items disagree that whole counts are coarse"
        )


def _sign(asked: DesignQuestion) -> str:
    paired = asked.discordance is not None or asked.noise is not None
    return signature.write(
        {
            "goal": "designs",
            "alternative": "less",
            "alpha": asked.alpha,
            "beta": asked.beta,
            "theta": asked.theta,
            "sigma": asked.sigma,
            "discordance": asked.discordance,
            "noise": asked.noise,
            "within": asked.within,
            "answers": asked.repeats,
            "expected": asked.expected,
            "have": asked.available,
            "batch": asked.batch if paired else None,
            "seed": 0 if paired else None,
        }
    )
