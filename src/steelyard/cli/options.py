"""What every command has in common: declared options as flags, the format, where the answer goes, and how it is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from steelyard import options as declared
from steelyard.atomic import write_text
from steelyard.cli.command import INPUT, OUTPUT, OUTPUT_DIRECTORY, warned_in_flags
from steelyard.errors import UsageError
from steelyard.options import Option
from steelyard.redaction import redact

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("text", "json", "markdown", "html")
RECORD_FORMAT = "every-eval-ever"
MEASURE_FORMATS = (*FORMATS, RECORD_FORMAT)
PLAN_FORMATS = (*FORMATS, "svg")
CHECK_FORMATS = (*FORMATS, "junit", "github")
BY_ENDING = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".svg": "svg", ".xml": "junit"}
PATIENCE = 1.0  # seconds of reading before it is told how far it is
RUN_COLUMNS = tuple(option.name for option in declared.RUN_COLUMNS)


KINDS: Mapping[str, click.ParamType[Any]] = {
    "input": INPUT,
    "output": OUTPUT,
    "output_directory": OUTPUT_DIRECTORY,
    "file": click.Path(dir_okay=False),
    "path": click.Path(dir_okay=False, path_type=Path),
    "directory": click.Path(file_okay=False),
}


def flags(*chosen: Option) -> Callable[[Command], Command]:
    """Declared options as flags of a command, in their order."""

    def add(command: Command) -> Command:
        for option in reversed(chosen):
            command = _flag(option)(command)
        return command

    return add


class RegistryChoice(click.Choice[str]):
    """A choice among the names of a catalogue, which is read when a value is given or help is shown, not before."""

    def __init__(self, declared: Option) -> None:
        self.declared = declared
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.declared.names


class RegistryOption(click.Option):
    """A flag of many names, which its help lists. They are checked where the question is settled, by what is asked about."""

    def __init__(self, *args: Any, declared: Option, **more: Any) -> None:
        super().__init__(*args, **more)
        self.declared = declared

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self.declared.help_with_names()
        return super().get_help_record(ctx)


def _flag(option: Option) -> Callable[[Command], Command]:
    words = [*filter(None, [option.short]), option.main_flag, *option.also]
    given: dict[str, Any] = {"help": option.help, "metavar": option.metavar, "multiple": option.repeat, "type": option.type}
    given["required"] = option.required
    if option.switch:
        given = {"help": option.help, "is_flag": True} | ({"default": None} if "/" in option.flag else {})
    elif option.registry and option.metavar:
        given |= {"cls": RegistryOption, "declared": option}
    elif option.registry:
        given |= {"type": RegistryChoice(option)}
    elif option.choices:
        given |= {"type": click.Choice(option.choices)}
    elif option.kind:
        given |= {"type": KINDS[option.kind]}
    elif option.least is not None:
        given |= {"type": click.IntRange(min=option.least)}
    if option.pair:
        given |= {"nargs": 2}
    if option.default is not None:
        given |= {"default": option.default, "show_default": True}
    return click.option(*words, option.name, **given)


def given(options: Mapping[str, Any], chosen: Iterable[Option]) -> dict[str, Any]:
    """Those of the declared options that were given, by their keyword, so that counts are not mistaken for counts with columns."""
    found = {option.name: options.get(option.name) for option in chosen}
    return {
        name: value if not isinstance(value, tuple) else value[0] if len(value) == 1 else list(value)
        for name, value in found.items()
        if value is not None and value is not False and value != ()
    }


_OUTPUT = click.option(
    "-o",
    "--output",
    type=OUTPUT,
    multiple=True,
    help="Write the answer to this file instead of stdout; its extension sets the format. Repeat for several formats.",
)


def common(command: Command) -> Command:
    """--format, -o, --no-color, --quiet, --debug, the same everywhere."""
    return common_with(FORMATS)(command)


def common_with(formats: tuple[str, ...], *, output: bool = True) -> Callable[[Command], Command]:
    """The common options, for a command that can be written in other formats as well; without -o if that means something else to it."""
    return lambda command: _add_common(command, formats, output)


def _add_common(command: Command, formats: tuple[str, ...], output: bool) -> Command:
    for option in reversed(
        [
            click.option(
                "--format",
                "format_",
                type=click.Choice(formats),
                help="Format of the answer.  [default: text, or from the extension of -o]",
            ),
            *([_OUTPUT] if output else []),
            click.option("--no-color", is_flag=True, help="No colour (same as setting NO_COLOR)."),
            click.option("--quiet", is_flag=True, help="Print only errors to stderr."),
            click.option("--debug", is_flag=True, help="Show the traceback of an error."),
        ]
    ):
        command = option(command)
    return command


def source_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """All that was said about how a source is read: its columns, the part of a log, the engine."""
    return given(options, declared.SOURCE_OPTIONS)


def run_source_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a run that is recorded or checked, where --model names the reference."""
    return given(options, (*declared.RUN_COLUMNS, declared.RATIO, *declared.LOG_CHOICES))


