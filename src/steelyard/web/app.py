"""The application: which address leads to which page, how one signs in, and what is said when there is no page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from steelyard.errors import SteelyardError
from steelyard.web import actions as approving
from steelyard.web import planning
from steelyard.web import views as looking
from steelyard.web.pages import asked, page, refusal, statics
from steelyard.web.security import AccessCheck
from steelyard.web.sessions import Sessions, same_secret
from steelyard.web.settings import Serving

PAUSE = 0.5  # seconds that a wrong token costs
LOG = logging.getLogger("steelyard.web")
Answer = Callable[[Request], Response]


def make_app(serving: Serving) -> ASGIApp:
    """The dashboard as an ASGI application, behind its gate."""
    routes = [
        Route("/", _page(looking.overview)),
        Route("/runs", _page(looking.runs)),
        Route("/series", _page(looking.series)),
        Route("/drift", _page(looking.drift)),
        Route("/compare", _page(looking.compare)),
        Route("/plan", _page(planning.plan)),
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
            return page(request, "refused.html.j2", status=400, title="That cannot be answered", hint=said)
        except HTTPException:
            raise
        except Exception:
            LOG.exception("a page of %s could not be made", request.url.path)
            return refusal(request.scope, 500, "Something is wrong with this page", "The terminal of the server says more.")

    return made


async def _no_page(request: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    said = {404: "There is no such page", 405: "That is no way to ask"}.get(status, "That cannot be answered")
    return refusal(request.scope, status, said, "The overview leads to all of them.")


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
