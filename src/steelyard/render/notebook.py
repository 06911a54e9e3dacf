"""Results in a notebook: a piece of the report, and a figure: matplotlib's if it is installed, else SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    """The result as a piece of HTML."""
    from steelyard.render.html.page import fragment_html

    return fragment_html(result)


def plot(result: Any) -> Any:
    """The picture that says the result best: a matplotlib Figure where matplotlib is installed, else a `Drawn`."""
    from importlib.util import find_spec

    from steelyard.render.html.parts import drawing_of

    drawing = drawing_of(result)
    if find_spec("matplotlib") is None:
        return Drawn(drawing.svg(alone=True))
    from steelyard.render.pictures.by_matplotlib import figure_of

    return figure_of(drawing)