def memory_given(options: dict[str, Any]) -> str | None:
    """The limit, which is DuckDB's: a cluster has settings of its own."""
    if options["memory"] is not None and options["engine"] == "spark":
        raise UsageError(
            "cannot use --memory", got="--engine spark", need="DuckDB", hint="set spark.executor.memory where Spark is started"
        )
    memory: str | None = options["memory"]
    return memory


@contextmanager
def told_while_reading(quiet: bool) -> Iterator[None]:
    """How far the reading of large files is, on a line of standard error that goes away again, if that is a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    import time

    from steelyard.read.engines.memory import working

    since = time.monotonic()
    shown: list[str] = []

    def tell(what: str, fraction: float) -> None:
        if time.monotonic() - since > PATIENCE:  # what is short needs no progress
            line = f"{what} {fraction:4.0%}"
            click.echo(f"\r{line[: _width() - 1]}\x1b[K", nl=False, err=True)
            shown.append(line)

    try:
        with working(progress=tell):
            yield
    finally:
        if shown:
            click.echo("\r\x1b[K", nl=False, err=True)


def pairs_given(words: tuple[str, ...], option: str) -> dict[str, str]:
    """KEY=VALUE, repeated, as a mapping."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"cannot read {option}", got=repr(word), need="KEY=VALUE", hint=f"{option} quant_algo=FP8")
        if key.strip() in found:
            raise UsageError(f"cannot read {option}", got=f"{key.strip()!r} twice", need="each key once")
        found[key.strip()] = value.strip()
    return found


def fraction(text: str) -> tuple[int, int]:
    """K/N as two whole numbers."""
    k, slash, n = text.partition("/")
    if not slash or not k.strip().isdecimal() or not n.strip().isdecimal():
        raise UsageError("cannot read --counts", got=repr(text), need="K/N, two whole numbers", hint="85/100 is 85 right of 100")
    return int(k), int(n)


def seed_of(text: str) -> int | None:
    """A seed, or None to draw one."""
    if text.lower() == "none":
        return None
    if not text.isdecimal():
        raise UsageError("cannot use the seed", got=repr(text), need="a whole number of 0 or more, or none")
    return int(text)


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
    if len(places) > 1 and format_ is not None:
        raise UsageError(
            "cannot write several files in one format",
            got=f"--format {format_} and {len(places)} outputs",
            need="file extensions that set the format",
            hint="-o answer.json -o answer.md",
        )
    if not places:
        chosen = format_ or "text"
        colour = not no_color and "NO_COLOR" not in os.environ and sys.stdout is not None and sys.stdout.isatty()
        text = _text_of((instead or {}).get(chosen, result), chosen, color=colour, ascii_only=not _can_draw(sys.stdout), **more)
        _print(text, colour if chosen == "text" else None)
        return
    formats = [format_ or BY_ENDING.get(place.suffix.lower(), "text") for place in places]
    texts = [_text_of((instead or {}).get(chosen, result), chosen, **more) for chosen in formats]
    for place, text in zip(places, texts, strict=True):  # all are made before the first is written
        write_text(place, text)
        if not quiet:
            click.echo(f"written to {place}", err=True)


def _text_of(result: Any, chosen: str, color: bool = False, ascii_only: bool = False, **more: Any) -> str:
    """A result in one format, its warnings in the flags of this command."""
    from steelyard.render.formats import FORMATS as RENDER

    ctx = click.get_current_context(silent=True)
    result = result if ctx is None else warned_in_flags(result, ctx.command)
    if chosen == "html":  # the one format that needs more than the result: densities of what is believed
        from steelyard.questions.report.report import report

        text = report(result)
    elif chosen == "text":
        text = RENDER[chosen](result, color=color, ascii_only=ascii_only, width=_width(), **more)
    else:
        text = RENDER[chosen](result)
    text = redact(text)
    return text if text.endswith("\n") else text + "\n"


def _print(text: str, color: bool | None) -> None:
    """The answer on standard output. A reader who left is no mistake; a full disk or a closed stream is the user's to mend."""
    if sys.stdout is None:
        raise UsageError("cannot print the answer", got="a closed stdout", need="an open one, or -o FILE")
    try:
        click.echo(text, nl=False, color=color)
        sys.stdout.flush()
    except BrokenPipeError:
        # Point the stream at nothing, so that the interpreter's own flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UsageError("cannot print the answer", got=fault.strerror or str(fault), need="free space where stdout goes") from fault


def _can_draw(stream: Any) -> bool:
    try:
        "├─●┤⠿░╌┊○└┬".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width() -> int:
    import shutil

    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))


def split(values: tuple[str, ...]) -> list[str]:
    """Options that may be repeated or joined by commas."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
