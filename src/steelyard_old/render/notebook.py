"""Results in a notebook: a piece of the report, and a figure: matplotlib's if it is installed, else SVG."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import UsageError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.render.formats import result_text as result_text

if TYPE_CHECKING:
    from steelyard_old.render.pictures.forest import Forest
    from steelyard_old.render.pictures.plane import Plane


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as SVG text. A notebook shows it; `save` writes it to a file."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        """Write the picture to a file."""
        from pathlib import Path

        from steelyard_old.atomic import write_text

        write_text(Path(path), self.svg)


def page_piece(result: Any) -> str:
    """The result as a piece of HTML."""
    from steelyard_old.render.html.page import fragment_html

    return fragment_html(result)


def plot(result: Any) -> Any:
    """The picture that says the result best: a matplotlib Figure where matplotlib is installed, else a `Drawn`."""
    from importlib.util import find_spec

    drawing = _density(result) if hasattr(result, "pdf") else drawing_of(result)
    if find_spec("matplotlib") is None:
        return Drawn(drawing.svg(alone=True))
    from steelyard_old.render.pictures.by_matplotlib import figure_of

    return figure_of(drawing)


def _density(law: Any) -> Any:
    """The density of a posterior between its outermost quantiles, the 95% interval shaded."""
    import numpy as np

    from steelyard_old.render.pictures.plane import curve_plane
    from steelyard_old.results.plan import Curve

    low, high = law.interval()
    x = np.linspace(law.ppf(1e-4), law.ppf(1 - 1e-4), 161)
    y = np.asarray(law.pdf(x), float)
    inside = np.where((x >= low) & (x <= high), y, 0.0)
    curve = Curve(
        x_label=law.metric,
        y_label="density",
        x=tuple(x.tolist()),
        y=tuple(y.tolist()),
        low=(0.0,) * len(x),
        high=tuple(inside.tolist()),
        log_x=False,
    )
    return curve_plane(curve, f"Posterior of {law.metric}: mean {law.mean:.4g}, 95% from {low:.4g} to {high:.4g}")


DRAWINGS = {
    "Measurement": "measurement.measured_forest",
    "Comparison": "comparison.gap_forest",
    "Leaderboard": "leaderboard.board_forest",
    "Plan": "plan.plan_plane",
    "Verdict": "verdict.gap_forest",
    "Suite": "suite.suite_forest",
    "Drift": "history.drift_plane",
    "NightSimulation": "nights.nights_plane",
    "Certificate": "certificate.certificate_forest",
}


def drawing_of(result: Any) -> Forest | Plane:
    """The one picture that says a result best; of a run, that of its answer."""
    from steelyard_old.render.pictures.forest import Forest

    name = type(result).__name__
    if name == "Evaluation":
        inner = next((each for each in (result.judged, result.comparison, result.measurement) if each is not None), None)
        if inner is not None:
            return drawing_of(inner)
    found: Forest | Plane | None = None
    if name in DRAWINGS:
        module, _, function = DRAWINGS[name].partition(".")
        found = getattr(import_module(f"steelyard_old.render.pages.{module}"), function)(result)
    if found is None or (isinstance(found, Forest) and found.scale is None):
        raise UsageError(
            f"This {name} has no numbers to draw on an axis.",
            got="no number with a place on an axis",
            need="estimates, a difference or a curve",
        )
    return found
