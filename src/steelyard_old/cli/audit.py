"""`steelyard audit`: what can published scores show?"""

from __future__ import annotations

import click

from steelyard_old.cli.command import Given, verb_command
from steelyard_old.errors import UsageError
from steelyard_old.options.audit import OPTIONS


@verb_command(OPTIONS)
@click.argument("scores", nargs=-1, required=True)
def audit(scores: tuple[str, ...], given: Given) -> None:
    """What can published scores show, when nobody says which items each system got right?

    SCORES are two or more scores of right or wrong on the same N items, in percent or as shares, each with a name if you
    like (new=87.4); or one table in Markdown or CSV with a column of sizes. Several columns of scores are systems and each
    row a test set; with one column of scores each row is a system.

    \b
    Examples:
      steelyard audit --n 1319 87.4 86.1
      steelyard audit --n 198 gpt=45.5 llama=44.9 qwen=40.4
      steelyard audit table.md
      steelyard audit table.csv --size "test items" --format json
    """
    from steelyard_old.questions.audit.audit import audit as ask

    given.answer(ask(_scores(scores), **given.keywords()))


def _scores(words: tuple[str, ...]) -> dict[str, str] | list[str] | str:
    """A table's name, or scores with or without names."""
    if len(words) == 1 and not _is_number(words[0].rpartition("=")[2]):
        return words[0]
    named = [word.rpartition("=") for word in words]
    if not any(equals for _, equals, _ in named):
        return list(words)
    names = [name for name, _, _ in named]
    if not all(names) or len(set(names)) < len(names):
        got = "one name twice" if all(names) else "scores with and without a name"
        raise UsageError(
            f"Give a name for every score or for none; these have {got}.",
            got=got,
            need="a name for each, or none",
            hint="new=87.4 old=86.1",
        )
    return {name: score for name, _, score in named}


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix("%"))
    except ValueError:
        return False
    return True
