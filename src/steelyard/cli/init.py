"""`steelyard init`: a commented steelyard.toml and a first reference directory."""

from __future__ import annotations

from typing import Any

from steelyard.cli.command import answer, command, common, flags
from steelyard.declared.init import OPTIONS


@command(short_help="write a commented steelyard.toml and a directory for references")
@flags(*OPTIONS)
@common
def init(directory: str, **options: Any) -> None:
    """Write a commented steelyard.toml and a directory for references here. Existing files are never changed.

    \b
    Examples:
      steelyard init
      steelyard init --directory tests/references
    """
    from steelyard.questions.references.init import init as ask

    result = ask(directory)
    answer(result, format_=options["format_"], output=options["output"], no_color=options["no_color"], quiet=options["quiet"])
