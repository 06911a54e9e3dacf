"""The comments (notes) of a merge request on GitLab."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from steelyard_old.errors import UsageError
from steelyard_old.evaluate.models.address import Secret
from steelyard_old.integrations.comments import FoundComment, PullRequestHead
from steelyard_old.integrations.rest import Refused, RestClient

LIMIT = 1_000_000  # characters of a note
JOB_TOKEN = "CI_JOB_TOKEN"  # noqa: S105  # the name of a variable
_COMMAND = re.compile(r"^(\s*)/(?=\w)")
_FENCE = re.compile(r"^`{3,}")


def gitlab_headers(token: str, name: str) -> dict[str, str]:
    """What every request carries. name: the variable that the token came from."""
    return {"Accept": "application/json", "JOB-TOKEN" if name == JOB_TOKEN else "PRIVATE-TOKEN": Secret(token)}


def without_quick_actions(body: str) -> str:
    """A text in which no line is a command to GitLab: a line such as `/approve` would be obeyed with the rights of the token.

    >>> without_quick_actions("/merge now")
    '&#47;merge now'
    """
    out, fence = [], ""
    for line in body.split("\n"):
        if fence:
            fence = "" if line == fence else fence
            out.append(line)  # code is not obeyed
            continue
        opened = _FENCE.match(line)
        fence = opened[0] if opened else ""
        out.append(_COMMAND.sub(r"\1&#47;", line))
    return "\n".join(out)


class GitLabNotes:
    """The conversation of one merge request. login: who the token writes as, where GitLab does not say it."""

    def __init__(self, client: RestClient, project: str, number: int, login: str | None = None) -> None:
        self.client, self.number = client, number
        self._path = f"/projects/{quote(project, safe='')}/merge_requests/{number}"
        self._login, self._asked, self._page = login, login is not None, ""

    def comments(self) -> list[FoundComment]:
        """All notes of people and programs, page by page."""
        path = f"{self._path}/notes?sort=asc&order_by=created_at&per_page=100"
        return [
            self._note(each)
            for page in self.client.pages(path)
            for each in self._listed(page)
            if isinstance(each, dict) and not each.get("system")
        ]

    def is_ours(self, comment: FoundComment) -> bool:
        """Written by the user of the token. Where nobody says who that is, it is not guessed."""
        if not self._asked:
            self._asked = True
            try:
                found = self.client.get("/user").value
                self._login = found.get("username") if isinstance(found, dict) else None
            except Refused as fault:
                if fault.status == 401 and "PRIVATE-TOKEN" in self.client.header_names:
                    raise
        if self._login is None:
            raise UsageError(
                "The token has no user, so it cannot be told which comment is ours; put a project access token in GITLAB_TOKEN.",
                got="a token that has no user",
                need="a project access token in GITLAB_TOKEN",
            )
        return comment.author.lower() == self._login.lower()

    def create(self, body: str) -> FoundComment:
        """A new note; `Unanswered` if nobody knows whether it was written."""
        made = self._note(self.client.change("POST", f"{self._path}/notes", {"body": body}).value)
        self._login, self._asked = made.author or self._login, self._asked or bool(made.author)  # so this is who we are
        return made

    def edit(self, comment: FoundComment, body: str) -> FoundComment:
        """The note with another body."""
        return self._note(self.client.change("PUT", f"{self._path}/notes/{comment.id}", {"body": body}).value)

    def delete(self, comment: FoundComment) -> None:
        """Take a note away."""
        self.client.change("DELETE", f"{self._path}/notes/{comment.id}")

    def head(self) -> PullRequestHead:
        """Where the merge request stands now."""
        found = self.client.get(self._path).value
        commit = found.get("sha") if isinstance(found, dict) else None
        if not isinstance(commit, str) or not commit:
            raise self.client.unexpected_answer("a merge request without its last commit")
        self._page = found["web_url"] if isinstance(found.get("web_url"), str) else ""
        source = found.get("source_project_id")
        return PullRequestHead(commit=commit, branch=str(found.get("source_branch") or ""), repository=str(source or ""), url=self._page)

    def _listed(self, page: Any) -> list[Any]:
        if not isinstance(page, list):
            raise self.client.unexpected_answer("no list of notes")
        return page

    def _note(self, found: Any) -> FoundComment:
        number = found.get("id") if isinstance(found, dict) else None
        if not isinstance(number, int):
            raise self.client.unexpected_answer("a note without an id")
        author, body = found.get("author"), found.get("body")
        name = author.get("username") if isinstance(author, dict) else None
        return FoundComment(
            id=number,
            body=body if isinstance(body, str) else "",
            author=name if isinstance(name, str) else "",
            url=f"{self._page}#note_{number}" if self._page else None,
        )
