"""Warnings in the words of the command: only what says something else is made anew."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import click

import steelyard as sy
from cases import every
from steelyard.cli.command import COMMANDS_OF_CALLS, in_flags, warned_in_flags
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
    with click.Context(steelyard):
        assert in_flags(f"so: {call} does it", COMMAND) == f"so: {typed} does it"


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


@every(
    "name",
    [
        "x theta=('; touch PWNED; ', b)",
        "x theta={'; touch PWNED; ': 1}",
        "x theta=['$(touch PWNED)']",
        "k theta=0.5 x",
        "theta=",
        "x theta=['a'x']",
    ],
)
def test_a_name_in_a_hint_stays_as_it_is_and_is_one_word_of_the_shell(name: str) -> None:
    """A name can hold what reads like a parameter; pasted into a shell it runs nothing."""
    with click.Context(steelyard):
        said = in_flags(f"No reference for {name!r}. Hint: sy.record(run, model={name!r})", COMMAND)
    assert shlex.split(said.partition("Hint: ")[2]) == ["steelyard", "record", "RUN", "--model", name]
    assert repr(name) in said


def test_a_path_with_parts_that_read_like_parameters_stays_a_path() -> None:
    assert in_flags("No such file: runs/theta=3/run.csv", COMMAND) == "No such file: runs/theta=3/run.csv"
    assert in_flags("No such file: 'theta=3/run.csv'", COMMAND) == "No such file: 'theta=3/run.csv'"
