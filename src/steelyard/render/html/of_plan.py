"""The page of a plan: how many, the curve behind it, what if the assumption is off, and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.render.html.of_verdict import fact_block
from steelyard.render.html.pieces import Block, PageSection, PageTable, Part, Picture, capped, joined
from steelyard.render.pictures.plane import curve_plane
from steelyard.render.plan import columns_of, facts, tables
from steelyard.results.plan import Plan


def plan_part(plan: Plan) -> Part:
    """The plan as a part of a page."""
    blocks: list[Block] = []
    if plan.curve is not None and plan.curve.x:
        curve = plan.curve
        rows = [[f"{x:,.6g}", f"{y:.4g}"] for x, y in sorted(zip(curve.x, curve.y, strict=True))]
        table = capped("The curve", [curve.x_label, curve.y_label], rows, numbers=(0, 1), folded="The numbers")
        blocks.append(Picture(drawing=curve_plane(curve, f"{curve.y_label} against {curve.x_label}"), table=table))
    return Part(
        word="planned",
        about=f"{plan.goal}{f', {plan.design}' if plan.design else ''}",
        lead=plan.conclusion,
        sections=joined(
            PageSection(title="How many", blocks=[*blocks, fact_block("The plan in numbers", [facts(plan)])] if facts(plan) else blocks),
            *(PageSection(title=title.capitalize(), blocks=[rows_table(title.capitalize(), rows)]) for title, rows in tables(plan)),
        ),
        warnings=plan.warnings,
        methods=[("assumed", plan.assumed)] if plan.assumed else [],
        signature=plan.signature,
    )


def rows_table(caption: str, rows: Sequence[Mapping[str, Any]]) -> PageTable:
    """Rows with the same keys as a table; the numbers of a column share their decimals."""
    columns = columns_of(rows, str)
    cells = [[column.cells[i].strip() for column in columns] for i in range(len(rows))]
    return capped(caption, [column.head for column in columns], cells, numbers=[i for i, column in enumerate(columns) if column.numeric])
