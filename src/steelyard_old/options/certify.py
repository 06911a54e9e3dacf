"""The options of `steelyard certify`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard_old.options.option import Option

GRIDS = ("quick", "full")

OPTIONS = (
    Option(
        name="grid",
        choices=GRIDS,
        default=GRIDS[0],
        required=True,
        python_alone="--quick/--full",
        help="Which settings to try: a few (about a minute) or many (about half an hour on two cores).",
    ),
    Option(
        name="quick",
        elsewhere="certify.grid",
        flag="--quick/--full",
        switch=True,
        default=True,
        help="Try a few settings (about a minute) or many (about half an hour on two cores).",
    ),
    Option(
        name="only",
        unset="all claims",
        metavar="NAME",
        repeat=True,
        help="Only claims with this text in their name, or matching a pattern with *. Repeat.",
    ),
    Option(name="seed", type=int, least=0, help="Random seed of the simulations.  [default: 0]"),
    Option(name="nightly", switch=True, help="Use today's date (UTC) as the seed, so that each night tries different data."),
    Option(
        name="jobs", type=int, least=1, help="Number of processes.  [default: one per core]", python="Number of processes.  [default: 1]"
    ),
    Option(
        name="state",
        python="File that keeps finished settings, so an interrupted run can continue.  [default: none are kept]",
        kind="path",
        help="File that keeps finished settings, so an interrupted run can continue.  [default with --full: "
        "steelyard-certify.state; else none]",
    ),
    Option(name="csv", unset="not written", kind="output", help="Also write one line per setting to this file."),
    Option(name="times", terminal="printing", switch=True, help="Print to stderr how many seconds each claim took, slowest first."),
    Option(
        name="progress",
        unset="silence",
        takes="function",
        python_alone="the command prints it",
        help="Called with settings done, in all, and seconds.",
    ),
)
