"""plan_train and learning_curve: real digits end to end, every way to hand over a curve, every honest refusal."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cases import every
from steelyard_old.cli.plan_train import train
from steelyard_old.errors import AmbiguityError, DataError, SourceError, UsageError
from steelyard_old.questions.learners.learning_curve import learning_curve
from steelyard_old.questions.plan.train import plan_train
from steelyard_old.results.plan import Plan
from steelyard_old.results.signature import parse

CSV = Path(__file__).parents[3] / "docs" / "data" / "curve.csv"
SIZES = [50, 100, 200, 400, 800, 1600]


def rows(
    seeds: int = 5, noise: float = 0.004, a: float = 0.06, b: float = 1.0, c: float = 0.5, sizes: list[int] = SIZES
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {"size": n, "score": 1 - a - b * n**-c - noise * math.sqrt(200 / n) * float(rng.standard_normal()), "seed": s}
        for s in range(seeds)
        for n in sizes
    ]


def said(plan: Plan, words: str) -> bool:
    return any(words in sentence for sentence in plan.warnings)


# ---- the answer ------------------------------------------------------------------------------------------------------


def test_the_digits_are_foretold() -> None:
    """The file stops at 640 items. With all 1347 (8 seeds, seed 1), logistic regression had .9605 at 800 and .9674 at 1347."""
    p = plan_train(CSV, target=0.96)
    assert p.goal == "train"
    assert p.details["interval"]["low"] < 800 < p.details["interval"]["high"]
    twice = p.steps[1]
    assert twice["n"] == 1280
    assert twice["low"] < 0.967 < twice["high"]
    assert p.details["seeds"] == 5
    assert p.details["largest"] == 640


def test_the_digits_file_is_what_the_learner_does() -> None:
    X, y = load_digits(return_X_y=True)
    learner = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    curve = learning_curve(learner, X, y, sizes=(40, 60, 90, 130, 200), repeats=1, seed=0)
    with CSV.open(encoding="utf-8") as file:
        stored = [row for row in csv.DictReader(file) if int(row["size"]) <= 200 and row["seed"] == "1"]
    assert [p.score for p in curve.points] == pytest.approx([float(row["accuracy"]) for row in stored], abs=0.01)
    assert [p.n_test for p in curve.points] == [int(row["n_test"]) for row in stored]


def test_an_exact_curve_gives_the_exact_size_and_no_interval() -> None:
    p = plan_train([{"n": n, "accuracy": 0.95 - n**-0.5} for n in SIZES], target=0.93)
    assert p.n == 2500
    assert p.details["interval"]["low"] is None
    assert p.details["interval"]["high"] is None
    assert [p.details["fit"][name] for name in "abc"] == pytest.approx([0.05, 1.0, 0.5], rel=1e-4)
    assert said(p, "no interval can be computed")
    assert p.curve is not None
    assert p.curve.low is None


def test_a_loss_is_the_same_question_upside_down() -> None:
    up = plan_train(rows(), target=0.92)
    down = plan_train([{**row, "score": 1 - row["score"]} for row in rows()], target=0.08, higher_is_better=False)
    assert (up.n, up.details["interval"]["low"]) == (down.n, down.details["interval"]["low"])
    assert up.details["asymptote"]["estimate"] == pytest.approx(1 - down.details["asymptote"]["estimate"])
    assert up.details["asymptote"]["low"] == pytest.approx(1 - down.details["asymptote"]["high"])
    assert "score = a + b" in down.assumed
    scaled = plan_train([{**row, "score": 100 * (1 - row["score"])} for row in rows()], target=8, higher_is_better=False)
    assert scaled.n == down.n


def test_order_of_rows_changes_nothing() -> None:
    mixed = [rows()[i] for i in np.random.default_rng(1).permutation(len(rows()))]
    assert plan_train(mixed, target=0.93).to_dict() == plan_train(rows(), target=0.93).to_dict()


def test_steps_sensitivity_and_curve_belong_to_one_fit() -> None:
    p = plan_train(rows(), target=0.9)
    fit = p.details["fit"]
    for step in p.steps:
        assert step["score"] == pytest.approx(1 - fit["a"] - fit["b"] * step["n"] ** -fit["c"])
        assert step["low"] < step["score"] < step["high"]
    gains = [step["doubling_buys"] for step in p.steps]
    assert gains == sorted(gains, reverse=True)
    assert p.steps[2]["score"] - p.steps[1]["score"] == pytest.approx(gains[2])
    sizes = [row["n"] for row in p.sensitivity[:4]]
    assert sizes == sorted(sizes)
    assert "left out" in p.sensitivity[-1]["if"]
    assert p.curve is not None
    assert p.curve.mark == (p.n, 0.9)
    assert p.curve.goal == 0.9
    assert len(p.curve.points) == 30
    assert all(low < y < high for low, y, high in zip(p.curve.low, p.curve.y, p.curve.high, strict=True))  # type: ignore[arg-type]
    json.dumps(p.to_dict(), allow_nan=False)
    assert f"{p.n:,}" in p.conclusion


def test_the_signature_tells_what_happened() -> None:
    facts = parse(plan_train(rows(), target=0.92, seed=3, draws=500).signature)
    assert facts["goal"] == ["train"]
    assert facts["target"] == ["0.92"]
    assert facts["units"] == ["5 seeds"]
    assert (facts["seed"], facts["draws"]) == (["3"], ["500"])
    again = plan_train(rows(), target=float(facts["target"][0]), seed=int(facts["seed"][0]), draws=int(facts["draws"][0]))
    assert again.to_dict() == plan_train(rows(), target=0.92, seed=3, draws=500).to_dict()
    assert again.details["interval"] != plan_train(rows(), target=0.92, seed=4, draws=500).details["interval"]


# ---- where the target lies ---------------------------------------------------------------------------------------------


def test_inside_the_data_is_said() -> None:
    p = plan_train(rows(), target=0.87)
    assert p.details["reached"]
    assert p.n == pytest.approx((1 / 0.07) ** 2, rel=0.1)
    assert "inside the sizes" in p.conclusion


def test_below_the_smallest_size_is_said() -> None:
    p = plan_train(rows(), target=0.7)
    assert p.n is not None
    assert p.n < 50
    assert said(p, "every size that was tried")


def test_out_of_reach_only_if_the_bound_says_so() -> None:
    sure = plan_train(rows(seeds=10, noise=0.001), target=0.97)
    assert sure.n is None
    assert sure.details["out_of_reach"]
    assert "cannot be reached with more data alone" in sure.conclusion
    unsure = plan_train(rows(seeds=3, noise=0.03), target=0.97)
    assert not unsure.details["out_of_reach"]
    assert "not known" in unsure.conclusion or unsure.details["interval"]["high"] is None


def test_not_known_is_null_with_a_sentence() -> None:
    for target in np.arange(0.93, 0.99, 0.0025):
        p = plan_train(rows(noise=0.006), target=float(target))
        if p.n is None and not p.details["out_of_reach"]:
            break
    else:
        pytest.fail("no target between reach and out of reach")
    assert said(p, "n is not known")
    assert "unknown" in p.conclusion
    assert p.details["interval"]["high"] is None


def test_far_beyond_the_largest_size_warns() -> None:
    p = plan_train(rows(noise=0.001), target=0.93)
    assert p.n is not None
    assert p.n > 4 * 1600
    assert p.details["beyond"] == pytest.approx(p.n / 1600)
    assert said(p, "times the largest size")
    assert not said(plan_train(rows(noise=0.001), target=0.91), "times the largest size")


def test_a_target_within_the_noise_of_what_is_reached_is_said() -> None:
    assert said(plan_train(rows(noise=0.02), target=0.916), "within the noise")
    assert not said(plan_train(rows(noise=0.001), target=0.93), "within the noise")


def test_rounding_to_whole_items_leaves_no_interval_without_width() -> None:
    p = plan_train(rows(noise=0.0001), target=0.5)
    interval = p.details["interval"]
    assert interval["low"] < interval["high"]
    assert interval["low"] <= p.n <= interval["high"]
    assert p.n == 6  # (1 / .44)^2 = 5.2


def test_an_asymptote_that_is_always_the_best_score_is_not_known() -> None:
    """Errors that fall faster and faster: every fit ends on the floor, which is no evidence of perfection."""
    rng = np.random.default_rng(2)
    falling = [{"size": n, "score": 1 - 0.4 * math.exp(-n / 500) - 0.001 * rng.random(), "seed": s} for s in range(5) for n in SIZES]
    p = plan_train(falling, target=0.98)
    assert p.details["asymptote"] == {"estimate": 1.0, "low": None, "high": None}
    assert said(p, "levels off is not known")


def test_a_curve_of_another_shape_is_noticed() -> None:
    bent = [{**row, "score": row["score"] + (0.05 if row["size"] == 1600 else 0)} for row in rows(noise=0.001)]
    assert said(plan_train(bent, target=0.97), "does not follow a + b n^-c")
    assert not said(plan_train(rows(noise=0.001), target=0.93), "does not follow")


# ---- how the points came -------------------------------------------------------------------------------------------------


def test_every_way_to_hand_over_the_same_curve(tmp_path: Path) -> None:
    want = plan_train(CSV, target=0.96).to_dict()
    frame = pd.read_csv(CSV)
    records = frame.to_dict("records")
    lines = tmp_path / "curve.jsonl"
    lines.write_text("\n".join(json.dumps(row) for row in records))
    tabs = tmp_path / "curve.tsv"
    frame.rename(columns={"size": "Train_Size", "seed": "RUN"}).to_csv(tabs, sep="\t", index=False)
    for other in (str(CSV), frame, records, frame.to_dict("list"), lines, tabs):
        assert plan_train(other, target=0.96).to_dict() == want


def test_columns_are_named_where_names_do_not_tell() -> None:
    odd = [{"items": r["size"], "dev": r["score"], "who": r["seed"], "score": 0.1} for r in rows()]
    p = plan_train(odd, target=0.92, size="items", score="dev", seed_column="who")
    assert p.n == plan_train(rows(), target=0.92).n
    assert p.details["metric"] == "dev"


def test_a_single_curve_is_less_sure_and_says_so() -> None:
    one = [{k: v for k, v in row.items() if k != "seed"} for row in rows(seeds=1)]
    p = plan_train(one, target=0.92)
    assert p.design == "points"
    assert p.details["seeds"] is None
    assert said(p, "one score at some size")
    assert p.details["interval"]["low"] < p.n
    assert plan_train(rows(seeds=1), target=0.92).n == p.n


def test_test_sizes_and_standard_errors_weigh_the_points() -> None:
    one = [{k: v for k, v in row.items() if k != "seed"} for row in rows(seeds=1)]
    plain = plan_train(one, target=0.92)
    sized = plan_train(one, target=0.92, n_test=500)
    column = plan_train([{**row, "n_test": 500} for row in one], target=0.92)
    assert plain.details["weights"] == "equal"
    assert sized.details["weights"] == "test sizes"
    assert sized.n == column.n != plain.n
    se = plan_train([{**row, "se": 0.01} for row in one], target=0.92)
    assert se.details["weights"] == "standard errors"
    assert se.n == plain.n  # equal standard errors weigh alike, but they are known
    assert plan_train([{**row, "n_test": 500} for row in one], target=0.92, n_test="none").n == plain.n


def test_few_seeds_ragged_seeds_and_scores_without_runs() -> None:
    assert said(plan_train(rows(seeds=3), target=0.92), "3 scores at a size")
    assert not said(plan_train(rows(seeds=5), target=0.92), "scores at a size")
    ragged = plan_train(rows()[1:], target=0.92)
    assert ragged.design == "curves"
    assert said(ragged, "lack some sizes")
    apart = plan_train([{**row, "seed": i} for i, row in enumerate(rows())], target=0.92)
    nameless = plan_train(rows(), target=0.92, seed_column="none")
    for p in (apart, nameless):
        assert p.design == "replicates"
        assert said(p, "which scores belong to one run")
        assert not said(p, "lack some sizes")
        assert p.n == plan_train(rows(), target=0.92).n


def test_names_of_seeds_change_nothing() -> None:
    renamed = [{**row, "seed": "zyxwv"[row["seed"]]} for row in rows()]
    assert plan_train(renamed, target=0.92).to_dict() == plan_train(rows(), target=0.92).to_dict()


@every(
    ("curve", "options", "error", "words"),
    [
        (rows(sizes=SIZES[:4]), {}, DataError, "at least 5"),
        ([{**r, "size": r["size"] / 1600} for r in rows()], {}, DataError, "numbers of items"),
        ([{**r, "size": -1} for r in rows()], {}, DataError, "at least 1"),
        ([{**r, "score": 100 * r["score"]} for r in rows()], {}, DataError, "divide percentages"),
        ([{**r, "score": -r["score"]} for r in rows()], {"higher_is_better": False}, DataError, "at least 0"),
        (
            [{**r, "score": 1 - r["score"]} for r in rows()],
            {},
            DataError,
            "The scores do not improve with the training size",
        ),
        ([{**r, "score": 1.0} for r in rows()], {}, DataError, "The scores do not improve with the training size"),
        (
            [{**r, "score": None if r["size"] == 100 else r["score"]} for r in rows()],
            {},
            DataError,
            r"5 of 30 rows of the curve have no 'score'\.",
        ),
        ([*rows(), rows()[0]], {}, DataError, "Seed and size do not name one score: there are 2 scores of one seed at"),
        ([{**r, "n": r["size"]} for r in rows()], {}, AmbiguityError, "'size', 'n'"),
        ([{**r, "f1": r["score"]} for r in rows()], {}, AmbiguityError, "score="),
        ([{**r, "fold": 1} for r in rows()], {}, AmbiguityError, "seed_column="),
        ([{"size": r["size"], "quality": r["score"]} for r in rows()], {}, UsageError, "name it with score="),
        ([{"many": r["size"], "score": r["score"]} for r in rows()], {}, UsageError, "name it with size="),
        (rows(), {"score": "size", "size": "size"}, UsageError, r"The column 'size' is used twice: as size and as score\."),
        (rows(), {"score": "scores"}, UsageError, "Did you mean 'score'"),
        (rows(), {"target": 1.0}, UsageError, "below 1"),
        (rows(), {"target": 0}, UsageError, "above 0"),
        (rows(), {"target": 92}, UsageError, "write 0.92"),
        (rows(), {"target": math.nan}, UsageError, "target must be"),
        (rows(), {"n_test": 0}, UsageError, "number of test items"),
        ([{**r, "test_size": 0.25} for r in rows()], {}, DataError, "n_test="),
        ([{**r, "se": 0} for r in rows()], {}, DataError, "above 0"),
        (rows(), {"draws": 10}, UsageError, "draws"),
        ("nowhere.csv", {}, SourceError, r"No such file: 'nowhere\.csv'\."),
        (0.5, {}, UsageError, "a file"),
        ([0.5, 0.6], {}, UsageError, "a list of dicts"),
    ],
)
def test_bad_input_is_told_what_to_do(curve: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        plan_train(curve, **{"target": 0.92, **options})


# ---- learning_curve --------------------------------------------------------------------------------------------------------

IRIS = load_iris(return_X_y=True)


def test_scores_are_those_of_scikit_learn_on_the_same_rows() -> None:
    """With all training rows the last size is an ordinary fit on the split's training part."""
    from steelyard_old.evaluate.learners.curves import curve_splits

    X, y = IRIS
    sizes = (10, 20, 40, 80, 112)
    curve = learning_curve(KNeighborsClassifier(3), X, y, sizes=sizes, repeats=2, seed=5)
    for point, split in zip(curve.points, curve_splits(150, sizes, 2, 0.25, 5, classes=y.astype(np.int64)), strict=True):
        assert point.score == pytest.approx(KNeighborsClassifier(3).fit(X[split.train], y[split.train]).score(X[split.test], y[split.test]))
        assert (point.size, point.seed, point.n_test) == (len(split.train), split.repeat, 38)


