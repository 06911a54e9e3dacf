"""The designs side by side: the prototype's numbers, what must rise and fall, money, and every question that cannot be asked."""

from __future__ import annotations

import functools
import json
import math
from typing import Any

import pytest
from click.testing import CliRunner

from cases import every
from steelyard.cli.plan_designs import designs
from steelyard.errors import UsageError
from steelyard.questions.plan import designs as question
from steelyard.results import signature

plan_designs = functools.cache(question.plan_designs)  # exact searches are the time of this file
KEYS = ["design", "items", "items if nothing changed", "items if it dropped", "at most", "calls", "money", "note"]
EARLY = "paired, stopped early"


def items(plan: Any, column: str = "items") -> dict[str, Any]:
    return {row["design"]: row[column] for row in plan.rows}


# ---- numbers known from elsewhere --------------------------------------------------------------------------------------


def test_the_designs_of_the_prototype() -> None:
    # research/performance.md, 7.1: theta 2%, churn 5%, accuracy .75; 1080 by the formula, 1073 by McNemar's exact power.
    plan = plan_designs(theta=0.02, expected=0.75, discordance=0.05)
    found = items(plan)
    assert (found["unpaired"], found["unpaired, sigma known"], found["reference known exactly"]) == (7729, 5945, 2948)
    assert found["paired"] == plan.n == pytest.approx(1080, rel=0.01)
    assert found["unpaired"] / found["paired"] == pytest.approx(7.2, abs=0.05)
    assert items(plan, "items if nothing changed")[EARLY] == pytest.approx(385, rel=0.03)  # research/calls.md, 1
    assert items(plan, "items if it dropped")[EARLY] == pytest.approx(715, rel=0.02)
    assert items(plan, "at most")[EARLY] == pytest.approx(2624, rel=0.1)
    assert plan.expected_n == pytest.approx(385, rel=0.03)
    assert "7.2 times fewer items" in plan.conclusion
    assert "a further 2.8 times fewer items when nothing changed" in plan.conclusion
    assert "1.5 times fewer items when the drop is real" in plan.conclusion


@pytest.mark.parametrize(("expected", "own", "known"), [(0.6, 7475, 3729), (0.9, 3024, 1471)])
def test_the_spread_of_the_accuracy(expected: float, own: int, known: int) -> None:
    # The same table, rows (a) and (b).
    found = items(plan_designs(theta=0.02, expected=expected))
    assert (found["unpaired, sigma known"], found["reference known exactly"]) == (own, known)


def test_the_seed_in_points() -> None:
    plan = plan_designs(theta=3, sigma=50)
    assert plan.n == items(plan)["unpaired"] == 3435  # plan detect --sigma 50 --theta 3
    assert plan.design == "unpaired"
    assert list(items(plan)) == ["unpaired", "reference known exactly"]
    assert "discordance" in plan.warnings[0]


def test_repeats_by_millers_formula() -> None:
    # Miller (2024), equation 9, one-sided: (z_a + z_b)^2 (omega^2 + 2 within^2 / K) / theta^2, by hand.
    theta, psi, within, k = 0.02, 0.05, 0.15, 4
    plan = plan_designs(theta=theta, discordance=psi, repeats=k, within=within)
    row = next(row for row in plan.rows if row["design"] == "paired, 4 answers each")
    omega2 = psi + theta - theta**2 - 2 * within**2
    by_hand = (1.6448536 + 0.8416212) ** 2 * (omega2 + 2 * within**2 / k) / theta**2
    assert row["items"] == math.ceil(by_hand)
    assert row["calls"] == 4 * row["items"]
    assert items(plan)["paired, 4 answers each"] < items(plan)["paired"] < row["calls"]


@pytest.mark.long
@pytest.mark.parametrize(("answers", "plain", "strata"), [(4, (281, 540), (236, 450)), (16, (253, 486), (203, 396))])
def test_answers_on_record_as_simulated(answers: int, plain: tuple[int, int], strata: tuple[int, int]) -> None:
    """research/calls.md, 3, by another program: all disagreement noise, accuracy .75, 4,000 to 8,000 runs."""
    plan = plan_designs(theta=0.02, expected=0.75, discordance=0.05, repeats=answers)
    rows = {row["design"]: row for row in plan.rows}
    for name, known in (
        (f"{answers} answers on record, stopped early", plain),
        (f"{answers} answers on record, in strata, stopped early", strata),
    ):
        assert rows[name]["items if nothing changed"] == pytest.approx(known[0], rel=0.08)
        assert rows[name]["items if it dropped"] == pytest.approx(known[1], rel=0.09)


