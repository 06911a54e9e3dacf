"""The pages of the history: runs newest first, and how a series has drifted."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard_old.render.digits import NONE
from steelyard_old.render.listing_cells import Cells, about, figure, moment, spark
from steelyard_old.render.page import (
    HTML,
    MARKDOWN,
    TEXT,
    Heading,
    LeadSentence,
    Notes,
    Page,
    PageBlock,
    PageTable,
    Picture,
    Section,
    Sentences,
    Signs,
    capped,
    filled,
    put,
)
from steelyard_old.render.pictures.plane import Line, Plane, plane_of
from steelyard_old.results.history import Drift, PastRun, RunList

RUN_HEADS = ("time (UTC)", "id", "what", "task", "model", "metric", "value", "n", "change", "p", "verdict")
RUN_NUMBERS = (6, 7, 8, 9)
SERIES_HEADS = ("time (UTC)", "run", "value", "score", "cusum", "first", "pooled", "verdict")
SERIES_NUMBERS = (2, 3, 4, 5, 6)
FLAKY_HEADS = ("item", "what", "flips", "runs", "switches", "usual", "last")
FLAKY_NUMBERS = (2, 3, 4, 5, 6)
STABILITY = {"flaky": "unstable"}  # the word of JSON, and that of every page
SHOWN_RUNS, SHOWN_ITEMS = 20, 10


def _run_cells(run: PastRun) -> Cells:
    change = NONE if run.difference is None else f"{run.difference:+.4g}"
    p = NONE if run.p_value is None else f"{run.p_value:.2g}"
    numbers = [figure(run.estimate), figure(run.n), change, p]
    return [moment(run.time), run.id[:8], run.command, run.task, about(run.model, run.spec), run.metric, *numbers, run.verdict or NONE]


# ---- the list --------------------------------------------------------------------------------------------------------


def run_list_page(r: RunList, _: object) -> Page:
    """Runs, newest first, time and id never cut. In text, what all of them share is said once, above."""
    heads, rows, numbers, shared = _narrowed(r.runs)
    every = [_run_cells(run) for run in r.runs]
    blocks: list[PageBlock] = [
        *(Heading(name=f"{name}: {value}", tight=i > 0, seen=(TEXT,)) for i, (name, value) in enumerate(shared)),
        PageTable(heads=heads, rows=rows, numbers=numbers, columns="dated", seen=(TEXT,)),
        capped("Runs, newest first", RUN_HEADS, every, numbers=RUN_NUMBERS, noun="runs", seen=(MARKDOWN, HTML)),
    ]
    after = [Sentences(sentences=[put(f"next page: after={r.next[:8]!r}")], hang="", seen=(TEXT,))] if r.next else []
    return Page(
        word="history",
        about=r.place,
        lead=r.conclusion,
        sections=[*([Section(title="Runs", blocks=blocks)] if rows else []), Section(title="", blocks=[LeadSentence(), *after])],
        warnings=r.warnings,
        signature=r.signature,
        title="History of runs",
    )


def _narrowed(runs: Sequence[PastRun]) -> tuple[list[str], list[Cells], list[int], list[tuple[str, str]]]:
    """Heads, rows and columns of numbers, without the columns that say the same in every row; and what those say."""
    rows = [_run_cells(run) for run in runs]
    same = {i: rows[0][i] for i in (2, 3, 4, 5) if len(rows) > 1 and len({row[i] for row in rows}) == 1}
    kept = [i for i in range(len(RUN_HEADS)) if i not in same]
    shared = [(RUN_HEADS[i], cell) for i, cell in same.items() if i != 2]
    heads = [RUN_HEADS[i] for i in kept]
    return heads, [[row[i] for i in kept] for row in rows], [kept.index(i) for i in RUN_NUMBERS], shared


# ---- drift -----------------------------------------------------------------------------------------------------------


def drift_page(r: Drift, _: object) -> Page:
    """How a series of runs has moved: the sentence, what was found, the newest runs, the items that waver."""
    named = f"{r.task}, {about(r.model, r.spec)}, {r.metric}"
    facts, found = drift_facts(r), _flaky_cells(r)
    more = len(found) - SHOWN_ITEMS
    brief = PageTable(
        heads=FLAKY_HEADS,
        rows=found[:SHOWN_ITEMS],
        numbers=FLAKY_NUMBERS,
        label="items whose outcome differs between runs",
        rest=f"and {more:,} more in the JSON" if more > 0 else "",
        seen=(TEXT,),
    )
    flaky = capped(
        "Items whose outcome differs between runs", FLAKY_HEADS, found, numbers=FLAKY_NUMBERS, noun="items", seen=(MARKDOWN, HTML)
    )
    return Page(
        word=_headword(r).lower(),
        about=named,
        tone={True: "regression", False: "plain", None: "inconclusive"}[r.drifting],  # no drift shown is no proof of none
        lead=r.conclusion,
        sections=filled(
            Section(title="Run by run", blocks=_run_by_run(r)),
            Section(title="What was found", blocks=[Notes(pairs=facts)] if facts else []),
            Section(title="", blocks=_newest(r)),
            Section(title="Unstable items", blocks=[brief, flaky] if found else []),
        ),
        warnings=r.warnings,
        signature=r.signature,
        title=f"{_headword(r).capitalize()}: {named}",
        headed=True,
    )


def _headword(r: Drift) -> str:
    return {True: "DRIFT", False: "NO DRIFT SHOWN", None: "CANNOT TELL"}[r.drifting]


def _run_by_run(r: Drift) -> list[PageBlock]:
    drawing = drift_plane(r)
    if drawing is None:
        return []
    table = capped("The runs, oldest first", SERIES_HEADS, _series_cells(r), numbers=SERIES_NUMBERS, folded="The runs")
    return [Signs(signs=spark([float(row.estimate) for row in r.runs if row.estimate is not None])), Picture(drawing=drawing, table=table)]


def _newest(r: Drift) -> list[PageBlock]:
    """The newest runs in text, all of them in Markdown."""
    rows = _series_cells(r)
    shown = rows[-SHOWN_RUNS:]
    label = f"the newest {len(shown)} of {len(rows)} runs" if len(shown) < len(rows) else "the runs"
    return [
        PageTable(heads=SERIES_HEADS, rows=shown, numbers=SERIES_NUMBERS, columns="dated", label=label, seen=(TEXT,)),
        PageTable(heads=SERIES_HEADS, rows=rows, numbers=SERIES_NUMBERS, noun="runs", seen=(MARKDOWN,)),
    ]


def drift_plane(r: Drift) -> Plane | None:
    """The estimate run by run, with the first reference as its level."""
    places = [(float(i), float(row.estimate)) for i, row in enumerate(r.runs, 1) if row.estimate is not None]
    if not places:
        return None
    level = None if r.reference is None else r.reference.value
    return plane_of(
        f"{r.metric}, run by run",
        "run",
        r.metric,
        [Line(name=r.metric, places=places, dots=len(places) <= 200)],
        goal=level,
        goal_name="first reference",
    )


def _series_cells(r: Drift) -> list[Cells]:
    def brief(x: float | None) -> str:
        return NONE if x is None else f"{x:.3g}"

    return [
        [
            moment(row.time),
            str(place),
            figure(row.estimate),
            brief(row.score),
            brief(row.cusum),
            brief(row.first),
            brief(row.pooled),
            row.verdict or NONE,
        ]
        for place, row in enumerate(r.runs, 1)
    ]


def _flaky_cells(r: Drift) -> list[Cells]:
    listed = () if r.flaky is None else r.flaky.listed
    return [
        [each.id, STABILITY.get(each.kind, each.kind), *map(figure, (each.flips, each.runs, each.switches, each.usual, each.last))]
        for each in listed
    ]


def drift_facts(r: Drift) -> list[tuple[str, str]]:
    """What was found, as labelled sentences."""
    makers = (_reference, _evidence, _chart, _change, _deviation, _alarms, _flaky)
    return [fact for maker in makers for fact in maker(r)]


def _reference(r: Drift) -> list[tuple[str, str]]:
    if r.reference is None:
        return []
    runs = int(r.reference.runs or 1)
    return [("first reference", f"{figure(r.reference.value)}, {runs} run{'s' if runs > 1 else ''}")]


def _evidence(r: Drift) -> list[tuple[str, str]]:
    if r.evidence is None:
        return []
    out = []
    parts = (r.evidence.first, "evidence against the first reference"), (r.evidence.pooled, "evidence against the runs before")
    for part, label in parts:
        if part is not None:
            crossed = f", reached at run {part.crossed.place}" if part.crossed else ""
            so_far = f"{part.value:.3g}, at most {part.largest:.3g} so far"
            out.append((label, f"{so_far} ({r.evidence.bar:g} means drift{crossed}; valid however often you look)"))
    return out


def _chart(r: Drift) -> list[tuple[str, str]]:
    if r.chart is None:
        return []
    c = r.chart
    alarm = f"no alarm, now at {c.value:.3g} of {c.h:g}"
    if c.alarm:
        alarm = f"alarm at run {c.alarm.place} ({c.alarm.time[:10]})"
    length, fall = c.average_run_length, c.after_a_fall_of
    often = "practically no false alarm" if length is None else f"one false alarm per about {float(f'{length:.2g}'):,.0f} healthy runs"
    found = f"a fall of {fall:g} standard deviation{'s' if fall != 1 else ''} is found after {c.average_run_length_after:.1f} runs"
    normal = " (if runs are normal)" if c.law == "normal" else ""
    return [("CUSUM", f"{alarm}; k {c.k:g}, h {c.h:g}: on average {often}, {found}{normal}")]


def _change(r: Drift) -> list[tuple[str, str]]:
    if r.change_point is None:
        return []
    c = r.change_point
    moved = f"{figure(c.before)} before, {figure(c.after)} since ({c.shift:+.4g})"
    return [("likeliest change", f"before run {c.place} ({c.time[:10]}): {moved}; p = {c.p_value:.2g} (valid if you look only once)")]


def _deviation(r: Drift) -> list[tuple[str, str]]:
    if r.deviation is None:
        return []
    d = r.deviation
    ends = "" if d.low is None else f" [{d.low:.3g}, {d.high:.3g}]"
    return [("run-to-run deviation", f"{d.estimate:.3g}{ends}; {d.between_neighbours:.3g} between neighbours")]


def _alarms(r: Drift) -> list[tuple[str, str]]:
    if r.alarms is None or not r.alarms.checks:
        return []
    a = r.alarms
    many = f"{a.regressions:,} of {a.checks:,} checks found a regression"
    return [("guard", f"{many}; expected by chance: at most {a.expected:.3g}")]


def _flaky(r: Drift) -> list[tuple[str, str]]:
    if r.flaky is None:
        return []
    f = r.flaky
    share = "" if f.share is None else f"; an item has its unusual outcome in {100 * f.share:.2g}% of the runs"
    return [("items", f"{f.flaky:,} unstable, {f.changed:,} changed once, of {f.n_items:,} over {f.runs:,} runs{share}")]
