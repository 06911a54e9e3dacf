"""How much may be drawn by default: beyond it, the delta method answers in one pass over the cells. Apart from `bootstrap`: no NumPy."""

from __future__ import annotations

WORK = 100_000_000  # random numbers: a few seconds
FALL_BACK = 10_000_000  # random numbers of a method that stands in for another, which has had its own draws: a second
LEAST_DRAWS = 999  # of a test by random exchanges, which is valid with any number of them


def within_reach(numbers: int, draws: int) -> bool:
    """Whether `draws` samples of that many numbers each are a matter of seconds. Reference: DavisonHinkley1997, section 2.5.2.

    >>> within_reach(5_000, 10_000), within_reach(100_000, 10_000)
    (True, False)
    """
    return numbers * draws <= WORK


def fewer_draws(numbers: int, draws: int) -> int:
    """The draws of a test by random exchanges of that many numbers: fewer, but never below 999, where all would take minutes.

    Such a test is valid with any number of draws; only its smallest p-value, 1 / (draws + 1) or half of it one-sided, depends on it.
    Reference: PhipsonSmyth2010.

    >>> fewer_draws(5_000, 10_000), fewer_draws(50_000, 10_000), fewer_draws(300_000, 10_000), fewer_draws(300_000, 500)
    (10000, 2000, 999, 500)
    """
    return min(draws, max(LEAST_DRAWS, WORK // max(1, numbers)))


def stand_in_draws(numbers: int, draws: int) -> int:
    """The draws of a posterior that stands in for a bootstrap without an answer, each of that many numbers: a second's, but 1,000 or more.

    What fewer draws leave open is stated beside the interval (`monte_carlo_error`). A posterior asked for by its name has all its draws.
    Reference: DavisonHinkley1997, section 2.5.2.

    >>> stand_in_draws(300, 10_000), stand_in_draws(4_000, 10_000), stand_in_draws(50_000, 10_000), stand_in_draws(50_000, 500)
    (10000, 2500, 1000, 500)
    """
    return min(draws, max(LEAST_DRAWS + 1, FALL_BACK // max(1, numbers)))
