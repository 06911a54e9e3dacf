"""Pages to look at: the overview, the runs, one series, one run, two runs side by side, and drift."""

from __future__ import annotations

import re
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from steelyard_old.errors import DataError, SteelyardError, UsageError
from steelyard_old.history.overview import before, names_in, series_page
from steelyard_old.history.store import History
from steelyard_old.options.option import unknown_word
from steelyard_old.questions.history.chart import changed_items, chart_points, what_changed
from steelyard_old.questions.history.history import VERDICTS, compare_runs, list_runs
from steelyard_old.render.html.page import part_of
from steelyard_old.render.listing_cells import about, figure
from steelyard_old.render.page import CAP, PageExtras
from steelyard_old.results.comparison import ChangedItem
from steelyard_old.results.history import PastRun
from steelyard_old.web.chart import series_picture, small_picture
from steelyard_old.web.pages import asked, asked_number, asked_spec, page
from steelyard_old.web.settings import Serving

SERIES_PAGE, RUNS_PAGE, CHART_RUNS = 25, 50, 100
MOST_PAGES = 100_000
ID = re.compile(r"[0-9a-f]{32}")
FILTERS = ("task", "model", "metric", "verdict", "since", "until")


def serving_of(request: Request) -> Serving:
    found: Serving = request.state.serving
    return found


def _raw(svg: str) -> Any:
    from markupsafe import Markup

    return Markup(svg)  # noqa: S704  # drawn here, every word in it escaped


# ---- overview --------------------------------------------------------------------------------------------------------------


