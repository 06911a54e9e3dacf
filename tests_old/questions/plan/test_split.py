"""Of N labels, how many to train on and how many to test on?"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard_old as sy
from cases import every
from steelyard_old.cli.main import main
from steelyard_old.render.formats import result_html, result_markdown, result_svg

SIZES = [100, 200, 400, 800, 1600]


def law(n: Any, a: float = 0.05, b: float = 1.0, c: float = 0.5) -> Any:
    """The share of right answers after training on n items."""
    return 1 - (a + b * np.asarray(n, float) ** -c)


def points(**changes: float) -> dict[str, list[float]]:
    return {"size": [float(n) for n in SIZES], "score": law(SIZES, **changes).tolist()}


def lower(p: float, m: int) -> float:
    """The expected lower end of Wilson's interval, written out."""
    z, k = 1.959963984540054, np.arange(m + 1)
    ends = (k + z * z / 2 - z * np.sqrt(k * (m - k) / m + z * z / 4)) / (m + z * z)
    return float(stats.binom.pmf(k, m, p) @ ends)


@every("total, changes", [(400, {}), (1500, {"a": 0.15, "c": 0.7}), (1200, {"b": 3.0, "c": 0.6}), (900, {"a": 0.0, "b": 0.8, "c": 0.3})])
def test_the_split_is_the_best_of_all_for_a_known_power_law(total: int, changes: dict[str, float]) -> None:
    found = sy.plan_split(points(**changes), total=total).details
    tried = {m: lower(float(law(total - m, **changes)), m) for m in range(10, total - 100 + 1, 3)}
    assert found["lower"] >= max(tried.values()) - 1e-7
    assert found["lower"] == pytest.approx(lower(float(law(found["train"], **changes)), found["test"]), abs=1e-7)
    assert found["train"] + found["test"] == total


def test_simulated_test_sets_agree_with_the_expected_bound() -> None:
    found = sy.plan_split(points(), total=2000).details
    p, m, z = float(law(found["train"])), found["test"], 1.959963984540054
    k = np.random.default_rng(1).binomial(m, p, 200_000)
    ends = (k + z * z / 2 - z * np.sqrt(k * (m - k) / m + z * z / 4)) / (m + z * z)
    assert found["lower"] == pytest.approx(float(ends.mean()), abs=1e-4)


def test_the_range_of_good_splits_holds_what_it_says() -> None:
    found = sy.plan_split(points(), total=2000, within=0.003).details
    low, high = found["nearly_as_good"]["test_low"], found["nearly_as_good"]["test_high"]
    inside = [lower(float(law(2000 - m)), m) for m in (low, found["test"], high)]
    outside = [lower(float(law(2000 - m)), m) for m in (low - 1, high + 1)]
    assert min(inside) >= found["lower"] - 0.003 - 1e-7
    assert max(outside) < found["lower"] - 0.003 + 1e-7
    assert low < found["test"] < high


def test_a_width_takes_the_smallest_test_set_that_gives_it() -> None:
    plan = sy.plan_split(points(), total=3000, width=0.05)
    found = plan.details
    assert found["width"] <= 0.05
    fewer = sy.plan_split(points(), total=3000, width=0.051).details
    assert fewer["test"] < found["test"]
    assert "0.0500 wide" in plan.conclusion or "0.0499 wide" in plan.conclusion
    more = sy.plan_split(points(), total=30_000, width=0.05).details
    assert abs(more["test"] - found["test"]) < 100, "the test set hardly grows: all else trains"


def test_a_width_is_found_where_only_the_largest_test_sets_miss_it() -> None:
    curve = {"size": [40, 80, 160, 320, 640], "score": law([40, 80, 160, 320, 640], a=0.0, b=3.0, c=0.7).tolist()}
    found = sy.plan_split(curve, total=2000, width=0.03).details
    assert found["width"] <= 0.03
    assert found["width"] > 0.029


def test_more_items_go_to_both_sides() -> None:
    rows = sy.plan_split(points(), total=4000).rows
    assert [row["total"] for row in rows] == [2000, 4000, 8000, 16_000]
    for before, after in itertools.pairwise(rows):
        assert before["train"] < after["train"]
        assert before["test"] < after["test"]
        assert before["lower_bound"] < after["lower_bound"]


def test_errors_are_the_mirror_of_scores() -> None:
    turned = {"size": points()["size"], "error": [1 - score for score in points()["score"]]}
    up, down = sy.plan_split(points(), total=2000), sy.plan_split(turned, total=2000, higher_is_better=False)
    assert down.details["test"] == up.details["test"]
    assert down.details["upper"] == pytest.approx(1 - up.details["lower"], abs=1e-9)
    assert "upper bound" in down.conclusion


