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


def nearest(pixels: list[float], seen: Callable[[Pixels], Pixels]) -> str:
    """The label of the closest other image, as the model sees them."""
    images, labels = known()
    asked = np.array(pixels)
    distance = ((seen(images) - seen(asked)) ** 2).sum(axis=1)
    distance[(images == asked).all(axis=1)] = np.inf  # itself
    return labels[int(np.argmin(distance))]


def predict(pixels: list[float]) -> str:
    """All seventeen shades of grey."""
    return nearest(pixels, lambda image: image)


def coarse(pixels: list[float]) -> str:
    """Five shades: a careful quantisation. A few answers change, about as many for the better as for the worse."""
    return nearest(pixels, lambda image: image // 4)


def broken(pixels: list[float]) -> str:
    """Black and white: a careless one. Four answers of a hundred are lost."""
    return nearest(pixels, lambda image: (image > 8).astype(np.float64))
