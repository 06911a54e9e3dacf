"""Many systems: each with its interval, every pair with a corrected p-value, tiers that cannot be told apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard_old.errors import UsageError
from steelyard_old.estimate.board_flips import flips_board
from steelyard_old.estimate.evidence import concluded_again, finish, sign
from steelyard_old.estimate.opening import AlignedRuns, SystemItems, aligned_runs, ids_of, paired, subset, without
from steelyard_old.estimate.pair_evidence import pair_evidence
from steelyard_old.infer import multiplicity as many
from steelyard_old.metrics.base import Metric
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import CombinedTasks, Comparison, Leaderboard, MeanRanks, OmnibusTest, Ranked, System
from steelyard_old.tally.pairs import Pairs, agree_on_units
from steelyard_old.tally.spelling import label_order, slice_look_alike_warnings

WINNERS_CURSE = (
    "the best of several systems looks better than it is, because it was picked for its score; "
    "measure it again on new items before you quote it"
)
FEW_DATASETS = 10


def leaderboard(runs: Sequence[SystemItems], metric: Metric, asked: CompareOptions, warnings: Warnings, by: tuple[str, ...]) -> Leaderboard:
    """All pairs of three or more systems on the same items."""
    if asked.design == "unpaired":
        raise UsageError(
            "rank needs the same items for all systems; design='unpaired' is for two.",
            got="design='unpaired'",
            need="the same items for all",
        )
    if len(by) > 1:
        raise UsageError(
            f"rank takes one column in by=, the dataset or task; got by={by!r}.", got=f"by={by!r}", need="one column, the dataset or task"
        )
    if asked.alternative != "two-sided":
        raise UsageError(
            f"rank uses two-sided tests; alternative={asked.alternative!r} is not possible.",
            got=f"alternative={asked.alternative!r}",
            need="two-sided",
        )
    runs = common_items(runs, asked, warnings)
    aligned = aligned_runs(runs, asked)
    quick = None if aligned is None else flips_board(aligned, [run.name for run in runs], metric, asked, warnings)
    if aligned is not None and quick is not None:
        (pairs, used), matched = quick, {(0, j): aligned.pair(0, j) for j in range(1, len(runs))}
    else:
        pairs, used, matched = _each_pair(runs, aligned, metric, asked, warnings)
    order = _ranked(runs, pairs)
    rows = _rows(runs, pairs, order, 1 - asked.level)
    warnings.add(WINNERS_CURSE)
    first = pairs[0, 1]
    return Leaderboard(
        metric=metric.name,
        correction=asked.correction,
        n=first.n,
        rows=tuple(rows),
        pairs=tuple(pairs.values()),
        omnibus=_cochran(runs, matched, metric),
        ranks=_friedman(runs, matched, metric, asked, warnings, by),
        warnings=tuple(warnings),
        signature=used,
    )


def _each_pair(
    runs: Sequence[SystemItems], aligned: AlignedRuns | None, metric: Metric, asked: CompareOptions, warnings: Warnings
) -> tuple[dict[tuple[int, int], Comparison], str, dict[tuple[int, int], Pairs]]:
    """Every pair by itself, with its corrected p-value; the signature; and the pairs, of aligned runs only those with the first."""
    found: dict[tuple[int, int], Comparison] = {}
    matched: dict[tuple[int, int], Pairs] = {}
    for i, j in itertools.combinations(range(len(runs)), 2):
        own = Warnings()
        if aligned is None:
            pair, unmatched = paired(runs[i], runs[j], asked, own)
        else:
            own.extend(aligned.said(i, j))
            pair, unmatched = agree_on_units(aligned.pair(i, j)), aligned.unmatched
        if aligned is None or i == 0:
            matched[i, j] = pair
        evidence = pair_evidence(pair, metric, asked, own)
        found[i, j] = finish(evidence, metric, asked, own, (runs[i].name, runs[j].name), unmatched=unmatched)
        if (i, j) == (0, 1):
            used = sign(evidence, metric, asked, systems=len(runs), correction=asked.correction)
        warnings.extend(own)
    adjusted = many.adjust([1.0 if c.p_value is None else c.p_value for c in found.values()], asked.correction)
    pairs = {
        key: replace(concluded_again(c, p, asked), details=replace(c.details, p_adjusted=p))
        for (key, c), p in zip(found.items(), adjusted, strict=True)
    }
    return pairs, used, matched


def common_items(runs: Sequence[SystemItems], asked: CompareOptions, warnings: Warnings) -> list[SystemItems]:
    """With --unmatched drop, the items that all systems answered: every number of the board is then about the same items."""
    if asked.unmatched != "drop" or any(run.items.id is None for run in runs):
        return list(runs)
    ids = [ids_of(run.items) for run in runs]
    shared = set.intersection(*ids)
    gone = sum(len(own - shared) for own in ids)
    if gone:
        warnings.add(f"{gone} answers to items that some systems lack were left out (unmatched='drop'); {len(shared)} items remain")
    return [SystemItems(run.name, without(run.items, own - shared)) for run, own in zip(runs, ids, strict=True)]


def _system(pairs: dict[tuple[int, int], Comparison], place: int) -> System:
    key = next(key for key in pairs if place in key)
    return pairs[key].baseline if key[0] == place else pairs[key].candidate


def _ranked(runs: Sequence[SystemItems], pairs: dict[tuple[int, int], Comparison]) -> list[int]:
    """From best to worst; equal estimates by name, so that the order of the arguments does not matter."""
    sign = -1 if pairs[0, 1].higher_is_better else 1
    return sorted(range(len(runs)), key=lambda i: (sign * (_system(pairs, i).estimate or 0.0), runs[i].name))


def _rows(runs: Sequence[SystemItems], pairs: dict[tuple[int, int], Comparison], order: list[int], alpha: float) -> list[Ranked]:
    def differ(a: int, b: int) -> bool:
        pair = pairs[min(order[a], order[b]), max(order[a], order[b])]
        p = pair.details.p_adjusted
        return p is not None and p <= alpha and pair.details.not_judged is None

    tiers = many.tiers(len(order), differ)
    rows = []
    for place, tier in zip(order, tiers, strict=True):
        system = _system(pairs, place)
        rows.append(
            Ranked(
                name=runs[place].name,
                estimate=system.estimate,
                interval=system.interval,
                standard_error=system.standard_error,
                tier=tier,
            )
        )
    return rows


def _cochran(runs: Sequence[SystemItems], matched: dict[tuple[int, int], Pairs], metric: Metric) -> OmnibusTest | None:
    """Cochran's Q, where every system is right or wrong once on the same items."""
    from steelyard_old.estimate.changed_items import item_values

    grouped = any(pair.baseline.group is not None for pair in matched.values())
    if grouped or not metric.right_or_wrong or not all(pair.plain and pair.names == matched[0, 1].names for pair in matched.values()):
        return None
    sides = [item_values(matched[0, 1].baseline, metric)] + [item_values(matched[0, j].candidate, metric) for j in range(1, len(runs))]
    if any(side is None for side in sides):
        return None
    patterns, counts = np.unique(np.stack(sides, axis=1).astype(int), axis=0, return_counts=True)
    q, df, p = many.cochran_q({tuple(int(x) for x in pattern): int(c) for pattern, c in zip(patterns, counts, strict=True)})
    return OmnibusTest(name="Cochran's Q", statistic=q, df=df, p_value=p)


