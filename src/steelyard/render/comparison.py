"""A comparison for people: the sentence first, then both systems and their difference, then what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard.render import safe
from steelyard.render.digits import count_text, number_texts, row_texts
from steelyard.render.layout import GAP, left, widest, wrap
from steelyard.render.learners import pooled_lines, pooled_markdown, split_facts
from steelyard.render.markdown import markdown_table
from steelyard.render.terminal import DIM, Terminal, warning_lines
from steelyard.render.text import RowBlock, standard_errors, table_lines
from steelyard.results.comparison import Comparison
from steelyard.results.measurement import Row

MINUS = "difference"
TELLING = 10  # items that a page of text has room for


def comparison_text(c: Comparison, *, width: int = 80, color: bool = False, ascii_only: bool = False, details: bool = False) -> str:
    """The comparison as lines; whatever is cut is whole in the JSON."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    systems, gap = rows_of(c)
    parts = [
        wrap(look.name(c.conclusion), width),
        [f"{count_text(c.n)} items, {c.design}; {metric_name(c, look.name)}" + ("" if c.higher_is_better else " (lower is better)")],
        _table(c, look),
        [line for fact in facts(c) for line in wrap(look.name(fact), width, GAP)],
        standard_errors([*systems, gap], look, [c.baseline.name, c.candidate.name, MINUS]) if details else [],
        pooled_lines(c, look),
        _telling(c, look),
        _slices(c, look),
        [line for warning in c.warnings for line in warning_lines(warning, look)],
        [look.paint(look.name(c.signature), DIM)] if c.signature else [],
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in lines) for lines in parts if lines)


def rows_of(c: Comparison) -> tuple[list[Row], Row]:
    """The two systems and their difference as rows."""
    own = [c.details.get("n_baseline", c.n), c.details.get("n_candidate", c.n)]
    systems = [
        Row(metric=c.metric, estimate=s.estimate, n=n, interval=s.interval, standard_error=s.standard_error)
        for s, n in zip((c.baseline, c.candidate), own, strict=True)
    ]
    gap = c.difference
    return systems, Row(metric=MINUS, estimate=gap.estimate, n=c.n, interval=gap.interval, standard_error=gap.standard_error)


def _table(c: Comparison, look: Terminal) -> list[str]:
    systems, gap = rows_of(c)
    names = [look.name(c.baseline.name), look.name(c.candidate.name)]
    own = RowBlock(head="system", names=names, rows=systems, scale=systems)
    return table_lines([own, RowBlock(head=MINUS, names=["candidate - baseline"], rows=[gap], scale=[gap])], look)


def metric_name(c: Comparison, name: Callable[[str], str]) -> str:
    """The metric, with its class in brackets where it has one."""
    return f"{c.metric}[{name(c.details['label'])}]" if "label" in c.details else c.metric


def prior_words(c: Comparison) -> str:
    """What P(candidate better) rests on."""
    if c.details.get("prior_scale") is not None:
        return f", if true differences have a standard deviation of {c.details['prior_scale']:g}"
    if "prior_sd" not in c.details:  # answers of 0.1.0 do not say
        return ""
    size = c.details["prior_sd"]
    return f", with a prior that expects differences of {'any size' if size is None else f'about {size:.2g}'} (see --prior-scale)"


def facts(c: Comparison) -> list[str]:
    """What the comparison rests on, a sentence each, the same in text and in Markdown."""
    out = [test_sentence(c)]
    if "log" in c.details:
        out.append("log: " + ", ".join(f"{what} {value}" for what, value in c.details["log"].items()))
    if c.flips is not None:
        f = c.flips
        out.append(
            f"right only with the candidate: {count_text(f['candidate_only'])}; only with the baseline: {count_text(f['baseline_only'])}; "
            f"both: {count_text(f['both'])}; neither: {count_text(f['neither'])}"
        )
    if "wins" in c.details:
        out.append("; ".join(f"{word}: {count_text(c.details[word])}" for word in ("wins", "ties", "losses")))
    if "variance_within_share" in c.details:
        share = c.details["variance_within_share"]
        out.append(f"run-to-run noise within items is {share:.0%} of the variance of the difference")
    if c.probability_candidate_better is not None:
        out.append(f"P(candidate better) = {c.probability_candidate_better:.3f}{prior_words(c)}")
    if c.equivalence is not None:
        e = c.equivalence
        word = "equivalent" if e["equivalent"] else "not worse" if e["non_inferior"] else "neither equivalence nor non-inferiority shown"
        out.append(f"margin {e['margin']:g}: {word} (p not worse {p_text(e['p_lower'])}, p equivalent {p_text(e['p_value'])})")
        if "rope" in e:
            r = e["rope"]
            out.append(
                f"P(worse by more) = {r['worse']:.3f}, P(within the margin) = {r['equivalent']:.3f}, P(better by more) = {r['better']:.3f}"
            )
    gain = c.details.get("pairing_gain")
    together = [f"correlation {c.correlation:.2f}"] if c.correlation is not None else []
    if isinstance(gain, float):
        together.append(f"separate test sets would need {gain:.1f} times the items")
    if together:
        out.append("; ".join(together))
    out += [sentence for found in c.details.get("over_tasks", ()) for sentence in _over_tasks(found)]
    out += split_facts(c)
    if c.mde is not None:
        out.append(f"could find a difference of {number_texts(c.mde, None, None, c.mde / 10)[0]} with power 0.8")
    return out


