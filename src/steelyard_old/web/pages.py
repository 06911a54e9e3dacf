"""Pages from templates: ours around the parts of the report, everything escaped, addresses built here and nowhere else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from steelyard_old.errors import UsageError
from steelyard_old.version import __version__
from steelyard_old.web.sessions import BrowserSession, Sessions
from steelyard_old.web.settings import Serving

if TYPE_CHECKING:
    import jinja2

LONGEST = 2_000  # letters of a parameter
NAV = (
    ("/", "Overview"),
    ("/runs", "Runs"),
    ("/nights", "Nights"),
    ("/references", "References"),
    ("/compare", "Compare"),
    ("/plan", "Plan"),
)


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
    """A page as an answer."""
    return HTMLResponse(_rendered(request.scope, template, context), status)


def refusal(scope: Scope, status: int, said: str, hint: str = "") -> Response:
    """A page that says why there is none. Nothing of the request is repeated on it."""
    return HTMLResponse(_rendered(scope, "refused.html.j2", {"title": said, "hint": hint, "status": status}), status)


def _rendered(scope: Scope, template: str, context: Mapping[str, Any]) -> str:
    state = scope["state"]
    session: BrowserSession = state["session"]
    sessions: Sessions = state["sessions"]
    serving: Serving = state["serving"]
    shared = {
        "known": session.known,
        "form_token": sessions.form_token(session),
        "place": serving.shown if session.known or serving.local else "",
        "nav": NAV,
        "path": scope["path"],
        "version": __version__,
        "statics": {name: f"/static/{name}?v={mark}" for name, (_, _, mark) in statics().items()},
    }
    return environment().get_template(template).render(**shared, **context)


@cache
def environment() -> jinja2.Environment:
    """The environment of the report, which escapes everything and shows what would deceive, with our templates before its own."""
    import jinja2

    from steelyard_old.render.html import page as report

    made = report.environment().overlay(loader=jinja2.ChoiceLoader([jinja2.FunctionLoader(_own), jinja2.FunctionLoader(report.file_text)]))
    made.filters = {**made.filters, "exact": _exact, "moment": lambda time: str(time)[:16].replace("T", " ")}
    made.globals = {**made.globals, "link": link}
    return made


def _own(name: str) -> str | None:
    try:
        return (files("steelyard_old.web") / "templates" / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _exact(value: object) -> Any:
    """A value for a field of a form: escaped, but otherwise to the letter, because it comes back."""
    from markupsafe import escape

    return escape(str(value))


def link(path: str, **asked: Any) -> Any:
    """An address with its parameters; those that are None are left out, a mapping is JSON.

    >>> str(link("/series", task="a&b", spec={"tp": "2"}, page=None))
    '/series?task=a%26b&amp;spec=%7B%22tp%22%3A%222%22%7D'
    """
    from markupsafe import escape

    return escape(plain_link(path, **asked))


def plain_link(path: str, **asked: Any) -> str:
    """The same, not for a page but for a header."""
    words = {
        name: json.dumps(value, sort_keys=True, separators=(",", ":")) if isinstance(value, Mapping) else str(value)
        for name, value in asked.items()
        if value is not None
    }
    return f"{path}?{urlencode(words, errors='replace')}" if words else path


def asked(request: Request, name: str, default: str | None = None) -> str | None:
    """A parameter of the address: once, not too long; empty is as if it were not there."""
    found = request.query_params.getlist(name)
    if len(found) > 1 or any(len(each) > LONGEST or "\0" in each for each in found):
        raise UsageError(f"The parameter {name} was given twice or is too long.", got="it twice, or far too long", need="one short value")
    return (found[0].strip() if found else "") or default


def asked_number(request: Request, name: str, default: int, *, most: int) -> int:
    """A whole number of the address, from 1."""
    found = asked(request, name)
    if found is None:
        return default
    if not (found.isascii() and found.isdecimal()) or len(found) > 9 or not 1 <= int(found) <= most:
        raise UsageError(f"{name} must be 1 to {most:,}, not {found[:40]!r}.", got=repr(found[:40]), need=f"1 to {most:,}")
    return int(found)


def asked_spec(request: Request, name: str = "spec") -> dict[str, str] | None:
    """A spec in the address, as JSON; None if there is none."""
    return spec_of(asked(request, name))


def spec_of(text: str | None) -> dict[str, str] | None:
    """The spec that a text says: {"quant_algo": "FP8"}."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str | int | float | bool) for value in found.values()):
        raise UsageError(
            'The spec must be a JSON object of plain values, as in {"key": "value"}.',
            got="no JSON object of plain values",
            need='{"key": "value"}',
        )
    return found


@cache
def statics() -> dict[str, tuple[str, str, str]]:
    """The files beside the pages: text, type, and a mark of the content, so that a browser may keep them for ever."""
    from steelyard_old.render.html.page import file_text

    own = files("steelyard_old.web") / "static"
    style = file_text("style.css") + file_text("page.css") + (own / "dashboard.css").read_text(encoding="utf-8")
    script = file_text("search.js") + (own / "charts.js").read_text(encoding="utf-8")
    texts = {"page.css": (style, "text/css"), "page.js": (script, "text/javascript")}
    texts["icon.svg"] = ((own / "icon.svg").read_text(encoding="utf-8"), "image/svg+xml")
    return {name: (text, kind, hashlib.sha256(text.encode()).hexdigest()[:12]) for name, (text, kind) in texts.items()}
