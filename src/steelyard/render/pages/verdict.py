"""The pages of a verdict and of what was put on record: the word, how bad, what to do; the drop against margin and theta; the path."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from steelyard.render.curve_text import figure
from steelyard.render.digits import NONE, count_text, percent
from steelyard.render.page import (
    CAP,
    FLIPPED,
    HTML,
    MARKDOWN,
    SAMPLES,
    TEXT,
    WRITTEN,
    Cell,
    Fact,
    FactList,
    Marked,
    Notes,
    Page,
    PageBlock,
    PageTable,
    Picture,
    Section,
    capped,
    filled,
)
from steelyard.render.pages.registry import Extra, Flips
from steelyard.render.pictures.forest import Bar, Forest, GuideLine
from steelyard.render.pictures.plane import Line, Plane, plane_of
from steelyard.render.terminal import LONG
from steelyard.render.verdict_facts import by_itself, difference_bar, facts, next_step, notes, score_text, spec_text, telling_cells, who
from steelyard.results.verdict import Recorded, Verdict

_WORD = re.compile(r"\s*\S+\s*?(?=\s|\Z)|\s+\Z")
COMPARED = 400  # words of each answer, between what both have at their beginning and end
AROUND = 12  # equal words that are kept on either side of a difference
GAP = " … "


def item_rows(items: Sequence[Mapping[str, Any]], names: tuple[str, str]) -> tuple[list[str], list[list[Cell]]]:
    """Heads and rows of changed items. A column that no item has is left out. names: of the two who answered."""
    prompts = any(item.get("prompt") for item in items)
    truths = any(_truth(item) is not None for item in items)
    heads = ["change", "item", *(["prompt"] if prompts else []), *(["truth"] if truths else []), *names]
    rows: list[list[Cell]] = []
    for item in items:
        row: list[Cell] = [str(item.get("change", "")), _name(item)]
        row += [str(item.get("prompt") or "")] if prompts else []
        row += [_text(_truth(item))] if truths else []
        rows.append([*row, *_answered(item)])
    return heads, rows


def _truth(item: Mapping[str, Any]) -> Any:
    return item.get("target") if item.get("truth") is None else item["truth"]


def _answered(item: Mapping[str, Any]) -> tuple[Cell, Cell]:
    """Both answers; where an item is told by its scores, each with its score in front."""
    told = {side: item.get(f"{side}_answer") for side in ("baseline", "candidate")}
    if not any(told.values()):
        return answers(item.get("baseline"), item.get("candidate"))
    old, new = ([("", _text(item.get(side)) + (": " if text else ""))] for side, text in told.items())
    texts = [Marked(pieces=[("", text or "")]) for text in told.values()]
    if all(told.values()) and told["baseline"] != told["candidate"]:
        texts = list(marked(str(told["baseline"]), str(told["candidate"])))
    return Marked(pieces=[*old, *texts[0].pieces]), Marked(pieces=[*new, *texts[1].pieces])


def _name(item: Mapping[str, Any]) -> str:
    """The id; the excerpt of the prompt in its place, where the prompt itself is not shown."""
    return str(item.get("id", "") if item.get("prompt") else item.get("excerpt") or item.get("id", ""))


def _text(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value) or "(empty)"


def answers(baseline: Any, candidate: Any) -> tuple[Cell, Cell]:
    """Both answers as cells. Of two texts, the words that only one of them has are marked; numbers stay as they are."""
    if not (isinstance(baseline, str) and isinstance(candidate, str) and baseline and candidate and baseline != candidate):
        return _text(baseline), _text(candidate)
    return marked(baseline, candidate)


def marked(old: str, new: str) -> tuple[Marked, Marked]:
    """Two texts in pieces, word by word: what is only in the first is deleted, what is only in the second is inserted.

    Both are cut to what can be read and compared in no time: long equal stretches, and whatever is beyond COMPARED words.

    >>> for side in marked("The answer is 42, I think.", "The answer is 24, I think."): print(side.pieces)
    (('', 'The answer is'), ('del', ' 42,'), ('', ' I think.'))
    (('', 'The answer is'), ('ins', ' 24,'), ('', ' I think.'))
    """
    a, b = _WORD.findall(old), _WORD.findall(new)
    head = _alike(a, b)
    tail = _alike(a[head:][::-1], b[head:][::-1])
    cut = [_bounded(words[head : len(words) - tail]) for words in (a, b)]
    start, end = "".join(_near(a[:head], before=False)), "".join(_near(a[len(a) - tail :], after=False))
    left: list[tuple[str, str]] = [("", start)]
    right: list[tuple[str, str]] = [("", start)]
    for what, i, j, k, m in SequenceMatcher(None, cut[0], cut[1], autojunk=False).get_opcodes():
        if what == "equal":
            both = "".join(_near(cut[0][i:j]))
            left.append(("", both))
            right.append(("", both))
        else:
            left.append(("del", "".join(cut[0][i:j])))
            right.append(("ins", "".join(cut[1][k:m])))
    return Marked(pieces=_joined([*left, ("", end)])), Marked(pieces=_joined([*right, ("", end)]))


def _alike(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words are the same at the beginning of both."""
    return next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _bounded(words: Sequence[str]) -> list[str]:
    half = COMPARED // 2
    return list(words) if len(words) <= COMPARED else [*words[:half], GAP, *words[-half:]]