def test_how_runs_end_with_the_information_bound_beside_it() -> None:
    plan = plan_designs(theta=0.02, expected=0.75, discordance=0.05, repeats=4)
    ends = {(row["design"], row["if"]): row for row in plan.steps}
    assert list(ends)[:3] == [("one answer", "nothing changed"), ("one answer", "drop"), ("4 answers", "nothing changed")]
    # research/calls.md, 3; 192 where wavering items are asked twice as often.
    assert [ends[name, "nothing changed"]["information bound"] for name in ("one answer", "4 answers", "4 in strata")] == [358, 227, 192]
    assert ends["one answer", "drop"]["information bound"] == 658
    for row in plan.steps:
        assert row["information bound"] < row["calls"] <= row["9 of 10 by"]
        assert row["alarm"] + row["pass"] + row["left open"] == pytest.approx(1, abs=0.002)
        assert row["alarm"] >= 0.75 if row["if"].startswith("drop") else row["alarm"] <= 0.07
    assert "the information bound is the fewest calls on average" in plan.assumed


def test_small_pools_leave_runs_open_and_ask_all_items_alike() -> None:
    plan = plan_designs(theta=0.02, expected=0.75, discordance=0.05, repeats=4, available=1319)
    assert {row["design"] for row in plan.steps} == {"one answer", "4 answers"}
    assert any("too few to ask unstable items more often" in words for words in plan.warnings)
    opened = {row["design"]: row["left open"] for row in plan.steps if row["if"].startswith("drop")}
    assert opened["one answer"] == pytest.approx(0.07, abs=0.03)  # research/calls.md, 1
    few = plan_designs(theta=0.02, discordance=0.05, repeats=2)
    assert {row["design"] for row in few.steps} == {"one answer", "2 answers"}


def test_items_that_changed_for_good_beside_noise() -> None:
    noise, both = (plan_designs(theta=0.05, expected=0.8, discordance=psi, repeats=4, within=0.15) for psi in (0.045, 0.08))
    calls = [next(row["calls"] for row in plan.steps if row["design"] == "4 answers") for plan in (noise, both)]
    assert calls[0] < calls[1]
    with pytest.raises(UsageError, match="cannot have changed"):
        plan_designs(theta=0.02, expected=0.55, discordance=0.85, repeats=4, within=0.3)


# ---- what must hold ----------------------------------------------------------------------------------------------------


def test_rows_are_complete() -> None:
    plan = plan_designs(theta=0.05, expected=0.8, discordance=0.1, repeats=2, within=0.2, price=0.5)
    assert [list(row) for row in plan.rows] == [KEYS] * 7
    assert all(value is not None for row in plan.rows for value in row.values())
    for row in plan.rows:
        assert row["items if nothing changed"] <= row["at most"]
        assert row["items if it dropped"] <= row["at most"]
        assert row["design"].endswith("stopped early") or row["items"] == row["items if nothing changed"] == row["at most"]


def test_money_is_calls_times_price() -> None:
    cheap, dear = (plan_designs(theta=0.05, discordance=0.1, repeats=3, within=0.2, price=price) for price in (0.25, 0.75))
    for a, b in zip(cheap.rows, dear.rows, strict=True):
        assert a["money"] == 0.25 * a["calls"]
        assert b["money"] == pytest.approx(3 * a["money"])
    assert "at 0.25 a call" in cheap.conclusion
    free = plan_designs(theta=0.05, discordance=0.1)
    assert {row["money"] for row in free.rows} == {None}
    assert "a call" not in free.conclusion


def test_fewer_items_for_larger_drops_and_less_churn() -> None:
    plans = [plan_designs(theta=theta, discordance=psi) for theta, psi in ((0.1, 0.1), (0.05, 0.1), (0.05, 0.2))]
    for design in ("unpaired", "paired"):
        sizes = [items(plan)[design] for plan in plans]
        assert sizes == sorted(sizes)
    stopped = [items(plan, "items if nothing changed")[EARLY] for plan in plans]
    assert stopped == sorted(stopped)
    strict = plan_designs(theta=0.05, discordance=0.1, alpha=0.01, beta=0.1)
    assert all(a["items"] > b["items"] for a, b in zip(strict.rows, plans[1].rows, strict=True))


