"""A run for people: the verdict or the measurement first, then what was asked, what came back and what it took."""

from __future__ import annotations

from typing import Any

from steelyard.render.comparison import comparison_markdown, comparison_text
from steelyard.render.digits import count_text
from steelyard.render.layout import wrap
from steelyard.render.markdown import markdown_table, measurement_markdown
from steelyard.render.terminal import Terminal, warning_lines
from steelyard.render.text import measurement_text
from steelyard.render.verdict import fact_lines, headline, joined, verdict_markdown, verdict_text, word
from steelyard.render.verdict_facts import Fact
from steelyard.results.evaluation import Answered, DryRun, Evaluation

BAD = {
    "errors": "no answer after all attempts",
    "truncated": "cut off by the limit of tokens",
    "empty": "nothing was said",
    "refused": "declined to answer",
    "unextracted": "said something, but no answer could be found in it",
    "wasted": "answered after the run was decided, and not used",
}
ERRORS = {  # what becomes of items without an answer
    "wrong": "counted as wrong (--missing wrong)",
    "drop": "left out (--missing drop)",
}


def run_text(e: Evaluation, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """The run as lines of at most `width` columns where words allow."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    options: dict[str, Any] = {"width": width, "color": color, "ascii_only": ascii_only}
    parts: list[list[str]] = []
    if e.verdict is not None:
        parts.append(verdict_text(e.verdict, **options).splitlines())
    elif e.comparison is not None:
        parts.append(comparison_text(e.comparison, **options).splitlines())
    else:
        parts += [measurement_text(m.measurement, **options).splitlines() for m in e.models if m.measurement is not None]
    parts.append(headline("run", f"{e.task}, {' and '.join(m.name for m in e.models)}", look))
    parts.append(wrap(look.name(e.conclusion), width) if e.conclusion else [])
    for model in e.models:
        parts += fact_lines([run_facts(e, model, named=len(e.models) > 1)], look)
    parts.append([line for warning in e.warnings for line in warning_lines(warning, look)])
    return joined(parts)


def run_markdown(e: Evaluation) -> str:
    """The same on a page."""
    parts: list[str] = []
    if e.verdict is not None:
        parts.append(verdict_markdown(e.verdict))
    elif e.comparison is not None:
        parts.append(comparison_markdown(e.comparison))
    else:
        parts += [measurement_markdown(m.measurement) for m in e.models if m.measurement is not None]
    parts.append(f"### Run: {word(e.task)}, {' and '.join(word(m.name) for m in e.models)}")
    parts.append(word(e.conclusion, 2000) if e.conclusion else "")
    for model in e.models:
        rows = [
            [word(name), value, word(meaning) if meaning else ""] for name, value, meaning in run_facts(e, model, named=len(e.models) > 1)
        ]
        parts.append(markdown_table([("", "---"), ("", "---:"), ("", "---")], rows))
    parts += [f"- **warning:** {word(warning, 2000)}" for warning in e.warnings]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def run_facts(e: Evaluation, model: Answered, *, named: bool) -> list[Fact]:
    """What one model did, as rows: a name, a number, what it means."""
    counts, usage = model.counts, model.usage
    times = f", {e.repeats} times each" if e.repeats > 1 else ""
    out: list[Fact] = [("Model", "", model.name)] if named else []
    if model.asked_of.get("base_url"):
        out.append(("Endpoint", "", f"{model.asked_of.get('model', '')} at {model.asked_of['base_url']}"))
    m = model.measurement
    if e.verdict is not None and m is not None and len(m.rows) == 1 and m.rows[0].estimate is not None:
        row = m.rows[0]
        ends = row.interval
        said = (
            ""
            if ends is None or ends.low is None or ends.high is None
            else f"{ends.low:.4f} to {ends.high:.4f}, {ends.confidence_level:.0%}, {ends.method}"
        )
        out.append((row.metric, f"{row.estimate:.4f}", said))
    out.append(("Items asked", count_text(e.n), f"of {count_text(e.available)}{times}"))
    if e.n_saved:
        out.append(("Items saved", count_text(e.n_saved), "by stopping when it was decided"))
    paid = usage.get("p50") is not None  # a file of predictions is asked for nothing
    shown = {name: meaning for name, meaning in BAD.items() if counts.get(name) and (paid or name != "wasted")}
    if "errors" in shown and e.missing in ERRORS:
        shown["errors"] += f"; {ERRORS[e.missing]}"
    out += [(name.capitalize(), count_text(counts[name]), meaning) for name, meaning in shown.items()]
    if counts.get("retries"):
        out.append(("Retries", count_text(counts["retries"]), "further attempts after a failed one"))
    if usage.get("tokens_in") is not None or usage.get("tokens_out") is not None:
        into, outof = (count_text(int(usage.get(name) or 0)) for name in ("tokens_in", "tokens_out"))
        out.append(("Tokens", into, f"in, {outof} out"))
    if usage.get("p50") is not None:
        known = {"median": "p50", "p90": "p90", "p99": "p99"}
        out.append(
            ("Latency", "", ", ".join(f"{named_} {_seconds(usage[key])}" for named_, key in known.items() if usage.get(key) is not None))
        )
    if usage.get("cost") is not None:
        out.append(("Cost", f"{usage['cost']:.4g}", "by the prices given"))
    if model.output is not None:
        out.append(("Output", "", model.output))
    return out


# ---- a dry run ---------------------------------------------------------------------------------------------------------


def dry_run_text(d: DryRun, *, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """What a run would do, for a terminal."""
    look = Terminal(width=width, color=color, ascii_only=ascii_only)
    parts = [headline("dry run", f"{d.task}, {' and '.join(str(model['name']) for model in d.models)}", look)]
    parts.append(["Nothing was asked and nothing written."])
    parts.append(["first prompt", *(f"  {look.name(line)}" for line in d.prompt.splitlines())])
    parts += fact_lines([dry_run_facts(d)], look)
    parts.append([line for warning in d.warnings for line in warning_lines(warning, look)])
    return joined(parts)


def dry_run_markdown(d: DryRun) -> str:
    """The same on a page."""
    parts = [f"### Dry run: {word(d.task)}, {' and '.join(word(str(model['name'])) for model in d.models)}"]
    parts.append("Nothing was asked and nothing written. The first prompt:")
    parts.append("\n".join(f"> {word(line, 2000)}" for line in d.prompt.splitlines()))
    rows = [[word(name), value, word(meaning) if meaning else ""] for name, value, meaning in dry_run_facts(d)]
    parts.append(markdown_table([("", "---"), ("", "---:"), ("", "---")], rows))
    parts += [f"- **warning:** {word(warning, 2000)}" for warning in d.warnings]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def dry_run_facts(d: DryRun) -> list[Fact]:
    """The numbers of a dry run, as rows."""
    out: list[Fact] = [("Endpoint", "", f"{m['name']}: {m['asked_of']['base_url']}") for m in d.models if m["asked_of"].get("base_url")]
    times = f", {d.repeats} times each" if d.repeats > 1 else ""
    out.append(("Items", count_text(d.n), f"asked of {len(d.models)} models{times}" if len(d.models) > 1 else times.removeprefix(", ")))
    out.append(("Calls", count_text(d.calls), "at most: the run stops when it is decided" if d.stops_early else ""))
    if d.judge_calls:
        out.append(("Calls of the judge", count_text(d.judge_calls), "at most"))
    if d.judged_by is not None:
        out.append(("Judged by", "", f"the reference of {d.judged_by}"))
    if d.tokens_in is not None:
        said = f"in, at most {count_text(d.tokens_out)} out (max_tokens)" if d.tokens_out is not None else "in; out is not limited"
        out.append(("Tokens", f"~{count_text(d.tokens_in)}", f"{said}; four characters to a token"))
    if d.cost is not None:
        most = all(model["cost_at_most"] for model in d.models)
        out.append(("Cost", f"~{d.cost:.4g}", "at most, by the prices given" if most else "for what is sent, by the prices given"))
    return out


def _seconds(seconds: Any) -> str:
    """A time with its unit, in two or three digits: 0.8 ms, 44 ms, 1.25 s, 73 s."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.2g} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"
