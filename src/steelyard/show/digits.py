"""As many digits as a number deserves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from steelyard.show.blocks import Delta, Span


def places(values: Iterable[Any]) -> int | None:
    """Decimals that show one or two digits of the typical interval's half-width, and at least 3 of a share; None if nothing is known."""
    spans = [each for each in values if hasattr(each, "high") and None not in (each.low, each.high) and each.high > each.low]
    widths = sorted(each.high - each.low for each in spans)
    least = 3 if all(each.low >= -1 and each.high <= 1 for each in spans) else 0
    return max(least, min(6, 1 - math.floor(math.log10(widths[len(widths) // 2] / 2) + 0.5))) if widths else None


def number(value: float, decimals: int | None = None) -> str:
    """Three digits where nobody knows better."""
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return "unknown"
    return f"{value:,.{decimals}f}" if decimals is not None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def steady(said: str) -> str:
    """Without the sign of a number that is 0 as it is shown."""
    return said.replace("-", "", 1) if said.startswith("-") and not said.strip("-0.,") else said


def signed(value: float, decimals: int | None = 3) -> str:
    return f"{value:+,.{3 if decimals is None else decimals}f}"


def p_value(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}" if p < 1e-3 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def interval(value: Any, decimals: int | None = 3) -> str:
    decimals = 3 if decimals is None else decimals
    if value is None or value.low is None or value.high is None:
        return ""
    return f"[{steady(f'{value.low:.{decimals}f}')}, {steady(f'{value.high:.{decimals}f}')}]"


def safe(said: str) -> str:
    """One line, and nothing that drives a terminal."""
    return said if said.isprintable() else "".join(c if c.isprintable() else " " for c in said)


def cell(value: Any, decimals: int | None = None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Delta):
        return signed(value, decimals)
    if isinstance(value, (int, float)):
        return number(value, decimals)
    if isinstance(value, Span):
        return ""
    return interval(value, decimals) if hasattr(value, "low") else safe(str(value))


def axis(spans: Iterable[Span], mark: float | None = None) -> tuple[float, float]:
    """The ends of one axis for all bars, a little air at both sides."""
    ends = [x for span in spans for x in span if x is not None] + ([] if mark is None else [mark])
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    air = (high - low or 1.0) * 0.05
    return low - air, high + air


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    raw = (high - low) / about
    power = 10 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def tick(value: float, step: float) -> str:
    return f"{value:,.{max(0, -math.floor(math.log10(abs(step)) + 1e-9) + (round(step / 10 ** math.floor(math.log10(step)), 6) == 2.5))}f}"