def test_a_measured_curve_goes_straight_into_the_plan() -> None:
    X, y = load_diabetes(return_X_y=True)
    ticks: list[tuple[int, int]] = []
    curve = learning_curve(Ridge(0.01), X, y, metric="mae", repeats=4, progress=lambda done, all_: ticks.append((done, all_)))
    assert ticks[-1] == (32, 32)
    assert not curve.higher_is_better
    p = plan_train(curve, target=44.5)
    assert not p.details["higher_is_better"]
    assert p.details["metric"] == "mae"
    assert p.details["measured"] == curve.signature
    assert p.details["asymptote"]["low"] < 44.5
    with pytest.raises(UsageError, match="higher_is_better=False"):
        plan_train(curve, target=44.5, higher_is_better=True)
    again = plan_train(curve.rows(), target=44.5, higher_is_better=False)
    assert again.n == p.n
    assert curve.to_dict()["points"][0]["size"] == curve.sizes[0]
    assert "mae of Ridge" in str(curve)


def test_the_same_seed_gives_the_same_curve_and_the_estimator_stays_unfitted() -> None:
    learner = GaussianNB()
    first, second = (learning_curve(learner, *IRIS, repeats=2, seed=1) for _ in range(2))
    assert first == second
    assert first != learning_curve(learner, *IRIS, repeats=2, seed=2)
    assert not hasattr(learner, "classes_")


