"""Claims about one-sided bounds of means, tables, groups, curves and differences: the laws of their intervals, one end alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from steelyard_old.metrics.catalogue import parse
from steelyard_old.proof.claims import PAGE, TWO_PAGE, Band, BandText, Claim, Setting
from steelyard_old.proof.coverage import grouped, means, paired_scores, ranking, tables
from steelyard_old.proof.simulation import DRAWS, Draw, Study, Truth, at_most_of, default_of, runs_of, simulated
from steelyard_old.results.measurement import Interval

Ends = Callable[..., Interval | None]
SLOW = {"betting": 4, "percentile": 4, "bca": 4, "studentized": 8}
MEANS: tuple[Setting, ...] = tuple(
    {"scores": law, "n": n} for law, n in (("Beta(8,2)", 20), ("95% ones", 100), ("90% zeros", 50), ("Beta(8,2)", 100), ("95% ones", 500))
)
DRAWN = f"; {DRAWS} draws"
SAID: dict[str, dict[str, BandText]] = {
    "a lower bound of a mean of bounded scores": {
        "bounded-mean": ("never covers less than it says here", Band(low=0.95)),
        "t": ("covers 0.87 where few items are off one end", Band(low=0.855, fails=0.94, mean_low=0.9)),
        "wilson-mean": ("never covers less than it says here", Band(low=0.95)),
        "betting": ("never covers less than it says", Band(low=0.95)),
        "percentile": (f"covers 0.885 where few items are off one end{DRAWN}", Band(low=0.87, mean_low=0.9)),
        "bca": (f"covers 0.93 or more{DRAWN}", Band(low=0.915, mean_low=0.92)),
        "studentized": (f"covers 0.93 or more{DRAWN}", Band(low=0.92, mean_low=0.94)),
    },
    "an upper bound of a mean of bounded scores": {
        "bounded-mean": ("never covers less than it says here", Band(low=0.95)),
        "t": ("covers 0.865 where few items are off the lower end", Band(low=0.85, fails=0.96, mean_low=0.93)),
        "wilson-mean": ("never covers less than it says here", Band(low=0.95)),
        "betting": ("never covers less than it says", Band(low=0.95)),
        "percentile": (f"covers 0.885 where few items are off the lower end{DRAWN}", Band(low=0.87, mean_low=0.92)),
        "bca": (f"covers 0.93 or more{DRAWN}", Band(low=0.92, mean_low=0.93)),
        "studentized": (f"covers 0.94 or more{DRAWN}", Band(low=0.93, mean_low=0.94)),
    },
    "a lower bound of macro F1": {
        "bca": (f"covers 0.94 or more{DRAWN}", Band(low=0.93, mean_low=0.945)),
        "percentile": (f"covers 0.93 or more{DRAWN}", Band(low=0.92, mean_low=0.935)),
        "delta": ("covers 0.91 or more", Band(low=0.9, mean_low=0.92)),
    },
    "a lower bound of a proportion of groups": {
        "wilson": ("covers 0.95 or more", Band(low=0.93, mean_low=0.955)),
        "delta": ("covers 0.81 with ten groups", Band(low=0.79, fails=0.93, mean_low=0.88)),
        "percentile": (f"covers 0.76 with five groups{DRAWN}", Band(low=0.75, fails=0.93, mean_low=0.87)),
        "bca": (f"covers 0.8 with five groups{DRAWN}", Band(low=0.805, mean_low=0.89)),
        "studentized": (f"covers 0.93 or more, far wider with few groups{DRAWN}", Band(low=0.91, mean_low=0.94)),
    },
    "a lower bound of a mean of groups": {
        "t": ("covers 0.84 with five, 0.86 with ten groups of skewed scores", Band(low=0.79, fails=0.93, mean_low=0.86)),
        "percentile": (f"covers 0.78 with five groups{DRAWN}", Band(low=0.75, fails=0.93, mean_low=0.84)),
        "bca": (f"covers 0.8 with five groups{DRAWN}", Band(low=0.77, fails=0.95, mean_low=0.86)),
        "studentized": (f"covers 0.93 or more, twice as wide with few groups{DRAWN}", Band(low=0.91, mean_low=0.93)),
    },
    "a lower bound of AUC": {
        "delong-wilson": ("covers 0.94 or more", Band(low=0.93, mean_low=0.945)),
        "delong": ("covers 0.89 with ten positives and an AUC of 0.96", Band(low=0.87, mean_low=0.92)),
        "percentile": (f"covers 0.77 with ten positives and an AUC of 0.96{DRAWN}", Band(low=0.74, mean_low=0.88)),
        "bca": (f"covers 0.89 with ten positives and an AUC of 0.96{DRAWN}", Band(low=0.87, mean_low=0.91)),
    },
    "a lower bound of a paired difference of scores": {
        "bounded-t": ("covers what it says or more, rare large losses included", Band(low=0.945)),
        "t": ("covers 0.63 with 20 items of which one in twenty is a large loss", Band(low=0.62, mean_low=0.9)),
        "bca": (f"covers 0.63 with 20 items of which one in twenty is a large loss{DRAWN}", Band(low=0.6, mean_low=0.88)),
        "percentile": (f"covers 0.63 with 20 items of which one in twenty is a large loss{DRAWN}", Band(low=0.6, mean_low=0.88)),
    },
}


# what is bounded, a sample, the truth, the interval by method, sample, seed and side, the settings
OF: tuple[tuple[str, Draw, Truth, Ends, tuple[Setting, ...]], ...] = (
    ("a mean of bounded scores", means.draw, lambda s: means.LAWS[str(s["scores"])][1], means.of_mean, MEANS),
    ("macro F1", tables.draw, partial(tables.truth, "macro_f1"), partial(tables.interval, parse("macro_f1")), tables.WHOLE[:4]),
    ("a proportion of groups", grouped.shares, lambda s: float(s["p"]), grouped.of_shares, grouped.SHARES),
    ("a mean of groups", grouped.numbers, lambda s: 0.8, grouped.of_numbers, grouped.NUMBERS),
    ("AUC", ranking.draw, ranking.area, partial(ranking.interval, "auc"), ranking.LAWS),
    ("a paired difference of scores", paired_scores.scores, lambda s: 0.0, paired_scores.of_scores, paired_scores.SCORES),
)
SIDES = {"a lower bound": "lower", "an upper bound": "upper"}


def claims() -> Iterator[Claim]:
    for name, draw, truth, interval, laws in OF:
        for bound, side in SIDES.items():
            family = f"{bound} of {name}"
            if family in SAID:
                study = Study(family=family, draw=draw, truth=truth, interval=partial(interval, side=side), slow=SLOW)
                page = TWO_PAGE if "difference" in family else PAGE
                default = default_of(study, laws[0], SAID[family])
                yield from simulated(study, SAID[family], default, quick=at_most_of(laws[:1], 300), full=runs_of(laws, 4000), page=page)
