"""How every result shows itself in a notebook: as a piece of the report, and as a figure. Nothing is loaded until asked."""

from __future__ import annotations

from typing import Any


class Displayable:
    """What results inherit."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """A piece of the HTML report: notebooks show it."""
        from steelyard.render.notebook import page_piece  # the listed exception: a result may ask render for its looks

        return page_piece(self)

    def plot(self) -> Any:
        """The picture that says it best: a matplotlib Figure if matplotlib is installed, else an object with `svg`."""
        from steelyard.render.notebook import plot  # the listed exception

        return plot(self)
