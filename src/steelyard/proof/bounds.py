"""Claims about one-sided bounds of means, tables, groups, curves and differences: the laws of their intervals, one end alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from steelyard.metrics.catalogue import parse
from steelyard.proof import grouped, means, paired_scores, ranking, tables
from steelyard.proof.claims import PAGE, TWO_PAGE, Band, Claim, Said, Setting
from steelyard.proof.simulation import DRAWS, RULE, Draw, Study, Truth, default_of, runs_of, simulated
from steelyard.results import Interval

Ends = Callable[..., Interval | None]
SLOW = {"betting": 4, "percentile": 4, "bca": 4, "studentized": 8}
MEANS: tuple[Setting, ...] = tuple(
    {"scores": law, "n": n} for law, n in (("Beta(8,2)", 20), ("95% ones", 100), ("90% zeros", 50), ("Beta(8,2)", 100), ("95% ones", 500))
)
SKEWED = f"; {DRAWS} draws"
SAID: dict[str, dict[str, Said]] = {
    "a lower bound of a mean of bounded scores": {
        RULE: ("covers", Band(low=0.5)),
        "t": ("covers", Band(low=0.5)),
        "wilson-mean": ("covers", Band(low=0.5)),
        "betting": ("covers", Band(low=0.5)),
        "percentile": (f"covers{SKEWED}", Band(low=0.5)),
        "bca": (f"covers{SKEWED}", Band(low=0.5)),
        "studentized": (f"covers{SKEWED}", Band(low=0.5)),
    },
    "an upper bound of a mean of bounded scores": {
        RULE: ("covers", Band(low=0.5)),
        "t": ("covers", Band(low=0.5)),
        "wilson-mean": ("covers", Band(low=0.5)),
        "betting": ("covers", Band(low=0.5)),
        "percentile": (f"covers{SKEWED}", Band(low=0.5)),
        "bca": (f"covers{SKEWED}", Band(low=0.5)),
        "studentized": (f"covers{SKEWED}", Band(low=0.5)),
    },
    "a lower bound of macro F1": {
        "bca": (f"covers{SKEWED}", Band(low=0.5)),
        "percentile": (f"covers{SKEWED}", Band(low=0.5)),
        "delta": ("covers", Band(low=0.5)),
    },
    "a lower bound of a proportion of groups": {
        "wilson": ("covers", Band(low=0.5)),
        "delta": ("covers", Band(low=0.5)),
        "percentile": (f"covers{SKEWED}", Band(low=0.5)),
        "bca": (f"covers{SKEWED}", Band(low=0.5)),
        "studentized": (f"covers{SKEWED}", Band(low=0.5)),
    },
    "a lower bound of a mean of groups": {
        "t": ("covers", Band(low=0.5)),
        "percentile": (f"covers{SKEWED}", Band(low=0.5)),
        "bca": (f"covers{SKEWED}", Band(low=0.5)),
        "studentized": (f"covers{SKEWED}", Band(low=0.5)),
    },
    "a lower bound of AUC": {
        "delong": ("covers", Band(low=0.5)),
        "percentile": (f"covers{SKEWED}", Band(low=0.5)),
        "bca": (f"covers{SKEWED}", Band(low=0.5)),
    },
    "a lower bound of a paired difference of scores": {
        "t": ("covers", Band(low=0.5)),
        "bca": (f"covers{SKEWED}", Band(low=0.5)),
        "percentile": (f"covers{SKEWED}", Band(low=0.5)),
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
                yield from simulated(study, SAID[family], default, quick=runs_of(laws[:1], 200), full=runs_of(laws, 4000), page=page)
