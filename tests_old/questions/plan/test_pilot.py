"""A pilot instead of a guess: sigma of one run, the disagreement of two, groups, repeats, percent, and what is refused."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard_old as sy
from cases import every
from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.results import signature
from steelyard_old.results.plan import Plan

Rows = list[dict[str, Any]]


def right_or_wrong(n: int = 400, share: float = 0.8) -> Rows:
    return [{"id": i, "score": int(i % 100 < 100 * share)} for i in range(n)]


def flipped(rows: Rows, gained: int, lost: int) -> Rows:
    """The same items, so many turned right and so many turned wrong."""
    out = [dict(row) for row in rows]
    wrong, right = [r for r in out if not r["score"]], [r for r in out if r["score"]]
    for row in wrong[:gained] + right[:lost]:
        row["score"] = 1 - row["score"]
    return out


def scores(n: int = 300, seed: int = 1, scale: float = 20.0, centre: float = 60.0) -> Rows:
    drawn = np.random.default_rng(seed).normal(centre, scale, n)
    return [{"id": i, "score": float(x)} for i, x in enumerate(drawn)]


def repeated(n: int = 200, k: int = 4, seed: int = 2, shares: tuple[float, ...] = (0.1, 0.5, 0.9)) -> Rows:
    rng = np.random.default_rng(seed)
    return [{"id": i, "repeat": j, "score": int(rng.random() < shares[i % len(shares)])} for i in range(n) for j in range(k)]


def detect(*pilots: Rows, **given: Any) -> Plan:
    return sy.plan_detect(pilot=pilots[0] if len(pilots) == 1 else list(pilots), **given)


def file_of(path: Path, rows: Rows) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


# ---- one run -----------------------------------------------------------------------------------------------------------------


def test_right_or_wrong_gives_the_sigma_of_its_accuracy() -> None:
    found = detect(right_or_wrong(), theta=0.03)
    assert found.design == "unpaired"
    assert found.details["sigma"] == pytest.approx(0.4)
    assert found.n == sy.plan_detect(sigma=0.4, theta=0.03).n
    assert found.details["pilot_n"] == 400
    assert found.details["pilot_estimate"] == pytest.approx(0.8)


def test_scores_give_their_standard_deviation() -> None:
    rows = scores()
    found = detect(rows, theta=2)
    assert found.details["sigma"] == pytest.approx(np.std([row["score"] for row in rows], ddof=1))
    assert found.n == sy.plan_detect(sigma=found.details["sigma"], theta=2).n


def test_a_list_of_numbers_is_one_pilot() -> None:
    assert sy.plan_detect(pilot=[row["score"] for row in scores()], theta=2).n == detect(scores(), theta=2).n


@pytest.mark.parametrize("kind", [np.int64, np.float64, np.int8, bool])
def test_a_list_of_numpy_numbers_is_one_pilot(kind: Any) -> None:
    numbers = [kind(row["score"]) for row in right_or_wrong()]
    assert sy.plan_detect(pilot=numbers, theta=0.03).n == detect(right_or_wrong(), theta=0.03).n


def test_theta_in_percent_is_the_same_plan_and_said() -> None:
    share, percent = detect(right_or_wrong(), theta=0.03), detect(right_or_wrong(), theta=3)
    assert percent.n == share.n
    assert percent.threshold_offset == pytest.approx(100 * share.threshold_offset)  # type: ignore[operator]
    assert percent.details["scale"] == "percent"
    assert "percent" in percent.assumed


def test_the_walk_of_the_seed_is_one_command(tmp_path: Path) -> None:
    found = sy.plan_detect(pilot=file_of(tmp_path / "pilot.jsonl", right_or_wrong()), theta=3)
    assert found.n is not None
    assert found.threshold_offset is not None
    assert {"n", "theta", "threshold"} <= set(found.steps[0])
    assert any(row["n"] < found.n for row in found.steps)
    assert any(row["n"] > found.n for row in found.steps)


def test_groups_cost_their_design_effect() -> None:
    rows = [{"id": i, "score": int((i // 10) % 2 == 0 or i % 10 < 3), "group": i // 10} for i in range(400)]
    found = detect(rows, theta=0.05)
    alone = detect([{k: v for k, v in row.items() if k != "group"} for row in rows], theta=0.05)
    effect = found.details["design_effect"]
    assert effect > 2
    assert found.n / alone.n == pytest.approx(effect, rel=0.01)  # type: ignore[operator]


@every("groups", [1, 2, 3, 4])
@every("runs", [1, 2])
def test_too_few_groups_are_refused_or_told(groups: int, runs: int) -> None:
    """Fewer than 5 groups show no design effect: never a silent 1, as if items were independent."""
    a = [dict(row, group=row["id"] % groups) for row in right_or_wrong()]
    b = [dict(row, group=row["id"] % groups) for row in flipped(right_or_wrong(), 10, 10)]
    try:
        found = detect(*[a, b][:runs], theta=0.05)
    except (UsageError, DataError):
        return
    assert any("group" in warning for warning in found.warnings)


def test_a_given_design_effect_wins_over_the_pilots() -> None:
    rows = [{"id": i, "score": int((i // 10) % 2 == 0 or i % 10 < 3), "group": i // 10} for i in range(400)]
    assert detect(rows, theta=0.05, design_effect=1.5).details["design_effect"] == 1.5


def test_repeats_average_only_the_noise_within_items() -> None:
    rows = repeated()
    one, four, many = detect(rows, theta=0.03), detect(rows, theta=0.03, repeats=4), detect(rows, theta=0.03, repeats=10**5)
    within, between = one.details["variance_within"], one.details["variance_between"]
    assert one.details["sigma"] ** 2 == pytest.approx(between + within)
    assert four.details["sigma"] ** 2 == pytest.approx(between + within / 4)
    assert many.details["sigma"] ** 2 == pytest.approx(between, rel=1e-4)
    assert one.n > four.n > many.n  # type: ignore[operator]


def test_repeats_of_reference_and_new_run_are_both_counted() -> None:
    """One answer on record and four new ones leave more noise than four and four, less than one and one."""
    rows = repeated()
    sizes = [detect(rows, theta=0.03, repeats=pair).n for pair in ([1, 1], [1, 4], [4, 4])]
    assert sizes == sorted(sizes, reverse=True)  # type: ignore[type-var]
    assert len(set(sizes)) == 3


def test_within_that_the_message_asks_for_is_used() -> None:
    """'need a pilot with a repeat column, or --within': with --within it must go on, or not offer it."""
    with pytest.raises(UsageError) as told:
        detect(right_or_wrong(), theta=0.03, repeats=4)
    if "within" in str(told.value):
        assert detect(right_or_wrong(), theta=0.03, repeats=4, within=0.3).n < detect(right_or_wrong(), theta=0.03).n  # type: ignore[operator]


# ---- two runs ----------------------------------------------------------------------------------------------------------------


def test_two_runs_give_their_disagreement_and_the_drop_adds_to_it() -> None:
    a = right_or_wrong()
    found = detect(a, flipped(a, 10, 10), theta=0.02)
    assert found.details["discordance"] == pytest.approx(0.05)
    assert found.details["discordance_under_drop"] == pytest.approx(0.07)
    assert found.n == sy.plan_detect(discordance=0.07, theta=0.02).n
    assert found.details["pilot_flips"] == 20


def test_the_upper_end_of_the_disagreement_is_in_the_table() -> None:
    """Show n at the upper end of psi's interval."""
    a = right_or_wrong()
    found = detect(a, flipped(a, 10, 10), theta=0.02)
    upper = found.details["discordance_upper"]
    z = 1.959963984540054  # Wilson, 20 of 400
    centre, half = 20 + z * z / 2, z * math.sqrt(20 * 380 / 400 + z * z / 4)
    assert upper == pytest.approx((centre + half) / (400 + z * z))
    row = next(row for row in found.sensitivity if "upper end" in row["if"])
    assert row["n"] == sy.plan_detect(discordance=upper + 0.02, theta=0.02).n
    assert row["n"] > found.n


