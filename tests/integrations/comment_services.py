"""Stand-ins for the two services on this machine: comments of GitHub and notes of GitLab, in the shapes that the real ones answer with.

A service keeps its comments, notes every request, and fails as it is told to: `script` is a list of functions that look at a request
before it is answered and may answer it themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "ghs_0123456789abcdefghij"
HEAD = "a" * 40


@dataclass
class Request:
    """What was asked. `hang_up` closes the connection without an answer."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    handler: Any
    hung_up: bool = False

    def answer(self, status: int, value: Any = None, headers: dict[str, str] | None = None) -> bool:
        data = b"" if value is None else json.dumps(value).encode()
        self.handler.send_response(status)
        for name, text in {"Content-Type": "application/json; charset=utf-8", **(headers or {})}.items():
            self.handler.send_header(name, text)
        if status not in (204, 304):
            self.handler.send_header("Content-Length", str(len(data)))
        self.handler.end_headers()
        if status not in (204, 304):
            self.handler.wfile.write(data)
        return True

    def hang_up(self) -> bool:
        self.handler.close_connection = True
        self.hung_up = True
        return True


Step = Callable[[Request], bool | None]


@dataclass
class Service:
    """Comments by number, who the token is, and what happened."""

    login: str = "github-actions[bot]"
    app: bool = True  # a token of an app may not ask /user
    page: int = 100
    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    script: list[Step] = field(default_factory=list)
    head: str = HEAD
    head_repository: str = "octo/model"
    head_branch: str = "better"
    url: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    numbers: int = 1000

    @property
    def writes(self) -> list[str]:
        return [
            f"{each.method} {each.path}" for each in self.asked if each.method not in ("GET", "HEAD") and not each.path.endswith("/graphql")
        ]

    @property
    def bodies(self) -> list[str]:
        return [each["body"] for each in self.comments]

    def add(self, body: str, login: str | None = None, **more: Any) -> dict[str, Any]:
        with self.lock:
            self.numbers += 1
            made = self.shape(self.numbers, body, login or self.login) | more
            self.comments.append(made)
            return made

    def shape(self, number: int, body: str, login: str) -> dict[str, Any]:
        raise NotImplementedError

    def reply(self, request: Request) -> bool:
        raise NotImplementedError

    def paged(self, request: Request, found: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int, int]:
        """A page of a list, its number and how many there are."""
        asked = parse_qs(urlsplit(request.path).query)
        size, number = min(int(asked["per_page"][0]), self.page), int(asked.get("page", ["1"])[0])
        return found[(number - 1) * size : number * size], number, -(-len(found) // size)

    def tagged(self, request: Request, value: Any, headers: dict[str, str]) -> bool:
        """An answer with an ETag, or 304 if that is what is known there."""
        tag = f'W/"{hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == tag:
            return request.answer(304, headers={"ETag": tag, **headers})
        return request.answer(200, value, {"ETag": tag, **headers})


class GitHub(Service):
    """The part of GitHub's REST API that comments need."""

    def shape(self, number: int, body: str, login: str) -> dict[str, Any]:
        bot = login.endswith("[bot]")
        return {
            "id": number,
            "node_id": f"IC_{number}",
            "url": f"{self.url}/repos/octo/model/issues/comments/{number}",
            "html_url": f"https://github.com/octo/model/pull/7#issuecomment-{number}",
            "issue_url": f"{self.url}/repos/octo/model/issues/7",
            "body": body,
            "user": {"login": login, "id": 41898282 if bot else 1, "type": "Bot" if bot else "User", "site_admin": False},
            "created_at": "2026-11-17T12:00:00Z",
            "updated_at": "2026-11-17T12:00:00Z",
            "author_association": "NONE" if bot else "CONTRIBUTOR",
            "performed_via_github_app": None,
        }

    def pull(self) -> dict[str, Any]:
        head = {"sha": self.head, "ref": self.head_branch, "repo": {"full_name": self.head_repository}}
        return {"number": 7, "state": "open", "html_url": "https://github.com/octo/model/pull/7", "head": head}

    def reply(self, request: Request) -> bool:
        path = urlsplit(request.path).path
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return request.answer(401, {"message": "Bad credentials", "status": "401"})
        if path == "/user":
            refused = {"message": "Resource not accessible by integration", "status": "403"}
            return request.answer(403, refused) if self.app else request.answer(200, {"login": self.login, "type": "User"})
        if path == "/graphql":
            return request.answer(200, {"data": {"viewer": {"login": self.login}}})
        if path == "/repos/octo/model/pulls/7":
            return request.answer(200, self.pull())
        if path == "/repos/octo/model/pulls":
            owner, branch = parse_qs(urlsplit(request.path).query)["head"][0].split(":", 1)
            here = owner == self.head_repository.split("/")[0] and branch == self.head_branch
            return request.answer(200, [self.pull()] if here else [])
        if path == "/repos/octo/model/issues/7/comments":
            return self._listed(request) if request.method == "GET" else self._created(request)
        found = re.fullmatch(r"/repos/octo/model/issues/comments/(\d+)", path)
        with self.lock:
            one = next((each for each in self.comments if found and each["id"] == int(found[1])), None)
            if one is None:
                return request.answer(404, {"message": "Not Found", "status": "404"})
            if request.method == "DELETE":
                self.comments.remove(one)
                return request.answer(204)
            one["body"] = request.body["body"]
            return request.answer(200, one)

    def _listed(self, request: Request) -> bool:
        with self.lock:
            found, number, last = self.paged(request, list(self.comments))
        links = {"next": number + 1, "last": last} if number < last else {}
        base = f"{self.url}/repos/octo/model/issues/7/comments?per_page=100&page="
        link = ", ".join(f'<{base}{page}>; rel="{name}"' for name, page in links.items())
        return self.tagged(request, found, {"Link": link} if link else {})

    def _created(self, request: Request) -> bool:
        if len(request.body["body"]) > 65536:
            said = {"message": "Validation Failed", "errors": [{"message": "body is too long (maximum is 65536 characters)"}]}
            return request.answer(422, said)
        return request.answer(201, self.add(request.body["body"]))


class GitLab(Service):
    """The part of GitLab's REST API that notes need."""

    def shape(self, number: int, body: str, login: str) -> dict[str, Any]:
        return {
            "id": number,
            "type": None,
            "body": body,
            "author": {"id": 5, "username": login, "name": login, "state": "active", "web_url": f"https://gitlab.com/{login}"},
            "created_at": "2026-11-17T12:00:00.000Z",
            "updated_at": "2026-11-17T12:00:00.000Z",
            "system": False,
            "noteable_id": 377,
            "noteable_type": "MergeRequest",
            "noteable_iid": 7,
            "resolvable": False,
            "confidential": False,
            "internal": False,
        }

    def reply(self, request: Request) -> bool:
        path = urlsplit(request.path).path.removeprefix("/api/v4")
        if request.headers.get("private-token") != TOKEN and request.headers.get("job-token") != TOKEN:
            return request.answer(401, {"message": "401 Unauthorized"})
        if path == "/user":
            if "job-token" in request.headers:
                return request.answer(401, {"message": "401 Unauthorized"})
            return request.answer(200, {"id": 5, "username": self.login, "bot": True})
        merge = "/projects/42/merge_requests/7"
        if path == merge:
            facts = {"iid": 7, "sha": self.head, "source_branch": "better", "source_project_id": 42}
            return request.answer(200, {**facts, "web_url": "https://gitlab.com/octo/model/-/merge_requests/7"})
        if path == f"{merge}/notes":
            if request.method == "POST":
                if "job-token" in request.headers:
                    return request.answer(403, {"message": "403 Forbidden"})
                return request.answer(201, self.add(request.body["body"].strip()))
            with self.lock:
                found, number, last = self.paged(request, list(self.comments))
            following = str(number + 1) if number < last else ""
            return self.tagged(request, found, {"X-Page": str(number), "X-Next-Page": following, "X-Per-Page": "100"})
        found_id = re.fullmatch(rf"{merge}/notes/(\d+)", path)
        with self.lock:
            one = next((each for each in self.comments if found_id and each["id"] == int(found_id[1])), None)
            if one is None:
                return request.answer(404, {"message": "404 Not found"})
            if request.method == "DELETE":
                self.comments.remove(one)
                return request.answer(204)
            assert request.method == "PUT"
            one["body"] = request.body["body"].strip()
            return request.answer(200, one)


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    """The service on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or a body waits 40 ms behind its headers

        def _any(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, json.loads(data) if data else None, self)
            with service.lock:
                service.asked.append(request)
                steps = list(service.script)
            if not any(step(request) for step in steps):
                service.reply(request)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _any

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    worker = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    worker.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        worker.join()


def once(step: Step, times: int = 1) -> Step:
    """A step that acts so many times and is then passed over."""
    left = [times]

    def act(request: Request) -> bool | None:
        if not left[0]:
            return None
        left[0] -= 1  # before it answers: whoever got the answer may be back at once, in another thread
        done = step(request)
        left[0] += not done
        return done

    return act
