"""`sy.compare`: SciPy and hand arithmetic agree, identical systems are identical, a swap negates, every door gives one answer."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import steelyard as sy
from cases import every
from steelyard.errors import AmbiguityError, DataError, UsageError

N = 120
FLIPS = sy.JointCounts.flips(both=790, baseline_only=58, candidate_only=76, neither=76)
MIRROR = {"two-sided": "two-sided", "less": "greater", "greater": "less"}


# ---- data ------------------------------------------------------------------------------------------------------------


def frames(seed: int = 1) -> dict[str, tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]]:
    """Two different runs of every kind of data, with the options that ask for its metric."""
    r = np.random.default_rng(seed)
    truth = r.choice(list("abc"), N)
    said = [np.where(r.random(N) < share, truth, r.choice(list("abc"), N)) for share in (0.7, 0.85)]
    base = {"id": [f"i{k}" for k in range(N)], "group": np.arange(N) % 24}
    labels = [pd.DataFrame({**base, "truth": truth, "prediction": p}) for p in said]
    right = [pd.DataFrame({**base, "score": (p == truth).astype(int)}) for p in said]
    scores = [pd.DataFrame({**base, "score": r.normal(size=N)}) for _ in "ab"]
    y = r.integers(0, 2, N)
    probabilities = [pd.DataFrame({**base, "truth": y, "probability": np.clip(0.3 * y + 0.7 * r.random(N), 0.01, 0.99)}) for _ in "ab"]
    number = r.normal(size=N) * 3
    numbers = [pd.DataFrame({**base, "truth": number, "prediction": number + r.normal(size=N)}) for _ in "ab"]
    ratios = [pd.DataFrame({**base, "above": r.integers(0, 5, N), "below": r.integers(1, 9, N)}) for _ in "ab"]
    out: dict[str, tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]] = {}
    for metric in ("accuracy", "error", "macro_f1", "mcc", "balanced_accuracy"):
        out[metric] = (*labels, {"metric": metric})
    out["f1"] = (*labels, {"metric": "f1", "positive": "a"})
    out["right"] = (*right, {})
    out["mean"] = (*scores, {})
    for metric in ("auc", "brier", "log_loss", "ece"):
        out[metric] = (*probabilities, {"metric": metric, "positive": "1"})
    for metric in ("mae", "rmse", "r2"):
        out[metric] = (*numbers, {"metric": metric})
    out["ratio"] = (*ratios, {"ratio": "above/below"})
    return out


CASES = frames()
LABELS_A, LABELS_B, _ = CASES["accuracy"]
SCORES_A, SCORES_B, _ = CASES["mean"]


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="group")


def repeated(frame: pd.DataFrame, seed: int, runs: int = 3) -> pd.DataFrame:
    """Other runs of the same items: the answers change, the truths do not."""
    r = np.random.default_rng(seed)
    column = next(c for c in ("prediction", "score", "probability", "above") if c in frame)
    return pd.concat([plain(frame).assign(repeat=k, **{column: r.permutation(frame[column])}) for k in range(runs)])


def sound(c: sy.Comparison) -> None:
    """p in (0, 1], an interval in order and of some width, JSON without NaN, and no sentence that overclaims."""
    json.dumps(c.to_dict(), allow_nan=False)
    assert c.p_value is not None
    assert 0 < c.p_value <= 1
    assert c.difference.interval is not None
    low, high = c.difference.interval.low, c.difference.interval.high
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    assert low < high
    assert "no difference" not in c.conclusion
    assert "equal" not in c.conclusion


def said(c: Any, *parts: str) -> bool:
    return any(all(part in sentence for part in parts) for sentence in c.warnings)


def numbers_of(c: sy.Comparison) -> dict[str, Any]:
    plain_ = c.to_dict()
    return {key: plain_[key] for key in ("n", "difference", "test", "flips", "probability_candidate_better", "correlation", "mde")}


# ---- the same items, right or wrong ----------------------------------------------------------------------------------


def test_seventy_six_gained_and_fifty_eight_lost() -> None:
    c = sy.compare(FLIPS)
    assert c.difference.estimate == pytest.approx(0.018, abs=1e-12)
    assert c.difference.interval.method == "tango"
    assert (c.difference.interval.low, c.difference.interval.high) == pytest.approx((-0.004745, 0.041041), abs=5e-7)
    assert c.test.name == "mcnemar-midp"
    assert c.p_value == pytest.approx(0.121014, abs=5e-7)
    assert c.probability_candidate_better == pytest.approx(0.940186, abs=5e-7)
    assert sy.compare(FLIPS, test="mcnemar-exact").p_value == pytest.approx(0.141662, abs=5e-7)
    assert c.flips == {"both": 790, "baseline_only": 58, "candidate_only": 76, "neither": 76}
    assert "could not be told apart" in c.conclusion


# ---- identical systems -----------------------------------------------------------------------------------------------


def identical(c: sy.Comparison) -> None:
    assert c.difference.estimate == 0
    assert c.p_value == 1
    assert c.warnings, "nobody says that the systems are identical"
    sound(c)
    low, high = c.difference.interval.low, c.difference.interval.high
    assert low < 0 < high
    assert low == pytest.approx(-high, rel=0.2)


@every("name", CASES)
def test_two_copies_have_p_1_and_an_interval_around_0(name: str) -> None:
    frame, _, options = CASES[name]
    c = sy.compare(plain(frame), plain(frame), **options)
    identical(c)
    assert said(c, "identical")


@every("name", CASES)
def test_two_copies_with_groups(name: str) -> None:
    frame, _, options = CASES[name]
    identical(sy.compare(frame, frame, **options))


@every("name", [name for name in CASES if name != "auc"])
def test_two_copies_with_repeats_in_another_order(name: str) -> None:
    frame, _, options = CASES[name]
    runs = repeated(frame, 5)
    identical(sy.compare(runs, runs.sample(frac=1, random_state=3), **options))


def test_a_shuffled_copy_with_repeats_differs_by_nothing_at_all() -> None:
    """0.1 + 0.2 + 0.3 in two orders differ by rounding; that is not a difference of the systems."""
    r = np.random.default_rng(35)
    runs = pd.DataFrame([{"id": f"i{i}", "repeat": j, "score": round(float(r.random()), 1)} for i in range(40) for j in range(3)])
    for test in ("paired-t", "sign-flip", "wilcoxon"):
        c = sy.compare(runs, runs.sample(frac=1, random_state=0), metric="mean", range=(0, 1), test=test)
        assert c.p_value == 1, c.conclusion
        assert said(c, "identical")
        assert c.difference.interval.high > 1e-6


@every(  # every test with every interval, and each of them on every side
    ("test", "interval", "alternative"),
    [
        (test, interval, ("two-sided", "less", "greater")[(turn + place) % 3])
        for turn, test in enumerate(["mcnemar-midp", "mcnemar-exact", "mcnemar", "bootstrap", "randomization", "sign-flip"])
        for place, interval in enumerate(["tango", "newcombe", "bonett-price", "wald", "bayes"])
    ],
)
def test_identical_flips_by_every_name(test: str, interval: str, alternative: str) -> None:
    c = sy.compare(
        sy.JointCounts.flips(both=50, baseline_only=0, candidate_only=0, neither=10), test=test, interval=interval, alternative=alternative
    )
    identical(c)


@every("interval", ["bca", "percentile", "delta", "bayes"])
@every("test", ["randomization", "bootstrap"])
def test_identical_tables_by_every_name(interval: str, test: str) -> None:
    identical(sy.compare(plain(LABELS_A), plain(LABELS_A), metric="macro_f1", interval=interval, test=test))


def test_identical_systems_of_one_item_have_an_interval_with_width() -> None:
    one = plain(LABELS_A).iloc[:1]
    identical(sy.compare(one, one))
    c = sy.compare(one, one, metric="macro_f1", absent="skip")
    assert c.difference.interval is None or c.difference.interval.low < c.difference.interval.high


def test_identical_systems_are_equivalent_within_a_margin() -> None:
    """Nothing known is null without a sentence: the margin was asked for."""
    for frame, options in ((plain(LABELS_A), {}), (plain(LABELS_A), {"metric": "macro_f1"}), (plain(SCORES_A), {})):
        c = sy.compare(frame, frame, margin=0.2, **options)
        assert c.equivalence is not None or said(c, "margin"), options


# ---- swapping the systems --------------------------------------------------------------------------------------------

# Drawn: two-sided p within the noise of 10,000 draws, intervals within a tenth of their width.
DRAWN = ("macro_f1", "mcc", "balanced_accuracy", "f1", "ece", "rmse", "r2", "ratio")


@every(  # "less" is answered by "greater" the other way round
    ("name", "alternative"), [*((name, "two-sided") for name in CASES), *((name, "less") for name in list(CASES)[::3])]
)
def test_a_swap_negates(name: str, alternative: str) -> None:
    a, b, options = CASES[name]
    there = sy.compare(plain(a), plain(b), alternative=alternative, **options)
    back = sy.compare(plain(b), plain(a), alternative=MIRROR[alternative], **options)
    sound(there)
    assert there.difference.estimate == pytest.approx(-back.difference.estimate, abs=1e-12)
    slack = 1e-12 if there.test.details.get("exact", True) else 5 * math.sqrt(0.25 / 10_000)
    assert there.p_value == pytest.approx(back.p_value, abs=slack)
    one, other = there.difference.interval, back.difference.interval
    slack = 0.1 * (one.high - one.low) if name in DRAWN else 1e-9
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=slack)
    if there.probability_candidate_better is not None:
        assert there.probability_candidate_better + back.probability_candidate_better == pytest.approx(1, abs=1e-9)


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(*[st.sampled_from("ab")] * 3), min_size=2, max_size=25), st.sampled_from(list(MIRROR)))
def test_a_swap_negates_any_labels(rows: list[tuple[str, str, str]], alternative: str) -> None:
    a = pd.DataFrame({"id": range(len(rows)), "truth": [r[0] for r in rows], "prediction": [r[1] for r in rows]})
    b = a.assign(prediction=[r[2] for r in rows])
    for options in ({}, {"metric": "error"}, {"metric": "macro_f1", "absent": "zero", "draws": 200}):
        there = sy.compare(a, b, alternative=alternative, **options)
        back = sy.compare(b, a, alternative=MIRROR[alternative], **options)
        assert there.difference.estimate == pytest.approx(-back.difference.estimate, abs=1e-12)
        assert there.p_value == pytest.approx(back.p_value, abs=1e-9)
        assert 0 < there.p_value <= 1
        if "draws" not in options:
            assert there.difference.interval.low == pytest.approx(-back.difference.interval.high, abs=1e-9)


@settings(suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(*[st.floats(-100, 100).map(lambda x: round(x, 2))] * 2), min_size=2, max_size=14), st.sampled_from(list(MIRROR)))
def test_a_swap_negates_any_scores(rows: list[tuple[float, float]], alternative: str) -> None:
    a = pd.DataFrame({"id": range(len(rows)), "score": [r[0] for r in rows]})
    b = a.assign(score=[r[1] for r in rows])
    there = sy.compare(a, b, metric="mean", alternative=alternative)
    back = sy.compare(b, a, metric="mean", alternative=MIRROR[alternative])
    assert there.p_value == pytest.approx(back.p_value, abs=1e-12)
    assert there.difference.estimate == pytest.approx(-back.difference.estimate, abs=1e-12)
    twice = sy.compare(a, b, metric="mean").p_value
    tails = [sy.compare(a, b, metric="mean", alternative=side).p_value for side in ("less", "greater")]
    assert twice == pytest.approx(min(1, 2 * min(tails)), abs=1e-9)


@every("name", CASES)
@every("grouped", [False, True])
def test_the_order_of_the_items_changes_nothing(name: str, grouped: bool) -> None:
    a, b, options = CASES[name]
    if not grouped:
        a, b = plain(a), plain(b)
    one = sy.compare(a, b, draws=500, **options).to_dict()
    other = sy.compare(a.sample(frac=1, random_state=1), b.sample(frac=1, random_state=2), draws=500, **options).to_dict()
    assert one == other


def test_the_order_of_repeats_changes_nothing() -> None:
    a, b = repeated(SCORES_A, 1), repeated(SCORES_B, 2)
    one = sy.compare(a, b).to_dict()
    other = sy.compare(a.sample(frac=1, random_state=1), b.sample(frac=1, random_state=2)).to_dict()
    assert one["test"]["p_value"] == pytest.approx(other["test"]["p_value"], abs=1e-12)
    assert one["difference"]["interval"]["low"] == pytest.approx(other["difference"]["interval"]["low"], abs=1e-12)


# ---- every door ------------------------------------------------------------------------------------------------------


def test_every_door_gives_the_same_answer(tmp_path: Path) -> None:
    a, b = plain(LABELS_A), plain(LABELS_B)
    for name, frame in (("a", a), ("b", b)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_parquet(tmp_path / f"{name}.parquet")
        frame.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    joint: dict[tuple[int, int, int], int] = {}
    for key in zip(*(["abc".index(x) for x in column] for column in (a.truth, a.prediction, b.prediction)), strict=True):
        joint[key] = joint.get(key, 0) + 1
    from steelyard.tally.joint import joint_table

    for asked in ({}, {"metric": "macro_f1"}, {"metric": "f1", "positive": "b"}, {"metric": "error"}):
        options: dict[str, Any] = {"draws": 500, **asked}
        want = sy.compare(a, b, **options)
        doors = [(tmp_path / f"a.{end}", tmp_path / f"b.{end}") for end in ("csv", "parquet", "jsonl")]
        doors += [(pl.from_pandas(a), pl.from_pandas(b)), (str(tmp_path / "a.csv"), tmp_path / "b.parquet")]
        for door in doors[:: 1 if "positive" not in asked else 2]:
            got = sy.compare(*door, **options)
            assert numbers_of(got) == numbers_of(want)
            assert got.signature == want.signature
        arrays = sy.compare(a.prediction.to_numpy(), b.prediction.to_numpy(), truth=a.truth.to_numpy(), **options)
        assert numbers_of(arrays) == numbers_of(want)
        table = sy.compare(joint_table(joint, ("a", "b", "c")), **options)
        assert numbers_of(table) == numbers_of(want)


def test_scores_of_right_and_wrong_are_flips() -> None:
    a, b, _ = CASES["right"]
    labels = sy.compare(plain(LABELS_A), plain(LABELS_B))
    scores = sy.compare(plain(a), plain(b))
    assert numbers_of(scores) == numbers_of(labels)
    assert numbers_of(sy.compare(sy.JointCounts.flips(**scores.flips))) == numbers_of(labels)
    assert sy.compare(plain(a), plain(b), metric="mean").p_value == scores.p_value


# ---- ids -------------------------------------------------------------------------------------------------------------


def test_ids_missing_in_one_run_are_refused_with_counts_and_an_example() -> None:
    a, b = plain(LABELS_A), plain(LABELS_B).iloc[12:]
    with pytest.raises(DataError, match=r"108 ids in both, 12 only in the baseline, such as 'i0'.*unmatched='drop'"):
        sy.compare(a, b)
    with pytest.raises(DataError, match="12 only in the candidate"):
        sy.compare(b, a)
    c = sy.compare(a, b, unmatched="drop")
    assert c.n == 108
    assert c.unmatched == {"matched": 108, "baseline_only": 12, "candidate_only": 0}
    assert said(c, "12 items", "left out")
    assert said(c, "90%")
    assert "unmatched:drop" in c.signature
    assert numbers_of(c) == numbers_of(sy.compare(a.iloc[12:], b))


def test_conflicting_truths_duplicates_and_no_ids_in_common_are_refused() -> None:
    a, b = plain(LABELS_A), plain(LABELS_B)
    other = b.assign(truth=[{"a": "b", "b": "c", "c": "a"}[x] if i == 3 else x for i, x in enumerate(b.truth)])
    with pytest.raises(DataError, match=r"1 id has different truths in the two runs, such as 'i3'\."):
        sy.compare(a, other, unmatched="drop")
    with pytest.raises(DataError, match="duplicate"):
        sy.compare(a, pd.concat([b, b.iloc[:1]]))
    with pytest.raises(DataError, match="no id in common"):
        sy.compare(a, b.assign(id=range(N)), unmatched="drop")


def test_ids_match_by_text() -> None:
    a, b = plain(LABELS_A).assign(id=range(N)), plain(LABELS_B)
    want = numbers_of(sy.compare(plain(LABELS_A), b))
    assert numbers_of(sy.compare(a, b.assign(id=[str(i) for i in range(N)]))) == want


def test_without_ids_the_rows_are_paired_by_order_and_it_is_said() -> None:
    a, b = (plain(x).drop(columns="id") for x in (LABELS_A, LABELS_B))
    c = sy.compare(a, b)
    assert said(c, "no ids", "paired by position")
    assert numbers_of(c) == numbers_of(sy.compare(plain(LABELS_A), plain(LABELS_B)))
    with pytest.raises(DataError, match="different truths"):
        sy.compare(a, b.iloc[::-1].reset_index(drop=True))
    with pytest.raises(DataError, match=r"Cannot pair 120 with 119 rows without ids\."):
        sy.compare(a, b.iloc[1:].reset_index(drop=True))


@pytest.mark.parametrize("where", [0, 1])
def test_ids_in_one_run_only_are_never_silently_ignored(where: int) -> None:
    runs = [plain(SCORES_A), plain(SCORES_B)]
    runs[1 - where] = runs[1 - where].drop(columns="id").sample(frac=1, random_state=0)
    try:
        c = sy.compare(*runs)
    except DataError:
        return
    assert said(c, "id", "order")


def test_missing_items_dropped_without_ids_never_shift_the_rows() -> None:
    """Row 1 is missing in one run, row 6 in the other: the rest must still meet its own partner."""
    a = plain(SCORES_A).drop(columns="id")
    one, other = a.copy(), a.copy()
    one.loc[0, "score"] = np.nan
    other.loc[5, "score"] = np.nan
    try:
        c = sy.compare(one, other, missing="drop")
    except DataError:
        return
    assert c.n == N - 2
    assert c.p_value == 1
    assert said(c, "identical")


# ---- groups and repeats on one side ----------------------------------------------------------------------------------


def test_a_group_column_in_one_run_only_counts_from_either_side() -> None:
    with_, without = SCORES_A, plain(SCORES_B)
    answers = []
    for pair in ((with_, without), (without, with_)):
        try:
            c = sy.compare(*pair)
            answers.append((c.design, c.p_value, bool(c.warnings)))
        except (DataError, UsageError) as refusal:
            answers.append(type(refusal))
    assert answers[0] == answers[1]


def test_an_item_in_two_groups_is_not_passed_over() -> None:
    other = SCORES_B.assign(group=SCORES_B.group.to_numpy()[::-1])
    try:
        c = sy.compare(SCORES_A, other)
    except DataError:
        return
    assert said(c, "group", "differ")


def test_a_slice_value_that_differs_between_the_runs_is_not_passed_over() -> None:
    a, b = plain(LABELS_A).assign(k=np.arange(N) % 3), plain(LABELS_B).assign(k=(np.arange(N) + 1) % 3)
    try:
        c = sy.compare(a, b, by="k")
    except DataError:
        return
    assert said(c, "'k'")


def test_groups_by_hand() -> None:
    d = (SCORES_B.score - SCORES_A.score).to_numpy()
    sums = np.bincount(SCORES_A.group, weights=d - d.mean())
    g = len(sums)
    error = math.sqrt(g / (g - 1) * float(sums @ sums)) / N
    c = sy.compare(SCORES_A, SCORES_B)
    reach = stats.t.ppf(0.975, g - 1) * error
    assert c.design == "clustered"
    assert (c.difference.interval.low, c.difference.interval.high) == pytest.approx((d.mean() - reach, d.mean() + reach), rel=1e-9)
    t = sy.compare(SCORES_A, SCORES_B, test="paired-t")
    assert t.p_value == pytest.approx(2 * stats.t.sf(abs(d.mean() / error), g - 1), rel=1e-9)
    few = SCORES_A.group < 12
    a, b = SCORES_A[few], SCORES_B[few]
    total = np.bincount(a.group, weights=b.score - a.score)
    signs = np.array(list(itertools.product((-1, 1), repeat=12)))
    p = float((np.abs(signs @ total) >= abs(total.sum()) - 1e-9).mean())
    assert sy.compare(a, b).p_value == pytest.approx(p, rel=1e-9)


def runs_of(tries: Any, seed: int) -> pd.DataFrame:
    r = np.random.default_rng(seed)
    return pd.DataFrame([{"id": f"i{i}", "repeat": j, "score": int(r.random() < 0.6)} for i in range(30) for j in range(tries(i))])


def test_unequal_repeats_are_compared_by_item_means() -> None:
    c = sy.compare(runs_of(lambda i: 1, 1), runs_of(lambda i: 3, 2))
    assert c.test.name == "bounded-t"
    assert 0 <= c.details["variance_within_share"] <= 1
    assert (c.details["repeats_baseline"], c.details["repeats_candidate"]) == (1, 3)


def test_equal_repeats_by_item_means() -> None:
    a, b = runs_of(lambda i: 4, 1), runs_of(lambda i: 4, 2)
    means = [frame.groupby("id").score.mean() for frame in (a, b)]
    c = sy.compare(a, b, test="paired-t")
    assert c.p_value == pytest.approx(stats.ttest_rel(means[1], means[0]).pvalue, rel=1e-9)
    assert sy.compare(a, b).test.name == "bounded-t"
    assert sy.compare(a, b, test="sign-flip").test.name == "sign-flip"


def test_the_within_item_share_is_reported_for_labels_and_losses_too() -> None:
    for name in ("accuracy", "mean", "mae", "brier"):
        a, b, options = CASES[name]
        c = sy.compare(repeated(a, 1), repeated(b, 2), **options)
        assert (c.details["repeats_baseline"], c.details.get("repeats_candidate")) == (3, 3), name
        assert 0 < c.details["variance_within_share"] <= 1, name


# ---- one long source -------------------------------------------------------------------------------------------------


LONG = pd.concat([plain(LABELS_A).assign(model="x"), plain(LABELS_B).assign(model="y")])


def test_a_long_source_needs_the_order_of_two_models() -> None:
    with pytest.raises(AmbiguityError, match="names=\\['x', 'y'\\]"):
        sy.compare(LONG)
    c = sy.compare(LONG, names=["x", "y"])
    assert numbers_of(c) == numbers_of(sy.compare(plain(LABELS_A), plain(LABELS_B)))
    assert (c.baseline.name, c.candidate.name) == ("x", "y")
    assert sy.compare(LONG, names=["y", "x"]).difference.estimate == -c.difference.estimate
    for column in ("system", "model_name", "MODEL"):
        assert numbers_of(sy.compare(LONG.rename(columns={"model": column}), names=["x", "y"])) == numbers_of(c)
    with pytest.raises(UsageError, match="'z'"):
        sy.compare(LONG, names=["x", "z"])


def test_the_model_column_can_be_named() -> None:
    c = sy.compare(LONG.rename(columns={"model": "who"}), names=["x", "y"], model="who")
    assert c.n == N


def test_a_source_of_one_model_says_what_is_missing() -> None:
    with pytest.raises(UsageError) as refusal:
        sy.compare(plain(LABELS_A))
    assert "second" in str(refusal.value) or "model" in str(refusal.value)
    assert "by=" not in str(refusal.value), "the user gave no by="


@every("names", [["x"], ["x", "y", "z"]])
@every("sources", [(plain(LABELS_A), plain(LABELS_B)), (FLIPS,), (LONG,)], ids=["two", "flips", "long"])
def test_names_that_do_not_fit_are_refused(names: list[str], sources: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError):
        sy.compare(*sources, names=names)


def test_one_model_named_twice_is_refused() -> None:
    with pytest.raises(UsageError):
        sy.compare(LONG, names=["x", "x"])


# ---- real scores against SciPy ---------------------------------------------------------------------------------------


@every("alternative", MIRROR)
@every("n", [6, 12])
def test_scores_agree_with_scipy(n: int, alternative: str) -> None:
    a, b = plain(SCORES_A).iloc[:n], plain(SCORES_B).iloc[:n]
    d = (b.score - a.score).to_numpy()
    exact = stats.permutation_test((d,), np.mean, permutation_type="samples", alternative=alternative, n_resamples=np.inf)
    assert sy.compare(a, b, alternative=alternative).p_value == pytest.approx(exact.pvalue, rel=1e-9)
    t = stats.ttest_rel(b.score, a.score, alternative=alternative)
    c = sy.compare(a, b, test="paired-t", alternative=alternative)
    assert (c.test.statistic, c.p_value) == pytest.approx((t.statistic, t.pvalue), rel=1e-9)
    w = stats.wilcoxon(b.score, a.score, alternative=alternative, method="exact")
    assert sy.compare(a, b, test="wilcoxon", alternative=alternative).p_value == pytest.approx(w.pvalue, rel=1e-9)
    low, high = t.confidence_interval(0.95) if alternative == "two-sided" else (None, None)
    if low is not None:
        assert (c.difference.interval.low, c.difference.interval.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("alternative", MIRROR)
def test_welch_agrees_with_scipy(alternative: str) -> None:
    a, b = plain(SCORES_A).iloc[:9], plain(SCORES_B).iloc[40:55]
    c = sy.compare(a, b, design="unpaired", alternative=alternative)
    want = stats.ttest_ind(b.score, a.score, equal_var=False, alternative=alternative)
    assert (c.test.name, c.design, c.n) == ("welch-t", "unpaired", 24)
    assert (c.test.statistic, c.p_value, c.test.details["df"]) == pytest.approx((want.statistic, want.pvalue, want.df), rel=1e-9)


def test_delong_by_all_pairs() -> None:
    a, b, options = CASES["auc"]
    y = a.truth.to_numpy() == 1
    kernels = []
    for frame in (a, b):
        p = frame.probability.to_numpy()
        x, z = p[y][:, None], p[~y][None, :]
        kernels.append((x > z) + 0.5 * (x == z))
    k = kernels[1] - kernels[0]
    v10, v01 = k.mean(1), k.mean(0)
    error = math.sqrt(v10.var(ddof=1) / len(v10) + v01.var(ddof=1) / len(v01))
    z = k.mean() / error
    parts = [(v10.var(ddof=1) / len(v10), len(v10) - 1), (v01.var(ddof=1) / len(v01), len(v01) - 1)]
    df = sum(v for v, _ in parts) ** 2 / sum(v * v / n for v, n in parts)
    c = sy.compare(plain(a), plain(b), **{**options, "interval": "delong", "test": "delong"})
    assert c.difference.estimate == pytest.approx(k.mean(), abs=1e-12)
    assert (c.test.statistic, c.p_value) == pytest.approx((z, 2 * stats.t.sf(abs(z), df)), rel=1e-9)
    reach = stats.t.ppf(0.975, df) * error
    assert (c.difference.interval.low, c.difference.interval.high) == pytest.approx((k.mean() - reach, k.mean() + reach), rel=1e-7)


@every("name", CASES)
def test_both_systems_have_their_own_interval(name: str) -> None:
    """The contract: baseline and candidate have name, estimate, interval; null only with a sentence."""
    a, b, options = CASES[name]
    c = sy.compare(plain(a), plain(b), draws=1000, **options)
    for system in (c.baseline, c.candidate):
        assert system.interval is not None
        assert system.interval.low <= system.estimate <= system.interval.high


def test_an_auc_that_cannot_be_compared_is_refused_in_words() -> None:
    a, b, options = CASES["auc"]
    one = [1] + [0] * (N - 1)
    for change in ({"truth": one}, {"truth": [0] * N}):
        with pytest.raises((DataError, UsageError)):
            sy.compare(plain(a).assign(**change), plain(b).assign(**change), **options)
    with pytest.raises((DataError, UsageError)):
        sy.compare(a.assign(group=1), b.assign(group=1), **options)


# ---- margins ---------------------------------------------------------------------------------------------------------


def test_tost_by_hand() -> None:
    a, b = plain(SCORES_A), plain(SCORES_B)
    d = (b.score - a.score).to_numpy()
    error = d.std(ddof=1) / math.sqrt(N)
    e = sy.compare(a, b, margin=0.4).equivalence
    lower, upper = stats.t.sf((d.mean() + 0.4) / error, N - 1), stats.t.cdf((d.mean() - 0.4) / error, N - 1)
    assert (e["p_lower"], e["p_upper"], e["p_value"]) == pytest.approx((lower, upper, max(lower, upper)), rel=1e-9)
    assert e["equivalent"] == (max(lower, upper) <= 0.05)


def test_tost_of_welch_uses_welchs_degrees_of_freedom() -> None:
    a, b = plain(SCORES_A).iloc[:8], plain(SCORES_B).iloc[20:26]
    c = sy.compare(a, b, design="unpaired", margin=0.5)
    d = b.score.mean() - a.score.mean()
    error = math.sqrt(a.score.var() / 8 + b.score.var() / 6)
    df = c.test.details["df"]
    assert c.equivalence["p_lower"] == pytest.approx(stats.t.sf((d + 0.5) / error, df), rel=1e-9)
    assert c.equivalence["p_upper"] == pytest.approx(stats.t.cdf((d - 0.5) / error, df), rel=1e-9)


def test_a_margin_for_a_loss_turns_round() -> None:
    flips = sy.JointCounts.flips(both=900, baseline_only=5, candidate_only=35, neither=60)
    right, wrong = sy.compare(flips, margin=0.01), sy.compare(flips, margin=0.01, metric="error")
    assert right.equivalence["p_lower"] == pytest.approx(wrong.equivalence["p_lower"], rel=1e-6)
    assert right.equivalence["non_inferior"]
    assert not right.equivalence["equivalent"]
    assert "better" in right.conclusion
    assert "better" in wrong.conclusion
    assert wrong.difference.estimate == -right.difference.estimate
    assert wrong.probability_candidate_better == pytest.approx(right.probability_candidate_better)


# ---- methods by name -------------------------------------------------------------------------------------------------

OFFERED = {
    "right": (("tango", "newcombe", "bonett-price", "wald", "bayes"), ("mcnemar-midp", "mcnemar-exact", "mcnemar", "bootstrap")),
    "macro_f1": (("bca", "percentile", "delta", "bayes"), ("randomization", "bootstrap")),
    "mean": (("t", "bca", "percentile"), ("sign-flip", "paired-t", "wilcoxon")),
    "rmse": (("bca", "percentile", "delta"), ("randomization",)),
    "auc": (("delong-wilson", "delong"), ("delong-wilson", "delong")),
}


# Every interval on every side, every test, and each with some of the others: that an interval leaves the test alone is shown below.
@every(
    ("name", "interval", "test", "side"),
    [
        (name, interval, test, side)
        for name, (intervals, tests) in OFFERED.items()
        for turn, interval in enumerate(intervals)
        for place, test in enumerate(tests)
        for side in ("two", "lower", "upper")
        if place == 0 or (side == "two" and (turn == 0 or place == turn % len(tests)))
    ],
)
def test_every_method_by_its_name(name: str, interval: str, test: str, side: str) -> None:
    a, b, options = CASES[name]
    c = sy.compare(plain(a), plain(b), interval=interval, test=test, side=side, draws=100, **options)
    sound(c)
    assert (c.difference.interval.method, c.test.name, c.difference.interval.side) == (interval, test, side)
    assert f"interval:{interval}" in c.signature
    assert f"test:{test}" in c.signature


@every("interval", ["bca", "percentile", "delta"])
@every("name", ["accuracy", "right"])
def test_resampled_intervals_of_accuracy(name: str, interval: str) -> None:
    """Offered for labels, so also for scores of right and wrong: they are the same numbers."""
    a, b, options = CASES[name]
    c = sy.compare(plain(a), plain(b), interval=interval, **options)
    sound(c)
    assert c.difference.interval.method == interval


@pytest.mark.parametrize("interval", ["bca", "percentile", "delta"])
def test_resampled_intervals_of_flips(interval: str) -> None:
    """`compare --help` lists them, and the table's interval needs no labels for accuracy."""
    sound(sy.compare(FLIPS, interval=interval))
    same = sy.JointCounts.flips(both=50, baseline_only=0, candidate_only=0, neither=10)
    identical(sy.compare(same, interval=interval))


