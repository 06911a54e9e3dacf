"""A family of methods that is tried by drawing: every method is given the same data, and the share that it calls is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from steelyard_old.proof.claims import ALPHA, Band, BandText, Claim, Point, Setting, declared, words
from steelyard_old.proof.counting import at_most, count_of, share_of, without_runs

Draw = Callable[[np.random.Generator, Setting], tuple[Any, ...]]
Calls = Callable[..., bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is drawn, and who judges it. A setting with a drop is about power, one without about size.

    methods: from the data to a call (a difference, an alarm); said: of which method which kind of claim is made; runs: data
    sets of the quick grid and of the full one; more: settings of the full grid alone.
    """

    family: str
    draw: Draw
    methods: Mapping[str, Calls]
    said: Mapping[tuple[str, str], BandText]
    settings: tuple[Setting, ...]
    default: str
    page: str
    more: tuple[Setting, ...] = ()
    runs: tuple[int, int] = (400, 4000)
    nominal: float = ALPHA

    def claims(self) -> Iterator[Claim]:
        for kind in dict.fromkeys(kind for _, kind in self.said):
            yield from declared(
                kind,
                self.family,
                {method: said for (method, its), said in self.said.items() if its == kind},
                self.default,
                partial(self.found, kind),
                quick=tuple(at_most(setting, self.runs[0]) for setting in _of_kind(kind, self.settings)),
                full=tuple({**setting, "runs": self.runs[1]} for setting in _of_kind(kind, (*self.settings, *self.more))),
                page=self.page,
                nominal=self.nominal if kind == "size" else None,
            )

    def found(self, kind: str, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
        """The share of the data sets on which the method calls. All methods of a family are given the same stream."""
        calls, (_, band) = self.methods[method], self.said[method, kind]
        outcomes = (calls(*self.draw(rng, setting)) for _ in range(int(setting["runs"])))
        yield share_of(told(setting), count_of(band, kind, setting), outcomes)


def told(setting: Setting) -> str:
    """The setting in words, without the number of runs."""
    return words(without_runs(setting))


def _of_kind(kind: str, settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    return tuple(setting for setting in settings if (kind == "power") == bool(setting.get("drop")))


def significant(p_value: float | None) -> bool:
    """Whether a p-value is there and small enough."""
    return p_value is not None and p_value <= ALPHA


def alike(names: tuple[str, ...], kind: str, sentence: str, **band: float) -> dict[tuple[str, str], BandText]:
    """The same said of several methods."""
    return {(name, kind): (sentence, Band(**band)) for name in names}