def _near(words: Sequence[str], *, before: bool = True, after: bool = True) -> list[str]:
    """Equal words near a difference; the others are left out. before, after: whether a difference is on that side."""
    first, last = AROUND if before else 0, AROUND if after else 0
    if len(words) <= first + last + 1:
        return list(words)
    return [*words[:first], GAP, *(words[len(words) - last :])]


def _joined(pieces: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(piece for piece in pieces if piece[1])


OPEN = 20  # changed items that are shown without a click
CHANGED, TELLING_FIRST = "Items that changed", "items that changed, the most telling first"


def verdict_page(v: Verdict, extra: Extra) -> Page:
    """The page of a verdict by itself."""
    return judged_page(v, flips=extra.flips)


def judged_page(v: Verdict, counted: str | None = None, *, flips: Flips | None = None) -> Page:
    """The page of a verdict; `counted` is what a suite took it for."""
    sentence, command = next_step(v, counted)
    word = counted or v.verdict
    named = who(v) + by_itself(v, counted)
    return Page(
        word=word,
        about=named,
        tone=word if word in ("pass", "regression", "inconclusive") else "plain",
        lead=v.conclusion,
        step=sentence,
        command=[command] if command and sum(map(len, command)) <= LONG else [],  # cut, it would be another command
        sections=filled(
            _difference(v),
            path_section(v.details.get("stopping")),
            Section(
                title="The numbers", blocks=[FactList(caption="Scores and rule", groups=facts(v)), Notes(pairs=notes(v), seen=WRITTEN)]
            ),
            changed_items(v, flips),
        ),
        warnings=v.warnings,
        methods=notes(v),
        signature=v.signature,
        title=f"{word.upper()}: {named}",
        headed=True,
        signs=difference_bar(v),
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


def _difference(v: Verdict) -> Section | None:
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
    return Section(
        title="How bad" if v.verdict == "regression" else "The change", blocks=[Picture(drawing=drawing, table=table, note=note)]
    )


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


def path_section(stopping: Mapping[str, Any] | None, *, judged: bool = True) -> Section | None:
    """The way to a decision, and the looks behind it."""
    drawing = None if stopping is None else path_plane(stopping, judged=judged)
    if stopping is None or drawing is None:
        return None
    keys = ("n", "statistic", "lower", "upper", "alpha_spent", "decision")
    rows = [[_cell(look.get(key)) for key in keys] for look in stopping["looks"]]
    heads = ["items", "statistic", "lower boundary", "upper boundary", "alpha spent", "decision"]
    table = capped("The looks", heads, rows, numbers=(0, 1, 2, 3, 4), folded="The looks")
    note = f"Stopped after {count_text(stopping['n_used'])} of {count_text(stopping['n_available'])} items" if "n_used" in stopping else ""
    return Section(title="Evidence over time", blocks=[Picture(drawing=drawing, table=table, note=note)])


def _cell(value: Any) -> str:
    return NONE if value is None else figure(value) if isinstance(value, int | float) else str(value)


# ---- the items that changed ------------------------------------------------------------------------------------------


def changed_items(v: Verdict, flips: Flips | None) -> Section | None:
    """How many items went which way, and the most telling of them; all of them, if they were given."""
    blocks: list[PageBlock] = [flip_table(v.flips, "the reference", "the run")] if v.flips is not None else []
    heads, rows = telling_cells(v)
    blocks += [PageTable(heads=heads, rows=rows, label=TELLING_FIRST, seen=(TEXT,))] if rows else []
    heads, rows = telling_cells(v, most=None)
    shown = TELLING_FIRST.capitalize()
    blocks += [PageTable(heads=heads, rows=rows, folded=shown, worth=FLIPPED, noun="flipped items", seen=(MARKDOWN,))] if rows else []
    told: Sequence[Mapping[str, Any]] = v.telling
    if v.verdict == "regression":
        told = sorted(v.telling, key=lambda item: item.get("change") == "gained")
    note = ""
    if flips is not None:
        told, note = flips
    elif v.flips is not None and (all_of := v.flips.get("baseline_only", 0) + v.flips.get("candidate_only", 0)) > len(told):
        note = f"The {count_text(len(told))} most telling of {count_text(all_of)}."
    blocks += item_tables(told, ("reference", "run"), note)
    return Section(title=CHANGED, blocks=blocks) if blocks else None


def item_tables(items: Sequence[Mapping[str, Any]], names: tuple[str, str], note: str = "") -> list[PageBlock]:
    """Flipped items: the first twenty, and the others behind a line to click on. Many can be searched."""
    heads, rows = item_rows(items, names)
    made = capped(TELLING_FIRST.capitalize(), heads, rows)
    first, rest = made.rows[:OPEN], made.rows[OPEN:CAP]
    blocks: list[PageBlock] = [PageTable(caption=made.caption, heads=heads, rows=first, note=note, search=len(first) > 5, seen=(HTML,))]
    if rest:
        folded = f"{count_text(len(rest))} more items that changed"
        more = PageTable(caption="More items that changed", heads=heads, rows=rest, note=made.note, folded=folded, more=True, seen=(HTML,))
        blocks.append(more)
    return blocks if rows else []


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
        seen=(HTML,),
    )


# ---- what was put on record ------------------------------------------------------------------------------------------


def recorded_page(r: Recorded, _: object) -> Page:
    """What is now on record, where, and what it replaced."""
    word = "recorded" if r.before is None else "replaced"
    spec = spec_text(r.spec)
    about = f"{r.task}, {r.model}" + (f" [{spec}]" if spec else "")
    named = (("file", r.file), ("item outcomes", r.items), ("reason", r.reason))
    notes = [(label, str(said)) for label, said in named if said]
    return Page(
        word=word,
        about=about,
        lead=r.conclusion,
        sections=[
            Section(
                title="The reference",
                blocks=[FactList(caption="What is on record", groups=[_recorded_facts(r)]), Notes(pairs=notes, seen=WRITTEN)],
            )
        ],
        warnings=r.warnings,
        methods=notes,
        signature=r.signature,
        title=f"{word.upper()}: {about}",
        headed=True,
    )


def _recorded_facts(r: Recorded) -> list[Fact]:
    out: list[Fact] = [(f"Reference {r.metric}", f"{r.value:.6g}", f"scale {r.scale}")]
    if r.before is not None:
        out.append(("Before", f"{r.before:.6g}", "the value it replaces; the history keeps it"))
    out += [(SAMPLES, count_text(r.n), ""), ("Runs", count_text(r.runs), "")]
    spread = NONE if r.sigma_run is None else f"{r.sigma_run:.4g}"
    out.append(("Run-to-run deviation", spread, "not known from one run" if r.sigma_run is None and r.runs == 1 else ""))
    return out
