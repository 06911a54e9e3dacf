"""Is one better than the other? Two systems, or many; difference is candidate minus baseline, always."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard_old.errors import UsageError, with_article
from steelyard_old.estimate.evidence import finish
from steelyard_old.estimate.opening import check_names, refuse_direction, refuse_each_class
from steelyard_old.estimate.pair_evidence import class_label, joint_evidence
from steelyard_old.metrics.base import Metric
from steelyard_old.metrics.catalogue import parse, usual
from steelyard_old.metrics.labels import ACCURACY
from steelyard_old.options.compare import OPTIONS, RANKED, CompareOptions, settle_comparison
from steelyard_old.options.measure import settle
from steelyard_old.options.option import check_kinds, documented, keyword_defaults, keywords_of, source_keywords
from steelyard_old.outputs import refuse_overwriting
from steelyard_old.read.frames import is_frame
from steelyard_old.results.base import Warnings
from steelyard_old.results.comparison import Comparison, Leaderboard
from steelyard_old.results.details import ComparisonDetails
from steelyard_old.results.measurement import Measurement
from steelyard_old.tally.counts import Counts, whole
from steelyard_old.tally.joint import Flips, JointCounts

FORM = "compare(a, b, truth=y_true) compares two systems, rank(a, b, c, truth=y_true) ranks three or more"


def with_truth(data: Sequence[Any], columns: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The systems, and the columns with the truth among them if three arrays of labels were given: truth, baseline, candidate.

    Numbers that are not all whole are scores, one array per system. Only 0 and 1 could be either, and more than three arrays
    of labels could begin with the truth or not: both are refused.
    """
    if any(column is None or _is_source(column) for column in data):
        return list(data), dict(columns)
    kinds = {_kind(column) for column in data}
    if "scores" in kinds or "other" in kinds:
        return list(data), dict(columns)
    many = len(data)
    if many > 3 or kinds == {"zeros and ones"}:
        got = f"{many} arrays of labels" if many > 3 else "three arrays of 0 and 1, which may be labels or right and wrong"
        raise UsageError(
            f"Cannot tell truths from answers: got {got}.",
            got=got,
            need="the truth by name",
            hint=f"name the truth: {FORM}; right or wrong of several systems: compare({{'score': a}}, {{'score': b}}, ...)",
        )
    lengths = [len(column) for column in data]
    if len(set(lengths)) > 1:
        got = f"{', '.join(map(str, lengths))} values"
        raise UsageError(
            f"The arrays have different lengths: {', '.join(map(str, lengths))}.", got=got, need="three arrays of one length", hint=FORM
        )
    return list(data[1:]), {**columns, "truth": data[0]}


def _is_source(data: Any) -> bool:
    """Whether it is something with columns, or a path: not one bare array."""
    if isinstance(data, (str, bytes, os.PathLike, Mapping)) or is_frame(data) or not hasattr(data, "__len__"):
        return True
    if getattr(data, "ndim", 1) != 1:
        return True
    return isinstance(data, (list, tuple)) and any(issubclass(kind, (Mapping, list, tuple)) for kind in set(map(type, data)))


def _kind(values: Any) -> str:
    """labels, zeros and ones, scores, or other."""
    if isinstance(values, list) and set(map(type, values)) == {str}:
        return "labels"  # without an array of texts, which would take most of the time
    values = np.asarray(values)
    if values.dtype.kind in "US":
        return "labels"
    if values.dtype.kind == "O":
        return "labels" if all(issubclass(kind, (str, int, type(None))) for kind in set(map(type, values.tolist()))) else "other"
    if values.dtype.kind not in "biuf":
        return "other"
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if values.dtype.kind == "f" and not bool((known == np.floor(known)).all()):
        return "scores"
    if values.dtype.kind != "f":  # whole numbers: two passes that make nothing new
        return "zeros and ones" if not len(known) or (known.min() >= 0 and known.max() <= 1) else "labels"
    return "zeros and ones" if bool(((known == 0) | (known == 1)).all()) else "labels"


