"""Two systems on the same items: which items match, what stands in the way, and what to do about it.

The report is a set of counts with examples; an engine may fill it without handing out rows. The decision is here, so
that it is the same whoever counted: unmatched ids and conflicting truths are errors unless the user says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.errors import DataError
from steelyard.tally.spelling import SPELLINGS, alike_between, visible

ENOUGH_OVERLAP = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """How the two sides of a pairing are spoken of. may_differ: they could also be compared as different items."""

    baseline: str = "baseline"
    candidate: str = "candidate"
    verb: str = "compares"
    may_differ: bool = True
    identical: str = "the two systems {}: identical answers, or one run compared with itself"

    def unless(self, first: str, otherwise: str) -> str:
        """A hint, with what else could be done where the items may differ."""
        return first + otherwise if self.may_differ else first


TWO_SYSTEMS = Sides()


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingReport:
    """How two sets of ids meet. Examples are a few ids each, for the message; ids that look alike are counted over all of them."""

    matched: int
    baseline_only: int = 0
    candidate_only: int = 0
    conflicting_truths: int = 0
    example_baseline_only: tuple[str, ...] = ()
    example_candidate_only: tuple[str, ...] = ()
    example_conflicts: tuple[str, ...] = ()
    alike: tuple[int, tuple[str, str]] | None = None  # ids without a partner that look like one of the other side, and a pair

    @property
    def unmatched(self) -> int:
        return self.baseline_only + self.candidate_only

    def to_dict(self) -> dict[str, int]:
        return {"matched": self.matched, "baseline_only": self.baseline_only, "candidate_only": self.candidate_only}


def _alike(report: PairingReport) -> tuple[int, tuple[str, str]] | None:
    """How many ids without a partner look like one of the other side; from the examples, where nobody saw them all."""
    return report.alike or alike_between(report.example_baseline_only, report.example_candidate_only)


def _almost(report: PairingReport) -> str:
    """How ids that do not match would match. Only said, never done: two items may differ by a space."""
    pair = () if report.alike is None else report.alike[1]
    ours, theirs = (*report.example_baseline_only, *pair[:1]), (*report.example_candidate_only, *pair[1:])
    for said, spell in SPELLINGS:
        if {spell(one) for one in ours} & {spell(one) for one in theirs}:
            return f"the ids differ only {said}"
    return ""


def settle_pairing(report: PairingReport, unmatched: str, sides: Sides = TWO_SYSTEMS) -> list[str]:
    """What was done about a pairing, in sentences; or an error with counts, an example and the option that decides."""
    if report.conflicting_truths:
        raise DataError(
            "cannot pair the items",
            got=f"{report.conflicting_truths} id(s) with different truths, such as {_shown(report.example_conflicts)}",
            need="one truth per id",
            hint="the two runs were made on different data; "
            + sides.unless("correct one of them", ", or compare as different items with design='unpaired'"),
        )
    if report.matched == 0:
        raise DataError(
            "cannot pair the items",
            got=f"no id in common ({report.baseline_only} in the {sides.baseline}, such as {_shown(report.example_baseline_only)}; "
            f"{report.candidate_only} in the {sides.candidate}, such as {_shown(report.example_candidate_only)}){_look(report)}",
            need="the same ids in both",
            hint=_almost(report) or sides.unless("name the id column with id=", ", or compare as different items with design='unpaired'"),
        )
    if not report.unmatched:
        return []
    where = [
        f"{many} only in the {name}, such as {_shown(example)}"
        for name, many, example in (
            (sides.baseline, report.baseline_only, report.example_baseline_only),
            (sides.candidate, report.candidate_only, report.example_candidate_only),
        )
        if many
    ]
    if unmatched == "error":
        raise DataError(
            "cannot pair all items",
            got=f"{report.matched} ids in both, {' and '.join(where)}{_look(report)}",
            need="the same ids in both",
            hint=(f"{almost}; " if (almost := _almost(report)) else "")
            + sides.unless(f"unmatched='drop' {sides.verb} on the ids in both", "; design='unpaired' treats the runs as different items"),
        )
    total = report.matched + max(report.baseline_only, report.candidate_only)
    many = "1 item without a partner was" if report.unmatched == 1 else f"{report.unmatched} items without a partner were"
    said = [f"{many} left out (--unmatched drop): {' and '.join(where)}{_look(report)}"]
    if report.matched < ENOUGH_OVERLAP * total:
        share = report.matched / total
        said.append(f"only {share:.0%} of the items were compared: if items went missing for a reason, the comparison is biased by it")
    return said


def _look(report: PairingReport) -> str:
    """Ids without a partner that look like one of the other side, so that one can see the difference."""
    found = _alike(report)
    if found is None:
        return ""
    count, (one, other) = found
    return f"; {count} of them only differ by case, blanks or Unicode form, such as {visible(one)} and {visible(other)}"


def _shown(examples: Sequence[str]) -> str:
    return ", ".join(map(repr, examples[:3])) if examples else "(none)"
