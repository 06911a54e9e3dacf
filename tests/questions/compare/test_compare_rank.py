"""Three or more systems: tiers, corrected pairs, Cochran, Friedman and Nemenyi, whatever the order of the arguments."""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from statsmodels.stats.contingency_tables import cochrans_q
from statsmodels.stats.multitest import multipletests

import steelyard as sy
from steelyard.errors import DataError, UsageError

MODELS = {
    "nb": GaussianNB(),
    "knn": KNeighborsClassifier(3),
    "knn5": KNeighborsClassifier(5),
    "tree": DecisionTreeClassifier(max_depth=8, random_state=0),
    "logistic": LogisticRegression(C=0.01, max_iter=1000),
}


@cache
def runs() -> dict[str, pd.DataFrame]:
    """Five real classifiers of digits on the same 600 items, in twelve made-up tasks."""
    x, y = load_digits(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    train, test = slice(0, 700), slice(1197, 1797)
    return {
        name: pd.DataFrame(
            {"id": range(600), "truth": y[test], "prediction": model.fit(x[train], y[train]).predict(x[test]), "task": np.arange(600) % 12}
        )
        for name, model in MODELS.items()
    }


def board(*names: str, **options: Any) -> Any:
    return sy.rank(*(runs()[name] for name in names), names=list(names), **options)


def tiers(b: Any) -> dict[str, Any]:
    return {row["name"]: (row["estimate"], row["tier"], row["interval"].low) for row in b.rows}


ALL = tuple(MODELS)


def test_rows_pairs_and_tiers() -> None:
    b = board(*ALL)
    assert [row["estimate"] for row in b.rows] == sorted((row["estimate"] for row in b.rows), reverse=True)
    assert b.rows[0]["tier"] == 1
    assert [row["tier"] for row in b.rows] == sorted(row["tier"] for row in b.rows)
    assert len(b.pairs) == 10
    for row in b.rows:
        frame = runs()[row["name"]]
        assert row["estimate"] == pytest.approx((frame.truth == frame.prediction).mean())
    for pair in b.pairs:
        alone = sy.compare(runs()[pair.baseline.name], runs()[pair.candidate.name])
        assert pair.p_value == alone.p_value
        assert pair.difference == alone.difference
    assert any("picked" in sentence for sentence in b.warnings)


@pytest.mark.parametrize(("correction", "name"), [("holm", "holm"), ("bh", "fdr_bh"), ("bonferroni", "bonferroni"), ("none", None)])
def test_corrected_p_values_in_the_order_of_the_pairs(correction: str, name: str | None) -> None:
    b = board(*ALL, correction=correction)
    p = [pair.p_value for pair in b.pairs]
    want = p if name is None else multipletests(p, method=name)[1]
    assert [pair.details["p_adjusted"] for pair in b.pairs] == pytest.approx(list(want), rel=1e-12)
    assert b.correction == correction


def test_holm_by_hand() -> None:
    b = board(*ALL)
    p = [pair.p_value for pair in b.pairs]
    order, so_far, want = np.argsort(p), 0.0, [0.0] * len(p)
    for place, i in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p) - place) * p[i]))
        want[i] = so_far
    assert [pair.details["p_adjusted"] for pair in b.pairs] == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"metric": "error"}, {"metric": "macro_f1", "draws": 500}])
def test_the_order_of_the_arguments_changes_no_tier(options: dict[str, Any]) -> None:
    want = board("nb", "knn", "tree", **options)
    for names in itertools.permutations(("nb", "knn", "tree")):
        other = board(*names, **options)
        assert {k: v[:2] for k, v in tiers(other).items()} == {k: v[:2] for k, v in tiers(want).items()}


def test_a_board_in_one_line_joins_the_systems_of_a_tier() -> None:
    names = ("A", "B", "C")
    rows = tuple(sy.Ranked(name=name, estimate=0.5, interval=None, tier=tier) for name, tier in zip(names, (1, 1, 3), strict=True))
    assert repr(sy.Leaderboard(metric="f1", correction="holm", n=9, rows=rows, pairs=())) == "<Leaderboard: f1: A, B (tier 1) > C (tier 3)>"


def test_a_one_sided_question_does_not_make_tiers_depend_on_the_order() -> None:
    """The word greater asks about the later of two arguments; either it is refused or the tiers know the direction."""
    try:
        found = [tiers(board(*names, alternative="greater")) for names in (("nb", "knn", "tree"), ("tree", "knn", "nb"))]
    except UsageError:
        return
    assert found[0] == found[1]


def test_unmatched_items_do_not_make_a_row_depend_on_the_order() -> None:
    """All rows of one leaderboard rest on the same items, or each on all its own; not on those of a pair that came first."""
    some = {**runs(), "knn": runs()["knn"].iloc[:300]}
    found = []
    for names in (("nb", "knn", "tree"), ("tree", "nb", "knn"), ("knn", "tree", "nb")):
        b = sy.rank(*(some[name] for name in names), names=list(names), unmatched="drop")
        found.append((tiers(b), b.n))
    assert found[0] == found[1] == found[2]


def test_a_task_that_one_system_did_not_run() -> None:
    some = {**runs(), "tree": runs()["tree"][runs()["tree"].task != 3]}
    for names in itertools.permutations(("nb", "knn", "tree")):
        try:
            b = sy.rank(*(some[name] for name in names), names=list(names), by="task", unmatched="drop")
        except (DataError, UsageError):
            continue
        assert b.ranks["datasets"] == 11


