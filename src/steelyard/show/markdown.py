"""Blocks as Markdown (of GitHub): details folded away."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.show.blocks import Block, Curve, Facts, Head, Notes, Span
from steelyard.show.digits import cell, places


def clean(said: str) -> str:
    for sign in "\\`*_[]<>|~":
        said = said.replace(sign, "\\" + sign)
    return " ".join(said.split())


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]) -> str:
    lines = [heads, ["---:" if right else "---" for right in numbers], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def block(b: Block) -> str:
    if isinstance(b, Head):
        return "\n\n".join(
            [f"### {f'{b.badge}: ' if b.badge else ''}{clean(b.text)}{f': {clean(b.lead)}' if b.lead else ''}", *map(clean, b.notes)]
        )
    if isinstance(b, Notes):
        return "\n\n".join(x if "`" in x else clean(x) for x in b.lines)
    if isinstance(b, Facts):
        table = grid(("", ""), [[clean(n), clean(cell(v))] for n, v in b.rows if v is not None], (False, False))
        return f"**{clean(b.title)}**\n\n{table}" if b.title else table
    if isinstance(b, Curve):
        return grid([clean(b.x), clean(b.y)], [[cell(p[0]), cell(p[1], 4)] for p in b.points], (True, True))
    decimals = places(x for row in b.rows for x in row)
    keep = [i for i in range(len(b.heads)) if not any(isinstance(row[i], Span) for row in b.rows)]
    rows = [[clean(cell(row[i], decimals)) for i in keep] for row in b.rows]
    numbers = [any(isinstance(row[i], (int, float)) for row in b.rows) for i in keep]
    table = grid([clean(b.heads[i]) for i in keep], rows, numbers)
    return f"**{clean(b.title)}**\n\n{table}" if b.title else table


def markdown(blocks: Sequence[Block]) -> str:
    out = [block(b) for b in blocks if getattr(b, "level", 0) <= 0]
    rest = [block(b) for b in blocks if getattr(b, "level", 0) > 0]
    if rest:
        out.append("<details><summary>Details</summary>\n\n" + "\n\n".join(rest) + "\n\n</details>")
    return "\n\n".join(out) + "\n"
