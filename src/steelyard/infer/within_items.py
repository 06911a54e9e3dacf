"""Unequal repeats: which of an item's runs belong to the candidate? Under H0 any of them could.

One candidate run against r reference runs of the same items is the usual case. Given how many of an item's runs are
right, the candidate's share of them is hypergeometric; over items, the total is a convolution, computed exactly. With
one run each this is McNemar's test. Swapping whole items (the sign flip) is not exact here: a mean of one run and a
mean of r runs have different laws even for one and the same model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.infer.cells import BLOCK
from steelyard.infer.flips import check_alternative, from_tails
from steelyard.infer.randomization import TIE, check_exchanges

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

WORK = 20_000_000  # values of characteristic functions computed at most: about a second
NEGLIGIBLE = 42.0  # e^-42 = 6e-19: what a tail may hide
SUBSETS = 252  # ways to choose an item's candidate runs that are listed: 5 of 10


class Kinds(NamedTuple):
    """Independent whole-number variables by kind: values and shares of shape (kinds, outcomes), and how many of each."""

    value: IntArray
    share: FloatArray
    many: IntArray


class Tails(NamedTuple):
    below: float
    at: float
    above: float


def lattice_tails(kinds: Kinds, observed: int) -> Tails | None:
    """P(Y < y), P(Y = y), P(Y > y) of a sum of independent whole numbers; None when it would cost too much.

    Formula: tilt every law by e^(t x) so that the mean of the sum is y, multiply the characteristic functions on as many
    points as the tilted sum needs, transform back, and undo the tilt. The smaller tail keeps its digits however small
    it is, which an untilted transform does not give. Reference: Daniels1954 for the tilt; AgrawalaDhillonn is not used.

    >>> coin = Kinds(np.array([[0, 1]]), np.array([[0.5, 0.5]]), np.array([10]))
    >>> [round(x * 1024, 9) for x in lattice_tails(coin, 8)]
    [968.0, 45.0, 11.0]
    """
    raise NotImplementedError
