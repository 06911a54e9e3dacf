"""A leaderboard for people: systems with their intervals and tiers, the pairs, and a drawing of the critical difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.render import safe
from steelyard.render.comparison import columns, p_is, p_text
from steelyard.render.digits import count_text, row_texts
from steelyard.render.layout import wrap
from steelyard.render.markdown import markdown_table
from steelyard.render.terminal import DIM, Terminal, warning_lines
from steelyard.render.text import RowBlock, standard_errors, table_lines
from steelyard.results.comparison import Leaderboard
from steelyard.results.measurement import Row
from steelyard.rounding import nearest


def leaderboard_text(board: Leaderboard, *, width: int = 80, color: bool = False, ascii_only: bool = False, details: bool = False) -> str:
    """The leaderboard as lines."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    rows = [_row(board, r) for r in board.rows]
    names = [f"{r['tier']}. {look.name(r['name'])}" for r in board.rows]
    pairs = [["baseline", "candidate", "difference", "interval", "p", f"p ({board.correction})"]]
    for pair in board.pairs:
        gap, interval = Row(metric="difference", estimate=pair.difference.estimate, n=pair.n, interval=pair.difference.interval), None
        d, interval = row_texts(gap)
        adjusted = pair.details.get("p_adjusted")
        pairs.append(
            [
                look.cut(look.name(pair.baseline.name), 20),
                look.cut(look.name(pair.candidate.name), 20),
                d,
                interval,
                p_text(pair.p_value),
                p_text(adjusted),
            ]
        )
    parts = [
        wrap(f"{count_text(board.n)} items; {board.metric}; systems of one tier could not be told apart from the tier's best", width),
        table_lines([RowBlock(head="tier. system", names=names, rows=rows, scale=rows)], look),
        standard_errors(rows, look, [r["name"] for r in board.rows]) if details else [],
        ["all pairs", *columns(pairs)],
        _omnibus(board),
        _ranks(board, look),
        [line for warning in board.warnings for line in warning_lines(warning, look)],
        [look.paint(look.name(board.signature), DIM)] if board.signature else [],
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in lines) for lines in parts if lines)


def _row(board: Leaderboard, r: Mapping[str, Any]) -> Row:
    error = r.get("standard_error")  # not in the files of the first version
    return Row(metric=board.metric, estimate=r["estimate"], n=r.get("n", board.n), interval=r["interval"], standard_error=error)


def _omnibus(board: Leaderboard) -> list[str]:
    found = board.omnibus
    if found is None:
        return []
    return [f"all systems equal? {found['name']}: {found['statistic']:.4g} on {found['df']} degrees of freedom, {p_is(found['p_value'])}"]


def _ranks(board: Leaderboard, look: Terminal) -> list[str]:
    """Mean ranks over datasets with Nemenyi's critical difference drawn as a bar."""
    found = board.ranks
    if found is None:
        return []
    order = sorted(zip(found["mean_ranks"], found["names"], strict=True))
    bar = "=" if look.ascii_only else "━"
    k, room = len(order), 40
    scale = room / max(1, k - 1)
    lines = [["rank", "system", ""]]
    for rank, name in order:
        at = nearest((rank - 1) * scale)
        reach = max(1, nearest(found["critical_difference"] * scale))
        lines.append([f"{rank:.2f}", look.cut(look.name(name), 24), " " * at + bar * min(reach, room + 1 - at)])
    head = (
        f"mean ranks over {found['datasets']} datasets; Friedman {p_is(found['p_chi2'])}, Iman-Davenport {p_is(found['p_f'])}; "
        f"critical difference {found['critical_difference']:.3g} (Nemenyi)"
    )
    foot = "bars start at a system's rank and are one critical difference long: a bar that reaches another's start cannot tell them apart"
    return [*wrap(head, look.width), *columns(lines), *wrap(foot, look.width)]


def leaderboard_markdown(board: Leaderboard) -> str:
    """GitHub-flavoured Markdown."""
    heads = [("tier", "---:"), ("system", "---"), ("estimate", "---:"), ("interval", "---")]
    lines = []
    for r in board.rows:
        texts = row_texts(Row(metric=board.metric, estimate=r["estimate"], n=board.n, interval=r["interval"]))
        lines.append([str(r["tier"]), safe.markdown(r["name"]), *texts])
    pairs = []
    for pair in board.pairs:
        gap = Row(metric="difference", estimate=pair.difference.estimate, n=pair.n, interval=pair.difference.interval)
        adjusted = pair.details.get("p_adjusted")
        pairs.append(
            [safe.markdown(pair.baseline.name), safe.markdown(pair.candidate.name), *row_texts(gap), p_text(pair.p_value), p_text(adjusted)]
        )
    parts = [
        f"{count_text(board.n)} items; {safe.markdown(board.metric)}; correction: {board.correction}",
        markdown_table(heads, lines),
        markdown_table([(h, "---") for h in ("baseline", "candidate", "difference", "interval", "p", "p corrected")], pairs),
    ]
    parts += ["\n".join(lines) for lines in (_omnibus(board), _rank_lines(board)) if lines]
    if board.warnings:
        parts.append("\n".join(f"- warning: {safe.markdown(w)}" for w in board.warnings))
    if board.signature:
        parts.append(safe.code_span(board.signature))
    return "\n\n".join(parts) + "\n"


def _rank_lines(board: Leaderboard) -> list[str]:
    """Mean ranks as a list, for Markdown."""
    found = board.ranks
    if found is None:
        return []
    head = f"Mean ranks over {found['datasets']} datasets, critical difference {found['critical_difference']:.3g} (Nemenyi):"
    order = sorted(zip(found["mean_ranks"], found["names"], strict=True))
    return [head, "", *(f"- {rank:.2f} {safe.markdown(name)}" for rank, name in order)]


def critical_difference_svg(board: Leaderboard) -> str:
    """The critical-difference diagram as a self-contained SVG with a title and a description."""
    found = board.ranks
    if found is None:
        return ""
    order = sorted(zip(found["mean_ranks"], found["names"], strict=True))
    k, width, left_edge = len(order), 640, 40
    height = 80 + 26 * k
    step = (width - 2 * left_edge) / max(1, k - 1)

    def x(rank: float) -> float:
        return left_edge + (rank - 1) * step

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t d"',
        ' font-family="sans-serif" font-size="13" stroke="currentColor" fill="currentColor">',
        '<title id="t">Critical difference diagram</title>',
        f'<desc id="d">Mean ranks over {found["datasets"]} datasets; a bar is one critical difference long.</desc>',
        f'<line x1="{x(1):.1f}" y1="40" x2="{x(k):.1f}" y2="40"/>',
    ]
    out += [
        f'<line x1="{x(t):.1f}" y1="36" x2="{x(t):.1f}" y2="44"/><text stroke="none" x="{x(t):.1f}" y="30" text-anchor="middle">{t}</text>'
        for t in range(1, k + 1)
    ]
    for place, (rank, name) in enumerate(order):
        y = 66 + 26 * place
        end = min(x(rank + found["critical_difference"]), width - 4)
        out += [
            f'<circle cx="{x(rank):.1f}" cy="40" r="4"/>',
            f'<text stroke="none" x="{left_edge}" y="{y}">{_xml(name)} ({rank:.2f})</text>',
            f'<line x1="{x(rank):.1f}" y1="{y + 6}" x2="{end:.1f}" y2="{y + 6}" stroke-width="3"/>',
        ]
    return "\n".join([*out, "</svg>"]) + "\n"


def _xml(text: str) -> str:
    return safe.terminal(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