PREFERENCE = replace(ACCURACY, base="preference")


@documented(
    OPTIONS,
    "a Comparison",
    baseline="The system to be compared with, as in `measure`; or Counts, JointCounts, a Measurement.",
    candidate="The other system. Default: none, `baseline` holds both.",
    more="Three arrays of labels are the truth, the baseline's answers and the candidate's.",
)
def compare(
    baseline: Any,
    candidate: Any = None,
    /,
    *more: Any,
    metric: str | None = None,
    positive: object = None,
    labels: Sequence[object] | None = None,
    by: str | Sequence[str] | None = None,
    design: str | None = None,
    unmatched: str = "error",
    missing: str = "error",
    interval: str | None = None,
    test: str | None = None,
    alternative: str = "two-sided",
    margin: float | None = None,
    correction: str = "holm",
    confidence_level: float = 0.95,
    side: str = "two",
    draws: int = 10_000,
    seed: int | None = 0,
    prior: float = 0.5,
    prior_scale: float | None = None,
    range: Sequence[float] | None = None,  # noqa: A002  the word that users know
    higher_is_better: bool | None = None,
    absent: str | None = None,
    ratio: str | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    flips_out: Any = None,
    memory: str | int | None = None,
    **columns: Any,
) -> Comparison:
    """Is the candidate better than the baseline? Three or more systems are asked of `rank`.

    Sources are those of `measure`, and so is memory; items are paired by id. Counts and JointCounts are compared as they are.
    Three arrays of labels are the truth, the baseline's answers and the candidate's, as in `measure(y_true, y_pred)`; more
    systems are given as `rank(a, b, c, truth=y_true)`. Two measurements are compared by their counts, which know no pairs.

    >>> c = compare(JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76))
    >>> round(c.difference.estimate, 3), round(c.p_value, 6)
    (0.018, 0.121014)
    """
    found: Comparison = _compared([baseline, candidate, *more], many=False, **_given(compare, locals()))
    return found


@documented(
    RANKED,
    "a Leaderboard",
    systems="Three systems or more, each as in `measure`; or one source that holds them all.",
)
def rank(
    *systems: Any,
    metric: str | None = None,
    positive: object = None,
    labels: Sequence[object] | None = None,
    by: str | Sequence[str] | None = None,
    unmatched: str = "error",
    missing: str = "error",
    interval: str | None = None,
    test: str | None = None,
    margin: float | None = None,
    correction: str = "holm",
    confidence_level: float = 0.95,
    side: str = "two",
    draws: int = 10_000,
    seed: int | None = 0,
    prior: float = 0.5,
    prior_scale: float | None = None,
    range: Sequence[float] | None = None,  # noqa: A002  the word that users know
    higher_is_better: bool | None = None,
    absent: str | None = None,
    ratio: str | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    memory: str | int | None = None,
    cd_out: str | os.PathLike[str] | None = None,
    **columns: Any,
) -> Leaderboard:
    """Rank three or more systems: tiers that cannot be told apart, every pair, ranks over `by`.

    Items are paired by id, and all systems are asked about the same items.

    >>> board = rank({"score": [1] * 60}, {"score": [1, 0] * 30}, {"score": [0] * 60}, names=["good", "fair", "bad"])
    >>> [(row["name"], row["tier"]) for row in board.rows]
    [('good', 1), ('fair', 2), ('bad', 3)]
    """
    asked = _given(rank, locals())
    if asked.pop("cd_out") is not None:
        if by is None:
            raise _no_ranks()
        refuse_overwriting({"cd_out": [cd_out]}, systems)
    found: Leaderboard = _compared(systems, many=True, design=None, alternative="two-sided", flips_out=None, **asked)
    if cd_out is not None:
        write_critical_differences(found, cd_out)
    return found


def write_critical_differences(result: Comparison | Leaderboard, path: str | os.PathLike[str]) -> None:
    """The critical-difference diagram of a leaderboard with ranks, as SVG."""
    from steelyard_old.atomic import write_text
    from steelyard_old.render.pages.leaderboard import critical_difference_svg

    svg = critical_difference_svg(result) if isinstance(result, Leaderboard) else ""
    if not svg:
        raise _no_ranks()
    write_text(Path(path), svg)


