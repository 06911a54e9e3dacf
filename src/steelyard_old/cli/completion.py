"""`steelyard completion`: the script with which a shell completes commands, options and the names of metrics and methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.types import StringParamType

from steelyard_old.cli.command import command, declared_flag
from steelyard_old.options.option import DEBUG

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_STEELYARD_COMPLETE"  # click's protocol: the script calls `steelyard` with this set, and reads what it prints


@command()
@click.argument("shell", type=click.Choice(SHELLS))
@declared_flag(DEBUG)
def completion(shell: str, debug: bool) -> None:
    """Print a script that completes commands, options, and the names of metrics, intervals and tests.

    Install it once, then open a new shell.

    \b
    bash, with the bash-completion package:
      steelyard completion bash > ~/.local/share/bash-completion/completions/steelyard
    bash without it, at the end of ~/.bashrc:
      eval "$(steelyard completion bash)"
    zsh, at the end of ~/.zshrc, after compinit:
      eval "$(steelyard completion zsh)"
    fish:
      steelyard completion fish > ~/.config/fish/completions/steelyard.fish

    \b
    Examples:
      steelyard completion bash
      steelyard completion fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    if kind is None:  # click knows all three; another answer would be a version we have not met
        raise click.ClickException(f"this click cannot complete {shell}")
    # not kind.source(), which starts bash to ask for its version: the script may be meant for another machine
    click.echo(ShellComplete.source(kind(click.Command("steelyard"), {}, "steelyard", VARIABLE)), nl=False)


def answer_shell(group: click.Group, instruction: str) -> int:
    """What a shell is told when it asks for completions; the exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(CompletingGroup(group), {}, "steelyard", VARIABLE, instruction)


class CompletingGroup(click.Group):
    """The same commands, with free words that are completed where we know which there are."""

    def __init__(self, group: click.Group) -> None:
        super().__init__(group.name, params=group.params, context_settings=group.context_settings)
        self.plain = group

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self.plain.list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = self.plain.get_command(ctx, cmd_name)
        if command is None or isinstance(command, click.Group):
            return command and CompletingGroup(command)
        for parameter in command.params:
            if type(parameter.type) is StringParamType:
                parameter.type = FreeWord(cmd_name)
        return command


class FreeWord(StringParamType):
    """A word that the command line leaves free: a metric, a method, a file, or anything else."""

    def __init__(self, command: str) -> None:
        self.command = command

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = NAMES.get(param.opts[0])
        if names is None:
            return []
        before, comma, begun = incomplete.rpartition(",")  # several, joined
        return [CompletionItem(before + comma + name, help=says) for name, says in names(self.command) if name.startswith(begun)]


def _metrics(command: str) -> Iterator[tuple[str, str]]:
    from steelyard_old.metrics.base import EACH
    from steelyard_old.metrics.catalogue import AVERAGES, CATALOGUE

    if command == "estimate":
        from steelyard_old.questions.plan.expectations import plannable

        yield from ((metric.name, metric.says) for metric in plannable())
        return
    for metric in CATALOGUE.values():
        yield metric.shown, metric.says
        for average in (*AVERAGES, EACH) if metric.of_class else ():
            yield f"{average}_{metric.shown}", f"{metric.says}; {'every class' if average == EACH else average + ' average'}"


def _intervals(command: str) -> Iterator[tuple[str, str]]:
    if command == "compare":
        from steelyard_old.estimate.named_intervals import intervals_of_differences

        designs = {design.lower(): names for design, names in intervals_of_differences().items()}
        for name in dict.fromkeys(each for names in designs.values() for each in names):
            yield name, " or ".join(design for design, names in designs.items() if name in names)
    else:
        from steelyard_old.estimate.named_intervals import intervals

        yield from ((name, "") for name in intervals())


def _tests(command: str) -> Iterator[tuple[str, str]]:
    from steelyard_old.estimate.difference_tests import TESTS

    yield from ((name, test.says) for name, test in TESTS.items())


NAMES: dict[str, Callable[[str], Iterator[tuple[str, Any]]]] = {"--metric": _metrics, "--interval": _intervals, "--test": _tests}
