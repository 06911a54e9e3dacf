"""When two answers agree: to rounding where both are exact, within Monte Carlo error where one is drawn. Else `Wrong`."""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmarks.timing import Wrong

Z = 1.959964  # of the 95% intervals that are compared


def same(what: str, ours: Iterable[float], theirs: Iterable[float], tolerance: float = 1e-12) -> None:
    """Number by number, relative to 1 or to the peer's if that is larger."""
    for mine, other in zip(ours, theirs, strict=True):
        if not abs(mine - other) <= tolerance * max(1.0, abs(other)):
            raise Wrong(f"{what}: {mine!r}, the peer {other!r}")


def near(what: str, ours: Iterable[float], theirs: Iterable[float], sd: float, peers: float, own: float) -> None:
    """Ends of two 95% bootstraps differ by the Monte Carlo error of a quantile, sqrt(q (1-q) (1/B + 1/B')) / density."""
    q = 0.025
    error = sd * math.sqrt(q * (1 - q) * (1 / own + 1 / peers)) * math.sqrt(2 * math.pi) * math.exp(Z * Z / 2)
    for mine, other in zip(ours, theirs, strict=True):
        if not abs(mine - other) < 4.5 * error:
            raise Wrong(f"{what}: an end at {mine!r}, the peer's at {other!r}, Monte Carlo error {error:.2g}")


def same_share(what: str, ours: float, theirs: float, peers: float, own: float) -> None:
    """Two shares of draws differ by their Monte Carlo error; the + 1 of ours is allowed for."""
    p = (ours + theirs) / 2
    error = math.sqrt(max(p * (1 - p), 1 / peers) * (1 / own + 1 / peers)) + 1 / own
    if not abs(ours - theirs) < 4.5 * error:
        raise Wrong(f"{what}: p = {ours!r}, the peer {theirs!r}, Monte Carlo error {error:.2g}")
