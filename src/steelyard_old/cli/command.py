"""What every command does and has in common: declared options as flags, how an answer is written, which mistakes are refused.

An option given twice and a file written over one that is read are refused. Errors name parameters of Python (`theta=0.01`); a
command says them in its flags (`--theta 0.01`).
"""

from __future__ import annotations

import operator
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial, wraps
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from click.types import StringParamType

from steelyard_old.did_you_mean import NEAR, did_you_mean
from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.late_pattern import late_pattern
from steelyard_old.redaction import redact

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem

    from steelyard_old.options.option import Option  # each command brings it; the list of all commands needs none


class PathObject(click.Path):
    """The type of an option whose value is a `Path`, loaded with the first value: `pathlib` takes a tenth of the time of `--help`."""

    def coerce_path_result(self, value: str | os.PathLike[str]) -> Any:
        from pathlib import Path

        return Path(value)


class OutputFile(PathObject):
    """The type of an option that names a file to be written."""


class Input(StringParamType):
    """The type of a word that names something to be read: a file, a pattern, a model, a learner, a database."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class OutputDirectory(PathObject):
    """The type of an option that names a directory to write below, under names of our own."""


INPUT = Input()
OUTPUT = OutputFile(dir_okay=False)
OUTPUT_DIRECTORY = OutputDirectory(file_okay=False)


class Command(click.Command):
    """A command of ours: `@command()` instead of `@click.command()`.

    catalogues: what can be named in the files that it reads, listed at the end of its help: (what they are, "module:NAME").
    """

    catalogues: tuple[tuple[str, str], ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from textwrap import fill

        from steelyard_old.options.option import names_in

        super().format_epilog(ctx, formatter)
        for what, registry in self.catalogues:
            formatter.write_paragraph()
            said = f"{what}: {', '.join(names_in(registry))}."
            formatter.write(fill(said, formatter.width, break_on_hyphens=False) + "\n")  # a name is typed as it stands

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
                    f"{param.opts[0]} was given {times} times; it takes one value.",
                    need="one value",
                    hint=f"{ctx.command_path} --help names the options that may be repeated",
                )

    def invoke(self, ctx: click.Context) -> Any:
        self._refuse_overwriting(ctx)
        self._refuse_unwritable(ctx)
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
        from steelyard_old.outputs import refuse_overwriting

        outputs = {param.opts[0]: [*_flat(ctx.params[name])] for name, param in written.items() if name is not None}
        inputs = [word for param in self.params if _is_read(param) for word in _flat(ctx.params.get(param.name or ""))]
        refuse_overwriting(outputs, [*inputs, *_configured_files(ctx)], _reference_directory(ctx))

    def _refuse_unwritable(self, ctx: click.Context) -> None:
        """Where the answer goes says how it is written: what cannot be is found out before the work, not after it."""
        formats = next((param.type for param in self.params if isinstance(param.type, FormatChoice)), None)
        places = () if formats is None else ctx.params.get(formats.output)
        if formats is not None and places and not formats.writes_beside(places, ctx.params["format_"]):
            _formats_asked(places, ctx.params["format_"], formats.choices)


MADE_BY = {"JointCounts.flips(...)": "flips", "Counts.of(...)": "counts"}  # data that Python makes and an option stands for
NEGATED = {"items": "no_items", "higher_is_better": "lower_is_better"}  # a switch that is on in Python, and the flag that turns it off
# A text in quotes, which is somebody's own and stays as it is; a call of ours; name=, name='text', name=(1, 2), name={'key': 'value'} or
# name=WORD. A full stop is no WORD.
_SAID = late_pattern(
    r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |\bsy\.(?P<call>[a-z_]+)\(
    |(?<![\w'"=.{\[/-])(?P<name>[a-z][a-z_]*)=(?P<value>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}
        |(?!\.(?:\s|$))[\w./-](?:[^\s,;)]*[^\s,;).:])?)?""",
    re.VERBOSE,
)