def _over_tasks(found: Mapping[str, Any]) -> list[str]:
    """What all values of a slice column say together."""
    where = f"over {found['tasks']} values of {found['by']}"
    out = []
    if "pooled_sign_flip" in found:
        pooled = found["pooled_sign_flip"]
        mean = number_texts(pooled["mean_difference"], None, None, 0.005)[0]
        out.append(f"{where}: mean difference {mean}, pooled sign-flip {p_is(pooled['p_value'])}")
    if "fisher" in found:
        out.append(f"{where}: candidate better, Fisher's combined {p_is(found['fisher']['p_value'])}")
    return out


def test_sentence(c: Comparison) -> str:
    """The test, its side and its p-value."""
    t = c.test
    exact = " (exact)" if t.details.get("exact") else ""
    share = ""
    if "share" in t.details:
        of = f" of {count_text(t.details['draws'])} resamples" if "draws" in t.details else " of resamples"
        share = f"; share{of} {t.details['share']:.4g}, side: {t.details['side']}"
    return f"test: {t.name}{exact}, {t.alternative}, {p_is(t.p_value)}{share}"


def p_is(p: float | None) -> str:
    """`p = 0.03`, or `p < 1e-300` where no float is small enough."""
    shown = p_text(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def p_text(p: float | None) -> str:
    """A p-value with two significant digits; never 0, and 1 only when it is."""
    if p is None:
        return "undefined"
    if p < 1e-4:
        return f"{p:.1e}" if p > 0 else "< 1e-300"
    if 0.9995 <= p < 1:
        return next(text for text in (f"{p:.{digits}f}" for digits in range(4, 18)) if float(text) < 1)
    return "1" if p == 1 else f"{p:.4f}" if p < 0.0995 else f"{p:.3f}"


def _telling(c: Comparison, look: Terminal) -> list[str]:
    if not c.telling:
        return []
    shown = telling_columns(c)
    lines = [["", *("item" if k == "id" else k for k in shown)]]
    lines += [[item["change"], *(look.cut(look.name(_cell(item[k])), 24) for k in shown)] for item in c.telling[:TELLING]]
    return ["items that changed, the most telling first", *columns(lines)]


def telling_columns(c: Comparison) -> list[str]:
    """The columns of the telling items; without truths, no column for them."""
    return ["id", *(["truth"] if any(item["truth"] is not None for item in c.telling[:TELLING]) else []), "baseline", "candidate"]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Cells in left-aligned columns."""
    widths = [widest(column) for column in zip(*lines, strict=True)]
    return [GAP + GAP.join(left(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _slices(c: Comparison, look: Terminal) -> list[str]:
    """One line per slice: the difference and its p-value, corrected over the slices of a column."""
    if not c.slices:
        return []
    lines = [["slice", "n", "difference", "interval", "p", "p corrected"]]
    for part in c.slices:
        inner: Comparison | None = part["comparison"]
        if inner is None:
            lines.append([look.cut(look.name(f"{part['by']} = {part['value']}"), 32), "", "undefined", "-", "-", "-"])
            continue
        interval = inner.difference.interval
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        half = None if low is None or high is None else (high - low) / 2
        d, a, b = number_texts(inner.difference.estimate, low, high, half)
        name = look.cut(look.name(f"{part['by']} = {part['value']}"), 32)
        lines.append(
            [name, count_text(inner.n), d, "-" if interval is None else f"[{a}, {b}]", p_text(inner.p_value), p_text(part["p_adjusted"])]
        )
    return columns(lines)


def comparison_markdown(c: Comparison) -> str:
    """GitHub-flavoured Markdown."""
    systems, gap = rows_of(c)
    heads = [("system", "---"), ("estimate", "---:"), ("interval", "---")]
    lines = []
    for name, row in zip((c.baseline.name, c.candidate.name, "candidate - baseline"), (*systems, gap), strict=True):
        lines.append([safe.markdown(name), *row_texts(row)])
    parts = [
        f"**{safe.markdown(c.conclusion)}**",
        f"{count_text(c.n)} items, {c.design}; {safe.markdown(metric_name(c, str))}" + ("" if c.higher_is_better else " (lower is better)"),
        markdown_table(heads, lines),
        "\n".join(f"- {safe.markdown(fact)}" for fact in facts(c)),
    ]
    if c.telling:
        cells = [
            [item["change"], *(safe.markdown(_cell(item[k])) for k in ("id", "truth", "baseline", "candidate"))]
            for item in c.telling[:TELLING]
        ]
        parts.append(markdown_table([(h, "---") for h in ("change", "item", "truth", "baseline", "candidate")], cells))
    if c.slices:
        parts.append(
            markdown_table(
                [(h, "---") for h in ("slice", "n", "difference", "p", "p corrected")], [_slice_cells(part) for part in c.slices]
            )
        )
    if table := pooled_markdown(c):
        parts.append(table)
    if c.warnings:
        parts.append("\n".join(f"- warning: {safe.markdown(w)}" for w in c.warnings))
    if c.signature:
        parts.append(safe.code_span(c.signature))
    return "\n\n".join(parts) + "\n"


def _slice_cells(part: Mapping[str, Any]) -> list[str]:
    name = safe.markdown(f"{part['by']} = {part['value']}")
    inner: Comparison | None = part["comparison"]
    if inner is None:
        return [name, "", "undefined", "-", "-"]
    gap = Row(metric=MINUS, estimate=inner.difference.estimate, n=inner.n, interval=inner.difference.interval)
    return [name, count_text(inner.n), " ".join(row_texts(gap)), p_text(inner.p_value), p_text(part["p_adjusted"])]
