"""The gate before every page: whose Host, whose Origin, which session, which form token; and the headers on every answer."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steelyard.web.pages import refusal
from steelyard.web.sessions import HOURS, BrowserSession, Sessions
from steelyard.web.settings import Serving

HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not no-referrer: with that, browsers send forms with `Origin: null`, which is what a stranger's sandbox sends as well.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
READING, WRITING = ("GET", "HEAD"), ("POST",)
LARGEST_FORM = 65_536
MOST_FIELDS = 50
OPEN = ("/sign-in", "/static/")  # what a stranger may see even where a token is required


class AccessCheck:
    """Lets in what is meant for this server and refuses the rest, in words that tell nothing."""

    def __init__(self, app: ASGIApp, serving: Serving, sessions: Sessions) -> None:
        self.app, self.serving, self.sessions = app, serving, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        session = self._session(Headers(scope=scope))
        scope.setdefault("state", {}).update(session=session, sessions=self.sessions, serving=self.serving, form={})

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._sign(scope, MutableHeaders(scope=message))
            await send(message)

        refused = self._refused(scope)
        if refused is None and scope["method"] in WRITING:
            refused = await self._form(scope, receive, session)
        await (refused or self.app)(scope, receive, answered)

    def _session(self, headers: Headers) -> BrowserSession:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.sessions.cookie)
        except CookieError:
            found = None
        return self.sessions.read(None if found is None else found.value)

    def _sign(self, scope: Scope, headers: MutableHeaders) -> None:
        """The headers of every answer, and the cookie of a session that has just begun."""
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        still = scope["path"].startswith("/static/")
        headers.setdefault("cache-control", "public, max-age=31536000, immutable" if still else "no-store")
        session: BrowserSession = scope["state"]["session"]
        if session.fresh and not still:
            value = self.sessions.written(session)
            headers.append("set-cookie", f"{self.sessions.cookie}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={HOURS * 3600}")

    def _refused(self, scope: Scope) -> Response | None:
        """What is refused before anybody looks at it."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.serving.knows(hosts[0]):
            return refusal(scope, 421, "This server does not answer to that name", "Open the address that it printed when it started.")
        if scope["method"] not in (*READING, *WRITING):
            return refusal(scope, 405, "That is no way to ask", "Pages are read, and forms are sent.")
        path: str = scope["path"]
        if not self.serving.local and not scope["state"]["session"].known and not path.startswith(OPEN):
            if scope["method"] in WRITING:
                return refusal(scope, 403, "The token is required", "Sign in first.")
            asked = path + ("?" + scope["query_string"].decode("latin-1") if scope["query_string"] else "")
            return RedirectResponse(f"/sign-in?next={quote(asked, safe='')}", 303)
        return None

    async def _form(self, scope: Scope, receive: Receive, session: BrowserSession) -> Response | None:
        """Read a form, if it is one of ours: sent from a page of this server, in this session."""
        headers = Headers(scope=scope)
        origin, host = headers.get("origin"), headers["host"]
        if origin not in (f"http://{host}", f"https://{host}") or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return refusal(scope, 403, "That form was not sent from here", "Open the page on this server and send its form.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            return refusal(scope, 415, "That is no form", "Forms of these pages are sent as application/x-www-form-urlencoded.")
        body = await _body(receive)
        if body is None:
            return refusal(scope, 413, "That form is too long", f"{LARGEST_FORM:,} bytes are the most.")
        fields = _fields(body)
        if fields is None:
            return refusal(scope, 400, "That form cannot be read", "Send it again from its page.")
        if session.fresh or not self.sessions.is_form_token(session, fields.pop("form_token", "")):
            return refusal(scope, 403, "That form is out of date", "Go back, load the page again, and send it then.")
        scope["state"]["form"] = fields
        return None


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too long, or if the other side has gone."""
    found = bytearray()
    while True:
        message: Any = await receive()
        if message["type"] != "http.request":
            return None
        found += message.get("body", b"")
        if len(found) > LARGEST_FORM:
            return None
        if not message.get("more_body"):
            return bytes(found)


def _fields(body: bytes) -> dict[str, str] | None:
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=MOST_FIELDS, errors="strict"
        )
    except (ValueError, UnicodeError):
        return None
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else None  # the same field twice means two things
