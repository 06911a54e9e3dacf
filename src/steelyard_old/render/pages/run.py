"""The pages of a run and of a dry run: the verdict or the measurement first, then what was asked, what came back and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard_old.render.page import ALL, NOTHING, CodeLines, Fact, FactList, Page, PageBlock, PageExtras, Section, builder_of, filled
from steelyard_old.results.evaluation import Answered, DryRun, Evaluation

BAD = {
    "errors": "no answer after all attempts",
    "truncated": "cut off at the token limit",
    "empty": "empty answer",
    "refused": "declined to answer",
    "unextracted": "replied, but no answer could be extracted",
    "wasted": "answered after the run was decided, and not used",
}
ERRORS = {  # what becomes of items without an answer
    "wrong": "counted as wrong",
    "drop": "left out",
}


def evaluation_page(e: Evaluation, extra: PageExtras) -> Page:
    """A run: its verdict, its comparison or its measurements before it, then what was asked, what came back and what it took."""
    judged: list[Any] = [each for each in (e.judged, e.comparison) if each is not None][:1]
    answers = judged or [model.measurement for model in e.models if model.measurement is not None]
    several = len(e.models) > 1
    about = f"{e.task}, {_names([model.name for model in e.models])}"
    before = [builder_of(type(each).__name__)(each, NOTHING if i else extra) for i, each in enumerate(answers)]
    blocks: list[PageBlock] = []
    for model in e.models:
        found = run_facts(e, model)
        blocks.append(FactList(caption=f"What {model.name} did", groups=[[("Model", "", model.name), *found] if several else found]))
    return Page(
        word="run",
        about=about,
        lead=e.conclusion,
        sections=filled(Section(title="The run", blocks=blocks)),
        warnings=e.warnings,
        methods=[("models", about)] if several and answers else [],
        signature=e.signature if not before or not before[0].signature else "",
        title=f"Run: {about}",
        level=3,
        headed=True,
        before=before,
    )


def run_facts(e: Evaluation, model: Answered) -> list[Fact]:
    """What one model did, as rows: a name, a number, what it means."""
    counts, usage = model.counts, model.usage
    times = f", {e.repeats} times each" if e.repeats > 1 else ""
    out: list[Fact] = []
    if model.asked_of.get("base_url"):
        out.append(("Endpoint", "", f"{model.asked_of.get('model', '')} at {model.asked_of['base_url']}"))
    m = model.measurement
    if e.judged is not None and m is not None and len(m.rows) == 1 and m.rows[0].estimate is not None:
        row = m.rows[0]
        ends = row.interval
        said = (
            ""
            if ends is None or ends.low is None or ends.high is None
            else f"{ends.low:.4f} to {ends.high:.4f}, {ends.confidence_level:.0%}, {ends.method}"
        )
        out.append((row.metric, f"{row.estimate:.4f}", said))
    asked = e.n if e.candidates is None else counts["n"] // e.repeats
    out.append(("Items asked", f"{asked:,}", f"of {e.available:,}{times}"))
    if asked < e.available:
        out.append(("Items saved", f"{e.available - asked:,}", "by stopping early"))
    paid = usage.get("p50") is not None  # a file of predictions is asked for nothing
    shown = {name: meaning for name, meaning in BAD.items() if counts.get(name) and (paid or name != "wasted")}
    if "errors" in shown and e.missing in ERRORS:
        shown["errors"] += f"; {ERRORS[e.missing]}"
    out += [(name.capitalize(), f"{counts[name]:,}", meaning) for name, meaning in shown.items()]
    if counts.get("retries"):
        out.append(("Retries", f"{counts['retries']:,}", "requests sent again after a failure"))
    if usage.get("tokens_in") is not None or usage.get("tokens_out") is not None:
        into, outof = (f"{int(usage.get(name) or 0):,}" for name in ("tokens_in", "tokens_out"))
        out.append(("Tokens", into, f"in, {outof} out"))
    if usage.get("p50") is not None:
        known = {"median": "p50", "p90": "p90", "p99": "p99"}
        out.append(
            ("Latency", "", ", ".join(f"{named_} {_seconds(usage[key])}" for named_, key in known.items() if usage.get(key) is not None))
        )
    if usage.get("cost") is not None:
        out.append(("Cost", f"{usage['cost']:.4g}", "at the given prices"))
    if model.output is not None:
        out.append(("Output", "", model.output))
    return out


def _names(names: Sequence[str]) -> str:
    """One, two with "and" between them, or a baseline against which the others are held."""
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[1:])} against {names[0]}"


# ---- a dry run ---------------------------------------------------------------------------------------------------------


def dry_run_page(d: DryRun, _: object) -> Page:
    """What a run would do."""
    about = f"{d.task}, {_names([str(model['name']) for model in d.models])}"
    blocks: list[PageBlock] = [
        CodeLines(lines=d.prompt.splitlines(), label="first prompt", quoted=True, seen=ALL),
        FactList(caption="What would be asked", groups=[dry_run_facts(d)]),
    ]
    return Page(
        word="dry run",
        about=about,
        lead="No requests sent, no files written.",
        sections=[Section(title="The first prompt", blocks=blocks)],
        warnings=d.warnings,
        title=f"Dry run: {about}",
        level=3,
        headed=True,
    )


def dry_run_facts(d: DryRun) -> list[Fact]:
    """The numbers of a dry run, as rows."""
    out: list[Fact] = [("Endpoint", "", f"{m['name']}: {m['asked_of']['base_url']}") for m in d.models if m["asked_of"].get("base_url")]
    times = f", {d.repeats} times each" if d.repeats > 1 else ""
    out.append(("Items", f"{d.n:,}", f"asked of {len(d.models)} models{times}" if len(d.models) > 1 else times.removeprefix(", ")))
    out.append(("Calls", f"{d.calls:,}", "at most: the run stops when it is decided" if d.stops_early else ""))
    if d.expected is not None:
        out += _expected_facts(d.expected)
    if d.unforeseen is not None:
        out.append(("Calls to expect", "", f"not foreseen: {d.unforeseen}"))
    if d.judge_calls:
        out.append(("Calls of the judge", f"{d.judge_calls:,}", "at most"))
    if d.judged_by is not None:
        out.append(("Judged by", "", f"the reference of {d.judged_by}"))
    if d.tokens_in is not None:
        said = f"in, at most {d.tokens_out:,} out (max_tokens)" if d.tokens_out is not None else "in; out is not limited"
        out.append(("Tokens", f"~{d.tokens_in:,}", f"{said}; estimated at four characters per token"))
    if d.cost is not None:
        most = all(model["cost_at_most"] for model in d.models)
        out.append(("Cost", f"~{d.cost:.4g}", "at most, at the given prices" if most else "for what is sent, at the given prices"))
    return out


def _expected_facts(expected: Mapping[str, Any]) -> list[Fact]:
    """What a run that stops when it is decided will probably take."""
    answers, factor = expected["answers"], expected["factor"]
    models = expected.get("models", 1)
    record = "one answer to each item on record" if answers == 1 else f"{answers} answers to each item on record"
    if answers is None:
        record = "two models side by side" if models == 2 else f"{models - 1} candidates against one baseline"
    often = "" if factor is None else f", unstable items asked {factor:g} times as often"
    churn = expected["churn_assumed"]
    assumed = "" if churn is None else f"; assumes that two healthy runs differ on {churn:.0%} of the items"
    out: list[Fact] = [("Design", "", f"{expected['rule']}, {record}{often}{assumed}")]
    lost = f"Calls after a loss of {expected['theta']:g}" + (" in one" if models > 2 else "")
    for state, name in (("healthy", "Calls if nothing changed"), ("dropped", lost)):
        ends = expected[state]
        cost = "" if ends["cost"] is None else f"; cost ~{ends['cost']:.4g}"
        said = f"on average, {ends['calls_90']:,} for nine of ten; {ends['exhausted']:.1%} end undecided{cost}"
        out.append((name, f"~{ends['calls']:,}", said))
    return out


def _seconds(seconds: Any) -> str:
    """A time with its unit, in two or three digits: 0.8 ms, 44 ms, 1.25 s, 73 s."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.2g} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.3g} s"
