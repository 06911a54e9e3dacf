"""The history for people: runs newest first, and how a series has drifted; as text and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.render.digits import NONE
from steelyard.render.layout import GAP, left, wrap
from steelyard.render.listing_cells import Cells, about, figure, spark
from steelyard.render.listings import _foot, _table, grid
from steelyard.render.terminal import BOLD, DIM, Terminal
from steelyard.render.verdict import CAP, LONG, VerdictPart, closing, fitted, joined, labelled, word
from steelyard.results.history import Drift, PastRun, RunList

RUN_HEADS = ("time (UTC)", "id", "what", "task", "model", "metric", "value", "n", "change", "p", "verdict")
RUN_NUMBERS = (6, 7, 8, 9)
SERIES_HEADS = ("time (UTC)", "run", "value", "score", "cusum", "first", "pooled", "verdict")
SERIES_NUMBERS = (2, 3, 4, 5, 6)
FLAKY_HEADS = ("item", "what", "flips", "runs", "switches", "usual", "last")
FLAKY_NUMBERS = (2, 3, 4, 5, 6)
SHOWN_RUNS, SHOWN_ITEMS = 20, 10


def _run_cells(run: PastRun) -> Cells:
    change = NONE if run.difference is None else f"{run.difference:+.4g}"
    p = NONE if run.p_value is None else f"{run.p_value:.2g}"
    numbers = [figure(run.estimate), figure(run.n), change, p]
    return [_moment(run.time), run.id[:8], run.command, run.task, about(run.model, run.spec), run.metric, *numbers, run.verdict or NONE]


def _moment(time: str) -> str:
    return time[:16].replace("T", " ")


# ---- the list --------------------------------------------------------------------------------------------------------


def history_text(r: RunList, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The runs in columns, time and id never cut. What all of them share is said once, above."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    heads, rows, numbers, shared = _narrowed(r.runs)
    parts = [
        [look.paint(look.name(f"{name}: {value}"), BOLD) for name, value in shared],
        _dated(heads, rows, numbers, look) if rows else [],
        wrap(look.name(r.conclusion), width),
        wrap(f"the page that follows: --after {r.next[:8]}", width) if r.next else [],
    ]
    return joined([*parts, *_foot(r.warnings, r.signature, look)])


def _dated(heads: Sequence[str], rows: Sequence[Cells], numbers: Sequence[int], look: Terminal) -> list[str]:
    """A table whose first two columns, a time and an id or a number, are never cut."""
    first = [[left(row[0], 16), left(row[1], 8)] for row in (heads, *rows)]
    narrow = Terminal(width=max(look.width - 28, 20), color=look.color, ascii_only=look.ascii_only)
    lines = grid(heads[2:], [row[2:] for row in rows], [i - 2 for i in numbers], narrow)
    return [GAP + GAP.join(cells) + line for cells, line in zip(first, lines, strict=True)]


def _narrowed(runs: Sequence[PastRun]) -> tuple[list[str], list[Cells], list[int], list[tuple[str, str]]]:
    """Heads, rows and columns of numbers, without the columns that say the same in every row; and what those say."""
    rows = [_run_cells(run) for run in runs]
    same = {i: rows[0][i] for i in (2, 3, 4, 5) if len(rows) > 1 and len({row[i] for row in rows}) == 1}
    kept = [i for i in range(len(RUN_HEADS)) if i not in same]
    shared = [(RUN_HEADS[i], cell) for i, cell in same.items() if i != 2]
    heads = [RUN_HEADS[i] for i in kept]
    return heads, [[row[i] for i in kept] for row in rows], [kept.index(i) for i in RUN_NUMBERS], shared


def history_markdown(r: RunList, *, cap: int = CAP) -> str:
    """The runs as a table."""
    pieces = [VerdictPart(head=f"## History of runs\n\n**{word(r.conclusion, LONG)}**")]
    if r.runs:
        pieces.append(_table(RUN_HEADS, [_run_cells(run) for run in r.runs], RUN_NUMBERS, "runs"))
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)


# ---- drift -----------------------------------------------------------------------------------------------------------


def drift_text(r: Drift, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The sentence, the facts, the newest runs, the items that waver."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    drawn = "" if ascii_only else spark([float(row["estimate"]) for row in r.runs][-width + 4 :])
    head = f"{_headword(r)}{GAP}{look.name(f'{r.task}, {about(r.model, r.spec)}, {r.metric}')}"
    parts = [
        [look.paint(_headword(r), BOLD) + head.removeprefix(_headword(r))],
        wrap(look.name(r.conclusion), width),
        [GAP + drawn] if drawn else [],
        [line for label, said in drift_facts(r) for line in labelled(label, said, look)],
        _newest(r, look),
        _wavering(r, look),
    ]
    return joined([*parts, *_foot(r.warnings, r.signature, look)])


def _headword(r: Drift) -> str:
    return {True: "DRIFT", False: "NO DRIFT SHOWN", None: "CANNOT TELL"}[r.drifting]


def _newest(r: Drift, look: Terminal) -> list[str]:
    rows = _series_cells(r)
    if not rows:
        return []
    shown = rows[-SHOWN_RUNS:]
    title = f"the newest {len(shown)} of {len(rows)} runs" if len(shown) < len(rows) else "the runs"
    return [title, *_dated(SERIES_HEADS, shown, SERIES_NUMBERS, look)]


def _series_cells(r: Drift) -> list[Cells]:
    def brief(x: float | None) -> str:
        return NONE if x is None else f"{x:.3g}"

    return [
        [
            _moment(row["time"]),
            str(place),
            figure(row["estimate"]),
            brief(row["score"]),
            brief(row["cusum"]),
            brief(row["first"]),
            brief(row["pooled"]),
            row["verdict"] or NONE,
        ]
        for place, row in enumerate(r.runs, 1)
    ]


def _wavering(r: Drift, look: Terminal) -> list[str]:
    rows = _flaky_cells(r)
    if not rows:
        return []
    more = len(rows) - SHOWN_ITEMS
    rest = [look.paint(f"{GAP}and {more:,} more (--format json)", DIM)] if more > 0 else []
    return ["items whose outcome differs between runs", *grid(FLAKY_HEADS, rows[:SHOWN_ITEMS], FLAKY_NUMBERS, look), *rest]


def _flaky_cells(r: Drift) -> list[Cells]:
    return [
        [each["id"], each["kind"], *(figure(each[key]) for key in ("flips", "runs", "switches", "usual", "last"))]
        for each in (r.flaky or {}).get("listed", ())
    ]


def drift_facts(r: Drift) -> list[tuple[str, str]]:
    """What was found, as labelled sentences."""
    makers = (_reference, _evidence, _chart, _change, _deviation, _alarms, _flaky)
    return [fact for maker in makers for fact in maker(r)]


def _reference(r: Drift) -> list[tuple[str, str]]:
    if r.reference is None:
        return []
    runs = int(r.reference.get("runs") or 1)
    return [("first reference", f"{figure(r.reference['value'])}, {runs} run{'s' if runs > 1 else ''}")]


def _evidence(r: Drift) -> list[tuple[str, str]]:
    if r.evidence is None:
        return []
    out = []
    for name, label in (("first", "evidence against the first reference"), ("pooled", "evidence against the runs before")):
        part = r.evidence[name]
        if part is not None:
            crossed = f", reached at run {part['crossed']['place']}" if part["crossed"] else ""
            so_far = f"{part['value']:.3g}, at most {part['largest']:.3g} so far"
            out.append((label, f"{so_far} ({r.evidence['bar']:g} needed{crossed}; may be looked at any time)"))
    return out


def _chart(r: Drift) -> list[tuple[str, str]]:
    if r.chart is None:
        return []
    c = r.chart
    alarm = f"no alarm, now at {c['value']:.3g} of {c['h']:g}"
    if c["alarm"]:
        alarm = f"alarm at run {c['alarm']['place']} ({c['alarm']['time'][:10]})"
    length, fall = c["average_run_length"], c["after_a_fall_of"]
    often = "practically no false alarm" if length is None else f"a false alarm about every {float(f'{length:.2g}'):,.0f} healthy runs"
    found = f"a fall of {fall:g} deviation{'s' if fall != 1 else ''} found after {c['average_run_length_after']:.1f}"
    normal = " (if runs are normal)" if c.get("law") == "normal" else ""
    return [("CUSUM", f"{alarm}; k {c['k']:g}, h {c['h']:g}: on average {often}, {found}{normal}")]


def _change(r: Drift) -> list[tuple[str, str]]:
    if r.change_point is None:
        return []
    c = r.change_point
    moved = f"{figure(c['before'])} before, {figure(c['after'])} since ({c['shift']:+.4g})"
    return [("likeliest change", f"before run {c['place']} ({c['time'][:10]}): {moved}; p = {c['p_value']:.2g}, for one look")]


def _deviation(r: Drift) -> list[tuple[str, str]]:
    if r.deviation is None:
        return []
    d = r.deviation
    ends = "" if d["low"] is None else f" [{d['low']:.3g}, {d['high']:.3g}]"
    return [("run-to-run deviation", f"{d['estimate']:.3g}{ends}; {d['between_neighbours']:.3g} between neighbours")]


def _alarms(r: Drift) -> list[tuple[str, str]]:
    if r.alarms is None or not r.alarms["checks"]:
        return []
    a = r.alarms
    many = f"{a['regressions']:,} of {a['checks']:,} checks called a regression"
    return [("guard", f"{many}; were all of them healthy, {a['expected']:.3g} or fewer would be expected")]


def _flaky(r: Drift) -> list[tuple[str, str]]:
    if r.flaky is None:
        return []
    f: Mapping[str, Any] = r.flaky
    share = "" if f["share"] is None else f"; an item has its unusual outcome in {100 * f['share']:.2g}% of the runs"
    return [("items", f"{f['flaky']:,} flaky, {f['changed']:,} changed once, of {f['items']:,} over {f['runs']:,} runs{share}")]


def drift_markdown(r: Drift, *, cap: int = CAP) -> str:
    """How a series has drifted, on a page."""
    title = f"## {word(_headword(r).capitalize())}: {word(r.task)}, {word(about(r.model, r.spec))}, {word(r.metric)}"
    facts = "\n".join(f"- {word(label)}: {word(said, LONG)}" for label, said in drift_facts(r))
    pieces = [VerdictPart(head=f"{title}\n\n**{word(r.conclusion, LONG)}**"), VerdictPart(head=facts)]
    if r.runs:
        pieces.append(_table(SERIES_HEADS, _series_cells(r), SERIES_NUMBERS, "runs"))
    if rows := _flaky_cells(r):
        pieces.append(_table(FLAKY_HEADS, rows, FLAKY_NUMBERS, "items"))
    return fitted([*pieces, *closing(r.warnings, r.signature)], cap)
