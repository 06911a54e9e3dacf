"""References: what is on record, and the two changes that a page can make of it, through the same code as the command."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from steelyard.errors import SteelyardError, UsageError
from steelyard.questions.record.from_history import UNKEPT, Proposal, mark_of, propose, record_past, refuse_other
from steelyard.questions.references.changes import approve_reference
from steelyard.questions.references.history import reference_history
from steelyard.questions.references.listing import list_references, show_reference
from steelyard.reference.changes import who
from steelyard.render.html.page import part_of
from steelyard.render.listing_cells import about, figure
from steelyard.web.pages import asked, asked_number, asked_spec, page, plain_link, refusal, spec_of
from steelyard.web.views import found_run, id_of, serving_of

PAGE = 100
SAID = {
    "approved": "Approved. The file and its history say so.",
    "recorded": "This run is the reference now.",
    "unkept": f"This run is the reference now, but {UNKEPT}.",
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
        raise UsageError("cannot show a reference", got="no task or no model", need="both")
    return task, model, asked_spec(request) or {}


def reference(request: Request) -> Response:
    """One reference, how it came about, and what an approval would change."""
    task, model, spec = _named(request)
    return _entry(request, task, model, spec, done=SAID.get(asked(request, "done") or "", ""))


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
        return refusal(request.scope, 403, "The token is required to change anything", "Sign in first.")
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
        got = "nothing" if not said else f"{len(said):,} letters"
        raise UsageError("cannot change a reference without a reason", got=got, need=f"why, in at most {LONGEST_REASON:,} letters")
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
        return refusal(request.scope, 403, "The token is required to change anything", "Sign in first.")
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