def overview(request: Request) -> Response:
    """All series, the one with the newest run first, each with its last verdict and a small picture."""
    number = asked_number(request, "page", 1, most=MOST_PAGES)
    wanted: dict[str, Any] = {name: asked(request, name) for name in ("task", "model", "verdict")}
    if wanted["verdict"] not in (None, *VERDICTS):
        raise unknown_word("verdict", wanted["verdict"], VERDICTS)
    with serving_of(request).opened() as history:
        lines, total = series_page(history, **wanted, limit=SERIES_PAGE, skip=(number - 1) * SERIES_PAGE)
        names: dict[str, Any] = {"tasks": names_in(history, "task"), "models": names_in(history, "model")}
    rows = [
        {
            "line": each,
            "name": about(each.model, each.spec),
            "value": short_figure(each.last.estimate),
            "judged": each.judged,
            "picture": _raw(small_picture(each.newest, f"{each.metric} of {about(each.model, each.spec)} on {each.task}, newest runs")),
        }
        for each in lines
    ]
    pages = max(1, -(-total // SERIES_PAGE))
    return page(
        request,
        "overview.html.j2",
        title="Overview",
        rows=rows,
        total=total,
        number=number,
        pages=pages,
        asked=wanted,
        verdicts=VERDICTS,
        **names,
    )


# ---- runs ------------------------------------------------------------------------------------------------------------------


def runs(request: Request) -> Response:
    """The runs, newest first, filtered and by pages."""
    wanted = {name: asked(request, name) for name in FILTERS}
    spec = asked_spec(request)
    with serving_of(request).opened() as history:
        found = list_runs(history, **wanted, spec=spec, limit=RUNS_PAGE, after=asked(request, "after"))
        names: dict[str, Any] = {"tasks": names_in(history, "task"), "models": names_in(history, "model")}
    return page(
        request, "runs.html.j2", title="Runs", found=found, asked={**wanted, "spec": spec}, verdicts=VERDICTS, cells=_cells, **names
    )


def short_figure(x: float | None) -> str:
    """A number of a table: four digits tell one run from the next."""
    return "-" if x is None else f"{x:.4g}"


def _cells(run: PastRun) -> dict[str, str]:
    """A run in words, for a row of a table."""
    return {
        "name": about(run.model, run.spec),
        "value": short_figure(run.estimate),
        "threshold": short_figure(run.threshold),
        "n": figure(run.n),
        "change": "-" if run.difference is None else f"{run.difference:+.4g}",
        "p": "-" if run.p_value is None else f"{run.p_value:.2g}",
    }


# ---- one series ------------------------------------------------------------------------------------------------------------


def _series_asked(request: Request) -> dict[str, Any]:
    found = {name: asked(request, name) for name in ("task", "model", "metric")}
    lacking = [name for name in ("task", "model") if found[name] is None]
    if lacking:
        raise UsageError(f"A series needs {' and '.join(lacking)}.", got=f"no {' and no '.join(lacking)}", need="a task and a model")
    return {**found, "spec": asked_spec(request) or {}}


def series(request: Request) -> Response:
    """The values of one task, model, spec and metric over time, and what changed between the runs."""
    wanted = _series_asked(request)
    when: dict[str, Any] = {name: asked(request, name) for name in ("since", "until")}
    with serving_of(request).opened() as history:
        found, following, total = history.runs(**wanted, **when, limit=CHART_RUNS, after=asked(request, "after"))
        if not found:
            raise DataError("This series has no runs.", got="no run like that", need="a series of the overview")
        older = before(history, found[-1])
    points = chart_points(found[::-1], older)
    metric = wanted["metric"] or found[0].metric
    title = f"{metric} of {about(wanted['model'], wanted['spec'])} on {wanted['task']}"
    return page(
        request,
        "series.html.j2",
        title=title,
        asked={**wanted, **when},
        points=points[::-1],
        picture=_raw(series_picture(points, title, metric)),
        total=total,
        next=following,
        cells=_cells,
        newest=found[0],
    )


def drift(request: Request) -> Response:
    """Whether a series has drifted."""
    from steelyard_old.questions.history.drift import drift as has_drifted

    wanted = _series_asked(request)
    with serving_of(request).opened() as history:
        answer = has_drifted(history, **wanted)
    return page(request, "part.page.html.j2", title="Drift", part=part_of(answer), back=("/series", wanted, "Back to the series"))


def nights(request: Request) -> Response:
    """The nights of a suite: the evidence over time with its alarm line, alarms, acknowledgements, and what is claimed."""
    from steelyard_old.estimate.past.nights import night_series
    from steelyard_old.questions.history.simulate import simulate_nights

    with serving_of(request).opened() as history:
        names = night_series(history)
        chosen = asked(request, "series", names[0] if len(names) == 1 else None)
        answer = None if chosen is None else simulate_nights(history, series=chosen, false_alarms=())
    return page(
        request,
        "nights.html.j2",
        title="Nights" if chosen is None else f"Nights of {chosen}",
        names=names,
        asked={"series": chosen},
        part=None if answer is None else part_of(answer),
    )


# ---- one run ---------------------------------------------------------------------------------------------------------------


def id_of(request: Request) -> str:
    """The id in the path. Anything else is no page."""
    found = str(request.path_params["id"])
    if not ID.fullmatch(found):
        raise HTTPException(404)
    return found


def found_run(history: History, request: Request) -> PastRun:
    """The run of the path, or no page."""
    try:
        return history.run(id_of(request))
    except DataError:
        raise HTTPException(404) from None


def run(request: Request) -> Response:
    """One run: where it came from, what changed since the one before, and its whole report."""
    with serving_of(request).opened() as history:
        this = found_run(history, request)
        older = before(history, this)
    part, fault = _report(this)
    changed = [] if older is None else what_changed(older, this)
    title = f"Run {this.id[:8]}: {about(this.model, this.spec)} on {this.task}"
    return page(
        request,
        "run.html.j2",
        title=title,
        run=this,
        part=part,
        fault=fault,
        before=older,
        changed=changed,
        cells=_cells(this),
        figure=figure,
    )


def _report(this: PastRun) -> tuple[Any, str]:
    """The report of a run as it was kept; a sentence instead, if it was not or cannot be read."""
    from steelyard_old.results.catalogue import result_of
    from steelyard_old.results.reading import MISMATCHED

    if this.result is None:
        return None, "The full report of this run was not stored."
    try:
        return part_of(result_of(this.result)), ""
    except (SteelyardError, *MISMATCHED):
        return None, "The report of this run was stored in a format that this version cannot show."


def run_report(request: Request) -> Response:
    """The report of a run as one file to keep or to pass on."""
    from steelyard_old.questions.report.report import report

    with serving_of(request).opened() as history:
        this = found_run(history, request)
    if this.result is None:
        raise HTTPException(404)
    named = {"content-disposition": f'attachment; filename="run-{this.id[:8]}.html"'}
    return HTMLResponse(report(dict(this.result)), headers=named)


# ---- two runs --------------------------------------------------------------------------------------------------------------


def compare(request: Request) -> Response:
    """Two runs item by item, or the form that asks which."""
    a, b = asked(request, "a"), asked(request, "b")
    if a is None or b is None:
        return page(request, "compare.html.j2", title="Compare two runs", asked={"a": a or "", "b": b or ""}, part=None)
    with serving_of(request).opened() as history:
        first, second = history.run(a), history.run(b)
        answer = compare_runs(first.id, second.id, history=history)
        flips = changed_items(history.items(first.id) or {}, history.items(second.id) or {})
    items = [ChangedItem(id=id_, change="lost" if now < then else "gained", baseline=then, candidate=now) for id_, then, now in flips[:CAP]]
    note = f"The first {CAP:,} of {len(flips):,} items." if len(flips) > CAP else f"All {len(flips):,} items."
    return page(
        request,
        "compare.html.j2",
        title="Two runs compared",
        asked={"a": first.id, "b": second.id},
        part=part_of(answer, PageExtras(densities={}, flips=(items, note))),
        runs=(first, second),
        changed=what_changed(first, second),
    )
