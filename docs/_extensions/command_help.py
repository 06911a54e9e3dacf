"""The command's own help, command by command, as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from sphinx.application import Sphinx
from textbook import Written, heading

WIDTH = 90


class CommandHelp(Written):
    """What `steelyard COMMAND --help` prints, for every command and everything below it."""

    def lines(self) -> list[str]:
        from steelyard.cli.main import steelyard

        lines: list[str] = []
        for context in _contexts(steelyard, None, "steelyard"):
            lines += heading(context.command_path, "-")
            lines += [".. code-block:: text", "", *(f"    {line}" for line in context.get_help().splitlines()), ""]
        return lines


def _contexts(command: click.Command, parent: click.Context | None, name: str) -> Iterator[click.Context]:
    context = click.Context(command, parent=parent, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    context.help_option_names = ["-h", "--help"]
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found is not None:
                yield from _contexts(found, context, each)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "version": "1"}
