"""Pairs of answers to evidence: which family a metric belongs to, under which design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard_old.errors import DataError, UsageError
from steelyard_old.estimate.difference_tests import TESTS
from steelyard_old.estimate.evidence import Evidence, OwnEstimate
from steelyard_old.estimate.fallback import attempt
from steelyard_old.estimate.grouped_rows import enough_groups
from steelyard_old.estimate.named_intervals import INTERVALS, JOINT
from steelyard_old.estimate.paired_scores import compare_scores
from steelyard_old.estimate.paired_units import compare_units
from steelyard_old.estimate.rows import class_of
from steelyard_old.estimate.strata_rows import as_one_sample, in_strata, with_strata
from steelyard_old.estimate.sums_rows import columns_of, pass_values, positives
from steelyard_old.estimate.unpaired import compare_counts, compare_means
from steelyard_old.infer.resampling.bootstrap import Degenerate
from steelyard_old.items import Items
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.labels import ACCURACY
from steelyard_old.metrics.ranking import RankingMetric
from steelyard_old.metrics.repeats import RepeatsMetric
from steelyard_old.metrics.sums import SumsMetric, of_margins
from steelyard_old.options.compare import CompareOptions
from steelyard_old.results.base import Warnings
from steelyard_old.tally.counts import MISSING, OF_OUTCOMES, Counts
from steelyard_old.tally.design import Design, count_labels, design_of, same_label, table_sums, take
from steelyard_old.tally.joint import JointCounts
from steelyard_old.tally.pairs import Pairs, count_joint, joint_of_codes, units_of
from steelyard_old.tally.sample import OUTCOME, Sample
from steelyard_old.tally.spelling import label_order
from steelyard_old.tally.sums import sum_units, tally_groups

FloatArray = npt.NDArray[np.float64]
Effects = Callable[[FloatArray], FloatArray]


def _of_whole_table(asked: CompareOptions) -> bool:
    """Whether an interval was asked for that right and wrong have only as a table."""
    how = None if asked.interval is None else INTERVALS.get(asked.interval)
    return how is not None and JOINT in how.families and how.flips is None


def joint_evidence(joint: JointCounts, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """The family that a metric of a joint table belongs to."""
    from steelyard_old.estimate.paired_right_or_wrong import compare_flips

    if metric.scored:
        redrawn = _of_whole_table(asked)
        found = compare_flips(joint.outcomes(), replace(asked, interval=None) if redrawn else asked, warnings, metric=metric)
        if redrawn:
            from steelyard_old.estimate.paired_table import outcome_interval

            found.interval = outcome_interval(joint, metric, found, asked, warnings)
    else:
        from steelyard_old.estimate.paired_table import compare_table

        named = metric.of_class and metric.average is None
        label = class_label(metric, joint.side("baseline"), asked) if named else None
        found = compare_table(joint, metric, label, asked, warnings)
    found.table = joint
    return found


def class_label(metric: Metric, counts: Counts, asked: CompareOptions) -> str | None:
    """The name of the class that a metric is about, or None for a metric of the whole table."""
    code = class_of(metric, counts, asked.own)
    return None if code is None else counts.labels[code]


def pair_evidence(pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """The evidence of matched pairs; each system's own interval is the one that `measure` gives."""
    if pairs.baseline.stratum is not None and pairs.candidate.stratum is not None and pairs.plain and in_strata(pairs.baseline, metric):
        pooled, usual = as_one_sample(pairs, asked)
        if usual.test is None and not metric.right_or_wrong and not _outcome_scores(pairs, asked):
            usual = replace(usual, test="sign-flip")  # the ends of a range have no stratum
        found = with_strata(_evidence(pooled, metric, usual, warnings), pairs, metric, asked, warnings)
    else:
        found = _evidence(pairs, metric, asked, warnings)
    if found.own is None:
        found.own = own_answers(pairs.baseline, pairs.candidate, metric, asked)
    return found


def own_answers(a: Items, b: Items, metric: Metric, asked: CompareOptions) -> tuple[OwnEstimate, OwnEstimate]:
    """What `measure` gives for each system, by one reading of both: 0 and 1 are right or wrong only if the other's are, too."""
    return _own(a, b, metric, asked), _own(b, a, metric, asked)


def _own(side: Items, beside: Items, metric: Metric, asked: CompareOptions) -> OwnEstimate:
    from steelyard_old.estimate.rows import rows_of_sample

    settings, quiet = replace(asked.own, interval=None), Warnings()
    by_score = "score" in metric.needs  # labels of one run beside right or wrong of the other are no matter of scores
    sample = Sample(side, settings, quiet, settings.labels, beside=beside if by_score else None, counted=False)
    rows = rows_of_sample([metric], sample, settings, quiet)
    return OwnEstimate(rows[0].interval, rows[0].standard_error) if len(rows) == 1 else OwnEstimate(None, None)


