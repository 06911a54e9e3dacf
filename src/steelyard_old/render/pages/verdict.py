"""The pages of a verdict and of what was put on record: the word, how bad, what to do; the drop against margin and theta; the path.

Below them, what a verdict has to say as plain words and rows, and as a case for XML and annotations. Nothing is escaped here.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.digits import NONE, figure, fixed, look_alike, p_text, percent, power_of_ten
from steelyard_old.render.page import (
    DRAWN,
    FLIPPED,
    HTML,
    MARKDOWN,
    SAMPLES,
    SHOWN_CHANGES,
    TEXT,
    WRITTEN,
    Fact,
    FactList,
    ListedItems,
    Notes,
    Page,
    PageBlock,
    PageCase,
    PageExtras,
    PageTable,
    Picture,
    Section,
    Sentences,
    capped,
    filled,
)
from steelyard_old.render.pages.changed_items import CHANGED, CHANGED_FIRST, changed_cells, flip_table, item_name, item_tables
from steelyard_old.render.pictures.forest import Bar, Forest, GuideLine
from steelyard_old.render.terminal import ASCII, DIM, LONG, UNICODE, Axis, short
from steelyard_old.results.base import NOT_SET
from steelyard_old.results.comparison import ChangedItem
from steelyard_old.results.details import AnswerRate
from steelyard_old.results.stopping import EarlyStopping
from steelyard_old.results.verdict import WORSENING, JudgedSystem, Needed, Recorded, SuiteRow, Verdict, Waiver

if TYPE_CHECKING:
    from steelyard_old.render.pictures.plane import Plane

SLICE_FIGURES = ("n", "reference", "run", "difference", "p", "adjusted p", "MDE", "")
SHORT = {"reference": "ref.", "adjusted p": "adj. p"}  # so that a line of text stays within 80 signs
BY_SLICE = "By slice"
LOST = 5  # items that were lost, named for programs
NAMED = 200  # characters of the name of one


def verdict_page(v: Verdict, extra: PageExtras) -> Page:
    """The page of a verdict by itself."""
    return replace(judged_page(v, flips=extra.flips), cases=[guard_case(GuardLine(verdict=v))])


def judged_page(v: Verdict, counted: str | None = None, *, flips: ListedItems | None = None) -> Page:
    """The page of a verdict; `counted` is what a suite took it for."""
    sentence, command = next_step(v, counted)
    word = counted or v.verdict
    named = guard_name(v) + by_itself(v, counted)
    return Page(
        word=word,
        about=named,
        tone=word if word in ("pass", "regression", "inconclusive") else "plain",
        lead=v.conclusion,
        step=sentence,
        command=[command] if command and sum(map(len, command)) <= LONG else [],  # cut, it would be another command
        sections=filled(
            _difference(v),
            slices_section(v),
            path_section(v.details.stopping),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLine:
    """A verdict and its place in the suite."""

    verdict: Verdict
    row: SuiteRow | None = None

    @property
    def counts_as(self) -> str:
        return (self.row is not None and self.row.counts_as) or self.verdict.verdict

    @property
    def tier(self) -> str:
        return (self.row is not None and self.row.tier) or self.verdict.tier or ""

    @property
    def waiver(self) -> Waiver | None:
        return (self.row is not None and self.row.waiver) or self.verdict.waiver

    @property
    def clean(self) -> bool:
        """Nothing to say beyond its line."""
        return self.verdict.verdict == "pass" and self.counts_as in ("pass", "advisory")

    @property
    def word(self) -> str:
        """What it counted as; what turns a suite is in capitals."""
        return self.counts_as.upper() if self.counts_as in ("regression", "inconclusive") else self.counts_as


def guard_case(g: GuardLine) -> PageCase:
    """A guard for programs. A doubt is inconclusive; what was waived, or is red and only advisory, is skipped with the reason."""
    v, spec = g.verdict, spec_text(g.verdict.spec)
    sentence, command = next_step(v, g.counts_as)
    outcome, message = _outcome(g)
    lost = [item_name(item) for item in v.changed_items[:SHOWN_CHANGES] if item.change == "lost"][:LOST]
    lines = [
        v.conclusion,
        f"waiver {waiver_text(g.waiver)}" if g.waiver else "",
        f"worse: {', '.join(worse_slices(v))}" if worse_slices(v) else "",
        "" if v.flips is None else f"flips: {flips_text(v.flips)}",
        f"lost: {', '.join(short(name, NAMED) for name in lost)}" if lost else "",
        sentence.replace(" below.", " in the report."),
        " ".join(command),
    ]
    return PageCase(
        group=v.task,
        name=v.model + (f" [{spec}]" if spec else ""),
        word=g.counts_as,
        outcome=outcome,
        message=message,
        remedy=[line for line in (v.conclusion, sentence, " ".join(command)) if line],
        title=f"{g.counts_as}: {guard_name(v)}{by_itself(v, g.counts_as)}",
        lines=[line for line in lines if line],
        facts=_case_facts(g),
        clean=g.clean,
        page=lambda: judged_page(v),
    )


def _outcome(g: GuardLine) -> tuple[str, str]:
    """failure, inconclusive, skipped or passed, and its message."""
    v, counted = g.verdict, g.counts_as
    said = v.conclusion or v.verdict
    if counted == "regression":
        return "failure", said
    if counted == "inconclusive" or (counted in ("unconfirmed", "changed") and v.theta is not None):
        return "inconclusive", f"{counted}: {said}"
    if counted == "waived":
        return "skipped", f"waived ({waiver_text(g.waiver)}): {said}" if g.waiver else f"waived: {said}"
    if counted == "advisory" and v.verdict != "pass":
        return "skipped", f"advisory, {v.verdict}: {said}"
    return "passed", said


def _case_facts(g: GuardLine) -> dict[str, Any]:
    v = g.verdict
    return {
        "verdict": v.verdict,
        "counts_as": g.counts_as if g.counts_as != v.verdict else None,
        "metric": v.metric,
        "scale": v.scale,
        "value": v.candidate.estimate,
        "reference": v.reference.estimate,
        "threshold": v.threshold,
        "difference": v.difference.estimate,
        "difference_lower": v.difference.lower,
        "p_value": v.p_value,
        "p_adjusted": None if g.row is None else g.row.p_adjusted,
        "worse_slices": ", ".join(worse_slices(v)) or None,
        "mde": v.mde,
        "n": v.n,
        "design": v.design,
        "tier": g.tier,
        "signature": v.signature,
    }


def gap_forest(v: Verdict) -> Forest | None:
    """The difference with its bounds, against no change, the margin and theta. Up is good."""
    estimate = v.difference.estimate
    if estimate is None:
        return None
    low, high = v.difference.lower, v.difference.upper
    shown = score_text(v)
    said = shown(estimate) + ("" if low is None or high is None else f"  [{shown(low)}, {shown(high)}]")
    rules = [GuideLine(at=0.0, name="no change")]
    if v.margin:
        rules.append(GuideLine(at=-v.margin, name=f"tolerated: margin {figure(v.margin)}", sort="margin"))
    if v.theta is not None:
        rules.append(GuideLine(at=-v.theta, name=f"matters: theta {figure(v.theta)}", sort="theta"))
    if v.theta is None and v.mde is not None:
        rules.append(GuideLine(at=-v.mde, name=f"smallest {WORSENING[v.higher_is_better]} it could find", sort="theta"))
    bar = Bar(name=f"change of {v.metric}", estimate=estimate, low=low, high=high, value_text=said)
    turned = "worse to the left, better to the right" + ("" if v.higher_is_better else " (turned: lower is better)")
    return Forest(title=f"Change of {v.metric} against the reference", bars=[bar], rules=rules, axis=turned)


def _difference(v: Verdict) -> Section | None:
    drawing = gap_forest(v)
    if drawing is None:
        return None
    shown = score_text(v)
    rows = [["difference", shown(v.difference.estimate)]]
    rows += [
        [f"{end} bound, one-sided {percent(1 - v.alpha)}", shown(bound)]
        for end, bound in (("lower", v.difference.lower), ("upper", v.difference.upper))
        if bound is not None
    ]
    rows += [[rule.name, shown(rule.at)] for rule in drawing.rules]
    table = PageTable(caption="The difference and its lines", heads=["what", "value"], rows=rows, numbers=(1,), folded="The numbers")
    note = f"Bounds: one-sided, {percent(1 - v.alpha)} each." if v.difference.lower is not None else ""
    return Section(
        title="How bad" if v.verdict == "regression" else "The change", blocks=[Picture(drawing=drawing, table=table, note=note)]
    )


# ---- the slices ------------------------------------------------------------------------------------------------------


def slices_section(v: Verdict) -> Section | None:
    """Each slice with its scores, its change and its corrected p-value; a forest of the changes where there is room for it."""
    if v.slicing is None or not v.slices:
        return None
    shown, several = score_text(v), len(v.slicing.by) > 1
    rows, bars = [], []
    for one in v.slices:
        name = f"{one.by} = {one.value}" if several else one.value
        gap, low, high = one.difference.estimate, one.difference.lower, one.difference.upper
        said = shown(gap) + ("" if low is None else f" [{shown(low)}]")
        found = drop_text(v, one.mde) if one.mde is not None else NONE
        word = "WORSE" if one.worse else one.note or ("critical" if one.critical else "")
        p = [p_beside(each, v.alpha) for each in (one.p_value, one.p_adjusted)]
        rows.append([name, f"{one.n:,}", shown(one.reference), shown(one.candidate), said, *p, found, word])
        if gap is not None:
            bars.append(Bar(name=name, estimate=gap, low=low, high=high, value_text=said))
    heads = [" or ".join(v.slicing.by), *SLICE_FIGURES]
    numbers = range(1, len(heads) - 1)
    legend = slices_legend(v)
    table = capped("Slices", heads, rows, numbers=numbers, seen=(HTML,))
    brief = [heads[0], *(SHORT.get(head, head) for head in heads[1:])]
    written = [
        PageTable(heads=brief, rows=rows, numbers=numbers, columns="left", narrow=32, seen=(TEXT,)),
        PageTable(heads=heads, rows=rows, numbers=numbers, ours=numbers, noun="slices", seen=(MARKDOWN,)),
    ]
    axis = "worse to the left, better to the right"
    drawing = Forest(title="Change of every slice", bars=bars[:DRAWN], rules=[GuideLine(at=0.0, name="no change")], axis=axis)
    drawn: list[PageBlock] = [Picture(drawing=drawing)] if drawing.scale is not None else []
    return Section(title=BY_SLICE, blocks=[*written, *drawn, table, Sentences(sentences=[legend], listed=False, tight=True, paint=DIM)])


def slices_legend(v: Verdict) -> str:
    """What the columns of the table of slices mean, and how alpha was shared."""
    assert v.slicing is not None
    bound = f"difference: positive is better, [one-sided {percent(1 - v.alpha)} lower bound, each by itself]"
    if not v.slicing.tested:
        return bound
    rest, whole = f"{v.slicing.tested:,} tested slice{'' if v.slicing.tested == 1 else 's'}", p_beside(v.slicing.p_overall, v.alpha)
    return (
        f"{bound}; adjusted p: {percent(v.slicing.share)} of alpha is for all items together (adjusted p {whole}), "
        f"the rest for {rest}; MDE: the smallest {WORSENING[v.higher_is_better]} that a slice could show by itself"
    )


def worse_slices(v: Verdict) -> list[str]:
    """The slices that are worse, by name."""
    return [f"{one.by} = {one.value}" for one in v.slices if one.worse]


# ---- the path of a run that could stop -------------------------------------------------------------------------------


def path_plane(stopping: EarlyStopping) -> Plane | None:
    """The statistic look by look between its boundaries: the upper one calls a regression, the lower one a pass."""
    looks = [look for look in stopping.looks or () if look.get("statistic") is not None]
    if not looks:
        return None
    if all(look.get("lambda") == -look["statistic"] for look in looks):
        return _lambda_plane(looks)
    from steelyard_old.render.pictures.plane import Line, plane_of

    named = (("upper", "upper boundary (reached: regression)", "goal"), ("lower", "lower boundary (reached: pass)", "other"))
    lines = [Line(name="statistic at each look", places=[(look["n"], look["statistic"]) for look in looks], dots=True)]
    for key, name, sort in named:
        places = [(look["n"], look[key]) for look in looks if look.get(key) is not None]
        if places:
            lines.append(Line(name=name, places=places, sort=sort, dots=True))
    return plane_of("The path of the run", "items asked", f"statistic ({stopping.design or 'sequential test'})", lines, zero=True)


def _lambda_plane(looks: Sequence[Mapping[str, Any]]) -> Plane:
    """Lambda look by look: above the upper line theta is ruled out, below the lower one the run is worse."""
    from steelyard_old.render.pictures.plane import Line, plane_of

    lines = [
        Line(name="Lambda at each look", places=[(look["n"], look["lambda"]) for look in looks], dots=True),
        Line(name="needed for a pass", places=[(look["n"], look["needed"]) for look in looks], sort="goal", dots=True),
        Line(name="reached: regression", places=[(look["n"], -look["upper"]) for look in looks], sort="other", dots=True),
    ]
    return plane_of("The path of the run", "items asked", "Lambda, the evidence against a drop of theta", lines, zero=True)


def path_section(stopping: EarlyStopping | None) -> Section | None:
    """The way to a decision, and the looks behind it."""
    drawing = None if stopping is None else path_plane(stopping)
    if stopping is None or drawing is None:
        return None
    keys = ("n", "statistic", "lower", "upper", "alpha_spent", "decision")
    rows = [[_cell(look.get(key)) for key in keys] for look in stopping.looks]
    heads = ["items", "statistic", "lower boundary", "upper boundary", "alpha spent", "decision"]
    table = capped("The looks", heads, rows, numbers=(0, 1, 2, 3, 4), folded="The looks")
    note = f"Stopped after {stopping.n_used:,} of {stopping.n_available:,} items" if stopping.n_used is not NOT_SET else ""
    return Section(title="Evidence over time", blocks=[Picture(drawing=drawing, table=table, note=note)])


def _cell(value: Any) -> str:
    return NONE if value is None else figure(value) if isinstance(value, int | float) else str(value)


# ---- the items that changed ------------------------------------------------------------------------------------------


def changed_items(v: Verdict, flips: ListedItems | None) -> Section | None:
    """How many items went which way, and the most telling of them; all of them, if they were given."""
    blocks: list[PageBlock] = [flip_table(v.flips, "the reference", "the run")] if v.flips is not None else []
    heads, rows = changed_cells(v)
    blocks += [PageTable(heads=heads, rows=rows, label=CHANGED_FIRST, seen=(TEXT,))] if rows else []
    heads, rows = changed_cells(v, most=None)
    shown = CHANGED_FIRST.capitalize()
    blocks += [PageTable(heads=heads, rows=rows, folded=shown, worth=FLIPPED, noun="flipped items", seen=(MARKDOWN,))] if rows else []
    told: Sequence[ChangedItem] = v.changed_items
    if v.verdict == "regression":
        told = sorted(v.changed_items, key=lambda item: item.change == "gained")
    note = ""
    if flips is not None:
        told, note = flips
    elif v.flips is not None and (all_of := v.flips.get("baseline_only", 0) + v.flips.get("candidate_only", 0)) > len(told):
        note = f"The {len(told):,} largest changes of {all_of:,}."
    blocks += item_tables(told, ("reference", "run"), note)
    return Section(title=CHANGED, blocks=blocks) if blocks else None


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
    out += [(SAMPLES, f"{r.n:,}", ""), ("Runs", f"{r.runs:,}", "")]
    spread = NONE if r.sigma_run is None else f"{r.sigma_run:.4g}"
    out.append(("Run-to-run deviation", spread, "not known from one run" if r.sigma_run is None and r.runs == 1 else ""))
    return out


# ---- the difference in signs -----------------------------------------------------------------------------------------


WIDTH = 48
_LEGEND = {"0": "no change", "M": "the {} that is tolerated", "T": "the {} that matters"}


def difference_bar(v: Verdict, *, width: int = WIDTH, ascii_only: bool = False) -> tuple[str, str]:
    """worse ··T··├───●────┤··0·· better, and what its signs mean; both empty where no difference is known.

    The numbers stand elsewhere: a picture is for the eye. An end that is not known is an arrow.
    """
    middle, low, high = map(_finite, (v.difference.estimate, v.difference.lower, v.difference.upper))
    if middle is None:
        return "", ""
    marks = {"0": 0.0} | ({"M": -v.margin} if v.margin else {}) | ({"T": -v.theta} if v.theta else {})
    axis = _axis([middle, *marks.values(), *(end for end in (low, high) if end is not None)])
    pen, cells = ASCII if ascii_only else UNICODE, [("." if ascii_only else "·")] * width
    first, last = 0 if low is None else axis.column(low, width), width - 1 if high is None else axis.column(high, width)
    cells[first : last + 1] = [pen.line] * (last + 1 - first)
    cells[first] = pen.to_left if low is None else pen.first
    cells[last] = pen.to_right if high is None else pen.last
    for letter, place in marks.items():  # a mark of the rule is worth more than the line below it, the estimate more than both
        cells[axis.column(place, width)] = letter
    cells[axis.column(middle, width)] = pen.point
    seen = [f"{letter} {_LEGEND[letter].format(WORSENING[v.higher_is_better])}" for letter in marks if letter in cells]
    bounds = f"{pen.first}{pen.line}{pen.last} {percent(1 - v.alpha)} bounds"
    return f"worse {''.join(cells)} better", "; ".join([f"{pen.point} difference", bounds, *seen])


def _finite(found: float | None) -> float | None:
    return found if found is not None and math.isfinite(found) else None


def _axis(places: list[float]) -> Axis:
    """From the leftmost to the rightmost place, with a little room: the eye wants to see that something is beyond the end."""
    low, high = min(places), max(places)
    room = (high - low) / 16 or abs(low) or 1.0
    return Axis(low - room, high + room, 0)


# ---- a verdict in words -----------------------------------------------------------------------------------------------


DECIMALS = {"percent": 3, "fraction": 4}
MOST_DECIMALS, HUGE = 9, 1e7
NEAR = 6  # digits after the point within which a p-value is told apart from alpha; nearer, its side is said instead
IDLE = " (not in force)"


def spec_text(spec: Mapping[str, Any]) -> str:
    """What justifies another accuracy: quant_algo=FP8, dtype=bfloat16."""
    return ", ".join(f"{key}={value}" for key, value in spec.items())


def guard_name(v: Verdict) -> str:
    """The guard by its names: task, model, spec."""
    spec = spec_text(v.spec)
    return f"{v.task}, {v.model}" + (f" [{spec}]" if spec else "")


def by_itself(v: Verdict, counted: str | None) -> str:
    """Its own verdict, where a suite took it for something else."""
    return f", {v.verdict} on its own" if counted is not None and counted != v.verdict else ""


# ---- numbers ---------------------------------------------------------------------------------------------------------


def score_text(v: Verdict) -> Callable[[float | None], str]:
    """Scores of one verdict share their decimals: as many as tell apart what the verdict tells apart."""
    value, reference = v.candidate.estimate, v.reference.estimate
    d, lower = v.difference.estimate, v.difference.lower
    pairs = [(value, v.threshold), (value, reference), (d, 0.0), (lower, None if v.theta is None else -v.theta)]
    known = [abs(x) for x in (value, reference, v.threshold) if x is not None and math.isfinite(x)]
    largest = max(known, default=0.0)
    if largest >= HUGE:
        return lambda x: NONE if x is None else f"{x:.9g}"
    start = DECIMALS.get(v.scale, 3)
    decimals = start if largest == 0 else max(start, min(3 - power_of_ten(largest), MOST_DECIMALS))
    while decimals < MOST_DECIMALS and any(look_alike(a, b, decimals) for a, b in pairs):
        decimals += 1
    return lambda x: NONE if x is None else fixed(x, decimals)


def p_beside(p: float | None, alpha: float) -> str:
    """A p-value whose digits never contradict the verdict: above alpha it does not print as alpha.

    >>> p_beside(0.0372, 0.05), p_beside(0.050001, 0.05), p_beside(0.05000000000000001, 0.05), p_beside(None, 0.05)
    ('0.0372', '0.050001', '> 0.05', '-')
    """
    if p is None:
        return NONE
    text = p_text(p)
    if p <= alpha or not text.replace(".", "").isdecimal() or float(text) > alpha:
        return text
    return next((t for t in (f"{p:.{digits}f}" for digits in range(4, NEAR + 1)) if float(t) > alpha), f"> {alpha:g}")


def given(x: float | None) -> str:
    """A number that a person chose, as they would write it."""
    return NONE if x is None else f"{x:.10g}"


# ---- the report ------------------------------------------------------------------------------------------------------


def facts(v: Verdict) -> list[list[Fact]]:
    """Name, value, meaning, in two groups: the scores, then the rule. Every field of the original's report is there."""
    return [_scores(v), _rule(v)]


