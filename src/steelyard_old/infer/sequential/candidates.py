"""Several candidates against one baseline that is asked once: every candidate has a rule of its own, and alpha is shared.

An item is asked of the baseline at most once, and its answer is compared with every candidate that is still open. So the
differences of two candidates are dependent: a baseline that was lucky makes all of them look worse. Bonferroni's inequality asks
for no independence. If the rule of each candidate alone calls a healthy one worse with a chance of at most alpha / M, then that
happens to any of M with a chance of at most alpha, however they depend on each other. Where the rule is exact (`ProfileMcNemar`) that
is a theorem, and so it is here: whether a candidate is asked further depends on its own answers and the baseline's alone, and its
bounds on the course of its own disagreements, so that given those every disagreement of a healthy candidate is a fair coin.

A candidate that passes frees no alpha for the others: its alarm did not happen, but it could have. Nor is alpha raised for the
others when one is called worse, as Holm would: that is exact only if every alarm at alpha / M is also one at alpha / (M - 1), and
the rules of two levels have other pass bounds, other shares spent and other looks at which they have already stopped. What it could
save is little: healthy candidates pay hardly anything for a small alpha.
"""

from __future__ import annotations

import numpy as np

from steelyard_old.infer.sequential.stopping import STEP, rule_for

ALWAYS_RIGHT = 0.7  # of the items that do not waver, where runs are simulated


def candidate_alpha(alpha: float, candidates: int) -> float:
    """The alpha of one of M candidates against one baseline: alpha / M. Reference: Dunn1961; Holm1979 for what is not done.

    >>> candidate_alpha(0.05, 5), candidate_alpha(0.05, 1)
    (0.01, 0.05)
    """
    return alpha / candidates


def simulated_candidates(
    rng: np.random.Generator,
    *,
    candidates: int,
    items: int,
    theta: float,
    discordance: float,
    alpha: float,
    beta: float = 0.2,
    step: int = STEP,
    broken: bool = False,
) -> tuple[list[str], list[int]]:
    """One run of candidates at `alpha` each: how every one ends, and how many items it was asked. The first has lost theta if `broken`.

    Items are always right, always wrong, or coin tosses, so that two healthy answers differ on the share `discordance`: on coin
    tosses a lucky baseline is compared with every candidate. Reference: McNemar1947; Dunn1961.

    >>> simulated_candidates(np.random.default_rng(0), candidates=2, items=500, theta=0.1, discordance=0.0, alpha=0.025)
    (['pass', 'pass'], [32, 32])
    """
    coins = rng.random(items) < 2 * discordance
    right = rng.random(items) < ALWAYS_RIGHT
    answers = np.where(coins, rng.random((candidates + 1, items)) < 0.5, right)
    if broken:
        answers[1] &= rng.random(items) >= theta / (ALWAYS_RIGHT + 2 * discordance * (0.5 - ALWAYS_RIGHT))
    ends, asked = [], []
    for each in answers[1:].astype(float) - answers[0]:
        rule = rule_for(right_or_wrong=True, theta=theta, alpha=alpha, beta=beta, step=step)
        n = 0
        while rule.decision == "continue":
            n = min(n + step, items)
            rule.look(each[:n], last=n == items)
        ends.append(rule.decision)
        asked.append(n)
    return ends, asked
