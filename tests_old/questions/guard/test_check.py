"""The paired guard: the same items as on record, one by one. What decides, what is claimed, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard_old as sy
from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.infer.normal import lower_tail
from steelyard_old.infer.paired.mcnemar import mcnemar_midp, tango_z
from steelyard_old.infer.paired.signflip import sign_flip

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows(scores: Any, **columns: Any) -> Rows:
    """One row per item, ids q0, q1, ..."""
    return [{"id": f"q{i}", "score": s, **{name: column[i] for name, column in columns.items()}} for i, s in enumerate(scores)]


def bits(right: int, wrong: int) -> list[int]:
    return [1] * right + [0] * wrong


def flipped(reference: list[int], lost: int, gained: int) -> list[int]:
    """The reference with its first right answers lost and its last wrong ones gained."""
    assert sum(reference[:lost]) == lost
    new = list(reference)
    new[:lost] = [0] * lost
    if gained:
        assert not any(reference[-gained:])
        new[-gained:] = [1] * gained
    return new


def recorded(*runs: Rows, **options: Any) -> sy.Recorded:
    return sy.record(*runs, task="t", model="m", **options)


def checked(run: Rows, **options: Any) -> sy.Verdict:
    return sy.check(run, task="t", model="m", **options)


def number(value: float | None) -> float:
    assert value is not None
    assert math.isfinite(value)
    return value


# Right or wrong: McNemar


def test_same_run_passes_with_zero_flips() -> None:
    reference = rows(bits(150, 50))
    recorded(reference)
    verdict = checked(reference)
    assert verdict.verdict == "pass"
    assert verdict.design == "paired"
    assert verdict.flips == {"both": 150, "baseline_only": 0, "candidate_only": 0, "neither": 50}
    assert verdict.p_value == 1
    assert verdict.difference["estimate"] == 0
    assert number(verdict.difference["lower"]) < 0 < number(verdict.difference["upper"])
    assert any("zero flips" in warning for warning in verdict.warnings)


def test_boundary_tables_up_to_sixty_disagreements() -> None:
    """For each number of disagreements the last table that passes and the first that does not: verdict, p and bounds agree."""
    reference = bits(70, 70)
    recorded(rows(reference))
    for total in range(1, 61):
        lost = next((k for k in range(total + 1) if mcnemar_midp(total - k, k, "less") <= 0.05), None)
        for k in {total if lost is None else lost, max(0, (total if lost is None else lost) - 1)}:
            verdict = checked(rows(flipped(reference, k, total - k)))
            p = mcnemar_midp(total - k, k, "less")
            assert verdict.p_value == p
            assert verdict.test == "mcnemar-midp"
            assert verdict.verdict == ("regression" if p <= 0.05 else "pass"), (k, total)
            upper, lower = number(verdict.difference["upper"]), number(verdict.difference["lower"])
            assert lower < upper
            assert (upper <= 0) if p <= 0.05 else (upper >= 0)
            assert verdict.flips == {
                "both": 70 - k,
                "baseline_only": k,
                "candidate_only": total - k,
                "neither": 70 - total + k,
            }


@pytest.mark.parametrize(("lost", "gained"), [(3, 0), (7, 2), (1, 0), (0, 9), (5, 5)])
def test_not_a_regression(lost: int, gained: int) -> None:
    reference = bits(50, 50)
    recorded(rows(reference))
    assert checked(rows(flipped(reference, lost, gained))).verdict == "pass"


@pytest.mark.parametrize(("lost", "gained"), [(4, 0), (8, 2)])
def test_a_regression(lost: int, gained: int) -> None:
    reference = bits(50, 50)
    recorded(rows(reference))
    verdict = checked(rows(flipped(reference, lost, gained)))
    assert verdict.verdict == "regression"
    assert verdict.exit_code == 1
    assert [item["id"] for item in verdict.changed_items if item["change"] == "lost"] == [f"q{i}" for i in range(lost)]
    assert sum(item["change"] == "gained" for item in verdict.changed_items) == gained


def test_the_threshold_is_the_score_below_which_it_is_a_regression() -> None:
    """The score below which the drop is significant. At as many disagreements, value < threshold iff regression."""
    reference = bits(60, 60)
    recorded(rows(reference))
    for lost, gained in ((4, 0), (3, 1), (7, 1), (6, 2), (20, 8), (19, 9), (18, 10)):
        verdict = checked(rows(flipped(reference, lost, gained)))
        assert (verdict.verdict == "regression") == (number(verdict.candidate["value"]) < number(verdict.threshold)), (lost, gained)


def test_three_points_worse_with_the_flipped_items() -> None:
    """A file 3 points worse on 1,000 items."""
    reference = bits(800, 200)
    recorded(rows(reference))
    verdict = checked(rows(flipped(reference, 40, 10)))
    assert verdict.verdict == "regression"
    assert verdict.difference["estimate"] == pytest.approx(-0.03)
    assert verdict.changed_items


def test_theta_of_half_a_point_on_200_items_is_inconclusive_and_says_how_many_would_decide() -> None:
    reference = rows(bits(150, 50))
    recorded(reference)
    verdict = checked(reference, theta=0.005)
    assert verdict.verdict == "inconclusive"
    assert verdict.exit_code == 2
    assert verdict.needed is not None
    assert verdict.needed["items"] > 200
    assert verdict.needed["more"] == verdict.needed["items"] - 200
    assert f"{verdict.needed['items']:,}" in str(verdict)


def test_theta_is_ruled_out_only_by_the_lower_bound() -> None:
    reference = bits(300, 100)
    recorded(rows(reference))
    for lost, gained in itertools.product((0, 1, 3, 5, 8), repeat=2):
        for theta in (0.005, 0.01, 0.02, 0.05):
            verdict = checked(rows(flipped(reference, lost, gained)), theta=theta)
            if verdict.verdict == "pass":
                assert number(verdict.difference["lower"]) > -theta
            elif verdict.verdict == "inconclusive":
                assert number(verdict.difference["lower"]) <= -theta
                assert verdict.needed is not None


def test_real_but_smaller_than_theta() -> None:
    reference = bits(900, 100)
    recorded(rows(reference))
    verdict = checked(rows(flipped(reference, 10, 0)), theta=0.05)
    assert verdict.verdict == "regression"
    assert "real, but smaller than theta" in verdict.conclusion


def test_an_improvement_beyond_the_bound_warns() -> None:
    reference = bits(50, 50)
    recorded(rows(reference))
    verdict = checked(rows(flipped(reference, 0, 9)))
    assert verdict.verdict == "pass"
    assert any("better than the reference" in warning for warning in verdict.warnings)
    assert not any("better than the reference" in warning for warning in checked(rows(flipped(reference, 2, 3))).warnings)


def test_an_improvement_warns_with_a_margin_too() -> None:
    """The tolerated drop has nothing to do with a gain that is too good to be true."""
    reference = bits(50, 50)
    recorded(rows(reference), margin=0.02)
    assert any("better than the reference" in warning for warning in checked(rows(flipped(reference, 0, 30))).warnings)


# Margins: Tango's score test


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.05])
@pytest.mark.parametrize(("lost", "gained"), [(0, 0), (4, 0), (12, 2), (20, 3), (30, 5)])
def test_margin_is_tested_by_tango(margin: float, lost: int, gained: int) -> None:
    reference = bits(200, 100)
    recorded(rows(reference))
    verdict = checked(rows(flipped(reference, lost, gained)), margin=margin)
    if lost + gained:
        p = lower_tail(tango_z(gained, lost, 300, -margin))
        assert verdict.p_value == pytest.approx(p, rel=1e-12)
        assert verdict.test == "tango-score"
    assert (verdict.verdict == "regression") == (number(verdict.p_value) <= 0.05)
    upper = number(verdict.difference["upper"])
    assert (upper <= -margin) if verdict.verdict == "regression" else (upper >= -margin)


def test_theta_with_margin_is_the_three_way_rule() -> None:
    reference = bits(200, 100)
    recorded(rows(reference))
    words = {checked(rows(flipped(reference, lost, 0)), margin=0.02, theta=0.02).verdict for lost in (0, 6, 30)}
    assert words == {"pass", "inconclusive", "regression"}


def test_theta_below_the_margin_is_an_error() -> None:
    recorded(rows(bits(50, 50)))
    with pytest.raises(UsageError, match=r"theta 0\.01 is below the margin 0\.02\."):
        checked(rows(bits(50, 50)), theta=0.01, margin=0.02)


@pytest.mark.parametrize("option", ["theta", "margin", "alpha", "beta"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_impossible_numbers_are_refused(option: str, value: float) -> None:
    recorded(rows(bits(50, 50)))
    with pytest.raises(UsageError, match=option):
        checked(rows(bits(50, 50)), **{option: value})


# Too little to find anything


def test_few_items_are_inconclusive_theta_or_not() -> None:
    reference = bits(3, 0)
    recorded(rows(reference))
    for options in ({}, {"theta": 0.9}):
        verdict = checked(rows([0, 0, 0]), **options)
        assert verdict.verdict == "inconclusive"
        assert verdict.needed is not None


def test_few_right_answers_are_few_items() -> None:
    """Only what is right can be lost: 3 right of 100 cannot give p <= .05, whatever happens."""
    recorded(rows(bits(3, 97)))
    verdict = checked(rows([0] * 100))
    assert verdict.verdict == "inconclusive"
    assert verdict.needed is not None
    assert verdict.needed.get("more") != 0, "0 more items would decide nothing"


def test_few_right_answers_are_few_items_for_the_error_rate_too() -> None:
    """The same three items, counted as an error rate of .97."""
    recorded(rows(bits(3, 97)), metric="error")
    verdict = checked(rows([0] * 100))
    assert not verdict.higher_is_better
    assert number(verdict.p_value) > 0.05
    assert verdict.verdict == "inconclusive"


def test_a_margin_that_no_loss_could_exceed_is_inconclusive() -> None:
    """Five items, a tolerated fall of .9: losing all five gives p = .30 by the score test, so nothing could be found."""
    recorded(rows(bits(5, 0)))
    verdict = checked(rows([0] * 5), margin=0.9)
    assert number(verdict.p_value) > 0.05
    assert verdict.verdict == "inconclusive"


def test_few_groups_are_inconclusive() -> None:
    r = np.random.default_rng(0)
    reference = r.integers(0, 2, 200).tolist()
    groups = [f"g{i % 4}" for i in range(200)]
    recorded(rows(reference, group=groups))
    verdict = checked(rows([0] * 200, group=groups))
    assert verdict.design == "clustered"
    assert verdict.verdict == "inconclusive"
    assert verdict.needed is not None
    assert verdict.needed.get("more") != 0, "0 more items would decide nothing: groups are lacking"


# Lower is better


def test_error_rate_counts_losses_as_losses() -> None:
    reference = bits(80, 20)
    recorded(rows(reference), metric="error")
    worse = checked(rows(flipped(reference, 9, 1)))
    assert not worse.higher_is_better
    assert worse.verdict == "regression"
    assert worse.p_value == pytest.approx(mcnemar_midp(1, 9, "less"))
    assert worse.difference["estimate"] == pytest.approx(-0.08)
    assert worse.candidate["value"] == pytest.approx(0.28)
    assert checked(rows(flipped(reference, 1, 9))).verdict == "pass"


def test_scores_where_one_is_bad() -> None:
    """A toxicity of 0 or 1, lower is better: more ones are worse, and no improvement is told of."""
    Path("steelyard.toml").write_text("[tasks.t]\nhigher_is_better = false\nmetric = 'mean'\n", encoding="utf-8")
    reference = bits(20, 80)
    recorded(rows(reference))
    verdict = checked(rows(flipped(reference, 0, 9)))
    assert verdict.verdict == "regression"
    assert not any("better than the reference" in warning for warning in verdict.warnings)
    assert {item["change"] for item in verdict.changed_items} == {"lost"}
    good = checked(rows(flipped(reference, 9, 0)))
    assert good.verdict == "pass"
    assert any("better than the reference" in warning for warning in good.warnings)
    assert checked(rows(reference), theta=0.1).conclusion.endswith(": a rise of 0.1 is ruled out.")


# Scores: sign-flip


def test_scores_by_sign_flip() -> None:
    r = np.random.default_rng(1)
    a = np.round(r.random(40), 2)
    b = np.clip(np.round(a - 0.05 + r.normal(0, 0.05, 40), 2), 0, 1)
    recorded(rows(a.tolist()))
    verdict = checked(rows(b.tolist()))
    assert verdict.test == "sign-flip"
    assert verdict.metric == "mean"
    assert verdict.flips is None
    oracle = np.mean([(s * (b - a)).sum() <= (b - a).sum() + 1e-12 for s in np.random.default_rng(5).choice([-1, 1], (20_000, 40))])
    assert verdict.p_value == pytest.approx(oracle, abs=4 * math.sqrt(0.25 / 20_000) + 0.02 * oracle + 1e-3)
    assert verdict.verdict == ("regression" if number(verdict.p_value) <= 0.05 else "pass")
    assert verdict.candidate["value"] == pytest.approx(b.mean())


def test_ten_scores_all_lower_are_enumerated() -> None:
    """All 2^10 signs: p = 1/1024 when every item lost something."""
    a = [0.5 + i / 100 for i in range(10)]
    recorded(rows(a))
    assert checked(rows([x - 0.1 - x / 100 for x in a])).p_value == pytest.approx(1 / 1024)
    assert sign_flip(np.full(10, -0.1), alternative="less").p_value == pytest.approx(1 / 1024)


def test_a_tiny_alpha_that_the_draws_cannot_reach_is_inconclusive_not_pass() -> None:
    """10,000 draws give p >= 1/20,200: at alpha 1e-6 no drop could be found."""
    r = np.random.default_rng(2)
    a = r.random(60) / 2 + 0.5
    recorded(rows(a.tolist()))
    verdict = checked(rows((a - 0.2 - r.random(60) / 5).tolist()), alpha=1e-6)
    assert number(verdict.p_value) >= 1 / 20_400
    assert verdict.verdict == "inconclusive"


@pytest.mark.parametrize("alpha", [0.0004, 0.0006, 0.0009, 0.0012])
def test_drawn_signs_never_contradict_their_p_value(alpha: float) -> None:
    """The smallest p of 1,000 draws is half of 1/1,001: where that is at most alpha, a collapse is a regression."""
    r = np.random.default_rng(2)
    a = r.random(60) / 2 + 0.5
    recorded(rows(a.tolist()))
    verdict = checked(rows((a - 0.2 - r.random(60) / 5).tolist()), alpha=alpha, draws=1000)
    assert (verdict.verdict == "regression") == (number(verdict.p_value) <= alpha)


def test_margin_for_scores() -> None:
    r = np.random.default_rng(3)
    a = r.random(100) / 2 + 0.5
    b = a - 0.1 + r.normal(0, 0.05, 100)
    recorded(rows(a.tolist()))
    assert checked(rows(b.tolist()), margin=0.05).verdict == "regression"
    verdict = checked(rows(b.tolist()), margin=0.15)
    assert verdict.verdict == "pass"
    assert number(verdict.difference["upper"]) >= -0.15


def test_a_drop_of_the_same_size_everywhere_is_judged_with_a_margin_too() -> None:
    """Every item lost exactly .125 of its score, .02 is tolerated: all signs of d + margin are one, p = 2^-50."""
    a = [i / 64 for i in range(14, 64)]
    recorded(rows(a))
    assert checked(rows([x - 0.125 for x in a])).verdict == "regression"
    assert checked(rows([x - 0.125 for x in a]), margin=0.02).verdict == "regression"
    assert checked(rows([x - 0.125 for x in a]), margin=0.2).verdict == "pass"


# Repeats, groups, runs


def repeated(table: Any) -> Rows:
    """A row per item and repeat."""
    return [{"id": f"q{i}", "repeat": k, "score": int(x)} for i, row in enumerate(table) for k, x in enumerate(row)]


def test_unequal_repeats_are_judged_by_item_means() -> None:
    r = np.random.default_rng(4)
    p = r.random(60)
    recorded(repeated((r.random((60, 5)) < p[:, None]).astype(int)))
    verdict = checked(repeated((r.random((60, 3)) < (0.5 * p)[:, None]).astype(int)))
    assert verdict.test == "bounded-t"
    assert verdict.verdict == "regression"


def test_five_runs_on_record_against_one_new_run() -> None:
    r = np.random.default_rng(5)
    p = r.beta(8, 2, 300)
    runs = [rows((r.random(300) < p).astype(int).tolist()) for _ in range(6)]
    recorded(*runs[:5])
    verdict = checked(runs[5])
    assert verdict.verdict == "pass"
    assert verdict.reference["runs"] == 5
    means = [np.mean([row["score"] for row in run]) for run in runs[:5]]
    assert verdict.reference["value"] == pytest.approx(np.mean(means))
    assert verdict.reference["sigma_run"] == pytest.approx(np.std(means, ddof=1))
    assert checked(rows([0] * 30 + [row["score"] for row in runs[5]][30:])).verdict == "regression"


def test_groups_are_flipped_whole() -> None:
    """Losses that all lie in two groups of twenty items are two observations, not forty."""
    reference = bits(400, 0)
    groups = [f"g{i // 20}" for i in range(400)]
    recorded(rows(reference, group=groups))
    verdict = checked(rows(flipped(reference, 40, 0), group=groups))
    assert verdict.design == "clustered"
    assert verdict.test == "sign-flip"
    assert number(verdict.p_value) == pytest.approx(0.25, abs=0.02)  # two groups moved: both down in one of four ways
    assert verdict.verdict == "pass"
    assert "groups" in verdict.claim


def test_groups_on_record_hold_for_a_run_that_does_not_repeat_them() -> None:
    """The design is the strongest that the reference allows: a run without the column is still made of the same groups."""
    reference = bits(400, 0)
    recorded(rows(reference, group=[f"g{i // 20}" for i in range(400)]))
    try:
        verdict = checked(rows(flipped(reference, 40, 0)))
    except SteelyardError as refusal:
        assert "group" in str(refusal)  # noqa: PT017
    else:
        assert verdict.design == "clustered"


def test_target_runs_needs_repeats_and_does_not_generalise() -> None:
    reference = bits(30, 10)
    recorded(rows(reference))
    with pytest.raises(SteelyardError, match="repeats"):
        checked(rows(reference), target="runs")
    r = np.random.default_rng(6)
    p = r.random(40)
    runs = [rows((r.random(40) < p).astype(int).tolist()) for _ in range(5)]
    recorded(*runs, update=True, reason="several runs")
    verdict = checked(repeated((r.random((40, 5)) < p[:, None]).astype(int)), target="runs")
    assert verdict.target == "runs"
    assert verdict.test == "within-item"
    assert "these same items" in verdict.claim
    assert "nothing about new items" in verdict.claim


@pytest.mark.parametrize("target", ["items", "runs"])
@pytest.mark.parametrize("again", [2, 3, 5])
def test_three_items_asked_many_times_never_contradict_their_p_value(target: str, again: int) -> None:
    """Five runs all right, then all wrong: permuted within items that is p = 3e-6, which is not "no outcome could give it"."""
    recorded(*[rows([1, 1, 1])] * 5)
    verdict = checked(repeated(np.zeros((3, again))), target=target)
    assert (verdict.verdict == "regression") == (number(verdict.p_value) <= 0.05)
    if target == "runs":
        assert verdict.verdict == "regression"


def shifted_runs(seed: int, count: int, shift: float) -> list[Rows]:
    """Runs that share a shift of their own: noise that more items do not average out."""
    r = np.random.default_rng(seed)
    base = r.beta(8, 2, 400)
    return [rows((r.random(400) < np.clip(base + move, 0, 1)).astype(int).tolist()) for move in r.normal(0, shift, count)]


@pytest.mark.parametrize("wrong", [((0,), (1,), (2,)), ((0,), (1, 2), ())])
def test_what_rounding_leaves_is_no_noise_and_no_difference(wrong: tuple[tuple[int, ...], ...]) -> None:
    """Runs whose means differ exactly as their items say, and a run as good as their mean."""
    recorded(*(rows([int(item not in missed) for item in range(60)]) for missed in wrong))
    verdict = checked(rows([int(item != 5) for item in range(60)]))
    assert verdict.difference.estimate == 0
    assert not any("runs differ" in warning for warning in verdict.warnings)


def test_noise_that_a_whole_run_shares_widens_everything() -> None:
    runs = shifted_runs(7, 7, 0.08)
    recorded(*runs[:6])
    verdict = checked(runs[6])
    assert any("runs differ by more than the noise of their items" in warning for warning in verdict.warnings)
    quiet = sy.compare([row for run in runs[:1] for row in run], runs[6]).difference.interval
    assert quiet is not None
    assert number(verdict.difference["upper"]) - number(verdict.difference["lower"]) > number(quiet.high) - number(quiet.low)


def test_bounds_with_run_noise_use_the_t_law_that_the_p_value_uses() -> None:
    """Two runs on record: one degree of freedom for what they share. A normal bound would rule theta out far too easily."""
    from scipy.special import stdtrit

    runs = [rows(bits(300, 100)), rows(bits(340, 60)), rows(bits(318, 82))]
    recorded(*runs[:2])
    verdict = checked(runs[2])
    said = next(warning for warning in verdict.warnings if "degrees of freedom" in warning)
    df = float(said.split("t with ")[1].split(" ")[0])
    error = number(verdict.details["standard_error"])
    reach = number(verdict.difference["estimate"]) - number(verdict.difference["lower"])
    assert df < 3
    assert reach == pytest.approx(float(stdtrit(df, 0.95)) * error, rel=0.1)


def test_one_run_on_each_side_says_that_shared_noise_is_unknown() -> None:
    """With one run the excess is unknown, and said so. A deterministic model has none."""
    recorded(rows(bits(150, 50)))
    verdict = checked(rows(flipped(bits(150, 50), 2, 2)))
    assert any("run-to-run variation is not estimated" in text for text in (*verdict.warnings, verdict.claim)), verdict.warnings


# What a reference pins


def test_other_ids_are_refused() -> None:
    recorded(rows(bits(50, 50)))
    other = [{**row, "id": f"x{i}"} for i, row in enumerate(rows(bits(50, 50)))]
    for unmatched in ("error", "drop"):
        with pytest.raises(SteelyardError, match=r"id|match|common"):
            checked(other, unmatched=unmatched)


def test_missing_and_extra_ids_are_an_error_unless_dropped() -> None:
    reference = rows(bits(50, 50))
    recorded(reference)
    for run in (reference[:90], [*reference, {"id": "new", "score": 1}]):
        with pytest.raises(SteelyardError, match="drop"):
            checked(run)
    verdict = checked(reference[:90], unmatched="drop")
    assert verdict.n == 90
    assert verdict.verdict == "pass"
    assert verdict.reference["value"] == pytest.approx(50 / 90)  # on the items that are in both
    assert any("10" in warning for warning in verdict.warnings)


def labelled(n: int, wrong: int, **columns: Any) -> Rows:
    """Truths a and b in turn, the first `wrong` answers wrong."""
    truth = ["ab"[i % 2] for i in range(n)]
    return [
        {"id": f"q{i}", "truth": t, "prediction": "ba"["ab".index(t)] if i < wrong else t, **{k: v[i] for k, v in columns.items()}}
        for i, t in enumerate(truth)
    ]


def test_changed_truths_are_refused() -> None:
    recorded(labelled(100, 10))
    changed = [{**row, "truth": "a" if i == 50 else row["truth"]} for i, row in enumerate(labelled(100, 10))]
    changed[51]["truth"] = "a"
    with pytest.raises(SteelyardError, match=r"1 item.*'q51'.*|truth"):
        checked(changed)


@pytest.mark.parametrize("metric", [None, "macro_f1"])
def test_changed_truths_are_refused_with_hashed_ids(metric: str | None) -> None:
    recorded(labelled(100, 10), metric=metric, ids="hashed")
    assert checked(labelled(100, 10)).verdict == "pass"
    changed = labelled(100, 10)
    changed[51]["truth"] = "a"
    with pytest.raises(SteelyardError, match="truth"):
        checked(changed)


def test_hashed_ids_pair_and_are_nowhere_in_the_files() -> None:
    secret = [{**row, "id": f"secret-question-{i}"} for i, row in enumerate(rows(bits(50, 50)))]
    recorded(secret, ids="hashed")
    for path in Path("references").rglob("*"):
        assert not path.is_file() or b"secret" not in path.read_bytes()
    verdict = checked([{**row, "score": 0} if i < 8 else row for i, row in enumerate(secret)])
    assert verdict.verdict == "regression"
    assert verdict.n == 100
    assert len(verdict.changed_items) == 8


def test_the_telling_items_of_hashed_references_have_the_names_of_the_run() -> None:
    """The run knows its ids; sixteen hexadecimal digits help nobody to find the item that was lost."""
    secret = [{**row, "id": f"question-{i}"} for i, row in enumerate(rows(bits(50, 50)))]
    recorded(secret, ids="hashed")
    verdict = checked([{**row, "score": 0} if i < 8 else row for i, row in enumerate(secret)])
    assert {item["id"] for item in verdict.changed_items} == {f"question-{i}" for i in range(8)}


def test_labels_recorded_scores_checked_and_the_other_way_round() -> None:
    recorded(labelled(100, 10))
    right = [int(row["truth"] == row["prediction"]) for row in labelled(100, 22)]
    by_scores, by_labels = checked(rows(right)), checked(labelled(100, 22))
    assert by_scores.verdict == by_labels.verdict == "regression"
    assert by_scores.flips == by_labels.flips
    assert by_scores.p_value == by_labels.p_value
    recorded(rows([int(row["truth"] == row["prediction"]) for row in labelled(100, 10)]), update=True, reason="scores")
    assert checked(labelled(100, 22)).p_value == by_labels.p_value


def test_another_metric_than_the_one_on_record_is_refused() -> None:
    """A reference pins its metric; bits on record cannot give a macro F1."""
    recorded(labelled(100, 10))
    with pytest.raises(SteelyardError, match=r"metric|macro_f1|prediction|truth"):
        checked(labelled(100, 10), metric="macro_f1")


def test_another_metric_against_a_bare_number_is_refused() -> None:
    """Accuracy .9 on record, macro F1 of the run: two quantities, no difference."""
    recorded(labelled(100, 10), items=False)
    with pytest.raises(SteelyardError, match=r"metric|macro_f1|accuracy"):
        checked(labelled(100, 10), metric="macro_f1", sigma=0.5)
    with pytest.raises(SteelyardError, match=r"metric|macro_f1|accuracy"):
        sy.check(value=0.2, task="t", model="m", metric="error")


def test_a_scorer_that_reads_answers_better_since_is_a_warning_and_not_another_protocol() -> None:
    reference = rows(bits(50, 50))
    recorded(reference, protocol={"scorer": "number", "scorer.pick": "last"})  # as versions before scorer.version wrote it
    now = checked(reference, protocol={"scorer": "number", "scorer.pick": "last", "scorer.version": "2"})
    assert now.verdict == "pass"
    assert any("version 1 then, 2 in this run" in said for said in now.warnings)
    assert not any("version" in said for said in checked(reference, protocol={"scorer": "number", "scorer.pick": "last"}).warnings)
    recorded(reference, protocol={"scorer": "number", "scorer.version": "2"}, update=True, reason="another scorer")
    assert not any("version" in said for said in checked(reference, protocol={"scorer": "number", "scorer.version": "2"}).warnings)
    assert any("version 2 then, 1 in this run" in said for said in checked(reference, protocol={"scorer": "number"}).warnings)


def test_the_protocol_is_pinned() -> None:
    reference = rows(bits(50, 50))
    recorded(reference, protocol={"shots": "5", "template": "chat"})
    assert checked(reference, protocol={"shots": "5", "template": "chat"}).verdict == "pass"
    with pytest.raises(SteelyardError, match=r"shots '5' on record, '0' now"):
        checked(reference, protocol={"shots": "0", "template": "chat"})
    with pytest.raises(SteelyardError, match="decoding not on record"):
        checked(reference, protocol={"shots": "5", "template": "chat", "decoding": "greedy"})
    assert any("shots" in warning for warning in checked(reference).warnings)


# Scale


def test_percent_fraction_and_raw() -> None:
    reference, run = bits(800, 200), flipped(bits(800, 200), 40, 10)
    answers = {}
    for scale, unit in (("percent", 100.0), ("fraction", 1.0), ("raw", 1.0)):
        recorded(rows(reference), scale=scale, update=True, reason="scale")
        verdict = answers[scale] = checked(rows(run))
        assert verdict.scale == scale
        assert verdict.candidate["value"] == pytest.approx(0.77 * unit)
        assert verdict.difference["estimate"] == pytest.approx(-0.03 * unit)
        assert verdict.mde == pytest.approx(number(answers["percent"].mde) * unit / 100)
        assert verdict.threshold == pytest.approx(number(answers["percent"].threshold) * unit / 100)
        assert checked(rows(run), theta=0.05 * unit, margin=0.05 * unit).verdict == "pass"
    assert len({verdict.p_value for verdict in answers.values()}) == 1


def test_undeclared_scale_with_a_reference_above_one_is_refused() -> None:
    Path("references").mkdir()
    Path("references/t.yaml").write_text("m:\n  - accuracy: 80.0\n    num_samples: 100\n    sigma: 50\n", encoding="utf-8")
    with pytest.raises(SteelyardError, match=r'scale="percent"'):
        checked(rows(bits(80, 20)))
    verdict = checked(rows(bits(80, 20)), scale="percent")
    assert verdict.candidate["value"] == pytest.approx(80)
    assert verdict.design == "unpaired"


@pytest.mark.parametrize("items", [True, False])
def test_another_scale_than_the_one_on_record_is_refused(items: bool) -> None:
    """theta .02 on record as a fraction would be read as .02 points; .8 on record as .8 percent."""
    recorded(rows(bits(80, 20)), scale="fraction", theta=0.02, items=items)
    with pytest.raises(SteelyardError, match="scale"):
        checked(rows(bits(70, 30)), scale="percent")


def test_scores_out_of_the_recorded_scale_are_refused() -> None:
    """On record .5 to .99 as percent 75; now somebody writes 50 to 99: one hundred times better is not a pass."""
    scores = [0.5 + i / 200 for i in range(99)]
    recorded(rows(scores), scale="percent")
    with pytest.raises(SteelyardError, match=r"scale|range"):
        checked(rows([100 * s for s in scores]))


def test_fraction_of_scores_above_one_cannot_be_recorded() -> None:
    with pytest.raises(SteelyardError, match=r"fraction|scale"):
        recorded(rows([50.0, 60.0, 70.0]), scale="fraction")


# Every kind of metric, recorded and checked


def test_macro_f1() -> None:
    recorded(labelled(200, 20), metric="macro_f1")
    same = checked(labelled(200, 20))
    assert same.metric == "macro_f1"
    assert same.verdict == "pass"
    assert same.reference["value"] == pytest.approx(0.9, abs=0.001)
    worse = checked(labelled(200, 60))
    assert worse.verdict == "regression"
    assert number(worse.difference["upper"]) <= 0


def test_binary_f1_keeps_its_positive_class() -> None:
    """The positive class is part of the metric: what was recorded for it must not be asked for again, or be another."""
    recorded(labelled(200, 20), metric="f1", positive="a")
    verdict = checked(labelled(200, 20))
    assert verdict.verdict == "pass"
    assert verdict.reference["value"] == pytest.approx(0.9)


def test_another_positive_class_is_refused() -> None:
    data = [{**row, "prediction": "a"} if i % 3 == 0 else row for i, row in enumerate(labelled(200, 20))]
    recorded(data, metric="f1", positive="a")
    with pytest.raises(SteelyardError, match="positive"):
        checked(data, positive="b")


def probable(seed: int, noise: float) -> Rows:
    r = np.random.default_rng(seed)
    truth = np.random.default_rng(99).integers(0, 2, 200)
    p = np.clip(0.5 + (truth - 0.5) * 0.6 + r.normal(0, noise, 200), 0.001, 0.999)
    return [{"id": f"q{i}", "truth": int(t), "probability": float(x)} for i, (t, x) in enumerate(zip(truth, p, strict=True))]


def test_auc() -> None:
    recorded(probable(1, 0.2), metric="auc", positive="1")
    assert checked(probable(1, 0.2), positive="1").verdict == "pass"
    worse = checked(probable(2, 0.9), positive="1")
    assert worse.verdict == "regression"
    assert worse.metric == "auc"


@pytest.mark.parametrize("metric", ["brier", "log_loss"])
def test_a_loss_of_probabilities_goes_the_right_way(metric: str) -> None:
    recorded(probable(1, 0.2), metric=metric, positive="1")
    worse = checked(probable(2, 0.9), positive="1")
    assert not worse.higher_is_better
    assert worse.verdict == "regression"
    assert number(worse.difference["estimate"]) < 0


def test_mean_absolute_error() -> None:
    r = np.random.default_rng(3)
    truth = r.normal(0, 5, 150)

    def run(noise: float) -> Rows:
        guess = truth + np.random.default_rng(4).normal(0, noise, 150)
        return [{"id": f"q{i}", "truth": float(t), "prediction": float(g)} for i, (t, g) in enumerate(zip(truth, guess, strict=True))]

    recorded(run(1.0), metric="mae")
    assert checked(run(1.0)).verdict == "pass"
    worse = checked(run(2.0))
    assert worse.verdict == "regression"
    assert not worse.higher_is_better
    assert worse.scale == "raw"


def test_groups_and_repeats_recorded_together() -> None:
    r = np.random.default_rng(8)
    p = r.beta(5, 2, 120)
    runs = [rows((r.random(120) < p).astype(int).tolist(), group=[f"g{i // 4}" for i in range(120)]) for _ in range(4)]
    recorded(*runs[:3])
    verdict = checked(runs[3])
    assert verdict.design == "clustered"
    assert verdict.verdict == "pass"


def test_missing_answers_of_the_run() -> None:
    reference = rows(bits(50, 50))
    recorded(reference)
    holes = [{**row, "score": None} if i < 8 else row for i, row in enumerate(reference)]
    with pytest.raises(SteelyardError, match="missing"):
        checked(holes)
    verdict = checked(holes, missing="wrong")
    assert verdict.verdict == "regression"
    assert verdict.n == 100
    dropped = checked(holes, missing="drop")
    assert dropped.n == 92
    assert dropped.verdict == "pass"


# No items on record


def test_a_bare_number_gives_the_unpaired_test_and_says_so() -> None:
    reference = rows(bits(150, 50))
    recorded(reference, items=False)
    verdict = checked(reference)
    assert verdict.design == "unpaired"
    assert verdict.test == "z"
    assert verdict.sigma == pytest.approx(math.sqrt(0.75 * 0.25))
    assert any("item outcomes" in text or "paired" in text for text in (*verdict.warnings, verdict.claim, str(verdict)))


def test_same_items_and_runs_behind_a_bare_number_use_the_run_to_run_deviation() -> None:
    """A single number on the same items with r_ref runs: sigma_run^2 (1/r_new + 1/r_ref), t not z."""
    from scipy.special import stdtr

    runs = [rows(flipped(bits(150, 50), k, 0)) for k in range(5)]
    stored = recorded(*runs)
    entry = Path(stored.file)
    entry.write_text("".join(line for line in entry.read_text().splitlines(True) if " items:" not in line), encoding="utf-8")
    verdict = checked(rows(flipped(bits(150, 50), 9, 0)))
    sigma_run = number(stored.sigma_run)
    d = number(verdict.difference["estimate"])
    assert verdict.p_value == pytest.approx(float(stdtr(4, d / (sigma_run * math.sqrt(1 + 1 / 5)))), rel=1e-6)


# The answer


def test_to_dict_has_every_key_of_the_contract() -> None:
    recorded(rows(bits(50, 50)))
    keys = {"verdict", "task", "model", "spec", "metric", "higher_is_better", "scale", "design", "target", "n", "alpha", "beta", "sigma"}
    keys |= {"margin", "theta", "mde", "reference", "candidate", "threshold", "difference", "test", "p_value", "flips", "needed", "tier"}
    keys |= {"waiver", "kind", "schema", "warnings", "signature"}
    answer = checked(rows(bits(50, 50))).to_dict()
    assert keys <= set(answer)
    assert (answer["kind"], answer["schema"]) == ("verdict", 1)
    assert set(answer["difference"]) == {"estimate", "interval", "lower", "upper", "standard_error"}


def test_the_order_of_rows_changes_nothing() -> None:
    reference = rows(bits(50, 50))
    recorded(reference)
    run = rows(flipped(bits(50, 50), 5, 1))
    assert checked(run).to_dict() == checked(run[::-1]).to_dict()


def test_mirrored_losses_and_gains_have_mirrored_p_values() -> None:
    recorded(rows(bits(50, 50)))
    for lost, gained in ((5, 1), (9, 4), (2, 0)):
        one = number(checked(rows(flipped(bits(50, 50), lost, gained))).p_value)
        other = number(checked(rows(flipped(bits(50, 50), gained, lost))).p_value)
        assert one + other == pytest.approx(1)


def test_slow_drift_is_told_against_the_first_value() -> None:
    """Each step too small to be found, the sum not: the history knows where it began."""
    run = bits(900, 100)
    recorded(rows(run))
    for _ in range(6):
        run = flipped([1] * sum(run) + [0] * (1000 - sum(run)), 0, 0)
        run = [0, 0, 0, *run[3:]]
        run = sorted(run, reverse=True)
        recorded([{**row, "id": f"q{i}"} for i, row in enumerate(rows(run))], update=True, reason="nightly")
    verdict = checked(rows(sorted([0] * 14 + run[14:], reverse=True)))
    assert verdict.reference["value"] == pytest.approx(0.882)
    assert any("first on record" in warning for warning in verdict.warnings), verdict.warnings


@pytest.mark.parametrize("scores", [[], [{"id": "q0"}]])
def test_nothing_to_check_is_refused(scores: Rows) -> None:
    recorded(rows(bits(5, 5)))
    with pytest.raises(SteelyardError):
        checked(scores)


def test_source_and_value_together_or_neither() -> None:
    recorded(rows(bits(5, 5)))
    with pytest.raises(UsageError, match="both"):
        sy.check(rows(bits(5, 5)), value=0.5, task="t", model="m")
    with pytest.raises(UsageError, match=r"Nothing to check: give a run or a value\."):
        sy.check(task="t", model="m")


def test_bits_by_chance_agree_with_a_comparison() -> None:
    """The guard is `compare` with a memory: same p, same flips, on random runs."""
    r = np.random.default_rng(9)
    a = r.integers(0, 2, 80).tolist()
    recorded(rows(a))
    for _ in range(10):
        b = [1 - x if r.random() < 0.15 else x for x in a]
        verdict, plain = checked(rows(b)), sy.compare(rows(a), rows(b), alternative="less")
        assert verdict.p_value == plain.p_value
        assert verdict.flips == plain.to_dict()["flips"]
        assert verdict.difference["estimate"] == plain.difference.estimate


def test_ids_are_text_whatever_their_type(tmp_path: Path) -> None:
    """Whole numbers in JSON on record, a CSV now."""
    sy.record([{"id": i, "score": int(i < 70)} for i in range(100)], task="t", model="m")
    file = tmp_path / "run.csv"
    file.write_text("id,score\n" + "".join(f"{i},{int(i < 62)}\n" for i in range(100)), encoding="utf-8")
    verdict = sy.check(str(file), task="t", model="m")
    assert verdict.n == 100
    assert verdict.verdict == "regression"


def test_duplicate_ids_in_the_run_are_refused() -> None:
    recorded(rows(bits(50, 50)))
    with pytest.raises(SteelyardError, match=r"q0|duplicate|twice|repeat"):
        checked([*rows(bits(50, 50)), {"id": "q0", "score": 1}])


@pytest.mark.parametrize("strange", [math.inf, -math.inf, "high", [1]])
def test_scores_that_are_no_numbers_are_refused(strange: object) -> None:
    recorded(rows(bits(50, 50)))
    run = rows(bits(50, 50))
    run[3]["score"] = strange
    with pytest.raises(SteelyardError):
        checked(run)


def test_a_value_edited_by_hand_beside_its_items_is_told() -> None:
    """The easy way to a green light: the number in the file is lowered, the outcomes stay. The verdict must not hide it."""
    stored = recorded(rows(bits(80, 20)))
    file = Path(stored.file)
    file.write_text(file.read_text("utf-8").replace("accuracy: 0.8", "accuracy: 0.6"), encoding="utf-8")
    try:
        verdict = checked(rows(bits(80, 20)))
    except SteelyardError as refusal:
        assert "0.6" in str(refusal)  # noqa: PT017
    else:
        assert any("0.6" in warning for warning in verdict.warnings), verdict.warnings


def test_whatever_comes_the_answer_is_consistent_and_finite() -> None:
    """Random runs of every kind against random references: no NaN, one verdict, and it agrees with p and the bounds."""
    r = np.random.default_rng(11)
    for trial in range(30):
        n, kind = int(r.integers(1, 40)), trial % 3
        a, b = (r.integers(0, 2, n) if kind == 0 else np.round(r.random(n), kind) for _ in range(2))
        b = np.where(r.random(n) < r.random(), a, b)
        group = [f"g{i}" for i in r.integers(0, max(1, n // 3), n)] if r.random() < 0.4 else None
        columns = {} if group is None else {"group": group}
        recorded(rows(a.tolist(), **columns), update=True, reason="x")
        options = {} if r.random() < 0.5 else {"theta": float(r.random()) / 5 + 0.001}
        verdict = checked(rows(b.tolist(), **columns), **options)
        json.dumps(verdict.to_dict(), allow_nan=False)
        assert str(verdict)
        p = number(verdict.p_value)
        assert 0 <= p <= 1
        assert verdict.verdict in ("pass", "regression", "inconclusive")
        assert verdict.verdict != "regression" or p <= 0.05
        assert verdict.verdict != "pass" or p > 0.05
        lower, upper = verdict.difference["lower"], verdict.difference["upper"]
        if lower is not None and upper is not None:
            assert lower < upper, (trial, verdict)
            assert (upper <= 0) if p <= 0.05 else (upper >= 0)


def test_runs_without_any_spread_are_no_proof_of_no_noise() -> None:
    """Five equal runs behind a bare number: a deviation of 0 would make any loss certain, with bounds of no width."""
    stored = recorded(*[rows(bits(150, 50))] * 5)
    entry = Path(stored.file)
    entry.write_text("".join(line for line in entry.read_text().splitlines(True) if " items:" not in line), encoding="utf-8")
    verdict = checked(rows(flipped(bits(150, 50), 1, 0)))
    assert verdict.verdict == "pass"
    assert number(verdict.difference["lower"]) < number(verdict.difference["upper"])


def test_what_is_needed_is_computed_from_where_the_run_lies() -> None:
    """Too few for a healthy run, or enough for one but not for a run that has moved half of the way to theta: more is more than 0."""
    reference = bits(300, 100)
    recorded(rows(reference))
    near = checked(rows(flipped(reference, 12, 6)), theta=0.03)
    assert near.verdict == "inconclusive"
    assert near.needed is not None
    assert near.needed["more"] > 0


def test_the_difference_has_its_standard_error_where_one_is_known() -> None:
    """Paired: sqrt((lost + gained) / n - d^2) / sqrt(n); a number alone: sigma sqrt(1/n + 1/n); nothing changed: not known."""
    reference = bits(60, 60)
    recorded(rows(reference))
    paired = checked(rows(flipped(reference, 8, 2)))
    assert paired.difference["standard_error"] == pytest.approx(math.sqrt((10 / 120 - (6 / 120) ** 2) / 120))
    alone = checked(None, value=0.5, sigma=0.4)  # type: ignore[arg-type]
    assert alone.difference["standard_error"] == pytest.approx(0.4 * math.sqrt(2 / 120))
    assert checked(rows(reference)).difference["standard_error"] is None


def test_a_score_beside_labels_that_is_neither_right_nor_wrong_is_read_as_it_was_recorded() -> None:
    """A confidence, say: the labels decide, in `record` and in `check`."""
    rows = [{"id": str(i), "truth": "ab"[i % 2], "prediction": "ab"[(i + (i % 7 == 0)) % 2], "score": 100 * (i % 4) / 4} for i in range(60)]
    sy.record(rows, task="t", model="m", deterministic=True)
    assert (sy.check(rows, task="t", model="m").verdict, sy.check(rows, task="t", model="m").flips["both"]) == ("pass", 51)
    turned = [row | {"prediction": "ba"["ab".index(row["prediction"])]} for row in rows]
    found = sy.check(turned, task="t", model="m")
    assert (found.verdict, found.flips["baseline_only"]) == ("regression", 51)
    assert {(item["baseline"], item["candidate"]) for item in found.changed_items} == {(1.0, 0.0), (0.0, 1.0)}