def _no_ranks() -> UsageError:
    need = "three or more systems and by=COLUMN"
    return UsageError(f"A critical-difference diagram needs {need}.", got="no ranks", need=need)


def _refuse_none(systems: Sequence[Any], many: bool | None) -> None:
    """A system that is None is one that somebody forgot to return: it is not left out. The second of two may be, for one long source."""
    given = systems[:1] if len(systems) == 2 and many is False else systems
    if not given:
        raise UsageError("No systems to compare.", got="no system", need="a source for each, or one that holds them all")
    for place, one in enumerate(given, 1):
        if one is None:
            raise UsageError(f"System {place} of {len(systems)} is None.", got="None", need="a source: a path, a frame, rows or an array")


SHOWN = 3  # sources that a message repeats


def _refuse_list(systems: Sequence[Any], many: bool | None, truth: Any) -> None:
    """One source that holds both systems has columns or rows. A list of sources is no source, and one array is one system."""
    (inside, *others), verb = [one for one in systems if one is not None], "rank" if many else "compare"
    listed = isinstance(inside, (list, tuple))
    if others or not (listed or getattr(inside, "ndim", 0) == 1) or any(isinstance(one, Mapping) for one in inside):
        return
    texts = listed and truth is None and all(isinstance(one, (str, os.PathLike)) for one in inside) and len({*inside}) == len(inside)
    if len(inside) and (texts or (listed and any(hasattr(one, "__len__") and not isinstance(one, (str, bytes)) for one in inside))):
        cut = [] if SHOWN >= len(inside) > 1 else ["..."]
        named = [*(repr(os.fspath(one)) for one in inside[:SHOWN]), *cut] if texts else ["a", "b", "c"][: 2 + bool(many)]
        raise UsageError(
            f"Give the systems one by one: sy.{verb}({', '.join(named)}).", got=f"one list of {len(inside)}", need="each system by itself"
        )
    raise UsageError(
        f"One array is one system; {verb} needs {'three or more' if many else 'two'}.",
        got=f"one array of {len(inside):,}",
        need=f"{'three systems or more' if many else 'two systems'}",
        hint=FORM,
    )