def _evidence(pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    a, b = pairs.baseline, pairs.candidate
    if a.weight is not None or b.weight is not None:
        refuse_weights(metric)
        if not a.weight.all():  # type: ignore[union-attr]  # both have them: `agree_on_units`
            return _evidence(_without_weightless(pairs), metric, asked, warnings)
    if not metric.comparable:
        raise UsageError(
            f"Comparisons do not support {metric.name}, a metric of ranks without an item-by-item test.",
            got="a metric of ranks, which has no test item by item here",
            need="accuracy, error, a label metric, mean, auc, brier, log_loss, ece, mae, rmse, r2, ratio, perplexity, pass@k or pass^k",
            hint="use accuracy, error, a label metric, mean, auc, brier, log_loss, ece, mae, rmse, r2, ratio, perplexity, pass@k or pass^k",
        )
    if isinstance(metric, RepeatsMetric):
        return _tries(pairs, metric, asked, warnings)
    if isinstance(metric, RankingMetric):
        return _auc(pairs, metric, asked, warnings)
    right_or_wrong = metric.scored and _outcome_scores(pairs, asked)
    _refuse_range(pairs, metric, asked)
    if metric.of_labels or right_or_wrong:
        return _table(pairs, metric, asked, warnings, right_or_wrong)
    return _sums(pairs, metric, asked, warnings)


def refuse_weights(metric: Metric) -> None:
    """Weights are for what is a mean over items: right or wrong, scores, losses, errors."""
    if metric.averages_items:
        return
    raise UsageError(
        f"Weights are for means over items (accuracy, error, mean, brier, log_loss, mae); {metric.name} does not support them.",
        got="a weight column",
        need="a mean over items, or items that count alike",
        hint="leave weight= out",
    )


def _without_weightless(pairs: Pairs) -> Pairs:
    """Items of weight 0 are left out, as `measure` leaves them out."""
    from steelyard_old.estimate.opening import subset

    assert pairs.baseline.weight is not None
    kept = np.unique(pairs.baseline_item[pairs.baseline.weight > 0])
    if not len(kept):
        raise DataError("All matched items have weight 0.", got="weights that are all 0", need="at least one weight above 0")
    return subset(pairs, kept)


def _tries(pairs: Pairs, metric: RepeatsMetric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """pass@k and pass^k: each problem is one number by its own tries, on both sides, and the numbers are compared as scores."""
    if asked.test is not None and TESTS[asked.test].of_runs:
        raise UsageError(
            f"target='runs' is not possible for {metric.name}, which is one number of all tries together.",
            got="tries that make one number together",
            need="target='items'",
            hint="target='items'",
        )
    values, once = [], []
    for side, item in ((pairs.baseline, pairs.baseline_item), (pairs.candidate, pairs.candidate_item)):
        if side.score is None or not _binary(side):
            raise DataError(
                f"{metric.name} needs right or wrong (1 or 0) for every try, but there are other scores.",
                got="scores other than 0 and 1",
                need="right or wrong for every try",
            )
        names = pairs.names or tuple(f"row {i + 1}" for i in range(pairs.items))
        values.append(pass_values(metric, side.score, item, names))
        once.append(take(side, np.unique(item, return_index=True)[1]))
    each = np.arange(pairs.items)
    alone = Pairs(once[0], once[1], each, each, pairs.items, pairs.names)
    return compare_scores((values[0], values[1]), alone, metric, asked, warnings, bounds=(0.0, 1.0))


def _outcome_scores(pairs: Pairs, asked: CompareOptions) -> bool:
    """Whether the scores of both systems say right or wrong."""
    return asked.own.range in OF_OUTCOMES and _binary(pairs.baseline) and _binary(pairs.candidate)


def _refuse_range(pairs: Pairs, metric: Metric, asked: CompareOptions) -> None:
    """Right or wrong by scores, which lie in a range that has other ends: one of the two is a mistake."""
    sides = (pairs.baseline, pairs.candidate)
    if asked.own.range in OF_OUTCOMES or not metric.right_or_wrong:
        return
    if any(side.truth is None or side.prediction is None for side in sides):
        raise UsageError(
            f"{metric.name} is about right and wrong (0 and 1), but the range is another.",
            got="a range other than that of right and wrong, 0 and 1",
            need="right or wrong for every item",
            hint="metric='mean'",
        )


def _binary(items: Items) -> bool:
    return items.score is not None and bool(np.isin(items.score, (0.0, 1.0)).all())


def _table(pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings, right_or_wrong: bool) -> Evidence:
    """Right or wrong, or labels: joint counts for plain pairs, margins by unit otherwise."""
    a, b = pairs.baseline, pairs.candidate
    labelled = all(side.truth is not None and side.prediction is not None for side in (a, b))
    if pairs.plain and a.group is None and a.weight is None:
        mixed = metric.right_or_wrong and not labelled  # labels in one run, right or wrong in the other
        joint = _outcomes(a, b) if right_or_wrong or mixed else count_joint(pairs, asked.own.labels)
        return joint_evidence(joint, metric, asked, warnings)
    if metric.scored:
        values = [_right(side, metric, scored=right_or_wrong or not labelled) for side in (a, b)]
        return compare_scores((values[0], values[1]), pairs, metric, asked, warnings, bounds=(0.0, 1.0))
    return _labelled_units(pairs, metric, asked, warnings)


def _right(items: Items, metric: Metric, *, scored: bool) -> FloatArray:
    """1 for right, 0 for wrong (turned round for an error rate), one per row: by the score, or by the labels."""
    if (scored and _binary(items) and items.score is not None) or items.truth is None or items.prediction is None:
        if items.score is None or not _binary(items):
            raise DataError(
                f"{metric.name} needs right or wrong (1 or 0) for every item, but there are other scores.",
                got="scores other than 0 and 1",
                need="right or wrong for every item",
                hint="metric='mean'",
            )
        right = items.score
    else:
        right = same_label(items.truth, items.prediction).astype(float)
    return np.asarray(metric.of_right(right))


def scores_decide(items: Items) -> bool:
    """Whether the scores, as far as they are known, say what is right: 0 and 1 do, a confidence or an overlap does not."""
    return items.score is not None and bool(np.isin(items.score[~np.isnan(items.score)], (0.0, 1.0)).all())


def right_or_wrong(items: Items) -> FloatArray:
    """1 for right, 0 for wrong, one per row; NaN where a score is missing."""
    return _right(items, ACCURACY, scored=True)


def all_right(runs: Sequence[Items], metric: Metric, asked: CompareOptions) -> tuple[FloatArray, bool] | None:
    """Right (1) or wrong (0) of aligned runs, a row each, and whether by their labels; None where a pair of them is more than its flips."""
    if not metric.comparable or not metric.scored or _of_whole_table(asked):
        return None
    if any(column is not None for run in runs for column in (run.weight, run.group, run.stratum, run.count)):
        return None
    binary = [asked.own.range in OF_OUTCOMES and _binary(run) for run in runs]
    labelled = metric.of_labels and all(run.truth is not None and run.prediction is not None for run in runs)
    if not all(binary) and (any(binary) or not labelled):
        return None
    return np.array([_right(run, ACCURACY, scored=all(binary)) for run in runs]), not all(binary)


def _outcomes(a: Items, b: Items) -> JointCounts:
    wrong = [(_right(side, ACCURACY, scored=True) == 0).astype(np.int64) for side in (a, b)]
    joint = joint_of_codes(np.zeros(a.n, np.int64), wrong[0], wrong[1], 2, OUTCOME, 2)
    return replace(joint, kind="outcomes")


def _sums(pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """Numbers per item: a difference of means where the metric is one, sums by unit where it is not."""
    assert isinstance(metric, SumsMetric)
    samples = [Sample(side, asked.own, warnings) for side in (pairs.baseline, pairs.candidate)]
    rows = [metric.adds(*columns_of(metric, sample)) for sample in samples]
    if not all(np.isfinite(side).all() for side in rows):
        raise DataError(
            f"{metric.name} is infinite: a probability is 0 or 1 where the answer is otherwise.",
            got="an infinite loss",
            need="probabilities away from 0 and 1 where the answer is otherwise",
        )
    if metric.mean_of_items:
        return compare_scores((rows[0][:, 1], rows[1][:, 1]), pairs, metric, asked, warnings, bounds=_item_range(metric, asked))
    _refuse_other_tokens(pairs, rows, metric, asked)
    unit, units = units_of(pairs)
    sides, single = [], []
    for side, item in zip(rows, (pairs.baseline_item, pairs.candidate_item), strict=True):
        order = np.lexsort((*side.T[::-1], item))  # sums of repeats must not depend on the order of the file
        side, item = side[order], item[order]
        share = 1 / np.bincount(item, minlength=pairs.items)[item]
        sides.append(sum_units(side * share[:, None], unit[item], units))
        single.append(_by_item(item, pairs.items, tally_groups(side * share[:, None], item, pairs.items).single))
    return compare_units(
        sides[0], sides[1], metric.statistic, pairs.items, metric, asked, warnings, **_group_sizes(pairs, unit, units, single)
    )


def _refuse_other_tokens(pairs: Pairs, rows: list[FloatArray], metric: SumsMetric, asked: CompareOptions) -> None:
    """Another number of tokens for the same text is another tokenizer. Bytes may differ by a first token that was not scored."""
    if any(word in asked.per.lower() for word in ("byte", "char")):
        return
    first = np.full((pairs.items, rows[0].shape[1]), np.nan)
    first[pairs.baseline_item] = rows[0]
    differ = metric.unlike(first[pairs.candidate_item], rows[1])
    if not differ.any():
        return
    below = first[:, 0]
    row = int(np.argmax(differ))
    i = int(pairs.candidate_item[row])
    many, shown = len(np.unique(pairs.candidate_item[differ])), pairs.names[i] if pairs.names else f"row {i + 1}"
    what = asked.per or "the number below the line"
    raise DataError(
        f"The runs differ in {what} on {many:,} of {pairs.items:,} items, such as {shown!r} ({below[i]:g} and {rows[1][row, 0]:g}): "
        f"{metric.name} per token does not compare across tokenizers.",
        got=f"another number of {what} in {many:,} of {pairs.items:,} items",
        need="the same texts cut by the same tokenizer, or bytes below the line",
        hint="divide by a column of bytes instead, such as ratio=nll/bytes",
    )


def _item_range(metric: SumsMetric, asked: CompareOptions) -> tuple[float, float] | None:
    """The range of one item's number, if it is known: declared for scores, by definition for a loss of probabilities."""
    return metric.range_of_scores(asked.own.range) or metric.item_range


def _by_item(item: npt.NDArray[np.int64], items: int, single: Effects | None) -> Effects:
    """The effects of rows, added up by the item that they are of."""
    assert single is not None
    return lambda gradient: np.asarray(np.bincount(item, weights=single(gradient), minlength=items), float)


def _group_sizes(pairs: Pairs, unit: npt.NDArray[np.int64], units: int, single: list[Effects]) -> dict[str, Any]:
    """Of groups: their sizes in items, and the effects of single items on the difference, by what each side's items add."""
    if pairs.baseline.group is None:
        return {}

    def both(gradient: FloatArray) -> FloatArray:
        here, there = np.split(gradient, 2)
        return single[0](here) + single[1](there)

    return {"sizes": np.bincount(unit, minlength=units).astype(float), "single": both}


def _labelled_units(pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """A label metric under groups or repeats: the margins of every unit, one row per side."""
    a, b = pairs.baseline, pairs.candidate
    if a.truth is None or a.prediction is None or b.truth is None or b.prediction is None:
        raise DataError(
            f"Comparing {metric.name} needs truth and prediction columns in both runs.",
            got="no truth or prediction column",
            need="both in both runs",
        )
    whole = count_labels(a.truth, a.prediction, asked.own.labels) + count_labels(b.truth, b.prediction, asked.own.labels)
    label = class_label(metric, whole, asked)
    statistic = of_margins(metric.of_table(None if label is None else whole.code(label), asked.own.absent), whole.classes)
    unit, units = units_of(pairs)
    rows, single = [], []
    for side, item in ((a, pairs.baseline_item), (b, pairs.candidate_item)):
        share = 1 / np.bincount(item, minlength=pairs.items)[item]
        design = Design("groups", unit[item], units, share, pairs.items)
        assert side.truth is not None
        assert side.prediction is not None
        sums = table_sums(side.truth, side.prediction, design, whole)
        rows.append(sums.rows)
        single.append(_by_item(item, pairs.items, sums.single))
    return compare_units(rows[0], rows[1], statistic, pairs.items, metric, asked, warnings, **_group_sizes(pairs, unit, units, single))


def _auc(pairs: Pairs, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """Two AUCs on the same items."""
    from steelyard_old.estimate.auc_evidence import auc_evidence
    from steelyard_old.infer.paired.auc_difference import unseen_orders
    from steelyard_old.infer.paired.delong import delong_pair

    if not pairs.plain:
        raise UsageError(
            "auc cannot be compared with repeats: there are several probabilities per item.",
            got="several probabilities per item",
            need="one",
            hint="average them first",
        )
    a, b = pairs.baseline, pairs.candidate
    positive = positives(Sample(a, asked.own, warnings))
    group = None if a.group is None else np.unique(a.group.codes, return_inverse=True)[1]
    if positive.all() or not positive.any():
        raise DataError(
            "auc needs positives and negatives, and there is only one class.", got="one class only", need="positives and negatives"
        )
    assert a.probability is not None
    assert b.probability is not None
    first, second = a.probability, b.probability
    pair = attempt(lambda: delong_pair(first, second, positive, group))
    if isinstance(pair, Degenerate):
        need = "at least two positives, two negatives, and five groups if there are groups"
        raise DataError(
            f"Comparing auc needs at least two positives and two negatives, and five groups if there are groups ({pair}).",
            got=str(pair),
            need=need,
        ) from pair
    fewer = min(int(positive.sum()), int((~positive).sum()))
    details: dict[str, Any] = {}
    enough = True
    if group is not None:
        from steelyard_old.estimate.ranking_rows import groups_of_classes

        details["groups"] = details["units"] = int(group.max()) + 1
        enough = enough_groups(groups_of_classes(positive, group), warnings, details, "groups of the rarer class")
    design = "paired" if group is None else "clustered"
    rare = None if group is not None else unseen_orders(first, second, positive)
    found = auc_evidence(pair, fewer, pairs.items, metric, asked, warnings, design=design, enough=enough, rare=rare)
    found.note(**_same_order(pair.difference, pair.error, warnings) | details)
    return found


def _same_order(difference: float, error: float, warnings: Warnings) -> dict[str, Any]:
    if difference or error:
        return {}
    warnings.add("the two systems put the items in the same order: identical runs, or one run compared with itself")
    return {"identical": True}


def unpaired_evidence(a: Items, b: Items, metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    """Two runs on different items."""
    if a.alike or b.alike:
        raise UsageError(
            "A group whose tasks count alike can only be compared on the same items, not with design='unpaired'.",
            got="design='unpaired'",
            need="the same items",
        )
    labels = asked.own.labels or _union(a, b)
    samples = [Sample(side, asked.own, warnings, labels) for side in (a, b)]
    if not all(design_of(sample.items).plain for sample in samples):
        raise UsageError(
            "Different items with groups or repeats cannot be compared; one row per item is needed.",
            got="groups or repeats",
            need="one row per item",
            hint="pair by id",
        )
    if isinstance(metric, RankingMetric) and metric.comparable:
        return _auc_unpaired(samples, metric, asked, warnings)
    binary = metric.scored and all(sample.binary_scores for sample in samples)
    if metric.of_labels or binary:
        tables = [_counts(sample, metric, binary) for sample in samples]
        return compare_counts(tables[0], tables[1], metric, class_label(metric, tables[0] + tables[1], asked), asked, warnings)
    if not isinstance(metric, SumsMetric) or not metric.averages_items:
        raise UsageError(f"{metric.name} can only be compared on the same items.", need="paired items", hint="give both runs the same ids")
    sides = [metric.adds(*columns_of(metric, sample))[:, 1] for sample in samples]
    found = compare_means(sides[0], sides[1], metric, asked, warnings, bounds=_item_range(metric, asked))
    found.own = own_answers(a, b, metric, asked)
    return found


def _union(a: Items, b: Items) -> tuple[str, ...] | None:
    """The labels of both runs: an average must run over the same classes on both sides."""
    columns = [column for side in (a, b) for column in (side.truth, side.prediction)]
    if any(column is None for column in columns):
        return None
    return label_order({column.names[i] for column in columns if column is not None for i in np.unique(column.codes)} - {MISSING})


def _counts(sample: Sample, metric: Metric, binary: bool) -> Counts:
    return sample.outcomes.counts if binary else sample.table.counts


def _auc_unpaired(samples: list[Sample], metric: Metric, asked: CompareOptions, warnings: Warnings) -> Evidence:
    from steelyard_old.estimate.auc_evidence import auc_evidence
    from steelyard_old.estimate.ranking_rows import ranking_row
    from steelyard_old.infer.paired.delong import delong_unpaired

    rows = [ranking_row(metric, sample, asked.own, warnings) for sample in samples]
    tables = [sample.score_table(positives(sample)) for sample in samples]
    pair = attempt(lambda: delong_unpaired(tables[0], tables[1]))
    if isinstance(pair, Degenerate):
        raise DataError(
            f"Comparing auc needs at least two positives and two negatives in each run ({pair}).",
            got=str(pair),
            need="at least two positives and two negatives in each run",
        ) from pair
    fewer = min(min(table.n_positive, table.n_negative) for table in tables)
    found = auc_evidence(pair, fewer, sum(s.n for s in samples), metric, asked, warnings, design="unpaired")
    found.own = OwnEstimate(rows[0].interval, rows[0].standard_error), OwnEstimate(rows[1].interval, rows[1].standard_error)
    return found
