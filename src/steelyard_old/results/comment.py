"""What became of the comment on a pull request."""

from __future__ import annotations

from steelyard_old.late_dataclass import dataclass
from steelyard_old.results.base import Result


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PostedComment(Result):
    """The comment on a pull request or merge request, and what was done.

    done: "created", "edited", "unchanged" or "outdated" (the pull request has a newer commit, so nothing was written); None if that
    was not looked up. dry_run: nothing was written, `done` is what would have been. removed: comments of ours beside the one that is
    kept. characters: of the body.
    """

    KIND = "comment"

    done: str | None
    dry_run: bool = False
    platform: str | None = None
    repository: str | None = None
    pull_request: int | None = None
    key: str
    comment_id: int | None = None
    url: str | None = None
    removed: int = 0
    characters: int
    body: str
    conclusion: str
