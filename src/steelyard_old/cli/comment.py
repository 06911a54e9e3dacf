"""`steelyard comment`: write results into the one comment on a pull request."""

from __future__ import annotations

import click

from steelyard_old.cli.command import INPUT, Given, verb_command
from steelyard_old.options.comment import OPTIONS


@verb_command(OPTIONS)
@click.argument("results", nargs=-1, required=True, type=INPUT)
def comment(results: tuple[str, ...], given: Given) -> None:
    """Write results into one comment on the pull request, on GitHub or GitLab; the next run edits it.

    RESULTS are files that any command wrote with --format json. Repository, pull request and token come from the variables
    of GitHub Actions or GitLab CI. The exit code is 0, whatever the results say, or 3 if the comment could not be written.

    \b
    Examples:
      steelyard check new.jsonl --task gsm8k --model m -o verdict.json
      steelyard comment verdict.json
      steelyard comment verdict.json --dry-run
      steelyard comment fast.json slow.json --key nightly
      steelyard comment verdict.json --platform github --repository octo/model --pull-request 12
    """
    from steelyard_old.questions.comment.comment import comment as ask

    given.answer(ask(*results, **given.keywords()))
