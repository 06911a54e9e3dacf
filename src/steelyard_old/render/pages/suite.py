"""The page of a suite of guards: one line per guard, the worst first, then the sentence, the waivers and what is behind each red one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard_old.render.digits import NONE, p_text, percent
from steelyard_old.render.page import (
    ALL,
    HTML,
    MARKDOWN,
    OWN,
    TEXT,
    WARNING,
    WRITTEN,
    LeadSentence,
    NestedPages,
    Notes,
    Page,
    PageBlock,
    PageCase,
    PageTable,
    Picture,
    Section,
    Sentences,
    capped,
    filled,
)
from steelyard_old.render.pages.changed_items import CHANGED
from steelyard_old.render.pages.suite_nights import CHANGED as CHANGED_ITEMS
from steelyard_old.render.pages.suite_nights import night_case, night_lines, night_picture, unconfirmed_text
from steelyard_old.render.pages.verdict import (
    BY_SLICE,
    IDLE,
    GuardLine,
    flips_text,
    gap_forest,
    guard_case,
    guard_name,
    judged_page,
    p_beside,
    score_text,
    spec_text,
    waiver_text,
)
from steelyard_old.render.pictures.forest import Bar, Forest, GuideLine
from steelyard_old.render.terminal import DIM
from steelyard_old.results.stopping import StoppedSuite, StoppedTask
from steelyard_old.results.verdict import PooledSuite, Suite, SuiteRow, Verdict

ORDER = ("regression", "inconclusive", "changed", "unconfirmed", "waived", "advisory", "pass")  # the worst first
FIGURES = ("n", "reference", "run", "difference", "p", "adjusted p")
UNCONFIRMED = "significant on its own, not after correction"
NAMED = 5  # guards that are named for one warning


def guards(s: Suite) -> list[GuardLine]:
    """Every verdict with its row, the worst first, else in the order of the suite file."""
    rows = list(s.rows)
    found = [GuardLine(verdict=v, row=_row(v, i, rows)) for i, v in enumerate(s.verdicts)]
    return sorted(found, key=lambda g: ORDER.index(g.counts_as) if g.counts_as in ORDER else 0)


def _row(v: Verdict, i: int, rows: Sequence[SuiteRow]) -> SuiteRow | None:
    """By place, if the names agree; else by name, if that is clear."""
    if i < len(rows) and _names_agree(v, rows[i]):
        return rows[i]
    fits = [row for row in rows if _names_agree(v, row)]
    return fits[0] if len(fits) == 1 else None


def _names_agree(v: Verdict, row: SuiteRow) -> bool:
    return row.task in (None, v.task) and row.model in (None, v.model)


def tally(found: Sequence[GuardLine], noun: str = "guard") -> str:
    """How many counted as what: 24 guards: 1 regression, 23 pass."""
    counts = {word: sum(g.counts_as == word for g in found) for word in dict.fromkeys([*ORDER, *(g.counts_as for g in found)])}
    listed = ", ".join(f"{n:,} {word}" for word, n in counts.items() if n)
    return f"{len(found):,} {noun}{'' if len(found) == 1 else 's'}" + (f": {listed}" if listed else "")


def figures(g: GuardLine, alpha: float) -> list[str]:
    """n, reference, run, the difference with its lower bound, p, adjusted p."""
    v, shown = g.verdict, score_text(g.verdict)
    lower = v.difference.lower
    gap = shown(v.difference.estimate) + ("" if lower is None else f" [{shown(lower)}]")
    scores = [shown(v.reference.estimate), shown(v.candidate.estimate)]
    return [
        NONE if v.n is None else f"{v.n:,}",
        *scores,
        gap,
        p_beside(v.p_value, v.alpha),
        p_beside(None if g.row is None else g.row.p_adjusted, alpha),
    ]


def legend(s: Suite) -> str:
    """What the columns mean."""
    levels = {v.alpha for v in s.verdicts} or {s.alpha}
    bound = f"one-sided {percent(1 - levels.pop())} lower bound" if len(levels) == 1 else "one-sided lower bound at 1 - alpha of each check"
    over = "the candidates" if s.stopping is not None and s.stopping.baseline else "the suite"
    return f"difference: positive is better, [{bound}]; p corrected over {over} ({s.correction})"


def pooled_text(s: Suite) -> list[str]:
    """What all tasks show together: the pooled p, how many are worse at least, who, and by how much on average."""
    if s.stopping is not None:
        return _stopped_text(s.stopping)
    found = s.pooled
    if found is None or found.p_pooled is None or found.m < 2:
        return []
    waived = f", {found.waived:,} of them waived" if found.waived else ""
    parts = [f"pooled: p = {p_text(found.p_pooled)} over {found.m:,} tasks{waived} (share {found.share:g} of alpha)"]
    if found.waived:
        parts.append(f"p = {p_text(found.p_value)} for the others, which decide")
    parts += _worse_tasks(found)
    if found.mean_change is not None:
        parts.append(f"mean change {score_text(s.verdicts[0])(found.mean_change)}")
    if not found.phi_known:
        parts.append("run-to-run variation is not estimated" + (", so this is not confirmed" if found.verdict == "unconfirmed" else ""))
    elif found.phi_history:
        parts.append(f"run-to-run variation is estimated from {found.phi_history:,} earlier run{'' if found.phi_history == 1 else 's'}")
    return ["; ".join(parts)]


def _worse_tasks(found: PooledSuite) -> list[str]:
    """How many tasks are worse at least, and which; where the tasks that decide show nothing, only the one with the lowest p."""
    lowest = [] if found.suspicious is None else [f"the lowest p is that of {found.suspicious}"]
    if found.verdict == "pass":
        return lowest
    number = f"{found.at_least:,} of {found.m:,} tasks {'is' if found.at_least == 1 else 'are'} worse"
    counted = " (waived ones counted)" if found.waived else ""
    least = f"at least {number}{counted} if tasks vary independently" if found.at_least else "some task is worse"
    if not found.named:
        return [f"{least}, but no single one is significant after correction", *lowest]
    more = f" and {len(found.named) - NAMED:,} more" if len(found.named) > NAMED else ""
    return [f"{least}; significant after correction: {', '.join(found.named[:NAMED])}{more}"]


def _stopped_text(stopped: StoppedSuite) -> list[str]:
    """How far a suite went that stopped when it was decided: calls, every task's likelihood ratio, and that of all together."""
    how = "the most suspicious task first" if stopped.baseline is None else f"{stopped.calls_baseline:,} of them of the baseline"
    lines = [f"calls: {stopped.calls:,} of {stopped.calls_available:,} ({stopped.calls_saved:,} saved), {how}"]
    lines += [f"{task.task}: {_likelihood(task)}" for task in stopped.tasks]
    if (pooled := stopped.pooled) is not None:
        word = "some task dropped" if pooled.worse else "no drop shown before a task was named" if stopped.named else "no drop shown"
        lines.append(
            f"all tasks together: {word} (log likelihood ratio {pooled.log_likelihood_ratio:.2f}; {pooled.needed:.2f} or less shows that "
            "some task dropped)"
        )
    return lines


