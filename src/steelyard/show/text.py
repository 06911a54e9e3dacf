"""Blocks as text: one screen, or everything."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

from steelyard.show.blocks import Block, Curve, Facts, Head, Notes, Span, Table
from steelyard.show.digits import axis, cell, number, places, safe

BAR, LINES = 21, 24
COLOURS = {"good": "32", "bad": "31", "unsure": "33"}


def bar(span: Span, low: float, high: float) -> str:
    if span.at is None:
        return ""

    def spot(x: float) -> int:
        return max(0, min(BAR - 1, round((x - low) / (high - low) * (BAR - 1))))

    line = [" "] * BAR
    if span.low is not None and span.high is not None:
        first, last = spot(span.low), spot(span.high)
        line[first : last + 1] = ["├", *"─" * (last - first - 1), "┤"] if last > first else ["│"]
    line[spot(span.at)] = "●"
    return "".join(line).rstrip()


def width(said: str) -> int:
    """How many columns of a terminal a text takes: wide letters two, marks none."""
    if said.isascii():
        return len(said)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in said)


def clipped(said: str, wide: int) -> str:
    """A text in so many columns."""
    if width(said) <= wide:
        return said
    out = ""
    for c in said:
        if width(out + c) > wide - 1:
            break
        out += c
    return out + "…"


def padded(said: str, wide: int, right: bool) -> str:
    """A text filled up to so many columns."""
    space = " " * max(0, wide - width(said))
    return space + said if right else said + space


def cells(table: Table, rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Every cell as text: the decimals of a row are those of its interval, else the table's; one axis for a column of bars."""
    usual = places(x for row in table.rows for x in row)
    columns = list(zip(*table.rows, strict=True))
    axes = [axis([x for x in column if isinstance(x, Span)], table.mark and table.mark[0]) for column in columns]
    own = [places(row) if places(row) is not None else usual for row in rows]
    return [
        [bar(x, *axes[i]) if isinstance(x, Span) else cell(x, decimals) for i, x in enumerate(row)]
        for row, decimals in zip(rows, own, strict=True)
    ]


def lines_of(table: Table, details: bool, first: int, wide: int) -> list[str]:
    """Too wide: the bars go first, then the widest column is cut."""
    rows = table.rows if details else table.rows[: table.short]
    said = cells(table, rows)
    heads = [] if table.plain and not details else [list(table.heads)]
    right = [i > 0 and all(isinstance(row[i], (int, float)) or row[i] is None for row in rows) for i in range(len(table.heads))]
    widths = [max((width(row[i]) for row in [*heads, *said]), default=0) for i in range(len(table.heads))]
    pad = "  " if table.title else ""
    widths[0] = max(widths[0], first - len(pad))
    keep = [i for i, width in enumerate(widths) if width]

    def whole() -> int:
        return len(pad) + sum(widths[i] + 2 for i in keep) - 2

    if whole() > wide:
        keep = [i for i in keep if not isinstance(rows[0][i], Span)]
    while whole() > wide:
        widths[max(keep, key=lambda i: widths[i])] -= 1
    out = [table.title] if table.title else []
    for row in [*heads, *said]:
        shown = (padded(clipped(row[i], widths[i]), widths[i], right[i]) for i in keep)
        out.append((pad + "  ".join(shown)).rstrip())
    if table.more and len(table.rows) > len(rows):
        out.append(f"{pad}...{number(len(table.rows) - len(rows))} more: {table.more}")
    return out


def text(blocks: Sequence[Block], *, details: bool = False, wide: int = 100, colour: bool = False) -> str:
    shown = [b for b in blocks if getattr(b, "level", 0) in ((0, 1) if details else (-1, 0))]
    tables = [b for b in shown if isinstance(b, Table) and b.rows and isinstance(b.rows[0][1], float)]
    first = min(30, max((len(str(r[0])) + 2 * bool(t.title) for t in tables for r in t.rows[: None if details else t.short]), default=0))
    parts: list[list[str]] = []
    for block in shown:
        if isinstance(block, Head):
            badge = f"{block.badge}  " if block.badge else ""
            line = f"{block.text}: {block.lead}" if block.lead else block.text
            wrapped = (x for n in (badge + safe(line), *block.notes) for x in textwrap.wrap(n, wide, break_on_hyphens=False)[:3])
            parts.append([clipped(x, wide) for x in wrapped])
            if colour and block.tone:
                parts[-1][0] = f"\x1b[1;{COLOURS[block.tone]}m{parts[-1][0]}\x1b[0m"
        elif isinstance(block, Table):
            if block.rows:
                parts.append(lines_of(block, details, first if block in tables else 0, wide))
        elif isinstance(block, Facts):
            name = max(len(n) for n, _ in block.rows)
            parts.append(
                [block.title] * bool(block.title)
                + [f"{'  ' * bool(block.title)}{n:<{name}}  {cell(v)}" for n, v in block.rows if v is not None]
            )
        elif isinstance(block, Notes):
            lines = [
                re.sub(r"(All classes|How this was computed|Pairs): --details", "", line).strip() if details else line
                for line in block.lines
            ]
            said = [x.replace("`", "") for line in lines for x in ([line] if "`" in line else textwrap.wrap(safe(line), wide))]
            if parts and block.kind == "note" and shown.index(block) == len(shown) - 1 and not details:
                parts[-1] += said
            else:
                parts.append(list(said))
        elif isinstance(block, Curve) and details:
            parts.append([block.title, *(f"  {block.x} {number(p[0])}  {block.y} {number(p[1], 4)}" for p in block.points)])
    out = [line for i, part in enumerate(parts) for line in ([""] * bool(i) + part)]
    if not details and len(out) > LINES:
        out = [*out[: LINES - 1], "...: --details"]
    return "\n".join(out) + "\n"
