"""How many items make it likely that the answer will be good enough: assurance.

The criterion is a saw-tooth in n, because outcomes are whole: so two numbers are given, the first n that meets it and
the n from which every larger one does, both exact. Between two envelopes (one outcome more is good, one outcome fewer)
the truth is smooth enough to bracket; inside the bracket every n is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.infer.planning.anticipated import Anticipated
from steelyard_old.infer.planning.lengths import CAP, worst_outcome
from steelyard_old.infer.planning.precision_goal import Array, Ints, PrecisionGoal
from steelyard_old.infer.planning.search import mixture_search

STEP = 1.1  # of the grid on which the envelopes are seen
FINE = 16  # parts into which a step of the grid is cut, again and again, until it is this small


def assurance(rule: PrecisionGoal, anticipated: Anticipated, more: Any, have: tuple[int, int] = (0, 0), *, slack: int = 0) -> Array:
    """P(the result will be good enough) after `more` more items, on top of `have` = (successes, items).

    Formula: the sum of P(X = x) over the x for which have + x meets the rule. `slack` 1 counts one more outcome at every
    edge and -1 one fewer: the envelopes of the saw-tooth.
    Assumes: independent items of one success rate. Reference: OHaganStevensCampbell2005; JosephWolfsonDuBerger1995.

    >>> [round(float(p), 3) for p in assurance(PrecisionGoal(width=0.1), Anticipated(0.9), [135, 161, 182])]
    [0.515, 0.816, 0.959]
    """
    return _chances(rule, anticipated, np.atleast_1d(np.asarray(more, np.int64)), have, (slack,))[0].reshape(np.shape(more))


def _chances(rule: PrecisionGoal, anticipated: Anticipated, m: Ints, have: tuple[int, int], slacks: tuple[int, ...]) -> list[Array]:
    """The assurance under each slack; the good outcomes are found once."""
    k, n = have

    def between(start: Any, end: Any) -> Array:
        start, end = np.clip(start - k, 0, m + 1), np.clip(end + 1 - k, 0, m + 1)
        return anticipated.at_least(start, m) - anticipated.at_least(end, m)

    below = rule.width is not None and bool((between(0 * m, (n + m) // 2) > 0).any())
    found = rule.regions(n + m, below=below)
    empty = (found.low < found.first) & (found.high > found.last)
    answers = []
    for slack in slacks:
        # Where everything is good, or nothing, there is no edge to move.
        move = np.where(found.whole | empty, 0, slack)
        high = np.maximum(found.high - move, found.first)
        low = np.minimum(found.low + move, high - 1)
        total = between(high, found.last)
        if below:
            total = total + between(found.first + 0 * m, np.minimum(low, found.last))
        if found.none is not None and found.every is not None:
            total = total + np.where(found.none, between(0 * m, 0 * m), 0) + np.where(found.every, between(n + m, n + m), 0)
        answers.append(np.clip(total, 0.0, 1.0))
    return answers


def items_for_assurance(rule: PrecisionGoal, anticipated: Anticipated, target: float, have: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """(first, stable): the smallest number of (more) items with assurance >= target, and the one from which all larger have it.

    Formula: the envelopes are seen on a grid, bracket both numbers, and every n inside the bracket is computed.
    Undefined: a threshold that the anticipated law does not exceed with probability `target`: an error.
    Reference: ChernickLiu2002 on the saw-tooth.

    >>> items_for_assurance(PrecisionGoal(threshold=0.9), Anticipated(0.95), 0.8)
    (160, 185)
    """
    if have[1] and bool(rule.meets(*have)):
        return 0, 0  # reached before anything is labelled; more labels cannot be owed
    _refuse_unreachable(rule, anticipated, target)

    def envelopes(m: Ints) -> list[Array]:
        return _chances(rule, anticipated, m, have, (1, -1))

    grid, upper, lower = _grid(envelopes, target, worst_outcome(rule, have) if rule.width is not None else None)
    start = _prefix(grid, upper < target, lambda m: envelopes(m)[0] < target)
    end = _suffix(grid, lower >= target, lambda m: envelopes(m)[1] >= target)
    m = np.arange(start + 1, max(end, start + 1) + 1)
    met = assurance(rule, anticipated, m, have) >= target
    first = int(m[met.argmax()])
    return first, int(m[np.flatnonzero(~met)[-1]]) + 1 if not met.all() else first


def _refuse_unreachable(rule: PrecisionGoal, anticipated: Anticipated, target: float) -> None:
    if rule.threshold is not None and anticipated.above(rule.bar) <= target:
        law = (
            "the anticipated value is not above it"
            if anticipated.law is None
            else f"the probability of that is {anticipated.above(rule.bar):.3g}"
        )
        raise UsageError(
            f"No number of items makes it that likely to clear the threshold {rule.threshold:g}: the assurance is {target:g}, but {law}.",
            got=f"threshold {rule.threshold:g}, assurance {target:g}; {law}",
            need="a lower threshold, a lower assurance, or a better model",
            hint="lower the threshold or the assurance",
        )


def _grid(envelopes: Callable[[Ints], list[Array]], target: float, top: int | None) -> tuple[Ints, Array, Array]:
    """Sizes a tenth apart, with both envelopes: up to `top`, or until the lower one has stayed above for an octave."""
    parts: list[tuple[Ints, Array, Array]] = []
    low, high = 1, min(top or 256, CAP)
    while True:
        count = math.ceil(math.log(high / low) / math.log(STEP)) + 1
        sizes = np.unique(np.geomspace(low, high, max(count, 2)).round().astype(np.int64))
        upper, lower = envelopes(sizes)
        parts.append((sizes, upper, lower))
        if top is not None or bool((lower[sizes >= high / 2] >= target).all()):
            break
        if high >= CAP:
            raise UsageError(
                f"This goal would take more than {CAP:,} items.",
                got=f"a goal that takes more than {CAP:,} items",
                need="a goal further from what is expected, or a lower assurance",
                hint="ask for a threshold further from the expected value, or a lower assurance",
            )
        low, high = high + 1, min(high * 4, CAP)
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])


def _prefix(grid: Ints, fails: Any, failing: Callable[[Ints], Any]) -> int:
    """A size up to which nothing can meet the target: the upper envelope stays below it."""
    while True:
        if bool(fails.all()):
            return int(grid[-1]) - 1
        at = int(np.argmin(fails))
        if at == 0:
            return int(grid[0]) - 1
        if grid[at] - grid[at - 1] <= FINE:
            return int(grid[at - 1])
        grid = np.unique(np.linspace(grid[at - 1], grid[at], FINE).round().astype(np.int64))
        fails = failing(grid)


def _suffix(grid: Ints, holds: Any, holding: Callable[[Ints], Any]) -> int:
    """A size from which everything meets the target: the lower envelope stays above it."""
    while True:
        failing = np.flatnonzero(~holds)
        if not len(failing):
            return int(grid[0])
        at = int(failing[-1])
        if at + 1 == len(grid):
            return int(grid[-1])  # the worst outcome itself, where everything is good
        if grid[at + 1] - grid[at] <= FINE:
            return int(grid[at + 1])
        grid = np.unique(np.linspace(grid[at], grid[at + 1], FINE).round().astype(np.int64))
        holds = holding(grid)


def labels_for_assurance(
    rule: PrecisionGoal, anticipated: Anticipated, target: float, relevant: float, found: tuple[int, int], have: tuple[int, int] = (0, 0)
) -> tuple[int, float]:
    """(labels, achieved), when a label is relevant with probability `relevant`: E[assurance(M)] >= target, M ~ Binomial(labels, relevant).

    `found` is the (first, stable) number of relevant items. Far below the first one no mixture reaches the target, and far
    above the stable one all do, so the assurance is computed only between. Reference: OHaganStevensCampbell2005.

    >>> from steelyard_old.metrics.labels import F1
    >>> rule = PrecisionGoal(threshold=0.75, through=F1.read_through, prior=(0.5, 1.0))
    >>> labels_for_assurance(rule, Anticipated(2 / 3), 0.8, 0.24, (322, 341))[0]
    1387
    """
    first, stable = found
    if relevant == 1 or stable == 0:
        return stable, float(assurance(rule, anticipated, stable, have)) if stable else 1.0
    spread = math.sqrt(stable * (1 - relevant)) + 10
    low, high = max(0 if have[1] else 1, math.floor(first - 20 * spread)), math.ceil(stable + 25 * spread)

    def chance(m: Ints) -> Array:
        inside = (m >= low) & (m <= high)
        values = np.where(m > high, 1.0, 0.0)
        if inside.any():
            values[inside] = _steep(rule, anticipated, m[inside], have)
        return values

    found_labels = mixture_search(chance, relevant, target)
    return found_labels.n_stable, found_labels.achieved


def _steep(rule: PrecisionGoal, anticipated: Anticipated, m: Ints, have: tuple[int, int]) -> Array:
    """The assurance of rising m; where the envelopes are already 0 or 1 to the last bits, that, without looking."""
    if len(m) < 200:
        return assurance(rule, anticipated, m, have)
    some = np.unique(np.linspace(0, len(m) - 1, 60).round().astype(int))
    upper, lower = _chances(rule, anticipated, m[some], have, (1, -1))
    never, always = np.flatnonzero(upper > 1e-14), np.flatnonzero(lower < 1 - 1e-14)
    start = some[max(int(never[0]) - 1, 0)] if len(never) else len(m)
    end = some[min(int(always[-1]) + 1, len(some) - 1)] if len(always) else 0
    values = np.where(np.arange(len(m)) > end, 1.0, 0.0)
    values[start : end + 1] = assurance(rule, anticipated, m[start : end + 1], have)
    return values


def labels_for_items(items: int, target: float, relevant: float) -> int:
    """How many labels hold at least `items` relevant ones with probability `target`, to be sure of the worst outcome.

    Reference: JosephWolfsonDuBerger1995.

    >>> labels_for_items(382, 0.8, 0.2)
    1983
    """
    return mixture_search(lambda m: np.where(m >= items, 1.0, 0.0), relevant, target).n_stable if relevant < 1 else items