def test_two_runs_to_rule_out_take_the_disagreement_as_it_is() -> None:
    a = right_or_wrong()
    assert detect(a, flipped(a, 10, 10), theta=0.02, goal="rule-out").n == sy.plan_detect(discordance=0.05, theta=0.02, goal="rule-out").n


def test_two_runs_of_scores_give_the_deviation_of_their_differences() -> None:
    a, noise = scores(), np.random.default_rng(3).normal(0, 5, 300)
    b = [dict(row, score=row["score"] + float(e)) for row, e in zip(a, noise, strict=True)]
    found = detect(a, b, theta=1)
    sd = np.std([x["score"] - y["score"] for x, y in zip(a, b, strict=True)], ddof=1)
    assert found.details["sd"] == pytest.approx(sd)
    assert found.n == sy.plan_detect(sd=float(sd), theta=1).n


def test_two_runs_that_agree_everywhere_are_a_pilot_to_detect() -> None:
    """A deterministic model: whatever changes is lost."""
    a = right_or_wrong()
    found = detect(a, a, theta=0.02)
    assert found.n == sy.plan_detect(discordance=0.02, theta=0.02).n
    assert len({row["if"] for row in found.sensitivity}) == len(found.sensitivity), "the same row twice"


@pytest.mark.parametrize("ask", [{"n": 400}, {"theta": 0.02}])
def test_two_runs_that_agree_everywhere_find_no_drop_of_zero(ask: dict[str, Any]) -> None:
    """z sqrt(theta / n) = theta has a solution above 0; the one at 0 is no answer, in no row and nowhere on the curve."""
    a = right_or_wrong()
    found = detect(a, a, **ask)
    assert found.details.get("theta_formula", 1) > 0
    assert all(row["theta"] is None or row["theta"] > 0 for row in found.steps)
    assert found.curve is None or min(found.curve.y) > 0


