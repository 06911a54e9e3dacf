"""Many labels: what is allocated and drawn follows the occupied cells, not the square of the labels."""

from __future__ import annotations

import functools
import tracemalloc
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from by_name import statistic
from cases import seldom
from steelyard.infer.intervals.table import table_bootstrap
from steelyard.infer.posterior import draws
from steelyard.infer.posterior import metrics as posterior_metrics
from steelyard.infer.posterior.lattice import MeanOfBetas
from steelyard.infer.posterior.metrics import BetaPosterior, balanced_accuracy_posterior
from steelyard.infer.resampling import bootstrap, work
from steelyard.infer.resampling import bootstrap as cells
from steelyard.infer.resampling.work import FALL_BACK, fewer_draws, stand_in_draws
from steelyard.tally.design import DENSE, same_label
from steelyard.tally.pairs import joint_of_codes
from steelyard.tally.sums import SparseRows

MANY = 20_000
FIRST_VERSION = (0.6965544392827674, 0.6966263439942236, 0.706036877984425, 0.13893053473263367)  # of version 0.1.0
METRICS = (["accuracy", "macro_f1", "mcc"], *seldom(["weighted_f1", "micro_f1", "balanced_accuracy", "kappa"]))


@functools.cache
def answers(labels: int, rows: int, seed: int = 1) -> tuple[list[str], list[str], list[str]]:
    """Truths that name every label, and two systems that are right on most."""
    rng = np.random.default_rng(seed)
    truth = np.arange(rows) % labels
    said = [np.where(rng.random(rows) < share, truth, rng.integers(0, labels, rows)) for share in (0.7, 0.72)]
    first, second, third = ([f"L{i}" for i in column] for column in (truth, *said))
    return first, second, third


def as_rows(truth: list[str], said: list[str], **more: list[str]) -> list[dict[str, Any]]:
    columns = {"id": [str(i) for i in range(len(truth))], "truth": truth, "prediction": said, **more}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def peak_of(question: Any) -> tuple[Any, float]:
    """The answer, and the most megabytes that were held on the way."""
    tracemalloc.start()
    try:
        answer = question()
        return answer, tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("metrics", METRICS)
def test_as_many_labels_as_rows_are_measured_in_memory_that_follows_the_rows(metrics: list[str]) -> None:
    truth, said, _ = answers(MANY, MANY)
    found, peak = peak_of(lambda: sy.measure(truth, said, metric=metrics))
    assert all(0.5 < (row.estimate or 0) < 0.8 for row in found)
    assert peak < 200  # one byte for each pair of labels would be 400