def _scores(v: Verdict) -> list[Fact]:
    shown = score_text(v)
    floor = v.design == "threshold"
    rule = _threshold_words(v)
    stopped = v.details.stopping
    on_these = [f"on the same {v.n:,} items as the run"] if stopped is not None and v.n is not None else []
    said = "; ".join(part for part in (*on_these, provenance(v.reference)) if part)
    out = [(f"Reference {v.metric}", shown(v.reference.estimate), said)]
    if stopped is None:  # a rule of looks has no one threshold
        out.append(("Threshold (explicit floor)", given(v.threshold), rule) if floor else ("Threshold", shown(v.threshold), rule))
    out.append((f"Evaluated {v.metric}", shown(v.candidate.estimate), ""))
    if v.difference.estimate is not None:
        turned = "run minus reference" if v.higher_is_better else "reference minus run, so positive is better"
        turned += "; adjusted for early stopping, as are its bounds" if stopped is not None else ""
        out.append(("Difference", shown(v.difference.estimate), turned))
    out += [
        (f"  {end} bound (one-sided, {percent(1 - v.alpha)})", shown(bound), "")
        for end, bound in (("lower", v.difference.lower), ("upper", v.difference.upper))
        if bound is not None
    ]
    if v.ratio is not None:
        out.append(("Share of the reference", share_text(v.ratio.estimate), "run divided by reference"))
        ends = [(end, x) for end, x in (("lower", v.ratio.lower), ("upper", v.ratio.upper)) if x is not None]
        out += [(f"  {end} bound (one-sided, {percent(1 - v.alpha)})", share_text(x), "") for end, x in ends]
    elif (found := v.details.quotient) is not None:
        between = " to ".join(f"{found[end]:.4f}" for end in ("low", "high") if found.get(end) is not None)
        out.append(
            ("Run / reference", f"{found['estimate']:.4f}", f"{between} (one-sided bounds, {percent(1 - v.alpha)})" if between else "")
        )
    if not floor:
        p = None if v.test is None else v.test.p_value
        word = "not known" if p is None else "at most alpha" if p <= v.alpha else "above alpha"
        by = [] if v.test is None else [v.test.name]
        word = "not judged" if v.details.not_judged is not None else word
        out.append(("p-value", p_beside(p, v.alpha), "; ".join([*by, word])))
    return out


