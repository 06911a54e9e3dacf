"""The pages about references and about the history of runs: lists, findings, changes, drift."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.render.history import (
    FLAKY_HEADS,
    FLAKY_NUMBERS,
    RUN_HEADS,
    RUN_NUMBERS,
    SERIES_HEADS,
    SERIES_NUMBERS,
    _flaky_cells,
    _headword,
    _run_cells,
    _series_cells,
    drift_facts,
)
from steelyard.render.html.pieces import NoteList, PageSection, PageTable, Part, Picture, capped, joined
from steelyard.render.listing_cells import (
    LIST_HEADS,
    LIST_NUMBERS,
    RULE_HEADS,
    STORY_HEADS,
    STORY_NUMBERS,
    about,
    by_task,
    changed_cells,
    figure,
    gate_facts,
    held_lines,
    list_cells,
    story_cells,
    story_sum,
)
from steelyard.render.pictures.plane import Line, Plane, plane_of
from steelyard.render.verdict_facts import spec_text
from steelyard.results.history import Drift, RunList
from steelyard.results.references import Lint, Listing, ProjectInit, ReferenceChange, ReferenceDetail, ReferenceHistory

TONES = {True: "regression", False: "plain", None: "inconclusive"}  # no drift shown is no proof of none


def listing_part(r: Listing) -> Part:
    """The references, a table for each task."""
    found = [
        PageSection(
            title=task,
            blocks=[
                capped(f"References of {task}, {rows[0]['file']}", LIST_HEADS, [list_cells(row) for row in rows], numbers=LIST_NUMBERS)
            ],
        )
        for task, rows in by_task(r).items()
    ]
    return Part(word="references", about=r.directory, lead=r.conclusion, sections=found, warnings=r.warnings, signature=r.signature)


def shown_part(r: ReferenceDetail) -> Part:
    """One reference in full."""
    entry = [[key, spec_text(value) if isinstance(value, Mapping) else figure(value)] for key, value in (r.entry or {}).items()]
    rule = [[str(number["name"]), figure(number["value"]), str(number["source"])] for number in r.rule]
    return Part(
        word="reference",
        about=f"{r.task}, {about(r.model, r.spec)}",
        lead=r.conclusion,
        sections=joined(
            PageSection(title="The entry", blocks=[capped(f"{r.file}, line {r.line}", ["key", "value"], entry)] if entry else []),
            PageSection(
                title="The rule", blocks=[capped("The rule and where it comes from", RULE_HEADS, rule, numbers=(1,))] if rule else []
            ),
            PageSection(title="What it finds", blocks=[NoteList(pairs=gate_facts(r))]) if r.gate is not None else None,
            PageSection(title="Why this one", blocks=[NoteList(pairs=held_lines(r))]) if r.held else None,
        ),
        warnings=r.warnings,
        signature=r.signature,
    )


def lint_part(r: Lint) -> Part:
    """What is wrong with the references, the file and line first."""
    rows = [
        [
            each.level,
            f"{each.file}{'' if each.line is None else f':{each.line}'}",
            "" if each.model is None else about(each.model, each.spec),
            each.sentence,
        ]
        for each in r.findings
    ]
    table = capped("Findings", ["level", "where", "model", "what"], rows)
    return Part(
        word="lint",
        about=r.directory,
        tone="pass" if r.exit_code == 0 else "regression",
        lead=r.conclusion,
        sections=[PageSection(title="Findings", blocks=[table])] if rows else [],
        warnings=r.warnings,
        signature=r.signature,
    )


def story_part(r: ReferenceHistory) -> Part:
    """How references came about."""
    sections = []
    for series in r.series:
        rows = [story_cells(change) for change in series["changes"]]
        name = about(series["model"], series["spec"])
        notes = NoteList(pairs=[("in all", story_sum(series))])
        sections.append(
            PageSection(
                title=name, blocks=[*([capped(f"Changes of {name}", STORY_HEADS, rows, numbers=STORY_NUMBERS)] if rows else []), notes]
            )
        )
    return Part(
        word="history",
        about=r.task,
        lead=r.conclusion,
        sections=sections,
        warnings=r.warnings,
        methods=[("file", r.file)],
        signature=r.signature,
    )


def changed_part(r: ReferenceChange) -> Part:
    """What was done to references."""
    heads, rows = changed_cells(r)
    table = capped("What was changed", heads, rows, numbers=(2, 3, 4) if r.action == "import" else (2,))
    return Part(
        word=r.action,
        about=r.directory,
        lead=r.conclusion,
        sections=[PageSection(title="What was changed", blocks=[table])] if rows else [],
        warnings=r.warnings,
        methods=[("reason", r.reason)] if r.reason else [],
        signature=r.signature,
    )


def started_part(r: ProjectInit) -> Part:
    """What `init` wrote."""
    files = [[path, "written"] for path in r.written] + [[path, "left as it is"] for path in r.kept]
    return Part(
        word="started",
        about="references",
        lead=r.conclusion,
        command=[line.split(" ") for line in r.next],
        sections=joined(
            PageSection(title="Files", blocks=[PageTable(caption="Files", heads=["file", "what"], rows=files)] if files else [])
        ),
        warnings=r.warnings,
        signature=r.signature,
    )


# ---- the history of runs ---------------------------------------------------------------------------------------------


def history_part(r: RunList) -> Part:
    """Runs, newest first."""
    rows = [_run_cells(run) for run in r.runs]
    return Part(
        word="history",
        about=r.place,
        lead=r.conclusion,
        sections=[PageSection(title="Runs", blocks=[capped("Runs, newest first", RUN_HEADS, rows, numbers=RUN_NUMBERS)])] if rows else [],
        warnings=r.warnings,
        signature=r.signature,
    )


def drift_plane(r: Drift) -> Plane | None:
    """The estimate run by run, with the first reference as its level."""
    places = [(float(i), float(row["estimate"])) for i, row in enumerate(r.runs, 1) if row.get("estimate") is not None]
    if not places:
        return None
    level = None if r.reference is None else r.reference.get("value")
    return plane_of(
        f"{r.metric}, run by run",
        "run",
        r.metric,
        [Line(name=r.metric, places=places, dots=len(places) <= 200)],
        goal=level,
        goal_name="first reference",
    )


def drift_part(r: Drift) -> Part:
    """How a series of runs has moved."""
    drawing = drift_plane(r)
    table = capped("The runs, oldest first", SERIES_HEADS, _series_cells(r), numbers=SERIES_NUMBERS, folded="The runs") if r.runs else None
    flaky = _flaky_cells(r)
    return Part(
        word=_headword(r).lower(),
        about=f"{r.task}, {about(r.model, r.spec)}, {r.metric}",
        tone=TONES[r.drifting],
        lead=r.conclusion,
        sections=joined(
            PageSection(title="Run by run", blocks=[Picture(drawing=drawing, table=table)]) if drawing is not None else None,
            PageSection(title="What was found", blocks=[NoteList(pairs=drift_facts(r))]) if drift_facts(r) else None,
            PageSection(
                title="Items that waver",
                blocks=[capped("Items whose outcome differs between runs", FLAKY_HEADS, flaky, numbers=FLAKY_NUMBERS)] if flaky else [],
            ),
        ),
        warnings=r.warnings,
        signature=r.signature,
    )
