"""Results in a notebook: a piece of the report, and a figure: matplotlib's if it is installed, else SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from steelyard.render.formats import result_text as result_text


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

        Path(path).write_text(self.svg, encoding="utf-8")


def page_piece(result: Any) -> str:
    """The result as a piece of HTML; its text, where its kind has no part of a page."""
    from steelyard.render.html.page import fragment_html
    from steelyard.render.html.parts import has_part

    return fragment_html(result) if has_part(result) else f"<pre>{escape(str(result))}</pre>"


def plot(result: Any) -> Any:
    """The picture that says the result best: a matplotlib Figure where matplotlib is installed, else a `Drawn`."""
    from importlib.util import find_spec

    from steelyard.render.html.parts import drawing_of

    drawing = _density(result) if hasattr(result, "pdf") else drawing_of(result)
    if find_spec("matplotlib") is None:
        return Drawn(drawing.svg(alone=True))
    from steelyard.render.pictures.by_matplotlib import figure_of

    return figure_of(drawing)


def _density(law: Any) -> Any:
    """The density of a posterior between its outermost quantiles, the 95% interval shaded."""
    import numpy as np

    from steelyard.render.pictures.plane import curve_plane
    from steelyard.results.plan import Curve

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
