"""The packages that answer the same questions, each on one of its own tasks: the answers are held against each other, then timed.

Ours is the public call (`sy.measure`, `sy.compare`) wherever the peer's is one too, and a function of `infer` where the peer's is a
function of a few numbers; the row says which. The target of every row is our own: not to be slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.peers_evaluation import errorbars, evalstats, mlstatkit, statgate
from benchmarks.peers_statistics import baycomp, importance, sacrebleu, scipy_bootstrap, statsmodels
from benchmarks.timing import Row, Unmeasured, at_least, duel


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    rounds = 2 if quick else 5
    for name, key, package, part in (
        ("evalstats", "peers.evalstats", "evalstats", evalstats),
        ("statgate", "peers.statgate", "statgate", statgate),
        ("errorbars", "peers.errorbars", "errorbars", errorbars),
        ("MLstatkit", "peers.mlstatkit", "MLstatkit", mlstatkit),
        ("SciPy", "peers.scipy-bootstrap", "scipy", scipy_bootstrap),
        ("statsmodels", "peers.statsmodels", "statsmodels", statsmodels),
        ("sacrebleu", "peers.sacrebleu", "sacrebleu", sacrebleu),
        ("baycomp", "peers.baycomp", "baycomp", baycomp),
        ("importance sampling", "peers.importance", "numpy", importance),
    ):
        if find_spec(package) is None:
            yield Unmeasured((key,), f"{name} is not installed (extra `bench`)")
            continue
        for what, ours, peer, how in part():
            fight = duel(ours, peer, rounds, repeats=3, loops=how.get("loops", 1), scale=how.get("scale", 1.0))
            yield at_least(None if how.get("inner") else key, f"{name}, {what}", fight, how.get("note", ""))
