"""Model calls: what stopping early asks for, against the seed's n = 3.09 / theta^2, by simulation; pairing and stopping told apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.timing import Row, Wrong

THETA = 0.02
SEED_N = 3.0913 / THETA**2
GOALS = {  # discordance: fewer if nothing changed, if it dropped
    0.02: ("stopping.calls-same-2", "stopping.calls-drop-2"),
    0.05: ("stopping.calls-same-5", "stopping.calls-drop-5"),
    0.1: ("stopping.calls-same-10", "stopping.calls-drop-10"),
    0.2: ("stopping.calls-same-20", "stopping.calls-drop-20"),
}
FloatArray = npt.NDArray[np.float64]
Answers = Callable[[np.random.Generator, int, int, float], tuple[FloatArray, FloatArray]]


def rows(*, quick: bool) -> Iterator[Row]:
    paths = 100 if quick else 500
    for discordance, goals in GOALS.items():
        yield from exact(discordance, goals, paths)
    yield from sharper(2000 if quick else 8000)


def exact(discordance: float, goals: tuple[str, str], paths: int) -> Iterator[Row]:
    """The profile-likelihood McNemar test, the default: discordance unknown to it, losses added to the churn, batches of 32."""
    from steelyard.infer.planning.mcnemar_power import mcnemar_items
    from steelyard.infer.sequential.sequential_cost import expected_items

    paired = mcnemar_items(discordance + THETA, THETA, 0.05, 0.2).n_stable
    for drop, key, words in ((0.0, goals[0], "nothing changed"), (THETA, goals[1], "dropped by theta")):
        found = expected_items(THETA, discordance, drop, paths=paths)
        if found.regression > 0.05 if drop == 0 else found.regression < 0.79 - 4 * found.regression_error:
            raise Wrong(f"stopping at discordance {discordance}: {found.regression:.4f} of the runs with drop {drop} alarm")
        times = SEED_N / found.items
        yield Row(
            key=key,
            value=times,
            what=f"theta 2 points, discordance {discordance:.0%}, {words}",
            ours=f"{found.items:,.0f} calls",
            peer=f"{SEED_N:,.0f} calls",
            times=(times,),
            note=f"alarms {found.regression:.3f}; pairing {SEED_N / paired:.1f}x, stopping a further {paired / found.items:.1f}x",
        )


def sharper(runs: int) -> Iterator[Row]:
    """Lan-DeMets on sharper differences, against the same rule on plain ones: a reference of several answers, and regression."""
    for discordance in (0.05, 0.1, 0.2):
        plain = [by_information(answers(0.75, discordance, 1), drop, runs) for drop in (0.0, THETA)]
        for stored in (4, 16):
            found = [by_information(answers(0.75, discordance, stored), drop, runs) for drop in (0.0, THETA)]
            yield told(f"reference of {stored} answers, all disagreement is noise, discordance {discordance:.0%}", plain, found)
    for accuracy, discordance in ((0.75, 0.05), (0.75, 0.1), (0.75, 0.15), (0.9, 0.1)):
        plain = [by_information(answers(accuracy, discordance, 1), drop, runs) for drop in (0.0, THETA)]
        found = [by_information(answers(accuracy, discordance, 1), drop, runs, pool_mean=accuracy) for drop in (0.0, THETA)]
        yield told(f"regression on a large pool, accuracy {accuracy:g}, discordance {discordance:.0%}", plain, found)


def told(what: str, plain: list[tuple[float, float]], found: list[tuple[float, float]]) -> Row:
    return Row(
        what=what,
        ours=f"{found[0][1]:,.0f} and {found[1][1]:,.0f} calls",
        peer=f"{plain[0][1]:,.0f} and {plain[1][1]:,.0f} calls",
        times=tuple(a[1] / b[1] for a, b in zip(plain, found, strict=True)),
        note=f"alarms {found[0][0]:.3f}, power {found[1][0]:.3f} (plain {plain[0][0]:.3f}, {plain[1][0]:.3f})",
    )


def answers(accuracy: float, discordance: float, stored: int) -> Answers:
    """Items with chances of their own: two answers differ on `discordance` of them, and that is all there is to it."""
    mixed = discordance / (2 * accuracy * (1 - accuracy))
    c = mixed / (1 - mixed)

    def draw(rng: np.random.Generator, runs: int, batch: int, drop: float) -> tuple[FloatArray, FloatArray]:
        chance = rng.beta(accuracy * c, (1 - accuracy) * c, (runs, batch))
        right = (rng.random((runs, batch)) < chance) & (rng.random((runs, batch)) >= drop / accuracy)
        return right.astype(float), rng.binomial(stored, chance) / stored

    return draw


def by_information(draw: Answers, drop: float, runs: int, pool_mean: float | None = None) -> tuple[float, float]:
    """Thousands of runs of the Lan-DeMets rule at once, from running sums: the share that alarms, and the mean items."""
    from steelyard.infer.sequential.spending import design

    plan = design(20, 0.05, 0.2, "obrien-fleming", "hsd:0")
    times, upper, lower = (np.array(x) for x in (plan.times, plan.upper, plan.lower))
    information = (plan.drift / THETA) ** 2
    rng = np.random.Generator(np.random.PCG64(0))
    sums, seen = np.zeros((runs, 5)), np.zeros(runs, int)
    alarm, items, live, n = np.zeros(runs, bool), np.zeros(runs), np.arange(runs), 0
    while len(live):
        n += 32
        y, f = draw(rng, len(live), 32, drop)
        sums[live] += np.stack([y.sum(1), f.sum(1), (y * y).sum(1), (f * f).sum(1), (y * f).sum(1)], axis=1)
        total, squares = totals(sums[live], n, pool_mean)
        k = np.searchsorted(times, np.minimum(1.0, n * (n + 20) / (squares + 2) / information), side="right")
        z = -total / np.sqrt(np.maximum(squares, 1e-9))
        due, place = k > seen[live], np.maximum(k, 1) - 1
        up = due & (z >= upper[place])
        out = up | (due & (z <= lower[place]))
        alarm[live[up]], items[live[out]] = True, n
        seen[live] = np.maximum(k, seen[live])
        live = live[~out]
    return float(alarm.mean()), float(items.mean())


def totals(sums: FloatArray, n: int, pool_mean: float | None) -> tuple[FloatArray, FloatArray]:
    """Sum and sum of squares of the differences, plain or adjusted with the slope of the items so far."""
    y, f, yy, ff, yf = sums.T
    if pool_mean is None:
        return y - f, yy - 2 * yf + ff
    spread = ff / n - (f / n) ** 2
    slope = np.clip((yf / n - y * f / n**2) / np.where(spread > 0, spread, math.inf), 0, 1)
    shift = pool_mean * (1 - slope)
    return y - slope * f - n * shift, yy + slope**2 * ff + n * shift**2 - 2 * slope * yf - 2 * shift * y + 2 * slope * shift * f