def test_the_interval_does_not_decide_the_test() -> None:
    """Asking for another interval must not change the p-value, nor take McNemar away."""
    a, b = plain(LABELS_A), plain(LABELS_B)
    want = sy.compare(a, b)
    for interval in ("newcombe", "delta", "bca"):
        assert sy.compare(a, b, interval=interval).p_value == want.p_value
        assert sy.compare(a, b, interval=interval, test="mcnemar-midp").p_value == want.p_value


@every(
    ("name", "options", "offered"),
    [
        ("right", {"interval": "t"}, "tango"),
        ("right", {"test": "paired-t"}, "mcnemar-midp"),
        ("mean", {"interval": "tango"}, "bca"),
        ("mean", {"test": "mcnemar"}, "sign-flip"),
        ("macro_f1", {"test": "z"}, "randomization"),
        ("auc", {"interval": "bca"}, "delong"),
        ("auc", {"test": "sign-flip"}, "delong"),
        ("rmse", {"test": "paired-t"}, "randomization"),
        ("right", {"interval": "nonsense"}, "tango"),
        ("right", {"test": "nonsense"}, "mcnemar"),
    ],
)
def test_a_method_not_offered_lists_those_that_are(name: str, options: dict[str, str], offered: str) -> None:
    a, b, own = CASES[name]
    with pytest.raises(UsageError, match=offered):
        sy.compare(plain(a), plain(b), **own, **options)


