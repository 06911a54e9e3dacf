"""Options that were given and that nobody heard."""

from __future__ import annotations

from pathlib import Path

import pytest

from answers import Command


@pytest.mark.parametrize("words", [("--unmatched", "drop"), ("--missing", "wrong"), ("--target", "runs"), ("--draws", "500")], ids=str)
def test_a_suite_does_not_pass_over_options_of_one_check(runs: Path, steelyard: Command, words: tuple[str, str]) -> None:
    Path("suite.toml").write_text('[[checks]]\ntask = "t"\nmodel = "m"\nresult = "b.jsonl"\n')
    done = steelyard("check", "--suite", "suite.toml", *words)
    assert done.code == 3


@pytest.mark.parametrize("words", [("--unmatched", "drop"), ("--missing", "drop"), ("--target", "runs")], ids=str)
def test_a_bare_value_does_not_pass_over_options_of_items(runs: Path, steelyard: Command, words: tuple[str, str]) -> None:
    done = steelyard("check", "--value", ".79", "--num-samples", 300, "--task", "t", "--model", "m", *words)
    assert done.code == 3


@pytest.mark.parametrize("bare", [("--wins", "40,12,28"), ("--flips", "79,5,7,7")], ids=str)
@pytest.mark.parametrize("words", [("--unmatched", "drop"), ("--missing", "drop")], ids=str)
def test_bare_counts_do_not_pass_over_options_of_items(steelyard: Command, bare: tuple[str, str], words: tuple[str, str]) -> None:
    assert steelyard("compare", *bare, *words).code == 3


def test_a_target_of_runs_is_not_claimed_of_a_reference_that_is_a_number(runs: Path, steelyard: Command) -> None:
    assert steelyard("record", "a.jsonl", "--task", "u", "--model", "m", "--no-items").code == 0
    done = steelyard("check", "b.jsonl", "--task", "u", "--model", "m", "--target", "runs")
    assert done.code == 3 or not ("about these very items" in done.out and "for new items of this kind" in done.out)


@pytest.mark.parametrize("words", [("--sigma", ".3"), ("--num-samples", "7")], ids=str)
def test_a_number_that_plays_no_part_in_a_paired_check_is_named(runs: Path, steelyard: Command, words: tuple[str, str]) -> None:
    plain = steelyard("check", "b.jsonl", "--task", "t", "--model", "m", "--format", "json").json
    done = steelyard("check", "b.jsonl", "--task", "t", "--model", "m", *words, "--format", "json")
    assert done.code == 3 or done.json["warnings"] != plain["warnings"]


@pytest.mark.parametrize(
    "words",
    [("--compare", "a", "b", "--task", "t"), ("--drift", "--task", "t", "--model", "m", "--verdict", "pass"), ("--alpha", ".1")],
    ids=str,
)
def test_the_history_does_not_pass_over_options_of_another_question(steelyard: Command, words: tuple[str, ...]) -> None:
    done = steelyard("history", "--history", "sqlite:///runs.db", *words)
    assert done.code == 3
    assert "cannot be used with" in done.err


def test_preferences_hear_the_alternative(steelyard: Command) -> None:
    two, one = (steelyard("compare", "--wins", "40,12,28", *more, "--format", "json").json for more in ((), ("--alternative", "greater")))
    assert one["test"]["p_value"] < two["test"]["p_value"]
