"""References: what is on record, and the two changes that a page can make of it, through the same code as the command."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.questions.record.from_history import UNKEPT, Proposal, mark_of, propose, record_past, refuse_other
from steelyard_old.questions.references.changes import approve_reference
from steelyard_old.questions.references.history import reference_history
from steelyard_old.questions.references.listing import list_references, show_reference
from steelyard_old.reference.changes import who
from steelyard_old.render.html.page import part_of
from steelyard_old.render.listing_cells import about, figure
from steelyard_old.web.pages import asked, asked_number, asked_spec, page, plain_link, refusal, spec_of
from steelyard_old.web.sessions import HOURS, BrowserSession, Sessions
from steelyard_old.web.settings import Serving
from steelyard_old.web.views import found_run, id_of, serving_of

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
            return refusal(scope, 421, "Unknown host name", "Open the address that the server printed when it started.")
        if scope["method"] not in (*READING, *WRITING):
            return refusal(scope, 405, "Method not allowed", "These pages take GET, HEAD and POST.")
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
            return refusal(scope, 403, "This form was not sent from this server", "Open the page on this server and submit its form.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
            return refusal(scope, 415, "This is not a form", "Forms have the content type application/x-www-form-urlencoded.")
        body = await _body(receive)
        if body is None:
            return refusal(scope, 413, "This form is too long", f"At most {LARGEST_FORM:,} bytes are accepted.")
        fields = _fields(body)
        if fields is None:
            return refusal(scope, 400, "This form cannot be read", "Submit it again from its page.")
        if session.fresh or not self.sessions.is_form_token(session, fields.pop("form_token", "")):
            return refusal(scope, 403, "This form is out of date", "Go back, reload the page and submit it again.")
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


PAGE = 100
MESSAGES = {
    "approved": "Approved. The approval is stored in the file and its history.",
    "recorded": "This run is now the reference.",
    "unkept": f"This run is now the reference, but {UNKEPT}.",
}
LONGEST_REASON = 1_000


def references(request: Request) -> Response:
    """What is on record, task by task."""
    serving = serving_of(request)
    task, number = asked(request, "task"), asked_number(request, "page", 1, most=10_000)
    found = list_references(task, directory=serving.directory, config=serving.config)
    rows = found.rows[(number - 1) * PAGE : number * PAGE]
    context: dict[str, Any] = {
        "title": "References",
        "found": found,
        "rows": rows,
        "asked": {"task": task},
        "figure": figure,
        "about": about,
    }
    return page(request, "references.html.j2", number=number, pages=max(1, -(-len(found.rows) // PAGE)), **context)


def _named(request: Request) -> tuple[str, str, dict[str, str]]:
    task, model = asked(request, "task"), asked(request, "model")
    if task is None or model is None:
        raise UsageError("A reference has a task and a model; one of them is missing.", got="no task or no model", need="both")
    return task, model, asked_spec(request) or {}


def reference(request: Request) -> Response:
    """One reference, how it came about, and what an approval would change."""
    task, model, spec = _named(request)
    return _entry(request, task, model, spec, done=MESSAGES.get(asked(request, "done") or "", ""))


def _entry(
    request: Request, task: str, model: str, spec: dict[str, Any], *, done: str = "", fault: str = "", reason: str = "", status: int = 200
) -> Response:
    serving = serving_of(request)
    where: dict[str, Any] = {"directory": serving.directory, "config": serving.config}
    shown = show_reference(task, model, spec, **where)
    try:
        story = part_of(reference_history(task, model, dict(shown.spec), **where))
    except SteelyardError:
        story = None  # the entry stands; what went before it cannot be told
    now = (shown.entry or {}).get("approved")
    return page(
        request,
        "reference.html.j2",
        status=status,
        title=f"Reference of {about(model, shown.spec)} on {task}",
        task=task,
        model=model,
        spec=dict(shown.spec),
        shown=shown,
        part=part_of(shown),
        story=story,
        seen=mark_of(shown.entry),
        approved=now,
        here=plain_link("/reference", task=task, model=model, spec=dict(shown.spec) or None),
        rows=[("approved", now or "none", f"now, by {who()}")],
        done=done,
        fault=fault,
        reason=reason,
    )


def approve(request: Request) -> Response:
    """Approve a reference, if it still is the one that was shown."""
    if not request.state.session.known:
        return refusal(request.scope, 403, "The token is required for changes", "Sign in first.")
    form, serving = request.state.form, serving_of(request)
    task, model, spec = form.get("task", ""), form.get("model", ""), spec_of(form.get("spec")) or {}
    where: dict[str, Any] = {"directory": serving.directory, "config": serving.config}
    reason = form.get("reason", "")
    try:
        shown = show_reference(task, model, spec, **where)
        refuse_other(form.get("seen", ""), shown.entry, model)
        approve_reference(task, model, dict(shown.spec), reason=_reason(reason), **where)
    except SteelyardError as mistake:
        return _entry(request, task, model, spec, fault=str(mistake), reason=reason, status=400)
    return RedirectResponse(plain_link("/reference", task=task, model=model, spec=spec, done="approved"), 303)


def _reason(text: str) -> str:
    """A reason on one line, not empty, not endless."""
    said = " ".join(text.split())
    if not said or len(said) > LONGEST_REASON:
        got = "nothing" if not said else f"{len(said):,} characters"
        raise UsageError(
            f"Changing a reference needs a reason of at most {LONGEST_REASON:,} characters.",
            got=got,
            need=f"a reason of at most {LONGEST_REASON:,} characters",
        )
    return said


# ---- a run becomes the reference -------------------------------------------------------------------------------------------


def proposal(request: Request) -> Response:
    """What would change if a run became the reference, and the form that asks why."""
    serving = serving_of(request)
    with serving.opened() as history:
        this = found_run(history, request)
        found = propose(history, this.id, directory=serving.directory, config=serving.config)
    return _proposed(request, found)


def _proposed(request: Request, found: Proposal, *, fault: str = "", reason: str = "", status: int = 200) -> Response:
    title = f"Make run {found.run.id[:8]} the reference?"
    return page(request, "proposal.html.j2", status=status, title=title, found=found, about=about, fault=fault, reason=reason)


def record(request: Request) -> Response:
    """Put a run on record, if the reference still is what was shown."""
    if not request.state.session.known:
        return refusal(request.scope, 403, "The token is required for changes", "Sign in first.")
    form, serving = request.state.form, serving_of(request)
    where: dict[str, Any] = {"directory": serving.directory, "config": serving.config}
    reason = form.get("reason", "")
    with serving.opened() as history:
        this = found_run(history, request)
        try:
            done = record_past(history, id_of(request), reason=_reason(reason), seen=form.get("seen", ""), **where)
        except SteelyardError as mistake:
            return _proposed(request, propose(history, this.id, **where), fault=str(mistake), reason=reason, status=400)
    unkept = any(warning.startswith(UNKEPT) for warning in done.warnings)
    return RedirectResponse(
        plain_link("/reference", task=this.task, model=this.model, spec=this.spec, done="unkept" if unkept else "recorded"), 303
    )
