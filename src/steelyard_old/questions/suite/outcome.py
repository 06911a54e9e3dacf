"""What the rows of a suite come to: its one word, what a pass leaves open, and its sentence."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.reference.config import TIERS
from steelyard_old.results.verdict import WORSENING, PooledSuite, SuiteRow, Verdict

COUNTED = ("pass", "regression", "inconclusive", "changed", "unconfirmed", "waived", "advisory")
UNCERTAIN = ("unconfirmed", "changed")  # worse, but not shown to be: a doubt where there is a theta


def outcome_of(rows: Sequence[SuiteRow], verdicts: Sequence[Verdict], whole: PooledSuite | None) -> str:
    """Regression beats inconclusive beats pass. A supporting guard can turn the suite red, but its doubt alone does not hold it up."""
    if any(row.counts_as == "regression" for row in rows) or _unnamed(whole):
        return "regression"
    together = whole is not None and whole.verdict == "unconfirmed"
    for row, verdict in zip(rows, verdicts, strict=True):
        unconfirmed = row.counts_as in UNCERTAIN or (together and row.counts_as == "pass")
        doubt = row.counts_as == "inconclusive" or (unconfirmed and verdict.theta is not None)
        if doubt and TIERS[str(row.tier)].holds:
            return "inconclusive"
    return "pass"


def _unnamed(whole: PooledSuite | None) -> bool:
    """Whether all tasks together are worse, and none of them can be named."""
    return whole is not None and whole.verdict == "regression" and not whole.named


def doubts(rows: Sequence[SuiteRow], verdicts: Sequence[Verdict]) -> list[str]:
    """What a pass of the suite leaves open."""
    out = [
        f"{row.task} {row.model} ({row.tier}) did not rule out a {WORSENING[verdict.higher_is_better]} of theta ({verdict.theta:g})"
        for row, verdict in zip(rows, verdicts, strict=True)
        if row.counts_as == "inconclusive" and not TIERS[str(row.tier)].holds and verdict.theta is not None
    ]
    if not any(TIERS[str(row.tier)].fails for row in rows):
        out.append("every guard is advisory: this suite cannot fail")
    return out


def conclusion_of(outcome: str, rows: Sequence[SuiteRow], whole: PooledSuite | None) -> str:
    def many(kind: str) -> int:
        return sum(row.counts_as == kind for row in rows)

    parts = [f"{many(kind)} {kind}" for kind in COUNTED if many(kind)]
    told = f"{len(rows)} guard{'' if len(rows) == 1 else 's'}: {', '.join(parts)}."
    decided = [f"{row.task} {row.model}" for row in rows if row.counts_as == outcome and TIERS[str(row.tier)].fails]
    if outcome == "regression" and not decided and whole is not None:
        waived = " (waived ones counted)" if whole.waived else ""
        least = f"at least {max(1, whole.at_least)} of {whole.m} tasks{waived}"
        return f"{told} Worse together: {least}, but no single one is significant after correction."
    if outcome == "pass" or not decided:
        return told
    shown = ", ".join(decided[:3]) + (f" and {len(decided) - 3} more" if len(decided) > 3 else "")
    return f"{told} {'Worse' if outcome == 'regression' else 'Undecided'}: {shown}."
