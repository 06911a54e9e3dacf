"""Planning: exact searches up to 100,000 items, beside scanning every n; and what a plan by the normal law costs to start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, Wrong, at_least, below, command, cpu, duel, environment, milliseconds, run, scratch


def rows(*, quick: bool) -> Iterator[Row]:
    repeats = 2 if quick else 5
    for name, call in searches().items():
        call()  # imports and tables
        yield below("plan.search", name, cpu(call, repeats=repeats), milliseconds)
    yield scanned(quick)
    yield from started(quick)


def searches() -> dict[str, Callable[[], object]]:
    """Searches whose answer lies near 100,000 items."""
    from steelyard.infer.planning.anticipated import Anticipated
    from steelyard.infer.planning.assurance import items_for_assurance
    from steelyard.infer.planning.mcnemar_power import mcnemar_items, mcnemar_thetas
    from steelyard.infer.planning.precision_goal import PrecisionGoal
    from steelyard.infer.planning.rule_out import rule_out_items
    from steelyard.metrics.labels import F1

    return {
        "McNemar, n for psi .05, theta .0018": lambda: mcnemar_items(0.05, 0.0018, 0.05, 0.2),
        "McNemar, n for psi .3, theta .0043": lambda: mcnemar_items(0.3, 0.0043, 0.05, 0.2),
        "McNemar, theta at n = 100,000": lambda: mcnemar_thetas([100_000], 0.05, 0.05, 0.2),
        "Tango, n to rule out .0018 at psi .05": lambda: rule_out_items(0.05, 0.0018, 0.05, 0.2),
        "accuracy .9, credible width .0037": lambda: items_for_assurance(PrecisionGoal(width=0.0037), Anticipated(0.9), 0.8),
        "accuracy .9 above .8976": lambda: items_for_assurance(PrecisionGoal(threshold=0.8976), Anticipated(0.9), 0.8),
        "F1 .8 (Jaccard 2/3), credible width .0055": lambda: items_for_assurance(
            PrecisionGoal(width=0.0055, through=F1.read_through, prior=(0.5, 1.0)), Anticipated(2 / 3), 0.8
        ),
    }


def scanned(quick: bool) -> Row:
    """The same first and stable n by computing the assurance at every n up to the worst outcome, as a user would."""
    from scipy.special import bdtr, betaincinv

    from steelyard.infer.planning.anticipated import Anticipated
    from steelyard.infer.planning.assurance import items_for_assurance
    from steelyard.infer.planning.precision_goal import PrecisionGoal

    width, top = 0.1, 400

    def scan() -> tuple[int, int]:
        good = []
        for n in range(1, top):
            x = np.arange(n + 1)
            wide = betaincinv(x + 0.5, n - x + 0.5, 0.975) - betaincinv(x + 0.5, n - x + 0.5, 0.025)
            mass = np.diff(bdtr(x.astype(float), n, 0.9), prepend=0.0)
            good.append(float(mass[wide <= width].sum()) >= 0.8)
        last = max(i for i, fine in enumerate(good) if not fine)
        return good.index(True) + 1, last + 2

    def ours() -> tuple[int, int]:
        return tuple(items_for_assurance(PrecisionGoal(width=width), Anticipated(0.9), 0.8))  # type: ignore[return-value]

    if scan() != ours():
        raise Wrong(f"plan: first and stable n {ours()}, by scanning {scan()}")
    fight = duel(ours, scan, 3 if quick else 7)
    return at_least("plan.scan", "accuracy .9, width .1, assurance .8 (n = 161), beside scanning to the worst outcome", fight)


def started(quick: bool) -> Iterator[Row]:
    with scratch() as folder:
        env = environment(str(Path(folder, "bytecode")))
        bare, plan = [], []
        for turn in range(4 if quick else 10):
            first = run([sys.executable, "-c", "pass"], env).cpu
            cost = run([*command(), "plan", "detect", "--sigma", "50", "--theta", "3"], env).cpu
            if turn:  # the first turn writes the byte code
                bare.append(first)
                plan.append(cost)
        yield below("plan.start", "start-up of plan detect --sigma 50 --theta 3, over bare Python", min(plan) - min(bare), milliseconds)
