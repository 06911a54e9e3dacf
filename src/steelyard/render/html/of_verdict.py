"""The page of a verdict: the word, how bad, what to do; the drop against margin and theta; the path of a run that stopped early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.render.curve_text import figure
from steelyard.render.digits import NONE, count_text, percent
from steelyard.render.html.changes import item_rows
from steelyard.render.html.pieces import (
    Block,
    Cell,
    FactList,
    Inside,
    NoteList,
    PageSection,
    PageTable,
    Part,
    Picture,
    aligned,
    capped,
    joined,
)
from steelyard.render.pictures.forest import Bar, Forest, GuideLine
from steelyard.render.pictures.plane import Line, Plane, plane_of
from steelyard.render.suite import FIGURES, guards, legend, tally, waived
from steelyard.render.suite import figures as suite_figures
from steelyard.render.verdict import LONG, _recorded_about, _recorded_facts, _recorded_notes, _recorded_word, by_itself
from steelyard.render.verdict_facts import facts, next_step, notes, score_text, who
from steelyard.results.verdict import Recorded, Suite, Verdict

OPEN = 20  # changed items that are shown without a click
Flips = tuple[Sequence[Mapping[str, Any]], str]  # items as `telling` has them, and a note


def verdict_part(v: Verdict, counted: str | None = None, *, flips: Flips | None = None) -> Part:
    """The verdict as a part of a page; `counted` is what a suite took it for."""
    sentence, command = next_step(v, counted)
    word = counted or v.verdict
    return Part(
        word=word,
        about=who(v) + by_itself(v, counted),
        tone=word if word in ("pass", "regression", "inconclusive") else "plain",
        lead=v.conclusion,
        step=sentence,
        command=[command] if command and sum(map(len, command)) <= LONG else [],  # cut, it would be another command
        sections=joined(_difference(v), path_section(v.details.get("stopping")), _numbers(v), changed_items(v, flips)),
        warnings=v.warnings,
        methods=notes(v),
        signature=v.signature,
    )


def gap_forest(v: Verdict) -> Forest | None:
    """The difference with its bounds, against no change, the margin and theta. Up is good."""
    estimate = v.difference.get("estimate")
    if estimate is None:
        return None
    low, high = v.difference.get("lower"), v.difference.get("upper")
    shown = score_text(v)
    said = shown(estimate) + ("" if low is None or high is None else f"  [{shown(low)}, {shown(high)}]")
    rules = [GuideLine(at=0.0, name="no change")]
    if v.margin:
        rules.append(GuideLine(at=-v.margin, name=f"tolerated: margin {figure(v.margin)}", sort="margin"))
    if v.theta is not None:
        rules.append(GuideLine(at=-v.theta, name=f"matters: theta {figure(v.theta)}", sort="theta"))
    if v.theta is None and v.mde is not None:
        rules.append(GuideLine(at=-v.mde, name="smallest drop it could find", sort="theta"))
    bar = Bar(name=f"change of {v.metric}", estimate=estimate, low=low, high=high, said=said)
    turned = "worse to the left, better to the right" + ("" if v.higher_is_better else " (turned: lower is better)")
    return Forest(title=f"Change of {v.metric} against the reference", bars=[bar], rules=rules, axis=turned)


def _difference(v: Verdict) -> PageSection | None:
    drawing = gap_forest(v)
    if drawing is None:
        return None
    shown = score_text(v)
    rows = [["difference", shown(v.difference.get("estimate"))]]
    rows += [
        [f"{end} bound, one-sided {percent(1 - v.alpha)}", shown(v.difference[end])] for end in ("lower", "upper") if end in v.difference
    ]
    rows += [[rule.name, shown(rule.at)] for rule in drawing.rules]
    table = PageTable(caption="The difference and its lines", heads=["what", "value"], rows=rows, numbers=(1,), folded="The numbers")
    note = f"Bounds: one-sided, {percent(1 - v.alpha)} each." if v.difference.get("lower") is not None else ""
    return PageSection(
        title="How bad" if v.verdict == "regression" else "The change", blocks=[Picture(drawing=drawing, table=table, note=note)]
    )


def _numbers(v: Verdict) -> PageSection:
    return PageSection(title="The numbers", blocks=[fact_block("Scores and rule", facts(v))])


def fact_block(caption: str, groups: Sequence[Sequence[tuple[str, str, str]]]) -> FactList:
    """Facts with their numbers on the decimal points."""
    texts = iter(aligned([value for group in groups for _, value, _ in group]))
    return FactList(caption=caption, groups=[[(name.strip(), next(texts), meaning) for name, _, meaning in group] for group in groups])


# ---- the path of a run that could stop -------------------------------------------------------------------------------


def path_plane(stopping: Mapping[str, Any], *, judged: bool = True) -> Plane | None:
    """The statistic look by look between its boundaries; `judged`: the upper one calls a regression, the lower one a pass."""
    looks = [look for look in stopping.get("looks") or () if look.get("statistic") is not None]
    if not looks:
        return None
    ends = (" (reached: regression)", " (reached: pass)") if judged else ("", "")
    named = (("upper", f"upper boundary{ends[0]}", "goal"), ("lower", f"lower boundary{ends[1]}", "other"))
    lines = [Line(name="statistic at each look", places=[(look["n"], look["statistic"]) for look in looks], dots=True)]
    for key, name, sort in named:
        places = [(look["n"], look[key]) for look in looks if look.get(key) is not None]
        if places:
            lines.append(Line(name=name, places=places, sort=sort, dots=True))
    return plane_of("The path of the run", "items asked", f"statistic ({stopping.get('design', 'sequential test')})", lines, zero=True)


def path_section(stopping: Mapping[str, Any] | None, *, judged: bool = True) -> PageSection | None:
    """The way to a decision, and the looks behind it."""
    drawing = None if stopping is None else path_plane(stopping, judged=judged)
    if stopping is None or drawing is None:
        return None
    keys = ("n", "statistic", "lower", "upper", "alpha_spent", "decision")
    rows = [[_cell(look.get(key)) for key in keys] for look in stopping["looks"]]
    heads = ["items", "statistic", "lower boundary", "upper boundary", "alpha spent", "decision"]
    table = capped("The looks", heads, rows, numbers=(0, 1, 2, 3, 4), folded="The looks")
    note = f"Stopped after {count_text(stopping['n_used'])} of {count_text(stopping['n_available'])} items" if "n_used" in stopping else ""
    return PageSection(title="The way there", blocks=[Picture(drawing=drawing, table=table, note=note)])


def _cell(value: Any) -> str:
    return NONE if value is None else figure(value) if isinstance(value, int | float) else str(value)


# ---- the items that changed ------------------------------------------------------------------------------------------


def changed_items(v: Verdict, flips: Flips | None) -> PageSection | None:
    """How many items went which way, and the most telling of them; all of them, if they were given."""
    blocks: list[Block] = [flip_table(v.flips, "the reference", "the run")] if v.flips is not None else []
    told = sorted(v.telling, key=lambda item: item.get("change") == "gained") if v.verdict == "regression" else v.telling
    heads, rows = item_rows(told, ("reference", "run"))
    note = ""
    if flips is not None:
        heads, rows, note = *item_rows(flips[0], ("reference", "run")), flips[1]
    elif v.flips is not None and (all_of := v.flips.get("baseline_only", 0) + v.flips.get("candidate_only", 0)) > len(rows):
        note = f"The {count_text(len(rows))} most telling of {count_text(all_of)}."
    if rows:
        blocks += item_tables(heads, rows, note)
    return PageSection(title="Items that changed", blocks=blocks) if blocks else None


def item_tables(heads: Sequence[str], rows: Sequence[Sequence[Cell]], note: str = "") -> list[Block]:
    """Flipped items: the first twenty, and the others behind a line to click on. Many can be searched."""
    made = capped("Items that changed, the most telling first", heads, rows)
    first, rest = made.rows[:OPEN], made.rows[OPEN:]
    blocks: list[Block] = [PageTable(caption=made.caption, heads=heads, rows=first, note=note, search=len(first) > 5)]
    if rest:
        folded = f"{count_text(len(rest))} more items that changed"
        blocks.append(PageTable(caption="More items that changed", heads=heads, rows=rest, note=made.note, folded=folded, more=True))
    return blocks


def flip_table(flips: Mapping[str, int], first: str, second: str) -> PageTable:
    """Right and wrong of two systems, crossed."""
    shown = {key: count_text(flips.get(key, 0)) for key in ("both", "baseline_only", "candidate_only", "neither")}
    return PageTable(
        caption=f"Items by whether {first} and {second} have them right",
        heads=["", f"{second}: right", f"{second}: wrong"],
        rows=[
            [f"{first}: right", shown["both"], f"{shown['baseline_only']} lost"],
            [f"{first}: wrong", f"{shown['candidate_only']} gained", shown["neither"]],
        ],
        numbers=(1, 2),
    )


# ---- a suite, and what was put on record -----------------------------------------------------------------------------


def suite_forest(s: Suite) -> Forest | None:
    """The differences of all guards, where one scale serves them all."""
    found = [g.verdict for g in guards(s)]
    if not found or len({(v.scale, v.metric) for v in found}) != 1:
        return None
    bars = [forest.bars[0] for v in found if (forest := gap_forest(v)) is not None]
    named = [Bar(name=who(v), estimate=b.estimate, low=b.low, high=b.high, said=b.said) for v, b in zip(found, bars, strict=False)]
    if len(bars) != len(found):
        return None
    return Forest(
        title="Change of every guard",
        bars=named[:40],
        rules=[GuideLine(at=0.0, name="no change")],
        axis="worse to the left, better to the right",
    )


def suite_part(s: Suite) -> Part:
    """A suite: its table of verdicts, and each verdict's report folded behind its line."""
    found = guards(s)
    heads = ["verdict", "guard", *FIGURES]
    rows = [[g.word, who(g.verdict), *suite_figures(g, s.alpha)] for g in found]
    drawing = suite_forest(s)
    blocks: list[Block] = [Picture(drawing=drawing)] if drawing is not None and drawing.scale is not None else []
    blocks.append(capped("Guards, the worst first", heads, rows, numbers=(2, 3, 4, 5, 6, 7)))
    waivers = [(who(g.verdict), said) for g, said in waived(found)]
    return Part(
        word=s.verdict,
        about=f"suite{f' {s.name}' if s.name else ''}, {tally(found)}",
        tone=s.verdict,
        lead=s.conclusion,
        sections=joined(
            PageSection(title="Guards", blocks=blocks),
            PageSection(title="Waivers", blocks=[NoteList(pairs=waivers)]) if waivers else None,
            PageSection(title="Behind each verdict", blocks=[Inside(parts=[verdict_part(g.verdict, g.counts_as) for g in found])]),
        ),
        warnings=s.warnings,
        methods=[("columns", legend(s))],
        signature=s.signature,
    )


def recorded_part(r: Recorded) -> Part:
    """What is now on record."""
    return Part(
        word=_recorded_word(r),
        about=_recorded_about(r),
        lead=r.conclusion,
        sections=joined(PageSection(title="The reference", blocks=[fact_block("What is on record", [_recorded_facts(r)])])),
        warnings=r.warnings,
        methods=_recorded_notes(r),
        signature=r.signature,
    )
