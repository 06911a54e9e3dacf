"""Items whose outcome changes from run to run though nothing else does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard_old.infer.normal import wilson

MOST = 100  # items that are listed; the counts are of all


def flaky_items(runs: Sequence[Mapping[str, float]], confidence_level: float = 0.95) -> dict[str, Any]:
    """Which items had another outcome than their usual one, in how many runs, and how often they switched from run to run.

    The usual outcome is the commonest (of two equally common, the larger). An item that switched once is `changed`: it went
    over and stayed. One that switched twice or more is `flaky`: nothing but chance differs between runs of one series. The share of
    other outcomes has the interval of Wilson1927.

    >>> found = flaky_items([{"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 0.0}])
    >>> [(item["id"], item["kind"], item["flips"]) for item in found["listed"]]
    [('a', 'flaky', 1), ('b', 'changed', 1)]
    """
    ids = sorted(set().union(*runs)) if runs else []
    listed: list[dict[str, Any]] = []
    flaky, changed, shares = 0, 0, []
    for id_ in ids:
        seen = np.array([run[id_] for run in runs if id_ in run])
        if len(seen) < 2 or (seen == seen[0]).all():
            shares.append(0.0)
            continue
        values, counts = np.unique(seen, return_counts=True)
        usual = float(values[len(counts) - 1 - int(np.argmax(counts[::-1]))])
        odd, switches = int((seen != usual).sum()), int((np.diff(seen) != 0).sum())
        kind = "changed" if switches == 1 else "flaky"
        flaky, changed = flaky + (kind == "flaky"), changed + (kind == "changed")
        low, high = wilson(odd, len(seen), confidence_level)
        shares.append(odd / len(seen))
        row = {"id": id_, "kind": kind, "runs": len(seen), "flips": odd, "share": odd / len(seen), "low": low, "high": high}
        listed.append({**row, "switches": switches, "usual": usual, "last": float(seen[-1])})
    listed.sort(key=lambda row: (row["kind"] != "flaky", -row["share"], -row["switches"], row["id"]))
    return {
        "runs": len(runs),
        "items": len(ids),
        "flaky": flaky,
        "changed": changed,
        "share": float(np.mean(shares)) if shares else None,
        "confidence_level": confidence_level,
        "listed": listed[:MOST],
    }