def _friedman(
    runs: Sequence[SystemItems],
    matched: dict[tuple[int, int], Pairs],
    metric: Metric,
    asked: CompareOptions,
    warnings: Warnings,
    by: tuple[str, ...],
) -> MeanRanks | None:
    """Mean ranks over the values of the --by column as datasets."""
    if not by:
        return None
    labels = matched[0, 1].baseline.slices[by[0]]
    values = label_order(labels.names[i] for i in np.unique(labels.codes) if i >= 0)
    warnings.extend(slice_look_alike_warnings(by[0], values))
    if len(values) < 2:
        raise UsageError(
            f"The column {by[0]!r} has only {len(values)} value; ranks over datasets need at least two.",
            got=f"{len(values)} value",
            need="at least two datasets",
        )
    scores = np.empty((len(values), len(runs)))
    for row, value in enumerate(values):
        for j in range(1, len(runs)):
            pair = matched[0, j]
            own = pair.baseline.slices[by[0]]
            items = np.unique(pair.baseline_item[own.codes == own.names.index(value)])
            part = pair_evidence(subset(pair, items), metric, replace(asked, margin=None), Warnings())
            scores[row, 0], scores[row, j] = part.baseline or 0.0, part.candidate or 0.0
    out = many.friedman(scores, metric.better_high(asked.own.higher_is_better))
    if len(values) < FEW_DATASETS:
        warnings.add(f"ranks over {len(values)} datasets; the Friedman and Nemenyi approximations need 10 or more")
    critical = many.nemenyi_critical_difference(len(runs), len(values), 1 - asked.level)
    one_sided = [_pair_p(matched[0, j], metric, asked, by[0], values) for j in range(1, len(runs))]
    names = tuple(run.name for run in runs)
    return MeanRanks.of({**out, "names": names, "critical_difference": critical, "combined_over_tasks": one_sided})


def _pair_p(pair: Pairs, metric: Metric, asked: CompareOptions, by: str, values: Sequence[str]) -> CombinedTasks:
    """One candidate against the first system over all tasks: Fisher's combination of one-sided p-values."""
    own = pair.baseline.slices[by]
    p_values = []
    for value in values:
        items = np.unique(pair.baseline_item[own.codes == own.names.index(value)])
        ask = replace(asked, alternative="greater" if metric.better_high(asked.own.higher_is_better) else "less", margin=None)
        p = pair_evidence(subset(pair, items), metric, ask, Warnings()).test.p_value
        p_values.append(1.0 if p is None else p)
    statistic, p = many.fisher_combined(p_values)
    return CombinedTasks(fisher=statistic, p_better=p)
