"""What every command has in common: the format, where the answer goes, and how it is written."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from steelyard.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("text", "json", "markdown", "html")
RECORD_FORMAT = "every-eval-ever"
MEASURE_FORMATS = (*FORMATS, RECORD_FORMAT)
PLAN_FORMATS = (*FORMATS, "svg")
CHECK_FORMATS = (*FORMATS, "junit", "github")
BY_ENDING = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".svg": "svg", ".xml": "junit"}
PATIENCE = 1.0  # seconds of reading before it is told how far it is
RUN_COLUMNS = ("id", "truth", "prediction", "score", "probability", "group", "repeat")


_OUTPUT = click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the answer to a file instead of standard output."
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
                help="How the answer is written.  [default: text, or by the ending of -o]",
            ),
            *([_OUTPUT] if output else []),
            click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR set."),
            click.option("--quiet", is_flag=True, help="No messages on standard error but errors."),
            click.option("--debug", is_flag=True, help="Show the traceback of an error."),
        ]
    ):
        command = option(command)
    return command


def data_columns(command: Command) -> Command:
    """The columns of a source, what to do with what is missing, and how sure: the same for every question about data."""
    for option in reversed(_DATA_OPTIONS):
        command = option(command)
    return command


_DATA_OPTIONS = [
    click.option("--id", "id_", metavar="COLUMN", help="Column that names the item."),
    click.option("--truth", metavar="COLUMN", help="Column with the right answer."),
    click.option("--prediction", metavar="COLUMN", help="Column with the model's answer."),
    click.option("--score", metavar="COLUMN", help="Column with a number per item; 0 and 1 are wrong and right. Of a log: its metric."),
    click.option("--probability", metavar="COLUMN", help="Column with the probability of the positive class."),
    click.option("--group", metavar="COLUMN", help="Column of items that belong together; 'none' ignores a column found by name."),
    click.option("--repeat", metavar="COLUMN", help="Column that numbers the runs of the same item."),
    click.option("--weight", metavar="COLUMN", help="Column of weights; whole numbers are counts of equal items."),
    click.option("--model-column", metavar="COLUMN", help="Column that names the model."),
    click.option("--ratio", metavar="ABOVE/BELOW", help="Two columns of sums: the metric is sum(ABOVE)/sum(BELOW), as in errors/words."),
    click.option(
        "--range", "range_", nargs=2, type=float, metavar="LO HI", help="The range of the scores.  [default: 0 1 if all lie in it]"
    ),
    click.option("--confidence-level", type=float, default=0.95, show_default=True, help="Of the interval, between 0 and 1."),
    click.option(
        "--side", type=click.Choice(["two", "lower", "upper"]), default="two", show_default=True, help="A two-sided interval, or one bound."
    ),
    click.option("--draws", type=int, default=10_000, show_default=True, help="Resamples of a bootstrap."),
    click.option("--seed", default="0", show_default=True, metavar="INT", help="Of everything random; 'none' draws one and prints it."),
    click.option(
        "--prior", type=float, default=0.5, show_default=True, help="Pseudo-counts of a Bayesian interval: 0.5 Jeffreys, 1 uniform."
    ),
    click.option(
        "--absent",
        type=click.Choice(["skip", "zero"]),
        help="A class without cases in a macro average: leave it out, or count it as 0.  [default: the average is null]",
    ),
    click.option(
        "--missing", type=click.Choice(["error", "wrong", "drop"]), default="error", show_default=True, help="Items without an answer."
    ),
]


def log_choices(command: Command) -> Command:
    """Which part of an evaluation tool's log is meant, where it holds several."""
    for option in reversed(_LOG_OPTIONS):
        command = option(command)
    return command


_LOG_OPTIONS = [
    click.option("--task", metavar="NAME", help="Of a log with several tasks: which one."),
    click.option("--filter", "filter_", metavar="NAME", help="Of a log with several filters: which one, as in --filter strict-match."),
    click.option("--scorer", metavar="NAME", help="Of a log with several scorers: which one."),
    click.option("--prompt", metavar="NAME", help="Of a log with several prompts: which one."),
    click.option("--model", "model_name", metavar="NAME", help="Of a log with several models: which one."),
]


def engine_choice(command: Command) -> Command:
    """Who counts: the engine that holds the data, DuckDB, or a Spark cluster."""
    for option in reversed(_ENGINE_OPTIONS):
        command = option(command)
    return command


_ENGINE_OPTIONS = [
    click.option(
        "--engine",
        type=click.Choice(["auto", "duckdb", "spark"]),
        help="Who reads and counts files: DuckDB here, or a Spark cluster that can reach them.  [default: auto, where the data lies]",
    ),
    click.option("--master", metavar="URL", help="With --engine spark: a classic master, as in spark://host:7077."),
    click.option("--remote", metavar="URL", help="With --engine spark: a server of Spark Connect, as in sc://host."),
]


