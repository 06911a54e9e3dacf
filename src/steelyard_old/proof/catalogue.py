"""The list of everything we claim: which files declare claims, how some of them are picked, and which methods have none on purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module

from steelyard_old.errors import UsageError
from steelyard_old.proof.claims import KINDS, Claim

# In the order of the page. `paired` brings the claims of `paired_scores` and `paired_tables` along.
FAMILIES = (
    "coverage.proportions",
    "coverage.jaccard",
    "coverage.tables",
    "coverage.means",
    "coverage.cliffs",
    "coverage.grouped",
    "coverage.group_sizes",
    "coverage.class_in_groups",
    "coverage.label_differences_in_groups",
    "coverage.group_designs",
    "coverage.designs",
    "coverage.ranking",
    "coverage.few_positives",
    "coverage.bounds",
    "coverage.prior_sensitivity",
    "errors.beliefs",
    "coverage.paired",
    "coverage.unpaired",
    "errors.tests",
    "errors.tests_labels",
    "errors.tests_scores",
    "errors.repeated_items",
    "errors.unpaired_tests",
    "errors.guards",
    "errors.guards_relative",
    "errors.guards_runs",
    "errors.slices",
    "errors.guards_metrics",
    "errors.suites",
    "errors.whole_suites",
    "errors.stopping",
    "errors.stopping_ends",
    "errors.stopping_batches",
    "errors.stopping_tails",
    "errors.stopping_levels",
    "errors.stopping_answers",
    "errors.stopping_suites",
    "errors.stopping_candidates",
    "errors.drifts",
    "errors.bisections",
    "errors.watches",
    "errors.learners",
    "errors.plans",
    "coverage.widths",
    "coverage.textbook",
)

# Methods that the code offers and no claim is about, each with its reason; a test holds this list against the code.
ABSENT: dict[str, str] = {}


def every_claim() -> tuple[Claim, ...]:
    """All claims in the order of the families; two of one name would share their random numbers and are refused."""
    modules = [f"steelyard_old.proof.{family}" for family in FAMILIES]
    found = [replace(claim, module=module) for module in modules for claim in import_module(module).claims()]
    names = [claim.name for claim in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two claims are called {twice[0]!r}")
    odd = [claim.name for claim in found if claim.kind not in KINDS or not claim.quick or not claim.full]
    if odd:
        raise ValueError(f"{odd[0]!r} is of no known kind, or has an empty grid")
    return tuple(found)


def picked(name: str, only: Sequence[str]) -> bool:
    """Whether a name is asked for: by a part of it, or by a pattern with * or ? in it; nothing asked for means all.

    >>> picked("a proportion: coverage of wilson", ["wilson"]), picked("a proportion: coverage of wilson", ["a prop*wald"])
    (True, False)
    """
    name = name.lower()
    asked = [each.lower() for each in only]
    return not asked or any(fnmatchcase(name, each) if set("*?") & set(each) else each in name for each in asked)


def refuse_unknown(only: Sequence[str], names: Iterable[str]) -> None:
    """Each thing asked for must be there, so that a typing mistake does not certify nothing."""
    known = list(names)
    for each in only:
        if not any(picked(name, [each]) for name in known):
            raise UsageError(
                f"No claim matches only={each!r} ({len(known)} claims).",
                got=f"only={each!r}",
                need=f"a part of one of {len(known)} names",
                hint=f"a part of a name is enough, such as {known[len(known) // 2]!r}",
            )
