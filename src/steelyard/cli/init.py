"""`steelyard init`: a commented steelyard.toml and a first reference directory."""

from __future__ import annotations

from steelyard.cli.command import Given, verb_command
from steelyard.declared.init import OPTIONS


@verb_command(OPTIONS)
def init(given: Given) -> None:
    """Write a commented steelyard.toml and a directory for references here. Existing files are never changed.

    \b
    Examples:
      steelyard init
      steelyard init --directory tests/references
    """
    from steelyard.questions.references.init import init as ask

    given.answer(ask(**given.keywords()))