def engine_given(options: dict[str, Any]) -> dict[str, Any]:
    """What was said about the engine."""
    return {what: options[what] for what in ("engine", "master", "remote") if options[what] is not None}


def memory_limit(command: Command) -> Command:
    """How much memory counting may take."""
    return click.option(
        "--memory",
        metavar="SIZE",
        help="What reading and joining large files may take, as in 2GB; the rest is spilled to disk (to TMPDIR)."
        "  [default: 800MB, or half of a smaller machine]",
    )(command)


def memory_given(options: dict[str, Any]) -> str | None:
    """The limit, which is DuckDB's: a cluster has settings of its own."""
    if options["memory"] is not None and options["engine"] == "spark":
        raise UsageError(
            "cannot use --memory", got="--engine spark", need="DuckDB", hint="spark.executor.memory is set where Spark is started"
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

    from steelyard.read.allowance import working

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


def log_parts(command: Command) -> Command:
    """The same without task and model, where these name a reference."""
    for option in reversed(_LOG_OPTIONS[1:4]):
        command = option(command)
    return command


def parts_given(options: dict[str, Any]) -> dict[str, Any]:
    """What was chosen inside the log of a run that is checked or recorded."""
    named = {"filter": "filter_", "scorer": "scorer", "prompt": "prompt"}
    return {what: options[key] for what, key in named.items() if options[key] is not None}


def choices_given(options: dict[str, Any]) -> dict[str, Any]:
    """What was chosen inside a log."""
    named = {"task": "task", "filter": "filter_", "scorer": "scorer", "prompt": "prompt", "model_name": "model_name"}
    return {what: options[key] for what, key in named.items() if options[key] is not None}


def run_columns(command: Command) -> Command:
    """The columns of a run that is read as it is, without the options of an interval."""
    for option in reversed(_DATA_OPTIONS[: len(RUN_COLUMNS)]):
        command = option(command)
    return command


def columns_given(options: dict[str, Any]) -> dict[str, Any]:
    """Only the columns that were given, so that counts are not mistaken for counts with columns."""
    named = {
        "id": "id_",
        "model": "model_column",
        **{r: r for r in ("truth", "prediction", "score", "probability", "group", "repeat", "weight")},
    }
    return {role: options[key] for role, key in named.items() if options[key] is not None}


def run_columns_given(options: dict[str, Any]) -> dict[str, Any]:
    """The columns of a run that were given."""
    return {role: column for role in RUN_COLUMNS if (column := options["id_" if role == "id" else role]) is not None}


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


def answer(result: Any, *, format_: str | None, output: Path | None, no_color: bool, quiet: bool) -> None:
    """Write a result: the answer alone on standard output, or whole into a file."""
    from steelyard.render.formats import FORMATS as RENDER

    chosen = format_ or (BY_ENDING.get(output.suffix.lower(), "text") if output else "text")
    options: dict[str, Any] = {}
    if chosen == "text":
        colour = output is None and not no_color and "NO_COLOR" not in os.environ and sys.stdout is not None and sys.stdout.isatty()
        options = {
            "color": colour,
            "ascii_only": output is None and not _can_draw(getattr(sys.stdout, "encoding", None)),
            "width": _width(),
        }
    if chosen == "html":  # the one format that needs more than the result: densities of what is believed
        from steelyard.questions.report import report

        text = report(result)
    else:
        text = RENDER[chosen](result, **options)
    if not text.endswith("\n"):
        text += "\n"
    if output is None:
        _print(text, options.get("color"))
    else:
        write_whole(output, text)
        if not quiet:
            click.echo(f"written to {output}", err=True)


def _print(text: str, color: bool | None) -> None:
    """The answer on standard output. A reader who left is no mistake; a full disk or a closed stream is the user's to mend."""
    if sys.stdout is None:
        raise UsageError("cannot print the answer", got="a closed standard output", need="an open one, or -o FILE")
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
            "cannot print the answer", got=fault.strerror or str(fault), need="room on the device behind standard output"
        ) from fault


def write_whole(path: Path, text: str) -> None:
    """All of the text or none of it: a temporary file beside the target, then a rename."""
    if path.exists() and not path.is_file():  # a pipe or a device is written into, never replaced by a file
        try:
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as fault:
            raise UsageError(f"cannot write {str(path)!r}", got=fault.strerror or str(fault), need="a file or an open pipe") from fault
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as fault:
        raise UsageError(
            f"cannot write {str(path)!r}", got=fault.strerror or str(fault), need="a directory that can be written to"
        ) from fault
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as fault:
        Path(temporary).unlink(missing_ok=True)
        raise UsageError(f"cannot write {str(path)!r}", got=fault.strerror or str(fault), need="room and permission") from fault


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _can_draw(encoding: str | None) -> bool:
    try:
        "├─●┤⠿░╌┊○└┬".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width() -> int:
    import shutil

    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))


def split(values: tuple[str, ...]) -> list[str]:
    """Options that may be repeated or joined by commas."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