@pytest.mark.parametrize("ask", [{"n": 400}, {"theta": 0.02}])
def test_two_runs_that_agree_everywhere_rule_out_no_drop_of_zero(ask: dict[str, Any]) -> None:
    """0 of 400 is no proof of 0: never "400 items rule out a drop of 0"; a refusal says what to do instead."""
    a, words, theta = right_or_wrong(), "", None
    try:
        theta = detect(a, a, goal="rule-out", **ask).theta
    except (UsageError, DataError) as refusal:
        words = str(refusal)
    assert "Hint" in words if words else theta is not None and theta > 0


def test_order_of_the_rows_changes_nothing() -> None:
    a = right_or_wrong()
    b = flipped(a, 12, 8)
    assert detect(a, b[::-1], theta=0.05).to_dict() == detect(a, b, theta=0.05).to_dict()


@pytest.mark.parametrize("name", ["n_reference", "ratio"])
def test_sizes_of_a_reference_mean_nothing_to_pairs(name: str) -> None:
    """Beside --discordance they are refused; beside two pilots they must not be swallowed."""
    a = right_or_wrong()
    with pytest.raises(UsageError, match=name):
        detect(a, flipped(a, 10, 10), theta=0.02, **{name: 100})


@pytest.mark.parametrize("given", [{"repeats": 4, "within": 0.2}, {"within": 0.2}, {"repeats": 4}], ids=str)
def test_repeats_are_used_or_refused_beside_two_pilots(given: dict[str, Any]) -> None:
    a = right_or_wrong()
    plain = detect(a, flipped(a, 10, 10), theta=0.02)
    try:
        found = detect(a, flipped(a, 10, 10), theta=0.02, **given)
    except (UsageError, DataError):
        return
    assert found.n != plain.n


def test_within_is_used_or_refused_beside_one_pilot() -> None:
    try:
        found = detect(right_or_wrong(), theta=0.03, within=0.3)
    except (UsageError, DataError):
        return
    assert found.details.get("variance_within") == pytest.approx(0.09)


