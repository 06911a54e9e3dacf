"""rank: three systems or more in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, Unpack

from steelyard.base.problem import SteelyardError
from steelyard.declared import known
from steelyard.engines.many import CORRECTIONS
from steelyard.engines.many import rank as ranked
from steelyard.metrics.catalogue import find
from steelyard.options import Column, Level, Metrics, Missing, Range, Rare, Seed, Source
from steelyard.read.old import answered_there, read_by_old
from steelyard.read.open import Opened, usual
from steelyard.results import Interval, Result, result
from steelyard.show.blocks import Block, Delta, Facts, Head, Notes, Table, span
from steelyard.show.digits import p_value as p_text
from steelyard.verbs.asking import check_level, choice, how_of, interval_of, names_of, opened, shown, signature


@result
class Ranked(Result):
    """A system with its place."""

    name: str
    estimate: float | None
    interval: Interval | None = None
    tier: int = 1


@result
class RankedPair(Result):
    """The second minus the first of two systems."""

    first: str
    second: str
    difference: float
    interval: Interval | None = None
    p_value: float = 1.0
    p_adjusted: float = 1.0


@result
class Leaderboard(Result):
    """Systems in order; a tier ends where a system is worse than its first."""

    kind: ClassVar[str] = "leaderboard"
    metric: str
    n: int
    correction: str
    rows: tuple[Ranked, ...]
    pairs: tuple[RankedPair, ...] = ()
    seed: int | None = 0
    warnings: tuple[str, ...] = ()
    signature: str = ""

    def table(self) -> list[dict[str, Any]]:
        """The systems, plain, for CSV."""
        return [
            {
                "name": r.name,
                "tier": r.tier,
                "estimate": r.estimate,
                "low": r.interval and r.interval.low,
                "high": r.interval and r.interval.high,
            }
            for r in self.rows
        ]


def rank(
    *sources: Source,
    prediction: Column = None,
    metric: Metrics = None,
    positive: str | None = None,
    group: Column = None,
    score: Column = None,
    correction: Literal["holm", "bh", "bonferroni", "none"] = "holm",
    confidence_level: Level = 0.95,
    range: Range = None,
    missing: Missing = "error",
    seed: Seed = 0,
    **rare: Unpack[Rare],
) -> Leaderboard:
    """Three systems or more, in order.

    All answered the same items. Within a tier no difference is shown, after correction for all pairs.

    Args:
        sources: Files, or one file with several models; in Python also a mapping of names to frames.
        prediction: Column with the model's answer; in Python also the answers.
        metric: What to rank by, such as accuracy, macro_f1, fbeta:2, pass@5 or p95.
        positive: Class that f1, precision, recall and auc are about.
        group: Column of items that belong together; `none` ignores it.
        score: Column with a number per item; `scores.Factuality` follows a path.
        correction: Correction for all pairs: holm, bh, bonferroni or none (default holm).
        confidence_level: Confidence level of the interval.
        range: Smallest and largest possible score, such as 0,5.
        missing: What to do with items without an answer or a score (default error).
        seed: Random seed; `none` picks one and prints it.
        rare: id, truth, probability, repeat, weight, model_column, labels, interval, side, prior, draws, absent,
            lower_is_better: described in Rare.

    Examples:
        $ steelyard rank nb.csv tree.csv forest.csv
        $ steelyard rank runs/*.jsonl --metric macro_f1
        $ steelyard rank all.csv --model-column system

        >>> import steelyard as sy
        >>> runs = {"a": [1.0] * 30 + [0.0] * 10, "b": [1.0] * 12 + [0.0] * 28, "c": [1.0] * 29 + [0.0] * 11}
        >>> [(row.name, row.tier) for row in sy.rank(runs).rows]
        [('a', 1), ('c', 1), ('b', 2)]
    """
    if any(map(read_by_old, sources)):
        asked_there = {"metric": metric, "positive": positive, "group": group, "range": range, "missing": missing, "score": score}
        more = {"prediction": prediction, "correction": correction, "confidence_level": confidence_level, "seed": seed, **rare}
        return answered_there("rank", sources, {**asked_there, **more})  # type: ignore[no-any-return]
    known(Rare, rare, rank)
    choice(correction, CORRECTIONS, "correction")
    check_level(confidence_level)
    said = {
        "positive": positive,
        "group": group,
        "range": range,
        "missing": choice(missing, ("error", "wrong", "drop"), "missing"),
        "seed": seed,
        "score": score,
    }
    how = how_of(said, rare)
    runs = dict(systems(sources, prediction, said, rare, metric))
    first = next(iter(runs.values()))
    name = (names_of(metric) or usual(first)[:1])[0]
    board = ranked(name, {key: one.items for key, one in runs.items()}, how, correction=correction, level=confidence_level)
    own = find(name, how.absent)
    rows = tuple(
        Ranked(name=key, estimate=answer.estimate, interval=interval_of(answer, confidence_level), tier=tier)
        for key, answer, tier in zip(board.names, board.answers, board.tiers, strict=True)
    )
    pairs = tuple(
        RankedPair(
            first=board.names[i],
            second=board.names[j],
            difference=float(d),
            interval=Interval(low=float(low), high=float(high), confidence_level=confidence_level),
            p_value=float(p),
            p_adjusted=float(adjusted),
        )
        for (i, j), d, low, high, p, adjusted in zip(
            board.pairs, board.difference, board.low, board.high, board.p_value, board.p_adjusted, strict=True
        )
    )
    notes = [note for one in runs.values() for note in one.notes]
    n = board.answers[0].n
    return Leaderboard(
        metric=own.name,
        n=n,
        correction=correction,
        rows=rows,
        pairs=pairs,
        seed=how.seed,
        warnings=tuple(
            dict.fromkeys(
                [*notes, "the best of several looks better than it is, because it was picked for its score; measure it again on new items"]
            )
        ),
        signature=signature(metric=own.name, n=n, systems=len(rows), correction=correction, level=f"{confidence_level:g}", seed=how.seed),
    )


def systems(sources: tuple[Any, ...], prediction: Any, said: dict[str, Any], rare: Any, metric: Any) -> Iterator[tuple[str, Opened]]:
    """Names and runs: a mapping, one source with several models, or a source for each."""
    if (
        len(sources) == 1
        and isinstance(sources[0], Mapping)
        and all(not isinstance(v, str | list | tuple) or not len(v) or not isinstance(v[0], str) for v in sources[0].values())
    ):
        given = list(sources[0].items())
    elif len(sources) == 1:
        found = opened(sources[0], prediction, said, rare, names_of(metric))
        column = found.columns.get("model", "")
        if column not in found.by:
            raise SteelyardError("A ranking needs several sources, or one with a column of models.", hint="model_column=NAME")
        yield from found.parts(column)
        return
    else:
        given = [("", source) for source in sources]
    seen: set[str] = set()
    for i, (name, source) in enumerate(given):
        one = opened(source, prediction, said, rare, names_of(metric))
        label = name or one.name or f"system {i + 1}"
        label = label if label not in seen and label != "data" else f"{label} {i + 1}"
        seen.add(label)
        yield label, one


def layout(b: Leaderboard) -> Iterator[Block]:
    best = [r for r in b.rows if r.tier == 1]
    names = [r.name for r in best[:3]]
    said = (
        f"{names[0]} is best"
        if len(best) == 1
        else f"{', '.join(names[:-1])} and {names[-1]} share the first place"
        if len(best) <= 3
        else f"{', '.join(names)} and {len(best) - 3} more share the first place"
    )
    yield Head(said, f"{shown(b.metric)}, {b.n:,} items")
    level = f"{b.rows[0].interval.confidence_level if b.rows[0].interval else 0.95:.0%} interval"
    yield Table(
        ("system", "", shown(b.metric), level, ""),
        [(r.name, f"tier {r.tier}", r.estimate, r.interval, span(r.estimate, r.interval)) for r in b.rows],
        more="--details",
        short=15,
    )
    rows = [
        (p.first, p.second, Delta(p.difference), p.interval, p_text(p.p_adjusted)[2:].lstrip("= "), span(p.difference, p.interval))
        for p in b.pairs
    ]
    yield Table(("first", "second", "second - first", level, "p", ""), rows, "Pairs", level=1, mark=(0.0, "no difference"))
    yield Facts([("Correction", b.correction), ("Seed", b.seed), ("Signature", b.signature)], "How this was computed")
    yield Notes(
        [f"Within a tier no difference is shown ({b.correction}). Pairs: --details", *(f"Note: {warning}" for warning in b.warnings[:3])]
    )
