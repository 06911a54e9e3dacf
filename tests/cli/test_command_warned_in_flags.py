"""Warnings in the words of the command: only what says something else is made anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

import steelyard as sy
from cases import every
from steelyard.cli.command import COMMANDS_OF_CALLS, calls_as_typed, in_flags, warned_in_flags
from steelyard.cli.main import steelyard

COMMAND = click.Command("check", params=[click.Option(["--theta"]), click.Option(["--by"])])


def test_what_says_nothing_of_parameters_stays_the_object_it_is() -> None:
    found = sy.compare({"score": [1, 0] * 30}, {"score": [1, 1] * 30})
    assert warned_in_flags(found, COMMAND) is found
    assert warned_in_flags((found, found), COMMAND) == (found, found)


def test_warnings_inside_are_said_in_flags_and_the_rest_is_kept() -> None:
    quiet = sy.compare({"score": [1, 0] * 30}, {"score": [1, 1] * 30})
    loud = replace(quiet, warnings=("use theta=0.01", "few items"))
    said = warned_in_flags((quiet, loud), COMMAND)
    assert said[0] is quiet
    assert said[1].warnings == ("use --theta 0.01", "few items")
    assert replace(said[1], warnings=loud.warnings) == loud
    assert loud.warnings == ("use theta=0.01", "few items")


def test_what_could_not_be_used_is_a_flag_too() -> None:
    assert in_flags("Cannot use theta: it is 5.", COMMAND) == "Cannot use --theta: it is 5."
    assert in_flags("few items", COMMAND) == "few items"


@every(
    "call, typed",
    [
        ("sy.record(run, task=task)", "steelyard record RUN --task TASK"),
        ("sy.record(run, model='a; rm -rf b')", "steelyard record RUN --model 'a; rm -rf b'"),
        ("sy.record(run, spec={'a': 'x, $(rm b)', 'bits': 4})", "steelyard record RUN --spec 'a=x, $(rm b)' --spec bits=4"),
        ("sy.record(run, update=True)", "steelyard record RUN --update"),
        ("sy.check_suite('nightly.yaml')", "steelyard check --suite nightly.yaml"),
        ("sy.plan_detect(theta=0.02)", "steelyard plan detect --theta 0.02"),
        ("sy.list_references('t')", "steelyard references list t"),
        ("sy.check(value=...)", "steelyard check --value ..."),
        ("sy.check(run, nonsense=1)", "sy.check(run, nonsense=1)"),
        ("sy.open_history(url)", "sy.open_history(url)"),
        ("sy.check(run", "sy.check(run"),
    ],
)
def test_a_call_of_python_is_the_command_that_one_types(call: str, typed: str) -> None:
    assert calls_as_typed(f"so: {call} does it", steelyard) == f"so: {typed} does it"


def test_functions_with_another_name_as_a_command_exist() -> None:
    assert {*COMMANDS_OF_CALLS} <= {*sy.__all__}
    for words, parameter in COMMANDS_OF_CALLS.values():
        found: Any = steelyard
        for word in words.split():
            found = found.get_command(click.Context(found), word)
        assert not parameter or parameter in {param.name for param in found.params}


def test_data_that_python_makes_is_the_option_that_stands_for_it() -> None:
    compare: Any = steelyard.get_command(click.Context(steelyard), "compare")
    assert in_flags("JointCounts.flips(...) remembers the pairs", compare) == "--flips B,L,G,N remembers the pairs"
