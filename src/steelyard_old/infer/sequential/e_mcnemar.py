"""The anytime-valid McNemar test: a Beta prior on the share of losses bets against fair coins, without a plan of looks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import UsageError
from steelyard_old.infer.sequential.after_stopping import StoppedEstimate, combined_difference
from steelyard_old.infer.sequential.lan_demets import ENDS, FloatArray, not_all_so_far
from steelyard_old.infer.sequential.sequential_mcnemar import outcomes

CLOSE = 1e-10


def log_e_mcnemar(lost: npt.ArrayLike, gained: npt.ArrayLike, prior: float = 2.0, share: float = 0.5) -> FloatArray:
    """The logarithm of the e-value against "a disagreement is a loss with probability `share` or less".

    Formula: E = B(c + a, b + a) / B(a, a) / (share^c (1 - share)^b) x P(Beta(c + a, b + a) > share) / P(Beta(a, a) > share),
    c lost, b gained: the likelihood ratio averaged over a Beta(a, a) prior cut off at the share. Assumes: the prior is
    fixed beforehand. Reference: McNemar1947; Robbins1970 for mixtures; GrunwaldDeHeideKoolen2024.

    >>> [round(float(x), 4) for x in np.exp(log_e_mcnemar([0, 8, 9], [0, 0, 1]))]
    [1.0, 27.7636, 14.1608]
    """
    from scipy.special import betaincc, betaln

    c, b = np.asarray(lost, float), np.asarray(gained, float)
    tail = np.log(np.maximum(betaincc(c + prior, b + prior, share), 1e-300)) - math.log(float(betaincc(prior, prior, share)))
    ratio = betaln(c + prior, b + prior) - betaln(prior, prior) - c * math.log(share) - b * math.log1p(-share)
    return np.asarray(ratio + tail)


class EMcNemar:
    """Has the candidate become worse? Right or wrong, one answer each; looked at whenever one likes, for as long as one likes.

    A regression if the e-value has reached 1/alpha at any item; there is no pass, since nothing is planned to be ruled out.
    Assumes: items in random order. The interval holds the shares of losses that the same bet, turned either way, has not
    ruled out at any item, mapped to the difference as after an exact sequential test. Reference: Ville1939; McNemar1947.

    >>> test = EMcNemar()
    >>> test.look(np.array([0, -1, 0, -1, -1, -1, 0, -1, -1, -1, -1.0]))
    'regression'
    """

    name = "e-process on disagreements (anytime-valid McNemar)"

    def __init__(self, alpha: float = 0.05, *, prior: float = 2.0) -> None:
        if not prior > 0:
            raise UsageError("cannot use prior", got=repr(prior), need="a positive number", hint="2 spends little on tiny drops")
        self.alpha, self.prior = alpha, prior
        self.looks: tuple[Mapping[str, Any], ...] = ()
        self.decision = "continue"
        self.alpha_spent = alpha
        self.pass_level: float | None = None
        self._signs: FloatArray = np.zeros(0)
        self._best, self._n = 0.0, 0

    def look(self, differences: npt.ArrayLike, last: bool = False) -> str:
        """Continue, regression or exhausted, after all the differences so far. `last`: there are no more."""
        if self.decision in ENDS:
            raise UsageError(
                f"This run has ended with {self.decision!r}; start a new EMcNemar.",
                got=f"a run that ended with {self.decision!r}",
                need="a new EMcNemar",
            )
        values = outcomes(differences)
        if len(values) < self._n:
            raise not_all_so_far(len(values), self._n)
        known = len(self._signs)
        self._signs, self._n = values[values != 0], len(values)
        lost = np.cumsum(self._signs < 0, dtype=np.int64)
        grown = log_e_mcnemar(lost[known:], np.arange(known + 1, len(lost) + 1) - lost[known:], self.prior)
        self._best = max(self._best, float(grown.max(initial=0.0)))
        self.decision = "regression" if self._best >= -math.log(self.alpha) else "exhausted" if last else "continue"
        facts = {"n": self._n, "disagreements": len(lost), "statistic": self._best, "upper": -math.log(self.alpha), "lower": None}
        self.looks = (*self.looks, facts | {"alpha_spent": self.alpha, "decision": self.decision})
        return self.decision

    def estimate(self) -> StoppedEstimate:
        """The difference after the end, with the anytime interval."""
        if self.decision not in ENDS:
            raise UsageError(
                "The run has not ended, so there is no estimate yet.",
                got="a run that has not ended",
                need="a look with last=True, or a bound reached",
            )
        lost = np.cumsum(self._signs < 0, dtype=np.int64)
        gained = np.arange(1, len(lost) + 1) - lost
        share = float(lost[-1] / len(lost)) if len(lost) else 0.5
        low = _ruled_out_below(lost, gained, share, self.prior, self.alpha)
        high = 1 - _ruled_out_below(gained, lost, 1 - share, self.prior, self.alpha)
        return combined_difference(
            self._n,
            len(lost),
            (share, low, high),
            self.alpha,
            p_value=math.exp(-self._best),
            method="anytime interval on disagreements, around the mean of the items seen",
        )

    def plan(self) -> dict[str, Any]:
        """All that must not change in the middle of a run."""
        return {"rule": "e-mcnemar", "alpha": self.alpha, "prior": self.prior}


def _ruled_out_below(lost: npt.NDArray[np.int64], gained: npt.NDArray[np.int64], share: float, prior: float, alpha: float) -> float:
    """The largest share of losses that is ruled out as too small; 0 if none is."""
    if not len(lost):
        return 0.0

    def ruled_out(s: float) -> bool:
        return bool(log_e_mcnemar(lost, gained, prior, s).max() >= -math.log(alpha))

    out, kept = 1e-9, max(share, 2e-9)
    if not ruled_out(out):
        return 0.0
    if kept >= 1:
        kept = 1 - 1e-9
    while kept - out > CLOSE:
        middle = (out + kept) / 2
        out, kept = (middle, kept) if ruled_out(middle) else (out, middle)
    return out