_REFUSED = late_pattern(
    r"^(cannot use (?=[a-z_]+: )|(?=[a-z_]+ must be ))([a-z_]+)", re.IGNORECASE
)  # the parameter that could not be what it was


def in_flags(sentence: str, command: click.Command) -> str:
    """A sentence that names parameters of Python, as one who types the command would say it.

    >>> in_flags("use theta=0.01 or update=True, name it with id=.", click.Command("check", params=[
    ...     click.Option(["--theta"]), click.Option(["--update"], is_flag=True), click.Option(["--id"])]))
    'use --theta 0.01 or --update, name it with --id.'
    """
    known = {param.name or "": param for param in command.params if isinstance(param, click.Option)}
    for made, name in MADE_BY.items():
        if made in sentence and name in known:
            sentence = sentence.replace(made, f"{max(known[name].opts, key=len)} {known[name].metavar}")
    if (begun := _REFUSED.match(sentence)) is not None and (param := known.get(begun[2])) is not None:
        sentence = f"{begun[1]}{_as_typed(param, '')}{sentence[begun.end() :]}"
    if "=" not in sentence and "sy." not in sentence:
        return sentence
    context = click.get_current_context(silent=True)
    told, end = [], 0
    while (found := _SAID.search(sentence, end)) is not None:
        shown, after = found[0], found.end()
        if found["call"]:
            call, after = _parsed(sentence, found)
            typed = None if context is None or call is None else _call_as_typed(found["call"], call, context.find_root().command)
            shown = typed or sentence[found.start() : after]
        elif found["name"]:
            shown = _parameter_as_typed(found["name"], found["value"] or "", known) or shown
        told += [sentence[end : found.start()], shown]
        end = after
    return "".join([*told, sentence[end:]])


def _parameter_as_typed(name: str, value: str, known: Mapping[str, click.Option]) -> str | None:
    negated = value == "False"
    param = known.get(NEGATED.get(name, "") if negated else name) or known.get(name)
    if param is None or (negated and param.name == name and not param.secondary_opts):
        return None
    return param.secondary_opts[0] if negated and param.secondary_opts else _as_typed(param, value)


# Functions that are called otherwise on the command line: their command, and the parameter that what is given by position is there.
COMMANDS_OF_CALLS = {
    "acknowledge": ("history ack", ""),
    "check_suite": ("check", "suite"),
    "import_references": ("references import", ""),
    "lint_references": ("references lint", ""),
    "list_references": ("references list", ""),
    "list_runs": ("history", ""),
    "reference_history": ("references history", ""),
    "run_suite": ("run", "suite"),
}


def _parsed(sentence: str, found: re.Match[str]) -> tuple[Any, int]:
    """The call that begins there, up to the first bracket that closes it, and where it ends; without one, what begins there is no call."""
    import ast

    end = found.end()
    while end := sentence.find(")", end) + 1:
        with suppress(SyntaxError, ValueError):
            return ast.parse(sentence[found.start() : end], mode="eval").body, end
    return None, found.end()


def _call_as_typed(name: str, call: Any, root: click.Command) -> str | None:
    words, by_position = COMMANDS_OF_CALLS.get(name, (name.replace("_", " ") if name.startswith("plan_") else name, ""))
    command: click.Command | None = root
    for word in words.split():
        command = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
    if command is None:
        return None
    options = {param.name: param for param in command.params if isinstance(param, click.Option)}
    parts = ["steelyard", words]
    for parameter, value in [*((by_position, one) for one in call.args), *((word.arg, word.value) for word in call.keywords)]:
        option, values = options.get(parameter), _typed_values(value)
        if (parameter and option is None) or values is None:
            return None
        flag = "" if option is None else f"{max(option.opts, key=len)} "
        parts += [flag.rstrip()] if option is not None and option.is_flag else [f"{flag}{word}" for word in values]
    return " ".join(parts)


