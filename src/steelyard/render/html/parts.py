"""From any result to its part of a page, and to the picture that says it best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError
from steelyard.render.html.pieces import PageSection, Part
from steelyard.rounding import steadied

if TYPE_CHECKING:
    from steelyard.render.html.of_verdict import Flips
    from steelyard.render.pictures.forest import Forest
    from steelyard.render.pictures.plane import Plane
    from steelyard.results.evaluation import Evaluation
    from steelyard.results.plan import Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What a page may show beside the result: densities by the name of their row, and flipped items read from a file."""

    densities: Mapping[str, Curve]
    flips: Flips | None = None


NOTHING = Extra(densities={})
_HOME = {
    "Measurement": "of_measurement.measurement",
    "Comparison": "of_comparison.comparison",
    "Leaderboard": "of_comparison.leaderboard",
    "Plan": "of_plan.plan",
    "Verdict": "of_verdict.verdict",
    "Suite": "of_verdict.suite",
    "Recorded": "of_verdict.recorded",
    "Listing": "of_listing.listing",
    "ReferenceDetail": "of_listing.shown",
    "Lint": "of_listing.lint",
    "ReferenceHistory": "of_listing.story",
    "ReferenceChange": "of_listing.changed",
    "ProjectInit": "of_listing.started",
    "RunList": "of_listing.history",
    "Drift": "of_listing.drift",
    "Certificate": "of_certificate.certificate",
}


def part_of(result: Any, extra: Extra = NOTHING) -> Part:
    """The part of a page that a result becomes."""
    result, extra = steadied(result), steadied(extra)
    name = type(result).__name__
    if name == "Evaluation":
        return _evaluation(result, extra)
    maker = _maker(name)
    if name == "Measurement":
        return maker(result, extra.densities)
    if name == "Comparison":
        return maker(result, flips=extra.flips, density=extra.densities.get("difference"))
    return maker(result, flips=extra.flips) if name == "Verdict" else maker(result)


def has_part(result: Any) -> bool:
    """Whether a result of this kind can become part of a page."""
    return type(result).__name__ in (*_HOME, "Evaluation")


def _maker(name: str) -> Callable[..., Part]:
    if name not in _HOME:
        raise UsageError("cannot make a page", got=name, need=f"one of {', '.join(_HOME)}, Evaluation")
    module, _, start = _HOME[name].partition(".")
    maker: Callable[..., Part] = getattr(import_module(f"steelyard.render.html.{module}"), f"{start}_part")
    return maker


def _evaluation(e: Evaluation, extra: Extra) -> Part:
    """A run: its verdict, its comparison or its measurements first, then what was asked, what came back and what it took."""
    from steelyard.render.html.of_verdict import fact_block, path_section
    from steelyard.render.run import run_facts

    judged: list[Any] = [each for each in (e.verdict, e.comparison) if each is not None]
    answers = judged or [model.measurement for model in e.models if model.measurement is not None]
    several = len(e.models) > 1
    blocks = [fact_block(f"What {model.name} did", [run_facts(e, model, named=False)]) for model in e.models]
    about = f"{e.task}, {' and '.join(model.name for model in e.models)}"
    run = PageSection(title="The run", blocks=blocks)
    if not answers:
        return Part(word="run", about=about, lead=e.conclusion, sections=[run], warnings=e.warnings, signature=e.signature)
    first = part_of(answers[0], extra)
    path = path_section(e.stopping, judged=False) if e.verdict is None and e.stopping is not None else None
    more = [section for other in answers[1:] for section in part_of(other).sections]
    lead = first.lead or e.conclusion
    return replace(
        first,
        about=about if e.verdict is None else first.about,
        lead=lead,
        hints=first.hints,
        sections=[*first.sections, *([path] if path is not None else []), *more, run],
        warnings=list(dict.fromkeys([*first.warnings, *e.warnings])),
        methods=[
            *first.methods,
            *([("run", e.conclusion)] if e.conclusion and e.conclusion != lead else []),
            *([("models", about)] if several else []),
        ],
        signature=first.signature or e.signature,
    )


def drawing_of(result: Any) -> Forest | Plane:
    """The one picture that says a result best."""
    from steelyard.render.html import of_certificate, of_comparison, of_listing, of_measurement, of_verdict
    from steelyard.render.pictures.forest import Forest
    from steelyard.render.pictures.plane import curve_plane

    name = type(result).__name__
    if name == "Evaluation":
        inner = next((each for each in (result.verdict, result.comparison, result.measurement) if each is not None), None)
        if inner is not None:
            return drawing_of(inner)
    found: Forest | Plane | None = None
    if name == "Measurement" and result.rows:
        rows = [of_measurement.bar(row.name, row) for row in result.rows[:40]]
        found = Forest(title=f"{result.name or 'Measurement'}: estimates with their intervals", bars=rows)
    elif name == "Plan" and result.curve is not None and result.curve.x:
        found = curve_plane(result.curve, result.conclusion)
    else:
        draws: dict[str, Callable[[Any], Forest | Plane | None]] = {
            "Comparison": of_comparison.gap_forest,
            "Leaderboard": of_comparison.board_forest,
            "Verdict": of_verdict.gap_forest,
            "Suite": of_verdict.suite_forest,
            "Drift": of_listing.drift_plane,
            "Certificate": of_certificate.certificate_forest,
        }
        found = draws[name](result) if name in draws else None
    if found is None or (isinstance(found, Forest) and found.scale is None):
        raise UsageError(f"cannot draw this {name}", got="no number with a place on an axis", need="estimates, a difference or a curve")
    return found
