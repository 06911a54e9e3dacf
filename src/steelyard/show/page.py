"""Blocks as one self-contained page: light and dark, phone and desktop, no library, nothing loaded from elsewhere."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from steelyard.show.blocks import Block, Curve, Facts, Head, Notes, Span, Table
from steelyard.show.digits import axis, cell, number, places, tick, ticks

SHORT = 12  # rows of a long table before "Show all"


class Safe(str):
    """Text that is already HTML."""


def h(tag: str, *inside: object, **attributes: object) -> Safe:
    """An element; whatever is not Safe is escaped. Attributes: class_, data_label; None leaves one out, True has no value."""
    names = ((k.rstrip("_").replace("_", "-"), v) for k, v in attributes.items() if v is not None and v is not False)
    said = "".join(f" {k}" if v is True else f' {k}="{html.escape(str(v))}"' for k, v in names)
    body = "".join(x if isinstance(x, Safe) else html.escape(str(x), quote=False) for x in inside)
    return Safe(
        f"<{tag}{said}>" if tag in ("line", "circle", "polyline", "polygon", "meta") and not body else f"<{tag}{said}>{body}</{tag}>"
    )


def svg(tag: str, **attributes: object) -> Safe:
    return Safe(h(tag, **attributes)[:-1] + "/>") if tag != "text" else h(tag, **attributes)


def join(parts: Any) -> Safe:
    return Safe("".join(parts))


def inline(said: str) -> Safe:
    """`code` in a sentence; p < 0.01 is not broken."""
    said = re.sub(r"\bp ([<=]) ", "p\u00a0\\1\u00a0", said)
    return join(h("code", part) if i % 2 else Safe(html.escape(part, quote=False)) for i, part in enumerate(re.split(r"`([^`]+)`", said)))


def percent(x: float, low: float, high: float) -> str:
    return f"{100 * (x - low) / (high - low):.2f}%"


def marks(low: float, high: float, mark: tuple[float, str] | None) -> tuple[Safe, Safe]:
    """Lines of the axis and the mark for one bar; and the numbers of the axis."""
    at = [t for t in ticks(low, high, 3) if low < t < high]
    step = at[1] - at[0] if len(at) > 1 else (high - low) / 3
    lines = [svg("line", x1=percent(t, low, high), x2=percent(t, low, high), y1=0, y2=28, class_="grid") for t in at]
    if mark:
        lines.append(svg("line", x1=percent(mark[0], low, high), x2=percent(mark[0], low, high), y1=0, y2=28, class_="mark"))
    return join(lines), join(h("text", tick(t, step), x=percent(t, low, high), y=0, dy=11) for t in at)


def bar(span: Span, low: float, high: float, lines: Safe, numbers: Safe) -> Safe:
    if span.at is None:
        return Safe("")
    parts = [lines]
    if span.low is not None and span.high is not None:
        parts.append(svg("line", x1=percent(span.low, low, high), x2=percent(span.high, low, high), y1=14, y2=14, class_="span"))
    parts.append(svg("circle", cx=percent(span.at, low, high), cy=14, r=5))
    under = h("svg", numbers, class_="axis under", height=14, aria_hidden="true")
    return join([h("svg", *parts, class_="bar", height=28, aria_hidden="true"), under])


def tone_of(value: Any) -> str | None:
    return {
        "regression": "bad",
        "lost": "bad",
        "wrong": "bad",
        "pass": "good",
        "gained": "good",
        "right": "good",
        "inconclusive": "unsure",
    }.get(str(value))


def raw(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else value.at if isinstance(value, Span) else getattr(value, "low", None)


def table(b: Table) -> Safe:
    decimals = places(x for row in b.rows for x in row)
    columns = list(zip(*b.rows, strict=True))
    kinds = [
        "bar" if any(isinstance(x, Span) for x in c) else "num" if any(isinstance(x, (int, float)) or hasattr(x, "low") for x in c) else ""
        for c in columns
    ]
    keep = [i for i, c in enumerate(columns) if kinds[i] or any(c)]
    kinds = [kind or ("short" if all(len(str(x)) <= 14 for x in c) else "") for kind, c in zip(kinds, columns, strict=True)]
    kinds[keep[0]] = ""
    ends = {i: axis([x for x in columns[i] if isinstance(x, Span)], b.mark and b.mark[0]) for i in keep if kinds[i] == "bar"}
    drawn = {i: marks(*ends[i], b.mark) for i in ends}
    heads = []
    for i in keep:
        if kinds[i] == "bar":
            heads.append(
                h(
                    "th",
                    h("span", "interval, drawn", class_="vh"),
                    h("svg", drawn[i][1], class_="axis", height=14, aria_hidden="true"),
                    class_="bar",
                    scope="col",
                )
            )
        elif len(b.rows) > 3 and b.heads[i]:
            heads.append(h("th", h("button", b.heads[i], type="button"), scope="col", class_=kinds[i] or None, aria_sort="none"))
        else:
            heads.append(h("th", b.heads[i] or h("span", "name", class_="vh"), scope="col", class_=kinds[i] or None))
    rows = []
    for n, row in enumerate(b.rows):
        cells = []
        for i in keep:
            x = row[i]
            inside: Any = bar(x, *ends[i], *drawn[i]) if isinstance(x, Span) else cell(x, decimals)
            if isinstance(x, str) and (tone := tone_of(x)):
                inside = h("span", x, class_=f"word {tone}")
            tag, extra = ("th", {"scope": "row"}) if i == keep[0] else ("td", {})
            cells.append(
                h(
                    tag,
                    inside,
                    class_=kinds[i] or None,
                    role="rowheader" if tag == "th" else "cell",
                    data_label=b.heads[i] or None,
                    data_v=raw(x),
                    **extra,
                )
            )
        rows.append(h("tr", *cells, role="row", class_="more" if n >= SHORT else None))
    title = h("h2", b.title[:1].upper() + b.title[1:]) if b.title else Safe("")
    named = (
        h("p", h("span", class_="key"), f" {b.mark[1]}: {number(b.mark[0], decimals) if b.mark[0] else 0}", class_="legend")
        if b.mark
        else Safe("")
    )
    every = h("button", f"Show all {len(b.rows):,}", type="button", class_="all") if len(b.rows) > SHORT else Safe("")
    whole = h(
        "table",
        h("thead", h("tr", *heads, role="row")),
        h("tbody", *rows),
        role="table",
        class_="many" if len(keep) > 5 else "narrow" if len(keep) < 3 else None,
    )
    return h("section", title, whole, every, named)


def curve(b: Curve) -> Safe:
    """Text keeps its size at any width: labels stand at percentages, the line is stretched beneath them."""
    xs, ys = [p[0] for p in b.points], [y for p in b.points for y in p[1:]] + ([b.mark[0]] if b.mark else [])
    (x0, x1), (y0, y1) = (
        (low - pad * (high - low), high + pad * (high - low)) for low, high, pad in ((min(xs), max(xs), 0.03), (min(ys), max(ys), 0.08))
    )

    def px(x: float) -> str:
        return percent(x, x0, x1)

    def py(y: float) -> str:
        return percent(y1 - y, 0, y1 - y0)

    parts = []
    for values, across in ((ticks(y0, y1, 4), True), (ticks(x0, x1, 5), False)):
        step = values[1] - values[0] if len(values) > 1 else 1.0
        for t in values:
            if across:
                parts += [
                    svg("line", x1="0", x2="100%", y1=py(t), y2=py(t), class_="grid"),
                    h("text", tick(t, step), x=-8, y=py(t), dy=4, class_="y"),
                ]
            else:
                parts.append(h("text", tick(t, step), x=px(t), y="100%", dy=18))
    if b.mark:
        parts.append(svg("line", x1="0", x2="100%", y1=py(b.mark[0]), y2=py(b.mark[0]), class_="mark"))
    stretched = " ".join(f"{100 * (p[0] - x0) / (x1 - x0):.2f},{100 * (y1 - p[1]) / (y1 - y0):.2f}" for p in b.points)
    line = svg("polyline", points=stretched, vector_effect="non-scaling-stroke")
    parts.append(h("svg", line, viewBox="0 0 100 100", preserveAspectRatio="none", width="100%", height="100%"))
    for p in b.points:
        if len(p) == 4:
            parts.append(svg("line", x1=px(p[0]), x2=px(p[0]), y1=py(p[2]), y2=py(p[3]), class_="span"))
        parts.append(svg("circle", cx=px(p[0]), cy=py(p[1]), r=4, class_="dot" if b.dot and b.dot[:2] == p[:2] else None))
    legend = [h("span", h("span", class_="key"), f" {b.mark[1]}: {number(b.mark[0])}")] if b.mark else []
    legend += [h("span", h("span", class_="key dot"), f" {b.dot[2]}: {number(b.dot[0], 0)} {b.x}, {number(b.dot[1])}")] if b.dot else []
    said = f"{b.title}: {b.y} by {b.x}, " + "; ".join(f"{number(p[0], 0)}: {number(p[1], 4)}" for p in b.points)
    plot = h("div", h("svg", *parts, height=220, role="img", aria_label=said), class_="plot")
    named = h("p", *legend, class_="legend") if legend else ""
    return h("section", h("h2", b.title), h("p", b.y, class_="ylabel"), plot, h("p", b.x, class_="xlabel"), named)


def facts(b: Facts) -> Safe:
    rows = [(n, v) for n, v in b.rows if v not in (None, "")]
    inside = h("dl", *(h("div", h("dt", n), h("dd", cell(v))) for n, v in rows))
    return h("details", h("summary", b.title), inside) if b.level else h("section", h("h2", b.title) if b.title else "", inside)


def block(b: Block) -> Safe:
    if isinstance(b, Head):
        badge = h("span", b.badge, class_=f"badge {b.tone}") if b.badge else Safe("")
        lead = h("p", inline(b.lead), class_="lead") if b.lead else Safe("")
        return h("header", badge, h("h1", b.text), lead, *(h("p", inline(n)) for n in b.notes), class_=b.tone or None)
    if isinstance(b, Notes):
        return h("div", *(h("p", inline(line)) for line in b.lines), class_=b.kind)
    return table(b) if isinstance(b, Table) else curve(b) if isinstance(b, Curve) else facts(b)


def fragment(blocks: Sequence[Block]) -> Safe:
    """What a notebook shows: notes about flags are for the terminal."""
    shown = [b for b in blocks if getattr(b, "level", 0) >= 0 and not (isinstance(b, Notes) and b.kind == "note" and "--" in b.lines[-1])]
    return join(block(b) for b in shown if getattr(b, "rows", True))


def page(title: str, blocks: Sequence[Block], kind: str = "") -> str:
    style, script = ((files(__package__) / name).read_text("utf-8") for name in ("page.css", "page.js"))
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("title", title),
        h("style", Safe(style)),
    )
    foot = h("footer", "steelyard 0.2")
    return "<!doctype html>\n" + h("html", head, h("body", h("main", fragment(blocks), foot), h("script", Safe(script))), lang="en") + "\n"
