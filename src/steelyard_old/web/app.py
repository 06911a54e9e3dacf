"""The application: which address leads to which page, how one signs in, and what is said when there is no page."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from steelyard_old.errors import SourceError, SteelyardError, UsageError
from steelyard_old.render.html.page import part_of
from steelyard_old.web import actions as approving
from steelyard_old.web import views as looking
from steelyard_old.web.actions import AccessCheck
from steelyard_old.web.pages import asked, page, refusal, statics
from steelyard_old.web.sessions import Sessions, same_secret
from steelyard_old.web.settings import Serving

GRACE = 3  # seconds for answers that are on their way


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there, or advice."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as fault:
        raise UsageError(
            f"Cannot listen at {host!r}: {fault.strerror or fault}.", got=str(fault.strerror or fault), need="an address of this machine"
        ) from None
    made = socket.socket(family, kind)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except OSError as fault:
        made.close()
        if fault.errno == errno.EADDRINUSE:
            raise SourceError(
                f"Port {port} of {host} is in use.", got="a port that is in use", need="a free one", hint="port=0 takes any that is free"
            ) from None
        raise SourceError(
            f"Cannot listen at {host}:{port}: {fault.strerror or fault}.",
            got=str(fault.strerror or fault),
            need="an address of this machine",
        ) from None
    made.set_inheritable(False)
    return made


def address_of(found: socket.socket) -> str:
    """The address of a page on this socket."""
    host, port = found.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(serving: Serving, found: socket.socket, *, ready: Callable[[], None] = lambda: None) -> None:
    """Answer until Ctrl-C. `ready` is called when the first page could be asked for."""
    app = make_app(replace(serving, port=found.getsockname()[1]))
    settings = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=GRACE,
    )
    server = uvicorn.Server(settings)
    ready()
    try:
        server.run(sockets=[found])
    except KeyboardInterrupt:  # uvicorn passes the signal on when it has closed everything
        pass
    finally:
        found.close()


FIELDS = (
    ("theta", "Drop that matters (theta)", "0.01 is one percentage point"),
    ("n", "Items (n)", "leave empty to compute how many are needed"),
    ("discordance", "Items that differ when the drop is real (discordance)", "same items, right or wrong; 0.04 is 4%"),
    ("churn", "Items that differ between two healthy runs (churn)", "instead of discordance"),
    ("sigma", "Standard deviation of one score (sigma)", "two separate samples; 0.5 is the worst case for right or wrong"),
    ("sd", "Standard deviation of the differences (sd)", "same items, scores"),
    ("alpha", "False-alarm rate (alpha)", "default 0.05"),
    ("beta", "Miss rate (beta)", "default 0.2"),
    ("available", "Items available", "says whether they are enough for the drop"),
)
WHOLE = ("n", "available")
LARGEST = 10_000_000  # items: beyond it an exact answer takes longer than a page may


def plan(request: Request) -> Response:
    """The form, and the answer to what it asks."""
    given = {name: asked(request, name) for name, _, _ in FIELDS}
    goal = asked(request, "goal", "detect")
    part, fault = None, ""
    if any(given.values()):
        try:
            part = part_of(_planned(given, goal))
        except SteelyardError as mistake:
            fault = str(mistake)
    context = {"title": "Plan", "fields": FIELDS, "asked": given, "goal": goal, "part": part, "fault": fault}
    return page(request, "plan.html.j2", status=400 if fault else 200, **context)


def _planned(given: dict[str, str | None], goal: str | None) -> Any:
    from steelyard_old.questions.plan.detect import plan_detect

    numbers = {name: _number(name, text) for name, text in given.items() if text is not None}
    return plan_detect(**numbers, goal=goal or "detect")


def _number(name: str, text: str) -> Any:
    try:
        found = float(text.replace(",", "")) if name in WHOLE else float(text)
    except ValueError:
        raise UsageError(f"cannot use {name}", got=repr(text[:40]), need="a number") from None
    if name not in WHOLE:
        return found
    if not found.is_integer() or not 0 < found <= LARGEST:
        raise UsageError(f"cannot use {name}", got=repr(text[:40]), need=f"a whole number, 1 to {LARGEST:,}")
    return int(found)


PAUSE = 0.5  # seconds that a wrong token costs
LOG = logging.getLogger("steelyard_old.web")
Answer = Callable[[Request], Response]


def make_app(serving: Serving) -> ASGIApp:
    """The dashboard as an ASGI application, behind its gate."""
    routes = [
        Route("/", _page(looking.overview)),
        Route("/runs", _page(looking.runs)),
        Route("/series", _page(looking.series)),
        Route("/drift", _page(looking.drift)),
        Route("/nights", _page(looking.nights)),
        Route("/compare", _page(looking.compare)),
        Route("/plan", _page(plan)),
        Route("/references", _page(approving.references)),
        Route("/reference", _page(approving.reference)),
        Route("/reference/approve", _page(approving.approve), methods=["POST"]),
        Route("/runs/{id}", _page(looking.run)),
        Route("/runs/{id}/report", _page(looking.run_report)),
        Route("/runs/{id}/record", _page(approving.proposal), methods=["GET"]),
        Route("/runs/{id}/record", _page(approving.record), methods=["POST"]),
        Route("/sign-in", sign_in, methods=["GET", "POST"]),
        Route("/sign-out", sign_out, methods=["POST"]),
        Route("/static/{name}", static),
        Route("/favicon.ico", lambda request: RedirectResponse("/static/icon.svg")),
    ]
    return AccessCheck(
        Starlette(routes=routes, exception_handlers={HTTPException: _no_page}), serving, Sessions(serving.secret, serving.port)
    )


def _page(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """A page made in a thread of its own. What cannot be answered is a page too, and never shows how it failed."""

    async def made(request: Request) -> Response:
        try:
            return await run_in_threadpool(answer, request)
        except SteelyardError as mistake:
            said = str(mistake)
            return page(request, "refused.html.j2", status=400, title="This page cannot be shown", hint=said)
        except HTTPException:
            raise
        except Exception:
            LOG.exception("a page of %s could not be made", request.url.path)
            return refusal(request.scope, 500, "This page failed", "The server's terminal shows the error.")

    return made


async def _no_page(request: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    said = {404: "Page not found", 405: "Method not allowed"}.get(status, "This page cannot be shown")
    return refusal(request.scope, status, said, "Start from the overview.")


async def sign_in(request: Request) -> Response:
    """Ask for the token; with the right one, a new session that may change things."""
    serving: Serving = request.state.serving
    if request.method != "POST":
        try:
            wanted = _local_path(asked(request, "next"))
        except SteelyardError:
            wanted = "/"
        return page(request, "sign_in.html.j2", title="Sign in", next=wanted, wrong=False)
    form = request.state.form
    wanted = _local_path(form.get("next"))
    if not same_secret(form.get("token", "").strip(), serving.token):
        await asyncio.sleep(PAUSE)
        return page(request, "sign_in.html.j2", status=403, title="Sign in", next=wanted, wrong=True)
    request.state.sessions.end(request.state.session)
    request.scope["state"]["session"] = request.state.sessions.begun(known=True)
    return RedirectResponse(wanted, 303)


async def sign_out(request: Request) -> Response:
    """End the session."""
    request.state.sessions.end(request.state.session)
    request.scope["state"]["session"] = request.state.sessions.begun()
    return RedirectResponse("/", 303)


def _local_path(wanted: str | None) -> str:
    """A path of this server; anything that a browser could take for another place is the overview.

    >>> _local_path("/runs?page=2"), _local_path("//evil.example"), _local_path("/\\\\evil.example")
    ('/runs?page=2', '/', '/')
    """
    plain = wanted is not None and wanted.startswith("/") and not wanted.startswith("//") and "\\" not in wanted
    return wanted if wanted is not None and plain and wanted.isascii() and wanted.isprintable() else "/"


async def static(request: Request) -> Response:
    """The style, the script and the icon; nothing is looked up on a disk."""
    found = statics().get(str(request.path_params["name"]))
    if found is None:
        raise HTTPException(404)
    text, kind, _ = found
    return Response(text, media_type=kind)