@pytest.mark.parametrize("metric", ["macro_f1", pytest.param("mcc", marks=pytest.mark.long)])
def test_as_many_labels_as_rows_are_compared_in_memory_that_follows_the_rows(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LEAST_DRAWS", 299)  # a block of them is held at a time, however many there are
    monkeypatch.setattr(work, "WORK", work.WORK // 5)
    truth, first, second = answers(MANY, MANY)
    rows = as_rows(truth, first), as_rows(truth, second)
    found, peak = peak_of(lambda: sy.compare(*rows, metric=metric, margin=0.05))
    assert found.p_value is not None
    assert 1 / (found.test.details["draws"] + 1) <= found.p_value < 0.05
    assert found.test.details["draws"] == fewer_draws(MANY * 3, 10_000) < 10_000
    assert peak < 300


def test_large_classes_of_a_large_table_get_the_delta_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, said, _ = answers(20, 20_000)
    usual = sy.measure(truth, said, metric="macro_f1").row
    monkeypatch.setattr("steelyard.infer.resampling.work.WORK", 1_000_000)
    found = sy.measure(truth, said, metric="macro_f1").row
    assert usual.interval is not None
    assert found.interval is not None
    assert (usual.interval.method, found.interval.method) == ("bca", "delta")
    assert found.interval.low == pytest.approx(usual.interval.low, abs=5e-4)
    assert found.interval.high == pytest.approx(usual.interval.high, abs=5e-4)


def test_averages_over_classes_of_one_item_have_no_interval_in_a_large_table() -> None:
    truth, said, _ = answers(MANY, MANY)
    found = sy.measure(truth, said, metric="macro_f1")
    assert found.row.interval is None
    assert any("have fewer than 10 items" in warning and "no interval" in warning for warning in found.warnings)


@pytest.fixture
def redrawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tables each call of the bootstrap drew."""
    made: list[int] = []
    real = cells.Cells.redrawn

    def counted(self: cells.Cells, asked: int, rng: np.random.Generator) -> Any:
        made.append(0)
        for margins in real(self, asked, rng):
            made[-1] += len(margins.n)
            yield margins

    monkeypatch.setattr(cells.Cells, "redrawn", counted)
    return made


@pytest.mark.parametrize(("labels", "rows", "asked"), [(300, 600, 2), (400, 400, 0), *seldom((4000, 4000, 0))])
def test_a_comparison_gives_up_soon_on_tables_that_always_miss_a_class_and_asks_once_for_each_system(
    labels: int, rows: int, asked: int, redrawn: list[int]
) -> None:
    """Of 400 labels that occur once, a redrawn table misses some 147: no macro average of it is defined, and that need not be tried."""
    truth, first, second = answers(labels, rows)
    found = sy.compare(as_rows(truth, first), as_rows(truth, second), metric="macro_f1", draws=3000)
    assert len(redrawn) == asked
    assert all(many <= 2 * bootstrap.HOPELESS for many in redrawn)  # of 3,000; blocks are drawn whole
    assert found.baseline.interval is None
    assert found.baseline.standard_error is not None
    assert found.difference.interval is not None


def test_averages_over_classes_of_one_item_have_no_interval_in_a_small_table_and_the_true_reason_is_told(redrawn: list[int]) -> None:
    """A posterior would give one, but its prior would speak: it ended below the estimate."""
    truth, said, _ = answers(40, 40)
    found = sy.measure(truth, said, metric="macro_f1")
    assert found.row.interval is None
    assert "macro_f1: no interval: 40 of 40 classes have fewer than 10 items" in found.warnings
    assert len(redrawn) == 1


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many draws each posterior of a table was asked for."""
    made: list[int] = []
    real = posterior_metrics.table_posterior

    def counted(*args: Any, draws: int, **more: Any) -> Any:
        made.append(draws)
        return real(*args, draws=draws, **more)

    monkeypatch.setattr(posterior_metrics, "table_posterior", counted)
    return made


def test_a_posterior_that_stands_in_for_a_bootstrap_draws_about_as_many_numbers_as_it(believed: list[int]) -> None:
    """Without a mistake all redrawn tables are equal. Ten times the labels are ten times the numbers of a draw, not of the answer."""
    spent = {}
    for labels in (20, 600):
        truth, _, _ = answers(labels, 1200)
        answer = sy.measure(truth, truth, metric="mcc", draws=3000)
        found = answer.row
        assert found.interval is not None
        assert (found.interval.method, found.details.instead_of) == ("bayes", "bca")
        assert found.details.monte_carlo_error is not None
        assert found.interval.high - found.interval.low > 20 * found.details.monte_carlo_error
        table = sy.measure(truth, truth, metric="accuracy").table
        assert table is not None
        assert any(f"of {believed[-1]:,} draws" in said for said in answer.warnings) == (believed[-1] < 3000)
        spent[labels] = believed[-1] * draws.posterior_numbers(table, 0.5)
    assert believed == [3000, stand_in_draws(600 + 600 * 13, 3000)]
    assert spent[600] <= FALL_BACK


def test_a_posterior_asked_for_by_name_has_all_its_draws(believed: list[int]) -> None:
    truth, _, _ = answers(400, 1200)
    sy.measure(truth, truth, metric="mcc", interval="bayes", draws=2000)
    assert believed == [2000]


def test_draws_without_a_value_are_not_called_equal() -> None:
    macro = statistic("f1", average_of="macro")
    truth, said, _ = answers(40, 40)
    table = sy.measure(truth, said, metric="accuracy").table
    assert table is not None
    with pytest.raises(bootstrap.Undefined, match=r"it is undefined in [\d,]+ of [\d,]+ redrawn samples"):
        table_bootstrap(table, macro, "bca")
    perfect = sy.Counts.table([[40, 0], [0, 40]])
    with pytest.raises(bootstrap.Degenerate, match="all redrawn values are equal"):
        table_bootstrap(perfect, macro, "bca")


def test_too_few_defined_draws_to_reach_the_tail_are_no_interval() -> None:
    values = np.full(1000, np.nan)
    values[:39] = np.arange(39)
    found, undefined = bootstrap.defined_values([values])
    assert (len(found), undefined) == (39, 961)
    values[38] = np.nan
    with pytest.raises(bootstrap.Undefined, match="it is undefined in 962 of 1,000 redrawn samples"):
        bootstrap.defined_values([values])


def test_a_method_asked_for_by_name_is_used_whatever_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.infer.resampling.work.WORK", 1000)
    truth, said, _ = answers(10, 400)
    found = sy.measure(truth, said, metric="macro_f1", interval="bca", draws=200).row
    assert found.interval is not None
    assert found.interval.method == "bca"


def test_the_numbers_of_500_labels_are_those_of_the_first_version() -> None:
    truth, first, second = answers(500, 4000, seed=7)
    found = sy.measure(truth, first, metric="macro_f1", draws=2000).row
    assert found.interval is not None
    expected = {"macro_f1": FIRST_VERSION[0], "interval": FIRST_VERSION[1:3], "p": FIRST_VERSION[3]}
    assert found.estimate == pytest.approx(expected["macro_f1"], rel=1e-12)
    assert (found.interval.low, found.interval.high) == pytest.approx(expected["interval"], rel=1e-12)
    compared = sy.compare(as_rows(truth, first), as_rows(truth, second), metric="macro_f1", draws=2000)
    assert compared.p_value == pytest.approx(expected["p"], rel=1e-12)


def test_warnings_about_thousands_of_classes_are_one_sentence() -> None:
    truth, said, _ = answers(2000, 2000)
    found = sy.measure(truth, said, metric="each_precision")
    told = [warning for warning in found.warnings if "precision is undefined" in warning]
    assert len(told) == 1
    assert "classes, such as" in told[0]
    assert len(found.rows) == 2000


def test_a_table_of_thousands_of_classes_is_folded_in_text_and_whole_in_json() -> None:
    truth, said, _ = answers(1200, 1200)
    found = sy.measure(truth, said, metric="each_f1")
    assert "1,100 more; the JSON has them all" in str(found)
    assert len(found.to_dict()["metrics"]) == 1200


def test_the_jackknife_to_first_order_is_close_to_leaving_items_out() -> None:
    truth, said, _ = answers(20, 2000)
    table = cells.Cells(sy.measure(truth, said).table)
    macro = statistic("f1", average_of="macro")
    exact = table.jackknife(macro)
    first_order = macro.value(table.observed()) - table.influence(macro) / table.n
    assert np.abs(first_order - exact).max() < 1e-5


def test_the_posterior_of_many_classes_puts_sticks_on_empty_cells_only() -> None:
    """The place of the j-th empty cell of a row, found without a table of labels times labels."""
    counts = sy.Counts.table({("a", "a"): 3, ("a", "c"): 1, ("b", "b"): 2, ("c", "a"): 1, ("d", "d"): 5})
    occupied = sorted({*zip(counts.truth, counts.prediction, strict=True), *((i, i) for i in range(4))})
    row, column = np.array(occupied, np.int64).T
    made = draws._GammaCells(row, column, np.ones(len(row)), 4 - np.bincount(row, minlength=4), 0.1)
    empty = [[c for c in range(4) if (r, c) not in occupied] for r in range(4)]
    for j in range(2):
        which = np.array([[min(j, len(places) - 1) for places in empty]])
        expected = [[places[w] for places, w in zip(empty, which[0], strict=True)]]
        assert draws._empty_column(made, which).tolist() == expected
        assert draws._empty_column(made, which, table_up_to=0).tolist() == expected


def test_the_posterior_of_thousands_of_classes_is_drawn_or_refused_before_anything_is_allocated() -> None:
    truth, said, _ = answers(MANY, MANY)
    counts = sy.measure(truth, said, metric="accuracy").table
    macro = statistic("f1", average_of="macro").value
    found, peak = peak_of(lambda: draws.table_posterior(counts, macro, metric="macro_f1", draws=20))
    assert 0 < found.mean < 1
    assert peak < 400
    with pytest.raises(sy.errors.UsageError, match="The posterior of macro_f1 takes too many random numbers: 20,000"):
        draws.table_posterior(counts, macro, metric="macro_f1", draws=1_000_000)


def test_the_mean_of_thousands_of_recalls_has_the_law_of_a_sum() -> None:
    post = balanced_accuracy_posterior([(1, 1)] * 4000 + [(0, 1)] * 2000)
    assert isinstance(post, MeanOfBetas)
    low, high = post.interval()
    assert low == pytest.approx(post.mean - 1.959964 * post.sd, abs=2e-5)
    assert high == pytest.approx(post.mean + 1.959964 * post.sd, abs=2e-5)


def test_equal_recalls_convolved_at_once_give_the_law_of_convolving_them_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    laws = [BetaPosterior(3.5, 1.5)] * 6 + [BetaPosterior(2.5, 2.5)] * 5
    one_by_one = MeanOfBetas(laws, metric="recall").interval()
    monkeypatch.setattr("steelyard.infer.posterior.lattice.MANY", 2)
    assert MeanOfBetas(laws, metric="recall", points=16384).interval() == pytest.approx(one_by_one, abs=1e-10)


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "each_recall", "micro_f1", "weighted_precision", "kappa"])
def test_groups_of_items_with_many_labels_give_the_numbers_of_the_whole_table_of_units(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, said, _ = answers(30, 900)
    group = [str(i // 7 % 60) for i in range(900)]
    dense = sy.measure(truth, said, metric=metric, group=group)
    monkeypatch.setattr("steelyard.tally.design.DENSE", 0)
    sparse = sy.measure(truth, said, metric=metric, group=group)
    for one, other in zip(dense.rows, sparse.rows, strict=True):
        assert other.estimate == pytest.approx(one.estimate, rel=1e-12)
        assert one.interval is not None
        assert other.interval is not None
        assert (other.interval.low, other.interval.high) == pytest.approx((one.interval.low, one.interval.high), rel=1e-9)


def test_groups_of_items_with_many_labels_are_compared_by_swapping_units(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, first, second = answers(30, 600)
    group = [str(i % 50) for i in range(600)]
    rows = as_rows(truth, first, group=group), as_rows(truth, second, group=group)
    dense = sy.compare(*rows, metric="macro_f1")
    monkeypatch.setattr("steelyard.tally.design.DENSE", 0)
    sparse = sy.compare(*rows, metric="macro_f1", draws=2000)
    assert sparse.difference.estimate == pytest.approx(dense.difference.estimate, rel=1e-12)
    assert sparse.difference.interval.low == pytest.approx(dense.difference.interval.low, rel=1e-9)
    assert sparse.p_value == pytest.approx(dense.p_value, abs=0.04)


def test_few_units_with_many_labels_are_swapped_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, first, second = answers(12, 96)
    group = [str(i % 8) for i in range(96)]
    rows = as_rows(truth, first, group=group), as_rows(truth, second, group=group)
    dense = sy.compare(*rows, metric="kappa")
    monkeypatch.setattr("steelyard.tally.design.DENSE", 0)
    assert sy.compare(*rows, metric="kappa").p_value == dense.p_value


def test_items_in_groups_with_as_many_labels_as_rows_are_measured_in_memory_that_follows_the_rows() -> None:
    truth, said, _ = answers(MANY, MANY)
    group = [str(i % 2000) for i in range(MANY)]
    found, peak = peak_of(lambda: sy.measure(truth, said, metric=["accuracy", "macro_f1"], group=group))
    assert MANY * 3 * 2000 > DENSE
    assert found["accuracy"].interval is not None
    assert peak < 200


def test_sparse_rows_do_the_sums_of_an_array() -> None:
    array = np.array([[0, 2.0, 0, -1], [3, 0, 0, 0], [0, 0, 0, 4]])
    unit, column = np.nonzero(array)
    order = np.lexsort((unit, column))
    rows = SparseRows((3, 4), unit[order], column[order], array[unit, column][order])
    vector = np.array([1.0, 2, 3, 4])
    assert (rows @ vector).tolist() == (array @ vector).tolist()
    assert (vector[:3] @ rows).tolist() == (vector[:3] @ array).tolist()
    assert rows.totals().tolist() == array.sum(0).tolist()
    assert rows.part(1, 4).tolist() == array[:, 1:].sum(1).tolist()
    assert (abs(rows) @ vector).tolist() == (np.abs(array) @ vector).tolist()
    assert rows.minus(rows).shape == (0, 4)


def test_millions_of_labels_do_not_overflow_the_code_of_a_joint_cell() -> None:
    labels = 3_000_000
    codes = np.array([0, labels - 1, labels - 1, 5])
    joint = joint_of_codes(codes, codes[::-1].copy(), codes, labels, (), labels)
    assert list(joint.cells()) == [(0, 5, 0, 1), (5, 0, 5, 1), (labels - 1, labels - 1, labels - 1, 2)]


def test_long_texts_are_compared_by_their_codes() -> None:
    texts = [chr(65 + i) * 100_000 for i in range(20)]
    found, peak = peak_of(lambda: sy.measure(texts * 50, (texts[1:] + texts[:1]) * 50, score=[0.0] * 1000, metric="accuracy"))
    assert found.estimate == 0
    assert peak < 60  # a row of 100,000 characters for each of 1,000 items would be 400


def test_labels_compare_as_their_names_do() -> None:
    from steelyard.items import Labels

    truth = Labels(np.array([0, 1, 1, -1]), ("a", "b"))
    said = Labels(np.array([1, 0, -1, -1]), ("b", "a"))
    assert same_label(truth, said).tolist() == [True, True, False, False]


@pytest.mark.parametrize(("labels", "rows", "drawn"), [(600, 600, False), (300, 2_000, True)])
@pytest.mark.parametrize("metric", ["macro_f1", "balanced_accuracy", *seldom("macro_jaccard")])
def test_nothing_is_drawn_where_no_sample_could_have_a_value(
    labels: int, rows: int, drawn: bool, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of labels with an item each hardly a sample has all: it is known beforehand that there is no interval, and the answer is the same."""
    asked: list[int] = []
    redraw = bootstrap.redraw

    def counted(count: Any, draws: int, rng: Any) -> Any:
        asked.append(draws)
        return redraw(count, draws, rng)

    monkeypatch.setattr(bootstrap, "redraw", counted)
    truth, said, other = answers(labels, rows)
    found = sy.measure(truth, said, metric=metric, draws=2_000)
    assert bool(asked) == drawn
    if not drawn:
        assert found.row.interval is None
        assert f"{metric}: no interval: {labels:,} of {labels:,} classes have fewer than 10 items" in found.warnings
        assert sy.compare(truth, said, other, metric=metric, draws=200).baseline.interval is None
        assert not asked
        with pytest.raises(sy.UsageError, match="draws must be a whole number"):
            sy.measure(truth, said, metric=metric, draws=10)
        sy.measure(truth, said, metric=metric, absent="zero", draws=200)
        assert asked, "a class that counts as 0 leaves no sample without a value"
