"""Several candidates against one baseline that is asked once: every candidate has a rule of its own, and alpha is shared.

An item is asked of the baseline at most once, and its answer is held against every candidate that is still open. So the
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


def candidate_alpha(alpha: float, candidates: int) -> float:
    """The alpha of one of M candidates against one baseline: alpha / M. Reference: Dunn1961; Holm1979 for what is not done.

    >>> candidate_alpha(0.05, 5), candidate_alpha(0.05, 1)
    (0.01, 0.05)
    """
    return alpha / candidates