def _threshold_words(v: Verdict) -> str:
    """What the threshold means for this run, or why there is none."""
    note = v.details.threshold_note
    if v.threshold is None:
        return note or "not known"
    return f"a score {'below' if v.higher_is_better else 'above'} it is a regression" + (f", {note}" if note else "")


def _rule(v: Verdict) -> list[Fact]:
    better = (
        (SAMPLES, NONE if v.n is None else f"{v.n:,}", "" if v.n is not None else "not known"),
        ("Higher is better", "yes" if v.higher_is_better else "no", ""),
    )
    worse = WORSENING[v.higher_is_better]
    if v.design == "threshold":  # a floor set by hand has no error rates, and must not look as if it had
        return list(better)
    out = [
        ("Alpha (Type I: false positive)", given(v.alpha), ""),
        ("Beta (Type II: false negative)", given(v.beta), ""),
        ("Sigma (standard deviation)", NONE if v.sigma is None else figure(v.sigma, 5), "not known" if v.sigma is None else ""),
        *better,
    ]
    smallest = f"smallest {worse} detectable with {percent(1 - v.beta)} power"
    if (stopped := v.details.stopping) is not None:
        smallest = f"the {worse} it was planned to detect with {percent(1 - v.beta)} power"
        out += _stopping(stopped)
    out.append(("Minimum detectable effect", drop_text(v, v.mde), smallest if v.mde is not None else "not known"))
    if v.theta is not None:
        out.append(
            (
                "Theta",
                given(v.theta) if v.theta_relative is None else figure(v.theta),
                f"{worse} that matters{_of_reference(v.theta_relative)}",
            )
        )
    if v.margin:
        out.append(
            (
                "Margin",
                given(v.margin) if v.margin_relative is None else figure(v.margin),
                f"{worse} that is tolerated{_of_reference(v.margin_relative)}",
            )
        )
    if (bought := v.details.paired_would_find) is not NOT_SET and bought is not None:
        how = "if you check the run itself" if v.details.items_on_record else "if the reference kept item outcomes (steelyard record)"
        out.append(("Detectable if paired", drop_text(v, bought), how))
    return out


