"""Python is the command's equal: every option of every command is a parameter of Python, or a matter of the terminal with its reason."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

import steelyard as sy
from cases import every
from steelyard.cli.main import steelyard
from steelyard.options.option import SOURCE_KEYWORDS, Option
from steelyard.options.run import OF_MODELS

# Why an option is about the terminal alone. Whatever has none of these reasons, Python has too.
TERMINAL = {
    "output": "where the answer is written and in which format; Python is given the answer itself",
    "printing": "what is printed of the answer and around it; Python is given all of it",
    "exit code": "what the shell is told",
    "browser": "a page is opened for somebody who looks",
    "server": "`serve` answers browsers until it is stopped; no call of Python returns from it",
}
# Each command: where its options are declared, and the functions of Python that answer the same question.
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: (f"{name}:OPTIONS", (name,)) for name in ("measure", "compare", "rank", "audit", "record", "init", "comment", "certify")},
    **{f"plan {name}": (f"plan_{name}:OPTIONS", (f"plan_{name}",)) for name in ("detect", "estimate", "train", "split", "designs")},
    "learners": ("learners:OPTIONS", ("compare_learners",)),
    "split": ("split:OPTIONS", ("split", "check_split")),
    "check": ("check:OPTIONS", ("check",)),
    "run": ("run:OPTIONS", ("run",)),
    "references approve": ("references:APPROVE", ("approve_reference",)),
    "references history": ("references:HISTORY", ("reference_history",)),
    "references import": ("references:IMPORT", ("import_references",)),
    "references lint": ("references:LINT", ("lint_references",)),
    "references list": ("references:LIST", ("list_references",)),
    "references remove": ("references:REMOVE", ("remove_reference",)),
    "references rename": ("references:RENAME", ("rename_reference",)),
    "references show": ("references:SHOW", ("show_reference",)),
    "history": ("history:OPTIONS", ("list_runs", "drift", "export_runs", "compare_runs", "drop_answers")),
    "history ack": ("history:ACK", ("acknowledge",)),
    "history export": ("history:EXPORT", ("export_to_mlflow", "export_runs")),
    "history import": ("history:IMPORT", ("import_runs",)),
    "history simulate": ("history:SIMULATE", ("simulate_nights",)),
    "bisect": ("bisection:OPTIONS", ("bisect",)),
    "bisect step": ("bisection:STEP", ("bisect_step",)),
    "report": ("report:OPTIONS", ("report",)),
    "serve": ("serve:OPTIONS", ()),
}
OF_THE_TERMINAL = {
    "serve": "answers browsers until it is stopped",
    "demo": "a tour of the command",
    "doctor": "looks at the installation of the command",
    "completion": "a script for the shell",
}
ALWAYS = {"format_", "output", "no_color", "quiet", "debug", "help"}  # of every command: where the answer goes and what is printed


def commands(command: click.Command = steelyard, path: str = "", above: click.Context | None = None) -> Iterator[tuple[str, click.Command]]:
    """Every command that can be typed, by what is typed."""
    context = click.Context(command, parent=above, info_name=path)
    below = command.list_commands(context) if isinstance(command, click.Group) else []
    for name in below:
        found = command.get_command(context, name) if isinstance(command, click.Group) else None
        assert found is not None
        yield from commands(found, f"{path} {name}".strip(), context)
    if not below or any(isinstance(param, click.Option) and param.name in ALWAYS for param in command.params):
        yield path, command


def declared(path: str) -> tuple[Option, ...]:
    module, _, name = COMMANDS[path][0].partition(":")
    found: tuple[Option, ...] = getattr(import_module(f"steelyard.options.{module}"), name)
    return found


def test_every_command_has_its_functions_or_is_about_the_terminal() -> None:
    typed = {path for path, _ in commands() if path}
    assert typed == {*COMMANDS, *OF_THE_TERMINAL}


def test_every_flag_that_can_be_typed_is_declared() -> None:
    for path, command in commands():
        if path in COMMANDS:
            names = {param.name for param in command.params if isinstance(param, click.Option)}
            assert names - ALWAYS <= {option.name for option in declared(path)}, path


@every("path", list(COMMANDS))
def test_every_option_is_a_parameter_of_python_or_a_matter_of_the_terminal(path: str) -> None:
    taken: set[str] = set()
    for name in COMMANDS[path][1]:
        parameters = inspect.signature(getattr(sy, name)).parameters
        through = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        taken |= {*parameters, *((*SOURCE_KEYWORDS, *OF_MODELS) if through else ())}
    for option in declared(path):
        if option.python_alone:
            continue
        if option.terminal:
            assert option.terminal in TERMINAL, (option.name, "a reason that TERMINAL does not know")
            assert not option.elsewhere, option.name
        elif option.elsewhere:
            assert is_there(option.elsewhere), (option.name, f"sy.{option.elsewhere} is not there")
        else:
            assert option.parameter in taken, (option.name, f"no parameter of {' and '.join(COMMANDS[path][1])}")


def is_there(place: str) -> bool:
    """Whether the package has it: a function, a parameter of one, or a way to make data."""
    name, _, part = place.partition(".")
    found: Any = getattr(sy, name, None)
    if found is None or name not in sy.__all__:
        return False
    return not part or (hasattr(found, part) if inspect.isclass(found) else part in inspect.signature(found).parameters)


def test_what_is_said_to_be_elsewhere_is_looked_for() -> None:
    assert is_there("check_suite.series")
    assert is_there("Counts.of")
    assert not is_there("check_suite.serie")
    assert not is_there("nothing")
    assert not is_there("Counts.off")
