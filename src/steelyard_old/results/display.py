"""How results are shown: as text, as a piece of the report, as a figure. Who draws them is registered from above, and found when asked.

Results know nothing of `render`. The package names the renderer when it is imported (`use`); nothing of it is loaded before the first
result is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Renderer(Protocol):
    """What draws results."""

    def result_text(self, result: Any) -> str: ...

    def page_piece(self, result: Any) -> str: ...

    def plot(self, result: Any) -> Any: ...


def _nobody() -> Renderer:
    raise RuntimeError("no renderer is registered: steelyard_old.results.display.use(find)")


_find: Callable[[], Renderer] = _nobody


def use(find: Callable[[], Renderer]) -> None:
    """Register what finds the renderer. It is called each time that something is shown."""
    global _find
    _find = find


class Displayable:
    """What results inherit."""

    __slots__ = ()

    def __str__(self) -> str:
        return _find().result_text(self)

    def _repr_html_(self) -> str:
        """A piece of the HTML report: notebooks show it."""
        return _find().page_piece(self)

    def plot(self) -> Any:
        """The picture that says it best: a matplotlib Figure if matplotlib is installed, else an object with `svg`."""
        return _find().plot(self)