@pytest.mark.parametrize("interval", ["newcombe", "miettinen-nurminen", "agresti-caffo", "wald", "bayes"])
def test_counts_of_different_items_by_every_name(interval: str) -> None:
    for first, second in (((56, 70), (48, 80)), ((0, 10), (0, 12)), ((10, 10), (12, 12)), ((0, 10), (12, 12))):
        c = sy.compare(sy.Counts.of(*first), sy.Counts.of(*second), interval=interval)
        sound(c)
        assert c.design == "unpaired"
    with pytest.raises(UsageError):
        sy.compare(sy.Counts.of(1, 2), sy.Counts.of(1, 2), design="paired")


# ---- missing, labels, slices -----------------------------------------------------------------------------------------


def holed(frame: pd.DataFrame) -> pd.DataFrame:
    return plain(frame).assign(prediction=[None if i == 2 else p for i, p in enumerate(frame.prediction)])


def test_a_missing_prediction_on_one_side() -> None:
    a, b = holed(LABELS_A), plain(LABELS_B)
    for pair in ((a, b), (b, a)):
        with pytest.raises(DataError, match=r"1 of 120 items have no prediction, the first in row 3\."):
            sy.compare(*pair)
        assert sy.compare(*pair, missing="drop").n == N - 1
        c = sy.compare(*pair, missing="wrong")
        assert c.n == N
        assert said(c, "1 of 120", "wrong")
    wrong = plain(LABELS_A).assign(prediction=["-" if i == 2 else p for i, p in enumerate(LABELS_A.prediction)])
    assert numbers_of(sy.compare(a, b, missing="wrong")) == numbers_of(sy.compare(wrong, b))


