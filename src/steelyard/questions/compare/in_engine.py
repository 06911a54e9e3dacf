"""Two large files compared where they lie: met and counted inside DuckDB, the same numbers as from their items.

Used for plain paired files of more than LARGE rows and a metric of counts. The ten telling items come out of the same pass;
`--flips-out` lists every flipped item and therefore reads the items, as slices, groups and repeats do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from steelyard.estimate.changed_items import with_context
from steelyard.estimate.compare_options import CompareOptions
from steelyard.estimate.comparison import finish, joint_evidence
from steelyard.estimate.opening import refuse_fractions
from steelyard.estimate.paired_units import compare_units
from steelyard.estimate.rows import DEALT
from steelyard.metrics.base import Metric
from steelyard.metrics.catalogue import parse
from steelyard.metrics.sums import QUOTIENT
from steelyard.read.engines.joining import meet
from steelyard.read.engines.meeting import meet_tables, right_or_wrong
from steelyard.read.engines.tables import TRAVELLERS, SqlTable
from steelyard.read.engines.units import paired_unit_sums
from steelyard.read.source import Source
from steelyard.results.comparison import Comparison
from steelyard.tally.pairs import settle_pairing

LARGE = 200_000  # rows; below it, reading items costs less than a second


def compare_large(
    baseline: Source, candidate: Source, wanted: Metric | None, asked: CompareOptions, names: Sequence[str] | None
) -> Comparison | None:
    """The comparison, or None if it must be made from items. Without a metric: accuracy, where the items would choose it too."""
    sources = baseline, candidate
    if asked.design == "unpaired":
        return None
    there = all(isinstance(source.table, SqlTable) for source in sources)  # tables of an engine, however small, are counted on it
    if not there and max(source.n for source in sources) <= LARGE:
        return None
    if not asked.own.right_or_wrong and all("score" in source.roles for source in sources):
        return _compare_units(baseline, candidate, wanted, asked, names) if there else None
    metric = wanted or parse("accuracy")
    scored = metric.scored and all("score" in source.roles for source in sources)
    if not scored and (metric.family != "table" or not _holds(sources, metric.needs)):
        return None
    met = (meet_tables if there else meet)(baseline, candidate, outcomes=metric.scored)
    if met is None:
        return _compare_units(baseline, candidate, wanted, asked, names) if there else None
    for sentence in (*baseline.warnings, *candidate.warnings):
        asked.warn(sentence)
    if wanted is None and _holds(sources, ("truth", "prediction")):
        for truths in met.truths or map(_truths, sources):  # the join has seen them, unless it was one of scores
            refuse_fractions(truths)
    for sentence in settle_pairing(met.report, asked.unmatched):
        asked.warn(sentence)
    found = joint_evidence(met.joint(asked.own.labels), metric, asked)
    called = run_names(sources, names)
    return finish(
        found,
        metric,
        asked,
        (called[0], called[1]),
        telling=with_context(met.telling, baseline, candidate),
        unmatched=met.report.to_dict(),
        slices=(),
    )


def _compare_units(a: Source, b: Source, wanted: Metric | None, asked: CompareOptions, names: Sequence[str] | None) -> Comparison | None:
    """Scores of more rows than may travel: sums by group, or by md5 bucket of the id; an item with repeats counts once."""
    if not _holds((a, b), ("score",)) or max(a.n, b.n) <= TRAVELLERS:
        return None
    binary = asked.own.right_or_wrong and all(map(right_or_wrong, (a, b)))
    metric = wanted or parse("accuracy" if binary else "mean")
    if not metric.mean_of_scores and not (metric.counts_right and binary):
        return None
    if wanted is None and not binary and _holds((a, b), ("truth", "prediction")):
        return None  # labels would decide
    if (dealt := paired_unit_sums(a, b)) is None:
        return None
    sums, kind, report = dealt
    for sentence in (*a.warnings, *b.warnings, *settle_pairing(report, asked.unmatched)):
        asked.warn(sentence)
    grouped = sums.units == "groups"
    if asked.own.range is not None and not binary:
        asked.warn("range was not used: sums by group or bucket do not show where in it single scores lie")
    if kind == "buckets" and grouped:
        asked.warn(DEALT.format(sums.n))
    elif kind == "buckets":
        asked.warn(
            f"too many rows to move: {report.matched:,} items lie in {sums.n:,} buckets by the md5 of their ids, which are resampled"
        )
    found = compare_units(
        sums.dense[:, :2], sums.dense[:, 2:], QUOTIENT, report.matched, metric, asked, sizes=sums.sizes if grouped else None
    )
    called = run_names((a, b), names)
    return finish(found, metric, asked, (called[0], called[1]), unmatched=report.to_dict())


def run_names(sources: Sequence[Source], names: Sequence[str] | None) -> list[str]:
    """What to call the runs, each differently."""
    fallback = ["baseline", "candidate"] if len(sources) == 2 else [f"system {i + 1}" for i in range(len(sources))]
    found = [names[place] if names else source.name or fallback[place] for place, source in enumerate(sources)]
    return found if len(set(found)) == len(found) else [f"{name} ({word})" for name, word in zip(found, fallback, strict=True)]


def _holds(sources: Sequence[Source], roles: Sequence[str]) -> bool:
    return all(role in source.roles for source in sources for role in roles)


def _truths(source: Source) -> Collection[str]:
    return [str(truth) for truth, _ in source.tabulate(["truth"])]