def test_what_if() -> None:
    plan = plan_designs(theta=0.05, discordance=0.1)
    assert [list(row) for row in plan.sensitivity] == [["if", "n"]] * 3
    less, more, finer = (row["n"] for row in plan.sensitivity)
    assert less == plan_designs(theta=0.05, discordance=0.05).n
    assert more == plan_designs(theta=0.05, discordance=0.2).n
    assert finer == plan_designs(theta=0.025, discordance=0.1).n
    assert less < plan.n < more  # type: ignore[operator]
    assert [row["n"] for row in plan_designs(theta=3, sigma=50).sensitivity] == [13740, 859]  # 2 x 50^2 x 6.182557 / theta^2, rounded up


def test_the_signature_repeats_the_numbers() -> None:
    plan = plan_designs(theta=0.05, expected=0.8, discordance=0.1, repeats=2, within=0.2, batch=16, available=5000)
    facts = {key: values[0] for key, values in signature.parse(plan.signature).items()}
    words = {"answers": "repeats", "have": "available"}
    whole = ("repeats", "available", "batch")
    named = {words.get(key, key): value for key, value in facts.items() if key not in ("goal", "alternative", "seed", "steelyard")}
    again = plan_designs(**{key: int(value) if key in whole else float(value) for key, value in named.items()})  # type: ignore[arg-type]
    assert again == plan


# ---- what is said ------------------------------------------------------------------------------------------------------


def test_too_few_items_are_no_saving() -> None:
    plan = plan_designs(theta=0.02, discordance=0.05, available=300)
    assert "undecided" in plan.conclusion
    assert "a further" not in plan.conclusion
    assert "there are 300 items and pairing asks for 1,073" in plan.warnings[0]
    assert "more than the 300 items there are" in plan.rows[0]["note"]
    assert items(plan, "at most")[EARLY] == 300
    assert plan.details["early_stopping"]["undecided"][0] > 0.3


def test_enough_items_change_nothing() -> None:
    bounded, free = plan_designs(theta=0.05, discordance=0.1, available=100_000), plan_designs(theta=0.05, discordance=0.1)
    assert bounded.rows == free.rows


def test_pairing_is_not_always_best() -> None:
    # A good model that churns a lot: p (1 - p) is below the discordance.
    plan = plan_designs(theta=0.02, expected=0.9, discordance=0.1)
    assert "pairing does not help here" in plan.warnings[0]


def test_large_batches_are_noticed() -> None:
    assert any("batches of 512" in words for words in plan_designs(theta=0.05, discordance=0.1, batch=512).warnings)
    assert not plan_designs(theta=0.05, discordance=0.1).warnings


def test_a_model_that_never_differs() -> None:
    plan = plan_designs(theta=0.05, discordance=0)
    assert plan.n is not None
    assert plan.n < 200
    assert plan.sensitivity[0]["if"] == "discordance is 0.01"


def test_a_ratio_near_one_is_told_in_words() -> None:
    assert "about as many items when the drop is real" in plan_designs(theta=0.02, discordance=0, batch=64).conclusion


# ---- what cannot be asked ----------------------------------------------------------------------------------------------


