"""One comment of ours on a pull request: found by its mark and its author, written once, edited from then on.

The mark is the first line of the comment and does not show: `<!-- steelyard:KEY -->`. Somebody who quotes it has it further down, or
is somebody else; such a comment is never touched. Two runs at once may both find none and write one each: so we look again after
writing, keep the oldest and take the others away. Whoever looks last finds one, and nobody removes the oldest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from steelyard_old.errors import SourceError
from steelyard_old.integrations.rest import Refused, Unanswered

ROUNDS = 4  # of looking and writing, before it is an error


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundComment:
    """A comment as the service has it. bot: written by a program, where the service says so. url: None if it is not known."""

    id: int
    body: str
    author: str
    bot: bool = False
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestHead:
    """Where a pull request stands: its last commit, branch and the repository of the branch. url: its page."""

    commit: str
    branch: str
    repository: str
    url: str


class Conversation(Protocol):
    """The comments of one pull request or merge request. What the service refuses is raised as `Refused`."""

    def comments(self) -> list[FoundComment]: ...

    def is_ours(self, comment: FoundComment) -> bool: ...

    def create(self, body: str) -> FoundComment: ...

    def edit(self, comment: FoundComment, body: str) -> FoundComment: ...

    def delete(self, comment: FoundComment) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenComment:
    """What was done: created, edited or unchanged; how many more of ours were taken away, and what could not be."""

    done: str
    comment: FoundComment | None
    removed: int = 0
    warnings: tuple[str, ...] = ()


def mark_of(key: str) -> str:
    """The hidden first line of the comment of a key."""
    return f"<!-- steelyard:{key} -->"


def bears(comment: FoundComment, mark: str) -> bool:
    """Whether the mark is the first line of a comment."""
    return comment.body.lstrip("\ufeff").partition("\n")[0].rstrip() == mark


def find_ours(there: Conversation, mark: str) -> list[FoundComment]:
    """Our comments with this mark, the oldest first."""
    return sorted((each for each in there.comments() if bears(each, mark) and there.is_ours(each)), key=lambda each: each.id)


def plan_comment(there: Conversation, mark: str, body: str) -> WrittenComment:
    """What `write_comment` would do now, without doing it."""
    ours = find_ours(there, mark)
    if not ours:
        return WrittenComment(done="created", comment=None)
    return WrittenComment(done="unchanged" if same(ours[0].body, body) else "edited", comment=ours[0], removed=len(ours) - 1)


def write_comment(there: Conversation, mark: str, body: str, *, sleep: Callable[[float], object] = time.sleep) -> WrittenComment:
    """Write the comment or edit the one that is there. Afterwards there is exactly one, with this body."""
    created: FoundComment | None = None
    trouble = ""
    for round_ in range(ROUNDS):
        ours = find_ours(there, mark)
        if created is not None and all(each.id != created.id for each in ours):
            ours = [*ours, created]  # the list may lag behind what was written
        if not ours:
            try:
                created = there.create(body)
            except Unanswered as fault:  # perhaps it was written: look again before writing once more
                trouble = str(fault)
                sleep(2.0**round_ / 2)
                continue
            ours = sorted({each.id: each for each in (*find_ours(there, mark), created)}.values(), key=lambda each: each.id)
        settled = _settle(there, ours, body, created)
        if settled is not None:
            return settled
        created, trouble = None, "the comment was deleted while it was edited"
        sleep(2.0**round_ / 2)
    raise SourceError(
        f"The comment may not have been written: {trouble}.",
        got=trouble,
        need="an answer that it is there",
        hint="run this step again: it writes one",
    )


def same(one: str, other: str) -> bool:
    """Whether two bodies are the same, however the service keeps line ends and what is blank at the end."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def _settle(there: Conversation, ours: Sequence[FoundComment], body: str, created: FoundComment | None) -> WrittenComment | None:
    """The oldest with the body, first; then the others taken away. None if the oldest is gone meanwhile."""
    kept, *more = ours
    done = "created" if created is not None and kept.id == created.id else "unchanged"
    if not same(kept.body, body):
        try:
            kept, done = there.edit(kept, body), "edited"
        except Refused as fault:
            if fault.status not in (404, 410):
                raise
            return None
    warnings = tuple(said for each in more if (said := _take_away(there, each, kept)) is not None)
    return WrittenComment(done=done, comment=kept, removed=len(more) - len(warnings), warnings=warnings)


def _take_away(there: Conversation, comment: FoundComment, kept: FoundComment) -> str | None:
    """Delete a comment of ours, or blank it where that is not allowed; a sentence if neither worked."""
    try:
        there.delete(comment)
    except Refused as fault:
        if fault.status in (404, 410):
            return None  # another run was faster
        try:
            there.edit(comment, f"Replaced by {kept.url or 'an earlier comment'}.")
        except Refused:
            return f"a second comment ({comment.id}) could not be deleted ({fault}); delete it by hand"
    return None