def test_a_missing_prediction_counted_as_wrong_is_not_a_class() -> None:
    """As in `measure`: macro-F1 averages over the classes, not over the hole."""
    c = sy.compare(holed(LABELS_A), plain(LABELS_B), missing="wrong", metric="macro_f1")
    assert c.baseline.estimate == pytest.approx(sy.measure(holed(LABELS_A), missing="wrong", metric="macro_f1").estimate)
    assert c.candidate.estimate == pytest.approx(sy.measure(plain(LABELS_B), metric="macro_f1").estimate)


@pytest.mark.parametrize("missing", ["wrong", "drop"])
def test_what_was_done_about_missing_items_is_said_for_different_items_too(missing: str) -> None:
    c = sy.compare(holed(LABELS_A), plain(LABELS_B), missing=missing, design="unpaired")
    assert said(c, "1 of 120")


def test_declared_labels_make_strays_wrong() -> None:
    stray = plain(LABELS_B).assign(prediction=["zzz", *LABELS_B.prediction[1:]])
    c = sy.compare(plain(LABELS_A), stray, labels=["a", "b", "c"], metric="macro_f1")
    assert said(c, "'zzz'")
    assert c.baseline.estimate == pytest.approx(sy.measure(plain(LABELS_A), metric="macro_f1").estimate)
    with pytest.raises(DataError, match="'c'"):
        sy.compare(plain(LABELS_A), stray, labels=["a", "b"])