def _typed_values(value: Any) -> list[str] | None:
    """One value of a call as it is typed; for each key of a mapping one. A name stands for what the reader puts there."""
    import ast
    import shlex

    if isinstance(value, ast.Name):
        return [value.id.upper()]
    try:
        held = ast.literal_eval(value)
    except ValueError:  # a call inside
        return None
    if isinstance(held, dict):
        return [shlex.quote(f"{key}={one}") for key, one in held.items()]
    return ["..." if held is ... else shlex.quote(str(held))]


def warned_in_flags(result: Any, command: click.Command) -> Any:
    """A result whose warnings and hints, and those of results inside it, name flags of this command instead of parameters of Python.

    What says nothing of the kind stays the object it was.
    """
    if isinstance(result, tuple):
        if not any(_may_warn(kind) for kind in set(map(type, result))):
            return result
        parts = [warned_in_flags(each, command) for each in result]
        return result if all(map(operator.is_, parts, result)) else tuple(parts)
    changed: dict[str, Any] = {}
    kind: Any = type(result)
    for name in _field_names(kind):
        value = getattr(result, name)
        of: Any = type(value)
        if name in ("warnings", "hints"):
            told: Any = tuple(in_flags(sentence, command) for sentence in value)
            told = value if told == value else told
        else:
            told = warned_in_flags(value, command) if _may_warn(of) else value
        if told is not value:
            changed[name] = told
    if not changed:
        return result
    import copy

    said = copy.copy(result)
    for name, told in changed.items():
        object.__setattr__(said, name, told)
    return said


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


@cache
def _may_warn(kind: type) -> bool:
    """Whether a warning may be inside something of this type."""
    return issubclass(kind, tuple) or is_dataclass(kind)


_PLAIN_WORDS = late_pattern(r'"[\w ,.]*"')  # which mean the same to every shell


def _as_typed(param: click.Option, value: str) -> str:
    """One option with its value, as it is typed: lists as A,B or repeated, texts without quotes unless the shell needs them."""
    import ast
    import shlex

    flag = max(param.opts, key=len)
    if param.is_flag or not value:
        return flag
    if value[0] not in "'\"([{" or _PLAIN_WORDS.fullmatch(value):
        return f"{flag} {value}"
    try:
        held = ast.literal_eval(value)
    except (SyntaxError, ValueError):  # (LOW, HIGH): words that the reader replaces
        held = [part.strip() for part in value[1:-1].split(",") if part.strip()]
    if isinstance(held, str):
        return f"{flag} {shlex.quote(held)}"
    parts = [f"{key}={one}" for key, one in held.items()] if isinstance(held, dict) else [str(one) for one in held]
    if param.multiple:
        return " ".join(f"{flag} {shlex.quote(part)}" for part in parts)
    between = " " if param.nargs > 1 else "/" if "/" in (param.metavar or "") else ","
    return f"{flag} {between.join(map(shlex.quote, parts))}"


def _as_text(value: Any, name: str) -> Any:
    """Texts as they were typed, in whatever locale."""
    if isinstance(value, str) and value.isascii():
        return value
    if isinstance(value, str):
        from steelyard_old.options.option import typed_text

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
    from pathlib import Path

    from steelyard_old.reference.config import find_config

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


def refuse_given(allowed: Collection[str], beside: str, hint: str = "leave them out") -> None:
    """Whatever else was given on the command line would have no effect: it is refused. beside: what it cannot be used with. "
    "allowed: names of parameters, besides COMMON."""
    ctx = click.get_current_context()
    given = [
        param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
        for param in ctx.command.params
        if param.name not in (*COMMON, *allowed) and ctx.get_parameter_source(param.name or "") == ParameterSource.COMMANDLINE
    ]
    if given:
        hint = hint.replace("leave them out", "leave it out") if len(given) == 1 else hint
        raise UsageError(f"{', '.join(given)} cannot be used with {beside}.", got=", ".join(given), hint=hint)


