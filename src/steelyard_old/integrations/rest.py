"""One JSON API over HTTP, with a token: pages of a list, ETags, rate limits, retries. The token goes to one host and nowhere else.

A redirect is followed only to the same scheme, host and port. What makes a new thing each time (POST) is sent once: if no answer
came, the caller has to look whether it is there (`Unanswered`).
"""

from __future__ import annotations

import json
import math
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from steelyard_old.errors import SourceError, UsageError
from steelyard_old.evaluate.models.address import is_loopback, shown
from steelyard_old.evaluate.models.endpoint import RetryPolicy, asked_to_wait
from steelyard_old.evaluate.models.http_client import HttpClient, Timeouts
from steelyard_old.evaluate.models.response import Reply, TransportError
from steelyard_old.redaction import redact, redact_bytes
from steelyard_old.version import __version__

ATTEMPTS = 4  # of a request that the server fails, or that is lost on the way
PATIENCE = 120.0  # seconds that we wait for a rate limit, all together
PAGES = 1000  # of a list; more is a server that never ends
HOPS = 3  # redirects in a row
LARGEST = 32 << 20  # bytes of an answer
REDIRECTS = (301, 302, 307, 308)
WORDS = 300  # characters of what a server said that are passed on
_LIMIT = re.compile(r"\brate limit|\babuse detection", re.IGNORECASE)
_NEXT = re.compile(r'<([^<>]*)>\s*;[^<]*\brel="?next"?', re.IGNORECASE)


class Refused(Exception):
    """The server said no: a status from 400 to 499 that no waiting would change. words: what it said, in one line."""

    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words
        super().__init__(f"{status}: {words}")


class Unanswered(Exception):
    """A request was sent, and nobody knows whether it was carried out."""


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """What the server said, and its headers by their names in small letters."""

    value: Any
    headers: Mapping[str, str]


def api_address(url: str) -> SplitResult:
    """The address of an API: https, or http on this machine; no user, password or query in it."""
    need, hint = "https://HOST/PATH, without user and password", "api_url='https://api.github.com'"
    try:
        found = urlsplit(url.strip())
        port = found.port
    except ValueError as fault:
        raise UsageError(
            f"The address of the API must be {need}; its host or port is not valid.",
            got="a host or port that is not valid",
            need=need,
            hint=hint,
        ) from fault
    strange = not url.strip().isascii() or any(each.isspace() or not each.isprintable() for each in url.strip())
    if found.scheme not in ("http", "https") or not found.hostname or port == 0 or strange or "@" in found.netloc or found.query:
        raise UsageError(
            f"The address of the API must be {need}, not {redact(shown(found))!r}.", got=repr(redact(shown(found))), need=need, hint=hint
        )
    if found.scheme == "http" and not is_loopback(found.hostname):
        raise UsageError(
            f"The token is sent over https:// only, not to {shown(found)!r}.",
            got=repr(shown(found)),
            need="an address that begins with https://",
        )
    return found._replace(path=found.path.rstrip("/"), fragment="")


