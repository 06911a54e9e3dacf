"""The group of commands, loaded one by one, and the exit codes.

0 answered · 1 regression · 2 inconclusive · 3 error (bad input or missing reference) · 70 internal error · 130 interrupted.
A typing mistake is 3, so it never looks like a verdict. `bisect step` has the codes of git bisect run instead.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn

import click

from steelyard_old.cli.command import LazyGroup, one_line
from steelyard_old.did_you_mean import NEAR, did_you_mean
from steelyard_old.errors import SteelyardError, UsageError
from steelyard_old.redaction import redact
from steelyard_old.version import __version__

COMMANDS = {
    "measure": "how good is it, and how sure are we?",
    "compare": "is one better than the other? (three or more: a leaderboard)",
    "rank": "rank three or more systems",
    "audit": "what can published scores show?",
    "split": "split data into train, dev and test; check that they share nothing",
    "learners": "is one learning algorithm better? (cross-validation)",
    "plan": "how much data do we need?",
    "init": "write a commented steelyard.toml and a directory for references",
    "record": "store a run as the reference (or pool several runs)",
    "check": "has it become worse than the reference?",
    "references": "list, show, lint, import, history, remove, rename, approve",
    "run": "evaluate a model, and stop as soon as the question is decided",
    "history": "list past runs, compare them, test for drift",
    "bisect": "which commit made it worse?",
    "report": "render results as one self-contained HTML page",
    "comment": "write results into one comment on the pull request",
    "serve": "browse the history on a local web page",
    "certify": "recompute our claims about coverage, error rates and precision",
    "demo": "a tour on real data, offline",
    "doctor": "show what is installed, and what each extra would add",
    "completion": "print a shell completion script",
}
LAST = 10.0  # seconds after SIGTERM
ISSUE_HINT = "this is a bug in steelyard, not in your data; run again with --debug for the traceback"


HELP = """Measures and compares models, plans how much data you need, and catches regressions: always with how sure we are.

    \b
    Examples:
      steelyard demo
      steelyard measure preds.csv
      steelyard measure --counts 85/100
      steelyard compare old.csv new.csv
      steelyard plan detect --discordance .04 --theta .01
      steelyard record run.jsonl --task gsm8k --model llama-3.1-8b
      steelyard check new.jsonl --task gsm8k --model llama-3.1-8b
      steelyard report result.json -o report.html
      steelyard run gsm8k.toml --model openai:llama --base-url http://127.0.0.1:8000/v1
    """
steelyard = LazyGroup(
    "steelyard",
    help=HELP,
    sentences=COMMANDS,
    prefix="steelyard_old.cli.",
    homes={"bisect": "bisection"},
    title="Commands",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, prog_name="steelyard", message="%(prog)s %(version)s")(steelyard)


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command and exit. Never a traceback for a user's mistake; `--debug` shows it, and keeps the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:2] == ["bisect", "step"]:
        _main_for_git(arguments)
    _main(arguments)


def _main_for_git(arguments: list[str]) -> NoReturn:
    """The same for git bisect run, which reads most exit codes, that of a traceback too, as a bad commit."""
    from steelyard_old.cli.bisection import ABORT, leave_for_git

    code = ABORT
    try:
        _main(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else ABORT
    finally:
        leave_for_git(code)


def _main(arguments: list[str]) -> NoReturn:
    if asked := os.environ.get("_STEELYARD_COMPLETE"):  # a shell that completes, not a user
        from steelyard_old.cli.completion import answer_shell

        sys.exit(answer_shell(steelyard, asked))
    _end_in_order()
    try:
        said = steelyard.main(args=arguments, prog_name="steelyard", standalone_mode=False)
        code = said if isinstance(said, int) else 0  # click returns the code of an Exit instead of raising it
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = 130
    except click.exceptions.NoArgsIsHelpError as page:
        click.echo(page.format_message(), err=True)
        code = 3
    except click.ClickException as mistake:
        code = _print_error(_usage_message(mistake), 3, arguments)
    except SteelyardError as mistake:
        code = _print_error(f"error: {one_line(str(mistake))}", 3, arguments)
    except Exception as fault:
        told = f"internal error: {type(fault).__name__}: {one_line(str(fault))}. Hint: {ISSUE_HINT}"
        code = _print_error(told, 70, arguments)
    except SystemExit as stop:  # SIGTERM
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    _leave_at_once(code)
    sys.exit(code)


def _end_in_order() -> None:
    """Whoever ends us politely (SIGTERM) gets what Ctrl-C gets: answers written down, spilled files removed. Exit code 143.

    It is over within ten seconds, whatever does not return: what a run was answered is on disk already.
    """
    import signal
    import threading

    def leave(number: int, frame: object) -> None:
        last = threading.Timer(LAST, os._exit, (128 + number,))
        last.daemon = True
        last.start()
        raise SystemExit(128 + number)

    if hasattr(signal, "SIGTERM"):
        with contextlib.suppress(ValueError):  # only the main thread may say so
            signal.signal(signal.SIGTERM, leave)


def _leave_at_once(code: int) -> None:
    """End the process here if a call of a model never returned: an ordinary end may wait for what it has started, for ever."""
    deadline = sys.modules.get("steelyard_old.evaluate.asking.deadline")
    if deadline is None or not deadline.left_behind():
        return
    import atexit
    import threading

    tidying = threading.Thread(target=atexit._run_exitfuncs, daemon=True)  # spilled files are removed, unless even that hangs
    tidying.start()
    tidying.join(1.0)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _print_error(message: str, code: int, arguments: list[str]) -> int:
    """Say what went wrong, after the traceback if it was asked for."""
    if "--debug" in arguments:
        import traceback

        click.echo(redact(traceback.format_exc()).rstrip("\n"), err=True)
    click.echo(redact(message), err=True)
    return code


def _usage_message(mistake: click.ClickException) -> str:
    text = one_line(mistake.format_message())
    context = getattr(mistake, "ctx", None)
    if isinstance(mistake, click.NoSuchOption) and context is not None:
        flags = [flag for param in context.command.get_params(context) for flag in (*param.opts, *param.secondary_opts)]
        long = [flag.removeprefix("--") for flag in flags if flag.startswith("--")]
        text = f"No such option {one_line(mistake.option_name)}."
        if near := did_you_mean(mistake.option_name.lstrip("-"), long, NEAR, lambda name: f"--{name}"):
            return f"error: {UsageError(text, hint=near)}"
    where = f" Hint: {context.command_path} --help" if context is not None else ""
    return f"error: {text}{where}"