class Group(click.Group):
    """A group of ours: its commands are ours, and a misspelled one gets the nearest."""

    command_class = Command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if not word.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, word) is None:
            known = self.list_commands(ctx)
            hint = did_you_mean(word, known, NEAR, str) or f"{ctx.command_path} --help lists {', '.join(known)}"
            raise UsageError(f"no such command {word!r}", hint=hint)
        return super().resolve_command(ctx, args)


class CommandGroup(Command, Group):
    """A command with others below it, each loaded when it is used: without them, it is itself.

    homes: the modules of those that are not in one of their own.
    """

    below: tuple[str, ...] = ()
    homes: Mapping[str, str] = MappingProxyType({})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.below)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = getattr(
            import_module(f"steelyard_old.cli.{self.homes.get(cmd_name, f'{self.name}_{cmd_name}')}"), f"{cmd_name}_"
        )
        return found


class LazyGroup(Group):
    """A group that imports a command's module only when the command is used.

    sentences: what each command is for, by its name. prefix: of the module that holds a command of that name. homes: the modules that
    are called otherwise, by the name of the command. title: above them in help.
    """

    def __init__(
        self, *args: Any, sentences: Mapping[str, str], prefix: str, title: str, homes: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.sentences, self.prefix, self.title, self.homes = sentences, prefix, title, homes or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.sentences)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.sentences:
            return None
        command = getattr(import_module(f"{self.prefix}{self.homes.get(cmd_name, cmd_name)}"), cmd_name)
        if not isinstance(command, click.Command):
            return None
        command.short_help = self.sentences[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(self.title):  # from the sentences: help must not import every command
            formatter.write_dl(list(self.sentences.items()))


def command(*words: Any, **facts: Any) -> Callable[[Callable[..., Any]], Command]:
    """`click.command` for a command of ours."""
    return click.command(*words, cls=Command, **facts)


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
RECORD_FORMAT = "every-eval-ever"
LOGS = ("Logs it reads", "steelyard_old.read.logs.found:tools")
SCORERS = ("Scorers that a task can name", "steelyard_old.evaluate.scorers.catalogue:SCORERS")
SUITE_TIERS = ("Tiers of the checks in a suite", "steelyard_old.reference.config:TIERS")
REFERENCE_KEYS = ("Keys of a reference", "steelyard_old.reference.entry:described_keys")
PATIENCE = 1.0  # seconds of reading before it is told how far it is


KINDS: Mapping[str, click.ParamType[Any]] = {
    "input": INPUT,
    "output": OUTPUT,
    "output_directory": OUTPUT_DIRECTORY,
    "file": click.Path(dir_okay=False),
    "path": PathObject(dir_okay=False),
    "directory": click.Path(file_okay=False),
}


def verb_command(
    declared: tuple[Option, ...],
    name: str | None = None,
    *,
    short_help: str | None = None,
    answers: str | None = "any",
    beside: tuple[str, ...] = (),
    output: bool = True,
    tables: tuple[str, ...] = (),
    group: Group | None = None,
    kind: type[Command] | None = None,
    catalogues: tuple[tuple[str, str], ...] = (),
) -> Callable[[Callable[..., None]], click.Command]:
    """A command with the declared options as flags, in their order. It calls the function with its arguments and what was given.

    answers: any, plans or guards, by which --format offers what they can be written in, and formats beside those; with -o unless
    `output` is False (if that means something else to the command, whose answers then go to --answer). None: no --format, --no-color,
    --quiet and --debug. tables: endings of a single file that the command writes otherwise. short_help: in the list of a group that has
    no sentences of its own. kind: the class, for a command that has others below it. catalogues: at the end of its help, see Command.
    """

    def made(function: Callable[..., None]) -> click.Command:
        @wraps(function)
        def called(**typed: Any) -> None:
            context = click.get_current_context()
            words = [typed.pop(param.name or "") for param in context.command.params if isinstance(param, click.Argument)]
            function(*words, Given(typed, declared, context))

        flags = [declared_flag(option) for option in declared if not option.python_alone]
        formats = None if answers is None else FormatChoice(answers, beside, "output" if output else "answer_", tables)
        for add in reversed([*flags, *([] if formats is None else _common(formats, output))]):
            called = add(called)
        make = command if group is None else group.command
        if kind is not None:
            both = click.command(name, cls=kind, short_help=short_help, invoke_without_command=True, subcommand_metavar="[COMMAND]")
        found: click.Command = make(name, short_help=short_help)(called) if kind is None else both(called)
        if isinstance(found, Command):
            found.catalogues = catalogues
        found.params.sort(key=lambda param: isinstance(param, click.Option))  # arguments first, as they are decorated last
        return found

    return made


class Given(dict[str, Any]):
    """What was typed after a command: each option by its name, and the keyword arguments that follow for Python."""

    def __init__(self, typed: Mapping[str, Any], declared: tuple[Option, ...], context: click.Context) -> None:
        super().__init__(typed)
        self.declared, self.context = declared, context

    def keywords(self, *names: str) -> dict[str, Any]:
        """The options that were given and that Python has, or those of some names. Whatever was not given keeps Python's default."""
        return {
            option.turns_off or option.name: _as_python(option, self[option.name])
            for option in self.declared
            if not (option.terminal or option.elsewhere or option.afterwards or option.python_alone)
            and (not names or option.name in names)
            and self.context.get_parameter_source(option.name) not in (None, ParameterSource.DEFAULT)
        }

    def answer(self, result: Any, **more: Any) -> None:
        """Write the result as `answer` does, where and how the options say."""
        given: dict[str, Any] = {"format_": self["format_"], "no_color": self["no_color"], "quiet": self["quiet"]}
        answer(result, **{**given, "output": self.get("output")} | more)

    def leave(self, result: Any) -> None:
        """Leave with the exit code of the result; --fail-on regression forgives an inconclusive one."""
        forgiven = result.exit_code == 2 and self.get("fail_on") == "regression"
        raise click.exceptions.Exit(0 if forgiven else result.exit_code)


def _as_python(option: Option, typed: Any) -> Any:
    """What was typed, as Python is given it; several values as a list, one value by itself."""
    if option.kind in READERS:
        return READERS[option.kind](typed, flag_of(option))
    if option.turns_off:
        return not typed
    return (typed[0] if len(typed) == 1 else list(typed)) if option.repeat else typed


class WordChoice(click.Choice[str]):
    """A choice that is refused in the words of Python, with the flag that was typed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        words = tuple(self.choices)
        if value not in words:
            from steelyard_old.options.option import unknown_word

            flag = max(param.opts, key=len) if param is not None else "the choice"
            raise unknown_word(flag, str(value), words, flag.lstrip("-").replace("-", " "))
        return str(value)


class DeclaredChoice(WordChoice):
    """A choice among the words of an option. Those of a catalogue are read when a value is given or help is shown, not before."""

    def __init__(self, declared: Option) -> None:
        self.declared = declared
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.declared.choices or self.declared.names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            from steelyard_old.options.option import refuse_choice

            refuse_choice(self.declared, value, flag_of(self.declared))
        return str(value)


class FormatChoice(WordChoice):
    """A choice among the formats of answers, which are looked up when one is given or help is shown, not before.

    output: the parameter that names the files of answers. tables: endings of a single file that the command writes otherwise.
    """

    def __init__(self, answers: str, beside: tuple[str, ...] = (), output: str = "output", tables: tuple[str, ...] = ()) -> None:
        self.answers, self.beside, self.output, self.tables = answers, beside, output, tables
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        from steelyard_old.render.formats import formats_of

        return (*formats_of(self.answers), *self.beside)

    def writes_beside(self, places: tuple[Path, ...], format_: str | None) -> bool:
        """Whether the command writes these files itself, in a format beside those of answers or as a table."""
        return format_ in self.beside or (format_ is None and len(places) == 1 and places[0].suffix.lower() in self.tables)


class RegistryOption(click.Option):
    """A flag of many names, which its help lists. They are checked where the question is settled, by what is asked about."""

    def __init__(self, *args: Any, declared: Option, **more: Any) -> None:
        super().__init__(*args, **more)
        self.declared = declared

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self.declared.help_with_names()
        return super().get_help_record(ctx)


def flag_of(option: Option) -> str:
    """How it is typed."""
    return option.flag or f"--{option.name.replace('_', '-')}"


def declared_flag(option: Option, **more: Any) -> Callable[[Decorated], Decorated]:
    """A declared option as click's decorator. more: what click is told besides."""
    words = [*filter(None, [option.short]), flag_of(option), *option.also]
    given: dict[str, Any] = {"help": option.help, "metavar": option.metavar, "multiple": option.repeat, "type": option.type}
    given["required"] = option.required
    if option.switch:
        given = {"help": option.help, "is_flag": True} | ({"default": None} if "/" in option.flag else {})
    elif option.registry and option.metavar:
        given |= {"cls": RegistryOption, "declared": option}
    elif option.registry or option.choices:
        given |= {"type": DeclaredChoice(option)}
    elif option.kind in KINDS:
        given |= {"type": KINDS[option.kind]}
    elif option.kind in READERS:  # a text that is taken apart, whatever its default is
        given |= {"type": click.STRING}
    elif option.least is not None:
        given |= {"type": click.IntRange(min=option.least, max=option.most)}
    if option.pair:
        given |= {"nargs": 2}
    if option.default is not None:
        given |= {"default": option.default, "show_default": True}
    if option.variable:
        given |= {"envvar": option.variable}
    return click.option(*words, option.name, **given | more)


def _common(formats: FormatChoice, output: bool) -> list[Callable[[Decorated], Decorated]]:
    """--format, -o, --no-color, --quiet, --debug, the same everywhere."""
    from steelyard_old.options.option import DEBUG, FORMAT, NO_COLOR, OUTPUTS, QUIET

    return [
        declared_flag(FORMAT, type=formats),
        *([declared_flag(OUTPUTS)] if output else []),
        *(declared_flag(option) for option in (NO_COLOR, QUIET, DEBUG)),
    ]


class ProgressLine:
    """How far it is, on a line of standard error that goes away again; silent where nobody looks."""

    def __init__(self, quiet: bool) -> None:
        self.shows = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._dirty = False

    def show(self, line: str) -> None:
        if self.shows:
            click.echo(f"\r{line[: _width() - 1]}\x1b[K", nl=False, err=True)
            self._dirty = True

    def clear(self) -> None:
        if self._dirty:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._dirty = False


@contextmanager
def reading_progress(quiet: bool) -> Iterator[None]:
    """How far the reading of large files is."""
    line = ProgressLine(quiet)
    if not line.shows:
        yield
        return
    import time

    from steelyard_old.read.engines.memory import working

    since = time.monotonic()

    def tell(what: str, fraction: float) -> None:
        if time.monotonic() - since > PATIENCE:  # what is short needs no progress
            line.show(f"{what} {fraction:4.0%}")

    try:
        with working(progress=tell):
            yield
    finally:
        line.clear()


# ---- texts that are taken apart ----------------------------------------------------------------------------------------


def split(typed: str | tuple[str, ...], flag: str = "") -> list[str]:
    """A,B,C: repeated or joined by commas."""
    words = (typed,) if isinstance(typed, str) else typed
    return [part.strip() for word in words for part in word.split(",") if part.strip()]


def pairs_given(words: tuple[str, ...], option: str) -> dict[str, str]:
    """KEY=VALUE, repeated, as a mapping."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"{option} must be KEY=VALUE, not {word!r}.", got=repr(word), need="KEY=VALUE", hint=f"{option} quant_algo=FP8"
            )
        if key.strip() in found:
            raise UsageError(f"{option} has {key.strip()!r} twice.", got=f"{key.strip()!r} twice", need="each key once")
        found[key.strip()] = value.strip()
    return found


def _pairs_or_none(words: tuple[str, ...], flag: str) -> dict[str, str]:
    """The same; 'none' is the mapping without keys."""
    return {} if words == ("none",) else pairs_given(words, flag)


def _shares(words: tuple[str, ...], flag: str) -> dict[str, float | str]:
    """NAME=SHARE, repeated. A share that is no number stays a text, which the question refuses."""
    for word in words:
        if not all(part.strip() for part in word.partition("=")):
            raise UsageError(f"{flag} must be NAME=SHARE, not {word!r}.", got=repr(word), need="NAME=SHARE", hint=f"{flag} calibration=.1")
    found: dict[str, float | str] = {}
    for name, share in pairs_given(words, flag).items():
        try:
            found[name] = float(share)
        except ValueError:
            found[name] = share
    return found


def fraction(text: str, flag: str = "--counts") -> tuple[int, int]:
    """K/N as two whole numbers."""
    k, slash, n = text.partition("/")
    if not slash or not k.strip().isdecimal() or not n.strip().isdecimal():
        raise UsageError(
            f"{flag} must be K/N, two whole numbers, not {text!r}.",
            got=repr(text),
            need="K/N, two whole numbers",
            hint="85/100 is 85 right of 100",
        )
    return int(k), int(n)


def _seed(text: str, flag: str) -> int | None:
    """A seed, or None to draw one."""
    if text.lower() == "none":
        return None
    if not text.isdecimal():
        raise UsageError("cannot use seed", got=repr(text), need="a whole number of 0 or more, or none")
    return int(text)


def _drop(text: str, flag: str) -> float | str:
    """A drop in the scale of the scores, or, with a % sign, as a share of the reference."""
    if text.rstrip().endswith("%"):
        return text
    try:
        return float(text)
    except ValueError:
        need = "a number, or a share of the reference with a % sign"
        raise UsageError(f"{flag} must be {need}, not {text!r}.", got=repr(text), need=need, hint="5% is 5% of the reference") from None


def _numbers(text: str, flag: str) -> tuple[float, ...]:
    """A,B as two numbers."""
    try:
        a, b = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(
            f"{flag} must be A,B, two numbers, not {text!r}.", got=repr(text), need="A,B, two numbers", hint="45,5 is about 45 of 50"
        ) from None
    return a, b


def _prices(words: tuple[str, ...], flag: str) -> list[dict[str, float]]:
    """input=1,output=2 once or once per model; or input=1 and output=2 apart, for all models."""
    tables = [pairs_given(tuple(word.split(",")), flag) for word in words]
    if all(len(table) == 1 for table in tables):
        tables = [pairs_given(words, flag)]
    return [{kind: _price(text, flag) for kind, text in table.items()} for table in tables]


def _price(text: str, flag: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"{flag} needs a number as its price, not {text!r}.", got=repr(text), need="a number", hint="--price input=0.5,output=1.5"
        ) from None


READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "list": split,
    "pairs": pairs_given,
    "pairs_or_none": _pairs_or_none,
    "shares": _shares,
    "fraction": fraction,
    "drop": _drop,
    "seed": _seed,
    "numbers": _numbers,
    "prices": _prices,
}


def one_line(text: str) -> str:
    """A message as one line of a terminal, without anything that it obeys."""
    from steelyard_old.render.terminal import harmless

    return harmless(" ".join(text.split()))


# ---- the answer --------------------------------------------------------------------------------------------------------


def answer(
    result: Any,
    *,
    format_: str | None,
    output: Path | tuple[Path, ...] | None,
    no_color: bool,
    quiet: bool,
    instead: Mapping[str, Any] | None = None,
    **more: Any,
) -> None:
    """Write a result: the answer alone on standard output, or whole into each file that was named.

    more: what the text of this kind of result takes besides.
    instead: what is written in its place in some formats (JUnit knows verdicts, not the run around one).
    """
    places = output if isinstance(output, tuple) else () if output is None else (output,)
    if not places:
        chosen = format_ or "text"
        colour = not no_color and "NO_COLOR" not in os.environ and sys.stdout is not None and sys.stdout.isatty()
        text = _text_of((instead or {}).get(chosen, result), chosen, color=colour, ascii_only=not _can_draw(sys.stdout), **more)
        _print(text, colour if chosen == "text" else None)
        return
    from steelyard_old.atomic import write_text

    texts = [_text_of((instead or {}).get(chosen, result), chosen, **more) for chosen in _formats_asked(places, format_)]
    for place, text in zip(places, texts, strict=True):  # all are made before the first is written
        write_text(place, text)
        if not quiet:
            click.echo(f"written to {place}", err=True)


def _formats_asked(places: tuple[Path, ...], format_: str | None, offered: Collection[str] | None = None) -> list[str]:
    """The format of each file. offered: those that there are to choose from."""
    from steelyard_old.render.formats import format_of_ending

    if len(places) > 1 and format_ is not None:
        raise UsageError(
            f"--format {format_} does not go with {len(places)} outputs: each file's ending sets its format.",
            got=f"--format {format_} and {len(places)} outputs",
            need="file extensions that set the format",
            hint="-o answer.json -o answer.md",
        )
    formats = []
    for place in places:
        wanted = format_ or format_of_ending(place.suffix)
        if wanted is None or (offered is not None and wanted not in offered):
            asked = "no format" if wanted is None else f"{wanted}, in which this answer cannot be written"
            stem = place.stem
            while (inner := place.with_name(stem).suffix) and format_of_ending(inner):  # of x.json.gz
                stem = stem.removesuffix(inner)
            raise UsageError(
                f"{str(place)!r} has an ending that asks for {asked}; give --format, or write to {stem}.txt, .json, .md or .html.",
                got=f"the ending {place.suffix}",
                need="an ending that asks for a format" if wanted is None else "an ending that asks for a format of this answer",
            )
        formats.append(wanted)
    return formats


def _text_of(result: Any, chosen: str, color: bool = False, ascii_only: bool = False, **more: Any) -> str:
    """A result in one format, its warnings and notes in the flags of this command."""
    from steelyard_old.render.formats import FORMATS as RENDER
    from steelyard_old.render.page import PUT

    ctx = click.get_current_context(silent=True)
    if ctx is not None:
        result = warned_in_flags(result, ctx.command)
        ctx.call_on_close(partial(PUT.reset, PUT.set(partial(in_flags, command=ctx.command))))
    if chosen == "html":  # the one format that needs more than the result: densities of what is believed
        from steelyard_old.questions.report.report import report

        text = report(result)
    elif chosen == "text":
        text = RENDER[chosen].write(result, color=color, ascii_only=ascii_only, width=_width(), **more)
    else:
        text = RENDER[chosen].write(result)
    text = redact(text)
    return text if text.endswith("\n") else text + "\n"


def _print(text: str, color: bool | None) -> None:
    """The answer on standard output. A reader who left is no mistake; a full disk or a closed stream is the user's to mend."""
    if sys.stdout is None:
        raise UsageError(
            "stdout is closed, so the answer cannot be printed.",
            got="a closed stdout",
            need="an open one, or -o FILE",
            hint="write it to a file with -o FILE",
        )
    try:
        click.echo(text, nl=False, color=color)
        sys.stdout.flush()
    except BrokenPipeError:
        # Point the stream at nothing, so that the interpreter's own flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UsageError(
            f"Cannot print the answer: {fault.strerror or fault}.", got=fault.strerror or str(fault), need="free space where stdout goes"
        ) from fault


def _can_draw(stream: Any) -> bool:
    try:
        "├─●┤⠿░╌┊○└┬".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width() -> int:
    """As `shutil.get_terminal_size` finds it, whose module brings three compressors: COLUMNS, else the terminal, else 100."""
    asked = os.environ.get("COLUMNS", "")
    columns = int(asked) if asked.isdecimal() else 0
    if not columns:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ is not None else 0
        except (OSError, ValueError):  # no terminal, or closed
            columns = 0
    return min(120, max(60, columns or 100))
