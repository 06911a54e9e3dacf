"""What every command does, in one place: it refuses an option given twice and a file written over one that is read, and says
errors in its own words: they name parameters of Python (`theta=0.01`), a command has flags (`--theta 0.01`).
"""

from __future__ import annotations

import copy
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.types import FloatParamType, IntParamType, StringParamType

from steelyard.checks import within
from steelyard.errors import SteelyardError, UsageError
from steelyard.options import nearest, typed_text
from steelyard.outputs import refuse_overwriting

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class OutputFile(click.Path):
    """The type of an option that names a file to be written."""


class Input(StringParamType):
    """The type of a word that names something to be read: a file, a pattern, a model, a learner, a database."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class OutputDirectory(click.Path):
    """The type of an option that names a directory to write below, under names of our own."""


INPUT = Input()
OUTPUT = OutputFile(dir_okay=False, path_type=Path)
OUTPUT_DIRECTORY = OutputDirectory(file_okay=False, path_type=Path)


class Command(click.Command):
    """A command of ours: `@command()` instead of `@click.command()`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            self._refuse_repeated(ctx, args)
        rest = super().parse_args(ctx, args)
        for param in self.params:
            if type(param.type) is StringParamType and param.name in ctx.params:  # a name of a file stays what the system calls it
                ctx.params[param.name] = _as_text(ctx.params[param.name], param.opts[0])
        return rest

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        """click keeps the last of several values; an option that takes one value is given once."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for param, times in Counter(order).items():
            if times > 1 and isinstance(param, click.Option) and not param.multiple and not (param.is_flag and not param.secondary_opts):
                raise UsageError(
                    f"cannot use {param.opts[0]} {times} times",
                    need="one value",
                    hint=f"{ctx.command_path} --help names the options that may be repeated",
                )

    def invoke(self, ctx: click.Context) -> Any:
        for param in self.params:
            if isinstance(param.type, (IntParamType, FloatParamType)):
                within(param.name or "", ctx.params.get(param.name or ""), param.opts[0])
        self._refuse_overwriting(ctx)
        try:
            return super().invoke(ctx)
        except SteelyardError as mistake:
            mistake.args = (in_flags(str(mistake), self),)
            raise

    def _refuse_overwriting(self, ctx: click.Context) -> None:
        """What is written against everything that is read: sources and other files that were named, and what the configuration names."""
        written = {param.name: param for param in self.params if isinstance(param.type, OutputFile) and ctx.params.get(param.name or "")}
        if not written:
            return
        outputs = {param.opts[0]: [*_flat(ctx.params[name])] for name, param in written.items() if name is not None}
        inputs = [word for param in self.params if _is_read(param) for word in _flat(ctx.params.get(param.name or ""))]
        refuse_overwriting(outputs, [*inputs, *_configured_files(ctx)], _reference_directory(ctx))


NEGATED = {"items": "no_items", "higher_is_better": "lower_is_better"}  # a switch that is on in Python, and the flag that turns it off
# name=, name='text', name=(1, 2), name={'key': 'value'} or name=WORD; not inside a quoted text.
_PARAMETER = re.compile(
    r"""(?<![\w'"=.{\[-])([a-z][a-z_]*)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|[\w./-](?:[^\s,;)]*[^\s,;).:])?)?"""
)


def in_flags(sentence: str, command: click.Command) -> str:
    """A sentence that names parameters of Python, as one who types the command would say it.

    >>> in_flags("use theta=0.01 or update=True, name it with id=", click.Command("check", params=[
    ...     click.Option(["--theta"]), click.Option(["--update"], is_flag=True), click.Option(["--id"])]))
    'use --theta 0.01 or --update, name it with --id'
    """
    known = {param.name: param for param in command.params if isinstance(param, click.Option)}

    def flag(found: re.Match[str]) -> str:
        param = known.get(NEGATED.get(found[1], found[1]) if found[2] == "False" else found[1])
        return found[0] if param is None else _as_typed(param, found[2] or "")

    return _PARAMETER.sub(flag, sentence)


def warned_in_flags(result: Any, command: click.Command) -> Any:
    """A result whose warnings and hints, and those of results inside it, name flags of this command instead of parameters of Python."""
    if isinstance(result, tuple):
        return tuple(warned_in_flags(each, command) for each in result)
    if not is_dataclass(result) or isinstance(result, type):
        return result
    said = copy.copy(result)
    for field in fields(result):
        value = getattr(result, field.name)
        if field.name in ("warnings", "hints"):
            object.__setattr__(said, field.name, tuple(in_flags(sentence, command) for sentence in value))
        elif isinstance(value, tuple) or is_dataclass(value):
            object.__setattr__(said, field.name, warned_in_flags(value, command))
    return said


def _as_typed(param: click.Option, value: str) -> str:
    """One option with its value, as it is typed: lists as A,B or repeated, texts without quotes unless the shell needs them."""
    flag = max(param.opts, key=len)
    if param.is_flag or not value:
        return flag
    if value[0] not in "([{":
        return f"{flag} {_word(value)}"
    parts = ["=".join(_word(each.strip()) for each in part.split(": ", 1)) for part in value[1:-1].split(",") if part.strip()]
    if param.multiple:
        return " ".join(f"{flag} {part}" for part in parts)
    between = " " if param.nargs > 1 else "/" if "/" in (param.metavar or "") else ","
    return f"{flag} {between.join(parts)}"


def _word(value: str) -> str:
    """'a' is typed a, 'a b' as it stands, and so is what has double quotes."""
    import ast
    import shlex

    return shlex.quote(ast.literal_eval(value)) if value[:1] == "'" == value[-1:] else value


def _as_text(value: Any, name: str) -> Any:
    """Texts as they were typed, in whatever locale."""
    if isinstance(value, str):
        return typed_text(value, name)
    return tuple(_as_text(each, name) for each in value) if isinstance(value, tuple) else value


def _is_read(param: click.Parameter) -> bool:
    return isinstance(param.type, (Input, click.Path)) and not isinstance(param.type, (OutputFile, OutputDirectory))


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, (str, os.PathLike)):
        yield value


