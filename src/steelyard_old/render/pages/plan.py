"""The page of a plan: the answer in a sentence, the numbers behind it, the curve, what if, and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.digits import NONE, figure, nearest, power_of_ten
from steelyard_old.render.page import (
    ALL,
    HTML,
    MARKDOWN,
    TEXT,
    WRITTEN,
    Fact,
    FactList,
    Heading,
    Notes,
    Page,
    PageBlock,
    Picture,
    Section,
    Sentences,
    capped,
    filled,
)
from steelyard_old.render.pictures.plane import Plane, curve_plane
from steelyard_old.results.plan import EFFECT_NAMES, Plan

MONEY = {"money", "cost", "price", "costs"}
PRECISE = 7  # digits of theta and of the threshold, as other programs print them
MOST_DECIMALS, ONE_SCALE = 6, 1e5  # of a column of fractions; beyond this ratio its numbers share no number of decimals
PRINTED = {"drop, wavering": "drop, unstable"}  # the words of JSON, and those of every page
Row = Mapping[str, Any]


def plan_page(plan: Plan, _: object) -> Page:
    """The plan as a page."""
    found = facts(plan)
    numbers: list[PageBlock] = [FactList(caption="The plan in numbers", groups=[found], plain=True, seen=WRITTEN)] if found else []
    shown: list[PageBlock] = [FactList(caption="The plan in numbers", groups=[found], seen=(HTML,))] if found else []
    assumed: list[PageBlock] = [
        Notes(pairs=[("assumed", plan.assumed)], seen=(TEXT,)),
        Sentences(sentences=[f"assumed: {plan.assumed}"], listed=False, seen=(MARKDOWN,)),
    ]
    return Page(
        word="planned",
        about=f"{plan.goal}{f', {plan.design}' if plan.design else ''}",
        lead=plan.conclusion,
        sections=filled(
            Section(title="How many", blocks=[*numbers, *_curve(plan), *shown, *_advice_block(plan)]),
            *(_rows(title, rows) for title, rows in tables(plan)),
            Section(title="", blocks=assumed if plan.assumed else []),
        ),
        warnings=plan.warnings,
        methods=[("assumed", plan.assumed)] if plan.assumed else [],
        signature=plan.signature,
    )


def _curve(plan: Plan) -> list[PageBlock]:
    curve = plan.curve
    if curve is None:
        return []
    if not curve.x:
        return [Picture(curve=curve, seen=WRITTEN)]
    rows = [[f"{x:,.6g}", f"{y:.4g}"] for x, y in sorted(zip(curve.x, curve.y, strict=True))]
    table = capped("The curve", [curve.x_label, curve.y_label], rows, numbers=(0, 1), folded="The numbers")
    return [Picture(drawing=curve_plane(curve, f"{curve.y_label} against {curve.x_label}"), table=table, curve=curve, seen=ALL)]


def _advice_block(plan: Plan) -> list[PageBlock]:
    """What training scores beside the test scores say, and how to make a split."""
    gap, how = plan.details.gap, plan.details.how
    said = [*([gap.reading] if gap else []), *([how] if how else [])]
    return [Sentences(sentences=said, listed=False, hang="")] if said else []


def plan_plane(plan: Plan) -> Plane | None:
    """The curve behind the answer."""
    return None if plan.curve is None or not plan.curve.x else curve_plane(plan.curve, plan.conclusion)


def _rows(title: str, rows: Sequence[Row]) -> Section:
    columns = columns_of(rows)
    cells = [[column.cells[i] for column in columns] for i in range(len(rows))]
    numbers = [i for i, column in enumerate(columns) if column.numeric]
    table = capped(
        title.capitalize(), [column.head for column in columns], cells, numbers=numbers, label=title, columns="wrapped", noun="rows"
    )
    return Section(title=title.capitalize(), blocks=[Heading(name=title, strong=True, seen=(MARKDOWN,)), table])


# ---- the numbers behind the answer -----------------------------------------------------------------------------------


def tables(plan: Plan) -> list[tuple[str, Sequence[Row]]]:
    """The tables that the plan has, each with its title."""
    around = {"train": "larger sizes", "split": "usual splits", "designs": "how runs that stop early end"}.get(plan.goal, "sizes around it")
    named = (
        ({"train": "training and test score", "split": "other totals"}.get(plan.goal, "designs"), plan.rows),
        (around, plan.steps),
        ("if the assumption is off", plan.sensitivity),
    )
    return [(title, rows) for title, rows in named if rows]


def facts(plan: Plan) -> list[Fact]:
    """What is known: its name, its value, and what it means; the same in text and in Markdown."""
    out: list[Fact] = [("design", plan.design, "")] if plan.design else []
    out += [*_sizes(plan), *_drop(plan)]
    ruled, change = plan.goal == "rule-out", f"a {_effect_name(plan)} of theta"
    if plan.alpha is not None:
        out.append(("alpha", figure(plan.alpha), "chance of ruling theta out although it is real" if ruled else "chance of a false alarm"))
    if plan.power is not None:
        told = "chance of ruling theta out when nothing changed" if ruled else f"chance of finding {change}"
        out.append(("power", figure(plan.power), told))
    elif plan.beta is not None:
        out.append(("beta", figure(plan.beta), "chance of not ruling theta out" if ruled else f"chance of missing {change}"))
    if plan.assurance is not None:
        out.append(("assurance", figure(plan.assurance), "chance that this many items are enough"))
    if plan.expected_n is not None:
        early = "labels on average, when labelling stops as soon as it is enough"
        if batch := plan.details.batch:
            early += " (looking after every item)" if batch == 1 else f" (looking after every {batch:,} items)"
        if plan.goal == "designs":
            early = "items on average, when stopping early and nothing changed"
        elif covered := plan.details.stopped_coverage:
            early += f"; the interval then has {covered:.1%} coverage"
        out.append(("expected", figure(plan.expected_n), early))
    return out


def _sizes(plan: Plan) -> list[Fact]:
    if plan.goal == "split":
        return [("training items", f"{plan.details.train:,}", ""), ("test items", f"{plan.details.test:,}", "")]
    out: list[Fact] = []
    bought = plan.labels is not None and plan.labels != plan.n
    if plan.n is not None:
        named = "training items" if plan.goal == "train" else "items to label" if plan.labels == plan.n else "items"
        first = plan.n_first is not None and plan.n_stable == plan.n != plan.n_first
        told = f"enough, as is every larger number; {plan.n_first:,} is the first" if first and plan.n_first is not None else ""
        out.append((named, f"{plan.n:,}", told))
    if plan.n_first is not None and plan.n_first != plan.n and plan.n_stable != plan.n:
        out.append(("first size", f"{plan.n_first:,}", "enough, but some larger number may not be"))
    if plan.n_stable is not None and plan.n_stable != plan.n:
        out.append(("stable size", f"{plan.n_stable:,}", "enough, as is every larger number"))
    if bought and plan.labels is not None:
        share = plan.details.relevant_share
        among = f"of which about {nearest(share * plan.labels):,} count" if isinstance(share, float) else ""
        out.append(("labels to buy", f"{plan.labels:,}", among))
    return out


ENDS = {
    "drop": "a score below it is a regression",
    "rise": "a score above it is significant",
    "difference": "a score below it, or as far above the reference, is significant",
}


def _effect_name(plan: Plan) -> str:
    """A drop, or what else the plan says that it looks for."""
    return EFFECT_NAMES[plan.details.alternative or "less"]


def _drop(plan: Plan) -> list[Fact]:
    out: list[Fact] = []
    if plan.theta is not None:
        power = "" if plan.power is None else f" with power {figure(plan.power)}"
        told = f"smallest {_effect_name(plan)} {'ruled out' if plan.goal == 'rule-out' else 'found'}{power}"
        out.append(("theta", figure(plan.theta, PRECISE), "" if plan.goal == "designs" else told))
    if plan.threshold_offset is not None:
        sign = "-" if plan.threshold_offset < 0 else "+"
        out.append(("threshold", f"reference {sign} {figure(abs(plan.threshold_offset), PRECISE)}", ENDS[_effect_name(plan)]))
    return out


# ---- tables of rows with the same keys -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanColumn:
    """A head and its cells; numbers share their decimals."""

    head: str
    cells: list[str]
    numeric: bool


def columns_of(rows: Sequence[Row]) -> list[PlanColumn]:
    """The columns of a table; one that is empty in every row is left out."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    known = [key for key in keys if any(row.get(key) is not None for row in rows)]
    return [_column(key, [row.get(key) for row in rows]) for key in known]


