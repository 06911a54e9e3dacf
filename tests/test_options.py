"""Options are declared once: a flag, a keyword, a line of a docstring and a hint follow; the command and Python know the same ones."""

from __future__ import annotations

import inspect
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

import steelyard as sy
from cases import every
from steelyard.cli.command import READERS, Given, in_flags, verb_command
from steelyard.declared.run import OF_MODELS
from steelyard.options import SOURCE_KEYWORDS, Option, complete_docstring, documented, keyword_defaults, refuse_unknown

VERBS = {
    **{name: name for name in ("measure", "compare", "rank", "check", "record", "run", "certify", "report")},
    **{name: name for name in ("plan_detect", "plan_estimate", "plan_designs", "plan_train")},
    "learners": "compare_learners",
}
# What a command cannot be given: functions that are called, arrays, and what it knows by itself (a format that needs a verdict).
PYTHON_ALONE = {"progress", "groups", "names", "verdict", "higher_is_better"}


def test_an_option_that_is_added_is_a_flag_a_keyword_and_a_line_of_the_docstring() -> None:
    added = Option(name="half_life", type=float, metavar="DAYS", help="Days after which a run counts half.  [default: all count alike]")

    @documented([added], "a number")
    def weigh(*, half_life: float | None = None) -> float:
        """How heavy is it?"""
        return half_life or 0.0

    @verb_command((added,), short_help="how heavy is it?")
    def ask(given: Given) -> None:
        click.echo(weigh(**given.keywords()))

    assert CliRunner().invoke(ask, ["--half-life", "3"]).output == "3.0\n"
    assert "Days after which a run counts half." in CliRunner().invoke(ask, ["--help"]).output
    complete_docstring(weigh)
    assert "half_life: Days after which a run counts half. Default: all count alike." in str(weigh.__doc__)
    assert in_flags("give half_life=3", ask) == "give --half-life 3"
    with pytest.raises(sy.UsageError, match="did you mean half_life"):
        refuse_unknown(["halflife"], [added.name], "weigh")


@every(("declared", "verb"), VERBS.items())
def test_the_command_and_python_know_the_same_options(declared: str, verb: str) -> None:
    options = import_module(f"steelyard.declared.{declared}").OPTIONS
    parameters = inspect.signature(getattr(sy, verb)).parameters
    names = {option.parameter for option in options if not option.command}
    through = {*SOURCE_KEYWORDS, *OF_MODELS, "positive"} if any(each.kind is each.VAR_KEYWORD for each in parameters.values()) else set()
    assert sorted(names - {*parameters} - through) == [], "options without a parameter"
    keywords = {name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert sorted(keywords - names - PYTHON_ALONE) == [], "parameters without an option"


@every(("declared", "verb"), VERBS.items())
def test_a_default_is_the_same_in_both(declared: str, verb: str) -> None:
    """The command passes on what was given alone: for the rest Python's default holds, and help must not promise another."""
    defaults = keyword_defaults(getattr(sy, verb))
    for option in import_module(f"steelyard.declared.{declared}").OPTIONS:
        if option.default is not None and not option.command:
            read = READERS[option.kind](option.default, "") if option.kind in READERS else option.default
            assert read == defaults[option.name], option.name


@every(
    ("said", "typed"),
    [
        ("cannot use theta=: got theta=.5", "cannot use --theta: got --theta .5"),
        ("use missing='drop' or missing='wrong'.", "use --missing drop or --missing wrong."),
        ("name='a b', or name=['A', 'B']", "--name 'a b', or --name A --name B"),
        ("range=(0, 1); have=(45, 50)", "--range 0 1; --have 45/50"),
        ("spec={'quant': 'FP8'} and update=True", "--spec quant=FP8 and --update"),
        ("items=False; until='n=5'", "--no-items; until='n=5'"),
        ("the file 'theta=1.csv' and mytheta=2", "the file 'theta=1.csv' and mytheta=2"),
    ],
)
def test_an_error_that_names_parameters_is_told_in_flags(said: str, typed: str) -> None:
    params = [
        click.Option(["--theta"]),
        click.Option(["--missing"]),
        click.Option(["--name"], multiple=True),
        click.Option(["--range"], nargs=2),
        click.Option(["--have"], metavar="K/N"),
        click.Option(["--spec"], multiple=True),
        click.Option(["--update"], is_flag=True),
        click.Option(["--no-items"], is_flag=True),
    ]
    assert in_flags(said, click.Command("ask", params=[*params])) == typed