def test_groups_and_positive_classes_are_respected() -> None:
    X, y = IRIS
    groups = np.arange(150) % 30
    curve = learning_curve(GaussianNB(), X, y == 1, metric="f1", positive=True, groups=groups, repeats=2)
    assert "30 groups" in curve.signature
    assert len(curve.points) == 16


@every(
    ("options", "words"),
    [
        ({"sizes": (10, 20, 40, 80)}, "at least 5"),
        ({"sizes": (10, 20, 40, 80, 200)}, "at most 112"),
        ({"sizes": (2, 10, 20, 40, 80)}, r"Size 2 is too small for 3 classes: every class must occur\."),
        ({"sizes": (0.1, 0.2, 0.3, 0.4, 0.5)}, "whole numbers"),
        ({"repeats": 0}, "repeats"),
        ({"test_size": 2}, "share between"),
        ({"stratify": "yes"}, "stratify"),
        ({"metric": "nonsense"}, "nonsense"),
    ],
)
def test_bad_options_of_a_curve(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        learning_curve(GaussianNB(), *IRIS, **options)


def test_a_fit_that_fails_ends_the_curve_with_its_words() -> None:
    class Fussy(GaussianNB):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            if len(X) < 20:
                raise RuntimeError("too small for me")
            return super().fit(X, y)

    with pytest.raises(DataError, match=r"too small for me.*size 10"):
        learning_curve(Fussy(), *IRIS, repeats=2)


# ---- the command -------------------------------------------------------------------------------------------------------------


def test_the_command_answers_like_the_function() -> None:
    done = CliRunner().invoke(train, [str(CSV), "--target", ".96", "--format", "json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads(json.dumps(plan_train(CSV, target=0.96).to_dict()))


def test_the_command_measures_a_curve(tmp_path: Path) -> None:
    X, y = IRIS
    pd.DataFrame(X, columns=list("abcd")).assign(species=y).to_csv(tmp_path / "iris.csv", index=False)
    learner = ["--learner", "sklearn.neighbors:KNeighborsClassifier", "--data", str(tmp_path / "iris.csv"), "--truth", "species"]
    more = ["--target", ".9", "--sizes", "6,12,24,48,96", "--repeats", "3", "--format", "json"]
    done = CliRunner().invoke(train, [*learner, *more])
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert answer["details"]["sizes"] == [6, 12, 24, 48, 96]
    assert answer["details"]["metric"] == "accuracy"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Give a curve or a learner."),
        ([str(CSV), "--learner", "a:b"], "Give a curve or a learner, not both."),
        ([str(CSV), "--metric", "f1"], "--metric cannot be used with a curve."),
        (["--learner", "a:b", "--size", "n"], "--size cannot be used with --learner."),
        (["--learner", "a:b"], "Measuring a learning curve also needs --data and --truth."),
    ],
)
def test_options_that_do_not_belong_together(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(train, [*arguments, "--target", ".9"])
    assert isinstance(done.exception, UsageError)
    assert words in str(done.exception)