def test_different_items_are_averaged_over_the_same_classes() -> None:
    """The defect of peers: macro-F1 over three classes against macro-F1 over four, because one system once said 'zzz'."""
    a, b = plain(LABELS_A), plain(LABELS_B).assign(prediction=["zzz", *LABELS_B.prediction[1:]])
    try:
        c = sy.compare(a, b, metric="macro_f1", design="unpaired")
    except (DataError, UsageError):
        return  # as it is for the same items
    sets = [sy.measure(x, metric="macro_f1", labels=["a", "b", "c"]).estimate for x in (a, b)]
    four = [sy.measure(x, metric="macro_f1", labels=["a", "b", "c", "zzz"], absent="zero").estimate for x in (a, b)]
    assert (c.baseline.estimate, c.candidate.estimate) in (pytest.approx(tuple(sets)), pytest.approx(tuple(four)))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
def test_labels_against_scores_of_right_and_wrong(grouped: bool, swapped: bool) -> None:
    """Both say right or wrong for every item; a refusal must at least not call 0 and 1 other than 0 and 1."""
    pair = [LABELS_A, CASES["right"][1]] if grouped else [plain(LABELS_A), plain(CASES["right"][1])]
    message = ""
    try:
        sound(sy.compare(*(pair[::-1] if swapped else pair)))
    except (DataError, UsageError) as refusal:
        message = str(refusal)
    assert "other than 0 and 1" not in message