def _given(verb: Callable[..., Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a call: those that the verb declares, and those about its sources."""
    return {**{name: scope[name] for name in keywords_of(verb)}, **scope["columns"]}


def compare_or_rank(*systems: Any, **options: Any) -> Comparison | Leaderboard:
    """Two systems: as `compare` answers. Three or more: as `rank` does. One source may hold either. It takes the keywords of `compare`."""
    asked = source_keywords(compare, options)
    check_kinds(compare, asked)
    found: Comparison | Leaderboard = _compared(systems, many=None, **keyword_defaults(compare) | asked)
    return found


def _compared(
    systems: Sequence[Any],
    *,
    many: bool | None,
    metric: str | None,
    positive: object,
    labels: Sequence[object] | None,
    by: str | Sequence[str] | None,
    design: str | None,
    unmatched: str,
    missing: str,
    interval: str | None,
    test: str | None,
    alternative: str,
    margin: float | None,
    correction: str,
    confidence_level: float,
    side: str,
    draws: int,
    seed: int | None,
    prior: float,
    prior_scale: float | None,
    range: Sequence[float] | None,  # noqa: A002  the word that users know
    higher_is_better: bool | None,
    absent: str | None,
    ratio: str | Sequence[str] | None = None,
    names: Sequence[str] | None,
    flips_out: Any,
    memory: str | int | None,
    **columns: Any,
) -> Any:
    """Two systems: a Comparison. Three or more: a Leaderboard. many: which of the two was asked for; None: whichever it is."""
    _refuse_none(systems, many)
    _refuse_list(systems, many, columns.get("truth"))
    baseline, candidate, *more = systems if len(systems) > 1 else (*systems, None)
    if flips_out is not None:
        refuse_overwriting({"flips_out": [flips_out]}, [baseline, candidate, *more])
    own = settle(
        interval=None,
        confidence_level=confidence_level,
        side=side,
        draws=draws,
        seed=seed,
        prior=prior,
        prior_scale=prior_scale,
        range=range,
        positive=positive,
        labels=labels,
        absent=absent,
        missing=missing,
        higher_is_better=higher_is_better,
    )
    asked = settle_comparison(
        own, interval=interval, test=test, alternative=alternative, margin=margin, design=design, unmatched=unmatched, correction=correction
    )
    warnings = Warnings()
    wanted = None if metric is None else parse(metric)
    if wanted is not None:
        refuse_each_class(wanted, "a comparison", one_class=True)
    if higher_is_better is not None and wanted is not None:
        refuse_direction(higher_is_better, [wanted])
    if isinstance(baseline, Measurement) or isinstance(candidate, Measurement):
        names = names or measured_names(baseline, candidate)
        baseline, candidate, wanted = measured_tables(baseline, candidate, wanted, warnings)
    elif more and "truth" not in columns:
        (baseline, candidate, *more), columns = with_truth([baseline, candidate, *more], columns)
    if isinstance(baseline, (JointCounts, Counts)) or isinstance(candidate, Counts):
        if columns or by is not None or ratio is not None or more:
            raise UsageError("Counts have no columns to read.", got="counts and columns", need="counts alone")
        from steelyard_old.options.measure import refuse_item_options

        refuse_item_options(
            unmatched=unmatched != "error",
            missing=missing != "error",
            range=range is not None,
            higher_is_better=higher_is_better is not None,
            correction=correction != "holm",
            memory=memory is not None,
        )
        if names is not None:
            check_names(names, 2)
        return compare_tallies(baseline, candidate, wanted, asked, warnings, tuple(names or ("baseline", "candidate")))
    from steelyard_old.estimate.compare_sources import compare_sources
    from steelyard_old.options.option import slice_names
    from steelyard_old.read.engines.memory import working
    from steelyard_old.reference.run_notes import said_by_notes

    slices = tuple(slice_names(by))
    noted, stopped = said_by_notes([baseline, candidate, *more])
    warnings.extend(stopped)
    if higher_is_better is None and noted is not None:
        asked = replace(asked, own=replace(own, higher_is_better=noted))
    with working(memory=memory):
        return compare_sources([baseline, candidate, *more], wanted, asked, warnings, slices, ratio, columns, names, flips_out, many)


def measured_names(baseline: Any, candidate: Any) -> tuple[str, str] | None:
    """The names of two measurements, where both have one of their own."""
    one, other = getattr(baseline, "name", None), getattr(candidate, "name", None)
    return (str(one), str(other)) if one and other and one != other else None


def measured_tables(baseline: Any, candidate: Any, metric: Metric | None, warnings: Warnings) -> tuple[Counts, Counts, Metric | None]:
    """The tables of two measurements, and their headline if it is the same. They are counts: which items belong together is lost."""
    sides = baseline, candidate
    if not all(isinstance(side, Measurement) for side in sides):
        raise UsageError(
            f"Cannot compare {with_article(type(baseline).__name__)} with {with_article(type(candidate).__name__)}.",
            got=f"{type(baseline).__name__} and {type(candidate).__name__}",
            need="two measurements, or two sources of items",
            hint="compare the sources that were measured: their items can be paired",
        )
    if baseline.table is None or candidate.table is None:
        raise UsageError(
            "Cannot compare these measurements: they keep no table of counts (they are of scores, groups, repeats or weights).",
            got="a measurement that keeps no table of counts (scores, groups, repeats or weights)",
            need="the items",
            hint="compare the sources that were measured",
        )
    warnings.add(
        "two measurements keep counts, not items: which answers belong together is unknown, so they are compared as different items; "
        "compare the sources to pair them, which usually finds smaller differences"
    )
    shown = {side.rows[0].metric for side in sides if side.rows}
    if metric is None and len(shown) == 1 and all(side.rows[0].label is None for side in sides):
        metric = parse(shown.pop())
    return baseline.table, candidate.table, metric


def compare_tallies(
    baseline: Any, candidate: Any, metric: Metric | None, asked: CompareOptions, warnings: Warnings, names: tuple[str, ...]
) -> Comparison:
    """Bare counts: joint ones are paired, two separate ones are not."""
    if isinstance(baseline, JointCounts) and candidate is None:
        return compare_joint(baseline, metric, asked, warnings, (names[0], names[1]))
    if not (isinstance(baseline, Counts) and isinstance(candidate, Counts)):
        raise UsageError(
            f"Give two Counts or one JointCounts, not {type(baseline).__name__} and {type(candidate).__name__}.",
            got=f"{type(baseline).__name__} and {type(candidate).__name__}",
            need="two Counts, or one JointCounts",
        )
    from steelyard_old.estimate.unpaired import compare_counts

    if asked.design == "paired":
        raise UsageError(
            "Two separate totals cannot be paired.",
            got="two tables of counts",
            need="counts of the pairs, as JointCounts has them",
            hint="JointCounts.flips(...) counts the pairs",
        )
    metric = metric or usual({"truth", "prediction"})[0]
    found = compare_counts(baseline, candidate, metric, class_label(metric, baseline, asked), asked, warnings)
    return finish(found, metric, asked, warnings, (names[0], names[1]))


def compare_joint(
    joint: JointCounts, metric: Metric | None, asked: CompareOptions, warnings: Warnings, names: tuple[str, str], **more: Any
) -> Comparison:
    """A joint table: right or wrong by its flips, any other metric by its cells."""
    if joint.n == 0:
        raise UsageError("No items to compare.", got="0 items", need="at least one")
    if asked.design == "unpaired":
        raise UsageError(
            "design='unpaired' needs two separate counts, not a joint table.", got="design='unpaired'", need="two separate counts"
        )
    metric = metric or usual({"truth", "prediction"})[0]
    found = joint_evidence(joint, metric, asked, warnings)
    return finish(found, metric, asked, warnings, names, **more)


@documented(
    OPTIONS,
    "a Comparison",
    wins="How often the candidate's answer was preferred.",
    ties="How often neither was.",
    losses="How often the baseline's was.",
)
def compare_preferences(
    wins: int,
    ties: int,
    losses: int,
    *,
    interval: str | None = None,
    test: str | None = None,
    alternative: str = "two-sided",
    margin: float | None = None,
    confidence_level: float = 0.95,
    side: str = "two",
    draws: int = 10_000,
    seed: int | None = 0,
    prior: float = 0.5,
    prior_scale: float | None = None,
    names: Sequence[str] | None = None,
) -> Comparison:
    """Preferences: how often the candidate's answer was preferred, neither, the baseline's.

    >>> round(compare_preferences(40, 12, 28).difference.estimate, 3)
    0.15
    """
    from steelyard_old.estimate.paired_right_or_wrong import compare_flips

    own = settle(confidence_level=confidence_level, side=side, draws=draws, seed=seed, prior=prior, prior_scale=prior_scale)
    asked = settle_comparison(
        own, interval=interval, test=test, alternative=alternative, margin=margin, design=None, unmatched="error", correction="holm"
    )
    w, t, lost = whole(wins, "wins"), whole(ties, "ties"), whole(losses, "losses")
    if w + t + lost == 0:
        raise UsageError("No judgements to compare: 0 wins, ties and losses.", got="0 wins, ties and losses", need="at least one")
    warnings = Warnings()
    found = compare_flips(Flips(0, lost, w, t), asked, warnings)
    found.flips, found.correlation = None, None
    found.details = ComparisonDetails(wins=w, ties=t, losses=lost)
    if names is not None:
        check_names(names, 2)
    chosen = tuple(names or ("baseline", "candidate"))
    return finish(found, PREFERENCE, asked, warnings, (chosen[0], chosen[1]))
