"""What a comparison by cross-validation adds to the general page: its splits in two sentences, and the pooled tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.render.digits import count_text
from steelyard.render.terminal import EMPTY
from steelyard.results.comparison import Comparison

WIDEST = 12  # classes of a pooled table that people read; the JSON has every table


def is_cross_validation(c: Comparison) -> bool:
    """Whether the comparison is one of learners."""
    return c.details.get("design") == "cross-validation"


def split_facts(c: Comparison) -> list[str]:
    """How the items were split, how the splits went, and the statistic behind the p-value."""
    if not is_cross_validation(c):
        return []
    splits: Sequence[dict[str, Any]] = c.details["splits"]
    ahead, behind, level, undefined = 0, 0, 0, 0
    for one in splits:
        if one["baseline"] is None or one["candidate"] is None:
            undefined += 1
        elif one["baseline"] == one["candidate"]:
            level += 1
        elif (one["candidate"] > one["baseline"]) == c.higher_is_better:
            ahead += 1
        else:
            behind += 1
    went = f"candidate better in {ahead} of {len(splits)} splits, worse in {behind}, level in {level}"
    out = [_scheme(c, splits), went + (f", undefined in {undefined}" if undefined else "")]
    if c.test.statistic is not None:
        df = " and ".join(map(str, c.test.details.get("df", [])))
        out.append(f"{'F' if c.test.name == '5x2cv-f' else 't'} = {c.test.statistic:.3f} with {df} degrees of freedom")
    return out


def _scheme(c: Comparison, splits: Sequence[dict[str, Any]]) -> str:
    folds, repeats, share = c.details["folds"], c.details["repeats"], c.details["test_size"]
    if share is None:
        what = f"{repeats} x {folds} folds"
    elif folds is None:
        what = f"{repeats} random splits"
    else:
        what = f"one fit, {folds} disjoint test sets"
    traits = [
        trait for trait, there in (("stratified", c.details["stratified"]), ("in whole groups", c.details["groups"] is not None)) if there
    ]
    sizes = [f"{_span([one[key] for one in splits])} to {verb} on" for key, verb in (("n_train", "train"), ("n_test", "test"))]
    return ", ".join([what, *traits]) + f": {' and '.join(sizes)}"


def _span(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return count_text(low) if low == high else f"{count_text(low)}-{count_text(high)}"


def pooled_title(c: Comparison) -> str:
    """What the pooled tables are."""
    times = c.details["repeats"] if c.details["test_size"] is None else None
    each = f"; every item is in it {times} times" if times is not None and times > 1 and not c.details["failures"] else ""
    return f"predictions pooled over the splits, baseline / candidate (rows: truth){each}"


def pooled_grid(c: Comparison) -> list[list[str]] | None:
    """Heads, then a row for each truth; None where there are no tables, or too many classes to read."""
    tables = c.details.get("tables") if is_cross_validation(c) else None
    if not tables or not tables["baseline"] or not tables["candidate"]:
        return None
    counts: list[dict[tuple[str, str], int]] = []
    labels: list[str] = []
    truths: set[str] = set()
    for table in (tables["baseline"], tables["candidate"]):
        named = [(table["labels"][t], table["labels"][p], many) for t, p, many in table["cells"]]
        counts.append({(t, p): many for t, p, many in named})
        labels += [label for label in table["labels"] if label not in labels]
        truths |= {t for t, _, _ in named}
    if len(labels) > WIDEST:
        return None
    rows = [
        [t or EMPTY, *(f"{count_text(counts[0].get((t, p), 0))} / {count_text(counts[1].get((t, p), 0))}" for p in labels)]
        for t in labels
        if t in truths
    ]
    return [["truth", *(label or EMPTY for label in labels)], *rows]