@every(
    ("arguments", "words"),
    [
        ({"theta": 2, "expected": 0.8}, "write 0.02 for 2 points"),
        ({"theta": 2, "discordance": 0.05}, "write 0.02 for 2 points"),
        ({"theta": 2, "sigma": 0.5}, "write 0.02 for 2 points"),
        ({"theta": 2, "sigma": 50, "expected": 0.8}, "write sigma 0.5 and theta 0.02"),
        ({"theta": 0.02, "sigma": 50, "discordance": 0.05}, "write sigma 0.5"),
        ({"theta": 0.02, "sigma": 0}, "sigma must be"),
        ({"theta": 0.5, "expected": 0.4}, "theta=0.5 must be smaller than the expected accuracy (0.4)"),
        ({"theta": 0.02, "discordance": -0.1}, "discordance must be"),
        ({"theta": 0.5, "discordance": 0.6}, "must not add up to more than 1"),
        ({"theta": 0.02, "expected": 0.98, "discordance": 0.05}, "at most 0.04"),
        ({"theta": 0.02, "expected": 0.03, "discordance": 0.05}, "at most 0.02"),
        ({"theta": 0.02, "price": 0}, "price must be"),
        ({"theta": 0.02, "price": -1}, "price must be"),
        ({"theta": 0.02, "batch": 0}, "batch must be"),
        ({"theta": 0.02, "batch": 1.5}, "a whole number"),
        ({"theta": 0.02, "available": 0}, "available must be"),
        ({"theta": 0.02, "repeats": 4}, "To compute what repeats save, discordance is missing."),
        ({"theta": 0.02, "within": 0.1}, "To compute what repeats save, repeats and discordance are missing."),
        ({"theta": 0.02, "repeats": 4, "within": 0.1}, "To compute what repeats save, discordance is missing."),
        ({"theta": 0.02, "discordance": 0.05, "within": 0.1}, "To compute what repeats save, repeats is missing."),
        ({"theta": 0.02, "discordance": 0.05, "repeats": 1, "within": 0.1}, "repeats must be"),
        (
            {"theta": 0.02, "discordance": 0.05, "repeats": 2, "within": 0.3},
            "within 0.3 is too large when two healthy runs differ on 0.05 of the items; it",
        ),
        ({"theta": 0.02, "discordance": 0.05, "repeats": 2, "within": -0.3}, "within must be"),
    ],
)
def test_refusals(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_designs(**arguments)
    assert words in str(caught.value)


# ---- the command -------------------------------------------------------------------------------------------------------


def test_the_command_answers_like_the_function() -> None:
    line = "--theta .05 --expected .8 --discordance .1 --repeats 2 --within .2 --price .01 --batch 16 --available 4000 --format json"
    run = CliRunner().invoke(designs, line.split())
    assert run.exit_code == 0, run.output
    asked = plan_designs(theta=0.05, expected=0.8, discordance=0.1, repeats=2, within=0.2, price=0.01, batch=16, available=4000)
    assert json.loads(run.output) == json.loads(json.dumps(asked.to_dict()))


def test_the_command_writes_tables() -> None:
    run = CliRunner().invoke(designs, ["--theta", "2", "--sigma", "50"])
    assert run.exit_code == 0, run.output
    assert "7,729" in run.output
    assert "reference" in run.output


def test_the_command_needs_a_drop() -> None:
    assert CliRunner().invoke(designs, ["--sigma", "50"]).exit_code != 0


# ---- scores ------------------------------------------------------------------------------------------------------------------


def test_scores_are_planned_by_their_noise() -> None:
    found = plan_designs(theta=0.02, noise=0.2, expected=0.7)
    # research on stopping early: noise .2 costs about 320 calls if nothing changed and 464 after an even loss, before 2 to 4% more.
    by = {row["if"]: row for row in found.steps}
    assert by["nothing changed"]["calls"] == pytest.approx(325, rel=0.12)
    assert by["drop, all scores alike"]["calls"] == pytest.approx(475, rel=0.12)
    assert by["nothing changed"]["alarm"] <= 0.065
    assert min(by[words]["alarm"] for words in ("drop, all scores alike", "drop, answers that fail")) >= 0.77
    assert by["nothing changed"]["information bound"] is None
    assert (found.n_first, found.design, "noise:0.2" in found.signature) == (None, "paired", True)
    assert 618 < found.n < 660, "by the normal law, and two items that nobody has seen"
    assert "0.2 of the range" in found.assumed
    assert [row["if"] for row in found.sensitivity] == ["noise is 0.1", "noise is 0.4", "theta is 0.01"]
    small = plan_designs(theta=0.02, noise=0.2, available=200)
    assert small.steps[0]["left open"] > 0.1
    assert any("a run of all of them may end undecided" in words for words in small.warnings)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"noise": 0.1, "discordance": 0.05}, "noise= is for scores, and discordance= is for right or wrong"),
        ({"noise": 0.1, "repeats": 4}, "noise= is for scores"),
        ({"noise": 0}, "noise"),
        ({"noise": 20.0}, "as a fraction of the range"),
        ({"noise": 0.1, "theta": 0.9}, "cannot be lost"),
        ({"noise": 0.1, "sigma": 30.0, "theta": 2}, "not in the unit of noise"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as told:
        plan_designs(**{"theta": 0.02, **wrong})
    assert words in str(told.value)
