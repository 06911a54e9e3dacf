"""The options of `steelyard serve`, declared once: flags of the command. Python has no such question."""

from __future__ import annotations

from dataclasses import replace

from steelyard_old.options.history import READ
from steelyard_old.options.option import CONFIG, DEBUG, DIRECTORY, OPEN, Option

PORT = 8765
OPTIONS = (
    replace(READ, terminal="server", kind="", takes=""),
    Option(
        name="host",
        terminal="server",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="Address to listen on; if others can reach it, reading needs the token too.",
    ),
    Option(name="port", terminal="server", type=int, least=0, most=65535, default=PORT, help="Port to listen on; 0 picks a free one."),
    Option(
        name="token",
        terminal="server",
        variable="STEELYARD_TOKEN",
        metavar="TEXT",
        help="Token required for changes; also read from STEELYARD_TOKEN.  [default: a new one, printed]",
    ),
    Option(
        name="allow_host",
        terminal="server",
        repeat=True,
        metavar="NAME",
        help="Another host name for this server, e.g. of a proxy. Repeatable.",
    ),
    *(replace(option, terminal="server") for option in (DIRECTORY, CONFIG, OPEN, DEBUG)),
)
