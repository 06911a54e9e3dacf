"""The options of `steelyard certify`, declared once: flags of the command, keywords of Python, lines of docstrings."""

from __future__ import annotations

from steelyard.options import Option

OPTIONS = (
    Option(
        name="quick",
        command=True,
        flag="--quick/--full",
        default=True,
        help="A few settings in two minutes, or many in about half an hour on two cores.",
    ),
    Option(name="only", metavar="NAME", repeat=True, help="Only what has this in its name, or fits a pattern with *. Repeat."),
    Option(name="seed", type=int, least=0, help="Of what is simulated.  [default: 0]"),
    Option(name="nightly", switch=True, help="Today's date (UTC) is the seed, so that every night tries other data."),
    Option(name="jobs", type=int, least=1, help="Processes.  [default: one per core]"),
    Option(
        name="state",
        kind="path",
        help="Finished settings are kept here, and a run that was interrupted goes on from it.  [default with --full: "
        "steelyard-certify.state; else none]",
    ),
    Option(name="csv_", command=True, flag="--csv", kind="output", help="Also one line per setting into this file."),
    Option(name="times", command=True, switch=True, help="Say how many seconds each claim took, the longest first, on standard error."),
)
