"""`steelyard init`: a commented steelyard.toml and a first reference directory."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import command
from steelyard.cli.options import answer, common


@command(short_help="a commented steelyard.toml and a first reference directory")
@click.option("--directory", default="references", show_default=True, metavar="NAME", help="Where the references will be.")
@common
def init(directory: str, **options: Any) -> None:
    """Write a commented steelyard.toml and a directory for references, here. What is there is never touched.

    \b
    Examples:
      steelyard init
      steelyard init --directory tests/references
    """
    from steelyard.questions.references.init import start

    result = start(directory)
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])