def test_the_sentence_of_a_pair_respects_the_correction() -> None:
    """After Holm a pair that is not significant must not be called better."""
    a = np.arange(100) % 2
    b_, c = a.copy(), a.copy()
    b_[[1, 3, 5, 7, 9, 11, 13]], b_[0] = 0, 1  # seven lost, one gained: mid-p 0.039, three times that after Holm
    c[50], c[51] = 1, 0
    frames = [pd.DataFrame({"id": range(100), "score": score}) for score in (a, b_, c)]
    b = sy.rank(*frames)
    for pair in b.pairs:
        if pair.details["p_adjusted"] > 0.05:
            assert "is better" not in pair.conclusion, (pair.p_value, pair.details["p_adjusted"])
            assert "is worse" not in pair.conclusion


def test_cochran_agrees_with_statsmodels() -> None:
    right = np.stack([(frame.truth == frame.prediction).to_numpy() for frame in runs().values()], axis=1).astype(int)
    want = cochrans_q(right)
    got = board(*ALL).omnibus
    assert (got["statistic"], got["df"], got["p_value"]) == pytest.approx((want.statistic, want.df, want.pvalue), rel=1e-9)


def test_cochran_is_not_given_for_grouped_items() -> None:
    """It counts every item as independent, which the group column denies."""
    frames = [frame.assign(group=frame.id // 30) for frame in list(runs().values())[:3]]
    assert sy.rank(*frames).omnibus is None


def test_friedman_and_nemenyi_over_tasks() -> None:
    b = board("nb", "knn", "tree", "logistic", by="task")
    names = ("nb", "knn", "tree", "logistic")
    table = np.array(
        [[(f := runs()[name][runs()[name].task == task]).truth.eq(f.prediction).mean() for name in names] for task in range(12)]
    )
    want = stats.friedmanchisquare(*table.T)
    assert (b.ranks["chi2"], b.ranks["p_chi2"]) == pytest.approx((want.statistic, want.pvalue), rel=1e-9)
    assert b.ranks["mean_ranks"] == pytest.approx(list(stats.rankdata(-table, axis=1).mean(0)))
    q = stats.studentized_range.ppf(0.95, 4, np.inf) / np.sqrt(2)
    assert b.ranks["critical_difference"] == pytest.approx(q * np.sqrt(4 * 5 / (6 * 12)), rel=1e-6)
    chi2, n, k = want.statistic, 12, 4
    f = (n - 1) * chi2 / (n * (k - 1) - chi2)
    assert (b.ranks["f"], b.ranks["p_f"]) == pytest.approx((f, stats.f.sf(f, k - 1, (k - 1) * (n - 1))), rel=1e-9)


def test_identical_systems_share_a_tier() -> None:
    b = sy.rank(*[runs()["nb"]] * 3)
    assert [row["tier"] for row in b.rows] == [1, 1, 1]
    assert all(pair.p_value == 1 for pair in b.pairs)
    assert len({row["name"] for row in b.rows}) == 3


def test_the_contract_of_the_json() -> None:
    plain = board("nb", "knn", "tree", by="task").to_dict()
    json.dumps(plain, allow_nan=False)
    assert {"kind", "schema", "metric", "correction", "rows", "pairs", "warnings", "signature"} <= plain.keys()
    assert {"name", "estimate", "interval", "tier"} <= plain["rows"][0].keys()
    assert plain["pairs"][0]["kind"] == "comparison"


def test_a_long_source_of_three_models_is_a_leaderboard() -> None:
    names = ("nb", "knn", "tree")
    long = pd.concat([runs()[name].assign(model=name) for name in names])
    assert tiers(sy.rank(long)) == tiers(board(*names))
    two = sy.compare(long, names=["knn", "nb"])
    assert (two.baseline.name, two.candidate.name) == ("knn", "nb")


def test_names_must_be_as_many_as_the_systems() -> None:
    with pytest.raises(UsageError):
        sy.rank(runs()["nb"], runs()["knn"], runs()["tree"], names=["a", "b"])


def test_flips_of_many_systems_are_refused_not_forgotten(tmp_path: Any) -> None:
    target = tmp_path / "flips.csv"
    try:
        board("nb", "knn", "tree", flips_out=target)
    except UsageError:
        return
    assert target.exists()


def test_different_items_cannot_be_ranked() -> None:
    with pytest.raises(UsageError, match="Unknown argument 'design' of rank"):
        board("nb", "knn", "tree", design="unpaired")


def test_compare_is_about_two_and_rank_about_more() -> None:
    three = [runs()[name] for name in ("nb", "knn", "tree")]
    with pytest.raises(UsageError, match=r"compare takes two systems, got 3\..*use sy\.rank"):
        sy.compare(*three)
    with pytest.raises(UsageError, match=r"rank takes three or more systems, got 2\..*use compare for two"):
        sy.rank(*three[:2])


def test_the_diagram_of_critical_differences_is_written_and_needs_ranks(tmp_path: Path) -> None:
    systems = [{"id": range(60), "score": [float(i % k > 0) for i in range(60)], "task": [i % 6 for i in range(60)]} for k in (2, 3, 5)]
    board = sy.rank(*systems, by="task", names=["a", "b", "c"], cd_out=tmp_path / "ranks.svg")
    assert board.ranks is not None
    assert (tmp_path / "ranks.svg").read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(sy.UsageError, match="needs three or more systems and by=COLUMN"):
        sy.rank(*systems, cd_out=tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()