def _column(key: str, values: Sequence[Any]) -> PlanColumn:
    known = [value for value in values if value is not None]
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)
    head = key.replace("_", " ")
    if not numeric:
        return PlanColumn(head=head, cells=[_words(value) for value in values], numeric=False)
    if MONEY & set(key.replace("_", " ").split()):
        texts = [NONE if value is None else f"{value:,.2f}" for value in values]
    else:
        decimals = _decimals([value for value in known if isinstance(value, float)])
        texts = [NONE if value is None else _number(value, decimals) for value in values]
    return PlanColumn(head=head, cells=texts, numeric=True)


def _words(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_words(part) for part in value)}]"
    return figure(value) if isinstance(value, int | float) else PRINTED.get(str(value), str(value))


def _number(value: float, decimals: int | None) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return figure(value) if decimals is None else f"{value:,.{decimals}f}"


def _decimals(values: Sequence[float]) -> int | None:
    """So many that the smallest shows four digits, without zeros that end all of them; None where one number does not fit all."""
    sizes = [abs(value) for value in values if value]
    if not sizes or max(sizes) > ONE_SCALE * min(sizes):
        return None
    decimals = max(3 - power_of_ten(min(sizes)), 0)
    if decimals > MOST_DECIMALS:
        return None
    while decimals and all(f"{value:.{decimals}f}".endswith("0") for value in values):
        decimals -= 1
    return decimals
