"""No metric is forgotten, and names are read as written."""

from __future__ import annotations

import pytest

import steelyard as sy
from cases import every
from oracles import EVERY_SET, OF_A_CLASS
from steelyard.metrics.catalogue import AVERAGES, CATALOGUE, parse, usual
from steelyard.metrics.sums import SumsMetric

ALIASES = {alias: metric.base for metric in CATALOGUE.values() for alias in metric.aliases}


def test_every_metric_has_a_witness() -> None:
    """A set of `oracles.py`, over which the tests are parametrised that work it out item by item."""
    assert sorted(name for some in EVERY_SET for name in some) == sorted(CATALOGUE)


def test_metrics_of_sums_are_of_one_class() -> None:
    assert {name for name, metric in CATALOGUE.items() if isinstance(metric, SumsMetric)} == {
        name for name, metric in CATALOGUE.items() if metric.family in ("sums", "repeats")
    }


@every("base", sorted(OF_A_CLASS))
@every("average", [*AVERAGES, "each"])
def test_averages_are_prefixes(average: str, base: str) -> None:
    name = f"{average}_{base}:2" if base == "fbeta" else f"{average}_{base}"
    found = parse(name)
    assert (found.name, found.base, found.average) == (name, base, average)


@every("alias", ALIASES)
def test_aliases(alias: str) -> None:
    assert parse(alias).name == ALIASES[alias]


@every(
    "name",
    ["", "f2", "macro_accuracy", "fbeta", "fbeta:0", "fbeta:-1", "fbeta:nan", "fbeta:x", "pass@0", "pass@", "macro_pass@2", "macro_", "F1"],
)
def test_refuses(name: str) -> None:
    with pytest.raises(sy.UsageError):
        parse(name)


@every(
    ("columns", "facts", "names"),
    [
        ({"truth", "prediction"}, {}, "accuracy macro_f1 each_precision each_recall each_f1"),
        ({"truth", "prediction", "score"}, {}, "accuracy macro_f1 each_precision each_recall each_f1"),
        ({"truth", "prediction", "score"}, {"right_or_wrong": True}, "accuracy"),
        ({"truth", "prediction"}, {"free_text": True}, "accuracy"),
        ({"truth", "prediction", "score", "probability"}, {"free_text": True}, "mean auc brier"),
        ({"score"}, {}, "mean"),
        ({"score"}, {"right_or_wrong": True}, "accuracy"),
        ({"truth", "probability"}, {}, "auc brier"),
        ({"ratio", "truth", "prediction"}, {}, "ratio"),
        ({"truth"}, {}, ""),
    ],
)
def test_what_is_usual_follows_from_the_data(columns: set[str], facts: dict[str, bool], names: str) -> None:
    assert [metric.name for metric in usual(columns, **facts)] == names.split()


def test_the_numbers_of_a_metric_give_what_it_is_a_function_of() -> None:
    given = {(one.name, other.name) for one in CATALOGUE.values() for other in CATALOGUE.values() if one.gives(other)}
    assert given - {(name, name) for name in (metric.name for metric in CATALOGUE.values())} == {("f1", "jaccard"), ("perplexity", "ratio")}


@every("base", [metric.base for metric in CATALOGUE.values() if metric.read_through.mapped])
def test_what_a_metric_is_read_through_goes_there_and_back(base: str) -> None:
    through = CATALOGUE[base].read_through
    for value in (0.1, 0.5, 0.9):
        assert through.inwards(through.outwards(value)) == pytest.approx(value)
    assert through.outwards(0.2) < through.outwards(0.3)


def test_what_a_metric_is_called() -> None:
    """Its rows, its average and one number per class have names of their own."""
    found = {
        name: (metric.row_name, metric.macro_name, metric.each_name)
        for name in ("each_f1", "macro_f1", "fbeta:2")
        for metric in (parse(name),)
    }
    assert found == {
        "each_f1": ("f1", "macro_f1", "each_f1"),
        "macro_f1": ("macro_f1", "macro_f1", "each_f1"),
        "fbeta:2": ("fbeta:2", "macro_fbeta:2", "each_fbeta:2"),
    }


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("accurcy", "accuracy"),
        ("F1", "f1"),
        ("macro_f", "macro_f1"),
        ("weighted_F2", "weighted_fbeta:2"),
        ("macro_acuracy", "accuracy"),
        ("precison", "precision"),
    ],
)
def test_suggests(wrong: str, meant: str) -> None:
    with pytest.raises(sy.UsageError, match=rf"^No metric {wrong!r}\. Did you mean {meant}\?$"):
        parse(wrong)


@every("name", ["", "zzzzzz", "macro_"])
def test_lists_all_names_where_none_is_like_it(name: str) -> None:
    with pytest.raises(sy.UsageError, match=r"^No metric .*\. There are .*\. Hint: "):
        parse(name)
