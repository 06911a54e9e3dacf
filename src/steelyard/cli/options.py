"""What every command has in common: the format, where the answer goes, and how it is written."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from steelyard.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("text", "json", "markdown")
BY_ENDING = {".json": "json", ".md": "markdown", ".markdown": "markdown"}


def common(command: Command) -> Command:
    """--format, -o, --no-color, --quiet, --debug, the same everywhere."""
    for option in reversed(
        [
            click.option(
                "--format",
                "format_",
                type=click.Choice(FORMATS),
                help="How the answer is written.  [default: text, or by the ending of -o]",
            ),
            click.option(
                "-o",
                "--output",
                type=click.Path(dir_okay=False, path_type=Path),
                help="Write the answer to a file instead of standard output.",
            ),
            click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR set."),
            click.option("--quiet", is_flag=True, help="No messages on standard error but errors."),
            click.option("--debug", is_flag=True, help="Show the traceback of an error."),
        ]
    ):
        command = option(command)
    return command


def answer(result: Any, *, format_: str | None, output: Path | None, no_color: bool, quiet: bool) -> None:
    """Write a result: the answer alone on standard output, or whole into a file."""
    from steelyard.render.formats import FORMATS as RENDER

    chosen = format_ or (BY_ENDING.get(output.suffix.lower(), "text") if output else "text")
    options: dict[str, Any] = {}
    if chosen == "text":
        colour = output is None and not no_color and "NO_COLOR" not in os.environ and sys.stdout.isatty()
        options = {"color": colour, "ascii_only": output is None and not _can_draw(sys.stdout.encoding), "width": _width()}
    text = RENDER[chosen](result, **options)
    if not text.endswith("\n"):
        text += "\n"
    if output is None:
        click.echo(text, nl=False, color=options.get("color"))
    else:
        write_whole(output, text)
        if not quiet:
            click.echo(f"written to {output}", err=True)


def write_whole(path: Path, text: str) -> None:
    """All of the text or none of it: a temporary file beside the target, then a rename."""
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
        "├─●┤".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _width() -> int:
    import shutil

    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))


def split(values: tuple[str, ...]) -> list[str]:
    """Options that may be repeated or joined by commas."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]
