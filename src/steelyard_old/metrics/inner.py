"""The quantity that the interval of a metric is found for: for most the metric itself, else one that it is an increasing function of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from steelyard_old.metrics.proportions import identity

Inner = TypeVar("Inner")


def gap(low: Any, high: Any) -> Any:
    """No reference: how far apart two numbers are."""
    return high - low


class InnerQuantity(NamedTuple, Generic[Inner]):
    """A quantity that a metric is an increasing function of: F1 of the Jaccard index, perplexity of a mean loss, most of themselves.

    An interval is found for that quantity, which is a proportion or nearly symmetric where the metric is neither, and its ends are
    mapped: never out of range, and for percentile and BCa the same as without the detour. name: what it is called as a metric of its
    own; inner: its arithmetic; outwards: from it to the metric, inwards: back; width: how far apart in the metric two ends of it are,
    without cancellation; logarithm: it is the logarithm of the metric, so that its differences are quotients of that.
    """

    name: str
    inner: Inner
    outwards: Callable[[float], float] = identity
    inwards: Callable[[float], float] = identity
    width: Callable[[Any, Any], Any] = gap
    logarithm: bool = False

    @property
    def mapped(self) -> bool:
        """Whether it is another quantity than the metric."""
        return self.outwards is not identity


ITSELF: InnerQuantity[None] = InnerQuantity("", None)  # of what is no function of anything else
