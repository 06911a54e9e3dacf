"""Every way in which coins can fall, as far as counts at looks can tell the ways apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, product


def falls(tossed: Sequence[int]) -> Iterator[tuple[list[int], int]]:
    """(tails so far at each look, in how many sequences of signs), where so many coins are tossed by each look.

    >>> [ways for tails, ways in falls([2, 3]) if tails == [1, 2]]
    [2]
    """
    more = [b - a for a, b in pairwise([0, *tossed])]
    for tails in product(*(range(each + 1) for each in more)):
        yield list(accumulate(tails)), math.prod(math.comb(of, each) for of, each in zip(more, tails, strict=True))
