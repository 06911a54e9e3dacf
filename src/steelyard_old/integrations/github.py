"""The comments of a pull request on GitHub, and which pull request a run of a workflow was for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from steelyard_old.evaluate.models.address import Secret
from steelyard_old.integrations.comments import FoundComment, PullRequestHead
from steelyard_old.integrations.rest import Refused, RestClient, Unanswered

LIMIT = 65_536  # characters of a comment
VERSION = "2022-11-28"


def github_headers(token: str) -> dict[str, str]:
    """What every request carries."""
    return {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION, "Authorization": Secret(f"Bearer {token}")}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRun:
    """The run that a `workflow_run` event is about: which commit of which branch of which repository, and what had started it."""

    commit: str
    branch: str
    repository: str
    event: str


class GitHubComments:
    """The conversation of one pull request. `client` is used for nothing else."""

    def __init__(self, client: RestClient, repository: str, number: int) -> None:
        self.client, self.repository, self.number = client, repository, number
        self._login: str | None = None
        self._asked = False

    def comments(self) -> list[FoundComment]:
        """All comments, page by page."""
        path = f"/repos/{self.repository}/issues/{self.number}/comments?per_page=100"
        return [self._comment(each) for page in self.client.pages(path) for each in self._listed(page)]

    def is_ours(self, comment: FoundComment) -> bool:
        """Written by the user of the token; by some bot, where GitHub does not say who that is."""
        login = self.login()
        return comment.bot if login is None else comment.author.lower() == login.lower()

    def create(self, body: str) -> FoundComment:
        """A new comment; `Unanswered` if nobody knows whether it was written."""
        made = self._comment(self.client.change("POST", f"/repos/{self.repository}/issues/{self.number}/comments", {"body": body}).value)
        self._login, self._asked = made.author or self._login, self._asked or bool(made.author)  # so this is who we are
        return made

    def edit(self, comment: FoundComment, body: str) -> FoundComment:
        """The comment with another body."""
        return self._comment(self.client.change("PATCH", f"/repos/{self.repository}/issues/comments/{comment.id}", {"body": body}).value)

    def delete(self, comment: FoundComment) -> None:
        """Take a comment away."""
        self.client.change("DELETE", f"/repos/{self.repository}/issues/comments/{comment.id}")

    def head(self) -> PullRequestHead:
        """Where the pull request stands now."""
        return self._head(self.client.get(f"/repos/{self.repository}/pulls/{self.number}").value)

    def login(self) -> str | None:
        """Who the token writes as. A token of an app, such as the GITHUB_TOKEN of a workflow, may ask only GraphQL."""
        if not self._asked:
            self._asked = True
            try:
                self._login = _text(self.client.get("/user").value, "login")
            except Refused as fault:
                if fault.status == 401:
                    raise
                self._login = self._viewer()
        return self._login

    def _viewer(self) -> str | None:
        base = self.client.address.path.removesuffix("/v3")  # GitHub Enterprise has /api/v3 and /api/graphql
        try:
            found = self.client.change("POST", "/graphql", {"query": "query { viewer { login } }"}, base=base).value
        except (Refused, Unanswered):
            return None
        data = found.get("data") if isinstance(found, dict) else None
        return _text(data.get("viewer"), "login") if isinstance(data, dict) else None

    def _listed(self, page: Any) -> list[Any]:
        if not isinstance(page, list):
            raise self.client.unexpected_answer("no list of comments")
        return page

    def _comment(self, found: Any) -> FoundComment:
        number = found.get("id") if isinstance(found, dict) else None
        if not isinstance(number, int):
            raise self.client.unexpected_answer("a comment without an id")
        user = found.get("user")
        kind = user.get("type") if isinstance(user, dict) else None
        return FoundComment(
            id=number, body=_text(found, "body") or "", author=_text(user, "login") or "", bot=kind == "Bot", url=_text(found, "html_url")
        )

    def _head(self, found: Any) -> PullRequestHead:
        head = found.get("head") if isinstance(found, dict) else None
        commit = _text(head, "sha")
        if not isinstance(head, Mapping) or not commit:
            raise self.client.unexpected_answer("a pull request without its last commit")
        return PullRequestHead(
            commit=commit,
            branch=_text(head, "ref") or "",
            repository=_text(head.get("repo"), "full_name") or "",
            url=_text(found, "html_url") or "",
        )


def pull_requests_of(client: RestClient, repository: str, run: WorkflowRun) -> list[tuple[int, str]]:
    """The open pull requests of the branch that a run was for, each with its last commit: GitHub names none in the event of a fork."""
    owner = run.repository.partition("/")[0]
    path = f"/repos/{repository}/pulls?state=open&per_page=100&head={quote(f'{owner}:{run.branch}', safe=':')}"
    found = client.get(path).value
    if not isinstance(found, list):
        raise client.unexpected_answer("no list of pull requests")
    out = []
    for each in found:
        head = each.get("head") if isinstance(each, dict) else None
        here = isinstance(head, dict) and (_text(head.get("repo"), "full_name") or "").lower() == run.repository.lower()
        if here and isinstance(each.get("number"), int):
            out.append((each["number"], _text(head, "sha") or ""))
    return out


def _text(found: Any, name: str) -> str | None:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, str) else None