@pytest.mark.parametrize("correction", ["holm", "bh", "bonferroni", "none"])
def test_slices_are_corrected_together_in_their_order(correction: str) -> None:
    from statsmodels.stats.multitest import multipletests

    k = np.arange(N) % 4
    a, b = plain(LABELS_A).assign(k=k, prediction=np.where(k == 2, "a", LABELS_A.prediction)), plain(LABELS_B).assign(k=k)
    c = sy.compare(a, b, by="k", correction=correction)
    assert [part["value"] for part in c.slices] == list("0123")
    p = [part["comparison"].p_value for part in c.slices]
    name = {"holm": "holm", "bh": "fdr_bh", "bonferroni": "bonferroni"}.get(correction)
    want = p if name is None else multipletests(p, method=name)[1]
    assert [part["p_adjusted"] for part in c.slices] == pytest.approx(list(want), rel=1e-12)
    alone = sy.compare(a[k == 1], b[k == 1])
    assert numbers_of(c.slices[1]["comparison"]) == numbers_of(alone)


@pytest.mark.parametrize("name", ["macro_f1", "auc"])
def test_a_slice_without_a_value_does_not_refuse_the_others(name: str) -> None:
    """A number that cannot be known is null with a sentence; the whole comparison can be known."""
    a, b, options = CASES[name]
    a, b = plain(a).assign(k=a.truth), plain(b).assign(k=b.truth)
    c = sy.compare(a, b, by="k", **options)
    assert c.difference.estimate is not None