class RestClient:
    """An API at one address. service: what people call it. `sleep` and `now` are there for tests."""

    def __init__(
        self,
        api_url: str,
        headers: Mapping[str, str],
        *,
        service: str,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.address, self.service, self._sleep, self._now = api_address(api_url), service, sleep, now
        self._http = HttpClient(api_url.strip(), timeouts=Timeouts(connect=10.0, read=30.0, total=90.0), limit=LARGEST)
        self._headers = {"User-Agent": f"steelyard/{__version__}", **headers}
        self._policy = RetryPolicy(attempts=ATTEMPTS, first=0.5, longest=8.0)
        self._left = PATIENCE
        self._seen: dict[str, tuple[str, RestAnswer]] = {}  # path -> ETag and answer, so that what did not change is not sent again

    @property
    def header_names(self) -> frozenset[str]:
        """Which headers go with every request; not what is in them."""
        return frozenset(self._headers)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str) -> RestAnswer:
        """What is at a path. If it is as it was when it was read before, the server need not send it again."""
        tag, before = self._seen.get(path, ("", None))
        reply = self._asked("GET", path, None, {"If-None-Match": tag} if tag else {})
        if reply.status == 304 and before is not None:
            return before
        answer = self._read(reply)
        if reply.headers.get("etag"):
            self._seen[path] = reply.headers["etag"], answer
        return answer

    def pages(self, path: str) -> Iterator[Any]:
        """Every page of a list: the path, and wherever its answers say that it goes on."""
        walked: set[str] = set()
        step: str | None = path
        while step is not None:
            if step in walked or len(walked) >= PAGES:
                raise SourceError(f"The list of comments of {self.service} has no end.", got=f"{len(walked):,} pages", need="a last page")
            walked.add(step)
            answer = self.get(step)
            yield answer.value
            step = self._next(step, answer.headers)

    def change(self, method: str, path: str, fields: Mapping[str, Any] | None = None, *, base: str | None = None) -> RestAnswer:
        """PATCH, PUT or DELETE, which may be sent again; POST, which is sent once: Unanswered if nobody knows what became of it.

        base: the path of another API on this host that `path` is below.
        """
        return self._read(self._asked(method, path, fields, {}, base))

    # ---- one request -----------------------------------------------------------------------------------------------

    def _asked(
        self, method: str, path: str, fields: Mapping[str, Any] | None, headers: Mapping[str, str], base: str | None = None
    ) -> Reply:
        body = b"" if fields is None else json.dumps(fields, ensure_ascii=True).encode()
        given = {**self._headers, **({"Content-Type": "application/json"} if body else {}), **headers}
        failed = limited = 0
        while True:
            lost: TransportError | None = None
            reply: Reply | None = None
            try:
                reply = self._followed(method, (self.address.path if base is None else base) + path, body, given)
            except TransportError as fault:
                lost = fault
            if reply is not None and reply.status < 500:
                wait = self._limited(reply, limited)
                if wait is None:
                    return reply
                limited += 1
                self._wait_for_limit(wait)
                continue
            sent = reply is not None or (lost is not None and not lost.connecting)
            if method == "POST" and sent:
                raise Unanswered(self._trouble(reply, lost))
            failed += 1
            if failed >= ATTEMPTS or (lost is not None and lost.reason in ("tls", "size", "encoding")):
                raise SourceError(
                    f"No answer from {self.service} at {shown(self.address)}: {self._trouble(reply, lost)}.",
                    got=self._trouble(reply, lost),
                    need="an answer",
                )
            asked = None if reply is None else asked_to_wait(reply.headers, self._now(), longest=30.0)
            luck = random.random()  # noqa: S311
            self._sleep(self._policy.wait(failed, luck, asked))

    def _followed(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """The answer, after redirects on the same host: a renamed repository has another path."""
        for _ in range(HOPS + 1):
            reply = self._http.send(target, body, headers, method=method, fresh=method == "POST")
            if reply.status not in REDIRECTS:
                return Reply(reply.status, reply.headers, redact_bytes(reply.body))
            target = self._on_this_host(reply.headers.get("location", ""), target)
        raise SourceError(f"{self.service} redirects too many times.", got=f"{HOPS + 1} redirects", need="an answer")

    def _on_this_host(self, location: str, target: str) -> str:
        """The path that an address leads to; refused if it is on another host, which must not get the token."""
        here = f"{self.address.scheme}://{self.address.netloc}"
        try:
            there = urlsplit(urljoin(here + target, location))
            same = (there.scheme, there.hostname, _port(there)) == (self.address.scheme, self.address.hostname, _port(self.address))
        except ValueError:
            same = False
        if not same or not location or "@" in there.netloc:
            raise SourceError(
                f"{self.service} redirects to another host, and the token is not sent there.",
                got=redact(repr(location[:200])),
                need=here,
                hint="if the API has moved there, name it with api_url=",
            )
        return there.path + (f"?{there.query}" if there.query else "")

    def _next(self, path: str, headers: Mapping[str, str]) -> str | None:
        """The next page of a list: GitLab numbers it, both name it in a Link."""
        if "x-next-page" in headers:
            number = headers["x-next-page"].strip()
            if not number:
                return None
            if not number.isascii() or not number.isdecimal():
                raise SourceError(
                    f"{self.service} names a next page of comments that is not a number: {number[:40]!r}.",
                    got=f"next page {number[:40]!r}",
                    need="a number",
                )
            return f"{path.partition('&page=')[0]}&page={int(number)}"
        found = _NEXT.search(headers.get("link", ""))
        if found is None:
            return None
        return self._on_this_host(found[1], self.address.path + path).removeprefix(self.address.path)

    def _read(self, reply: Reply) -> RestAnswer:
        if reply.status >= 400:
            raise Refused(reply.status, error_message(reply.body))
        if reply.status == 204 or not reply.body.strip():
            return RestAnswer(None, reply.headers)
        try:
            return RestAnswer(json.loads(reply.body.decode("utf-8")), reply.headers)
        except (ValueError, RecursionError) as fault:
            raise self.unexpected_answer("an answer that is not JSON") from fault

    def unexpected_answer(self, got: str) -> SourceError:
        """An answer that is not what this API gives."""
        hint = "is this the address of the API, and not of the pages for people?"
        return SourceError(
            f"{self.service} at {shown(self.address)} answers in a form that its API does not have: {got}.",
            got=got,
            need="its documented JSON",
            hint=hint,
        )

    # ---- waiting ---------------------------------------------------------------------------------------------------

    def _limited(self, reply: Reply, before: int) -> float | None:
        """Seconds until a rate limit ends; None if the answer is about something else. before: how often this request met one already.

        GitHub's secondary limits are a 403 that only its words tell from a missing right: no Retry-After, and requests left.
        """
        headers = reply.headers
        asked = asked_to_wait(headers, self._now(), longest=math.inf)
        left = headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining", "")).strip()
        if reply.status != 429 and not (
            reply.status == 403 and (asked is not None or left == "0" or _LIMIT.search(error_message(reply.body)))
        ):
            return None
        if asked is not None:
            return asked
        unsaid = math.ldexp(60.0, before)  # what GitHub asks for where it does not say: a minute, then longer
        try:
            # The time of the reset is that of the limit of all requests: it says nothing while some of them are left.
            reset = float(headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", ""))) if left in ("", "0") else math.nan
        except ValueError:
            return unsaid
        return max(reset - self._now(), 0.0) + 1.0 if math.isfinite(reset) else unsaid

    def _wait_for_limit(self, seconds: float) -> None:
        seconds = max(seconds, 1.0)  # a server that asks for none must not be asked for ever
        if seconds > self._left:
            raise SourceError(
                f"{self.service} rate-limits this token for another {_duration(seconds)}.",
                got=f"a wait of {seconds:.0f} s",
                need=f"at most {PATIENCE:.0f} s in all",
                hint="run this step again after that, or use a token of its own",
            )
        self._left -= seconds
        self._sleep(seconds)

    def _trouble(self, reply: Reply | None, lost: TransportError | None) -> str:
        if reply is not None:
            words = error_message(reply.body)
            return f"status {reply.status}{f' ({words})' if words else ''}"
        return redact(lost.words) if lost is not None else "no answer"


def _port(url: SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _duration(seconds: float) -> str:
    """A wait as one says it.

    >>> _duration(1.0), _duration(90), _duration(3601)
    ('1 second', '90 seconds', '61 minutes')
    """
    if seconds >= 120:
        return f"{math.ceil(seconds / 60):,} minutes"
    return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"


def error_message(body: bytes) -> str:
    """What a server says is wrong, in one line: `message` or `error` of its JSON with its `errors`, nothing of a page of HTML.

    >>> error_message(b'{"message": "Not Found", "status": "404"}'), error_message(b"<html>")
    ('Not Found', '')
    >>> error_message(b'{"message": {"body": ["is too long"]}}')
    'body is too long'
    >>> error_message(b'{"message": "Validation Failed", "errors": [{"code": "custom", "message": "Body is too long"}, "no"]}')
    'Validation Failed: Body is too long; no'
    """
    try:
        found = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, dict):
        return ""
    said = _flat(found.get("message") or found.get("error_description") or found.get("error"))
    errors = found["errors"] if isinstance(found.get("errors"), list) else []
    more = "; ".join(filter(None, (_flat(each.get("message") or each) if isinstance(each, dict) else _flat(each) for each in errors[:5])))
    return " ".join(": ".join(filter(None, (said, more))).split())[:WORDS]


def _flat(said: Any, depth: int = 3) -> str:
    if isinstance(said, str):
        return said
    if isinstance(said, dict) and depth:
        return ", ".join(f"{key} {_flat(value, depth - 1)}" for key, value in list(said.items())[:5])
    return " ".join(_flat(each, depth - 1) for each in said[:5]) if isinstance(said, list) and depth else ""
