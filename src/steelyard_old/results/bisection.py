"""Which commit made it worse: what was asked at which commit, how probable each is, and the items that prove it."""

from __future__ import annotations

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import Result, ResultPart, json_name


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectedCommit(ResultPart):
    """One commit of the range. place: 0 is the good end. right of asked: on the items that changed. mean of runs: of whole runs.

    probability: that it is the first bad one, None at the good end. skipped: why it could not be judged, None if it was or was not asked.
    """

    commit: str
    subject: str
    place: int
    probability: float | None
    right: int | None = None
    asked: int = 0
    runs: int = 0
    mean: float | None = None
    skipped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCommit(ResultPart):
    """Whether one commit is like the good end or like the bad one: for `git bisect run`, which chooses the commits.

    answer: "good", "bad", or "undecided", where it cannot be told from either end or its command failed.
    """

    commit: str
    answer: str
    conclusion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectedItem(ResultPart):
    """One item of the evidence: how often it was right, of the times it was asked, before the named commit and from it on."""

    id: str
    right_before: int
    asked_before: int
    right_after: int
    asked_after: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Bisect(Result):
    """The search for the first bad commit.

    named: the commit, or the commits one of which it is if some between cannot be judged; empty if none is probable enough.
    suspects: the smallest set of commits that holds 1 - delta of the posterior, the most probable first.
    commits: those that were asked, skipped or are suspects, in their order. method: "telling items" (those that changed) or "whole runs".
    noise: deviation of the mean of one whole run. calls: answers asked for now; reused: answers of earlier searches; whole_calls: what
    git bisect would ask on all items.
    """

    KIND = "bisect"

    good: str
    bad: str
    n_commits: int
    named: tuple[str, ...]
    probability: float | None
    suspects: tuple[str, ...]
    commits: tuple[BisectedCommit, ...]
    method: str
    why: str
    n_items: int
    n_changed: int = json_name("n_telling")
    changed_items: tuple[BisectedItem, ...] = json_name("telling")
    noise: float | None
    delta: float
    calls: int
    reused: int
    whole_calls: int
    conclusion: str

    @property
    def exit_code(self) -> int:
        """0 if a commit is named, 2 if not."""
        return 0 if self.named else 2