# ---- signature, items that changed ----------------------------------------------------------------------------------------


def test_the_signature_names_every_draw_that_the_numbers_rest_on() -> None:
    """If another seed gives another number, the seed is in the signature."""
    for name, asked in (
        ("macro_f1", {"interval": "bayes"}),
        ("macro_f1", {"interval": "delta"}),
        ("mean", {}),
        ("mean", {"interval": "bca"}),
    ):
        a, b, options = CASES[name]
        asked = {**asked, "draws": 1000}
        one, other = (sy.compare(plain(a), plain(b), seed=seed, **options, **asked) for seed in (0, 1))
        if numbers_of(one) != numbers_of(other):
            assert "seed:0" in one.signature, (name, asked)
            assert "draws:" in one.signature
        again = sy.compare(plain(a), plain(b), seed=0, **options, **asked)
        assert again.to_dict() == one.to_dict()


def test_lost_and_gained_mean_the_same_for_every_metric() -> None:
    y = np.array([1, 0, 1, 0, 1])
    a = pd.DataFrame({"id": range(5), "truth": y, "prediction": y, "probability": np.where(y, 0.9, 0.1)})
    b = a.assign(prediction=1 - y, probability=np.where(y, 0.1, 0.9))
    for metric in ("accuracy", "error", "macro_f1", "brier"):
        c = sy.compare(a, b, metric=metric, **({"positive": "1"} if metric == "brier" else {}))
        assert {item["change"] for item in c.changed_items} <= {"lost"}, metric
    flipped = sy.compare(a.drop(columns="probability"), b.drop(columns="probability"))
    assert len(flipped.changed_items) == 5


