"""A classifier of handwritten digits, whole and broken: the nearest other digit says what it is.

steelyard run examples/run/digits.toml --model python:examples.run.digits:predict -o digits.jsonl
steelyard record digits.jsonl --task digits --model digits --deterministic
steelyard run examples/run/digits.toml --model python:examples.run.digits:broken --against digits --until decided --theta .02
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.float64]


@cache
def known() -> tuple[Pixels, list[str]]:
    """The 1,797 digits that ship with scikit-learn."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data.astype(np.float64), [str(label) for label in digits.target]


@cache
def looks(seen: Callable[[Pixels], Pixels]) -> tuple[Pixels, Pixels]:
    """All digits as a model sees them, and the squared length of each."""
    images = seen(known()[0])
    return images, (images**2).sum(axis=1)


def nearest(pixels: list[float], seen: Callable[[Pixels], Pixels]) -> str:
    """The label of the closest other image, as the model sees them: |a - b|^2 is |a|^2 - 2ab + |b|^2, in whole numbers."""
    images, labels = known()
    shown, squares = looks(seen)
    distance = squares - 2 * (shown @ seen(np.array(pixels)))  # and |b|^2, the same for all
    distance[(images == np.array(pixels)).all(axis=1)] = np.inf  # itself
    return labels[int(np.argmin(distance))]


def greys(image: Pixels) -> Pixels:
    return image


def quarters(image: Pixels) -> Pixels:
    return image // 4


def black(image: Pixels) -> Pixels:
    return (image > 8).astype(np.float64)


def predict(pixels: list[float]) -> str:
    """All seventeen shades of grey."""
    return nearest(pixels, greys)


def coarse(pixels: list[float]) -> str:
    """Five shades: a careful quantisation. A few answers change, about as many for the better as for the worse."""
    return nearest(pixels, quarters)


def broken(pixels: list[float]) -> str:
    """Black and white: a careless one. Four answers of a hundred are lost."""
    return nearest(pixels, black)
