"""`steelyard history import`: the scores in logs of another accuracy suite, put into the history."""

from __future__ import annotations

import click

from steelyard.cli.command import INPUT, Given, verb_command
from steelyard.declared.history import IMPORT


@verb_command(IMPORT, "import", short_help="add the scores in logs of an accuracy suite")
@click.argument("logs", nargs=-1, required=True, type=INPUT)
def import_(logs: tuple[str, ...], given: Given) -> None:
    """Add the scores in pytest logs and JUnit files of TensorRT-LLM's accuracy suite to the history.

    Each hypothesis-testing report is judged anew by its own numbers. Its model is the test that printed it; its task is the
    dataset that its evaluator named. Importing a file twice adds nothing. What could not be read is counted and shown.

    Exit code 0: some scores were found, 3: none, or error.

    \b
    Examples:
      steelyard history import nightly.log --history sqlite:///runs.db
      steelyard history import results/*.xml
      steelyard history import gsm8k.log --task gsm8k --model llama-3.1-8b
    """
    from steelyard.questions.history.importing import import_runs

    given.answer(import_runs(*logs, **given.keywords()))