def _of_reference(share: float | None) -> str:
    return "" if share is None else f", {percent(share)} of the reference"


def share_text(ratio: float | None) -> str:
    """A run as a share of its reference, with digits enough to tell it from 100%.

    >>> share_text(0.98639), share_text(0.99951)
    ('98.64%', '99.951%')
    """
    return NONE if ratio is None else f"{100 * ratio:.{4 if abs(ratio - 1) >= 0.002 else 5}g}%"


def _stopping(stopped: EarlyStopping) -> list[Fact]:
    """How far a run went that could stop, and by which range of scores."""
    out = [
        ("Looks", f"{stopped.looks_made:,}", stopped.design),
        ("Alpha spent", figure(stopped.alpha_spent), ""),
        ("Items saved", f"{stopped.n_saved:,}", f"of {stopped.n_available:,}"),
    ]
    plan, ends = stopped.plan or {}, (stopped.rule or {}).get("range")
    if ends is not None and plan.get("range_from") is not None:
        sources = {"task": "of scores, as the task says", "scorer": "of scores, as the scorer says"}
        meaning = sources.get(plan["range_from"], "of scores, the lowest and the highest on record")
        out.append(("Range", f"{ends[0]:g} to {ends[1]:g}", meaning))
    answers, strata = plan.get("answers", 1), plan.get("strata")
    if answers > 1:
        out.append(("Answers on record", f"{answers:,}", "to each item, at least"))
    if strata is not None:
        pool = strata["stable"] + strata["wavering"]
        often = f"{strata['wavering']:,} unstable items of {pool:,} asked {strata['factor']:g} times as often, then reweighted"
        out.append(("Sampling", "", often))
    if stopped.disagreement is not NOT_SET and stopped.disagreement is not None:
        out.append(("Churn so far", f"{stopped.disagreement:.1%}", "of the items asked have another answer than the reference"))
    return out


