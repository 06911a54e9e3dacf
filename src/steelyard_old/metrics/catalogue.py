"""All metrics by name, and `parse`, which reads the name of one. A metric is an object of its family's file; here it is only listed."""

from __future__ import annotations

import re
from collections.abc import Collection

from steelyard_old.did_you_mean import meant, nearest
from steelyard_old.errors import UsageError
from steelyard_old.metrics.base import EACH, Metric
from steelyard_old.metrics.labels import LABELS
from steelyard_old.metrics.ranking import RANKING
from steelyard_old.metrics.repeats import REPEATS
from steelyard_old.metrics.sums import SUMS
from steelyard_old.tally.counts import Counts

AVERAGES = ("macro", "micro", "weighted")
CATALOGUE: dict[str, Metric] = {metric.base: metric for metric in (*LABELS, *SUMS, *RANKING, *REPEATS)}


def names_by_data() -> dict[str, list[str]]:
    """The names of all metrics, by what they are computed from, as a list shows them."""
    found: dict[str, list[str]] = {}
    for metric in CATALOGUE.values():
        found.setdefault(metric.computed_from, []).append(metric.shown)
    return found


def find(name: str) -> Metric | None:
    """The metric of a name; None for a name that only somebody else's suite knows."""
    try:
        return parse(name)
    except UsageError:
        return None


def is_share(name: str) -> bool:
    """Whether a name is that of a share of items right or wrong, so that its spread follows from its value."""
    metric = find(name)
    return metric is not None and metric.right_or_wrong


# Names under which other suites record a score; some are ours too.
NAMES_ELSEWHERE = (
    *("acceptance_length", "acceptance_rate", "acc_norm", "bleu", "cer", "chrf", "exact_match", "meteor", "perplexity"),
    *("rouge", "rouge1", "rouge2", "rougeL", "rougeLsum", "ter", "wer"),
)
# Names of theirs alone that say a direction: of losses, and what lm-eval calls the share of right answers under a protocol of its own.
LOSSES_ELSEWHERE = {"wer", "cer", "ter", "word_perplexity", "byte_perplexity", "bits_per_byte", "loss", "edit_distance"}
SHARES_ELSEWHERE = {"acc_norm", "exact_match", "relaxed_accuracy"}


def is_share_right(name: str) -> bool:
    """Whether a name is that of the share of items right, here or elsewhere."""
    metric = find(name)
    return name in SHARES_ELSEWHERE if metric is None else metric.right_or_wrong and metric.higher_is_better


OF_LABELS = ("accuracy", "macro_f1", "each_precision", "each_recall", "each_f1")


def usual(columns: Collection[str], *, right_or_wrong: bool = False, free_text: bool = False) -> list[Metric]:
    """What is asked where nobody names a metric, the headline first: by the columns there are, and by what is in them.

    right_or_wrong: the scores are 0 and 1, which decide what is right, of labels too. free_text: the labels are no classes.

    >>> [metric.name for metric in usual({"truth", "probability"})], usual({"truth", "prediction"})[0].name
    (['auc', 'brier'], 'accuracy')
    >>> usual({"score"})[0].name, usual({"score"}, right_or_wrong=True)[0].name, usual({"ratio", "score"})[0].name
    ('mean', 'accuracy', 'ratio')
    """
    if "ratio" in columns:
        return [CATALOGUE["ratio"]]
    labelled, names = "truth" in columns and "prediction" in columns, tuple[str, ...]()
    if "score" in columns and right_or_wrong:
        names = OF_LABELS[:1]
    elif labelled and not free_text:
        names = OF_LABELS
    elif "score" in columns:
        names = ("mean",)
    elif labelled:
        names = OF_LABELS[:1]
    if "truth" in columns and "probability" in columns:
        names += ("auc", "brier")
    return [parse(name) for name in names]


def usual_of_counts(counts: Counts) -> list[str]:
    """The same for bare counts. Right or wrong: accuracy. Two classes: precision, recall, f1 of the positive. Labels: all classes."""
    if counts.kind == "outcomes":
        return ["accuracy"]
    if counts.kind == "binary":
        return [*(["accuracy"] if counts.negatives_known else []), "precision", "recall", "f1"]
    return [*OF_LABELS]


def parse(name: str) -> Metric:
    """The metric of a name such as accuracy, macro_f1, fbeta:2, weighted_fbeta:0.5, pass@5; each_f1 is every class.

    >>> parse("macro_f1").average
    'macro'
    >>> parse("fbeta:2").parameter
    2.0
    """
    if not isinstance(name, str):
        raise UsageError(f"Give the name of one metric, not {repr(name)[:60]}.", got=repr(name)[:60], need="the name of one metric")
    text = name.strip()
    average, rest = _split_average(text)
    for metric in CATALOGUE.values():
        if rest == metric.base or rest in metric.aliases:
            break
        if metric.number_pattern and (found := re.fullmatch(re.escape(metric.base) + metric.number_pattern, rest)):
            metric = metric.with_number(found[1], text)
            return metric if average is None else metric.averaged(average, text)
    else:
        raise _unknown(text)
    if metric.number_pattern is not None:
        raise metric.without_number(text) or _unknown(text)
    return metric if average is None else metric.averaged(average, text)


def _split_average(text: str) -> tuple[str | None, str]:
    first, _, rest = text.partition("_")
    return (first, rest) if first in (*AVERAGES, EACH) and rest else (None, text)


def _unknown(text: str) -> UsageError:
    """The error of a name that nobody knows, with the one that was probably meant; with all of them where none is like it."""
    shown = [metric.shown for metric in CATALOGUE.values()]
    names = [name for name in shown if name in CATALOGUE] + [name for name in shown if name not in CATALOGUE]
    average, rest = _split_average(text)
    if found := re.fullmatch(r"f_?(\d+(?:\.\d+)?)(?:_score)?", rest.lower()):
        near: str | None = "f1" if found[1] == "1" else f"fbeta:{found[1]}"
    else:
        near = nearest(rest.lower(), [*names, *(alias for metric in CATALOGUE.values() for alias in metric.aliases)]) if rest else None
    if near is not None and average is not None and parse(near).of_class:
        near = f"{average}_{near}"
    need = f"one of {', '.join(names)}"
    if near is not None:
        return UsageError(f"No metric {text!r}.", got=repr(text), need=need, hint=meant([near]))
    said = f"No metric {text!r}. There are {', '.join(names)}."
    return UsageError(said, got=repr(text), need=need, hint="average over classes with macro_, micro_ or weighted_, as in macro_f1")
