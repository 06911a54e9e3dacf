"""`steelyard bisect`: which commit made it worse? `steelyard bisect step` is one step of `git bisect run`, with the exit codes of git.

(A module called bisect would stand before Python's own for whoever works in its folder.)
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, NoReturn

import click

from steelyard_old.cli.command import CommandGroup, Given, ProgressLine, one_line, verb_command
from steelyard_old.options.bisection import OPTIONS, STEP

CODES = {"good": 0, "bad": 1, "undecided": 125}  # as git bisect run reads them; 128 and above end it
ABORT = 129


class BisectGroup(CommandGroup):
    """`bisect GOOD..BAD -- CMD`, with `bisect step` below it: no range is called step."""

    below = ("step",)
    allow_interspersed_args = True

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return step_ if cmd_name == "step" else None

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any) -> click.Context:
        if args[:1] == ["step"]:
            return step_.make_context(f"{info_name} step", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)


@verb_command(OPTIONS, kind=BisectGroup)
@click.argument("commits", metavar="GOOD..BAD")
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def bisect(commits: str, command: tuple[str, ...], given: Given) -> None:
    """Find the commit that made the model worse, by asking only the items that can show it.

    The runs of both ends come from the history by their commit, or from --good-run and --bad-run. CMD is run in a temporary
    checkout of a commit, on the items whose ids are in the file $STEELYARD_ITEMS (one a line; as a JSON list in
    $STEELYARD_ITEMS_JSON), and writes a log that `measure` can read into the folder $STEELYARD_OUT. A commit at which it fails
    is skipped. Answers are kept in .steelyard/bisect, so an interrupted search continues where it stopped.

    Exit code 0: found, 2: not found, 3: error.

    \b
    Examples:
      steelyard bisect v1.2..main -- python evaluate.py
      steelyard bisect 4f2a91c..HEAD --good-run good.jsonl --bad-run bad.jsonl -- ./evaluate.sh
      steelyard bisect v1.2..main --log 'results/*.jsonl' --timeout 600 -- make evaluate
      git bisect run steelyard bisect step v1.2..main -- ./evaluate.sh
    """
    from steelyard_old.questions.bisect.first_bad_commit import bisect as ask

    progress = ProgressLine(given["quiet"])
    try:
        found = ask(commits, command, tell=lambda line: progress.show(one_line(line)), **given.keywords())
    finally:
        progress.clear()
    given.answer(found)
    given.leave(found)


@verb_command(STEP, "step", short_help="judge the commit that is checked out, for git bisect run", answers=None)
@click.argument("commits", metavar="GOOD..BAD")
@click.argument("command", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def step_(commits: str, command: tuple[str, ...], given: Given) -> None:
    """Judge the commit that is checked out against both ends, for git bisect run.

    git chooses the commits; both ends are asked once, and their answers are kept. Options are those of `steelyard bisect`.

    Exit code 0: good, 1: bad, 125: undecided or it does not build, so git skips it; 129 and above: error, which ends the search.

    \b
    Examples:
      git bisect start main v1.2
      git bisect run steelyard bisect step v1.2..main -- ./evaluate.sh
    """
    from steelyard_old.questions.bisect.first_bad_commit import bisect_step

    found = bisect_step(commits, command, **given.keywords())
    with contextlib.suppress(Exception):  # the exit code is the answer
        click.echo(f"{found.answer}: {found.conclusion}", err=True)
    raise click.exceptions.Exit(CODES[found.answer])


def leave_for_git(code: int) -> NoReturn:
    """Leave with a code that git bisect run reads as what it is: any other below 128 would mean that the commit is bad."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            with contextlib.suppress(Exception):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code if code in CODES.values() or code >= 128 else ABORT)