def drop_text(v: Verdict, drop: float | None) -> str:
    """The size of a drop; a small one is never printed as 0."""
    text = score_text(v)(drop)
    return figure(drop) if drop and text != NONE and float(text) == 0 else text


def provenance(reference: JudgedSystem) -> str:
    """What the reference rests on: items, runs, when, by whom, where."""
    parts = [f"{reference.name}, run alongside"] if reference.name else []
    if reference.n is not None:
        parts.append(f"{reference.n:,} items")
    if reference.runs is not None and reference.runs != 1:
        spread = reference.sigma_run
        parts.append(f"{reference.runs:,} runs" + ("" if spread is None else f" (run-to-run deviation {figure(spread)})"))
    said = (("recorded", reference.recorded), ("by", reference.by), ("at", reference.commit))
    when = [f"{word} {value}" for word, value in said if value]
    parts += [" ".join(when)] if when else []
    parts += [f"line {reference.line}"] if reference.line else []
    return "; ".join(parts)


def notes(v: Verdict) -> list[tuple[str, str]]:
    """What else belongs to the verdict, a label and a sentence each."""
    target = " about these very items" if v.target == "runs" else ""
    out = [("design", f"{v.design}{target}; scale {v.scale}")]
    if v.flips is not None:
        out.append(("flips", flips_text(v.flips)))
    if (stopped := v.details.stopping) is not None and stopped.why:
        out.append(("stopping", stopped.why))
    out += [("rate", rate_text(row)) for row in v.details.rates or () if row.risen or row.candidate or row.reference]
    if v.claim:
        out.append(("scope", v.claim))
    if v.tier:
        out.append(("tier", v.tier))
    if v.waiver is not None:
        out.append(("waiver", waiver_text(v.waiver)))
    return out