def test_preferences() -> None:
    from steelyard.questions.compare.compare import compare_preferences

    c = compare_preferences(40, 12, 28)
    assert c.difference.estimate == pytest.approx(0.15)
    assert c.flips is None
    want = stats.binomtest(40, 68).pvalue - stats.binom.pmf(40, 68, 0.5)
    assert c.p_value == pytest.approx(want, rel=1e-6)
    identical(compare_preferences(0, 12, 0))


def test_two_logs_of_different_models_are_no_matter_of_protocol() -> None:
    """The model is what is compared. (Two versions of a prompt are: tests/read/logs.)"""
    logs = Path(__file__).parents[2] / "read" / "logs" / "promptfoo"
    assert sy.compare(logs / "one.json", logs / "two.json").warnings == ()


@pytest.mark.parametrize("design", [None, "unpaired"])
def test_zeros_beside_numbers_are_numbers(design: str | None) -> None:
    """A baseline of only 0 beside a candidate of points is no 0 of 15 right: as a baseline of only 2, it shows no spread."""
    points = [6, 8, 9, 10, 11, 12, 20, 21, 22, 23, 30, 31, 40, 50, 75]
    for constant in (0.0, 2.0):
        found = sy.compare([constant] * 15, points, design=design)
        assert found.baseline.interval is None
        assert found.candidate.interval.method == "t"
    assert sy.compare([0.0] * 15, [0.0] * 5 + [1.0] * 10, design=design).baseline.interval.method == "wilson"


@every("nll", [350, 500, 100_000])
def test_a_perplexity_without_a_square_is_refused(nll: float) -> None:
    """Its spread is no number, and beyond e^709 neither is the perplexity."""
    one, other, third = ([{"id": i, "nll": nll + (i * step) % 9, "tokens": 1} for i in range(40)] for step in (1, 2, 4))
    with pytest.raises(DataError, match=r"^perplexity is too large to compare: "):
        sy.compare(one, other, metric="perplexity", ratio="nll/tokens")
    with pytest.raises(DataError, match=r"^perplexity is too large to compare: "):
        sy.rank(one, other, third, metric="perplexity", ratio="nll/tokens")


@every("name", ["\0", "\ud800", "x" * 5000])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    rows = [{"id": i, "score": float(i % 2)} for i in range(10)]
    with pytest.raises(UsageError, match=r"^Cannot write "):
        sy.compare(rows, rows, flips_out=name)
