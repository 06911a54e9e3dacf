"""`steelyard init`: a commented steelyard.toml and a first reference directory."""

from __future__ import annotations

from steelyard_old.cli.command import Given, refuse_given, verb_command
from steelyard_old.options.init import OPTIONS


@verb_command(OPTIONS)
def init(given: Given) -> None:
    """Write a commented steelyard.toml and a directory for references here. Existing files are never changed.

    With --preset, write the task file of a ready-made task instead: `steelyard run preset:NAME` runs it as it is.

    \b
    Examples:
      steelyard init
      steelyard init --directory tests/references
      steelyard init --preset gsm8k
    """
    if given["preset"] is not None:
        refuse_given(("preset", "output"), "--preset")
    from steelyard_old.questions.references.init import init as ask

    given.answer(ask(**given.keywords()))
