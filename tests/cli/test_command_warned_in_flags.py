"""Warnings in the words of the command: only what says something else is made anew."""

from __future__ import annotations

from dataclasses import replace

import click

import steelyard as sy
from steelyard.cli.command import in_flags, warned_in_flags

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
