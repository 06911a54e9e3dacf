"""A family of methods that is tried by drawing: every method is given the same data, and the share that it calls is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.proof.claims import ALPHA, Band, Claim, Point, Said, Setting, counted, declared, words

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
    said: Mapping[tuple[str, str], Said]
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
                self.found,
                quick=_of_kind(kind, self.settings, self.runs[0]),
                full=_of_kind(kind, (*self.settings, *self.more), self.runs[1]),
                page=self.page,
                nominal=self.nominal if kind == "size" else None,
            )

    def found(self, method: str, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
        """The share of the data sets on which the method calls. All methods of a family are given the same stream."""
        runs, calls = int(setting["runs"]), self.methods[method]
        hits = sum(calls(*self.draw(rng, setting)) for _ in range(runs))
        yield counted(told(setting), hits, runs)


def told(setting: Setting) -> str:
    """The setting in words, without the number of runs: the place is the same, however well it is known."""
    return words({key: value for key, value in setting.items() if key != "runs"})


def _of_kind(kind: str, settings: tuple[Setting, ...], runs: int) -> tuple[Setting, ...]:
    return tuple({**setting, "runs": runs} for setting in settings if (kind == "power") == bool(setting.get("drop")))


def significant(p_value: float | None) -> bool:
    """Whether a p-value is there and small enough."""
    return p_value is not None and p_value <= ALPHA


def alike(names: tuple[str, ...], kind: str, sentence: str, **band: float) -> dict[tuple[str, str], Said]:
    """The same said of several methods."""
    return {(name, kind): (sentence, Band(**band)) for name in names}
