"""`steelyard rank`: which of three systems or more are better than which?"""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.command import INPUT, command, common, flags, told_while_reading
from steelyard.cli.compare import about_items, write_answer
from steelyard.declared.rank import OPTIONS


@command(short_help="which of three or more systems are better than which?")
@click.argument("sources", type=INPUT, nargs=-1, required=True)
@flags(*OPTIONS)
@common
def rank(sources: tuple[str, ...], **options: Any) -> None:
    """Which of three systems or more are better than which? A leaderboard: tiers that cannot be told apart, and every pair.

    SOURCES are three or more runs on the same items (or one long source with a model column), as for measure. Items are
    paired by id.

    \b
    Examples:
      steelyard rank a.csv b.csv c.csv
      steelyard rank a.csv b.csv c.csv --by task --cd-out ranks.svg
      steelyard rank runs.csv --model-column system --correction bh
    """
    from steelyard.questions.compare.compare import rank as ask

    with told_while_reading(options["quiet"]):
        result = ask(*sources, **about_items(options))
    write_answer(result, options)
