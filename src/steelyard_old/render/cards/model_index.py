"""The results of a model-index, as the Hub reads them from the front matter of a card: value, n, interval, method, signature."""

from __future__ import annotations

from typing import Any

from steelyard_old.render.cards.about import CardDetails, Evaluated, standard_error
from steelyard_old.render.cards.shown import shown
from steelyard_old.results.measurement import Interval, Row
from steelyard_old.yaml_text import item_lines

SOURCE = "steelyard"  # by which our own entries are known again: args.source of a metric


def model_index_items(about: CardDetails) -> list[list[str]]:
    """The lines of one result per measurement, each an item of a list `results:`."""
    return [item_lines(shown(_result(each, about))) for each in about.evaluated if each.scores]


def name_line(model: str) -> str:
    """The first line of a model's element of the index."""
    return item_lines(shown({"name": model}))[0]


def _result(each: Evaluated, about: CardDetails) -> dict[str, Any]:
    return {
        "task": {"type": about.task},
        "dataset": {"type": each.data, "name": each.data},
        "metrics": [_metric(row, each.measurement.signature) for row in each.scores],
        # The Hub's library wants an address wherever a source has a name, so there is none without.
        **({"source": {"name": SOURCE, "url": about.source}} if about.source else {}),
    }


def _metric(row: Row, signature: str) -> dict[str, Any]:
    """The Hub knows metrics by their plain name; the average and the class go to the arguments."""
    plain = row.metric.removeprefix(f"{row.average}_") if row.average else row.metric
    return {
        "type": plain,
        "value": row.estimate,
        "name": row.name,
        "args": {
            "source": SOURCE,
            "average": row.average,
            "label": row.label,
            "n": row.n,
            "stderr": standard_error(row),
            **({} if row.interval is None else _interval(row.interval)),
            "higher_is_better": row.higher_is_better,
            "signature": signature or None,
        },
    }


def _interval(interval: Interval) -> dict[str, Any]:
    found = {
        "ci_low": interval.low,
        "ci_high": interval.high,
        "ci_level": interval.confidence_level,
        "ci_method": interval.method,
    }
    return found | ({} if interval.side == "two" else {"ci_side": interval.side})
