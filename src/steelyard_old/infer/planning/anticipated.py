"""What the items to come will bring: a known success rate, or a Beta law of it (beta-binomial)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv, betaln, expit, gammaln, log_expit, xlog1py, xlogy

from steelyard_old.infer.planning.precision_goal import Array, at_least
from steelyard_old.infer.posterior.beta import TAIL, logit_nodes
from steelyard_old.late_dataclass import dataclass

NODES = 128  # of the quadrature for a beta-binomial tail: its error is below 1e-12
REACH = 9.0  # standard deviations on either side: what is left out is below 1e-18


@dataclass(frozen=True, slots=True)
class Anticipated:
    """What the items to come are expected to bring: a success rate `share`, or a Beta law of it.

    Formula: X ~ Binomial(m, share), or beta-binomial. P(X >= x) = I_share(x, m - x + 1); under a Beta law it is P(Y < Q)
    with Y ~ Beta(x, m - x + 1) and Q ~ law, integrated over the narrower of the two.
    Reference: OHaganStevensCampbell2005 for averaging over a design prior.

    >>> round(float(Anticipated(0.9).at_least(150, 160)), 6), round(float(Anticipated(law=(45, 5)).at_least(150, 160)), 6)
    (0.067034, 0.257644)
    """

    share: float | None = None
    law: tuple[float, float] | None = None

    @classmethod
    def after(cls, prior: tuple[float, float], k: int, n: int) -> Anticipated:
        """What k of n leave to be expected of the next ones: the prior, updated.

        >>> Anticipated.after((0.5, 0.5), 9, 10).law
        (9.5, 1.5)
        """
        a, b = prior
        return cls(law=(a + k, b + n - k))

    def at_least(self, x: Any, m: Any) -> Array:
        """P(X >= x) of m items to come."""
        x, m = np.broadcast_arrays(np.asarray(x, float), np.asarray(m, float))
        if self.law is None:
            return at_least(x, m, self.share)
        inside = (x > 0) & (x <= m)
        answer = np.where(x <= 0, 1.0, 0.0)
        answer[inside] = _mixed_tail(x[inside], (m - x + 1)[inside], *self.law)
        return answer

    def above(self, bar: float) -> float:
        """P(success rate > bar): what the assurance of a threshold tends to."""
        if self.law is None:
            return float(self.share is not None and self.share > bar)
        return float(betainc(self.law[1], self.law[0], 1 - bar))

    def window(self, m: int) -> tuple[Array, Array]:
        """The outcomes x of m that are not negligible, and their probabilities."""
        if self.law is None:
            share = float(self.share or 0.0)
            reach = REACH * math.sqrt(m * share * (1 - share)) + 2 * REACH
            x = np.arange(max(0, math.floor(m * share - reach)), min(m, math.ceil(m * share + reach)) + 1, dtype=float)
            log = xlogy(x, share) + xlog1py(m - x, -share)
        else:
            x = np.arange(m + 1, dtype=float)
            log = betaln(x + self.law[0], m - x + self.law[1]) - betaln(*self.law)
        weight = np.exp(log + gammaln(m + 1) - gammaln(x + 1) - gammaln(m - x + 1))
        return x, weight / weight.sum()


def _mixed_tail(up: Array, down: Array, a: float, b: float) -> Array:
    """P(Y < Q) for Y ~ Beta(up, down), Q ~ Beta(a, b): the trapezoid rule in the logit of the narrower one."""
    answer = np.empty(up.shape)
    narrow = 1 / up + 1 / down < 1 / a + 1 / b
    if not narrow.all():
        q, _, weight = logit_nodes(a, b)
        answer[~narrow] = betainc(up[~narrow, None], down[~narrow, None], q) @ weight
    if narrow.any():
        u, d = up[narrow, None], down[narrow, None]
        low, high = (np.log(np.clip(betaincinv(*pair, TAIL), 1e-300, 0.5)) for pair in ((u, d), (d, u)))
        z = low + (-high - low) * np.linspace(0, 1, NODES)
        log = u * log_expit(z) + d * log_expit(-z)
        weight = np.exp(log - log.max(1, keepdims=True))
        answer[narrow] = (betainc(b, a, expit(-z)) * weight).sum(1) / weight.sum(1)
    return answer