def _config(ctx: click.Context) -> Any:
    """The configuration of a command that has one; None where it cannot be read, which the command says itself."""
    if not {"config", "directory"} & ctx.params.keys():
        return None
    from steelyard.reference.config import find_config

    try:
        return find_config(Path.cwd(), ctx.params.get("config"))
    except (SteelyardError, OSError):
        return None


def _configured_files(ctx: click.Context) -> Iterator[Any]:
    """steelyard.toml, and the history that it names."""
    config = _config(ctx)
    if config is None or config.path is None:
        return
    yield config.path
    if config.history is not None and ctx.params.get("history") is None:
        address = str(config.history)
        yield config.path.absolute().parent / address.partition(":///")[2].partition("?")[0] if ":///" in address else address


def _reference_directory(ctx: click.Context) -> Iterator[Any]:
    if "directory" not in ctx.params:
        return
    config = _config(ctx)
    where = ctx.params["directory"] or (None if config is None else config.directory)
    if where is not None:
        yield where


COMMON = ("format_", "no_color", "quiet", "debug")


def refuse_given(allowed: Collection[str], sentence: str, *, need: str, hint: str = "") -> None:
    """Whatever else was given on the command line would not be heard: it is refused. allowed: names of parameters, besides COMMON."""
    ctx = click.get_current_context()
    given = [
        param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
        for param in ctx.command.params
        if param.name not in (*COMMON, *allowed) and ctx.get_parameter_source(param.name or "") == ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(sentence, got=", ".join(given), need=need, hint=hint)


class Group(click.Group):
    """A group of ours: its commands are ours, and a misspelled one gets the nearest."""

    command_class = Command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if not word.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, word) is None:
            known = self.list_commands(ctx)
            near = nearest(word, known)
            hint = f"did you mean {near}?" if near else f"{ctx.command_path} --help lists {', '.join(known)}"
            raise UsageError(f"no such command {word!r}", hint=hint)
        return super().resolve_command(ctx, args)


def command(*words: Any, **facts: Any) -> Callable[[Callable[..., Any]], Command]:
    """`click.command` for a command of ours."""
    return click.command(*words, cls=Command, **facts)