def test_the_answer_is_in_every_format_and_survives_json() -> None:
    plan = sy.plan_split(points(), total=2000, seed=7)
    for page in (str(plan), result_markdown(plan), result_html(plan)):
        assert "Train on" in page
        assert "--seed 7" in " ".join(page.split())
        assert "usual splits" in page.lower()
        assert "other totals" in page.lower()
    assert "<svg" in result_svg(plan)
    assert "accuracy of the model" in result_svg(plan) or "score of the model" in result_svg(plan)
    assert sy.Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_a_measured_curve_is_taken_as_it_is() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    y = (x[:, 0] + 0.5 * rng.normal(size=600) > 0).astype(int)

    class Nearest:
        def fit(self, x: Any, y: Any) -> Any:
            self.x, self.y = np.asarray(x), np.asarray(y)
            return self

        def predict(self, x: Any) -> Any:
            return self.y[((np.asarray(x)[:, None] - self.x[None]) ** 2).sum(2).argmin(1)]

    curve = sy.learning_curve(Nearest(), x, y, repeats=3)
    plan = sy.plan_split(curve, total=2000)
    assert plan.details["measured"] == curve.signature
    wrong = sy.learning_curve(Nearest(), x, y, repeats=2, metric="mcc")
    with pytest.raises(sy.UsageError, match="not of mcc"):
        sy.plan_split(wrong, total=2000)


@every(
    "curve, asked, words",
    [
        (points(), {"total": 105}, "the curve starts at 100 training items, and 10 are needed to test on, 110 in all"),
        (points(), {"total": 50}, "^50 items are too few to split"),
        (points(), {"total": 2}, "^2 items are too few to split"),
        (points(), {"total": -5}, "a number of at least 2"),
        (points(), {"total": 12.5}, "a whole number"),
        (points(), {"total": True}, "a number of at least 2"),
        (points(), {"total": 2_000_000}, "more than 1000 times the largest size"),
        (points(), {"total": 10**12}, "more than 1000 times the largest size"),
        (points(b=0.0), {"total": 2000}, "do not improve with the training size"),
        ({"size": SIZES, "score": [0.9, 0.8, 0.7, 0.6, 0.5]}, {"total": 2000}, "do not improve with the training size"),
        ({"size": SIZES, "loss": [9.0, 5.0, 4.0, 3.0, 2.5]}, {"total": 2000, "higher_is_better": False}, "between 0 and 1"),
        (points(), {"total": 2000, "width": 0.0001}, "reaches a width of 0.0001: the best"),
        (points(), {"total": 2000, "width": 2}, "width"),
        (points(), {"total": 2000, "within": 0}, "within"),
        ({"size": SIZES[:4], "score": [0.5, 0.6, 0.7, 0.8]}, {"total": 2000}, "at least 5"),
    ],
)
def test_bad_questions_are_refused(curve: Any, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(sy.SteelyardError, match=words):
        sy.plan_split(curve, **asked)


def test_far_beyond_the_curve_is_warned_of() -> None:
    plan = sy.plan_split(points(), total=50_000)
    assert any("times the largest size of the curve" in sentence for sentence in plan.warnings)


def test_the_command_answers_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\n".join(f"{n},{s}" for n, s in zip(SIZES, law(SIZES), strict=True))
    (tmp_path / "c.csv").write_text(f"size,score\n{rows}\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["plan", "split", str(tmp_path / "c.csv"), "--total", "2000", "--format", "json"])
    assert ended.value.code == 0
    said = json.loads(capsys.readouterr().out)
    assert said["goal"] == "split"
    assert said["details"]["train"] + said["details"]["test"] == 2000
    with pytest.raises(SystemExit) as ended:
        main(["plan", "split", str(tmp_path / "c.csv"), "--total", "60", "-o", str(tmp_path / "o.svg")])
    assert ended.value.code == 3
    assert not (tmp_path / "o.svg").exists()


def test_the_command_makes_the_split_that_it_names() -> None:
    total = 200_000  # a share of 0.00014: four digits would be a third off
    curve = {"size": [2000, 4000, 9000, 16000, 25000], "accuracy": [0.85, 0.9, 0.9167, 0.925, 0.93]}
    found = sy.plan_split(curve, total=total, width=0.2).details
    words = found["how"].split()
    train, test = (float(words[words.index(flag) + 1]) for flag in ("--train", "--test"))
    assert test * total == pytest.approx(found["test"], rel=0.01)
    assert sy.split({"id": [1]}, train=train, test=test).n == 1  # shares that add up
