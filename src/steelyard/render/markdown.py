"""A measurement as GitHub-flavoured Markdown, for a pull request or a notebook: tables, warnings, signature."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.render import blocks, summary
from steelyard.render.digits import count_text, row_texts
from steelyard.render.safe import code_span, markdown
from steelyard.results.measurement import Measurement, Row


def measurement_markdown(m: Measurement) -> str:
    """What was measured, the headline, a table per sort of slice, how sure, the warnings; the signature last."""
    parts = [summary.measured(m, markdown)]
    if rows := blocks.headline(m):
        parts.append(markdown_table([("metric", "---"), *_heads(rows)], [(markdown(row.name), *_numbers(row)) for row in rows]))
    classes = blocks.class_block(m)
    parts += [_block(block) for block in [*([classes] if classes else []), *blocks.slice_blocks(m)]]
    facts = (summary.methods(summary.all_rows(m), markdown), summary.design(m.rows), summary.lower_is_better(m.rows, markdown))
    parts.append("  \n".join(fact for fact in facts if fact))
    parts.append("\n".join(f"- **warning:** {markdown(warning)}" for warning in summary.all_warnings(m)))
    parts.append(code_span(m.signature) if m.signature else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _heads(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [("estimate", "---:"), (summary.interval_word(rows), "---"), ("n", "---:")]


def _numbers(row: Row) -> tuple[str, str, str]:
    """Brackets of numbers need no escape: `[0.8, 0.9]` is no link without a target, and reads the same raw."""
    return (*row_texts(row), count_text(row.n))


def _block(block: blocks.Block) -> str:
    """One line per name, per metric its estimate and interval."""
    heads = [(markdown(block.by), "---"), (block.count, "---:"), *((markdown(metric), "---") for metric in block.metrics)]
    lines = [
        (markdown(entry.name), "" if entry.n is None else count_text(entry.n), *(_cell(entry.rows.get(metric)) for metric in block.metrics))
        for entry in block.entries
    ]
    hidden = f"\n\n{count_text(block.hidden)} more; `--format json` has them all" if block.hidden else ""
    return markdown_table(heads, lines) + hidden


def _cell(row: Row | None) -> str:
    return "" if row is None else " ".join(row_texts(row))


def markdown_table(heads: Sequence[tuple[str, str]], lines: Sequence[Sequence[str]]) -> str:
    rows = [[head for head, _ in heads], [rule for _, rule in heads], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