def _likelihood(task: StoppedTask) -> str:
    if not task.n:
        return f"not asked ({task.available:,} items)"
    words = {"continue": "left open", "exhausted": "out of items", "outside": "ended by a score outside its range"}
    ended = f"{words.get(task.decision, task.decision)} after {task.n:,} of {task.available:,} items"
    if task.log_likelihood_ratio is None or task.needed is None:
        return ended
    return f"{ended} (log likelihood ratio {task.log_likelihood_ratio:.2f}, a pass needs {task.needed:.2f}; alpha {task.alpha:.3g})"


def grouped_warnings(found: Sequence[GuardLine]) -> list[str]:
    """The warnings of all guards, each once, with the guards that have it."""
    by: dict[str, dict[str, None]] = {}
    for g in found:
        for warning in g.verdict.warnings:
            by.setdefault(warning, {})[guard_name(g.verdict)] = None
    out = []
    for warning, guarded in by.items():
        names = list(guarded)
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        out.append(f"{'; '.join(names[:NAMED])}{more}: {warning}")
    return out


def waived(found: Sequence[GuardLine]) -> list[tuple[GuardLine, str]]:
    """Each waiver with its words, and whether it did anything."""
    out = []
    for g in found:
        if g.waiver is not None:
            said = waiver_text(g.waiver)
            if g.counts_as != "waived" and not said.endswith(IDLE):
                said += " (not needed: it passed)" if g.verdict.verdict == "pass" else IDLE
            out.append((g, said))
    return out