@pytest.mark.parametrize("theta", [1, 3, 30])
def test_paired_scores_within_one_take_no_theta_of_points(theta: float) -> None:
    """A drop of 3 on scores within 0 and 1 is percent, or an error; never "1 item finds a drop of 3"."""
    a = [dict(row, score=1 / (1 + math.exp(-row["score"]))) for row in scores(scale=1.0, centre=1.0)]
    b = [dict(row, score=min(1.0, row["score"] + 0.01 * (row["id"] % 7 - 3))) for row in a]
    try:
        found = detect(a, b, theta=theta)
    except (UsageError, DataError):
        return
    assert found.details.get("scale") == "percent"


def test_grouped_right_or_wrong_pairs_take_no_theta_of_points() -> None:
    a = [dict(row, group=row["id"] // 10) for row in right_or_wrong()]
    b = [dict(row, group=row["id"] // 10) for row in flipped(right_or_wrong(), 10, 10)]
    try:
        found = detect(a, b, theta=3)
    except (UsageError, DataError):
        return
    assert found.details.get("scale") == "percent"


def test_grouped_pairs_count_the_groups() -> None:
    """Flips that come in whole groups: the design effect of the groups is in the deviation."""
    a = [dict(row, group=row["id"] // 10, score=(row["id"] // 10) % 2) for row in right_or_wrong()]
    b = [dict(row, score=1 - row["score"]) if row["group"] in (2, 3, 11, 12) else row for row in a]
    grouped = detect(a, b, theta=0.05)
    alone = [[{k: v for k, v in row.items() if k != "group"} for row in run] for run in (a, b)]
    assert grouped.n > 5 * detect(*alone, theta=0.05).n  # type: ignore[operator]


# ---- the signature -----------------------------------------------------------------------------------------------------------


def replayed(line: str) -> Plan:
    """The plan of a signature, from nothing else: every key that is an option of the question, with its value."""
    facts = signature.parse(line)
    given: dict[str, Any] = {name: facts[name][0] for name in ("goal", "alternative") if name in facts}
    for name in inspect.signature(sy.plan_detect).parameters.keys() & facts.keys() - {"goal", "alternative", "pilot"}:
        given[name] = int(facts[name][0]) if name in ("n", "n_reference") else float(facts[name][0])
    return sy.plan_detect(**given)


@every("ask", [{"theta": 0.02}, {"n": 900}, {"theta": 0.02, "goal": "rule-out"}], ids=str)
@every("runs", [1, 2])
def test_the_signature_replays_without_the_pilot(runs: int, ask: dict[str, Any]) -> None:
    """Everything needed to repeat the number is in the line: the spread as it was used."""
    a = right_or_wrong()
    found = detect(*[a, flipped(a, 10, 10)][:runs], **ask)
    again = replayed(found.signature)
    assert (again.n, again.theta) == (found.n, found.theta)


def test_the_signature_of_groups_replays() -> None:
    rows = [{"id": i, "score": int((i // 10) % 2 == 0 or i % 10 < 3), "group": i // 10} for i in range(400)]
    found = detect(rows, theta=0.05)
    assert replayed(found.signature).n == found.n


def test_the_signature_in_percent_replays() -> None:
    found = detect(right_or_wrong(), theta=3)
    assert replayed(found.signature).n == found.n


# ---- what is refused ---------------------------------------------------------------------------------------------------------


def test_three_pilots() -> None:
    a = right_or_wrong()
    with pytest.raises(UsageError, match=r"A pilot is one run, or two runs on the same items; got 3\."):
        sy.plan_detect(pilot=[a, a, a], theta=0.02)


def test_no_pilot_in_the_list() -> None:
    with pytest.raises((UsageError, DataError, SourceError)):
        sy.plan_detect(pilot=[], theta=0.02)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises((DataError, SourceError, UsageError), match=r"No such file: .*\."):
        sy.plan_detect(pilot=str(tmp_path / "none.jsonl"), theta=0.02)


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises((DataError, SourceError), match=r"is empty\."):
        sy.plan_detect(pilot=str(tmp_path / "empty.jsonl"), theta=0.02)


@pytest.mark.parametrize("value", [0, 1])
def test_all_right_or_all_wrong(value: int) -> None:
    with pytest.raises(DataError, match="must vary") as told:
        detect([{"id": i, "score": value} for i in range(50)], theta=0.02)
    assert "expected=" in str(told.value)


def test_equal_scores() -> None:
    with pytest.raises(DataError, match="must vary"):
        detect([{"id": i, "score": 5.5} for i in range(50)], theta=0.02)


def test_one_item() -> None:
    with pytest.raises(DataError, match=r"Cannot estimate sigma from 1 item; a pilot needs at least two\."):
        detect([{"id": 0, "score": 1}], theta=0.02)


def test_two_runs_of_one_item() -> None:
    with pytest.raises((DataError, UsageError)):
        detect([{"id": 0, "score": 1.5}], [{"id": 0, "score": 2.5}], theta=0.02)


def test_other_items() -> None:
    a = right_or_wrong()
    with pytest.raises(DataError, match="id") as told:
        detect(a, [dict(row, id=row["id"] + 1000) for row in a], theta=0.02)
    assert "design=" not in str(told.value), "plan has no design="


def test_a_pilot_that_lacks_items() -> None:
    a = right_or_wrong()
    with pytest.raises(DataError) as told:
        detect(a, a[:-7], theta=0.02)
    assert "7" in str(told.value)
    assert "unmatched=" not in str(told.value), "plan has no unmatched="


def test_a_missing_score() -> None:
    with pytest.raises(DataError) as told:
        detect([*right_or_wrong(), {"id": 999, "score": None}], theta=0.02)
    assert "missing=" not in str(told.value), "plan has no missing="


def test_runs_that_already_differ() -> None:
    a = right_or_wrong()
    with pytest.raises(DataError, match="healthy"):
        detect(a, flipped(a, 0, 60), theta=0.02)


def test_noise_is_not_called_unhealthy() -> None:
    a = right_or_wrong()
    assert detect(a, flipped(a, 15, 25), theta=0.02).n is not None


def test_theta_of_points_on_two_pilots_says_what_to_write() -> None:
    a = right_or_wrong()
    with pytest.raises(UsageError, match=r"0\.03"):
        detect(a, flipped(a, 10, 10), theta=3)


@pytest.mark.parametrize("effect", [None, 1.5])
def test_drop_and_disagreement_together_stay_below_one(effect: float | None) -> None:
    a = right_or_wrong()
    with pytest.raises(UsageError) as told:
        detect(a, flipped(a, 10, 10), theta=0.97, design_effect=effect)
    assert "theta" in str(told.value), "the drop is what can be changed, so it is what is named"


def test_no_drop_below_nothing() -> None:
    """The pilot is right on .8 of the items: a drop of .9 cannot be."""
    with pytest.raises(UsageError):
        detect(right_or_wrong(), theta=0.9)


def test_probabilities_are_no_scores() -> None:
    with pytest.raises(DataError, match="auc"):
        detect([{"id": i, "truth": i % 2, "probability": (i % 7) / 7} for i in range(70)], theta=0.02)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises((UsageError, DataError, SourceError), match="nosuch"):
        detect(right_or_wrong(), theta=0.02, score="nosuch")


def test_a_small_pilot_is_told() -> None:
    """Five items give a sigma that may be off by half: a sentence, or the numbers if it is."""
    found = detect(right_or_wrong(5, 0.03), theta=0.05)
    assert found.warnings


# ---- metrics that are no mean of scores ------------------------------------------------------------------------------------


def spoken(seed: int, n: int = 80) -> list[dict[str, object]]:
    rng, words = np.random.default_rng(seed), np.random.default_rng(0).integers(5, 40, n)
    return [{"id": i, "errors": int(rng.binomial(w, 0.1)), "words": int(w)} for i, w in enumerate(words)]


def test_a_ratio_of_sums_is_planned_by_the_error_of_the_pilot() -> None:
    """n = 2 ((z_alpha + z_beta) s / theta)^2 for two samples, without the 2 for pairs; s is the standard error times sqrt(pilot items)."""
    one, two = spoken(1), spoken(2)
    row = sy.measure(one, ratio="errors/words").rows[0]
    found = sy.plan_detect(pilot=one, sums="errors/words", theta=0.01, alternative="greater")
    assert row.standard_error is not None
    z = 1.6448536269514722 + 0.8416212335729143
    assert found.n == math.ceil(2 * 80 * (z * row.standard_error / 0.01) ** 2)
    paired = sy.plan_detect(pilot=[one, two], sums="errors/words", theta=0.05, alternative="greater")
    error = sy.compare(one, two, ratio="errors/words").difference.standard_error
    assert error is not None
    assert (paired.design, paired.n) == ("paired", math.ceil(80 * (z * error / 0.05) ** 2))


def test_tries_perplexity_and_weights_are_planned_from_a_pilot() -> None:
    rng = np.random.default_rng(4)
    tries = [{"id": i, "repeat": k, "score": int(rng.random() < 0.7)} for i in range(40) for k in range(4)]
    error = sy.measure(tries, metric="pass^2").rows[0].standard_error
    z = 1.6448536269514722 + 0.8416212335729143
    assert error is not None
    assert sy.plan_detect(pilot=tries, metric="pass^2", theta=0.05).n == math.ceil(2 * 40 * (z * error / 0.05) ** 2)
    per_token = sy.plan_detect(pilot=spoken(1), sums="errors/words", metric="perplexity", theta=0.02, alternative="greater")
    assert per_token.n is not None
    weighted = [{"id": i, "score": int(rng.random() < 0.7), "w": w} for i, w in enumerate(rng.lognormal(0, 1, 60))]
    heavy, alike = (sy.plan_detect(pilot=weighted, theta=0.1, **more).n for more in ({"weight": "w"}, {}))
    assert heavy is not None
    assert alike is not None
    assert heavy > 1.3 * alike


@every(
    ("asked", "said"),
    [
        ({"metric": "pass@2", "sigma": 0.5}, "metric= and sums= say what to plan from a pilot"),
        ({"sums": "errors/words", "sigma": 0.5}, "metric= and sums= say what to plan from a pilot"),
        ({"pilot": [{"id": 1, "repeat": 1, "score": 1}], "metric": "pass@2"}, "needs 2 tries of every problem"),
        ({"pilot": [{"id": i, "errors": 0, "words": 5} for i in range(9)], "sums": "errors/words"}, "does not show how much ratio varies"),
    ],
)
def test_what_a_pilot_cannot_say_of_a_metric_is_refused(asked: dict[str, object], said: str) -> None:
    with pytest.raises(sy.SteelyardError, match=said):
        sy.plan_detect(theta=0.1, **asked)  # type: ignore[arg-type]


@every(
    ("metric", "hint"),
    [
        ("brier", "probability=NAME"),
        ("mae", "prediction=NAME"),
        ("auc", "truth=NAME"),
        ("perplexity", "sums=ABOVE/BELOW"),
        ("mcc", "truth=NAME"),
    ],
)
@every("runs", [1, 2])
def test_a_pilot_without_the_columns_of_its_metric_is_refused(metric: str, hint: str, runs: int) -> None:
    with pytest.raises(DataError, match=f"^{metric} needs a .* column; the columns are 'id', 'score'") as told:
        sy.plan_detect(pilot=[right_or_wrong()] * runs if runs > 1 else right_or_wrong(), metric=metric, theta=0.05)
    assert hint in told.value.hint


def test_half_a_character_names_no_pilot() -> None:
    with pytest.raises(SourceError, match="The source must be a path"):
        sy.plan_estimate(metric="accuracy", expected=0.9, width=0.1, pilot="\ud800")


@every("value", [True, np.True_, 1e308, -1, math.nan])
def test_a_ratio_of_sizes_is_a_number_that_sizes_can_have(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^ratio must be a number above 0 and below 1e"):
        sy.plan_detect(sigma=50, theta=3, ratio=value)


@pytest.mark.parametrize("runs", [1, 2])
def test_one_number_per_class_is_refused(runs: int) -> None:
    rows = [{"id": i, "truth": "ab"[i % 2], "prediction": "ab"[i % 3 % 2]} for i in range(60)]
    with pytest.raises(UsageError, match=r"^each_recall is one number per class; a plan needs a single number\.") as told:
        detect(*[rows] * runs, theta=0.05, metric="each_recall")
    assert told.value.hint == "macro_recall"
