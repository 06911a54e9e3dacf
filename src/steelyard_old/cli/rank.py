"""`steelyard rank`: rank three or more systems."""

from __future__ import annotations

import click

from steelyard_old.cli.command import INPUT, LOGS, Given, reading_progress, verb_command
from steelyard_old.cli.compare import write_answer
from steelyard_old.options.rank import OPTIONS


@verb_command(OPTIONS, catalogues=(LOGS,))
@click.argument("sources", type=INPUT, nargs=-1, required=True)
def rank(sources: tuple[str, ...], given: Given) -> None:
    """Rank three or more systems: tiers of systems that cannot be told apart, and a comparison of every pair.

    SOURCES are three or more runs on the same items (or one long source with a model column), as for measure. Items are
    paired by id.

    \b
    Examples:
      steelyard rank a.csv b.csv c.csv
      steelyard rank a.csv b.csv c.csv --by task --cd-out ranks.svg
      steelyard rank runs.csv --model-column system --correction bh
    """
    from steelyard_old.questions.compare.compare import rank as ask

    with reading_progress(given["quiet"]):
        result = ask(*sources, **given.keywords())
    write_answer(result, given)