# ---- the page --------------------------------------------------------------------------------------------------------


def suite_page(s: Suite, _: object) -> Page:
    """A suite: its table of verdicts, the waivers, and the report of each guard that did not simply pass."""
    found = guards(s)
    noun = "candidate" if s.stopping is not None and s.stopping.baseline else "guard"
    about = f"{'suite' if noun == 'guard' else 'candidates'}{f' {s.name}' if s.name else ''}, {tally(found, noun)}"
    drawing = suite_forest(s)
    every = capped("Guards, the worst first", ["verdict", "guard", *FIGURES], _every(found, s), numbers=range(2, 8), seen=(HTML,))
    return Page(
        word=s.verdict,
        about=about,
        tone=s.verdict,
        lead=s.conclusion,
        sections=filled(
            Section(title="Guards", blocks=[*_drawn(drawing), *_table(found, s), LeadSentence(), every]),
            Section(title="Evidence over time", blocks=[] if s.nights is None else night_picture(s.nights)),
            _listed("Changed", [(g, CHANGED_ITEMS) for g in found if g.counts_as == "changed"], seen=WRITTEN),
            _listed("Unconfirmed", [(g, _unconfirmed(s)) for g in found if g.counts_as == "unconfirmed"], seen=WRITTEN),
            _listed("Waivers", waived(found)),
            Section(title="Behind each verdict", blocks=_behind(found)),
        ),
        warnings=s.warnings,
        written_warnings=grouped_warnings(found),
        methods=[("columns", legend(s)), *(("together", said) for said in pooled_text(s)), *(("nights", said) for said in _nights(s))],
        signature=s.signature,
        title=f"{s.verdict.upper()}: {about}",
        headed=True,
        cases=[*(guard_case(g) for g in found), *_whole(s, found)],
        suite=s.name or "",
    )


def _whole(s: Suite, found: Sequence[GuardLine]) -> list[PageCase]:
    """The suite as a whole, for programs: its night, or a regression that no single guard shows."""
    if s.nights is not None:
        return [night_case(s.nights, s.conclusion)]
    if s.verdict != "regression" or any(g.counts_as == "regression" for g in found):
        return []
    lines = [s.conclusion, *pooled_text(s)]
    together = "all tasks together"
    return [
        PageCase(
            group="suite",
            name=together,
            word=s.verdict,
            outcome="failure",
            message=s.conclusion,
            remedy=lines,
            title=f"{s.verdict}: {together}",
            lines=lines,
            facts={"verdict": s.verdict, **({} if s.pooled is None else {"p_value": s.pooled.p_value, "m": s.pooled.m})},
            clean=False,
            page=lambda: Page(
                word=s.verdict,
                about=together,
                lead=s.conclusion,
                sections=[Section(title="Together", blocks=[Notes(pairs=[("", line) for line in pooled_text(s)])])],
            ),
        )
    ]


def _nights(s: Suite) -> list[str]:
    return [] if s.nights is None else night_lines(s.nights)


def _unconfirmed(s: Suite) -> str:
    return UNCONFIRMED if s.nights is None else unconfirmed_text(s.nights)