def rate_text(row: AnswerRate) -> str:
    """A rate of answers that are none, then and now."""
    word = "significant rise" if row.risen else "no significant rise"
    then, now = percent(row.reference), percent(row.candidate)
    return f"{row.rate} {then} in the reference, {now} now (p = {figure(row.p_value)}): {word}"


def flips_text(flips: Mapping[str, int]) -> str:
    """Items whose answer went from right to wrong, back, and neither."""
    named = (("lost", "baseline_only"), ("gained", "candidate_only"), ("both right", "both"), ("both wrong", "neither"))
    return ", ".join(f"{word} {flips[key]:,}" for word, key in named if key in flips)


def waiver_text(waiver: Waiver) -> str:
    """Until when and why; one that has expired says so."""
    expired, date = waiver.in_force is False, waiver.until
    when = "expired" if expired and date is None else f"expired {date}" if expired else f"until {date}" if date else "no date"
    by = f" by {waiver.by}" if waiver.by else ""
    return f"{when}{by}: {waiver.reason or 'no reason given'}" + (IDLE if expired else "")


# ---- what to do ------------------------------------------------------------------------------------------------------


def next_step(v: Verdict, counted: str | None = None) -> tuple[str, list[str]]:
    """A sentence, and the parts of a command that may follow it.

    `counted` is what a suite took the verdict for; a drop that is waived, advisory or unconfirmed is nobody's to accept today.
    """
    word = counted or v.verdict
    if word == "regression":
        if v.design == "threshold":
            where = f" at line {v.reference.line} of the task's file" if v.reference.line else ""
            return f"The threshold was set by hand. If this change is intended, edit the entry{where}.", []
        lost = "Look at the lost items below. " if any(item.change == "lost" for item in v.changed_items) else ""
        if v.reference.name:  # a model that was asked alongside: there is no record to update
            return lost.strip(), []
        if v.details.stopping is not None:
            return f"{lost}If this change is intended, run all items and update the reference with that run:", accept_command(v)
        return f"{lost}If this change is intended, update the reference:", accept_command(v)
    if word == "inconclusive":
        return needed_text(v), []
    if word != "pass":
        return "", []
    lower = v.difference.lower
    if v.theta is not None and lower is not None and lower < 0:
        return f"It may still be worse by up to {score_text(v)(-lower)} (one-sided, {percent(1 - v.alpha)}).", []
    better = lower is not None and lower > 0  # no drop could have been missed then
    if v.theta is None and v.mde is not None and not better and "missed" not in v.conclusion:
        return f"A {WORSENING[v.higher_is_better]} below {drop_text(v, v.mde)} could have been missed.", []
    return "", []


def accept_command(v: Verdict) -> list[str]:
    """The command that accepts the run as the new reference, each part with its value. Names are quoted for a shell."""
    spec = [f"--spec {shlex.quote(f'{key}={value}')}" for key, value in v.spec.items()]
    named = [f"--task {shlex.quote(v.task)}", f"--model {shlex.quote(v.model)}"]
    return ["steelyard record RUN", *named, *spec, "--update", '--reason "..."']


def needed_text(v: Verdict) -> str:
    """How many items would decide."""
    need = v.needed or Needed(n_items=None)
    why = f": {need.why}" if need.why else ""
    if need.n_items is not None:
        if need.more == 0:
            return f"{need.n_items:,} items are usually enough and this run has them, but its result is borderline{why}."
        return f"Needed: {need.n_items:,} items" + (f", {need.more:,} more" if need.more else "") + f"{why}."
    if need.items_each is not None:
        return f"Needed: {need.items_each:,} items in the run and in the reference{why}."
    if need.repeats is not None:
        return f"Needed: {need.repeats:,} repeats of each item{why}."
    return f"The number of items needed is not known{why}."
