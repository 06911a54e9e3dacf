"""Results as one HTML page: results at hand or files of them, with what is believed drawn where it can be."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.metrics.base import EACH
from steelyard_old.metrics.catalogue import find
from steelyard_old.options.option import documented
from steelyard_old.options.report import OPTIONS
from steelyard_old.results.comparison import ChangedItem, Comparison
from steelyard_old.results.evaluation import Evaluation
from steelyard_old.results.measurement import Measurement
from steelyard_old.results.plan import Curve
from steelyard_old.results.reading import MISMATCHED, open_result
from steelyard_old.results.signature import values_of
from steelyard_old.results.verdict import Verdict
from steelyard_old.tally import joint

if TYPE_CHECKING:
    from steelyard_old.infer.posterior.beta import Posterior
    from steelyard_old.render.page import ListedItems

POINTS = 161  # of a density that is drawn
TAIL = 1e-4  # beyond this quantile a density has nothing to show
MOST = 6  # densities on a page
FLIP_HEADS = ("change", "id", "truth", "baseline", "candidate")
Path_ = str | os.PathLike[str]


@documented(
    OPTIONS,
    "the page, a str",
    results="Results, their dicts, or paths of JSON files, in the order of the page.",
    title="The heading of the page. Default: by what the results are.",
)
def report(*results: Any, title: str | None = None, flips: Path_ | None = None) -> str:
    """One self-contained HTML page of results, in the order given.

    A result is what a question answered with, its `to_dict()`, or the path of a file that a command wrote with --format
    json. flips: a file that `compare --flips-out` wrote; its items are listed instead of the most telling few.

    >>> from steelyard_old.questions.measure.measure import measure
    >>> from steelyard_old.tally.counts import Counts
    >>> page = report(measure(Counts.of(12, 40)))
    >>> "Content-Security-Policy" in page, "0.30" in page
    (True, True)
    """
    from steelyard_old.render.html.page import report_html
    from steelyard_old.render.page import PageExtras

    if not results:
        raise UsageError("No results to report.", got="no results", need="at least one", hint="sy.report(result)")
    listed = None if flips is None else read_flips(flips)
    found = [open_result(result) for result in results]
    taking = [i for i, each in enumerate(found) if _has_items(each)]
    if listed is not None and len(taking) != 1:
        raise UsageError(
            f"Flipped items belong to exactly one comparison, verdict or run; got {len(taking)}.",
            got=f"{len(taking)} results that compare items",
            need="exactly one comparison, verdict or run",
        )
    try:
        extras = [PageExtras(densities=densities(each), flips=listed if i in taking else None) for i, each in enumerate(found)]
        return report_html(found, title=title, extras=extras)
    except MISMATCHED as fault:
        if isinstance(fault, SteelyardError) or not any(isinstance(each, str | os.PathLike | Mapping) for each in results):
            raise  # a result of our own that cannot be shown is a bug, and must look like one
        name = next((name for each, name in zip(found, map(_name, results), strict=True) if not _can_be_shown(each)), "the results")
        raise DataError(
            f"Cannot show {name}: it is not as steelyard wrote it ({type(fault).__name__}: {str(fault)[:200]}).",
            got=f"{type(fault).__name__}: {str(fault)[:200]}",
            need="the answer as steelyard wrote it, unchanged",
        ) from fault


def _name(given: Any) -> str:
    return repr(os.fspath(given)) if isinstance(given, str | os.PathLike) else "the result"


def _can_be_shown(result: Any) -> bool:
    from steelyard_old.render.html.page import report_html

    try:
        densities(result)
        report_html([result])
    except MISMATCHED:
        return False
    return True


def _has_items(result: Any) -> bool:
    judged = isinstance(result, Evaluation) and (result.verdict is not None or result.comparison is not None)
    return judged or isinstance(result, Comparison | Verdict)


def read_flips(path: Path_) -> ListedItems:
    """The items and a note: those of a `--flips-out` file, no more of them than a page carries."""
    from steelyard_old.render.page import CAP

    target = Path(path)
    items: list[ChangedItem] = []
    many = 0
    try:
        with target.open(newline="", encoding="utf-8-sig") as file:
            for row in csv.DictReader(file):
                if many == 0 and not set(FLIP_HEADS) <= set(row):
                    raise DataError(
                        f"{str(target)!r} is not a file of flipped items: its columns are {', '.join(map(str, row))}, not "
                        f"{', '.join(FLIP_HEADS)}.",
                        got=f"columns {', '.join(map(str, row))}",
                        need=f"columns {', '.join(FLIP_HEADS)}",
                    )
                many += 1
                if many <= CAP:
                    items.append(ChangedItem(**{head: row[head] or "" for head in FLIP_HEADS}))
    except OSError as fault:
        raise SourceError(
            f"Cannot open {str(target)!r}, the file of compare's flips_out: {fault.strerror or fault}.",
            got=fault.strerror or str(fault),
            need="a file of compare's flips_out",
        ) from fault
    except (UnicodeDecodeError, csv.Error) as fault:
        raise SourceError(
            f"{str(target)!r} is not a CSV file of compare's flips_out in UTF-8 ({fault}).",
            got=str(fault),
            need="a CSV file of compare's flips_out, in UTF-8",
        ) from fault
    note = f"The first {CAP:,} of {many:,} items; {target.name} has them all." if many > CAP else f"All {many:,} items."
    return items, note


# ---- what is believed ------------------------------------------------------------------------------------------------


def densities(result: Any) -> dict[str, Curve]:
    """The densities behind Bayesian intervals: of the rows of a measurement, or of a difference of two systems."""
    if isinstance(result, Measurement):
        rows = [row for row in result.rows if row.interval is not None and row.interval.method == "bayes" and row.average != EACH]
        made = ((row.name, _row_posterior(result, row), row.interval) for row in rows[:MOST])
        return {name: _density(law, name, interval) for name, law, interval in made if law is not None}
    if isinstance(result, Comparison):
        interval, metric = result.difference.interval, find(result.metric)
        if (
            metric is not None
            and metric.right_or_wrong
            and interval is not None
            and interval.method == "bayes"
            and result.flips is not None
        ):
            from steelyard_old.infer.posterior.difference import difference_posterior

            law = difference_posterior(*joint.Flips(**result.flips)[:: metric.right_adds], prior=_prior(result.signature))
            return {"difference": _density(law, "difference", interval)}
    return {}


def _row_posterior(m: Measurement, row: Any) -> Posterior | None:
    from steelyard_old.questions.measure.posterior import posterior

    if m.table is None or row.details.groups is not None or row.details.repeats is not None:
        return None
    try:
        return posterior(m.table, row.metric, positive=row.label, prior=_prior(m.signature))
    except SteelyardError:
        return None  # the interval stands; only its picture needs a law that is known in full


def _prior(signature: str) -> float:
    """The pseudo-counts that were used, as the signature has them."""
    return float(next(iter(values_of(signature, "prior")), "0.5"))


def _density(law: Posterior, name: str, interval: Any) -> Curve:
    x, y = law.density(POINTS, TAIL)
    inside = [
        float(v) if (interval.low is None or at >= interval.low) and (interval.high is None or at <= interval.high) else 0.0
        for at, v in zip(x, y, strict=True)
    ]
    return Curve(
        x_label=name,
        y_label="density",
        x=tuple(map(float, x)),
        y=tuple(map(float, y)),
        low=(0.0,) * POINTS,
        high=tuple(inside),
        log_x=False,
    )