def _drawn(drawing: Forest | None) -> list[PageBlock]:
    return [Picture(drawing=drawing)] if drawing is not None and drawing.scale is not None else []


def _every(found: Sequence[GuardLine], s: Suite) -> list[list[str]]:
    return [[g.word, guard_name(g.verdict), *figures(g, s.alpha)] for g in found]


def _table(found: Sequence[GuardLine], s: Suite) -> list[PageBlock]:
    """A line for each guard, its names in columns of their own."""
    if not found:
        return []
    named = _names(found)
    heads = ["verdict", *(head for head, _ in named), *FIGURES]
    numbers = range(len(heads) - len(FIGURES), len(heads))
    rows = [[g.word, *(cells[i] for _, cells in named), *figures(g, s.alpha)] for i, g in enumerate(found)]
    strong = [[f"**{g.word}**" if g.word.isupper() else g.word, *row[1:]] for g, row in zip(found, rows, strict=True)]
    return [
        PageTable(heads=heads, rows=rows, numbers=numbers, columns="guards", seen=(TEXT,)),
        PageTable(heads=heads, rows=strong, numbers=numbers, ours=(0, *numbers), noun="guards", seen=(MARKDOWN,)),
        Sentences(sentences=[legend(s), *pooled_text(s), *_nights(s)], listed=False, tight=True, paint=DIM, seen=WRITTEN),
    ]


def _names(found: Sequence[GuardLine]) -> list[tuple[str, list[str]]]:
    """The columns of words; one that nobody has is left out."""
    own = [g.verdict for g in found]
    named = [
        ("task", [v.task for v in own]),
        ("model", [v.model for v in own]),
        ("spec", [spec_text(v.spec) for v in own]),
        ("tier", [g.tier for g in found]),
        (OWN, ["" if g.verdict.verdict == g.counts_as else g.verdict.verdict for g in found]),
    ]
    return [(head, cells) for head, cells in named if head in ("task", "model") or any(cells)]


def _listed(title: str, entries: Sequence[tuple[GuardLine, str]], seen: Sequence[str] = ALL) -> Section | None:
    if not entries:
        return None
    pairs = [(guard_name(g.verdict), said) for g, said in entries]
    block = Notes(pairs=pairs, label=f"{title}: {len(entries):,}", worth=WARNING, noun=title.lower(), seen=seen)
    return Section(title=title, blocks=[block])


def _behind(found: Sequence[GuardLine]) -> list[PageBlock]:
    """What is behind each verdict: in text in brief, its numbers are in its line; in Markdown the report of what did not simply pass."""
    made = [(g, judged_page(g.verdict, g.counts_as)) for g in found]
    doubtful = [page for g, page in made if not g.clean]
    brief = [
        replace(
            page,
            methods=[] if g.verdict.flips is None else [("flips", flips_text(g.verdict.flips))],
            sections=[section for section in page.sections if section.title in (BY_SLICE, CHANGED)],
        )
        for g, page in made
        if not g.clean
    ]
    return [
        NestedPages(parts=brief, seen=(TEXT,)),
        NestedPages(parts=doubtful, seen=(MARKDOWN,)),
        NestedPages(parts=[page for _, page in made]),
    ]


def suite_forest(s: Suite) -> Forest | None:
    """The differences of all guards, where one scale serves them all."""
    found = [g.verdict for g in guards(s)]
    if not found or len({(v.scale, v.metric) for v in found}) != 1:
        return None
    bars = [forest.bars[0] for v in found if (forest := gap_forest(v)) is not None]
    named = [
        Bar(name=guard_name(v), estimate=b.estimate, low=b.low, high=b.high, value_text=b.value_text)
        for v, b in zip(found, bars, strict=False)
    ]
    if len(bars) != len(found):
        return None
    return Forest(
        title="Change of every guard",
        bars=named[:40],
        rules=[GuideLine(at=0.0, name="no change")],
        axis="worse to the left, better to the right",
    )
